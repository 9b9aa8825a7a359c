//! Two reports beside each other: the same scenario before and after a change.
//!
//! Runs are paired: the same variant at the same point of the axes under the same seed has
//! the same accesses, so a pair differs by what was changed and by nothing that was drawn
//! at random. Where each report has a single variant, its name may differ (`v5.5` in one,
//! `v5.9` in the other), and pairs are made by axes and seed. Runs without a partner are
//! named and left out.
//!
//! A run that did not do all its work (it ran out of memory) has no figure that is compared: its
//! pair has outcomes and settings, and no values.
//!
//! A pair is worth comparing only if both did the same work. Two runs whose records or accesses
//! differ by more than 0.1 % are refused, unless the options choose counts per 1,000 records
//! (accesses, where the work has no records).
//!
//! Each pair of variants at a point of the axes makes one [`Compared`]: different settings, the
//! figures by which policies are compared, and all values ([`Row`]) with those that moved most in
//! front. [`rows`] says what moving is.

pub mod rows;

mod classes;

mod settings;

use serde::Serialize;

use super::acts::First;
use super::cells::{Cell, Cells};
use super::derived::Scope;
use super::document::{Report, RunReport, SCHEMA};
use super::groups::outcome_of;
use super::pairs::Pairs;
use classes::Held;
use mmsim_base::error::{Error, ErrorKind};

pub use classes::ALL;
pub use rows::{Moved, Row};
pub use settings::Setting;
pub(super) use settings::that_differ;

/// Options of a comparison of reports.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options<'a> {
    /// Only this phase.
    pub phase: Option<&'a str>,
    /// Counts for each 1,000 records, so that runs of different work can be compared.
    pub per_work: bool,
}

/// One of the two reports and what messages call it, as a rule its file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Side<'a> {
    /// Its name.
    pub name: &'a str,
    /// The report.
    pub report: &'a Report,
}

impl<'a> Side<'a> {
    /// A report under this name.
    pub fn new(name: &'a str, report: &'a Report) -> Self {
        Side { name, report }
    }
}

/// Sources of the comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// Name of the report, as a rule its file.
    pub name: String,
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// Its scenario.
    pub scenario: String,
    /// Its runs without a partner in the other report.
    pub left_out: Vec<String>,
}

/// The document of a comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form of documents.
    pub schema: u32,
    /// The first report.
    pub a: Source,
    /// The second.
    pub b: Source,
    /// The phase, if only one was compared.
    pub phase: Option<String>,
    /// True if counts are for each 1,000 records.
    pub per_work: bool,
    /// True if variants were paired whatever their names, as each report has only one.
    pub across_variants: bool,
    /// Pairs of variants at points of the axes, in the order of the first report.
    pub comparisons: Vec<Compared>,
}

/// A variant of the first report beside one of the second, at one point of the axes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// Name of the scenario, where the reports have several.
    pub scenario: Option<String>,
    /// The variant of the first report.
    pub variant_a: String,
    /// The variant of the second.
    pub variant_b: String,
    /// The point on the axes.
    pub axes: Pairs<String>,
    /// The seeds under which both did all their work: what figures and values are of.
    pub seeds: Vec<u64>,
    /// The seeds under which one of both did not: what they did is not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_early: Vec<u64>,
    /// Outcome of the runs of the first report.
    pub outcome_a: String,
    /// Outcome of those of the second.
    pub outcome_b: String,
    /// True if all runs ended in the same state: then nothing at all differs.
    pub identical: bool,
    /// Different settings.
    pub settings: Vec<Setting>,
    /// Assumptions of the first alone in making the traces that it replays.
    pub assumed_in_a: Vec<String>,
    /// Assumptions of the second alone.
    pub assumed_in_b: Vec<String>,
    /// First acts of the kernel and of each daemon, in the first pair of runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<Acts>,
    /// The figures of policies, in the order of tables.
    pub figures: Vec<Row>,
    /// Classes of what counters count, where both reports hold them: those that either has any of,
    /// in the order of their rules, and behind those of each kind their sum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Row>,
    /// The one report that holds classes, `a` or `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes_only_in: Option<&'static str>,
    /// All values, those that moved most in front.
    pub values: Vec<Row>,
}

