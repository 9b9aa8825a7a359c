//! One pass over a node: which lists are scanned, how much, and in which order. Where zones
//! have lists of their own, a pass goes over the zones that are wanted, the highest first.
//!
//! Source: Linux 6.12 mm/vmscan.c (`shrink_node`, `prepare_scan_control`,
//! `get_scan_count`, `shrink_lruvec`).

use super::config::{BalanceModel, InactiveRatioScope, ScanRounding, ShadowLimitScope};
use super::formulas::{
    self, ACTIVE_ANON, ACTIVE_FILE, INACTIVE_ANON, INACTIVE_FILE, PerList, RoundEnd, ScanMode,
    ScanModeInput,
};
use super::pool::{self, InPool};
use super::{Classic, LruScope, Lruvec, scaled};
use crate::index::{ANON, FILE, LruType, LruvecId, PerType};
use crate::shrink::{self, BatchStats};
use mmsim_core::base::id::{MemcgId, NodeId, ZoneId};
use mmsim_core::base::time::SimTime;
use mmsim_core::config::DEF_PRIORITY;
use mmsim_core::memory::trace::TraceEvent;
use mmsim_core::memory::{GroupWalk, MemcgEvent, Memory, Spared, Within};
use mmsim_core::policy::{ReclaimOutcome, ReclaimRequest, Reclaimer};

/// State of a pass before its first scan (`prepare_scan_control`).
#[derive(Clone, Debug)]
struct Control {
    may_deactivate: PerType<bool>,
    cache_trim: bool,
    file_is_tiny: bool,
}

/// The calls of a chooser that begin a pass over its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) wanted: u64,
    /// The rest that is not used up yet.
    pub(super) left: u64,
    pub(super) reclaimed: u64,
}

/// The work on one lruvec.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) lv: LruvecId,
    pub(super) nr: PerList,
    /// Lazily freed pages of a list of their own that are still to scan.
    lazyfree: u64,
    /// Sizes of its lists when it began.
    sizes: PerList,
    targets: PerList,
    pub(super) scanned: PerType<u64>,
    pub(super) reclaimed: PerType<u64>,
    adjusted: bool,
    /// Calls of the group's chooser, which come first.
    pub(super) asking: Option<Asking>,
    /// Pages that were reclaimed by its choice.
    pub(super) by_chooser: u64,
}

impl Work {
    /// Adds the results of a scan of a list that evicts.
    #[inline(always)]
    fn note(&mut self, t: LruType, s: &BatchStats, out: &mut ReclaimOutcome) {
        self.scanned[t] += s.scanned;
        self.reclaimed[t] += s.reclaimed;
        out.reclaimed += s.reclaimed;
        out.scanned += s.scanned;
        out.wakes_flusher |= s.pass.only_unqueued_dirty();
        out.stats.add(&s.pass);
    }
}

/// A pass under way: kswapd does one round of scans at a time and keeps its place here.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    scope: LruScope,
    control: Control,
    /// The walk over the memory cgroups of the scope.
    walk: GroupWalk,
    pub(super) work: Option<Work>,
    pub(super) reclaimed: u64,
    /// Place in the pool of easily reclaimed memory.
    pub(super) pool: InPool,
    skipped_deactivate: bool,
    low_skipped: bool,
    /// The end of the last step, if it found nothing to do: all that was due by then has happened.
    idle_until: Option<SimTime>,
}

