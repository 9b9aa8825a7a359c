//! Results of a finished run for reports: plain data.

use crate::base::id::NodeId;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::{VmEvent, VmStat};
pub use crate::machine::watch::disks::FileDisk;
use crate::machine::watch::swaps::SwapArea;
use crate::policy::Generation;
use crate::policy::chooser::ChooserResult;
use crate::policy::compaction::CompactionStats;
use crate::policy::daemon::Reason;
use crate::virt::space::Counted;
use crate::workload::{Aim, Replayed};

pub use crate::workload::Pressure;

/// End of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// All threads finished their work.
    #[default]
    Completed,
    /// The OOM killer ended every process, or none was left to kill.
    OutOfMemory(OomSummary),
    /// The simulator itself failed, with this message. The machine is gone: the result has
    /// nothing else.
    Panicked(String),
    /// The run could not go on and was ended; what was done until then is in the result.
    Stuck(StuckSummary),
}

/// Why a run could not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// Threads try again and again, and no operation is ever done.
    NoProgress,
    /// A thread goes on and on, and none of it takes any time.
    TimeStands,
    /// All threads wait, and no event is left that would wake one.
    NothingWakes,
    /// The next event is behind [`SimTime::LAST`].
    TimeEnds,
    /// Memory is out, and every process has an `oom_score_adj` of -1000.
    NobodyToKill,
}

/// Who waited for what when a run could not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StuckSummary {
    /// When.
    pub at: SimTime,
    /// Why.
    pub why: Stuck,
    /// The threads that had not finished, in their order.
    pub waiting: Vec<WaitingThread>,
}

/// A thread of a run that could not go on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WaitingThread {
    /// `task` or `task/thread`.
    pub thread: String,
    /// Its operation, with what that asks for.
    pub doing: String,
    /// Event that has to happen for it to go on.
    pub waits_for: &'static str,
    /// When its last operation in the kernel was done.
    pub since: SimTime,
}

/// The shortage for which the OOM killer is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Shortage {
    /// No page for an allocation, after reclaim.
    #[default]
    Machine,
    /// No room below the limit of a group.
    Group,
    /// Every page is younger than MGLRU's `min_ttl_ms`.
    WorkingSet,
    /// An object of shared memory has all pages that it may have.
    Shmem,
    /// Too few pages in the pool of huge pages for a mapping.
    HugePages,
}

impl Shortage {
    /// For people.
    pub const fn describe(self) -> &'static str {
        match self {
            Shortage::Machine => "no page was left for an allocation",
            Shortage::Group => "no room was left below the limit of its group",
            Shortage::WorkingSet => "no page was older than min_ttl_ms",
            Shortage::Shmem => "its shared memory had all pages of its limit",
            Shortage::HugePages => "the pool of huge pages was too small for its mapping",
        }
    }
}

/// Who held memory when it ran out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct OomSummary {
    /// When.
    pub at: SimTime,
    /// The process that was killed first.
    pub victim: String,
    /// The shortage that it was killed for.
    pub shortage: Shortage,
    /// Kills after the first: when and whom, [`OomSummary::MOST_LATER`] at most.
    pub later: Vec<(SimTime, String)>,
    /// Living processes, in order of size.
    pub processes: Vec<OomProcess>,
    /// Gauges of the machine, by their names in `/proc/vmstat`.
    pub gauges: Vec<(&'static str, u64)>,
    /// Free pages.
    pub free: u64,
    /// Page cache, without shared memory.
    pub cache: u64,
    /// Shared memory.
    pub shmem: u64,
    /// Kernel: page tables, zram's store, overhead.
    pub kernel: u64,
    /// Free and total swap slots.
    pub swap_free: u64,
    /// Total swap slots.
    pub swap_total: u64,
}

/// A process when memory ran out, in pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct OomProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Mapped, in memory or not.
    pub total_vm: u64,
    /// Resident anonymous pages, pages of files, and shared memory.
    pub rss: [u64; 3],
    /// In swap.
    pub swapped: u64,
    /// Page tables.
    pub tables: u64,
    /// `oom_score_adj`.
    pub oom_score_adj: i16,
}

impl OomProcess {
    /// Resident pages.
    pub fn resident(&self) -> u64 {
        self.rss.iter().sum()
    }
}

impl OomSummary {
    /// Later kills that are kept.
    pub const MOST_LATER: usize = 1000;
}

/// A daemon of a run.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct DaemonResult {
    /// Its name.
    pub name: String,
    /// Looks.
    pub looks: u64,
    /// CPU time that it took.
    pub cpu: SimDuration,
    /// Time that it waited for memory of its own, or for a device.
    pub stalled: SimDuration,
    /// Acts.
    pub acted: u64,
    /// The first of them, in order.
    pub acts: Vec<Act>,
    /// Reads of files of groups that were not there, which gave zeros.
    pub absent: Option<AbsentReads>,
}

