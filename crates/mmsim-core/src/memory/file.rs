//! The page cache's doors: adding pages, dirtying, writing, dropping.

use super::{IoDone, Memory};
use crate::backing::Shadow;
use crate::backing::cache::{Files, Shmem};
use crate::backing::device::{Device, DeviceConfig, Io, Writer};
use crate::base::id::{DiskId, FileId, IndexVec, PageIdx};
use crate::base::rules::KernelRules;
use crate::base::vmstat::VmEvent;
use crate::config::{DEFAULT_DISK, MachineConfig};
use crate::memory::trace::TraceEvent;
use crate::phys::frames::{FolioId, FrameKind, Mapped, flag};
use crate::policy::chooser::FileFolioEvent;
use crate::policy::{Arrival, ArrivalKind, Departure, ReclaimPolicy};
use crate::virt::pages::{Entry, Owner, pte};
use crate::workload::FileSpec;
use std::ops::Range;

/// Pages of the largest write of the flusher (`BIO_MAX_VECS`).
const LARGEST_WRITE: u32 = 256;

/// A disk for files.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Name in scenario files.
    pub name: String,
    /// The device.
    pub device: Device,
    /// Pages read.
    pub read: u64,
    /// Pages written.
    pub written: u64,
}

impl Disk {
    /// Those of a machine, the default one first.
    fn all(config: &MachineConfig, rules: &KernelRules) -> IndexVec<DiskId, Disk> {
        let disk = |name: &str, device: &DeviceConfig| Disk {
            name: name.to_string(),
            device: Device::new(device.clone(), rules),
            read: 0,
            written: 0,
        };
        let first = disk(DEFAULT_DISK, &config.file_device);
        let others = config.disks.iter().map(|d| disk(&d.name, &d.device));
        std::iter::once(first).chain(others).collect::<Vec<_>>().into()
    }
}

/// Files, their pages in memory, and their disks.
pub struct FileCache {
    /// Files and page cache.
    pub files: Files,
    /// The disks for files, the default one first.
    pub(crate) disks: IndexVec<DiskId, Disk>,
    /// Pages that `read(2)` and `write(2)` wanted and that were not in memory.
    pub misses: u64,
}

impl FileCache {
    pub(super) fn new(config: &MachineConfig, rules: &KernelRules) -> FileCache {
        FileCache {
            files: Files::new(1 + config.memcgs.len(), 1 + config.disks.len()),
            disks: Disk::all(config, rules),
            misses: 0,
        }
    }
}

impl Memory {
    /// The disk of a page of a file.
    pub(crate) fn disk_of(&self, page: PageIdx) -> DiskId {
        match self.cache.disks.len() {
            1 => DiskId(0),
            _ => self.cache.files[self.file_at(page).0].disk,
        }
    }

    /// The disk of a folio of the page cache.
    pub(crate) fn disk_of_folio(&self, folio: FolioId) -> DiskId {
        match self.cache.disks.len() {
            1 => DiskId(0),
            _ => {
                self.disk_of(self.file_page_of(folio).expect("a file folio has a place in a file"))
            }
        }
    }

    /// Opens a file by name, creating it if need be.
    ///
    /// # Panics
    /// If it exists with fewer pages than wanted.
    pub fn open_file(&mut self, name: &str, pages: u32) -> FileId {
        self.open(&FileSpec::new(name, pages))
    }

    /// Opens a file of a disk or an object of shared memory by name, creating it if need be.
    ///
    /// # Panics
    /// If it exists with fewer pages than wanted, or as the other of the two.
    pub fn open(&mut self, file: &FileSpec) -> FileId {
        let FileSpec { name, pages, shmem } = file;
        if let Some(f) = self.cache.files.open(name) {
            let there = &self.cache.files[f];
            assert_eq!(there.shmem.is_some(), shmem.is_some(), "{f} ({name}) is shared memory");
            assert!(there.pages >= *pages, "{f} ({name}) has fewer than {pages} pages");
            return f;
        }
        self.create_file(name, *pages, shmem.map(Shmem::new))
    }

    fn create_file(&mut self, name: &str, pages: u32, shmem: Option<Shmem>) -> FileId {
        let groups = pages.div_ceil(512).max(1);
        // The owner is named after the file exists; the slice is reserved first.
        let g = self.virt.pages.reserve(groups, Owner::Free, 0);
        let id = self.cache.files.create(name.to_string(), pages, g.first());
        let owner = if shmem.is_some() { Owner::Shmem(id) } else { Owner::File(id) };
        self.cache.files[id].shmem = shmem;
        for i in 0..groups {
            let group = self.virt.pages.group_mut(crate::base::id::GroupId(g.0 + i));
            group.owner = owner;
            group.base = i.into();
        }
        id
    }