impl Classic {
    pub(super) fn run_pass(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        self.flush_stats(mem);
        let place = usize::from(matches!(req.by, Reclaimer::Kswapd));
        let kept = if req.one_step { self.passes[req.node][place].take() } else { None };
        let mut pass = match kept {
            Some(p) => p,
            None => {
                self.reckon_costs(mem, req);
                self.begin(mem, req)
            }
        };
        let mut out = ReclaimOutcome::default();
        let began = mem.acting.now;
        let follows = pass.idle_until.take() == Some(began);
        loop {
            if pass.pool == InPool::Takes {
                let s = self.take_from_pool(mem, req, &mut pass.pool, pass.reclaimed);
                pass.reclaimed += s.reclaimed;
                (out.reclaimed, out.scanned) =
                    (out.reclaimed + s.reclaimed, out.scanned + s.scanned);
                out.stats.add(&s.pass);
                if req.one_step {
                    out.more = true;
                    break;
                }
                continue;
            }
            let enough = pass.pool == InPool::Enough;
            while !enough && pass.work.is_none() && !self.next_memcg(mem, req, &mut pass) {
                let Some(scope) = self.wanted_below(mem, req, pass.scope.0) else { break };
                self.enter(mem, req, &mut pass, scope);
            }
            if pass.work.is_none() {
                if self.pool.is_some() && self.begins_fill(mem, req, &mut pass.pool) {
                    let first = self.wanted_below(mem, req, u8::MAX).expect("some zone");
                    self.enter(mem, req, &mut pass, first);
                    continue;
                }
                break;
            }
            self.fills(matches!(pass.pool, InPool::Fills(_)));
            self.round(mem, req, &mut pass, &mut out);
            self.fills(false);
            if pass.work.is_none() {
                // A walk that others go on with ends as soon as there is enough.
                if pass.walk.is_shared() && req.reclaimed + pass.reclaimed >= req.target {
                    break;
                }
            }
            // A small group at a high priority: nothing was scanned and no time went by. Behind a step
            // like that no other thread can act before the next group, and the step goes on.
            let idle = pass.work.is_none() && out.scanned == 0 && mem.is_still(began);
            if idle && follows {
                continue;
            }
            if req.one_step && (pass.work.is_some() || self.goes_on(mem, req, &pass)) {
                pass.idle_until = idle.then_some(began);
                out.more = true;
                break;
            }
        }
        out.skipped_deactivate = pass.skipped_deactivate;
        out.low_skipped = pass.low_skipped;
        if out.more {
            self.passes[req.node][place] = Some(pass);
        } else {
            out.cache_trim_failed = self.config.kswapd_retry_without_cache_trim
                && pass.control.cache_trim
                && pass.reclaimed == 0;
            self.ended = Some(pass);
        }
        out
    }

    #[inline(never)]
    fn begin(&mut self, mem: &Memory, req: &ReclaimRequest) -> Box<Pass> {
        let all = u8::MAX;
        let scope = self.wanted_below(mem, req, all).expect("a request wants some zone");
        let pass = Pass {
            scope,
            control: self.control(mem, req, scope, target(req)),
            walk: self.walk_of(mem, req, scope),
            work: None,
            reclaimed: 0,
            pool: if self.pool.is_some() { InPool::Takes } else { InPool::None },
            skipped_deactivate: false,
            low_skipped: false,
            idle_until: None,
        };
        // In the memory of one that has ended.
        match self.ended.take() {
            Some(mut ended) => {
                *ended = pass;
                ended
            }
            None => Box::new(pass),
        }
    }

    /// Takes the cost of reclaim until now, which decides how this pass divides its scans (7.3).
    fn reckon_costs(&mut self, mem: &Memory, req: &ReclaimRequest) {
        if self.config.balance_model == BalanceModel::Cost73 {
            self.flush_stats(mem);
            for scope in self.scopes_of(mem, req.node).map(LruScope) {
                let pages = self.seen_sizes(mem, scope, target(req)).iter().sum();
                let lv = self.lruvec_at(scope, target(req));
                self.lruvecs[lv].cost.begin_pass(pages);
            }
        }
    }

    /// The highest scope below `above` that a request concerns.
    fn wanted_below(&self, mem: &Memory, req: &ReclaimRequest, above: u8) -> Option<LruScope> {
        let wanted = |&a: &u8| a < above && (!self.by_zone || req.wants(mem.zones[ZoneId(a)].kind));
        self.scopes_of(mem, req.node).rev().find(wanted).map(LruScope)
    }

    /// A pass goes on with the memcgs of a scope.
    fn enter(&mut self, mem: &Memory, req: &ReclaimRequest, pass: &mut Pass, scope: LruScope) {
        pass.walk = self.walk_of(mem, req, scope);
        pass.scope = scope;
        pass.control = self.control(mem, req, scope, target(req));
    }

