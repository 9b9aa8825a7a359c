//! Page faults: what a touch does that is no hit.
//!
//! A fault is one atomic step up to where it blocks: on a read, on a throttle. A thread
//! that blocked tries its access anew when it is woken; the fault was counted then.
//!
//! Source: Linux 6.12 mm/memory.c (`do_anonymous_page`, `do_swap_page`, `do_wp_page`),
//! mm/swap_state.c (readahead), mm/filemap.c (`filemap_fault`, `filemap_map_pages`).

use super::Machine;
use super::alloc::Got;
use super::config::Kernel;
use super::thread::Wait;
use crate::backing::device::Io;
use crate::backing::swap::{Cached, Swap};
use crate::base::event::{FaultKind, TraceEvent};
use crate::base::id::{PageIdx, Pfn, SwapSlot, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::memory::IoDone;
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::{Arrival, ArrivalKind};
use crate::virt::pages::{Entry, pte};
use crate::virt::space::VmaKind;

/// Whether an operation is done, or the thread has to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// Done.
    Done,
    /// Things have changed: to be tried anew at once.
    Again,
    /// The thread waits and tries anew.
    Blocked,
    /// The thread is no more.
    Killed,
}

impl From<Got> for Flow {
    fn from(g: Got) -> Flow {
        match g {
            Got::Frame(_) => Flow::Done,
            Got::Blocked => Flow::Blocked,
            Got::Killed => Flow::Killed,
        }
    }
}

macro_rules! frame_or_return {
    ($got:expr) => {
        match $got {
            Got::Frame(p) => p,
            other => return Flow::from(other),
        }
    };
}

impl Machine {
    /// A touch that the hardware could not satisfy.
    pub(super) fn fault(&mut self, tid: ThreadId, page: PageIdx, write: bool) -> Flow {
        let (begin, again) = match self.threads[tid].fault {
            Some((p, begin, _)) if p == page => (begin, true),
            _ => (self.mem.now, false),
        };
        let space = self.threads[tid].space;
        if !again {
            self.threads[tid].fault = Some((page, begin, false));
            let memcg = self.mem.spaces[space].memcg;
            self.mem.count_in(memcg, VmEvent::PgFault, 1);
        }
        let g = page.group();
        if self.mem.pages.group(g).table.is_none() {
            let t = frame_or_return!(self.alloc_table(tid));
            self.mem.set_table(g, t);
        }
        let vma = self.mem.spaces.vma_of(&self.mem.pages, page);
        let (flow, kind) = match self.mem.pages.entry(page) {
            Entry::Frame(folio) => self.write_fault(tid, page, folio, vma),
            Entry::Swap(slot) => self.swap_fault(tid, page, slot, vma, write),
            Entry::None | Entry::Zero => match self.mem.spaces.vma(vma).kind {
                VmaKind::Anon => self.anon_fault(tid, page, vma, write),
                VmaKind::File { file, offset, shared } => {
                    let start = self.mem.spaces.vma(vma).start;
                    let at = PageIdx(self.mem.files[file].base.0 + offset + (page.0 - start.0));
                    self.file_fault(tid, page, at, vma, write, shared)
                }
            },
            Entry::Shadow(_) => unreachable!("{page} of {space} holds a file's shadow"),
        };
        if flow == Flow::Done {
            let (_, _, major) = self.threads[tid].fault.take().expect("the fault is under way");
            let took = self.mem.now.since(begin);
            self.latency[usize::from(major)].add(took);
            self.mem.emit(|| TraceEvent::PageFault { thread: tid, page, write, kind, major });
            self.mem.settle_kernel();
        }
        flow
    }

    /// The fault had to read: counted once.
    pub(super) fn major(&mut self, tid: ThreadId) {
        if let Some(f) = &mut self.threads[tid].fault
            && !f.2
        {
            f.2 = true;
            let memcg = self.mem.spaces[self.threads[tid].space].memcg;
            self.mem.count_in(memcg, VmEvent::PgMajFault, 1);
        }
    }

