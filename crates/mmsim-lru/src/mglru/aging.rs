//! Aging: a new generation, after accessed bits were looked for.
//!
//! The page tables of the processes that ran are walked, table by table, and what was accessed
//! moves to the generation that is the youngest now. Then the next one begins, and the two
//! youngest count as active.
//!
//! Source: Linux 6.12 mm/vmscan.c (`try_to_inc_max_seq`, `iterate_mm_list`, `walk_mm`,
//! `inc_max_seq`, `inc_min_seq`, `should_run_aging`, `lru_gen_age_node`, `lruvec_is_reclaimable`);
//! 6.1 (`age_lruvec`) and 6.7 for the time to live.

use super::Mglru;
use super::config::{AccessMarks, AgingRule, AgingSite, Lazyfree, TtlRule};
use super::formulas::{self, Outlook};
use super::lruvec::{GenList, gen_of};
use crate::index::{ANON, Evictable, FILE, Gen, LruType, LruvecId, MAX_NR_GENS, MIN_NR_GENS};
use mmsim_core::base::id::{GroupId, PageIdx};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::memcg_tree::ROOT;
use mmsim_core::memory::trace::{TraceEvent, TraceKind};
use mmsim_core::memory::{Memory, WalkScope};
use mmsim_core::phys::frames::{FolioId, flag, pages_of};
use mmsim_core::policy::ReclaimRequest;

/// A walk of page tables under way.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The youngest generation at its begin.
    seq: u64,
    scope: WalkScope,
    /// Tables still to visit, the next one last, and whether they are walked in any case.
    left: Vec<(GroupId, bool)>,
    /// Some process ran.
    began: bool,
}

/// Way in which a step of eviction looks around.
pub(super) struct Around {
    lv: LruvecId,
    scope: WalkScope,
    /// The reclaimer walks page tables, so what it finds accessed it promotes itself.
    walks: bool,
    /// The youngest generation.
    seq: u64,
    /// Folios that the last look found accessed.
    pub(super) young: Vec<FolioId>,
}

/// Result of a request for a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aging {
    /// It began.
    Done,
    /// Accessed bits were looked for; it begins with the next step.
    Walked,
    /// Another thread created it.
    Failed,
}

impl Mglru {
    /// The swappiness that reclaim goes by: none if nothing can be swapped (`get_swappiness`).
    pub(super) fn swappiness(&self, mem: &Memory, lv: LruvecId, req: &ReclaimRequest) -> u64 {
        self.swappiness_if(mem, lv, req, req.may_swap)
    }

    /// The same, whether the request allows swapping or not.
    pub(super) fn swappiness_if(
        &self,
        mem: &Memory,
        lv: LruvecId,
        req: &ReclaimRequest,
        may_swap: bool,
    ) -> u64 {
        let memcg = self.node_and_memcg(lv).1;
        let room = |s: &mmsim_core::backing::swap::Swap| u64::from(s.nr_free()) >= self.min_batch;
        if may_swap
            && mem.swap.as_ref().is_some_and(room)
            && mem.memcgs.swap_left(memcg) >= self.min_batch
        {
            req.swappiness(&mem.given.vm)
        } else {
            0
        }
    }

    /// Need of an lruvec for a new generation, and the number of its pages that can be evicted.
    pub(super) fn outlook(&self, lv: LruvecId, types: Evictable) -> Outlook {
        let v = &self.lruvecs[lv];
        let size = |seq, t| v.size(Gen::from_seq(seq), t);
        formulas::outlook(self.config.aging_rule, v.max_seq, v.min_seq, types, size)
    }

    /// Creates a generation if the youngest is still `seq` (`try_to_inc_max_seq`).
    pub(super) fn age(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        types: Evictable,
        force: bool,
    ) -> bool {
        let seq = self.lruvecs[lv].max_seq;
        if seq <= self.lruvecs[lv].mm.seq {
            return false;
        }
        if self.config.walk_mmu {
            let mut walk = self.begin_walk(mem, lv, types, force);
            self.walk_on(mem, lv, &mut walk, true);
        }
        self.lruvecs[lv].mm.seq += 1;
        self.inc_max_seq(mem, lv, types);
        true
    }

