//! MGLRU: generations instead of two lists.
//!
//! Pages of similar recency form a generation. Aging makes a new, youngest one, after it looked
//! for accessed bits in page tables and moved what it found into the generation that was the
//! youngest till then; eviction consumes the oldest. There are at most four, and at least two
//! are kept, so a page can be evicted only after two agings that did not find it used.
//!
//! File pages that are read through descriptors have no accessed bits: their accesses are
//! counted, and the counts sort the pages of a generation into tiers. Refaults of the first tier
//! are compared with those of the others, and of anonymous with those of file pages, to decide
//! which type is evicted and which tiers are moved on to the next generation instead.
//!
//! A folio's generation is a number on the folio, its list another thing: promoting it changes
//! the number only, and eviction puts it onto its list when it meets it (lazy sorting).
//!
//! Kernels from 6.1 to 6.14, and the patch sets in between, are one mechanism with different
//! knobs ([`MglruConfig`]).
//!
//! - this file: the state, and what happens when a folio comes, goes or is used;
//! - `place`: the generation in which a folio starts;
//! - `rates`: refault rates and what follows from them;
//! - `aging`: walks of page tables, new generations;
//! - `scan`, `evict`: one step of eviction;
//! - `pass`: how much is evicted, who is next, when it is enough;
//! - `refault`: shadows and refaults;
//! - `memcg_lru`: the order of groups.
//!
//! Source: Linux 6.12 mm/vmscan.c, mm/workingset.c, mm/swap.c, include/linux/mm_inline.h, and the
//! versions and series that docs/policies.md names.

mod aging;
mod bloom;
pub mod config;
mod counts;
mod debugfs;
mod evict;
mod memcg_lru;
mod pass;
pub mod place;
pub mod rates;
mod refault;
mod scan;

pub use config::MglruConfig;

use self::aging::MmState;
use self::config::{AccessMarks, FaultArrival, Lazyfree, SecondTouch};
use self::counts::AccessCounts;
use self::memcg_lru::MemcgLru;
use self::pass::Pass;
use self::place::Placing;
use self::rates::{ANON, FILE, Rates};
use self::refault::Packing;
use mmsim_core::backing::Shadow;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{ListId, MemcgId, NodeId, SwapSlot, TallyId};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{FastPath, Look, Memory};
use mmsim_core::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag, pages_of};
use mmsim_core::policy::{
    Arrival, ArrivalKind, Departure, Generation, LruSnapshot, ReclaimOutcome, ReclaimPolicy,
    ReclaimRequest, arrive_singly,
};

/// Fewest generations of a type (`MIN_NR_GENS`).
pub const MIN_NR_GENS: u64 = 2;
/// Most generations (`MAX_NR_GENS`).
pub const MAX_NR_GENS: usize = 4;
/// Zones of a node.
const ZONES: usize = ZoneKind::ALL.len();
/// The list of lazily freed folios, beside [`ANON`] and [`FILE`].
const LAZY: usize = 2;

/// The bits of a folio that hold its generation: 0 for none, else one more than its slot.
const GEN_SHIFT: u32 = flag::POLICY.trailing_zeros();
const GEN_MASK: u32 = 7 << GEN_SHIFT;

/// The slot of the generation with a sequence number.
#[inline(always)]
const fn slot_of(seq: u64) -> usize {
    seq as usize % MAX_NR_GENS
}

/// The bits of a folio in a generation.
#[inline(always)]
const fn gen_bits(slot: usize) -> u32 {
    (slot as u32 + 1) << GEN_SHIFT
}

/// The slot of a folio's generation; none while it is isolated.
#[inline(always)]
const fn gen_of(bits: u32) -> Option<usize> {
    match (bits & GEN_MASK) >> GEN_SHIFT {
        g @ 1..=4 => Some(g as usize - 1),
        _ => None,
    }
}

/// Whether flags are those of file memory or of lazily freed memory.
#[inline(always)]
const fn type_of(bits: u32) -> usize {
    if bits & flag::SWAPBACKED == 0 { FILE } else { ANON }
}

