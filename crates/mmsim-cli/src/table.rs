//! Tables as wide as the terminal: what `mmsim_view` lays out, and values in any form.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mmsim::cells::{Cell, Cells};
use mmsim::report::derived::Figure;
use mmsim::report::numbers::grouped;
use mmsim::report::{Pairs, Report, Rows};
use mmsim_view::page::Observed;
use mmsim_view::settings::Setting;
use mmsim_view::table::{self, Width};
pub(crate) use mmsim_view::table::{Shown, uncut};

use crate::args::{Format, Rows as TableRows, TableArgs};
use mmsim_terminal::exit::Failure;

/// Columns of the terminal, if there is one.
fn width() -> Width {
    if cfg!(test) {
        return Width::default();
    }
    let width = mmsim_terminal::columns().map_or(Width::default(), Width::of);
    width.coloured(mmsim_terminal::colours::of_results())
}

/// Columns with two blanks between them and no lines. The first `names` columns are names
/// and stand left, the others are numbers and stand right.
pub(crate) fn grid(
    header: Option<&[&str]>,
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
) -> String {
    table::grid(header, rows, names, width())
}

/// Cells in the same way, with a dash where there is no value.
pub(crate) fn of_cells(cells: &Cells, names: usize) -> String {
    let header: Vec<&str> = cells.columns.iter().map(|column| column.name.as_str()).collect();
    let text = |cell: &Cell| match cell {
        Cell::Empty => "-".to_string(),
        Cell::Whole(n) => grouped(*n as f64),
        other => other.to_string(),
    };
    let rows = cells.rows.iter().map(|row| row.iter().map(text).collect());
    grid(Some(&header), rows, names)
}

/// Names only. On a terminal the last column goes on below itself.
pub(crate) fn left_aligned(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table::left_aligned(rows, width())
}

/// Breaks text between words; lines after the first are indented.
pub(crate) fn wrap(text: &str, indent: usize) -> String {
    table::wrap(text, indent, width())
}

/// A change in per cent as a cell, in colour if its interval leaves out zero.
pub(crate) fn change(cell: String, label: &str, mean: f64, ci95: Option<f64>) -> String {
    table::change(cell, label, mean, ci95, width())
}

/// Text behind its label, in lines of at most 80 columns, below one another.
pub(crate) fn indented(label: &str, text: &str) -> String {
    let (indent, mut out) = (label.chars().count(), String::new());
    for (i, line) in folded(text, 80 - indent).iter().enumerate() {
        let _ = writeln!(out, "{:indent$}{line}", if i == 0 { label } else { "" });
    }
    out
}

/// Text in lines of at most `columns` columns.
pub(crate) fn folded(text: &str, columns: usize) -> Vec<String> {
    table::wrap(text, 0, Width::of(columns)).lines().map(str::to_string).collect()
}

/// The table of a report as the command that made it prints it.
pub(crate) fn of_report(report: &Report, shown: &Shown) -> String {
    table::of_report(report, shown, width())
}

/// Known errors of kernels and policies, a line each.
pub(crate) fn near(said: &[[String; 2]]) -> String {
    table::near(said, width())
}

/// A curve: a line for each size, a column for each variant.
pub(crate) fn curve(report: &Report, figure: Figure) -> String {
    table::curve(report, figure, width())
}

/// The same of estimates, whose machines say nothing.
pub(crate) fn estimates(report: &Report, figure: Figure) -> String {
    table::estimates(report, figure, width())
}

impl TableArgs {
    /// Parts of a table that is shown, with what these options say of it.
    pub(crate) fn on(&self, shown: Shown) -> Shown {
        Shown { base: self.base.clone(), full: self.rows == Some(TableRows::Full), ..shown }
    }

    /// Refuses them where no table is printed, and a base that none of the variants is.
    pub(crate) fn check<'a>(
        &self,
        form: Format,
        variants: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        let given = [("--table", self.rows.is_some()), ("--base", self.base.is_some())];
        let given = given.iter().find(|(_, given)| *given && form != Format::Table);
        if let Some((option, _)) = given {
            let title = format!("{option}: it is about the table, and none is printed");
            let error = mmsim::Error::of_option(title).help("leave it out, or leave --format out");
            return Err(Failure::Input(error));
        }
        let Some(base) = &self.base else { return Ok(()) };
        let known: BTreeSet<&str> = variants.into_iter().collect();
        if known.contains(base.as_str()) {
            return Ok(());
        }
        let known: Vec<&str> = known.into_iter().collect();
        Err(Failure::Input(mmsim::Error::unknown_word("--base: no variant", base, &known)))
    }
}

