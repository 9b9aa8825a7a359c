//! An exact zipf sampler whose tables do not grow with the number of ranks.
//!
//! Ranks are grouped into buckets of consecutive ranks: the first 64 alone, then buckets
//! whose length is 1/48 of their first rank, so that 400 to 800 buckets cover 2^16 to
//! 2^28 ranks and stay in the nearest cache. Within a bucket the law is nearly flat; its
//! *envelope* is flat at the height of the first rank. A draw takes a bucket from an
//! alias table over the envelopes, a uniform rank within the bucket, and accepts the
//! rank with the ratio of law to envelope. Rejection makes the result exact.
//!
//! The ratio needs a power, but it is never below that of the bucket's last rank, the
//! *squeeze*: a uniform number below it accepts at once, which happens in about 99 % of
//! draws. The uniform number costs nothing: multiplying 64 random bits by the length
//! gives the rank in the high word and a fresh fraction in the low word.

use super::alias;
use mmsim_core::base::rng::Rng;

/// Ranks that have a bucket of their own.
const HEAD: u64 = 64;
/// A bucket is `first rank / GROWTH` long.
const GROWTH: u64 = 48;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// One bucket and its alias slot; 32 bytes, so that none straddles a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Bucket {
    /// Share of the slot that is this bucket, in 2^-64.
    threshold: u64,
    /// Law over envelope at the last rank, in 2^-64: below it no power is needed.
    squeeze: u64,
    /// Bucket that has the rest of the slot.
    alias: u32,
    /// First rank, from 0.
    first: u32,
    /// Ranks.
    len: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Bucketed {
    buckets: Vec<Bucket>,
    theta: f64,
}

impl Bucketed {
    /// A sampler over ranks `0..n`, at most 2^32 of them.
    pub(super) fn new(n: u64, theta: f64) -> Self {
        assert!(n > 0 && n <= 1 << 32);
        let (mut buckets, mut envelopes) = (Vec::new(), Vec::new());
        let mut a = 1; // counted from 1, as in the law
        while a <= n {
            let len = if a <= HEAD { 1 } else { a / GROWTH }.min(n - a + 1);
            let height = (a as f64).powf(-theta);
            let lowest = ((a + len - 1) as f64).powf(-theta);
            envelopes.push(height * len as f64);
            let squeeze = if len == 1 { u64::MAX } else { (lowest / height * TWO_64) as u64 };
            let (first, len) = ((a - 1) as u32, len as u32);
            buckets.push(Bucket { threshold: 0, squeeze, alias: 0, first, len });
            a += u64::from(len);
        }
        for (b, slot) in buckets.iter_mut().zip(alias::slots(&envelopes)) {
            // Saturates: a whole slot has itself as alias.
            b.threshold = (slot.own * TWO_64) as u64;
            b.alias = slot.alias;
        }
        Bucketed { buckets, theta }
    }

    /// One rank.
    #[inline(always)]
    pub(super) fn sample(&self, rng: &mut Rng) -> u32 {
        loop {
            let m = u128::from(rng.next_u64()) * self.buckets.len() as u128;
            let (slot, position) = ((m >> 64) as usize, m as u64);
            let own = &self.buckets[slot];
            // A conditional move: a branch would be mispredicted too often.
            let keep = position < own.threshold;
            let i = std::hint::select_unpredictable(keep, slot, own.alias as usize);
            let b = &self.buckets[i];
            let m = u128::from(rng.next_u64()) * u128::from(b.len);
            let (offset, fraction) = ((m >> 64) as u32, m as u64);
            if fraction <= b.squeeze || self.accept(b.first, offset, fraction) {
                return b.first + offset;
            }
        }
    }

    /// The test that needs a power: law over envelope at `first + offset`.
    #[cold]
    #[inline(never)]
    fn accept(&self, first: u32, offset: u32, fraction: u64) -> bool {
        let a = f64::from(first) + 1.0;
        (fraction as f64) < (a / (a + f64::from(offset))).powf(self.theta) * TWO_64
    }
}

#[cfg(test)]
mod tests {
    use super::super::chi;
    use super::*;

    #[test]
    fn buckets_cover_every_rank_once() {
        for n in [1, 2, 63, 64, 65, 66, 1000, 4096, 1 << 20, 1 << 28] {
            let s = Bucketed::new(n, 0.9);
            let mut next = 0;
            for b in &s.buckets {
                assert_eq!(u64::from(b.first), next);
                next += u64::from(b.len);
            }
            assert_eq!(next, n);
            assert!(s.buckets.len() < 850);
        }
    }

    /// Chi-square over each of 4096 ranks, most of them in buckets of several.
    #[test]
    fn every_rank_has_its_probability() {
        for theta in [0.5, 0.9, 1.0, 1.1] {
            let s = Bucketed::new(4096, theta);
            let mut rng = Rng::for_purpose(9, "bucketed");
            let law: Vec<f64> = (1..=4096).map(|k| f64::from(k).powf(-theta)).collect();
            let z = chi::z_of(&law, 4_000_000, || s.sample(&mut rng) as usize);
            assert!(z.abs() < 3.5, "theta {theta}: {z}");
        }
    }
}