/// The generations of one node and group.
#[derive(Clone, Debug)]
struct Lruvec {
    node: u8,
    max_seq: u64,
    min_seq: [u64; 2],
    birth: [SimTime; MAX_NR_GENS],
    /// By slot, type or [`LAZY`], and zone.
    lists: [[[ListId; ZONES]; 3]; MAX_NR_GENS],
    unevictable: ListId,
    /// By the generation that folios name, whatever list they are on.
    nr_pages: [[[u64; ZONES]; 2]; MAX_NR_GENS],
    rates: [Rates; 2],
    mm: MmState,
    /// Evictions so far, which refault distances are measured with: of both types together in
    /// the first, unless each has its own.
    evictions: [u64; 2],
}

impl Lruvec {
    fn nr_gens(&self, t: usize) -> u64 {
        self.max_seq - self.min_seq[t] + 1
    }
    /// Pages of a type that name a generation.
    fn size(&self, slot: usize, t: usize) -> u64 {
        self.nr_pages[slot][t].iter().sum()
    }
    /// Whether a slot is one of the two youngest generations, which count as active.
    fn is_active(&self, slot: usize) -> bool {
        slot == slot_of(self.max_seq) || slot == slot_of(self.max_seq - 1)
    }
    /// `nr_inactive` and `nr_active` of a type.
    fn halves(&self, t: usize) -> [u64; 2] {
        (0..MAX_NR_GENS).fold([0; 2], |mut sum, slot| {
            sum[usize::from(self.is_active(slot))] += self.size(slot, t);
            sum
        })
    }
    /// Whether any list of a generation of a type holds folios; lists of lazily freed ones
    /// count only if they hold their generation back.
    fn populated(&self, mem: &Memory, slot: usize, t: usize, lazy: bool) -> bool {
        let any = |l: usize| self.lists[slot][l].iter().any(|&l| mem.lists.len(l) > 0);
        any(t) || lazy && t == FILE && any(LAZY)
    }
}

/// MGLRU of a machine.
pub struct Mglru {
    config: MglruConfig,
    lruvecs: Vec<Lruvec>,
    /// `nr_inactive` and `nr_active` of a type with all groups, per node and type.
    halves: Vec<[[u64; 2]; 2]>,
    /// Unevictable pages with all groups, per node.
    unevictable: Vec<TallyId>,
    groups: usize,
    counts: AccessCounts,
    packing: Packing,
    /// Places in passes under way: per node, one for direct reclaimers, one for kswapd.
    passes: Vec<Option<Pass>>,
    memcg_lru: Vec<MemcgLru>,
    /// Per node: kswapd is to age before it evicts (6.1).
    needs_aging: Vec<bool>,
    /// `MIN_LRU_BATCH`, `MAX_LRU_BATCH` and `DEF_PRIORITY` of the machine's scale.
    min_batch: u64,
    max_batch: u64,
    first_priority: u8,
    /// Whether there is one list for each type and generation and nothing else to ask.
    single: bool,
    /// Scratch.
    looks: Vec<Look>,
    short: FastPath,
    slots: Vec<SwapSlot>,
    victims: Vec<Look>,
    young: Vec<FolioId>,
    folios: Vec<FolioId>,
    back: Vec<FolioId>,
}

