//! Known errors of the model against recorded kernels, for each kernel, LRU and group of counters.
//!
//! `nearness.txt` is the table *By kernel* of docs/accuracy.md with the counters of each group.
//! `mmsim-lab accuracy` writes both, and a test compares them. Those recordings have no zswap. Of runs
//! with it `nearness-zswap.txt` speaks, the same table of evidence/zswap, which a test of mmsim-lab
//! writes.

use std::fmt;

use mmsim_core::base::vmstat::VmEvent;

use super::document::RunReport;
use super::path::{Path, Term};

/// The table: tabs between LRU, group, counters and a cell for each kernel of the first line.
const TABLE: &str = include_str!("nearness.txt");
/// The same of recordings with zswap.
const WITH_ZSWAP: &str = include_str!("nearness-zswap.txt");

/// The families of LRUs that were recorded.
const FAMILIES: [&str; 2] = ["classic", "mglru"];

/// A group of counters of one kernel and LRU, beside its recordings.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Nearness {
    /// Name of the group, as in `swap traffic`.
    pub group: &'static str,
    /// Its counters, some of them sums of `/proc/vmstat`'s.
    pub counters: Vec<&'static str>,
    /// The middle one of the median errors of its counters, as in `0.7 %`; empty: too few events.
    pub error: &'static str,
    /// Number of counters that are as close as they should be, as in `8 of 20`.
    pub close: &'static str,
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            "" => write!(f, "{} {}", self.group, self.close),
            error => write!(f, "{} {error}, {}", self.group, self.close),
        }
    }
}

/// The groups that were recorded of a kernel with an LRU (`classic` or `mglru`), in the order of the
/// table; none: that pair was not recorded.
pub fn known(kernel: &str, lru: &str) -> Vec<Nearness> {
    known_by(TABLE, kernel, lru)
}

fn known_by(table: &'static str, kernel: &str, lru: &str) -> Vec<Nearness> {
    let mut lines = table.lines().map(|line| line.split('\t'));
    let header: Vec<&str> = lines.next().map(Iterator::collect).unwrap_or_default();
    let Some(column) = header.iter().skip(3).position(|k| *k == kernel) else { return Vec::new() };
    let of = |mut cells: std::str::Split<'static, char>| {
        (cells.next()? == lru).then_some(())?;
        let (group, counters) = (cells.next()?, cells.next()?.split(' ').collect());
        let (error, close) = cells.nth(column)?.split_once(", ")?;
        Some(Nearness { group, counters, error, close })
    };
    lines.filter_map(of).collect()
}

/// Statements about runs: for each kernel and policy among them, in their order, how near the groups
/// are that they have events of. Empty if no run has any.
pub fn of_runs<'a>(runs: impl IntoIterator<Item = &'a RunReport>) -> Vec<[String; 2]> {
    let mut all: Vec<(&RunReport, Vec<&RunReport>)> = Vec::new();
    let kind = |run: &RunReport| (run.kernel.clone(), run.policy.clone(), has(run));
    for run in runs {
        match all.iter_mut().find(|(r, _)| kind(r) == kind(run)) {
            Some((_, alike)) => alike.push(run),
            None => all.push((run, vec![run])),
        }
    }
    let mut said = Vec::new();
    for (run, alike) in &all {
        let has = has(run);
        let of = |r: &RunReport, c: &str| r.vmstat.get(c).or_else(|| r.gauges.get(c)).copied();
        let count = |c: &str| alike.iter().filter_map(|r| of(r, c)).max();
        let name = name(&run.kernel, &run.policy) + has.name();
        let of_monitor = |c: &str| c.starts_with("damon.") || c.starts_with("damos.");
        let monitored = alike.iter().any(|r| !r.damon.is_empty());
        let known = match policy_of(&run.kernel, &run.policy) {
            Some(lru) if has == Has::Zswap => known_by(WITH_ZSWAP, &run.kernel, lru),
            Some(lru) if has == Has::PagesAlone => known(&run.kernel, lru),
            _ => Vec::new(),
        };
        if known.is_empty() {
            if alike.iter().any(|r| r.vmstat.any(VmEvent::RECLAIMED)) {
                let why = match has {
                    Has::LargeFolios => "no recording has folios of such sizes yet".to_string(),
                    _ => unknown(&run.policy),
                };
                said.push([name, why]);
            }
            continue;
        }
        // A group is there if its own counters, which no group before it has, counted anything: those
        // of anonymous memory, or the first that runs have. (Reclaim of files activates too.)
        let mut before: Vec<&str> = Vec::new();
        let mut groups = Vec::new();
        for near in known {
            let own: Vec<&str> =
                near.counters.iter().copied().filter(|c| !before.contains(c)).collect();
            let of_anon = own.iter().filter(|c| c.ends_with("_anon"));
            let counted = match of_anon.clone().next() {
                Some(_) => of_anon.filter_map(|c| count(c)).any(|n| n > 0),
                None => own.iter().find_map(|c| count(c)).is_some_and(|n| n > 0),
            };
            if counted || monitored && own.iter().any(|c| of_monitor(c)) {
                groups.push(near.to_string());
            }
            before.extend(&near.counters);
        }
        if !groups.is_empty() {
            said.push([name, groups.join("; ")]);
        }
    }
    said
}

