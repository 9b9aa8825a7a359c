//! Published results on the monitor itself: huge pages that it did not see, working sets of
//! ready-made access patterns, and claims about its cost.
//!
//! Programs are files of masim, and a monitor of the process records every aggregation; figures are of
//! these records, as `mmsim damon report` makes them. Nothing in the model was chosen by any of them.

use mmsim_damon::DamonConfig;

use super::lab::{Lab, ScenarioFile, Sets};
use super::published::{Cell, Published, Table};
use super::ran::{Ran, Watching};
use super::study::Study;
use super::{Family, Figures, row, row_by_seed, unpublished_row};
use crate::reproduce::document::{Asks, FigureRow};
use mmsim::record::summary::{SKIPPED, percentile, validate, working_set};
use mmsim::record::{Record, Region, of_run};
use mmsim::report::claim::Bounds;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

const WITHOUT: &str = "hugetlb-without";
const WITH: &str = "hugetlb-with";
const BANDS: &str = "masim-wss-bands";
const PERCENTILES: &str = "masim-zigzag-percentiles";
const CLAIMS: &str = "claims";

/// Bytes of a huge page.
const HUGE: u64 = 2 << 20;
const MB: f64 = 1e6;
const MIB: f64 = 1048576.0;

/// The 70 s of the kernel's documentation.
const ZIGZAG: &str = "zigzag";

/// The record of a run.
struct Recorded {
    variant: String,
    record: Record,
}

/// The figures of all tables.
pub(super) fn figures(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = hugetlb(lab, family, study, published)?;
    figures.add(masim(lab, family, published)?);
    if lab.wants(CLAIMS) {
        figures.rows.extend(published.claims.iter().filter_map(|c| claim(published, &c.id)));
    }
    Ok(figures)
}

/// Runs a scenario with these values; its only monitor's record of each run.
fn recorded(
    lab: &Lab<'_>,
    what: &str,
    file: ScenarioFile,
    mut sets: Sets,
) -> Result<Vec<Recorded>, RunError> {
    if lab.quick {
        sets.push(("seeds".into(), "1".into()));
    }
    let recorded = |Ran { report, monitored, .. }: Ran| {
        let records = of_run(0, &monitored[0]);
        let record = records.into_iter().next().expect("it watched something");
        Recorded { variant: report.variant, record }
    };
    let runs = lab.run_watched(what, &[(file, sets)], |_| Watching::default(), |_, _| true)?;
    Ok(runs.into_iter().flatten().map(recorded).collect())
}

/// A figure of each seed of a variant.
fn by_seed(runs: &[Recorded], variant: &str, figure: impl Fn(&Record) -> f64) -> Vec<f64> {
    runs.iter().filter(|r| r.variant == variant).map(|r| figure(&r.record)).collect()
}

// ---- huge pages of hugetlbfs ----

/// Settings of the scenario from the constants.
fn buffer(lab: &Lab<'_>, study: &Study) -> Sets {
    let [pages, ms] =
        ["buffer", "length"].map(|name| lab.value(study.constant(name)).round() as u64);
    let text = format!("buffer, {}\n\nbusy\n{ms}\nbuffer, 0, 4096, 1\n", pages * HUGE);
    vec![("machine.vm.nr_hugepages".into(), pages.to_string()), ("task[0].text".into(), text)]
}

fn hugetlb(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(WITHOUT) && !lab.wants(WITH) {
        return Ok(figures);
    }
    let runs = recorded(lab, "hugetlb", family.scenario("hugetlb"), buffer(lab, study))?;
    for (table, variant) in [(WITHOUT, "without"), (WITH, "with")] {
        if lab.wants(table) {
            let table = published.table(table);
            figures.rows.extend(lines(published, table, &runs, variant));
        }
    }
    Ok(figures)
}

/// Counts of the regions of a record, but for its first snapshot, in which regions are a guess.
fn counts(record: &Record) -> impl Iterator<Item = u32> {
    record.snapshots.iter().skip(1).flat_map(|s| &s.regions).map(|r| r.nr_accesses)
}

/// The age of the youngest region of a snapshot counted from the end.
fn youngest(record: &Record, from_end: usize) -> f64 {
    let shot = &record.snapshots[record.snapshots.len() - 1 - from_end];
    shot.regions.iter().filter_map(|r: &Region| r.age).min().map_or(0.0, f64::from)
}

