//! Errors that name the key that they are about.

use crate::error::Error;
use crate::scenario::RunSpec;
use crate::scenario::workload::WorkloadSpec;

/// An error of the run that is built, and the path of the key that it is about.
pub(super) struct Misplaced {
    pub(super) path: String,
    pub(super) error: Error,
}

impl Misplaced {
    pub(super) fn new(path: impl Into<String>, error: Error) -> Misplaced {
        Misplaced { path: path.into(), error }
    }
}

/// The key that says what task `i` does: that of its file, its steps or its commands.
pub(super) fn place(run: &RunSpec, i: usize) -> String {
    let task = format!("task[{i}]");
    let file = run.files.iter().find(|f| f.0.starts_with(&format!("{task}.")));
    match (&run.tasks[i].work, file) {
        (_, Some((path, _))) => path.clone(),
        (WorkloadSpec::Phased(_), _) => format!("{task}.steps"),
        (WorkloadSpec::Script(_), _) => format!("{task}.commands"),
        _ => format!("{task}.workload"),
    }
}
