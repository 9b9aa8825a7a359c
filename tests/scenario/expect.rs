//! Expectations of scenarios, checked against their runs.

use crate::harness::{report_of, scenario};
use mmsim::Scenario;
use mmsim::scenario::GAUGES;

const SCENARIO: &str = "[machine]\nmemory = \"4MiB\"\nswap = { size = \"8MiB\" }\n\
    [[task]]\nworkload = \"sequential\"\nmemory = \"6MiB\"\nwrite = true\n\
    [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
    set = { \"machine.vm.swappiness\" = 1 }\n\
    [axes]\n\"task[0].memory\" = [\"1MiB\", \"6MiB\"]\n";

#[test]
fn gauges_are_those_of_reports() {
    let report = report_of(&read(""));
    let gauges: Vec<&str> = report.runs[0].gauges.iter().map(|g| g.0).collect();
    let of_some = ["nr_lazyfree", "sim_easy_pool", "sim_host_held"];
    let is_of_some = |g: &&str| of_some.contains(g) || g.starts_with("zswap");
    let of_all: Vec<&str> = GAUGES.iter().copied().filter(|g| !is_of_some(g)).collect();
    assert_eq!(gauges, of_all);
    let own = "reclaim = { preset = \"classic-v5.5\", lazyfree = \"own-list-2015b\" }\n";
    let with_all = "[machine]\nhost = {}\nzswap = {}\nvm = { easy_pool_low = 1 }";
    let report =
        report_of(&scenario(&format!("{own}{}", SCENARIO.replacen("[machine]", with_all, 1))));
    let gauges: Vec<&str> = report.runs[0].gauges.iter().map(|g| g.0).collect();
    assert_eq!(gauges, GAUGES);
}

fn read(expect: &str) -> Scenario {
    scenario(&format!("{SCENARIO}{expect}"))
}

/// A run of what was read: of each expectation whether it holds, or that it was not asked.
#[test]
fn expectations_are_asked_of_the_runs() {
    let all = "[[expect]]\nfigure = \"pswpout\"\nat = { \"task[0].memory\" = \"6MiB\" }\nabove = 0\n\
        [[expect]]\nfigure = \"pswpout\"\nvariant = \"a\"\nabove = 0\n\
        [[expect]]\nfigure = \"pgfault\"\nvariant = \"b\"\nabove = 0.9\nbelow = 1.1\nthan = { variant = \"a\" }\n\
        [[expect]]\nfigure = \"completed\"\nabove = 0\n";
    let report = report_of(&read(all));
    let holds: Vec<bool> = report.expect.iter().map(|e| e.holds).collect();
    assert_eq!(holds, [true, false, true, true], "{:?}", report.expect);
    assert_eq!(report.expect[1].found, "a, task[0].memory = 1MiB: 0");
    // The document that was read back is checked again.
    let again = scenario(&read(all).resolved());
    assert_eq!(again.expect(), read(all).expect());
}
