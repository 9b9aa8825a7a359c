//! DAMON in a recorded point: from the files that its commands write to a monitor, and from what
//! was seen to what is compared.
//!
//! The child of a script has its region at an address of its own choosing here; where the whole
//! process is monitored, its other mappings (program, libraries, stack) are those that the
//! recording shows. Their contents are not modelled, so there is no comparison.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use mmsim_core::base::id::AsId;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_core::workload::Note;
use mmsim_damon::attrs::MonitoringAttrs;
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme};
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::modules::{Module, Reclaim};
use mmsim_damon::ranges::set_regions;
use mmsim_damon::{Context, Kdamond, OpsId, Target, Watch, preset_for_kernel};
use mmsim_workload::script::{ChildWorkload, Script};

use super::point::{Point, SeenRegion};

/// Page of the child's region: above the program's, at a table of its own.
const AT: u64 = 0x7_f000_0000;
/// Page of a program that is not built to run anywhere.
const PROGRAM: u64 = 0x400;
const PAGE: u64 = 4096;

/// Where the child has its region, and its other mappings: first page and pages.
fn layout(p: &Point, pages: u64) -> (u64, Vec<(u64, u64)>) {
    let first = p.regions.first().and_then(|snapshots| snapshots.first());
    let Some((_, _, regions)) = first else { return (AT, Vec::new()) };
    let mut ranges: Vec<Range<i64>> = Vec::new();
    for r in regions {
        let (start, end) = (r.start, r.start + r.pages as i64);
        match ranges.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None => ranges.push(start..end),
        }
    }
    let lowest = ranges.first().map_or(0, |r| r.start.min(0)).unsigned_abs();
    let at = if lowest == 0 { AT } else { lowest + PROGRAM };
    let mut others = Vec::new();
    let mut other = |r: Range<i64>| {
        if !r.is_empty() {
            others.push((at.wrapping_add_signed(r.start), (r.end - r.start) as u64));
        }
    };
    for r in ranges {
        let own = 0..pages as i64;
        other(r.start..r.end.min(own.start));
        other(r.start.max(own.end)..r.end);
    }
    (at, others)
}

/// Streams of the monitor's draws for each repetition. Which addresses the kernel drew is not recorded,
/// and the result of one stream lies several per cent off the mean of many.
pub(super) const DRAWS: usize = 8;

/// Number of replays of a point: replay n is of repetition n modulo their number.
pub(super) fn replays(p: &Point) -> usize {
    let monitored = p.script.iter().any(|l| l.starts_with("write /sys/") && l.contains("damon"));
    p.repetitions * if monitored { DRAWS } else { 1 }
}

/// The child of a script and the monitor beside it, if the script has them.
pub(super) fn watched(
    p: &Point,
    script: &Script,
    kernel: Kernel,
    (replay, ram): (usize, Range<u64>),
) -> Result<(Option<ChildWorkload>, Option<Kdamond>), String> {
    let files = Files(&script.setup.damon);
    let Some(child) = &script.child else {
        return match files.0.keys().next() {
            Some(file) => Err(format!("`{file}` of DAMON is written, and there is no child")),
            None => Ok((None, None)),
        };
    };
    let pages = u64::from(child.pages);
    let whole = files.text(OPERATIONS) == Some("vaddr");
    let (at, others) = if whole { layout(p, pages) } else { (AT, Vec::new()) };
    let others = others.into_iter().map(|(at, n)| (at, n as u32)).collect();
    let workload = script.child_workload().map(|w| w.with_layout(at, others));
    let seed = replay as u64;
    let kdamond = match files.module(kernel, ram, seed)? {
        Some(module) => Some(module),
        None => files.kdamond(kernel, at..at + pages, seed)?,
    };
    Ok((workload, kdamond))
}

const OPERATIONS: &str = "contexts/0/operations";

/// Written contents, by file.
struct Files<'a>(&'a BTreeMap<String, String>);

