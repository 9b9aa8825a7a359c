//! Runs scenarios: one machine per run, as many at a time as there are CPUs.
//!
//! A run is single-threaded and deterministic; runs share nothing, so any number of jobs
//! gives the same bytes. Observers see a run and cannot change it.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{MOST_RECORDED, Watch};
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_why::{Settings, Told};
use mmsim_workload::trace;
use rayon::prelude::*;

use mmsim_base::error::Error;
use mmsim_language::host;
use mmsim_language::machines;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::policy::PolicySpec;
use mmsim_language::scenario::{RunSpec, Scenario};
use mmsim_report::{Bounds, KnobValue, Report, RunMeta, RunReport, WhyReport, expect, opt};

/// Options of runs of scenarios.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Runs at the same time; `None`: one per CPU of the host.
    pub jobs: Option<usize>,
    /// Audit all invariants as the runs go.
    pub check: bool,
    /// Policies that scenarios may name; by default those that mmsim ships.
    pub registry: Registry,
}

impl RunOptions {
    /// Sets the number of runs at the same time.
    #[must_use]
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs);
        self
    }

    /// Sets which policies scenarios may name.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets whether invariants are audited.
    #[must_use]
    pub fn with_check(mut self, check: bool) -> Self {
        self.check = check;
        self
    }
}

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
    name: String,
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

/// Runs every variant, axis value and seed of a scenario. A run that panics is one of the
/// report, with that outcome.
///
/// # Errors
///
/// The scenario is wrong, or needs more memory than the host has.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, RunError> {
    run_with(scenario, options, &[])
}

