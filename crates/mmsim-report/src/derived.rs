//! Figures with names: the few numbers by which people compare replacement policies. Each is a row
//! with its label and its [`Path`], and all of them stand here and nowhere else.

use std::borrow::Cow;

use mmsim_core::base::vmstat::VmEvent as E;

use super::document::RunReport;
use super::groups::VariantRuns;
use super::path::{Path, Term};
pub use super::scope::{Scope, own};

macro_rules! figures {
    ($($(#[doc = $doc:literal])+ $Figure:ident = $label:literal, $path:expr;)+) => {
        /// A figure.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Figure { $($(#[doc = $doc])+ $Figure,)+ }

        impl Figure {
            /// All figures, in the order of tables.
            pub const ALL: [Figure; [$(Figure::$Figure),+].len()] = [$(Figure::$Figure),+];

            /// Its label and its expression.
            const fn row(self) -> &'static (&'static str, Path) {
                const ROWS: &[(&str, Path)] = &[$(($label, $path)),+];
                &ROWS[self as usize]
            }
        }
    };
}

// Label in tables, with its unit; name as options and wide tables have it: the label without the
// unit, with hyphens.
figures! {
    /// Pages read back from swap.
    SwapIns = "swap-ins", Path::sum("swap-ins", &[Term::Counters(&[E::PswpIn])]);
    /// Evicted pages that were wanted again, anonymous and file.
    Refaults = "refaults", Path::sum("refaults", &[
        Term::OfSwap(E::WorkingsetRefaultAnon),
        Term::Counters(&[E::WorkingsetRefaultFile]),
    ]);
    /// Refaults that were activated at once, anonymous and file.
    RefaultsActivated = "refaults activated", Path::sum("refaults-activated", &[
        Term::OfSwap(E::WorkingsetActivateAnon),
        Term::Counters(&[E::WorkingsetActivateFile]),
    ]);
    /// Faults that had to wait for a read.
    MajorFaults = "major faults", Path::sum("major-faults", &[Term::Counters(&[E::PgMajFault])]);
    /// Pages that were fetched from a device for each 100 accesses: faults that waited for a read,
    /// and pages that `read(2)` and `write(2)` found missing.
    MissRatio = "miss ratio, %", Path::ratio(
        "miss-ratio",
        &[Term::Counters(&[E::PgMajFault]), Term::CacheMisses],
        &[Term::Accesses],
        100.0,
    );
    /// Pages that even the optimum MIN fetches again on these accesses, where it was computed.
    Optimum = "optimum", Path::sum("optimum", &[Term::Optimum]);
    /// Time of reads from devices, those of swap and those of files, in seconds.
    ReadingTime = "reads of devices, s", Path::sum("reads-of-devices", &[Term::ReadingTime]);
    /// Pages moved from the active to the inactive list.
    Deactivations = "deactivations",
        Path::sum("deactivations", &[Term::Counters(&[E::PgDeactivate])]);
    /// Pages that reclaim looked at for each page that it freed. (An undefined figure
    /// where nothing was freed.)
    ScannedPerReclaimed = "scanned per reclaimed", Path::ratio(
        "scanned-per-reclaimed",
        &[Term::Counters(E::SCANNED)],
        &[Term::Counters(E::RECLAIMED)],
        1.0,
    );
    /// Allocations that had to reclaim for themselves, all zones.
    DirectReclaimStalls = "direct reclaim stalls",
        Path::sum("direct-reclaim-stalls", &[Term::Counters(E::ALLOC_STALLS)]);
    /// 99th percentile of the time of a major fault, in microseconds.
    MajorFaultP99 = "major fault p99, us", Path::sum("major-fault-p99", &[Term::MajorFaultP99]);
    /// Share of the time in which some thread was stalled on memory, in per cent.
    MemoryPressure = "memory pressure, %",
        Path::ratio("memory-pressure", &[Term::Stalled], &[], 100.0);
    /// Mean of resident memory over time, in MiB, where the scenario has a monitor of accesses: what
    /// its schemes save is the change.
    MeanResident = "resident, mean MiB", Path::sum("resident", &[Term::MeanResident]);
    /// Memory of a guest that its host holds at the end, in MiB, where the machine has a host.
    HostHeld = "held by the host, MiB", Path::ratio(
        "held-by-the-host",
        &[Term::Gauge("sim_host_held")],
        &[],
        1.0 / 256.0,
    );
    /// Records per second; accesses per second where the work has no records.
    Throughput = "throughput, per s", Path::sum("throughput", &[Term::Throughput]);
}

impl Path {
    /// The figure of that name, or numbers that are joined by `+`.
    pub fn named(text: &str) -> Path {
        Figure::named(text).map_or_else(|| Path::read(text), |figure| figure.path().clone())
    }
}

impl Figure {
    /// The figure of that name.
    pub fn named(name: &str) -> Option<Figure> {
        Figure::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Its expression.
    pub const fn path(self) -> &'static Path {
        &self.row().1
    }

    /// Label in tables, with its unit.
    pub const fn label(self) -> &'static str {
        self.row().0
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
        match self.path().name {
            Cow::Borrowed(name) => name,
            Cow::Owned(_) => "",
        }
    }

    /// Its value for each 1,000 records, where there are records.
    pub fn per_1000_records(self, scope: Scope<'_>) -> Option<f64> {
        (scope.records > 0).then_some(self.of(scope)? * 1000.0 / scope.records as f64)
    }

    /// Its value, if it is defined and the report has what it needs.
    pub fn of(self, scope: Scope<'_>) -> Option<f64> {
        self.path().of(&scope).ok()
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
    use crate::pairs::Pairs;
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
