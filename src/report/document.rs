//! The document: one per command, with every run of a scenario.
//!
//! Keys are stable and come in a fixed order; counters that stayed zero are there too. A
//! reader must check `schema`, which grows when a key changes its meaning; a key that is
//! new does not make it grow. Times are whole nanoseconds of simulated time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::{VmEvent, VmStat};
use mmsim_core::machine::config::MachineConfig;
use mmsim_core::machine::result::{
    HighOrder, Latencies, OomSummary, Outcome, PhaseResult, Pressure, Quantiles, RunResult, Stuck,
    StuckSummary, TaskResult, ThreadResult, WaitingThread,
};
use mmsim_core::policy::compaction::CompactionStats;
use mmsim_core::workload::Aim;

use mmsim_damon::{DamonConfig, MonitoringAttrs, Snapshot};

use super::counters;
use super::expect::ExpectReport;
use super::pairs::Pairs;
use super::replayed::ReplayReport;

/// The version of the document's form.
pub const SCHEMA: u32 = 1;

/// The JSON Schema of [`Report`], with a sentence for every field. Keys that are new do not make
/// [`SCHEMA`] grow, so a reader has to allow others.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

/// All runs of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of this form: [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario; of several, with `, ` between them.
    pub scenario: String,
    /// What the scenario is about, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Runs in the order of the scenario: axes, then variants, then seeds.
    pub runs: Vec<RunReport>,
    /// What scenarios expect of their runs, and what came out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectReport>,
    /// What a reader of the figures should know first: work that never took memory, runs without
    /// reclaim, variants that are the same run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

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
    /// What became of blocks of order above 0, if workloads asked for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionReport>,
    /// What each monitor of accesses saw and did, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damon: Vec<DamonReport>,
    /// What tasks were to bring about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aims: Vec<AimReport>,
    /// How replays of recorded instants kept up with them, a task each.
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
    /// How the run ended.
    pub outcome: Ending,
    /// Who held memory when it ran out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom: Option<OomReport>,
    /// What the simulator said when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panic: Option<String>,
    /// Who waited for what when it could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckReport>,
    /// Fingerprint of the final state, 16 hexadecimal digits.
    pub digest: String,
    /// What no policy can do better, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// What had to be assumed in making the traces that it replays, and what lists of commands ask of
    /// the machine that is its scenario's to say, with the task's name in front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
}

/// What a monitor of accesses saw and did.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DamonReport {
    /// Its name.
    pub name: String,
    /// Its operations: `vaddr`, `fvaddr` or `paddr`.
    pub ops: String,
    /// CPU time that it used.
    pub cpu_ns: u64,
    /// Samples that it took.
    pub samples: u64,
    /// Regions at the end; none once it has ended.
    pub nr_regions: u64,
    /// Its schemes, in order.
    pub schemes: Vec<SchemeReport>,
    /// How far it is from the truth, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthReport>,
}

/// How far a monitor is from the truth: means over its snapshots.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TruthReport {
    /// Snapshots that were compared.
    pub snapshots: u64,
    /// Bytes times time whose accesses were misjudged, as a share of all that was watched: 0.1 is a
    /// tenth of memory taken for always accessed that never was, or all of it by a tenth of the samples.
    pub misjudged: f64,
    /// The part of that which was said to be accessed more often than it was.
    pub overrated: f64,
    /// Bytes with an access in an aggregation.
    pub working_set: f64,
    /// Bytes of regions said to have one.
    pub working_set_said: f64,
    /// Bytes wrongly in that or missing from it.
    pub working_set_wrong: f64,
    /// Bytes of the smallest region that was rightly said to be accessed in four of five samples; 0:
    /// none was.
    pub smallest_hot: u64,
}

/// What became of a scheme: the kernel's statistics.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SchemeReport {
    /// What it does.
    pub action: String,
    /// Regions it was tried on.
    pub nr_tried: u64,
    /// Their bytes.
    pub sz_tried: u64,
    /// Regions where it worked.
    pub nr_applied: u64,
    /// Bytes for which it worked.
    pub sz_applied: u64,
    /// Charge windows whose quota was used up.
    pub qt_exceeds: u64,
}

