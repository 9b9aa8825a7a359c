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
//! Kernels from 6.1 to 7.3, and the patch sets in between, are one mechanism with different
//! knobs ([`MglruConfig`]).
//!
//! - this file: the state, and what happens when a folio comes, goes or is used;
//! - `place`: the generation in which a folio starts;
//! - `rates`: refault rates and what follows from them;
//! - `aging`: walks of page tables, new generations;
//! - `scan`, `evict`: one step of eviction;
//! - `pass`: how much is evicted, who is next, when it is enough;
//! - `refault`: shadows and refaults;
//! - `memcg_lru`: the order of memory cgroups; `reparent`: pages of removed ones.
//!
//! Source: Linux 6.12 mm/vmscan.c, mm/workingset.c, mm/swap.c, include/linux/mm_inline.h, and the
//! versions and series that docs/policies.md names.

mod aging;
mod audit;
mod bloom;
pub mod config;
mod counts;
mod debugfs;
mod evict;
pub mod formulas;
mod lruvec;
mod memcg_lru;
mod moves;
mod pass;
pub mod place;
pub mod rates;
mod refault;
mod reparent;
mod scan;

pub use config::MglruConfig;
pub use lruvec::GenList;

use self::config::{AccessMarks, FaultArrival, Lazyfree, RefaultDistance};
use self::counts::AccessCounts;
use self::lruvec::{GEN_MASK, Lruvec, MmState, PerZone, gen_of, type_of};
use self::memcg_lru::{MemcgLru, Rotation};
use self::pass::Pass;
use self::refault::Packing;
use crate::classic::formulas::CostState;
use crate::index::{ANON, FILE, Gen, LruvecId, LruvecIds, MIN_NR_GENS, PerGen, PerType, Tier};
use crate::shrink::Work;
use mmsim_core::backing::Shadow;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{IndexArray, IndexVec, MemcgId, NodeId, TallyId};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{Memory, SettledFaults};
use mmsim_core::phys::frames::{FolioId, flag, pages_of};
use mmsim_core::policy::{
    Access, Arrival, ArrivalKind, Departure, Inspect, LruGenWritten, LruSnapshot, Move, PassStats,
    PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest, arrive_singly,
};

use mmsim_core::workload::LruGen;

/// MGLRU of a machine.
pub struct Mglru {
    config: MglruConfig,
    lruvecs: IndexVec<LruvecId, Lruvec>,
    /// `nr_inactive` and `nr_active` of a type with all memory cgroups.
    halves: IndexVec<NodeId, PerType<[u64; 2]>>,
    /// Unevictable pages with all memory cgroups.
    unevictable: IndexVec<NodeId, TallyId>,
    ids: LruvecIds,
    counts: AccessCounts,
    packing: Packing,
    /// Places in passes under way: of direct reclaimers, and of kswapd.
    passes: IndexVec<NodeId, [Option<Pass>; 2]>,
    memcg_lru: IndexVec<NodeId, MemcgLru>,
    /// kswapd is to age before it evicts (6.1).
    needs_aging: IndexVec<NodeId, bool>,
    /// `MIN_LRU_BATCH`, `MAX_LRU_BATCH` and `DEF_PRIORITY` of the machine's scale.
    min_batch: u64,
    max_batch: u64,
    first_priority: u8,
    /// log2 of the pages that a page of the machine stands for.
    scale_shift: u32,
    /// True if there is one list for each type and generation and nothing else to check.
    single: bool,
    /// Dirty file pages that the scans of a batch moved on: all, and those not queued for writing.
    bounced: PassStats,
    /// Pages that a step isolated.
    taken: u64,
    /// Scratch.
    work: Option<Box<Work>>,
    young: Vec<FolioId>,
    folios: Vec<FolioId>,
}

impl Mglru {
    /// [`Mglru::new`] as a machine takes it: its virtual calls are compiled here, with the
    /// optimization of this crate.
    pub fn boxed(config: MglruConfig, mem: &mut Memory, seed: u64) -> Box<dyn ReclaimPolicy> {
        Box::new(Self::new(config, mem, seed))
    }

