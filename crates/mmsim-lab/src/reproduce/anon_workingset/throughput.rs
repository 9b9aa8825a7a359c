//! Records per second of ebizzy in the first posting, with swap on an SSD.
//!
//! The time of a record without swapping is an input: it falls with the exponent, because
//! hot chunks stay in the CPU's caches, which the model has not. It is taken from the row
//! of 512 MB; everything below that row is then the cost of swapping.
//!
//! These machines are never smaller than those of the mail: how much of a chunk comes with
//! one readahead window decides the time of a record.
//!
//! The rows of 2048 MB are of another regime, and nothing in the mail says why. The
//! hypothesis is that swap passes half full, so that slots are given up at swap-in. So
//! those rows are simulated over sizes of swap, and none is chosen.

use super::super::demand::Basis;
use super::super::lab::{Lab, ScenarioFile, Sets};
use super::super::published::{Cell, Published, Table};
use super::super::study::Study;
use super::super::{Family, Figures, row};
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::estimate;
use mmsim::report::{Ending, RunReport};
use mmsim::run::RunError;

/// `vm.min_free_kbytes` that the kernel's formula gives for 1024 MB.
const MIN_FREE_KBYTES: u64 = 4093;
/// Chunks of ebizzy in a MiB.
const CHUNKS_PER_MIB: u64 = 2;
/// Swap of all rows but those of 2048 MB: far from full.
const SWAP_MIB: u64 = 5120;
/// Sizes of swap that are tried for the rows of 2048 MB: nearly full, then closest where it would
/// pass half full.
const SWAP_SIZES: [u64; 10] = [1024, 1440, 1500, 1536, 2048, 2560, 3072, 4096, 6144, 8192];
/// Memory of the machine in MiB.
const MACHINE_MIB: u64 = 1024;
/// The row without swapping, and the one of the other regime.
const IN_MEMORY: u64 = 512;
const REGIME: u64 = 2048;

/// One of the two tables.
struct Set {
    id: &'static str,
    threads: u64,
    /// The constants of memory that its workload cannot use, and of its length.
    overhead: &'static str,
    duration: &'static str,
    /// The columns that were looked at when the duration was chosen.
    looked_at: &'static [&'static str],
    /// The name of its last row over sizes of swap.
    swap_sizes: &'static str,
}

const TABLES: [Set; 2] = [
    Set {
        id: "ebizzy-v1-1t",
        threads: 1,
        overhead: "os-overhead-v1-1t",
        duration: "ebizzy-duration-1t",
        looked_at: &["0.5", "0.7"],
        swap_sizes: "swap-size-1t",
    },
    Set {
        id: "ebizzy-v1-8t",
        threads: 8,
        overhead: "os-overhead-v1-8t",
        duration: "ebizzy-duration-8t",
        looked_at: &[],
        swap_sizes: "swap-size-8t",
    },
];

/// The figures of both tables, and of their last rows over sizes of swap.
pub(in super::super) fn figures(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    for set in &TABLES {
        let whole = lab.wants(set.id) && (!lab.quick || set.threads == 1);
        let regime = lab.wants(set.swap_sizes) && !lab.quick;
        if whole || regime {
            let bench = Bench::new(lab, family, study, published, set)?;
            if whole {
                figures.add(bench.table()?);
            }
            if regime {
                figures.add(bench.regime()?);
            }
        }
    }
    Ok(figures)
}

/// Size of the chunks, index of the exponent, size of swap.
type Place = (u64, usize, u64);

struct Bench<'a> {
    lab: &'a Lab<'a>,
    scenario: ScenarioFile,
    study: &'a Study,
    published: &'a Published,
    table: &'a Table,
    set: &'static Set,
    /// Computing for each record, by exponent, in nanoseconds.
    compute: Vec<f64>,
}

