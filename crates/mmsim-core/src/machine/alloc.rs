//! The allocation slow path: wake kswapd, dip below the low
//! watermark, reclaim directly, retry, and in the end kill somebody.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`__alloc_pages_slowpath`, `should_reclaim_retry`),
//! mm/vmscan.c (`do_try_to_free_pages`, `throttle_direct_reclaim`), mm/memcontrol.c
//! (`try_charge_memcg`). Left out: compaction and orders above 0, which come with them.

use super::config::ZoneKind;
use super::kswapd::pass_flags;
use super::queue::Event;
use super::thread::Wait;
use super::{Machine, OomSummary};
use crate::base::event::TraceEvent;
use crate::base::id::{AsId, MemcgId, NodeId, Pfn, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::phys::zones::Mark;
use crate::policy::{ReclaimOutcome, ReclaimPolicy, ReclaimRequest, Reclaimer};

const MAX_RECLAIM_RETRIES: u32 = 16;
const SWAP_CLUSTER_MAX: u64 = 32;
/// Shortest and longest wait of a reclaimer that freed nothing.
const TICK: SimDuration = SimDuration::from_millis(1);
const NO_PROGRESS: SimDuration = SimDuration::from_millis(500);
pub(super) const DEF_PRIORITY: u8 = 12;

/// What came of asking for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Got {
    /// A frame.
    Frame(Pfn),
    /// The thread has to wait and then to try its access anew.
    Blocked,
    /// The thread's process was killed.
    Killed,
}

impl<P: ReclaimPolicy> Machine<P> {
    /// A frame for a page of the thread's process, charged to its group.
    pub(super) fn alloc_user(&mut self, tid: ThreadId) -> Got {
        let memcg = self.threads[tid].memcg;
        let pfn = match self.alloc(tid, ZoneKind::Movable) {
            Got::Frame(p) => p,
            other => return other,
        };
        if memcg.0 != 0 && !self.mem.memcgs.fits(memcg) && !self.reclaim_for_limit(memcg) {
            self.mem.free_frame(pfn);
            return self.out_of_memory(tid, Some(memcg));
        }
        self.mem.frames.set_memcg(pfn, memcg);
        self.mem.memcgs.charge(memcg, 1);
        Got::Frame(pfn)
    }

    /// A frame for a page table of the thread's process.
    pub(super) fn alloc_table(&mut self, tid: ThreadId) -> Got {
        self.alloc(tid, ZoneKind::Normal)
    }

    /// The node that a CPU allocates from first.
    pub(super) fn home_node(&self) -> NodeId {
        let nodes = self.mem.zones.nr_nodes();
        if nodes == 1 {
            return NodeId(0);
        }
        NodeId((self.mem.cpu.0 as usize * nodes / self.cpus.len()) as u8)
    }

    #[inline]
    fn alloc(&mut self, tid: ThreadId, highest: ZoneKind) -> Got {
        let node = self.home_node();
        if let Some(p) = self.mem.try_alloc(node, highest, Some(Mark::Low)) {
            self.threads[tid].no_progress = 0;
            return Got::Frame(p);
        }
        self.alloc_slowly(tid, highest, node)
    }