impl Mglru {
    /// The generations of a machine with the memory `mem`.
    pub fn new(config: MglruConfig, mem: &mut Memory, seed: u64) -> Self {
        let (nodes, groups) = (mem.zones.nr_nodes(), mem.memcgs.len());
        let unevictable: Vec<TallyId> = (0..nodes).map(|_| mem.lists.create_tally()).collect();
        let lruvecs: Vec<Lruvec> = (0..nodes * groups)
            .map(|lv| Lruvec {
                node: (lv / groups) as u8,
                max_seq: MIN_NR_GENS + 1,
                min_seq: [0; 2],
                birth: [SimTime::ZERO; MAX_NR_GENS],
                lists: std::array::from_fn(|_| {
                    std::array::from_fn(|_| std::array::from_fn(|_| mem.lists.create()))
                }),
                unevictable: mem.lists.create_in(unevictable[lv / groups]),
                nr_pages: [[[0; ZONES]; 2]; MAX_NR_GENS],
                rates: std::array::from_fn(|_| Rates::default()),
                mm: MmState::default(),
                evictions: [0; 2],
            })
            .collect();
        let single = lruvecs.len() == 1;
        let rng = Rng::for_purpose(seed, "policy/mglru");
        Mglru {
            config,
            lruvecs,
            halves: vec![[[0; 2]; 2]; nodes],
            unevictable,
            groups,
            counts: AccessCounts::default(),
            packing: Packing::of(mem),
            passes: vec![None; 2 * nodes],
            memcg_lru: (0..nodes).map(|_| MemcgLru::new(groups, rng.clone())).collect(),
            needs_aging: vec![false; nodes],
            min_batch: (rates::MIN_LRU_BATCH >> mem.batch_shift).max(1),
            max_batch: (4096 >> mem.batch_shift).max(1),
            first_priority: 12u8.saturating_sub(mem.batch_shift as u8),
            single,
            looks: Vec::new(),
            short: FastPath::default(),
            slots: Vec::new(),
            victims: Vec::new(),
            young: Vec::new(),
            folios: Vec::new(),
            back: Vec::new(),
        }
    }

    /// The knobs.
    pub fn config(&self) -> &MglruConfig {
        &self.config
    }

    #[inline]
    fn index(&self, node: NodeId, memcg: MemcgId) -> usize {
        node.0 as usize * self.groups + memcg.0 as usize
    }

    #[inline]
    fn lruvec_of(&self, mem: &Memory, folio: FolioId) -> usize {
        if self.single { 0 } else { self.index(mem.node_of(folio), mem.frames.memcg(folio)) }
    }

    #[inline]
    fn node_and_group(&self, lv: usize) -> (NodeId, MemcgId) {
        (NodeId((lv / self.groups) as u8), MemcgId((lv % self.groups) as u16))
    }

    /// Accesses through descriptors that a folio has to its credit (`folio_lru_refs`).
    #[inline]
    fn refs(&self, folio: FolioId, bits: u32) -> u32 {
        match self.config.access_marks {
            // The counter is in use behind the workingset flag only.
            AccessMarks::WorkingsetSecond if bits & flag::WORKINGSET == 0 => 0,
            AccessMarks::WorkingsetSecond => self.counts.get(folio) + 1,
            AccessMarks::Counted614 if bits & flag::REFERENCED == 0 => 0,
            AccessMarks::Counted614 => self.counts.get(folio) + 1,
        }
    }

    /// The tier of a folio (`lru_tier_from_refs`).
    #[inline]
    fn tier(&self, folio: FolioId, bits: u32) -> usize {
        let tier = match self.config.access_marks {
            AccessMarks::Counted614 if bits & flag::WORKINGSET != 0 => 3,
            // The first counted access is the second: one alone does not make a tier.
            AccessMarks::Counted614 => {
                let refs = self.refs(folio, bits);
                rates::tier_of(refs.saturating_sub(1))
            }
            AccessMarks::WorkingsetSecond => rates::tier_of(self.refs(folio, bits)),
        };
        tier.min(self.config.nr_tiers.get() as usize - 1)
    }

    /// A folio with these flags changes the generation that it names, or leaves or joins them all.
    #[inline]
    fn resize(
        &mut self,
        (lv, z): (usize, usize),
        bits: u32,
        from: Option<usize>,
        to: Option<usize>,
    ) {
        let (t, pages) = (type_of(bits), pages_of(bits));
        if let Some(slot) = from {
            self.shrink_gen(lv, slot, t, z, pages);
        }
        if let Some(slot) = to {
            self.grow_gen(lv, slot, t, z, pages);
        }
    }

    /// Pages of a zone are the more that name a generation.
    #[inline]
    fn grow_gen(&mut self, lv: usize, slot: usize, t: usize, z: usize, pages: u64) {
        let v = &mut self.lruvecs[lv];
        v.nr_pages[slot][t][z] += pages;
        self.halves[usize::from(v.node)][t][usize::from(v.is_active(slot))] += pages;
    }