    pub(super) fn arrival(&self, kind: ArrivalKind, vma: Option<VmaId>) -> Arrival {
        let in_fault = vma.map(|v| self.mem.spaces.vma(v).recency(self.mem.ignores_random()));
        Arrival { kind, in_fault, position: 0 }
    }

    fn anon_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        vma: VmaId,
        write: bool,
    ) -> (Flow, FaultKind) {
        if !write {
            self.mem.now += self.mem.cost.t_minor_map;
            self.mem.pages.set_entry(page, Entry::Zero, pte::YOUNG);
            return (Flow::Done, FaultKind::ZeroPage);
        }
        (self.new_anon(tid, page, vma), FaultKind::ZeroFill)
    }

    /// A new anonymous folio for a page that holds none.
    fn new_anon(&mut self, tid: ThreadId, page: PageIdx, vma: VmaId) -> Flow {
        let pfn = frame_or_return!(self.alloc_user(tid));
        self.mem.now += self.mem.cost.t_minor_anon;
        self.make_anon(pfn, vma);
        let how = self.arrival(ArrivalKind::New, Some(vma));
        self.policy.folio_entering(&mut self.mem, pfn, how);
        self.mem.pages.set_entry(page, Entry::None, 0);
        self.mem.map(page, pfn, pte::YOUNG | pte::DIRTY | pte::WRITABLE);
        self.mem.lru_add(&mut *self.policy, pfn, how);
        Flow::Done
    }

    fn make_anon(&mut self, pfn: Pfn, vma: VmaId) {
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.rmap[pfn] = u32::MAX;
        let locked = self.mem.spaces.vma(vma).flags.locked;
        let bits = flag::SWAPBACKED | if locked { flag::MLOCKED } else { 0 };
        self.mem.frames.set(pfn, bits);
    }

    /// A write to a present page that may not be written.
    fn write_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        folio: FolioId,
        vma: VmaId,
    ) -> (Flow, FaultKind) {
        let hot = self.mem.pages.hot(page);
        let written = hot | pte::WRITABLE | pte::DIRTY | pte::YOUNG;
        if self.mem.frames.kind(folio) == FrameKind::Anon {
            if !self.mem.frames.has(folio, flag::LRU) {
                self.mem.lru_drain(&mut *self.policy);
            }
            if self.mem.frames.mapped(folio) == Mapped::Once {
                self.mem.now += self.mem.cost.t_minor_map;
                self.mem.count(VmEvent::PgReuse, 1);
                if self.mem.kernel < Kernel::V6_1 {
                    self.try_free_swap(folio);
                }
                self.mem.pages.set_hot(page, written);
                return (Flow::Done, FaultKind::Reuse);
            }
        } else if matches!(self.mem.spaces.vma(vma).kind, VmaKind::File { shared: true, .. }) {
            self.mem.now += self.mem.cost.t_minor_map;
            self.mem.pages.set_hot(page, written);
            let at = self.mem.file_page_of(folio);
            self.mem.dirty_folio(folio, at);
            self.balance_dirty_pages(tid);
            return (Flow::Done, FaultKind::Reuse);
        }
        // Copy on write: a private page of a file, or an anonymous page that others map.
        let pfn = match self.alloc_user(tid) {
            Got::Frame(p) => p,
            other => return (other.into(), FaultKind::Cow),
        };
        // Reclaim on the way may have taken the page that was to be copied: then the
        // access is simply tried anew.
        if self.mem.pages.entry(page) != Entry::Frame(folio) {
            self.give_back(pfn);
            return (Flow::Again, FaultKind::Cow);
        }
        self.mem.now += self.mem.cost.t_minor_anon + self.mem.cost.t_copy_page;
        self.mem.unmap_for_copy(page, folio);
        self.make_anon(pfn, vma);
        let how = self.arrival(ArrivalKind::New, Some(vma));
        self.policy.folio_entering(&mut self.mem, pfn, how);
        self.mem.map(page, pfn, pte::YOUNG | pte::DIRTY | pte::WRITABLE);
        self.mem.lru_add(&mut *self.policy, pfn, how);
        (Flow::Done, FaultKind::Cow)
    }

    /// A charged frame that is not needed after all.
    fn give_back(&mut self, pfn: Pfn) {
        let memcg = self.mem.frames.memcg(pfn);
        self.mem.memcgs.uncharge(memcg, 1);
        self.mem.free_frame(pfn);
    }

    /// Drops the copy in the swap cache of a folio that no PTE wants from there
    /// (`folio_free_swap`).
    fn try_free_swap(&mut self, folio: FolioId) {
        let f = &self.mem.frames;
        if f.has(folio, flag::SWAPCACHE)
            && !f.has(folio, flag::WRITEBACK)
            && self.mem.swap.as_ref().is_some_and(|s| s.count(f.slot(folio)) == 0)
        {
            self.mem.drop_swapcache(folio);
            self.mem.frames.set(folio, flag::DIRTY);
        }
    }

    // ---- swap ----

    fn swap_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        slot: SwapSlot,
        vma: VmaId,
        write: bool,
    ) -> (Flow, FaultKind) {
        let kind = FaultKind::SwapIn;
        let swap = self.mem.swap.as_ref().expect("a swap entry without swap");
        if let Cached::Folio(folio) = swap.cached(slot) {
            return (self.swapcache_fault(tid, page, slot, folio, vma, write), kind);
        }
        if swap.device.config().synchronous && swap.count(slot) == 1 {
            return (self.swap_in_directly(tid, page, slot, vma, write), kind);
        }
        (self.swap_in_window(tid, page, slot, vma), kind)
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
    ) -> Flow {
        let (p, _, major) = self.threads[tid].fault.expect("the fault is under way");
        debug_assert_eq!(p, page);
        // The thread that asked for the read is not surprised to find the page.
        if !major {
            let flagged = self.mem.frames.test_clear(folio, flag::READAHEAD);
            if flagged {
                self.mem.count(VmEvent::SwapRaHit, 1);
            }
            if self.reads_ahead_by_address() {
                let ra = &mut self.mem.spaces.vma_mut(vma).swap_ra;
                ra.prev = page.0;
                ra.hits = (ra.hits + u32::from(flagged)).min(63);
            } else if flagged {
                self.mem.swap.as_mut().expect("a slot is of a device").ra.hits += 1;
            }
        }
        if self.mem.frames.has(folio, flag::LOCKED) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.wait_for_folio(tid, folio, refault);
            return Flow::Blocked;
        }
        self.mem.now += if major { self.mem.cost.t_major_cpu } else { self.mem.cost.t_minor_map };
        self.map_swapped(page, slot, folio, vma, write);
        Flow::Done
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
        let exclusive = self.mem.pages.hot(page) & pte::EXCLUSIVE != 0;
        let only_user = self.mem.swap.as_ref().is_some_and(|s| s.count(slot) == 1)
            && self.mem.frames.mapped(folio) == Mapped::No;
        let writable = if self.mem.kernel >= Kernel::V6_1 {
            exclusive || only_user
        } else {
            write && only_user
        };
        let mut bits = pte::YOUNG;
        if writable {
            bits |= pte::WRITABLE | if write { pte::DIRTY } else { 0 };
        }
        self.leave_swap_entry(page);
        self.mem.map(page, folio, bits);
        let cpu = self.mem.cpu.0.into();
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        swap.put(slot, cpu);
        let locked = self.mem.spaces.vma(vma).flags.locked;
        if locked {
            self.mem.frames.set(folio, flag::MLOCKED);
        }
        let full = self.mem.swap.as_ref().is_some_and(Swap::full);
        if full || locked || write && self.mem.frames.mapped(folio) == Mapped::Once {
            self.try_free_swap(folio);
        }
        self.policy.swapin_mapped(&mut self.mem, folio);
    }

    fn leave_swap_entry(&mut self, page: PageIdx) {
        self.mem.pages.set_entry(page, Entry::None, 0);
        let space = self.mem.space_of(page);
        self.mem.spaces[space].swapents -= 1;
        let memcg = self.mem.spaces[space].memcg;
        self.mem.memcgs.uncharge_swap(memcg, 1);
    }

    /// A synchronous device and a slot with one user: read in the fault, past the swap
    /// cache, and free the slot.
    fn swap_in_directly(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        slot: SwapSlot,
        vma: VmaId,
        write: bool,
    ) -> Flow {
        let pfn = frame_or_return!(self.alloc_user(tid));
        self.major(tid);
        self.mem.now += self.mem.cost.t_major_cpu;
        let memcg = self.mem.frames.memcg(pfn);
        self.make_anon(pfn, vma);
        let how = self.arrival(ArrivalKind::SwapIn, Some(vma));
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        let cost = swap.device.sync_cost(Io::Read, 1);
        if let Cached::Shadow(s) = swap.cached(slot) {
            self.mem.refaulting = Some(page);
            self.policy.folio_refaulted(&mut self.mem, pfn, s, how);
        }
        self.policy.folio_entering(&mut self.mem, pfn, how);
        self.mem.lru_add(&mut *self.policy, pfn, how);
        self.mem.count_in(memcg, VmEvent::PswpIn, 1);
        self.mem.now += cost;
        self.leave_swap_entry(page);
        let cpu = self.mem.cpu.0.into();
        if self.mem.swap.as_mut().expect("as above").put(slot, cpu) {
            self.mem.slot_freed();
        }
        let dirty = if write { pte::DIRTY } else { 0 };
        self.mem.map(page, pfn, pte::YOUNG | pte::WRITABLE | dirty);
        // The contents exist nowhere else now.
        self.mem.frames.set(pfn, flag::DIRTY);
        self.policy.swapin_mapped(&mut self.mem, pfn);
        Flow::Done
    }

    fn reads_ahead_by_address(&self) -> bool {
        self.mem.swap.as_ref().is_some_and(|s| !s.device.config().rotational)
    }

    /// Reads a window of slots around the wanted one into the swap cache, and waits.
    fn swap_in_window(&mut self, tid: ThreadId, page: PageIdx, slot: SwapSlot, vma: VmaId) -> Flow {
        // The wanted page must get a frame; the others only if it costs no wait.
        let wanted = frame_or_return!(self.alloc_user(tid));
        // Reclaim on the way changes nothing about a swap entry; the page is still out.
        self.major(tid);
        self.mem.now += self.mem.cost.t_major_cpu;
        let window = if self.reads_ahead_by_address() {
            self.window_by_address(page, vma)
        } else {
            self.window_by_offset(slot)
        };
        let mut read = Vec::with_capacity(window.len());
        for &(s, at) in &window {
            let cached = self.mem.swap.as_ref().expect("a slot is of a device").cached(s);
            if matches!(cached, Cached::Folio(_)) {
                continue;
            }
            let pfn = if s == slot {
                wanted
            } else {
                match self.alloc_speculative(tid) {
                    Some(p) => p,
                    None => continue,
                }
            };
            self.enter_swapcache(pfn, s, at, vma, s != slot);
            read.push((s, pfn));
        }
        self.submit_swap_reads(&read);
        if window.len() > 1 {
            self.mem.lru_drain(&mut *self.policy);
        }
        self.queue_io();
        if self.mem.frames.has(wanted, flag::LOCKED) {
            let refault = self.mem.frames.has(wanted, flag::WORKINGSET);
            self.wait_for_folio(tid, wanted, refault);
        } else {
            // A synchronous device read it already; several users share the slot.
            return Flow::Again;
        }
        Flow::Blocked
    }

    fn enter_swapcache(
        &mut self,
        pfn: Pfn,
        slot: SwapSlot,
        page: Option<PageIdx>,
        vma: VmaId,
        ahead: bool,
    ) {
        let memcg = self.mem.frames.memcg(pfn);
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.rmap[pfn] = u32::MAX;
        let mut bits = flag::SWAPBACKED | flag::SWAPCACHE | flag::LOCKED;
        if ahead {
            bits |= flag::READAHEAD;
            self.mem.count(VmEvent::SwapRa, 1);
        }
        self.mem.frames.set(pfn, bits);
        self.mem.frames.set_slot(pfn, slot);
        let how = self.arrival(ArrivalKind::SwapIn, Some(vma));
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        let old = swap.cached(slot);
        swap.set(slot, Cached::Folio(pfn));
        if let Cached::Shadow(s) = old {
            self.mem.refaulting = page;
            self.policy.folio_refaulted(&mut self.mem, pfn, s, how);
        }
        self.policy.folio_entering(&mut self.mem, pfn, how);
        self.mem.lru_add(&mut *self.policy, pfn, how);
        self.mem.count_in(memcg, VmEvent::PswpIn, 1);
    }

    /// Adjacent slots of one window are one request.
    fn submit_swap_reads(&mut self, read: &[(SwapSlot, Pfn)]) {
        let mut i = 0;
        while i < read.len() {
            let mut n = 1;
            while i + n < read.len() && read[i + n].0.0 == read[i].0.0 + n as u32 {
                n += 1;
            }
            let swap = self.mem.swap.as_mut().expect("a slot is of a device");
            if swap.device.config().synchronous {
                let cost = swap.device.sync_cost(Io::Read, n as u32);
                self.mem.now += cost;
                for &(_, pfn) in &read[i..i + n] {
                    self.mem.frames.clear(pfn, flag::LOCKED);
                }
            } else {
                let at = read[i].0.0.into();
                let done = swap.device.submit(self.mem.now, Io::Read, at, n as u32);
                for &(_, pfn) in &read[i..i + n] {
                    self.mem.io.push((done, IoDone::Read(pfn)));
                }
            }
            i += n;
        }
    }

    /// Pages around a faulting address whose PTEs are swap entries.
    fn window_by_address(&mut self, page: PageIdx, vma: VmaId) -> Vec<(SwapSlot, Option<PageIdx>)> {
        let max = 1 << self.mem.vm.page_cluster.min(5);
        let v = self.mem.spaces.vma_mut(vma);
        let (start, end) = (v.start.0, v.end().0);
        let ra = &mut v.swap_ra;
        let (prev, hits, pw) = (ra.prev, ra.hits, ra.win);
        let win = if max == 1 { 1 } else { window(page.0, prev, hits, max, pw) };
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
            .filter_map(|p| match self.mem.pages.entry(PageIdx(p)) {
                Entry::Swap(s) => Some((s, Some(PageIdx(p)))),
                _ => None,
            })
            .collect()
    }

    /// The aligned group of slots around the wanted one.
    fn window_by_offset(&mut self, slot: SwapSlot) -> Vec<(SwapSlot, Option<PageIdx>)> {
        let max = 1u32 << self.mem.vm.page_cluster.min(31);
        let swap = self.mem.swap.as_mut().expect("a slot is of a device");
        let ra = &mut swap.ra;
        let win = if max == 1 { 1 } else { window(slot.0, ra.prev, ra.hits, max, ra.win) };
        if ra.hits == 0 {
            ra.prev = slot.0;
        }
        (ra.hits, ra.win) = (0, win);
        let first = slot.0 & !(win - 1);
        let total = swap.total();
        let swap = self.mem.swap.as_ref().expect("as above");
        (first.max(1)..=(first + win - 1).min(total))
            .map(SwapSlot)
            .filter(|&s| s == slot || swap.in_use(s))
            .map(|s| (s, None))
            .collect()
    }

    // ---- files ----

    fn file_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        at: PageIdx,
        vma: VmaId,
        write: bool,
        shared: bool,
    ) -> (Flow, FaultKind) {
        let major = self.threads[tid].fault.is_some_and(|f| f.2);
        // Neighbours that are cached are mapped first, the page itself among them.
        if !write && self.fault_around(page, at, vma) {
            self.mem.now +=
                if major { self.mem.cost.t_major_cpu } else { self.mem.cost.t_minor_map };
            let kind = if major { FaultKind::FileMajor } else { FaultKind::FileMinor };
            return (Flow::Done, kind);
        }
        let folio = match self.mem.pages.entry(at) {
            Entry::Frame(f) => f,
            _ => {
                // What lies around the missing page is mapped before it is read.
                if !write {
                    self.fault_around(page, at, vma);
                }
                self.major(tid);
                let flow = self.mmap_readahead(tid, at, vma);
                return (flow, FaultKind::FileMajor);
            }
        };
        let kind = if major { FaultKind::FileMajor } else { FaultKind::FileMinor };
        if !major {
            self.mmap_hit(tid, at, vma);
            if self.mem.pages.entry(at) != Entry::Frame(folio) {
                return (Flow::Again, kind);
            }
        }
        if self.mem.frames.has(folio, flag::LOCKED) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.wait_for_folio(tid, folio, refault);
            return (Flow::Blocked, kind);
        }
        self.mem.now += if major { self.mem.cost.t_major_cpu } else { self.mem.cost.t_minor_map };
        if write && !shared {
            let pfn = match self.alloc_user(tid) {
                Got::Frame(p) => p,
                other => return (other.into(), FaultKind::Cow),
            };
            self.mem.now += self.mem.cost.t_copy_page;
            self.make_anon(pfn, vma);
            let how = self.arrival(ArrivalKind::New, Some(vma));
            self.policy.folio_entering(&mut self.mem, pfn, how);
            self.mem.map(page, pfn, pte::YOUNG | pte::DIRTY | pte::WRITABLE);
            self.mem.lru_add(&mut *self.policy, pfn, how);
            return (Flow::Done, FaultKind::Cow);
        }
        let mut bits = pte::YOUNG;
        if write {
            bits |= pte::DIRTY | pte::WRITABLE;
            self.mem.dirty_folio(folio, Some(at));
            self.balance_dirty_pages(tid);
        }
        self.mem.map(page, folio, bits);
        (Flow::Done, kind)
    }

    /// Maps the cached pages of the aligned group around a read fault (`fault_around_bytes`);
    /// true if the page itself was among them. Each page met says that reading around paid:
    /// it takes back one of the misses that switch readahead off, in 6.12 unless the page was
    /// evicted lately.
    fn fault_around(&mut self, page: PageIdx, at: PageIdx, vma: VmaId) -> bool {
        let n = self.mem.vm.fault_around.max(1);
        if n == 1 {
            return false;
        }
        let v = self.mem.spaces.vma(vma);
        let table = page.group().first().0;
        let first = (page.0 & !(n - 1)).max(v.start.0).max(table);
        let last = (page.0 | (n - 1)).min(v.end().0 - 1).min(table + 511);
        let (file, _) = self.mem.file_at(at);
        let (base, pages) = (self.mem.files[file].base.0, self.mem.files[file].pages);
        let (mut met, mut mapped) = (0, false);
        for p in first..=last {
            let there = at.0.wrapping_add(p).wrapping_sub(page.0);
            if there < base || there >= base + pages {
                continue;
            }
            let Entry::Frame(folio) = self.mem.pages.entry(PageIdx(there)) else { continue };
            if self.mem.frames.has(folio, flag::LOCKED | flag::RA_TRIGGER) {
                continue;
            }
            let lately =
                self.mem.kernel >= Kernel::V6_12 && self.mem.frames.has(folio, flag::WORKINGSET);
            met += u32::from(!lately);
            if self.mem.pages.entry(PageIdx(p)) == Entry::None {
                self.mem.map(PageIdx(p), folio, pte::YOUNG);
                mapped |= p == page.0;
            }
        }
        let ra = &mut self.mem.files[file].ra;
        ra.mmap_miss = ra.mmap_miss.saturating_sub(met);
        mapped
    }

    /// Blocks a thread until a folio was read. A refault of a page that was in use before
    /// is memory pressure; a first read is not.
    pub(super) fn wait_for_folio(&mut self, tid: ThreadId, folio: FolioId, refault: bool) {
        self.waiters.entry(folio).or_default().push(tid);
        self.block(tid, Wait::Folio(folio), refault);
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
