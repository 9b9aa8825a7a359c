//! kswapd: keeps each node's free memory between its watermarks.
//!
//! Woken by an allocation that fell to the slow path, it runs until some zone is above its
//! high watermark, then naps 100 ms, then sleeps. It works in steps, one round of list
//! scans each, and pays for them on the clock of the CPU where it runs.
//!
//! That of 4.1 asks other questions about its zones; they are in `kswapd_zones`.
//!
//! Source: Linux 6.12 mm/vmscan.c (`balance_pgdat`, `kswapd_try_to_sleep`,
//! `wakeup_kswapd`).

use crate::backing::device::Writer;
use crate::base::id::{CpuId, NodeId, ThreadId, ZoneId};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::thread::Entity;
use crate::machine::reclaim::balance::{Balance, NextPass, PassEnd, PassProgress};
use crate::machine::watch::psi::Psi;
use crate::memory::trace::TraceEvent;
use crate::memory::trouble::Background;
use crate::memory::{NodeFlags, Plug};
use crate::phys::gfp::AllocRequest;
use crate::policy::{MAX_RECLAIM_RETRIES, PassStats, ReclaimRequest, Reclaimer, SWAP_CLUSTER_MAX};

const NAP: SimDuration = SimDuration::from_millis(100);

/// Continuation after a step of a pass.
enum StepOutcome {
    Another,
    PassEnds,
    /// It sleeps until then, since its writes are throttled.
    Sleep(SimTime),
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Asleep,
    /// Balanced a moment ago, for an order and up to a zone; sleeps for good when this timer ends.
    Napping(u64, u8, ZoneKind),
    Running(Box<Balance>),
    /// Amid a run, waits for writes until this timer ends.
    Stalled(u64, Box<Balance>),
}

/// The background reclaimer of one node.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Kswapd {
    state: State,
    /// Largest order asked for since the last run began (`kswapd_order`).
    order: u8,
    /// Highest zone asked for since then (`kswapd_highest_zoneidx`).
    asked: Option<ZoneKind>,
    /// Highest zone of the run, or of the last one.
    highest: ZoneKind,
    /// Runs in a row that freed nothing; 16 make it hopeless.
    pub failures: u32,
    /// Threads at the emergency brake.
    pub throttled: Vec<ThreadId>,
    cpu: CpuId,
    /// When its run began, and whether it has had a CPU since: for who follows.
    woken: SimTime,
    started: bool,
    /// Time of its last step that has not passed yet: another entity came amid the step.
    pub owed: SimDuration,
}

impl Default for Kswapd {
    fn default() -> Self {
        Kswapd {
            state: State::Asleep,
            order: 0,
            asked: None,
            highest: ZoneKind::Movable,
            failures: 0,
            throttled: Vec::new(),
            cpu: CpuId(0),
            woken: SimTime::ZERO,
            started: false,
            owed: SimDuration::ZERO,
        }
    }
}

impl Kswapd {
    /// Where it runs, or ran last.
    pub(in crate::machine) fn cpu(&self) -> CpuId {
        self.cpu
    }
    pub(in crate::machine) fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_) | State::Stalled(..))
    }
    /// Its state while a thread has to reclaim, and since when.
    pub(in crate::machine) fn background(&self, now: SimTime) -> (Background, SimDuration) {
        let late = now.since(self.woken.min(now));
        match self.state {
            _ if self.hopeless() => (Background::GivenUp, SimDuration::ZERO),
            State::Asleep | State::Napping(..) => (Background::Asleep, SimDuration::ZERO),
            State::Running(_) if !self.started => (Background::NotStarted, late),
            State::Stalled(..) => (Background::Writes, late),
            State::Running(_) => (Background::Behind, late),
        }
    }
    pub(in crate::machine) fn hopeless(&self) -> bool {
        self.failures >= MAX_RECLAIM_RETRIES
    }
}

impl Machine {
    /// Wakes the kswapd of every node that needs it (`wake_all_kswapds`).
    /// Nodes that need none may need kcompactd, if the request itself cannot compact.
    pub(in crate::machine) fn wake_kswapds(&mut self, req: &AllocRequest) {
        let whole =
            if self.mem.given.vm.defrag_mode { self.mem.given.rules.pageblock_order } else { 0 };
        let order = req.order.max(whole);
        for n in self.daemons.kswapds.ids() {
            self.wake_kswapd(n, order, req.highest);
            let k = &self.daemons.kswapds[n];
            if order > 0 && req.flags.atomic() && !k.is_running() {
                self.wake_kcompactd(n, order, req.highest);
            }
        }
    }

