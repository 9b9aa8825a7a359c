//! Failed allocations of blocks, and direct reclaim by threads, in a report.

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::result::RunResult;
use mmsim_why::{Counted, TroubleCell, Verdicts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shares::{ShareReport, group_name, phase_name, shares, told_apart};

/// Troubles of allocations, of one kind, in classes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TroubleReport {
    /// The counters that the classes sum to.
    pub counters: Vec<String>,
    /// Number of troubles.
    pub count: u64,
    /// All classes.
    pub classes: Vec<TroubleClass>,
}

/// One class of what allocations met.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TroubleClass {
    /// Its name.
    pub class: String,
    /// Number of troubles.
    pub count: u64,
    /// For stalls, the time since kswapd woke up, in all of them together.
    pub late_ns: u64,
    /// By phase; `end` is behind the last.
    pub phases: Vec<ShareReport>,
    /// By the task whose request it was.
    pub tasks: Vec<ShareReport>,
    /// By the group of that task; `(root)` is that of all others.
    pub groups: Vec<ShareReport>,
    /// For stalls, shares by the holder of the most pages then. It is a process by its anonymous
    /// pages, `(page cache)` or `(kernel)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<ShareReport>,
}

impl TroubleReport {
    /// Report of one kind from the verdicts of a run.
    pub(super) fn of(v: &Verdicts, of: Counted, result: &RunResult) -> TroubleReport {
        let counters: &[VmEvent] = match of {
            Counted::Allocations => &[VmEvent::SimHighAllocFail],
            Counted::Compactions => &[VmEvent::CompactFail],
            Counted::Stalls => VmEvent::ALLOC_STALLS,
        };
        let class = |(key, _): (&'static str, &'static str)| {
            let cells: Vec<&TroubleCell> =
                v.troubles.iter().filter(|c| c.of == of && c.class == key).collect();
            let by = |name: &dyn Fn(&TroubleCell) -> String| {
                cells.iter().map(|c| (name(c), c.count)).collect::<Vec<_>>()
            };
            let holders = cells.iter().filter_map(|c| Some((c.holder.clone()?, c.count)));
            TroubleClass {
                class: key.into(),
                count: cells.iter().map(|c| c.count).sum(),
                late_ns: cells.iter().map(|c| c.late_ns).sum(),
                phases: told_apart(by(&|c| phase_name(result, c.phase))),
                tasks: shares(by(&|c| c.task.clone())),
                groups: shares(by(&|c| group_name(&c.group))),
                holders: shares(holders),
            }
        };
        TroubleReport {
            counters: counters.iter().map(|e| e.name().to_string()).collect(),
            count: v.troubled(|c| c.of == of),
            classes: of.classes().into_iter().map(class).collect(),
        }
    }
}
