//! Follows single pages: reports their uses, arrivals, evictions and refaults to an observer of all
//! pages.
//!
//! An observer of [trace events](super::trace) sees decisions at their own times, and batches
//! become small for it. A [`Follower`] asks for less. Within a batch it gets the events when the
//! batch is done, so it closes no fast path. It learns when a page was used last, in *ticks*: the
//! time in which the machine allocates a number of frames that the follower chooses
//! ([`Follower::grain`]). A mapped hit costs a look at two bytes.
//!
//! Pages are those of processes, and of files where a mapping shows a file.

mod delivery;
mod queue;
mod ticks;

use queue::Queue;
use ticks::{Before, Noting, Ticks};

use super::Memory;
pub use super::regions::PageOf;
use super::regions::Regions;
use super::trouble::Troubled;
use crate::base::host;
use crate::base::id::{AsId, GROUP_PAGES, MemcgId, PageIdx, ThreadId};
use crate::base::time::SimTime;
use crate::policy::request::Reclaimer;

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

impl Where {
    /// The list of anonymous pages, where there is one.
    const ANON: Where = Where { lists: 0, memcg: MemcgId(0), file: false };
    /// Not looked at yet.
    const UNKNOWN: Where = Where { lists: u8::MAX, memcg: MemcgId(0), file: false };

    #[inline(always)]
    fn is_unknown(self) -> bool {
        self.lists == Self::UNKNOWN.lists
    }
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

/// State of pages while a follower is attached: the tick of each page's last use, which the machine
/// writes, and two words that belong to the follower.
#[derive(Clone, Default, Debug)]
pub struct KeptPages {
    ticks: Ticks,
    own: Vec<[u32; 2]>,
}

impl KeptPages {
    /// The follower's own words of a page, 0 at first.
    #[inline]
    pub fn of(&mut self, page: PageIdx) -> &mut [u32; 2] {
        self.make_room(page.0 as usize + 1);
        &mut self.own[page.0 as usize]
    }
    /// The same of a page, if anything is kept of it.
    #[inline]
    pub fn get(&self, page: PageIdx) -> Option<&[u32; 2]> {
        self.own.get(page.0 as usize)
    }
    /// The pages of which anything is kept, and perhaps some more.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = PageIdx> + use<> {
        (0..self.own.len() as u32).map(PageIdx)
    }
    /// The tick of a page's last use, from 1 on; 0: never.
    #[inline]
    pub fn last(&self, page: PageIdx) -> u32 {
        self.ticks.last(page)
    }
    /// A page is used in the tick that is under way. Returns the tick of its use before.
    #[inline]
    pub fn replace_last(&mut self, page: PageIdx) -> u32 {
        self.make_room(page.0 as usize + 1);
        self.ticks.replace(page)
    }
    /// The tick is over.
    pub fn end_tick(&mut self) {
        self.ticks.go_on();
    }
    /// A page is there without a use.
    fn is_unused(&mut self, page: PageIdx) {
        self.make_room(page.0 as usize + 1);
        self.ticks.unused(page);
        self.fetch(page);
    }
    /// Has memory fetch the follower's own words of a page.
    #[inline(always)]
    fn fetch(&self, page: PageIdx) {
        host::prefetch(&self.own, page.0 as usize);
    }
    /// Makes room for `pages` pages.
    #[inline]
    fn make_room(&mut self, pages: usize) {
        if self.own.len() < pages {
            self.grow(pages);
        }
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self, pages: usize) {
        let pages = pages.next_multiple_of(GROUP_PAGES as usize);
        host::grow(&mut self.own, pages, [0; 2]);
        self.ticks.grow(pages);
    }
    /// Bytes of the host that all of it takes.
    pub fn host_bytes(&self) -> u64 {
        (self.own.capacity() * size_of::<[u32; 2]>()) as u64 + self.ticks.host_bytes()
    }
}

