//! The classic LRU: an active and an inactive list for each type of memory.
//!
//! ```text
//!                     head        inactive list        tail
//!   new anon (5.9 on)  |  +--------------------------+  |   `shrink_inactive`
//!   new file  -------->+->|  .  .  .  .  .  .  .  .  |--+--> not accessed: evicted,
//!   refault, too far   ^  +--------------------------+  |    leaves a shadow with the age
//!                      |           ^             |      |
//!                      |   demoted |             |      +--> accessed: another round, at the head,
//!                      |           |             | promoted  or promoted (`anon_ref_rule`)
//!                      |           |             v
//!                      |  +--------------------------+
//!   new anon (to 5.8) -+->|  .  .  .  .  .  .  .  .  |--+--> `shrink_active`: demoted
//!   refault, near enough  +--------------------------+  |
//!                     head         active list         tail
//! ```
//!
//! Scans alone see accessed bits. The scan of the inactive list gives an accessed page another round
//! or promotes it; the scan of the active list demotes. How much of which list is scanned follows
//! from sizes, from what scanning cost lately, and from swappiness.
//!
//! An evicted page leaves the age of its list behind. When it comes back, the distance between then
//! and now says whether a little more memory would have kept it. If so it is promoted.
//!
//! Kernels from 5.5 to 6.12, and every step between them, are one mechanism with different knobs
//! ([`ClassicConfig`]).
//!
//! - this file: the state, and what happens when a folio comes, goes or is used;
//! - `config`: the knobs; `formulas`: the arithmetic;
//! - `ask`: calls of choosers of groups, ahead of the scans;
//! - `pass`: one pass over a node: what to scan, in which order;
//! - `scan`: the scans of an inactive and of an active list;
//! - `levels`: sizes and costs of a memory cgroup with those below it; `stale`: as old as the kernel's;
//! - `uses`: uses that core announces; `workingset`: ages, shadows, refaults;
//! - `lazyfree`: a list for lazily freed memory, if it has one of its own; `pool`: a pool of
//!   easily reclaimed memory.
//!
//! Source: Linux 6.12 mm/vmscan.c, mm/swap.c, mm/workingset.c, and the older versions that
//! docs/policies.md names. Left out: isolation limits, since a batch is one atomic step here.

mod ask;
pub mod config;
pub mod formulas;
mod lazyfree;
mod levels;
mod looks;
mod pass;
mod pool;
mod scan;
mod stale;
mod uses;
mod workingset;

use crate::index::{ANON, FILE, LruType, LruvecId, LruvecIds, PerType};
use crate::shrink::Work;
use ask::Asked;
use config::{BalanceModel, ClassicConfig, InactiveRatioScope, NewAnonRotated};
use formulas::{CostState, PerList, RotateStat};
use lazyfree::OwnLists;
use mmsim_core::backing::Shadow;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{IndexVec, ListId, MemcgId, NodeId, PageIdx, TallyId, ZoneId};
use mmsim_core::base::rules::MemcgStats;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{Memory, SettledFaults};
use mmsim_core::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag};
use mmsim_core::policy::chooser::{AdmitAsk, ChooserResult, FileChooser};
use mmsim_core::policy::{
    Access, Arrival, ArrivalKind, Departure, Inspect, LruSnapshot, Move, PolicyTraits,
    ReclaimOutcome, ReclaimPolicy, ReclaimRequest, SWAP_CLUSTER_MAX, arrive_singly,
    reparent_singly,
};
use mmsim_core::typed_index;
use pass::Pass;
use pool::Pool;
use scan::Judging;
use stale::Stale;
use std::ops::RangeInclusive;
use workingset::Packing;

/// Names of the lists, as `/proc/vmstat` counts them.
pub const LIST_NAMES: [&str; 5] =
    ["nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file", "nr_unevictable"];
const UNEVICTABLE: usize = 4;

typed_index!(
    /// Owner of LRU lists: a node, in 4.1 a zone.
    LruScope(u8), "scope");

/// The lists of one scope and memory cgroup, with what reclaim remembers about them.
#[derive(Clone, Debug)]
struct Lruvec {
    lists: [ListId; 5],
    /// Sizes of the lists with those of the memory cgroups below, if there are any.
    tallies: Option<[TallyId; 5]>,
    /// The lruvec of the memory cgroup above. That of the root is its own.
    above: LruvecId,
    rotate: RotateStat,
    cost: CostState,
    /// Ages; the unified model uses that of anonymous memory.
    age: PerType<u64>,
    /// Refaults that were activated, per type, unless they are counted for the node.
    activations: PerType<u64>,
    /// Their visible values at the end of the last reclaim.
    snapshot: PerType<u64>,
}

