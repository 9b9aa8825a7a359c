//! Walks of reclaim over the groups of a subtree, and the position that reclaimers share.
//!
//! A *full* walk visits all groups of the subtree, in pre-order. kswapd always does.
//!
//! Reclaimers of a *shared* walk take turns: one goes on behind the group where the last one
//! stopped. The position belongs to the group whose subtree is walked, and to a node. A walk that
//! reaches the end of the subtree ends, and so do all others that began before, since each group had
//! its turn: a generation goes up there, which they compare with that of their beginning. A walk that
//! has seen no group at the end begins again at the top.
//!
//! Groups without a page are passed over: Linux visits them and leaves them at once.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`mem_cgroup_iter`), mm/vmscan.c (`shrink_node_memcgs`).

use super::Memcgs;
use crate::base::id::MemcgId;
use crate::base::vmstat::VmEvent;
use crate::memory::Memory;

/// Position of the walks that share it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Position in pre-order of the group to visit next.
    next: u32,
    generation: u64,
}

/// A walk under way.
#[derive(Clone, Debug)]
pub struct GroupWalk {
    /// The group whose subtree is walked.
    target: MemcgId,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// All groups; the position of the next one.
    Full { next: u32 },
    /// From the shared position of a node (or zone) on.
    Shared { node: u8, generation: Option<u64> },
}

impl GroupWalk {
    /// True if it shares its position: such a walk stops when enough was freed.
    #[inline]
    pub fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::Shared { .. })
    }
}

impl Memcgs {
    /// A walk over all groups of a subtree.
    #[inline]
    pub fn walk_all(&self, target: MemcgId) -> GroupWalk {
        GroupWalk { target, kind: Kind::Full { next: self.tree.place(target) } }
    }

    /// A walk over a subtree from the position on that reclaimers of a node share. Zones with
    /// lists of their own are nodes of their own here.
    #[inline]
    pub fn walk_shared(&self, target: MemcgId, node: u8) -> GroupWalk {
        GroupWalk { target, kind: Kind::Shared { node, generation: None } }
    }

    fn cursor(&self, target: MemcgId, node: u8) -> Cursor {
        let first = Cursor { next: self.tree.place(target), generation: 0 };
        self.cursors.get(&(target, node)).copied().unwrap_or(first)
    }

    /// The target is visited whether it holds pages or not.
    #[inline(always)]
    fn populated_within(&self, target: MemcgId, from: u32) -> Option<u32> {
        if from == self.tree.place(target) {
            return Some(from);
        }
        if !self.tree.is_inner(target) {
            return None;
        }
        self.populated.next(from).filter(|&p| p < self.tree.subtree(target).end)
    }

    /// True if the walk has a group left to visit.
    pub fn goes_on(&self, walk: &GroupWalk) -> bool {
        let next = match walk.kind {
            Kind::Full { next } => next,
            Kind::Shared { node, generation } => {
                let cursor = self.cursor(walk.target, node);
                if generation.is_some_and(|g| g != cursor.generation) {
                    return false;
                }
                cursor.next
            }
        };
        self.populated_within(walk.target, next).is_some()
    }

    /// The next group of a walk that was charged a page, or whose subtree was.
    #[inline]
    pub fn next_group(&mut self, walk: &mut GroupWalk) -> Option<MemcgId> {
        self.advance(walk).0
    }

    /// Goes on to the next group. Returns it, and by how many groups the position moved.
    #[inline]
    fn advance(&mut self, walk: &mut GroupWalk) -> (Option<MemcgId>, u32) {
        let target = walk.target;
        let end = self.tree.subtree(target).end;
        match &mut walk.kind {
            Kind::Full { next } => {
                let found = self.populated_within(target, *next);
                let now = found.map_or(end, |p| p + 1);
                let passed = self.existing_in(std::mem::replace(next, now), now);
                (found.map(|p| self.tree.at(p)), passed)
            }
            Kind::Shared { node, generation } => {
                let mut cursor = self.cursor(target, *node);
                if generation.is_some_and(|g| g != cursor.generation) {
                    return (None, 0);
                }
                let mut passed = 0;
                let mut found = self.populated_within(target, cursor.next);
                if found.is_none() {
                    passed = self.existing_in(cursor.next, end);
                    cursor =
                        Cursor { next: self.tree.place(target), generation: cursor.generation + 1 };
                    if generation.is_none() {
                        found = self.populated_within(target, cursor.next);
                    }
                }
                *generation = Some(cursor.generation);
                if let Some(p) = found {
                    passed += self.existing_in(cursor.next, p + 1);
                    cursor.next = p + 1;
                }
                self.cursors.insert((target, *node), cursor);
                (found.map(|p| self.tree.at(p)), passed)
            }
        }
    }
}

