//! The slow path of allocation, one flow for each form that kernels gave it.
//!
//! All of them wake kswapd and look below the low watermark. Then they reclaim, compact and look
//! again, round after round, until a round is the last. In the end they kill a process or fail.
//! The flows differ in where compaction stands, and in when a request gives up. Their steps are
//! the same and are found once, below the flows.
//!
//! Source: Linux 6.12 mm/page_alloc.c (`__alloc_pages_slowpath`, `should_reclaim_retry`,
//! `__alloc_pages_may_oom`), and 4.1 and 7.0 for their orders of decisions.

use super::alloc::{AllocOutcome, TICK};
use crate::base::id::{MemcgId, NodeId, Pfn, ThreadId};
use crate::base::migratetype::Migratetype;
use crate::base::rules::SlowPath;
use crate::base::time::{SimDuration, SimTime};
use crate::config::ZoneKind;
use crate::machine::Machine;
use crate::machine::compaction::direct::{Priority, Tries};
use crate::machine::watch::result::Origin;
use crate::phys::gfp::{AllocFlags, AllocRequest, GfpFlags};
use crate::phys::watermarks::Mark;
use crate::policy::{MAX_RECLAIM_RETRIES, SWAP_CLUSTER_MAX};
use std::convert::Infallible;
use std::ops::ControlFlow::{self, Break, Continue};

/// Longest wait of a reclaimer that freed nothing.
const NO_PROGRESS: SimDuration = SimDuration::from_millis(500);

/// A step of the slow path: goes on with a value, or ends the request.
type Flow<T = ()> = ControlFlow<AllocOutcome, T>;

/// A request in the slow path.
struct Ask<'a> {
    tid: ThreadId,
    req: &'a AllocRequest,
    node: NodeId,
    tries: Tries,
    /// Its thread had to wait, and goes on where it was.
    resumed: bool,
}

/// One direct reclaim of a request.
struct Round {
    /// Pages that it freed.
    freed: u64,
    /// It was for a whole pageblock, and ended early to leave the rest to compaction.
    promoted: bool,
}

impl Ask<'_> {
    fn has(&self, flags: GfpFlags) -> bool {
        self.req.flags.has(flags)
    }

    fn gives_up_soon(&self) -> bool {
        self.has(GfpFlags::NORETRY)
    }
}

/// The end of a request if there is a page.
fn ends_with(page: Option<Pfn>) -> Flow {
    page.map_or(Continue(()), |p| Break(AllocOutcome::Frame(p)))
}

/// Flows.
impl Machine {
    pub(super) fn slow_path(
        &mut self,
        tid: ThreadId,
        req: &AllocRequest,
        node: NodeId,
    ) -> AllocOutcome {
        let form = self.mem.given.rules.slow_path;
        let waited = self.work.threads[tid].tries.take();
        let first = if form == SlowPath::V4_1 { Priority::Async } else { Priority::SyncLight };
        let tries = waited.unwrap_or(Tries::begin(first, self.mem.slow_path_flags(req)));
        let a = &mut Ask { tid, req, node, tries, resumed: waited.is_some() };
        let Break(ends) = match form {
            SlowPath::V4_1 => self.slow_path_4_1(a),
            SlowPath::V4_8 => self.slow_path_4_8(a),
            SlowPath::V7_0 => self.slow_path_7_0(a),
        };
        ends
    }

    /// Compacts before each reclaim, asynchronously at first.
    fn slow_path_4_1(&mut self, a: &mut Ask) -> Flow<Infallible> {
        self.opens(a)?;
        loop {
            self.wake_for(a.req);
            self.compacts(a)?;
            a.tries.set(Priority::SyncLight);
            let round = self.reclaims(a)?;
            if self.is_last(a, a.tries.reclaimed < 1 << a.req.order) {
                self.compacts(a)?;
                return Break(AllocOutcome::Failed);
            }
            self.ends_round(a, &round, |m, a| a.req.order > 0 || m.compaction_goes_on(a))?;
        }
    }

    /// Compacts once before the rounds, and then after each reclaim.
    fn slow_path_4_8(&mut self, a: &mut Ask) -> Flow<Infallible> {
        self.opens(a)?;
        if self.compacts_first(a) {
            let usual = a.tries;
            a.tries.set(Priority::Async);
            self.compacts(a)?;
            if a.req.costly() && a.gives_up_soon() {
                // Reclaim would take long and might not help.
                if a.tries.in_vain() || self.only_near(a) {
                    return Break(AllocOutcome::Failed);
                }
            } else {
                a.tries = usual;
            }
        }
        self.rounds(a)
    }

