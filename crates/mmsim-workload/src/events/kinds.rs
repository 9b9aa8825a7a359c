//! The one table of trace events: name, tracepoint, fields in their order, and when it happens.
//!
//! A row gives the list of kinds, the name in filters, the line that is written, and the bytes of
//! `.mmev`. An event of core without a row does not compile.

use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::id::{
    AsId, CpuId, DaemonId, FileId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot, ThreadId, ZoneId,
};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::trace::{FaultKind, ScanOutcome, TraceEvent, TraceKind, ZswapStep};
use mmsim_core::phys::buddy::Extfrag;

use super::form::{Form, What};
use super::packing::{Near, Packing};

/// One event as a line, without its end.
pub fn line(now: SimTime, event: &TraceEvent) -> String {
    let mut line = Vec::new();
    write_event(&mut line, now, event);
    line.push(b'}');
    String::from_utf8_lossy(&line).into_owned()
}

/// A kind of event, as `docs/observing.md` lists it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EventKind {
    /// Its name in the file and in filters.
    pub name: &'static str,
    /// The kernel's tracepoint; `None` where Linux has none.
    pub tracepoint: Option<&'static str>,
    /// Its fields after `t_ns` and `event`, in their order.
    pub fields: &'static [&'static str],
    /// When it happens.
    pub about: &'static str,
}

/// A value of an event: how JSON writes it, how bytes keep it, and the thread or page that an event
/// with it is about.
trait Field {
    const WHAT: What;
    const NULLABLE: bool = false;
    /// The words of a [`What::Word`], by their numbers.
    fn words() -> Vec<&'static str> {
        Vec::new()
    }
    fn write(&self, out: &mut Vec<u8>);
    /// Puts it into an event of bytes. `near` is what the field was in the last event of the kind.
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64);
    #[inline(always)]
    fn thread(&self) -> Option<ThreadId> {
        None
    }
    #[inline(always)]
    fn page(&self) -> Option<PageIdx> {
        None
    }
}

#[inline]
fn number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Names of ours: they have nothing that would need escaping.
#[inline]
fn name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

macro_rules! numbers {
    ($($type:ty: $what:ident = |$x:ident| $number:expr;)*) => {$(
        impl Field for $type {
            const WHAT: What = What::$what;
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let $x = self;
                number(out, $number);
            }
            #[inline(always)]
            fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
                let $x = self;
                to.put(What::$what, u64::from($number), near);
            }
        }
    )*};
}

// Ids are written by their numbers.
numbers! {
    u8: Byte = |x| *x;
    u32: Small = |x| *x;
    u64: Number = |x| *x;
    AsId: Small = |x| x.0;
    CpuId: Small = |x| x.0;
    FileId: Small = |x| x.0;
    MemcgId: Small = |x| x.0;
    NodeId: Byte = |x| x.0;
    Pfn: Frame = |x| x.0;
    SwapSlot: Small = |x| x.0;
    ZoneId: Byte = |x| x.0;
    DaemonId: Byte = |x| x.0;
    // In whole milliseconds.
    SimDuration: Number = |x| x.0 / 1_000_000;
}

macro_rules! words {
    ($($type:ty { $($word:ident $name:expr,)* })*) => {$(
        impl Field for $type {
            const WHAT: What = What::Word;
            fn words() -> Vec<&'static str> {
                vec![$($name),*]
            }
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                name(out, match self { $(<$type>::$word => $name,)* });
            }
            #[inline(always)]
            fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
                // The first word is number 0.
                #[allow(non_camel_case_types)]
                enum Of { $($word,)* }
                let nth = match self { $(<$type>::$word => Of::$word,)* };
                to.put(What::Word, nth as u64, near);
            }
        }
    )*};
}

