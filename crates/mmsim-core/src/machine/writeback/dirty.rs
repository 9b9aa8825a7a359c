//! Dirty throttling: how many pages of files may be dirty, and how writers are held to it.
//!
//! The machine is one writeback domain, and since cgroup v2 each group is another one: its dirty
//! pages may be as large a share of what it can have as the machine's of all memory. Writers are
//! never delayed while dirty pages are below the middle of the background threshold and the limit,
//! in either domain. Above it each pauses so that it dirties at a rate which the controller in
//! `ratelimit` finds, for each disk and group: of the dirty pages of a domain each disk may have the
//! part that it has in what is written, so writers to a slow disk pause longer.
//!
//! Source: Linux 6.12 mm/page-writeback.c (`balance_dirty_pages`, `domain_dirty_limits`,
//! `wb_dirty_limits`, `mdtc_calc_avail`), mm/memcontrol.c (`mem_cgroup_wb_stats`).

use crate::base::id::{DiskId, MemcgId, ThreadId};
use crate::base::time::SimDuration;
use crate::config::DirtyLimit;
use crate::machine::Machine;
use crate::machine::cpu::thread::Wait;
use crate::machine::writeback::ratelimit::{self, Control, Part};
use crate::phys::frames::FolioId;

/// A writer is looked at at least this often in pages while a limit is exceeded: 32 KiB.
const UNSEEN_IN_EXCESS: u64 = 8;
/// A writer that thought for longer is not credited for it.
const LONG_THOUGHT: u64 = 1_000_000_000;

/// A writeback domain (`struct dirty_throttle_control`), in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Domain {
    /// Pages that may hold contents of files.
    available: u64,
    /// Dirty pages from which on the flusher writes.
    pub background: u64,
    /// Dirty pages and those under write that there should be at most.
    pub limit: u64,
    /// Dirty.
    pub dirty: u64,
    /// Dirty or under write.
    pub all: u64,
}

impl Domain {
    /// Dirty pages above the background threshold: what the flusher has to do.
    pub(in crate::machine) fn above_background(&self) -> u64 {
        self.dirty.saturating_sub(self.background)
    }

    /// No writer is delayed up to this many pages (`dirty_freerun_ceiling`).
    pub(in crate::machine) fn freerun(&self) -> u64 {
        (self.background + self.limit) / 2
    }

    /// Pages that a writer may dirty before it is looked at again (`dirty_poll_interval`).
    fn unseen(&self) -> u64 {
        match self.limit.saturating_sub(self.all) {
            0 => 1,
            room => 1 << (room.ilog2() / 2),
        }
    }
}

impl Machine {
    /// A domain of `available` pages; `of`: those of the machine.
    fn domain(&self, available: u64, of: u64, dirty: u64, all: u64) -> Domain {
        let vm = &self.mem.given.vm;
        let share = |limit: DirtyLimit| limit.pages(available, of);
        let (mut background, limit) = (share(vm.dirty_background), share(vm.dirty));
        if background >= limit {
            background = limit / 2;
        }
        Domain { available, background, limit, dirty, all }
    }

    /// The domain of the whole machine.
    pub(in crate::machine) fn global_domain(&self) -> Domain {
        let mem = &self.mem;
        let file: u64 = mem.zones.ids().map(|z| mem.zone_lru_pages(z)[1]).sum();
        let free = mem.zones.nr_free().saturating_sub(mem.zones.totalreserve);
        let dirty = mem.cache.files.nr_dirty;
        self.domain(free + file, free + file, dirty, dirty + mem.cache.files.nr_writeback)
    }

