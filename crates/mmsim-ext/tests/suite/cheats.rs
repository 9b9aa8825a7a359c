//! Cheats that a search for a policy would try. Each is worth nothing, or the line of its evaluation says
//! what it did.

use std::path::Path;

use mmsim::base::rng::Rng;
use mmsim::evaluate::{Candidate, Evaluation, Evaluator, KnobFile, Suite, check};
use mmsim::report::RunReport;
use mmsim::scenario::GroupPolicy;
use mmsim::{Error, RunError, RunOptions, Runner, Scenario, machines, registry};
use mmsim_ext::modules;
use tempfile::TempDir;

/// A scan that comes again and does not fit, beside reads of which some are popular.
const SCENARIO: &str = "\
name = \"s\"
[machine]
memory = \"32MiB\"
kernel = \"6.6\"
[reclaim]
preset = \"classic-v6.6\"
[[machine.memcg]]
name = \"g\"
max = \"1MiB\"
[[task]]
name = \"scan\"
memcg = \"g\"
workload = \"cyclic\"
memory = \"1536KiB\"
region = \"read\"
passes = 4
[[task]]
name = \"reads\"
memcg = \"g\"
workload = \"zipf\"
memory = \"1MiB\"
region = \"read\"
accesses = 500
";

const SUITE: &str = "version = 1\nseeds = 2\nheld-out = 1\n[[scenario]]\nfile = \"s.toml\"\n";

fn shipped(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

fn suite(scenario: &str) -> (TempDir, Suite) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.toml"), scenario).expect("a scenario");
    let name = folder.path().join("suite.toml").display().to_string();
    let suite = Suite::from_str(SUITE, &name).unwrap_or_else(|e| panic!("{e}"));
    (folder, suite)
}

fn options() -> RunOptions {
    RunOptions::default().with_registry(registry().with_choosers(modules()))
}

