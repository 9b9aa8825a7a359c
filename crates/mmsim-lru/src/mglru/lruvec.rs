//! The generations of one node and memory cgroup, and how a folio names its own.

use super::bloom::Filters;
use super::rates::Rates;
use crate::classic::formulas::CostState;
use crate::index::{FILE, Gen, LruType, MIN_NR_GENS, PerGen, PerType};
use mmsim_core::base::id::{IndexArray, ListId, NodeId};
use mmsim_core::base::time::SimTime;
use mmsim_core::config::ZoneKind;
use mmsim_core::enum_index;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::flag;

/// One entry for each zone of a node.
pub(super) type PerZone<T> = IndexArray<ZoneKind, T, { ZoneKind::ALL.len() }>;

/// The lists that a generation has in each zone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GenList {
    /// Anonymous memory.
    Anon,
    /// File memory, and lazily freed memory where it has no list of its own.
    File,
    /// Lazily freed memory.
    Lazyfree,
}

enum_index!(GenList: Anon, File, Lazyfree);

impl From<LruType> for GenList {
    #[inline(always)]
    fn from(t: LruType) -> Self {
        if t.is_file() { GenList::File } else { GenList::Anon }
    }
}

/// The bits of a folio that hold its generation: 0 for none, else one more than its [`Gen`].
const GEN_SHIFT: u32 = flag::POLICY_SHIFT;
pub(super) const GEN_MASK: u32 = flag::POLICY_MASK;

/// Values of these bits.
pub(super) const NAMES: usize = flag::POLICY_VALUES;

/// The value of these bits, below [`NAMES`].
#[inline(always)]
pub(super) const fn name_of(bits: u32) -> usize {
    ((bits & GEN_MASK) >> GEN_SHIFT) as usize
}

/// The bits of a folio in a generation.
#[inline(always)]
pub(super) const fn gen_bits(generation: Gen) -> u32 {
    (generation.0 as u32 + 1) << GEN_SHIFT
}

/// The generation that a folio names; none while it is isolated.
#[inline(always)]
pub(super) const fn gen_of(bits: u32) -> Option<Gen> {
    match (bits & GEN_MASK) >> GEN_SHIFT {
        g @ 1..=4 => Some(Gen(g as u8 - 1)),
        _ => None,
    }
}

/// The type of a folio with these flags. Lazily freed memory counts as file memory.
#[inline(always)]
pub(super) const fn type_of(bits: u32) -> LruType {
    LruType::of(bits & flag::SWAPBACKED == 0)
}

/// State of walks of a memory cgroup's processes (`struct lru_gen_mm_state`).
#[derive(Clone, Debug)]
pub(super) struct MmState {
    /// Sequence number of the last walk.
    pub(super) seq: u64,
    pub(super) filters: Filters,
    /// Sequence number whose walk is over, though the next generation may not have begun.
    pub(super) walked: u64,
    /// Processes from this number on were not walked yet: they are walked in full.
    pub(super) tail: u64,
}

impl Default for MmState {
    fn default() -> Self {
        MmState { seq: MIN_NR_GENS, filters: Filters::default(), walked: 0, tail: 0 }
    }
}

/// The generations of one node and memory cgroup (`struct lru_gen_folio`).
#[derive(Clone, Debug)]
pub(super) struct Lruvec {
    pub(super) node: NodeId,
    pub(super) max_seq: u64,
    pub(super) min_seq: PerType<u64>,
    pub(super) birth: PerGen<SimTime>,
    pub(super) lists: PerGen<IndexArray<GenList, PerZone<ListId>, 3>>,
    pub(super) unevictable: ListId,
    /// By the generation that folios name, whatever list they are on.
    pub(super) nr_pages: PerGen<PerType<PerZone<u64>>>,
    pub(super) rates: PerType<Rates>,
    pub(super) mm: MmState,
    /// Cost of reclaim, where the type to evict is chosen by that.
    pub(super) cost: CostState,
    /// Evictions so far, which refault distances are measured with: of both types together under
    /// `ANON`, unless each has its own.
    pub(super) evictions: PerType<u64>,
}

impl Lruvec {
    pub(super) fn nr_gens(&self, t: LruType) -> u64 {
        self.max_seq - self.min_seq[t] + 1
    }
    /// The oldest generation of a type.
    pub(super) fn oldest(&self, t: LruType) -> Gen {
        Gen::from_seq(self.min_seq[t])
    }
    /// Pages of a type that name a generation.
    pub(super) fn size(&self, generation: Gen, t: LruType) -> u64 {
        self.nr_pages[generation][t].iter().sum()
    }
    /// True if a generation is one of the two youngest, which count as active.
    pub(super) fn is_active(&self, generation: Gen) -> bool {
        generation == Gen::from_seq(self.max_seq) || generation == Gen::from_seq(self.max_seq - 1)
    }
    /// `nr_inactive` and `nr_active` of a type.
    pub(super) fn halves(&self, t: LruType) -> [u64; 2] {
        self.nr_pages.pairs().fold([0; 2], |mut sum, (generation, sizes)| {
            sum[usize::from(self.is_active(generation))] += sizes[t].iter().sum::<u64>();
            sum
        })
    }
    /// True if any list of a generation of a type holds folios; lists of lazily freed ones count
    /// only if they hold their generation back.
    pub(super) fn populated(&self, mem: &Memory, generation: Gen, t: LruType, lazy: bool) -> bool {
        let lists = &self.lists[generation];
        let any = |l: GenList| lists[l].iter().any(|&l| mem.lru.lists.len(l) > 0);
        any(t.into()) || lazy && t == FILE && any(GenList::Lazyfree)
    }
}