/// What a task was to bring about, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AimReport {
    /// The task.
    pub task: String,
    /// What.
    pub what: String,
    /// The value it was to have.
    pub target: i64,
    /// How far from it is close enough.
    pub tolerance: i64,
    /// The value at the end.
    pub reached: i64,
    /// The value farthest from the target since it was reached first.
    pub farthest: i64,
    /// The value closest to the target that was seen on the last way to it, where it was not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<i64>,
    /// Whether the value at the end is close enough.
    pub met: bool,
}

impl From<&(String, Aim)> for AimReport {
    fn from((task, aim): &(String, Aim)) -> Self {
        AimReport {
            task: task.clone(),
            what: aim.what.clone(),
            target: aim.target,
            tolerance: aim.tolerance,
            reached: aim.reached,
            farthest: aim.farthest,
            closest: (!aim.met()).then_some(aim.closest),
            met: aim.met(),
        }
    }
}

/// Time that devices spent on reads: latency and transfer, without waiting in line. Of a synchronous
/// device it is time of the callers' CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ReadingReport {
    /// Of the swap device.
    pub swap_ns: u64,
    /// Of the device of files.
    pub file_ns: u64,
}

/// What became of the blocks of order above 0 that workloads asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CompactionReport {
    /// Blocks asked for.
    pub attempts: u64,
    /// Of these, blocks that were had.
    pub success: u64,
    /// Of these, blocks that were free.
    pub free_list: u64,
    /// Blocks that asynchronous compaction had made.
    pub async_compaction: u64,
    /// Blocks that were free after direct reclaim.
    pub reclaim: u64,
    /// Blocks that synchronous compaction had made.
    pub sync_compaction: u64,
    /// Runs over a zone that ended with a block, or with the chance of one.
    pub runs_success: u64,
    /// Runs that saw the zone to its end in vain.
    pub runs_complete: u64,
    /// Runs that gave up before.
    pub runs_given_up: u64,
    /// Runs that did not start.
    pub runs_skipped: u64,
    /// Requests that were put off after failures.
    pub deferred: u64,
    /// Times that what was learned of a zone was forgotten.
    pub resets: u64,
    /// Moves of a page that had been moved before.
    pub moved_before: u64,
    /// Moves of a page back into a pageblock that it had been moved out of.
    pub returned: u64,
}

impl CompactionReport {
    fn of(h: &HighOrder, stats: Option<CompactionStats>, vmstat: &VmStat) -> Option<Self> {
        let [free_list, async_compaction, reclaim, sync_compaction] = h.from;
        let asked = h.attempts > 0 || stats.is_some();
        let s = stats.unwrap_or_default();
        let all_modes = |runs: [u64; 3]| runs.iter().sum();
        asked.then_some(CompactionReport {
            attempts: h.attempts,
            success: h.success(),
            free_list,
            async_compaction,
            reclaim,
            sync_compaction,
            runs_success: all_modes(s.success),
            runs_complete: all_modes(s.complete),
            runs_given_up: all_modes(s.given_up),
            runs_skipped: all_modes(s.skipped),
            deferred: s.deferred,
            resets: s.resets,
            moved_before: vmstat[VmEvent::SimMigrateAgain],
            returned: vmstat[VmEvent::SimMigrateBack],
        })
    }
}

/// One phase of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PhaseReport {
    /// `task/phase`, or `phase` where only one task has phases.
    pub name: String,
    /// When it began.
    pub begin_ns: u64,
    /// How long it was.
    pub sim_time_ns: u64,
    /// Accesses of all threads in it.
    pub accesses: u64,
    /// Records done in it.
    pub records: u64,
    /// Work per simulated second in it.
    pub throughput: Throughput,
    /// Counter changes, as in [`RunReport::vmstat`].
    #[serde(with = "counters")]
    #[schemars(with = "Pairs<Option<u64>>")]
    pub vmstat: Pairs<u64>,
    /// Gauges at its end.
    pub gauges: Pairs<u64>,
    /// Generations of every group at its end, oldest first, if the policy has such; with more than
    /// 256 groups those of the root and of the task's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lru_gen: Vec<GenerationReport>,
    /// Memory pressure in it.
    pub pressure: PressureReport,
    /// Latencies in it.
    pub latency: LatencyReport,
    /// What the task whose phase it is did since its last phase ended. All else is of the whole
    /// machine, since the last phase of any task ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskReport>,
}

