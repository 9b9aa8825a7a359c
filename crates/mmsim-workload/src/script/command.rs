//! The commands of a script after parsing: names resolved, ranges checked.

use crate::sampler::LinearMap;
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::Note;
use mmsim_core::workload::{Advice, FileAdvice, FileSlot, RegionId, Uncached};

/// Consecutive pages of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRange {
    /// The region.
    pub region: RegionId,
    /// First page.
    pub first: u32,
    /// Pages.
    pub count: u32,
}

/// Kind of memory that a region of a script maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// Private anonymous memory.
    Anon,
    /// The first pages of a file, shared and read-only.
    File {
        /// The file.
        file: FileSlot,
        /// No readahead, on the mapping and on the descriptor.
        random: bool,
    },
    /// The first pages of a file of tmpfs, shared, to read and to write.
    Shmem(FileSlot),
}

/// A zipf draw of a page: a table (position in [`super::Script::tables`]) and a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableRef {
    /// The table.
    pub table: u16,
    /// From rank to page.
    pub map: LinearMap,
}

/// An arena that is written chunk by chunk and given back, beside reads of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lazy {
    /// Region of the arena.
    pub arena: RegionId,
    /// Pages of a chunk.
    pub chunk: u32,
    /// Chunks of the arena.
    pub chunks: u32,
    /// Turns between writing a chunk and giving it back.
    pub lag: u64,
    /// Region of the draws.
    pub region: RegionId,
    /// Their law.
    pub draw: TableRef,
    /// Reads a turn.
    pub reads: u32,
    /// Number of the first turn.
    pub first: u64,
    /// Turns.
    pub turns: u64,
    /// Advice by which a chunk is given back, if it is.
    pub advice: Option<Advice>,
}

/// Drawn chunks of a region that are copied, each into a buffer of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ebizzy {
    /// Region of the chunks.
    pub region: RegionId,
    /// The law of the chunks; the first page of a chunk is its number times [`Ebizzy::chunk`].
    pub draw: TableRef,
    /// Pages of a chunk.
    pub chunk: u32,
    /// Number of chunks that are copied.
    pub turns: u64,
    /// Region of the buffer, which is mapped in no other command.
    pub buffer: RegionId,
}

/// Way of access to pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// A touch of the mapping.
    Mapping,
    /// `pread(2)` of 64 bytes at the start of the page: the file behind the first and the
    /// second region of the command.
    Pread(FileSlot, FileSlot),
}

/// Pages that a child reads a part of in each tick: all of them in `every` ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// First page.
    pub start: u32,
    /// Pages.
    pub count: u32,
    /// Ticks for one pass.
    pub every: u32,
}

/// A child that writes all pages of a region and then reads some of them in every tick.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Child {
    /// Pages of its region.
    pub pages: u32,
    /// Length of a tick.
    pub tick: SimDuration,
    /// Ticks; 0: until the script has no more to do.
    pub ticks: u64,
    /// Reads in each.
    pub sweeps: Vec<Sweep>,
}

