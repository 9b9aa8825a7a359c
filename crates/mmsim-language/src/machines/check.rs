//! Checks beyond single keys: files have the right contents, memory is enough, a monitor has its
//! process. They come before the first run, and with `--dry-run`, so that a scenario that cannot
//! run is an error at its place.

use std::collections::BTreeMap;

use mmsim_core::base::id::{AsId, DiskId, Idx as _};
use mmsim_core::config::DEFAULT_DISK;
use mmsim_core::workload::{FileSpec, MOST_PAGES, Op};
use mmsim_workload::work::Pages;

use super::misplaced::{Misplaced, of_task};
use super::{
    Catalogue, Registry, build, choosers, compressed, damon, figures, managed_pages, workloads,
};
use crate::scenario::policy::NO_COMPACTION;
use crate::scenario::workload::{MOST_PROCESSES, TaskSpec, WorkloadSpec};
use crate::scenario::{RunSpec, Scenario};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_report::expect::Expectation;

/// All runs of a scenario, of which each can be built.
///
/// # Errors
/// The scenario does not fit the policies that there are, or one of its runs cannot be built.
pub fn specs(scenario: &Scenario) -> Result<Vec<RunSpec>, Error> {
    specs_of(scenario, &Catalogue)
}

/// The same of a scenario that may name policies from elsewhere, which are in `registry`.
///
/// # Errors
/// As for [`specs`].
pub fn specs_of(scenario: &Scenario, registry: &Registry) -> Result<Vec<RunSpec>, Error> {
    let runs = scenario.expand(registry)?;
    let mut asked: Option<&RunSpec> = None;
    for run in &runs {
        needs_its_lists(run).map_err(|m| scenario.placed(run, &m.path, m.error))?;
        // Seeds and LRUs change none of the answers.
        let same = |a: &RunSpec| {
            (&a.machine, &a.tasks, (&a.damon, &a.daemons), &a.compaction, &a.choosers)
                == (
                    &run.machine,
                    &run.tasks,
                    (&run.damon, &run.daemons),
                    &run.compaction,
                    &run.choosers,
                )
        };
        if !asked.is_some_and(same) {
            check(run).map_err(|m| scenario.placed(run, &m.path, m.error))?;
            asked = Some(run);
        }
    }
    figures::check(scenario.expect(), &runs)
        .map_err(|(nth, m)| scenario.placed(&runs[nth], &m.path, m.error))?;
    Ok(runs)
}

/// A run of a scenario with settings on top of all that it, its variant and its axes say; `option`
/// gave them.
///
/// # Errors
/// There is no such key, or the run cannot have this value.
pub fn spec_above(
    scenario: &Scenario,
    run: &RunSpec,
    option: &str,
    sets: &[(String, String)],
) -> Result<RunSpec, Error> {
    scenario.above(run, option, sets, sound)
}

/// Checks that a run can have the figures of its expectations; the error has the path of the wrong
/// key.
pub fn askable(expect: &[Expectation], run: &RunSpec) -> Result<(), (String, Error)> {
    figures::check(expect, std::slice::from_ref(run)).map_err(|(_, m)| (m.path, m.error))
}

/// The report of a run that did nothing, with all that the run's own may have; else the path of the
/// key that is wrong, and what is.
pub fn shape(run: &RunSpec) -> Result<mmsim_report::RunReport, (String, Error)> {
    figures::shape(run).map_err(|m| (m.path, m.error))
}

/// Checks that a run can be built; the error has the path of the wrong key.
pub fn sound(run: &RunSpec) -> Result<(), (String, Error)> {
    needs_its_lists(run).and_then(|()| check(run)).map_err(|m| (m.path, m.error))
}

