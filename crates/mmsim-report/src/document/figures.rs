//! Figures of a run or of a phase: rates, pressure, latencies, compaction, the bound of MIN.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::machine::result::{HighOrder, Latencies, Pressure, Quantiles};
use mmsim_core::policy::compaction::CompactionStats;

/// Time that devices spent on reads: latency and transfer, without waiting in line. Of a synchronous
/// device it is time of the callers' CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReadingReport {
    /// Of the swap device.
    pub swap_ns: u64,
    /// Of the device of files.
    pub file_ns: u64,
}

/// Fate of the requests of workloads for blocks of order above 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CompactionReport {
    /// Blocks asked for.
    pub attempts: u64,
    /// Of these, requests that succeeded.
    pub success: u64,
    /// Of these, served from the free lists.
    pub free_list: u64,
    /// Served after asynchronous compaction.
    pub async_compaction: u64,
    /// Served after direct reclaim.
    pub reclaim: u64,
    /// Served after synchronous compaction.
    pub sync_compaction: u64,
    /// Runs over a zone that ended with a block, or with the chance of one.
    pub runs_success: u64,
    /// Runs that saw the zone to its end in vain.
    pub runs_complete: u64,
    /// Runs that gave up before.
    pub runs_given_up: u64,
    /// Runs that did not start.
    pub runs_skipped: u64,
    /// Requests that were put off after failures.
    pub deferred: u64,
    /// Times that what was learned of a zone was forgotten.
    pub resets: u64,
    /// Moves of a page that had been moved before.
    pub moved_before: u64,
    /// Moves of a page back into a pageblock that it had been moved out of.
    pub returned: u64,
}

impl CompactionReport {
    pub(super) fn of(
        h: &HighOrder,
        stats: Option<CompactionStats>,
        vmstat: &VmStat,
    ) -> Option<Self> {
        let [free_list, async_compaction, reclaim, sync_compaction] = h.from;
        let asked = h.attempts > 0 || stats.is_some();
        let s = stats.unwrap_or_default();
        let all_modes = |runs: [u64; 3]| runs.iter().sum();
        asked.then_some(CompactionReport {
            attempts: h.attempts,
            success: h.success(),
            free_list,
            async_compaction,
            reclaim,
            sync_compaction,
            runs_success: all_modes(s.success),
            runs_complete: all_modes(s.complete),
            runs_given_up: all_modes(s.given_up),
            runs_skipped: all_modes(s.skipped),
            deferred: s.deferred,
            resets: s.resets,
            moved_before: vmstat[VmEvent::SimMigrateAgain],
            returned: vmstat[VmEvent::SimMigrateBack],
        })
    }
}

/// Work per simulated second; zero where no time passed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Throughput {
    /// Records per second.
    pub records_per_s: f64,
    /// Accesses per second.
    pub accesses_per_s: f64,
}

impl Throughput {
    pub(super) fn new(records: u64, accesses: u64, time: SimDuration) -> Self {
        let per_s = |n: u64| if time.0 == 0 { 0.0 } else { n as f64 / time.as_secs_f64() };
        Throughput { records_per_s: per_s(records), accesses_per_s: per_s(accesses) }
    }
}

/// Pressure stall information.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PressureReport {
    /// Microseconds in which some thread was stalled on memory.
    pub some_us: u64,
    /// Microseconds in which all non-idle threads were.
    pub full_us: u64,
    /// `some_us` as a share (0 to 1) of the time.
    pub some_share: f64,
    /// `full_us` as a share (0 to 1) of the time.
    pub full_share: f64,
}

impl PressureReport {
    pub(super) fn new(p: Pressure, time: SimDuration) -> Self {
        let share = |us: u64| if time.0 == 0 { 0.0 } else { us as f64 * 1e3 / time.0 as f64 };
        PressureReport {
            some_us: p.some_us,
            full_us: p.full_us,
            some_share: share(p.some_us),
            full_share: share(p.full_us),
        }
    }
}

/// Quantiles of one latency: upper edges of histogram buckets, the largest exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct QuantilesReport {
    /// Number of samples.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl QuantilesReport {
    /// The values with their names, in the order of the document.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("count", self.count),
            ("p50_ns", self.p50_ns),
            ("p99_ns", self.p99_ns),
            ("p999_ns", self.p999_ns),
            ("max_ns", self.max_ns),
        ]
    }
}

impl From<Quantiles> for QuantilesReport {
    fn from(q: Quantiles) -> Self {
        QuantilesReport {
            count: q.count,
            p50_ns: q.p50,
            p99_ns: q.p99,
            p999_ns: q.p999,
            max_ns: q.max,
        }
    }
}

/// Latencies by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LatencyReport {
    /// Minor faults.
    pub minor_fault: QuantilesReport,
    /// Major faults.
    pub major_fault: QuantilesReport,
    /// Stalls in direct reclaim.
    pub direct_reclaim: QuantilesReport,
}

impl LatencyReport {
    /// The kinds with their names, in the order of the document.
    pub fn named(&self) -> [(&'static str, &QuantilesReport); 3] {
        [
            ("minor_fault", &self.minor_fault),
            ("major_fault", &self.major_fault),
            ("direct_reclaim", &self.direct_reclaim),
        ]
    }
}

impl From<Latencies> for LatencyReport {
    fn from(l: Latencies) -> Self {
        LatencyReport {
            minor_fault: l.minor_fault.into(),
            major_fault: l.major_fault.into(),
            direct_reclaim: l.direct_reclaim.into(),
        }
    }
}

/// Bounds that no policy can beat on the run's own sequence of accesses, where these need a frame:
/// the zero page, locked memory and lazily freed memory are left out, and memory that was dropped
/// or overwritten in full is new.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Bounds {
    /// Misses of Belady's MIN at the largest resident set of the run.
    pub sim_opt_misses: u64,
    /// Of these, the ones that are no first touch: pages that even the optimum would have had to
    /// fetch again. To be compared with swap-ins and refaults.
    pub sim_opt_refetches: u64,
    /// True if it bounds demand fetches of pages that were in memory before. Where pages are read
    /// ahead it bounds only all that is fetched again, and is an orientation.
    pub exact: bool,
}

impl Bounds {
    /// These misses, of which `sim_opt_refetches` are no first touch.
    pub fn new(sim_opt_misses: u64, sim_opt_refetches: u64, exact: bool) -> Self {
        Bounds { sim_opt_misses, sim_opt_refetches, exact }
    }
}
