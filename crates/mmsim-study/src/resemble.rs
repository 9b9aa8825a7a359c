//! Fits the work of an imported machine to that machine, and compares the two.
//!
//! The scenario is run, and its rates stand beside those of two samples of the machine. The second
//! half of the run counts, because memory fills in the first. How often pages come back is nearly
//! proportional to how often they are used. So the pause of each task is scaled by the ratio of its
//! rate, and the machine is run again, a few times. The rates that set no pause are then a test.

use mmsim_base::error::Error;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_formats::system::work::{PRESSURE, RATES, Work};
use mmsim_language::machines::Catalogue;
use mmsim_language::scenario::Scenario;
use mmsim_report::RunReport;

use crate::runner::Runner;

/// Runs at most; the last one is shown.
const RUNS: usize = 4;
/// A ratio that is near enough.
const NEAR: f64 = 0.05;

/// A rate, recorded and simulated.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Resemblance {
    /// The rate, with its unit if it is not a number per second.
    pub figure: String,
    /// In the two samples.
    pub recorded: Option<f64>,
    /// In the run.
    pub simulated: Option<f64>,
}

impl Resemblance {
    /// Simulated over recorded, where something was recorded.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.simulated? / self.recorded.filter(|r| *r > 0.0)?)
    }
}

/// Sets the pauses of the tasks by runs of the machine, and compares the rates of the last run.
/// `machine` is the scenario without the work, `origin` its name in messages.
///
/// # Errors
/// The scenario is none, or the host cannot run it.
pub fn resemble(
    machine: &str,
    origin: &str,
    work: &mut Work,
    runner: &Runner<'_>,
) -> Result<Vec<Resemblance>, Error> {
    let mut rows = Vec::new();
    for n in 1..=RUNS {
        let scenario = Scenario::from_str(&format!("{machine}{}", work.text()), origin)?;
        let runs = runner.run(scenario.expand(&Catalogue)?)?;
        let Some(run) = runs.first() else { break };
        rows = compare(work, run);
        if n == RUNS || !paced(work, &rows) {
            break;
        }
    }
    Ok(rows)
}

/// Scales the pauses by their ratios; false if all are near enough.
fn paced(work: &mut Work, rows: &[Resemblance]) -> bool {
    let mut changed = false;
    for task in &mut work.tasks {
        let ratio = task.set_by.iter().find_map(|&i| rows[i].ratio());
        let Some(ratio) = ratio.filter(|r| *r > 0.0 && (r - 1.0).abs() > NEAR) else { continue };
        let before = task.think;
        task.set_think(before * ratio);
        changed |= task.think != before;
    }
    changed
}

/// The rates of the second half of a run beside the recorded ones.
fn compare(work: &Work, run: &RunReport) -> Vec<Resemblance> {
    let late = || run.phases.iter().filter(|p| p.begin_ns * 2 >= run.sim_time_ns);
    let ns: u64 = late().map(|p| p.sim_time_ns).sum();
    let per_second = |n: u64| (ns > 0).then(|| n as f64 * 1e9 / ns as f64);
    let recorded = work.recorded.as_ref();
    let rates = RATES.iter().enumerate().map(|(i, (figure, counters))| {
        let counted = |c: VmEvent| late().filter_map(|p| p.vmstat.count(c)).sum::<u64>();
        Resemblance {
            figure: (*figure).to_string(),
            recorded: recorded.and_then(|r| r.rates[i]),
            simulated: per_second(counters.iter().map(|&c| counted(c)).sum()),
        }
    });
    let pressure = PRESSURE.iter().enumerate().map(|(i, word)| {
        let stalled = late().map(|p| if i == 0 { p.pressure.some_us } else { p.pressure.full_us });
        let stalled: u64 = stalled.sum();
        Resemblance {
            figure: format!("pressure, {word}, %"),
            recorded: recorded.and_then(|r| r.pressure[i]),
            simulated: (ns > 0).then(|| stalled as f64 * 1e5 / ns as f64),
        }
    });
    rates.chain(pressure).collect()
}
