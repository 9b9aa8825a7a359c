//! Tunings: what plans refuse and where, and that a search keeps its word.

use crate::harness::{Folder, repository, runner};
use mmsim::Runner;
use mmsim::tune::advice::{Decision, Verdict};
use mmsim::tune::writes::Write;
use mmsim::tune::{Setting, TunePlan, Tuning, json_schema, length, tune};

const BOX: &str = "\
name = \"box\"
[machine]
memory = \"8MiB\"
swap = { size = \"64MiB\", device = \"nvme\" }
[[task]]
workload = \"zipf\"
memory = \"12MiB\"
accesses = 6000
write-permille = 300
[[damon]]
module = \"damon-reclaim\"
";

const PLAN: &str = "\
version = 1
scenario = \"box.toml\"
budget = 40
population = 6
seeds = 3
[knobs]
\"machine.vm.swappiness\" = { from = 0, to = 200 }
\"machine.memory\" = { from = \"7MiB\", to = \"16MiB\", scale = \"log\" }
\"reclaim.preset\" = [\"classic-v6.12\", \"mglru-v6.12\"]
[[objective]]
figure = \"swap-ins\"
goal = \"min\"
[[objective]]
figure = \"peak_resident\"
goal = \"min\"
";

/// The plan beside its scenario, as a file.
fn read(plan: &str) -> (Folder, Result<TunePlan, mmsim::Error>) {
    read_beside(BOX, plan)
}

fn read_beside(scenario: &str, plan: &str) -> (Folder, Result<TunePlan, mmsim::Error>) {
    let folder = Folder::with("box.toml", scenario);
    let plan = TunePlan::from_path(folder.write("plan.toml", plan));
    (folder, plan)
}

fn tuned(plan: &str, jobs: usize) -> Tuning {
    tuned_beside(BOX, plan, jobs)
}

fn tuned_beside(scenario: &str, plan: &str, jobs: usize) -> Tuning {
    let (_dir, plan) = read_beside(scenario, plan);
    tune(&plan.expect("a plan"), &runner(jobs)).unwrap_or_else(|e| panic!("{e}"))
}

/// More memory holds more and swaps less, so the front has small and large machines, in order. The
/// search spends no more than its budget, and the front has all seeds.
#[test]
fn a_search_keeps_its_word() {
    let t = tuned(PLAN, 2);
    assert!((30..=40).contains(&t.spent.runs), "{:?}", t.spent);
    let own_is_outside = u64::from(!t.front.iter().any(|s| s.own));
    assert_eq!(t.spent.held_out, 3 * (t.front.len() as u64 + own_is_outside));
    assert_eq!((t.seeds, t.held_out), (vec![1, 2, 3], vec![4, 5, 6]));
    assert!(t.front.len() >= 3, "{}", t.front.len());
    let means = |m: usize| t.front.iter().map(|s| s.objectives[m].search.mean).collect::<Vec<_>>();
    assert!(
        means(0).is_sorted() && means(1).iter().rev().is_sorted(),
        "{:?} {:?}",
        means(0),
        means(1)
    );
    assert!(t.front.iter().all(|s| s.objectives.iter().all(|m| m.search.ci95.is_some())));
    assert!(t.hypervolume.of_means > t.hypervolume.own, "{:?}", t.hypervolume);
    // Memory is what both figures follow.
    let share = |knob: &str| {
        let of = t.contributions.iter().filter(|c| c.knob == knob);
        of.map(|c| c.share).fold(0.0, f64::max)
    };
    assert!(share("machine.memory") > 0.5, "{:?}", t.contributions);
    assert!(
        t.contributions.iter().all(|c| c.correlation.is_some() != (c.knob == "reclaim.preset"))
    );
}

/// A plan of these knobs and of two objectives that are to be small.
fn plan_of(knobs: &str, objectives: [&str; 2]) -> String {
    let objective = |o: &str| format!("[[objective]]\nfigure = \"{o}\"\ngoal = \"min\"\n");
    format!(
        "version = 1\nscenario = \"box.toml\"\nbudget = 40\npopulation = 6\nseeds = 3\n\
         [knobs]\n{knobs}{}",
        objectives.map(objective).concat()
    )
}

/// Invariants of every tuning: the own setting is in the front or dominated by one of it, no
/// setting of the front is dominated by it, the front has at least its volume, and the advice
/// follows from the changes.
fn holds_its_word(t: &Tuning) {
    let sign = |m: usize| if t.objectives[m].max { -1.0 } else { 1.0 };
    let means = |s: &Setting| -> Vec<f64> {
        s.objectives.iter().enumerate().map(|(m, of)| of.search.mean * sign(m)).collect()
    };
    let dominates = |a: &Setting, b: &Setting| {
        let (a, b) = (means(a), means(b));
        a.iter().zip(&b).all(|(a, b)| a <= b) && a != b
    };
    if let Some(own) = &t.own {
        assert!(t.front.iter().all(|s| !dominates(own, s)), "{:?}", t.front);
        assert!(own.objectives.iter().all(|m| m.change.is_none()));
        if t.constraints.is_empty() {
            let inside = t.front.iter().any(|s| s.own);
            assert_eq!(inside, !t.front.iter().any(|s| dominates(s, own)), "{:?}", t.front);
            assert!(t.hypervolume.of_means >= t.hypervolume.own, "{:?}", t.hypervolume);
        }
    }
    let advice = &t.advice;
    assert_eq!(advice.decision == Decision::ChangeNothing, advice.settings.is_empty());
    for advised in &advice.settings {
        let setting = &t.front[advised.setting];
        assert!(setting.keeps && !setting.own && advised.knobs == setting.knobs, "{setting:?}");
        assert_eq!(advised.better.is_empty(), t.own.is_none(), "{advised:?}");
        for (aim, m) in t.objectives.iter().zip(&setting.objectives) {
            let listed = |all: &[mmsim::tune::advice::Moved]| {
                all.iter().any(|moved| moved.figure == aim.figure)
            };
            let Some(change) = &m.change else { continue };
            let half = change.difference.ci95.expect("an interval");
            let good = if aim.max { change.difference.mean } else { -change.difference.mean };
            assert_eq!(listed(&advised.worse), good < -half, "{aim:?} {change:?}");
            if listed(&advised.better) {
                assert!(good > half, "{aim:?} {change:?}");
                let search = m.change_in_search.as_ref().expect("a change");
                assert_eq!(search.verdict, Verdict::Better, "{aim:?} {search:?}");
            } else {
                assert!(listed(&advised.worse) || listed(&advised.unproven), "{advised:?}");
            }
        }
    }
}

/// Nothing compacts here, so the knob does nothing: every setting is the run of the own one, which
/// alone is the front.
#[test]
fn a_knob_that_does_nothing_changes_nothing() {
    let knob = "\"machine.vm.extfrag_threshold\" = { from = 0, to = 1000 }\n";
    let t = tuned(&plan_of(knob, ["swap-ins", "peak_resident"]), 2);
    holds_its_word(&t);
    assert_eq!((t.front.len(), t.front[0].own), (1, true), "{:?}", t.front);
    assert_eq!(t.advice.decision, Decision::ChangeNothing);
    assert_eq!(t.advice.why, "There is no other setting in the front.");
    assert_eq!(t.hypervolume.of_means, t.hypervolume.own);
    // Its value is one of the knob's, so nothing else has it.
    assert_eq!(t.own, Some(t.front[0].clone()));
}

/// Less memory swaps more and has more faults that wait: whatever is tried is worse than the own
/// setting in both, and no row of it is left.
#[test]
fn what_the_own_setting_dominates_is_not_in_the_front() {
    let knob = "\"machine.memory\" = { from = \"6MiB\", to = \"7MiB\" }\n";
    let t = tuned(&plan_of(knob, ["swap-ins", "major-faults"]), 2);
    holds_its_word(&t);
    assert!(t.spent.settings >= 6, "{:?}", t.spent);
    assert_eq!((t.front.len(), t.front[0].own), (1, true), "{:?}", t.front);
    assert_eq!(t.advice.decision, Decision::ChangeNothing);
}

/// More memory swaps less and holds more: it is advised, and what it makes worse is named. With
/// twice as much there are no swap-ins left.
#[test]
fn what_helps_is_advised_with_its_price() {
    let knob = "\"machine.memory\" = { from = \"9MiB\", to = \"16MiB\" }\n";
    let t = tuned(&plan_of(knob, ["swap-ins", "peak_resident"]), 2);
    holds_its_word(&t);
    assert_eq!(t.advice.decision, Decision::Change);
    assert!(t.front.iter().any(|s| s.own), "{:?}", t.front);
    let names = |all: &[mmsim::tune::advice::Moved]| -> Vec<String> {
        all.iter().map(|moved| moved.figure.clone()).collect()
    };
    for advised in &t.advice.settings {
        assert_eq!(names(&advised.better), ["swap-ins"], "{advised:?}");
        assert_eq!(names(&advised.worse), ["peak_resident"], "{advised:?}");
    }
    let best =
        t.front.iter().map(|s| s.objectives[0].change.as_ref().map_or(0.0, |c| c.difference.mean));
    assert!(best.fold(0.0, f64::min) < 0.0);
    // What makes nothing worse comes first, and here is such a one: swap-ins and faults that wait.
    let t = tuned(&plan_of(knob, ["swap-ins", "major-faults"]), 2);
    holds_its_word(&t);
    assert!(t.advice.settings[0].worse.is_empty(), "{:?}", t.advice);
    assert!(!t.front.iter().any(|s| s.own), "{:?}", t.front);
}

/// With one objective the front is the best setting. Less memory swaps more, so the best of those
/// below the own one is the own one.
#[test]
fn one_objective_is_a_search_too() {
    let of = |knob: &str| {
        let plan = plan_of(knob, ["swap-ins", "peak_resident"]);
        let (plan, _) = plan.rsplit_once("[[objective]]").expect("two objectives");
        tuned(plan, 2)
    };
    let t = of("\"machine.memory\" = { from = \"9MiB\", to = \"16MiB\" }\n");
    holds_its_word(&t);
    assert_eq!((t.front.len(), t.front[0].own), (1, false), "{:?}", t.front);
    assert_eq!((t.advice.decision, t.advice.settings.len()), (Decision::Change, 1));
    assert!(t.advice.settings[0].worse.is_empty(), "{:?}", t.advice);
    let t = of("\"machine.memory\" = { from = \"6MiB\", to = \"7MiB\" }\n");
    holds_its_word(&t);
    assert_eq!((t.front.len(), t.front[0].own), (1, true), "{:?}", t.front);
    assert_eq!(t.advice.decision, Decision::ChangeNothing);
}

/// A knob that is a time is judged up to a quarter of the run, whichever unit its key has.
#[test]
fn times_that_a_run_is_too_short_for() {
    let knobs = "\"reclaim.min-ttl-ms\" = { from = 1, to = 4000 }\n\
                 \"machine.vm.swappiness\" = { from = 0, to = 200 }\n\
                 \"damon[0].parameters.min_age\" = { from = 100000, to = 1000000 }\n\
                 \"damon[0].parameters.quota_ms\" = { from = 1, to = 9000 }\n";
    let plan = plan_of(knobs, ["swap-ins", "peak_resident"]);
    let plan = plan.replace("[knobs]", "[set]\n\"reclaim.preset\" = \"mglru-v6.12\"\n[knobs]");
    let (_dir, plan) = read(&plan);
    let plan = plan.unwrap_or_else(|e| panic!("{e}"));
    let of = |run_ns| -> Vec<&str> {
        length::too_long(plan.knobs(), run_ns).into_iter().map(|(path, _)| path).collect()
    };
    let (ttl, age) = ("reclaim.min-ttl-ms", "damon[0].parameters.min_age");
    assert_eq!(of(3_900_000_000), [ttl, age]);
    assert_eq!(of(4_000_000_000), [ttl]);
    assert_eq!(of(16_000_000_000), [""; 0]);
}

/// Twelve MiB of heap and no swap: with less memory the heap is killed, and the setting is named with
/// that. Where the own setting is killed, whatever finishes is advised.
#[test]
fn settings_that_kill_are_named() {
    let scenario = BOX.replace("swap = { size = \"64MiB\", device = \"nvme\" }\n", "");
    let scenario = scenario.replace("[[task]]\n", "[[task]]\nname = \"heap\"\n");
    let knob = "\"machine.memory\" = { from = \"4MiB\", to = \"24MiB\" }\n";
    let plan = plan_of(knob, ["major-faults", "peak_resident"]);
    let cause = "`heap` was killed: no page was left for an allocation";
    for (memory, own_is_killed) in [("24MiB", false), ("8MiB", true)] {
        let t = tuned_beside(&scenario.replace("\"8MiB\"", &format!("\"{memory}\"")), &plan, 2);
        holds_its_word(&t);
        assert_eq!(t.own.is_none(), own_is_killed);
        assert_eq!(t.failed.iter().filter(|f| f.own).count(), usize::from(own_is_killed));
        assert_eq!(t.spent.failed, t.failed.iter().filter(|f| !f.own).count() as u64);
        assert!(t.failed.len() >= 2, "{:?}", t.failed);
        for f in &t.failed {
            assert_eq!((f.outcome.as_str(), f.cause.as_str()), ("out of memory", cause), "{f:?}");
            assert!(f.detail.contains("out of memory after") && f.detail.contains("pages: heap "));
            let memory = f.knobs.get("machine.memory").expect("a value");
            let pages = mmsim::scenario::pages(memory).expect("a size");
            assert!(pages < 3500, "{f:?}");
        }
        match own_is_killed {
            true => {
                assert_eq!(t.advice.decision, Decision::Change);
                assert!(t.advice.why.contains("present setting does not do its work"));
            }
            false => assert_eq!(t.advice.decision, Decision::ChangeNothing),
        }
    }
}

/// A time to live that is longer than the run lets kswapd take nothing, so it kills.
#[test]
fn a_time_to_live_that_kills_is_named() {
    let knob = "\"reclaim.min-ttl-ms\" = { from = 1, to = 60000, scale = \"log\" }\n";
    let plan = plan_of(knob, ["swap-ins", "peak_resident"]);
    let plan = plan.replace("[knobs]", "[set]\n\"reclaim.preset\" = \"mglru-v6.12\"\n[knobs]");
    let t = tuned(&plan, 2);
    holds_its_word(&t);
    assert_eq!(t.own.as_ref().and_then(|s| s.knobs.get("reclaim.min-ttl-ms")), Some(&"0".into()));
    let cause = "was killed: no page was older than min_ttl_ms";
    assert!(!t.failed.is_empty() && t.failed.iter().all(|f| f.cause.contains(cause)), "{t:?}");
}

/// The advice of the shipped plans is what they measured, with a short search. Of the time to live
/// of MGLRU nothing is proven: settings that are a little better by means are no better with other
/// seeds.
#[test]
fn shipped_plans_keep_their_word() {
    for (name, nothing) in [("swappiness", None), ("min-ttl", Some(true)), ("damon-reclaim", None)]
    {
        let folder = repository("scenarios/tuning");
        let plan = TunePlan::from_path(folder.join(format!("{name}.toml")));
        let plan = plan.and_then(|p| p.with_budget(52)).unwrap_or_else(|e| panic!("{e}"));
        let t = tune(&plan, &Runner::default()).unwrap_or_else(|e| panic!("{e}"));
        holds_its_word(&t);
        if let Some(nothing) = nothing {
            assert_eq!(t.advice.settings.is_empty(), nothing, "{name}: {:?}", t.advice);
        }
    }
}

/// Each shipped plan is one, with its scenario and its knobs.
#[test]
fn shipped_plans_can_be_read() {
    let plans = std::fs::read_dir(repository("scenarios/tuning")).expect("a folder");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("an entry").path();
        TunePlan::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
    };
    assert!(plans.map(read).count() > 4);
}

