//! Protection of groups: what `memory.min` and `memory.low` keep reclaim away from.
//!
//! A pass leaves those groups alone that use no more than their `memory.min`, and at first also
//! those within their `memory.low`. Of larger ones it scans less, in proportion to the part that is
//! protected.
//!
//! A group has no more protection than the groups above it. So a pass goes by *effective* values
//! (`emin`, `elow`), which it reckons from the top down when it reaches a group. A child of the
//! group that the pass is about has what it declares. Further down, children share what their
//! parent has in proportion to the part of their usage that they declare, if they declare more.
//! With the mount option `memory_recursiveprot` what is left over protects the children too, in
//! proportion to their usage beyond what they declare.
//!
//! Protection is against others, so reclaim for a group's own limit is to pay no heed to it. From
//! 5.4 to 6.1 it did, whenever a pass over all groups had left a note before: it scanned less, or
//! passed the group over as if it were another one. A group whose `memory.min` reaches its
//! `memory.max` then finds nothing to reclaim, and its OOM killer ends it beside clean page cache.
//!
//! Sources: Linux 6.12 mm/page_counter.c (`effective_protection`,
//! `page_counter_calculate_protection`), mm/vmscan.c (`shrink_node_memcgs`, `get_scan_count`),
//! include/linux/memcontrol.h (`mem_cgroup_below_min`, `mem_cgroup_protection`); 6.1 likewise.

use super::Memory;
use super::cgroup::Memcgs;
use super::cgroup::tree::ROOT;
use crate::base::id::MemcgId;
use crate::base::rules::StaleProtection;
use crate::policy::request::ReclaimRequest;

/// The protection that all of a group is within.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// It uses no more than its `memory.min`.
    Min,
    /// It uses no more than its `memory.low`.
    Low,
}

/// The part of a group's pages that protection spares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spared {
    /// Pages that count as protected.
    pub pages: u64,
    /// A later pass that ignores `memory.low` would find more.
    pub by_low: bool,
}

/// One kind of protection, `memory.min` or `memory.low`, of a group and its parent. In pages.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    usage: u64,
    /// Pages that the group declares.
    declared: u64,
    parent_usage: u64,
    /// Effective protection of the parent.
    parent_effective: u64,
    /// Sum over the parent's children of what they declare and use.
    siblings: u64,
}

impl Sharing {
    /// The effective protection of a group two or more levels below the pass's target.
    fn effective(self, recursive: bool) -> u64 {
        let own = self.usage.min(self.declared);
        let (parent, siblings) = (self.parent_effective, self.siblings);
        // Products of `max` need more than 64 bits. Linux lets them wrap.
        let part = |whole: u64, of: u64, all: u64| {
            (u128::from(whole) * u128::from(of) / u128::from(all)) as u64
        };
        if siblings > parent {
            return part(own, parent, siblings);
        }
        if !recursive || parent <= siblings || self.parent_usage <= siblings || self.usage <= own {
            return own;
        }
        let (left, unclaimed) = (parent - siblings, self.parent_usage - siblings);
        own.saturating_add(part(left, self.usage - own, unclaimed))
    }
}

impl Memcgs {
    /// Notes the effective protection of a group when a pass about `target` reaches it. That of an
    /// empty one, and of the target itself, stays as it is.
    #[inline]
    pub(super) fn note_protection(&mut self, target: MemcgId, m: MemcgId) {
        if m == target || self[m].usage == 0 {
            return;
        }
        let parent = self.tree.parent(m).unwrap_or(ROOT);
        self[m].noted = if parent == target {
            [self[m].config.min, self[m].config.low]
        } else {
            self.shared(m, parent)
        };
    }

    fn shared(&self, m: MemcgId, parent: MemcgId) -> [u64; 2] {
        let (group, above) = (&self[m], &self[parent]);
        let declared = [group.config.min, group.config.low];
        [0, 1].map(|i| {
            let of = Sharing {
                usage: group.usage,
                declared: declared[i],
                parent_usage: above.usage,
                parent_effective: above.noted[i],
                siblings: above.protected_below[i],
            };
            of.effective(self.recursive_protection)
        })
    }
}

impl Memory {
    /// The protection that keeps a pass from a group when it reaches the group. The pass reached
    /// those above it before.
    #[inline]
    pub fn protection_from(&mut self, req: &ReclaimRequest, memcg: MemcgId) -> Option<Within> {
        if memcg == ROOT {
            return None;
        }
        let target = req.by.memcg().unwrap_or(ROOT);
        if memcg != target {
            self.memcgs.note_protection(target, memcg);
        } else if self.given.rules.stale_protection != StaleProtection::Skips {
            return None;
        }
        self.within(memcg)
    }

    /// Reckons the protection of all groups that hold pages.
    pub fn reckon_protection(&mut self) {
        let mut walk = self.memcgs.walk_all(ROOT);
        while let Some(m) = self.memcgs.next_group(&mut walk) {
            self.memcgs.note_protection(ROOT, m);
        }
    }