/// Contents of a store: a line for each setting, the best first.
pub(crate) fn of_store(name: &str, about: &str, all: &[Setting], shown: &Shown) -> String {
    table::of_store(name, about, all, shown, width())
}

/// Lines of what happened over time, for a terminal.
pub(crate) fn sparks(report: &Report, observed: &[Observed]) -> String {
    table::sparks(report, observed, width())
}

/// Names and values in any form.
pub(crate) fn pairs(pairs: &[(String, String)], format: Format) -> String {
    match format {
        Format::Table => left_aligned(pairs.iter().map(|(n, v)| vec![n.clone(), v.clone()])),
        Format::Json => {
            // A number that is written like one is a number; `007` is a text.
            let value = |v: &str| match v.parse::<u64>() {
                Ok(n) if n.to_string() == v => serde_json::Value::from(n),
                _ => serde_json::Value::from(v),
            };
            let map: Pairs<serde_json::Value> =
                pairs.iter().map(|(n, v)| (n.clone(), value(v))).collect();
            let json = serde_json::to_string_pretty(&map).expect("names and values");
            format!("{json}\n")
        }
        Format::Csv => {
            let mut rows = Rows::below("name,value");
            pairs.iter().for_each(|(name, value)| rows.texts([name, value]));
            rows.into_text()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, golden};
    use mmsim::report::{Bounds, Ending, Pairs, SwapReport, TaskReport};
    use serde_json::json;

    fn report(report: &Report) -> String {
        table::report(report, None, Width::default())
    }

    fn group(group: &mmsim::report::groups::Group<'_>) -> String {
        table::group(group, Width::default())
    }

    #[test]
    fn pairs_in_every_form() {
        let info = [("records".to_string(), "7".to_string()), ("source".into(), "a, b".into())];
        assert_eq!(pairs(&info, Format::Table), "records  7\nsource   a, b\n");
        assert_eq!(pairs(&info, Format::Csv), "name,value\nrecords,7\nsource,\"a, b\"\n");
        assert_eq!(pairs(&info, Format::Json), "{\n  \"records\": 7,\n  \"source\": \"a, b\"\n}\n");
    }

    #[test]
    fn variants_stand_side_by_side() {
        golden("one_seed", &report(&samples::report(&["v5.5", "protection"], &[1])));
    }

    /// Two variants, one with reclaim and one without; nothing else has a phase of attempts.
    #[test]
    fn attempts_at_blocks_are_told_pass_by_pass() {
        let mut report = samples::report(&["base", "redesign"], &[1]);
        for (run, reclaimed) in report.runs.iter_mut().zip([300, 0]) {
            let sample = run.phases[0].clone();
            let phase = |name: &str, counters: &[(&'static str, u64)]| {
                let mut phase = sample.clone();
                phase.name = name.into();
                phase.vmstat = counters.iter().copied().collect();
                phase
            };
            let had = 500 + reclaimed;
            run.phases = vec![
                phase("survey", &[("sim_candidates", 1600), ("sim_candidates_bound", 1500)]),
                phase(
                    "attempts",
                    &[
                        ("sim_highalloc", 3000),
                        ("sim_highalloc_fail", 3000 - had),
                        ("sim_highalloc_lists", 500),
                        ("sim_highalloc_reclaim", reclaimed),
                    ],
                ),
            ];
        }
        golden("attempts", &group(&report.groups()[0]));
    }

    #[test]
    fn several_seeds_give_means_and_intervals() {
        golden("several_seeds", &report(&samples::report(&["v5.5", "protection"], &[1, 2, 3])));
    }

    #[test]
    fn many_variants_go_on_below() {
        let variants = ["v5.5", "v5.8", "v5.8+prot", "v5.9", "v6.1", "v6.12", "mglru-v6.12"];
        let text = report(&samples::report(&variants, &[1, 2]));
        assert!(text.lines().all(|line| line.chars().count() <= 100));
        golden("many_variants", &text);
    }

    #[test]
    fn whatever_differs_says_with_which_variant() {
        let mut sample = samples::report(&["v5.5", "mglru"], &[4]);
        sample.runs[1].kernel = "5.5".into();
        sample.runs[1].swap = Some(SwapReport::new("nvme", 1536 << 20));
        sample.runs[1].zones[1].low += 100;
        sample.runs[1].policy = "mglru-v6.12".into();
        sample.runs[1].records = 25_000;
        sample.runs[1].outcome = Ending::OutOfMemory;
        sample.runs[1].bounds = Some(Bounds::new(12_345, 345, false));
        for run in &mut sample.runs {
            run.axes = [("task[0].memory", "1536MiB".to_string())].into_iter().collect();
        }
        let mut other = sample.runs[0].clone();
        other.axes = Pairs::new();
        sample.runs.push(other);
        golden("differences", &report(&sample));
    }

    /// A monitor that only the second variant has, a group, two tasks, and a phase in which the
    /// second variant did other work.
    #[test]
    fn each_part_has_rows() {
        let mut sample = samples::report(&["without", "with"], &[1]);
        let damon = json!({
            "name": "kdamond.0", "ops": "paddr", "cpu_ns": 7_500_000, "samples": 100,
            "nr_regions": 12,
            "schemes": [{
                "action": "pageout", "nr_tried": 9, "sz_tried": 3 << 20, "nr_applied": 5,
                "sz_applied": 1 << 20, "qt_exceeds": 0
            }]
        });
        sample.runs[1].damon = vec![serde_json::from_value(damon).unwrap()];
        for (run, faults) in sample.runs.iter_mut().zip([1000, 900]) {
            let counters = |n| [("pgmajfault", Some(n)), ("pswpin", Some(n / 2))];
            let task = |name: &str, n: u64| -> TaskReport {
                let task = json!({
                    "name": name, "begin_ns": 0, "accesses": 10, "records": 0,
                    "vmstat": { "pgmajfault": n, "pswpin": n / 2 },
                    "record": { "what": "launch", "latency": {
                        "count": n, "p50_ns": 1000 * n, "p99_ns": 3000 * n, "p999_ns": 0, "max_ns": 0
                    } }
                });
                serde_json::from_value(task).unwrap()
            };
            run.tasks = vec![task("a", faults), task("b", 0)];
            run.memory_stat =
                [("batch", counters(faults - 100).into_iter().collect())].into_iter().collect();
        }
        let access = &mut sample.runs[1].phases[1];
        access.task.as_mut().unwrap().records *= 2;
        let text = group(&sample.groups()[0]);
        for heading in ["kdamond.0 (paddr)", "group batch", "task a", "in access"] {
            assert!(text.lines().any(|l| l == heading), "{heading} in\n{text}");
        }
        assert!(!text.contains("task b"), "nothing to show\n{text}");
        let after = |heading: &str, row: &str| -> Vec<String> {
            let mut lines = text.lines().skip_while(|l| *l != heading);
            let line = lines.find(|l| l.trim_start().starts_with(row)).expect("the row");
            line.split_whitespace().map(str::to_string).collect()
        };
        assert_eq!(after("kdamond.0 (paddr)", "pageout applied")[3..], ["-", "1", "-"]);
        assert_eq!(after("task a", "major faults")[2..], ["1,000", "900", "-10.0", "%"]);
        assert_eq!(after("task a", "launch latency p50")[4..], ["1,000", "900", "-10.0", "%"]);
        assert_eq!(after("task a", "launch latency p99")[4..], ["3,000", "2,700", "-10.0", "%"]);
        assert_eq!(after("group batch", "swap-ins")[1..], ["450", "400", "-11.1", "%"]);
        assert_eq!(after("in access", "swap-ins").last().map(String::as_str), Some("-"));
    }

    #[test]
    fn what_was_assumed_is_counted() {
        let mut sample = samples::report(&["v5.5", "v6.12"], &[1]);
        let of = |sample: &Report| {
            let text = report(sample);
            text.lines().find(|l| l.starts_with("assumed")).map(str::to_string)
        };
        assert_eq!(of(&sample), None);
        for run in &mut sample.runs {
            run.assumed = vec!["io: a".into(), "io: b: c".into(), "sort: a".into()];
        }
        let all = "assumed 2 things about the work of io, 1 thing about the work of sort";
        assert_eq!(of(&sample).as_deref(), Some(all));
        // A variant that replays nothing.
        sample.runs[0].assumed.clear();
        sample.runs[1].assumed.truncate(2);
        let all = "assumed nothing (v5.5); 2 things about the work of io (v6.12)";
        assert_eq!(of(&sample).as_deref(), Some(all));
    }

    #[test]
    fn seeds_in_short() {
        let of = |all: &[u64]| {
            let text = report(&samples::report(&["v"], all));
            let line = text.lines().find_map(|l| l.strip_prefix("seed"));
            line.expect("a line about seeds").trim().to_string()
        };
        assert_eq!(of(&[7]), "7");
        assert_eq!(of(&[1, 2, 3]), "1 to 3");
        assert_eq!(of(&[1, 3]), "1, 3");
    }

    #[test]
    fn long_text_is_broken_between_words() {
        let text = wrap(&"word ".repeat(40), 4);
        assert!(text.lines().all(|line| line.len() <= 100));
        assert!(text.lines().skip(1).all(|line| line.starts_with("    word")));
    }
}
