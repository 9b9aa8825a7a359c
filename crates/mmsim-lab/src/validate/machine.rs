//! The machine of a recorded point: its zones, its swap, its knobs, nothing fitted.
//!
//! A missing feature that a recording needs is described in words, so that the point is listed with
//! the reason and not replayed as something else.

use mmsim_compaction::TwoScanners;
use mmsim_core::backing::device::{DeviceConfig, WBT_LAT};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::rules::{KernelRules, MemcgCharges, MemcgStats};
use mmsim_core::base::settings::{Row, Settings as _};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{
    Kernel, MachineConfig, MemcgConfig, MemcgMount, SwapConfig, VmSysctl, ZoneConfig, ZoneKind,
    ZswapConfig,
};
use mmsim_core::machine::TaskConfig;
use mmsim_core::workload::{Op, Workload, WorkloadCx};
use mmsim_workload::script::{
    Command, LruGen, Script, ScriptGroup, ScriptSetup, ScriptSwap, SwapDevice,
};

use super::booted::Booted;
use super::patched::Patched;
use super::point::{Phase, Point, Zones};
use super::{boot, contents, cost, damon};
use mmsim::machines::{Machine, Policy};
use mmsim_lru::MglruConfig;

/// Feature that a recorded point needs and the model lacks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Lacking(String);

/// Number of replays of a point: each repetition once, a point with a monitor more often, and one
/// of fewer than three repetitions four times.
pub(super) fn replays(p: &Point) -> usize {
    match damon::replays(p) {
        n if n > 2 => n,
        n => 4 / n.max(1) * n,
    }
}

/// The machine of one replay of a point, or why it cannot be modelled. Replays differ in when the
/// scheduler's tick comes, which was not recorded, and where there are more than repetitions also in
/// the draws of a monitor.
///
/// # Errors
/// The first thing that the point needs and the model lacks.
pub fn machine(p: &Point, replay: usize) -> Result<Machine, Lacking> {
    built(p, replay).map_err(Lacking)
}

fn built(p: &Point, replay: usize) -> Result<Machine, String> {
    let repetition = replay % p.repetitions.max(1);
    let (config, script) = planned(p, repetition)?;
    let policy = policy(p, config.kernel, &script.setup)?;
    let workload = script.workload().map_err(|e| e.to_string())?.paced(cost::pace());
    // Absent in 6.18, present in 7.3, mm/vmalloc.c.
    let workload = workload.with_large_vmalloc(config.kernel >= Kernel::V7_3);
    let frames: u64 = config.nodes[0].zones.iter().map(|z| u64::from(z.managed)).sum();
    let (child, kdamond) = damon::watched(p, &script, config.kernel, (replay, 0..frames << 12))?;
    let mut threads: Vec<Box<dyn Workload>> = vec![Box::new(workload)];
    threads.extend(child.map(|c| Box::new(c) as Box<dyn Workload>));
    let mut contents = contents::of(&script)?;
    let mut of_process = |nth| contents.remove(&nth).unwrap_or_default();
    let first = TaskConfig::new("workload", threads).with_memcg(script.setup.joined);
    let mut tasks = vec![first.with_contents_in_turn(of_process(None))];
    tasks.extend(script.processes.iter().enumerate().map(|(nth, process)| {
        let workload = script.workload_of(process).paced(cost::pace());
        TaskConfig::new(process.number.to_string(), vec![Box::new(workload)])
            .with_memcg(process.group)
            .with_oom_score_adj(process.oom_score_adj)
            .with_contents_in_turn(of_process(Some(nth)))
            .meeting_the_one_before()
    }));
    for computes in boot_threads(p, &script, config.kernel) {
        tasks.push(TaskConfig::new("cryptomgr_test", vec![Box::new(Computes(Some(computes)))]));
    }
    let mut machine = Machine::new(&config, tasks, 0, |mem| policy.create(mem, 0));
    // Of as many equal parts of a tick as there are replays, the middle of each.
    let parts = 2 * replays(p) as u64;
    let since_tick = SimDuration(config.tick.0 * (2 * replay as u64 + 1) / parts);
    machine.scheduler_at_start(since_tick, cost::lags(config.kernel));
    if script.setup.cgroup2.is_some() {
        machine.ramfs_at_start("init", held_by_root(p));
    } else if config.nodes[0].zones.iter().any(|z| z.layout.is_some()) {
        machine.ramfs_at_start("init", ramfs_pages(p, repetition));
    }
    let (cached, active) = cached_at_start(p);
    if cached > 0 {
        machine.cache_at_start("left by others", cached, active);
    }
    if let Some(k) = kdamond {
        machine.add_monitor(None, Box::new(k));
    }
    if asks_for_blocks(&script) {
        let rules = mmsim_compaction::preset_for_kernel(config.kernel);
        machine.set_compaction(Box::new(TwoScanners::new(rules, &machine.mem)));
    }
    Ok(machine)
}

