//! Recorded beside simulated: the page of a validation, and the same as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::figure::{COLOURS, escaped};

/// One counter of one phase of a recorded point, means over its repetitions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Value {
    /// Experiment, point, kernel, LRU, phase, counter.
    pub names: [String; 6],
    /// Count of the kernel.
    pub recorded: f64,
    /// The smallest and the largest that it counted.
    pub range: (f64, f64),
    /// Count of the model.
    pub simulated: f64,
    /// That lies within the range.
    pub inside: bool,
    /// It misses a rule on how close the model should be.
    pub missed: bool,
}

/// Place of the LRU among the names of a value.
pub const LRU: usize = 3;

/// A table of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sheet {
    /// Title above it.
    pub title: String,
    /// The heads of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// Number of columns that are words, from the first on.
    pub words: usize,
}

/// Names of columns of a value, as the page has them.
pub(crate) const COLUMNS: [&str; 13] = [
    "experiment",
    "point",
    "kernel",
    "LRU",
    "phase",
    "counter",
    "recorded",
    "min",
    "max",
    "simulated",
    "error, %",
    "in range",
    "rule",
];

/// Cells across and up of the plot of one LRU.
const CELLS: f64 = 72.0;
const SIDE: f64 = 324.0;
const LEFT: f64 = 82.0;

/// All values as two plots, one for each LRU: recorded across, simulated up, on logarithmic axes.
/// Values that fall together are one square, the stronger the more they are; those that miss a rule
/// are framed. `about` stands below.
pub fn svg(title: &str, values: &[Value], about: &str) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for v in values {
        if !policies.contains(&v.names[LRU].as_str()) {
            policies.push(&v.names[LRU]);
        }
    }
    let most = values.iter().map(|v| v.recorded.max(v.simulated)).fold(10.0, f64::max);
    let top = most.log10().ceil();
    let (width, height) = (LEFT + policies.len() as f64 * (SIDE + 46.0), SIDE + 96.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{0}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#1b1f24\">\n<title>{0}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"20\" font-size=\"13\" font-weight=\"600\">{0}</text>\n",
        escaped(title)
    );
    // Nothing stands in the corner, one event in the first cell beside it.
    let cell = |v: f64| match v < 1.0 {
        true => 0,
        false => 1 + (v.log10() / top * (CELLS - 2.0)).floor() as u32,
    };
    for (i, policy) in policies.iter().enumerate() {
        let (left, bottom) = (LEFT + i as f64 * (SIDE + 46.0), SIDE + 48.0);
        let step = SIDE / CELLS;
        let mut cells: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
        for v in values.iter().filter(|v| v.names[LRU] == *policy) {
            let at = cells.entry((cell(v.recorded), cell(v.simulated))).or_default();
            at.0 += 1;
            at.1 += u32::from(v.missed);
        }
        let _ = write!(
            out,
            "<text x=\"{left:.1}\" y=\"40\" font-weight=\"600\">{}</text>\n\
             <path d=\"M{left:.1} {bottom:.1}v-{SIDE}m0 {SIDE}h{SIDE}m-{SIDE} 0l{SIDE} -{SIDE}\" \
             fill=\"none\" stroke=\"#d5dae0\"/>\n",
            escaped(policy)
        );
        for power in 0..=top as u32 {
            let place = step * (1.0 + f64::from(power) / top * (CELLS - 2.0));
            let word = mmsim::report::numbers::grouped(10_f64.powi(power as i32));
            let (x, y) = (left + place, bottom - place + 4.0);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
                 <text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                bottom + 15.0,
                if power % 2 == 0 { word.as_str() } else { "" },
                left - 5.0,
                if i == 0 { word.as_str() } else { "" },
            );
        }
        for ((x, y), (n, missed)) in cells {
            let (left, top) = (left + f64::from(x) * step, bottom - f64::from(y + 1) * step);
            let opacity = (0.25 + 0.25 * f64::from(n).log10()).min(1.0);
            let (colour, frame) = match missed {
                0 => (COLOURS[0], ""),
                _ => (COLOURS[1], " stroke=\"#d55e00\""),
            };
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{step}\" height=\"{step}\" \
                 fill=\"{colour}\" fill-opacity=\"{opacity:.2}\"{frame}/>"
            );
        }
    }
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>", SIDE + 82.0, escaped(about));
    out + "</svg>\n"
}
