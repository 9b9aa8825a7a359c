//! What becomes of single pages, for one who follows all of them: uses, arrivals, evictions,
//! refaults.
//!
//! An observer of [trace events](super::trace) sees decisions at their own times, and batches
//! become small for it. A [`Follower`] asks for less. Within a batch it is told when the batch is
//! done, so it closes no fast path. It learns when a page was used last, in *ticks*: the time in
//! which the machine allocates so many frames ([`Follower::grain`]). A mapped hit costs a look at
//! one word.
//!
//! Pages are those of processes, and of files where a mapping shows a file.

use super::Memory;
pub use super::regions::PageOf;
use super::regions::Regions;
use super::trouble::Troubled;
use crate::base::id::{AsId, GROUP_PAGES, MemcgId, NodeId, PageIdx, ThreadId};
use crate::base::time::SimTime;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Entry, Owner};

/// The list that a page in memory belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Where {
    /// Its node, or its zone where each zone has lists of its own.
    pub lists: u8,
    /// Its group.
    pub memcg: MemcgId,
    /// It is of a file.
    pub file: bool,
}

/// A page in memory.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The page.
    pub page: PageIdx,
    /// The tick of its last use before, from 1 on; 0: never.
    pub last: u32,
    /// Where it is.
    pub at: Where,
}

/// How pages left memory for their slots or their file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eviction {
    /// Who evicted them.
    pub by: Reclaimer,
    /// Their node needed no reclaim when their batch was taken off a list: some zone stood above its
    /// high watermark without a boost.
    pub balanced: bool,
    /// They were written to swap just now: `pswpout`.
    pub written: bool,
}

/// An evicted page came back.
#[derive(Clone, Copy, Debug)]
pub struct Refaulted {
    /// The page.
    pub page: PageIdx,
    /// The number of its region ([`Memory::told_region`]).
    pub region: u32,
    /// Where it is now.
    pub at: Where,
    /// The group that the refault is counted in.
    pub memcg: MemcgId,
    /// It is counted: by `workingset_refault_*`, or by `pswpin` if [that is
    /// wanted](Wants::swap_ins) of anonymous pages.
    pub counts: bool,
    /// When.
    pub now: SimTime,
}

/// A thread's step is done, and some refaults were its own.
#[derive(Clone, Copy, Debug)]
pub struct Acted {
    /// The thread.
    pub thread: ThreadId,
    /// Its process.
    pub space: AsId,
    /// How many accesses it had done before the step.
    pub access: u64,
    /// Refaults of anonymous pages that it counts as its own.
    pub refaults_anon: u64,
    /// And of file pages.
    pub refaults_file: u64,
    /// Swap-ins that it counts so.
    pub swap_ins: u64,
}

/// What a follower has to be told, beyond what all are told.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Wants {
    /// Each refault with the access that it belongs to: a step is one fault then.
    pub accesses: bool,
    /// Anonymous pages that come back from swap, in place of their refaults.
    pub swap_ins: bool,
}

impl Wants {
    /// Whether each refault is told with its access.
    #[must_use]
    pub fn with_accesses(mut self, accesses: bool) -> Self {
        self.accesses = accesses;
        self
    }
    /// Whether swap-ins take the place of refaults.
    #[must_use]
    pub fn with_swap_ins(mut self, swap_ins: bool) -> Self {
        self.swap_ins = swap_ins;
        self
    }
}

