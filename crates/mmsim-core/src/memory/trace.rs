//! Trace events: every decision that a counter counts, typed, under the name of the
//! kernel's tracepoint where one exists. Without an observer nothing is built: the
//! closure given to [`Tracer::emit`] is not evaluated.
//!
//! An observer says once which kinds it sees ([`Observer::kinds`]). Events of other kinds end
//! where they would begin, and work that only they would tell apart is done in batches.

use crate::base::compact_result::CompactResult;
use crate::base::id::{
    AsId, CpuId, DaemonId, FileId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot, ThreadId, ZoneId,
};
use crate::base::time::{SimDuration, SimTime};
use crate::phys::buddy::Extfrag;

/// Kind that a fault turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// First write to an anonymous page.
    ZeroFill,
    /// First read of an anonymous page: the shared zero page.
    ZeroPage,
    /// Read back from swap.
    SwapIn,
    /// Found in the swap cache.
    SwapCache,
    /// Mapped from the page cache.
    FileMinor,
    /// Read from a file.
    FileMajor,
    /// Write to a page shared with others: copied.
    Cow,
    /// Write to a page that could be reused.
    Reuse,
}

/// Decision of an inactive scan on one folio, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanOutcome {
    /// Evicted.
    Reclaimed,
    /// Dropped as lazily freed memory.
    LazyFreed,
    /// Kept: an accessed bit was found for the first time.
    KeepReferenced,
    /// Kept: written out, will be freed when the write ends.
    KeepWriteback,
    /// Kept: locked, pinned or dirty again.
    KeepBusy,
    /// To the active list: referenced again.
    ActivateReferenced,
    /// To the active list: dirty file page that only writeback may write.
    ActivateDirty,
    /// To the active list: under writeback.
    ActivateWriteback,
    /// To the active list, as ordinary anonymous memory: lazily freed, but written since.
    ActivateRewritten,
    /// To the active list: no swap slot.
    ActivateNoSwap,
    /// To the unevictable list: in a locked mapping.
    Unevictable,
}

/// Fate of a page between its swap slot and the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZswapStep {
    /// zswap compressed and stored it.
    Stored,
    /// It holds zeros: its slot is marked, and nothing is stored.
    MarkedZero,
    /// Refused: its group is at `memory.zswap.max`.
    GroupLimit,
    /// Refused: the pool is full.
    PoolLimit,
    /// Refused: it does not compress.
    Incompressible,
    /// Refused: the pool found no frame.
    NoFrame,
    /// It came back from zswap.
    Loaded,
    /// It came back as zeros.
    ZeroFilled,
    /// zswap wrote it to the device.
    WrittenBack,
    /// zswap could not write it: it is in the swap cache, or no frame was free.
    NotWrittenBack,
}

