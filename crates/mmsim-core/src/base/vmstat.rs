//! Event counters under their `/proc/vmstat` names. What Linux does not count starts
//! with `sim_`. One table; reports print all of it, zeros too.

use std::ops::Index;

macro_rules! vm_events {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
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
        }
    };
}

vm_events! {
    PgFault => "pgfault",
    PgMajFault => "pgmajfault",
    PswpIn => "pswpin",
    PswpOut => "pswpout",
    NrSwpIn => "nrswpin",
    NrSwpOut => "nrswpout",
    SwapRa => "swap_ra",
    SwapRaHit => "swap_ra_hit",
    PgpgIn => "pgpgin",
    PgpgOut => "pgpgout",
    PgAllocDma => "pgalloc_dma",
    PgAllocDma32 => "pgalloc_dma32",
    PgAllocNormal => "pgalloc_normal",
    PgAllocMovable => "pgalloc_movable",
    AllocStallDma => "allocstall_dma",
    AllocStallDma32 => "allocstall_dma32",
    AllocStallNormal => "allocstall_normal",
    AllocStallMovable => "allocstall_movable",
    PgSkipDma => "pgskip_dma",
    PgSkipDma32 => "pgskip_dma32",
    PgSkipNormal => "pgskip_normal",
    PgSkipMovable => "pgskip_movable",
    PgFree => "pgfree",
    PgActivate => "pgactivate",
    PgDeactivate => "pgdeactivate",
    PgLazyFree => "pglazyfree",
    PgLazyFreed => "pglazyfreed",
    PgRefill => "pgrefill",
    PgReuse => "pgreuse",
    PgStealKswapd => "pgsteal_kswapd",
    PgStealDirect => "pgsteal_direct",
    PgStealProactive => "pgsteal_proactive",
    PgScanKswapd => "pgscan_kswapd",
    PgScanDirect => "pgscan_direct",
    PgScanProactive => "pgscan_proactive",
    PgScanDirectThrottle => "pgscan_direct_throttle",
    PgScanAnon => "pgscan_anon",
    PgScanFile => "pgscan_file",
    PgStealAnon => "pgsteal_anon",
    PgStealFile => "pgsteal_file",
    PgRotated => "pgrotated",
    PgRotateAnon => "pgrotate_anon",
    PgRotateFile => "pgrotate_file",
    PageOutRun => "pageoutrun",
    KswapdLowWmarkHitQuickly => "kswapd_low_wmark_hit_quickly",
    KswapdHighWmarkHitQuickly => "kswapd_high_wmark_hit_quickly",
    SlabsScanned => "slabs_scanned",
    NrVmscanWrite => "nr_vmscan_write",
    NrVmscanImmediateReclaim => "nr_vmscan_immediate_reclaim",
    NrDirtied => "nr_dirtied",
    NrWritten => "nr_written",
    OomKill => "oom_kill",
    DropPagecache => "drop_pagecache",
    PgMigrateSuccess => "pgmigrate_success",
    PgMigrateFail => "pgmigrate_fail",
    CompactMigrateScanned => "compact_migrate_scanned",
    CompactFreeScanned => "compact_free_scanned",
    CompactIsolated => "compact_isolated",
    CompactStall => "compact_stall",
    CompactFail => "compact_fail",
    CompactSuccess => "compact_success",
    CompactDaemonWake => "compact_daemon_wake",
    CompactDaemonMigrateScanned => "compact_daemon_migrate_scanned",
    CompactDaemonFreeScanned => "compact_daemon_free_scanned",
    HtlbBuddyAllocSuccess => "htlb_buddy_alloc_success",
    HtlbBuddyAllocFail => "htlb_buddy_alloc_fail",
    UnevictablePgsCulled => "unevictable_pgs_culled",
    UnevictablePgsRescued => "unevictable_pgs_rescued",
    UnevictablePgsMlocked => "unevictable_pgs_mlocked",
    UnevictablePgsMunlocked => "unevictable_pgs_munlocked",
    ThpFaultAlloc => "thp_fault_alloc",
    ThpFaultFallback => "thp_fault_fallback",
    ThpFaultFallbackCharge => "thp_fault_fallback_charge",
    ThpSplitPage => "thp_split_page",
    ThpDeferredSplitPage => "thp_deferred_split_page",
    WorkingsetRefaultAnon => "workingset_refault_anon",
    WorkingsetRefaultFile => "workingset_refault_file",
    WorkingsetActivateAnon => "workingset_activate_anon",
    WorkingsetActivateFile => "workingset_activate_file",
    WorkingsetRestoreAnon => "workingset_restore_anon",
    WorkingsetRestoreFile => "workingset_restore_file",
    WorkingsetNodereclaim => "workingset_nodereclaim",
    /// Folios that an inactive scan met and kept for another round.
    SimScanKeep => "sim_scan_keep",
    /// Evictions that needed no write because the slot still held the contents.
    SimEvictClean => "sim_evict_clean",
    /// Requests served from another migratetype (`mm_page_alloc_extfrag`).
    SimExtfrag => "sim_extfrag",
    /// Of these, from a block smaller than a pageblock.
    SimExtfragFragmenting => "sim_extfrag_fragmenting",
    /// Of these, for unmovable memory.
    SimExtfragSevere => "sim_extfrag_severe",
    /// Requests served from another migratetype whose pageblock has the request's type now.
    SimExtfragOwnership => "sim_extfrag_ownership",
    /// Requests for unmovable memory served from a reclaimable pageblock's lists.
    SimExtfragUR => "sim_extfrag_unmovable_reclaimable",
    /// Requests for unmovable memory served from movable lists.
    SimExtfragUM => "sim_extfrag_unmovable_movable",
    /// Requests for reclaimable memory served from unmovable lists.
    SimExtfragRU => "sim_extfrag_reclaimable_unmovable",
    /// Requests for reclaimable memory served from movable lists.
    SimExtfragRM => "sim_extfrag_reclaimable_movable",
    /// Requests for movable memory served from reclaimable lists.
    SimExtfragMR => "sim_extfrag_movable_reclaimable",
    /// Requests for movable memory served from unmovable lists.
    SimExtfragMU => "sim_extfrag_movable_unmovable",
    /// Of these, those whose pageblock is the request's now: unmovable, from reclaimable.
    SimClaimUR => "sim_claim_unmovable_reclaimable",
    /// The same: unmovable, from movable.
    SimClaimUM => "sim_claim_unmovable_movable",
    /// The same: reclaimable, from unmovable.
    SimClaimRU => "sim_claim_reclaimable_unmovable",
    /// The same: reclaimable, from movable.
    SimClaimRM => "sim_claim_reclaimable_movable",
    /// The same: movable, from reclaimable.
    SimClaimMR => "sim_claim_movable_reclaimable",
    /// The same: movable, from unmovable.
    SimClaimMU => "sim_claim_movable_unmovable",
    /// Moves by compaction of a page that it had moved before.
    SimMigrateAgain => "sim_migrate_again",
    /// Of these, moves back into the pageblock that the page had been moved out of.
    SimMigrateBack => "sim_migrate_back",
    /// Pageblocks that compaction took pages out of within two cycles after it had put some in.
    SimEmptiedTargets => "sim_emptied_targets",
    /// Pageblocks that compaction put pages in within two cycles after it had taken some out.
    SimRefilledSources => "sim_refilled_sources",
    /// Pageblocks that a run looked at for pages to move although one of another CPU had done so
    /// in the same cycle.
    SimChosenTwice => "sim_chosen_twice",
    /// Simulated nanoseconds that threads spent in direct compaction.
    SimDirectCompactNs => "sim_direct_compact_ns",
    /// Simulated nanoseconds that threads spent in direct reclaim.
    SimDirectReclaimNs => "sim_direct_reclaim_ns",
    /// Pages that were written to `memory.reclaim`.
    SimMemcgReclaimAsked => "sim_memcg_reclaim_asked",
    /// Of these, those that could not be reclaimed: the write ended with `EAGAIN`.
    SimMemcgReclaimShort => "sim_memcg_reclaim_short",
    /// Calls of `fsync(2)` that ended.
    SimFsync => "sim_fsync",
    /// Simulated nanoseconds that threads spent in them.
    SimFsyncNs => "sim_fsync_ns",
    /// Writes to files of `lru_gen`.
    SimLruGenWrites => "sim_lru_gen_writes",
    /// Of these, those that the kernel refuses.
    SimLruGenRefused => "sim_lru_gen_refused",
    /// Blocks that workloads asked for on behalf of the kernel.
    SimKernelAlloc => "sim_kernel_alloc",
    /// Of these, those that failed.
    SimKernelAllocFail => "sim_kernel_alloc_fail",
    /// Blocks of more than one page that workloads asked for on behalf of the kernel.
    SimHighAlloc => "sim_highalloc",
    /// Of these, those that the free lists had.
    SimHighAllocLists => "sim_highalloc_lists",
    /// Of these, those that asynchronous compaction had made.
    SimHighAllocAsync => "sim_highalloc_async",
    /// Of these, those that were free after direct reclaim.
    SimHighAllocReclaim => "sim_highalloc_reclaim",
    /// Of these, those that compaction that may wait had made.
    SimHighAllocSync => "sim_highalloc_sync",
    /// Of these, those that failed.
    SimHighAllocFail => "sim_highalloc_fail",
    /// Groups of the order asked for without a page that cannot be moved, at each survey.
    SimCandidates => "sim_candidates",
    /// Of these, those that were free already.
    SimCandidatesFree => "sim_candidates_free",
    /// Most blocks of that order that moving pages could make, at each survey.
    SimCandidatesBound => "sim_candidates_bound",
    /// Movable pageblocks without a page that cannot be moved, at each survey.
    SimPureMovableBlocks => "sim_pure_movable_blocks",
    /// Accesses that a workload made, hits included.
    SimAccesses => "sim_accesses",
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
