//! Miniatures: a run as several small machines, each with a sample of the pages.
//!
//! ```text
//! RunSpec -> rules     whether it may be, and how small
//!         -> scaled    the machine of fewer, dearer pages
//!         -> filter    its work on a sample of the pages
//!         -> report    counts times 1/R, with intervals over the samples
//! ```
//!
//! Sampling pages by a hash and shrinking the cache alike is miniature simulation (Waldspurger and
//! others, USENIX ATC 2017). What is added here is what a kernel has besides a cache: watermarks,
//! batches, background threads and their speed. docs/miniatures.md is for users,
//! docs/dev/miniatures.md has what was measured.

mod counters;
mod filter;
mod report;
mod rules;
mod sample;
mod scaled;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mmsim_core::config::cost::CostModel;
use mmsim_core::machine::Machine;
use mmsim_core::workload::Workload;
use mmsim_workload::generators::{MemoryKind, Thin};
use serde::{Deserialize, Serialize};

use crate::attend::Making;
use crate::plan::Point;
use crate::run::{RunError, caught, meta, or_panicked};
use crate::runner::Runner;
use crate::store::{UnitId, id_of};
use filter::{Filter, Process};
use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::scenario::{RunSpec, TaskSpec, WorkloadSpec};
use mmsim_report::{Ending, RunReport};

pub use counters::{Worth, worth};
pub use report::{
    CSV_HEADER, MiniaturePhase, MiniatureReport, MiniatureRun, OFF_PAGES, OFF_SCANS, Value,
};
pub use rules::{FEWEST_OF_GROUP, FEWEST_PAGES, SMALLEST, Share};
pub(crate) use rules::{Refusal, allowed};
pub use sample::Sample;
pub use scaled::Scaling;

/// Default number of samples of a run.
pub const SAMPLES: u32 = 4;

/// A run and its samples.
#[derive(Clone, Debug)]
pub struct Miniature {
    /// The full run.
    pub run: RunSpec,
    /// The samples that stand for it, at least one.
    pub samples: Vec<Sample>,
    /// Scaled parts.
    pub scaling: Scaling,
}

impl Miniature {
    /// `of` samples of a run.
    ///
    /// # Errors
    /// The run is none for a miniature, or not for one so small.
    pub fn new(run: &RunSpec, share: Share, of: u32) -> Result<Miniature, Error> {
        let samples = rules::samples(run, share, of)?;
        Ok(Miniature { run: run.clone(), samples, scaling: Scaling::default() })
    }

    /// `of` samples of 1/2^`shift` of the pages, whatever their estimates are worth.
    pub fn unchecked(run: &RunSpec, shift: u32, of: u32) -> Miniature {
        let samples = rules::of(run, shift, of);
        Miniature { run: run.clone(), samples, scaling: Scaling::default() }
    }

    /// Its samples, each to be made for itself.
    pub(crate) fn sampled(&self) -> Vec<Sampled<'_>> {
        self.samples.iter().map(|&sample| Sampled { of: self, sample }).collect()
    }
}

/// A run whose samples have been made.
#[derive(Debug)]
pub struct Estimated {
    /// Kind of miniature that was run.
    pub how: Miniature,
    /// Report of each sample, as a run of a small machine.
    pub samples: Vec<RunReport>,
    /// Accesses of the full run.
    pub accesses: u64,
}

impl Estimated {
    /// Its report. `scenario`: its name, where a report has several.
    pub fn report(&self, scenario: Option<String>) -> MiniatureRun {
        MiniatureRun::of(scenario, self)
    }
}

/// The run on the small machine of a sample.
pub(crate) fn small(run: &RunSpec, sample: Sample, scaling: Scaling) -> RunSpec {
    let machine = scaled::machine(&run.machine, sample.shift, scaling);
    RunSpec { machine, ..run.clone() }
}

