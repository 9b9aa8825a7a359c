//! Writeback of zswap: entries become pages again, which go to the swap device.
//!
//! An entry that is looked at first loses its referenced bit, and is written at the next look.
//! Writing it takes a page: that is in the swap cache and under write at once, and goes to its LRU
//! list like a page that was read outside a fault, with the shadow of the slot. Its policy learns of
//! it when the scan that is under way has its next pause.
//!
//! Source: Linux 6.12, 6.18 and 7.3 mm/zswap.c (`zswap_writeback_entry`, `shrink_memcg_cb`,
//! `shrink_memcg`), mm/swap_state.c (`__read_swap_cache_async`).

use super::{IoDone, Memory};
use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::backing::swap::{Cached, Look, Visit, WorkerRun, ZswapShrunk};
use crate::base::id::{MemcgId, NodeId, Pfn, SwapSlot};
use crate::base::time::{SimDuration, SimTime};
use crate::base::vmstat::VmEvent;
use crate::memory::trace::ZswapStep;
use crate::phys::frames::{FolioId, FrameKind, flag};
use crate::phys::gfp::AllocRequest;
use crate::phys::watermarks::Mark;
use crate::policy::{Arrival, ArrivalKind, MAX_RECLAIM_RETRIES, ReclaimPolicy};

/// Time of a look at an entry: 512 of them take 68 to 81 us on a recorded 7.3.4.
const LOOK: SimDuration = SimDuration::from_nanos(140);
/// Time of a turn of the worker besides its looks: 16 turns and looks take 9 us on a recorded
/// 6.12.117 without groups.
const TURN: SimDuration = SimDuration::from_nanos(420);

/// Place of zswap's worker, which sleeps, in the line for the CPU of the step under way.
///
/// EEVDF lets an entity that wakes preempt the one that acts if it has credit (a lag), and the one
/// that acts is ahead of the average of all. The credit that the worker brings lowers the average.
/// Source: Linux 6.12 kernel/sched/fair.c (`place_entity`, `entity_eligible`, `pick_eevdf`). Left
/// out: a third entity whose deadline is earlier than the worker's.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WorkerPlace {
    /// Credit of the worker, in ns.
    pub(crate) lag: i64,
    /// Entities that compete, among them the one that acts.
    pub(crate) others: i64,
    /// Virtual runtime of the one that acts, less the average.
    pub(crate) ahead: i64,
    /// When that was so.
    pub(crate) at: SimTime,
    /// Time that the worker has run in this step.
    pub(crate) ran: SimDuration,
}

impl WorkerPlace {
    /// True if the worker preempts the one that acts when it wakes now.
    fn preempts(&mut self, now: SimTime) -> bool {
        let n = self.others.max(1);
        let acted = now.since(self.at).0 as i64;
        self.ahead += acted - acted / n;
        self.at = now;
        self.lag >= 0 && self.ahead * n > -self.lag
    }

    /// The worker ran from `begin` to `now`.
    fn ran(&mut self, begin: SimTime, now: SimTime) {
        let time = now.since(begin);
        self.ran += time;
        self.at = now;
        self.lag -= time.0 as i64 * self.others / (self.others + 1);
    }
}

/// Continuation after a turn of the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkerTurn {
    GoesOn,
    Ends,
    /// An entry is to be written, and there is no page for it: whoever runs reclaims.
    LacksPage,
}

impl Memory {
    /// Requests a run of the worker, if none is to come (`queue_work`). It gets into line for a CPU.
    /// Without lazy preemption it may preempt who asks, before his next page: on a recorded 6.12.117
    /// it begins after 5 to 6 us then.
    pub(super) fn queue_zswap_worker(&mut self) {
        let at = self.acting.now;
        let Some(zswap) = self.zswap_mut() else { return };
        if std::mem::replace(&mut zswap.worker_queued, true) || zswap.worker_run.is_some() {
            return;
        }
        if self.acting.zswap_worker.as_mut().is_some_and(|place| place.preempts(at)) {
            // Who asks does not wait for its writes.
            let throttled = std::mem::take(&mut self.acting.throttled);
            self.unplugged(Memory::run_zswap_worker);
            self.acting.throttled = throttled;
        } else {
            self.acting.io.push((at, IoDone::ZswapWorker));
        }
    }

