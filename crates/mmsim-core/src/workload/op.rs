//! The operations of a workload.

use crate::base::id::{DaemonId, KdamondId, MemcgId, NodeId, Pfn};
use crate::base::migratetype::Migratetype;
use crate::base::time::{SimDuration, SimTime};
use crate::config::SysctlWrite;
use crate::phys::gfp::GfpFlags;

/// A region of a process, numbered by its workload: a mapping of some pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct RegionId(pub u16);

/// A file of a workload: the position in [`super::Workload::files`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct FileSlot(pub u16);

/// A block that a thread holds on behalf of the kernel, numbered by its workload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct BlockHandle(pub u32);

/// Figures that a monitor is to note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Its counts, after its next sample (`update_schemes_stats`).
    Stats,
    /// Its regions, at the end of its next aggregation (`update_schemes_tried_regions`).
    Regions,
}

/// Touches of consecutive pages of one region, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The region.
    pub region: RegionId,
    /// True if the pages are written (else read).
    pub write: bool,
    /// First page within the region.
    pub first: u32,
    /// Number of pages, at least 1.
    pub count: u32,
}

/// A touch of one page of a region, in short form: 4 bytes, where an [`Op`] has 40.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch(u32);

impl Touch {
    /// Regions up to this many pages have touches in short form.
    pub const MOST_PAGES: u32 = 1 << 31;

    /// A touch of a page within its region, below [`Touch::MOST_PAGES`].
    #[inline(always)]
    pub fn new(page: u32, write: bool) -> Self {
        Touch(page << 1 | u32::from(write))
    }
    /// The page within the region.
    #[inline(always)]
    pub fn page(self) -> u32 {
        self.0 >> 1
    }
    /// True if it is written (else read).
    #[inline(always)]
    pub fn write(self) -> bool {
        self.0 & 1 != 0
    }
    /// The operation that it stands for.
    #[inline]
    pub fn of(self, region: RegionId) -> Run {
        Run { region, write: self.write(), first: self.page(), count: 1 }
    }
}

/// Touches of two stretches of as many pages in turn: a page of the one is read, then the page
/// of the other written that it is copied to, and so on in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyRun {
    /// The region that is read.
    pub from: RegionId,
    /// First page within it.
    pub first: u32,
    /// The region that is written; may be the same.
    pub to: RegionId,
    /// First page within that.
    pub into: u32,
    /// Number of pages, at least 1 and below 2^31.
    pub count: u32,
}

impl CopyRun {
    /// All pages of the side that the `n`-th touch belongs to: of those it is page `n / 2`.
    #[inline]
    pub fn side(&self, n: u32) -> Run {
        let CopyRun { from, first, to, into, count } = *self;
        if n.is_multiple_of(2) {
            Run { region: from, write: false, first, count }
        } else {
            Run { region: to, write: true, first: into, count }
        }
    }
    /// Touches of both sides.
    #[inline]
    pub fn touches(&self) -> u32 {
        2 * self.count
    }
}

/// Flags of a mapping (a VMA).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VmaFlags {
    /// Executable: mapped file pages get the kernel's favour for program text.
    pub exec: bool,
    /// Locked into memory (`mlock`): never reclaimed.
    pub locked: bool,
    /// `MADV_SEQUENTIAL`: no recency.
    pub seq_read: bool,
    /// `MADV_RANDOM`: no readahead; no recency on kernels after 6.1.
    pub rand_read: bool,
    /// The file has `POSIX_FADV_NOREUSE`: no recency on kernels after 6.1.
    pub noreuse: bool,
}

impl VmaFlags {
    /// None of them.
    pub const NONE: VmaFlags =
        VmaFlags { exec: false, locked: false, seq_read: false, rand_read: false, noreuse: false };

    /// True if accessed bits of such a mapping tell reclaim anything.
    #[inline]
    pub fn recency(&self, ignores_random: bool) -> bool {
        !(self.seq_read || ignores_random && (self.rand_read || self.noreuse))
    }
}

