//! Eviction of isolated folios, which every list-based policy shares: the loop over a run of them
//! (`shrink`), in which a policy only judges, and what becomes of one that is out of the ordinary
//! ([`shrink_folio`]).
//!
//! The order of the tests is the kernel's and matters: a folio under write is recycled
//! before anybody asks for references; references decide before a slot is taken; a dirty
//! file folio is left to the flusher after it was unmapped. Lazily freed memory is judged like
//! a file's, needs no slot, and becomes ordinary active memory again if it was written.
//!
//! A large folio is judged as one. When it is to be evicted it goes to swap in one piece, or it is split
//! and the caller goes through its pages.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_folio_list`).

use crate::index::{ANON, LruType, PerType};
use mmsim_core::backing::Shadow;
use mmsim_core::base::id::{ListId, Pfn};
use mmsim_core::memory::trace::{ScanOutcome, TraceEvent};
use mmsim_core::memory::{Evicting, FastPath, Memory, Prepared, Run, each, first};
use mmsim_core::phys::frames::{FolioId, Mapped, flag, pages_of};
use mmsim_core::policy::{PassStats, Reclaimer};

/// Judgement of an inactive folio by its accessed bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Free it.
    Reclaim,
    /// Free it if that needs no write.
    ReclaimClean,
    /// Another round on the inactive list.
    Keep,
    /// To the active list.
    Activate,
    /// In a locked mapping: to the unevictable list.
    Locked,
}

/// Where a folio went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShrinkOutcome {
    /// It is gone.
    Freed,
    /// It is gone, and not needed again: lazily freed memory.
    Dropped,
    /// It could be freed, and is kept.
    Ready,
    /// It stays inactive.
    Kept(ScanOutcome),
    /// Its active flag is set.
    Activated(ScanOutcome),
    /// It was huge, and is a folio of one page for each page that is mapped now. These are all still
    /// isolated ([`Memory::is_isolated_page`]) and each to be processed like others.
    Split,
}

/// Who shrinks, and how far it may go.
#[derive(Clone, Copy, Debug)]
pub struct Shrinking {
    /// Who.
    pub by: Reclaimer,
    /// Dirty folios may be written.
    pub may_writepage: bool,
    /// A mapped folio that is marked as referenced is kept: a walk of page tables has found it
    /// accessed since it was isolated, which clears the mark.
    pub keep_marked: bool,
    /// kswapd writes file folios that it meets again, while many are dirty.
    pub writes_files: bool,
    /// A folio that could be freed is kept, clean and unmapped ([`ShrinkOutcome::Ready`]).
    pub keeps_ready: bool,
}

/// Sums over the folios of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchStats {
    /// Conditions met.
    pub pass: PassStats,
    /// Folio pages whose lock was free.
    pub scanned: u64,
    /// Activated, by type.
    pub activated: PerType<u64>,
    /// Written, or their write begun.
    pub pageout: u64,
    /// Freed.
    pub reclaimed: u64,
}

/// Processes one isolated folio. `judge` asks for references; `shadow` is called when the
/// folio is about to be freed and says what it leaves behind.
#[inline]
pub fn shrink_folio(
    mem: &mut Memory,
    folio: FolioId,
    how: Shrinking,
    stats: &mut BatchStats,
    judge: impl FnOnce(&mut Memory, FolioId) -> Judgement,
    mut shadow: impl FnMut(&mut Memory, FolioId) -> Option<Shadow>,
) -> ShrinkOutcome {
    let bits = mem.frames.bits(folio);
    if bits & flag::LOCKED != 0 {
        return ShrinkOutcome::Kept(ScanOutcome::KeepBusy);
    }
    let pages = pages_of(bits);
    stats.scanned += pages;
    if bits & flag::MLOCKED != 0 {
        return ShrinkOutcome::Activated(ScanOutcome::Unevictable);
    }
    if how.keep_marked && bits & flag::REFERENCED != 0 && mem.frames.mapped(folio) != Mapped::No {
        return ShrinkOutcome::Kept(ScanOutcome::KeepReferenced);
    }
    let writeback = bits & flag::WRITEBACK != 0;
    // The flusher does not care about anonymous memory.
    if bits & flag::SWAPBACKED == 0 && !mem.is_lazyfree(folio) {
        let dirty = bits & flag::DIRTY != 0;
        stats.pass.unqueued_dirty += u64::from(dirty && !writeback);
    }
    if writeback {
        return recycle(mem, folio, how, stats);
    }
    let clean_only = match judge(mem, folio) {
        Judgement::Activate => {
            return activate_out(mem, folio, stats, ScanOutcome::ActivateReferenced);
        }
        Judgement::Locked => {
            mem.mlock(folio);
            return ShrinkOutcome::Activated(ScanOutcome::Unevictable);
        }
        Judgement::Keep => return ShrinkOutcome::Kept(ScanOutcome::KeepReferenced),
        Judgement::ReclaimClean => true,
        Judgement::Reclaim => false,
    };
    if pages > 1 {
        let whole = how.may_writepage && !clean_only && !how.keeps_ready;
        return shrink_large(mem, folio, (how.by, whole), stats, &mut shadow);
    }
    evict(mem, folio, how, clean_only, stats, shadow)
}

