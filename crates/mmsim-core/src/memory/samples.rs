//! Samples of a monitor, some at a time.
//!
//! A sample leads from one table to the next: from a frame to its mapping, or from a PTE to its
//! frame; each is far from the one of the sample before, and a miss of the host's caches. But
//! samples do not wait for one another. So each table is read for a batch of samples before the
//! next one is, and the misses of a batch overlap; and a batch is small enough that all of it is
//! still in the first cache when its last table has been read.
//!
//! The best table is the one that need not be read. A page of a mapping of anonymous memory is mapped
//! once, and its frame is on a list unless it waits in an LRU batch; these are few, and known
//! ([`InBatches`]). So its hot byte tells all, and has the idle mark too ([`pte::IDLE`]): only if the
//! page was accessed must reclaim be left a note, in the frame.
//!
//! All that is done for the common folio only: one page, on a list, not locked, and mapped once if it is
//! found by its frame. All others take the slow path of [`idle`](super::idle), one by one. Since a
//! sample reads nothing that another one writes, the order of samples does not show.

use super::Memory;
use crate::base::id::{Idx as _, PageIdx, Pfn};
use crate::phys::frames::{flag, is_listed_page, is_listed_page_mapped_once};
use crate::virt::pages::pte;

/// Samples in a batch, at most.
pub const BATCH: usize = 32;

/// No page, no frame.
const NONE: u32 = u32::MAX;

/// A common folio: where it is mapped, and the hot byte there.
#[derive(Clone, Copy)]
struct Seen {
    at: u32,
    hot: u8,
}

/// Which pages may have their folio in an LRU batch, so that it is on no list: all that agree with one
/// that has in the low bits of their numbers.
#[derive(Clone, Debug)]
pub struct InBatches([u64; InBatches::BITS as usize / 64]);

impl InBatches {
    const BITS: u32 = 4096;

    #[inline(always)]
    fn may_be(&self, page: PageIdx) -> bool {
        let at = page.0 % Self::BITS;
        self.0[(at / 64) as usize] >> (at % 64) & 1 != 0
    }
}

/// Samples that the first table did not answer: their places in the batch, and their pages.
struct Rest {
    nr: usize,
    places: [u8; BATCH],
    pages: [PageIdx; BATCH],
}

impl Rest {
    fn new() -> Self {
        Rest { nr: 0, places: [0; BATCH], pages: [PageIdx(0); BATCH] }
    }
    #[inline(always)]
    fn push(&mut self, place: usize, page: PageIdx) {
        (self.places[self.nr], self.pages[self.nr]) = (place as u8, page);
        self.nr += 1;
    }
}

impl Memory {
    /// The pages whose folios are in LRU batches, for samples by page tables that are taken before
    /// anything else happens. Where looking them up would cost more than `samples` of them save, any
    /// page may be one.
    pub fn in_batches(&self, samples: usize) -> InBatches {
        let mut pages = InBatches([0; InBatches::BITS as usize / 64]);
        if self.lru.batches.nr_folios() > samples {
            pages.0.fill(u64::MAX);
            return pages;
        }
        for folio in self.lru.batches.folios() {
            let at = self.frames.rmap[folio] % InBatches::BITS;
            pages.0[(at / 64) as usize] |= 1 << (at % 64);
        }
        pages
    }