    /// The walk over the memcgs of a scope. kswapd visits all of them; others share out a cycle.
    fn walk_of(&self, mem: &Memory, req: &ReclaimRequest, scope: LruScope) -> GroupWalk {
        let kswapd = matches!(req.by, Reclaimer::Kswapd);
        let shares = mem.given.rules.shared_walks && !kswapd && !req.full_walk;
        match shares && !self.ids.only_root() {
            true => mem.memcgs.walk_shared(target(req), scope.0),
            false => mem.memcgs.walk_all(target(req)),
        }
    }

    /// True if there are memcgs or scopes left.
    fn goes_on(&self, mem: &Memory, req: &ReclaimRequest, pass: &Pass) -> bool {
        mem.memcgs.goes_on(&pass.walk) || self.wanted_below(mem, req, pass.scope.0).is_some()
    }

    /// State of a pass over a memory cgroup: the one that reclaim is about, or the one that it
    /// visits (`inactive-ratio-scope`).
    #[inline(never)] // Once a pass or a group; its values are in no round's way.
    fn control(
        &self,
        mem: &Memory,
        req: &ReclaimRequest,
        scope: LruScope,
        memcg: MemcgId,
    ) -> Control {
        let s = self.balanced(mem, scope, memcg);
        let may = |t| self.opens(mem, req, scope, memcg, (&s, t));
        let may_deactivate = PerType::new([may(ANON), may(FILE)]);
        let priority = u32::from(req.priority);
        let closes_trim = if self.config.trim_ignores_refaults {
            let s = scaled(s, mem.given.scale_shift);
            formulas::inactive_is_low(s[INACTIVE_FILE], s[ACTIVE_FILE])
        } else {
            may_deactivate[FILE]
        };
        let cache_trim = !req.no_cache_trim
            && formulas::cache_trim_mode(s[INACTIVE_FILE], priority, closes_trim);
        let file_is_tiny = target(req).0 == 0 && {
            let (file, free, high) = self.file_and_free(mem, req.node, scope);
            formulas::file_is_tiny(
                file,
                free,
                high,
                s[INACTIVE_ANON],
                priority,
                may_deactivate[ANON],
            )
        };
        Control { may_deactivate, cache_trim, file_is_tiny }
    }

    /// File pages of all groups, free pages, and the high watermarks of a scope.
    #[inline]
    pub(super) fn file_and_free(
        &self,
        mem: &Memory,
        node: NodeId,
        scope: LruScope,
    ) -> (u64, u64, u64) {
        let all = self.sizes(mem, scope, MemcgId(0));
        let (mut free, mut high) = (0, 0);
        for &z in mem.zones.of_node(node) {
            if !self.by_zone || z.0 == scope.0 {
                let zone = &mem.zones[z];
                free += zone.free;
                high += zone.watermark[2] + zone.boost;
            }
        }
        (all[INACTIVE_FILE] + all[ACTIVE_FILE], free, high)
    }

    /// True if the active list of a type is open: the inactive one is low, or refaults were
    /// activated since the last reclaim (`inactive_is_low`, before 5.5 `inactive_list_is_low`).
    fn may_deactivate(
        &self,
        mem: &Memory,
        req: &ReclaimRequest,
        scope: LruScope,
        memcg: MemcgId,
        t: LruType,
    ) -> bool {
        self.opens(mem, req, scope, memcg, (&self.balanced(mem, scope, memcg), t))
    }

    /// The same, where the sizes of the lists are known.
    #[inline]
    fn opens(
        &self,
        mem: &Memory,
        req: &ReclaimRequest,
        scope: LruScope,
        memcg: MemcgId,
        (sizes, t): (&PerList, LruType),
    ) -> bool {
        if req.force_deactivate {
            return true;
        }
        let s = scaled(*sizes, mem.given.scale_shift);
        let low = if t == ANON {
            let ratio = self.config.anon_ratio;
            formulas::inactive_anon_is_low(ratio, s[INACTIVE_ANON], s[ACTIVE_ANON])
        } else {
            formulas::inactive_is_low(s[INACTIVE_FILE], s[ACTIVE_FILE])
        };
        let before = self.lruvecs[self.lruvec_at(scope, memcg)].snapshot[t];
        low || self.activations_of(mem, scope, memcg, t) != before
    }

