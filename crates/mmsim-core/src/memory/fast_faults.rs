//! The fast paths of faults: first touches, and pages that come back from swap.
//!
//! Two kinds of fault are nearly all that a workload takes: a write to a page that holds nothing
//! yet, and an access to a page in swap that one process maps, on a device that the faulting CPU
//! works itself. Both take a frame from the CPU's stock and add it to the CPU's LRU batch. Until
//! that batch is full only the PTE and the slot show such a fault: the frame is in no allocator and
//! on no list.
//!
//! So the machine (`machine/fault/swapin_fast.rs`, `first_touch.rs`) writes PTEs and slots at once
//! and keeps the faults in a ledger, [`PendingFault`]. The conditions of a fault (is the zone above
//! its watermark, is anything to follow) are the same for the next one, and [`Memory::fast_faults`]
//! checks them once. [`Memory::settle_faults`] gives all of them their frames, accounts for them,
//! and tells the policy of each at its own time.
//!
//! A ledger is settled when an answer could change: when the stock of frames or the LRU batch is
//! used up, when the kernel's own memory has to follow, or at the first fault of another kind. With
//! an observer of faults a team of threads settles after each one, so that events come in their
//! order; those of a single thread are in order anyway.
//!
//! The fast paths give the state, the counters, the events and the times of the slow path
//! (`machine/fault/mod.rs`, `swapin.rs`), which every other fault takes, and every fault of a
//! machine with groups or several nodes.

use super::Memory;
use super::compressed_run::ReadFrom;
use crate::backing::Shadow;
use crate::backing::swap::{Pools, PrivateSlots, Swap};
use crate::base::host::prefetch;
use crate::base::id::{AsId, CpuId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot, ThreadId, ZoneId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::follow::WantsUses;
use crate::memory::trace::{FaultKind, TraceEvent, TraceKind, TraceKinds};
use crate::phys::frames::{ANON_MAPPED_ONCE, FolioId, flag};
use crate::phys::gfp::AllocRequest;
use crate::phys::watermarks::Mark;
use crate::policy::{Access, Arrival, ArrivalKind, ReclaimPolicy};
use crate::virt::pages::{names_slot, pte, slot_of, swapped_to};

/// Events of single faults.
const OF_FAULT: TraceKinds = TraceKinds::of(&[TraceKind::MmPageAlloc, TraceKind::PageFault]);

/// A fault whose page has its PTE, but no frame yet.
#[derive(Clone, Copy, Debug)]
pub struct PendingFault {
    /// The page.
    pub page: PageIdx,
    /// The access was a write.
    pub write: bool,
    /// When it began.
    pub begin: SimTime,
    /// The page comes from swap, and its slot held a shadow.
    pub had_shadow: bool,
    /// That shadow, or any value.
    pub left: Shadow,
}

impl PendingFault {
    /// The fault that began then.
    pub fn new(page: PageIdx, write: bool, begin: SimTime) -> Self {
        PendingFault { page, write, begin, had_shadow: false, left: Shadow(0) }
    }

    /// The shadow that the page's slot held, if it comes from swap.
    #[inline]
    pub fn shadow(&self) -> Option<Shadow> {
        self.had_shadow.then_some(self.left)
    }
}

impl Default for PendingFault {
    fn default() -> Self {
        PendingFault::new(PageIdx(0), false, SimTime::ZERO)
    }
}

/// Common state of faults that are settled together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastFaults {
    /// Who takes them.
    pub thread: ThreadId,
    /// Its process.
    pub space: AsId,
    /// Kind of arrival of the folios: new, or from swap.
    pub how: Arrival,
    /// From the fault to the mapped page.
    pub latency: SimDuration,
    /// Time from the fault until the call of the policy.
    entry: SimDuration,
    /// Whose stock the frames come from.
    zone: ZoneId,
    /// Where pages that were swapped out come from.
    from: ReadFrom,
}

