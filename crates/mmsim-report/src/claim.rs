//! Claims: what must hold of a figure.
//!
//! `[[expect]]` of a scenario, the constraints of a tuning, and the demands, relations and rules by
//! which published and recorded figures judge simulated ones are all claims. They differ in three
//! things, each of which moves a verdict: what a value is compared with, what is tested of it, and how
//! the values of several seeds become one answer. Conservation laws of counters are no claims: they
//! are whole numbers of one machine, exact, and stand in core.

use super::statistics::{estimate, quantile};

/// Bounds of a value; one that is missing does not bind.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Bounds {
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// True if a value on a bound is outside.
    pub open: bool,
}

/// Largest distance from a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// A share of the number.
    Share(f64),
    /// An amount in its unit.
    Amount(f64),
    /// A factor either way.
    Factor(f64),
}

/// Test of a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Test {
    /// It lies between bounds.
    Between(Bounds),
    /// It lies near a number.
    Near(f64, Tolerance),
    /// It is this number.
    Exactly(f64),
    /// It has the sign of a number, and is not zero.
    Sign(f64),
}

/// The value that a claim tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Against {
    /// The figure itself.
    Nothing,
    /// The figure as a multiple of another one.
    Ratio,
    /// The distance of the figure from another one, as a share of that.
    Error,
}

/// The way from several values to one answer: those of seeds, or of settings with their means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Over {
    /// The means are compared, and the result is tested: a ratio of means.
    Means,
    /// Values are compared one by one, and the mean of the results is tested: a mean of ratios.
    Pairs,
    /// At least this share of the values passes, 0 to 1.
    Share(f64),
    /// This quantile of the values is tested, 0 to 1: 0.5 is the median, 1 the largest.
    Quantile(f64),
}

/// A claim on a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Claim {
    /// The value that is tested.
    pub against: Against,
    /// The test that the value has to pass.
    pub test: Test,
    /// Way in which several values give one answer.
    pub over: Over,
}

/// The answer to a claim.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// The value that was tested; with [`Over::Share`] the share that passed.
    pub value: f64,
    /// True if the claim holds.
    pub holds: bool,
}

/// Bounds are decimal: a figure on the bound is not to fall off it by its last bit.
const LAST_BITS: f64 = 1e-12;

impl Bounds {
    /// True if a value lies between the bounds.
    pub fn holds(self, x: f64) -> bool {
        match self.open {
            true => self.low.is_none_or(|l| x > l) && self.high.is_none_or(|h| x < h),
            false => self.low.is_none_or(|l| x >= l) && self.high.is_none_or(|h| x <= h),
        }
    }

    /// The bounds as multiples of a number.
    #[must_use]
    pub fn times(self, by: f64) -> Bounds {
        Bounds { low: self.low.map(|l| l * by), high: self.high.map(|h| h * by), ..self }
    }

    /// By how much a value breaks the bounds, as a share of the bound; more than 0 if it does.
    pub fn excess(self, x: f64) -> f64 {
        let over = |by: f64, bound: f64| {
            let on_it = if self.open && by == 0.0 { LAST_BITS } else { 0.0 };
            by.max(0.0) / bound.abs().max(1e-9) + on_it
        };
        self.low.map_or(0.0, |b| over(b - x, b)) + self.high.map_or(0.0, |b| over(x - b, b))
    }

    /// The bounds in a few words.
    pub fn words(self) -> String {
        let strictly = if self.open { "strictly " } else { "" };
        match (self.low, self.high) {
            (Some(l), Some(h)) => format!("{strictly}between {} and {}", plain(l), plain(h)),
            (Some(l), None) => format!("{strictly}above {}", plain(l)),
            (None, Some(h)) => format!("{strictly}below {}", plain(h)),
            (None, None) => "none".into(),
        }
    }

    /// The bounds as files write them, such as `above 3 and below 5`.
    pub fn keys(self, number: impl Fn(f64) -> String) -> String {
        let keys = [("above", self.low), ("below", self.high)].into_iter();
        let bound = |(key, bound): (&str, Option<f64>)| Some(format!("{key} {}", number(bound?)));
        keys.filter_map(bound).collect::<Vec<_>>().join(" and ")
    }
}

impl Test {
    /// True if a value passes.
    pub fn holds(self, x: f64) -> bool {
        let within = |off: f64, limit: f64| off.abs() <= limit * (1.0 + LAST_BITS);
        match self {
            Test::Between(bounds) => bounds.holds(x),
            Test::Near(of, Tolerance::Share(share)) => within(x - of, share * of.abs()),
            Test::Near(of, Tolerance::Amount(amount)) => within(x - of, amount),
            Test::Near(of, Tolerance::Factor(factor)) => {
                let factor = factor * (1.0 + LAST_BITS);
                x <= of * factor && x * factor >= of
            }
            Test::Exactly(of) => x == of,
            Test::Sign(of) => of.signum() == x.signum() && x != 0.0,
        }
    }
}

impl Against {
    /// The value that is tested.
    fn of(self, of: f64, than: f64) -> f64 {
        match self {
            Against::Nothing => of,
            Against::Ratio => of / than,
            Against::Error => (of - than).abs() / than,
        }
    }
}

impl Over {
    /// The answer for values of which each passes or not; `means`: the answer for their means.
    /// `None` without values.
    pub fn answer(self, passed: &[bool], means: impl FnOnce() -> bool) -> Option<bool> {
        let held = passed.iter().filter(|p| **p).count();
        match (passed.len(), self) {
            (0, _) => None,
            // Shares are decimal: nine of ten are 0.9, whatever their last bit says.
            (n, Over::Share(s)) => Some(held as f64 >= s * n as f64 * (1.0 - LAST_BITS)),
            _ => Some(means()),
        }
    }

