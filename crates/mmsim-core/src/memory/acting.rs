//! The step under way: its clock, its CPU, and what it leaves for the machine to do.

use super::IoDone;
use super::plug::Plug;
use super::zswap_writeback::WorkerPlace;
use crate::backing::Shadow;
use crate::base::id::{CpuId, IndexVec, NodeId, Pfn, ThreadId};
use crate::base::time::SimTime;
use crate::config::ZoneKind;

/// The step under way. The run loop sets clock and CPU before each step. The rest are messages,
/// which the machine collects before another CPU or event acts.
pub struct Acting {
    /// The clock of the thread that acts; doors advance it by what they cost.
    pub now: SimTime,
    /// The CPU of the thread that acts.
    pub cpu: CpuId,
    /// The thread that each CPU turned to last; `None`: one of the kernel.
    pub(super) threads: IndexVec<CpuId, Option<ThreadId>>,
    /// Requests submitted by the current step; the machine queues their ends.
    pub(crate) io: Vec<(SimTime, IoDone)>,
    /// Where stealing raised the watermarks since kswapd was last woken for it.
    pub boosted: Option<(NodeId, ZoneKind)>,
    /// Pages that zswap writes back on their way to a list, with their shadows.
    pub(super) entering: Vec<(Pfn, Option<Shadow>)>,
    /// Writes that wait for more of the same step, while it holds a plug.
    pub(super) plug: Box<Plug>,
    pub(super) plugged: bool,
    /// Place of zswap's worker in the line for this CPU, if it may preempt who acts.
    pub(crate) zswap_worker: Option<WorkerPlace>,
    /// The thread that acts sleeps until then, since its writes were throttled; past: it does not.
    pub(super) throttled: SimTime,
}

impl Acting {
    pub(super) fn new(cpus: usize) -> Acting {
        Acting {
            now: SimTime::ZERO,
            cpu: CpuId(0),
            threads: IndexVec::filled(cpus, None),
            io: Vec::new(),
            boosted: None,
            entering: Vec::new(),
            plug: Box::default(),
            plugged: false,
            zswap_worker: None,
            throttled: SimTime::ZERO,
        }
    }
}
