//! The tasks of a scenario as processes of the recorder.
//!
//! The first process does the work of the first task, and its phases are those of the recording.
//! Every other process is started beside it (`start`), in its group, and does its work without
//! snapshots. A process that has done its work gives its memory back, as one that ends does, and the
//! recording ends when all have.

use mmsim::scenario::{RunSpec, TaskSpec};

use super::program::{self, Program, Refusal};

/// Processes of all tasks at most: each locks some memory of its own.
const MOST_PROCESSES: usize = 64;
/// Commands that processes are started with at most.
const MOST_STARTED: usize = 16_000;
/// Distance between seeds of processes; those of repetitions differ by one.
const SEEDS_APART: u64 = 1000;

/// Work of all processes of a run.
#[derive(Debug)]
pub(super) struct Tasks {
    /// The work of each task; the last one has tables and files of all.
    programs: Vec<Program>,
    /// Task of each process, by its position.
    processes: Vec<usize>,
    /// Where processes of each task run.
    places: Vec<Place>,
}

/// Where a process runs.
#[derive(Debug)]
struct Place {
    /// Path of its group below the root; `None`: the root.
    group: Option<String>,
    oom_score_adj: i16,
    /// Milliseconds until it begins.
    delay: u64,
}

/// The tasks of a run, or the first thing that the recorder's processes do not do.
pub(super) fn tasks(run: &RunSpec) -> Result<Tasks, Refusal> {
    let mut all = Tasks { programs: Vec::new(), processes: Vec::new(), places: Vec::new() };
    for (i, task) in run.tasks.iter().enumerate() {
        let at = |(key, what): Refusal| (format!("task[{i}].{key}"), what);
        let place = place(run, task, i == 0).map_err(at)?;
        let before = all.programs.last();
        all.programs.push(program::program(&task.work, before).map_err(at)?);
        all.processes.extend((0..task.processes).map(|_| i));
        all.places.push(place);
        let started: usize = all.started().map(|(_, i)| all.programs[i].lines.len()).sum();
        if all.processes.len() > MOST_PROCESSES {
            let what = format!(": the recorder has at most {MOST_PROCESSES} processes in all");
            return Err(at(("processes".into(), what)));
        }
        if started > MOST_STARTED {
            let what = format!(
                ": processes beside the first do at most {MOST_STARTED} commands in all, write \
                 fewer turns"
            );
            return Err(at(("workload".into(), what)));
        }
    }
    Ok(all)
}

fn place(run: &RunSpec, task: &TaskSpec, first: bool) -> Result<Place, Refusal> {
    let refused = |key: &str, what: &str| Err((key.to_string(), what.to_string()));
    if task.threads != 1 {
        return refused("threads", ": the recorder's processes have one thread each, write 1");
    }
    if task.contents.is_some() {
        return refused("contents", ": all recorded pages hold the same, leave it out");
    }
    if first && task.oom_score_adj != 0 {
        return refused("oom_score_adj", ": the recorder's first process has 0, leave it out");
    }
    if !task.start.0.is_multiple_of(1_000_000) {
        return refused("start", ": the recorder waits whole milliseconds");
    }
    let inside = |group: &String| {
        let children = format!("{group}/");
        run.machine.memcgs.iter().any(|g| g.name.starts_with(&children))
    };
    if task.memcg.as_ref().is_some_and(inside) {
        return refused("memcg", ": Linux allows no process in a group with groups below it");
    }
    let delay = task.start.0 / 1_000_000;
    Ok(Place { group: task.memcg.clone(), oom_score_adj: task.oom_score_adj, delay })
}

impl Tasks {
    /// Processes besides the first: number and task.
    fn started(&self) -> impl Iterator<Item = (usize, usize)> {
        self.processes.iter().copied().enumerate().skip(1)
    }

    /// Tables of laws: ranks and exponent, by number.
    pub(super) fn tables(&self) -> &[(u32, f64)] {
        self.programs.last().map_or(&[], |p| &p.tables)
    }

    /// True if some task maps a file.
    pub(super) fn files(&self) -> bool {
        self.programs.last().is_some_and(|p| !p.files.is_empty())
    }

    /// Number of processes.
    pub(super) fn len(&self) -> usize {
        self.processes.len()
    }

    /// A sum over all processes.
    pub(super) fn sum(&self, of: fn(&Program) -> u64) -> u64 {
        self.processes.iter().map(|i| of(&self.programs[*i])).sum()
    }

    /// Differences from the scenario that come of its processes.
    pub(super) fn own(&self, run: &RunSpec) -> Option<String> {
        let name = &run.tasks[0].name;
        (self.len() > 1).then(|| {
            format!(
                "{} processes run at the same time. Phases are those of the first, of task \
                 `{name}`; in `end` the others finish.",
                self.len()
            )
        })
    }

    /// Commands that start the processes, before memory is counted.
    pub(super) fn processes(&self) -> Vec<String> {
        let of = |(n, task): (usize, usize)| {
            let Place { group, oom_score_adj, .. } = &self.places[task];
            let group = group.as_ref().map_or("-".to_string(), |g| format!("/cg/{g}"));
            let adj = (*oom_score_adj != 0)
                .then(|| format!("on {n} write /proc/self/oom_score_adj {oom_score_adj}"));
            [format!("process {n} {group}")].into_iter().chain(adj).collect::<Vec<_>>()
        };
        self.started().flat_map(of).collect()
    }

    /// The command by which the first process goes to its group, behind the ballast.
    pub(super) fn joins(&self) -> Option<String> {
        self.places.first()?.group.as_ref().map(|g| format!("join /cg/{g}"))
    }

    /// The work of all processes with draws of this seed.
    pub(super) fn lines(&self, seed: u64) -> Vec<String> {
        let alone = self.len() == 1;
        let mut lines = Vec::new();
        for (n, task) in self.started() {
            let seed = format!("seed {}", seed + SEEDS_APART * n as u64);
            let own = self.work(task, seed, true);
            lines.extend(own.filter(|l| !l.starts_with("snap ")).map(|l| format!("start {n} {l}")));
        }
        lines.extend(self.work(0, format!("seed {seed}"), !alone));
        if !alone {
            lines.push("wait".into());
        }
        lines
    }

    /// The commands of one process, which gives all its memory back if it ends.
    fn work(&self, task: usize, seed: String, ends: bool) -> impl Iterator<Item = String> {
        let lines = &self.programs[task].lines;
        let delay = self.places[task].delay;
        let delay = (delay > 0).then(|| format!("sleepms {delay}"));
        let rest = if ends { mapped(lines) } else { Vec::new() };
        let rest = rest.into_iter().map(|region| format!("unmap {region}"));
        [seed].into_iter().chain(delay).chain(lines.iter().cloned()).chain(rest)
    }
}

/// Regions that commands leave mapped.
fn mapped(lines: &[String]) -> Vec<&str> {
    let mut all = Vec::new();
    for line in lines {
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some("anon" | "file"), Some(region)) => all.push(region),
            (Some("unmap"), Some(region)) => all.retain(|r| *r != region),
            _ => {}
        }
    }
    all
}