impl Files<'_> {
    fn text(&self, file: &str) -> Option<&str> {
        self.0.get(file).map(String::as_str)
    }

    fn number(&self, file: &str, or: u64) -> Result<u64, String> {
        let Some(text) = self.text(file) else { return Ok(or) };
        text.parse().map_err(|_| format!("{file}: \"{text}\", write a number from 0"))
    }

    /// As [`Files::number`]; the kernel too takes what fits 32 bits.
    fn number32(&self, file: &str, or: u32) -> Result<u32, String> {
        let n = self.number(file, or.into())?;
        u32::try_from(n).map_err(|_| format!("{file}: \"{n}\", write at most {}", u32::MAX))
    }

    /// `dir/min` to `dir/max`.
    fn range(&self, dir: &str) -> Result<RangeInclusive<u64>, String> {
        Ok(self.number(&format!("{dir}/min"), 0)?..=self.number(&format!("{dir}/max"), 0)?)
    }

    fn range32(&self, dir: &str) -> Result<RangeInclusive<u32>, String> {
        Ok(self.number32(&format!("{dir}/min"), 0)?..=self.number32(&format!("{dir}/max"), 0)?)
    }

    /// DAMON_RECLAIM with the parameters that were written; none: it is not used. The recorded 6.12
    /// loses its scheme while the module is set up.
    fn module(
        &self,
        kernel: Kernel,
        ram: Range<u64>,
        seed: u64,
    ) -> Result<Option<Kdamond>, String> {
        let mut module = Reclaim::DEFAULT;
        let mut used = false;
        for (file, text) in self.0 {
            let Some((name, parameter)) = file.split_once('/') else { continue };
            match name {
                "damon_reclaim" => {}
                "contexts" => continue,
                _ => return Err(format!("the module {name} is not replayed")),
            }
            let value = match text.as_str() {
                "Y" => 1,
                "N" => 0,
                text => text
                    .parse()
                    .map_err(|_| format!("{file}: \"{text}\", write a number from 0"))?,
            };
            module.put(parameter, value).map_err(|e| format!("{file}: {e}"))?;
            used = true;
        }
        if !used {
            return Ok(None);
        }
        let mut config = preset_for_kernel(kernel);
        config.module_commit_drops_scheme = kernel == Kernel::V6_12;
        let rng = |purpose| Rng::for_purpose(seed, purpose);
        let context = module.context(config, Some(ram), rng("damon/split"));
        let context = context.map_err(|e| e.to_string())?;
        Ok(Some(Kdamond::new(context, OpsId::Paddr, rng("damon/sample"), Watch::new(false))))
    }

    /// The monitor that the files set up; none: no context is.
    fn kdamond(
        &self,
        kernel: Kernel,
        child: Range<u64>,
        seed: u64,
    ) -> Result<Option<Kdamond>, String> {
        let Some(name) = self.text(OPERATIONS) else { return Ok(None) };
        let ops = OpsId::ALL.into_iter().find(|o| o.name() == name);
        let ops =
            ops.ok_or_else(|| format!("{OPERATIONS}: \"{name}\", write vaddr, fvaddr or paddr"))?;
        let config = preset_for_kernel(kernel);
        let rng = |purpose| Rng::for_purpose(seed, purpose);
        let mut context = Context::new(config, rng("damon/split"));
        let attrs = self.attrs()?;
        context.set_attrs(attrs).map_err(|e| e.to_string())?;
        let space = (ops != OpsId::Paddr).then_some(AsId(0));
        let mut target = Target::new(space);
        let ranges = self.ranges(child)?;
        if !ranges.is_empty() {
            set_regions(&mut target, &ranges, attrs.min_region).map_err(|e| e.to_string())?;
        }
        context.set_targets(vec![target]).map_err(|e| e.to_string())?;
        let schemes = self.number("contexts/0/schemes/nr_schemes", 0)?;
        let schemes = (0..schemes).map(|i| self.scheme(i)).collect::<Result<Vec<_>, _>>()?;
        context.set_schemes(schemes).map_err(|e| e.to_string())?;
        Ok(Some(Kdamond::new(context, ops, rng("damon/sample"), Watch::new(false))))
    }

    fn attrs(&self) -> Result<MonitoringAttrs, String> {
        let d = MonitoringAttrs::DEFAULT;
        let dir = "contexts/0/monitoring_attrs";
        let number = |file, or| self.number(&format!("{dir}/{file}"), or);
        let number32 = |file, or| self.number32(&format!("{dir}/{file}"), or);
        Ok(MonitoringAttrs {
            sample_us: number("intervals/sample_us", d.sample_us)?,
            aggr_us: number("intervals/aggr_us", d.aggr_us)?,
            ops_update_us: number("intervals/update_us", d.ops_update_us)?,
            min_nr_regions: number32("nr_regions/min", d.min_nr_regions)?,
            max_nr_regions: number32("nr_regions/max", d.max_nr_regions)?,
            ..d
        })
    }

    /// The initial regions of the target, in bytes.
    fn ranges(&self, child: Range<u64>) -> Result<Vec<Range<u64>>, String> {
        let dir = "contexts/0/targets/0/regions";
        let address = |file: String| match self.text(&file) {
            Some("$addr") => Ok(child.start * PAGE),
            Some("$end") => Ok(child.end * PAGE),
            _ => self.number(&file, 0),
        };
        let n = self.number(&format!("{dir}/nr_regions"), 0)?;
        let of = |i| Ok(address(format!("{dir}/{i}/start"))?..address(format!("{dir}/{i}/end"))?);
        (0..n).map(of).collect()
    }

    fn scheme(&self, i: u64) -> Result<Scheme, String> {
        let dir = format!("contexts/0/schemes/{i}");
        let number = |file: &str, or| self.number(&format!("{dir}/{file}"), or);
        let number32 = |file: &str| self.number32(&format!("{dir}/{file}"), 0);
        let name = self.text(&format!("{dir}/action")).unwrap_or("stat");
        let action = Action::ALL.into_iter().find(|a| a.name() == name);
        let action = action.ok_or_else(|| {
            let known: Vec<&str> = Action::ALL.iter().map(|a| a.name()).collect();
            format!("{dir}/action: \"{name}\", write one of {}", known.join(", "))
        })?;
        let pattern = AccessPattern {
            sz_region: self.range(&format!("{dir}/access_pattern/sz"))?,
            nr_accesses: self.range32(&format!("{dir}/access_pattern/nr_accesses"))?,
            age_region: self.range32(&format!("{dir}/access_pattern/age"))?,
        };
        let mut scheme = Scheme::new(pattern, action);
        scheme.apply_interval_us = number("apply_interval_us", 0)?;
        scheme.quota = Quota {
            reset_interval_ms: number("quotas/reset_interval_ms", 0)?,
            ms: number("quotas/ms", 0)?,
            sz: number("quotas/bytes", 0)?,
            weight_sz: number32("quotas/weights/sz_permil")?,
            weight_nr_accesses: number32("quotas/weights/nr_accesses_permil")?,
            weight_age: number32("quotas/weights/age_permil")?,
            ..Quota::default()
        };
        let metric = match self.text(&format!("{dir}/watermarks/metric")) {
            None | Some("none") => WmarkMetric::None,
            Some("free_mem_rate") => WmarkMetric::FreeMemRate,
            Some(other) => {
                let file = format!("{dir}/watermarks/metric");
                return Err(format!("{file}: \"{other}\", write none or free_mem_rate"));
            }
        };
        scheme.wmarks = Watermarks {
            metric,
            interval_us: number("watermarks/interval_us", 0)?,
            high: number("watermarks/high", 0)?,
            mid: number("watermarks/mid", 0)?,
            low: number("watermarks/low", 0)?,
        };
        Ok(scheme)
    }
}