    /// The same in steps: who walks the tables of a process may have to give way before the
    /// generation begins (`walk_mm`), where kernel code is preempted after any table. Whoever comes
    /// meanwhile finds all processes taken, and begins it. With several processes the kernel may
    /// give way after each.
    pub(super) fn age_in_steps(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        types: Evictable,
        walking: &mut Option<Walk>,
    ) -> Aging {
        let lazy = mem.given.rules.lazy_preemption;
        let seq = self.lruvecs[lv].max_seq;
        let own = match walking.take() {
            Some(walk) => Some(walk),
            None if seq <= self.lruvecs[lv].mm.seq => return Aging::Failed,
            None if !self.config.walk_mmu || self.lruvecs[lv].mm.walked >= seq => None,
            None => {
                self.lruvecs[lv].mm.walked = seq;
                let mut walk = self.begin_walk(mem, lv, types, false);
                if !lazy && walk.began {
                    self.walk_on(mem, lv, &mut walk, true);
                    *walking = Some(walk);
                    return Aging::Walked;
                }
                Some(walk)
            }
        };
        if let Some(mut walk) = own {
            self.walk_on(mem, lv, &mut walk, !lazy);
            if !walk.left.is_empty() {
                *walking = Some(walk);
                return Aging::Walked;
            }
            if walk.seq != seq || seq <= self.lruvecs[lv].mm.seq {
                return Aging::Failed;
            }
        }
        self.lruvecs[lv].mm.seq += 1;
        self.inc_max_seq(mem, lv, types);
        Aging::Done
    }

    /// Begins a walk of the page tables of the processes of a memory cgroup that ran.
    fn begin_walk(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        types: Evictable,
        mut force: bool,
    ) -> Walk {
        let (node, memcg) = self.node_and_memcg(lv);
        let seq = self.lruvecs[lv].max_seq;
        let listed = !self.config.walks_unlisted;
        let scope = WalkScope { node, memcg, anon: types.has(ANON), listed };
        let mut walk = Walk { seq, scope, left: Vec::new(), began: false };
        let spaces: Vec<_> = mem.mm_list(memcg).collect();
        let mut tables = Vec::new();
        for (number, space) in spaces {
            force |= number >= self.lruvecs[lv].mm.tail;
            if !mem.take_used(space) && !force {
                continue;
            }
            if !std::mem::replace(&mut walk.began, true) {
                self.lruvecs[lv].mm.filters.reset(seq + 1);
            }
            tables.clear();
            mem.walk_tables(space, &scope, &mut tables);
            walk.left.extend(tables.iter().map(|&table| (table, force)));
        }
        let last = mem.mm_list(memcg).last();
        if let Some((number, _)) = last {
            let tail = &mut self.lruvecs[lv].mm.tail;
            *tail = (*tail).max(number + 1);
        }
        walk.left.reverse();
        walk
    }

    /// Goes on with a walk, to its end or by one table. What it finds accessed moves to the generation
    /// that is the youngest by then.
    fn walk_on(&mut self, mem: &mut Memory, lv: LruvecId, walk: &mut Walk, whole: bool) {
        while let Some((table, force)) = walk.left.pop() {
            // The process may have given it up meanwhile.
            if mem.virt.pages.group(table).table.is_some() {
                self.walk_one(mem, lv, table, force, walk);
            }
            if !whole {
                break;
            }
        }
    }

    fn walk_one(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        table: GroupId,
        force: bool,
        walk: &Walk,
    ) {
        mem.charge(mem.given.cost.t_walk_pmd);
        // The entry of a huge page has its own accessed bit: there is no table to be spared.
        let huge = mem.virt.pages.group(table).huge;
        if !huge && self.config.nonleaf_young && !force && !mem.pmd_test_clear_young(table) {
            return;
        }
        let worth = huge || force || !self.config.bloom || {
            self.lruvecs[lv].mm.filters.has(walk.seq, table)
        };
        if !worth {
            return;
        }
        let mut young = std::mem::take(&mut self.young);
        young.clear();
        let met = mem.walk_table(table, &walk.scope, &mut young);
        let youngest = Gen::from_seq(self.lruvecs[lv].max_seq);
        let (others, exec) = young.split_at(young.len() - met.exec as usize);
        self.update_gens(mem, lv, others, youngest, false);
        self.update_gens(mem, lv, exec, youngest, true);
        self.young = young;
        // Worth a walk: an accessed bit in each cache line, of eight PTEs, on average.
        if !huge && met.young * 8 >= met.slots {
            self.lruvecs[lv].mm.filters.insert(walk.seq + 1, table);
        }
    }

