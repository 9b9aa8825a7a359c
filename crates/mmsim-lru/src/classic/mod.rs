//! The classic LRU: an active and an inactive list for each type of memory.
//!
//! Pages enter at the head and leave at the tail. What is on the inactive list is about
//! to be evicted, what is on the active list was used more than once. Accessed bits are
//! only seen by scans: the scan of the inactive list gives a page that was touched another
//! round or promotes it, the scan of the active list demotes. How much of which list is
//! scanned follows from sizes, from what scanning cost lately, and from swappiness. An
//! evicted page leaves the age of its list behind; when it comes back, the distance between
//! then and now says whether a little more memory would have kept it, and it is promoted.
//!
//! Five kernels between 5.5 and 6.12, and every step between them, are one mechanism with
//! different knobs ([`ClassicConfig`]).
//!
//! - this file: the state, and what happens when a folio comes, goes or is used;
//! - `pass`: one pass over a node: what to scan, in which order;
//! - `scan`: the scans of an inactive and of an active list;
//! - `workingset`: ages, shadows, refaults.
//!
//! Source: Linux 6.12 mm/vmscan.c, mm/swap.c, mm/workingset.c, and the older versions that
//! docs/policies.md names. Left out: limits on the number of shadow nodes (they are rarely met), and
//! isolation limits (a batch is one atomic step here).

mod pass;
mod scan;
mod workingset;

use crate::config::{BalanceModel, ClassicConfig, LazyfreePlace, NewAnonRotated};
use crate::formulas::{self, CostState, PerList, RotateStat, cost612};
use mmsim_core::backing::Shadow;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{ListId, MemcgId, NodeId, SwapSlot, TallyId, ZoneId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{FastPath, Look, Memory, Verdicts};
use mmsim_core::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag};
use mmsim_core::policy::{
    Arrival, ArrivalKind, Departure, LruSnapshot, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
    arrive_singly,
};
use pass::Pass;
use std::ops::RangeInclusive;
use workingset::Packing;

/// Names of the lists, as `/proc/vmstat` counts them.
pub const LIST_NAMES: [&str; 5] =
    ["nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file", "nr_unevictable"];
const UNEVICTABLE: usize = 4;

/// What has lists of its own: a node, or in 4.1 a zone; the number of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Area(u8);

/// The lists of one area and group, with what reclaim remembers about them.
#[derive(Clone, Debug)]
struct Lruvec {
    lists: [ListId; 5],
    rotate: RotateStat,
    cost: CostState,
    /// Ages; the unified model uses the first.
    age: [u64; 2],
    /// Refaults that were activated, per type, unless they are counted for the node.
    activations: [u64; 2],
    /// What could be seen of them at the end of the last reclaim.
    snapshot: [u64; 2],
}

/// The classic LRU of a machine.
pub struct Classic {
    config: ClassicConfig,
    lruvecs: Vec<Lruvec>,
    /// Sizes of the lists of all groups, per area.
    tallies: Vec<[TallyId; 5]>,
    groups: usize,
    /// Zones are areas, and not nodes.
    by_zone: bool,
    /// Pages that one scan takes (`SWAP_CLUSTER_MAX`).
    cluster: u64,
    /// Places in passes under way: per node, one for direct reclaimers, one for kswapd.
    passes: Vec<Option<Pass>>,
    /// Where the next partial walk over groups starts, per area.
    walk: Vec<usize>,
    /// Set while a batch of arrivals is counted as rotated by mistake (`forced-leaky`).
    leaking: bool,
    /// Pages deactivated on advice.
    advised: u64,
    inactive_verdicts: Verdicts,
    /// Scratch of scans: what was taken, what takes the fast path, what goes back (to the
    /// inactive list, to the active one).
    looks: Vec<Look>,
    short: FastPath,
    slots: Vec<SwapSlot>,
    back: [Vec<FolioId>; 2],
    packing: Packing,
}