impl FastFaults {
    /// The same of another thread of another process.
    #[must_use]
    pub(crate) fn of(self, thread: ThreadId, space: AsId) -> Self {
        FastFaults { thread, space, ..self }
    }

    /// True if the pages come from swap.
    #[inline(always)]
    fn swapped(&self) -> bool {
        self.how.kind == ArrivalKind::SwapIn
    }
}

/// Accesses and pages that are looked at ahead together.
pub(crate) const AHEAD: usize = 16;

/// Faults in a ledger at most.
pub(crate) const MOST_PENDING: usize = 64;

/// Compressed copies of pages that come back in a run. A type, so that runs without any ask nothing.
pub(crate) trait Copies {
    /// Takes the copy of a private slot out. False, and nothing done: it is not where those of the
    /// run are.
    fn leaves(&mut self, slots: &PrivateSlots<'_>, slot: SwapSlot) -> bool;
    /// True if nothing of it has to be settled before the next fault.
    fn go_on(&self) -> bool;
}

/// The copies of a machine, before a run begins.
pub(crate) trait HasCopies {
    /// Those of the run.
    type Of<'a>: Copies;
    /// Begins with these pools; `zeromap`: pages of zeros have no copy.
    fn of(pools: Option<&mut Pools>, zeromap: bool) -> Self::Of<'_>;
}

/// There are none.
pub(crate) struct NoCopies;

impl Copies for NoCopies {
    #[inline(always)]
    fn leaves(&mut self, _: &PrivateSlots<'_>, _: SwapSlot) -> bool {
        true
    }
    #[inline(always)]
    fn go_on(&self) -> bool {
        true
    }
}

impl HasCopies for NoCopies {
    type Of<'a> = NoCopies;
    #[inline(always)]
    fn of(_: Option<&mut Pools>, _: bool) -> NoCopies {
        NoCopies
    }
}

/// Pools have them.
pub(crate) struct InPools;

impl HasCopies for InPools {
    type Of<'a> = Pooled<'a>;
    fn of(pools: Option<&mut Pools>, zeromap: bool) -> Pooled<'_> {
        let pools = pools.expect("the contents of pages are known");
        Pooled { slab: pools.slab(), pools, zeromap, gone: false }
    }
}

/// Copies in pools.
pub(crate) struct Pooled<'a> {
    pools: &'a mut Pools,
    zeromap: bool,
    /// Slab of zswap when the run began: its pages and nodes.
    slab: [u64; 2],
    /// Frames of zspages or of slab are to be freed.
    gone: bool,
}

impl Copies for Pooled<'_> {
    #[inline]
    fn leaves(&mut self, slots: &PrivateSlots<'_>, slot: SwapSlot) -> bool {
        let leaves = slots.is_private(slot) && self.pools.leave(slot, self.zeromap);
        self.gone = self.pools.any_gone() || self.pools.slab() != self.slab;
        leaves
    }
    #[inline(always)]
    fn go_on(&self) -> bool {
        !self.gone
    }
}

/// Tables that faults on pages in swap touch first: PTEs and slots.
pub(crate) struct SwapInRun<'a, C> {
    hot: &'a mut [u8],
    entry: &'a [u32],
    slots: PrivateSlots<'a>,
    copies: C,
    pending: &'a mut [PendingFault; MOST_PENDING],
    /// Faults so far, and how many stock and batches have room for.
    nr: usize,
    room: usize,
}