/// One generation of a group on a node, as a line of `/sys/kernel/debug/lru_gen`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct GenerationReport {
    /// The group's name; left out for the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub memcg: String,
    /// The node.
    pub node: u8,
    /// Sequence number; higher is younger.
    pub seq: u64,
    /// Milliseconds since it began.
    pub age_ms: u64,
    /// Anonymous pages.
    pub nr_anon: u64,
    /// File pages, lazily freed ones included.
    pub nr_file: u64,
}

/// What one task did and what was done to it, over the whole run or since its last phase ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TaskReport {
    /// Name of the task.
    pub name: String,
    /// Since when.
    pub begin_ns: u64,
    /// Accesses of its threads.
    pub accesses: u64,
    /// Records done by them.
    pub records: u64,
    /// Its counters: faults, swap-ins and refaults of its own threads, and evictions of pages that
    /// it had mapped; `null`: the policy does not keep it.
    pub vmstat: Pairs<Option<u64>>,
    /// What its records took, where the work has records of which each has a beginning and an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordReport>,
}

/// What the records of a task took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RecordReport {
    /// What a record is: `launch`, `transaction`, `compilation` or `record`.
    pub what: String,
    /// From its beginning to its end, without what the thread slept of its own will.
    pub latency: QuantilesReport,
}

impl TaskReport {
    fn of(t: &TaskResult, not_kept: &[VmEvent]) -> Self {
        let kept = |name| !not_kept.iter().any(|e| e.name() == name);
        TaskReport {
            name: t.name.clone(),
            begin_ns: t.begin.0,
            accesses: t.accesses,
            records: t.records,
            vmstat: t.counted.named().map(|(n, v)| (n, kept(n).then_some(v))).into_iter().collect(),
            record: t
                .record
                .map(|r| RecordReport { what: r.what.to_string(), latency: r.took.into() }),
        }
    }
}

/// Work per simulated second; zero where no time passed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Throughput {
    /// Records per second.
    pub records_per_s: f64,
    /// Accesses per second.
    pub accesses_per_s: f64,
}

impl Throughput {
    fn new(records: u64, accesses: u64, time: SimDuration) -> Self {
        let per_s = |n: u64| if time.0 == 0 { 0.0 } else { n as f64 / time.as_secs_f64() };
        Throughput { records_per_s: per_s(records), accesses_per_s: per_s(accesses) }
    }
}

/// Pressure stall information.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PressureReport {
    /// Microseconds in which some thread was stalled on memory.
    pub some_us: u64,
    /// Microseconds in which all non-idle threads were.
    pub full_us: u64,
    /// `some_us` as a share (0 to 1) of the time.
    pub some_share: f64,
    /// `full_us` as a share (0 to 1) of the time.
    pub full_share: f64,
}

impl PressureReport {
    fn new(p: Pressure, time: SimDuration) -> Self {
        let share = |us: u64| if time.0 == 0 { 0.0 } else { us as f64 * 1e3 / time.0 as f64 };
        PressureReport {
            some_us: p.some_us,
            full_us: p.full_us,
            some_share: share(p.some_us),
            full_share: share(p.full_us),
        }
    }
}

/// Quantiles of one latency: upper edges of histogram buckets, the largest exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct QuantilesReport {
    /// Number of samples.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl QuantilesReport {
    /// The values with their names, in the order of the document.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("count", self.count),
            ("p50_ns", self.p50_ns),
            ("p99_ns", self.p99_ns),
            ("p999_ns", self.p999_ns),
            ("max_ns", self.max_ns),
        ]
    }
}

impl From<Quantiles> for QuantilesReport {
    fn from(q: Quantiles) -> Self {
        QuantilesReport {
            count: q.count,
            p50_ns: q.p50,
            p99_ns: q.p99,
            p999_ns: q.p999,
            max_ns: q.max,
        }
    }
}