/// Follows pages. Must not influence the run: it gets no access to it.
pub trait Follower: Send {
    /// How many frames are allocated in a tick, on a machine of so many.
    fn grain(&self, frames: u64) -> u64;
    /// On a machine of so many frames, without files: one page in `1 << shift` is told of at each
    /// tick in which it is used. With files, all are (`frames` is 0).
    fn sample_shift(&mut self, frames: u64) -> u32 {
        let _ = frames;
        0
    }
    /// What it has to be told.
    fn wants(&self) -> Wants {
        Wants::default()
    }
    /// Pages were used, in this order: each for the first time since it came; or in this tick, if it
    /// is a page of a file or is sampled. Those of `back` came back for these uses, in the same order.
    fn used(&mut self, uses: &[Use], back: &[Refaulted]);
    /// A page came to memory, and perhaps nobody has asked for it.
    fn arrived(&mut self, page: PageIdx, at: Where);
    /// Pages were evicted, in this order.
    fn evicted(&mut self, how: &Eviction, pages: &[Use]);
    /// A page on its way out is written to swap: `pswpout`. It is evicted when that is done.
    fn written(&mut self, page: Option<PageIdx>);
    /// Evicted pages came back, in this order, and are not used yet.
    fn refaulted(&mut self, pages: &[Refaulted]);
    /// A page went down a list although a look had found it used.
    fn overlooked(&mut self, page: PageIdx);
    /// What pages hold is gone, in memory or out of it. `last`: the ticks of their last uses, from 1
    /// on, as far as any was used.
    fn dropped(&mut self, first: PageIdx, count: u32, last: &[u32]);
    /// A thread's step is done, in which pages came back.
    fn acted(&mut self, a: &Acted);
    /// An allocation met something that is counted.
    fn troubled(&mut self, t: &Troubled);
    /// A phase ended.
    fn phase_ended(&mut self);
    /// A tick is over. So many frames hold pages, and so many more could.
    fn ticked(&mut self, resident: u64, spare: u64);
    /// The run is over. `last`: the ticks of all pages' last uses, from 1 on.
    fn ended(&mut self, mem: &Memory, last: &[u32]);
}

/// When pages were used last, in ticks.
#[derive(Default)]
pub struct Uses {
    on: bool,
    /// One page in `1 << shift` is told of.
    shift: u32,
    /// The tick, from 1 on.
    tick: u32,
    noted: Noted,
    told: Told,
    pub(super) regions: Regions,
    /// All pages have lists of one node and one group.
    one_place: bool,
    /// Frames allocated when the tick began, and in all ticks.
    began: u64,
    grain: u64,
    wants: Wants,
    /// The node of the batch that was taken off a list last needed no reclaim.
    balanced: bool,
}

/// What the follower hears of together, when something else happens.
#[derive(Default)]
struct Told {
    /// Uses, as they are told.
    uses: Vec<Use>,
    /// Pages that were evicted, all of them so.
    evicted: Vec<Use>,
    how: Option<Eviction>,
    /// Or pages that came back.
    back: Vec<Refaulted>,
    /// All of them for uses that are noted, in the same order.
    for_uses: bool,
    /// Some have come back since the last step that was told of.
    some_back: bool,
}

/// What is noted at each use.
#[derive(Default)]
struct Noted {
    /// The tick of each page's last use; 0: never.
    last: Vec<u32>,
    /// Pages whose use is to be told, and the ticks of their uses before.
    seen: Vec<(u32, u32)>,
}

/// Lent to who walks over pages: what is noted at each use.
pub struct Noting {
    noted: Noted,
    tick: u32,
    shift: u32,
}

impl Noting {
    /// For a walk over pages of which there are so many.
    #[inline]
    pub(crate) fn of(&mut self, pages: usize) -> FirstUses<'_> {
        self.noted.of(pages, self.tick, self.shift)
    }
}

impl Noted {
    #[inline]
    fn of(&mut self, pages: usize, tick: u32, shift: u32) -> FirstUses<'_> {
        if self.last.len() < pages {
            self.last.resize(pages, 0);
        }
        FirstUses { tick, shift, last: &mut self.last, seen: &mut self.seen }
    }
}

/// Notes pages that are used, as they are.
pub trait NoteUses {
    /// Pages in a row were used, and were there.
    fn uses(&mut self, first: usize, count: u32);
    /// A page was used that was not there.
    #[inline(always)]
    fn came(&mut self, page: usize) {
        self.uses(page, 1);
    }
}

/// Nobody wants to know.
impl NoteUses for () {
    #[inline(always)]
    fn uses(&mut self, _: usize, _: u32) {}
}

/// All of them.
impl NoteUses for &mut Vec<u32> {
    #[inline(always)]
    fn uses(&mut self, first: usize, count: u32) {
        self.extend(first as u32..first as u32 + count);
    }
}

