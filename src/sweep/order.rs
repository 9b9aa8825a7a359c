//! The order of a store's units where no plan is at hand.
//!
//! A unit keeps the number that it had in the plan when it ran. The numbers of one plan are the
//! order of that plan. After an axis was edited, the store holds numbers of two plans: one number
//! means two units, and units of a setting are apart. Then the axes decide, as far as they can:
//! values that are all numbers or quantities ascend, others stand by the lowest number that any of
//! their units had.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Deserialize;

use super::Stored;
use super::store::{Lines, no_line, parts_of};
use super::unit::Numbered;
use crate::error::Error;
use crate::report::Pairs;
use crate::scenario::units::measure;

/// Where a unit stands, as its report says.
#[derive(Deserialize)]
struct Stand {
    #[serde(default)]
    scenario: Option<String>,
    axes: Pairs<String>,
    variant: String,
    seed: u64,
}

impl Stand {
    fn of(line: &[u8]) -> Option<Stand> {
        serde_json::from_slice(parts_of(line)?.2).ok()
    }

    /// Whether they differ in their seeds at most.
    fn same_row(&self, other: &Stand) -> bool {
        (&self.scenario, &self.axes, &self.variant)
            == (&other.scenario, &other.axes, &other.variant)
    }
}

/// Units whose reports are looked at together.
const PART: usize = 1024;

/// The units of a store, those of one setting and variant one behind the other, as its plan has them
/// as far as that can be told.
///
/// # Errors
///
/// The store cannot be read.
pub(super) fn without_plan(stored: &Stored) -> Result<Vec<Numbered>, Error> {
    let units = stored.by_number();
    let mut lines = Lines::new(stored);
    let mut stands: Vec<Stand> = Vec::with_capacity(units.len());
    for part in units.chunks(PART) {
        let mut read = Vec::with_capacity(part.len());
        for unit in part {
            let position = stored.position(unit.id).expect("it is of this store");
            read.push((position, lines.line(position)?));
        }
        let stand = |(position, line): (_, Vec<u8>)| {
            Stand::of(&line).ok_or_else(|| no_line(&stored.path(position)))
        };
        stands.extend(read.into_par_iter().map(stand).collect::<Result<Vec<_>, _>>()?);
    }
    if of_one_plan(&units, &stands) {
        return Ok(units);
    }
    let keys = keys(&stands);
    let mut all: Vec<_> = keys.into_iter().zip(&stands).zip(units).collect();
    all.sort_by_key(|((key, stand), unit)| (key.clone(), stand.seed, unit.id));
    Ok(all.into_iter().map(|(_, unit)| unit).collect())
}

/// Whether numbers are the order of a plan: no number twice, and no row in two pieces.
fn of_one_plan(units: &[Numbered], stands: &[Stand]) -> bool {
    let mut seen = BTreeSet::new();
    let mut last: Option<&Stand> = None;
    for stand in stands {
        if !last.is_some_and(|last| last.same_row(stand)) {
            let axes: Vec<_> = stand.axes.iter().collect();
            if !seen.insert((&stand.scenario, axes, &stand.variant)) {
                return false;
            }
        }
        last = Some(stand);
    }
    units.windows(2).all(|pair| pair[0].n < pair[1].n)
}

/// What units are sorted by: scenario, each axis, variant, as ranks.
fn keys(stands: &[Stand]) -> Vec<Vec<usize>> {
    let mut axes: Vec<&str> = Vec::new();
    for (name, _) in stands.iter().flat_map(|s| s.axes.iter()) {
        if !axes.contains(&name) {
            axes.push(name);
        }
    }
    let column = |of: &dyn Fn(&'_ Stand) -> Option<&'_ str>| {
        let ranks = ranks(stands.iter().map(of));
        stands.iter().map(|s| of(s).map_or(0, |value| 1 + ranks[value])).collect::<Vec<usize>>()
    };
    let mut columns = vec![column(&|s| s.scenario.as_deref())];
    columns.extend(axes.iter().map(|a| column(&|s| s.axes.get(a).map(String::as_str))));
    columns.push(column(&|s| Some(&s.variant)));
    (0..stands.len()).map(|i| columns.iter().map(|c| c[i]).collect()).collect()
}

/// The values of a column, each with its place among them.
fn ranks<'a>(column: impl Iterator<Item = Option<&'a str>>) -> BTreeMap<&'a str, usize> {
    let mut values: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    values.extend(column.flatten().filter(|value| seen.insert(*value)));
    let measures: Option<Vec<f64>> = values.iter().map(|v| measure(v)).collect();
    if let Some(measures) = measures {
        let mut measured: Vec<(f64, &str)> = measures.into_iter().zip(values).collect();
        measured.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        values = measured.into_iter().map(|m| m.1).collect();
    }
    values.into_iter().zip(0..).collect()
}
