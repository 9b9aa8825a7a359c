//! Nodes of radix trees that hold nothing but shadows: how many of them are kept.
//!
//! A shadow takes the place of the page in the tree of its file or of the swap cache. Where all
//! pages of a node of 64 entries have been evicted, shadows alone keep it in memory, perhaps for
//! ever. The kernel therefore keeps such nodes in a list, oldest first, and a shrinker frees the
//! oldest when there are more than the memory could ever use: shadows so old that their refault
//! distance would exceed the lists. With the node go its shadows: those pages come back as if they
//! had never been there.
//!
//! The policy says how many nodes are allowed, once per pass over the root group; what is freed of
//! the excess is the rule that all shrinkers follow (`shrinker`). Swap map and files have a queue each, and a
//! clock in common.
//!
//! Sources: Linux 6.12 mm/workingset.c (`workingset_update_node`, `scan_shadow_nodes`,
//! `shadow_lru_isolate`).
//!
//! Not modelled: one list per NUMA node, by where a node's memory lies (here there is one for the
//! machine); the lists of other groups than the root, on which nodes of files are if such a group
//! reads (here these are not limited; those of the swap cache are never charged, so they
//! are the root's in Linux as well); the time that freeing takes.

use super::Memory;
use super::shrinker::Shrinking;
use crate::base::id::PageIdx;
use crate::base::vmstat::VmEvent;
use crate::virt::pages::Entry;

impl Memory {
    /// Nodes that hold only shadows (`workingset_nodes`).
    pub fn workingset_nodes(&self) -> u64 {
        self.swap.as_ref().map_or(0, |s| s.shadow_nodes) + self.cache.files.shadow_nodes
    }

    /// Those of them that the root group's list has.
    #[inline]
    pub fn shadow_nodes_listed(&self) -> u64 {
        let files = if self.memcgs.len() == 1 { self.cache.files.shadow_nodes } else { 0 };
        self.swap.as_ref().map_or(0, |s| s.shadow_nodes) + files
    }

    /// The time by which nodes of shadows are in order: one for the swap cache and files.
    #[inline]
    pub(super) fn shadow_clock(&mut self) -> u64 {
        let clock = self.swap.as_mut().map_or(&mut self.cache.files.clock, |s| &mut s.clock);
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
        let by_priority = self.given.rules.shrinker_by_priority;
        let asked =
            Shrinking { freeable: excess, deferred: self.kernel.shadows_deferred, seeks: 0 };
        let (scanned, deferred) = asked.at(priority, by_priority);
        self.kernel.shadows_deferred = deferred;
        self.count(VmEvent::SlabsScanned, scanned);
        if scanned == 0 {
            return;
        }
        let files = self.memcgs.len() == 1;
        for _ in 0..scanned {
            let swap = self.swap.as_mut().and_then(|s| s.oldest_node());
            let file = if files { self.cache.files.oldest_node() } else { None };
            match (swap, file) {
                (Some((_, n)), None) => self.drop_swap_node(n),
                (Some((s, n)), Some((f, _))) if s < f => self.drop_swap_node(n),
                (_, Some((_, n))) => self.drop_file_node(n),
                (None, None) => break,
            }
            self.kernel.shadow_drops += 1;
            self.count(VmEvent::WorkingsetNodereclaim, 1);
        }
    }

    /// Drops all shadows: they will not be read any more.
    pub(crate) fn forget_shadows(&mut self) {
        for f in self.cache.files.ids() {
            let (base, pages) = (self.cache.files[f].base.0, self.cache.files[f].pages);
            for page in (base..base + pages).map(PageIdx) {
                if let Entry::Shadow(cell) = self.virt.pages.entry(page) {
                    self.drop_file_shadow(page, cell);
                }
            }
        }
        if let Some(swap) = &mut self.swap {
            swap.forget_shadows();
        }
    }

    /// Drops the shadow of a file page.
    pub(crate) fn drop_file_shadow(&mut self, page: PageIdx, cell: u32) {
        self.cache.files.take_shadow(cell);
        self.virt.pages.set_entry(page, Entry::None, 0);
        self.cache.files.node_shadow_dropped(page);
    }

    fn drop_swap_node(&mut self, node: u32) {
        self.swap.as_mut().expect("it has the node").drop_node(node);
    }

    fn drop_file_node(&mut self, node: u32) {
        for page in (node << 6..(node + 1) << 6).map(PageIdx) {
            if let Entry::Shadow(cell) = self.virt.pages.entry(page) {
                self.cache.files.take_shadow(cell);
                self.virt.pages.set_entry(page, Entry::None, 0);
            }
        }
        self.cache.files.node_dropped(node);
    }

    /// Nodes against what they hold.
    pub(super) fn check_shadow_nodes(&self) {
        if let Some(swap) = &self.swap {
            swap.check_nodes();
        }
        self.cache.files.check_nodes(|node| {
            let (mut pages, mut shadows) = (0, 0);
            for page in (node << 6..(node + 1) << 6).map(PageIdx) {
                match self.virt.pages.entry(page) {
                    Entry::Shadow(_) => shadows += 1,
                    Entry::Frame(_) | Entry::Swap(_) if self.is_file_page(page) => pages += 1,
                    _ => {}
                }
            }
            (pages, shadows)
        });
    }

    fn is_file_page(&self, page: PageIdx) -> bool {
        matches!(
            self.virt.pages.group(page.group()).owner,
            crate::virt::pages::Owner::File(_) | crate::virt::pages::Owner::Shmem(_)
        )
    }
}
