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
use super::trouble::Troubled;
use crate::base::id::{AsId, FileId, GROUP_PAGES, MemcgId, PageIdx, ThreadId};
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

/// What a page is called where nobody knows its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PageOf {
    /// A page that nobody maps any more.
    #[default]
    Nobody,
    /// Of a process: its region, and the place in it.
    Process(AsId, u16, u32),
    /// Of a file: the place in it.
    File(FileId, u32),
}

/// A page left memory for its slot or its file.
#[derive(Clone, Copy, Debug)]
pub struct Evicted {
    /// The page.
    pub page: PageIdx,
    /// Where it was.
    pub at: Where,
    /// Who evicted it.
    pub by: Reclaimer,
    /// Its node needed no reclaim: some zone stood above its high watermark without a boost.
    pub balanced: bool,
    /// It was written to swap just now: `pswpout`.
    pub written: bool,
    /// The tick of its last use, from 1 on; 0: never.
    pub last: u32,
}

/// An evicted page is wanted again, and the kernel counts it.
#[derive(Clone, Copy, Debug)]
pub struct Refaulted {
    /// The page.
    pub page: PageIdx,
    /// Its name.
    pub of: PageOf,
    /// Where it is now.
    pub at: Where,
    /// The group that the refault is counted in.
    pub memcg: MemcgId,
    /// It is of a file.
    pub file: bool,
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
    /// Many pages are told of soon: whoever looks at them together need not wait for each.
    fn soon(&mut self, pages: &mut dyn Iterator<Item = PageIdx>) {
        let _ = pages;
    }
    /// A page was used for the first time since it came; or in this tick, if it is a page of a file
    /// or is sampled.
    fn used(&mut self, page: PageIdx, at: Where, sampled: bool);
    /// A page came to memory, and perhaps nobody has asked for it.
    fn arrived(&mut self, page: PageIdx, at: Where);
    /// A page was evicted.
    fn evicted(&mut self, e: &Evicted);
    /// A page on its way out is written to swap: `pswpout`. It is evicted when that is done.
    fn written(&mut self, page: Option<PageIdx>);
    /// An evicted page came back, and the kernel counts a refault.
    fn refaulted(&mut self, r: &Refaulted);
    /// A page came back from swap: `pswpin`.
    fn swapped_in(&mut self, r: &Refaulted);
    /// A page went down a list although a look had found it used.
    fn overlooked(&mut self, page: PageIdx);
    /// What pages hold is gone, in memory or out of it.
    fn dropped(&mut self, first: PageIdx, count: u32);
    /// A thread's step is done.
    fn acted(&mut self, a: &Acted);
    /// An allocation met something that is counted.
    fn troubled(&mut self, t: &Troubled);
    /// A phase ended.
    fn phase_ended(&mut self);
    /// A tick is over. So many frames hold pages, and so many more could.
    fn ticked(&mut self, resident: u64, spare: u64);
    /// The run is over.
    fn ended(&mut self, mem: &Memory);
}

