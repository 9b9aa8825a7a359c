//! Sequences of accesses as trace files.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use mmsim::error::{Error, ErrorKind};
use mmsim::traces::{Access, of_accesses};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::columns_of;
use crate::errors::{calm, input, schema};

/// Writes a frame with the columns `page`, and `write` and `time_ns` where it has them, as a trace.
/// Gives what the file says of it.
#[pyfunction]
pub(crate) fn write_trace(
    py: Python<'_>,
    frame: &Bound<'_, PyAny>,
    path: PathBuf,
    name: &str,
) -> PyResult<Vec<(String, String)>> {
    let columns = calm(|| columns_of(frame, &["page", "write", "time_ns"]))?;
    let [page, written, time] = <[_; 3]>::try_from(columns).unwrap_or_else(|_| unreachable!());
    let page = page.ok_or_else(|| {
        schema(Error::plain("a frame of accesses has a column `page`").help("name it so"))
    })?;
    if page.len() == 0 {
        return Err(PyValueError::new_err("a trace has at least one access"));
    }
    let write = || {
        let mut writes = written.as_ref().map(|w| w.iter());
        let mut times = time.as_ref().map(|t| t.iter());
        let accesses = page.iter().map(|page| Access {
            page,
            write: writes.as_mut().is_some_and(|w| w.next() != Some(0)),
            time_ns: times.as_mut().and_then(Iterator::next),
        });
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::File, format!("cannot write `{}`: {e}", path.display()))
        };
        // Nothing half-written is left under the name.
        let part = path.with_extension("mmt.part");
        let file = File::create(&part).map_err(failed)?;
        let mut out = BufWriter::new(file);
        let rows = of_accesses(name, accesses, &mut out)
            .and_then(|rows| out.flush().map(|()| rows).map_err(failed))
            .and_then(|rows| std::fs::rename(&part, &path).map(|()| rows).map_err(failed));
        rows.inspect_err(|_| drop(std::fs::remove_file(&part)))
    };
    calm(|| py.detach(write).map_err(input))
}