    /// True if a memory cgroup's inactive anonymous list is too short beside the active one.
    pub(super) fn inactive_anon_is_low(
        &self,
        mem: &Memory,
        scope: LruScope,
        memcg: MemcgId,
    ) -> bool {
        let s = scaled(self.balanced(mem, scope, memcg), mem.given.scale_shift);
        formulas::inactive_anon_is_low(
            self.config.anon_ratio,
            s[formulas::INACTIVE_ANON],
            s[formulas::ACTIVE_ANON],
        )
    }

    /// The lists of a memory cgroup whose sizes are compared.
    #[inline]
    pub(super) fn balanced(&self, mem: &Memory, scope: LruScope, memcg: MemcgId) -> PerList {
        match self.config.inactive_ratio_scope {
            InactiveRatioScope::Target => self.seen_sizes(mem, scope, memcg),
            InactiveRatioScope::Lruvec => {
                let lists = self.lruvecs[self.lruvec_at(scope, memcg)].lists;
                [0, 1, 2, 3].map(|l| mem.lru.lists.len(lists[l]))
            }
        }
    }

    /// Goes on to the next group that is not protected. False: there is none.
    #[inline(never)] // Once a pass; what it computes is in no round's way.
    fn next_memcg(&mut self, mem: &mut Memory, req: &ReclaimRequest, pass: &mut Pass) -> bool {
        while let Some(memcg) = mem.next_group(&mut pass.walk) {
            match mem.protection_from(req, memcg) {
                Some(Within::Min) => continue,
                Some(Within::Low) if !req.low_reclaim => {
                    pass.low_skipped = true;
                    continue;
                }
                Some(Within::Low) => mem.memcgs.event(memcg, MemcgEvent::Low, 1),
                None => {}
            }
            let protection = mem.protected_pages(req, memcg);
            pass.low_skipped |= protection.is_some_and(|p| p.by_low);
            let usage = mem.memcgs[memcg].usage;
            if self.config.inactive_ratio_scope == InactiveRatioScope::Lruvec {
                pass.control = self.control(mem, req, pass.scope, memcg);
            }
            let fill;
            let asked = match pass.pool {
                InPool::Fills(want) => {
                    fill = self.fill_request(mem, req, want);
                    &fill
                }
                _ => req,
            };
            let (sizes, (mut nr, lazyfree)) =
                self.scan_count(mem, asked, pass, memcg, protection, usage);
            if let InPool::Fills(want) = pass.pool {
                nr = pool::cut(nr, want);
            }
            pass.work = Some(Work {
                lv: self.lruvec_at(pass.scope, memcg),
                nr,
                lazyfree,
                sizes,
                targets: nr,
                scanned: PerType::default(),
                reclaimed: PerType::default(),
                adjusted: false,
                asking: self.asking(memcg, nr[INACTIVE_FILE], sizes[INACTIVE_FILE]),
                by_chooser: 0,
            });
            return true;
        }
        false
    }

