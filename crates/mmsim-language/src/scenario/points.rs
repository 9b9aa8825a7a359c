//! Points of a space of several dimensions, each by its number alone: a sweep takes any of them
//! without those before it.

use mmsim_core::base::rng::SplitMix64;

/// Names of the ways to draw points, as plans write them.
pub(super) const METHODS: [&str; 2] = ["random", "halton"];

/// A way to draw points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    /// Independent uniform draws.
    Random,
    /// Halton's sequence: of any number of first points, each part of the space has about its
    /// share.
    Halton,
}

/// Bases of the Halton sequence. Further ones would need thousands of points to fill their gaps.
const PRIMES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// Most dimensions of a Halton sequence.
pub(super) const MOST_DIMENSIONS: usize = PRIMES.len();

impl Method {
    /// The method of this place in [`METHODS`].
    pub(super) fn nth(n: usize) -> Method {
        if n == 0 { Method::Random } else { Method::Halton }
    }

    /// Coordinate `dimension` of point `n`, in [0, 1). Seed 0 is the sequence as published; others
    /// shift it, which keeps its distances.
    pub(super) fn coordinate(self, seed: u64, n: u64, dimension: usize) -> f64 {
        match self {
            Method::Random => uniform(&[seed, n, dimension as u64]),
            Method::Halton => {
                // The first point of the sequence is the corner, which is left out.
                let x = radical_inverse(n + 1, PRIMES[dimension]);
                let shift = if seed == 0 { 0.0 } else { uniform(&[seed, dimension as u64]) };
                (x + shift).fract()
            }
        }
    }
}

/// A number in [0, 1) that depends on all words.
fn uniform(words: &[u64]) -> f64 {
    let state = words.iter().fold(0, |s: u64, w| SplitMix64::new(s ^ w).next_u64());
    (state >> 11) as f64 / (1u64 << 53) as f64
}

/// The digits of `n` in a base, mirrored at the point.
fn radical_inverse(mut n: u64, base: u64) -> f64 {
    let (mut value, mut place) = (0.0, 1.0 / base as f64);
    while n > 0 {
        value += (n % base) as f64 * place;
        n /= base;
        place /= base as f64;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Halton's paper and every textbook have them.
    #[test]
    fn first_points_of_halton() {
        let of = |n, d| Method::Halton.coordinate(0, n, d);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let base2 = [0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875];
        let ninths = [3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0];
        for (n, (two, three)) in base2.into_iter().zip(ninths).enumerate() {
            near(of(n as u64, 0), two);
            near(of(n as u64, 1), three / 9.0);
        }
    }

    /// Cells of a grid of 8 by 9 get one point each of the 72 after a whole period: that is what
    /// low discrepancy means. Independent draws leave about a third of them empty.
    #[test]
    fn halton_leaves_no_gap_that_random_leaves() {
        let filled = |method: Method| {
            let mut cells = [false; 72];
            for n in 71..143 {
                let [x, y] = [0, 1].map(|d| method.coordinate(0, n, d));
                cells[(x * 8.0) as usize * 9 + (y * 9.0 + 1e-9) as usize] = true;
            }
            cells.iter().filter(|c| **c).count()
        };
        assert_eq!(filled(Method::Halton), 72);
        assert!((30..60).contains(&filled(Method::Random)), "{}", filled(Method::Random));
    }

    #[test]
    fn random_points_are_uniform_and_their_dimensions_apart() {
        let n = 20_000;
        let (mut sum, mut product) = ([0.0; 2], 0.0);
        for i in 0..n {
            let [x, y] = [0, 1].map(|d| Method::Random.coordinate(7, i, d) - 0.5);
            (sum[0], sum[1], product) = (sum[0] + x, sum[1] + y, product + x * y);
        }
        let n = n as f64;
        // Five standard deviations of the mean: sqrt(1/12) and 1/12 over sqrt(n).
        assert!(sum.iter().all(|s| (s / n).abs() < 5.0 * (1.0 / 12.0 / n).sqrt()), "{sum:?}");
        assert!((product / n).abs() < 5.0 / 12.0 / n.sqrt(), "{product}");
        assert_ne!(Method::Random.coordinate(7, 0, 0), Method::Random.coordinate(8, 0, 0));
    }

    #[test]
    fn a_seed_shifts_the_sequence() {
        let of = |seed, n| Method::Halton.coordinate(seed, n, 0);
        let distance = |seed| (of(seed, 1) - of(seed, 0)).rem_euclid(1.0);
        assert_ne!(of(3, 0), of(0, 0));
        assert!((distance(3) - distance(0)).abs() < 1e-12);
    }
}