/// The same with policies of the caller's own. Each is a variant more, behind those of the scenario:
/// the first variant with that policy in the place of its own, for every axis value and seed. So it
/// stands in tables, notes, JSON and CSV as the others do, under its name.
///
/// # Errors
///
/// As for [`run`]; or a name is that of a variant or of a policy that there is.
pub fn run_with(
    scenario: &Scenario,
    options: &RunOptions,
    own: &[OwnPolicy<'_>],
) -> Result<Report, RunError> {
    let specs = with_own(machines::specs_of(scenario, &options.registry)?, own)?;
    let watch = |_: usize, _: &machines::Machine| {
        Watch::default().with_check_every(if options.check { CHECK_EVERY } else { 0 })
    };
    host::check(&specs, options.jobs)?;
    let results = run_each_with(&specs, options.jobs, own, watch, |_| ())?;
    Ok(assembled(scenario, &results))
}

/// Runs of a scenario, and those of policies of the caller's own behind them: the first variant's
/// with that policy in the place of its own.
///
/// # Errors
///
/// A name is that of a variant, of a policy that there is, or of two policies.
pub fn with_own(mut specs: Vec<RunSpec>, own: &[OwnPolicy<'_>]) -> Result<Vec<RunSpec>, Error> {
    specs.extend(variants_of(own, &specs)?);
    Ok(specs)
}

/// The report of runs of a scenario: with its expectations, and with notes.
pub fn assembled(scenario: &Scenario, results: &[(RunMeta, RunResult)]) -> Report {
    let runs = results.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    let mut report = Report::new(scenario.name(), scenario.about(), runs);
    report.expect = expect::check(&report, None, scenario.expect());
    report.note();
    report
}

/// Runs a list of runs, `jobs` at a time; results come in the order of the list. `watch`
/// makes what watches a run, given its place and a way to ask which threads a task has.
///
/// # Errors
///
/// The input is wrong, or a run panicked. All runs are made before the error is returned.
pub fn run_all(
    specs: &[RunSpec],
    jobs: Option<usize>,
    watch: impl Fn(usize, &machines::Machine) -> Watch + Sync,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    side_by_side(specs, jobs, |i, spec| run_one(i, spec, &watch))
}

/// The same, but a run that panics has a result too: its [`Outcome`] is
/// [`Panicked`](Outcome::Panicked), and the others go on. `finished` is called from any thread
/// when the run of this place has ended, however it did.
///
/// # Errors
///
/// The input is wrong.
pub fn run_each(
    specs: &[RunSpec],
    jobs: Option<usize>,
    watch: impl Fn(usize, &machines::Machine) -> Watch + Sync,
    finished: impl Fn(usize) + Sync,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    run_each_with(specs, jobs, &[], watch, finished)
}

/// The same with policies of the caller's own: a run has that whose name its policy has.
///
/// # Errors
///
/// As for [`run_each`].
pub fn run_each_with(
    specs: &[RunSpec],
    jobs: Option<usize>,
    own: &[OwnPolicy<'_>],
    watch: impl Fn(usize, &machines::Machine) -> Watch + Sync,
    finished: impl Fn(usize) + Sync,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    let machine = |spec: &RunSpec| match own.iter().find(|p| p.name == spec.policy.preset) {
        Some(p) => machines::machine_with(spec, |mem| (p.create)(mem, spec.seed)),
        None => machines::machine(spec),
    };
    side_by_side(specs, jobs, |i, spec| {
        let result = or_panicked(spec, caught(spec, || run_here(i, spec, &machine, &watch)));
        finished(i);
        result
    })
}

/// The runs of policies of the caller's own: those of the first variant with another policy.
fn variants_of(own: &[OwnPolicy<'_>], specs: &[RunSpec]) -> Result<Vec<RunSpec>, Error> {
    let first = specs.first().map_or("", |spec| spec.variant.as_str());
    let presets = specs.first().map_or_else(Vec::new, |spec| spec.registry.presets());
    let mut all = Vec::new();
    for (nth, OwnPolicy { name, .. }) in own.iter().enumerate() {
        let what = match name {
            _ if specs.iter().any(|spec| spec.variant == *name) => "a variant of the scenario",
            _ if presets.contains(name) => "a policy that there is",
            _ if own[..nth].iter().any(|p| p.name == *name) => "that of two policies",
            _ => "",
        };
        if !what.is_empty() {
            let title = format!("the name `{name}` of a policy of one's own is {what}");
            return Err(Error::plain(title).help("write another name"));
        }
        all.extend(specs.iter().filter(|spec| spec.variant == first).map(|spec| {
            let mut spec = spec.clone();
            spec.variant = name.clone();
            spec.policy = PolicySpec { preset: name.clone(), knobs: Vec::new() };
            spec
        }));
    }
    Ok(all)
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

/// Makes something of each run, `jobs` at a time: one for each CPU if there is no number. The
/// results have the order of the runs.
///
/// # Errors
///
/// The first error of `one`, or no thread can be started.
pub fn side_by_side<S: Sync, T: Send, E: From<Error> + Send>(
    specs: &[S],
    jobs: Option<usize>,
    one: impl Fn(usize, &S) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let pool = rayon::ThreadPoolBuilder::new()
        // More threads than runs would only take their time to start.
        .num_threads(jobs.map_or(0, |n| n.min(specs.len()).max(1)))
        .build()
        .map_err(|e| Error::plain(e.to_string()))?;
    pool.install(|| {
        // One by one: a run may take as long as all others together.
        specs.par_iter().with_max_len(1).enumerate().map(|(i, s)| one(i, s)).collect()
    })
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
    watch: &(impl Fn(usize, &machines::Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    caught(spec, || run_here(i, spec, &machines::machine, watch))
}

pub(crate) fn caught<T>(
    spec: &RunSpec,
    run: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        if panic.is::<Cancelled>() {
            return Err(RunError::Cancelled);
        }
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
        let message = text.unwrap_or_else(|| "no message".into());
        Err(RunError::Invariant { run: spec.label(), message })
    })
}

fn run_here(
    i: usize,
    spec: &RunSpec,
    machine: &impl Fn(&RunSpec) -> Result<machines::Machine, Error>,
    watch: &(impl Fn(usize, &machines::Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    let mut begun = Begun::new(i, spec, machine, watch)?;
    let result = begun.machine.run(std::mem::take(&mut begun.watch));
    begun.told(spec, result)
}

/// A machine that is ready to run, and who watches it.
pub(crate) struct Begun {
    pub(crate) machine: machines::Machine,
    /// Taken when it begins.
    pub(crate) watch: Watch,
    told: Option<Told>,
    audited: bool,
}

impl Begun {
    pub(crate) fn new(
        i: usize,
        spec: &RunSpec,
        machine: &impl Fn(&RunSpec) -> Result<machines::Machine, Error>,
        watch: &(impl Fn(usize, &machines::Machine) -> Watch + Sync),
    ) -> Result<Begun, Error> {
        let mut machine = machine(spec)?;
        if spec.mean_resident {
            machine.measure_resident(LOOKS_EVERY);
        }
        let mut watch = watch(i, &machine);
        watch.record_accesses |= spec.bounds;
        let told = spec.why.then(|| {
            let (engine, told) = machines::engine(&machine, Settings::default());
            watch.follower = Some(engine);
            told
        });
        let audited = watch.check_every > 0;
        Ok(Begun { machine, watch, told, audited })
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
fn bounds(spec: &RunSpec, machine: &machines::Machine, result: &RunResult) -> Bounds {
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
