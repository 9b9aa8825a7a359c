//! Named points of the knobs: what kernels shipped.
//!
//! A preset is built on the one before it by what changed, so the source reads like the history.

use super::DamonConfig;
use mmsim_core::base::settings;
use mmsim_core::config::Kernel;

impl DamonConfig {
    /// Linux 5.16, the first with proactive reclamation.
    pub const V5_16: DamonConfig = DamonConfig::of(Kernel::V5_10);
    /// Linux 6.1 with the fixes of its stable releases.
    pub const V6_1: DamonConfig = DamonConfig::of(Kernel::V6_1);
    /// Linux 6.12 with the fixes of its stable releases.
    pub const V6_12: DamonConfig = DamonConfig::of(Kernel::V6_12);
    /// Linux 6.18, as its stable release 15: some fixes that 6.12 has by then are missing.
    pub const V6_18: DamonConfig = DamonConfig::of(Kernel::V6_18);
    /// Linux 7.3, as its stable release 4.
    pub const V7_3: DamonConfig = DamonConfig::of(Kernel::V7_3);
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
pub const fn preset_for_kernel(kernel: Kernel) -> DamonConfig {
    DamonConfig::of(kernel)
}
