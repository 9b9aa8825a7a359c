//! Curves: figures of a trace or a scenario over the size of memory, at sizes that are given or that
//! are placed where the curve bends.
//!
//! A curve is a plan. Its first wave has the sizes that are given, or a few between two ends. Each
//! further wave halves the two intervals in which the curve may hide most: those where a line through
//! the points turns, or falls steeply, over a wide range. The sizes follow from the results alone, so
//! any number of jobs gives the same curve, and a command that was killed goes on with it.

mod sampled;

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::bench::{Frames, FramesError, LEAST_FRAMES, Replay, Trace};
use crate::plan::{Plan, Sheet};
use crate::run::RunError;
use mmsim_base::error::Error;
use mmsim_language::machines;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::{RunSpec, Scenario, pages, show_pages};
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::{Report, RunReport};

pub use sampled::{ESTIMATED, Estimates, MadeSample, SampledCurve, SampledPoint};

/// Sizes of a curve that is placed automatically, by default.
pub const POINTS: u16 = 12;

/// Sizes of the first wave between two ends.
const FIRST: usize = 5;

/// Intervals that a further wave halves.
const HALVED: usize = 2;

/// The ratio of the ends from which on the first sizes are spaced by their logarithm.
const WIDE: f64 = 8.0;

/// Intervals narrower than this part of the whole range are not halved.
const NARROW: f64 = 1.0 / 128.0;

/// Sizes of memory that a curve has.
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// These.
    Given(Vec<Frames>),
    /// As many as wanted between two ends, which it has too.
    Between(Frames, Frames),
}

impl FromStr for Sizes {
    type Err = FramesError;

    /// Reads `32MiB,64MiB,50%` or `10%..150%`.
    fn from_str(text: &str) -> Result<Sizes, FramesError> {
        if let Some((low, high)) = text.split_once("..") {
            return Ok(Sizes::Between(low.trim().parse()?, high.trim().parse()?));
        }
        let sizes = text.split(',').map(|size| size.trim().parse());
        Ok(Sizes::Given(sizes.collect::<Result<_, _>>()?))
    }
}

/// Subject of a curve.
enum Base {
    /// A scenario, whose memory this key sets.
    Scenario { scenario: Box<Scenario>, key: String, registry: Registry },
    /// A trace under these policies.
    Trace { trace: Box<Trace>, reclaim: Vec<String> },
}

/// A curve that is to be drawn.
pub struct Curve {
    base: Base,
    /// Pages that 100 % stand for.
    whole: u64,
    name: String,
    about: String,
    /// Sizes of the first wave.
    first: Vec<u64>,
    /// Sizes in all.
    points: usize,
    /// The figure by which sizes are placed.
    figure: Figure,
}

/// Keys of a scenario for a curve: a variant for each policy that is named, a number of seeds, and the
/// optimum unless the keys that are given speak of it.
pub fn sets(
    given: &[(String, String)],
    reclaim: &[String],
    seeds: Option<u32>,
    optimum: bool,
) -> Vec<(String, String)> {
    let mut sets = given.to_vec();
    let set = |key: &str, value: String| (key.to_string(), value);
    if !reclaim.is_empty() {
        let variant =
            |name: &String| format!("{{ name = {name:?}, reclaim = {{ preset = {name:?} }} }}");
        let all: Vec<String> = reclaim.iter().map(variant).collect();
        sets.push(set("variant", format!("[{}]", all.join(", "))));
    }
    if let Some(seeds) = seeds {
        sets.push(set("seeds", seeds.to_string()));
    }
    if optimum && !sets.iter().any(|(key, _)| key == "bounds") {
        sets.push(set("bounds", "true".into()));
    }
    sets
}

impl Curve {
    /// The curve of a scenario over its memory. `key`: the key that sets it, such as `machine.memory`
    /// or `machine.memcg[0].max`; `None`: that of the machine. 100 % is the value that it has.
    /// `registry`: what the scenario may name.
    ///
    /// # Errors
    ///
    /// The scenario has axes of its own, or no key that is a size; a size that no machine has.
    pub fn of_scenario(
        scenario: Scenario,
        key: Option<&str>,
        sizes: &Sizes,
        points: usize,
        figure: Figure,
        registry: &Registry,
    ) -> Result<Curve, Error> {
        let specs = machines::specs_of(&scenario, registry)?;
        let first = specs.first().ok_or_else(|| Error::plain("the scenario has no run"))?;
        if let Some((axis, _)) = first.axes.first() {
            let title = format!("curve: the scenario has an axis of its own, `{axis}`");
            let help = "a curve is over memory alone: leave `[axes]` out with --set axes={}";
            return Err(Error::of_option(title).help(help));
        }
        let (key, whole) = memory_of(first, key)?;
        let (name, about) = (scenario.name().to_string(), scenario.about().to_string());
        let (scenario, registry) = (Box::new(scenario), registry.clone());
        let base = Base::Scenario { scenario, key, registry };
        Curve { base, whole, name, about, first: Vec::new(), points, figure }.placed(sizes)
    }