    /// True if every node's kswapd is at work and knows of requests for user pages, so that another
    /// request changes nothing.
    pub(in crate::machine) fn kswapds_awake(&self) -> bool {
        let highest = Some(AllocRequest::USER.highest);
        let knows = |k: &Kswapd| k.asked >= highest || !k.started && Some(k.highest) >= highest;
        self.daemons.kswapds.iter().all(|k| k.is_running() && knows(k))
    }

    /// Highest zone of the next run (`kswapd_highest_zoneidx`): the one asked for, or that of the
    /// last run. Kernels before 5.2 took the higher of both while kswapd napped.
    fn next_highest(&self, n: NodeId) -> ZoneKind {
        let k = &self.daemons.kswapds[n];
        let asked = k.asked.unwrap_or(k.highest);
        if self.mem.given.rules.kswapd_keeps_zones { asked.max(k.highest) } else { asked }
    }

    /// Wakes a node's kswapd if there is something to do for it.
    pub(in crate::machine) fn wake_kswapd(&mut self, n: NodeId, order: u8, highest: ZoneKind) {
        let k = &mut self.daemons.kswapds[n];
        k.asked = k.asked.max(Some(highest));
        k.order = k.order.max(order);
        let napping = match k.state {
            // Awake: it reads the request at its next run.
            State::Running(_) | State::Stalled(..) => return,
            State::Napping(_, order, _) => Some(order),
            State::Asleep => None,
        };
        let boosted = self.mem.zones.of_node(n).iter().any(|&z| {
            let z = &self.mem.zones[z];
            z.kind <= highest && z.boost > 0
        });
        let idle = if self.mem.given.rules.kswapd_by_zone {
            !self.some_zone_unbalanced(n, order, highest)
        } else {
            self.in_balance(n, order, highest) && !boosted
        };
        if idle || self.daemons.kswapds[n].hopeless() {
            return;
        }
        if napping.is_some() {
            self.mem.count(VmEvent::KswapdLowWmarkHitQuickly, 1);
        }
        // Kernels that judge each zone forget the order of a run that they had ended.
        let before = if self.mem.given.rules.kswapd_by_zone { 0 } else { napping.unwrap_or(0) };
        let k = &mut self.daemons.kswapds[n];
        let order = k.order.max(before);
        k.order = order;
        self.mem.emit(|| TraceEvent::MmVmscanKswapdWake { node: n, order });
        self.awakes(n);
    }

    /// Notes that a thread freed pages of a node: its kswapd has hope again, or has it if the node
    /// is balanced for that request (`kswapd_try_clear_hopeless`).
    pub(in crate::machine) fn note_progress(&mut self, n: NodeId, order: u8, highest: ZoneKind) {
        let hope =
            !self.mem.given.rules.failures_end_balanced || self.in_balance(n, order, highest);
        if hope {
            self.daemons.kswapds[n].failures = 0;
        }
    }

    /// True if a node needs no more reclaim.
    fn in_balance(&self, n: NodeId, order: u8, highest: ZoneKind) -> bool {
        self.mem.zones.balanced(n, order, highest, self.mem.given.vm.defrag_mode)
    }

    /// It begins a run, and waits for a CPU.
    fn awakes(&mut self, n: NodeId) {
        (self.daemons.kswapds[n].woken, self.daemons.kswapds[n].started) =
            (self.mem.acting.now, false);
        self.mem.zones.set_kswapd_awake(n, true);
        self.begin_balance(n);
        self.daemons.kswapds[n].cpu = self.enqueue_daemon(Entity::Kswapd(n));
        let cpu = self.daemons.kswapds[n].cpu;
        self.psi_of_kernel(cpu, Psi::Idle, Psi::MemStallRunning);
    }

    /// Begins the next run, which reads the request.
    fn begin_balance(&mut self, n: NodeId) {
        self.mem.count(VmEvent::PageOutRun, 1);
        let run = self.asked_balance(n);
        self.daemons.kswapds[n].state = State::Running(run);
    }

