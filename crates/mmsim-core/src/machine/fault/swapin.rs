//! Swap-in: a fault on a page that is in swap (Linux 6.12 mm/memory.c `do_swap_page`,
//! mm/swap_state.c).
//!
//! There are three ways: the device is synchronous and the slot has no other user, then it is read
//! past the swap cache (4.15 and later); the page is in the swap cache already; or a window of
//! slots around it is read into the swap cache, and the thread waits.

use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::backing::swap::Cached;
use crate::base::id::{MemcgId, PageIdx, Pfn, SwapSlot, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::cpu::thread::{Fault, FaultDone};
use crate::machine::fault::touch::{Outcome, Touch, Undone};
use crate::machine::reclaim::alloc::AllocOutcome;
use crate::memory::trace::{FaultKind, TraceEvent};
use crate::memory::{IoDone, SWAP_IOCB_PAGES};
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::{Access, ArrivalKind};
use crate::virt::pages::{Entry, pte};
use crate::virt::space::VmaKind;

impl Machine {
    pub(in crate::machine) fn swap_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        slot: SwapSlot,
        vma: VmaId,
        write: bool,
    ) -> Outcome<FaultKind> {
        // Swap-ins and first touches in turn are no work for a team.
        self.touches.alone_for = self.touches.alone_for.max(1);
        let swap = self.mem.swap.as_ref().expect("a swap entry without swap");
        if let Cached::Folio(folio) = swap.cached(slot) {
            self.swapcache_fault(tid, page, slot, folio, vma, write)?;
            return Ok(FaultKind::SwapIn);
        }
        let folio = self.swap_in_window(tid, page, slot, Some(vma))?;
        self.map_swapped(page, slot, folio, vma, write);
        Ok(FaultKind::SwapIn)
    }

    /// The page is in the swap cache: map it, or wait until it was read.
    fn swapcache_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        slot: SwapSlot,
        folio: FolioId,
        vma: VmaId,
        write: bool,
    ) -> Outcome {
        let Fault { page: p, major, .. } =
            self.work.threads[tid].fault.expect("the fault is under way");
        debug_assert_eq!(p, page);
        // The thread that asked for the read is not surprised to find the page.
        if !major {
            let flagged = self.mem.frames.test_clear(folio, flag::READAHEAD);
            if flagged {
                self.mem.count(VmEvent::SwapRaHit, 1);
            }
            if self.reads_ahead_by_address() {
                let ra = &mut self.mem.virt.spaces.vma_mut(vma).swap_ra;
                ra.prev = page.0;
                ra.hits = (ra.hits + u32::from(flagged)).min(63);
            } else if flagged {
                self.mem.swap.as_mut().expect("a slot is of a device").ra.hits += 1;
            }
        }
        if self.mem.frames.has(folio, flag::LOCKED) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.retry_fault(tid);
            self.wait_for_folio(tid, folio, refault);
            return Err(Undone::Blocked);
        }
        self.mem.acting.now +=
            if major { self.mem.given.cost.t_major_cpu } else { self.mem.given.cost.t_minor_map };
        self.map_swapped(page, slot, folio, vma, write);
        Ok(())
    }

    /// Maps a folio of the swap cache in place of its swap entry.
    fn map_swapped(
        &mut self,
        page: PageIdx,
        slot: SwapSlot,
        folio: FolioId,
        vma: VmaId,
        write: bool,
    ) {
        let exclusive = self.mem.virt.pages.hot(page) & pte::EXCLUSIVE != 0;
        let only_user = self.mem.swap.as_ref().is_some_and(|s| s.count(slot) == 1)
            && self.mem.frames.mapped(folio) == Mapped::No;
        let writable = if self.mem.given.rules.anon_exclusive {
            exclusive || only_user
        } else {
            write && only_user
        };
        let mut bits = pte::ACCESSED;
        if writable {
            bits |= pte::WRITABLE | if write { pte::DIRTY } else { 0 };
        }
        self.leave_swap_entry(page);
        self.mem.map(page, folio, bits);
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        swap.put(slot, self.mem.acting.cpu);
        let locked = self.mem.virt.spaces.vma(vma).locks(page);
        if locked {
            self.mem.mlock(folio);
        }
        let scarce = self.mem.swap_is_scarce(folio);
        if scarce || locked || write && self.mem.frames.mapped(folio) == Mapped::Once {
            self.mem.free_swap(folio);
        }
        self.policies.lru.folio_accessed(&mut self.mem, folio, Access::SwappedIn);
    }

    fn leave_swap_entry(&mut self, page: PageIdx) {
        self.mem.virt.pages.set_entry(page, Entry::None, 0);
        let space = self.mem.space_of(page);
        self.mem.virt.spaces[space].swapents -= 1;
    }

    /// A synchronous device and a slot with one user: read in the fault, past the swap
    /// cache, and free the slot. The common fault of a thrashing workload, in one piece.
    pub(in crate::machine) fn swap_in_directly(
        &mut self,
        touch: Touch,
        mut fault: Fault,
        slot: SwapSlot,
        shadow: Option<Shadow>,
    ) -> Outcome<FaultDone> {
        let Touch { tid, space, page, vma, write, .. } = touch;
        if self.mem.given.sizes_on
            && let Some(done) = self.swap_in_whole(touch, &mut fault, slot)?
        {
            return Ok(done);
        }
        let dropped = self.mem.kernel.shadow_drops;
        self.touches.alone_for = self.touches.alone_for.max(1);
        let memcg = self.group_for_slot(tid, slot);
        let pfn = match self.alloc_user_in(tid, memcg) {
            AllocOutcome::Frame(p) => p,
            AllocOutcome::Killed if fault.noted => return Err(Undone::Killed), // It was cut short with its thread.
            other => {
                fault.noted = true;
                self.work.threads[tid].fault = Some(fault);
                if matches!(other, AllocOutcome::Killed) {
                    self.drop_fault(tid);
                }
                return other.frame().map(|_| unreachable!("no frame was found"));
            }
        };
        if self.was_written_back(slot, pfn) {
            self.work.threads[tid].fault = Some(Fault { noted: true, ..fault });
            return Err(Undone::Again);
        }
        if fault.noted {
            self.work.threads[tid].fault = None;
        }
        self.mem.acting.now += self.mem.given.cost.t_major_cpu;
        let flags = self.mem.virt.spaces.vma(vma).flags;
        // Making room may have cost the shadow.
        let shadow = match self.mem.kernel.shadow_drops == dropped {
            true => shadow,
            false => self.mem.private_swap(slot).flatten(),
        };
        let how = self.make_anon(pfn, flags, ArrivalKind::SwapIn);
        self.mem.telling.refaulting = Some(page);
        let without_device = self.mem.followed() && self.mem.needs_no_device(slot);
        let before = self.mem.begin_refaults_for_uses(without_device);
        self.policies.lru.folio_entering(&mut self.mem, pfn, shadow, how);
        self.mem.tell_of_swap_in(pfn, Some(page));
        self.mem.end_refaults_for_uses(before);
        self.mem.lru_add(&mut *self.policies.lru, pfn, how);
        let read = self.mem.read_swapped(slot, pfn);
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        swap.put_last(slot, self.mem.acting.cpu);
        self.mem.slot_freed(slot);
        // The contents exist nowhere else now.
        let dirty = if write { pte::DIRTY } else { 0 };
        let bits = pte::ACCESSED | pte::WRITABLE | dirty;
        self.mem.map_swapped(space, page, pfn, bits, flag::DIRTY);
        self.policies.lru.folio_accessed(&mut self.mem, pfn, Access::SwappedIn);
        let (kind, counts_major) = (FaultKind::SwapIn, !fault.major);
        Ok(FaultDone { major: true, counts_major, read, ..fault.done(write, kind) })
    }

    fn reads_ahead_by_address(&self) -> bool {
        !self.mem.given.rules.swapin_by_slot && self.mem.swap.as_ref().is_some_and(|s| !s.rotates())
    }

    /// The group that pays for a page read from a slot: the one whose page it was, if it is still
    /// there, else the thread's (`mem_cgroup_swapin_charge_folio`).
    pub(in crate::machine) fn group_for_slot(&self, tid: ThreadId, slot: SwapSlot) -> MemcgId {
        let m = self.mem.memcgs.group_of_slot(slot);
        if self.mem.memcgs.is_online(m) { m } else { self.work.threads[tid].memcg }
    }

    /// Reads a window of slots around the wanted one into the swap cache. Waits for its page, or
    /// returns it if it is there at once.
    pub(in crate::machine) fn swap_in_window(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        slot: SwapSlot,
        vma: Option<VmaId>,
    ) -> Outcome<FolioId> {
        // The wanted page must get a frame; the others only if it costs no wait.
        let wanted = self.alloc_user_in(tid, self.group_for_slot(tid, slot)).frame()?;
        if self.was_written_back(slot, wanted) {
            return Err(Undone::Again);
        }
        self.major(tid);
        self.mem.acting.now += self.mem.given.cost.t_major_cpu;
        let of_process = vma.filter(|&v| self.mem.virt.spaces.vma(v).kind == VmaKind::Anon);
        let window = match of_process {
            Some(vma) if self.reads_ahead_by_address() => self.window_by_address(page, vma),
            _ => self.window_by_offset(page, slot),
        };
        let mut read = Vec::with_capacity(window.len());
        for &(s, at) in &window {
            let pfn = match s == slot {
                true => Some(wanted),
                false if self.mem.is_in_swapcache(s) => None,
                false => self.alloc_speculative(tid, self.group_for_slot(tid, s)),
            };
            let Some(pfn) = pfn else { continue };
            if self.was_written_back(s, pfn) {
                continue;
            }
            self.enter_swapcache(pfn, s, at, vma, s != slot);
            read.push((s, pfn));
        }
        self.submit_swap_reads(&read);
        if window.len() > 1 {
            self.mem.lru_drain(&mut *self.policies.lru);
        }
        self.queue_io();
        if !read.iter().any(|&(_, pfn)| pfn == wanted) {
            return Err(Undone::Again);
        }
        if self.mem.frames.has(wanted, flag::LOCKED) {
            let refault = self.mem.frames.has(wanted, flag::WORKINGSET);
            self.retry_fault(tid);
            self.wait_for_folio(tid, wanted, refault);
            return Err(Undone::Blocked);
        }
        // It holds zeros, zswap had it, or a synchronous device did, which is not read past the swap
        // cache: several users share the slot, or the kernel does not do that.
        Ok(wanted)
    }

    /// True if the reclaim that made room for the page of a slot had zswap write that page back: it is
    /// in the swap cache now, and the frame is not wanted (`-EEXIST` of `swapcache_prepare`).
    #[inline]
    pub(in crate::machine) fn was_written_back(&mut self, slot: SwapSlot, pfn: Pfn) -> bool {
        let there = self.mem.zswap().is_some() && self.mem.is_in_swapcache(slot);
        if there {
            self.give_back(pfn);
        }
        there
    }

    pub(in crate::machine) fn enter_swapcache(
        &mut self,
        pfn: Pfn,
        slot: SwapSlot,
        page: Option<PageIdx>,
        vma: Option<VmaId>,
        ahead: bool,
    ) {
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.rmap[pfn] = u32::MAX;
        let mut bits = flag::SWAPBACKED | flag::SWAPCACHE | flag::LOCKED;
        if ahead {
            bits |= flag::READAHEAD;
            self.mem.count(VmEvent::SwapRa, 1);
        }
        self.mem.frames.set(pfn, bits);
        self.mem.frames.set_slot(pfn, slot);
        let how = self.arrival(ArrivalKind::SwapIn, vma);
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        let old = swap.cached(slot);
        swap.set(slot, Cached::Folio(pfn));
        let shadow = if let Cached::Shadow(s) = old { Some(s) } else { None };
        // Beside the wanted one, slots of a disk are read that an observer has a name for.
        let page = page.or_else(|| self.mem.page_of_slot(slot));
        self.mem.emit(|| TraceEvent::SimSwapRead { pfn, page, slot, ahead });
        self.mem.telling.refaulting = page;
        self.policies.lru.folio_entering(&mut self.mem, pfn, shadow, how);
        self.mem.tell_of_swap_in(pfn, page);
        self.mem.lru_add(&mut *self.policies.lru, pfn, how);
    }

    /// Adjacent slots of one window are one request.
    pub(in crate::machine) fn submit_swap_reads(&mut self, read: &[(SwapSlot, Pfn)]) {
        let on_device = self.mem.left_to_device(read);
        let read = on_device.as_deref().unwrap_or(read);
        for &(_, pfn) in read {
            self.mem.count_in(self.mem.frames.memcg(pfn), VmEvent::PswpIn, 1);
        }
        let mut i = 0;
        while i < read.len() {
            let mut n = 1;
            while i + n < read.len() && read[i + n].0.0 == read[i].0.0 + n as u32 {
                n += 1;
            }
            let swap = self.mem.swap.as_mut().expect("a slot is of a device");
            let device = swap.device_of_mut(read[i].0);
            if device.config().synchronous {
                let cost = device.read_sync(n as u32);
                self.mem.acting.now += cost;
                self.mem.count_swap_requests(Io::Read, n as u64);
                for &(_, pfn) in &read[i..i + n] {
                    self.mem.frames.clear(pfn, flag::LOCKED);
                }
            } else {
                let at = read[i].0.0.into();
                let done = device.submit(self.mem.acting.now, Io::Read, at, n as u32);
                self.mem.count_swap_requests(Io::Read, n.div_ceil(SWAP_IOCB_PAGES) as u64);
                for &(_, pfn) in &read[i..i + n] {
                    self.mem.acting.io.push((done, IoDone::Read(pfn)));
                }
            }
            i += n;
        }
    }

    /// Pages around a faulting address whose PTEs are swap entries.
    fn window_by_address(&mut self, page: PageIdx, vma: VmaId) -> Vec<(SwapSlot, Option<PageIdx>)> {
        let max = 1 << self.mem.given.vm.page_cluster.min(5);
        let v = self.mem.virt.spaces.vma_mut(vma);
        let (start, end) = (v.start.0, v.end().0);
        let ra = &mut v.swap_ra;
        let (prev, hits, pw) = (ra.prev, ra.hits, ra.win);
        let win = if max == 1 { max } else { window(page.0, prev, hits, max, pw) };
        (ra.prev, ra.hits, ra.win) = (page.0, 0, win);
        let first = if page.0 == prev.wrapping_add(1) {
            page.0
        } else if page.0.wrapping_add(1) == prev {
            page.0.saturating_sub(win - 1)
        } else {
            page.0.saturating_sub((win - 1) / 2)
        };
        let group = page.group().first().0;
        let lo = first.max(start).max(group);
        let hi = (first + win).min(end).min(group + 512);
        (lo..hi)
            .filter_map(|p| match self.mem.virt.pages.entry(PageIdx(p)) {
                Entry::Swap(s) => Some((s, Some(PageIdx(p)))),
                _ => None,
            })
            .collect()
    }

    /// The aligned group of slots around the wanted one, which is that of a page. Whose the others
    /// are no PTE says.
    fn window_by_offset(
        &mut self,
        page: PageIdx,
        slot: SwapSlot,
    ) -> Vec<(SwapSlot, Option<PageIdx>)> {
        let max = 1u32 << self.mem.given.vm.page_cluster.min(31);
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        let area = swap.area(slot);
        let (header, last) = (area.header(), area.total());
        let at = slot.0 - header;
        let ra = &mut swap.ra;
        let win = if max == 1 { max } else { window(at, ra.prev, ra.hits, max, ra.win) };
        if ra.hits == 0 {
            ra.prev = at;
        }
        (ra.hits, ra.win) = (0, win);
        let first = at & !(win - 1);
        let swap = self.mem.swap.as_ref().expect("as above");
        (first.max(1)..=(first + win - 1).min(last))
            .map(|s| SwapSlot(header + s))
            .filter(|&s| s == slot || swap.in_use(s))
            .map(|s| (s, (s == slot).then_some(page)))
            .collect()
    }
}

