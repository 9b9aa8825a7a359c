//! Runs side by side: all of a scenario, of a sweep, of a tuning, of a suite; one that goes on step
//! by step, as several small ones, or taken apart by what its policy decides.

pub mod ablate;
pub mod bench;
pub mod evaluate;
pub mod live;
pub mod miniature;
pub mod run;
pub mod sweep;
pub mod tune;
pub mod why;

pub use run::{OwnPolicy, RunError, RunOptions, run, run_with};
