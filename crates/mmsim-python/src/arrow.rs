//! Tables that leave through the Arrow PyCapsule protocol, and columns that come in by it.
//!
//! What leaves is shared, not copied: each consumer holds the buffers that the table holds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader as _, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use mmsim::cells::{Cell, Column, Form};
use mmsim::error::Error;
use mmsim::scenario::in_base_units;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors;
use crate::values::kind;

/// A table of results.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Table {
    batch: RecordBatch,
}

fn broken(e: ArrowError) -> PyErr {
    PyValueError::new_err(e.to_string())
}

impl Table {
    pub(crate) fn new(columns: Vec<(String, ArrayRef)>) -> Table {
        let field =
            |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays);
        Table { batch: batch.expect("columns are of one length") }
    }

    /// A table of the cells of a sweep or a report.
    pub(crate) fn of_cells(columns: &[Column], rows: &[Vec<Cell>]) -> Table {
        let array = |i: usize, form: Form| -> ArrayRef {
            let cells = rows.iter().map(|row| &row[i]);
            match form {
                Form::Text => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
                    Cell::Text(text) => Some(text.as_str()),
                    _ => None,
                }))),
                Form::Whole => Arc::new(UInt64Array::from_iter(cells.map(|cell| match cell {
                    Cell::Whole(n) => Some(*n),
                    _ => None,
                }))),
                Form::Number => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
                    Cell::Number(x) => Some(*x),
                    _ => None,
                }))),
            }
        };
        let column = |(i, c): (usize, &Column)| (c.name.clone(), array(i, c.form));
        Table::new(columns.iter().enumerate().map(column).collect())
    }

    fn schema(&self) -> PyResult<FFI_ArrowSchema> {
        FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(broken)
    }
}

/// A column of a few texts, each as often as said.
pub(crate) fn repeated<'a>(texts: impl Iterator<Item = (&'a str, usize)>) -> ArrayRef {
    let (mut known, mut keys) = (Vec::<&str>::new(), Vec::<i32>::new());
    for (text, times) in texts {
        let at = known.iter().position(|k| *k == text).unwrap_or_else(|| {
            known.push(text);
            known.len() - 1
        });
        let key = i32::try_from(at).expect("there are fewer texts");
        keys.extend(std::iter::repeat_n(key, times));
    }
    let values = Arc::new(StringArray::from(known));
    let array = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values);
    Arc::new(array.expect("all keys are positions"))
}

/// The columns of an axis: its texts, each as often as said, and the numbers of its quantities.
pub(crate) fn of_axis(name: &str, texts: &[String], lengths: &[usize]) -> Vec<(String, ArrayRef)> {
    let lengths = || lengths.iter().copied();
    let mut columns =
        vec![(name.to_string(), repeated(texts.iter().map(String::as_str).zip(lengths())))];
    let quantities: Vec<Option<(u64, &str)>> = texts.iter().map(|t| in_base_units(t)).collect();
    let mut units = quantities.iter().flatten().map(|(_, unit)| *unit);
    if let Some(unit) = units.next()
        && units.all(|other| other == unit)
    {
        let numbers = quantities.iter().map(|quantity| quantity.map(|(number, _)| number));
        let rows = numbers.zip(lengths()).flat_map(|(number, n)| std::iter::repeat_n(number, n));
        columns.push((format!("{name}_{unit}"), Arc::new(UInt64Array::from_iter(rows))));
    }
    columns
}

