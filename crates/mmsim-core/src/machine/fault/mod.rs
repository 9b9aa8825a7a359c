//! Page faults: what a touch does that is no hit.
//!
//! A fault is one atomic step up to where it blocks: on a read, on a throttle. A thread
//! that blocked tries its access anew when it is woken; the fault was counted then.
//!
//! Source: Linux 6.12 mm/memory.c (`do_anonymous_page`, `do_swap_page`, `do_wp_page`),
//! mm/swap_state.c (readahead), mm/filemap.c (`filemap_fault`, `filemap_map_pages`).

pub(in crate::machine) mod first_touch;
pub(in crate::machine) mod shmem;
pub(in crate::machine) mod swapin;
pub(in crate::machine) mod swapin_fast;
mod swapin_large;
pub(in crate::machine) mod thp;
pub(in crate::machine) mod touch;

use crate::base::id::{PageIdx, Pfn, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::config::HUGE_ORDER;
use crate::machine::Machine;
use crate::machine::cpu::thread::{Fault, FaultDone, Wait};
use crate::machine::fault::touch::{Outcome, Touch, Undone};
use crate::memory::trace::FaultKind;
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::{Access, Arrival, ArrivalKind};
use crate::virt::pages::{Entry, pte};
use crate::virt::space::VmaKind;
use crate::workload::VmaFlags;

impl Machine {
    /// A touch that the hardware could not satisfy.
    #[inline]
    pub(in crate::machine) fn fault(&mut self, touch: Touch) -> Outcome {
        let done = self.resolve(touch)?;
        self.end_fault(&touch, &done);
        Ok(())
    }

    /// A fault is resolved: counts, measures and reports it.
    #[inline]
    fn end_fault(&mut self, by: &Touch, done: &FaultDone) {
        self.record.fault(&mut self.mem, by.tid, by.memcg, done);
        self.mem.settle_kernel();
    }

    #[inline]
    fn resolve(&mut self, touch: Touch) -> Outcome<FaultDone> {
        let t = &self.work.threads[touch.tid];
        // What a thread waits for, and why it comes back, is noted only once it has to wait.
        let begun = match t.fault {
            Some(f) if f.page == touch.page => f,
            noted => {
                if noted.is_some() {
                    self.drop_fault(touch.tid);
                }
                self.mem.count_in(touch.memcg, VmEvent::PgFault, 1);
                Fault {
                    page: touch.page,
                    begin: self.mem.acting.now,
                    write: touch.write,
                    major: false,
                    retried: false,
                    below: HUGE_ORDER + 1,
                    noted: false,
                }
            }
        };
        if let Some(slot) = self.mem.virt.pages.swap_entry(touch.page)
            && let Some(shadow) = self.mem.private_swap(slot)
        {
            return self.swap_in_directly(touch, begun, slot, shadow);
        }
        self.work.threads[touch.tid].fault = Some(Fault { noted: true, ..begun });
        let kind = self.resolve_noted(touch)?;
        let fault = self.work.threads[touch.tid].fault.take().expect("the fault is under way");
        Ok(fault.done(touch.write, kind))
    }

    /// Resolves a fault that its thread has a note of, by what its PTE holds.
    #[inline(never)]
    fn resolve_noted(&mut self, touch: Touch) -> Outcome<FaultKind> {
        let Touch { tid, page, vma, write, .. } = touch;
        let g = page.group();
        if self.mem.virt.pages.group(g).table.is_none() {
            if self.mem.virt.spaces.vma(vma).kind == VmaKind::HugeTlb {
                return Ok(self.hugetlb_fault(page, write));
            }
            if write && self.huge_fault(touch)? {
                return Ok(FaultKind::ZeroFill);
            }
            let t = self.alloc_table(tid).frame()?;
            self.mem.set_table(g, t);
        }
        match self.mem.virt.pages.entry(page) {
            Entry::Frame(folio) => self.write_fault(tid, page, folio, vma),
            Entry::Swap(slot) => self.swap_fault(tid, page, slot, vma, write),
            Entry::None | Entry::Zero => match self.mem.virt.spaces.vma(vma).kind {
                VmaKind::Anon => self.anon_fault(touch),
                VmaKind::HugeTlb => unreachable!("{page} has a page table"),
                VmaKind::Shmem { file, offset } => {
                    let start = self.mem.virt.spaces.vma(vma).start;
                    let at =
                        PageIdx(self.mem.cache.files[file].base.0 + offset + (page.0 - start.0));
                    self.shmem_fault(tid, page, at, vma, write)
                }
                VmaKind::File { file, offset, shared } => {
                    let start = self.mem.virt.spaces.vma(vma).start;
                    let at =
                        PageIdx(self.mem.cache.files[file].base.0 + offset + (page.0 - start.0));
                    self.file_fault(tid, page, at, vma, write, shared)
                }
            },
            Entry::Shadow(_) => unreachable!("{page} of a process holds a file's shadow"),
        }
    }

    /// The thread goes on: what it waited for in a fault may have been done by another thread,
    /// and its access hits now.
    #[cold]
    #[inline(never)]
    pub(in crate::machine) fn resolved_meanwhile(&mut self, tid: ThreadId) {
        let Some(f) = self.work.threads[tid].fault else { return };
        let need = pte::PRESENT | if f.write { pte::WRITABLE } else { 0 };
        if self.mem.virt.pages.hot(f.page) & need != need {
            return;
        }
        self.work.threads[tid].fault = None;
        let kind = match self.mem.virt.pages.entry(f.page) {
            Entry::Frame(p) if !self.mem.frames.is_of_file(p) => FaultKind::SwapCache,
            Entry::Frame(_) if f.major => FaultKind::FileMajor,
            Entry::Frame(_) => FaultKind::FileMinor,
            _ => FaultKind::ZeroPage,
        };
        let memcg = self.work.threads[tid].memcg;
        self.record.fault(&mut self.mem, tid, memcg, &f.done(f.write, kind));
    }

    /// A fault under way ends without its page: its thread does so, or its mapping did.
    #[cold]
    pub(in crate::machine) fn drop_fault(&mut self, tid: ThreadId) {
        if let Some(f) = self.work.threads[tid].fault.take() {
            self.record.faults_cut_short[0] += 1;
            self.record.faults_cut_short[1] += u64::from(f.major);
        }
    }

    /// The fault lets go of the lock of its address space, to wait or to read, and is tried anew.
    /// It does so once, and may be counted again then (`handle_mm_fault`).
    pub(in crate::machine) fn retry_fault(&mut self, tid: ThreadId) {
        let t = &mut self.work.threads[tid];
        let memcg = t.memcg;
        if self.mem.given.rules.counts_retried_faults
            && let Some(f) = &mut t.fault
            && !f.retried
        {
            f.retried = true;
            self.record.retried_faults += 1;
            self.mem.count_in(memcg, VmEvent::PgFault, 1);
        }
    }

    /// The fault had to read: counted once.
    pub(in crate::machine) fn major(&mut self, tid: ThreadId) {
        let t = &mut self.work.threads[tid];
        let memcg = t.memcg;
        if let Some(f) = &mut t.fault
            && !f.major
        {
            f.major = true;
            self.mem.count_in(memcg, VmEvent::PgMajFault, 1);
        }
    }

    /// Makes a charged frame an anonymous folio of a mapping; returns how it arrives.
    #[inline]
    pub(in crate::machine) fn make_anon(
        &mut self,
        pfn: Pfn,
        flags: VmaFlags,
        kind: ArrivalKind,
    ) -> Arrival {
        self.mem.frames.reset(pfn, FrameKind::Anon);
        self.mem.frames.set(pfn, flag::SWAPBACKED);
        if flags.locked {
            self.mem.mlock(pfn);
        }
        let recency = flags.recency(self.mem.ignores_random());
        Arrival { kind, in_fault: Some(recency), position: 0 }
    }

    pub(in crate::machine) fn arrival(&self, kind: ArrivalKind, vma: Option<VmaId>) -> Arrival {
        let in_fault = vma.map(|v| self.mem.virt.spaces.vma(v).recency(self.mem.ignores_random()));
        Arrival { kind, in_fault, position: 0 }
    }

    fn anon_fault(&mut self, touch: Touch) -> Outcome<FaultKind> {
        let Touch { tid, page, vma, write, .. } = touch;
        if !write {
            self.mem.acting.now += self.mem.given.cost.t_minor_map;
            self.mem.virt.pages.set_entry(page, Entry::Zero, pte::ACCESSED);
            let space = self.mem.virt.spaces.vma(vma).space;
            self.mem.virt.spaces[space].zero_faults += 1;
            return Ok(FaultKind::ZeroPage);
        }
        if !self.mem.given.sizes_on || !self.large_fault(touch)? {
            self.new_anon(tid, page, vma)?;
        }
        Ok(FaultKind::ZeroFill)
    }

    /// A new anonymous folio for a page that holds none.
    fn new_anon(&mut self, tid: ThreadId, page: PageIdx, vma: VmaId) -> Outcome {
        let pfn = self.alloc_user(tid).frame()?;
        self.mem.acting.now += self.mem.given.cost.t_minor_anon;
        let (flags, space) =
            (self.mem.virt.spaces.vma(vma).flags_at(page), self.mem.virt.spaces.vma(vma).space);
        self.mem.virt.spaces[space].wrote_anon = true;
        let how = self.make_anon(pfn, flags, ArrivalKind::New);
        self.policies.lru.folio_entering(&mut self.mem, pfn, None, how);
        self.mem.virt.pages.set_entry(page, Entry::None, 0);
        self.mem.map(page, pfn, pte::ACCESSED | pte::DIRTY | pte::WRITABLE);
        self.mem.lru_add(&mut *self.policies.lru, pfn, how);
        // It is rarely the only one.
        self.touches.touching = self.touches.alone_for == 0;
        self.touches.alone_for = self.touches.alone_for.saturating_sub(1);
        Ok(())
    }

    /// A write to a present page that may not be written.
    fn write_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        folio: FolioId,
        vma: VmaId,
    ) -> Outcome<FaultKind> {
        let hot = self.mem.virt.pages.hot(page);
        let written = hot | pte::WRITABLE | pte::DIRTY | pte::ACCESSED;
        if self.mem.frames.kind(folio) == FrameKind::Anon {
            let copies = self.mem.given.rules.cow_of_held_pages;
            if !copies && !self.mem.frames.has(folio, flag::LRU) {
                self.mem.lru_drain(&mut *self.policies.lru);
            }
            let held = copies && self.mem.frames.has(folio, flag::SWAPCACHE | flag::IN_BATCH);
            if self.mem.frames.mapped(folio) == Mapped::Once && !held {
                self.mem.acting.now += self.mem.given.cost.t_minor_map;
                self.mem.count(VmEvent::PgReuse, 1);
                if !self.mem.given.rules.anon_exclusive {
                    self.mem.free_swap(folio);
                }
                self.mem.virt.pages.set_hot(page, written);
                return Ok(FaultKind::Reuse);
            }
        } else if matches!(self.mem.virt.spaces.vma(vma).kind, VmaKind::File { shared: true, .. }) {
            if self.held_back(tid) {
                return Err(Undone::Blocked);
            }
            self.mem.acting.now += self.mem.given.cost.t_minor_map;
            self.mem.virt.pages.set_hot(page, written);
            let at = self.mem.file_page_of(folio);
            self.mem.dirty_folio(folio, at);
            self.balance_dirty_pages(tid, folio);
            return Ok(FaultKind::Reuse);
        }
        // Copy on write: a private page of a file, or an anonymous page that others map or hold.
        let pfn = self.alloc_user(tid).frame()?;
        // Reclaim on the way may have taken the page that was to be copied: then the
        // access is simply tried anew.
        if self.mem.virt.pages.entry(page) != Entry::Frame(folio) {
            self.give_back(pfn);
            return Err(Undone::Again);
        }
        self.mem.acting.now += self.mem.given.cost.t_minor_anon + self.mem.given.cost.t_copy_page;
        self.mem.unmap_for_copy(page, folio);
        if self.mem.virt.spaces.vma(vma).locks(page) {
            self.mem.munlock_folio(&mut *self.policies.lru, folio);
        }
        // What only a batch held is gone; what the swap cache holds waits for reclaim.
        if self.mem.frames.kind(folio) == FrameKind::Anon
            && self.mem.frames.mapped(folio) == Mapped::No
            && !self.mem.frames.has(folio, flag::SWAPCACHE)
        {
            self.mem.free_anon(&mut *self.policies.lru, folio);
        }
        self.map_new_anon(page, pfn, vma);
        Ok(FaultKind::Cow)
    }

    /// Maps a charged frame as a new anonymous folio that may be written.
    fn map_new_anon(&mut self, page: PageIdx, pfn: Pfn, vma: VmaId) {
        let flags = self.mem.virt.spaces.vma(vma).flags_at(page);
        let how = self.make_anon(pfn, flags, ArrivalKind::New);
        self.policies.lru.folio_entering(&mut self.mem, pfn, None, how);
        self.mem.map(page, pfn, pte::ACCESSED | pte::DIRTY | pte::WRITABLE);
        self.mem.lru_add(&mut *self.policies.lru, pfn, how);
    }

    /// A charged frame that is not needed after all.
    pub(in crate::machine) fn give_back(&mut self, pfn: Pfn) {
        let memcg = self.mem.frames.memcg(pfn);
        self.mem.memcgs.uncharge(memcg, 1);
        self.mem.free_frame(pfn);
    }

    fn file_fault(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        at: PageIdx,
        vma: VmaId,
        write: bool,
        shared: bool,
    ) -> Outcome<FaultKind> {
        let major = self.work.threads[tid].fault.is_some_and(|f| f.major);
        let (kind, cost) = match major {
            true => (FaultKind::FileMajor, self.mem.given.cost.t_major_file),
            false => (FaultKind::FileMinor, self.mem.given.cost.t_minor_file),
        };
        // Neighbours that are cached are mapped first, the page itself among them.
        if !write && self.fault_around(tid, page, at, vma) {
            self.mem.acting.now += cost;
            return Ok(kind);
        }
        let folio = match self.mem.virt.pages.entry(at) {
            Entry::Frame(f) => f,
            _ => {
                // What lies around the missing page is mapped before it is read.
                if !write {
                    self.fault_around(tid, page, at, vma);
                }
                self.major(tid);
                self.retry_fault(tid);
                match self.mmap_readahead(tid, at, vma)? {}
            }
        };
        if !major {
            let ahead =
                self.mem.given.vm.ra_pages > 0 && !self.mem.virt.spaces.vma(vma).flags.rand_read;
            if ahead && self.mem.frames.has(folio, flag::RA_TRIGGER) {
                self.retry_fault(tid);
            }
            self.mmap_hit(tid, at, vma);
            if self.mem.virt.pages.entry(at) != Entry::Frame(folio) {
                return Err(Undone::Again);
            }
        }
        if self.mem.frames.has(folio, flag::LOCKED) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.retry_fault(tid);
            self.wait_for_folio(tid, folio, refault);
            return Err(Undone::Blocked);
        }
        self.mem.acting.now += cost;
        if write && !shared {
            let pfn = self.alloc_user(tid).frame()?;
            self.mem.acting.now += self.mem.given.cost.t_copy_page;
            self.map_new_anon(page, pfn, vma);
            return Ok(FaultKind::Cow);
        }
        if write && self.held_back(tid) {
            return Err(Undone::Blocked);
        }
        let mut bits = pte::ACCESSED;
        if write {
            bits |= pte::DIRTY | pte::WRITABLE;
            self.mem.dirty_folio(folio, Some(at));
            self.balance_dirty_pages(tid, folio);
        }
        self.mem.map(page, folio, bits);
        self.file_mapped(page, folio, vma, Access::FileMapped);
        Ok(kind)
    }

    /// Maps the cached pages of the aligned group around a read fault (`fault_around_bytes`);
    /// true if the page itself was among them. Each page met says that reading around paid:
    /// it takes back one of the misses that switch readahead off. Rules say whether pages that
    /// were in use before count, and whether only the page asked for does, unless it was read for
    /// this fault.
    pub(in crate::machine) fn fault_around(
        &mut self,
        tid: ThreadId,
        page: PageIdx,
        at: PageIdx,
        vma: VmaId,
    ) -> bool {
        let n = self.mem.given.vm.fault_around.max(1);
        if n == 1 {
            return false;
        }
        let v = self.mem.virt.spaces.vma(vma);
        let table = page.group().first().0;
        let first = (page.0 & !(n - 1)).max(v.start.0).max(table);
        let last = (page.0 | (n - 1)).min(v.end().0 - 1).min(table + 511);
        let (file, _) = self.mem.file_at(at);
        let (base, pages) = (self.mem.cache.files[file].base.0, self.mem.cache.files[file].pages);
        // A mapping of shared memory need not learn of the first write.
        let more = if matches!(v.kind, VmaKind::Shmem { .. }) { pte::WRITABLE } else { 0 };
        let tried = self.work.threads[tid].fault.is_some_and(|f| f.major);
        let (mut met, mut mapped) = (0, false);
        for p in first..=last {
            let there = at.0.wrapping_add(p).wrapping_sub(page.0);
            if there < base || there >= base + pages {
                continue;
            }
            let Entry::Frame(folio) = self.mem.virt.pages.entry(PageIdx(there)) else { continue };
            if self.mem.frames.has(folio, flag::LOCKED | flag::RA_TRIGGER) {
                continue;
            }
            let lately = self.mem.given.rules.mmap_miss_skips_workingset
                && self.mem.frames.has(folio, flag::WORKINGSET);
            let counts = !self.mem.given.rules.mmap_miss_once || p == page.0 && !tried;
            met += u32::from(counts && !lately);
            if self.mem.virt.pages.entry(PageIdx(p)) == Entry::None {
                // The neighbours only look as if they were accessed.
                let wanted = p == page.0;
                let (bits, how) = match wanted {
                    true => (pte::ACCESSED, Access::FileMapped),
                    false => (pte::YOUNG, Access::MappedAround),
                };
                self.mem.map(PageIdx(p), folio, bits | more);
                self.file_mapped(PageIdx(p), folio, vma, how);
                mapped |= wanted;
            }
        }
        let ra = &mut self.mem.cache.files[file].ra;
        ra.mmap_miss = ra.mmap_miss.saturating_sub(met);
        mapped
    }

    /// A page of a file was mapped.
    pub(in crate::machine) fn file_mapped(
        &mut self,
        page: PageIdx,
        folio: FolioId,
        vma: VmaId,
        how: Access,
    ) {
        self.policies.lru.folio_accessed(&mut self.mem, folio, how);
        if self.mem.virt.spaces.vma(vma).locks(page) {
            self.mem.mlock_folio(&mut *self.policies.lru, folio);
        }
    }

    /// Blocks a thread until a folio was read. A refault of a page that was in use before
    /// is memory pressure; a first read is not.
    pub(in crate::machine) fn wait_for_folio(
        &mut self,
        tid: ThreadId,
        folio: FolioId,
        refault: bool,
    ) {
        self.work.waiters.entry(folio).or_default().push(tid);
        self.block(tid, Wait::Folio(folio), refault);
    }
}