    /// A run for the request that kswapd finds.
    fn asked_balance(&mut self, n: NodeId) -> Box<Balance> {
        let highest = self.next_highest(n);
        let k = &mut self.daemons.kswapds[n];
        let order = std::mem::take(&mut k.order);
        (k.asked, k.highest) = (None, highest);
        let boost = |&z: &ZoneId| {
            let z = &self.mem.zones[z];
            if z.kind <= highest { z.boost } else { 0 }
        };
        let boosts: Vec<u64> = self.mem.zones.of_node(n).iter().map(boost).collect();
        Box::new(Balance {
            order,
            alloc_order: order,
            priority: self.first_priority(),
            reclaimed: 0,
            tried: false,
            no_cache_trim: false,
            cache_trim_failed: false,
            boost: boosts.iter().sum(),
            boosts,
            pass: None,
            plug: Box::new(Plug::of(Writer::Kswapd)),
        })
    }

    /// One step of kswapd on its CPU. False: it sleeps now.
    pub(in crate::machine) fn step_kswapd(&mut self, n: NodeId) -> bool {
        let owed = std::mem::take(&mut self.daemons.kswapds[n].owed);
        if owed > SimDuration::ZERO {
            self.mem.acting.now += owed;
            return true;
        }
        let State::Running(mut b) = std::mem::take(&mut self.daemons.kswapds[n].state) else {
            unreachable!("{n}: a sleeping kswapd was run")
        };
        if !std::mem::replace(&mut self.daemons.kswapds[n].started, true) {
            // It reads the request when it has a CPU, not when it was woken.
            let k = &mut self.daemons.kswapds[n];
            k.order = k.order.max(b.alloc_order);
            k.asked = k.asked.max(Some(k.highest));
            b = self.asked_balance(n);
        }
        if self.mem.given.rules.kswapd_by_zone {
            return self.step_by_zones(n, b);
        }
        if b.pass.is_none() && !self.begins_pass(n, &mut b) {
            return self.end_balance(n, &b);
        }
        match self.step_pass(n, &mut b) {
            StepOutcome::Another => {
                self.daemons.kswapds[n].state = State::Running(b);
                return true;
            }
            StepOutcome::Sleep(until) => return self.stall(n, b, until),
            StepOutcome::PassEnds => {}
        }
        if b.order > 0 && b.reclaimed >= 2 << b.order {
            // Fragmentation may keep the zones from ever being balanced for the order.
            b.order = 0;
        }
        let p = self.pass_ended(n, &mut b);
        b.boost -= b.boost.min(p.reclaimed);
        let vain = b.boost > 0 && p.reclaimed == 0;
        let slow = p.scanned.max(p.reclaimed) < p.target;
        let gentle_enough = b.boost > 0 && b.priority == self.first_priority() - 2;
        if (slow && !gentle_enough) || p.reclaimed == 0 {
            b.priority -= 1;
        }
        if vain || b.priority < 1 {
            if b.reclaimed == 0 && b.priority < 1 && !b.no_cache_trim && b.cache_trim_failed {
                b.no_cache_trim = true;
                b.priority = self.first_priority();
            } else {
                let boosted = b.boosts.iter().any(|&boost| boost > 0);
                if b.reclaimed == 0 && (self.mem.given.rules.boosted_runs_fail || !boosted) {
                    self.daemons.kswapds[n].failures += 1;
                }
                return self.end_balance(n, &b);
            }
        }
        self.next_pass(n, b, p.stall)
    }

    /// Begins a pass over a node. False: there is nothing to do.
    fn begins_pass(&mut self, n: NodeId, b: &mut Balance) -> bool {
        let highest = self.daemons.kswapds[n].highest;
        self.mem.zones.set_reclaim_active(n, highest, true);
        let balanced = self.in_balance(n, b.order, highest);
        if !balanced && b.boost > 0 {
            b.boost = 0;
            b.priority = self.first_priority();
        }
        if b.boost == 0 && balanced {
            return false;
        }
        let least = match self.config.miniature {
            Some(_) => self.config.batch(SWAP_CLUSTER_MAX),
            None => SWAP_CLUSTER_MAX,
        };
        let target = self.mem.zones.of_node(n).iter().map(|&z| {
            let z = &self.mem.zones[z];
            (z.watermark[2] + z.boost).max(least)
        });
        b.pass = Some(PassProgress::new(highest, target.sum()));
        self.age_before_pass(n, b);
        true
    }