/// A candidate with globals: `how = 1, known_a = 7`.
fn cheat(set: &str) -> KnobFile {
    let module = shipped("tests/modules/cheats.wasm");
    let value = format!("{{ module = \"{module}\", set = {{ {set} }} }}");
    let text = format!("version = 1\n[set]\n\"machine.memcg[0].cache-ext\" = {value}\n");
    KnobFile::from_str(&text, "cheat.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn evaluated(suite: &Suite, knobs: &KnobFile) -> Result<Evaluation, RunError> {
    let candidate = Candidate::Knobs(knobs);
    check(suite, &candidate, &options().registry)?;
    Evaluator::new(suite, Runner::new(&options()))?.evaluate(&candidate)
}

/// Offers that cannot go, or none, leave everything to the LRU, which evicts the same pages as without.
/// A look at an offer may empty a batch of the LRU early, which moves single pages.
#[test]
fn what_offers_nothing_gains_nothing() {
    let (_folder, suite) = suite(SCENARIO);
    for (how, refused, most) in [(1, false, 0.0), (3, true, 0.01), (4, true, 0.01)] {
        let e = evaluated(&suite, &cheat(&format!("how = {how}"))).expect("an evaluation");
        let (offers, score) = (e.cache_ext.expect("offers"), e.own.score.expect("a score"));
        assert!(score.mean.abs() <= most, "{how}: {e:?}");
        assert_eq!((offers.evicted, offers.refused > 0), (0, refused), "{how}: {offers:?}");
        assert!(offers.fallback > 1000 && e.unfinished.is_empty(), "{how}: {e:?}");
    }
}

/// One folio 32 times is one folio.
#[test]
fn a_folio_that_is_offered_often_goes_once() {
    let (_folder, suite) = suite(SCENARIO);
    let e = evaluated(&suite, &cheat("how = 5")).expect("an evaluation");
    let offers = e.cache_ext.expect("offers");
    assert_eq!(offers.offered, 32 * offers.asks, "{offers:?}");
    assert!((1..=offers.asks).contains(&offers.evicted), "{offers:?}");
    assert_eq!(offers.refused, offers.offered - offers.evicted);
}

/// A policy that was detached has no score, whatever the LRU made of the rest.
#[test]
fn a_trap_is_no_way_out() {
    let (_folder, suite) = suite(SCENARIO);
    let e = evaluated(&suite, &cheat("how = 2")).expect("an evaluation");
    assert_eq!((e.own.score, e.held_out.score), (None, None));
    assert_eq!(e.unfinished.len(), 3, "{e:?}");
    for (line, seed) in e.unfinished.iter().zip(1..) {
        let said =
            format!("s, seed {seed}: the policy was detached: `cheats`, `evict_folios` traps");
        assert!(line.starts_with(&said) && line.contains("(call 41"), "{line}");
    }
}

/// Memory and instructions buy nothing, and the line says how many there were.
#[test]
fn what_is_wasted_is_counted() {
    let (_folder, suite) = suite(SCENARIO);
    let lean = evaluated(&suite, &cheat("how = 0")).expect("an evaluation");
    let greedy = evaluated(&suite, &cheat("how = 6")).expect("an evaluation");
    assert_eq!(greedy.scenarios, lean.scenarios);
    let busy = evaluated(&suite, &cheat("how = 7")).expect("an evaluation");
    assert_eq!(busy.scenarios, lean.scenarios);
    assert_eq!((lean.cost.calls, lean.cost.runs), (busy.cost.calls, 3));
    let asks = busy.cache_ext.expect("offers").asks;
    assert!(busy.cost.fuel >= lean.cost.fuel + 1000 * asks, "{:?}", busy.cost);
}

/// A policy that knows single seeds is worth nothing with those that are held out, and the line says so.
#[test]
fn seeds_that_are_learnt_show() {
    let (scan, _) = SCENARIO.split_once("[[task]]\nname = \"reads\"").expect("two tasks");
    let (_folder, suite) = suite(scan);
    let first = |seed| (Rng::for_purpose(seed, "cache-ext/g").next_u64() >> 32) as u32;
    let known = format!("how = 8, known_a = {}, known_b = {}", first(1), first(2));
    let e = evaluated(&suite, &cheat(&known)).expect("an evaluation");
    let (own, held_out) = (e.own.score.expect("a score"), e.held_out.score.expect("a score"));
    assert!(own.mean > 0.5 && held_out.mean <= 0.0, "{own:?} {held_out:?}");
    assert_eq!(e.scenarios[0].holds, Some(false), "{e:?}");
}

/// A map of any size is refused before a run.
#[test]
fn large_maps_are_refused() {
    let (_folder, suite) = suite(SCENARIO);
    let module = shipped("policies/s3fifo.wasm");
    let value =
        format!("{{ module = \"{module}\", maps = {{ ghosts = {{ entries = 20000000 }} }} }}");
    let text = format!("version = 1\n[set]\n\"machine.memcg[g].cache-ext\" = {value}\n");
    let knobs = KnobFile::from_str(&text, "k.toml").unwrap_or_else(|e| panic!("{e}"));
    let error = check(&suite, &Candidate::Knobs(&knobs), &options().registry);
    let error: Error = error.expect_err("it is refused");
    assert!(error.to_string().contains("more than 16 Mi elements in all"), "{error}");
    assert!(error.position().is_some(), "{error}");
}

/// Half of the reads, or all of them.
fn reads(module: &str, parts: u64) -> RunReport {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    std::fs::write(&path, SCENARIO).expect("a scenario");
    let set = |key: &str, value: String| (key.to_string(), value);
    let task = format!(
        "[{{ name = \"reads\", memcg = \"g\", workload = \"zipf\", memory = \"2MiB\", \
         region = \"read\", accesses = {}, windows = {parts} }}]",
        2000 * parts
    );
    let sets = [set("task", task), set("machine.memcg[0].cache-ext.module", format!("{module:?}"))];
    let scenario = Scenario::load(&path, &sets).unwrap_or_else(|e| panic!("{e}"));
    let specs = machines::specs_of(&scenario, &options().registry);
    let specs = specs.unwrap_or_else(|e| panic!("{e}"));
    let runs = Runner::new(&options()).run(specs).unwrap_or_else(|e| panic!("{e}"));
    runs.into_iter().next().expect("one run")
}

/// No policy knows the future: where the work goes on, each policy has done the same until then as where
/// it ends.
#[test]
fn no_policy_knows_what_comes() {
    for name in ["fifo", "lfu", "mru", "s3fifo", "sieve"] {
        let module = shipped(&format!("policies/{name}.wasm"));
        let (half, all) = (reads(&module, 1), reads(&module, 2));
        let (first, last) = (&half.phases[0].vmstat, &all.phases[0].vmstat);
        assert_eq!(first, last, "{name}");
        assert!(half.cache_ext[0].evicted > 300, "{name}");
    }
}

/// Several groups have the policy each, with lists of their own; and a group that no scenario has is
/// an error.
#[test]
fn each_group_with_a_limit_has_it() {
    let two = SCENARIO.replace(
        "[[task]]\nname = \"reads\"\nmemcg = \"g\"",
        "\
[[machine.memcg]]\nname = \"h\"\nmax = \"512KiB\"\n[[task]]\nname = \"reads\"\nmemcg = \"h\"",
    );
    let (_folder, suite) = suite(&two);
    let policy = |group: Option<&str>, module: &str| GroupPolicy {
        group: group.map(str::to_string),
        module: module.to_string(),
        variant: "p".to_string(),
    };
    let evaluator = Evaluator::new(&suite, Runner::new(&options())).expect("baselines");
    let score = |group, module: &str| {
        let policy = policy(group, module);
        let e = evaluator.evaluate(&Candidate::Chooser(&policy)).expect("an evaluation");
        (e.cache_ext.expect("offers"), e.scenarios)
    };
    let module = shipped("policies/mru.wasm");
    let ((both, of_both), (one, of_one)) = (score(None, &module), score(Some("g"), &module));
    assert!(both.asks > one.asks && one.asks > 0 && of_both != of_one);
    // The chooser in Rust of the same rules has the same scores.
    assert_eq!(score(None, "builtin:mru").1, of_both);
    let lost = policy(Some("x"), &module);
    let error = check(&suite, &Candidate::Chooser(&lost), &options().registry);
    assert!(error.expect_err("it is refused").to_string().contains("no group `x`"));
}
