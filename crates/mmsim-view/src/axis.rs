//! Values of an axis as places on a scale: sizes, times and numbers lie where they belong, words
//! stand side by side.

use mmsim::report::numbers::grouped;
use mmsim::scenario::{bytes, duration};

/// The ratio of the largest to the smallest value from which on a scale is logarithmic.
const LOGARITHMIC: f64 = 64.0;

/// Meaning of the numbers of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// Numbers without a unit.
    Plain,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
}

/// An axis of settings.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Axis {
    /// Path of the key, as in `machine.vm.swappiness`.
    pub name: String,
    /// Its values as they are written, in the order of the report.
    pub values: Vec<String>,
    /// The place of each value in the base unit; `None`: the values are words.
    pub at: Option<Vec<f64>>,
    /// Meaning of these numbers.
    pub unit: Unit,
    /// True if places are by the logarithm: the largest is 64 times the smallest or more.
    pub log: bool,
}

/// A mark on an axis: its place from 0 to 1, and its text.
pub type Tick = (f64, String);

impl Axis {
    /// The axis of these values.
    pub fn new(name: &str, values: &[&str]) -> Axis {
        let all = |of: &dyn Fn(&str) -> Option<f64>| -> Option<Vec<f64>> {
            values.iter().map(|v| of(v)).collect()
        };
        let plain = || all(&|v| v.parse().ok().filter(|x: &f64| x.is_finite()));
        let sizes = || all(&|v| bytes(v).ok().map(|n| n as f64));
        let times = || all(&|v| duration(v).ok().map(|t| t.as_nanos() as f64));
        let read = plain().map(|at| (Unit::Plain, at));
        let read = read.or_else(|| Some((Unit::Bytes, sizes()?)));
        let read = read.or_else(|| Some((Unit::Time, times()?)));
        let (unit, at) = read.map_or((Unit::Plain, None), |(unit, at)| (unit, Some(at)));
        let ends = at.as_deref().map(ends);
        let log = ends.is_some_and(|(low, high)| low > 0.0 && high >= low * LOGARITHMIC);
        let values = values.iter().map(|v| v.to_string()).collect();
        Axis { name: name.to_string(), values, at, unit, log }
    }

    /// The place of the `i`-th value, from 0 to 1.
    pub fn place(&self, i: usize) -> f64 {
        match &self.at {
            Some(at) => self.place_of(at[i]),
            None if self.values.len() > 1 => i as f64 / (self.values.len() - 1) as f64,
            None => 0.5,
        }
    }

    /// The place of a number.
    fn place_of(&self, value: f64) -> f64 {
        let (low, high) = self.at.as_deref().map_or((0.0, 1.0), ends);
        let on = |x: f64| if self.log { x.log2() } else { x };
        match high > low {
            true => (on(value) - on(low)) / (on(high) - on(low)),
            false => 0.5,
        }
    }

