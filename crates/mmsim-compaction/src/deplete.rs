//! Depletion: zones where compaction has become vain, and how little a run may do there.
//!
//! The series of 2015 wanted to replace deferral, which refuses whole runs, by short ones. The
//! time between two resets of what scanners know is a *cycle*. A cycle with too few successes
//! makes the zone depleted, and each further one makes it one deeper; with depth the number of
//! frames that a run may look at is halved. Enough successes within a cycle lift it.
//!
//! Source: the patches named at the knobs.

use crate::config::{CompactionConfig, DepleteThreshold, Depletion as Rule, ScanLimit};
use mmsim_core::base::settings::OrNumber::{self, Number, Word};

/// State of a zone's successes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Depletion {
    /// Runs in this cycle that ended with a block (`compact_success` of the zone).
    pub success: u32,
    /// The zone is depleted (`ZONE_COMPACTION_DEPLETED`).
    pub depleted: bool,
    /// Cycles that it has been so, less one.
    pub depth: u32,
    /// The last cycle had no success: targets may be of any type.
    pub scan_all_free: bool,
}

/// Number of successes that a cycle needs, in a zone of `managed` pages where requests of this
/// order and above fail.
pub fn threshold(rule: OrNumber<DepleteThreshold>, managed: u64, order_failed: u8) -> u64 {
    match rule {
        Number(successes) => successes.into(),
        Word(DepleteThreshold::One) => 1,
        Word(DepleteThreshold::BySize) => (managed >> order_failed >> 2 >> 7).max(4),
    }
}

/// Number of frames that a run may look at for sources, from depth 1 on; `None`: all. In the third
/// series the depth is the number of failures in a row.
pub fn limit(rules: &CompactionConfig, managed: u64, pageblock: u64, depth: u32) -> Option<u64> {
    let least = u64::from(rules.cluster_max);
    match rules.scan_limit {
        _ if depth == 0 => None,
        ScanLimit::Off => None,
        ScanLimit::V1 => Some(((managed >> 6 << 1).max(pageblock) >> depth).max(least)),
        ScanLimit::V2 => Some(((managed >> 2 >> 6).max(pageblock) >> depth).max(least)),
        ScanLimit::V3 => Some((managed >> 8 >> depth).max(pageblock)),
    }
}

impl Depletion {
    /// Depth that limits a run: 0 in a zone that is not depleted.
    pub fn limiting_depth(&self) -> u32 {
        if self.depleted { self.depth } else { 0 }
    }

    /// Forgets the learned state of scanners at the end of a cycle, which needed `threshold`
    /// successes.
    pub fn cycle_ended(&mut self, rule: Rule, threshold: u64) {
        let vain = u64::from(self.success) < threshold;
        let none = self.success == 0;
        self.scan_all_free = false;
        match rule {
            Rule::Off => return,
            _ if !vain => {}
            Rule::V1 if self.depleted => self.depth += 1,
            Rule::V2Intended if self.depleted => {
                self.depth += 1;
                self.scan_all_free = none;
            }
            Rule::V1 | Rule::V2Intended => (self.depleted, self.depth) = (true, 0),
            Rule::V2Literal => {
                self.depth += u32::from(self.depleted);
                // The `else` belongs to the inner test.
                if none {
                    self.scan_all_free = true;
                } else {
                    (self.depleted, self.depth) = (true, 0);
                }
            }
        }
        self.success = 0;
    }

    /// A run ended.
    pub fn run_ended(&mut self, threshold: u64) {
        if u64::from(self.success) >= threshold {
            self.depleted = false;
        }
        if self.success > 0 {
            self.scan_all_free = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANAGED: u64 = 124_160;

    /// Worked by hand: successes 40, 12, 0, 0, 0 in successive cycles of a zone of 485 MiB.
    #[test]
    fn cycles_as_worked_by_hand() {
        let redesign = CompactionConfig::V1_REDESIGN;
        let by_size = CompactionConfig::V1_THRESHOLD;
        let after = |rules: &CompactionConfig| {
            let t = threshold(rules.deplete_threshold, MANAGED, 3);
            let mut d = Depletion::default();
            [40, 12, 0, 0, 0].map(|successes| {
                d.success = successes;
                d.run_ended(t);
                d.cycle_ended(rules.depletion, t);
                (d.depleted, d.depth, limit(rules, MANAGED, 512, d.limiting_depth()))
            })
        };
        assert_eq!(threshold(Word(DepleteThreshold::BySize), MANAGED, 3), 30);
        assert_eq!(threshold(Word(DepleteThreshold::BySize), 64, 3), 4);
        let none = (false, 0, None);
        let want = [none, none, (true, 0, None), (true, 1, Some(1940)), (true, 2, Some(970))];
        assert_eq!(after(&redesign), want);
        let want = [
            none,
            (true, 0, None),
            (true, 1, Some(1940)),
            (true, 2, Some(970)),
            (true, 3, Some(485)),
        ];
        assert_eq!(after(&by_size), want);
    }

    /// Worked by hand: limits of the same zone by depth.
    #[test]
    fn limits_as_worked_by_hand() {
        let of = |rules: &CompactionConfig| -> Vec<u64> {
            (1..=7).filter_map(|depth| limit(rules, MANAGED, 512, depth)).collect()
        };
        assert_eq!(of(&CompactionConfig::V1_REDESIGN), [1940, 970, 485, 242, 121, 60, 32]);
        assert_eq!(of(&CompactionConfig::V2_LIMIT), [256, 128, 64, 32, 32, 32, 32]);
        assert_eq!(of(&CompactionConfig::V3), [512; 7]);
        assert_eq!(of(&CompactionConfig::V4_1), []);
    }

    /// As posted, a cycle without any success never depletes a zone; one with some does.
    #[test]
    fn the_second_series_as_posted_and_as_meant() {
        let after = |rule, successes: &[u32]| {
            let mut d = Depletion::default();
            for &s in successes {
                d.success = s;
                d.cycle_ended(rule, 4);
            }
            (d.depleted, d.depth, d.scan_all_free)
        };
        assert_eq!(after(Rule::V2Literal, &[0, 0, 0]), (false, 0, true));
        assert_eq!(after(Rule::V2Literal, &[1]), (true, 0, false));
        assert_eq!(after(Rule::V2Literal, &[1, 0, 0]), (true, 2, true));
        assert_eq!(after(Rule::V2Literal, &[1, 0, 0, 1]), (true, 0, false));
        assert_eq!(after(Rule::V2Intended, &[0]), (true, 0, false));
        assert_eq!(after(Rule::V2Intended, &[0, 0, 0]), (true, 2, true));
        assert_eq!(after(Rule::V2Intended, &[0, 0, 3]), (true, 2, false));
    }
}
