//! Figures in pictures and tables: their names, their means, and the parts that drawings share.
//!
//! The drawing stands alone: fonts and colours of its own, a title and a description for readers
//! that see no picture, and each point's numbers as its own title.

use std::fmt::Write as _;

use mmsim::report::Report;
use mmsim::report::derived::{Figure, Scope};
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::numbers::grouped;
use mmsim::report::statistics::{Estimate, estimate};

use crate::axis::step;

/// Colours of variants in their order, after Okabe and Ito, which the colour-blind tell apart. Each
/// has a contrast of at least 3 to 1 against both grounds of a page.
pub const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8850a", "#3a93c9", "#7f6a00", "#6b6b6b"];

/// Dashes of lines, so that they differ without colour too.
pub const DASHES: [&str; 5] = ["", "7 3", "2 3", "9 3 2 3", "5 5"];

/// Default figure of a chart: the first of these that any run has.
const MAIN: [Figure; 6] = [
    Figure::MajorFaults,
    Figure::Refaults,
    Figure::SwapIns,
    Figure::ReadingTime,
    Figure::MemoryPressure,
    Figure::Throughput,
];

/// Names of figures as options take them.
pub fn names() -> [&'static str; Figure::ALL.len()] {
    Figure::ALL.map(name)
}

/// The name of a figure as options take it.
pub const fn name(figure: Figure) -> &'static str {
    figure.name()
}

/// The figure of a name.
pub fn named(wanted: &str) -> Option<Figure> {
    Figure::ALL.into_iter().find(|f| name(*f) == wanted)
}

/// True if more of it is better.
pub fn more_is_better(figure: Figure) -> bool {
    figure == Figure::Throughput
}

/// The default figure of a picture of a report.
pub fn main_of(report: &Report) -> Figure {
    let any = |figure: &Figure| {
        let of = |run| figure.of(Scope::from(run));
        report.runs.iter().filter_map(of).any(|v| v > 0.0)
    };
    first_main(|f| any(&f))
}

/// Name of a figure in pictures of a report.
pub(crate) fn label_of(report: &Report, figure: Figure) -> &'static str {
    let whole = report.runs.iter().filter(|run| run.outcome.is_whole());
    figure.label_of(whole.map(|run| run.records))
}

/// The first figure of pictures and tables that there is.
pub(crate) fn first_main(any: impl Fn(Figure) -> bool) -> Figure {
    MAIN.into_iter().find(|f| any(*f)).unwrap_or(Figure::Throughput)
}

/// The mean of a figure in a variant of a group; `None` without a run that has it.
pub fn mean(group: &Group<'_>, variant: usize, figure: Figure) -> Option<Estimate> {
    mean_of(&group.variants[variant], figure)
}

/// The mean of a figure in the runs of a variant.
pub(crate) fn mean_of(runs: &VariantRuns<'_>, figure: Figure) -> Option<Estimate> {
    let values = runs.values(None, |scope| figure.of(scope));
    estimate(&values.iter().map(|v| v.1).collect::<Vec<_>>())
}

/// Text as it stands in SVG and HTML. Characters that act are shown.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if mmsim::error::acts(c) => out.push_str(&mmsim::error::escape(c)),
            c => out.push(c),
        }
    }
    out
}

/// A mean with its interval in words.
pub fn words(estimate: &Estimate) -> String {
    match estimate.ci95 {
        Some(half) => format!("{} ±{}", grouped(estimate.mean), grouped(half)),
        None => grouped(estimate.mean),
    }
}

/// Round steps of a scale from 0 to at least `most`, at most six of them.
pub(crate) fn ticks(most: f64) -> Vec<f64> {
    if !most.is_finite() || most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let step = step(most);
    let count = (most / step).ceil() as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

pub(crate) const WIDTH: f64 = 760.0;

pub(crate) fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

pub(crate) fn open(width: f64, height: f64, title: &str, about: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{0}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"13\" fill=\"currentColor\">\n\
         <title>{0}</title><desc>{1}</desc>\n",
        escaped(title),
        escaped(about)
    )
}