/// CPU time that threads of the boot have left when the workload starts. Loading a file system takes
/// longer than all of it. Of kernels with groups they were not measured.
fn boot_threads(p: &Point, script: &Script, kernel: Kernel) -> Vec<SimDuration> {
    let start = p.phases.iter().find(|x| x.phase == "start");
    let faults = start.and_then(|x| x.counters.get("pgfault"));
    let measured = script.setup.mount.is_none() && script.processes.is_empty();
    let Some(ballast) = faults.filter(|_| measured) else { return Vec::new() };
    let entries = p.script.iter().filter_map(|l| l.strip_prefix("table ")?.split(' ').nth(1));
    let entries = entries.filter_map(|n| n.parse::<u64>().ok()).sum();
    cost::boot_threads(kernel, ballast.spread()[0] as u64, entries)
}

/// A thread of the boot that only computes.
struct Computes(Option<SimDuration>);

impl Workload for Computes {
    fn minimum_pages(&self) -> u64 {
        0
    }
    fn fill(&mut self, _: &WorkloadCx<'_>, _: &mut Rng, ops: &mut Vec<Op>) {
        ops.extend(self.0.take().map(Op::Compute));
    }
}

/// Unevictable pages when the script began: ballast and the program's own.
fn held_by_root(p: &Point) -> u32 {
    let start = p.phases.iter().find(|x| x.phase == "start");
    let locked = start.and_then(|x| x.gauges.get("nr_unevictable"));
    locked.map_or(0, |r| r.spread()[0].round() as u32)
}

/// Pages of the page cache that were on the recorded lists when the script began, and how many of
/// them were active: read by whoever booted the machine and mounted its file system.
fn cached_at_start(p: &Point) -> (u32, u32) {
    let start = p.phases.iter().find(|x| x.phase == "start");
    let gauge = |name: &str| {
        let of = start.and_then(|x| x.gauges.get(name));
        of.map_or(0, |r| r.spread()[0].round() as u32)
    };
    let (inactive, active) = (gauge("nr_inactive_file"), gauge("nr_active_file"));
    (inactive.saturating_add(active), active)
}

/// A region that no script uses, for the pages of the recorded program.
const PROGRAM: u32 = 63;

/// True if a script needs large blocks: others are recorded with compaction idle.
fn asks_for_blocks(script: &Script) -> bool {
    script.commands.iter().any(|c| {
        matches!(
            c,
            Command::HugePool(_)
                | Command::Thp { .. }
                | Command::Pring { .. }
                | Command::CompactMemory
        )
    })
}

/// The zones when the workload starts. Where they were recorded only after memory had been
/// fragmented, what the workload held by then was free before.
fn zones_at_start(p: &Point) -> Zones {
    if !p.zones_at_start.is_empty() {
        return p.zones_at_start.clone();
    }
    let (name, after) = p.zones_after_setup();
    let until = p.phases.iter().position(|x| x.phase == name).map_or(0, |i| i + 1);
    let counted = |phases: &[Phase], name: &str| -> f64 {
        phases.iter().filter_map(|x| x.counters.get(name)).map(|r| r.spread()[0]).sum()
    };
    let allocated =
        |phases: &[Phase], zone: &str| counted(phases, &format!("pgalloc_{}", zone.to_lowercase()));
    let before = &p.phases[..until];
    // Pages of the process, their page tables, and what is held besides.
    let anon = before.last().and_then(|x| x.gauges.get("nr_inactive_anon"));
    let others: Vec<Phase> = before.iter().filter(|x| x.phase == "polluted").cloned().collect();
    let held = anon.map_or(0.0, |r| r.spread()[0])
        + counted(before, "pgfault") / 512.0
        + after.keys().map(|z| allocated(&others, z)).sum::<f64>();
    let all: f64 = after.keys().map(|z| allocated(before, z)).sum();
    let mut zones = after.clone();
    for (name, z) in &mut zones {
        let share = if all > 0.0 { held * allocated(before, name) / all } else { 0.0 };
        z.free = (z.free + share as u32).min(z.managed - z.pcp.count.min(z.managed));
    }
    zones
}

