//! From `[[task]]` to what tasks do.

use std::path::Path;
use std::sync::Arc;

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::time::SimDuration;
use mmsim_core::machine::config::Kernel;
use mmsim_core::workload::Advice;
use mmsim_workload::generators::End;
use mmsim_workload::masim::{MasimConfig, MasimOptions, Mode};

use super::fields::{TaskCx, end, file};
use super::keys::{self, Kind, REGION, STEP_NAMES, WORKLOADS};
use super::raw::{Node, Sources, Value};
use super::read::{Reader, describe, unknown};
use super::units::show_pages;
use super::workload::{
    ChunkChoice, CopyBuffer, Ebizzy, Fragment, MOST_PROCESSES, Masim, Part, Phased, RandomAccess,
    RankMap, RegionKind, RegionSpec, Replay, ReplayMode, Scan, Script, Step, TaskSpec,
    WorkloadSpec,
};
use crate::error::{Error, ErrorKind};

/// In the order of the words of `region` and `kind`.
const REGION_KINDS: [RegionKind; 4] =
    [RegionKind::Anon, RegionKind::FileShared, RegionKind::FilePrivate, RegionKind::Read];

/// In the order of the words of `advice`.
const ADVICE: [Advice; 12] = [
    Advice::DontNeed,
    Advice::Free,
    Advice::Cold,
    Advice::PageOut,
    Advice::WillNeed,
    Advice::PopulateRead,
    Advice::PopulateWrite,
    Advice::Sequential,
    Advice::Random,
    Advice::Normal,
    Advice::HugePage,
    Advice::NoHugePage,
];

/// Reads all tasks. `memcgs` and `kernel` are those of the machine, `dir` the scenario's folder.
pub(super) fn tasks(
    root: &Reader<'_>,
    memcgs: &[&str],
    kernel: Kernel,
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
    for (i, node) in list.iter().enumerate() {
        let path = format!("task[{i}]");
        let r = Reader::open_by(root.sources, node, Kind::Tasks, &path)?;
        let which = WORKLOADS[r.choice("workload")?];
        let given = r.opt_name("name")?;
        if given.is_some_and(|n| tasks.iter().any(|t| t.name == n)) {
            let found = format!("\"{}\" names two tasks", given.unwrap_or(""));
            return Err(r.error("name", found, "another name"));
        }
        let name = match given {
            Some(n) => n.to_string(),
            None => free_name(which, &tasks, list),
        };
        let cx = TaskCx { name: &name, threads: r.get("threads")?, kernel, dir };
        let work = workload(&r, which, &cx)?;
        let threads = threads(&r, &work, cx.threads)?;
        let loads = |w: &WorkloadSpec| matches!(w, WorkloadSpec::Fragment(f) if f.load.is_some());
        if loads(&work) && tasks.iter().any(|t| loads(&t.work)) {
            return Err(r.error("load", "a second layout", "one in all"));
        }
        let memcg = r.opt_name("memcg")?;
        if let Some(m) = memcg.filter(|m| !memcgs.contains(m)) {
            return Err(r.unknown_word("memcg", "memory cgroup", m, memcgs));
        }
        tasks.push(TaskSpec {
            name,
            threads,
            processes: r.count_u32("processes")?,
            memcg: memcg.map(str::to_string),
            start: r.time("start")?,
            work,
        });
    }
    Ok(tasks)
}

/// Threads of a process: not more than the workload has work for.
fn threads(r: &Reader<'_>, work: &WorkloadSpec, threads: u32) -> Result<u32, Error> {
    let most = match work {
        WorkloadSpec::Phased(_)
        | WorkloadSpec::Replay(_)
        | WorkloadSpec::Script(_)
        | WorkloadSpec::Requests(_)
        | WorkloadSpec::Masim(_)
        | WorkloadSpec::Fragment(_)
        | WorkloadSpec::HighAlloc(_)
        | WorkloadSpec::Apps(_) => 1,
        // Each thread has a part of the region.
        WorkloadSpec::Sequential(s) | WorkloadSpec::Cyclic(s) => s.pages,
        WorkloadSpec::KernelAlloc(k) => k.attempts.min(u32::MAX.into()) as u32,
        _ => u32::MAX,
    };
    if threads > most {
        let found = format!("{threads}, more than \"{}\" can use here", work.name());
        return Err(r.error("threads", found, format!("at most {most}")));
    }
    Ok(threads)
}

