//! The wide table as Parquet.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::merge::{Merged, Row, WriteError};
use super::wide::Wide;
use crate::cells::{Cell, Column, Form};
use mmsim_report::ExpectReport;

/// Rows that are in memory at once.
const GROUP: usize = 10_000;

fn failed(e: ParquetError) -> WriteError {
    WriteError::Output(std::io::Error::other(e.to_string()))
}

/// A column that may lack values. Whole numbers are signed in the file: none of them is 2^63.
fn schema_of(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.form {
        Form::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Form::Whole => (Physical::INT64, None),
        Form::Number => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
        .map(Arc::new)
}

/// Values that are there, and for each row whether it has one.
fn present<T>(cells: &[Cell], value: impl Fn(&Cell) -> Option<T>) -> (Vec<T>, Vec<i16>) {
    let all: Vec<Option<T>> = cells.iter().map(value).collect();
    let levels = all.iter().map(|v| i16::from(v.is_some())).collect();
    (all.into_iter().flatten().collect(), levels)
}

/// Writes all rows as Parquet: the columns of [`super::write_wide`], and gives what that gives.
///
/// # Errors
///
/// The store cannot be read, or the table not be written.
pub fn write_parquet(
    merged: &Merged<'_>,
    out: &mut (dyn Write + Send),
) -> Result<Vec<ExpectReport>, WriteError> {
    let wide = Wide::of(merged)?;
    let columns = wide.columns();
    let fields = columns.iter().map(schema_of).collect::<Result<_, _>>().map_err(failed)?;
    let schema = Type::group_type_builder("units").with_fields(fields).build().map_err(failed)?;
    let packed = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(packed).build();
    let mut writer =
        SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
    let mut group: Vec<Vec<Cell>> = vec![Vec::new(); columns.len()];
    let mut rows = merged.rows().peekable();
    while let Some(row) = rows.next() {
        let row: Row = row?;
        for (column, cell) in group.iter_mut().zip(wide.cells(&row, merged.name())) {
            column.push(cell);
        }
        if group[0].len() < GROUP && rows.peek().is_some() {
            continue;
        }
        let mut written = writer.next_row_group().map_err(failed)?;
        for (cells, column) in group.iter_mut().zip(&columns) {
            let mut to = written.next_column().map_err(failed)?.expect("a column each");
            match column.form {
                Form::Text => {
                    let (values, levels) = present(cells, |c| match c {
                        Cell::Text(t) => Some(ByteArray::from(t.as_str())),
                        _ => None,
                    });
                    to.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
                }
                Form::Whole => {
                    let (values, levels) = present(cells, |c| match c {
                        Cell::Whole(n) => i64::try_from(*n).ok(),
                        _ => None,
                    });
                    to.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
                }
                Form::Number => {
                    let (values, levels) = present(cells, |c| match c {
                        Cell::Number(x) => Some(*x),
                        _ => None,
                    });
                    to.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
                }
            }
            .map_err(failed)?;
            to.close().map_err(failed)?;
            cells.clear();
        }
        written.close().map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(wide.answers().to_vec())
}
