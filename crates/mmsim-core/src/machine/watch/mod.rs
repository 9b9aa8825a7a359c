//! Watching a run: observers, samples, snapshots, audits.

pub(in crate::machine) mod collect;
pub(in crate::machine) mod contents;
mod disks;
pub(in crate::machine) mod latency;
pub mod laws;
pub(in crate::machine) mod psi;
pub(in crate::machine) mod recorder;
pub mod result;
pub mod snapshot;
pub(in crate::machine) mod stuck;
mod swaps;
pub(in crate::machine) mod trouble;

use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmStat;
use crate::memory::Memory;
use crate::memory::follow::Follower;
use crate::memory::trace::Observer;

/// A sample of counters and gauges at an instant.
pub type SampleFn = Box<dyn FnMut(SimTime, &VmStat, &[(&'static str, u64)]) + Send>;

/// Memory itself at an instant of the samples.
pub type LookFn = Box<dyn FnMut(SimTime, &Memory) + Send>;

/// Receives the contents of the kernel's files at the end of a phase, or (no name) of the run.
pub type SnapshotFn = Box<dyn FnMut(Option<&str>, &snapshot::Snapshot) + Send>;

/// Observers of a run; none of them can change the run.
#[derive(Default)]
#[non_exhaustive]
pub struct Watch {
    /// Sees every trace event.
    pub observer: Option<Box<dyn Observer>>,
    /// Called at every interval.
    pub sample: Option<(SimDuration, SampleFn)>,
    /// Called after every sample, which there has to be for it.
    pub look: Option<LookFn>,
    /// Called at the end of every phase and of the run.
    pub snapshot: Option<SnapshotFn>,
    /// Audit all invariants after this many steps that were not hits (0: never).
    pub check_every: u64,
    /// Called about once per 2^20 accesses with the accesses done, for progress.
    pub progress: Option<Box<dyn FnMut(u64) + Send>>,
    /// Record the sequence of accesses, for the optimum's bound.
    pub record_accesses: bool,
    /// Follows single pages.
    pub follower: Option<Box<dyn Follower>>,
    /// Take the slow path always: for tests that compare it with the fast ones.
    #[doc(hidden)]
    pub slow_paths: bool,
}

impl Watch {
    /// Who sees every trace event.
    #[must_use]
    pub fn with_observer(mut self, observer: Box<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the function that is called at every interval.
    #[must_use]
    pub fn with_sample(mut self, every: SimDuration, sample: SampleFn) -> Self {
        self.sample = Some((every, sample));
        self
    }

    /// Sets the function that is called after every sample.
    #[must_use]
    pub fn with_look(mut self, look: LookFn) -> Self {
        self.look = Some(look);
        self
    }

    /// Sets the function that is called at the end of every phase and of the run.
    #[must_use]
    pub fn with_snapshot(mut self, snapshot: SnapshotFn) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    /// Sets the number of steps other than hits after which invariants are audited; 0: never.
    #[must_use]
    pub fn with_check_every(mut self, steps: u64) -> Self {
        self.check_every = steps;
        self
    }

    /// Sets the function that is called about once per 2^20 accesses with the accesses done.
    #[must_use]
    pub fn with_progress(mut self, progress: Box<dyn FnMut(u64) + Send>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Sets whether the sequence of accesses is recorded.
    #[must_use]
    pub fn with_record_accesses(mut self, record: bool) -> Self {
        self.record_accesses = record;
        self
    }

    /// Who follows single pages.
    #[must_use]
    pub fn with_follower(mut self, follower: Box<dyn Follower>) -> Self {
        self.follower = Some(follower);
        self
    }

    /// Sets whether everything takes the slow path: for tests that compare it with the fast ones.
    #[doc(hidden)]
    #[must_use]
    pub fn with_slow_paths(mut self, slow: bool) -> Self {
        self.slow_paths = slow;
        self
    }
}
