//! Plugs: writes of a reclaimer that wait for each other (`struct blk_plug`).
//!
//! Slots are handed out in runs, so pages that are swapped out one after the other mostly lie
//! side by side, and their writes become one request. It goes to the device when the pass is
//! over, when another request joins one that is large enough, or when its owner sleeps. Until then
//! nothing of it can end, so nearly always its folios are back on their lists when the write ends.
//!
//! Source: Linux 6.12 block/blk-mq.c (`blk_add_rq_to_plug`), block/blk-merge.c
//! (`blk_attempt_plug_merge`). Left out: writes of file pages, which are not plugged here but come in runs; whose
//! write is throttled sleeps when its step is over, with all that would have happened to its own
//! writes meanwhile, so that others do not take slots between them.

use super::{IoDone, Memory};
use crate::backing::device::{Io, Writer};
use crate::base::id::{Pfn, SwapSlot};
use crate::base::time::SimTime;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::TraceEvent;
use crate::phys::frames::flag;

/// Requests that a plug holds at most (`BLK_MAX_REQUEST_COUNT`).
const MOST_REQUESTS: usize = 32;
/// Pages from which on a request does not wait for another one (`BLK_PLUG_FLUSH_SIZE`).
const LARGE: u32 = 32;
/// Pages of a request at most: they do not lie side by side in memory (`BLK_MAX_SEGMENTS`). A device
/// may take fewer (`max_sectors_kb`); requests below [`LARGE`] wait until the plug is finished.
const MOST_PAGES: u32 = 128;

/// Pages that the swap layer of 7.3 puts in a request at most (`SWAP_CLUSTER_MAX`).
pub(crate) const SWAP_IOCB_PAGES: usize = 32;

/// Requests that wait, and their folios in order.
#[derive(Clone, Debug)]
pub(crate) struct Plug {
    by: Writer,
    /// First slot and number of pages.
    requests: Vec<(u32, u32)>,
    folios: Vec<Pfn>,
}

impl Default for Plug {
    fn default() -> Self {
        Plug::of(Writer::Other)
    }
}

impl Plug {
    /// An empty one.
    pub(crate) fn of(by: Writer) -> Self {
        Plug { by, requests: Vec::new(), folios: Vec::new() }
    }

    /// Has a write go with the last request, if it continues that and the device takes so `most`.
    fn joins(&mut self, slot: SwapSlot, folio: Pfn, most: u32) -> bool {
        match self.requests.last_mut() {
            Some((at, n)) if *at + *n == slot.0 && *n < most => *n += 1,
            _ => return false,
        }
        self.folios.push(folio);
        true
    }

    /// True if the waiting requests have to go before another can wait.
    fn is_full(&self) -> bool {
        self.requests.len() >= MOST_REQUESTS || self.requests.last().is_some_and(|r| r.1 >= LARGE)
    }
}

impl Memory {
    /// Counts requests to the swap device, where the kernel counts them.
    #[inline]
    pub(crate) fn count_swap_requests(&mut self, io: Io, n: u64) {
        let event = match io {
            Io::Read => VmEvent::NrSwpIn,
            Io::Write => VmEvent::NrSwpOut,
        };
        self.count(event, if self.given.rules.counts_swap_requests { n } else { 0 });
    }

    /// Writes of swap wait in `plug` from now on, until [`Memory::end_plug`].
    #[inline]
    pub(crate) fn start_plug(&mut self, plug: &mut Box<Plug>) {
        debug_assert!(!self.acting.plugged, "a plug is held already");
        std::mem::swap(&mut self.acting.plug, plug);
        self.acting.plugged = true;
    }

    /// Gives the plug back, with what waits in it; further writes do not.
    #[inline]
    pub(crate) fn end_plug(&mut self, plug: &mut Box<Plug>) {
        debug_assert!(self.acting.plugged, "a plug was started");
        std::mem::swap(&mut self.acting.plug, plug);
        self.acting.plugged = false;
    }

    /// Does something whose writes go to the device at once, past what waits in the plug.
    pub(super) fn unplugged(&mut self, act: impl FnOnce(&mut Memory)) {
        let waiting = std::mem::take(&mut *self.acting.plug);
        let plugged = std::mem::replace(&mut self.acting.plugged, false);
        act(self);
        self.acting.plugged = plugged;
        *self.acting.plug = waiting;
    }

    /// Sends the requests of a plug to the device (`blk_finish_plug`).
    #[inline]
    pub(crate) fn finish_plug(&mut self, plug: &mut Plug) {
        if !plug.requests.is_empty() {
            self.write_plug(plug);
        }
    }

    #[inline(never)]
    fn write_plug(&mut self, plug: &mut Plug) {
        let mut folios = plug.folios.drain(..);
        let now = self.goes_on_at();
        for (at, n) in plug.requests.drain(..) {
            let swap = self.swap.as_mut().expect("a slot without swap");
            let device = swap.device_of_mut(SwapSlot(at));
            let done = device.write(now, plug.by, at.into(), n);
            self.count_swap_requests(Io::Write, (n as usize).div_ceil(SWAP_IOCB_PAGES) as u64);
            for folio in folios.by_ref().take(n as usize) {
                let off = self.frames.has(folio, flag::ISOLATED);
                let end = if off { IoDone::EvictWritten(folio) } else { IoDone::Write(folio) };
                self.acting.io.push((done, end));
            }
        }
    }

