//! A fixed bijection of `0..n` that sends neighbours far apart.
//!
//! Hot pages of a real program are not neighbours, so ranks are scattered over the
//! region. On a power of two, multiplying by an odd number and folding the high half
//! onto the low half are both reversible, so two rounds of them are a bijection. For
//! other n it works on the next power of two and, when the result is not below n, goes
//! on from there ("cycle walking"): the walk stays on one cycle of the bijection, which
//! it entered below n, so it comes back below n, and distinct starts end distinctly.

/// Multipliers of splitmix64.
const MULTIPLIERS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// The inverse of an odd number modulo 2^64: each step of Newton doubles the bits that are right.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd; // Right in three bits.
    let mut i = 0;
    while i < 5 {
        x = x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
        i += 1;
    }
    x
}

/// The bijection.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    key: u64,
}

impl Scatter {
    /// The bijection of `0..n`, `n` from 1 to 2^32.
    pub fn new(n: u64) -> Self {
        Scatter::keyed(n, 0)
    }
    /// One of many bijections of `0..n`, chosen by `key`.
    pub fn keyed(n: u64, key: u64) -> Self {
        assert!((1..=1 << 32).contains(&n), "scatter over {n}: must be 1 to 2^32");
        let bits = n.next_power_of_two().trailing_zeros();
        let mask = (1 << bits) - 1;
        Scatter { n, mask, shift: bits.div_ceil(2).max(1), key: key & mask }
    }
    /// Where `x` (below n) goes.
    #[inline(always)]
    pub fn map(&self, x: u32) -> u32 {
        let mut y = self.round(u64::from(x));
        while y >= self.n {
            y = self.round(y);
        }
        y as u32
    }
    /// True if one round of [`Scatter::map`] is enough: n is a power of two.
    #[inline]
    pub fn is_one_round(&self) -> bool {
        self.n == self.mask + 1
    }
    /// Where `x` goes then, without a branch.
    #[inline(always)]
    pub fn map_in_one_round(&self, x: u32) -> u32 {
        self.round(u64::from(x)) as u32
    }
    /// The value that goes to `y` (below n).
    pub fn unmap(&self, y: u32) -> u32 {
        let mut x = u64::from(y);
        loop {
            x = self.unround(x);
            if x < self.n {
                return x as u32;
            }
        }
    }
    /// Undoes `round`: a fold undoes itself, since its shift is half of the bits or more.
    fn unround(&self, y: u64) -> u64 {
        let mut x = y ^ (y >> self.shift);
        x = x.wrapping_mul(inverse(MULTIPLIERS[1])) & self.mask;
        x ^= x >> self.shift;
        (x.wrapping_mul(inverse(MULTIPLIERS[0])) & self.mask) ^ self.key
    }
    /// The bijection of the next power of two. Multipliers: the two of splitmix64.
    #[inline(always)]
    fn round(&self, x: u64) -> u64 {
        let mut y = x ^ self.key;
        y = y.wrapping_mul(MULTIPLIERS[0]) & self.mask;
        y ^= y >> self.shift;
        y = y.wrapping_mul(MULTIPLIERS[1]) & self.mask;
        y ^ (y >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_bijection(n: u32, key: u64) -> bool {
        let s = Scatter::keyed(u64::from(n), key);
        let mut seen = vec![false; n as usize];
        let back = |x| s.unmap(s.map(x)) == x;
        (0..n).all(|x| back(x) && !std::mem::replace(&mut seen[s.map(x) as usize], true))
    }

    #[test]
    fn small_domains_all() {
        for n in 1..=300 {
            assert!(is_bijection(n, 0), "{n}");
        }
    }

    proptest! {
        #[test]
        fn any_domain(n in 1u32..200_000, key: u64) {
            prop_assert!(is_bijection(n, key));
        }
    }

    /// Neighbours end up about a third of the domain apart, as random pairs do.
    #[test]
    fn neighbours_part() {
        let n = 100_000u32;
        let s = Scatter::new(u64::from(n));
        let sum: u64 = (1..n).map(|x| u64::from(s.map(x).abs_diff(s.map(x - 1)))).sum();
        let mean = sum as f64 / f64::from(n - 1) / f64::from(n);
        assert!((0.2..0.5).contains(&mean), "{mean}");
    }
}
