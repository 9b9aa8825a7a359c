//! A chain of three tasks that read and write large files through the page cache: where writers
//! come to rest, and how long that lets them write.
//!
//! Each task reads a file into a buffer as large, works on it, writes another file, and exits. The
//! buffer takes memory that dirty pages are a share of. Memory and disk have the rates that were
//! measured there; the disk that of the runs themselves, and once more that of the paper's table,
//! with which the durations cannot be reached. Machines are smaller by a whole number in pages and
//! in rates, so that durations are those of the source.
//!
//! Rates that the throttle of a fresh machine begins with are in MB/s, and no scale has them smaller. So
//! a writer comes before the chain, as the machine of the source had run for 41 days.

use mmsim_core::config::cost::CostModel;

use super::lab::{Lab, Sets};
use super::published::{Cell, Published, Row};
use super::study::Study;
use super::{Family, Figures, row, unpublished_row};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::estimate;
use mmsim::report::{PhaseReport, RunReport};
use mmsim::run::RunError;

const DURATIONS: &str = "durations";
const DIRTY: &str = "dirty-at-the-end";
/// The same durations with the rate of writes to the disk of the paper's table.
const BENCHMARK: &str = "durations-benchmark";
const ERROR: &str = "mean-error";

/// By what machines are smaller.
const SCALE: u64 = 4;
const QUICK_SCALE: u64 = 32;

const GB: f64 = 1e9;
const PAGE: f64 = 4096.0;

/// A file size of the published table, on a machine that is smaller by `scale`.
struct Chain<'a> {
    published: &'a Published,
    size: &'a Row,
    scale: u64,
    /// GB that a writer brings to the disk before.
    settle: f64,
}

impl Chain<'_> {
    fn setup(&self, key: &str) -> u64 {
        let v = self.published.table(DURATIONS).setup.get(key).and_then(toml::Value::as_integer);
        u64::try_from(v.unwrap_or_else(|| panic!("no {key}"))).expect("a count")
    }

    fn of_size(&self, key: &str) -> u64 {
        let v = self.size.keys[key].as_integer().and_then(|n| u64::try_from(n).ok());
        v.unwrap_or_else(|| panic!("{key} is no count"))
    }

    /// Pages of `gb`, on the smaller machine.
    fn pages(&self, gb: f64) -> u64 {
        (gb * GB / PAGE / self.scale as f64) as u64
    }

    /// Settings of the scenario, with a disk that writes `disk_write` MB/s.
    fn sets(&self, disk_write: u64) -> Sets {
        let file = self.pages(self.of_size("gb") as f64);
        let text = |path: &str, value: String| (path.to_string(), value);
        let pages = |path: &str, n: u64| text(path, format!("{n} pages"));
        let rate = |key: &str, mb: u64| {
            text(&format!("machine.file-device.{key}"), format!("{}kB/s", mb * 1000 / self.scale))
        };
        let all = self.setup("pages");
        // Of the kernel's formula for two nodes with huge pages, and a thousandth of memory.
        let (min, distance) = (22_528, all / 1000);
        let zone = |key: &str, n: u64| pages(&format!("machine.zone[0].{key}"), n / self.scale);
        let mut sets = vec![
            zone("managed", all),
            zone("free-at-start", self.of_size("pages_free")),
            zone("min", min),
            zone("low", min + distance),
            zone("high", min + 2 * distance),
            rate("bandwidth", self.setup("disk_read_mbps")),
            rate("write-bandwidth", disk_write),
            text("task[0].regions.before.pages", self.pages(self.settle).to_string()),
        ];
        for region in ["buffer", "file1", "file2", "file3", "file4"] {
            sets.push(text(&format!("task[0].regions.{region}.pages"), file.to_string()));
        }
        let copy = |mbps: u64| PAGE * 1e3 / mbps as f64;
        for (name, cost) in CostModel::measured().fields() {
            let nanos = match name {
                "t_copy_page" => copy(self.setup("memory_write_mbps")),
                "t_read_cached" => copy(self.setup("memory_read_mbps")),
                _ => cost.as_nanos() as f64,
            };
            let nanos = (nanos * self.scale as f64).round();
            sets.push(text(&format!("machine.cost.{name}"), format!("{nanos}ns")));
        }
        for task in 0..3 {
            let path = format!("task[0].steps[{}].time", COMPUTE + task * STEPS);
            sets.push(text(&path, format!("{}s", self.of_size("compute_s"))));
        }
        sets
    }
}

