//! Amounts of eviction: order of the groups, budgets, and the end of a pass.
//!
//! A pass visits the memcgs of a node in the order of their own LRU. For each the budget is its
//! size shifted by the priority; with too few generations left it is aged instead, and then left
//! alone for this pass. The pass ends early once it freed the requested pages.
//!
//! Source: Linux 6.12 mm/vmscan.c (`get_nr_to_scan`, `try_to_shrink_lruvec`, `should_abort_scan`,
//! `shrink_one`, `shrink_many`, `lru_gen_shrink_node`, `set_initial_priority`); 6.1, 6.7 likewise.

use super::Mglru;
use super::aging::{Aging, Walk};
use super::config::{
    AbortRule, AgingSite, BudgetRule, FlusherRule, GroupOrder, Protection, ProtectionAge,
};
use super::formulas;
use super::memcg_lru::{Rotation, Visit};
use crate::index::{ANON, Evictable, FILE, LruType, LruvecId};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{GroupWalk, MemcgEvent, Memory, Within};
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::{PassStats, ReclaimOutcome, ReclaimRequest, Reclaimer};

/// Amount that is left to do for one lruvec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Budget {
    /// Number of pages that may be looked at.
    Pages(u64),
    /// Nothing: it was aged just now, or is protected.
    Aged,
    /// Nothing yet: its page tables were walked just now.
    Walked,
}

/// The work on one lruvec.
#[derive(Clone, Debug)]
struct Work {
    lv: LruvecId,
    scanned: u64,
    /// Youngest generation at its begin.
    max_seq: u64,
    /// Anonymous pages were evicted.
    swapped: bool,
    /// Rest of a budget that was computed once.
    left: Option<u64>,
    /// In the loop of 7.2: a generation was wanted, and whether it began.
    aged: Option<bool>,
}

/// The groups that a pass visits.
#[derive(Clone, Debug)]
enum Groups {
    /// Those below the group that is reclaimed from, in order of the tree.
    Walk(GroupWalk),
    /// Those of the whole node, in the order of the LRU of memory cgroups.
    Order(Visit),
    /// None any more.
    Done,
}

/// A pass under way: kswapd does one step of eviction at a time and keeps its place here.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// The groups still to visit.
    groups: Groups,
    work: Option<Work>,
    /// Freed by this pass.
    reclaimed: u64,
    /// The reclaimer walks page tables: kswapd, and others once they have aged.
    pub(super) walks: bool,
    low_skipped: bool,
    /// Results of its scans.
    met: PassStats,
    /// A new generation was wanted.
    wanted: bool,
    /// Its walk of page tables, until the next generation begins.
    walking: Option<Walk>,
}

/// Why a pass stops before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Abort {
    /// It freed the requested pages, or as much as is fair.
    Done,
    /// All zones have enough free pages.
    Safe,
}

impl Mglru {
    pub(super) fn run_pass(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        let kswapd = matches!(req.by, Reclaimer::Kswapd);
        let place = usize::from(kswapd);
        let kept = if req.one_step { self.passes[req.node][place].take() } else { None };
        let mut out = ReclaimOutcome::default();
        let mut req = *req;
        let mut pass = match kept {
            Some(pass) => pass,
            None => {
                let global = req.by.memcg().is_none();
                // Clean unmapped pages come first anyway: there is nothing gentler to do.
                if global && !req.may_writepage && req.may_io {
                    return out;
                }
                mem.lru_drain(self);
                if global && self.config.initial_priority {
                    let priority = self.first_priority_of(mem, &req);
                    if priority != req.priority {
                        out.priority = Some(priority);
                        req.priority = priority;
                    }
                }
                self.begin(mem, &req, kswapd)
            }
        };
        loop {
            if pass.work.is_none() && !self.next_memcg(mem, &req, &mut pass) {
                break;
            }
            self.step(mem, &req, &mut pass, &mut out);
            if req.one_step && (pass.work.is_some() || self.has_more(mem, &req, &pass)) {
                out.more = true;
                break;
            }
        }
        out.low_skipped = pass.low_skipped;
        if out.more {
            self.passes[req.node][place] = Some(pass);
        } else if kswapd && pass.reclaimed >= self.min_batch && !pass.wanted {
            // So much came without aging that the next round does without as well (6.1).
            self.needs_aging[req.node] = false;
        }
        out
    }

