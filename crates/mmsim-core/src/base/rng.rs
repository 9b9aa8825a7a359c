//! Random streams. Every consumer has one of its own, derived from the run's seed and
//! the consumer's purpose, so that one more draw here never shifts a sequence there.
//! The generator is named: xoshiro256++ (Blackman and Vigna), seeded by splitmix64.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded random stream.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of `purpose` (for instance `workload/ebizzy/thread0`) under `seed`.
    pub fn for_purpose(seed: u64, purpose: &str) -> Self {
        // FNV-1a over the purpose: any fixed mixing does, it only has to stay the same.
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        for b in purpose.bytes() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(SplitMix64::new(seed ^ h).next_u64()))
    }
    /// Another stream of `purpose`, by where this one is now. This one goes on as if no branch had
    /// been taken.
    #[must_use]
    pub fn branch(&self, purpose: &str) -> Rng {
        Rng::for_purpose(self.clone().next_u64(), purpose)
    }
    /// Sixty-four random bits.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform in `0..n` (`n > 0`), by multiplication; the bias is below n / 2^64.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
    /// Uniform in [0, 1) with 53 bits.
    #[inline(always)]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
    /// Shuffles a slice (Fisher and Yates, from the end).
    pub fn shuffle<T>(&mut self, s: &mut [T]) {
        for i in (1..s.len()).rev() {
            s.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// The published splitmix64 generator (Steele, Lea, Flood): the counter-based stream
/// that the reference measurements were driven with.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A stream that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }
    /// The next output.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs as published with the recorded kernels.
    #[test]
    fn splitmix64_first_outputs() {
        let first = |seed| {
            let mut s = SplitMix64::new(seed);
            [s.next_u64(), s.next_u64(), s.next_u64(), s.next_u64()]
        };
        assert_eq!(
            first(0),
            [0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec]
        );
        assert_eq!(
            first(1),
            [0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e, 0x71c18690ee42c90b]
        );
        assert_eq!(
            first(3),
            [0x1d0b14e4db018fed, 0xb3466f8a7b81a989, 0x9cebe8a6d050dd01, 0x12a764fb66abc9cf]
        );
    }

    #[test]
    fn streams_of_different_purpose_differ_and_repeat() {
        let a: Vec<u64> = {
            let mut r = Rng::for_purpose(1, "a");
            (0..4).map(|_| r.next_u64()).collect()
        };
        let b: Vec<u64> = {
            let mut r = Rng::for_purpose(1, "b");
            (0..4).map(|_| r.next_u64()).collect()
        };
        let a2: Vec<u64> = {
            let mut r = Rng::for_purpose(1, "a");
            (0..4).map(|_| r.next_u64()).collect()
        };
        assert_ne!(a, b);
        assert_eq!(a, a2);
    }
}
