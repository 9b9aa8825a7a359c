//! The prepared random numbers of masim.
//!
//! To keep drawing out of what it measures, the program prepares a thousand rows of a
//! thousand numbers and goes through rows that it chooses at random. Over a region there
//! are therefore at most a million places, which matters in regions of gigabytes.

use mmsim_core::base::rng::Rng;

/// Rows, and numbers in a row.
pub(super) const ROWS: usize = 1000;
/// All numbers.
pub(super) const NUMBERS: u64 = (ROWS * ROWS) as u64;

#[derive(Clone, Debug, Default)]
pub(super) struct Prepared {
    /// Empty until the first draw.
    numbers: Vec<u64>,
    row: usize,
    next: usize,
}

impl Prepared {
    /// A number below `n`, which is at least 1.
    #[inline]
    pub(super) fn below(&mut self, n: u64, rng: &mut Rng) -> u64 {
        if self.numbers.is_empty() {
            self.numbers = (0..ROWS * ROWS).map(|_| rng.next_u64()).collect();
        }
        if self.next == ROWS {
            self.row = rng.below(ROWS as u64) as usize;
            self.next = 0;
        }
        self.next += 1;
        // The bias of the remainder is below 2^-20 for all that fits a machine.
        self.numbers[self.last()] % n
    }

    /// Which number was drawn last.
    pub(super) fn last(&self) -> usize {
        self.row * ROWS + self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Rows come whole, and `m` draws of a row out of a thousand leave each row out with
    /// probability (1 - 1/1000)^m.
    #[test]
    fn a_thousand_rows_at_random() {
        let mut rng = Rng::for_purpose(1, "workload/test");
        let mut p = Prepared::default();
        let draws: Vec<u64> = (0..2_000_000).map(|_| p.below(u64::MAX, &mut rng)).collect();
        let rows: Vec<&[u64]> = draws.chunks(ROWS).collect();
        let mut seen = BTreeMap::new();
        for r in &rows {
            assert_eq!(*seen.entry(r[0]).or_insert(r), r);
        }
        // 1000 (1 - e^-2) = 865 rows with a deviation of 9: 1000 e^-2 (1 - 3 e^-2) = 80.
        let expected = 1000.0 * (1.0 - 0.999_f64.powi(2000));
        assert!((seen.len() as f64 - expected).abs() < 4.0 * 9.0, "{} of {expected}", seen.len());
    }
}
