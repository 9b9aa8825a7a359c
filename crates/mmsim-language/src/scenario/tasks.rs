//! From `[[task]]` to what tasks do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::MachineConfig;
use mmsim_core::machine::DisksOfFiles;
use mmsim_workload::generators::{End, FragmentTask, MemoryKind};

use super::fields::{TaskCx, disk_of};
use super::groups::instances;
use super::pods::Pods;
use super::raw::Node;
use super::read::Reader;
use super::tables::{TASK_TABLES, WORKLOADS, contents, disks_of_regions};
use super::workload::{MOST_PROCESSES, TaskSpec, WorkloadSpec};
use mmsim_base::error::Error;

/// Reads all tasks of a machine. `dir` is the scenario's folder.
pub(super) fn tasks(
    root: &Reader<'_>,
    machine: &MachineConfig,
    pods: Option<&Pods>,
    dir: &Path,
) -> Result<Vec<TaskSpec>, Error> {
    let list = root.list("task")?;
    if list.is_empty() {
        return match root.find("task") {
            Some(_) => Err(root.error("task", "no task at all", "at least one [[task]]")),
            None => Err(root.sources.error(
                root.at,
                "there is no task, so nothing would run",
                "add a [[task]] with `workload`",
            )),
        };
    }
    let mut tasks: Vec<TaskSpec> = Vec::new();
    let mut names = Names::of(list);
    for (i, node) in list.iter().enumerate() {
        let path = format!("task[{i}]");
        let r = Reader::open_by(root.sources, node, &TASK_TABLES, &path)?;
        let workload = &WORKLOADS[r.position("workload")?];
        let given = r.opt_name("name")?;
        let name = match given {
            Some(n) if names.taken.contains(n) => {
                return Err(r.error("name", format!("\"{n}\" names two tasks"), "another name"));
            }
            Some(n) => n.to_string(),
            None => names.free(workload.name),
        };
        names.taken.insert(name.clone());
        let cx = TaskCx { name: &name, threads: r.get("threads")?, machine, dir };
        let work = (workload.read)(&r, &cx)?;
        let threads = threads(&r, &work, cx.threads)?;
        let loads = |w: &WorkloadSpec| matches!(w, WorkloadSpec::Fragment(f) if f.load.is_some());
        if loads(&work) && tasks.iter().any(|t| loads(&t.work)) {
            return Err(r.error("load", "a second layout", "one in all"));
        }
        let (memcg, adj) = group(&r, machine, pods)?;
        in_time(&r, memcg.as_deref(), machine)?;
        tasks.push(TaskSpec {
            name,
            threads,
            processes: r.get("processes")?,
            memcg,
            disks: disks(&r, machine, &work)?,
            start: r.get("start")?,
            oom_score_adj: if r.is_default("oom_score_adj") {
                adj
            } else {
                r.get("oom_score_adj")?
            },
            memlock_limit: r.get("rlimit-memlock")?,
            contents: contents(&r)?,
            work,
        });
    }
    Ok(tasks)
}

/// A task or a daemon starts while its group is there.
pub(super) fn in_time(
    r: &Reader<'_>,
    memcg: Option<&str>,
    machine: &MachineConfig,
) -> Result<(), Error> {
    let start: SimDuration = r.get("start")?;
    let own = memcg.map_or_else(Vec::new, |m| instances(&machine.memcgs, m));
    let of = |g: usize| &machine.memcgs[g];
    if own.iter().any(|&g| of(g).empty.is_some()) {
        let found = format!("\"{}\" is to stay empty", memcg.unwrap_or_default());
        return Err(r.error("memcg", found, "another group, or no `empty = true` there"));
    }
    let over = |g: usize| of(g).until.filter(|&until| start >= until);
    if let Some((g, until)) = own.iter().find_map(|&g| Some((g, over(g)?))) {
        let key = if r.is_default("start") { "memcg" } else { "start" };
        let found = format!("it starts when its group \"{}\" is to be removed", of(g).name);
        return Err(r.error(key, found, format!("a start before \"{until}\"")));
    }
    match own.into_iter().map(of).find(|g| g.from > start) {
        None => Ok(()),
        Some(late) => {
            let key = if r.is_default("start") { "memcg" } else { "start" };
            let found = format!("it starts before its group \"{}\" is created", late.name);
            Err(r.error(key, found, format!("start = \"{}\" or later", late.from)))
        }
    }
}

/// The group of a task, and the `oom_score_adj` that goes with it.
fn group(
    r: &Reader<'_>,
    machine: &MachineConfig,
    pods: Option<&Pods>,
) -> Result<(Option<String>, i16), Error> {
    r.at_most_one("memcg", "pod")?;
    if let Some(m) = r.opt_name("memcg")? {
        if instances(&machine.memcgs, m).is_empty() {
            let known: Vec<&str> = machine.memcgs.iter().map(|m| m.name.as_str()).collect();
            return Err(r.unknown_word("memcg", "memory cgroup", m, &known));
        }
        return Ok((Some(m.to_string()), 0));
    }
    match (r.has("pod"), pods) {
        (false, _) => Ok((None, 0)),
        (true, None) => Err(r.error(
            "pod",
            "there are no pods",
            "`[[pod]]` and `[[daemon]]` with `kubelet` too",
        )),
        (true, Some(pods)) => pods.container(r, "pod").map(|(group, adj)| (Some(group), adj)),
    }
}

/// Where the files of a task lie.
fn disks(
    r: &Reader<'_>,
    machine: &MachineConfig,
    work: &WorkloadSpec,
) -> Result<DisksOfFiles, Error> {
    let all = disk_of(r, machine)?.unwrap_or_default();
    let by_name = match work {
        WorkloadSpec::Phased(w) => disks_of_regions(r, machine, w)?,
        _ => Vec::new(),
    };
    Ok(DisksOfFiles { all, by_name })
}