    /// Pages of a zone are the fewer that name a generation.
    #[inline]
    fn shrink_gen(&mut self, lv: usize, slot: usize, t: usize, z: usize, pages: u64) {
        let v = &mut self.lruvecs[lv];
        v.nr_pages[slot][t][z] -= pages;
        self.halves[usize::from(v.node)][t][usize::from(v.is_active(slot))] -= pages;
    }

    #[inline]
    fn zone_of(mem: &Memory, folio: FolioId) -> usize {
        mem.zones[mem.zones.of(folio)].kind as usize
    }

    /// The row of lists that a folio is kept on.
    #[inline]
    fn row(&self, mem: &Memory, folio: FolioId, t: usize) -> usize {
        let lazy =
            t == FILE && self.config.lazyfree_list() && mem.frames.kind(folio) == FrameKind::Anon;
        if lazy { LAZY } else { t }
    }

    /// Puts a folio that names no generation into one (`lru_gen_add_folio`): at the head, or at
    /// the tail if it shall go first.
    fn add(&mut self, mem: &mut Memory, folio: FolioId, first_to_go: bool) {
        let bits = mem.frames.bits(folio);
        let lv = self.lruvec_of(mem, folio);
        if bits & (flag::MLOCKED | flag::UNEVICTABLE) != 0 {
            mem.cull(folio);
            return mem.lru_add_head(self.lruvecs[lv].unevictable, folio);
        }
        let t = type_of(bits);
        let v = &self.lruvecs[lv];
        let seq = place::seq_of(
            self.config.placement,
            Placing { bits, min_seq: v.min_seq[t], max_seq: v.max_seq, first_to_go },
        );
        self.put(mem, lv, folio, seq, first_to_go);
    }

    /// Puts a folio into the generation with a sequence number.
    fn put(&mut self, mem: &mut Memory, lv: usize, folio: FolioId, seq: u64, tail: bool) {
        let slot = slot_of(seq);
        let bits = mem.frames.change(folio, GEN_MASK, gen_bits(slot));
        let clear = if bits & flag::ACTIVE != 0 && self.config.add_clears_refs {
            if bits & flag::WORKINGSET != 0 {
                self.counts.set(folio, 0);
            }
            flag::ACTIVE | flag::REFERENCED
        } else {
            flag::ACTIVE
        };
        mem.frames.clear(folio, clear);
        let (t, z) = (type_of(bits), Self::zone_of(mem, folio));
        self.resize((lv, z), bits, None, Some(slot));
        let list = self.lruvecs[lv].lists[slot][self.row(mem, folio, t)][z];
        if tail {
            mem.lru_add_tail(list, folio);
        } else {
            mem.lru_add_head(list, folio);
        }
    }

    /// Takes a listed folio out of its generation (`lru_gen_del_folio`). What was in a young one
    /// stays `ACTIVE`, so that it comes back as young.
    fn del(&mut self, mem: &mut Memory, folio: FolioId) {
        self.leave_gen(mem, folio);
        mem.lru_del(folio);
    }

    fn leave_gen(&mut self, mem: &mut Memory, folio: FolioId) {
        let bits = mem.frames.bits(folio);
        let Some(slot) = gen_of(bits) else { return };
        let lv = self.lruvec_of(mem, folio);
        self.resize((lv, Self::zone_of(mem, folio)), bits, Some(slot), None);
        let active = if self.lruvecs[lv].is_active(slot) { flag::ACTIVE } else { 0 };
        mem.frames.change(folio, GEN_MASK, active);
    }