/// The first step that computes, and the steps of a task.
const COMPUTE: usize = 9;
const STEPS: usize = 9;

/// Results of a chain.
struct Ran<'a> {
    size: &'a Row,
    report: RunReport,
}

impl Ran<'_> {
    fn phase(&self, name: &str) -> Option<&PhaseReport> {
        self.report.phases.iter().find(|p| p.name.rsplit('/').next() == Some(name))
    }

    /// Duration of a read or write, in seconds.
    fn seconds(&self, step: &str) -> Option<f64> {
        self.phase(step).map(|p| p.sim_time_ns as f64 / 1e9)
    }

    /// Dirty memory at the end of a step, in GB of the machine of the source.
    fn dirty(&self, step: &str, scale: u64) -> Option<f64> {
        let pages = *self.phase(step)?.gauges.get("nr_dirty")?;
        Some(pages as f64 * PAGE * scale as f64 / GB)
    }
}

/// The figures of all tables.
pub(super) fn figures(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let recorded = [DURATIONS, DIRTY, ERROR].iter().any(|t| lab.wants(t));
    let benchmark = [BENCHMARK, ERROR].iter().any(|t| lab.wants(t));
    let scale = lab.scale.unwrap_or(if lab.quick { QUICK_SCALE } else { SCALE });
    let settle = lab.value(study.constant("settle"));
    let table = published.table(DURATIONS);
    let chains: Vec<Chain<'_>> =
        table.rows.iter().map(|size| Chain { published, size, scale, settle }).collect();
    let run = |what: &str, rate: &str| -> Result<Vec<Ran<'_>>, RunError> {
        let cells: Vec<Sets> = chains.iter().map(|c| c.sets(c.setup(rate))).collect();
        let reports = lab.run(what, family.scenario("chain"), &cells)?.into_iter().flatten();
        let ran = |(size, report)| Ran { size, report };
        Ok(table.rows.iter().zip(reports).map(ran).collect())
    };
    let mut errors = Vec::new();
    if recorded {
        let runs = run("pagecache-chain", "disk_write_mbps_in_the_runs")?;
        if lab.wants(DURATIONS) {
            let rows = published.cells(table).map(|cell| {
                let ran = of(&runs, &cell);
                row(&cell, "duration", ran.seconds(&cell.column()).and_then(|s| estimate(&[s])))
            });
            figures.rows.extend(rows);
        }
        if lab.wants(DIRTY) {
            let rows = published.cells(published.table(DIRTY)).map(|cell| {
                let dirty = of(&runs, &cell).dirty(&cell.column(), scale);
                row(&cell, "nr_dirty", dirty.and_then(|d| estimate(&[d])))
            });
            figures.rows.extend(rows);
        }
        if lab.wants(ERROR) {
            let e = published.expectation("mean-error");
            let mean = mean_error(published, &runs);
            let demanded = FigureRow {
                demand: e.bounds().words(),
                met: mean.map(|m| e.bounds().holds(m)),
                gates: e.gate,
                basis: e.basis,
                note: e.about.clone(),
                ..error_row(published, "recorded", mean)
            };
            errors.push(demanded);
        }
    }
    if benchmark {
        let runs = run("pagecache-chain, rate of the table", "disk_write_mbps")?;
        if lab.wants(BENCHMARK) {
            let rows = published.cells(table).map(|cell| {
                let column = cell.column();
                let seconds = of(&runs, &cell).seconds(&column);
                let id = format!("{BENCHMARK}/{}/{column}", cell.key("gb"));
                FigureRow {
                    published: cell.published(),
                    ..unpublished_row(&id, "duration", "s", seconds.and_then(|s| estimate(&[s])))
                }
            });
            figures.rows.extend(rows);
        }
        if lab.wants(ERROR) {
            errors.push(error_row(published, "benchmark", mean_error(published, &runs)));
        }
    }
    if lab.wants(ERROR) {
        figures.rows.extend(errors);
    }
    Ok(figures)
}

/// The run of a cell.
fn of<'a>(runs: &'a [Ran<'a>], cell: &Cell<'_>) -> &'a Ran<'a> {
    let gb = &cell.row.keys["gb"];
    runs.iter().find(|r| r.size.keys["gb"] == *gb).expect("a run of each size")
}

