//! Frames: what is true of a page of physical memory under any policy.
//!
//! Columns, not records, because each path reads one or two of them: a reverse-map word,
//! a word of flags, and (with several groups) the owner. The position in an LRU list is
//! the lists' own column. A hit touches none of them.

use crate::base::id::{IndexVec, MemcgId, Pfn, SwapSlot};
use crate::base::migratetype::Migratetype;
use crate::phys::backing::Backing;

/// A folio: a naturally aligned group of frames handled as one, named by its first frame.
/// The order has its bits in the flags of the first frame. Folios of one page are the rule; a huge
/// page of anonymous memory is one of order 9 (`memory/huge`), and the frames behind its first
/// are [`FrameKind::Tail`].
pub type FolioId = Pfn;

/// Use of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// With the allocator: never touched, or in a free block behind its first frame.
    Free = 0,
    /// In a per-CPU list.
    Pcp = 1,
    /// Anonymous memory.
    Anon = 2,
    /// Page cache.
    File = 3,
    /// A page table.
    PageTable = 4,
    /// Slab: shadow nodes.
    Slab = 5,
    /// Held by the kernel for good or on behalf of zram.
    Kernel = 6,
    /// Allocated, not yet anything.
    Fresh = 7,
    /// First frame of a free block; order and type say of which list.
    Buddy = 8,
    /// Allocated by a workload on behalf of the kernel.
    KernelOther = 9,
    /// Behind the first frame of an allocated block.
    Tail = 10,
    /// Shared memory (shmem). Numbered so that one mask tells it and [`FrameKind::File`] from others.
    Shmem = 11,
    /// A page of the pool of huge pages (hugetlbfs).
    HugeTlb = 12,
}

impl FrameKind {
    const ALL: [FrameKind; 16] = [
        FrameKind::Free,
        FrameKind::Pcp,
        FrameKind::Anon,
        FrameKind::File,
        FrameKind::PageTable,
        FrameKind::Slab,
        FrameKind::Kernel,
        FrameKind::Fresh,
        FrameKind::Buddy,
        FrameKind::KernelOther,
        FrameKind::Tail,
        FrameKind::Shmem,
        FrameKind::HugeTlb,
        // Kinds 13 to 15 do not exist.
        FrameKind::Tail,
        FrameKind::Tail,
        FrameKind::Tail,
    ];
}

/// Flags of a folio.
pub mod flag {
    const BASE: u32 = 10;
    /// Software access mark.
    pub const REFERENCED: u32 = 1 << BASE;
    /// Belongs on an active list.
    pub const ACTIVE: u32 = 1 << (BASE + 1);
    /// Is on an LRU list now.
    pub const LRU: u32 = 1 << (BASE + 2);
    /// Contents differ from the backing store.
    pub const DIRTY: u32 = 1 << (BASE + 3);
    /// A device write is in flight.
    pub const WRITEBACK: u32 = 1 << (BASE + 4);
    /// Free as soon as the write ends.
    pub const RECLAIM: u32 = 1 << (BASE + 5);
    /// Anonymous memory proper; cleared by MADV_FREE.
    pub const SWAPBACKED: u32 = 1 << (BASE + 6);
    /// Has a slot and sits in the swap cache.
    pub const SWAPCACHE: u32 = 1 << (BASE + 7);
    /// Was active once, or refaulted as such.
    pub const WORKINGSET: u32 = 1 << (BASE + 8);
    /// Brought in speculatively and not yet used.
    pub const READAHEAD: u32 = 1 << (BASE + 9);
    /// Reading this page triggers the next readahead.
    pub(crate) const RA_TRIGGER: u32 = 1 << (BASE + 10);
    /// In a locked mapping.
    pub const MLOCKED: u32 = 1 << (BASE + 11);
    /// On the unevictable list.
    pub const UNEVICTABLE: u32 = 1 << (BASE + 12);
    /// Taken off its list by a scan or by compaction.
    pub const ISOLATED: u32 = 1 << (BASE + 13);
    /// Under read, or being worked on.
    pub const LOCKED: u32 = 1 << (BASE + 14);
    /// DAMON: no access seen since it was marked.
    pub const IDLE: u32 = 1 << (BASE + 15);
    /// DAMON found and cleared an accessed bit that reclaim has not seen.
    pub const YOUNG: u32 = 1 << (BASE + 16);
    /// Waits in a per-CPU LRU batch.
    pub const IN_BATCH: u32 = 1 << (BASE + 17);
    /// Freed by its owner while a device still works on it; the frame goes when that ends.
    pub const ORPHAN: u32 = 1 << (BASE + 18);
    /// A file folio that goes once it was read or its write has ended (`PG_dropbehind`).
    pub const DROPBEHIND: u32 = READAHEAD;
    /// A free block was reported to the host, and was not taken since.
    pub(crate) const REPORTED: u32 = REFERENCED;
    /// The last bits belong to the policy, as a number: where it begins.
    pub const POLICY_SHIFT: u32 = BASE + 19;
    /// The bits of that number.
    pub const POLICY_MASK: u32 = u32::MAX << POLICY_SHIFT;
    /// Number of values of that number.
    pub const POLICY_VALUES: usize = 1 << (32 - POLICY_SHIFT);
}

