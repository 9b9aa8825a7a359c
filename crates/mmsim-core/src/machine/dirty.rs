//! Dirty throttling: how many pages of files may be dirty, and how writers are held to it.
//!
//! The machine is one writeback domain, and since cgroup v2 each group is another one: its dirty
//! pages may be as large a share of what it can have as the machine's of all memory. Writers are
//! never delayed while dirty pages are below the middle of the background threshold and the limit,
//! in either domain; above it they pause so that they dirty no faster than the device writes.
//! Pauses are a first-order stand-in for the kernel's controller.
//!
//! Source: Linux 6.12 mm/page-writeback.c (`balance_dirty_pages`, `domain_dirty_limits`,
//! `mdtc_calc_avail`), mm/memcontrol.c (`mem_cgroup_wb_stats`).

use super::Machine;
use super::config::{DirtyLimit, Kernel};
use crate::base::id::{MemcgId, ThreadId};
use crate::base::time::SimDuration;
use crate::phys::frames::FolioId;

const MAX_PAUSE: SimDuration = SimDuration::from_millis(200);
/// A writer is looked at each time it dirtied this many pages, or fewer near a limit.
const MOST_UNSEEN: u32 = 32;

/// A writeback domain (`struct dirty_throttle_control`), in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Domain {
    /// Pages that may hold contents of files.
    available: u64,
    /// Dirty pages from which on the flusher writes.
    pub background: u64,
    /// Dirty pages and those under write that there should be at most.
    pub limit: u64,
    /// Dirty.
    pub dirty: u64,
    /// Dirty or under write.
    all: u64,
}

impl Domain {
    /// Dirty pages above the background threshold: what the flusher has to do.
    pub(super) fn above_background(&self) -> u64 {
        self.dirty.saturating_sub(self.background)
    }

    /// Nobody is delayed up to this many pages (`dirty_freerun_ceiling`).
    fn freerun(&self) -> u64 {
        (self.background + self.limit) / 2
    }

    /// Pages that a writer may dirty before it is looked at again (`dirty_poll_interval`).
    fn unseen(&self) -> u32 {
        match self.limit.saturating_sub(self.all) {
            0 => 1,
            room => (1 << (room.ilog2() / 2)).min(MOST_UNSEEN),
        }
    }

    /// How long a writer pauses that dirtied so many pages, if the device takes `page` ns for each.
    fn pause(&self, dirtied: u32, page: u64) -> SimDuration {
        let freerun = self.freerun();
        if self.all <= freerun {
            return SimDuration::ZERO;
        }
        let span = (self.limit - freerun).max(1);
        let room = self.limit.saturating_sub(self.all).min(2 * span);
        // All that is dirty is written by then.
        let most = MAX_PAUSE.min(SimDuration(page * self.all));
        (page * u64::from(dirtied) * span).checked_div(room).map_or(most, SimDuration).min(most)
    }
}

impl Machine {
    /// A domain of `available` pages; `of`: those of the machine.
    fn domain(&self, available: u64, of: u64, dirty: u64, all: u64) -> Domain {
        let vm = &self.mem.vm;
        let share = |limit: DirtyLimit| limit.pages(available, of);
        let (mut background, limit) = (share(vm.dirty_background), share(vm.dirty));
        if background >= limit {
            background = limit / 2;
        }
        Domain { available, background, limit, dirty, all }
    }

    /// The domain of the whole machine.
    pub(super) fn global_domain(&self) -> Domain {
        let mem = &self.mem;
        let file: u64 = mem.zones.ids().map(|z| mem.zone_lru_pages(z)[1]).sum();
        let free = mem.zones.nr_free().saturating_sub(mem.zones.totalreserve);
        let dirty = mem.files.nr_dirty;
        self.domain(free + file, free + file, dirty, dirty + mem.files.nr_writeback)
    }

    /// The domain of a group. It may have its file pages, and as many more as its limits and clean
    /// memory outside leave it. `None`: it has none, as the root and groups before cgroup v2.
    pub(super) fn group_domain(&self, memcg: MemcgId, global: &Domain) -> Option<Domain> {
        if memcg.0 == 0 || self.config.kernel < Kernel::V5_5 {
            return None;
        }
        let pages = self.mem.files.group(memcg);
        let all = pages.cleanable();
        let clean = pages.cached.saturating_sub(all);
        let clean_elsewhere = global.available.saturating_sub(global.all).saturating_sub(clean);
        let room = self.mem.memcgs.headroom(memcg).min(clean_elsewhere);
        Some(self.domain(pages.cached + room, global.available, pages.dirty, all))
    }

    /// Background and upper threshold of dirty pages.
    pub(super) fn dirty_limits(&self) -> (u64, u64) {
        let global = self.global_domain();
        (global.background, global.limit)
    }

    /// A thread dirtied a page of a file: wakes the flusher, and may pause the thread.
    pub(super) fn balance_dirty_pages(&mut self, tid: ThreadId, folio: FolioId) {
        self.arm_flusher();
        let t = &mut self.threads[tid];
        t.dirtied += 1;
        if t.dirtied < t.unseen {
            return;
        }
        let dirtied = std::mem::take(&mut t.dirtied);
        let memcg = self.mem.frames.memcg(folio);
        let global = self.global_domain();
        let group = self.group_domain(memcg, &global);
        if global.above_background() > 0 || group.is_some_and(|g| g.all > g.freerun()) {
            self.write_in_background(memcg);
        }
        let unseen = |d: Domain| d.unseen();
        self.threads[tid].unseen = group.map_or(MOST_UNSEEN, unseen).min(global.unseen());
        let c = self.mem.file_device.config();
        if c.synchronous {
            return;
        }
        // Pages a second that the device can write.
        let by_latency = 1_000_000_000 * u64::from(c.servers) / c.write.0.max(1);
        let rate = c.bandwidth.map_or(by_latency, |b| b / 4096).max(1);
        let pause = |d: Domain| d.pause(dirtied, 1_000_000_000 / rate);
        let pause = group.map_or(SimDuration::ZERO, pause).max(pause(global));
        if pause > SimDuration::ZERO {
            self.sleep(tid, pause, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: no pause up to the middle of both thresholds, the device's own pace where room and
    /// span are equal, longer the less room there is, and never more than writing all takes.
    #[test]
    fn pauses_grow_as_room_shrinks() {
        let pause = |all| {
            let d = Domain { available: 1000, background: 100, limit: 200, dirty: all, all };
            d.pause(10, 100_000).0
        };
        assert_eq!(
            [0, 150, 151, 175, 199, 200, 300].map(pause),
            [0, 0, 1_020_408, 2_000_000, 19_900_000, 20_000_000, 30_000_000]
        );
    }
}
