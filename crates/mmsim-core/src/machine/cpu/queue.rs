//! The queue of timed events, ordered by (time, class, order of queueing).

use crate::base::id::{DiskId, KdamondId, MemcgId, NodeId, ThreadId};
use crate::base::time::SimTime;
use crate::memory::IoDone;
use crate::policy::daemon::Pid;
use std::collections::{BinaryHeap, VecDeque};

/// Something that happens at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Event {
    /// A device request ends.
    Io(IoDone),
    /// The worker that writes entries of zswap back wakes.
    ZswapWorker,
    /// A thread's timer of this generation.
    Wake(ThreadId, u64),
    /// kswapd's nap or throttle of this generation.
    Kswapd(NodeId, u64),
    /// kcompactd's look at its node, of this generation.
    Kcompactd(NodeId, u64),
    /// The end of a monitor's sleep.
    Kdamond(KdamondId),
    /// The period of a disk's flusher.
    Flusher(DiskId),
    /// It has waited for the device.
    FlusherGoesOn(DiskId),
    /// A run of free page reporting begins, or the host has answered a report.
    Report,
    /// A thread starts.
    Start(ThreadId),
    /// The kernel looks at the pressure triggers of a group.
    PsiPoll(MemcgId),
    /// A process ends that got SIGTERM.
    Terminate(Pid),
    /// A group is to be created or removed.
    Memcg(MemcgId),
}

impl Event {
    /// I/O completions come before timers, timers before wake-ups.
    fn class(&self) -> u8 {
        match self {
            Event::Io(_) | Event::ZswapWorker => 0,
            Event::Wake(..) | Event::Start(_) | Event::Terminate(_) | Event::Memcg(_) => 1,
            Event::Flusher(_) | Event::FlusherGoesOn(_) | Event::Report => 1,
            Event::Kswapd(..) | Event::Kcompactd(..) | Event::Kdamond(_) => 2,
            Event::PsiPoll(_) => 2,
        }
    }
}

#[derive(PartialEq, Eq)]
struct Due {
    key: (SimTime, u8, u64),
    event: Event,
}

impl Ord for Due {
    fn cmp(&self, o: &Self) -> std::cmp::Ordering {
        o.key.cmp(&self.key)
    }
}
impl PartialOrd for Due {
    fn partial_cmp(&self, o: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}

/// Ends of device requests. A device serves most requests in the order in which they came, so they
/// end in order: those wait in a line, the others in a heap.
#[derive(Default)]
struct Ends {
    line: VecDeque<Due>,
    heap: BinaryHeap<Due>,
}

impl Ends {
    fn push(&mut self, due: Due) {
        if self.line.back().is_none_or(|last| last.key < due.key) {
            self.line.push_back(due);
        } else {
            self.heap.push(due);
        }
    }
    #[inline]
    fn peek(&self) -> Option<&Due> {
        match (self.line.front(), self.heap.peek()) {
            (Some(l), Some(h)) => Some(if l.key < h.key { l } else { h }),
            (l, h) => l.or(h),
        }
    }
    fn pop(&mut self) -> Option<Due> {
        match (self.line.front(), self.heap.peek()) {
            (Some(l), Some(h)) if h.key < l.key => self.heap.pop(),
            (None, _) => self.heap.pop(),
            _ => self.line.pop_front(),
        }
    }
}

/// The queue. Nothing is scheduled in the past; stale events carry a generation.
pub(in crate::machine) struct Queue {
    heap: BinaryHeap<Due>,
    /// Apart so that they can interrupt a long step.
    io: Ends,
    seq: u64,
    /// When the first of all is due: asked after each step.
    next: SimTime,
}

impl Default for Queue {
    fn default() -> Self {
        let next = SimTime::NEVER;
        Queue { heap: BinaryHeap::new(), io: Ends::default(), seq: 0, next }
    }
}

impl Queue {
    /// Queues an event. What is due behind the end of simulated time is due at its end.
    pub(in crate::machine) fn push(&mut self, at: SimTime, event: Event) {
        let at = at.min(SimTime::LAST);
        let due = Due { key: (at, event.class(), self.seq), event };
        self.seq += 1;
        self.next = self.next.min(at);
        if matches!(event, Event::Io(_)) { self.io.push(due) } else { self.heap.push(due) }
    }
    /// When the next event is due.
    #[inline]
    pub(in crate::machine) fn next(&self) -> SimTime {
        self.next
    }
    fn took_one(&mut self) {
        let next = |due: Option<&Due>| due.map_or(SimTime::NEVER, |d| d.key.0);
        self.next = next(self.heap.peek()).min(next(self.io.peek()));
    }
    /// Takes the next event.
    pub(in crate::machine) fn pop(&mut self) -> Option<(SimTime, Event)> {
        let io_first = match (self.io.peek(), self.heap.peek()) {
            (Some(i), Some(h)) => i.key < h.key,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let first = if io_first { self.io.pop() } else { self.heap.pop() };
        self.took_one();
        first.map(|d| (d.key.0, d.event))
    }
    /// When the next device request ends.
    pub(in crate::machine) fn next_io(&self) -> SimTime {
        self.io.peek().map_or(SimTime::NEVER, |d| d.key.0)
    }
    /// Takes the next end of a request that is due at `now`: an interrupt.
    pub(in crate::machine) fn pop_io(&mut self, now: SimTime) -> Option<IoDone> {
        if self.io.peek().is_none_or(|d| d.key.0 > now) {
            return None;
        }
        let first = self.io.pop();
        self.took_one();
        first.map(|d| match d.event {
            Event::Io(done) => done,
            other => unreachable!("{other:?} among device requests"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_leave_by_class_then_in_order_of_arrival() {
        let mut q = Queue::default();
        let t = SimTime(5);
        q.push(t, Event::Kswapd(NodeId(0), 1));
        q.push(t, Event::Wake(ThreadId(2), 0));
        q.push(t, Event::Wake(ThreadId(1), 0));
        q.push(t, Event::Io(IoDone::Read(crate::base::id::Pfn(9))));
        q.push(SimTime(4), Event::Flusher(DiskId(0)));
        assert_eq!(q.next(), SimTime(4));
        let order: Vec<Event> = std::iter::from_fn(|| {
            let next = q.next();
            q.pop().inspect(|e| assert_eq!(e.0, next)).map(|e| e.1)
        })
        .collect();
        assert_eq!(q.next(), SimTime::NEVER);
        assert_eq!(
            order,
            [
                Event::Flusher(DiskId(0)),
                Event::Io(IoDone::Read(crate::base::id::Pfn(9))),
                Event::Wake(ThreadId(2), 0),
                Event::Wake(ThreadId(1), 0),
                Event::Kswapd(NodeId(0), 1),
            ]
        );
    }
}