words! {
    CompactResult {
        Skipped CompactResult::Skipped.name(),
        Deferred CompactResult::Deferred.name(),
        Continue CompactResult::Continue.name(),
        Complete CompactResult::Complete.name(),
        PartialSkipped CompactResult::PartialSkipped.name(),
        Contended CompactResult::Contended.name(),
        Success CompactResult::Success.name(),
    }
    Migratetype {
        Unmovable Migratetype::Unmovable.name(),
        Movable Migratetype::Movable.name(),
        Reclaimable Migratetype::Reclaimable.name(),
        HighAtomic Migratetype::HighAtomic.name(),
        Cma Migratetype::Cma.name(),
        Isolate Migratetype::Isolate.name(),
    }
    FaultKind {
        ZeroFill "zero_fill",
        ZeroPage "zero_page",
        SwapIn "swap_in",
        SwapCache "swap_cache",
        FileMinor "file_minor",
        FileMajor "file_major",
        Cow "cow",
        Reuse "reuse",
    }
    ScanOutcome {
        Reclaimed "reclaimed",
        LazyFreed "lazy_freed",
        KeepReferenced "keep_referenced",
        KeepWriteback "keep_writeback",
        KeepBusy "keep_busy",
        ActivateReferenced "activate_referenced",
        ActivateDirty "activate_dirty",
        ActivateWriteback "activate_writeback",
        ActivateRewritten "activate_rewritten",
        ActivateNoSwap "activate_no_swap",
        Unevictable "unevictable",
    }
    ZswapStep {
        Stored "stored",
        MarkedZero "marked_zero",
        GroupLimit "group_limit",
        PoolLimit "pool_limit",
        Incompressible "incompressible",
        NoFrame "no_frame",
        Loaded "loaded",
        ZeroFilled "zero_filled",
        WrittenBack "written_back",
        NotWrittenBack "not_written_back",
    }
}

impl Field for &'static str {
    const WHAT: What = What::Text;
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        name(out, self);
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
        to.text(self, near);
    }
}

impl<const N: usize> Field for [u64; N] {
    const WHAT: What = What::List(N as u8);
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        for (i, x) in self.iter().enumerate() {
            out.push(if i == 0 { b'[' } else { b',' });
            number(out, *x);
        }
        out.push(b']');
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, _: &mut u64) {
        to.list(self);
    }
}

impl Field for bool {
    const WHAT: What = What::Bit;
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
        to.put(What::Bit, u64::from(*self), near);
    }
}

impl Field for ThreadId {
    const WHAT: What = What::Thread;
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        number(out, self.0);
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
        to.put(What::Thread, u64::from(self.0), near);
    }
    #[inline(always)]
    fn thread(&self) -> Option<ThreadId> {
        Some(*self)
    }
}

impl Field for PageIdx {
    const WHAT: What = What::Page;
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        number(out, self.0);
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
        to.put(What::Page, u64::from(self.0), near);
    }
    #[inline(always)]
    fn page(&self) -> Option<PageIdx> {
        Some(*self)
    }
}

impl<F: Field> Field for Option<F> {
    const WHAT: What = F::WHAT;
    const NULLABLE: bool = true;
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(field) => field.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
    #[inline(always)]
    fn pack(&self, to: &mut Packing<'_>, near: &mut u64) {
        to.bits(u64::from(self.is_some()), 1);
        match self {
            Some(field) => field.pack(to, near),
            None => to.bits(0, F::WHAT.bits()),
        }
    }
    #[inline(always)]
    fn thread(&self) -> Option<ThreadId> {
        self.as_ref()?.thread()
    }
    #[inline(always)]
    fn page(&self) -> Option<PageIdx> {
        self.as_ref()?.page()
    }
}

/// The form of what a function finds in an event. It is not called.
fn form_of<F: Field>(_: fn(&TraceEvent) -> Option<&F>) -> Form {
    Form { what: F::WHAT, nullable: F::NULLABLE, words: F::words() }
}

/// The name of a field in the file, where it is not that of the event's field.
macro_rules! last {
    ($field:ident) => {
        $field
    };
    ($field:ident $name:ident) => {
        $name
    };
}

macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:ident) => {
        stringify!($name)
    };
}

/// A variant with fields, or one with a struct that has them.
macro_rules! pattern {
    ($variant:ident $($fields:tt)*) => {
        TraceEvent::$variant { $($fields)* }
    };
    (($inner:ident) $variant:ident $($fields:tt)*) => {
        TraceEvent::$variant($inner { $($fields)* })
    };
}

