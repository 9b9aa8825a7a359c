//! Common code of the programs of mmsim on a command line: arguments about results, outputs that
//! are there whole or not at all, progress, exit codes, and plain messages on mistakes in arguments.

pub mod args;
pub mod colours;
pub mod exit;
pub mod man;
pub mod moved;
pub mod output;
pub mod progress;
pub mod shell;
pub mod usage;

use std::sync::OnceLock;

/// Columns that tables are limited to, if their form limits them.
static LIMIT: OnceLock<usize> = OnceLock::new();

/// Limits tables to this many columns, whatever the terminal has.
pub fn limit_columns(columns: usize) {
    let _ = LIMIT.set(columns);
}

/// Columns of tables: the limit of their form, or else those of the terminal, which `COLUMNS` says
/// or the terminal itself, if there is one.
pub fn columns() -> Option<usize> {
    if let Some(&limit) = LIMIT.get() {
        return Some(limit);
    }
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse::<usize>().ok());
    let asked = || terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| w.0.into());
    said.filter(|&w| w > 0).or_else(asked)
}