    /// Makes folios old as [`Memory::mkold`] does, each the one on a list that a frame belongs to. A
    /// frame without one, or none at all, costs `t_unlisted`.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn mkold_frames(&mut self, at: &[Pfn]) {
        let seen = self.mapped_once(at);
        for (&pfn, &Seen { at: page, hot }) in at.iter().zip(&seen) {
            if page == NONE {
                match self.listed(pfn) {
                    Some(folio) => self.mkold(folio),
                    None => self.acting.now += self.given.cost.t_unlisted,
                }
                continue;
            }
            self.acting.now += self.given.cost.t_mkold;
            self.mark_idle_at(PageIdx(page), pfn, hot);
        }
    }

    /// Finds which folios were accessed since they were made old, as [`Memory::is_young`] says;
    /// those that are on no list were not.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn young_frames(&mut self, at: &[Pfn], young: &mut Vec<bool>) {
        let seen = self.mapped_once(at);
        young.extend(at.iter().zip(&seen).map(|(&pfn, &Seen { at: page, hot })| {
            if page == NONE {
                if let Some(folio) = self.listed(pfn) {
                    return self.is_young(folio);
                }
                self.acting.now += self.given.cost.t_unlisted;
                return false;
            }
            self.acting.now += self.given.cost.t_young;
            self.is_young_by(pfn, hot)
        }));
    }

    /// Makes pages old as `mkold_at` does. None: there is no place for a PTE, which costs
    /// `t_unlisted`.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn mkold_pages(&mut self, at: &[Option<PageIdx>], in_batches: &InBatches) {
        let mut rest = Rest::new();
        let hot = self.hot_of(at);
        for ((i, &page), hot) in at.iter().enumerate().zip(hot) {
            let Some(page) = page else {
                self.acting.now += self.given.cost.t_unlisted;
                continue;
            };
            let unused = hot & (pte::PRESENT | pte::ZERO | pte::YOUNG) == pte::PRESENT;
            if unused && self.is_listed_by(page, in_batches) {
                self.acting.now += self.given.cost.t_mkold;
                self.virt.pages.set_hot(page, hot | pte::IDLE);
            } else {
                rest.push(i, page);
            }
        }
        let frames = self.single_pages(&rest.pages[..rest.nr]);
        for (&page, &pfn) in rest.pages[..rest.nr].iter().zip(&frames) {
            if pfn == NONE {
                self.mkold_at(page);
                continue;
            }
            self.acting.now += self.given.cost.t_mkold;
            self.mark_idle_at(page, Pfn(pfn), self.virt.pages.hot(page));
        }
    }

    /// Finds which pages were accessed since they were made old, as [`Memory::is_young_at`] says;
    /// without a PTE they were not.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn young_pages(
        &mut self,
        at: &[Option<PageIdx>],
        in_batches: &InBatches,
        young: &mut Vec<bool>,
    ) {
        let first = young.len();
        let mut rest = Rest::new();
        let hot = self.hot_of(at);
        young.extend(at.iter().enumerate().zip(hot).map(|((i, &page), hot)| {
            let Some(page) = page else {
                self.acting.now += self.given.cost.t_unlisted;
                return false;
            };
            let marked = hot & (pte::YOUNG | pte::IDLE) != 0;
            let present = hot & (pte::PRESENT | pte::ZERO) == pte::PRESENT;
            if marked && present && self.is_listed_by(page, in_batches) {
                self.acting.now += self.given.cost.t_young;
                return hot & pte::YOUNG != 0;
            }
            rest.push(i, page);
            false
        }));
        let frames = self.single_pages(&rest.pages[..rest.nr]);
        for (i, &pfn) in frames[..rest.nr].iter().enumerate() {
            let page = rest.pages[i];
            young[first + usize::from(rest.places[i])] = if pfn == NONE {
                self.is_young_at(page)
            } else {
                self.acting.now += self.given.cost.t_young;
                self.is_young_by(Pfn(pfn), self.virt.pages.hot(page))
            };
        }
    }

    /// True if a page that is present is known to be mapped once and on a list without a look at
    /// its frame.
    #[inline(always)]
    fn is_listed_by(&self, page: PageIdx, in_batches: &InBatches) -> bool {
        // A huge page has no bit of its own; its entry has it.
        let is = self.virt.pages.is_anon(page.group())
            && !in_batches.may_be(page)
            && !self.virt.pages.has_huge(page.group());
        debug_assert!(
            !is || matches!(self.virt.pages.entry(page), crate::virt::pages::Entry::Frame(f)
                if is_listed_page_mapped_once(self.frames.bits(f) & !flag::LOCKED)),
            "{page} is on no list and in no batch: {:?}",
            self.virt.pages.entry(page)
        );
        is
    }

    /// Marks a common folio idle, whose page has a hot byte, and clears its accessed bit.
    #[inline(always)]
    fn mark_idle_at(&mut self, page: PageIdx, folio: Pfn, hot: u8) {
        let young = hot & pte::YOUNG != 0;
        if self.frames.is_anon_page_mapped_once(folio) {
            self.virt.pages.set_hot(page, hot & !pte::YOUNG | pte::IDLE);
            if young {
                self.frames.set(folio, flag::YOUNG);
            }
        } else {
            self.virt.pages.set_hot(page, hot & !pte::YOUNG);
            self.mark_idle(folio, young);
        }
    }

    /// True if a common folio that is mapped with this hot byte is young.
    #[inline(always)]
    fn is_young_by(&self, folio: Pfn, hot: u8) -> bool {
        hot & pte::YOUNG != 0 || hot & pte::IDLE == 0 && !self.frames.has(folio, flag::IDLE)
    }

    /// The hot bytes of pages.
    #[inline(always)]
    fn hot_of(&self, at: &[Option<PageIdx>]) -> [u8; BATCH] {
        assert!(at.len() <= BATCH, "{} samples in a batch", at.len());
        let mut hot = [0; BATCH];
        for (hot, page) in hot.iter_mut().zip(at) {
            *hot = page.map_or(0, |p| self.virt.pages.hot(p));
        }
        hot
    }

    /// Where common folios are mapped, by their frames.
    #[inline]
    fn mapped_once(&mut self, at: &[Pfn]) -> [Seen; BATCH] {
        assert!(at.len() <= BATCH, "{} samples in a batch", at.len());
        let mut seen = [Seen { at: NONE, hot: 0 }; BATCH];
        let (flags, rmap) = self.frames.flags_and_rmap();
        for (seen, pfn) in seen.iter_mut().zip(at) {
            if let (Some(&bits), Some(&word)) = (flags.get(pfn.index()), rmap.get(pfn.index())) {
                seen.at = if is_listed_page_mapped_once(bits) { word } else { NONE };
            }
        }
        for seen in &mut seen[..at.len()] {
            seen.hot = self.virt.pages.hot.get(seen.at as usize).copied().unwrap_or(0);
        }
        seen
    }

    /// The frames of common folios, by their PTEs.
    #[inline]
    fn single_pages(&mut self, at: &[PageIdx]) -> [u32; BATCH] {
        let mut frames = [NONE; BATCH];
        let (hot, entries) = self.virt.pages.hot_and_entries();
        for (frame, page) in frames.iter_mut().zip(at) {
            let (bits, entry) = (hot[page.index()], entries[page.index()]);
            *frame = if bits & (pte::PRESENT | pte::ZERO) == pte::PRESENT { entry } else { NONE };
        }
        let (flags, _) = self.frames.flags_and_rmap();
        for frame in &mut frames[..at.len()] {
            let bits = flags.get(*frame as usize).copied().unwrap_or(0);
            *frame = if is_listed_page(bits) { *frame } else { NONE };
        }
        frames
    }

    /// The folio on a list that a frame belongs to, if there is such a frame.
    fn listed(&self, pfn: Pfn) -> Option<Pfn> {
        (pfn.index() < self.frames.len()).then(|| self.listed_folio(pfn)).flatten()
    }
}