/// The machine of one sample of a run, and where the accesses of the full run are counted.
///
/// # Errors
/// As for [`machines::machine`].
pub fn machine(
    run: &RunSpec,
    sample: Sample,
    scaling: Scaling,
) -> Result<(Machine, Arc<AtomicU64>), Error> {
    let small = small(run, sample, scaling);
    let accesses = Arc::new(AtomicU64::new(0));
    let machine = machines::machine_of(&small, &|task, seed, index| {
        let process = Process::new(&format!("{}-{index}", task.name));
        let cost = &run.machine.cost;
        let threads = match thinned(task, index, sample, cost, &process, &accesses) {
            Some(threads) => threads,
            None => machines::threads(task, seed, index)?,
        };
        let filtered = threads.into_iter().map(|inner| -> Box<dyn Workload> {
            let shared = (Arc::clone(&process), Arc::clone(&accesses));
            Box::new(Filter::new(inner, sample, shared, cost))
        });
        Ok(filtered.collect())
    })?;
    Ok((machine, accesses))
}

/// The threads of a task that draws pages independently, with the draws of kept pages alone. `None`:
/// all of what it does has to be made, and is filtered.
fn thinned(
    task: &TaskSpec,
    index: usize,
    sample: Sample,
    cost: &CostModel,
    process: &Mutex<Process>,
    accesses: &Arc<AtomicU64>,
) -> Option<Vec<Box<dyn Workload>>> {
    let (WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w)) = &task.work else { return None };
    let w = w.of_process(index);
    let space = match &w.kind {
        MemoryKind::Anon => process.lock().ok()?.first_space(),
        MemoryKind::FileShared(name)
        | MemoryKind::FilePrivate(name)
        | MemoryKind::FileRead(name)
        | MemoryKind::Shmem(name, _) => sample::space(name),
    };
    let read = cost.t_read_cached.as_nanos() + cost.t_syscall.as_nanos();
    let thin = Thin { hits: [cost.t_hit.as_nanos(), read], others: accesses };
    w.thinned(sample.kept(space, w.pages), &thin)
}

/// One sample of a run.
pub(crate) struct Sampled<'a> {
    of: &'a Miniature,
    sample: Sample,
}

/// Result of a sample: its report, and the accesses of the full run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) report: RunReport,
    accesses: u64,
}

impl Point for Sampled<'_> {
    type Made = Made;

    fn id(&self) -> Option<UnitId> {
        Some(id_of(&self.of.run, &(self.sample, self.of.scaling)))
    }

    fn label(&self) -> String {
        "sample".to_string()
    }

    /// The full run needs more memory than its sample, and nothing is known of that.
    fn spec(&self) -> Option<&RunSpec> {
        None
    }

    fn make(&self, how: &Making<'_>) -> Result<Made, RunError> {
        let (report, accesses) = sample(self.of, self.sample, how)?;
        Ok(Made { report, accesses })
    }
}

/// Makes a sample of a run: its report, and the accesses of the full run.
pub(crate) fn sample(
    of: &Miniature,
    sample: Sample,
    how: &Making<'_>,
) -> Result<(RunReport, u64), RunError> {
    let Miniature { run, scaling, .. } = of;
    let mut accesses = 0;
    let made = caught(run, || {
        let (mut machine, counted) = machine(run, sample, *scaling)?;
        let result = machine.run(how.watch(run));
        accesses = counted.load(Ordering::Relaxed);
        Ok((meta(run), result))
    });
    let (meta, result) = or_panicked(run, made)?;
    Ok((RunReport::from_result(meta, &result), accesses))
}

/// Makes the samples of runs.
///
/// # Errors
/// The input is wrong, or the runs were cancelled. A sample that panics has a report.
pub fn run(miniatures: Vec<Miniature>, runner: &Runner<'_>) -> Result<Vec<Estimated>, RunError> {
    let all: Vec<Sampled<'_>> = miniatures.iter().flat_map(Miniature::sampled).collect();
    let mut made = runner.run(all)?.into_iter();
    let mut estimated = Vec::new();
    for how in miniatures {
        let of_it = made.by_ref().take(how.samples.len());
        let (samples, accesses): (Vec<RunReport>, Vec<u64>) =
            of_it.map(|made| (made.report, made.accesses)).unzip();
        // Work that ends by the clock may differ from sample to sample.
        let accesses = accesses.iter().sum::<u64>() / accesses.len().max(1) as u64;
        estimated.push(Estimated { how, samples, accesses });
    }
    Ok(estimated)
}

/// True if all samples of a run did all their work.
pub fn completed(e: &Estimated) -> bool {
    e.samples.iter().all(|run| run.outcome == Ending::Completed)
}
