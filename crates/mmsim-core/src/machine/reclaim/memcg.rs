//! Groups in allocation: reclaim for `memory.max`, throttling above `memory.high`, and writes to
//! `memory.reclaim`.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`try_charge_memcg`, `mem_cgroup_handle_over_high`,
//! `memory_reclaim`), mm/vmscan.c (`try_to_free_mem_cgroup_pages`, `do_try_to_free_pages`).

use crate::base::id::{MemcgId, ThreadId};
use crate::base::rules::{MemcgCharges, ReclaimTry};
use crate::base::settings::OrNumber::{Number, Word};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::cpu::thread::Wait;
use crate::memory::MemcgEvent;
use crate::memory::memcg_tree::ROOT;
use crate::phys::gfp::{GfpFlags, PAGE_ALLOC_COSTLY_ORDER};
use crate::policy::{MAX_RECLAIM_RETRIES, SWAP_CLUSTER_MAX};
use crate::policy::{ReclaimRequest, Reclaimer};

/// Bits of the overage's fraction, and how far its square is scaled down (`MEMCG_DELAY_PRECISION_SHIFT`,
/// `MEMCG_DELAY_SCALING_SHIFT`).
const DELAY_PRECISION_SHIFT: u32 = 20;
const DELAY_SCALING_SHIFT: u32 = 14;

impl Machine {
    /// Reclaims until `pages` more fit under the limits of a group and of those above it, as far as
    /// a request may go (`try_charge_memcg`). An error names the level where they do not fit. The
    /// lowest level that they exceed is reclaimed from.
    ///
    /// A request that may not block gives up at once. One that may reclaims for its pages and looks
    /// again; a second attempt follows when CPUs have given back what they had in stock. That is all
    /// for `__GFP_NORETRY`. Others go on until reclaim was in vain so often that it is hopeless, and
    /// for orders that are costly every attempt counts as in vain.
    #[inline]
    pub(in crate::machine) fn reclaim_for_limit(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
        pages: u64,
        flags: GfpFlags,
    ) -> Result<(), MemcgId> {
        if memcg == ROOT || self.mem.memcgs.in_stock(self.mem.acting.cpu, memcg, pages) {
            return Ok(());
        }
        match self.mem.memcgs.failing_level(memcg, pages) {
            None => Ok(()),
            Some(level) if flags.atomic() => Err(level),
            Some(level) => self.reclaim_from_level(tid, memcg, level, pages, flags),
        }
    }

    #[inline(never)]
    fn reclaim_from_level(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
        mut level: MemcgId,
        pages: u64,
        flags: GfpFlags,
    ) -> Result<(), MemcgId> {
        let costly = pages > 1 << PAGE_ALLOC_COSTLY_ORDER;
        let begin = self.mem.acting.now;
        let (mut drained, mut retries) = (false, MAX_RECLAIM_RETRIES);
        loop {
            self.mem.memcgs.event(level, MemcgEvent::Max, 1);
            let freed = self.reclaim_group(tid, Reclaimer::Limit(level), pages, None);
            let before = level;
            level = match self.mem.memcgs.failing_level(memcg, pages) {
                None => break,
                Some(level) => level,
            };
            // There is room where there was none; the charge begins anew.
            if level != before {
                continue;
            }
            if !std::mem::replace(&mut drained, true) {
                if self.mem.given.rules.memcg_charges == MemcgCharges::Kernel {
                    self.mem.memcgs.drain_stocks(level);
                    // The pages that CPUs held in stock may be room enough.
                    match self.mem.memcgs.failing_level(memcg, pages) {
                        None => break,
                        Some(now) => level = now,
                    }
                }
                continue;
            }
            if freed > 0 && !costly {
                continue;
            }
            // More tries find no more before a write has ended: a page is worth waiting for.
            let waits = !costly && self.cleanable(level) > 0;
            if waits || flags.has(GfpFlags::NORETRY) || retries == 0 {
                break;
            }
            retries -= 1;
        }
        self.record.latency[2].add(self.mem.acting.now.since(begin));
        self.psi_stalled(tid, begin);
        self.mem.count(VmEvent::SimDirectReclaimNs, self.mem.acting.now.since(begin).0);
        match self.mem.memcgs.failing_level(memcg, pages) {
            Some(level) => Err(level),
            None => {
                self.mem.memcgs.reclaimed_for_charge();
                Ok(())
            }
        }
    }