/// The classic LRU of a machine.
pub struct Classic {
    config: ClassicConfig,
    lruvecs: IndexVec<LruvecId, Lruvec>,
    /// Sizes of the lists of all memory cgroups.
    tallies: IndexVec<LruScope, [TallyId; 5]>,
    /// Lists of lazily freed memory, if it is not among file pages.
    own: Option<OwnLists>,
    pool: Option<Pool>,
    ids: LruvecIds,
    /// Scopes are zones, and not nodes.
    by_zone: bool,
    /// Pages that one scan takes (`SWAP_CLUSTER_MAX`).
    cluster: u64,
    /// Places in passes under way: of direct reclaimers, and of kswapd.
    passes: IndexVec<NodeId, [Option<Box<Pass>>; 2]>,
    /// The memory of one that has ended, for the next.
    ended: Option<Box<Pass>>,
    /// Set while a batch of arrivals is counted as rotated by mistake (`forced-leaky`).
    leaking: bool,
    /// Pages deactivated on advice.
    advised: u64,
    judging: Judging,
    /// Scratch of scans, taken out while one is under way.
    work: Option<Box<Work>>,
    /// Pages that a scan found accessed, where their neighbours are looked at.
    accessed: Vec<PageIdx>,
    /// Arrivals on their way to the inactive and to the active list.
    back: [Vec<FolioId>; 2],
    packing: Packing,
    /// Choosers of groups; empty if there are none.
    choosers: IndexVec<MemcgId, Option<Box<Asked>>>,
    /// Statistics of groups as of the last flush; `None`: they are exact.
    stale: Option<Stale>,
}

impl Classic {
    /// [`Classic::new`] as a machine takes it: its virtual calls are compiled here, with the
    /// optimization of this crate.
    pub fn boxed(config: ClassicConfig, mem: &mut Memory) -> Box<dyn ReclaimPolicy> {
        Box::new(Self::new(config, mem))
    }

    /// The lists of a machine with the memory `mem`.
    pub fn new(config: ClassicConfig, mem: &mut Memory) -> Self {
        let nodes = mem.zones.nr_nodes();
        let ids = LruvecIds::new(mem.memcgs.len());
        let by_zone = mem.zones.lru_by_zone();
        let scopes = if by_zone { mem.zones.ids().count() } else { nodes };
        let lruvecs = levels::lruvecs(mem, ids, scopes);
        let tallies = IndexVec::from_fn(scopes, |scope: LruScope| {
            lruvecs[ids.id(scope.0, MemcgId(0))].tallies.expect("the root has sizes of all")
        });
        let own = OwnLists::of(config.lazyfree, &lruvecs, mem);
        let pool = Pool::of(&lruvecs, mem);
        let delayed = mem.given.rules.memcg_stats == MemcgStats::Kernel;
        let by_target = config.inactive_ratio_scope == InactiveRatioScope::Target;
        let stale = (delayed && by_target && !ids.only_root()).then(|| Stale::new(lruvecs.len()));
        Classic {
            config,
            own,
            pool,
            lruvecs,
            tallies,
            ids,
            by_zone,
            cluster: (SWAP_CLUSTER_MAX >> mem.given.batch_shift).max(1),
            passes: IndexVec::filled(nodes, [None, None]),
            ended: None,
            leaking: false,
            advised: 0,
            judging: Judging::new(config.anon_ref_rule),
            work: None,
            accessed: Vec::new(),
            back: [Vec::new(), Vec::new()],
            packing: Packing::of(mem),
            choosers: IndexVec::new(),
            stale,
        }
    }

    /// The knobs.
    pub fn config(&self) -> &ClassicConfig {
        &self.config
    }

    #[inline]
    fn lruvec_at(&self, scope: LruScope, memcg: MemcgId) -> LruvecId {
        self.ids.id(scope.0, memcg)
    }

    #[inline]
    fn scope_of(&self, mem: &Memory, folio: FolioId) -> LruScope {
        let zone = mem.zones.of(folio);
        LruScope(if self.by_zone { zone.0 } else { mem.zones[zone].node.0 })
    }

    fn scope_of_lruvec(&self, lv: LruvecId) -> LruScope {
        LruScope(self.ids.place(lv))
    }

