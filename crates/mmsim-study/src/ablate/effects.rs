//! Effects of switches alone, in pairs, and as shares of the whole.
//!
//! A set of switches is a number whose bit `i` says that switch `i` is on. For one seed, `v(S)` is
//! the figure with the switches of `S` on.
//!
//! - *Alone*: `v(i) - v(none)`.
//! - *Together*, two switches beyond their sum: `v(ij) - v(i) - v(j) + v(none)`.
//! - *Share*: the mean of `v(S+i) - v(S)` over all orders in which the switches can be turned on,
//!   where `S` are those before `i`. This is the Shapley value. Of each order the steps sum to
//!   `v(all) - v(none)`, so the shares do too.
//!
//! Shares take whole numbers: values come in millionths, and a share in sixtieths of these. The
//! weights of up to six switches are whole sixtieths, so shares sum without rounding.
//!
//! Above six switches there are too many sets. Then a share is the mean over some orders drawn for
//! the seed, each with its reverse. It is an estimate without bias, and still sums to the
//! difference. Every seed draws orders of its own, so the interval over seeds holds the chance of
//! the draw as well.

use mmsim_core::base::rng::Rng;

/// Most switches of which all sets are run.
pub const MOST_EXACT: usize = 6;

/// Parts of a millionth in which shares are counted.
pub const PARTS: i128 = 60;

/// A set of switches: bit `i` is switch `i`.
pub type Set = u64;

/// All switches of `k`.
pub const fn all(k: usize) -> Set {
    (1 << k) - 1
}

/// Orders in which switches are turned on: all that is known of larger sets.
pub type Orders = Vec<Vec<usize>>;

/// Orders of `k` switches for a seed, each behind its reverse; none up to [`MOST_EXACT`].
pub fn orders(k: usize, seed: u64, pairs_of_orders: usize) -> Orders {
    if k <= MOST_EXACT {
        return Vec::new();
    }
    let mut rng = Rng::for_purpose(seed, "ablate");
    let mut order: Vec<usize> = (0..k).collect();
    let mut all = Vec::new();
    for _ in 0..pairs_of_orders {
        rng.shuffle(&mut order);
        all.push(order.iter().rev().copied().collect());
        all.push(order.clone());
    }
    all
}

/// The sets to run: all of them; above [`MOST_EXACT`] none, singles, pairs, and the beginnings of
/// the orders. Each once, in the order of their numbers.
pub fn sets(k: usize, orders: &Orders) -> Vec<Set> {
    if k <= MOST_EXACT {
        return (0..=all(k)).collect();
    }
    let singles = (0..k).map(|i| 1 << i);
    let pairs = (0..k).flat_map(|i| (0..i).map(move |j| 1 << i | 1 << j));
    let begun = orders.iter().flat_map(|order| {
        order.iter().scan(0, |set, i| {
            *set |= 1 << i;
            Some(*set)
        })
    });
    let mut sets: Vec<Set> =
        [0, all(k)].into_iter().chain(singles).chain(pairs).chain(begun).collect();
    sets.sort_unstable();
    sets.dedup();
    sets
}

/// Effect of one switch alone.
pub fn alone(i: usize, v: impl Fn(Set) -> i128) -> i128 {
    v(1 << i) - v(0)
}

/// Effect of two switches beyond the sum of their single effects.
pub fn together(i: usize, j: usize, v: impl Fn(Set) -> i128) -> i128 {
    v(1 << i | 1 << j) - v(1 << i) - v(1 << j) + v(0)
}

/// Shares of all switches, and in how many parts of a value they are counted. They sum to the
/// whole difference.
pub fn shares(k: usize, orders: &Orders, v: impl Fn(Set) -> i128) -> (Vec<i128>, i128) {
    if k <= MOST_EXACT {
        return ((0..k).map(|i| exact(k, i, &v)).collect(), PARTS);
    }
    let mut shares = vec![0; k];
    for order in orders {
        let mut before = 0;
        for &i in order {
            shares[i] += v(before | 1 << i) - v(before);
            before |= 1 << i;
        }
    }
    (shares, orders.len() as i128)
}

/// The Shapley value of a switch among at most six, in sixtieths.
fn exact(k: usize, i: usize, v: &impl Fn(Set) -> i128) -> i128 {
    let without = (0..=all(k)).filter(|s| s >> i & 1 == 0);
    without.map(|s| weight(k, s.count_ones() as usize) * (v(s | 1 << i) - v(s))).sum()
}