/// Acts of one actor in two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Acts {
    /// The name of the daemon, or [`KERNEL`](crate::acts::KERNEL).
    pub who: String,
    /// Its first act in the run of the first report.
    pub a: Option<First>,
    /// The same in that of the second.
    pub b: Option<First>,
}

/// Acts of each actor of two runs.
fn acts(a: &RunReport, b: &RunReport) -> Vec<Acts> {
    let who = distinct(a.actors().into_iter().chain(b.actors()));
    who.into_iter()
        .map(|who| Acts { who: who.into(), a: a.first_act(who), b: b.first_act(who) })
        .collect()
}

/// A run with its partner.
type Pair<'a> = (&'a RunReport, &'a RunReport);

/// Compares `b` with `a`.
///
/// # Errors
///
/// Reports of different major versions of mmsim, without a run that both have, without the
/// requested phase, or of different work.
pub fn compare(a: Side<'_>, b: Side<'_>, options: Options<'_>) -> Result<Comparison, Error> {
    same_major(a, b)?;
    let several = [a, b].iter().any(|s| s.report.runs.iter().any(|r| r.scenario.is_some()));
    let across_variants = variants(a.report).len() == 1 && variants(b.report).len() == 1;
    let place = |side: Side<'_>, run: &RunReport| -> (Option<String>, Option<String>) {
        let scenario = run.scenario.clone().unwrap_or_else(|| side.report.scenario.clone());
        (several.then_some(scenario), (!across_variants).then(|| run.variant.clone()))
    };
    for side in [a, b] {
        no_run_twice(side, |run| place(side, run))?;
    }
    let partner = |run: &RunReport| {
        b.report.runs.iter().find(|other| {
            place(b, other) == place(a, run) && other.axes == run.axes && other.seed == run.seed
        })
    };
    let pairs: Vec<Pair<'_>> =
        a.report.runs.iter().filter_map(|run| Some((run, partner(run)?))).collect();
    if pairs.is_empty() {
        return Err(nothing_in_common(a, b, across_variants, several));
    }
    has_phase(a, b, &pairs, options.phase)?;

    let mut groups: Vec<Vec<Pair<'_>>> = Vec::new();
    for pair in &pairs {
        let same = |g: &&mut Vec<Pair<'_>>| {
            place(a, g[0].0) == place(a, pair.0) && g[0].0.axes == pair.0.axes
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(*pair),
            None => groups.push(vec![*pair]),
        }
    }
    let compared = |group: &Vec<Pair<'_>>| -> Result<Compared, Error> {
        let whole = |p: &&Pair<'_>| p.0.outcome.is_whole() && p.1.outcome.is_whole();
        let seeds_of = |pairs: &[Pair<'_>]| pairs.iter().map(|p| p.0.seed).collect();
        let (pairs, early): (Vec<Pair<'_>>, Vec<Pair<'_>>) =
            group.iter().partition(|pair| whole(pair));
        let scopes: Vec<(u64, Scope<'_>, Scope<'_>)> = pairs
            .iter()
            .filter_map(|(x, y)| Some((x.seed, scope(x, options.phase)?, scope(y, options.phase)?)))
            .collect();
        if !options.per_work {
            same_work(a, b, &pairs, options.phase)?;
        }
        let (x, y) = group[0];
        Ok(Compared {
            scenario: place(a, x).0,
            variant_a: x.variant.clone(),
            variant_b: y.variant.clone(),
            axes: x.axes.clone(),
            seeds: seeds_of(&pairs),
            ended_early: seeds_of(&early),
            outcome_a: outcome_of(group.iter().map(|p| p.0.outcome)),
            outcome_b: outcome_of(group.iter().map(|p| p.1.outcome)),
            identical: group.iter().all(|(x, y)| x.digest == y.digest && x.vmstat == y.vmstat),
            settings: that_differ(x, y),
            assumed_in_a: settings::assumed_only_in(x, y),
            assumed_in_b: settings::assumed_only_in(y, x),
            acts: acts(x, y),
            figures: rows::figures(&scopes, options.per_work),
            classes: classes::classes(&pairs, &scopes, options),
            classes_only_in: match classes::held(&pairs) {
                Held::OnlyA => Some("a"),
                Held::OnlyB => Some("b"),
                Held::Neither | Held::Both => None,
            },
            values: rows::values(&pairs, &scopes, options),
        })
    };
    let comparisons = groups.iter().map(compared).collect::<Result<Vec<_>, _>>()?;
    let source = |side: Side<'_>, paired: &dyn Fn(&RunReport) -> bool| Source {
        name: side.name.to_string(),
        mmsim: side.report.mmsim.clone(),
        scenario: side.report.scenario.clone(),
        left_out: side.report.runs.iter().filter(|r| !paired(r)).map(label).collect(),
    };
    Ok(Comparison {
        mmsim: env!("CARGO_PKG_VERSION").to_string(),
        schema: SCHEMA,
        a: source(a, &|run| pairs.iter().any(|p| std::ptr::eq(p.0, run))),
        b: source(b, &|run| pairs.iter().any(|p| std::ptr::eq(p.1, run))),
        phase: options.phase.map(str::to_string),
        per_work: options.per_work,
        across_variants: across_variants && comparisons.iter().any(|c| c.variant_a != c.variant_b),
        comparisons,
    })
}