/// `zipf`, or `zipf-2` and so on where that is taken, now or by a name further down.
fn free_name(base: &str, before: &[TaskSpec], all: &[Node]) -> String {
    let taken = |n: &str| {
        let given =
            |t: &Node| t.table().and_then(|t| t.get("name")).and_then(Node::as_text) == Some(n);
        before.iter().any(|t| t.name == n) || all.iter().any(given)
    };
    let mut name = base.to_string();
    let mut k = 2;
    while taken(&name) {
        name = format!("{base}-{k}");
        k += 1;
    }
    name
}

fn workload(r: &Reader<'_>, which: &str, cx: &TaskCx<'_>) -> Result<WorkloadSpec, Error> {
    let (kernel, dir) = (cx.kernel, cx.dir);
    Ok(match which {
        "ebizzy" => WorkloadSpec::Ebizzy(ebizzy(r)?),
        "zipf" => WorkloadSpec::Zipf(random_access(r, r.number("theta")?)?),
        "uniform" => WorkloadSpec::Uniform(random_access(r, 0.0)?),
        "sequential" => WorkloadSpec::Sequential(scan(r)?),
        "cyclic" => WorkloadSpec::Cyclic(scan(r)?),
        "phased" => WorkloadSpec::Phased(phased(r, kernel)?),
        "replay" => WorkloadSpec::Replay(Replay {
            trace: file(r, "trace", dir)?,
            repeat: r.count_u32("repeat")?,
            think_permille: r.count_u32("think-permille")?,
            mode: [ReplayMode::Recorded, ReplayMode::Closed, ReplayMode::Timed]
                [r.choice("mode")?],
        }),
        "script" => WorkloadSpec::Script(script(r, dir)?),
        "kernel-alloc" => WorkloadSpec::KernelAlloc(keys::kernel_alloc(r, cx)?),
        "fragment" => {
            let config = keys::fragment(r, cx)?;
            WorkloadSpec::Fragment(Fragment { load: keys::layout(r, cx)?, config })
        }
        "highalloc" => WorkloadSpec::HighAlloc(keys::highalloc(r, cx)?),
        "masim" => WorkloadSpec::Masim(masim(r, dir)?),
        "build" => WorkloadSpec::Build(keys::build(r, cx)?),
        "apps" => WorkloadSpec::Apps(keys::apps(r, cx)?),
        "reader" => WorkloadSpec::Reader(keys::reader(r, cx)?),
        other => unreachable!("workload {other} has no reader"),
    })
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
        if root.flag("bounds")? {
            let found = "nobody evicts huge pages of hugetlbfs, and the optimum knows no others";
            return Err(root.error("bounds", found, "`false`"));
        }
        if all > u64::from(pool) {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, Kind::Tasks, &path)?;
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
            let r = Reader::open_by(root.sources, node, Kind::Tasks, &path)?;
            let found = format!("with this task there are {all} processes");
            let write = format!("fewer: at most {MOST_PROCESSES} of all tasks");
            return Err(r.error("processes", found, write));
        }
    }
    Ok(())
}

/// What fragmenters keep is neither reclaimed nor moved and outlives them, so all of it has to fit
/// into what the allocator manages less what the system holds.
pub(super) fn check_pinned(root: &Reader<'_>, tasks: &[TaskSpec], room: u64) -> Result<(), Error> {
    let mut before = 0;
    for (i, (task, node)) in tasks.iter().zip(root.list("task")?).enumerate() {
        let WorkloadSpec::Fragment(Fragment { config: w, .. }) = &task.work else { continue };
        // Who takes all there is keeps a part of it, however much that is.
        let (Some(take), keep) = (w.take, u128::from(w.keep_permille)) else { continue };
        let n = u64::from(task.processes);
        let kept = u64::try_from(u128::from(take) * keep / 1000).unwrap_or(u64::MAX);
        let all = kept.saturating_mul(n).saturating_add(before);
        if all > room {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, Kind::Tasks, &path)?;
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
        let stands = w.think == SimDuration::ZERO && w.region != RegionKind::Read;
        if t_hit == SimDuration::ZERO && stands && matches!(w.extent, End::After(_)) {
            let path = format!("task[{i}]");
            let r = Reader::open_by(root.sources, node, Kind::Tasks, &path)?;
            let found = "time would not pass, since machine.cost.t_hit is \"0ns\"";
            return Err(r.error("duration", found, "`accesses` instead, or a `think` time"));
        }
    }
    Ok(())
}

fn region_kind(r: &Reader<'_>, key: &str) -> Result<RegionKind, Error> {
    Ok(REGION_KINDS[r.choice(key)?])
}

