//! Score functions as policies, and those that cheat.

mod daemons;
#[path = "../../../../tests/harness/folder.rs"]
#[allow(dead_code, reason = "the tests of mmsim use all of it")]
mod folder;
mod honest;
mod red_team;

use folder::Folder;
use mmsim::evaluate::{Candidate, Evaluation, Evaluator, KnobFile, Suite};
use mmsim::{Error, RunOptions, Runner};
use mmsim_score::{Facts, Module};

/// A heap by a zipf law, one and a half times what memory holds.
const HEAP: &str = "\
name = \"heap\"
[machine]
memory = \"4MiB\"
swap = { size = \"16MiB\", device = \"ramdisk\" }
[[task]]
workload = \"zipf\"
memory = \"6MiB\"
theta = 0.8
accesses = 4000
write-permille = 500
";

const SUITE: &str = "\
version = 1
seeds = 2
held-out = 2
[[scenario]]
file = \"heap.toml\"
";

/// A suite beside its scenario.
fn suite_of(name: &str, scenario: &str, suite: &str) -> (Folder, Suite) {
    let folder = Folder::with(name, scenario);
    let suite = Suite::from_path(folder.write("suite.toml", suite));
    (folder, suite.unwrap_or_else(|e| panic!("{e}")))
}

fn heap() -> (Folder, Suite) {
    suite_of("heap.toml", HEAP, SUITE)
}

/// The text of a module whose `score` has this body.
fn module(body: &str) -> String {
    let names: String = Facts::NAMES.iter().map(|name| format!("(param ${name} i64) ")).collect();
    format!("(module (func (export \"score\") {names}(result i64) {body}))")
}

/// A policy as its author hands it in.
enum Policy {
    Knobs(String),
    Score(Vec<u8>),
}

fn score(body: &str) -> Policy {
    Policy::Score(module(body).into_bytes())
}

/// The baselines of a suite, with all audits.
fn evaluator(suite: &Suite, jobs: usize) -> Evaluator<'_> {
    let options = RunOptions::default().with_jobs(jobs).with_check(true);
    Evaluator::new(suite, Runner::new(&options)).unwrap_or_else(|e| panic!("{e}"))
}

/// Reads and evaluates a policy.
fn evaluated(beside: &Evaluator<'_>, policy: &Policy) -> Result<Evaluation, Error> {
    match policy {
        Policy::Knobs(text) => {
            Ok(beside.evaluate(&Candidate::Knobs(&KnobFile::from_str(text, "p.toml")?))?)
        }
        Policy::Score(bytes) => {
            Ok(beside.evaluate(&Candidate::Own(&Module::from_bytes(bytes, "p.wasm")?))?)
        }
    }
}
