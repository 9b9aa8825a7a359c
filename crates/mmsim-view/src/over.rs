//! A figure over axes in sentences: where it falls most, where variants differ, and how far the
//! optimum is.
//!
//! Composed by rule from means and paired changes; they claim no cause.

use mmsim::report::Report;
use mmsim::report::derived::{Figure, Scope};
use mmsim::report::groups::{Group, VariantRuns};
use mmsim::report::numbers::grouped;
use mmsim::report::statistics::{Estimate, paired_change};

use crate::curve::Curve;
use crate::figure::more_is_better;
use crate::settings::of_report;

/// The sentences; none where the report is of no axis. Over several axes they count the settings at
/// which variants differ.
pub fn sentences(report: &Report, figure: Figure) -> Vec<String> {
    let groups = report.groups();
    let (mut label, all) = match Curve::of(&of_report(report), figure) {
        Some(curve) => {
            let differences = differences(&groups, figure, "values");
            (curve.label.to_string(), [steepest(&curve, figure), differences, distance(&curve)])
        }
        None if groups.len() > 1 && groups.iter().all(|g| g.axes.len() > 1) => {
            (figure.label().to_string(), [differences(&groups, figure, "settings"), None, None])
        }
        None => return Vec::new(),
    };
    label[..1].make_ascii_uppercase();
    all.into_iter().flatten().map(|sentence| format!("{label}: {sentence}")).collect()
}

/// Where the line of the first variant falls most between neighbours.
fn steepest(curve: &Curve, figure: Figure) -> Option<String> {
    if more_is_better(figure) || curve.axis.at.is_none() {
        return None;
    }
    let line = curve.lines.first()?;
    let order = curve.axis.order();
    let fall = |pair: &[usize]| {
        let (from, to) = (line.points[pair[0]].as_ref()?, line.points[pair[1]].as_ref()?);
        Some((from.mean - to.mean, pair[0], pair[1]))
    };
    let (by, from, to) = order
        .windows(2)
        .filter_map(fall)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|f| f.0 > 0.0)?;
    let at = |i: usize| line.points[i].as_ref().map_or(0.0, |e| e.mean);
    let values = &curve.axis.values;
    (by > 0.0).then(|| {
        format!(
            "`{}` falls most between {} and {}, from {} to {}.",
            line.name,
            values[from],
            values[to],
            grouped(at(from)),
            grouped(at(to))
        )
    })
}

/// The change of a variant from the first at one value of the axis: -1, 0, 1; `None` where one of
/// them has no figure. With an interval it has to leave out zero.
fn order(first: &VariantRuns<'_>, other: &VariantRuns<'_>, figure: Figure) -> Option<i32> {
    let of = |v: &VariantRuns<'_>| v.values(None, |scope: Scope<'_>| figure.of(scope));
    let (a, b) = (of(first), of(other));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let sum = |all: &[(u64, f64)]| all.iter().map(|v| v.1).sum::<f64>();
    let raw = sum(&b) / b.len() as f64 - sum(&a) / a.len() as f64;
    let proven = match paired_change(&a, &b) {
        Some(e @ Estimate { ci95: Some(_), .. }) => e.differs_from_zero(),
        // One seed; or a change from nothing, which has no percentage.
        _ => raw != 0.0,
    };
    Some(if proven { raw.total_cmp(&0.0) as i32 } else { 0 })
}

/// Numbers of values, or of settings, at which each other variant has less and more than the first.
fn differences(groups: &[Group<'_>], figure: Figure, points: &str) -> Option<String> {
    let first = groups.first()?.variants.first()?.name;
    let mut names: Vec<&str> = Vec::new();
    for v in groups.iter().flat_map(|g| &g.variants) {
        if v.name != first && !names.contains(&v.name) {
            names.push(v.name);
        }
    }
    let one = |name: &&str| {
        let find = |g: &Group<'_>| {
            let of = |name: &str| g.variants.iter().find(|v| v.name == name);
            order(of(first)?, of(name)?, figure)
        };
        let all: Vec<i32> = groups.iter().filter_map(find).collect();
        let count = |sign: i32| all.iter().filter(|s| **s == sign).count();
        match (count(-1), count(1), all.len()) {
            (_, _, 0) => format!("`{name}` is nowhere beside it"),
            (0, 0, n) => format!("`{name}` differs at none of {n} {points}"),
            (less, 0, n) => format!("`{name}` has less at {less} of {n} {points}"),
            (0, more, n) => format!("`{name}` has more at {more} of {n} {points}"),
            (less, more, n) => {
                format!("`{name}` has less at {less} of {n} {points}, more at {more}")
            }
        }
    };
    let each: Vec<String> = names.iter().map(one).collect();
    let seeds = groups.iter().flat_map(|g| &g.variants).map(|v| v.whole().count()).max()?;
    let noise = if seeds > 1 { ", beyond the noise between seeds" } else { "" };
    (!each.is_empty()).then(|| format!("against `{first}`{noise}, {}.", each.join("; ")))
}

