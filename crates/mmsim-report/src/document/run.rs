//! One run: what it was given, and what came of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{MachineConfig, SwapConfig};
use mmsim_core::machine::result::{FileDisk, Outcome, RunResult};
use mmsim_core::machine::snapshot::SwapArea;
use mmsim_damon::truth::TruthMap;
use mmsim_damon::{Applied, DamonConfig, MonitoringAttrs, Snapshot};
use mmsim_why::Verdicts;

use super::cache_ext::CacheExtReport;
use super::daemon::DaemonReport;
use super::damon::DamonReport;
use super::ending::{Ending, OomReport, StuckReport};
use super::figures::{
    Bounds, CompactionReport, LatencyReport, PressureReport, ReadingReport, Throughput,
};
use super::tasks::{AimReport, PhaseReport, TaskReport, ThreadReport};
use super::why::WhyReport;
use crate::counters;
use crate::pairs::Pairs;
use crate::replayed::ReplayReport;

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RunReport {
    /// Name of its scenario, where the report has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Name of the variant.
    pub variant: String,
    /// Where it stands on the axes of the scenario.
    pub axes: Pairs<String>,
    /// The seed of all its random streams.
    pub seed: u64,
    /// The kernel whose machine is modelled.
    pub kernel: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Name of the policy's preset.
    pub policy: String,
    /// Swap space, if there is any.
    pub swap: Option<SwapReport>,
    /// Each of several disks for files, the default one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disk: Vec<DiskReport>,
    /// Every resolved knob under its kernel name.
    pub knobs: Pairs<KnobValue>,
    /// Everything else that it was given, by the paths of scenario files: machine, tasks, monitors,
    /// groups, and what is in the files that tasks read.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub setup: Pairs<String>,
    /// Simulated time from start to end.
    pub sim_time_ns: u64,
    /// Accesses of all threads.
    pub accesses: u64,
    /// Records done by all threads.
    pub records: u64,
    /// Work per simulated second.
    pub throughput: Throughput,
    /// Every counter that the policy keeps, zeros too; one that it does not keep is `null` in JSON.
    #[serde(with = "counters")]
    #[schemars(with = "Pairs<Option<u64>>")]
    pub vmstat: Pairs<u64>,
    /// Counters of each size of anonymous folios that mappings may have or had, such as
    /// `hugepages-64kB.anon_fault_alloc`.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub transparent_hugepage: Pairs<u64>,
    /// Gauges at the end.
    pub gauges: Pairs<u64>,
    /// Phases in the order of their ends.
    pub phases: Vec<PhaseReport>,
    /// Pressure on the whole machine.
    pub pressure: PressureReport,
    /// Latencies.
    pub latency: LatencyReport,
    /// Time that devices spent on reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingReport>,
    /// Pages that `read(2)` and `write(2)` wanted and that were not in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<u64>,
    /// Fate of blocks of order above 0, if workloads requested any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionReport>,
    /// Results of each monitor of accesses, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damon: Vec<DamonReport>,
    /// Results of each program that watches memory and acts, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<DaemonReport>,
    /// Results of the policies that groups have by `cache-ext`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_ext: Vec<CacheExtReport>,
    /// Aims of tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aims: Vec<AimReport>,
    /// Timeliness of replays of recorded instants, a task each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replayed: Vec<ReplayReport>,
    /// Processes that read anonymous pages and wrote none: all were the zero page, which takes no
    /// memory. Faults that mapped it, by process.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub unwritten: Pairs<u64>,
    /// `memory.stat` of each memory cgroup besides the root; `null`: the policy does not keep it.
    pub memory_stat: Pairs<Pairs<Option<u64>>>,
    /// Tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskReport>,
    /// Threads.
    pub threads: Vec<ThreadReport>,
    /// Zones as they were set up.
    pub zones: Vec<ZoneReport>,
    /// Mean over time of the bytes of resident workload pages, those of the page cache included:
    /// where the scenario has a monitor of accesses, in runs without one too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_resident_bytes: Option<u64>,
    /// Largest number of resident workload pages.
    pub peak_resident: u64,
    /// Outcome of the run.
    pub outcome: Ending,
    /// Who held memory when it ran out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom: Option<OomReport>,
    /// Message of the simulator when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panic: Option<String>,
    /// Who waited for what when it could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckReport>,
    /// Fingerprint of the final state, 16 hexadecimal digits.
    pub digest: String,
    /// Bounds for every policy, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Why pages came back, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyReport>,
    /// Assumptions of the traces that it replays, and demands of lists of commands on the machine
    /// that only its scenario can meet, with the task's name in front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
}

