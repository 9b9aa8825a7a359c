//! Plugs: writes of a reclaimer that wait for each other (`struct blk_plug`).
//!
//! Slots are handed out in runs, so pages that are swapped out one after the other mostly lie
//! side by side, and their writes become one request. It goes to the device when the pass is
//! over, or when another request joins one that is large enough. Until then nothing of it can end,
//! so nearly always its folios are back on their lists when the write ends.
//!
//! Source: Linux 6.12 block/blk-mq.c (`blk_add_rq_to_plug`), block/blk-merge.c
//! (`blk_attempt_plug_merge`). Left out: writes of file pages, which are not plugged here; a
//! sleeper's plug is emptied, and no reclaimer sleeps amid a pass here.

use super::{IoDone, Memory};
use crate::backing::device::Io;
use crate::base::event::TraceEvent;
use crate::base::id::{Pfn, SwapSlot};
use crate::phys::frames::flag;

/// Requests that a plug holds at most (`BLK_MAX_REQUEST_COUNT`).
const MOST_REQUESTS: usize = 32;
/// Pages from which on a request does not wait for another one (`BLK_PLUG_FLUSH_SIZE`).
const LARGE: u32 = 32;
/// Pages of a request: they do not lie side by side in memory (`BLK_MAX_SEGMENTS`).
const MOST_PAGES: u32 = 128;

/// Requests that wait, and their folios in order.
#[derive(Clone, Debug, Default)]
pub struct Plug {
    /// First slot and number of pages.
    requests: Vec<(u32, u32)>,
    folios: Vec<Pfn>,
}

impl Plug {
    /// Has a write wait, with the last request if it continues that. False: what waits has to
    /// go first.
    fn takes(&mut self, slot: SwapSlot, folio: Pfn) -> bool {
        let full = self.requests.len() >= MOST_REQUESTS;
        match self.requests.last_mut() {
            Some((at, n)) if *at + *n == slot.0 && *n < MOST_PAGES => *n += 1,
            Some((_, n)) if *n >= LARGE || full => return false,
            _ => self.requests.push((slot.0, 1)),
        }
        self.folios.push(folio);
        true
    }
}

impl Memory {
    /// Writes of swap wait in `plug` from now on.
    pub(crate) fn start_plug(&mut self, plug: Plug) {
        debug_assert!(self.plug.is_none(), "a plug is held already");
        self.plug = Some(plug);
    }

    /// The plug, with what waits in it; further writes do not.
    pub(crate) fn take_plug(&mut self) -> Plug {
        self.plug.take().expect("a plug was started")
    }

    /// What waits in a plug goes to the device (`blk_finish_plug`).
    pub(crate) fn finish_plug(&mut self, plug: &mut Plug) {
        let mut folios = plug.folios.drain(..);
        for (at, n) in plug.requests.drain(..) {
            self.submit_swap_write(SwapSlot(at), folios.by_ref().take(n as usize));
        }
    }

    /// Writes a folio to its slot on an asynchronous device, with others if there is a plug.
    pub(super) fn write_to_swap(&mut self, slot: SwapSlot, folio: Pfn) {
        let Some(mut plug) = self.plug.take() else {
            return self.submit_swap_write(slot, [folio].into_iter());
        };
        if !plug.takes(slot, folio) {
            self.finish_plug(&mut plug);
            plug.takes(slot, folio);
        }
        self.plug = Some(plug);
    }

    /// Writes of folios that are off their lists, as far as they have ended by now: the folios are
    /// clean, and whoever isolated them may go on with them. Whether there were any.
    pub fn end_writes(&mut self) -> bool {
        let before = self.io.len();
        let mut io = std::mem::take(&mut self.io);
        io.retain(|&(at, done)| {
            let IoDone::WriteOff(folio) = done else { return true };
            let ended = at <= self.now && self.frames.has(folio, flag::ISOLATED);
            if ended {
                self.frames.clear(folio, flag::WRITEBACK | flag::RECLAIM);
                self.emit(|| TraceEvent::SimWritebackEnd { pfn: folio });
            }
            !ended
        });
        self.io = io;
        self.io.len() < before
    }

    fn submit_swap_write(&mut self, slot: SwapSlot, folios: impl ExactSizeIterator<Item = Pfn>) {
        let device = &mut self.swap.as_mut().expect("a slot without swap").device;
        let done = device.submit(self.now, Io::Write, slot.0.into(), folios.len() as u32);
        for folio in folios {
            let off = self.frames.has(folio, flag::ISOLATED);
            let end = if off { IoDone::WriteOff(folio) } else { IoDone::Write(folio) };
            self.io.push((done, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots of each request that goes out, plug by plug, when these slots are written in turn.
    fn sent(slots: impl Iterator<Item = u32>) -> Vec<Vec<(u32, u32)>> {
        let mut plug = Plug::default();
        let mut sent = Vec::new();
        for slot in slots {
            if !plug.takes(SwapSlot(slot), Pfn(slot)) {
                sent.push(std::mem::take(&mut plug).requests);
                assert!(plug.takes(SwapSlot(slot), Pfn(slot)), "an empty plug takes any");
            }
        }
        sent.push(plug.requests);
        sent
    }

    /// By hand, from the rule: neighbours are one request of at most 128 pages; a request of 32
    /// pages does not wait for another, nor do 32 requests for a 33rd.
    #[test]
    fn neighbours_go_together_and_nothing_large_waits() {
        assert_eq!(sent(5..9), [vec![(5, 4)]]);
        assert_eq!(sent([5, 6, 9, 10, 8].into_iter()), [vec![(5, 2), (9, 2), (8, 1)]]);
        assert_eq!(sent(0..300), [vec![(0, 128)], vec![(128, 128)], vec![(256, 44)]]);
        let two_runs = (0..31).chain(100..132).chain([7]);
        assert_eq!(sent(two_runs), [vec![(0, 31), (100, 32)], vec![(7, 1)]]);
        let odd = (0..40).map(|i| 2 * i);
        let lengths: Vec<usize> = sent(odd).iter().map(Vec::len).collect();
        assert_eq!(lengths, [32, 8]);
    }
}
