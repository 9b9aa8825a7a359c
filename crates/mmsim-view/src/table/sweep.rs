//! A line for each setting: of a report with axes, and of a sweep.

use mmsim::report::Report;
use mmsim::report::derived::Figure;
use mmsim::report::numbers::grouped;

use super::width::{GAP, Width};
use super::{grid, heading_of, machine, wrap};
use crate::settings::{self, Setting, Table};

/// Part of a sweep that is shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The figure by which settings are sorted.
    pub by: Option<Figure>,
    /// Two axes to hold against each other: one down, one across.
    pub pivot: Option<(String, String)>,
    /// Settings at most.
    pub top: Option<usize>,
    /// The variant that others are compared with; `None`: the first.
    pub base: Option<String>,
    /// All figures of each setting.
    pub full: bool,
}

/// The report of several settings: a line for each, and two axes against each other.
pub fn sweep(report: &Report, shown: &Shown, width: Width) -> String {
    let all = settings::of_report(report);
    let mut out = wrap(&heading_of(report), 0, width);
    let top = shown.top.unwrap_or(usize::MAX);
    out += &lines(&all, shown.by, top, width);
    let pivot = shown.pivot.as_ref().map(|(down, across)| (down.as_str(), across.as_str()));
    for table in settings::pivots(&all, shown.by, pivot) {
        out += &block(table, width);
    }
    out += &left_out(all.len(), top);
    out += "\n--table full shows all figures of each setting, with changes between variants.\n\n";
    out + &machine(report, width)
}

/// Contents of a store: a line for each setting, the best first.
pub fn of_store(name: &str, about: &str, all: &[Setting], shown: &Shown, width: Width) -> String {
    let title = if about.is_empty() { name.to_string() } else { format!("{name}: {about}") };
    let runs: usize = all.iter().map(|s| s.runs).sum();
    let mut out = wrap(&title, 0, width);
    let count = |n: usize, one: &str, many: &str| {
        format!("{} {}", grouped(n as f64), if n == 1 { one } else { many })
    };
    let (units, rows) = (count(runs, "unit", "units"), count(all.len(), "row", "rows"));
    out += &format!("{units} in {rows} of setting and variant\n");
    if all.is_empty() {
        return out;
    }
    let by = shown.by.unwrap_or_else(|| settings::main_of(all));
    let top = shown.top.unwrap_or(USUAL_TOP);
    out += &lines(all, Some(by), top, width);
    if let Some((down, across)) = &shown.pivot {
        for table in settings::pivots(all, Some(by), Some((down, across))) {
            out += &block(table, width);
        }
    }
    out + &left_out(all.len(), top)
}

/// Default number of rows of a sweep.
const USUAL_TOP: usize = 40;

fn left_out(all: usize, top: usize) -> String {
    match all.saturating_sub(top) {
        0 => String::new(),
        n => format!("\n{} more rows: --top {all} shows them.\n", grouped(n as f64)),
    }
}

/// The table with as many figures as the terminal has room for.
fn lines(all: &[Setting], by: Option<Figure>, top: usize, width: Width) -> String {
    let fits = |t: &Table| {
        let all = || std::iter::once(&t.head).chain(&t.rows);
        let of = |i: usize| all().map(|row| row[i].chars().count()).max().unwrap_or(0) + GAP;
        (0..t.head.len()).map(of).sum::<usize>() <= width.of_numbers() + GAP
    };
    let tables = (0..=6).rev().map(|others| settings::table(all, by, others, top));
    let mut tables: Vec<Table> = tables.collect();
    let fitting = tables.iter().position(fits).unwrap_or(tables.len() - 1);
    block(tables.swap_remove(fitting), width)
}

fn block(table: Table, width: Width) -> String {
    let title = if table.title.is_empty() { String::new() } else { wrap(&table.title, 0, width) };
    let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
    format!("\n{title}{}", grid(Some(&head), table.rows, table.names, width))
}
