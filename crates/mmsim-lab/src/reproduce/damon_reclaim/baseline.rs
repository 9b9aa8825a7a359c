//! Purpose of sampling regions, beside the method that it is measured against: looking at the
//! accessed bit of every page, whose cost grows with the memory; and two claims of the letter that
//! cannot be checked from outside.
//!
//! A linear scan is a monitor with a region for each page: the same code, which then neither merges
//! nor splits. It takes `pages * (t_mkold + t_young)` for each sample, whatever the memory does. A scan
//! that takes longer than the sampling interval is late for the next one.

use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::Published;
use super::super::ran::{Ran, Watching};
use super::super::study::Study;
use super::super::{Family, Figures, unpublished_row};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::estimate;
use mmsim::report::{DamonReport, RunReport};
use mmsim::run::RunError;
use mmsim_core::config::cost::CostModel;
use mmsim_damon::{Region, Snapshot};

/// Pages of the process, and whether a linear scan of them is simulated.
const SIZES: [(u64, bool); 4] = [(4096, true), (16_384, true), (65_536, false), (262_144, false)];
/// Pages of 70 GiB.
const SEVENTY_GIB: u64 = 70 << 18;
/// Samples in a second of simulated time, at the default of 5 ms.
const SAMPLES: f64 = 200.0;
/// A region of at most this number of bytes is one that was found.
const FOUND: u64 = 16 << 10;

const NOT_VALIDATED: &str =
    "a claim without a set-up: what is simulated is one of many that it could have meant";

/// The cost of a linear scan beside that of regions, and the claims.
pub(in super::super) fn figures(
    lab: &Lab<'_>,
    family: &Family,
    _: &Study,
    _: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if lab.wants("baseline-linear-scan") {
        figures.rows.extend(linear(lab, family.scenario("linear-scan"))?);
    }
    if lab.wants("claims") {
        figures.rows.extend(claims(lab, family)?);
    }
    Ok(figures)
}

/// Per cent of one CPU that a sample of `pages` pages every 5 ms takes.
fn percent(pages: f64) -> f64 {
    let cost = CostModel::measured();
    pages * (cost.t_mkold + cost.t_young).as_nanos() as f64 * SAMPLES / 1e9 * 100.0
}

fn linear(lab: &Lab<'_>, scenario: ScenarioFile) -> Result<Vec<FigureRow>, RunError> {
    let sizes = if lab.quick { &SIZES[..1] } else { &SIZES[..] };
    let cell = |pages: u64, regions: Option<u64>| -> Sets {
        let set = |path: &str, value: String| (path.to_string(), value);
        let part = |name: &str, pages: u64| {
            set(&format!("task[0].regions.{name}.memory"), format!("{pages} pages"))
        };
        let mut sets =
            vec![part("hot", pages / 8), part("warm", pages / 8), part("cold", pages / 4 * 3)];
        // Twice a second, in steps of 5 ms.
        sets.push(set("task[0].steps[3].steps[1].size", format!("{} pages", pages / 800)));
        for key in ["min-nr-regions", "max-nr-regions"] {
            sets.extend(regions.map(|n| set(&format!("damon[0].{key}"), n.to_string())));
        }
        if lab.quick || regions.is_some() {
            sets.push(set("seeds", "1".into()));
        }
        sets
    };
    let kinds = |&(pages, linear): &(u64, bool)| {
        let all = [("regions", pages, None), ("linear", pages, Some(pages))];
        all.into_iter().take(if linear { 2 } else { 1 })
    };
    let all: Vec<(&str, u64, Option<u64>)> = sizes.iter().flat_map(kinds).collect();
    let cells: Vec<Sets> = all.iter().map(|&(_, pages, regions)| cell(pages, regions)).collect();
    let runs = lab.run("linear scan", scenario, &cells)?;
    let mut rows = Vec::new();
    let mut row = |id: String, quantity: &str, unit: &str, values: &[f64]| {
        rows.push(unpublished_row(
            &format!("baseline-linear-scan/{id}"),
            quantity,
            unit,
            estimate(values),
        ));
    };
    let mut formula: Vec<u64> = sizes.iter().map(|s| s.0).collect();
    formula.push(SEVENTY_GIB);
    for pages in formula {
        let id = format!("{} MiB/linear", pages / 256);
        row(
            format!("{id}/formula"),
            "cpu at 5 ms, by formula",
            "% of one CPU",
            &[percent(pages as f64)],
        );
    }
    for ((kind, pages, _), runs) in all.iter().zip(&runs) {
        let of = |f: &dyn Fn(&DamonReport) -> f64| -> Vec<f64> {
            runs.iter().map(|r: &RunReport| f(&r.damon[0])).collect()
        };
        let truth = |f: &dyn Fn(&mmsim::report::TruthReport) -> f64| {
            of(&|d| d.truth.as_ref().map_or(f64::NAN, f))
        };
        let id = format!("{} MiB/{kind}", pages / 256);
        let sample = of(&|d| d.cpu_ns as f64 / 1e3 / d.samples as f64);
        row(format!("{id}/sample"), "cpu of a sample", "us", &sample);
        row(
            format!("{id}/misjudged"),
            "misjudged",
            "% of memory and time",
            &truth(&|t| 100.0 * t.misjudged),
        );
        let wrong = truth(&|t| 100.0 * t.working_set_wrong / t.working_set);
        row(format!("{id}/working set"), "wrong in the working set", "% of it", &wrong);
    }
    Ok(rows)
}

