//! Dropping whole ranges of pages: `munmap`, `MADV_DONTNEED`, exit.
//!
//! Nearly all pages of such a range are plain anonymous folios on their lists
//! (`phys::frames::is_plain`): each leaves its list, has no other mapping, and its frame goes back
//! to the CPU's stock. A run of them is dropped with its PTEs at once. Anything else ends the run
//! and takes the slow path, [`Memory::zap`], which gives the same state and time.
//!
//! Frames are gathered, and given back when the range is done or very many are together. Kernels up
//! to 6.8 hand what they gathered on in pieces, of eight pages and then of as many as a page of
//! pointers holds, and each piece the other way round: by address downwards, if the range
//! was touched upwards. So where holes are small, the upper pages of each are free before the lower
//! ones, and that decides which end of a free list a block goes to ([`crate::phys::buddy`]).
//!
//! Sources: Linux 6.1 and 6.12 mm/mmu_gather.c (`tlb_next_batch`, `tlb_batch_pages_flush`), mm/swap.c
//! (`release_pages`, `folios_put_refs`). Left out: large folios are given back at once, and fill no
//! place of a piece; exit begins anew with each mapping.

use super::{AHEAD, Memory};
use crate::base::id::{GROUP_PAGES, MemcgId, PageIdx, Pfn, VmaId};
use crate::base::time::SimDuration;
use crate::memory::trace::{TraceEvent, TraceKind};
use crate::phys::frames::{flag, is_plain};
use crate::policy::{Departure, ReclaimPolicy};
use crate::virt::pages::{Entry, pte};

/// Pages in the first piece of what is gathered (`MMU_GATHER_BUNDLE`).
const FIRST_PIECE: usize = 8;
/// Pages in each piece after it: pointers in a page, without the head (`MAX_GATHER_BATCH`).
const PIECE: usize = (4096 - 16) / 8;
/// Pages that are gathered at most (`MAX_GATHER_BATCH_COUNT` pieces after the first).
const MOST_GATHERED: usize = FIRST_PIECE + 10_000 / PIECE * PIECE;

impl Memory {
    /// Drops whatever `nr` pages of a mapping hold.
    pub fn zap_pages(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        first: PageIdx,
        nr: u32,
        vma: VmaId,
    ) {
        let (mut page, end) = (first.0, first.0 + nr);
        self.tell_of_drop(first, nr);
        self.tell_of_drops(first, nr, "zap");
        // Memory fetches what is known of the next folios together.
        let mut looked = page;
        debug_assert!(
            self.virt.gathered.is_empty(),
            "frames of an earlier range were not given back"
        );
        while page < end {
            page = self.discard(policy, page, end, vma);
            if self.virt.gathered.len() >= MOST_GATHERED {
                self.give_gathered(false);
                continue;
            }
            let g = PageIdx(page).group();
            if page < end && self.virt.pages.group(g).huge {
                if page == g.first().0 && end - page >= GROUP_PAGES {
                    self.zap_huge(policy, g);
                    page += GROUP_PAGES;
                } else if self.hugetlb_at(PageIdx(page)).is_some() {
                    // Half of it cannot be dropped.
                    page = end.min(g.first().0 + GROUP_PAGES);
                } else if self.given.rules.deferred_split {
                    self.virt.pages.map_parts(g);
                } else {
                    self.split_at(policy, PageIdx(page));
                }
            } else if page < end {
                if page >= looked {
                    looked = end.min(page + AHEAD as u32);
                    let folios = self.folios_at(page..looked);
                    let seen =
                        folios.fold(0, |seen, f| seen ^ self.frames.bits(f) ^ self.frames.rmap[f]);
                    std::hint::black_box(seen);
                }
                page = match self.large_at(PageIdx(page)) {
                    Some(head) => self.zap_parts(policy, page..end, head),
                    None => {
                        self.zap(policy, PageIdx(page), vma);
                        page + 1
                    }
                };
            }
        }
        self.give_gathered(true);
    }

