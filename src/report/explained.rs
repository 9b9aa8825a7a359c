//! The sentences about why: which class of evictions makes the change of refaults, for runs that
//! were followed.
//!
//! Composed by rule. Each variant is held against the first, seed by seed. A change whose 95 %
//! interval holds zero is within noise. Otherwise the class is named whose change is the largest,
//! with its part of the whole. Of a variant that differs from the first in one setting only, that
//! setting makes all of it.

use mmsim_why::Class;

use super::compare::that_differ;
use super::document::RunReport;
use super::groups::{Group, VariantRuns};
use super::numbers::grouped;
use super::statistics::{Estimate, estimate};

/// The sentences of a group; none without followed runs of several variants and seeds.
pub fn sentences(group: &Group<'_>) -> Vec<String> {
    let Some((first, others)) = group.variants.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| sentence(first, other)).collect()
}

/// Refaults of both runs of each seed, all or of one class.
fn changes(pairs: &[(&RunReport, &RunReport)], class: Option<Class>) -> Option<Vec<f64>> {
    let count = |run: &RunReport| {
        let why = run.why.as_ref()?;
        Some(match class {
            None => why.refaults,
            Some(c) => why.classes.iter().find(|r| r.class == c.key()).map_or(0, |r| r.count()),
        })
    };
    pairs.iter().map(|(a, b)| Some(count(b)? as f64 - count(a)? as f64)).collect()
}

fn shown(e: &Estimate) -> String {
    let sign = if e.mean > 0.0 { "+" } else { "" };
    format!("{sign}{} ±{}", grouped(e.mean.round()), grouped(e.ci95.unwrap_or(0.0).round()))
}

fn sentence(first: &VariantRuns<'_>, other: &VariantRuns<'_>) -> Option<String> {
    let partner = |seed: u64| other.whole().find(|b| b.seed == seed);
    let pairs: Vec<(&RunReport, &RunReport)> =
        first.whole().filter_map(|a| Some((a, partner(a.seed)?))).collect();
    if pairs.len() < 2 {
        return None;
    }
    let all = changes(&pairs, None)?;
    let whole = estimate(&all)?;
    let names = format!("Refaults from `{}` to `{}`", first.name, other.name);
    if !whole.differs_from_zero() {
        return Some(format!("{names}: {}, which is within noise.", shown(&whole)));
    }
    let of_class = |class: &Class| Some((*class, changes(&pairs, Some(*class))?));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (class, values) = Class::ALL
        .iter()
        .filter_map(of_class)
        .reduce(|x, y| if mean(&y.1).abs() > mean(&x.1).abs() { y } else { x })?;
    // A seed without a change has no part of it.
    let parts = values.iter().zip(&all).filter(|(_, all)| **all != 0.0);
    let part = estimate(&parts.map(|(v, all)| v / all * 100.0).collect::<Vec<_>>())?;
    let part = format!("{:.0} % ±{:.0}", part.mean, part.ci95.unwrap_or(0.0));
    let switch = match that_differ(pairs[0].0, pairs[0].1).as_slice() {
        [only] => format!("; all of it is by `{}`", only.name),
        _ => String::new(),
    };
    let class = class.words();
    Some(format!("{names}: {}, of which `{class}` makes {part}{switch}.", shown(&whole)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{ClassReport, KnobValue, Report, WhyReport, samples};

    /// Runs of variant and seed with refaults of capacity and of order.
    fn report(of: &[(&str, u64, u64, u64)]) -> Report {
        let run = |&(name, seed, capacity, order): &(&str, u64, u64, u64)| {
            let mut run = RunReport::from_result(samples::meta(name, seed), &samples::result(1, 5));
            let class = |class: &str, anon| ClassReport {
                class: class.into(),
                anon,
                ..ClassReport::default()
            };
            let classes = vec![class("capacity", capacity), class("order", order)];
            let refaults = capacity + order;
            run.why = Some(WhyReport { refaults, classes, ..WhyReport::default() });
            run
        };
        Report::new("x", "", of.iter().map(run).collect())
    }

    fn say(report: &Report) -> Vec<String> {
        sentences(&report.groups()[0])
    }

    /// From 1,000 to 1,100 and from 1,010 to 1,112: 100 and 102, of which 90 and 91.8 are order.
    #[test]
    fn the_largest_class_is_named_with_its_part() {
        let mut r = report(&[
            ("a", 1, 900, 100),
            ("a", 2, 910, 100),
            ("b", 1, 910, 190),
            ("b", 2, 920, 192),
        ]);
        let said = "Refaults from `a` to `b`: +101 ±13, of which `order` makes 90 % ±1.";
        assert_eq!(say(&r), [said]);
        r.runs[2..].iter_mut().for_each(|run| run.knobs.set("swappiness", KnobValue::Whole(1)));
        assert!(say(&r)[0].ends_with("; all of it is by `swappiness`."), "{:?}", say(&r));
    }

    #[test]
    fn noise_is_said_to_be_noise_and_one_seed_says_nothing() {
        let noisy = report(&[("a", 1, 9, 0), ("a", 2, 9, 0), ("b", 1, 10, 0), ("b", 2, 8, 0)]);
        assert_eq!(say(&noisy), ["Refaults from `a` to `b`: 0 ±13, which is within noise."]);
        assert!(say(&report(&[("a", 1, 9, 0), ("b", 1, 1000, 0)])).is_empty());
        let mut not_followed = noisy.clone();
        not_followed.runs[3].why = None;
        assert!(say(&not_followed).is_empty());
    }
}
