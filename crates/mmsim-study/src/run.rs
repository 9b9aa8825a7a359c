//! Runs of scenarios: one machine each.
//!
//! A run is single-threaded and deterministic; runs share nothing, so any number of jobs
//! ([`Runner`](crate::Runner)) gives the same bytes. Observers see a run and cannot change it.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{MOST_RECORDED, Watch};
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::daemon::Stopped;
use mmsim_why::{Settings, Told};
use mmsim_workload::trace;

use mmsim_base::error::Error;
use mmsim_language::machines::{self, Machine};
use mmsim_language::scenario::RunSpec;
use mmsim_report::{Bounds, KnobValue, RunMeta, WhyReport, opt};

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The input is wrong.
    #[error("{0}")]
    Input(#[from] Error),
    /// A run ended early, and the request needs all its work.
    #[error("{0}")]
    EndedEarly(Error),
    /// The simulator panicked: an invariant did not hold, and the message names the ids.
    #[error("{run}: invariant broken: {message}")]
    Invariant {
        /// Which run.
        run: String,
        /// Message of the error.
        message: String,
    },
    /// The caller ended it ([`cancel`]).
    #[error("cancelled")]
    Cancelled,
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        match error {
            RunError::Input(error) | RunError::EndedEarly(error) => error,
            other => Error::plain(other.to_string()),
        }
    }
}

/// Payload of the unwinding of a run that its caller ended.
struct Cancelled;

/// Ends the run that this is called from, by what watches it ([`Watch::progress`] and the like): it
/// is no result, and [`RunError::Cancelled`] comes of it. Nothing is printed.
pub fn cancel() -> ! {
    resume_unwind(Box::new(Cancelled))
}

/// Time between two looks at resident memory, of which its mean is taken.
const LOOKS_EVERY: SimDuration = SimDuration::from_millis(10);

/// Steps between two audits of a checked run.
pub const CHECK_EVERY: u64 = 4096;

/// Makes a policy for one run, of its memory and its seed.
type Create<'a> = dyn Fn(&mut Memory, u64) -> Box<dyn ReclaimPolicy> + Sync + 'a;

/// A policy of the caller's own, to be compared with those of a scenario.
pub struct OwnPolicy<'a> {
    pub(crate) name: String,
    create: Box<Create<'a>>,
}

impl<'a> OwnPolicy<'a> {
    /// A policy under a name. `create` makes it for one run: it gets the memory to create its lists
    /// in, and the seed of the run. It may be called on several threads at once.
    pub fn new(
        name: impl Into<String>,
        create: impl Fn(&mut Memory, u64) -> Box<dyn ReclaimPolicy> + Sync + 'a,
    ) -> Self {
        OwnPolicy { name: name.into(), create: Box::new(create) }
    }
}

impl std::fmt::Debug for OwnPolicy<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A run that panicked has a result too.
pub(crate) fn or_panicked(
    spec: &RunSpec,
    result: Result<(RunMeta, RunResult), RunError>,
) -> Result<(RunMeta, RunResult), RunError> {
    match result {
        Err(RunError::Invariant { message, .. }) => {
            let mut result = RunResult::default();
            result.outcome = Outcome::Panicked(message);
            Ok((meta(spec), result))
        }
        result => result,
    }
}