    /// The curve of a trace under some policies, over the frames of the machine. 100 % is as many
    /// frames as the trace has distinct pages. `name`: the name of the trace in the report.
    ///
    /// # Errors
    ///
    /// A size that no machine has.
    pub fn of_trace(
        trace: Trace,
        name: &str,
        reclaim: &[String],
        sizes: &Sizes,
        points: usize,
        figure: Figure,
    ) -> Result<Curve, Error> {
        let known = trace.facts();
        let (whole, name) = (known.distinct_pages, name.to_string());
        let (requests, pages) = (known.requests, known.distinct_pages);
        let about = format!("{requests} requests to {pages} distinct pages");
        let base = Base::Trace { trace: Box::new(trace), reclaim: reclaim.to_vec() };
        Curve { base, whole, name, about, first: Vec::new(), points, figure }.placed(sizes)
    }

    fn placed(mut self, sizes: &Sizes) -> Result<Curve, Error> {
        let of = |size: &Frames| size.of(self.whole).map(u64::from);
        // The lower end of a range is what a machine can have at least.
        let least = |size: &Frames| match size {
            Frames::PerCent(share) if self.whole as f64 * share / 100.0 < LEAST_FRAMES as f64 => {
                Ok(LEAST_FRAMES)
            }
            size => of(size),
        };
        self.first = match sizes {
            Sizes::Given(sizes) => sizes.iter().map(of).collect::<Result<_, _>>()?,
            Sizes::Between(low, high) => {
                let (low, high) = (least(low)?, of(high)?);
                if low >= high {
                    let title = format!("curve: {low} to {high} pages are no range of sizes");
                    let help = "write the smaller size first, as in `10%..150%`";
                    return Err(Error::of_option(title).help(help));
                }
                spaced(low, high, self.points.clamp(2, FIRST))
            }
        };
        if let Sizes::Given(_) = sizes {
            self.points = 0;
        }
        self.first.sort_unstable();
        self.first.dedup();
        Ok(self)
    }

    /// The largest number of runs that it makes.
    ///
    /// # Errors
    ///
    /// A size that the scenario cannot have.
    pub fn runs(&self) -> Result<usize, Error> {
        let one = self.at(self.first[0])?.len();
        Ok(one * self.points.max(self.first.len()))
    }

    /// The path of the axis.
    fn axis(&self) -> &str {
        match &self.base {
            Base::Scenario { key, .. } => key,
            Base::Trace { .. } => "machine.zone[0].managed",
        }
    }

    /// Its runs with this number of pages.
    fn at(&self, size: u64) -> Result<Vec<Replay>, Error> {
        let value = show_pages(size);
        let mut specs = match &self.base {
            Base::Scenario { scenario, key, registry } => {
                let set = [(key.clone(), format!("\"{value}\""))];
                machines::specs_of(&scenario.as_ref().clone().with_sets(&set)?, registry)?
            }
            Base::Trace { trace, reclaim } => {
                let frames = Frames::Pages(u32::try_from(size).unwrap_or(u32::MAX));
                let cells: Vec<_> = reclaim.iter().map(|name| (frames, name.as_str())).collect();
                trace.runs(&cells)?
            }
        };
        if let Base::Trace { reclaim, .. } = &self.base {
            specs.iter_mut().zip(reclaim).for_each(|(spec, name)| spec.variant.clone_from(name));
        }
        let axis = self.axis();
        let point = |mut spec: RunSpec| {
            spec.axes = vec![(axis.to_string(), value.clone())];
            match &self.base {
                Base::Scenario { .. } => Replay::from(spec),
                Base::Trace { trace, .. } => trace.replay(spec),
            }
        };
        Ok(specs.into_iter().map(point).collect())
    }
}

