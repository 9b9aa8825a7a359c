//! Named points of the knobs: what kernels shipped, and the steps between.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.
//! From 5.5 two branches lead on. One is the anonymous workingset series as it was first posted
//! (linux-mm, "\[PATCH 0/9\] workingset protection/detection on the anonymous LRU list", February
//! 2020): nine patches on 5.5, one stage each. The other is what was merged: the cost model of 5.8,
//! on which the later revisions of the series were based, the first half of it, and 5.9 with all.
//! [`Preset::changes`] tells any two neighbours apart.

use super::{
    AgeModel, AnonRatio, AnonRefRule, AnonStart, ClassicConfig, EvictWithoutMemcg,
    InactiveRatioScope, NewAnonRotated, OrNumber, ShadowLimitScope, WsThreshold,
};
use crate::settings;
use mmsim_core::config::Kernel;

impl ClassicConfig {
    /// Linux 5.5, the base of the anonymous workingset series.
    pub const V5_5: ClassicConfig = ClassicConfig::of(Kernel::V5_5);
    /// Linux 5.1, as far as it differs from 5.5 without groups: its own ratio opens an active list
    /// before each scan, and inactive file pages are trimmed whatever refaults say.
    pub const V5_1: ClassicConfig = ClassicConfig {
        inactive_ratio_scope: InactiveRatioScope::Lruvec,
        trim_ignores_refaults: true,
        ..ClassicConfig::V5_5
    };
    /// Patch 1 of the series: one inactive anonymous page for each active one.
    pub const SEED_1: ClassicConfig =
        ClassicConfig { anon_ratio: OrNumber::Word(AnonRatio::One), ..ClassicConfig::V5_5 };
    /// Patch 2: new and swapped-in anonymous pages start inactive and need two touches.
    pub const SEED_2: ClassicConfig = ClassicConfig {
        anon_start: AnonStart::Inactive,
        swapin_activate: false,
        anon_ref_rule: AnonRefRule::TwoTouchV1,
        anon_demote_clears_young: false,
        ..ClassicConfig::SEED_1
    };
    /// Patch 3: counters, ages and thresholds per type, the latter read with a wrong index.
    pub const SEED_3: ClassicConfig = ClassicConfig {
        ws_split: true,
        ws_threshold: WsThreshold::ActiveOwnType,
        ws_v1_index_bug: true,
        age_model: AgeModel::PerType,
        ..ClassicConfig::SEED_2
    };
    /// Patch 4: a swap slot can hold a shadow.
    pub const SEED_4: ClassicConfig =
        ClassicConfig { swapcache_shadows: true, ..ClassicConfig::SEED_3 };
    /// Patch 5: the root group's shadows are limited by the pages of the node.
    pub const SEED_5: ClassicConfig =
        ClassicConfig { shadow_limit_scope: ShadowLimitScope::Node, ..ClassicConfig::SEED_4 };
    /// Patch 6: pages without a memory cgroup leave no shadow.
    pub const SEED_6: ClassicConfig =
        ClassicConfig { evict_without_memcg: EvictWithoutMemcg::Skip, ..ClassicConfig::SEED_5 };
    /// Patch 7: evicted anonymous pages leave shadows, and their refaults are looked at.
    pub const SEED_7: ClassicConfig = ClassicConfig {
        anon_workingset: true,
        age_on_scan_activation: true,
        ..ClassicConfig::SEED_6
    };
    /// Patch 8: the ratio by formula again.
    pub const SEED_8: ClassicConfig =
        ClassicConfig { anon_ratio: OrNumber::Word(AnonRatio::Sqrt), ..ClassicConfig::SEED_7 };
    /// Patch 9: a new anonymous page counts as rotated, and whatever follows it in its batch.
    pub const SEED_9: ClassicConfig =
        ClassicConfig { new_anon_rotated: NewAnonRotated::ForcedLeaky, ..ClassicConfig::SEED_8 };
    /// All nine, with patch 3 as its author replaced it, and patch 9 without its leak.
    pub const SEED_9_FIX: ClassicConfig = ClassicConfig {
        ws_v1_index_bug: false,
        new_anon_rotated: NewAnonRotated::Forced,
        ..ClassicConfig::SEED_9
    };
    /// Linux 5.8: one age for both types, scanning balanced by cost, file refaults may challenge
    /// anonymous pages.
    pub const V5_8: ClassicConfig = ClassicConfig::of(Kernel::V5_8);
    /// Linux 5.8 with the first half of what 5.9 merged: new anonymous pages start inactive.
    pub const V5_8_PROT: ClassicConfig = ClassicConfig {
        anon_start: AnonStart::Inactive,
        swapin_activate: false,
        anon_ref_rule: AnonRefRule::MappedFileRule,
        ..ClassicConfig::V5_8
    };
    /// Linux 5.9: protection and detection of the anonymous workingset.
    pub const V5_9: ClassicConfig = ClassicConfig::of(Kernel::V5_9);
    /// Linux 6.1.
    pub const V6_1: ClassicConfig = ClassicConfig::of(Kernel::V6_1);
    /// Linux 6.6: rotations are a secondary cost since 6.2. Not recorded.
    pub const V6_6: ClassicConfig = ClassicConfig::of(Kernel::V6_6);
    /// Linux 6.12.
    pub const V6_12: ClassicConfig = ClassicConfig::of(Kernel::V6_12);
    /// Linux 6.18.
    pub const V6_18: ClassicConfig = ClassicConfig::of(Kernel::V6_18);
    /// Linux 7.3.
    pub const V7_3: ClassicConfig = ClassicConfig::of(Kernel::V7_3);
}

