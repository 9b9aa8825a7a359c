//! A sentence on what goes with the difference between variants.
//!
//! Composed by rule from counters, so that it says the same for the same report:
//!
//! 1. The yardstick is swap-ins; refaults where nothing was swapped in; major faults where
//!    there were no refaults either.
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

fn values(variant: &VariantRuns<'_>, figure: Figure) -> Vec<(u64, f64)> {
    variant.values(None, |scope: Scope<'_>| figure.of(scope))
}

fn mean(variant: &VariantRuns<'_>, figure: Figure) -> Option<f64> {
    let values: Vec<f64> = values(variant, figure).into_iter().map(|(_, v)| v).collect();
    estimate(&values).map(|e| e.mean)
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
    let yardsticks = [Figure::SwapIns, Figure::Refaults, Figure::MajorFaults];
    let Some((yardstick, means)) = yardsticks.into_iter().find_map(|figure| {
        let means: Option<Vec<f64>> = group.variants.iter().map(|v| mean(v, figure)).collect();
        let means = means?;
        means.iter().any(|&m| m > 0.0).then_some((figure, means))
    }) else {
        return Some("No variant had swap-ins, refaults or major faults.".to_string());
    };

    // The first of equals, so that the baseline is named where it can be.
    let first_by = |better: fn(f64, f64) -> bool| {
        (1..means.len()).fold(0, |at, i| if better(means[i], means[at]) { i } else { at })
    };
    let (low, high) = (first_by(|a, b| a < b), first_by(|a, b| a > b));
    let (best, worst) = (&group.variants[low], &group.variants[high]);
    let what = yardstick.label();
    if low == high {
        return Some(format!("All variants have the same number of {what}."));
    }
    let change = paired_change(&values(best, yardstick), &values(worst, yardstick));
    if let Some(change) = change
        && !change.differs_from_zero()
    {
        return Some(format!(
            "The variants' {what} differ by less than their spread over seeds ({}{}): no order \
             can be told.",
            per_cent(change.mean),
            interval(&change)
        ));
    }
    let by = change.map_or(String::new(), |c| format!(", {}{}", per_cent(c.mean), interval(&c)));
    let mut text = format!(
        "`{}` has the fewest {what} ({}), `{}` the most ({}{by}).",
        best.name,
        grouped(means[low].round()),
        worst.name,
        grouped(means[high].round()),
    );

    let mut most: Option<(f64, String)> = None;
    for (figure, fewer, more) in WITNESSES {
        let (Some(b), Some(w)) = (mean(best, figure), mean(worst, figure)) else { continue };
        let moved = ratio(b, w, figure.is_count());
        if moved >= WORTH_NAMING && most.as_ref().is_none_or(|(m, _)| moved > *m) {
            let name = if b < w { fewer } else { more };
            let shown = |v: f64| grouped(if figure.is_count() { v.round() } else { v });
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
    Some(text)
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
    fn figures_that_did_not_move_are_not_named() {
        let text = say(&variants(&[("a", 1, 100, 50), ("b", 1, 200, 50)])).unwrap();
        assert!(text.ends_with("are within 5 % of each other."), "{text}");
    }
}