/// The own setting has numbers: what the scenario writes, what tables and presets have, and what
/// the kernel computes, which is `int_sqrt(16 * 7680)` KiB for the 1,920 pages that are managed here.
#[test]
fn own_values_are_known() {
    let knobs = "\"machine.memory\" = { from = \"8MiB\", to = \"9MiB\" }\n\
        \"machine.vm.swappiness\" = { from = 0, to = 200 }\n\
        \"machine.vm.watermark_scale_factor\" = { from = 10, to = 1000, scale = \"log\" }\n\
        \"machine.vm.min_free_kbytes\" = { from = 256, to = 512 }\n\
        \"machine.vm.transparent_hugepage\" = [\"never\", \"always\"]\n\
        \"damon[0].parameters.min_age\" = { from = 100000, to = 200000000 }\n\
        \"damon[0].start\" = { from = \"0ns\", to = \"1ms\" }\n\
        \"reclaim.preset\" = [\"mglru-v6.12\", \"classic-v6.12\"]\n";
    let plan = plan_of(knobs, ["swap-ins", "peak_resident"]).replace("= 40", "= 21");
    let t = tuned(&plan, 2);
    let own = t.own.expect("figures");
    let values: Vec<&str> = own.knobs.iter().map(|(_, v)| v.as_str()).collect();
    let all = ["8MiB", "60", "10", "350", "never", "120000000", "0ns", "classic-v6.12"];
    assert_eq!(values, all);
}

