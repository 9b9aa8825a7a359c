//! The vocabulary that every other folder shares: typed indices, time, random streams, counters,
//! settings, types of pageblocks, kernels and what they do differently.

pub mod compact_result;
pub mod digest;
pub(crate) mod host;
pub mod id;
pub mod kernel;

pub mod migratetype;
#[doc(hidden)]
pub mod rng;
pub mod rules;
pub mod settings;
pub mod time;
pub mod vmstat;
