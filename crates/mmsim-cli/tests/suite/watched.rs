//! Watching a run changes nothing, by the program: scenarios drawn from one number, run plainly
//! and with everything that can look at a run, and the scenario that `--dry-run` prints run again.

use crate::drawn::{scenario, seeds};
use crate::harness::{Folder, Said};
use serde_json::Value;

/// Scenarios of a plain `cargo test`.
const SEEDS: u64 = 1;

/// Runs `x.toml` of the folder with these options, and reads the report; ends are compared too.
fn report(f: &Folder, file: &str, options: &[&str], what: &str) -> (Option<i32>, Value) {
    let mut args = vec!["run", file, "--format", "json", "-o", "report.json"];
    args.extend(options);
    let Said { code, stderr, .. } = f.mmsim(&args);
    // 3: a drawn machine may run out of memory.
    assert!(matches!(code, Some(0 | 3)), "{code:?} {options:?}: {stderr}\n{what}");
    let report = serde_json::from_str(&f.read("report.json"));
    (code, report.unwrap_or_else(|e| panic!("{options:?}: {e}\n{what}")))
}

/// Takes from each run what only `--why` adds.
fn without_why((code, mut report): (Option<i32>, Value)) -> (Option<i32>, Value) {
    for run in report["runs"].as_array_mut().expect("runs") {
        let why = run.as_object_mut().expect("a run").remove("why");
        assert!(why.is_some_and(|w| w["refaults"].is_u64()), "a run that was followed says so");
    }
    (code, report)
}

#[test]
fn nothing_that_looks_at_runs_changes_them() {
    for seed in seeds(SEEDS) {
        let text = scenario(seed);
        let what = format!("MMSIM_WATCHED_SEED={seed}\n{text}");
        let f = Folder::with("x.toml", &text);
        let plain = report(&f, "x.toml", &["--jobs", "1"], &what);

        let everything = "--jobs 2 --check --series s.csv --every 7ms --events e.jsonl \
            --events-limit 4MiB --html p.html --html-blocks --perfetto p.pftrace \
            --emit vmstat,zoneinfo,buddyinfo,pagetypeinfo,memory.stat,pressure,swaps,map,layout \
            --emit-dir files";
        let everything: Vec<&str> = everything.split_whitespace().collect();
        assert_eq!(report(&f, "x.toml", &everything, &what), plain, "watched: {what}");
        for name in ["s.csv", "e.jsonl", "p.html", "p.pftrace"] {
            assert!(!f.read_bytes(name).is_empty(), "{name} is empty: {what}");
        }

        let why = ["--jobs", "2", "--why", "--html", "w.html", "--html-pages"];
        assert_eq!(without_why(report(&f, "x.toml", &why, &what)), plain, "--why: {what}");

        let said = f.mmsim(&["run", "x.toml", "--dry-run"]);
        assert_eq!(said.code, Some(0), "{}: {what}", said.stderr);
        f.write("dry.toml", said.stdout);
        assert_eq!(report(&f, "dry.toml", &["--jobs", "2"], &what), plain, "--dry-run: {what}");
    }
}
