//! Two reports of runs that differ in what their scenarios say.

use crate::harness;
use mmsim::report::compare::{Comparison, Options, Side, compare};
use mmsim::report::{Pairs, Report};

fn with(a: &Report, b: &Report) -> Comparison {
    compare(Side::new("a.json", a), Side::new("b.json", b), Options::default()).unwrap()
}

/// Costs, a device of one's own and a task's values, each by the path that sets it; a knob once.
#[test]
fn whatever_a_scenario_says_is_told_apart() {
    let run = |device: &str, swappiness: u32, t_scan: &str, theta: f64| {
        let text = format!(
            "[machine]\nmemory = \"64MiB\"\nswap = {{ size = \"64MiB\", device = \"{device}\" }}\n\
             vm = {{ swappiness = {swappiness} }}\ncost = {{ t_scan = \"{t_scan}\" }}\n\
             [[task]]\nworkload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 10\ntheta = {theta:?}\n"
        );
        harness::report(&text)
    };
    let plain = run("zram", 60, "150ns", 0.9);
    let changed = run("nvme", 100, "1us", 0.5);
    let c = with(&plain, &changed);
    let found: Vec<&str> = c.comparisons[0].settings.iter().map(|s| s.name.as_str()).collect();
    let (device, rest): (Vec<&str>, Vec<&str>) =
        found.into_iter().partition(|s| s.starts_with("machine.swap.device."));
    assert_eq!(rest, ["vm.swappiness", "machine.cost.t_scan", "task[0].theta"]);
    let differ = ["name", "read", "write", "synchronous", "stored-bytes-per-page"];
    for key in differ {
        assert!(device.contains(&format!("machine.swap.device.{key}").as_str()), "{device:?}");
    }
    let again = with(&plain, &run("zram", 60, "150ns", 0.9));
    assert_eq!(again.comparisons[0].settings, []);
    // A report that says nothing of them, of before they were written down.
    let mut old = plain.clone();
    old.runs[0].setup = Pairs::new();
    let c = with(&old, &changed);
    let found: Vec<&str> = c.comparisons[0].settings.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(found, ["swap", "vm.swappiness"]);
}
