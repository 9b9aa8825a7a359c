//! Consequences of failures: runs are put off, learned state is forgotten, or runs are limited.
//!
//! The kernel puts off: after each failure it refuses twice as many requests as before, up to 63
//! of 64, for the order that failed and those above it. When it is at the most it forgets what
//! scanners learned of the zone and starts anew.
//!
//! The first two series of 2015 refuse no request; they only count failures, and forget after four.
//! The third keeps the kernel's counting, and turns the shift from a measure of refusals into one
//! of how far a run may go.
//!
//! Source: Linux 4.1 mm/compaction.c (`defer_compaction`, `compaction_deferred`,
//! `compaction_defer_reset`, `compaction_restarting`), and the series.

use crate::config::{CompactionConfig, Deferral};
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;

/// State of the failures in a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failures {
    /// Requests since the last failure (`compact_considered`).
    pub considered: u64,
    /// log2 of the requests to wait for after it (`compact_defer_shift`).
    pub shift: u32,
    /// The smallest order that failed (`compact_order_failed`).
    pub order_failed: u8,
    /// Failures in a row (`compact_failed`, where they are counted).
    pub failed: u32,
}

impl Failures {
    /// None yet. The third series starts with an order that no request reaches.
    pub fn none(rules: &CompactionConfig) -> Self {
        let all = rules.deferral == Deferral::Limit;
        let order_failed = if all { MAX_PAGE_ORDER + 1 } else { 0 };
        Failures { considered: 0, shift: 0, order_failed, failed: 0 }
    }

    /// True if a request of an order is refused. To ask counts as one.
    pub fn deferred(&mut self, rules: &CompactionConfig, order: u8) -> bool {
        if rules.deferral != Deferral::Defer || order < self.order_failed {
            return false;
        }
        let wait = 1 << self.shift;
        self.considered = (self.considered + 1).min(wait);
        self.considered < wait
    }

    /// A run for an order failed.
    pub fn note_failure(&mut self, rules: &CompactionConfig, order: u8) {
        if rules.deferral == Deferral::CountFailures {
            self.failed = if order < self.order_failed { 0 } else { self.failed + 1 };
        } else {
            self.considered = 0;
            self.shift = (self.shift + 1).min(rules.max_defer_shift);
        }
        self.order_failed = self.order_failed.min(order);
    }

    /// Notes that a run for an order seems to have succeeded; `got_page`: the request has its
    /// block.
    pub fn note_success(&mut self, order: u8, got_page: bool) {
        if got_page {
            self.considered = 0;
            self.shift = 0;
            self.failed = 0;
        }
        if order >= self.order_failed {
            self.order_failed = order + 1;
        }
    }

    /// True if it is time to forget the learned state of scanners.
    pub fn restarting(&self, rules: &CompactionConfig, order: u8) -> bool {
        let most = self.shift == rules.max_defer_shift;
        order >= self.order_failed
            && match rules.deferral {
                Deferral::Defer => most && self.considered >= 1 << self.shift,
                Deferral::CountFailures => self.failed >= rules.max_failed,
                Deferral::Limit => most,
            }
    }

    /// Forgets the learned state of scanners, because [`Failures::restarting`] said so.
    pub fn restarted(&mut self, rules: &CompactionConfig) {
        self.failed = 0;
        if rules.deferral == Deferral::Limit && self.shift == rules.max_defer_shift {
            self.shift = self.shift.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4_1: CompactionConfig = CompactionConfig::V4_1;

    /// Worked by hand: all runs fail, one question for each request. Run number n is request
    /// 2^n - 1 up to 127, then every 64th; the run at 127 is the first that starts anew.
    #[test]
    fn refusals_double_up_to_63_of_64() {
        let mut f = Failures::none(&V4_1);
        let (mut runs, mut anew) = (Vec::new(), Vec::new());
        for request in 1..=320 {
            if !f.deferred(&V4_1, 3) {
                runs.push(request);
                if f.restarting(&V4_1, 3) {
                    anew.push(request);
                }
                f.note_failure(&V4_1, 3);
            }
            assert!(f.shift <= 6);
        }
        assert_eq!(runs, [1, 3, 7, 15, 31, 63, 127, 191, 255, 319]);
        assert_eq!(anew, [127, 191, 255, 319]);
    }

    /// Worked by hand: two questions for each request, of which the second run fails; requests
    /// 2, 4, 8, 16, 32, 64 run once, then every 32nd.
    #[test]
    fn both_attempts_of_a_request_are_counted() {
        let mut f = Failures::none(&V4_1);
        let mut runs = Vec::new();
        for request in 1..=200 {
            let first = !f.deferred(&V4_1, 2);
            let second = !f.deferred(&V4_1, 2);
            if second {
                f.note_failure(&V4_1, 2);
            }
            if first || second {
                runs.push((request, first, second));
            }
        }
        let once = [2, 4, 8, 16, 32, 64, 96, 128, 160, 192].map(|r| (r, false, true));
        assert_eq!(runs[0], (1, true, true));
        assert_eq!(runs[1..], once);
    }

    #[test]
    fn smaller_orders_are_not_refused_and_a_page_resets() {
        let mut f = Failures::none(&V4_1);
        f.note_failure(&V4_1, 3);
        f.note_success(3, false);
        assert_eq!((f.shift, f.order_failed), (1, 4));
        assert!(!f.deferred(&V4_1, 3), "order 3 is expected to succeed");
        assert!(f.deferred(&V4_1, 4), "order 4 is not");
        f.note_success(4, true);
        assert!(!f.deferred(&V4_1, 5));
    }

    /// The first series counts: the first failure of a smaller order sets the order, four more
    /// forget.
    #[test]
    fn failures_are_counted_per_order() {
        let rules = CompactionConfig::V1_REDESIGN;
        let mut f = Failures::none(&rules);
        f.note_success(2, true);
        assert_eq!(f.order_failed, 3);
        let mut after = Vec::new();
        for _ in 0..5 {
            assert!(!f.deferred(&rules, 2));
            assert!(!f.restarting(&rules, 2));
            f.note_failure(&rules, 2);
            after.push((f.order_failed, f.failed));
        }
        assert_eq!(after, [(2, 0), (2, 1), (2, 2), (2, 3), (2, 4)]);
        assert!(f.restarting(&rules, 2) && !f.restarting(&rules, 1));
        f.restarted(&rules);
        assert!(!f.restarting(&rules, 2));
    }

    /// The third series: no refusal; at the most the zone starts anew, one step lower.
    #[test]
    fn failures_limit_in_the_third_series() {
        let rules = CompactionConfig::V3;
        let mut f = Failures::none(&rules);
        for n in 1..=6 {
            assert!(!f.deferred(&rules, 3) && !f.restarting(&rules, 3));
            f.note_failure(&rules, 3);
            assert_eq!(f.shift, n);
        }
        assert!(f.restarting(&rules, 3));
        f.restarted(&rules);
        assert_eq!(f.shift, 5);
    }
}
