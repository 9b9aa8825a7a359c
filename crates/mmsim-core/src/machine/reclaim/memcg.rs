//! Groups in allocation: reclaim for `memory.max`, throttling above `memory.high`, and writes to
//! `memory.reclaim`.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`try_charge_memcg`, `mem_cgroup_handle_over_high`,
//! `memory_reclaim`), mm/vmscan.c (`try_to_free_mem_cgroup_pages`, `do_try_to_free_pages`).

use crate::base::id::{MemcgId, ThreadId};
use crate::base::rules::ReclaimTry;
use crate::base::settings::OrNumber::{Number, Word};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::cpu::thread::Wait;
use crate::phys::gfp::{GfpFlags, PAGE_ALLOC_COSTLY_ORDER};
use crate::policy::{MAX_RECLAIM_RETRIES, SWAP_CLUSTER_MAX};
use crate::policy::{ReclaimRequest, Reclaimer};

/// Bits of the overage's fraction, and how far its square is scaled down (`MEMCG_DELAY_PRECISION_SHIFT`,
/// `MEMCG_DELAY_SCALING_SHIFT`).
const DELAY_PRECISION_SHIFT: u32 = 20;
const DELAY_SCALING_SHIFT: u32 = 14;

impl Machine {
    /// Reclaims until `pages` more fit under the limit of a group, as far as a request may go
    /// (`try_charge_memcg`). False: they do not fit.
    ///
    /// A request that may not block gives up at once. One that may reclaims for its pages and looks
    /// again; a second attempt follows when CPUs have given back what they had in stock. That is all
    /// for `__GFP_NORETRY`. Others go on until reclaim was in vain so often that it is hopeless, and
    /// for orders that are costly every attempt counts as in vain.
    pub(in crate::machine) fn reclaim_for_limit(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
        pages: u64,
        flags: GfpFlags,
    ) -> bool {
        if self.mem.memcgs.fits(memcg, pages) {
            return true;
        }
        if flags.atomic() {
            return false;
        }
        let costly = pages > 1 << PAGE_ALLOC_COSTLY_ORDER;
        let begin = self.mem.acting.now;
        let (mut drained, mut retries) = (false, MAX_RECLAIM_RETRIES);
        loop {
            let freed = self.reclaim_group(tid, Reclaimer::Limit(memcg), pages, None);
            if self.mem.memcgs.fits(memcg, pages) {
                break;
            }
            if !std::mem::replace(&mut drained, true) || freed > 0 && !costly {
                continue;
            }
            // More tries find no more before a write has ended: a page is worth waiting for.
            let waits = !costly && self.mem.cache.files.group(memcg).cleanable() > 0;
            if waits || flags.has(GfpFlags::NORETRY) || retries == 0 {
                break;
            }
            retries -= 1;
        }
        self.record.latency[2].add(self.mem.acting.now.since(begin));
        self.sched.psi.stalled(self.mem.acting.cpu, begin, self.mem.acting.now);
        self.mem.count(VmEvent::SimDirectReclaimNs, self.mem.acting.now.since(begin).0);
        self.mem.memcgs.fits(memcg, pages)
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
    fn reclaim_group(
        &mut self,
        tid: ThreadId,
        by: Reclaimer,
        target: u64,
        swappiness: Option<u8>,
    ) -> u64 {
        self.course.watchdog.tried(false);
        let target = target.max(self.config.batch(SWAP_CLUSTER_MAX));
        let (mut force_deactivate, mut again) = (false, self.mem.given.rules.reclaim_walks_again);
        let mut low_reclaim = false;
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
                continue;
            }
            // Nothing came, and something was spared: once more, without sparing that.
            if total == 0 && skipped && !force_deactivate {
                force_deactivate = true;
            } else if total == 0 && spared && !low_reclaim {
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
        if batch > 0 && self.mem.memcgs.over_high(memcg) > 0 {
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
            let over = self.mem.memcgs.over_high(memcg) > 0;
            let by = Reclaimer::Limit(memcg);
            let freed = if over { self.reclaim_group(tid, by, target, None) } else { 0 };
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
        self.sched.psi.stalled(self.mem.acting.cpu, begin, self.mem.acting.now);
        if penalty > 0 {
            self.sleep(tid, self.timeout(penalty), true);
        }
    }

    /// For how many jiffies a charge above `memory.high` is throttled: by the square of the overage
    /// and by its size, two seconds at most; up to 10 ms is not worth it (`calculate_high_delay`).
    fn high_penalty(&self, memcg: MemcgId, charged: u64) -> u64 {
        let hz = u128::from(self.hz());
        let high = self.mem.memcgs[memcg].config.high.unwrap_or(0).max(1);
        let over = (u128::from(self.mem.memcgs.over_high(memcg)) << DELAY_PRECISION_SHIFT)
            / u128::from(high);
        let of_batch = (over * over * hz) >> (DELAY_PRECISION_SHIFT + DELAY_SCALING_SHIFT);
        let jiffies = of_batch * u128::from(charged) / u128::from(self.mem.memcgs.charge_batch());
        let jiffies = jiffies.min(2 * hz);
        if jiffies <= hz / 100 { 0 } else { jiffies as u64 }
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
