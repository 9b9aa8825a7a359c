//! The monitoring attributes: intervals and numbers of regions of a context.
//!
//! An *aggregation* is the time after which the samples of a region are counted up, reported and
//! forgotten. A *window* is how many samples an aggregation has, so the largest number of accesses
//! that a region can show. All intervals are in µs, as users write them.
//!
//! Attributes can change while a context runs. Counts and ages that were collected under the old
//! ones are then converted ([`update_result`]), so that they keep their meaning.
//!
//! Linux 6.12 `mm/damon/core.c` (`damon_set_attrs()` and the functions that it calls) and
//! `include/linux/damon.h`. One rule is of about 6.17: a change in the middle of an aggregation
//! converts the count of the last one, and what was counted of the running one is dropped. 6.12
//! converts the running count and leaves the last one as it was, whereby the moving count can
//! fall below zero and become huge.

use crate::config::{DamonConfig, IntervalClock};
use crate::error::DamonError;
use crate::region::Region;

/// Goal of [tuning intervals](crate::tuning) (`struct damon_intervals_goal`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntervalsGoal {
    /// Share of all visible accesses that is to be seen, in 1/10000.
    pub access_bp: u64,
    /// Aggregations between two changes; 0: none are made.
    pub aggrs: u64,
    /// The shortest and the longest sampling interval, in µs.
    pub sample_us: (u64, u64),
}

impl IntervalsGoal {
    /// That of the modules, but for the share.
    pub const fn of_modules(access_bp: u64) -> IntervalsGoal {
        IntervalsGoal { access_bp, aggrs: 3, sample_us: (5_000, 10_000_000) }
    }
}

/// The monitoring attributes (`struct damon_attrs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitoringAttrs {
    /// Time between two samples, in µs. 0 is taken for 1 wherever it divides.
    pub sample_us: u64,
    /// Time of an aggregation, in µs.
    pub aggr_us: u64,
    /// Time between two updates of the monitored ranges, in µs. 0: with every sample.
    pub ops_update_us: u64,
    /// Regions there should at least be, 3 or more: no region grows by merging beyond the
    /// monitored bytes divided by this.
    pub min_nr_regions: u32,
    /// Regions there may be at most.
    pub max_nr_regions: u32,
    /// Bytes of the smallest region, a power of two: a page, or 1 in the kernel's own tests.
    pub min_region: u64,
    /// Goal that the intervals are tuned for; none: they stay.
    pub tuning: Option<IntervalsGoal>,
}

impl MonitoringAttrs {
    /// The defaults of Linux 6.12: 5 ms, 100 ms, 60 s, 10 to 1000 regions of at least a page.
    pub const DEFAULT: MonitoringAttrs = MonitoringAttrs {
        sample_us: 5_000,
        aggr_us: 100_000,
        ops_update_us: 60_000_000,
        min_nr_regions: 10,
        max_nr_regions: 1000,
        min_region: 4096,
        tuning: None,
    };

    /// The sampling interval where it divides, in µs.
    pub fn sample_divisor(&self) -> u64 {
        self.sample_us.max(1)
    }

    /// Number of sampling intervals in `us`.
    pub fn samples_in(&self, us: u64) -> u64 {
        us / self.sample_divisor()
    }

    /// Samples in an aggregation, 1 to 2^32 - 1 (`damon_max_nr_accesses()`).
    pub fn window(&self) -> u32 {
        self.samples_in(self.aggr_us).clamp(1, u64::from(u32::MAX)) as u32
    }

    /// Checks that a context can work with these. An aggregation shorter than a sample is an error
    /// only since kernels count samples.
    ///
    /// # Errors
    /// [`DamonError::InvalidAttrs`] with what is wrong.
    pub fn validate(&self, config: &DamonConfig) -> Result<(), DamonError> {
        let counts_samples = config.interval_clock == IntervalClock::SampleCount;
        let (shortest, longest) = self.tuning.map_or((0, u64::MAX), |goal| goal.sample_us);
        let wrong = [
            (self.min_nr_regions < 3, "min_nr_regions is below 3"),
            (self.min_nr_regions > self.max_nr_regions, "min_nr_regions exceeds max_nr_regions"),
            (
                counts_samples && self.sample_us > self.aggr_us,
                "the sampling interval exceeds the aggregation interval",
            ),
            (!self.min_region.is_power_of_two(), "min_region is not a power of two"),
            (
                self.tuning.is_some() && !config.interval_tuning,
                "this kernel does not tune intervals",
            ),
            (
                self.sample_us < shortest || longest < self.sample_us,
                "the sampling interval is not within those of its tuning",
            ),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(DamonError::InvalidAttrs(why)),
            None => Ok(()),
        }
    }

    /// The largest multiple of `min_region` up to `n`.
    pub fn align_down(&self, n: u64) -> u64 {
        align_down(n, self.min_region)
    }
}

/// The largest multiple of `unit`, a power of two, up to `n`.
pub(crate) fn align_down(n: u64, unit: u64) -> u64 {
    n & !(unit - 1)
}

/// The smallest multiple of `unit`, a power of two, from `n`.
pub(crate) fn align_up(n: u64, unit: u64) -> u64 {
    align_down(n.saturating_add(unit - 1), unit)
}

/// Accesses as a rate in 1/10000 (`damon_nr_accesses_to_accesses_bp()`).
pub fn nr_accesses_to_bp(nr_accesses: u32, attrs: &MonitoringAttrs) -> u32 {
    (u64::from(nr_accesses) * 10_000 / u64::from(attrs.window())) as u32
}

fn bp_to_nr_accesses(bp: u32, attrs: &MonitoringAttrs) -> u32 {
    (u64::from(bp) * u64::from(attrs.window()) / 10_000) as u32
}

/// Converts what a region shows from `old` to `new` attributes: the rate of accesses and the age
/// in seconds stay. `aggregating`: the change falls inside an aggregation; what was counted of it
/// is dropped. Nothing is converted if an interval is 0.
pub fn update_result(
    region: &mut Region,
    old: &MonitoringAttrs,
    new: &MonitoringAttrs,
    aggregating: bool,
) {
    if [old.sample_us, old.aggr_us, new.sample_us, new.aggr_us].contains(&0) {
        return;
    }
    let convert = |nr| bp_to_nr_accesses(nr_accesses_to_bp(nr, old), new);
    if aggregating {
        region.last_nr_accesses = convert(region.last_nr_accesses);
        region.nr_accesses_bp = region.last_nr_accesses.wrapping_mul(10_000);
        region.nr_accesses = 0;
    } else {
        region.nr_accesses = convert(region.nr_accesses);
        region.nr_accesses_bp = region.nr_accesses.wrapping_mul(10_000);
    }
    let age = u128::from(region.age) * u128::from(old.aggr_us) / u128::from(new.aggr_us);
    region.age = age.min(u128::from(u32::MAX)) as u32;
}
