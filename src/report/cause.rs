//! A sentence on what goes with the difference between variants.
//!
//! Composed by rule from counters, so that it says the same for the same report:
//!
//! 1. The yardstick is swap-ins; refaults where nothing was swapped in; major faults where
//!    there were no refaults either. Where variants did different amounts of work, counts
//!    are taken per 1,000 records. A variant that ran out of memory stopped early and is
//!    left out; so is random eviction, a bound, where two others remain.
//! 2. Named are the variants with the lowest and the highest mean of it, and by how much
//!    they differ, pair by pair. If the confidence interval of the change includes zero,
//!    or the means are equal, it says that there is no order, and nothing more.
//! 3. Four figures are then asked how much *they* moved between these two variants:
//!    refaults activated, deactivations, pages scanned per page reclaimed, stalls in
//!    direct reclaim. The measure is the ratio, up or down. Named is the one that moved
//!    most, if it moved by 5 % at least.
//!
//! What goes with a difference need not cause it: the counters of two runs cannot tell.
//! Only a variant that changes one knob can, and the sentence says so.

use super::derived::{Figure, Scope, grouped, per_cent};
use super::groups::{Group, VariantRuns};
use super::statistics::{Estimate, estimate, paired_change};

/// What has to have moved before it is named.
const WORTH_NAMING: f64 = 1.05;

/// The figures that are asked, and what less or more of them is called.
const WITNESSES: [(Figure, &str, &str); 4] = [
    (
        Figure::RefaultsActivated,
        "fewer refaults activated on return",
        "more refaults activated on return",
    ),
    (
        Figure::Deactivations,
        "fewer deactivations, as when pages start on the inactive list",
        "more deactivations",
    ),
    (
        Figure::ScannedPerReclaimed,
        "fewer pages scanned per page reclaimed",
        "more pages scanned per page reclaimed",
    ),
    (
        Figure::DirectReclaimStalls,
        "fewer stalls in direct reclaim",
        "more stalls in direct reclaim",
    ),
];

/// What is compared: variants that did their work, and whether counts are per 1,000
/// records.
struct Comparison<'a> {
    variants: Vec<&'a VariantRuns<'a>>,
    per_records: bool,
}

impl Comparison<'_> {
    fn values(&self, variant: &VariantRuns<'_>, figure: Figure) -> Vec<(u64, f64)> {
        variant.values(None, |scope: Scope<'_>| match self.per_records && figure.is_count() {
            true => figure.per_1000_records(scope),
            false => figure.of(scope),
        })
    }

    fn mean(&self, variant: &VariantRuns<'_>, figure: Figure) -> Option<f64> {
        let values: Vec<f64> = self.values(variant, figure).into_iter().map(|(_, v)| v).collect();
        estimate(&values).map(|e| e.mean)
    }

    fn shown(&self, figure: Figure, mean: f64) -> String {
        grouped(if figure.is_count() && !self.per_records { mean.round() } else { mean })
    }
}

/// How far two means are apart as a ratio of at least 1. Counts get one added, so that a
/// change from zero has a size.
fn ratio(a: f64, b: f64, is_count: bool) -> f64 {
    let plus = if is_count { 1.0 } else { 0.0 };
    let r = (a + plus) / (b + plus);
    if r >= 1.0 { r } else { 1.0 / r }
}

fn interval(change: &Estimate) -> String {
    match change.ci95 {
        Some(half) => format!(" ±{half:.1} over {} seeds", change.n),
        None => String::new(),
    }
}

/// The sentence for one group; `None` where there is nothing to compare.
pub fn sentence(group: &Group<'_>) -> Option<String> {
    if group.variants.len() < 2 {
        return None;
    }
    let (completed, early): (Vec<_>, Vec<_>) = group.variants.iter().partition(|v| v.completed());
    let mut text = String::new();
    if !early.is_empty() {
        let names: Vec<String> = early.iter().map(|v| format!("`{}`", v.name)).collect();
        text += &format!("Out of memory, and therefore not compared: {}. ", names.join(", "));
    }
    // Random eviction is there as a bound, not to be explained.
    let kernels: Vec<_> = completed.iter().copied().filter(|v| !v.is_bound()).collect();
    let completed = if kernels.len() >= 2 { kernels } else { completed };
    if completed.len() >= 2 {
        let comparison = Comparison { variants: completed, per_records: group.work_differs() };
        text += &comparison.sentence();
    }
    Some(text.trim_end().to_string()).filter(|t| !t.is_empty())
}

