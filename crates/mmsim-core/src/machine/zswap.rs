//! The worker that writes entries of zswap back to the swap device when the pool is full.
//!
//! A store that finds the pool full requests a run; nothing else does. A run goes from group to
//! group, looks at a few entries of each, and ends when the pool is down to its threshold or too
//! many looks wrote nothing. It is a thread of the kernel that costs no CPU time here.
//!
//! Source: Linux 6.12, 6.18 and 7.3 mm/zswap.c (`shrink_worker`, `shrink_memcg`). Left out: groups
//! that end; direct reclaim by the worker, which does without a page where it would reclaim.

use super::Machine;
use crate::memory::IoDone;
use crate::memory::ZswapShrunk;
use crate::memory::follow::Acted;
use crate::phys::watermarks::Mark;

/// Visits and rounds in vain after which a run ends (`MAX_RECLAIM_RETRIES`).
const MOST_FAILURES: u32 = 16;

impl Machine {
    /// Does what zswap left for after a step; later, if a thread sleeps amid its own. Pages that are
    /// written back are refaults of no thread.
    pub(super) fn go_on_with_zswap(&mut self, left: IoDone) {
        if self.step.amid {
            self.step.left_by_zswap.push(left);
            return;
        }
        match left {
            IoDone::ZswapWorker => self.run_zswap_worker(),
            entered => self.end_io(entered),
        }
        if self.mem.refaulted_in_step() {
            self.mem.tell_of_step(Acted::of_none());
        }
    }

    /// The step of a thread is over: so is what waited for that.
    #[inline]
    pub(super) fn step_lets_zswap_go_on(&mut self) {
        if !self.step.left_by_zswap.is_empty() {
            let now = self.mem.acting.now;
            let left = std::mem::take(&mut self.step.left_by_zswap);
            left.into_iter().for_each(|left| self.go_on_with_zswap(left));
            self.mem.acting.now = now;
        }
    }

    /// One run of the worker.
    fn run_zswap_worker(&mut self) {
        self.mem.zswap_worker_begins();
        let (mut failures, mut candidates) = (0, 0);
        loop {
            let turn = self.mem.next_zswap_group();
            let shrunk = match turn {
                Some(memcg) => self.mem.zswap_shrink(memcg, Some(Mark::Min)),
                None => {
                    failures += u32::from(candidates == 0);
                    candidates = 0;
                    ZswapShrunk::Nothing
                }
            };
            if shrunk != ZswapShrunk::Nothing {
                candidates += 1;
                failures += u32::from(shrunk == ZswapShrunk::Looked);
            }
            if failures >= MOST_FAILURES || !self.mem.zswap_above_threshold() {
                break;
            }
        }
        // It sleeps for its writes, which no thread waits for.
        self.mem.take_throttled();
        self.queue_io();
        self.mem.settle_kernel();
    }
}
