//! Figures that can be computed about independent draws without a simulator, and that the simulator
//! agrees.
//!
//! Pages are drawn independently by a law, and a number of frames hold some of them. Then the share
//! of draws that find their page, the hit ratio, has bounds and, for some policies, a formula:
//!
//! - without knowledge of the future no policy does better than keeping the likeliest pages for
//!   good;
//! - LRU: a page is there if it was drawn within the time in which as many different pages are
//!   drawn as there are frames (H. Che, Y. Tung, Z. Wang, "Hierarchical web caching systems", 2002);
//! - FIFO, and random eviction like it: a page stays for that time from when it was fetched, however
//!   often it is drawn (A. Dan, D. Towsley, "An approximate analysis of the LRU and FIFO buffer
//!   replacement schemes", 1990; R. Fagin and T. Price, 1978, for random eviction);
//! - uniform draws: frames over pages, whatever the policy.
//!
//! The case is the test with fio that was reported on linux-mm in December 2023: a zipf law with
//! exponent 0.5 over each of 12 files of 262144 pages, 754591 frames.

use crate::root;
use mmsim::report::RunReport;
use mmsim::{RunOptions, Scenario};
use mmsim_core::base::rng::Rng;
use mmsim_workload::sampler::Zipf;

/// Pages of a file, and frames for each of them.
const PAGES: u64 = 262_144;
const FRAMES: f64 = 754_591.0 / 12.0;

/// Probabilities of a zipf law, the likeliest page first.
fn zipf(pages: u64, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=pages).map(|k| (k as f64).powf(-theta)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / sum).collect()
}

/// The likeliest pages are kept; of the one that does not fit whole, its part.
fn best_static(law: &[f64], frames: f64) -> f64 {
    let whole = frames as usize;
    law[..whole].iter().sum::<f64>() + law[whole] * frames.fract()
}

/// Resident with probability `there(p t)` each, `frames` of them in all: the hit ratio at the
/// `t` for which that is so.
fn at_characteristic_time(law: &[f64], frames: f64, there: impl Fn(f64) -> f64) -> f64 {
    let resident = |t: f64| law.iter().map(|p| there(p * t)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while resident(high) < frames {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if resident(middle) < frames { low = middle } else { high = middle }
    }
    law.iter().map(|p| p * there(p * high)).sum()
}

fn lru(law: &[f64], frames: f64) -> f64 {
    at_characteristic_time(law, frames, |x| -(-x).exp_m1())
}

fn fifo(law: &[f64], frames: f64) -> f64 {
    at_characteristic_time(law, frames, |x| x / (1.0 + x))
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found:.4}, expected {expected}");
}

#[test]
fn formulas_give_the_anchors() {
    let law = zipf(PAGES, 0.5);
    close(best_static(&law, FRAMES), 0.489, 0.0005);
    close(lru(&law, FRAMES), 0.363, 0.0005);
    close(fifo(&law, FRAMES), 0.339, 0.0005);
    let uniform = zipf(PAGES, 0.0);
    for formula in [best_static, lru, fifo] {
        close(formula(&uniform, FRAMES), 0.240, 0.0005);
    }
    // A machine 128 times smaller has the same anchors to a point: the law has a head.
    let (small, frames) = (zipf(PAGES / 128, 0.5), FRAMES / 128.0);
    for formula in [best_static, lru, fifo] {
        close(formula(&small, frames), formula(&law, FRAMES), 0.01);
    }
}

/// The formulas are approximations: caches that are what their names say, page by page.
#[test]
fn formulas_hold_for_plain_caches() {
    let (pages, frames) = (2048u32, 491);
    let sampler = Zipf::new(pages.into(), 0.5);
    let hits = |keeps_order: bool| {
        let mut rng = Rng::for_purpose(1, "anchors");
        let mut queue: Vec<u32> = Vec::new();
        let mut there = vec![false; pages as usize];
        let mut hits = 0;
        let (ramp, measured) = (20_000, 60_000);
        for i in 0..ramp + measured {
            let page = sampler.sample(&mut rng);
            let hit = there[page as usize];
            hits += u32::from(hit && i >= ramp);
            if hit && keeps_order {
                continue;
            }
            if hit {
                queue.retain(|p| *p != page);
            } else if queue.len() == frames {
                there[queue.remove(0) as usize] = false;
            }
            queue.push(page);
            there[page as usize] = true;
        }
        f64::from(hits) / f64::from(measured)
    };
    let law = zipf(pages.into(), 0.5);
    close(hits(false), lru(&law, frames as f64), 0.006);
    close(hits(true), fifo(&law, frames as f64), 0.006);
}

/// The share of reads of the second window that found their page, by variant.
fn hit_ratios(sets: &[(&str, &str)]) -> Vec<(String, f64)> {
    let path = root().join("scenarios/fio-zipf.toml");
    let sets: Vec<(String, String)> =
        sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let scenario = Scenario::load(&path, &sets).unwrap_or_else(|e| panic!("{e}"));
    let report = mmsim::run(&scenario, &RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let ratio = |r: &RunReport| {
        // Processes end their windows one after the other; what counts is after the last ramp.
        let ramp = r.phases.iter().rposition(|p| p.name.ends_with("/access1")).expect("a ramp");
        let sum = |counter: &str| -> u64 {
            r.phases[ramp + 1..].iter().map(|p| *p.vmstat.get(counter).expect("a counter")).sum()
        };
        (r.variant.clone(), 1.0 - sum("pgpgin") as f64 / 4.0 / sum("sim_accesses") as f64)
    };
    report.runs.iter().map(ratio).collect()
}

/// Random eviction has the hit ratio of its formula. The classic LRU lies above that of LRU, for it
/// asks for a second read before it takes a page for hot, and below the bound.
#[test]
fn the_machine_agrees() {
    let law = zipf(PAGES / 128, 0.5);
    let frames = FRAMES / 128.0;
    for (variant, ratio) in hit_ratios(&[]) {
        match variant.as_str() {
            "random" => close(ratio, fifo(&law, frames), 0.01),
            _ => close(ratio, lru(&law, frames), 0.02),
        }
        assert!(ratio < best_static(&law, frames), "{variant}: {ratio}");
    }
}

/// Where all pages are alike it does not matter which is evicted.
#[test]
fn uniform_reads_hit_as_many_pages_as_are_there() {
    for (_, ratio) in hit_ratios(&[("task[0].theta", "0")]) {
        close(ratio, FRAMES / PAGES as f64, 0.01);
    }
}
