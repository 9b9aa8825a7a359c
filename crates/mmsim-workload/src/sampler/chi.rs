//! Pearson's test, for the tests of samplers.

/// Number of standard deviations from the expectation of the chi-square of `draws` draws, if
/// outcome i has a weight of `law[i]`. (Normal for many outcomes.)
pub(super) fn z_of(law: &[f64], draws: u64, mut draw: impl FnMut() -> usize) -> f64 {
    let sum: f64 = law.iter().sum();
    let mut seen = vec![0u64; law.len()];
    for _ in 0..draws {
        seen[draw()] += 1;
    }
    let chi: f64 = law
        .iter()
        .zip(&seen)
        .map(|(w, &s)| {
            let expected = w / sum * draws as f64;
            (s as f64 - expected).powi(2) / expected
        })
        .sum();
    let df = law.len() as f64 - 1.0;
    (chi - df) / (2.0 * df).sqrt()
}

/// The sum of k^-theta for k = `a..=b`: term by term up to 2^16, beyond by the formula
/// of Euler and Maclaurin, whose first left-out term is below 1e-13 of the sum there.
pub(super) fn power_sum(a: u64, b: u64, theta: f64) -> f64 {
    const EXACT: u64 = 1 << 16;
    let term = |k: u64| (k as f64).powf(-theta);
    if a > b {
        return 0.0;
    }
    if a < EXACT {
        let end = b.min(EXACT - 1);
        return (a..=end).map(term).sum::<f64>() + power_sum(EXACT, b, theta);
    }
    let (x, y) = (a as f64, b as f64);
    let integral = if theta == 1.0 {
        (y / x).ln()
    } else {
        (y.powf(1.0 - theta) - x.powf(1.0 - theta)) / (1.0 - theta)
    };
    let slope = |k: f64| -theta * k.powf(-theta - 1.0);
    integral + (term(a) + term(b)) / 2.0 + (slope(y) - slope(x)) / 12.0
}
