//! One scenario on two machines: its script for the recorder, and how long a recording takes.
//!
//! A run of a scenario becomes the script of a point, as `evidence/reference/` has them. The kernel
//! works it off in the emulator; the point that comes of it is replayed as every other one is
//! ([`validate`](crate::validate)), on a machine with the recorded zones and free pages. So both
//! sides do the same accesses on the same machine. From the scenario come the work, the swap
//! devices, the sysctls, the LRU, and the number of free pages at the start.
//!
//! What a kernel in the emulator cannot do is refused, at the place of its key. What it has of its
//! own is listed ([`Planned::own`]).

mod groups;
mod program;
mod tasks;

use mmsim::error::{Error, ErrorKind};
use mmsim::machines::{Catalogue, Policy};
use mmsim::report::numbers::grouped;
use mmsim::scenario::{RunSpec, Scenario};
use mmsim_core::backing::device::{DeviceConfig, WBT_LAT};
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::cost::CostModel;
use mmsim_core::config::{Kernel, SwapConfig, VmSysctl};
use mmsim_lru::MglruConfig;

use program::Refusal;
use tasks::Tasks;

/// Memory of the emulated machine besides the pages that the scenario leaves free: for the kernel,
/// the initial ramfs, and the program.
const BESIDES_MIB: u64 = 90;
/// Memory that a process beside the first takes: page tables, and what it locks of its own.
const PROCESS: u64 = 3 << 20;
/// Milliseconds until the statistics of groups have been brought up to date.
const SETTLES_MS: u64 = 2500;
/// Most memory of the emulated machine.
const MOST_MIB: u64 = 8192;
/// By how many pages the free memory of the second and third repetition differs, and so on: work
/// without draws would otherwise repeat itself to the last page.
const APART: i64 = 96;

/// A run of a scenario, ready to be recorded.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Planned {
    /// Name of the scenario, which is the point's experiment.
    pub scenario: String,
    /// Name of the point: variant, axes, LRU and kernel.
    pub id: String,
    /// `classic` or `mglru`.
    pub lru: &'static str,
    /// The commands, for each repetition.
    pub scripts: Vec<Vec<String>>,
    /// Memory of the emulated machine.
    pub mem_mib: u64,
    /// Accesses of one repetition, pages that it fills included.
    pub accesses: u64,
    /// Seconds that a repetition takes a core at most, about.
    pub seconds: u64,
    /// The machine has the image of the recorded files.
    pub files: bool,
    /// Differences of the recorded machine from the scenario's, a sentence each.
    pub own: Vec<String>,
}

impl Planned {
    /// Names of the scenario's own snapshots, in order.
    pub fn snapshots(&self) -> Vec<&str> {
        let first = self.scripts.first().into_iter().flatten();
        first.filter_map(|l| l.strip_prefix("snap ")).collect()
    }

    /// True if its processes are in memory cgroups.
    pub fn in_groups(&self) -> bool {
        self.scripts.iter().flatten().any(|l| l.starts_with("mount cgroup2 "))
    }
}

/// Runs of a scenario that are recorded on one kernel.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Each with its first seed.
    pub runs: Vec<Planned>,
    /// Variants that are left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// The runs of a scenario on this kernel.
///
/// # Errors
/// No run can be recorded on it, or one needs what the recorder does not do.
pub fn plan(
    scenario: &Scenario,
    runs: &[RunSpec],
    kernel: Kernel,
    repetitions: usize,
) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let mut first: Option<Error> = None;
    let mut before: Option<&RunSpec> = None;
    for run in runs {
        let same = |b: &RunSpec| (&b.variant, &b.axes) == (&run.variant, &run.axes);
        if before.replace(run).is_some_and(same) {
            continue;
        }
        let lru = match lru(run, kernel) {
            Ok(lru) => lru,
            Err((key, what)) => {
                let why = (run.variant.clone(), format!("{key}{what}"));
                first = first.or(Some(placed(scenario, run, &key, &what)));
                if !plan.left_out.contains(&why) {
                    plan.left_out.push(why);
                }
                continue;
            }
        };
        let one = one(scenario.name(), run, lru, repetitions);
        plan.runs.push(one.map_err(|(key, what)| placed(scenario, run, &key, &what))?);
    }
    match first {
        Some(error) if plan.runs.is_empty() => Err(error),
        _ => Ok(plan),
    }
}

fn placed(scenario: &Scenario, run: &RunSpec, key: &str, what: &str) -> Error {
    scenario.placed(run, key, Error::new(ErrorKind::Scenario, format!("{key}{what}")))
}