    /// As in 4.8, but the turn that compacts ends there: the rounds begin with a look at the free
    /// lists.
    fn slow_path_7_0(&mut self, a: &mut Ask) -> Flow<Infallible> {
        self.opens(a)?;
        if self.compacts_first(a) {
            let usual = a.tries;
            a.tries.set(Priority::Async);
            self.compacts(a)?;
            if a.gives_up_soon() {
                if self.only_near(a) {
                    return Break(AllocOutcome::Failed);
                }
            } else {
                a.tries = usual;
            }
            self.wakes_and_looks(a)?;
        }
        self.rounds(a)
    }

    fn rounds(&mut self, a: &mut Ask) -> Flow<Infallible> {
        loop {
            self.wake_for(a.req);
            let round = self.reclaims(a)?;
            self.compacts(a)?;
            if self.is_last(a, true) {
                return Break(AllocOutcome::Failed);
            }
            self.ends_round(a, &round, |m, a| m.compaction_goes_on(a))?;
        }
    }
}

/// Steps of the flows.
impl Machine {
    /// Wakes kswapd and looks for a page. A request that may not sleep ends here.
    fn opens(&mut self, a: &mut Ask) -> Flow {
        self.wakes_and_looks(a)?;
        if a.req.flags.atomic() {
            // Neither reclaim nor compaction will make a pageblock for it.
            let may_fall_back = self.mem.given.rules.defrag_promotes && a.tries.flags.nofragment;
            if may_fall_back && a.has(GfpFlags::KSWAPD_RECLAIM) {
                a.tries.fall_back(false);
                self.wakes_and_looks(a)?;
            }
            return Break(AllocOutcome::Failed);
        }
        self.step.no_block = a.tries.why;
        Continue(())
    }

    /// True if a request begins with an attempt to compact: it is costly, or cannot be moved and
    /// would mix types.
    fn compacts_first(&self, a: &Ask) -> bool {
        let other = a.req.order > 0 && a.req.migratetype != Migratetype::Movable;
        !a.resumed && (a.req.costly() || other) && self.may_move(a)
    }

    /// Without input and output pages cannot be moved.
    fn may_move(&self, a: &Ask) -> bool {
        a.has(GfpFlags::IO) || !self.mem.given.rules.noio_reclaims_once
    }

    /// True if a request may use one node alone, which is not worth reclaim.
    fn only_near(&self, a: &Ask) -> bool {
        a.has(GfpFlags::THISNODE) && !self.mem.given.rules.near_attempt_reclaims
    }

    fn compacts(&mut self, a: &mut Ask) -> Flow {
        ends_with(self.direct_compact(a.tid, a.req, a.node, &mut a.tries))
    }

    /// Reclaims directly and looks for a page, unless the thread has to wait for kswapd.
    fn reclaims(&mut self, a: &mut Ask) -> Flow<Round> {
        if self.throttled(a.tid, a.node) {
            return self.waits(a);
        }
        let made = self.reclaim_compact(a.req, &a.tries);
        let freed = self.stall_in_direct_reclaim(a.tid, &made, a.node);
        a.tries.reclaimed += freed;
        self.step.origin = Origin::Reclaim;
        // The kernel looks again only if reclaim freed something. Deviation: the simulator
        // looks for single pages in any case.
        if freed > 0 || a.req.order == 0 {
            self.looks(a)?;
            // Pages may hide in per-CPU lists, and among those kept for others.
            self.mem.unreserve_highatomic(a.node, a.req, false);
            self.mem.drain_pcp();
            self.looks(a)?;
        }
        Continue(Round { freed, promoted: made.order != a.req.order })
    }

    /// True if a request fails after this round. Costly ones do, unless they insist and there is
    /// hope.
    fn is_last(&self, a: &Ask, hope: bool) -> bool {
        let insists = a.has(GfpFlags::RETRY_MAYFAIL) && self.may_move(a) && hope;
        a.gives_up_soon() || a.req.costly() && !insists
    }

