//! The flusher: writes dirty file pages in the background, and dirty throttling.
//!
//! It runs every 5 s for pages that have been dirty for 30 s, and whenever dirty pages
//! exceed the background threshold. Writers are never delayed below the middle of the two
//! thresholds; above it they pause so that together they dirty no faster than the device
//! writes. Pauses are a first-order stand-in for the kernel's controller.
//!
//! Source: Linux 6.12 mm/page-writeback.c.

use super::Machine;
use super::queue::Event;
use super::thread::Entity;
use crate::base::id::ThreadId;
use crate::base::time::SimDuration;
use crate::phys::frames::flag;
use crate::virt::pages::Entry;

const PERIOD: SimDuration = SimDuration::from_secs(5);
const EXPIRE: SimDuration = SimDuration::from_secs(30);
const MAX_PAUSE: SimDuration = SimDuration::from_millis(200);
/// Folios that one step writes.
const BATCH: usize = 64;
/// A writer may be paused each time it dirtied this many pages.
const PAUSE_PAGES: u32 = 32;

/// State of the flusher.
#[derive(Clone, Debug, Default)]
pub(super) struct Flusher {
    awake: bool,
    /// Woken by reclaim or by the background threshold: writes whatever is dirty.
    all: bool,
    timer: bool,
}

impl Machine {
    /// Background and upper threshold of dirty pages.
    pub(super) fn dirty_limits(&self) -> (u64, u64) {
        let mem = &self.mem;
        let file: u64 = mem.zones.ids().map(|z| mem.zone_lru_pages(z)[1]).sum();
        let free = mem.zones.nr_free().saturating_sub(mem.zones.totalreserve);
        let dirtyable = free + file;
        (
            dirtyable * u64::from(mem.vm.dirty_background_ratio) / 100,
            dirtyable * u64::from(mem.vm.dirty_ratio) / 100,
        )
    }

    /// Wakes the flusher to write whatever is dirty.
    pub(super) fn wake_flusher(&mut self) {
        self.flusher.all = true;
        if !self.flusher.awake && self.mem.files.nr_dirty > 0 {
            self.flusher.awake = true;
            self.enqueue_daemon(Entity::Flusher);
        }
    }

    /// The periodic wake-up; armed by the first dirty page.
    pub(super) fn flusher_period(&mut self) {
        self.flusher.timer = false;
        if self.mem.files.nr_dirty > 0 {
            self.arm_flusher();
            if !self.flusher.awake {
                self.flusher.awake = true;
                self.enqueue_daemon(Entity::Flusher);
            }
        }
    }

    fn arm_flusher(&mut self) {
        if !self.flusher.timer {
            self.flusher.timer = true;
            self.queue.push(self.mem.now + PERIOD, Event::Flusher);
        }
    }

    /// One step: up to 64 folios. False: nothing is left that is due.
    pub(super) fn step_flusher(&mut self) -> bool {
        let (background, _) = self.dirty_limits();
        let mut written = 0;
        while written < BATCH {
            let Some(&(page, since)) = self.mem.files.dirty.front() else { break };
            let due = self.mem.now.since(since) >= EXPIRE
                || self.flusher.all && self.mem.files.nr_dirty > background / 2;
            if !due {
                break;
            }
            self.mem.files.dirty.pop_front();
            // The folio may have been written or dropped since.
            let Entry::Frame(folio) = self.mem.pages.entry(page) else { continue };
            let bits = self.mem.frames.bits(folio);
            if bits & (flag::DIRTY | flag::WRITEBACK) == flag::DIRTY {
                self.mem.now += self.mem.cost.t_swap_submit;
                self.mem.flush_folio(folio);
                written += 1;
            }
        }
        self.queue_io();
        if written == BATCH {
            return true;
        }
        self.flusher.awake = false;
        self.flusher.all = false;
        if self.mem.files.nr_dirty > 0 {
            self.arm_flusher();
        }
        false
    }

    /// A thread dirtied a page: wakes the flusher, and may pause the writer. True: it
    /// sleeps now.
    pub(super) fn balance_dirty_pages(&mut self, tid: ThreadId) -> bool {
        self.arm_flusher();
        self.threads[tid].dirtied += 1;
        if self.threads[tid].dirtied < PAUSE_PAGES {
            return false;
        }
        self.threads[tid].dirtied = 0;
        let (background, limit) = self.dirty_limits();
        let dirty = self.mem.files.nr_dirty + self.mem.files.nr_writeback;
        if dirty > background {
            self.wake_flusher();
        }
        let freerun = (background + limit) / 2;
        if dirty <= freerun {
            return false;
        }
        let c = self.mem.file_device.config();
        if c.synchronous {
            return false;
        }
        // Pages a second that the device can write.
        let by_latency = 1_000_000_000 * u64::from(c.servers) / c.write.0.max(1);
        let rate = c.bandwidth.map_or(by_latency, |b| b / 4096).max(1);
        let span = (limit - freerun).max(1);
        let room = limit.saturating_sub(dirty).min(2 * span);
        let even = u64::from(PAUSE_PAGES) * 1_000_000_000 / rate;
        let pause = (even * span).checked_div(room).map_or(MAX_PAUSE, SimDuration).min(MAX_PAUSE);
        self.sleep(tid, pause, false);
        true
    }
}