    fn node_of(&self, mem: &Memory, scope: LruScope) -> NodeId {
        if self.by_zone { mem.zones[ZoneId(scope.0)].node } else { NodeId(scope.0) }
    }

    /// The scopes of a node, from the lowest on.
    fn scopes_of(&self, mem: &Memory, node: NodeId) -> RangeInclusive<u8> {
        match mem.zones.of_node(node) {
            [first, .., last] if self.by_zone => first.0..=last.0,
            [only] if self.by_zone => only.0..=only.0,
            _ => node.0..=node.0,
        }
    }

    #[inline]
    fn lruvec_of(&self, mem: &Memory, folio: FolioId) -> LruvecId {
        self.lruvec_at(self.scope_of(mem, folio), mem.frames.memcg(folio))
    }

    /// The lruvec of all folios of a batch, if it is one.
    #[inline]
    fn common_lruvec(
        &self,
        mem: &Memory,
        mut folios: impl Iterator<Item = FolioId>,
    ) -> Option<LruvecId> {
        if self.lruvecs.len() == 1 {
            return Some(LruvecId(0));
        }
        let lv = self.lruvec_of(mem, folios.next()?);
        folios.all(|f| self.lruvec_of(mem, f) == lv).then_some(lv)
    }

    /// The list that a folio's flags put it on.
    #[inline]
    fn list_index(mem: &Memory, folio: FolioId) -> usize {
        let bits = mem.frames.bits(folio);
        if bits & flag::UNEVICTABLE != 0 {
            UNEVICTABLE
        } else {
            2 * usize::from(bits & flag::SWAPBACKED == 0) + usize::from(bits & flag::ACTIVE != 0)
        }
    }

    /// Puts a folio at the head of the list that its flags name.
    #[inline]
    fn add_head(&mut self, mem: &mut Memory, folio: FolioId) {
        let lv = self.lruvec_of(mem, folio);
        self.add_head_of(mem, lv, folio);
    }

    /// The same for a folio that is known to belong to `lv`.
    #[inline(always)]
    fn add_head_of(&mut self, mem: &mut Memory, lv: LruvecId, folio: FolioId) {
        mem.cull(folio);
        if self.own.is_some()
            && let Some(list) = self.own_list_of(mem, lv, folio)
        {
            mem.lru_add_head(list, folio);
            return;
        }
        let l = Self::list_index(mem, folio);
        mem.lru_add_head(self.lruvecs[lv].lists[l], folio);
    }

    /// Puts a batch of anonymous folios on their lists, each list's at once. False, and
    /// nothing done: the batch is not all of them, or something is noted for each.
    fn anon_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) -> bool {
        let rotates = self.config.balance_model == BalanceModel::Rotate;
        // The judgement of one folio of a batch may depend on those before it.
        let leaky = rotates && self.config.new_anon_rotated == NewAnonRotated::ForcedLeaky;
        if leaky || mem.given.slow_paths {
            return false;
        }
        let Some(lv) = self.common_lruvec(mem, batch.iter().map(|&(f, _)| f)) else { return false };
        let (every, any) = batch.iter().fold((u32::MAX, 0), |(every, any), &(folio, _)| {
            let bits = mem.frames.bits(folio);
            (every & bits, any | bits)
        });
        let odd = flag::MLOCKED | flag::UNEVICTABLE | ORDER_MASK;
        if every & flag::SWAPBACKED == 0 || any & odd != 0 {
            return false;
        }
        let is_active = |mem: &Memory, f| mem.frames.has(f, flag::ACTIVE);
        if rotates {
            let forced = |how: Arrival| match self.config.new_anon_rotated {
                NewAnonRotated::ByActive | NewAnonRotated::ForcedLeaky => false,
                NewAnonRotated::Forced => how.kind == ArrivalKind::New,
                NewAnonRotated::AllAnon => true,
            };
            let rotated = batch.iter().filter(|&&(f, how)| forced(how) || is_active(mem, f));
            let rotated = rotated.count() as u64;
            self.note_rotated(lv, false, batch.len() as u64, rotated);
        }
        let [inactive, active] = self.lists_of_type(lv, false);
        if any & flag::ACTIVE == 0 {
            // Nearly always.
            mem.lru_arrive_together(inactive, batch);
        } else {
            for &(folio, _) in batch {
                self.back[usize::from(is_active(mem, folio))].push(folio);
            }
            for (list, folios) in [inactive, active].into_iter().zip(&mut self.back) {
                mem.lru_arrive_heads(list, folios);
                folios.clear();
            }
        }
        mem.tell_of_insertions(batch, "anon");
        true
    }

    /// A type's scanning or arrivals in the rotate model.
    fn note_rotated(&mut self, lv: LruvecId, file: bool, scanned: u64, rotated: u64) {
        if self.config.balance_model == BalanceModel::Rotate {
            self.lruvecs[lv].rotate.add(LruType::of(file), scanned, rotated);
        }
    }
}