    /// Looks at the folios of some pages of a file that are about to be read or written, so that
    /// memory fetches their flags together: else each waits for its own. Changes nothing.
    pub(crate) fn prefetch_file_pages(&self, file: FileId, pages: Range<u32>) {
        let f = &self.cache.files[file];
        let pages = pages.start..pages.end.min(f.pages);
        let folios = self.folios_at(f.base.0 + pages.start..f.base.0 + pages.end);
        std::hint::black_box(folios.fold(0, |seen, f| seen ^ self.frames.bits(f)));
    }

    /// The folio of a page of a file, if it is in the cache.
    pub fn file_folio_at(&self, page: PageIdx) -> Option<FolioId> {
        self.folios_at(page.0..page.0 + 1).next()
    }

    /// The folios of those of some pages that are present.
    pub(super) fn folios_at(&self, pages: Range<u32>) -> impl Iterator<Item = FolioId> {
        pages.filter_map(|page| match self.virt.pages.entry(PageIdx(page)) {
            Entry::Frame(folio) => Some(folio),
            _ => None,
        })
    }

    /// The file and page number behind a page of the cache.
    pub fn file_at(&self, page: PageIdx) -> (FileId, u32) {
        match self.virt.pages.group(page.group()).owner {
            Owner::File(f) | Owner::Shmem(f) => (f, page.0 - self.cache.files[f].base.0),
            o => panic!("{page} belongs to {o:?}, not to a file"),
        }
    }

    /// Puts a fresh frame into the page cache and its LRU batch. The policy gets a shadow found
    /// there, unless the page is allocated to be written.
    pub fn add_to_page_cache(
        &mut self,
        policy: &mut dyn ReclaimPolicy,
        page: PageIdx,
        folio: FolioId,
        how: Arrival,
    ) {
        let old = self.virt.pages.entry(page);
        debug_assert!(!matches!(old, Entry::Frame(_)), "{page} is cached already");
        let memcg = self.frames.memcg(folio);
        self.frames.reset(folio, FrameKind::File);
        self.frames.set_memcg(folio, memcg);
        self.frames.rmap[folio] = page.0;
        self.virt.pages.set_entry(page, Entry::Frame(folio), 0);
        self.cache.files.cached(memcg);
        self.cache.files.node_enter(page, old != Entry::None);
        let (file, index) = self.file_at(page);
        if self.cache.files[file].ramfs {
            self.mlock(folio);
        }
        self.emit(|| TraceEvent::MmFilemapAddToPageCache { file, index, pfn: folio, page });
        let shadow = match old {
            Entry::Shadow(cell) => Some(self.cache.files.take_shadow(cell)),
            _ => None,
        };
        let shadow = shadow.filter(|_| how.kind != ArrivalKind::Write);
        if shadow.is_some() {
            let mapped = how.in_fault.is_some();
            let cost = &self.given.cost;
            self.charge(if mapped { cost.t_refault_mapped } else { cost.t_refault_read });
        }
        if self.memcgs.journals.on() {
            self.journal_told(policy, FileFolioEvent::Added, folio);
        }
        policy.folio_entering(self, folio, shadow, how);
        self.tell_of_arrival(page, folio);
        self.lru_add(policy, folio, how);
    }

    /// Takes an unmapped, clean page out of the cache; the frame is the caller's to free.
    pub(super) fn uncache_file_page(&mut self, folio: FolioId, shadow: Option<Shadow>) {
        if self.memcgs.journals.on() {
            self.journal(FileFolioEvent::Evicted, folio);
        }
        let page = PageIdx(self.frames.rmap[folio]);
        let entry = match shadow {
            Some(s) => Entry::Shadow(self.cache.files.put_shadow(s)),
            None => Entry::None,
        };
        self.virt.pages.set_entry(page, entry, 0);
        let clock = self.shadow_clock();
        self.cache.files.node_leave(page, shadow.is_some(), clock);
        self.cache.files.uncached(self.frames.memcg(folio));
    }

    /// Marks a folio dirty. File folios are queued for the flusher.
    pub fn dirty_folio(&mut self, folio: FolioId, file: Option<PageIdx>) {
        if self.frames.has(folio, flag::DIRTY) {
            return;
        }
        self.frames.set(folio, flag::DIRTY);
        if let Some(page) = file
            && self.frames.kind(folio) == FrameKind::File
        {
            self.cache.files.dirtied(
                self.disk_of(page),
                self.frames.memcg(folio),
                page,
                self.acting.now,
            );
            self.count(VmEvent::NrDirtied, 1);
        }
    }

