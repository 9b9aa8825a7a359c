//! Direct compaction: the thread that wants a block makes one by moving pages.
//!
//! The strategy searches one zone; here is who asks for that, in which zones, how hard, and
//! what is made of the answers: the slow path of the allocator compacts zone after zone until
//! one of them can serve the request, takes note of failures and successes, so that vain
//! attempts become rarer, and tries the free lists once more. How often it comes back, and with
//! how much effort, is decided by what the last attempt returned.
//!
//! Without a strategy (a kernel built without compaction) every attempt is skipped.
//!
//! Source: Linux 6.12 mm/compaction.c (`try_to_compact_pages`, `compaction_zonelist_suitable`),
//! mm/page_alloc.c (`__alloc_pages_direct_compact`, `should_compact_retry`), mm/vmscan.c
//! (`compaction_ready`), and Linux 4.1 for its form of them. Left out: breaking off for others
//! who want the CPU, and the rule for huge page faults of 4.1.

use crate::base::compact_result::{CompactResult, NoBlock};
use crate::base::digest::Digest;
use crate::base::id::{MemcgId, NodeId, Pfn, ThreadId, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::base::rules::DirectCompaction;
use crate::base::vmstat::VmEvent;
use crate::machine::Machine;
use crate::machine::watch::result::Origin;
use crate::memory::trouble::Trouble;
use crate::phys::gfp::{AllocFlags, AllocRequest, GfpFlags, PAGE_ALLOC_COSTLY_ORDER};
use crate::phys::watermarks::Mark;
use crate::policy::compaction::{
    CompactOutcome, CompactRequest, Compaction, Compactor, MigrateMode,
};

const MAX_COMPACT_RETRIES: u32 = 16;

/// Effort of compaction (`enum compact_priority`). Ordered by effort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::machine) enum Priority {
    /// The first attempt, before reclaim.
    Async,
    SyncLight,
    /// Ignores what earlier runs learned. Never for costly orders.
    SyncFull,
}

/// Where a request stands in the slow path, also while its thread waits.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Tries {
    priority: Priority,
    /// Attempts that should have made a block.
    retries: u32,
    result: CompactResult,
    /// Why the last attempt gave no block.
    pub why: NoBlock,
    /// Pages that direct reclaim has freed for the request.
    pub reclaimed: u64,
    /// Memory that the request may use.
    pub flags: AllocFlags,
}

impl Tries {
    /// Before the first attempt.
    pub(in crate::machine) const fn begin(priority: Priority, flags: AllocFlags) -> Self {
        let (result, why) = (CompactResult::Skipped, NoBlock::NotTried);
        Tries { priority, retries: 0, result, why, reclaimed: 0, flags }
    }
    /// The request may take parts of pageblocks of other types from now on. Retries that went into
    /// whole pageblocks do not count for what follows.
    pub(in crate::machine) fn fall_back(&mut self, promoted: bool) {
        self.flags.nofragment = false;
        if promoted {
            self.retries = 0;
        }
    }
    pub(in crate::machine) fn set(&mut self, priority: Priority) {
        self.priority = priority;
    }
}

/// The larger result stands for all zones. 4.1 puts SKIPPED above DEFERRED, and has one result,
/// PARTIAL, for a success and for runs that were given up.
fn rank(r: CompactResult, old: bool) -> u8 {
    match (r, old) {
        (CompactResult::Skipped, false) | (CompactResult::Deferred, true) => 0,
        (CompactResult::Deferred, false) | (CompactResult::Skipped, true) => 1,
        (CompactResult::Continue, _) => 2,
        (CompactResult::Complete, false) => 3,
        (CompactResult::PartialSkipped, false) => 4,
        (CompactResult::Contended, false) => 5,
        (CompactResult::Success, false) => 6,
        (CompactResult::Complete, true) => 4,
        (_, true) => 3,
    }
}

impl Machine {
    /// Gives the machine a way to compact its zones. Without one every attempt is skipped.
    pub fn set_compaction(&mut self, strategy: Box<dyn Compaction>) {
        self.policies.compaction = Some(strategy);
        self.start_kcompactd();
    }

    /// The compaction strategy, if there is one.
    pub fn compaction(&self) -> Option<&dyn Compaction> {
        self.policies.compaction.as_deref()
    }

