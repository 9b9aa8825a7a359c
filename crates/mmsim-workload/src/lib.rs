//! Workload generators, page-trace formats, and trace events in files.

pub mod events;
pub mod generators;
pub mod law;
pub mod masim;
pub mod named;
pub mod sampler;
pub mod script;
pub mod since;
pub mod trace;
pub mod work;
