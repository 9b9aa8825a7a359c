//! The fast path of the common fault: a page comes back from swap that one process maps, on
//! a device that the faulting CPU works itself, into a frame of that CPU's stock.
//!
//! A thrashing workload does little else, and what a single such fault asks (is the frame
//! above the watermark, is the slot the last of its user, whose page is it) has the same
//! answer for the next one. So these questions are asked once for a run of faults, columns
//! are looked up once, and what is counted once for each fault is counted once for all. A
//! run ends where an answer could change: when the stock of frames or the LRU batch is used
//! up, when the kernel's own memory has to follow, or at the first page that is different.
//!
//! The fast path gives the state, the counters and the time of the slow path
//! (`machine/fault/swapin.rs`), which is taken with an observer, with groups, and by every other
//! fault.

use super::Memory;
use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::backing::swap::PrivateSlots;
use crate::base::id::{AsId, MemcgId, NodeId, Pfn, SwapSlot, ZoneId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::phys::frames::{ANON_MAPPED_ONCE, FolioId, flag};
use crate::phys::gfp::AllocRequest;
use crate::phys::watermarks::Mark;
use crate::policy::{Arrival, ReclaimPolicy};
use crate::virt::pages::{pte, slot_of, swapped_to};

/// A folio that came back (until it has a frame: its page), and the shadow that its slot
/// held.
pub type PendingSwapIn = (FolioId, Option<Shadow>);

/// What all faults of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct FastSwapIn {
    /// The process.
    pub space: AsId,
    /// How the folios arrive.
    pub how: Arrival,
    /// From the fault to the mapped page.
    pub latency: SimDuration,
    zone: ZoneId,
}

/// Operations that are looked at ahead.
pub const AHEAD: usize = 16;

/// Faults of one run at most.
pub const MOST_PENDING: usize = 64;

/// What a run of faults touches first: PTEs and slots. Frames follow when it is over.
pub struct SwapInRun<'a> {
    hot: &'a mut [u8],
    entry: &'a [u32],
    slots: PrivateSlots<'a>,
    pending: &'a mut [PendingSwapIn; MOST_PENDING],
    /// Faults so far, and how many stock and batches have room for.
    nr: usize,
    room: usize,
}

/// The bits of a folio that came back and waits for its list.
const BITS: u32 = ANON_MAPPED_ONCE | flag::DIRTY | flag::IN_BATCH;

impl SwapInRun<'_> {
    /// The hot bytes of all pages.
    #[inline(always)]
    pub fn hot(&mut self) -> &mut [u8] {
        self.hot
    }

    /// Looks at what faults on some pages would need, so that memory fetches it for all at
    /// once: else each fault waits for its own. Changes nothing.
    #[inline]
    pub fn prefetch(&self, pages: impl Iterator<Item = usize>) {
        let (mut slots, mut nr) = ([SwapSlot(0); AHEAD], 0);
        for page in pages.take(AHEAD) {
            let (Some(&hot), Some(&e)) = (self.hot.get(page), self.entry.get(page)) else {
                continue;
            };
            // Without a branch: whether a page is there is as good as random.
            slots[nr % AHEAD] = SwapSlot(slot_of(e));
            nr += usize::from(swapped_to(hot, e).is_some());
        }
        let seen = slots[..nr].iter().fold(0, |a, &s| a ^ self.slots.peek(s));
        std::hint::black_box(seen);
    }

    /// Resolves the fault on a page that is no hit. False, and nothing done: it is one for
    /// the slow path.
    #[inline(always)] // There is one caller.
    pub fn fault(&mut self, page: usize, write: bool) -> bool {
        let (hot, e) = (self.hot[page], self.entry[page]);
        let Some(slot) = swapped_to(hot, e) else { return false };
        if self.nr >= self.room {
            return false;
        }
        let Some(shadow) = self.slots.take(slot) else { return false };
        self.pending[self.nr % MOST_PENDING] = (Pfn(page as u32), shadow);
        self.nr += 1;
        let write = u8::from(write) * pte::DIRTY;
        self.hot[page] = pte::PRESENT | pte::ACCESSED | pte::WRITABLE | write;
        true
    }

    /// Whether there is nothing to settle before the next fault.
    #[inline(always)]
    pub fn goes_on(&self) -> bool {
        self.nr < self.room && !self.slots.emptied
    }

    /// Faults resolved.
    pub fn faults(&self) -> u64 {
        self.nr as u64
    }
}

