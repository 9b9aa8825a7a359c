//! Figures that are computed from counters: the few numbers by which people compare
//! replacement policies. All of them are computed here and nowhere else.

use mmsim_core::base::vmstat::VmEvent;

use super::document::{LatencyReport, PhaseReport, PressureReport, RunReport};
use super::groups::VariantRuns;
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

/// A figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Pages read back from swap.
    SwapIns,
    /// Evicted pages that were wanted again, anonymous and file.
    Refaults,
    /// Refaults that were activated at once, anonymous and file.
    RefaultsActivated,
    /// Faults that had to wait for a read.
    MajorFaults,
    /// Time of reads from devices, those of swap and those of files, in seconds.
    ReadingTime,
    /// Pages moved from the active to the inactive list.
    Deactivations,
    /// Pages that reclaim looked at for each page that it freed. (An undefined figure
    /// where nothing was freed.)
    ScannedPerReclaimed,
    /// Allocations that had to reclaim for themselves, all zones.
    DirectReclaimStalls,
    /// 99th percentile of the time of a major fault, in microseconds.
    MajorFaultP99,
    /// Share of the time in which some thread was stalled on memory, in per cent.
    MemoryPressure,
    /// Mean of resident memory over time, in MiB, where the scenario has a monitor of accesses: what
    /// its schemes save is the change.
    MeanResident,
    /// Records per second; accesses per second where the work has no records.
    Throughput,
}

impl Figure {
    /// All figures, in the order of tables.
    pub const ALL: [Figure; 12] = [
        Figure::SwapIns,
        Figure::Refaults,
        Figure::RefaultsActivated,
        Figure::MajorFaults,
        Figure::ReadingTime,
        Figure::Deactivations,
        Figure::ScannedPerReclaimed,
        Figure::DirectReclaimStalls,
        Figure::MajorFaultP99,
        Figure::MemoryPressure,
        Figure::MeanResident,
        Figure::Throughput,
    ];

    /// Label in tables, with its unit.
    pub const fn label(self) -> &'static str {
        match self {
            Figure::SwapIns => "swap-ins",
            Figure::Refaults => "refaults",
            Figure::RefaultsActivated => "refaults activated",
            Figure::MajorFaults => "major faults",
            Figure::ReadingTime => "reads of devices, s",
            Figure::Deactivations => "deactivations",
            Figure::ScannedPerReclaimed => "scanned per reclaimed",
            Figure::DirectReclaimStalls => "direct reclaim stalls",
            Figure::MajorFaultP99 => "major fault p99, us",
            Figure::MemoryPressure => "memory pressure, %",
            Figure::MeanResident => "resident, mean MiB",
            Figure::Throughput => "throughput, per s",
        }
    }

    /// The same for these scopes, by their numbers of records: of throughput it says what it counts.
    /// Where some scopes have records and others have none, the label leaves it open.
    pub fn label_of(self, records: impl IntoIterator<Item = u64>) -> &'static str {
        if self != Figure::Throughput {
            return self.label();
        }
        let (with, without): (Vec<u64>, Vec<u64>) = records.into_iter().partition(|n| *n > 0);
        match (with.is_empty(), without.is_empty()) {
            (false, true) => "throughput, records/s",
            (true, false) => "throughput, accesses/s",
            _ => self.label(),
        }
    }

    /// Its name as options and wide tables have it: the label without the unit, with hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Figure::SwapIns => "swap-ins",
            Figure::Refaults => "refaults",
            Figure::RefaultsActivated => "refaults-activated",
            Figure::MajorFaults => "major-faults",
            Figure::ReadingTime => "reads-of-devices",
            Figure::Deactivations => "deactivations",
            Figure::ScannedPerReclaimed => "scanned-per-reclaimed",
            Figure::DirectReclaimStalls => "direct-reclaim-stalls",
            Figure::MajorFaultP99 => "major-fault-p99",
            Figure::MemoryPressure => "memory-pressure",
            Figure::MeanResident => "resident",
            Figure::Throughput => "throughput",
        }
    }

    /// True if it counts something.
    pub const fn is_count(self) -> bool {
        self.grows_with_work() && !matches!(self, Figure::ReadingTime)
    }

    /// True if it grows with the work, so that it can be given per 1,000 records.
    pub const fn grows_with_work(self) -> bool {
        !matches!(
            self,
            Figure::ScannedPerReclaimed
                | Figure::MajorFaultP99
                | Figure::MemoryPressure
                | Figure::MeanResident
                | Figure::Throughput
        )
    }

    /// Its value for each 1,000 records, where there are records.
    pub fn per_1000_records(self, scope: Scope<'_>) -> Option<f64> {
        (scope.records > 0).then_some(self.of(scope)? * 1000.0 / scope.records as f64)
    }

    /// Its value, if it is defined and the report has what it needs.
    pub fn of(self, scope: Scope<'_>) -> Option<f64> {
        let count = |counters: &[VmEvent]| scope.vmstat.sum(counters).map(|n| n as f64);
        // A policy may keep those of files only. Then the sum is known where nothing came back
        // from swap.
        let refaults = |[anon, file]: [VmEvent; 2]| {
            let none = (scope.vmstat.count(VmEvent::PswpIn)? == 0).then_some(0.0);
            Some(count(&[file])? + count(&[anon]).or(none)?)
        };
        match self {
            Figure::SwapIns => count(&[VmEvent::PswpIn]),
            Figure::Refaults => refaults(VmEvent::REFAULTS),
            Figure::RefaultsActivated => refaults(VmEvent::REFAULTS_ACTIVATED),
            Figure::MajorFaults => count(&[VmEvent::PgMajFault]),
            Figure::ReadingTime => scope.reading_ns.map(|ns| ns as f64 / 1e9),
            Figure::Deactivations => count(&[VmEvent::PgDeactivate]),
            Figure::ScannedPerReclaimed => {
                let freed = count(VmEvent::RECLAIMED)?;
                (freed > 0.0).then_some(count(VmEvent::SCANNED)? / freed)
            }
            Figure::DirectReclaimStalls => count(VmEvent::ALLOC_STALLS),
            Figure::MajorFaultP99 => {
                let major = scope.latency.major_fault;
                (major.count > 0).then_some(major.p99_ns as f64 / 1e3)
            }
            Figure::MemoryPressure => Some(scope.pressure.some_share * 100.0),
            Figure::MeanResident => {
                scope.mean_resident_bytes.map(|bytes| bytes as f64 / (1 << 20) as f64)
            }
            Figure::Throughput => {
                let work = if scope.records > 0 { scope.records } else { scope.accesses };
                (scope.sim_time_ns > 0).then_some(work as f64 / (scope.sim_time_ns as f64 / 1e9))
            }
        }
    }
}

