//! Expectations of scenarios are checked in sweeps as `mmsim run` checks them.

use mmsim::report::{ExpectReport, Report};
use mmsim::sweep::{Merged, write_json, write_wide};

use crate::harness;
use crate::support::{Folder, PLAN, SCENARIO};

/// Expectations that hold, that miss at one place, that compare with another variant, and that name
/// a value that a plan may lack.
const EXPECT: &str = r#"
[[expect]]
figure = "pgfault"
above = 1
[[expect]]
figure = "pswpin"
variant = "classic"
above = 0
[[expect]]
figure = "accesses"
variant = "random"
above = 0.99
below = 1.01
than = { variant = "classic" }
[[expect]]
figure = "pswpout"
at = { "task[0].memory" = "9MiB" }
above = 1e6
"#;

const AXES: &str = "[axes]\n\"machine.vm.swappiness\" = [10, 60, 100]\n\
    \"task[0].memory\" = [\"8MiB\", \"9MiB\"]\n";

/// A folder with the plan and a scenario with these expectations, swept.
fn swept(expect: &str, plan: &str) -> Folder {
    let f = Folder::new();
    f.write("small.toml", format!("{SCENARIO}{expect}"));
    f.write("p.toml", plan);
    f.run("s", "0/1").unwrap_or_else(|e| panic!("{e}"));
    f
}

fn answers(f: &Folder) -> (Vec<ExpectReport>, String) {
    let plan = f.plan();
    let merged = Merged::open(&plan, &f.path("s")).unwrap();
    let mut asked = merged.asked();
    merged.rows().for_each(|row| asked.add(&row.unwrap().run));
    let all = asked.finish();
    let (mut json, mut wide) = (Vec::new(), Vec::new());
    assert_eq!(write_json(&merged, &mut json).unwrap(), all);
    assert_eq!(write_wide(&merged, &mut wide).unwrap(), all);
    let report = Report::from_json(&String::from_utf8(json).unwrap()).unwrap();
    assert_eq!(report.expect, all);
    (all, String::from_utf8(wide).unwrap())
}

#[test]
fn a_sweep_asks_what_run_asks() {
    let text = format!("seeds = 2\n{SCENARIO}{AXES}{EXPECT}");
    let report = harness::report(&text);
    let f = swept(EXPECT, PLAN);
    let (found, wide) = answers(&f);
    assert_eq!(found.len(), 4);
    for (a, b) in found.iter().zip(&report.expect) {
        assert_eq!((&a.expected, a.holds), (&b.expected, b.holds));
        // Sweeps name a few places.
        let short = a.found.split("; and ").next().unwrap();
        assert!(b.found.starts_with(short), "{} in {}", a.found, b.found);
    }
    let holds: Vec<bool> = found.iter().map(|e| e.holds).collect();
    assert_eq!((holds[0], holds[2], holds[3]), (true, true, false), "{found:?}");
    // Of each unit whether all holds at its place.
    let mut lines = wide.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let at = |name: &str| heads.iter().position(|h| *h == name).unwrap();
    for row in lines {
        let missed = row[at("task[0].memory")] == "9MiB";
        assert_eq!(row[at("expect")] == "missed", missed, "{row:?}");
        // A size stands there as a number of bytes too.
        let mib = if missed { 9 } else { 8 };
        assert_eq!(row[at("task[0].memory_bytes")], (mib << 20).to_string());
    }
}

#[test]
fn figures_of_tables_are_columns() {
    use mmsim::report::derived::Figure;
    let (_, wide) = answers(&swept("", PLAN));
    let heads: Vec<&str> = wide.lines().next().unwrap().split(',').collect();
    for figure in Figure::ALL {
        assert!(heads.contains(&figure.name()), "{}", figure.name());
    }
    assert!(!heads.contains(&"expect"));
    let row: Vec<&str> = wide.lines().nth(1).unwrap().split(',').collect();
    let of = |name: &str| row[heads.iter().position(|h| *h == name).unwrap()].parse::<f64>();
    assert_eq!(of("swap-ins"), of("pswpin"));
    assert_eq!(
        of("throughput").unwrap(),
        of("records_per_s").unwrap().max(of("accesses_per_s").unwrap())
    );
}

#[test]
fn what_a_plan_does_not_have_is_not_asked() {
    let less = PLAN.replace("{ from = \"8MiB\", to = \"9MiB\", steps = 2 }", "[\"8MiB\"]");
    // The scenario itself has the value, so it is no mistake.
    let expect = format!("{AXES}{EXPECT}");
    let f = swept(&expect, &less);
    assert_eq!((f.plan().expectations(0).0.len(), f.plan().expectations(0).1), (3, 1));
    assert_eq!(answers(&f).0.len(), 3);
    let f = swept(&expect, &less.replace("seeds = 2", "variants = [\"random\"]"));
    assert_eq!(f.plan().expectations(0).1, 3);
    // A name that neither has is one, and so is a figure that no run can have.
    let f = Folder::new();
    f.write("small.toml", format!("{SCENARIO}{}", EXPECT.replace("\"9MiB\"", "\"7MiB\"")));
    let error = |f: &Folder| f.run("s", "0/1").expect_err("an error").title().to_string();
    let plan = f.plan_of(PLAN).expect_err("an error");
    assert_eq!(
        plan.title(),
        "expect[3].at: unknown value of the axis `7MiB`, did you mean `8MiB`?"
    );
    let damon = "[[expect]]\nfigure = \"damon[0].samples\"\nabove = 1\n";
    f.write("small.toml", format!("{SCENARIO}{damon}"));
    f.write("p.toml", PLAN);
    assert_eq!(error(&f), "expect[0].figure: there is no `damon[0].samples`");
}
