//! Protection of groups: what `memory.min` and `memory.low` keep reclaim away from.
//!
//! A pass over all groups leaves those alone that use no more than their `memory.min`, and at first
//! also those within their `memory.low`. Of larger ones it scans less, in proportion to the part that
//! is protected. Each such pass notes a group's protection as it stands (`emin`, `elow`), because
//! deeper trees of groups share out what their parents have.
//!
//! Protection is against others, so reclaim for a group's own limit is to pay no heed to it. From
//! 5.4 to 6.1 it did, whenever a pass over all groups had left a note before: it scanned less, or
//! passed the group over as if it were another one. A group whose `memory.min` reaches its
//! `memory.max` then finds nothing to reclaim, and its OOM killer ends it beside clean page cache.
//!
//! Sources: Linux 6.1 mm/vmscan.c (`shrink_node_memcgs`, `get_scan_count`), include/linux/memcontrol.h
//! (`mem_cgroup_below_min`, `mem_cgroup_protection`), mm/memcontrol.c
//! (`mem_cgroup_calculate_protection`). With one level of groups the effective values are the set ones.

use super::Memory;
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

impl Memory {
    /// The protection that keeps a pass from a group when it reaches the group. A pass over all
    /// groups notes the group's protection first.
    #[inline]
    pub fn protection_from(&mut self, req: &ReclaimRequest, memcg: MemcgId) -> Option<Within> {
        if memcg == MemcgId(0) {
            return None;
        }
        if req.by.memcg().is_none() {
            self.memcgs.note_protection(memcg);
        } else if self.given.rules.stale_protection != StaleProtection::Skips {
            return None;
        }
        self.within(memcg)
    }

    /// True if a group is within its `memory.min`, for kswapd before it ages the group.
    pub fn is_within_min(&mut self, memcg: MemcgId) -> bool {
        if memcg == MemcgId(0) {
            return false;
        }
        self.memcgs.note_protection(memcg);
        self.within(memcg) == Some(Within::Min)
    }

    fn within(&self, memcg: MemcgId) -> Option<Within> {
        let (usage, [min, low]) = (self.memcgs[memcg].usage, self.memcgs[memcg].noted());
        match usage {
            _ if usage <= min => Some(Within::Min),
            _ if usage <= low => Some(Within::Low),
            _ => None,
        }
    }

    /// Pages of a group that count as protected when a pass shares out its scans. The second of the
    /// two is whether a later pass that ignores `memory.low` would find more.
    #[inline]
    pub fn protected_pages(&self, req: &ReclaimRequest, memcg: MemcgId) -> (u64, bool) {
        let own = req.by.memcg().is_some();
        if memcg == MemcgId(0)
            || own && self.given.rules.stale_protection != StaleProtection::ScansLess
        {
            return (0, false);
        }
        match self.memcgs[memcg].noted() {
            [min, low] if low > min && !req.low_reclaim => (low, !own),
            [min, _] => (min, false),
        }
    }
}
