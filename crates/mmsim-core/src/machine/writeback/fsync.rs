//! `fsync(2)`: a thread writes the dirty pages of a file itself, and waits until they are written.
//!
//! Two passes over the file, as in Linux. The first starts a write for each run of dirty pages; a
//! page that was dirtied again while it is under write is waited for, so that its new contents are
//! written too. The second waits for each page that is under write, whoever started that. Both go
//! up, so pages that others dirty behind them are not waited for.
//!
//! Source: Linux 6.12 mm/filemap.c (`file_write_and_wait_range`, `__filemap_fdatawait_range`),
//! mm/page-writeback.c (`write_cache_pages` with `WB_SYNC_ALL`). Left out: metadata and the journal
//! of the file system, and the flush of the device's cache at the end.

use crate::backing::device::Writer;
use crate::base::id::{FileId, PageIdx, ThreadId};
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::cpu::thread::Sync;
use crate::machine::fault::touch::{Outcome, Undone};
use crate::phys::frames::flag;
use crate::virt::pages::Entry;
use std::ops::Range;

impl Machine {
    /// One step of an `fsync(2)`: up to a request, or up to a page to wait for. The operation is done
    /// when `Progress::done` is 0 again.
    pub(in crate::machine) fn fsync(&mut self, tid: ThreadId, file: FileId) -> Outcome {
        let now = self.mem.acting.now;
        let begun = self.work.threads[tid].sync.take();
        let pages = 0..self.mem.cache.files[file].pages;
        let mut sync = begun.unwrap_or(Sync { begin: now, waits: false, next: 0 });
        if begun.is_none() {
            self.mem.acting.now += self.mem.given.cost.t_syscall;
        }
        let from = (sync.waits, sync.next);
        let more = self.sync_on(tid, file, pages, &mut sync);
        self.work.threads[tid].progress.done = u32::from(more);
        if more {
            self.work.threads[tid].sync = Some(sync);
            // A full device is no stall on memory, as a reclaimer's would be.
            if let Some(until) = self.mem.take_throttled() {
                self.sleep(tid, until.since(self.mem.acting.now), false);
            }
            // A page that it waited for can be under write once more.
            let moved = begun.is_none() || (sync.waits, sync.next) != from;
            return if moved { Ok(()) } else { Err(Undone::Blocked) };
        }
        self.mem.count(VmEvent::SimFsync, 1);
        self.mem.count(VmEvent::SimFsyncNs, self.mem.acting.now.since(sync.begin).0);
        Ok(())
    }

    /// Goes on with pages of a file until something has to be waited for. False: all is written.
    pub(in crate::machine) fn sync_on(
        &mut self,
        tid: ThreadId,
        file: FileId,
        pages: Range<u32>,
        sync: &mut Sync,
    ) -> bool {
        let base = self.mem.cache.files[file].base.0;
        if self.mem.cache.files[file].ramfs || self.mem.cache.files[file].shmem.is_some() {
            return false;
        }
        loop {
            while sync.next < pages.end {
                let page = PageIdx(base + sync.next);
                let Entry::Frame(folio) = self.mem.virt.pages.entry(page) else {
                    sync.next += 1;
                    continue;
                };
                let bits = self.mem.frames.bits(folio);
                let (dirty, written) = (bits & flag::DIRTY != 0, bits & flag::WRITEBACK != 0);
                if written && (sync.waits || dirty) {
                    self.wait_for_folio(tid, folio, false);
                    return true;
                }
                if dirty && !sync.waits {
                    sync.next += self.mem.flush_run(page, folio, Writer::Other) as u32;
                    return true;
                }
                sync.next += 1;
            }
            if sync.waits {
                return false;
            }
            (sync.waits, sync.next) = (true, pages.start);
        }
    }
}