/// Threads of a process: not more than the workload has work for.
fn threads(r: &Reader<'_>, work: &WorkloadSpec, threads: u32) -> Result<u32, Error> {
    let most = work.most_threads();
    if threads > most {
        let found = format!("{threads}, more than \"{}\" can use here", work.name());
        return Err(r.error("threads", found, format!("at most {most}")));
    }
    Ok(threads)
}

/// Names of tasks: thousands may be named alike.
struct Names<'a> {
    /// Those that the file gives.
    given: BTreeSet<&'a str>,
    /// Those of the tasks so far.
    taken: BTreeSet<String>,
    /// The number to try next, by workload.
    next: BTreeMap<&'static str, u32>,
}

impl<'a> Names<'a> {
    fn of(list: &'a [Node]) -> Self {
        let given = |t: &'a Node| t.table().and_then(|t| t.get("name")).and_then(Node::as_text);
        let given = list.iter().filter_map(given).collect();
        Names { given, taken: BTreeSet::new(), next: BTreeMap::new() }
    }

    /// The name of the workload, with a number from the second task on.
    fn free(&mut self, base: &'static str) -> String {
        let next = self.next.entry(base).or_insert(1);
        loop {
            let name = match *next {
                1 => base.to_string(),
                k => format!("{base}-{k}"),
            };
            *next += 1;
            if !self.given.contains(name.as_str()) && !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

/// All huge pages that programs map together have to be in the pool. Scripts may make it larger.
pub(super) fn check_huge_pages(
    root: &Reader<'_>,
    tasks: &[TaskSpec],
    pool: u32,
) -> Result<(), Error> {
    let mut all = 0;
    if tasks.iter().any(|t| matches!(t.work, WorkloadSpec::Script(_))) {
        return Ok(());
    }
    for (i, (task, node)) in tasks.iter().zip(root.list("task")?).enumerate() {
        let WorkloadSpec::Masim(w) = &task.work else { continue };
        if !w.options.hugetlb {
            continue;
        }
        let huge = |pages: u32| u64::from(pages.div_ceil(GROUP_PAGES));
        let each: u64 = w.config.regions.iter().map(|r| huge(r.pages())).sum();
        all += each * u64::from(task.processes);
        if root.get::<bool>("bounds")? {
            let found =
                "huge pages of hugetlbfs are never evicted, and the optimum knows no others";
            return Err(root.error("bounds", found, "`false`"));
        }
        if all > u64::from(pool) {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, &TASK_TABLES, &path)?;
            let found = format!("{all} huge pages are mapped in all, of a pool of {pool}");
            return Err(r.error("hugetlb", found, format!("`machine.vm.nr_hugepages = {all}`")));
        }
    }
    Ok(())
}

/// Refuses more processes than have a number; those of a trace are known once it is open.
pub(super) fn check_processes(root: &Reader<'_>, tasks: &[TaskSpec]) -> Result<(), Error> {
    let mut all = 0;
    for (i, (task, node)) in tasks.iter().zip(root.list("task")?).enumerate() {
        all += u64::from(task.processes);
        if all > MOST_PROCESSES {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, &TASK_TABLES, &path)?;
            let found = format!("with this task there are {all} processes");
            let write = format!("fewer: at most {MOST_PROCESSES} of all tasks");
            return Err(r.error("processes", found, write));
        }
    }
    Ok(())
}

/// Pages that fragmenters keep are neither reclaimed nor moved and outlive them, so all of them
/// have to fit into the allocator's memory less the memory that the system holds.
pub(super) fn check_pinned(root: &Reader<'_>, tasks: &[TaskSpec], room: u64) -> Result<(), Error> {
    let mut before = 0;
    for (i, (task, node)) in tasks.iter().zip(root.list("task")?).enumerate() {
        let WorkloadSpec::Fragment(FragmentTask { config: w, .. }) = &task.work else { continue };
        // Who takes all there is keeps a part of it, however much that is.
        let (Some(take), keep) = (w.take, u128::from(w.keep_permille)) else { continue };
        let n = u64::from(task.processes);
        let kept = u64::try_from(u128::from(take) * keep / 1000).unwrap_or(u64::MAX);
        let all = kept.saturating_mul(n).saturating_add(before);
        if all > room {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, &TASK_TABLES, &path)?;
            let others = if before > 0 { " by this and the fragmenters before it" } else { "" };
            let found = format!("{all} pages would be pinned{others}, of {room} that there are");
            // The largest size of which the kept part, rounded down, still fits.
            let most = (u128::from((room - before) / n) * 1000 + 999) / keep;
            let write = match most {
                0 => "less here or there".to_string(),
                most => format!("at most \"{most} pages\", or a smaller `keep-permille`"),
            };
            return Err(r.error("memory", found, write));
        }
        before = all;
    }
    Ok(())
}

/// A task that ends by time has to let some pass, where all its pages hit too.
pub(super) fn check_time_passes(
    root: &Reader<'_>,
    tasks: &[TaskSpec],
    t_hit: SimDuration,
) -> Result<(), Error> {
    for (i, (task, node)) in tasks.iter().zip(root.list("task")?).enumerate() {
        let (WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w)) = &task.work else { continue };
        let stands =
            w.think.is_zero() && w.arrival.is_none() && !matches!(w.kind, MemoryKind::FileRead(_));
        if t_hit == SimDuration::ZERO && stands && matches!(w.end, End::After(_)) {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, &TASK_TABLES, &path)?;
            let found = "time would not pass, since machine.cost.t_hit is \"0ns\"";
            return Err(r.error("duration", found, "`accesses` instead, or a `think` time"));
        }
    }
    Ok(())
}
