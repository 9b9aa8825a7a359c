//! Files of events, as `mmsim run --events FILE.mmev` writes them.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, BooleanArray, StringArray, UInt64Array};
use mmsim::error::{Error, ErrorKind};
use mmsim::report::events::{EVENTS, Event, EventFile, EventFilter, LIMIT, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrow::Table;
use crate::errors::{calm, input};

/// Events of a file, one after the other: an iterator of dicts.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Events(Mutex<EventFile<'static>>);

/// Reads events from a file, `-` from standard input.
#[pyfunction]
#[pyo3(signature = (path, filter=None))]
pub(crate) fn read_events(path: PathBuf, filter: Option<&str>) -> PyResult<Events> {
    let filter = filter.map(EventFilter::parse).transpose();
    let filter =
        filter.map_err(|e| input(Error::new(ErrorKind::Option, format!("filter: {e}"))))?;
    calm(|| {
        let mut file = EventFile::open(&path).map_err(input)?;
        if let Some(filter) = filter {
            file.filter(&filter);
        }
        Ok(Events(Mutex::new(file)))
    })
}

fn dict<'py>(py: Python<'py>, event: &Event<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("t_ns", event.time.0)?;
    dict.set_item("event", event.name())?;
    for (name, value) in event.fields() {
        match value {
            Value::Null => dict.set_item(name, py.None())?,
            Value::Bool(yes) => dict.set_item(name, yes)?,
            Value::Number(n) => dict.set_item(name, n)?,
            Value::Text(text) => dict.set_item(name, text)?,
            Value::List(list) => dict.set_item(name, PyList::new(py, list)?)?,
        }
    }
    if let Some(place) = event.run.place {
        dict.set_item("run", place)?;
    }
    Ok(dict)
}

/// A column in the making.
enum Column {
    /// Nothing but gaps so far.
    Gaps(usize),
    Bools(Vec<Option<bool>>),
    Numbers(Vec<Option<u64>>),
    Texts(Vec<Option<String>>),
}

impl Column {
    fn push(&mut self, value: Value<'_>) {
        if let (Column::Gaps(n), false) = (&self, value == Value::Null) {
            *self = match value {
                Value::Bool(_) => Column::Bools(vec![None; *n]),
                Value::Text(_) => Column::Texts(vec![None; *n]),
                _ => Column::Numbers(vec![None; *n]),
            };
        }
        match (self, value) {
            (Column::Bools(all), Value::Bool(yes)) => all.push(Some(yes)),
            (Column::Numbers(all), Value::Number(n)) => all.push(Some(n)),
            (Column::Texts(all), Value::Text(text)) => all.push(Some(text.to_string())),
            (Column::Gaps(n), _) => *n += 1,
            (Column::Bools(all), _) => all.push(None),
            (Column::Numbers(all), _) => all.push(None),
            (Column::Texts(all), _) => all.push(None),
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Column::Gaps(n) => std::sync::Arc::new(UInt64Array::from(vec![None; n])),
            Column::Bools(all) => std::sync::Arc::new(BooleanArray::from(all)),
            Column::Numbers(all) => std::sync::Arc::new(UInt64Array::from(all)),
            Column::Texts(all) => std::sync::Arc::new(StringArray::from(all)),
        }
    }
}

/// The rest of a file as columns: of events of one kind.
fn columns(file: &mut EventFile<'_>, kind: &str) -> Result<Vec<(String, Column)>, Error> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    let mut rows = 0;
    while file.advance()? {
        let event = file.event();
        if event.name() != kind {
            continue;
        }
        let mut at = 0;
        let mut put = |name: &str, value: Value<'_>| {
            if at == columns.len() {
                columns.push((name.to_string(), Column::Gaps(rows)));
            }
            columns[at].1.push(value);
            at += 1;
        };
        put("t_ns", Value::Number(event.time.0));
        for (name, value) in event.fields() {
            match value {
                Value::List(list) => {
                    for (nth, &n) in list.iter().enumerate() {
                        put(&format!("{name}_{nth}"), Value::Number(n));
                    }
                }
                value => put(name, value),
            }
        }
        let place = event.run.place;
        put("run", place.map_or(Value::Null, |place| Value::Number(place.into())));
        rows += 1;
    }
    if rows == 0 {
        let row = EVENTS.iter().find(|row| row.name == kind);
        let names = row.map_or(&[][..], |row| row.fields).iter().copied();
        let names = ["t_ns"].into_iter().chain(names).chain(["run"]);
        columns.extend(names.map(|name| (name.to_string(), Column::Gaps(0))));
    }
    Ok(columns)
}

impl Events {
    fn file(&self) -> MutexGuard<'_, EventFile<'static>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Events {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        calm(|| {
            let mut file = self.file();
            match file.advance().map_err(input)? {
                true => dict(py, &file.event()).map(Some),
                false => Ok(None),
            }
        })
    }

    /// All events of a kind that are left, as a table.
    fn table(&self, py: Python<'_>, kind: &str) -> PyResult<Table> {
        let known: Vec<&str> = EVENTS.iter().map(|e| e.name).chain([LIMIT]).collect();
        if !known.contains(&kind) {
            return Err(input(Error::unknown_word("kind: there is no event", kind, &known)));
        }
        calm(|| {
            let columns = py.detach(|| columns(&mut self.file(), kind)).map_err(input)?;
            let arrays = columns.into_iter().map(|(name, column)| (name, column.array()));
            Ok(Table::new(arrays.collect()))
        })
    }
}
