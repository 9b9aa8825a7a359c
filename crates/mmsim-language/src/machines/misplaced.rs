//! Errors that name the key that they are about.

use crate::scenario::RunSpec;
use mmsim_base::error::Error;

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

/// An error of task `i`, at the key that it names or else at the one that says what the task does:
/// that of its file, its steps or its commands.
pub(super) fn of_task(run: &RunSpec, i: usize, error: Error) -> Misplaced {
    let task = format!("task[{i}]");
    let path = match error.key() {
        Some(key) => format!("{task}.{key}"),
        None => key(run, i, &task),
    };
    Misplaced { path, error }
}

fn key(run: &RunSpec, i: usize, task: &str) -> String {
    let file = run.files.iter().find(|f| f.0.starts_with(&format!("{task}.")));
    match file {
        Some((path, _)) => path.clone(),
        None => format!("{task}.{}", run.tasks[i].work.key()),
    }
}