/// The key that sets the memory of a run, and its value in pages.
fn memory_of(spec: &RunSpec, key: Option<&str>) -> Result<(String, u64), Error> {
    let given = |key: &str| spec.given.iter().find(|(k, _)| k == key).map(|(_, value)| value);
    let size = |key: &str| given(key).and_then(|value| pages(value).ok());
    if let Some(key) = key {
        return match size(key) {
            Some(size) => Ok((key.to_string(), size)),
            None => {
                let title = format!("--axis: the scenario has no size `{key}`");
                let help = "write a key of the scenario that is a size, such as `machine.memory`";
                Err(Error::of_option(title).help(help))
            }
        };
    }
    let zones = given("machine.zone[1].managed").is_none();
    let known = ["machine.memory", "machine.zone[0].managed"];
    let found = known.into_iter().find_map(|key| Some((key.to_string(), size(key)?)));
    found.filter(|(key, _)| zones || !key.contains("zone")).ok_or_else(|| {
        let title = "curve: the scenario does not say in one key how much memory it has";
        let help = "write --axis KEY: a key that is a size, as in `machine.zone[1].managed`";
        Error::of_option(title).help(help)
    })
}

/// Sizes between two ends, with both: by the logarithm over a wide range.
fn spaced(low: u64, high: u64, n: usize) -> Vec<u64> {
    let (a, b) = (low as f64, high as f64);
    let at = |i: usize| {
        let part = i as f64 / (n - 1) as f64;
        let size = match b >= a * WIDE {
            true => a * (b / a).powf(part),
            false => a + (b - a) * part,
        };
        size.round() as u64
    };
    (0..n).map(at).collect()
}

/// Pages of the machine of a run: its place on the one axis.
fn size_of(run: &Replay) -> u64 {
    let axis = run.spec.axes.first().and_then(|(_, value)| pages(value).ok());
    axis.expect("a curve has one axis, and its values are sizes")
}

impl Plan for Curve {
    type Point = Replay;
    type Found = Report;

    fn next(&mut self, sheet: &Sheet<Replay>) -> Result<Vec<Replay>, RunError> {
        let sizes = match sheet.lines.is_empty() {
            true => self.first.clone(),
            false => bends(&drawn(sheet, self.figure), self.points),
        };
        let mut wave = Vec::new();
        for size in sizes {
            wave.extend(self.at(size)?);
        }
        Ok(wave)
    }

    fn judge(self, sheet: Sheet<Replay>) -> Result<Report, RunError> {
        let mut lines: Vec<_> =
            sheet.lines.into_iter().map(|l| (size_of(&l.point), l.made)).collect();
        // Within a size runs stay in their order.
        lines.sort_by_key(|line| line.0);
        let runs = lines.into_iter().map(|line| line.1).collect();
        let mut report = Report::new(self.name, self.about, runs);
        report.note();
        report.notes.extend(hidden(&report).filter(|_| self.figure == Figure::MissRatio));
        Ok(report)
    }
}

/// A note on a curve whose miss ratio is low since pages are read ahead before anybody misses them. It
/// hides then that they do not stay.
fn hidden(report: &Report) -> Option<String> {
    let times = |run: &RunReport| {
        let scope = Scope::from(run);
        let misses = Figure::MissRatio.of(scope)? * run.accesses as f64 / 100.0;
        let back = Figure::Refaults.of(scope)?;
        let many = back > AHEAD * misses && back * 100.0 > run.accesses as f64;
        many.then(|| back / misses.max(1.0))
    };
    let most = report.runs.iter().filter_map(times).reduce(f64::max)?;
    Some(format!(
        "the miss ratio hides what readahead fetches: up to {most:.0} pages came back for each miss; \
         `--by refaults` counts them all"
    ))
}

/// Pages that come back for each miss from which on the miss ratio hides them.
const AHEAD: f64 = 4.0;

/// The mean of the figure for each variant at each size; `None` where no run did all its work.
type Drawn = BTreeMap<u64, BTreeMap<String, Option<f64>>>;

/// The means of values by size and variant.
fn mean_of(all: impl Iterator<Item = (u64, String, Option<f64>)>) -> Drawn {
    let mut values: BTreeMap<u64, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for (size, variant, value) in all {
        values.entry(size).or_default().entry(variant).or_default().extend(value);
    }
    let mean = |v: Vec<f64>| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    let of = |all: BTreeMap<String, Vec<f64>>| all.into_iter().map(|(k, v)| (k, mean(v))).collect();
    values.into_iter().map(|(size, all)| (size, of(all))).collect()
}

fn drawn(sheet: &Sheet<Replay>, figure: Figure) -> Drawn {
    mean_of(sheet.lines.iter().map(|line| {
        let value = figure.of(Scope::from(&line.made)).filter(|_| line.made.outcome.is_whole());
        (size_of(&line.point), line.point.spec.variant.clone(), value)
    }))
}

