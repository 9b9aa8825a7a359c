//! Data for the script of the page: the rows of tables with the numbers behind them, and the data
//! kept of each run over time.
//!
//! Names of fields are short, since a sweep has thousands of them. Totals over time are written as
//! differences, which deflate packs several times better than the totals.

use std::collections::BTreeSet;

use mmsim::report::derived::Figure;
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::statistics::{Estimate, estimate, paired_change};
use mmsim::report::{Pairs, PhaseReport, RunReport, ZoneReport, closing};
use serde::Serialize;

use crate::axis::{Axis, Tick};
use crate::curve::distinct;
use crate::generations::{Generation, Generations};
use crate::glossary;
use crate::over;
use crate::pages::Grid;
use crate::rows::{Row, rows};
use crate::series::Series;
use crate::settings::{Setting, label_of, of_report};

use super::Source;
use super::damon::DamonData;
use super::film::FilmData;
use super::why::WhyData;

/// All of it.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    groups: Vec<GroupData<'a>>,
    /// Figures over axes, where groups differ on one or two.
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<OverData>,
    /// Settings of the first run, which those of variants are compared with.
    base: Vec<(&'a str, String)>,
    /// The conclusion over an axis.
    said: Vec<String>,
    /// Labels, and what the glossary says of them.
    words: Vec<(Vec<String>, String)>,
}

/// Entries of the glossary under all labels that a page has for them, and counters of its runs.
fn words(groups: &[GroupData<'_>], sources: &[Source<'_>]) -> Vec<(Vec<String>, String)> {
    let entries = glossary::entries();
    let mut labels: Vec<Vec<String>> =
        entries.iter().map(|e| [&[e.label], e.also.as_slice()].concat()).map(owned).collect();
    let place = |entry: &glossary::Entry| entries.iter().position(|e| e == entry);
    for row in groups.iter().flat_map(|g| &g.rows) {
        let label = row.l.trim();
        let at = glossary::of(&entries, label).and_then(place);
        if let Some(labels) =
            at.map(|at| &mut labels[at]).filter(|all| all.iter().all(|l| l != label))
        {
            labels.push(label.to_string());
        }
    }
    let counters: BTreeSet<&str> = sources
        .iter()
        .flat_map(|s| &s.report.runs)
        .flat_map(|run| run.vmstat.iter())
        .map(|c| c.0)
        .collect();
    let known: BTreeSet<String> = labels.iter().flatten().cloned().collect();
    let counter = |name: &str| {
        let free = !known.contains(name);
        free.then(|| Some((vec![name.to_string()], glossary::counter(name)?.to_string()))).flatten()
    };
    let texts = entries.iter().map(|e| e.text.join("\n"));
    labels.into_iter().zip(texts).chain(counters.into_iter().filter_map(counter)).collect()
}

fn owned(all: Vec<&str>) -> Vec<String> {
    all.into_iter().map(str::to_string).collect()
}

/// An axis: places of its values and marks run from 0 to 1.
#[derive(Serialize)]
struct AxisData {
    name: String,
    title: String,
    values: Vec<String>,
    places: Vec<f64>,
    ticks: Vec<Tick>,
}

/// A mean and half its interval.
type Pair = (f64, Option<f64>);

/// A figure that some runs have: `at` is by group and variant.
#[derive(Serialize)]
struct FigureData {
    label: &'static str,
    /// The optimum of each group, where it bounds the figure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    optimum: Vec<Option<f64>>,
    at: Vec<Vec<Option<Pair>>>,
}

/// Figures over one axis or two, with the optimum of each group.
#[derive(Serialize)]
pub(super) struct OverData {
    axes: Vec<AxisData>,
    variants: Vec<String>,
    figures: Vec<FigureData>,
}