    /// A share of seeds in a few words; empty for all others.
    pub fn words(self) -> String {
        match self {
            Over::Share(s) => format!(" on {} % of the seeds", plain(s * 100.0)),
            Over::Means | Over::Pairs | Over::Quantile(_) => String::new(),
        }
    }
}

impl Claim {
    /// The claim that the mean of a figure lies between bounds.
    pub const fn between(bounds: Bounds) -> Claim {
        Claim { against: Against::Nothing, test: Test::Between(bounds), over: Over::Means }
    }

    /// The bounds, if it has any.
    pub fn bounds(&self) -> Bounds {
        if let Test::Between(bounds) = self.test { bounds } else { Bounds::default() }
    }

    /// The verdict on one value of the figure, compared with one of the other figure, which does not
    /// count where there is none.
    pub fn judge_one(&self, of: f64, than: f64) -> Verdict {
        let value = self.against.of(of, than);
        let holds = match (self.against, self.test) {
            // Less than a multiple of nothing is nothing, while a ratio to it is no number.
            (Against::Ratio, Test::Between(bounds)) => bounds.times(than).holds(of),
            (_, test) => test.holds(value),
        };
        Verdict { value, holds }
    }

    /// The values that are tested, where each value of the figure has one: those of the same place in
    /// `than` are compared with them. Nothing over nothing is no value.
    pub fn values(&self, of: &[f64], than: &[f64]) -> Vec<f64> {
        if self.against == Against::Nothing {
            return of.to_vec();
        }
        let pairs = of.iter().zip(than).filter(|(a, b)| (**a, **b) != (0.0, 0.0));
        pairs.map(|(a, b)| self.against.of(*a, *b)).collect()
    }

    /// The verdict on the values of seeds or settings; `than` are those of the other figure, if
    /// there is one. `None`: there is nothing to judge.
    pub fn judge(&self, of: &[f64], than: &[f64]) -> Option<Verdict> {
        if self.over == Over::Means {
            let than = if self.against == Against::Nothing { Some(0.0) } else { mean(than) };
            return Some(self.judge_one(mean(of)?, than?));
        }
        let mut values = self.values(of, than);
        let passed: Vec<bool> = values.iter().map(|v| self.test.holds(*v)).collect();
        let value = match self.over {
            Over::Share(_) => passed.iter().filter(|p| **p).count() as f64 / passed.len() as f64,
            Over::Quantile(q) => {
                values.sort_by(f64::total_cmp);
                quantile(&values, q)?
            }
            Over::Means | Over::Pairs => mean(&values)?,
        };
        let holds = self.over.answer(&passed, || self.test.holds(value))?;
        Some(Verdict { value, holds })
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    estimate(values).map(|e| e.mean)
}

/// A number without digits that say nothing.
pub fn plain(x: f64) -> String {
    ((x * 1e6).round() / 1e6).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::grouped;

    const BELOW_ONE: Claim = Claim::between(Bounds { low: None, high: Some(1.0), open: true });

    /// 1/1 and 1/4 have a mean above that of their sums: 2/5.
    #[test]
    fn a_ratio_of_means_is_not_a_mean_of_ratios() {
        let ratio = Claim { against: Against::Ratio, ..BELOW_ONE };
        let value = |over| {
            let claim = Claim { over, ..ratio };
            claim.judge(&[1.0, 1.0], &[1.0, 4.0]).map(|v| (v.value, v.holds))
        };
        assert_eq!(value(Over::Means), Some((0.4, true)));
        assert_eq!(value(Over::Pairs), Some((0.625, true)));
        assert_eq!(value(Over::Share(1.0)), Some((0.5, false)));
        assert_eq!(value(Over::Share(0.5)), Some((0.5, true)));
        assert_eq!(value(Over::Quantile(1.0)), Some((1.0, false)));
        assert_eq!(value(Over::Quantile(0.5)), Some((0.25, true)));
    }

    #[test]
    fn nothing_over_nothing_is_not_judged() {
        let ratio = Claim { against: Against::Ratio, over: Over::Pairs, ..BELOW_ONE };
        assert_eq!(ratio.judge(&[0.0], &[0.0]), None);
        assert_eq!(ratio.judge(&[0.0, 1.0], &[0.0, 2.0]).map(|v| v.value), Some(0.5));
        assert_eq!(ratio.judge(&[], &[]), None);
        // Less than a multiple of nothing is nothing.
        assert!(!Claim { over: Over::Means, ..ratio }.judge_one(0.0, 0.0).holds);
    }

    #[test]
    fn bounds_tell_by_how_much_they_are_broken() {
        let open = Bounds { low: Some(2.0), high: Some(4.0), open: true };
        assert_eq!([1.0, 3.0, 5.0].map(|x| open.excess(x)), [0.5, 0.0, 0.25]);
        assert!(open.excess(4.0) > 0.0 && !open.holds(4.0));
        assert!(Bounds { open: false, ..open }.holds(4.0));
        assert_eq!(open.words(), "strictly between 2 and 4");
        assert_eq!(open.keys(grouped), "above 2 and below 4");
    }

    #[test]
    fn errors_are_shares_of_the_other_figure() {
        let median = Bounds { high: Some(0.02), ..Bounds::default() };
        let rule =
            Claim { against: Against::Error, over: Over::Quantile(0.5), ..Claim::between(median) };
        let verdict = rule.judge(&[101.0, 90.0, 102.0], &[100.0; 3]).expect("three cells");
        assert_eq!((verdict.value, verdict.holds), (0.02, true));
    }
}
