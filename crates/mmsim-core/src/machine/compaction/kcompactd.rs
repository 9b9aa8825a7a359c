//! Compaction in the background: kcompactd, a write to `compact_memory`, kswapd's own of old.
//!
//! kswapd frees memory but does not mind where. Before it naps it wakes kcompactd (from 4.6 on)
//! for the order that it was woken for itself, and so does a request that cannot wait if only
//! fragmentation is in its way. kcompactd compacts each zone once, and pays on the clock of the
//! CPU where it runs, one zone a step. From 5.9 on it also looks at the node twice a second and
//! compacts all of it when free memory lies in pieces too small for huge pages
//! (`vm.compaction_proactiveness`). Up to 4.5 kswapd did the work itself, asynchronously.
//!
//! Source: Linux 6.12 mm/compaction.c (`kcompactd`, `kcompactd_do_work`, `wakeup_kcompactd`,
//! `should_proactive_compact_node`, `compact_node`); Linux 4.1 mm/vmscan.c (`balance_pgdat`).

use crate::base::compact_result::CompactResult;
use crate::base::id::{CpuId, NodeId, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::thread::Entity;
use crate::machine::watch::psi::Psi;
use crate::phys::fragmentation::FreeBlocks;
use crate::phys::gfp::{AllocFlags, GFP_KERNEL};
use crate::phys::watermarks::Mark;
use crate::phys::zone::Zone;
use crate::policy::compaction::{CompactRequest, Compactor, MigrateMode};

/// Interval at which kcompactd looks at its node (`HPAGE_FRAG_CHECK_INTERVAL_MSEC`).
const CHECK: SimDuration = SimDuration::from_millis(500);
/// log2 of the pause, in such intervals, after proactive compaction that did not help.
const MAX_DEFER_SHIFT: u64 = 6;

/// Current task of kcompactd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// One run over each zone up to a kind, for an order.
    Order(u8, ZoneKind),
    /// All zones; the node's score before.
    Proactive(u64),
}

/// The background compactor of one node.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Kcompactd {
    /// Current task, and the zones that are still to come, the next last.
    running: Option<(Work, Vec<ZoneId>)>,
    /// Largest order asked for that it has not served; 0: none.
    order: u8,
    highest: ZoneKind,
    /// Generation of its timer.
    generation: u64,
    /// The CPU that it ran on last.
    pub cpu: CpuId,
}

impl Default for Kcompactd {
    fn default() -> Self {
        Kcompactd {
            running: None,
            order: 0,
            highest: ZoneKind::Movable,
            generation: 0,
            cpu: CpuId(0),
        }
    }
}

/// Request of a kernel thread, which compacts on its own behalf.
fn request(zone: ZoneId, order: Option<u8>, mode: MigrateMode, by: Compactor) -> CompactRequest {
    CompactRequest {
        zone,
        order,
        captures: None,
        migratetype: Migratetype::Unmovable,
        highest: ZoneKind::Movable,
        flags: GFP_KERNEL,
        mark: Mark::Min,
        mode,
        by,
        full: order.is_none(),
    }
}

impl Machine {
    fn has_kcompactd(&self) -> bool {
        self.policies.compaction.is_some() && self.mem.given.rules.kcompactd
    }

    /// Begins to look at the nodes, if that is wanted: to be called once.
    pub(in crate::machine) fn start_kcompactd(&mut self) {
        let wanted = self.config.vm.compaction_proactiveness > 0;
        if self.has_kcompactd() && wanted && self.mem.given.rules.proactive_compaction {
            self.daemons.kcompactds.ids().for_each(|n| self.set_kcompactd_timer(n, CHECK));
        }
    }

    /// `vm.compaction_proactiveness` has another value. kcompactd looks every half a second whether it
    /// is above 0; from 5.15 on the write wakes it.
    pub(in crate::machine) fn proactiveness_written(&mut self, looked: bool) {
        let wakes = self.mem.given.rules.proactiveness_wakes;
        if !self.has_kcompactd() || looked && !wakes {
            return;
        }
        for n in self.daemons.kcompactds.ids() {
            if self.daemons.kcompactds[n].running.is_none() {
                self.set_kcompactd_timer(n, if wakes { SimDuration::ZERO } else { CHECK });
            }
        }
    }

    fn set_kcompactd_timer(&mut self, n: NodeId, after: SimDuration) {
        let on = self.config.vm.compaction_proactiveness > 0;
        if !on || !self.mem.given.rules.proactive_compaction {
            return;
        }
        self.events.timer_generation += 1;
        self.daemons.kcompactds[n].generation = self.events.timer_generation;
        self.events
            .queue
            .push(self.mem.acting.now + after, Event::Kcompactd(n, self.events.timer_generation));
    }

