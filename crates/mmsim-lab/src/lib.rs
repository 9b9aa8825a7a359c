//! The evidence for the model: what it simulates beside recorded kernels and published figures.
//!
//! [`validate`] replays recorded experiments, [`record`] makes them of scenarios, [`reproduce`]
//! repeats published ones, and [`accuracy`] writes both down as docs/accuracy.md. The data lies in `evidence/` of the
//! repository: recordings are read on demand; published figures, their scenarios and the calibrated
//! constants are part of this crate.

pub mod accuracy;
pub mod record;
pub mod reproduce;
pub mod validate;

use mmsim::{RunOptions, Runner};

/// Makes runs, or anything else of a list, at the same time; `None`: one per CPU.
fn runner(jobs: Option<usize>) -> Runner<'static> {
    Runner::new(&RunOptions::default().with_jobs(jobs))
}
