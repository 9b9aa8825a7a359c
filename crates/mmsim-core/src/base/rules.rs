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
use super::knobs::{Preset, Ranged};

crate::knob_enums! {
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

/// The struct from its table: name, meaning, source; the first value, and each later one after
/// the release of Linux that brought it. Fields after `with` are the same in all kernels.
macro_rules! kernel_rules {
    ($(#[$meta:meta])* $config:ident {
        $($field:ident : $ty:ty = $name:literal, $doc:literal, $source:literal;
            $first:expr $(, $major:literal . $minor:literal => $value:expr)+;)+
    } with { $($(#[$plain_meta:meta])+ $plain:ident : $plain_ty:ty = $plain_value:expr;)+ }) => {
        crate::knob_struct! {
            $(#[$meta])* $config { $($field: $ty = $name, $doc, $source;)+ }
            with { $($(#[$plain_meta])+ $plain: $plain_ty;)+ }
        }

        impl $config {
            /// The rules of a kernel.
            pub const fn of(kernel: Kernel) -> Self {
                $config {
                    $($field: {
                        let mut value: $ty = $first;
                        $(if kernel.is_since($major, $minor) {
                            value = $value;
                        })+
                        value
                    },)+
                    $($plain: $plain_value,)+
                }
            }
        }
    };
}

kernel_rules! {
    /// The rules that a machine follows.
    KernelRules {
        // Free memory.

        wmark_form: WmarkForm = "wmark-form",
            "how requests of orders above 0 are compared with watermarks",
            "4.4 \"mm, page_alloc: only enforce watermarks for order-0 allocations\"";
            WmarkForm::PerOrder, 4 . 4 => WmarkForm::OneBlock;
        scaled_watermarks: bool = "scaled-watermarks",
            "the distance between watermarks grows with the zone; else low is min and a quarter",
            "4.6 \"mm: scale kswapd watermarks in proportion to memory\"";
            false, 4 . 6 => true;
        min_free_most: Ranged<128, 4_194_304> = "min-free-most",
            "the most KiB that the kernel chooses for `vm.min_free_kbytes` (without huge pages)",
            "65536 in 5.6, 262144 in 5.8, mm/page_alloc.c, init_per_zone_wmark_min";
            Ranged::new(65_536), 5 . 8 => Ranged::new(262_144);
        movable_shares_min: bool = "movable-shares-min",
            "a zone Movable gets its share of `min_free_kbytes` as the others do; else it gets a 1024th of its pages, 32 to 128",
            "6.6 \"mm/page_alloc: fix min_free_kbytes calculation regarding ZONE_MOVABLE\"";
            true, 6 . 6 => false;
        thp_reserves_movable: bool = "thp-reserves-movable",
            "with transparent huge pages on, `min_free_kbytes` rises for zones Movable too",
            "4.17 \"mm/thp: don't count ZONE_MOVABLE as the target for freepage reserving\"";
            true, 4 . 17 => false;
        thp_off_lowers_min: bool = "thp-off-lowers-min",
            "`min_free_kbytes` falls again when transparent huge pages are switched off while the machine runs",
            "5.16 \"mm: khugepaged: recalculate min_free_kbytes after stopping khugepaged\"";
            false, 5 . 16 => true;
        fallback: Fallback = "fallback",
            "how blocks of other types are taken",
            "4.1, 4.12 and 6.12 with the stable updates of 2025, mm/page_alloc.c, __rmqueue";
            Fallback::V4_1, 4 . 12 => Fallback::V4_12, 6 . 12 => Fallback::ClaimSteal;
        free_init: End = "free-init",
            "the end where memory goes at boot, and where blocks go that change lists",
            "5.10 \"mm/page_alloc: place pages to tail in __free_pages_core()\"";
            End::Head, 5 . 10 => End::Tail;
        merge_retypes: bool = "merge-retypes",
            "merging above pageblock order makes both pageblocks of one type",
            "6.10 \"mm: page_alloc: fix up block types when merging compatible blocks\"";
            false, 6 . 10 => true;
        highatomic: bool = "highatomic",
            "a pageblock is kept for high-order requests that cannot wait",
            "4.4 \"mm, page_alloc: reserve pageblocks for high-order atomic allocations on demand\"";
            false, 4 . 4 => true;
        highatomic_from_buddy: bool = "highatomic-from-buddy",
            "a request that may use such pageblocks fills no per-CPU list, and a block from such a list keeps none (with `highatomic`)",
            "absent in 6.19, present in 7.1, mm/page_alloc.c, __rmqueue_pcplist and rmqueue_buddy";
            false, 7 . 0 => true;
        highatomic_at_once: bool = "highatomic-at-once",
            "such a request may use them above the low watermark too, and keeps one only below it",
            "absent in 7.2, present in 7.3, mm/page_alloc.c, alloc_flags_nonblocking and rmqueue_buddy";
            false, 7 . 3 => true;
        avoid_fragmentation: bool = "avoid-fragmentation",
            "stealing raises the watermarks, and the first pass over the zones avoids it",
            "5.0 \"mm: reclaim small amounts of memory when an external fragmentation event occurs\"";
            false, 5 . 0 => true;
        fair_zones: bool = "fair-zones",
            "the zones of a node give pages in proportion to their sizes",
            "3.12 to 4.7; 4.8 \"mm, page_alloc: remove fair zone allocation policy\"";
            true, 4 . 8 => false;

        skips_busy_nodes: bool = "skips-busy-nodes",
            "nodes whose kswapd is awake come after all others",
            "absent in 6.17, present in 6.18, mm/page_alloc.c, get_page_from_freelist";
            false, 6 . 18 => true;
        defrag_promotes: bool = "defrag-promotes",
            "with `vm.defrag_mode` requests for pages that cannot be moved make whole pageblocks, and those that cannot wait take parts of them",
            "absent in 7.1, present in 7.2 and 7.3, mm/page_alloc.c, __alloc_pages_slowpath";
            false, 7 . 2 => true;

        // Per-CPU lists.

        pcp_orders: bool = "pcp-orders",
            "per-CPU lists hold blocks up to order 3 and of pageblock order too",
            "5.14 \"mm/page_alloc: allow high-order pages to be stored on the per-cpu lists\"";
            false, 5 . 14 => true;
        pcp_batch_most: Ranged<4, 65536> = "pcp-batch-most",
            "a batch is a quarter of a 1024th of the zone, or of this number of pages if that is \
             less; then rounded to a power of two minus one",
            "4.19 \"mm/page_alloc: double zone's batchsize\": half a MiB before, one MiB since";
            Ranged::new(128), 4 . 19 => Ranged::new(256);
        pcp_batches: PcpBatches = "pcp-batches",
            "how many pages a refill takes, and how many go back at once",
            "5.14 \"mm/page_alloc: scale the number of pages that are batch freed\"; 6.7 \"mm, page_alloc: scale the number of pages that are batch allocated\"";
            PcpBatches::Fixed, 5 . 14 => PcpBatches::FreesDouble, 6 . 7 => PcpBatches::Counted;
        pcp_orders_wait: bool = "pcp-orders-wait",
            "blocks of orders 1 to 3 go back once a batch and half a list were freed in a row; else once a batch was (with `pcp-batches` counted)",
            "mm/page_alloc.c of Linux 6.18, free_frozen_page_commit";
            false, 6 . 18 => true;
        pcp_high_of_zone: bool = "pcp-high-of-zone",
            "a list is as long as the low watermark allows, shared among CPUs; else six batches",
            "5.14 \"mm/page_alloc: disassociate the pcp->high from pcp->batch\"";
            false, 5 . 14 => true;
        pcp_short_in_reclaim: bool = "pcp-short-in-reclaim",
            "lists keep four batches at most while kswapd is at work",
            "5.14 \"mm/page_alloc: limit the number of pages on PCP lists when reclaim is active\"";
            false, 5 . 14 => true;

        // Background and direct reclaim.

        lru_by_zone: bool = "lru-by-zone",
            "each zone has LRU lists of its own, and direct reclaim goes from zone to zone; else each node has",
            "4.8 \"mm, vmscan: move LRU lists to node\"";
            true, 4 . 8 => false;
        kswapd_by_zone: bool = "kswapd-by-zone",
            "kswapd judges each zone separately and reclaims from those that are not balanced",
            "4.8 \"mm, vmscan: make kswapd reclaim in terms of nodes\"";
            true, 4 . 8 => false;
        pass_goes_on_by_amount: bool = "pass-goes-on-by-amount",
            "a pass for an order above 0 goes on until it freed two blocks, whatever is free",
            "5.4 \"mm, reclaim: make should_continue_reclaim perform dryrun detection\"";
            true, 5 . 4 => false;
        boosted_runs_fail: bool = "boosted-runs-fail",
            "a run of kswapd that works off a boost and frees nothing counts as one that failed",
            "6.18: it counts, 6.19: it does not, mm/vmscan.c, balance_pgdat";
            true, 6 . 19 => false;
        failures_end_balanced: bool = "failures-end-balanced",
            "reclaim that frees pages ends kswapd's failures only if the node is balanced then",
            "absent in 6.19, present in 7.1, mm/vmscan.c, kswapd_try_clear_hopeless";
            false, 7 . 0 => true;
        anon_only_falls_back: bool = "anon-only-falls-back",
            "`swappiness=max` of memory.reclaim takes file pages where nothing can be swapped; else it takes nothing",
            "7.2: file pages, 7.3: nothing, mm/vmscan.c, get_scan_count";
            true, 7 . 3 => false;
        reclaim_walks_again: bool = "reclaim-walks-again",
            "reclaim by a request or for a limit that freed nothing is done once more, and counts twice in allocstall_*",
            "absent in 6.6, present in 6.12, mm/vmscan.c, do_try_to_free_pages (`memcg_full_walk`)";
            false, 6 . 12 => true;
        shrinker_by_priority: bool = "shrinker-by-priority",
            "what a shrinker left for later counts only as the priority has dropped",
            "5.13 \"mm: vmscan: shrink deferred objects proportional to priority\"";
            false, 5 . 13 => true;

        // Compaction: who asks for it.

        slow_path: SlowPath = "slow-path",
            "the order of compaction and reclaim when no free page is found at once",
            "4.8 \"mm, page_alloc: restructure direct compaction handling in slowpath\"";
            SlowPath::V4_1, 4 . 8 => SlowPath::V4_8, 7 . 0 => SlowPath::V7_0;
        noio_reclaims_once: bool = "noio-reclaims-once",
            "a costly request without input and output reclaims at once, and once only",
            "6.9 \"mm, vmscan: prevent infinite loop for costly GFP_NOIO | __GFP_RETRY_MAYFAIL allocations\"";
            false, 6 . 9 => true;
        near_attempt_reclaims: bool = "near-attempt-reclaims",
            "an attempt at the nearest node alone reclaims when a run of compaction gave no block (not with `slow-path` v4.1)",
            "mm/page_alloc.c of Linux 6.18.15, __alloc_pages_slowpath; 6.12.95 and 6.19 do not";
            false, 6 . 18 => true, 7 . 0 => false;
        direct_compaction: DirectCompaction = "direct-compaction",
            "what direct compaction makes of the zones' answers",
            "4.7 to 4.9, mm/compaction.c, try_to_compact_pages";
            DirectCompaction::V4_1, 4 . 9 => DirectCompaction::V4_9, 7 . 2 => DirectCompaction::V7_2;
        compaction_needs_fs: bool = "compaction-needs-fs",
            "only requests that may call into file systems compact",
            "4.10 \"mm, compaction: allow compaction for GFP_NOFS requests\"";
            true, 4 . 10 => false;
        compaction_ready_exact: bool = "compaction-ready-exact",
            "direct reclaim leaves a zone to compaction by the free pages that compaction itself asks for",
            "4.9 \"mm, vmscan: make compaction_ready() more accurate and readable\"";
            false, 4 . 9 => true;
        kcompactd: bool = "kcompactd",
            "a thread of each node compacts in the background; else kswapd does",
            "4.6 \"mm, kswapd: replace kswapd compaction with waking up kcompactd\"";
            false, 4 . 6 => true;
        proactive_leeway_halves: bool = "proactive-leeway-halves",
            "proactive compaction may go down to no fragmentation at all, and begins half above its aim at most",
            "mm/compaction.c of Linux 6.18, fragmentation_score_wmark";
            false, 6 . 18 => true;
        proactive_compaction: bool = "proactive-compaction",
            "kcompactd looks for fragmentation from time to time (`vm.compaction_proactiveness`)",
            "5.9 \"mm: proactive compaction\"";
            false, 5 . 9 => true;
        proactiveness_wakes: bool = "proactiveness-wakes",
            "a write to vm.compaction_proactiveness wakes kcompactd at once; else it sees the value at its next look",
            "5.15 \"mm: compaction: support triggering of proactive compaction by user\"";
            false, 5 . 15 => true;
        counts_free_blocks: bool = "counts-free-blocks",
            "vmstat and zoneinfo have `nr_free_pages_blocks`, the free pages of whole pageblocks",
            "include/linux/mmzone.h of Linux 6.18, NR_FREE_PAGES_BLOCKS";
            false, 6 . 18 => true;

        // Faults and page tables.

        counts_retried_faults: bool = "counts-retried-faults",
            "a fault that waits and is tried again counts in pgfault once more",
            "6.4 \"mm: do not increment pgfault stats when page fault handler retries\"";
            true, 6 . 4 => false;
        anon_exclusive: bool = "anon-exclusive",
            "PTEs know that no other process maps a page: swap-in maps it writable, and the write \
             after it keeps the slot",
            "5.19 \"mm: remember exclusively mapped anonymous pages with PG_anon_exclusive\"";
            false, 5 . 19 => true;
        cow_of_held_pages: bool = "cow-of-held-pages",
            "a write to a page that the swap cache or an LRU batch holds too makes a copy; the old page stays in the swap cache until reclaim meets it",
            "5.9 \"mm: do_wp_page() simplification\"; 5.18 \"mm: optimize do_wp_page() for exclusive pages in the swapcache\", and \"for fresh pages in local LRU pagevecs\"";
            false, 5 . 9 => true, 5 . 18 => false;
        random_has_no_recency: bool = "random-has-no-recency",
            "accesses through MADV_RANDOM mappings do not count, and reclaim leaves their bits alone",
            "6.3 \"mm: add vma_has_recency()\"";
            false, 6 . 3 => true;
        mmap_miss_skips_workingset: bool = "mmap-miss-skips-workingset",
            "a page that was in use before does not lower the count of mmap misses",
            "6.10 \"mm/filemap: don't decrease mmap_miss when folio has workingset flag\"";
            false, 6 . 10 => true;
        mmap_miss_once: bool = "mmap-miss-once",
            "a fault takes at most one mmap miss back, and none if its page was read for it; else each page mapped around it does. Executable mappings count none",
            "absent in 7.1, present in 7.2, mm/filemap.c, filemap_map_pages";
            false, 7 . 2 => true;
        exec_reads_on: bool = "exec-reads-on",
            "a miss in an executable mapping reads from its page to the mapping's end at most, and advice of random access does not matter; else around it",
            "absent in 6.12, present in 6.17, mm/filemap.c, do_sync_mmap_readahead";
            false, 6 . 18 => true;
        deferred_split: bool = "deferred-split",
            "a huge page of which a part is unmapped stays whole until reclaim or its last page; else it is split at once",
            "4.5 \"thp: introduce deferred_split_huge_page()\"";
            false, 4 . 5 => true;
        migration_keeps_bits: bool = "migration-keeps-bits",
            "accessed and dirty bits outlast a migration",
            "6.1 \"mm: remember young/dirty bit for page migrations\"";
            false, 6 . 1 => true;
        cold_sets_workingset: bool = "cold-sets-workingset",
            "MADV_COLD and MADV_PAGEOUT mark active pages as workingset",
            "6.6 \"mm: madvise: fix uneven accounting of psi\"";
            false, 6 . 6 => true;
        pageout_ignores_references: bool = "pageout-ignores-references",
            "MADV_PAGEOUT reclaims without asking for references, and leaves the accessed bit",
            "6.9 \"mm: madvise: pageout: ignore references rather than clearing young\"";
            false, 6 . 9 => true;

        // Batches.

        lru_batch: Ranged<1, 512> = "lru-batch",
            "pages in a per-CPU LRU batch, if `machine.lru-batch` says nothing",
            "6.9 \"mm: increase folio batch size\"";
            Ranged::new(15), 6 . 9 => Ranged::new(31);
        unmap_drains: bool = "unmap-drains",
            "munmap and MADV_DONTNEED flush the CPU's LRU batches first",
            "present in 6.12, absent in 6.17, mm/memory.c, zap_page_range_single";
            true, 6 . 18 => false;
        unmap_frees_upwards: bool = "unmap-frees-upwards",
            "unmapped pages are freed in the order of their addresses; else in pieces, each backwards",
            "6.9 \"mm: convert free_pages_and_swap_cache() to use folios_put()\"";
            false, 6 . 9 => true;

        // Swap slots.

        swap_slots: SwapSlots = "swap-slots",
            "which swap slots are handed out",
            "6.15 \"mm, swap: remove swap slot cache\"; 6.18 \"mm, swap: prefer nonfull over free clusters\"";
            SwapSlots::Cached, 6 . 18 => SwapSlots::Clusters618;
        swap_priorities_equal: bool = "swap-priorities-equal",
            "swap devices without a priority all have -1, so they take turns; else the first has \
             -2, the next -3, so each is full before the next gives slots",
            "absent in 6.18, present in 7.3, mm/swapfile.c, DEF_SWAP_PRIO";
            false, 6 . 19 => true;
        swapin_by_slot: bool = "swapin-by-slot",
            "swap-in reads ahead the slots beside the wanted one on every device; else on disks that rotate alone, and what is mapped beside the page on others",
            "4.14 \"mm, swap: VMA based swap readahead\"";
            true, 4 . 14 => false;
        sync_swapin_skips_cache: bool = "sync-swapin-skips-cache",
            "a page that one process has on a synchronous device is read past the swap cache, alone, and its slot is freed",
            "4.15 \"mm, swap: skip swapcache for swapin of synchronous device\"";
            false, 4 . 15 => true;
        sync_swapin_caches: bool = "sync-swapin-caches",
            "a page that is read alone from a synchronous device is in the swap cache until it is mapped: one that fills an LRU batch reaches its list there",
            "absent in 6.19, present in 7.1, mm/memory.c, do_swap_page";
            false, 7 . 0 => true;

        // Groups.

        limits_count_globally: bool = "limits-count-globally",
            "reclaim for the limit of a group counts in pgscan_*, pgsteal_* and pgrefill of the machine, by who reclaims",
            "absent in 6.19, present in 7.1, mm/vmscan.c: node statistics in place of events";
            false, 7 . 0 => true;
        memcg_charge_batch: Ranged<1, 4096> = "memcg-charge-batch",
            "pages that a CPU charges to a group at a time",
            "6.1 \"memcg: increase MEMCG_CHARGE_BATCH to 64\"";
            Ranged::new(32), 6 . 1 => Ranged::new(64);
        process_kernel_pages: Ranged<0, 65536> = "process-kernel-pages",
            "pages of the kernel that a group is charged for a process, besides its page tables",
            "5.9 \"mm: memcg/slab: use a single set of kmem_caches for all accounted allocations\"; size: evidence/calibration.toml";
            Ranged::new(144), 5 . 9 => Ranged::new(48);
        counts_rotated: bool = "counts-rotated",
            "pages that reclaim looked at for eviction and kept, and active ones that it left active, are counted in pgrotate_anon and pgrotate_file",
            "absent in 7.1, present in 7.3, mm/vmscan.c, PGROTATE_ANON";
            false, 7 . 3 => true;
        counts_swap_requests: bool = "counts-swap-requests",
            "requests to the swap device are counted in nrswpin and nrswpout; one holds 32 pages at most, and one page if the device is synchronous",
            "absent in 7.1, present in 7.3, include/linux/vm_event_item.h, NRSWPIN and NRSWPOUT";
            false, 7 . 3 => true;
        counts_proactive: bool = "counts-proactive",
            "memory.reclaim counts in pgscan_proactive and pgsteal_proactive; else in pgscan_direct and pgsteal_direct",
            "absent in 6.12, present in 6.17, mm/vmscan.c, reclaimer_offset";
            false, 6 . 18 => true;
        memory_reclaim_try: ReclaimTry = "memory-reclaim-try",
            "how much of what is missing a try of memory.reclaim asks for",
            "6.6 \"mm:vmscan: fix inaccurate reclaim during proactive reclaim\"; 6.9 \"mm: memcg: use larger batches for proactive reclaim\"";
            ReclaimTry::Whole, 6 . 6 => ReclaimTry::Batch, 6 . 9 => ReclaimTry::Quarter;
        stale_protection: StaleProtection = "stale-protection",
            "what reclaim for a group's own limit makes of the `memory.min` and `memory.low` that the last pass over all groups noted",
            "5.4 \"mm, memcg: proportional memory.{low,min} reclaim\"; 5.9 \"mm, memcg: decouple e{low,min} state mutations from protection checks\"; 6.2 \"mm: memcg: fix stale protection of reclaim target memcg\"";
            StaleProtection::Ignored, 5 . 4 => StaleProtection::ScansLess, 5 . 9 => StaleProtection::Skips, 6 . 2 => StaleProtection::Ignored;
        badness_below_one: bool = "badness-below-one",
            "the OOM killer's points of a process may fall below 1; else each that may be killed has at least 1",
            "5.9 \"mm, oom: make the calculation of oom badness more accurate\"";
            false, 5 . 9 => true;
        high_retries: bool = "high-retries",
            "above memory.high a thread reclaims as long as that helps, before it sleeps",
            "5.9 \"mm, memcg: reclaim more aggressively before high allocator throttling\"";
            false, 5 . 9 => true;
        cgroup_writeback: bool = "cgroup-writeback",
            "groups have dirty thresholds of their own",
            "4.2 \"writeback: implement memcg writeback domain based throttling\"";
            false, 4 . 2 => true;

        // CPUs and devices.

        scheduler: Scheduler = "scheduler",
            "who of several gets a CPU",
            "6.6 \"sched/fair: Commit to EEVDF\"";
            Scheduler::Cfs, 6 . 6 => Scheduler::Eevdf;
        lazy_preemption: bool = "lazy-preemption",
            "code of the kernel keeps the CPU until the tick after the one that wants it back; else it gives way when asked",
            "6.13 \"sched: Add Lazy preemption model\"; Debian builds 6.12 with voluntary preemption, 6.18 with this";
            false, 6 . 18 => true;
        hrtick: bool = "hrtick",
            "a timer ends a slice when it is used up; else the next tick does",
            "absent in 6.18, present in 7.3, kernel/sched/features.h, HRTICK";
            false, 7 . 3 => true;
        wbt_one_depth: bool = "wbt-one-depth",
            "writes to swap share one depth of the device's queue; else only kswapd's get all of it",
            "absent in 6.1, present in 6.12, block/blk-wbt.c, get_limit";
            false, 6 . 12 => true;
    } with {
        /// Order of a pageblock: 9, as on x86 with huge pages. At least 1 and at most `max_order`.
        pageblock_order: u8 = 9;
        /// The largest order on the free lists: 10, at most that.
        max_order: u8 = 10;
    }
}

/// The rules of each kernel as a preset, each after that of the kernel before.
static PRESETS: &[Preset<KernelRules>] = &{
    let first = Preset {
        name: Kernel::ALL[0].name_of_rules(),
        config: KernelRules::of(Kernel::ALL[0]),
        kernel: Kernel::ALL[0],
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
mod tests {
    use super::*;
    use crate::base::knobs::{KnobError, Knobs};

    #[test]
    fn each_kernel_has_its_rules() {
        for p in KernelRules::presets() {
            assert_eq!(p.config.validate(), Ok(()), "{}", p.name);
            assert_eq!(p.config, KernelRules::of(p.kernel), "{}", p.name);
        }
        let changed = |name: &str| {
            let preset = KernelRules::preset(name).expect("a preset");
            preset.changes().into_iter().map(|c| c.0).collect::<Vec<_>>()
        };
        assert_eq!(changed("rules-v4.1"), [""; 0]);
        assert_eq!(changed("rules-v5.8"), ["min-free-most"]);
        let of_5_9 = [
            "proactive-compaction",
            "cow-of-held-pages",
            "process-kernel-pages",
            "stale-protection",
            "badness-below-one",
            "high-retries",
        ];
        assert_eq!(changed("rules-v5.9"), of_5_9);
        // Every rule is there because some kernel differs.
        let all: Vec<_> = KernelRules::presets().iter().flat_map(|p| changed(p.name)).collect();
        for knob in KernelRules::knobs() {
            assert!(all.contains(&knob.name), "{} is the same in all kernels", knob.name);
        }
    }

    #[test]
    fn rules_are_set_by_name() {
        let mut rules = KernelRules::of(Kernel::V4_1);
        rules.set("lru-batch", "31").expect("within its range");
        assert_eq!(rules.lru_batch.get(), 31);
        rules.set("proactive-compaction", "yes").expect("a value");
        assert!(matches!(rules.validate(), Err(KnobError::Contradiction { .. })));
        rules.set("kcompactd", "yes").expect("a value");
        assert_eq!(rules.validate(), Ok(()));
    }
}