    /// Places of the values in their order from left to right.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.place(a).total_cmp(&self.place(b)));
        order
    }

    /// The number of base units in the unit that its texts are in, and the name of that unit.
    fn shown_in(&self) -> (f64, &'static str) {
        const SIZES: [(f64, &str); 4] = [
            ((1u64 << 40) as f64, "TiB"),
            ((1u64 << 30) as f64, "GiB"),
            ((1u64 << 20) as f64, "MiB"),
            (1024.0, "KiB"),
        ];
        const TIMES: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
        let high = self.at.as_deref().map_or(0.0, |at| ends(at).1);
        // Sizes of less than four units have one unit less: 1536 MiB, not 1.5 GiB.
        let of = |all: &[(f64, &'static str)], least: f64| {
            all.iter().copied().find(|(size, _)| high >= least * size)
        };
        match self.unit {
            Unit::Plain => (1.0, ""),
            Unit::Bytes => of(&SIZES, 4.0).unwrap_or((1.0, "bytes")),
            Unit::Time => of(&TIMES, 1.0).unwrap_or((1.0, "ns")),
        }
    }

    /// Title of the axis: its name, its unit, and the kind of its scale.
    pub fn title(&self) -> String {
        let unit = match self.shown_in().1 {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        format!("{}{unit}{}", self.name, if self.log { " (logarithmic)" } else { "" })
    }

    /// Marks: round numbers where the values are numbers, at most twelve values otherwise.
    pub fn ticks(&self) -> Vec<Tick> {
        let Some(at) = &self.at else {
            let every = self.values.len().div_ceil(12).max(1);
            let shown = (0..self.values.len()).step_by(every);
            return shown.map(|i| (self.place(i), self.values[i].clone())).collect();
        };
        let (low, high) = ends(at);
        let size = self.shown_in().0;
        let (low, high) = (low / size, high / size);
        let mark = |(n, text): (f64, String)| (self.place_of(n * size), text);
        match self.log {
            true => powers(low, high).into_iter().map(|n| mark((n, grouped(n)))).collect(),
            false => {
                let apart = if high > low { step(high - low) } else { 1.0 };
                between(low, high).into_iter().map(|n| mark((n, tick(n, apart)))).collect()
            }
        }
    }
}

/// The smallest and the largest of some numbers.
fn ends(at: &[f64]) -> (f64, f64) {
    at.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)))
}

/// A round step that divides a length into at most six parts.
pub(crate) fn step(length: f64) -> f64 {
    let raw = length / 5.0;
    let magnitude = 10f64.powi(raw.log10().floor() as i32);
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * magnitude);
    steps.into_iter().find(|s| *s >= raw * 0.999).unwrap_or(magnitude * 10.0)
}

/// A multiple of a round step, with as many decimals as the step needs.
pub(crate) fn tick(value: f64, step: f64) -> String {
    let decimals = (0..9).find(|d| (step * 10f64.powi(*d)).fract().abs() < 1e-6).unwrap_or(9);
    match decimals {
        0 => grouped(value),
        decimals => format!("{value:.*}", decimals as usize),
    }
}

/// Round numbers from `low` to `high`.
fn between(low: f64, high: f64) -> Vec<f64> {
    if high <= low {
        return vec![low];
    }
    let step = step(high - low);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Powers of two from `low` to `high`, at most ten.
fn powers(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
    let every = ((last - first) / 9 + 1).max(1) as usize;
    (first..=last).step_by(every).map(|e| 2f64.powi(e)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32, 48 and 224 MiB do not lie at equal distances.
    #[test]
    fn sizes_lie_where_they_belong() {
        let axis = Axis::new("machine.zone[0].managed", &["32MiB", "48MiB", "224MiB"]);
        let places: Vec<f64> = (0..3).map(|i| axis.place(i)).collect();
        assert_eq!(places, [0.0, 16.0 / 192.0, 1.0]);
        assert_eq!(axis.title(), "machine.zone[0].managed, MiB");
        let texts: Vec<String> = axis.ticks().into_iter().map(|t| t.1).collect();
        assert_eq!(texts, ["50", "100", "150", "200"]);
    }

    #[test]
    fn the_order_is_that_of_numbers() {
        let axis = Axis::new("vm.swappiness", &["100", "20", "3"]);
        assert_eq!(axis.order(), [2, 1, 0]);
        let words = Axis::new("policy", &["b", "a"]);
        assert_eq!((words.order(), words.place(1)), (vec![0, 1], 1.0));
    }

    #[test]
    fn a_wide_range_is_logarithmic() {
        let axis = Axis::new("memory", &["1MiB", "16MiB", "1GiB"]);
        assert!(axis.log && axis.title().ends_with("(logarithmic)"), "{}", axis.title());
        assert_eq!(axis.place(1), 0.4);
        assert!(axis.ticks().len() <= 10);
        assert!(!Axis::new("memory", &["0MiB", "1GiB"]).log);
    }
}
