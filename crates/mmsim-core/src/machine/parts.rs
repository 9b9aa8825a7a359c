//! The parts of a machine: state without flows. What joins them are methods of [`Machine`].
//!
//! [`Machine`]: super::Machine

use super::cpu::line::Virtual;
use super::cpu::order::Order;
use super::cpu::queue::Queue;
use super::cpu::sched::{Cpu, Tunables};
use super::cpu::thread::{Entity, Thread};
use super::daemon::UserDaemon;
use super::fault::first_touch::Member;
use super::kdamond::Kdamond;
use super::reclaim::kswapd::Kswapd;
use super::reclaim::lru_gen::OtherLru;
use super::reporter::Reporter;
use super::task::Task;
use super::watch::Watch;
use super::watch::collect::Resident;
use super::watch::psi::PsiMeter;
use super::watch::result::{Origin, StuckSummary};
use super::watch::stuck::Watchdog;
use super::writeback::flusher::Flusher;
use crate::base::compact_result::NoBlock;
use crate::base::id::{AsId, CpuId, DaemonId, DiskId, IndexVec, KdamondId, NodeId, Pfn, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::config::MachineConfig;
use crate::machine::compaction::kcompactd::Kcompactd;
use crate::machine::zswap::ZswapWorker;
use crate::memory::Tree;
use crate::memory::{MOST_PENDING, PendingFault, Plug};
use crate::policy::ReclaimPolicy;
use crate::policy::compaction::Compaction;
use crate::virt::space::Counted;
use std::collections::BTreeMap;

/// Policies. Doors of memory get them as arguments, and they keep no clock.
pub(super) struct Policies {
    pub lru: Box<dyn ReclaimPolicy>,
    /// The policy that takes over when `lru_gen` is switched on or off.
    pub other_lru: Option<OtherLru>,
    pub compaction: Option<Box<dyn Compaction>>,
}

/// Processes and what they have done.
#[derive(Default)]
pub(super) struct Work {
    pub tasks: Vec<Task>,
    pub threads: IndexVec<ThreadId, Thread>,
    /// Threads that wait for a folio. One whose wait is over may still be here.
    pub waiters: BTreeMap<Pfn, Vec<ThreadId>>,
    /// Threads that have not finished.
    pub live: u32,
    /// Accesses and records of all threads.
    pub done: (u64, u64),
}

/// CPUs: their clocks, the lines before them, and which is next.
pub(super) struct Sched {
    pub cpus: IndexVec<CpuId, Cpu>,
    pub virtuals: BTreeMap<Entity, Virtual>,
    /// Keys are the clocks of `cpus`.
    pub order: Order,
    pub psi: PsiMeter,
}

impl Sched {
    pub(super) fn new(config: &MachineConfig) -> Sched {
        let rules = config.kernel_rules();
        let tunables = Tunables::of(rules.scheduler, config.cpus, config.tick)
            .preempting(rules.lazy_preemption, rules.hrtick);
        let cpus = config.cpus as usize;
        Sched {
            cpus: IndexVec::filled(cpus, Cpu::new(tunables)),
            virtuals: BTreeMap::new(),
            order: Order::new(cpus),
            psi: PsiMeter::new(cpus, config.tick, Tree::of(config)),
        }
    }
}

/// Events of an instant. Nothing is due before the last event that was handled.
#[derive(Default)]
pub(super) struct Events {
    pub queue: Queue,
    /// The last generation of a timer. A timer of an older one was cancelled.
    pub timer_generation: u64,
}

/// Threads of the kernel, and programs that watch memory.
pub(super) struct Daemons {
    pub kswapds: IndexVec<NodeId, Kswapd>,
    pub kcompactds: IndexVec<NodeId, Kcompactd>,
    pub kdamonds: IndexVec<KdamondId, Kdamond>,
    pub flushers: IndexVec<DiskId, Flusher>,
    pub users: IndexVec<DaemonId, UserDaemon>,
    pub zswap: ZswapWorker,
    /// Free page reporting, if the host asks for it.
    pub reporter: Option<Reporter>,
}

impl Daemons {
    pub(super) fn new(config: &MachineConfig, nodes: usize) -> Daemons {
        let flusher = Flusher::new(1 + config.memcgs.len());
        Daemons {
            kswapds: (0..nodes).map(|_| Kswapd::default()).collect::<Vec<_>>().into(),
            kcompactds: (0..nodes).map(|_| Kcompactd::default()).collect::<Vec<_>>().into(),
            kdamonds: IndexVec::new(),
            flushers: IndexVec::filled(1 + config.disks.len(), flusher),
            users: IndexVec::new(),
            zswap: ZswapWorker::default(),
            reporter: None,
        }
    }
}

/// The step under way. Between steps nothing of it is under way, and no process is doomed.
pub(super) struct Step {
    /// A thread is amid a step; kernel threads may act meanwhile.
    pub amid: bool,
    /// A process that is killed at the end of that step.
    pub doomed: Option<AsId>,
    /// Time that a thread has slept amid the current step.
    pub slept: SimDuration,
    /// With zswap: the thread whose step it is, its accesses, and the counters when it was last told of.
    pub own: Option<(ThreadId, u64, Counted)>,
    /// Refaults of pages that zswap wrote back, so far.
    pub refaults_of_none: u64,
    /// Flags of file folios that the step brings into the cache.
    pub marks: u32,
    /// Kept for the plug of direct reclaim.
    pub plug: Box<Plug>,
    /// Where the block comes from that is being allocated.
    pub origin: Origin,
    /// Why the last attempt to compact for it gave none.
    pub no_block: NoBlock,
}

impl Step {
    pub(super) fn new() -> Step {
        Step {
            amid: false,
            doomed: None,
            marks: 0,
            slept: SimDuration::ZERO,
            own: None,
            refaults_of_none: 0,
            plug: Box::default(),
            origin: Origin::FreeList,
            no_block: NoBlock::NotTried,
        }
    }
}

/// Touches that are taken together. They choose how results are computed, never which.
pub(super) struct Touches {
    /// The ledger of a thread's swap-in faults. It is settled before another CPU or event acts.
    pub ledger: [PendingFault; MOST_PENDING],
    /// The threads that take first touches together.
    pub team: Vec<Member>,
    /// There may be more first touches to take.
    pub touching: bool,
    /// First touches that are taken alone before a team is tried.
    pub alone_for: u32,
    /// The same for the team after that, if the next is not worth it.
    pub pause: u32,
    /// First touches that the team may still take.
    pub left: usize,
    /// First touches that each of its members may take at a time.
    pub each: usize,
}

impl Touches {
    pub(super) fn new() -> Touches {
        Touches {
            ledger: [PendingFault::default(); MOST_PENDING],
            team: Vec::new(),
            touching: false,
            alone_for: 0,
            pause: 1,
            left: 0,
            each: 0,
        }
    }
}

/// The course of a run: when it is looked at, where it pauses, and why it ends.
pub(super) struct Course {
    pub watch: Watch,
    /// The next instant at which the run is looked at: the least of the next two and of the
    /// instant of `resident`.
    pub sample_at: SimTime,
    /// When the next sample of the series is due.
    pub series_at: SimTime,
    /// Where a run that goes on step by step stops.
    pub pause_at: SimTime,
    /// It stands there.
    pub paused: bool,
    pub resident: Resident,
    /// Accesses at which progress is reported next.
    pub progress_at: u64,
    /// Steps that were not hits.
    pub steps: u64,
    pub watchdog: Watchdog,
    /// Why the run was ended.
    pub stuck: Option<StuckSummary>,
}

impl Course {
    pub(super) fn new() -> Course {
        Course {
            watch: Watch::default(),
            sample_at: SimTime::NEVER,
            series_at: SimTime::NEVER,
            pause_at: SimTime::NEVER,
            paused: false,
            resident: Resident::default(),
            progress_at: u64::MAX,
            steps: 0,
            watchdog: Watchdog::default(),
            stuck: None,
        }
    }
}