/// A command that the simulated program carries out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// `anon`, `file`, `shmem`: map a region.
    Map {
        /// Its number.
        region: RegionId,
        /// Pages.
        pages: u32,
        /// Kind of memory that it maps.
        kind: RegionKind,
    },
    /// `unmap`.
    Unmap {
        /// The region.
        region: RegionId,
    },
    /// `seed`: set the random state.
    Seed(u64),
    /// `fill`: write pages in ascending order, all their bytes.
    Fill(PageRange),
    /// `scan`: touch pages in ascending order, `times` times.
    Scan {
        /// The pages.
        range: PageRange,
        /// True if they are written.
        write: bool,
        /// Number of repetitions.
        times: u32,
    },
    /// `zipf`: draw pages of a region.
    Zipf {
        /// The region.
        region: RegionId,
        /// The law.
        draw: TableRef,
        /// Accesses.
        accesses: u64,
        /// Writes per thousand; with 0 no random number is taken for it.
        write_permille: u32,
    },
    /// `mixscan`: of a thousand reads, `scan_permille` go on with a cyclic pass over the
    /// first `scan.count` pages of a region, starting at `scan.first`; the others draw.
    MixScan {
        /// Region of the draws.
        region: RegionId,
        /// Their law.
        draw: TableRef,
        /// Accesses.
        accesses: u64,
        /// Region of the pass; `first` is where it starts, `count` its cycle.
        scan: PageRange,
        /// Share of the pass.
        scan_permille: u32,
        /// Through the mapping or by pread.
        via: Via,
    },
    /// `mix2`: of a thousand accesses, `second_permille` read a page of a second region.
    Mix2 {
        /// First region.
        first: RegionId,
        /// Its law.
        first_draw: TableRef,
        /// Second region.
        second: RegionId,
        /// Its law.
        second_draw: TableRef,
        /// Accesses.
        accesses: u64,
        /// Share of the second region.
        second_permille: u32,
        /// Writes per thousand accesses to the first region.
        write_permille: u32,
    },
    /// `preadscan`: pread of 64 bytes at every page, ascending.
    PreadScan {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// `direct` or `dontcache`: read pages of a file, [`UNCACHED_PAGES`](super::UNCACHED_PAGES) a
    /// call.
    ReadUncached {
        /// The file.
        file: FileSlot,
        /// First page.
        first: u32,
        /// Pages.
        count: u32,
        /// In which way.
        how: Uncached,
    },
    /// `fadvise`.
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
    /// `mlock`.
    Mlock(PageRange),
    /// `munlock`.
    Munlock(PageRange),
    /// `madvise`.
    Madvise(PageRange, Advice),
    /// `lazy`: turns of drawn reads of one region, a write of the next chunk of another, and
    /// advice on the chunk that was written some turns before.
    Lazy(Lazy),
    /// `ebizzy`: each turn maps a buffer, reads a drawn chunk, writes the buffer in full and unmaps
    /// it.
    Ebizzy(Ebizzy),
    /// `grow`: write further pages of a region, from its first on, until free memory is
    /// down to a floor.
    Grow {
        /// The region.
        region: RegionId,
        /// Most pages to write.
        max: u32,
        /// Free pages to leave.
        floor: u64,
    },
    /// `punch`: give every page i with `i mod period >= keep` back.
    Punch {
        /// The region.
        region: RegionId,
        /// Its pages.
        pages: u32,
        /// Pages of a period, at least 1.
        period: u32,
        /// Of these, the first that stay.
        keep: u32,
    },
    /// `thp`: map a number of pieces of 2 MiB that want huge pages, and write the first page of
    /// each.
    Thp {
        /// The region.
        region: RegionId,
        /// Pieces.
        pieces: u32,
    },
    /// `hugepool`: grow the pool of huge pages to this number.
    HugePool(u32),
    /// `pipes`: hold unmovable pages, up to a number, until free memory is down to a floor.
    Pipes {
        /// Most pages.
        max: u64,
        /// Free pages to leave.
        floor: u64,
    },
    /// `pring`: rings of packet sockets ask for unmovable blocks without retry, each of which
    /// may fall back on single pages.
    Pring {
        /// Blocks of all sockets.
        blocks: u32,
        /// log2 of the pages of a block.
        order: u8,
        /// Blocks of a socket, at least 1.
        per: u32,
        /// Sockets stay open that got at least one block.
        hold: bool,
    },
    /// `write .../compact_memory 1`.
    CompactMemory,
    /// `spawn`: a child begins, see [`Child`]; goes on when its pages are written.
    Spawn,
    /// All processes meet, and those whose turn it is go on (`on`, `start`, `wait`).
    Meet,
    /// A write to `memory.reclaim` of a group.
    Reclaim {
        /// The group.
        memcg: MemcgId,
        /// Pages.
        pages: u32,
    },
    /// A write that starts a monitor.
    KdamondOn,
    /// A write that has the monitor take a note.
    KdamondNote(Note),
    /// `sleepms`.
    Sleep(SimDuration),
    /// `snap` and `snapx`: counters are noted, a phase ends. Position in
    /// [`super::Script::phases`].
    Snap(u16),
}

/// A command that looks at the kernel and changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOnly {
    /// Position in the list, from 0.
    pub line: usize,
    /// The line.
    pub text: String,
}