impl<C: Copies> SwapInRun<'_, C> {
    /// The hot bytes of all pages.
    #[inline(always)]
    pub(crate) fn hot(&mut self) -> &mut [u8] {
        self.hot
    }

    /// Has memory fetch the PTEs of pages.
    #[inline(always)]
    pub(crate) fn fetch_ptes(&self, pages: impl Iterator<Item = usize>) {
        for page in pages {
            prefetch(self.hot, page);
            prefetch(self.entry, page);
        }
    }

    /// Has memory fetch what is known of the slots of pages, whose PTEs are there by now.
    #[inline(always)]
    pub(crate) fn fetch_slots(&self, pages: impl Iterator<Item = usize>) {
        for page in pages {
            let e = self.entry.get(page).copied().unwrap_or(0);
            if names_slot(e) {
                self.slots.fetch(SwapSlot(slot_of(e)));
            }
        }
    }

    /// Resolves the fault on a page that is no hit. False, and nothing done: it is one for
    /// the slow path.
    #[inline(always)] // There is one caller.
    pub(crate) fn fault(&mut self, page: usize, write: bool, begin: SimTime) -> bool {
        let (hot, e) = (self.hot[page], self.entry[page]);
        let Some(slot) = swapped_to(hot, e) else { return false };
        if self.nr >= self.room {
            return false;
        }
        if !self.copies.leaves(&self.slots, slot) {
            return false;
        }
        let Some(shadow) = self.slots.take(slot) else { return false };
        let (had_shadow, left) = (shadow.is_some(), shadow.unwrap_or(Shadow(0)));
        let page_idx = PageIdx(page as u32);
        self.pending[self.nr % MOST_PENDING] =
            PendingFault { page: page_idx, write, begin, had_shadow, left };
        self.nr += 1;
        let write = u8::from(write) * pte::DIRTY;
        self.hot[page] = pte::PRESENT | pte::ACCESSED | pte::WRITABLE | write;
        true
    }

    /// True if nothing has to be settled before the next fault.
    #[inline(always)]
    pub(crate) fn goes_on(&self) -> bool {
        self.nr < self.room && !self.slots.emptied && self.copies.go_on()
    }

    /// Faults resolved.
    pub(crate) fn faults(&self) -> u64 {
        self.nr as u64
    }
}

/// Faults that have their frames.
pub struct SettledFaults<'a> {
    run: &'a FastFaults,
    pending: &'a [PendingFault],
    folios: &'a [FolioId],
}

impl SettledFaults<'_> {
    /// The faults and their folios, if these come from swap and no observer sees each fault. Then a
    /// policy may judge them together, and ends with [`SettledFaults::all_came`].
    pub fn unseen(&self, mem: &Memory) -> Option<(&[PendingFault], &[FolioId])> {
        let unseen =
            self.run.swapped() && !mem.telling.tracer.on() && mem.telling.uses.may_judge_together();
        unseen.then_some((self.pending, self.folios))
    }
    /// Kind of arrival of the folios.
    pub fn how(&self) -> Arrival {
        self.run.how
    }
    /// Time from the beginning of a fault until the policy judges it.
    pub fn entry(&self) -> SimDuration {
        self.run.entry
    }
    /// The policy has judged all of them: counts them in the LRU batch, which may be full now.
    pub fn all_came<P: ReclaimPolicy + ?Sized>(&self, mem: &mut Memory, policy: &mut P) {
        let Some(last) = self.pending.last() else { return };
        mem.telling.refaulting = Some(last.page);
        mem.acting.now = last.begin + self.run.entry;
        mem.lru_added(policy, self.pending.len() as u64);
        mem.acting.now = last.begin + self.run.latency;
    }

    /// Tells a policy and an observer of all faults, each at the time of the slow path. With the
    /// last the LRU batch may be full.
    #[inline(always)] // Once for each policy.
    pub fn tell<P: ReclaimPolicy + ?Sized>(&self, mem: &mut Memory, policy: &mut P) {
        let how = self.run.how;
        if !self.run.swapped() {
            let enters = |mem: &mut Memory, policy: &mut P, _: &PendingFault, folio| {
                policy.folio_entering(mem, folio, None, how);
            };
            return self.tell_each(mem, policy, enters, |_, _, _| ());
        }
        let enters = |mem: &mut Memory, policy: &mut P, f: &PendingFault, folio| {
            mem.telling.refaulting = Some(f.page);
            policy.folio_entering(mem, folio, f.shadow(), how);
            mem.tell_of_swap_in(folio, Some(f.page));
        };
        let mapped = |mem: &mut Memory, policy: &mut P, folio| {
            policy.folio_accessed(mem, folio, Access::SwappedIn);
        };
        self.tell_each(mem, policy, enters, mapped);
    }

    #[inline(always)]
    fn tell_each<P: ReclaimPolicy + ?Sized>(
        &self,
        mem: &mut Memory,
        policy: &mut P,
        enters: impl Fn(&mut Memory, &mut P, &PendingFault, FolioId),
        mapped: impl Fn(&mut Memory, &mut P, FolioId),
    ) {
        let (run, seen, nr) = (self.run, mem.sees_faults(), self.pending.len());
        for (i, (f, &folio)) in self.pending.iter().zip(self.folios).enumerate() {
            if seen {
                mem.acting.now = f.begin;
                let zone = run.zone.0;
                mem.emit(|| TraceEvent::MmPageAlloc { pfn: folio, order: 0, zone });
            }
            mem.acting.now = f.begin + run.entry;
            enters(mem, policy, f, folio);
            if i + 1 == nr {
                mem.lru_added(policy, nr as u64);
            }
            mem.acting.now = f.begin + run.latency;
            mapped(mem, policy, folio);
            if seen {
                let (thread, page, write, major) = (run.thread, f.page, f.write, run.swapped());
                let kind = if major { FaultKind::SwapIn } else { FaultKind::ZeroFill };
                let pfn = Some(folio);
                mem.emit(|| TraceEvent::PageFault { thread, page, write, kind, major, pfn });
            }
        }
    }
}

