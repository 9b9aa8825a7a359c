//! From `[[task]]` to what tasks do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::memory::Layout;
use mmsim_core::phys::gfp::{
    GFP_ATOMIC, GFP_KERNEL, GFP_NOFS, GFP_NOIO, GFP_NOWAIT, GFP_USER, GfpFlags,
};
use mmsim_core::workload::Advice;
use mmsim_workload::masim::{MasimConfig, MasimOptions, Mode};

use super::keys::{self, FRAGMENT_TARGET, Kind, REGION, STEP_NAMES, WORKLOADS};
use super::raw::{Node, Sources, Value};
use super::read::{Reader, describe, unknown};
use super::units::show_pages;
use super::workload::{
    Apps, Build, ChunkChoice, CopyBuffer, Ebizzy, Extent, Fragment, FragmentTarget, HighAlloc,
    KeepLaw, KernelAlloc, MOST_PROCESSES, Masim, Part, Phased, RandomAccess, RankMap,
    ReadingDatabase, RegionKind, RegionSpec, Replay, ReplayMode, ReuseOrder, Scan, Script, Step,
    TaskSpec, WorkloadSpec,
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
        let work = workload(&r, kernel, dir)?;
        let threads = threads(&r, &work)?;
        let given = r.opt_name("name")?;
        if given.is_some_and(|n| tasks.iter().any(|t| t.name == n)) {
            let found = format!("\"{}\" names two tasks", given.unwrap_or(""));
            return Err(r.error("name", found, "another name"));
        }
        let loads = |w: &WorkloadSpec| matches!(w, WorkloadSpec::Fragment(f) if f.load.is_some());
        if loads(&work) && tasks.iter().any(|t| loads(&t.work)) {
            return Err(r.error("load", "a second layout", "one in all"));
        }
        let memcg = r.opt_name("memcg")?;
        if let Some(m) = memcg.filter(|m| !memcgs.contains(m)) {
            return Err(r.unknown_word("memcg", "memory cgroup", m, memcgs));
        }
        let name = match given {
            Some(n) => n.to_string(),
            None => free_name(work.name(), &tasks, list),
        };
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
fn threads(r: &Reader<'_>, work: &WorkloadSpec) -> Result<u32, Error> {
    let threads = r.count_u32("threads")?;
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

fn workload(r: &Reader<'_>, kernel: Kernel, dir: &Path) -> Result<WorkloadSpec, Error> {
    let which = WORKLOADS[r.choice("workload")?];
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
        "kernel-alloc" => WorkloadSpec::KernelAlloc(kernel_alloc(r)?),
        "fragment" => WorkloadSpec::Fragment(fragment(r, dir)?),
        "highalloc" => WorkloadSpec::HighAlloc(highalloc(r)?),
        "masim" => WorkloadSpec::Masim(masim(r, dir)?),
        "build" => WorkloadSpec::Build(build(r)?),
        "apps" => WorkloadSpec::Apps(apps(r)?),
        "reader" => WorkloadSpec::Reader(reader(r)?),
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
        let WorkloadSpec::Fragment(w) = &task.work else { continue };
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
        if t_hit == SimDuration::ZERO && stands && matches!(w.extent, Extent::Time(_)) {
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

/// Exactly one of an amount of work and a duration.
fn extent(r: &Reader<'_>, work: &str) -> Result<Extent, Error> {
    r.one_of(work, "duration")?;
    Ok(match r.opt_time_of_work("duration")? {
        Some(t) => Extent::Time(t),
        None => Extent::Work(r.count(work)?),
    })
}

fn random_access(r: &Reader<'_>, theta: f64) -> Result<RandomAccess, Error> {
    Ok(RandomAccess {
        pages: r.pages_u32("memory")?,
        theta,
        extent: extent(r, "accesses")?,
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

/// What a request may do, by `gfp` and `retry`.
fn gfp(r: &Reader<'_>) -> Result<GfpFlags, Error> {
    let flags =
        [GFP_KERNEL, GFP_USER, GFP_NOFS, GFP_NOIO, GFP_NOWAIT, GFP_ATOMIC][r.choice("gfp")?];
    let retry = [GfpFlags::default(), GfpFlags::NORETRY, GfpFlags::RETRY_MAYFAIL, GfpFlags::NOFAIL]
        [r.choice("retry")?];
    if flags.atomic() && retry == GfpFlags::NOFAIL {
        let found = "a request that may not sleep can fail";
        return Err(r.error("retry", found, "another `retry`, or `gfp = \"kernel\"`"));
    }
    Ok(flags.with(retry))
}

/// Of 1000 pages taken, so many stay where only a target is given: enough of both kinds to
/// exchange.
const KEPT_FOR_TARGET: u32 = 500;

fn fragment_target(r: &Reader<'_>) -> Result<Option<FragmentTarget>, Error> {
    let Some(node) = r.find("target") else { return Ok(None) };
    let path = r.name_of("target");
    let t = Reader::open(r.sources, node, &FRAGMENT_TARGET, &path)?;
    t.one_of("unusable", "index")?;
    let index = t.opt_count("index")?;
    Ok(Some(FragmentTarget {
        order: t.count_u32("order")? as u8,
        index: index.is_some(),
        permille: index.or(t.opt_count("unusable")?).unwrap_or(0) as u32,
        tolerance: t.count_u32("tolerance")?,
        patience: t.count_u32("patience")?,
    }))
}

/// A layout to begin with. What would have made one contradicts it.
fn fragment_load(r: &Reader<'_>, dir: &Path) -> Result<Option<(PathBuf, Arc<Layout>)>, Error> {
    if !r.has("load") {
        return Ok(None);
    }
    for key in ["keep-permille", "memory"] {
        r.at_most_one("load", key)?;
    }
    if r.count_u32("processes")? > 1 {
        return Err(r.error("processes", "several that would hold the same pages", "1"));
    }
    let path = file(r, "load", dir)?;
    let layout = crate::layout::load(&path)?;
    Ok(Some((path, Arc::new(layout))))
}

fn fragment(r: &Reader<'_>, dir: &Path) -> Result<Fragment, Error> {
    let kinds = (r.count_u32("movable-permille")?, r.count_u32("reclaimable-permille")?);
    if kinds.0 + kinds.1 > 1000 {
        let found =
            format!("{} with movable-permille = {} are more than all pages", kinds.1, kinds.0);
        let write = format!("at most {}", 1000 - kinds.0);
        return Err(r.error("reclaimable-permille", found, write));
    }
    let run = r.count_u32("run")?;
    let law = [KeepLaw::Uniform, KeepLaw::Rotate, KeepLaw::Fixed(run), KeepLaw::Geometric(run)]
        [r.choice("law")?];
    if run != 1 && matches!(law, KeepLaw::Uniform | KeepLaw::Rotate) {
        let found = format!("{run} frames in a law without runs");
        return Err(r.error("run", found, "`law = \"fixed\"` or \"geometric\", or no `run`"));
    }
    let (churn, age) = (r.count("churn")?, r.time("age")?);
    if churn > 0 && age == SimDuration::ZERO {
        return Err(r.error("churn", "churn that lasts no time", "`age` too, such as \"10s\""));
    }
    let (load, target) = (fragment_load(r, dir)?, fragment_target(r)?);
    if target.is_none() && load.is_none() {
        r.need("keep-permille")?;
    }
    let cluster = r.count_u32("cluster")?;
    Ok(Fragment {
        load,
        take: r.opt_pages("memory")?,
        kinds,
        cluster,
        reclaimable_cluster: r.opt_count("reclaimable-cluster")?.map_or(cluster, |n| n as u32),
        flags: gfp(r)?,
        failures: r.count_u32("failures")?,
        pause: r.time("pause")?,
        keep_permille: r.opt_count("keep-permille")?.map_or(KEPT_FOR_TARGET, |n| n as u32),
        law,
        target,
        release: r.pages("release")?,
        settle: r.time("settle")?,
        churn,
        age,
    })
}

fn highalloc(r: &Reader<'_>) -> Result<HighAlloc, Error> {
    Ok(HighAlloc {
        order: r.count_u32("order")? as u8,
        migratetype: Migratetype::REQUESTS[r.choice("migratetype")?],
        flags: gfp(r)?,
        attempts: r.count("attempts")?,
        interval: r.time("interval")?,
        rounds: r.count_u32("rounds")?,
        rest: r.time("rest")?,
        hold: r.time("hold")?,
        drop_caches: r.flag("drop-caches")?,
    })
}

fn kernel_alloc(r: &Reader<'_>) -> Result<KernelAlloc, Error> {
    Ok(KernelAlloc {
        order: r.count_u32("order")? as u8,
        migratetype: Migratetype::REQUESTS[r.choice("migratetype")?],
        flags: gfp(r)?,
        attempts: r.count("attempts")?,
        hold: r.opt_count("hold")?,
        free_permille: r.count_u32("free-permille")?,
        interval: r.time("interval")?,
    })
}

fn build(r: &Reader<'_>) -> Result<Build, Error> {
    let compute = (r.time("compute-min")?, r.time("compute-max")?);
    if compute.0 > compute.1 {
        return Err(bounds(r, ("compute-min", compute.0), ("compute-max", compute.1)));
    }
    let build = Build {
        extent: extent(r, "records")?,
        windows: r.count_u32("windows")?,
        text: r.pages_u32("text")?,
        headers: r.count_u32("headers")?,
        header_pages: r.pages_u32("header")?,
        header_reads: r.count_u32("header-reads")?,
        header_zipf: r.number("header-zipf")?,
        sources: r.count_u32("sources")?,
        source_pages: r.pages_u32("source")?,
        anon: pages_between(r, "anon-min", "anon-max")?,
        bursts: r.count_u32("bursts")?,
        passes: r.count_u32("passes")?,
        compute,
        object: pages_between(r, "object-min", "object-max")?,
        link_every: r.count_u32("link-every")?,
        unmovable: r.count_u32("unmovable")?,
        reclaimable: r.count_u32("reclaimable")?,
    };
    files_of_build(r, &build)?;
    Ok(build)
}

/// All files of a build have to find room among the pages that a machine can number. The key
/// that asks for most of them is the mistake.
fn files_of_build(r: &Reader<'_>, b: &Build) -> Result<(), Error> {
    let archives = match b.link_every {
        0 => 0,
        n => u64::from(b.sources.div_ceil(n)) * u64::from(n),
    };
    let parts = [
        // The file, and at least one worker's mapping of it.
        ("text", 2 * u64::from(b.text)),
        ("header", u64::from(b.headers) * u64::from(b.header_pages)),
        ("source", u64::from(b.sources) * u64::from(b.source_pages)),
        ("object-max", (u64::from(b.sources) + archives) * u64::from(b.object.1)),
    ];
    let all: u64 = parts.iter().map(|p| p.1).sum();
    match parts.iter().max_by_key(|p| p.1) {
        Some((key, _)) if all > keys::U32 => {
            let found = format!("all files of the build are {}, too many", show_pages(all));
            Err(r.error(key, found, "a smaller size, or fewer files"))
        }
        _ => Ok(()),
    }
}

fn apps(r: &Reader<'_>) -> Result<Apps, Error> {
    let (start, interval) = (r.time("launch")?, r.time("interval")?);
    if start > interval {
        return Err(bounds(r, ("launch", start), ("interval", interval)));
    }
    let tenth = SimDuration::from_millis(100);
    if interval < tenth {
        return Err(r.error("interval", format!("{interval} is too short"), "at least \"100ms\""));
    }
    let apps = r.count_u32("apps")?;
    let cached = r.opt_count("cached")?.map_or(apps, |n| n as u32);
    let spread = r.number("spread")?;
    let sizes = (r.pages_u32("mapped")?, r.pages_u32("read")?, r.pages_u32("heap")?);
    for (key, pages) in [("mapped", sizes.0), ("read", sizes.1), ("heap", sizes.2)] {
        // No size of an app is more than `spread` times this.
        let all = f64::from(pages) * spread * f64::from(apps);
        if all > keys::U32 as f64 {
            let found = format!("{} for each of {apps} apps is too much", show_pages(pages.into()));
            return Err(r.error(key, found, "a smaller size, or fewer apps"));
        }
    }
    Ok(Apps {
        extent: extent(r, "records")?,
        windows: r.count_u32("windows")?,
        apps,
        mapped: sizes.0,
        read: sizes.1,
        heap: sizes.2,
        spread,
        fixed_order: r.choice("order")? == 1,
        interval,
        start,
        cold_permille: r.count_u32("cold-permille")?,
        cached,
        sequential_permille: r.count_u32("sequential-permille")?,
        zipf: r.number("zipf")?,
        reread_permille: r.count_u32("reread-permille")?,
        rereads: counts_between(r, "reread-min", "reread-max")?,
        collections: r.count_u32("collections")?,
        free_permille: r.count_u32("free-permille")?,
        free_run: r.pages_u32("free-run")?,
        reuse_permille: r.count_u32("reuse-permille")?,
        reuse_order: [ReuseOrder::Random, ReuseOrder::Lifo, ReuseOrder::Fifo]
            [r.choice("reuse-order")?],
        reuse_within: r.time("reuse-within")?,
        resume_permille: r.count_u32("resume-permille")?,
        background: r.time("background")?,
        background_permille: r.count_u32("background-permille")?,
        trim_after: r.time("trim-after")?,
        trim_permille: r.count_u32("trim-permille")?,
    })
}

fn reader(r: &Reader<'_>) -> Result<ReadingDatabase, Error> {
    let (item, block) = (r.pages_u32("item")?, r.pages_u32("block")?);
    if item % block != 0 {
        let show = |pages: u32| show_pages(pages.into());
        let found = format!("{} is not a whole number of blocks of {}", show(item), show(block));
        let up = u64::from(item).next_multiple_of(block.into());
        return Err(r.error("item", found, format!("\"{}\"", show_pages(up))));
    }
    let items = r.count_u32("items")?;
    let data = u64::from(items) * u64::from(item);
    if data > keys::U32 {
        let found = format!("{items} items are {}, too many", show_pages(data));
        return Err(r.error("items", found, "fewer items, or smaller ones"));
    }
    let (index, index_reads) = (r.pages_u32("index")?, r.count_u32("index-reads")?);
    if index == 0 && index_reads > 0 {
        let found = format!("{index_reads} reads of an index that is empty");
        return Err(r.error("index-reads", found, "0, or give `index` a size"));
    }
    Ok(ReadingDatabase {
        extent: extent(r, "records")?,
        windows: r.count_u32("windows")?,
        items,
        blocks: item / block,
        block,
        theta: match r.choice("choice")? {
            0 => Some(r.number("theta")?),
            _ if !r.is_default("theta") => {
                let found = "items that are taken in turn follow no law";
                return Err(r.error("theta", found, "choice = \"zipf\", or leave `theta` out"));
            }
            _ => None,
        },
        index,
        index_reads,
        stale: r.pages_u32("stale")?,
        stale_reads: counts_between(r, "stale-min", "stale-max")?,
        idle: r.pages_u32("idle")?,
    })
}

/// Two counts, the first of which is not the larger one.
fn counts_between(r: &Reader<'_>, low: &str, high: &str) -> Result<(u32, u32), Error> {
    let (from, to) = (r.count_u32(low)?, r.count_u32(high)?);
    match from > to {
        true => Err(bounds(r, (low, from), (high, to))),
        false => Ok((from, to)),
    }
}

/// Two sizes, the first of which is not the larger one.
fn pages_between(r: &Reader<'_>, low: &str, high: &str) -> Result<(u32, u32), Error> {
    let (from, to) = (r.pages_u32(low)?, r.pages_u32(high)?);
    if from > to {
        let show = |pages: u32| show_pages(u64::from(pages));
        return Err(bounds(r, (low, show(from)), (high, show(to))));
    }
    Ok((from, to))
}

/// A lower bound above the upper one. The one that was written is the mistake; of two, the
/// upper one.
fn bounds<T: std::fmt::Display>(r: &Reader<'_>, low: (&str, T), high: (&str, T)) -> Error {
    if r.is_default(high.0) {
        let found = format!("{} is more than `{}`, which is {}", low.1, high.0, high.1);
        return r.error(low.0, found, format!("\"{}\" or less, or change `{}`", high.1, high.0));
    }
    let found = format!("{} is less than `{}`, which is {}", high.1, low.0, low.1);
    r.error(high.0, found, format!("\"{}\" or more, or change `{}`", low.1, low.0))
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
        extent: extent(r, "records")?,
        windows: r.count_u32("windows")?,
        choice,
        copy_buffer: [CopyBuffer::Remap, CopyBuffer::Reuse, CopyBuffer::None]
            [r.choice("copy-buffer")?],
        permutation: rank_map(r, "permutation")?,
        compute: r.time("compute")?,
    })
}

/// A file that must exist, relative to the scenario's folder.
fn file(r: &Reader<'_>, key: &str, dir: &Path) -> Result<PathBuf, Error> {
    let written = r.name(key)?;
    let path = dir.join(written);
    if path.is_dir() {
        return Err(r.error(key, format!("`{written}` is a directory"), "the name of a file"));
    }
    if !path.is_file() {
        let found = format!("there is no file `{written}`");
        return Err(r.error(key, found, "a name relative to the scenario file"));
    }
    Ok(path)
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
            "memcg-reclaim" => {
                self.has_memory_reclaim()?;
                let (pages, swappiness) = (r.pages_u32("memory")?, self.reclaim_swappiness()?);
                Step::MemcgReclaim { pages, swappiness }
            }
            "phase" => Step::Phase(r.name("name")?.to_string()),
            "repeat" => {
                let path = r.name_of("steps");
                let steps = steps(r.sources, r.need("steps")?, &path, self.scope)?;
                Step::Repeat { times: r.count_u32("times")?, steps }
            }
            other => unreachable!("step {other} has no reader"),
        })
    }

    /// Groups have the file `memory.reclaim`.
    fn has_memory_reclaim(&self) -> Result<(), Error> {
        if self.scope.kernel >= Kernel::V6_1 {
            return Ok(());
        }
        let kernel = self.scope.kernel.name();
        let found = format!("kernel {kernel} has no memory.reclaim (Linux has it since 5.19)");
        Err(self.r.error("do", found, "another step, or use kernel 6.1 or later"))
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
