//! Lists of the levels of a tree: sizes and costs of a memory cgroup with those below it.
//!
//! A memory cgroup with others below it has a tally of all their lists, which counts in that of the one
//! above. A cgroup without has its own lists alone, whose lengths are its sizes.
//!
//! Source: Linux 6.12 mm/vmscan.c (`lruvec_page_state`), mm/swap.c (`lru_note_cost`).

use super::config::BalanceModel;
use super::formulas::{CostState, PerList, RotateStat, cost612};
use super::{Classic, LruScope, Lruvec};
use crate::index::{LruType, LruvecId, LruvecIds, PerType};
use mmsim_core::base::id::{Idx as _, IndexVec, MemcgId};
use mmsim_core::memory::Memory;

/// The lruvecs of all memory cgroups in all scopes, empty.
pub(super) fn lruvecs(
    mem: &mut Memory,
    ids: LruvecIds,
    scopes: usize,
) -> IndexVec<LruvecId, Lruvec> {
    let mut lruvecs: IndexVec<LruvecId, Lruvec> = IndexVec::new();
    for lv in (0..scopes * ids.nr_memcgs()).map(LruvecId::from_index) {
        let (scope, memcg) = (ids.place(lv), ids.memcg(lv));
        let parent = mem.memcgs.tree.parent(memcg).map(|m| ids.id(scope, m));
        // Those above have lower numbers.
        let of_parent = parent.and_then(|p| lruvecs[p].tallies);
        let tallies = (parent.is_none() || mem.memcgs.tree.is_inner(memcg))
            .then(|| std::array::from_fn(|l| mem.lru.lists.create_tally(of_parent.map(|t| t[l]))));
        let counted = tallies.or(of_parent).expect("the root has sizes of all");
        lruvecs.push(Lruvec {
            lists: counted.map(|t| mem.lru.lists.create_in(t)),
            tallies,
            above: parent.unwrap_or(lv),
            rotate: RotateStat::default(),
            cost: CostState::default(),
            age: PerType::default(),
            activations: PerType::default(),
            snapshot: PerType::default(),
        });
    }
    lruvecs
}

impl Classic {
    /// Sizes of the lists of a memory cgroup with those of the cgroups below it.
    #[inline(always)]
    pub(super) fn list_sizes(&self, mem: &Memory, scope: LruScope, memcg: MemcgId) -> [u64; 5] {
        if memcg.0 == 0 {
            let [a, b, c, d, e] = self.tallies[scope];
            let n = |t| mem.lru.lists.tally(t);
            return [n(a), n(b), n(c), n(d), n(e)];
        }
        let lv = &self.lruvecs[self.lruvec_at(scope, memcg)];
        match lv.tallies {
            Some(tallies) => tallies.map(|t| mem.lru.lists.tally(t)),
            None => lv.lists.map(|l| mem.lru.lists.len(l)),
        }
    }

    /// The same of the evictable lists.
    #[inline(always)]
    pub(super) fn sizes(&self, mem: &Memory, scope: LruScope, memcg: MemcgId) -> PerList {
        if memcg.0 == 0 {
            let [a, b, c, d, _] = self.tallies[scope];
            let n = |t| mem.lru.lists.tally(t);
            return [n(a), n(b), n(c), n(d)];
        }
        let [a, b, c, d, _] = self.list_sizes(mem, scope, memcg);
        [a, b, c, d]
    }

    /// Appends the lists of a removed group to those of the group above it (`lru_reparent_memcg`).
    pub(super) fn append_lists(&mut self, mem: &mut Memory, memcg: MemcgId, heir: MemcgId) {
        for scope in (0..self.lruvecs.len() / self.ids.nr_memcgs()).map(LruScope::from_index) {
            let of = |m| self.lruvecs[self.lruvec_at(scope, m)].lists;
            for (from, to) in of(memcg).into_iter().zip(of(heir)) {
                let folios: Vec<_> = mem.lru.lists.iter_from_tail(from).collect();
                for folio in folios.into_iter().rev() {
                    mem.lru_del(folio);
                    mem.lru_add_tail(to, folio);
                }
            }
        }
        mem.reparent(memcg, heir);
    }

    /// A cost event of a group and of its ancestors.
    pub(super) fn note_cost(
        &mut self,
        mem: &Memory,
        lv: LruvecId,
        file: bool,
        nr_io: u64,
        nr_rotated: u64,
    ) {
        let cost = match self.config.balance_model {
            BalanceModel::Rotate => return,
            // An event of cost 0 still compares the costs with the lists, and may halve them.
            BalanceModel::Cost58 | BalanceModel::Cost59 => nr_io,
            BalanceModel::Cost612 | BalanceModel::Cost73 => cost612(nr_io, nr_rotated),
        };
        self.flush_stats(mem);
        let (page_type, scope) = (LruType::of(file), self.scope_of_lruvec(lv));
        let pends = self.config.balance_model == BalanceModel::Cost73;
        let old = self.stale.is_some();
        let mut level = Some(lv);
        while let Some(at) = level {
            let state = &mut self.lruvecs[at].cost;
            if pends {
                let since = if old { &mut state.unseen } else { &mut state.pending };
                since[page_type] += cost;
            } else {
                let pages = self.seen_sizes(mem, scope, self.ids.memcg(at)).iter().sum();
                self.lruvecs[at].cost.add(page_type, cost, pages);
            }
            level = self.above(at);
        }
    }

    /// The lruvec of the memory cgroup above; `None` of the root's.
    #[inline]
    pub(super) fn above(&self, lv: LruvecId) -> Option<LruvecId> {
        Some(self.lruvecs[lv].above).filter(|&above| above != lv)
    }
}
