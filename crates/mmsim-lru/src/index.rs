//! Indices of the tables of the LRUs.

use mmsim_core::base::id::{IndexArray, MemcgId};
use mmsim_core::{enum_index, typed_index};

typed_index!(
    /// The lists of one memory cgroup on one node; for the classic LRU of 4.1 in one zone.
    LruvecId(u32), "lruvec");

/// The two types of memory that reclaim tells apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LruType {
    /// Anonymous memory, which needs swap.
    Anon,
    /// The page cache, and lazily freed memory.
    File,
}

enum_index!(LruType: Anon, File);

/// Anonymous memory.
pub const ANON: LruType = LruType::Anon;
/// File memory.
pub const FILE: LruType = LruType::File;

/// One entry for each type.
pub type PerType<T> = IndexArray<LruType, T, 2>;

impl LruType {
    /// Both, anonymous memory first.
    pub const ALL: [LruType; 2] = [ANON, FILE];

    /// The type of file memory or of anonymous memory.
    #[inline(always)]
    pub const fn of(file: bool) -> Self {
        if file { FILE } else { ANON }
    }
    /// True if this is [`FILE`].
    #[inline(always)]
    pub const fn is_file(self) -> bool {
        matches!(self, FILE)
    }
    /// The other type.
    #[inline]
    pub const fn other(self) -> Self {
        LruType::of(!self.is_file())
    }
}

/// The types that reclaim may evict (`for_each_evictable_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evictable {
    /// File memory alone: nothing can be swapped.
    File,
    /// Both types.
    Both,
    /// Anonymous memory alone (`swappiness=max` of `memory.reclaim`).
    Anon,
}

impl Evictable {
    /// By the swappiness that reclaim goes by; 0 if nothing can be swapped.
    #[inline]
    pub const fn of(swappiness: u64) -> Evictable {
        match swappiness {
            0 => Evictable::File,
            1..=200 => Evictable::Both,
            _ => Evictable::Anon,
        }
    }
    /// The types, anonymous memory first.
    #[inline]
    pub const fn types(self) -> &'static [LruType] {
        match self {
            Evictable::File => &[FILE],
            Evictable::Both => &[ANON, FILE],
            Evictable::Anon => &[ANON],
        }
    }
    /// True if a type is among them.
    #[inline]
    pub fn has(self, t: LruType) -> bool {
        match self {
            Evictable::Both => true,
            Evictable::File => t == FILE,
            Evictable::Anon => t == ANON,
        }
    }
}

typed_index!(
    /// The place of a generation: its sequence number modulo [`MAX_NR_GENS`]
    /// (`lru_gen_from_seq`).
    Gen(u8), "gen");

/// Fewest generations of a type (`MIN_NR_GENS`).
pub const MIN_NR_GENS: u64 = 2;
/// Most generations (`MAX_NR_GENS`).
pub const MAX_NR_GENS: usize = 4;

/// One entry for each generation.
pub type PerGen<T> = IndexArray<Gen, T, MAX_NR_GENS>;

impl Gen {
    /// The place of the generation with a sequence number.
    #[inline(always)]
    pub const fn from_seq(seq: u64) -> Self {
        Gen((seq % MAX_NR_GENS as u64) as u8)
    }
    /// The place of the next younger generation.
    #[inline(always)]
    pub const fn next(self) -> Self {
        Gen::from_seq(self.0 as u64 + 1)
    }
}

typed_index!(
    /// Folios of a generation that were accessed about equally often through descriptors.
    Tier(u8), "tier");

/// Tiers (`MAX_NR_TIERS`).
pub const MAX_NR_TIERS: usize = 4;

/// One entry for each tier.
pub type PerTier<T> = IndexArray<Tier, T, MAX_NR_TIERS>;

impl Tier {
    /// The tier of folios that are not protected.
    pub const FIRST: Tier = Tier(0);
    /// All tiers, the first one first.
    pub fn all() -> impl Iterator<Item = Tier> {
        (0..MAX_NR_TIERS as u8).map(Tier)
    }
}

/// The numbering of lruvecs: those of a place, which is a node or a zone, one after the other.
/// The root cgroup's comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LruvecIds {
    nr_memcgs: u32,
}

impl LruvecIds {
    pub(crate) fn new(nr_memcgs: usize) -> Self {
        LruvecIds { nr_memcgs: nr_memcgs as u32 }
    }
    /// Number of memory cgroups.
    pub(crate) const fn nr_memcgs(self) -> usize {
        self.nr_memcgs as usize
    }
    /// True if the root is the only memory cgroup.
    #[inline(always)]
    pub(crate) const fn only_root(self) -> bool {
        self.nr_memcgs == 1
    }
    /// All memory cgroups, the root first.
    pub(crate) fn memcgs(self) -> impl Iterator<Item = MemcgId> {
        (0..self.nr_memcgs).map(|m| MemcgId(m as u16))
    }
    /// The lruvec of a memory cgroup at a place.
    #[inline(always)]
    pub(crate) const fn id(self, place: u8, memcg: MemcgId) -> LruvecId {
        LruvecId(place as u32 * self.nr_memcgs + memcg.0 as u32)
    }
    /// The lruvecs of all memory cgroups at a place.
    pub(crate) fn at(self, place: u8) -> impl Iterator<Item = LruvecId> + Clone {
        let root = self.id(place, MemcgId(0)).0;
        (root..root + self.nr_memcgs).map(LruvecId)
    }
    /// The place of an lruvec.
    #[inline]
    pub(crate) const fn place(self, lv: LruvecId) -> u8 {
        if self.only_root() { lv.0 as u8 } else { (lv.0 / self.nr_memcgs) as u8 }
    }
    /// The memory cgroup of an lruvec.
    #[inline]
    pub(crate) const fn memcg(self, lv: LruvecId) -> MemcgId {
        if self.only_root() { MemcgId(0) } else { MemcgId((lv.0 % self.nr_memcgs) as u16) }
    }
}