/// Sizes in the middle of the intervals in which the curve may hide most, so that there are no more
/// than `points`; none if there are as many, or all intervals are narrow.
fn bends(drawn: &Drawn, points: usize) -> Vec<u64> {
    let sizes: Vec<u64> = drawn.keys().copied().collect();
    let Some(room) = points.checked_sub(sizes.len()).filter(|room| *room > 0) else {
        return Vec::new();
    };
    let range = (sizes[sizes.len() - 1] - sizes[0]) as f64;
    let x = |i: usize| (sizes[i] - sizes[0]) as f64 / range;
    let mut hidden = vec![0.0f64; sizes.len() - 1];
    let variants: Vec<&String> = drawn.values().next().map_or(Vec::new(), |v| v.keys().collect());
    for variant in variants {
        let values: Vec<Option<f64>> = drawn.values().map(|v| v[variant]).collect();
        let most = values.iter().flatten().fold(0.0f64, |most, v| most.max(v.abs()));
        if most == 0.0 {
            continue;
        }
        // What did not do its work lies above all that did.
        let y: Vec<f64> = values.iter().map(|v| v.map_or(1.5, |v| v / most)).collect();
        // Distance of a point from the line through its neighbours.
        let turn = |i: usize| match i == 0 || i + 1 == y.len() {
            true => 0.0,
            false => {
                let part = (x(i) - x(i - 1)) / (x(i + 1) - x(i - 1));
                (y[i] - (y[i - 1] + part * (y[i + 1] - y[i - 1]))).abs()
            }
        };
        for (i, hidden) in hidden.iter_mut().enumerate() {
            let may = turn(i) + turn(i + 1) + (y[i + 1] - y[i]).abs();
            *hidden = hidden.max(may * (x(i + 1) - x(i)));
        }
    }
    let wide = |i: &usize| x(i + 1) - x(*i) >= NARROW && sizes[i + 1] - sizes[*i] > 1;
    let mut order: Vec<usize> = (0..hidden.len()).filter(wide).collect();
    order.retain(|&i| hidden[i] > 0.0);
    order.sort_by(|&a, &b| hidden[b].total_cmp(&hidden[a]).then(a.cmp(&b)));
    order.truncate(HALVED.min(room));
    order.into_iter().map(|i| (sizes[i] + sizes[i + 1]) / 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(of: impl Fn(u64) -> f64, sizes: &[u64]) -> Drawn {
        let at = |&s: &u64| (s, BTreeMap::from([("v".to_string(), Some(of(s)))]));
        sizes.iter().map(at).collect()
    }

    #[test]
    fn sizes_as_options_write_them() {
        let given = "1000,64MiB,10%".parse::<Sizes>();
        let pages = [Frames::Pages(1000), Frames::Pages(16384), Frames::PerCent(10.0)];
        assert_eq!(given, Ok(Sizes::Given(pages.to_vec())));
        let between = "10%..150%".parse::<Sizes>();
        assert_eq!(between, Ok(Sizes::Between(Frames::PerCent(10.0), Frames::PerCent(150.0))));
        assert!("10%..".parse::<Sizes>().is_err() && "".parse::<Sizes>().is_err());
    }

    /// A cliff between 500 and 510 pages draws the sizes to it: each wave halves its interval.
    #[test]
    fn sizes_gather_at_a_cliff() {
        let cliff = |s: u64| if s < 505 { 1.0 } else { 0.0 };
        let mut sizes = vec![0, 250, 500, 750, 1000];
        for _ in 0..5 {
            let more = bends(&curve(cliff, &sizes), 12);
            sizes.extend(more);
            sizes.sort_unstable();
        }
        let near = sizes.windows(2).find(|w| w[0] < 505 && w[1] >= 505).expect("the cliff");
        assert!(near[1] - near[0] <= 16, "{sizes:?}");
        assert!(sizes.len() <= 12);
    }

    /// A straight line has nothing to show between its points but its slope: intervals are halved
    /// from the widest on. A flat one needs no more points.
    #[test]
    fn a_flat_line_needs_no_more_sizes() {
        assert_eq!(bends(&curve(|_| 7.0, &[0, 500, 1000]), 12), Vec::<u64>::new());
        assert_eq!(bends(&curve(|s| s as f64, &[0, 200, 1000]), 12), [600, 100]);
        assert_eq!(bends(&curve(|s| s as f64, &[0, 500, 1000]), 3), Vec::<u64>::new());
    }

    #[test]
    fn a_wide_range_is_spaced_by_its_logarithm() {
        assert_eq!(spaced(100, 1600, 5), [100, 200, 400, 800, 1600]);
        assert_eq!(spaced(100, 500, 5), [100, 200, 300, 400, 500]);
    }
}