/// Checks that such a machine is possible, without building it.
pub(super) fn can_be(p: &Point, repetition: usize) -> Result<(), String> {
    planned(p, repetition).map(|_| ())
}

fn planned(p: &Point, repetition: usize) -> Result<(MachineConfig, Script), String> {
    let kernel = kernel(p)?;
    let script = script(p, repetition)?;
    policy(p, kernel, &script.setup)?;
    contents::of(&script)?;
    let config = machine_config(p, repetition, kernel, &script)?;
    let laid_out = config.nodes.iter().flat_map(|n| &n.zones).any(|z| z.layout.is_some());
    let script = if laid_out { with_program(p, repetition, kernel)? } else { script };
    Ok((config, script))
}

/// The script, begun by a process that holds as many pages as the recorded program had locked.
fn with_program(p: &Point, repetition: usize, kernel: Kernel) -> Result<Script, String> {
    let elsewhere = if p.booted(repetition).is_none() { boot::more_pages(kernel) } else { 0 };
    let pages = locked_pages(p, repetition) + elsewhere;
    let mut lines = p.script_of(repetition);
    if pages > 0 {
        let held = [format!("anon {PROGRAM} {pages}"), format!("fill {PROGRAM} 0 {pages}")];
        let sets_up = |l: &&String| ["write ", "mlockself"].iter().any(|c| l.starts_with(c));
        let at = lines.iter().take_while(sets_up).count();
        lines.splice(at..at, held);
    }
    Script::parse(&lines).map_err(|e| e.to_string())
}

/// Pages of the program's file: those read out, or those of the reference's.
fn ramfs_pages(p: &Point, repetition: usize) -> u32 {
    p.booted(repetition).map_or(boot::RAMFS, Booted::ramfs_pages)
}

/// Number of anonymous pages that the program had locked: those read out, or as many as were
/// counted but for its file's. Where repetitions differ, how many of them had the most follows from
/// the mean, and the last ones are taken to be these.
fn locked_pages(p: &Point, repetition: usize) -> u64 {
    if let Some(boot) = p.booted(repetition) {
        return boot.program_pages().into();
    }
    let locked = p.phases.iter().find_map(|x| x.gauges.get("nr_unevictable"));
    let [mean, min, max] = locked.map_or([0.0; 3], |r| r.spread());
    let n = p.repetitions as f64;
    let with_most = if max > min { (n * (mean - min) / (max - min)).round() } else { 0.0 };
    let all = (if repetition as f64 >= n - with_most { max } else { min }) as u64;
    all.saturating_sub(boot::RAMFS.into())
}

/// The LRU of the recorded kernel, as its commands set it up.
fn policy(p: &Point, kernel: Kernel, setup: &ScriptSetup) -> Result<Policy, String> {
    let patched = p.patched().filter(|x| x.lru == p.lru).map(Patched::policy);
    let shipped = match patched {
        Some(Policy::Mglru(config)) => config,
        _ => MglruConfig::of_kernel(kernel).unwrap_or(MglruConfig::V6_1),
    };
    let enabled = match setup.lru_gen {
        None | Some(LruGen::Classic) => None,
        Some(LruGen::Full) => Some(shipped),
        Some(LruGen::NoNonLeaf) => Some(MglruConfig { nonleaf_young: false, ..shipped }),
        Some(LruGen::NoWalk) => {
            Some(MglruConfig { walk_mmu: false, nonleaf_young: false, ..shipped })
        }
    };
    match (p.lru.as_str(), enabled) {
        ("classic", None) => Ok(patched.unwrap_or(Policy::of_kernel(kernel))),
        ("mglru", Some(_)) if kernel < Kernel::V6_1 => {
            Err(format!("Linux {} has no MGLRU", kernel.name()))
        }
        ("mglru", Some(config)) => Ok(Policy::Mglru(config)),
        (lru, _) => Err(format!("its LRU is \"{lru}\", and its commands set up another one")),
    }
}

fn kernel(p: &Point) -> Result<Kernel, String> {
    if let Some(patched) = p.patched() {
        return Ok(patched.base);
    }
    let series = p.kernel_series();
    Kernel::ALL.into_iter().find(|k| k.name() == series).ok_or_else(|| {
        let known: Vec<&str> = Kernel::ALL.iter().map(|k| k.name()).collect();
        format!("Linux {series} is not modelled, but {} are", known.join(", "))
    })
}