/// Makes one run, the `i`-th of its caller, on this thread.
///
/// # Errors
///
/// What is wrong with the run, with its place. A panic is an error of the run, not an end of the
/// program: it may be an audit that failed, and its message names the ids.
pub fn run_one(
    i: usize,
    spec: &RunSpec,
    watch: &(impl Fn(usize, &Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    one(spec, &[], &|machine| watch(i, machine))
}

/// The same with policies of the caller's own: the run has that whose name its policy has.
pub(crate) fn one(
    spec: &RunSpec,
    own: &[OwnPolicy<'_>],
    watch: &dyn Fn(&Machine) -> Watch,
) -> Result<(RunMeta, RunResult), RunError> {
    caught(spec, || {
        let machine = match own.iter().find(|p| p.name == spec.policy.preset) {
            Some(p) => machines::machine_with(spec, |mem| (p.create)(mem, spec.seed)),
            None => machines::machine(spec),
        };
        let mut begun = Begun::new(spec, machine?, watch);
        let result = begun.machine.run(std::mem::take(&mut begun.watch));
        begun.told(spec, result)
    })
}

pub(crate) fn caught<T>(
    spec: &RunSpec,
    run: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        if panic.is::<Cancelled>() {
            return Err(RunError::Cancelled);
        }
        if let Some(Stopped(why)) = panic.downcast_ref::<Stopped>() {
            return Err(Error::plain(format!("{}: {why}", spec.label())).into());
        }
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
        let message = text.unwrap_or_else(|| "no message".into());
        Err(RunError::Invariant { run: spec.label(), message })
    })
}

/// A machine that is ready to run, and who watches it.
pub(crate) struct Begun {
    pub(crate) machine: Machine,
    /// Taken when it begins.
    pub(crate) watch: Watch,
    told: Option<Told>,
    audited: bool,
}

impl Begun {
    pub(crate) fn new(
        spec: &RunSpec,
        mut machine: Machine,
        watch: &dyn Fn(&Machine) -> Watch,
    ) -> Begun {
        if spec.mean_resident {
            machine.measure_resident(LOOKS_EVERY);
        }
        let mut watch = watch(&machine);
        watch.record_accesses |= spec.bounds;
        let told = spec.why.then(|| {
            let (engine, told) = machines::engine(&machine, Settings::default());
            watch.follower = Some(engine);
            told
        });
        let audited = watch.check_every > 0;
        Begun { machine, watch, told, audited }
    }

    /// Report of a run that has ended with this result.
    pub(crate) fn told(
        self,
        spec: &RunSpec,
        result: RunResult,
    ) -> Result<(RunMeta, RunResult), RunError> {
        let machine = self.machine;
        let mut meta = meta(spec);
        meta.verdicts = self.told.and_then(|t| t.take());
        meta.why = meta.verdicts.as_ref().map(|v| WhyReport::of(v, &result));
        if let (true, Some(why)) = (self.audited, &meta.why) {
            why.check(&result);
        }
        meta.damon = machines::monitored(spec, &machine);
        for (damon, monitored) in spec.damon.iter().zip(&mut meta.damon).filter(|(d, _)| d.truth) {
            let truth = machines::truth(spec, damon, monitored)?;
            (monitored.report.truth, monitored.truth) = truth.unzip();
        }
        if machine.recorded_accesses().len() >= MOST_RECORDED {
            let why = format!("bounds: none, there are more than {MOST_RECORDED} accesses");
            meta.assumed.push(why);
        } else if spec.bounds {
            meta.bounds = Some(bounds(spec, &machine, &result));
        }
        Ok((meta, result))
    }
}

/// The optimum on the run's own sequence of page accesses.
fn bounds(spec: &RunSpec, machine: &Machine, result: &RunResult) -> Bounds {
    let ahead = spec.machine.swap.iter().any(|s| !s.device.synchronous)
        && spec.machine.vm.page_cluster > 0
        || machine.mem.cache.files.ids().next().is_some() && spec.machine.vm.ra_pages > 0
        || machine.prefetched();
    opt::bounds(machine.recorded_accesses(), result.peak_resident, ahead)
}

/// Everything about a run that is known before it.
pub fn meta(spec: &RunSpec) -> RunMeta {
    let mut meta = RunMeta::of_machine(&spec.machine);
    meta.variant = spec.variant.clone();
    meta.axes = spec.axes.clone();
    meta.seed = spec.seed;
    meta.policy = spec.policy.preset.clone();
    (meta.knobs, meta.setup) = given(spec);
    meta.assumed = spec.tasks.iter().flat_map(machines::assumed).collect();
    if let Ok(values) = spec.registry.values(&spec.policy) {
        let values = values.into_iter();
        meta.knobs
            .extend(values.map(|(k, v)| (format!("reclaim.{k}"), KnobValue::from(v.as_str()))));
    }
    meta.knobs.extend(machines::compaction_knobs(spec));
    meta.knobs.extend(machines::damon_knobs(spec));
    meta
}

/// Values by their names, in order.
type Named<V> = Vec<(String, V)>;

/// Settings of a run, key by key: sysctls as knobs under their kernel names, all else by the path
/// of its key.
fn given(spec: &RunSpec) -> (Named<KnobValue>, Named<String>) {
    let (mut knobs, mut setup) = (Vec::new(), Vec::new());
    for (path, value) in spec.given.iter() {
        match path.strip_prefix("machine.vm.") {
            Some(name) => {
                let number = value.parse::<i64>().map(KnobValue::from);
                let value = number.unwrap_or_else(|_| KnobValue::from(value.as_str()));
                knobs.push((format!("vm.{name}"), value));
            }
            None => setup.push((path.clone(), value.clone())),
        }
    }
    let read = spec.files.iter().map(|(path, file)| (format!("{path} contents"), contents(file)));
    setup.extend(read);
    (knobs, setup)
}

/// Digest of a file, which tells it from a new file of the same name.
fn contents(path: &Path) -> String {
    match File::open(path).and_then(trace::contents) {
        Ok((bytes, digest)) => format!("{bytes} bytes, digest {digest:016x}"),
        // The run itself says why.
        Err(_) => "unreadable".into(),
    }
}
