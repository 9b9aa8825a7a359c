//! A sweep as one wide table: a line for each unit; a column for each axis, each knob and each
//! number that came out.

use std::fmt;
use std::io::Write;

use mmsim_core::base::vmstat::VmEvent;

use super::asked::Asked;
use super::merge::{Merged, Row, WriteError};
use mmsim_base::error::Error;
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::{ExpectReport, Rows, RunReport};

/// Contents of a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// There is no such value.
    Empty,
    /// A text.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// Any other number.
    Number(f64),
}

impl Cell {
    fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    fn whole(n: Option<u64>) -> Cell {
        n.map_or(Cell::Empty, Cell::Whole)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Empty => Ok(()),
            Cell::Text(text) => text.fmt(f),
            Cell::Whole(n) => n.fmt(f),
            Cell::Number(x) => x.fmt(f),
        }
    }
}

/// Form of all cells of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Texts.
    Text,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Column {
    /// Its head.
    pub name: String,
    /// Form of its cells.
    pub form: Form,
}

/// The columns of a sweep.
#[derive(Clone, Debug)]
pub struct Wide<'a> {
    axes: Vec<Given>,
    knobs: Vec<Given>,
    gauges: Vec<String>,
    asked: Asked<'a>,
    answers: Vec<ExpectReport>,
}

/// An axis or a knob.
#[derive(Clone, Debug)]
struct Given {
    name: String,
    /// True if all its values are numbers.
    numbers: bool,
}

