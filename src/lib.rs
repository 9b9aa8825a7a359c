//! mmsim: a discrete-event simulator of Linux-style memory management.
//!
//! This is the facade that research programs embed: a scenario goes in
//! ([`Scenario`]), a report comes out. It prints nothing.

pub mod error;
pub mod scenario;

pub use error::{Error, ErrorKind};
pub use scenario::{RunSpec, Scenario};