/// When pages were used last, in ticks.
#[derive(Default)]
pub struct Uses {
    on: bool,
    /// One page in `1 << shift` is told of.
    shift: u32,
    /// The tick, from 1 on.
    tick: u32,
    /// The tick of each page's last use; 0: never.
    last: Vec<u32>,
    /// Pages whose use is to be told.
    seen: Vec<u32>,
    /// Frames allocated when the tick began, and in all ticks.
    began: u64,
    grain: u64,
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
    seen: &'a mut Vec<u32>,
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
                *last = self.tick;
                if is_sampled(page as u32, self.shift) {
                    self.seen.push(page as u32);
                }
            }
        }
    }
    #[inline(always)]
    fn came(&mut self, page: usize) {
        self.last[page] = self.tick;
        self.seen.push(page as u32);
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
        Uses { on: true, shift, tick: 1, grain, ..Uses::default() }
    }
    /// Whether anybody wants to know.
    #[inline(always)]
    pub(crate) fn on(&self) -> bool {
        self.on
    }
    /// For a walk over pages of which there are so many.
    #[inline]
    pub(crate) fn noting(&mut self, pages: usize) -> FirstUses<'_> {
        if self.last.len() < pages {
            self.last.resize(pages, 0);
        }
        let Uses { tick, shift, last, seen, .. } = self;
        FirstUses { tick: *tick, shift: *shift, last, seen }
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
    /// A page of a file is used, by whatever mapping.
    fn last_of_file(&mut self, page: PageIdx) {
        let end = (page.0 + 1).next_multiple_of(GROUP_PAGES) as usize;
        self.noting(end).last[page.0 as usize] = self.tick;
    }
    /// The tick of a page's last use; 0: never.
    #[inline]
    fn last(&self, page: PageIdx) -> u32 {
        self.last.get(page.0 as usize).copied().unwrap_or_default()
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
            self.tell_of_all_uses();
        }
    }

    /// Before a fault: tells of the uses so far, and perhaps of the end of the tick. A tick ends here
    /// and nowhere else, so that samples and events, which cut steps short, move none.
    #[inline]
    pub(crate) fn tell_before_fault(&mut self) {
        if self.uses.on {
            self.tell_of_all_uses();
            self.end_tick();
        }
    }

    #[inline(never)]
    fn tell_of_all_uses(&mut self) {
        let mut seen = std::mem::take(&mut self.uses.seen);
        for page in seen.drain(..) {
            self.tell_of_use(PageIdx(page));
        }
        self.uses.seen = seen;
    }

    fn end_tick(&mut self) {
        let allocated = self.nr_allocated();
        if allocated - self.uses.began >= self.uses.grain {
            self.uses.began = allocated;
            self.uses.tick += 1;
            let spare = self.zones.ids().map(|z| self.zones[z].spare()).sum();
            let resident = self.lru_total + self.batches.nr_waiting();
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
    fn where_is(&self, folio: FolioId, file: bool) -> Where {
        let zone = self.zones.of(folio);
        let by_zone = self.zones.lru_by_zone();
        let lists = if by_zone { zone.0 } else { self.zones[zone].node.0 };
        Where { lists, memcg: self.frames.memcg(folio), file }
    }

    #[inline]
    fn tell_of_use(&mut self, page: PageIdx) {
        let Entry::Frame(folio) = self.pages.entry(page) else { return };
        if self.pages.group(page.group()).huge && self.hugetlb_at(page).is_some()
            || self.frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE)
        {
            return;
        }
        let file = self.frames.kind(folio) == FrameKind::File;
        let page = if file { self.file_page_of(folio) } else { Some(page) };
        let at = self.where_is(folio, file);
        let Some(page) = page else { return };
        if file {
            self.uses.last_of_file(page);
        }
        let sampled = file || is_sampled(page.0, self.uses.shift);
        if let Some(f) = &mut self.follower {
            f.used(page, at, sampled);
        }
    }

    /// A folio came to the page cache.
    #[inline]
    pub(super) fn tell_of_arrival(&mut self, page: PageIdx, folio: FolioId) {
        if self.followed() {
            let at = self.where_is(folio, true);
            if let Some(f) = &mut self.follower {
                f.arrived(page, at);
            }
        }
    }

    /// Whether the node of a frame needs no reclaim.
    fn needs_no_reclaim(&self, folio: FolioId) -> bool {
        let node = self.node_of(folio);
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
        let Some(mut f) = self.follower.take() else { return };
        let balanced = |folio| self.needs_no_reclaim(folio);
        let balanced = of.clone().next().is_some_and(|(folio, _)| balanced(folio));
        f.soon(&mut of.clone().map(|(_, page)| page));
        let last = of.clone().map(|(_, page)| self.uses.last(page));
        std::hint::black_box(last.fold(0, |seen, tick| seen ^ tick));
        for (folio, page) in of {
            let at = self.where_is(folio, file);
            let last = self.uses.last(page);
            f.evicted(&Evicted { page, at, by, balanced, written, last });
        }
        self.follower = Some(f);
    }

    /// A page is written to swap, and evicted when that is done.
    #[inline]
    pub(super) fn tell_of_swap_out(&mut self, folio: FolioId) {
        if self.followed() {
            let page = self.page_of_slot(self.frames.slot(folio));
            if let Some(f) = &mut self.follower {
                f.written(page);
            }
        }
    }

    /// The name of a page.
    pub fn name_of(&self, page: PageIdx) -> PageOf {
        let group = self.pages.group(page.group());
        match group.owner {
            Owner::Free => PageOf::Nobody,
            Owner::File(file) => PageOf::File(file, page.0 - self.files[file].base.0),
            Owner::Process(space) => {
                let within = |&v: &crate::base::id::VmaId| {
                    let v = self.spaces.vma(v);
                    v.start <= page && page < v.end()
                };
                let first = group.vma.filter(within);
                let vma = first.or_else(|| self.spaces.vmas_of(space).iter().copied().find(within));
                let Some(vma) = vma.map(|v| self.spaces.vma(v)) else { return PageOf::Nobody };
                PageOf::Process(space, vma.region.0, page.0 - vma.start.0)
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

    fn returned(&self, folio: FolioId, memcg: MemcgId, file: bool) -> Refaulted {
        let page = self.page_that_returns(folio).unwrap_or_default();
        let at = self.where_is(folio, file);
        Refaulted { page, of: self.name_of(page), at, memcg, file, now: self.now }
    }

    /// Counts a refault in a group.
    #[inline]
    pub fn count_refault(&mut self, folio: FolioId, memcg: MemcgId, file: bool) {
        use VmEvent::{WorkingsetRefaultAnon, WorkingsetRefaultFile};
        self.count_in(memcg, if file { WorkingsetRefaultFile } else { WorkingsetRefaultAnon }, 1);
        if self.followed() {
            let r = self.returned(folio, memcg, file);
            if let Some(f) = &mut self.follower {
                f.refaulted(&r);
            }
        }
    }

    /// A page came back from swap.
    #[inline]
    pub(crate) fn tell_of_swap_in(&mut self, folio: FolioId, page: Option<PageIdx>) {
        if self.followed() {
            let page = page.or_else(|| self.page_of_slot(self.frames.slot(folio)));
            let page = page.unwrap_or_default();
            let (of, memcg) = (self.name_of(page), self.frames.memcg(folio));
            let at = self.where_is(folio, false);
            let r = Refaulted { page, of, at, memcg, file: false, now: self.now };
            if let Some(f) = &mut self.follower {
                f.swapped_in(&r);
            }
        }
    }

    /// These pages come back now.
    #[inline]
    pub(super) fn tell_of_ledger(&mut self, pages: impl Iterator<Item = PageIdx>) {
        let mut pages = pages;
        if let Some(f) = &mut self.follower {
            f.soon(&mut pages);
        }
    }

    /// A page that a look had found used goes down a list.
    #[inline]
    pub fn overlooked(&mut self, page: PageIdx) {
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
        if let Some(f) = &mut self.follower {
            f.dropped(first, count);
        }
    }

    /// A thread's step is done.
    #[inline]
    pub(crate) fn tell_of_step(&mut self, a: &Acted) {
        if let Some(f) = &mut self.follower {
            f.acted(a);
        }
    }

    /// A phase ended.
    pub(crate) fn tell_of_phase(&mut self) {
        if let Some(f) = &mut self.follower {
            f.phase_ended();
        }
    }

    /// The run is over: nobody follows any more.
    pub(crate) fn end_following(&mut self) {
        if let Some(mut f) = self.follower.take() {
            f.ended(self);
        }
    }
}