#[pymethods]
impl Table {
    /// A table of whole numbers: 64-bit little-endian bytes for each column.
    #[staticmethod]
    fn from_whole(columns: &Bound<'_, PyDict>) -> PyResult<Table> {
        let mut all: Vec<(String, ArrayRef)> = Vec::new();
        for (name, bytes) in columns {
            let bytes: Vec<u8> = bytes.extract()?;
            let (words, rest) = bytes.as_chunks::<8>();
            if !rest.is_empty() {
                let what = format!("{name} has {} bytes, which are no values of 8", bytes.len());
                return Err(PyValueError::new_err(what));
            }
            let words = words.iter();
            let values = UInt64Array::from_iter_values(words.map(|word| u64::from_le_bytes(*word)));
            all.push((name.extract()?, Arc::new(values)));
        }
        if all.is_empty() {
            return Err(PyValueError::new_err("a table has at least one column"));
        }
        if let Some((name, _)) = all.iter().find(|(_, array)| array.len() != all[0].1.len()) {
            let (first, length) = (&all[0].0, all[0].1.len());
            let what = format!("{name} is not as long as {first}, which has {length} values");
            return Err(PyValueError::new_err(what));
        }
        Ok(Table::new(all))
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.batch.num_columns());
        format!("<mmsim.Table of {rows} rows and {columns} columns>")
    }

    /// The table as a dict of lists, for who has no data frames.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            dict.set_item(field.name(), list(py, array)?)?;
        }
        Ok(dict)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.schema()?, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A consumer asks for what suits it best; it takes what there is.
        drop(requested_schema);
        let data = StructArray::from(self.batch.clone()).into_data();
        let array = FFI_ArrowArray::new(&data);
        Ok((
            PyCapsule::new_with_value(py, self.schema()?, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = vec![Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn list<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::UInt64 => PyList::new(py, array.as_primitive::<UInt64Type>().iter()),
        DataType::Float64 => {
            PyList::new(py, array.as_primitive::<arrow_array::types::Float64Type>().iter())
        }
        DataType::Boolean => PyList::new(py, array.as_boolean().iter()),
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter()),
        DataType::Dictionary(..) => {
            let texts = array.as_dictionary::<Int32Type>();
            let texts = texts.downcast_dict::<StringArray>().expect("keys of texts");
            PyList::new(py, texts)
        }
        other => Err(PyTypeError::new_err(format!("a column of {other}"))),
    }
}

/// A column of whole numbers, without a copy where it is of 64 bits and in one piece.
pub(crate) struct Whole(Vec<UInt64Array>);

impl Whole {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Array::len).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|part| part.values().iter().copied())
    }
}

/// The columns of a frame, by these names; what is no frame of whole numbers without gaps is refused.
pub(crate) fn columns_of(
    frame: &Bound<'_, PyAny>,
    wanted: &[&str],
) -> PyResult<Vec<Option<Whole>>> {
    if !frame.hasattr("__arrow_c_stream__")? {
        let what = "a frame has __arrow_c_stream__ (pyarrow, polars, pandas, DuckDB), and";
        return Err(PyTypeError::new_err(format!("{what} {} has none", kind(frame))));
    }
    let capsule = frame.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(PyErr::from)?;
    let mut reader = reader(capsule)?;
    let schema = reader.schema();
    let mut found: Vec<Option<Whole>> = Vec::new();
    for name in wanted {
        found.push(schema.index_of(name).ok().map(|_| Whole(Vec::new())));
    }
    for field in schema.fields() {
        if !wanted.contains(&field.name().as_str()) {
            let title = format!("a frame has no column `{}` here", field.name());
            let help = format!("its columns are {}", wanted.join(", "));
            return Err(errors::schema(Error::plain(title).help(help)));
        }
    }
    for batch in &mut reader {
        let batch = batch.map_err(broken)?;
        for (name, whole) in wanted.iter().zip(&mut found) {
            let (Some(whole), Some(column)) = (whole.as_mut(), batch.column_by_name(name)) else {
                continue;
            };
            whole.0.push(whole_numbers(name, column)?);
        }
    }
    Ok(found)
}

#[allow(unsafe_code, reason = "a capsule of this name holds an ArrowArrayStream, by its protocol")]
fn reader(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the name was checked, and the reader leaves the stream released, as the protocol asks.
    unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) }.map_err(broken)
}

fn whole_numbers(name: &str, column: &ArrayRef) -> PyResult<UInt64Array> {
    use arrow_array::types as t;
    let refuse = |what: &str| {
        let title = format!("column `{name}` {what}");
        errors::schema(Error::plain(title).help("write whole numbers from 0 on, and no gaps"))
    };
    if column.null_count() > 0 {
        return Err(refuse("has gaps"));
    }
    macro_rules! signed {
        ($kind:ty) => {{
            let values = column.as_primitive::<$kind>().values().iter();
            let all: Option<Vec<u64>> = values.map(|&n| u64::try_from(n).ok()).collect();
            Ok(UInt64Array::from(all.ok_or_else(|| refuse("has a number below 0"))?))
        }};
    }
    match column.data_type() {
        DataType::UInt64 => Ok(column.as_primitive::<UInt64Type>().clone()),
        DataType::UInt32 => signed!(t::UInt32Type),
        DataType::UInt16 => signed!(t::UInt16Type),
        DataType::UInt8 => signed!(t::UInt8Type),
        DataType::Int64 => signed!(t::Int64Type),
        DataType::Int32 => signed!(t::Int32Type),
        DataType::Int16 => signed!(t::Int16Type),
        DataType::Int8 => signed!(t::Int8Type),
        DataType::Boolean => {
            let values = column.as_boolean().values().iter();
            Ok(UInt64Array::from(values.map(u64::from).collect::<Vec<_>>()))
        }
        other => Err(refuse(&format!("is of {other}"))),
    }
}
