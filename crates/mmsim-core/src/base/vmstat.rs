//! Event counters under their `/proc/vmstat` names. What Linux does not count starts
//! with `sim_`. One table; reports print all of it, zeros too. Beside the name of each stands how
//! much a machine with fewer pages says of it.

use std::ops::Index;

/// The relation between a counter of a machine and that of a miniature, whose pages stand for several
/// each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// It counts pages: times the pages that a page stands for.
    Pages,
    /// It counts pages that a scan meets, whose length depends on batches of pages.
    Scanned,
    /// None: it depends on who reclaims.
    Who,
    /// None: it counts batches and passes.
    Batches,
    /// None: it counts pages on their second look.
    Active,
    /// None: it counts blocks.
    Blocks,
    /// None: it is a time of single threads.
    Time,
    /// None: it counts draws of a workload.
    Drawn,
    /// None: it counts single events.
    Events,
}

macro_rules! vm_events {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $transfer:ident;)*) => {
        /// One event counter.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[allow(missing_docs)] // The name in /proc/vmstat is the documentation.
        pub enum VmEvent { $($(#[$doc])* $variant,)* }

        impl VmEvent {
            /// All counters, in the order of reports.
            pub const ALL: &'static [VmEvent] = &[$(VmEvent::$variant,)*];
            /// The name in `/proc/vmstat`.
            pub const fn name(self) -> &'static str {
                match self { $(VmEvent::$variant => $name,)* }
            }
            /// Relation of the counter of a miniature to that of the whole machine.
            pub const fn transfer(self) -> Transfer {
                match self { $(VmEvent::$variant => Transfer::$transfer,)* }
            }
        }
    };
}

vm_events! {
    PgFault => "pgfault", Pages;
    PgMajFault => "pgmajfault", Pages;
    PswpIn => "pswpin", Pages;
    PswpOut => "pswpout", Pages;
    NrSwpIn => "nrswpin", Batches;
    NrSwpOut => "nrswpout", Batches;
    SwapRa => "swap_ra", Pages;
    SwapRaHit => "swap_ra_hit", Pages;
    PgpgIn => "pgpgin", Pages;
    PgpgOut => "pgpgout", Pages;
    PgAllocDma => "pgalloc_dma", Pages;
    PgAllocDma32 => "pgalloc_dma32", Pages;
    PgAllocNormal => "pgalloc_normal", Pages;
    PgAllocMovable => "pgalloc_movable", Pages;
    AllocStallDma => "allocstall_dma", Batches;
    AllocStallDma32 => "allocstall_dma32", Batches;
    AllocStallNormal => "allocstall_normal", Batches;
    AllocStallMovable => "allocstall_movable", Batches;
    PgSkipDma => "pgskip_dma", Who;
    PgSkipDma32 => "pgskip_dma32", Who;
    PgSkipNormal => "pgskip_normal", Who;
    PgSkipMovable => "pgskip_movable", Who;
    PgFree => "pgfree", Pages;
    PgActivate => "pgactivate", Active;
    PgDeactivate => "pgdeactivate", Active;
    PgLazyFree => "pglazyfree", Pages;
    PgLazyFreed => "pglazyfreed", Pages;
    PgRefill => "pgrefill", Active;
    PgReuse => "pgreuse", Active;
    PgStealKswapd => "pgsteal_kswapd", Who;
    PgStealDirect => "pgsteal_direct", Who;
    PgStealProactive => "pgsteal_proactive", Who;
    PgScanKswapd => "pgscan_kswapd", Who;
    PgScanDirect => "pgscan_direct", Who;
    PgScanProactive => "pgscan_proactive", Who;
    PgScanDirectThrottle => "pgscan_direct_throttle", Batches;
    PgScanAnon => "pgscan_anon", Scanned;
    PgScanFile => "pgscan_file", Scanned;
    PgStealAnon => "pgsteal_anon", Pages;
    PgStealFile => "pgsteal_file", Pages;
    PgRotated => "pgrotated", Active;
    PgRotateAnon => "pgrotate_anon", Active;
    PgRotateFile => "pgrotate_file", Active;
    PageOutRun => "pageoutrun", Batches;
    KswapdLowWmarkHitQuickly => "kswapd_low_wmark_hit_quickly", Batches;
    KswapdHighWmarkHitQuickly => "kswapd_high_wmark_hit_quickly", Batches;
    SlabsScanned => "slabs_scanned", Batches;
    NrVmscanWrite => "nr_vmscan_write", Pages;
    NrVmscanImmediateReclaim => "nr_vmscan_immediate_reclaim", Active;
    NrDirtied => "nr_dirtied", Pages;
    NrWritten => "nr_written", Pages;
    OomKill => "oom_kill", Events;
    DropPagecache => "drop_pagecache", Events;
    PgMigrateSuccess => "pgmigrate_success", Blocks;
    PgMigrateFail => "pgmigrate_fail", Blocks;
    CompactMigrateScanned => "compact_migrate_scanned", Blocks;
    CompactFreeScanned => "compact_free_scanned", Blocks;
    CompactIsolated => "compact_isolated", Blocks;
    CompactStall => "compact_stall", Blocks;
    CompactFail => "compact_fail", Blocks;
    CompactSuccess => "compact_success", Blocks;
    CompactDaemonWake => "compact_daemon_wake", Blocks;
    CompactDaemonMigrateScanned => "compact_daemon_migrate_scanned", Blocks;
    CompactDaemonFreeScanned => "compact_daemon_free_scanned", Blocks;
    HtlbBuddyAllocSuccess => "htlb_buddy_alloc_success", Blocks;
    HtlbBuddyAllocFail => "htlb_buddy_alloc_fail", Blocks;
    UnevictablePgsCulled => "unevictable_pgs_culled", Pages;
    UnevictablePgsRescued => "unevictable_pgs_rescued", Pages;
    UnevictablePgsMlocked => "unevictable_pgs_mlocked", Pages;
    UnevictablePgsMunlocked => "unevictable_pgs_munlocked", Pages;
    ThpFaultAlloc => "thp_fault_alloc", Blocks;
    ThpFaultFallback => "thp_fault_fallback", Blocks;
    ThpFaultFallbackCharge => "thp_fault_fallback_charge", Blocks;
    ThpSplitPage => "thp_split_page", Blocks;
    ThpDeferredSplitPage => "thp_deferred_split_page", Blocks;
    WorkingsetRefaultAnon => "workingset_refault_anon", Pages;
    WorkingsetRefaultFile => "workingset_refault_file", Pages;
    WorkingsetActivateAnon => "workingset_activate_anon", Active;
    WorkingsetActivateFile => "workingset_activate_file", Active;
    WorkingsetRestoreAnon => "workingset_restore_anon", Active;
    WorkingsetRestoreFile => "workingset_restore_file", Active;
    WorkingsetNodereclaim => "workingset_nodereclaim", Batches;
    /// Folios that an inactive scan met and kept for another round.
    SimScanKeep => "sim_scan_keep", Scanned;
    /// Evictions that needed no write because the slot still held the contents.
    SimEvictClean => "sim_evict_clean", Pages;
    /// Requests served from another migratetype (`mm_page_alloc_extfrag`).
    SimExtfrag => "sim_extfrag", Blocks;
    /// Of these, from a block smaller than a pageblock.
    SimExtfragFragmenting => "sim_extfrag_fragmenting", Blocks;
    /// Of these, for unmovable memory.
    SimExtfragSevere => "sim_extfrag_severe", Blocks;
    /// Requests served from another migratetype whose pageblock has the request's type now.
    SimExtfragOwnership => "sim_extfrag_ownership", Blocks;
    /// Requests for unmovable memory served from a reclaimable pageblock's lists.
    SimExtfragUR => "sim_extfrag_unmovable_reclaimable", Blocks;
    /// Requests for unmovable memory served from movable lists.
    SimExtfragUM => "sim_extfrag_unmovable_movable", Blocks;
    /// Requests for reclaimable memory served from unmovable lists.
    SimExtfragRU => "sim_extfrag_reclaimable_unmovable", Blocks;
    /// Requests for reclaimable memory served from movable lists.
    SimExtfragRM => "sim_extfrag_reclaimable_movable", Blocks;
    /// Requests for movable memory served from reclaimable lists.
    SimExtfragMR => "sim_extfrag_movable_reclaimable", Blocks;
    /// Requests for movable memory served from unmovable lists.
    SimExtfragMU => "sim_extfrag_movable_unmovable", Blocks;
    /// Of these, those whose pageblock is the request's now: unmovable, from reclaimable.
    SimClaimUR => "sim_claim_unmovable_reclaimable", Blocks;
    /// The same: unmovable, from movable.
    SimClaimUM => "sim_claim_unmovable_movable", Blocks;
    /// The same: reclaimable, from unmovable.
    SimClaimRU => "sim_claim_reclaimable_unmovable", Blocks;
    /// The same: reclaimable, from movable.
    SimClaimRM => "sim_claim_reclaimable_movable", Blocks;
    /// The same: movable, from reclaimable.
    SimClaimMR => "sim_claim_movable_reclaimable", Blocks;
    /// The same: movable, from unmovable.
    SimClaimMU => "sim_claim_movable_unmovable", Blocks;
    /// Moves by compaction of a page that it had moved before.
    SimMigrateAgain => "sim_migrate_again", Blocks;
    /// Of these, moves back into the pageblock that the page had been moved out of.
    SimMigrateBack => "sim_migrate_back", Blocks;
    /// Pageblocks that compaction took pages out of within two cycles after it had put some in.
    SimEmptiedTargets => "sim_emptied_targets", Blocks;
    /// Pageblocks that compaction put pages in within two cycles after it had taken some out.
    SimRefilledSources => "sim_refilled_sources", Blocks;
    /// Pageblocks that a run looked at for pages to move although one of another CPU had done so
    /// in the same cycle.
    SimChosenTwice => "sim_chosen_twice", Blocks;
    /// Simulated nanoseconds that threads spent in direct compaction.
    SimDirectCompactNs => "sim_direct_compact_ns", Time;
    /// Simulated nanoseconds that threads spent in direct reclaim.
    SimDirectReclaimNs => "sim_direct_reclaim_ns", Time;
    /// Pages that were written to `memory.reclaim`.
    SimMemcgReclaimAsked => "sim_memcg_reclaim_asked", Pages;
    /// Of these, those that could not be reclaimed: the write ended with `EAGAIN`.
    SimMemcgReclaimShort => "sim_memcg_reclaim_short", Events;
    /// Calls of `fsync(2)` that ended.
    SimFsync => "sim_fsync", Events;
    /// Simulated nanoseconds that threads spent in them.
    SimFsyncNs => "sim_fsync_ns", Time;
    /// Writes to files of `lru_gen`.
    SimLruGenWrites => "sim_lru_gen_writes", Events;
    /// Of these, those that the kernel refuses.
    SimLruGenRefused => "sim_lru_gen_refused", Events;
    /// Blocks that workloads asked for on behalf of the kernel.
    SimKernelAlloc => "sim_kernel_alloc", Blocks;
    /// Of these, those that failed.
    SimKernelAllocFail => "sim_kernel_alloc_fail", Blocks;
    /// Blocks of more than one page that workloads asked for on behalf of the kernel.
    SimHighAlloc => "sim_highalloc", Blocks;
    /// Of these, those that the free lists had.
    SimHighAllocLists => "sim_highalloc_lists", Blocks;
    /// Of these, those that asynchronous compaction had made.
    SimHighAllocAsync => "sim_highalloc_async", Blocks;
    /// Of these, those that were free after direct reclaim.
    SimHighAllocReclaim => "sim_highalloc_reclaim", Blocks;
    /// Of these, those that compaction that may wait had made.
    SimHighAllocSync => "sim_highalloc_sync", Blocks;
    /// Of these, those that failed.
    SimHighAllocFail => "sim_highalloc_fail", Blocks;
    /// Groups of the order asked for without a page that cannot be moved, at each survey.
    SimCandidates => "sim_candidates", Blocks;
    /// Of these, those that were free already.
    SimCandidatesFree => "sim_candidates_free", Blocks;
    /// Most blocks of that order that moving pages could make, at each survey.
    SimCandidatesBound => "sim_candidates_bound", Blocks;
    /// Movable pageblocks without a page that cannot be moved, at each survey.
    SimPureMovableBlocks => "sim_pure_movable_blocks", Blocks;
    /// Accesses that a workload made, hits included.
    SimAccesses => "sim_accesses", Drawn;
}

impl VmEvent {
    /// True of counters that recorded digests do not have. A digest leaves them out while they are
    /// zero, so that a counter that is added moves none.
    pub const fn younger_than_digests(self) -> bool {
        use VmEvent::*;
        matches!(
            self,
            SimFsync
                | SimFsyncNs
                | SimLruGenWrites
                | SimLruGenRefused
                | ThpFaultFallbackCharge
                | ThpDeferredSplitPage
        )
    }

    /// True if only a policy that leaves shadows behind can count it: refaults and the events that
    /// follow from them.
    pub const fn needs_shadows(self) -> bool {
        use VmEvent::*;
        matches!(
            self,
            WorkingsetRefaultAnon
                | WorkingsetRefaultFile
                | WorkingsetActivateAnon
                | WorkingsetActivateFile
                | WorkingsetRestoreAnon
                | WorkingsetRestoreFile
                | WorkingsetNodereclaim
        )
    }
}

/// Values of all counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VmStat([u64; VmEvent::ALL.len()]);

impl Default for VmStat {
    fn default() -> Self {
        VmStat([0; VmEvent::ALL.len()])
    }
}

impl VmStat {
    /// Adds `n` to a counter.
    #[inline(always)]
    pub fn add(&mut self, e: VmEvent, n: u64) {
        self.0[e as usize] += n;
    }
    /// The change since an earlier copy.
    pub fn since(&self, earlier: &VmStat) -> VmStat {
        let mut d = self.clone();
        for (a, b) in d.0.iter_mut().zip(earlier.0) {
            *a -= b;
        }
        d
    }
    /// All counters with their names, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        VmEvent::ALL.iter().map(|&e| (e.name(), self[e]))
    }
    /// A counter by its name.
    pub fn by_name(&self, name: &str) -> Option<u64> {
        VmEvent::ALL.iter().find(|e| e.name() == name).map(|&e| self[e])
    }
}

impl Index<VmEvent> for VmStat {
    type Output = u64;
    fn index(&self, e: VmEvent) -> &u64 {
        &self.0[e as usize]
    }
}
