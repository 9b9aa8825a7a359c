//! Interface between core and a compaction strategy.
//!
//! Compaction makes large free blocks by moving pages: from one side of a zone, where folios
//! that can be moved are taken off their lists, to free pages taken elsewhere. Core decides when
//! that is tried (the allocation slow path, kcompactd, a write to `compact_memory`) and owns
//! what a move does to a page ([`Memory::migrate`]); the strategy owns how a zone is searched and
//! everything that it remembers between runs: cached positions, skip bits, deferral, depletion.
//!
//! Source: Linux 4.1 and 6.12 mm/compaction.c, mm/internal.h (`struct compact_control`,
//! `enum compact_result`).

use super::ReclaimPolicy;
use crate::base::compact_result::{CompactResult, NoBlock};
use crate::base::digest::Digest;
use crate::base::id::{Pfn, ZoneId};
use crate::base::migratetype::Migratetype;
use crate::config::ZoneKind;
use crate::memory::Memory;
use crate::phys::gfp::GfpFlags;
use crate::phys::watermarks::Mark;

/// Permission of a run to wait for pages (`enum migrate_mode`). Ordered by effort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MigrateMode {
    /// Never blocks.
    Async,
    /// Blocks on most operations, but not on writing a page out.
    SyncLight,
    /// Blocks.
    Sync,
}

/// Who asks for a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compactor {
    /// A thread that allocates.
    Direct,
    /// kswapd, while it balances a node (up to 4.5).
    Kswapd,
    /// kcompactd, for an order that it was woken for.
    Kcompactd,
    /// kcompactd, to keep the node's fragmentation score down (from 5.9 on).
    Proactive,
    /// A write to `compact_memory`: all of the zone, whatever is free.
    Request,
}

/// One run over one zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactRequest {
    /// The zone.
    pub zone: ZoneId,
    /// log2 of the block that is wanted; `None` (-1 in the kernel): compact all of it.
    pub order: Option<u8>,
    /// log2 of the block that the caller takes the moment it forms, smaller than `order` where
    /// `vm.defrag_mode` makes whole pageblocks; `None`: it takes none (`capture_control`).
    pub captures: Option<u8>,
    /// Type of the request that the block is for.
    pub migratetype: Migratetype,
    /// The highest zone that the request may use.
    pub highest: ZoneKind,
    /// Permissions of the request.
    pub flags: GfpFlags,
    /// The watermark that the request is compared with.
    pub mark: Mark,
    /// Effort of the run.
    pub mode: MigrateMode,
    /// Who asks.
    pub by: Compactor,
    /// The highest priority (`COMPACT_PRIO_SYNC_FULL`): no hints, no cached positions, targets in
    /// pageblocks of any type. Requests of all of a zone have it too, as far as their kernel does.
    pub full: bool,
}

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactOutcome {
    /// End of the run.
    pub result: CompactResult,
    /// The block that was taken the moment it formed (`capture_control`, from 5.1 on). It is the
    /// caller's: its frames are set up as those of any allocated block. As in the kernel it is in
    /// no count of allocated pages (`pgalloc_*`).
    pub captured: Option<Pfn>,
    /// Why the caller has no block, should it find none.
    pub why: NoBlock,
}

/// Counts of a strategy since the start, besides the kernel's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactionStats {
    /// Runs by mode ([`MigrateMode`]) that ended with a block, or with the chance of one.
    pub success: [u64; 3],
    /// Runs by mode that saw all of the zone (or the rest of it) in vain.
    pub complete: [u64; 3],
    /// Runs by mode that gave up before: limited, or no place left to move pages to.
    pub given_up: [u64; 3],
    /// Runs by mode that did not start.
    pub skipped: [u64; 3],
    /// Requests put off after failures.
    pub deferred: u64,
    /// Times that what was learned of a zone was forgotten.
    pub resets: u64,
}

/// A compaction strategy, with what it remembers of each zone.
pub trait Compaction: Send {
    /// One run over a zone (`compact_zone`), its test of whether it makes sense included. Time and
    /// the counters of scanning, isolating and migrating are charged to `mem` as it goes.
    fn compact_zone(
        &mut self,
        mem: &mut Memory,
        lru: &mut dyn ReclaimPolicy,
        req: &CompactRequest,
    ) -> CompactOutcome;
    /// Judges if a run would make sense (`compaction_suitable`): [`CompactResult::Success`], there
    /// is a block already; [`CompactResult::Skipped`]; [`CompactResult::Continue`].
    fn suitable(&self, mem: &Memory, req: &CompactRequest) -> CompactResult;
    /// The mode of a run for a request that would run in this one.
    fn mode_of(&self, asked: MigrateMode) -> MigrateMode {
        asked
    }
    /// True if a run is put off after failures (`compaction_deferred`). To ask counts as one
    /// request that was put off.
    fn deferred(&mut self, zone: ZoneId, order: u8) -> bool;
    /// A run failed (`defer_compaction`).
    fn note_failure(&mut self, zone: ZoneId, order: u8);
    /// A run succeeded; `got_page`: and the request has its block (`compaction_defer_reset`).
    fn note_success(&mut self, zone: ZoneId, order: u8, got_page: bool);
    /// kswapd goes to sleep: what past runs learned may be forgotten (`reset_isolation_suitable`).
    fn kswapd_sleeps(&mut self, mem: &Memory, zone: ZoneId);
    /// Its counts since the start, besides the kernel's counters.
    fn stats(&self) -> CompactionStats {
        CompactionStats::default()
    }
    /// Panics, naming ids, if an invariant of the strategy does not hold.
    fn check(&self, mem: &Memory) {
        let _ = mem;
    }
    /// Adds the state that decides to a digest.
    fn digest(&self, d: &mut Digest) {
        let _ = d;
    }
}
