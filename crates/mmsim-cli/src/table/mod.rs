//! Tables for people: the machine as it was resolved, the variants side by side, and the
//! sentences on what can be told apart. Nothing is wider than the terminal ([`width`]): names are
//! cut, and too many variants go on below, with the first one repeated.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use mmsim::base::digest::Digest;
use mmsim::machines::policy;
use mmsim::report::groups::Group;
use mmsim::report::numbers::grouped;
use mmsim::report::{Pairs, Report, RunReport, closing, csv_field};
use mmsim_view::page::Observed;
use mmsim_view::rows::{Row, rows};
use mmsim_view::sparks;
pub(crate) use sweep::{Shown, of_store, sweep};
use width::{GAP, width};

mod sweep;
mod width;

use crate::args::Format;

/// Columns with two blanks between them and no lines. The first `names` columns are names
/// and stand left, the others are numbers and stand right.
pub(crate) fn grid(
    header: Option<&[&str]>,
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
) -> String {
    let header = header.map(|h| h.iter().copied().map(str::to_string).collect());
    let mut all: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
    width::fit(&mut all, names, width());
    aligned(all, names)
}

/// The same with all names as they are, however wide that gets: somebody will copy them.
pub(crate) fn uncut(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
) -> String {
    let header = header.iter().copied().map(str::to_string).collect();
    aligned(std::iter::once(header).chain(rows).collect(), names)
}

fn aligned(rows: Vec<Vec<String>>, names: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_rows(rows);
    if table.is_empty() {
        return String::new();
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        if i >= names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = table.trim_fmt();
    out.push('\n');
    out
}

/// Names only. On a terminal the last column goes on below itself.
pub(crate) fn left_aligned(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let rows = match width::list_width() {
        Some(limit) => width::fold(rows, limit),
        None => rows,
    };
    aligned(rows, usize::MAX)
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
                pairs.iter().map(|(n, v)| (n.as_str(), value(v))).collect();
            let json = serde_json::to_string_pretty(&map).expect("names and values");
            format!("{json}\n")
        }
        Format::Csv => {
            let row = |(n, v): &(String, String)| format!("{},{}\n", csv_field(n), csv_field(v));
            format!("name,value\n{}", pairs.iter().map(row).collect::<String>())
        }
    }
}

/// Breaks text between words; lines after the first are indented.
pub(crate) fn wrap(text: &str, indent: usize) -> String {
    let limit = width();
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column == 0 {
            column = length;
        } else if column + 1 + length <= limit {
            out.push(' ');
            column += 1 + length;
        } else {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent + length;
        }
        out.push_str(word);
    }
    out.push('\n');
    out
}

/// What the report is of, and its machine.
fn heading(report: &Report) -> String {
    let title = match report.about.as_str() {
        "" => report.scenario.clone(),
        about => format!("{}: {about}", report.scenario),
    };
    let mut out = wrap(&title, 0);
    out.push('\n');
    out + &machine(report)
}

/// The whole report.
pub(crate) fn report(report: &Report) -> String {
    let mut out = heading(report);
    for group in report.groups() {
        out.push('\n');
        out += &self::group(&group);
    }
    out
}

/// The table of a report as the command that made it prints it. `long`: a block for each setting.
pub(crate) fn of_report(report: &Report, long: bool, shown: &Shown) -> String {
    let axes = report.groups().len() > 1 && report.runs.iter().any(|r| !r.axes.is_empty());
    if axes && !long { sweep(report, shown) } else { self::report(report) }
}

/// Lines of what happened over time, for a terminal.
pub(crate) fn sparks(report: &Report, observed: &[Observed]) -> String {
    let rows = sparks::rows(report, observed, width().saturating_sub(50).clamp(10, 60));
    if rows.is_empty() {
        return String::new();
    }
    format!("\nover time, first seed; a full block is the figure beside it\n{}", aligned(rows, 4))
}

/// A value with the names of the variants that have it.
type Value = (String, Vec<String>);

