//! MGLRU through the facade: the bound that no policy can pass, and the generations in reports.

use mmsim::report::Report;
use mmsim::{RunOptions, Scenario};

const PRESETS: [&str; 6] = [
    "mglru-v6.1",
    "mglru-v6.7-pre",
    "mglru-v6.8-post",
    "mglru-v6.12-rc",
    "mglru-v6.12",
    "mglru-v6.14",
];

/// Pages by a zipf law, half as many frames.
fn report() -> Report {
    let mut text = String::from(
        "schema = 1\nname = \"bound\"\nseed = 1\nbounds = true\n[machine]\nmemory = \"24MiB\"\n\
         swap = { size = \"64MiB\", device = \"zram\" }\nvm = { page-cluster = 0 }\n[[task]]\n\
         workload = \"zipf\"\nmemory = \"32MiB\"\ntheta = 0.8\naccesses = 120000\nwrite-permille = 200\n",
    );
    for p in PRESETS {
        text += &format!("[[variant]]\nname = \"{p}\"\nreclaim = {{ preset = \"{p}\" }}\n");
    }
    let scenario = Scenario::from_str(&text, "bound.toml").unwrap_or_else(|e| panic!("{e}"));
    mmsim::run(&scenario, &RunOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn no_preset_passes_the_optimum_and_generations_add_up() {
    let report = report();
    assert_eq!(report.runs.len(), PRESETS.len());
    for run in &report.runs {
        let name = &run.variant;
        let least = run.bounds.as_ref().expect("asked for").sim_opt_refetches;
        let swapped_in = *run.vmstat.get("pswpin").unwrap();
        assert!(least > 1000, "{name}: a bound that says something: {least}");
        assert!(swapped_in >= least, "{name}: {swapped_in} swap-ins, MIN has {least}");
        let phase = run.phases.last().expect("a phase");
        let gauge = |name| *phase.gauges.get(name).unwrap();
        let generations = &phase.lru_gen;
        assert!((2..=4).contains(&generations.len()), "{name}: {generations:?}");
        assert!(generations.windows(2).all(|g| g[0].seq + 1 == g[1].seq));
        assert!(generations.windows(2).all(|g| g[0].age_ms >= g[1].age_ms));
        let active: u64 = generations.iter().rev().take(2).map(|g| g.nr_anon).sum();
        let all: u64 = generations.iter().map(|g| g.nr_anon).sum();
        assert_eq!(active, gauge("nr_active_anon"), "{name}");
        assert_eq!(all - active, gauge("nr_inactive_anon"), "{name}");
    }
}
