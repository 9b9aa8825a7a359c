//! Reports and comparisons.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, StringArray, UInt64Array};
use mmsim::error::{Error, ErrorKind};
use mmsim::report::RunReport;
use mmsim::report::compare::{self, Row, Side};
use mmsim::report::derived::Figure;
use mmsim::sweep::Wide;
use mmsim_view::page::{self, Observed, Source};
use mmsim_view::table::{Shown, Width, of_report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::{Table, of_axis, repeated};
use crate::errors::{self, calm};
use crate::values::whole;

/// Columns of the widest table: far more than any has.
const WIDEST: u64 = 65_535;

/// Report of runs.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Report {
    report: mmsim::report::Report,
    observed: Vec<Observed>,
    series: Option<Py<Table>>,
    counters: OnceLock<Py<Table>>,
    runs: OnceLock<Py<Table>>,
}

impl Report {
    pub(crate) fn new(
        report: mmsim::report::Report,
        observed: Vec<Observed>,
        series: Option<Table>,
    ) -> Report {
        let series = series.map(|table| Python::attach(|py| Py::new(py, table)));
        let series = series.transpose().expect("a table is a plain object");
        Report { report, observed, series, counters: OnceLock::new(), runs: OnceLock::new() }
    }

    /// The runs of one variant alone.
    fn of_variant(&self, variant: &str) -> PyResult<mmsim::report::Report> {
        let mut report = self.report.clone();
        report.runs.retain(|run| run.variant == variant);
        if report.runs.is_empty() {
            let mut names: Vec<&str> = Vec::new();
            for run in &self.report.runs {
                if !names.contains(&run.variant.as_str()) {
                    names.push(&run.variant);
                }
            }
            let what = "compare: the report has no variant";
            return Err(errors::input(Error::unknown_word(what, variant, &names)));
        }
        Ok(report)
    }
}

/// The one table of a report that is made on request; later calls share its buffers.
fn once(
    cell: &OnceLock<Py<Table>>,
    py: Python<'_>,
    make: impl FnOnce() -> Table,
) -> PyResult<Py<Table>> {
    if let Some(table) = cell.get() {
        return Ok(table.clone_ref(py));
    }
    let table = Py::new(py, calm(|| Ok(make()))?)?;
    Ok(cell.get_or_init(|| table).clone_ref(py))
}

/// All counters of all runs and phases: a row for each.
fn counters(report: &mmsim::report::Report) -> Table {
    let (mut lengths, mut names, mut values, mut phases) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in &report.runs {
        let before = names.len();
        for (name, value) in run.counters() {
            names.push(name);
            values.push(value);
            phases.push(None);
        }
        for phase in &run.phases {
            for (name, _) in run.counters() {
                let value = phase.vmstat.get(name).copied();
                names.push(name);
                values.push(value);
                phases.push(Some(phase.name.as_str()));
            }
        }
        lengths.push(names.len() - before);
    }
    let texts = |of: &dyn Fn(&RunReport) -> String| {
        let all: Vec<String> = report.runs.iter().map(of).collect();
        repeated(all.iter().map(String::as_str).zip(lengths.iter().copied()))
    };
    let name = report.scenario.as_str();
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("scenario".into(), texts(&|r| r.scenario.clone().unwrap_or_else(|| name.to_string()))),
        ("variant".into(), texts(&|r| r.variant.clone())),
    ];
    let mut axes: Vec<&str> = Vec::new();
    for (axis, _) in report.runs.iter().flat_map(|r| r.axes.iter()) {
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    for axis in axes {
        let values = report.runs.iter().map(|r| r.axes.get(axis).cloned().unwrap_or_default());
        columns.extend(of_axis(axis, &values.collect::<Vec<_>>(), &lengths));
    }
    let runs = report.runs.iter().zip(&lengths);
    let seeds = runs.flat_map(|(run, &n)| std::iter::repeat_n(run.seed, n));
    columns.push(("seed".into(), Arc::new(UInt64Array::from_iter_values(seeds))));
    columns.push(("phase".into(), Arc::new(StringArray::from(phases))));
    columns.push(("counter".into(), repeated(names.into_iter().map(|name| (name, 1)))));
    columns.push(("value".into(), Arc::new(UInt64Array::from(values))));
    Table::new(columns)
}