impl Memory {
    /// Sets the clock to when a fault of the ledger asks the policy: `entry` after it began.
    pub fn go_to_fault(&mut self, fault: &PendingFault, entry: SimDuration) {
        self.acting.now = fault.begin + entry;
    }

    /// Returns the common data of faults on new pages of a process, or on pages in swap. `None`:
    /// they may not take the fast path now. `recency`: that of their mapping. `awake`: kswapd knows
    /// already that memory is wanted, so that a request below the low watermark does not wake it.
    pub(crate) fn fast_faults(
        &self,
        (thread, space): (ThreadId, AsId),
        kind: ArrivalKind,
        recency: bool,
        awake: bool,
    ) -> Option<FastFaults> {
        let zone = self.zones.first_asked(NodeId(0), AllocRequest::USER.highest)?;
        if self.zones.nr_nodes() > 1 || self.memcgs.len() > 1 || self.given.slow_paths {
            return None;
        }
        let (entry, latency, from) = if kind == ArrivalKind::SwapIn {
            let device = self.swap.as_ref()?.only_device()?;
            if !(self.given.rules.sync_swapin_skips_cache && device.config().synchronous) {
                return None;
            }
            let entry = self.given.cost.t_major_cpu;
            let (from, read) = self.reads_in_runs(device)?;
            (entry, entry + read, from)
        } else {
            let entry = self.given.cost.t_minor_anon;
            (entry, entry, ReadFrom::Device)
        };
        let how = Arrival { kind, in_fault: Some(recency), position: 0 };
        let run = FastFaults { thread, space, how, latency, entry, zone, from };
        self.more_faults(&run, || awake).then_some(run)
    }

    /// True if the next ledger may follow. Repeats those checks of [`Memory::fast_faults`] whose
    /// answers can change from one ledger to the next.
    pub(crate) fn more_faults(&self, run: &FastFaults, awake: impl FnOnce() -> bool) -> bool {
        let room = || self.swap.as_ref().is_some_and(Swap::has_room);
        self.zones.first_asked(NodeId(0), AllocRequest::USER.highest) == Some(run.zone)
            && self.acting.io.is_empty()
            && self.acting.boosted.is_none()
            && self.kernel.settled == self.kernel_needs()
            && self.serves_user(run.zone, awake)
            && (!run.swapped() || room())
    }

