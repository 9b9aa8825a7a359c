//! Cost of a sweep beside a bare loop over its runs, and its largest size. Not for every change:
//! `tools/deep-check sweep-cost` runs these, with --nocapture.

#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what was measured, for who asked for it")]

use std::path::PathBuf;

use mmsim::RunOptions;
use mmsim::machine::Watch;
use mmsim::report::RunReport;
use mmsim::sweep::{Merged, Shard, SweepPlan, Writer, for_each_unit, run, write_wide};

use crate::harness;
use crate::support::{Folder, SCENARIO};

fn cpu_seconds() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Accesses that make units of about 5 ms.
const ACCESSES: &str = "accesses = 120000";

/// A scenario with a number of values of an axis, for a bare loop, and a plan of the same runs.
struct Work {
    folder: Folder,
    listed: String,
    units: u64,
}

impl Work {
    fn of(values: u64) -> Work {
        let folder = Folder::new();
        let scenario = SCENARIO.replace("accesses = 3000", ACCESSES);
        folder.write("small.toml", &scenario);
        let to = (1000 + values - 1) as f64 / 2000.0;
        folder.write(
            "p.toml",
            format!(
                "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = 1\n[axes]\n\
                 \"task[0].theta\" = {{ from = 0.5, to = {to:?}, steps = {values} }}\n"
            ),
        );
        let list: Vec<String> =
            (0..values).map(|i| format!("{:?}", (1000 + i) as f64 / 2000.0)).collect();
        let listed = format!("{scenario}[axes]\n\"task[0].theta\" = [{}]\n", list.join(", "));
        Work { folder, listed, units: 2 * values }
    }

    /// A program that makes the same runs and keeps nothing: read, resolve, run, report.
    fn bare(&self) {
        let specs = harness::specs(&self.listed);
        assert_eq!(specs.len() as u64, self.units);
        let mut sum = 0;
        for (i, spec) in specs.iter().enumerate() {
            let (meta, result) = mmsim::run::run_one(i, spec, &|_, _| Watch::default()).unwrap();
            sum += RunReport::from_result(meta, &result).accesses;
        }
        assert!(sum > 0);
    }

    fn swept(&self, store: &str) {
        let (plan, store) = (self.folder.plan(), self.folder.path(store));
        let options = RunOptions::default().with_jobs(1);
        let done = run(&plan, &store, Shard::ALL, &options, &()).unwrap();
        assert_eq!(done.made, self.units);
    }
}

#[test]
#[ignore = "measures, for minutes"]
fn overhead_over_a_bare_loop() {
    let work = Work::of(401);
    let (mut bare, mut swept) = (f64::INFINITY, f64::INFINITY);
    for round in 0..5 {
        let before = cpu_seconds();
        work.bare();
        bare = bare.min(cpu_seconds() - before);
        let before = cpu_seconds();
        work.swept(&format!("s{round}"));
        swept = swept.min(cpu_seconds() - before);
    }
    println!(
        "units of {:.2} ms; bare {bare:.3} s, sweep {swept:.3} s of CPU: {:+.2} %",
        bare * 1e3 / work.units as f64,
        (swept / bare - 1.0) * 100.0,
    );
}

/// Part that [`instructions_over_a_bare_loop`] counts: `MMSIM_COST` says how, and over how many
/// values.
#[test]
#[ignore = "a part of another test"]
fn part() {
    let Ok(asked) = std::env::var("MMSIM_COST") else { return };
    let (how, values) = asked.split_once(' ').expect("two words");
    let work = Work::of(values.parse().expect("a number"));
    match how {
        "bare" => work.bare(),
        _ => work.swept("s"),
    }
}

/// The same in instructions, which do not depend on what else the machine does. Those of the kernel
/// are not among them. A sweep that costs more than 3 % fails.
#[test]
#[ignore = "runs under valgrind, for minutes"]
fn instructions_over_a_bare_loop() {
    let count = |how: &str, values: u64| -> Option<f64> {
        let out = std::process::Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "cost::part"])
            .env("MMSIM_COST", format!("{how} {values}"))
            .output()
            .ok()?;
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let line = said.lines().find_map(|l| l.split_once("Collected :"));
        Some(line.expect("a count").1.trim().parse().expect("a number"))
    };
    // What every process does once is subtracted.
    let (few, many) = (4, 44);
    let each = |how| Some((count(how, many)? - count(how, few)?) / (2 * (many - few)) as f64);
    let (Some(bare), Some(swept)) = (each("bare"), each("sweep")) else {
        println!("skipped: there is no valgrind");
        return;
    };
    let more = (swept / bare - 1.0) * 100.0;
    println!(
        "a unit: {:.2} million instructions; in a sweep {:.0} thousand more, {more:+.2} %",
        bare / 1e6,
        (swept - bare) / 1e3,
    );
    assert!(more < 3.0, "{more:+.2} %");
}