/// The JSON Schema takes what tunings write, and refuses an advice without a decision.
#[test]
fn the_schema_takes_tunings() {
    let judge = |document: serde_json::Value| {
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("tuning.json", json_schema()).expect("a schema");
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("tuning.json", &mut schemas).expect("a schema that compiles");
        schemas.validate(&document, index).map_err(|e| format!("{e:#}"))
    };
    let t = tuned(&PLAN.replace("budget = 40", "budget = 21"), 2);
    let document: serde_json::Value = serde_json::from_str(&t.to_json()).expect("JSON");
    assert_eq!(judge(document.clone()), Ok(()));
    let mut bad = document;
    bad["tuning"]["advice"]["decision"] = "perhaps".into();
    assert!(judge(bad).is_err());
}

/// Another seed of the search finds another way; the same one the same, for any number of jobs.
#[test]
fn draws_decide_and_jobs_do_not() {
    let one = tuned(PLAN, 1);
    assert_eq!(tuned(PLAN, 3), one);
    let other = tuned(&PLAN.replace("seeds = 3", "seeds = 3\ndraws = 2"), 2);
    assert_ne!(other.front, one.front);
}

/// A bound that no machine keeps leaves no front; one that some keep leaves those.
#[test]
fn constraints_are_kept() {
    let with =
        |below: u64| format!("{PLAN}[[constraint]]\nfigure = \"peak_resident\"\nbelow = {below}\n");
    assert!(tuned(&with(10), 2).front.is_empty());
    let some = tuned(&with(2200), 2);
    assert!(!some.front.is_empty());
    assert!(some.front.iter().all(|s| s.constraints[0].search.mean < 2200.0), "{:?}", some.front);
}

