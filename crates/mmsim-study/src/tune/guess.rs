//! Guess at the figures of a setting that was never run, from those of others.
//!
//! The guess is the height of a plane through the settings around it: least squares, with weights
//! that fall with the distance (Cleveland's local regression, 1979). A setting with more seeds counts
//! more. A search screens its children by such guesses: of many that could be run, those are that
//! add most to the front if the guess is right.
//!
//! Only sums, products, quotients: a search is the same on each machine. So weights fall as
//! `1 / (1 + d²/h²)⁴`, not exponentially.

/// Known figures of a setting.
pub struct Known {
    /// Its coordinates in [0, 1).
    pub genes: Vec<f64>,
    /// Its figures, free of what seeds do.
    pub figures: Vec<f64>,
    /// Seeds that they are the means of.
    pub seeds: usize,
}

/// Slopes are held near 0 by as much as this share of all weight: a plane through few settings does
/// not tip over.
const RIDGE: f64 = 0.02;

/// The guess of each figure at a place; `None` with fewer than two settings. `ordered`: of each
/// coordinate whether neighbours are alike; others only count as equal or not.
pub fn figures(known: &[Known], genes: &[f64], ordered: &[bool]) -> Option<Vec<f64>> {
    if known.len() < 2 {
        return None;
    }
    let distance = |k: &Known| -> f64 {
        let pairs = k.genes.iter().zip(genes).zip(ordered);
        let one = |((a, b), ordered): ((&f64, &f64), &bool)| match ordered {
            true => (a - b) * (a - b),
            false => f64::from(u8::from(a != b)),
        };
        pairs.map(one).sum()
    };
    let far: Vec<f64> = known.iter().map(distance).collect();
    // As wide as the settings that a plane needs, and as many again.
    let mut sorted = far.clone();
    sorted.sort_by(f64::total_cmp);
    let n = (2 * genes.len() + 2).min(known.len());
    let width = sorted[n - 1].max(1e-6);
    let weights: Vec<f64> = known
        .iter()
        .zip(&far)
        .map(|(k, d)| {
            let fall = 1.0 + d / width;
            k.seeds as f64 / (fall * fall * fall * fall)
        })
        .collect();
    let slopes: Vec<usize> = (0..genes.len()).filter(|&i| ordered[i]).collect();
    let row = |k: &Known| -> Vec<f64> {
        std::iter::once(1.0).chain(slopes.iter().map(|&i| k.genes[i] - genes[i])).collect()
    };
    let rows: Vec<Vec<f64>> = known.iter().map(row).collect();
    let size = slopes.len() + 1;
    let mut matrix = vec![vec![0.0; size]; size];
    for (row, w) in rows.iter().zip(&weights) {
        for (i, line) in matrix.iter_mut().enumerate() {
            line.iter_mut().zip(row).for_each(|(cell, x)| *cell += w * row[i] * x);
        }
    }
    let ridge = RIDGE * weights.iter().sum::<f64>() * width;
    for (i, line) in matrix.iter_mut().enumerate().skip(1) {
        line[i] += ridge;
    }
    let height = |m: usize| {
        let mut right = vec![0.0; size];
        for ((row, w), k) in rows.iter().zip(&weights).zip(known) {
            right.iter_mut().zip(row).for_each(|(r, x)| *r += w * x * k.figures[m]);
        }
        solved(matrix.clone(), right)
    };
    Some((0..known[0].figures.len()).map(height).collect())
}

/// The first unknown of a system with a positive definite matrix.
fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> f64 {
    // The first unknown comes last, so that elimination leaves it alone.
    for i in (1..right.len()).rev() {
        let (above, from) = matrix.split_at_mut(i);
        let pivot = &from[0];
        for (row, line) in above.iter_mut().enumerate() {
            let factor = line[i] / pivot[i];
            line.iter_mut().zip(pivot).for_each(|(cell, p)| *cell -= factor * p);
            right[row] -= factor * right[i];
        }
    }
    right[0] / matrix[0][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a plane every guess is right, but for what the ridge takes off.
    #[test]
    fn planes_are_guessed() {
        let places: Vec<[f64; 2]> =
            (0..25).map(|i| [f64::from(i % 5) / 5.0, f64::from(i / 5) / 5.0]).collect();
        let plane = |[x, y]: [f64; 2]| vec![3.0 + 2.0 * x - 4.0 * y, -1.0 + x];
        let known: Vec<Known> = places
            .iter()
            .map(|p| Known { genes: p.to_vec(), figures: plane(*p), seeds: 1 })
            .collect();
        for place in [[0.33, 0.41], [0.5, 0.5], [0.71, 0.12]] {
            let guess = figures(&known, &place, &[true, true]).expect("settings");
            for (guess, right) in guess.iter().zip(plane(place)) {
                assert!((guess - right).abs() < 0.1, "{place:?}: {guess}, it is {right}");
            }
        }
        assert_eq!(figures(&known[..1], &[0.5, 0.5], &[true, true]), None);
    }

    /// Two equations by hand: 4 x + 2 y = 8 and 2 x + 2 y = 6 have x = 1.
    #[test]
    fn the_first_unknown_is_solved_for() {
        assert_eq!(solved(vec![vec![4.0, 2.0], vec![2.0, 2.0]], vec![8.0, 6.0]), 1.0);
    }

    /// Words have no slope: what was run with the same word counts more.
    #[test]
    fn a_word_is_like_itself() {
        let genes = [[0.1], [0.1], [0.6], [0.6]];
        let known: Vec<Known> = genes
            .iter()
            .zip([1.0, 1.0, 9.0, 9.0])
            .map(|(g, v)| Known { genes: g.to_vec(), figures: vec![v], seeds: 1 })
            .collect();
        let [one, other] =
            [0.1, 0.6].map(|x| figures(&known, &[x], &[false]).expect("settings")[0]);
        assert!(one < 4.0 && other > 6.0, "{one} {other}");
    }
}
