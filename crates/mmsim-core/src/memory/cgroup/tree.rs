//! The tree of memory cgroups: who stands below whom, and the order of a walk.
//!
//! Children stand in the order of their creation, those that are created later behind the others. A walk of a subtree is pre-order: the group, then
//! each child with its subtree. A position in that order is a number, and a subtree is a range of
//! positions. So a question about a subtree takes two comparisons, whatever its depth.
//!
//! Groups have numbers in the order of the configuration, where a parent stands before its children.
//! The root has number 0 and position 0.
//!
//! Source: Linux 6.12 kernel/cgroup/cgroup.c (`css_next_descendant_pre`).

use crate::base::id::{Idx as _, IndexVec, MemcgId};
use crate::base::time::SimDuration;
use crate::config::MachineConfig;
use std::collections::BTreeMap;
use std::ops::Range;

/// The root.
pub const ROOT: MemcgId = MemcgId(0);

/// The tree of a machine's groups.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root is its own.
    parent: IndexVec<MemcgId, MemcgId>,
    /// Position of each group in pre-order.
    place: IndexVec<MemcgId, u32>,
    /// Position behind the last group of its subtree.
    end: IndexVec<MemcgId, u32>,
    /// Group at each position.
    order: Vec<MemcgId>,
}

impl Tree {
    /// The tree of groups with these paths, in their order of creation, below the root.
    ///
    /// # Panics
    ///
    /// The parent of a group does not stand before it.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Tree {
        Tree::of_parents(parents(paths), |_| SimDuration::ZERO)
    }

    /// The tree of a machine's groups.
    ///
    /// # Panics
    ///
    /// The parent of a group does not stand before it.
    pub fn of(config: &MachineConfig) -> Tree {
        let paths = config.memcgs.iter().map(|m| m.name.as_str());
        Tree::of_parents(parents(paths), |m| config.memcgs[m.index() - 1].from)
    }

    /// `from`: when each group but the root is created.
    fn of_parents(
        parent: IndexVec<MemcgId, MemcgId>,
        from: impl Fn(MemcgId) -> SimDuration,
    ) -> Tree {
        let mut size = IndexVec::filled(parent.len(), 1_u32);
        for m in parent.ids().rev().filter(|&m| m != ROOT) {
            size[parent[m]] += size[m];
        }
        // Where the next child of each group goes.
        let mut next = IndexVec::filled(parent.len(), 1_u32);
        let mut place = IndexVec::filled(parent.len(), 0_u32);
        let mut created: Vec<MemcgId> = parent.ids().skip(1).collect();
        created.sort_by_key(|&m| from(m));
        for m in created {
            place[m] = next[parent[m]];
            next[parent[m]] += size[m];
            next[m] = place[m] + 1;
        }
        let mut order = vec![ROOT; parent.len()];
        for (m, &p) in place.pairs() {
            order[p as usize] = m;
        }
        let end = IndexVec::from_fn(parent.len(), |m| place[m] + size[m]);
        Tree { parent, place, end, order }
    }

    /// The group above; `None` of the root.
    #[inline]
    pub fn parent(&self, m: MemcgId) -> Option<MemcgId> {
        (m != ROOT).then(|| self.parent[m])
    }

    /// The group and those above it, the lowest first. The root is left out, unless `m` is the root.
    #[inline]
    pub fn levels(&self, m: MemcgId) -> impl Iterator<Item = MemcgId> + '_ {
        std::iter::successors(Some(m), |&m| Some(self.parent[m]).filter(|&p| p != ROOT))
    }

    /// Position of a group in pre-order.
    #[inline]
    pub fn place(&self, m: MemcgId) -> u32 {
        self.place[m]
    }

    /// Positions of a group and of all groups below it.
    #[inline]
    pub fn subtree(&self, m: MemcgId) -> Range<u32> {
        self.place[m]..self.end[m]
    }

    /// The group at a position.
    #[inline]
    pub fn at(&self, place: u32) -> MemcgId {
        self.order[place as usize]
    }

    /// The group and all below it, in pre-order.
    pub fn walk(&self, m: MemcgId) -> impl DoubleEndedIterator<Item = MemcgId> + Clone + '_ {
        let Range { start, end } = self.subtree(m);
        self.order[start as usize..end as usize].iter().copied()
    }

    /// True if `m` is `top` or stands below it.
    #[inline]
    pub fn holds(&self, top: MemcgId, m: MemcgId) -> bool {
        self.subtree(top).contains(&self.place[m])
    }

    /// True if groups stand below it.
    #[inline]
    pub fn is_inner(&self, m: MemcgId) -> bool {
        self.end[m] - self.place[m] > 1
    }
}

/// The group above each group, the root first.
fn parents<'a>(paths: impl IntoIterator<Item = &'a str>) -> IndexVec<MemcgId, MemcgId> {
    let mut known = BTreeMap::new();
    let mut parent = IndexVec::filled(1, ROOT);
    for path in paths {
        let above = parent_path(path).map_or(ROOT, |above| known[above]);
        known.insert(path, parent.push(above));
    }
    parent
}

/// The path of the group above; `None`: that is the root.
pub fn parent_path(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A (A1, A2) and B, with A2 created after B: order of creation counts among siblings alone.
    #[test]
    fn walks_are_pre_order() {
        let tree = Tree::new(["A", "A/1", "B", "A/2", "A/1/x"]);
        let walk = |m| tree.walk(MemcgId(m)).map(|m| m.0).collect::<Vec<_>>();
        assert_eq!(walk(0), [0, 1, 2, 5, 4, 3]);
        assert_eq!((walk(1), walk(2), walk(3)), (vec![1, 2, 5, 4], vec![2, 5], vec![3]));
        let up = |m| tree.levels(MemcgId(m)).map(|m| m.0).collect::<Vec<_>>();
        assert_eq!((up(5), up(3), up(0)), (vec![5, 2, 1], vec![3], vec![0]));
        assert!(tree.holds(MemcgId(1), MemcgId(5)) && !tree.holds(MemcgId(1), MemcgId(3)));
        assert!(tree.holds(ROOT, MemcgId(3)) && !tree.is_inner(MemcgId(3)));
        for m in tree.walk(ROOT) {
            assert_eq!(tree.at(tree.place(m)), m);
        }
    }
}
