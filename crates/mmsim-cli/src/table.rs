//! Tables for people: the machine as it was resolved, the variants side by side, and the
//! sentence on what goes with the difference. Nothing is wider than [`WIDTH`] unless a
//! name is; too many variants go on below, with the first one repeated.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use mmsim::base::digest::Digest;
use mmsim::report::blocks::Attempts;
use mmsim::report::derived::{Figure, Scope, grouped, grouped_row, per_cent, policy};
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::statistics::{estimate, paired_change};
use mmsim::report::{
    AimReport, DamonReport, Ending, Pairs, Report, RunReport, SchemeReport, cause, csv_field,
};

use crate::args::Format;

/// Columns of a terminal that tables are made for.
const WIDTH: usize = 100;
/// Between two columns.
const GAP: usize = 2;

/// Counters that are shown beside the figures where they are not zero.
const NOTABLE_COUNTERS: [&str; 5] =
    ["compact_success", "compact_fail", "thp_fault_alloc", "thp_fault_fallback", "oom_kill"];

/// Figures that are shown for each phase.
const PHASE_FIGURES: [Figure; 3] = [Figure::SwapIns, Figure::Refaults, Figure::Throughput];

/// Columns with two blanks between them and no lines. The first `names` columns are names
/// and stand left, the others are numbers and stand right.
pub(crate) fn grid(
    header: Option<&[&str]>,
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(header) = header {
        table.set_header(header.iter().copied().map(str::to_string));
    }
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

/// Names only.
pub(crate) fn left_aligned(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    grid(None, rows, usize::MAX)
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
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column == 0 {
            column = length;
        } else if column + 1 + length <= WIDTH {
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

/// The whole report.
pub(crate) fn report(report: &Report) -> String {
    let title = match report.about.as_str() {
        "" => report.scenario.clone(),
        about => format!("{}: {about}", report.scenario),
    };
    let mut out = wrap(&title, 0);
    out.push('\n');
    out += &machine(report);
    for group in report.groups() {
        out.push('\n');
        out += &self::group(&group);
    }
    out
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

/// One line of the comparison: a label, and per variant its value and its change against
/// the first (none for the first).
struct Row {
    label: String,
    values: Vec<String>,
    changes: Vec<String>,
}

impl Row {
    /// A row of numbers; none if no variant has anything but zero.
    fn numbers(
        group: &Group<'_>,
        label: impl Into<String>,
        phase: Option<&str>,
        value: impl Fn(Scope<'_>) -> Option<f64> + Copy,
    ) -> Option<Row> {
        let samples: Vec<Vec<(u64, f64)>> =
            group.variants.iter().map(|v| v.values(phase, value)).collect();
        let nothing = samples.iter().flatten().all(|&(_, v)| v == 0.0);
        (!nothing).then(|| Row::of(label, &samples))
    }

    /// A row of these numbers of each seed, variant by variant.
    fn of(label: impl Into<String>, samples: &[Vec<(u64, f64)>]) -> Row {
        let mean = |sample: &Vec<(u64, f64)>| {
            let values: Vec<f64> = sample.iter().map(|&(_, v)| v).collect();
            estimate(&values).map(|e| e.mean)
        };
        let means: Vec<Option<f64>> = samples.iter().map(mean).collect();
        let change = |sample: &Vec<(u64, f64)>| match paired_change(&samples[0], sample) {
            None => "-".to_string(),
            Some(change) => match change.ci95 {
                Some(half) => format!("{} ±{half:.1}", per_cent(change.mean)),
                None => per_cent(change.mean),
            },
        };
        Row {
            label: label.into(),
            values: grouped_row(&means),
            changes: samples.iter().map(change).collect(),
        }
    }

    /// A row of words.
    fn words(label: &str, values: Vec<String>) -> Row {
        Row { label: label.to_string(), changes: vec![String::new(); values.len()], values }
    }

    /// A row that is only a heading.
    fn heading(label: &str, variants: usize) -> Row {
        Row::words(label, vec![String::new(); variants])
    }
}

fn rows(group: &Group<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let per_records = group.work_differs();
    for figure in Figure::ALL {
        let value = move |scope: Scope<'_>| figure.of(scope);
        let Some(row) = Row::numbers(group, figure.label(), None, value) else { continue };
        rows.push(row);
        if per_records && figure.is_count() {
            let per = move |scope: Scope<'_>| figure.per_1000_records(scope);
            rows.extend(Row::numbers(group, "  per 1,000 records", None, per));
        }
    }
    for counter in NOTABLE_COUNTERS {
        let value = move |scope: Scope<'_>| scope.vmstat.get(counter).map(|&n| n as f64);
        rows.extend(Row::numbers(group, counter, None, value));
    }
    rows.extend(bounds(group));
    rows.extend(monitors(group));
    let seconds = |scope: Scope<'_>| Some(scope.sim_time_ns as f64 / 1e9);
    rows.extend(Row::numbers(group, "simulated time, s", None, seconds));
    rows.extend(aims(group));
    rows.extend(replays(group));
    rows.extend(outcomes(group));
    rows.extend(phases(group));
    rows
}

/// What came of the targets of tasks.
fn aims(group: &Group<'_>) -> Vec<Row> {
    let first = group.variants.iter().flat_map(|v| &v.runs).next();
    let of_task = |aim: &AimReport| {
        let reached = |v: &VariantRuns<'_>| {
            let all = v.runs.iter().flat_map(|run| &run.aims).filter(|a| a.task == aim.task);
            let values: Vec<f64> = all.map(|a| a.reached as f64).collect();
            estimate(&values).map(|e| e.mean)
        };
        let means: Vec<Option<f64>> = group.variants.iter().map(reached).collect();
        Row::words(&format!("{}, target {}", aim.task, aim.target), grouped_row(&means))
    };
    first.map_or(Vec::new(), |run| run.aims.iter().map(of_task).collect())
}

/// What replays took of the time that was recorded, where one could not keep up.
fn replays(group: &Group<'_>) -> Vec<Row> {
    let runs = || group.variants.iter().flat_map(|v| &v.runs);
    let mut late: Vec<&str> =
        runs().flat_map(|r| &r.replayed).filter(|r| r.fell_behind()).map(|r| &*r.task).collect();
    late.sort_unstable();
    late.dedup();
    let of_task = |task: &&str| {
        let took = |v: &VariantRuns<'_>| {
            let all = v.runs.iter().flat_map(|run| &run.replayed).filter(|r| r.task == *task);
            let values: Vec<f64> = all.map(|r| r.took_ns as f64 / 1e9).collect();
            estimate(&values).map(|e| e.mean)
        };
        let recorded = runs().flat_map(|r| &r.replayed).find(|r| r.task == *task);
        let recorded = recorded.map_or(0.0, |r| r.recorded_ns as f64 / 1e9);
        let means: Vec<Option<f64>> = group.variants.iter().map(took).collect();
        Row::words(&format!("{task}, {recorded:.3} s recorded took, s"), grouped_row(&means))
    };
    late.iter().map(of_task).collect()
}

/// The misses of MIN, where they were computed.
fn bounds(group: &Group<'_>) -> Option<Row> {
    let of_variant = |v: &VariantRuns<'_>| {
        let misses: Vec<f64> = v
            .runs
            .iter()
            .filter_map(|run| run.bounds.map(|b| b.sim_opt_refetches as f64))
            .collect();
        estimate(&misses).map(|e| e.mean.round())
    };
    let means: Vec<Option<f64>> = group.variants.iter().map(of_variant).collect();
    means.iter().any(Option::is_some).then(|| {
        let mut runs = group.variants.iter().flat_map(|v| &v.runs);
        let label = match runs.all(|run| run.bounds.is_none_or(|b| b.exact)) {
            true => "refetches of MIN (bound)",
            false => "refetches of MIN (orient.)",
        };
        Row::words(label, means.into_iter().map(|m| m.map_or("-".into(), grouped)).collect())
    })
}

/// Monitors of accesses: what they cost, what their schemes did, how far they are from the truth.
fn monitors(group: &Group<'_>) -> Vec<Row> {
    type Of = fn(&DamonReport) -> Option<f64>;
    type OfScheme = fn(&SchemeReport) -> f64;
    const MIB: f64 = (1 << 20) as f64;
    let own: [(&str, Of); 6] = [
        ("CPU time, ms", |d| Some(d.cpu_ns as f64 / 1e6)),
        ("regions at the end", |d| Some(d.nr_regions as f64)),
        ("misjudged, per mille", |d| d.truth.map(|t| t.misjudged * 1000.0)),
        ("working set, MiB", |d| d.truth.map(|t| t.working_set / MIB)),
        ("  as said", |d| d.truth.map(|t| t.working_set_said / MIB)),
        ("smallest hot region, KiB", |d| d.truth.map(|t| t.smallest_hot as f64 / 1024.0)),
    ];
    let of_schemes: [(&str, OfScheme); 2] = [
        ("tried, MiB", |s| s.sz_tried as f64 / MIB),
        ("applied, MiB", |s| s.sz_applied as f64 / MIB),
    ];
    let mut runs = group.variants.iter().flat_map(|v| &v.runs);
    let Some(first) = runs.next() else { return Vec::new() };
    let row = |label: &str, value: &dyn Fn(&RunReport) -> Option<f64>| {
        let mean = |v: &VariantRuns<'_>| {
            let values: Vec<f64> = v.runs.iter().filter_map(|run| value(run)).collect();
            estimate(&values).map(|e| e.mean)
        };
        let means: Vec<Option<f64>> = group.variants.iter().map(mean).collect();
        means.iter().any(Option::is_some).then(|| Row::words(label, grouped_row(&means)))
    };
    let mut rows = Vec::new();
    for (i, d) in first.damon.iter().enumerate() {
        rows.push(Row::heading(&format!("{} ({})", d.name, d.ops), group.variants.len()));
        for (label, of) in own {
            let label = format!("  {label}");
            rows.extend(row(&label, &|run| run.damon.get(i).and_then(of)));
        }
        for (s, scheme) in d.schemes.iter().enumerate() {
            for (label, of) in of_schemes {
                let label = format!("  {} {label}", scheme.action);
                rows.extend(row(&label, &|run| run.damon.get(i)?.schemes.get(s).map(of)));
            }
        }
    }
    rows
}

/// How runs ended, where one did not complete.
fn outcomes(group: &Group<'_>) -> Option<Row> {
    let failed = |v: &VariantRuns<'_>| {
        v.runs.iter().filter(|run| run.outcome == Ending::OutOfMemory).count()
    };
    group.variants.iter().any(|v| failed(v) > 0).then(|| {
        let word = |v: &VariantRuns<'_>| match (failed(v), v.runs.len()) {
            (0, _) => "completed".to_string(),
            (1, 1) => "out of memory".to_string(),
            (n, all) => format!("{n} of {all} out of memory"),
        };
        Row::words("outcome", group.variants.iter().map(word).collect())
    })
}