/// The heading over a group: scenario and point on the axes.
pub fn heading(group: &Group<'_>) -> String {
    let mut all: Vec<String> = group.scenario.iter().map(|s| s.to_string()).collect();
    all.extend(group.axes.iter().map(|(name, value)| format!("{name} = {value}")));
    all.join(", ")
}

/// The last word of a path, where that is enough to tell axes apart. Names may repeat.
pub fn short<'a>(name: &'a str, all: &[&str]) -> &'a str {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
<<<<<<< HEAD
    let other = |a: &&str| *a != name && a.rsplit('.').next() == Some(last(name));
    if all.iter().any(other) { name } else { last(name) }
=======
    let alike = all.iter().filter(|a| a.rsplit('.').next() == Some(last(name))).count();
    if alike == 1 { last(name) } else { name }
}

/// The figure of the report: over the first axis if it has several values, else variants in rows.
pub fn svg(report: &Report, figure: Figure) -> String {
    let groups = report.groups();
    let scenarios = groups.windows(2).all(|w| w[0].scenario == w[1].scenario);
    match groups.as_slice() {
        [] => open(WIDTH, TOP, &report.scenario, "no run") + "</svg>\n",
        several if several.len() > 1 && scenarios && several[0].axes.len() == 1 => {
            over_axis(report, several, figure)
        }
        groups => in_rows(report, groups, figure),
    }
}

/// One variant at one point of the axes.
struct Row {
    label: String,
    variant: usize,
    value: Option<Estimate>,
}

fn rows_of(groups: &[Group<'_>], figure: Figure) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in groups {
        for (i, variant) in group.variants.iter().enumerate() {
            let axes: Vec<&str> = group.axes.iter().map(|a| a.0).collect();
            let values = group.axes.iter().map(|(a, v)| format!("{} {v}", short(a, &axes)));
            let point = group.scenario.map(str::to_string).into_iter().chain(values);
            let point = point.collect::<Vec<_>>().join(", ");
            let label = match point.is_empty() {
                true => variant.name.to_string(),
                false => format!("{}, {point}", variant.name),
            };
            rows.push(Row { label, variant: i, value: mean(group, i, figure) });
        }
    }
    rows
}

/// The upper end of the interval.
fn upper(e: &Estimate) -> f64 {
    e.mean + e.ci95.unwrap_or(0.0)
}

fn in_rows(report: &Report, groups: &[Group<'_>], figure: Figure) -> String {
    // A picture of more rows is no picture.
    const MOST: usize = 40;
    let mut rows = rows_of(groups, figure);
    let left_out = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let most = rows.iter().filter_map(|r| r.value.as_ref().map(upper)).fold(0.0, f64::max);
    let scale = ticks(most);
    let end = scale.last().copied().unwrap_or(1.0);
    let longest = rows.iter().map(|r| r.label.chars().count()).max().unwrap_or(0) as f64;
    let left = LEFT.max(longest.min(40.0) * 7.4 + 20.0);
    let right = WIDTH - 30.0;
    let x = |v: f64| left + (v / end).clamp(0.0, 1.0) * (right - left);
    let height = TOP + rows.len() as f64 * ROW + 30.0 + if left_out > 0 { 20.0 } else { 0.0 };
    let title = format!("{}: {}", report.scenario, label_of(report, figure));
    let list = rows.iter().map(|row| {
        format!("{} {}", row.label, row.value.as_ref().map_or("has none".to_string(), words))
    });
    let mut out = open(WIDTH, height, &title, &list.collect::<Vec<_>>().join("; "));
    let _ = writeln!(out, "<text x=\"10\" y=\"22\" font-weight=\"600\">{}</text>", escaped(&title));
    let bottom = TOP + rows.len() as f64 * ROW;
    for tick in &scale {
        let at = x(*tick);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {TOP}V{bottom:.1}\" stroke=\"currentColor\" stroke-opacity=\".15\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" \
             fill-opacity=\".75\">{}</text>",
            bottom + 16.0,
            grouped(*tick)
        );
    }
    for (i, row) in rows.iter().enumerate() {
        draw_row(&mut out, row, TOP + (i as f64 + 0.5) * ROW, left, x);
    }
    if left_out > 0 {
        let y = bottom + 36.0;
        let _ = writeln!(out, "<text x=\"10\" y=\"{y:.1}\">and {left_out} more settings</text>");
    }
    out + "</svg>\n"
>>>>>>> 2f304a4b (Long functions of pictures and formats have named steps)
}