    /// A run of the worker, amid the step of the one that it preempts: up to its end, or until it
    /// would wait for a page or a write.
    fn run_zswap_worker(&mut self) {
        let begin = self.acting.now;
        let Some(mut run) = self.zswap_worker_goes_on() else { return };
        let goes_on = loop {
            match self.zswap_worker_turn(&mut run) {
                WorkerTurn::GoesOn if self.acting.throttled <= self.acting.now => {}
                turn => break turn != WorkerTurn::Ends,
            }
        };
        let now = self.acting.now;
        if let Some(place) = &mut self.acting.zswap_worker {
            place.ran(begin, now);
        }
        if self.zswap_worker_after(goes_on.then_some(run)) {
            self.acting.io.push((now.max(self.acting.throttled), IoDone::ZswapWorker));
        }
    }

    /// The group whose turn it is gives up some of its entries.
    pub(crate) fn zswap_worker_turn(&mut self, run: &mut WorkerRun) -> WorkerTurn {
        if run.visit.is_none() {
            self.acting.now += TURN;
            run.visit = self.next_zswap_group().map(Visit::of);
        }
        match &mut run.visit {
            None => {
                run.failures += u32::from(run.candidates == 0);
                run.candidates = 0;
            }
            Some(visit) => {
                if !self.zswap_visit(visit, Some(Mark::Min), run.waits < MAX_RECLAIM_RETRIES) {
                    return WorkerTurn::LacksPage;
                }
                run.candidates += u32::from(visit.shrunk > ZswapShrunk::Nothing);
                run.failures += u32::from(visit.shrunk == ZswapShrunk::Looked);
                (run.visit, run.waits) = (None, 0);
            }
        }
        let goes_on = run.failures < MAX_RECLAIM_RETRIES && self.zswap_above_threshold();
        if goes_on { WorkerTurn::GoesOn } else { WorkerTurn::Ends }
    }

    /// The run whose turn it is, or one that begins. It is at work until
    /// [`Memory::zswap_worker_after`]: what its own reclaim requests begins when it is over.
    pub(crate) fn zswap_worker_goes_on(&mut self) -> Option<WorkerRun> {
        let zswap = self.zswap_mut()?;
        if zswap.worker_run.is_none() {
            zswap.worker_queued = false;
        }
        Some(*zswap.worker_run.get_or_insert_default())
    }

    /// The run goes on after a time.
    pub(crate) fn zswap_worker_sleeps(&mut self, run: WorkerRun, time: SimDuration) {
        let at = self.acting.now + time;
        if self.zswap_worker_after(Some(run)) {
            self.acting.io.push((at, IoDone::ZswapWorker));
        }
    }

    /// The run goes on, or is over. True: it goes on, or the one that was requested meanwhile begins.
    pub(crate) fn zswap_worker_after(&mut self, run: Option<WorkerRun>) -> bool {
        let Some(zswap) = self.zswap_mut() else { return false };
        zswap.worker_run = run;
        run.is_some() || zswap.worker_queued
    }

    /// True if an entry that is written back now would find no page above the min watermark.
    pub(crate) fn lacks_page_for_write_back(&self) -> bool {
        let kind = AllocRequest::KERNEL.highest;
        let zones = self.zones.ids().map(|z| &self.zones[z]).filter(|z| z.kind <= kind);
        !zones.into_iter().any(|z| z.watermark_ok(Mark::Min, kind))
    }

    /// The group whose turn it is in the worker's round, the root first; `None`: the round is over.
    /// Without groups there is the root alone, or no turn at all (`zswap-worker-without-memcg`).
    fn next_zswap_group(&mut self) -> Option<MemcgId> {
        let (groups, alone) = (self.memcgs.len(), self.given.rules.zswap_worker_without_memcg);
        if groups == 1 {
            return alone.then_some(MemcgId(0));
        }
        let place = self.zswap_mut()?.next_place();
        if place as usize == groups {
            self.zswap_mut()?.first_place();
            return None;
        }
        Some(self.memcgs.tree.at(place))
    }

