//! Until when a thread may act on its own.

use crate::base::time::{SimDuration, SimTime};

/// Until when a thread may act before the run loop has to look who is next.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Deadline {
    /// The next event.
    pub due: SimTime,
    /// The earliest other CPU.
    pub other: SimTime,
    /// The end of the slice.
    pub slice: SimTime,
    /// Time by which hits may run ahead of others.
    pub run_ahead: SimDuration,
    /// A sample is to be taken when this one gets there: it pauses, and goes on.
    pub sample: SimTime,
}

impl Deadline {
    /// Before this a hit may begin, for a thread that acts since `start`.
    #[inline]
    pub(in crate::machine) fn hits_end(&self, start: SimTime) -> SimTime {
        // Of several earliest CPUs this one is first: it may at least begin an access.
        let ahead = (self.other + self.run_ahead).max(start + SimDuration(1));
        self.due.min(ahead).min(self.slice)
    }

    /// Before this a hit may begin without anybody to look.
    #[inline]
    pub(in crate::machine) fn pause(&self, start: SimTime) -> SimTime {
        self.hits_end(start).min(self.sample)
    }

    /// True if a thread that paused would have gone on: after a fault it would for as long as the
    /// run loop would come back to it, after hits up to their end.
    pub(in crate::machine) fn goes_on(&self, start: SimTime, now: SimTime) -> bool {
        let looks_at = self.due.min(self.other).min(self.slice);
        now < if now == start { looks_at } else { self.hits_end(start) }
    }

    /// True if a thread that acts since `start` may do now anything but hits.
    #[inline]
    pub(in crate::machine) fn may_act(&self, start: SimTime, now: SimTime) -> bool {
        now <= self.other && now < self.due || now == start
    }
}
