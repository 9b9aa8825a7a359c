//! Scores: which regions come first when a quota does not reach for all.
//!
//! A region's *hot* score is made of how often it was used and for how long it stayed so, by the
//! weights of the scheme; the *cold* score is what remains to the largest one. Ages count by the
//! powers of two of their seconds, so scores are coarse. From the sizes of the regions of each
//! score a threshold follows: the lowest score at which the quota is spoken for. Regions at or
//! above it are then served in the order of addresses, not of scores.
//!
//! Linux 6.12 `mm/damon/ops-common.c`, and `damos_adjust_quota()` in `mm/damon/core.c`.

use super::quota::Quota;
use crate::attrs::MonitoringAttrs;

/// The largest score (`DAMOS_MAX_SCORE`).
pub const MAX_SCORE: u32 = 99;

/// By what regions are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScoreKind {
    /// Those used most first.
    Hot,
    /// Those used least first.
    Cold,
    /// All have the largest score.
    Flat,
}

/// Heat of a region, 0 to 99, with `nr_accesses` accesses for `age` aggregations.
///
/// The weights are those of the quota; the weight of the size is not used.
pub fn hot_score(nr_accesses: u32, age: u32, attrs: &MonitoringAttrs, quota: &Quota) -> u32 {
    let frequency = u64::from(nr_accesses) * 100 / u64::from(attrs.window());
    // The kernel keeps the seconds in 32 bits.
    let seconds = (u128::from(age) * u128::from(attrs.aggr_us) / 1_000_000) as u32;
    let bits = i64::from(u32::BITS - seconds.leading_zeros());
    // What was not used is the colder the longer it was not.
    let signed = if frequency == 0 { -bits } else { bits };
    let age = (32 + signed) as u64 * 100 / 32 / 2;
    let (w_nr, w_age) = (u64::from(quota.weight_nr_accesses), u64::from(quota.weight_age));
    let sum = u128::from(w_nr) * u128::from(frequency) + u128::from(w_age) * u128::from(age);
    let hotness = sum.checked_div(u128::from(w_nr + w_age)).unwrap_or(0);
    (hotness * u128::from(MAX_SCORE) / 100).min(u128::from(MAX_SCORE)) as u32
}

/// The score of a region, 0 to 99.
pub fn score(
    kind: ScoreKind,
    nr_accesses: u32,
    age: u32,
    attrs: &MonitoringAttrs,
    quota: &Quota,
) -> u32 {
    match kind {
        ScoreKind::Hot => hot_score(nr_accesses, age, attrs, quota),
        ScoreKind::Cold => MAX_SCORE - hot_score(nr_accesses, age, attrs, quota),
        ScoreKind::Flat => MAX_SCORE,
    }
}

/// Bytes of matching regions by score.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram([u64; MAX_SCORE as usize + 1]);

impl Histogram {
    /// No region.
    pub fn new() -> Histogram {
        Histogram([0; MAX_SCORE as usize + 1])
    }

    /// Adds a region.
    pub fn add(&mut self, score: u32, bytes: u64) {
        self.0[score as usize] += bytes;
    }

    /// The score at and above which regions have at least `esz` bytes together; 0 if all have
    /// fewer. At most the largest score found.
    pub fn min_score(&self, esz: u64) -> u32 {
        let highest = self.0.iter().rposition(|&bytes| bytes > 0).unwrap_or(0);
        let mut sum = 0;
        for score in (1..=highest).rev() {
            sum += self.0[score];
            if sum >= esz {
                return score as u32;
            }
        }
        0
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}