/// A run, or one phase of it.
fn scope<'a>(run: &'a RunReport, phase: Option<&str>) -> Option<Scope<'a>> {
    match phase {
        None => Some(run.into()),
        Some(name) => run.phases.iter().find(|p| p.name == name).map(Scope::from),
    }
}

/// A run in a few words.
fn label(run: &RunReport) -> String {
    let scenario = run.scenario.iter().map(|s| format!("{s}: ")).collect::<String>();
    let axes: String = run.axes.iter().map(|(n, v)| format!(", {n} = {v}")).collect();
    format!("{scenario}{}{axes}, seed {}", run.variant, run.seed)
}

fn refuse(title: String, help: &str) -> Error {
    Error::new(ErrorKind::File, title).help(help)
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

fn variants(report: &Report) -> Vec<&str> {
    distinct(report.runs.iter().map(|r| r.variant.as_str()))
}

/// Another major version may count something else under the same name.
fn same_major(a: Side<'_>, b: Side<'_>) -> Result<(), Error> {
    let major = |s: Side<'_>| s.report.mmsim.split('.').next().unwrap_or_default().to_string();
    if major(a) == major(b) {
        return Ok(());
    }
    let title = format!(
        "{} was written by mmsim {}, {} by {}: major versions cannot be compared",
        a.name, a.report.mmsim, b.name, b.report.mmsim
    );
    Err(refuse(title, "run both scenarios with the same mmsim"))
}

fn no_run_twice(
    side: Side<'_>,
    place: impl Fn(&RunReport) -> (Option<String>, Option<String>),
) -> Result<(), Error> {
    if side.report.runs.is_empty() {
        let title = format!("{} is a report without runs", side.name);
        return Err(refuse(title, "write one with `mmsim run SCENARIO --format json -o FILE`"));
    }
    let mut seen: Vec<(&RunReport, _)> = Vec::new();
    for run in &side.report.runs {
        let at = place(run);
        if seen.iter().any(|(r, p)| *p == at && r.axes == run.axes && r.seed == run.seed) {
            let title = format!("{} has this run twice: {}", side.name, label(run));
            return Err(refuse(title, "write a report in which each run is there once"));
        }
        seen.push((run, at));
    }
    Ok(())
}

/// Why no run has a partner: the first of scenario, variant, axes and seed that has no
/// value in both reports, or else that no run has all of them.
fn nothing_in_common(a: Side<'_>, b: Side<'_>, across_variants: bool, several: bool) -> Error {
    let axes = |run: &RunReport| match run.axes.is_empty() {
        true => "none".to_string(),
        false => run.axes.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", "),
    };
    let scenario = |s: Side<'_>, run: &RunReport| {
        run.scenario.clone().unwrap_or_else(|| s.report.scenario.clone())
    };
    type Of<'a> = &'a dyn Fn(Side<'_>, &RunReport) -> String;
    let asked: [(&str, bool, Of<'_>, &str); 4] = [
        ("scenario", several, &scenario, "compare reports of the same scenarios"),
        (
            "variant",
            !across_variants,
            &|_, run| run.variant.clone(),
            "name them alike, or write reports with one variant each: `mmsim run --variant NAME`",
        ),
        ("point on the axes", true, &|_, run| axes(run), "run both with the same axes"),
        (
            "seed",
            true,
            &|_, run| run.seed.to_string(),
            "run both with the same `--seed` and `--seeds`",
        ),
    ];
    for (what, counts, of, help) in asked {
        let all = |s: Side<'_>| distinct(s.report.runs.iter().map(|run| of(s, run)));
        let (in_a, in_b) = (all(a), all(b));
        if counts && !in_a.iter().any(|v| in_b.contains(v)) {
            let title = format!(
                "{} and {} have no {what} in common: {} in the first, {} in the second",
                a.name,
                b.name,
                few(&in_a),
                few(&in_b)
            );
            return refuse(title, help);
        }
    }
    let title = format!("{} and {} have no run in common", a.name, b.name);
    refuse(title, "a pair needs the same variant, the same axes and the same seed")
}

/// The first of some names.
fn few(names: &[String]) -> String {
    let more = names.len().saturating_sub(5);
    let mut text = names[..names.len() - more].join("; ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

fn has_phase(
    a: Side<'_>,
    b: Side<'_>,
    pairs: &[Pair<'_>],
    phase: Option<&str>,
) -> Result<(), Error> {
    let Some(name) = phase else { return Ok(()) };
    // A run that died may not have come to the phase.
    let runs = pairs.iter().flat_map(|(x, y)| [(a, x), (b, y)]);
    for (side, run) in runs.filter(|(_, run)| run.outcome.is_whole()) {
        if scope(run, phase).is_none() {
            let names: Vec<String> = run.phases.iter().map(|p| p.name.clone()).collect();
            let help = match names.is_empty() {
                true => "it has no phases: leave --phase out".to_string(),
                false => format!("its phases are {}", names.join(", ")),
            };
            let title = format!("{}: no phase `{name}` in {}", side.name, label(run));
            return Err(refuse(title, &help));
        }
    }
    Ok(())
}

fn same_work(
    a: Side<'_>,
    b: Side<'_>,
    group: &[Pair<'_>],
    phase: Option<&str>,
) -> Result<(), Error> {
    for (x, y) in group {
        let (Some(of_a), Some(of_b)) = (scope(x, phase), scope(y, phase)) else { continue };
        let works =
            [(of_a.records, of_b.records, "records"), (of_a.accesses, of_b.accesses, "accesses")];
        let differs = |m: u64, n: u64| m.abs_diff(n) as f64 > m.max(n) as f64 * 1e-3;
        if let Some((m, n, what)) = works.into_iter().find(|w| differs(w.0, w.1)) {
            let at = phase.map_or(String::new(), |p| format!(", phase {p}"));
            let title = format!(
                "{} and {} did different work: {m} and {n} {what} ({}{at})",
                a.name,
                b.name,
                label(x)
            );
            let help = "compare runs of the same work, or counts per 1,000 records with --per-work";
            return Err(refuse(title, help));
        }
    }
    Ok(())
}

impl Compared {
    /// Values that moved.
    pub fn moved(&self) -> impl Iterator<Item = &Row> {
        self.values.iter().filter(|r| matches!(r.moved, Moved::Up | Moved::Down))
    }

    /// Number of values with this verdict.
    pub fn count(&self, moved: Moved) -> usize {
        self.values.iter().filter(|r| r.moved == moved).count()
    }

    /// The two variants, or the one that they share, with the axes.
    pub fn label(&self) -> String {
        let scenario = self.scenario.iter().map(|s| format!("{s}: ")).collect::<String>();
        let axes: String = self.axes.iter().map(|(n, v)| format!(", {n} = {v}")).collect();
        match self.variant_a == self.variant_b {
            true => format!("{scenario}{}{axes}", self.variant_a),
            false => format!("{scenario}{} (A) and {} (B){axes}", self.variant_a, self.variant_b),
        }
    }
}

impl Comparison {
    /// Pairs of variants whose runs ended otherwise in one report than in the other.
    pub fn ended_otherwise(&self) -> impl Iterator<Item = &Compared> {
        self.comparisons.iter().filter(|c| c.outcome_a != c.outcome_b)
    }

    /// The values that moved by more than `pct` per cent ([`Row::movement_pct`]).
    pub fn moved_above(&self, pct: f64) -> Vec<(&Compared, &Row)> {
        let of = |c| Compared::moved(c).filter(|r| r.movement() > pct).map(move |r| (c, r));
        self.comparisons.iter().flat_map(of).collect()
    }

    /// The document as indented JSON that ends with a newline.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a comparison is plain data");
        json.push('\n');
        json
    }

    /// One row per outcome, per setting that differs, per assumption that only one side rests on, and per
    /// value; what is undefined is empty.
    pub fn cells(&self) -> Cells {
        const NUMBERS: [&str; 5] =
            ["difference", "difference_ci95", "change_pct", "change_ci95", "movement_pct"];
        let mut cells = Cells::headed(
            "scenario,variant_a,variant_b,axes,outcome_a,outcome_b,kind,name,a,b,difference,\
             difference_ci95,change_pct,change_ci95,movement_pct,moved",
            &NUMBERS,
        );
        for c in &self.comparisons {
            let axes: Vec<String> = c.axes.iter().map(|(n, v)| format!("{n}={v}")).collect();
            let scenario = c.scenario.as_ref().unwrap_or(&self.a.scenario);
            let axes = axes.join(";");
            let outcomes = [&c.outcome_a, &c.outcome_b];
            let who = [scenario, &c.variant_a, &c.variant_b, &axes, outcomes[0], outcomes[1]];
            let who = who.map(Cell::from);
            let mut row = |kind: &str, name: &str, values: [Cell; 2], change: [Cell; 6]| {
                let row = who.iter().cloned().chain([kind, name].map(Cell::from));
                cells.row(row.chain(values).chain(change));
            };
            let none = || [const { Cell::Empty }; 6];
            // A pair without values has a row all the same.
            row("outcome", "outcome", outcomes.map(Cell::from), none());
            for s in &c.settings {
                row("setting", &s.name, [&s.a, &s.b].map(Cell::from), none());
            }
            for (sentences, of) in [(&c.assumed_in_a, [1, 0]), (&c.assumed_in_b, [0, 1])] {
                sentences.iter().for_each(|s| row("assumed", s, of.map(Cell::Whole), none()));
            }
            for act in &c.acts {
                let at = [&act.a, &act.b].map(|first| first.as_ref().map(|f| f.at_ns).into());
                row("act", &format!("{}.first_act_ns", act.who), at, none());
                let acts = [&act.a, &act.b];
                let acts = acts.map(|first| Cell::Whole(first.as_ref().map_or(0, |f| f.acts)));
                row("act", &format!("{}.acts", act.who), acts, none());
            }
            for r in c.figures.iter().chain(&c.classes).chain(&c.values) {
                let change = [
                    r.difference.mean.into(),
                    r.difference.ci95.into(),
                    r.change.map(|c| c.mean).into(),
                    r.change.and_then(|c| c.ci95).into(),
                    r.movement_pct.into(),
                    r.moved.name().into(),
                ];
                row(r.kind, &r.name, [r.a.into(), r.b.into()], change);
            }
        }
        cells
    }

    /// The same as CSV.
    pub fn to_csv(&self) -> String {
        self.cells().to_csv()
    }
}

#[cfg(test)]
mod tests;