    pub(in crate::machine) fn digest_compaction(&self, d: &mut Digest) {
        if let Some(c) = &self.policies.compaction {
            c.digest(d);
        }
    }

    /// Reclaims and compacts for a request (`reclaim_compact_order`). While it stays out of the
    /// pageblocks of movable memory, single pages that are freed there are of no use to memory that
    /// cannot be moved: so it needs whole pageblocks.
    pub(in crate::machine) fn reclaim_compact(
        &self,
        req: &AllocRequest,
        tries: &Tries,
    ) -> AllocRequest {
        let movable = req.migratetype == Migratetype::Movable;
        let promoted = self.mem.given.rules.defrag_promotes && tries.flags.nofragment && !movable;
        let block = if promoted { self.mem.given.rules.pageblock_order } else { 0 };
        AllocRequest { order: req.order.max(block), ..*req }
    }

    /// True if a request may be compacted for at all: moving pages may need to write some, and
    /// perhaps to call into their file system.
    fn may_compact(&self, req: &AllocRequest) -> bool {
        let fs = self.mem.given.rules.compaction_needs_fs;
        let needed = if fs { GfpFlags::IO.with(GfpFlags::FS) } else { GfpFlags::IO };
        self.policies.compaction.is_some() && req.order > 0 && req.flags.has(needed)
    }

    /// One run of the strategy over a zone.
    pub(in crate::machine) fn compact_zone(&mut self, req: &CompactRequest) -> CompactOutcome {
        let (result, why) = (CompactResult::Skipped, NoBlock::NotTried);
        let none = CompactOutcome { result, captured: None, why };
        let Some(c) = &mut self.policies.compaction else { return none };
        let out = c.compact_zone(&mut self.mem, &mut *self.policies.lru, req);
        self.interrupts();
        out
    }

    /// Direct compaction on behalf of a request, and another look at the free lists
    /// (`__alloc_pages_direct_compact`). A block if it made one; `tries` knows how it ended.
    pub(in crate::machine) fn direct_compact(
        &mut self,
        tid: ThreadId,
        req: &AllocRequest,
        node: NodeId,
        tries: &mut Tries,
    ) -> Option<Pfn> {
        let made = self.reclaim_compact(req, tries);
        let page = self.try_direct_compact(tid, req, &made, node, tries);
        self.step.no_block = tries.why;
        page
    }

    fn try_direct_compact(
        &mut self,
        tid: ThreadId,
        req: &AllocRequest,
        made: &AllocRequest,
        node: NodeId,
        tries: &mut Tries,
    ) -> Option<Pfn> {
        (tries.result, tries.why) = (CompactResult::Skipped, NoBlock::NotTried);
        if !self.may_compact(made) {
            return None;
        }
        // Compaction is long, and gives way to kswapd, which the request has just woken.
        self.give_way(tid);
        let begin = self.mem.acting.now;
        let captured = self.try_to_compact(made, req.order, node, tries);
        self.psi_stalled(tid, begin);
        self.mem.count(VmEvent::SimDirectCompactNs, self.mem.acting.now.since(begin).0);
        // 4.1 and 7.2 do not count an attempt that was put off everywhere either.
        let counts_deferred = self.mem.given.rules.direct_compaction == DirectCompaction::V4_9;
        let uncounted = tries.result == CompactResult::Skipped
            || !counts_deferred && tries.result == CompactResult::Deferred;
        if uncounted {
            return None;
        }
        self.mem.count(VmEvent::CompactStall, 1);
        let flags = tries.flags;
        let page =
            captured.or_else(|| self.mem.get_page_from_freelist(node, req, Some(Mark::Min), flags));
        if let Some(pfn) = page {
            let zone = self.mem.zones.of(pfn);
            self.note_success(zone, made.order, true);
            self.mem.count(VmEvent::CompactSuccess, 1);
            self.step.origin = match self.mode_for(tries.priority) {
                MigrateMode::Async => Origin::AsyncCompaction,
                _ => Origin::SyncCompaction,
            };
        } else {
            self.mem.count(VmEvent::CompactFail, 1);
            self.tell_of_trouble(tid, Trouble::Compaction(tries.why));
            self.give_way(tid);
        }
        page
    }

    fn note_success(&mut self, zone: ZoneId, order: u8, got_page: bool) {
        if let Some(c) = &mut self.policies.compaction {
            c.note_success(zone, order, got_page);
        }
    }