/// `/proc/zoneinfo` in short, in pages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ZoneReport {
    /// Name of the zone.
    pub name: String,
    /// Pages given to the allocator.
    pub managed: u64,
    /// The min watermark.
    pub min: u64,
    /// The low watermark.
    pub low: u64,
    /// The high watermark.
    pub high: u64,
    /// Free pages at the start of the run.
    pub free_at_start: u64,
}

/// Swap space.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SwapReport {
    /// Name of the device; of several all, as in `zram + nvme`.
    pub device: String,
    /// Usable bytes of all devices.
    pub bytes: u64,
    /// Each of several devices, in the order of `swapon`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<SwapDeviceReport>,
}

/// One of several swap devices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SwapDeviceReport {
    /// Its name.
    pub device: String,
    /// Usable bytes.
    pub bytes: u64,
    /// The device with the largest gives slots first.
    pub priority: i32,
    /// Bytes of it that are in use when the run ends.
    pub used: u64,
}

impl SwapReport {
    /// `bytes` bytes on a device of this name.
    pub fn new(device: impl Into<String>, bytes: u64) -> Self {
        SwapReport { device: device.into(), bytes, devices: Vec::new() }
    }

    /// The devices of a machine; `None`: it has no swap.
    fn of(devices: &[SwapConfig]) -> Option<Self> {
        let names: Vec<&str> = devices.iter().map(|s| &*s.device.name).collect();
        let bytes = devices.iter().map(|s| u64::from(s.slots) * PAGE_SIZE).sum();
        (!names.is_empty()).then(|| SwapReport::new(names.join(" + "), bytes))
    }

    /// The same, with what each of several devices holds.
    fn with_areas(mut self, areas: &[SwapArea]) -> Self {
        if areas.len() > 1 {
            let bytes = |slots: u32| u64::from(slots) * PAGE_SIZE;
            let each = |a: &SwapArea| SwapDeviceReport {
                device: a.device.clone(),
                bytes: bytes(a.slots),
                priority: a.priority,
                used: bytes(a.used),
            };
            self.devices = areas.iter().map(each).collect();
        }
        self
    }
}

/// One of several disks for files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DiskReport {
    /// Its name.
    pub name: String,
    /// Its device.
    pub device: String,
    /// Files on it.
    pub files: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Time of its reads: latency and transfer, without waiting in line.
    pub reading_ns: u64,
}

impl DiskReport {
    /// Those of a machine with several.
    fn all(disks: &[FileDisk]) -> Vec<Self> {
        let report = |d: &FileDisk| DiskReport {
            name: d.name.clone(),
            device: d.device.clone(),
            files: d.files as u64,
            read: d.read * PAGE_SIZE,
            written: d.written * PAGE_SIZE,
            reading_ns: d.reading.0,
        };
        let several = Some(disks).filter(|all| all.len() > 1);
        several.into_iter().flatten().map(report).collect()
    }
}

/// The value of a knob.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum KnobValue {
    /// A switch.
    Switch(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// A name, or a quantity with its unit.
    Text(String),
}

impl From<bool> for KnobValue {
    fn from(v: bool) -> Self {
        KnobValue::Switch(v)
    }
}

