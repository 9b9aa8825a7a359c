//! The table of quotas: every workload alone on the machine, without a monitor, with one that only looks, and
//! under each quota.

use mmsim_core::base::time::SimDuration;

use super::super::demand::{Basis, Kind};
use super::super::lab::{Lab, Sets};
use super::super::published::{Cell, Published, Relation};
use super::super::ran::{Ran, Watching};
use super::super::relation::{self, BySeed, values};
use super::super::study::Study;
use super::super::{Family, Figures, row_by_seed, unpublished_row};
use super::value;
use super::workloads::{self, WORKLOADS};
use crate::reproduce::document::FigureRow;
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

const WITHOUT: &str = "without";
const MONITOR: &str = "monitor";
/// The row by which costs were fixed.
const NO_QUOTA: &str = "none-n";
const SCHEMES: [&str; 7] = ["none-n", "200-n", "50-n", "10-n", "200-y", "50-y", "10-y"];

/// Scenario that costs were fixed by: one seed without quota.
const FIXED: &str = "reclaim-fixed";
/// Tables of all rows.
const ROWS: [&str; 4] = ["v1-quota-prioritization", "rfc-v3-time-quota", DAILY, "reclaim-parts"];
/// One row by workload, as it was measured every day of the summer after; and which row that is.
const DAILY: &str = "daily-2022-50ms";
const DAILY_ROW: &str = "50-y";
/// Tables by workload: what it is like without a scheme, which is what it was made from, and how it fares
/// with one without quota.
const BY_WORKLOAD: [&str; 4] =
    [workloads::DAY, "v21-vaddr-runtime", "v21-vaddr-memused", "v21-vaddr-rss"];

/// Number of seeds, and the workloads.
fn size(quick: bool) -> (u64, &'static [workloads::Workload]) {
    match quick {
        // splash2x/lu_cb alone: half a gigabyte for two minutes.
        true => (1, &WORKLOADS[14..15]),
        false => (3, &WORKLOADS),
    }
}

/// Settings of the scenario from a workload and the constants.
fn sets(
    lab: &Lab<'_>,
    study: &Study,
    published: &Published,
    w: &workloads::Workload,
    seeds: u64,
) -> Sets {
    let mut sets = workloads::sets(lab, study, published, w);
    for (path, name, unit) in [
        ("machine.cost.t_hit", "hit", "ns"),
        ("machine.cost.t_mkold", "sample", "ns"),
        ("machine.cost.t_young", "sample", "ns"),
        ("machine.cost.t_unlisted", "sample-unlisted", "ns"),
        ("machine.cost.t_frame_walk", "walk", "ns"),
        ("machine.swap.device.read", "swap-in", "ns"),
        ("machine.swap.device.stored-bytes-per-page", "stored", ""),
    ] {
        sets.push((path.to_string(), format!("{}{unit}", value(lab, study, name).round())));
    }
    sets.push(("seeds".into(), seeds.to_string()));
    sets
}

/// Figures kept of a run.
#[derive(Clone, Copy)]
struct Outcome {
    seed: u64,
    /// Runtime, in s.
    runtime: f64,
    /// Memory in use beyond what was in use before it, in pages, mean over the seconds of the run.
    used: f64,
    /// Anonymous memory of the workload, in pages, mean likewise.
    anon: f64,
    /// CPU time of the monitor, in s.
    cpu: f64,
    faults: f64,
    /// Pages swapped out.
    out: f64,
    /// Major faults of the measured system without a monitor, which are not simulated.
    others: f64,
}

fn outcome(run: &Ran) -> Outcome {
    let r: &RunReport = &run.report;
    let gauge = |gauges: &[(&str, u64)], name: &str| {
        gauges.iter().find(|g| g.0 == name).map_or(0.0, |g| g.1 as f64)
    };
    let count = |name: &str| *r.vmstat.get(name).unwrap_or_else(|| panic!("no {name}")) as f64;
    let (before, samples) = run.samples.split_first().expect("free memory before the run");
    let n = samples.len().max(1) as f64;
    let mean = |name: &str| samples.iter().map(|s| gauge(s, name)).sum::<f64>() / n;
    Outcome {
        seed: r.seed,
        runtime: r.sim_time_ns as f64 / 1e9,
        used: gauge(before, "nr_free_pages") - mean("nr_free_pages"),
        anon: mean("nr_anon_pages"),
        cpu: r.damon.iter().map(|d| d.cpu_ns as f64 / 1e9).sum(),
        faults: count("pgmajfault"),
        out: count("pswpout"),
        others: f64::NAN,
    }
}