/// The values of a property over all runs. One that all runs share stands alone, others
/// come with their variants.
fn by_variant(report: &Report, property: impl Fn(&RunReport) -> String) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for run in &report.runs {
        let value = property(run);
        let at = values.iter().position(|(v, _)| *v == value).unwrap_or_else(|| {
            values.push((value, Vec::new()));
            values.len() - 1
        });
        let names = &mut values[at].1;
        if !names.contains(&run.variant) {
            names.push(run.variant.clone());
        }
    }
    values
}

fn property(name: &str, values: &[Value]) -> String {
    let value = match values {
        [(value, _)] => value.clone(),
        several => {
            let each = |(value, names): &Value| format!("{value} ({})", names.join(", "));
            several.iter().map(each).collect::<Vec<_>>().join("; ")
        }
    };
    let start = format!("{name:<8}");
    // The padding after the name must survive the breaking of lines.
    wrap(&format!("{}{value}", start.replace(' ', "\u{1}")), start.len()).replace('\u{1}', " ")
}

/// `5 GiB`, `1536 MiB`: the largest unit that leaves a whole number.
fn bytes(n: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if n >= 1 << shift && n.trailing_zeros() >= shift {
            return format!("{} {unit}", grouped((n >> shift) as f64));
        }
    }
    format!("{} B", grouped(n as f64))
}

