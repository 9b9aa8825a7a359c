//! Trouble of allocations: blocks that could not be allocated, and stalls in direct reclaim.
//!
//! A [follower](super::follow) of a run gets each where a counter of it goes up, with the state
//! that is known at that place and at no later one.

use super::Memory;
use crate::base::compact_result::NoBlock;
use crate::base::id::{AsId, GROUP_PAGES, MemcgId};
use crate::base::time::SimDuration;

/// Trouble of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trouble {
    /// A block of more than one page could not be allocated: `sim_highalloc_fail`.
    Allocation(NoBlock),
    /// Direct compaction ran, and the request found no block behind it: `compact_fail`.
    Compaction(NoBlock),
    /// Direct reclaim: `allocstall_*`.
    Stall(Background, Holder),
}

/// State of kswapd while a thread has to reclaim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Background {
    /// It cannot help: single pages are free above the min watermark, and a block is wanted.
    NoBlock,
    /// It has given up, after 16 runs in a row that freed nothing.
    GivenUp,
    /// It sleeps: it was not woken for this, or its zones are in balance.
    Asleep,
    /// It was woken, and has not had a CPU yet.
    NotStarted,
    /// It waits for writes.
    Writes,
    /// It runs, and frees less than is allocated.
    Behind,
}

impl Background {
    /// All of them, in the order in which they are checked.
    pub const ALL: [Background; 6] = [
        Background::NoBlock,
        Background::GivenUp,
        Background::Asleep,
        Background::NotStarted,
        Background::Writes,
        Background::Behind,
    ];
}

/// Who holds the most pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    /// Anonymous pages of a process.
    Process(AsId),
    /// The page cache.
    Cache,
    /// The kernel: page tables, slab, zram's store, blocks of workloads, the pool of huge pages.
    Kernel,
}

/// Something an allocation met, and whose it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Troubled {
    /// Kind of trouble.
    pub what: Trouble,
    /// The process that asked.
    pub space: AsId,
    /// Its group.
    pub memcg: MemcgId,
    /// For a stall: time since kswapd woke up, in the run under way.
    pub late: SimDuration,
}

impl Memory {
    /// Who holds the most pages now.
    pub(crate) fn largest_holder(&self) -> Holder {
        let spaces = self.virt.spaces.ids().filter(|&a| !self.virt.spaces[a].dead);
        let most = spaces.map(|a| (self.virt.spaces[a].rss_anon, a));
        let most = most.max_by_key(|&(pages, a)| (pages, std::cmp::Reverse(a)));
        let kernel = self.kernel.nr_page_tables
            + self.kernel.slab()
            + self.nr_zspages()
            + self.kernel.nr_other
            + u64::from(self.kernel.hugetlb.total()) * u64::from(GROUP_PAGES);
        let cache = self.cache.files.nr_cached;
        match most {
            Some((pages, a)) if pages >= cache.max(kernel) => Holder::Process(a),
            _ if cache >= kernel => Holder::Cache,
            _ => Holder::Kernel,
        }
    }

    /// Tells who follows of something that an allocation met.
    pub(crate) fn tell_of_trouble(&mut self, t: &Troubled) {
        if let Some(f) = &mut self.telling.follower {
            f.troubled(t);
        }
    }
}