/// Latencies by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LatencyReport {
    /// Minor faults.
    pub minor_fault: QuantilesReport,
    /// Major faults.
    pub major_fault: QuantilesReport,
    /// Stalls in direct reclaim.
    pub direct_reclaim: QuantilesReport,
}

impl LatencyReport {
    /// The kinds with their names, in the order of the document.
    pub fn named(&self) -> [(&'static str, &QuantilesReport); 3] {
        [
            ("minor_fault", &self.minor_fault),
            ("major_fault", &self.major_fault),
            ("direct_reclaim", &self.direct_reclaim),
        ]
    }
}

impl From<Latencies> for LatencyReport {
    fn from(l: Latencies) -> Self {
        LatencyReport {
            minor_fault: l.minor_fault.into(),
            major_fault: l.major_fault.into(),
            direct_reclaim: l.direct_reclaim.into(),
        }
    }
}

/// What one thread did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ThreadReport {
    /// `task` or `task/thread`.
    pub name: String,
    /// CPU time of its own.
    pub user_ns: u64,
    /// CPU time of the kernel on its behalf.
    pub system_ns: u64,
    /// Waiting for page I/O.
    pub io_wait_ns: u64,
    /// Throttled.
    pub throttled_ns: u64,
    /// Records done.
    pub records: u64,
    /// When it finished.
    pub finished_ns: u64,
}

impl From<&ThreadResult> for ThreadReport {
    fn from(t: &ThreadResult) -> Self {
        ThreadReport {
            name: t.name.clone(),
            user_ns: t.user.0,
            system_ns: t.system.0,
            io_wait_ns: t.io_wait.0,
            throttled_ns: t.throttled.0,
            records: t.records,
            finished_ns: t.finished.0,
        }
    }
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
    /// Name of the device.
    pub device: String,
    /// Usable bytes.
    pub bytes: u64,
}

impl SwapReport {
    /// So many bytes on a device of this name.
    pub fn new(device: impl Into<String>, bytes: u64) -> Self {
        SwapReport { device: device.into(), bytes }
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum Ending {
    /// All threads finished their work.
    #[serde(rename = "completed")]
    Completed,
    /// The OOM killer ended every process, or none was left to kill.
    #[serde(rename = "out of memory")]
    OutOfMemory,
    /// The simulator itself failed; no figure of the run means anything.
    #[serde(rename = "panicked")]
    Panicked,
    /// It could not go on and was ended: threads tried in vain, nothing would have woken them, or
    /// simulated time came to its end.
    #[serde(rename = "stuck")]
    Stuck,
}

/// Why a run could not go on, and who waited for what.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StuckReport {
    /// When it was ended.
    pub at_ns: u64,
    /// Why, for people.
    pub why: String,
    /// Threads that had not finished.
    pub waiting: Vec<StuckThread>,
}

/// A thread of a run that could not go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct StuckThread {
    /// `task` or `task/thread`.
    pub thread: String,
    /// Its operation, with what that asks for.
    pub doing: String,
    /// What has to happen for it to go on.
    pub waits_for: String,
    /// When its last operation in the kernel was done.
    pub since_ns: u64,
}

impl From<&StuckSummary> for StuckReport {
    fn from(s: &StuckSummary) -> Self {
        let thread = |t: &WaitingThread| StuckThread {
            thread: t.thread.clone(),
            doing: t.doing.clone(),
            waits_for: t.waits_for.to_string(),
            since_ns: t.since.0,
        };
        StuckReport {
            at_ns: s.at.0,
            why: match s.why {
                Stuck::NoProgress => "threads try in vain, and no operation is done".to_string(),
                Stuck::TimeStands => "a thread goes on and on, and time does not pass".to_string(),
                Stuck::NothingWakes => "all threads wait, and nothing will wake them".to_string(),
                Stuck::TimeEnds => format!(
                    "the run is too long: simulated time ends at {} s, after 146 years",
                    SimTime::LAST.0 / 1_000_000_000
                ),
            },
            waiting: s.waiting.iter().map(thread).collect(),
        }
    }
}