/// Object that a region maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// Private anonymous memory.
    Anon,
    /// A file from page `offset` on. `shared`: writes go to the file; else a write copies
    /// the page to anonymous memory.
    File {
        /// The file.
        file: FileSlot,
        /// First page of the file that is mapped.
        offset: u32,
        /// `MAP_SHARED`, else `MAP_PRIVATE`.
        shared: bool,
    },
    /// Shared memory from page `offset` on: of tmpfs, memfd, SysV, or an anonymous mapping that is
    /// shared. The file says by [`FileSpec::shmem`](super::FileSpec::shmem) that it is such an object.
    Shmem {
        /// The object.
        file: FileSlot,
        /// First page of it that is mapped.
        offset: u32,
    },
    /// Private huge pages of hugetlbfs (`MAP_HUGETLB`), whole ones: the mapping is rounded up to
    /// 2 MiB. The process ends if the pool cannot back it.
    HugeTlb,
}

/// Advice of `madvise(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// `MADV_DONTNEED`: drop the pages, keep the mapping.
    DontNeed,
    /// `MADV_FREE`: the contents may be dropped lazily.
    Free,
    /// `MADV_COLD`: deactivate.
    Cold,
    /// `MADV_PAGEOUT`: reclaim now.
    PageOut,
    /// `MADV_WILLNEED`: read ahead.
    WillNeed,
    /// `MADV_REMOVE`: drop the pages from shared memory itself, for all processes.
    Remove,
    /// `MADV_POPULATE_READ`: fault in as a read, and mark every page accessed.
    PopulateRead,
    /// `MADV_POPULATE_WRITE`: fault in as a write, and mark every page accessed.
    PopulateWrite,
    /// `MADV_SEQUENTIAL`.
    Sequential,
    /// `MADV_RANDOM`.
    Random,
    /// `MADV_NORMAL`.
    Normal,
    /// `MADV_HUGEPAGE`: huge pages are wanted, from the next faults on.
    HugePage,
    /// `MADV_NOHUGEPAGE`: they are not.
    NoHugePage,
}

/// Advice of `posix_fadvise(2)`, which holds for all users of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileAdvice {
    /// `POSIX_FADV_NORMAL`: takes `SEQUENTIAL`, `RANDOM` and `NOREUSE` back.
    Normal,
    /// `POSIX_FADV_SEQUENTIAL`: the readahead window is twice as large.
    Sequential,
    /// `POSIX_FADV_RANDOM`: a read that misses reads the pages of the request alone.
    Random,
    /// `POSIX_FADV_WILLNEED`: read ahead.
    WillNeed,
    /// `POSIX_FADV_NOREUSE`: accesses through mappings do not count; nothing before Linux 6.3.
    NoReuse,
    /// `POSIX_FADV_DONTNEED`: dirty pages are written, and those that are clean and not in use go.
    DontNeed,
}

/// A way of file I/O around the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncached {
    /// `O_DIRECT`: between the device and the program's memory.
    Direct,
    /// `RWF_DONTCACHE`: through the cache, and the pages that it brought go when it is done.
    DontCache,
}

/// A write to a file of `lru_gen`: the two of `/sys/kernel/mm`, and that of debugfs (Linux 6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LruGen {
    /// `+ memcg node max_gen can_swap force_scan` to debugfs: create a generation.
    Age {
        /// The group.
        memcg: MemcgId,
        /// The node.
        node: NodeId,
        /// The youngest generation. With an older one nothing is done, a younger one is refused.
        /// `None`: the youngest that there is.
        max_gen: Option<u32>,
        /// True if anonymous memory is looked at. `None`: if `vm.swappiness` is above 0 and swap
        /// has room.
        can_swap: Option<bool>,
        /// Skip no page table, and make room where there are as many generations as there can be.
        force_scan: bool,
    },
    /// `- memcg node min_gen swappiness nr_to_reclaim` to debugfs: evict the oldest generations.
    Evict {
        /// The group.
        memcg: MemcgId,
        /// The node.
        node: NodeId,
        /// The last generation that is evicted; the two youngest are refused. `None`: all but these.
        min_gen: Option<u32>,
        /// Swappiness, 0..=200; `None`: `vm.swappiness`.
        swappiness: Option<u8>,
        /// Pages after which to stop; `None`: not before the generations are gone.
        pages: Option<u32>,
    },
    /// `min_ttl_ms`.
    MinTtl(u32),
    /// `enabled`: bit 0 the generations themselves, bit 1 walks of page tables, bit 2 accessed bits of
    /// tables in such walks.
    Enabled(u8),
}

