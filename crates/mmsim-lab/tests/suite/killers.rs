//! Daemons beside recorded ones (`evidence/daemons`).

use crate::root;
use mmsim::{RunOptions, Scenario};

/// Cases by the beginnings of their names: the act, its target, and the pages that the process writes
/// from one look of the daemon to the next. earlyoom looks each 100 ms and the swap rule of systemd-oomd
/// each 150 ms, and the process writes 250 pages in each 52 ms.
const CASES: [(&str, &str, &str, u64); 2] =
    [("earlyoom", "SIGTERM", "grows", 500), ("systemd-oomd-swap", "kill group", "a", 750)];

/// A daemon ends a process within one of its looks of the recorded one.
#[test]
fn daemons_act_within_a_look_of_the_recorded_ones() {
    let folder = root().join("evidence/daemons");
    let recorded = std::fs::read_to_string(folder.join("acts.csv")).expect("it is there");
    let mut compared = [0; CASES.len()];
    for line in recorded.lines().skip(1) {
        let [case, _, pages] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let pages: u64 = pages.parse().expect("a number");
        let of = CASES.iter().position(|c| case.starts_with(c.0)).expect("a daemon of the table");
        let (_, what, target, look) = CASES[of];
        let scenario = Scenario::from_path(folder.join(format!("{case}.toml")));
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let report = mmsim::run(&scenario, &RunOptions::default());
        let run = report.unwrap_or_else(|e| panic!("{e}")).runs.remove(0);
        let act = &run.daemons[0].acts[0];
        assert_eq!((act.what.as_str(), act.target.as_str()), (what, target));
        assert!(act.lost_accesses.abs_diff(pages) <= look, "{case}: {}", act.lost_accesses);
        compared[of] += 1;
    }
    assert_eq!(compared, [6, 3]);
}
