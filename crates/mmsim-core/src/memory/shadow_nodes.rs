//! Nodes of radix trees that hold nothing but shadows: how many of them are kept.
//!
//! A shadow takes the place of the page in the tree of its file or of the swap cache. Where all
//! pages of a node of 64 entries have been evicted, shadows alone keep it in memory; nobody might
//! want them for ever, so the kernel keeps such nodes in a list, oldest first, and a shrinker
//! frees the oldest when there are more than the memory could ever use: shadows so old that their
//! refault distance would exceed the lists. With the node go its shadows: those pages come back as
//! if they had never been there.
//!
//! The policy says how many nodes are allowed, once per pass over the root group; what is freed of
//! the excess is the rule that all shrinkers follow. Swap map and files have a queue each, and a
//! clock in common.
//!
//! Sources: Linux 6.12 mm/workingset.c (`workingset_update_node`, `scan_shadow_nodes`,
//! `shadow_lru_isolate`) and mm/shrinker.c (`do_shrink_slab`).
//!
//! Not modelled: one list per NUMA node, by where a node's memory lies (here there is one for the
//! machine); the lists of other groups than the root, on which nodes of files are if such a group
//! reads (here these are not limited; those of the swap cache are never charged, so they
//! are the root's in Linux as well); the time that freeing takes.

use super::Memory;
use crate::base::id::PageIdx;
use crate::base::vmstat::VmEvent;
use crate::virt::pages::Entry;

/// Objects that a shrinker is asked to free at a time (`SHRINK_BATCH`).
const SHRINK_BATCH: u64 = 128;

/// How many objects a shrinker of objects that cost nothing to make anew (`seeks` of 0) frees of
/// `freeable` ones, and how many it leaves for the next time besides the `deferred` of the last:
/// half of them, in batches. Less than a batch waits, unless it is all. What waited counts
/// in full, or only as the `priority` has dropped.
fn shrink(freeable: u64, deferred: u64, priority: u8, by_priority: bool) -> (u64, u64) {
    let delta = freeable / 2;
    let waited = if by_priority { deferred >> priority } else { deferred };
    let mut total = (waited + delta).min(2 * freeable);
    let mut scanned = 0;
    while total > 0 && (total >= SHRINK_BATCH || total >= freeable) {
        let n = total.min(SHRINK_BATCH);
        total -= n;
        scanned += n;
    }
    let left = (deferred + delta).saturating_sub(scanned);
    (scanned, if by_priority { left.min(2 * freeable) } else { left })
}

impl Memory {
    /// Nodes that hold only shadows (`workingset_nodes`).
    pub fn workingset_nodes(&self) -> u64 {
        self.swap.as_ref().map_or(0, |s| s.shadow_nodes) + self.files.shadow_nodes
    }

    /// Those of them that the root group's list has.
    #[inline]
    pub fn shadow_nodes_listed(&self) -> u64 {
        let files = if self.memcgs.len() == 1 { self.files.shadow_nodes } else { 0 };
        self.swap.as_ref().map_or(0, |s| s.shadow_nodes) + files
    }

    /// The time by which nodes of shadows are in order: one for the swap cache and files.
    #[inline]
    pub(super) fn shadow_clock(&mut self) -> u64 {
        let clock = self.swap.as_mut().map_or(&mut self.files.clock, |s| &mut s.clock);
        *clock += 1;
        *clock
    }

    /// Frees nodes from the root group's list if it has more than `allowed`, as its shrinker does
    /// in one pass of reclaim at this priority.
    #[inline]
    pub fn limit_shadow_nodes(&mut self, allowed: u64, priority: u8) {
        let listed = self.shadow_nodes_listed();
        if listed > allowed {
            self.shrink_shadow_nodes(listed - allowed, priority);
        }
    }

    #[cold]
    #[inline(never)]
    fn shrink_shadow_nodes(&mut self, excess: u64, priority: u8) {
        let by_priority = self.rules.shrinker_by_priority;
        let (scanned, deferred) = shrink(excess, self.shadows_deferred, priority, by_priority);
        self.shadows_deferred = deferred;
        self.count(VmEvent::SlabsScanned, scanned);
        if scanned == 0 {
            return;
        }
        let files = self.memcgs.len() == 1;
        for _ in 0..scanned {
            let swap = self.swap.as_mut().and_then(|s| s.oldest_node());
            let file = if files { self.files.oldest_node() } else { None };
            match (swap, file) {
                (Some((_, n)), None) => self.drop_swap_node(n),
                (Some((s, n)), Some((f, _))) if s < f => self.drop_swap_node(n),
                (_, Some((_, n))) => self.drop_file_node(n),
                (None, None) => break,
            }
            self.count(VmEvent::WorkingsetNodereclaim, 1);
        }
    }

    fn drop_swap_node(&mut self, node: u32) {
        self.swap.as_mut().expect("it has the node").drop_node(node);
    }

    fn drop_file_node(&mut self, node: u32) {
        for page in (node << 6..(node + 1) << 6).map(PageIdx) {
            if let Entry::Shadow(cell) = self.pages.entry(page) {
                self.files.take_shadow(cell);
                self.pages.set_entry(page, Entry::None, 0);
            }
        }
        self.files.node_dropped(node);
    }

    /// Nodes against what they hold.
    pub(super) fn check_shadow_nodes(&self) {
        if let Some(swap) = &self.swap {
            swap.check_nodes();
        }
        self.files.check_nodes(|node| {
            let (mut pages, mut shadows) = (0, 0);
            for page in (node << 6..(node + 1) << 6).map(PageIdx) {
                match self.pages.entry(page) {
                    Entry::Shadow(_) => shadows += 1,
                    Entry::Frame(_) if self.is_file_page(page) => pages += 1,
                    _ => {}
                }
            }
            (pages, shadows)
        });
    }

    fn is_file_page(&self, page: PageIdx) -> bool {
        matches!(self.pages.group(page.group()).owner, crate::virt::pages::Owner::File(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Followed by hand through `do_shrink_slab` of 5.5 and 6.12.
    #[test]
    fn half_of_the_excess_goes_in_batches() {
        for by_priority in [false, true] {
            assert_eq!(shrink(1000, 0, 12, by_priority), (384, 116), "three batches of 500");
            assert_eq!(shrink(256, 0, 12, by_priority), (128, 0));
            assert_eq!(shrink(1, 0, 12, by_priority), (0, 0), "half of one is none");
            assert_eq!(shrink(100, 0, 12, by_priority), (0, 50), "less than a batch waits");
        }
        // 5.5: what waited is added, and then it is all.
        assert_eq!(shrink(40, 20, 12, false), (40, 0));
        assert_eq!(shrink(100, 90, 12, false), (128, 12), "a batch is not cut");
        assert_eq!(shrink(100, 500, 12, false), (128, 422), "at most twice of what there is");
        // 6.12: only as the priority has dropped, and no more than twice of it waits.
        assert_eq!(shrink(100, 50, 12, true), (0, 100));
        assert_eq!(shrink(100, 200, 12, true), (0, 200));
        assert_eq!(shrink(100, 200, 1, true), (128, 122));
    }
}
