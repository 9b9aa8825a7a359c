//! Allocation by a thread, and the direct reclaim of one that finds no frame.
//!
//! The slow path between them is in `slow_path`, compaction in `compaction::direct`, limits of
//! groups in `memcg`.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`__alloc_pages`), mm/vmscan.c (`do_try_to_free_pages`,
//! `throttle_direct_reclaim`, `should_continue_reclaim`).

use crate::base::id::{Idx as _, MemcgId, NodeId, Pfn, ThreadId};
use crate::base::rules::MemcgCharges;
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::{ZoneKind, node_of_cpu};
use crate::machine::Machine;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::thread::Wait;
use crate::machine::reclaim::kswapd::pass_flags;
use crate::memory::trace::TraceEvent;
use crate::phys::gfp::{AllocFlags, AllocRequest, GfpFlags, PAGE_ALLOC_COSTLY_ORDER};
use crate::phys::watermarks::Mark;
use crate::policy::{ReclaimOutcome, ReclaimRequest, SWAP_CLUSTER_MAX};

/// Shortest wait of a reclaimer that freed nothing.
pub(in crate::machine) const TICK: SimDuration = SimDuration::from_millis(1);

/// Result of an allocation of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum AllocOutcome {
    /// A frame.
    Frame(Pfn),
    /// The thread has to wait and then to try its access anew.
    Blocked,
    /// The thread's process was killed.
    Killed,
    /// There is none, and the request may fail.
    Failed,
}

/// A direct reclaim under way.
struct Direct<'a> {
    tid: ThreadId,
    req: &'a AllocRequest,
    node: NodeId,
    /// Pages freed.
    freed: u64,
    /// Active folios are deactivated whatever the ratios say.
    force: bool,
    /// Groups below `memory.low` are reclaimed from too.
    low: bool,
    /// The last walk spared some for want of the first, or of the second.
    skipped_deactivate: bool,
    skipped_low: bool,
    full_walk: bool,
    /// It was broken off for compaction.
    aborted: bool,
}

impl<'a> Direct<'a> {
    fn begin(tid: ThreadId, req: &'a AllocRequest, node: NodeId) -> Self {
        Direct {
            tid,
            req,
            node,
            freed: 0,
            force: false,
            low: false,
            skipped_deactivate: false,
            skipped_low: false,
            full_walk: false,
            aborted: false,
        }
    }
}

impl Machine {
    /// A frame for a page of the thread's process, charged to its group.
    pub(in crate::machine) fn alloc_user(&mut self, tid: ThreadId) -> AllocOutcome {
        self.alloc_user_in(tid, self.work.threads[tid].memcg)
    }

    /// The same for a page that belongs to another group: it was that group's when it was swapped out.
    pub(in crate::machine) fn alloc_user_in(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
    ) -> AllocOutcome {
        let got = self.alloc_within_limits(tid, memcg, &AllocRequest::USER);
        if let AllocOutcome::Frame(pfn) = got {
            self.mem.frames.set_memcg(pfn, memcg);
            self.charge(tid, memcg, 1);
        }
        got
    }

    /// A frame that fits under the limits of a group, not charged yet.
    fn alloc_within_limits(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
        request: &AllocRequest,
    ) -> AllocOutcome {
        let pfn = match self.alloc(tid, request) {
            AllocOutcome::Frame(p) => p,
            other => return other,
        };
        if let Err(level) = self.reclaim_for_limit(tid, memcg, 1, request.flags) {
            self.mem.free_frame(pfn);
            if self.wait_for_clean_pages(tid, level) {
                return AllocOutcome::Blocked;
            }
            return self.out_of_memory(tid, Some(level));
        }
        AllocOutcome::Frame(pfn)
    }

    /// A frame for a page table of the thread's process.
    pub(in crate::machine) fn alloc_table(&mut self, tid: ThreadId) -> AllocOutcome {
        match self.mem.given.rules.memcg_charges {
            MemcgCharges::Exact => self.alloc(tid, &AllocRequest::KERNEL),
            MemcgCharges::Kernel => {
                let memcg = self.work.threads[tid].memcg;
                self.alloc_within_limits(tid, memcg, &AllocRequest::KERNEL)
            }
        }
    }

    /// The node that a CPU allocates from first.
    pub(in crate::machine) fn home_node(&self) -> NodeId {
        let nodes = self.mem.zones.nr_nodes();
        if nodes == 1 {
            return NodeId(0);
        }
        node_of_cpu(self.mem.acting.cpu.index(), self.sched.cpus.len(), nodes)
    }

