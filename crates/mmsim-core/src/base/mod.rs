//! Building blocks without any memory management in them: typed indices, time,
//! random streams, counters, trace events, folio lists.

pub mod digest;
pub mod event;
pub mod id;
pub mod rng;
pub mod time;
pub mod vmstat;