    /// True if pages of processes come out of a zone's stocks without further ado: it is above the
    /// low watermark, or all are below and kswapd is `awake`, so that no wake-up is needed.
    fn serves_user(&self, zone: ZoneId, awake: impl FnOnce() -> bool) -> bool {
        let (z, highest) = (&self.zones[zone], AllocRequest::USER.highest);
        z.watermark_ok(Mark::Low, highest)
            || awake()
                && !self.zones.fair()
                && z.watermark_ok(Mark::Min, highest)
                && !self.zones.any_allows(Mark::Low, highest)
    }

    /// Number of faults that a CPU may take before they have to be settled, as far as the CPU is
    /// concerned; all CPUs together may take as many as [`Memory::share_left`].
    #[inline]
    pub(crate) fn fault_room(&self, run: &FastFaults, cpu: CpuId) -> usize {
        let stock = self.zones[run.zone].stock(cpu, AllocRequest::USER.migratetype).len();
        stock.min(self.lru.batches.room(cpu)).min(MOST_PENDING)
    }

    /// True if an observer sees each fault, so that those of several threads are settled in their
    /// order.
    pub(crate) fn sees_faults(&self) -> bool {
        self.telling.tracer.wants_any(OF_FAULT)
    }

    /// Number of pages that the zone of some faults may give in its turn.
    #[inline]
    pub(crate) fn share_left(&self, run: &FastFaults) -> usize {
        self.zones[run.zone].share_left()
    }

    /// The tables that faults on pages in swap touch, and the recorder of uses;
    /// [`Memory::settle_faults`] is to follow.
    #[inline(always)] // The result is large, and the caller takes it apart at once.
    pub(crate) fn swap_in_run_of<'a, C: HasCopies, W: WantsUses + 'a>(
        &'a mut self,
        run: &FastFaults,
        pending: &'a mut [PendingFault; MOST_PENDING],
        who: W,
    ) -> (SwapInRun<'a, C::Of<'a>>, W::Notes<'a>) {
        let room = self.fault_room(run, self.acting.cpu).min(self.share_left(run));
        let room = room.min(self.left_of_tick());
        let swap = self.swap.as_mut().expect("the pages are in swap");
        let store = swap.only_device().map_or(0, |d| d.config().stored_bytes_per_page);
        let (slots, pools) = swap.private_slots();
        let copies = C::of(pools, self.given.rules.swap_zeromap);
        let room = room.min(zram_room(self.kernel.zram_stored, store));
        let (hot, entry) = self.virt.pages.hot_and_entries();
        let notes = who.notes(&mut self.telling.uses, hot.len());
        (SwapInRun { hot, entry, slots, copies, pending, nr: 0, room }, notes)
    }

    /// Gives the pages of faults their frames, in their order, accounts for them, and tells the
    /// policy. Their hot bytes are written, and their slots taken back.
    pub(crate) fn settle_faults(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        run: &FastFaults,
        pending: &[PendingFault],
    ) {
        let (nr, swapped) = (pending.len(), run.swapped());
        let (n, mt) = (nr as u64, AllocRequest::USER.migratetype);
        let folios = self.give_frames(run, pending);
        let folios = &folios[..nr];
        self.lru.batches.adding(self.acting.cpu).extend(folios.iter().map(|&f| (f, run.how)));
        self.zones[run.zone].take_stock(self.acting.cpu, mt, nr);
        self.count_allocated(run.zone, n);
        self.count(VmEvent::PgFault, n);
        self.memcgs.charge(MemcgId(0), n);
        self.virt.spaces.anon_mapped += n;
        let s = &mut self.virt.spaces[run.space];
        s.rss_anon += n;
        if swapped {
            s.swapents -= n;
        } else {
            s.wrote_anon = true;
        }
        let now = self.acting.now;
        let settled = SettledFaults { run, pending, folios };
        if swapped {
            let before = self.begin_refaults_for_uses(run.from == ReadFrom::Zswap);
            policy.faults_settled(self, &settled);
            self.end_refaults_for_uses(before);
        } else {
            policy.faults_settled(self, &settled);
        }
        if swapped {
            self.free_all_gone();
            self.settle_kernel();
        }
        self.acting.now = now;
    }

