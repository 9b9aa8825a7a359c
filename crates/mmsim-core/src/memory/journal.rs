//! Journals: what happened to the file folios of groups that have a chooser.
//!
//! A folio enters the page cache, is used, and leaves in the midst of other things: with frames in
//! flight, or with the policy at work. So it is written down, and told later, in order, with the
//! time, thread and flags of its moment ([`crate::policy::chooser`]). Records are of the group that
//! the folio is charged to, not of those above it.
//!
//! Machines without choosers pay one test of a flag for each insertion, use and removal.

use super::Memory;
use crate::base::id::{CpuId, IndexVec, MemcgId, ThreadId};
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::policy::ReclaimPolicy;
use crate::policy::chooser::{FileFolioEvent, FileFolioRecord};

/// Records after which the chooser gets them, wanted or not.
const MOST_RECORDS: usize = 4096;

/// The journals of all groups.
#[derive(Clone, Debug)]
pub struct Journals {
    /// Some group has one.
    on: bool,
    /// Some group has a chooser that admits.
    admits: bool,
    /// The journal of each group; `None`: it has no chooser.
    of: IndexVec<MemcgId, Option<Journal>>,
    /// Records after which the chooser gets them.
    most: usize,
}

/// The journal of a group.
#[derive(Clone, Debug, Default)]
struct Journal {
    records: Vec<FileFolioRecord>,
    /// Reads of pages that are not cached ask its chooser.
    admits: bool,
    /// Pages that were read past the cache.
    past: u64,
}

impl Journals {
    pub(super) fn new() -> Journals {
        Journals { on: false, admits: false, of: IndexVec::new(), most: MOST_RECORDS }
    }

    /// True if some group has a journal.
    #[inline(always)]
    pub(super) fn on(&self) -> bool {
        self.on
    }

    /// True if some group has a chooser that admits.
    #[inline(always)]
    pub(crate) fn admits(&self) -> bool {
        self.admits
    }

    /// True if the chooser of this group admits.
    pub(crate) fn admits_of(&self, memcg: MemcgId) -> bool {
        self.journal(memcg).is_some_and(|journal| journal.admits)
    }

    /// A page was read past the cache for a thread of a group.
    pub(crate) fn read_past(&mut self, memcg: MemcgId) {
        if let Some(journal) = self.of(memcg) {
            journal.past += 1;
        }
    }

    /// Pages that were read past the cache for threads of a group.
    pub fn past(&self, memcg: MemcgId) -> u64 {
        self.journal(memcg).map_or(0, |journal| journal.past)
    }

    /// Begins the journal of a group, whose chooser admits or does not.
    pub fn begin(&mut self, memcg: MemcgId, admits: bool) {
        while self.of.len() <= usize::from(memcg.0) {
            self.of.push(None);
        }
        self.of[memcg] = Some(Journal { admits, ..Journal::default() });
        self.on = true;
        self.admits |= admits;
    }

    /// Has choosers told after fewer or more records. It changes no result; a test holds that.
    pub fn tell_after(&mut self, records: usize) {
        self.most = records;
    }

    /// Takes the records of a group out, to tell its chooser of them.
    pub fn take(&mut self, memcg: MemcgId) -> Vec<FileFolioRecord> {
        self.of[memcg].as_mut().map(|j| std::mem::take(&mut j.records)).unwrap_or_default()
    }

    /// Gives the room of records back, which the chooser has.
    pub fn give(&mut self, memcg: MemcgId, mut told: Vec<FileFolioRecord>) {
        told.clear();
        if let Some(journal) = &mut self.of[memcg]
            && journal.records.is_empty()
        {
            journal.records = told;
        }
    }

    fn journal(&self, memcg: MemcgId) -> Option<&Journal> {
        let here = usize::from(memcg.0) < self.of.len();
        if here { self.of[memcg].as_ref() } else { None }
    }

    fn of(&mut self, memcg: MemcgId) -> Option<&mut Journal> {
        let here = usize::from(memcg.0) < self.of.len();
        if here { self.of[memcg].as_mut() } else { None }
    }
}

impl Memory {
    /// The thread that acts; `None`: one of the kernel.
    pub fn acting_thread(&self) -> Option<ThreadId> {
        self.acting.threads[self.acting.cpu]
    }

    /// A CPU turns to a thread, or to one of the kernel.
    #[inline]
    pub(crate) fn turn_to(&mut self, cpu: CpuId, thread: Option<ThreadId>) {
        self.acting.threads[cpu] = thread;
    }

    /// A folio was put into the page cache or used. A long journal goes to the chooser.
    #[inline(never)]
    pub(super) fn journal_told(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        what: FileFolioEvent,
        folio: FolioId,
    ) {
        if self.frames.kind(folio) != FrameKind::File {
            return;
        }
        let memcg = self.frames.memcg(folio);
        let most = self.memcgs.journals.most;
        if self.memcgs.journals.of(memcg).is_some_and(|j| j.records.len() >= most) {
            policy.tell_chooser(self, memcg);
        }
        self.journal(what, folio);
    }

    /// Writes down what happened to a folio of the page cache.
    #[inline(never)]
    pub(super) fn journal(&mut self, what: FileFolioEvent, folio: FolioId) {
        let memcg = self.frames.memcg(folio);
        let (at, thread) = (self.acting.now, self.acting_thread());
        let page = self.file_page_of(folio).expect("a folio of the page cache");
        let Some(journal) = self.memcgs.journals.of(memcg) else { return };
        // A folio is locked before it enters the cache, here right after.
        let locked = if what == FileFolioEvent::Added { flag::LOCKED } else { 0 };
        let flags = self.frames.bits(folio) | locked;
        journal.records.push(FileFolioRecord { at, folio, page, flags, thread, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_32_bytes() {
        assert_eq!(size_of::<FileFolioRecord>(), 32);
    }
}
