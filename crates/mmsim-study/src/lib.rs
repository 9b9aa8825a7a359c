//! Runs side by side: all of a scenario, of a sweep, of a tuning, of a suite; one that goes on step
//! by step, as several small ones, or taken apart by what its policy decides.

pub mod ablate;
pub mod attend;
pub mod bench;
pub mod curve;
pub mod evaluate;
pub mod live;
pub mod miniature;
pub mod plan;
pub mod resemble;
pub mod run;
pub mod runner;
pub mod store;
pub mod sweep;
pub mod tune;
pub mod whole;
pub mod why;

pub use attend::{RunOptions, Watcher};
pub use mmsim_report::cells;
pub use plan::Plan;
pub use run::{OwnPolicy, RunError};
pub use runner::Runner;
pub use whole::{assembled, run, run_with, with_own};
