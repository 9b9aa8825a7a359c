//! Switches: all off is the base and all on the other preset, to the byte; shares sum; switches
//! without effect are named.

use crate::harness::{runner, scenario, specs};
use mmsim::ablate::{Ablation, Depth, Effect, Trial, Wanted};
use mmsim::config::Kernel;
use mmsim::report::derived::Figure;
use mmsim::scenario::policy::PolicySpec;
use mmsim::{RunSpec, Runner};

const MGLRU: &str = r#"
name = "switches"
seeds = 2
[machine]
memory = "8MiB"
cpus = 1
swap = { size = "32MiB", device = "zram" }
[[task]]
workload = "zipf"
memory = "12MiB"
accesses = 20000
write-permille = 300
[[variant]]
name = "x"
reclaim = { preset = "mglru-v6.12" }
"#;

fn digests(specs: &[RunSpec]) -> Vec<u64> {
    let results = Runner::default().sound_results(specs, |_, _| Default::default()).unwrap();
    results.into_iter().map(|(_, r)| r.digest).collect()
}

fn with_preset(specs: &[RunSpec], preset: &str) -> Vec<RunSpec> {
    let policy = PolicySpec { preset: preset.into(), knobs: Vec::new() };
    specs.iter().map(|s| RunSpec { policy: policy.clone(), ..s.clone() }).collect()
}

/// Shares of each seed in the same parts as the difference.
fn sums_are_exact(a: &Ablation) {
    for seed in 0..a.seeds.len() {
        let parts = a.switches[0].share.whole.1;
        let sum: i128 = a.switches.iter().map(|s| s.share.whole.0[seed]).sum();
        let Effect { whole: (difference, one), .. } = &a.difference;
        assert_eq!((sum, *one), (parts * difference[seed], 1), "seed {seed}");
    }
}

/// 6.12 to 6.14 has more than six switches, 6.14 to 6.18 has five.
#[test]
fn all_off_is_the_base_and_all_on_the_other_preset() {
    let specs = specs(MGLRU);
    for (from, to, depth) in [
        ("mglru-v6.12", "mglru-v6.14", Depth::Orders(2)),
        ("mglru-v6.14", "mglru-v6.18", Depth::Usual),
    ] {
        let trial =
            Trial::new(&scenario(MGLRU), specs.clone(), Some(from), Wanted::To(to), depth).unwrap();
        let all = trial.runs();
        let per_seed = all.len() / 2;
        let ends = [&all[..1], &all[per_seed - 1..=per_seed], &all[all.len() - 1..]].concat();
        let (base, other) = (with_preset(&specs, from), with_preset(&specs, to));
        let expected = [&base[..1], &other[..1], &base[1..], &other[1..]].concat();
        assert_eq!(digests(&ends), digests(&expected), "{from} to {to}");
        assert_eq!(per_seed == 32, to == "mglru-v6.18", "{per_seed} sets of {to}");
    }
}

/// Three switches. `ttl-rule` has no effect while `min-ttl-ms` is 0, so it does nothing. One tier
/// protects nothing, so more comes back: `nr-tiers` adds swap-ins here or nothing. Whatever they
/// do, shares sum, and one job finds what two find.
#[test]
fn shares_of_real_runs_sum_and_idle_switches_are_named() {
    let words = ["ttl-rule=aging-6.1", "nr-tiers=1", "walk-mmu=no,nonleaf-young=no"];
    let words: Vec<String> = words.map(String::from).to_vec();
    let wanted = Wanted::Switches(&words);
    let trial = Trial::new(&scenario(MGLRU), specs(MGLRU), None, wanted, Depth::AllSets).unwrap();
    // Two seeds have wide intervals.
    let trial = trial.anyway(true);
    let a = trial.run(Figure::SwapIns, &runner(2)).unwrap();
    sums_are_exact(&a);
    assert!(a.exact && a.runs == 16);
    let idle: Vec<bool> = a.switches.iter().map(|s| s.does_nothing).collect();
    assert!(idle[0] && !idle[2], "{idle:?}");
    let tiers = &a.switches[1].alone.of_seeds;
    assert!(tiers.iter().all(|more| *more >= 0.0), "{tiers:?}");
    assert_eq!(a.switches[0].share.whole.0, [0, 0]);
    assert_ne!(a.difference.estimate.mean, 0.0);
    assert_eq!(a, trial.run(Figure::SwapIns, &runner(1)).unwrap());
    // The figure of the base is that of the run itself.
    let runs = Runner::default().sound_results(&specs(MGLRU), |_, _| Default::default()).unwrap();
    let swap_ins = |r: &mmsim::machine::result::RunResult| {
        r.vmstat[mmsim::base::vmstat::VmEvent::PswpIn] as f64
    };
    let expected: Vec<f64> = runs.iter().map(|(_, r)| swap_ins(r)).collect();
    assert_eq!(a.off.of_seeds, expected);
}

