//! One figure of all variants as SVG: over an axis of settings its curve, else a point for each
//! variant with its 95 % interval.

use std::fmt::Write as _;

use mmsim::report::Report;
use mmsim::report::derived::Figure;
use mmsim::report::groups::Group;
use mmsim::report::statistics::Estimate;

use crate::curve::Curve;
use crate::figure::{
    WIDTH, colour, escaped, label_of, mean, open, point, short, tick_texts, ticks, upper, words,
};
use crate::settings::of_report;

const LEFT: f64 = 150.0;
const TOP: f64 = 44.0;
const ROW: f64 = 30.0;

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
    for (tick, text) in tick_texts(&scale) {
        let at = x(tick);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {TOP}V{bottom:.1}\" stroke=\"currentColor\" stroke-opacity=\".15\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" \
             fill-opacity=\".75\">{}</text>",
            bottom + 16.0,
            text
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
