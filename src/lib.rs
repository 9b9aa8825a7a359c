//! mmsim: a discrete-event simulator of Linux-style memory management.
//!
//! This is the facade that research programs embed: a scenario goes in
//! ([`Scenario`]), a report comes out. It prints nothing.

pub mod accuracy;
pub mod bench;
pub mod build;
pub mod error;
pub mod files;
pub mod host;
pub mod layout;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod scenario;
pub mod setup;
pub mod traces;
pub mod validate;

pub use error::{Error, ErrorKind};
pub use mmsim_core::{backing, base, machine, memory, phys, policy, virt, workload};
pub use run::{RunError, RunOptions, run};
pub use scenario::{RunSpec, Scenario};
