//! Score functions as policies, and those that cheat.

mod honest;
mod red_team;

use std::sync::atomic::{AtomicU64, Ordering};

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

/// Writes scenarios into a folder of their own, which is removed with what this gives.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("mmsim-score-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        for (name, text) in files {
            std::fs::write(path.join(name), text).expect("writing");
        }
        Folder(path)
    }

    fn suite(&self) -> Suite {
        Suite::from_path(self.0.join("suite.toml")).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn heap() -> Folder {
    Folder::new(&[("heap.toml", HEAP), ("suite.toml", SUITE)])
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
