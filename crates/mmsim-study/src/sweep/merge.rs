//! All shards of a store as one, in the order of the plan.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Write};
use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::Error as _;

use super::asked::Asked;
use super::unit::{Distinct, for_each_unit};
use super::work::scenario_of;
use super::{SweepPlan, order};
use crate::store::{Lines, Numbered, Stored, UnitId, no_line, parts_of};
use mmsim_base::error::Error;
use mmsim_report::{CSV_HEADER, ExpectReport, RunReport, SCHEMA};

/// A unit with its report.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub unit: UnitId,
    /// Its report, with axes as the plan has them.
    pub run: RunReport,
}

/// Units that a store does not hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Missing {
    /// Number of units.
    pub units: u64,
    /// The first of them in the plan: its number, and its name.
    pub first: Option<(u64, String)>,
}

/// The units of a plan that a store holds.
#[derive(Debug)]
pub struct Merged<'a> {
    plan: Option<&'a SweepPlan>,
    stored: Stored,
    units: Vec<Numbered>,
    missing: Missing,
    strange: u64,
}

impl<'a> Merged<'a> {
    /// Looks through a store for the units of a plan.
    ///
    /// # Errors
    ///
    /// As [`Stored::open`], or a value of the plan fits no key.
    pub fn open(plan: &'a SweepPlan, store: &Path) -> Result<Merged<'a>, Error> {
        let stored = Stored::open(store, Some(plan.name()))?;
        let (mut units, mut missing) = (Vec::new(), Missing::default());
        let mut seen: BTreeMap<UnitId, u64> = BTreeMap::new();
        let (mut others, mut lacking) = (BTreeSet::new(), Distinct::default());
        for_each_unit(plan, |unit| match stored.position(unit.id) {
            // A value that changes nothing has its rows too; a point that was drawn twice has them
            // once.
            Some(_) => {
                let first = *seen.entry(unit.id).or_insert(unit.n);
                let labels = |n: u64| labels(plan, n);
                if first == unit.n
                    || labels(unit.n) != labels(first) && others.insert((unit.id, labels(unit.n)))
                {
                    units.push(unit);
                }
            }
            None if lacking.is_new(unit.id) => {
                missing.units += 1;
                missing.first.get_or_insert_with(|| (unit.n, unit.id.to_string()));
            }
            None => {}
        })?;
        let strange = stored.len() - seen.len() as u64;
        Ok(Merged { plan: Some(plan), stored, units, missing, strange })
    }

    /// A store without its plan: the units of a setting and variant one behind the other, in the
    /// order of the plan as far as the store tells it.
    fn without_plan(stored: Stored, folder: &Path) -> Result<Merged<'static>, Error> {
        let units = order::without_plan(&stored, folder)?;
        Ok(Merged { plan: None, stored, units, missing: Missing::default(), strange: 0 })
    }

    /// Units of the plan that the store does not hold.
    pub fn missing(&self) -> &Missing {
        &self.missing
    }

    /// Units of the store that the plan does not have (any more).
    pub fn strange(&self) -> u64 {
        self.strange
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.units.len() as u64
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The name of the sweep.
    pub fn name(&self) -> &str {
        self.plan.map_or(self.stored.sweep(), SweepPlan::name)
    }

    /// Description of the plan.
    pub fn about(&self) -> &str {
        self.plan.map_or("", SweepPlan::about)
    }

    /// Expectations of the scenarios of the plan, to be checked against the rows; none without a
    /// plan.
    pub fn asked(&self) -> Asked<'_> {
        Asked::of(self.plan)
    }

    /// The rows in the order of the plan, a few of them in memory at a time.
    pub fn rows(&self) -> Rows<'_> {
        Rows { merged: self, lines: Lines::new(&self.stored), next: 0, ready: VecDeque::new() }
    }
}

fn labels(plan: &SweepPlan, n: u64) -> (usize, Vec<(String, String)>) {
    let place = plan.place(n);
    (place.scenario, plan.labels(place.scenario, place.setting))
}

/// A store as it is, without a plan: its rows are those that were kept.
///
/// # Errors
///
/// As [`Stored::open`]; or a scenario or a file was edited, and runs of a setting and variant are
/// there from before and after.
pub fn saved(store: &Path) -> Result<Merged<'static>, Error> {
    Merged::without_plan(Stored::open(store, None)?, store)
}

