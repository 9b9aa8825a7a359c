//! The recorder of a run: faults and accesses are counted, measured and reported here.

use super::collect::Mark;
use super::contents::Contents;
use super::latency::Histogram;
use super::result::{HighOrder, OomSummary, PhaseResult};
use crate::backing::device::Io;
use crate::base::id::{MemcgId, PageIdx, ThreadId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::machine::MOST_RECORDED;
use crate::machine::cpu::thread::FaultDone;
use crate::memory::Memory;
use crate::memory::trace::{TraceEvent, TraceKind};

/// Results of a run in the making. No decision reads them.
pub(in crate::machine) struct Recorder {
    /// Accesses are recorded, for the optimum.
    pub accesses: bool,
    /// Minor faults, major faults, stalls in direct reclaim.
    pub latency: [Histogram; 3],
    /// Faults that the kernel counts once more as it tries them anew (up to 6.3).
    pub retried_faults: u64,
    /// Faults, and major ones, that ended with their threads.
    pub faults_cut_short: [u64; 2],
    pub phases: Vec<PhaseResult>,
    /// Totals when the last phase ended.
    pub mark: Mark,
    pub oom: Option<OomSummary>,
    pub high_order: HighOrder,
    pub peak_resident: u64,
    /// Recorded accesses.
    pub contents: Contents,
    /// Pages were read that no thread had asked for, by other means than readahead.
    pub prefetched: bool,
    /// Pages that monitors moved to another node, or tried to.
    pub moved_by_monitors: u64,
    pub zones_at_start: Vec<(String, [u64; 5])>,
}

impl Recorder {
    pub(in crate::machine) fn new(mem: &Memory) -> Recorder {
        let zone = |z| {
            let z = &mem.zones[z];
            let [min, low, high] = z.watermark;
            (z.kind.name().to_string(), [z.managed.into(), min, low, high, z.free])
        };
        Recorder {
            accesses: false,
            latency: Default::default(),
            retried_faults: 0,
            faults_cut_short: [0; 2],
            phases: Vec::new(),
            mark: Mark::default(),
            oom: None,
            high_order: HighOrder::default(),
            peak_resident: 0,
            contents: Contents::default(),
            prefetched: false,
            moved_by_monitors: 0,
            zones_at_start: mem.zones.ids().map(zone).collect(),
        }
    }
    /// A fault is resolved: counts what is not counted yet, and measures and reports it.
    #[inline]
    pub(in crate::machine) fn fault(
        &mut self,
        mem: &mut Memory,
        thread: ThreadId,
        memcg: MemcgId,
        done: &FaultDone,
    ) {
        if done.counts_major {
            mem.count_in(memcg, VmEvent::PgMajFault, 1);
        }
        if done.read {
            mem.count_in(memcg, VmEvent::PswpIn, 1);
            mem.count_swap_requests(Io::Read, 1);
        }
        if self.accesses {
            self.contents.made(mem, done.page, done.kind);
        }
        self.latency[usize::from(done.major)].add(mem.acting.now.since(done.begin));
        if mem.telling.tracer.wants(TraceKind::PageFault) {
            tell_of_fault(mem, thread, done);
        }
    }

    /// Faults of a ledger are resolved, which are alike.
    #[inline]
    pub(in crate::machine) fn faults(
        &mut self,
        mem: &Memory,
        major: bool,
        each: SimDuration,
        n: u64,
    ) {
        self.latency[usize::from(major)].add_many(each, n);
        self.resident(mem);
    }

    /// The access of a fault, or another to a page of a process that is present.
    #[inline]
    pub(in crate::machine) fn access(&mut self, mem: &mut Memory, page: PageIdx) {
        if self.accesses {
            self.contents.access(mem, page);
        }
        mem.telling.uses.came(page);
        self.resident(mem);
    }

    /// The most resident pages so far.
    #[inline]
    pub(in crate::machine) fn resident(&mut self, mem: &Memory) {
        self.peak_resident = self.peak_resident.max(mem.nr_resident());
    }

    /// True if accesses are recorded: up to a maximum number.
    #[inline]
    pub(in crate::machine) fn still_records(&mut self) -> bool {
        self.accesses &= self.contents.sequence.len() < MOST_RECORDED;
        self.accesses
    }
}

#[cold]
#[inline(never)]
fn tell_of_fault(mem: &mut Memory, thread: ThreadId, done: &FaultDone) {
    let &FaultDone { page, write, kind, major, .. } = done;
    let pfn = mem.frame_of(page);
    mem.emit(|| TraceEvent::PageFault { thread, page, write, kind, major, pfn });
}