/// Sizes of lists on the machine that a miniature stands for.
// Written out: `map` of an array is a call.
fn scaled([a, b, c, d]: PerList, shift: u32) -> PerList {
    [a << shift, b << shift, c << shift, d << shift]
}

impl ReclaimPolicy for Classic {
    #[inline(always)] // For `faults_settled`.
    fn folio_entering(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Option<Shadow>,
        how: Arrival,
    ) {
        use config::AnonStart;
        if let Some(shadow) = shadow {
            self.refault(mem, folio, shadow);
        }
        match how.kind {
            ArrivalKind::New if self.config.anon_start == AnonStart::Active => {
                mem.frames.set(folio, flag::ACTIVE);
            }
            ArrivalKind::SwapIn => {
                // Only pages that come through the swap cache: a synchronous device's do not.
                if self.config.swapin_sets_workingset && mem.frames.has(folio, flag::SWAPCACHE) {
                    mem.frames.set(folio, flag::WORKINGSET);
                }
                if self.config.balance_model == BalanceModel::Cost58 {
                    let lv = self.lruvec_of(mem, folio);
                    self.note_cost(mem, lv, false, 1, 0);
                }
            }
            _ => {}
        }
    }

    fn memcg_offline(&mut self, mem: &mut Memory, memcg: MemcgId, heir: Option<MemcgId>) {
        let Some(heir) = heir else { return };
        self.passes.iter_mut().for_each(|p| *p = [None, None]);
        if self.own.is_some() || self.pool.is_some() {
            reparent_singly(self, mem, memcg, heir);
        } else {
            self.append_lists(mem, memcg, heir);
        }
    }

    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        let file = mem.frames.is_file_lru(folio);
        if self.config.balance_model == BalanceModel::Rotate {
            let lv = self.lruvec_of(mem, folio);
            let active = mem.frames.has(folio, flag::ACTIVE);
            let new_anon = how.kind == ArrivalKind::New && !file;
            let forced = match self.config.new_anon_rotated {
                NewAnonRotated::ByActive => false,
                NewAnonRotated::Forced => new_anon,
                NewAnonRotated::ForcedLeaky => {
                    self.leaking = new_anon || self.leaking && how.position > 0;
                    self.leaking
                }
                NewAnonRotated::AllAnon => !file,
            };
            let pages = mem.frames.pages(folio);
            self.note_rotated(lv, file, pages, u64::from(active || forced) * pages);
        }
        self.add_head(mem, folio);
        mem.emit(|| TraceEvent::MmLruInsertion {
            pfn: folio,
            lru: if file { "file" } else { "anon" },
        });
    }

    #[inline]
    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        if !self.anon_arrived(mem, batch) {
            arrive_singly(self, mem, batch);
        }
    }

    #[inline]
    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId, how: Access) {
        if self.pool.is_some() {
            self.used_of_pool(mem, folio);
        }
        match how {
            Access::Marked => self.marked(mem, folio),
            Access::SwappedIn if self.config.swapin_activate => mem.lru_activate(self, folio),
            Access::SwappedIn | Access::FileMapped | Access::MappedAround => {}
        }
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    /// Refaults of a ledger differ in their shadows only, unless each of them costs something, is
    /// activated anyway, or has a group or zone of its own.
    fn faults_settled(&mut self, mem: &mut Memory, settled: &SettledFaults<'_>) {
        let alike = self.config.balance_model != BalanceModel::Cost58
            && !self.config.swapin_activate
            && self.ids.only_root()
            && !self.by_zone;
        match settled.unseen(mem).filter(|_| alike) {
            Some((pending, folios)) => {
                self.refaults_together(mem, pending, folios, settled.entry());
                settled.all_came(mem, self);
            }
            None => settled.tell(mem, self),
        }
    }

    fn folios_move(&mut self, mem: &mut Memory, folios: &[FolioId], why: Move) {
        for &folio in folios {
            match why {
                Move::Written => self.written(mem, folio),
                Move::Invalidated => self.invalidated(mem, folio),
                Move::Deactivated => self.deactivated(mem, folio),
                Move::FreedLazily => self.freed_lazily(mem, folio),
                Move::Activated => self.activated(mem, folio),
            }
        }
    }

    /// The pages take the place of the huge folio at the end of its list where they are met next.
    fn folio_split(&mut self, mem: &mut Memory, folio: FolioId) {
        let list = mem.lru.lists.list_of(folio);
        mem.lru_del(folio);
        for page in mem.split_frames(folio).into_iter().rev() {
            mem.lru_add_tail(list, page);
        }
    }

    fn reclaim_list(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore_references: bool,
    ) -> u64 {
        self.reclaim_taken(mem, folios, ignore_references)
    }

    fn age_node(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        self.walk_tables(mem, req);
        for scope in self.scopes_of(mem, req.node).map(LruScope) {
            if !mem.has_swap() {
                continue;
            }
            let all_low = self.inactive_anon_is_low(mem, scope, MemcgId(0));
            let mut walk = mem.memcgs.walk_all(MemcgId(0));
            while let Some(memcg) = mem.memcgs.next_group(&mut walk) {
                let lv = self.lruvec_at(scope, memcg);
                let low = match self.config.inactive_ratio_scope {
                    InactiveRatioScope::Target => all_low,
                    InactiveRatioScope::Lruvec => self.inactive_anon_is_low(mem, scope, memcg),
                };
                if low {
                    self.shrink_active(mem, lv, false, self.cluster, req);
                }
            }
        }
        false
    }

    fn memory_stat_read(&mut self, mem: &Memory) {
        self.flush_groups(mem);
    }

    fn attach_chooser(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        chooser: Box<dyn FileChooser>,
    ) -> bool {
        self.attach(mem, memcg, chooser);
        true
    }

    fn tell_chooser(&mut self, mem: &mut Memory, memcg: MemcgId) {
        self.tell(mem, memcg);
    }

    fn admits(&mut self, mem: &mut Memory, ask: &AdmitAsk) -> bool {
        self.admit(mem, ask)
    }

    fn set_aside(&mut self) {
        self.passes.iter_mut().for_each(|p| *p = [None, None]);
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        self.run_pass(mem, req)
    }

    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        self.flush_stats(mem);
        let own = self.config.inactive_ratio_scope == InactiveRatioScope::Lruvec;
        let all = own && limit.is_none();
        let memcg = limit.unwrap_or(MemcgId(0));
        for scope in self.scopes_of(mem, node).map(LruScope) {
            if !all {
                let i = self.lruvec_at(scope, memcg);
                self.lruvecs[i].snapshot = self.activations(mem, scope, memcg);
                continue;
            }
            for memcg in self.ids.memcgs() {
                let i = self.lruvec_at(scope, memcg);
                self.lruvecs[i].snapshot = self.activations(mem, scope, memcg);
            }
        }
    }
}

