//! The policy keeps its contract, and does what it is for.

use mmsim::report::{Ending, Report};
use mmsim::{RunOptions, Scenario};

/// The scenario of this crate, with an audit of the machine's invariants as it runs.
fn report() -> Report {
    let text = include_str!("../scenario.toml").replace("seeds = 3", "seeds = 1");
    let scenario = Scenario::from_str(&text, "scenario.toml").unwrap_or_else(|e| panic!("{e}"));
    let options = RunOptions::default().with_check(true);
    own_policy::run(&scenario, options).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_second_chance_saves_swap_ins() {
    let report = report();
    let swap_ins = |variant: &str| {
        let run = report.runs.iter().find(|run| run.variant == variant).expect("a variant");
        assert_eq!(run.outcome, Ending::Completed, "{variant}");
        *run.vmstat.get("pswpin").expect("a counter")
    };
    // Pages that are used often stay, and a zipf law has many uses of few pages.
    assert!(swap_ins("own-policy") < swap_ins("fifo"));
}

#[test]
fn equal_seeds_give_equal_runs() {
    assert_eq!(report().to_json(), report().to_json());
}