/// A feature of a run that the first recordings do not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    PagesAlone,
    /// zswap stored a page.
    Zswap,
    /// Faults made folios of other sizes than a page and 2 MiB.
    LargeFolios,
}

impl Has {
    fn name(self) -> &'static str {
        match self {
            Has::PagesAlone => "",
            Has::Zswap => " with zswap",
            Has::LargeFolios => " with large folios",
        }
    }
}

fn has(run: &RunReport) -> Has {
    let made = |(name, n): (&str, &u64)| {
        name.ends_with(".anon_fault_alloc") && *n > 0 && !name.starts_with("hugepages-2048kB")
    };
    match run.vmstat.get(VmEvent::ZswpOut.name()) {
        _ if run.transparent_hugepage.iter().any(made) => Has::LargeFolios,
        Some(1..) => Has::Zswap,
        _ => Has::PagesAlone,
    }
}

/// The statement about figures, as expressions, of a kernel and policy: the groups that have any of
/// their counters, then the figures that none has.
pub fn of_figures<'a>(
    kernel: &str,
    policy: &str,
    figures: impl IntoIterator<Item = &'a Path>,
) -> [String; 2] {
    let known = policy_of(kernel, policy).map_or(Vec::new(), |lru| known(kernel, lru));
    if known.is_empty() {
        return [name(kernel, policy), unknown(policy)];
    }
    let (mut groups, mut without) = (Vec::new(), Vec::new());
    for figure in figures {
        let counters: Vec<&str> = figure.over.iter().flat_map(counters_of).collect();
        // Several groups may have a counter; the first is of work that does little else.
        match known.iter().find(|near| near.counters.iter().any(|c| counters.contains(c))) {
            Some(near) if groups.contains(&near.to_string()) => {}
            Some(near) => groups.push(near.to_string()),
            None => without.push(format!("{} was not compared", figure.name)),
        }
    }
    groups.extend(without);
    [name(kernel, policy), groups.join("; ")]
}

/// The counters of an addend, by their names.
fn counters_of(term: &Term) -> Vec<&str> {
    match term {
        Term::Counters(all) => all.iter().map(|e| e.name()).collect(),
        Term::OfSwap(event) => vec![event.name()],
        Term::Gauge(name) => vec![name],
        Term::Number(name) => vec![name.rsplit('.').next().unwrap_or(name)],
        _ => Vec::new(),
    }
}

/// The LRU whose recordings are of this policy on this kernel: only a kernel's own counts.
fn policy_of(kernel: &str, policy: &str) -> Option<&'static str> {
    FAMILIES.into_iter().find(|lru| policy == format!("{lru}-v{kernel}"))
}

const UNKNOWN: &str = "no recording";

/// Says that a pair was not recorded, and on which kernel the policy was.
fn unknown(policy: &str) -> String {
    match policy.rsplit_once("-v").filter(|(lru, kernel)| !known(kernel, lru).is_empty()) {
        Some((_, kernel)) => format!("{UNKNOWN}; of `machine.kernel = \"{kernel}\"` there is one"),
        None => UNKNOWN.to_string(),
    }
}