/// Every mistake is reported at its place in the plan, with a text to write instead.
#[test]
fn mistakes_have_places() {
    let change = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        PLAN.replacen(from, to, 1)
    };
    let objectives = &PLAN[PLAN.find("[[objective]]").expect("objectives")..];
    for (plan, place, said) in [
        (
            change("vm.swappiness", "vm.swapiness"),
            (7, 13),
            "machine.vm: unknown key `swapiness`, did you mean `swappiness`?",
        ),
        (
            change("\"machine.vm.swappiness\"", "machine.vm.swappiness"),
            (7, 1),
            "knobs: the path `machine.vm.swappiness` is without quotes",
        ),
        (
            change("to = 200", "to = 300"),
            (7, 27),
            "machine.vm.swappiness: 300 is out of range, write a whole number from 0 to 200",
        ),
        (change("\"mglru-v6.12\"", "\"mglru-v6.13\""), (9, 38), "unknown preset `mglru-v6.13`"),
        (change(objectives, ""), (1, 1), "a tuning has 1 to 5 objectives, and this has 0"),
        (
            change("\"swap-ins\"", "\"swap-inns\""),
            (11, 10),
            "objective[0].figure: unknown figure `swap-inns`, did you mean `swap-ins`?",
        ),
        (
            change("\"swap-ins\"", "\"damon[3].cpu_ns\""),
            (11, 10),
            "objective[0].figure: there is no `damon[3].cpu_ns`",
        ),
        (
            change("\"swap-ins\"", "\"workingset_refault_anon\"\nphase = \"acess\""),
            (12, 9),
            "objective[0].phase: there is no phase `acess`",
        ),
        (change("\"peak_resident\"", "\"swap-ins\""), (14, 10), "objective[0] has it"),
        (
            change("budget = 40", "budget = 20"),
            (3, 10),
            "budget: 20 runs are fewer than 21, write at least 21",
        ),
        (change("box.toml", "bax.toml"), (2, 12), "there is no such file"),
        (change("goal = \"min\"", "goal = \"low\""), (12, 8), "unknown goal `low`"),
        (
            format!("{PLAN}[[constraint]]\nfigure = \"pgfault\"\n"),
            (16, 1),
            "constraint[0]: needs `above` or `below`",
        ),
        (change("[knobs]", "[set]\n\"machine.vm.swappiness\" = 9\n[knobs]"), (7, 1), "a knob too"),
        (change("scenario = \"box.toml\"", "task = 1"), (2, 1), "unknown key `task`"),
    ] {
        let (_dir, read) = read(&plan);
        let found = match read {
            Err(e) => e,
            Ok(plan) => match tune(&plan, &Runner::default()) {
                Err(e) => e.into(),
                Ok(_) => panic!("taken:\n{plan:?}"),
            },
        };
        let text = found.to_string();
        assert!(text.contains(said), "{said}\n{text}");
        let (file, line, column) = found.position().expect("a place");
        assert!(file.ends_with("plan.toml"), "{text}");
        assert_eq!((line, column), place, "{text}");
    }
}

