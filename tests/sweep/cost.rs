//! What a sweep costs beside a bare loop over its runs, and how much it can hold. Not for every
//! change: `tools/deep-check sweep-cost` runs these, with --nocapture.

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

/// Units of about 5 ms: so many accesses.
const ACCESSES: &str = "accesses = 120000";

#[test]
#[ignore = "measures, for minutes"]
fn overhead_over_a_bare_loop() {
    let f = Folder::new();
    let scenario = SCENARIO.replace("accesses = 3000", ACCESSES);
    f.write("small.toml", &scenario);
    f.write(
        "p.toml",
        "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nseeds = 1\n[axes]\n\
         \"task[0].theta\" = { from = 0.5, to = 0.7, steps = 401 }\n",
    );
    let values: Vec<String> =
        (0..401).map(|i| format!("{:?}", (1000 + i) as f64 / 2000.0)).collect();
    let listed = format!("{scenario}[axes]\n\"task[0].theta\" = [{}]\n", values.join(", "));
    let (mut bare, mut swept) = (Vec::new(), Vec::new());
    for round in 0..5 {
        // What a program does that makes the same runs: read, resolve, run, report.
        let before = cpu_seconds();
        let specs = mmsim::Scenario::from_str(&listed, "x.toml").unwrap();
        let specs = mmsim::machines::specs(&specs).unwrap();
        assert_eq!(specs.len(), 802);
        let made = cpu_seconds() - before;
        let mut sum = 0;
        for (i, spec) in specs.iter().enumerate() {
            let (meta, result) = mmsim::run::run_one(i, spec, &|_, _| Watch::default()).unwrap();
            sum += RunReport::from_result(meta, &result).accesses;
        }
        assert!(sum > 0);
        bare.push((cpu_seconds() - before, made));
        let before = cpu_seconds();
        let mut options = mmsim::sweep::SweepOptions::default();
        options.jobs = Some(1);
        let store = f.path(&format!("s{round}"));
        assert_eq!(run(&f.plan(), &store, &options, &()).unwrap().made, 802);
        swept.push((cpu_seconds() - before, 0.0));
    }
    let least = |all: &[(f64, f64)]| all.iter().map(|x| x.0).fold(f64::INFINITY, f64::min);
    let (b, s) = (least(&bare), least(&swept));
    let made = bare.iter().map(|x| x.1).fold(f64::INFINITY, f64::min);
    println!(
        "units of {:.2} ms; bare {b:.3} s, of which {made:.3} s resolve; sweep {s:.3} s of CPU: \
         {:+.2} %; without resolving {:+.2} %",
        (b - made) * 1e3 / 802.0,
        (s / b - 1.0) * 100.0,
        (s / (b - made) - 1.0) * 100.0,
    );
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
