//! File I/O: readahead, `read`, `write`.
//!
//! Source: Linux 6.12 mm/readahead.c (`ondemand_readahead`, `do_page_cache_ra`),
//! mm/filemap.c (`do_sync_mmap_readahead`, `filemap_read`).

use super::Machine;
use super::fault::touch::{Outcome, Undone};
use crate::backing::cache::{initial_window, next_window};
use crate::backing::device::Io;
use crate::base::id::{FileId, PageIdx, Pfn, ThreadId, VmaId};
use crate::base::vmstat::VmEvent;
use crate::memory::IoDone;
use crate::phys::frames::{FolioId, flag};
use crate::policy::ArrivalKind;
use crate::virt::pages::Entry;
use crate::virt::space::VmaKind;
use std::convert::Infallible;

const MMAP_LOTSAMISS: u32 = 100;
const MMAP_MISS_MAX: u32 = 1000;

/// Pages that are read at once.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// First page.
    start: u32,
    /// Pages.
    n: u32,
    /// The page that is marked so that reading it reads on.
    trigger: Option<u32>,
    /// The page that has to get a frame.
    must: Option<u32>,
    /// The mapping whose fault it is, if any.
    vma: Option<VmaId>,
}

impl Ahead {
    /// Only the pages of the request.
    fn only(index: u32, n: u32, vma: Option<VmaId>) -> Self {
        Ahead { start: index, n, trigger: None, must: Some(index), vma }
    }
}

impl Machine {
    /// Reads pages of a file into the cache, as far as they are missing.
    fn read_pages(&mut self, tid: ThreadId, file: FileId, what: Ahead) -> Outcome {
        let Ahead { start, n, trigger, must, vma } = what;
        let (base, size) = (self.mem.cache.files[file].base.0, self.mem.cache.files[file].pages);
        // The frame that has to be there comes first: reclaim must not run half-way.
        let mut wanted = match must {
            Some(m) => Some((m, self.alloc_user(tid).frame()?)),
            None => None,
        };
        let how = self.arrival(ArrivalKind::Read, vma);
        let end = start.saturating_add(n).min(size);
        let mut run: Vec<(u32, Pfn)> = Vec::new();
        for i in start..end {
            let at = PageIdx(base + i);
            if matches!(self.mem.virt.pages.entry(at), Entry::Frame(_)) {
                continue;
            }
            let pfn = match wanted {
                Some((m, p)) if m == i => {
                    wanted = None;
                    p
                }
                _ => match self.alloc_speculative(tid, self.work.threads[tid].memcg) {
                    Some(p) => p,
                    None => break,
                },
            };
            self.mem.telling.refaulting = Some(at);
            self.mem.add_to_page_cache(&mut *self.policies.lru, at, pfn, how);
            let bits = if trigger == Some(i) { flag::RA_TRIGGER } else { 0 };
            self.mem.frames.set(pfn, flag::LOCKED | bits | self.step.marks);
            self.mem.count(VmEvent::PgpgIn, 4);
            run.push((i, pfn));
        }
        if let Some((m, p)) = wanted {
            // Readahead stopped short of the page that is needed.
            let at = PageIdx(base + m);
            if matches!(self.mem.virt.pages.entry(at), Entry::Frame(_)) {
                self.mem.memcgs.uncharge(self.mem.frames.memcg(p), 1);
                self.mem.free_frame(p);
            } else {
                self.mem.telling.refaulting = Some(at);
                self.mem.add_to_page_cache(&mut *self.policies.lru, at, p, how);
                self.mem.frames.set(p, flag::LOCKED | self.step.marks);
                self.mem.count(VmEvent::PgpgIn, 4);
                run.push((m, p));
            }
        }
        self.submit_file_reads(file, &run);
        self.queue_io();
        self.mem.settle_kernel();
        Ok(())
    }