impl<'a> Bench<'a> {
    /// Finds how long a record computes, from runs in which it does not.
    fn new(
        lab: &'a Lab<'a>,
        family: &Family,
        study: &'a Study,
        published: &'a Published,
        set: &'static Set,
    ) -> Result<Bench<'a>, RunError> {
        let table = published.table(set.id);
        let columns = table.columns.len();
        let compute = vec![0.0; columns];
        let scenario = family.scenario("throughput");
        let mut bench = Bench { lab, scenario, study, published, table, set, compute };
        let places: Vec<Place> = (0..columns).map(|c| (IN_MEMORY, c, SWAP_MIB)).collect();
        let runs = bench.run(&format!("{}, in memory", table.id), &places)?;
        let of_a_record = |rate: f64| set.threads as f64 * 1e9 / rate;
        let compute = (0..columns)
            .map(|c| {
                let rate = bench.cell(IN_MEMORY, "base", c).value();
                let simulated = rates(&runs[c], "base").expect("nothing is swapped");
                (of_a_record(rate) - of_a_record(simulated)).max(0.0)
            })
            .collect();
        bench.compute = compute;
        Ok(bench)
    }

    fn cell(&self, memory: u64, series: &str, column: usize) -> Cell<'a> {
        let is = |c: &Cell<'_>| {
            c.column == column && c.number("memory_mb") == memory && c.key("series") == series
        };
        self.published.cells(self.table).find(is).expect("a cell of the table")
    }

    /// The value of a constant.
    fn value(&self, name: &str) -> f64 {
        self.lab.value(self.study.constant(name))
    }

    fn sets(&self, &(memory, column, swap): &Place) -> Sets {
        let kib = |mib: u64| format!("{}KiB", mib << 10);
        let overhead = (self.value(self.set.overhead) * 1024.0).round() as u64 / 4 * 4;
        [
            ("machine.memory", kib(MACHINE_MIB)),
            ("machine.os-overhead", format!("{overhead}KiB")),
            ("machine.swap.size", kib(swap)),
            ("machine.vm.min_free_kbytes", MIN_FREE_KBYTES.to_string()),
            ("task[0].memory", kib(memory)),
            ("task[0].threads", self.set.threads.to_string()),
            ("task[0].zipf", self.cell(memory, "base", column).column()),
            ("task[0].compute", format!("{}ns", self.compute[column].round())),
            ("task[0].duration", format!("{}us", (self.value(self.set.duration) * 1e6).round())),
            ("machine.swap.device.read", format!("{}ns", self.value("ssd-read") * 1e3)),
            (
                "machine.swap.device.bandwidth",
                format!("{}MB/s", self.value("ssd-bandwidth").round()),
            ),
        ]
        .map(|(path, value)| (path.to_string(), value))
        .to_vec()
    }

    fn run(&self, what: &str, places: &[Place]) -> Result<Vec<Vec<RunReport>>, RunError> {
        let cells: Vec<Sets> = places.iter().map(|p| self.sets(p)).collect();
        self.lab.run(what, self.scenario, &cells)
    }

    /// True if a place is of the quick subset.
    fn is_wanted(&self, (memory, column, _): &Place) -> bool {
        let quick = [IN_MEMORY, 1536].contains(memory) && [0, 3].contains(column);
        !self.lab.quick || quick
    }

    /// The table, at a size of swap that no row comes near to filling.
    fn table(&self) -> Result<Figures, RunError> {
        let mut places: Vec<Place> = Vec::new();
        for cell in self.published.cells(self.table) {
            let p = (cell.number("memory_mb"), cell.column, SWAP_MIB);
            if !places.contains(&p) && self.is_wanted(&p) {
                places.push(p);
            }
        }
        let runs = self.run(&self.table.id, &places)?;
        let mut figures = Figures::default();
        for cell in self.published.cells(self.table) {
            let place = (cell.number("memory_mb"), cell.column, SWAP_MIB);
            let Some(i) = places.iter().position(|p| *p == place) else { continue };
            let series = cell.key("series");
            let (quantity, simulated) = match series.as_str() {
                "gain" => ("records/s gain", gain(&runs[i])),
                s => ("records/s", rates(&runs[i], s)),
            };
            let mut row = row(&cell, quantity, simulated.and_then(|x| estimate(&[x])));
            if self.set.looked_at.contains(&cell.column().as_str()) && row.basis == Basis::Predicted
            {
                row.basis = Basis::Calibrated;
            }
            if place.0 == REGIME && series == "gain" {
                row.note = format!("at {SWAP_MIB} MiB of swap, which the mail does not say");
            }
            figures.rows.push(row);
        }
        Ok(figures)
    }

    /// The gains of the last row over sizes of swap.
    fn regime(&self) -> Result<Figures, RunError> {
        let name = self.set.swap_sizes;
        let columns = self.table.columns.len();
        let of = |swap: &u64| (0..columns).map(|c| (REGIME, c, *swap)).collect::<Vec<Place>>();
        let places: Vec<Place> = SWAP_SIZES.iter().flat_map(of).collect();
        let runs = self.run(name, &places)?;
        let mut figures = Figures::default();
        // By column, the sizes with a gain.
        let mut holds: Vec<Vec<u64>> = vec![Vec::new(); columns];
        for (at, row) in places.chunks(columns).zip(runs.chunks(columns)) {
            let swap = at[0].2;
            for (column, runs) in row.iter().enumerate() {
                let gain = gain(runs);
                if gain.is_some_and(|g| g > 0.0) {
                    holds[column].push(swap);
                }
                figures.rows.push(self.regime_row(name, swap, column, gain));
            }
        }
        let threads = if self.set.threads == 1 { "one thread" } else { "eight threads" };
        let sizes: Vec<String> = (0..columns)
            .map(|c| format!("{} at {}", sizes(&holds[c]), self.cell(REGIME, "gain", c).column()))
            .collect();
        let tried = SWAP_SIZES.map(|s| s.to_string()).join(", ");
        figures.findings.push(format!(
            "2048 MB, {threads}: of {tried} MiB of swap, the gain of the series is positive with {}.",
            sizes.join(", ")
        ));
        figures.findings.push(self.bound(threads));
        Ok(figures)
    }

    /// Gain that any policy could have in the last row if a miss costs the same under both: the
    /// best one keeps the most popular chunks, and the base at worst hits with the share of chunks
    /// that is resident.
    fn bound(&self, threads: &str) -> String {
        let chunks = REGIME * CHUNKS_PER_MIB;
        let usable = (MACHINE_MIB as f64 - self.value(self.set.overhead)) / REGIME as f64;
        // With steeper laws the bound is above all that was published.
        let bounds = (0..2).map(|c| {
            let cell = self.cell(REGIME, "gain", c);
            let alpha: f64 = cell.column().parse().expect("an exponent");
            let most = most_to_gain(chunks, usable, alpha);
            format!("{:.0} % at {alpha} ({:.0} published)", most * 100.0, cell.value() * 100.0)
        });
        let bounds: Vec<String> = bounds.collect();
        format!(
            "2048 MB, {threads}: if each miss costs the same, no policy gains more than {} over one that \
             evicts at random.",
            bounds.join(" and ")
        )
    }

    fn regime_row(&self, name: &str, swap: u64, column: usize, gain: Option<f64>) -> FigureRow {
        let cell = self.cell(REGIME, "gain", column);
        let mut row = row(&cell, "records/s gain", gain.and_then(|g| estimate(&[g])));
        row.id = format!("{name}/{swap}/{}", cell.column());
        // The demand on the sign is judged once, in the table itself: sizes of swap are no further
        // figures.
        (row.met, row.demand) = (None, "none".into());
        row.note = match gain {
            Some(_) => format!("2048 MB of chunks, {swap} MiB of swap"),
            None => format!("{swap} MiB of swap: out of memory"),
        };
        row
    }
}