/// The commands of a repetition, or the first that is not modelled. Where the rest of the
/// list cannot be read because of such a command, it is that command all the same.
fn script(p: &Point, repetition: usize) -> Result<Script, String> {
    let lines = p.script_of(repetition);
    let script = match Script::parse(&lines) {
        Ok(script) => script,
        Err(e) => match Script::parse(lines.get(..e.line).unwrap_or(&[])) {
            Ok(before) if !before.not_yet.is_empty() => before,
            _ => return Err(e.to_string()),
        },
    };
    match script.not_yet.first() {
        Some(n) => Err(n.to_string()),
        None => Ok(script),
    }
}

fn machine_config(
    p: &Point,
    repetition: usize,
    kernel: Kernel,
    script: &Script,
) -> Result<MachineConfig, String> {
    let setup = &script.setup;
    let memcg = p.vm.get("memcg").and_then(serde_json::Value::as_bool) == Some(true);
    if memcg && setup.cgroup2.is_none() {
        return Err("memory cgroups on, with their statistics flushed by the clock".into());
    }
    let cpus = p.vm.get("cpus").and_then(serde_json::Value::as_u64).unwrap_or(1) as u32;
    let at_start = zones_at_start(p);
    if at_start.is_empty() {
        return Err("its zones were recorded after memory had been used, none at the start".into());
    }
    let own = p.booted(repetition);
    let layouts = (own.is_some() || asks_for_blocks(script))
        .then(|| boot::layouts(kernel, &at_start, own))
        .flatten();
    let known = |name: &str| ZoneKind::ALL.iter().any(|k| k.name() == name);
    let mut populated = at_start.iter().filter(|(_, z)| z.managed > 0);
    if let Some((name, _)) = populated.find(|(name, _)| !known(name)) {
        return Err(format!("zones of kind {name} are not modelled"));
    }
    let mut zones: Vec<ZoneConfig> = Vec::new();
    for kind in ZoneKind::ALL {
        if let Some(z) = at_start.get(kind.name()).filter(|z| z.managed > 0) {
            let layout = layouts.as_ref().and_then(|l| l.get(kind.name()).cloned());
            zones.push(ZoneConfig { layout, ..zone_config(kind, z) });
        }
    }
    let Some(last) = zones.last_mut() else { return Err("the point names no zone".into()) };
    // What is cached comes from the per-CPU list, which leaves of it what was recorded.
    let (cached, _) = cached_at_start(p);
    let held = last.managed - last.free_at_start.unwrap_or(0).min(last.managed);
    if cached > held.saturating_sub(last.pcp_at_start) {
        return Err(format!("{cached} pages are cached at the start, more than are in use"));
    }
    last.pcp_at_start += cached;
    // What the recorded program had locked belongs to the root group, and is put there.
    if memcg {
        let (locked, free) = (held_by_root(p), last.free_at_start.unwrap_or(0));
        if locked > (last.managed - last.pcp_at_start).saturating_sub(free) {
            return Err(format!("{locked} pages are locked at the start, more than are in use"));
        }
        last.free_at_start = Some(free + locked);
    }
    // The zones are those of repetition 0; the ballast of others leaves a little more or less.
    if let (Some(a), Some(b)) = (ballast(p, 0), setup.ballast_free_pages) {
        let free = i128::from(last.free_at_start.unwrap_or(0)) + i128::from(b) - i128::from(a);
        let most = last.managed - last.pcp_at_start;
        last.free_at_start = Some(free.clamp(0, most.into()) as u32);
    }
    let vm = match sysctls(setup) {
        Ok(vm) => vm,
        Err(Knob::NotModelled(why) | Knob::Wrong { what: why, .. }) => return Err(why),
    };
    let [compress, decompress] = cost::zswap(kernel, memcg);
    Ok(MachineConfig {
        cpus,
        swap: setup.swap.iter().map(swap).collect(),
        zswap: setup.zswap.as_ref().filter(|z| z.enabled).map(|z| ZswapConfig {
            compress,
            decompress,
            ..z.clone()
        }),
        file_device: DeviceConfig {
            name: "recorded file device".into(),
            synchronous: true,
            ..DeviceConfig::preset("ramdisk", cpus).ok_or("no preset \"ramdisk\"")?
        },
        vm,
        cost: cost::of(kernel),
        rules: memcg.then(|| rules_of_groups(kernel)),
        memcgs: setup.groups.iter().map(group).collect(),
        memcg_mount: MemcgMount {
            recursive_protection: setup.cgroup2.as_deref() == Some("memory_recursiveprot"),
            local_events: setup.cgroup2.as_deref() == Some("memory_localevents"),
        },
        ..MachineConfig::new(kernel, zones)
    })
}

