//! mmsim: a discrete-event simulator of Linux-style memory management.

pub mod report;

pub use mmsim_core::{backing, base, machine, workload};
