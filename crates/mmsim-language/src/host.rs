//! Needs of runs on the host, checked before they begin.
//!
//! A machine's memory costs the host some bytes for each page that is touched, and address space
//! for each frame. More than the host has would end in the OOM killer, or in an abort amid the
//! runs. The answer decides whether runs begin and nothing else; where the system tells nothing
//! (only Linux does), they begin.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::MOST_RECORDED;
use mmsim_core::workload::MOST_PAGES;
use mmsim_workload::work::Pages;

use crate::machines;
use crate::scenario::RunSpec;
use crate::scenario::workload::TaskSpec;
use mmsim_base::error::Error;

/// Host bytes of a page that a task maps, or of a page of a file: its entry.
const PER_PAGE: u64 = 6;
/// Addresses of such a page where one mapping makes the tables at once.
const PER_PAGE_ADDRESSES: u64 = 7;
/// The same where mapping follows mapping: tables have room for an eighth more, and the larger of two
/// (4 bytes of 5) is beside its former self while it grows.
const PER_PAGE_ADDRESSES_GROWING: u64 = 11;
/// Host bytes of a frame that was used once.
const PER_USED_FRAME: u64 = 16;
/// Addresses of a frame, used or not.
const PER_FRAME: u64 = 24;
/// Host bytes of a swap slot that was used once.
const PER_USED_SLOT: u64 = 3;
/// A record of DAMON is kept, and copied by who looks at it.
const COPIES_OF_RECORDS: u64 = 2;
/// Host bytes of an access that `bounds` records: the record, which may have grown to twice its size,
/// and three copies of it while they are sorted and numbered.
const PER_ACCESS: u64 = 20;
/// Need of a run, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Need {
    /// Memory that it will touch, as far as its scenario tells.
    pub memory: u64,
    /// Addresses.
    pub addresses: u64,
}

/// Pages of mappings and files of a run.
fn pages(spec: &RunSpec) -> Pages {
    let mut pages = Pages::default();
    spec.tasks.iter().for_each(|t| pages.add(&*t.work, t.processes, spec.seed));
    pages
}

/// Accesses of all processes of a run that are known before it.
fn accesses(spec: &RunSpec) -> u64 {
    let each = |t: &TaskSpec| t.work.accesses().saturating_mul(t.processes.max(1).into());
    spec.tasks.iter().map(each).fold(0, u64::saturating_add)
}

/// Accesses of a run that its scenario tells, for progress; `None`: its work ends otherwise.
pub fn known_accesses(spec: &RunSpec) -> Option<u64> {
    spec.tasks.iter().all(|t| t.work.accesses() > 0).then(|| accesses(spec))
}

/// Need of a run.
pub fn need(spec: &RunSpec) -> Need {
    let (pages, frames) = (pages(spec), machines::managed_pages(&spec.machine));
    let (numbered, used) = (pages.all(), pages.used_of(frames));
    let slots = spec.machine.swap_slots();
    let recorded = if spec.bounds { accesses(spec).min(MOST_RECORDED as u64) } else { 0 };
    let records: u64 = spec.damon.iter().map(|d| d.most_recorded(work_time(spec))).sum();
    let others = (slots.min(numbered) * PER_USED_SLOT)
        .saturating_add(recorded * PER_ACCESS)
        .saturating_add(records * COPIES_OF_RECORDS);
    let addresses = if maps_once(spec) { PER_PAGE_ADDRESSES } else { PER_PAGE_ADDRESSES_GROWING };
    let of = |per_page: u64| numbered.saturating_mul(per_page).saturating_add(others);
    Need {
        memory: of(PER_PAGE).saturating_add(used * PER_USED_FRAME),
        addresses: of(addresses).saturating_add(frames * PER_FRAME),
    }
}

/// True if all pages of a run are of one mapping.
fn maps_once(spec: &RunSpec) -> bool {
    let [task] = &spec.tasks[..] else { return false };
    task.work.is_one_mapping() && machines::processes(task).is_ok_and(|n| n == 1)
}

