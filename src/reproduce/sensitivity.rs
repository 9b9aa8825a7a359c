//! Which verdicts hang on which constant: each is moved by a quarter, alone.
//!
//! The constants that the sources leave open and the costs of the machine are varied, on
//! the quick subset unless tables were chosen. Constants that stand in the program cannot
//! be varied from outside; they are named, so that nobody takes them for tested.

use serde::Deserialize;

use mmsim_core::machine::cost::CostModel;

use super::lab::{Lab, Varied};
use super::published::Published;
use super::{Family, Figures};
use crate::report::reproduction::{Flip, Sensitivity, Variation};
use crate::run::RunError;

const CALIBRATION: &str = include_str!("../../docs/calibration.toml");
const FACTORS: [f64; 2] = [0.75, 1.25];

#[derive(Deserialize)]
struct Calibration {
    constant: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

pub(super) fn sensitivity(
    family: &Family,
    published: &Published,
    lab: &Lab<'_>,
    before: &Figures,
) -> Result<Sensitivity, RunError> {
    let mut varied = Vec::new();
    for c in family.constants {
        for factor in FACTORS {
            let how = Varied::Constant(c.name, factor);
            let name = format!("{}.{}", family.name, c.name);
            varied.push(variation(family, published, lab, before, &name, factor, &how)?);
        }
    }
    for (cost, value) in CostModel::measured().fields() {
        for factor in FACTORS {
            let nanos = (value.as_nanos() as f64 * factor).round() as u64;
            let how = Varied::Cost(format!("machine.cost.{cost}"), format!("{nanos}ns"));
            let name = format!("cost.{cost}");
            varied.push(variation(family, published, lab, before, &name, factor, &how)?);
        }
    }
    let calibration: Calibration = toml::from_str(CALIBRATION).expect("docs/calibration.toml");
    let names = calibration.constant.into_iter().map(|c| c.name);
    let fixed = names.filter(|n| !varied.iter().any(|v| v.constant == *n)).collect();
    Ok(Sensitivity { varied, fixed })
}

fn variation(
    family: &Family,
    published: &Published,
    lab: &Lab<'_>,
    before: &Figures,
    constant: &str,
    factor: f64,
    how: &Varied,
) -> Result<Variation, RunError> {
    let progress = |_: &str, done: usize, of: usize| {
        (lab.progress)(&format!("{constant} x {factor}"), done, of);
    };
    let lab = Lab { varied: Some(how), progress: &progress, ..*lab };
    let after = (family.figures)(&lab, published)?;
    Ok(Variation { constant: constant.to_string(), factor, flips: flips(before, &after) })
}

/// Verdicts that are not what they were.
fn flips(before: &Figures, after: &Figures) -> Vec<Flip> {
    let of = |a: &crate::report::reproduction::FigureRow| {
        let b = before.rows.iter().find(|b| b.id == a.id)?;
        let met = a.met.unwrap_or(false);
        (b.met.is_some() && b.met != Some(met)).then(|| Flip {
            id: a.id.clone(),
            before: b.simulated,
            after: a.simulated,
            met,
        })
    };
    after.rows.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::reproduction::FigureRow;
    use crate::reproduce::demand::Basis;

    fn figure(id: &str, simulated: f64, met: Option<bool>) -> FigureRow {
        FigureRow {
            id: id.into(),
            quantity: "pswpin".into(),
            unit: "pages".into(),
            published: Some(1.0),
            deviation: None,
            simulated: Some(simulated),
            ci95: None,
            seeds: 1,
            demand: "exact".into(),
            met,
            basis: Basis::Predicted,
            note: String::new(),
        }
    }

    #[test]
    fn only_verdicts_that_change_are_flips() {
        let rows = |a: FigureRow, b: FigureRow, c: FigureRow| Figures {
            rows: vec![a, b, c],
            findings: Vec::new(),
        };
        let before = rows(
            figure("kept", 1.0, Some(true)),
            figure("lost", 1.0, Some(true)),
            figure("free", 1.0, None),
        );
        let after = rows(
            figure("kept", 1.1, Some(true)),
            figure("lost", 2.0, Some(false)),
            figure("free", 9.0, None),
        );
        let lost = Flip { id: "lost".into(), before: Some(1.0), after: Some(2.0), met: false };
        assert_eq!(flips(&before, &after), [lost]);
    }

    /// Every constant of an experiment stands in docs/calibration.toml.
    #[test]
    fn constants_are_listed() {
        let listed: Calibration = toml::from_str(CALIBRATION).expect("docs/calibration.toml");
        for family in crate::reproduce::FAMILIES {
            for c in family.constants {
                let name = format!("{}.{}", family.name, c.name);
                assert!(listed.constant.iter().any(|n| n.name == name), "{name}");
            }
        }
    }
}