pub(crate) const KIND_MASK: u32 = 0xf;
const ORDER_SHIFT: u32 = 4;
/// The bits of a folio's order: none of them for a folio of one page.
pub const ORDER_MASK: u32 = 0xf << ORDER_SHIFT;
/// Where a free block and a block of the kernel have their migratetype. Folios have flags of
/// the policy there.
const TYPE_SHIFT: u32 = 29;
const MAP_SHIFT: u32 = 8;
const MAP_MASK: u32 = 3 << MAP_SHIFT;
/// Bits of a folio of one anonymous page, backed by swap, that is mapped once.
pub(crate) const ANON_MAPPED_ONCE: u32 = FrameKind::Anon as u32 | 1 << MAP_SHIFT | flag::SWAPBACKED;

/// The bits of a folio of one anonymous page that is mapped once and nothing else: neither in
/// the swap cache nor under write, locked, pinned by a batch or marked by a monitor. Its list,
/// what it remembers of accesses, and whether it is dirty, does not matter.
const PLAIN: u32 = ANON_MAPPED_ONCE;
const PLAIN_MASK: u32 = ((1 << 10) - 1)
    | flag::WRITEBACK
    | flag::RECLAIM
    | flag::SWAPBACKED
    | flag::SWAPCACHE
    | flag::MLOCKED
    | flag::UNEVICTABLE
    | flag::LOCKED
    | flag::IDLE
    | flag::YOUNG
    | flag::IN_BATCH
    | flag::ORPHAN;

/// True if the bits of a folio are those of the common one: a single anonymous page, mapped once,
/// that nothing is going on with.
#[inline(always)]
pub const fn is_plain(bits: u32) -> bool {
    bits & PLAIN_MASK == PLAIN
}

/// True if the bits are those of a folio of one page on an LRU list, and in no batch.
#[inline(always)]
pub(crate) const fn is_listed_page(bits: u32) -> bool {
    bits & (flag::LRU | flag::IN_BATCH | ORDER_MASK) == flag::LRU
}

/// True if such a page is mapped once, and not locked.
#[inline(always)]
pub(crate) const fn is_listed_page_mapped_once(bits: u32) -> bool {
    is_listed_page(bits) && bits & (flag::LOCKED | MAP_MASK) == 1 << MAP_SHIFT
}

/// The pages of a folio with these bits.
#[inline(always)]
pub const fn pages_of(bits: u32) -> u64 {
    1 << ((bits & ORDER_MASK) >> ORDER_SHIFT)
}

/// The order in these bits.
#[inline(always)]
pub(super) const fn order_of(bits: u32) -> u8 {
    ((bits & ORDER_MASK) >> ORDER_SHIFT) as u8
}

/// The bits of the first frame of a block with an order and a migratetype.
#[inline(always)]
pub(super) const fn block_bits(kind: FrameKind, order: u8, mt: u32) -> u32 {
    kind as u32 | (order as u32) << ORDER_SHIFT | mt << TYPE_SHIFT
}

/// The pages of the free block whose first frame has these bits; 0 if it has none.
#[inline(always)]
pub const fn free_pages(bits: u32) -> u32 {
    if bits & KIND_MASK == FrameKind::Buddy as u32 { 1 << (bits >> ORDER_SHIFT & 0xf) } else { 0 }
}

/// The list of a free block, as a number, from the bits of its first frame.
#[inline(always)]
pub(super) const fn type_of_block(bits: u32) -> usize {
    (bits >> TYPE_SHIFT) as usize
}

/// The list of a free block, as a number, if the bits are those of the first frame of one of
/// just this order.
#[inline(always)]
pub(super) const fn free_block(bits: u32, order: u8) -> Option<usize> {
    if bits & 0xff == FrameKind::Buddy as u32 | (order as u32) << ORDER_SHIFT {
        Some(type_of_block(bits))
    } else {
        None
    }
}

/// Number of mappings of a folio, as far as the reverse-map word has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// Not at all. The word holds the file's page index, or (swap cache) nothing.
    No,
    /// Once. The word holds the page index of that mapping.
    Once,
    /// More often. The word is a handle into the side table of the reverse map.
    Many,
}