/// The first use of each page in a tick.
pub struct FirstUses<'a> {
    tick: u32,
    shift: u32,
    last: &'a mut [u32],
    seen: &'a mut Vec<(u32, u32)>,
}

/// Whether a page is one of those whose uses are told: one in `1 << shift`.
#[inline(always)]
pub fn is_sampled(page: u32, shift: u32) -> bool {
    // The upper bits of a product by the golden ratio are those of no pattern.
    u64::from(page.wrapping_mul(0x9E37_79B1)) << shift >> 32 == 0
}

impl NoteUses for FirstUses<'_> {
    #[inline(always)]
    fn uses(&mut self, first: usize, count: u32) {
        for page in first..first + count as usize {
            let last = &mut self.last[page];
            if *last != self.tick {
                let before = std::mem::replace(last, self.tick);
                if is_sampled(page as u32, self.shift) {
                    self.seen.push((page as u32, before));
                }
            }
        }
    }
    #[inline(always)]
    fn came(&mut self, page: usize) {
        let before = std::mem::replace(&mut self.last[page], self.tick);
        self.seen.push((page as u32, before));
    }
}

impl Uses {
    /// Those that a follower wants, if there is one.
    fn of(mem: &mut Memory) -> Uses {
        let Some(f) = &mut mem.follower else { return Uses::default() };
        let frames = mem.zones.nr_frames() as u64;
        let grain = f.grain(frames).max(1);
        // A page of a file is used by way of many.
        let files = mem.files.ids().next().is_some();
        let shift = f.sample_shift(if files { 0 } else { frames });
        let wants = f.wants();
        let one_node = mem.zones.nr_nodes() == 1 && !mem.zones.lru_by_zone();
        let one_place = one_node && mem.memcgs.len() == 1;
        Uses { on: true, shift, tick: 1, grain, wants, one_place, ..Uses::default() }
    }
    /// Whether anybody wants to know.
    #[inline(always)]
    pub(crate) fn on(&self) -> bool {
        self.on
    }
    /// Whether each fault is told by itself.
    #[inline(always)]
    pub(crate) fn singly(&self) -> bool {
        self.on && self.wants.accesses
    }
    /// For a walk over pages of which there are so many.
    #[inline]
    pub(crate) fn noting(&mut self, pages: usize) -> FirstUses<'_> {
        self.noted.of(pages, self.tick, self.shift)
    }
    /// Lends what is noted at each use, to be given back by [`Uses::take_back`].
    #[inline]
    pub(crate) fn lend(&mut self) -> Noting {
        Noting { noted: std::mem::take(&mut self.noted), tick: self.tick, shift: self.shift }
    }
    /// Takes back what was lent.
    #[inline]
    pub(crate) fn take_back(&mut self, noting: Noting) {
        self.noted = noting.noted;
    }
    /// One page is used that was not there, or was found by the kernel.
    #[inline]
    pub(crate) fn came(&mut self, page: PageIdx) {
        if self.on {
            let end = (page.0 + 1).next_multiple_of(GROUP_PAGES) as usize;
            self.noting(end).came(page.0 as usize);
        }
    }
    /// One page is used.
    #[inline]
    pub(crate) fn note(&mut self, page: PageIdx) {
        let end = (page.0 + 1).next_multiple_of(GROUP_PAGES) as usize;
        self.noting(end).uses(page.0 as usize, 1);
    }
    /// A page of a file is used, by whatever mapping. When it was used before.
    fn last_of_file(&mut self, page: PageIdx) -> u32 {
        let (end, tick) = ((page.0 + 1).next_multiple_of(GROUP_PAGES) as usize, self.tick);
        std::mem::replace(&mut self.noting(end).last[page.0 as usize], tick)
    }
    /// The tick of a page's last use; 0: never.
    #[inline]
    fn last(&self, page: PageIdx) -> u32 {
        self.noted.last.get(page.0 as usize).copied().unwrap_or_default()
    }
}