    /// The next generation begins (`inc_max_seq`).
    pub(super) fn inc_max_seq(&mut self, mem: &mut Memory, lv: LruvecId, types: Evictable) {
        for t in [FILE, ANON] {
            if self.lruvecs[lv].nr_gens(t) == MAX_NR_GENS as u64 {
                self.inc_min_seq(mem, lv, t, types);
            }
        }
        let hist = self.config.hist_gens.get();
        let v = &mut self.lruvecs[lv];
        if hist > 1 {
            v.rates.iter_mut().for_each(|r| r.forget(v.max_seq + 1, hist));
        }
        let before = LruType::ALL.map(|t| v.halves(t));
        v.max_seq += 1;
        for (t, before) in LruType::ALL.into_iter().zip(before) {
            let (of_all, now) = (&mut self.halves[v.node][t], v.halves(t));
            (0..2).for_each(|i| of_all[i] = of_all[i] + now[i] - before[i]);
        }
        v.birth[Gen::from_seq(v.max_seq)] = mem.acting.now;
        let (node, memcg) = self.node_and_memcg(lv);
        if mem.telling.tracer.wants(TraceKind::SimLruGen) {
            for g in self.generations(mem, lv) {
                let age = g.age;
                let (seq, nr_anon, nr_file) = (g.seq, g.anon, g.file);
                mem.emit(|| TraceEvent::SimLruGen { node, memcg, seq, age, nr_anon, nr_file });
            }
        }
    }

    /// Makes room for a generation by pouring the oldest one into the next (`inc_min_seq`). That
    /// turns its order round, and the lists' ends meet: what was to go last goes first.
    fn inc_min_seq(&mut self, mem: &mut Memory, lv: LruvecId, t: LruType, types: Evictable) {
        let hist = self.config.hist_gens.get();
        let old = self.lruvecs[lv].oldest(t);
        // Anonymous pages that cannot be swapped stay in their generation, which becomes the youngest.
        if types.has(t) {
            let kinds: &[GenList] =
                if t == FILE { &[GenList::Lazyfree, GenList::File] } else { &[GenList::Anon] };
            for zone in ZoneKind::ALL {
                for &kind in kinds {
                    let list = self.lruvecs[lv].lists[old][kind][zone];
                    while let Some(folio) = mem.lru_pop_tail(list) {
                        mem.charge(mem.given.cost.t_rotate);
                        let bits = mem.frames.bits(folio);
                        let tier = self.tier(folio, bits);
                        let full = self.overflows(bits, self.refs(folio, bits));
                        let generation = self.inc_gen(mem, lv, folio, 0);
                        let to = self.lruvecs[lv].lists[generation][kind][zone];
                        mem.lru_add_tail(to, folio);
                        if self.config.aging_rule == AgingRule::GensOnly && !full {
                            let v = &mut self.lruvecs[lv];
                            let p = v.rates[t].period_mut(v.min_seq[t], hist);
                            p.protected[tier] += pages_of(bits);
                        }
                    }
                }
            }
        }
        let v = &mut self.lruvecs[lv];
        v.rates[t].carry_over(v.min_seq[t], hist);
        v.min_seq[t] += 1;
    }

    /// The oldest generations move on past those that are empty (`try_to_inc_min_seq`). True:
    /// one did.
    pub(super) fn try_to_inc_min_seq(
        &mut self,
        mem: &Memory,
        lv: LruvecId,
        types: Evictable,
    ) -> bool {
        // Lazily freed folios hold their generation back only if the list was made right.
        let lazy = self.config.lazyfree != Lazyfree::ListV2;
        let hist = self.config.hist_gens.get();
        let v = &mut self.lruvecs[lv];
        let mut min_seq = v.min_seq;
        for &t in types.types() {
            while min_seq[t] + MIN_NR_GENS <= v.max_seq
                && !v.populated(mem, Gen::from_seq(min_seq[t]), t, lazy)
            {
                min_seq[t] += 1;
            }
        }
        if types == Evictable::Both && self.config.min_seq_coupling {
            min_seq[ANON] = min_seq[ANON].min(min_seq[FILE]);
            min_seq[FILE] = min_seq[ANON].max(v.min_seq[FILE]);
        }
        if types == Evictable::Both && self.config.min_seq_clamp {
            let third = v.max_seq - MIN_NR_GENS;
            for (t, other) in [(ANON, FILE), (FILE, ANON)] {
                if min_seq[t] > third && min_seq[other] < third {
                    min_seq[t] = third;
                }
            }
        }
        let mut moved = false;
        for &t in types.types() {
            if min_seq[t] != v.min_seq[t] {
                v.rates[t].carry_over(v.min_seq[t], hist);
                v.min_seq[t] = min_seq[t];
                moved = true;
            }
        }
        moved
    }

