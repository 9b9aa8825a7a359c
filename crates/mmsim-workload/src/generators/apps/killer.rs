//! A killer that reads memory pressure, as Android's `lmkd` does.
//!
//! `lmkd` has the kernel watch how long threads are stalled on memory. A *partial* stall (`some` of
//! /proc/pressure/memory) and a *complete* one (`full`) have a threshold each, within windows of a
//! second. The kernel looks ten times a window. Stalls that reach the threshold are an event, of
//! which there is at most one a window. So pressure that lasts kills one app after the other, and a
//! victim has time to give its memory back. Windows follow one another; in a young window the one
//! before counts too, the less the older the young one is.
//!
//! Deviations. Every event kills. `lmkd` always kills on a complete stall; on a partial one it has a
//! look at watermarks, free swap and refaults of files first, and may let all apps live. It also
//! looks again every 10 or 100 ms after an event, which can only kill for these other reasons. The
//! kernel's look needs no thread; here a thread that is busy looks when it is done.
//!
//! Sources: Linux 6.12 kernel/sched/psi.c (`update_triggers`, `window_update`); AOSP
//! system/memory/lmkd (`ro.lmk.psi_partial_stall_ms`, 70 and with little memory 200;
//! `ro.lmk.psi_complete_stall_ms`, 700; `PSI_WINDOW_SIZE_MS`, 1000).

use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::workload::WorkloadCx;

/// The time within which stalls are counted, and the time from one event to the next.
pub const WINDOW: SimDuration = SimDuration::from_secs(1);

/// Both events of one phone.
pub(super) struct Killer {
    partial: Option<Trigger>,
    complete: Option<Trigger>,
}

impl Killer {
    /// One with these thresholds, of which 0 is none; without both there is no killer.
    pub(super) fn new(partial: SimDuration, complete: SimDuration) -> Option<Killer> {
        let trigger = |stall| (stall > SimDuration::ZERO).then(|| Trigger::new(stall));
        let (partial, complete) = (trigger(partial), trigger(complete));
        let any = partial.is_some() || complete.is_some();
        any.then_some(Killer { partial, complete })
    }

    /// True if an app has to die now.
    pub(super) fn looks(&mut self, cx: &WorkloadCx<'_>) -> bool {
        let totals = cx.pressure.totals(cx.now);
        let fires = |trigger: &mut Option<Trigger>, total_us| {
            trigger.as_mut().is_some_and(|t| t.fires(cx.now, total_us))
        };
        let partial = fires(&mut self.partial, totals.some_us);
        fires(&mut self.complete, totals.full_us) || partial
    }
}

/// One threshold, and where its window stands. Stalls are in microseconds.
struct Trigger {
    threshold: u64,
    window: Option<Window>,
    fired: Option<SimTime>,
}

struct Window {
    began: SimTime,
    /// The total when it began.
    total: u64,
    /// Stalls of the window before.
    before: u64,
}

impl Trigger {
    fn new(threshold: SimDuration) -> Trigger {
        Trigger { threshold: threshold.as_nanos() / 1000, window: None, fired: None }
    }

    /// True if stalls, of which there were `total` in all, are an event. The first look begins the
    /// first window.
    fn fires(&mut self, now: SimTime, total: u64) -> bool {
        let first = Window { began: now, total, before: 0 };
        let stalled = self.window.get_or_insert(first).stalled(now, total);
        let again = self.fired.is_none_or(|fired| now.since(fired) >= WINDOW);
        let fires = stalled >= self.threshold && again;
        if fires {
            self.fired = Some(now);
        }
        fires
    }
}

impl Window {
    /// Stalls within the last [`WINDOW`], as if those of the window before had been even.
    fn stalled(&mut self, now: SimTime, total: u64) -> u64 {
        let age = now.since(self.began);
        // A period of the meter weighs its CPUs anew at each look: a total may go back a little.
        let own = total.saturating_sub(self.total);
        if age > WINDOW {
            *self = Window { began: now, total, before: own };
            return own;
        }
        let left = WINDOW.as_nanos() - age.as_nanos();
        own + (u128::from(self.before) * u128::from(left) / u128::from(WINDOW.as_nanos())) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> SimTime {
        SimTime(n * 1_000_000)
    }

    /// 70 ms within a second, looked at every 100 ms; stalls from the start are what a look at
    /// 0 ms finds, and no event.
    fn events(totals_ms: &[u64]) -> Vec<usize> {
        let mut trigger = Trigger::new(SimDuration::from_millis(70));
        let looks = totals_ms.iter().enumerate();
        looks.filter(|(i, t)| trigger.fires(ms(100 * *i as u64), **t * 1000)).map(|l| l.0).collect()
    }

    #[test]
    fn stalls_that_reach_the_threshold_are_an_event() {
        assert_eq!(events(&[500, 500, 569, 570, 570]), [3]);
        assert_eq!(events(&[0, 30, 60, 69, 69, 69, 69, 69, 69, 69, 69]), []);
    }

    /// 20 ms in each tenth of a second: 80 ms after four of them, then one event a second.
    #[test]
    fn pressure_that_lasts_is_an_event_a_window() {
        let totals: Vec<u64> = (0..35).map(|i| 20 * i).collect();
        assert_eq!(events(&totals), [4, 14, 24, 34]);
    }

    /// Of 66 ms at the end of a window, which ends with the look at 1100 ms, eight tenths count 200
    /// ms later: 52.8 ms. With 17 ms they are too few, with 18 ms they are not.
    #[test]
    fn the_window_before_counts_in_part() {
        let mut totals = vec![0; 11];
        totals.extend([66, 66, 66 + 17]);
        assert_eq!(events(&totals), []);
        totals[13] += 1;
        assert_eq!(events(&totals), [13]);
    }

    /// 6 ms in each tenth of a second are 66 ms in the longest window: too few.
    #[test]
    fn stalls_below_the_threshold_are_none() {
        let totals: Vec<u64> = (0..100).map(|i| 6 * i).collect();
        assert_eq!(events(&totals), []);
    }
}
