//! Tunings that cannot be. What plans refuse is in tests/sweep/tuning.rs of the facade.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::Folder;

/// A plan of a search that few runs carry out.
pub(crate) const PLAN: &str = "\
version = 1
scenario = \"x.toml\"
budget = 20
population = 4
seeds = 2
[knobs]
\"machine.vm.swappiness\" = { from = 0, to = 200 }
[[objective]]
figure = \"swap-ins\"
goal = \"min\"
[[objective]]
figure = \"pswpout\"
goal = \"min\"
";

#[test]
fn tunings_that_cannot_be() {
    let golden = Golden::of("tunings");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    f.write("p.toml", PLAN);
    f.write("knob.toml", PLAN.replace("vm.swappiness", "vm.swapiness"));
    f.write("range.toml", PLAN.replace("to = 200", "to = 201"));
    f.write("none.toml", PLAN.split("[[objective]]").next().expect("all"));
    f.write("figure.toml", PLAN.replace("\"swap-ins\"", "\"damon[0].cpu_ns\""));
    f.write("budget.toml", PLAN.replace("budget = 20", "budget = 9"));
    f.write("sweep.toml", "version = 1\nscenarios = [\"x.toml\"]\n");
    f.write("bound.toml", format!("{PLAN}[[constraint]]\nfigure = \"pgfault\"\nbelow = 1\n"));
    let said = |name: &str, line: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        golden.is(name, &f.mmsim(&args));
    };
    let before = f.names();
    said("tune-of-nothing", "tune");
    said("no-such-plan", "tune nothing.toml");
    said("a-scenario-for-a-plan", "tune x.toml");
    said("a-plan-of-a-sweep", "tune sweep.toml");
    said("no-such-knob", "tune knob.toml");
    said("out-of-range", "tune range.toml");
    said("no-objective", "tune none.toml");
    said("no-such-figure", "tune figure.toml");
    said("too-small-a-budget", "tune budget.toml");
    said("too-small-an-option", "tune p.toml --budget 9");
    said("nobody-searches-twice", "tune p.toml --ask-tell --budget 30");
    said("over-the-plan", "tune p.toml -o p.toml");
    said("another-ending", "tune p.toml --format json -o front.csv");
    said("nothing-keeps-it", "tune bound.toml --format csv");
    assert_eq!(f.names(), before);
}
