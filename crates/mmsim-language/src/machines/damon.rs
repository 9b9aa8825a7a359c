//! The monitors that a run asks for, by their presets and knobs.

use std::ops::Range;
use std::sync::Arc;

use mmsim_core::base::id::{AsId, KdamondId};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::Settings;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::Memory;
use mmsim_damon::damos::scheme::Scheme;
use mmsim_damon::modules::{DamonStat, LruSort, Module, Reclaim};
use mmsim_damon::ranges::set_regions;
use mmsim_damon::truth::{Oracle, TruthMap};
use mmsim_damon::{Context, DamonConfig, DamonError, Kdamond, OpsId, Target, Watch};

use super::Machine;
use super::misplaced::Misplaced;
use crate::registry::{resolve, values};
use crate::scenario::{DamonContext, DamonSpec, RunSpec};
use mmsim_base::error::Error;
use mmsim_report::{DamonReport, DamonStatReport, KnobValue, Monitored, SchemeReport, TruthReport};

const PAGE: u64 = 4096;

/// Puts the monitors of a run on its machine.
pub(super) fn attach(run: &RunSpec, machine: &mut Machine) -> Result<(), Misplaced> {
    let all = kdamonds(run, &ram(&machine.mem), &|name| process(&machine.mem, name))?;
    for (spec, kdamond) in run.damon.iter().zip(all) {
        machine.add_monitor(Some(SimTime(spec.start.0)), Box::new(kdamond));
    }
    Ok(())
}

/// The monitors of a run, on memory with these addresses and processes.
pub(super) fn kdamonds(
    run: &RunSpec,
    ram: &Range<u64>,
    process: &dyn Fn(&str) -> Result<AsId, Refused>,
) -> Result<Vec<Kdamond>, Misplaced> {
    let of = |(i, spec): (usize, &DamonSpec)| {
        let wrong = |(key, what): Refused| {
            let path = format!("damon[{i}].{key}");
            Misplaced::new(&path, Error::plain(format!("{path}: {what}")))
        };
        let config =
            resolve(&spec.rules).map_err(|e| wrong((format!("rules.{}", e.key), e.message)))?;
        kdamond(spec, config, run.seed, ram, process).map_err(wrong)
    };
    run.damon.iter().enumerate().map(of).collect()
}

/// All frames as one range of addresses: the largest range of memory.
fn ram(mem: &Memory) -> Range<u64> {
    0..mem.zones.nr_frames() as u64 * PAGE
}

/// The key that is wrong, and why.
pub(super) type Refused = (String, String);

fn kdamond(
    spec: &DamonSpec,
    config: DamonConfig,
    seed: u64,
    ram: &Range<u64>,
    process: &dyn Fn(&str) -> Result<AsId, Refused>,
) -> Result<Kdamond, Refused> {
    let rng = |purpose: &str| Rng::for_purpose(seed, &format!("damon/{}/{purpose}", spec.name));
    let split = rng("split");
    let of = |key: &'static str| move |e: DamonError| (key.to_string(), e.to_string());
    let (ops, context) = match &spec.what {
        DamonContext::Reclaim(m) => {
            let context = m.context(config, Some(ram.clone()), split);
            (OpsId::Paddr, context.map_err(|e| of_parameters(m, &Reclaim::DEFAULT, &e))?)
        }
        DamonContext::LruSort(m) => {
            let context = m.context(config, Some(ram.clone()), split);
            (OpsId::Paddr, context.map_err(|e| of_parameters(m, &LruSort::DEFAULT, &e))?)
        }
        DamonContext::Stat => (
            OpsId::Paddr,
            DamonStat.context(config, Some(ram.clone()), split).map_err(of("module"))?,
        ),
        DamonContext::Own { ops, task, ranges, attrs, schemes } => {
            let mut context = Context::new(config, split);
            context.set_attrs(*attrs).map_err(of("aggr"))?;
            let space = task.as_deref().map(process).transpose()?;
            let mut target = Target::new(space);
            let mut all: Vec<Range<u64>> = ranges.iter().map(|&(a, b)| a..b).collect();
            if all.is_empty() && *ops == OpsId::Paddr {
                all.push(ram.clone());
            }
            if !all.is_empty() {
                set_regions(&mut target, &all, attrs.min_region).map_err(of("region"))?;
            }
            context.set_targets(vec![target]).map_err(of("region"))?;
            context.set_schemes(schemes.clone()).map_err(of("scheme"))?;
            (*ops, context)
        }
    };
    let watch = Watch::new(spec.record);
    let watch = if spec.what == DamonContext::Stat { watch.telling() } else { watch };
    Ok(Kdamond::new(context, ops, rng("sample"), watch).pausing(spec.pauses.clone()))
}

/// Pairs of parameters of which the first may not exceed the second.
const ORDERED: [[&str; 2]; 3] = [
    ["monitor_region_start", "monitor_region_end"],
    ["min_nr_regions", "max_nr_regions"],
    ["sample_interval", "aggr_interval"],
];

/// The error of parameters that a module refuses, at the one that was given.
fn of_parameters<M: Settings>(module: &M, default: &M, e: &DamonError) -> Refused {
    let number = |of: &M, name: &str| M::row(name).and_then(|row| of.number(row));
    let falls = |pair: &&[&str; 2]| number(module, pair[0]) > number(module, pair[1]);
    let Some([low, high]) = ORDERED.iter().find(falls) else {
        return ("parameters".to_string(), e.to_string());
    };
    let given = |name: &&&str| number(module, name) != number(default, name);
    let key = [high, low].into_iter().find(given).unwrap_or(high);
    let [least, most] = [low, high].map(|name| number(module, name).unwrap_or_default());
    let what = format!("{low} {least} exceeds {high} {most}, write {low} <= {high}");
    (format!("parameters.{key}"), what)
}