impl Memory {
    /// Sets or removes who follows pages.
    pub fn set_follower(&mut self, f: Option<Box<dyn Follower>>) {
        self.follower = f;
        self.uses = Uses::of(self);
    }

    /// Tells of the uses so far.
    #[inline]
    pub(crate) fn tell_of_uses(&mut self) {
        if self.uses.on {
            let none = self.uses.noted.seen.is_empty();
            if none || !self.uses.told.for_uses {
                self.tell_of_moves();
            }
            if !none {
                self.tell_of_all_uses();
            }
        }
    }

    /// After a fault, or another step of a thread: tells of the uses so far, and perhaps of the end
    /// of the tick. A tick ends here and nowhere else, so that samples and events, which cut steps
    /// short, move none.
    #[inline]
    pub(crate) fn tell_after_step(&mut self) {
        if self.uses.on {
            self.tell_of_uses();
            self.end_tick();
        }
    }

    #[inline(never)]
    fn tell_of_all_uses(&mut self) {
        let seen = std::mem::take(&mut self.uses.noted.seen);
        let mut uses = std::mem::take(&mut self.uses.told.uses);
        uses.extend(seen.iter().filter_map(|&(page, last)| self.use_of(PageIdx(page), last)));
        if let Some(f) = &mut self.follower {
            f.used(&uses, &self.uses.told.back);
        }
        uses.clear();
        self.uses.told.uses = uses;
        self.uses.told.back.clear();
        self.uses.told.for_uses = false;
        self.uses.noted.seen = seen;
        self.uses.noted.seen.clear();
    }

    /// Tells of the evictions and refaults so far, of which there are those of one kind.
    #[inline]
    fn tell_of_moves(&mut self) {
        if !self.uses.told.evicted.is_empty() {
            self.tell_of_evicted();
        }
        if !self.uses.told.back.is_empty() {
            self.tell_of_back();
        }
    }

    #[inline(never)]
    fn tell_of_evicted(&mut self) {
        let told = &mut self.uses.told;
        if let (Some(f), Some(how)) = (&mut self.follower, &told.how) {
            f.evicted(how, &told.evicted);
        }
        told.evicted.clear();
    }

    #[inline(never)]
    fn tell_of_back(&mut self) {
        let told = &mut self.uses.told;
        if let Some(f) = &mut self.follower {
            f.refaulted(&told.back);
        }
        told.back.clear();
        told.for_uses = false;
    }

    /// How many frames are allocated until the tick ends.
    #[inline]
    pub(crate) fn left_of_tick(&self) -> usize {
        match self.uses.on {
            true => {
                (self.uses.began + self.uses.grain).saturating_sub(self.nr_allocated()) as usize
            }
            false => usize::MAX,
        }
    }

    fn end_tick(&mut self) {
        let allocated = self.nr_allocated();
        if allocated - self.uses.began >= self.uses.grain {
            self.uses.began = allocated;
            self.uses.tick += 1;
            let spare = self.zones.ids().map(|z| self.zones[z].spare()).sum();
            let resident = self.lru_total + self.batches.nr_waiting();
            self.tell_of_moves();
            if let Some(f) = &mut self.follower {
                f.ticked(resident, spare);
            }
        }
    }
    /// Whether anybody follows pages.
    #[inline(always)]
    pub fn followed(&self) -> bool {
        self.follower.is_some()
    }

    /// Frames allocated so far.
    fn nr_allocated(&self) -> u64 {
        use VmEvent::{PgAllocDma, PgAllocDma32, PgAllocMovable, PgAllocNormal};
        let zones = [PgAllocDma, PgAllocDma32, PgAllocNormal, PgAllocMovable];
        zones.iter().map(|&e| self.vmstat[e]).sum()
    }

    /// The list of a folio.
    #[inline]
    fn where_is(&self, folio: FolioId, file: bool) -> Where {
        match self.uses.one_place {
            true => Where { lists: 0, memcg: MemcgId(0), file },
            false => self.where_of_many(folio, file),
        }
    }

