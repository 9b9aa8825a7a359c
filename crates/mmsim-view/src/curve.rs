//! A figure over one axis of settings as SVG: a line for each variant with 95 % intervals, and the
//! optimum where it was computed. Places on both axes are true to scale.

use std::fmt::Write as _;

use mmsim::report::derived::Figure;
use mmsim::report::statistics::Estimate;

use crate::axis::Axis;
use crate::figure::{DASHES, WIDTH, colour, escaped, open, point, tick_texts, ticks, upper, words};
use crate::settings::{Setting, label_of};

const LEFT: f64 = 104.0;
const RIGHT: f64 = WIDTH - 30.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 330.0;

/// Where a place from 0 to 1 lies between the sides of the drawing.
fn across(place: f64) -> f64 {
    LEFT + 12.0 + place * (RIGHT - LEFT - 24.0)
}

/// A line of a curve.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Line {
    /// The variant, or the words for the optimum.
    pub name: String,
    /// The mean at each value of the axis, in the order of [`Axis::values`].
    pub points: Vec<Option<Estimate>>,
    /// True for the bound that no policy can beat.
    pub optimum: bool,
}

/// A figure over one axis.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Curve {
    /// The axis.
    pub axis: Axis,
    /// Label of the figure with its unit.
    pub label: &'static str,
    /// Variants in the order of the report, then the optimum.
    pub lines: Vec<Line>,
}

/// Texts without repetition, in their order.
pub(crate) fn distinct<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for text in all {
        if !out.contains(&text.as_str()) {
            out.push(text);
        }
    }
    out
}

impl Curve {
    /// The curve of settings of one scenario that differ on one axis; `None` for others.
    pub fn of(settings: &[Setting], figure: Figure) -> Option<Curve> {
        let (name, _) = settings.first()?.axes.iter().next()?;
        let scenario = &settings[0].scenario;
        if settings.iter().any(|s| s.axes.iter().count() != 1 || s.scenario != *scenario) {
            return None;
        }
        let is_at = |s: &Setting, v: &str| s.axes.get(name).is_some_and(|own| own == v);
        let values = distinct(settings.iter().filter_map(|s| s.axes.get(name)));
        if values.len() < 2 {
            return None;
        }
        let of_variant = |variant: &str| {
            let at = |v: &&str| {
                let mut all = settings.iter().filter(|s| s.variant == variant);
                all.find(|s| is_at(s, v))?.mean(figure)
            };
            Line {
                name: variant.to_string(),
                points: values.iter().map(at).collect(),
                optimum: false,
            }
        };
        let variants = distinct(settings.iter().map(|s| &s.variant));
        let mut lines: Vec<Line> = variants.into_iter().map(of_variant).collect();
        // Variants differ a little in how much they keep resident: the optimum of the one that keeps
        // most bounds them all.
        let least = |v: &&str| {
            let here = settings.iter().filter(|s| is_at(s, v));
            here.filter_map(|s| s.optimum(figure)).min_by(|a, b| a.mean.total_cmp(&b.mean))
        };
        let points: Vec<Option<Estimate>> = values.iter().map(least).collect();
        if points.iter().any(Option::is_some) {
            let exact = settings.iter().all(|s| s.exact_optimum);
            let name = if exact { "optimum" } else { "optimum (no bound: pages are read ahead)" };
            lines.push(Line { name: name.to_string(), points, optimum: true });
        }
        Some(Curve { axis: Axis::new(name, &values), label: label_of(settings, figure), lines })
    }

    /// The drawing.
    pub fn svg(&self, title: &str) -> String {
        let most = self.lines.iter().flat_map(|l| &l.points).flatten().map(upper);
        let scale = ticks(most.fold(0.0, f64::max));
        let end = scale.last().copied().unwrap_or(1.0);
        let x = |i: usize| across(self.axis.place(i));
        let y = |v: f64| BOTTOM - (v / end).clamp(0.0, 1.0) * (BOTTOM - TOP);
        let places = self.legend();
        let height = BOTTOM + 86.0 + 20.0 * places.last().map_or(0.0, |place| place.1);
        let title = format!("{title}: {} over {}", self.label, self.axis.name);
        let mut out = open(WIDTH, height, &title, &self.in_words());
        let text = escaped(&title);
        let _ = writeln!(out, "<text x=\"10\" y=\"22\" font-weight=\"600\">{text}</text>");
        self.scales(&mut out, &scale, &y);
        for (nth, line) in self.lines.iter().enumerate() {
            self.line(&mut out, nth, line, &x, &y);
            let (lx, ly) = (places[nth].0, BOTTOM + 64.0 + places[nth].1 * 20.0);
            let _ = writeln!(
                out,
                "<path d=\"M{lx:.1} {:.1}h24\" {}/><text x=\"{:.1}\" y=\"{ly:.1}\">{}</text>",
                ly - 4.5,
                line.stroke(nth),
                lx + 30.0,
                escaped(&line.name)
            );
        }
        out + "</svg>\n"
    }

    /// The place of each line's name below the drawing: its left side, and its row.
    fn legend(&self) -> Vec<(f64, f64)> {
        let (mut left, mut row) = (LEFT, 0.0);
        let place = |line: &Line| {
            let width = 30.0 + line.name.chars().count() as f64 * 7.6 + 20.0;
            if left > LEFT && left + width > WIDTH {
                (left, row) = (LEFT, row + 1.0);
            }
            let at = (left, row);
            left += width;
            at
        };
        self.lines.iter().map(place).collect()
    }

