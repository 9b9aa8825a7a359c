//! The flushers: each writes dirty pages of the files on one disk in the background.
//!
//! A flusher runs periodically for pages that have been dirty for long, when a domain has more dirty pages
//! than its background threshold, and when reclaim meets nothing but dirty pages: then it writes
//! all that are dirty by now. Pages that lie side by side are one request, and it sleeps when the
//! device has enough of them. Groups are written in turn, a request each. One thread of a disk stands
//! for the workers that Linux runs for its groups.
//!
//! Source: Linux 6.12 fs/fs-writeback.c (`wb_workfn`, `wb_check_start_all`), mm/page-writeback.c
//! (`wb_over_bg_thresh`).

use crate::backing::device::Writer;
use crate::base::id::{CpuId, DiskId, MemcgId, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::queue::Event;
use crate::machine::cpu::thread::Entity;
use crate::machine::writeback::ratelimit::Writeback;
use crate::phys::frames::flag;
use crate::virt::pages::Entry;

/// Time for which a pause of a writer makes the flusher hurry (`wb_recent_wait`).
const RECENT: SimDuration = SimDuration::from_secs(1);
/// Longest time that reclaim waits for a write that may clean something (`reclaim_throttle`), and
/// for the flusher to begin.
const WRITEBACK_WAIT: SimDuration = SimDuration::from_millis(100);
const TICK: SimDuration = SimDuration::from_millis(1);

/// Work of the flusher for a group.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// Write until it is below the background threshold.
    background: bool,
    /// Number of further pages to write: reclaim requested all that were dirty.
    all: u64,
}

/// State of a flusher.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Flusher {
    awake: bool,
    timer: bool,
    /// By group, the root first.
    work: Vec<Work>,
    /// The group whose turn it is.
    turn: usize,
    /// State of the writers of each group.
    pub wb: Vec<Writeback>,
    /// When a writer was paused last.
    pub last_pause: Option<SimTime>,
    /// The CPU that it ran on last.
    pub cpu: CpuId,
}

impl Flusher {
    /// State for a machine with `groups` groups, the root included.
    pub(in crate::machine) fn new(groups: usize) -> Self {
        Flusher {
            awake: false,
            timer: false,
            work: vec![Work::default(); groups],
            turn: 0,
            wb: vec![Writeback::default(); groups],
            last_pause: None,
            cpu: CpuId(0),
        }
    }
}

impl Machine {
    /// Wakes the flushers to write all that is dirty (`wakeup_flusher_threads`).
    pub(in crate::machine) fn wake_flushers(&mut self) {
        for disk in self.daemons.flushers.ids() {
            for m in self.mem.memcgs.ids() {
                self.daemons.flushers[disk].work[usize::from(m.0)].all =
                    self.mem.cache.files.wb(disk, m).dirty;
            }
            self.run_flusher(disk);
        }
    }

    /// Wakes the flusher of a disk to write a group's pages down to the background threshold
    /// (`wb_start_background_writeback`).
    pub(in crate::machine) fn write_in_background(&mut self, disk: DiskId, memcg: MemcgId) {
        self.daemons.flushers[disk].work[usize::from(memcg.0)].background = true;
        self.run_flusher(disk);
    }

    fn run_flusher(&mut self, disk: DiskId) {
        if !self.daemons.flushers[disk].awake && self.is_dirty(disk) {
            self.daemons.flushers[disk].awake = true;
            self.enqueue_flusher(disk);
        }
    }

    fn is_dirty(&self, disk: DiskId) -> bool {
        self.mem.cache.files.on_disk(disk)[0] > 0
    }

    pub(in crate::machine) fn enqueue_flusher(&mut self, disk: DiskId) {
        self.daemons.flushers[disk].cpu = self.enqueue_daemon(Entity::Flusher(disk));
    }

    /// The periodic wake-up; armed by the first dirty page.
    pub(in crate::machine) fn flusher_period(&mut self, disk: DiskId) {
        self.daemons.flushers[disk].timer = false;
        if self.is_dirty(disk) {
            self.arm_flusher(disk);
            self.run_flusher(disk);
        }
    }