    /// Reckons the protection of a group and of those above it.
    pub fn reckon_protection_of(&mut self, memcg: MemcgId) {
        let levels: Vec<_> = self.memcgs.tree.levels(memcg).filter(|&m| m != ROOT).collect();
        for m in levels.into_iter().rev() {
            self.memcgs.note_protection(ROOT, m);
        }
    }

    /// The protection that keeps reclaim of a node from a group, as it was reckoned last.
    #[inline]
    pub fn reckoned_protection(&self, memcg: MemcgId) -> Option<Within> {
        if memcg == ROOT { None } else { self.within(memcg) }
    }

    /// True if a group is within its `memory.min`, for kswapd before it ages the group.
    pub fn is_within_min(&mut self, memcg: MemcgId) -> bool {
        if memcg == ROOT {
            return false;
        }
        self.memcgs.note_protection(ROOT, memcg);
        self.within(memcg) == Some(Within::Min)
    }

    fn within(&self, memcg: MemcgId) -> Option<Within> {
        let (usage, [min, low]) = (self.memcgs[memcg].usage, self.memcgs[memcg].noted);
        match usage {
            _ if usage <= min => Some(Within::Min),
            _ if usage <= low => Some(Within::Low),
            _ => None,
        }
    }

    /// The part of a group that a pass spares when it shares out its scans. `None`: it has no
    /// protection.
    #[inline]
    pub fn protected_pages(&self, req: &ReclaimRequest, memcg: MemcgId) -> Option<Spared> {
        let own = req.by.memcg() == Some(memcg);
        if memcg == ROOT || own && self.given.rules.stale_protection != StaleProtection::ScansLess {
            return None;
        }
        match self.memcgs[memcg].noted {
            [0, 0] => None,
            [min, low] if low > min && !req.low_reclaim => {
                Some(Spared { pages: low, by_low: !own })
            }
            [min, _] => Some(Spared { pages: min, by_low: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group A of 10,000 pages with the protection `of_parent`, and its children: 4000 pages of
    /// which 3000 are declared, 5000 of which none are, and 1000 that declare 2000.
    fn children(of_parent: u64, recursive: bool) -> [u64; 3] {
        [(4000, 3000), (5000, 0), (1000, 2000)].map(|(usage, declared)| {
            let of = Sharing {
                usage,
                declared,
                parent_usage: 10_000,
                parent_effective: of_parent,
                siblings: 3000 + 1000,
            };
            of.effective(recursive)
        })
    }

    /// Worked by hand: 2000 pages are left over for the 1000 and 5000 pages that no child declares,
    /// of 6000. With less than the 4000 that children declare, each has three quarters.
    #[test]
    fn children_share_what_their_parent_has() {
        assert_eq!(children(6000, false), [3000, 0, 1000]);
        assert_eq!(children(6000, true), [3333, 1666, 1000]);
        assert_eq!(children(3000, false), [2250, 0, 750]);
        assert_eq!(children(3000, true), [2250, 0, 750]);
        assert_eq!(children(0, true), [0, 0, 0]);
    }

    const A: MemcgId = MemcgId(1);

    /// The same tree on a machine, with 8000 pages of a group B: the effective `memory.low` of A,
    /// of its children and of B, as a pass about `target` finds them.
    fn reckoned(low: u64, recursive: bool, target: MemcgId) -> [u64; 5] {
        let mut config = crate::memory::cgroup::tests::machine(&["A", "A/1", "A/2", "A/3", "B"]);
        config.memcg_mount.recursive_protection = recursive;
        config.memcgs[0].low = low;
        (config.memcgs[1].low, config.memcgs[3].low) = (3000, 2000);
        let mut memcgs = Memcgs::new(&config);
        for (m, pages) in [(2, 4000), (3, 5000), (4, 1000), (5, 8000)] {
            memcgs.charge(MemcgId(m), pages);
        }
        let walk: Vec<_> = memcgs.tree.walk(target).collect();
        for m in walk {
            memcgs.note_protection(target, m);
        }
        [1, 2, 3, 4, 5].map(|m| memcgs[MemcgId(m)].noted[1])
    }

    /// Children of the group that is reclaimed from have what they declare, and a group's own value
    /// is not looked at then.
    #[test]
    fn protection_is_reckoned_from_the_top() {
        assert_eq!(reckoned(6000, false, ROOT), [6000, 3000, 0, 1000, 0]);
        assert_eq!(reckoned(6000, true, ROOT), [6000, 3333, 1666, 1000, 0]);
        assert_eq!(reckoned(3000, true, ROOT), [3000, 2250, 0, 750, 0]);
        assert_eq!(reckoned(3000, true, A), [0, 3000, 0, 2000, 0]);
    }
}
