//! Configuration of DAMON: one knob per decision that a kernel release or a fix changed.
//!
//! The points of this space that kernels shipped are the [presets](PRESETS). Some knobs decide what
//! a machine does under a context, or how its records are written; they are read there, and only
//! held here.
//!
//! There is no `Default`: the caller says which kernel it means.

mod presets;

pub use mmsim_core::base::settings::{KnobError, Row, Settings};
pub use presets::{PRESETS, Preset, preset, preset_for_kernel};

use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::{settings, words};

words! {
    /// Clock that ends an aggregation.
    IntervalClock {
        Wall = "wall",
            "The clock: work makes an aggregation hold fewer samples. Schemes are applied at its end \
             only.";
        SampleCount = "sample-count",
            "The samples taken: work makes it longer. Every scheme has an interval of its own.";
    }
    /// Action when regions are too many after merging.
    MergeCap {
        None = "none", "Nothing.";
        RetryAgeEachPass = "retry-age-each-pass",
            "They are merged again with a doubled threshold; each walk makes them older.";
        RetryAgeOnce = "retry-age-once",
            "So they are, with the largest count as the last threshold; only the first walk makes \
             them older.";
    }
    /// Which count is compared to a scheme's access pattern.
    PatternCounter {
        NrAccesses = "nr-accesses", "That of the running aggregation.";
        Moving = "moving", "The moving sum over the last window of samples.";
        WindowSum = "window-sum",
            "That of the running aggregation, and of the last one the share that its remaining \
             samples are.";
    }
    /// Which count scores are made of.
    ScoreCounter {
        NrAccesses = "nr-accesses", "That of the running aggregation.";
        Pattern = "pattern", "The one that patterns are compared to.";
    }
    /// Which regions are cut at random when an aggregation is over.
    SplitRule {
        UpToHalf = "up-to-half", "All, up to half of the regions that may be; then none.";
        PartialAboveHalf = "partial-above-half",
            "Above half of them one region in a few is cut, each time another one, so that about \
             the largest number results.";
    }
    /// Use of the least number of regions.
    MinRegions {
        MergeLimit = "merge-limit", "No region grows by merging beyond its share.";
        Enforced = "enforced", "Regions larger than that are cut, too.";
    }
    /// Where a scheme goes on after a window whose quota was used up.
    Resume {
        Plus1SkipLast = "plus1-skip-last",
            "One byte behind the last region, so that the next one loses its first page; nowhere if \
             the walk reaches the last region first. A walk does not see regions that it cut off.";
        Exact = "exact",
            "At the end of the last region. A walk sees regions that it cut off.";
    }
    /// When the first charge window begins.
    FirstWindow {
        AtOnce = "at-once", "With the first pass.";
        Unlimited = "unlimited", "A window after the first pass; until then nothing is limited.";
    }
    /// Meaning of the first look at stall time for a goal, and after new parameters.
    FirstPsi {
        Total = "total",
            "All stall time since boot: the quota begins at its least. New parameters keep the last \
             look.";
        Neutral = "neutral",
            "Nothing: the quota stays as it is. After new parameters the next look is the first again.";
    }
    /// The least that a time quota allows.
    EszFloor {
        None = "none", "Nothing: a quota that comes out as 0 limits nothing.";
        MinRegion = "min-region", "The smallest region, also where goals ask for less.";
        TimePart = "time-part", "The smallest region; goals may ask for less.";
    }
    /// When a window is limited.
    QuotaSet {
        Esz = "esz", "If its quota is not 0 bytes. It is used up when all of it is charged.";
        Configured = "configured",
            "If a quota of any kind is set; 0 bytes are then nothing. It is used up when less than \
             the smallest region remains.";
    }
    /// Sleep of a context with several schemes that waits for their watermarks.
    WmarkWait {
        OrderBug = "order-bug",
            "As long as the schemes ask, but an active scheme is forgotten if an inactive one \
             follows.";
        Min = "min", "Not at all if a scheme is active.";
    }
    /// Check of a page by paging out in physical memory.
    PageoutRef {
        Respect = "respect", "Reclaim's own check of references.";
        YoungFilter = "young-filter", "Checks if it was used since it was last marked old.";
    }
    /// Action that moves a page up.
    LruPrio {
        MarkAccessed = "mark-accessed", "It is accessed once, as by a system call.";
        Activate = "activate", "It becomes an active one.";
    }
    /// Name of a target in records.
    TraceTarget {
        Handle = "handle", "By a number that looks like the address of a kernel object.";
        Index = "index", "By its index.";
    }
    /// Draw of a sampling address in a region above 4 GiB.
    Rand32 {
        Prandom = "prandom",
            "In the first size mod 4 GiB bytes; at the first byte if that is 0.";
        Truncated = "truncated",
            "In the first size mod 4 GiB bytes; in the first 4 GiB if that is 0.";
        Uniform = "uniform", "In all of it.";
    }
}

