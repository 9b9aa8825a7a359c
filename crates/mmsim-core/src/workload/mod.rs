//! Interface between a workload and the machine: a source of operations.
//!
//! One [`Workload`] drives one thread. Threads of a process share its regions. A workload names
//! regions and files by small numbers of its own; the machine maps them to address space. It hands
//! over operations in batches. The machine calls it for the next batch only when all earlier
//! operations are done, so it may look at the clock, at free memory or at memory pressure
//! ([`WorkloadCx`]). Its random draws come from its own stream, so no policy can change the
//! sequence of accesses.

mod op;
mod pressure;

pub use op::{
    Advice, BlockHandle, CopyRun, FileAdvice, FileSlot, LruGen, MapKind, Note, Op, RegionId, Run,
    Touch, Uncached, VmaFlags,
};

pub use crate::backing::cache::ShmemSpec;
pub use pressure::{PERCENT, Pressure, PressureAverages, PressureTotals, Stall, TriggerSpec};

use crate::base::id::Pfn;
use crate::base::rng::Rng;
use crate::base::time::{SimDuration, SimTime};
use crate::phys::buddy::NR_ORDERS;

/// Pages of all mappings and files that a machine can number, with room for its own.
pub const MOST_PAGES: u32 = u32::MAX - (1 << 18) + 1;

/// Result of one [`Op::KernelAlloc`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelAllocResult {
    /// The block.
    pub handle: BlockHandle,
    /// Its first frame; `None` if the allocation failed.
    pub pfn: Option<Pfn>,
}

/// State that a workload may see when it makes operations.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadCx<'a> {
    /// The clock of the thread.
    pub now: SimTime,
    /// Free pages of all zones, as `nr_free_pages`.
    pub free_pages: u64,
    /// The thread's allocations on behalf of the kernel since the last call, in order.
    pub kernel_allocs: &'a [KernelAllocResult],
    /// Free memory at the last [`Op::FreeBlocks`] since the last call for this thread.
    pub free_blocks: Option<FreeBlocksOfZone>,
    /// Memory pressure of the machine.
    pub pressure: &'a dyn PressureTotals,
}

/// Free blocks of the zone that requests for unmovable memory try first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeBlocksOfZone {
    /// Its first frame.
    pub first: Pfn,
    /// The frame after its last.
    pub end: Pfn,
    /// Free blocks by order. Pages in per-CPU lists do not count.
    pub nr: [u64; NR_ORDERS],
}

/// A process that a workload plays: mappings of its own that stand for those of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Played {
    /// Its number, the same as long as it lives.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Its mappings.
    pub regions: Vec<RegionId>,
    /// `/proc/PID/oom_score_adj`.
    pub oom_score_adj: i16,
}

/// Result of a state that a workload was to bring about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aim {
    /// Description in words.
    pub what: String,
    /// The value it was to have.
    pub target: i64,
    /// Distance from it that is close enough.
    pub tolerance: i64,
    /// The value it has.
    pub reached: i64,
    /// The value farthest from the target since it was reached first.
    pub farthest: i64,
    /// The value closest to the target that was seen on the last way to it.
    pub closest: i64,
}

impl Aim {
    /// True if it is close enough.
    pub fn met(&self) -> bool {
        (self.reached - self.target).abs() <= self.tolerance
    }
}

/// Timeliness of work with recorded instants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// Time from the start to the last instant that came.
    pub recorded: SimDuration,
    /// Time that it took to there.
    pub took: SimDuration,
    /// The farthest that it was behind at a check: between two batches of operations.
    pub behind: SimDuration,
}

/// A file that a workload wants to exist. Equal names are one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// Name, unique on the machine.
    pub name: String,
    /// Size in pages.
    pub pages: u32,
    /// It is an object of shared memory, and on no disk.
    pub shmem: Option<ShmemSpec>,
}

impl FileSpec {
    /// A file on a disk.
    pub fn new(name: impl Into<String>, pages: u32) -> Self {
        FileSpec { name: name.into(), pages, shmem: None }
    }
}

/// A source of operations for one thread.
pub trait Workload: Send {
    /// The files that it uses; `FileSlot(i)` is the i-th of them. Asked once, before the run.
    fn files(&self) -> Vec<FileSpec> {
        Vec::new()
    }
    /// The names of its phases; `Op::PhaseEnd(i)` ends the i-th. Asked once, before the run.
    fn phases(&self) -> Vec<String> {
        Vec::new()
    }
    /// Pages that must be resident at the same time for it to make progress: a machine
    /// with fewer is refused before the run.
    fn minimum_pages(&self) -> u64 {
        1
    }
    /// Name of a record, if latencies of records make sense: the latency of one is the time up to
    /// its [`Op::Records`] from where the last one ended, from [`Op::RecordBegins`], or from the
    /// end of a phase, whichever is last; or from [`Op::Arrived`]. What the thread sleeps
    /// meanwhile, or waits at barriers, is not in it. Asked once, before the run.
    fn record(&self) -> Option<&'static str> {
        None
    }
    /// Result of the state that it was to bring about, if any. Asked once, after the run.
    fn aim(&self) -> Option<Aim> {
        None
    }
    /// Timeliness with respect to recorded instants, if it has any. Asked once, after the run.
    fn replayed(&self) -> Option<Replayed> {
        None
    }
    /// Processes that it plays within its own, for daemons to see and to kill. In their place the
    /// process itself is none for them. Those that were used longest ago come first.
    fn played(&self) -> Vec<Played> {
        Vec::new()
    }
    /// Ends a process that it plays. The operations that come next give its memory back.
    fn kill(&mut self, number: u16) {
        let _ = number;
    }
    /// Appends the next operations (some hundreds to some thousands where accesses are
    /// single pages). Nothing appended means: finished. `ops` comes empty.
    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>);
    /// Appends the next operations in short form, if each of them is an access to one page of the same
    /// region, and returns the region. The machine asks before each [`fill`](Workload::fill). With
    /// `None` nothing is appended and nothing has changed, and `fill` follows. Whoever calls only
    /// `fill` gets the same accesses from it. `touches` comes empty.
    fn fill_touches(
        &mut self,
        cx: &WorkloadCx<'_>,
        rng: &mut Rng,
        touches: &mut Vec<Touch>,
    ) -> Option<RegionId> {
        let _ = (cx, rng, touches);
        None
    }
}
