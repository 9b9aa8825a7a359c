//! Files and the page cache.
//!
//! A file takes a slice of the page index; a page of it is present (in the cache), has a
//! shadow, or has nothing. Shadows of file pages live in a slab of cells.
//!
//! File readahead follows Linux's on-demand rule: state per file, a window
//! that starts small, doubles while the reader keeps up, and is triggered again by a mark
//! inside the last window.
//!
//! Sources: Linux 6.12 mm/readahead.c, mm/filemap.c.

use crate::backing::Shadow;
use crate::backing::shadow_queue::{ShadowQueue, Since};
use crate::backing::shares::Shares;
use crate::base::id::{AsId, DiskId, FileId, Idx as _, IndexVec, MemcgId, PageIdx};
use crate::base::time::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// Readahead state of an open file.
#[derive(Clone, Copy, Debug)]
pub struct FileRa {
    /// Start of the current window.
    pub start: u32,
    /// Pages of it.
    pub size: u32,
    /// Pages at its end that are read ahead of need.
    pub async_size: u32,
    /// Last page read.
    pub prev: Option<u32>,
    /// Misses less hits of mapped reads, 0..=1000.
    pub mmap_miss: u32,
    /// `POSIX_FADV_SEQUENTIAL`: its window is twice that of the device.
    pub doubled: bool,
    /// `POSIX_FADV_RANDOM`: a read that misses reads the pages of the request alone.
    pub random: bool,
    /// `POSIX_FADV_NOREUSE`: mappings of it have no recency.
    pub noreuse: bool,
}

impl FileRa {
    /// State of a file before its first read.
    pub const NEW: FileRa = FileRa {
        start: 0,
        size: 0,
        async_size: 0,
        prev: None,
        mmap_miss: 0,
        doubled: false,
        random: false,
        noreuse: false,
    };
}

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// Name.
    pub name: String,
    /// Pages.
    pub pages: u32,
    /// Page 0 in the page index.
    pub base: PageIdx,
    /// Readahead state (all opens of a file share one here).
    pub ra: FileRa,
    /// On ramfs. Its pages are unevictable, always dirty and never written, so nothing evicts or
    /// migrates them (`ramfs_get_inode`, `fallback_migrate_folio`).
    pub ramfs: bool,
    /// The disk that it lies on.
    pub disk: DiskId,
    /// It is an object of shared memory.
    pub shmem: Option<Shmem>,
}

/// An object of shared memory: a file of tmpfs, a memfd, a SysV segment, or the memory behind shared
/// anonymous mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ShmemSpec {
    /// Pages that it may have (`size=` of its tmpfs). A touch of one more ends the process.
    pub limit: Option<u32>,
    /// It stays when no process maps it any more, as a file of tmpfs or a SysV segment does.
    pub stays: bool,
    /// It never goes to swap: its tmpfs is mounted with `noswap`.
    pub noswap: bool,
}

/// State of an object of shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shmem {
    /// Its limit, and how long it lives.
    pub spec: ShmemSpec,
    /// Pages that it has, in memory or in swap.
    pub used: u32,
    /// Mappings of it.
    pub mappings: u32,
    /// Its pages are unevictable: `noswap`, or `SHM_LOCK`.
    pub unevictable: bool,
    /// A region, by its number, that maps it from a page on: by the process's law its pages compress.
    pub mapper: Option<(AsId, u16, u32)>,
}

impl Shmem {
    /// A new one, without pages.
    pub(crate) fn new(spec: ShmemSpec) -> Shmem {
        Shmem { spec, unevictable: spec.noswap, ..Shmem::default() }
    }
}

/// The pages of files that are charged to one group: what its writeback domain counts.
#[derive(Clone, Default, Debug)]
pub(crate) struct MemcgPages {
    /// In the cache.
    pub cached: u64,
    /// Dirty.
    pub dirty: u64,
    /// Under write.
    pub writeback: u64,
}