impl VariantRuns<'_> {
    /// A value of each run that has it and did all its work, beside the run's seed. `phase`:
    /// in that phase only.
    pub fn values(
        &self,
        phase: Option<&str>,
        value: impl Fn(Scope<'_>) -> Option<f64>,
    ) -> Vec<(u64, f64)> {
        let of_run = |run: &RunReport| {
            let scope = match phase {
                None => Scope::from(run),
                Some(name) => Scope::from(run.phases.iter().find(|p| p.name == name)?),
            };
            Some((run.seed, value(scope)?))
        };
        self.whole().filter_map(of_run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn figures_of_a_run() {
        let report = samples::two_variants(&[1]);
        let scope = Scope::from(&report.runs[0]);
        let of = |f: Figure| f.of(scope);
        assert_eq!(of(Figure::SwapIns), Some(1_501_000.0));
        assert_eq!(of(Figure::Refaults), Some(1_501_000.0));
        assert_eq!(of(Figure::ScannedPerReclaimed), Some(2.0));
        assert_eq!(of(Figure::DirectReclaimStalls), Some(0.0));
        assert_eq!(of(Figure::MajorFaultP99), Some(150.0));
        assert_eq!(of(Figure::MemoryPressure), Some(5.0));
        assert_eq!(of(Figure::Throughput), Some(5_000.0));
    }

    #[test]
    fn throughput_says_of_what() {
        let label = |records: &[u64]| Figure::Throughput.label_of(records.iter().copied());
        assert_eq!(label(&[7, 8]), "throughput, records/s");
        assert_eq!(label(&[0]), "throughput, accesses/s");
        assert_eq!(label(&[0, 7]), "throughput, per s");
        assert_eq!(Figure::Refaults.label_of([7]), "refaults");
    }

    #[test]
    fn undefined_is_not_zero() {
        let report = samples::two_variants(&[1]);
        let populate = Scope::from(&report.runs[0].phases[0]);
        assert_eq!(Figure::ScannedPerReclaimed.of(populate), None);
        assert_eq!(Figure::SwapIns.of(populate), Some(0.0));
        let empty = Pairs::new();
        assert_eq!(Figure::SwapIns.of(Scope { vmstat: &empty, ..populate }), None);
    }

    /// Linux before 5.9 counts refaults of files only.
    #[test]
    fn refaults_of_files_alone_are_a_sum_only_without_swap_ins() {
        let mut report = samples::two_variants(&[1]);
        let run = &mut report.runs[0];
        let kept = run.vmstat.iter().filter(|(n, _)| *n != "workingset_refault_anon");
        run.vmstat = kept.map(|(n, &v)| (n.to_string(), v)).collect();
        run.vmstat.set("workingset_refault_file", 7);
        assert_eq!(Figure::Refaults.of((&*run).into()), None);
        run.vmstat.set("pswpin", 0);
        assert_eq!(Figure::Refaults.of((&*run).into()), Some(7.0));
    }

    #[test]
    fn values_of_a_phase() {
        let report = samples::two_variants(&[1, 2]);
        let groups = report.groups();
        let swap_ins = |s: Scope<'_>| Figure::SwapIns.of(s);
        let v = &groups[0].variants[1];
        assert_eq!(v.values(None, swap_ins), [(1, 1_200_900.0), (2, 1_201_800.0)]);
        assert_eq!(v.values(Some("populate"), swap_ins), [(1, 0.0), (2, 0.0)]);
        assert_eq!(v.values(Some("no such phase"), swap_ins), []);
    }
}