    /// A step of kswapd that looks at each zone separately.
    fn step_by_zones(&mut self, n: NodeId, mut b: Box<Balance>) -> bool {
        let highest = self.daemons.kswapds[n].highest;
        if b.pass.is_none() {
            self.age_before_pass(n, &b);
            match self.next_pass_of_zones(n, &b, highest) {
                NextPass::Done => return self.end_by_zones(n, &b),
                NextPass::Nothing => {
                    b.priority -= 1;
                    if b.priority < 1 || self.zones_balanced(n, b.order, highest) {
                        return self.end_by_zones(n, &b);
                    }
                    self.daemons.kswapds[n].state = State::Running(b);
                    return true;
                }
                NextPass::Pass(pass) => b.pass = Some(pass),
            }
            b.tried = true;
        }
        let outcome = self.step_pass(n, &mut b);
        if let StepOutcome::Sleep(until) = outcome {
            return self.stall(n, b, until);
        }
        if matches!(outcome, StepOutcome::Another)
            || b.pass.as_mut().is_some_and(PassProgress::next_zone)
        {
            self.daemons.kswapds[n].state = State::Running(b);
            return true;
        }
        let p = self.pass_ended(n, &mut b);
        if b.order > 0 && p.reclaimed >= 2 << b.order {
            b.order = 0;
        }
        let itself = !self.mem.given.rules.kcompactd;
        if itself && b.order > 0 && p.compact && p.reclaimed > p.attempted {
            self.kswapd_compacts(n, b.order);
        }
        if !p.enough || p.reclaimed == 0 {
            b.priority -= 1;
        }
        if b.priority < 1 || self.zones_balanced(n, b.order, highest) {
            return self.end_by_zones(n, &b);
        }
        self.next_pass(n, b, p.stall)
    }

    fn age_before_pass(&mut self, n: NodeId, b: &Balance) {
        let request = self.kswapd_request(n, b);
        if self.policies.lru.age_node(&mut self.mem, &request) {
            self.kill_for_working_set();
        }
    }

    /// One step of the pass under way.
    fn step_pass(&mut self, n: NodeId, b: &mut Balance) -> StepOutcome {
        let p = b.pass.as_mut().expect("a pass is under way");
        if let Some(goes_on) = p.slept.take() {
            return if goes_on { StepOutcome::Another } else { StepOutcome::PassEnds };
        }
        let request = self.kswapd_request(n, b);
        self.mem.start_plug(&mut b.plug);
        self.zswap_worker_may_preempt();
        let out = self.policies.lru.reclaim(&mut self.mem, &request);
        self.zswap_worker_ran();
        self.mem.end_step();
        if !out.more {
            let priority = out.priority.unwrap_or(request.priority);
            let request = ReclaimRequest { priority, ..request };
            self.mem.shrink_split_queues(&mut *self.policies.lru, &request);
        }
        self.mem.end_plug(&mut b.plug);
        if !out.more {
            self.mem.finish_plug(&mut b.plug);
        }
        self.mem.finish_throttled(&mut b.plug);
        self.queue_io();
        if out.wakes_flusher {
            self.wake_flushers();
        }
        let sleeps = self.mem.take_throttled();
        let p = b.pass.as_mut().expect("a pass is under way");
        b.priority = out.priority.unwrap_or(b.priority);
        p.scanned += out.scanned;
        p.reclaimed += out.reclaimed;
        p.stats.add(&out.stats);
        b.reclaimed += out.reclaimed;
        b.cache_trim_failed |= out.cache_trim_failed;
        if out.reclaimed > 0 {
            let (order, highest) = (request.order, request.highest);
            self.note_progress(n, order, highest);
        }
        let p = b.pass.as_mut().expect("a pass is under way");
        p.since += out.reclaimed;
        let goes_on = out.more || {
            let freed = std::mem::take(&mut p.since);
            b.order > 0 && self.should_continue_reclaim(&request, freed)
        };
        if let Some(until) = sleeps {
            b.pass.as_mut().expect("a pass is under way").slept = Some(goes_on);
            return StepOutcome::Sleep(until);
        }
        if goes_on { StepOutcome::Another } else { StepOutcome::PassEnds }
    }

