//! From what a task does to the workloads of its threads.
//!
//! The work answers for itself ([`Work`](mmsim_workload::work::Work)); errors get the name of the
//! task here. A list of commands may ask for a monitor, or for what the kernel does not have, and a
//! fragmenter may bring a layout of memory: the machine has to fit.

use mmsim_core::config::Kernel;
use mmsim_workload::since::check_line;
use mmsim_workload::work::{Threads, WorkError};

use super::Machine;
use crate::scenario::workload::{TaskSpec, WorkloadSpec};
use mmsim_base::error::{Error, ErrorKind};

/// Number of processes of the machine that a task stands for: a replay has one for each process of
/// its trace, times the number of the task.
pub fn processes(task: &TaskSpec) -> Result<u32, Error> {
    let each = task.work.processes().map_err(|e| placed(task, e))?;
    u32::try_from(each)
        .ok()
        .and_then(|n| n.checked_mul(task.processes))
        .ok_or_else(|| error(task, ErrorKind::Scenario, "too many processes; write fewer"))
}

/// The workloads of the threads of process `index`, which is below [`processes`].
pub fn threads(task: &TaskSpec, seed: u64, index: usize) -> Result<Threads, Error> {
    task.work.threads(seed, index).map_err(|e| placed(task, e))
}

/// True if a task maps files.
pub fn maps_files(task: &TaskSpec) -> Result<bool, Error> {
    task.work.maps_files().map_err(|e| placed(task, e))
}

/// Assumptions made in writing the trace of a task, and demands of a list of commands that are not
/// met, a sentence each with the task's name in front. A file that cannot be read says nothing: its
/// run has failed already.
pub fn assumed(task: &TaskSpec) -> Vec<String> {
    task.work.assumptions().iter().map(|s| format!("{}: {s}", task.name)).collect()
}

/// Puts the layout that a task begins with on a machine.
pub(crate) fn load(task: &TaskSpec, machine: &mut Machine) -> Result<(), Error> {
    let WorkloadSpec::Fragment(w) = &task.work else { return Ok(()) };
    let Some((path, layout)) = &w.load else { return Ok(()) };
    let threads = machine.threads_of(&task.name);
    machine.load_layout(threads[0], layout).map_err(|why| {
        let what = format!("`{}` does not fit: {why}", path.display());
        error(task, ErrorKind::Scenario, what).help("load it on the machine that it was saved on")
    })
}

/// An error about a task, beyond what its keys show.
fn error(task: &TaskSpec, kind: ErrorKind, what: impl AsRef<str>) -> Error {
    Error::new(kind, format!("task `{}`: {}", task.name, what.as_ref()))
}

/// The error of a task's work.
fn placed(task: &TaskSpec, e: WorkError) -> Error {
    let kind = if e.of_file { ErrorKind::File } else { ErrorKind::Scenario };
    let error = error(task, kind, e.what);
    match (e.place, e.key) {
        (Some(p), _) => error.at(&p.path.display().to_string(), &p.text, p.span, "this line"),
        (None, Some(key)) => error.about(key),
        (None, None) => error,
    }
}

/// Refuses commands to a monitor where there is none.
pub(crate) fn check_monitor(task: &TaskSpec, monitored: bool) -> Result<(), Error> {
    let WorkloadSpec::Script(w) = &task.work else { return Ok(()) };
    if monitored || !w.parsed().map_err(|e| placed(task, e))?.0.wants_monitor() {
        return Ok(());
    }
    let what = "its commands are for a monitor, and there is none";
    Err(error(task, ErrorKind::Scenario, what).help("write a `[[damon]]` that watches it"))
}