    fn submit_file_reads(&mut self, file: FileId, run: &[(u32, Pfn)]) {
        let (base, disk) = (self.mem.cache.files[file].base.0, self.mem.cache.files[file].disk);
        self.mem.cache.disks[disk].read += run.len() as u64;
        let mut i = 0;
        while i < run.len() {
            let mut n = 1;
            while i + n < run.len() && run[i + n].0 == run[i].0 + n as u32 {
                n += 1;
            }
            let dev = &mut self.mem.cache.disks[disk].device;
            if dev.config().synchronous {
                let cost = dev.read_sync(n as u32);
                self.mem.acting.now += cost;
                for &(_, p) in &run[i..i + n] {
                    self.mem.frames.clear(p, flag::LOCKED);
                }
            } else {
                let at = u64::from(base + run[i].0);
                let done = dev.submit(self.mem.acting.now, Io::Read, at, n as u32);
                for &(_, p) in &run[i..i + n] {
                    self.mem.acting.io.push((done, IoDone::Read(p)));
                }
            }
            i += n;
        }
    }

    /// A miss of a read of `req` pages from `index` on (`page_cache_sync_ra`).
    fn sync_readahead(&mut self, tid: ThreadId, file: FileId, index: u32, req: u32) -> Outcome {
        let max = self.window_of(file);
        if max == 0 {
            return self.read_pages(tid, file, Ahead::only(index, 1, None));
        }
        let ra = self.mem.cache.files[file].ra;
        if ra.random {
            let n = req.min(self.most_ahead(file));
            return self.read_pages(tid, file, Ahead::only(index, n, None));
        }
        let sequential = index == 0 || ra.prev.is_some_and(|p| index == p || index == p + 1);
        let (start, size, async_size) = if sequential || req > max {
            let size = initial_window(req, max);
            (index, size, if size > req { size - req } else { size / 2 })
        } else {
            // Cached history right before the miss makes it a stream; as much as the
            // history is read, and its last page reads on.
            let history = self.cached_before(file, index, max);
            if history <= req {
                return self.read_pages(tid, file, Ahead::only(index, req.min(max), None));
            }
            let history = if history >= index { history * 2 } else { history };
            (index, (history + req).min(max), 1)
        };
        let f = &mut self.mem.cache.files[file].ra;
        (f.start, f.size, f.async_size) = (start, size, async_size);
        let trigger = start + size - async_size;
        let ahead = Ahead { start, n: size, trigger: Some(trigger), must: Some(index), vma: None };
        self.read_pages(tid, file, ahead)
    }

    /// Reads pages of a file that will be needed, as many as one call of `MADV_WILLNEED`
    /// reads, and does not wait for them.
    pub(super) fn read_what_is_needed(&mut self, tid: ThreadId, at: PageIdx, n: u32) {
        let (file, start) = self.mem.file_at(at);
        let n = n.min(self.most_ahead(file));
        let _ =
            self.read_pages(tid, file, Ahead { start, n, trigger: None, must: None, vma: None });
    }

    /// Pages of the largest readahead window of a file.
    fn window_of(&self, file: FileId) -> u32 {
        self.mem.given.vm.ra_pages << u32::from(self.mem.cache.files[file].ra.doubled)
    }

    /// Pages that one call reads at most (`force_page_cache_ra`).
    fn most_ahead(&self, file: FileId) -> u32 {
        let device = self.mem.cache.disks[self.mem.cache.files[file].disk].device.config();
        let io_pages = match device.max_sectors_kb {
            0 => self.mem.given.rules.io_pages,
            kib => kib / 4,
        };
        io_pages.max(self.window_of(file))
    }

    fn cached_before(&self, file: FileId, index: u32, max: u32) -> u32 {
        let base = self.mem.cache.files[file].base.0;
        (0..max.min(index))
            .take_while(|k| {
                let at = PageIdx(base + index - 1 - k);
                matches!(self.mem.virt.pages.entry(at), Entry::Frame(_))
            })
            .count() as u32
    }

    fn cached_after(&self, file: FileId, index: u32, max: u32) -> u32 {
        let f = &self.mem.cache.files[file];
        let left = f.pages - index - 1;
        (0..max.min(left))
            .take_while(|k| {
                let at = PageIdx(f.base.0 + index + 1 + k);
                matches!(self.mem.virt.pages.entry(at), Entry::Frame(_))
            })
            .count() as u32
    }

