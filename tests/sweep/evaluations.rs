//! Evaluations: what suites and knob files refuse and where, and what a score is.

use crate::harness::{Folder, repository};
use mmsim::evaluate::{Candidate, Evaluation, Evaluator, KnobFile, Suite, check};
use mmsim::{RunOptions, Runner};

const BOX: &str = "\
name = \"box\"
[machine]
memory = \"8MiB\"
swap = { size = \"64MiB\", device = \"ramdisk\" }
[[task]]
name = \"heap\"
workload = \"zipf\"
memory = \"3MiB\"
theta = 0.8
accesses = 3000
write-permille = 300
[[task]]
name = \"scan\"
workload = \"cyclic\"
memory = \"8MiB\"
passes = 5
write = true
[[variant]]
name = \"classic\"
reclaim = { preset = \"classic-v6.12\", ws-threshold = \"v5.9\" }
[[variant]]
name = \"random\"
reclaim = { preset = \"random\" }
";

const SUITE: &str = "\
version = 1
seeds = 2
held-out = 2
[[scenario]]
file = \"box.toml\"
variant = \"classic\"
[[scenario]]
name = \"apart\"
file = \"box.toml\"
variant = \"random\"
set = { \"task[0].accesses\" = 2000 }
seeds = 0
";

const KNOBS: &str = "\
version = 1
[set]
\"machine.vm.swappiness\" = 60
";

fn folder() -> Folder {
    Folder::with("box.toml", BOX)
}

fn suite(folder: &Folder, text: &str) -> Result<Suite, mmsim::Error> {
    Suite::from_path(folder.write("suite.toml", text))
}

fn scored(suite: &Suite, knobs: &str, jobs: usize) -> Result<Evaluation, mmsim::Error> {
    let knobs = KnobFile::from_str(knobs, "knobs.toml")?;
    let options = RunOptions::default().with_jobs(jobs).with_check(true);
    let evaluator = Evaluator::new(suite, Runner::new(&options))?;
    Ok(evaluator.evaluate(&Candidate::Knobs(&knobs))?)
}

/// The baseline in other words scores 0 with every seed, and what held out is stands apart.
#[test]
fn the_baseline_scores_nothing() {
    let dir = folder();
    let suite = suite(&dir, SUITE).unwrap_or_else(|e| panic!("{e}"));
    let e = scored(&suite, KNOBS, 2).unwrap_or_else(|e| panic!("{e}"));
    let scores = [e.own.score, e.held_out.score].map(|score| score.expect("two scenarios"));
    assert_eq!(scores.map(|e| (e.mean, e.ci95)), [(0.0, Some(0.0)); 2]);
    let seeds = |nth: usize| {
        let s = &e.scenarios[nth];
        let of =
            |all: &[mmsim::evaluate::SeedScore]| all.iter().map(|s| s.seed).collect::<Vec<_>>();
        (of(&s.own.seeds), of(&s.held_out.seeds))
    };
    assert_eq!((seeds(0), seeds(1)), ((vec![1, 2], vec![3, 4]), (vec![], vec![1, 2])));
    assert!(e.causes.iter().all(|c| c.policy == c.baseline));
    assert!(e.causes.iter().map(|c| c.policy).sum::<u64>() > 1000, "{:?}", e.causes);
    assert_eq!((e.cost.runs, e.cost.calls, e.unfinished.len()), (6, 0, 0));
    // MIN fetches less than half of what the kernel does: a scan of all memory is beside.
    for s in e.scenarios.iter().flat_map(|s| s.own.seeds.iter().chain(&s.held_out.seeds)) {
        assert!(s.min > 0 && s.min * 2 < s.fetches && s.fetches == s.baseline, "{s:?}");
    }
}

/// Random eviction keeps a part of a cyclic scan, and LRU keeps none (tests/suite/contract.rs of
/// mmsim-lru). So it is better than the first baseline; and it is the second one.
#[test]
fn a_score_is_the_way_to_the_optimum() {
    let dir = folder();
    let suite = suite(&dir, SUITE).unwrap_or_else(|e| panic!("{e}"));
    let random = "version = 1\npolicy = \"random\"\n";
    let e = scored(&suite, random, 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scored(&suite, random, 3).as_ref(), Ok(&e), "jobs decide nothing");
    assert!(e.own.score.is_some_and(|s| s.mean > 0.1 && s.mean < 1.0), "{:?}", e.own);
    assert_eq!(e.scenarios[1].held_out.score.map(|s| s.mean), Some(0.0));
    for s in e.scenarios[0].own.seeds.iter() {
        let share = (s.baseline as f64 - s.fetches as f64) / (s.baseline - s.min) as f64;
        assert!(s.score.is_some_and(|x| (x - share).abs() < 1e-6), "{s:?}");
    }
}

/// Whatever is shipped for evaluations in TOML can be read, and shipped policies fit shipped suites.
#[test]
fn shipped_files_can_be_read() {
    let folder = repository("scenarios/suites");
    let (mut suites, mut policies, mut scenarios) = (Vec::new(), Vec::new(), 0);
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        if text.contains("[[scenario]]") {
            suites.push(Suite::from_path(&path).unwrap_or_else(|e| panic!("{e}")));
        } else if text.contains("[machine]") {
            let s = mmsim::Scenario::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
            assert!(!s.about().is_empty(), "{}", path.display());
            scenarios += 1;
        } else {
            policies.push(KnobFile::from_path(&path).unwrap_or_else(|e| panic!("{e}")));
        }
    }
    assert!(!suites.is_empty() && policies.len() >= 2 && scenarios >= 7);
    for (suite, knobs) in suites.iter().flat_map(|s| policies.iter().map(move |k| (s, k))) {
        assert!(!suite.about().is_empty() && !knobs.about().is_empty());
        check(suite, &Candidate::Knobs(knobs), &mmsim::registry())
            .unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A monitor is an administrator's: a knob file may start one, and it acts.
#[test]
fn a_policy_may_start_a_monitor() {
    let dir = folder();
    let suite = suite(&dir, SUITE).unwrap_or_else(|e| panic!("{e}"));
    let monitor = "version = 1\n[set]\ndamon = [{ ops = \"paddr\", sample = \"50us\", aggr = \"500us\", \
        scheme = [{ action = \"pageout\", max-nr-accesses = 0, min-age = \"0s\" }] }]\n";
    let e = scored(&suite, monitor, 2).unwrap_or_else(|e| panic!("{e}"));
    assert!(e.own.score.is_some_and(|s| s.mean != 0.0), "{:?} {:?}", e.own, e.unfinished);
}

/// A policy under which memory runs out has no score, however little it fetched until then.
#[test]
fn a_run_that_ends_early_has_no_score() {
    let dir = folder();
    let tight = SUITE.replacen(
        "variant = \"classic\"",
        "variant = \"classic\"\nset = { \"machine.swap.size\" = \"4MiB\" }",
        1,
    );
    let suite = suite(&dir, &tight).unwrap_or_else(|e| panic!("{e}"));
    let pool = "version = 1\n[set]\n\"machine.vm.min_free_kbytes\" = 7000\n";
    let e = scored(&suite, pool, 2).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((e.own.score, e.scenarios[0].own.score), (None, None));
    assert!(e.unfinished[0].starts_with("box, seed 1: "), "{:?}", e.unfinished);
}

/// Every mistake is reported at its place, with a text to write instead.
#[test]
fn mistakes_have_places() {
    let dir = folder();
    let change = |from: &str, to: &str| {
        assert!(SUITE.contains(from), "{from}");
        SUITE.replacen(from, to, 1)
    };
    let last = "[[scenario]]\nname = \"apart\"\nfile = \"box.toml\"\nvariant = \"random\"\n\
        set = { \"task[0].accesses\" = 2000 }\nseeds = 0\n";
    for (text, place, said) in [
        (change("box.toml", "bax.toml"), (5, 8), "there is no such file"),
        (change("\"classic\"", "\"clasic\""), (6, 11), "did you mean `classic`?"),
        (
            change("variant = \"classic\"\n", ""),
            (4, 1),
            "the scenario has 2 variants, add `variant`",
        ),
        (change("\"apart\"", "\"box\""), (8, 8), "\"box\" is the name of scenario[0] too"),
        (
            change("seeds = 0", "seeds = 0\nheld-out = 0"),
            (7, 1),
            "neither seeds nor held-out seeds",
        ),
        (change("held-out = 2", "held-out = -1"), (3, 12), "-1 is negative"),
        (
            change("accesses\" = 2000", "accesses\" = 0"),
            (11, 30),
            "task[0].accesses: 0 is out of range",
        ),
        (change("seeds = 0", "seed = 1\nfigure = \"refaults\""), (13, 1), "unknown key `figure`"),
        ("version = 1\n".to_string(), (1, 1), "`scenario` is missing"),
        (format!("version = 1\n{last}"), (2, 1), "no scenario has seeds that the score is of"),
        (KNOBS.to_string(), (2, 2), "is a knob file, not a suite"),
        (BOX.to_string(), (5, 3), "is a scenario, not a suite"),
        (
            change(
                "variant = \"classic\"",
                "variant = \"classic\"\nset = { \"task[0].memory\" = \"1MiB\", \"task[1].memory\" = \"1MiB\" }",
            ),
            (4, 1),
            "the baseline fetches 0 pages again, as MIN does",
        ),
        (
            change(
                "variant = \"classic\"",
                "variant = \"classic\"\nset = { \"machine.swap.size\" = \"256KiB\" }",
            ),
            (4, 1),
            "the baseline does not do all of its work: out of memory",
        ),
    ] {
        let found = suite(&dir, &text).and_then(|s| scored(&s, KNOBS, 2));
        let Err(e) = found else { panic!("taken:\n{text}") };
        is_told(&e, "suite.toml", place, said);
    }
}

fn is_told(e: &mmsim::Error, file: &str, place: (usize, usize), said: &str) {
    let text = e.to_string();
    assert!(text.contains(said), "{said}\n{text}");
    let (of, line, column) = e.position().expect("a place");
    assert!(of.ends_with(file), "{text}");
    assert_eq!((line, column), place, "{text}");
}

/// Keys that a knob file may not have are refused at their place: it has an administrator's keys
/// and a policy author's, and no others.
#[test]
fn knob_files_have_knobs_only() {
    let dir = folder();
    let suite = suite(&dir, SUITE).unwrap_or_else(|e| panic!("{e}"));
    let set = |line: &str| format!("version = 1\n[set]\n{line}\n");
    for (text, place, said) in [
        (set("\"machine.vm.swapiness\" = 1"), (3, 13), "did you mean `swappiness`?"),
        (set("\"machine.vm.swappiness\" = 201"), (3, 27), "write a whole number from 0 to 200"),
        (set("\"reclaim.ws-treshold\" = \"v5.9\""), (3, 10), "did you mean `ws-threshold`?"),
        (set("\"damon[0].min-age\" = \"1s\""), (3, 2), "`damon` has 0 entries"),
        ("version = 1\npolicy = \"mglru\"\n".to_string(), (2, 10), "unknown preset `mglru`"),
        ("version = 1\n".to_string(), (1, 1), "the knob file sets nothing"),
        (format!("{KNOBS}\"machine.vm.swappiness\" = 10\n"), (4, 1), "duplicate key"),
        (
            "version = 1\npolicy = \"random\"\n[set]\n\"reclaim.preset\" = \"random\"\n"
                .to_string(),
            (4, 1),
            "`policy` says what `reclaim.preset` says",
        ),
        (set("\"machine.vm\" = { swappiness = 1 }"), (3, 1), "is a whole table"),
        (set("machine.vm.swappiness = 1"), (3, 1), "write \"machine.vm.swappiness\" = .."),
        (set("machine = { memory = \"1GiB\" }"), (3, 1), "it is of the machine"),
        (set("damon = []\n\"damon[0]\" = {}"), (4, 1), "`damon[0]` is a whole table"),
        (SUITE.to_string(), (4, 3), "is a suite, not a knob file"),
    ] {
        let Err(e) = scored(&suite, &text, 1) else { panic!("taken:\n{text}") };
        is_told(&e, "knobs.toml", place, said);
    }
}
