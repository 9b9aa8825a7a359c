//! Intervals that find their own length.
//!
//! Where little is used, short intervals see next to nothing; where much is used, long ones say the
//! same of everything. So the user gives a monitor the share of all visible accesses that it is to
//! see: of bytes times samples in an aggregation, a number in 10,000. Every few aggregations its
//! intervals grow as far as less is seen, up to twice as long, or shrink, down to a half. How many
//! samples an aggregation has stays as the user set it.
//!
//! Linux 7.3 `mm/damon/core.c` (`kdamond_tune_intervals()` and what it calls); since 6.15.

use crate::attrs::{IntervalsGoal, MonitoringAttrs};
use crate::damos::goal;
use crate::region::{Region, Target};

/// Share of the goal that was seen, in 1/10000, with `aggr_samples` samples in an aggregation.
pub fn score(targets: &[Target], aggr_samples: u64, access_bp: u64) -> u64 {
    let regions = || targets.iter().flat_map(Target::regions);
    let bytes: u128 = regions().map(|r| u128::from(r.size())).sum();
    let seen = |r: &Region| u128::from(r.size()) * u128::from(r.nr_accesses);
    let seen: u128 = regions().map(seen).sum();
    let wanted = bytes * u128::from(aggr_samples) * u128::from(access_bp) / 10_000;
    (seen * 10_000 / wanted.max(1)).min(u128::from(u64::MAX)) as u64
}

/// Factor on intervals after such a score, in 1/10000: 5000 to 20000.
pub fn adaptation_bp(score: u64) -> u64 {
    let bp = goal::feed(100_000_000, score) / 10_000;
    // Halving is the most.
    if bp <= 10_000 { 5_000 + bp / 2 } else { bp }
}

/// The attributes after such a score; none: they are good as they are.
pub fn tuned(
    attrs: &MonitoringAttrs,
    goal: &IntervalsGoal,
    aggr_samples: u64,
    score: u64,
) -> Option<MonitoringAttrs> {
    let bp = adaptation_bp(score);
    let (shortest, longest) = goal.sample_us;
    let sample_us = (attrs.sample_us.saturating_mul(bp) / 10_000).min(longest).max(shortest);
    let aggr_us = sample_us.saturating_mul(aggr_samples);
    (bp != 10_000).then_some(MonitoringAttrs { sample_us, aggr_us, ..*attrs })
}
