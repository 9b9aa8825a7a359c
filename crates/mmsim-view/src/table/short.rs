//! The short table: a line for each variant with the figures that differ, its change from the base
//! below it, then the sentences, then the machine.

use mmsim::marks;
use mmsim::report::Report;
use mmsim::report::derived::{Figure, Scope};
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::numbers::{grouped_row, per_cent};
use mmsim::report::statistics::{Estimate, estimate, paired_change};
use mmsim::report::{RunReport, closing};

use super::width::{GAP, Width};
use super::{Shown, based, change, grid, heading_of, machine, wrap};
use crate::figure::{mean_of, more_is_better};

/// Columns that a short table takes at most.
const MOST: usize = 80;

/// Values by seed, variant by variant.
type Samples = Vec<Vec<(u64, f64)>>;

/// A column of the table: what it may show, its head, and its rank when room is short.
struct Candidate {
    head: &'static str,
    /// Lower ones stay longer.
    rank: u8,
    of: Figure,
}

/// Columns in their order from left to right.
const CANDIDATES: [Candidate; 11] = [
    Candidate { head: "swap-ins", rank: 1, of: Figure::SwapIns },
    Candidate { head: "major faults", rank: 6, of: Figure::MajorFaults },
    Candidate { head: "miss ratio, %", rank: 8, of: Figure::MissRatio },
    Candidate { head: "refaults", rank: 0, of: Figure::Refaults },
    Candidate { head: "optimum", rank: 4, of: Figure::Optimum },
    Candidate { head: "stalls", rank: 5, of: Figure::DirectReclaimStalls },
    Candidate { head: "pressure, %", rank: 3, of: Figure::MemoryPressure },
    Candidate { head: "reads, s", rank: 7, of: Figure::ReadingTime },
    Candidate { head: "resident, MiB", rank: 2, of: Figure::MeanResident },
    Candidate { head: "host, MiB", rank: 2, of: Figure::HostHeld },
    Candidate { head: "per s", rank: 2, of: Figure::Throughput },
];

impl Candidate {
    fn samples(&self, group: &Group<'_>, per_records: bool) -> Samples {
        let of_run = |run: &RunReport| match per_records && self.of.path().grows_with_work() {
            true => self.of.per_1000_records(Scope::from(run)),
            false => self.of.of(Scope::from(run)),
        };
        let of_variant = |v: &VariantRuns<'_>| {
            v.whole().filter_map(|run| Some((run.seed, of_run(run)?))).collect()
        };
        group.variants.iter().map(of_variant).collect()
    }

    fn head(&self, group: &Group<'_>) -> String {
        match self.of {
            Figure::Throughput => {
                let whole = group.variants.iter().flat_map(VariantRuns::whole);
                let label = self.of.label_of(whole.map(|run| run.records));
                label.trim_start_matches("throughput, ").to_string()
            }
            _ => self.head.to_string(),
        }
    }
}

/// A column of a group: its head, a value of each variant, and what stands below the value.
struct Column {
    rank: u8,
    head: String,
    values: Vec<String>,
    below: Vec<String>,
}

fn mean(sample: &[(u64, f64)]) -> Option<Estimate> {
    estimate(&sample.iter().map(|s| s.1).collect::<Vec<_>>())
}

/// Half an interval with as many decimals as its mean has.
fn half(mean: f64, half: f64) -> String {
    let shown =
        grouped_row(&[Some(mean), Some(if mean.abs() >= 100.0 { half.round() } else { half })]);
    format!("±{}", shown[1])
}

/// The change of a variant from the base with its interval, or the interval of the base itself.
fn below(of: Figure, samples: &Samples, i: usize, base: usize, width: Width) -> String {
    if i == base {
        let own = mean(&samples[i]).and_then(|e| Some(half(e.mean, e.ci95?)));
        return own.unwrap_or_default();
    }
    match paired_change(&samples[base], &samples[i]) {
        None => "-".to_string(),
        Some(Estimate { mean, ci95: Some(half), .. }) => {
            let cell = format!("{} ±{half:.1}", per_cent(mean).trim_end_matches(" %"));
            change(cell, of.label(), mean, Some(half), width)
        }
        Some(change) => per_cent(change.mean).trim_end_matches(" %").to_string(),
    }
}

/// The columns of a group: figures that are not zero everywhere, of several variants only those that
/// differ, if any does, and `by`.
fn columns(group: &Group<'_>, base: usize, by: Option<Figure>, width: Width) -> Vec<Column> {
    let per_records = group.work_differs();
    let all: Vec<(&Candidate, Samples)> =
        CANDIDATES.iter().map(|c| (c, c.samples(group, per_records))).collect();
    let swap_ins = all[0].1.clone();
    let whole = || group.variants.iter().flat_map(VariantRuns::whole);
    let calls = whole().any(|run| run.cache_misses.is_some_and(|n| n > 0));
    let shown = |(c, samples): &&(&Candidate, Samples)| {
        // Where all major faults are swap-ins, one of the two is enough.
        let again = c.of == Figure::MajorFaults && *samples == swap_ins;
        // Where nothing is read by calls, the miss ratio says what faults say.
        let again = again || c.of == Figure::MissRatio && !calls;
        !again && samples.iter().flatten().any(|s| s.1 != 0.0)
    };
    let differs = |(c, samples): &&(&Candidate, Samples)| {
        c.of == Figure::Optimum || samples.windows(2).any(|w| w[0] != w[1])
    };
    let any = all.iter().filter(shown).any(|c| differs(&c));
    let asked = |c: &Candidate| by == Some(c.of);
    let kept = all.iter().filter(|c| asked(c.0) || shown(c) && (!any || differs(c)));
    let column = |(c, samples): &(&Candidate, Samples)| {
        let means: Vec<Option<f64>> = samples.iter().map(|s| mean(s).map(|e| e.mean)).collect();
        Column {
            rank: if asked(c) { 0 } else { c.rank + 1 },
            head: c.head(group),
            values: grouped_row(&means),
            below: match c.of {
                Figure::Optimum => vec![String::new(); samples.len()],
                _ => (0..samples.len()).map(|i| below(c.of, samples, i, base, width)).collect(),
            },
        }
    };
    kept.map(column).collect()
}