/// The way in which pages left memory for their slots or their file.
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
    /// The number of its region ([`Memory::region_of_number`]).
    pub region: u32,
    /// Where it is now.
    pub at: Where,
    /// The group that the refault is counted in.
    pub memcg: MemcgId,
    /// It is counted: by `workingset_refault_*`, or by `pswpin` if [that is
    /// wanted](Wants::swap_ins) of anonymous pages.
    pub counts: bool,
    /// No device was read for it: zswap had it, or it holds zeros.
    pub without_device: bool,
    /// When.
    pub now: SimTime,
}

/// A thread's step is done, and some refaults were its own. Consecutive steps of a process are
/// reported as one if nothing else came back in them, unless [accesses](Wants::accesses) are
/// wanted.
#[derive(Clone, Copy, Debug)]
pub struct Acted {
    /// The thread; of several steps, that of the last.
    pub thread: ThreadId,
    /// Its process.
    pub space: AsId,
    /// Number of its accesses before the step; of several steps, before the last.
    pub access: u64,
    /// Refaults of anonymous pages that it counts as its own.
    pub refaults_anon: u64,
    /// And of file pages.
    pub refaults_file: u64,
    /// Swap-ins that it counts so.
    pub swap_ins: u64,
    /// Number of uses, of those reported with it, that came before its end.
    pub uses: usize,
    /// And of the pages that came back for them.
    pub back: usize,
}

impl Acted {
    /// A step of no thread, which counts nothing as its own.
    pub(crate) fn of_none() -> Acted {
        let (thread, space, none) = (ThreadId(0), AsId(0), 0);
        Acted {
            thread,
            space,
            access: none,
            refaults_anon: none,
            refaults_file: none,
            swap_ins: none,
            uses: 0,
            back: 0,
        }
    }

    /// Number of refaults that it counts as its own, where `swap_ins` take the place of those of
    /// anonymous pages or do not.
    #[inline]
    pub fn counts(&self, swap_ins: bool) -> u64 {
        self.refaults_file + if swap_ins { self.swap_ins } else { self.refaults_anon }
    }
}

/// Events that a follower wants beyond those that all get.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Wants {
    /// Each refault with the access that it belongs to: a step is one fault then.
    pub accesses: bool,
    /// Anonymous pages that come back from swap, in place of their refaults.
    pub swap_ins: bool,
}

impl Wants {
    /// Sets whether each refault is reported with its access.
    #[must_use]
    pub fn with_accesses(mut self, accesses: bool) -> Self {
        self.accesses = accesses;
        self
    }
    /// Sets whether swap-ins take the place of refaults.
    #[must_use]
    pub fn with_swap_ins(mut self, swap_ins: bool) -> Self {
        self.swap_ins = swap_ins;
        self
    }
}