settings! {
    /// The knobs of DAMON. Every field has one name in scenario files: the same with dashes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct DamonConfig {
        /// Clock that ends an aggregation.
        interval_clock as "interval-clock": IntervalClock =
            IntervalClock::Wall, "6.12" => IntervalClock::SampleCount,
            .kernel("passed_sample_intervals")
            .source("mm/damon/core: use number of passed access sampling as a timer (Linux 6.7)");
        /// Action when regions are too many after merging.
        merge_cap as "merge-cap": MergeCap =
            MergeCap::None, "6.1" => MergeCap::RetryAgeOnce, "6.18" => MergeCap::RetryAgeEachPass,
            "7.3" => MergeCap::RetryAgeOnce,
            .kernel("kdamond_merge_regions")
            .source(
                "mm/damon/core: merge regions aggressively when max_nr_regions is unmet (Linux \
                 6.10); Linux 7.3 mm/damon/core.c, kdamond_merge_regions()",
            );
        /// Makes a region new again when its accesses begin or end, however few they are.
        age_zero_rule as "age-zero-rule": bool = false, "6.18" => true,
            .kernel("damon_merge_regions_of")
            .source("Linux 6.18 mm/damon/core.c, damon_merge_regions_of()");
        /// Lets a region that is cut off inherit the running counts.
        split_copies_counts as "split-copies-counts": bool = false, "6.12" => true,
            .kernel("damon_split_region_at")
            .source("mm/damon/core: handle nr_accesses and its moving sum at splits (Linux 6.7)");
        /// Which count is compared to access patterns.
        pattern_counter as "pattern-counter": PatternCounter =
            PatternCounter::NrAccesses, "6.12" => PatternCounter::Moving,
            "7.3" => PatternCounter::WindowSum,
            .kernel("nr_accesses_bp")
            .source(
                "mm/damon/core: use pseudo-moving sum for nr_accesses (Linux 6.7); Linux 7.3 \
                 mm/damon/core.c, damon_nr_accesses_mvsum()",
            );
        /// Which count scores are made of.
        score_counter as "score-counter": ScoreCounter =
            ScoreCounter::Pattern, "6.18" => ScoreCounter::NrAccesses,
            "7.3" => ScoreCounter::Pattern,
            .kernel("damon_hot_score")
            .source("Linux 6.18 and 7.3 mm/damon/ops-common.c, damon_hot_score()");
        /// Lets a context tune the length of its intervals.
        interval_tuning as "interval-tuning": bool = false, "6.18" => true,
            .kernel("kdamond_tune_intervals")
            .source("Linux 6.18 mm/damon/core.c, kdamond_tune_intervals() (since 6.15)");
        /// Which regions are cut at random.
        split_rule as "split-rule": SplitRule =
            SplitRule::UpToHalf, "7.3" => SplitRule::PartialAboveHalf,
            .kernel("kdamond_split_regions")
            .source("Linux 7.3 mm/damon/core.c, damon_split_some_regions()");
        /// Cuts large regions for the least number of regions.
        min_regions as "min-regions": MinRegions =
            MinRegions::MergeLimit, "7.3" => MinRegions::Enforced,
            .kernel("damon_apply_min_nr_regions")
            .source("Linux 7.3 mm/damon/core.c, damon_apply_min_nr_regions()");
        /// Merges regions that a quota cut again in the same pass, if nothing is lost by it.
        merge_slices as "merge-slices": bool = false, "7.3" => true,
            .source("Linux 7.3 mm/damon/core.c, damos_apply_target()");
        /// Where a scheme goes on after its quota was used up.
        resume: Resume =
            Resume::Plus1SkipLast, "6.1" => Resume::Exact, "6.18" => Resume::Plus1SkipLast,
            "7.3" => Resume::Exact,
            .kernel("charge_target_from, charge_addr_from")
            .source(
                "mm/damon/schemes: skip already charged targets and regions (Linux 5.16); fixes in \
                 stable kernels 6.1 and 6.12",
            );
        /// When the first charge window begins.
        first_window as "first-window": FirstWindow =
            FirstWindow::AtOnce, "6.12" => FirstWindow::Unlimited, "6.18" => FirstWindow::AtOnce,
            .kernel("charged_from")
            .source("mm/damon/core: initialize charged_from (stable kernels 6.12)");
        /// Meaning of the first look at stall time for a goal.
        first_psi as "first-psi": FirstPsi = FirstPsi::Total, "7.3" => FirstPsi::Neutral,
            .source(
                "Linux 7.3 mm/damon/core.c, damos_set_psi_current_val() and \
                 damos_commit_quota_goal_union()",
            );
        /// The least that a time quota allows.
        esz_floor as "esz-floor": EszFloor =
            EszFloor::None, "6.1" => EszFloor::MinRegion, "6.18" => EszFloor::None,
            "7.3" => EszFloor::TimePart,
            .kernel("damos_set_effective_quota")
            .source(
                "mm/damon/core: avoid a quota of zero bytes (Linux 6.1, stable kernels); Linux 7.3 \
                 mm/damon/core.c, damos_set_effective_quota()",
            );
        /// When a window is limited.
        quota_set as "quota-set": QuotaSet = QuotaSet::Esz, "7.3" => QuotaSet::Configured,
            .kernel("damos_quota_is_set")
            .source("Linux 7.3 mm/damon/core.c, damos_quota_is_set() and damos_quota_is_full()");
        /// Lets a scheme count how often it came to the end of a target, and stop after a number of
        /// times.
        count_snapshots as "count-snapshots": bool = false, "7.3" => true,
            .kernel("max_nr_snapshots")
            .source("Linux 7.3 mm/damon/core.c, damon_do_apply_schemes() (since 7.0 or 7.1)");
        /// Gives a quota to the regions with the best score first.
        prioritization: bool = true,
            .kernel("damos_adjust_quota")
            .source("mm/damon/schemes: prioritize regions within the quotas (Linux 5.16)");
        /// Lets watermarks of free memory switch schemes.
        watermarks: bool = true,
            .kernel("damos_wmark_wait_us")
            .source(
                "mm/damon/schemes: activate schemes based on a watermarks mechanism (Linux 5.16)",
            );
        /// Sleep of a context with several schemes that waits for their watermarks.
        wmark_wait as "wmark-wait": WmarkWait = WmarkWait::OrderBug, "6.1" => WmarkWait::Min,
            .kernel("kdamond_wait_activation")
            .source("mm/damon/core: fix wrong comparison of minimum wait times (Linux 6.1)");
        /// Check of a page before it is paged out in physical memory.
        pageout_ref as "pageout-ref": PageoutRef =
            PageoutRef::Respect, "6.12" => PageoutRef::YoungFilter,
            .kernel("damon_pa_pageout")
            .source(
                "mm/damon/paddr: do page level access check for pageout DAMOS action on its own \
                 (Linux 6.10)",
            );
        /// Effect of moving a page up on the LRU lists.
        lru_prio as "lru-prio": LruPrio = LruPrio::MarkAccessed, "7.3" => LruPrio::Activate,
            .kernel("damon_pa_de_activate")
            .source("Linux 7.3 mm/damon/paddr.c, damon_pa_de_activate()");
        /// Sees accesses to hugetlb pages in processes.
        hugetlb_check as "hugetlb-check": bool = false, "6.1" => true,
            .kernel("damon_hugetlb_mkold")
            .source("mm/damon: add access checking for hugetlb pages (Linux 5.17)");
        /// Name of a target in records.
        trace_target as "trace-target": TraceTarget =
            TraceTarget::Handle, "6.1" => TraceTarget::Index,
            .source("mm/damon: hide kernel pointer from tracepoint event (Linux 5.17)");
        /// Gives records an age.
        trace_age as "trace-age": bool = false, "6.1" => true,
            .source("mm/damon: add 'age' of region tracepoint support (Linux 5.17)");
        /// Sleeps above this many µs are rounded up to ticks.
        sleep_hr_limit_us as "sleep-hr-limit-us": u32 = 100_000, "6.1" => 20_000,
            .range(0, 1_000_000)
            .kernel("kdamond_usleep")
            .source("mm/damon/core: use better timer mechanisms selection threshold (Linux 5.17)");
        /// Draw of a sampling address in a region above 4 GiB.
        rand32: Rand32 = Rand32::Prandom, "6.1" => Rand32::Truncated, "7.3" => Rand32::Uniform,
            .kernel("damon_rand")
            .source("include/linux/damon.h, damon_rand() (Linux 5.16 to 6.12, and 7.3)");
        /// The tick of the coarse clock that quotas are measured with, in µs; 0: an exact clock.
        coarse_tick_us as "coarse-tick-us": u32 = 4_000,
            .range(0, 100_000)
            .kernel("CONFIG_HZ")
            .source("CONFIG_HZ; 250 is usual");
        /// Rounds a quota down to whole smallest regions, so that it can be used up.
        aligned_esz as "aligned-esz": bool = false,
            .source("no kernel");
        /// Lets DAMON_LRU_SORT rank regions by their ages too.
        lru_sort_by_age as "lru-sort-by-age": bool = false, "7.3" => true,
            .source("Linux 7.3 mm/damon/lru_sort.c, damon_lru_sort_quota");
        /// Lets DAMON_RECLAIM lose its scheme while it is set up, as measured on 6.12.117.
        module_commit_drops_scheme as "module-commit-drops-scheme": bool = false,
            .source("Linux 6.12.117 mm/damon/reclaim.c");
    }
    presets PRESETS;
    check DamonConfig::contradiction;
}