    /// Asks a node's kcompactd for blocks of an order (`wakeup_kcompactd`).
    pub(in crate::machine) fn wake_kcompactd(&mut self, n: NodeId, order: u8, highest: ZoneKind) {
        if order == 0 || !self.has_kcompactd() {
            return;
        }
        let k = &mut self.daemons.kcompactds[n];
        k.order = k.order.max(order);
        k.highest = k.highest.min(highest);
        if k.running.is_none() && self.kcompactd_may_help(n) {
            self.begin_order(n);
            self.run_kcompactd(n);
        }
    }

    fn kcompactd_may_help(&self, n: NodeId) -> bool {
        let k = &self.daemons.kcompactds[n];
        let mut zones = self.mem.zones.of_node(n).iter();
        zones.any(|&z| self.mem.zones[z].kind <= k.highest && self.suits(z, k.order, k.highest))
    }

    /// True if a run over a zone for an order makes sense.
    fn suits(&self, zone: ZoneId, order: u8, highest: ZoneKind) -> bool {
        let by = Compactor::Kcompactd;
        let req = request(zone, Some(order), MigrateMode::SyncLight, by);
        let req = CompactRequest { highest, ..req };
        let answer = self.policies.compaction.as_ref().map(|c| c.suitable(&self.mem, &req));
        answer == Some(CompactResult::Continue)
    }

    fn begin_order(&mut self, n: NodeId) {
        self.mem.count(VmEvent::CompactDaemonWake, 1);
        let (order, highest) =
            (self.daemons.kcompactds[n].order, self.daemons.kcompactds[n].highest);
        let zones = self.mem.zones.of_node(n).iter().rev().copied();
        let zones = zones.filter(|&z| self.mem.zones[z].kind <= highest).collect();
        self.daemons.kcompactds[n].running = Some((Work::Order(order, highest), zones));
    }

    fn run_kcompactd(&mut self, n: NodeId) {
        self.daemons.kcompactds[n].cpu = self.enqueue_daemon(Entity::Kcompactd(n));
        let cpu = self.daemons.kcompactds[n].cpu;
        self.psi_of_kernel(cpu, Psi::Idle, Psi::MemStallRunning);
    }

    /// One step of kcompactd on its CPU: one zone. False: it sleeps now.
    pub(in crate::machine) fn step_kcompactd(&mut self, n: NodeId) -> bool {
        let Some((work, mut zones)) = self.daemons.kcompactds[n].running.take() else {
            unreachable!("{n}: a sleeping kcompactd was run")
        };
        if let Some(zone) = zones.pop() {
            match work {
                Work::Order(order, _) => self.compact_for_order(zone, order),
                Work::Proactive(_) => self.compact_all_of(zone, true),
            }
            self.daemons.kcompactds[n].running = Some((work, zones));
            return true;
        }
        let mut pause = CHECK;
        match work {
            Work::Order(order, highest) => {
                // Larger orders that came since are still to be served.
                let k = &mut self.daemons.kcompactds[n];
                if k.order <= order {
                    k.order = 0;
                }
                if k.highest >= highest {
                    k.highest = ZoneKind::Movable;
                }
            }
            Work::Proactive(before) if self.fragmentation_score(n) >= before => {
                pause = SimDuration(CHECK.0 << MAX_DEFER_SHIFT);
            }
            Work::Proactive(_) => {}
        }
        if self.daemons.kcompactds[n].order > 0 {
            self.begin_order(n);
            return true;
        }
        let cpu = self.daemons.kcompactds[n].cpu;
        self.psi_of_kernel(cpu, Psi::MemStallRunning, Psi::Idle);
        self.set_kcompactd_timer(n, pause);
        false
    }

    fn compact_for_order(&mut self, zone: ZoneId, order: u8) {
        let Some(c) = &mut self.policies.compaction else { return };
        let highest = self.mem.zones[zone].kind;
        if c.deferred(zone, order) || !self.suits(zone, order, highest) {
            return;
        }
        let by = Compactor::Kcompactd;
        let req = request(zone, Some(order), MigrateMode::SyncLight, by);
        let result = self.compact_as_daemon(&req);
        let failed = matches!(result, CompactResult::Complete | CompactResult::PartialSkipped);
        if failed {
            // Pages in per-CPU lists may be what is missing.
            self.mem.drain_pcp();
        }
        let Some(c) = &mut self.policies.compaction else { return };
        match result {
            CompactResult::Success => c.note_success(zone, order, false),
            _ if failed => c.note_failure(zone, order),
            _ => {}
        }
    }