fn rank_map(r: &Reader<'_>, key: &str) -> Result<RankMap, Error> {
    Ok([RankMap::Scatter, RankMap::Identity][r.choice(key)?])
}

fn random_access(r: &Reader<'_>, theta: f64) -> Result<RandomAccess, Error> {
    Ok(RandomAccess {
        pages: r.pages_u32("memory")?,
        theta,
        extent: end(r, "accesses")?,
        windows: r.count_u32("windows")?,
        write_permille: r.count_u32("write-permille")?,
        map: rank_map(r, "map")?,
        region: region_kind(r, "region")?,
        own_files: r.choice("files")? == 1,
        think: r.time("think")?,
    })
}

fn scan(r: &Reader<'_>) -> Result<Scan, Error> {
    Ok(Scan {
        pages: r.pages_u32("memory")?,
        passes: r.count_u32("passes")?,
        write: r.flag("write")?,
        region: region_kind(r, "region")?,
    })
}

fn ebizzy(r: &Reader<'_>) -> Result<Ebizzy, Error> {
    r.at_most_one("zipf", "generator")?;
    let (pages, chunk_pages) = (r.pages_u32("memory")?, r.pages_u32("chunk")?);
    if pages % chunk_pages != 0 {
        let found = format!(
            "{} is not a whole number of chunks of {}",
            show_pages(u64::from(pages)),
            show_pages(u64::from(chunk_pages))
        );
        let up = u64::from(pages).next_multiple_of(u64::from(chunk_pages));
        return Err(r.error("memory", found, format!("\"{}\"", show_pages(up))));
    }
    if chunk_pages > 1 << 22 {
        let found = format!("{} is too large", show_pages(u64::from(chunk_pages)));
        return Err(r.error("chunk", found, "at most \"16GiB\""));
    }
    let choice = match r.opt_number("zipf")? {
        Some(theta) => ChunkChoice::Zipf(theta),
        None if r.has("generator") => {
            [ChunkChoice::Lcg, ChunkChoice::LcgBroken][r.choice("generator")?]
        }
        None => ChunkChoice::Lcg,
    };
    Ok(Ebizzy {
        pages,
        chunk_pages,
        extent: end(r, "records")?,
        windows: r.count_u32("windows")?,
        choice,
        copy_buffer: [CopyBuffer::Remap, CopyBuffer::Reuse, CopyBuffer::None]
            [r.choice("copy-buffer")?],
        permutation: rank_map(r, "permutation")?,
        compute: r.time("compute")?,
    })
}

fn script(r: &Reader<'_>, dir: &Path) -> Result<Script, Error> {
    r.one_of("file", "commands")?;
    if r.has("file") {
        return Ok(Script::File(file(r, "file", dir)?));
    }
    let list = r.list("commands")?;
    if list.is_empty() {
        return Err(r.error("commands", "no command at all", "at least one command"));
    }
    let mut commands = Vec::new();
    for (i, n) in list.iter().enumerate() {
        let Some(text) = n.as_text() else {
            let found = describe(&n.value);
            let title = format!("{}[{i}]: found {found}, write a string", r.name_of("commands"));
            return Err(r.sources.error(n.at, title, "write a string"));
        };
        commands.push(text.to_string());
    }
    Ok(Script::Commands(commands))
}

/// The file is read here and not when the machine is built, so that all that is wrong
/// with it is said before anything runs.
fn masim_file(path: &Path, key: &str) -> Result<MasimConfig, Error> {
    let text = crate::files::read_text(path, "a masim file")?;
    MasimConfig::parse(&text).map_err(|e| {
        let title = format!("{key}: {}; {}", e.what, e.instead);
        let shown = path.display().to_string();
        Error::new(ErrorKind::Scenario, title).at(&shown, &text.into(), e.span, e.instead)
    })
}

fn masim(r: &Reader<'_>, dir: &Path) -> Result<Masim, Error> {
    r.one_of("config", "text")?;
    let (file, config) = match r.find("text") {
        Some(node) => {
            let config = MasimConfig::parse(r.opt_text("text")?.unwrap_or("")).map_err(|e| {
                let title = format!("{}: {e}", r.name_of("text"));
                r.sources.error(node.at, title, e.instead)
            })?;
            (None, config)
        }
        None => {
            let path = file(r, "config", dir)?;
            let config = masim_file(&path, &r.name_of("config"))?;
            (Some(path), config)
        }
    };
    let options = MasimOptions {
        repeat: r.count_u32("repeat")?,
        mode: [Mode::Write, Mode::Read, Mode::ReadWrite][r.choice("default-mode")?],
        batch: r.count_u32("batch")?,
        hugetlb: r.flag("hugetlb")?,
    };
    Ok(Masim { file, config: Arc::new(config), options })
}

