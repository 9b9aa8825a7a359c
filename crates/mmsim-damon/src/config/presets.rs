//! Named points of the knobs: what kernels shipped.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.

use super::{
    DamonConfig, EszFloor, FirstPsi, FirstWindow, IntervalClock, LruPrio, MergeCap, MinRegions,
    PageoutRef, PatternCounter, QuotaSet, Rand32, Resume, ScoreCounter, SplitRule, TraceTarget,
    WmarkWait,
};
use mmsim_core::base::settings::{self, Settings as _};
use mmsim_core::config::Kernel;

impl DamonConfig {
    /// Linux 5.16, the first with proactive reclamation.
    pub const V5_16: DamonConfig = DamonConfig {
        interval_clock: IntervalClock::Wall,
        merge_cap: MergeCap::None,
        age_zero_rule: false,
        split_copies_counts: false,
        pattern_counter: PatternCounter::NrAccesses,
        score_counter: ScoreCounter::Pattern,
        interval_tuning: false,
        split_rule: SplitRule::UpToHalf,
        min_regions: MinRegions::MergeLimit,
        merge_slices: false,
        resume: Resume::Plus1SkipLast,
        first_window: FirstWindow::AtOnce,
        first_psi: FirstPsi::Total,
        esz_floor: EszFloor::None,
        quota_set: QuotaSet::Esz,
        count_snapshots: false,
        prioritization: true,
        watermarks: true,
        wmark_wait: WmarkWait::OrderBug,
        pageout_ref: PageoutRef::Respect,
        lru_prio: LruPrio::MarkAccessed,
        hugetlb_check: false,
        trace_target: TraceTarget::Handle,
        trace_age: false,
        sleep_hr_limit_us: 100_000,
        rand32: Rand32::Prandom,
        coarse_tick_us: 4_000,
        aligned_esz: false,
        lru_sort_by_age: false,
        module_commit_drops_scheme: false,
    };
    /// Linux 6.1 with the fixes of its stable releases.
    pub const V6_1: DamonConfig = DamonConfig {
        merge_cap: MergeCap::RetryAgeOnce,
        resume: Resume::Exact,
        esz_floor: EszFloor::MinRegion,
        wmark_wait: WmarkWait::Min,
        hugetlb_check: true,
        trace_target: TraceTarget::Index,
        trace_age: true,
        sleep_hr_limit_us: 20_000,
        rand32: Rand32::Truncated,
        ..DamonConfig::V5_16
    };
    /// Linux 6.12 with the fixes of its stable releases.
    pub const V6_12: DamonConfig = DamonConfig {
        interval_clock: IntervalClock::SampleCount,
        split_copies_counts: true,
        pattern_counter: PatternCounter::Moving,
        first_window: FirstWindow::Unlimited,
        pageout_ref: PageoutRef::YoungFilter,
        ..DamonConfig::V6_1
    };
    /// Linux 6.18, as its stable release 15: some fixes that 6.12 has by then are missing.
    pub const V6_18: DamonConfig = DamonConfig {
        merge_cap: MergeCap::RetryAgeEachPass,
        age_zero_rule: true,
        score_counter: ScoreCounter::NrAccesses,
        interval_tuning: true,
        resume: Resume::Plus1SkipLast,
        first_window: FirstWindow::AtOnce,
        esz_floor: EszFloor::None,
        ..DamonConfig::V6_12
    };
    /// Linux 7.3, as its stable release 4.
    pub const V7_3: DamonConfig = DamonConfig {
        merge_cap: MergeCap::RetryAgeOnce,
        pattern_counter: PatternCounter::WindowSum,
        score_counter: ScoreCounter::Pattern,
        split_rule: SplitRule::PartialAboveHalf,
        min_regions: MinRegions::Enforced,
        merge_slices: true,
        resume: Resume::Exact,
        first_psi: FirstPsi::Neutral,
        esz_floor: EszFloor::TimePart,
        quota_set: QuotaSet::Configured,
        count_snapshots: true,
        lru_prio: LruPrio::Activate,
        lru_sort_by_age: true,
        rand32: Rand32::Uniform,
        ..DamonConfig::V6_18
    };
}

/// A named point of the knobs.
pub type Preset = settings::Preset<DamonConfig>;

/// All presets, oldest first.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "damon-v5.16",
        config: DamonConfig::V5_16,
        kernel: Kernel::V5_9,
        // Kernels before have none, and get it as a backport.
        shipped: Some(""),
        before: None,
        about: "the first with proactive reclamation, as in Linux 5.16",
        subject: None,
    },
    Preset {
        name: "damon-v6.1",
        config: DamonConfig::V6_1,
        kernel: Kernel::V6_1,
        shipped: Some("6.1"),
        before: Some("damon-v5.16"),
        about: "hugetlb pages are seen, regions stay within their number, as in Linux 6.1",
        subject: None,
    },
    Preset {
        name: "damon-v6.12",
        config: DamonConfig::V6_12,
        kernel: Kernel::V6_12,
        shipped: Some("6.12"),
        before: Some("damon-v6.1"),
        about: "samples are counted, schemes have intervals of their own, as in Linux 6.12",
        subject: None,
    },
    Preset {
        name: "damon-v6.18",
        config: DamonConfig::V6_18,
        kernel: Kernel::V6_18,
        shipped: Some("6.18"),
        before: Some("damon-v6.12"),
        about: "quotas hold from the first pass on, as in Linux 6.18",
        subject: None,
    },
    Preset {
        name: "damon-v7.3",
        config: DamonConfig::V7_3,
        kernel: Kernel::V7_3,
        shipped: Some("7.3"),
        before: Some("damon-v6.18"),
        about: "regions are cut up to their number, quotas hold in all cases, as in Linux 7.3",
        subject: None,
    },
];

/// The knobs of the preset of that name.
pub fn preset(name: &str) -> Option<DamonConfig> {
    PRESETS.iter().find(|p| p.name == name).map(|p| p.config)
}

/// The preset that a kernel shipped. Kernels before 5.16 have none and get its.
pub fn preset_for_kernel(kernel: Kernel) -> DamonConfig {
    DamonConfig::of_kernel(kernel).unwrap_or(DamonConfig::V5_16)
}