/// The rows of one of the two printed snapshots. Addresses are those of another program; of the
/// counts the one that is furthest from its demand.
fn lines(published: &Published, table: &Table, runs: &[Recorded], variant: &str) -> Vec<FigureRow> {
    let cells: Vec<Cell<'_>> = published.cells(table).collect();
    let of = |column: &str| cells.iter().find(|c| c.column() == column).expect("a column");
    let id = |what: &str| format!("{}/{what}", table.id);
    let without = variant == "without";
    let accesses = by_seed(runs, variant, |r| match without {
        true => f64::from(counts(r).max().unwrap_or(0)),
        false => f64::from(counts(r).min().unwrap_or(0)),
    });
    let quantity =
        if without { "most accesses of a region" } else { "fewest accesses of a region" };
    let mut rows = vec![FigureRow {
        id: id("nr_accesses"),
        ..row_by_seed(of("nr_accesses"), quantity, &accesses)
    }];
    let regions =
        by_seed(runs, variant, |r| r.snapshots.last().map_or(0, |s| s.regions.len()) as f64);
    let nr = table.setup.get("nr_regions").and_then(toml::Value::as_integer);
    rows.push(FigureRow {
        published: nr.map(|n| n as f64),
        ..unpublished_row(
            &id("nr_regions"),
            "regions of the last snapshot",
            "regions",
            estimate(&regions),
        )
    });
    let ages = by_seed(runs, variant, |r| youngest(r, 0));
    rows.push(FigureRow {
        note: "after another time".into(),
        ..row(of("age"), "age of the youngest region", estimate(&ages))
    });
    rows.last_mut().expect("a row").id = id("age");
    if without {
        let grown = by_seed(runs, variant, |r| {
            (youngest(r, 0) - youngest(r, r.snapshots.len() / 2)) / (r.snapshots.len() / 2) as f64
        });
        let (e, mean) = (published.expectation("ages-grow"), estimate(&grown));
        rows.push(FigureRow {
            demand: e.bounds().words(),
            met: mean.map(|m| e.bounds().holds(m.mean)),
            gates: e.gate,
            basis: e.basis,
            asks: Asks::OwnBound,
            note: e.about.clone(),
            ..unpublished_row(&id("ages-grow"), "growth of its age with an aggregation", "", mean)
        });
    }
    rows
}

// ---- masim's patterns ----

/// Sizes of the working set in a record, the smallest first.
fn sizes(record: &Record) -> Vec<u64> {
    let mut sizes: Vec<u64> = record.snapshots.iter().skip(SKIPPED).map(working_set).collect();
    sizes.sort_unstable();
    sizes
}

/// The variant that carries out a row of the bands.
fn variant_of(pattern: &str, thp: &str) -> String {
    if thp == "default" { pattern.into() } else { format!("{pattern}-{thp}") }
}

fn masim(lab: &Lab<'_>, family: &Family, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if !lab.wants(BANDS) && !lab.wants(PERCENTILES) {
        return Ok(figures);
    }
    let runs = recorded(lab, "masim", family.scenario("masim"), Vec::new())?;
    if lab.wants(BANDS) {
        let table = published.table(BANDS);
        for low in published.cells(table).filter(|c| c.column() == "low") {
            figures.rows.push(band(&low, &runs));
        }
        figures.findings.push(validity(&runs));
    }
    if lab.wants(PERCENTILES) {
        let table = published.table(PERCENTILES);
        for cell in published.cells(table) {
            let per_cent = cell.column().parse().expect("a percentile");
            let mib = |r: &Record| percentile(&sizes(r), per_cent) as f64 / MIB;
            figures.rows.push(row_by_seed(&cell, "working set", &by_seed(&runs, ZIGZAG, mib)));
        }
        let mean = by_seed(&runs, ZIGZAG, |r| {
            let sizes = sizes(r);
            sizes.iter().sum::<u64>() as f64 / sizes.len() as f64 / MIB
        });
        let claim = published.claims.iter().find(|c| c.id == "masim-zigzag-mean").expect("a claim");
        figures.rows.push(FigureRow {
            published: claim.value,
            ..unpublished_row(
                &format!("{PERCENTILES}/mean"),
                "working set",
                &claim.unit,
                estimate(&mean),
            )
        });
    }
    Ok(figures)
}

/// Which records are not valid, in a sentence.
fn validity(runs: &[Recorded]) -> String {
    let invalid = runs.iter().filter(|r| !validate(&r.record).valid);
    let mut names: Vec<&str> = invalid.map(|r| r.variant.as_str()).collect();
    let n = names.len();
    names.dedup();
    let of =
        format!("{} records are valid by the rule of DAMON's functional tests", runs.len() - n);
    match n {
        0 => format!("All {of}."),
        _ => format!("Of {} records {of}; not valid: {}.", runs.len(), names.join(", ")),
    }
}

