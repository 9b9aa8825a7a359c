//! The sentences that close a comparison: significant differences, and different settings.
//!
//! Composed by rule, so that they are the same for the same report. They claim no cause.
//!
//! 1. The yardsticks are major faults, refaults (anonymous and file together), and the time that
//!    devices spent on reads. Where variants did different amounts of work, they are taken per
//!    1,000 records. A yardstick that is zero everywhere is passed over.
//! 2. Only runs that did all their work count; variants without one are named. A variant whose
//!    policy does not keep a counter is left out of that yardstick, and named.
//! 3. Two variants differ significantly if the 95 % interval of the paired change leaves out zero.
//!    With one seed there is no interval, and no order is stated.
//! 4. They name the lowest and the highest, each with those that do not differ from it
//!    significantly.
//! 5. Of runs that were followed (`--why`): which class of evictions makes the change ([`explained`]).
//! 6. Of a variant that differs from the first in one setting only, the setting is named.

use super::compare::{Setting, that_differ};
use super::derived::{Figure, Scope};
use super::document::RunReport;
use super::explained;
use super::groups::{Group, VariantRuns};
use super::numbers::{grouped, per_cent};
use super::statistics::{Estimate, paired_change, paired_difference};

const YARDSTICKS: [(Figure, &str); 3] = [
    (Figure::MajorFaults, "Major faults"),
    (Figure::Refaults, "Refaults"),
    (Figure::ReadingTime, "Seconds of device reads"),
];

/// The sentences for one group; none where there is nothing to compare.
pub fn sentences(group: &Group<'_>) -> Vec<String> {
    if group.variants.len() < 2 {
        return Vec::new();
    }
    let mut all = Vec::new();
    let (whole, dead): (Vec<_>, Vec<_>) =
        group.variants.iter().partition(|v| v.whole().next().is_some());
    if !dead.is_empty() {
        all.push(format!("Not compared, as no run did all its work: {}.", names(&dead)));
    }
    if whole.len() >= 2 {
        let comparison = Comparison { variants: whole, per_records: group.work_differs() };
        all.extend(comparison.sentences());
    }
    all.extend(explained::sentences(group));
    all.extend(one_setting(group));
    all
}

/// Names in a row, as in a sentence.
fn names(variants: &[&VariantRuns<'_>]) -> String {
    let quoted: Vec<String> = variants.iter().map(|v| format!("`{}`", v.name)).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Data of a comparison: variants with whole runs, and whether counts are per 1,000 records.
struct Comparison<'a> {
    variants: Vec<&'a VariantRuns<'a>>,
    per_records: bool,
}

/// A variant with its values by seed and their mean.
struct Measured<'a> {
    variant: &'a VariantRuns<'a>,
    values: Vec<(u64, f64)>,
    mean: f64,
}

impl Measured<'_> {
    /// The change of each pair of equal seeds to `other`: its estimate in per cent, or that of the
    /// differences where one grew from zero.
    fn change_to(&self, other: &Measured<'_>) -> Option<Estimate> {
        paired_change(&self.values, &other.values)
            .or_else(|| paired_difference(&self.values, &other.values))
    }

    /// True if the paired difference exceeds the noise between seeds.
    fn is_told_from(&self, other: &Measured<'_>) -> bool {
        self.change_to(other).is_some_and(|c| c.is_proven())
    }
}

/// True if every task of a run replays a trace, and its policy does not draw either.
fn draws_nothing(run: &RunReport) -> bool {
    let workload = |key: &str| key.starts_with("task[") && key.ends_with("].workload");
    let workloads: Vec<&String> =
        run.setup.iter().filter(|(key, _)| workload(key)).map(|(_, of)| of).collect();
    run.policy != "random" && !workloads.is_empty() && workloads.iter().all(|of| *of == "replay")
}

impl<'a> Comparison<'a> {
    fn sentences(&self) -> Vec<String> {
        let fewest_seeds = self.variants.iter().map(|v| v.whole().count()).min().unwrap_or(0);
        let any = |figure: Figure| {
            self.variants.iter().any(|v| self.values(v, figure).iter().any(|v| v.1 > 0.0))
        };
        let present: Vec<_> = YARDSTICKS.into_iter().filter(|(figure, _)| any(*figure)).collect();
        if present.is_empty() {
            return vec!["No variant had major faults or refaults.".to_string()];
        }
        let runs = || self.variants.iter().flat_map(|v| v.runs.iter().copied());
        if fewest_seeds < 2 && runs().all(draws_nothing) {
            let exact = "A replay draws nothing at random, so more seeds would give the same runs: the \
                         differences are exact, for this trace.";
            return vec![exact.to_string()];
        }
        if fewest_seeds < 2 {
            let none = "With one seed there is no interval, and no order is significant: run with \
                        `--seeds 5`.";
            return vec![none.to_string()];
        }
        present.into_iter().flat_map(|(figure, what)| self.of(figure, what)).collect()
    }