    /// The mode of runs at a priority.
    fn mode_for(&self, priority: Priority) -> MigrateMode {
        let asked = match priority {
            Priority::Async => MigrateMode::Async,
            Priority::SyncLight | Priority::SyncFull => MigrateMode::SyncLight,
        };
        self.policies.compaction.as_ref().map_or(asked, |c| c.mode_of(asked))
    }

    /// Compacts the zones that a request may use, one after the other, until one of them can
    /// serve it (`try_to_compact_pages`). A block of order `captures` if one was taken as it formed.
    fn try_to_compact(
        &mut self,
        req: &AllocRequest,
        captures: u8,
        node: NodeId,
        tries: &mut Tries,
    ) -> Option<Pfn> {
        let old = self.mem.given.rules.direct_compaction == DirectCompaction::V4_1;
        let full = tries.priority == Priority::SyncFull;
        let mode = self.mode_for(tries.priority);
        let flags = AllocFlags::of(req);
        // 4.1 says "skipped" only of zones that it looked at.
        let none = if old { CompactResult::Deferred } else { CompactResult::Skipped };
        tries.result = none;
        for zone in self.zonelist(node, req) {
            let deferred = |c: &mut Box<dyn Compaction>| c.deferred(zone, req.order);
            if !full && self.policies.compaction.as_mut().is_some_and(deferred) {
                tries.note(CompactResult::Deferred, NoBlock::Deferred, old);
                continue;
            }
            let out = self.compact_zone(&CompactRequest {
                zone,
                order: Some(req.order),
                captures: Some(captures),
                migratetype: req.migratetype,
                highest: req.highest,
                flags: req.flags,
                mark: if old { Mark::Low } else { Mark::Min },
                mode,
                by: Compactor::Direct,
                full,
            });
            let result = if out.captured.is_some() { CompactResult::Success } else { out.result };
            tries.note(result, out.why, old);
            let serves = || {
                let z = &self.mem.zones[zone];
                let low = z.watermark[Mark::Low as usize] + z.boost;
                z.leaves(req.order, low, req.highest, flags, z.free)
            };
            if if old { serves() } else { result == CompactResult::Success } {
                self.note_success(zone, req.order, false);
                return out.captured;
            }
            let failed = match result {
                CompactResult::Complete => true,
                CompactResult::PartialSkipped => !old,
                _ => false,
            };
            if let Some(c) = &mut self.policies.compaction
                && failed
                && mode != MigrateMode::Async
            {
                c.note_failure(zone, req.order);
            }
        }
        None
    }

    /// The zones that a request may use, in the order in which they are tried.
    pub(in crate::machine) fn zonelist(&self, node: NodeId, req: &AllocRequest) -> Vec<ZoneId> {
        let zones = &self.mem.zones;
        let nodes = if req.flags.has(GfpFlags::THISNODE) { 1 } else { zones.nr_nodes() };
        self.nodes_from(node)
            .take(nodes)
            .flat_map(|n| zones.of_node(n).iter().rev().copied())
            .filter(|&z| zones[z].kind <= req.highest)
            .collect()
    }

    /// True if a request of order above 0 goes on although no zone could serve it with all of its
    /// memory reclaimed, perhaps with more effort (`should_compact_retry`).
    pub(in crate::machine) fn should_compact_retry(
        &self,
        req: &AllocRequest,
        node: NodeId,
        tries: &mut Tries,
    ) -> bool {
        if self.policies.compaction.is_none() {
            return self.singles_can_be_had(req);
        }
        let made = self.reclaim_compact(req, tries);
        if !self.may_compact(&made) {
            return false;
        }
        if tries.result == CompactResult::Skipped {
            return made.order == req.order
                && self.zonelist(node, req).into_iter().any(|z| self.enough_to_begin(z, req));
        }
        let costly = req.costly();
        if tries.result == CompactResult::Success {
            let most = if costly { MAX_COMPACT_RETRIES / 4 } else { MAX_COMPACT_RETRIES };
            tries.retries += 1;
            if tries.retries <= most {
                return true;
            }
        }
        let harder = match tries.priority {
            Priority::Async => Priority::SyncLight,
            _ if costly => return false,
            Priority::SyncLight => Priority::SyncFull,
            Priority::SyncFull => return false,
        };
        (tries.priority, tries.retries) = (harder, 0);
        true
    }