/// Large enough for miniatures of a half, and without a monitor.
const LARGE: &str = "\
name = \"large\"
machine = { memory = \"64MiB\", swap = { size = \"128MiB\", device = \"ramdisk\" }, file-device = \"ramdisk\" }
task = [
    { name = \"heap\", workload = \"zipf\", memory = \"64MiB\", accesses = 40000, write-permille = 300 },
    { name = \"file\", workload = \"zipf\", memory = \"64MiB\", region = \"read\", accesses = 40000 },
]
";
const FIRST_SMALL: &str = "\
version = 1
scenario = \"box.toml\"
budget = 32
population = 6
seeds = 2
miniature = \"1/2\"
[knobs]
\"machine.vm.swappiness\" = { from = 0, to = 200 }
\"machine.vm.watermark_scale_factor\" = { from = 10, to = 1000, scale = \"log\" }
[[objective]]
figure = \"workingset_refault_file\"
goal = \"min\"
[[objective]]
figure = \"swap-ins\"
goal = \"min\"
";

fn tuned_large(plan: &str, jobs: usize) -> Result<Tuning, mmsim::Error> {
    let (dir, _) = read(plan);
    dir.write("box.toml", LARGE);
    let plan = TunePlan::from_path(dir.path("plan.toml"))?;
    Ok(tune(&plan, &runner(jobs))?)
}

/// Two of three new settings are miniatures only. They cost no run of the budget, and what was found
/// does not depend on how many run at a time.
#[test]
fn miniatures_come_first() {
    let one = tuned_large(FIRST_SMALL, 1).unwrap_or_else(|e| panic!("{e}"));
    assert!(one.spent.runs <= 32 && !one.front.is_empty(), "{:?}", one.spent);
    let after_the_first = one.spent.settings - 6;
    assert!(after_the_first > 0, "{:?}", one.spent);
    assert_eq!(one.spent.as_miniatures, 2 * after_the_first, "{:?}", one.spent);
    assert_eq!(tuned_large(FIRST_SMALL, 3), Ok(one));
}

/// Figures that miniatures do not estimate, and scenarios that cannot be miniatures, are refused at
/// their places.
#[test]
fn miniatures_that_cannot_be() {
    let change = |from: &str, to: &str| {
        assert!(FIRST_SMALL.contains(from), "{from}");
        FIRST_SMALL.replacen(from, to, 1)
    };
    for (plan, place, said) in [
        (change("1/2", "1/3"), (6, 13), "unknown miniature `1/3`"),
        (change("1/2", "1/64"), (6, 13), "miniature: default, seed 1: 1/64 leaves"),
        (
            change("\"swap-ins\"", "\"memory-pressure\""),
            (14, 10),
            "objective[1].figure: miniatures do not estimate memory-pressure",
        ),
    ] {
        let error = tuned_large(&plan, 2).expect_err(said);
        let text = error.to_string();
        assert!(text.contains(said), "{said}\n{text}");
        let (_, line, column) = error.position().expect("a place");
        assert_eq!((line, column), place, "{text}");
    }
}

/// Forms of a value on a machine: files, with the write that makes a module read them, and
/// arguments of damo.
#[test]
fn settings_are_written() {
    let of_plan = |plan: &str, knobs: &str| {
        let (head, rest) = plan.split_once("[knobs]\n").expect("knobs");
        let (_, tail) = rest.split_once("[[objective]]").expect("objectives");
        let plan = format!("{head}[knobs]\n{knobs}[[objective]]{tail}");
        let plan = plan.replace("budget = 40", "budget = 21").replace("seeds = 3", "seeds = 2");
        tuned(&plan, 2).front.remove(0).writes
    };
    let of = |knobs: &str| of_plan(PLAN, knobs);
    let file = |path: &str, value: &str| Write::File { path: path.into(), value: value.into() };
    assert_eq!(
        of("\"damon[0].parameters.min_age\" = [7000000, 9000000]\n")[1],
        file("/sys/module/damon_reclaim/parameters/commit_inputs", "Y")
    );
    assert_eq!(
        of("\"machine.vm.transparent_hugepage\" = [\"never\"]\n"),
        [file("/sys/kernel/mm/transparent_hugepage/enabled", "never")]
    );
    let mglru = PLAN.replace("[knobs]", "[set]\n\"reclaim.preset\" = \"mglru-v6.12\"\n[knobs]");
    let ttl = "\"reclaim.min-ttl-ms\" = [0]\n";
    assert_eq!(of_plan(&mglru, ttl)[0], file("/sys/kernel/mm/lru_gen/min_ttl_ms", "0"));
    assert!(matches!(&of("\"machine.memory\" = [\"8MiB\"]\n")[..], [Write::Nothing { .. }]));
}

/// A monitor of one's own is arguments of damo, whole, whichever of its keys is tuned. damo 3.4.3
/// takes these, and `mmsim damon import` reads its output as the same scheme; but its `args damon`
/// prints no end after a number of snapshots.
#[test]
fn a_monitor_is_arguments_of_damo() {
    let own = "rules = { preset = \"damon-v7.3\" }\nops = \"paddr\"\n[[damon.scheme]]\n\
        action = \"pageout\"\nmin-age = \"2s\"\nmax-nr-accesses = 1\nmax-nr-snapshots = 900\n\
        quota-size = \"1MiB\"\nquota-reset = \"1s\"\nweight-age = 1\n";
    let (dir, _) = read(PLAN);
    let text = BOX.replace("module = \"damon-reclaim\"\n", own);
    dir.write("own.toml", text);
    let (_, objectives) = PLAN.split_once("[[objective]]").expect("objectives");
    let plan = format!(
        "version = 1\nscenario = \"own.toml\"\nbudget = 20\npopulation = 4\nseeds = 2\n[knobs]\n\
         \"damon[0].scheme[0].min-age\" = [\"2s\"]\n[[objective]]{objectives}"
    );
    let path = dir.path("plan.toml");
    std::fs::write(&path, plan).expect("writing");
    let plan = TunePlan::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
    let found = tune(&plan, &Runner::default()).unwrap_or_else(|e| panic!("{e}"));
    let arguments = "--ops paddr --monitoring_intervals 5000us 100000us 60000000us \
        --monitoring_nr_regions_range 10 1000 --damos_action pageout --damos_sz_region 0B max \
        --damos_access_rate 0.00% 5.00% --damos_age 2000000us max \
        --damos_quotas 0ms 1048576B 1000ms 0 0 1 --damos_max_nr_snapshots 900";
    assert_eq!(found.front[0].writes, [Write::Damo { arguments: arguments.to_string() }]);
}
