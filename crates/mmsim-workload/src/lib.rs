//! Workload generators and page-trace formats.

pub mod generators;
pub mod trace;
