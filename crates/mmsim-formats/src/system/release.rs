//! Releases of Linux, and which of those that are modelled is nearest to another.
//!
//! Nearness counts releases: from 5.4 there is one to 5.5, and 23 to 4.1. Of two that are equally
//! near the older one is taken, since a release has what came before it, and not what came after.

use mmsim_core::config::Kernel;
use mmsim_lru::MglruConfig;
use mmsim_lru::config::{ClassicConfig, Settings as _};

use mmsim_language::machines::Catalogue;

/// A release by its major and minor number.
pub(super) type Release = (u32, u32);

/// Minor numbers that each major number had: 3.0 to 3.19, 4.0 to 4.20, then 20 each.
const MINORS: [u32; 5] = [0, 0, 0, 20, 21];

/// The number of a release among all from 3.0 on.
fn ordinal((major, minor): Release) -> u32 {
    let of = |major: u32| MINORS.get(major as usize).copied().unwrap_or(20);
    (0..major).map(of).fold(minor, u32::saturating_add)
}

/// The release in a name such as `6.12` or `6.7-pre`.
fn parse(name: &str) -> Option<Release> {
    let (major, rest) = name.split_once('.')?;
    let minor = rest.split('-').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The release of a modelled kernel.
pub(super) fn of_kernel(kernel: Kernel) -> Release {
    parse(kernel.name()).expect("kernels are named by their release")
}

/// The nearest of several to a release, which are in order of age.
fn nearest<T: Copy>(release: Release, all: impl IntoIterator<Item = (Release, T)>) -> Option<T> {
    let away = |r: Release| ordinal(r).abs_diff(ordinal(release));
    // Of equals the first.
    all.into_iter().min_by_key(|(r, _)| away(*r)).map(|(_, x)| x)
}

/// The modelled kernel that is nearest to a release; none for those that are older than all.
pub(super) fn kernel(release: Release) -> Option<Kernel> {
    let all = Kernel::ALL.map(|k| (of_kernel(k), k));
    (release >= all[0].0).then(|| nearest(release, all)).flatten()
}

/// The MGLRU that is nearest to a release, with whether it is of that very release. States in
/// between, as of a release candidate, do not count.
pub(super) fn mglru(release: Release) -> (&'static str, bool) {
    let shipped = |name: &&str| !["-rc", "-marks"].iter().any(|end| name.ends_with(end));
    let names = MglruConfig::presets().iter().map(|p| p.name).filter(shipped);
    let all = names.filter_map(|name| Some((parse(name.strip_prefix("mglru-v")?)?, name)));
    let own = all.clone().any(|(r, _)| r == release);
    (nearest(release, all).expect("there is an MGLRU"), own)
}

/// The classic LRU of a kernel, with whether it is that kernel's own: it is not where one of a
/// later release stands in.
pub(super) fn classic(kernel: Kernel) -> (&'static str, bool) {
    let name = ClassicConfig::preset_of(kernel).map_or("", |p| p.name);
    let release = name.strip_prefix("classic-v").and_then(parse);
    (name, release.is_some_and(|r| r <= of_kernel(kernel)))
}

/// The compaction that is nearest to a release: that of the nearest kernel.
pub(super) fn compaction(release: Release) -> Option<&'static str> {
    mmsim_compaction::CompactionConfig::preset_of(kernel(release)?).map(|p| p.name)
}

/// The DAMON that is nearest to a release, of kernels and of presets; none before Linux 5.15, which
/// has none.
pub(super) fn damon(release: Release) -> Option<String> {
    let first = (5, 15);
    let of_kernels = Kernel::ALL.map(|k| (of_kernel(k), Catalogue.default_damon(k)));
    let named = Catalogue.damon_presets().into_iter();
    let named = named.filter_map(|name| Some((parse(name.strip_prefix("damon-v")?)?, name)));
    let all: Vec<(Release, String)> =
        named.chain(of_kernels).filter(|(r, _)| *r >= first).collect();
    let known = all.iter().map(|(r, name)| (*r, name));
    (release >= first).then(|| nearest(release, known).cloned()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_counted() {
        assert_eq!(ordinal((4, 0)) - ordinal((3, 19)), 1);
        assert_eq!(ordinal((5, 0)) - ordinal((4, 20)), 1);
        assert_eq!(ordinal((7, 0)) - ordinal((6, 19)), 1);
        assert_eq!(ordinal((5, 5)) - ordinal((4, 1)), 24 + 1);
        assert_eq!(parse("6.7-pre"), Some((6, 7)));
        assert_eq!(parse("next"), None);
    }

    /// By hand, from the lists of kernels and presets.
    #[test]
    fn the_nearest_is_taken() {
        for (release, name) in [
            ((4, 1), "4.1"),
            ((4, 4), "4.1"),
            ((4, 19), "5.5"),
            ((5, 4), "5.5"),
            ((5, 6), "5.5"),
            ((5, 7), "5.8"),
            ((5, 15), "5.10"),
            ((6, 0), "6.1"),
            ((6, 8), "6.6"),
            // Three releases from 6.6 and from 6.12: the older.
            ((6, 9), "6.6"),
            ((6, 14), "6.12"),
            ((6, 17), "6.18"),
            ((7, 9), "7.3"),
        ] {
            assert_eq!(kernel(release).map(Kernel::name), Some(name), "{release:?}");
        }
        assert_eq!(kernel((3, 10)), None);
        for (release, name, own) in [
            ((6, 1), "mglru-v6.1", true),
            ((6, 3), "mglru-v6.1", false),
            ((6, 6), "mglru-v6.7-pre", false),
            ((6, 8), "mglru-v6.8-post", true),
            ((6, 10), "mglru-v6.8-post", false),
            ((6, 11), "mglru-v6.12", false),
            ((6, 13), "mglru-v6.12", false),
            ((6, 14), "mglru-v6.14", true),
            ((6, 17), "mglru-v6.18", false),
            ((7, 3), "mglru-v7.3", true),
        ] {
            assert_eq!(mglru(release), (name, own), "{release:?}");
        }
        assert_eq!(classic(Kernel::V4_1), ("classic-v5.5", false));
        assert_eq!(classic(Kernel::V5_10), ("classic-v5.9", true));
        assert_eq!(compaction((6, 17)), Some("compaction-v6.12"));
        for (release, name) in [
            ((5, 14), None),
            ((5, 17), Some("damon-v5.16")),
            ((6, 0), Some("damon-v6.1")),
            ((6, 10), Some("damon-v6.12")),
        ] {
            assert_eq!(damon(release).as_deref(), name, "{release:?}");
        }
    }
}