/// One operation of a workload.
#[repr(u8)] // A tag of its own: it is looked at once for each hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Touch mapped pages.
    Access(Run),
    /// Copy mapped pages.
    Copy(CopyRun),
    /// Map a region of `pages` untouched pages at a 2 MiB boundary, below those mapped before if there
    /// is no gap for it above, or at virtual page `at` (then it must not overlap another region).
    Mmap {
        /// Its number; not in use now.
        region: RegionId,
        /// Pages.
        pages: u32,
        /// Object that it maps.
        kind: MapKind,
        /// Flags of the mapping.
        flags: VmaFlags,
        /// Virtual page to map at, if it matters which regions share page tables.
        at: Option<u64>,
    },
    /// Unmap a whole region; its number is free again.
    Munmap {
        /// The region.
        region: RegionId,
    },
    /// `read(2)` of file pages through a descriptor: no mapping, no fault.
    Read {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// `write(2)` to file pages, whole pages at a time.
    Write {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// `read(2)` or `write(2)` of whole file pages that is to leave no pages in the cache.
    Uncached {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
        /// Write, else read.
        write: bool,
        /// In which way.
        how: Uncached,
    },
    /// `posix_fadvise(2)` on file pages.
    Fadvise {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
        /// The advice.
        advice: FileAdvice,
    },
    /// `fsync(2)` of a file: its dirty pages are written, and the thread waits for them.
    Fsync {
        /// The file.
        file: FileSlot,
    },
    /// `madvise(2)` on pages of a region.
    Madvise {
        /// The region.
        region: RegionId,
        /// First page within it.
        first: u32,
        /// Pages.
        count: u32,
        /// The advice.
        advice: Advice,
    },
    /// `mlock2(2)` on pages of a region: those that are there stay, and so does what comes.
    Mlock {
        /// The region.
        region: RegionId,
        /// First page within it.
        first: u32,
        /// Pages.
        count: u32,
        /// `MLOCK_ONFAULT`: bring nothing in now.
        onfault: bool,
    },
    /// `shmctl(2)` with `SHM_LOCK` or `SHM_UNLOCK` on the object of shared memory behind a region.
    ShmLock {
        /// The region.
        region: RegionId,
        /// Lock, or unlock.
        lock: bool,
    },
    /// `munlock(2)` on pages of a region.
    Munlock {
        /// The region.
        region: RegionId,
        /// First page within it.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// Use the CPU without touching simulated memory.
    Compute(SimDuration),
    /// Sleep for a while.
    Sleep(SimDuration),
    /// Sleep until an instant (recorded arrivals); nothing if it has passed.
    SleepUntil(SimTime),
    /// Wait until every living thread of the process, and of those that meet it
    /// ([`TaskConfig::meeting_the_one_before`](crate::machine::TaskConfig::meeting_the_one_before)),
    /// has come to its barrier.
    Barrier,
    /// `n` records (transactions, loops: the workload's unit of work) are done.
    Records(u32),
    /// A record begins here, and not where the last one of the thread or its phase ended. Takes no
    /// time.
    RecordBegins,
    /// The next record began at this instant, when it was requested. Takes no time.
    Arrived(SimTime),
    /// The phase with this number in [`super::Workload::phases`] ends here. It began
    /// where the phase before it ended.
    PhaseEnd(u16),
    /// Write `bytes >> 12` pages to a group's `memory.reclaim`, and wait until they are
    /// reclaimed or Linux gives up (`EAGAIN`).
    MemcgReclaim {
        /// The group, the root or another; `None`: the own one, unless that is the root.
        memcg: Option<MemcgId>,
        /// Pages to reclaim.
        pages: u32,
        /// `swappiness=` of the write, 0..=200; `None`: `vm.swappiness`.
        swappiness: Option<u8>,
    },
    /// Write 1 to `drop_caches`.
    DropCaches,
    /// Allocate a block on behalf of the kernel, as a driver or module would. It is in no address
    /// space, is not reclaimed, and outlives the process. The next `fill` gets the result.
    KernelAlloc {
        /// log2 of its pages, up to [`crate::phys::gfp::MAX_PAGE_ORDER`].
        order: u8,
        /// Unmovable, movable or reclaimable; movable memory may lie in any zone, other kinds
        /// up to Normal.
        migratetype: Migratetype,
        /// Permissions of the allocator.
        flags: GfpFlags,
        /// Its number among the blocks of the thread; not in use now.
        handle: BlockHandle,
    },
    /// Free a block of [`Op::KernelAlloc`]; nothing if there was none.
    KernelFree {
        /// Which.
        handle: BlockHandle,
    },
    /// Make single pages of a block of [`Op::KernelAlloc`], numbered from its own number on
    /// (`split_page`); nothing if there was none.
    KernelSplit {
        /// Which.
        handle: BlockHandle,
    },
    /// Take this very frame, if it is free, as a block of one page of [`Op::KernelAlloc`]
    /// (`alloc_contig_range`). No watermark keeps it. The next `fill` learns if it was free.
    KernelTake {
        /// Which frame.
        pfn: Pfn,
        /// Its number among the blocks of the thread; not in use now.
        handle: BlockHandle,
    },
    /// Write to `nr_hugepages`: the pool of huge pages grows until an allocation fails, or shrinks,
    /// to `pages` pages of 2 MiB.
    HugePool {
        /// Huge pages wanted in all.
        pages: u32,
    },
    /// Write 1 to `compact_memory`: all zones are compacted in full.
    CompactMemory,
    /// Write a sysctl of `/proc/sys/vm`, or of the files of `/sys` beside it.
    Sysctl(SysctlWrite),
    /// Write to a file of `lru_gen`.
    LruGen(LruGen),
    /// Look at physical memory: the counters `sim_candidates` and those after it are raised by
    /// what there is for blocks of `order` in zones up to Normal. Takes no time.
    Survey {
        /// log2 of the pages of a block, up to [`crate::phys::gfp::MAX_PAGE_ORDER`].
        order: u8,
    },
    /// Write `on` to the state of a monitor that waits for that; nothing if it runs or has ended.
    KdamondOn(KdamondId),
    /// Have a monitor take a note, and wait until it has (a write of `update_schemes_stats` or
    /// `update_schemes_tried_regions` to its state). Nothing if it does not run.
    KdamondNote(KdamondId, Note),
    /// A look of a daemon, which then sleeps until it looks again.
    Look(DaemonId),
    /// Read `memory.stat` of all groups but the root, which brings their statistics up to date. Takes
    /// no time.
    MemoryStat,
    /// Give the pages of all per-CPU lists back (`drain_all_pages`).
    DrainPcp,
    /// Read `/proc/buddyinfo`: the next `fill` gets the free blocks.
    FreeBlocks,
    /// The process ends now: all its memory is freed.
    Exit,
}

impl Op {
    /// Number of pages that it touches, one after the other: none unless it is an access or a copy.
    #[inline]
    pub fn touches(&self) -> u32 {
        match self {
            Op::Access(run) => run.count,
            Op::Copy(copy) => copy.touches(),
            _ => 0,
        }
    }
}
