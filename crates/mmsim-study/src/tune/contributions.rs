//! Contribution of each knob to each figure, by all settings that were tried.
//!
//! Settings are sorted by the figure, and their ranks are taken apart. A knob's *share* is the part
//! of the variance of ranks between groups of like values: each word, or up to five groups of equal
//! size along a range. It is corrected for what groups of chance have (epsilon squared: mean squares,
//! not sums). So it holds effects that rise and fall again, and is about 0 where there is none. The
//! *correlation* of ranks (Spearman's) says which way a range goes.
//!
//! A search tries good settings more often than others, and knobs together. So shares are no
//! effects of a designed experiment, and need not sum to 1.

use schemars::JsonSchema;
use serde::Serialize;

/// Groups along a range.
const GROUPS: usize = 5;
/// Settings in a group, at least.
const LEAST: usize = 4;

/// Contribution of a knob to a figure.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Contribution {
    /// The knob.
    pub knob: String,
    /// The figure.
    pub figure: String,
    /// Share of the variance of ranks between groups of its values, 0 to 1.
    pub share: f64,
    /// Correlation of ranks, -1 to 1; of words there is none.
    pub correlation: Option<f64>,
}

/// Ranks from 0; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let equal = |i: &&usize| values[**i] == values[order[from]];
        let n = order[from..].iter().take_while(equal).count();
        for &i in &order[from..from + n] {
            ranks[i] = from as f64 + (n - 1) as f64 / 2.0;
        }
        from += n;
    }
    ranks
}

/// Share and correlation of a knob, whose values are `x`, with a figure. `words`: values are numbers
/// of words.
pub(super) fn of(x: &[f64], figure: &[f64], words: bool) -> (f64, Option<f64>) {
    let (of_knob, of_figure) = (ranks(x), ranks(figure));
    let groups = match words {
        true => of_knob.clone(),
        false => {
            let groups = (x.len() / LEAST).clamp(1, GROUPS) as f64;
            // Equal values are in one group.
            of_knob.iter().map(|r| ((r + 0.5) / x.len() as f64 * groups).floor()).collect()
        }
    };
    let correlation = (!words).then(|| correlation(&of_knob, &of_figure));
    (between(&groups, &of_figure), correlation)
}

/// Share of the variance of `y` between groups, corrected for chance.
fn between(groups: &[f64], y: &[f64]) -> f64 {
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n.max(1.0);
    let total: f64 = y.iter().map(|v| (v - mean) * (v - mean)).sum();
    let mut names = groups.to_vec();
    names.sort_by(f64::total_cmp);
    names.dedup();
    let degrees = n - names.len() as f64;
    if total <= 0.0 || degrees <= 0.0 {
        return 0.0;
    }
    let mut within = 0.0;
    for name in &names {
        let of: Vec<f64> =
            groups.iter().zip(y).filter(|(g, _)| *g == name).map(|(_, v)| *v).collect();
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        within += of.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    }
    (1.0 - within / degrees / (total / (n - 1.0))).max(0.0)
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n.max(1.0);
    let (mx, my) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        x.iter().zip(y).map(|(a, b)| of(a - mx, b - my)).sum()
    };
    let (xx, yy, xy) = (sum(&|a, _| a * a), sum(&|_, b| b * b), sum(&|a, b| a * b));
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::rng::Rng;

    #[test]
    fn ranks_of_equals() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
    }

    /// A figure that follows one knob, bends with another and has nothing of a third.
    #[test]
    fn straight_bent_and_idle() {
        let mut rng = Rng::for_purpose(1, "test");
        let mut draw = || (0..200).map(|_| rng.unit()).collect::<Vec<f64>>();
        let (a, b, idle) = (draw(), draw(), draw());
        let straight: Vec<f64> = a.iter().map(|a| 9.0 - a).collect();
        let (share, correlation) = of(&a, &straight, false);
        assert!(share > 0.9 && correlation == Some(-1.0), "{share} {correlation:?}");
        let bent: Vec<f64> = b.iter().map(|b| (b - 0.5) * (b - 0.5)).collect();
        let (share, correlation) = of(&b, &bent, false);
        assert!(share > 0.7 && correlation.is_some_and(|c| c.abs() < 0.2), "{share}");
        let words: Vec<f64> = a.iter().map(|a| if *a < 0.5 { 2.0 } else { 1.0 }).collect();
        let (share, correlation) = of(&words, &straight, true);
        assert!(share > 0.7 && correlation.is_none(), "{share}");
        assert_eq!(of(&idle, &[1.0; 200], false), (0.0, Some(0.0)));
    }

    /// With 200 values in 5 groups the share is 0 on average where there is nothing, with a
    /// deviation of sqrt(2 * 4) / 199 = 0.014. Cut off at 0, its mean is 0.4 of that.
    #[test]
    fn an_idle_knob_has_next_to_nothing() {
        let of_seed = |seed| {
            let mut rng = Rng::for_purpose(seed, "test");
            let mut draw = || (0..200).map(|_| rng.unit()).collect::<Vec<f64>>();
            let (idle, figure) = (draw(), draw());
            of(&idle, &figure, false).0
        };
        let mean = (0..100).map(of_seed).sum::<f64>() / 100.0;
        assert!((0.002..0.009).contains(&mean), "{mean}");
    }
}
