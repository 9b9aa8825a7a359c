//! Accessed bits: what one query for references returns.

use super::Memory;
use crate::base::id::MemcgId;
use crate::machine::config::Kernel;
use crate::phys::frames::{FolioId, flag};
use crate::virt::pages::pte;

/// The answer to "was this folio used since it was asked last?".
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
    pub fn references(&mut self, folio: FolioId, target: Option<MemcgId>) -> References {
        let mut r = References::default();
        let maps = self.rmap.of(&self.frames, folio);
        let mut flagged = self.frames.has(folio, flag::YOUNG);
        let mut i = 0;
        while let Some(p) = self.rmap.nth(maps, i) {
            i += 1;
            self.now += self.cost.t_scan_mapping;
            let g = self.pages.group(p.group());
            let hot = self.pages.hot(p);
            if g.plain {
                if hot & pte::YOUNG != 0 {
                    self.pages.set_hot(p, hot & !pte::YOUNG);
                    r.count += 1;
                } else if flagged {
                    r.count += 1;
                }
            } else {
                let id = self.spaces.vma_of(&self.pages, p);
                let vma = self.spaces.vma(id);
                if vma.flags.locked {
                    r.locked = true;
                    return r;
                }
                if target.is_some_and(|t| self.spaces[vma.space].memcg != t) {
                    continue;
                }
                let recency = vma.recency(self.ignores_random());
                if recency || self.kernel < Kernel::V6_12 {
                    self.pages.set_hot(p, hot & !pte::YOUNG);
                }
                if recency && (hot & pte::YOUNG != 0 || flagged) {
                    r.count += 1;
                    r.exec |= vma.flags.exec;
                }
            }
            if flagged {
                self.frames.clear(folio, flag::YOUNG);
                flagged = false;
            }
        }
        if r.count > 0 {
            self.frames.clear(folio, flag::IDLE);
        }
        r
    }

    /// Number of PTEs that map a folio.
    pub fn mapcount(&self, folio: FolioId) -> u32 {
        self.rmap.count(&self.frames, folio)
    }
}
