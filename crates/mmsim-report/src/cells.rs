//! Results as tables of cells, from which CSV, data frames, Parquet and tables for people are made.

use std::fmt;

use crate::csv::Rows;

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

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Cell {
        Cell::Whole(n)
    }
}

impl From<f64> for Cell {
    fn from(x: f64) -> Cell {
        Cell::Number(x)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::Text(text.clone())
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Cell {
        Cell::Text(flag.to_string())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Empty, Into::into)
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

impl Column {
    /// A column of this head.
    pub fn new(name: impl Into<String>, form: Form) -> Column {
        Column { name: name.into(), form }
    }
}

/// A table of results.
#[derive(Clone, PartialEq, Debug)]
pub struct Cells {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Cells {
    /// A table of these columns, without a row.
    pub fn below(columns: impl IntoIterator<Item = Column>) -> Cells {
        Cells { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// A table below these heads, which have commas between them. Columns are texts, but for those
    /// that are `numbers`.
    pub fn headed(heads: &str, numbers: &[&str]) -> Cells {
        let form = |name| if numbers.contains(&name) { Form::Number } else { Form::Text };
        Cells::below(heads.split(',').map(|name| Column::new(name, form(name))))
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as CSV.
    pub fn to_csv(&self) -> String {
        let mut rows = Rows::to(Vec::new());
        rows.texts(self.columns.iter().map(|column| &column.name));
        self.rows.iter().for_each(|row| rows.texts(row));
        rows.into_text()
    }
}