    pub(in crate::machine) fn arm_flusher(&mut self, disk: DiskId) {
        let period = self.mem.given.vm.dirty_writeback;
        if !self.daemons.flushers[disk].timer && period > SimDuration::ZERO {
            self.daemons.flushers[disk].timer = true;
            self.events.queue.push(self.mem.acting.now + period, Event::Flusher(disk));
        }
    }

    /// One step: one request. False: nothing is left that is due, or it waits for the device.
    pub(in crate::machine) fn step_flusher(&mut self, disk: DiskId) -> bool {
        let groups = self.daemons.flushers[disk].work.len();
        for _ in 0..groups {
            let turn = self.daemons.flushers[disk].turn;
            self.daemons.flushers[disk].turn = (turn + 1) % groups;
            if !self.flush_group(disk, MemcgId(turn as u16)) {
                self.daemons.flushers[disk].work[turn] = Work::default();
                continue;
            }
            let until = self.mem.take_throttled();
            self.queue_io();
            if let Some(until) = until {
                self.events.queue.push(until, Event::FlusherGoesOn(disk));
            }
            return until.is_none();
        }
        self.daemons.flushers[disk].awake = false;
        if self.is_dirty(disk) {
            self.arm_flusher(disk);
        }
        false
    }

    /// Writes a run of pages of a group, if one is due.
    fn flush_group(&mut self, disk: DiskId, m: MemcgId) -> bool {
        let above = self.over_background(disk, m);
        let paused = self.daemons.flushers[disk].last_pause;
        let hurried = paused.is_some_and(|at| self.mem.acting.now.since(at) < RECENT);
        for _ in 0..self.mem.cache.files.wb(disk, m).queue.len() {
            let work = &self.daemons.flushers[disk].work[usize::from(m.0)];
            let wanted = work.all > 0 || work.background && above;
            let front = self.mem.cache.files.wb(disk, m).queue.front();
            let expired = |&(_, since): &(_, SimTime)| {
                self.mem.acting.now.since(since) >= self.mem.given.vm.dirty_expire
            };
            if !wanted && !front.is_some_and(expired) {
                break;
            }
            let entry = self.mem.cache.files.pop_dirty(disk, m).expect("the queue has that many");
            // The folio may have been written or dropped since.
            let Entry::Frame(folio) = self.mem.virt.pages.entry(entry.0) else { continue };
            match self.mem.frames.bits(folio) & (flag::DIRTY | flag::WRITEBACK) {
                flag::DIRTY => {
                    let by = Writer::Flusher { hurried };
                    let written = self.mem.flush_run(entry.0, folio, by);
                    let work = &mut self.daemons.flushers[disk].work[usize::from(m.0)];
                    work.all = work.all.saturating_sub(written);
                    return true;
                }
                // Dirtied again while it is written: another time.
                bits if bits == flag::DIRTY | flag::WRITEBACK => {
                    self.mem.cache.files.requeue_dirty(disk, m, entry);
                }
                _ => {}
            }
        }
        false
    }

    /// Pages of a group and of those below it that a write would make clean.
    pub(in crate::machine) fn cleanable(&self, memcg: MemcgId) -> u64 {
        let of = |m| self.mem.cache.files.group(m).cleanable();
        self.mem.memcgs.tree.walk(memcg).map(of).sum()
    }

    /// A thread sleeps until some write may have cleaned a page of its group. False: none of them is
    /// dirty or under write.
    pub(in crate::machine) fn wait_for_clean_pages(
        &mut self,
        tid: ThreadId,
        memcg: MemcgId,
    ) -> bool {
        if self.cleanable(memcg) == 0 {
            return false;
        }
        self.wake_flushers();
        let wait = self.until_a_write_ends();
        self.sleep(tid, wait, true);
        true
    }

    /// Time until some request ends, or the flusher had time to begin one.
    pub(in crate::machine) fn until_a_write_ends(&self) -> SimDuration {
        match self.events.queue.next_io() {
            SimTime::NEVER => TICK,
            io => io.since(self.mem.acting.now).clamp(TICK, WRITEBACK_WAIT),
        }
    }
}