impl Classic {
    /// The lists of a machine with the memory `mem`.
    pub fn new(config: ClassicConfig, mem: &mut Memory) -> Self {
        let nodes = mem.zones.nr_nodes();
        let groups = mem.memcgs.len();
        let by_zone = mem.zones.lru_by_zone();
        let areas = if by_zone { mem.zones.ids().count() } else { nodes };
        let tallies: Vec<[TallyId; 5]> =
            (0..areas).map(|_| std::array::from_fn(|_| mem.lists.create_tally())).collect();
        let lruvecs = (0..areas * groups)
            .map(|lv| Lruvec {
                lists: tallies[lv / groups].map(|t| mem.lists.create_in(t)),
                rotate: RotateStat::default(),
                cost: CostState::default(),
                age: [0; 2],
                activations: [0; 2],
                snapshot: [0; 2],
            })
            .collect();
        Classic {
            config,
            lruvecs,
            tallies,
            groups,
            by_zone,
            cluster: (formulas::SWAP_CLUSTER_MAX >> mem.batch_shift).max(1),
            passes: vec![None; 2 * nodes],
            walk: vec![0; areas],
            leaking: false,
            advised: 0,
            inactive_verdicts: scan::inactive_verdicts(config.anon_ref_rule),
            looks: Vec::new(),
            short: FastPath::default(),
            slots: Vec::new(),
            back: [Vec::new(), Vec::new()],
            packing: Packing::of(mem),
        }
    }

    /// The knobs.
    pub fn config(&self) -> &ClassicConfig {
        &self.config
    }

    #[inline]
    fn index(&self, area: Area, memcg: MemcgId) -> usize {
        area.0 as usize * self.groups + memcg.0 as usize
    }

    #[inline]
    fn area_of(&self, mem: &Memory, folio: FolioId) -> Area {
        let zone = mem.zones.of(folio);
        Area(if self.by_zone { zone.0 } else { mem.zones[zone].node.0 })
    }

    fn area_of_lruvec(&self, lv: usize) -> Area {
        Area((lv / self.groups) as u8)
    }

    fn node_of(&self, mem: &Memory, area: Area) -> NodeId {
        if self.by_zone { mem.zones[ZoneId(area.0)].node } else { NodeId(area.0) }
    }

    /// The areas of a node, from the lowest on.
    fn areas_of(&self, mem: &Memory, node: NodeId) -> RangeInclusive<u8> {
        match mem.zones.of_node(node) {
            [first, .., last] if self.by_zone => first.0..=last.0,
            [only] if self.by_zone => only.0..=only.0,
            _ => node.0..=node.0,
        }
    }

    #[inline]
    fn lruvec_of(&self, mem: &Memory, folio: FolioId) -> usize {
        self.index(self.area_of(mem, folio), mem.frames.memcg(folio))
    }