fn phased(r: &Reader<'_>, kernel: Kernel) -> Result<Phased, Error> {
    r.need("regions")?;
    let mut regions = Vec::new();
    for e in r.table("regions")?.map_or(&[][..], |t| &t.entries) {
        let path = format!("{}.{}", r.name_of("regions"), e.key);
        let g = Reader::open(r.sources, &e.node, &REGION, &path)?;
        g.one_of("memory", "pages")?;
        let pages = match g.opt_pages_u32("memory")? {
            Some(n) => n,
            None => g.count_u32("pages")?,
        };
        regions.push(RegionSpec { name: e.key.clone(), pages, kind: region_kind(&g, "kind")? });
    }
    if regions.is_empty() {
        return Err(r.error("regions", "no region at all", "at least one region"));
    }
    if regions.len() > usize::from(u16::MAX) {
        return Err(r.error("regions", "too many regions", "at most 65535"));
    }
    let names: Vec<&str> = regions.iter().map(|g| g.name.as_str()).collect();
    r.need("steps")?;
    let path = r.name_of("steps");
    let scope = Scope { regions: &regions, names: &names, kernel };
    let steps = steps(r.sources, r.need("steps")?, &path, scope)?;
    Ok(Phased { regions, steps })
}

fn steps(sources: &Sources, node: &Node, path: &str, scope: Scope<'_>) -> Result<Vec<Step>, Error> {
    let Value::List(list) = &node.value else {
        let found = describe(&node.value);
        let title = format!("{path}: found {found}, write a list of tables");
        return Err(sources.error(node.at, title, "write a list of tables"));
    };
    if list.is_empty() {
        let title = format!("{path}: no step at all, write at least one");
        return Err(sources.error(node.at, title, "write at least one step"));
    }
    let mut out = Vec::new();
    for (i, n) in list.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let r = Reader::open_by(sources, n, Kind::Steps, &path)?;
        out.push(StepReader { r, scope }.step()?);
    }
    Ok(out)
}

/// What steps may name, and the kernel that carries them out.
#[derive(Clone, Copy)]
struct Scope<'a> {
    regions: &'a [RegionSpec],
    names: &'a [&'a str],
    kernel: Kernel,
}

/// One step in its scope.
struct StepReader<'a> {
    r: Reader<'a>,
    scope: Scope<'a>,
}

