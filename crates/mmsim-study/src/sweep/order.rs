//! The order of a store's units where no plan is at hand.
//!
//! A unit keeps the number that it had in the plan when it ran. The numbers of one plan are the
//! order of that plan. After an axis was edited, the store holds numbers of two plans: one number
//! means two units, and units of a setting are apart. Then the axes decide, as far as they can:
//! values that are all numbers or quantities ascend, others stand by the lowest number that any of
//! their units had.
//!
//! After a scenario or a file that it reads was edited, the store may hold runs of one setting and
//! variant from before and after. They are different runs under one name, and no mean of theirs
//! means anything: such a store needs its plan, which says which of them it has now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;

use crate::store::{Lines, Numbered, Stored, checksum, merge_command, no_line, parts_of};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_language::scenario::units::measure;
use mmsim_report::Pairs;

/// Where a unit stands, as its report says, and a fingerprint of what it was given.
#[derive(Deserialize)]
struct Stand {
    #[serde(default)]
    scenario: Option<String>,
    axes: Pairs<String>,
    variant: String,
    seed: u64,
    #[serde(skip)]
    given: u64,
}

/// Settings of a run from its report: knobs, and the keys of its scenario.
#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    knobs: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    setup: serde_json::Map<String, serde_json::Value>,
}

impl Given {
    fn of(line: &[u8]) -> Option<Given> {
        serde_json::from_slice(parts_of(line)?.2).ok()
    }

    /// The first key whose values differ.
    fn differs(&self, other: &Given) -> Option<String> {
        let first = |a: &serde_json::Map<_, _>, b: &serde_json::Map<String, _>| {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find(|k| a.get(*k) != b.get(*k)).cloned()
        };
        first(&self.setup, &other.setup).or_else(|| first(&self.knobs, &other.knobs))
    }
}

impl Stand {
    fn of(line: &[u8]) -> Option<Stand> {
        let mut stand: Stand = serde_json::from_slice(parts_of(line)?.2).ok()?;
        let Given { knobs, setup } = Given::of(line)?;
        stand.given = checksum(format!("{knobs:?} {setup:?}").as_bytes());
        Some(stand)
    }

    /// Its setting and variant in a few words.
    fn label(&self) -> String {
        let scenario = self.scenario.iter().map(|s| format!("{s}, "));
        let axes = self.axes.iter().map(|(axis, value)| format!(", {axis} = {value}"));
        scenario.chain([self.variant.clone()]).chain(axes).collect()
    }

    /// True if they differ in their seeds at most.
    fn same_row(&self, other: &Stand) -> bool {
        (&self.scenario, &self.axes, &self.variant)
            == (&other.scenario, &other.axes, &other.variant)
    }
}

/// Units whose reports are looked at together.
const PART: usize = 1024;

/// The units of a store, those of one setting and variant one behind the other, in the order of its
/// plan as far as that can be found.
///
/// # Errors
///
/// The store cannot be read, or it holds runs of a setting and variant from before and after an
/// edit.
pub(super) fn without_plan(stored: &Stored, folder: &Path) -> Result<Vec<Numbered>, Error> {
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
    if let Some((a, b)) = edited(&stands) {
        let mut given = |i: usize| -> Result<Option<Given>, Error> {
            let position = stored.position(units[i].id).expect("it is of this store");
            Ok(Given::of(&lines.line(position)?))
        };
        let key = given(a)?.zip(given(b)?).and_then(|(a, b)| a.differs(&b));
        let which = key.map_or(String::new(), |key| format!(": `{key}` differs"));
        let title = format!(
            "`{}` holds runs of `{}` from before and after an edit{which}",
            folder.display(),
            stands[b].label()
        );
        let help = format!("`{}` shows those of the plan as it is now", merge_command(folder));
        return Err(Error::new(ErrorKind::File, title).help(help));
    }
    if of_one_plan(&units, &stands) {
        return Ok(units);
    }
    let keys = keys(&stands);
    let mut all: Vec<_> = keys.into_iter().zip(&stands).zip(units).collect();
    all.sort_by_key(|((key, stand), unit)| (key.clone(), stand.seed, unit.id));
    Ok(all.into_iter().map(|(_, unit)| unit).collect())
}

/// Two units of one setting and variant that were not given the same, or that have one seed.
fn edited(stands: &[Stand]) -> Option<(usize, usize)> {
    let mut rows: BTreeMap<_, (usize, BTreeMap<u64, usize>)> = BTreeMap::new();
    for (i, stand) in stands.iter().enumerate() {
        let axes: BTreeMap<&str, &String> = stand.axes.iter().collect();
        let (first, seeds) = rows
            .entry((&stand.scenario, axes, &stand.variant))
            .or_insert_with(|| (i, BTreeMap::new()));
        if let Some(same) = seeds.insert(stand.seed, i) {
            return Some((same, i));
        }
        if stands[*first].given != stand.given {
            return Some((*first, i));
        }
    }
    None
}

/// True if numbers are the order of a plan: no number twice, and no row in two pieces.
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

/// Sort keys of units: scenario, each axis, variant, as ranks.
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
