//! Kernels that carry a patch, or lack one: a kernel, a preset of its LRU, and the knobs that make
//! the difference. Nothing here is fitted: each row says what the recorded kernel was built with.

use mmsim::machines::Policy;
use mmsim::scenario::policy::{Knob, KnobValue, PolicySpec};
use mmsim_core::config::Kernel;

/// A recorded kernel that is no release.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Patched {
    /// Its name, the `kernel` of a point.
    pub name: &'static str,
    /// The kernel that it was built from.
    pub base: Kernel,
    /// The LRU that differs; the other one is that of the base.
    pub lru: &'static str,
    /// Where its knobs begin.
    pub preset: &'static str,
    /// Settings on top.
    pub knobs: &'static [(&'static str, &'static str)],
    /// The kernel that it is compared with; none: others are compared with it.
    pub against: Option<&'static str>,
    /// Demand on its figures.
    pub asked: Asked,
    /// Counters that are shown beside those that are judged.
    pub beside: &'static [&'static str],
    /// Description of the kernel.
    pub about: &'static str,
}

/// Demand on figures of a patched kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Asked {
    /// The effect of the patch on these counters, within a number of points.
    Effect(f64, &'static [&'static str]),
    /// These counters themselves, each within that share of what was recorded, or within the spread
    /// of the recording if that is larger.
    Level(&'static [(&'static str, f64)]),
    /// Nothing: it is what others are compared with.
    Nothing,
}

impl Asked {
    /// The counters that are judged.
    pub fn counters(self) -> Vec<&'static str> {
        match self {
            Asked::Effect(_, counters) => counters.to_vec(),
            Asked::Level(counters) => counters.iter().map(|c| c.0).collect(),
            Asked::Nothing => Vec::new(),
        }
    }
}

const LAZYFREE: Asked =
    Asked::Effect(5.0, &["workingset_refault_anon", "workingset_refault_file", "pglazyfreed"]);
const PLACEMENT: Asked = Asked::Level(&[("workingset_refault_file", 0.02)]);
/// Counters from which the effects are computed. Each refault of an anonymous page is a swap-in.
const REFAULTS: &[&str] = &["workingset_refault_anon", "workingset_refault_file", "pglazyfreed"];
/// Counters of activation and demotion, without a judgement.
const ACTIVATION: &[&str] = &["pgdeactivate", "pgreuse"];
const SWAP_INS: Asked = Asked::Level(&[("pswpin", 0.02)]);
/// Activated refaults as the rules of the reference ask.
const DETECTION: Asked = Asked::Level(&[("pswpin", 0.02), ("workingset_activate_anon", 0.1)]);