    /// The domain of a group. It may have its file pages, and as many more as its limits and clean
    /// memory outside leave it. `None`: it has none, as the root, and groups without writeback of
    /// their own.
    pub(in crate::machine) fn group_domain(
        &self,
        memcg: MemcgId,
        global: &Domain,
    ) -> Option<Domain> {
        if memcg.0 == 0 || !self.mem.given.rules.cgroup_writeback {
            return None;
        }
        let pages = self.mem.cache.files.group(memcg);
        let all = pages.cleanable();
        let clean = pages.cached.saturating_sub(all);
        let clean_elsewhere = global.available.saturating_sub(global.all).saturating_sub(clean);
        let room = self.mem.memcgs.headroom(memcg).min(clean_elsewhere);
        Some(self.domain(pages.cached + room, global.available, pages.dirty, all))
    }

    /// Background and upper threshold of dirty pages.
    pub(in crate::machine) fn dirty_limits(&self) -> (u64, u64) {
        let global = self.global_domain();
        (global.background, global.limit)
    }

    /// A thread dirtied a page of a file: wakes the flusher, and may pause the thread.
    pub(in crate::machine) fn balance_dirty_pages(&mut self, tid: ThreadId, folio: FolioId) {
        self.arm_flusher(self.mem.disk_of_folio(folio));
        let t = &mut self.work.threads[tid];
        t.dirtied += 1;
        if t.dirtied < t.unseen {
            return;
        }
        self.balance(tid, self.mem.disk_of_folio(folio), self.mem.frames.memcg(folio));
    }

    /// A thread is about to dirty a page: whether it has to wait because a limit is reached still.
    pub(in crate::machine) fn held_back(&mut self, tid: ThreadId) -> bool {
        let Some((disk, memcg)) = self.work.threads[tid].held.take() else { return false };
        self.balance(tid, disk, memcg);
        self.work.threads[tid].wait != Wait::Not
    }

    /// The pages of a disk in a domain of the machine, or of a group.
    fn part(&self, disk: DiskId, group: Option<MemcgId>, domain: &Domain) -> Part {
        let [dirty, writeback] = self.dirty_on(disk, group);
        let limit = self.mem.cache.files.share(disk, group, domain.limit, self.mem.acting.now);
        Part { of: domain.limit, limit, all: dirty + writeback }
    }

    /// Pages of a disk, of all or of a group, that are dirty, and that are under write.
    fn dirty_on(&self, disk: DiskId, group: Option<MemcgId>) -> [u64; 2] {
        match group {
            None => self.mem.cache.files.on_disk(disk),
            Some(m) => {
                let wb = self.mem.cache.files.wb(disk, m);
                [wb.dirty, wb.writeback]
            }
        }
    }

    /// The flusher of a disk has to write pages of a group: the machine or the group has more dirty
    /// pages than its background threshold, or the disk more than its part of that
    /// (`wb_over_bg_thresh`).
    pub(in crate::machine) fn over_background(&self, disk: DiskId, memcg: MemcgId) -> bool {
        let over = |group: Option<MemcgId>, d: &Domain| {
            let part = self.mem.cache.files.share(disk, group, d.background, self.mem.acting.now);
            d.above_background() > 0 || self.dirty_on(disk, group)[0] > part
        };
        let global = self.global_domain();
        over(None, &global)
            || self.group_domain(memcg, &global).is_some_and(|g| over(Some(memcg), &g))
    }

    fn balance(&mut self, tid: ThreadId, disk: DiskId, memcg: MemcgId) {
        let global = self.global_domain();
        let group = self.group_domain(memcg, &global);
        let most_unseen = self.most_unseen(&global);
        let (now, free) = (self.mem.acting.now, |d: Domain| d.all <= d.freerun());
        if global.above_background() > 0 {
            self.write_in_background(disk, memcg);
        }
        if free(global) && group.is_none_or(free) {
            let t = &mut self.work.threads[tid];
            (t.dirtied, t.paused_until) = (0, now);
            let unseen = group.map_or(u64::MAX, |g| g.unseen()).min(global.unseen());
            t.unseen = unseen.min(most_unseen);
            return;
        }
        self.write_in_background(disk, memcg);
        if self.mem.cache.disks[disk].device.config().synchronous {
            self.work.threads[tid].dirtied = 0;
            return;
        }
        let part = |d: Domain, group| (d, self.part(disk, group, &d));
        let domains = [Some(part(global, None)), group.map(|g| part(g, Some(memcg)))];
        self.pause(tid, (disk, memcg), domains, most_unseen);
    }

