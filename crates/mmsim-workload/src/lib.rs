//! Workload generators, page-trace formats, and trace events in files.

pub mod events;
pub mod generators;
pub mod law;
pub mod masim;
pub mod sampler;
pub mod script;
pub mod trace;
pub mod work;