    /// Lets an observer see which pages hold something that goes now. What a mapping shows of a file
    /// stays in the page cache.
    #[inline]
    pub(super) fn tell_of_drops(&mut self, first: PageIdx, nr: u32, why: &'static str) {
        if self.telling.tracer.wants(TraceKind::SimDrop) {
            self.tell_of_each_drop(first, nr, why);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_each_drop(&mut self, first: PageIdx, nr: u32, why: &'static str) {
        for page in (first.0..first.0 + nr).map(PageIdx) {
            let (pfn, slot) = match self.virt.pages.entry(page) {
                Entry::Frame(pfn) if self.frames.is_of_file(pfn) => continue,
                Entry::Frame(_) if self.hugetlb_at(page).is_some() => continue,
                Entry::Frame(pfn) => (Some(pfn), None),
                Entry::Swap(slot) => (None, Some(slot)),
                _ => continue,
            };
            self.emit(|| TraceEvent::SimDrop { page, pfn, slot, why });
        }
    }

    /// Gives gathered frames back, as many as the kernel gathers at most, or all (`tlb_flush_mmu`).
    fn give_gathered(&mut self, all: bool) {
        let mut gathered = std::mem::take(&mut self.virt.gathered);
        let mut given = 0;
        while gathered.len() - given >= MOST_GATHERED || all && given < gathered.len() {
            let end = gathered.len().min(given + MOST_GATHERED);
            self.give_pieces(&gathered[given..end]);
            given = end;
        }
        gathered.drain(..given);
        self.virt.gathered = gathered;
    }

    /// Gives back what was gathered between two flushes.
    fn give_pieces(&mut self, frames: &[Pfn]) {
        if self.given.rules.unmap_frees_upwards {
            return self.free_frames(frames.iter().copied());
        }
        let (first, rest) = frames.split_at(frames.len().min(FIRST_PIECE));
        for piece in std::iter::once(first).chain(rest.chunks(PIECE)) {
            self.free_frames(piece.iter().rev().copied());
        }
    }

    /// Drops pages that hold nothing or a plain folio, up to the first that is different.
    /// Returns that, or `end`.
    fn discard(&mut self, policy: &mut dyn ReclaimPolicy, first: u32, end: u32, vma: VmaId) -> u32 {
        if self.given.slow_paths || self.memcgs.len() > 1 {
            return first;
        }
        let mut gathered = std::mem::take(&mut self.virt.gathered);
        let held = gathered.len();
        let (flags, _) = self.frames.flags_and_rmap();
        let mut page = first;
        while page < end && gathered.len() < MOST_GATHERED {
            let room = (MOST_GATHERED - gathered.len()) as u32;
            let group_end = end.min((page / GROUP_PAGES + 1) * GROUP_PAGES).min(page + room);
            let before = gathered.len();
            let from = page;
            let (hot, entry) = self.virt.pages.hot_and_entries_mut();
            let range = from as usize..group_end as usize;
            for (h, e) in hot[range.clone()].iter_mut().zip(&mut entry[range]) {
                if *h & (pte::PRESENT | pte::ZERO) == pte::PRESENT {
                    let bits = flags[*e as usize];
                    if !is_plain(bits) || bits & flag::LRU == 0 {
                        break;
                    }
                    gathered.push(Pfn(*e));
                    (*h, *e) = (*h & pte::TOUCHED, 0);
                } else if *h & !pte::TOUCHED != 0 || *e != 0 {
                    break;
                }
                page += 1;
            }
            let group = self.virt.pages.group_mut(PageIdx(from).group());
            group.used -= (gathered.len() - before) as u16;
            if page < group_end {
                break;
            }
        }
        let folios = &gathered[held..];
        if !folios.is_empty() {
            let n = folios.len() as u64;
            self.acting.now += SimDuration(self.given.cost.t_free_page.0 * n);
            let space = self.virt.spaces.vma(vma).space;
            self.virt.spaces[space].rss_anon -= n;
            self.virt.spaces.anon_mapped -= n;
            for &folio in folios {
                policy.folio_departed(self, folio, Departure::Freed);
            }
            self.memcgs.uncharge(MemcgId(0), n);
        }
        self.virt.gathered = gathered;
        page
    }
}
