//! Arguments about results.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mmsim::report::for_spreadsheets;

use crate::exit::Failure;
use crate::output;
use crate::output::form::{self, Content};

/// The form of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Table,
    /// One document with everything.
    Json,
    /// The same in rows.
    Csv,
}

/// The form of results as `--format` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Written {
    /// For people.
    Table,
    /// The table in ASCII and at most 72 columns wide, for mails and commit messages.
    Plain72,
    /// One document with everything.
    Json,
    /// The same in rows.
    Csv,
}

/// Where results go, and in what form.
#[derive(Args, Debug)]
pub struct OutputArgs {
    /// Form of the results [default: by the ending of FILE, else table]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<Written>,
    /// Write the results to FILE, whole or not at all, instead of to stdout; `.gz` and `.zst` pack it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Put an apostrophe before cells of CSV that a spreadsheet would compute: those that begin with
    /// =, +, -, @, a tab or a line end, and are no numbers
    #[arg(long)]
    pub csv_safe: bool,
}

impl OutputArgs {
    /// The form of the option, or of the ending of the file's name.
    pub fn form(&self) -> Format {
        let by_name = || match form::content(self.output.as_deref()?)? {
            Content::Json => Some(Format::Json),
            Content::Csv => Some(Format::Csv),
            _ => None,
        };
        match self.format {
            None => by_name().unwrap_or(Format::Table),
            Some(Written::Table | Written::Plain72) => Format::Table,
            Some(Written::Json) => Format::Json,
            Some(Written::Csv) => Format::Csv,
        }
    }

    /// True if the table is for a mail.
    pub fn plain(&self) -> bool {
        self.format == Some(Written::Plain72)
    }

    /// Refuses, before any work is done, a file of results that is one of the inputs too, or that
    /// cannot be written.
    pub fn ready(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let file = self.output.as_deref();
        output::distinct(inputs, &[("--output", file)])?;
        output::check(file)
    }

    /// Prints results in the requested form, and makes only that one.
    pub fn emit(
        &self,
        table: impl FnOnce() -> String,
        json: impl FnOnce() -> String,
        csv: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        self.show(&match self.form() {
            Format::Json => json(),
            Format::Csv => csv(),
            Format::Table => table(),
        })
    }

    /// Prints results that have their form already.
    pub fn show(&self, text: &str) -> Result<(), Failure> {
        let file = self.output.as_deref();
        match (self.csv_safe, self.plain()) {
            (true, _) => output::show(&for_spreadsheets(text), file),
            (_, true) => output::show(&ascii(text), file),
            _ => output::show(text, file),
        }
    }

    /// Refuses a name that promises another form, and options of another. From here on tables are as
    /// wide as their form has it.
    pub fn agrees(&self) -> Result<(), Failure> {
        if self.plain() {
            crate::limit_columns(PLAIN_COLUMNS);
        }
        if self.plain() || self.output.is_some() {
            crate::colours::leave_out();
        }
        safe_csv(self.csv_safe, self.form() == Format::Csv)?;
        let Some(path) = &self.output else { return Ok(()) };
        form::packable("--output", path)?;
        let form = match self.form() {
            Format::Json => Content::Json,
            Format::Csv => Content::Csv,
            Format::Table => Content::Table,
        };
        form::agree("--output", Some(path), form, &[])
    }
}

/// Columns of a table in a mail.
const PLAIN_COLUMNS: usize = 72;

/// Text with the signs of tables in ASCII: `+-` for an interval, `~` where a name is cut.
fn ascii(text: &str) -> String {
    // Columns keep their places where a blank stands before the sign.
    let text = text.replace(" ±", "+-").replace('±', "+-").replace('…', "~").replace('×', "x");
    // Names of variants may have any letters.
    text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// Refuses `--csv-safe` where no CSV is written.
pub fn safe_csv(asked: bool, is_csv: bool) -> Result<(), Failure> {
    if !asked || is_csv {
        return Ok(());
    }
    let title = "--csv-safe: nothing is written as CSV";
    let help = "write --format csv too, or leave it out";
    Err(Failure::Input(mmsim::Error::of_option(title).help(help)))
}

/// Refuses a name that promises another picture.
pub fn picture(option: &str, path: Option<&Path>, writes: Content) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| form::packable(option, path))?;
    form::agree(option, path, writes, &[])
}

/// Reads a number of jobs, runs or seeds.
///
/// # Errors
///
/// The text is no whole number, or 0.
pub fn at_least_one(text: &str) -> Result<usize, NoCount> {
    text.parse::<usize>().ok().filter(|&n| n > 0).ok_or(NoCount)
}

/// A text is no whole number of at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoCount;

impl fmt::Display for NoCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write a whole number of at least 1")
    }
}

impl Error for NoCount {}

/// Reads a key of a scenario, or an axis, and its value.
///
/// # Errors
///
/// There is no `=`, or nothing before it.
pub fn key_value(text: &str) -> Result<(String, String), NoPair> {
    pair(text).ok_or(NoPair)
}

/// A text has no `=`, or nothing before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoPair;

impl fmt::Display for NoPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write KEY=VALUE, as in machine.memory=2GiB")
    }
}

impl Error for NoPair {}

/// Splits `KEY=VALUE`; none if there is no `=`, or nothing before it.
pub fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()))?;
    (!key.is_empty()).then(|| (key.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plain_table_is_ascii() {
        assert_eq!(super::ascii("+2.9 ±6.2 a…z 2×ü"), "+2.9+-6.2 a~z 2x?");
    }
}