/// Sizes of swap as intervals of what was tried: `2048 to 4096, 8192`.
fn sizes(of: &[u64]) -> String {
    let place = |s: &u64| SWAP_SIZES.iter().position(|t| t == s).expect("a size that was tried");
    let intervals = of.chunk_by(|a, b| place(a) + 1 == place(b)).map(|i| match i {
        [one] => one.to_string(),
        _ => format!("{} to {}", i[0], i[i.len() - 1]),
    });
    match of {
        [] => "none".into(),
        _ => intervals.collect::<Vec<_>>().join(", "),
    }
}

/// By how much records per second grow at most, where `share` of the chunks is resident: the ratio
/// of misses, less one.
fn most_to_gain(chunks: u64, share: f64, alpha: f64) -> f64 {
    let weight = |upto: f64| -> f64 { (1..=upto as u64).map(|i| (i as f64).powf(-alpha)).sum() };
    let best = weight(chunks as f64 * share) / weight(chunks as f64);
    (1.0 - share) / (1.0 - best) - 1.0
}

/// Records per second of the measured windows; none if memory ran out.
fn rates(runs: &[RunReport], variant: &str) -> Option<f64> {
    let run = runs.iter().find(|r| r.variant == variant).expect("a variant of the scenario");
    // The first window works off the writes of the population.
    let phases = run.phases.iter().filter(|p| p.name.starts_with("access")).skip(1);
    let (records, time) = phases.fold((0, 0), |(n, t), p| (n + p.records, t + p.sim_time_ns));
    let done = run.outcome == Ending::Completed && records > 0;
    done.then(|| records as f64 * 1e9 / time as f64)
}