    /// The sizes of a memcg's lists, and how much of each the pass shall scan; last of lazily freed
    /// pages, if they have a list.
    fn scan_count(
        &mut self,
        mem: &Memory,
        req: &ReclaimRequest,
        pass: &Pass,
        memcg: MemcgId,
        protection: Option<Spared>,
        usage: u64,
    ) -> (PerList, (PerList, u64)) {
        let priority = u32::from(req.priority);
        let control = &pass.control;
        let lv = self.lruvec_at(pass.scope, memcg);
        let can_swap = req.may_swap && mem.can_swap(memcg);
        let mode = formulas::scan_mode(ScanModeInput {
            can_swap,
            memcg_reclaim: target(req).0 != 0,
            swappiness: req.swappiness(&mem.given.vm),
            priority,
            file_is_tiny: control.file_is_tiny,
            cache_trim_mode: control.cache_trim,
        });
        let mut sizes: PerList = [0; 4];
        for &z in mem.zones.of_node(req.node) {
            if req.wants(mem.zones[z].kind) {
                for (size, &list) in sizes.iter_mut().zip(&self.lruvecs[lv].lists) {
                    *size += mem.lru.lists.len_in(list, z);
                }
            }
        }
        let base_of = |s| match protection {
            Some(p) => formulas::scan_base_protected(s, priority, p.pages, usage),
            None => formulas::scan_base(s, priority),
        };
        let mut base = [base_of(sizes[0]), base_of(sizes[1]), base_of(sizes[2]), base_of(sizes[3])];
        let mut rounding = self.config.scan_rounding;
        if memcg != MemcgId(0) && !mem.memcgs.is_online(memcg) {
            // What a removed group left is scraped out, however little it is.
            for (base, size) in base.iter_mut().zip(sizes).filter(|(base, _)| **base == 0) {
                *base = size.min(self.cluster);
            }
            rounding = ScanRounding::Up;
        }
        if !can_swap && req.anon_only() && !mem.given.rules.anon_only_falls_back {
            return (sizes, ([0; 4], 0));
        }
        let rotates = self.config.balance_model == BalanceModel::Rotate;
        if base == [0; 4] && self.own.is_none() && !rotates {
            // No share of nothing is a page: a small group at a high priority.
            return (sizes, ([0; 4], 0));
        }
        let swappiness = req.swappiness(&mem.given.vm).min(200);
        let fractions = if rotates {
            let own = [0, 1, 2, 3].map(|l| mem.lru.lists.len(self.lruvecs[lv].lists[l]));
            let r = &mut self.lruvecs[lv].rotate;
            if mode == ScanMode::Fract {
                r.decay(own[0] + own[1], own[2] + own[3]);
            }
            r.fractions(swappiness)
        } else {
            // The costs are those of the level that is reclaimed.
            self.lruvecs[self.lruvec_at(pass.scope, target(req))].cost.fractions(swappiness)
        };
        if mode == ScanMode::Fract && fractions.denominator == 0 {
            return (sizes, ([0; 4], 0));
        }
        let nr = formulas::scan_targets(mode, base, fractions, rounding);
        if self.own.is_none() {
            return (sizes, (nr, 0));
        }
        (sizes, self.lazyfree_target(mem, req, lv, (mode, base, fractions), nr))
    }

    /// One round over the lists of the current lruvec; the last one ends its work.
    #[inline(never)]
    fn round(
        &mut self,
        mem: &mut Memory,
        req: &ReclaimRequest,
        pass: &mut Pass,
        out: &mut ReclaimOutcome,
    ) {
        let w = pass.work.as_mut().expect("a round needs an lruvec");
        if w.asking.is_some() {
            return self.ask_round(mem, req, pass, out);
        }
        let left = |w: &Work| {
            w.nr[INACTIVE_ANON] + w.nr[INACTIVE_FILE] + w.nr[ACTIVE_FILE] + w.lazyfree > 0
        };
        let mut goes_on = left(w);
        if goes_on {
            for l in 0..4 {
                if w.nr[l] == 0 {
                    continue;
                }
                let n = w.nr[l].min(self.cluster);
                w.nr[l] -= n;
                let file = l >= INACTIVE_FILE;
                if l % 2 == 1 {
                    let t = LruType::of(file);
                    let at_root = self.config.inactive_ratio_scope == InactiveRatioScope::Target;
                    let open = if at_root {
                        pass.control.may_deactivate[t]
                    } else {
                        self.may_deactivate(mem, req, pass.scope, self.ids.memcg(w.lv), t)
                    };
                    if open {
                        self.shrink_active(mem, w.lv, file, n, req);
                    } else {
                        pass.skipped_deactivate |= at_root;
                    }
                } else {
                    let s = self.shrink_inactive(mem, w.lv, file, n, req);
                    pass.reclaimed += s.reclaimed;
                    w.note(LruType::of(file), &s, out);
                }
            }
            if w.lazyfree > 0 {
                let n = w.lazyfree.min(self.cluster);
                w.lazyfree -= n;
                let s = self.shrink_lazyfree(mem, w.lv, n, req);
                pass.reclaimed += s.reclaimed;
                w.note(FILE, &s, out);
            }
            let proportional = matches!(req.by, Reclaimer::Direct) && req.priority == DEF_PRIORITY;
            let once = w.adjusted && !self.config.stop_after_adjust;
            if w.reclaimed[ANON] + w.reclaimed[FILE] >= req.target && !proportional && !once {
                goes_on = match formulas::adjust_round(&mut w.nr, &w.targets) {
                    RoundEnd::Stop => false,
                    RoundEnd::Adjusted => {
                        w.adjusted = true;
                        true
                    }
                };
            }
            goes_on &= left(w);
        }
        if !goes_on {
            let w = pass.work.take().expect("its round was executed");
            self.end_lruvec(mem, req, w);
        }
    }