/// The pages of one group on one disk (`struct bdi_writeback`).
#[derive(Clone, Default, Debug)]
pub struct WbPages {
    /// Dirty.
    pub dirty: u64,
    /// Under write.
    pub writeback: u64,
    /// Dirtied so far.
    pub dirtied: u64,
    /// Written so far.
    pub written: u64,
    /// Pages whose folios were dirtied, in that order, with the time; entries whose folio is clean
    /// by now are passed over.
    pub queue: VecDeque<(PageIdx, SimTime)>,
}

/// The pages of all groups on one disk.
#[derive(Clone, Debug)]
struct DiskPages {
    dirty: u64,
    writeback: u64,
    groups: IndexVec<MemcgId, WbPages>,
}

impl MemcgPages {
    /// Pages that become clean when they are written and writes have ended.
    pub(crate) fn cleanable(&self) -> u64 {
        self.dirty + self.writeback
    }
}

/// All files, with what the page cache needs besides the page index.
#[derive(Clone)]
pub struct Files {
    files: IndexVec<FileId, File>,
    shadows: Vec<Shadow>,
    free_cells: Vec<u32>,
    /// Shadows that exist.
    pub nr_shadows: u64,
    /// Pages of each group, the root first.
    groups: IndexVec<MemcgId, MemcgPages>,
    disks: IndexVec<DiskId, DiskPages>,
    /// The parts that disks have in what is written, of the machine and, below it, of each group.
    shares: Vec<Shares>,
    /// Dirty folios of files.
    pub nr_dirty: u64,
    /// File folios under write.
    pub nr_writeback: u64,
    /// Pages in the cache, without shared memory.
    pub nr_cached: u64,
    /// Pages of shared memory (`NR_SHMEM`).
    pub nr_shmem: u64,
    by_name: BTreeMap<String, FileId>,
    tree: Vec<TreeNode>,
    nodes: u64,
    /// Nodes that hold only shadows.
    pub shadow_nodes: u64,
    /// Orders nodes of shadows on machines without swap; else the swap map's clock does.
    pub(crate) clock: Since,
    order: ShadowQueue,
}

/// A node of the files' radix trees: 64 entries.
#[derive(Clone, Copy, Debug, Default)]
struct TreeNode {
    /// Pages and shadows.
    used: u8,
    /// Shadows among them.
    shadows: u8,
    /// When it became one of shadows only.
    since: Since,
}

impl TreeNode {
    /// True if it holds shadows only.
    fn only(&self) -> bool {
        self.used > 0 && self.used == self.shadows
    }
    /// True if it has held only shadows since then.
    fn only_since(&self, since: Since) -> bool {
        self.only() && self.since == since
    }
}

