//! Named points of the knobs: what kernels shipped.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.
//! The stable tree of 6.1 carries the fix of 6.8, which is why `v6.7-pre` comes after it and takes
//! the fix back: it is the base that the fix and the refault distance series were compared with.

use super::{
    AbortRule, AccessMarks, AgingRule, AgingSite, DirtyLazyfreeRule, FaultArrival, FlusherRule,
    GroupOrder, MglruConfig, OrNumber, Placement, RecentRule, RefaultCount, RestoreRule,
    SecondTouch, TierGain, TtlRule, TypeRule,
};
use crate::settings::Preset;
use mmsim_core::config::Kernel;

impl MglruConfig {
    /// Linux 6.1, stable tree.
    pub const V6_1: MglruConfig = MglruConfig::of(Kernel::V6_1);
    /// Linux 6.7 without the fix of underprotected page cache.
    pub const V6_7_PRE: MglruConfig = MglruConfig {
        placement: Placement::PreFix,
        overflow_protect: false,
        restore_rule: RestoreRule::Refs4Ws,
        refault_count: RefaultCount::All,
        ttl_rule: TtlRule::Pressed67,
        aging_site: AgingSite::Evictor,
        abort_rule: AbortRule::Simple67,
        group_order: GroupOrder::Lru,
        ..MglruConfig::V6_1
    };
    /// The same with that fix.
    pub const V6_8_POST: MglruConfig = MglruConfig::of(Kernel::V6_6);
    /// Linux 6.12 while it was in the making: the base of the lazyfree list.
    pub const V6_12_RC: MglruConfig = MglruConfig {
        ttl_rule: TtlRule::Fitted612,
        dirty_lazyfree_rule: DirtyLazyfreeRule::None,
        abort_rule: AbortRule::Wmark612,
        initial_priority: true,
        ..MglruConfig::V6_8_POST
    };
    /// Linux 6.12, stable tree.
    pub const V6_12: MglruConfig = MglruConfig::of(Kernel::V6_12);
    /// Linux 6.14.
    pub const V6_14: MglruConfig = MglruConfig {
        placement: Placement::Distance614,
        restore_rule: RestoreRule::Ws614,
        recent_rule: RecentRule::Within4OfMax,
        type_rule: TypeRule::AllTiers,
        tier_gain: OrNumber::Word(TierGain::TwoToThree),
        min_seq_coupling: false,
        aging_rule: AgingRule::GensOnly,
        flusher_rule: FlusherRule::Pass613,
        access_marks: AccessMarks::Counted614,
        ..MglruConfig::V6_12_RC
    };
    /// Linux 6.18: the rework of 6.14 as it was merged.
    pub const V6_18: MglruConfig = MglruConfig::of(Kernel::V6_18);
    /// Linux 7.2, the marks: what a fault brings is marked, and starts older.
    pub const V7_2_MARKS: MglruConfig = MglruConfig {
        placement: Placement::Distance72,
        restore_rule: RestoreRule::Ws72,
        fault_arrival: FaultArrival::Marked,
        second_touch: SecondTouch::Mark,
        ..MglruConfig::V6_18
    };
    /// Linux 7.3: with the loop of 7.2, which ages and evicts in one pass.
    pub const V7_3: MglruConfig = MglruConfig::of(Kernel::V7_3);
}

/// One preset.
const fn preset(
    name: &'static str,
    config: MglruConfig,
    kernel: Kernel,
    shipped: Option<&'static str>,
    before: Option<&'static str>,
    about: &'static str,
) -> Preset<MglruConfig> {
    Preset { name, config, kernel, shipped, before, about, subject: None }
}

/// All presets. One of a kernel that machines do not know runs on the nearest before it. Kernels
/// before 6.1 have none.
pub static PRESETS: &[Preset<MglruConfig>] = &[
    preset(
        "mglru-v6.1",
        MglruConfig::V6_1,
        Kernel::V6_1,
        Some("6.1"),
        None,
        "multi-generational LRU as in Linux 6.1, stable tree",
    ),
    preset(
        "mglru-v6.7-pre",
        MglruConfig::V6_7_PRE,
        Kernel::V6_12,
        None,
        Some("mglru-v6.1"),
        "as in Linux 6.7, before the fix of underprotected page cache",
    ),
    preset(
        "mglru-v6.8-post",
        MglruConfig::V6_8_POST,
        Kernel::V6_12,
        // The stable tree of 6.6 has the fix of 6.8.
        Some("6.6"),
        Some("mglru-v6.7-pre"),
        "as in Linux 6.7 with the fix of underprotected page cache",
    ),
    preset(
        "mglru-v6.12-rc",
        MglruConfig::V6_12_RC,
        Kernel::V6_12,
        None,
        Some("mglru-v6.8-post"),
        "as in Linux 6.12 in the making, base of the lazyfree list",
    ),
    preset(
        "mglru-v6.12",
        MglruConfig::V6_12,
        Kernel::V6_12,
        Some("6.12"),
        Some("mglru-v6.12-rc"),
        "multi-generational LRU as in Linux 6.12, stable tree",
    ),
    preset(
        "mglru-v6.14",
        MglruConfig::V6_14,
        Kernel::V6_12,
        None,
        Some("mglru-v6.12"),
        "multi-generational LRU as in Linux 6.14, reworked",
    ),
    preset(
        "mglru-v6.18",
        MglruConfig::V6_18,
        Kernel::V6_18,
        Some("6.18"),
        Some("mglru-v6.14"),
        "multi-generational LRU as in Linux 6.18, the rework as merged",
    ),
    preset(
        "mglru-v7.2-marks",
        MglruConfig::V7_2_MARKS,
        Kernel::V7_3,
        None,
        Some("mglru-v6.18"),
        "the marks and places of Linux 7.2, without its loop",
    ),
    preset(
        "mglru-v7.3",
        MglruConfig::V7_3,
        Kernel::V7_3,
        Some("7.3"),
        Some("mglru-v7.2-marks"),
        "multi-generational LRU as in Linux 7.3: aging and evicting in one pass",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings as _;

    #[test]
    fn presets_are_valid_and_distinct() {
        for (i, p) in PRESETS.iter().enumerate() {
            p.config.validate().unwrap_or_else(|e| panic!("{}: {e}", p.name));
            let earlier = &PRESETS[..i];
            assert!(earlier.iter().all(|e| e.config != p.config && e.name != p.name));
            assert!(p.before.is_none_or(|b| earlier.iter().any(|e| e.name == b)), "{}", p.name);
        }
    }

    /// The commit has three parts: where file pages start, what protects them, what a refault
    /// restores.
    #[test]
    fn the_fix_of_underprotected_page_cache_has_three_parts() {
        let fix = MglruConfig::preset("mglru-v6.8-post").unwrap().changes();
        let fix: Vec<_> = fix.iter().map(|(k, a, b)| (*k, a.as_str(), b.as_str())).collect();
        assert_eq!(
            fix,
            [
                ("placement", "pre-fix", "post-fix"),
                ("overflow-protect", "no", "yes"),
                ("restore-rule", "refs4-ws", "refs3-all"),
            ]
        );
    }
}