/// Every patched kernel of which there are recordings.
pub const PATCHED: &[Patched] = &[
    Patched {
        name: "6.12+lazyfree-base",
        base: Kernel::V6_12,
        lru: "mglru",
        preset: "mglru-v6.12",
        knobs: &[("lazyfree", "base")],
        against: None,
        asked: Asked::Nothing,
        beside: REFAULTS,
        about: "lazily freed folios as shipped",
    },
    Patched {
        name: "6.12+lazyfree-list",
        base: Kernel::V6_12,
        lru: "mglru",
        preset: "mglru-v6.12",
        knobs: &[("lazyfree", "list-v2")],
        against: Some("6.12+lazyfree-base"),
        asked: LAZYFREE,
        beside: &[],
        about: "lazily freed folios on a list of their own, as posted in October 2024",
    },
    Patched {
        name: "6.12+lazyfree-tail",
        base: Kernel::V6_12,
        lru: "mglru",
        preset: "mglru-v6.12",
        knobs: &[("lazyfree", "tail")],
        against: Some("6.12+lazyfree-base"),
        asked: LAZYFREE,
        beside: &["pswpin"],
        about: "lazily freed folios at the tail of the oldest generation",
    },
    Patched {
        name: "6.12+place-pre6.8",
        base: Kernel::V6_12,
        lru: "mglru",
        preset: "mglru-v6.12",
        knobs: &[
            ("placement", "pre-fix"),
            ("overflow-protect", "no"),
            ("restore-rule", "refs4-ws"),
        ],
        against: None,
        asked: PLACEMENT,
        beside: &["pgscan_file"],
        about: "without the fix of underprotected page cache of 6.8",
    },
    Patched {
        name: "6.12+place-stock",
        base: Kernel::V6_12,
        lru: "mglru",
        preset: "mglru-v6.12",
        knobs: &[],
        against: Some("6.12+place-pre6.8"),
        asked: PLACEMENT,
        beside: &["pgscan_file"],
        about: "with that fix, as shipped",
    },
    Patched {
        name: "5.10-anon-base",
        base: Kernel::V5_10,
        lru: "classic",
        preset: "classic-v5.8",
        knobs: &[],
        against: None,
        asked: SWAP_INS,
        beside: ACTIVATION,
        about: "without the anonymous workingset series: new and swapped-in pages start active",
    },
    Patched {
        name: "5.10-anon-protect",
        base: Kernel::V5_10,
        lru: "classic",
        preset: "classic-v5.8+prot",
        knobs: &[],
        against: Some("5.10-anon-base"),
        asked: SWAP_INS,
        beside: ACTIVATION,
        about: "protection alone: no anonymous shadows",
    },
    Patched {
        name: "5.10-anon-series",
        base: Kernel::V5_10,
        lru: "classic",
        preset: "classic-v5.9",
        knobs: &[],
        against: Some("5.10-anon-base"),
        asked: DETECTION,
        beside: ACTIVATION,
        about: "the anonymous workingset series as merged",
    },
];

impl Patched {
    /// The one of that name.
    pub fn of(name: &str) -> Option<&'static Patched> {
        PATCHED.iter().find(|p| p.name == name)
    }

    /// The LRU that the kernel was built with.
    pub fn policy(&self) -> Policy {
        let knob = |&(key, value): &(&str, &str)| Knob {
            key: key.into(),
            value: KnobValue::Text(value.into()),
        };
        let knobs = self.knobs.iter().map(knob).collect();
        let spec = PolicySpec { preset: self.preset.into(), knobs };
        Policy::resolve(&spec).unwrap_or_else(|e| panic!("{}: {e:?}", self.name))
    }

    /// True if a name is written like that of a patched kernel: a version of two numbers and a word
    /// behind it. What `uname -r` prints has three, or is a release candidate.
    pub fn is_written_so(name: &str) -> bool {
        let mut numbers = name.splitn(2, '.');
        let digits = |s: &str| s.chars().take_while(char::is_ascii_digit).count();
        let (Some(major), Some(rest)) = (numbers.next(), numbers.next()) else { return false };
        let word = &rest[digits(rest)..];
        !major.is_empty()
            && digits(major) == major.len()
            && digits(rest) > 0
            && word.starts_with(['+', '-'])
            && !word.starts_with("-rc")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patched_kernel_can_be_built_and_is_compared_with_one() {
        for (i, p) in PATCHED.iter().enumerate() {
            let is_of = match p.policy() {
                Policy::Classic(_) => "classic",
                Policy::Mglru(_) => "mglru",
                Policy::Random => "random",
            };
            assert_eq!(p.lru, is_of, "{}", p.name);
            assert!(Patched::is_written_so(p.name), "{}", p.name);
            assert_eq!(PATCHED.iter().position(|q| q.name == p.name), Some(i));
            let base = p.against.map(|a| Patched::of(a).expect(a));
            assert!(base.is_none_or(|b| b.base == p.base && b.against.is_none()), "{}", p.name);
            // Two rows are two kernels.
            assert!(PATCHED[..i].iter().all(|q| q.policy() != p.policy() || q.asked != p.asked));
        }
        for stock in ["6.12.117+deb12-amd64", "6.12-rc3", "6.12", "5.10.0-32-amd64"] {
            assert!(!Patched::is_written_so(stock), "{stock}");
        }
    }
}