impl Files {
    /// No files, on a machine with `groups` groups, the root included, and `disks` disks.
    pub fn new(groups: usize, disks: usize) -> Self {
        let disk = DiskPages {
            dirty: 0,
            writeback: 0,
            groups: IndexVec::filled(groups, WbPages::default()),
        };
        Files {
            files: IndexVec::new(),
            shadows: Vec::new(),
            free_cells: Vec::new(),
            nr_shadows: 0,
            groups: IndexVec::filled(groups, MemcgPages::default()),
            disks: IndexVec::filled(disks, disk),
            shares: vec![Shares::new(disks); groups],
            nr_dirty: 0,
            nr_writeback: 0,
            nr_cached: 0,
            nr_shmem: 0,
            by_name: BTreeMap::new(),
            tree: Vec::new(),
            nodes: 0,
            shadow_nodes: 0,
            clock: Since::default(),
            order: ShadowQueue::default(),
        }
    }
    /// Pages of a removed group are those of the group above it, its dirty ones in order of time
    /// among that one's.
    pub(crate) fn reparent(&mut self, memcg: MemcgId, heir: MemcgId) {
        let MemcgPages { cached, dirty, writeback } = std::mem::take(&mut self.groups[memcg]);
        let all = &mut self.groups[heir];
        all.cached += cached;
        all.dirty += dirty;
        all.writeback += writeback;
        for disk in self.disks.iter_mut() {
            let WbPages { dirty, writeback, queue, .. } = std::mem::take(&mut disk.groups[memcg]);
            let all = &mut disk.groups[heir];
            all.dirty += dirty;
            all.writeback += writeback;
            all.queue.extend(queue);
            all.queue.make_contiguous().sort_by_key(|entry| entry.1);
        }
    }
    /// The pages of a group.
    pub(crate) fn group(&self, m: MemcgId) -> &MemcgPages {
        &self.groups[m]
    }
    /// The pages of a group on a disk.
    pub fn wb(&self, disk: DiskId, m: MemcgId) -> &WbPages {
        &self.disks[disk].groups[m]
    }
    /// Pages of a disk that are dirty, and that are under write.
    pub(crate) fn on_disk(&self, disk: DiskId) -> [u64; 2] {
        let d = &self.disks[disk];
        [d.dirty, d.writeback]
    }
    /// The part of `pages` of a domain that a disk has: of the machine, or of a group.
    pub(crate) fn share(&self, disk: DiskId, m: Option<MemcgId>, pages: u64, now: SimTime) -> u64 {
        self.shares[m.map_or(0, MemcgId::index)].of(disk, pages, now)
    }
    /// The oldest entry of a queue of dirty pages, taken out of it.
    pub(crate) fn pop_dirty(&mut self, disk: DiskId, m: MemcgId) -> Option<(PageIdx, SimTime)> {
        self.disks[disk].groups[m].queue.pop_front()
    }
    /// A page is dirty still, and its turn comes again.
    pub(crate) fn requeue_dirty(&mut self, disk: DiskId, m: MemcgId, entry: (PageIdx, SimTime)) {
        self.disks[disk].groups[m].queue.push_back(entry);
    }
    /// A page of a group enters the cache.
    pub(crate) fn cached(&mut self, m: MemcgId) {
        self.nr_cached += 1;
        self.groups[m].cached += 1;
    }
    /// A page of a group left the cache.
    pub(crate) fn uncached(&mut self, m: MemcgId) {
        self.nr_cached -= 1;
        self.groups[m].cached -= 1;
    }
    /// A page of shared memory is in memory; `new`: it was not in swap before.
    pub(crate) fn shmem_enters(&mut self, file: FileId, page: PageIdx, new: bool) {
        self.nr_shmem += 1;
        if new {
            self.node_enter(page, false);
            self.shmem_of(file).used += 1;
        }
    }
    /// A page of shared memory is no longer in memory; `gone`: nor in swap.
    pub(crate) fn shmem_leaves(&mut self, file: FileId, page: PageIdx, gone: bool) {
        self.nr_shmem -= 1;
        if gone {
            self.shmem_gone(file, page);
        }
    }
    /// A page of shared memory has no contents any more.
    pub(crate) fn shmem_gone(&mut self, file: FileId, page: PageIdx) {
        self.node_leave(page, false, Since::default());
        self.shmem_of(file).used -= 1;
    }
    /// The state of an object of shared memory.
    pub(crate) fn shmem_of(&mut self, file: FileId) -> &mut Shmem {
        self.files[file].shmem.as_mut().expect("an object of shared memory")
    }
    /// A page of a group became dirty.
    pub(crate) fn dirtied(&mut self, disk: DiskId, m: MemcgId, page: PageIdx, now: SimTime) {
        self.nr_dirty += 1;
        self.groups[m].dirty += 1;
        let d = &mut self.disks[disk];
        d.dirty += 1;
        let wb = &mut d.groups[m];
        wb.dirty += 1;
        wb.dirtied += 1;
        wb.queue.push_back((page, now));
    }
    /// A page of a group is about to be written: it is not dirty any more.
    pub(crate) fn cleaned(&mut self, disk: DiskId, m: MemcgId) {
        self.nr_dirty -= 1;
        self.groups[m].dirty -= 1;
        self.disks[disk].dirty -= 1;
        self.disks[disk].groups[m].dirty -= 1;
    }
    /// The write of a page of a group is under way.
    pub(crate) fn write_began(&mut self, disk: DiskId, m: MemcgId) {
        self.nr_writeback += 1;
        self.groups[m].writeback += 1;
        self.disks[disk].writeback += 1;
        self.disks[disk].groups[m].writeback += 1;
    }
    /// It ended.
    pub(crate) fn write_ended(&mut self, disk: DiskId, m: MemcgId, now: SimTime) {
        self.nr_writeback -= 1;
        self.groups[m].writeback -= 1;
        self.disks[disk].writeback -= 1;
        let wb = &mut self.disks[disk].groups[m];
        wb.writeback -= 1;
        wb.written += 1;
        self.wrote(disk, m, now);
    }
    /// A page of a group was written: its disk's parts of what is written grow.
    pub(crate) fn wrote(&mut self, disk: DiskId, m: MemcgId, now: SimTime) {
        self.shares[0].wrote(disk, now);
        if m.0 > 0 {
            self.shares[m.index()].wrote(disk, now);
        }
    }
    /// The file of that name, created if need be; an existing one grows to `pages`.
    pub fn open(&mut self, name: &str) -> Option<FileId> {
        self.by_name.get(name).copied()
    }
    /// Adds a file whose slice of the page index starts at `base`.
    pub fn create(&mut self, name: String, pages: u32, base: PageIdx) -> FileId {
        let ra = FileRa::NEW;
        let id = self.files.push(File {
            name: name.clone(),
            pages,
            base,
            ra,
            ramfs: false,
            disk: DiskId(0),
            shmem: None,
        });
        self.by_name.insert(name, id);
        id
    }
    /// A page enters the cache; `was` says whether its entry held a shadow.
    pub(crate) fn node_enter(&mut self, page: PageIdx, was: bool) {
        let n = (page.0 >> 6) as usize;
        if n >= self.tree.len() {
            self.tree.resize(n + 1, TreeNode::default());
        }
        let node = &mut self.tree[n];
        self.shadow_nodes -= u64::from(node.only());
        if was {
            node.shadows -= 1;
        } else {
            self.nodes += u64::from(node.used == 0);
            node.used += 1;
        }
    }
    /// A page left the cache, with a shadow in its place if `shadow`.
    pub(crate) fn node_leave(&mut self, page: PageIdx, shadow: bool, clock: Since) {
        let node = &mut self.tree[(page.0 >> 6) as usize];
        if shadow {
            node.shadows += 1;
        } else {
            node.used -= 1;
            self.nodes -= u64::from(node.used == 0);
        }
        if node.only() {
            self.shadow_nodes += 1;
            node.since = clock;
            self.order.push(clock, page.0 >> 6);
            if self.order.is_littered(self.shadow_nodes) {
                let tree = &self.tree;
                self.order.sweep(|since, n| tree[n as usize].only_since(since));
            }
        }
    }
    /// The node that has held only shadows for the longest time, and since when. Its number is
    /// that of its first entry over 64.
    pub(crate) fn oldest_node(&mut self) -> Option<(Since, u32)> {
        let tree = &self.tree;
        self.order.oldest(|since, n| tree[n as usize].only_since(since))
    }
    /// A shadow is dropped, and nothing takes its place.
    pub(crate) fn node_shadow_dropped(&mut self, page: PageIdx) {
        let node = &mut self.tree[(page.0 >> 6) as usize];
        let was_only = node.only();
        node.shadows -= 1;
        node.used -= 1;
        self.nodes -= u64::from(node.used == 0);
        self.shadow_nodes -= u64::from(was_only && !node.only());
    }
    /// A node that held only shadows is empty.
    pub(crate) fn node_dropped(&mut self, node: u32) {
        self.tree[node as usize] = TreeNode::default();
        self.nodes -= 1;
        self.shadow_nodes -= 1;
    }
    /// Counts of nodes against those of each node, which are what `entries` says: pages and
    /// shadows among the entries of a node.
    ///
    /// # Panics
    /// If one is wrong.
    pub(crate) fn check_nodes(&self, entries: impl Fn(u32) -> (u8, u8)) {
        for (i, n) in (0u32..).zip(&self.tree) {
            let (pages, shadows) = entries(i);
            assert_eq!((n.used, n.shadows), (pages + shadows, shadows), "node {i} of files");
        }
        let nodes = self.tree.iter().filter(|n| n.used > 0).count();
        let only = self.tree.iter().filter(|n| n.only()).count();
        let counted = (self.nodes as usize, self.shadow_nodes as usize);
        assert_eq!(counted, (nodes, only), "nodes of files");
        let queued =
            self.order.iter().filter(|&(since, n)| self.tree[n as usize].only_since(since));
        assert_eq!(queued.count(), only, "nodes of files in the queue");
    }
    /// Pages of disks against those of their groups and of the machine.
    ///
    /// # Panics
    /// If they differ.
    pub(crate) fn check_disks(&self) {
        let mut all = [0; 2];
        for d in self.disks.ids() {
            let groups = self.disks[d].groups.iter();
            let sum = groups.fold([0, 0], |s, g| [s[0] + g.dirty, s[1] + g.writeback]);
            assert_eq!(self.on_disk(d), sum, "{d}: dirty pages and those under write");
            all = [all[0] + sum[0], all[1] + sum[1]];
        }
        assert_eq!(all, [self.nr_dirty, self.nr_writeback], "pages of all disks");
    }
    /// Nodes of the files' radix trees.
    pub fn nr_nodes(&self) -> u64 {
        self.nodes
    }
    /// Stores a shadow.
    pub(crate) fn put_shadow(&mut self, s: Shadow) -> u32 {
        self.nr_shadows += 1;
        match self.free_cells.pop() {
            Some(c) => {
                self.shadows[c as usize] = s;
                c
            }
            None => {
                self.shadows.push(s);
                (self.shadows.len() - 1) as u32
            }
        }
    }
    /// The shadow in a cell, left where it is.
    pub fn shadow(&self, cell: u32) -> Shadow {
        self.shadows[cell as usize]
    }
    /// Takes a shadow out of its cell.
    pub(crate) fn take_shadow(&mut self, cell: u32) -> Shadow {
        self.nr_shadows -= 1;
        self.free_cells.push(cell);
        self.shadows[cell as usize]
    }
    /// All files.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        self.files.ids()
    }
}

