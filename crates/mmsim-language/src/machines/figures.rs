//! Check that the figures of a scenario's expectations can exist: each is looked up, before
//! anything runs, in a report of zeros that has the shape of the run's own.

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{DEFAULT_DISK, MachineConfig, NodeConfig, SwapConfig, ZoneConfig};
use mmsim_core::machine::result::{
    FileDisk, Quantiles, RecordLatency, RunResult, TaskResult, ThreadResult,
};
use mmsim_core::machine::snapshot::SwapArea;
use mmsim_core::machine::{GROUP_LIFE, GROUP_PRESSURE, GROUP_SIZES};
use mmsim_core::memory::MemcgEvents;
use mmsim_core::memory::Memory;

use super::misplaced::of_task;
use super::{Misplaced, compaction_knobs, process_name, workloads};
use crate::scenario::damon::{DamonContext, DamonSpec};
use crate::scenario::workload::{TaskSpec, WorkloadSpec};
use crate::scenario::{ChooserSpec, GAUGES, RunSpec};
use mmsim_base::error::Error;
use mmsim_report::expect::Expectation;
use mmsim_report::{
    Bounds, CacheExtReport, DaemonReport, DamonReport, DamonStatReport, RunMeta, RunReport,
    SchemeReport, TruthReport,
};

/// Asks the shape of each run for the figures of all expectations that are about it.
pub(super) fn check(expect: &[Expectation], runs: &[RunSpec]) -> Result<(), (usize, Misplaced)> {
    let mut before: Option<&RunSpec> = None;
    for (nth, run) in runs.iter().enumerate() {
        // Seeds differ in values alone.
        let same = |b: &RunSpec| (&b.variant, &b.axes) == (&run.variant, &run.axes);
        if expect.is_empty() || before.replace(run).is_some_and(same) {
            continue;
        }
        let shape = shape(run).map_err(|m| (nth, m))?;
        for (i, e) in expect.iter().enumerate() {
            for (subject, key) in [(Some(&e.of), ""), (e.than.as_ref(), ".than")] {
                let Some(subject) = subject.filter(|s| s.has(&shape)) else { continue };
                let Err((of, missing)) = subject.path.can_be_had(&shape) else { continue };
                let path = format!("expect[{i}]{key}.{of}");
                let error = Error::plain(format!("{path}: {}", missing.what));
                return Err((nth, Misplaced::new(path, error.help(missing.instead))));
            }
        }
    }
    Ok(())
}

