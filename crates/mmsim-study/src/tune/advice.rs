//! Advice: settings that are better than the present one, and what they make worse.
//!
//! The present setting is the control. A setting is compared with it seed by seed, because the same
//! seed has the same accesses. The 95 % interval of these differences decides: if it leaves out
//! zero, the setting is proven better or worse in that figure, and otherwise nothing is proven.
//!
//! A search picks the best of many settings, and some of them only had luck with its seeds. So the
//! changes that are shown are those of held-out seeds, which picked nothing. A setting is advised if
//! it is proven better in the same objective twice: on the seeds of the search and on the others.
//! Held-out seeds alone would advise too much, because a front has several settings and each has
//! several objectives. With 12 settings that differ by chance alone, 3 objectives and 4 seeds, they
//! advise one in about a quarter of all searches, and both kinds in less than 3 %
//! (`what_chance_alone_would_advise`).

use schemars::JsonSchema;
use serde::Serialize;

use mmsim_language::scenario::tune::{Constraint, TunePlan};
use mmsim_report::statistics::{Estimate, by_place, estimate, paired_difference};
use mmsim_report::{Pairs, estimate_fields};

use super::means::means;
use super::writes::Write;

/// The outcome of a comparison with the present setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval is on the good side of zero.
    Better,
    /// The interval is on the bad side of zero.
    Worse,
    /// The interval has zero in it.
    Unproven,
}

/// The change of a figure from the present setting, paired by seed.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Change {
    /// The differences, in the unit of the figure.
    #[serde(flatten, with = "difference")]
    #[schemars(flatten, schema_with = "difference::schema")]
    pub difference: Estimate,
    /// The same in per cent of the present setting's mean; none where that is zero.
    #[serde(flatten, with = "percent")]
    #[schemars(flatten, schema_with = "percent::schema")]
    pub percent: Option<Estimate>,
    /// Verdict of the interval: better or worse, if it proves either.
    pub verdict: Verdict,
}

estimate_fields! {
    difference: Estimate => "mean", "ci95":
        "The mean of the differences, in the unit of the figure.",
        "Half the width of its 95 % interval.";
    percent: Option<Estimate> => "percent", "percent_ci95":
        "The mean difference in per cent of the present setting's mean; none where that is zero.",
        "Half the width of its 95 % interval, in per cent of the same.";
}

impl Change {
    /// The change from the values of the present setting to those of another one with the same
    /// seeds. `None` without a pair.
    pub(super) fn of(own: &[f64], other: &[f64], more_is_better: bool) -> Option<Change> {
        let seeds = |values: &[f64]| by_place(values.iter().copied());
        let difference = paired_difference(&seeds(own), &seeds(other))?;
        let verdict = match (difference.is_proven(), (difference.mean > 0.0) == more_is_better) {
            (false, _) => Verdict::Unproven,
            (true, true) => Verdict::Better,
            (true, false) => Verdict::Worse,
        };
        let base = estimate(own).map_or(0.0, |o| o.mean.abs());
        let percent = (base > 0.0).then(|| difference.map(|x| x / base * 100.0));
        Some(Change { difference, percent, verdict })
    }
}

/// A figure that a setting changes.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Moved {
    /// The objective, or a constraint that only this setting keeps.
    pub figure: String,
    /// Its change on held-out seeds.
    pub change: Change,
}

/// The answer of a tuning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub enum Decision {
    /// A setting is proven better in something.
    #[serde(rename = "change")]
    Change,
    /// No setting is.
    #[serde(rename = "change nothing")]
    ChangeNothing,
}

impl Decision {
    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Change => "change",
            Decision::ChangeNothing => "change nothing",
        }
    }
}

/// A setting that is advised.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Advised {
    /// Its place in the front, from 0.
    pub setting: usize,
    /// Each knob with its value.
    pub knobs: Pairs<String>,
    /// Figures that it is proven to make better. Empty where the present setting does not finish.
    pub better: Vec<Moved>,
    /// Objectives that it is proven to make worse.
    pub worse: Vec<Moved>,
    /// Objectives of which nothing is proven.
    pub unproven: Vec<Moved>,
    /// Writes on a machine, and their places.
    pub writes: Vec<Write>,
}