/// A row at a height: its label, its point and interval, and the value beside them.
fn draw_row(out: &mut String, row: &Row, y: f64, left: f64, x: impl Fn(f64) -> f64) {
    let shown: String = match row.label.chars().count() > 40 {
        true => row.label.chars().take(39).chain(['…']).collect(),
        false => row.label.clone(),
    };
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        left - 10.0,
        y + 4.5,
        escaped(&shown)
    );
    let Some(e) = &row.value else {
        let _ = writeln!(out, "<text x=\"{left:.1}\" y=\"{:.1}\">-</text>", y + 4.5);
        return;
    };
    point(out, (x(e.mean), y), e, |v| (x(v), y), colour(row.variant), &row.label);
    let text = words(e);
    let room = text.chars().count() as f64 * 7.0 + 16.0;
    let after = x(upper(e)) + 10.0;
    let (at, anchor) = match after + room > WIDTH {
        true => (x(e.mean - e.ci95.unwrap_or(0.0)) - 10.0, "end"),
        false => (after, "start"),
    };
    let _ = writeln!(
        out,
        "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"11\" \
         fill-opacity=\".75\">{text}</text>",
        y + 4.0
    );
}

/// A point and its interval; `place` says where a value lies.
pub(crate) fn point(
    out: &mut String,
    at: (f64, f64),
    e: &Estimate,
    place: impl Fn(f64) -> (f64, f64),
    colour: &str,
    label: &str,
) {
    let half = e.ci95.unwrap_or(0.0);
    let ((x0, y0), (x1, y1)) = (place(e.mean - half), place(e.mean + half));
    let _ = writeln!(
        out,
        "<g><title>{}: {}</title><path d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\" stroke=\"{colour}\" \
         stroke-width=\"3\" stroke-opacity=\".55\" stroke-linecap=\"round\"/>\
         <circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\" fill=\"{colour}\"/></g>",
        escaped(label),
        words(e),
        at.0,
        at.1
    );
}

<<<<<<< HEAD
=======
/// The figure of a variant in a group.
fn mean_by_name(group: &Group<'_>, name: &str, figure: Figure) -> Option<Estimate> {
    let at = group.variants.iter().position(|v| v.name == name)?;
    mean(group, at, figure)
}

/// The value of a group on its first axis.
fn value_of<'a>(group: &'a Group<'_>) -> &'a str {
    group.axes.iter().next().map_or("", |a| a.1.as_str())
}

