//! Event counters under their `/proc/vmstat` names. What Linux does not count starts with `sim_`.
//!
//! Each has one row with its unit, its worth on a smaller machine, its place in the kernel's files,
//! the counter that bounds it, and the tables that show it. To add a counter is to write its row and
//! the call that counts it. Reports print all counters, zeros too.

mod counter;

use std::ops::Index;

pub use counter::{Counter, KernelFile, Others, Transfer, Unit};

macro_rules! vm_events {
    ($($(#[doc = $doc:literal])+ $Event:ident = $name:literal, $unit:ident, $transfer:ident
        $(, $(. $attribute:ident($($arg:tt)*))+)?;)+) => {
        /// One event counter.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum VmEvent { $($(#[doc = $doc])+ $Event,)+ }

        impl VmEvent {
            /// All counters, in the order of reports.
            pub const ALL: &'static [VmEvent] = &[$(VmEvent::$Event,)+];
            /// Its row.
            pub const fn row(self) -> &'static Counter {
                const ROWS: &[Counter] = &[$(
                    Counter::new($name, concat!($($doc),+), Unit::$unit, Transfer::$transfer)
                        $($(.$attribute($($arg)*))+)?,
                )+];
                &ROWS[self as usize]
            }
        }
    };
}

// Name, unit, transfer to a smaller machine. `after` is the item before it in `/proc/vmstat`, and
// without it the row above is. A `within` names the counter that it never exceeds, and why.
vm_events! {
    /// Page faults, minor and major.
    PgFault = "pgfault", Events, Pages,
        .after("pglazyfree").memory_stat_after("pgsteal_proactive").groups().series().bench(1);
    /// Page faults that had to wait for a read.
    PgMajFault = "pgmajfault", Events, Pages,
        .memory_stat().within(VmEvent::PgFault, "mm/memory.c").groups().series().bench(2);
    /// Pages read from swap.
    PswpIn = "pswpin", Pages, Pages, .after("pgpgout").groups().series().bench(3);
    /// Pages written to swap.
    PswpOut = "pswpout", Pages, Pages, .groups().series().bench(4);
    /// Requests that read from a swap device.
    NrSwpIn = "nrswpin", Events, Batches,
        .after("direct_map_level3_splits").rule(|rules| rules.counts_swap_requests)
        .within(VmEvent::PswpIn, "page_io.c");
    /// Requests that write to a swap device.
    NrSwpOut = "nrswpout", Events, Batches,
        .rule(|rules| rules.counts_swap_requests).within(VmEvent::PswpOut, "page_io.c");
    /// Pages that swap readahead read.
    SwapRa = "swap_ra", Pages, Pages,
        .after("thp_deferred_split_page");
    /// Pages of swap readahead that a fault found in the swap cache.
    SwapRaHit = "swap_ra_hit", Pages, Pages, .within(VmEvent::SwapRa, "swap_cache_get_folio");
    /// Pages of zeros that were read from swap, where only a mark stood for them.
    SwpinZero = "swpin_zero", Pages, Pages,
        .after("swap_ra_hit").memory_stat_after("pglazyfreed").rule(|rules| rules.swap_zeromap)
        .groups().younger();
    /// Pages of zeros that went to swap as a mark.
    SwpoutZero = "swpout_zero", Pages, Pages,
        .memory_stat().rule(|rules| rules.swap_zeromap).groups().younger();
    /// Pages that zswap decompressed.
    ZswpIn = "zswpin", Pages, Pages,
        .after("cow_ksm").memory_stat().within(VmEvent::ZswpOut, "zswap_load").groups().series()
        .younger();
    /// Pages that zswap compressed and kept.
    ZswpOut = "zswpout", Pages, Pages, .memory_stat().groups().series().younger();
    /// Pages that zswap wrote to a swap device.
    ZswpWb = "zswpwb", Pages, Pages,
        .memory_stat().within(VmEvent::ZswpOut, "zswap_writeback_entry").groups().series().younger();
    /// Pages that found the pool of zswap at its limit (`pool_limit_hit`).
    SimZswapPoolLimitHit = "sim_zswap_pool_limit_hit", Pages, Pages, .younger();
    /// Stores that zswap refused, since the page does not compress (`reject_compress_fail`).
    SimZswapRejectCompressFail = "sim_zswap_reject_compress_fail", Pages, Pages, .younger();
    /// Stores that zswap refused for want of a frame (`reject_alloc_fail`).
    SimZswapRejectAllocFail = "sim_zswap_reject_alloc_fail", Pages, Pages, .younger();
    /// Entries that zswap could not write back (`reject_reclaim_fail`).
    SimZswapRejectReclaimFail = "sim_zswap_reject_reclaim_fail", Pages, Pages, .younger();
    /// KiB read from block devices, of files and of swap.
    PgpgIn = "pgpgin", KiB, Pages, .after("nr_memmap_boot_pages").series();
    /// KiB written to block devices.
    PgpgOut = "pgpgout", KiB, Pages, .series();
    /// Pages allocated from zones `DMA`.
    PgAllocDma = "pgalloc_dma", Pages, Pages, .after("pswpout");
    /// Pages allocated from zones `DMA32`.
    PgAllocDma32 = "pgalloc_dma32", Pages, Pages;
    /// Pages allocated from zones `Normal`.
    PgAllocNormal = "pgalloc_normal", Pages, Pages;
    /// Pages allocated from zones `Movable`.
    PgAllocMovable = "pgalloc_movable", Pages, Pages;
    /// Direct reclaims for requests that a zone `DMA` may serve at best.
    AllocStallDma = "allocstall_dma", Events, Batches, .minor().series();
    /// Direct reclaims for requests that a zone `DMA32` may serve at best.
    AllocStallDma32 = "allocstall_dma32", Events, Batches, .minor().series();
    /// Direct reclaims for requests that a zone `Normal` may serve at best.
    AllocStallNormal = "allocstall_normal", Events, Batches, .series();
    /// Direct reclaims for requests that a zone `Movable` may serve at best.
    AllocStallMovable = "allocstall_movable", Events, Batches, .series();
    /// Pages that a scan passed over, as their zone, `DMA`, is too high for the request.
    PgSkipDma = "pgskip_dma", Pages, Who, .minor();
    /// Pages that a scan passed over, as their zone, `DMA32`, is too high for the request.
    PgSkipDma32 = "pgskip_dma32", Pages, Who, .minor();
    /// Pages that a scan passed over, as their zone, `Normal`, is too high for the request.
    PgSkipNormal = "pgskip_normal", Pages, Who, .minor();
    /// Pages that a scan passed over, as their zone, `Movable`, is too high for the request.
    PgSkipMovable = "pgskip_movable", Pages, Who, .minor();
    /// Pages that were freed.
    PgFree = "pgfree", Pages, Pages;
    /// Pages that became active.
    PgActivate = "pgactivate", Pages, Active,
        .memory_stat_after("pgrefill").groups().series().bench(9);
    /// Pages that became inactive.
    PgDeactivate = "pgdeactivate", Pages, Active, .memory_stat().groups().series().bench(10);
    /// Pages marked by `MADV_FREE`.
    PgLazyFree = "pglazyfree", Pages, Pages, .memory_stat();
    /// Pages marked by `MADV_FREE` that reclaim freed.
    PgLazyFreed = "pglazyfreed", Pages, Pages,
        .after("pgmajfault").memory_stat()
        .within(VmEvent::PgLazyFree, "shrink_folio_list, lru_lazyfree");
    /// Active pages that reclaim looked at.
    PgRefill = "pgrefill", Pages, Active, .memory_stat_after("pgmajfault").groups();
    /// Write faults that kept the page instead of a copy of it.
    PgReuse = "pgreuse", Events, Active, .within(VmEvent::PgFault, "wp_page_reuse");
    /// Pages that kswapd reclaimed.
    PgStealKswapd = "pgsteal_kswapd", Pages, Who,
        .memory_stat_after("pgscan_proactive")
        .within(VmEvent::PgScanKswapd, "shrink_inactive_list, evict_folios").groups().series()
        .bench(7);
    /// Pages that direct reclaim reclaimed.
    PgStealDirect = "pgsteal_direct", Pages, Who,
        .memory_stat().within(VmEvent::PgScanDirect, "shrink_inactive_list, evict_folios").groups()
        .series().bench(8);
    /// Pages that writes to `memory.reclaim` reclaimed.
    PgStealProactive = "pgsteal_proactive", Pages, Who,
        .memory_stat().rule(|rules| rules.counts_proactive)
        .within(VmEvent::PgScanProactive, "shrink_inactive_list, evict_folios").groups();
    /// Pages that kswapd looked at for eviction.
    PgScanKswapd = "pgscan_kswapd", Pages, Who,
        .memory_stat_after("workingset_nodereclaim").groups().series().bench(5);
    /// Pages that direct reclaim looked at for eviction.
    PgScanDirect = "pgscan_direct", Pages, Who, .memory_stat().groups().series().bench(6);
    /// Pages that writes to `memory.reclaim` looked at for eviction.
    PgScanProactive = "pgscan_proactive", Pages, Who,
        .memory_stat().rule(|rules| rules.counts_proactive).groups();
    /// Direct reclaims that waited for kswapd, as hardly a page was free.
    PgScanDirectThrottle = "pgscan_direct_throttle", Events, Batches;
    /// Anonymous pages that reclaim looked at for eviction.
    PgScanAnon = "pgscan_anon", Pages, Scanned, .groups();
    /// File pages that reclaim looked at for eviction.
    PgScanFile = "pgscan_file", Pages, Scanned, .groups();
    /// Anonymous pages that were reclaimed.
    PgStealAnon = "pgsteal_anon", Pages, Pages,
        .after("pgrotate_file").within(VmEvent::PgScanAnon, "shrink_inactive_list, evict_folios")
        .groups();
    /// File pages that were reclaimed.
    PgStealFile = "pgsteal_file", Pages, Pages,
        .within(VmEvent::PgScanFile, "shrink_inactive_list, evict_folios").groups();
    /// Pages that were moved to the tail of the inactive list after their write ended.
    PgRotated = "pgrotated", Pages, Active, .after("pageoutrun");
    /// Anonymous pages that reclaim looked at and kept.
    PgRotateAnon = "pgrotate_anon", Pages, Active,
        .after("pgscan_file").rule(|rules| rules.counts_rotated);
    /// File pages that reclaim looked at and kept.
    PgRotateFile = "pgrotate_file", Pages, Active, .rule(|rules| rules.counts_rotated);
    /// Times that kswapd began to balance a node.
    PageOutRun = "pageoutrun", Events, Batches, .after("kswapd_high_wmark_hit_quickly");
    /// Short sleeps of kswapd that a fall below the low watermark ended.
    KswapdLowWmarkHitQuickly = "kswapd_low_wmark_hit_quickly", Events, Batches,
        .after("slabs_scanned");
    /// Sleeps that kswapd did not begin, as free memory was below the high watermark again.
    KswapdHighWmarkHitQuickly = "kswapd_high_wmark_hit_quickly", Events, Batches;
    /// Objects of slabs that shrinkers looked at.
    SlabsScanned = "slabs_scanned", Objects, Batches, .after("pgsteal_file").minor();
    /// Pages that reclaim began to write to swap.
    NrVmscanWrite = "nr_vmscan_write", Pages, Pages, .after("nr_anon_transparent_hugepages");
    /// Pages under writeback that reclaim marked to be freed when it ends.
    NrVmscanImmediateReclaim = "nr_vmscan_immediate_reclaim", Pages, Active;
    /// Pages of files that became dirty.
    NrDirtied = "nr_dirtied", Pages, Pages;
    /// Pages of files that were written.
    NrWritten = "nr_written", Pages, Pages;
    /// Processes that the out-of-memory killer killed.
    OomKill = "oom_kill", Events, Events, .after("drop_pagecache").series();
    /// Writes to `/proc/sys/vm/drop_caches` that dropped the page cache.
    DropPagecache = "drop_pagecache", Events, Events, .after("pgrotated");
    /// Pages that migration moved.
    PgMigrateSuccess = "pgmigrate_success", Pages, Blocks, .after("oom_kill").series();
    /// Pages that migration could not move.
    PgMigrateFail = "pgmigrate_fail", Pages, Blocks;
    /// Pages that compaction looked at for pages to move.
    CompactMigrateScanned = "compact_migrate_scanned", Pages, Blocks;
    /// Pages that compaction looked at for free ones.
    CompactFreeScanned = "compact_free_scanned", Pages, Blocks;
    /// Pages that compaction isolated, those to move and free ones.
    CompactIsolated = "compact_isolated", Pages, Blocks;
    /// Direct compactions.
    CompactStall = "compact_stall", Events, Blocks, .series();
    /// Direct compactions after which the request was not served.
    CompactFail = "compact_fail", Events, Blocks, .notable(2);
    /// Direct compactions after which the request was served.
    CompactSuccess = "compact_success", Events, Blocks, .series().notable(1);
    /// Times that kcompactd woke up.
    CompactDaemonWake = "compact_daemon_wake", Events, Blocks;
    /// Pages that kcompactd looked at for pages to move.
    CompactDaemonMigrateScanned = "compact_daemon_migrate_scanned", Pages, Blocks,
        .within(VmEvent::CompactMigrateScanned, "kcompactd_do_work");
    /// Pages that kcompactd looked at for free ones.
    CompactDaemonFreeScanned = "compact_daemon_free_scanned", Pages, Blocks,
        .within(VmEvent::CompactFreeScanned, "kcompactd_do_work");
    /// Huge pages that the pool of hugetlb got from the buddy allocator.
    HtlbBuddyAllocSuccess = "htlb_buddy_alloc_success", Blocks, Blocks;
    /// Huge pages that it asked for and did not get.
    HtlbBuddyAllocFail = "htlb_buddy_alloc_fail", Blocks, Blocks;
    /// Pages that went to the unevictable list.
    UnevictablePgsCulled = "unevictable_pgs_culled", Pages, Pages, .minor();
    /// Pages that `SHM_UNLOCK` looked at.
    UnevictablePgsScanned = "unevictable_pgs_scanned", Pages, Pages, .younger().minor();
    /// Pages that came back from the unevictable list.
    UnevictablePgsRescued = "unevictable_pgs_rescued", Pages, Pages,
        .within(VmEvent::UnevictablePgsCulled, "lru_add, __munlock_folio").minor();
    /// Pages that `mlock(2)` locked.
    UnevictablePgsMlocked = "unevictable_pgs_mlocked", Pages, Pages, .minor();
    /// Pages that were unlocked.
    UnevictablePgsMunlocked = "unevictable_pgs_munlocked", Pages, Pages,
        .within(VmEvent::UnevictablePgsMlocked, "mlock_folio, __munlock_folio").minor();
    /// Huge pages that faults allocated.
    ThpFaultAlloc = "thp_fault_alloc", Blocks, Blocks,
        .memory_stat_after("zswpwb").series().notable(3);
    /// Faults that wanted a huge page and took a small one.
    ThpFaultFallback = "thp_fault_fallback", Events, Blocks, .notable(4);
    /// Faults that took a small page because their group could not pay for a huge one.
    ThpFaultFallbackCharge = "thp_fault_fallback_charge", Events, Blocks,
        .within(VmEvent::ThpFaultFallback, "vma_alloc_anon_folio_pmd").younger();
    /// Huge pages that were split.
    ThpSplitPage = "thp_split_page", Blocks, Blocks, .series();
    /// Huge pages that were queued to be split, as a part of them is not mapped any more.
    ThpDeferredSplitPage = "thp_deferred_split_page", Blocks, Blocks,
        .within(VmEvent::ThpFaultAlloc, "deferred_split_folio: once for each").younger();
    /// Mappings of huge pages that became mappings by pages, as they went to swap in one piece.
    ThpSplitPmd = "thp_split_pmd", Events, Blocks,
        .after("thp_underused_split_page").younger();
    /// Huge pages that went to swap in one piece.
    ThpSwpout = "thp_swpout", Blocks, Blocks,
        .after("thp_zero_page_alloc_failed").memory_stat_after("thp_collapse_alloc").younger();
    /// Huge pages that were split, since there were no slots for them in one piece.
    ThpSwpoutFallback = "thp_swpout_fallback", Blocks, Blocks, .memory_stat().younger();
    /// Evicted anonymous pages that were wanted again.
    WorkingsetRefaultAnon = "workingset_refault_anon", Pages, Pages,
        .after("workingset_nodes").memory_stat_after("slab").shadows().groups().series().bench(11);
    /// Evicted file pages that were wanted again.
    WorkingsetRefaultFile = "workingset_refault_file", Pages, Pages,
        .memory_stat().shadows().groups().series();
    /// Refaults of anonymous pages that were activated at once.
    WorkingsetActivateAnon = "workingset_activate_anon", Pages, Active,
        .memory_stat().shadows().groups().series().bench(12);
    /// Refaults of file pages that were activated at once.
    WorkingsetActivateFile = "workingset_activate_file", Pages, Active,
        .memory_stat().shadows().groups().series();
    /// Refaults of anonymous pages that were part of the working set when they were evicted.
    WorkingsetRestoreAnon = "workingset_restore_anon", Pages, Active,
        .memory_stat()
        .within(VmEvent::WorkingsetRefaultAnon, "workingset_refault, lru_gen_refault").shadows()
        .groups();
    /// Refaults of file pages that were part of the working set when they were evicted.
    WorkingsetRestoreFile = "workingset_restore_file", Pages, Active,
        .memory_stat()
        .within(VmEvent::WorkingsetRefaultFile, "workingset_refault, lru_gen_refault").shadows()
        .groups();
    /// Nodes of the page cache that held shadows alone and were reclaimed.
    WorkingsetNodereclaim = "workingset_nodereclaim", Objects, Batches,
        .memory_stat().within(VmEvent::SlabsScanned, "shadow_lru_isolate").shadows();
    /// Folios that an inactive scan met and kept for another round.
    SimScanKeep = "sim_scan_keep", Pages, Scanned;
    /// Evictions that needed no write because the slot still held the contents.
    SimEvictClean = "sim_evict_clean", Pages, Pages;
    /// Requests served from another migratetype (`mm_page_alloc_extfrag`).
    SimExtfrag = "sim_extfrag", Events, Blocks;
    /// Requests served from another migratetype's block that is smaller than a pageblock.
    SimExtfragFragmenting = "sim_extfrag_fragmenting", Events, Blocks,
        .within(VmEvent::SimExtfrag, "mm_page_alloc_extfrag");
    /// Requests for unmovable memory served from a smaller block of another migratetype.
    SimExtfragSevere = "sim_extfrag_severe", Events, Blocks,
        .within(VmEvent::SimExtfragFragmenting, "mm_page_alloc_extfrag");
    /// Requests served from another migratetype whose pageblock has the request's type now.
    SimExtfragOwnership = "sim_extfrag_ownership", Events, Blocks,
        .within(VmEvent::SimExtfrag, "mm_page_alloc_extfrag");
    /// Requests for unmovable memory served from a reclaimable pageblock's lists.
    SimExtfragUR = "sim_extfrag_unmovable_reclaimable", Events, Blocks;
    /// Requests for unmovable memory served from movable lists.
    SimExtfragUM = "sim_extfrag_unmovable_movable", Events, Blocks;
    /// Requests for reclaimable memory served from unmovable lists.
    SimExtfragRU = "sim_extfrag_reclaimable_unmovable", Events, Blocks;
    /// Requests for reclaimable memory served from movable lists.
    SimExtfragRM = "sim_extfrag_reclaimable_movable", Events, Blocks;
    /// Requests for movable memory served from reclaimable lists.
    SimExtfragMR = "sim_extfrag_movable_reclaimable", Events, Blocks;
    /// Requests for movable memory served from unmovable lists.
    SimExtfragMU = "sim_extfrag_movable_unmovable", Events, Blocks;
    /// Reclaimable pageblocks that a request for unmovable memory took over.
    SimClaimUR = "sim_claim_unmovable_reclaimable", Events, Blocks;
    /// Movable pageblocks that a request for unmovable memory took over.
    SimClaimUM = "sim_claim_unmovable_movable", Events, Blocks;
    /// Unmovable pageblocks that a request for reclaimable memory took over.
    SimClaimRU = "sim_claim_reclaimable_unmovable", Events, Blocks;
    /// Movable pageblocks that a request for reclaimable memory took over.
    SimClaimRM = "sim_claim_reclaimable_movable", Events, Blocks;
    /// Reclaimable pageblocks that a request for movable memory took over.
    SimClaimMR = "sim_claim_movable_reclaimable", Events, Blocks;
    /// Unmovable pageblocks that a request for movable memory took over.
    SimClaimMU = "sim_claim_movable_unmovable", Events, Blocks;
    /// Moves by compaction of a page that it had moved before.
    SimMigrateAgain = "sim_migrate_again", Pages, Blocks,
        .within(VmEvent::PgMigrateSuccess, "of the model");
    /// Moves by compaction of a page back into a pageblock that it had been moved out of.
    SimMigrateBack = "sim_migrate_back", Pages, Blocks,
        .within(VmEvent::SimMigrateAgain, "of the model");
    /// Pageblocks that compaction took pages out of within two cycles after it had put some in.
    SimEmptiedTargets = "sim_emptied_targets", Pageblocks, Blocks;
    /// Pageblocks that compaction put pages in within two cycles after it had taken some out.
    SimRefilledSources = "sim_refilled_sources", Pageblocks, Blocks;
    /// Pageblocks that a run looked at for pages to move although one of another CPU had done so
    /// in the same cycle.
    SimChosenTwice = "sim_chosen_twice", Pageblocks, Blocks;
    /// Simulated nanoseconds that threads spent in direct compaction.
    SimDirectCompactNs = "sim_direct_compact_ns", Nanos, Time;
    /// Simulated nanoseconds that threads spent in direct reclaim.
    SimDirectReclaimNs = "sim_direct_reclaim_ns", Nanos, Time;
    /// Pages that were written to `memory.reclaim`.
    SimMemcgReclaimAsked = "sim_memcg_reclaim_asked", Pages, Pages;
    /// Pages written to `memory.reclaim` that could not be reclaimed: the write ended with `EAGAIN`.
    SimMemcgReclaimShort = "sim_memcg_reclaim_short", Pages, Events;
    /// Groups that passes of reclaim came by, empty ones among them, on machines with groups.
    SimMemcgWalkGroups = "sim_memcg_walk_groups", Events, Batches, .younger();
    /// Passes of reclaim that ended because all groups of a subtree had had their turn.
    SimMemcgWalkShort = "sim_memcg_walk_short", Events, Batches, .younger();
    /// Reclaims that turned to groups within their `memory.low`, since nothing else was left.
    SimMemcgLowRounds = "sim_memcg_low_rounds", Events, Events, .younger();
    /// Calls of `fsync(2)` that ended.
    SimFsync = "sim_fsync", Events, Events, .younger();
    /// Simulated nanoseconds that threads spent in `fsync(2)`.
    SimFsyncNs = "sim_fsync_ns", Nanos, Time, .younger();
    /// Calls of `mlock(2)` above `RLIMIT_MEMLOCK`, which lock nothing (`ENOMEM`).
    SimMlockRefused = "sim_mlock_refused", Events, Events, .younger();
    /// Writes to files of `lru_gen`.
    SimLruGenWrites = "sim_lru_gen_writes", Events, Events, .younger();
    /// Writes to files of `lru_gen` that the kernel refuses.
    SimLruGenRefused = "sim_lru_gen_refused", Events, Events, .younger();
    /// Blocks that workloads asked for on behalf of the kernel.
    SimKernelAlloc = "sim_kernel_alloc", Blocks, Blocks;
    /// Blocks that workloads asked for on behalf of the kernel, and did not get.
    SimKernelAllocFail = "sim_kernel_alloc_fail", Blocks, Blocks,
        .within(VmEvent::SimKernelAlloc, "of the model");
    /// Blocks of more than one page that workloads asked for on behalf of the kernel.
    SimHighAlloc = "sim_highalloc", Blocks, Blocks;
    /// Blocks of more than one page for the kernel that the free lists had.
    SimHighAllocLists = "sim_highalloc_lists", Blocks, Blocks;
    /// Blocks of more than one page for the kernel that asynchronous compaction had made.
    SimHighAllocAsync = "sim_highalloc_async", Blocks, Blocks;
    /// Blocks of more than one page for the kernel that were free after direct reclaim.
    SimHighAllocReclaim = "sim_highalloc_reclaim", Blocks, Blocks;
    /// Blocks of more than one page for the kernel that synchronous compaction had made.
    SimHighAllocSync = "sim_highalloc_sync", Blocks, Blocks;
    /// Blocks of more than one page for the kernel that workloads did not get.
    SimHighAllocFail = "sim_highalloc_fail", Blocks, Blocks;
    /// Groups of the order asked for without a page that cannot be moved, at each survey.
    SimCandidates = "sim_candidates", Blocks, Blocks;
    /// Groups of the order asked for that were free already, at each survey.
    SimCandidatesFree = "sim_candidates_free", Blocks, Blocks,
        .within(VmEvent::SimCandidates, "of the model");
    /// Most blocks of that order that moving pages could make, at each survey.
    SimCandidatesBound = "sim_candidates_bound", Blocks, Blocks;
    /// Movable pageblocks without a page that cannot be moved, at each survey.
    SimPureMovableBlocks = "sim_pure_movable_blocks", Pageblocks, Blocks;
    /// Pages made ready for the pool of easily reclaimed memory: clean, unmapped, and kept.
    SimEasyReady = "sim_easy_ready", Pages, Pages, .younger();
    /// Pages of that pool that were used again before they were freed: work in vain.
    SimEasyUsed = "sim_easy_used", Pages, Pages,
        .within(VmEvent::SimEasyReady, "of the model").younger();
    /// Pages of a guest that a fault of its host gave it.
    SimHostFault = "sim_host_fault", Pages, Pages, .series().younger();
    /// Pages of a guest that its host took back, since they were reported free.
    SimHostReturned = "sim_host_returned", Pages, Pages, .series()
        .within(VmEvent::SimHostFault, "of the model").younger();
    /// Pages in blocks that a guest reported free to its host.
    SimHostReported = "sim_host_reported", Pages, Pages, .younger();
    /// Reports of free blocks to the host, of 32 blocks at most.
    SimHostReport = "sim_host_report", Events, Batches, .younger();
    /// Runs of free page reporting.
    SimHostRun = "sim_host_run", Events, Batches, .younger();
    /// Zones that a run of free page reporting passed over, since they had too few free pages.
    SimHostZoneSkip = "sim_host_zone_skip", Events, Batches, .younger();
    /// Accesses that a workload made, hits included.
    SimAccesses = "sim_accesses", Events, Drawn, .series();
}