/// Time after which the work of a run has ended; `None`: its scenario does not tell.
fn work_time(spec: &RunSpec) -> Option<SimDuration> {
    let of = |t: &TaskSpec| t.work.lasts().map(|time| t.start + time);
    spec.tasks.iter().map(of).try_fold(SimDuration::ZERO, |most, t| Some(most.max(t?)))
}

/// Free memory of a host, in bytes; `None`: it is not known, or there is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Host {
    memory: Option<u64>,
    addresses: Option<u64>,
}

/// The number behind a name in a text of lines such as `MemAvailable:  123 kB`.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

impl Host {
    fn ask() -> Host {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let kib = |text: &str, name: &str| number(text, name).map(|n| n.saturating_mul(1024));
        let available = kib(&read("/proc/meminfo"), "MemAvailable");
        let groups = cgroups(&read("/proc/self/cgroup"));
        let in_groups = groups.iter().filter_map(|folder| free_in(folder));
        let used = kib(&read("/proc/self/status"), "VmSize").unwrap_or(0);
        let limit = number(&read("/proc/self/limits"), "Max address space");
        Host {
            memory: available.into_iter().chain(in_groups).min(),
            addresses: limit.map(|limit| limit.saturating_sub(used)),
        }
    }
}

/// Folders of the memory cgroups that the process is in, by the text of `/proc/self/cgroup`.
fn cgroups(text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|c| c == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        folders.extend(path.ancestors().map(|part| Path::new(root).join(part)));
    }
    folders
}

/// Bytes that a group may still have, if it has a limit (v2, else v1).
fn free_in(folder: &Path) -> Option<u64> {
    let file = |name: &str| {
        fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let limit = file("memory.max").or_else(|| file("memory.limit_in_bytes"))?;
    let used = file("memory.current").or_else(|| file("memory.usage_in_bytes"))?;
    Some(limit.saturating_sub(used))
}

/// Estimate of the needs of runs from their scenarios, without a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Estimate {
    /// Accesses of all runs; `None`: the work of some ends by the clock, or by a file.
    pub accesses: Option<u64>,
    /// Bytes of memory for as many runs at a time as there will be.
    pub memory: u64,
    /// Bytes of the report as JSON, about.
    pub report: u64,
}

/// Bytes of a run in a report, of each phase, and of each task and thread: about what they are in
/// shipped scenarios.
const PER_REPORT: [u64; 3] = [22_000, 9_000, 1_000];

