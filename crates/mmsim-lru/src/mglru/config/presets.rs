//! Named points of the knobs: what kernels shipped.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.
//! The stable tree of 6.1 carries the fix of 6.8, which is why `v6.7-pre` comes after it and takes
//! the fix back: it is the base that the fix and the refault distance series were compared with.

use super::{
    AbortRule, AccessMarks, AgingRule, AgingSite, DirtyLazyfreeRule, HistGens, Lazyfree,
    MglruConfig, Placement, RecentRule, RefaultCount, RefaultDistance, RestoreRule, TierGain,
    TtlRule, TypeRule, WritebackRule,
};
use crate::knobs::{Preset, Ranged};
use mmsim_core::config::Kernel;

impl MglruConfig {
    /// Linux 6.1, stable tree.
    pub const V6_1: MglruConfig = MglruConfig {
        min_ttl_ms: Ranged::new(0),
        ttl_rule: TtlRule::Aging61,
        walk_mmu: true,
        nonleaf_young: true,
        bloom: true,
        placement: Placement::PostFix,
        overflow_protect: true,
        restore_rule: RestoreRule::Refs3All,
        refault_count: RefaultCount::RecentOnly,
        recent_rule: RecentRule::SameMinSeq,
        type_rule: TypeRule::FirstTier,
        tier_gain: TierGain::OneToTwo,
        nr_tiers: Ranged::new(4),
        hist_gens: HistGens::One,
        min_seq_coupling: true,
        aging_rule: AgingRule::Distribution,
        writeback_rule: WritebackRule::Bounce,
        dirty_lazyfree_rule: DirtyLazyfreeRule::ToAnon,
        add_clears_refs: false,
        aging_site: AgingSite::Kswapd,
        abort_rule: AbortRule::V6_1,
        initial_priority: false,
        lazyfree: Lazyfree::Base,
        refault_distance: RefaultDistance::Off,
        anon_reactivate: true,
        access_marks: AccessMarks::WorkingsetSecond,
    };
    /// Linux 6.7 without the fix of underprotected page cache.
    pub const V6_7_PRE: MglruConfig = MglruConfig {
        placement: Placement::PreFix,
        overflow_protect: false,
        restore_rule: RestoreRule::Refs4Ws,
        refault_count: RefaultCount::All,
        ttl_rule: TtlRule::Pressed67,
        aging_site: AgingSite::Evictor,
        abort_rule: AbortRule::Simple67,
        ..MglruConfig::V6_1
    };
    /// The same with that fix.
    pub const V6_8_POST: MglruConfig = MglruConfig {
        placement: Placement::PostFix,
        overflow_protect: true,
        restore_rule: RestoreRule::Refs3All,
        ..MglruConfig::V6_7_PRE
    };
    /// Linux 6.12 while it was in the making: the base of the lazyfree list.
    pub const V6_12_RC: MglruConfig = MglruConfig {
        ttl_rule: TtlRule::Fitted612,
        dirty_lazyfree_rule: DirtyLazyfreeRule::None,
        abort_rule: AbortRule::Wmark612,
        initial_priority: true,
        ..MglruConfig::V6_8_POST
    };
    /// Linux 6.12, stable tree.
    pub const V6_12: MglruConfig = MglruConfig {
        writeback_rule: WritebackRule::Activate,
        add_clears_refs: true,
        ..MglruConfig::V6_12_RC
    };
    /// Linux 6.14.
    pub const V6_14: MglruConfig = MglruConfig {
        placement: Placement::Distance614,
        restore_rule: RestoreRule::Ws614,
        recent_rule: RecentRule::Within4OfMax,
        type_rule: TypeRule::AllTiers,
        tier_gain: TierGain::TwoToThree,
        min_seq_coupling: false,
        aging_rule: AgingRule::GensOnly,
        access_marks: AccessMarks::Counted614,
        ..MglruConfig::V6_12_RC
    };
}

/// One preset.
const fn preset(
    name: &'static str,
    config: MglruConfig,
    kernel: Kernel,
    before: Option<&'static str>,
    about: &'static str,
) -> Preset<MglruConfig> {
    Preset { name, config, kernel, before, about, subject: None }
}

/// All presets. Machines know the kernels up to 6.12, so later ones run on that.
pub static PRESETS: &[Preset<MglruConfig>] = &[
    preset(
        "mglru-v6.1",
        MglruConfig::V6_1,
        Kernel::V6_1,
        None,
        "multi-generational LRU as in Linux 6.1, stable tree",
    ),
    preset(
        "mglru-v6.7-pre",
        MglruConfig::V6_7_PRE,
        Kernel::V6_12,
        Some("mglru-v6.1"),
        "as in Linux 6.7, before the fix of underprotected page cache",
    ),
    preset(
        "mglru-v6.8-post",
        MglruConfig::V6_8_POST,
        Kernel::V6_12,
        Some("mglru-v6.7-pre"),
        "as in Linux 6.7 with the fix of underprotected page cache",
    ),
    preset(
        "mglru-v6.12-rc",
        MglruConfig::V6_12_RC,
        Kernel::V6_12,
        Some("mglru-v6.8-post"),
        "as in Linux 6.12 in the making, base of the lazyfree list",
    ),
    preset(
        "mglru-v6.12",
        MglruConfig::V6_12,
        Kernel::V6_12,
        Some("mglru-v6.12-rc"),
        "multi-generational LRU as in Linux 6.12, stable tree",
    ),
    preset(
        "mglru-v6.14",
        MglruConfig::V6_14,
        Kernel::V6_12,
        Some("mglru-v6.12"),
        "multi-generational LRU as in Linux 6.14, reworked",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::Knobs as _;

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