    /// Pages that may be dirtied between two looks whatever a writer's pace (`ratelimit_pages`).
    fn most_unseen(&self, global: &Domain) -> u64 {
        (global.limit / (u64::from(self.config.cpus) * 32)).max(16)
    }

    /// Pauses a writer for what it dirtied, or lets it go on if that is not worth it.
    fn pause(
        &mut self,
        tid: ThreadId,
        (disk, memcg): (DiskId, MemcgId),
        domains: [Option<(Domain, Part)>; 2],
        most_unseen: u64,
    ) {
        let now = self.mem.acting.now;
        let pages = self.mem.cache.files.wb(disk, memcg);
        let (dirtied, written) = (pages.dirtied, pages.written);
        let wb = &mut self.daemons.flushers[disk].wb[usize::from(memcg.0)];
        let limits = domains.map(|d| d.map_or(0, |(d, _)| d.limit));
        wb.follow_limits(now, limits, domains.map(|d| d.map_or(0, |(d, _)| d.all)));
        let held = domains.iter().zip(wb.limits).filter_map(|(&d, hard)| Some((d?, hard)));
        let mut controls = held.map(|(d, hard)| Control::of(d, hard, wb.write_bandwidth()));
        let first = controls.next().expect("the machine is a domain");
        let second = controls.next();
        wb.update(now, dirtied, written, [Some(first), second]);
        // The stricter domain counts.
        let control = second.filter(|g| g.ratio < first.ratio).unwrap_or(first);
        let over = domains.iter().flatten().any(|(d, p)| d.all > d.limit && p.all > p.limit);
        let rate = wb.task_ratelimit(control.ratio);
        let bounds = wb.pause_bounds(control.on_disk, rate);
        let t = &mut self.work.threads[tid];
        let period = match rate {
            0 => bounds.longest,
            r => t.dirtied * 1_000_000_000 / r,
        };
        // Time that passed since the last pause counts.
        let thought = now.0.saturating_sub(t.paused_until.0);
        let most_unseen = if over { UNSEEN_IN_EXCESS } else { most_unseen };
        if rate > 0 && period < thought + bounds.shortest {
            if thought > period + LONG_THOUGHT {
                t.paused_until = now;
            } else {
                t.paused_until.0 += period;
            }
            t.dirtied = 0;
            t.unseen = bounds.pages.clamp(1, most_unseen);
            return;
        }
        let pause = (period - thought.min(period)).clamp(1, bounds.longest);
        t.dirtied = 0;
        t.paused_until.0 = now.0 + pause;
        t.unseen = bounds.pages.clamp(1, most_unseen);
        // At the limit nothing goes on, but for what counters may miss (`wb_stat_error`).
        let cpus = u64::from(self.config.cpus);
        if rate == 0 && control.on_disk > cpus * 8 * (1 + u64::from(cpus.ilog2())) {
            t.held = Some((disk, memcg));
        }
        self.daemons.flushers[disk].last_pause = Some(now);
        self.sleep(tid, SimDuration(pause), false);
    }
}

/// A control needs no more of a domain than this.
impl Control {
    fn of((d, disk): (Domain, Part), hard_limit: u64, write_bandwidth: u64) -> Self {
        let limit = hard_limit.max(d.limit);
        let set_point = (d.freerun() + limit) / 2;
        let ratio = ratelimit::position_ratio(d.all, set_point, limit, write_bandwidth, disk);
        Control { all: d.all, on_disk: disk.all, set_point, ratio }
    }
}
