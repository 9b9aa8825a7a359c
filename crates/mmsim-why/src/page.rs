//! State of a page: two words, beside the tick of its last use.

use mmsim_core::base::id::PageIdx;
use mmsim_core::memory::follow::KeptPages;

use crate::class::Class;

/// Marks of a page.
pub(crate) mod mark {
    /// It is in memory.
    pub(crate) const RESIDENT: u32 = 1;
    /// It was evicted.
    pub(crate) const OUT: u32 = 1 << 1;
    /// It came back, and was not used since.
    pub(crate) const WAITS: u32 = 1 << 2;
    /// It was used since it came.
    pub(crate) const USED: u32 = 1 << 3;
    /// In more than one tick.
    pub(crate) const AGAIN: u32 = 1 << 4;
    /// It went down a list, in the tick that is noted, although it had been used.
    pub(crate) const OVERLOOKED: u32 = 1 << 5;
    /// It was used at some time.
    pub(crate) const EVER: u32 = 1 << 6;
    /// It was written to swap since it was wanted last.
    pub(crate) const WRITTEN: u32 = 1 << 7;
    /// All its uses are known.
    pub(crate) const SAMPLED: u32 = 1 << 8;
    /// Its node needed no reclaim when it was evicted.
    pub(crate) const BALANCED: u32 = 1 << 9;
    /// A look kept it where it was, in the tick that is noted, for uses in several ticks.
    pub(crate) const KEPT: u32 = 1 << 10;
    /// Marks that a page keeps when it enters memory.
    pub(crate) const STAY: u32 = EVER | WAITS | WRITTEN;
}
/// Marks of a page that is used.
pub(crate) const USED: u32 = mark::USED | mark::EVER;
pub(crate) const CLASS_SHIFT: u32 = 11;
pub(crate) const CLASS_MASK: u32 = 15 << CLASS_SHIFT;
pub(crate) const LIST_SHIFT: u32 = 15;

/// State of a page. When it was used last, who tells of uses keeps.
#[derive(Clone, Copy, Default)]
pub(crate) struct Page {
    /// The tick in which it came, was kept, went down its list, or was evicted.
    pub moved: u32,
    pub marks: u32,
}

impl From<[u32; 2]> for Page {
    #[inline]
    fn from([moved, marks]: [u32; 2]) -> Page {
        Page { moved, marks }
    }
}

impl From<Page> for [u32; 2] {
    #[inline]
    fn from(p: Page) -> [u32; 2] {
        [p.moved, p.marks]
    }
}

impl Page {
    /// The state kept of a page.
    #[inline]
    pub(crate) fn of(all: &mut KeptPages, page: PageIdx) -> Page {
        Page::from(*all.of(page))
    }
    /// Keeps it.
    #[inline]
    pub(crate) fn keep(self, all: &mut KeptPages, page: PageIdx) {
        *all.of(page) = self.into();
    }
    /// True if all of these are marked.
    pub(crate) fn is(&self, marks: u32) -> bool {
        self.marks & marks == marks
    }
    /// True if any of these is marked.
    pub(crate) fn any(&self, marks: u32) -> bool {
        self.marks & marks != 0
    }
    pub(crate) fn set(&mut self, mark: u32) {
        self.marks |= mark;
    }
    pub(crate) fn clear(&mut self, mark: u32) {
        self.marks &= !mark;
    }
    pub(crate) fn class(&self) -> Class {
        Class::nth(self.rule())
    }
    /// The number of the rule that held at its eviction.
    pub(crate) fn rule(&self) -> u32 {
        (self.marks & CLASS_MASK) >> CLASS_SHIFT
    }
    pub(crate) fn list(&self) -> usize {
        (self.marks >> LIST_SHIFT) as usize
    }
    /// Since when it is idle, in memory; `last`: the tick of its last use, if there was one.
    pub(crate) fn idle_since(&self, last: u32) -> u32 {
        if self.is(mark::USED) { last } else { self.moved }
    }
}

/// The tick of a use as the machine reports it, from 1 on, where one is known.
pub(crate) fn tick_of(told: u32) -> u32 {
    told.saturating_sub(1)
}
