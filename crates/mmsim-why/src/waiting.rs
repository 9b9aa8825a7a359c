//! Refaults that wait for a use of their pages.
//!
//! A table of slots that is at most half full: a page's place is a hash of its number, or the next
//! free one behind it. What leaves lets those behind it move up.

use mmsim_core::base::id::PageIdx;

/// Waiting items, by page. A page waits once.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    /// As many as a power of two, or none.
    slots: Vec<Option<(PageIdx, T)>>,
    len: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Waiting { slots: Vec::new(), len: 0 }
    }
}

impl<T> Waiting<T> {
    /// Where a page would stand. There is at least one slot.
    #[inline]
    fn home(&self, page: PageIdx) -> usize {
        let hash = u64::from(page.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// True if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot of a page, or the free one behind its place.
    #[inline]
    fn slot(&self, page: PageIdx) -> usize {
        let mut at = self.home(page);
        while self.slots[at].as_ref().is_some_and(|&(p, _)| p != page) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// A page waits. Returns what waited for it before.
    pub(crate) fn insert(&mut self, page: PageIdx, of: T) -> Option<T> {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let at = self.slot(page);
        let before = self.slots[at].replace((page, of));
        self.len += usize::from(before.is_none());
        before.map(|(_, of)| of)
    }

    #[cold]
    fn grow(&mut self) {
        let many = (2 * self.slots.len()).max(64);
        let all = std::mem::take(&mut self.slots);
        self.slots.resize_with(many, || None);
        for (page, of) in all.into_iter().flatten() {
            let at = self.slot(page);
            self.slots[at] = Some((page, of));
        }
    }

    /// A page waits no more.
    pub(crate) fn remove(&mut self, page: PageIdx) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let mut gap = self.slot(page);
        let (_, of) = self.slots[gap].take()?;
        self.len -= 1;
        let mask = self.slots.len() - 1;
        let mut at = (gap + 1) & mask;
        while let Some((page, _)) = &self.slots[at] {
            // One that stands at its place, or between the gap and it, stays.
            let from = self.home(*page);
            if (at.wrapping_sub(from) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.slots.swap(gap, at);
                gap = at;
            }
            at = (at + 1) & mask;
        }
        Some(of)
    }

    /// All that wait, in the order of their pages.
    pub(crate) fn in_order(self) -> Vec<(PageIdx, T)> {
        let mut all: Vec<_> = self.slots.into_iter().flatten().collect();
        all.sort_unstable_by_key(|&(page, _)| page);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(
            steps in prop::collection::vec((0_u32..300, any::<bool>(), any::<u8>()), 0..800),
        ) {
            let (mut waiting, mut map) = (Waiting::default(), BTreeMap::new());
            for (page, comes, of) in steps {
                let page = PageIdx(page);
                if comes {
                    prop_assert_eq!(waiting.insert(page, of), map.insert(page, of));
                } else {
                    prop_assert_eq!(waiting.remove(page), map.remove(&page));
                }
            }
            prop_assert_eq!(waiting.in_order(), map.into_iter().collect::<Vec<_>>());
        }
    }
}
