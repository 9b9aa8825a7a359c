//! Replays recorded kernel experiments on the same machine, and sets what the kernel
//! counted beside what the simulator counts.
//!
//! A point of the reference holds the zones of the machine when its workload started, the
//! commands of the workload, and the counters of the kernel. The machine built here has
//! the same managed pages, watermarks, reserves, free pages and per-CPU lists, the same
//! swap and sysctls; the workload is the same sequence of accesses. Nothing is fitted.

pub mod cost;
pub mod point;

use std::path::Path;

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::machine::config::{
    Kernel, MachineConfig, NodeConfig, SwapConfig, VmSysctl, ZoneConfig, ZoneKind,
};
use mmsim_core::machine::result::RunResult;
use mmsim_core::machine::{TaskConfig, Watch};
use mmsim_workload::script::{LruGen, Script, ScriptSetup, ScriptSwap};
use rayon::prelude::*;

use crate::build::{Machine, Policy};
use crate::error::Error;
use crate::report::validation::{NotModelled, PointRow, Validation};
use crate::scenario::nearest;
use point::{Experiment, Point};

/// Counters that were recorded; one that is absent from a phase did not change.
pub const COUNTERS: &[&str] = &[
    "pswpin",
    "pswpout",
    "pgfault",
    "pgmajfault",
    "pgreuse",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgscan_anon",
    "pgscan_file",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_anon",
    "pgsteal_file",
    "pgscan_direct_throttle",
    "pgactivate",
    "pgdeactivate",
    "pgrefill",
    "pgrotated",
    "pglazyfree",
    "pglazyfreed",
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_restore_anon",
    "workingset_restore_file",
    "workingset_nodereclaim",
    "allocstall_dma",
    "allocstall_dma32",
    "allocstall_normal",
    "allocstall_movable",
    "pageoutrun",
    "kswapd_low_wmark_hit_quickly",
    "kswapd_high_wmark_hit_quickly",
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
    "swap_ra",
    "swap_ra_hit",
    "pgalloc_dma",
    "pgalloc_dma32",
    "oom_kill",
];

/// What is replayed.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these points; empty: all.
    pub points: Vec<String>,
    /// Only this experiment.
    pub experiment: Option<String>,
    /// Replays at the same time; `None`: one per CPU.
    pub jobs: Option<usize>,
}

