//! `madvise(2)`: what a program says about its memory, and what is done about it at once.
//!
//! Some advice only changes flags of the mapping. The rest walks the pages of the range:
//! `DONTNEED` drops them, `FREE` leaves it to reclaim to drop them, `COLD` lets the policy
//! deactivate them, `PAGEOUT` reclaims them now, `WILLNEED` reads what is not there, and
//! `POPULATE_*` faults it in. What the kernel refuses (`FREE` of a file mapping; `DONTNEED`, `FREE`,
//! `COLD` and `PAGEOUT` of locked pages; `FREE`, `COLD` and `PAGEOUT` of huge pages of hugetlbfs;
//! `DONTNEED` from the midst of such a page) has no effect.
//!
//! Source: Linux 6.12 mm/madvise.c, mm/vmscan.c (`reclaim_pages`). Left out: whether the
//! program may write a file whose pages it wants paged out (it may), and that reads of
//! neighbouring slots by `WILLNEED` are one request (each is its own).

use super::Machine;
use super::cpu::thread::Wait;
use super::fault::touch::{Outcome, Touch, Undone};
use crate::backing::swap::Cached;
use crate::base::id::{GROUP_PAGES, PageIdx, ThreadId, VmaId};
use crate::phys::frames::{FolioId, flag};
use crate::virt::pages::{Entry, pte};
use crate::virt::space::VmaKind;
use crate::workload::{Advice, Run, VmaFlags};

impl Machine {
    pub(super) fn madvise(&mut self, tid: ThreadId, run: Run, advice: Advice) -> Outcome {
        let (id, range) = self.range_of(tid, run);
        let vma = self.mem.virt.spaces.vma(id);
        let (flags, anon) = (vma.flags, vma.kind == VmaKind::Anon);
        let hugetlb = vma.kind == VmaKind::HugeTlb;
        let locked = vma.locks_any(range.clone());
        match advice {
            Advice::Sequential => {
                self.set_flags(id, VmaFlags { seq_read: true, rand_read: false, ..flags });
            }
            Advice::Random => {
                self.set_flags(id, VmaFlags { seq_read: false, rand_read: true, ..flags });
            }
            Advice::Normal => {
                self.set_flags(id, VmaFlags { seq_read: false, rand_read: false, ..flags });
            }
            Advice::HugePage | Advice::NoHugePage => {
                self.mem.virt.spaces.vma_mut(id).huge = Some(advice == Advice::HugePage);
            }
            Advice::DontNeed if hugetlb && !run.first.is_multiple_of(GROUP_PAGES) => {}
            Advice::Cold | Advice::PageOut | Advice::WillNeed if hugetlb => {}
            Advice::DontNeed if !locked => {
                if self.mem.given.rules.unmap_drains {
                    self.mem.lru_drain(&mut *self.policies.lru);
                }
                self.mem.zap_pages(&mut *self.policies.lru, PageIdx(range.start), run.count, id);
                self.mem.settle_kernel();
            }
            Advice::Remove => {
                if let VmaKind::Shmem { file, offset } = vma.kind
                    && !locked
                {
                    let first = offset + range.start - vma.start.0;
                    self.remove_shmem(file, first..first + run.count);
                }
            }
            Advice::Free if anon && !locked => {
                self.mem.lru_drain(&mut *self.policies.lru);
                if self.record.accesses {
                    self.record.contents.renew(PageIdx(range.start), run.count);
                }
                for page in range {
                    self.mem.free_lazily(&mut *self.policies.lru, PageIdx(page), id);
                }
                self.mem.settle_kernel();
            }
            Advice::Cold if !locked => self.make_cold(range, false),
            Advice::PageOut if !locked => self.make_cold(range, true),
            Advice::DontNeed | Advice::Free | Advice::Cold | Advice::PageOut => {}
            Advice::WillNeed => return self.will_need(tid, id, range),
            Advice::PopulateRead | Advice::PopulateWrite => {
                return self.populate(tid, id, range, advice == Advice::PopulateWrite);
            }
        }
        Ok(())
    }

    fn set_flags(&mut self, id: VmaId, flags: VmaFlags) {
        self.mem.virt.spaces.set_flags(&mut self.mem.virt.pages, id, flags);
    }

    /// `COLD` and `PAGEOUT`: both take away what speaks for a page. Pages that others map too are
    /// left alone. Pages to be reclaimed are checked for references, though the PTE's was cleared
    /// here; or the PTE is left alone and references do not count.
    pub(super) fn make_cold(&mut self, range: std::ops::Range<u32>, pageout: bool) {
        let rules = self.mem.given.rules;
        self.mem.lru_drain(&mut *self.policies.lru);
        let mut taken: Vec<FolioId> = Vec::new();
        let mut table = PageIdx(range.start).group();
        let mut next = range.start;
        while next < range.end {
            let page = PageIdx(next);
            next += 1;
            if page.group() != table {
                self.page_out(&mut taken);
                table = page.group();
            }
            // One that the advice is about as a whole stays so.
            match self.mem.large_within(page, &range) {
                Some(end) => next = end,
                None => self.mem.split_at(&mut *self.policies.lru, page),
            }
            let Entry::Frame(folio) = self.mem.virt.pages.entry(page) else { continue };
            if !self.mem.frames.has(folio, flag::LRU) || self.mem.mapcount(folio) != 1 {
                continue;
            }
            if !pageout || !rules.pageout_ignores_references {
                match self.mem.frames.order(folio) {
                    0 => self.mem.virt.pages.test_clear_hot(page, pte::YOUNG),
                    _ => self.mem.test_clear_young_large(folio),
                };
            }
            self.mem.frames.clear(folio, flag::REFERENCED | flag::YOUNG);
            if rules.cold_sets_workingset && self.mem.frames.has(folio, flag::ACTIVE) {
                self.mem.frames.set(folio, flag::WORKINGSET);
            }
            if !pageout {
                self.mem.lru_deactivate(&mut *self.policies.lru, folio);
            } else if self.mem.isolate_from(&mut *self.policies.lru, folio) {
                self.mem.frames.clear(folio, flag::ACTIVE);
                taken.push(folio);
            }
        }
        self.page_out(&mut taken);
    }

