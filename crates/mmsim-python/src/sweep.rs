//! Plans of sweeps, and the stores of their units.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mmsim::error::Error;
use mmsim::sweep::{self, Merged, Numbered, Shard, WriteError, Writer, units_of};
use mmsim_view::settings::Gatherer;
use mmsim_view::table::{Shown, Width, of_store};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::cache_ext::options;
use crate::errors::{calm, input, of_run};
use crate::values::whole;

/// The plan of a sweep.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct SweepPlan {
    plan: Arc<sweep::SweepPlan>,
    path: PathBuf,
}

#[pymethods]
impl SweepPlan {
    #[new]
    fn new(path: PathBuf) -> PyResult<SweepPlan> {
        let plan = calm(|| sweep::SweepPlan::from_path(&path).map_err(input))?;
        Ok(SweepPlan { plan: Arc::new(plan), path })
    }

    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __len__(&self) -> usize {
        self.plan.units() as usize
    }

    /// Makes the unit of a number: its report as JSON on one line, the unit's name in front.
    fn make(&self, py: Python<'_>, unit: &Bound<'_, PyAny>) -> PyResult<String> {
        let unit = whole(unit, "unit", 0..=u64::MAX)?;
        let options = options(Some(1), false);
        calm(|| {
            let json = py.detach(|| sweep::make(&self.plan, unit, &options)).map_err(of_run)?;
            Ok(String::from_utf8(json).expect("JSON is UTF-8"))
        })
    }
}

/// Units of a plan that a list of Python has at most: it takes 64 bytes for each.
const MOST_LISTED: u64 = 1 << 24;

/// A store that is written.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Store {
    plan: Arc<sweep::SweepPlan>,
    path: PathBuf,
    writer: Mutex<Option<Writer>>,
    missing: Vec<Numbered>,
}

#[pymethods]
impl Store {
    /// Opens the store of a plan to go on, or begins it.
    #[new]
    fn new(plan: &SweepPlan, path: PathBuf) -> PyResult<Store> {
        let plan = Arc::clone(&plan.plan);
        if plan.units() > MOST_LISTED {
            let title = format!("a plan of {} units, and Python lists them", plan.units());
            let help = format!("`mmsim sweep` makes them; here write at most {MOST_LISTED}");
            return Err(input(Error::of_option(title).help(help)));
        }
        let (writer, missing) = calm(|| {
            let (writer, done) = Writer::open(&path, plan.name(), Shard::ALL).map_err(input)?;
            Ok((writer, units_of(&plan, Shard::ALL, &done).map_err(input)?.0))
        })?;
        Ok(Store { plan, path, writer: Mutex::new(Some(writer)), missing })
    }

    /// Numbers of the units that it lacked when it was opened, in the order of the plan.
    #[getter]
    fn missing(&self) -> Vec<u64> {
        self.missing.iter().map(|unit| unit.n).collect()
    }

    /// Keeps the report of a unit, as `SweepPlan.make` gave it. Whatever else is refused.
    fn keep(&self, unit: &Bound<'_, PyAny>, json: &str) -> PyResult<()> {
        let unit = whole(unit, "unit", 0..=u64::MAX)?;
        let known = self.missing.binary_search_by_key(&unit, |m| m.n);
        let known = known.map(|nth| &self.missing[nth]).map_err(|_| {
            input(Error::of_option(format!("unit {unit}: the store does not lack it")))
        })?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || PyRuntimeError::new_err("the store is closed");
        let writer = writer.as_mut().ok_or_else(closed)?;
        calm(|| {
            let report = sweep::made(&self.plan, *known, json).map_err(input)?;
            writer.keep(known.id, unit, &report).map_err(input)
        })
    }

    /// Makes all durable, and ends writing.
    fn close(&self) -> PyResult<()> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), |writer| writer.finish().map_err(input))
    }

    /// The bytes of `mmsim sweep merge --format json`.
    fn to_json(&self) -> PyResult<String> {
        self.written(|merged, out| sweep::write_json(merged, out))
    }

    /// The bytes of `mmsim sweep merge --format tidy`.
    fn to_csv(&self) -> PyResult<String> {
        self.written(|merged, out| sweep::write_tidy(merged, out))
    }

    /// A row for each unit, as `--format wide` has them.
    #[getter]
    fn runs(&self) -> PyResult<Table> {
        calm(|| {
            let merged = self.whole()?;
            let wide = sweep::Wide::of(&merged).map_err(input)?;
            let cells = merged.rows().map(|row| Ok(wide.cells(&row?, merged.name())));
            let cells = cells.collect::<Result<Vec<_>, Error>>().map_err(input)?;
            Ok(Table::of_cells(&wide.columns(), &cells))
        })
    }

    /// The table of `mmsim sweep`.
    fn table(&self) -> PyResult<String> {
        calm(|| {
            let merged = self.whole()?;
            let mut gatherer = Gatherer::default();
            for row in merged.rows() {
                gatherer.add(row.map_err(input)?.run);
            }
            let (shown, width) = (Shown::default(), Width::default());
            Ok(of_store(merged.name(), merged.about(), &gatherer.finish(), &shown, width))
        })
    }

    fn __repr__(&self) -> String {
        let (name, path) = (self.plan.name(), self.path.display());
        format!("<mmsim.Store of {name} in {path}, {} units were to do>", self.missing.len())
    }
}

impl Store {
    /// All units of the plan.
    fn whole(&self) -> PyResult<Merged<'_>> {
        let merged = Merged::open(&self.plan, &self.path).map_err(input)?;
        if let Some((n, id)) = &merged.missing().first {
            let (missing, all) = (merged.missing().units, merged.missing().units + merged.len());
            let title =
                format!("{missing} of {all} units are missing; the first is unit {n} ({id})");
            let help = "map the plan over an executor again";
            return Err(input(Error::of_option(title).help(help)));
        }
        Ok(merged)
    }

    /// Results on disk, with the results of the scenarios' expectations.
    fn written<T>(
        &self,
        write: impl FnOnce(&Merged<'_>, &mut dyn std::io::Write) -> Result<T, WriteError>,
    ) -> PyResult<String> {
        calm(|| {
            let mut out = Vec::new();
            match write(&self.whole()?, &mut out) {
                Ok(_) => Ok(String::from_utf8(out).expect("documents are UTF-8")),
                Err(WriteError::Store(e)) => Err(input(e)),
                Err(WriteError::Output(e)) => Err(e.into()),
            }
        })
    }
}