impl Ending {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Completed => "completed",
            Ending::OutOfMemory => "out of memory",
            Ending::Panicked => "panicked",
            Ending::Stuck => "stuck",
        }
    }

    /// Whether all work was done. Figures of a run that did less are not those of its work, and
    /// are compared with nothing.
    pub fn is_whole(self) -> bool {
        self == Ending::Completed
    }
}

/// Who held memory when it ran out, in pages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OomReport {
    /// When.
    pub at_ns: u64,
    /// Processes, the largest first.
    pub processes: Vec<OomProcess>,
    /// Free pages.
    pub free: u64,
    /// Pages of the page cache.
    pub cache: u64,
    /// Pages of the kernel itself.
    pub kernel: u64,
    /// Free swap slots.
    pub swap_free: u64,
    /// All swap slots.
    pub swap_total: u64,
}

/// A process at the time when memory ran out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OomProcess {
    /// Name of the process.
    pub name: String,
    /// Resident pages.
    pub resident: u64,
    /// Swapped pages.
    pub swapped: u64,
}

impl From<&OomSummary> for OomReport {
    fn from(s: &OomSummary) -> Self {
        let process = |&(ref name, resident, swapped): &(String, u64, u64)| OomProcess {
            name: name.clone(),
            resident,
            swapped,
        };
        OomReport {
            at_ns: s.at.0,
            processes: s.processes.iter().map(process).collect(),
            free: s.free,
            cache: s.cache,
            kernel: s.kernel,
            swap_free: s.swap_free,
            swap_total: s.swap_total,
        }
    }
}

/// What no policy can do better on the run's own sequence of accesses, where these need a frame:
/// the zero page, locked memory and lazily freed memory are left out, and memory that was dropped
/// or overwritten in full is new.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Bounds {
    /// Misses of Belady's MIN at the largest resident set of the run.
    pub sim_opt_misses: u64,
    /// Of these, the ones that are no first touch: pages that even the optimum would have
    /// had to fetch again. To be held against swap-ins and refaults.
    pub sim_opt_refetches: u64,
    /// Whether it bounds what is fetched again on demand. Where pages are read ahead it bounds only
    /// all that is fetched again, and is an orientation.
    pub exact: bool,
}

impl Bounds {
    /// These misses, of which so many are no first touch.
    pub fn new(sim_opt_misses: u64, sim_opt_refetches: u64, exact: bool) -> Self {
        Bounds { sim_opt_misses, sim_opt_refetches, exact }
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
    /// How often and how finely it looked.
    pub attrs: MonitoringAttrs,
    /// Its rules, by which records are written.
    pub rules: DamonConfig,
    /// All regions of all aggregations, if they were to be kept.
    pub record: Vec<Snapshot>,
}

/// What a run was: everything in its report that is not a result.
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
    /// What monitors of accesses saw and did.
    pub damon: Vec<Monitored>,
    /// The MIN bound, if it was computed.
    pub bounds: Option<Bounds>,
    /// What the traces assume.
    pub assumed: Vec<String>,
}

impl RunMeta {
    /// Takes kernel, CPUs and swap from the machine; the rest is left empty.
    pub fn of_machine(machine: &MachineConfig) -> Self {
        RunMeta {
            kernel: machine.kernel.name().to_string(),
            cpus: machine.cpus,
            swap: machine.swap.as_ref().map(|s| SwapReport {
                device: s.device.name.clone(),
                bytes: u64::from(s.slots) * PAGE_SIZE,
            }),
            ..RunMeta::default()
        }
    }
}