    /// Writes a folio to its slot on an asynchronous device, with others if there is a plug.
    pub(super) fn write_to_swap(&mut self, slot: SwapSlot, folio: Pfn) {
        let mut plug = std::mem::take(&mut *self.acting.plug);
        let device = self.swap.as_ref().expect("a slot without swap").device_of(slot);
        let most = match device.config().max_sectors_kb {
            0 => MOST_PAGES,
            kib => (kib / 4).clamp(1, MOST_PAGES),
        };
        if !plug.joins(slot, folio, most) {
            if plug.is_full() {
                self.finish_plug(&mut plug);
            }
            self.acting.throttled = self.may_write(&mut plug, slot);
            plug.requests.push((slot.0, 1));
            plug.folios.push(folio);
        }
        if !self.acting.plugged {
            self.finish_plug(&mut plug);
        }
        *self.acting.plug = plug;
    }

    /// When the owner of a plug may write one request more, to the device of a slot.
    fn may_write(&mut self, plug: &mut Plug, slot: SwapSlot) -> SimTime {
        let now = self.goes_on_at();
        loop {
            let swap = self.swap.as_mut().expect("a slot without swap");
            let there =
                |&(at, _): &(u32, _)| std::ptr::eq(swap.area(SwapSlot(at)), swap.area(slot));
            let held = plug.requests.iter().filter(|r| there(r)).count() as u32;
            let device = swap.device_of_mut(slot);
            if let Some(at) = device.lets_write(now, plug.by, held) {
                return at;
            }
            self.finish_plug(plug);
        }
    }

    /// When whoever acts goes on: now, or when he has slept for his writes.
    pub(crate) fn goes_on_at(&self) -> SimTime {
        self.acting.now.max(self.acting.throttled)
    }

    /// Who has to sleep for his writes holds none in his plug.
    pub(crate) fn finish_throttled(&mut self, plug: &mut Plug) {
        if self.acting.throttled > self.acting.now {
            self.finish_plug(plug);
        }
    }

    /// Until when whoever acts has to sleep for his writes; `None`: he may go on.
    pub(crate) fn take_throttled(&mut self) -> Option<SimTime> {
        let until = std::mem::take(&mut self.acting.throttled);
        (until > self.acting.now).then_some(until)
    }

    /// Writes of folios that are off their lists, as far as they have ended by now: the folios are
    /// clean, and whoever isolated them may go on with them. Whether there were any.
    pub fn end_writes(&mut self) -> bool {
        let (before, now) = (self.acting.io.len(), self.goes_on_at());
        let mut io = std::mem::take(&mut self.acting.io);
        io.retain(|&(at, done)| {
            let IoDone::EvictWritten(folio) = done else { return true };
            let ended = at <= now && self.frames.has(folio, flag::ISOLATED);
            if ended {
                self.frames.clear(folio, flag::WRITEBACK | flag::RECLAIM);
                self.emit(|| TraceEvent::SimWritebackEnd { pfn: folio });
            }
            !ended
        });
        self.acting.io = io;
        self.acting.io.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots of each request that goes out, plug by plug, when these slots are written in turn.
    fn sent(most: u32, slots: impl Iterator<Item = u32>) -> Vec<Vec<(u32, u32)>> {
        let mut plug = Plug::default();
        let mut sent = Vec::new();
        for slot in slots {
            if plug.joins(SwapSlot(slot), Pfn(slot), most) {
                continue;
            }
            if plug.is_full() {
                sent.push(std::mem::take(&mut plug).requests);
            }
            plug.requests.push((slot, 1));
        }
        sent.push(plug.requests);
        sent
    }

    /// By hand, from the rule: neighbours are one request of at most 128 pages; a request of 32
    /// pages does not wait for another, nor do 32 requests for a 33rd.
    #[test]
    fn neighbours_go_together_and_nothing_large_waits() {
        assert_eq!(sent(MOST_PAGES, 5..9), [vec![(5, 4)]]);
        assert_eq!(sent(MOST_PAGES, [5, 6, 9, 10, 8].into_iter()), [vec![(5, 2), (9, 2), (8, 1)]]);
        assert_eq!(sent(MOST_PAGES, 0..300), [vec![(0, 128)], vec![(128, 128)], vec![(256, 44)]]);
        let two_runs = (0..31).chain(100..132).chain([7]);
        assert_eq!(sent(MOST_PAGES, two_runs), [vec![(0, 31), (100, 32)], vec![(7, 1)]]);
        let odd = (0..40).map(|i| 2 * i);
        let lengths: Vec<usize> = sent(MOST_PAGES, odd).iter().map(Vec::len).collect();
        assert_eq!(lengths, [32, 8]);
    }

    /// By hand: requests of at most 31 pages are never large, so 32 of them wait.
    #[test]
    fn requests_of_a_device_that_takes_small_ones_wait() {
        let all = sent(31, 0..33 * 31);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [32, 1]);
        assert_eq!(all[0][1], (31, 31));
    }
}