    fn values(&self, variant: &VariantRuns<'_>, figure: Figure) -> Vec<(u64, f64)> {
        variant.values(None, |scope: Scope<'_>| match self.per_records {
            true => figure.per_1000_records(scope),
            false => figure.of(scope),
        })
    }

    fn shown(&self, figure: Figure, mean: f64) -> String {
        let whole = figure != Figure::ReadingTime && !self.per_records;
        grouped(if whole { mean.round() } else { mean })
    }

    /// The sentences on one yardstick.
    fn of(&self, figure: Figure, what: &str) -> Vec<String> {
        let measure = |&variant: &&'a VariantRuns<'a>| {
            let values = self.values(variant, figure);
            let mean = Estimate::of(values.iter().map(|v| v.1))?.mean;
            Some(Measured { variant, values, mean })
        };
        let all: Vec<Measured<'_>> = self.variants.iter().filter_map(measure).collect();
        let has = |v: &VariantRuns<'_>| all.iter().any(|m| m.variant.name == v.name);
        let without: Vec<_> = self.variants.iter().copied().filter(|v| !has(v)).collect();
        let mut sentences = Vec::new();
        if all.len() >= 2 {
            let per = if self.per_records { " per 1,000 records" } else { "" };
            sentences.push(format!("{what}{per}: {}", self.extremes(figure, &all)));
        }
        if !without.is_empty() {
            let does = if without.len() == 1 { "does" } else { "do" };
            sentences.push(format!("{what}: {} {does} not count them all.", names(&without)));
        }
        sentences
    }

    /// The lowest and the highest of at least two, each with those that differ significantly from
    /// the other one only.
    fn extremes(&self, figure: Figure, all: &[Measured<'_>]) -> String {
        // The first of equals, so that the first variant is named where it can be.
        let first_by = |better: fn(f64, f64) -> bool| {
            let of = |at: usize, i: usize| if better(all[i].mean, all[at].mean) { i } else { at };
            &all[(1..all.len()).fold(0, of)]
        };
        let (low, high) = (first_by(|a, b| a < b), first_by(|a, b| a > b));
        if all.iter().all(|m| m.values == all[0].values) {
            return "the same in all.".to_string();
        }
        if !low.is_told_from(high) {
            return "no order is significant, as the spread over seeds is larger.".to_string();
        }
        let side = |of: &Measured<'_>, other: &Measured<'_>| {
            let near = |m: &Measured<'_>| !m.is_told_from(of) && m.is_told_from(other);
            let alike = all.iter().filter(|m| std::ptr::eq(*m, of) || near(m));
            let alike: Vec<&Measured<'_>> = alike.collect();
            let least = alike.iter().map(|m| m.mean).fold(f64::INFINITY, f64::min);
            let most = alike.iter().map(|m| m.mean).fold(0.0, f64::max);
            // Nothing is written `0`, and a little `0.00`.
            let range = match (self.shown(figure, least), self.shown(figure, most)) {
                (least, most) if least == most || (&*least, &*most) == ("0", "0.00") => most,
                (least, most) => format!("{least} to {most}"),
            };
            let variants: Vec<_> = alike.iter().map(|m| m.variant).collect();
            (names(&variants), range)
        };
        let ((fewest, low_range), (most, high_range)) = (side(low, high), side(high, low));
        let change = match paired_change(&low.values, &high.values) {
            Some(Estimate { mean, ci95: Some(half), .. }) => {
                format!(", {} ±{half:.1}", per_cent(mean))
            }
            _ => String::new(),
        };
        format!("least in {fewest} ({low_range}), most in {most} ({high_range}{change}).")
    }
}

/// The variants that differ from the first in one setting only, and in which.
fn one_setting(group: &Group<'_>) -> Option<String> {
    let first = group.variants.first()?;
    let base = first.runs.first()?;
    let of = |v: &VariantRuns<'_>| -> Option<(String, Setting)> {
        let run = v.runs.iter().find(|r| r.seed == base.seed)?;
        match <[Setting; 1]>::try_from(that_differ(base, run)) {
            Ok([setting]) => Some((v.name.to_string(), setting)),
            Err(_) => None,
        }
    };
    let each: Vec<String> = group.variants[1..]
        .iter()
        .filter_map(of)
        .map(|(name, s)| {
            let [a, b] = parts_that_differ(&s.a, &s.b);
            format!("in `{name}`, `{}` ({b}, not {a})", s.name)
        })
        .collect();
    (!each.is_empty())
        .then(|| format!("A single setting differs from `{}`: {}.", first.name, each.join("; ")))
}

