//! The exact zipf sampler: P(rank k) proportional to (k + 1)^-theta.
//!
//! Three ways, by size: uniform for theta 0, a plain alias table up to 2^16 ranks (one
//! look-up, about 2 ns, half a MiB), the bucketed sampler beyond (about 4 ns at any
//! size). All three are exact up to rounding of double precision; none approximates the
//! law, as the popular closed form of Gray and others does (which is also undefined
//! from theta 1 on).

use super::alias::{AliasTable, MAX_OUTCOMES};
use super::bucketed::Bucketed;
use mmsim_core::base::rng::Rng;

/// A sampler of ranks `0..n`, rank 0 the likeliest.
#[derive(Clone, Debug)]
pub struct Zipf(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Uniform(u64),
    Alias(AliasTable),
    Bucketed(Bucketed),
}

impl Zipf {
    /// The law with exponent `theta` (finite, at least 0; 0 is uniform) over `n` ranks (1 to 2^32).
    pub fn new(n: u64, theta: f64) -> Self {
        Zipf::check(n, theta);
        Zipf(if theta == 0.0 {
            Kind::Uniform(n)
        } else if n <= MAX_OUTCOMES as u64 {
            Kind::Alias(AliasTable::new(&weights(n, theta)))
        } else {
            Kind::Bucketed(Bucketed::new(n, theta))
        })
    }
    /// Panics where there is no such law.
    pub(super) fn check(n: u64, theta: f64) {
        assert!((1..=1 << 32).contains(&n), "a zipf law over {n} ranks: must be 1 to 2^32");
        assert!(theta.is_finite() && theta >= 0.0, "zipf theta {theta}: must be at least 0");
    }
    /// One rank.
    #[inline(always)]
    pub fn sample(&self, rng: &mut Rng) -> u32 {
        match &self.0 {
            Kind::Uniform(n) => rng.below(*n) as u32,
            Kind::Alias(t) => t.sample(rng),
            Kind::Bucketed(b) => b.sample(rng),
        }
    }
    /// Appends `n` things, each made of a rank and of what else is drawn for it, as many calls of
    /// [`Zipf::sample`] would.
    #[inline]
    pub(super) fn sample_all<D: Copy + Default, T>(
        &self,
        rng: &mut Rng,
        n: usize,
        out: &mut Vec<T>,
        more: impl Fn(&mut Rng) -> D,
        make: impl Fn(u32, D) -> T,
    ) {
        match &self.0 {
            Kind::Uniform(ranks) => {
                append(rng, n, out, |r| (r.below(*ranks) as u32, more(r)), make);
            }
            Kind::Alias(t) => append(rng, n, out, |r| (t.sample(r), more(r)), make),
            Kind::Bucketed(b) => append(rng, n, out, |r| (b.sample(r), more(r)), make),
        }
    }
}

/// The weights of ranks `0..n`.
pub(super) fn weights(n: u64, theta: f64) -> Vec<f64> {
    (1..=n).map(|k| (k as f64).powf(-theta)).collect()
}

/// Draws that are made into things together.
const BLOCK: usize = 64;

/// Appends `n` things that are made of what is drawn from a stream.
///
/// A block is drawn before its things are made: each of the two loops has registers for all that
/// it needs, the stream among them, and one for both would not.
#[inline(always)]
pub(super) fn append<D: Copy + Default, T>(
    rng: &mut Rng,
    n: usize,
    out: &mut Vec<T>,
    draw: impl Fn(&mut Rng) -> (u32, D),
    make: impl Fn(u32, D) -> T,
) {
    let mut r = rng.clone();
    let mut drawn = [(0, D::default()); BLOCK];
    let mut left = n;
    while left > 0 {
        let block = &mut drawn[..left.min(BLOCK)];
        left -= block.len();
        block.iter_mut().for_each(|d| *d = draw(&mut r));
        out.extend(block.iter().map(|&(rank, more)| make(rank, more)));
    }
    *rng = r;
}

#[cfg(test)]
mod tests {
    use super::super::chi;
    use super::*;

    const THETAS: [f64; 5] = [0.0, 0.5, 0.9, 1.0, 1.1];

    #[test]
    fn every_rank_has_its_probability() {
        for theta in THETAS {
            let s = Zipf::new(5000, theta);
            let mut rng = Rng::for_purpose(3, "zipf");
            let z = chi::z_of(&weights(5000, theta), 3_000_000, || s.sample(&mut rng) as usize);
            assert!(z.abs() < 3.5, "theta {theta}: {z}");
        }
    }

    /// Ranks are grouped: the first sixteen alone, then four groups per doubling.
    #[test]
    fn large_laws_by_groups() {
        for lg in [17u32, 20, 24, 28] {
            let n = 1u64 << lg;
            let mut bounds: Vec<u64> = (1..=16).collect();
            while let Some(&b) = bounds.last()
                && b + b / 4 <= n
            {
                bounds.push(b + b / 4);
            }
            bounds.push(n + 1);
            for theta in THETAS {
                let law: Vec<f64> =
                    bounds.windows(2).map(|w| chi::power_sum(w[0], w[1] - 1, theta)).collect();
                let draws = 1_000_000;
                // The normal approximation wants some draws in every group.
                let sum: f64 = law.iter().sum();
                let start = law.iter().position(|w| w / sum * draws as f64 > 8.0).unwrap();
                let mut merged = vec![law[..=start].iter().sum::<f64>()];
                merged.extend(&law[start + 1..]);
                let s = Zipf::new(n, theta);
                let mut rng = Rng::for_purpose(u64::from(lg), "zipf");
                let z = chi::z_of(&merged, draws, || {
                    let k = u64::from(s.sample(&mut rng)) + 1;
                    (bounds.partition_point(|&b| b <= k) - 1).saturating_sub(start)
                });
                assert!(z.abs() < 3.5, "n 2^{lg}, theta {theta}: {z}");
            }
        }
    }

    /// The head alone, where a wrong law shows first: within five standard deviations.
    #[test]
    fn probabilities_of_the_head() {
        for (n, theta) in [(1u64 << 16, 0.9), (1 << 20, 0.9), (1 << 20, 1.0), (1 << 28, 1.1)] {
            let s = Zipf::new(n, theta);
            let mut rng = Rng::for_purpose(5, "head");
            let draws = 1_000_000;
            let mut seen = [0u32; 4];
            for _ in 0..draws {
                if let Some(c) = seen.get_mut(s.sample(&mut rng) as usize) {
                    *c += 1;
                }
            }
            let sum = chi::power_sum(1, n, theta);
            for (k, &c) in seen.iter().enumerate() {
                let p = (k as f64 + 1.0).powf(-theta) / sum;
                let sd = (p * (1.0 - p) * f64::from(draws)).sqrt();
                let off = (f64::from(c) - p * f64::from(draws)) / sd;
                assert!(off.abs() < 5.0, "n {n}, theta {theta}, rank {k}: {off} deviations");
            }
        }
    }

    #[test]
    fn smallest_laws() {
        let mut rng = Rng::for_purpose(1, "small");
        for theta in THETAS {
            assert_eq!(Zipf::new(1, theta).sample(&mut rng), 0);
            let two = Zipf::new(2, theta);
            assert!((0..100).all(|_| two.sample(&mut rng) < 2));
        }
    }
}