    /// Draws both scales with their titles.
    fn scales(&self, out: &mut String, scale: &[f64], y: &dyn Fn(f64) -> f64) {
        for (tick, text) in tick_texts(scale) {
            let at = y(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"currentColor\" stroke-opacity=\".15\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\" \
                 fill-opacity=\".75\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                text
            );
        }
        for (place, text) in self.axis.ticks() {
            let at = across(place);
            let _ = writeln!(
                out,
                "<path d=\"M{at:.1} {BOTTOM}v5\" stroke=\"currentColor\" stroke-opacity=\".5\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\" \
                 fill-opacity=\".75\">{}</text>",
                BOTTOM + 18.0,
                escaped(&text)
            );
        }
        let (middle, centre) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"12\">{}</text>\
             <text x=\"16\" y=\"{centre:.1}\" text-anchor=\"middle\" font-size=\"12\" \
             transform=\"rotate(-90 16 {centre:.1})\">{}</text>",
            BOTTOM + 38.0,
            escaped(&self.axis.title()),
            escaped(self.label)
        );
    }

    /// Draws the line of a variant from left to right; it breaks where a point is missing.
    fn line(
        &self,
        out: &mut String,
        nth: usize,
        line: &Line,
        x: &dyn Fn(usize) -> f64,
        y: &dyn Fn(f64) -> f64,
    ) {
        let mut path = String::new();
        let mut pen = 'M';
        for i in self.axis.order() {
            match &line.points[i] {
                Some(e) => {
                    let _ = write!(path, "{pen}{:.1} {:.1}", x(i), y(e.mean));
                    pen = 'L';
                }
                None => pen = 'M',
            }
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" {}/>", line.stroke(nth));
        if line.optimum {
            return;
        }
        for (i, e) in line.points.iter().enumerate() {
            if let Some(e) = e {
                let label = format!("{}, {} = {}", line.name, self.axis.name, self.axis.values[i]);
                point(out, (x(i), y(e.mean)), e, |v| (x(i), y(v)), colour(nth), &label);
            }
        }
    }

    /// The numbers of the drawing, for readers that see no picture.
    fn in_words(&self) -> String {
        let of_line = |line: &Line| {
            let of = |i: usize| {
                Some(format!("{}: {}", self.axis.values[i], words(line.points[i].as_ref()?)))
            };
            let each: Vec<String> = self.axis.order().into_iter().filter_map(of).collect();
            format!("{} {}", line.name, each.join(", "))
        };
        self.lines.iter().map(of_line).collect::<Vec<_>>().join("; ")
    }
}

impl Line {
    /// Attributes of its stroke: lines differ in colour and in dash.
    fn stroke(&self, nth: usize) -> String {
        if self.optimum {
            return "stroke=\"currentColor\" stroke-opacity=\".7\" stroke-width=\"1.2\" \
                    stroke-dasharray=\"1 3\""
                .to_string();
        }
        let dash = match DASHES[nth % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        format!("stroke=\"{}\" stroke-width=\"1.8\"{dash}", colour(nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::of_report;
    use mmsim::report::Report;
    use mmsim::scenario::Scenario;
    use mmsim::{RunOptions, run};

    /// Two policies at three sizes, of which the second is much nearer to the first than to the third.
    fn sizes() -> Report {
        let text = r#"
schema = 1
name = "sizes"
seed = 1
seeds = 2
bounds = true

[machine]
zone = [{ kind = "Normal", managed = "2MiB" }]
cpus = 1
swap = { size = "16MiB", device = "ramdisk" }

[axes]
"machine.zone[0].managed" = ["2MiB", "3MiB", "10MiB"]

[[task]]
name = "heap"
workload = "zipf"
memory = "4MiB"
accesses = 20000

[[variant]]
name = "classic"
reclaim = { preset = "classic-v6.12" }

[[variant]]
name = "mglru"
reclaim = { preset = "mglru-v6.12" }
"#;
        let scenario = Scenario::from_str(text, "sizes.toml").expect("a scenario");
        run(&scenario, &RunOptions::default()).expect("runs")
    }

    #[test]
    fn a_curve_is_of_one_axis() {
        let report = sizes();
        let settings = of_report(&report);
        let curve = Curve::of(&settings, Figure::SwapIns).expect("one axis");
        assert_eq!(curve.axis.values, ["2MiB", "3MiB", "10MiB"]);
        let names: Vec<&str> = curve.lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["classic", "mglru", "optimum"]);
        let mean = |line: usize, i: usize| curve.lines[line].points[i].map(|e| e.mean);
        assert!((0..2).all(|v| mean(v, 0) > mean(v, 1) && mean(v, 2) == Some(0.0)));
        assert!((0..3).all(|i| mean(2, i) <= mean(0, i) && mean(2, i) <= mean(1, i)));
        assert_eq!(Curve::of(&settings[..2], Figure::SwapIns), None, "one value is no curve");
        let throughput = Curve::of(&settings, Figure::Throughput).expect("one axis");
        assert!(throughput.lines.iter().all(|l| !l.optimum), "MIN has no throughput");
    }

    /// Distances between points are those of their sizes: 1 MiB and 7 MiB.
    #[test]
    fn the_drawing_is_true_to_scale() {
        let curve = Curve::of(&of_report(&sizes()), Figure::SwapIns).expect("one axis");
        let svg = curve.svg("sizes");
        let at = svg.find("\" fill=\"none\"").expect("a line");
        let path = svg[..at].rsplit('"').next().expect("a path");
        let points: Vec<f64> =
            path.split(['M', 'L']).filter_map(|p| p.split(' ').next()?.parse().ok()).collect();
        let part = (points[1] - points[0]) / (points[2] - points[0]);
        assert!((part - 1.0 / 8.0).abs() < 1e-3, "{path}");
        for text in ["machine.zone[0].managed, MiB", ">swap-ins<", "optimum"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