/// Size of a swap readahead window: `hits` since the last decision, the
/// previous position and window.
fn window(position: u32, prev: u32, hits: u32, max: u32, previous: u32) -> u32 {
    let win = if hits == 0 {
        if position == prev.wrapping_add(1) || position.wrapping_add(1) == prev { 2 } else { 1 }
    } else {
        (hits + 2).max(4).next_power_of_two()
    };
    win.min(max).max(previous / 2)
}

#[cfg(test)]
mod tests {
    use super::window;

    /// Worked by hand: page-cluster 3, hits start at 4; prev moves only when hits were 0.
    #[test]
    fn windows_as_worked_by_hand() {
        let (mut prev, mut win) = (0, 0);
        for (slot, hits, want_win, want_prev) in [
            (1000, 4, 8, 0),
            (5000, 0, 4, 5000),
            (9000, 0, 2, 9000),
            (3000, 0, 1, 3000),
            (7000, 0, 1, 7000),
            (7001, 0, 2, 7001),
            (7040, 2, 4, 7001),
            (8000, 1, 4, 7001),
            (100, 7, 8, 7001),
        ] {
            win = window(slot, prev, hits, 8, win);
            if hits == 0 {
                prev = slot;
            }
            assert_eq!((win, prev), (want_win, want_prev), "slot {slot}");
        }
    }
}