    /// Reclaims the folios that were taken from one page table, node by node.
    fn page_out(&mut self, taken: &mut Vec<FolioId>) {
        if !taken.is_empty() {
            let ignore_references = self.mem.given.rules.pageout_ignores_references;
            // The kernel's plug is that of the whole advice.
            self.mem.start_plug(&mut self.step.plug);
            self.reclaim_isolated(taken, ignore_references);
            self.mem.end_plug(&mut self.step.plug);
            self.mem.finish_plug(&mut self.step.plug);
            self.queue_io();
            taken.clear();
        }
    }

    /// Reclaims isolated folios, node by node, and puts back those that stay (`reclaim_pages`).
    /// Returns how many are gone.
    pub(super) fn reclaim_isolated(&mut self, folios: &[FolioId], ignore_references: bool) -> u64 {
        let of_one_node = |a: &FolioId, b: &FolioId| self.mem.node_of(*a) == self.mem.node_of(*b);
        let mut gone = 0;
        let runs: Vec<&[FolioId]> = folios.chunk_by(of_one_node).collect();
        for run in runs {
            gone += self.policies.lru.reclaim_list(&mut self.mem, run, ignore_references);
            self.mem.end_step();
        }
        self.queue_io();
        self.mem.settle_kernel();
        gone
    }

    /// `WILLNEED`: reads what is in swap into the swap cache, or file pages into the page
    /// cache, and maps nothing.
    fn will_need(&mut self, tid: ThreadId, id: VmaId, range: std::ops::Range<u32>) -> Outcome {
        self.record.prefetched = true;
        if let VmaKind::File { file, offset, .. } = self.mem.virt.spaces.vma(id).kind {
            let start = self.mem.virt.spaces.vma(id).start.0;
            let at = PageIdx(self.mem.cache.files[file].base.0 + offset + (range.start - start));
            self.read_what_is_needed(tid, at, range.end - range.start);
            return Ok(());
        }
        // The entries of shared memory are in its object.
        let (start, at) = match self.mem.virt.spaces.vma(id).kind {
            VmaKind::Shmem { file, offset } => {
                let start = self.mem.virt.spaces.vma(id).start.0;
                let base = self.mem.cache.files[file].base.0;
                (range.start, base + offset + (range.start - start))
            }
            _ => (range.start, range.start),
        };
        while start + self.work.threads[tid].progress.done < range.end {
            let page = PageIdx(at + self.work.threads[tid].progress.done);
            if let Some(slot) = self.mem.virt.pages.swap_entry(page) {
                let swap = self.mem.swap.as_ref().expect("a swap entry without swap");
                if !matches!(swap.cached(slot), Cached::Folio(_)) {
                    let pfn = self.alloc_user(tid).frame()?;
                    self.enter_swapcache(pfn, slot, Some(page), Some(id), false);
                    self.submit_swap_reads(&[(slot, pfn)]);
                    self.queue_io();
                }
            }
            self.work.threads[tid].progress.done += 1;
        }
        self.work.threads[tid].progress.done = 0;
        self.mem.lru_drain(&mut *self.policies.lru);
        self.mem.settle_kernel();
        Ok(())
    }

    /// `POPULATE_*`: faults in what is missing. The access is the kernel's own: it marks each
    /// page as a system call would.
    pub(super) fn populate(
        &mut self,
        tid: ThreadId,
        id: VmaId,
        range: std::ops::Range<u32>,
        write: bool,
    ) -> Outcome {
        let count = range.end - range.start;
        while self.work.threads[tid].progress.done < count {
            let page = PageIdx(range.start + self.work.threads[tid].progress.done);
            let hot = self.mem.virt.pages.hot(page);
            let need = pte::PRESENT | if write { pte::WRITABLE } else { 0 };
            if hot & need != need {
                let touch = Touch::by(tid, &self.work.threads[tid], page, id, write);
                self.fault(touch)?;
                // The fill is done by the kernel and does not go through the page table.
                let mut filled = self.mem.virt.pages.hot(page) & !pte::TOUCHED;
                if hot & pte::PRESENT == 0 && self.mem.large_at(page).is_some() {
                    // It holds zeroes until the process writes it.
                    filled &= !pte::DIRTY;
                }
                self.mem.virt.pages.set_hot(page, filled | hot & pte::TOUCHED);
            }
            if let Entry::Frame(folio) = self.mem.virt.pages.entry(page)
                && self.mem.hugetlb_at(page).is_none()
            {
                self.mem.mark_accessed(&mut *self.policies.lru, folio);
            }
            self.mem.acting.now += self.mem.given.cost.t_hit;
            // A huge folio is one step.
            let step = match self.mem.virt.pages.group(page.group()).huge {
                true => page.group().first().0 + GROUP_PAGES - page.0,
                false => 1,
            };
            let t = &mut self.work.threads[tid];
            t.progress.done = count.min(t.progress.done + step);
            // A pause for dirty pages began: the rest comes after it.
            if t.wait != Wait::Not && t.progress.done < count {
                return Err(Undone::Blocked);
            }
        }
        self.work.threads[tid].progress.done = 0;
        Ok(())
    }
}