    /// A block for whatever request.
    #[inline]
    pub(in crate::machine) fn alloc(&mut self, tid: ThreadId, req: &AllocRequest) -> AllocOutcome {
        let node = self.home_node();
        if let Some(p) = self.mem.try_alloc(node, req, Some(Mark::Low)) {
            let t = &mut self.work.threads[tid];
            (t.no_progress, t.tries) = (0, None);
            self.work_off_boost();
            return AllocOutcome::Frame(p);
        }
        self.alloc_slowly(tid, req, node)
    }

    /// Wakes kswapd for a zone whose watermarks were raised because types were mixed.
    #[inline]
    pub(in crate::machine) fn work_off_boost(&mut self) {
        if let Some((node, kind)) = self.mem.acting.boosted {
            self.mem.acting.boosted = None;
            self.wake_kswapd(node, 0, kind);
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_slowly(&mut self, tid: ThreadId, req: &AllocRequest, node: NodeId) -> AllocOutcome {
        let got = self.slow_path(tid, req, node);
        if got != AllocOutcome::Blocked {
            let t = &mut self.work.threads[tid];
            (t.no_progress, t.tries) = (0, None);
        }
        let nofail = req.flags.has(GfpFlags::NOFAIL) && !req.flags.atomic();
        if got != AllocOutcome::Failed || !nofail {
            return got;
        }
        // Some access to the reserves, and else another round for ever.
        let flags = AllocFlags { min_reserve: true, ..AllocFlags::default() };
        if let Some(p) = self.mem.get_page_from_freelist(node, req, Some(Mark::Min), flags) {
            return AllocOutcome::Frame(p);
        }
        self.sleep(tid, TICK, true);
        AllocOutcome::Blocked
    }

    /// A frame for a page that is read ahead (`__GFP_NORETRY`), charged to a group: one direct reclaim
    /// at most, two for the limit of the group, no waiting, no killing. `None`: the page is not worth it.
    pub(in crate::machine) fn alloc_speculative(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
    ) -> Option<Pfn> {
        let (req, node) = (&AllocRequest::READAHEAD, self.home_node());
        let low = self.mem.try_alloc(node, req, Some(Mark::Low));
        self.work_off_boost();
        let pfn = low.or_else(|| {
            self.wake_kswapds(req);
            self.mem.try_alloc(node, req, Some(Mark::Min)).or_else(|| {
                if !self.allow_direct_reclaim(node) {
                    return None;
                }
                self.stall_in_direct_reclaim(tid, req, node);
                self.mem.try_alloc(node, req, Some(Mark::Min))
            })
        })?;
        if self.reclaim_for_limit(tid, memcg, 1, req.flags).is_err() {
            self.mem.free_frame(pfn);
            return None;
        }
        self.mem.frames.set_memcg(pfn, memcg);
        self.charge(tid, memcg, 1);
        Some(pfn)
    }

    /// Direct reclaim with its stall accounted. Returns the pages freed.
    pub(super) fn stall_in_direct_reclaim(
        &mut self,
        tid: ThreadId,
        req: &AllocRequest,
        node: NodeId,
    ) -> u64 {
        let begin = self.mem.acting.now;
        let reclaimed = self.direct_reclaim(tid, req, node);
        self.record.latency[2].add(self.mem.acting.now.since(begin));
        self.psi_stalled(tid, begin);
        self.mem.count(VmEvent::SimDirectReclaimNs, self.mem.acting.now.since(begin).0);
        self.course.watchdog.tried(false);
        reclaimed
    }

    /// The emergency brake: below half of the min watermarks allocators wait for kswapd.
    pub(super) fn throttled(&mut self, tid: ThreadId, node: NodeId) -> bool {
        if self.daemons.kswapds[node].hopeless() || self.allow_direct_reclaim(node) {
            return false;
        }
        self.mem.count(VmEvent::PgScanDirectThrottle, 1);
        self.block(tid, Wait::Pfmemalloc(node), true);
        self.daemons.kswapds[node].throttled.push(tid);
        true
    }

    pub(in crate::machine) fn allow_direct_reclaim(&self, node: NodeId) -> bool {
        let (mut free, mut min) = (0, 0);
        for &z in self.mem.zones.of_node(node) {
            let z = &self.mem.zones[z];
            if z.kind <= ZoneKind::Normal {
                free += z.free;
                min += z.watermark[0];
            }
        }
        min == 0 || free > min / 2
    }

    /// One direct reclaim: priorities 12 down to 0 until 32 pages were freed. Returns the
    /// pages freed.
    fn direct_reclaim(&mut self, tid: ThreadId, req: &AllocRequest, node: NodeId) -> u64 {
        let stall = match req.highest {
            ZoneKind::Dma => VmEvent::AllocStallDma,
            ZoneKind::Dma32 => VmEvent::AllocStallDma32,
            ZoneKind::Normal => VmEvent::AllocStallNormal,
            ZoneKind::Movable => VmEvent::AllocStallMovable,
        };
        self.give_way(tid);
        self.mem.emit(|| TraceEvent::MmVmscanDirectReclaimBegin { thread: tid, order: req.order });
        self.mem.acting.now += self.mem.given.cost.t_direct_reclaim_entry;
        let mut d = Direct::begin(tid, req, node);
        let mut again = self.mem.given.rules.reclaim_walks_again;
        loop {
            self.mem.count(stall, 1);
            self.tell_of_stall(tid, req, node);
            self.reclaim_harder(&mut d);
            for n in self.nodes_from(node) {
                self.policies.lru.reclaim_ended(&mut self.mem, n, None);
            }
            if d.freed > 0 || d.aborted {
                break;
            }
            // The first walk may have been over a part of the groups.
            if std::mem::take(&mut again) {
                d.full_walk = true;
                continue;
            }
            if d.skipped_deactivate && !d.force {
                d.force = true;
            } else if d.skipped_low && !d.low {
                self.mem.count(VmEvent::SimMemcgLowRounds, 1);
                (d.low, d.force) = (true, false);
            } else {
                break;
            }
        }
        self.queue_io();
        let nr_reclaimed = d.freed;
        self.mem.emit(|| TraceEvent::MmVmscanDirectReclaimEnd { thread: tid, nr_reclaimed });
        // Broken off for compaction: that is progress too.
        d.freed.max(d.aborted.into())
    }

    /// Reclaims with more and more effort until enough is freed.
    fn reclaim_harder(&mut self, d: &mut Direct<'_>) {
        (d.skipped_deactivate, d.skipped_low) = (false, false);
        let mut priority = self.first_priority();
        loop {
            let ready = self.reclaim_from_nodes(d, priority);
            d.aborted |= ready;
            let enough = self.config.batch(SWAP_CLUSTER_MAX);
            if d.freed >= enough || ready || priority == 0 {
                return;
            }
            priority -= 1;
        }
    }

    /// Reclaims from each node at a priority. True: some zone is ready for compaction.
    fn reclaim_from_nodes(&mut self, d: &mut Direct<'_>, priority: u8) -> bool {
        let &mut Direct { tid, req, node, .. } = d;
        // Without input and output only what is clean can go.
        let may_io = req.flags.has(GfpFlags::IO);
        let mut ready = false;
        for n in self.nodes_from(node) {
            for (lowest, highest) in self.zones_to_reclaim(n, req, &mut ready).into_iter().flatten()
            {
                let pass = ReclaimRequest {
                    priority,
                    order: req.order,
                    lowest,
                    target: self.config.batch(SWAP_CLUSTER_MAX),
                    reclaimed: d.freed,
                    may_writepage: may_io,
                    may_swap: may_io,
                    may_io,
                    force_deactivate: d.force,
                    low_reclaim: d.low,
                    full_walk: d.full_walk,
                    ..ReclaimRequest::direct(n, highest)
                };
                let out = self.pass(tid, &pass);
                d.freed += out.reclaimed;
                d.skipped_deactivate |= out.skipped_deactivate;
                d.skipped_low |= out.low_skipped;
                if out.reclaimed > 0 {
                    self.note_progress(n, req.order, req.highest);
                }
            }
        }
        ready
    }

    /// From which zones of a node direct reclaim takes pages, in one pass for each range. No range:
    /// the node is left alone, since it has no zone that the request may use (`shrink_zones` walks
    /// those alone), or all of them are ready for compaction. `ready`: some zone is.
    fn zones_to_reclaim(
        &mut self,
        n: NodeId,
        req: &AllocRequest,
        ready: &mut bool,
    ) -> [Option<(ZoneKind, ZoneKind)>; ZoneKind::ALL.len()] {
        let mut ranges = [None; ZoneKind::ALL.len()];
        if self.mem.zones.preferred(n, req.highest).is_none() {
            return ranges;
        }
        let whole = [Some((ZoneKind::Dma, req.highest)), None, None, None];
        if !req.costly() || self.compaction().is_none() {
            return whole;
        }
        let mut any = false;
        for i in (0..self.mem.zones.of_node(n).len()).rev() {
            let z = self.mem.zones.of_node(n)[i];
            let kind = self.mem.zones[z].kind;
            if kind > req.highest {
                continue;
            }
            if self.compaction_ready(z, req) {
                *ready = true;
            } else {
                // The highest first.
                ranges[ZoneKind::ALL.len() - 1 - kind as usize] = Some((kind, kind));
                any = true;
            }
        }
        // A list of the node gives from all zones if one is not ready.
        if self.mem.given.rules.lru_by_zone || !any { ranges } else { whole }
    }

    /// A whole pass in steps, with the interrupts that fall between them; for orders above 0
    /// as many passes as it takes until compaction could go on from there.
    pub(in crate::machine) fn pass(
        &mut self,
        tid: ThreadId,
        req: &ReclaimRequest,
    ) -> ReclaimOutcome {
        let mut all = ReclaimOutcome::default();
        let mut req = *req;
        let mut freed = 0;
        loop {
            self.mem.start_plug(&mut self.step.plug);
            self.zswap_worker_may_preempt();
            let out = self.policies.lru.reclaim(&mut self.mem, &req);
            self.zswap_worker_ran();
            self.mem.end_step();
            if !out.more {
                self.mem.shrink_split_queues(&mut *self.policies.lru, &req);
                self.mem.acting.now += self.mem.given.cost.t_shrink_node;
            }
            self.mem.end_plug(&mut self.step.plug);
            if !out.more {
                self.mem.finish_plug(&mut self.step.plug);
            }
            self.mem.finish_throttled(&mut self.step.plug);
            self.interrupts();
            match self.mem.take_throttled() {
                Some(until) => self.sleep_amid_step(tid, until),
                None => self.give_way(tid),
            }
            if out.wakes_flusher {
                self.wake_flushers();
            }
            all.add(&out);
            freed += out.reclaimed;
            if out.more {
                continue;
            }
            if !self.should_continue_reclaim(&req, freed) {
                return all;
            }
            req.reclaimed += freed;
            freed = 0;
        }
    }

    /// True if a pass for an order above 0 is repeated: the last one freed something, but no zone
    /// can serve the request or compact for it yet, and there is enough left to reclaim.
    pub(in crate::machine) fn should_continue_reclaim(
        &self,
        req: &ReclaimRequest,
        freed: u64,
    ) -> bool {
        let pressed = req.order > PAGE_ALLOC_COSTLY_ORDER
            || req.order > 0 && req.priority < self.first_priority().saturating_sub(2);
        if !pressed || freed == 0 {
            return false;
        }
        let [anon, file] = self.policies.lru.inactive(&self.mem, req.node);
        let anon = if self.mem.can_swap(MemcgId(0)) { anon } else { 0 };
        let much = file + anon > 2 << req.order;
        let goes_on = self.mem.given.rules.pass_goes_on_by_amount;
        if goes_on && much && req.reclaimed + freed < 2 << req.order {
            return true;
        }
        let ready = self.mem.zones.of_node(req.node).iter().any(|&z| {
            let zone = &self.mem.zones[z];
            req.wants(zone.kind)
                && (zone.allows(req.order, Mark::Min, req.highest, AllocFlags::default())
                    || zone.compaction_suitable(req.order, Mark::Min, req.highest))
        });
        !ready && much
    }

    pub(in crate::machine) fn nodes_from(
        &self,
        node: NodeId,
    ) -> impl Iterator<Item = NodeId> + use<> {
        let n = self.mem.zones.nr_nodes();
        (0..n).map(move |k| NodeId(((node.0 as usize + k) % n) as u8))
    }

    pub(in crate::machine) fn first_priority(&self) -> u8 {
        self.config.starts_at()
    }

    /// Puts a thread to sleep for a while; `memory`: it is throttled for memory.
    pub(in crate::machine) fn sleep(&mut self, tid: ThreadId, d: SimDuration, memory: bool) {
        self.events.timer_generation += 1;
        let g = self.events.timer_generation;
        self.block(tid, Wait::Timer(g), memory);
        self.events.queue.push(self.mem.acting.now + d, Event::Wake(tid, g));
    }

    /// Conditions that a whole pass met decide how the next ones go.
    pub(in crate::machine) fn note_pass(
        &mut self,
        node: NodeId,
        stats: &crate::policy::PassStats,
    ) -> bool {
        pass_flags(&mut self.mem.lru.node_flags[node], stats)
    }

    /// `SimTime` of the acting clock.
    pub(in crate::machine) fn now(&self) -> SimTime {
        self.mem.acting.now
    }
}
