//! Holds miniatures against the runs that they stand for: scenarios with all their runs in full, and
//! as miniatures of each share.
//!
//! ```text
//! cargo run --release --example miniature_check -- 1/8,1/32 scenarios/miniatures/*.toml
//! ```
//!
//! `--unscaled costs` and `--unscaled pageblocks` leave a part of the scaling out, `--batch-shift
//! N` divides batches of reclaim by 2^N at most, `--refused` makes runs that have no miniature,
//! `--seeds N` makes each run with N seeds that follow one another, `--all` prints every case.
//!
//! It prints a table of errors in per cent, by counter and share, how many intervals cover the
//! full run, and the CPU time of both.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::collections::BTreeMap;
use std::time::Instant;

use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::machine::Watch;
use mmsim::miniature::{self, Estimated, Miniature, SAMPLES, Scaling, Share, Value};
use mmsim::report::RunReport;
use mmsim::{RunOptions, Runner, Scenario};

/// Counters below are noise: so few pages are one of a miniature.
const FEWEST: u64 = 10_000;

/// Counters that are shown, each with true if miniatures estimate it.
const SHOWN: [(VmEvent, bool); 13] = [
    (VmEvent::PswpIn, true),
    (VmEvent::PswpOut, true),
    (VmEvent::WorkingsetRefaultAnon, true),
    (VmEvent::WorkingsetRefaultFile, true),
    (VmEvent::PgFault, true),
    (VmEvent::PgpgIn, true),
    (VmEvent::PgScanAnon, true),
    (VmEvent::PgScanFile, true),
    (VmEvent::SimScanKeep, true),
    (VmEvent::PgScanAnon, false),
    (VmEvent::PgStealDirect, false),
    (VmEvent::PgDeactivate, false),
    (VmEvent::PgActivate, false),
];

#[derive(Default)]
struct Row {
    errors: Vec<f64>,
    covered: usize,
}

/// Words of the command line.
struct Args {
    shares: Vec<u32>,
    paths: Vec<String>,
    scaling: Scaling,
    verbose: bool,
    refused: bool,
    seeds: u64,
}

type Failure = Box<dyn std::error::Error>;

fn args() -> Result<Args, Failure> {
    let mut words = std::env::args().skip(1);
    let (shares, paths, scaling) = (Vec::new(), Vec::new(), Scaling::default());
    let mut a = Args { shares, paths, scaling, verbose: false, refused: false, seeds: 1 };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--all" => a.verbose = true,
            "--refused" => a.refused = true,
            "--seeds" => a.seeds = words.next().ok_or("a number")?.parse()?,
            "--batch-shift" => a.scaling.batch_shift = words.next().ok_or("a number")?.parse()?,
            "--unscaled" => match words.next().as_deref() {
                Some("costs") => a.scaling.costs = false,
                Some("pageblocks") => a.scaling.pageblocks = false,
                _ => return Err("--unscaled: write costs or pageblocks".into()),
            },
            path if path.ends_with(".toml") => a.paths.push(path.to_string()),
            list => {
                for share in list.split(',') {
                    a.shares.push(share.trim_start_matches("1/").parse::<u32>()?.ilog2());
                }
            }
        }
    }
    Ok(a)
}

/// Errors by counter and share, and how many intervals cover the full run.
#[derive(Default)]
struct Errors {
    rows: BTreeMap<(usize, u32), Row>,
    runs: u64,
    cases: u64,
    covered: u64,
}