/// The enum of events, and that of their kinds: the same variants without fields.
macro_rules! trace_events {
    (
        $(#[$attribute:meta])*
        pub enum TraceEvent { $($(#[$doc:meta])* $variant:ident $fields:tt,)* }
    ) => {
        $(#[$attribute])*
        pub enum TraceEvent { $($(#[$doc])* $variant $fields,)* }

        /// Kinds of events.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum TraceKind { $($(#[$doc])* $variant,)* }

        impl TraceKind {
            /// All kinds, in order.
            pub const ALL: &[TraceKind] = &[$(TraceKind::$variant),*];
        }

        impl TraceEvent {
            /// Its kind.
            #[inline(always)] // Where an event is made, this is a constant.
            pub const fn kind(&self) -> TraceKind {
                match self {
                    $(TraceEvent::$variant { .. } => TraceKind::$variant,)*
                }
            }
        }
    };
}

trace_events! {
    /// One observed decision.
    #[derive(Clone, PartialEq, Debug)]
    #[allow(missing_docs)] // Fields carry the names of the ids; variants are documented.
    pub enum TraceEvent {
        /// A fault was resolved (`exceptions:page_fault_user` and what came of it).
        PageFault {
            thread: ThreadId,
            page: PageIdx,
            write: bool,
            kind: FaultKind,
            major: bool,
            pfn: Option<Pfn>,
        },
        /// A frame was allocated (`kmem:mm_page_alloc`).
        MmPageAlloc { pfn: Pfn, order: u8, zone: u8 },
        /// A frame went back (`kmem:mm_page_free`).
        MmPageFree { pfn: Pfn, order: u8 },
        /// A request was served from another migratetype (`kmem:mm_page_alloc_extfrag`).
        MmPageAllocExtfrag(Extfrag),
        /// A list scan took folios (`vmscan:mm_vmscan_lru_isolate`).
        MmVmscanLruIsolate {
            node: NodeId,
            memcg: MemcgId,
            lru: &'static str,
            nr_requested: u64,
            nr_scanned: u64,
            nr_taken: u64,
        },
        /// The active list was scanned (`vmscan:mm_vmscan_lru_shrink_active`).
        MmVmscanLruShrinkActive {
            node: NodeId,
            file: bool,
            nr_taken: u64,
            nr_active: u64,
            nr_deactivated: u64,
            priority: u8,
        },
        /// The inactive list was scanned (`vmscan:mm_vmscan_lru_shrink_inactive`).
        MmVmscanLruShrinkInactive {
            node: NodeId,
            file: bool,
            nr_scanned: u64,
            nr_reclaimed: u64,
            priority: u8,
        },
        /// The classic LRU is done with an lruvec (`shrink_lruvec()`; no tracepoint in Linux): the
        /// sizes of its lists and the pages of each that it set out to scan, in the order of
        /// `enum lru_list`, and what it scanned and evicted, anonymous pages first.
        SimShrinkLruvec {
            node: NodeId,
            memcg: MemcgId,
            kswapd: bool,
            priority: u8,
            sizes: [u64; 4],
            targets: [u64; 4],
            scanned: [u64; 2],
            reclaimed: [u64; 2],
        },
        /// MGLRU is done with one step (`evict_folios()`; no tracepoint in Linux): the pages of the
        /// lruvec that it might have looked at, how many it looked at, isolated and evicted.
        SimEvictFolios {
            node: NodeId,
            memcg: MemcgId,
            kswapd: bool,
            priority: u8,
            nr_to_scan: u64,
            scanned: u64,
            taken: u64,
            reclaimed: u64,
        },
        /// The contents of a page are gone, its frame or its slot (no tracepoint in Linux), and
        /// why: `zap` is unmapping, `MADV_DONTNEED` and exit, `lazy_free` is `MADV_FREE` of a page
        /// in swap, `invalidate` takes a page of a file out of the page cache.
        SimDrop { page: PageIdx, pfn: Option<Pfn>, slot: Option<SwapSlot>, why: &'static str },
        /// Pages were locked by a mapping, or are no longer; of a mapped file, those of the file (no
        /// tracepoint in Linux).
        SimMlock { page: PageIdx, pages: u32, locked: bool },
        /// Fate of one folio of an inactive scan (no tracepoint in Linux).
        SimScanFolio { pfn: Pfn, page: Option<PageIdx>, file: bool, outcome: ScanOutcome },
        /// A folio was activated (`pagemap:mm_lru_activate`).
        MmLruActivate { pfn: Pfn },
        /// A folio was deactivated by an active scan (no tracepoint in Linux).
        SimDeactivate { pfn: Pfn },
        /// A folio became lazily freed memory (no tracepoint in Linux, which counts `pglazyfree`).
        SimLazyFree { pfn: Pfn, page: Option<PageIdx> },
        /// Lazily freed memory was dropped (no tracepoint in Linux, which counts `pglazyfreed`).
        SimLazyDrop { pfn: Pfn, page: Option<PageIdx> },
        /// A folio entered a list (`pagemap:mm_lru_insertion`).
        MmLruInsertion { pfn: Pfn, lru: &'static str },
        /// A folio was evicted; `eviction` numbers evictions from 1 (no tracepoint in Linux).
        SimEvict {
            eviction: u64,
            pfn: Pfn,
            page: Option<PageIdx>,
            file: bool,
            slot: Option<SwapSlot>,
            written: bool,
        },
        /// An evicted page is wanted again (no tracepoint in Linux): the eviction that it
        /// answers, its refault distance and what it is compared with.
        SimRefault {
            page: PageIdx,
            file: bool,
            eviction: Option<u64>,
            distance: u64,
            workingset_size: u64,
            activated: bool,
        },
        /// A page is read from swap into the swap cache, for a fault or ahead of one (no tracepoint
        /// in Linux, which counts `pswpin` and `swap_ra`).
        SimSwapRead { pfn: Pfn, page: Option<PageIdx>, slot: SwapSlot, ahead: bool },
        /// Fate of a page between its slot and the device, and its compressed bytes (no tracepoint
        /// in Linux, which counts `zswpout`, `zswpin`, `zswpwb`, `swpout_zero` and `swpin_zero`).
        SimZswap { page: Option<PageIdx>, slot: SwapSlot, what: ZswapStep, bytes: u32 },
        /// One of the generations there are after a new one began, oldest first.
        SimLruGen {
            node: NodeId,
            memcg: MemcgId,
            seq: u64,
            age: SimDuration,
            nr_anon: u64,
            nr_file: u64,
        },
        /// A folio is written (`vmscan:mm_vmscan_write_folio`).
        MmVmscanWriteFolio { pfn: Pfn, file: bool },
        /// A write ended (`writeback:folio_end`).
        SimWritebackEnd { pfn: Pfn },
        /// kswapd was woken (`vmscan:mm_vmscan_kswapd_wake`).
        MmVmscanKswapdWake { node: NodeId, order: u8 },
        /// kswapd went to sleep (`vmscan:mm_vmscan_kswapd_sleep`).
        MmVmscanKswapdSleep { node: NodeId },
        /// Direct reclaim began (`vmscan:mm_vmscan_direct_reclaim_begin`).
        MmVmscanDirectReclaimBegin { thread: ThreadId, order: u8 },
        /// Direct reclaim ended (`vmscan:mm_vmscan_direct_reclaim_end`).
        MmVmscanDirectReclaimEnd { thread: ThreadId, nr_reclaimed: u64 },
        /// A process was chosen by the OOM killer (`oom:mark_victim`).
        MarkVictim { process: AsId, pages: u64 },
        /// File pages were read (`filemap:mm_filemap_add_to_page_cache`, one per page).
        MmFilemapAddToPageCache { file: FileId, index: u32, pfn: Pfn, page: PageIdx },
        /// A run of compaction over a zone began (`compaction:mm_compaction_begin`): where its
        /// scanners stand, and whether it may wait.
        MmCompactionBegin { zone: ZoneId, migrate_pfn: Pfn, free_pfn: Pfn, sync: bool },
        /// It moved a batch of pages (`compaction:mm_compaction_migratepages`).
        MmCompactionMigratepages { nr_migrated: u64, nr_failed: u64 },
        /// It ended (`compaction:mm_compaction_end`).
        MmCompactionEnd {
            zone: ZoneId,
            migrate_pfn: Pfn,
            free_pfn: Pfn,
            sync: bool,
            status: CompactResult,
        },
        /// A folio moved to another frame (no tracepoint in Linux).
        SimMigrate { pfn: Pfn, target: Pfn, page: Option<PageIdx> },
        /// A CPU turned to a thread, or to background work (`sched:sched_switch`).
        SchedSwitch { cpu: CpuId, thread: Option<ThreadId> },
        /// The chooser of a group offered folios, and those that could go were reclaimed
        /// (`vmscan:mm_cache_ext_reclaim` of ports of cache_ext).
        MmCacheExtReclaim {
            node: NodeId,
            memcg: MemcgId,
            nr_wanted: u64,
            nr_offered: u64,
            nr_reclaimed: u64,
        },
        /// A daemon acts on a process or a group: the pages that its victims had in memory and in
        /// swap, or the value of a write (no tracepoint in Linux).
        SimDaemonAct {
            daemon: DaemonId,
            what: &'static str,
            process: Option<AsId>,
            memcg: MemcgId,
            pages: u64,
        },
    }
}

/// Sees events, in order. Must not influence the run: it gets no access to it.
pub trait Observer: Send {
    /// The kinds that it sees. It is called once, before the run.
    fn kinds(&self) -> TraceKinds {
        TraceKinds::ALL
    }
    /// One event at simulated time `now`.
    fn event(&mut self, now: SimTime, event: &TraceEvent);
}

/// A set of kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceKinds(u64);

impl TraceKinds {
    /// No kind.
    pub const NONE: TraceKinds = TraceKinds(0);
    /// All kinds.
    pub const ALL: TraceKinds = TraceKinds::of(TraceKind::ALL);

    /// These kinds.
    pub const fn of(kinds: &[TraceKind]) -> TraceKinds {
        let (mut bits, mut i) = (0, 0);
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u32;
            i += 1;
        }
        TraceKinds(bits)
    }
    /// True if a kind is one of them.
    #[inline(always)]
    pub const fn has(self, kind: TraceKind) -> bool {
        self.0 >> kind as u32 & 1 != 0
    }
    /// True if some kind is in both sets.
    #[inline(always)]
    pub const fn meets(self, other: TraceKinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// The place where events go; empty in most runs.
#[derive(Default)]
pub struct Tracer {
    observer: Option<Box<dyn Observer>>,
    /// Kinds that the observer sees; empty without one.
    wanted: TraceKinds,
    /// The clock of whoever acts; the run loop and the doors keep it.
    pub now: SimTime,
}

impl Tracer {
    /// Sets or removes the observer.
    pub fn set_observer(&mut self, o: Option<Box<dyn Observer>>) {
        self.wanted = o.as_ref().map_or(TraceKinds::NONE, |o| o.kinds());
        self.observer = o;
    }
    /// True if an observer sees any event.
    #[inline(always)]
    pub fn on(&self) -> bool {
        self.wanted != TraceKinds::NONE
    }
    /// True if an observer sees events of a kind.
    #[inline(always)]
    pub fn wants(&self, kind: TraceKind) -> bool {
        self.wanted.has(kind)
    }
    /// True if an observer sees events of one of these kinds.
    #[inline(always)]
    pub(crate) fn wants_any(&self, kinds: TraceKinds) -> bool {
        self.wanted.meets(kinds)
    }
    /// Reports an event; `make` runs only with an observer.
    #[inline(always)]
    pub fn emit(&mut self, make: impl FnOnce() -> TraceEvent) {
        if self.on() {
            let event = make();
            if self.wants(event.kind()) {
                self.emit_cold(event);
            }
        }
    }
    #[cold]
    #[inline(never)]
    fn emit_cold(&mut self, e: TraceEvent) {
        if let Some(o) = &mut self.observer {
            o.event(self.now, &e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_kinds_that_it_is_made_of() {
        for &kind in TraceKind::ALL {
            let one = TraceKinds::of(&[kind]);
            let in_one = TraceKind::ALL.iter().filter(|&&k| one.has(k));
            assert_eq!(in_one.count(), 1, "{kind:?}");
            assert!(one.has(kind) && one.meets(TraceKinds::ALL) && !one.meets(TraceKinds::NONE));
        }
    }
}
