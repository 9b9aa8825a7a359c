//! Tasks, their phases and aims, and threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::result::{PhaseResult, TaskResult, ThreadResult};
use mmsim_core::workload::Aim;

use super::figures::{LatencyReport, PressureReport, QuantilesReport, Throughput};
use crate::counters;
use crate::pairs::Pairs;

/// Aim of a task, and its result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AimReport {
    /// The task.
    pub task: String,
    /// Description of the aim.
    pub what: String,
    /// The value it was to have.
    pub target: i64,
    /// Distance from it that is close enough.
    pub tolerance: i64,
    /// The value at the end.
    pub reached: i64,
    /// The value farthest from the target since it was reached first.
    pub farthest: i64,
    /// The value closest to the target that was seen on the last way to it, where it was not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closest: Option<i64>,
    /// True if the value at the end is close enough.
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

/// One phase of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PhaseReport {
    /// `task/phase`, or `phase` where only one task has phases.
    pub name: String,
    /// When it began.
    pub begin_ns: u64,
    /// Length of the phase.
    pub sim_time_ns: u64,
    /// Accesses of all threads in it.
    pub accesses: u64,
    /// Records done in it.
    pub records: u64,
    /// Work per simulated second in it.
    pub throughput: Throughput,
    /// Counter changes, as in [`RunReport::vmstat`](super::RunReport::vmstat).
    #[serde(with = "counters")]
    #[schemars(with = "Pairs<Option<u64>>")]
    pub vmstat: Pairs<u64>,
    /// Changes of the counters of sizes, and their gauges at its end.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub transparent_hugepage: Pairs<u64>,
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
    /// Counts of the task whose phase it is since its last phase ended. All else is of the whole
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

/// Counts of one task, over the whole run or since its last phase ended.
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
    /// Latencies of its records, where the work has records of which each has a beginning and an
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordReport>,
}

/// Latencies of the records of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RecordReport {
    /// Name of a record: `launch`, `transaction`, `compilation` or `record`.
    pub what: String,
    /// From its beginning to its end, without what the thread slept of its own will.
    pub latency: QuantilesReport,
}

impl TaskReport {
    pub(super) fn of(t: &TaskResult, not_kept: &[VmEvent]) -> Self {
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

/// Counts of one thread.
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

impl PhaseReport {
    pub(super) fn of(p: &PhaseResult, not_kept: &[VmEvent]) -> Self {
        let time = p.end.since(p.begin);
        PhaseReport {
            name: p.name.clone(),
            begin_ns: p.begin.0,
            sim_time_ns: time.0,
            accesses: p.accesses,
            records: p.records,
            throughput: Throughput::new(p.records, p.accesses, time),
            vmstat: counters::kept(&p.vmstat, not_kept),
            transparent_hugepage: p.sizes.iter().cloned().collect(),
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