/// Advice of a tuning.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Advice {
    /// Decision to change the setting, or to keep it.
    pub decision: Decision,
    /// Why, in sentences.
    pub why: String,
    /// Settings that are advised. First come those of which no objective is worse even by its mean,
    /// then those of which none is proven worse, and of equal ones the nearest to the best of all
    /// objectives.
    pub settings: Vec<Advised>,
}

/// The figures of a setting seed by seed, with their own signs.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) search: Vec<Vec<f64>>,
    /// None where a run with a held-out seed did not do its work.
    pub(super) held_out: Option<Vec<Vec<f64>>>,
}

impl Measured {
    /// Figure `m` of each seed of one of these.
    fn column(values: &[Vec<f64>], m: usize) -> Vec<f64> {
        values.iter().map(|v| v[m]).collect()
    }
}

/// The changes of a figure: on the seeds of the search, and on held-out ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Changes {
    pub(super) search: Option<Change>,
    pub(super) held_out: Option<Change>,
}

impl Changes {
    /// The change on held-out seeds, if it is proven better by both.
    fn proven(&self) -> Option<&Change> {
        let better = |c: &&Change| c.verdict == Verdict::Better;
        self.search.as_ref().filter(better)?;
        self.held_out.as_ref().filter(better)
    }
}

/// The changes of each figure of a setting, first of objectives and then of constraints.
pub(super) fn changes(plan: &TunePlan, own: &Measured, other: &Measured) -> Vec<Changes> {
    let bounds = plan.constraints().iter().map(more_is_better);
    let all = plan.objectives().iter().map(|o| o.max).chain(bounds);
    let column = Measured::column;
    let one = |(m, max): (usize, bool)| Changes {
        search: Change::of(&column(&own.search, m), &column(&other.search, m), max),
        held_out: own
            .held_out
            .as_ref()
            .zip(other.held_out.as_ref())
            .and_then(|(own, other)| Change::of(&column(own, m), &column(other, m), max)),
    };
    all.enumerate().map(one).collect()
}

/// True if a figure gets nearer to its bound by growing.
fn more_is_better(constraint: &Constraint) -> bool {
    constraint.claim.bounds().high.is_none()
}

/// A setting of the front that could be advised.
pub(super) struct Offered<'a> {
    /// Its place in the front.
    pub(super) place: usize,
    pub(super) measured: &'a Measured,
    /// Distance from the best of all objectives.
    pub(super) distance: f64,
    pub(super) knobs: Pairs<String>,
    pub(super) writes: Vec<Write>,
}

/// Decides. `own`: the present setting, none if it does not do its work with all seeds.
pub(super) fn decide(plan: &TunePlan, own: Option<&Measured>, front: Vec<Offered<'_>>) -> Advice {
    let own = own.filter(|own| own.held_out.is_some());
    let tried = front.len();
    let near = own.map_or(Vec::new(), |own| nearly(plan, own, &front));
    let judged = |s: Offered<'_>| {
        let distance = s.distance;
        judge(plan, own, s).map(|(harm, advised)| (harm, distance, advised))
    };
    let mut advised: Vec<(Harm, f64, Advised)> = front.into_iter().filter_map(judged).collect();
    advised.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let settings: Vec<Advised> = advised.into_iter().map(|(.., s)| s).collect();
    let both = "by both the seeds of the search and the held-out ones";
    let mut why = match (own.is_some(), settings.len(), tried) {
        (true, 0, 0) => "There is no other setting in the front.".to_string(),
        (true, 0, 1) => {
            format!("The other setting of the front is not proven better in any objective {both}.")
        }
        (true, 0, n) => format!(
            "None of the {n} other settings of the front is proven better in any objective {both}."
        ),
        (false, 0, _) => {
            "The present setting does not do its work with every seed, but no setting \
            of the front does and keeps the constraints on held-out seeds."
                .to_string()
        }
        (true, n, tried) => {
            let price = match (n, settings.iter().all(|s| !s.worse.is_empty())) {
                (_, false) => "",
                (1, true) => " It makes something else worse.",
                (_, true) => " Each of them makes something else worse.",
            };
            format!("Proven better in an objective {both}: {n} of {tried} other settings.{price}")
        }
        (false, ..) => "The present setting does not do its work with every seed.".to_string(),
    };
    if let (true, [names @ .., last]) = (settings.is_empty(), &near[..]) {
        let (names, verb) = match names {
            [] => (last.clone(), "is"),
            _ => (format!("{} and {last}", names.join(", ")), "are"),
        };
        why += &format!(
            " By the held-out seeds alone, {names} {verb} better, which chance does too: a larger \
             `seeds` decides."
        );
    }
    let means_of_own = own.and_then(|own| own.held_out.as_ref()).map(|values| means(values));
    let values = means_of_own.iter().flat_map(|m| &m[plan.objectives().len()..]);
    for (constraint, value) in plan.constraints().iter().zip(values) {
        if !constraint.claim.test.holds(*value) {
            why += &format!(" The present setting does not keep {constraint}.");
        }
    }
    let decision = if settings.is_empty() { Decision::ChangeNothing } else { Decision::Change };
    Advice { decision, why, settings }
}

