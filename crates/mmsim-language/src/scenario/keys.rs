//! Description of a key of a scenario file: name, form, range, default, meaning.
//!
//! The keys themselves are in [`tables`](super::tables). The reader refuses what is not in them,
//! defaults are taken from them, and docs/scenarios.md is generated from them, so the three cannot
//! disagree.

use std::borrow::Cow;

use mmsim_core::base::settings::{Form, Row};
use mmsim_core::config::{Kernel, MachineConfig};

use crate::registry::{Slot, Values};

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Memory with its unit, at least this number of pages.
    Size(u64),
    /// Memory with its unit, at least this number of pages and below 2^32, or a law of sizes.
    Sizes(u64, &'static TableSpec),
    /// Memory with its unit, or `"max"`.
    Limit,
    /// A duration with its unit.
    Time,
    /// A duration with its unit, or a law of durations.
    Times(&'static TableSpec),
    /// A whole number within the range, or a law of whole numbers.
    Counts(u64, u64, &'static TableSpec),
    /// Bytes per second with the unit.
    Rate,
    /// A whole number within the range.
    Count(u64, u64),
    /// A whole number from 1 up, or this word.
    CountOr(&'static str),
    /// A whole number within the range, which may be negative.
    Whole(i64, i64),
    /// A number, perhaps with decimals, within the range.
    Number(f64, f64),
    /// `true` or `false`.
    Flag,
    /// A number, or a quantity with its unit.
    Quantity,
    /// Any string.
    Text,
    /// The name of a file, relative to the scenario file.
    File,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A kernel by its version.
    Kernel,
    /// A device preset, or a table with a device of one's own.
    Device(&'static TableSpec),
    /// A list of strings.
    Texts,
    /// A table with these keys.
    Table(&'static TableSpec),
    /// A list of such tables.
    Tables(&'static TableSpec),
    /// One such table, or a list of them.
    OneOrMore(&'static TableSpec),
    /// The tasks: the common keys and those of the workload.
    Tasks(&'static Variants),
    /// Regions of a phased workload by name.
    Regions(&'static TableSpec),
    /// Steps of a phased workload.
    Steps(&'static Variants),
    /// Settings by the names of their rows.
    Rows(&'static RowTable),
    /// Other keys of the file by path, with one value each.
    Overrides,
    /// Other keys of the file by path, with a list of values each.
    Axes,
}

/// Value when a key is left out.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// It may not be left out.
    Required,
    /// This value, as TOML.
    Is(&'static str),
    /// The rule in words.
    Auto(&'static str),
    /// The default of a row, by the numbers of kernels. It is filled in where all kernels have it.
    Row(&'static Row, Defaults),
}

/// A value of a row as TOML.
pub(super) fn toml_of(row: &Row, value: Option<u64>) -> String {
    let text = row.text(value);
    match row.form {
        Form::Bool | Form::Whole | Form::Real | Form::Flag(["0", "1"]) => text,
        _ => format!("\"{text}\""),
    }
}

/// Default of a row on a kernel.
pub type Defaults = fn(&Row, Kernel) -> Option<u64>;

impl Fallback {
    /// The value that holds on all kernels, as TOML.
    pub(crate) fn value(self) -> Option<Cow<'static, str>> {
        match self {
            Fallback::Is(toml) => Some(Cow::Borrowed(toml)),
            Fallback::Row(row, defaults) if row.life().is_none() && row.or.is_empty() => {
                let toml = || toml_of(row, defaults(row, Kernel::LAST));
                row.auto.is_empty().then(|| Cow::Owned(toml()))
            }
            _ => None,
        }
    }

    /// The rule in words, where no value holds on all kernels.
    pub(crate) fn words(self) -> Option<Cow<'static, str>> {
        match self {
            Fallback::Auto(words) => Some(Cow::Borrowed(words)),
            Fallback::Row(row, defaults) if self.value().is_none() => Some(match row.auto {
                "" => Cow::Owned(row.text(defaults(row, Kernel::LAST))),
                words => Cow::Borrowed(words),
            }),
            _ => None,
        }
    }
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// As it is written in the file.
    pub name: &'static str,
    /// Its form.
    pub kind: Kind,
    /// Value without it.
    pub fallback: Fallback,
    /// Its meaning, a phrase.
    pub doc: &'static str,
}

/// The keys of one table.
#[derive(Debug)]
pub struct TableSpec {
    /// As a heading of the documentation.
    pub title: &'static str,
    /// Purpose of the table.
    pub doc: &'static str,
    /// Its keys, in groups that tables may share.
    pub groups: &'static [&'static [KeySpec]],
}

impl TableSpec {
    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'static KeySpec> {
        self.groups.iter().flat_map(|g| g.iter())
    }

    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys().find(|k| k.name == name)
    }
}

/// A table of settings: its keys are rows beside the struct that they fill.
#[derive(Debug)]
pub struct RowTable {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its form, for the documentation.
    pub form: &'static str,
    /// Where the rows are.
    pub rows: RowsOf,
}

/// The rows of a table of settings.
#[derive(Clone, Copy, Debug)]
pub enum RowsOf {
    /// These; a machine has the values.
    Machine(&'static [Row], fn(&MachineConfig) -> Values),
    /// Those of the preset that the table names, which is in this slot of the registry.
    Preset(Slot),
    /// Those of the module that its neighbour names.
    Module,
    /// Names that only the file beside it knows.
    Free,
}

/// The tables of a list whose keys depend on what one of them says.
#[derive(Debug)]
pub struct Variants {
    /// That key.
    pub by: &'static str,
    /// Table that is read in place of one that says nothing known.
    pub unknown: &'static TableSpec,
    /// The keys of a table by what it says.
    pub of: fn(&str) -> Option<&'static TableSpec>,
}

use Kind::{
    Axes, Choice, Count, Counts, Device, File, Flag, Limit, Number, OneOrMore, Overrides, Rate,
    Regions, Rows, Size, Sizes, Steps, Table, Tables, Tasks, Text, Texts, Time, Times, Whole,
};

pub(super) use mmsim_core::base::settings::MANY;

/// Largest number of pages, CPUs and so on that a 32-bit index can hold.
pub(super) const U32: u64 = u32::MAX as u64;

impl Kind {
    /// The keys of a value that is a table of keys.
    pub(super) fn table(self) -> Option<&'static TableSpec> {
        match self {
            Table(spec) | OneOrMore(spec) | Device(spec) => Some(spec),
            Times(law) | Counts(_, _, law) | Sizes(_, law) => Some(law),
            _ => None,
        }
    }

    /// The form of a value without a law.
    pub(super) fn plain(self) -> Kind {
        match self {
            Times(_) => Time,
            Sizes(least, _) => Size(least),
            Counts(lo, hi, _) => Count(lo, hi),
            kind => kind,
        }
    }

    /// Form and range for the documentation.
    pub fn describe(self) -> String {
        let words =
            |w: &[&str]| w.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", ");
        match self {
            Size(0) => "size".to_string(),
            Size(n) => format!("size, at least {}", super::units::show_pages(n)),
            Sizes(..) => format!("{} or [law](#a-law-of-sizes)", self.plain().describe()),
            Limit => "size or `\"max\"`".to_string(),
            Time => "duration".to_string(),
            Times(_) => "duration or [law](#a-law-of-times)".to_string(),
            Counts(..) => format!("{} or [law](#a-law-of-counts)", self.plain().describe()),
            Rate => "rate".to_string(),
            Count(1, 1) => "1".to_string(),
            Count(lo, MANY) => format!("whole number, {lo} to 2^53"),
            Count(lo, U32) => format!("whole number, {lo} to 2^32-1"),
            Count(lo, hi) => format!("whole number, {lo} to {hi}"),
            Kind::CountOr(word) => format!("whole number from 1 up, or `\"{word}\"`"),
            Whole(lo, hi) => format!("whole number, {lo} to {hi}"),
            Number(lo, hi) => format!("number, {lo} to {hi}"),
            Flag => "`true` or `false`".to_string(),
            Kind::Quantity => "number, or a quantity with its unit".to_string(),
            Text => "string".to_string(),
            File => "file name".to_string(),
            Choice(c) => words(c),
            Kind::Kernel => words(&Kernel::ALL.map(Kernel::name)),
            Device(_) => "preset name or table".to_string(),
            Texts => "list of strings".to_string(),
            Table(t) => format!("table, see {}", t.title),
            Tables(t) => format!("list of tables, see {}", t.title),
            OneOrMore(t) => format!("table or list of tables, see {}", t.title),
            Tasks(_) => "list of tables, see [[task]]".to_string(),
            Regions(_) => "table of tables".to_string(),
            Steps(_) => "list of tables".to_string(),
            Rows(table) => table.form.to_string(),
            Overrides => "table of paths and values".to_string(),
            Axes => "table of paths and lists".to_string(),
        }
    }

    /// Text to write for a value of this form, after "write".
    pub(super) fn expected(self) -> String {
        match self {
            Size(_) => "a size such as \"64MiB\"".to_string(),
            Limit => "a size such as \"64MiB\", or \"max\"".to_string(),
            Time => "a duration such as \"5ms\"".to_string(),
            Times(_) => "a duration such as \"5ms\", or a law".to_string(),
            Counts(..) | Sizes(..) => format!("{}, or a law", self.plain().expected()),
            Rate => "a rate such as \"150MB/s\"".to_string(),
            Count(lo, hi) if lo == hi => format!("{lo}"),
            Count(lo, MANY) => format!("a whole number from {lo} up"),
            Count(lo, hi) => format!("a whole number from {lo} to {hi}"),
            Kind::CountOr(word) => format!("a whole number from 1 up, or \"{word}\""),
            Whole(lo, hi) => format!("a whole number from {lo} to {hi}"),
            Number(lo, hi) => format!("a number from {lo} to {hi}"),
            Flag => "true or false".to_string(),
            Kind::Quantity => {
                "a number, or one with its unit such as \"64MiB\" or \"5ms\"".to_string()
            }
            Text => "a string in quotes".to_string(),
            File => "a file name in quotes".to_string(),
            Choice(c) => one_of(c),
            Kind::Kernel => one_of(&Kernel::ALL.map(Kernel::name)),
            Device(_) => "the name of a preset such as \"zram\", or a table".to_string(),
            Texts => "a list of strings".to_string(),
            Table(_) | Regions(_) | Rows(_) | Overrides | Axes => "a table".to_string(),
            Tables(_) | Tasks(_) | Steps(_) => "a list of tables".to_string(),
            OneOrMore(_) => "a table, or a list of tables".to_string(),
        }
    }
}

/// `"a", "b" or "c"`.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