fn process(mem: &Memory, name: &str) -> Result<AsId, Refused> {
    let found = mem.virt.spaces.ids().find(|&a| mem.virt.spaces[a].name == name);
    found.ok_or_else(|| {
        let names: Vec<String> =
            mem.virt.spaces.ids().map(|a| mem.virt.spaces[a].name.clone()).collect();
        no_process(name, &names)
    })
}

/// A monitor is to watch a process that there is not.
pub(super) fn no_process(name: &str, names: &[String]) -> Refused {
    ("task".to_string(), format!("there is no process `{name}`; write one of {}", names.join(", ")))
}

/// Statements of a report about the monitors of a run.
pub fn damon_knobs(run: &RunSpec) -> Vec<(String, KnobValue)> {
    let mut all = Vec::new();
    for spec in &run.damon {
        let Ok(config) = resolve::<DamonConfig>(&spec.rules) else { continue };
        all.push((format!("{}.rules", spec.name), KnobValue::from(spec.rules.preset.as_str())));
        for (knob, value) in values(&config) {
            all.push((format!("{}.{knob}", spec.name), KnobValue::from(value.as_str())));
        }
    }
    all
}

/// The monitor of a number, as it is now.
///
/// # Panics
///
/// If the monitor is of a user's own type.
pub fn kdamond_of(machine: &Machine, id: KdamondId) -> &Kdamond {
    let monitor: &dyn std::any::Any = machine.monitor(id).0;
    monitor.downcast_ref().expect("scenarios and recordings have no other monitors")
}

/// Results of the monitors of a run, in the order of the scenario.
pub fn monitored(run: &RunSpec, machine: &Machine) -> Vec<Monitored> {
    let of = |(spec, id): (&DamonSpec, KdamondId)| {
        let k = kdamond_of(machine, id);
        let context = k.context();
        let scheme = |s: &Scheme| {
            let stat = s.stat();
            let mut report = SchemeReport::default();
            report.action = s.action.name().into();
            (report.nr_tried, report.sz_tried) = (stat.nr_tried, stat.sz_tried);
            (report.nr_applied, report.sz_applied) = (stat.nr_applied, stat.sz_applied);
            report.qt_exceeds = stat.qt_exceeds;
            report.nr_snapshots = context.config().count_snapshots.then_some(stat.nr_snapshots);
            report
        };
        let mut report = DamonReport::default();
        report.name.clone_from(&spec.name);
        report.ops = k.ops().name().into();
        report.cpu_ns = machine.monitor(id).1.0;
        report.samples = context.passed_samples();
        report.nr_regions = context.targets().iter().map(|t| t.regions().len() as u64).sum();
        report.schemes = context.schemes().iter().map(scheme).collect();
        report.stat = k.watch().told().map(|t| {
            let mut stat = DamonStatReport::default();
            stat.estimated_memory_bandwidth = t.bandwidth;
            stat.memory_idle_ms_percentiles = t.idle_ms.to_vec();
            stat.aggr_interval_us = t.aggr_us;
            stat
        });
        report.record_full_ns = k.watch().full().map(|at| at.0);
        let mut monitored = Monitored::new(report, *context.attrs(), *context.config());
        monitored.record = Arc::clone(k.watch().record());
        monitored.applied = Arc::clone(k.watch().applied());
        monitored
    };
    run.damon.iter().zip(machine.monitors()).map(of).collect()
}

/// Runs the work of a run again, without its monitors, and holds what one of them recorded against
/// the truth. None: there is no record, or of no process.
///
/// # Errors
/// The machine cannot be built, which it could be before.
pub fn truth(
    run: &RunSpec,
    spec: &DamonSpec,
    recorded: &Monitored,
) -> Result<Option<(TruthReport, TruthMap)>, Error> {
    let DamonContext::Own { task: Some(task), .. } = &spec.what else { return Ok(None) };
    if recorded.record.is_empty() {
        return Ok(None);
    }
    let mut machine = super::machine(&RunSpec { damon: Vec::new(), ..run.clone() })?;
    let space =
        process(&machine.mem, task).map_err(|(key, e)| Error::plain(format!("{key}: {e}")))?;
    let (sample, window) = (recorded.attrs.sample_us, recorded.attrs.window());
    let oracle = Oracle::new(space, SimDuration::from_micros(sample), window, &recorded.record);
    let id = machine.add_monitor(Some(SimTime(spec.start.0)), Box::new(oracle));
    machine.run(mmsim_core::machine::Watch::default());
    let monitor: &dyn std::any::Any = machine.monitor(id).0;
    let oracle = monitor.downcast_ref::<Oracle>().expect("it was put there");
    let t = oracle.truth();
    let (pages, snapshots) = (t.pages.max(1) as f64, t.snapshots.max(1) as f64);
    let bytes = |pages: u64| pages as f64 * PAGE as f64 / snapshots;
    let mut report = TruthReport::default();
    report.snapshots = t.snapshots;
    (report.misjudged, report.overrated) = (t.misjudged / pages, t.overrated / pages);
    report.working_set = bytes(t.working_set.0);
    report.working_set_said = bytes(t.working_set.1);
    report.working_set_wrong = bytes(t.working_set_wrong);
    report.smallest_hot = t.smallest_hot * PAGE;
    Ok(Some((report, oracle.map().clone())))
}
