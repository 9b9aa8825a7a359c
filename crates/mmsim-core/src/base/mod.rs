//! Building blocks without any memory management in them: typed indices, time,
//! random streams, counters, trace events, knobs; and what kernels do differently.

pub mod digest;
pub mod event;
pub mod id;
pub mod kernel;
pub mod knobs;
pub mod rng;
pub mod rules;
pub mod time;
pub mod vmstat;