/// The runs of one workload by variant.
struct Runs {
    name: &'static str,
    without: Outcome,
    all: Vec<(String, Outcome)>,
}

impl Runs {
    fn new(name: &'static str, runs: &[Ran], others: f64) -> Runs {
        let all: Vec<(String, Outcome)> =
            runs.iter().map(|r| (r.report.variant.clone(), outcome(r))).collect();
        let without = all.iter().find(|r| r.0 == WITHOUT).expect("a run without a monitor").1;
        let without = Outcome { others, ..without };
        Runs { name, without, all }
    }

    fn of<'a>(&'a self, variant: &'a str) -> impl Iterator<Item = &'a Outcome> {
        self.all.iter().filter(move |r| r.0 == variant).map(|r| &r.1)
    }
}

/// Per cent of one CPU.
fn cpu(_: &Outcome, o: &Outcome) -> f64 {
    100.0 * o.cpu / o.runtime
}

fn saving(without: &Outcome, o: &Outcome) -> f64 {
    100.0 * (1.0 - o.used / without.used)
}

fn slowdown(without: &Outcome, o: &Outcome) -> f64 {
    100.0 * (o.runtime / without.runtime - 1.0)
}

fn faults(without: &Outcome, o: &Outcome) -> f64 {
    o.faults - without.faults
}

/// Per cent of what the measured system faults without a monitor.
fn faults_overhead(without: &Outcome, o: &Outcome) -> f64 {
    100.0 * faults(without, o) / without.others
}

fn rss(without: &Outcome, o: &Outcome) -> f64 {
    100.0 * (o.anon / without.anon - 1.0)
}

fn swapped(_: &Outcome, o: &Outcome) -> f64 {
    o.out
}

type Figure = fn(&Outcome, &Outcome) -> f64;

/// Seed by seed, the mean over workloads.
fn over_workloads(all: &[Runs], variant: &str, figure: Figure) -> BySeed {
    let Some(first) = all.first() else { return Vec::new() };
    let of_seed = |seed: u64| {
        let of = |r: &Runs| r.of(variant).find(|o| o.seed == seed).map(|o| figure(&r.without, o));
        let figures: Option<Vec<f64>> = all.iter().map(of).collect();
        figures.map(|f| (seed, f.iter().sum::<f64>() / f.len() as f64))
    };
    first.of(variant).filter_map(|o| of_seed(o.seed)).collect()
}

/// Seed by seed, a figure of the sums over workloads.
fn of_sums(all: &[Runs], variant: &str, figure: Figure) -> BySeed {
    let Some(first) = all.first() else { return Vec::new() };
    let add = |a: &mut Outcome, b: &Outcome| {
        a.runtime += b.runtime;
        a.used += b.used;
        a.cpu += b.cpu;
    };
    let sum = |of: &dyn Fn(&Runs) -> Option<Outcome>| -> Option<Outcome> {
        let mut all = all.iter().map(of);
        let mut sum = all.next()??;
        for o in all {
            add(&mut sum, &o?);
        }
        Some(sum)
    };
    let without = sum(&|r| Some(r.without));
    let of_seed = |seed: u64| {
        let with = sum(&|r| r.of(variant).find(|o| o.seed == seed).copied())?;
        Some((seed, figure(&without?, &with)))
    };
    first.of(variant).filter_map(|o| of_seed(o.seed)).collect()
}

/// The variant of a row of quotas.
fn variant(cell: &Cell<'_>) -> String {
    let order = if cell.key("prioritization") == "true" { "y" } else { "n" };
    match cell.number("quota_ms_per_s") {
        0 => format!("none-{order}"),
        ms => format!("{ms}-{order}"),
    }
}

/// The figure of a cell for each seed. The baseline of major faults is that of the days' measurements.
fn simulated(all: &[Runs], cell: &Cell<'_>) -> BySeed {
    let figure: Figure = match cell.column().as_str() {
        "memory_saving" => saving,
        "cpu_util" => cpu,
        "slowdown" => slowdown,
        _ => faults_overhead,
    };
    over_workloads(all, &variant(cell), figure)
}

/// A figure of a day's measurement, for each seed: of one workload, or the mean.
fn of_day(all: &[Runs], cell: &Cell<'_>) -> Option<BySeed> {
    let figure: Figure = match cell.column().as_str() {
        "memory_saving" => saving,
        "rss_change" => rss,
        "slowdown" => slowdown,
        _ => faults,
    };
    if cell.key("workload") == "mean" {
        return Some(over_workloads(all, DAILY_ROW, figure));
    }
    let runs = all.iter().find(|r| r.name == cell.key("workload"))?;
    Some(runs.of(DAILY_ROW).map(|o| (o.seed, figure(&runs.without, o))).collect())
}