/// The largest distance from the optimum.
fn distance(curve: &Curve) -> Option<String> {
    let optimum = curve.lines.iter().find(|line| line.optimum)?;
    let gaps = curve.lines.iter().filter(|line| !line.optimum).flat_map(|line| {
        let gap = move |i: usize| {
            let (own, least) = (line.points[i].as_ref()?.mean, optimum.points[i].as_ref()?.mean);
            Some((own - least, line, i, own, least))
        };
        (0..curve.axis.values.len()).filter_map(gap)
    });
    let (_, line, i, own, least) = gaps.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|g| g.0 > 0.0)?;
    Some(format!(
        "`{}` is farthest from the optimum at {}, with {} against {}.",
        line.name,
        curve.axis.values[i],
        grouped(own),
        grouped(least)
    ))
}

#[cfg(test)]
mod tests {
    use mmsim::report::RunReport;
    use mmsim::{RunOptions, Scenario, run};

    use super::*;

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
"machine.zone[0].managed" = ["3MiB", "2MiB", "10MiB"]

[[task]]
name = "heap"
workload = "zipf"
memory = "4MiB"
accesses = 20000

[[variant]]
name = "a"
reclaim = { preset = "classic-v6.12" }

[[variant]]
name = "b"
reclaim = { preset = "classic-v6.12" }
"#;
        let scenario = Scenario::from_str(text, "sizes.toml").expect("a scenario");
        run(&scenario, &RunOptions::default()).expect("runs")
    }

    /// At 10 MiB everything fits: the fall is between the two largest, wherever they stand in the
    /// report, and equal variants differ nowhere.
    #[test]
    fn a_curve_has_a_conclusion() {
        let said = sentences(&sizes(), Figure::SwapIns);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("Swap-ins: `a` falls most between 3MiB and 10MiB, from "));
        assert!(said[0].ends_with(" to 0."), "{said:?}");
        let none = "Swap-ins: against `a`, beyond the noise between seeds, \
                    `b` differs at none of 3 values.";
        assert_eq!(said[1], none);
        assert!(said[2].contains("is farthest from the optimum at 2MiB"), "{said:?}");
        assert!(sentences(&Report::new("", "", Vec::new()), Figure::SwapIns).is_empty());
    }

    /// Over two axes there is no fall; the settings at which variants differ are counted over all.
    #[test]
    fn a_map_has_a_conclusion() {
        let mut report = sizes();
        report.runs.iter_mut().for_each(|run| run.axes.set("machine.cpus", "1".to_string()));
        let none = "Swap-ins: against `a`, beyond the noise between seeds, \
                    `b` differs at none of 3 settings.";
        assert_eq!(sentences(&report, Figure::SwapIns), [none]);
    }

    /// More of the second variant at one size, in both seeds by the same share.
    #[test]
    fn what_exceeds_the_noise_is_counted() {
        let mut report = sizes();
        let double = |run: &mut RunReport| {
            let swap_ins = run.vmstat.get("pswpin").copied().expect("the counter");
            run.vmstat.set("pswpin", swap_ins * 2);
        };
        let at = |run: &&mut RunReport| run.axes.iter().any(|(_, value)| value == "2MiB");
        report.runs.iter_mut().filter(|run| run.variant == "b").filter(at).for_each(double);
        let said = sentences(&report, Figure::SwapIns);
        assert!(said[1].ends_with("`b` has more at 1 of 3 values."), "{said:?}");
    }
}
