//! Speed of the zipf sampler of mmsim relative to `rand_distr::Zipf`. Both draw from the same law,
//! mmsim's scatters as well. Variants take turns, processor time of this thread; ratios are medians
//! over rounds.
//!
//! `rand_distr` needs two or three powers for a draw. As it comes it takes them from the crate
//! `libm`; as soon as any crate of a program switches on `num-traits/std`, the C library
//! computes them. `--features std-powers` does that here.

use std::hint::black_box;

use mmsim_core::base::rng::Rng;
use mmsim_workload::sampler::{PageSampler, RankMap};
use rand::SeedableRng;
use rand_distr::Distribution;
use rustix::time::{ClockId, clock_gettime};

const DRAWS: u32 = 1 << 21;
const ROUNDS: usize = 9;

/// Nanoseconds of a draw.
fn ns(mut draw: impl FnMut() -> u64) -> f64 {
    let now = || {
        let t = clock_gettime(ClockId::ThreadCPUTime);
        t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
    };
    let start = now();
    black_box((0..DRAWS).fold(0, |all, _| all ^ draw()));
    (now() - start) / f64::from(DRAWS)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let powers = if cfg!(feature = "std-powers") { "the C library" } else { "libm" };
    println!("rand_distr with powers from {powers}; ns a draw, medians of {ROUNDS} rounds");
    println!("theta  pages  rand_distr  mmsim  ratio (smallest to largest)");
    for theta in [0.5, 0.9, 1.1] {
        for lg in [16, 20, 24, 28] {
            let law = rand_distr::Zipf::new((1u64 << lg) as f64, theta).expect("a law");
            let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
            let pages = PageSampler::new(1 << lg, theta, RankMap::Scatter);
            let mut ours = Rng::for_purpose(1, "race");
            let mut rounds = Vec::new();
            for _ in 0..=ROUNDS {
                let a = ns(|| law.sample(&mut theirs) as u64);
                let b = ns(|| pages.sample(&mut ours).into());
                rounds.push((a, b));
            }
            rounds.remove(0);
            let mut ratios: Vec<f64> = rounds.iter().map(|r| r.0 / r.1).collect();
            ratios.sort_by(f64::total_cmp);
            println!(
                "{theta:5}  2^{lg:<4} {:10.1} {:6.1}  {:5.1} ({:.1} to {:.1})",
                median(rounds.iter().map(|r| r.0).collect()),
                median(rounds.iter().map(|r| r.1).collect()),
                ratios[ROUNDS / 2],
                ratios[0],
                ratios[ROUNDS - 1]
            );
        }
    }
}
