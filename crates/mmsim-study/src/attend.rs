//! Options of runs side by side, and who watches them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mmsim_core::machine::Watch;

use crate::run::{CHECK_EVERY, cancel};
use mmsim_language::registry::Registry;
use mmsim_language::scenario::RunSpec;

/// Options of runs side by side.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Runs at the same time; `None`: one per CPU of the host.
    pub jobs: Option<usize>,
    /// Audit all invariants as the runs go.
    pub check: bool,
    /// Policies that scenarios may name; by default those that mmsim ships.
    pub registry: Registry,
}

impl RunOptions {
    /// Sets the number of runs at the same time; `None`: one per CPU of the host.
    #[must_use]
    pub fn with_jobs(mut self, jobs: impl Into<Option<usize>>) -> Self {
        self.jobs = jobs.into();
        self
    }

    /// Sets which policies scenarios may name.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets whether invariants are audited.
    #[must_use]
    pub fn with_check(mut self, check: bool) -> Self {
        self.check = check;
        self
    }
}

/// Work ahead, as far as plan and scenarios tell, without a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Ahead {
    /// Runs that are to do, or their largest number.
    pub to_do: u64,
    /// Runs in all; of a sweep the units of the shard.
    pub all: u64,
    /// False if these are upper bounds: of a tuning, or of a large plan that may have equal units.
    pub exact: bool,
    /// Runs at the same time.
    pub jobs: u64,
    /// Bytes of memory for these, about.
    pub memory: u64,
    /// Bytes by which the store grows, about.
    pub disk: u64,
    /// Accesses of all that is to do, about; `None`: the work of some runs ends by the clock, or
    /// by a file.
    pub accesses: Option<u64>,
}

impl Ahead {
    /// At most this number of runs.
    pub(crate) fn at_most(runs: u64) -> Ahead {
        Ahead { to_do: runs, all: runs, ..Ahead::default() }
    }
}

/// Hears the accesses that a run has made so far.
pub type ProgressFn = Box<dyn FnMut(u64) + Send>;

/// Hears the progress of runs, from any thread. It changes no result, unless it ends them all.
pub trait Watcher: Sync {
    /// The work was looked at, and no run was made yet.
    fn begins(&self, ahead: &Ahead) {
        let _ = ahead;
    }
    /// The run with this place in its list or wave begins: makes the function that hears of its
    /// accesses, about once in a million, if anybody wants to know.
    fn progress(&self, nth: usize, spec: &RunSpec) -> Option<ProgressFn> {
        let _ = (nth, spec);
        None
    }
    /// The run with this place has ended, or was found in the store; its label says which it is.
    fn finished(&self, nth: usize, label: &str) {
        let _ = (nth, label);
    }
    /// A flag that ends all runs once it is set, also those that are under way: there is an error
    /// instead of a result then.
    fn stop(&self) -> Option<Arc<AtomicBool>> {
        None
    }
}

impl Watcher for () {}

/// A run that a runner makes: how, and who watches it.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) watcher: &'a dyn Watcher,
    /// Its place in its list or wave.
    pub(crate) nth: usize,
}

impl std::fmt::Debug for Making<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Making").field("nth", &self.nth).finish_non_exhaustive()
    }
}

impl Making<'_> {
    /// The watch that every run has: audits, the flag that ends it, its progress.
    pub fn watch(&self, spec: &RunSpec) -> Watch {
        self.joined(spec, Watch::default())
    }

    /// The same, beside who watches already.
    pub(crate) fn joined(&self, spec: &RunSpec, mut watch: Watch) -> Watch {
        if self.options.check && watch.check_every == 0 {
            watch.check_every = CHECK_EVERY;
        }
        let stop = self.watcher.stop();
        let ask = move || {
            if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                cancel();
            }
        };
        ask();
        let mut told = [watch.progress.take(), self.watcher.progress(self.nth, spec)];
        watch.progress = Some(Box::new(move |accesses| {
            ask();
            told.iter_mut().flatten().for_each(|tell| tell(accesses));
        }));
        watch
    }
}