    /// Decides whether another round follows. `compaction` says so if reclaim alone cannot help.
    fn ends_round(
        &mut self,
        a: &mut Ask,
        round: &Round,
        compaction: impl FnOnce(&Machine, &mut Ask) -> bool,
    ) -> Flow {
        if self.course.watchdog.barks() {
            // The main loop decides whether that is the end.
            self.sleep(a.tid, TICK, true);
            return self.waits(a);
        }
        let progress = round.freed > 0 && !a.req.costly() && !round.promoted;
        let no_progress = &mut self.work.threads[a.tid].no_progress;
        *no_progress = if progress { 0 } else { *no_progress + 1 };
        let hopeful = *no_progress <= MAX_RECLAIM_RETRIES && self.worth_retrying(a.req);
        let goes_on = hopeful
            || self.mem.unreserve_highatomic(a.node, a.req, true)
            || round.freed > 0 && compaction(self, a);
        if !goes_on && a.tries.flags.nofragment {
            a.tries.fall_back(round.promoted);
            if round.promoted {
                self.work.threads[a.tid].no_progress = 0;
            }
            return self.wakes_and_looks(a);
        }
        if !goes_on {
            return Break(self.may_kill(a.tid, a.req, a.node));
        }
        if round.freed == 0 && !a.tries.flags.nofragment {
            return self.waits_for_a_write(a);
        }
        Continue(())
    }

    fn compaction_goes_on(&self, a: &mut Ask) -> bool {
        self.should_compact_retry(a.req, a.node, &mut a.tries)
    }

    /// Under asynchronous writes nothing can be freed until some have ended: waits for the next
    /// (`VMSCAN_THROTTLE_NOPROGRESS`, half a second at most). A request that will take a part of a
    /// pageblock if all is in vain does not wait.
    fn waits_for_a_write(&mut self, a: &Ask) -> Flow {
        let io = self.events.queue.next_io();
        let never = io == SimTime::NEVER;
        let wait = if never { SimDuration::ZERO } else { io.since(self.mem.acting.now) };
        self.sleep(a.tid, wait.clamp(TICK, NO_PROGRESS), true);
        self.waits(a)
    }

    /// The thread waits; how far its request had come is kept.
    fn waits<T>(&mut self, a: &Ask) -> Flow<T> {
        if a.req.order > 0 || self.mem.given.vm.defrag_mode {
            self.work.threads[a.tid].tries = Some(a.tries);
        }
        Break(AllocOutcome::Blocked)
    }

    fn wake_for(&mut self, req: &AllocRequest) {
        self.work_off_boost();
        if req.flags.has(GfpFlags::KSWAPD_RECLAIM) {
            self.wake_kswapds(req);
        }
    }

    /// Another attempt with what the request may use by now.
    fn looks(&mut self, a: &Ask) -> Flow {
        let mark = Some(Mark::Min);
        ends_with(self.mem.get_page_from_freelist(a.node, a.req, mark, a.tries.flags))
    }

    /// A turn begins: kswapd is kept awake, and perhaps there is a page by now.
    fn wakes_and_looks(&mut self, a: &Ask) -> Flow {
        self.wake_for(a.req);
        self.looks(a)
    }

    /// The OOM killer, for requests that are worth it.
    fn may_kill(&mut self, tid: ThreadId, req: &AllocRequest, node: NodeId) -> AllocOutcome {
        // Other threads may have freed much by now.
        let flags = AllocFlags::of(req);
        if let Some(p) = self.mem.get_page_from_freelist(node, req, Some(Mark::High), flags) {
            return AllocOutcome::Frame(p);
        }
        let insists = req.flags.has(GfpFlags::RETRY_MAYFAIL);
        if req.costly() || insists || req.highest < ZoneKind::Normal {
            return AllocOutcome::Failed;
        }
        if self.much_is_cleanable() {
            self.wake_flushers();
            let wait = self.until_a_write_ends();
            self.sleep(tid, wait, true);
            return AllocOutcome::Blocked;
        }
        self.out_of_memory(tid, None)
    }

    /// True if enough pages of files are dirty or under write to be worth waiting for: a batch of
    /// reclaim's. Fewer are a log that a process writes while memory is full of something else.
    fn much_is_cleanable(&self) -> bool {
        let files = &self.mem.cache.files;
        files.nr_dirty + files.nr_writeback >= self.config.batch(SWAP_CLUSTER_MAX)
    }

    /// True if all reclaimable pages together would satisfy the min watermark somewhere.
    fn worth_retrying(&self, req: &AllocRequest) -> bool {
        let mem = &self.mem;
        let swap = mem.can_swap(MemcgId(0));
        let flags = AllocFlags::of(req);
        mem.zones.ids().any(|z| {
            let [anon, file] = mem.zone_lru_pages(z);
            let zone = &mem.zones[z];
            // Linux keeps pages whose owner went on their lists until their write ends.
            let free = zone.free + mem.zones.orphans[z];
            let available = free + file + if swap { anon } else { 0 };
            let mark = zone.watermark[0] + zone.boost;
            zone.kind <= req.highest && zone.leaves(req.order, mark, req.highest, flags, available)
        })
    }
}
