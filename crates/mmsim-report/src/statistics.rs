//! Statistics over seeds.
//!
//! A simulation is exact, but the workload is drawn at random, so that one run says what
//! happened and not what to expect. Several seeds give a mean and a 95 % confidence
//! interval of the mean: `mean ± t(0.975, n-1) · s / √n` with Student's t, since seeds are
//! few. Variants with the same seed have the same accesses; comparing them seed by seed
//! ([`pairs`]) removes what the draw does to both, and leaves a much narrower interval than
//! comparing two means would.
//!
//! Every mean with an interval is an [`Estimate`], and every document writes it by
//! [`estimate_fields!`](crate::estimate_fields).

use schemars::{Schema, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; `None` for a single value.
    pub ci95: Option<f64>,
    /// Number of values.
    #[serde(skip)]
    pub n: usize,
}

/// Values of a figure by seed.
pub type Sample = [(u64, f64)];

impl Estimate {
    /// Mean and interval of some values as they come; `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Estimate> {
        estimate(&values.into_iter().collect::<Vec<f64>>())
    }

    /// A figure of `n` values that has no interval, such as a share of them.
    pub fn without_interval(mean: f64, n: usize) -> Estimate {
        Estimate { mean, ci95: None, n }
    }

    /// True if the interval leaves out zero. A single value has no interval and says nothing of
    /// spread: then any value but zero does.
    pub fn differs_from_zero(&self) -> bool {
        self.mean.abs() > self.ci95.unwrap_or(0.0)
    }

    /// True if there is an interval, and it leaves out zero. A single value proves nothing.
    pub fn is_proven(&self) -> bool {
        self.ci95.is_some() && self.differs_from_zero()
    }

    /// True if the mean of further seeds is where this one lets expect it, in 95 of 100 cases: within
    /// the interval of this mean, widened by the spread of those seeds. `None` without an interval.
    pub fn foretells(&self, further: &Estimate) -> Option<bool> {
        let wider = (1.0 + self.n as f64 / further.n as f64).sqrt();
        Some((self.mean - further.mean).abs() <= self.ci95? * wider)
    }

    /// The number of values from which the interval would leave out zero, if mean and spread stay what
    /// they are. `None`: one value tells no spread, the mean is zero, or it would take too many.
    pub fn enough(&self) -> Option<usize> {
        const MOST: usize = 10_000;
        let deviation = self.ci95? * (self.n as f64).sqrt() / t_975(self.n.checked_sub(1)?);
        let half = |n: usize| t_975(n - 1) * deviation / (n as f64).sqrt();
        (self.n.max(2)..=MOST).find(|&n| half(n) < self.mean.abs())
    }

    /// The estimate with mean and interval in another unit, or rounded.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Estimate {
        Estimate { mean: of(self.mean), ci95: self.ci95.map(of), n: self.n }
    }

    /// The mean of estimates from draws that have nothing in common, so that their intervals add as
    /// squares. Those of a single value add nothing. `None` of none.
    pub fn mean_of(all: &[Estimate]) -> Option<Estimate> {
        let n = all.len() as f64;
        let mean = all.iter().map(|e| e.mean).sum::<f64>() / n;
        let squares: Vec<f64> = all.iter().filter_map(|e| e.ci95.map(|c| c * c)).collect();
        let ci95 = (!squares.is_empty()).then(|| squares.iter().sum::<f64>().sqrt() / n);
        (!all.is_empty()).then_some(Estimate { mean, ci95, n: all.len() })
    }

    /// Writes mean and half interval under two names: the work of
    /// [`estimate_fields!`](crate::estimate_fields).
    ///
    /// # Errors
    ///
    /// The serializer refuses them.
    pub fn write<S: Serializer>(
        of: Option<Estimate>,
        [mean, ci95]: [&'static str; 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(mean, &of.map(|e| e.mean))?;
        map.serialize_entry(ci95, &of.and_then(|e| e.ci95))?;
        map.end()
    }

    /// The schema of these two fields, each with a sentence. `always`: there is a mean in any case.
    pub fn schema(fields: [(&str, &str); 2], always: bool) -> Schema {
        let [(mean, says), (ci95, of_ci95)] = fields;
        let number = |says: &str, always: bool| match always {
            true => json_schema!({ "description": says, "type": "number", "format": "double" }),
            false => {
                let either = ["number", "null"];
                json_schema!({ "description": says, "type": either, "format": "double" })
            }
        };
        let required = if always { vec![mean] } else { Vec::new() };
        json_schema!({
            "type": "object",
            "properties": { mean: number(says, always), ci95: number(of_ci95, false) },
            "required": required,
        })
    }
}