impl Comparison<'_> {
    fn sentence(&self) -> String {
        let yardsticks = [Figure::SwapIns, Figure::Refaults, Figure::MajorFaults];
        let Some((yardstick, means)) = yardsticks.into_iter().find_map(|figure| {
            let means: Option<Vec<f64>> =
                self.variants.iter().map(|v| self.mean(v, figure)).collect();
            let means = means?;
            means.iter().any(|&m| m > 0.0).then_some((figure, means))
        }) else {
            return "No variant had swap-ins, refaults or major faults.".to_string();
        };

        // The first of equals, so that the baseline is named where it can be.
        let first_by = |better: fn(f64, f64) -> bool| {
            (1..means.len()).fold(0, |at, i| if better(means[i], means[at]) { i } else { at })
        };
        let (low, high) = (first_by(|a, b| a < b), first_by(|a, b| a > b));
        let (best, worst) = (self.variants[low], self.variants[high]);
        let per = if self.per_records { " per 1,000 records" } else { "" };
        let what = format!("{}{per}", yardstick.label());
        if low == high {
            return format!("All variants have the same number of {what}.");
        }
        let change = paired_change(&self.values(best, yardstick), &self.values(worst, yardstick));
        if let Some(change) = change
            && !change.differs_from_zero()
        {
            return format!(
                "The variants' {what} differ by less than their spread over seeds ({}{}): no order \
             can be told.",
                per_cent(change.mean),
                interval(&change)
            );
        }
        let by =
            change.map_or(String::new(), |c| format!(", {}{}", per_cent(c.mean), interval(&c)));
        let mut text = format!(
            "`{}` has the fewest {what} ({}), `{}` the most ({}{by}).",
            best.name,
            self.shown(yardstick, means[low]),
            worst.name,
            self.shown(yardstick, means[high]),
        );

        let mut most: Option<(f64, String)> = None;
        for (figure, fewer, more) in WITNESSES {
            let (Some(b), Some(w)) = (self.mean(best, figure), self.mean(worst, figure)) else {
                continue;
            };
            let moved = ratio(b, w, figure.is_count());
            if moved >= WORTH_NAMING && most.as_ref().is_none_or(|(m, _)| moved > *m) {
                let name = if b < w { fewer } else { more };
                let shown = |v: f64| self.shown(figure, v);
                most = Some((moved, format!("{name} ({} against {})", shown(b), shown(w))));
            }
        }
        match most {
            Some((_, name)) => {
                text += &format!(
                    " Of the figures compared with it, what goes with fewer {what} most is: {name}. \
                 Whether it is the cause, only a variant that changes nothing else can show."
                );
            }
            None => {
                text += " Refaults activated, deactivations, pages scanned per page reclaimed and \
                     stalls in direct reclaim are within 5 % of each other.";
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::report::{Report, RunReport};

    fn say(report: &Report) -> Option<String> {
        sentence(&report.groups()[0])
    }

    fn variants(of: &[(&str, u64, u64, u64)]) -> Report {
        let run = |&(name, seed, swap_ins, deactivated): &(&str, u64, u64, u64)| {
            RunReport::from_result(
                samples::meta(name, seed),
                &samples::result(swap_ins, deactivated),
            )
        };
        Report::new("x", "", of.iter().map(run).collect())
    }

    #[test]
    fn names_best_worst_and_what_goes_with_it() {
        assert_eq!(
            say(&samples::two_variants(&[1])).unwrap(),
            "`protection` has the fewest swap-ins (1,200,900), `v5.5` the most (1,501,000, \
             +25.0 %). Of the figures compared with it, what goes with fewer swap-ins most is: \
             fewer deactivations, as when pages start on the inactive list (10,000 against \
             400,000). Whether it is the cause, only a variant that changes nothing else can show."
        );
    }

    #[test]
    fn several_seeds_give_an_interval() {
        let text = say(&samples::two_variants(&[1, 2, 3])).unwrap();
        assert!(text.contains("+25.0 % ±0.0 over 3 seeds)"), "{text}");
    }

    #[test]
    fn within_the_spread_there_is_no_order() {
        let report =
            variants(&[("a", 1, 100, 5), ("a", 2, 200, 5), ("b", 1, 150, 5), ("b", 2, 160, 5)]);
        let text = say(&report).unwrap();
        assert!(text.ends_with("no order can be told."), "{text}");
    }

    #[test]
    fn nothing_to_say() {
        assert_eq!(say(&variants(&[("a", 1, 100, 5)])), None);
        assert_eq!(
            say(&variants(&[("a", 1, 0, 5), ("b", 1, 0, 9)])).unwrap(),
            "No variant had swap-ins, refaults or major faults."
        );
        assert_eq!(
            say(&variants(&[("a", 1, 7, 5), ("b", 1, 7, 9)])).unwrap(),
            "All variants have the same number of swap-ins."
        );
    }

    #[test]
    fn unequal_work_is_compared_per_record() {
        // More swap-ins in all, but fewer for what was done.
        let mut report = variants(&[("a", 1, 100_000, 50), ("b", 1, 150_000, 50)]);
        report.runs[1].records = 100_000;
        assert!(
            say(&report).unwrap().starts_with(
                "`b` has the fewest swap-ins per 1,000 records (1,500), `a` the most (2,000, +33.3 %)."
            ),
            "{:?}",
            say(&report)
        );
    }

    #[test]
    fn what_ended_early_is_not_called_best() {
        let mut report = variants(&[("a", 1, 100, 50), ("b", 1, 5, 50), ("c", 1, 200, 50)]);
        report.runs[1].outcome = crate::report::Ending::OutOfMemory;
        let text = say(&report).unwrap();
        assert!(
            text.starts_with(
                "Out of memory, and therefore not compared: `b`. `a` has the fewest swap-ins (100)"
            ),
            "{text}"
        );
        report.runs.pop();
        assert_eq!(say(&report).unwrap(), "Out of memory, and therefore not compared: `b`.");
    }

    #[test]
    fn figures_that_did_not_move_are_not_named() {
        let text = say(&variants(&[("a", 1, 100, 50), ("b", 1, 200, 50)])).unwrap();
        assert!(text.ends_with("are within 5 % of each other."), "{text}");
    }
}