    /// Ends the pass of a run.
    fn pass_ended(&mut self, n: NodeId, b: &mut Balance) -> PassEnd {
        self.mem.acting.now += self.mem.given.cost.t_shrink_node;
        let p = b.pass.as_ref().expect("it was under way");
        let &PassProgress { scanned, reclaimed, target, attempted, compact, enough, .. } = p;
        let stall = self.note_pass(n, &p.stats);
        b.pass = None;
        if !self.daemons.kswapds[n].throttled.is_empty() && self.allow_direct_reclaim(n) {
            self.release_throttled(n);
        }
        PassEnd { scanned, reclaimed, target, attempted, compact, enough, stall }
    }

    /// The run goes on with another pass, now or after a wait for writes. False: it waits.
    fn next_pass(&mut self, n: NodeId, b: Box<Balance>, stall: bool) -> bool {
        if stall {
            return self.stall(n, b, self.mem.acting.now + NAP);
        }
        self.daemons.kswapds[n].state = State::Running(b);
        true
    }

    /// Amid a run it sleeps until then.
    fn stall(&mut self, n: NodeId, b: Box<Balance>, until: SimTime) -> bool {
        self.events.timer_generation += 1;
        let g = self.events.timer_generation;
        self.events.queue.push(until, Event::Kswapd(n, g));
        self.daemons.kswapds[n].state = State::Stalled(g, b);
        let cpu = self.daemons.kswapds[n].cpu;
        self.psi_of_kernel(cpu, Psi::MemStallRunning, Psi::MemStall);
        false
    }

    /// kswapd's request to the policy in the pass under way.
    fn kswapd_request(&self, n: NodeId, b: &Balance) -> ReclaimRequest {
        let [lowest, highest] =
            b.pass.as_ref().map_or([ZoneKind::Dma, self.daemons.kswapds[n].highest], |p| p.zones);
        let target = b.pass.as_ref().map_or(0, |p| p.target);
        ReclaimRequest {
            node: n,
            by: Reclaimer::Kswapd,
            priority: b.priority,
            order: b.order,
            lowest,
            highest,
            // The watermarks of a miniature are scaled already.
            target: match self.config.miniature {
                Some(_) => target,
                None => target >> self.config.batch_shift,
            },
            reclaimed: b.reclaimed,
            may_writepage: b.boost == 0,
            may_swap: b.boost == 0,
            may_io: true,
            force_deactivate: false,
            low_reclaim: false,
            full_walk: false,
            swappiness: None,
            no_cache_trim: b.no_cache_trim,
            one_step: true,
        }
    }

    /// The end of a run: works off boosts, then tries to sleep. True: it goes on at once.
    fn end_balance(&mut self, n: NodeId, b: &Balance) -> bool {
        self.mem.zones.set_reclaim_active(n, ZoneKind::Movable, false);
        let zones: Vec<_> = self.mem.zones.of_node(n).to_vec();
        for (z, boost) in zones.into_iter().zip(&b.boosts) {
            let zone = &mut self.mem.zones[z];
            zone.boost -= zone.boost.min(*boost);
        }
        self.policies.lru.reclaim_ended(&mut self.mem, n, None);
        self.release_throttled(n);
        if b.boosts.iter().any(|&b| b > 0) {
            let block = self.mem.zones[ZoneId(0)].buddy().rules().pageblock_order;
            self.wake_kcompactd(n, block, self.daemons.kswapds[n].highest);
        }
        let k = &self.daemons.kswapds[n];
        // Having given up on the order that it was woken for, it sleeps if it is balanced for the
        // order of its run, and leaves the rest to kcompactd; else both look at requests since
        // then.
        let gave_up = b.order < b.alloc_order;
        let (order, wanted) = if gave_up { (b.order, b.alloc_order) } else { (k.order, k.order) };
        let highest = if gave_up { k.highest } else { self.next_highest(n) };
        if k.hopeless() || self.in_balance(n, order, highest) {
            self.mem.lru.node_flags[n] = NodeFlags::default();
            self.compaction_after_kswapd(n, wanted, highest);
            self.nap(n, order, highest);
            return false;
        }
        self.mem.count(VmEvent::KswapdHighWmarkHitQuickly, 1);
        self.begin_balance(n);
        true
    }

