//! Uses that core announces, and moves of listed folios on behalf of others.

use super::Classic;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, flag};

impl Classic {
    /// `mark_page_accessed`.
    pub(super) fn marked(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.clear_idle(folio);
        if !mem.frames.has(folio, flag::REFERENCED) {
            mem.frames.set(folio, flag::REFERENCED);
        } else if !mem.frames.has(folio, flag::ACTIVE | flag::UNEVICTABLE) {
            // Second reference while inactive: this is what tells a working set from a scan.
            mem.lru_activate_accessed(self, folio);
            mem.frames.clear(folio, flag::REFERENCED);
            self.age_by_access(mem, folio);
        }
    }

    pub(super) fn activated(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        mem.activate_used(folio);
        self.add_head(mem, folio);
        let pages = mem.frames.pages(folio);
        let lv = self.lruvec_of(mem, folio);
        let file = mem.frames.is_file_lru(folio);
        self.note_rotated(lv, file, pages, pages);
    }

    /// `lru_deactivate_file`: to where reclaim meets it next, unless it has to be written first.
    pub(super) fn invalidated(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        if mem.frames.has(folio, flag::ACTIVE) {
            mem.deactivate(folio);
            self.advised += mem.frames.pages(folio);
        }
        mem.frames.clear(folio, flag::REFERENCED);
        if mem.goes_when_written(folio) {
            return self.add_head(mem, folio);
        }
        let list = self.lruvecs[self.lruvec_of(mem, folio)].lists[Self::list_index(mem, folio)];
        mem.lru_add_tail(list, folio);
    }

    pub(super) fn deactivated(&mut self, mem: &mut Memory, folio: FolioId) {
        if mem.frames.has(folio, flag::ACTIVE) && !mem.frames.has(folio, flag::UNEVICTABLE) {
            mem.lru_del(folio);
            mem.deactivate(folio);
            self.add_head(mem, folio);
            let pages = mem.frames.pages(folio);
            self.advised += pages;
            let lv = self.lruvec_of(mem, folio);
            let file = mem.frames.is_file_lru(folio);
            self.note_rotated(lv, file, pages, 0);
        }
    }
}
