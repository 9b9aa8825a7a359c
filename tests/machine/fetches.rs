//! What a run fetches again, as its events and counters tell, against what the optimum has to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mmsim::base::id::FileId;
use mmsim::base::time::SimTime;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::result::RunResult;
use mmsim::machines::Machine;
use mmsim::memory::trace::{Observer, TraceEvent};
use mmsim::report::opt;

/// Counts pages of files that come to the page cache again.
#[derive(Default)]
pub(crate) struct Again {
    cached: BTreeSet<(FileId, u32)>,
    count: Arc<AtomicU64>,
}

impl Again {
    /// Where it counts.
    pub(crate) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }
}

impl Observer for Again {
    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        if let TraceEvent::MmFilemapAddToPageCache { file, index, .. } = *event
            && !self.cached.insert((file, index))
        {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The optimum fetches no more than a recorded run did. That holds with readahead too, which can
/// spare a thread the wait and nobody the reading.
pub(crate) fn are_bounded(m: &Machine, r: &RunResult, again: &AtomicU64) {
    let least = opt::bounds(m.recorded_accesses(), r.peak_resident, false).sim_opt_refetches;
    let fetched = r.vmstat[VmEvent::PswpIn] + again.load(Ordering::Relaxed);
    assert!(least <= fetched, "MIN fetches {least} again, the run {fetched}");
}