/// The LRU of a run as the kernel names it, and what `lru_gen/enabled` is for it.
fn lru(run: &RunSpec, kernel: Kernel) -> Result<(&'static str, u32), Refusal> {
    if run.machine.kernel != kernel {
        let (own, wanted) = (run.machine.kernel.name(), kernel.name());
        let what = format!(
            " {own}: the kernel to be recorded is {wanted}, write it \
             (--set machine.kernel={wanted})"
        );
        return Err(("machine.kernel".into(), what));
    }
    let none = Policy::Random;
    let mglru = |change: fn(MglruConfig) -> MglruConfig| {
        MglruConfig::of_kernel(kernel).map_or(none, |c| Policy::Mglru(change(c)))
    };
    let enabled = [
        (Policy::of_kernel(kernel), ("classic", 0)),
        (mglru(|c| c), ("mglru", 7)),
        (mglru(|c| MglruConfig { nonleaf_young: false, ..c }), ("mglru", 3)),
        (mglru(|c| MglruConfig { nonleaf_young: false, walk_mmu: false, ..c }), ("mglru", 1)),
    ];
    let wanted = Policy::resolve(&run.policy).ok().filter(|p| *p != none);
    match enabled.iter().find(|(policy, _)| Some(*policy) == wanted) {
        Some((_, lru)) => Ok(*lru),
        None => {
            let knobs = run.policy.knobs.iter();
            let knobs: String = knobs.map(|k| format!(", {} = {}", k.key, k.value)).collect();
            let (preset, kernel) = (&run.policy.preset, kernel.name());
            let what = format!(
                " \"{preset}\"{knobs}: Linux {kernel} has the classic LRU and MGLRU as they are"
            );
            Err(("reclaim".into(), what))
        }
    }
}

/// A key, whether a run says something there that the recorder does not do, and what it does.
type Unlike = (&'static str, fn(&RunSpec) -> bool, &'static str);

/// Keys of which the recorder has one value only.
const UNLIKE: &[Unlike] = &[
    ("machine.cpus", |r| r.machine.cpus != 1, "the recorder's machine has one CPU, write 1"),
    ("machine.node", |r| r.machine.nodes.len() != 1, "the recorder's machine has one node"),
    ("machine.rules", |r| r.machine.rules.is_some(), "a kernel has its own rules, leave them out"),
    ("machine.lru-batch", |r| r.machine.lru_batch.is_some(), "a kernel has its own, leave it out"),
    (
        "machine.stat-threshold",
        |r| r.machine.stat_threshold.is_some(),
        "a kernel has its own, leave it out",
    ),
    ("machine.batch-shift", |r| r.machine.batch_shift != 0, "a kernel has its own, leave it out"),
    (
        "machine.tick",
        |r| r.machine.tick != SimDuration::from_millis(4),
        "recorded kernels have 4 ms, leave it out",
    ),
    (
        "machine.cost",
        |r| r.machine.cost != CostModel::measured(),
        "a kernel has its own costs, leave them out",
    ),
    (
        "machine.run-ahead",
        |r| r.machine.run_ahead != SimDuration::from_micros(100),
        "a CPU runs one thread, leave it out",
    ),
    ("machine.disk", |r| !r.machine.disks.is_empty(), "the recorder has one disk, leave it out"),
    ("machine.zswap", |r| r.machine.zswap.is_some(), "zswap is not carried over, leave it out"),
    ("machine.host", |r| r.machine.host.is_some(), "the recorder's machine is no guest"),
    (
        "compaction",
        |r| r.compaction.preset != Catalogue.default_compaction(r.machine.kernel),
        "compaction is not carried over, leave it out",
    ),
    ("machine.memcg", |r| !r.choosers.is_empty(), "cache-ext is not carried over, leave it out"),
    ("daemon", |r| !r.daemons.is_empty(), "daemons are not carried over"),
    ("damon", |r| !r.damon.is_empty(), "monitors are not carried over"),
    ("expect-oom", |r| r.expect_oom, "a recording ends when memory runs out"),
];