impl RunReport {
    /// The report of a finished run.
    pub fn from_result(meta: RunMeta, result: &RunResult) -> Self {
        let (outcome, oom, stuck, panic) = match &result.outcome {
            Outcome::Completed => (Ending::Completed, None, None, None),
            Outcome::OutOfMemory(s) => (Ending::OutOfMemory, Some(s.into()), None, None),
            Outcome::Stuck(s) => (Ending::Stuck, None, Some(s.into()), None),
            Outcome::Panicked(s) => (Ending::Panicked, None, None, Some(s.clone())),
        };
        RunReport {
            scenario: meta.scenario,
            variant: meta.variant,
            axes: meta.axes.into_iter().collect(),
            seed: meta.seed,
            kernel: meta.kernel,
            cpus: meta.cpus,
            policy: meta.policy,
            swap: meta.swap,
            knobs: meta.knobs.into_iter().collect(),
            setup: meta.setup.into_iter().collect(),
            sim_time_ns: result.sim_time.0,
            accesses: result.accesses,
            records: result.records,
            throughput: Throughput::new(result.records, result.accesses, result.sim_time),
            vmstat: counters::kept(&result.vmstat, &result.not_kept),
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
            unwritten: result.unwritten.iter().map(|(name, n)| (name.as_str(), *n)).collect(),
            memory_stat: result
                .memory_stat
                .iter()
                .map(|(name, stat)| {
                    let kept = |n| !result.not_kept.iter().any(|e| e.name() == n);
                    let value = |&(n, v): &(&'static str, u64)| (n, kept(n).then_some(v));
                    (name.as_str(), stat.iter().map(value).collect())
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
            assumed: meta.assumed,
        }
    }
}

impl PhaseReport {
    /// A phase of a task in which nothing happened, with the figures that phases of `run` have.
    pub(crate) fn empty(name: String, task: TaskReport, run: &RunReport) -> Self {
        PhaseReport {
            name,
            begin_ns: 0,
            sim_time_ns: 0,
            accesses: 0,
            records: 0,
            throughput: run.throughput,
            vmstat: run.vmstat.clone(),
            gauges: run.gauges.clone(),
            lru_gen: Vec::new(),
            pressure: run.pressure,
            latency: run.latency,
            task: Some(task),
        }
    }

    fn of(p: &PhaseResult, not_kept: &[VmEvent]) -> Self {
        let time = p.end.since(p.begin);
        PhaseReport {
            name: p.name.clone(),
            begin_ns: p.begin.0,
            sim_time_ns: time.0,
            accesses: p.accesses,
            records: p.records,
            throughput: Throughput::new(p.records, p.accesses, time),
            vmstat: counters::kept(&p.vmstat, not_kept),
            gauges: p.gauges.iter().copied().collect(),
            lru_gen: p
                .generations
                .iter()
                .map(|g| GenerationReport {
                    memcg: g.memcg.clone(),
                    node: g.node.0,
                    seq: g.generation.seq,
                    age_ms: g.generation.age.0 / 1_000_000,
                    nr_anon: g.generation.anon,
                    nr_file: g.generation.file,
                })
                .collect(),
            pressure: PressureReport::new(p.pressure, time),
            latency: p.latency.into(),
            task: Some(TaskReport::of(&p.task, not_kept)),
        }
    }
}

/// Why a document could not be read as a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It is not JSON, or not of this form.
    #[error("not a report of mmsim: {0}")]
    Form(#[from] serde_json::Error),
    /// It was written in a form that this version does not know.
    #[error("the report has schema {0}, this version of mmsim reads schema {SCHEMA}")]
    Schema(u64),
}

impl Report {
    /// A report of these runs, written by this version of mmsim.
    pub fn new(
        scenario: impl Into<String>,
        about: impl Into<String>,
        runs: Vec<RunReport>,
    ) -> Self {
        Report {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            scenario: scenario.into(),
            about: about.into(),
            runs,
            expect: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The document as indented JSON that ends with a newline. Equal reports give equal
    /// bytes.
    pub fn to_json(&self) -> String {
        // Every value is a number, a string, or a list or map of them under string keys.
        let mut json = serde_json::to_string_pretty(self).expect("a report is plain data");
        json.push('\n');
        json
    }

    /// Reads a document back.
    pub fn from_json(json: &str) -> Result<Report, ReportError> {
        // The schema first: a document of a later form should say so, and not complain
        // about a key.
        #[derive(Deserialize)]
        struct Version {
            schema: u64,
        }
        let Version { schema } = serde_json::from_str(json)?;
        if schema != u64::from(SCHEMA) {
            return Err(ReportError::Schema(schema));
        }
        Ok(serde_json::from_str(json)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_report_reads_back_as_it_was_written() {
        let report = samples::two_variants(&[1, 2]);
        let json = report.to_json();
        let back = Report::from_json(&json).unwrap();
        assert_eq!(back, report);
        assert_eq!(back.to_json(), json);
    }

    #[test]
    fn keys_come_in_the_order_of_the_contract() {
        let report = samples::two_variants(&[1]);
        let json = report.to_json();
        let mut from = 0;
        for key in [
            "mmsim",
            "schema",
            "scenario",
            "about",
            "runs",
            "variant",
            "axes",
            "seed",
            "kernel",
            "knobs",
            "sim_time_ns",
            "accesses",
            "records",
            "vmstat",
            "pgfault",
            "pswpin",
            "sim_accesses",
            "gauges",
            "phases",
            "pressure",
            "latency",
            "memory_stat",
            "threads",
            "zones",
            "outcome",
            "digest",
        ] {
            let at = json[from..].find(&format!("\"{key}\":"));
            from += at.unwrap_or_else(|| panic!("`{key}` is missing or out of order"));
        }
        assert!(json.contains(r#""workingset_nodereclaim": 0"#), "zeros are printed");
        assert!(json.contains(r#""outcome": "completed""#));
        assert!(json.contains(r#""digest": "00000000deadbeef""#));
        assert!(!json.contains("\"oom\"") && !json.contains("\"bounds\""));
    }

    #[test]
    fn shares_and_rates() {
        let run = &samples::two_variants(&[1]).runs[0];
        assert_eq!(run.sim_time_ns, 10_000_000_000);
        assert_eq!(run.throughput.records_per_s, 5_000.0);
        assert_eq!(run.pressure.some_us, 500_000);
        assert_eq!(run.pressure.some_share, 0.05);
        let phase = &run.phases[1];
        assert_eq!((phase.begin_ns, phase.sim_time_ns), (2_000_000_000, 8_000_000_000));
        assert_eq!(phase.throughput.records_per_s, 6_250.0);
    }

    #[test]
    fn no_time_is_no_throughput() {
        let t = Throughput::new(5, 5, SimDuration::ZERO);
        assert_eq!((t.records_per_s, t.accesses_per_s), (0.0, 0.0));
    }

    #[test]
    fn out_of_memory_says_who_held_it() {
        let mut result = samples::result(100, 0);
        let mut oom = OomSummary::default();
        oom.processes = vec![("ebizzy".into(), 900, 100)];
        oom.free = 7;
        result.outcome = Outcome::OutOfMemory(oom);
        let run = RunReport::from_result(RunMeta::default(), &result);
        let json = Report::new("x", "", vec![run]).to_json();
        assert!(json.contains(r#""outcome": "out of memory""#));
        assert!(json.contains(r#""name": "ebizzy""#));
        let back = Report::from_json(&json).unwrap();
        assert_eq!(back.runs[0].oom.as_ref().unwrap().processes[0].swapped, 100);
    }

    #[test]
    fn another_schema_is_refused_by_number() {
        let error = Report::from_json(r#"{"schema": 2, "news": []}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the report has schema 2, this version of mmsim reads schema 1"
        );
        assert!(Report::from_json("{}").unwrap_err().to_string().contains("schema"));
    }

    #[test]
    fn knobs_keep_their_type() {
        let knobs: Pairs<KnobValue> = [
            ("swappiness", KnobValue::from(60_i64)),
            ("lazyfree", KnobValue::from(true)),
            ("zipf", KnobValue::from(0.7)),
            ("anon-start", KnobValue::from("inactive")),
        ]
        .into_iter()
        .collect();
        let json = serde_json::to_string(&knobs).unwrap();
        assert_eq!(json, r#"{"swappiness":60,"lazyfree":true,"zipf":0.7,"anon-start":"inactive"}"#);
        assert_eq!(serde_json::from_str::<Pairs<KnobValue>>(&json).unwrap(), knobs);
    }
}