impl VmEvent {
    /// Direct reclaims, by the zone that requests may be served from.
    pub const ALLOC_STALLS: &'static [VmEvent] = &[
        VmEvent::AllocStallDma,
        VmEvent::AllocStallDma32,
        VmEvent::AllocStallNormal,
        VmEvent::AllocStallMovable,
    ];
    /// Evicted pages that were wanted again.
    pub const REFAULTS: [VmEvent; 2] =
        [VmEvent::WorkingsetRefaultAnon, VmEvent::WorkingsetRefaultFile];
    /// Pages that reclaim looked at for eviction, by type.
    pub const SCANNED: &'static [VmEvent] = &[VmEvent::PgScanAnon, VmEvent::PgScanFile];
    /// The same, by who reclaims.
    pub const SCANNED_BY: &'static [VmEvent] =
        &[VmEvent::PgScanKswapd, VmEvent::PgScanDirect, VmEvent::PgScanProactive];
    /// Pages that were reclaimed, by type.
    pub const RECLAIMED: &'static [VmEvent] = &[VmEvent::PgStealAnon, VmEvent::PgStealFile];
    /// The same, by who reclaims.
    pub const RECLAIMED_BY: &'static [VmEvent] =
        &[VmEvent::PgStealKswapd, VmEvent::PgStealDirect, VmEvent::PgStealProactive];

    /// The name in `/proc/vmstat`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
    /// True if only a policy that leaves shadows behind can count it.
    pub const fn needs_shadows(self) -> bool {
        self.row().needs_shadows
    }
    /// The counter of that name.
    pub fn named(name: &str) -> Option<VmEvent> {
        VmEvent::ALL.iter().copied().find(|e| e.name() == name)
    }
    /// The counters that groups have in reports.
    pub fn of_groups() -> impl Iterator<Item = VmEvent> {
        VmEvent::ALL.iter().copied().filter(|e| e.row().of_groups)
    }
    /// The counters that a table shows, in the order of their places there; 0 is none.
    ///
    /// ```
    /// use mmsim_core::base::vmstat::VmEvent;
    /// assert_eq!(VmEvent::shown(|row| row.bench).next(), Some(VmEvent::PgFault));
    /// ```
    pub fn shown(place: fn(&Counter) -> u8) -> impl Iterator<Item = VmEvent> {
        let mut shown: Vec<VmEvent> =
            VmEvent::ALL.iter().copied().filter(|e| place(e.row()) > 0).collect();
        shown.sort_by_key(|e| place(e.row()));
        shown.into_iter()
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
    /// Adds what another place counted.
    pub fn add_all(&mut self, other: &VmStat) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
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
        VmEvent::named(name).map(|e| self[e])
    }
}

impl Index<VmEvent> for VmStat {
    type Output = u64;
    fn index(&self, e: VmEvent) -> &u64 {
        &self.0[e as usize]
    }
}