/// Snapshots of regions, each with its time in ms since the first, as they are recorded.
pub(super) type Snapshots = Vec<(u64, Vec<SeenRegion>)>;

/// Summary of monitoring, from its snapshots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Seen {
    /// Pages of the watched area in regions with an access, mean over the snapshots.
    pub(super) wss: f64,
    /// Pages of the area in the last snapshot with accesses in four of five samples and more.
    pub(super) hot: f64,
    /// Regions, mean over the snapshots.
    pub(super) nr_regions: f64,
    /// Time of the first snapshot from which on the hot pages stay within a tenth of the last.
    pub(super) found_at_ms: f64,
}

impl Seen {
    /// Summary for an area of `pages` pages, at `window` samples an aggregation.
    pub(super) fn of(snapshots: &Snapshots, pages: u64, window: u64) -> Option<Seen> {
        let inside = |r: &SeenRegion| {
            let end = (r.start + r.pages as i64).min(pages as i64);
            (end - r.start.max(0)).max(0) as f64
        };
        let sum = |regions: &[SeenRegion], least: u64| -> f64 {
            let counted = regions.iter().filter(|r| u64::from(r.nr_accesses) >= least.max(1));
            counted.map(inside).sum()
        };
        let hot = |regions: &[SeenRegion]| sum(regions, (window * 4).div_ceil(5));
        let (_, last) = snapshots.last()?;
        let last = hot(last);
        let stays = |s: &&(u64, Vec<SeenRegion>)| (hot(&s.1) - last).abs() <= 0.1 * last;
        let found = snapshots.len() - snapshots.iter().rev().take_while(stays).count();
        let n = snapshots.len() as f64;
        Some(Seen {
            wss: snapshots.iter().map(|(_, r)| sum(r, 1)).sum::<f64>() / n,
            hot: last,
            nr_regions: snapshots.iter().map(|(_, r)| r.len() as f64).sum::<f64>() / n,
            found_at_ms: snapshots[found].0 as f64,
        })
    }