    /// A folio was found used: it moves to the generation in `slot`, or is marked if it is
    /// isolated (`folio_update_gen`).
    #[inline]
    fn update_gen(&mut self, mem: &mut Memory, lv: usize, folio: FolioId, slot: usize) {
        let bits = mem.frames.bits(folio);
        let counted = self.config.access_marks == AccessMarks::Counted614;
        if counted && bits & (flag::REFERENCED | flag::WORKINGSET) == 0 {
            self.set_refs(mem, folio);
            return;
        }
        let Some(old) = gen_of(bits) else {
            if !counted {
                mem.frames.set(folio, flag::REFERENCED);
            }
            return;
        };
        if counted {
            mem.frames.change(
                folio,
                GEN_MASK | flag::REFERENCED,
                flag::WORKINGSET | gen_bits(slot),
            );
        } else {
            let marks = flag::REFERENCED | flag::WORKINGSET;
            mem.frames.change(folio, GEN_MASK | marks, gen_bits(slot));
        }
        if old != slot {
            self.resize((lv, Self::zone_of(mem, folio)), bits, Some(old), Some(slot));
        }
    }

    /// Splits a huge folio that is on no list; its pages were accessed as often as it was.
    fn split(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
    ) -> impl ExactSizeIterator<Item = FolioId> + DoubleEndedIterator + use<> {
        let count = self.counts.get(folio);
        let pages = mem.split_frames(folio);
        pages.clone().for_each(|page| self.counts.set(page, count));
        pages
    }

    /// A folio was found used, as 6.14 notes that: once is no proof of a working set. True: it
    /// was not the first time (`lru_gen_set_refs`).
    fn set_refs(&mut self, mem: &mut Memory, folio: FolioId) -> bool {
        let bits = mem.frames.bits(folio);
        if bits & (flag::REFERENCED | flag::WORKINGSET) != 0 {
            if self.config.second_touch == SecondTouch::Mark && self.refs(folio, bits) <= 1 {
                self.mark(mem, folio);
            } else {
                mem.frames.change(folio, flag::REFERENCED, flag::WORKINGSET);
            }
            return true;
        }
        self.counts.set(folio, 0);
        mem.frames.set(folio, flag::REFERENCED);
        false
    }

    /// One more access of a folio, as 6.14 counts them (`lru_gen_inc_refs`).
    fn mark(&mut self, mem: &mut Memory, folio: FolioId) {
        if !mem.frames.has(folio, flag::REFERENCED) {
            mem.frames.set(folio, flag::REFERENCED);
            self.counts.set(folio, 0);
        } else if self.counts.get(folio) == counts::MOST {
            mem.frames.set(folio, flag::WORKINGSET);
        } else {
            self.counts.add(folio, mem.frames.len());
        }
    }

    /// A folio of the oldest generation moves on to the next (`folio_inc_gen`), unless it was
    /// promoted meanwhile. Returns the slot that it names then.
    fn inc_gen(&mut self, mem: &mut Memory, lv: usize, folio: FolioId, set: u32) -> usize {
        let bits = mem.frames.bits(folio);
        let t = type_of(bits);
        let old = slot_of(self.lruvecs[lv].min_seq[t]);
        let named = gen_of(bits).expect("a listed folio names a generation");
        if named != old {
            return named;
        }
        let new = (old + 1) % MAX_NR_GENS;
        let mut clear = GEN_MASK | flag::REFERENCED | flag::WORKINGSET;
        if self.config.access_marks == AccessMarks::Counted614 {
            clear &= !flag::WORKINGSET;
        }
        mem.frames.change(folio, clear, gen_bits(new) | set);
        self.resize((lv, Self::zone_of(mem, folio)), bits, Some(old), Some(new));
        new
    }