    /// The generations of a machine with the memory `mem`.
    pub fn new(config: MglruConfig, mem: &mut Memory, seed: u64) -> Self {
        let nodes = mem.zones.nr_nodes();
        let ids = LruvecIds::new(mem.memcgs.len());
        let unevictable = IndexVec::from_fn(nodes, |_: NodeId| mem.lru.lists.create_tally(None));
        let lruvecs = IndexVec::from_fn(nodes * mem.memcgs.len(), |lv| {
            let node = NodeId(ids.place(lv));
            Lruvec {
                node,
                max_seq: MIN_NR_GENS + 1,
                min_seq: PerType::default(),
                birth: PerGen::default(),
                lists: PerGen::from_fn(|_| {
                    IndexArray::from_fn(|_| PerZone::from_fn(|_| mem.lru.lists.create()))
                }),
                unevictable: mem.lru.lists.create_in(unevictable[node]),
                nr_pages: PerGen::default(),
                rates: PerType::default(),
                mm: MmState::default(),
                cost: CostState::default(),
                evictions: PerType::default(),
            }
        });
        let single = lruvecs.len() == 1;
        let rng = Rng::for_purpose(seed, "policy/mglru");
        Mglru {
            config,
            lruvecs,
            halves: IndexVec::filled(nodes, PerType::default()),
            unevictable,
            ids,
            counts: AccessCounts::default(),
            packing: Packing::of(mem),
            passes: IndexVec::filled(nodes, [None, None]),
            memcg_lru: IndexVec::from_fn(nodes, |_| {
                MemcgLru::new(ids.nr_memcgs(), rng.clone(), |m| mem.memcgs.exists(m))
            }),
            needs_aging: IndexVec::filled(nodes, false),
            min_batch: (rates::MIN_LRU_BATCH >> mem.given.batch_shift).max(1),
            max_batch: (4096 >> mem.given.batch_shift).max(1),
            first_priority: mem.given.first_priority,
            scale_shift: mem.given.scale_shift,
            single,
            bounced: PassStats::default(),
            taken: 0,
            work: None,
            young: Vec::new(),
            folios: Vec::new(),
        }
    }

    /// The knobs.
    pub fn config(&self) -> &MglruConfig {
        &self.config
    }

    #[inline]
    fn lruvec_of(&self, mem: &Memory, folio: FolioId) -> LruvecId {
        if self.single {
            LruvecId(0)
        } else {
            self.ids.id(mem.node_of(folio).0, mem.frames.memcg(folio))
        }
    }

    #[inline]
    fn lruvec_at(&self, node: NodeId, memcg: MemcgId) -> LruvecId {
        self.ids.id(node.0, memcg)
    }