fn daily(published: &Published, all: &[Runs]) -> Vec<FigureRow> {
    let of = |cell: Cell<'_>| {
        let by_seed = of_day(all, &cell)?;
        Some(row_by_seed(&cell, &cell.column(), &values(&by_seed)))
    };
    let mut rows: Vec<FigureRow> = published.cells(published.table(DAILY)).filter_map(of).collect();
    for r in published.relations.iter().filter(|r| r.table.as_deref() == Some(DAILY)) {
        rows.extend(relation::row(published, r, |c| of_day(all, c)));
    }
    rows
}

/// A figure of one workload, for each seed: without a scheme, or the change under the one without quota. The
/// published scheme worked on virtual addresses.
fn of_workload(all: &[Runs], cell: &Cell<'_>) -> Option<BySeed> {
    let runs = all.iter().find(|r| r.name == cell.key("workload"))?;
    let column = cell.column();
    let quantity = |o: &Outcome| match (cell.table.id.as_str(), column.as_str()) {
        ("v21-vaddr-runtime", _) | (_, "runtime") => o.runtime,
        ("v21-vaddr-memused", _) | (_, "memused") => 4.0 * o.used,
        _ => 4.0 * o.anon,
    };
    let before = quantity(&runs.without);
    match column.as_str() {
        "orig" | "runtime" | "memused" | "rss" => Some(vec![(1, before)]),
        "change" => {
            let change = |o: &Outcome| (o.seed, 100.0 * (quantity(o) / before - 1.0));
            Some(runs.of(NO_QUOTA).map(change).collect())
        }
        _ => None,
    }
}

/// The figures of all tables of quotas and of workloads.
pub(in super::super) fn figures(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let all = ROWS.iter().any(|t| lab.wants(t));
    if !all && !lab.wants(FIXED) && !BY_WORKLOAD.iter().any(|t| lab.wants(t)) {
        return Ok(figures);
    }
    let (seeds, workloads) = size(lab.quick);
    let seeds = if all { seeds } else { 1 };
    let scenario = family.scenario("workload");
    let cells = workloads.iter().map(|w| (scenario, sets(lab, study, published, w, seeds)));
    let cells: Vec<_> = cells.collect();
    // Without a monitor nothing is drawn, and what a monitor alone costs hardly hangs on what is.
    let wanted = |_: usize, s: &RunSpec| match s.variant.as_str() {
        WITHOUT | MONITOR => s.seed == 1,
        v => all || v == NO_QUOTA,
    };
    let every = Some(SimDuration::from_secs(1));
    let watching = |_: usize| Watching { every, ..Watching::default() };
    let runs = lab.run_watched("damon-reclaim", &cells, watching, wanted)?;
    let others = |w: &workloads::Workload| {
        workloads::measured(published, workloads::DAY, w.name, "majfaults")
    };
    let all: Vec<Runs> =
        workloads.iter().zip(&runs).map(|(w, r)| Runs::new(w.name, r, others(w))).collect();
    for table in ["v1-quota-prioritization", "rfc-v3-time-quota"] {
        if lab.wants(table) {
            figures.rows.extend(quotas(published, table, &all));
        }
    }
    for table in BY_WORKLOAD.into_iter().filter(|t| lab.wants(t)) {
        figures.rows.extend(by_workload(published, table, &all));
    }
    if lab.wants(DAILY) {
        figures.rows.extend(daily(published, &all));
    }
    if lab.wants(FIXED) {
        figures.rows.extend(fixed(published, &all));
    }
    if lab.wants("reclaim-parts") {
        figures.rows.extend(parts(&all));
    }
    Ok(figures)
}

fn quotas(published: &Published, table: &str, all: &[Runs]) -> Vec<FigureRow> {
    let row = |cell: Cell<'_>| {
        let column = cell.column();
        let by_seed = values(&simulated(all, &cell));
        let row = row_by_seed(&cell, &column, &by_seed);
        let Some(near) = cell.demand.near.as_ref().filter(|_| cell.demand.kind == Kind::NearCell)
        else {
            return row;
        };
        let near = estimate(&values(&simulated(all, &published.cell(near))));
        let met = near.zip(row.simulated).map(|(n, s)| cell.demand.met_near(n.mean, s));
        FigureRow { met, ..row }
    };
    let mut rows: Vec<FigureRow> = published.cells(published.table(table)).map(row).collect();
    let first =
        |r: &&Relation| r.cells.iter().chain(&r.numerator).next().is_some_and(|c| c.table == table);
    for r in published.relations.iter().filter(first) {
        rows.extend(relation::row(published, r, |c| Some(simulated(all, c))));
    }
    rows
}

