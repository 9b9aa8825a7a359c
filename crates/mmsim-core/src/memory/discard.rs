//! Dropping whole ranges of pages: `munmap`, `MADV_DONTNEED`, exit.
//!
//! Nearly all that such a range holds are plain anonymous folios on their lists
//! (`phys::frames::is_plain`): each leaves its list, nobody else maps it, and its frame goes
//! back to the CPU's stock. A run of them is gathered with its PTEs and given back at once:
//! off the lists, then to the allocator, in the order of the pages. Anything else ends the
//! run and goes the general way, [`Memory::zap`], which gives the same state and time.

use super::{AHEAD, Memory};
use crate::base::id::{GROUP_PAGES, MemcgId, PageIdx, Pfn, VmaId};
use crate::base::time::SimDuration;
use crate::phys::frames::{flag, is_plain};
use crate::policy::{Departure, ReclaimPolicy};
use crate::virt::pages::pte;

impl Memory {
    /// Drops whatever `nr` pages of a mapping hold: [`Memory::zap`] for each.
    pub fn zap_pages<P: ReclaimPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        first: PageIdx,
        nr: u32,
        vma: VmaId,
    ) {
        let (mut page, end) = (first.0, first.0 + nr);
        // Memory fetches what is known of the next folios together.
        let mut looked = page;
        while page < end {
            page = self.discard(policy, page, end, vma);
            let g = PageIdx(page).group();
            if page < end && self.pages.group(g).huge {
                if page == g.first().0 && end - page >= GROUP_PAGES {
                    self.zap_huge(policy, g);
                    page += GROUP_PAGES;
                } else if self.hugetlb_at(PageIdx(page)).is_some() {
                    // Half of it cannot be dropped.
                    page = end.min(g.first().0 + GROUP_PAGES);
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
                self.zap(policy, PageIdx(page), vma);
                page += 1;
            }
        }
    }

    /// Drops pages that hold nothing or a plain folio, up to the first that is different.
    /// Returns that, or `end`.
    fn discard<P: ReclaimPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        first: u32,
        end: u32,
        vma: VmaId,
    ) -> u32 {
        // Events carry the time of each folio.
        if self.tracer.on() || self.memcgs.len() > 1 {
            return first;
        }
        let mut folios = std::mem::take(&mut self.discarded);
        let (flags, _) = self.frames.flags_and_rmap();
        let mut page = first;
        while page < end {
            let group_end = end.min((page / GROUP_PAGES + 1) * GROUP_PAGES);
            let before = folios.len();
            let from = page;
            let (hot, entry) = self.pages.hot_and_entries_mut();
            let range = from as usize..group_end as usize;
            for (h, e) in hot[range.clone()].iter_mut().zip(&mut entry[range]) {
                if *h & (pte::PRESENT | pte::ZERO) == pte::PRESENT {
                    let bits = flags[*e as usize];
                    if !is_plain(bits) || bits & flag::LRU == 0 {
                        break;
                    }
                    folios.push(Pfn(*e));
                    (*h, *e) = (*h & pte::TOUCHED, 0);
                } else if *h & !pte::TOUCHED != 0 || *e != 0 {
                    break;
                }
                page += 1;
            }
            let group = self.pages.group_mut(PageIdx(from).group());
            group.used -= (folios.len() - before) as u16;
            if page < group_end {
                break;
            }
        }
        if !folios.is_empty() {
            let n = folios.len() as u64;
            self.now += SimDuration(self.cost.t_free_page.0 * n);
            let space = self.spaces.vma(vma).space;
            self.spaces[space].rss_anon -= n;
            policy.folios_departed(self, &folios, Departure::Freed);
            self.memcgs.uncharge(MemcgId(0), n);
            self.free_frames(folios.iter().copied());
            folios.clear();
        }
        self.discarded = folios;
        page
    }
}
