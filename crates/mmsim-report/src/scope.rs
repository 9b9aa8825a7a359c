//! The source of a figure: a whole run, or one phase of it.

use super::document::{Ending, LatencyReport, PhaseReport, PressureReport, RunReport};
use super::pairs::Pairs;

/// Source of a figure: a whole run or one phase of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scope<'a> {
    /// Simulated time.
    pub sim_time_ns: u64,
    /// Accesses.
    pub accesses: u64,
    /// Records.
    pub records: u64,
    /// Counters.
    pub vmstat: &'a Pairs<u64>,
    /// Pressure.
    pub pressure: &'a PressureReport,
    /// Latencies.
    pub latency: &'a LatencyReport,
    /// Time of reads from all devices; phases have none.
    pub reading_ns: Option<u64>,
    /// Mean of resident bytes; phases have none.
    pub mean_resident_bytes: Option<u64>,
    /// Pages that `read(2)` and `write(2)` fetched; phases have none.
    pub cache_misses: Option<u64>,
    /// Fetches again of the optimum; phases have none.
    pub optimum: Option<u64>,
    /// Counters of sizes of folios.
    pub sizes: &'a Pairs<u64>,
    /// Gauges at its end.
    pub gauges: &'a Pairs<u64>,
    /// End of the run, where it is known.
    pub outcome: Option<Ending>,
    pub(super) whole: Whole<'a>,
}

impl<'a> From<&'a RunReport> for Scope<'a> {
    fn from(r: &'a RunReport) -> Self {
        Scope {
            sim_time_ns: r.sim_time_ns,
            accesses: r.accesses,
            records: r.records,
            vmstat: &r.vmstat,
            pressure: &r.pressure,
            latency: &r.latency,
            reading_ns: r.reading.map(|reading| reading.swap_ns + reading.file_ns),
            mean_resident_bytes: r.mean_resident_bytes,
            cache_misses: r.cache_misses,
            optimum: r.bounds.map(|b| b.sim_opt_refetches),
            sizes: &r.transparent_hugepage,
            gauges: &r.gauges,
            outcome: Some(r.outcome),
            whole: Whole::Run(r),
        }
    }
}

impl<'a> From<&'a PhaseReport> for Scope<'a> {
    fn from(p: &'a PhaseReport) -> Self {
        Scope {
            sim_time_ns: p.sim_time_ns,
            accesses: p.accesses,
            records: p.records,
            vmstat: &p.vmstat,
            pressure: &p.pressure,
            latency: &p.latency,
            reading_ns: None,
            mean_resident_bytes: None,
            cache_misses: None,
            optimum: None,
            sizes: &p.transparent_hugepage,
            gauges: &p.gauges,
            outcome: None,
            whole: Whole::Phase(p),
        }
    }
}

/// A value of the task whose phase it is, since its own last phase ended; of the whole machine
/// where the report says nothing of tasks.
pub fn own<T>(phase: &PhaseReport, value: impl Fn(Scope<'_>) -> T) -> T {
    let Some(task) = &phase.task else { return value(phase.into()) };
    let kept = task.vmstat.filter_map(|&v| v);
    value(Scope {
        sim_time_ns: (phase.begin_ns + phase.sim_time_ns).saturating_sub(task.begin_ns),
        accesses: task.accesses,
        records: task.records,
        vmstat: &kept,
        ..phase.into()
    })
}

impl Scope<'_> {
    /// True if as much was done in both, within 0.1 %: only then counts can be compared.
    pub fn same_work(&self, other: &Scope<'_>) -> bool {
        let alike = |m: u64, n: u64| m.abs_diff(n) as f64 <= m.max(n) as f64 * 1e-3;
        alike(self.records, other.records) && alike(self.accesses, other.accesses)
    }
}

/// The document of which a scope is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole<'a> {
    /// A run.
    Run(&'a RunReport),
    /// A phase.
    Phase(&'a PhaseReport),
}
