//! One figure of all variants as SVG: a point for each variant with its 95 % interval, or over an
//! axis of settings its curve.
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
use crate::curve::Curve;
use crate::settings::of_report;

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

const LEFT: f64 = 150.0;
pub(crate) const WIDTH: f64 = 760.0;
const TOP: f64 = 44.0;
const ROW: f64 = 30.0;

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

/// The last word of a path, where that is enough to tell axes apart.
pub fn short<'a>(name: &'a str, all: &[&str]) -> &'a str {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let alike = all.iter().filter(|a| a.rsplit('.').next() == Some(last(name))).count();
    if alike == 1 { last(name) } else { name }
}

/// The figure of the report: over the axis if it has one with several values, else variants in rows.
pub fn svg(report: &Report, figure: Figure) -> String {
    if let Some(curve) = Curve::of(&of_report(report), figure) {
        return curve.svg(&report.scenario);
    }
    match report.groups().as_slice() {
        [] => open(WIDTH, TOP, &report.scenario, "no run") + "</svg>\n",
        groups => in_rows(report, groups, figure),
    }
}

fn in_rows(report: &Report, groups: &[Group<'_>], figure: Figure) -> String {
    // A picture of more rows is no picture.
    const MOST: usize = 40;
    let mut rows: Vec<(String, usize, Option<Estimate>)> = Vec::new();
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
            rows.push((label, i, mean(group, i, figure)));
        }
    }
    let left_out = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let upper = |e: &Estimate| e.mean + e.ci95.unwrap_or(0.0);
    let most = rows.iter().filter_map(|r| r.2.as_ref().map(upper)).fold(0.0, f64::max);
    let scale = ticks(most);
    let end = scale.last().copied().unwrap_or(1.0);
    let longest = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0) as f64;
    let left = LEFT.max(longest.min(40.0) * 7.4 + 20.0);
    let right = WIDTH - 30.0;
    let x = |v: f64| left + (v / end).clamp(0.0, 1.0) * (right - left);
    let height = TOP + rows.len() as f64 * ROW + 30.0 + if left_out > 0 { 20.0 } else { 0.0 };
    let title = format!("{}: {}", report.scenario, label_of(report, figure));
    let list = rows.iter().map(|(label, _, e)| {
        format!("{label} {}", e.as_ref().map_or("has none".to_string(), words))
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
    for (i, (label, variant, estimate)) in rows.iter().enumerate() {
        let y = TOP + (i as f64 + 0.5) * ROW;
        let shown: String = match label.chars().count() > 40 {
            true => label.chars().take(39).chain(['…']).collect(),
            false => label.clone(),
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 10.0,
            y + 4.5,
            escaped(&shown)
        );
        let Some(e) = estimate else {
            let _ = writeln!(out, "<text x=\"{left:.1}\" y=\"{:.1}\">-</text>", y + 4.5);
            continue;
        };
        point(&mut out, (x(e.mean), y), e, |v| (x(v), y), colour(*variant), label);
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
    if left_out > 0 {
        let y = bottom + 36.0;
        let _ = writeln!(out, "<text x=\"10\" y=\"{y:.1}\">and {left_out} more settings</text>");
    }
    out + "</svg>\n"
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
