//! Runs scenarios: one machine per run, as many at a time as there are CPUs.
//!
//! A run is single-threaded and deterministic; runs share nothing, so any number of jobs
//! gives the same bytes. Observers see a run and cannot change it.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::machine::config::{DirtyLimit, MachineConfig};
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{MOST_RECORDED, Watch};
use mmsim_workload::trace;
use rayon::prelude::*;

use crate::build::{self, Catalogue, Policy};
use crate::error::Error;
use crate::host;
use crate::report::{Bounds, KnobValue, Report, RunMeta, RunReport, opt};
use crate::scenario::workload::{Script, WorkloadSpec};
use crate::scenario::{RunSpec, Scenario};

/// How scenarios are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Runs at the same time; `None`: one per CPU of the host.
    pub jobs: Option<usize>,
    /// Audit all invariants as the runs go.
    pub check: bool,
}

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The input is wrong.
    #[error("{0}")]
    Input(#[from] Error),
    /// The simulator panicked: an invariant did not hold, and the message names the ids.
    #[error("{run}: invariant broken: {message}")]
    Invariant {
        /// Which run.
        run: String,
        /// What was found.
        message: String,
    },
}

/// Steps between two audits of a checked run.
pub const CHECK_EVERY: u64 = 4096;

/// Runs every variant, axis value and seed of a scenario. A run that panics is one of the
/// report, with that outcome.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, RunError> {
    let specs = scenario.expand(&Catalogue)?;
    let watch = |_: usize, _: &build::Machine| Watch {
        check_every: if options.check { CHECK_EVERY } else { 0 },
        ..Watch::default()
    };
    host::check(&specs, options.jobs)?;
    let results = run_each(&specs, options.jobs, watch, |_| {})?;
    let runs = results.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    Ok(Report::new(scenario.name(), scenario.about(), runs))
}

/// Runs a list of runs, `jobs` at a time; results come in the order of the list. `watch`
/// makes what watches a run, given its place and a way to ask which threads a task has.
///
/// # Errors
///
/// The input is wrong, or a run panicked. All runs are made before that is said.
pub fn run_all(
    specs: &[RunSpec],
    jobs: Option<usize>,
    watch: impl Fn(usize, &build::Machine) -> Watch + Sync,
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
    watch: impl Fn(usize, &build::Machine) -> Watch + Sync,
    finished: impl Fn(usize) + Sync,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    side_by_side(specs, jobs, |i, spec| {
        let result = match run_one(i, spec, &watch) {
            Err(RunError::Invariant { message, .. }) => {
                let outcome = Outcome::Panicked(message);
                Ok((meta(spec), RunResult { outcome, ..RunResult::default() }))
            }
            result => result,
        };
        finished(i);
        result
    })
}