    /// True if the pool is larger than a full one has to be to take pages again.
    fn zswap_above_threshold(&self) -> bool {
        self.zswap().is_some_and(|z| z.store.pool.nr_frames() > z.accept)
    }

    /// Looks at entries of a group on each node, the oldest first, as many as a visit does
    /// (`shrink_memcg`). Pages for them come from above the mark; `None`: from anywhere.
    pub(super) fn zswap_shrink(&mut self, memcg: MemcgId, mark: Option<Mark>) -> ZswapShrunk {
        let mut visit = Visit::of(memcg);
        self.zswap_visit(&mut visit, mark, false);
        visit.shrunk
    }

    /// Goes on with a visit. False: the next entry is to be written, there is no page for it, and
    /// whoever visits `waits` for one.
    fn zswap_visit(&mut self, visit: &mut Visit, mark: Option<Mark>, waits: bool) -> bool {
        let (memcg, most) = (visit.memcg, self.given.rules.zswap_limit_batch);
        if !self.zswap_may_write_back(memcg) {
            return true;
        }
        while usize::from(visit.node.0) < self.zones.nr_nodes() {
            let node = visit.node;
            let oldest = self.zswap_mut().and_then(|z| z.oldest_goes(memcg, node));
            let Some(goes) = oldest.filter(|_| visit.looks < most) else {
                (visit.node, visit.looks) = (NodeId(node.0 + 1), 0);
                continue;
            };
            if goes && waits && self.lacks_page_for_write_back() {
                return false;
            }
            self.acting.now += LOOK;
            visit.looks += 1;
            let written = match self.zswap_mut().and_then(|z| z.look(memcg, node)) {
                Some(Look::Old(slot)) => self.zswap_write_back(slot, mark),
                _ => false,
            };
            let shrunk = if written { ZswapShrunk::Written } else { ZswapShrunk::Looked };
            visit.shrunk = visit.shrunk.max(shrunk);
        }
        true
    }

    /// Writes the entry of a slot to the swap device (`zswap_writeback_entry`). False: that cannot
    /// be done now.
    pub(super) fn zswap_write_back(&mut self, slot: SwapSlot, mark: Option<Mark>) -> bool {
        let cached = self.swap.as_ref().map_or(Cached::Nothing, |s| s.cached(slot));
        let shadow = match cached {
            Cached::Folio(_) => return self.zswap_write_back_fails(slot),
            Cached::Shadow(shadow) => Some(shadow),
            Cached::Nothing => None,
        };
        let Some(pfn) = self.page_for_write_back(mark) else {
            return self.zswap_write_back_fails(slot);
        };
        let Some(zswap) = self.zswap_mut() else { return false };
        let decompress = zswap.config.decompress;
        let memcg = self.take_entry(slot).expect("an entry that is on a list");
        self.enter_written_back(pfn, slot, memcg, shadow);
        // A swap-in takes as long besides its read: a page, its charge, its place in the swap cache.
        self.acting.now += self.given.cost.t_major_cpu + decompress;
        self.count_in(memcg, VmEvent::ZswpWb, 1);
        self.tell_of_zswap(slot, ZswapStep::WrittenBack);
        self.count_in(memcg, VmEvent::PswpOut, 1);
        self.acting.now += self.given.cost.t_swap_submit;
        let device = self.swap.as_ref().expect("a slot without swap").device_of(slot);
        if device.config().synchronous {
            self.acting.now += device.sync_cost(Io::Write, 1);
            self.count_swap_requests(Io::Write, 1);
            if !self.write_synchronously(slot) {
                self.frames.set(pfn, flag::DIRTY);
            }
        } else {
            self.frames.set(pfn, flag::WRITEBACK | flag::RECLAIM);
            self.write_to_swap(slot, pfn);
        }
        true
    }

    /// True if the page of a slot is in memory.
    pub(crate) fn is_in_swapcache(&self, slot: SwapSlot) -> bool {
        self.swap.as_ref().is_some_and(|s| matches!(s.cached(slot), Cached::Folio(_)))
    }

    fn zswap_write_back_fails(&mut self, slot: SwapSlot) -> bool {
        self.tell_of_zswap(slot, ZswapStep::NotWrittenBack);
        self.count(VmEvent::SimZswapRejectReclaimFail, 1);
        false
    }