/// Evicts a large folio in one piece if it may be and can be, or splits it.
#[cold]
#[inline(never)]
fn shrink_large(
    mem: &mut Memory,
    folio: FolioId,
    (by, whole): (Reclaimer, bool),
    stats: &mut BatchStats,
    shadow: &mut dyn FnMut(&mut Memory, FolioId) -> Option<Shadow>,
) -> ShrinkOutcome {
    let pages = mem.frames.pages(folio);
    if whole && mem.evict_whole(folio, by, shadow) {
        stats.pageout += pages;
        stats.reclaimed += pages;
        return ShrinkOutcome::Freed;
    }
    stats.scanned -= pages;
    mem.split_to_evict(folio);
    ShrinkOutcome::Split
}

/// A folio under writeback goes to the active list until its write ends.
fn recycle(
    mem: &mut Memory,
    folio: FolioId,
    how: Shrinking,
    stats: &mut BatchStats,
) -> ShrinkOutcome {
    let kswapd = matches!(how.by, Reclaimer::Kswapd);
    let recycled = mem.frames.has(folio, flag::RECLAIM);
    if kswapd && recycled && mem.lru.node_flags[mem.node_of(folio)].writeback {
        stats.pass.immediate += 1;
    } else {
        mem.frames.set(folio, flag::RECLAIM);
        stats.pass.writeback += 1;
    }
    activate_out(mem, folio, stats, ScanOutcome::ActivateWriteback)
}

/// Evicts a folio that was judged, as far as its state allows.
#[inline]
fn evict(
    mem: &mut Memory,
    folio: FolioId,
    how: Shrinking,
    clean_only: bool,
    stats: &mut BatchStats,
    shadow: impl FnOnce(&mut Memory, FolioId) -> Option<Shadow>,
) -> ShrinkOutcome {
    let evicting = Evicting {
        by: how.by,
        may_writepage: how.may_writepage,
        may_write_file: how.writes_files
            && matches!(how.by, Reclaimer::Kswapd)
            && mem.frames.has(folio, flag::RECLAIM)
            && mem.lru.node_flags[mem.node_of(folio)].dirty,
        clean_only,
    };
    match mem.prepare_evict(folio, evicting) {
        Prepared::Keep { why, wrote } => {
            stats.pageout += u64::from(wrote);
            ShrinkOutcome::Kept(why)
        }
        Prepared::Activate { why: ScanOutcome::Unevictable } => {
            mem.mlock(folio);
            ShrinkOutcome::Activated(ScanOutcome::Unevictable)
        }
        Prepared::Activate { why } => activate_out(mem, folio, stats, why),
        Prepared::Dropped => {
            stats.reclaimed += 1;
            ShrinkOutcome::Dropped
        }
        Prepared::Ready { wrote } if how.keeps_ready => {
            stats.pageout += u64::from(wrote);
            ShrinkOutcome::Ready
        }
        Prepared::Ready { wrote } => {
            stats.pageout += u64::from(wrote);
            let s = shadow(mem, folio);
            mem.finish_evict(folio, how.by, s, wrote);
            stats.reclaimed += 1;
            ShrinkOutcome::Freed
        }
    }
}

fn activate_out(
    mem: &mut Memory,
    folio: FolioId,
    stats: &mut BatchStats,
    why: ScanOutcome,
) -> ShrinkOutcome {
    // A full swap device wants its slots back: the page is in use, its copy is a luxury.
    if mem.frames.has(folio, flag::SWAPCACHE)
        && mem.frames.mapped(folio) != Mapped::No
        && !mem.frames.has(folio, flag::WRITEBACK)
        && mem.swap_is_scarce(folio)
        && mem.swap.as_ref().is_some_and(|s| s.count(mem.frames.slot(folio)) == 0)
    {
        mem.drop_swapcache(folio);
        mem.frames.set(folio, flag::DIRTY);
    }
    mem.activate(folio);
    let file = mem.frames.is_file_lru(folio);
    stats.activated[LruType::of(file)] += mem.frames.pages(folio);
    ShrinkOutcome::Activated(why)
}

