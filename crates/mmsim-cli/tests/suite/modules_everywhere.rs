//! Modules of cache_ext in every command that runs machines: the same results for any number of jobs,
//! results in stores that are known by the bytes of the module, and errors before anything is written.

use std::path::PathBuf;

use serde_json::Value;

use crate::golden::Golden;
use crate::harness::{Folder, Said};

/// A module of mmsim-ext.
fn module(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mmsim-ext").join(path)
}

const SCENARIO: &str = "\
[machine]
memory = \"64MiB\"
[[machine.memcg]]
name = \"search\"
max = \"2MiB\"
cache-ext = { module = \"mru.wasm\", watch = [\"search*\"] }
[reclaim]
preset = \"classic-v6.6\"
[[task]]
name = \"search\"
workload = \"cyclic\"
memcg = \"search\"
memory = \"3MiB\"
region = \"read\"
passes = 4
";

const SWEEP: &str = "\
version = 1
scenarios = [\"s.toml\"]
[axes]
\"machine.memcg[0].cache-ext.module\" = [\"mru.wasm\", \"other.wasm\", \"builtin:fifo\"]
";

const TUNE: &str = "\
version = 1
scenario = \"s.toml\"
budget = 12
population = 4
seeds = 2
held-out = 2
[knobs]
\"machine.memcg[0].cache-ext.module\" = [\"mru.wasm\", \"other.wasm\"]
[[objective]]
figure = \"pgmajfault\"
goal = \"min\"
";

const SUITE: &str = "\
version = 1
seeds = 2
held-out = 1
[[scenario]]
file = \"lru.toml\"
";

/// A folder with the scenario and two modules.
fn folder() -> Folder {
    let f = Folder::new();
    f.write("s.toml", SCENARIO);
    f.write("lru.toml", SCENARIO.replace("cache-ext = {", "# "));
    f.write("sweep.toml", SWEEP);
    f.write("tune.toml", TUNE);
    f.write("suite.toml", SUITE);
    put(&f, "policies/mru.wasm", "mru.wasm");
    put(&f, "policies/fifo.wasm", "other.wasm");
    f
}

fn put(f: &Folder, from: &str, to: &str) {
    std::fs::copy(module(from), f.path(to)).expect("a module is copied");
}

fn done(f: &Folder, words: &[&str]) -> Said {
    let said = f.mmsim(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said
}

/// Each command has the same output for one job and for two, and the module did what it does.
#[test]
fn jobs_make_no_difference() {
    let f = folder();
    let curve: &[&str] = &[
        "curve",
        "s.toml",
        "--axis",
        "machine.memcg[0].max",
        "--memory",
        "100%,200%",
        "--format",
        "csv",
    ];
    let commands: [&[&str]; 4] = [
        curve,
        &["tune", "tune.toml", "--format", "json"],
        &["evaluate", "--suite", "suite.toml", "--policy", "mru.wasm", "--policy", "builtin:mru"],
        &[
            "ablate",
            "s.toml",
            "--switch",
            "machine.memcg[0].cache-ext.module=other.wasm",
            "--figure",
            "refaults",
            "--format",
            "json",
        ],
    ];
    for words in commands {
        let with = |jobs: &str| done(&f, &[words, &["--jobs", jobs]].concat()).stdout;
        let one = with("1");
        assert_eq!(one, with("2"), "{words:?}");
        if words[0] == "evaluate" {
            let lines: Vec<Value> =
                one.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
            let (module, native) = (&lines[0]["evaluation"], &lines[1]["evaluation"]);
            // A scan that does not fit: it keeps the beginning, and the LRU nothing.
            assert!(module["score"].as_f64().expect("a score") > 0.5, "{module}");
            assert_eq!(module["scenarios"], native["scenarios"]);
            assert!(module["cost"]["fuel"].as_u64().expect("a number") > 1000);
            assert!(module["cache_ext"]["evicted"].as_u64() > Some(500), "{module}");
        }
    }
}

/// A sweep over modules: each file is a run of its own, and one that changed is another run.
#[test]
fn sweeps_know_modules_by_their_bytes() {
    let f = folder();
    let sweep = |store: &str, jobs: &str| {
        done(&f, &["sweep", "sweep.toml", "--store", store, "--jobs", jobs])
    };
    sweep("one", "1");
    sweep("two", "2");
    let merged = |store: &str| {
        done(&f, &["sweep", "merge", "sweep.toml", "--store", store, "--format", "json"]).stdout
    };
    assert_eq!(merged("one"), merged("two"));
    let report: Value = serde_json::from_str(&merged("one")).expect("JSON");
    let evicted = |i: usize| report["runs"][i]["cache_ext"][0]["evicted"].as_u64();
    assert!((0..3).all(|i| evicted(i) > Some(200)), "{report}");
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(3));
    // Nothing has changed, then one module has.
    assert!(sweep("one", "1").stderr.contains("3 units are done, 0 of them now"));
    put(&f, "policies/lfu.wasm", "other.wasm");
    assert!(sweep("one", "1").stderr.contains("3 units are done, 1 of them now"));
    // Its place says nothing.
    put(&f, "policies/mru.wasm", "other.wasm");
    assert!(sweep("two", "1").stderr.contains("2 units are done, 0 of them now"));
}

/// Whatever is wrong with a module is one error at its place, and no store is begun.
#[test]
fn errors_come_before_anything_is_written() {
    let f = folder();
    put(&f, "tests/modules/hostile.wasm", "hostile.wasm");
    let golden = Golden::of("modules");
    let ext = "cache-ext = { module = \"mru.wasm\", watch = [\"search*\"] }";
    for (name, instead) in [
        ("no-file", "cache-ext = { module = \"gone.wasm\" }"),
        ("no-module", "cache-ext = { module = \"s.toml\" }"),
        ("no-global", "cache-ext = { module = \"mru.wasm\", set = { depth = 3 } }"),
        ("no-text", "cache-ext = { module = \"hostile.wasm\", set = { how = \"7\" } }"),
        ("init-refuses", "cache-ext = { module = \"hostile.wasm\", set = { how = 7 } }"),
        ("no-watched-file", "cache-ext = { module = \"mru.wasm\", watch = [\"tree\"] }"),
        ("no-builtin", "cache-ext = { module = \"builtin:lru\" }"),
    ] {
        f.write("s.toml", SCENARIO.replace(ext, instead));
        f.write("sweep.toml", "version = 1\nscenarios = [\"s.toml\"]\nseeds = 2\n");
        let said = f.mmsim(&["sweep", "sweep.toml", "--store", "store"]);
        golden.is(name, &said);
        assert!(!f.path("store").exists(), "{name}: a store was begun");
        let switch = "machine.vm.swappiness=10";
        let other = f.mmsim(&["ablate", "s.toml", "--switch", switch, "--store", "store"]);
        assert_eq!(other.stderr, said.stderr, "{name}");
        assert!(!f.path("store").exists(), "{name}: a store was begun");
    }
    // On an axis the place is that of the value, and of the option with `--policy`.
    f.write("s.toml", SCENARIO);
    f.write("sweep.toml", SWEEP.replace("other.wasm", "lost.wasm"));
    golden.is("axis", &f.mmsim(&["sweep", "sweep.toml", "--store", "store"]));
    let suite = ["evaluate", "--suite", "suite.toml", "--store", "store", "--policy"];
    golden.is("no-group", &f.mmsim(&[&suite[..], &["other=builtin:mru"]].concat()));
    golden.is("no-policy", &f.mmsim(&[&suite[..], &["builtin:lru"]].concat()));
    f.write("suite.toml", format!("{SUITE}set = {{ reclaim.preset = \"mglru-v6.12\" }}\n"));
    golden.is("not-asked", &f.mmsim(&[&suite[..], &["builtin:mru"]].concat()));
    assert!(!f.path("store").exists(), "a store was begun");
}

/// A file that is read in order is read ahead, so hardly any read misses; the curve says where to look.
#[test]
fn readahead_hides_what_comes_back() {
    let f = folder();
    let curve = |by: &str| {
        let size = ["curve", "lru.toml", "--axis", "machine.memcg[0].max", "--memory", "100%,200%"];
        done(&f, &[&size[..], &["--by", by]].concat()).stderr
    };
    let said = "pages came back for each miss; `--by refaults` counts them all";
    assert!(curve("miss-ratio").contains(said));
    assert!(!curve("refaults").contains(said));
}

/// `{}` takes away what a table has.
#[test]
fn an_empty_table_takes_axes_away() {
    let f = folder();
    f.write("axes.toml", format!("{SCENARIO}[axes]\n\"task[0].passes\" = [2, 3]\n"));
    let curve = |more: &[&str]| {
        let words = ["curve", "axes.toml", "--memory", "100%", "--format", "csv"];
        f.mmsim(&[&words[..], more].concat())
    };
    assert_eq!(curve(&[]).code, Some(2));
    let said = curve(&["--set", "axes={}"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}