    /// A write to `memory.reclaim`: the group is reclaimed from again until it gave the requested
    /// pages, or failed until Linux ends with `EAGAIN`.
    ///
    /// Each try requests a part of the rest, since the pages that a list scan frees beyond its
    /// target grow with the target. The last try takes in what waits in LRU batches.
    /// `memory.reclaim` is of 5.19; rules of older kernels have the loop that it began with.
    pub(in crate::machine) fn memory_reclaim(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
        pages: u64,
        swappiness: Option<u8>,
    ) {
        let amount = self.mem.given.rules.memory_reclaim_try;
        let batch = self.config.batch(match amount {
            Number(pages) => pages.into(),
            Word(_) => SWAP_CLUSTER_MAX,
        });
        let asks = |missing: u64| match amount {
            Word(ReclaimTry::Whole) => missing,
            Word(ReclaimTry::Batch) | Number(_) => missing.min(batch),
            Word(ReclaimTry::Quarter) => missing / 4,
        };
        let mut reclaimed = 0;
        let mut retries = MAX_RECLAIM_RETRIES;
        while reclaimed < pages {
            if retries == 0 {
                self.mem.lru_drain_all(&mut *self.policies.lru);
            }
            let by = Reclaimer::Proactive(memcg);
            let target = asks(pages - reclaimed);
            let freed = self.reclaim_group(tid, by, target, swappiness);
            reclaimed += freed;
            if freed == 0 {
                if retries == 0 {
                    break;
                }
                retries -= 1;
                self.wait_for_writeback(tid);
            }
        }
        self.mem.count_in(memcg, VmEvent::SimMemcgReclaimAsked, pages);
        let short = pages.saturating_sub(reclaimed);
        self.mem.count_in(memcg, VmEvent::SimMemcgReclaimShort, short);
    }

    /// A try that freed nothing while writes are under way waits a jiffy for them
    /// (`VMSCAN_THROTTLE_CONGESTED`; MGLRU of 6.12 does not, and gives up earlier).
    fn wait_for_writeback(&mut self, tid: ThreadId) {
        self.queue_io();
        if self.events.queue.next_io() != SimTime::NEVER {
            let end = self.mem.acting.now + self.config.tick;
            self.sleep_amid_step(tid, end);
        }
    }

    /// One reclaim of a group: for its limit, `memory.high` or `memory.reclaim`. Requests at least
    /// a batch of 32 pages. Returns the pages freed.
    pub(in crate::machine) fn reclaim_group(
        &mut self,
        tid: ThreadId,
        by: Reclaimer,
        target: u64,
        swappiness: Option<u8>,
    ) -> u64 {
        self.course.watchdog.tried(false);
        let target = target.max(self.config.batch(SWAP_CLUSTER_MAX));
        let (mut force_deactivate, mut again) = (false, self.mem.given.rules.reclaim_walks_again);
        let (mut low_reclaim, mut full_walk) = (false, false);
        loop {
            let (mut total, mut skipped, mut spared) = (0, false, false);
            let mut priority = self.first_priority();
            loop {
                for node in self.nodes_from(self.home_node()) {
                    let out = self.pass(
                        tid,
                        &ReclaimRequest {
                            node,
                            by,
                            priority,
                            order: 0,
                            lowest: ZoneKind::Dma,
                            highest: ZoneKind::Movable,
                            target,
                            reclaimed: total,
                            may_writepage: true,
                            may_swap: true,
                            may_io: true,
                            force_deactivate,
                            low_reclaim,
                            full_walk,
                            swappiness,
                            no_cache_trim: false,
                            one_step: true,
                        },
                    );
                    total += out.reclaimed;
                    skipped |= out.skipped_deactivate;
                    spared |= out.low_skipped;
                }
                if total >= target || priority == 0 {
                    break;
                }
                priority -= 1;
            }
            for n in self.nodes_from(self.home_node()) {
                self.policies.lru.reclaim_ended(&mut self.mem, n, by.memcg());
            }
            if total == 0 && std::mem::take(&mut again) {
                full_walk = true;
                continue;
            }
            // Nothing came, and something was spared: once more, without sparing that.
            if total == 0 && skipped && !force_deactivate {
                force_deactivate = true;
            } else if total == 0 && spared && !low_reclaim {
                self.mem.count(VmEvent::SimMemcgLowRounds, 1);
                (low_reclaim, force_deactivate) = (true, false);
            } else {
                self.queue_io();
                return total;
            }
        }
    }

    /// Charges pages of a thread to its group. If that takes a new batch above `memory.high`, the
    /// thread has to answer for the batch before it goes on.
    #[inline]
    pub(in crate::machine) fn charge(&mut self, tid: ThreadId, memcg: MemcgId, n: u64) {
        let batch = self.mem.memcgs.charge_in_batch(self.mem.acting.cpu, memcg, n);
        if batch > 0 && self.mem.memcgs.exceeds_high(memcg) {
            self.work.threads[tid].over_high += batch;
        }
    }

