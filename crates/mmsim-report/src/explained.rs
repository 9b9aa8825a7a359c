//! The sentences about why: which class of evictions makes the change of refaults, for runs that
//! were followed.
//!
//! Composed by rule. Each variant is compared with the first, seed by seed. A change whose 95 %
//! interval holds zero is within noise. Otherwise the class is named whose change is the largest,
//! with its part of the whole: the ratio of both means. A class that changes by more than the
//! whole, or against it, is named with its change and that of all others. Where the interval of
//! that part holds zero, no class is named. Of a variant that differs from the first in one setting
//! only, that setting makes all of it.
//!
//! Where one of two policies keeps no shadows of files, refaults of anonymous memory alone are
//! compared. Where one keeps none of anonymous pages, its swap-ins stand for them, and the sentence
//! says so.

use mmsim_core::base::vmstat::VmEvent;
use mmsim_why::Class;

use super::compare::that_differ;
use super::document::{ClassReport, RunReport, WhyReport};
use super::groups::{Group, VariantRuns};
use super::numbers::grouped;
use super::statistics::{Estimate, estimate, ratio_of_means};

/// The sentences of a group; none without followed runs of several variants and seeds.
pub fn sentences(group: &Group<'_>) -> Vec<String> {
    let Some((first, others)) = group.variants.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| sentence(first, other)).collect()
}

/// Counters that both runs of each pair have.
struct Counters {
    /// Refaults of files as well.
    files: bool,
    /// Behind the names of both: whose swap-ins stand for refaults, where the other's do not.
    behind: [&'static str; 2],
    what: &'static str,
}

impl Counters {
    fn of(a: &WhyReport, b: &WhyReport) -> Counters {
        let files = a.file_counter.is_some() && b.file_counter.is_some();
        let either = a.file_counter.is_some() || b.file_counter.is_some();
        let behind = |own: &WhyReport| match a.anon_counter == b.anon_counter {
            false if own.anon_counter == VmEvent::PswpIn.name() => " (swap-ins)",
            _ => "",
        };
        let what = if either && !files { "Refaults of anonymous memory" } else { "Refaults" };
        Counters { files, behind: [behind(a), behind(b)], what }
    }

