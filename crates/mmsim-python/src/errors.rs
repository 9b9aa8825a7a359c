//! Errors of the facade as exceptions with the command's text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mmsim::error::{Error, ErrorKind};
use mmsim::run::RunError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Exception for bad input: its kind decides the class.
pub(crate) fn input(error: Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::File => "FileError",
        ErrorKind::Syntax | ErrorKind::Scenario | ErrorKind::Policy => "ScenarioError",
        ErrorKind::Option => "OptionError",
    };
    Python::attach(|py| of_class(py, class, &error))
}

/// A document or a frame that is of another form.
pub(crate) fn schema(error: Error) -> PyErr {
    Python::attach(|py| of_class(py, "SchemaError", &error))
}

pub(crate) fn of_run(error: RunError) -> PyErr {
    match error {
        RunError::Input(error) => input(error),
        RunError::EndedEarly(error) => Python::attach(|py| of_class(py, "RunError", &error)),
        RunError::Invariant { .. } | RunError::Cancelled => {
            let error = Error::plain(error.to_string());
            Python::attach(|py| of_class(py, "RunError", &error))
        }
    }
}

/// Does what may break an invariant of mmsim. A panic would pass as pyo3's `PanicException`, which
/// `except Exception` does not catch; this makes a `RunError` of it.
pub(crate) fn calm<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let error = Error::plain(format!("mmsim failed: {}", text.unwrap_or("a panic")));
        Err(Python::attach(|py| of_class(py, "RunError", &error)))
    })
}

/// The exceptions are plain Python, so that they can be pickled between processes.
fn of_class(py: Python<'_>, class: &str, error: &Error) -> PyErr {
    let place = error.position();
    let (file, line, column) = match place {
        Some((file, line, column)) => (Some(file), Some(line), Some(column)),
        None => (None, None, None),
    };
    let made = || {
        let class = py.import("mmsim._errors")?.getattr(class)?;
        class.call1((error.to_string(), error.title(), file, line, column))
    };
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(e) => PyRuntimeError::new_err(format!("{error}\n{e}")),
    }
}