    /// A run that counts as kcompactd's.
    fn compact_as_daemon(&mut self, req: &CompactRequest) -> CompactResult {
        let scanned = [
            (VmEvent::CompactMigrateScanned, VmEvent::CompactDaemonMigrateScanned),
            (VmEvent::CompactFreeScanned, VmEvent::CompactDaemonFreeScanned),
        ];
        let before = scanned.map(|(all, _)| self.mem.stats.vmstat[all]);
        let result = self.compact_zone(req).result;
        for ((all, own), before) in scanned.into_iter().zip(before) {
            let n = self.mem.stats.vmstat[all] - before;
            self.mem.count(own, n);
        }
        result
    }

    fn compact_all_of(&mut self, zone: ZoneId, proactive: bool) {
        if proactive {
            let by = Compactor::Proactive;
            self.compact_as_daemon(&request(zone, None, MigrateMode::SyncLight, by));
        } else {
            self.compact_zone(&request(zone, None, MigrateMode::Sync, Compactor::Request));
        }
    }

    /// A write to `compact_memory`: all zones in full, on the clock of who writes.
    pub(in crate::machine) fn compact_memory(&mut self) {
        self.mem.acting.now += self.mem.given.cost.t_syscall;
        self.mem.lru_drain_all(&mut *self.policies.lru);
        for zone in self.mem.zones.ids() {
            self.compact_all_of(zone, false);
        }
    }

    /// The time is over after which kcompactd looks at its node.
    pub(in crate::machine) fn kcompactd_timer(&mut self, n: NodeId, generation: u64) {
        if self.daemons.kcompactds[n].generation != generation
            || self.daemons.kcompactds[n].running.is_some()
        {
            return;
        }
        if self.daemons.kcompactds[n].order > 0 {
            self.begin_order(n);
            return self.run_kcompactd(n);
        }
        let [_, high] = self.mem.fragmentation_score_wmarks();
        let score = self.fragmentation_score(n);
        if self.daemons.kswapds[n].is_running() || score <= high {
            return self.set_kcompactd_timer(n, CHECK);
        }
        let zones = self.mem.zones.of_node(n).iter().rev().copied().collect();
        self.daemons.kcompactds[n].running = Some((Work::Proactive(score), zones));
        self.run_kcompactd(n);
    }

    /// Percent of free memory that is in blocks too small for a huge page, averaged over the
    /// zones by their size.
    fn fragmentation_score(&self, n: NodeId) -> u64 {
        let zones = self.mem.zones.of_node(n);
        let size = |z: ZoneId| u64::from(self.mem.zones[z].managed);
        let all: u64 = zones.iter().map(|&z| size(z)).sum();
        let of = |&z: &ZoneId| {
            let zone = &self.mem.zones[z];
            let huge = zone.buddy().rules().pageblock_order;
            let score = FreeBlocks { nr: &zone.free_blocks() }.extfrag_for_order(huge);
            size(z) * score / (all + 1)
        };
        zones.iter().map(of).sum()
    }

    /// kswapd goes to sleep: strategies may forget what they learned, and kcompactd goes on.
    pub(in crate::machine) fn compaction_after_kswapd(
        &mut self,
        n: NodeId,
        order: u8,
        highest: ZoneKind,
    ) {
        if let Some(c) = &mut self.policies.compaction {
            for &z in self.mem.zones.of_node(n) {
                c.kswapd_sleeps(&self.mem, z);
            }
            self.wake_kcompactd(n, order, highest);
        }
    }

    /// kswapd's own compaction where there is no kcompactd: after a pass that freed more than it had
    /// to, if no zone had the block that it was woken for (`compact_pgdat`).
    pub(in crate::machine) fn kswapd_compacts(&mut self, n: NodeId, order: u8) {
        for zone in self.mem.zones.of_node(n).to_vec() {
            let Some(c) = &mut self.policies.compaction else { return };
            if !c.deferred(zone, order) {
                let (mode, by) = (MigrateMode::Async, Compactor::Kswapd);
                let own = request(zone, Some(order), mode, by);
                // No reserve against higher zones is kept here.
                let req = CompactRequest { mark: Mark::Low, highest: ZoneKind::Dma, ..own };
                self.compact_zone(&req);
            }
            let zone_has =
                |z: &Zone| z.allows(order, Mark::Low, ZoneKind::Dma, AllocFlags::default());
            let serves = zone_has(&self.mem.zones[zone]);
            if let Some(c) = &mut self.policies.compaction
                && serves
            {
                c.note_success(zone, order, false);
            }
        }
    }
}