/// Follows pages. Must not influence the run: it gets no access to it, but to what is kept of pages.
pub trait Follower: Send {
    /// Number of frames allocated in a tick, on a machine of `frames` frames.
    fn grain(&self, frames: u64) -> u64;
    /// Sampling of uses on a machine of `frames` frames without files: one page in `1 << shift` is
    /// reported at each tick in which it is used. With files, all are (`frames` is 0).
    fn sample_shift(&mut self, frames: u64) -> u32 {
        let _ = frames;
        0
    }
    /// The events that it wants.
    fn wants(&self) -> Wants {
        Wants::default()
    }
    /// Pages were used, in this order: each for the first time since it came; or in this tick, if it
    /// is a page of a file or is sampled. Those of `back` came back for these uses, in the same order.
    /// `steps`: those of threads that are done, and in which pages came back.
    fn used(&mut self, all: &mut KeptPages, uses: &[Use], back: &[Refaulted], steps: &[Acted]);
    /// A page came to memory, perhaps without a request for it.
    fn arrived(&mut self, all: &mut KeptPages, page: PageIdx, at: Where);
    /// Pages were evicted, in this order.
    fn evicted(&mut self, all: &mut KeptPages, how: &Eviction, pages: &[Use]);
    /// A page on its way out is written to swap: `pswpout`. It is evicted when that is done.
    fn written(&mut self, all: &mut KeptPages, page: Option<PageIdx>);
    /// Evicted pages came back, in this order, and are not used yet.
    fn refaulted(&mut self, all: &mut KeptPages, pages: &[Refaulted]);
    /// Pages went down a list although a look had found each used.
    fn overlooked(&mut self, all: &mut KeptPages, pages: &[PageIdx]);
    /// A look found pages used, and left them where they are, with a mark. With the tick of each
    /// page's last use, from 1 on. Pages that were not used since the tick in which they came may be
    /// missing.
    fn kept(&mut self, all: &mut KeptPages, pages: &[(PageIdx, u32)]);
    /// The contents of pages are gone, in memory or out of it.
    fn dropped(&mut self, all: &mut KeptPages, first: PageIdx, count: u32);
    /// An allocation met something that is counted.
    fn troubled(&mut self, t: &Troubled);
    /// A phase ended.
    fn phase_ended(&mut self);
    /// A tick is over. Now `resident` frames hold pages, and `spare` more could.
    fn ticked(&mut self, resident: u64, spare: u64);
    /// The run is over.
    fn ended(&mut self, all: &mut KeptPages, mem: &Memory);
}

/// When pages were used last, in ticks.
#[derive(Default)]
pub struct Uses {
    on: bool,
    /// One page in `1 << shift` is reported.
    shift: u32,
    kept: KeptPages,
    queue: Queue,
    pub(super) regions: Regions,
    /// All pages have lists of one node and one group.
    one_place: bool,
    /// Frames allocated when the tick began, and in all ticks.
    began: u64,
    grain: u64,
    wants: Wants,
    /// The node of the batch that was taken off a list last needed no reclaim.
    balanced: bool,
    /// Pages that come back now do so for uses of the same step, in their order.
    for_uses: bool,
    /// No device is read for pages that come back now.
    without_device: bool,
    /// Everything that the follower needs is known of them.
    quick: bool,
}

/// Notes pages that are used, as they are.
pub(crate) trait NoteUses {
    /// A page is used soon: has memory fetch what is noted of it.
    #[inline(always)]
    fn soon(&self, page: usize) {
        let _ = page;
    }
    /// Pages in a row were used, and were there.
    fn uses(&mut self, first: usize, count: u32);
    /// A page of plain anonymous memory was used that was not there, by a fault of the fast path.
    #[inline(always)]
    fn came(&mut self, page: usize) {
        self.uses(page, 1);
    }
}

/// Who wants to know of uses, before a walk begins.
pub(crate) trait WantsUses {
    /// The notes of the walk.
    type Notes<'a>: NoteUses
    where
        Self: 'a;
    /// Begins the notes for a walk over `pages` pages.
    fn notes<'a>(self, uses: &'a mut Uses, pages: usize) -> Self::Notes<'a>
    where
        Self: 'a;
}

/// The follower.
pub(crate) struct Followed;

impl WantsUses for Followed {
    type Notes<'a> = FirstUses<'a>;
    #[inline(always)]
    fn notes<'a>(self, uses: &'a mut Uses, pages: usize) -> FirstUses<'a>
    where
        Self: 'a,
    {
        uses.noting(pages)
    }
}

/// Whoever notes them elsewhere.
impl<N: NoteUses> WantsUses for N {
    type Notes<'a>
        = N
    where
        N: 'a;
    #[inline(always)]
    fn notes<'a>(self, _: &'a mut Uses, _: usize) -> N
    where
        N: 'a,
    {
        self
    }
}

/// No recorder.
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
pub(crate) struct FirstUses<'a> {
    ticks: Noting<'a>,
    shift: u32,
    own: &'a [[u32; 2]],
    uses: &'a mut Vec<Use>,
    /// Where plain anonymous pages are.
    plain: Where,
}

