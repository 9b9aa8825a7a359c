//! Attempts at blocks of higher order, round by round: how many succeeded, of how many candidates,
//! and which path served them.
//!
//! A workload `highalloc` has physical memory surveyed before each round of attempts; the survey
//! has a phase of its own, whose counters are the measure of the attempts.

use mmsim_core::base::vmstat::VmEvent as E;

use super::document::{PhaseReport, RunReport};

/// A round of attempts and the survey before it.
#[derive(Clone, Copy, Debug)]
pub struct Attempts<'a> {
    /// Phases that ended since the survey, the phase of the attempts last: a phase of another task
    /// that ends meanwhile has its share of them.
    phases: &'a [PhaseReport],
    survey: &'a PhaseReport,
}

/// A figure of attempts.
type Of = fn(&Attempts<'_>) -> f64;

impl Attempts<'_> {
    /// The figures with their names, in the order of tables.
    pub const FIGURES: [(&'static str, Of); 10] = [
        ("attempts", |a| a.count(E::SimHighAlloc)),
        ("successes", |a| a.successes()),
        ("  that lay free", |a| a.count(E::SimHighAllocLists)),
        ("  after async compaction", |a| a.count(E::SimHighAllocAsync)),
        ("  after reclaim", |a| a.count(E::SimHighAllocReclaim)),
        ("  after sync compaction", |a| a.count(E::SimHighAllocSync)),
        ("candidates", |a| a.surveyed(E::SimCandidates)),
        ("bound (moves alone)", |a| a.surveyed(E::SimCandidatesBound)),
        ("Success, % of attempts", |a| a.success()),
        ("Success(N), % of candidates", |a| a.success_n()),
    ];

    /// A counter of the attempts.
    pub fn count(&self, counter: E) -> f64 {
        let of = |p: &PhaseReport| p.vmstat.count(counter).unwrap_or(0);
        self.phases.iter().map(of).sum::<u64>() as f64
    }

    /// A counter of the survey.
    pub fn surveyed(&self, counter: E) -> f64 {
        self.survey.vmstat.count(counter).unwrap_or(0) as f64
    }

    /// Attempts that succeeded.
    pub fn successes(&self) -> f64 {
        self.count(E::SimHighAlloc) - self.count(E::SimHighAllocFail)
    }

    /// Successes of 100 attempts.
    pub fn success(&self) -> f64 {
        100.0 * self.successes() / self.count(E::SimHighAlloc)
    }

    /// Successes for 100 candidates; undefined where there was none.
    pub fn success_n(&self) -> f64 {
        100.0 * self.successes() / self.surveyed(E::SimCandidates)
    }
}

impl RunReport {
    /// The attempts of a phase, if it is one of a workload `highalloc`.
    pub fn attempts(&self, phase: &str) -> Option<Attempts<'_>> {
        let (task, name) = phase.rsplit_once('/').unwrap_or(("", phase));
        let round = name.strip_prefix("attempts")?;
        let survey = match task {
            "" => format!("survey{round}"),
            task => format!("{task}/survey{round}"),
        };
        let named = |name: &str| self.phases.iter().position(|p| p.name == name);
        let (survey, last) = (named(&survey)?, named(phase)?);
        let phases = self.phases.get(survey + 1..=last)?;
        let attempts = Attempts { phases, survey: &self.phases[survey] };
        (attempts.count(E::SimHighAlloc) > 0.0).then_some(attempts)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Pairs, samples};

    #[test]
    fn attempts_are_held_against_the_survey_of_their_round() {
        let mut run = samples::two_variants(&[1]).runs.swap_remove(0);
        let sample = run.phases[0].clone();
        run.phases =
            ["hog/filled", "t/survey1", "hog/full", "t/attempts1", "t/survey2", "t/attempts2"]
                .map(|name| {
                    let mut phase = sample.clone();
                    phase.name = name.into();
                    phase
                })
                .into();
        let mut set = |phase: usize, counters: &[(&'static str, u64)]| {
            let all: Pairs<u64> = counters.iter().copied().collect();
            run.phases[phase].vmstat = all;
        };
        set(1, &[("sim_candidates", 1000), ("sim_candidates_bound", 800)]);
        let counters = |asked, failed, free| {
            [
                ("sim_highalloc", asked),
                ("sim_highalloc_fail", failed),
                ("sim_highalloc_lists", free),
            ]
        };
        set(2, &counters(100, 50, 50));
        set(3, &counters(300, 100, 200));
        set(4, &[("sim_candidates", 0)]);
        set(5, &counters(10, 10, 0));
        let first = run.attempts("t/attempts1").expect("attempts");
        let of = |name: &str| {
            let figure = super::Attempts::FIGURES.iter().find(|f| f.0.trim() == name);
            figure.expect("a figure").1(&first)
        };
        let had = ["attempts", "successes", "that lay free", "after reclaim"].map(of);
        assert_eq!(had, [400.0, 250.0, 250.0, 0.0]);
        assert_eq!((of("candidates"), of("bound (moves alone)")), (1000.0, 800.0));
        assert_eq!((first.success(), first.success_n()), (62.5, 25.0));
        assert!(run.attempts("t/attempts2").expect("attempts").success_n().is_nan());
        for other in ["hog/filled", "t/survey1", "attempts", "t/attempts3"] {
            assert!(run.attempts(other).is_none(), "{other}");
        }
    }
}
