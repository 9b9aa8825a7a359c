//! Fetches of pages that were in memory before, as a run's events and counters count them, against
//! those of the optimum.

use std::sync::atomic::{AtomicU64, Ordering};

use mmsim::base::vmstat::VmEvent;
pub(crate) use mmsim::evaluate::Again;
use mmsim::machine::result::RunResult;
use mmsim::machines::Machine;
use mmsim::report::opt;

/// The optimum fetches no more than a recorded run did. That holds with readahead too, which can
/// spare a thread the wait but not the reading.
pub(crate) fn are_bounded(m: &Machine, r: &RunResult, again: &AtomicU64) {
    let least = opt::bounds(m.recorded_accesses(), r.peak_resident, false).sim_opt_refetches;
    let fetched = r.vmstat[VmEvent::PswpIn] + again.load(Ordering::Relaxed);
    assert!(least <= fetched, "MIN fetches {least} again, the run {fetched}");
}