/// A row whose two figures are the bounds of the median.
fn band(low: &Cell<'_>, runs: &[Recorded]) -> FigureRow {
    let [least, most] = [0, 1].map(|i| Some(low.row.values[i]));
    let bounds = Bounds { low: least, high: most, open: false };
    let (pattern, thp) = (low.key("pattern"), low.key("thp"));
    let medians =
        by_seed(runs, &variant_of(&pattern, &thp), |r| percentile(&sizes(r), 50) as f64 / MB);
    let inside = |m: &f64| bounds.holds(*m);
    let note = match thp.as_str() {
        "hugetlb" => "2.1 MB of the region, and 4 MB of random numbers that masim keeps",
        "hugetlb-8" => "2.1 MB of the region, and 8 MB of random numbers",
        _ => "",
    };
    FigureRow {
        demand: format!("{}, each seed", bounds.words()),
        met: Some(!medians.is_empty() && medians.iter().all(inside)),
        basis: low.demand.basis,
        note: note.into(),
        ..unpublished_row(
            &format!("{BANDS}/{pattern}/{thp}"),
            "median working set",
            low.unit(),
            estimate(&medians),
        )
    }
}

// ---- claims ----

/// A claim of running text that no table has. None of them is validated here.
fn claim(published: &Published, id: &str) -> Option<FigureRow> {
    let c = published.claims.iter().find(|c| c.id == id)?;
    let limit = |config: DamonConfig| f64::from(config.sleep_hr_limit_us) / 1000.0;
    let (simulated, note) = match id {
        "production-70gib-cpu" => (
            None,
            "not validated: it bounds the product of regions and cost of a check, and no more",
        ),
        "production-70gib-memory" | "production-interval" => (None, "set-up of that claim"),
        "production-hottest-region" => {
            (None, "not validated: whether a page is found is a matter of minutes and of luck")
        }
        "hrtimer-limit-old" => (Some(limit(DamonConfig::V5_16)), INPUT),
        "hrtimer-limit-new" => (Some(limit(DamonConfig::V6_1)), INPUT),
        _ => return None,
    };
    let demand = published.demand(&c.demand);
    Some(FigureRow {
        published: c.value.or(c.high),
        demand: demand.words(&c.unit),
        basis: if note == INPUT { super::demand::Basis::Calibrated } else { demand.basis },
        note: note.into(),
        ..unpublished_row(
            &format!("{CLAIMS}/{id}"),
            &c.about,
            &c.unit,
            simulated.and_then(|x| estimate(&[x])),
        )
    })
}

const INPUT: &str = "an input: the knob sleep-hr-limit-us";

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::{RunSpec, Scenario};

    fn family() -> &'static Family {
        let is = |f: &&Family| f.name == "damon-monitoring";
        super::super::FAMILIES.iter().find(is).expect("the family")
    }

    fn runs(file: ScenarioFile, sets: &Sets) -> Vec<RunSpec> {
        let shipped = Scenario::from_str(file.text, file.path).expect("a scenario");
        shipped.with_sets(sets).expect("values that it takes").expand(&Catalogue).expect("runs")
    }

    /// The constants are those of the shipped scenario.
    #[test]
    fn the_scenario_is_what_is_run() {
        let (lab, family) = (Lab::silent(&|_, _, _| {}), family());
        let file = family.scenario("hugetlb");
        let buffer = buffer(&lab, &family.study().expect("a study"));
        assert_eq!(runs(file, &buffer), runs(file, &Vec::new()));
    }

    /// Every row of the bands has its variant, and so has the pattern of the percentiles.
    #[test]
    fn patterns_are_variants() {
        let published = Published::read(family().published);
        let runs = runs(family().scenario("masim"), &Vec::new());
        let has = |variant: &str| runs.iter().any(|r| r.variant == variant);
        for cell in published.cells(published.table(BANDS)) {
            assert!(has(&variant_of(&cell.key("pattern"), &cell.key("thp"))), "{}", cell.id());
        }
        assert!(has(ZIGZAG));
    }

    /// All claims have a row, those of tables aside; the limits are those of the presets.
    #[test]
    fn claims_are_listed() {
        let published = Published::read(family().published);
        let cells: usize = published.tables.iter().map(|t| published.cells(t).count()).sum();
        assert_eq!((published.tables.len(), cells, published.claims.len()), (4, 68, 7));
        let rows: Vec<FigureRow> =
            published.claims.iter().filter_map(|c| claim(&published, &c.id)).collect();
        assert_eq!(rows.len(), 6);
        for r in rows.iter().filter(|r| r.id.contains("hrtimer")) {
            assert_eq!(r.simulated, r.published, "{}", r.id);
        }
        let others = rows.iter().filter(|r| !r.id.contains("hrtimer"));
        assert!(others.clone().count() == 4 && others.clone().all(|r| r.met.is_none()));
    }
}
