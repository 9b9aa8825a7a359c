//! The runs of a plan, with those who watch them.

use mmsim::RunError;
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmStat;
use mmsim::machine::result::RunResult;
use mmsim::machine::{LookFn, SampleFn, SnapshotFn, Watch};
use mmsim::machines::Machine;
use mmsim::memory::trace::Observer;
use mmsim::report::RunMeta;
use mmsim::run::CHECK_EVERY;

use crate::plan::Plan;

/// Gets counters and gauges in equal intervals of simulated time, the start and the end
/// included.
pub(crate) trait Sampler: Send {
    /// One sample.
    fn sample(&mut self, now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]);
}

/// Makes the observer of the run with this place in the plan, on this machine.
pub(crate) type MakeObserver<'a> = &'a (dyn Fn(usize, &Machine) -> Box<dyn Observer> + Sync);
/// Makes the sampler of the run with this place in the plan, on this machine.
pub(crate) type MakeSampler<'a> = &'a (dyn Fn(usize, &Machine) -> Box<dyn Sampler> + Sync);
/// Makes what looks at memory with each sample of the run with this place in the plan.
pub(crate) type MakeLook<'a> = &'a (dyn Fn(usize) -> Option<LookFn> + Sync);
/// Makes the sink of the kernel's files of the run with this place in the plan.
pub(crate) type MakeSnapshot<'a> = &'a (dyn Fn(usize) -> SnapshotFn + Sync);

/// Makes the function that counts the accesses of run `i` of the plan.
pub(crate) type MakeProgress<'a> = &'a (dyn Fn(usize) -> Option<Box<dyn FnMut(u64) + Send>> + Sync);

/// Options of runs.
#[derive(Clone, Copy)]
pub(crate) struct Execution<'a> {
    /// Runs at the same time; `None`: one per CPU.
    pub jobs: Option<usize>,
    /// Audit invariants. One that does not hold is a panic of its run.
    pub check: bool,
    /// Who watches.
    pub observer: Option<MakeObserver<'a>>,
    /// Who samples, and how often.
    pub sampler: Option<(SimDuration, MakeSampler<'a>)>,
    /// Who looks at memory with each sample.
    pub look: Option<MakeLook<'a>>,
    /// Who sees the kernel's files.
    pub snapshot: Option<MakeSnapshot<'a>>,
    /// Told how many accesses the run with this place in the plan has done, if anybody asks.
    pub progress: Option<MakeProgress<'a>>,
    /// Called from any thread when the run with this place in the plan has ended.
    pub finished: &'a (dyn Fn(usize) + Sync),
}

/// Makes all runs of a plan and returns them in the order of the plan.
pub(crate) fn execute(
    plan: &Plan,
    how: &Execution<'_>,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    let watch = |i: usize, machine: &Machine| {
        let mut watch = Watch::default();
        watch.check_every = if how.check { CHECK_EVERY } else { 0 };
        watch.observer = how.observer.map(|make| make(i, machine));
        watch.sample = how.sampler.map(|(every, make)| {
            let mut sampler = make(i, machine);
            let sample: SampleFn = Box::new(move |now, vmstat, gauges| {
                sampler.sample(now, vmstat, gauges);
            });
            (every, sample)
        });
        watch.look = how.look.and_then(|make| make(i));
        watch.snapshot = how.snapshot.map(|make| make(i));
        watch.progress = how.progress.and_then(|make| make(i));
        watch
    };
    mmsim::run::run_each(&plan.specs, how.jobs, watch, how.finished)
}