impl Errors {
    /// Compares an estimate with the full run. `told` prints each counter after the words given.
    fn add(&mut self, full: &VmStat, estimated: &Estimated, shift: u32, told: Option<&str>) {
        let run = estimated.report(None);
        self.runs += 1;
        let mut seen = Vec::new();
        for (place, &(event, estimate)) in SHOWN.iter().enumerate() {
            let count = full[event];
            let given = run.counters.get(event.name());
            if count < FEWEST || given.is_some() != estimate {
                continue;
            }
            let raw = |r: &RunReport| r.vmstat.get(event.name()).unwrap_or(&0) << shift;
            let raw = estimated.samples.iter().map(raw).collect();
            let v = given.cloned().unwrap_or_else(|| Value::of(raw, 0.0));
            let row = self.rows.entry((place, shift)).or_default();
            let error = (v.mean as f64 / count as f64 - 1.0) * 100.0;
            row.errors.push(error);
            row.covered += usize::from(v.covers(count));
            // Counters that are the same events are one case.
            if estimate && !seen.contains(&count) {
                seen.push(count);
                self.cases += 1;
                self.covered += u64::from(v.covers(count));
            }
            if let Some(words) = told {
                println!(
                    "{words}: {} 1/{}: {count}, {} from {} to {}, {error:+.2} %{}",
                    event.name(),
                    1 << shift,
                    v.mean,
                    v.low,
                    v.high,
                    if v.covers(count) { "" } else { ", not covered" }
                );
            }
        }
    }

    fn print(&self) {
        println!("counter                    share  cases   mean  |mean|  worst  covered");
        for ((place, shift), row) in &self.rows {
            let n = row.errors.len() as f64;
            let mean = row.errors.iter().sum::<f64>() / n;
            let off = row.errors.iter().map(|e| e.abs()).sum::<f64>() / n;
            let worst =
                row.errors.iter().fold(0.0, |w: f64, e| if e.abs() > w.abs() { *e } else { w });
            let (event, estimate) = SHOWN[*place];
            let name = format!("{}{}", event.name(), if estimate { "" } else { " *" });
            let share = format!("1/{}", 1 << shift);
            println!(
                "{name:25} {share:>6} {:>6} {mean:>+6.2} {off:>7.2} {worst:>+6.2} {:>7.0}%",
                row.errors.len(),
                100.0 * row.covered as f64 / n
            );
        }
        println!(
            "* no estimate is printed for it\n{} of {} intervals of {} estimated runs cover the \
             full run",
            self.covered, self.cases, self.runs
        );
    }
}

#[allow(clippy::disallowed_methods, reason = "a measurement of the host")]
fn main() -> Result<(), Failure> {
    let args = args()?;
    let one = RunOptions::default().with_jobs(1);
    let mut errors = Errors::default();
    let mut cost = vec![(0.0, 0.0); args.shares.len()];
    for path in &args.paths {
        let specs = mmsim::machines::specs(&Scenario::from_path(path)?)?;
        let with_seed = |mut spec: mmsim::RunSpec, nth: u64| {
            spec.seed += nth;
            spec
        };
        let all = specs.iter().flat_map(|s| (0..args.seeds).map(|nth| with_seed(s.clone(), nth)));
        for spec in all {
            let begin = Instant::now();
            let full = mmsim::run::run_one(0, &spec, &|_, _| Watch::default())?.1;
            let took = begin.elapsed().as_secs_f64();
            let words = args.verbose.then(|| format!("{path}, {}", spec.label()));
            for (cost, &shift) in cost.iter_mut().zip(&args.shares) {
                let begin = Instant::now();
                let mut small = match args.refused {
                    true => Miniature::unchecked(&spec, shift, SAMPLES),
                    false => Miniature::new(&spec, Share::OneIn(shift), SAMPLES)?,
                };
                small.scaling = args.scaling;
                let all = miniature::run(vec![small], &Runner::new(&one))?;
                cost.0 += took;
                cost.1 += begin.elapsed().as_secs_f64();
                errors.add(&full.vmstat, all.first().ok_or("a run")?, shift, words.as_deref());
            }
        }
    }
    errors.print();
    for ((full, small), shift) in cost.iter().zip(&args.shares) {
        println!(
            "1/{}: {full:.1} s in full, {small:.1} s as {SAMPLES} samples, {:.1} times less; one \
             sample {:.1} times less",
            1 << shift,
            full / small,
            full / small * f64::from(SAMPLES)
        );
    }
    Ok(())
}