/// The worst that a setting does to an objective, by held-out seeds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Harm {
    /// No mean is worse.
    None,
    /// A mean is worse, and it is not proven.
    Unproven,
    /// An objective is proven worse.
    Proven,
}

/// The names, as in tables, of settings that held-out seeds alone prove better in an objective.
fn nearly(plan: &TunePlan, own: &Measured, front: &[Offered<'_>]) -> Vec<String> {
    let better = |s: &&Offered<'_>| {
        let all = changes(plan, own, s.measured);
        let of_held_out = |c: &Changes| c.held_out.as_ref().map(|c| c.verdict);
        let kept = s.measured.held_out.as_ref().is_some_and(|values| kept(plan, &means(values)));
        kept && all
            .iter()
            .take(plan.objectives().len())
            .any(|c| of_held_out(c) == Some(Verdict::Better))
    };
    front.iter().filter(better).map(|s| (s.place + 1).to_string()).collect()
}

/// A setting with what it makes better and worse; `None` if it is not advised.
fn judge(plan: &TunePlan, own: Option<&Measured>, s: Offered<'_>) -> Option<(Harm, Advised)> {
    let held_out = s.measured.held_out.as_ref()?;
    if !kept(plan, &means(held_out)) {
        return None;
    }
    let Offered { place: setting, knobs, writes, .. } = s;
    let mut advised = Advised {
        setting,
        knobs,
        better: Vec::new(),
        worse: Vec::new(),
        unproven: Vec::new(),
        writes,
    };
    let Some(own) = own else { return Some((Harm::None, advised)) };
    let all = changes(plan, own, s.measured);
    let objectives = plan.objectives().len();
    let mut harm = Harm::None;
    for (of, objective) in all.iter().zip(plan.objectives()) {
        let Some(change) = of.held_out.clone() else { continue };
        let mean = change.difference.mean;
        harm = harm.max(match (change.verdict, mean != 0.0) {
            (Verdict::Worse, _) => Harm::Proven,
            (Verdict::Unproven, true) if (mean > 0.0) != objective.max => Harm::Unproven,
            _ => Harm::None,
        });
        let list = match change.verdict {
            Verdict::Better if of.proven().is_some() => &mut advised.better,
            Verdict::Worse => &mut advised.worse,
            Verdict::Better | Verdict::Unproven => &mut advised.unproven,
        };
        list.push(Moved { figure: objective.wanted.to_string(), change });
    }
    // A constraint that only this setting keeps is something better too.
    let own_means = own.held_out.as_ref().map(|values| means(values))?;
    for ((of, constraint), own) in
        all[objectives..].iter().zip(plan.constraints()).zip(&own_means[objectives..])
    {
        if !constraint.claim.test.holds(*own)
            && let Some(change) = of.proven()
        {
            advised.better.push(Moved { figure: constraint.to_string(), change: change.clone() });
        }
    }
    (!advised.better.is_empty()).then_some((harm, advised))
}

/// Distance of each of some settings from the best of all objectives, each over the span that it
/// has here. Less is better in all of them.
pub(super) fn distances(means: &[Vec<f64>], objectives: usize) -> Vec<f64> {
    let ends = |m: usize| {
        let of = || means.iter().map(|v| v[m]);
        (of().fold(f64::INFINITY, f64::min), of().fold(f64::NEG_INFINITY, f64::max))
    };
    let ends: Vec<(f64, f64)> = (0..objectives).map(ends).collect();
    let far = |v: &Vec<f64>| -> f64 {
        let share = |(x, (low, high)): (&f64, &(f64, f64))| match high > low {
            true => (x - low) / (high - low),
            false => 0.0,
        };
        v.iter().zip(&ends).map(share).map(|s| s * s).sum()
    };
    means.iter().map(far).collect()
}