/// Sysctls that no kernel has, and that need lists of the classic LRU.
fn needs_its_lists(run: &RunSpec) -> Result<(), Misplaced> {
    needs_own_list(run)?;
    choosers::check(run)?;
    let vm = &run.machine.vm;
    let refuse = |key: &str, what: &str, help: &str| {
        let error = Error::new(ErrorKind::Scenario, what).help(help);
        Err(Misplaced::new(format!("machine.vm.{key}"), error))
    };
    let pool = |op: &Op| matches!(op, Op::Sysctl(w) if w.name().starts_with("easy_pool"));
    if let Some(i) = run.tasks.iter().position(|task| task.work.makes(pool)) {
        let what = "the pool of easily reclaimed memory cannot change while a machine runs";
        let error = Error::new(ErrorKind::Scenario, what).help("write it in `[machine.vm]`");
        return Err(of_task(run, i, error));
    }
    if vm.has_easy_pool() && !run.policy.preset.starts_with("classic-") {
        let what = "only the classic LRU keeps a pool of easily reclaimed memory";
        return refuse("easy_pool_low", what, "name a preset of `classic-`, or leave it out");
    }
    match (vm.easy_pool_low, vm.easy_pool_high) {
        (None | Some(0), Some(_)) => {
            let what = "there is no pool without `easy_pool_low`";
            refuse("easy_pool_high", what, "write `easy_pool_low` too, or leave it out")
        }
        (Some(low), Some(high)) if high < low => {
            let what = format!("easy_pool_low {low} exceeds easy_pool_high {high}");
            refuse("easy_pool_high", &what, "write easy_pool_low <= easy_pool_high")
        }
        _ => Ok(()),
    }
}

/// `vm.lazyfreeness` has nothing to say where lazily freed memory has no list of its own.
fn needs_own_list(run: &RunSpec) -> Result<(), Misplaced> {
    let last = run.policy.knobs.iter().rfind(|knob| knob.key == "lazyfree");
    if last.is_some_and(|knob| knob.value.to_string().starts_with("own-list")) {
        return Ok(());
    }
    let error = || {
        let what = "no kernel has `vm.lazyfreeness`, so it does nothing here";
        let help = "write `reclaim = { preset = \"classic-v5.5\", lazyfree = \"own-list-2015a\" }`, or leave it out";
        Error::new(ErrorKind::Scenario, what).help(help)
    };
    if run.machine.vm.lazyfreeness.is_some() {
        return Err(Misplaced::new("machine.vm.lazyfreeness", error()));
    }
    if let Some(g) = run.machine.memcgs.iter().find(|g| g.lazyfreeness.is_some()) {
        let at = format!("machine.memcg[{}].lazyfreeness", g.entry);
        return Err(Misplaced::new(at, error()));
    }
    let writes = |op: &Op| matches!(op, Op::Sysctl(write) if write.name() == "lazyfreeness");
    match run.tasks.iter().position(|task| task.work.makes(writes)) {
        Some(i) => Err(of_task(run, i, error())),
        None => Ok(()),
    }
}

fn check(run: &RunSpec) -> Result<(), Misplaced> {
    numbered(run)?;
    compressed::check(run)?;
    let loads = |t: &TaskSpec| matches!(&t.work, WorkloadSpec::Fragment(w) if w.load.is_some());
    // Only a built machine tells how much is free, whether a layout fits and whether a module loads.
    let pool = run.machine.vm.nr_hugepages > 0;
    if pool || run.tasks.iter().any(loads) || super::has_code(run) {
        let policy = run.registry.policy(&run.policy);
        let policy = policy.map_err(|e| Misplaced::new("reclaim", Error::plain(e.message)))?;
        return build(run, &workloads::threads, |mem| policy(mem, run.seed)).map(drop);
    }
    let mut names = Vec::new();
    let (mut needed, mut disks) = (0, Disks::of(run));
    for (i, task) in run.tasks.iter().enumerate() {
        let at = |error| of_task(run, i, error);
        workloads::check_monitor(task, !run.damon.is_empty()).map_err(at)?;
        workloads::check_kernel(task, run.machine.kernel).map_err(at)?;
        if run.compaction.preset == NO_COMPACTION && task.work.makes(|op| *op == Op::CompactMemory)
        {
            let what = "compact_memory does nothing without compaction";
            let remedy = "name a preset of `compaction`, or leave it out";
            return Err(at(Error::plain(format!("task `{}`: {what}; {remedy}", task.name))));
        }
        let n = workloads::processes(task).map_err(at)?;
        count(task, names.len() as u64 + u64::from(n)).map_err(at)?;
        names.extend((0..n).map(|p| super::process_name(task, p, n)));
        // The others take whatever their keys say, and run in any memory.
        let asked = task.work.has_to_be_made();
        if (asked || !run.machine.disks.is_empty()) && n > 0 {
            let threads = workloads::threads(task, run.seed, 0).map_err(at)?;
            disks.add(task, threads.iter().flat_map(|w| w.files()).collect()).map_err(at)?;
            needed = threads.iter().map(|w| w.minimum_pages()).max().unwrap_or(0).max(needed);
        }
    }
    super::check_size(&run.machine, needed)?;
    let ram = 0..managed_pages(&run.machine) * mmsim_core::base::id::PAGE_SIZE;
    let process = |name: &str| {
        let found = names.iter().position(|n| n == name);
        found
            .map(|i| AsId(u16::try_from(i).unwrap_or(u16::MAX)))
            .ok_or_else(|| damon::no_process(name, &names))
    };
    damon::kdamonds(run, &ram, &process).map(drop)
}