fn one(
    scenario: &str,
    run: &RunSpec,
    (lru, enabled): (&'static str, u32),
    repetitions: usize,
) -> Result<Planned, Refusal> {
    if let Some((key, _, what)) = UNLIKE.iter().find(|(_, is, _)| is(run)) {
        return Err(((*key).into(), format!(": {what}")));
    }
    let tasks = tasks::tasks(run)?;
    let free = free_at_start(run);
    let tables: u64 = tasks.tables().iter().map(|t| u64::from(t.0) * 8).sum();
    let tables = (tables + PROCESS) * tasks.len() as u64 - PROCESS;
    let mib = free * 33 / 32 / 256 + (tables >> 20) + BESIDES_MIB;
    let mem_mib = mib.next_multiple_of(32);
    if mem_mib > MOST_MIB {
        let what = format!(
            ": {free} pages are free at the start, and the emulated machine has at most {MOST_MIB} \
             MiB; write less memory"
        );
        return Err(("machine.memory".into(), what));
    }
    let mut set_up = vec![format!("write /sys/kernel/mm/lru_gen/enabled {enabled}")];
    let mut own = vec![
        format!(
            "{} pages are free at the start, as in the scenario; zones, watermarks and per-CPU \
             lists are those of the recorded machine of {mem_mib} MiB.",
            grouped(free as f64)
        ),
        "Both sides make the same accesses, drawn by the recorder's generator.".to_string(),
        "Unless the scenario sets them, watermark boosts and proactive compaction are off, and \
         per-CPU lists have a fixed size."
            .to_string(),
    ];
    if run.bounds {
        own.push("The optimum that `bounds` asks for is not computed.".into());
    }
    own.extend(tasks.own(run));
    own.extend(swap(&run.machine.swap, &mut set_up)?);
    let files = tasks.files();
    own.extend(self::files(run, files, &mut set_up)?);
    set_up.extend(sysctls(&run.machine.vm, run.machine.kernel, files)?);
    set_up.extend(groups::groups(&run.machine)?);
    if !run.machine.memcgs.is_empty() {
        own.push(
            "The kernel charges groups in batches, also for page tables and slab. What processes \
             hold before the work begins belongs to the root."
                .into(),
        );
    }
    let script = |nth: usize| script(&set_up, &tasks, run.seed + nth as u64, free, nth);
    Ok(Planned {
        scenario: scenario.to_string(),
        id: id(run, lru),
        lru,
        scripts: (0..repetitions).map(script).collect(),
        mem_mib,
        accesses: tasks.sum(|p| p.accesses + p.fills),
        seconds: seconds(run, &tasks, free),
        files,
        own,
    })
}

/// Pages that the scenario leaves free at the start.
fn free_at_start(run: &RunSpec) -> u64 {
    let zones = run.machine.nodes.iter().flat_map(|n| &n.zones);
    let free = zones.map(|z| u64::from(z.free_at_start.unwrap_or(z.managed))).sum::<u64>();
    free.saturating_sub(run.machine.os_overhead)
}

/// Swap devices: commands on the way, and what differs from the scenario's.
fn swap(all: &[SwapConfig], lines: &mut Vec<String>) -> Result<Vec<String>, Refusal> {
    let mut own = Vec::new();
    let mut null_blk = 0;
    for (i, s) in all.iter().enumerate() {
        let key = |name: &str| match all.len() {
            1 => format!("machine.swap.{name}"),
            _ => format!("machine.swap[{i}].{name}"),
        };
        let priority = s.priority.map_or(String::new(), |p| format!(" {p}"));
        let slots = u64::from(s.slots) + 1;
        if ["zram", "ramdisk"].contains(&s.device.name.as_str()) && s.device.synchronous {
            lines.push(format!("zram {}{priority}", slots * 4096));
            let what = "Swap is on zram. It takes no memory, since all recorded pages are alike.";
            if !own.contains(&what.to_string()) {
                own.push(what.to_string());
            }
            continue;
        }
        if !is_null_blk(&s.device) {
            let name = &s.device.name;
            let what = format!(
                " \"{name}\": the recorder swaps on \"zram\" (so it carries out \"ramdisk\" too), \
                 or on null_blk: a device with equal times to read and to write, no bandwidth, and \
                 as many servers as its queue is deep"
            );
            return Err((key("device"), what));
        }
        null_blk += 1;
        if null_blk > 1 || slots > 262_144 {
            let what = ": the recorder has one null_blk of 1 GiB, write one and at most that";
            return Err((key("size"), what.into()));
        }
        let parameters = "trywrite /sys/module/null_blk/parameters";
        lines.push(format!("{parameters}/completion_nsec {}", s.device.read.as_nanos()));
        lines.push(format!("{parameters}/hw_queue_depth {}", s.device.queue_depth));
        let rotational = u32::from(s.device.rotational);
        lines.push(format!("write /sys/block/nullb0/queue/rotational {rotational}"));
        if s.device.wbt_lat != WBT_LAT[rotational as usize] {
            let us = s.device.wbt_lat.as_nanos() / 1000;
            lines.push(format!("write /sys/block/nullb0/queue/wbt_lat_usec {us}"));
        }
        lines.push(format!("swapon /dev/nullb0 {slots}{priority}"));
    }
    Ok(own)
}

/// True if a request takes a fixed time, as on null_blk.
fn is_null_blk(d: &DeviceConfig) -> bool {
    !d.synchronous
        && d.read == d.write
        && d.bandwidth.is_none()
        && d.write_bandwidth.is_none()
        && !d.write_cache
        && d.servers == d.queue_depth
}

/// The device of the recorded files, if there are any: where it is mounted, and what differs.
fn files(run: &RunSpec, there: bool, lines: &mut Vec<String>) -> Result<Option<String>, Refusal> {
    if !there {
        return Ok(None);
    }
    let name = &run.machine.file_device.name;
    if name != "ramdisk" {
        let what = format!(" \"{name}\": recorded files lie in memory, write \"ramdisk\"");
        return Err(("machine.file-device".into(), what));
    }
    lines.push("mount ext4 /dev/pmem0 /mnt ro".into());
    Ok(Some("Files lie on a memory device, on ext4, and are only read.".into()))
}

/// Sysctls: those of every recording, and others that are not as the kernel boots.
fn sysctls(vm: &VmSysctl, kernel: Kernel, files: bool) -> Result<Vec<String>, Refusal> {
    let boots = VmSysctl::of(kernel);
    let mut lines = Vec::new();
    for row in VmSysctl::ROWS.iter().filter(|row| row.is_of(kernel)) {
        let (Some(value), Some(default)) = (vm.get(row.name), boots.get(row.name)) else {
            continue;
        };
        let fixed = match row.name {
            // The conditions of all recordings: where boosts and compaction begin depends on which
            // frames are free, and per-CPU lists keep one size.
            "watermark_boost_factor" | "compaction_proactiveness" => Some("0"),
            "percpu_pagelist_high_fraction" => Some("1000"),
            "swappiness" | "page-cluster" => Some(value.as_str()),
            _ => None,
        };
        let file = match row.name {
            "read_ahead_kb" if files => "/sys/block/pmem0/queue/read_ahead_kb",
            "fault_around_bytes" if files => row.file,
            _ if row.file.starts_with("/proc/sys/vm/") && row.name != "nr_hugepages" => row.file,
            _ => "",
        };
        let value = match value == default {
            true => fixed.map(str::to_string),
            false => Some(value.clone()),
        };
        let Some(value) = value else { continue };
        if file.is_empty() {
            let what = format!(" {value}: recordings have {default}, leave it out");
            return Err((format!("machine.vm.{}", row.name), what));
        }
        lines.push(format!("write {file} {value}"));
    }
    Ok(lines)
}

/// The commands of a repetition.
fn script(set_up: &[String], tasks: &Tasks, seed: u64, free: u64, nth: usize) -> Vec<String> {
    let tables = tasks.tables().iter().enumerate();
    let tables = tables.map(|(i, (ranks, theta))| format!("table {i} {ranks} {theta}"));
    // 0, -96, 96, -192, 192, ..
    let step = nth.div_ceil(2) as i64 * APART * if nth % 2 == 1 { -1 } else { 1 };
    let free = free.saturating_add_signed(step);
    let all = set_up.iter().cloned().chain(tables).chain(["mlockself".into()]);
    let all = all.chain(tasks.processes());
    let all = all.chain(["snapx boot".into(), format!("ballast {free}")]);
    // Until statistics of groups were brought up to date once, 2 s after the boot, every pass over a
    // group does it (Linux 6.12 mm/memcontrol.c, `mem_cgroup_flush_stats_ratelimited`).
    let groups = set_up.iter().any(|l| l.starts_with("mount cgroup2 "));
    let settles = groups.then(|| format!("sleepms {SETTLES_MS}"));
    let all = all.chain(tasks.joins()).chain(settles);
    let all = all.chain(["snapx start".into()]).chain(tasks.lines(seed));
    all.chain(["snapx end".into()]).collect()
}

/// Seconds of a core for a repetition at most, about. An emulated second takes ten. A page that is
/// filled takes 10 us, an access half a microsecond, and one that misses 20 us more; where not all
/// pages fit, or groups have limits, each may miss. Booting takes 20 s.
fn seconds(run: &RunSpec, tasks: &Tasks, free: u64) -> u64 {
    let limited = run.machine.memcgs.iter().any(|g| g.high.is_some() || g.max.is_some());
    let miss = if limited || tasks.sum(|p| p.pages) > free { 20.0 } else { 0.0 };
    let us = tasks.sum(|p| p.fills) as f64 * 10.0 + tasks.sum(|p| p.accesses) as f64 * (0.5 + miss);
    20 + (us * 10.0 / 1e6).ceil() as u64
}

/// A name for files: variant, values of axes, LRU and kernel.
fn id(run: &RunSpec, lru: &str) -> String {
    let axes = run.axes.iter().map(|(path, value)| {
        let name = path.rsplit('.').next().unwrap_or(path);
        format!("{name}{value}")
    });
    let parts = [run.variant.clone()].into_iter().chain(axes);
    let parts = parts.chain([lru.to_string(), run.machine.kernel.name().to_string()]);
    let joined = parts.filter(|p| !p.is_empty()).collect::<Vec<_>>().join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-+_".contains(c) { c } else { '_' };
    joined.chars().map(plain).collect()
}