impl std::ops::Index<FileId> for Files {
    type Output = File;
    fn index(&self, f: FileId) -> &File {
        &self.files[f]
    }
}
impl std::ops::IndexMut<FileId> for Files {
    fn index_mut(&mut self, f: FileId) -> &mut File {
        &mut self.files[f]
    }
}

/// First window after a miss of `req` pages with a maximum of `max`
/// (`get_init_ra_size`).
pub(crate) fn initial_window(req: u32, max: u32) -> u32 {
    let p = req.next_power_of_two();
    if p <= max / 32 {
        p * 4
    } else if p <= max / 4 {
        p * 2
    } else {
        max
    }
}

/// Next window after one of `size` pages (`get_next_ra_size`).
pub(crate) fn next_window(size: u32, max: u32) -> u32 {
    if size < max / 16 {
        4 * size
    } else if size <= max / 2 {
        2 * size
    } else {
        max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the default maximum of 32 pages.
    #[test]
    fn windows_grow_from_a_page_to_the_maximum() {
        assert_eq!(initial_window(1, 32), 4);
        assert_eq!(initial_window(4, 32), 8);
        assert_eq!(initial_window(9, 32), 32);
        let mut w = 4;
        let grown: Vec<u32> = std::iter::from_fn(|| {
            w = next_window(w, 32);
            Some(w)
        })
        .take(4)
        .collect();
        assert_eq!(grown, [8, 16, 32, 32]);
    }
}