/// All values of each variant, in words.
fn all_in_words(groups: &[Group<'_>], variants: &[&str], figure: Figure) -> String {
    let of = |name: &&str| {
        let each = groups.iter().filter_map(|g| {
            Some(format!("{}: {}", value_of(g), words(&mean_by_name(g, name, figure)?)))
        });
        format!("{name} {}", each.collect::<Vec<_>>().join(", "))
    };
    variants.iter().map(of).collect::<Vec<_>>().join("; ")
}

fn over_axis(report: &Report, groups: &[Group<'_>], figure: Figure) -> String {
    let axis = groups[0].axes.iter().next().map_or("", |a| a.0);
    let mut variants: Vec<&str> = Vec::new();
    for v in groups.iter().flat_map(|g| &g.variants) {
        if !variants.contains(&v.name) {
            variants.push(v.name);
        }
    }
    let of = |group: &Group<'_>, name: &str| mean_by_name(group, name, figure);
    let most = groups.iter().flat_map(|g| variants.iter().filter_map(|v| of(g, v)));
    let scale = ticks(most.map(|e| upper(&e)).fold(0.0, f64::max));
    let end = scale.last().copied().unwrap_or(1.0);
    let (left, right, bottom) = (90.0, WIDTH - 30.0, 320.0);
    let step = (right - left - 40.0) / (groups.len() - 1) as f64;
    let x = |i: usize| left + 20.0 + i as f64 * step;
    let y = |v: f64| bottom - (v / end).clamp(0.0, 1.0) * (bottom - TOP);
    let height = bottom + 44.0 + 20.0 * variants.len().div_ceil(3) as f64;
    let title = format!("{}: {} over {axis}", report.scenario, label_of(report, figure));
    let mut out = open(WIDTH, height, &title, &all_in_words(groups, &variants, figure));
    let _ = writeln!(out, "<text x=\"10\" y=\"22\" font-weight=\"600\">{}</text>", escaped(&title));
    for tick in &scale {
        let at = y(*tick);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"currentColor\" stroke-opacity=\".15\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\" \
             fill-opacity=\".75\">{}</text>",
            left - 8.0,
            at + 4.0,
            grouped(*tick)
        );
    }
    // Not more labels than there is room for.
    let every = groups.len().div_ceil(12);
    for (i, group) in groups.iter().enumerate().filter(|(i, _)| i % every == 0) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
            x(i),
            bottom + 18.0,
            escaped(value_of(group))
        );
    }
    for (v, name) in variants.iter().enumerate() {
        let all: Vec<Option<Estimate>> = groups.iter().map(|g| of(g, name)).collect();
        line(&mut out, &all, |i, v| (x(i), y(v)), colour(v));
        for (i, e) in all.iter().enumerate() {
            if let Some(e) = e {
                let label = format!("{name}, {}", heading(&groups[i]));
                point(&mut out, (x(i), y(e.mean)), e, |v| (x(i), y(v)), colour(v), &label);
            }
        }
        let (lx, ly) = (left + (v % 3) as f64 * 220.0, bottom + 42.0 + (v / 3) as f64 * 20.0);
        let _ = writeln!(
            out,
            "<circle cx=\"{lx:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{ly:.1}\">{}</text>",
            ly - 4.5,
            colour(v),
            lx + 10.0,
            escaped(name)
        );
    }
    out + "</svg>\n"
}

/// A line through means, with gaps where there is none; `place` says where a value lies.
fn line(
    out: &mut String,
    all: &[Option<Estimate>],
    place: impl Fn(usize, f64) -> (f64, f64),
    stroke: &str,
) {
    let mut path = String::new();
    let mut pen = 'M';
    for (i, e) in all.iter().enumerate() {
        match e {
            Some(e) => {
                let (x, y) = place(i, e.mean);
                let _ = write!(path, "{pen}{x:.1} {y:.1}");
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.8\"/>"
    );
}

>>>>>>> 2f304a4b (Long functions of pictures and formats have named steps)
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_and_reach_the_largest() {
        for most in [0.0, 0.03, 1.0, 7.0, 99.9, 100.0, 487_596.0, 1e12] {
            let all = ticks(most);
            assert!(all.len() >= 2 && all.len() <= 7, "{most}: {all:?}");
            assert!(*all.last().expect("a tick") >= most, "{most}: {all:?}");
        }
        assert_eq!(ticks(487_596.0), [0.0, 100e3, 200e3, 300e3, 400e3, 500e3]);
    }

    #[test]
    fn names_are_labels_without_units() {
        for figure in Figure::ALL {
            let label = figure.label().split(',').next().unwrap_or_default().replace(' ', "-");
            assert_eq!(name(figure), label);
            assert_eq!(named(name(figure)), Some(figure));
        }
    }

    #[test]
    fn markup_in_names_is_text() {
        assert_eq!(escaped("a<b & \"c\">\u{7}"), "a&lt;b &amp; &quot;c&quot;&gt;\\u0007");
        assert_eq!(escaped("a\u{202e}b\u{ffff}"), "a\\u202eb\\uffff");
    }
}