    #[cold]
    #[inline(never)]
    fn alloc_slowly(&mut self, tid: ThreadId, highest: ZoneKind, node: NodeId) -> Got {
        self.wake_kswapds(highest);
        if let Some(p) = self.mem.try_alloc(node, highest, Some(Mark::Min)) {
            return Got::Frame(p);
        }
        loop {
            self.wake_kswapds(highest);
            if self.throttled(tid, node) {
                return Got::Blocked;
            }
            let reclaimed = self.stall_in_direct_reclaim(tid, highest, node);
            if let Some(p) = self.mem.try_alloc(node, highest, Some(Mark::Min)) {
                self.threads[tid].no_progress = 0;
                return Got::Frame(p);
            }
            // Pages may hide in per-CPU lists.
            for z in self.mem.zones.ids() {
                self.mem.zones[z].drain_pcp();
            }
            if let Some(p) = self.mem.try_alloc(node, highest, Some(Mark::Min)) {
                self.threads[tid].no_progress = 0;
                return Got::Frame(p);
            }
            let tries = &mut self.threads[tid].no_progress;
            *tries = if reclaimed > 0 { 0 } else { *tries + 1 };
            if *tries > MAX_RECLAIM_RETRIES || !self.worth_retrying(highest) {
                self.threads[tid].no_progress = 0;
                return self.out_of_memory(tid, None);
            }
            // Under asynchronous writes nothing can be freed until some have ended: wait for
            // the next (`VMSCAN_THROTTLE_NOPROGRESS`, half a second at most).
            if reclaimed == 0 {
                let io = self.queue.next_io();
                let wait =
                    if io == SimTime::NEVER { SimDuration::ZERO } else { io.since(self.mem.now) };
                self.sleep(tid, wait.clamp(TICK, NO_PROGRESS), true);
                return Got::Blocked;
            }
        }
    }

    /// A charged frame for a page that is read ahead (`__GFP_NORETRY`): one direct reclaim at
    /// most, no waiting, no killing. `None`: the page is not worth it.
    pub(super) fn alloc_speculative(&mut self, tid: ThreadId) -> Option<Pfn> {
        let memcg = self.mem.spaces[self.threads[tid].space].memcg;
        if !self.mem.memcgs.fits(memcg) {
            return None;
        }
        let (node, highest) = (self.home_node(), ZoneKind::Movable);
        let pfn = self.mem.try_alloc(node, highest, Some(Mark::Low)).or_else(|| {
            self.wake_kswapds(highest);
            self.mem.try_alloc(node, highest, Some(Mark::Min)).or_else(|| {
                if !self.allow_direct_reclaim(node) {
                    return None;
                }
                self.stall_in_direct_reclaim(tid, highest, node);
                self.mem.try_alloc(node, highest, Some(Mark::Min))
            })
        })?;
        self.mem.frames.set_memcg(pfn, memcg);
        self.mem.memcgs.charge(memcg, 1);
        Some(pfn)
    }

    /// Direct reclaim with its stall accounted. Returns the pages freed.
    fn stall_in_direct_reclaim(&mut self, tid: ThreadId, highest: ZoneKind, node: NodeId) -> u64 {
        let begin = self.mem.now;
        let reclaimed = self.direct_reclaim(tid, highest, node);
        self.latency[2].add(self.mem.now.since(begin));
        self.psi.stalled(self.mem.cpu.0.into(), begin, self.mem.now);
        reclaimed
    }

    /// Whether all reclaimable pages together would satisfy the min watermark somewhere.
    fn worth_retrying(&self, highest: ZoneKind) -> bool {
        let mem = &self.mem;
        let swap = mem.can_swap(MemcgId(0));
        mem.zones.ids().any(|z| {
            let [anon, file] = mem.zone_lru_pages(z);
            let zone = &mem.zones[z];
            // Linux keeps pages whose owner went on their lists until their write ends.
            let free = zone.free + mem.nr_orphans[z];
            let available = free + file + if swap { anon } else { 0 };
            let mark = zone.watermark[0] + zone.lowmem_reserve[highest as usize];
            zone.kind <= highest && available > mark
        })
    }

    /// The emergency brake: below half of the min watermarks allocators wait for kswapd.
    fn throttled(&mut self, tid: ThreadId, node: NodeId) -> bool {
        if self.kswapds[node].hopeless() || self.allow_direct_reclaim(node) {
            return false;
        }
        self.mem.count(VmEvent::PgScanDirectThrottle, 1);
        self.block(tid, Wait::Pfmemalloc(node), true);
        self.kswapds[node].throttled.push(tid);
        true
    }

