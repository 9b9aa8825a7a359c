//! The worker that writes entries of zswap back to the swap device when the pool is full.
//!
//! A store that finds the pool full requests a run; nothing else does. A run goes from group to
//! group, looks at a few entries of each, and ends when the pool is down to its threshold or too
//! many looks wrote nothing. Where it finds no page for an entry it reclaims like any thread, and
//! what that evicts finds the pool full. It is a kernel thread, whose steps are turns: the scheduler
//! shares the CPU between it, kswapd and the threads of workloads.
//!
//! Source: Linux 6.12, 6.18 and 7.3 mm/zswap.c (`shrink_worker`, `shrink_memcg`). Left out: groups
//! that end.

use super::Machine;
use super::cpu::sched::Cpu;
use super::cpu::thread::Entity;
use super::reclaim::alloc::TICK;
use crate::base::id::{CpuId, NodeId};
use crate::base::time::SimDuration;
use crate::config::ZoneKind;
use crate::memory::{Plug, WorkerTurn};
use crate::policy::{ReclaimRequest, SWAP_CLUSTER_MAX};

/// The worker as a kernel thread.
#[derive(Default)]
pub(super) struct ZswapWorker {
    /// The CPU that it is on, or was on last.
    pub cpu: CpuId,
    /// It runs, or waits for a CPU.
    on: bool,
    /// It reclaims amid steps of threads, which have a plug of their own.
    plug: Box<Plug>,
}

impl Machine {
    /// A run of the worker is due: it gets into line for a CPU.
    pub(super) fn wake_zswap_worker(&mut self) {
        if !std::mem::replace(&mut self.daemons.zswap.on, true) {
            self.daemons.zswap.cpu = self.enqueue_daemon(Entity::ZswapWorker);
        }
    }

    /// A step of a reclaimer begins: zswap's worker may preempt it, if it sleeps, no CPU is idle, and
    /// code of the kernel can be preempted at once.
    #[inline]
    pub(super) fn zswap_worker_may_preempt(&mut self) {
        if self.mem.zswap().is_none() || self.mem.given.rules.lazy_preemption {
            return;
        }
        let runs_here = !self.daemons.zswap.on && self.sched.cpus.position(Cpu::idle).is_none();
        let lag = self.sched.virtuals.get(&Entity::ZswapWorker).map_or(0, |v| v.lag);
        let (cpu, now) = (&self.sched.cpus[self.mem.acting.cpu], self.mem.acting.now);
        self.mem.acting.zswap_worker = cpu.place_of(lag, now).filter(|_| runs_here);
    }

    /// The step is over: what the worker ran in it is its own time.
    #[inline]
    pub(super) fn zswap_worker_ran(&mut self) {
        let Some(place) = self.mem.acting.zswap_worker.take() else { return };
        if place.ran > SimDuration::ZERO {
            self.sched.virtuals.entry(Entity::ZswapWorker).or_default().lag = place.lag;
            self.sched.cpus[self.mem.acting.cpu].was_preempted(place.ran);
        }
    }

    /// One turn of the worker's run. False: it sleeps now.
    pub(super) fn step_zswap_worker(&mut self) -> bool {
        let Some(mut run) = self.mem.zswap_worker_goes_on() else {
            unreachable!("a worker without zswap was run")
        };
        let goes_on = match self.mem.zswap_worker_turn(&mut run) {
            WorkerTurn::GoesOn => self.mem.zswap_worker_after(Some(run)),
            WorkerTurn::Ends => self.mem.zswap_worker_after(None),
            WorkerTurn::LacksPage if self.zswap_worker_reclaims() => {
                self.mem.zswap_worker_after(Some(run))
            }
            WorkerTurn::LacksPage => {
                run.waits += 1;
                self.mem.zswap_worker_sleeps(run, TICK);
                false
            }
        };
        // It sleeps for its writes, which no thread waits for.
        self.mem.take_throttled();
        self.queue_io();
        self.mem.settle_kernel();
        self.daemons.zswap.on = goes_on;
        goes_on
    }

    /// Direct reclaim of the worker. True: it freed something. Deviation: it is no stall of a process,
    /// and `allocstall_normal` counts those alone here.
    fn zswap_worker_reclaims(&mut self) -> bool {
        self.mem.acting.now += self.mem.given.cost.t_direct_reclaim_entry;
        let (target, mut freed) = (self.config.batch(SWAP_CLUSTER_MAX), 0);
        for priority in (0..=self.first_priority()).rev() {
            for node in self.nodes_from(NodeId(0)) {
                freed += self.zswap_worker_pass(&ReclaimRequest {
                    priority,
                    target,
                    reclaimed: freed,
                    ..ReclaimRequest::direct(node, ZoneKind::Normal)
                });
            }
            if freed >= target {
                break;
            }
        }
        for node in self.nodes_from(NodeId(0)) {
            self.policies.lru.reclaim_ended(&mut self.mem, node, None);
        }
        freed > 0
    }

    fn zswap_worker_pass(&mut self, request: &ReclaimRequest) -> u64 {
        let mut freed = 0;
        loop {
            let Machine { mem, daemons, policies, .. } = self;
            let plug = &mut daemons.zswap.plug;
            mem.start_plug(plug);
            let out = policies.lru.reclaim(mem, request);
            mem.end_step();
            mem.end_plug(plug);
            if !out.more {
                mem.acting.now += mem.given.cost.t_shrink_node;
                mem.finish_plug(plug);
            }
            mem.finish_throttled(plug);
            self.interrupts();
            freed += out.reclaimed;
            if !out.more {
                return freed;
            }
        }
    }
}
