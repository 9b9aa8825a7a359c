//! Tables for people: the machine as it was resolved, the variants side by side, and the sentences
//! on significant differences. Nothing is wider than the caller says ([`Width`]): names are cut,
//! and too many variants go on below, with the first one repeated.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use mmsim::base::digest::Digest;
use mmsim::machines::policy;
use mmsim::marks;
use mmsim::report::derived::Figure;
use mmsim::report::groups::Group;
use mmsim::report::numbers::{grouped, grouped_row};
use mmsim::report::statistics::{Estimate, paired_change};
use mmsim::report::{DiskReport, Report, RunReport, SwapDeviceReport, closing, nearness};

use crate::curve::Curve;
use crate::over;
use crate::page::Observed;
use crate::rows::{Row, rows};
use crate::settings;
use crate::sparks;
pub use colour::change;
pub use sweep::{Shown, of_store, sweep};
pub use width::Width;
use width::{GAP, glued};

mod acts;
mod colour;
mod short;
mod sweep;
mod width;

/// Columns with two blanks between them and no lines. The first `names` columns are names
/// and stand left, the others are numbers and stand right.
pub fn grid(
    header: Option<&[&str]>,
    rows: impl IntoIterator<Item = Vec<String>>,
    names: usize,
    width: Width,
) -> String {
    let header = header.map(|h| h.iter().copied().map(str::to_string).collect());
    let mut all: Vec<Vec<String>> = header.into_iter().chain(rows).collect();
    width::fit(&mut all, names, width.of_numbers());
    aligned(all, names)
}

/// The same with all names as they are, however wide that gets: users copy them.
pub fn uncut(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, names: usize) -> String {
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

/// Names only. Where there is a width the last column goes on below itself.
pub fn left_aligned(rows: impl IntoIterator<Item = Vec<String>>, width: Width) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let rows = match width.of_lists() {
        Some(limit) => width::fold(rows, limit),
        None => rows,
    };
    aligned(rows, usize::MAX)
}

/// Breaks text between words; lines after the first are indented.
pub fn wrap(text: &str, indent: usize, width: Width) -> String {
    let limit = width.of_numbers();
    let mut out = String::new();
    let mut column = 0;
    for word in &glued(text) {
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

/// Subject of the report.
fn heading_of(report: &Report) -> String {
    match report.about.as_str() {
        "" => report.scenario.clone(),
        about => format!("{}: {about}", report.scenario),
    }
}

/// A curve of a report over one axis: a line for each size, a column for each variant, the optimum
/// last; then the machine.
pub fn curve(report: &Report, figure: Figure, width: Width) -> String {
    match estimates(report, figure, width) {
        text if text.is_empty() => self::report(report, None, width),
        text => text + "\n" + &machine(report, width),
    }
}

/// The lines of such a curve alone; empty where the report is none.
pub fn estimates(report: &Report, figure: Figure, width: Width) -> String {
    let mut out = wrap(&heading_of(report), 0, width);
    let settings = settings::of_report(report);
    let Some(curve) = Curve::of(&settings, figure) else { return String::new() };
    let head = std::iter::once(crate::figure::short(&curve.axis.name, &[]).to_string());
    let head: Vec<String> = head.chain(curve.lines.iter().map(|l| l.name.clone())).collect();
    let columns: Vec<Vec<String>> = curve
        .lines
        .iter()
        .map(|line| {
            let means: Vec<Option<f64>> =
                line.points.iter().map(|e| e.as_ref().map(|e| e.mean)).collect();
            let texts = grouped_row(&means).into_iter().zip(&line.points);
            let cell = |(text, e): (String, &Option<Estimate>)| match e
                .as_ref()
                .and_then(|e| e.ci95)
            {
                Some(half) if !line.optimum && half > 0.0 => format!("{text} ±{}", grouped(half)),
                _ => text,
            };
            texts.map(cell).collect()
        })
        .collect();
    let row = |i: usize| {
        let size = std::iter::once(curve.axis.values[i].clone());
        size.chain(columns.iter().map(|column| column[i].clone())).collect()
    };
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    out += &format!("\n{}\n", curve.label);
    out += &grid(Some(&head), curve.axis.order().into_iter().map(row), 1, width);
    let said = over::sentences(report, figure);
    out += if said.is_empty() { "" } else { "\n" };
    out + &said.iter().map(|sentence| wrap(sentence, 2, width)).collect::<String>()
}

/// A group with the variant `base` first, if it has one of that name.
fn based<'a>(mut group: Group<'a>, base: Option<&str>) -> Group<'a> {
    if let Some(at) = group.variants.iter().position(|v| Some(v.name) == base) {
        group.variants[..=at].rotate_right(1);
    }
    group
}