    /// The lruvec of all folios of a batch, if it is one.
    #[inline]
    fn common_lruvec(
        &self,
        mem: &Memory,
        mut folios: impl Iterator<Item = FolioId>,
    ) -> Option<usize> {
        if self.lruvecs.len() == 1 {
            return Some(0);
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

    /// Sizes of the lists of a group; of the root: of all groups of the area.
    #[inline]
    fn list_sizes(&self, mem: &Memory, area: Area, memcg: MemcgId) -> [u64; 5] {
        if memcg.0 == 0 {
            return self.tallies[usize::from(area.0)].map(|t| mem.lists.tally(t));
        }
        let lists = self.lruvecs[self.index(area, memcg)].lists;
        lists.map(|l| mem.lists.len(l))
    }

    /// The same of the evictable lists.
    #[inline]
    fn sizes(&self, mem: &Memory, area: Area, memcg: MemcgId) -> PerList {
        let [a, b, c, d, _] = self.list_sizes(mem, area, memcg);
        [a, b, c, d]
    }

    /// Puts a folio at the head of the list that its flags name.
    #[inline]
    fn add_head(&mut self, mem: &mut Memory, folio: FolioId) {
        let lv = self.lruvec_of(mem, folio);
        self.add_head_of(mem, lv, folio);
    }

    /// The same for a folio that is known to belong to `lv`.
    #[inline(always)]
    fn add_head_of(&mut self, mem: &mut Memory, lv: usize, folio: FolioId) {
        mem.cull(folio);
        let l = Self::list_index(mem, folio);
        mem.lru_add_head(self.lruvecs[lv].lists[l], folio);
    }

    /// Puts a batch of anonymous folios on their lists, each list's at once. False, and
    /// nothing done: the batch is not all of them, or something is noted for each.
    fn anon_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) -> bool {
        let rotates = self.config.balance_model == BalanceModel::Rotate;
        // What is said of one folio of a batch may depend on those before it.
        let leaky = rotates && self.config.new_anon_rotated == NewAnonRotated::ForcedLeaky;
        if leaky || mem.tracer.on() {
            return false;
        }
        let Some(lv) = self.common_lruvec(mem, batch.iter().map(|&(f, _)| f)) else { return false };
        let (mut every, mut any) = (u32::MAX, 0);
        for &(folio, _) in batch {
            let bits = mem.frames.bits(folio);
            every &= bits;
            any |= bits;
            self.back[usize::from(bits & flag::ACTIVE != 0)].push(folio);
        }
        let all = every & flag::SWAPBACKED != 0
            && any & (flag::MLOCKED | flag::UNEVICTABLE | ORDER_MASK) == 0;
        if all && rotates {
            let forced = |how: &Arrival| match self.config.new_anon_rotated {
                NewAnonRotated::ByActive | NewAnonRotated::ForcedLeaky => false,
                NewAnonRotated::Forced => how.kind == ArrivalKind::New,
                NewAnonRotated::AllAnon => true,
            };
            let rotated = batch
                .iter()
                .filter(|(f, how)| mem.frames.has(*f, flag::ACTIVE) || forced(how))
                .count();
            self.note_rotated(lv, false, batch.len() as u64, rotated as u64);
        }
        let lists = self.lruvecs[lv].lists;
        for (list, folios) in lists.into_iter().zip(&mut self.back) {
            if all {
                mem.lru_arrive_heads(list, folios);
            }
            folios.clear();
        }
        all
    }

    /// A type's scanning or arrivals in the rotate model.
    fn note_rotated(&mut self, lv: usize, file: bool, scanned: u64, rotated: u64) {
        if self.config.balance_model == BalanceModel::Rotate {
            self.lruvecs[lv].rotate.add(usize::from(file), scanned, rotated);
        }
    }

    /// A cost event of a group and of its ancestors.
    fn note_cost(&mut self, mem: &Memory, lv: usize, file: bool, nr_io: u64, nr_rotated: u64) {
        let cost = match self.config.balance_model {
            BalanceModel::Rotate => return,
            // An event of cost 0 still compares the costs with the lists, and may halve them.
            BalanceModel::Cost58 | BalanceModel::Cost59 => nr_io,
            BalanceModel::Cost612 | BalanceModel::Cost73 => cost612(nr_io, nr_rotated),
        };
        if self.config.balance_model == BalanceModel::Cost73 {
            let root = lv - lv % self.groups;
            self.lruvecs[lv].cost.pending[usize::from(file)] += cost;
            if lv != root {
                self.lruvecs[root].cost.pending[usize::from(file)] += cost;
            }
            return;
        }
        let one = self.groups == 1;
        let (area, memcg) =
            if one { (Area(lv as u8), 0) } else { (self.area_of_lruvec(lv), lv % self.groups) };
        let own = self.sizes(mem, area, MemcgId(memcg as u16));
        self.lruvecs[lv].cost.add(usize::from(file), cost, own.iter().sum());
        if memcg != 0 {
            let all = self.sizes(mem, area, MemcgId(0));
            let root = lv - memcg;
            self.lruvecs[root].cost.add(usize::from(file), cost, all.iter().sum());
        }
    }

    fn inactive_anon_is_low(&self, mem: &Memory, area: Area, memcg: MemcgId) -> bool {
        let s = self.sizes(mem, area, memcg);
        formulas::inactive_anon_is_low(
            self.config.anon_ratio,
            s[formulas::INACTIVE_ANON],
            s[formulas::ACTIVE_ANON],
        )
    }
}

impl ReclaimPolicy for Classic {
    #[inline]
    fn folio_entering(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        use crate::config::AnonStart;
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

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn folios_departed(&mut self, mem: &mut Memory, folios: &[FolioId], _why: Departure) {
        mem.lru_del_all(folios);
    }

    #[inline]
    fn entries_together(&self) -> bool {
        true
    }

    #[inline]
    fn folio_refaulted(&mut self, mem: &mut Memory, folio: FolioId, shadow: Shadow, how: Arrival) {
        let _ = how;
        self.refault(mem, folio, shadow);
    }

    #[inline]
    fn swapins_together(&self) -> bool {
        !self.config.swapin_activate
    }

    fn folios_swapped_in(
        &mut self,
        mem: &mut Memory,
        folios: &[(FolioId, Option<Shadow>)],
        how: Arrival,
    ) {
        let notes = self.config.balance_model == BalanceModel::Cost58;
        if notes || !self.anon_refaulted(mem, folios) {
            for &(folio, shadow) in folios {
                self.folio_swapped_in(mem, folio, shadow, how);
            }
        }
    }

    #[inline]
    fn swapin_mapped(&mut self, mem: &mut Memory, folio: FolioId) {
        if self.config.swapin_activate {
            mem.lru_activate(self, folio);
        }
    }

    fn folio_accessed(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.clear_idle(folio);
        if !mem.frames.has(folio, flag::REFERENCED) {
            mem.frames.set(folio, flag::REFERENCED);
        } else if !mem.frames.has(folio, flag::ACTIVE | flag::UNEVICTABLE) {
            // Second reference while inactive: this is what tells a working set from a scan.
            mem.lru_activate_accessed(self, folio);
            mem.frames.clear(folio, flag::REFERENCED);
            self.age_by_access(mem, folio);
        }
    }

    fn folio_activated(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        mem.activate_used(folio);
        self.add_head(mem, folio);
        let pages = mem.frames.pages(folio);
        let lv = self.lruvec_of(mem, folio);
        let file = mem.frames.is_file_lru(folio);
        self.note_rotated(lv, file, pages, pages);
    }

    fn folio_deactivated(&mut self, mem: &mut Memory, folio: FolioId) {
        if mem.frames.has(folio, flag::ACTIVE) && !mem.frames.has(folio, flag::UNEVICTABLE) {
            mem.lru_del(folio);
            mem.deactivate(folio);
            self.add_head(mem, folio);
            let pages = mem.frames.pages(folio);
            self.advised += pages;
            let lv = self.lruvec_of(mem, folio);
            let file = mem.frames.is_file_lru(folio);
            self.note_rotated(lv, file, pages, 0);
        }
    }

    /// The pages take the place of the huge folio at the end of its list where they are met next.
    fn folio_split(&mut self, mem: &mut Memory, folio: FolioId) {
        let list = mem.lists.list_of(folio);
        mem.lru_del(folio);
        for page in mem.split_frames(folio).rev() {
            mem.lru_add_tail(list, page);
        }
    }

    fn folio_made_lazyfree(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.lru_del(folio);
        mem.make_lazyfree(folio);
        let lv = self.lruvec_of(mem, folio);
        match self.config.lazyfree {
            LazyfreePlace::Classic => self.add_head(mem, folio),
            LazyfreePlace::Tail => {
                let list = self.lruvecs[lv].lists[Self::list_index(mem, folio)];
                mem.lru_add_tail(list, folio);
            }
        }
        self.note_rotated(lv, true, 1, 0);
    }

    fn reclaim_list(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        ignore_references: bool,
    ) -> u64 {
        self.reclaim_taken(mem, folios, ignore_references)
    }

    fn folio_rotated(&mut self, mem: &mut Memory, folio: FolioId) {
        let lv = self.lruvec_of(mem, folio);
        mem.lru_del(folio);
        mem.frames.clear(folio, flag::ACTIVE);
        let l = Self::list_index(mem, folio);
        mem.lru_add_tail(self.lruvecs[lv].lists[l], folio);
        mem.count(VmEvent::PgRotated, 1);
    }

    fn age_node(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        for area in self.areas_of(mem, req.node).map(Area) {
            if mem.has_swap() && self.inactive_anon_is_low(mem, area, MemcgId(0)) {
                for m in 0..self.groups {
                    let lv = self.index(area, MemcgId(m as u16));
                    self.shrink_active(mem, lv, false, self.cluster, req);
                }
            }
        }
        false
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        self.run_pass(mem, req)
    }

    fn reclaim_ended(&mut self, mem: &mut Memory, node: NodeId, limit: Option<MemcgId>) {
        let memcg = limit.unwrap_or(MemcgId(0));
        for area in self.areas_of(mem, node).map(Area) {
            let i = self.index(area, memcg);
            self.lruvecs[i].snapshot = self.activations(mem, area, memcg);
        }
    }

    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let areas = || self.areas_of(mem, node).map(Area);
        let mut sizes = [0; 5];
        for of_area in areas().map(|a| self.list_sizes(mem, a, memcg)) {
            (0..5).for_each(|l| sizes[l] += of_area[l]);
        }
        let of =
            |f: fn(&Lruvec) -> u64| areas().map(|a| f(&self.lruvecs[self.index(a, memcg)])).sum();
        LruSnapshot {
            lists: LIST_NAMES.iter().map(|n| (*n).into()).zip(sizes).collect(),
            values: vec![
                ("age_anon".into(), of(|v| v.age[0])),
                ("age_file".into(), of(|v| v.age[1])),
                ("anon_cost".into(), of(|v| v.cost.cost[0])),
                ("file_cost".into(), of(|v| v.cost.cost[1])),
                ("recent_scanned_anon".into(), of(|v| v.rotate.scanned[0])),
                ("recent_scanned_file".into(), of(|v| v.rotate.scanned[1])),
                ("recent_rotated_anon".into(), of(|v| v.rotate.rotated[0])),
                ("recent_rotated_file".into(), of(|v| v.rotate.rotated[1])),
            ],
            generations: Vec::new(),
        }
    }