/// A named point of the knobs.
pub type Preset = settings::Preset<ClassicConfig>;

/// Configuration that a kernel shipped.
macro_rules! shipped {
    ($version:literal, from $release:literal, $config:ident, $before:expr) => {
        Preset {
            name: concat!("classic-v", $version),
            config: ClassicConfig::$config,
            kernel: Kernel::$config,
            shipped: Some($release),
            before: $before,
            about: concat!("active and inactive lists as in Linux ", $version),
            subject: None,
        }
    };
}

/// The series as posted, up to one of its patches.
macro_rules! posted {
    ($number:literal, $config:ident, $before:literal, $subject:literal) => {
        Preset {
            name: concat!("classic-seed-", $number),
            config: ClassicConfig::$config,
            kernel: Kernel::V5_5,
            shipped: None,
            before: Some($before),
            about: concat!("Linux 5.5 up to patch ", $number, " of 9 as posted: ", $subject),
            subject: Some($subject),
        }
    };
}

/// All presets: 5.5, the series on it, and what followed.
pub static PRESETS: &[Preset] = &[
    // Nothing older is known.
    shipped!("5.5", from "", V5_5, None),
    Preset {
        name: "classic-v5.1",
        config: ClassicConfig::V5_1,
        kernel: Kernel::V5_5,
        shipped: None,
        before: Some("classic-v5.5"),
        about: "active and inactive lists as in Linux 5.1, on a machine of 5.5",
        subject: None,
    },
    posted!(
        "1",
        SEED_1,
        "classic-v5.5",
        "mm/vmscan: make active/inactive ratio as 1:1 for anon lru"
    ),
    posted!("2", SEED_2, "classic-seed-1", "mm/vmscan: protect the workingset on anonymous LRU"),
    posted!(
        "3",
        SEED_3,
        "classic-seed-2",
        "mm/workingset: extend the workingset detection for anon LRU"
    ),
    posted!(
        "4",
        SEED_4,
        "classic-seed-3",
        "mm/swapcache: support to handle the value in swapcache"
    ),
    posted!(
        "5",
        SEED_5,
        "classic-seed-4",
        "mm/workingset: use the node counter if memcg is the root memcg"
    ),
    posted!("6", SEED_6, "classic-seed-5", "mm/workingset: handle the page without memcg"),
    posted!(
        "7",
        SEED_7,
        "classic-seed-6",
        "mm/swap: implement workingset detection for anonymous LRU"
    ),
    posted!(
        "8",
        SEED_8,
        "classic-seed-7",
        "mm/vmscan: restore active/inactive ratio for anonymous LRU"
    ),
    posted!(
        "9",
        SEED_9,
        "classic-seed-8",
        "mm/swap: count a new anonymous page as a reclaim_state's rotate"
    ),
    Preset {
        name: "classic-seed-9fix",
        config: ClassicConfig::SEED_9_FIX,
        kernel: Kernel::V5_5,
        shipped: None,
        before: Some("classic-seed-9"),
        about: "all 9 patches, patch 3 as its author replaced it, patch 9 without its leak",
        subject: None,
    },
    shipped!("5.8", from "5.8", V5_8, Some("classic-v5.5")),
    Preset {
        name: "classic-v5.8+prot",
        config: ClassicConfig::V5_8_PROT,
        kernel: Kernel::V5_8,
        shipped: None,
        before: Some("classic-v5.8"),
        about: "Linux 5.8 with new anonymous pages starting inactive, without detection",
        subject: None,
    },
    shipped!("5.9", from "5.9", V5_9, Some("classic-v5.8+prot")),
    shipped!("6.1", from "6.1", V6_1, Some("classic-v5.9")),
    shipped!("6.6", from "6.6", V6_6, Some("classic-v6.1")),
    shipped!("6.12", from "6.12", V6_12, Some("classic-v6.6")),
    shipped!("6.18", from "6.18", V6_18, Some("classic-v6.12")),
    shipped!("7.3", from "7.3", V7_3, Some("classic-v6.18")),
];

