//! Differences between kernels, apart from their LRUs and their compaction: one table of rules.
//!
//! A row is a mechanism. It has the value that Linux 4.1 has, and the value of each release of
//! Linux that changed it; a kernel follows the last change that is not younger than itself. So a
//! kernel that is added needs no row where nothing changed. [`KernelRules::of`] is the only place
//! that asks which kernel a machine has; everything else reads a rule.
//!
//! A machine may follow other rules than its kernel
//! ([`MachineConfig::rules`](crate::config::MachineConfig)), one at a time.

use super::kernel::{Kernel, NR_KERNELS};
use super::settings::{OrNumber, Preset};
use crate::{settings, words};

words! {
    /// An end of a free list.
    End {
        Head = "head", "where blocks are taken";
        Tail = "tail", "the far end";
    }

    /// Form of the comparison of a request of order above 0 with a watermark.
    WmarkForm {
        PerOrder = "per-order",
            "free pages of orders too low are taken off order by order, and the mark is halved with each";
        OneBlock = "one-block", "one block that is large enough, besides the mark for order 0";
    }

    /// Search in other types when the lists of a request's own type are empty.
    Fallback {
        V4_1 = "v4.1",
            "the largest block of another type; what is left of it changes lists, and the pageblock's type if half of it was free";
        V4_12 = "v4.12",
            "movable requests take the smallest block where they may not steal; pages of the request's kind count as much as free ones";
        ClaimSteal = "claim-steal",
            "a pageblock is claimed as a whole, or one block is taken and the rest left alone";
    }

    /// Fate of a page in zswap that does not compress.
    ZswapIncompressible {
        Reject = "reject", "it goes to the swap device";
        Raw = "raw", "the pool holds it as it is";
    }

    /// The order of decisions when no free page is found at once.
    SlowPath {
        V4_1 = "v4.1",
            "compaction before reclaim and after it; retries while orders up to 3 make progress";
        V4_8 = "v4.8", "compaction first for costly orders; retries by zone watermarks";
        V7_0 = "v7.0",
            "the same, and a costly request without retry always gets a round of reclaim, and one without retry compacts asynchronously again";
    }

    /// Use that direct compaction makes of the zones' answers.
    DirectCompaction {
        V4_1 = "v4.1",
            "a zone is done when it keeps its low watermark; \"skipped\" is more than \"deferred\"";
        V4_9 = "v4.9",
            "a zone is done when the run made a block; \"deferred\" is more than \"skipped\"";
        V7_2 = "v7.2", "the same, and an attempt that was put off in all zones is not counted";
    }

    /// Numbers of pages that a refill of a per-CPU list takes, and that go back at once.
    PcpBatches {
        Fixed = "fixed", "a batch each time";
        FreesDouble = "frees-double",
            "a refill takes a batch; what goes back doubles until a page is taken";
        Counted = "counted", "refills double in a row; as many go back as were freed in a row";
    }

    /// Which swap slots are handed out.
    SwapSlots {
        Cached = "cached",
            "64 at a time to each CPU, from clusters: fresh ones first, then those with free slots";
        Clusters618 = "clusters-6.18",
            "one by one, and each CPU goes on in its cluster; clusters in which a slot came free go first";
    }

    /// Use that reclaim for a group's own limit makes of the protection that an earlier pass over
    /// all groups noted.
    StaleProtection {
        Ignored = "ignored", "nothing: protection is against others";
        ScansLess = "scans-less", "it scans less, in proportion to what is protected";
        Skips = "skips", "it leaves the group alone while that is within its protection";
    }

    /// Pages that count as used by a group.
    MemcgCharges {
        Exact = "exact", "pages of processes and files; memory.high counts the others too";
        Kernel = "kernel", "these, what CPUs have in stock, and kernel memory of its processes";
    }

    /// Age of the statistics of groups by which the classic LRU decides.
    MemcgStats {
        Exact = "exact", "none";
        Kernel = "kernel", "up to two seconds";
    }

    /// Pages that a removed group was charged for.
    MemcgOffline {
        Keeps = "keeps", "stay on its lists, which are walked as before";
        Reparent = "reparent", "go to the group above it";
    }

    /// Number of pages that a try of `memory.reclaim` requests.
    ReclaimTry {
        Whole = "whole", "all that is missing";
        Batch = "batch", "at most 32 pages of it";
        Quarter = "quarter", "a quarter of it";
    }

    /// Who of several gets a CPU.
    Scheduler {
        Cfs = "cfs", "the smallest virtual runtime first";
        Eevdf = "eevdf", "the earliest deadline first, of those not ahead of the average";
    }
}