    /// The marked page was read: read the next window.
    fn async_readahead(&mut self, tid: ThreadId, file: FileId, index: u32, vma: Option<VmaId>) {
        let max = self.window_of(file);
        if max == 0 {
            return;
        }
        let ra = self.mem.cache.files[file].ra;
        let (start, size) = if index == ra.start + ra.size - ra.async_size {
            (ra.start + ra.size, next_window(ra.size.max(1), max).max(ra.size))
        } else {
            // A mark of some other stream: what is cached behind it was its window.
            let cached = self.cached_after(file, index, max);
            if cached >= max {
                return;
            }
            (index + 1 + cached, next_window(cached + 1 + 1, max))
        };
        let ra = &mut self.mem.cache.files[file].ra;
        (ra.start, ra.size, ra.async_size) = (start, size, size);
        let _ = self.read_pages(
            tid,
            file,
            Ahead { start, n: size, trigger: Some(start), must: None, vma },
        );
    }

    /// Readahead of a mapped miss (`do_sync_mmap_readahead`). The fault is tried anew after it.
    pub(super) fn mmap_readahead(
        &mut self,
        tid: ThreadId,
        at: PageIdx,
        vma: VmaId,
    ) -> Outcome<Infallible> {
        let (file, index) = self.mem.file_at(at);
        let v = self.mem.virt.spaces.vma(vma);
        let (flags, kind, pages) = (v.flags, v.kind, v.pages);
        let max = self.window_of(file);
        let reads_on = self.mem.given.rules.exec_reads_on && flags.exec;
        let read = if flags.rand_read && !reads_on || max == 0 {
            self.read_pages(tid, file, Ahead::only(index, 1, Some(vma)))
        } else if flags.seq_read {
            self.sync_readahead(tid, file, index, 1)
        } else {
            let counts = !(self.mem.given.rules.mmap_miss_once && flags.exec);
            let ra = &mut self.mem.cache.files[file].ra;
            ra.mmap_miss = (ra.mmap_miss + u32::from(counts)).min(MMAP_MISS_MAX);
            if ra.mmap_miss > MMAP_LOTSAMISS && counts {
                self.read_pages(tid, file, Ahead::only(index, 1, Some(vma)))
            } else if reads_on {
                let end = match kind {
                    VmaKind::File { offset, .. } => offset + pages,
                    _ => unreachable!("{vma:?} maps no file"),
                };
                let size = max.min(end - index);
                (ra.start, ra.size, ra.async_size) = (index, size, 0);
                let (start, must) = (index, Some(index));
                let ahead = Ahead { start, n: size, trigger: None, must, vma: Some(vma) };
                self.read_pages(tid, file, ahead)
            } else {
                let start = index.saturating_sub(max / 2);
                (ra.start, ra.size, ra.async_size) = (start, max, max / 4);
                let trigger = start + max - max / 4;
                let ahead = Ahead {
                    start,
                    n: max,
                    trigger: Some(trigger),
                    must: Some(index),
                    vma: Some(vma),
                };
                self.read_pages(tid, file, ahead)
            }
        };
        read?;
        Err(self.await_page(tid, at))
    }

    /// Waits for a page that is being read, unless it is there.
    fn await_page(&mut self, tid: ThreadId, at: PageIdx) -> Undone {
        if let Entry::Frame(folio) = self.mem.virt.pages.entry(at)
            && self.mem.frames.has(folio, flag::LOCKED)
        {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.wait_for_folio(tid, folio, refault);
            return Undone::Blocked;
        }
        // There already: a synchronous device.
        Undone::Again
    }