/// Estimate for runs, `jobs` at a time (`None`: one per CPU).
pub fn estimate(specs: &[RunSpec], jobs: Option<usize>) -> Estimate {
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut needs: Vec<u64> = specs.iter().map(|s| need(s).memory).collect();
    needs.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    let [run, phase, task] = PER_REPORT;
    let report = |s: &RunSpec| {
        // A task fills its memory, and uses it.
        let tasks = s.tasks.iter().map(|t| u64::from(t.processes.max(1))).sum::<u64>();
        run + 2 * phase * s.tasks.len() as u64 + task * tasks
    };
    Estimate {
        accesses: specs.iter().map(known_accesses).try_fold(0_u64, |sum, n| Some(sum + n?)),
        memory: needs.iter().take(jobs.unwrap_or_else(all)).sum(),
        report: specs.iter().map(report).sum(),
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

/// Refuses runs that the host cannot hold, `jobs` at a time (`None`: one per CPU), and those of
/// which no machine could be made.
///
/// # Errors
///
/// The message says what is needed and what is free, and what to change.
pub fn check(specs: &[RunSpec], jobs: Option<usize>) -> Result<(), Error> {
    let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    check_on(specs, jobs.unwrap_or_else(all), Host::ask())
}

fn check_on(specs: &[RunSpec], jobs: usize, host: Host) -> Result<(), Error> {
    for spec in specs {
        let name = spec.label();
        let pages = pages(spec).all();
        if pages > MOST_PAGES.into() {
            let title = format!("{name}: {pages} pages of tasks, more than a machine can number");
            return Err(Error::plain(title).help("make them 16383GiB together at most"));
        }
        let accesses = accesses(spec);
        if spec.bounds && accesses > MOST_RECORDED as u64 {
            let title = format!(
                "{name}: `bounds` is exact up to {MOST_RECORDED} accesses, and there are {accesses}"
            );
            return Err(Error::plain(title).help("make fewer, or leave `bounds` out"));
        }
    }
    let needs: Vec<Need> = specs.iter().map(need).collect();
    fits(specs, jobs, needs.iter().map(|n| n.memory).collect(), host.memory, "are free")?;
    let addresses = needs.iter().map(|n| n.addresses).collect();
    fits(specs, jobs, addresses, host.addresses, "of addresses are left (`ulimit -v`)")
}

fn fits(
    specs: &[RunSpec],
    jobs: usize,
    needs: Vec<u64>,
    free: Option<u64>,
    are: &str,
) -> Result<(), Error> {
    let Some(free) = free else { return Ok(()) };
    let mut largest: Vec<(u64, &RunSpec)> = needs.into_iter().zip(specs).collect();
    largest.sort_by_key(|&(need, _)| std::cmp::Reverse(need));
    let mut total = 0_u64;
    let at_once = largest.len().min(jobs.max(1));
    let all = largest[..at_once].iter().fold(0_u64, |sum, (need, _)| sum.saturating_add(*need));
    for (i, &(need, spec)) in largest[..at_once].iter().enumerate() {
        total = total.saturating_add(need);
        if total <= free {
            continue;
        }
        let (needs, free) = (gib(if i == 0 { total } else { all }), gib(free));
        return Err(match i {
            0 => Error::plain(format!(
                "{}: it needs {needs} of this host, {free} {are}",
                spec.label()
            ))
            .help("make the memory of its machine and tasks smaller"),
            _ => Error::plain(format!(
                "{at_once} runs at the same time need {needs} of this host, {free} {are}"
            ))
            .help(format!("write `--jobs {i}`")),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::Catalogue;
    use crate::scenario::Scenario;

    fn runs(machine: &str, task: &str, seeds: u32) -> Vec<RunSpec> {
        let text = format!(
            "name = \"x\"\nseeds = {seeds}\n[machine]\nmemory = \"{machine}\"\n[[task]]\n{task}\n"
        );
        Scenario::from_str(&text, "x").unwrap().expand(&Catalogue).unwrap()
    }

    fn said(specs: &[RunSpec], jobs: usize, host: Host) -> String {
        check_on(specs, jobs, host).map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn what_the_host_cannot_hold_is_told() {
        let gib = |n: u64| Some(n << 30);
        let task = "workload = \"sequential\"\nmemory = \"64GiB\"\nwrite = true";
        let specs = runs("128GiB", task, 3);
        // 16 Mi pages: 96 MiB of entries, 256 MiB of frames that are used.
        assert_eq!(need(&specs[0]).memory, (96 + 256) << 20);
        assert_eq!(need(&specs[0]).addresses, (112 << 20) + ((32 << 20) - 256) * 24);
        let host = |memory, addresses| Host { memory, addresses };
        assert_eq!(said(&specs, 3, host(None, None)), "");
        assert_eq!(said(&specs, 2, host(gib(1), None)), "");
        let three = said(&specs, 3, host(gib(1), None));
        assert!(
            three.contains("3 runs at the same time need 1.0 GiB of this host, 1.0 GiB are free")
        );
        assert!(three.contains("--jobs 2"), "{three}");
        let one = said(&specs, 3, host(Some(1 << 20), None));
        assert!(one.contains("seed 1: it needs 0.3 GiB of this host, 0.0 GiB are free"), "{one}");
        let addresses = said(&specs, 1, host(gib(1), Some(1 << 29)));
        assert!(addresses.contains("0.5 GiB of addresses are left"), "{addresses}");
    }

    #[test]
    fn what_no_machine_can_hold_is_told() {
        let task = "workload = \"sequential\"\nmemory = \"16000GiB\"\nprocesses = 2";
        let two = said(&runs("16MiB", task, 1), 1, Host::default());
        assert!(two.contains("8388608000 pages of tasks, more than a machine can number"), "{two}");
        let task = "workload = \"uniform\"\nmemory = \"1MiB\"\naccesses = 1000000000";
        let mut specs = runs("16MiB", task, 1);
        assert_eq!(said(&specs, 1, Host::default()), "");
        specs[0].bounds = true;
        let bounds = said(&specs, 1, Host::default());
        assert!(bounds.contains("exact up to 134217728 accesses, and there are 1000000000"));
    }

    /// Pages of each workload, worked by hand, in page tables of 512. The law over `apps` is a
    /// progression around the middle: 1/2 to 2 times as much for four apps is 0.595, 0.841, 1.189 and
    /// 1.682 times.
    #[test]
    fn every_workload_counts_its_pages() {
        let script = "workload = \"script\"\ncommands = [\"anon 0 1000\", \"unmap 0\", \
                      \"anon 1 600\", \"anon 2 513\", \"file 3 /mnt/s 100 normal\"]";
        let masim = "workload = \"masim\"\ntext = \"\"\"\n#regions\na, 8388608\nb, 4096\n\nphase one\n1\n\
                     a, 1, 4096, 1, wo\n\"\"\"";
        let apps = "workload = \"apps\"\nrecords = 1\napps = 4\nspread = 2.0\nmapped = \"512 pages\"\n\
                    read = \"1024 pages\"\nheap = \"2048 pages\"\ninterval = \"1s\"\nlaunch = \"50ms\"";
        let reader = "workload = \"reader\"\nitems = 100\nitem = \"64 pages\"\nblock = \"32 pages\"\n\
                      index = \"600 pages\"\nstale = \"512 pages\"\nidle = \"1 page\"\nrecords = 1";
        let shared = "workload = \"zipf\"\nmemory = \"1024 pages\"\nregion = \"file-shared\"\n\
                      accesses = 1\nprocesses = 3";
        let phased = "workload = \"phased\"\nregions = { a = { pages = 10 }, \
                      log = { pages = 1024, kind = \"read\" } }\n\
                      steps = [{ do = \"touch\", region = \"a\" }]";
        for (task, tables) in [
            ("workload = \"sequential\"\nmemory = \"1 page\"\nprocesses = 3", 3),
            // Two regions of two tables one after the other, one of two beside it; two files: one of
            // 128 tables, mapped by one.
            (script, 2 + 2 + 1 + 128),
            // 2048 pages, and one.
            (masim, 4 + 1),
            // Mapped files twice, as files and as mappings: 1, 1, 2, 2. Read: 2, 2, 3, 4. Heaps: 3, 4,
            // 5, 7.
            (apps, 2 * 6 + 11 + 19),
            // 6400 pages of data, 600 and 512 pages, and idle memory.
            (reader, 13 + 2 + 1 + 1),
            // Three processes map one file, or one each.
            (shared, 3 * 2 + 2),
            (&format!("{shared}\nfiles = \"own\""), 3 * 2 + 3 * 2),
            // The log is read.
            (phased, 1 + 2),
            ("workload = \"kernel-alloc\"\norder = 0\nattempts = 10", 0),
        ] {
            let specs = runs("16MiB", task, 1);
            assert_eq!(pages(&specs[0]).all(), tables * 512, "{task}");
        }
        // Whoever takes memory for the kernel may use all of its frames.
        let kernel = runs("16MiB", "workload = \"kernel-alloc\"\norder = 0\nattempts = 10", 1);
        assert_eq!(need(&kernel[0]).memory, machines::managed_pages(&kernel[0].machine) * 16);
    }

    /// A table of 300 Mi entries of 4 bytes that becomes one of 600 Mi needs 1.2 GB beside 2.7 GB, and
    /// one byte of the other table for each: of one mapping it is 3 GB in all.
    #[test]
    fn tables_that_grow_are_beside_themselves() {
        let of = |regions: &str| {
            let task = format!("workload = \"script\"\ncommands = [{regions}]");
            need(&runs("128MiB", &task, 1)[0]).addresses
        };
        let two = of("\"anon 0 314572800\", \"anon 1 314572800\"");
        assert!(two > (600 << 20) * 9 / 8 * 5 + (300 << 20) * 4, "{two}");
    }

    /// A machine has no more pages than are counted, and not many fewer: those of shipped workloads that
    /// run to their end.
    #[test]
    fn machines_have_the_pages_that_are_counted() {
        let small = "accesses = 100";
        for task in [
            format!("workload = \"zipf\"\nmemory = \"2MiB\"\n{small}"),
            format!("workload = \"uniform\"\nmemory = \"2MiB\"\nregion = \"read\"\n{small}"),
            "workload = \"ebizzy\"\nmemory = \"4MiB\"\nrecords = 20".into(),
            "workload = \"build\"\nrecords = 3".into(),
            "workload = \"reader\"\nitems = 100\nitem = \"8 pages\"\nblock = \"2 pages\"\nrecords = 3".into(),
            "workload = \"script\"\ncommands = [\"anon 0 3000\", \"fill 0 0 10\", \"unmap 0\", \
             \"anon 1 2900\", \"fill 1 0 10\"]"
                .into(),
        ] {
            let specs = runs("64MiB", &task, 1);
            let mut machine = machines::machine(&specs[0]).unwrap_or_else(|e| panic!("{e}"));
            machine.run(mmsim_core::machine::Watch::default());
            // One group of the machine's own.
            let had = (machine.mem.virt.pages.nr_groups() as u64 - 1) * 512;
            let counted = pages(&specs[0]).all();
            assert!(had <= counted && counted <= 2 * had, "{task}: {had} of {counted}");
        }
    }

    /// A record is counted by the time of the work, with all regions that there may be, up to its bound.
    #[test]
    fn records_of_damon_are_counted() {
        let damon = |end: &str, keys: &str| {
            let task =
                format!("workload = \"zipf\"\nmemory = \"1 page\"\n{end}\n[[damon]]\n{keys}");
            let specs = runs("16MiB", &task, 1);
            let bare = format!("workload = \"zipf\"\nmemory = \"1 page\"\n{end}");
            need(&specs[0]).memory - need(&runs("16MiB", &bare, 1)[0]).memory
        };
        let bytes = mmsim_damon::watch::BYTES_KEPT * COPIES_OF_RECORDS;
        // Ten seconds in aggregations of 100 ms with 1000 regions, each with one more.
        assert_eq!(damon("duration = \"10s\"", "record = true"), 101 * 1001 * bytes);
        assert_eq!(damon("duration = \"10s\"", "record = false"), 0);
        let most = mmsim_damon::watch::MOST_KEPT * bytes;
        assert_eq!(damon("duration = \"600min\"", "record = true"), most);
        assert_eq!(damon("accesses = 5", "record = true"), most);
    }

    #[test]
    fn groups_are_found_with_those_around_them() {
        let folders = cgroups("0::/a/b\n");
        let all = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup/"];
        assert_eq!(folders, all.map(PathBuf::from));
        assert_eq!(
            cgroups("4:cpu,memory:/x\n3:pids:/y\n")[0],
            Path::new("/sys/fs/cgroup/memory/x")
        );
        assert_eq!(
            number("Max address space         8589934592 8589934592 bytes\n", "Max address space"),
            Some(8_589_934_592)
        );
        assert_eq!(
            number("Max address space         unlimited  unlimited bytes\n", "Max address space"),
            None
        );
    }
}
