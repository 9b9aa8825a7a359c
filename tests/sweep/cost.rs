//! Cost of a sweep beside a bare loop over its runs, and its largest size. Not for every change:
//! `tools/deep-check sweep-cost` runs these, with --nocapture.

#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "what was measured, for who asked for it")]

use mmsim::machine::Watch;
use mmsim::report::RunReport;
use mmsim::sweep::{Merged, Shard, Writer, for_each_unit, run};

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
        let specs = mmsim::Scenario::from_str(&self.listed, "x.toml").unwrap();
        let specs = mmsim::machines::specs(&specs).unwrap();
        assert_eq!(specs.len() as u64, self.units);
        let mut sum = 0;
        for (i, spec) in specs.iter().enumerate() {
            let (meta, result) = mmsim::run::run_one(i, spec, &|_, _| Watch::default()).unwrap();
            sum += RunReport::from_result(meta, &result).accesses;
        }
        assert!(sum > 0);
    }

    fn swept(&self, store: &str) {
        let mut options = mmsim::sweep::SweepOptions::default();
        options.jobs = Some(1);
        let done = run(&self.folder.plan(), &self.folder.path(store), &options, &()).unwrap();
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

#[test]
#[ignore = "fills a disk, for minutes"]
fn a_million_units_are_two_files() {
    let f = Folder::new();
    f.write(
        "p.toml",
        "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = 250000\n\
        [axes]\n\"task[0].theta\" = [0.5, 0.9]\n",
    );
    let plan = f.plan();
    assert_eq!(plan.units(), 1_000_000);
    let before = cpu_seconds();
    let mut units = Vec::new();
    for_each_unit(&plan, |unit| units.push(unit)).unwrap();
    let named = cpu_seconds() - before;
    // The report of one of them for all: what it says does not matter to a store.
    let scenario = mmsim::Scenario::from_str(SCENARIO, "x.toml").unwrap();
    let report = mmsim::run(&scenario, &mmsim::RunOptions::default()).unwrap();
    let mut one = report.runs[0].clone();
    let (mut writer, done) = Writer::open(&f.path("s"), "p", Shard::ALL).unwrap();
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
    let written = cpu_seconds() - before;
    let files: Vec<u64> = std::fs::read_dir(f.path("s"))
        .unwrap()
        .map(|e| e.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(files.len(), 2);
    let before = cpu_seconds();
    let merged = Merged::open(&plan, &f.path("s")).unwrap();
    assert_eq!((merged.len(), merged.missing().units), (1_000_000, 0));
    let opened = cpu_seconds() - before;
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default().to_string();
    println!(
        "1,000,000 units: named in {named:.1} s, written in {written:.1} s ({} MB as lines, {} MB \
         in {} files), looked through in {opened:.1} s of CPU; {peak}",
        bytes / 1_000_000,
        files.iter().sum::<u64>() / 1_000_000,
        files.len(),
    );
}
