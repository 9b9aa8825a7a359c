//! The end of an aggregation: neighbours that look alike are merged, each region is reported and
//! its count starts anew, and regions are cut at random places to see whether the parts differ.
//!
//! Merging and cutting are how regions come to follow the borders of what is used alike without
//! ever looking at every page. Cutting is blind, so a wrong cut is undone by the next merge; a
//! right one stays, for the parts then differ. A region's *age* tells for how many aggregations
//! its count stayed about the same; it is what tells memory that is cold from memory that was
//! missed once.
//!
//! Linux 6.12 `mm/damon/core.c`: `kdamond_merge_regions()`, `kdamond_reset_aggregated()`,
//! `kdamond_split_regions()`; Linux 7.3 where knobs say so.

use crate::attrs::{MonitoringAttrs, align_down, align_up};
use crate::config::{MergeCap, SplitRule};
use crate::region::{Region, Target};

/// Number of regions of all targets together.
pub fn nr_regions(targets: &[Target]) -> u64 {
    targets.iter().map(|t| t.regions.len() as u64).sum()
}

/// The size above which no region grows by merging: the monitored bytes divided by the number of
/// regions that there should at least be.
pub fn region_sz_limit(targets: &[Target], attrs: &MonitoringAttrs) -> u64 {
    let bytes: u64 = targets.iter().map(Target::bytes).sum();
    (bytes / u64::from(attrs.min_nr_regions.max(1))).max(attrs.min_region)
}

/// Cuts what is larger than the share that regions should have at most, their [size
/// limit](region_sz_limit) in whole smallest regions, into parts of that size. Returns it
/// (`damon_apply_min_nr_regions()`).
pub fn apply_min_nr_regions(
    targets: &mut [Target],
    attrs: &MonitoringAttrs,
    copies_counts: bool,
    scratch: &mut Vec<Region>,
) -> u64 {
    let limit = align_up(region_sz_limit(targets, attrs), attrs.min_region);
    for t in targets {
        scratch.clear();
        for mut r in t.regions.iter().copied() {
            while r.size() > limit {
                let right = r.split_off(limit, copies_counts);
                scratch.push(std::mem::replace(&mut r, right));
            }
            scratch.push(r);
        }
        std::mem::swap(&mut t.regions, scratch);
    }
    limit
}

/// Takes `right` into the region before it; counts and ages are averaged by size. The last count
/// of the left one stays.
fn absorb(left: &mut Region, right: &Region) {
    let (l, r) = (u128::from(left.size()), u128::from(right.size()));
    let mean = |a: u32, b: u32| ((u128::from(a) * l + u128::from(b) * r) / (l + r)) as u32;
    left.nr_accesses = mean(left.nr_accesses, right.nr_accesses);
    left.nr_accesses_bp = left.nr_accesses.wrapping_mul(10_000);
    left.age = mean(left.age, right.age);
    left.end = right.end;
}

/// Takes region `i + 1` into region `i` (`damon_merge_two_regions()`).
pub fn merge_two(target: &mut Target, i: usize) {
    let right = target.regions.remove(i + 1);
    absorb(&mut target.regions[i], &right);
}

/// One walk over a target: merges neighbours whose counts differ by at most `threshold` into
/// regions of at most `sz_limit` bytes. With `count_age` each region first grows older, or is new
/// again if its count moved by more than `threshold`; with `zero_rule` also if it was 0 or is 0
/// now, and not both (Linux 6.18).
///
/// A merged region is compared, with its new mean, to the region after it.
pub fn merge_regions_of(
    target: &mut Target,
    threshold: u32,
    sz_limit: u64,
    count_age: bool,
    zero_rule: bool,
) {
    let regions = &mut target.regions;
    let mut kept = 0;
    for i in 0..regions.len() {
        let mut r = regions[i];
        if count_age {
            let moved = r.nr_accesses.abs_diff(r.last_nr_accesses) > threshold;
            let began_or_ended = (r.nr_accesses == 0) != (r.last_nr_accesses == 0);
            let new = moved || zero_rule && began_or_ended;
            r.age = if new { 0 } else { r.age.saturating_add(1) };
        }
        match regions[..kept].last_mut() {
            Some(prev)
                if prev.end == r.start
                    && prev.nr_accesses.abs_diff(r.nr_accesses) <= threshold
                    && prev.size() + r.size() <= sz_limit =>
            {
                absorb(prev, &r);
            }
            _ => {
                regions[kept] = r;
                kept += 1;
            }
        }
    }
    regions.truncate(kept);
}