/// Where the whole difference is noise, or nothing, only the ends are run; on demand all sets are.
#[test]
fn noise_is_not_taken_apart() {
    // No file is written, and no page has to stay for a time.
    let words = ["flusher-rule=never", "ttl-rule=aging-6.1"].map(String::from);
    let wanted = Wanted::Switches(&words);
    let trial = Trial::new(&scenario(MGLRU), specs(MGLRU), None, wanted, Depth::Usual).unwrap();
    let run = |trial: Trial| trial.run(Figure::SwapIns, &Runner::default()).unwrap();
    let a = run(trial.clone());
    let noise = a.noise.expect("nothing differs");
    assert_eq!((a.runs, noise.switches, noise.enough_seeds), (4, 2, None));
    assert_eq!((a.switches.len(), a.pairs.len(), a.difference.estimate.mean), (0, 0, 0.0));
    let whole = run(trial.anyway(true));
    assert_eq!((whole.runs, whole.noise, whole.switches.len()), (8, None, 2));
    assert_eq!((&whole.off, &whole.on), (&a.off, &a.on));
}

/// With all switches of two kernels on, a run is that of the other kernel, to the byte.
#[test]
fn a_kernel_is_taken_apart_to_the_byte() {
    let on = |kernel: &str| {
        let machine = format!("[machine]\nkernel = \"{kernel}\"");
        MGLRU.replace("[machine]", &machine).replace("6.12\"", &format!("{kernel}\""))
    };
    let kernels = Wanted::Kernels(Kernel::V6_18, Kernel::V7_3);
    let trial =
        Trial::new(&scenario(MGLRU), specs(MGLRU), None, kernels, Depth::Orders(2)).unwrap();
    let all = trial.runs();
    let ends = [all[0].clone(), all[all.len() / 2 - 1].clone()];
    let expected = [specs(&on("6.18"))[0].clone(), specs(&on("7.3"))[0].clone()];
    assert_eq!(digests(&ends), digests(&expected));
    assert_ne!(digests(&ends[..1]), digests(&ends[1..]));
}

#[test]
fn orders_of_many_switches_sum_too() {
    let to = Wanted::To("mglru-v6.14");
    let trial = Trial::new(&scenario(MGLRU), specs(MGLRU), None, to, Depth::Orders(2)).unwrap();
    let trial = trial.anyway(true);
    let a = trial.run(Figure::SwapIns, &Runner::default()).unwrap();
    sums_are_exact(&a);
    assert!(!a.exact && a.orders == 2 && a.switches.len() > 6);
}

#[test]
fn runs_that_cannot_be_compared_are_refused() {
    let no_room = MGLRU.replace("32MiB", "1MiB");
    let words = ["walk-mmu=no,nonleaf-young=no".to_string()];
    let said = |text: &str| {
        let wanted = Wanted::Switches(&words);
        let trial = Trial::new(&scenario(text), specs(text), None, wanted, Depth::AllSets).unwrap();
        trial.run(Figure::SwapIns, &Runner::default()).unwrap_err().to_string()
    };
    assert!(said(&no_room).contains("did not do all its work"), "{}", said(&no_room));
}