impl FirstUses<'_> {
    /// Queues a use for the follower, and prefetches the follower's words of the page.
    #[inline(always)]
    fn push(&mut self, page: usize, before: Before, at: Where) {
        host::prefetch(self.own, page);
        let last = self.ticks.last(page, before);
        self.uses.push(Use { page: PageIdx(page as u32), last, at });
    }

    #[inline(never)]
    fn push_hit(&mut self, page: usize, before: Before) {
        self.push(page, before, Where::UNKNOWN);
    }
}

/// True if a page is in the sample whose uses are reported: one in `1 << shift`.
#[inline(always)]
pub fn is_sampled(page: u32, shift: u32) -> bool {
    // The upper bits of a product by the golden ratio are those of no pattern.
    u64::from(page.wrapping_mul(0x9E37_79B1)) << shift >> 32 == 0
}

impl NoteUses for FirstUses<'_> {
    #[inline(always)]
    fn soon(&self, page: usize) {
        self.ticks.fetch(page);
    }
    #[inline(always)]
    fn uses(&mut self, first: usize, count: u32) {
        for page in first..first + count as usize {
            if let Some(before) = self.ticks.again(page)
                && is_sampled(page as u32, self.shift)
            {
                self.push_hit(page, before);
            }
        }
    }
    #[inline(always)]
    fn came(&mut self, page: usize) {
        let before = self.ticks.came(page);
        self.push(page, before, self.plain);
    }
}

impl Uses {
    /// Those that a follower wants, if there is one.
    fn of(mem: &mut Memory) -> Uses {
        let Some(f) = &mut mem.telling.follower else { return Uses::default() };
        let frames = mem.zones.nr_frames() as u64;
        let grain = f.grain(frames).max(1);
        // A page of a file is used by way of many.
        let files = mem.cache.files.ids().next().is_some();
        let shift = f.sample_shift(if files { 0 } else { frames });
        let wants = f.wants();
        let one_node = mem.zones.nr_nodes() == 1 && !mem.zones.lru_by_zone();
        let one_place = one_node && mem.memcgs.len() == 1;
        Uses { on: true, shift, grain, wants, one_place, ..Uses::default() }
    }
    /// True if a follower is attached.
    #[inline(always)]
    pub(crate) fn on(&self) -> bool {
        self.on
    }
    /// True if each fault is reported separately.
    #[inline(always)]
    pub(crate) fn singly(&self) -> bool {
        self.on && self.wants.accesses
    }
    /// Begins the notes for a walk over `pages` pages.
    #[inline]
    pub(crate) fn noting(&mut self, pages: usize) -> FirstUses<'_> {
        let plain = if self.one_place { Where::ANON } else { Where::UNKNOWN };
        self.kept.make_room(pages);
        let KeptPages { ticks, own } = &mut self.kept;
        let (ticks, uses) = (ticks.noting(), &mut self.queue.uses);
        FirstUses { ticks, shift: self.shift, own, uses, plain }
    }
    /// Says if pages that come back from now on need no device.
    #[inline]
    pub(crate) fn need_no_device(&mut self, none: bool) {
        self.without_device = none;
    }
    /// One page is used that was not there.
    #[inline]
    pub(crate) fn came(&mut self, page: PageIdx) {
        if self.on {
            let last = self.kept.replace_last(page);
            self.kept.fetch(page);
            self.queue.uses.push(Use { page, last, at: Where::UNKNOWN });
        }
    }
    /// One page is used.
    #[inline]
    pub(crate) fn note(&mut self, page: PageIdx) {
        let end = (page.0 + 1).next_multiple_of(GROUP_PAGES) as usize;
        self.noting(end).uses(page.0 as usize, 1);
    }
    /// True if a policy may judge the refaults of a ledger together: no follower is attached, or the
    /// ledger holds all that the follower needs.
    #[inline]
    pub(crate) fn may_judge_together(&self) -> bool {
        !self.on || self.quick
    }
}
