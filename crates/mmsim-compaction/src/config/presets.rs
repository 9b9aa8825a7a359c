//! Named points of the knobs: what kernels shipped, and the series of 2015.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.
//! [`mmsim_core::base::settings::Preset::changes`] tells any two neighbours apart.

use super::{
    CachedAlways, CachedPfn, CompactionConfig, Deferral, DepleteThreshold, Depletion, OrNumber,
    ScanLimit, SpareFree, TargetTypes,
};
use mmsim_core::base::settings;
use mmsim_core::config::Kernel;

impl CompactionConfig {
    /// Linux 4.1, the base of the series.
    pub const V4_1: CompactionConfig = CompactionConfig::of(Kernel::V4_1);
    /// First series, patches 1 to 5: targets in pageblocks of any type.
    pub const V1_NONMOVABLE: CompactionConfig = CompactionConfig {
        skip_needs_full_block: true,
        cached_pfn: CachedPfn::PastBlock,
        cached_always: CachedAlways::Always,
        target_types: TargetTypes::Any,
        ..CompactionConfig::V4_1
    };
    /// Patches 1 to 9: both scanners sweep the whole zone, depleted zones are limited.
    pub const V1_REDESIGN: CompactionConfig = CompactionConfig {
        depletion: Depletion::V1,
        scan_limit: ScanLimit::V1,
        deferral: Deferral::CountFailures,
        whole_zone_sweep: true,
        ..CompactionConfig::V1_NONMOVABLE
    };
    /// All ten patches: more successes are needed in a large zone.
    pub const V1_THRESHOLD: CompactionConfig = CompactionConfig {
        deplete_threshold: OrNumber::Word(DepleteThreshold::BySize),
        ..CompactionConfig::V1_REDESIGN
    };
    /// Second series, up to the limit.
    pub const V2_LIMIT: CompactionConfig = CompactionConfig {
        cached_pfn: CachedPfn::BlockEnd,
        cached_always: CachedAlways::Limited,
        depletion: Depletion::V2Literal,
        scan_limit: ScanLimit::V2,
        deferral: Deferral::CountFailures,
        ..CompactionConfig::V4_1
    };
    /// Up to targets of any type in depleted zones.
    pub const V2_NONMOVABLE: CompactionConfig = CompactionConfig {
        target_types: TargetTypes::AnyWhenDepleted,
        ..CompactionConfig::V2_LIMIT
    };
    /// Up to the sweep.
    pub const V2_REDESIGN: CompactionConfig = CompactionConfig {
        whole_zone_sweep: true,
        two_skip_bits: true,
        no_target_completes: true,
        ..CompactionConfig::V2_NONMOVABLE
    };
    /// All of the second series.
    pub const V2_THRESHOLD: CompactionConfig = CompactionConfig {
        deplete_threshold: OrNumber::Word(DepleteThreshold::BySize),
        spare_free: SpareFree::Requested,
        ..CompactionConfig::V2_REDESIGN
    };
    /// Third series, part one: failures in a row limit the runs.
    pub const V3: CompactionConfig = CompactionConfig {
        cached_pfn: CachedPfn::PastBlock,
        scan_limit: ScanLimit::V3,
        deferral: Deferral::Limit,
        ..CompactionConfig::V4_1
    };

    /// Linux 6.1.
    pub const V6_1: CompactionConfig = CompactionConfig::of(Kernel::V6_1);
    /// Linux 6.12.
    pub const V6_12: CompactionConfig = CompactionConfig::of(Kernel::V6_12);

    /// Linux 7.3.
    pub const V7_3: CompactionConfig = CompactionConfig::of(Kernel::V7_3);

    /// With depletion as the second series meant it.
    const fn intended(self) -> CompactionConfig {
        CompactionConfig { depletion: Depletion::V2Intended, ..self }
    }
}

/// A named point of the knobs.
pub type Preset = settings::Preset<CompactionConfig>;

/// A stage of a series.
macro_rules! posted {
    ($name:literal, $config:expr, $before:literal, $about:literal) => {
        Preset {
            name: concat!("compaction-2015", $name),
            config: $config,
            kernel: Kernel::V4_1,
            shipped: None,
            before: Some(concat!("compaction-", $before)),
            about: $about,
            subject: None,
        }
    };
}