fn claims(lab: &Lab<'_>, family: &Family) -> Result<Vec<FigureRow>, RunError> {
    let mut rows = Vec::new();
    let mut row = |id: &str, quantity: &str, unit: &str, values: &[f64]| {
        let row = unpublished_row(&format!("claims/{id}"), quantity, unit, estimate(values));
        rows.push(FigureRow { note: NOT_VALIDATED.into(), ..row });
    };
    if !lab.quick {
        let runs = lab.run_watched(
            "70 GiB",
            &[(family.scenario("seventy"), Sets::new())],
            |_| Watching::default(),
            |_, _| true,
        )?;
        let runs = runs.into_iter().next().expect("one cell");
        let share = |r: &Ran| 100.0 * r.report.damon[0].cpu_ns as f64 / r.report.sim_time_ns as f64;
        let regions = |r: &Ran| {
            let m = &r.monitored;
            let counts = m[0].record.iter().map(|s| s.regions.len() as f64);
            counts.sum::<f64>() / m[0].record.len().max(1) as f64
        };
        let mean: Vec<f64> = runs.iter().map(regions).collect();
        let formula: Vec<f64> = mean.iter().map(|n| percent(*n)).collect();
        row("70-gib/regions", "mean regions", "regions", &mean);
        row("70-gib/cpu", "cpu", "% of one CPU", &runs.iter().map(share).collect::<Vec<_>>());
        row(
            "70-gib/formula",
            "cpu, if every sample were of a listed page",
            "% of one CPU",
            &formula,
        );
    }
    let sizes: &[u64] = if lab.quick { &[64] } else { &[64, 1024, 70 << 10] };
    let cell = |mib: &u64| -> Sets {
        let mut sets = vec![("task[0].regions.heap.memory".to_string(), format!("{mib}MiB"))];
        if lab.quick {
            sets.push(("seeds".into(), "1".into()));
        }
        sets
    };
    let scenario = family.scenario("hot-page");
    let cells: Vec<_> = sizes.iter().map(|mib| (scenario, cell(mib))).collect();
    let runs = lab.run_watched("hot page", &cells, |_| Watching::default(), |_, _| true)?;
    for (mib, runs) in sizes.iter().zip(&runs) {
        let found: Vec<f64> =
            runs.iter().filter_map(|r| found_after(&r.monitored[0].record)).collect();
        let id = format!("hot-page/{mib} MiB");
        let share = 100.0 * found.len() as f64 / runs.len() as f64;
        let Some(end) = runs.first().map(|r| r.report.sim_time_ns / 1_000_000_000) else {
            continue;
        };
        row(&format!("{id}/found"), &format!("found within {end} s"), "% of seeds", &[share]);
        let sorted = |mut v: Vec<f64>| {
            v.sort_by(f64::total_cmp);
            v
        };
        let times = sorted(found);
        for (name, at) in
            [("first", 0), ("median", times.len() / 2), ("last", times.len().max(1) - 1)]
        {
            let value: Vec<f64> = times.get(at).copied().into_iter().collect();
            row(&format!("{id}/{name}"), &format!("until found, {name} of the seeds"), "s", &value);
        }
    }
    Ok(rows)
}

/// After how many seconds the hottest region of an aggregation is a small one for the first time. Nothing
/// else is used, so a region with an access holds the page.
fn found_after(record: &[Snapshot]) -> Option<f64> {
    let small = |s: &&Snapshot| {
        let hottest = s.regions.iter().map(|r| r.nr_accesses).max().unwrap_or(0);
        let is = |r: &&Region| r.nr_accesses == hottest;
        hottest > 0 && s.regions.iter().filter(is).all(|r| r.size() <= FOUND)
    };
    record.iter().find(small).map(|s| s.at.0 as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 70 GiB are 18,350,080 pages; at 700 ns each a sample takes 12.8 s, 2569 times its interval.
    #[test]
    fn a_linear_scan_of_much_memory_is_late() {
        assert_eq!(SEVENTY_GIB, 18_350_080);
        assert!((percent(SEVENTY_GIB as f64) - 256_901.12).abs() < 0.01);
    }

    /// A page is found when the smallest of all used regions is, not when any small one is there.
    #[test]
    fn found_is_the_hottest() {
        let region = |start, end, nr_accesses| Region { nr_accesses, ..Region::new(start, end) };
        let at = |s: u64, regions: Vec<_>| Snapshot {
            at: mmsim_core::base::time::SimTime(s * 1_000_000_000),
            target: 0,
            regions,
        };
        let mut record = vec![
            at(1, vec![region(0, 4096, 0), region(4096, 1 << 20, 3)]),
            at(2, vec![region(0, FOUND, 4), region(FOUND, 1 << 20, 4)]),
        ];
        assert_eq!(found_after(&record), None);
        record.push(at(3, vec![region(0, FOUND, 5), region(FOUND, 1 << 20, 4)]));
        assert_eq!(found_after(&record), Some(3.0));
    }
}