    /// A page of the kernel's: who reclaims may have the last one.
    fn page_for_write_back(&mut self, mark: Option<Mark>) -> Option<Pfn> {
        let marks = [Some(Mark::Low), Some(Mark::Min), mark];
        marks.into_iter().find_map(|mark| self.try_alloc(NodeId(0), &AllocRequest::KERNEL, mark))
    }

    /// A page is in the swap cache, on its way to an LRU list.
    fn enter_written_back(
        &mut self,
        pfn: Pfn,
        slot: SwapSlot,
        memcg: MemcgId,
        shadow: Option<Shadow>,
    ) {
        self.frames.reset(pfn, FrameKind::Anon);
        self.frames.rmap[pfn] = u32::MAX;
        self.frames.set(pfn, flag::SWAPBACKED | flag::SWAPCACHE | flag::LOCKED);
        self.frames.set_memcg(pfn, memcg);
        self.memcgs.charge(memcg, 1);
        self.frames.set_slot(pfn, slot);
        self.swap.as_mut().expect("a slot without swap").set(slot, Cached::Folio(pfn));
        self.acting.entering.push((pfn, shadow));
        self.acting.io.push((self.acting.now, IoDone::Entered(pfn)));
    }

    /// The policy learns of a page that was written back.
    pub(super) fn written_back_enters(&mut self, policy: &mut dyn ReclaimPolicy, folio: FolioId) {
        let entering = &mut self.acting.entering;
        let at = entering.iter().position(|e| e.0 == folio).expect("it is on its way");
        let (_, shadow) = entering.swap_remove(at);
        self.frames.clear(folio, flag::LOCKED);
        if self.frames.has(folio, flag::ORPHAN) {
            if !self.frames.has(folio, flag::WRITEBACK) {
                self.bury(folio);
            }
            return;
        }
        let how = Arrival { kind: ArrivalKind::SwapIn, in_fault: None, position: 0 };
        let page = self.page_of_slot(self.frames.slot(folio));
        self.telling.refaulting = page;
        // Its entry became the page, and no device was read.
        self.telling.uses.need_no_device(true);
        policy.folio_entering(self, folio, shadow, how);
        self.tell_of_swap_in(folio, page);
        self.telling.uses.need_no_device(false);
        self.lru_add(policy, folio, how);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker with this lag beside two that compete, one of which acts and is ahead of the average.
    fn place(lag: i64, ahead: i64) -> WorkerPlace {
        WorkerPlace { lag, others: 2, ahead, ..WorkerPlace::default() }
    }

    /// By hand: whoever acts for 12 us gets 6 us ahead of the average. A worker that runs 24 us has
    /// 16 us less credit then: 1.5 ms last for 94 runs. (Those that a recorded 6.12.117 had before the
    /// worker waited for its turn: 92.)
    #[test]
    fn a_worker_preempts_until_its_credit_is_used_up() {
        let (mut place, mut now, mut runs) = (place(1_500_000, 0), SimTime::ZERO, 0);
        loop {
            now += SimDuration::from_micros(12);
            if !place.preempts(now) {
                break;
            }
            let begin = now;
            now += SimDuration::from_micros(24);
            place.ran(begin, now);
            runs += 1;
        }
        assert_eq!((runs, place.ran), (94, SimDuration::from_micros(94 * 24)));
        assert_eq!(place.ahead, 95 * 6_000);
    }

    /// By hand: who is behind the average stays eligible until the worker's credit lowers the average
    /// by more than that. Alone on its CPU it is at the average.
    #[test]
    fn whoever_is_behind_the_average_is_preempted_by_much_credit_alone() {
        assert!(!place(1000, -500).preempts(SimTime::ZERO));
        assert!(place(1001, -500).preempts(SimTime::ZERO));
        assert!(!place(-1, 500).preempts(SimTime::ZERO));
        let mut alone = WorkerPlace { others: 1, ..place(0, 0) };
        assert!(!alone.preempts(SimTime(1_000_000)));
        alone.lag = 1;
        assert!(alone.preempts(SimTime(2_000_000)));
    }
}
