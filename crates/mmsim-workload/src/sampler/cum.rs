//! The zipf sampler of the reference measurements, bit by bit.
//!
//! It keeps the running sums of i^-theta, added in ascending order in double precision;
//! one random number gives u in [0, 1) with 53 bits, t = u * (last sum), and the rank is
//! the smallest k whose sum exceeds t. A binary search does that in log n dependent
//! look-ups. The guide table does it in one or two: the top bits of the random number
//! choose a slot, the slot says where the search for its smallest t ends, and the answer
//! cannot lie before that, because rounding keeps the order of products. It lies at most
//! where the next slot begins, and on average one step away.

use mmsim_core::base::rng::SplitMix64;

/// A table over ranks `0..n`.
#[derive(Clone, Debug)]
pub struct CumZipf {
    /// `sums[k]` = 1^-theta + ... + (k+1)^-theta.
    sums: Vec<f64>,
    /// Answers for the smallest t of each slot, and the last rank at the end.
    guide: Vec<u32>,
    /// The slot of `x` is `x >> shift`.
    shift: u32,
}

impl CumZipf {
    /// The law with exponent `theta` over `n` ranks.
    ///
    /// The powers come from the platform's `pow`. Another last digit there moves a
    /// draw by one rank with a probability of about 1e-12.
    pub fn new(n: u32, theta: f64) -> Self {
        assert!(n > 0, "a zipf table needs ranks");
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=n)
            .map(|i| {
                sum += f64::from(i).powf(-theta);
                sum
            })
            .collect();
        // Two slots a rank: most searches then end where they begin.
        let bits = n.next_power_of_two().trailing_zeros() + 1;
        let shift = 64 - bits;
        let mut table = CumZipf { sums, guide: Vec::new(), shift };
        let mut k = 0;
        let mut guide = Vec::with_capacity((1 << bits) + 1);
        for slot in 0..1u64 << bits {
            let t = table.threshold(slot << shift);
            while k + 1 < n && table.sums[k as usize] <= t {
                k += 1;
            }
            guide.push(k);
        }
        guide.push(n - 1);
        table.guide = guide;
        table
    }
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.sums.len() as u32
    }
    /// The rank of a random number.
    #[inline]
    pub fn rank(&self, x: u64) -> u32 {
        let t = self.threshold(x);
        let slot = (x >> self.shift) as usize;
        let (low, high) = (self.guide[slot], self.guide[slot + 1]);
        if high - low <= 8 {
            let mut k = low;
            while k < high && self.sums[k as usize] <= t {
                k += 1;
            }
            k
        } else {
            // A slot of the far tail of a steep law covers many ranks.
            let tail = &self.sums[low as usize..high as usize];
            low + tail.partition_point(|&s| s <= t) as u32
        }
    }
    /// Draws a rank: takes exactly one random number.
    #[inline]
    pub fn sample(&self, rng: &mut SplitMix64) -> u32 {
        self.rank(rng.next_u64())
    }
    #[inline(always)]
    fn threshold(&self, x: u64) -> f64 {
        (x >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0) * self.sums[self.sums.len() - 1]
    }
}

/// The reference's map from rank to page: `(rank * mul + add) mod n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinearMap {
    /// Multiplier; 1 with `add` 0 is the identity. A bijection if it has no common
    /// divisor with `n`.
    pub mul: u64,
    /// Offset in pages.
    pub add: u64,
    /// Number of pages.
    pub n: u32,
}