/// A row for each run: what it was given, and each number that came out.
fn runs(report: &mmsim::report::Report) -> Table {
    let wide = Wide::of_runs(&report.runs);
    let rows = report.runs.iter().map(|run| wide.cells_of_run(run, &report.scenario));
    Table::of_cells(&wide.columns_of_runs(), &rows.collect::<Vec<_>>())
}

pub(crate) fn figure(name: Option<&str>) -> PyResult<Option<Figure>> {
    let Some(name) = name else { return Ok(None) };
    mmsim_view::figure::named(name).map(Some).ok_or_else(|| {
        let known = mmsim_view::figure::names();
        errors::input(Error::unknown_word("by: there is no figure", name, &known))
    })
}

#[pymethods]
impl Report {
    /// Reads a report that `mmsim run --format json` wrote.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Report> {
        let text = calm(|| {
            mmsim::sweep::refuse_store(&path, "a report").map_err(errors::input)?;
            mmsim::files::read_text(&path, "a report").map_err(errors::input)
        })?;
        Report::from_json(&text, &path.display().to_string())
    }

    /// Reads the JSON of a report. `name` stands for the file in messages.
    #[staticmethod]
    #[pyo3(signature = (text, name="report.json"))]
    fn from_json(text: &str, name: &str) -> PyResult<Report> {
        let report = calm(|| {
            mmsim::report::Report::read(text, name).map_err(|e| {
                let schema = e.kind() == ErrorKind::File && e.position().is_none();
                if schema { errors::schema(e) } else { errors::input(e) }
            })
        })?;
        Ok(Report::new(report, Vec::new(), None))
    }

    /// The bytes of `mmsim run --format json`.
    fn to_json(&self) -> String {
        self.report.to_json()
    }

    /// The bytes of `mmsim run --format csv`.
    fn to_csv(&self) -> String {
        self.report.to_csv()
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.report.scenario
    }

    #[getter]
    fn about(&self) -> &str {
        &self.report.about
    }

    /// Facts that a reader of the figures should know first.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.report.notes.clone()
    }

    /// Expectations of the scenario that its runs do not meet, a sentence each.
    #[getter]
    fn unexpected(&self) -> Vec<String> {
        let missed = self.report.expect.iter().filter(|e| !e.holds);
        missed.map(|e| format!("expected: {}; found: {}", e.expected, e.found)).collect()
    }

    /// The fingerprints of the final states, run by run.
    #[getter]
    fn digests(&self) -> Vec<String> {
        self.report.runs.iter().map(|run| run.digest.clone()).collect()
    }

    #[getter]
    fn counters(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        once(&self.counters, py, || counters(&self.report))
    }

    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        once(&self.runs, py, || runs(&self.report))
    }

    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        let what = "there is no series: run with series=INTERVAL, as in series=\"10ms\"";
        let series = self.series.as_ref().ok_or_else(|| PyValueError::new_err(what))?;
        Ok(series.clone_ref(py))
    }

    /// The table of `mmsim run`. `long`: all figures; `base`: the variant to compare with.
    #[pyo3(signature = (*, long=false, by=None, width=None, base=None))]
    fn table(
        &self,
        long: bool,
        by: Option<&str>,
        width: Option<&Bound<'_, PyAny>>,
        base: Option<String>,
    ) -> PyResult<String> {
        let shown = Shown { by: figure(by)?, full: long, base, ..Shown::default() };
        let width = match width {
            Some(width) => Width::of(whole(width, "width", 0..=WIDEST)? as usize),
            None => Width::default(),
        };
        calm(|| Ok(of_report(&self.report, &shown, width)))
    }

    fn __repr__(&self) -> String {
        of_report(&self.report, &Shown::default(), Width::default())
    }

    /// The page of `mmsim run --html`.
    #[pyo3(signature = (*, by=None))]
    fn page(&self, by: Option<&str>) -> PyResult<String> {
        let source = Source { name: "", report: &self.report, observed: &self.observed };
        calm(|| Ok(page::html(&[source], figure(by)?)))
    }

    /// The page for Jupyter, in a frame of its own that reaches nothing else.
    fn _repr_html_(&self) -> PyResult<String> {
        let page = self.page(None)?.replace('&', "&amp;").replace('"', "&quot;");
        Ok(format!(
            "<iframe sandbox=\"allow-scripts\" srcdoc=\"{page}\" \
             style=\"width:100%;height:40em;border:0\" title=\"mmsim\"></iframe>"
        ))
    }

    /// Holds one variant against another, as `mmsim compare` does two reports.
    #[pyo3(signature = (a, b, *, phase=None, per_work=false))]
    fn compare(
        &self,
        a: &str,
        b: &str,
        phase: Option<&str>,
        per_work: bool,
    ) -> PyResult<Comparison> {
        let (report_a, report_b) = (self.of_variant(a)?, self.of_variant(b)?);
        compared(Side::new(a, &report_a), Side::new(b, &report_b), phase, per_work)
    }

    /// Holds this report against another one, as `mmsim compare` does.
    #[pyo3(signature = (other, *, phase=None, per_work=false))]
    fn compare_with(
        &self,
        other: &Report,
        phase: Option<&str>,
        per_work: bool,
    ) -> PyResult<Comparison> {
        let (a, b) = (Side::new("A", &self.report), Side::new("B", &other.report));
        compared(a, b, phase, per_work)
    }
}