/// Modules that write an [`Estimate`], or `Option` of one, as two fields of a document: the names of
/// the mean and of half the interval. A field takes one by `#[serde(flatten, with = "NAME")]`. Where
/// the document has a schema, a sentence for each of the two follows, and the field takes
/// `#[schemars(flatten, schema_with = "NAME::schema")]` besides.
#[macro_export]
macro_rules! estimate_fields {
    ($(
        $name:ident: $of:ty => $mean:literal, $ci95:literal $(: $says:literal, $of_ci95:literal)?;
    )*) => {$(
        mod $name {
            use $crate::statistics::Estimate;

            /// Writes the two fields.
            pub(super) fn serialize<S: ::serde::Serializer>(
                of: &$of,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                Estimate::write((*of).into(), [$mean, $ci95], serializer)
            }

            $(
                /// The schema of the two fields.
                pub(super) fn schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                    let always = Option::<Estimate>::from(<$of>::default()).is_some();
                    Estimate::schema([($mean, $says), ($ci95, $of_ci95)], always)
                }
            )?
        }
    )*};
}

/// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom, rounded to 3 decimals.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, //
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, //
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5 % quantile of Student's t. Above 30 degrees of freedom that of the normal
/// distribution stands for it, too small by 4 % at most.
fn t_975(degrees_of_freedom: usize) -> f64 {
    degrees_of_freedom.checked_sub(1).and_then(|i| T_975.get(i)).copied().unwrap_or(1.96)
}

/// Mean and confidence interval of some values; `None` without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let ci95 = (n > 1).then(|| {
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = (squares / (n - 1) as f64).sqrt();
        t_975(n - 1) * deviation / (n as f64).sqrt()
    });
    Some(Estimate { mean, ci95, n })
}

/// The `q` quantile of ascending values: the smallest that at least that share of them does
/// not exceed.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let rank = (q * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied()
}

/// The values of two samples that have the same seed, in the order of the first. Seeds that only one
/// side has are left out.
pub fn pairs<'a>(first: &'a Sample, other: &'a Sample) -> impl Iterator<Item = (f64, f64)> + 'a {
    let of = |seed: u64| other.iter().find(move |o| o.0 == seed);
    first.iter().filter_map(move |&(seed, v)| Some((v, of(seed)?.1)))
}

/// Values that have no seeds as a sample: those of the same place are pairs.
pub fn by_place(values: impl IntoIterator<Item = f64>) -> Vec<(u64, f64)> {
    (0..).zip(values).collect()
}

/// The difference of all pairs, second minus first.
pub fn paired_difference(first: &Sample, other: &Sample) -> Option<Estimate> {
    Estimate::of(pairs(first, other).map(|(before, after)| after - before))
}

/// The change from `first` to `other` in per cent: the mean of the changes of all pairs.
///
/// A pair of zeros has not changed; a change from zero to something has no percentage, and neither
/// has the whole then: `None`.
pub fn paired_change(first: &Sample, other: &Sample) -> Option<Estimate> {
    let change = |(before, after): (f64, f64)| match before == after {
        true => Some(0.0),
        false => (before != 0.0).then(|| (after - before) / before * 100.0),
    };
    estimate(&pairs(first, other).map(change).collect::<Option<Vec<f64>>>()?)
}