    fn count(&self, of: &ClassReport) -> u64 {
        of.anon + if self.files { of.file } else { 0 }
    }
}

/// Differences between both runs of each seed, of all classes or of one.
fn changes(
    pairs: &[(&WhyReport, &WhyReport)],
    counters: &Counters,
    class: Option<Class>,
) -> Vec<f64> {
    let of = |why: &WhyReport| -> u64 {
        let meant = |c: &&ClassReport| class.is_none_or(|class| c.class == class.key());
        why.classes.iter().filter(meant).map(|c| counters.count(c)).sum()
    };
    pairs.iter().map(|(a, b)| of(b) as f64 - of(a) as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn shown(e: &Estimate) -> String {
    let sign = if e.mean > 0.0 { "+" } else { "" };
    format!("{sign}{} ±{}", grouped(e.mean.round()), grouped(e.ci95.unwrap_or(0.0).round()))
}

fn sentence(first: &VariantRuns<'_>, other: &VariantRuns<'_>) -> Option<String> {
    let partner = |seed: u64| other.whole().find(|b| b.seed == seed);
    let runs: Vec<(&RunReport, &RunReport)> =
        first.whole().filter_map(|a| Some((a, partner(a.seed)?))).collect();
    let followed = |(a, b): &(&RunReport, &RunReport)| a.why.is_some() && b.why.is_some();
    if runs.len() < 2 || !runs.iter().all(followed) {
        return None;
    }
    let pairs: Vec<(&WhyReport, &WhyReport)> =
        runs.iter().filter_map(|(a, b)| Some((a.why.as_ref()?, b.why.as_ref()?))).collect();
    let counters = Counters::of(pairs[0].0, pairs[0].1);
    let [a, b] = counters.behind;
    let names = format!("{} from `{}`{a} to `{}`{b}", counters.what, first.name, other.name);
    let all = changes(&pairs, &counters, None);
    if all.iter().all(|&change| change == 0.0) {
        return Some(format!("{names}: as many in each run."));
    }
    let whole = estimate(&all)?;
    if !whole.differs_from_zero() {
        return Some(format!("{names}: {}, which is within noise.", shown(&whole)));
    }
    let (class, values) = Class::ALL
        .iter()
        .map(|class| (*class, changes(&pairs, &counters, Some(*class))))
        .reduce(|x, y| if mean(&y.1).abs() > mean(&x.1).abs() { y } else { x })?;
    let part = ratio_of_means(&values, &all)?.map(|share| share * 100.0);
    let switch = match that_differ(runs[0].0, runs[0].1).as_slice() {
        [only] => format!("; all of it is by `{}`", only.name),
        _ => String::new(),
    };
    let part = match part.mean.round() {
        _ if !part.differs_from_zero() => "which no class makes in each run".to_string(),
        whole @ 0.0..=100.0 => {
            let half = part.ci95.unwrap_or(0.0);
            format!("of which `{}` makes {whole:.0} % ±{half:.0}", class.words())
        }
        _ => {
            let others: Vec<f64> = all.iter().zip(&values).map(|(all, v)| all - v).collect();
            let (own, others) = (shown(&estimate(&values)?), shown(&estimate(&others)?));
            format!("of which `{}` makes {own}, and all others {others}", class.words())
        }
    };
    Some(format!("{names}: {}, {part}{switch}.", shown(&whole)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KnobValue, Report, samples};

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

    /// From 1,000 to 1,100 and from 1,010 to 1,112: 100 and 102, of which 90 and 92 are order.
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

    /// 200 refaults of capacity went, and 100 of order came.
    #[test]
    fn a_class_that_changes_by_more_is_named_with_what_the_others_do() {
        let r =
            report(&[("a", 1, 300, 0), ("a", 2, 302, 0), ("b", 1, 100, 100), ("b", 2, 102, 100)]);
        let said = "Refaults from `a` to `b`: -100 ±0, of which `capacity` makes -200 ±0, and all \
                    others +100 ±0.";
        assert_eq!(say(&r), [said]);
    }

    /// Refaults of anonymous memory are 100 more in each run. One type makes them in one run, the
    /// other in the other.
    #[test]
    fn a_class_that_makes_it_in_one_run_only_is_not_named() {
        let r = report(&[("a", 1, 0, 0), ("a", 2, 0, 0), ("b", 1, 100, 0), ("b", 2, 1, 99)]);
        let said = "Refaults from `a` to `b`: +100 ±0, which no class makes in each run.";
        assert_eq!(say(&r), [said]);
    }

    /// Counters that only one policy keeps are no difference.
    #[test]
    fn unlike_counters_are_not_compared() {
        let mut r = report(&[("a", 1, 10, 0), ("a", 2, 10, 0), ("b", 1, 30, 0), ("b", 2, 30, 0)]);
        for (nth, run) in r.runs.iter_mut().enumerate() {
            let why = run.why.as_mut().unwrap();
            why.anon_counter = if nth < 2 { "workingset_refault_anon" } else { "pswpin" }.into();
            why.file_counter = (nth < 2).then(|| "workingset_refault_file".into());
            why.classes[1].file = if nth < 2 { 5000 } else { 0 };
        }
        let said = "Refaults of anonymous memory from `a` to `b` (swap-ins): +20 ±0, of which \
                    `capacity` makes 100 % ±0.";
        assert_eq!(say(&r), [said]);
    }

    #[test]
    fn noise_is_said_to_be_noise_and_one_seed_says_nothing() {
        let noisy = report(&[("a", 1, 9, 0), ("a", 2, 9, 0), ("b", 1, 10, 0), ("b", 2, 8, 0)]);
        assert_eq!(say(&noisy), ["Refaults from `a` to `b`: 0 ±13, which is within noise."]);
        let same = report(&[("a", 1, 9, 0), ("a", 2, 8, 0), ("b", 1, 9, 0), ("b", 2, 8, 0)]);
        assert_eq!(say(&same), ["Refaults from `a` to `b`: as many in each run."]);
        assert!(say(&report(&[("a", 1, 9, 0), ("b", 1, 1000, 0)])).is_empty());
        let mut not_followed = noisy.clone();
        not_followed.runs[3].why = None;
        assert!(say(&not_followed).is_empty());
    }
}
