//! Units of a plan, and messages on a wrong one.

use mmsim::RunOptions;
use mmsim::report::Report;
use mmsim::sweep::{Shard, SweepPlan, Wide, run};

use crate::harness::{report, repository};
use crate::support::{Folder, PLAN, SCENARIO, names};

const HEAD: &str = "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\n";

/// Values of an axis, as reports call them, each once and in order.
fn values(f: &Folder, axis: &str, keys: &str) -> Vec<String> {
    let plan = f.plan_of(&format!("{HEAD}{keys}")).unwrap_or_else(|e| panic!("{e}"));
    let mut all: Vec<String> = Vec::new();
    for n in 0..plan.units() {
        let labels = plan.axes_at(n);
        let value = labels.into_iter().find(|l| l.0 == axis).expect("the axis").1;
        if all.last() != Some(&value) {
            all.push(value);
        }
    }
    all
}

#[test]
fn values_of_axes() {
    let f = Folder::new();
    let memory =
        |keys: &str| values(&f, "task[0].memory", &format!("[axes]\n\"task[0].memory\" = {keys}"));
    let swap = |keys: &str| {
        values(&f, "machine.vm.swappiness", &format!("[axes]\n\"machine.vm.swappiness\" = {keys}"))
    };
    assert_eq!(swap("[1, 2]"), ["1", "2"]);
    assert_eq!(swap("{ from = 0, to = 100, step = 25 }"), ["0", "25", "50", "75", "100"]);
    assert_eq!(swap("{ from = 1, to = 100, steps = 3, scale = \"log\" }"), ["1", "10", "100"]);
    let log = "{ from = \"1MiB\", to = \"16MiB\", steps = 5, scale = \"log\" }";
    assert_eq!(memory(log), ["1MiB", "2MiB", "4MiB", "8MiB", "16MiB"]);
    let linear = "{ from = \"1MiB\", to = \"2MiB\", steps = 3 }";
    assert_eq!(memory(linear), ["1MiB", "384 pages", "2MiB"]);
    let theta = "[axes]\n\"task[0].theta\" = { from = 0.1, to = 0.7, step = 0.2 }";
    assert_eq!(values(&f, "task[0].theta", theta), ["0.1", "0.3", "0.5", "0.7"]);
}

/// The first Halton points in bases 2 and 3, on ranges where they can be computed by hand.
#[test]
fn samples_are_points_of_their_sequence() {
    let f = Folder::new();
    let sample = "seeds = 1\nvariants = [\"classic\"]\n[sample]\npoints = 4\n[sample.axes]\n\
                  \"task[0].theta\" = { from = 0.0, to = 1.0 }\n\
                  \"machine.vm.swappiness\" = { from = 0, to = 8 }\n";
    let theta = values(&f, "task[0].theta", sample);
    assert_eq!(theta, ["0.5", "0.25", "0.75", "0.125"]);
    // Ninths of nine whole numbers: 3, 6, 1, 4 of 0 to 8.
    assert_eq!(values(&f, "machine.vm.swappiness", sample), ["3", "6", "1", "4"]);
    let more = values(&f, "task[0].theta", &sample.replace("points = 4", "points = 9"));
    assert_eq!(more[..4], theta[..]);
    let drawn = sample.replace("points = 4", "points = 9\nmethod = \"random\"\nseed = 3");
    let drawn = values(&f, "task[0].theta", &drawn);
    assert!(drawn.len() == 9 && drawn.iter().all(|t| (0.0..1.0).contains(&t.parse().unwrap())));
}

/// Every combination, in the order in which `mmsim run` has it: the plan's axes in a scenario give
/// the same report.
#[test]
fn a_sweep_gives_what_a_run_gives() {
    let f = Folder::new();
    f.run("s", "0/1").unwrap_or_else(|e| panic!("{e}"));
    let merged: Report = serde_json::from_slice(&f.merged("s")).expect("a report");
    let scenario = format!(
        "seeds = 2\n{SCENARIO}[axes]\n\"machine.vm.swappiness\" = [10, 60, 100]\n\
         \"task[0].memory\" = [\"8MiB\", \"9MiB\"]\n"
    );
    let report = report(&scenario);
    assert_eq!(merged.runs.len(), 24);
    assert_eq!(merged.runs, report.runs);
}