/// The columns that find room beside the names, those of the lowest rank first.
fn fitting(columns: Vec<Column>, names: usize, limit: usize) -> Vec<Column> {
    let width = |c: &Column| {
        let cells = c.values.iter().chain(&c.below).map(|t| marks::columns(t));
        GAP + cells.max().unwrap_or(0).max(c.head.chars().count())
    };
    let mut by_rank: Vec<(usize, u8)> = columns.iter().map(|c| c.rank).enumerate().collect();
    by_rank.sort_by_key(|c| c.1);
    let mut room = limit.saturating_sub(names);
    let mut kept = vec![false; columns.len()];
    for (i, _) in by_rank {
        if let Some(rest) = room.checked_sub(width(&columns[i])) {
            (room, kept[i]) = (rest, true);
        }
    }
    columns.into_iter().zip(kept).filter(|c| c.1).map(|c| c.0).collect()
}

/// Variants by a figure, the best first; those without it last.
fn sorted(group: &Group<'_>, by: Option<Figure>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..group.variants.len()).collect();
    let Some(by) = by else { return order };
    let value = |i: &usize| mean_of(&group.variants[*i], by).map(|e| e.mean);
    order.sort_by(|a, b| match (value(a), value(b)) {
        (Some(x), Some(y)) if more_is_better(by) => y.total_cmp(&x),
        (Some(x), Some(y)) => x.total_cmp(&y),
        (x, y) => x.is_none().cmp(&y.is_none()),
    });
    order
}

/// The table of a group.
fn table(group: &Group<'_>, shown: &Shown, width: Width) -> String {
    let base = group.variants.iter().position(|v| Some(v.name) == shown.base.as_deref());
    let base = base.unwrap_or(0);
    let order = sorted(group, shown.by);
    let limit = width.of_numbers().min(MOST);
    let runs = group.variants.iter().map(|v| v.runs.len()).max().unwrap_or(0);
    let dead = group.variants.iter().any(|v| v.outcome() != "completed");
    let several = group.variants.len() > 1;
    let mut names: Vec<Vec<String>> = vec![vec!["variant".to_string()]];
    names[0].extend(dead.then(|| "outcome".to_string()));
    for v in &group.variants {
        let mut name = vec![super::width::cut(v.name, limit / 3)];
        name.extend(dead.then(|| v.outcome()));
        names.push(name);
    }
    let of_names = |i: usize| names.iter().map(|n| n[i].chars().count()).max().unwrap_or(0);
    let taken: usize = (0..names[0].len()).map(|i| of_names(i) + GAP).sum::<usize>() - GAP;
    let columns = fitting(columns(group, base, shown.by, width), taken, limit);
    let mut out = String::new();
    let mut said = Vec::new();
    if runs > 1 {
        said.push(format!("means over {runs} seeds"));
    }
    if group.work_differs() {
        said.push("counts per 1,000 records".to_string());
    }
    if several {
        let against = format!("below each: change from {} in %", group.variants[base].name);
        said.push(if runs > 1 { against + " ± 95 % confidence" } else { against });
    }
    if !said.is_empty() {
        out += &wrap(&said.join("; "), 0, Width::of(limit));
    }
    let mut head: Vec<&str> = names[0].iter().map(String::as_str).collect();
    head.extend(columns.iter().map(|c| c.head.as_str()));
    let mut lines: Vec<Vec<String>> = Vec::new();
    for i in order.into_iter().take(shown.top.unwrap_or(usize::MAX)) {
        let name = &names[i + 1];
        lines.push(
            name.iter().cloned().chain(columns.iter().map(|c| c.values[i].clone())).collect(),
        );
        if columns.iter().any(|c| !c.below[i].is_empty()) {
            let blank = vec![String::new(); name.len()];
            lines.push(
                blank.into_iter().chain(columns.iter().map(|c| c.below[i].clone())).collect(),
            );
        }
    }
    out + &grid(Some(&head), lines, names[0].len(), Width::of(limit))
}

/// The short table of a report: results first, the machine after them.
pub(super) fn report(report: &Report, shown: &Shown, width: Width) -> String {
    let mut out = wrap(&heading_of(report), 0, width);
    for group in report.groups() {
        out.push('\n');
        let heading = crate::figure::heading(&group);
        if !heading.is_empty() {
            out += &wrap(&heading, 0, width);
        }
        out += &table(&group, shown, width);
        let sentences = closing::sentences(&based(group, shown.base.as_deref()));
        out += if sentences.is_empty() { "" } else { "\n" };
        out.extend(sentences.iter().map(|sentence| wrap(sentence, 2, width)));
    }
    out.push('\n');
    out + &machine(report, width)
}