    /// Reads on if the folio that was found is marked. The reader holds the folio meanwhile:
    /// reclaim on behalf of the new pages must not take it. (One that is under read itself
    /// can still go once its read has ended: whoever calls looks again.)
    fn read_on(
        &mut self,
        tid: ThreadId,
        file: FileId,
        index: u32,
        folio: FolioId,
        vma: Option<VmaId>,
    ) {
        if self.mem.frames.test_clear(folio, flag::RA_TRIGGER) {
            let under_read = self.mem.frames.has(folio, flag::LOCKED);
            self.mem.frames.set(folio, flag::LOCKED);
            self.async_readahead(tid, file, index, vma);
            if !under_read {
                self.mem.frames.clear(folio, flag::LOCKED);
            }
        }
    }

    /// A mapped fault found its page in the cache.
    pub(super) fn mmap_hit(&mut self, tid: ThreadId, at: PageIdx, vma: VmaId) {
        let (file, index) = self.mem.file_at(at);
        let ra = &mut self.mem.cache.files[file].ra;
        ra.mmap_miss = ra.mmap_miss.saturating_sub(1);
        if let Entry::Frame(folio) = self.mem.virt.pages.entry(at) {
            self.read_on(tid, file, index, folio, Some(vma));
        }
    }

    /// One page of a `read(2)` of `left` more pages.
    pub(super) fn read_page(
        &mut self,
        tid: ThreadId,
        file: FileId,
        index: u32,
        left: u32,
        first: bool,
    ) -> Outcome {
        assert!(
            index < self.mem.cache.files[file].pages,
            "{file}: read of page {index} past its end"
        );
        let at = PageIdx(self.mem.cache.files[file].base.0 + index);
        let Entry::Frame(folio) = self.mem.virt.pages.entry(at) else {
            self.mem.acting.now += self.mem.given.cost.t_read_missing;
            self.sync_readahead(tid, file, index, left)?;
            self.mem.cache.misses += 1;
            return Err(self.await_page(tid, at));
        };
        self.read_on(tid, file, index, folio, None);
        if self.mem.virt.pages.entry(at) != Entry::Frame(folio) {
            return Err(Undone::Again);
        }
        if self.mem.frames.has(folio, flag::LOCKED) {
            let refault = self.mem.frames.has(folio, flag::WORKINGSET);
            self.wait_for_folio(tid, folio, refault);
            return Err(Undone::Blocked);
        }
        self.mem.acting.now += self.mem.given.cost.t_read_cached;
        let prev = self.mem.cache.files[file].ra.prev.replace(index);
        // Reading on in the page where the last read ended is one access, not two.
        if !(first && prev == Some(index)) {
            self.mem.mark_accessed(&mut *self.policies.lru, folio);
        }
        self.mem.drop_behind(&mut *self.policies.lru, folio);
        Ok(())
    }

    /// One page of a `write(2)`, written in full.
    pub(super) fn write_page(&mut self, tid: ThreadId, file: FileId, index: u32) -> Outcome {
        assert!(
            index < self.mem.cache.files[file].pages,
            "{file}: write of page {index} past its end"
        );
        if self.held_back(tid) {
            return Err(Undone::Blocked);
        }
        let at = PageIdx(self.mem.cache.files[file].base.0 + index);
        let folio = match self.mem.virt.pages.entry(at) {
            Entry::Frame(f) if self.mem.frames.has(f, flag::LOCKED) => {
                self.wait_for_folio(tid, f, false);
                return Err(Undone::Blocked);
            }
            Entry::Frame(f) => {
                if self.step.marks == 0 {
                    self.mem.frames.clear(f, flag::DROPBEHIND);
                }
                f
            }
            _ => {
                let pfn = self.alloc_user(tid).frame()?;
                let how = self.arrival(ArrivalKind::Write, None);
                self.mem.add_to_page_cache(&mut *self.policies.lru, at, pfn, how);
                self.mem.frames.set(pfn, self.step.marks);
                self.mem.cache.misses += 1;
                pfn
            }
        };
        self.mem.acting.now += self.mem.given.cost.t_copy_page;
        self.mem.dirty_folio(folio, Some(at));
        self.mem.settle_kernel();
        // The page is written whether or not the writer is paused for it.
        self.balance_dirty_pages(tid, folio);
        Ok(())
    }
}