impl Inspect for Classic {
    #[inline]
    fn traits(&self) -> PolicyTraits {
        use VmEvent::{WorkingsetActivateAnon, WorkingsetRefaultAnon, WorkingsetRestoreAnon};
        // Before anonymous pages left shadows there was nothing to find their refaults by.
        let keeps: fn(VmEvent) -> bool = match self.config.anon_workingset {
            true => |_| true,
            false => |event| {
                !matches!(
                    event,
                    WorkingsetRefaultAnon | WorkingsetActivateAnon | WorkingsetRestoreAnon
                )
            },
        };
        PolicyTraits { faults_together: true, plain_departures: true, keeps }
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let scopes = || self.scopes_of(mem, node).map(LruScope);
        let mut sizes = [0; 5];
        for of_scope in scopes().map(|a| self.list_sizes(mem, a, memcg)) {
            (0..5).for_each(|l| sizes[l] += of_scope[l]);
        }
        let of = |f: fn(&Lruvec) -> u64| {
            scopes().map(|a| f(&self.lruvecs[self.lruvec_at(a, memcg)])).sum()
        };
        let mut lists: Vec<_> = LIST_NAMES.iter().map(|n| (*n).into()).zip(sizes).collect();
        lists.extend(self.further_lists(mem, node, memcg));
        LruSnapshot {
            lists,
            values: vec![
                ("age_anon".into(), of(|v| v.age[ANON])),
                ("age_file".into(), of(|v| v.age[FILE])),
                ("anon_cost".into(), of(|v| v.cost.cost[ANON])),
                ("file_cost".into(), of(|v| v.cost.cost[FILE])),
                ("recent_scanned_anon".into(), of(|v| v.rotate.scanned[ANON])),
                ("recent_scanned_file".into(), of(|v| v.rotate.scanned[FILE])),
                ("recent_rotated_anon".into(), of(|v| v.rotate.rotated[ANON])),
                ("recent_rotated_file".into(), of(|v| v.rotate.rotated[FILE])),
            ],
            generations: Vec::new(),
        }
    }