    /// Puts a batch of new or swapped-in anonymous folios into their generation at once, which is
    /// the youngest, but for 6.14. False, and nothing done: something has to be asked for each.
    fn young_anon_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) -> bool {
        if !self.single || mem.tracer.on() {
            return false;
        }
        let (mut every, mut any) = (u32::MAX, 0);
        self.folios.clear();
        for &(folio, how) in batch {
            let bits = mem.frames.bits(folio);
            let active = how.in_fault == Some(true) || bits & flag::ACTIVE != 0;
            every &= if active { bits } else { 0 };
            any |= bits;
            self.folios.push(folio);
        }
        let odd = flag::MLOCKED | flag::UNEVICTABLE | ORDER_MASK;
        if every & flag::SWAPBACKED == 0 || any & odd != 0 {
            return false;
        }
        // From 6.14 on it matters which of them are workingset.
        let alike = (every ^ any) & flag::WORKINGSET == 0;
        if !alike && self.config.placement.is_by_distance() {
            return false;
        }
        // From 7.2 on which are marked, or in the swap cache still.
        let marks = self.config.fault_arrival == FaultArrival::Marked;
        if marks && any & (flag::REFERENCED | flag::SWAPCACHE | flag::ACTIVE) != 0 {
            return false;
        }
        let marks = marks && every & flag::WORKINGSET == 0;
        let set = if marks { flag::REFERENCED } else { flag::ACTIVE };
        let folios = std::mem::take(&mut self.folios);
        let done = self.add_young_anon(mem, &folios, every, flag::IN_BATCH, set);
        if done && marks {
            self.counts.clear_all(&folios);
        }
        if done && self.config.add_clears_refs && any & flag::WORKINGSET != 0 {
            self.counts.clear_all(&folios);
        }
        self.folios = folios;
        done
    }

    /// Puts single anonymous folios that are alike into the generation where such with the flags
    /// `set` start, at the head, and clears the flags `clear` of them besides. False, and nothing done: they are of several zones.
    fn add_young_anon(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        bits: u32,
        clear: u32,
        set: u32,
    ) -> bool {
        let Some(zone) = mem.zones.of_all(folios.iter().copied()) else { return false };
        let refs = if self.config.add_clears_refs { flag::REFERENCED } else { 0 };
        let z = mem.zones[zone].kind as usize;
        let v = &self.lruvecs[0];
        let (min_seq, max_seq) = (v.min_seq[ANON], v.max_seq);
        let placing = Placing { bits: bits | set, min_seq, max_seq, first_to_go: false };
        let slot = slot_of(place::seq_of(self.config.placement, placing));
        let list = v.lists[slot][ANON][z];
        self.grow_gen(0, slot, ANON, z, folios.len() as u64);
        let clear = clear | refs | flag::ACTIVE | GEN_MASK;
        mem.lru_add_heads_as(list, folios, clear, gen_bits(slot) | set & !flag::ACTIVE);
        true
    }
}