impl LinearMap {
    /// The page of a rank.
    #[inline(always)]
    pub fn page(&self, rank: u32) -> u32 {
        ((u64::from(rank) * self.mul + self.add) % u64::from(self.n)) as u32
    }
    /// The scattering multiplier that the reference uses: the smallest prime that is at
    /// least 0.6180339887 n.
    pub fn scattering_mul(n: u32) -> u64 {
        let prime =
            |p: u64| p > 1 && (2..).take_while(|d| d * d <= p).all(|d| !p.is_multiple_of(d));
        let from = (0.618_033_988_7 * f64::from(n)) as u64;
        (from..).find(|&p| prime(p)).expect("there is always a larger prime")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain rule, by binary search.
    fn plain(t: &CumZipf, x: u64) -> u32 {
        let at = t.threshold(x);
        (t.sums.partition_point(|&s| s <= at) as u32).min(t.ranks() - 1)
    }

    #[test]
    fn the_guide_changes_no_draw() {
        for (n, theta) in
            [(1, 0.9), (2, 0.5), (3, 1.3), (1000, 0.0), (65536, 0.9), (98304, 0.1), (131072, 1.3)]
        {
            let t = CumZipf::new(n, theta);
            let mut rng = SplitMix64::new(u64::from(n));
            for _ in 0..100_000 {
                let x = rng.next_u64();
                assert_eq!(t.rank(x), plain(&t, x));
            }
            // The ends of slots, where an off-by-one would sit.
            for slot in 0..(1u64 << (64 - t.shift)).min(10_000) {
                for x in [slot << t.shift, (slot << t.shift).wrapping_sub(1)] {
                    assert_eq!(t.rank(x), plain(&t, x));
                }
            }
        }
    }

    #[test]
    fn multipliers_of_the_reference() {
        for (n, mul) in
            [(49152, 30389), (65536, 40507), (81920, 50647), (98304, 60757), (131072, 81013)]
        {
            assert_eq!(LinearMap::scattering_mul(n), mul);
        }
    }

    /// First twenty `rank:page` pairs as published with the recorded kernels.
    #[test]
    fn first_outputs() {
        let lists: [(u32, f64, u64, u64, u64, &str); 7] = [
            (
                81920,
                0.1,
                1,
                50647,
                0,
                "43573:80771 59135:15145 79284:24108 33265:5735 33257:10159 60645:60755 \
                 70835:57685 39873:37911 20348:11556 63398:64106 29937:43879 46906:50102 \
                 34146:61262 40467:57589 32567:43569 11216:23472 50355:78165 65295:49305 \
                 53518:39106 71461:59667",
            ),
            (
                81920,
                0.9,
                1,
                50647,
                0,
                "2261:70627 11694:66338 66814:59218 617:37679 616:68952 13501:80827 33572:71484 \
                 1452:57204 84:76428 17437:34139 386:52782 3307:45149 695:55985 1561:7167 \
                 560:18000 13:3051 4815:71385 20709:26963 6700:22260 35397:14579",
            ),
            (
                98304,
                0.5,
                2,
                60757,
                0,
                "34468:2164 55256:8888 34986:17010 57675:15591 9642:25458 11914:46546 \
                 51954:27738 53786:54434 6245:72329 52135:14707 11431:93811 18956:78332 \
                 30479:60155 13842:7674 85418:76658 4140:72348 4010:38258 13147:52279 \
                 14140:25324 4418:54506",
            ),
            (
                98304,
                0.9,
                1,
                1,
                0,
                "2623:2623 13797:13797 80047:80047 704:704 703:703 15950:15950 39991:39991 \
                 1675:1675 93:93 20650:20650 438:438 3851:3851 795:795 1803:1803 639:639 14:14 \
                 5630:5630 24563:24563 7862:7862 42184:42184",
            ),
            (
                98304,
                0.9,
                1,
                60757,
                32768,
                "2623:47595 13797:58889 80047:54555 704:43456 703:81003 15950:26086 39991:84291 \
                 1675:56103 93:79841 20650:10866 438:3950 3851:44455 795:67319 1803:66983 \
                 639:26411 14:96934 5630:95062 24563:53935 7862:45166 42184:24168",
            ),
            (
                131072,
                1.3,
                3,
                81013,
                0,
                "0:0 26:9186 11:104711 0:0 0:0 14:85606 0:0 476:27020 4:61908 474:127138 \
                 25:59245 29:121153 4:61908 1:81013 31:21035 88:51256 1:81013 0:0 0:0 9:73757",
            ),
            (
                65536,
                0.9,
                1,
                40507,
                0,
                "1887:21733 9556:29276 53560:51176 525:32511 524:57540 11013:39 27106:58134 \
                 1219:29425 74:48398 14182:47234 331:38473 2746:17630 590:44026 1310:45546 \
                 478:29226 12:27332 3978:49358 16810:3630 5513:33939 28563:28897",
            ),
        ];
        for (n, theta, seed, mul, add, list) in lists {
            let table = CumZipf::new(n, theta);
            let map = LinearMap { mul, add, n };
            let mut rng = SplitMix64::new(seed);
            let pairs: Vec<String> = (0..20)
                .map(|_| {
                    let rank = table.sample(&mut rng);
                    format!("{rank}:{}", map.page(rank))
                })
                .collect();
            assert_eq!(pairs.join(" "), list, "n={n} theta={theta}");
        }
    }
}