    /// Starts to write folios whose dirty flags are clear already, which lie side by side in a file.
    /// True: done. Who writes sleeps at the end of his step if the device has enough to do.
    pub(super) fn start_file_write(&mut self, folios: &[FolioId], by: Writer) -> bool {
        let n = folios.len() as u32;
        self.count(VmEvent::PgpgOut, 4 * u64::from(n));
        let page = self.file_page_of(folios[0]).expect("a file folio has a place in a file");
        let id = self.disk_of(page);
        let now = self.goes_on_at();
        let disk = &mut self.cache.disks[id];
        disk.written += u64::from(n);
        if disk.device.config().synchronous {
            self.acting.now += disk.device.sync_cost(Io::Write, n);
            self.count(VmEvent::NrWritten, n.into());
            for &folio in folios {
                self.cache.files.wrote(id, self.frames.memcg(folio), self.acting.now);
            }
            return true;
        }
        let at = disk.device.lets_write(now, by, 0).expect("nothing is held back");
        self.acting.throttled = self.acting.throttled.max(at);
        let done = disk.device.write(at, by, page.0.into(), n);
        for &folio in folios {
            self.acting.io.push((done, IoDone::Write(folio)));
            self.cache.files.write_began(id, self.frames.memcg(folio));
        }
        false
    }

    /// Writes a dirty folio and those that follow it in the file, as far as they are dirty too and of
    /// the same group, in one request: for the flusher, or for `fsync(2)`. Returns how many.
    pub(crate) fn flush_run(&mut self, page: PageIdx, folio: FolioId, by: Writer) -> u64 {
        let memcg = self.frames.memcg(folio);
        let (file, index) = self.file_at(page);
        let most = LARGEST_WRITE.min(self.cache.files[file].pages - index);
        let mut run = std::mem::take(&mut self.lru.settling);
        for p in page.0..page.0 + most {
            let Entry::Frame(f) = self.virt.pages.entry(PageIdx(p)) else { break };
            let dirty = self.frames.bits(f) & (flag::DIRTY | flag::WRITEBACK) == flag::DIRTY;
            if !dirty || self.frames.memcg(f) != memcg {
                break;
            }
            self.clean_for_write(f);
            run.push(f);
        }
        self.acting.now += self.given.cost.t_swap_submit * run.len() as u64;
        if !self.start_file_write(&run, by) {
            run.iter().for_each(|&f| self.frames.set(f, flag::WRITEBACK));
        }
        let n = run.len() as u64;
        run.clear();
        self.lru.settling = run;
        n
    }

    /// Writes one dirty folio, as the flusher does.
    pub fn flush_folio(&mut self, folio: FolioId) {
        self.clean_for_write(folio);
        if !self.start_file_write(&[folio], Writer::Flusher { hurried: true }) {
            self.frames.set(folio, flag::WRITEBACK);
        }
    }

    /// A folio is about to be written: its mappings are cleaned and write-protected first,
    /// so that the next write faults and dirties it anew (`folio_mkclean`).
    fn clean_for_write(&mut self, folio: FolioId) {
        let maps = self.virt.rmap.of(&self.frames, folio);
        let mut i = 0;
        while let Some(p) = self.virt.rmap.nth(maps, i) {
            i += 1;
            let hot = self.virt.pages.hot(p);
            self.virt.pages.set_hot(p, hot & !(pte::DIRTY | pte::WRITABLE));
        }
        self.frames.clear(folio, flag::DIRTY);
        self.cache.files.cleaned(self.disk_of_folio(folio), self.frames.memcg(folio));
    }

    /// Drops an unmapped, clean, idle folio of the page cache without a shadow
    /// (`invalidate`, `drop_caches`). False: it is in use.
    pub fn drop_file_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) -> bool {
        let busy = flag::DIRTY | flag::WRITEBACK | flag::LOCKED | flag::IN_BATCH;
        if self.frames.mapped(folio) != Mapped::No || self.frames.has(folio, busy) {
            return false;
        }
        self.remove_file_folio(policy, folio);
        true
    }

    /// Takes an unmapped file folio that no device works on out of the cache, its list and its batch,
    /// without a shadow, and frees it. (In the kernel its frame is free when the batch is drained.)
    pub(super) fn remove_file_folio(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        self.leave_batch(folio);
        if self.frames.has(folio, flag::MLOCKED) {
            self.munlock_freed(folio);
        }
        if self.frames.has(folio, flag::LRU) {
            policy.folio_departed(self, folio, Departure::Freed);
        }
        let page = PageIdx(self.frames.rmap[folio]);
        self.tell_of_drop(page, 1);
        let (pfn, slot, why) = (Some(folio), None, "invalidate");
        self.emit(|| TraceEvent::SimDrop { page, pfn, slot, why });
        self.uncache_file_page(folio, None);
        self.memcgs.uncharge(self.frames.memcg(folio), 1);
        self.free_frame(folio);
    }

    /// `drop_caches`: frees every clean, unmapped page of every file. Returns how many.
    pub fn drop_caches(&mut self, policy: &mut dyn ReclaimPolicy) -> u64 {
        self.lru_drain_all(policy);
        let mut n = 0;
        for f in self.cache.files.ids() {
            let (base, pages) = (self.cache.files[f].base.0, self.cache.files[f].pages);
            for p in base..base + pages {
                if let Entry::Frame(folio) = self.virt.pages.entry(PageIdx(p)) {
                    n += u64::from(self.drop_file_folio(policy, folio));
                }
            }
        }
        self.count(VmEvent::DropPagecache, 1);
        n
    }
}
