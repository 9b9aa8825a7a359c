//! Summary of an experiment: its demands by kind, the constants that were chosen with figures in
//! view, and the accuracy of the model for recorded kernels with and without the patch.

use serde::Deserialize;

use super::document::{FigureRow, KernelScore, Summary};

const CALIBRATION: &str = include_str!("../../evidence/calibration.toml");
const KERNELS: &str = include_str!("../../evidence/patched.toml");

#[derive(Deserialize)]
struct Calibration {
    constant: Vec<Constant>,
}

#[derive(Deserialize)]
struct Constant {
    name: String,
    looked_at: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernels {
    kernel: Vec<KernelScore>,
}

/// The summary of the family of that name whose figures are `rows`, for its recorded kernels.
pub(super) fn summary(family: &str, recorded: &[String], rows: &[FigureRow]) -> Summary {
    let of_family = |name: &str| {
        name.strip_prefix(family).and_then(|n| n.strip_prefix('.')).map(str::to_string)
    };
    let calibration: Calibration = toml::from_str(CALIBRATION).expect("evidence/calibration.toml");
    let looked = calibration.constant.iter().filter(|c| c.looked_at != "none");
    let constants = looked.filter_map(|c| of_family(&c.name)).collect();
    let kernels = kernels();
    let of = |name: &String| kernels.iter().find(|k| k.kernel == *name).cloned();
    Summary {
        constants,
        kernels: recorded.iter().map(|k| of(k).unwrap_or_else(|| panic!("{k}"))).collect(),
        ..Summary::count(rows)
    }
}

/// Numbers of figures of each kernel that are close enough, as evidence/patched.toml says.
pub fn kernels() -> Vec<KernelScore> {
    let kernels: Kernels = toml::from_str(KERNELS).expect("evidence/patched.toml");
    kernels.kernel
}

#[cfg(test)]
mod tests {
    use super::super::demand::Basis;
    use super::super::document::Asks;
    use super::super::{FAMILIES, Family, unpublished_row};
    use super::*;
    use crate::validate::patched::Patched;

    #[test]
    fn every_kernel_of_a_family_is_recorded_and_counted() {
        let counted = kernels();
        let of = |f: &Family| f.study().unwrap_or_else(|e| panic!("{e}")).kernels;
        for name in FAMILIES.iter().flat_map(of) {
            assert!(Patched::of(&name).is_some(), "{name}");
            assert!(counted.iter().any(|k| k.kernel == name), "{name}");
        }
    }

    /// A row that a constant was chosen by is no prediction, a wide band no size, and a model on
    /// paper no machine, whatever they were called.
    #[test]
    fn kinds_of_demands_are_counted_apart() {
        let row = |asks: Asks, basis: Basis, met: Option<bool>| FigureRow {
            met,
            basis,
            asks,
            ..unpublished_row("t/r/c", "n", "pages", None)
        };
        let rows = [
            row(Asks::Size, Basis::Predicted, Some(true)),
            row(Asks::Size, Basis::Predicted, Some(false)),
            row(Asks::Size, Basis::Predicted, None),
            row(Asks::Size, Basis::Trend, Some(true)),
            row(Asks::Size, Basis::Calibrated, Some(true)),
            row(Asks::Direction, Basis::Calibrated, Some(false)),
            row(Asks::Direction, Basis::Trend, Some(true)),
            row(Asks::OwnBound, Basis::Predicted, Some(true)),
            row(Asks::Paper, Basis::Predicted, Some(true)),
        ];
        let scores = Summary::count(&rows).scores().map(|s| (s.met, s.of));
        assert_eq!(scores, [(1, 2), (1, 1), (1, 1), (1, 1), (1, 2), (1, 1)]);
    }

    #[test]
    fn constants_that_were_chosen_with_figures_in_view_are_named() {
        let of = |name: &str| summary(name, &[], &[]);
        assert!(of("anon-workingset").constants.iter().any(|c| c == "os-overhead"));
        assert!(of("inactive-ratio").constants.is_empty());
        assert!(of("compaction-redesign").kernels.is_empty());
    }
}
