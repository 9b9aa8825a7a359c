//! Tasks: the processes of a run.

use super::watch::latency::Histogram;
use super::watch::result::TaskResult;
use crate::backing::contents::{Content, Contents, InTurn};
use crate::base::id::{AsId, DiskId, FileId, ThreadId};
use crate::base::time::SimTime;
use crate::workload::{FileSpec, Workload};
use std::sync::Arc;

/// A process to run: its threads share an address space.
#[non_exhaustive]
pub struct TaskConfig {
    /// Name, unique.
    pub name: String,
    /// Position of its group in [`MachineConfig::memcgs`](super::MachineConfig::memcgs).
    /// `None`: the root.
    pub memcg: Option<usize>,
    /// `/proc/PID/oom_score_adj`, -1000 to 1000: who is killed before others.
    pub oom_score_adj: i16,
    /// Pages that it may lock (`RLIMIT_MEMLOCK`); `None`: all of them.
    pub memlock_limit: Option<u64>,
    /// When it starts.
    pub start: SimTime,
    /// One workload per thread.
    pub threads: Vec<Box<dyn Workload>>,
    /// Where its files lie.
    pub disks: DisksOfFiles,
    /// Its barriers are common to the process that stands before it in the list.
    pub meets_the_one_before: bool,
    /// Contents of its pages, if they are known.
    pub contents: Option<Arc<Contents>>,
    /// Contents of pages that are known one by one, if there are some; they go before
    /// [`TaskConfig::contents`].
    pub contents_in_turn: Vec<InTurn>,
}

/// The disk of each file of a task.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DisksOfFiles {
    /// Disk of all files that have no other.
    pub all: DiskId,
    /// Disks of files by name.
    pub by_name: Vec<(String, DiskId)>,
}

impl DisksOfFiles {
    /// The disk of a file.
    pub fn of(&self, file: &str) -> DiskId {
        self.by_name.iter().find(|(name, _)| name == file).map_or(self.all, |&(_, disk)| disk)
    }
}

impl TaskConfig {
    /// A process in the root group, with one workload per thread, that starts with the run.
    pub fn new(name: impl Into<String>, threads: Vec<Box<dyn Workload>>) -> Self {
        let (name, memcg, start) = (name.into(), None, SimTime::ZERO);
        TaskConfig {
            name,
            memcg,
            oom_score_adj: 0,
            memlock_limit: None,
            start,
            threads,
            disks: DisksOfFiles::default(),
            meets_the_one_before: false,
            contents: None,
            contents_in_turn: Vec::new(),
        }
    }

    /// In the group at this position of [`MachineConfig::memcgs`](super::MachineConfig::memcgs).
    /// `None`: the root.
    #[must_use]
    pub fn with_memcg(mut self, memcg: Option<usize>) -> Self {
        self.memcg = memcg;
        self
    }

    /// With this `oom_score_adj`, -1000 to 1000; -1000: it is never killed.
    ///
    /// # Panics
    /// If the value is outside.
    #[must_use]
    pub fn with_oom_score_adj(mut self, adj: i16) -> Self {
        assert!((-1000..=1000).contains(&adj), "{}: oom_score_adj of {adj}", self.name);
        self.oom_score_adj = adj;
        self
    }

    /// With `RLIMIT_MEMLOCK` of this many pages.
    #[must_use]
    pub fn with_memlock_limit(mut self, pages: Option<u64>) -> Self {
        self.memlock_limit = pages;
        self
    }

    /// With the barriers of the process before it: [`Op::Barrier`](crate::workload::Op::Barrier)
    /// waits for the threads of both.
    #[must_use]
    pub fn meeting_the_one_before(mut self) -> Self {
        self.meets_the_one_before = true;
        self
    }

    /// With its files on these disks.
    #[must_use]
    pub fn with_disks(mut self, disks: DisksOfFiles) -> Self {
        self.disks = disks;
        self
    }

    /// With pages that hold this.
    #[must_use]
    pub fn with_contents(mut self, contents: Option<Arc<Contents>>) -> Self {
        self.contents = contents;
        self
    }

    /// With regions whose pages hold these in turn.
    #[must_use]
    pub fn with_contents_in_turn(mut self, regions: Vec<InTurn>) -> Self {
        self.contents_in_turn = regions;
        self
    }

    /// True if each of its pages compresses to less than a page. `None`: contents are not known.
    pub(super) fn contents_shrink(&self) -> Option<bool> {
        let shrinks = |c: &Content| c.length() < Content::MOST;
        if !self.contents_in_turn.is_empty() {
            return Some(self.contents_in_turn.iter().all(|(_, all)| all.iter().all(shrinks)));
        }
        let law = self.contents.as_ref()?;
        Some(law.lengths.iter().all(|share| share.bytes < Content::MOST))
    }

    /// The files of all its threads.
    pub fn files(&self) -> impl Iterator<Item = FileSpec> + '_ {
        self.threads.iter().flat_map(|w| w.files())
    }

    /// When it starts.
    #[must_use]
    pub fn with_start(mut self, start: SimTime) -> Self {
        self.start = start;
        self
    }
}

/// A process that runs.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) files: Vec<FileId>,
    pub(super) phases: Vec<String>,
    pub(super) threads: Vec<ThreadId>,
    /// The first of the processes whose barriers are common: itself, if they are its own.
    pub(super) meets: usize,
    /// Threads that wait at a barrier; counted in the process that `meets` names.
    pub(super) waiting: u32,
    pub(super) space: AsId,
    /// Its results when its last phase ended, and the latencies of its records up to then.
    pub(super) phase_began: TaskResult,
    pub(super) phase_records: Histogram,
    /// Name of a record, if records are timed.
    pub(super) record: Option<&'static str>,
}