/// Reads of files of groups that were not there.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AbsentReads {
    /// When the first one was.
    pub at: SimTime,
    /// Its group.
    pub memcg: String,
    /// Their number.
    pub reads: u64,
}

/// An act of a daemon.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Act {
    /// When.
    pub at: SimTime,
    /// When a freeze ended; `None`: it goes on, or is another act.
    pub until: Option<SimTime>,
    /// A signal, the file that was written, `terminate group`, `kill group` or `freeze`.
    pub what: &'static str,
    /// The process or the group.
    pub target: String,
    /// Why.
    pub reason: Reason,
    /// Processes that were hit, threads that stopped, pages that were reclaimed.
    pub done: u64,
    /// Memory and work of its victims.
    pub lost: Lost,
    /// Refaults of the machine until then.
    pub refaulted: u64,
    /// For a write of `memory.max` below what the group was charged.
    pub below_use: Option<BelowUse>,
}

/// A limit that is written below what its group is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BelowUse {
    /// The limit, in pages.
    pub limit: u64,
    /// Pages that the group was charged.
    pub charged: u64,
    /// Processes that the OOM killer ended for it.
    pub killed: u64,
}

impl Act {
    /// True if it sends a signal to processes.
    pub fn kills(&self) -> bool {
        matches!(self.what, "SIGTERM" | "SIGKILL" | "terminate group" | "kill group")
    }
}

/// Memory and work of the victims of an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Lost {
    /// Pages in memory.
    pub resident: u64,
    /// Pages in swap.
    pub swapped: u64,
    /// Accesses.
    pub accesses: u64,
    /// Records.
    pub records: u64,
}

/// One generation of a group on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemcgGeneration {
    /// The node.
    pub node: NodeId,
    /// The group's name; empty for the root.
    pub memcg: String,
    /// The generation.
    pub generation: Generation,
}

/// Counts of one task, over the run or since its last phase ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TaskResult {
    /// Name of the task.
    pub name: String,
    /// Since when.
    pub begin: SimTime,
    /// Accesses of its threads.
    pub accesses: u64,
    /// Records done by them.
    pub records: u64,
    /// Its counters.
    pub counted: Counted,
    /// Latencies of its records, if its workload defines records.
    pub record: Option<RecordLatency>,
}

impl TaskResult {
    /// A task of this name that did nothing.
    pub fn new(name: impl Into<String>) -> Self {
        TaskResult {
            name: name.into(),
            begin: SimTime::ZERO,
            accesses: 0,
            records: 0,
            counted: Counted::default(),
            record: None,
        }
    }
}

/// Latencies of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecordLatency {
    /// Name of a record: `launch`, `transaction`.
    pub what: &'static str,
    /// From its beginning to its end, without what the thread slept of its own will.
    pub took: Quantiles,
}

impl RecordLatency {
    /// Records of this name took so long.
    pub fn new(what: &'static str, took: Quantiles) -> Self {
        RecordLatency { what, took }
    }
}

/// One phase of a run.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct PhaseResult {
    /// `task/phase`, or `phase` where only one task has phases.
    pub name: String,
    /// Where it began.
    pub begin: SimTime,
    /// Where it ended.
    pub end: SimTime,
    /// Accesses of all threads in it.
    pub accesses: u64,
    /// Records done in it.
    pub records: u64,
    /// Counter changes.
    pub vmstat: VmStat,
    /// Counters of each size of anonymous folios that mappings may have or had, by
    /// `hugepages-64kB.anon_fault_alloc` and such names; changes, and gauges at its end.
    pub sizes: Vec<(String, u64)>,
    /// Gauges at its end (`nr_free_pages`, `nr_inactive_anon`, ...).
    pub gauges: Vec<(&'static str, u64)>,
    /// Generations of each group on each node at its end, oldest first; none if the policy has
    /// none. With more than 256 groups: of the root and of the task's own group.
    pub generations: Vec<MemcgGeneration>,
    /// Memory pressure in it.
    pub pressure: Pressure,
    /// Latencies in it.
    pub latency: Latencies,
    /// Counts of the task whose phase it is since its last phase ended: other tasks' phases may
    /// have ended meanwhile.
    pub task: TaskResult,
}

impl PhaseResult {
    /// A phase of a task in which nothing happened.
    pub fn new(name: impl Into<String>, task: TaskResult) -> Self {
        PhaseResult {
            name: name.into(),
            begin: SimTime::ZERO,
            end: SimTime::ZERO,
            accesses: 0,
            records: 0,
            vmstat: VmStat::default(),
            sizes: Vec::new(),
            gauges: Vec::new(),
            generations: Vec::new(),
            pressure: Pressure::default(),
            latency: Latencies::default(),
            task,
        }
    }
}

/// Quantiles of a latency in nanoseconds (upper edge of the histogram's bucket, within
/// 1/16 of the value; the worst is exact).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Quantiles {
    /// Number of samples.
    pub count: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}

