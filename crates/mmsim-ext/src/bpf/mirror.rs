//! A kernel's structures as a module sees them: copies in its memory, laid out as `vmlinux.h` says.
//!
//! A folio has a *slot* of 96 bytes: its `struct folio` and its list node. Slots are taken from a free
//! list, last freed first, so the address of a folio can come back for another, as that of a page
//! does in a kernel. Files have an `inode` and an `address_space`. Slots and files come in chunks of
//! one page of WebAssembly, as they are needed, and stay where they are.

use mmsim::base::id::{FileId, Idx};
use mmsim::phys::frames::FolioId;
use mmsim::phys::frames::flag as frame;

use crate::lists::Slot;

/// Bytes of a page of WebAssembly.
pub(crate) const PAGE: u64 = 64 << 10;
/// Bytes of a slot.
const SLOT: u64 = 96;
const SLOTS: u64 = PAGE / SLOT;
/// Bytes of a file.
const FILE: u64 = 128;
const NO_SLOT: u32 = u32::MAX;

/// Offsets within the structures.
pub(crate) mod at {
    pub(crate) const MAPPING: u64 = 24;
    pub(crate) const INDEX: u64 = 32;
    pub(crate) const MEMCG: u64 = 56;
    /// The list node within a slot.
    pub(crate) const NODE: u64 = 64;
    /// The `address_space` behind the inode.
    pub(crate) const SPACE: u64 = 64;
    pub(crate) const NRPAGES: u64 = SPACE + 8;
    pub(crate) const I_SIZE: u64 = 8;
    pub(crate) const I_MAPPING: u64 = 16;
    pub(crate) const I_SB: u64 = 24;
    pub(crate) const I_MODE: u64 = 32;
    pub(crate) const I_NLINK: u64 = 36;
    // Within the page of single structures.
    pub(crate) const GROUP: u64 = 0;
    pub(crate) const SUPER: u64 = 64;
    pub(crate) const TASK: u64 = 128;
    pub(crate) const KEY: u64 = 1024;
    pub(crate) const CTX: u64 = 4096;
    pub(crate) const READ: u64 = 8192;
    pub(crate) const RING: u64 = 12288;
}

/// Bytes of the largest key that a callback can be shown.
pub(crate) const MOST_KEY: u64 = at::CTX - at::KEY;
/// Bytes of the largest entry of a ring buffer.
pub(crate) const MOST_RING: u64 = PAGE - at::RING;

/// Flags of a folio, by `enum pageflags` of `vmlinux.h`.
pub(crate) fn kernel_flags(bits: u32) -> u64 {
    const PAIRS: [(u32, u32); 9] = [
        (frame::LOCKED, 0),
        (frame::WRITEBACK, 1),
        (frame::REFERENCED, 2),
        (frame::DIRTY, 4),
        (frame::LRU, 5),
        (frame::ACTIVE, 8),
        (frame::WORKINGSET, 9),
        (frame::RECLAIM, 18),
        (frame::UNEVICTABLE, 20),
    ];
    /// A page that is under read is locked, and not uptodate before that ends.
    const UPTODATE: u64 = 1 << 3;
    let uptodate = if bits & frame::LOCKED == 0 { UPTODATE } else { 0 };
    PAIRS.iter().filter(|p| bits & p.0 != 0).fold(uptodate, |flags, p| flags | 1 << p.1)
}

/// Places of the copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mirror {
    /// The page of single structures.
    pub single: u64,
    chunks: Vec<u64>,
    /// By page of the memory: the number of the chunk of slots there, and 1; 0: none.
    pages: Vec<u32>,
    /// By slot.
    folios: Vec<FolioId>,
    /// By folio.
    slots: Vec<u32>,
    free: Vec<u32>,
    /// By file: its inode.
    files: Vec<u64>,
    /// By file: pages in the cache.
    cached: Vec<u64>,
    /// Where the next file comes, and the end of that room.
    room: [u64; 2],
}

impl Mirror {
    /// The slot of a folio that has one.
    pub(crate) fn slot_of(&self, folio: FolioId) -> Option<Slot> {
        let slot = *self.slots.get(folio.index())?;
        (slot != NO_SLOT).then_some(Slot(slot))
    }

    pub(crate) fn folio_in(&self, slot: Slot) -> FolioId {
        self.folios[slot.0 as usize]
    }

    /// True if the next folio needs another chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty() && self.folios.len() as u64 == self.chunks.len() as u64 * SLOTS
    }

    /// A page of the memory is another chunk of slots.
    pub(crate) fn add_chunk(&mut self, at: u64) {
        let page = (at / PAGE) as usize;
        self.pages.resize(self.pages.len().max(page + 1), 0);
        self.chunks.push(at);
        self.pages[page] = self.chunks.len() as u32;
    }

    /// Gives a folio a slot.
    pub(crate) fn enter(&mut self, folio: FolioId) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.folios.push(folio);
            self.folios.len() as u32 - 1
        });
        self.folios[slot as usize] = folio;
        if self.slots.len() <= folio.index() {
            self.slots.resize(folio.index() + 1, NO_SLOT);
        }
        self.slots[folio.index()] = slot;
        Slot(slot)
    }

    /// Takes the slot of a folio back.
    pub(crate) fn leave(&mut self, slot: Slot) {
        let folio = self.folio_in(slot);
        self.slots[folio.index()] = NO_SLOT;
        self.free.push(slot.0);
    }

    /// The address of a slot's `struct folio`.
    pub(crate) fn address(&self, slot: Slot) -> u64 {
        let n = u64::from(slot.0);
        self.chunks[(n / SLOTS) as usize] + n % SLOTS * SLOT
    }

    /// The slot that begins at an address; [`Slot::NONE`] if none does.
    pub(crate) fn slot_at(&self, address: u64) -> Slot {
        let chunk = self.pages.get((address / PAGE) as usize).copied().unwrap_or(0);
        let at = address % PAGE;
        if chunk == 0 || !at.is_multiple_of(SLOT) || at / SLOT >= SLOTS {
            return Slot::NONE;
        }
        Slot((chunk - 1) * SLOTS as u32 + (at / SLOT) as u32)
    }

    /// The inode of a file that has one.
    pub(crate) fn inode(&self, file: FileId) -> Option<u64> {
        let at = *self.files.get(file.index())?;
        (at != 0).then_some(at)
    }

    /// True if the next file needs another chunk.
    pub(crate) fn lacks_room(&self) -> bool {
        self.room[0] == self.room[1]
    }

    pub(crate) fn add_room(&mut self, at: u64) {
        self.room = [at, at + PAGE];
    }

    /// Gives a file an inode.
    pub(crate) fn open(&mut self, file: FileId) -> u64 {
        let at = self.room[0];
        self.room[0] += FILE;
        if self.files.len() <= file.index() {
            self.files.resize(file.index() + 1, 0);
            self.cached.resize(file.index() + 1, 0);
        }
        self.files[file.index()] = at;
        at
    }

    /// Counts a page of a file in or out of the cache, and gives how many there are.
    pub(crate) fn count(&mut self, file: FileId, by: i64) -> u64 {
        let n = &mut self.cached[file.index()];
        *n = n.saturating_add_signed(by);
        *n
    }
}