fn by_workload(published: &Published, table: &str, all: &[Runs]) -> Vec<FigureRow> {
    let of = |cell: Cell<'_>| {
        let by_seed = of_workload(all, &cell)?;
        let row = row_by_seed(&cell, &cell.column(), &values(&by_seed));
        let basis = if table == workloads::DAY { Basis::Calibrated } else { Basis::Trend };
        Some(FigureRow { basis, ..row })
    };
    let mut rows: Vec<FigureRow> = published.cells(published.table(table)).filter_map(of).collect();
    for r in published.relations.iter().filter(|r| r.table.as_deref() == Some(table)) {
        rows.extend(relation::row(published, r, |c| of_workload(all, c)));
    }
    rows
}

/// The figures that costs were fixed by, on the first seed.
fn fixed(published: &Published, all: &[Runs]) -> Vec<FigureRow> {
    let claim = published.claims.iter().find(|c| c.id == "monitoring-cost").and_then(|c| c.value);
    let table = published.table("v1-quota-prioritization");
    let of_row = |c: &Cell<'_>| variant(c) == NO_QUOTA;
    let first = |mut v: BySeed| {
        v.truncate(1);
        estimate(&values(&v))
    };
    let row = |quantity: &str, unit: &str, value: Option<f64>, simulated: BySeed| FigureRow {
        published: value,
        basis: Basis::Calibrated,
        ..unpublished_row(&format!("{FIXED}/{quantity}"), quantity, unit, first(simulated))
    };
    let mut rows = vec![row("monitor", "% of one CPU", claim, over_workloads(all, MONITOR, cpu))];
    rows.extend(
        published
            .cells(table)
            .filter(of_row)
            .take(3)
            .map(|c| row(&c.column(), c.unit(), c.published(), simulated(all, &c))),
    );
    rows
}

/// Unpublished parts of each row.
fn parts(all: &[Runs]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    // Memory of others counts, too, and some workloads use little.
    let mib = |r: &Runs| 100.0 * 256.0 / r.without.used;
    rows.push(unpublished_row(
        "reclaim-parts/without/a MiB of others",
        "saving for each MiB that leaves elsewhere",
        "points",
        estimate(&[all.iter().map(mib).sum::<f64>() / all.len() as f64]),
    ));
    for v in [MONITOR].iter().chain(&SCHEMES) {
        for (quantity, unit, by_seed) in [
            ("cpu", "% of one CPU", over_workloads(all, v, cpu)),
            ("cpu of the sums", "% of one CPU", of_sums(all, v, cpu)),
            ("saving of the sums", "%", of_sums(all, v, saving)),
            ("slowdown of the sums", "%", of_sums(all, v, slowdown)),
            ("major faults", "per run", over_workloads(all, v, faults)),
            ("swapped out", "pages per run", over_workloads(all, v, swapped)),
        ] {
            let id = format!("reclaim-parts/{v}/{quantity}");
            rows.push(unpublished_row(&id, quantity, unit, estimate(&values(&by_seed))));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The scenario as it is shipped is the first workload.
    #[test]
    fn the_scenario_is_what_is_run() {
        let lab = Lab::silent(&|_, _, _| {});
        let published = Published::read(super::super::family().published);
        let study = super::super::family().study().expect("a study");
        let file = super::super::family().scenario("workload");
        let shipped = Scenario::from_str(file.text, file.path).expect("a scenario");
        let of = |w: &workloads::Workload| {
            let run = shipped.clone().with_sets(&sets(&lab, &study, &published, w, 3));
            run.unwrap_or_else(|e| panic!("{}: {e}", w.name)).expand(&Catalogue).expect("runs")
        };
        let same = of(&WORKLOADS[0]) == shipped.expand(&Catalogue).expect("runs");
        assert!(same, "write what {:?} says", sets(&lab, &study, &published, &WORKLOADS[0], 3));
        let others: Vec<_> = WORKLOADS[1..].iter().map(of).collect();
        assert!(others.windows(2).all(|w| w[0] != w[1]));
    }

    /// Every row of the tables has its variant.
    #[test]
    fn rows_are_variants() {
        let published = Published::read(super::super::family().published);
        for table in ["v1-quota-prioritization", "rfc-v3-time-quota"] {
            let rows: Vec<String> =
                published.cells(published.table(table)).map(|c| variant(&c)).collect();
            assert!(rows.iter().all(|v| SCHEMES.contains(&v.as_str())), "{rows:?}");
            assert!(SCHEMES.iter().all(|s| rows.iter().any(|v| v == s)), "{rows:?}");
        }
    }
}