    #[inline]
    fn node_and_memcg(&self, lv: LruvecId) -> (NodeId, MemcgId) {
        (NodeId(self.ids.place(lv)), self.ids.memcg(lv))
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

    /// The largest count of accesses beyond those that flags tell (`LRU_REFS_MASK`).
    #[inline]
    fn most_counted(&self) -> u32 {
        (1 << self.config.refs_width) - 1
    }

    /// The last tier with a counter of its own.
    #[inline]
    fn last_tier(&self) -> Tier {
        Tier(self.config.nr_tiers as u8 - 1)
    }

    /// The tier of a folio (`lru_tier_from_refs`).
    #[inline]
    fn tier(&self, folio: FolioId, bits: u32) -> Tier {
        let tier = match self.config.access_marks {
            AccessMarks::Counted614 if bits & flag::WORKINGSET != 0 => Tier(3),
            // The first counted access is the second: one alone does not make a tier.
            AccessMarks::Counted614 => {
                let refs = self.refs(folio, bits);
                rates::tier_of(refs.saturating_sub(1))
            }
            AccessMarks::WorkingsetSecond => rates::tier_of(self.refs(folio, bits)),
        };
        tier.min(self.last_tier())
    }
}

/// Uses that core announces, and moves of listed folios on behalf of others.
impl Mglru {
    /// `mark_page_accessed`.
    fn marked(&mut self, mem: &mut Memory, folio: FolioId) {
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
                    self.counts.add(folio, self.most_counted(), mem.frames.len());
                }
            }
            AccessMarks::Counted614 => self.mark(mem, folio),
        }
    }

    /// A fault mapped a cached page of a file: the page that it is `about`, or a neighbour.
    fn file_mapped(&mut self, mem: &mut Memory, folio: FolioId, about: bool) {
        let activates = match self.config.fault_arrival {
            FaultArrival::Mapped => true,
            FaultArrival::Touched => about,
            FaultArrival::Active | FaultArrival::Marked => false,
        };
        if !activates {
            return;
        }
        // One that waits for its list enters it as active; one that is listed and waits in another
        // batch stays as it is, as for `folio_activate`.
        match mem.frames.bits(folio) & (flag::LRU | flag::IN_BATCH) {
            flag::IN_BATCH => mem.frames.set(folio, flag::ACTIVE),
            flag::LRU if !self.is_active(mem, folio) => self.activated(mem, folio),
            _ => {}
        }
    }

    fn activated(&mut self, mem: &mut Memory, folio: FolioId) {
        self.del(mem, folio);
        mem.activate_used(folio);
        self.add(mem, folio, false);
    }

    fn deactivated(&mut self, mem: &mut Memory, folio: FolioId) {
        if mem.frames.has(folio, flag::UNEVICTABLE) {
            return;
        }
        self.del(mem, folio);
        mem.deactivate(folio);
        self.add(mem, folio, false);
    }

    /// `lru_deactivate_file`. Since 6.14 a folio of the oldest generation stays where it is
    /// (`lru_gen_clear_refs`); here its marks go with its turn, in the kernel at the call.
    fn invalidated(&mut self, mem: &mut Memory, folio: FolioId) {
        if self.config.access_marks == AccessMarks::Counted614 {
            mem.frames.clear(folio, flag::REFERENCED | flag::WORKINGSET);
            self.counts.set(folio, 0);
            let lv = self.lruvec_of(mem, folio);
            let oldest = Gen::from_seq(self.lruvecs[lv].min_seq[FILE]);
            if gen_of(mem.frames.bits(folio)) == Some(oldest) {
                return;
            }
        }
        self.del(mem, folio);
        mem.deactivate(folio);
        let written_first = mem.goes_when_written(folio);
        self.add(mem, folio, !written_first);
    }

    fn freed_lazily(&mut self, mem: &mut Memory, folio: FolioId) {
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

    fn rotated(&mut self, mem: &mut Memory, folio: FolioId) {
        self.del(mem, folio);
        mem.frames.clear(folio, flag::ACTIVE);
        self.add(mem, folio, true);
        mem.count(VmEvent::PgRotated, 1);
    }
}