settings! {
    /// The rules that a machine follows.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct KernelRules {
        // Free memory.

        /// how requests of orders above 0 are compared with watermarks
        wmark_form as "wmark-form": WmarkForm = WmarkForm::PerOrder, "4.4" => WmarkForm::OneBlock,
            .kernel("__zone_watermark_ok")
            .source("4.4 \"mm, page_alloc: only enforce watermarks for order-0 allocations\"");
        /// the distance between watermarks grows with the zone; else low is min and a quarter
        scaled_watermarks as "scaled-watermarks": bool = false, "4.6" => true,
            .kernel("__setup_per_zone_wmarks")
            .source("4.6 \"mm: scale kswapd watermarks in proportion to memory\"");
        /// the most KiB that the kernel chooses for `vm.min_free_kbytes` (without huge pages)
        min_free_most as "min-free-most": u32 = 65_536, "5.8" => 262_144,
            .range(128, 4_194_304).kernel("init_per_zone_wmark_min")
            .source("65536 in 5.6, 262144 in 5.8, mm/page_alloc.c, init_per_zone_wmark_min");
        /// a zone Movable gets its share of `min_free_kbytes` as the others do; else it gets a
        /// 1024th of its pages, 32 to 128
        movable_shares_min as "movable-shares-min": bool = true, "6.6" => false,
            .source("6.6 \"mm/page_alloc: fix min_free_kbytes calculation regarding ZONE_MOVABLE\"");
        /// with transparent huge pages on, `min_free_kbytes` rises for zones Movable too
        thp_reserves_movable as "thp-reserves-movable": bool = true, "4.17" => false,
            .kernel("set_recommended_min_free_kbytes")
            .source(
                "4.17 \"mm/thp: don't count ZONE_MOVABLE as the target for freepage reserving\"",
            );
        /// `min_free_kbytes` falls again when transparent huge pages are switched off while the
        /// machine runs
        thp_off_lowers_min as "thp-off-lowers-min": bool = false, "5.16" => true,
            .source(
                "5.16 \"mm: khugepaged: recalculate min_free_kbytes after stopping khugepaged\"",
            );
        /// how blocks of other types are taken
        fallback: Fallback =
            Fallback::V4_1, "4.12" => Fallback::V4_12, "6.12" => Fallback::ClaimSteal,
            .kernel("__rmqueue_fallback")
            .source(
                "4.1, 4.12 and 6.12 with the stable updates of 2025, mm/page_alloc.c, __rmqueue",
            );
        /// the end where memory goes at boot, and where blocks go that change lists
        free_init as "free-init": End = End::Head, "5.10" => End::Tail,
            .kernel("__free_pages_core")
            .source("5.10 \"mm/page_alloc: place pages to tail in __free_pages_core()\"");
        /// merging above pageblock order makes both pageblocks of one type
        merge_retypes as "merge-retypes": bool = false, "6.10" => true,
            .kernel("__free_one_page")
            .source("6.10 \"mm: page_alloc: fix up block types when merging compatible blocks\"");
        /// a pageblock is kept for high-order requests that cannot wait
        highatomic: bool = false, "4.4" => true,
            .kernel("reserve_highatomic_pageblock")
            .source(
                "4.4 \"mm, page_alloc: reserve pageblocks for high-order atomic allocations on \
                 demand\"",
            );
        /// a request that may use such pageblocks fills no per-CPU list, and a block from such a
        /// list keeps none (with `highatomic`)
        highatomic_from_buddy as "highatomic-from-buddy": bool = false, "7.0" => true,
            .source(
                "absent in 6.19, present in 7.1, mm/page_alloc.c, __rmqueue_pcplist and \
                 rmqueue_buddy",
            );
        /// such a request may use them above the low watermark too, and keeps one only below it
        highatomic_at_once as "highatomic-at-once": bool = false, "7.3" => true,
            .source(
                "absent in 7.2, present in 7.3, mm/page_alloc.c, alloc_flags_nonblocking and \
                 rmqueue_buddy",
            );
        /// stealing raises the watermarks, and the first pass over the zones avoids it
        avoid_fragmentation as "avoid-fragmentation": bool = false, "5.0" => true,
            .kernel("ALLOC_NOFRAGMENT")
            .source(
                "5.0 \"mm: reclaim small amounts of memory when an external fragmentation event \
                 occurs\"",
            );
        /// the zones of a node give pages in proportion to their sizes
        fair_zones as "fair-zones": bool = true, "4.8" => false,
            .kernel("NR_ALLOC_BATCH")
            .source("3.12 to 4.7; 4.8 \"mm, page_alloc: remove fair zone allocation policy\"");
        /// nodes whose kswapd is awake come after all others
        skips_busy_nodes as "skips-busy-nodes": bool = false, "6.18" => true,
            .source("absent in 6.17, present in 6.18, mm/page_alloc.c, get_page_from_freelist");
        /// with `vm.defrag_mode` requests for pages that cannot be moved make whole pageblocks, and
        /// those that cannot wait take parts of them
        defrag_promotes as "defrag-promotes": bool = false, "7.2" => true,
            .source(
                "absent in 7.1, present in 7.2 and 7.3, mm/page_alloc.c, __alloc_pages_slowpath",
            );

        // Per-CPU lists.

        /// per-CPU lists hold blocks up to order 3 and of pageblock order too
        pcp_orders as "pcp-orders": bool = false, "5.14" => true,
            .kernel("NR_PCP_LISTS")
            .source(
                "5.14 \"mm/page_alloc: allow high-order pages to be stored on the per-cpu lists\"",
            );
        /// a batch is a quarter of a 1024th of the zone, or of this number of pages if that is
        /// less; then rounded to a power of two minus one
        pcp_batch_most as "pcp-batch-most": u32 = 128, "4.19" => 256,
            .range(4, 65536).kernel("zone_batchsize")
            .source(
                "4.19 \"mm/page_alloc: double zone's batchsize\": half a MiB before, one MiB since",
            );
        /// how many pages a refill takes, and how many go back at once
        pcp_batches as "pcp-batches": PcpBatches =
            PcpBatches::Fixed, "5.14" => PcpBatches::FreesDouble, "6.7" => PcpBatches::Counted,
            .kernel("nr_pcp_free, nr_pcp_alloc")
            .source(
                "5.14 \"mm/page_alloc: scale the number of pages that are batch freed\"; 6.7 \"mm, \
                 page_alloc: scale the number of pages that are batch allocated\"",
            );
        /// blocks of orders 1 to 3 go back once a batch and half a list were freed in a row; else
        /// once a batch was (with `pcp-batches` counted)
        pcp_orders_wait as "pcp-orders-wait": bool = false, "6.18" => true,
            .source("mm/page_alloc.c of Linux 6.18, free_frozen_page_commit");
        /// a list is as long as the low watermark allows, shared among CPUs; else six batches
        pcp_high_of_zone as "pcp-high-of-zone": bool = false, "5.14" => true,
            .kernel("zone_highsize")
            .source("5.14 \"mm/page_alloc: disassociate the pcp->high from pcp->batch\"");
        /// lists keep four batches at most while kswapd is at work
        pcp_short_in_reclaim as "pcp-short-in-reclaim": bool = false, "5.14" => true,
            .kernel("nr_pcp_high")
            .source(
                "5.14 \"mm/page_alloc: limit the number of pages on PCP lists when reclaim is \
                 active\"",
            );

        // Background and direct reclaim.

        /// each zone has LRU lists of its own, and direct reclaim goes from zone to zone; else each
        /// node has
        lru_by_zone as "lru-by-zone": bool = true, "4.8" => false,
            .source("4.8 \"mm, vmscan: move LRU lists to node\"");
        /// kswapd judges each zone separately and reclaims from those that are not balanced
        kswapd_by_zone as "kswapd-by-zone": bool = true, "4.8" => false,
            .kernel("pgdat_balanced")
            .source("4.8 \"mm, vmscan: make kswapd reclaim in terms of nodes\"");
        /// a request that wakes kswapd from its nap adds to the zones of its last run; else the run
        /// is for the zones of the request
        kswapd_keeps_zones as "kswapd-keeps-zones": bool = true, "5.2" => false,
            .kernel("kswapd_highest_zoneidx")
            .source("5.2 \"mm/vmscan.c: prevent useless kswapd loops\"");
        /// a pass for an order above 0 goes on until it freed two blocks, whatever is free
        pass_goes_on_by_amount as "pass-goes-on-by-amount": bool = true, "5.4" => false,
            .kernel("should_continue_reclaim")
            .source("5.4 \"mm, reclaim: make should_continue_reclaim perform dryrun detection\"");
        /// a run of kswapd that works off a boost and frees nothing counts as one that failed
        boosted_runs_fail as "boosted-runs-fail": bool = true, "6.19" => false,
            .kernel("kswapd_failures")
            .source("6.18: it counts, 6.19: it does not, mm/vmscan.c, balance_pgdat");
        /// reclaim that frees pages ends kswapd's failures only if the node is balanced then
        failures_end_balanced as "failures-end-balanced": bool = false, "7.0" => true,
            .kernel("kswapd_try_clear_hopeless")
            .source("absent in 6.19, present in 7.1, mm/vmscan.c, kswapd_try_clear_hopeless");
        /// `swappiness=max` of memory.reclaim takes file pages where nothing can be swapped; else
        /// it takes nothing
        anon_only_falls_back as "anon-only-falls-back": bool = true, "7.3" => false,
            .source("7.2: file pages, 7.3: nothing, mm/vmscan.c, get_scan_count");
        /// reclaim by a request or for a limit that freed nothing is done once more, and counts
        /// twice in allocstall_*
        reclaim_walks_again as "reclaim-walks-again": bool = false, "6.12" => true,
            .kernel("memcg_full_walk")
            .source(
                "absent in 6.6, present in 6.12, mm/vmscan.c, do_try_to_free_pages \
                 (`memcg_full_walk`)",
            );
        /// reclaim by a request or for a limit goes on with the group behind the one where the last
        /// one stopped, and stops when it has enough; else it visits all groups
        shared_walks as "shared-walks": bool = false, "6.11" => true,
            .kernel("mem_cgroup_iter")
            .source("6.11 \"mm: vmscan: restore incremental cgroup iteration\"");
        /// what a shrinker left for later counts only as the priority has dropped
        shrinker_by_priority as "shrinker-by-priority": bool = false, "5.13" => true,
            .kernel("do_shrink_slab")
            .source("5.13 \"mm: vmscan: shrink deferred objects proportional to priority\"");

        // zswap, and pages of zeros in swap.

        /// a page of zeros is not written to swap: its slot is marked
        swap_zeromap as "swap-zeromap": bool = false, "6.12" => true,
            .kernel("swap_zeromap_folio_set")
            .source("6.12 \"mm: store zero pages to be swapped out in a bitmap\"");
        /// what becomes of a page that does not compress
        zswap_incompressible as "zswap-incompressible": ZswapIncompressible =
            ZswapIncompressible::Reject, "6.18" => ZswapIncompressible::Raw,
            .kernel("zswap_compress")
            .source("6.12.117: rejected, 6.18.15: stored, mm/zswap.c, zswap_compress");
        /// entries that the limits of zswap look at on a node before they go on
        zswap_limit_batch as "zswap-limit-batch": u32 = 1, "7.3" => 32,
            .range(1, 1024).kernel("shrink_memcg")
            .source("6.18.15: 1, 7.3.4: 32, mm/zswap.c, shrink_memcg");
        /// zswap's worker writes entries back where there are no groups
        zswap_worker_without_memcg as "zswap-worker-without-memcg": bool =
            true, "6.18" => false, "7.3" => true,
            .kernel("shrink_worker")
            .source("6.12.117 and 7.3.4: the root's; 6.18.15: none, mm/zswap.c, shrink_worker");

        // Compaction: who asks for it.

        /// the order of compaction and reclaim when no free page is found at once
        slow_path as "slow-path": SlowPath =
            SlowPath::V4_1, "4.8" => SlowPath::V4_8, "7.0" => SlowPath::V7_0,
            .kernel("__alloc_pages_slowpath")
            .source("4.8 \"mm, page_alloc: restructure direct compaction handling in slowpath\"");
        /// a costly request without input and output reclaims at once, and once only
        noio_reclaims_once as "noio-reclaims-once": bool = false, "6.9" => true,
            .source(
                "6.9 \"mm, vmscan: prevent infinite loop for costly GFP_NOIO | __GFP_RETRY_MAYFAIL \
                 allocations\"",
            );
        /// an attempt at the nearest node alone reclaims when a run of compaction gave no block
        /// (not with `slow-path` v4.1)
        near_attempt_reclaims as "near-attempt-reclaims": bool =
            false, "6.18" => true, "7.0" => false,
            .source(
                "mm/page_alloc.c of Linux 6.18.15, __alloc_pages_slowpath; 6.12.95 and 6.19 do not",
            );
        /// what direct compaction makes of the zones' answers
        direct_compaction as "direct-compaction": DirectCompaction =
            DirectCompaction::V4_1, "4.9" => DirectCompaction::V4_9,
            "7.2" => DirectCompaction::V7_2,
            .kernel("try_to_compact_pages")
            .source("4.7 to 4.9, mm/compaction.c, try_to_compact_pages");
        /// only requests that may call into file systems compact
        compaction_needs_fs as "compaction-needs-fs": bool = true, "4.10" => false,
            .source("4.10 \"mm, compaction: allow compaction for GFP_NOFS requests\"");
        /// direct reclaim leaves a zone to compaction by the free pages that compaction itself asks
        /// for
        compaction_ready_exact as "compaction-ready-exact": bool = false, "4.9" => true,
            .kernel("compaction_ready")
            .source("4.9 \"mm, vmscan: make compaction_ready() more accurate and readable\"");
        /// a thread of each node compacts in the background; else kswapd does
        kcompactd: bool = false, "4.6" => true,
            .kernel("wakeup_kcompactd")
            .source("4.6 \"mm, kswapd: replace kswapd compaction with waking up kcompactd\"");
        /// proactive compaction may go down to no fragmentation at all, and begins half above its
        /// aim at most
        proactive_leeway_halves as "proactive-leeway-halves": bool = false, "6.18" => true,
            .kernel("fragmentation_score_wmark")
            .source("mm/compaction.c of Linux 6.18, fragmentation_score_wmark");
        /// kcompactd looks for fragmentation from time to time (`vm.compaction_proactiveness`)
        proactive_compaction as "proactive-compaction": bool = false, "5.9" => true,
            .kernel("should_proactive_compact_node").source("5.9 \"mm: proactive compaction\"");
        /// a write to vm.compaction_proactiveness wakes kcompactd at once; else it sees the value
        /// at its next look
        proactiveness_wakes as "proactiveness-wakes": bool = false, "5.15" => true,
            .source("5.15 \"mm: compaction: support triggering of proactive compaction by user\"");
        /// vmstat and zoneinfo have `nr_free_pages_blocks`, the free pages of whole pageblocks
        counts_free_blocks as "counts-free-blocks": bool = false, "6.18" => true,
            .kernel("NR_FREE_PAGES_BLOCKS")
            .source("include/linux/mmzone.h of Linux 6.18, NR_FREE_PAGES_BLOCKS");
        /// the OOM killer's table of processes has anonymous, file and shared memory apart
        oom_parts_of_rss as "oom-parts-of-rss": bool = false, "6.8" => true,
            .kernel("dump_tasks")
            .source("6.8 \"mm, oom: dump_tasks add rss detailed information printing\"");

        // Faults and page tables.

        /// a fault that waits and is tried again counts in pgfault once more
        counts_retried_faults as "counts-retried-faults": bool = true, "6.4" => false,
            .source("6.4 \"mm: do not increment pgfault stats when page fault handler retries\"");
        /// PTEs know that no other process maps a page: swap-in maps it writable, and the write
        /// after it keeps the slot
        anon_exclusive as "anon-exclusive": bool = false, "5.19" => true,
            .kernel("PG_anon_exclusive")
            .source(
                "5.19 \"mm: remember exclusively mapped anonymous pages with PG_anon_exclusive\"",
            );
        /// a write to a page that the swap cache or an LRU batch holds too makes a copy; the old
        /// page stays in the swap cache until reclaim meets it
        cow_of_held_pages as "cow-of-held-pages": bool = false, "5.9" => true, "5.18" => false,
            .kernel("do_wp_page")
            .source(
                "5.9 \"mm: do_wp_page() simplification\"; 5.18 \"mm: optimize do_wp_page() for \
                 exclusive pages in the swapcache\", and \"for fresh pages in local LRU pagevecs\"",
            );
        /// accesses through MADV_RANDOM mappings do not count, and reclaim leaves their bits alone
        random_has_no_recency as "random-has-no-recency": bool = false, "6.3" => true,
            .kernel("vma_has_recency").source("6.3 \"mm: add vma_has_recency()\"");
        /// a page that was in use before does not lower the count of mmap misses
        mmap_miss_skips_workingset as "mmap-miss-skips-workingset": bool = false, "6.10" => true,
            .source("6.10 \"mm/filemap: don't decrease mmap_miss when folio has workingset flag\"");
        /// a fault takes at most one mmap miss back, and none if its page was read for it; else
        /// each page mapped around it does. Executable mappings count none
        mmap_miss_once as "mmap-miss-once": bool = false, "7.2" => true,
            .kernel("filemap_map_pages")
            .source("absent in 7.1, present in 7.2, mm/filemap.c, filemap_map_pages");
        /// a miss in an executable mapping reads from its page to the mapping's end at most, and
        /// advice of random access does not matter; else around it
        exec_reads_on as "exec-reads-on": bool = false, "6.18" => true,
            .kernel("do_sync_mmap_readahead")
            .source("absent in 6.12, present in 6.17, mm/filemap.c, do_sync_mmap_readahead");
        /// pages of the largest request that a queue takes by default, up to which a call of
        /// `MADV_WILLNEED` or `POSIX_FADV_WILLNEED` reads; a readahead window that is larger counts
        io_pages as "io-pages": u32 = 0, "4.10" => 320, "6.18" => 1024,
            .range(0, 262_144)
            .kernel("force_page_cache_ra, BLK_DEF_MAX_SECTORS_CAP")
            .source(
                "4.10 \"mm: don't cap request size based on read-ahead setting\"; 1280 KiB in 6.12, \
                 4 MiB in 6.18, include/linux/blkdev.h",
            );
        /// a huge page of which a part is unmapped stays whole until reclaim or its last page; else
        /// it is split at once
        deferred_split as "deferred-split": bool = false, "4.5" => true,
            .kernel("deferred_split_huge_page")
            .source("4.5 \"thp: introduce deferred_split_huge_page()\"");
        /// pages of a large folio that were never written are the zero page when it is split, and their
        /// frames are free
        thp_zero_subpages as "thp-zero-subpages": bool = false, "6.12" => true,
            .kernel("try_to_map_unused_to_zeropage")
            .source(
                "6.12 \"mm: remap unused subpages to shared zeropage when splitting isolated thp\"",
            );
        /// reclaim goes through the pages of a folio that it split from the last to the second, after
        /// the first; else in order of address
        split_pages_descending as "split-pages-descending": bool = false, "6.18" => true,
            .kernel("lru_add_split_folio")
            .source("absent in 6.12, present in 6.18, mm/huge_memory.c, __folio_split");
        /// swap-ins of large folios and their fallbacks are counted by size
        counts_large_swapin as "counts-large-swapin": bool = false, "6.18" => true,
            .kernel("MTHP_STAT_SWPIN, MTHP_STAT_SWPIN_FALLBACK")
            .source("absent in 6.12, present in 6.18, include/linux/huge_mm.h");
        /// accessed and dirty bits outlast a migration
        migration_keeps_bits as "migration-keeps-bits": bool = false, "6.1" => true,
            .source("6.1 \"mm: remember young/dirty bit for page migrations\"");
        /// MADV_COLD and MADV_PAGEOUT mark active pages as workingset
        cold_sets_workingset as "cold-sets-workingset": bool = false, "6.6" => true,
            .kernel("madvise_cold_or_pageout_pte_range")
            .source("6.6 \"mm: madvise: fix uneven accounting of psi\"");
        /// MADV_PAGEOUT reclaims without asking for references, and leaves the accessed bit
        pageout_ignores_references as "pageout-ignores-references": bool = false, "6.9" => true,
            .kernel("reclaim_pages")
            .source("6.9 \"mm: madvise: pageout: ignore references rather than clearing young\"");

        // Batches.

        /// pages in a per-CPU LRU batch, if `machine.lru-batch` says nothing
        lru_batch as "lru-batch": u32 = 15, "6.9" => 31,
            .range(1, 512)
            .kernel("PAGEVEC_SIZE")
            .source("6.9 \"mm: increase folio batch size\"");
        /// munmap and MADV_DONTNEED flush the CPU's LRU batches first
        unmap_drains as "unmap-drains": bool = true, "6.18" => false,
            .kernel("lru_add_drain")
            .source("present in 6.12, absent in 6.17, mm/memory.c, zap_page_range_single");
        /// unmapped pages are freed in the order of their addresses; else in pieces, each backwards
        unmap_frees_upwards as "unmap-frees-upwards": bool = false, "6.9" => true,
            .kernel("free_pages_and_swap_cache")
            .source("6.9 \"mm: convert free_pages_and_swap_cache() to use folios_put()\"");

        // Swap slots.

        /// which swap slots are handed out
        swap_slots as "swap-slots": SwapSlots = SwapSlots::Cached, "6.18" => SwapSlots::Clusters618,
            .kernel("SWAP_SLOTS_CACHE_SIZE")
            .source(
                "6.15 \"mm, swap: remove swap slot cache\"; 6.18 \"mm, swap: prefer nonfull over \
                 free clusters\"",
            );
        /// swap devices without a priority all have -1, so they take turns; else the first has -2,
        /// the next -3, so each is full before the next gives slots
        swap_priorities_equal as "swap-priorities-equal": bool = false, "6.19" => true,
            .kernel("DEF_SWAP_PRIO")
            .source("absent in 6.18, present in 7.3, mm/swapfile.c, DEF_SWAP_PRIO");
        /// swap-in reads ahead the slots beside the wanted one on every device; else on disks that
        /// rotate alone, and what is mapped beside the page on others
        swapin_by_slot as "swapin-by-slot": bool = true, "4.14" => false,
            .kernel("swap_use_vma_readahead")
            .source("4.14 \"mm, swap: VMA based swap readahead\"");
        /// a page that one process has on a synchronous device is read past the swap cache, alone,
        /// and its slot is freed
        sync_swapin_skips_cache as "sync-swapin-skips-cache": bool = false, "4.15" => true,
            .kernel("SWP_SYNCHRONOUS_IO")
            .source("4.15 \"mm, swap: skip swapcache for swapin of synchronous device\"");
        /// a page that is read alone from a synchronous device is in the swap cache until it is
        /// mapped: one that fills an LRU batch reaches its list there
        sync_swapin_caches as "sync-swapin-caches": bool = false, "7.0" => true,
            .source("absent in 6.19, present in 7.1, mm/memory.c, do_swap_page");

        /// a page of shared memory is read alone from a synchronous device; else with slots beside it
        shmem_swapin_alone as "shmem-swapin-alone": bool = false, "6.14" => true,
            .kernel("shmem_swapin_folio")
            .source("6.14 \"mm: shmem: skip swapcache for swapin of synchronous swap device\"");

        // Groups.

        /// reclaim for the limit of a group counts in pgscan_*, pgsteal_* and pgrefill of the
        /// machine, by who reclaims
        limits_count_globally as "limits-count-globally": bool = false, "7.0" => true,
            .source(
                "absent in 6.19, present in 7.1, mm/vmscan.c: node statistics in place of events",
            );
        /// pages that a CPU charges to a group at a time
        memcg_charge_batch as "memcg-charge-batch": u32 = 32, "6.1" => 64,
            .range(1, 4096)
            .kernel("MEMCG_CHARGE_BATCH")
            .source("6.1 \"memcg: increase MEMCG_CHARGE_BATCH to 64\"");
        /// groups of which a CPU keeps pages in stock
        memcg_stock_groups as "memcg-stock-groups": u32 = 1, "6.16" => 7,
            .range(1, 64)
            .kernel("NR_MEMCG_STOCK")
            .source("absent in 6.12, present in 6.18, mm/memcontrol.c, NR_MEMCG_STOCK");
        /// what memory.max, memory.min and memory.low count as used by a group
        memcg_charges as "memcg-charges": MemcgCharges = MemcgCharges::Exact,
            .kernel("page_counter")
            .source("kernel: all versions, mm/page_counter.c; exact: a choice of the model");
        /// age of the sizes and refaults of groups by which the classic LRU since 5.5 decides, on
        /// machines with groups
        memcg_stats as "memcg-stats": MemcgStats = MemcgStats::Exact,
            .kernel("flush_memcg_stats_dwork")
            .source("kernel: 6.12 mm/memcontrol.c, FLUSH_TIME; exact: a choice of the model");
        /// what becomes of the pages that a removed group was charged for
        memcg_offline as "memcg-offline": MemcgOffline =
            MemcgOffline::Keeps, "7.1" => MemcgOffline::Reparent,
            .kernel("mem_cgroup_css_offline")
            .source("absent in 6.18, present in 7.3, mm/memcontrol.c; 7.0 or 7.1");
        /// pages of the kernel that a group is charged for a process, besides its page tables
        process_kernel_pages as "process-kernel-pages": u32 = 144, "5.9" => 48,
            .range(0, 65536)
            .source(
                "5.9 \"mm: memcg/slab: use a single set of kmem_caches for all accounted \
                 allocations\"; size: evidence/calibration.toml",
            );
        /// pages that reclaim looked at for eviction and kept, and active ones that it left active,
        /// are counted in pgrotate_anon and pgrotate_file
        counts_rotated as "counts-rotated": bool = false, "7.3" => true,
            .kernel("PGROTATE_ANON")
            .source("absent in 7.1, present in 7.3, mm/vmscan.c, PGROTATE_ANON");
        /// requests to the swap device are counted in nrswpin and nrswpout; one holds 32 pages at
        /// most, and one page if the device is synchronous
        counts_swap_requests as "counts-swap-requests": bool = false, "7.3" => true,
            .kernel("NRSWPIN, NRSWPOUT")
            .source(
                "absent in 7.1, present in 7.3, include/linux/vm_event_item.h, NRSWPIN and NRSWPOUT",
            );
        /// memory.reclaim counts in pgscan_proactive and pgsteal_proactive; else in pgscan_direct
        /// and pgsteal_direct
        counts_proactive as "counts-proactive": bool = false, "6.18" => true,
            .kernel("reclaimer_offset")
            .source("absent in 6.12, present in 6.17, mm/vmscan.c, reclaimer_offset");
        /// how much of what is missing a try of memory.reclaim asks for; a number is a limit in
        /// pages
        memory_reclaim_try as "memory-reclaim-try": OrNumber<ReclaimTry> =
            OrNumber::Word(ReclaimTry::Whole), "6.6" => OrNumber::Word(ReclaimTry::Batch),
            "6.9" => OrNumber::Word(ReclaimTry::Quarter),
            .numbers(1, 1 << 20)
            .kernel("memory_reclaim, SWAP_CLUSTER_MAX")
            .source(
                "6.6 \"mm:vmscan: fix inaccurate reclaim during proactive reclaim\"; 6.9 \"mm: \
                 memcg: use larger batches for proactive reclaim\"",
            );
        /// what reclaim for a group's own limit makes of the `memory.min` and `memory.low` that the
        /// last pass over all groups noted
        stale_protection as "stale-protection": StaleProtection =
            StaleProtection::Ignored, "5.4" => StaleProtection::ScansLess,
            "5.9" => StaleProtection::Skips, "6.2" => StaleProtection::Ignored,
            .source(
                "5.4 \"mm, memcg: proportional memory.{low,min} reclaim\"; 5.9 \"mm, memcg: \
                 decouple e{low,min} state mutations from protection checks\"; 6.2 \"mm: memcg: fix \
                 stale protection of reclaim target memcg\"",
            );
        /// the OOM killer's points of a process may fall below 1; else each that may be killed has
        /// at least 1
        badness_below_one as "badness-below-one": bool = false, "5.9" => true,
            .kernel("oom_badness")
            .source("5.9 \"mm, oom: make the calculation of oom badness more accurate\"");
        /// of processes with equal points the OOM killer takes the one that it meets last
        oom_ties_last as "oom-ties-last": bool = false, "5.3" => true,
            .kernel("oom_evaluate_task")
            .source("5.3 \"mm: memcontrol: use CSS_TASK_ITER_PROCS at mem_cgroup_scan_tasks()\"");
        /// above memory.high a thread reclaims as long as that helps, before it sleeps
        high_retries as "high-retries": bool = false, "5.9" => true,
            .kernel("mem_cgroup_handle_over_high")
            .source("5.9 \"mm, memcg: reclaim more aggressively before high allocator throttling\"");
        /// groups have dirty thresholds of their own
        cgroup_writeback as "cgroup-writeback": bool = false, "4.2" => true,
            .kernel("CONFIG_CGROUP_WRITEBACK")
            .source("4.2 \"writeback: implement memcg writeback domain based throttling\"");

        // CPUs and devices.

        /// who of several gets a CPU
        scheduler: Scheduler = Scheduler::Cfs, "6.6" => Scheduler::Eevdf,
            .kernel("pick_eevdf")
            .source("6.6 \"sched/fair: Commit to EEVDF\"");
        /// code of the kernel keeps the CPU until the tick after the one that wants it back; else
        /// it gives way when asked
        lazy_preemption as "lazy-preemption": bool = false, "6.18" => true,
            .kernel("CONFIG_PREEMPT_LAZY")
            .source(
                "6.13 \"sched: Add Lazy preemption model\"; Debian builds 6.12 with voluntary \
                 preemption, 6.18 with this",
            );
        /// a timer ends a slice when it is used up; else the next tick does
        hrtick: bool = false, "7.3" => true,
            .kernel("HRTICK")
            .source("absent in 6.18, present in 7.3, kernel/sched/features.h, HRTICK");
        /// writes to swap share one depth of the device's queue; else only kswapd's get all of it
        wbt_one_depth as "wbt-one-depth": bool = false, "6.12" => true,
            .kernel("get_limit")
            .source("absent in 6.1, present in 6.12, block/blk-wbt.c, get_limit");
    }
    with {
        /// Order of a pageblock: 9, as on x86 with huge pages. At least 1 and at most `max_order`.
        pageblock_order: u8 = 9;
        /// The largest order on the free lists: 10, at most that.
        max_order: u8 = 10;
    }
    presets PRESETS;
    check KernelRules::contradiction;
}

/// The rules of each kernel as a preset, each after that of the kernel before.
static PRESETS: &[Preset<KernelRules>] = &{
    let first = Preset {
        name: Kernel::ALL[0].name_of_rules(),
        config: KernelRules::of(Kernel::ALL[0]),
        kernel: Kernel::ALL[0],
        shipped: Some(Kernel::ALL[0].name()),
        before: None,
        about: "rules of the machine, as machine.kernel sets them",
        subject: None,
    };
    let mut all = [first; NR_KERNELS];
    let mut i = 1;
    while i < NR_KERNELS {
        let kernel = Kernel::ALL[i];
        all[i].name = kernel.name_of_rules();
        all[i].config = KernelRules::of(kernel);
        all[i].kernel = kernel;
        all[i].shipped = Some(kernel.name());
        all[i].before = Some(all[i - 1].name);
        i += 1;
    }
    all
};

impl KernelRules {
    /// A rule that needs another: its name, what to write instead, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let idle = self.proactive_compaction && !self.kcompactd;
        let why = "kcompactd is what looks for fragmentation";
        idle.then_some((
            "proactive-compaction",
            "proactive-compaction = \"no\", or kcompactd = \"yes\"",
            why,
        ))
    }
}

#[cfg(test)]
mod tests;
