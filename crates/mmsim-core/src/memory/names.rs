//! Evictions by their numbers, for observers.
//!
//! An event of a refault names the eviction that it answers, and an event of an eviction names the
//! page, whose PTE is gone by then. Both are kept only while an observer sees such events, in
//! columns by slot and by page: a run has as many of them as evictions.

use super::Memory;
use super::trace::{TraceKind, TraceKinds};
use crate::base::id::{Idx, IndexVec, PageIdx, SwapSlot};

/// Events that name an eviction or the page of a slot.
const NAMING: TraceKinds = TraceKinds::of(&[
    TraceKind::SimEvict,
    TraceKind::SimRefault,
    TraceKind::SimSwapRead,
    TraceKind::SimZswap,
]);

/// Names of pages that are not in memory.
#[derive(Default)]
pub(super) struct EvictionNames {
    /// The page that was unmapped last to a slot; page 0 if no observer saw it. Between unmapping
    /// and freeing lies the write, and a page read ahead is never mapped.
    page_of_slot: IndexVec<SwapSlot, PageIdx>,
    /// The number of a page's last eviction; 0 if no observer saw it.
    of_page: IndexVec<PageIdx, u64>,
}

/// Sets an entry of a column that is about as long as it has to be.
#[inline(always)]
fn set<I: Idx, T: Clone + Default>(column: &mut IndexVec<I, T>, i: I, value: T) {
    if i.index() >= column.len() {
        grow(column, i.index() + 1);
    }
    column[i] = value;
}

#[cold]
#[inline(never)]
fn grow<I: Idx, T: Clone + Default>(column: &mut IndexVec<I, T>, n: usize) {
    const STEP: usize = 512;
    column.resize(n.next_multiple_of(STEP), T::default());
}

impl Memory {
    /// A page was unmapped and is in a slot now.
    #[inline]
    pub(super) fn note_page_of_slot(&mut self, slot: SwapSlot, page: PageIdx) {
        if self.telling.tracer.wants_any(NAMING) || self.followed() {
            set(&mut self.telling.names.page_of_slot, slot, page);
        }
    }

    /// The page that was unmapped last to a slot, if an observer was to know.
    #[inline]
    pub(crate) fn page_of_slot(&self, slot: SwapSlot) -> Option<PageIdx> {
        self.telling.names.page_of_slot.get(slot).copied().filter(|&p| p != PageIdx(0))
    }

    /// Gives the last eviction of a page its number.
    #[inline]
    pub(super) fn name_eviction(&mut self, page: Option<PageIdx>) -> u64 {
        self.telling.evictions += 1;
        if let Some(p) = page.filter(|_| self.telling.tracer.wants(TraceKind::SimRefault)) {
            set(&mut self.telling.names.of_page, p, self.telling.evictions);
        }
        self.telling.evictions
    }

    /// The same for many pages of processes, each with the slot that it is in now.
    #[inline]
    pub(super) fn name_evictions(
        &mut self,
        of: impl ExactSizeIterator<Item = (SwapSlot, PageIdx)>,
    ) {
        if !self.telling.tracer.wants_any(NAMING) {
            self.telling.evictions += of.len() as u64;
            if self.followed() {
                of.for_each(|(slot, page)| set(&mut self.telling.names.page_of_slot, slot, page));
            }
            return;
        }
        for (slot, page) in of {
            self.note_page_of_slot(slot, page);
            self.name_eviction(Some(page));
        }
    }

    /// The number of the eviction that a refault of `page` answers, if an observer saw it.
    #[inline]
    pub fn eviction_of(&self, page: PageIdx) -> Option<u64> {
        self.telling.names.of_page.get(page).copied().filter(|&number| number != 0)
    }
}