impl From<i64> for KnobValue {
    fn from(v: i64) -> Self {
        KnobValue::Whole(v)
    }
}

impl From<f64> for KnobValue {
    fn from(v: f64) -> Self {
        KnobValue::Number(v)
    }
}

impl From<&str> for KnobValue {
    fn from(v: &str) -> Self {
        KnobValue::Text(v.to_string())
    }
}

impl From<String> for KnobValue {
    fn from(v: String) -> Self {
        KnobValue::Text(v)
    }
}

impl std::fmt::Display for KnobValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KnobValue::Switch(v) => write!(f, "{v}"),
            KnobValue::Whole(v) => write!(f, "{v}"),
            KnobValue::Number(v) => write!(f, "{v}"),
            KnobValue::Text(v) => f.write_str(v),
        }
    }
}

/// A monitor of a run: what the report says of it, and what it recorded.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Monitored {
    /// For the report.
    pub report: DamonReport,
    /// Its intervals and numbers of regions.
    pub attrs: MonitoringAttrs,
    /// Its rules, by which records are written.
    pub rules: DamonConfig,
    /// All regions of all aggregations, if they were to be kept, as long as there was room.
    pub record: Arc<Vec<Snapshot>>,
    /// Applications of its schemes, if all regions were to be kept.
    pub applied: Arc<Vec<Applied>>,
    /// True accesses of the watched pages, if requested.
    pub truth: Option<TruthMap>,
}

impl Monitored {
    /// A monitor with these intervals and rules that recorded nothing.
    pub fn new(report: DamonReport, attrs: MonitoringAttrs, rules: DamonConfig) -> Monitored {
        let (record, applied) = Default::default();
        Monitored { report, attrs, rules, record, applied, truth: None }
    }
}

/// Description of a run: everything in its report that is not a result.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct RunMeta {
    /// Name of its scenario, where the report has several.
    pub scenario: Option<String>,
    /// Name of the variant.
    pub variant: String,
    /// Where it stands on the axes.
    pub axes: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// The kernel.
    pub kernel: String,
    /// CPUs.
    pub cpus: u32,
    /// Name of the policy's preset.
    pub policy: String,
    /// Swap space.
    pub swap: Option<SwapReport>,
    /// Every resolved knob.
    pub knobs: Vec<(String, KnobValue)>,
    /// Everything else that was given.
    pub setup: Vec<(String, String)>,
    /// Results of monitors of accesses.
    pub damon: Vec<Monitored>,
    /// The MIN bound, if it was computed.
    pub bounds: Option<Bounds>,
    /// Causes of refaults, if requested.
    pub why: Option<WhyReport>,
    /// The refaults behind `why`: of each kind how many, and the pages of its examples.
    pub verdicts: Option<Verdicts>,
    /// Assumptions of the traces.
    pub assumed: Vec<String>,
}

impl RunMeta {
    /// Takes kernel, CPUs and swap from the machine; the rest is left empty.
    pub fn of_machine(machine: &MachineConfig) -> Self {
        RunMeta {
            kernel: machine.kernel.name().to_string(),
            cpus: machine.cpus,
            swap: SwapReport::of(&machine.swap),
            ..RunMeta::default()
        }
    }
}

impl RunReport {
    /// True if reclaim evicted pages, by its scans or by the choice of a policy.
    pub(crate) fn has_reclaimed(&self) -> bool {
        self.vmstat.any(VmEvent::RECLAIMED) || self.cache_ext.iter().any(|c| c.evicted > 0)
    }