/// Refuses commands of a script that the kernel does not have.
pub(crate) fn check_kernel(task: &TaskSpec, kernel: Kernel) -> Result<(), Error> {
    let WorkloadSpec::Script(w) = &task.work else { return Ok(()) };
    for (i, line) in w.lines().into_iter().enumerate() {
        check_line(line, kernel).map_err(|(found, write)| {
            placed(task, w.wrong_line(i, &format!("{found}, write {write}")))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::Catalogue;
    use crate::scenario::Scenario;
    use mmsim_core::base::rng::Rng;
    use mmsim_core::base::time::{SimDuration, SimTime};
    use mmsim_core::workload::Op;
    use mmsim_core::workload::{Pressure, WorkloadCx};
    use mmsim_workload::generators::Step;
    use mmsim_workload::generators::{End, PhasedRegion, ScanEnd, Strategy};
    use mmsim_workload::law::Varying;
    use mmsim_workload::trace::Trace;
    use std::path::Path;

    /// Totals of a thread's work.
    #[derive(Default, PartialEq, Debug)]
    struct Totals {
        accesses: u64,
        records: u64,
        compute: SimDuration,
        drops: u64,
        reclaimed: u64,
        written: u64,
        phases: Vec<String>,
    }

    impl Totals {
        fn add(&mut self, op: &Op, names: &[String]) {
            match *op {
                Op::Access(_) | Op::Copy(_) => self.accesses += u64::from(op.touches()),
                Op::Read { count, .. } | Op::Uncached { count, write: false, .. } => {
                    self.accesses += u64::from(count)
                }
                Op::Write { count, .. } | Op::Uncached { count, write: true, .. } => {
                    self.accesses += u64::from(count);
                    self.written += u64::from(count);
                }
                Op::Records(n) => self.records += u64::from(n),
                Op::Compute(t) => self.compute += t,
                Op::DropCaches => self.drops += 1,
                Op::MemcgReclaim { pages, .. } => self.reclaimed += u64::from(pages),
                Op::PhaseEnd(i) => self.phases.push(names[usize::from(i)].clone()),
                _ => {}
            }
        }
    }

    /// All threads of one process to their ends.
    fn drain(task: &TaskSpec, index: usize) -> Totals {
        let mut all = Totals::default();
        for mut w in threads(task, 1, index).unwrap_or_else(|e| panic!("{e}")) {
            let names = w.phases();
            let mut rng = Rng::for_purpose(1, "workload/test");
            loop {
                let mut ops = Vec::new();
                let cx = WorkloadCx {
                    now: SimTime::ZERO,
                    free_pages: 1 << 20,
                    kernel_allocs: &[],
                    free_blocks: None,
                    pressure: &Pressure::NONE,
                };
                w.fill(&cx, &mut rng, &mut ops);
                if ops.is_empty() {
                    break;
                }
                ops.iter().for_each(|op| all.add(op, &names));
            }
        }
        all
    }

    fn tasks(text: &str, name: &str) -> Vec<TaskSpec> {
        let scenario = Scenario::from_str(text, name).unwrap_or_else(|e| panic!("{e}"));
        let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
        runs[0].tasks.clone()
    }

    fn task(keys: &str) -> TaskSpec {
        let text = format!("[machine]\nmemory = \"64MiB\"\n[[task]]\n{keys}\n");
        let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/x.toml");
        tasks(&text, origin).remove(0)
    }

    /// Pages that steps access.
    fn accesses(regions: &[PhasedRegion], steps: &[Step]) -> u64 {
        let pages = |name: &str| regions.iter().find(|g| g.name == name).unwrap().pages;
        let of = |s: &Step| match s {
            Step::Allocate { region, populate: true } => u64::from(pages(region)),
            Step::Touch { count, repeat, .. } => u64::from(*count) * u64::from(*repeat),
            Step::Window { count, .. } | Step::Write { count, .. } => u64::from(*count),
            Step::Zipf { accesses, .. } => *accesses,
            Step::Read { count, into, .. } => {
                u64::from(*count) * if into.is_some() { 2 } else { 1 }
            }
            Step::Repeat { times, steps } => u64::from(*times) * accesses(regions, steps),
            _ => 0,
        };
        steps.iter().map(of).sum()
    }

    /// The accesses that the scenario asks for, those of the first pass included.
    fn expected(task: &TaskSpec) -> u64 {
        let work = |e: End| match e {
            End::Work(n) => n,
            End::After(_) => panic!("shipped scenarios end by work"),
        };
        match &task.work {
            WorkloadSpec::Ebizzy(w) => {
                // A copy reads and writes; the bisection looks at one word per halving.
                let chunk = u64::from(w.chunk_pages);
                let copy = 2 * chunk + u64::from((chunk * 512).ilog2());
                u64::from(w.chunks()) * chunk + work(w.end) * copy
            }
            WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w) => u64::from(w.pages) + work(w.end),
            WorkloadSpec::Sequential(w) | WorkloadSpec::Cyclic(w) => {
                let ScanEnd::Passes(n) = w.end else { panic!("scans end by passes") };
                u64::from(w.pages) * u64::from(n)
            }
            WorkloadSpec::Phased(w) => accesses(&w.regions, &w.steps),
            WorkloadSpec::Replay(_) => panic!("what a trace holds is tested with the traces"),
            WorkloadSpec::KernelAlloc(_) | WorkloadSpec::HighAlloc(_) => 0,
            WorkloadSpec::Fragment(_) => panic!("it goes on until there is no memory"),
            WorkloadSpec::Script(_) => panic!("its commands are tested beside the generator"),
            WorkloadSpec::Requests(_) => panic!("what its requests touch is drawn"),
            WorkloadSpec::Masim(_) | WorkloadSpec::Postgres(_) => panic!("it ends by the clock"),
            WorkloadSpec::Build(_) => panic!("how large its compilations are is drawn"),
            WorkloadSpec::Apps(_) => panic!("whether an app is started or resumed is drawn"),
            WorkloadSpec::Experts(w) => {
                // Threads that read ahead read the slices of all projections but the first.
                let ahead = if w.strategy == Strategy::Prefetch { w.projections - 1 } else { 0 };
                let layer = w.dense + w.top_k * (w.projections + ahead) * w.slice;
                w.end * u64::from(w.layers * layer + w.head)
            }
            WorkloadSpec::Reader(w) => {
                let (Varying::Always(index), Varying::Always(item)) = (w.index_reads, w.item)
                else {
                    panic!("reads are drawn")
                };
                let data = item + index;
                let (least, most) = (w.stale_min, w.stale_max);
                // Whole rounds of chunks, each read the same number of times.
                let stale = u64::from(w.stale) * u64::from(least + most) / 2;
                u64::from(w.idle) + stale + work(w.end) * data
            }
        }
    }

    #[test]
    fn shipped_tasks_do_what_their_files_say() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut done = Vec::new();
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "toml") {
                continue;
            }
            let scenario = Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
            for run in scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}")) {
                for task in run.tasks {
                    // Variants and seeds repeat the same work.
                    let elsewhere = matches!(
                        task.work,
                        WorkloadSpec::Replay(_)
                            | WorkloadSpec::Masim(_)
                            | WorkloadSpec::Requests(_)
                            | WorkloadSpec::Script(_)
                            | WorkloadSpec::Build(_)
                            | WorkloadSpec::Apps(_)
                            | WorkloadSpec::Fragment(_)
                            | WorkloadSpec::Postgres(_)
                    ) || matches!(
                        &task.work,
                        // It writes what it reads into its own memory.
                        WorkloadSpec::Experts(w) if w.strategy == Strategy::Direct
                    );
                    // Accesses take no time here, so what ends by the clock would not end.
                    let by_clock = match &task.work {
                        WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w) => {
                            matches!(w.end, End::After(_))
                        }
                        WorkloadSpec::Sequential(w) | WorkloadSpec::Cyclic(w) => {
                            matches!(w.end, ScanEnd::After(_))
                        }
                        _ => false,
                    };
                    if elsewhere || by_clock || done.contains(&task) {
                        continue;
                    }
                    assert_eq!(processes(&task), Ok(task.processes));
                    let totals = drain(&task, 0);
                    assert_eq!(totals.accesses, expected(&task), "{}", path.display());
                    if let WorkloadSpec::Ebizzy(w) = &task.work {
                        assert_eq!(End::Work(totals.records), w.end);
                    }
                    done.push(task);
                }
            }
        }
        assert!(done.len() >= 11, "{}", done.len());
    }

    #[test]
    fn every_step_has_its_operation() {
        let t = task(
            r#"workload = "phased"
regions = { a = { pages = 10 }, log = { pages = 4, kind = "read" } }
steps = [
    { do = "allocate", region = "a" },
    { do = "phase", name = "filled" },
    { do = "write", region = "log", first = "1 pages" },
    { do = "read", region = "log" },
    { do = "drop-caches" },
    { do = "memcg-reclaim", memory = "5 pages" },
    { do = "repeat", times = 3, steps = [{ do = "touch", region = "a" }, { do = "phase", name = "loop" }] },
    { do = "compute", time = "5us" },
    { do = "records", count = 2 },
    { do = "free", region = "a" },
]"#,
        );
        let totals = Totals {
            accesses: 10 + 3 + 4 + 30,
            records: 2,
            compute: SimDuration::from_micros(5),
            drops: 1,
            reclaimed: 5,
            written: 3,
            phases: ["filled", "loop", "loop", "loop"].map(String::from).to_vec(),
        };
        assert_eq!(drain(&t, 0), totals);
        let files = threads(&t, 1, 1).unwrap()[0].files();
        assert_eq!((files.len(), files[0].name.as_str()), (1, "phased/log"));
    }

    #[test]
    fn what_commands_ask_of_the_machine_is_named() {
        let of = |commands: &str| {
            let t = task(&format!("name = \"s\"\nworkload = \"script\"\ncommands = {commands}"));
            (assumed(&t), threads(&t, 1, 0).unwrap().len())
        };
        assert_eq!(of("[\"anon 0 100\", \"fill 0 0 100\"]"), (Vec::new(), 1));
        let (said, _) = of(
            "[\"write /proc/sys/vm/swappiness 100\", \"ballast 65536\", \"anon 0 9\", \"fill 0 0 9\"]",
        );
        let left = "s: what its commands ask of the machine is left to the scenario:";
        let asked = "/proc/sys/vm/swappiness = 100, ballast down to 65536 free pages";
        assert_eq!(said, [format!("{left} {asked}")]);
        // A child is a thread of its own.
        assert_eq!(of("[\"spawn 512 1000 10 0 512 1\"]"), (Vec::new(), 2));
    }

    #[test]
    fn processes_have_one_file_or_one_each() {
        let keys = "name = \"fio\"\nworkload = \"zipf\"\nmemory = \"9 pages\"\naccesses = 3\n\
                    region = \"read\"\nprocesses = 2";
        let names = |keys: &str| {
            let t = task(keys);
            let of = |i| threads(&t, 1, i).unwrap()[0].files()[0].name.clone();
            [of(0), of(1)]
        };
        assert_eq!(names(keys), ["fio", "fio"]);
        assert_eq!(names(&format!("{keys}\nfiles = \"own\"")), ["fio/0", "fio/1"]);
    }

    #[test]
    fn computing_is_handed_on() {
        let t = task(
            "workload = \"uniform\"\nmemory = \"10 pages\"\naccesses = 30\nthink = \"1us\"\nthreads = 2",
        );
        assert_eq!(drain(&t, 0).compute, SimDuration::from_micros(30));
        let t = task(
            "workload = \"ebizzy\"\nmemory = \"8 pages\"\nchunk = \"4 pages\"\nrecords = 6\ncompute = \"1us\"",
        );
        assert_eq!(drain(&t, 0).compute, SimDuration::from_micros(6));
    }

    /// With equal bounds nothing of a build's amount of work is drawn but repeated headers.
    #[test]
    fn a_build_does_what_its_keys_say() {
        let t = task(
            "name = \"b\"\nworkload = \"build\"\nthreads = 2\nrecords = 4\nwindows = 2\n\
             text = \"7 pages\"\nheaders = 3\nheader = \"2 pages\"\nheader-reads = 0\n\
             sources = 2\nsource = \"5 pages\"\nanon-min = \"40 pages\"\nanon-max = \"40 pages\"\n\
             bursts = 4\npasses = 3\ncompute-min = \"9us\"\ncompute-max = \"9us\"\n\
             object-min = \"6 pages\"\nobject-max = \"6 pages\"\nlink-every = 2",
        );
        // Text at the start and in every pass; memory once, and 10 + 20 + 30 + 40 per pass.
        let compiled = 7 * (1 + 4 * 3) + 5 + (40 + 3 * 100) + 6;
        let linked = 2 * (6 + 6);
        let totals = Totals {
            accesses: 3 * 2 + 7 + 4 * compiled + 2 * linked,
            records: 4,
            compute: SimDuration::from_micros(4 * 9),
            written: 4 * 6 + 2 * 12,
            phases: ["populate", "access1", "access2"].map(String::from).to_vec(),
            ..Totals::default()
        };
        assert_eq!(drain(&t, 0), totals);
        let files = threads(&t, 1, 0).unwrap()[1].files();
        assert_eq!((files.len(), files[0].name.as_str()), (1 + 3 + 2 + 2 + 1, "b/text"));
    }

    #[test]
    fn a_trace_is_replayed_in_its_processes() {
        let keys = "workload = \"replay\"\ntrace = \"../traces/sort.mmt\"\nprocesses = 2";
        let WorkloadSpec::Replay(w) = task(keys).work else { panic!("a replay") };
        let trace = Trace::open(&w.trace).unwrap();
        let own = &trace.info().processes;
        let t = task(&format!("{keys}\nrepeat = 2\nthink-permille = 0"));
        assert_eq!(processes(&t), Ok(2 * own.len() as u32));
        for index in 0..2 * own.len() {
            let totals = drain(&t, index);
            assert_eq!(totals.accesses, 2 * own[index % own.len()].accesses);
            assert_eq!(totals.compute, SimDuration::ZERO);
            assert_eq!(totals.phases.len(), 4);
        }
    }

    #[test]
    fn contradictions_are_errors_without_a_place() {
        let message = |keys: &str| {
            let e = threads(&task(keys), 1, 0).err().unwrap();
            assert_eq!((e.position(), e.kind().exit_code()), (None, 2));
            e.title().to_string()
        };
        let steps = "workload = \"phased\"\nregions = { a = { pages = 10 } }\n\
                     steps = [{ do = \"touch\", region = \"a\" }]";
        assert_eq!(
            message(steps),
            "task `phased`: steps[0]: region `a` is not mapped here; allocate it before"
        );
        let found = message("workload = \"script\"\ncommands = [\"frobnicate\"]");
        assert!(found.starts_with("task `script`: commands[0]: found `frobnicate`"), "{found}");
        let found = message("workload = \"replay\"\ntrace = \"uniform.toml\"");
        assert!(found.contains("uniform.toml: "), "{found}");
    }
}
