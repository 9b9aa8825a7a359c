//! A sweep as one wide table: a line for each unit; a column for each axis, each knob and each
//! number that came out. An axis of quantities has its numbers in a column beside it, as
//! `machine.memory_bytes`.

use std::io::Write;

use mmsim_core::base::vmstat::VmEvent;

use super::asked::Asked;
use super::merge::{Merged, Row, WriteError};
use crate::cells::{Cell, Column, Form};
use mmsim_base::error::Error;
use mmsim_language::scenario::in_base_units;
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::{ExpectReport, Rows, RunReport};

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
    /// The unit of its quantities, of which it has some; `None`: it has none, or of several units.
    unit: Option<&'static str>,
    /// True if it has quantities of several units.
    mixed: bool,
}

/// A column of results: its head, its form, and the cell of a run.
type Result_ = (&'static str, Form, fn(&RunReport) -> Cell);

/// Numbers that every run has, besides counters and gauges.
const RESULTS: &[Result_] = &[
    ("outcome", Form::Text, |r| r.outcome.name().into()),
    ("digest", Form::Text, |r| r.digest.as_str().into()),
    ("sim_time_ns", Form::Whole, |r| r.sim_time_ns.into()),
    ("accesses", Form::Whole, |r| r.accesses.into()),
    ("records", Form::Whole, |r| r.records.into()),
    ("records_per_s", Form::Number, |r| r.throughput.records_per_s.into()),
    ("accesses_per_s", Form::Number, |r| r.throughput.accesses_per_s.into()),
    ("swap_reading_ns", Form::Whole, |r| r.reading.map(|r| r.swap_ns).into()),
    ("file_reading_ns", Form::Whole, |r| r.reading.map(|r| r.file_ns).into()),
    ("cache_misses", Form::Whole, |r| r.cache_misses.into()),
    ("peak_resident", Form::Whole, |r| r.peak_resident.into()),
    ("mean_resident_bytes", Form::Whole, |r| r.mean_resident_bytes.into()),
    ("sim_opt_misses", Form::Whole, |r| r.bounds.map(|b| b.sim_opt_misses).into()),
    ("sim_opt_refetches", Form::Whole, |r| r.bounds.map(|b| b.sim_opt_refetches).into()),
    ("pressure_some_us", Form::Whole, |r| r.pressure.some_us.into()),
    ("pressure_full_us", Form::Whole, |r| r.pressure.full_us.into()),
    ("major_fault_p50_ns", Form::Whole, |r| r.latency.major_fault.p50_ns.into()),
    ("major_fault_p99_ns", Form::Whole, |r| r.latency.major_fault.p99_ns.into()),
    ("major_fault_max_ns", Form::Whole, |r| r.latency.major_fault.max_ns.into()),
];

fn learn<V: ToString>(all: &mut Vec<Given>, name: &str, value: &V) {
    let text = value.to_string();
    let numbers = text.parse::<f64>().is_ok_and(f64::is_finite);
    let unit = in_base_units(&text).map(|(_, unit)| unit);
    let Some(given) = all.iter_mut().find(|g| g.name == name) else {
        all.push(Given { name: name.to_string(), numbers, unit, mixed: false });
        return;
    };
    given.numbers &= numbers;
    given.mixed |= unit.is_some() && given.unit.is_some_and(|known| Some(known) != unit);
    given.unit = given.unit.or(unit);
}

impl Given {
    fn column(&self) -> Column {
        let form = if self.numbers { Form::Number } else { Form::Text };
        Column::new(&self.name, form)
    }

    /// The column of its numbers, where its values are quantities.
    fn quantities(&self) -> Option<Column> {
        let unit = self.unit.filter(|_| !self.mixed)?;
        Some(Column::new(format!("{}_{unit}", self.name), Form::Whole))
    }

    /// The cell there. `max` and its like have none.
    fn quantity(&self, value: Option<&String>) -> Cell {
        value.and_then(|text| in_base_units(text)).map(|(number, _)| number).into()
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
        let unit = Column::new("unit", Form::Text);
        std::iter::once(unit).chain(self.columns_of_runs()).collect()
    }

    /// The same without the name of the unit.
    pub fn columns_of_runs(&self) -> Vec<Column> {
        let column = Column::new;
        let mut all: Vec<Column> = ["scenario", "variant"].map(|n| column(n, Form::Text)).into();
        all.push(column("seed", Form::Whole));
        let with_quantities = |a: &Given| std::iter::once(a.column()).chain(a.quantities());
        all.extend(self.axes.iter().flat_map(with_quantities));
        all.extend(self.knobs.iter().map(|k| {
            let knob = k.column();
            match self.axes.iter().any(|a| a.name == k.name) {
                true => Column::new(format!("knob {}", k.name), knob.form),
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
        let mut all = vec![scenario.into(), run.variant.as_str().into(), run.seed.into()];
        for axis in &self.axes {
            let value = run.axes.get(&axis.name);
            all.push(axis.cell(value.cloned()));
            all.extend(axis.quantities().map(|_| axis.quantity(value)));
        }
        let knob = |k: &Given| k.cell(run.knobs.get(&k.name).map(ToString::to_string));
        all.extend(self.knobs.iter().map(knob));
        if !self.asked.is_empty() {
            let word = |holds| if holds { "met" } else { "missed" };
            all.push(self.asked.holds(run).map(word).into());
        }
        all.extend(RESULTS.iter().map(|r| (r.2)(run)));
        all.extend(Figure::ALL.map(|f: Figure| f.of(Scope::from(run)).into()));
        all.extend(VmEvent::ALL.iter().map(|e| run.vmstat.get(e.name()).copied().into()));
        all.extend(self.gauges.iter().map(|g| run.gauges.get(g).copied().into()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> (Option<String>, Vec<Cell>) {
        let mut all = Vec::new();
        values.iter().for_each(|value| learn(&mut all, "a", value));
        let cells = values.iter().map(|value| all[0].quantity(Some(&value.to_string())));
        (all[0].quantities().map(|column| column.name), cells.collect())
    }

    /// Quantities of one unit have a column of numbers, and a word among them has none there. Plain
    /// numbers are numbers already.
    #[test]
    fn quantities_are_numbers_too() {
        let (name, cells) = of(&["26MiB", "max", "2 pages"]);
        assert_eq!(name.as_deref(), Some("a_bytes"));
        assert_eq!(cells, [Cell::Whole(26 << 20), Cell::Empty, Cell::Whole(8192)]);
        assert_eq!(of(&["5ms"]), (Some("a_ns".to_string()), vec![Cell::Whole(5_000_000)]));
        assert_eq!(of(&["2kB/s"]).0.as_deref(), Some("a_bytes_per_s"));
        for plain in [&["10", "60"][..], &["no", "yes"], &["5ms", "5MiB"]] {
            assert_eq!(of(plain).0, None, "{plain:?}");
        }
    }
}