    /// The last round over the lists of an lruvec is over.
    fn end_lruvec(&mut self, mem: &mut Memory, req: &ReclaimRequest, w: Work) {
        // Even if the active list was closed: keep it from outgrowing the inactive one.
        let (lv, memcg, scope) = (w.lv, self.ids.memcg(w.lv), self.scope_of_lruvec(w.lv));
        self.note_lruvec(mem, req, &w);
        if mem.has_swap() && self.inactive_anon_is_low(mem, scope, memcg) {
            self.shrink_active(mem, lv, false, self.cluster, req);
        }
        self.shrink_others(mem, req, memcg);
    }

    /// A chooser has done the work on an lruvec: its lists stay as they are.
    pub(super) fn leave_lruvec(&mut self, mem: &mut Memory, req: &ReclaimRequest, w: Work) {
        self.note_lruvec(mem, req, &w);
        self.shrink_others(mem, req, self.ids.memcg(w.lv));
    }

    /// Tells what came of the work on an lruvec.
    fn note_lruvec(&mut self, mem: &mut Memory, req: &ReclaimRequest, w: &Work) {
        let (node, memcg) = (req.node, self.ids.memcg(w.lv));
        let Work { sizes, targets, scanned, reclaimed, .. } = *w;
        if !self.choosers.is_empty() {
            self.note_fallback(memcg, reclaimed[FILE] - w.by_chooser);
        }
        mem.emit(|| TraceEvent::SimShrinkLruvec {
            node,
            memcg,
            kswapd: matches!(req.by, Reclaimer::Kswapd),
            priority: req.priority,
            sizes,
            targets,
            scanned: [scanned[ANON], scanned[FILE]],
            reclaimed: [reclaimed[ANON], reclaimed[FILE]],
        });
    }

    /// Shrinks what else a group has.
    fn shrink_others(&mut self, mem: &mut Memory, req: &ReclaimRequest, memcg: MemcgId) {
        if memcg == MemcgId(0) && mem.shadow_nodes_listed() > 0 {
            let pages = self.pages_for_shadows(mem);
            mem.limit_shadow_nodes(shrink::shadow_nodes_allowed(pages), req.priority);
        }
        mem.shrink_compressed(memcg, req.node, req);
    }

    /// The pages whose number limits the root group's shadow nodes: its own, or all that can be
    /// reclaimed. Nothing that the kernel allocates for itself is charged to the root group.
    /// Without cgroups, as in the kernel, it is all memory.
    fn pages_for_shadows(&self, mem: &Memory) -> u64 {
        if self.ids.only_root() {
            return mem.zones.ids().map(|z| u64::from(mem.zones[z].managed)).sum();
        }
        let of = |v: &Lruvec| v.lists.iter().map(|&l| mem.lru.lists.len(l)).sum::<u64>();
        let all = self.lruvecs.iter();
        match self.config.shadow_limit_scope {
            ShadowLimitScope::Memcg => all.step_by(self.ids.nr_memcgs()).map(of).sum(),
            ShadowLimitScope::Node => {
                all.map(of).sum::<u64>() + mem.kernel.slab_frames.len() as u64
            }
        }
    }
}

/// The group whose limit is enforced; the root in global reclaim.
fn target(req: &ReclaimRequest) -> MemcgId {
    match req.by {
        Reclaimer::Limit(m) | Reclaimer::Proactive(m) => m,
        _ => MemcgId(0),
    }
}