/// Rows `NAME in TRACEPOINTS = VARIANT { FIELDS } ABOUT`: the kernel's group of tracepoints where it
/// has one of that name; `field: name` where a file names a field otherwise.
macro_rules! events {
    ($(
        $name:ident $(in $group:ident)? = $variant:ident $(($inner:ident))?
            { $($field:ident $(: $named:ident)?),* }
            $about:literal;
    )*) => {
        /// All kinds of events.
        pub const EVENTS: &[EventKind] = &[$(EventKind {
            name: stringify!($name),
            tracepoint: {
                let all: &[&'static str] =
                    &[$(concat!(stringify!($group), ":", stringify!($name)))?];
                all.first().copied()
            },
            fields: &[$(name_of!($field $($named)?)),*],
            about: $about,
        }),*];

        /// The name of an event.
        pub const fn event_name(event: &TraceEvent) -> &'static str {
            match event.kind() {
                $(TraceKind::$variant => stringify!($name),)*
            }
        }

        /// The kind of a name.
        pub fn kind_of(name: &str) -> Option<TraceKind> {
            match name {
                $(stringify!($name) => Some(TraceKind::$variant),)*
                _ => None,
            }
        }

        /// The thread that an event is about.
        pub(super) fn thread_of(event: &TraceEvent) -> Option<ThreadId> {
            match event {
                $(pattern!($(($inner))? $variant $($field $(: $named)?),*) => {
                    None$(.or(last!($field $($named)?).thread()))*
                })*
            }
        }

        /// The page that an event is about.
        pub fn page_of(event: &TraceEvent) -> Option<PageIdx> {
            match event {
                $(pattern!($(($inner))? $variant $($field $(: $named)?),*) => {
                    None$(.or(last!($field $($named)?).page()))*
                })*
            }
        }

        /// Appends the line of an event, without the newline and the closing brace.
        pub(super) fn write_event(out: &mut Vec<u8>, now: SimTime, event: &TraceEvent) {
            out.extend_from_slice(b"{\"t_ns\":");
            number(out, now.0);
            match event {
                $(pattern!($(($inner))? $variant $($field $(: $named)?),*) => {
                    put(out, concat!(",\"event\":\"", stringify!($name), "\""));
                    $(
                        put(out, concat!(",\"", name_of!($field $($named)?), "\":"));
                        last!($field $($named)?).write(out);
                    )*
                })*
            }
        }

        /// The forms of the fields of a kind.
        pub(super) fn forms_of(kind: TraceKind) -> Vec<Form> {
            match kind {
                $(TraceKind::$variant => {
                    row_forms!(($($inner)?) $variant $(($field $($named)?))*)
                })*
            }
        }

        /// Puts the fields of an event into an event of bytes.
        #[inline(always)]
        pub(super) fn pack_fields(event: &TraceEvent, to: &mut Packing<'_>, near: &mut Near) {
            match event {
                $(pattern!($(($inner))? $variant $($field $(: $named)?),*) => {
                    let near = &mut near[TraceKind::$variant as usize];
                    let mut nth = 0;
                    $(
                        last!($field $($named)?).pack(to, &mut near[nth]);
                        nth += 1;
                    )*
                    let _ = nth;
                })*
            }
        }
    };
}

/// The forms of the fields of a row.
macro_rules! row_forms {
    ($inner:tt $variant:ident $(($($field:ident)+))*) => {
        vec![$(form_of(|event| match event {
            one_of!($inner $variant $($field)+) => Some(last!($($field)+)),
            _ => None,
        })),*]
    };
}

/// A variant, of which one field is taken.
macro_rules! one_of {
    (() $variant:ident $field:ident $($named:ident)?) => {
        TraceEvent::$variant { $field $(: $named)?, .. }
    };
    (($inner:ident) $variant:ident $field:ident $($named:ident)?) => {
        TraceEvent::$variant($inner { $field $(: $named)?, .. })
    };
}

#[inline(always)]
fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