/// Replays the selected points of a folder. `progress` is told how many replays have
/// ended, and of how many.
pub fn validate(
    dir: &Path,
    what: &Selection,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Validation, Error> {
    let experiments = point::read_folder(dir)?;
    let selected: Vec<(&Experiment, &Point)> = experiments
        .iter()
        .filter(|e| what.experiment.as_deref().is_none_or(|x| x == e.experiment))
        .flat_map(|e| e.points.iter().map(move |p| (e, p)))
        .filter(|(_, p)| what.points.is_empty() || what.points.contains(&p.id))
        .collect();
    for wanted in &what.points {
        if !selected.iter().any(|(_, p)| p.id == *wanted) {
            let known = experiments.iter().flat_map(|e| &e.points).map(|p| p.id.as_str());
            return Err(none(dir, "point", wanted, known.collect()));
        }
    }
    if let (Some(wanted), true) = (&what.experiment, selected.is_empty()) {
        let known = experiments.iter().map(|e| e.experiment.as_str());
        return Err(none(dir, "experiment", wanted, known.collect()));
    }
    let total: usize = selected.iter().map(|(_, p)| p.repetitions).sum();
    let ended = std::sync::atomic::AtomicUsize::new(0);
    let replay = |&(e, p): &(&Experiment, &Point)| {
        let rows = replay_point(e, p);
        let done = ended.fetch_add(p.repetitions, std::sync::atomic::Ordering::Relaxed);
        progress(done + p.repetitions, total);
        rows
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(what.jobs.map_or(0, |n| n.min(selected.len()).max(1)))
        .build()
        .map_err(|e| Error::plain(e.to_string()))?;
    let results: Vec<Result<Vec<PointRow>, NotModelled>> =
        pool.install(|| selected.par_iter().map(replay).collect());
    let (mut rows, mut not_modelled) = (Vec::new(), Vec::new());
    for r in results {
        match r {
            Ok(r) => rows.extend(r),
            Err(n) => not_modelled.push(n),
        }
    }
    Ok(Validation::new(rows, not_modelled))
}

/// The folder has nothing of that name.
fn none(dir: &Path, what: &str, wanted: &str, known: Vec<&str>) -> Error {
    let near = nearest(wanted, &known).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
    let title = format!("{}: there is no {what} `{wanted}`{near}", dir.display());
    Error::plain(title).help(format!("known: {}", known.join(", ")))
}

/// Replays all repetitions of a point; a row per phase after `start` and counter.
fn replay_point(e: &Experiment, p: &Point) -> Result<Vec<PointRow>, NotModelled> {
    let not =
        |why: String| NotModelled { experiment: e.experiment.clone(), point: p.id.clone(), why };
    let runs = (0..p.repetitions)
        .map(|r| machine(p, r).map(|mut m| m.run(Watch::default())).map_err(&not))
        .collect::<Result<Vec<RunResult>, NotModelled>>()?;
    let begin = ["start", "spawned", "on", "frag"]
        .iter()
        .find_map(|n| p.phases.iter().position(|x| x.phase == *n))
        .map_or(0, |i| i + 1);
    let mut rows = Vec::new();
    for phase in &p.phases[begin..] {
        for &counter in COUNTERS {
            let recorded = phase.counters.get(counter).map_or([0.0; 3], |c| c.spread());
            // A name may end several phases; the report has them in order.
            let nth = p.phases.iter().take_while(|x| !std::ptr::eq(*x, phase));
            let nth = nth.filter(|x| x.phase == phase.phase).count();
            let of = |r: &RunResult| {
                let same = r.phases.iter().filter(|x| x.name == phase.phase).nth(nth);
                same.and_then(|x| x.vmstat.by_name(counter)).unwrap_or(0)
            };
            let sum: u64 = runs.iter().map(of).sum();
            rows.push(PointRow {
                experiment: e.experiment.clone(),
                point: p.id.clone(),
                kernel: p.kernel_series(),
                policy: p.lru.clone(),
                phase: phase.phase.clone(),
                counter: counter.to_string(),
                recorded: recorded[0],
                min: recorded[1],
                max: recorded[2],
                simulated: sum as f64 / runs.len() as f64,
                rel_error: None,
            });
        }
    }
    Ok(rows)
}

/// The machine of one repetition of a point, or why it cannot be modelled.
pub fn machine(p: &Point, repetition: usize) -> Result<Machine, String> {
    let kernel = match p.kernel_series().as_str() {
        "6.1" => Kernel::V6_1,
        "6.12" => Kernel::V6_12,
        other => return Err(format!("kernel {other} is not modelled")),
    };
    if p.lru != "classic" {
        return Err(format!("the {} policy is not modelled yet", p.lru));
    }
    let script = Script::parse(&p.script_of(repetition)).map_err(|e| e.to_string())?;
    if let Some(n) = script.not_yet.first() {
        return Err(n.to_string());
    }
    if !matches!(script.setup.lru_gen, None | Some(LruGen::Classic)) {
        return Err("the mglru policy is not modelled yet".into());
    }
    let workload = script.workload().map_err(|e| e.to_string())?;
    let config = machine_config(p, kernel, &script.setup)?;
    let task = TaskConfig {
        name: "workload".into(),
        memcg: None,
        start: SimTime::ZERO,
        threads: vec![Box::new(workload)],
    };
    let policy = Policy::of_kernel(kernel);
    Ok(Machine::new(&config, vec![task], 0, |mem| policy.create(mem, 0)))
}

fn machine_config(p: &Point, kernel: Kernel, setup: &ScriptSetup) -> Result<MachineConfig, String> {
    if p.vm.get("memcg").and_then(serde_json::Value::as_bool) == Some(true) {
        return Err("memory cgroups on, with their statistics flushed by the clock".into());
    }
    let cpus = p.vm.get("cpus").and_then(serde_json::Value::as_u64).unwrap_or(1) as u32;
    let mut zones: Vec<ZoneConfig> = Vec::new();
    for kind in ZoneKind::ALL {
        let Some(z) = p.zones_at_start.get(kind.name()) else { continue };
        zones.push(ZoneConfig {
            kind,
            managed: z.managed,
            free_at_start: Some(z.free),
            watermarks: Some([z.min, z.low, z.high]),
            lowmem_reserve: z.lowmem_reserve.get(ZoneKind::Movable as usize).copied(),
            pcp: Some((z.pcp.high, z.pcp.batch)),
            pcp_at_start: z.pcp.count,
        });
    }
    let Some(last) = zones.last_mut() else { return Err("the point names no zone".into()) };
    // The zones are those of repetition 0; the ballast of others leaves a little more or less.
    if let (Some(a), Some(b)) = (ballast(p, 0), setup.ballast_free_pages) {
        let free = i128::from(last.free_at_start.unwrap_or(0)) + i128::from(b) - i128::from(a);
        let most = last.managed - last.pcp_at_start;
        last.free_at_start = Some(free.clamp(0, most.into()) as u32);
    }
    let vm = sysctls(setup)?;
    Ok(MachineConfig {
        kernel,
        cpus,
        nodes: vec![NodeConfig { zones }],
        swap: setup.swap.map(swap),
        file_device: DeviceConfig {
            name: "recorded file device".into(),
            synchronous: true,
            ..DeviceConfig::preset("ramdisk", cpus).ok_or("no preset \"ramdisk\"")?
        },
        vm,
        memcgs: Vec::new(),
        os_overhead: 0,
        lru_batch: None,
        batch_shift: 0,
        tick: SimDuration::from_millis(4),
        run_ahead: SimDuration::from_micros(100),
        cost: cost::of(kernel),
    })
}

fn ballast(p: &Point, repetition: usize) -> Option<u64> {
    Script::parse(&p.script_of(repetition)).ok()?.setup.ballast_free_pages
}

/// The two devices of the reference: zram whose pages all hold the same bytes, so that it
/// needs no memory, and a null block device that completes after 50 us.
fn swap(s: ScriptSwap) -> SwapConfig {
    let zram = DeviceConfig {
        name: "zram".into(),
        read: SimDuration::from_nanos(cost::ZRAM[0]),
        write: SimDuration::from_nanos(cost::ZRAM[1]),
        servers: 1,
        bandwidth: None,
        synchronous: true,
        rotational: false,
        stored_bytes_per_page: 0,
    };
    match s {
        ScriptSwap::Zram { slots } => SwapConfig { slots: slots - 1, device: zram },
        ScriptSwap::NullBlock { slots, rotational } => SwapConfig {
            slots: slots - 1,
            device: DeviceConfig {
                name: "nullb".into(),
                read: SimDuration::from_micros(50),
                write: SimDuration::from_micros(50),
                servers: 64,
                synchronous: false,
                rotational,
                ..zram
            },
        },
    }
}

fn sysctls(setup: &ScriptSetup) -> Result<VmSysctl, String> {
    let mut vm = VmSysctl { watermark_boost_factor: 15_000, ..VmSysctl::linux() };
    // File points switch readahead off before they start, except where it is under test.
    for (path, value) in &setup.sysctls {
        let number = |max: u32| {
            let first = value.split_whitespace().next().unwrap_or("");
            let good = first.parse().ok().filter(|&n: &u32| n <= max);
            good.ok_or_else(|| format!("{path}: \"{value}\", write a number from 0 to {max}"))
        };
        match path.rsplit('/').next().unwrap_or(path) {
            "swappiness" => vm.swappiness = number(200)?,
            "page-cluster" => vm.page_cluster = number(31)?,
            "watermark_boost_factor" => vm.watermark_boost_factor = number(1_000_000)?,
            "read_ahead_kb" => vm.ra_pages = number(1 << 20)? / 4,
            // The kernel too takes the next lower power of two.
            "fault_around_bytes" => vm.fault_around = 1 << (number(1 << 21)? / 4096).max(1).ilog2(),
            // Their effect is in the zones that the point records.
            "percpu_pagelist_high_fraction"
            | "min_free_kbytes"
            | "lowmem_reserve_ratio"
            | "compaction_proactiveness"
            | "min_ttl_ms" => {}
            _ => {}
        }
    }
    Ok(vm)
}
