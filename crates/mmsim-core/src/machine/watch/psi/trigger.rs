//! Triggers: a reader is woken when stalls within a window reach a threshold.
//!
//! While some thread stalls, the kernel looks ten times in the smallest window of a file. The growth
//! of a window is that of its total, and a part of the window before: the part that a full window
//! ending now would reach into it. A look behind the end of a window begins the next one, and counts
//! all that grew until then. So stalls slightly below the threshold may fire.
//!
//! Source: Linux 6.12 kernel/sched/psi.c (`window_update`, `update_triggers`, `psi_rtpoll_work`,
//! `init_rtpoll_triggers`). Deviations: looks come exactly after a tenth of the window, not up to a
//! tick later; reading the file between two looks does not move the trigger's total.

use crate::base::time::{SimDuration, SimTime};
use crate::workload::{Stall, TriggerSpec};

/// Looks in a window (`UPDATES_PER_WINDOW`).
const LOOKS: u64 = 10;

/// A window that slides with the looks at it. Times and totals are in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Window {
    began: u64,
    /// The total when it began.
    total: u64,
    /// Growth of the window before.
    before: u64,
}

impl Window {
    /// Growth within the last `size`.
    fn update(&mut self, now: u64, total: u64, size: u64) -> u64 {
        let (elapsed, growth) = (now - self.began, total - self.total);
        if elapsed > size {
            *self = Window { began: now, total, before: growth };
            return growth;
        }
        let left = u128::from(self.before) * u128::from(size - elapsed);
        growth + (left / u128::from(size)) as u64
    }
}

/// A trigger, and where its window stands.
#[derive(Clone, Debug)]
struct Armed {
    spec: TriggerSpec,
    window: Window,
    /// The total at the look before.
    seen: u64,
    /// The threshold was reached, and no event was sent for it.
    pending: bool,
    fired: Option<u64>,
}

impl Armed {
    /// True if it fires at this look, where the total is `total`.
    fn fires(&mut self, now: u64, total: u64) -> bool {
        let grew = std::mem::replace(&mut self.seen, total) != total;
        if grew {
            let growth = self.window.update(now, total, self.spec.window.0);
            self.pending |= growth >= self.spec.threshold.0;
        }
        let rests = self.fired.is_some_and(|at| now < at + self.spec.window.0);
        let fires = self.pending && !rests;
        if fires {
            (self.pending, self.fired) = (false, Some(now));
        }
        fires
    }
}

/// The triggers of one pressure file.
#[derive(Clone, Debug, Default)]
pub(in crate::machine) struct Triggers {
    armed: Vec<Armed>,
    /// Until when looks go on without a new stall; 0: there are no looks.
    until: u64,
    /// Totals of some and full at the last look.
    seen: [u64; 2],
}

impl Triggers {
    /// Adds one, at these totals of some and full. Returns its number.
    pub(super) fn arm(&mut self, spec: TriggerSpec, now: SimTime, totals: [u64; 2]) -> usize {
        let seen = totals[usize::from(spec.stall == Stall::Full)];
        let window = Window { began: now.0, total: seen, before: 0 };
        self.armed.push(Armed { spec, window, seen, pending: false, fired: None });
        self.armed.len() - 1
    }
    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }
    /// The smallest window of all, and the time between two looks.
    fn smallest(&self) -> Option<(SimDuration, SimDuration)> {
        let window = self.armed.iter().map(|a| a.spec.window).min()?;
        Some((window, SimDuration((window.0 / LOOKS).max(1))))
    }
    /// A look at these totals of some and full. Returns the numbers of the triggers that fire, and
    /// when the next look is; `None`: when the next stall begins.
    pub(super) fn look(&mut self, now: SimTime, totals: [u64; 2]) -> (Vec<usize>, Option<SimTime>) {
        let Some((window, every)) = self.smallest() else { return (Vec::new(), None) };
        let total = |stall: Stall| totals[usize::from(stall == Stall::Full)];
        let watched = |of| self.armed.iter().any(|a| a.spec.stall == of);
        let seen = [Stall::Some, Stall::Full].map(|of| if watched(of) { total(of) } else { 0 });
        let next = Some(now + every);
        let grew = std::mem::replace(&mut self.seen, seen) != seen;
        let begins = now.0 > self.until;
        if grew {
            self.until = now.0 + window.0;
        } else if begins {
            self.until = 0;
            return (Vec::new(), None);
        }
        if grew && begins {
            for a in &mut self.armed {
                let total = total(a.spec.stall);
                (a.window, a.seen) = (Window { began: now.0, total, before: 0 }, total);
            }
            return (Vec::new(), next);
        }
        let fired = |(i, a): (usize, &mut Armed)| a.fires(now.0, total(a.spec.stall)).then_some(i);
        (self.armed.iter_mut().enumerate().filter_map(fired).collect(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> SimDuration {
        SimDuration::from_millis(n)
    }

    /// Tenths of a second at which a trigger with a window of 1 s fires under a steady share of
    /// stall, in thousandths, that begins with the first look.
    fn fires(threshold_ms: u64, share: u64) -> Vec<u64> {
        let mut triggers = Triggers::default();
        let (threshold, window) = (ms(threshold_ms), ms(1000));
        let spec = TriggerSpec { stall: Stall::Full, threshold, window };
        triggers.arm(spec, SimTime::ZERO, [0; 2]);
        let mut looks = |i: u64| {
            // The first stall begins a moment before the look that begins the windows.
            let total = 1 + i * 100_000_000 / 1000 * share;
            !triggers.look(SimTime(1 + i * 100_000_000), [total; 2]).0.is_empty()
        };
        (0..35).filter(|&i| looks(i)).collect()
    }

    /// Worked by hand: 6.9 % fire since the look at 1.1 s counts 1.1 s of stall.
    #[test]
    fn a_steady_share_fires_by_its_window() {
        let first = |threshold, share, n: usize| fires(threshold, share)[..n].to_vec();
        assert_eq!(first(70, 1000, 3), [1, 11, 21]);
        assert_eq!(first(70, 500, 2), [2, 12]);
        assert_eq!(first(70, 100, 2), [7, 17]);
        assert_eq!([80, 70, 69].map(|share| fires(70, share)[0]), [9, 10, 11]);
        assert_eq!(first(70, 64, 3), [11, 22, 33]);
        assert_eq!(fires(70, 60), []);
        assert_eq!(first(700, 1000, 2), [7, 17]);
        assert_eq!([710, 690].map(|share| fires(700, share)[0]), [10, 11]);
        assert_eq!(fires(700, 600), []);
    }

    /// Looks end when a whole window brought no stall, and begin anew with the next one, from nothing.
    #[test]
    fn looks_end_with_the_stalls() {
        let mut triggers = Triggers::default();
        let spec = TriggerSpec { stall: Stall::Some, threshold: ms(70), window: ms(1000) };
        triggers.arm(spec, SimTime::ZERO, [0; 2]);
        let mut look = |at: u64, total: u64| {
            let (fired, next) = triggers.look(SimTime(ms(at).0), [ms(total).0, 0]);
            (fired.len(), next.is_some())
        };
        assert_eq!(look(1, 1), (0, true));
        assert_eq!(look(101, 60), (0, true));
        assert_eq!([201, 301, 1101].map(|at| look(at, 60)), [(0, true); 3]);
        assert_eq!(look(1201, 60), (0, false));
        // 60 ms of the time before do not count any more.
        assert_eq!(look(5000, 61), (0, true));
        assert_eq!(look(5100, 91), (0, true));
        assert_eq!(look(5200, 132), (1, true));
    }
}
