//! Common code of the programs of mmsim on a command line: arguments about results, outputs that
//! are there whole or not at all, progress, exit codes, and plain messages on mistakes in arguments.

pub mod args;
pub mod exit;
pub mod output;
pub mod progress;
pub mod usage;

/// Columns of the terminal: what `COLUMNS` says, or else what the terminal says, if there is one.
pub fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse::<usize>().ok());
    let asked = || terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| w.0.into());
    said.filter(|&w| w > 0).or_else(asked)
}