    fn keeps(&self, event: VmEvent) -> bool {
        use VmEvent::{WorkingsetActivateAnon, WorkingsetRefaultAnon, WorkingsetRestoreAnon};
        // Before anonymous pages left shadows there was nothing to find their refaults by.
        self.config.anon_workingset
            || !matches!(
                event,
                WorkingsetRefaultAnon | WorkingsetActivateAnon | WorkingsetRestoreAnon
            )
    }

    fn check(&self, mem: &Memory) {
        for (area, tallies) in self.tallies.iter().enumerate() {
            let of_area = &self.lruvecs[area * self.groups..(area + 1) * self.groups];
            for (l, &tally) in tallies.iter().enumerate() {
                let sum: u64 = of_area.iter().map(|lv| mem.lists.len(lv.lists[l])).sum();
                assert_eq!(mem.lists.tally(tally), sum, "{} of all groups", LIST_NAMES[l]);
            }
        }
        for (i, lv) in self.lruvecs.iter().enumerate() {
            for (l, &list) in lv.lists.iter().enumerate() {
                for f in mem.lists.iter_from_tail(list) {
                    assert_eq!(
                        Self::list_index(mem, f),
                        l,
                        "{f} is on {} by its list",
                        LIST_NAMES[l]
                    );
                    assert_eq!(self.lruvec_of(mem, f), i, "{f} is on another group's list");
                    let kind = mem.frames.kind(f);
                    assert!(
                        matches!(kind, FrameKind::Anon | FrameKind::File),
                        "{f} is listed and {kind:?}"
                    );
                }
            }
        }
        let s = &mem.vmstat;
        // Advice deactivates without a scan.
        let scanned = s[VmEvent::PgRefill] + self.advised;
        assert!(s[VmEvent::PgDeactivate] <= scanned || self.groups > 1);
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
        for lv in &self.lruvecs {
            d.words(lv.age.into_iter().chain(lv.cost.cost).chain(lv.activations));
            d.words(lv.cost.pending.into_iter().filter(|&n| n > 0));
            d.words(lv.rotate.scanned.into_iter().chain(lv.rotate.rotated));
        }
    }
}