/// The report of a run that did nothing, with all that the run's own may have.
pub(super) fn shape(run: &RunSpec) -> Result<RunReport, Misplaced> {
    let mut result = RunResult::default();
    result.gauges = GAUGES.iter().map(|&g| (g, 0)).collect();
    result.not_kept = not_kept(run)?;
    // Without a strategy it has the counts of blocks that a task requested.
    let compacts = !compaction_knobs(run).is_empty() || run.tasks.iter().any(asks_for_blocks);
    result.compaction = compacts.then(Default::default);
    let swap = |s: &SwapConfig| SwapArea::new(s.device.name.clone(), s.slots, 0);
    result.swaps = run.machine.swap.iter().map(swap).collect();
    let disk = |name: &str, d: &DeviceConfig| FileDisk::new(name, d.name.as_str());
    result.disks = vec![disk(DEFAULT_DISK, &run.machine.file_device)];
    result.disks.extend(run.machine.disks.iter().map(|d| disk(&d.name, &d.device)));
    let zones = run.machine.nodes.iter().flat_map(|node| &node.zones);
    result.zones = zones.map(|_| (String::new(), [0; 5])).collect();
    result.mean_resident = run.mean_resident.then_some(0.0);
    let counters = VmEvent::of_groups().map(VmEvent::name);
    let events = MemcgEvents::default();
    let events = events.named(false).map(|(name, _)| name);
    let names = GROUP_SIZES.into_iter().chain(GROUP_PRESSURE).chain(events).chain(counters);
    let sizes: Vec<_> = names.map(|name| (name, 0)).collect();
    for group in &run.machine.memcgs {
        let mut all = sizes.clone();
        if group.until.is_some() {
            all.extend(GROUP_LIFE.map(|name| (name, 0)));
        }
        result.memory_stat.push((group.name.clone(), all));
    }
    let mut phases = Vec::new();
    for (i, task) in run.tasks.iter().enumerate() {
        let at = |error| of_task(run, i, error);
        let n = workloads::processes(task).map_err(at)?;
        if n == 0 {
            continue;
        }
        // Processes of a task are alike.
        let threads = workloads::threads(task, run.seed, 0).map_err(at)?;
        let record = threads.iter().find_map(|w| w.record());
        for name in (0..n).map(|p| process_name(task, p, n)) {
            for (t, work) in threads.iter().enumerate() {
                let many = threads.len() > 1;
                let thread = if many { format!("{name}/{t}") } else { name.clone() };
                result.aims.extend(work.aim().map(|aim| (thread.clone(), aim)));
                result.replayed.extend(work.replayed().map(|r| (thread.clone(), r)));
                result.threads.push(ThreadResult::new(thread));
            }
            let own = threads.first().map_or_else(Vec::new, |w| w.phases());
            phases.extend(own.into_iter().map(|phase| (result.tasks.len(), phase)));
            let mut task = TaskResult::new(name);
            task.record = record.map(|what| RecordLatency::new(what, Quantiles::default()));
            result.tasks.push(task);
        }
    }
    let mut meta = RunMeta::of_machine(&run.machine);
    meta.variant.clone_from(&run.variant);
    meta.axes.clone_from(&run.axes);
    meta.bounds = run.bounds.then(|| Bounds::new(0, 0, true));
    let mut report = RunReport::from_result(meta, &result);
    report.damon = run.damon.iter().map(monitor).collect();
    report.daemons = run.daemons.iter().map(|_| daemon()).collect();
    let group = |c: &ChooserSpec| CacheExtReport::idle(&c.options.group);
    report.cache_ext = run.choosers.iter().map(group).collect();
    let several = phases.windows(2).any(|p| p[0].0 != p[1].0);
    for (task, phase) in phases {
        let of = &report.tasks[task];
        let name = if several { format!("{}/{phase}", of.name) } else { phase };
        report.phases.push(report.empty_phase(name, of.clone()));
    }
    Ok(report)
}

/// True if a task may request a block of more than one page.
fn asks_for_blocks(task: &TaskSpec) -> bool {
    use WorkloadSpec::{Build, Fragment, HighAlloc, KernelAlloc, Script};
    matches!(task.work, Build(_) | Fragment(_) | HighAlloc(_) | KernelAlloc(_) | Script(_))
}

/// Counters that the policy of a run does not keep, found on a small machine.
fn not_kept(run: &RunSpec) -> Result<Vec<VmEvent>, Misplaced> {
    let policy = run.registry.policy(&run.policy);
    let policy = policy.map_err(|e| Misplaced::new("reclaim", Error::plain(e.message)))?;
    let zone = ZoneConfig::new(mmsim_core::config::ZoneKind::Normal, 4096);
    let small = MachineConfig {
        nodes: vec![NodeConfig { zones: vec![zone] }],
        swap: Vec::new(),
        memcgs: Vec::new(),
        os_overhead: 0,
        ..run.machine.clone()
    };
    let policy = policy(&mut Memory::new(&small), run.seed);
    let keeps = policy.traits().keeps;
    Ok(VmEvent::ALL.iter().copied().filter(|&e| !keeps(e)).collect())
}

/// The report of a daemon that acted.
fn daemon() -> DaemonReport {
    let mut report = DaemonReport::default();
    report.first_act_ns = Some(0);
    report
}