#[test]
fn wide_tables_have_a_column_for_each_axis_knob_and_counter() {
    let f = Folder::new();
    f.run("s", "0/1").unwrap_or_else(|e| panic!("{e}"));
    let plan = f.plan();
    let merged = mmsim::sweep::Merged::open(&plan, &f.path("s")).unwrap();
    let wide = Wide::of(&merged).unwrap();
    let heads: Vec<String> = wide.columns().into_iter().map(|c| c.name).collect();
    for head in ["unit", "seed", "task[0].memory", "vm.swappiness", "outcome", "pswpin", "digest"] {
        assert_eq!(heads.iter().filter(|h| *h == head).count(), 1, "{head} in {heads:?}");
    }
    let mut csv = Vec::new();
    mmsim::sweep::write_wide(&merged, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 25);
    assert!(csv.lines().all(|l| l.split(',').count() == heads.len()), "no field has a comma");
    let at = |name: &str| heads.iter().position(|h| h == name).unwrap();
    let row = merged.rows().next().unwrap().unwrap();
    let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(cells[at("pswpin")], row.run.vmstat.get("pswpin").unwrap().to_string());
    assert_eq!(cells[at("unit")], row.unit.to_string());
}

/// Millions of units take no room: they are made only on request.
#[test]
fn plans_of_any_size() {
    let f = Folder::new();
    let large = "seeds = 1000\n[axes]\n\"machine.vm.swappiness\" = { from = 0, to = 200, step = 1 }\n\
                 \"task[0].theta\" = { from = 0.0, to = 0.99, steps = 100000 }\n";
    let plan = f.plan_of(&format!("{HEAD}{large}")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.units(), 201 * 100_000 * 2 * 1000);
    let last = plan.units() - 1;
    let place = plan.place(last);
    assert_eq!((place.variant, place.seed), (1, 1000));
    let axes = plan.axes_at(last);
    assert_eq!((axes[0].1.as_str(), axes[1].1.as_str()), ("200", "0.99"));
    let endless = large.replace(
        "[axes]\n",
        "[axes]\n\"task[0].accesses\" = { from = 1, to = 1000000, steps = 1000000 }\n",
    );
    assert!(f.plan_of(&format!("{HEAD}{endless}")).is_err());
}