impl DamonConfig {
    /// Every combination has a meaning.
    fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        None
    }

    /// Nanoseconds of a tick; 1 with an exact clock.
    fn tick_ns(&self) -> u64 {
        (u64::from(self.coarse_tick_us) * 1000).max(1)
    }

    /// Value of the coarse clock at `now`: the last tick (`ktime_get_coarse_ts64()`, jiffies).
    pub fn coarse(&self, now: SimTime) -> SimTime {
        SimTime(now.0 / self.tick_ns() * self.tick_ns())
    }

    /// A span rounded up to whole ticks (`msecs_to_jiffies()`, `usecs_to_jiffies()`).
    pub fn round_up(&self, span: SimDuration) -> SimDuration {
        SimDuration(span.as_nanos().div_ceil(self.tick_ns()).saturating_mul(self.tick_ns()))
    }

    /// Duration of a sleep of `us` µs: exactly so up to the limit, in ticks above
    /// (`kdamond_usleep()`; at least 1 µs, as a request for 0 would let no time pass at all).
    pub fn sleep(&self, us: u64) -> SimDuration {
        let exact = SimDuration(us.max(1).saturating_mul(1000));
        if us > u64::from(self.sleep_hr_limit_us) { self.round_up(exact) } else { exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 ms is slept exactly; a µs more takes the next tick of 4 ms.
    #[test]
    fn sleeps_are_exact_up_to_the_limit() {
        let c = DamonConfig::V6_12;
        assert_eq!(c.sleep(5_000), SimDuration::from_millis(5));
        assert_eq!(c.sleep(20_000), SimDuration::from_millis(20));
        assert_eq!(c.sleep(20_001), SimDuration::from_millis(24));
        assert_eq!(DamonConfig::V5_16.sleep(20_001), SimDuration::from_micros(20_001));
        assert_eq!(c.coarse(SimTime(7_999_999)), SimTime(4_000_000));
    }
}