fn monitor(spec: &DamonSpec) -> DamonReport {
    let schemes = match &spec.what {
        DamonContext::Reclaim(_) => 1,
        DamonContext::LruSort(_) => 2,
        DamonContext::Stat => 0,
        DamonContext::Own { schemes, .. } => schemes.len(),
    };
    let mut report = DamonReport::default();
    report.schemes = vec![SchemeReport::default(); schemes];
    report.truth = spec.truth.then(TruthReport::default);
    report.stat = (spec.what == DamonContext::Stat).then(DamonStatReport::default);
    report.name.clone_from(&spec.name);
    report
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::machines::specs;

    const SCENARIO: &str = "[machine]\nmemory = \"16MiB\"\nswap = { size = \"64MiB\" }\n\
        memcg = [{ name = \"batch\" }]\n\
        [[task]]\nname = \"work\"\nworkload = \"ebizzy\"\nmemory = \"1MiB\"\nthreads = 2\n\
        records = 10\nmemcg = \"batch\"\n\
        [[variant]]\nname = \"lru\"\n[[variant]]\nname = \"blind\"\n\
        reclaim = { preset = \"random\" }\n";

    /// The error of an expectation on the scenario, with its place: none if it can be checked.
    fn refused(expect: &str) -> Option<(String, usize, usize)> {
        let text = format!("{SCENARIO}[[expect]]\nabove = 1\n{expect}\n");
        let scenario = Scenario::from_str(&text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
        let e = specs(&scenario).err()?;
        let (_, line, column) = e.position().expect("a place");
        Some((e.to_string(), line, column))
    }

    #[test]
    fn figures_that_cannot_exist_are_refused_before_anything_runs() {
        for (expect, message) in [
            (
                "figure = \"damon[0].samples\"",
                "expect[0].figure: there is no `damon[0].samples`\nthere is no monitor: write `[[damon]]`",
            ),
            (
                "figure = \"bounds.sim_opt_refetches\"",
                "there is no `bounds.sim_opt_refetches`\nit is computed where a scenario says `bounds = true`",
            ),
            (
                "figure = \"compaction.attempts\"",
                "there is no `compaction.attempts`\nnothing compacts: write `compaction = { preset = \"..\" }`",
            ),
            (
                "figure = \"memory_stat.bach.pgfault\"",
                "there is no figure `memory_stat.bach.pgfault`, did you mean `memory_stat.batch.pgfault`?\nmemory_stat has batch",
            ),
            (
                "figure = \"memory_stat.batch.pgfalt\"",
                "`memory_stat.batch.pgfalt`, did you mean `memory_stat.batch.pgfault`?\nmemory_stat.batch has memory.current, ",
            ),
            (
                "figure = \"pswpin + tasks[1].records\"",
                "there is no `tasks[1].records`\ntasks has one entry, `tasks[0]`",
            ),
            ("figure = \"threads[2].records\"", "threads has 2 entries"),
            (
                "figure = \"latency.major_fault\"",
                "`latency.major_fault` is no number\nit has count,",
            ),
            ("figure = \"tasks[0].name\"", "`tasks[0].name` is no number"),
            (
                "figure = \"workingset_refault_anon\"",
                "the policy does not count workingset_refault_anon",
            ),
            (
                "figure = \"pswpin\"\nthan = { figure = \"damon[0].samples\" }",
                "expect[0].than.figure: there is no `damon[0].samples`",
            ),
        ] {
            let (said, line, column) = refused(expect).unwrap_or_else(|| panic!("{expect}: taken"));
            // The second line of a message is its help.
            for part in message.split('\n') {
                assert!(said.contains(part), "{expect}:\n{said}");
            }
            let at = if expect.contains("than") { (20, 19) } else { (19, 10) };
            assert_eq!((line, column), at, "{expect}:\n{said}");
        }
        let (said, line, column) =
            refused("figure = \"pswpin\"\nphase = \"acess\"").expect("there is no such phase");
        assert!(
            said.contains("expect[0].phase: there is no phase `acess`, did you mean `access`?")
        );
        assert_eq!((line, column), (20, 9), "{said}");
    }

    #[test]
    fn figures_that_may_exist_are_taken() {
        for expect in [
            "figure = \"tasks[0].record.latency.p99_ns + threads[1].records\"",
            "figure = \"memory_stat.batch.memory.current\"\nvariant = \"blind\"",
            "figure = \"workingset_refault_anon\"\nvariant = \"lru\"",
            "figure = \"latency.major_fault.p99_ns\"\nphase = \"access\"",
            "figure = \"completed\"",
            "figure = \"throughput.records_per_s\"\nthan = { variant = \"lru\" }",
        ] {
            assert_eq!(refused(expect), None, "{expect}");
        }
    }
}
