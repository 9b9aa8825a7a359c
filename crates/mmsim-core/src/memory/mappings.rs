//! Address spaces, their pages, and who maps a folio.

use crate::base::id::Pfn;
use crate::virt::pages::{Owner, Pages};
use crate::virt::rmap::Rmap;
use crate::virt::space::Spaces;

/// Address spaces, their pages, and who maps a folio.
pub struct Mappings {
    /// Page index.
    pub pages: Pages,
    /// Address spaces.
    pub spaces: Spaces,
    /// Reverse map of shared folios.
    pub(crate) rmap: Rmap,
    /// Frames of a range that is being dropped, in the order of its pages (`struct mmu_gather`).
    pub(super) gathered: Vec<Pfn>,
}

impl Mappings {
    pub(super) fn new() -> Mappings {
        let mut pages = Pages::default();
        // Page 0 of the index is never used, so that a word of 0 is free to mean "none".
        pages.reserve(1, Owner::Free, 0);
        Mappings { pages, spaces: Spaces::default(), rmap: Rmap::default(), gathered: Vec::new() }
    }
}
