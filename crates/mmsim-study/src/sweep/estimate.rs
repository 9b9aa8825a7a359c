//! Estimate of a sweep, from a few of its units.

use super::SweepPlan;
use super::work::{report_of, sound};
use crate::attend::RunOptions;
use crate::run::RunError;
use crate::store::{MOST_SHARDS, UnitId, line_of};
use mmsim_language::host;
use mmsim_report::Ending;

/// Units that are tried.
pub const TRIALS: usize = 3;

/// A unit that was tried.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// Variant, axes and seed.
    pub label: String,
    /// Its outcome.
    pub outcome: Ending,
    /// Bytes of memory that it takes, as far as its scenario tells; who measures more says it here.
    pub memory: u64,
    /// Bytes of its line in a store, packed.
    pub disk: u64,
}

/// Numbers of the units to try: the first, one in the middle, the last. A small plan has fewer.
pub fn tried(plan: &SweepPlan) -> Vec<u64> {
    let last = plan.units() - 1;
    let mut all = vec![0, last / 2, last];
    all.dedup();
    all
}

/// Makes a unit. Nothing is kept of it.
///
/// # Errors
///
/// It cannot be run as the plan has it.
pub fn trial(plan: &SweepPlan, n: u64, options: &RunOptions) -> Result<Trial, RunError> {
    let planned = sound(plan, plan.place(n), &options.registry)?;
    host::check(std::slice::from_ref(&planned.spec), Some(1))?;
    let report = report_of(plan, n, options)?;
    let json = serde_json::to_vec(&report).expect("a report is plain data");
    // Among its like a line is packed much better than alone.
    let line = [line_of(UnitId(0), n, &json), line_of(UnitId(1), n, &json)].concat();
    let packed = |bytes: &[u8]| zstd::encode_all(bytes, 1).map_or(bytes.len(), |p| p.len()) as u64;
    let half = packed(&line[..line.len() / 2]);
    Ok(Trial {
        label: planned.spec.label(),
        outcome: report.outcome,
        memory: host::need(&planned.spec).memory,
        disk: (packed(&line) - half).max(half / 4),
    })
}

/// Estimate of a whole sweep.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// Units of the plan.
    pub units: u64,
    /// Seconds of one CPU for all units.
    pub cpu_s: f64,
    /// Bytes of memory for each unit at the same time.
    pub memory: u64,
    /// Bytes of the store.
    pub disk: u64,
    /// CPUs of each task.
    pub cpus: u32,
    /// Suggested number of shards.
    pub shards: u32,
}

/// Seconds that a shard should take: long against the start of a task, short against an engine's
/// limits.
const SHARD_S: f64 = 1800.0;
/// Shards that engines take without being asked: Slurm's arrays end at 1,000.
const USUAL_SHARDS: u64 = 1000;

/// Estimate of a sweep from its trials, each with the CPU seconds that it took. `cpus`: CPUs of a
/// task.
pub fn estimate(plan: &SweepPlan, trials: &[(Trial, f64)], cpus: u32) -> Estimate {
    let n = trials.len().max(1) as f64;
    let mean = |of: &dyn Fn(&(Trial, f64)) -> f64| trials.iter().map(of).sum::<f64>() / n;
    let units = plan.units();
    let cpu_s = units as f64 * mean(&|t| t.1);
    let shards = (cpu_s / (f64::from(cpus.max(1)) * SHARD_S)).ceil() as u64;
    let most = USUAL_SHARDS.min(u64::from(MOST_SHARDS)).min(units);
    Estimate {
        units,
        cpu_s,
        memory: trials.iter().map(|t| t.0.memory).max().unwrap_or(0),
        disk: (units as f64 * mean(&|t| t.0.disk as f64)) as u64,
        cpus: cpus.max(1),
        shards: shards.clamp(1, most.max(1)) as u32,
    }
}