    #[inline(never)]
    fn where_of_many(&self, folio: FolioId, file: bool) -> Where {
        let zone = self.zones.of(folio);
        let by_zone = self.zones.lru_by_zone();
        let lists = if by_zone { zone.0 } else { self.zones[zone].node.0 };
        Where { lists, memcg: self.frames.memcg(folio), file }
    }

    /// A use as it is told; nothing of a page that is none of the follower's.
    #[inline]
    fn use_of(&mut self, page: PageIdx, last: u32) -> Option<Use> {
        let Entry::Frame(folio) = self.pages.entry(page) else { return None };
        let group = self.pages.group(page.group());
        if self.uses.one_place && group.plain && !group.huge && self.pages.is_anon(page.group()) {
            // Nothing else is to be known of the folio, so nobody waits for it.
            let at = Where { lists: 0, memcg: MemcgId(0), file: false };
            return Some(Use { page, last, at });
        }
        self.use_of_folio(page, folio, last)
    }

    /// The same of any page.
    fn use_of_folio(&mut self, page: PageIdx, folio: FolioId, last: u32) -> Option<Use> {
        if self.pages.group(page.group()).huge && self.hugetlb_at(page).is_some()
            || self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE)
        {
            // Nobody is told, so nobody is to hear of it as the last use.
            self.uses.noted.last[page.0 as usize] = last;
            return None;
        }
        let file = self.frames.kind(folio) == FrameKind::File;
        let at = self.where_is(folio, file);
        if !file {
            return Some(Use { page, last, at });
        }
        let of_file = match self.pages.group(page.group()).owner {
            Owner::File(_) => page,
            _ => self.file_page_of(folio)?,
        };
        let last = if of_file == page { last } else { self.uses.last_of_file(of_file) };
        Some(Use { page: of_file, last, at })
    }

    /// A folio came to the page cache.
    #[inline]
    pub(super) fn tell_of_arrival(&mut self, page: PageIdx, folio: FolioId) {
        if self.followed() {
            self.tell_of_moves();
            let at = self.where_is(folio, true);
            if let Some(f) = &mut self.follower {
                f.arrived(page, at);
            }
        }
    }

    /// Folios of a node are taken off a list, to be evicted.
    #[inline]
    pub(super) fn note_balance(&mut self, node: NodeId) {
        if self.uses.on {
            self.uses.balanced = self.needs_no_reclaim(node);
        }
    }

    /// Whether a node needs no reclaim.
    fn needs_no_reclaim(&self, node: NodeId) -> bool {
        self.zones.of_node(node).iter().any(|&z| self.zones[z].spare() > 0)
    }

    /// Folios were evicted, each mapped at a page, by the same reclaimer in one batch.
    pub(super) fn tell_of_evictions(
        &mut self,
        of: impl Iterator<Item = (FolioId, PageIdx)> + Clone,
        by: Reclaimer,
        file: bool,
        written: bool,
    ) {
        if !self.uses.on {
            return;
        }
        debug_assert!(self.uses.noted.seen.is_empty(), "uses are told before what comes of them");
        // Who asks for pages by name takes none off a list.
        let balanced = match (by, of.clone().next()) {
            (Reclaimer::Advice, Some((folio, _))) => self.needs_no_reclaim(self.node_of(folio)),
            _ => self.uses.balanced,
        };
        let how = Some(Eviction { by, balanced, written });
        if !self.uses.told.back.is_empty() || self.uses.told.how != how {
            self.tell_of_moves();
            self.uses.told.how = how;
        }
        let mut evicted = std::mem::take(&mut self.uses.told.evicted);
        evicted.extend(of.map(|(folio, page)| Use {
            page,
            last: self.uses.last(page),
            at: self.where_is(folio, file),
        }));
        self.uses.told.evicted = evicted;
    }

    /// A page is written to swap, and evicted when that is done.
    #[inline]
    pub(super) fn tell_of_swap_out(&mut self, folio: FolioId) {
        if self.followed() {
            self.tell_of_moves();
            let page = self.page_of_slot(self.frames.slot(folio));
            if let Some(f) = &mut self.follower {
                f.written(page);
            }
        }
    }

    /// The page of a folio that comes back: whose it was, as far as anybody knows.
    fn page_that_returns(&self, folio: FolioId) -> Option<PageIdx> {
        match self.frames.kind(folio) {
            FrameKind::File => self.file_page_of(folio),
            _ => self.refaulting.or_else(|| self.page_of_slot(self.frames.slot(folio))),
        }
    }

    /// Pages come back, all for uses that are noted, in their order.
    #[inline]
    pub(super) fn tell_of_ledger(&mut self) {
        if self.uses.on {
            // Of the ledger before there may be some.
            if !self.uses.told.for_uses {
                self.tell_of_moves();
            }
            self.uses.told.for_uses = true;
        }
    }

    /// A page comes back.
    #[inline]
    fn comes_back(&mut self, page: PageIdx, at: Where, memcg: MemcgId, counts: bool) {
        if !self.uses.told.evicted.is_empty() {
            self.tell_of_evicted();
        }
        let region = self.region_of(page);
        self.uses.told.some_back |= counts;
        self.uses.told.back.push(Refaulted { page, region, at, memcg, counts, now: self.now });
    }

    /// Counts a refault in a group.
    #[inline]
    pub fn count_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        use VmEvent::{WorkingsetRefaultAnon, WorkingsetRefaultFile};
        self.count_in(memcg, if file { WorkingsetRefaultFile } else { WorkingsetRefaultAnon }, 1);
        if self.followed() {
            let page = self.page_that_returns(folio).unwrap_or_default();
            let counts = file || !self.uses.wants.swap_ins;
            self.comes_back(page, self.where_is(folio, file), memcg, counts);
        }
    }

    /// A page came back from swap.
    #[inline]
    pub(crate) fn tell_of_swap_in(&mut self, folio: FolioId, page: Option<PageIdx>) {
        if self.uses.wants.swap_ins {
            let page = page.or_else(|| self.page_of_slot(self.frames.slot(folio)));
            let memcg = self.frames.memcg(folio);
            self.comes_back(page.unwrap_or_default(), self.where_is(folio, false), memcg, true);
        }
    }

    /// A page that a look had found used goes down a list.
    #[inline]
    pub fn overlooked(&mut self, page: PageIdx) {
        self.tell_of_moves();
        if let Some(f) = &mut self.follower {
            f.overlooked(page);
        }
    }

    /// The same of a folio that is mapped, or of a file.
    #[inline]
    pub fn overlooked_folio(&mut self, folio: FolioId) {
        if self.followed() {
            let mapped = || self.rmap.nth(self.rmap.of(&self.frames, folio), 0);
            let page = match self.frames.kind(folio) {
                FrameKind::File => self.file_page_of(folio),
                _ => mapped(),
            };
            if let Some(page) = page {
                self.overlooked(page);
            }
        }
    }

    /// What pages hold is gone.
    #[inline]
    pub(crate) fn tell_of_drop(&mut self, first: PageIdx, count: u32) {
        self.tell_of_uses();
        if let Some(f) = &mut self.follower {
            let last = self.uses.noted.last.get(first.0 as usize..).unwrap_or_default();
            f.dropped(first, count, &last[..last.len().min(count as usize)]);
        }
    }

    /// Whether pages came back in a step of a thread.
    #[inline]
    pub(crate) fn some_came_back(&self) -> bool {
        self.uses.told.some_back
    }

    /// A thread's step is done.
    #[inline]
    pub(crate) fn tell_of_step(&mut self, a: &Acted) {
        self.tell_of_moves();
        self.uses.told.some_back = false;
        if let Some(f) = &mut self.follower {
            f.acted(a);
        }
    }

    /// A phase ended.
    pub(crate) fn tell_of_phase(&mut self) {
        self.tell_of_moves();
        if let Some(f) = &mut self.follower {
            f.phase_ended();
        }
    }

    /// The run is over: nobody follows any more.
    pub(crate) fn end_following(&mut self) {
        self.tell_of_moves();
        if let Some(mut f) = self.follower.take() {
            f.ended(self, &self.uses.noted.last);
        }
    }
}
