//! Which pages a miniature keeps.
//!
//! Pages are numbered within their *space*: a file, or a region of anonymous memory. Aligned units
//! of `unit` pages stay together, so that what is read ahead stays together. Of each `one_in` units
//! in a row, a *stratum*, one is kept: the one that a hash of the space, the number of the stratum
//! and the seed names. So any range keeps its share of pages to within one unit, and kept pages
//! have consecutive numbers in the miniature.
//!
//! The samples of one scenario, numbered from 0, keep units at equal distances of each stratum: no
//! page is in two of them, as long as there are no more samples than units.

use mmsim_core::base::rng::SplitMix64;

/// One sample of all pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// log2 of the units of which one is kept.
    pub shift: u32,
    /// log2 of the pages of a unit.
    pub unit: u32,
    /// Number among the samples of one scenario.
    pub number: u32,
    /// Samples of the scenario.
    pub of: u32,
}

impl Sample {
    /// The unit of a stratum that is kept.
    #[inline]
    fn chosen(self, space: u64, stratum: u64) -> u64 {
        let seed = space.wrapping_add(stratum.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let hash = SplitMix64::new(seed).next_u64() >> (64 - self.shift.max(1));
        let apart = (u64::from(self.number) << self.shift) / u64::from(self.of.max(1));
        (hash + apart) & ((1 << self.shift) - 1)
    }

    /// Number of the first `n` pages of a space that are kept.
    #[inline]
    pub fn below(self, space: u64, n: u64) -> u64 {
        let stratum = n >> (self.shift + self.unit);
        let rest = n - (stratum << (self.shift + self.unit));
        if rest == 0 {
            return stratum << self.unit;
        }
        let before = self.chosen(space, stratum) << self.unit;
        (stratum << self.unit) + rest.saturating_sub(before).min(1 << self.unit)
    }

    /// The number of a page in the miniature, if it is kept.
    #[inline]
    pub fn page(self, space: u64, page: u64) -> Option<u64> {
        let stratum = page >> (self.shift + self.unit);
        let rest = page - (stratum << (self.shift + self.unit));
        let kept = self.chosen(space, stratum);
        let in_unit = rest & ((1 << self.unit) - 1);
        (rest >> self.unit == kept).then_some((stratum << self.unit) + in_unit)
    }

    /// The pages that are kept of the first `n` of a space, in order.
    pub fn kept(self, space: u64, n: u32) -> impl Iterator<Item = u32> {
        let strata = (u64::from(n) >> (self.shift + self.unit)) + 1;
        let first = move |stratum: u64| {
            ((stratum << self.shift) + self.chosen(space, stratum)) << self.unit
        };
        let units = (0..strata).flat_map(move |s| first(s)..first(s) + (1 << self.unit));
        units.filter(move |&page| page < n.into()).map(|page| page as u32)
    }

    /// Pages of the full machine that a page stands for.
    pub fn one_in(self) -> u64 {
        1 << self.shift
    }
}

/// The number of a space by its name.
pub(super) fn space(name: &str) -> u64 {
    // FNV-1a, mixed by the hash of the sample.
    name.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(shift: u32, unit: u32, number: u32) -> Sample {
        Sample { shift, unit, number, of: 4 }
    }

    #[test]
    fn kept_pages_are_numbered_in_a_row() {
        for (shift, unit) in [(0, 0), (2, 0), (4, 3), (6, 5)] {
            let s = sample(shift, unit, 1);
            let mut next = 0;
            for page in 0..10_000 {
                assert_eq!(s.below(7, page), next, "{page}");
                if let Some(n) = s.page(7, page) {
                    assert_eq!(n, next);
                    next += 1;
                }
            }
            let kept: Vec<u32> = s.kept(7, 10_000).collect();
            let plain = (0..10_000).filter(|&p| s.page(7, u64::from(p)).is_some());
            assert!(plain.eq(kept));
            let share = 10_000 >> shift;
            assert!(next.abs_diff(share) <= 1 << unit, "{next} of {share}");
        }
    }

    #[test]
    fn samples_of_a_scenario_share_no_page() {
        let all: Vec<Sample> = (0..4).map(|k| sample(4, 0, k)).collect();
        for page in 0..1000 {
            assert!(all.iter().filter(|s| s.page(3, page).is_some()).count() <= 1);
        }
    }

    #[test]
    fn spaces_keep_different_pages() {
        let s = sample(6, 0, 0);
        let kept = |space: u64| (0..6400).filter(move |&p| s.page(space, p).is_some());
        let both = kept(1).filter(|p| kept(2).any(|q| q == *p)).count();
        assert!(both < 10, "{both} of 100");
    }
}