/// Length from which on a list is shown without what it has in common with another.
const LONG: usize = 80;

/// Two values for people. Of long lists, the first and last elements that are equal are left out.
fn parts_that_differ(a: &str, b: &str) -> [String; 2] {
    let elements = |text: &str| -> Option<Vec<String>> {
        let list = text.strip_prefix('[')?.strip_suffix(']')?;
        (text.len() > LONG).then(|| list.split(", ").map(str::to_string).collect())
    };
    let (Some(x), Some(y)) = (elements(a), elements(b)) else { return [a.into(), b.into()] };
    let equal = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
        pairs.take_while(|(x, y)| x == y).count()
    };
    let begin = equal(&mut x.iter().zip(&y));
    let end = equal(&mut x[begin..].iter().rev().zip(y[begin..].iter().rev()));
    let shown = |of: &[String]| {
        let dots = |n: usize| (n > 0).then(|| "..".to_string());
        let middle = of[begin..of.len() - end].iter().cloned();
        let all: Vec<String> = dots(begin).into_iter().chain(middle).chain(dots(end)).collect();
        format!("[{}]", all.join(", "))
    };
    [shown(&x), shown(&y)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, KnobValue, Report, RunReport, samples};
    use mmsim_core::base::vmstat::VmEvent;

    fn say(report: &Report) -> Vec<String> {
        sentences(&report.groups()[0])
    }

    /// Runs with these numbers of major faults and anonymous refaults.
    fn variants(of: &[(&str, u64, u64)]) -> Report {
        let run = |&(name, seed, swap_ins): &(&str, u64, u64)| {
            RunReport::from_result(samples::meta(name, seed), &samples::result(swap_ins, 5))
        };
        Report::new("x", "", of.iter().map(run).collect())
    }

    /// Refaults of files count as those of anonymous memory do, and decide here.
    #[test]
    fn refaults_of_both_kinds_and_major_faults_stand_beside_each_other() {
        let mut report = variants(&[("a", 1, 100), ("a", 2, 102), ("b", 1, 200), ("b", 2, 204)]);
        for run in &mut report.runs[..2] {
            run.vmstat.set("workingset_refault_file", 900);
        }
        assert_eq!(
            say(&report),
            [
                "Major faults: least in `a` (101), most in `b` (202, +100.0 % ±0.0).",
                "Refaults: least in `b` (202), most in `a` (1,001, +395.6 % ±56.1).",
            ]
        );
    }

    /// Reads of nothing and of a millisecond are no range of seconds.
    #[test]
    fn a_range_has_two_ends_that_read_differently() {
        let seeds = |name, ns: [u64; 2]| ns.map(|n| (name, n));
        let all = [seeds("a", [0, 0]), seeds("b", [0, 1]), seeds("c", [900, 910])].concat();
        let runs: Vec<(&str, u64, u64)> =
            all.iter().zip([1, 2].into_iter().cycle()).map(|(r, seed)| (r.0, seed, 100)).collect();
        let mut report = variants(&runs);
        for (run, (_, ms)) in report.runs.iter_mut().zip(&all) {
            run.reading.as_mut().expect("times of reads").swap_ns = ms * 1_000_000;
        }
        let text = say(&report);
        let reads = text.iter().find(|s| s.starts_with("Seconds of device reads")).expect("one");
        assert_eq!(
            *reads,
            "Seconds of device reads: least in `a` and `b` (0.00), most in `c` (0.91)."
        );
    }

    #[test]
    fn one_seed_gives_no_order() {
        let text = say(&variants(&[("a", 1, 100), ("b", 1, 50_000)]));
        assert_eq!(
            text,
            ["With one seed there is no interval, and no order is significant: run with `--seeds \
              5`."]
        );
    }

    #[test]
    fn within_the_spread_there_is_no_order() {
        let text = say(&variants(&[("a", 1, 100), ("a", 2, 200), ("b", 1, 150), ("b", 2, 160)]));
        let none = "Major faults: no order is significant, as the spread over seeds is larger.";
        assert_eq!(text[0], none);
    }

    /// Two that do not differ significantly share the place.
    #[test]
    fn the_lowest_is_not_one_where_it_cannot_be_told_from_another() {
        let report = variants(&[
            ("a", 1, 100),
            ("a", 2, 120),
            ("b", 1, 104),
            ("b", 2, 118),
            ("c", 1, 1000),
            ("c", 2, 1210),
        ]);
        let text = say(&report);
        assert_eq!(
            text[0],
            "Major faults: least in `a` and `b` (110 to 111), most in `c` (1,105, +904.2 % ±52.9)."
        );
    }

    /// `b` spreads from `a` to `c`, and is neither least nor most.
    #[test]
    fn what_cannot_be_told_from_either_end_is_not_at_both() {
        let report = variants(&[
            ("a", 1, 100),
            ("a", 2, 102),
            ("b", 1, 90),
            ("b", 2, 220),
            ("c", 1, 200),
            ("c", 2, 204),
        ]);
        assert_eq!(
            say(&report)[0],
            "Major faults: least in `a` (101), most in `c` (202, +100.0 % ±0.0)."
        );
    }

    #[test]
    fn nothing_to_say() {
        assert!(say(&variants(&[("a", 1, 100)])).is_empty());
        assert_eq!(
            say(&variants(&[("a", 1, 0), ("b", 1, 0)])),
            ["No variant had major faults or refaults."]
        );
        let same = say(&variants(&[("a", 1, 7), ("a", 2, 8), ("b", 1, 7), ("b", 2, 8)]));
        assert!(same[0] == "Major faults: the same in all.", "{same:?}");
    }

    /// A policy without shadows is not the one with the fewest refaults.
    #[test]
    fn a_counter_that_is_not_kept_is_not_zero() {
        let mut report = variants(&[("a", 1, 100), ("a", 2, 102), ("b", 1, 200), ("b", 2, 204)]);
        for seed in [1, 2] {
            let mut result = samples::result(300 + 2 * seed, 5);
            result.not_kept = vec![VmEvent::WorkingsetRefaultAnon, VmEvent::WorkingsetRefaultFile];
            report.runs.push(RunReport::from_result(samples::meta("random", seed), &result));
        }
        let text = say(&report);
        assert_eq!(
            text[1..],
            [
                "Refaults: least in `a` (101), most in `b` (202, +100.0 % ±0.0).",
                "Refaults: `random` does not count them all.",
            ]
        );
    }

    #[test]
    fn unequal_work_is_compared_per_record() {
        // More in all, but fewer for what was done.
        let mut report =
            variants(&[("a", 1, 100_000), ("a", 2, 100_000), ("b", 1, 150_000), ("b", 2, 150_000)]);
        for run in &mut report.runs[2..] {
            run.records = 100_000;
        }
        let text = say(&report);
        assert_eq!(
            text[0],
            "Major faults per 1,000 records: least in `b` (1,500), most in `a` (2,000, \
             +33.3 % ±0.0)."
        );
    }

    #[test]
    fn what_ended_early_is_not_compared() {
        let mut report = variants(&[("a", 1, 100), ("b", 1, 5), ("c", 1, 200)]);
        report.runs[1].outcome = Ending::OutOfMemory;
        assert_eq!(say(&report)[0], "Not compared, as no run did all its work: `b`.");
        report.runs.pop();
        assert_eq!(say(&report), ["Not compared, as no run did all its work: `b`."]);
    }

    #[test]
    fn long_lists_are_shown_where_they_differ() {
        let list = |middle: &str| {
            let many = |n: usize| vec!["\"step\""; n].join(", ");
            format!("[{}, {middle}, {}]", many(9), many(9))
        };
        let shown = parts_that_differ(&list("1"), &list("2, 3"));
        assert_eq!(shown, ["[.., 1, ..]", "[.., 2, 3, ..]"]);
        assert_eq!(parts_that_differ("[1, 2]", "[1, 3]"), ["[1, 2]", "[1, 3]"]);
        assert_eq!(parts_that_differ("60", "100"), ["60", "100"]);
        let longer = parts_that_differ(&list("1"), &list("1, 1"));
        assert_eq!(longer, ["[.., ..]", "[.., 1, ..]"]);
    }

    #[test]
    fn one_setting_is_named() {
        let mut report = variants(&[("a", 1, 100), ("b", 1, 90), ("c", 1, 80)]);
        report.runs[1].knobs.set("swappiness", KnobValue::Whole(100));
        report.runs[2].knobs.set("swappiness", KnobValue::Whole(100));
        report.runs[2].kernel = "5.9".into();
        assert_eq!(
            say(&report)[1],
            "A single setting differs from `a`: in `b`, `swappiness` (100, not 60)."
        );
    }
}