/// Fates of the folios of a run. Each folio has its bit in at most one of the masks up to `recycle`;
/// one without takes the slow path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fates {
    /// Evicted, each to a slot.
    pub evict: u64,
    /// Stays where it was.
    pub keep: u64,
    /// Was used, and is activated.
    pub activate: u64,
    /// Should have been evicted, but there is no slot left: activated.
    pub refused: u64,
    /// Under write: it goes round once more, marked so that the end of the write frees it.
    pub recycle: u64,
    /// Folios whose use was checked, which takes time. The other masks say nothing of
    /// that.
    pub asked: u64,
    /// An observer saw already what became of it.
    pub told: u64,
}

impl Fates {
    fn within(self, some: u64) -> Self {
        Fates {
            evict: self.evict & some,
            keep: self.keep & some,
            activate: self.activate & some,
            refused: self.refused & some,
            recycle: self.recycle & some,
            asked: self.asked & some,
            told: self.told & some,
        }
    }
    /// Those whose active flag is set.
    #[inline(always)]
    pub(crate) fn up(&self) -> u64 {
        self.activate | self.refused | self.recycle
    }
    /// The outcome of a folio, as observers see it.
    fn outcome(&self, i: usize) -> ScanOutcome {
        let is = |mask: u64| mask >> i & 1 != 0;
        match () {
            () if is(self.evict) => ScanOutcome::Reclaimed,
            () if is(self.refused) => ScanOutcome::ActivateNoSwap,
            () if is(self.recycle) => ScanOutcome::ActivateWriteback,
            () if is(self.activate) => ScanOutcome::ActivateReferenced,
            () => ScanOutcome::KeepReferenced,
        }
    }
}

/// Where a folio is after the slow path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stays {
    /// Evicted, or on some other list already.
    Gone,
    /// It goes back to the list that it was on.
    Kept,
    /// It goes back to the list of active ones of its type.
    Activated,
    /// It was huge and was split: the number of its pages, of which those that are isolated are
    /// processed like others.
    Split(u32),
}

/// Folios that go back to lists: those of the run as masks, and before them the pages of huge folios
/// that were split, with the folios that stood before those.
#[derive(Clone, Debug, Default)]
pub(crate) struct Back {
    pub(crate) stay: [u64; 2],
    spilled: [Vec<FolioId>; 2],
}

impl Back {
    /// Lists what stays so far, so that pages may follow.
    #[cold]
    fn spill(&mut self, mem: &mut Memory, run: &mut Run) {
        for (stay, spilled) in self.stay.iter_mut().zip(&mut self.spilled) {
            for i in each(std::mem::take(stay)) {
                mem.leave_fast_path(run, i);
                spilled.push(run.folio(i));
            }
        }
    }
    /// The folios that stay, in order, if activated folios stay where they were. [`Back::give`] gives
    /// the room back.
    pub(crate) fn take(&mut self, run: &Run) -> Vec<FolioId> {
        let mut stays = std::mem::take(&mut self.spilled[0]);
        stays.extend(run.folios(std::mem::take(&mut self.stay[0])));
        stays
    }
    /// Room for what stays.
    pub(crate) fn give(&mut self, mut room: Vec<FolioId>) {
        room.clear();
        self.spilled[0] = room;
    }
    /// Puts back what stays, at the heads of two lists, in the order of the run.
    pub(crate) fn put_back(&mut self, mem: &mut Memory, run: &Run, lists: [ListId; 2]) {
        for ((stay, spilled), list) in self.stay.iter_mut().zip(&mut self.spilled).zip(lists) {
            if !spilled.is_empty() {
                mem.lru_add_heads(list, spilled);
                spilled.clear();
            }
            mem.put_back_run(list, run, std::mem::take(stay));
        }
    }
}

/// Buffers of a scan of a list, kept from scan to scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) run: Run,
    pub(crate) fast: FastPath,
    pub(crate) back: Back,
}