impl StepReader<'_> {
    fn step(&self) -> Result<Step, Error> {
        let r = &self.r;
        Ok(match STEP_NAMES[r.choice("do")?] {
            "allocate" => Step::Allocate { region: self.mapped()?, populate: r.flag("populate")? },
            "touch" => Step::Touch {
                part: self.part()?,
                write: r.flag("write")?,
                passes: r.count_u32("passes")?,
            },
            "window" => {
                let region = self.region()?;
                let pages = self.within(region, "size", r.pages("size")?)?;
                let advance = match r.opt_pages("advance")? {
                    Some(n) => self.within(region, "advance", n)?,
                    None => pages,
                };
                Step::Window { region, pages, advance, write: r.flag("write")? }
            }
            "zipf" => Step::Zipf {
                region: self.region()?,
                theta: r.number("theta")?,
                accesses: r.count("accesses")?,
                write_permille: r.count_u32("write-permille")?,
                map: rank_map(r, "map")?,
            },
            "read" => {
                let part = self.file_part()?;
                Step::Read { part, into: self.into(part)? }
            }
            "write" => Step::Write(self.file_part()?),
            "madvise" => {
                let region = self.mapped()?;
                Step::Madvise { part: self.part()?, advice: self.advice(region)? }
            }
            "free" => Step::Free { region: self.mapped()? },
            "sleep" => Step::Sleep(r.time("time")?),
            "compute" => Step::Compute(r.time("time")?),
            "records" => Step::Records(r.count_u32("count")?),
            "drop-caches" => Step::DropCaches,
            "memcg-reclaim" => Step::MemcgReclaim {
                pages: r.pages_u32("memory")?,
                swappiness: self.reclaim_swappiness()?,
            },
            "phase" => Step::Phase(r.name("name")?.to_string()),
            "repeat" => {
                let path = r.name_of("steps");
                let steps = steps(r.sources, r.need("steps")?, &path, self.scope)?;
                Step::Repeat { times: r.count_u32("times")?, steps }
            }
            other => unreachable!("step {other} has no reader"),
        })
    }

    /// `swappiness=` of a write to `memory.reclaim`, which kernels before 6.9 refuse.
    fn reclaim_swappiness(&self) -> Result<Option<u8>, Error> {
        let given = self.r.opt_count("swappiness")?;
        if given.is_some() && self.scope.kernel < Kernel::V6_12 {
            let found = format!(
                "kernel {} takes no swappiness= in memory.reclaim (Linux has it since 6.9)",
                self.scope.kernel.name()
            );
            return Err(self.r.error("swappiness", found, "kernel = \"6.12\", or leave it out"));
        }
        Ok(given.map(|n| n as u8))
    }

    fn advice(&self, region: usize) -> Result<Advice, Error> {
        let advice = ADVICE[self.r.choice("advice")?];
        if advice == Advice::Free && self.scope.regions[region].kind != RegionKind::Anon {
            let found = format!(
                "`free` of `{}`, which maps a file: Linux refuses it (EINVAL)",
                self.scope.names[region]
            );
            return Err(self.r.error("advice", found, "\"dontneed\" or \"pageout\""));
        }
        Ok(advice)
    }

    fn region(&self) -> Result<usize, Error> {
        self.region_by("region")
    }

    fn region_by(&self, key: &str) -> Result<usize, Error> {
        let name = self.r.name(key)?;
        self.scope.names.iter().position(|n| *n == name).ok_or_else(|| {
            let (at, prefix) = (self.r.need(key).map_or(self.r.at, |n| n.at), self.r.name_of(key));
            unknown(self.r.sources, at, &format!("{prefix}: "), "region", name, self.scope.names)
        })
    }

    /// A region that has a mapping.
    fn mapped(&self) -> Result<usize, Error> {
        self.mapped_by("region")
    }

    fn mapped_by(&self, key: &str) -> Result<usize, Error> {
        let i = self.region_by(key)?;
        if self.scope.regions[i].kind == RegionKind::Read {
            let found = format!("`{}` is never mapped (kind = \"read\")", self.scope.names[i]);
            return Err(self.r.error(key, found, "a region of another kind"));
        }
        Ok(i)
    }

    /// The region that receives what is read: it has the pages at the same place.
    fn into(&self, part: Part) -> Result<Option<usize>, Error> {
        if !self.r.has("into") {
            return Ok(None);
        }
        let into = self.mapped_by("into")?;
        let (has, end) = (self.scope.regions[into].pages, part.first + part.pages);
        if has < end {
            let found = format!(
                "`{}` has {}, and what is read ends after {}",
                self.scope.names[into],
                show_pages(u64::from(has)),
                show_pages(u64::from(end))
            );
            return Err(self.r.error("into", found, "a region that is as long"));
        }
        Ok(Some(into))
    }

    fn within(&self, region: usize, key: &str, pages: u64) -> Result<u32, Error> {
        let all = self.scope.regions[region].pages;
        match u32::try_from(pages) {
            Ok(n) if n <= all => Ok(n),
            _ => {
                let found = format!(
                    "{} is more than the region `{}`",
                    show_pages(pages),
                    self.scope.names[region]
                );
                let write = format!("at most \"{}\"", show_pages(u64::from(all)));
                Err(self.r.error(key, found, write))
            }
        }
    }

    fn part(&self) -> Result<Part, Error> {
        let region = self.region()?;
        let all = self.scope.regions[region].pages;
        let first = self.r.pages("first")?;
        if first >= u64::from(all) {
            let found = format!(
                "{} is beyond the end of `{}`",
                show_pages(first),
                self.scope.names[region]
            );
            let write = format!("less than \"{}\"", show_pages(u64::from(all)));
            return Err(self.r.error("first", found, write));
        }
        let first = first as u32;
        let pages = match self.r.opt_pages("size")? {
            None => all - first,
            Some(n) if n <= u64::from(all - first) => n as u32,
            Some(n) => {
                let found = format!(
                    "{} reaches beyond the end of `{}`",
                    show_pages(n),
                    self.scope.names[region]
                );
                let write = format!("at most \"{}\"", show_pages(u64::from(all - first)));
                return Err(self.r.error("size", found, write));
            }
        };
        Ok(Part { region, first, pages })
    }

    fn file_part(&self) -> Result<Part, Error> {
        let part = self.part()?;
        if self.scope.regions[part.region].kind == RegionKind::Anon {
            let found =
                format!("`{}` is anonymous memory, not a file", self.scope.names[part.region]);
            return Err(self.r.error("region", found, "a region with kind = \"read\""));
        }
        Ok(part)
    }
}