    /// Gives the pages of faults the frames of the stock, and lets go of the slots that they were in.
    #[inline(always)] // There is one caller.
    fn give_frames(
        &mut self,
        run: &FastFaults,
        pending: &[PendingFault],
    ) -> [FolioId; MOST_PENDING] {
        let swapped = run.swapped();
        let bits = ANON_MAPPED_ONCE | flag::IN_BATCH | if swapped { flag::DIRTY } else { 0 };
        let (mut folios, mut slots) = ([Pfn(0); MOST_PENDING], [0; MOST_PENDING]);
        let stock = self.zones[run.zone].stock(self.acting.cpu, AllocRequest::USER.migratetype);
        debug_assert!(pending.len() <= stock.len(), "the stock of {} has too few pages", run.zone);
        let (flags, rmap) = self.frames.flags_and_rmap_mut();
        let rmap = &mut rmap[..flags.len()];
        // The last page first.
        let mut stock = stock.iter().rev();
        let given = pending.iter().zip(&mut folios);
        if swapped {
            let entry = self.virt.pages.entries_mut();
            for ((f, folio), slot) in given.zip(&mut slots) {
                let Some(&frame) = stock.next() else { break };
                let entry = &mut entry[f.page.0 as usize];
                *slot = slot_of(*entry);
                (*entry, *folio) = (frame, Pfn(frame));
                flags[frame as usize] = bits;
                rmap[frame as usize] = f.page.0;
            }
            self.free_slots(run.from, &slots[..pending.len()]);
        } else {
            for (f, folio) in given {
                let Some(&frame) = stock.next() else { break };
                self.virt.pages.first_touched(f.page, Pfn(frame));
                *folio = Pfn(frame);
                flags[frame as usize] = bits;
                rmap[frame as usize] = f.page.0;
            }
        }
        folios
    }

    /// Accounts for the slots of pages that came back.
    fn free_slots(&mut self, from: ReadFrom, slots: &[u32]) {
        self.count_run_read(from, SwapSlot(slots[0]), slots.len() as u32);
        let swap = self.swap.as_mut().expect("the pages are in swap");
        swap.let_go(self.acting.cpu, slots);
        self.count(VmEvent::PgMajFault, slots.len() as u64);
    }
}

/// Number of freed pages of `bytes` bytes after which zram's store, which holds `stored` bytes, may
/// give up a page of memory.
fn zram_room(stored: u64, bytes: u32) -> usize {
    if bytes == 0 || stored == 0 {
        return usize::MAX;
    }
    let bytes = u64::from(bytes);
    (stored / bytes - (stored.div_ceil(4096) - 1) * 4096 / bytes) as usize
}

#[cfg(test)]
mod tests {
    use super::zram_room;

    /// By trying: the room is the first number of pages that makes the store smaller.
    #[test]
    fn room_until_the_store_gives_up_a_page() {
        for bytes in [1, 700, 1365, 1366, 4095, 4096] {
            for stored in 1..200u64 {
                let pages = |n: u64| (n * u64::from(bytes)).div_ceil(4096);
                let want = (1..=stored).find(|n| pages(stored - n) < pages(stored)).unwrap();
                let held = stored * u64::from(bytes);
                assert_eq!(zram_room(held, bytes), want as usize, "{stored} of {bytes}");
            }
        }
        assert_eq!(zram_room(10, 0), usize::MAX);
    }
}