    /// kswapd looks at the node before a pass: it may age all memcgs (6.1). True: nothing is
    /// older than `min_ttl_ms`, and something has to be killed.
    pub(super) fn age_by_kswapd(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> bool {
        let node = req.node;
        if !self.ids.only_root() {
            mem.reckon_protection();
        }
        let ttl = SimDuration::from_millis(self.config.min_ttl_ms.into());
        let ages = self.config.aging_site == AgingSite::Kswapd;
        if ages && !std::mem::replace(&mut self.needs_aging[node], true) {
            return false;
        }
        let rule = self.config.ttl_rule;
        let first = req.priority == self.first_priority;
        let asks = ttl > SimDuration::ZERO
            && match rule {
                // Reclaim for higher orders is made for the sake of compaction.
                TtlRule::Aging61 => req.order == 0,
                TtlRule::Pressed67 => req.order == 0 && !first,
                TtlRule::Fitted612 => true,
            };
        if !ages && !asks {
            return false;
        }
        let priority = match rule {
            TtlRule::Fitted612 => self.first_priority_of(mem, req),
            _ => req.priority,
        };
        let mut reclaimable = false;
        let mut walk = mem.memcgs.walk_all(ROOT);
        while let Some(memcg) = mem.memcgs.next_group(&mut walk) {
            let lv = self.lruvec_at(node, memcg);
            if mem.is_within_min(memcg) {
                continue;
            }
            let types = Evictable::of(self.swappiness(mem, lv, req));
            let o = self.outlook(lv, types);
            let small = self.listed(lv, types) >> priority == 0;
            let sizable = !small || first && rule == TtlRule::Aging61;
            let old = ttl == SimDuration::ZERO || self.outlived(mem, lv, ttl) && sizable;
            reclaimable |= old;
            if ages && o.wanted && (old || rule != TtlRule::Aging61) {
                self.age(mem, lv, types, false);
            }
        }
        asks && !reclaimable
    }

    /// True if the oldest generation of file pages is older than the time to live.
    fn outlived(&self, mem: &Memory, lv: LruvecId, ttl: SimDuration) -> bool {
        let v = &self.lruvecs[lv];
        let birth: SimTime = v.birth[v.oldest(FILE)];
        birth + ttl < mem.acting.now
    }

    /// Pages of the types that can be evicted (`lruvec_is_sizable`).
    pub(super) fn listed(&self, lv: LruvecId, types: Evictable) -> u64 {
        let v = &self.lruvecs[lv];
        let types = types.types();
        let of = |t: LruType| (v.min_seq[t]..=v.max_seq).map(move |s| v.size(Gen::from_seq(s), t));
        types.iter().copied().flat_map(of).sum()
    }

    /// Way in which a step of eviction looks around.
    pub(super) fn around(&mut self, lv: LruvecId, t: LruType, walks: bool) -> Around {
        let (node, memcg) = self.node_and_memcg(lv);
        let anon = t == ANON || self.config.access_marks == AccessMarks::Counted614;
        let scope = WalkScope { node, memcg, anon, listed: !self.config.walks_unlisted };
        let seq = self.lruvecs[lv].max_seq;
        Around { lv, scope, walks, seq, young: std::mem::take(&mut self.young) }
    }

    /// Neighbours of a page that was found accessed while it was to be evicted are looked at too
    /// (`lru_gen_look_around`).
    pub(super) fn look_around(&mut self, mem: &mut Memory, page: PageIdx, around: &mut Around) {
        let Around { lv, ref scope, walks, seq, ref mut young } = *around;
        young.clear();
        let met = mem.look_around(page, scope, young);
        let (generation, exec) = (Gen::from_seq(seq), met.exec > 0);
        if walks {
            self.update_gens(mem, lv, young, generation, exec);
        } else {
            young.iter().for_each(|&folio| self.found_used(mem, folio, generation, exec));
        }
        if met.slots > 1 && met.young * 8 >= met.slots {
            self.lruvecs[lv].mm.filters.insert(seq, page.group());
        }
    }

    /// A reclaimer that does not walk page tables found a folio used: it is activated, unless it
    /// belongs to the youngest generation, or is only marked.
    fn found_used(&mut self, mem: &mut Memory, folio: FolioId, youngest: Gen, exec: bool) {
        let bits = mem.frames.bits(folio);
        let elsewhere = gen_of(bits).is_some_and(|g| g != youngest);
        if self.config.access_marks == AccessMarks::Counted614 {
            match self.set_refs(mem, folio, exec) {
                true if elsewhere => mem.lru_activate(self, folio),
                true => {}
                false => mem.overlooked_folio(folio),
            }
        } else if gen_of(bits).is_none() {
            mem.frames.set(folio, flag::REFERENCED);
        } else if elsewhere {
            mem.frames.clear(folio, flag::REFERENCED | flag::WORKINGSET);
            mem.lru_activate(self, folio);
        }
    }
}
