//! The part that each disk has in the writes of a domain: how many of its dirty pages may be of
//! that disk.
//!
//! Every page that was written counts for its disk, and all counts are halved every three seconds,
//! so that a disk's part follows its speed. A machine with one disk keeps no counts: that disk has
//! all of it.
//!
//! Source: Linux 6.12 mm/page-writeback.c (`wb_domain_writeout_add`, `__wb_calc_thresh`),
//! lib/flex_proportions.c. Left out: that a period begins with the first write after a quiet time;
//! here they are those of the machine's clock. `bdi/min_ratio` and `max_ratio`.

use crate::base::id::{DiskId, Idx as _};
use crate::base::time::SimTime;

/// A period (`VM_COMPLETIONS_PERIOD_LEN`: 3 s).
const PERIOD: u64 = 3_000_000_000;

/// Writes of the disks in one domain.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// By disk; none on a machine with one.
    writes: Vec<u64>,
    /// Periods that the counts have seen.
    periods: u64,
}

impl Shares {
    /// No writes yet, of `disks` disks.
    pub(crate) fn new(disks: usize) -> Self {
        Shares { writes: vec![0; if disks > 1 { disks } else { 0 }], periods: 0 }
    }

    /// Halvings that are due.
    fn due(&self, now: SimTime) -> u32 {
        (now.0 / PERIOD).saturating_sub(self.periods).min(63) as u32
    }

    /// A page was written.
    pub(crate) fn wrote(&mut self, disk: DiskId, now: SimTime) {
        if self.writes.is_empty() {
            return;
        }
        let due = self.due(now);
        self.writes.iter_mut().for_each(|n| *n >>= due);
        self.periods = self.periods.max(now.0 / PERIOD);
        self.writes[disk.index()] += 1;
    }

    /// The part of `pages` that a disk has; none while nothing was written of late.
    pub(crate) fn of(&self, disk: DiskId, pages: u64, now: SimTime) -> u64 {
        if self.writes.is_empty() {
            return pages;
        }
        let due = self.due(now);
        let all: u64 = self.writes.iter().map(|n| n >> due).sum();
        let own = self.writes[disk.index()] >> due;
        (u128::from(pages) * u128::from(own) / u128::from(all.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: of 400 pages, disks that wrote 30 and 10 have 300 and 100; a period later
    /// 15 and 5, so 20 more writes of the second make it 15 to 25.
    #[test]
    fn parts_follow_writes_and_forget_half_a_period() {
        let mut s = Shares::new(2);
        let parts = |s: &Shares, now| [0, 1].map(|d| s.of(DiskId(d), 400, SimTime(now)));
        assert_eq!(parts(&s, 0), [0, 0]);
        (0..30).for_each(|_| s.wrote(DiskId(0), SimTime(1)));
        (0..10).for_each(|_| s.wrote(DiskId(1), SimTime(2)));
        assert_eq!(parts(&s, 3), [300, 100]);
        (0..20).for_each(|_| s.wrote(DiskId(1), SimTime(PERIOD)));
        assert_eq!(parts(&s, PERIOD), [150, 250]);
        // 15 and 25 halved five times are nothing: nothing was written for 15 s.
        assert_eq!(parts(&s, 6 * PERIOD), [0, 0]);
        assert_eq!(Shares::new(1).of(DiskId(0), 400, SimTime(9)), 400);
    }
}