impl OverData {
    /// `None` unless the page is of one scenario that has one or two axes with several values.
    pub(super) fn of(sources: &[Source<'_>]) -> Option<OverData> {
        let [source] = sources else { return None };
        let settings = of_report(source.report);
        let first = settings.first()?;
        let alike = |s: &Setting| s.scenario == first.scenario;
        if first.axes.iter().count() > 2 || !settings.iter().all(alike) {
            return None;
        }
        let values = |name: &str| distinct(settings.iter().filter_map(|s| s.axes.get(name)));
        let axis = |(name, _): (&str, &String)| {
            let axis = Axis::new(name, &values(name));
            AxisData {
                title: axis.title(),
                places: (0..axis.values.len()).map(|i| axis.place(i)).collect(),
                ticks: axis.ticks(),
                name: axis.name,
                values: axis.values,
            }
        };
        let axes: Vec<AxisData> = first.axes.iter().map(axis).collect();
        if axes.is_empty() || axes.iter().any(|a| a.values.len() < 2) {
            return None;
        }
        let variants = distinct(settings.iter().map(|s| &s.variant));
        let groups = source.report.groups();
        let here = |g: &Group<'_>| settings.iter().filter(|s| s.axes == *g.axes).collect();
        let places: Vec<Vec<&Setting>> = groups.iter().map(here).collect();
        let least = |place: &Vec<&Setting>, figure: Figure| {
            let all = place.iter().filter_map(|s| s.optimum(figure)).map(|e| e.mean);
            all.min_by(f64::total_cmp)
        };
        let figure = |figure: Figure| {
            let optimum: Vec<_> = places.iter().map(|p| least(p, figure)).collect();
            let of = |place: &Vec<&Setting>| {
                let at = |v: &&str| pair(place.iter().find(|s| s.variant == *v)?.mean(figure));
                variants.iter().map(at).collect()
            };
            let at: Vec<Vec<_>> = places.iter().map(of).collect();
            let any = at.iter().flatten().flatten().any(|e| e.0 != 0.0);
            any.then(|| FigureData {
                label: label_of(&settings, figure),
                optimum: match optimum.iter().any(Option::is_some) {
                    true => optimum,
                    false => Vec::new(),
                },
                at,
            })
        };
        Some(OverData {
            figures: Figure::ALL.into_iter().filter_map(figure).collect(),
            variants: variants.into_iter().map(str::to_string).collect(),
            axes,
        })
    }
}

/// A table, and the runs behind it.
#[derive(Serialize)]
struct GroupData<'a> {
    heading: String,
    axes: &'a Pairs<String>,
    rows: Vec<RowData>,
    said: Vec<String>,
    variants: Vec<VariantData<'a>>,
}

#[derive(Serialize)]
struct VariantData<'a> {
    name: &'a str,
    kernel: &'a str,
    policy: &'a str,
    outcome: String,
    /// Settings that are not those of the base.
    set: Vec<(&'a str, String)>,
    /// Settings of the base that it does not have: knobs of another LRU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without: Vec<&'a str>,
    zones: &'a [ZoneReport],
    runs: Vec<RunData<'a>>,
}

/// `l`: label; `v`: values as tables print them; `c`: changes likewise; `m`: means and half
/// intervals; `d`: the same of changes in per cent; `s`: the value of each seed.
#[derive(Serialize)]
struct RowData {
    l: String,
    v: Vec<String>,
    c: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    m: Vec<Option<Pair>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    d: Vec<Option<Pair>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    s: Vec<Vec<(u64, f64)>>,
}

#[derive(Serialize)]
struct RunData<'a> {
    seed: u64,
    digest: &'a str,
    outcome: &'static str,
    end: u64,
    vmstat: Vec<(&'a str, u64)>,
    phases: Vec<PhaseData<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    acts: Vec<ActData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<SeriesData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gens: Option<GenerationData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<&'a Grid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<WhyData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    film: Option<FilmData<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damon: Vec<DamonData<'a>>,
}

#[derive(Serialize)]
struct PhaseData<'a> {
    name: &'a str,
    begin: u64,
    end: u64,
    some: f64,
    full: f64,
}

/// An act: when, who, what, on whom, why, and whether it kills.
type ActData<'a> = (u64, &'a str, &'a str, &'a str, &'a str, bool);

fn acts(run: &RunReport) -> Vec<ActData<'_>> {
    run.acts().iter().map(|a| (a.at_ns, a.who, a.what, a.target, a.why, a.kills)).collect()
}

#[derive(Serialize)]
struct SeriesData<'a> {
    stride: u64,
    t: Vec<i64>,
    cols: Vec<(&'a str, Vec<i64>)>,
}

/// A generation: number, anonymous pages, file pages.
type Plain = (u64, u64, u64);

/// Generations each time one begins, or at the ends of phases in runs without an observer.
#[derive(Serialize)]
struct GenerationData {
    stride: u64,
    at_phases: bool,
    at: Vec<(u64, Vec<Plain>)>,
}

fn differences(totals: &[u64]) -> Vec<i64> {
    let mut before = 0;
    let of = |&total: &u64| {
        let by = (total as i64).wrapping_sub(before);
        before = total as i64;
        by
    };
    totals.iter().map(of).collect()
}

fn pair(e: Option<Estimate>) -> Option<Pair> {
    e.map(|e| (e.mean, e.ci95))
}

impl RowData {
    fn of(row: Row) -> RowData {
        let values = |sample: &Vec<(u64, f64)>| sample.iter().map(|s| s.1).collect::<Vec<_>>();
        let means = row.samples.iter().map(|s| pair(estimate(&values(s)))).collect();
        let compared = |(sample, shown): (&Vec<(u64, f64)>, &String)| {
            pair(paired_change(&row.samples[0], sample)).filter(|_| shown != "-")
        };
        let changes = row.samples.iter().zip(&row.changes).map(compared).collect();
        RowData {
            m: means,
            d: changes,
            l: row.label,
            v: row.values,
            c: row.changes,
            s: row.samples,
        }
    }
}

fn settings(run: &RunReport) -> Vec<(&str, String)> {
    let knobs = run.knobs.iter().map(|(name, value)| (name, value.to_string()));
    knobs.chain(run.setup.iter().map(|(name, value)| (name, value.clone()))).collect()
}

