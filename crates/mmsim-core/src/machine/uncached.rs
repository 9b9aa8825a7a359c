//! Files without a cache: `posix_fadvise(2)`, `O_DIRECT` and `RWF_DONTCACHE`.
//!
//! Advice is kept with the file, not with each of its openers.
//!
//! Source: Linux 6.12 mm/fadvise.c (`generic_fadvise`), mm/filemap.c (`generic_file_read_iter`,
//! `kiocb_invalidate_pages`); 6.18 mm/filemap.c (`generic_write_sync`, `filemap_read`). Left out:
//! file systems that fall back on buffered I/O, that pages under direct I/O cannot move, and of 7.3
//! that the flusher does the writes of `RWF_DONTCACHE`.

use super::Machine;
use super::cpu::thread::Sync;
use super::fault::touch::{Outcome, Undone};
use crate::backing::device::{Io, Writer};
use crate::base::id::{FileId, PageIdx, ThreadId};
use crate::base::vmstat::VmEvent;
use crate::phys::frames::flag;
use crate::virt::pages::Entry;
use crate::virt::space::VmaKind;
use crate::workload::{FileAdvice, Uncached, VmaFlags};
use std::ops::Range;

impl Machine {
    /// `posix_fadvise(2)` on `count` pages from `first` on.
    pub(super) fn fadvise(
        &mut self,
        tid: ThreadId,
        file: u16,
        (first, count): (u32, u32),
        advice: FileAdvice,
    ) -> Outcome {
        let file = self.file_of(tid, file);
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        // tmpfs has no device to read from, and the kernel lets the call succeed without an effect
        // (mm/fadvise.c, `generic_fadvise`, `noop_backing_dev_info`).
        if self.mem.cache.files[file].shmem.is_some() {
            return Ok(());
        }
        let ra = &mut self.mem.cache.files[file].ra;
        match advice {
            FileAdvice::Normal => {
                (ra.doubled, ra.random) = (false, false);
                self.set_noreuse(file, false);
            }
            FileAdvice::Sequential => (ra.doubled, ra.random) = (true, false),
            FileAdvice::Random => ra.random = true,
            FileAdvice::NoReuse => self.set_noreuse(file, true),
            FileAdvice::WillNeed => {
                self.record.prefetched = true;
                let at = PageIdx(self.mem.cache.files[file].base.0 + first);
                self.read_what_is_needed(tid, at, count);
            }
            FileAdvice::DontNeed if self.mem.cache.files[file].ramfs => {}
            FileAdvice::DontNeed => self.drop_pages(tid, file, first..first + count),
        }
        Ok(())
    }

    /// The mappings of a file have no recency from here on, or have it again.
    fn set_noreuse(&mut self, file: FileId, noreuse: bool) {
        self.mem.cache.files[file].ra.noreuse = noreuse;
        let spaces: Vec<_> = self.mem.virt.spaces.ids().collect();
        for space in spaces {
            for id in self.mem.virt.spaces.vmas_of(space).to_vec() {
                let vma = self.mem.virt.spaces.vma(id);
                if matches!(vma.kind, VmaKind::File { file: of, .. } if of == file) {
                    let flags = VmaFlags { noreuse, ..vma.flags };
                    self.mem.virt.spaces.set_flags(&mut self.mem.virt.pages, id, flags);
                }
            }
        }
    }

    /// `POSIX_FADV_DONTNEED`: dirty pages begin to be written; pages that are clean and not in use go.
    /// If some are in use, as in the batch of another CPU, all batches are drained for a second try.
    fn drop_pages(&mut self, tid: ThreadId, file: FileId, pages: Range<u32>) {
        self.write_out(tid, file, pages.clone());
        let lru = &mut *self.policies.lru;
        self.mem.lru_drain(lru);
        if self.mem.invalidate_pages(lru, file, pages.clone()) > 0 {
            self.mem.lru_drain_all(lru);
            self.mem.invalidate_pages(lru, file, pages);
        }
        self.mem.settle_kernel();
    }

    /// Starts to write the dirty pages of a range, and waits for none.
    fn write_out(&mut self, tid: ThreadId, file: FileId, pages: Range<u32>) {
        let base = self.mem.cache.files[file].base.0;
        let mut next = pages.start;
        while next < pages.end {
            let page = PageIdx(base + next);
            next += match self.mem.virt.pages.entry(page) {
                Entry::Frame(folio)
                    if self.mem.frames.bits(folio) & (flag::DIRTY | flag::WRITEBACK)
                        == flag::DIRTY =>
                {
                    self.mem.flush_run(page, folio, Writer::Other) as u32
                }
                _ => 1,
            };
        }
        self.queue_io();
        if let Some(until) = self.mem.take_throttled() {
            self.sleep(tid, until.since(self.mem.acting.now), false);
        }
    }

