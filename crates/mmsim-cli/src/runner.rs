//! Progress of the runs of a command, whatever verb makes them.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use mmsim::attend::{Ahead, ProgressFn};
use mmsim::store::{Shard, Store};
use mmsim::{Registry, RunOptions, RunSpec, Watcher};
use mmsim_terminal::exit::Failure;
use mmsim_terminal::progress::Progress;

/// Everything that scenarios of any command may name: modules as programs of daemons, and as
/// policies of groups, too.
pub(crate) fn registry() -> Registry {
    let daemons = mmsim_score::daemon::modules();
    mmsim::registry().with_programs(daemons).with_choosers(mmsim_ext::modules())
}

/// Options of runs side by side.
pub(crate) fn options(jobs: Option<usize>, check: bool) -> RunOptions {
    RunOptions::default().with_jobs(jobs).with_check(check).with_registry(registry())
}

/// The store of a plan: its verb and its name; none without a folder.
pub(crate) fn store(
    verb: &str,
    name: &str,
    folder: Option<&Path>,
) -> Result<Option<Store>, Failure> {
    let plan = format!("{verb} {name}");
    let open = |folder| Store::open(folder, &plan, Shard::ALL);
    Ok(folder.map(open).transpose()?)
}

/// Shows the progress of runs.
pub(crate) struct Heard {
    /// The word for the pieces: `runs`, `units` or `samples`.
    what: &'static str,
    progress: OnceLock<Arc<Progress>>,
}

impl Heard {
    /// Shows progress once it is known how many runs there are at most.
    pub(crate) fn later(what: &'static str) -> Heard {
        Heard { what, progress: OnceLock::new() }
    }

    /// Shows progress of this number of runs.
    pub(crate) fn of(what: &'static str, runs: usize) -> Heard {
        let heard = Heard::later(what);
        heard.begin(runs);
        heard
    }

    /// The progress; if it begins now, of this number of runs.
    pub(crate) fn begin(&self, runs: usize) -> &Arc<Progress> {
        self.progress.get_or_init(|| Arc::new(Progress::new(self.what, runs)))
    }
}

impl Watcher for Heard {
    fn begins(&self, ahead: &Ahead) {
        self.begin(ahead.to_do as usize);
    }

    fn progress(&self, nth: usize, spec: &RunSpec) -> Option<ProgressFn> {
        let all = mmsim::host::known_accesses(spec)?;
        let progress = Arc::clone(self.progress.get()?);
        Some(Box::new(move |done| progress.within(nth, done as f64 / all as f64)))
    }

    fn finished(&self, nth: usize, label: &str) {
        if let Some(progress) = self.progress.get() {
            progress.finished_nth(nth, label);
        }
    }
}