impl Memory {
    /// [`Memcgs::next_group`] of a pass of reclaim, which counts the groups that it comes by.
    #[inline]
    pub fn next_group(&mut self, walk: &mut GroupWalk) -> Option<MemcgId> {
        let (found, passed) = self.memcgs.advance(walk);
        if self.memcgs.len() > 1 {
            self.count(VmEvent::SimMemcgWalkGroups, passed.into());
            let short = found.is_none() && walk.is_shared();
            self.count(VmEvent::SimMemcgWalkShort, short.into());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;

    /// A (A/1, A/2) and B below the root, all with pages.
    fn memcgs() -> Memcgs {
        let mut memcgs = groups(&["A", "A/1", "A/2", "B"]);
        for m in memcgs.ids() {
            memcgs.charge(m, 100);
        }
        memcgs
    }

    /// A reclaim of 32 pages. Each group yields 20 at a visit. A priority is one walk.
    fn reclaim(memcgs: &mut Memcgs, shares: bool) -> Vec<u16> {
        let (mut freed, mut met) = (0, Vec::new());
        while freed < 32 {
            let root = MemcgId(0);
            let mut walk = if shares { memcgs.walk_shared(root, 0) } else { memcgs.walk_all(root) };
            while let Some(m) = memcgs.next_group(&mut walk) {
                met.push(m.0);
                freed += 20;
                if walk.is_shared() && freed >= 32 {
                    break;
                }
            }
        }
        met
    }

    /// Worked by hand: the third call meets the end of the cycle after B, and begins a new one at
    /// its next priority.
    #[test]
    fn reclaimers_share_out_a_cycle() {
        let mut memcgs = memcgs();
        let met: Vec<_> = (0..4).map(|_| reclaim(&mut memcgs, true)).collect();
        assert_eq!(met, [[0, 1], [2, 3], [4, 0], [1, 2]]);
        assert_eq!(reclaim(&mut memcgs, false), [0, 1, 2, 3, 4]);
    }

    /// A walk ends when another reaches the end of the subtree.
    #[test]
    fn the_end_of_a_cycle_is_the_end_for_all() {
        let mut memcgs = memcgs();
        let mut one = memcgs.walk_shared(MemcgId(1), 0);
        assert_eq!(memcgs.next_group(&mut one), Some(MemcgId(1)));
        let mut other = memcgs.walk_shared(MemcgId(1), 0);
        let rest: Vec<_> = std::iter::from_fn(|| memcgs.next_group(&mut other)).collect();
        assert_eq!(rest, [MemcgId(2), MemcgId(3)]);
        assert!(!memcgs.goes_on(&one));
        assert_eq!(memcgs.next_group(&mut one), None);
        // Another node has its own position.
        let mut there = memcgs.walk_shared(MemcgId(1), 1);
        assert_eq!(memcgs.next_group(&mut there), Some(MemcgId(1)));
    }

    /// Groups without pages are passed over, and count as passed.
    #[test]
    fn empty_groups_are_passed_over() {
        let mut memcgs = memcgs();
        memcgs.uncharge(MemcgId(2), 100);
        let mut walk = memcgs.walk_all(MemcgId(0));
        let met: Vec<_> = std::iter::from_fn(|| match memcgs.advance(&mut walk) {
            (Some(m), passed) => Some((m.0, passed)),
            (None, _) => None,
        })
        .collect();
        assert_eq!(met, [(0, 1), (1, 1), (3, 2), (4, 1)]);
    }
}
