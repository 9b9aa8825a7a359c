//! The language of scenarios: what files may say, what they come to, and the machines that they
//! describe.

pub mod host;
pub mod machines;
pub mod scenario;
pub mod selection;
pub mod setup;

pub use scenario::{RunSpec, Scenario};