/// A run of folios on their way through eviction.
pub(crate) struct Batch<'a> {
    pub(crate) file: bool,
    pub(crate) how: Shrinking,
    /// Plain folios may be evicted by the fast path.
    pub(crate) evicts_fast: bool,
    pub(crate) fast: &'a mut FastPath,
    pub(crate) back: &'a mut Back,
    pub(crate) stats: BatchStats,
    /// Pages kept and activated.
    pub(crate) kept: u64,
    pub(crate) promoted: u64,
}

impl<'a> Batch<'a> {
    /// A batch of which nothing is judged yet.
    pub(crate) fn new(
        (file, how, evicts_fast): (bool, Shrinking, bool),
        fast: &'a mut FastPath,
        back: &'a mut Back,
    ) -> Self {
        let stats = BatchStats::default();
        Batch { file, how, evicts_fast, fast, back, stats, kept: 0, promoted: 0 }
    }
}

/// The part of a policy in [`shrink`]: it only judges.
pub(crate) trait Judge {
    /// The list that activated folios go back to: the second one, or the same.
    const UP: usize;
    /// Anonymous folios under write are judged together, too.
    const RECYCLES: bool;
    /// Folios of a run that may take the fast path.
    fn plain(&self, run: &Run, b: &Batch<'_>) -> u64;
    /// Judges some neighbours, plain ones or such under write.
    fn judge(&mut self, mem: &mut Memory, run: &mut Run, some: u64, b: &mut Batch<'_>) -> Fates;
    /// Has the folios that leave evicted ([`Memory::evict_run`]), each with its shadow, as if the
    /// activations before it were done.
    fn leave(&mut self, mem: &mut Memory, run: &Run, fates: &Fates, b: &mut Batch<'_>);
    /// Notes what stays.
    fn stayed(&mut self, mem: &mut Memory, run: &mut Run, fates: &Fates, b: &mut Batch<'_>);
    /// The slow path of a folio. `asked`: the judgement if it was made already.
    fn one(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        asked: Option<Judgement>,
        b: &mut Batch<'_>,
    ) -> Stays;
}

/// Number of folios from `at` on that have their bit in a mask.
#[inline(always)]
fn ahead(mask: u64, at: usize) -> usize {
    (mask >> at).trailing_ones() as usize
}

/// Evicts the folios of a run, as far as `j` finds them unused. Those that stay are in
/// `b.back` then.
///
/// Neighbours of one sort are judged together: plain folios, or anonymous ones under write. All
/// others go one by one, and what was judged before is carried out first. With an observer of
/// evictions a plain folio is alone.
#[inline(always)] // Once for each policy.
pub(crate) fn shrink<J: Judge>(j: &mut J, mem: &mut Memory, run: &mut Run, b: &mut Batch<'_>) {
    let (single, plain) = (mem.evicts_singly(), j.plain(run, b));
    let most = if single { 1 } else { run.len() };
    let recycles = J::RECYCLES && !b.file && !mem.given.slow_paths && plain != run.all();
    let writing = if recycles { writing(run) } else { 0 };
    let mut at = 0;
    while at < run.len() {
        let of_plain = ahead(plain, at).min(most);
        let mut n = if of_plain > 0 { of_plain } else { ahead(writing, at) };
        if n == 0 {
            slow(j, mem, run, at, None, b);
            at += 1;
            continue;
        }
        let mut f = j.judge(mem, run, first(n) << at, b);
        if f.evict != 0 && !b.evicts_fast {
            // It was judged already, but leaves by the slow path: a device with a queue, or no
            // writes.
            n = n.min(ahead(!f.evict, at));
            if n == 0 {
                b.fast.asked(1);
                slow(j, mem, run, at, Some(Judgement::Reclaim), b);
                at += 1;
                continue;
            }
            f = f.within(first(n) << at);
        }
        b.fast.asked(f.asked.count_ones().into());
        apply(j, mem, run, n, f, b, single);
        at += n;
    }
    mem.settle_fast(b.fast, b.how.by);
}

/// Carries out and counts the fates of `n` neighbours.
#[inline(always)]
fn apply<J: Judge>(
    j: &mut J,
    mem: &mut Memory,
    run: &mut Run,
    n: usize,
    mut f: Fates,
    b: &mut Batch<'_>,
    single: bool,
) {
    if f.evict != 0 {
        let evict = mem.slots_for_run(b.fast, f.evict);
        (f.refused, f.evict) = (f.evict & !evict, evict);
    }
    j.leave(mem, run, &f, b);
    j.stayed(mem, run, &f, b);
    let [kept, up, evicted] = [f.keep, f.up(), f.evict].map(|some| u64::from(some.count_ones()));
    b.back.stay[0] |= f.keep;
    b.back.stay[J::UP] |= f.up();
    b.kept += kept;
    b.promoted += up;
    b.stats.scanned += n as u64;
    b.stats.activated[ANON] += up;
    b.stats.pageout += evicted;
    b.stats.reclaimed += evicted;
    if f.recycle == 0 {
        b.fast.activated(up);
    }
    if single {
        tell(mem, run, &f, b);
    }
}

/// Lets an observer see what became of folios, after what they took.
#[cold]
#[inline(never)]
pub(crate) fn tell(mem: &mut Memory, run: &Run, f: &Fates, b: &mut Batch<'_>) {
    mem.settle_fast(b.fast, b.how.by);
    let file = b.file;
    for i in each((f.evict | f.keep | f.up()) & !f.told) {
        let (pfn, outcome) = (run.folio(i), f.outcome(i));
        let page = if f.recycle >> i & 1 != 0 { mem.page_of(pfn) } else { Some(run.page(i)) };
        mem.emit(|| TraceEvent::SimScanFolio { pfn, page, file, outcome });
    }
}

/// The slow path of a folio of a run.
#[inline(never)]
fn slow<J: Judge>(
    j: &mut J,
    mem: &mut Memory,
    run: &mut Run,
    i: usize,
    asked: Option<Judgement>,
    b: &mut Batch<'_>,
) {
    mem.settle_fast(b.fast, b.how.by);
    mem.leave_fast_path(run, i);
    match j.one(mem, run.folio(i), asked, b) {
        Stays::Gone => {}
        Stays::Kept => b.back.stay[0] |= 1 << i,
        Stays::Activated => b.back.stay[J::UP] |= 1 << i,
        Stays::Split(pages) => {
            b.back.spill(mem, run);
            split(j, mem, run.folio(i), pages, b);
        }
    }
}

/// The slow path of folios of which the run knows nothing any more. Those that stay are in `b.back`.
#[cold]
pub(crate) fn shrink_others<J: Judge>(
    j: &mut J,
    mem: &mut Memory,
    folios: &[FolioId],
    b: &mut Batch<'_>,
) {
    for &folio in folios {
        match j.one(mem, folio, None, b) {
            Stays::Gone => {}
            Stays::Kept => b.back.spilled[0].push(folio),
            Stays::Activated => b.back.spilled[J::UP].push(folio),
            Stays::Split(pages) => split(j, mem, folio, pages, b),
        }
    }
}

/// Frames of a large folio that was split, in the order in which reclaim goes through them.
pub(crate) fn frames_of_split(
    mem: &Memory,
    folio: FolioId,
    pages: u32,
) -> impl DoubleEndedIterator<Item = Pfn> + use<> {
    let descending = mem.given.rules.split_pages_descending;
    let nth = move |i: u32| if descending && i > 0 { pages - i } else { i };
    (0..pages).map(move |i| Pfn(folio.0 + nth(i)))
}

/// The pages of a large folio that was split.
#[cold]
fn split<J: Judge>(j: &mut J, mem: &mut Memory, folio: FolioId, pages: u32, b: &mut Batch<'_>) {
    for page in frames_of_split(mem, folio, pages) {
        if !mem.is_isolated_page(page) {
            continue;
        }
        mem.settle_fast(b.fast, b.how.by);
        match j.one(mem, page, None, b) {
            Stays::Gone => {}
            Stays::Kept => b.back.spilled[0].push(page),
            Stays::Activated => b.back.spilled[J::UP].push(page),
            Stays::Split(_) => unreachable!("{page} is one page"),
        }
    }
}

/// Folios of a run that are anonymous, under write, and not worked on.
fn writing(run: &Run) -> u64 {
    const MASK: u32 = flag::WRITEBACK
        | flag::SWAPBACKED
        | flag::LOCKED
        | flag::IN_BATCH
        | flag::MLOCKED
        | flag::UNEVICTABLE;
    run.with(MASK, flag::WRITEBACK | flag::SWAPBACKED)
}

/// Number of tree nodes with shadows only that are kept beside `pages` pages: one for eight.
///
/// No refault distance beyond the number of pages is ever answered, so there need not be more
/// shadows than pages. A node has room for 64; if on average 8 of them are taken, these nodes hold
/// as many shadows as there are pages. Linux 6.12 mm/workingset.c (`count_shadow_nodes`).
pub const fn shadow_nodes_allowed(pages: u64) -> u64 {
    pages >> 3
}