    /// The priority that kswapd begins with (`set_initial_priority`).
    pub(super) fn first_priority_of(&self, mem: &Memory, req: &ReclaimRequest) -> u8 {
        if req.priority != self.first_priority || req.target < self.min_batch {
            return req.priority;
        }
        let inactive = |t: LruType| self.halves[req.node][t][0];
        let anon = if mem.can_swap(MemcgId(0)) { inactive(ANON) } else { 0 };
        formulas::initial_priority(inactive(FILE) + anon, req.target, self.first_priority)
    }

    pub(super) fn begin(&mut self, mem: &Memory, req: &ReclaimRequest, kswapd: bool) -> Pass {
        let shares = mem.given.rules.shared_walks && !req.full_walk;
        let groups = match req.by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) if shares => {
                Groups::Walk(mem.memcgs.walk_shared(m, req.node.0))
            }
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => Groups::Walk(mem.memcgs.walk_all(m)),
            _ if self.ids.only_root() => Groups::Walk(mem.memcgs.walk_all(MemcgId(0))),
            _ if self.config.group_order == GroupOrder::Tree => {
                Groups::Walk(mem.memcgs.walk_all(MemcgId(0)))
            }
            _ => Groups::Order(self.memcg_lru[req.node].visit()),
        };
        Pass {
            groups,
            work: None,
            reclaimed: 0,
            walks: kswapd,
            low_skipped: false,
            met: PassStats::default(),
            wanted: false,
            walking: None,
        }
    }

    /// Goes on to the next group that is not protected. False: there is none.
    fn next_memcg(&mut self, mem: &mut Memory, req: &ReclaimRequest, pass: &mut Pass) -> bool {
        let kswapd = matches!(req.by, Reclaimer::Kswapd);
        let fresh = self.config.protection_age == ProtectionAge::Visit && !kswapd;
        let order = &mut self.memcg_lru[req.node];
        while let Some(memcg) = match &mut pass.groups {
            Groups::Walk(walk) => mem.next_group(walk),
            Groups::Order(visit) => order.next(visit),
            Groups::Done => None,
        } {
            let in_order = matches!(pass.groups, Groups::Order(_));
            let within = match in_order {
                false => mem.protection_from(req, memcg),
                true => {
                    if fresh {
                        mem.reckon_protection_of(memcg);
                    }
                    mem.reckoned_protection(memcg)
                }
            };
            if let Groups::Order(visit) = &mut pass.groups
                && !mem.memcgs.exists(memcg)
            {
                order.forget(visit, memcg);
                continue;
            }
            let second = if in_order { order.at_tail(memcg) } else { req.low_reclaim };
            let to = match within {
                Some(Within::Min) => Rotation::Young,
                Some(Within::Low) if !second => {
                    pass.low_skipped = true;
                    Rotation::Tail
                }
                Some(Within::Low) => {
                    mem.memcgs.event(memcg, MemcgEvent::Low, 1);
                    return self.enter(mem, req, pass, memcg);
                }
                None => return self.enter(mem, req, pass, memcg),
            };
            if let Groups::Order(visit) = &mut pass.groups {
                order.leave(visit, memcg, Some(to));
            }
        }
        false
    }

    /// The work on a group begins.
    fn enter(
        &mut self,
        mem: &Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        memcg: MemcgId,
    ) -> bool {
        if self.config.protection == Protection::Share {
            pass.low_skipped |= mem.protected_pages(req, memcg).is_some_and(|p| p.by_low);
        }
        let lv = self.lruvec_at(req.node, memcg);
        let max_seq = self.lruvecs[lv].max_seq;
        pass.work = Some(Work { lv, scanned: 0, max_seq, swapped: false, left: None, aged: None });
        true
    }

    /// True if a pass has a group left to visit.
    fn has_more(&self, mem: &Memory, req: &ReclaimRequest, pass: &Pass) -> bool {
        match &pass.groups {
            Groups::Walk(walk) => mem.memcgs.goes_on(walk),
            Groups::Order(visit) => self.memcg_lru[req.node].goes_on(visit),
            Groups::Done => false,
        }
    }

    /// One step of eviction, or the aging in its place; ends the work if that was all.
    fn step(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        out: &mut ReclaimOutcome,
    ) {
        let mut w = pass.work.take().expect("a step needs an lruvec");
        // Reclaim without input and output may look at anonymous pages, and then lets them be.
        let swappiness = self.swappiness_if(mem, w.lv, req, req.may_swap || !req.may_io);
        let idle = swappiness == 0 && req.anon_only() && !mem.given.rules.anon_only_falls_back;
        let budget = match idle {
            true => Budget::Pages(0),
            false => self.turn(mem, &mut w, Evictable::of(swappiness), req, pass),
        };
        if budget == Budget::Walked {
            pass.work = Some(w);
            return;
        }
        let mut aborts = None;
        let limit = req.by.memcg().is_some();
        if let Budget::Pages(nr @ 1..) = budget {
            let delta = self.evict_of(mem, req, pass, &mut w, (swappiness, nr), out);
            let goes_on = match &mut w.left {
                None => w.scanned < nr,
                Some(left) => {
                    *left = left.saturating_sub(delta);
                    *left > 0
                }
            };
            // Global reclaim that aged evicts one batch.
            if delta > 0 && goes_on && (limit || w.aged.is_none()) {
                aborts = self.aborts(mem, req, pass, &w);
                if aborts.is_none() {
                    pass.work = Some(w);
                    return;
                }
            }
        }
        if aborts == Some(Abort::Safe) && self.config.abort_rule == AbortRule::V6_1 {
            // It counts as reclaimed that zones were found safe.
            out.reclaimed += self.min_batch;
        }
        let PassStats { file_taken, unqueued_dirty, .. } = pass.met;
        out.wakes_flusher |= self.config.flusher_rule == FlusherRule::Pass613
            && unqueued_dirty > 0
            && unqueued_dirty == file_taken;
        let aged = budget == Budget::Aged || w.aged == Some(true);
        self.leave(mem, req, pass, &w, aged, Evictable::of(swappiness));
        let (node, memcg) = self.node_and_memcg(w.lv);
        if memcg == MemcgId(0) && mem.shadow_nodes_listed() > 0 {
            let pages = self.pages_for_shadows(mem, node);
            mem.limit_shadow_nodes(crate::shrink::shadow_nodes_allowed(pages), req.priority);
        }
        mem.shrink_compressed(memcg, node, req);
        let order = matches!(pass.groups, Groups::Order(_));
        // A walk that others go on with ends as soon as there is enough.
        let enough = matches!(&pass.groups, Groups::Walk(walk) if walk.is_shared())
            && req.reclaimed + pass.reclaimed >= req.target;
        if enough || order && self.aborts(mem, req, pass, &w).is_some() {
            pass.groups = Groups::Done;
        }
    }

    /// Evicts from the lruvec that the work is about, `nr` pages at a time. Returns how much that
    /// counts of its budget.
    fn evict_of(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        w: &mut Work,
        (swappiness, nr): (u64, u64),
        out: &mut ReclaimOutcome,
    ) -> u64 {
        let mut did = ReclaimOutcome::default();
        let delta = self.evict_folios(mem, w.lv, swappiness, nr, req, pass, &mut did);
        let (node, memcg) = self.node_and_memcg(w.lv);
        let (taken, reclaimed) = (did.stats.taken, did.reclaimed);
        mem.emit(|| TraceEvent::SimEvictFolios {
            node,
            memcg,
            kswapd: matches!(req.by, Reclaimer::Kswapd),
            priority: req.priority,
            nr_to_scan: nr,
            scanned: delta,
            taken,
            reclaimed,
        });
        pass.reclaimed += did.reclaimed;
        w.swapped |= did.stats.taken > did.stats.file_taken;
        w.scanned += delta;
        out.scanned += did.scanned;
        out.reclaimed += did.reclaimed;
        pass.met.add(&did.stats);
        pass.met.add(&self.bounced);
        let in_batch = self.config.flusher_rule == FlusherRule::Batch72;
        out.wakes_flusher |= in_batch && did.stats.only_unqueued_dirty();
        delta
    }

    /// The order of memory cgroups after one was visited. One that has enough to evict stays; what
    /// cannot be swapped does not count (`lruvec_is_sizable`).
    fn leave(
        &mut self,
        mem: &Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        w: &Work,
        aged: bool,
        types: Evictable,
    ) {
        let in_tree = self.config.group_order == GroupOrder::Tree;
        if self.ids.only_root() || in_tree || req.by.memcg().is_some() && !aged {
            return;
        }
        let memcg = self.ids.memcg(w.lv);
        let online = mem.memcgs.is_online(memcg);
        let sizable = self.listed(w.lv, types) >> req.priority > 0;
        let order = &mut self.memcg_lru[req.node];
        let to = match (aged && online, sizable) {
            (true, _) => Some(Rotation::Young),
            (false, true) => None,
            (false, false) if order.at_tail(memcg) => Some(Rotation::Young),
            (false, false) => Some(Rotation::Tail),
        };
        match (&mut pass.groups, to) {
            (Groups::Order(visit), to) => order.leave(visit, memcg, to),
            (_, Some(to)) => order.rotate(memcg, to),
            _ => {}
        }
    }

    /// Budget of the next step on an lruvec. The loop of 7.2 ages here and goes on.
    fn turn(
        &mut self,
        mem: &mut Memory,
        w: &mut Work,
        types: Evictable,
        req: &ReclaimRequest,
        pass: &mut Pass,
    ) -> Budget {
        let once = self.config.budget_rule == BudgetRule::Once;
        let all = |mglru: &Self, mem: &Memory| {
            let pages = mglru.unprotected(mem, w.lv, mglru.listed(w.lv, types), req);
            mglru.at_priority(mem, w.lv, pages, req)
        };
        if once && w.left.is_none() {
            w.left = Some(all(self, mem));
        }
        if self.config.aging_site == AgingSite::Loop {
            let nr = w.left.unwrap_or_else(|| all(self, mem));
            if nr > 0 && (pass.walking.is_some() || self.ages_in_loop(w.lv, types, req)) {
                pass.walks |= self.config.walk_mmu;
                match self.age_in_steps(mem, w.lv, types, &mut pass.walking) {
                    Aging::Walked => return Budget::Walked,
                    aging => w.aged = Some(aging == Aging::Done || w.aged == Some(true)),
                }
            }
            return Budget::Pages(nr);
        }
        match self.budget(mem, w.lv, types, req, pass) {
            Budget::Pages(nr) => Budget::Pages(w.left.unwrap_or(nr).min(nr)),
            other => other,
        }
    }

    /// True if an lruvec is aged before its next step: at any priority if it has too few
    /// generations, below the first if it has just enough.
    fn ages_in_loop(&self, lv: LruvecId, types: Evictable, req: &ReclaimRequest) -> bool {
        let at_first = req.priority == self.first_priority;
        formulas::ages_first(AgingSite::Loop, self.outlook(lv, types), at_first)
    }

    /// `pages` pages of an lruvec less the share that protection spares
    /// (`apply_proportional_protection`). A group's own limit does not heed it.
    fn unprotected(&self, mem: &Memory, lv: LruvecId, pages: u64, req: &ReclaimRequest) -> u64 {
        let memcg = self.node_and_memcg(lv).1;
        if self.config.protection == Protection::Whole {
            return pages;
        }
        match mem.protected_pages(req, memcg) {
            None => pages,
            Some(spared) => {
                let usage = mem.memcgs[memcg].usage;
                crate::classic::formulas::scan_base_protected(pages, 0, spared.pages, usage)
            }
        }
    }

    /// The part of these pages of an lruvec that a priority allows: all that a removed group left.
    fn at_priority(&self, mem: &Memory, lv: LruvecId, pages: u64, req: &ReclaimRequest) -> u64 {
        let online = self.ids.only_root() || mem.memcgs.is_online(self.ids.memcg(lv));
        if online { pages >> req.priority } else { pages }
    }

    /// Number of pages of an lruvec that may be looked at (`get_nr_to_scan`); ages it if that is
    /// due.
    pub(super) fn budget(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        types: Evictable,
        req: &ReclaimRequest,
        pass: &mut Pass,
    ) -> Budget {
        if pass.walking.is_some() {
            return self.next_generation(mem, lv, types, pass);
        }
        let o = self.outlook(lv, types);
        let pages = self.unprotected(mem, lv, o.total, req);
        let pages = Budget::Pages(self.at_priority(mem, lv, pages, req));
        if !o.wanted {
            return pages;
        }
        pass.wanted = true;
        let kswapd = matches!(req.by, Reclaimer::Kswapd);
        match self.config.aging_site {
            AgingSite::Evictor if req.priority == self.first_priority => pages,
            AgingSite::Evictor => {
                pass.walks |= self.config.walk_mmu;
                self.next_generation(mem, lv, types, pass)
            }
            // The loop has aged already.
            AgingSite::Loop => pages,
            AgingSite::Kswapd => {
                if req.priority == self.first_priority {
                    return pages;
                }
                if kswapd {
                    return Budget::Pages(0);
                }
                pass.walks |= self.config.walk_mmu;
                self.age(mem, lv, types, false);
                let now = self.outlook(lv, types);
                Budget::Pages(now.total >> req.priority)
            }
        }
    }

    fn next_generation(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        types: Evictable,
        pass: &mut Pass,
    ) -> Budget {
        match self.age_in_steps(mem, lv, types, &mut pass.walking) {
            Aging::Done => Budget::Aged,
            Aging::Walked => Budget::Walked,
            Aging::Failed => Budget::Pages(0),
        }
    }

    /// Reason to stop a pass here, if any (`should_abort_scan`). Reclaim from one group does so in
    /// 6.1 alone, when it swapped enough, or aged the group twice.
    fn aborts(&self, mem: &Memory, req: &ReclaimRequest, pass: &Pass, w: &Work) -> Option<Abort> {
        let kswapd = matches!(req.by, Reclaimer::Kswapd);
        let limit = req.by.memcg().is_some();
        if limit && !matches!(self.config.abort_rule, AbortRule::V6_1 | AbortRule::Wmark72) {
            return None;
        }
        // kswapd counts each pass for itself.
        let reclaimed = pass.reclaimed + if kswapd { 0 } else { req.reclaimed };
        let enough = reclaimed >= req.target.max(2 << req.order);
        let all_above = |mark: Mark, more: u64| {
            mem.zones.of_node(req.node).iter().all(|&z| {
                let zone = &mem.zones[z];
                zone.kind > req.highest
                    || zone.managed == 0
                    || zone.exceeds(mark, more, req.highest)
            })
        };
        let (done, safe) = match self.config.abort_rule {
            AbortRule::Simple67 => (enough, false),
            AbortRule::Wmark612 | AbortRule::Wmark72 => {
                (enough, kswapd && req.order == 0 && all_above(Mark::High, self.min_batch))
            }
            AbortRule::V6_1 => {
                let target = reclaimed >= req.target;
                let aged = self.lruvecs[w.lv].max_seq - w.max_seq > 1;
                let mark = if kswapd { Mark::High } else { Mark::Low };
                let safe = || {
                    mem.zones.of_node(req.node).iter().all(|&z| {
                        let zone = &mem.zones[z];
                        zone.kind > req.highest
                            || zone.free >= zone.watermark[mark as usize] + zone.boost
                    })
                };
                let may_be_safe = !limit
                    && (!kswapd || target)
                    && req.priority <= self.first_priority.saturating_sub(2);
                (!kswapd && (aged || target && w.swapped), may_be_safe && safe())
            }
        };
        match (done, safe) {
            (true, _) => Some(Abort::Done),
            (false, true) => Some(Abort::Safe),
            (false, false) => None,
        }
    }

    /// The pages whose number limits the root group's shadow nodes, as for the classic LRU.
    fn pages_for_shadows(&self, mem: &Memory, node: NodeId) -> u64 {
        if self.ids.only_root() {
            return mem.zones.ids().map(|z| u64::from(mem.zones[z].managed)).sum();
        }
        let v = &self.lruvecs[self.lruvec_at(node, MemcgId(0))];
        [ANON, FILE].into_iter().flat_map(|t| v.halves(t)).sum::<u64>()
            + mem.lru.lists.len(v.unevictable)
    }
}