/// A column of results: its head, its form, and the cell of a run.
type Result_ = (&'static str, Form, fn(&RunReport) -> Cell);

/// Numbers that every run has, besides counters and gauges.
const RESULTS: &[Result_] = &[
    ("outcome", Form::Text, |r| Cell::text(r.outcome.name())),
    ("digest", Form::Text, |r| Cell::text(r.digest.as_str())),
    ("sim_time_ns", Form::Whole, |r| Cell::Whole(r.sim_time_ns)),
    ("accesses", Form::Whole, |r| Cell::Whole(r.accesses)),
    ("records", Form::Whole, |r| Cell::Whole(r.records)),
    ("records_per_s", Form::Number, |r| Cell::Number(r.throughput.records_per_s)),
    ("accesses_per_s", Form::Number, |r| Cell::Number(r.throughput.accesses_per_s)),
    ("swap_reading_ns", Form::Whole, |r| Cell::whole(r.reading.map(|r| r.swap_ns))),
    ("file_reading_ns", Form::Whole, |r| Cell::whole(r.reading.map(|r| r.file_ns))),
    ("cache_misses", Form::Whole, |r| Cell::whole(r.cache_misses)),
    ("peak_resident", Form::Whole, |r| Cell::Whole(r.peak_resident)),
    ("mean_resident_bytes", Form::Whole, |r| Cell::whole(r.mean_resident_bytes)),
    ("sim_opt_misses", Form::Whole, |r| Cell::whole(r.bounds.map(|b| b.sim_opt_misses))),
    ("sim_opt_refetches", Form::Whole, |r| Cell::whole(r.bounds.map(|b| b.sim_opt_refetches))),
    ("pressure_some_us", Form::Whole, |r| Cell::Whole(r.pressure.some_us)),
    ("pressure_full_us", Form::Whole, |r| Cell::Whole(r.pressure.full_us)),
    ("major_fault_p50_ns", Form::Whole, |r| Cell::Whole(r.latency.major_fault.p50_ns)),
    ("major_fault_p99_ns", Form::Whole, |r| Cell::Whole(r.latency.major_fault.p99_ns)),
    ("major_fault_max_ns", Form::Whole, |r| Cell::Whole(r.latency.major_fault.max_ns)),
];

fn learn<V: ToString>(all: &mut Vec<Given>, name: &str, value: &V) {
    let numbers = value.to_string().parse::<f64>().is_ok_and(f64::is_finite);
    match all.iter_mut().find(|g| g.name == name) {
        Some(given) => given.numbers &= numbers,
        None => all.push(Given { name: name.to_string(), numbers }),
    }
}

impl Given {
    fn column(&self) -> Column {
        let form = if self.numbers { Form::Number } else { Form::Text };
        Column { name: self.name.clone(), form }
    }

    fn cell(&self, value: Option<String>) -> Cell {
        match value {
            None => Cell::Empty,
            Some(text) if self.numbers => text.parse().map_or(Cell::Empty, Cell::Number),
            Some(text) => Cell::Text(text),
        }
    }
}

impl<'a> Wide<'a> {
    /// Looks for the columns of all rows.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub fn of(merged: &'a Merged<'_>) -> Result<Wide<'a>, Error> {
        let mut wide = Wide::empty(merged.asked());
        for row in merged.rows() {
            let run = row?.run;
            wide.asked.add(&run);
            wide.learn(&run);
        }
        wide.answers = wide.asked.finish();
        Ok(wide)
    }

    fn empty(asked: Asked<'a>) -> Wide<'a> {
        let (axes, knobs, gauges) = (Vec::new(), Vec::new(), Vec::new());
        Wide { axes, knobs, gauges, asked, answers: Vec::new() }
    }

    /// Looks for the columns of runs, which are no units of a sweep.
    pub fn of_runs(runs: &[RunReport]) -> Wide<'static> {
        let mut wide = Wide::empty(Asked::of(None));
        runs.iter().for_each(|run| wide.learn(run));
        wide
    }

    fn learn(&mut self, run: &RunReport) {
        run.axes.iter().for_each(|(name, v)| learn(&mut self.axes, name, v));
        run.knobs.iter().for_each(|(name, v)| learn(&mut self.knobs, name, v));
        for (name, _) in run.gauges.iter() {
            if !self.gauges.iter().any(|g| g == name) {
                self.gauges.push(name.to_string());
            }
        }
    }

    /// Expectations of scenarios, with their results.
    pub fn answers(&self) -> &[ExpectReport] {
        &self.answers
    }

    /// The columns. An axis that is a knob too has one column for each: the requested value, and
    /// the resulting one.
    pub fn columns(&self) -> Vec<Column> {
        let unit = Column { name: "unit".to_string(), form: Form::Text };
        std::iter::once(unit).chain(self.columns_of_runs()).collect()
    }

    /// The same without the name of the unit.
    pub fn columns_of_runs(&self) -> Vec<Column> {
        let column = |name: &str, form| Column { name: name.to_string(), form };
        let mut all: Vec<Column> = ["scenario", "variant"].map(|n| column(n, Form::Text)).into();
        all.push(column("seed", Form::Whole));
        all.extend(self.axes.iter().map(Given::column));
        all.extend(self.knobs.iter().map(|k| {
            let knob = k.column();
            match self.axes.iter().any(|a| a.name == k.name) {
                true => Column { name: format!("knob {}", k.name), ..knob },
                false => knob,
            }
        }));
        if !self.asked.is_empty() {
            all.push(column("expect", Form::Text));
        }
        all.extend(RESULTS.iter().map(|r| column(r.0, r.1)));
        all.extend(Figure::ALL.map(|f| column(f.name(), Form::Number)));
        all.extend(VmEvent::ALL.iter().map(|e| column(e.name(), Form::Whole)));
        all.extend(self.gauges.iter().map(|g| column(g, Form::Whole)));
        all
    }

    /// The cells of a row, one for each column.
    pub fn cells(&self, row: &Row, sweep: &str) -> Vec<Cell> {
        let unit = Cell::Text(row.unit.to_string());
        std::iter::once(unit).chain(self.cells_of_run(&row.run, sweep)).collect()
    }

    /// The cells of a run, one for each of [`Wide::columns_of_runs`]. `name` is that of the scenario
    /// where the run has none.
    pub fn cells_of_run(&self, run: &RunReport, name: &str) -> Vec<Cell> {
        let scenario = run.scenario.as_deref().unwrap_or(name);
        let mut all =
            vec![Cell::text(scenario), Cell::text(run.variant.as_str()), Cell::Whole(run.seed)];
        all.extend(self.axes.iter().map(|a| a.cell(run.axes.get(&a.name).cloned())));
        let knob = |k: &Given| k.cell(run.knobs.get(&k.name).map(ToString::to_string));
        all.extend(self.knobs.iter().map(knob));
        if !self.asked.is_empty() {
            let word = |holds| Cell::text(if holds { "met" } else { "missed" });
            all.push(self.asked.holds(run).map_or(Cell::Empty, word));
        }
        all.extend(RESULTS.iter().map(|r| (r.2)(run)));
        let figure = |f: Figure| f.of(Scope::from(run)).map_or(Cell::Empty, Cell::Number);
        all.extend(Figure::ALL.map(figure));
        all.extend(VmEvent::ALL.iter().map(|e| Cell::whole(run.vmstat.get(e.name()).copied())));
        all.extend(self.gauges.iter().map(|g| Cell::whole(run.gauges.get(g).copied())));
        all
    }
}

/// Writes all rows as wide CSV. Gives what scenarios expect of their runs, and what came out.
///
/// # Errors
///
/// The store cannot be read, or the table not be written.
pub fn write_wide(
    merged: &Merged<'_>,
    out: &mut dyn Write,
) -> Result<Vec<ExpectReport>, WriteError> {
    let wide = Wide::of(merged)?;
    let mut rows = Rows::to(out);
    rows.write(wide.columns().iter().map(|c| &c.name))?;
    for row in merged.rows() {
        rows.write(wide.cells(&row?, merged.name()))?;
    }
    rows.flush()?;
    Ok(wide.answers().to_vec())
}
