//! Lazily freed folios, as far as their experiments are programs: garbage, whose commands are
//! written here, and a machine without any `MADV_FREE`.
//!
//! Garbage shows the effect of the place of lazily freed folios, over the share of garbage and
//! over the share of memory that is alive.
//! The work is that of the recorded points `gc-restart`: a heap and a file of equal size, read and
//! written by a zipf law, and garbage that is written, given back with `MADV_FREE` piece by piece,
//! and left alone until its turn a round later. The share of garbage is the one figure that is
//! chosen by a published one: by the base alone, by its file refaults over its anonymous ones.

use super::demand::Basis;
use super::document::{Asks, FigureRow};
use super::lab::{Lab, Sets};
use super::published::{Cell, Published};
use super::relation::{BySeed, values};
use super::study::Study;
use super::{Family, Figures, carry, unpublished_row};
use mmsim::report::RunReport;
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

const POINT: &str = "lazyfree-garbage";
const MAP: &str = "lazyfree-map";
/// The constants of the share of the heap that is garbage, and of live memory: heap without
/// garbage, and file.
const CHOSEN: [&str; 2] = ["garbage-permille", "garbage-live-permille"];

/// Shares of garbage and sizes of what is alive of the map, in thousandths.
const SHARES: [u64; 4] = [100, 300, 600, 750];
const LIVES: [u64; 4] = [1000, 1120, 1200, 1400];
const SEEDS: u64 = 5;
/// Seeds of each place of the map.
const SEEDS_OF_MAP: u64 = 3;

/// Frames that are free when the work begins.
const FRAMES: u64 = 65_536;
/// Number of pieces a round in which garbage is given back, between which there are as many draws.
const PIECES: u64 = 8;
const DRAWS: u64 = 32_768 / PIECES;
const ROUNDS: [(&str, u64); 2] = [("warm", 2), ("access1", 16)];

/// Shares of garbage and of live memory, in thousandths.
type Place = (u64, u64);

/// A multiplier that spreads ranks over `n` pages: near to the golden ratio, without a common
/// factor.
fn spread(n: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (n * 618 / 1000..n).find(|&m| gcd(m, n) == 1).unwrap_or(1)
}

/// The commands of a place, in the notation of the recorded experiments.
fn commands((share, live): Place, seed: u64) -> Vec<String> {
    // Heap and file are of one size; of the heap `share` is garbage.
    let file = live * FRAMES / (2000 - share);
    let garbage = file * share / 1000 / PIECES * PIECES;
    let heap = file - garbage;
    let (of_heap, of_file) = (spread(heap), spread(file));
    let mut all = vec![
        format!("table 0 {heap} 0.9"),
        format!("table 1 {file} 0.9"),
        format!("file 1 /mnt/z {file} normal"),
        format!("anon 0 {heap}"),
        format!("anon 2 {garbage}"),
        format!("fill 0 0 {heap}"),
        format!("scan 1 0 {file} r"),
        "snapx populate".into(),
        format!("seed {seed}"),
    ];
    let mut turn = 0;
    for (phase, rounds) in ROUNDS {
        for _ in 0..rounds * PIECES {
            all.push(format!("mix2 0 0 {of_heap} 0 1 1 {of_file} 0 {DRAWS} 500 300"));
            let piece = garbage / PIECES;
            all.push(format!("lazy 2 {garbage} {piece} 1 1 1 0 1 {of_file} 0 free {turn}"));
            turn += 1;
        }
        all.push(format!("snap {phase}"));
    }
    all
}

fn sets(place: Place, seed: u64) -> Sets {
    let quoted: Vec<String> = commands(place, seed).iter().map(|c| format!("{c:?}")).collect();
    vec![("task[0].commands".into(), format!("[{}]", quoted.join(", ")))]
}

/// A counter of the time that is counted.
fn counted(run: &RunReport, counter: &str) -> f64 {
    let phase = run.phases.iter().find(|p| p.name == ROUNDS[1].0).expect("the phase that counts");
    *phase.vmstat.get(counter).unwrap_or_else(|| panic!("no {counter}")) as f64
}

/// Runs of one place by seed, and a figure of one variant of them.
fn figure(runs: &[Vec<RunReport>], variant: &str, counter: &str) -> BySeed {
    let of = |(seed, runs): (usize, &Vec<RunReport>)| {
        let run = runs.iter().find(|r| r.variant == variant).expect("a variant of that name");
        (seed as u64 + 1, counted(run, counter))
    };
    runs.iter().enumerate().map(of).collect()
}

const REFAULTS: [&str; 2] = ["workingset_refault_anon", "workingset_refault_file"];

/// The change from one variant to another in per cent, on the seeds that both have.
fn changes(before: &[(u64, f64)], after: &[(u64, f64)]) -> BySeed {
    let of = |&(seed, b): &(u64, f64)| {
        let a = after.iter().find(|a| a.0 == seed)?.1;
        Some((seed, (a / b - 1.0) * 100.0))
    };
    before.iter().filter_map(of).collect()
}

/// Garbage at the chosen place, and over shares of it and of live memory.
pub(super) fn garbage(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    let scenario = family.scenario("garbage");
    if lab.wants(POINT) && !lab.quick {
        let place = CHOSEN.map(|c| lab.value(study.constant(c)).round() as u64);
        let cells: Vec<Sets> = (1..=SEEDS).map(|seed| sets(place.into(), seed)).collect();
        let runs = lab.run(POINT, scenario, &cells)?;
        figures.rows.extend(point(published, &runs));
    }
    if lab.wants(MAP) && !lab.quick {
        let places: Vec<Place> =
            SHARES.iter().flat_map(|s| LIVES.iter().map(move |l| (*s, *l))).collect();
        let cells: Vec<Sets> =
            places.iter().flat_map(|&p| (1..=SEEDS_OF_MAP).map(move |s| sets(p, s))).collect();
        let runs = lab.run(MAP, scenario, &cells)?;
        for (place, runs) in places.iter().zip(runs.chunks(SEEDS_OF_MAP as usize)) {
            figures.rows.extend(of_map(*place, runs));
        }
    }
    Ok(figures)
}

