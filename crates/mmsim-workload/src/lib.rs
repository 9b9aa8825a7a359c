//! Workload generators and page-trace formats.

pub mod generators;
pub mod law;
pub mod masim;
pub mod sampler;
pub mod script;
pub mod trace;
