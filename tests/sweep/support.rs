//! A folder with a plan and a scenario, small enough for hundreds of runs.

use std::path::PathBuf;

use mmsim::RunOptions;
use mmsim::sweep::{Merged, Shard, SweepPlan, run, write_json};
use tempfile::TempDir;

pub(crate) const SCENARIO: &str = r#"
name = "small"
[machine]
memory = "8MiB"
swap = { size = "16MiB", device = "ramdisk" }
[[task]]
workload = "zipf"
memory = "9MiB"
accesses = 3000
write-permille = 300
[[variant]]
name = "classic"
[[variant]]
name = "random"
reclaim = { preset = "random" }
"#;

/// 3 settings of swappiness, 2 of memory, 2 variants, 2 seeds: 24 units.
pub(crate) const PLAN: &str = r#"
version = 1
name = "p"
scenarios = ["small.toml"]
seeds = 2
[axes]
"machine.vm.swappiness" = [10, 60, 100]
"task[0].memory" = { from = "8MiB", to = "9MiB", steps = 2 }
"#;

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write("small.toml", SCENARIO);
        folder.write("p.toml", PLAN);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("writing a test's file");
    }

    pub(crate) fn plan(&self) -> SweepPlan {
        SweepPlan::from_path(self.path("p.toml")).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The plan of this text, or what is wrong with it.
    pub(crate) fn plan_of(&self, text: &str) -> Result<SweepPlan, mmsim::Error> {
        SweepPlan::from_str(text, &self.path("p.toml").display().to_string())
    }

    /// Makes a shard of the plan in `store`; how many units were made.
    pub(crate) fn run(&self, store: &str, shard: &str) -> Result<u64, mmsim::Error> {
        let shard = Shard::parse(shard).expect("a shard");
        let options = RunOptions::default();
        Ok(run(&self.plan(), &self.path(store), shard, &options, &())?.made)
    }

    /// The merged report of a store.
    pub(crate) fn merged(&self, store: &str) -> Vec<u8> {
        let plan = self.plan();
        let merged = Merged::open(&plan, &self.path(store)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(merged.missing().units, 0, "{:?}", merged.missing());
        let mut out = Vec::new();
        write_json(&merged, &mut out).expect("writing to memory");
        out
    }
}

/// The names of all units of a plan, in order.
pub(crate) fn names(plan: &SweepPlan) -> Vec<String> {
    let mut all = Vec::new();
    mmsim::sweep::for_each_unit(plan, |unit| all.push(unit.id.to_string()))
        .unwrap_or_else(|e| panic!("{e}"));
    all
}