/// Cost of a unit that does next to nothing, with its part of naming, keeping and reading.
#[test]
#[ignore = "measures, for seconds"]
fn a_small_unit() {
    let f = Folder::new();
    f.write("small.toml", SCENARIO.replace("accesses = 3000", "accesses = 200"));
    f.write("p.toml", "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = 500\n");
    let options = RunOptions::default().with_jobs(1);
    let mut least = f64::INFINITY;
    for round in 0..5 {
        let before = cpu_seconds();
        run(&f.plan(), &f.path(&format!("s{round}")), Shard::ALL, &options, &()).unwrap();
        least = least.min(cpu_seconds() - before);
    }
    // A thousand units.
    println!("a unit of 2,304 pages and 200 accesses: {least:.2} ms of CPU");
}

/// A store with units of a number of seeds, two variants and two settings. The report of one of them
/// stands for all: what it says does not matter to a store.
struct Filled {
    plan: SweepPlan,
    store: PathBuf,
    /// CPU seconds for the names, and for writing.
    named: f64,
    written: f64,
    /// Bytes as lines.
    bytes: usize,
}

impl Filled {
    fn of(f: &Folder, seeds: u64) -> Filled {
        let text = format!(
            "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = {seeds}\n\
             [axes]\n\"task[0].theta\" = [0.5, 0.9]\n"
        );
        f.write("p.toml", text);
        let (plan, store) = (f.plan(), f.path(&format!("s{seeds}")));
        assert_eq!(plan.units(), 4 * seeds);
        let before = cpu_seconds();
        let mut units = Vec::new();
        for_each_unit(&plan, |unit| units.push(unit)).unwrap();
        let named = cpu_seconds() - before;
        let report = harness::report(SCENARIO);
        let mut one = report.runs[0].clone();
        let (mut writer, done) = Writer::open(&store, "p", Shard::ALL).unwrap();
        assert!(done.is_empty());
        let before = cpu_seconds();
        let mut bytes = 0;
        for unit in &units {
            one.seed = unit.n;
            let json = serde_json::to_vec(&one).unwrap();
            bytes += json.len();
            writer.keep(unit.id, unit.n, &json).unwrap();
        }
        writer.finish().unwrap();
        Filled { plan, store, named, written: cpu_seconds() - before, bytes }
    }
}

/// Megabytes that this process had in memory at most since [`forget_peak`].
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().strip_suffix(" kB")?.parse().ok()).map_or(0.0, |kb: f64| kb / 1e3)
}

fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Merging holds an index of the units and a few rows: the index of a million fits into 1 GB, by
/// what that of 25,000 and that of 100,000 take.
#[test]
#[ignore = "fills a disk, for minutes"]
fn merging_a_million_units_takes_less_than_a_gigabyte() {
    let f = Folder::new();
    let merge = |seeds: u64| {
        let filled = Filled::of(&f, seeds);
        forget_peak();
        let before = cpu_seconds();
        let merged = Merged::open(&filled.plan, &filled.store).unwrap();
        write_wide(&merged, &mut std::io::sink()).unwrap();
        (peak(), (cpu_seconds() - before) * 1e3 / (4 * seeds) as f64)
    };
    let ((few, _), (many, each)) = (merge(6_250), merge(25_000));
    let million = many + (many - few).max(0.0) * 900.0 / 75.0;
    println!(
        "merging into a wide table: {few:.0} MB for 25,000 units, {many:.0} MB for 100,000 \
         ({each:.2} ms of CPU each); so {million:.0} MB for a million"
    );
    assert!(million < 1000.0);
}

#[test]
#[ignore = "fills a disk, for minutes"]
fn a_million_units_are_two_files() {
    let f = Folder::new();
    let Filled { plan, store, named, written, bytes } = Filled::of(&f, 250_000);
    let files: Vec<u64> =
        std::fs::read_dir(&store).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).collect();
    assert_eq!(files.len(), 2);
    let before = cpu_seconds();
    let merged = Merged::open(&plan, &store).unwrap();
    assert_eq!((merged.len(), merged.missing().units), (1_000_000, 0));
    let opened = cpu_seconds() - before;
    println!(
        "1,000,000 units: named in {named:.1} s, written in {written:.1} s ({} MB as lines, {} MB \
         in {} files), looked through in {opened:.1} s of CPU; {:.0} MB",
        bytes / 1_000_000,
        files.iter().sum::<u64>() / 1_000_000,
        files.len(),
        peak(),
    );
    assert!(peak() < 1000.0);
}
