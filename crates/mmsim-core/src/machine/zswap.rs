//! The worker that writes entries of zswap back to the swap device when the pool is full.
//!
//! A store that finds the pool full requests a run; nothing else does. A run goes from group to
//! group, looks at a few entries of each, and ends when the pool is down to its threshold or too
//! many looks wrote nothing. Where it finds no page for an entry it reclaims like any thread, and
//! what that evicts finds the pool full. A run takes its time, turn by turn, in which others go on;
//! it takes no CPU from them, which a fair scheduler would share between the two.
//!
//! Source: Linux 6.12, 6.18 and 7.3 mm/zswap.c (`shrink_worker`, `shrink_memcg`). Left out: groups
//! that end.

use super::Machine;
use super::reclaim::alloc::TICK;
use crate::base::id::NodeId;
use crate::config::ZoneKind;
use crate::memory::follow::Acted;
use crate::policy::{MAX_RECLAIM_RETRIES, ReclaimRequest, SWAP_CLUSTER_MAX};

impl Machine {
    /// A turn of the worker; later, if a thread sleeps amid its own step. Pages that are written back
    /// are refaults of no thread.
    pub(super) fn go_on_with_zswap(&mut self) {
        if self.step.amid {
            self.step.zswap_waits = true;
            return;
        }
        self.run_zswap_worker();
        if self.mem.refaulted_in_step() {
            self.mem.tell_of_step(Acted::of_none());
        }
    }

    /// The step of a thread is over: the worker has its turn if it waited for that.
    #[inline]
    pub(super) fn step_lets_zswap_go_on(&mut self) {
        if std::mem::take(&mut self.step.zswap_waits) {
            let now = self.mem.acting.now;
            self.go_on_with_zswap();
            self.mem.acting.now = now;
        }
    }

    /// One turn of the worker's run; the next comes when this one has taken its time.
    fn run_zswap_worker(&mut self) {
        let Some(mut run) = self.mem.zswap_worker_goes_on() else { return };
        let no_page = self.mem.lacks_page_for_write_back();
        if no_page && !self.zswap_worker_reclaims() && run.waits < MAX_RECLAIM_RETRIES {
            run.waits += 1;
            self.mem.zswap_worker_sleeps(run, TICK);
        } else {
            run.waits = 0;
            let goes_on = self.mem.zswap_worker_turn(&mut run);
            self.mem.zswap_worker_after(goes_on.then_some(run));
        }
        // It sleeps for its writes, which no thread waits for.
        self.mem.take_throttled();
        self.queue_io();
        self.mem.settle_kernel();
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
            self.mem.start_plug(&mut self.step.plug);
            let out = self.policies.lru.reclaim(&mut self.mem, request);
            self.mem.end_step();
            self.mem.end_plug(&mut self.step.plug);
            if !out.more {
                self.mem.acting.now += self.mem.given.cost.t_shrink_node;
                self.mem.finish_plug(&mut self.step.plug);
            }
            self.mem.finish_throttled(&mut self.step.plug);
            self.interrupts();
            freed += out.reclaimed;
            if !out.more {
                return freed;
            }
        }
    }
}