/// Mistakes are reported with their place; the texts are in `errors.txt`, which `MMSIM_BLESS=1`
/// rewrites.
#[test]
fn mistakes_in_plans() {
    let f = Folder::new();
    f.write("twin.toml", SCENARIO);
    f.write("bad.toml", SCENARIO.replace("memory = \"9MiB\"", "memory = 9"));
    let axes = |axis: &str| format!("{HEAD}[axes]\n{axis}\n");
    let memory = |range: &str| axes(&format!("\"task[0].memory\" = {range}"));
    let mut heard = String::new();
    for (name, text) in [
        ("no-version", "scenarios = [\"small.toml\"]\n".to_string()),
        ("another-version", PLAN.replace("version = 1", "version = 2")),
        ("no-toml", "version = = 1".to_string()),
        ("unknown-key", format!("{HEAD}seed-count = 3\n")),
        ("no-scenarios", "version = 1\n".to_string()),
        ("no-scenario", "version = 1\nscenarios = []\n".to_string()),
        ("missing-scenario", "version = 1\nscenarios = [\"smal.toml\"]\n".to_string()),
        ("bad-scenario", "version = 1\nscenarios = [\"bad.toml\"]\n".to_string()),
        ("two-of-a-name", "version = 1\nscenarios = [\"small.toml\", \"twin.toml\"]\n".to_string()),
        ("unknown-variant", format!("{HEAD}variants = [\"classik\"]\n")),
        ("no-variants", format!("{HEAD}variants = []\n")),
        ("variant-twice", format!("{HEAD}variants = [\"random\", \"random\"]\n")),
        ("variant-of-a-number", format!("{HEAD}variants = [1]\n")),
        ("no-files", axes("\"task[0].file\" = { files = [] }")),
        ("no-seeds", format!("{HEAD}seeds = 0\n")),
        ("set-of-seeds", format!("{HEAD}set = {{ seeds = 3 }}\n")),
        ("axis-of-seeds", axes("seed = [1, 2]")),
        ("value-twice", axes("\"machine.cpus\" = [1, 2, 1]")),
        ("empty-axis", axes("\"machine.cpus\" = []")),
        ("no-list", axes("\"machine.cpus\" = 3")),
        ("bad-value", axes("\"task[0].memory\" = [\"8MB\"]")),
        ("bad-path", axes("\"task[1].memory\" = [\"8MiB\"]")),
        ("range-without-end", memory("{ from = \"8MiB\", steps = 2 }")),
        ("range-backwards", memory("{ from = \"8MiB\", to = \"4MiB\", steps = 2 }")),
        ("range-of-two-kinds", memory("{ from = \"8MiB\", to = \"4ms\", steps = 2 }")),
        ("range-of-words", memory("{ from = \"few\", to = \"many\", steps = 2 }")),
        ("range-without-steps", memory("{ from = \"8MiB\", to = \"9MiB\" }")),
        ("range-of-one", memory("{ from = \"8MiB\", to = \"9MiB\", steps = 1 }")),
        ("range-of-both", memory("{ from = 1, to = 9, steps = 3, step = 4 }")),
        ("range-of-a-wrong-step", axes("\"machine.cpus\" = { from = 1, to = 9, step = 3 }")),
        ("range-of-no-step", axes("\"machine.cpus\" = { from = 1, to = 9, step = 0 }")),
        (
            "log-from-nothing",
            axes("\"machine.cpus\" = { from = 0, to = 9, steps = 3, scale = \"log\" }"),
        ),
        ("too-fine", axes("\"machine.cpus\" = { from = 1, to = 4, steps = 9 }")),
        ("unknown-scale", memory("{ from = \"8MiB\", to = \"9MiB\", steps = 2, scale = \"lin\" }")),
        ("no-file", axes("\"task[0].trace\" = { files = [\"*.mmt\"] }")),
        (
            "sample-without-points",
            format!("{HEAD}[sample]\naxes = {{ \"machine.cpus\" = [1, 2] }}\n"),
        ),
        ("sample-without-axes", format!("{HEAD}[sample]\npoints = 3\n")),
        ("sample-of-nothing", format!("{HEAD}[sample]\npoints = 3\naxes = {{}}\n")),
        (
            "sample-with-steps",
            format!(
                "{HEAD}[sample]\npoints = 3\n[sample.axes]\n\"machine.cpus\" = {{ from = 1, to = 4, steps = 2 }}\n"
            ),
        ),
        (
            "sample-of-an-axis",
            format!(
                "{HEAD}[axes]\n\"machine.cpus\" = [1]\n[sample]\npoints = 3\n[sample.axes]\n\"machine.cpus\" = [1, 2]\n"
            ),
        ),
        (
            "unknown-method",
            format!(
                "{HEAD}[sample]\npoints = 3\nmethod = \"sobol\"\naxes = {{ \"machine.cpus\" = [1, 2] }}\n"
            ),
        ),
    ] {
        let error = match f.plan_of(&text) {
            Err(error) => error,
            // What a single value makes wrong is found before the first unit runs.
            Ok(plan) => {
                let store = f.path("never");
                let options = RunOptions::default();
                let error = run(&plan, &store, Shard::ALL, &options, &()).expect_err(name);
                assert!(!store.exists(), "{name}: nothing is written");
                error.into()
            }
        };
        let folder = f.path("");
        let said = error.to_string().replace(&folder.display().to_string(), "");
        heard += &format!("=== {name}\n{said}\n\n");
    }
    let path = repository("tests/sweep/errors.txt");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, &heard).expect("rewriting the expected texts");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (heard, expected) in heard.split("=== ").zip(expected.split("=== ")) {
        assert_eq!(heard, expected);
    }
    assert_eq!(heard.len(), expected.len());
}

/// Every unit has one place, and its name is that of its place.
#[test]
fn units_have_one_place_each() {
    let f = Folder::new();
    f.write("other.toml", SCENARIO.replace("\"small\"", "\"other\"").replace("3000", "2000"));
    let text = PLAN.replace("[\"small.toml\"]", "[\"small.toml\", \"other.toml\"]");
    let plan: SweepPlan = f.plan_of(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut places: Vec<_> = (0..plan.units()).map(|n| plan.place(n)).collect();
    assert_eq!(places.len(), 48);
    assert!(places.is_sorted(), "scenarios, then settings, variants, seeds");
    places.dedup();
    assert_eq!(places.len(), 48);
    assert_eq!(names(&plan).len(), 48);
}