impl ReclaimPolicy for Mglru {
    #[inline]
    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        if !self.young_anon_arrived(mem, batch) {
            arrive_singly(self, mem, batch);
        }
    }

    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        if how.in_fault == Some(true) {
            let bits = mem.frames.bits(folio);
            if self.config.fault_arrival == FaultArrival::Active || bits & flag::WORKINGSET != 0 {
                mem.frames.set(folio, flag::ACTIVE);
            } else if bits & flag::REFERENCED == 0 {
                self.mark(mem, folio);
            }
        }
        let second_oldest = mem.frames.bits(folio) & GEN_MASK == refault::SECOND_OLDEST;
        if second_oldest && how.kind != ArrivalKind::PutBack {
            self.add_second_oldest(mem, folio);
        } else {
            self.add(mem, folio, false);
        }
        let file = mem.frames.is_file_lru(folio);
        mem.emit(|| TraceEvent::MmLruInsertion {
            pfn: folio,
            lru: if file { "file" } else { "anon" },
        });
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        self.del(mem, folio);
    }

    fn folios_departed(&mut self, mem: &mut Memory, folios: &[FolioId], _why: Departure) {
        for &folio in folios {
            self.leave_gen(mem, folio);
        }
        mem.lru_del_all(folios);
    }

    #[inline]
    fn entries_together(&self) -> bool {
        true
    }

    #[inline]
    fn swapins_together(&self) -> bool {
        true
    }

    #[inline]
    fn folio_refaulted(&mut self, mem: &mut Memory, folio: FolioId, shadow: Shadow, how: Arrival) {
        self.refault(mem, folio, shadow, how);
    }

    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.clear_idle(folio);
        let bits = mem.frames.bits(folio);
        if bits & flag::UNEVICTABLE != 0 {
            return;
        }
        match self.config.access_marks {
            AccessMarks::WorkingsetSecond => {
                if bits & flag::REFERENCED == 0 {
                    mem.frames.set(folio, flag::REFERENCED);
                } else if bits & flag::WORKINGSET == 0 {
                    mem.frames.set(folio, flag::WORKINGSET);
                    self.counts.set(folio, 0);
                } else {
                    self.counts.add(folio, mem.frames.len());
                }
            }
            AccessMarks::Counted614 => self.mark(mem, folio),
        }
    }

    fn folio_activated(&mut self, mem: &mut Memory, folio: FolioId) {
        self.del(mem, folio);
        mem.activate_used(folio);
        self.add(mem, folio, false);
    }

    fn folio_deactivated(&mut self, mem: &mut Memory, folio: FolioId) {
        if mem.frames.has(folio, flag::UNEVICTABLE) {
            return;
        }
        self.del(mem, folio);
        mem.deactivate(folio);
        self.add(mem, folio, false);
    }

    /// The pages take the place of the huge folio at the end of its generation's list where they
    /// are met next, and name the generation that it named.
    fn folio_split(&mut self, mem: &mut Memory, folio: FolioId) {
        let list = mem.lists.list_of(folio);
        mem.lru_del(folio);
        for page in self.split(mem, folio).rev() {
            mem.lru_add_tail(list, page);
        }
    }

    fn folio_made_lazyfree(&mut self, mem: &mut Memory, folio: FolioId) {
        if self.config.lazyfree == Lazyfree::Off {
            return;
        }
        self.del(mem, folio);
        let marks = mem.frames.bits(folio) & (flag::REFERENCED | flag::WORKINGSET);
        mem.make_lazyfree(folio);
        if self.config.lazyfree_keeps_marks {
            mem.frames.set(folio, marks);
        }
        match self.config.lazyfree {
            Lazyfree::Tail => self.add(mem, folio, true),
            Lazyfree::ListOldest => {
                let lv = self.lruvec_of(mem, folio);
                let oldest = self.lruvecs[lv].min_seq[FILE];
                self.put(mem, lv, folio, oldest, false);
            }
            _ => self.add(mem, folio, false),
        }
    }

    fn reclaim_list(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore_references: bool,
    ) -> u64 {
        self.reclaim_isolated(mem, folios, ignore_references)
    }

    fn folio_rotated(&mut self, mem: &mut Memory, folio: FolioId) {
        self.del(mem, folio);
        mem.frames.clear(folio, flag::ACTIVE);
        self.add(mem, folio, true);
        mem.count(VmEvent::PgRotated, 1);
    }

    fn age_node(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        self.age_by_kswapd(mem, req)
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        self.run_pass(mem, req)
    }

    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        let _ = (mem, limit);
        self.needs_aging[usize::from(node.0)] = false;
    }

    fn is_active(&self, mem: &Memory, folio: FolioId) -> bool {
        let lv = self.lruvec_of(mem, folio);
        gen_of(mem.frames.bits(folio)).is_some_and(|slot| self.lruvecs[lv].is_active(slot))
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let own = self.index(node, memcg);
        let v = &self.lruvecs[own];
        // The root's sizes are those of all groups.
        let ([anon, file], unevictable) = if memcg.0 == 0 {
            let n = usize::from(node.0);
            (self.halves[n], mem.lists.tally(self.unevictable[n]))
        } else {
            ([v.halves(ANON), v.halves(FILE)], mem.lists.len(v.unevictable))
        };
        let sizes = [anon[0], anon[1], file[0], file[1], unevictable];
        LruSnapshot {
            lists: crate::classic::LIST_NAMES.iter().map(|n| (*n).into()).zip(sizes).collect(),
            values: vec![
                ("max_seq".into(), v.max_seq),
                ("min_seq_anon".into(), v.min_seq[ANON]),
                ("min_seq_file".into(), v.min_seq[FILE]),
                ("evictions".into(), v.evictions.iter().sum()),
            ],
            generations: self.generations(mem, own),
        }
    }

    fn check(&self, mem: &Memory) {
        self.audit(mem);
    }

    fn digest(&self, mem: &Memory, d: &mut Digest) {
        mem.digest_walks(d);
        for v in &self.lruvecs {
            d.words([v.max_seq, v.min_seq[0], v.min_seq[1], v.evictions[0], v.mm.seq]);
            d.words([v.evictions[1]].into_iter().filter(|&n| n > 0));
            for r in &v.rates {
                d.words(r.avg_refaulted.into_iter().chain(r.avg_total));
            }
            d.words([v.mm.walked].into_iter().filter(|&seq| seq > v.mm.seq));
            d.words(v.mm.filters.words());
        }
    }
}