    /// On the way back to user mode: the thread reclaims for its group what it charged above
    /// `memory.high`, and sleeps if the group is far above it still. It reclaims once, or as long
    /// as that helps. An operation on many pages goes back after each of them.
    #[inline(never)]
    pub(in crate::machine) fn handle_over_high(&mut self, tid: ThreadId) {
        if self.work.threads[tid].wait != Wait::Not {
            return;
        }
        let charged = std::mem::take(&mut self.work.threads[tid].over_high);
        let memcg = self.work.threads[tid].memcg;
        let begin = self.mem.acting.now;
        let mut retries = MAX_RECLAIM_RETRIES;
        let mut target = charged;
        let penalty = loop {
            let freed = self.reclaim_high(tid, memcg, target);
            self.note_swap_high(memcg);
            let penalty = self.high_penalty(memcg, charged);
            let helps = self.mem.given.rules.high_retries && (freed > 0 || retries > 0);
            if penalty == 0 || !helps {
                break penalty;
            }
            if freed == 0 {
                retries -= 1;
            }
            target = 0;
        };
        self.psi_stalled(tid, begin);
        if penalty > 0 {
            self.sleep(tid, self.timeout(penalty), true);
        }
    }

    /// Reclaims from each level that is above its `memory.high`, the lowest first (`reclaim_high`).
    fn reclaim_high(&mut self, tid: ThreadId, memcg: MemcgId, target: u64) -> u64 {
        let mut freed = 0;
        let mut level = Some(memcg).filter(|&m| m != ROOT);
        while let Some(m) = level {
            if self.mem.memcgs.over_high(m) > 0 {
                self.mem.memcgs.event(m, MemcgEvent::High, 1);
                freed += self.reclaim_group(tid, Reclaimer::Limit(m), target, None);
            }
            level = self.mem.memcgs.tree.parent(m).filter(|&m| m != ROOT);
        }
        freed
    }

    /// For how many jiffies a charge above `memory.high` is throttled: by the square of the largest
    /// overage of its levels and by its size, two seconds at most; up to 10 ms is not worth it
    /// (`calculate_high_delay`, `mem_find_max_overage`).
    fn high_penalty(&self, memcg: MemcgId, charged: u64) -> u64 {
        let memcgs = &self.mem.memcgs;
        let hz = self.hz();
        let of = |worst: Option<u64>| {
            delay(worst.unwrap_or(0), charged, memcgs.charge_batch(), hz).min(2 * hz)
        };
        let levels = || memcgs.tree.levels(memcg);
        let memory = levels().map(|m| overage(memcgs.over_high(m), memcgs[m].config.high));
        let swap = levels().map(|m| overage(memcgs.over_swap_high(m), memcgs[m].config.swap_high));
        let jiffies = (of(memory.max()) + of(swap.max())).min(2 * hz);
        if jiffies <= hz / 100 { 0 } else { jiffies }
    }

    /// Counts the levels that are above their `memory.swap.high`, which costs time alone.
    fn note_swap_high(&mut self, memcg: MemcgId) {
        let memcgs = &self.mem.memcgs;
        let over = memcgs.tree.levels(memcg).filter(|&m| memcgs.over_swap_high(m) > 0);
        for m in over.collect::<Vec<_>>() {
            self.mem.memcgs.event(m, MemcgEvent::SwapHigh, 1);
        }
    }

    /// `CONFIG_HZ`.
    fn hz(&self) -> u64 {
        (1_000_000_000 / self.config.tick.0.max(1)).max(1)
    }

    /// Duration of a sleep of `jiffies` jiffies: up to the end of a slot of the timer wheel, which
    /// is eight times as long on each level (kernel/time/timer.c, `calc_index`).
    fn timeout(&self, jiffies: u64) -> SimDuration {
        let tick = self.config.tick.0.max(1);
        let mut shift = 0;
        while jiffies >= 63 << shift {
            shift += 3;
        }
        let end = (((self.mem.acting.now.0 / tick + jiffies) >> shift) + 1) << shift;
        SimDuration((end * tick).saturating_sub(self.mem.acting.now.0))
    }
}

/// The share by which a counter is `over` pages above a limit, in 1/2^20 of the limit.
fn overage(over: u64, limit: Option<u64>) -> u64 {
    let limit = u128::from(limit.unwrap_or(u64::MAX).max(1));
    ((u128::from(over) << DELAY_PRECISION_SHIFT) / limit) as u64
}

/// Jiffies for which a charge of `charged` pages sleeps at an overage, before it is cut.
fn delay(overage: u64, charged: u64, batch: u64, hz: u64) -> u64 {
    let square = u128::from(overage) * u128::from(overage);
    let of_batch = (square * u128::from(hz)) >> DELAY_PRECISION_SHIFT >> DELAY_SCALING_SHIFT;
    (of_batch * u128::from(charged) / u128::from(batch)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand with 250 jiffies a second and a limit of 100,000 pages.
    #[test]
    fn throttling_grows_with_the_square_of_the_overage() {
        let high = Some(100_000);
        assert_eq!([5000, 10_000].map(|over| overage(over, high)), [52_428, 104_857]);
        let of = |over, charged| delay(overage(over, high), charged, 64, 250);
        assert_eq!([1000, 5000, 10_000, 20_000].map(|over| of(over, 64)), [1, 39, 159, 639]);
        assert_eq!(of(10_000, 128), 318);
        assert_eq!(overage(0, None), 0);
    }
}
