//! Samples of a monitor, some at a time.
//!
//! A sample leads from one table to the next: from a frame to its mapping, or from a PTE to its
//! frame; each is far from the one of the sample before, and a miss of the host's caches. But
//! samples do not wait for one another. So each table is read for a batch of samples before the
//! next one is, and the misses of a batch overlap; and a batch is small enough that all of it is
//! still in the first cache when its last table has been read.
//!
//! That is done for the common folio only: one page, on a list, not locked, and mapped once if it is
//! found by its frame. All others go the long way of [`idle`](super::idle), one by one. Since a
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

impl Memory {
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
                    None => self.now += self.cost.t_unlisted,
                }
                continue;
            }
            self.now += self.cost.t_mkold;
            self.pages.set_hot(PageIdx(page), hot & !pte::YOUNG);
            self.mark_idle(pfn, hot & pte::YOUNG != 0);
        }
    }

    /// Whether folios were accessed since they were made old, as [`Memory::is_young`] says; those that
    /// are on no list were not.
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
                self.now += self.cost.t_unlisted;
                return false;
            }
            self.now += self.cost.t_young;
            hot & pte::YOUNG != 0 || !self.frames.has(pfn, flag::IDLE)
        }));
    }

    /// Makes pages old as [`Memory::mkold_at`] does. None: there is no place for a PTE, which costs
    /// `t_unlisted`.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn mkold_pages(&mut self, at: &[Option<PageIdx>]) {
        let frames = self.single_pages(at);
        for (&page, &pfn) in at.iter().zip(&frames) {
            match page {
                Some(page) if pfn != NONE => {
                    self.now += self.cost.t_mkold;
                    let young = self.pages.test_clear_hot(page, pte::YOUNG);
                    self.mark_idle(Pfn(pfn), young);
                }
                Some(page) => {
                    self.mkold_at(page);
                }
                None => self.now += self.cost.t_unlisted,
            }
        }
    }

    /// Whether pages were accessed since they were made old, as [`Memory::is_young_at`] says; without a
    /// PTE they were not.
    ///
    /// # Panics
    /// If there are more than [`BATCH`].
    pub fn young_pages(&mut self, at: &[Option<PageIdx>], young: &mut Vec<bool>) {
        let frames = self.single_pages(at);
        young.extend(at.iter().zip(&frames).map(|(&page, &pfn)| match page {
            Some(page) if pfn != NONE => {
                self.now += self.cost.t_young;
                let accessed = self.pages.hot(page) & pte::YOUNG != 0;
                accessed | !self.frames.has(Pfn(pfn), flag::IDLE)
            }
            Some(page) => self.is_young_at(page),
            None => {
                self.now += self.cost.t_unlisted;
                false
            }
        }));
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
            seen.hot = self.pages.hot.get(seen.at as usize).copied().unwrap_or(0);
        }
        seen
    }

    /// The frames of common folios, by their PTEs.
    #[inline]
    fn single_pages(&mut self, at: &[Option<PageIdx>]) -> [u32; BATCH] {
        assert!(at.len() <= BATCH, "{} samples in a batch", at.len());
        let mut frames = [NONE; BATCH];
        let (hot, entries) = self.pages.hot_and_entries();
        for (frame, page) in frames.iter_mut().zip(at) {
            let Some(page) = page else { continue };
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
