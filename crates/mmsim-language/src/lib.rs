//! The language of scenarios: what files may say, the runs that they expand to, and the machines that they
//! describe.

pub mod host;
pub mod knobs;
pub mod machines;
pub mod registry;
pub mod scenario;
pub mod selection;
pub mod setup;

pub use scenario::{RunSpec, Scenario};