    /// One step of a read or write that leaves no pages in the cache.
    pub(super) fn uncached(
        &mut self,
        tid: ThreadId,
        file: u16,
        (first, count): (u32, u32),
        write: bool,
        how: Uncached,
    ) -> Outcome {
        match how {
            _ if self.mem.cache.files[self.file_of(tid, file)].shmem.is_some() => {
                self.pages_of_file(tid, file, first, count, write)
            }
            Uncached::Direct => {
                let file = self.file_of(tid, file);
                self.direct(tid, file, first..first + count, write)
            }
            Uncached::DontCache => {
                self.step.marks = flag::DROPBEHIND;
                let flow = self.pages_of_file(tid, file, first, count, write);
                self.step.marks = 0;
                flow?;
                if write && self.work.threads[tid].progress.done == 0 {
                    let file = self.file_of(tid, file);
                    self.write_out(tid, file, first..first + count);
                }
                Ok(())
            }
        }
    }

    /// One step of a request with `O_DIRECT`: up to a page to wait for, or the request itself. Cached
    /// pages are written first; a write takes them out of the cache as well.
    fn direct(&mut self, tid: ThreadId, file: FileId, pages: Range<u32>, write: bool) -> Outcome {
        let begun = self.work.threads[tid].sync.take();
        let start = Sync { begin: self.mem.acting.now, waits: false, next: pages.start };
        let mut sync = begun.unwrap_or(start);
        if begun.is_none() {
            self.mem.acting.now += self.mem.given.cost.t_syscall;
        }
        let from = (sync.waits, sync.next);
        let waits = self.sync_on(tid, file, pages.clone(), &mut sync)
            || write && self.takes_out(tid, file, pages.clone());
        self.work.threads[tid].progress.done = u32::from(waits);
        if waits {
            self.work.threads[tid].sync = Some(sync);
            self.queue_io();
            if let Some(until) = self.mem.take_throttled() {
                self.sleep(tid, until.since(self.mem.acting.now), false);
            }
            let moved = begun.is_none() || (sync.waits, sync.next) != from;
            return if moved { Ok(()) } else { Err(Undone::Blocked) };
        }
        self.request(tid, file, pages.clone(), write);
        let n = pages.end - pages.start;
        self.work.threads[tid].progress.accesses += u64::from(n);
        self.work.done.0 += u64::from(n);
        if write && self.record.accesses {
            let base = self.mem.cache.files[file].base.0;
            for page in pages.map(|i| PageIdx(base + i)) {
                self.record.contents.file_access(page, true);
            }
        }
        Ok(())
    }

    /// Takes the cached pages of a range out. True: it has to wait for one first.
    fn takes_out(&mut self, tid: ThreadId, file: FileId, pages: Range<u32>) -> bool {
        let base = self.mem.cache.files[file].base.0;
        for page in pages.map(|i| PageIdx(base + i)) {
            match self.mem.virt.pages.entry(page) {
                Entry::Shadow(cell) => self.mem.drop_file_shadow(page, cell),
                Entry::Frame(folio) => {
                    if self.mem.frames.has(folio, flag::LOCKED | flag::WRITEBACK) {
                        self.wait_for_folio(tid, folio, false);
                        return true;
                    }
                    self.mem.invalidate_folio(&mut *self.policies.lru, folio);
                }
                _ => {}
            }
        }
        false
    }

    /// The request itself, for which its thread waits.
    pub(super) fn request(&mut self, tid: ThreadId, file: FileId, pages: Range<u32>, write: bool) {
        let n = pages.end - pages.start;
        let at = u64::from(self.mem.cache.files[file].base.0 + pages.start);
        let disk = &mut self.mem.cache.disks[self.mem.cache.files[file].disk];
        let (io, event, moved) = match write {
            true => (Io::Write, VmEvent::PgpgOut, &mut disk.written),
            false => (Io::Read, VmEvent::PgpgIn, &mut disk.read),
        };
        *moved += u64::from(n);
        self.mem.count(event, 4 * u64::from(n));
        let device = &mut self.mem.cache.disks[self.mem.cache.files[file].disk].device;
        if device.config().synchronous {
            self.mem.acting.now += device.sync_cost(io, n);
        } else {
            let now = self.mem.acting.now;
            let done = device.submit(now, io, at, n);
            self.sleep(tid, done.since(now), false);
        }
    }
}
