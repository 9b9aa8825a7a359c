//! Zipf draws of which only those of some pages are of interest: those pages by their law, and how
//! many draws of other pages lie between.
//!
//! Draws are independent, so the number of draws of other pages before the next one that counts is
//! geometric, and which page that is does not depend on it. Both together are exactly the sequence
//! that is left of all draws.

use mmsim_core::base::rng::Rng;

use super::alias::{Slot, slots};
use super::pages::RankMap;
use super::scatter::Scatter;

/// Terms that are summed one by one; the rest of the sum is an integral with its corrections.
const SUMMED: u64 = 1 << 16;

/// The pages that count.
#[derive(Clone, Debug)]
pub struct KeptPages {
    slots: Vec<Slot>,
    pages: Vec<u32>,
    /// ln of the share of draws that do not count.
    ln_others: f64,
}

impl KeptPages {
    /// The law `theta` over `pages` pages, placed by `map`, of which those in `kept` count. `None`:
    /// none does, or all do.
    pub fn new(
        pages: u32,
        theta: f64,
        map: RankMap,
        kept: impl Iterator<Item = u32>,
    ) -> Option<KeptPages> {
        let scatter =
            (map == RankMap::Scatter && theta != 0.0).then(|| Scatter::new(u64::from(pages)));
        let pages_kept: Vec<u32> = kept.collect();
        if pages_kept.is_empty() || pages_kept.len() >= pages as usize {
            return None;
        }
        let rank = |page: u32| scatter.as_ref().map_or(page, |s| s.unmap(page));
        let law: Vec<f64> =
            pages_kept.iter().map(|&p| (f64::from(rank(p)) + 1.0).powf(-theta)).collect();
        let share = law.iter().sum::<f64>() / power_sum(u64::from(pages), theta);
        Some(KeptPages { slots: slots(&law), pages: pages_kept, ln_others: (-share).ln_1p() })
    }

    /// Number of draws of other pages before the next one that counts.
    #[inline]
    pub fn others(&self, rng: &mut Rng) -> u64 {
        // In (0, 1]: its logarithm is finite.
        let u = 1.0 - rng.unit();
        (u.ln() / self.ln_others) as u64
    }

    /// A page that counts.
    #[inline]
    pub fn page(&self, rng: &mut Rng) -> u32 {
        let m = u128::from(rng.next_u64()) * self.slots.len() as u128;
        let (slot, position) = ((m >> 64) as usize, m as u64);
        let s = &self.slots[slot];
        let own = (position as f64) < s.own * 18_446_744_073_709_551_616.0;
        self.pages[if own { slot } else { s.alias as usize }]
    }
}

/// The sum of k^-theta for k from 1 to n. Beyond its first terms by Euler and Maclaurin, whose next
/// correction is below 1e-16 of it.
fn power_sum(n: u64, theta: f64) -> f64 {
    let term = |k: f64| k.powf(-theta);
    let m = n.min(SUMMED);
    let head: f64 = (1..=m).map(|k| term(k as f64)).sum();
    if n == m {
        return head;
    }
    let (a, b) = (m as f64, n as f64);
    let integral = if (theta - 1.0).abs() < 1e-12 {
        (b / a).ln()
    } else {
        (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta)
    };
    let slope = |k: f64| -theta * k.powf(-theta - 1.0);
    head + integral + (term(b) - term(a)) / 2.0 + (slope(b) - slope(a)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::super::PageSampler;
    use super::*;

    #[test]
    fn sums_are_those_of_all_terms() {
        for theta in [0.0, 0.5, 0.9, 1.0, 1.1] {
            let n = 300_000_u64;
            let all: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
            assert!((power_sum(n, theta) / all - 1.0).abs() < 1e-12, "{theta}");
        }
    }

    /// Against all draws, of which the others are left out: shares of pages and mean gaps, within
    /// five standard deviations.
    #[test]
    fn what_is_left_of_all_draws() {
        let (n, theta, draws) = (4096, 0.9, 2_000_000_u32);
        let keeps = |p: u32| p % 16 == 3;
        let kept = KeptPages::new(n, theta, RankMap::Scatter, (0..n).filter(|&p| keeps(p)));
        let kept = kept.unwrap();
        let all = PageSampler::new(n, theta, RankMap::Scatter);
        let mut rng = Rng::for_purpose(1, "kept");
        let mut plain = vec![0_u32; n as usize];
        let mut left = 0_u32;
        for page in (0..draws).map(|_| all.sample(&mut rng)).filter(|&p| keeps(p)) {
            plain[page as usize] += 1;
            left += 1;
        }
        let mut seen = vec![0_u32; n as usize];
        let mut others = 0;
        for _ in 0..left {
            others += kept.others(&mut rng);
            seen[kept.page(&mut rng) as usize] += 1;
        }
        let mean = others as f64 / f64::from(left);
        let expected = f64::from(draws - left) / f64::from(left);
        assert!((mean / expected - 1.0).abs() < 5.0 * 1.5 / f64::from(left).sqrt(), "{mean}");
        for (a, b) in plain.iter().zip(&seen) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            assert!((a - b).abs() <= 5.0 * (a + b + 1.0).sqrt(), "{a} and {b}");
        }
    }
}
