//! Accessed bits: what one query for references returns.

use super::Memory;
use crate::base::id::{MemcgId, PageIdx};
use crate::phys::frames::{FolioId, flag};
use crate::virt::pages::pte;
use crate::virt::rmap::Mappings;

/// The answer to "was this folio used since the last check?".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct References {
    /// Mappings (VMAs) whose accessed bit was set.
    pub count: u32,
    /// One of them is executable.
    pub exec: bool,
    /// A mapping is locked into memory; the query stopped there.
    pub locked: bool,
}

impl Memory {
    /// Tests and clears the accessed bits of all mappings (`folio_referenced`).
    ///
    /// Mappings without recency (`MADV_SEQUENTIAL`, after 6.1 `MADV_RANDOM`) never count:
    /// 6.12 leaves their bit alone, older kernels clear it. Limit reclaim (`target`)
    /// ignores processes of other groups. DAMON's young flag makes the first mapping
    /// count even if its bit was clear.
    #[inline(always)] // The usual folio is mapped once and plainly: a dozen instructions.
    pub fn references(&mut self, folio: FolioId, target: Option<MemcgId>) -> References {
        self.references_each(folio, target, |_| {})
    }

    /// The same, and names each page whose accessed bit counted.
    #[inline(always)]
    pub fn references_each(
        &mut self,
        folio: FolioId,
        target: Option<MemcgId>,
        mut found: impl FnMut(PageIdx),
    ) -> References {
        let mut r = References::default();
        match self.virt.rmap.of(&self.frames, folio) {
            Mappings::Few(None) => {}
            Mappings::Few(Some(p)) => {
                self.reference(folio, p, target, &mut r);
                if r.count > 0 {
                    found(p);
                }
            }
            maps @ Mappings::Many(_, n) => {
                for i in 0..n {
                    let p = self.virt.rmap.nth(maps, i).expect("below their number");
                    let before = r.count;
                    self.reference(folio, p, target, &mut r);
                    if r.count > before {
                        found(p);
                    }
                    if r.locked {
                        return r;
                    }
                }
            }
        }
        if r.count > 0 {
            self.clear_idle(folio);
        }
        r
    }

    /// Adds what one mapping says.
    #[inline]
    fn reference(
        &mut self,
        folio: FolioId,
        p: PageIdx,
        target: Option<MemcgId>,
        r: &mut References,
    ) {
        self.acting.now += self.given.cost.t_scan_mapping;
        let group = self.virt.pages.group(p.group());
        if group.plain && !group.huge && group.parts == 0 {
            let was_young = self.virt.pages.test_clear_young(p);
            let flagged = self.frames.test_clear(folio, flag::YOUNG);
            r.count += u32::from(was_young || flagged);
        } else {
            self.reference_by_vma(folio, p, target, r);
        }
    }

    #[inline(never)]
    fn reference_by_vma(
        &mut self,
        folio: FolioId,
        p: PageIdx,
        target: Option<MemcgId>,
        r: &mut References,
    ) {
        let large = self.frames.order(folio) > 0;
        let vma = self.virt.spaces.vma(self.virt.spaces.vma_of(&self.virt.pages, p));
        if vma.locks(p) {
            r.locked = true;
            return;
        }
        if target.is_some_and(|t| !self.memcgs.tree.holds(t, self.virt.spaces[vma.space].memcg)) {
            return;
        }
        let (recency, exec) = (vma.recency(self.ignores_random()), vma.flags.exec);
        let clears = recency || !self.ignores_random();
        let mut young = match (large, clears) {
            (false, true) => self.virt.pages.test_clear_hot(p, pte::YOUNG),
            (false, false) => self.virt.pages.hot(p) & pte::YOUNG != 0,
            (true, true) => self.test_clear_young_large(folio),
            // It would not count anyway.
            (true, false) => false,
        };
        young |= self.frames.test_clear(folio, flag::YOUNG);
        if recency && young {
            r.count += 1;
            r.exec |= exec;
        }
    }

    /// Number of PTEs that map a folio.
    pub fn mapcount(&self, folio: FolioId) -> u32 {
        self.virt.rmap.count(&self.frames, folio)
    }
}