/// Rows of a store, made on request.
pub struct Rows<'a> {
    merged: &'a Merged<'a>,
    lines: Lines<&'a Stored>,
    next: usize,
    ready: VecDeque<Result<Row, Error>>,
}

/// Rows that are read at once.
const PART: usize = 256;

impl Rows<'_> {
    fn fill(&mut self) {
        let merged = self.merged;
        let part = &merged.units[self.next..merged.units.len().min(self.next + PART)];
        self.next += part.len();
        let line = |unit: &Numbered| {
            let position = merged.stored.position(unit.id).expect("it was found before");
            (*unit, self.lines.line(position))
        };
        let lines: Vec<(Numbered, Result<Vec<u8>, Error>)> = part.iter().map(line).collect();
        let row = |(unit, line): (Numbered, Result<Vec<u8>, Error>)| -> Result<Row, Error> {
            let line = line?;
            let (unit_id, _, run) = parts_of(&line).ok_or_else(|| no_line(Path::new("")))?;
            let mut run: RunReport = serde_json::from_slice(run)
                .map_err(|e| Error::plain(format!("the report of unit {unit_id}: {e}")))?;
            if let Some(plan) = merged.plan {
                let (scenario, labels) = labels(plan, unit.n);
                run.axes = labels.into_iter().collect();
                run.scenario = scenario_of(plan, scenario).map(str::to_string);
            }
            Ok(Row { unit: unit.id, run })
        };
        let rows: Vec<Result<Row, Error>> = lines.into_par_iter().map(row).collect();
        self.ready.extend(rows);
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            self.fill();
        }
        self.ready.pop_front()
    }
}

/// Why a merged document could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The store cannot be read.
    #[error("{0}")]
    Store(#[from] Error),
    /// The document cannot be written.
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// A list that is made while it is written.
struct Runs<'a> {
    rows: RefCell<Rows<'a>>,
    asked: &'a RefCell<Asked<'a>>,
    failed: RefCell<Option<Error>>,
}

impl Serialize for Runs<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = serializer.serialize_seq(None)?;
        for row in &mut *self.rows.borrow_mut() {
            match row {
                Ok(row) => {
                    self.asked.borrow_mut().add(&row.run);
                    list.serialize_element(&row.run)?;
                }
                Err(e) => {
                    *self.failed.borrow_mut() = Some(e);
                    return Err(S::Error::custom("the store"));
                }
            }
        }
        list.end()
    }
}

/// Results of expectations, known behind the runs.
struct Answers<'a>(&'a RefCell<Asked<'a>>);

impl Answers<'_> {
    fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl Serialize for Answers<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow_mut().finish().serialize(serializer)
    }
}

/// Writes all rows as the document of `mmsim run`: a report, without notes. Gives what scenarios
/// expect of their runs, and what came out.
///
/// # Errors
///
/// The store cannot be read, or the document not be written.
pub fn write_json(
    merged: &Merged<'_>,
    out: &mut dyn Write,
) -> Result<Vec<ExpectReport>, WriteError> {
    #[derive(Serialize)]
    struct Document<'a> {
        mmsim: &'a str,
        schema: u32,
        scenario: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        about: &'a str,
        runs: Runs<'a>,
        #[serde(skip_serializing_if = "Answers::is_empty")]
        expect: Answers<'a>,
    }
    let asked = RefCell::new(merged.asked());
    let document = Document {
        mmsim: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        scenario: merged.name(),
        about: merged.about(),
        runs: Runs { rows: RefCell::new(merged.rows()), asked: &asked, failed: RefCell::new(None) },
        expect: Answers(&asked),
    };
    let written = serde_json::to_writer_pretty(&mut *out, &document);
    if let Some(error) = document.runs.failed.take() {
        return Err(error.into());
    }
    written.map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(asked.borrow_mut().finish())
}

/// Writes all rows as CSV in the long form of `mmsim run`: a line for each unit, phase and value.
/// Gives what [`write_json`] gives.
///
/// # Errors
///
/// As [`write_json`].
pub fn write_tidy(
    merged: &Merged<'_>,
    out: &mut dyn Write,
) -> Result<Vec<ExpectReport>, WriteError> {
    let mut asked = merged.asked();
    writeln!(out, "{CSV_HEADER}")?;
    for row in merged.rows() {
        let run = row?.run;
        asked.add(&run);
        out.write_all(run.csv_rows(merged.name()).as_bytes())?;
    }
    Ok(asked.finish())
}