    /// The report of a finished run.
    pub fn from_result(meta: RunMeta, result: &RunResult) -> Self {
        let (outcome, oom, stuck, panic) = match &result.outcome {
            Outcome::Completed => (Ending::Completed, None, None, None),
            Outcome::OutOfMemory(s) => (Ending::OutOfMemory, Some(s.into()), None, None),
            Outcome::Stuck(s) => (Ending::Stuck, None, Some(s.into()), None),
            Outcome::Panicked(s) => (Ending::Panicked, None, None, Some(s.clone())),
        };
        let oom_ns = oom.as_ref().map(|o: &OomReport| o.at_ns);
        RunReport {
            daemons: DaemonReport::all(&result.daemons, oom_ns),
            cache_ext: result.choosers.iter().map(CacheExtReport::from).collect(),
            scenario: meta.scenario,
            variant: meta.variant,
            axes: meta.axes.into_iter().collect(),
            seed: meta.seed,
            kernel: meta.kernel,
            cpus: meta.cpus,
            policy: meta.policy,
            swap: meta.swap.map(|s| s.with_areas(&result.swaps)),
            disk: DiskReport::all(&result.disks),
            knobs: meta.knobs.into_iter().collect(),
            setup: meta.setup.into_iter().collect(),
            sim_time_ns: result.sim_time.0,
            accesses: result.accesses,
            records: result.records,
            throughput: Throughput::new(result.records, result.accesses, result.sim_time),
            vmstat: counters::kept(&result.vmstat, &result.not_kept),
            transparent_hugepage: result.sizes.iter().cloned().collect(),
            gauges: result.gauges.iter().copied().collect(),
            phases: result.phases.iter().map(|p| PhaseReport::of(p, &result.not_kept)).collect(),
            pressure: PressureReport::new(result.pressure, result.sim_time),
            latency: result.latency.into(),
            reading: Some(ReadingReport {
                swap_ns: result.reading[0].0,
                file_ns: result.reading[1].0,
            }),
            cache_misses: Some(result.cache_misses),
            compaction: CompactionReport::of(&result.high_order, result.compaction, &result.vmstat),
            aims: result.aims.iter().map(AimReport::from).collect(),
            replayed: result.replayed.iter().map(ReplayReport::from).collect(),
            unwritten: result.unwritten.iter().map(|(name, n)| (name.clone(), *n)).collect(),
            memory_stat: result
                .memory_stat
                .iter()
                .map(|(name, stat)| {
                    let kept = |n| !result.not_kept.iter().any(|e| e.name() == n);
                    let value = |&(n, v): &(&'static str, u64)| (n, kept(n).then_some(v));
                    (name.clone(), stat.iter().map(value).collect())
                })
                .collect(),
            tasks: result.tasks.iter().map(|t| TaskReport::of(t, &result.not_kept)).collect(),
            threads: result.threads.iter().map(ThreadReport::from).collect(),
            zones: result
                .zones
                .iter()
                .map(|&(ref name, [managed, min, low, high, free_at_start])| ZoneReport {
                    name: name.clone(),
                    managed,
                    min,
                    low,
                    high,
                    free_at_start,
                })
                .collect(),
            mean_resident_bytes: result
                .mean_resident
                .map(|pages| (pages * PAGE_SIZE as f64).round() as u64),
            peak_resident: result.peak_resident,
            outcome,
            panic,
            oom,
            stuck,
            digest: format!("{:016x}", result.digest),
            damon: meta.damon.iter().map(|d| d.report.clone()).collect(),
            bounds: meta.bounds,
            why: meta.why,
            assumed: meta.assumed,
        }
    }

    /// All counters of this version in the order of reports; none: the policy does not keep it.
    pub fn counters(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        counters::all(&self.vmstat)
    }

    /// A phase of a task in which nothing happened, with the figures that phases of this run have.
    pub fn empty_phase(&self, name: String, task: TaskReport) -> PhaseReport {
        PhaseReport {
            name,
            begin_ns: 0,
            sim_time_ns: 0,
            accesses: 0,
            records: 0,
            throughput: self.throughput,
            vmstat: self.vmstat.clone(),
            transparent_hugepage: self.transparent_hugepage.clone(),
            gauges: self.gauges.clone(),
            lru_gen: Vec::new(),
            pressure: self.pressure,
            latency: self.latency,
            task: Some(task),
        }
    }
}
