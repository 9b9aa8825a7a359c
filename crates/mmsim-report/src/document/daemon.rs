//! Results of programs that watch memory and act.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::machine::result::{Act, DaemonResult};

use crate::pairs::Pairs;

/// Results of a daemon.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DaemonReport {
    /// Its name.
    pub name: String,
    /// Looks.
    pub looks: u64,
    /// CPU time that it took.
    pub cpu_ns: u64,
    /// Time that it waited for memory of its own, or for a device.
    pub stalled_ns: u64,
    /// Acts.
    pub acted: u64,
    /// Processes that it ended or sent SIGTERM.
    pub killed: u64,
    /// 1 if it acted before the OOM killer and all other daemons, else 0.
    pub first: u64,
    /// When it acted first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_act_ns: Option<u64>,
    /// Its acts in order, 1,000 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<ActReport>,
    /// Reads of files of groups that were not there, which gave zeros.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<AbsentReport>,
}

/// Reads of files of groups that were not there.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AbsentReport {
    /// When the first one was.
    pub at_ns: u64,
    /// Its group.
    pub memcg: String,
    /// Their number.
    pub reads: u64,
}

/// A limit that is written below what its group is charged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct BelowUseReport {
    /// The limit.
    pub limit_bytes: u64,
    /// Bytes that the group was charged.
    pub charged_bytes: u64,
    /// Processes that the OOM killer ended for it.
    pub killed: u64,
}

/// An act of a daemon.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ActReport {
    /// When.
    pub at_ns: u64,
    /// When a freeze ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// `SIGTERM`, `SIGKILL`, `terminate group`, `kill group`, `freeze`, or the file that was written.
    pub what: String,
    /// The process or the group.
    pub target: String,
    /// The rule that asked for it.
    pub rule: String,
    /// For how long its condition had held.
    pub held_ns: u64,
    /// Values that it read: of its condition, then of the victim.
    pub read: Pairs<f64>,
    /// Processes that were hit, threads that stopped, pages that were reclaimed.
    pub done: u64,
    /// Bytes of its victims in memory.
    pub resident_bytes: u64,
    /// Bytes of its victims in swap.
    pub swapped_bytes: u64,
    /// Accesses that its victims had made: work that is lost.
    pub lost_accesses: u64,
    /// Records that its victims had done.
    pub lost_records: u64,
    /// Refaults of the machine until then.
    pub refaults: u64,
    /// For a write of `memory.max` below what the group was charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_use: Option<BelowUseReport>,
}

impl DaemonReport {
    /// Results of all daemons of a run. `oom_ns`: when the OOM killer acted first.
    pub fn all(results: &[DaemonResult], oom_ns: Option<u64>) -> Vec<DaemonReport> {
        let first_of = |d: &DaemonResult| d.acts.first().map(|a| a.at.0);
        let first = results.iter().filter_map(first_of).chain(oom_ns).min();
        // If two act at one instant, the scenario lists the first one first.
        let first = first.and_then(|at| results.iter().position(|d| first_of(d) == Some(at)));
        let of = |(i, d): (usize, &DaemonResult)| DaemonReport {
            name: d.name.clone(),
            looks: d.looks,
            cpu_ns: d.cpu.0,
            stalled_ns: d.stalled.0,
            acted: d.acted,
            killed: d.acts.iter().filter(|a| a.kills()).map(|a| a.done).sum(),
            first: u64::from(first == Some(i)),
            first_act_ns: first_of(d),
            acts: d.acts.iter().map(ActReport::from).collect(),
            absent: d.absent.as_ref().map(|a| AbsentReport {
                at_ns: a.at.0,
                memcg: a.memcg.clone(),
                reads: a.reads,
            }),
        };
        results.iter().enumerate().map(of).collect()
    }
}

impl From<&Act> for ActReport {
    fn from(a: &Act) -> Self {
        ActReport {
            at_ns: a.at.0,
            until_ns: a.until.map(|at| at.0),
            what: a.what.to_string(),
            target: a.target.clone(),
            rule: a.reason.rule.clone(),
            held_ns: a.at.since(a.reason.since).0,
            read: a.reason.read.iter().cloned().collect(),
            done: a.done,
            resident_bytes: a.lost.resident * PAGE_SIZE,
            swapped_bytes: a.lost.swapped * PAGE_SIZE,
            lost_accesses: a.lost.accesses,
            lost_records: a.lost.records,
            refaults: a.refaulted,
            below_use: a.below_use.map(|b| BelowUseReport {
                limit_bytes: b.limit * PAGE_SIZE,
                charged_bytes: b.charged * PAGE_SIZE,
                killed: b.killed,
            }),
        }
    }
}