    /// Rule of kernels without compaction: go on while single pages are available.
    fn singles_can_be_had(&self, req: &AllocRequest) -> bool {
        let one = AllocRequest { order: 0, ..*req };
        let flags = AllocFlags::of(&one);
        req.order > 0
            && !req.costly()
            && self.mem.zones.ids().any(|z| {
                let z = &self.mem.zones[z];
                z.kind <= req.highest && z.allows(0, Mark::Min, req.highest, flags)
            })
    }

    /// True if compaction of a zone could begin if a part of its reclaimable pages were free, a
    /// smaller part for larger orders (`compaction_zonelist_suitable`).
    fn enough_to_begin(&self, z: ZoneId, req: &AllocRequest) -> bool {
        let zone = &self.mem.zones[z];
        let [anon, file] = self.mem.zone_lru_pages(z);
        let reclaimable = file + if self.mem.can_swap(MemcgId(0)) { anon } else { 0 };
        let available = zone.free + reclaimable / u64::from(req.order);
        let mark = if req.costly() { Mark::Low } else { Mark::Min };
        let mark = zone.watermark[mark as usize] + zone.boost + (2 << req.order);
        zone.leaves(0, mark, req.highest, AllocFlags::default(), available)
    }

    /// True if direct reclaim for a costly order leaves a zone alone, because compaction can go on
    /// from here or the request can be served (`compaction_ready`).
    pub(in crate::machine) fn compaction_ready(
        &mut self,
        zone: ZoneId,
        req: &AllocRequest,
    ) -> bool {
        if req.order <= PAGE_ALLOC_COSTLY_ORDER || !self.may_compact(req) {
            return false;
        }
        let old = !self.mem.given.rules.compaction_ready_exact;
        let z = &self.mem.zones[zone];
        let [min, low, high] = z.watermark.map(|w| w + z.boost);
        let any = AllocFlags::default();
        let mut mark = high + (2 << req.order);
        if old {
            mark += low.min(u64::from(z.managed).div_ceil(100));
        } else if z.leaves(req.order, min, req.highest, any, z.free) {
            return true;
        }
        let buffer = z.leaves(0, mark, req.highest, any, z.free);
        let asks = CompactRequest {
            zone,
            order: Some(req.order),
            captures: None,
            migratetype: req.migratetype,
            highest: req.highest,
            flags: req.flags,
            mark: if old { Mark::Low } else { Mark::Min },
            mode: MigrateMode::Async,
            by: Compactor::Direct,
            full: false,
        };
        let Some(c) = &mut self.policies.compaction else { return false };
        if old && c.deferred(zone, req.order) {
            return buffer;
        }
        c.suitable(&self.mem, &asks) != CompactResult::Skipped && buffer
    }
}

impl Tries {
    fn note(&mut self, r: CompactResult, why: NoBlock, old: bool) {
        let more = rank(r, old) > rank(self.result, old);
        if more || self.why == NoBlock::NotTried {
            self.why = why;
        }
        if more {
            self.result = r;
        }
    }
    /// True if the last attempt did nothing.
    pub(in crate::machine) fn in_vain(&self) -> bool {
        matches!(self.result, CompactResult::Skipped | CompactResult::Deferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CompactResult::*;

    fn of_all(results: &[CompactResult], old: bool) -> CompactResult {
        let mut t = Tries::begin(Priority::Async, AllocFlags::default());
        t.result = if old { Deferred } else { Skipped };
        results.iter().for_each(|&r| t.note(r, NoBlock::GaveUp, old));
        t.result
    }

    #[test]
    fn one_result_stands_for_all_zones() {
        assert_eq!(of_all(&[Skipped, Deferred], false), Deferred);
        assert_eq!(of_all(&[Skipped, Deferred], true), Skipped);
        assert_eq!(of_all(&[Success, Complete], false), Success);
        assert_eq!(of_all(&[Success, Complete], true), Complete);
        assert_eq!(of_all(&[Complete, PartialSkipped, Deferred], false), PartialSkipped);
        assert_eq!(of_all(&[PartialSkipped, Contended], false), Contended);
        assert_eq!(of_all(&[Contended, Success], true), Contended);
    }
}