events! {
    page_fault_user in exceptions = PageFault { thread, page, write, kind, major, pfn }
        "a fault was resolved, how, and to which frame; null where that is the shared zero page";
    mm_page_alloc in kmem = MmPageAlloc { pfn, order, zone }
        "a frame was allocated";
    mm_page_free in kmem = MmPageFree { pfn, order }
        "a frame went back to the allocator";
    mm_page_alloc_extfrag in kmem = MmPageAllocExtfrag(Extfrag) {
            pfn, alloc_order, fallback_order, alloc_migratetype, fallback_migratetype,
            fragmenting, change_ownership
        }
        "a request was served from another migratetype";
    mm_vmscan_lru_isolate in vmscan = MmVmscanLruIsolate {
            node, memcg, lru, nr_requested, nr_scanned, nr_taken
        }
        "a scan took folios off a list";
    mm_vmscan_lru_shrink_active in vmscan = MmVmscanLruShrinkActive {
            node, file, nr_taken, nr_active, nr_deactivated, priority
        }
        "a batch of the active list was scanned";
    mm_vmscan_lru_shrink_inactive in vmscan = MmVmscanLruShrinkInactive {
            node, file, nr_scanned, nr_reclaimed, priority
        }
        "a batch of the inactive list was scanned";
    sim_shrink_lruvec = SimShrinkLruvec {
            node, memcg, kswapd, priority, sizes, targets, scanned, reclaimed
        }
        "the classic LRU is done with an lruvec: sizes of its lists, what it set out to scan of \
         each, what it scanned and evicted, anonymous pages first";
    sim_evict_folios = SimEvictFolios {
            node, memcg, kswapd, priority, nr_to_scan, scanned, taken, reclaimed
        }
        "MGLRU is done with a step: what it might have looked at, looked at, isolated and evicted";
    sim_drop = SimDrop { page, pfn, slot, why }
        "what a page held in memory or in swap is gone, and why; the page cache keeps what a \
         mapping shows of a file";
    sim_mlock = SimMlock { page, pages, locked }
        "a mapping locks this page and those behind it, or no longer; a mapped file has pages of its \
         own";
    sim_scan_folio = SimScanFolio { pfn, page, file, outcome }
        "what an inactive scan did with one folio, and why";
    mm_lru_activate in pagemap = MmLruActivate { pfn }
        "a folio was activated outside of a scan";
    sim_deactivate = SimDeactivate { pfn }
        "a folio went from the active to the inactive list";
    sim_lazy_free = SimLazyFree { pfn, page }
        "a folio became lazily freed memory";
    sim_lazy_drop = SimLazyDrop { pfn, page }
        "lazily freed memory was dropped";
    mm_lru_insertion in pagemap = MmLruInsertion { pfn, lru }
        "a folio left its batch and entered a list";
    sim_evict = SimEvict { eviction, pfn, page, file, slot, written }
        "a folio was evicted; evictions are numbered from 1";
    sim_refault = SimRefault { page, file, eviction, distance, workingset_size, activated }
        "an evicted page is wanted again: which eviction that answers, how many evictions \
         (and activations) ago, and the size that decides";
    sim_swap_read = SimSwapRead { pfn, page, slot, ahead }
        "a page is read from swap into the swap cache, for a fault or ahead of one";
    sim_zswap = SimZswap { page, slot, what, bytes }
        "fate of a page between its slot and the device";
    sim_lru_gen = SimLruGen { node, memcg, seq, age: age_ms, nr_anon, nr_file }
        "one of MGLRU's generations after a new one began, the oldest first";
    mm_vmscan_write_folio in vmscan = MmVmscanWriteFolio { pfn, file }
        "reclaim writes a folio";
    sim_writeback_end = SimWritebackEnd { pfn }
        "a write ended";
    mm_vmscan_kswapd_wake in vmscan = MmVmscanKswapdWake { node, order }
        "kswapd woke";
    mm_vmscan_kswapd_sleep in vmscan = MmVmscanKswapdSleep { node }
        "kswapd went to sleep";
    mm_vmscan_direct_reclaim_begin in vmscan = MmVmscanDirectReclaimBegin { thread, order }
        "an allocating thread begins to reclaim";
    mm_vmscan_direct_reclaim_end in vmscan = MmVmscanDirectReclaimEnd { thread, nr_reclaimed }
        "it is done";
    mark_victim in oom = MarkVictim { process, pages }
        "the OOM killer chose a process";
    mm_filemap_add_to_page_cache in filemap = MmFilemapAddToPageCache { file, index, pfn, page }
        "a page of a file entered the page cache";
    mm_compaction_begin in compaction = MmCompactionBegin { zone, migrate_pfn, free_pfn, sync }
        "a run of compaction over a zone begins where its scanners stand";
    mm_compaction_migratepages in compaction = MmCompactionMigratepages {
            nr_migrated, nr_failed
        }
        "it moved a batch of pages; for those that failed there was no place, or they cannot \
         be moved now";
    mm_compaction_end in compaction = MmCompactionEnd {
            zone, migrate_pfn, free_pfn, sync, status
        }
        "it ended; `contended` also where 4.1 was limited or found no place";
    sim_migrate = SimMigrate { pfn, target, page }
        "a folio moved to another frame";
    sched_switch in sched = SchedSwitch { cpu, thread }
        "a CPU turned to a thread, or (null) to background work";
    sim_daemon_act = SimDaemonAct { daemon, what, process, memcg, pages }
        "a daemon acts: a signal to a process or a group, or a write; the pages that its victims had \
         in memory and in swap, or that were written";
    mm_cache_ext_reclaim in vmscan = MmCacheExtReclaim {
            node, memcg, nr_wanted, nr_offered, nr_reclaimed
        }
        "the chooser of a group offered folios, and those that could go were reclaimed";
}