/// The full table: the machine, then all figures of the runs, their tasks and phases.
pub fn report(report: &Report, base: Option<&str>, width: Width) -> String {
    let mut out = wrap(&heading_of(report), 0, width);
    out.push('\n');
    out += &machine(report, width);
    for group in report.groups() {
        out.push('\n');
        out += &self::group(&based(group, base), width);
    }
    out
}

/// The table of a report as the command that made it prints it, and how near the model is known to be:
/// a short one, or all figures; of
/// several settings a line each.
pub fn of_report(report: &Report, shown: &Shown, width: Width) -> String {
    let axes = report.groups().len() > 1 && report.runs.iter().any(|r| !r.axes.is_empty());
    let base = shown.base.as_deref();
    let table = match () {
        () if shown.full => self::report(report, base, width),
        () if axes => sweep(report, shown, width),
        () => short::report(report, shown, width),
    };
    table + &acts::first(report, width) + &near(&nearness::of_runs(&report.runs), width)
}

/// Known errors of kernels and policies, a line each.
pub fn near(said: &[[String; 2]], width: Width) -> String {
    let name = said.iter().map(|[name, _]| name.len()).max().unwrap_or(0);
    let row = |[policy, groups]: &[String; 2]| {
        // The padding after the name must survive the breaking of lines.
        let padded = format!("{policy:<name$}  ").replace(' ', "\u{1}");
        wrap(&format!("{padded}{groups}"), name + 2, width).replace('\u{1}', " ")
    };
    match said {
        [] => String::new(),
        said => format!("\n{}{}", wrap(NEAR, 0, width), said.iter().map(row).collect::<String>()),
    }
}

const NEAR: &str = "Known errors of counters against recorded kernels (median; how many are within their \
    limits; docs/accuracy.md). Times were not compared.";

