//! The simulated machine of mmsim: everything below the replacement policies.
//!
//! Read in the order of the modules: a folder uses the ones before it.

pub mod backing;
pub mod base;
pub mod config;
pub mod machine;
pub mod memory;
pub mod phys;
pub mod policy;
pub mod virt;
pub mod workload;
