//! Physical memory: frames and their columns, folio lists, the allocator (blocks, fallback
//! between types, per-CPU lists) and the zones that it serves.

pub mod buddy;
mod fallback;
pub mod fragmentation;
pub mod frames;
mod free_lists;
pub mod gfp;
pub mod lists;
pub mod migratetype;
pub mod pcp;
pub mod rules;
mod shares;
pub mod targets;
pub mod zones;

pub use fallback::Mode;
