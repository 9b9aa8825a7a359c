//! Scenarios that are read, expanded and run, and files beside them, for all test programs here.

mod folder;

use std::path::{Path, PathBuf};

use mmsim::machines::Machine;
use mmsim::report::{Report, RunReport};
use mmsim::{RunOptions, RunSpec, Runner, Scenario};

pub(crate) use folder::Folder;

/// The scenario of a text.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::from_str(text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The runs of a text, each of which can be built.
pub(crate) fn specs(text: &str) -> Vec<RunSpec> {
    mmsim::machines::specs(&scenario(text)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The machine of a run.
pub(crate) fn machine(spec: &RunSpec) -> Machine {
    mmsim::machines::machine(spec).unwrap_or_else(|e| panic!("{}: {e}", spec.label()))
}

/// The report of the runs of a text.
pub(crate) fn report(text: &str) -> Report {
    report_of(&scenario(text))
}

/// The report of a scenario's runs.
pub(crate) fn report_of(scenario: &Scenario) -> Report {
    mmsim::run(scenario, &RunOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// A runner of this number of jobs, without a watcher.
pub(crate) fn runner(jobs: usize) -> Runner<'static> {
    Runner::new(&RunOptions::default().with_jobs(jobs))
}

/// The runs of a text, with audits.
pub(crate) fn audited(text: &str) -> Vec<RunReport> {
    let options = RunOptions::default().with_check(true);
    mmsim::run(&scenario(text), &options).unwrap_or_else(|e| panic!("{e}\n{text}")).runs
}

/// A scenario of the repository with other values of some keys.
pub(crate) fn shipped(name: &str, sets: &[(&str, &str)]) -> Scenario {
    loaded(&repository("scenarios").join(name), sets)
}

/// The scenario of a file with other values of some keys.
pub(crate) fn loaded(path: &Path, sets: &[(&str, &str)]) -> Scenario {
    let sets: Vec<_> = sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Scenario::load(path, &sets).unwrap_or_else(|e| panic!("{e}"))
}

/// A path of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The scenario of a text that lies in a folder.
pub(crate) fn scenario_in(folder: &Folder, text: &str) -> Result<Scenario, mmsim::Error> {
    Scenario::from_str(text, &folder.path("x.toml").display().to_string())
}
