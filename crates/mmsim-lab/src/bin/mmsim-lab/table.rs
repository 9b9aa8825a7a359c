//! Tables as wide as the terminal.

use mmsim_view::table::{self, Width};

fn width() -> Width {
    if cfg!(test) {
        return Width::default();
    }
    mmsim_terminal::columns().map_or(Width::default(), Width::of)
}

/// Columns, of which the first `names` are names and stand left, the others numbers.
pub(crate) fn grid(
    header: Option<&[&str]>,
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
) -> String {
    table::grid(header, rows, names, width())
}

/// Names only.
pub(crate) fn left_aligned(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table::left_aligned(rows, width())
}

/// Breaks text between words; lines after the first are indented.
pub(crate) fn wrap(text: &str, indent: usize) -> String {
    table::wrap(text, indent, width())
}
