//! The cost model: how much simulated CPU time the steps of memory management take.
//! Values and their basis: evidence/calibration.toml. They decide simulated
//! time, latency and pressure; event counts depend on them only through the order in
//! which threads and kswapd come to act.

use crate::base::kernel::NEWEST;
use crate::base::settings::Settings as _;
use crate::base::time::SimDuration;
use crate::settings;

settings! {
    /// Costs in simulated CPU time.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct CostModel {
        /// Touch of a present page, cold cache line.
        t_hit: SimDuration = SimDuration::from_nanos(100);
        /// Copy of one page.
        t_copy_page: SimDuration = SimDuration::from_nanos(300);
        /// Fault that allocates, zeroes and maps an anonymous page.
        t_minor_anon: SimDuration = SimDuration::from_nanos(500);
        /// Fault on a page that is in a cache already.
        t_minor_map: SimDuration = SimDuration::from_nanos(400);
        /// CPU part of a fault that reads anonymous memory from a device.
        t_major_cpu: SimDuration = SimDuration::from_nanos(2_000);
        /// Fault on a page of a mapped file that is in the page cache.
        t_minor_file: SimDuration = SimDuration::from_nanos(400);
        /// CPU part of a fault that reads a page of a mapped file from a device.
        t_major_file: SimDuration = SimDuration::from_nanos(2_000);
        /// Additional time of a fault on a page of a mapped file that left a shadow.
        t_refault_mapped: SimDuration = SimDuration::from_nanos(0);
        /// A read call finds a page in the page cache.
        t_read_cached: SimDuration = SimDuration::from_nanos(100);
        /// CPU part of bringing a missing page to the page cache for a read call.
        t_read_missing: SimDuration = SimDuration::from_nanos(2_000);
        /// Additional time of a read call for a page that left a shadow.
        t_refault_read: SimDuration = SimDuration::from_nanos(0);
        /// Isolate and check one folio in a list scan.
        t_scan: SimDuration = SimDuration::from_nanos(150);
        /// The same, for each mapping whose accessed bit is read.
        t_scan_mapping: SimDuration = SimDuration::from_nanos(100);
        /// Remove one mapping.
        t_unmap: SimDuration = SimDuration::from_nanos(200);
        /// Take a folio that is evicted out of its cache and free it.
        t_evict: SimDuration = SimDuration::from_nanos(0);
        /// TLB flush of one batch of a reclaimer.
        t_tlb_flush: SimDuration = SimDuration::from_nanos(2_000);
        /// Submit one swap write.
        t_swap_submit: SimDuration = SimDuration::from_nanos(1_000);
        /// Enter direct reclaim.
        t_direct_reclaim_entry: SimDuration = SimDuration::from_nanos(2_000);
        /// A pass of reclaim over a node besides its folios (`shrink_node`): it asks the shrinkers
        /// of slab.
        t_shrink_node: SimDuration = SimDuration::from_nanos(0);
        /// Free one page at unmap or exit.
        t_free_page: SimDuration = SimDuration::from_nanos(100);
        /// `MADV_FREE` of one resident page: clear what its PTE says of accesses.
        t_madv_free: SimDuration = SimDuration::from_nanos(100);
        /// Turn a folio of anonymous memory into lazily freed memory.
        t_make_lazyfree: SimDuration = SimDuration::from_nanos(0);
        /// Look at one page table in a walk of page tables.
        t_walk_pmd: SimDuration = SimDuration::from_nanos(50);
        /// Examine one present PTE in such a walk.
        t_walk_pte: SimDuration = SimDuration::from_nanos(5);
        /// Aging: an accessed PTE, whose folio is found and moved to a generation.
        t_walk_young: SimDuration = SimDuration::from_nanos(50);
        /// Aging: what a folio takes besides that leaves its generation, and is not only marked.
        t_promote: SimDuration = SimDuration::from_nanos(0);
        /// Look around a page that was found used by reclaim, besides its PTEs.
        t_look_around: SimDuration = SimDuration::from_nanos(0);
        /// Put a folio back to its generation that was isolated and stays.
        t_put_back: SimDuration = SimDuration::from_nanos(0);
        /// Move one folio between lists without asking its mappings.
        t_rotate: SimDuration = SimDuration::from_nanos(50);
        /// Move one page to another frame: unmap, copy, map, flush of TLBs.
        t_migrate: SimDuration = SimDuration::from_nanos(2_500);
        /// Compaction: look at one frame for a page to move.
        t_cmp_migrate_scan: SimDuration = SimDuration::from_nanos(10);
        /// Compaction: look at one frame for a place to move a page to.
        t_cmp_free_scan: SimDuration = SimDuration::from_nanos(10);
        /// Compaction: take one page off its list, or one free block out of the allocator.
        t_isolate: SimDuration = SimDuration::from_nanos(150);
        /// DAMON: make one page on an LRU list old.
        t_mkold: SimDuration = SimDuration::from_nanos(350);
        /// DAMON: ask one page on an LRU list whether it is young.
        t_young: SimDuration = SimDuration::from_nanos(350);
        /// DAMON: either of these for a page that is on no LRU list.
        t_unlisted: SimDuration = SimDuration::from_nanos(20);
        /// DAMON: merge, report, reset and split one region at the end of an aggregation.
        t_region: SimDuration = SimDuration::from_nanos(50);
        /// DAMON: pass over one frame that is on no LRU list in the walk of an action.
        t_frame_walk: SimDuration = SimDuration::from_nanos(15);
        /// A read or write call, per call.
        t_syscall: SimDuration = SimDuration::from_nanos(200);
    }
}

impl CostModel {
    /// The values of evidence/calibration.toml.
    pub const fn measured() -> Self {
        CostModel::of(NEWEST)
    }
    /// Names and values.
    pub fn fields(&self) -> Vec<(&'static str, SimDuration)> {
        let value = |row| SimDuration::from_nanos(self.number(row).unwrap_or_default());
        Self::ROWS.iter().map(|row| (row.name, value(row))).collect()
    }
}
