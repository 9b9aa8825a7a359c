//! The cost model: how much simulated CPU time the steps of memory management take.
//! Values and their basis: evidence/calibration.toml. They decide simulated
//! time, latency and pressure; event counts depend on them only through the order in
//! which threads and kswapd come to act.

use crate::base::time::SimDuration;

macro_rules! costs {
    ($($(#[doc = $doc:literal])+ $field:ident = $nanos:literal,)*) => {
        /// Costs in simulated CPU time.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct CostModel { $($(#[doc = $doc])+ pub $field: SimDuration,)* }

        impl CostModel {
            /// The values of evidence/calibration.toml.
            pub const fn measured() -> Self {
                CostModel { $($field: SimDuration::from_nanos($nanos),)* }
            }
            /// Names of all costs, with a way to set each: for scenario files.
            pub fn field_mut(&mut self, name: &str) -> Option<&mut SimDuration> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
            /// Names and values.
            pub fn fields(&self) -> Vec<(&'static str, SimDuration)> {
                vec![$((stringify!($field), self.$field),)*]
            }
            /// Names, and what each is the cost of.
            pub const MEANINGS: &[(&str, &str)] =
                &[$((stringify!($field), concat!($($doc),+).trim_ascii()),)*];
        }
    };
}

costs! {
    /// Touch of a present page, cold cache line.
    t_hit = 100,
    /// Copy of one page.
    t_copy_page = 300,
    /// Fault that allocates, zeroes and maps an anonymous page.
    t_minor_anon = 500,
    /// Fault on a page that is in a cache already.
    t_minor_map = 400,
    /// CPU part of a fault that reads anonymous memory from a device.
    t_major_cpu = 2_000,
    /// Fault on a page of a mapped file that is in the page cache.
    t_minor_file = 400,
    /// CPU part of a fault that reads a page of a mapped file from a device.
    t_major_file = 2_000,
    /// Additional time of a fault on a page of a mapped file that left a shadow.
    t_refault_mapped = 0,
    /// A read call finds a page in the page cache.
    t_read_cached = 100,
    /// CPU part of bringing a missing page to the page cache for a read call.
    t_read_missing = 2_000,
    /// Additional time of a read call for a page that left a shadow.
    t_refault_read = 0,
    /// Isolate and check one folio in a list scan.
    t_scan = 150,
    /// The same, for each mapping whose accessed bit is read.
    t_scan_mapping = 100,
    /// Remove one mapping.
    t_unmap = 200,
    /// Take a folio that is evicted out of its cache and free it.
    t_evict = 0,
    /// TLB flush of one batch of a reclaimer.
    t_tlb_flush = 2_000,
    /// Submit one swap write.
    t_swap_submit = 1_000,
    /// Enter direct reclaim.
    t_direct_reclaim_entry = 2_000,
    /// A pass of reclaim over a node besides its folios (`shrink_node`): it asks the shrinkers of slab.
    t_shrink_node = 0,
    /// Free one page at unmap or exit.
    t_free_page = 100,
    /// `MADV_FREE` of one resident page: clear what its PTE says of accesses.
    t_madv_free = 100,
    /// Turn a folio of anonymous memory into lazily freed memory.
    t_make_lazyfree = 0,
    /// Look at one page table in a walk of page tables.
    t_walk_pmd = 50,
    /// Examine one present PTE in such a walk.
    t_walk_pte = 5,
    /// Aging: an accessed PTE, whose folio is found and moved to a generation.
    t_walk_young = 50,
    /// Move one folio between lists without asking its mappings.
    t_rotate = 50,
    /// Move one page to another frame: unmap, copy, map, flush of TLBs.
    t_migrate = 2_500,
    /// Compaction: look at one frame for a page to move.
    t_cmp_migrate_scan = 10,
    /// Compaction: look at one frame for a place to move a page to.
    t_cmp_free_scan = 10,
    /// Compaction: take one page off its list, or one free block out of the allocator.
    t_isolate = 150,
    /// DAMON: make one page on an LRU list old.
    t_mkold = 350,
    /// DAMON: ask one page on an LRU list whether it is young.
    t_young = 350,
    /// DAMON: either of these for a page that is on no LRU list.
    t_unlisted = 20,
    /// DAMON: merge, report, reset and split one region at the end of an aggregation.
    t_region = 50,
    /// DAMON: pass over one frame that is on no LRU list in the walk of an action.
    t_frame_walk = 15,
    /// A read or write call, per call.
    t_syscall = 200,
}
