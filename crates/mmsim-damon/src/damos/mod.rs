//! DAMOS: schemes, which act on regions by how they are used.
//!
//! A [scheme](scheme::Scheme) waits until its [watermarks](watermark) let it work, asks its
//! [quota] how much it may do, gives that to the regions with the best [score], leaves out
//! what its [filters](filter) name, and keeps count of what it tried and what worked. Its quota can
//! follow [goals](goal).

pub(crate) mod apply;
pub mod filter;
pub mod goal;
pub mod quota;
pub mod scheme;
pub mod score;
pub mod watermark;