fn compared(a: Side<'_>, b: Side<'_>, phase: Option<&str>, per_work: bool) -> PyResult<Comparison> {
    let mut options = compare::Options::default();
    (options.phase, options.per_work) = (phase, per_work);
    let comparison = calm(|| compare::compare(a, b, options).map_err(errors::input))?;
    Ok(Comparison { comparison, values: OnceLock::new() })
}

/// Two variants, or two reports, beside each other.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Comparison {
    comparison: compare::Comparison,
    values: OnceLock<Py<Table>>,
}

/// All values, those that moved most in front.
fn values(comparison: &compare::Comparison) -> Table {
    use arrow_array::Float64Array;
    let all: Vec<&Row> = comparison.comparisons.iter().flat_map(|c| &c.values).collect();
    let labels: Vec<(String, usize)> =
        comparison.comparisons.iter().map(|c| (c.label(), c.values.len())).collect();
    let number = |of: &dyn Fn(&Row) -> Option<f64>| -> ArrayRef {
        Arc::new(Float64Array::from_iter(all.iter().map(|row| of(row))))
    };
    Table::new(vec![
        ("runs".into(), repeated(labels.iter().map(|(label, n)| (label.as_str(), *n)))),
        ("kind".into(), repeated(all.iter().map(|row| (row.kind, 1)))),
        ("name".into(), repeated(all.iter().map(|row| (row.name.as_str(), 1)))),
        ("a".into(), number(&|row| Some(row.a))),
        ("b".into(), number(&|row| Some(row.b))),
        ("change_pct".into(), number(&|row| row.change.map(|c| c.mean))),
        ("change_ci95".into(), number(&|row| row.change.and_then(|c| c.ci95))),
    ])
}

#[pymethods]
impl Comparison {
    /// The bytes of `mmsim compare --format json`.
    fn to_json(&self) -> String {
        self.comparison.to_json()
    }

    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        once(&self.values, py, || values(&self.comparison))
    }

    fn __repr__(&self) -> String {
        let labels: Vec<String> = self.comparison.comparisons.iter().map(|c| c.label()).collect();
        let (a, b) = (&self.comparison.a.name, &self.comparison.b.name);
        format!("<mmsim.Comparison of {a} and {b}: {}>", labels.join("; "))
    }
}
