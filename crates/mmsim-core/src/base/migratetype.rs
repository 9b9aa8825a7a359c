//! Migratetypes: which blocks lie next to which.
//!
//! An unmovable page spoils the pageblock around it for large allocations. So the allocator keeps
//! pages of one mobility together: each pageblock has a type, each free list is of one type, and a
//! request takes from lists of another type only when its own are empty.
//!
//! Source: Linux 6.12 include/linux/mmzone.h (`enum migratetype`), mm/page_alloc.c
//! (`fallbacks`). Left out: `page_group_by_mobility_disabled`, by which machines of less
//! than six pageblocks (12 MiB) call everything unmovable.

use super::settings::{Form, Formed, Row, Value, Word};

/// The type of a pageblock, of a free list, or of a request (the first three only).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Migratetype {
    /// Memory that stays where it is: page tables, most of slab.
    Unmovable = 0,
    /// Memory of processes and the page cache.
    Movable = 1,
    /// Caches that can be dropped on request.
    Reclaimable = 2,
    /// Reserved for high-order requests that cannot wait.
    HighAtomic = 3,
    /// Contiguous memory areas; lent to movable requests.
    Cma = 4,
    /// Taken out of use: nothing is allocated from it.
    Isolate = 5,
}

/// Number of migratetypes.
pub const NR_MIGRATETYPES: usize = 6;
/// Types that requests have and per-CPU lists keep apart (`MIGRATE_PCPTYPES`).
pub(crate) const NR_PCPTYPES: usize = 3;

use Migratetype::{Cma, HighAtomic, Isolate, Movable, Reclaimable, Unmovable};

/// The types that a request may have, as settings write them.
impl Formed for Migratetype {
    const FORM: Form = {
        const fn word(name: &'static str, doc: &'static str) -> Word {
            Word { name, doc, since: "" }
        }
        const WORDS: &[Word] = &[
            word("unmovable", "memory that stays where it is"),
            word("movable", "memory of processes and the page cache"),
            word("reclaimable", "caches that can be dropped on request"),
        ];
        Form::Word(WORDS, &["unmovable", "movable", "reclaimable"])
    };
}
impl Value for Migratetype {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(*self as u64)
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        if let Some(of) = Migratetype::REQUESTS.get(n as usize) {
            *self = *of;
        }
    }
}

impl Migratetype {
    /// All types, in the order of `/proc/pagetypeinfo`.
    pub const ALL: [Migratetype; NR_MIGRATETYPES] =
        [Unmovable, Movable, Reclaimable, HighAtomic, Cma, Isolate];
    /// The types that a request may have.
    pub const REQUESTS: [Migratetype; NR_PCPTYPES] = [Unmovable, Movable, Reclaimable];

    /// As `/proc/pagetypeinfo` writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Unmovable => "Unmovable",
            Movable => "Movable",
            Reclaimable => "Reclaimable",
            HighAtomic => "HighAtomic",
            Cma => "CMA",
            Isolate => "Isolate",
        }
    }

    #[inline(always)]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        // Types 6 and 7 do not exist.
        const OF: [Migratetype; 8] =
            [Unmovable, Movable, Reclaimable, HighAtomic, Cma, Isolate, Isolate, Isolate];
        OF[bits as usize & 7]
    }

    /// True if blocks of this type merge with those of another such type.
    pub const fn mergeable(self) -> bool {
        (self as usize) < NR_PCPTYPES
    }

    /// From whose lists a request takes when those of its own type are empty, in order.
    pub const fn fallbacks(self) -> &'static [Migratetype] {
        match self {
            Unmovable => &[Reclaimable, Movable],
            Movable => &[Reclaimable, Unmovable],
            Reclaimable => &[Unmovable, Movable],
            HighAtomic | Cma | Isolate => &[],
        }
    }
}