/// Columns of the frame table.
#[derive(Clone)]
pub struct Frames {
    flags: IndexVec<Pfn, u32>,
    /// Reverse map: one word a frame, read as [`Mapped`] says.
    pub rmap: IndexVec<Pfn, u32>,
    memcg: IndexVec<Pfn, u16>,
    slot: IndexVec<Pfn, u32>,
    lone_slot: Option<(FolioId, SwapSlot)>,
    /// Frames that a host holds, where there is one.
    pub(crate) backing: Option<Box<Backing>>,
}

impl Frames {
    /// `n` frames, all free. Owners are kept only `with_memcgs`.
    pub fn new(n: usize, with_memcgs: bool) -> Self {
        Frames {
            flags: IndexVec::filled(n, 0),
            rmap: IndexVec::filled(n, 0),
            memcg: IndexVec::filled(if with_memcgs { n } else { 0 }, 0),
            slot: IndexVec::new(),
            lone_slot: None,
            backing: None,
        }
    }
    /// Number of frames.
    pub fn len(&self) -> usize {
        self.flags.len()
    }
    /// True if there is no frame.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }
    /// All flag bits of a folio, kind and order included.
    #[inline(always)]
    pub fn bits(&self, f: FolioId) -> u32 {
        self.flags[f]
    }
    /// True if a folio is one anonymous page that is mapped once.
    #[inline(always)]
    pub(crate) fn is_anon_page_mapped_once(&self, f: FolioId) -> bool {
        const ONCE: u32 = FrameKind::Anon as u32 | 1 << MAP_SHIFT;
        self.flags[f] & (KIND_MASK | ORDER_MASK | MAP_MASK) == ONCE
    }
    /// True if any of `bits` is set.
    #[inline(always)]
    pub fn has(&self, f: FolioId, bits: u32) -> bool {
        self.flags[f] & bits != 0
    }
    /// Sets flags.
    #[inline(always)]
    pub fn set(&mut self, f: FolioId, bits: u32) {
        debug_assert!(self.kind(f) != FrameKind::Free, "{f} is free: no flag {bits:#x} for it");
        self.flags[f] |= bits;
    }
    /// Clears flags.
    #[inline(always)]
    pub fn clear(&mut self, f: FolioId, bits: u32) {
        self.flags[f] &= !bits;
    }
    /// Sets all bits of a folio, kind and order included.
    #[inline(always)]
    pub fn store(&mut self, f: FolioId, bits: u32) {
        self.flags[f] = bits;
    }
    /// The columns of flags and of the reverse map, for loops over many folios.
    #[inline]
    pub fn flags_and_rmap(&mut self) -> (&mut [u32], &[u32]) {
        let flags = self.flags.raw_mut();
        let n = flags.len();
        (flags, &self.rmap.raw()[..n])
    }
    /// The same, to change both.
    #[inline]
    pub(crate) fn flags_and_rmap_mut(&mut self) -> (&mut [u32], &mut [u32]) {
        let flags = self.flags.raw_mut();
        let n = flags.len();
        (flags, &mut self.rmap.raw_mut()[..n])
    }
    /// The bits of all frames.
    #[inline]
    pub(crate) fn all_bits(&self) -> &[u32] {
        self.flags.raw()
    }
    /// The bits of some frames in a row.
    #[inline]
    pub fn bits_of(&self, frames: std::ops::Range<u32>) -> &[u32] {
        &self.flags.raw()[frames.start as usize..frames.end as usize]
    }
    /// Clears some flags, sets others, and returns all bits as they are then.
    #[inline(always)]
    pub fn change(&mut self, f: FolioId, clear: u32, set: u32) -> u32 {
        let bits = &mut self.flags[f];
        *bits = *bits & !clear | set;
        *bits
    }
    /// Clears flags and says whether any was set.
    #[inline(always)]
    pub fn test_clear(&mut self, f: FolioId, bits: u32) -> bool {
        let was = self.flags[f] & bits != 0;
        self.flags[f] &= !bits;
        was
    }
    /// Use of the frame.
    #[inline(always)]
    pub fn kind(&self, f: Pfn) -> FrameKind {
        FrameKind::ALL[(self.flags[f] & KIND_MASK) as usize]
    }
    /// True if the frame is in the tree of a file: of a disk, or of shared memory.
    #[inline(always)]
    pub fn is_of_file(&self, f: Pfn) -> bool {
        const SHARED: u32 = FrameKind::File as u32 & FrameKind::Shmem as u32;
        self.flags[f] & 7 == SHARED
    }
    /// Gives the frame a new use: all flags are cleared.
    #[inline]
    pub fn reset(&mut self, f: Pfn, kind: FrameKind) {
        self.flags[f] = kind as u32;
    }
    /// Makes a frame the first of a block with an order and a migratetype.
    #[inline]
    pub fn reset_block(&mut self, f: Pfn, kind: FrameKind, order: u8, mt: Migratetype) {
        self.flags[f] = block_bits(kind, order, mt as u32);
    }
    /// The migratetype that [`Frames::reset_block`] recorded.
    #[inline]
    pub(crate) fn block_migratetype(&self, f: Pfn) -> Migratetype {
        Migratetype::from_bits(self.flags[f] >> TYPE_SHIFT)
    }
    /// The type of the list if the frame is the first of a free block of just this order.
    #[inline(always)]
    pub(crate) fn free_block_of(&self, f: Pfn, order: u8) -> Option<Migratetype> {
        free_block(self.flags[f], order).map(|list| Migratetype::from_bits(list as u32))
    }
    /// Order and type of the free block whose first frame this is.
    #[inline]
    pub fn free_head(&self, f: Pfn) -> Option<(u8, Migratetype)> {
        (self.kind(f) == FrameKind::Buddy).then(|| (self.order(f), self.block_migratetype(f)))
    }
    /// Order of the folio (0: one page).
    #[inline]
    pub fn order(&self, f: FolioId) -> u8 {
        (self.flags[f] >> ORDER_SHIFT & 0xf) as u8
    }
    /// Pages of the folio.
    #[inline(always)]
    pub fn pages(&self, f: FolioId) -> u64 {
        pages_of(self.flags[f])
    }
    /// Number of its mappings.
    #[inline(always)]
    pub fn mapped(&self, f: FolioId) -> Mapped {
        const ONCE: u32 = 1 << MAP_SHIFT;
        match self.flags[f] & MAP_MASK {
            0 => Mapped::No,
            ONCE => Mapped::Once,
            _ => Mapped::Many,
        }
    }
    /// Records how often it is mapped; the reverse-map word is the caller's affair.
    #[inline]
    pub(crate) fn set_mapped(&mut self, f: FolioId, m: Mapped) {
        let v = match m {
            Mapped::No => 0,
            Mapped::Once => 1,
            Mapped::Many => 2,
        };
        self.flags[f] = self.flags[f] & !MAP_MASK | v << MAP_SHIFT;
    }
    /// True if the folio counts as file memory: not backed by swap.
    #[inline(always)]
    pub fn is_file_lru(&self, f: FolioId) -> bool {
        !self.has(f, flag::SWAPBACKED)
    }
    /// The group that is charged for the folio.
    #[inline(always)]
    pub fn memcg(&self, f: FolioId) -> MemcgId {
        if self.memcg.is_empty() { MemcgId(0) } else { MemcgId(self.memcg[f]) }
    }
    /// True if folios have groups.
    pub(crate) fn has_memcgs(&self) -> bool {
        !self.memcg.is_empty()
    }
    /// Sets the group.
    #[inline]
    pub fn set_memcg(&mut self, f: FolioId, m: MemcgId) {
        if !self.memcg.is_empty() {
            self.memcg[f] = m.0;
        }
    }
    /// The slot of a folio in the swap cache.
    #[inline]
    pub fn slot(&self, f: FolioId) -> SwapSlot {
        debug_assert!(self.has(f, flag::SWAPCACHE), "{f} has no slot");
        self.slot_raw(f)
    }
    /// The slot last given to a folio, flag or not.
    #[inline]
    pub(crate) fn slot_raw(&self, f: FolioId) -> SwapSlot {
        match self.lone_slot {
            Some((g, s)) if g == f => s,
            _ => SwapSlot(self.slot[f]),
        }
    }
    /// Sets the slot. A synchronous device has one folio in the swap cache at a time, on its
    /// way out; the column exists from the second at the same time on.
    #[inline]
    pub fn set_slot(&mut self, f: FolioId, s: SwapSlot) {
        if !self.slot.is_empty() {
            self.slot[f] = s.0;
            return;
        }
        match self.lone_slot {
            Some((g, _)) if g != f && self.has(g, flag::SWAPCACHE) => self.grow_slots(f, s),
            _ => self.lone_slot = Some((f, s)),
        }
    }
    #[cold]
    fn grow_slots(&mut self, f: FolioId, s: SwapSlot) {
        self.slot.resize(self.flags.len(), 0);
        if let Some((g, t)) = self.lone_slot.take() {
            self.slot[g] = t.0;
        }
        self.slot[f] = s.0;
    }
    /// Host bytes in use.
    pub fn host_bytes(&self) -> u64 {
        (self.flags.len() * 8 + self.memcg.len() * 2 + self.slot.len() * 4) as u64
    }
}
