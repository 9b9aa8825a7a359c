//! File pages that leave the cache by a call: `POSIX_FADV_DONTNEED`, direct writes, `RWF_DONTCACHE`.
//! None of them leaves a shadow, so none is a refault when it comes back.
//!
//! Source: Linux 6.12 mm/truncate.c (`mapping_try_invalidate`, `invalidate_inode_pages2_range`),
//! 6.18 mm/filemap.c (`filemap_end_dropbehind_read`).

use super::Memory;
use crate::base::id::{FileId, PageIdx};
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::ReclaimPolicy;
use crate::virt::pages::Entry;
use std::ops::Range;

impl Memory {
    /// Drops the pages of a range that are clean and not in use, and the shadows. Others are queued to
    /// be met by reclaim first. Those that are locked or under write are passed over. Returns how
    /// many were in use.
    pub(crate) fn invalidate_pages(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        file: FileId,
        pages: Range<u32>,
    ) -> u64 {
        let base = self.cache.files[file].base.0;
        let mut in_use = 0;
        for page in pages.map(|i| PageIdx(base + i)) {
            match self.virt.pages.entry(page) {
                Entry::Shadow(cell) => self.drop_file_shadow(page, cell),
                Entry::Frame(folio) => {
                    let passed = self.frames.has(folio, flag::LOCKED | flag::WRITEBACK);
                    if !passed && !self.drop_file_folio(policy, folio) {
                        self.lru_invalidate(policy, folio);
                        in_use += 1;
                    }
                }
                _ => {}
            }
        }
        in_use
    }

    /// Unmaps a file folio that is neither locked nor under write and takes it out of the cache, for
    /// a direct write (`invalidate_complete_folio2`). One that was dirtied meanwhile stays.
    pub(crate) fn invalidate_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        while let Some(page) = self.virt.rmap.nth(self.virt.rmap.of(&self.frames, folio), 0) {
            self.unmap_pte(page, folio, Entry::None, 0);
        }
        if !self.frames.has(folio, flag::DIRTY) {
            self.remove_file_folio(policy, folio);
        }
    }

    /// True if a file folio goes once it was read or written.
    #[inline]
    pub(super) fn drops_behind(&self, folio: FolioId) -> bool {
        self.frames.has(folio, flag::DROPBEHIND) && self.frames.kind(folio) == FrameKind::File
    }

    /// Drops such a folio, if it is clean, unmapped and idle now. True: it is gone.
    pub(crate) fn drop_behind(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) -> bool {
        const BUSY: u32 = flag::DIRTY | flag::WRITEBACK | flag::LOCKED;
        let goes = self.drops_behind(folio)
            && !self.frames.has(folio, BUSY)
            && self.frames.mapped(folio) == Mapped::No;
        if goes {
            self.remove_file_folio(policy, folio);
        }
        goes
    }

    /// A listed folio that is to go soon: true if it has to be written first, and is met by reclaim
    /// when it was; else it is counted as rotated, and belongs at the tail of its list.
    pub fn goes_when_written(&mut self, folio: FolioId) -> bool {
        let unwritten = self.frames.has(folio, flag::DIRTY | flag::WRITEBACK);
        if unwritten {
            self.frames.set(folio, flag::RECLAIM);
        } else {
            let pages = self.frames.pages(folio);
            self.count(crate::base::vmstat::VmEvent::PgRotated, pages);
        }
        unwritten
    }
}