impl ReclaimPolicy for Mglru {
    #[inline]
    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        // The last one may be in the swap cache still, which decides where it starts.
        let cached = |&(folio, _): &(FolioId, Arrival)| mem.frames.has(folio, flag::SWAPCACHE);
        let (alike, last) =
            batch.split_at(batch.len() - usize::from(batch.last().is_some_and(cached)));
        if !self.young_anon_arrived(mem, alike) {
            arrive_singly(self, mem, alike);
        }
        arrive_singly(self, mem, last);
    }

    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        if how.in_fault == Some(true) {
            let bits = mem.frames.bits(folio);
            match self.config.fault_arrival {
                FaultArrival::Mapped | FaultArrival::Touched if bits & flag::SWAPBACKED == 0 => {}
                FaultArrival::Marked if bits & flag::WORKINGSET == 0 => {
                    if bits & flag::REFERENCED == 0 {
                        self.mark(mem, folio);
                    }
                }
                _ => mem.frames.set(folio, flag::ACTIVE),
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

    /// Refaults of a ledger differ in their shadows only, if these hold generations and no groups.
    fn faults_settled(&mut self, mem: &mut Memory, settled: &SettledFaults<'_>) {
        let alone = self.single && self.packing.is_narrow();
        let alike = alone && self.config.refault_distance == RefaultDistance::Off;
        if alike && settled.unseen(mem).is_some() {
            self.refaults_together(mem, settled);
            settled.all_came(mem, self);
        } else {
            settled.tell(mem, self);
        }
    }

    #[inline]
    fn folio_entering(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Option<Shadow>,
        how: Arrival,
    ) {
        if let Some(shadow) = shadow {
            self.refault(mem, folio, shadow, how);
        }
    }

    #[inline]
    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId, how: Access) {
        match how {
            Access::Marked => self.marked(mem, folio),
            Access::FileMapped => self.file_mapped(mem, folio, true),
            Access::MappedAround => self.file_mapped(mem, folio, false),
            Access::SwappedIn => {}
        }
    }

    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        if why == Move::Activated && self.anon_activated(mem, folios) {
            return;
        }
        for &folio in folios {
            match why {
                Move::Written => self.rotated(mem, folio),
                Move::Invalidated => self.invalidated(mem, folio),
                Move::Deactivated => self.deactivated(mem, folio),
                Move::FreedLazily => self.freed_lazily(mem, folio),
                Move::Activated => self.activated(mem, folio),
            }
        }
    }

    /// The pages take the place of the huge folio at the end of its generation's list where they
    /// are met next, and name the generation that it named.
    fn folio_split(&mut self, mem: &mut Memory, folio: FolioId) {
        let list = mem.lru.lists.list_of(folio);
        let (lv, zone) = (self.lruvec_of(mem, folio), Self::zone_of(mem, folio));
        let bits = mem.frames.bits(folio);
        mem.lru_del(folio);
        let pages = self.split(mem, folio);
        if let Some(generation) = gen_of(bits) {
            // Pages that were unmapped before are in no generation any more.
            let gone = pages_of(bits) - pages.len() as u64;
            self.shrink_gen(lv, generation, type_of(bits), zone, gone);
        }
        for page in pages.into_iter().rev() {
            mem.lru_add_tail(list, page);
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

    fn age_node(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        self.age_by_kswapd(mem, req)
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        self.run_pass(mem, req)
    }

    fn write_lru_gen(&mut self, mem: &mut Memory, write: LruGen) -> LruGenWritten {
        self.written(mem, write)
    }

    fn memcg_online(&mut self, _mem: &mut Memory, memcg: MemcgId) {
        self.memcg_lru.iter_mut().for_each(|order| order.enter(memcg));
    }

    fn memcg_offline(&mut self, mem: &mut Memory, memcg: MemcgId, heir: Option<MemcgId>) {
        match heir {
            Some(heir) => {
                self.set_aside();
                self.append_generations(mem, memcg, heir);
            }
            None => {
                self.memcg_lru.iter_mut().for_each(|order| order.rotate(memcg, Rotation::Old));
            }
        }
    }

    fn set_aside(&mut self) {
        self.passes.iter_mut().for_each(|p| *p = [None, None]);
    }

    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        let _ = (mem, limit);
        self.needs_aging[node] = false;
    }
}

impl Inspect for Mglru {
    #[inline]
    fn traits(&self) -> PolicyTraits {
        PolicyTraits { faults_together: true, ..PolicyTraits::default() }
    }

    fn inactive(&self, _mem: &Memory, node: NodeId) -> [u64; 2] {
        let [anon, file] = *self.halves[node].raw();
        [anon[0], file[0]]
    }

    fn is_active(&self, mem: &Memory, folio: FolioId) -> bool {
        let lv = self.lruvec_of(mem, folio);
        gen_of(mem.frames.bits(folio))
            .is_some_and(|generation| self.lruvecs[lv].is_active(generation))
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let own = self.lruvec_at(node, memcg);
        let v = &self.lruvecs[own];
        // The root's sizes are those of all memory cgroups.
        let ([anon, file], unevictable) = if memcg.0 == 0 {
            (*self.halves[node].raw(), mem.lru.lists.tally(self.unevictable[node]))
        } else {
            ([v.halves(ANON), v.halves(FILE)], mem.lru.lists.len(v.unevictable))
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
        for v in self.lruvecs.iter() {
            let [anon, file] = *v.min_seq.raw();
            d.words([v.max_seq, anon, file, v.evictions[ANON], v.mm.seq]);
            d.words([v.evictions[FILE]].into_iter().filter(|&n| n > 0));
            d.words(v.cost.cost.iter().copied().filter(|&n| n > 0));
            for r in v.rates.iter() {
                d.words(r.avg_refaulted.iter().chain(r.avg_total.iter()).copied());
            }
            d.words([v.mm.walked].into_iter().filter(|&seq| seq > v.mm.seq));
            d.words(v.mm.filters.words());
        }
    }
}