    /// Names and values.
    pub(super) fn rows(&self) -> [(&'static str, f64); 4] {
        [
            ("damon.wss", self.wss),
            ("damon.hot", self.hot),
            ("damon.nr_regions", self.nr_regions),
            ("damon.found_at_ms", self.found_at_ms),
        ]
    }
}

/// Recorded values of a point: per name those of its repetitions.
pub(super) fn recorded(p: &Point) -> Vec<(&'static str, Vec<f64>)> {
    let mut rows: Vec<(&'static str, Vec<f64>)> = Vec::new();
    let mut add = |name, value| match rows.iter_mut().find(|r| r.0 == name) {
        Some((_, values)) => values.push(value),
        None => rows.push((name, vec![value])),
    };
    let Ok(script) = Script::parse(&p.script) else { return rows };
    let pages = script.child.as_ref().map_or(0, |c| u64::from(c.pages));
    let window = Files(&script.setup.damon).attrs().map_or(1, |a| u64::from(a.window()));
    for snapshots in &p.regions {
        let snapshots = snapshots.iter().map(|(_, ms, r)| (*ms, r.clone())).collect();
        let seen = Seen::of(&snapshots, pages, window);
        seen.iter().flat_map(Seen::rows).for_each(|(name, value)| add(name, value));
    }
    for series in &p.series {
        // nr_tried, sz_tried, nr_applied, sz_applied, qt_exceeds of the last second that has them.
        let Some(stats) = series.iter().rev().find_map(|s| s.4.as_ref()) else { continue };
        add("damos.sz_tried", stats[1] as f64);
        add("damos.sz_applied", stats[3] as f64);
    }
    rows
}

/// Values of a replay for the same names.
pub(super) fn simulated(p: &Point, k: &Kdamond) -> Vec<(&'static str, f64)> {
    let Ok(script) = Script::parse(&p.script) else { return Vec::new() };
    let pages = script.child.as_ref().map_or(0, |c| u64::from(c.pages));
    let window = u64::from(k.context().attrs().window());
    let notes: Vec<_> = k.watch().taken().iter().filter(|n| n.what == Note::Regions).collect();
    let begin = notes.first().map_or(0, |n| n.at.0);
    let whole = k.ops() == OpsId::Vaddr;
    let at = if whole { layout(p, pages).0 } else { AT };
    let seen = |r: &mmsim_damon::Region| SeenRegion {
        start: (r.start / PAGE) as i64 - at as i64,
        pages: r.size() / PAGE,
        nr_accesses: r.nr_accesses_bp / 10_000,
        age: r.age,
    };
    let snapshots: Snapshots = notes
        .iter()
        .map(|n| ((n.at.0 - begin) / 1_000_000, n.regions.iter().map(seen).collect()))
        .collect();
    let mut rows: Vec<(&'static str, f64)> = Vec::new();
    if !p.regions.is_empty() {
        let seen = Seen::of(&snapshots, pages, window);
        rows.extend(seen.iter().flat_map(Seen::rows));
    }
    if !p.series.is_empty() {
        // A module shows its own at any time, and the end is late enough.
        let own = || k.context().schemes().first().map(|s| *s.stat());
        let noted = k.watch().taken().last().and_then(|n| n.stats.first().copied());
        let stat = noted.or_else(own).unwrap_or_default();
        rows.push(("damos.sz_tried", stat.sz_tried as f64));
        rows.push(("damos.sz_applied", stat.sz_applied as f64));
    }
    rows
}
