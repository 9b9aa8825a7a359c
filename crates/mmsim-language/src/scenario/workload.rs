//! Tasks, typed: their work is the config of a generator, filled by the rows of
//! [`tables`](super::tables).

use std::sync::Arc;

use mmsim_core::backing::contents::Contents;
use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::DisksOfFiles;

pub use mmsim_workload::generators::WorkloadSpec;

/// Processes of all tasks together: that many have a number.
pub(crate) const MOST_PROCESSES: u64 = 65_535;

/// One task: a number of processes with a number of threads, all doing the same work.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskSpec {
    /// Unique name, for reports.
    pub name: String,
    /// Threads of each process.
    pub threads: u32,
    /// Processes.
    pub processes: u32,
    /// Memory cgroup; `None`: the root.
    pub memcg: Option<String>,
    /// Where its files lie.
    pub disks: DisksOfFiles,
    /// When it begins.
    pub start: SimDuration,
    /// `oom_score_adj` of each process.
    pub oom_score_adj: i16,
    /// `RLIMIT_MEMLOCK` of each process in pages; `None`: none.
    pub memlock_limit: Option<u32>,
    /// Contents of its pages, if it states them.
    pub contents: Option<Arc<Contents>>,
    /// Its work.
    pub work: WorkloadSpec,
}
