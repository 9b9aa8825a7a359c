//! Threads and CPUs: who runs where, who waits for what.

use crate::base::id::{
    AsId, CpuId, DaemonId, DiskId, KdamondId, MemcgId, NodeId, PageIdx, Pfn, ThreadId,
};
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::machine::blocks::Blocks;
use crate::machine::compaction::direct::Tries;
use crate::machine::walk::Progress;
use crate::machine::watch::psi::Psi;
use crate::memory::trace::FaultKind;
use crate::virt::space::Place;
use crate::workload::{FreeBlocksOfZone, KernelAllocResult, Workload};

/// Event that a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Wait {
    /// Nothing: runs, or stands in a run queue.
    Not,
    /// A folio under read.
    Folio(Pfn),
    /// A timer of this generation: sleep, throttle, think time.
    Timer(u64),
    /// kswapd, at the emergency brake of direct reclaim.
    Pfmemalloc(NodeId),
    /// The other threads of its process.
    Barrier,
    /// A monitor's note.
    Kdamond(KdamondId),
    /// The next look of a daemon, with a timer of this generation.
    Look(u64),
    /// The end of its group's freezing.
    Frozen,
    /// Forever.
    Finished,
}

/// A fault under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Fault {
    /// Its page.
    pub page: PageIdx,
    /// When it was counted.
    pub begin: SimTime,
    /// It writes.
    pub write: bool,
    /// It had to read.
    pub major: bool,
    /// It was tried anew without the lock of its address space.
    pub retried: bool,
    /// Allocations of folios of this order and above failed for it.
    pub below: u8,
    /// The thread has a note of it, to be taken off at the end, since it waited.
    pub noted: bool,
}

/// A fault that is resolved.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct FaultDone {
    pub page: PageIdx,
    /// When it was counted.
    pub begin: SimTime,
    pub write: bool,
    pub kind: FaultKind,
    /// It had to read.
    pub major: bool,
    /// It is not counted as major yet.
    pub counts_major: bool,
    /// It read its page itself, in one request.
    pub read: bool,
}

impl Fault {
    /// It is resolved, and was counted on the way.
    #[inline]
    pub(in crate::machine) fn done(self, write: bool, kind: FaultKind) -> FaultDone {
        let Fault { page, begin, major, .. } = self;
        FaultDone { page, begin, write, kind, major, counts_major: false, read: false }
    }
}

/// Progress of a thread in an `fsync(2)`.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Sync {
    /// When it began.
    pub begin: SimTime,
    /// All that was dirty up to `next` is being written; now it waits for the writes.
    pub waits: bool,
    /// The next page of the pass.
    pub next: u32,
}

/// A read of a thread whose group has a policy that admits pages to the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Admission {
    /// The next page that is not cached asks.
    Asks,
    /// The page under way was admitted.
    Admitted,
    /// This number of pages is read past the cache before the next one asks.
    Past(u32),
}

/// A simulated thread.
pub(in crate::machine) struct Thread {
    pub name: String,
    pub space: AsId,
    /// The group of its process.
    pub memcg: MemcgId,
    /// Its group is frozen: it stops when its wait is over.
    pub frozen: bool,
    /// It is that of a daemon, and keeps no run alive.
    pub daemon: Option<DaemonId>,
    pub task: usize,
    pub workload: Box<dyn Workload>,
    pub rng: Rng,
    /// Where the region lies that was accessed last.
    pub place: Place,
    /// Its operations, and how far it is.
    pub progress: Progress,
    pub cpu: CpuId,
    pub wait: Wait,
    pub psi: Psi,
    pub waits_since: SimTime,
    /// A fault that was counted and is not yet resolved.
    pub fault: Option<Fault>,
    /// Reclaims in a row that freed nothing.
    pub no_progress: u32,
    /// Progress of its request for a block when it had to wait.
    pub tries: Option<Tries>,
    /// Blocks that it holds on behalf of the kernel.
    pub blocks: Blocks,
    /// Results of its allocations since the last call of its workload.
    pub kernel_allocs: Vec<KernelAllocResult>,
    /// Free blocks, if the workload wants to know.
    pub free_blocks: Option<FreeBlocksOfZone>,
    /// Pages charged above its group's `memory.high` since the last look (`memcg_nr_pages_over_high`).
    pub over_high: u64,
    /// Pages of files dirtied since it was last looked at whether it is to pause.
    pub dirtied: u64,
    /// Number of pages it may dirty before that (`nr_dirtied_pause`).
    pub unseen: u64,
    /// When its last pause ended or would have (`dirty_paused_when`).
    pub paused_until: SimTime,
    /// An `fsync(2)` under way.
    pub sync: Option<Sync>,
    /// The state of its read.
    pub admission: Admission,
    /// It paused because dirty pages of this group or of the machine were at their limit, and
    /// wrote to this disk.
    pub held: Option<(DiskId, MemcgId)>,
    pub user: SimDuration,
    pub system: SimDuration,
    pub io_wait: SimDuration,
    pub throttled: SimDuration,
    /// When it was last given operations, and how often at that instant.
    pub given: (SimTime, u32),
    /// When its last operation in the kernel was done.
    pub done_at: SimTime,
    pub finished: SimTime,
}

/// Things that a CPU can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::machine) enum Entity {
    /// The background reclaimer of a node.
    Kswapd(NodeId),
    /// The background compactor of a node.
    Kcompactd(NodeId),
    /// The flusher of dirty pages of a disk.
    Flusher(DiskId),
    /// A monitor of accesses.
    Kdamond(KdamondId),
    /// The worker that writes entries of zswap back.
    ZswapWorker,
    /// A thread of a workload.
    Thread(ThreadId),
}
