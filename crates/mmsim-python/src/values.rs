//! Values of Python as the facade takes them.

use std::ops::RangeInclusive;

use mmsim::base::time::{SimDuration, SimTime};
use mmsim::error::Error;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::input;

/// Lists and dicts within one another: scenarios need six. The parser of TOML takes 80.
const DEEPEST: usize = 64;

/// A value of a scenario: text, number, truth, list or mapping.
pub(crate) fn toml(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    within(value, &mut Vec::new())
}

/// The same within the lists and dicts at these addresses.
fn within(value: &Bound<'_, PyAny>, around: &mut Vec<usize>) -> PyResult<toml::Value> {
    if value.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        let number =
            number.map_err(|_| PyValueError::new_err(format!("{value} has no 64 bits")))?;
        return Ok(toml::Value::Integer(number));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(value.extract()?));
    }
    let address = value.as_ptr() as usize;
    if around.contains(&address) {
        let what = format!("a value of a scenario is a {} within itself", kind(value));
        return Err(PyValueError::new_err(what));
    }
    if around.len() == DEEPEST {
        let what = format!("a value of a scenario has {DEEPEST} lists and dicts in one another");
        return Err(PyValueError::new_err(format!("{what}, and a {} within", kind(value))));
    }
    around.push(address);
    let made = collection(value, around);
    around.pop();
    made
}

fn collection(value: &Bound<'_, PyAny>, around: &mut Vec<usize>) -> PyResult<toml::Value> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?;
        let all = items.map(|item| within(&item?, around)).collect::<PyResult<_>>()?;
        return Ok(toml::Value::Array(all));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (key, value) in dict {
            let name = key.cast::<PyString>().map_err(|_| {
                PyTypeError::new_err(format!("a key of a scenario is a str, not {}", kind(&key)))
            })?;
            table.insert(name.to_string(), within(&value, around)?);
        }
        return Ok(toml::Value::Table(table));
    }
    let what = "a value of a scenario is a str, int, float, bool, list or dict";
    Err(PyTypeError::new_err(format!("{what}, not {}", kind(value))))
}

/// A whole number of the argument `name`, within bounds.
pub(crate) fn whole(
    value: &Bound<'_, PyAny>,
    name: &str,
    bounds: RangeInclusive<u64>,
) -> PyResult<u64> {
    let wrong = || PyTypeError::new_err(format!("{name} is an int, not {}", kind(value)));
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    let number = match value.extract::<u64>() {
        Ok(number) => Some(number),
        Err(e) if e.is_instance_of::<PyOverflowError>(value.py()) => None,
        Err(_) => return Err(wrong()),
    };
    number.filter(|n| bounds.contains(n)).ok_or_else(|| {
        let (least, most) = bounds.into_inner();
        PyValueError::new_err(format!(
            "{name}: found {value}, write a number from {least} to {most}"
        ))
    })
}

/// A value as `--set` takes it: a text is as it stands, all else TOML.
pub(crate) fn option(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_string()),
        Err(_) => Ok(toml(value)?.to_string()),
    }
}

/// The name of a value's type.
pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}

/// A duration: a text as scenarios have it, or seconds.
pub(crate) fn duration(value: &Bound<'_, PyAny>) -> PyResult<SimDuration> {
    if value.is_instance_of::<PyString>() {
        let text: String = value.extract()?;
        return mmsim::scenario::duration(&text)
            .map_err(|e| input(Error::of_option(format!("a time: {e}"))));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("a time is a str or seconds, not bool"));
    }
    let seconds: f64 = value.extract().map_err(|_| {
        PyTypeError::new_err(format!("a time is a str or seconds, not {}", kind(value)))
    })?;
    // 2^62 nanoseconds are the last instant of a machine.
    if !(0.0..4.6e9).contains(&seconds) {
        return Err(PyValueError::new_err(format!("{seconds} s: write 0 to 4.6e9 seconds")));
    }
    Ok(SimDuration((seconds * 1e9).round() as u64))
}

/// Seconds of an instant.
pub(crate) fn seconds(at: SimTime) -> f64 {
    at.0 as f64 / 1e9
}