/// The kernel's own charges and statistics of groups. The recorded processes began in the root, which
/// was charged for what the kernel holds for them.
fn rules_of_groups(kernel: Kernel) -> KernelRules {
    KernelRules {
        memcg_charges: MemcgCharges::Kernel,
        memcg_stats: MemcgStats::Kernel,
        process_kernel_pages: 0,
        ..KernelRules::of(kernel)
    }
}

fn group(g: &ScriptGroup) -> MemcgConfig {
    MemcgConfig {
        min: g.min,
        low: g.low,
        high: g.high,
        max: g.max,
        swap_max: g.swap_max,
        zswap_max: g.zswap_max,
        zswap_writeback: !g.no_zswap_writeback,
        oom_group: g.oom_group,
        ..MemcgConfig::new(g.path.clone())
    }
}

/// A zone as it was recorded at the start.
fn zone_config(kind: ZoneKind, z: &super::point::ZoneState) -> ZoneConfig {
    // Kernels without some kinds of zone print fewer reserves.
    let reserves = &z.lowmem_reserve;
    let reserve = reserves.get(ZoneKind::Movable as usize).or(reserves.last()).copied();
    ZoneConfig {
        kind,
        managed: z.managed,
        free_at_start: Some(z.free),
        watermarks: Some([z.min, z.low, z.high]),
        lowmem_reserve: reserve,
        pcp: Some((z.pcp.high, z.pcp.batch)),
        pcp_at_start: z.pcp.count,
        layout: None,
    }
}

fn ballast(p: &Point, repetition: usize) -> Option<u64> {
    Script::parse(&p.script_of(repetition)).ok()?.setup.ballast_free_pages
}

/// The two devices of the reference: zram whose pages all hold the same bytes, so that it
/// needs no memory, and a null block device that completes after 50 us.
fn swap(s: &ScriptSwap) -> SwapConfig {
    let zram = DeviceConfig {
        name: "zram".into(),
        read: SimDuration::from_nanos(cost::ZRAM[0]),
        write: SimDuration::from_nanos(cost::ZRAM[1]),
        servers: 1,
        bandwidth: None,
        write_bandwidth: None,
        synchronous: true,
        rotational: false,
        stored_bytes_per_page: 0,
        mem_limit: 0,
        queue_depth: 1,
        wbt_lat: SimDuration::ZERO,
        write_cache: false,
        max_sectors_kb: 0,
    };
    let device = match s.device {
        SwapDevice::Zram => zram,
        SwapDevice::NullBlock { rotational, queue_depth, ns, wbt_lat_usec } => DeviceConfig {
            name: "nullb".into(),
            read: SimDuration::from_nanos(ns),
            write: SimDuration::from_nanos(ns),
            servers: queue_depth,
            synchronous: false,
            rotational,
            queue_depth,
            wbt_lat: wbt_lat_usec
                .map_or(WBT_LAT[usize::from(rotational)], SimDuration::from_micros),
            max_sectors_kb: cost::NULL_BLK_KIB,
            ..zram
        },
    };
    SwapConfig { slots: s.slots - 1, device, priority: s.priority }
}

/// Problem with a knob of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Knob {
    /// A value that no kernel takes.
    Wrong {
        /// The path of the knob.
        path: String,
        /// Text that was found, and text to write.
        what: String,
    },
    /// A mechanism that is not modelled.
    NotModelled(String),
}

/// Knobs whose effect is in the recorded zones, or that change nothing in what is replayed
/// from a script: no huge pages, no generations, no cache before its start.
const WITHOUT_EFFECT: [&str; 10] = [
    "percpu_pagelist_high_fraction",
    "percpu_pagelist_fraction",
    "min_free_kbytes",
    "watermark_scale_factor",
    "lowmem_reserve_ratio",
    "min_ttl_ms",
    "drop_caches",
    "stat_interval",
    "overcommit_memory",
    "vfs_cache_pressure",
];