/// All pages of mappings and files have a number.
fn numbered(run: &RunSpec) -> Result<(), Misplaced> {
    let mut pages = Pages::default();
    for (i, task) in run.tasks.iter().enumerate() {
        pages.add(&*task.work, task.processes, run.seed);
        let all = pages.all();
        if all > MOST_PAGES.into() {
            let what = format!("with it there are {all} pages of tasks");
            let title = format!("task `{}`: {what}, more than a machine can number", task.name);
            let error = Error::new(ErrorKind::Scenario, title);
            let help = "make mappings and files 16383GiB together at most";
            return Err(of_task(run, i, error.help(help)));
        }
    }
    Ok(())
}

/// The disks of all files so far: a file lies on one.
pub(super) struct Disks<'a> {
    run: &'a RunSpec,
    /// By file, with the task that came first.
    of: BTreeMap<String, (DiskId, &'a str)>,
}

impl<'a> Disks<'a> {
    pub(super) fn of(run: &'a RunSpec) -> Self {
        Disks { run, of: BTreeMap::new() }
    }

    fn name(&self, disk: DiskId) -> &str {
        match disk.index() {
            0 => DEFAULT_DISK,
            i => &self.run.machine.disks[i - 1].name,
        }
    }

    /// Adds the files of a process of a task.
    pub(super) fn add(&mut self, task: &'a TaskSpec, files: Vec<FileSpec>) -> Result<(), Error> {
        if self.run.machine.disks.is_empty() {
            return Ok(());
        }
        if files.is_empty() && task.disks.all != DiskId(0) {
            let what = "has no file that could lie on it; leave `disk` out";
            let error = format!(
                "task `{}`: disk: found \"{}\", and the task {what}",
                task.name,
                self.name(task.disks.all)
            );
            return Err(Error::plain(error).about("disk"));
        }
        for file in files {
            let disk = task.disks.of(&file.name);
            let &mut (before, first) =
                self.of.entry(file.name.clone()).or_insert((disk, &task.name));
            if before != disk {
                let [a, b] = [before, disk].map(|d| self.name(d));
                let what = format!(
                    "file `{}` lies on disk \"{a}\" in task `{first}` and on \"{b}\" here",
                    file.name
                );
                let error = format!("task `{}`: {what}; name the same disk in both", task.name);
                return Err(Error::plain(error).about("disk"));
            }
        }
        Ok(())
    }
}

/// There are no more processes than have a number: `all`, with those of `task`.
pub(super) fn count(task: &TaskSpec, all: u64) -> Result<(), Error> {
    if all > MOST_PROCESSES {
        return Err(Error::plain(format!(
            "task `{}`: with it there are {all} processes; at most {MOST_PROCESSES} of all tasks \
             have a number",
            task.name
        )));
    }
    Ok(())
}