/// All presets: 4.1, the three series on it, and later kernels.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "compaction-v4.1",
        config: CompactionConfig::V4_1,
        kernel: Kernel::V4_1,
        shipped: Some(""),
        before: None,
        about: "two scanners that meet, as in Linux 4.1",
        subject: None,
    },
    posted!(
        "v1-nonmovable",
        CompactionConfig::V1_NONMOVABLE,
        "v4.1",
        "first series of 2015, patches 1 to 5: targets in pageblocks of any type"
    ),
    posted!(
        "v1-redesign",
        CompactionConfig::V1_REDESIGN,
        "2015v1-nonmovable",
        "first series, patches 1 to 9: scanners that sweep the zone, a limit when it is depleted"
    ),
    posted!(
        "v1-threshold",
        CompactionConfig::V1_THRESHOLD,
        "2015v1-redesign",
        "first series, all 10 patches: large zones are depleted sooner"
    ),
    posted!(
        "v2-limit",
        CompactionConfig::V2_LIMIT,
        "v4.1",
        "second series of 2015, up to the limit, as posted"
    ),
    posted!(
        "v2-nonmovable",
        CompactionConfig::V2_NONMOVABLE,
        "2015v2-limit",
        "second series, up to targets of any type in depleted zones, as posted"
    ),
    posted!(
        "v2-redesign",
        CompactionConfig::V2_REDESIGN,
        "2015v2-nonmovable",
        "second series, up to the sweep, as posted"
    ),
    posted!(
        "v2-threshold",
        CompactionConfig::V2_THRESHOLD,
        "2015v2-redesign",
        "second series, all of it, as posted"
    ),
    posted!(
        "v2-limit-intended",
        CompactionConfig::V2_LIMIT.intended(),
        "2015v2-limit",
        "second series, up to the limit, with the braces that depletion lacked"
    ),
    posted!(
        "v2-nonmovable-intended",
        CompactionConfig::V2_NONMOVABLE.intended(),
        "2015v2-nonmovable",
        "second series, up to targets of any type, with the braces that depletion lacked"
    ),
    posted!(
        "v2-redesign-intended",
        CompactionConfig::V2_REDESIGN.intended(),
        "2015v2-redesign",
        "second series, up to the sweep, with the braces that depletion lacked"
    ),
    posted!(
        "v2-threshold-intended",
        CompactionConfig::V2_THRESHOLD.intended(),
        "2015v2-threshold",
        "second series, all of it, with the braces that depletion lacked"
    ),
    posted!(
        "v3",
        CompactionConfig::V3,
        "v4.1",
        "third series of 2015, part one: failures in a row limit the runs"
    ),
    Preset {
        name: "compaction-v6.1",
        config: CompactionConfig::V6_1,
        kernel: Kernel::V6_1,
        // Kernels from 5.1 to 6.0 compact as 6.1 does.
        shipped: Some("5.1"),
        before: Some("compaction-v4.1"),
        about: "fast searches, skipped groups, captured blocks, as in Linux 6.1",
        subject: None,
    },
    Preset {
        name: "compaction-v6.12",
        config: CompactionConfig::V6_12,
        kernel: Kernel::V6_12,
        shipped: Some("6.12"),
        before: Some("compaction-v6.1"),
        about: "whole pageblocks after failures, small targets first, as in Linux 6.12",
        subject: None,
    },
    Preset {
        name: "compaction-v7.3",
        config: CompactionConfig::V7_3,
        kernel: Kernel::V7_3,
        shipped: Some("7.3"),
        before: Some("compaction-v6.12"),
        about: "movable pageblocks for unmovable requests of a pageblock, as in Linux 7.3",
        subject: None,
    },
];

/// The knobs of the preset of that name.
pub fn preset(name: &str) -> Option<CompactionConfig> {
    PRESETS.iter().find(|p| p.name == name).map(|p| p.config)
}

/// The preset that a kernel shipped.
pub const fn preset_for_kernel(kernel: Kernel) -> CompactionConfig {
    CompactionConfig::of(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Settings as _;

    #[test]
    fn presets_are_valid_and_distinct() {
        for (i, p) in PRESETS.iter().enumerate() {
            p.config.validate().unwrap_or_else(|e| panic!("{}: {e}", p.name));
            let earlier = &PRESETS[..i];
            let distinct =
                |e: &Preset| e.name != p.name && e.about != p.about && e.config != p.config;
            assert!(earlier.iter().all(distinct), "{}", p.name);
            assert_eq!(p.before.is_none(), i == 0);
            assert!(p.before.is_none_or(|b| earlier.iter().any(|e| e.name == b)), "{}", p.name);
            assert!(i == 0 || !p.changes().is_empty(), "{}", p.name);
        }
    }

    /// Texts are read back as what they were written from.
    #[test]
    fn every_value_of_every_knob_is_read_back() {
        for knob in CompactionConfig::ROWS {
            let mut c = CompactionConfig::V4_1;
            for value in knob.allowed() {
                c.set(knob.name, value).unwrap();
                assert_eq!(c.get(knob.name).as_deref(), Some(value), "{}", knob.name);
            }
            assert!(!knob.doc.is_empty() && !knob.source.is_empty());
        }
    }
}
