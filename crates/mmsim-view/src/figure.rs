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

use crate::axis::{step, tick};

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

/// True if less of it is better, false if more is; `None` where that depends on the rest, or where
/// policies count different things.
pub(crate) fn less_is_better(figure: Figure) -> Option<bool> {
    use Figure::{
        DirectReclaimStalls, HostHeld, MajorFaultP99, MajorFaults, MissRatio, ReadingTime,
        Refaults, SwapIns,
    };
    match figure {
        figure if more_is_better(figure) => Some(false),
        SwapIns | Refaults | MajorFaults | MissRatio | ReadingTime | DirectReclaimStalls
        | MajorFaultP99 | HostHeld => Some(true),
        _ => None,
    }
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

/// Texts of such a scale, all with the decimals that its step needs.
pub(crate) fn tick_texts(scale: &[f64]) -> impl Iterator<Item = (f64, String)> + '_ {
    let apart = scale.get(1).copied().unwrap_or(1.0);
    scale.iter().map(move |v| (*v, tick(*v, apart)))
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
    let other = |a: &&str| *a != name && a.rsplit('.').next() == Some(last(name));
    if all.iter().any(other) { name } else { last(name) }
}

/// The upper end of the interval.
pub(crate) fn upper(e: &Estimate) -> f64 {
    e.mean + e.ci95.unwrap_or(0.0)
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