fn seeds(report: &Report) -> String {
    let mut seeds: Vec<u64> = report.runs.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let follow = seeds.windows(2).all(|w| w[1] == w[0] + 1);
    match seeds.as_slice() {
        [first, .., last] if follow => format!("{first} to {last}"),
        several => several.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn digest(report: &Report) -> String {
    match report.runs.as_slice() {
        [run] => run.digest.clone(),
        runs => {
            let mut all = Digest::new();
            runs.iter().for_each(|run| all.text(&run.digest));
            format!("{:016x} (of {} runs)", all.finish(), runs.len())
        }
    }
}

/// How much was assumed about the work of which tasks. The sentences themselves are too long
/// for here; other forms of the report have them, and `mmsim trace info`.
fn assumed(run: &RunReport) -> String {
    let mut tasks: Vec<(&str, usize)> = Vec::new();
    for sentence in &run.assumed {
        let task = sentence.split_once(": ").map_or("", |(task, _)| task);
        match tasks.iter_mut().find(|t| t.0 == task) {
            Some(t) => t.1 += 1,
            None => tasks.push((task, 1)),
        }
    }
    let things = |n: usize| if n == 1 { "1 thing".to_string() } else { format!("{n} things") };
    let of_task = |(task, n)| format!("{} about the work of {task}", things(n));
    let all: Vec<String> = tasks.into_iter().map(of_task).collect();
    if all.is_empty() { "nothing".to_string() } else { all.join(", ") }
}

fn machine(report: &Report) -> String {
    let swap = |run: &RunReport| match &run.swap {
        Some(swap) => format!("{} on {}", bytes(swap.bytes), swap.device),
        None => "none".to_string(),
    };
    let cpus = |n: u32| if n == 1 { "1 CPU".to_string() } else { format!("{n} CPUs") };
    let kernel = |run: &RunReport| format!("{}, {}", run.kernel, cpus(run.cpus));
    let mut out = String::new();
    out += &property("kernel", &by_variant(report, kernel));
    out += &property("policy", &by_variant(report, policy));
    out += &property("swap", &by_variant(report, swap));
    out += &property("seed", &[(seeds(report), Vec::new())]);
    out += &property("digest", &[(digest(report), Vec::new())]);
    if report.runs.iter().any(|run| !run.assumed.is_empty()) {
        out += &property("assumed", &by_variant(report, assumed));
    }

    let header = ["zone", "managed", "min", "low", "high", "free at start"];
    let zones = |run: &RunReport| {
        let row = |z: &mmsim::report::ZoneReport| {
            let pages = [z.managed, z.min, z.low, z.high, z.free_at_start];
            let pages = pages.into_iter().map(|n| grouped(n as f64));
            std::iter::once(z.name.clone()).chain(pages).collect()
        };
        grid(Some(&header), run.zones.iter().map(row), 1)
    };
    let tables = by_variant(report, zones);
    for (table, names) in &tables {
        out.push('\n');
        out += &match tables.len() {
            1 => "zones, in pages\n".to_string(),
            _ => wrap(&format!("zones of {}, in pages", names.join(", ")), 0),
        };
        out += table;
    }
    out
}

fn group(group: &Group<'_>) -> String {
    let mut heading: Vec<String> = group.scenario.iter().map(|s| s.to_string()).collect();
    heading.extend(group.axes.iter().map(|(name, value)| format!("{name} = {value}")));
    let mut out = String::new();
    if !heading.is_empty() {
        out += &wrap(&heading.join(", "), 0);
    }
    let runs = group.variants.iter().map(|v| v.runs.len()).max().unwrap_or(0);
    if runs > 1 {
        let changes = if group.variants.len() > 1 {
            "; changes are means over pairs of equal seeds ± 95 % confidence"
        } else {
            ""
        };
        out += &format!("means over {runs} seeds{changes}\n");
    }
    out += &side_by_side(group, &rows(group));
    let sentences = closing::sentences(group);
    out += if sentences.is_empty() { "" } else { "\n" };
    out.extend(sentences.iter().map(|sentence| wrap(sentence, 2)));
    out
}

/// The rows in as many blocks as the width asks for, the first variant in each.
fn side_by_side(group: &Group<'_>, rows: &[Row]) -> String {
    let limit = width();
    // Two columns of names, a column of labels and the changes have to find room.
    let names: Vec<String> = group.variants.iter().map(|v| width::cut(v.name, limit / 4)).collect();
    let width = |head: &str, cell: &dyn Fn(&Row) -> &str| {
        let cells = rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        GAP + cells.max(head.chars().count())
    };
    let value_width = |i: usize| width(&names[i], &|row| &row.values[i]);
    let change_width = |i: usize| width("change", &|row| &row.changes[i]);
    let fixed = width("", &|row| &row.label) + value_width(0);

    let mut blocks: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = fixed;
    for i in 1..names.len() {
        let more = value_width(i) + change_width(i);
        // The last column's gap is not printed.
        if used + more > limit + GAP && blocks.last().is_some_and(|b| !b.is_empty()) {
            blocks.push(Vec::new());
            used = fixed;
        }
        used += more;
        blocks.last_mut().expect("there is always one").push(i);
    }

    let block = |others: &Vec<usize>| {
        let mut header = vec!["", &names[0]];
        header.extend(others.iter().flat_map(|&i| [names[i].as_str(), "change"]));
        let line = |row: &Row| {
            let mut line = vec![row.label.clone(), row.values[0].clone()];
            line.extend(
                others.iter().flat_map(|&i| [row.values[i].clone(), row.changes[i].clone()]),
            );
            line
        };
        grid(Some(&header), rows.iter().map(line), 1)
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, golden};
    use mmsim::report::{Bounds, Ending, Pairs, SwapReport, TaskReport};
    use serde_json::json;

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

    /// Of two variants, one with reclaim and one without; nothing else has a phase of attempts.
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
        assert!(text.lines().all(|line| line.chars().count() <= width::DEFAULT));
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
    fn sizes_in_whole_units() {
        assert_eq!(bytes(5 << 30), "5 GiB");
        assert_eq!(bytes(1536 << 20), "1,536 MiB");
        assert_eq!(bytes(4097), "4,097 B");
        assert_eq!(bytes(0), "0 B");
    }

    #[test]
    fn seeds_in_short() {
        let of = |all: &[u64]| seeds(&samples::report(&["v"], all));
        assert_eq!(of(&[7]), "7");
        assert_eq!(of(&[1, 2, 3]), "1 to 3");
        assert_eq!(of(&[1, 3]), "1, 3");
    }

    #[test]
    fn long_text_is_broken_between_words() {
        let text = wrap(&"word ".repeat(40), 4);
        assert!(text.lines().all(|line| line.len() <= width::DEFAULT));
        assert!(text.lines().skip(1).all(|line| line.starts_with("    word")));
    }
}