/// Makes something of each run, `jobs` at a time.
fn side_by_side<T: Send>(
    specs: &[RunSpec],
    jobs: Option<usize>,
    one: impl Fn(usize, &RunSpec) -> Result<T, RunError> + Sync,
) -> Result<Vec<T>, RunError> {
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

/// Makes one run on this thread. A panic is an error of the run, not an end of the program: it
/// may be an audit that failed, and its message names the ids.
pub(crate) fn run_one(
    i: usize,
    spec: &RunSpec,
    watch: &(impl Fn(usize, &build::Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    catch_unwind(AssertUnwindSafe(|| run_here(i, spec, watch))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
        let message = text.unwrap_or_else(|| "no message".into());
        Err(RunError::Invariant { run: label(spec), message })
    })
}

fn run_here(
    i: usize,
    spec: &RunSpec,
    watch: &(impl Fn(usize, &build::Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    let mut machine = build::machine(spec)?;
    let mut watch = watch(i, &machine);
    watch.record_accesses |= spec.bounds;
    let result = machine.run(watch);
    let mut meta = meta(spec);
    meta.damon = build::monitored(spec, &machine);
    for (damon, monitored) in spec.damon.iter().zip(&mut meta.damon).filter(|(d, _)| d.truth) {
        monitored.report.truth = build::truth(spec, damon, monitored)?;
    }
    if machine.recorded_accesses().len() >= MOST_RECORDED {
        meta.assumed.push(format!("bounds: none, there are more than {MOST_RECORDED} accesses"));
    } else if spec.bounds {
        meta.bounds = Some(bounds(spec, &machine, &result));
    }
    Ok((meta, result))
}

/// The optimum on the run's own sequence of page accesses.
fn bounds(spec: &RunSpec, machine: &build::Machine, result: &RunResult) -> Bounds {
    let ahead = spec.machine.swap.as_ref().is_some_and(|s| !s.device.synchronous)
        && spec.machine.vm.page_cluster > 0
        || machine.mem.files.ids().next().is_some() && spec.machine.vm.ra_pages > 0;
    opt::bounds(machine.recorded_accesses(), result.peak_resident, ahead, true)
}

/// Variant, axes and seed in a few words.
pub fn label(spec: &RunSpec) -> String {
    let axes: String = spec.axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
    format!("{}{axes}, seed {}", spec.variant, spec.seed)
}

/// Everything about a run that is known before it.
pub fn meta(spec: &RunSpec) -> RunMeta {
    let mut meta = RunMeta::of_machine(&spec.machine);
    meta.variant = spec.variant.clone();
    meta.axes = spec.axes.clone();
    meta.seed = spec.seed;
    meta.policy = spec.policy.preset.clone();
    meta.knobs = machine_knobs(&spec.machine);
    meta.setup = setup(spec);
    meta.assumed = spec.tasks.iter().flat_map(build::assumed).collect();
    if let Ok(policy) = Policy::resolve(&spec.policy) {
        meta.knobs.extend(
            policy
                .knobs()
                .into_iter()
                .map(|(k, v)| (format!("reclaim.{k}"), KnobValue::from(v.as_str()))),
        );
    }
    meta.knobs.extend(build::compaction_knobs(spec));
    meta.knobs.extend(build::damon_knobs(spec));
    meta
}

/// What a run was given that is no knob: devices, sizes and costs of its machine, then what its
/// scenario says of tasks, monitors and groups.
fn setup(spec: &RunSpec) -> Vec<(String, String)> {
    let m = &spec.machine;
    let mut all = vec![("machine.file-device".to_string(), device(&m.file_device))];
    if let Some(swap) = &m.swap {
        all.push(("machine.swap.device".into(), device(&swap.device)));
    }
    all.push(("machine.os-overhead".into(), format!("{} pages", m.os_overhead)));
    if let Some(pages) = m.lru_batch {
        all.push(("machine.lru-batch".into(), pages.to_string()));
    }
    if let Some(events) = m.stat_threshold {
        all.push(("machine.stat-threshold".into(), events.to_string()));
    }
    if let Some(rules) = m.page_alloc {
        all.push(("machine.pageblock-order".into(), rules.pageblock_order.to_string()));
    }
    let costs = m.cost.fields().into_iter();
    all.extend(costs.map(|(name, value)| (format!("machine.cost.{name}"), value.to_string())));
    all.extend(spec.given.iter().cloned());
    for (i, task) in spec.tasks.iter().enumerate() {
        if let Some((key, path)) = read_by(&task.work) {
            all.push((format!("task[{i}].{key} contents"), contents(path)));
        }
    }
    all
}

/// The file that a task reads, and the key that names it.
fn read_by(work: &WorkloadSpec) -> Option<(&'static str, &Path)> {
    match work {
        WorkloadSpec::Replay(w) => Some(("trace", &w.trace)),
        WorkloadSpec::Script(Script::File(path)) => Some(("file", path)),
        WorkloadSpec::Masim(w) => Some(("config", w.file.as_deref()?)),
        WorkloadSpec::Fragment(w) => Some(("load", &w.load.as_ref()?.0)),
        _ => None,
    }
}

/// What is in a file, so that it can be told from another: a file of the same name may have been
/// made anew.
fn contents(path: &Path) -> String {
    match File::open(path).and_then(trace::contents) {
        Ok((bytes, digest)) => format!("{bytes} bytes, digest {digest:016x}"),
        // The run itself says why.
        Err(_) => "unreadable".into(),
    }
}

/// A device in a line: what it is called says nothing where a scenario has its own.
fn device(d: &DeviceConfig) -> String {
    let mut text = format!("{}: read {}, write {}", d.name, d.read, d.write);
    text += &format!(", {} at a time", d.servers);
    if let Some(b) = d.bandwidth {
        text += &format!(", {b} B/s");
    }
    if !d.synchronous {
        text += &format!(", queue depth {}, wbt {}", d.queue_depth, d.wbt_lat);
    }
    let flags = [
        (d.synchronous, "synchronous"),
        (d.rotational, "rotational"),
        (d.write_cache, "write cache"),
    ];
    for (_, word) in flags.into_iter().filter(|f| f.0) {
        text += &format!(", {word}");
    }
    if d.stored_bytes_per_page > 0 {
        text += &format!(", {} B stored a page", d.stored_bytes_per_page);
    }
    text
}

/// A threshold of dirty pages under the name that it was set by.
fn dirty_knob([ratio, bytes]: [&'static str; 2], limit: DirtyLimit) -> (&'static str, i64) {
    match limit {
        DirtyLimit::Ratio(percent) => (ratio, percent.into()),
        DirtyLimit::Bytes(n) => (bytes, n as i64),
    }
}

/// The knobs of a machine under their kernel names.
fn machine_knobs(m: &MachineConfig) -> Vec<(String, KnobValue)> {
    let vm = &m.vm;
    let mut knobs: Vec<(String, KnobValue)> = [
        ("vm.swappiness", i64::from(vm.swappiness)),
        ("vm.page-cluster", vm.page_cluster.into()),
        ("vm.watermark_scale_factor", vm.watermark_scale_factor.into()),
        ("vm.watermark_boost_factor", vm.watermark_boost_factor.into()),
        ("vm.percpu_pagelist_high_fraction", vm.percpu_pagelist_high_fraction.into()),
        dirty_knob(["vm.dirty_background_ratio", "vm.dirty_background_bytes"], vm.dirty_background),
        dirty_knob(["vm.dirty_ratio", "vm.dirty_bytes"], vm.dirty),
        ("vm.dirty_expire_centisecs", (vm.dirty_expire.0 / 10_000_000) as i64),
        ("vm.dirty_writeback_centisecs", (vm.dirty_writeback.0 / 10_000_000) as i64),
        ("read_ahead_pages", vm.ra_pages.into()),
        ("fault_around_pages", vm.fault_around.into()),
        ("batch-shift", m.batch_shift.into()),
    ]
    .into_iter()
    .map(|(k, v)| (k.to_string(), KnobValue::from(v)))
    .collect();
    if vm.nr_hugepages > 0 {
        knobs.push(("vm.nr_hugepages".into(), KnobValue::from(i64::from(vm.nr_hugepages))));
    }
    knobs.push(("tick".into(), KnobValue::from(m.tick.to_string().as_str())));
    knobs.push(("run-ahead".into(), KnobValue::from(m.run_ahead.to_string().as_str())));
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One run of three panics: it says so in its place, and the others have what they had.
    #[test]
    fn a_panic_is_the_outcome_of_its_run() {
        let text = "name = \"x\"\nseeds = 3\n[machine]\nmemory = \"16MiB\"\n\
                    [[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
        let specs = Scenario::from_str(text, "x").unwrap().expand(&Catalogue).unwrap();
        let watch = |i: usize, _: &build::Machine| {
            assert!(i != 1, "zone7 has no frame");
            Watch::default()
        };
        let ended = std::sync::Mutex::new(Vec::new());
        let results = run_each(&specs, Some(2), watch, |i| ended.lock().unwrap().push(i)).unwrap();
        let mut ended = ended.into_inner().unwrap();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2]);
        let reports = results.into_iter().map(|(m, r)| RunReport::from_result(m, &r));
        let report = Report::new("x", "", reports.collect());
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let outcome = |i: usize| json["runs"][i]["outcome"].as_str().unwrap();
        assert_eq!([outcome(0), outcome(1), outcome(2)], ["completed", "panicked", "completed"]);
        assert_eq!(json["runs"][1]["panic"], "zone7 has no frame");
        assert_eq!((&json["runs"][1]["seed"], &json["runs"][0].get("panic")), (&2.into(), &None));
        assert!(run_all(&specs, Some(2), watch).is_err());
    }
}