/// The knobs of the preset of that name.
pub fn preset(name: &str) -> Option<ClassicConfig> {
    PRESETS.iter().find(|p| p.name == name).map(|p| p.config)
}

/// The preset that a kernel shipped.
pub const fn preset_for_kernel(kernel: Kernel) -> ClassicConfig {
    ClassicConfig::of(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Settings as _;

    #[test]
    fn presets_are_valid_and_distinct() {
        for (i, p) in PRESETS.iter().enumerate() {
            p.config.validate().unwrap_or_else(|e| panic!("{}: {e}", p.name));
            assert_eq!(preset(p.name), Some(p.config));
            let earlier = &PRESETS[..i];
            let distinct = |e: &Preset| e.name != p.name && e.about != p.about;
            assert!(earlier.iter().all(distinct), "{}", p.name);
            // Patch 8 takes back patch 1, but others stand between.
            assert!(earlier.iter().all(|e| e.config != p.config), "{}", p.name);
            assert_eq!(p.before.is_none(), i == 0);
            assert!(p.before.is_none_or(|b| earlier.iter().any(|e| e.name == b)), "{}", p.name);
        }
        let own = |k: &Kernel| *k > Kernel::V4_1 && *k != Kernel::V5_10;
        assert_eq!(preset("classic-v5.9"), Some(preset_for_kernel(Kernel::V5_10)));
        for kernel in Kernel::ALL.into_iter().filter(own) {
            let name = format!("classic-v{}", kernel.name());
            assert_eq!(preset(&name), Some(preset_for_kernel(kernel)));
        }
        // Nothing older than 5.5 is known.
        assert_eq!(preset("classic-v4.1"), None);
        assert_eq!(preset("classic-v5.5"), Some(preset_for_kernel(Kernel::V4_1)));
    }

    /// Knob, value before, value now.
    type Switches = &'static [(&'static str, &'static str, &'static str)];

    /// The switches of each patch, from the mails.
    #[test]
    fn each_stage_switches_what_its_patch_does() {
        let stages: [(&str, Switches); 10] = [
            ("1", &[("anon-ratio", "sqrt", "one")]),
            (
                "2",
                &[
                    ("anon-start", "active", "inactive"),
                    ("swapin-activate", "yes", "no"),
                    ("anon-ref-rule", "one-touch", "two-touch-v1"),
                    ("anon-demote-clears-young", "yes", "no"),
                ],
            ),
            (
                "3",
                &[
                    ("ws-split", "no", "yes"),
                    ("ws-threshold", "active-file", "active-own-type"),
                    ("ws-v1-index-bug", "no", "yes"),
                    ("age-model", "file-only", "per-type"),
                ],
            ),
            ("4", &[("swapcache-shadows", "no", "yes")]),
            ("5", &[("shadow-limit-scope", "memcg", "node")]),
            ("6", &[("evict-without-memcg", "count", "skip")]),
            ("7", &[("anon-workingset", "no", "yes"), ("age-on-scan-activation", "no", "yes")]),
            ("8", &[("anon-ratio", "one", "sqrt")]),
            ("9", &[("new-anon-rotated", "by-active", "forced-leaky")]),
            (
                "9fix",
                &[("ws-v1-index-bug", "yes", "no"), ("new-anon-rotated", "forced-leaky", "forced")],
            ),
        ];
        let posted = PRESETS.iter().filter(|p| p.name.starts_with("classic-seed-"));
        assert_eq!(posted.clone().count(), stages.len());
        for (p, (stage, expected)) in posted.zip(stages) {
            assert_eq!(p.name, format!("classic-seed-{stage}"));
            let changes = p.changes();
            let changes: Vec<(&str, &str, &str)> =
                changes.iter().map(|(k, a, b)| (*k, a.as_str(), b.as_str())).collect();
            assert_eq!(changes, expected, "{}", p.name);
            assert_eq!(p.kernel, Kernel::V5_5);
        }
        assert_eq!(PRESETS[0].changes(), []);
    }
}
