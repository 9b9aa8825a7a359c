//! Which verdicts hang on which constant: each is moved by a quarter, alone.
//!
//! Varied are the constants that the sources leave open, the costs of the machine, its tick and
//! run-ahead, and the devices that the experiments use. Constants that stand in the program cannot
//! be varied from outside; the report names them as not tested.

use serde::Deserialize;

use mmsim_core::backing::device::{DEVICE_PRESETS, Io};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::cost::CostModel;

use super::lab::{Lab, Varied};
use super::published::Published;
use super::study::Study;
use super::{Family, Figures, carry};
use crate::reproduce::document::{Flip, Sensitivity, Variation};
use mmsim::machines::Catalogue;
use mmsim::run::RunError;
use mmsim::scenario::Scenario;

const CALIBRATION: &str = include_str!("../../evidence/calibration.toml");
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
    study: &Study,
    published: &Published,
    lab: &Lab<'_>,
    before: &Figures,
) -> Result<Sensitivity, RunError> {
    let mut varied = Vec::new();
    for (name, variants) in variations(family, study)? {
        for (factor, how) in FACTORS.into_iter().zip(&variants) {
            let progress = |_: &str, done: usize, of: usize| {
                (lab.progress)(&format!("{name} x {factor}"), done, of);
            };
            let lab = Lab { varied: Some(how), progress: &progress, ..*lab };
            let after = carry::figures(&lab, family, study, published)?;
            let flips = flips(before, &after);
            varied.push(Variation { constant: name.clone(), factor, flips });
        }
    }
    let calibration: Calibration = toml::from_str(CALIBRATION).expect("evidence/calibration.toml");
    let names = calibration.constant.into_iter().map(|c| c.name);
    let fixed = names.filter(|n| !varied.iter().any(|v| v.constant == *n)).collect();
    Ok(Sensitivity { varied, fixed })
}

/// Every constant that can be varied from outside, in both directions.
fn variations(family: &Family, study: &Study) -> Result<Vec<(String, [Varied; 2])>, RunError> {
    let mut all = Vec::new();
    for c in &study.constants {
        let how = FACTORS.map(|factor| Varied::Constant(c.name.clone(), factor));
        all.push((format!("{}.{}", family.name, c.name), how));
    }
    let mut key = |name: String, path: String, value: SimDuration| {
        let nanos = |factor: f64| (value.as_nanos() as f64 * factor).round();
        all.push((name, FACTORS.map(|f| Varied::Key(path.clone(), format!("{}ns", nanos(f))))));
    };
    let mut devices: Vec<String> = Vec::new();
    for file in family.scenarios {
        let specs = Scenario::from_str(file.text, file.path)?.expand(&Catalogue)?;
        for (i, m) in specs.iter().map(|s| &s.machine).enumerate() {
            if i == 0 && devices.is_empty() {
                key("machine.tick".into(), "machine.tick".into(), m.tick);
                key("machine.run-ahead".into(), "machine.run-ahead".into(), m.run_ahead);
            }
            let swap = m.swap.iter().map(|s| &s.device);
            devices.extend(swap.chain([&m.file_device]).map(|d| d.name.clone()));
        }
    }
    for (cost, _) in CostModel::measured().fields() {
        all.push((format!("cost.{cost}"), FACTORS.map(|factor| Varied::Cost(cost, factor))));
    }
    for &(name, ..) in DEVICE_PRESETS.iter().filter(|d| devices.iter().any(|n| n == d.0)) {
        for (word, io) in [("read", Io::Read), ("write", Io::Write)] {
            let how = FACTORS.map(|factor| Varied::Device(name, io, factor));
            all.push((format!("device.{name}.{word}"), how));
        }
    }
    Ok(all)
}

/// Verdicts that are not what they were.
fn flips(before: &Figures, after: &Figures) -> Vec<Flip> {
    let of = |a: &crate::reproduce::document::FigureRow| {
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
    use crate::reproduce::demand::Basis;
    use crate::reproduce::document::{Asks, FigureRow};

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
            gates: true,
            basis: Basis::Predicted,
            asks: Asks::Size,
            note: String::new(),
        }
    }

    #[test]
    fn only_verdicts_that_change_are_flips() {
        let rows = |a: FigureRow, b: FigureRow, c: FigureRow| Figures {
            rows: vec![a, b, c],
            ..Figures::default()
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

    /// Every constant of an experiment stands in evidence/calibration.toml.
    #[test]
    fn constants_are_listed() {
        let listed: Calibration = toml::from_str(CALIBRATION).expect("evidence/calibration.toml");
        for family in crate::reproduce::FAMILIES {
            for c in family.study().unwrap_or_else(|e| panic!("{e}")).constants {
                let name = format!("{}.{}", family.name, c.name);
                assert!(listed.constant.iter().any(|n| n.name == name), "{name}");
            }
        }
    }
}
