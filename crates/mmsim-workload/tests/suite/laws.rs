//! Laws of random quantities against their formulas, and against another implementation.

use mmsim_core::base::rng::Rng;
use mmsim_workload::law::{Law, Varying};
use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const LAWS: [Law; 11] = [
    Law::Exponential { mean: 5.0 },
    Law::Lognormal { median: 3.0, sigma: 0.5 },
    Law::Lognormal { median: 100.0, sigma: 0.7 },
    Law::Pareto { scale: 2.0, shape: 8.0 },
    Law::Gamma { shape: 0.4, scale: 3.0 },
    Law::Gamma { shape: 1.0, scale: 3.0 },
    Law::Gamma { shape: 7.5, scale: 0.5 },
    Law::Poisson { mean: 0.3 },
    Law::Poisson { mean: 6.0 },
    Law::Poisson { mean: 40.0 },
    Law::Poisson { mean: 5000.0 },
];

/// The mean of many draws and their variance, and the standard error of each.
fn measured(mut draw: impl FnMut() -> f64) -> ([f64; 2], [f64; 2]) {
    let n = 400_000;
    let all: Vec<f64> = (0..n).map(|_| draw()).collect();
    let n = f64::from(n);
    let mean = all.iter().sum::<f64>() / n;
    let moment = |k: i32| all.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
    let (second, fourth) = (moment(2), moment(4));
    ([mean, second], [(second / n).sqrt(), ((fourth - second * second) / n).sqrt()])
}

/// Five standard errors, which come from the fourth moment of the draws themselves: one in a
/// million laws that are right is outside.
#[test]
fn means_and_variances_are_those_of_the_formulas() {
    for (i, law) in LAWS.iter().enumerate() {
        let mut rng = Rng::for_purpose(i as u64, "laws");
        let (found, error) = measured(|| law.draw(&mut rng));
        let known = [law.mean(), law.variance()];
        for k in 0..2 {
            let off = (found[k] - known[k]).abs() / error[k];
            assert!(off < 5.0, "{law:?}: {found:?}, not {known:?} ± {error:?}");
            // The test can tell the formula from one that is 5 % off.
            assert!(error[k] * 5.0 < known[k] * 0.05, "{law:?}: ± {error:?} is too wide");
        }
    }
}

/// The formulas themselves: values from their definitions, by hand.
#[test]
fn formulas_by_hand() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
    let e = std::f64::consts::E;
    let all = [
        (Law::Exponential { mean: 5.0 }, 5.0, 25.0),
        (Law::Lognormal { median: 1.0, sigma: 1.0 }, e.sqrt(), e * e - e),
        (Law::Pareto { scale: 2.0, shape: 3.0 }, 3.0, 3.0),
        (Law::Gamma { shape: 2.0, scale: 3.0 }, 6.0, 18.0),
        (Law::Poisson { mean: 7.0 }, 7.0, 7.0),
    ];
    for (law, mean, variance) in all {
        near(law.mean(), mean);
        near(law.variance(), variance);
    }
    assert!(Law::Pareto { scale: 1.0, shape: 1.0 }.mean().is_infinite());
    assert!(Law::Pareto { scale: 1.0, shape: 2.0 }.variance().is_infinite());
}

/// The whole shape, by Kolmogorov and Smirnov against `rand_distr`: two samples of one law are
/// further apart than 2.3 * sqrt(2 / n) only once in twenty thousand times.
#[test]
fn another_implementation_draws_the_same_laws() {
    let n = 100_000;
    for (i, law) in LAWS.iter().enumerate() {
        let mut rng = Rng::for_purpose(i as u64, "shapes");
        let mut own: Vec<f64> = (0..n).map(|_| law.draw(&mut rng)).collect();
        let mut other = Xoshiro256PlusPlus::seed_from_u64(i as u64);
        let mut theirs: Vec<f64> = match *law {
            Law::Exponential { mean } => {
                sample(rand_distr::Exp::new(1.0 / mean).unwrap(), n, &mut other)
            }
            Law::Lognormal { median, sigma } => {
                sample(rand_distr::LogNormal::new(median.ln(), sigma).unwrap(), n, &mut other)
            }
            Law::Pareto { scale, shape } => {
                sample(rand_distr::Pareto::new(scale, shape).unwrap(), n, &mut other)
            }
            Law::Gamma { shape, scale } => {
                sample(rand_distr::Gamma::new(shape, scale).unwrap(), n, &mut other)
            }
            Law::Poisson { mean } => sample(rand_distr::Poisson::new(mean).unwrap(), n, &mut other),
        };
        own.sort_by(f64::total_cmp);
        theirs.sort_by(f64::total_cmp);
        let distance = furthest(&own, &theirs);
        assert!(distance < 2.3 / f64::from(n).sqrt() * 2.0_f64.sqrt(), "{law:?}: {distance}");
    }
}

fn sample(law: impl Distribution<f64>, n: i32, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    (0..n).map(|_| law.sample(rng)).collect()
}

/// The largest difference of two empirical distribution functions.
fn furthest(a: &[f64], b: &[f64]) -> f64 {
    let share = |all: &[f64], x: f64| all.partition_point(|y| *y <= x) as f64 / all.len() as f64;
    a.iter().chain(b).map(|&x| (share(a, x) - share(b, x)).abs()).fold(0.0, f64::max)
}

/// The first draws of each law, bit by bit: on another platform, in another build and by another
/// release they are the same.
#[test]
fn first_draws_stay_what_they_are() {
    let digest = |law: &Law| {
        let mut rng = Rng::for_purpose(1, "first");
        let bits = (0..1000).map(|_| law.draw(&mut rng).to_bits());
        bits.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h.rotate_left(23) ^ b).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let found: Vec<String> = LAWS.iter().map(|l| format!("{:016x}", digest(l))).collect();
    assert_eq!(found, RECORDED);
}

const RECORDED: [&str; 11] = [
    "cadb2636bc654933",
    "0f118d4026f7dca7",
    "af53a4f3dfaa46c1",
    "526f64a37ef0c3d8",
    "4943eeea48f76eaf",
    "2d1e80a6f153d92a",
    "6460a4807eb716c5",
    "3e8ee7aa04b8f2d0",
    "da949fcb2b1d84d2",
    "ec166acf6f550f39",
    "6629639b03d8b98c",
];

#[test]
fn values_are_rounded_and_bounded() {
    let thread = Rng::for_purpose(1, "thread");
    let law = Law::Exponential { mean: 10.0 };
    let mut bounded = Varying::Drawn { law, min: 3, max: 20 }.source("x");
    let all: Vec<u64> = (0..1000).map(|_| bounded.draw(&thread)).collect();
    assert!(all.iter().all(|n| (3..=20).contains(n)));
    assert!(all.contains(&3) && all.contains(&20) && all.contains(&11));
    let mut always = Varying::Always(7).source("x");
    assert_eq!([always.draw(&thread), always.draw(&thread)], [7, 7]);
    // Two quantities of a thread are apart, and the thread's own numbers stay what they are.
    let of = |purpose| {
        let mut s = Varying::Drawn { law, min: 0, max: u64::MAX }.source(purpose);
        (0..8).map(|_| s.draw(&thread)).collect::<Vec<_>>()
    };
    assert_ne!(of("x"), of("y"));
    assert_eq!(thread.clone().next_u64(), Rng::for_purpose(1, "thread").next_u64());
}
