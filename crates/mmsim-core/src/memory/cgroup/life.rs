//! Groups that are created and removed amid a run.
//!
//! A group is removed when no process and no group is in it. Pages of its processes are free by then,
//! and cached pages of files are not: they stay charged. Up to 6.19 they stay on the lists of the
//! removed group, which is *offline*: it has no protection, is walked as before, and is gone with its
//! last page. Later kernels give them to the group above it at once, which appends its lists to its
//! own (`memcg-offline`).
//!
//! Source: Linux 6.12 mm/memcontrol.c (`mem_cgroup_css_offline`), 7.3 likewise. Left out: kernel
//! memory that outlives its process, and the move of files to another flusher.

use super::tree::ROOT;
use super::{Memcg, Memcgs};
use crate::base::id::{Idx as _, MemcgId, Pfn};
use crate::base::time::SimTime;
use crate::memory::Memory;
use crate::policy::daemon::Control;

/// The part of its life that a group is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It is not created yet.
    Awaited,
    /// It may have processes.
    Online,
    /// It was removed at this time, and was charged pages then.
    Removed {
        /// The time.
        at: SimTime,
        /// The pages.
        charged: u64,
    },
}

impl Memcg {
    /// True if a walk meets it: it is online, or was removed and has pages still.
    fn exists(&self) -> bool {
        match self.life {
            Life::Awaited => false,
            Life::Online => true,
            Life::Removed { .. } => self.usage > 0,
        }
    }
}

impl Memcgs {
    /// True if a group may have processes (`mem_cgroup_online`).
    #[inline]
    pub fn is_online(&self, m: MemcgId) -> bool {
        self[m].life == Life::Online
    }

    /// True if walks meet a group: it is online, or was removed and has pages still.
    pub fn exists(&self, m: MemcgId) -> bool {
        self[m].exists()
    }

    /// Creates a group.
    pub(crate) fn create(&mut self, m: MemcgId) {
        assert!(self.is_online(self[m].parent), "{m} is created below a group that is not there");
        self[m].life = Life::Online;
        self.recount();
    }

    /// True if no group is in a group, nor will be.
    pub(crate) fn is_bare(&self, m: MemcgId) -> bool {
        self.tree.walk(m).skip(1).all(|below| matches!(self[below].life, Life::Removed { .. }))
    }

    /// Removes a group. What it is charged stays charged.
    pub(crate) fn remove(&mut self, m: MemcgId, at: SimTime) {
        self.write(m, Control::Min, Some(0));
        self.write(m, Control::Low, Some(0));
        self.drain_stocks(m);
        self[m].life = Life::Removed { at, charged: self[m].usage };
        self.recount();
    }

    /// Gives what a removed group is charged to the group above, which has been charged for it all
    /// along, unless it is the root.
    fn give_up(&mut self, m: MemcgId) {
        let (parent, pages) = (self[m].parent, self[m].usage);
        self[m].usage = 0;
        if pages > 0 {
            self.populated.remove(self.tree.place(m));
        }
        if parent == ROOT {
            self[ROOT].usage += pages;
        }
        self.recount();
    }

    /// Counts anew how many groups there are before each position of the walk. Nothing is counted
    /// while there is one at each.
    pub(super) fn recount(&mut self) {
        let number = |g: &Memcg| if g.exists() { g.config.empty.unwrap_or(1) } else { 0 };
        if self.groups.iter().all(|g| number(g) == 1) {
            self.existing.clear();
            return;
        }
        let mut n = 0;
        let counts = self.tree.walk(ROOT).map(|m| {
            let before = n;
            n += number(&self[m]);
            before
        });
        let mut existing: Vec<u32> = counts.collect();
        existing.push(n);
        self.existing = existing;
    }

    /// Groups at positions of the walk that are there.
    #[inline]
    pub(super) fn existing_in(&self, from: u32, to: u32) -> u32 {
        match self.existing.is_empty() {
            true => to - from,
            false => self.existing[to as usize] - self.existing[from as usize],
        }
    }
}

impl Memory {
    /// Pages on lists that a group is charged for.
    pub fn listed_of(&self, memcg: MemcgId) -> Vec<Pfn> {
        let lists = self.lru.lists.ids();
        let of = |&f: &Pfn| self.frames.memcg(f) == memcg;
        lists.flat_map(|l| self.lru.lists.iter_from_tail(l)).filter(of).collect()
    }

    /// The group above a removed one is charged for its pages from here on. Policies call it in
    /// [`memcg_offline`](crate::policy::ReclaimPolicy::memcg_offline), when its lists are empty.
    pub fn reparent(&mut self, memcg: MemcgId, heir: MemcgId) {
        for pfn in (0..self.frames.len()).map(Pfn::from_index) {
            if self.frames.memcg(pfn) == memcg {
                self.frames.set_memcg(pfn, heir);
            }
        }
        self.cache.files.reparent(memcg, heir);
        self.memcgs.give_up(memcg);
    }
}
