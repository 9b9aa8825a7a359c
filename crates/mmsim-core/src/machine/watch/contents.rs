//! Contents that accesses touch: the sequence that the optimum works on.
//!
//! A page of a process is no content. Memory that was dropped and touched again is new, a page
//! that several processes map is one, and the zero page takes no frame. So each content has a
//! number of its own, given at its first access, and the record is of those. An access to what no
//! policy can evict, or need not fetch again, has number 0.

use crate::base::id::{GROUP_PAGES, PageIdx};
use crate::memory::trace::FaultKind;
use crate::memory::{Memory, aligned};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::virt::pages::{Entry, pte};

/// The recorded sequence.
#[derive(Default)]
pub(in crate::machine) struct Contents {
    /// Numbers of the contents that pages of processes and files hold; 0: none yet.
    of_page: Vec<u32>,
    last: u32,
    /// One number an access.
    pub sequence: Vec<u32>,
}

impl Contents {
    /// The number of what a page holds.
    fn number(&mut self, page: PageIdx) -> u32 {
        let i = page.0 as usize;
        if i >= self.of_page.len() {
            self.of_page.resize((i + 1).next_multiple_of(GROUP_PAGES as usize), 0);
        }
        if self.of_page[i] == 0 {
            self.last += 1;
            self.of_page[i] = self.last;
        }
        self.of_page[i]
    }

    /// Gives pages new contents, unrelated to the old: theirs may be dropped without a write, or were.
    pub(in crate::machine) fn renew(&mut self, first: PageIdx, count: u32) {
        let first = first.0 as usize;
        let end = (first + count as usize).min(self.of_page.len());
        if let Some(of_page) = self.of_page.get_mut(first..end) {
            of_page.fill(0);
        }
    }
    /// Records an access to a page of a process that is present.
    pub(in crate::machine) fn access(&mut self, mem: &Memory, page: PageIdx) {
        let number = match mem.virt.pages.entry(page) {
            Entry::Frame(folio) if needs_no_fetch(mem, page, folio) => 0,
            Entry::Frame(folio) => match mem.frames.kind(folio) {
                FrameKind::File | FrameKind::Shmem => {
                    mem.file_page_of(folio).map_or(0, |p| self.number(p))
                }
                _ => self.number(page),
            },
            _ => 0,
        };
        self.sequence.push(number);
    }

    /// Makes contents of the pages that were recorded from number `since` on.
    pub(in crate::machine) fn hits(&mut self, mem: &Memory, since: usize) {
        let pages = self.sequence.split_off(since);
        pages.into_iter().for_each(|page| self.access(mem, PageIdx(page)));
    }

    /// Records an access to a page of a file by `read(2)` or `write(2)`. What is written in full
    /// is new: it is not read first.
    pub(in crate::machine) fn file_access(&mut self, page: PageIdx, write: bool) {
        if write {
            self.renew(page, 1);
        }
        let number = self.number(page);
        self.sequence.push(number);
    }

    /// A fault is resolved: what it made is new.
    pub(in crate::machine) fn made(&mut self, mem: &Memory, page: PageIdx, kind: FaultKind) {
        if matches!(kind, FaultKind::ZeroFill | FaultKind::Cow) {
            let order = mem.large_at(page).map_or(0, |folio| mem.frames.order(folio));
            let pages = aligned(page, order);
            self.renew(PageIdx(pages.start), pages.len() as u32);
        }
    }
}

/// True if a present page is never evicted, or may be dropped and not be fetched again: a huge
/// page of a pool, one that is locked, lazily freed memory that was not written since.
fn needs_no_fetch(mem: &Memory, page: PageIdx, folio: FolioId) -> bool {
    let frames = &mem.frames;
    let anon = frames.kind(folio) == FrameKind::Anon;
    mem.hugetlb_at(page).is_some()
        || frames.has(folio, flag::MLOCKED | flag::UNEVICTABLE)
        || anon
            && !frames.has(folio, flag::SWAPBACKED)
            && mem.virt.pages.hot(page) & pte::DIRTY == 0
}