/// Merges the regions of all targets; then, if there are still more than may be, again and again
/// with a doubled threshold, until it is as large as any count can be. Where each walk counts
/// ages it may become larger.
pub fn merge_regions(
    targets: &mut [Target],
    mut threshold: u32,
    sz_limit: u64,
    attrs: &MonitoringAttrs,
    cap: MergeCap,
    zero_rule: bool,
) {
    let largest = attrs.samples_in(attrs.aggr_us).min(u64::from(u32::MAX)) as u32;
    let mut count_age = true;
    loop {
        for t in &mut *targets {
            merge_regions_of(t, threshold, sz_limit, count_age, zero_rule);
        }
        let few = nr_regions(targets) <= u64::from(attrs.max_nr_regions);
        if cap == MergeCap::None || few || threshold >= largest {
            return;
        }
        count_age = cap == MergeCap::RetryAgeEachPass;
        let doubles = count_age || threshold < largest / 2;
        threshold = if doubles { threshold.saturating_mul(2).max(1) } else { largest };
    }
}

/// The count of every region becomes its last count and starts anew. The moving count goes on.
pub fn reset_aggregated(target: &mut Target) {
    for r in &mut target.regions {
        r.last_nr_accesses = r.nr_accesses;
        r.nr_accesses = 0;
    }
}

/// Cuts each region of a target into up to `pieces`. `draw` gives the tenths, 1 to 9, that the left
/// part is to have; the next cut divides the left part again. `scratch` is room that is kept from
/// call to call.
pub fn split_regions_of(
    target: &mut Target,
    pieces: u32,
    min_region: u64,
    copies_counts: bool,
    draw: &mut dyn FnMut() -> u64,
    scratch: &mut Vec<Region>,
) {
    scratch.clear();
    for mut r in target.regions.iter().copied() {
        let first = scratch.len();
        for _ in 1..pieces {
            let size = r.size();
            if size <= 2 * min_region {
                break;
            }
            if let Some(left) = left_part(size, draw(), min_region) {
                scratch.push(r.split_off(left, copies_counts));
            }
        }
        scratch.push(r);
        // Right parts were cut off first.
        scratch[first..].reverse();
    }
    std::mem::swap(&mut target.regions, scratch);
}

/// `tenths` tenths of a size in whole smallest regions; none if either part would be empty.
fn left_part(size: u64, tenths: u64, min_region: u64) -> Option<u64> {
    let left = align_down((u128::from(tenths) * u128::from(size) / 10) as u64, min_region);
    (0 < left && left < size).then_some(left)
}

/// Cuts one region in `step` in two, counted over all targets from `first` on
/// (`damon_split_some_regions()`).
fn split_some_regions(
    targets: &mut [Target],
    (first, step): (u64, u64),
    min_region: u64,
    copies_counts: bool,
    draw: &mut dyn FnMut() -> u64,
    scratch: &mut Vec<Region>,
) {
    let mut i = 0;
    for t in targets {
        scratch.clear();
        for mut r in t.regions.iter().copied() {
            let size = r.size();
            let draws = i % step == first && size >= 2 * min_region;
            if let Some(left) = draws.then(&mut *draw).and_then(|d| left_part(size, d, min_region))
            {
                let right = r.split_off(left, copies_counts);
                scratch.push(std::mem::replace(&mut r, right));
            }
            scratch.push(r);
            i += 1;
        }
        std::mem::swap(&mut t.regions, scratch);
    }
}

/// State that is kept from cuts to cuts. The kernel has one for all contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cuts {
    /// Regions before the last cuts; with [`SplitRule::PartialAboveHalf`] also if there were none.
    pub last_nr_regions: u64,
    /// Number of times that some of the regions were cut.
    pub turn: u64,
}

/// Cuts the regions of all targets in two; in three if their number is as it was before the last
/// cuts, so that two parts seem to be of no use. If there are more than half of the regions that
/// may be: nothing, or some, by the rule.
pub fn split_regions(
    targets: &mut [Target],
    cuts: &mut Cuts,
    rule: SplitRule,
    attrs: &MonitoringAttrs,
    copies_counts: bool,
    draw: &mut dyn FnMut() -> u64,
    scratch: &mut Vec<Region>,
) {
    let n = nr_regions(targets);
    let max = u64::from(attrs.max_nr_regions);
    if n <= max / 2 {
        let pieces = if n == cuts.last_nr_regions && n < max / 3 { 3 } else { 2 };
        for t in targets {
            split_regions_of(t, pieces, attrs.min_region, copies_counts, draw, scratch);
        }
        cuts.last_nr_regions = n;
    } else if rule == SplitRule::PartialAboveHalf {
        if n < max {
            let step = max / (max - n);
            let which = (cuts.turn % step, step);
            cuts.turn += 1;
            split_some_regions(targets, which, attrs.min_region, copies_counts, draw, scratch);
        }
        cuts.last_nr_regions = n;
    }
}
