//! Values that the sources of these experiments leave open, and the ranges over which results are
//! shown.
//!
//! Of a workload that is not described, no single choice of parameters proves anything. So a figure
//! comes twice: with the chosen values over many seeds, and with values drawn from ranges,
//! where only the direction is counted. All draws of all experiments were fixed, with the values and the
//! ranges, before the first comparison.

use std::collections::BTreeMap;

use mmsim_core::base::rng::Rng;

use super::super::lab::{Constant, Lab, ScenarioFile, Sets};
use super::super::unpublished_row;
use crate::reproduce::document::FigureRow;
use mmsim::report::statistics::estimate;
use mmsim::report::{Ending, RunReport};
use mmsim::run::RunError;

/// Parameters by name.
pub(super) type Values = BTreeMap<&'static str, f64>;

/// The range of a constant: its name, least and greatest value.
pub(super) type Range = (&'static str, f64, f64);

/// A constant that a source leaves open. All are whole numbers.
pub(super) const fn open(name: &'static str, value: f64, unit: &'static str) -> Constant {
    Constant { name, value, unit, basis: "choice: not given; drawn over a range too" }
}

/// The chosen values.
pub(super) fn chosen(lab: &Lab<'_>, constants: &[Constant]) -> Values {
    constants.iter().map(|c| (c.name, lab.value(c))).collect()
}

/// The values of draw `n`: each uniformly from its range, the others as they are.
pub(super) fn drawn(family: &str, n: u64, values: &Values, ranges: &[Range]) -> Values {
    let mut rng = Rng::for_purpose(n, &format!("reproduce/{family}"));
    let mut values = values.clone();
    for &(name, low, high) in ranges {
        values.insert(name, low + rng.below((high - low) as u64 + 1) as f64);
    }
    values
}

/// A direction: what is compared, and the change from one variant to another in per cent.
pub(super) struct Direction {
    pub(super) id: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) figure: fn(&RunReport) -> f64,
    /// True if the change ought to be down.
    pub(super) down: bool,
}

/// Runs a scenario for a number of draws, one seed each, and returns the share of them on which
/// directions hold. A draw on which memory runs out is reported and not counted.
pub(super) fn over_draws(
    lab: &Lab<'_>,
    family: &str,
    file: ScenarioFile,
    draws: &[Sets],
    directions: &[Direction],
) -> Result<Vec<FigureRow>, RunError> {
    let one_seed = |(n, sets): (usize, &Sets)| {
        let mut sets = sets.clone();
        sets.push(("seed".into(), (n + 1).to_string()));
        sets.push(("seeds".into(), "1".into()));
        sets
    };
    let cells: Vec<Sets> = draws.iter().enumerate().map(one_seed).collect();
    let runs = lab.run(&format!("{family}: draws"), file, &cells)?;
    let whole = |runs: &&Vec<RunReport>| runs.iter().all(|r| r.outcome == Ending::Completed);
    let complete: Vec<&Vec<RunReport>> = runs.iter().filter(whole).collect();
    let row = |d: &Direction| {
        let of = |runs: &[RunReport], variant: &str| {
            runs.iter().find(|r| r.variant == variant).map_or(0.0, d.figure)
        };
        let change = |runs: &&Vec<RunReport>| (of(runs, d.to) / of(runs, d.from) - 1.0) * 100.0;
        let mut changes: Vec<f64> = complete.iter().map(change).collect();
        changes.sort_by(f64::total_cmp);
        let holds = |c: &f64| if d.down { *c < 0.0 } else { *c > 0.0 };
        let held: Vec<f64> = changes.iter().map(|c| f64::from(u8::from(holds(c)))).collect();
        let mut estimate = estimate(&held);
        if let Some(e) = &mut estimate {
            e.ci95 = None;
        }
        let way = if d.down { "less" } else { "more" };
        let id = format!("{family}-draws/{}", d.id);
        let mut row =
            unpublished_row(&id, &format!("{way} in {}", d.to), "share of draws", estimate);
        if let (Some(least), Some(most)) = (changes.first(), changes.last()) {
            let middle = changes[changes.len() / 2];
            row.note = format!(
                "{}: change from \"{}\" to \"{}\" over {} draws from {least:.1} to {most:.1} %, in the middle \
                 {middle:.1} %; memory ran out on {} more.",
                d.id,
                d.from,
                d.to,
                complete.len(),
                runs.len() - complete.len()
            );
        }
        row
    };
    Ok(directions.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_their_ranges_and_differ() {
        let values: Values = [("heap", 150.0), ("apps", 60.0)].into();
        let ranges = [("heap", 100.0, 170.0)];
        let heaps: Vec<f64> = (1..=50).map(|n| drawn("f", n, &values, &ranges)["heap"]).collect();
        assert!(heaps.iter().all(|h| (100.0..=170.0).contains(h) && h.fract() == 0.0));
        assert!(heaps.iter().any(|h| *h < 115.0) && heaps.iter().any(|h| *h > 155.0));
        assert_eq!(drawn("f", 1, &values, &ranges)["heap"], heaps[0]);
        assert_eq!(drawn("f", 7, &values, &ranges)["apps"], 60.0);
    }
}