    pub(super) fn allow_direct_reclaim(&self, node: NodeId) -> bool {
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
    fn direct_reclaim(&mut self, tid: ThreadId, highest: ZoneKind, node: NodeId) -> u64 {
        let stall = match highest {
            ZoneKind::Dma => VmEvent::AllocStallDma,
            ZoneKind::Dma32 => VmEvent::AllocStallDma32,
            ZoneKind::Normal => VmEvent::AllocStallNormal,
            ZoneKind::Movable => VmEvent::AllocStallMovable,
        };
        self.mem.emit(|| TraceEvent::MmVmscanDirectReclaimBegin { thread: tid, order: 0 });
        self.mem.now += self.mem.cost.t_direct_reclaim_entry;
        let mut total = 0;
        let (mut force, mut low) = (false, false);
        loop {
            self.mem.count(stall, 1);
            let mut skipped = [false; 2];
            let mut priority = self.first_priority();
            loop {
                for n in self.nodes_from(node) {
                    let out = self.pass(&ReclaimRequest {
                        node: n,
                        by: Reclaimer::Direct,
                        priority,
                        order: 0,
                        highest,
                        target: SWAP_CLUSTER_MAX >> self.config.batch_shift,
                        reclaimed: total,
                        may_writepage: true,
                        may_swap: true,
                        force_deactivate: force,
                        low_reclaim: low,
                        no_cache_trim: false,
                        one_step: true,
                    });
                    total += out.reclaimed;
                    skipped[0] |= out.skipped_deactivate;
                    skipped[1] |= out.low_skipped;
                    if out.stats.file_taken > 0 && out.stats.unqueued_dirty == out.stats.taken {
                        self.wake_flusher();
                    }
                    if out.reclaimed > 0 {
                        self.kswapds[n].failures = 0;
                    }
                }
                if total >= SWAP_CLUSTER_MAX >> self.config.batch_shift || priority == 0 {
                    break;
                }
                priority -= 1;
            }
            for n in self.nodes_from(node) {
                self.policy.reclaim_ended(&mut self.mem, n, None);
            }
            if total > 0 {
                break;
            }
            if skipped[0] && !force {
                force = true;
            } else if skipped[1] && !low {
                low = true;
            } else {
                break;
            }
        }
        self.queue_io();
        self.mem.emit(|| TraceEvent::MmVmscanDirectReclaimEnd { thread: tid, nr_reclaimed: total });
        total
    }

    /// A whole pass in steps, with the interrupts that fall between them.
    fn pass(&mut self, req: &ReclaimRequest) -> ReclaimOutcome {
        let mut all = ReclaimOutcome::default();
        loop {
            let out = self.policy.reclaim(&mut self.mem, req);
            self.interrupts();
            all.add(&out);
            if !out.more {
                return all;
            }
        }
    }

    fn nodes_from(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<P> {
        let n = self.mem.zones.nr_nodes();
        (0..n).map(move |k| NodeId(((node.0 as usize + k) % n) as u8))
    }

    pub(super) fn first_priority(&self) -> u8 {
        // Memory scaled down by 2^k meets the same share of a list at a priority lower by k.
        DEF_PRIORITY.saturating_sub(self.config.batch_shift as u8)
    }

    /// Reclaims for a group over its limit. False: it cannot be brought below.
    fn reclaim_for_limit(&mut self, memcg: MemcgId) -> bool {
        let begin = self.mem.now;
        let mut tries = 0;
        while !self.mem.memcgs.fits(memcg) && tries <= MAX_RECLAIM_RETRIES {
            if self.reclaim_group(memcg, SWAP_CLUSTER_MAX) == 0 {
                tries += 1;
            } else {
                tries = 0;
            }
        }
        self.latency[2].add(self.mem.now.since(begin));
        self.psi.stalled(self.mem.cpu.0.into(), begin, self.mem.now);
        self.mem.memcgs.fits(memcg)
    }

    /// One reclaim of a group: limit, `memory.high` or `memory.reclaim`.
    pub(super) fn reclaim_group(&mut self, memcg: MemcgId, target: u64) -> u64 {
        let mut total = 0;
        let mut priority = self.first_priority();
        loop {
            for n in self.nodes_from(self.home_node()) {
                let out = self.pass(&ReclaimRequest {
                    node: n,
                    by: Reclaimer::Limit(memcg),
                    priority,
                    order: 0,
                    highest: ZoneKind::Movable,
                    target,
                    reclaimed: total,
                    may_writepage: true,
                    may_swap: true,
                    force_deactivate: false,
                    low_reclaim: false,
                    no_cache_trim: false,
                    one_step: true,
                });
                total += out.reclaimed;
            }
            if total >= target || priority == 0 {
                break;
            }
            priority -= 1;
        }
        for n in self.nodes_from(self.home_node()) {
            self.policy.reclaim_ended(&mut self.mem, n, Some(memcg));
        }
        self.queue_io();
        total
    }

    /// The OOM killer: the largest process goes.
    fn out_of_memory(&mut self, tid: ThreadId, memcg: Option<MemcgId>) -> Got {
        let size = |m: &Self, a: AsId| {
            let s = &m.mem.spaces[a];
            s.rss_anon + s.rss_file + s.swapents + s.tables
        };
        let candidates = self.mem.spaces.ids().filter(|&a| {
            let s = &self.mem.spaces[a];
            !s.dead && memcg.is_none_or(|m| s.memcg == m)
        });
        let Some(victim) = candidates.max_by_key(|&a| (size(self, a), std::cmp::Reverse(a))) else {
            panic!("out of memory with nobody to kill, asked for by {tid}");
        };
        if self.oom.is_none() {
            self.oom = Some(self.oom_summary());
        }
        let pages = size(self, victim);
        self.mem.emit(|| TraceEvent::MarkVictim { process: victim, pages });
        self.mem.count(VmEvent::OomKill, 1);
        self.kill(victim);
        if self.threads[tid].space == victim {
            Got::Killed
        } else {
            self.sleep(tid, TICK, true);
            Got::Blocked
        }
    }

    fn oom_summary(&self) -> OomSummary {
        let mem = &self.mem;
        let mut processes: Vec<(String, u64, u64)> = mem
            .spaces
            .ids()
            .filter(|&a| !mem.spaces[a].dead)
            .map(|a| {
                let s = &mem.spaces[a];
                (s.name.clone(), s.rss_anon + s.rss_file, s.swapents)
            })
            .collect();
        processes.sort_by(|a, b| (b.1 + b.2).cmp(&(a.1 + a.2)).then(a.0.cmp(&b.0)));
        OomSummary {
            at: mem.now,
            processes,
            free: mem.zones.nr_free(),
            cache: mem.files.nr_cached,
            kernel: mem.nr_page_tables + mem.nr_slab.len() as u64 + mem.nr_zram.len() as u64,
            swap_free: mem.swap.as_ref().map_or(0, |s| s.nr_free().into()),
            swap_total: mem.swap.as_ref().map_or(0, |s| s.total().into()),
        }
    }

    /// Puts a thread to sleep for a while; `memory`: it is throttled for memory.
    pub(super) fn sleep(&mut self, tid: ThreadId, d: SimDuration, memory: bool) {
        self.timer_generation += 1;
        let g = self.timer_generation;
        self.block(tid, Wait::Timer(g), memory);
        self.queue.push(self.mem.now + d, Event::Wake(tid, g));
    }

    /// Conditions that a whole pass met decide how the next ones go.
    pub(super) fn note_pass(&mut self, node: NodeId, stats: &crate::policy::PassStats) -> bool {
        pass_flags(&mut self.mem.node_flags[node], stats)
    }

    /// `SimTime` of the acting clock.
    pub(super) fn now(&self) -> SimTime {
        self.mem.now
    }
}
