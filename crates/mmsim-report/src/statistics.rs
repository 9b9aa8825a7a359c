//! Statistics over seeds.
//!
//! A simulation is exact, but the workload is drawn at random, so that one run says what
//! happened and not what to expect. Several seeds give a mean and a 95 % confidence
//! interval of the mean: `mean ± t(0.975, n-1) · s / √n` with Student's t, since seeds are
//! few. Variants with the same seed have the same accesses; comparing them seed by seed
//! removes what the draw does to both, and leaves a much narrower interval than comparing
//! two means would.

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; `None` for a single value.
    pub ci95: Option<f64>,
    /// Number of values.
    pub n: usize,
}

impl Estimate {
    /// A figure of `n` values that has no interval, such as a share of them.
    pub fn without_interval(mean: f64, n: usize) -> Estimate {
        Estimate { mean, ci95: None, n }
    }

    /// True if the interval leaves out zero. A single value has no interval and says nothing of
    /// spread: then any value but zero does.
    pub fn differs_from_zero(&self) -> bool {
        self.mean.abs() > self.ci95.unwrap_or(0.0)
    }
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

/// The change from `first` to `other` in per cent: the mean of the changes of all pairs
/// with the same seed.
///
/// Seeds that only one side has are left out. A pair of zeros has not changed; a change
/// from zero to something has no percentage, and neither has the whole then: `None`.
pub fn paired_change(first: &[(u64, f64)], other: &[(u64, f64)]) -> Option<Estimate> {
    let mut changes = Vec::new();
    for &(seed, before) in first {
        let Some(&(_, after)) = other.iter().find(|(s, _)| *s == seed) else { continue };
        if before == after {
            changes.push(0.0);
        } else if before == 0.0 {
            return None;
        } else {
            changes.push((after - before) / before * 100.0);
        }
    }
    estimate(&changes)
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