pub(super) fn sysctls(setup: &ScriptSetup) -> Result<VmSysctl, Knob> {
    let mut vm = VmSysctl { watermark_boost_factor: 15_000, ..VmSysctl::linux() };
    // File points switch readahead off before they start, except where it is under test.
    for (path, value) in &setup.sysctls {
        let wrong = |range: String| Knob::Wrong {
            path: path.clone(),
            what: format!("{path}: \"{value}\", write {range}"),
        };
        let row = VmSysctl::ROWS.iter().find(|row| is_file_of(row, path));
        let name = path.rsplit('/').next().unwrap_or(path);
        match (name, row) {
            // The readahead of a swap device is ruled by page-cluster.
            ("read_ahead_kb", _) if !of_files(setup, path) => {}
            ("rotational" | "wbt_lat_usec", _) => {}
            _ if WITHOUT_EFFECT.contains(&name) => {}
            (_, Some(row)) if !row.words().is_empty() => {
                let words: Vec<&str> = row.allowed().collect();
                let (last, others) = words.split_last().expect("there are words");
                let all = format!("{} or {last}", others.join(", "));
                vm.set(row.name, value).map_err(|_| wrong(all))?;
            }
            (_, Some(row)) => {
                let (_, high) = row.bounds().unwrap_or((0, 1));
                let number = value.parse().ok().filter(|&n: &u64| n <= high);
                let mut n = number.ok_or_else(|| wrong(format!("a number from 0 to {high}")))?;
                if row.name == "fault_around_bytes" {
                    // The kernel too takes the next lower power of two.
                    n = 1 << n.max(4096).ilog2();
                }
                vm.fill(row, n);
            }
            _ => return Err(Knob::NotModelled(format!("the knob {path} is not modelled"))),
        }
    }
    Ok(vm)
}

/// True if a path is the file of a sysctl, on whatever device.
fn is_file_of(row: &Row, path: &str) -> bool {
    let parts = |file: &str| file.rsplit('/').take(2).map(str::to_string).collect::<Vec<_>>();
    parts(row.file) == parts(path)
}

/// True if a path below /sys/block is that of the device with the files.
fn of_files(setup: &ScriptSetup, path: &str) -> bool {
    let device = setup.mount.as_ref().and_then(|(_, device)| device.rsplit('/').next());
    device.is_none_or(|d| path.contains(&format!("/{d}/")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::point::Experiment;
    use mmsim_core::base::id::{NodeId, ZoneId};

    /// A point whose phase `start` has these gauges.
    fn point(lru: &str, gauges: &str) -> Point {
        let generations = if lru == "mglru" { 7 } else { 0 };
        let text = format!(
            r#"{{ "experiment": "e", "points": [ {{ "id": "p", "kernel": "6.12.1", "lru": "{lru}",
            "repetitions": 1, "zones_at_start": {{ "DMA32": {{ "managed": 4000, "free": 3000,
            "min": 20, "low": 25, "high": 30, "lowmem_reserve": [0, 0, 0, 0, 0],
            "pcp": {{ "count": 3, "high": 10, "batch": 2 }} }} }},
            "script": ["write /sys/kernel/mm/lru_gen/enabled {generations}", "snapx start",
            "anon 0 100", "fill 0 0 100", "snap one"],
            "phases": [{{ "phase": "start", "counters": {{}}, "gauges": {{ {gauges} }} }},
            {{ "phase": "one", "counters": {{}} }}] }} ] }}"#
        );
        Experiment::from_json(&text).expect("an experiment").points.remove(0)
    }

    /// Whatever the page cache holds when the script begins, free memory is what was recorded.
    #[test]
    fn what_was_cached_at_the_start_is_on_the_lists() {
        for (lru, lists) in [("mglru", [37, 0]), ("classic", [1, 36])] {
            let gauges =
                format!(r#""nr_inactive_file": {}, "nr_active_file": {}"#, lists[0], lists[1]);
            let m = machine(&point(lru, &gauges), 0).expect("a machine");
            let snapshot = m.policy().snapshot(&m.mem, NodeId(0), mmsim_core::base::id::MemcgId(0));
            let len = |name| snapshot.lists.iter().find(|l| l.0 == name).map(|l| l.1);
            assert_eq!(len("nr_inactive_file"), Some(lists[0]), "{lru}");
            assert_eq!(len("nr_active_file"), Some(lists[1]), "{lru}");
            let zone = &m.mem.zones[ZoneId(0)];
            assert_eq!((zone.free, zone.pcp_count()), (3000, 3), "{lru}");
            assert_eq!(zone.pcps().map(|p| p.count).next(), Some(3));
        }
        let too_many = machine(&point("classic", r#""nr_active_file": 998"#), 0);
        assert!(
            too_many.is_err_and(|e| e.to_string().contains("998 pages are cached at the start"))
        );
    }
}