/// Without any `MADV_FREE` the knob has nothing to decide: all counters have to be equal.
pub(super) fn ablation(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let (file, sets) = carry::sets(lab, family, study, study.runs("ablation"), 0)?;
    let runs = lab.run("lazyfree-ablation", file, &[sets])?.pop().expect("one cell");
    let same = |r: &RunReport| r.vmstat == runs[0].vmstat && r.digest == runs[0].digest;
    let equal: Vec<f64> = runs.iter().map(|r| f64::from(u8::from(same(r)))).collect();
    let expectation = published.expectation("no-madv-free-no-difference");
    let id = "lazyfree-ablation/no-madv-free-no-difference";
    let row = FigureRow {
        demand: "1".into(),
        met: Some(equal.iter().all(|e| *e == 1.0)),
        gates: expectation.gate,
        basis: expectation.basis,
        asks: Asks::OwnBound,
        ci95: None,
        note: expectation.about.clone(),
        ..unpublished_row(id, "equal", "share of variants", estimate(&equal))
    };
    Ok(Figures { rows: vec![row], ..Figures::default() })
}

/// The base that the share was chosen by, then what the patches do.
fn point(published: &Published, runs: &[Vec<RunReport>]) -> Vec<FigureRow> {
    let [anon, file] = REFAULTS.map(|c| figure(runs, "base", c));
    let ratio: Vec<f64> = file.iter().zip(&anon).map(|(f, a)| f.1 / a.1).collect();
    let mut rows = vec![FigureRow {
        published: published.relation("base-file-over-anon").published,
        basis: Basis::Calibrated,
        ..unpublished_row(&format!("{POINT}/base/file over anon"), "ratio", "", estimate(&ratio))
    }];
    let demand = published.demand("garbage");
    for variant in ["list-v2", "tail"] {
        for counter in REFAULTS {
            let by_seed = changes(&figure(runs, "base", counter), &figure(runs, variant, counter));
            let change = values(&by_seed);
            let known = published_change(published, variant, counter);
            let id = format!("{POINT}/{variant}/{counter}");
            rows.push(FigureRow {
                published: Some(known),
                demand: demand.words("%"),
                met: demand.met_by_seeds(known, &change),
                gates: demand.gates(),
                basis: demand.basis,
                ..unpublished_row(&id, counter, "%", estimate(&change))
            });
        }
    }
    rows
}

/// Change of a counter by a patch against the base, in per cent; the tail was measured in another
/// run.
fn published_change(published: &Published, variant: &str, counter: &str) -> f64 {
    let value = |table: &str, series: &str| {
        let is = |c: &Cell<'_>| c.key("series") == series && c.column() == counter;
        published.cells(published.table(table)).find(is).expect("a cell").value()
    };
    let base = value("lazyfree-list-vs-base", "base");
    let with = match variant {
        "tail" => value("lazyfree-list-vs-tail", "tail"),
        _ => value("lazyfree-list-vs-base", "list"),
    };
    (with / base - 1.0) * 100.0
}

fn of_map((share, live): Place, runs: &[Vec<RunReport>]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let mut add = |what: &str, unit: &str, values: &[f64]| {
        let id = format!("{MAP}/{share}/{live}/{what}");
        rows.push(unpublished_row(&id, what, unit, estimate(values)));
    };
    let [anon, file] = REFAULTS.map(|c| figure(runs, "base", c));
    let ratio: Vec<f64> = file.iter().zip(&anon).map(|(f, a)| f.1 / a.1).collect();
    add("base file over anon", "", &ratio);
    for variant in ["list-v2", "tail"] {
        for (name, counter) in ["anon", "file"].iter().zip(REFAULTS) {
            let change = changes(&figure(runs, "base", counter), &figure(runs, variant, counter));
            add(&format!("{variant} {name}"), "%", &values(&change));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// 1,075 thousandths of memory are alive, with a garbage of 53 hundredths of the heap.
    #[test]
    fn what_is_alive_is_what_is_asked() {
        let place = (530, 1075);
        let size = |name: &str| -> u64 {
            let all = commands(place, 1);
            let line = all.iter().find(|c| c.starts_with(name)).expect("a command");
            line.split(' ').nth(2).expect("a size").parse().expect("a number")
        };
        let (heap, garbage, file) = (size("table 0"), size("anon 2"), size("table 1"));
        let live = (heap + file) as f64 / FRAMES as f64;
        assert!((live - 1.075).abs() < 0.001, "{live}");
        assert!((garbage as f64 / (heap + garbage) as f64 - 0.53).abs() < 0.001);
        assert_eq!(garbage % PIECES, 0);
    }

    /// The scenario as it is shipped is the first seed of the point.
    #[test]
    fn the_scenario_is_what_is_run() {
        let family = &super::super::FAMILIES[1];
        let (file, study) = (family.scenario("garbage"), family.study().expect("a study"));
        let shipped = Scenario::from_str(file.text, file.path).expect("a scenario");
        let place = CHOSEN.map(|c| study.constant(c).value as u64);
        let run = shipped.clone().with_sets(&sets(place.into(), 1)).expect("values that it takes");
        let [run, shipped] = [run, shipped].map(|s| s.expand(&Catalogue).expect("runs"));
        assert_eq!(run, shipped);
    }
}
