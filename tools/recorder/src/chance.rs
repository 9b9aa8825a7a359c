//! The draws of a script, bit by bit those of `evidence/reference/GENERATOR.md`.
//!
//! Written down here a second time, so that a mistake of the model's own generator shows as a
//! difference and is not recorded along.

/// splitmix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator after `seed k`; before any, k is 0.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// Draws a number and tests for `w` in a thousand.
    pub fn permille(&mut self, w: u64) -> bool {
        self.draw() % 1000 < w
    }
}

/// A law of ranks: sums of the powers, rank 0 the hottest.
#[derive(Clone, Debug)]
pub struct Law(Vec<f64>);

impl Law {
    /// The law of n >= 1 ranks with exponent theta. Powers come from the C library.
    pub fn new(n: usize, theta: f64) -> Law {
        let mut sum = 0.0;
        let sums = (1..=n).map(|k| {
            sum += (k as f64).powf(-theta);
            sum
        });
        Law(sums.collect())
    }
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.0.len()
    }
    /// Draws a rank.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let u = (rng.draw() >> 11) as f64 * (-53f64).exp2();
        let last = self.0.len() - 1;
        let at = u * self.0[last];
        self.0.partition_point(|&c| c <= at).min(last)
    }
}

/// Which page a rank is: `(rank * mul + add) mod n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Map {
    /// Factor.
    pub mul: u64,
    /// Summand.
    pub add: u64,
}

impl Map {
    /// The page of a rank among n.
    pub fn page(self, rank: usize, n: usize) -> usize {
        let wide = rank as u128 * u128::from(self.mul) + u128::from(self.add);
        (wide % n as u128) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_published_ones() {
        let three = |seed| {
            let mut rng = Rng::new(seed);
            [rng.draw(), rng.draw(), rng.draw()]
        };
        assert_eq!(three(0), [0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f]);
        assert_eq!(three(1), [0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e]);
    }

    #[test]
    fn ranks_and_pages_are_those_of_the_reference() {
        let first = |n, theta, seed, mul| {
            let (law, mut rng) = (Law::new(n, theta), Rng::new(seed));
            [(); 5].map(|()| {
                let rank = law.draw(&mut rng);
                (rank, Map { mul, add: 0 }.page(rank, n))
            })
        };
        let mild = [(2261, 70627), (11694, 66338), (66814, 59218), (617, 37679), (616, 68952)];
        assert_eq!(first(81_920, 0.9, 1, 50_647), mild);
        let steep = [(0, 0), (26, 9186), (11, 104_711), (0, 0), (0, 0)];
        assert_eq!(first(131_072, 1.3, 3, 81_013), steep);
    }

    #[test]
    fn a_map_neither_overflows_nor_leaves_the_region() {
        let map = Map { mul: u64::MAX, add: 5 };
        // 2^64 - 1 is 0 modulo 5 and 1 modulo 7.
        assert_eq!(map.page(3, 5), 0);
        assert_eq!(map.page(3, 7), (3 + 5) % 7);
    }
}