/// Mean over all durations of how far each is off, in per cent.
fn mean_error(published: &Published, runs: &[Ran<'_>]) -> Option<f64> {
    let off = |cell: Cell<'_>| {
        let seconds = of(runs, &cell).seconds(&cell.column())?;
        Some((seconds / cell.value() - 1.0).abs() * 100.0)
    };
    let all: Option<Vec<f64>> = published.cells(published.table(DURATIONS)).map(off).collect();
    estimate(&all?).map(|e| e.mean)
}

fn error_row(published: &Published, which: &str, mean: Option<f64>) -> FigureRow {
    let best = published.claims.iter().find(|c| c.id == "mean-error-best-simulator");
    let mean = mean.and_then(|m| estimate(&[m]));
    FigureRow {
        published: best.and_then(|c| c.value),
        ..unpublished_row(&format!("{ERROR}/{which}"), "mean relative error", "%", mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    fn family() -> &'static Family {
        let is = |f: &&Family| f.name == "pagecache-chain";
        super::super::FAMILIES.iter().find(is).expect("the family")
    }

    fn chain(published: &Published, gb: i64, scale: u64) -> Chain<'_> {
        let rows = &published.table(DURATIONS).rows;
        let size = rows.iter().find(|r| r.keys["gb"].as_integer() == Some(gb)).expect("a size");
        Chain { published, size, scale, settle: 150.0 }
    }

    fn run<'a>(lab: &Lab<'_>, c: &Chain<'a>, rate: &str) -> Ran<'a> {
        let runs =
            lab.run("chain", family().scenario("chain"), &[c.sets(c.setup(rate))]).expect("a run");
        Ran { size: c.size, report: runs.into_iter().flatten().next().expect("one run") }
    }

    /// The scenario as it is shipped is the quick run of the largest files.
    #[test]
    fn the_scenario_is_what_is_run() {
        let published = Published::read(family().published);
        let c = chain(&published, 100, QUICK_SCALE);
        let sets = c.sets(c.setup("disk_write_mbps_in_the_runs"));
        let file = family().scenario("chain");
        let shipped = Scenario::from_str(file.text, file.path).expect("a scenario");
        let run = shipped.clone().with_sets(&sets).expect("values that it takes");
        let expand = |s: Scenario| s.expand(&Catalogue).expect("runs");
        assert_eq!(expand(run), expand(shipped));
    }

    /// A closed formula beside the model. A writer of 100 GB goes at the rate of memory up to the
    /// background threshold, 0.1 of what can be dirty. From there on the disk writes without a break, until
    /// the write ends with the set point dirty: 0.325, midway between freerun (0.25) and limit (0.4).
    /// With 516 MB/s that is 96.5 s (measured: 98 to 99), with 420 it is 117 s: nothing that follows the
    /// rates of the paper's table can be near. Machines of two scales agree.
    #[test]
    fn a_throttled_write_takes_what_the_set_point_leaves_to_the_disk() {
        let published = Published::read(family().published);
        let lab = Lab::silent(&|_, _, _| {});
        for (rate, mbps) in [("disk_write_mbps_in_the_runs", 516.0), ("disk_write_mbps", 420.0)] {
            let c = chain(&published, 100, 32);
            let available = c.of_size("pages_free") as f64 * PAGE / GB - 100.0;
            // Less the high watermark, which is kept free.
            let available = available - (22_528.0 + 131_144.0) * PAGE / GB;
            let (background, rest) = (0.1 * available, 0.325 * available);
            let by_hand = background / 2.764 + (100.0 - rest) / (mbps / 1000.0);
            let ran = run(&lab, &c, rate);
            let small = run(&lab, &chain(&published, 100, 128), rate);
            for step in ["write 1", "write 2", "write 3"] {
                let seconds = ran.seconds(step).expect("it ran");
                assert!((seconds / by_hand - 1.0).abs() < 0.01, "{step}: {seconds}, {by_hand}");
                let dirty = ran.dirty(step, 32).expect("a gauge");
                assert!((dirty / rest - 1.0).abs() < 0.04, "{step}: {dirty} dirty, {rest}");
                let other = small.seconds(step).expect("it ran");
                assert!((other / seconds - 1.0).abs() < 0.01, "{step}: {other}, {seconds}");
            }
        }
    }
}