impl<'a> PhaseData<'a> {
    fn of(phase: &'a PhaseReport) -> Self {
        PhaseData {
            name: &phase.name,
            begin: phase.begin_ns,
            end: phase.begin_ns + phase.sim_time_ns,
            some: phase.pressure.some_share,
            full: phase.pressure.full_share,
        }
    }
}

fn generations(run: &RunReport, watched: Option<&Generations>) -> Option<GenerationData> {
    let plain = |g: &Generation| (g.seq, g.nr_anon, g.nr_file);
    if let Some(watched) = watched.filter(|w| !w.beginnings.is_empty()) {
        let of = |(at, all): &(u64, Vec<Generation>)| (*at, all.iter().map(plain).collect());
        let at = watched.beginnings.iter().map(of).collect();
        return Some(GenerationData { stride: watched.stride, at_phases: false, at });
    }
    let of_phase = |phase: &PhaseReport| {
        let root = phase.lru_gen.iter().filter(|g| g.memcg.is_empty() && g.node == 0);
        let all: Vec<_> = root.map(|g| (g.seq, g.nr_anon, g.nr_file)).collect();
        (!all.is_empty()).then(|| (phase.begin_ns + phase.sim_time_ns, all))
    };
    let at: Vec<_> = run.phases.iter().filter_map(of_phase).collect();
    (!at.is_empty()).then_some(GenerationData { stride: 1, at_phases: true, at })
}

fn series(series: &Series) -> SeriesData<'_> {
    let of = |column: &'_ (String, Vec<u64>)| differences(&column.1);
    SeriesData {
        stride: series.stride,
        t: differences(&series.time_ns),
        cols: series.columns.iter().map(|c| (c.0.as_str(), of(c))).collect(),
    }
}

impl<'a> RunData<'a> {
    fn of(source: &Source<'a>, run: &'a RunReport) -> Self {
        // Groups hold references into the report.
        let place = source.report.runs.iter().position(|r| std::ptr::eq(r, run));
        let observed = place.and_then(|at| source.observed.get(at));
        RunData {
            seed: run.seed,
            digest: &run.digest,
            outcome: run.outcome.name(),
            end: run.sim_time_ns,
            vmstat: run.vmstat.iter().map(|(n, v)| (n, *v)).filter(|(_, v)| *v > 0).collect(),
            phases: run.phases.iter().map(PhaseData::of).collect(),
            acts: acts(run),
            series: observed.and_then(|o| o.series.as_ref()).map(series),
            gens: generations(run, observed.and_then(|o| o.generations.as_ref())),
            pages: observed.and_then(|o| o.pages.as_ref()),
            damon: observed.map_or(&[][..], |o| &o.damon).iter().map(DamonData::of).collect(),
            film: observed.and_then(|o| o.film.as_ref()).map(FilmData::of),
            why: run.why.as_ref().map(|w| WhyData::of(w, observed.map_or(&[], |o| &o.lives))),
        }
    }
}

fn group<'a>(source: &Source<'a>, group: &Group<'a>, base: &[(&'a str, String)]) -> GroupData<'a> {
    let variant = |v: &VariantRuns<'a>| {
        let first = v.runs[0];
        let all = settings(first);
        let lacks = |name: &&str| !all.iter().any(|s| s.0 == *name);
        let without = base.iter().map(|s| s.0).filter(lacks).collect();
        let set = all.into_iter().filter(|s| !base.contains(s)).collect();
        VariantData {
            name: v.name,
            kernel: &first.kernel,
            policy: &first.policy,
            outcome: v.outcome(),
            set,
            without,
            zones: &first.zones,
            runs: v.runs.iter().map(|run| RunData::of(source, run)).collect(),
        }
    };
    let name = if source.name.is_empty() { None } else { Some(source.name.to_string()) };
    let point = Some(crate::figure::heading(group)).filter(|h| !h.is_empty());
    let heading: Vec<String> = name.into_iter().chain(point).collect();
    GroupData {
        heading: heading.join(": "),
        axes: group.axes,
        rows: rows(group).into_iter().map(RowData::of).collect(),
        said: closing::sentences(group),
        variants: group.variants.iter().map(variant).collect(),
    }
}

impl<'a> Data<'a> {
    /// `shown`: the figure that the page begins with.
    pub(super) fn of(sources: &[Source<'a>], shown: Option<Figure>) -> Data<'a> {
        let first = sources.iter().find_map(|s| s.report.runs.first());
        let base = first.map(settings).unwrap_or_default();
        let of = |source: &Source<'a>| {
            let groups = source.report.groups();
            groups.iter().map(|g| group(source, g, &base)).collect::<Vec<_>>()
        };
        let groups: Vec<GroupData<'a>> = sources.iter().flat_map(of).collect();
        Data {
            words: words(&groups, sources),
            groups,
            over: OverData::of(sources),
            base,
            said: match sources {
                [source] => over::sentences(source.report, super::shown(source, shown)),
                _ => Vec::new(),
            },
        }
    }
}
