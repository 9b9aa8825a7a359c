//! Means over seeds.

/// The means of figures over seeds.
pub(super) fn means(values: &[Vec<f64>]) -> Vec<f64> {
    let figures = values.first().map_or(0, Vec::len);
    (0..figures).map(|m| mean(values.iter().map(|v| v[m]))).collect()
}

/// The mean of some values; 0 of none.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0_u32);
    for value in values {
        (sum, n) = (sum + value, n + 1);
    }
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}