/// Lines of what happened over time, for a terminal.
pub fn sparks(report: &Report, observed: &[Observed], width: Width) -> String {
    let rows = sparks::rows(report, observed, width.of_numbers().saturating_sub(50).clamp(10, 60));
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

fn property(name: &str, values: &[Value], width: Width) -> String {
    let value = match values {
        [(value, _)] => value.clone(),
        several => {
            let each = |(value, names): &Value| match &names[..] {
                [name] if name == value => value.clone(),
                names => format!("{value} ({})", names.join(", ")),
            };
            several.iter().map(each).collect::<Vec<_>>().join("; ")
        }
    };
    let start = format!("{name:<8}");
    // The padding after the name must survive the breaking of lines.
    wrap(&format!("{}{value}", start.replace(' ', "\u{1}")), start.len(), width)
        .replace('\u{1}', " ")
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

/// Share of the work that was assumed, by tasks. The sentences themselves are too long for here;
/// other forms of the report have them, and `mmsim trace info`.
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

fn machine(report: &Report, width: Width) -> String {
    let on = |size: u64, device: &str| format!("{} on {device}", bytes(size));
    // What is used at the end differs by seed.
    let runs_of = |v: &str| report.runs.iter().filter(|r| r.variant == v).count();
    let once = report.runs.iter().all(|r| runs_of(&r.variant) == 1);
    let of_several = |d: &SwapDeviceReport| {
        let used = match d.used {
            _ if !once => String::new(),
            0 => ", not used".to_string(),
            used => format!(", {} used", bytes(used)),
        };
        format!("{} (priority {}{used})", on(d.bytes, &d.device), d.priority)
    };
    let swap = |run: &RunReport| match &run.swap {
        Some(swap) if swap.devices.is_empty() => on(swap.bytes, &swap.device),
        Some(swap) => swap.devices.iter().map(of_several).collect::<Vec<_>>().join(" and "),
        None => "none".to_string(),
    };
    let of_disk = |d: &DiskReport| {
        let moved = match once {
            true => format!(", {} read, {} written", bytes(d.read), bytes(d.written)),
            false => String::new(),
        };
        let files = if d.files == 1 { "1 file" } else { &format!("{} files", d.files) };
        format!("{} on {} ({files}{moved})", d.name, d.device)
    };
    let disks = |run: &RunReport| match &run.disk[..] {
        [] => "one".to_string(),
        several => several.iter().map(of_disk).collect::<Vec<_>>().join(" and "),
    };
    let cpus = |n: u32| if n == 1 { "1 CPU".to_string() } else { format!("{n} CPUs") };
    let kernel = |run: &RunReport| format!("{}, {}", run.kernel, cpus(run.cpus));
    let mut out = String::new();
    out += &property("kernel", &by_variant(report, kernel), width);
    out += &property("policy", &by_variant(report, policy), width);
    out += &property("swap", &by_variant(report, swap), width);
    if report.runs.iter().any(|run| !run.disk.is_empty()) {
        out += &property("disks", &by_variant(report, disks), width);
    }
    out += &property("seed", &[(seeds(report), Vec::new())], width);
    out += &property("digest", &[(digest(report), Vec::new())], width);
    if report.runs.iter().any(|run| !run.assumed.is_empty()) {
        out += &property("assumed", &by_variant(report, assumed), width);
    }

    out.push('\n');
    out + &zones(report, width)
}

/// Distinct machines of a report whose zones are shown.
const MOST_ZONES: usize = 8;

/// The zones of each machine, which settings or variants name where there are several.
fn zones(report: &Report, width: Width) -> String {
    let cells = |run: &RunReport| -> Vec<Vec<String>> {
        let row = |z: &mmsim::report::ZoneReport| {
            let pages = [z.managed, z.min, z.low, z.high, z.free_at_start];
            let pages = pages.into_iter().map(|n| grouped(n as f64));
            std::iter::once(z.name.clone()).chain(pages).collect()
        };
        run.zones.iter().map(row).collect()
    };
    let axes: Vec<&str> = report.runs.iter().flat_map(|r| r.axes.iter().map(|a| a.0)).collect();
    let setting = |run: &RunReport| {
        let of = |(a, v): (&str, &String)| format!("{} {v}", crate::figure::short(a, &axes));
        run.axes.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let mut machines: Vec<Machine> = Vec::new();
    for run in &report.runs {
        let rows = cells(run);
        let at = machines.iter().position(|m| m.rows == rows).unwrap_or_else(|| {
            machines.push(Machine { rows, settings: Vec::new(), variants: Vec::new() });
            machines.len() - 1
        });
        let (own, setting) = (&mut machines[at], setting(run));
        if !setting.is_empty() && !own.settings.contains(&setting) {
            own.settings.push(setting);
        }
        if !own.variants.contains(&run.variant) {
            own.variants.push(run.variant.clone());
        }
    }
    let header = ["zone", "managed", "min", "low", "high", "free at start"];
    if let [one] = machines.as_slice() {
        return format!("zones, in pages\n{}", grid(Some(&header), one.rows.clone(), 1, width));
    }
    // Where all variants have the same zones at a setting, the setting is name enough.
    let by_setting = machines.iter().all(|m| m.variants == machines[0].variants);
    let named = |machine: &Machine| {
        let name = machine.name(by_setting);
        let row = |(i, row): (usize, &Vec<String>)| {
            let name = if i == 0 { name.clone() } else { String::new() };
            std::iter::once(name).chain(row.iter().cloned()).collect()
        };
        machine.rows.iter().enumerate().map(row).collect::<Vec<Vec<String>>>()
    };
    let rows = machines.iter().take(MOST_ZONES).flat_map(named);
    let of = if by_setting { "setting" } else { "variant" };
    let head: Vec<&str> = std::iter::once(of).chain(header).collect();
    let mut out = format!("zones, in pages\n{}", grid(Some(&head), rows, 2, width));
    if machines.len() > MOST_ZONES {
        out += &format!("and {} more\n", machines.len() - MOST_ZONES);
    }
    out
}

/// Zones that some runs have in common, and which runs these are.
struct Machine {
    rows: Vec<Vec<String>>,
    settings: Vec<String>,
    variants: Vec<String>,
}

impl Machine {
    fn name(&self, by_setting: bool) -> String {
        let (variants, settings) = (self.variants.join(", "), self.settings.join("; "));
        match (by_setting, self.settings.is_empty()) {
            (true, _) => settings,
            (false, true) => variants,
            (false, false) => format!("{variants}: {settings}"),
        }
    }
}

/// One group: its variants side by side, and the sentences on significant differences.
pub fn group(group: &Group<'_>, width: Width) -> String {
    let mut heading: Vec<String> = group.scenario.iter().map(|s| s.to_string()).collect();
    heading.extend(group.axes.iter().map(|(name, value)| format!("{name} = {value}")));
    let mut out = String::new();
    if !heading.is_empty() {
        out += &wrap(&heading.join(", "), 0, width);
    }
    let runs = group.variants.iter().map(|v| v.runs.len()).max().unwrap_or(0);
    if runs > 1 {
        let changes = if group.variants.len() > 1 {
            "; changes are means over pairs of equal seeds ± 95 % confidence"
        } else {
            ""
        };
        out += &wrap(&format!("means over {runs} seeds{changes}"), 0, width);
    }
    out += &side_by_side(group, &rows(group), width);
    let sentences = closing::sentences(group);
    out += if sentences.is_empty() { "" } else { "\n" };
    out.extend(sentences.iter().map(|sentence| wrap(sentence, 2, width)));
    out
}

/// The change of a variant in a row, in colour if it exceeds the noise.
fn changed(row: &Row, i: usize, width: Width) -> String {
    let cell = row.changes[i].clone();
    let (Some(first), Some(own)) = (row.samples.first(), row.samples.get(i)) else { return cell };
    match paired_change(first, own).filter(|_| cell != "-") {
        Some(e) => change(cell, &row.label, e.mean, e.ci95, width),
        None => cell,
    }
}

/// The rows in as many blocks as the width asks for, the first variant in each.
fn side_by_side(group: &Group<'_>, rows: &[Row], page: Width) -> String {
    let limit = page.of_numbers();
    // Two columns of names, a column of labels and the changes have to find room.
    let names: Vec<String> = group.variants.iter().map(|v| width::cut(v.name, limit / 4)).collect();
    let width = |head: &str, cell: &dyn Fn(&Row) -> &str| {
        let cells = rows.iter().map(|row| marks::columns(cell(row))).max().unwrap_or(0);
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
                others.iter().flat_map(|&i| [row.values[i].clone(), changed(row, i, page)]),
            );
            line
        };
        grid(Some(&header), rows.iter().map(line), 1, page)
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_whole_units() {
        assert_eq!(bytes(5 << 30), "5 GiB");
        assert_eq!(bytes(1536 << 20), "1,536 MiB");
        assert_eq!(bytes(4097), "4,097 B");
        assert_eq!(bytes(0), "0 B");
    }
}