fn name(kernel: &str, policy: &str) -> String {
    match policy.rsplit_once("-v") {
        Some((_, version)) if version == kernel => policy.to_string(),
        _ => format!("{policy} on {kernel}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Figure;
    use crate::samples;

    fn run(kernel: &str, policy: &str, counters: &[(&'static str, u64)]) -> RunReport {
        let mut run = samples::two_variants(&[1]).runs[0].clone();
        (run.kernel, run.policy) = (kernel.into(), policy.into());
        run.vmstat = counters.iter().copied().collect();
        run
    }

    #[test]
    fn every_cell_is_read() {
        for lru in FAMILIES {
            let groups = TABLE.lines().filter(|l| l.starts_with(lru)).count();
            for kernel in TABLE.lines().next().expect("a header").split('\t').skip(3) {
                let known = known(kernel, lru);
                assert!(!known.is_empty() && known.len() <= groups, "{lru} {kernel}");
                assert!(known.iter().all(|near| near.close.contains(" of ")), "{known:?}");
            }
        }
        assert_eq!(known("5.5", "classic"), []);
        assert_eq!(known("6.12", "random"), []);
    }

    /// Only what a run did is spoken of, and a kernel without recordings says so.
    #[test]
    fn runs_of_several_kernels() {
        let anon = [("workingset_refault_anon", 1), ("pgscan_anon", 1), ("pgsteal_anon", 1)];
        let of = |kernel: &str, policy: &str| of_runs([&run(kernel, policy, &anon)]);
        let [[name, groups]] = &of("7.3", "mglru-v7.3")[..] else { panic!("one statement") };
        assert_eq!(name, "mglru-v7.3");
        assert!(groups.starts_with("swap traffic ") && groups.contains("; scans "), "{groups}");
        assert!(!groups.contains("file") && !groups.contains("DAMON"), "{groups}");
        let no = |name: &str| vec![[name.to_string(), UNKNOWN.to_string()]];
        assert_eq!(of("5.5", "classic-v5.5"), no("classic-v5.5"));
        // The policy of another kernel than the machine's: the one to set is named.
        let [[name, said]] = &of("6.12", "mglru-v7.3")[..] else { panic!("one statement") };
        assert_eq!(name, "mglru-v7.3 on 6.12");
        assert_eq!(said, "no recording; of `machine.kernel = \"7.3\"` there is one");
        assert_eq!(of("7.3", "random"), no("random on 7.3"));
        // Files are activated too, and activation was recorded of anonymous memory alone.
        let file =
            [("workingset_refault_file", 1), ("pgactivate", 1), ("workingset_activate_anon", 0)];
        let [[_, groups]] = &of_runs([&run("7.3", "classic-v7.3", &file)])[..] else {
            panic!("one")
        };
        assert!(groups.starts_with("file and balance ") && !groups.contains(';'), "{groups}");
        // Recordings without zswap say nothing of runs with it.
        let stored = [("workingset_refault_anon", 1), ("zswpout", 1), ("zswpin", 1)];
        let with = run("6.12", "classic-v6.12", &stored);
        let [[name, groups], [other, _]] =
            &of_runs([&with, &run("6.12", "classic-v6.12", &anon)])[..]
        else {
            panic!("two")
        };
        assert_eq!((&**name, &**other), ("classic-v6.12 with zswap", "classic-v6.12"));
        assert!(groups.starts_with("zswap traffic ") && !groups.contains(';'), "{groups}");
        // Without reclaim there is nothing to compare.
        assert_eq!(of_runs([&run("7.3", "mglru-v7.3", &[]), &run("5.5", "x", &[])]).len(), 0);
    }

    #[test]
    fn figures_of_a_search() {
        let figures = [Figure::SwapIns.path(), Figure::MemoryPressure.path()];
        let [_, said] = of_figures("6.12", "classic-v6.12", figures);
        assert!(said.starts_with("swap traffic "), "{said}");
        assert!(said.ends_with("; memory-pressure was not compared"), "{said}");
        let [_, said] = of_figures("6.6", "classic-v6.6", figures);
        assert_eq!(said, UNKNOWN);
    }
}
