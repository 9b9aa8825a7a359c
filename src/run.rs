//! Runs scenarios: one machine per run, as many at a time as there are CPUs.
//!
//! A run is single-threaded and deterministic; runs share nothing, so any number of jobs
//! gives the same bytes. Observers see a run and cannot change it.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::machine::Watch;
use mmsim_core::machine::config::MachineConfig;
use mmsim_core::machine::result::RunResult;
use mmsim_workload::trace;
use rayon::prelude::*;

use crate::build::{self, Catalogue, Policy};
use crate::error::Error;
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
    /// An invariant did not hold; the message names the ids.
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

/// Runs every variant, axis value and seed of a scenario.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, RunError> {
    let specs = scenario.expand(&Catalogue)?;
    let results = run_all(&specs, options.jobs, |_, _| Watch {
        check_every: if options.check { CHECK_EVERY } else { 0 },
        ..Watch::default()
    })?;
    let runs = results.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    Ok(Report::new(scenario.name(), scenario.about(), runs))
}

/// Runs a list of runs, `jobs` at a time; results come in the order of the list. `watch`
/// makes what watches a run, given its place and a way to ask which threads a task has.
pub fn run_all(
    specs: &[RunSpec],
    jobs: Option<usize>,
    watch: impl Fn(usize, &build::Machine) -> Watch + Sync,
) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
    let pool = rayon::ThreadPoolBuilder::new()
        // More threads than runs would only take their time to start.
        .num_threads(jobs.map_or(0, |n| n.min(specs.len()).max(1)))
        .build()
        .map_err(|e| Error::plain(e.to_string()))?;
    pool.install(|| {
        // One by one: a run may take as long as all others together.
        specs.par_iter().with_max_len(1).enumerate().map(|(i, s)| run_one(i, s, &watch)).collect()
    })
}

/// Makes one run on this thread.
pub(crate) fn run_one(
    i: usize,
    spec: &RunSpec,
    watch: &(impl Fn(usize, &build::Machine) -> Watch + Sync),
) -> Result<(RunMeta, RunResult), RunError> {
    let mut machine = build::machine(spec)?;
    let mut watch = watch(i, &machine);
    watch.record_accesses |= spec.bounds;
    let checked = watch.check_every > 0;
    // An audit that fails panics and names the ids; it is a result of the run, not an end
    // of the program.
    let result = if checked {
        catch_unwind(AssertUnwindSafe(|| machine.run(watch))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
            RunError::Invariant {
                run: label(spec),
                message: text.unwrap_or_else(|| "no message".into()),
            }
        })?
    } else {
        machine.run(watch)
    };
    let mut meta = meta(spec);
    meta.damon = build::monitored(spec, &machine);
    for (damon, monitored) in spec.damon.iter().zip(&mut meta.damon).filter(|(d, _)| d.truth) {
        monitored.report.truth = build::truth(spec, damon, monitored)?;
    }
    if spec.bounds {
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

/// The knobs of a machine under their kernel names.
fn machine_knobs(m: &MachineConfig) -> Vec<(String, KnobValue)> {
    let vm = &m.vm;
    let mut knobs: Vec<(String, KnobValue)> = [
        ("vm.swappiness", i64::from(vm.swappiness)),
        ("vm.page-cluster", vm.page_cluster.into()),
        ("vm.watermark_scale_factor", vm.watermark_scale_factor.into()),
        ("vm.watermark_boost_factor", vm.watermark_boost_factor.into()),
        ("vm.percpu_pagelist_high_fraction", vm.percpu_pagelist_high_fraction.into()),
        ("vm.dirty_background_ratio", vm.dirty_background_ratio.into()),
        ("vm.dirty_ratio", vm.dirty_ratio.into()),
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