impl Memory {
    /// Whether faults of a process may take the fast path now. `awake`: kswapd knows already
    /// that memory is wanted, so that a request below the low watermark wakes nobody.
    pub fn swap_in_run(&self, space: AsId, how: Arrival, awake: bool) -> Option<FastSwapIn> {
        let req = &AllocRequest::USER;
        let swap = self.swap.as_ref()?;
        let zone = self.zones.first_asked(NodeId(0), req.highest)?;
        let one = self.zones.nr_nodes() == 1 && self.memcgs.len() == 1;
        let quiet = !self.tracer.on() && self.io.is_empty() && self.boosted.is_none();
        let settled = self.settled == self.kernel_needs();
        if !(one && quiet && settled && swap.device.config().synchronous && swap.has_room()) {
            return None;
        }
        if !self.serves_user(zone, awake) {
            return None;
        }
        let latency = self.cost.t_major_cpu + swap.device.sync_cost(Io::Read, 1);
        Some(FastSwapIn { space, how, latency, zone })
    }

    /// Whether pages of processes come out of a zone's stocks without further ado: it is above
    /// the low watermark, or all are below and kswapd is `awake`, so that nobody is woken.
    pub(super) fn serves_user(&self, zone: ZoneId, awake: bool) -> bool {
        let (z, highest) = (&self.zones[zone], AllocRequest::USER.highest);
        z.watermark_ok(Mark::Low, highest)
            || awake
                && !self.zones.fair()
                && z.watermark_ok(Mark::Min, highest)
                && !self.zones.any_allows(Mark::Low, highest)
    }

    /// What a run of faults touches; [`Memory::settle_swap_ins`] is to follow.
    pub fn swap_in_run_of<'a>(
        &'a mut self,
        run: &FastSwapIn,
        pending: &'a mut [PendingSwapIn; MOST_PENDING],
    ) -> SwapInRun<'a> {
        let stock = self.zones[run.zone].stock(self.cpu, AllocRequest::USER.migratetype).len();
        let swap = self.swap.as_mut().expect("the pages are in swap");
        let swap_store = swap.device.config().stored_bytes_per_page;
        let (slots, slot_room) = swap.private_slots(self.cpu.0.into());
        let room = stock.min(self.batches.room(self.cpu)).min(slot_room).min(MOST_PENDING);
        let room = room.min(zram_room(self.zram_stored, swap_store));
        let room = room.min(self.zones[run.zone].share_left());
        let (hot, entry) = self.pages.hot_and_entries();
        SwapInRun { hot, entry, slots, pending, nr: 0, room }
    }

    /// Gives the pages of a run their frames, accounts for them, and tells the policy.
    pub fn settle_swap_ins(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        run: &FastSwapIn,
        pending: &mut [PendingSwapIn],
    ) {
        let nr = pending.len();
        let n = nr as u64;
        let zone = &mut self.zones[run.zone];
        let stock = zone.stock(self.cpu, AllocRequest::USER.migratetype);
        let (flags, rmap) = self.frames.flags_and_rmap_mut();
        let entry = self.pages.entries_mut();
        let add = self.batches.adding(self.cpu);
        let swap = self.swap.as_mut().expect("the pages are in swap");
        let freed = swap.freed_by(self.cpu.0.into());
        freed.extend(pending.iter().map(|r| slot_of(entry[r.0.0 as usize])));
        for ((folio, _), &frame) in pending.iter_mut().zip(stock.iter().rev()) {
            let page = folio.0;
            entry[page as usize] = frame;
            flags[frame as usize] = BITS;
            rmap[frame as usize] = page;
            *folio = Pfn(frame);
        }
        add.extend(pending.iter().map(|r| (r.0, run.how)));
        swap.device.read_sync(nr as u32);
        swap.freed(self.cpu.0.into(), nr);
        zone.take_stock(self.cpu, AllocRequest::USER.migratetype, nr);
        self.count_allocated(run.zone, n);
        for e in [VmEvent::PgFault, VmEvent::PgMajFault, VmEvent::PswpIn] {
            self.count(e, n);
        }
        self.zram_stored = self.zram_stored.saturating_sub(n);
        let root = MemcgId(0);
        self.memcgs.charge(root, n);
        self.memcgs.uncharge_swap(root, n);
        self.spaces.anon_mapped += n;
        let s = &mut self.spaces[run.space];
        s.swapents -= n;
        s.rss_anon += n;
        policy.folios_swapped_in(self, pending, run.how);
        self.lru_added(policy, n);
        self.settle_kernel();
    }
}

/// After how many freed pages zram's store, which holds `stored` pages of so many bytes, may
/// give up a page of memory.
fn zram_room(stored: u64, bytes: u32) -> usize {
    if bytes == 0 || stored == 0 {
        return usize::MAX;
    }
    let pages = (stored * u64::from(bytes)).div_ceil(4096);
    (stored - (pages - 1) * 4096 / u64::from(bytes)) as usize
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
                assert_eq!(zram_room(stored, bytes), want as usize, "{stored} of {bytes}");
            }
        }
        assert_eq!(zram_room(10, 0), usize::MAX);
    }
}