/// In how many sixtieths of all orders of `k` switches a given set of `size` stands before a given
/// other switch: `size! (k - 1 - size)! / k!`.
fn weight(k: usize, size: usize) -> i128 {
    let factorial = |n: usize| (1..=n as i128).product::<i128>();
    PARTS * factorial(size) * factorial(k - 1 - size) / factorial(k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::rng::Rng;
    use mmsim_report::statistics::estimate;
    use proptest::prelude::*;

    #[test]
    fn weights_of_up_to_six_are_whole_sixtieths() {
        for k in 1..=MOST_EXACT {
            let choose = |n: usize| (0..n).fold(1, |c, i| c * (k - 1 - i) / (i + 1)) as i128;
            let total: i128 = (0..k).map(|size| choose(size) * weight(k, size)).sum();
            assert_eq!(total, PARTS, "k = {k}");
        }
    }

    /// Two switches by hand: 10 and 20 alone, 50 together. Each has what it does alone and half of
    /// the 20 beyond their sum.
    #[test]
    fn by_hand() {
        let v = |s: Set| [100, 110, 120, 150][s as usize];
        assert_eq!((alone(0, v), alone(1, v), together(0, 1, v)), (10, 20, 20));
        assert_eq!(shares(2, &Vec::new(), v), (vec![20 * PARTS, 30 * PARTS], PARTS));
    }

    /// Two orders of seven, one the reverse of the other: what three switches do only together
    /// goes to the last of the three in each.
    #[test]
    fn seven_switches_take_orders() {
        assert_eq!(sets(6, &orders(6, 1, 4)).len(), 64);
        let one: Orders = vec![vec![0, 1, 2, 3, 4, 5, 6], vec![6, 5, 4, 3, 2, 1, 0]];
        let seven = sets(7, &one);
        // None, singles, pairs, the whole, and the beginnings of three to six.
        assert_eq!(seven.len(), 1 + 7 + 21 + 1 + 2 * 4);
        let v = |s: Set| if s & 7 == 7 { 90 } else { 0 };
        assert_eq!(shares(7, &one, v), (vec![90, 0, 90, 0, 0, 0, 0], 2));
        let drawn = orders(7, 1, 4);
        assert_eq!((drawn.len(), drawn == orders(7, 2, 4)), (8, false));
    }

    proptest! {
        /// Whatever the values, shares sum to the difference, and a switch that changes nothing has
        /// none.
        #[test]
        fn shares_sum_to_the_difference(
            k in 1_usize..=8,
            seed in 0_u64..1000,
            values in prop::collection::vec(-1_000_000_000_000_i128..1_000_000_000_000, 256),
            idle in 0_usize..8,
        ) {
            let v = |s: Set| values[(s & !(1 << idle)) as usize];
            let orders = orders(k, seed, 4);
            let known = sets(k, &orders);
            let (shares, parts) = shares(k, &orders, |s| {
                assert!(known.binary_search(&s).is_ok(), "{s:b} was not run");
                v(s)
            });
            prop_assert_eq!(shares.iter().sum::<i128>(), parts * (v(all(k)) - v(0)));
            prop_assert!(idle >= k || shares[idle] == 0);
        }

        /// An order and its reverse give what pairs do to both halves. So without effects of three,
        /// orders find the Shapley value: what a switch does alone and half of each pair.
        #[test]
        fn pairs_are_halved(
            seed in 0_u64..1000,
            single in prop::collection::vec(-1000_i128..1000, 8),
            pair in prop::collection::vec(-1000_i128..1000, 64),
        ) {
            let v = |s: Set| {
                let on = |i: usize| s >> i & 1 == 1;
                let singles: i128 = (0..8).filter(|i| on(*i)).map(|i| single[i]).sum();
                let pairs = (0..8).flat_map(|i| (0..i).map(move |j| (i, j)));
                let on = pairs.filter(|(i, j)| on(*i) && on(*j));
                singles + on.map(|(i, j)| pair[8 * i + j]).sum::<i128>()
            };
            let (shares, parts) = shares(8, &orders(8, seed, 1), v);
            for (i, share) in shares.into_iter().enumerate() {
                let pairs: i128 = (0..8).filter(|j| *j != i).map(|j| together(i, j, v)).sum();
                prop_assert_eq!(2 * share, parts * (2 * alone(i, v) + pairs));
            }
        }
    }

    /// The 95 % intervals of shares hold the true share in 93 to 97 % of 1,000 trials. Each trial
    /// has five seeds; a seed moves every run alike, and each run by a little of its own. Intervals
    /// with 1.96 for Student's 2.776 are too narrow, and the trials show it.
    #[test]
    fn intervals_cover() {
        let truth = |s: Set| {
            let on = |i: Set| i128::from(s >> i & 1);
            1_000_000 + 4_000 * on(0) - 9_000 * on(1) + 3_000 * on(0) * on(1) + 500 * on(2)
        };
        let none = Vec::new();
        let (expected, _) = shares(3, &none, truth);
        let mut rng = Rng::for_purpose(33, "trials");
        // Sums of twelve uniform draws are close to normal.
        let mut noise = |scale: i128| {
            let sum: i128 = (0..12).map(|_| (rng.next_u64() >> 44) as i128 - (1 << 19)).sum();
            (sum * scale) >> 20
        };
        let (mut covered, mut narrow) = ([0; 3], [0; 3]);
        for _ in 0..1000 {
            let mut of_seeds: [Vec<f64>; 3] = Default::default();
            for _ in 0..5 {
                let shift = noise(50_000);
                let values: Vec<i128> = (0..8).map(|s| truth(s) + shift + noise(900)).collect();
                let (shares, _) = shares(3, &none, |s| values[s as usize]);
                of_seeds.iter_mut().zip(shares).for_each(|(all, s)| all.push(s as f64));
            }
            for (i, values) in of_seeds.iter().enumerate() {
                let e = estimate(values).unwrap();
                let (off, half) = ((e.mean - expected[i] as f64).abs(), e.ci95.unwrap());
                covered[i] += i32::from(off <= half);
                narrow[i] += i32::from(off <= half * 1.96 / 2.776);
            }
        }
        assert!(covered.iter().all(|c| (930..=970).contains(c)), "{covered:?}");
        assert!(narrow.iter().all(|c| *c < 930), "{narrow:?}");
    }
}
