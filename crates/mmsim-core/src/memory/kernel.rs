//! Memory that the kernel holds for itself.

use super::hugetlb::HugePool;
use crate::base::id::Pfn;

/// Quantities that the kernel's own memory follows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct KernelNeeds {
    /// Nodes of radix trees.
    pub(super) nodes: u64,
    /// Bytes in zrams.
    pub(super) zram: u64,
    /// Pages of zswap's slab.
    pub(super) zswap: u64,
}

impl KernelMemory {
    /// Pages of slab.
    pub(crate) fn slab(&self) -> u64 {
        (self.slab_frames.len() + self.zswap_frames.len()) as u64
    }
}

/// Memory that the kernel holds for itself. Frames of each kind are as many as these numbers say.
#[derive(Default)]
pub struct KernelMemory {
    /// Frames that page tables take.
    pub nr_page_tables: u64,
    /// Frames that slab (shadow nodes) takes.
    pub slab_frames: Vec<Pfn>,
    /// Frames that slab of zswap takes: its entries, and what zsmalloc keeps of each.
    pub zswap_frames: Vec<Pfn>,
    /// Frames that zram's store takes.
    pub zram_frames: Vec<Pfn>,
    /// Frames that workloads hold on behalf of the kernel, and those of the huge pages.
    pub nr_other: u64,
    /// Huge pages of hugetlbfs.
    pub hugetlb: HugePool,
    /// Bytes that zram devices hold.
    pub zram_stored: u64,
    /// Those that it follows now.
    pub(super) settled: KernelNeeds,
    /// Nodes of shadows that the shrinker left for another time.
    pub(super) shadows_deferred: u64,
    /// Nodes of shadows that the shrinker dropped.
    pub(crate) shadow_drops: u64,
}