    fn inactive(&self, mem: &Memory, node: NodeId) -> [u64; 2] {
        let mut inactive = [0; 2];
        for scope in self.scopes_of(mem, node).map(LruScope) {
            let [anon, _, file, ..] = self.list_sizes(mem, scope, MemcgId(0));
            inactive[0] += anon;
            inactive[1] += file;
        }
        inactive[1] += self.further_lists(mem, node, MemcgId(0)).map(|l| l.1).sum::<u64>();
        inactive
    }

    fn has_lazyfree_list(&self) -> bool {
        self.own.is_some()
    }

    fn has_easy_pool(&self) -> bool {
        self.pool.is_some()
    }

    fn choosers(&self, mem: &Memory) -> Vec<ChooserResult> {
        self.chooser_results(mem)
    }

    fn check(&self, mem: &Memory) {
        for ChooserResult { name, counts, .. } in self.chooser_results(mem) {
            counts.check(&name);
        }
        for (lv, lruvec) in self.lruvecs.pairs() {
            let (scope, memcg) = (self.scope_of_lruvec(lv), self.ids.memcg(lv));
            for (l, &tally) in lruvec.tallies.iter().flatten().enumerate() {
                let lists = |m| self.lruvecs[self.lruvec_at(scope, m)].lists;
                let below = mem.memcgs.tree.walk(memcg).map(|m| mem.lru.lists.len(lists(m)[l]));
                assert_eq!(
                    mem.lru.lists.tally(tally),
                    below.sum::<u64>(),
                    "{} of {memcg} and below",
                    LIST_NAMES[l]
                );
            }
        }
        for (i, lv) in self.lruvecs.pairs() {
            for (l, &list) in lv.lists.iter().enumerate() {
                for f in mem.lru.lists.iter_from_tail(list) {
                    assert_eq!(
                        Self::list_index(mem, f),
                        l,
                        "{f} is on {} by its list",
                        LIST_NAMES[l]
                    );
                    assert_eq!(self.lruvec_of(mem, f), i, "{f} is on another memcg's list");
                    let kind = mem.frames.kind(f);
                    assert!(
                        matches!(kind, FrameKind::Anon | FrameKind::File | FrameKind::Shmem),
                        "{f} is listed and {kind:?}"
                    );
                }
            }
        }
        self.check_lazyfree(mem);
        self.check_pool(mem);
        let s = &mem.stats.vmstat;
        if s[VmEvent::SimLruGenWrites] > 0 {
            // MGLRU may have counted as well, by rules of its own. So no write to lru_gen, not even of
            // min_ttl_ms, leaves these two laws audited.
            return;
        }
        // Advice deactivates without a scan.
        let scanned = s[VmEvent::PgRefill] + self.advised;
        assert!(s[VmEvent::PgDeactivate] <= scanned || !self.ids.only_root());
        for (r, a, t) in [
            (
                VmEvent::WorkingsetRestoreAnon,
                VmEvent::WorkingsetActivateAnon,
                VmEvent::WorkingsetRefaultAnon,
            ),
            (
                VmEvent::WorkingsetRestoreFile,
                VmEvent::WorkingsetActivateFile,
                VmEvent::WorkingsetRefaultFile,
            ),
        ] {
            assert!(s[r] <= s[a] && s[a] <= s[t], "{r:?} <= {a:?} <= {t:?}");
        }
    }

    fn digest(&self, _mem: &Memory, d: &mut Digest) {
        for lv in self.lruvecs.iter() {
            d.words(lv.age.iter().chain(lv.cost.cost.iter()).chain(lv.activations.iter()).copied());
            d.words(lv.cost.pending.iter().copied().filter(|&n| n > 0));
            d.words(lv.cost.unseen.iter().copied().filter(|&n| n > 0));
            d.words(lv.rotate.scanned.iter().chain(lv.rotate.rotated.iter()).copied());
        }
    }
}