/// What came of the attempts at blocks of a phase, if it is one of attempts: zeros too, for where
/// no block came from is an answer as well.
fn attempts(group: &Group<'_>, phase: &str) -> Vec<Row> {
    let made = |run: &&RunReport| run.attempts(phase).is_some();
    if !group.variants.iter().any(|v| v.runs.iter().any(made)) {
        return Vec::new();
    }
    let row = |(label, figure): (&str, fn(&Attempts<'_>) -> f64)| {
        let of_run = |run: &&RunReport| {
            let value = figure(&run.attempts(phase)?);
            value.is_finite().then_some((run.seed, value))
        };
        let samples: Vec<Vec<(u64, f64)>> =
            group.variants.iter().map(|v| v.runs.iter().filter_map(of_run).collect()).collect();
        Row::of(format!("  {label}"), &samples)
    };
    Attempts::FIGURES.into_iter().map(row).collect()
}

/// The main figures of each phase, where there are several.
fn phases(group: &Group<'_>) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for run in group.variants.iter().flat_map(|v| &v.runs) {
        for phase in &run.phases {
            if !names.contains(&phase.name.as_str()) {
                names.push(&phase.name);
            }
        }
    }
    if names.len() < 2 {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for name in names {
        let figures = PHASE_FIGURES.into_iter().filter_map(|figure| {
            let value = move |scope: Scope<'_>| figure.of(scope);
            Row::numbers(group, format!("  {}", figure.label()), Some(name), value)
        });
        let of_phase: Vec<Row> = figures.chain(attempts(group, name)).collect();
        if !of_phase.is_empty() {
            rows.push(Row::heading(&format!("in {name}"), group.variants.len()));
            rows.extend(of_phase);
        }
    }
    rows
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
    if let Some(sentence) = cause::sentence(group) {
        out.push('\n');
        out += &wrap(&sentence, 0);
    }
    out
}

/// The rows in as many blocks as the width asks for, the first variant in each.
fn side_by_side(group: &Group<'_>, rows: &[Row]) -> String {
    let names: Vec<&str> = group.variants.iter().map(|v| v.name).collect();
    let width = |head: &str, cell: &dyn Fn(&Row) -> &str| {
        let cells = rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        GAP + cells.max(head.chars().count())
    };
    let value_width = |i: usize| width(names[i], &|row| &row.values[i]);
    let change_width = |i: usize| width("change", &|row| &row.changes[i]);
    let fixed = width("", &|row| &row.label) + value_width(0);

    let mut blocks: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = fixed;
    for i in 1..names.len() {
        let more = value_width(i) + change_width(i);
        // The last column's gap is not printed.
        if used + more > WIDTH + GAP && blocks.last().is_some_and(|b| !b.is_empty()) {
            blocks.push(Vec::new());
            used = fixed;
        }
        used += more;
        blocks.last_mut().expect("there is always one").push(i);
    }

    let block = |others: &Vec<usize>| {
        let mut header = vec!["", names[0]];
        header.extend(others.iter().flat_map(|&i| [names[i], "change"]));
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
    use mmsim::report::{Bounds, Pairs, SwapReport};

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
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        golden("many_variants", &text);
    }

    #[test]
    fn whatever_differs_says_with_which_variant() {
        let mut sample = samples::report(&["v5.5", "mglru"], &[4]);
        sample.runs[1].kernel = "5.5".into();
        sample.runs[1].swap = Some(SwapReport { device: "nvme".into(), bytes: 1536 << 20 });
        sample.runs[1].zones[1].low += 100;
        sample.runs[1].policy = "mglru-v6.12".into();
        sample.runs[1].records = 25_000;
        sample.runs[1].outcome = Ending::OutOfMemory;
        sample.runs[1].bounds =
            Some(Bounds { sim_opt_misses: 12_345, sim_opt_refetches: 345, exact: false });
        for run in &mut sample.runs {
            run.axes = [("task[0].memory", "1536MiB".to_string())].into_iter().collect();
        }
        let mut other = sample.runs[0].clone();
        other.axes = Pairs::new();
        sample.runs.push(other);
        golden("differences", &report(&sample));
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
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("    word")));
    }
}
