//! Entries of zswap are charged to their groups by their bytes, and groups limit them.
//!
//! A group pays for the bytes of its own entries in whole pages of kernel memory, whatever its
//! limits say: who stores an entry reclaims. The root pays nothing.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`obj_cgroup_may_zswap`, `obj_cgroup_charge_zswap`,
//! `mem_cgroup_zswap_writeback_enabled`). Left out: what CPUs keep of a charged page, up to one page
//! each.

use super::Memcgs;
use super::tree::ROOT;
use crate::base::id::{CpuId, MemcgId, PAGE_SIZE};

/// Entries of a group.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ZswapUse {
    /// Bytes of those of the group alone.
    own: u64,
    /// Bytes of those of the group and of groups below it (`memory.zswap.current`).
    pub bytes: u64,
    /// Number of them (`zswapped` of `memory.stat`, in pages).
    pub pages: u64,
}

impl Memcgs {
    /// A group has an entry of `bytes` more.
    pub(in crate::memory) fn charge_zswap(&mut self, cpu: CpuId, m: MemcgId, bytes: u64) {
        if m == ROOT {
            return;
        }
        self.each_level(m, |g| {
            g.zswap.bytes += bytes;
            g.zswap.pages += 1;
        });
        let own = &mut self.groups[m].zswap.own;
        let before = own.div_ceil(PAGE_SIZE);
        *own += bytes;
        let more = own.div_ceil(PAGE_SIZE) - before;
        self.charge_kernel(cpu, m, more);
    }

    /// It has that entry no more.
    pub(in crate::memory) fn uncharge_zswap(&mut self, cpu: CpuId, m: MemcgId, bytes: u64) {
        if m == ROOT {
            return;
        }
        self.each_level(m, |g| {
            g.zswap.bytes -= bytes;
            g.zswap.pages -= 1;
        });
        let own = &mut self.groups[m].zswap.own;
        let before = own.div_ceil(PAGE_SIZE);
        *own -= bytes;
        let less = before - own.div_ceil(PAGE_SIZE);
        self.uncharge_kernel(cpu, m, less);
    }

    /// Entries of a group and of those below it; of the root, those of all groups.
    pub(crate) fn zswap_of(&self, m: MemcgId) -> ZswapUse {
        if m != ROOT {
            return self.groups[m].zswap;
        }
        let first_level = self.ids().skip(1).filter(|&g| self.groups[g].parent == ROOT);
        let all = first_level.map(|g| self.groups[g].zswap);
        all.fold(ZswapUse::default(), |sum, one| ZswapUse {
            own: 0,
            bytes: sum.bytes + one.bytes,
            pages: sum.pages + one.pages,
        })
    }

    /// True if no level of a group is at its `memory.zswap.max`.
    pub(in crate::memory) fn may_zswap(&self, m: MemcgId) -> bool {
        let allows = |l: MemcgId| {
            let g = &self.groups[l];
            g.config.zswap_max.is_none_or(|max| g.zswap.bytes / PAGE_SIZE < max)
        };
        self.tree.levels(m).all(allows)
    }

    /// True if each level of a group lets zswap write to swap devices (`memory.zswap.writeback`).
    pub(in crate::memory) fn zswap_writes_back(&self, m: MemcgId) -> bool {
        self.tree.levels(m).all(|l| self.groups[l].config.zswap_writeback)
    }
}