/// Gain of the series, as a fraction.
fn gain(runs: &[RunReport]) -> Option<f64> {
    Some(rates(runs, "patchset")? / rates(runs, "base")? - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The scenario as it is shipped is a cell of the table, but for the time of a record,
    /// which the row of 512 MB gives.
    #[test]
    fn the_scenario_is_a_cell() {
        let family = &super::super::super::FAMILIES[0];
        let published = Published::read(family.published);
        let (lab, study) = (Lab::silent(&|_, _, _| {}), family.study().expect("a study"));
        let (table, scenario) = (published.table("ebizzy-v1-1t"), family.scenario("throughput"));
        let compute = vec![103_000.0; table.columns.len()];
        let bench = Bench {
            lab: &lab,
            scenario,
            study: &study,
            published: &published,
            table,
            set: &TABLES[0],
            compute,
        };
        let shipped = Scenario::from_str(scenario.text, scenario.path).expect("a scenario");
        let cell = shipped.clone().with_sets(&bench.sets(&(1536, 3, SWAP_MIB)));
        let cell = cell.expect("values that it takes").expand(&Catalogue).expect("runs");
        assert_eq!(cell, shipped.expand(&Catalogue).expect("runs"));
    }

    /// Four equally popular chunks miss as often under every policy. With 1/i two of four hold 18
    /// of 25 parts, so misses fall from a half to 7/25.
    #[test]
    fn no_policy_gains_more_than_the_popular_chunks_give() {
        assert_eq!(most_to_gain(4, 0.5, 0.0), 0.0);
        assert!((most_to_gain(4, 0.5, 1.0) - (0.5 / (7.0 / 25.0) - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn sizes_as_intervals() {
        assert_eq!(sizes(&[]), "none");
        assert_eq!(sizes(&[1536]), "1536");
        assert_eq!(sizes(&[1024, 2048, 2560, 3072, 8192]), "1024, 2048 to 3072, 8192");
        assert_eq!(sizes(&SWAP_SIZES), "1024 to 8192");
    }

    #[test]
    fn the_first_window_is_not_counted() {
        let text = "machine = { memory = \"8MiB\" }\n\
                    task = [{ workload = \"zipf\", memory = \"1MiB\", accesses = 10 }]\n";
        let tiny = Scenario::from_str(text, "tiny.toml").unwrap_or_else(|e| panic!("{e}"));
        let report = mmsim::run(&tiny, &mmsim::RunOptions::default());
        let mut run = report.unwrap_or_else(|e| panic!("{e}")).runs.swap_remove(0);
        run.variant = "base".into();
        let phase = run.phases[0].clone();
        let window = |(n, records)| {
            let mut window = phase.clone();
            window.name = format!("access{n}");
            (window.records, window.sim_time_ns) = (records, 2_000_000_000);
            window
        };
        run.phases = [(1, 5), (2, 80), (3, 120)].map(window).to_vec();
        assert_eq!(rates(std::slice::from_ref(&run), "base"), Some(50.0));
        run.outcome = Ending::OutOfMemory;
        assert_eq!(rates(&[run], "base"), None);
    }
}