/// The ratio of two means, of values that belong together. Its interval is that of what the ratio
/// leaves of each pair. `None` where values are too few for one.
pub fn ratio_of_means(of: &[f64], all: &[f64]) -> Option<Estimate> {
    let whole = estimate(all)?.mean;
    let ratio = estimate(of)?.mean / whole;
    let left = of.iter().zip(all).map(|(v, all)| v - ratio * all);
    let half = Estimate::of(left)?.ci95? / whole.abs();
    Some(Estimate { mean: ratio, ci95: Some(half), n: of.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 32, s = sqrt(32/7), t(7) = 2.365.
        let e = estimate(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((e.mean, e.n), (5.0, 8));
        let expected = 2.365 * (32.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt();
        assert!((e.ci95.unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn few_values() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[3.0]), Some(Estimate { mean: 3.0, ci95: None, n: 1 }));
        // Two values a and b: half width 12.706 · |a-b| / 2.
        let e = estimate(&[1.0, 3.0]).unwrap();
        assert!((e.ci95.unwrap() - 12.706).abs() < 1e-9);
    }

    /// 100 and 300, of which 150 and 210: 360 of 400 are 90 %. What that leaves, 60 and -60, has an
    /// interval of 762, and the mean is 200.
    #[test]
    fn a_ratio_of_means_has_the_interval_of_what_it_leaves() {
        let part = ratio_of_means(&[150.0, 210.0], &[100.0, 300.0]).unwrap();
        assert_eq!(((part.mean * 100.0).round(), part.n), (90.0, 2));
        assert!((part.ci95.unwrap() - 12.706 * 60.0 / 200.0).abs() < 1e-9);
        assert!(!part.differs_from_zero());
    }

    /// Intervals of 3 and 4 have 5 as the root of their squares, and the mean of two a half of it.
    #[test]
    fn intervals_of_different_draws_add_as_squares() {
        let of = |mean, ci95| Estimate { mean, ci95, n: 2 };
        let mean = Estimate::mean_of(&[of(1.0, Some(3.0)), of(3.0, Some(4.0))]);
        assert_eq!(mean, Some(of(2.0, Some(2.5))));
        assert_eq!(Estimate::mean_of(&[of(1.0, None)]).unwrap().ci95, None);
        assert_eq!(Estimate::mean_of(&[]), None);
    }

    /// One further seed spreads as far as a seed does, so an interval of 2 over 3 seeds lets expect
    /// it within 4 of the mean.
    #[test]
    fn further_seeds_lie_where_the_first_let_expect() {
        let here = Estimate { mean: 10.0, ci95: Some(2.0), n: 3 };
        let there = |mean| here.foretells(&Estimate::without_interval(mean, 1));
        assert_eq!((there(14.0), there(5.9)), (Some(true), Some(false)));
        assert_eq!(Estimate::without_interval(1.0, 1).foretells(&here), None);
    }

    /// A single value proves nothing, and neither does an interval with zero in it.
    #[test]
    fn only_an_interval_proves() {
        let of = |ci95| Estimate { mean: -2.0, ci95, n: 1 };
        assert_eq!([None, Some(1.0), Some(2.0)].map(|c| of(c).is_proven()), [false, true, false]);
        assert!(of(None).differs_from_zero());
    }

    /// 0 and 4 have a deviation of 2.83 around 2. With 10 values t is 2.262 and half the interval
    /// 2.02, with 11 it is 2.228 and 1.90.
    #[test]
    fn seeds_that_would_do() {
        assert_eq!(estimate(&[0.0, 4.0]).unwrap().enough(), Some(11));
        assert_eq!(estimate(&[1.0, 1.1]).unwrap().enough(), Some(2), "two prove it");
        assert_eq!(estimate(&[-1.0, 1.0]).unwrap().enough(), None);
        assert_eq!(estimate(&[3.0]).unwrap().enough(), None);
    }

    #[test]
    fn quantiles_fall_to_the_normal_one() {
        assert_eq!(t_975(1), 12.706);
        assert_eq!(t_975(30), 2.042);
        assert_eq!(t_975(31), 1.96);
        assert!(T_975.windows(2).all(|w| w[0] > w[1]));
    }

    #[test]
    fn pairs_remove_what_the_seed_does() {
        // The second variant is 10 % below the first for every seed, although the seeds
        // differ by a factor of four: the interval of the change has no width.
        let first = [(1, 100.0), (2, 200.0), (3, 400.0)];
        let other = [(3, 360.0), (1, 90.0), (2, 180.0)];
        let change = paired_change(&first, &other).unwrap();
        assert!((change.mean + 10.0).abs() < 1e-12);
        assert!(change.ci95.unwrap() < 1e-9);
        assert!(change.differs_from_zero());
    }

    #[test]
    fn zeros_and_missing_seeds() {
        let change = paired_change(&[(1, 0.0), (2, 10.0)], &[(1, 0.0), (2, 20.0)]).unwrap();
        assert_eq!((change.mean, change.n), (50.0, 2));
        assert_eq!(paired_change(&[(1, 0.0)], &[(1, 5.0)]), None);
        assert_eq!(paired_change(&[(1, 1.0)], &[(2, 5.0)]), None);
        let one = paired_change(&[(1, 4.0), (2, 1.0)], &[(1, 5.0)]).unwrap();
        assert_eq!((one.mean, one.ci95, one.n), (25.0, None, 1));
    }
}
