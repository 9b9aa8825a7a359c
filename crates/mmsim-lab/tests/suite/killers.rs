//! Daemons beside recorded ones (`evidence/daemons`).

use crate::root;
use mmsim::{RunOptions, Scenario};

/// earlyoom ends a growing process within one of its looks, 100 ms, of the recorded one: the process
/// writes 250 pages in each 52 ms.
#[test]
fn earlyoom_acts_within_a_look_of_the_recorded_one() {
    let folder = root().join("evidence/daemons");
    let recorded = std::fs::read_to_string(folder.join("acts.csv")).expect("it is there");
    let mut compared = 0;
    for line in recorded.lines().skip(1) {
        let [case, _, pages] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let pages: u64 = pages.parse().expect("a number");
        let scenario = Scenario::from_path(folder.join(format!("{case}.toml")));
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let report = mmsim::run(&scenario, &RunOptions::default());
        let run = report.unwrap_or_else(|e| panic!("{e}")).runs.remove(0);
        let act = &run.daemons[0].acts[0];
        assert_eq!((act.what.as_str(), act.target.as_str()), ("SIGTERM", "grows"));
        assert!(act.lost_accesses.abs_diff(pages) <= 500, "{case}: {}", act.lost_accesses);
        compared += 1;
    }
    assert_eq!(compared, 4);
}