    /// The end of a run by zones. A request that came meanwhile is looked at if the run kept its
    /// order and the request is for a larger one; a smaller one is forgotten.
    fn end_by_zones(&mut self, n: NodeId, b: &Balance) -> bool {
        self.policies.lru.reclaim_ended(&mut self.mem, n, None);
        self.release_throttled(n);
        if b.tried && b.reclaimed == 0 {
            self.daemons.kswapds[n].failures += 1;
        }
        if b.order == b.alloc_order {
            if self.daemons.kswapds[n].order > b.order {
                self.begin_balance(n);
                return true;
            }
            self.daemons.kswapds[n].order = 0;
        }
        let k = &self.daemons.kswapds[n];
        if k.hopeless() || self.zones_balanced(n, b.order, k.highest) {
            self.mem.lru.node_flags[n] = NodeFlags::default();
            self.nap(n, b.order, self.daemons.kswapds[n].highest);
            return false;
        }
        self.mem.count(VmEvent::KswapdHighWmarkHitQuickly, 1);
        self.begin_balance(n);
        true
    }

    /// Sleeps for a moment, balanced for an order and up to a zone.
    fn nap(&mut self, n: NodeId, order: u8, highest: ZoneKind) {
        self.events.timer_generation += 1;
        let g = self.events.timer_generation;
        self.events.queue.push(self.mem.acting.now + NAP, Event::Kswapd(n, g));
        self.daemons.kswapds[n].state = State::Napping(g, order, highest);
        self.mem.zones.set_kswapd_awake(n, false);
        self.psi_kswapd_sleeps(n);
    }

    fn psi_kswapd_sleeps(&mut self, n: NodeId) {
        let cpu = self.daemons.kswapds[n].cpu;
        self.psi_of_kernel(cpu, Psi::MemStallRunning, Psi::Idle);
    }

    /// The end of a nap or of a stall.
    pub(in crate::machine) fn kswapd_timer(&mut self, n: NodeId, generation: u64) {
        match std::mem::take(&mut self.daemons.kswapds[n].state) {
            State::Napping(g, order, highest) if g == generation => {
                let k = &self.daemons.kswapds[n];
                let balanced = if self.mem.given.rules.kswapd_by_zone {
                    self.zones_balanced(n, order, highest)
                } else {
                    self.in_balance(n, order, highest)
                };
                if k.hopeless() || balanced {
                    self.mem.emit(|| TraceEvent::MmVmscanKswapdSleep { node: n });
                    if self.mem.given.rules.kswapd_by_zone {
                        self.compaction_after_kswapd(n, order, highest);
                    }
                    self.daemons.kswapds[n].highest = ZoneKind::Dma;
                } else {
                    self.mem.count(VmEvent::KswapdHighWmarkHitQuickly, 1);
                    self.awakes(n);
                }
            }
            State::Stalled(g, b) if g == generation => {
                self.daemons.kswapds[n].state = State::Running(b);
                self.psi_of_kernel(self.daemons.kswapds[n].cpu, Psi::MemStall, Psi::Idle);
                self.daemons.kswapds[n].cpu = self.enqueue_daemon(Entity::Kswapd(n));
                let cpu = self.daemons.kswapds[n].cpu;
                self.psi_of_kernel(cpu, Psi::Idle, Psi::MemStallRunning);
            }
            other => self.daemons.kswapds[n].state = other,
        }
    }

    fn release_throttled(&mut self, n: NodeId) {
        for t in std::mem::take(&mut self.daemons.kswapds[n].throttled) {
            self.wake(t);
        }
    }
}

/// Sets a node's flags after a pass of kswapd; true: it should wait for writes.
pub(in crate::machine) fn pass_flags(flags: &mut NodeFlags, s: &PassStats) -> bool {
    if s.writeback > 0 && s.writeback == s.taken {
        flags.writeback = true;
    }
    if s.unqueued_dirty == s.file_taken {
        flags.dirty = true;
    }
    s.immediate > 0
}