/// Latencies of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Latencies {
    /// Minor faults.
    pub minor_fault: Quantiles,
    /// Major faults.
    pub major_fault: Quantiles,
    /// Stalls in direct reclaim.
    pub direct_reclaim: Quantiles,
}

/// Where a block of order above 0 came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It was free, perhaps below the low watermark.
    FreeList,
    /// Asynchronous compaction, before reclaim, made it.
    AsyncCompaction,
    /// It was free after direct reclaim.
    Reclaim,
    /// Compaction that may wait made it, after reclaim.
    SyncCompaction,
}

/// Fate of the requests of workloads for blocks of order above 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct HighOrder {
    /// Blocks asked for.
    pub attempts: u64,
    /// Attempts that succeeded, by where the block came from: it was free, asynchronous compaction
    /// made it, direct reclaim freed it, compaction that may wait made it.
    pub from: [u64; 4],
}

impl HighOrder {
    /// Blocks that were had.
    pub fn success(&self) -> u64 {
        self.from.iter().sum()
    }
}

/// Counts of one thread.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ThreadResult {
    /// `task` or `task/thread`.
    pub name: String,
    /// CPU time of its own.
    pub user: SimDuration,
    /// CPU time of the kernel on its behalf.
    pub system: SimDuration,
    /// Waiting for page I/O.
    pub io_wait: SimDuration,
    /// Throttled.
    pub throttled: SimDuration,
    /// Records done.
    pub records: u64,
    /// When it finished.
    pub finished: SimTime,
}

impl ThreadResult {
    /// A thread of this name that did nothing.
    pub fn new(name: impl Into<String>) -> Self {
        ThreadResult {
            name: name.into(),
            user: SimDuration::ZERO,
            system: SimDuration::ZERO,
            io_wait: SimDuration::ZERO,
            throttled: SimDuration::ZERO,
            records: 0,
            finished: SimTime::ZERO,
        }
    }
}

/// A finished run.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct RunResult {
    /// Its end.
    pub outcome: Outcome,
    /// Simulated time from start to end.
    pub sim_time: SimDuration,
    /// Accesses of all threads.
    pub accesses: u64,
    /// Records done by all threads.
    pub records: u64,
    /// Counters.
    pub vmstat: VmStat,
    /// Counters of each size of anonymous folios that mappings may have or had, by
    /// `hugepages-64kB.anon_fault_alloc` and such names; sums of what happened, and gauges.
    pub sizes: Vec<(String, u64)>,
    /// Gauges at the end.
    pub gauges: Vec<(&'static str, u64)>,
    /// Phases, in order of their ends.
    pub phases: Vec<PhaseResult>,
    /// Pressure on the whole machine.
    pub pressure: Pressure,
    /// Latencies.
    pub latency: Latencies,
    /// Time of reads from the swap device and from that of files: latency and transfer, without
    /// waiting in line.
    pub reading: [SimDuration; 2],
    /// Pages that `read(2)` and `write(2)` wanted and that were not in memory.
    pub cache_misses: u64,
    /// Counters that the policy does not keep ([`crate::policy::PolicyTraits`]): their
    /// zeros say nothing.
    pub not_kept: Vec<VmEvent>,
    /// Tasks in their order.
    pub tasks: Vec<TaskResult>,
    /// Threads.
    pub threads: Vec<ThreadResult>,
    /// Daemons; they are not among tasks and threads.
    pub daemons: Vec<DaemonResult>,
    /// `memory.stat` of each group besides the root: name, counters and gauges.
    pub memory_stat: Vec<(String, Vec<(&'static str, u64)>)>,
    /// Choosers of groups, in the order of these.
    pub choosers: Vec<ChooserResult>,
    /// Blocks that workloads asked for.
    pub high_order: HighOrder,
    /// Counters of the compaction strategy, if there is one.
    pub compaction: Option<CompactionStats>,
    /// Aims of workloads, by the names of their threads.
    pub aims: Vec<(String, Aim)>,
    /// Timeliness of replays of recorded instants, by the names of their threads.
    pub replayed: Vec<(String, Replayed)>,
    /// Processes that read anonymous pages and wrote none, so that all of them were the zero page:
    /// name, and faults that mapped it.
    pub unwritten: Vec<(String, u64)>,
    /// `/proc/zoneinfo` in short, as set up: zone name, managed, min, low, high, free at start.
    pub zones: Vec<(String, [u64; 5])>,
    /// Swap devices at the end.
    pub swaps: Vec<SwapArea>,
    /// Disks for files, the default one first.
    pub disks: Vec<FileDisk>,
    /// Fingerprint of the final state.
    pub digest: u64,
    /// Mean of resident workload pages over time, if it is measured
    /// ([`Machine::measure_resident`](crate::machine::Machine::measure_resident)).
    pub mean_resident: Option<f64>,
    /// Largest number of resident workload pages, for bounds.
    pub peak_resident: u64,
    /// Host bytes that the simulated frames cost, for stderr.
    pub host_bytes: u64,
}