impl Mglru {
    /// The generations of an lruvec, oldest first, as `/sys/kernel/debug/lru_gen` has them.
    fn generations(&self, mem: &Memory, lv: usize) -> Vec<Generation> {
        let v = &self.lruvecs[lv];
        let oldest = v.min_seq[ANON].min(v.min_seq[FILE]);
        let size =
            |seq: u64, t: usize| if seq < v.min_seq[t] { 0 } else { v.size(slot_of(seq), t) };
        let one = |seq| Generation {
            seq,
            age: mem.now.since(v.birth[slot_of(seq)].min(mem.now)),
            anon: size(seq, ANON),
            file: size(seq, FILE),
        };
        (oldest..=v.max_seq).map(one).collect()
    }

    /// Panics, naming ids, if an invariant does not hold.
    fn audit(&self, mem: &Memory) {
        for (node, of_all) in self.halves.iter().enumerate() {
            let mut sum = [[0; 2]; 2];
            for v in &self.lruvecs[node * self.groups..(node + 1) * self.groups] {
                for t in [ANON, FILE] {
                    let of_group = v.halves(t);
                    (0..2).for_each(|i| sum[t][i] += of_group[i]);
                }
            }
            assert_eq!(*of_all, sum, "inactive and active pages of node{node} by type");
        }
        for (lv, v) in self.lruvecs.iter().enumerate() {
            let mut sizes = [[[0u64; ZONES]; 2]; MAX_NR_GENS];
            for t in [ANON, FILE] {
                let gens = v.nr_gens(t);
                let (from, to) = (MIN_NR_GENS, MAX_NR_GENS as u64);
                assert!((from..=to).contains(&gens), "lruvec {lv}: {gens} generations of type {t}");
            }
            if self.config.min_seq_coupling {
                assert!(v.min_seq[ANON] <= v.min_seq[FILE], "lruvec {lv}: file lags behind anon");
            }
            for (slot, rows) in v.lists.iter().enumerate() {
                for (row, zones) in rows.iter().enumerate() {
                    for (z, &list) in zones.iter().enumerate() {
                        for f in mem.lists.iter_from_tail(list) {
                            let bits = mem.frames.bits(f);
                            let t = type_of(bits);
                            let named = gen_of(bits)
                                .unwrap_or_else(|| panic!("{f} is listed and names no generation"));
                            assert!(bits & flag::ACTIVE == 0, "{f} is listed and active");
                            // As posted, what was refused may land among file pages.
                            let own = self.row(mem, f, t);
                            let astray = row == FILE && self.config.lazyfree == Lazyfree::ListV2;
                            assert!(own == row || own == LAZY && astray, "{f} is in row {row}");
                            assert_eq!(Self::zone_of(mem, f), z, "{f} is in another zone's list");
                            assert_eq!(self.lruvec_of(mem, f), lv, "{f} is another group's");
                            let behind = (v.max_seq + MAX_NR_GENS as u64 - named as u64) % 4;
                            assert!(
                                behind < v.nr_gens(t)
                                    || row == LAZY && self.config.lazyfree == Lazyfree::ListV2
                                    || t == ANON,
                                "{f} of type {t} names slot {named}, {behind} behind the youngest \
                                 of {}, and is on the list of slot {slot}",
                                v.nr_gens(t)
                            );
                            sizes[named][t][z] += pages_of(bits);
                        }
                    }
                }
            }
            assert_eq!(sizes, v.nr_pages, "lruvec {lv}: sizes of generations");
        }
    }
}