/// True if means keep all constraints.
pub(super) fn kept(plan: &TunePlan, means: &[f64]) -> bool {
    plan.violation(means) == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::pareto::{Point, ranks};
    use mmsim_core::base::rng::Rng;

    /// Twelve settings that differ from the present one by chance alone, with 3 objectives and 4
    /// seeds of each kind: how often one of the front is advised by held-out seeds, and how often by
    /// both kinds.
    #[test]
    fn what_chance_alone_would_advise() {
        const SEARCHES: u32 = 1000;
        let mut rng = Rng::for_purpose(1, "test");
        // Twelve uniform numbers have a variance of 1.
        let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut four = || [(); 4].map(|()| normal());
        let (mut by_held_out, mut by_both) = (0, 0);
        for _ in 0..SEARCHES {
            let all: Vec<[[f64; 4]; 3]> = (0..13).map(|_| [(); 3].map(|()| four())).collect();
            let point = |s: &[[f64; 4]; 3]| Point {
                values: s.iter().map(|v| v.iter().sum()).collect(),
                violation: 0.0,
            };
            let ranks = ranks(&all.iter().map(point).collect::<Vec<_>>());
            let own = [(); 3].map(|()| four());
            let mut found = [false; 2];
            for (setting, _) in all.iter().zip(ranks).skip(1).filter(|(_, rank)| *rank == 0) {
                for m in 0..3 {
                    let of = Changes {
                        search: Change::of(&all[0][m], &setting[m], false),
                        held_out: Change::of(&own[m], &four(), false),
                    };
                    let better = |c: &Change| c.verdict == Verdict::Better;
                    found[0] |= of.held_out.as_ref().is_some_and(better);
                    found[1] |= of.proven().is_some();
                }
            }
            by_held_out += u32::from(found[0]);
            by_both += u32::from(found[1]);
        }
        assert!((200..350).contains(&by_held_out), "{by_held_out} of {SEARCHES}");
        assert!(by_both < 30, "{by_both} of {SEARCHES}");
    }

    /// Differences of 2, 4 and 6 have mean 4 and deviation 2: 4.303 * 2 / sqrt(3) = 4.969.
    #[test]
    fn a_change_by_hand() {
        let own = [10.0, 20.0, 30.0];
        let c = Change::of(&own, &[12.0, 24.0, 36.0], true).expect("pairs");
        let (difference, percent) = (c.difference, c.percent.expect("of the mean 20"));
        assert_eq!((difference.mean, percent.mean, c.verdict), (4.0, 20.0, Verdict::Unproven));
        let half = difference.ci95.expect("three");
        assert!((half - 4.303 * 2.0 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert!((percent.ci95.expect("three") - 5.0 * half).abs() < 1e-9);
    }

    /// Seeds differ by far more than the setting, and pairs see it; which side is good is the
    /// objective's matter.
    #[test]
    fn pairs_prove_what_means_do_not() {
        let own = [100.0, 300.0, 900.0];
        let less = own.map(|x| x - 1.0);
        let verdict = |max| Change::of(&own, &less, max).expect("pairs").verdict;
        assert_eq!((verdict(false), verdict(true)), (Verdict::Better, Verdict::Worse));
        assert_eq!(Change::of(&own, &own, false).expect("pairs").verdict, Verdict::Unproven);
    }

    /// One pair proves nothing, no pair says nothing, and of zero there are no per cents.
    #[test]
    fn few_pairs() {
        let one = Change::of(&[4.0], &[1.0], false).expect("a pair");
        let difference = Estimate::without_interval(-3.0, 1);
        assert_eq!((one.difference, one.verdict), (difference, Verdict::Unproven));
        assert_eq!(Change::of(&[], &[], false), None);
        let from_zero = Change::of(&[0.0, 0.0], &[5.0, 5.0], false).expect("pairs");
        assert_eq!((from_zero.percent, from_zero.verdict), (None, Verdict::Worse));
    }
}
