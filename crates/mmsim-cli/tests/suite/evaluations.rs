//! Evaluations as their users have them, and what docs/evaluate.md shows.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Folder, repository};
use crate::tunes::{commands, of_document};

const DOCUMENT: &str = "docs/evaluate.md";

fn document() -> String {
    std::fs::read_to_string(repository(DOCUMENT)).expect(DOCUMENT)
}

/// The commands of docs/evaluate.md print what stands below them. `MMSIM_BLESS=1` rewrites that.
#[test]
fn commands_of_the_document() {
    commands(DOCUMENT, "evaluate");
}

/// The facts that the document names are those of the code, in the order of the parameters.
#[test]
fn facts_of_the_document() {
    let code = repository("crates/mmsim-score/src/facts.rs");
    let code = std::fs::read_to_string(code).expect("the facts");
    let (_, list) = code.split_once("\nfacts! {\n").expect("the list");
    let mut rows = String::from("\n| parameter | what it is |\n|---|---|\n");
    let mut doc = Vec::new();
    for line in list.lines().take_while(|l| *l != "}").map(str::trim) {
        match line.strip_prefix("/// ") {
            Some(text) => doc.push(text),
            None => {
                rows += &format!("| `{}` | {} |\n", line.trim_end_matches(';'), doc.join(" "));
                doc.clear();
            }
        }
    }
    let text = document();
    let (_, rest) = text.split_once("<!-- begin: facts -->\n").expect("the beginning");
    let (shown, _) = rest.split_once("\n<!-- end: facts -->").expect("the end");
    assert_eq!(shown, rows, "the document says otherwise");
}

/// The loop of the document finds a policy that is better than its first.
#[allow(clippy::print_stdout, reason = "whoever reads the log is to know what was not run")]
#[test]
fn the_loop_of_the_document() {
    let text = document();
    let (_, rest) = text.split_once("<!-- loop -->\n```python\n").expect("the loop");
    let (program, _) = rest.split_once("```\n").expect("its end");
    let f = of_document(&text);
    let mmsim = Path::new(env!("CARGO_BIN_EXE_mmsim")).parent().expect("its folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(mmsim.into()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).expect("a path");
    let mut python = Command::new("python3");
    python.args(["-c", program]).current_dir(f.path("")).env("PATH", path);
    let Ok(out) = python.output() else {
        println!("there is no python3: the loop was not run");
        return;
    };
    let (said, wrong) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{wrong}");
    let score = |policy: &str| {
        let said = f.mmsim(&["evaluate", "--suite", "suite.toml", "--policy", policy]);
        let line: Value = serde_json::from_str(&said.stdout).expect("JSON");
        line["evaluation"]["score"].as_f64().expect("a score")
    };
    let found = said.split_whitespace().skip_while(|w| *w != "score").nth(1);
    let found: f64 = found.and_then(|x| x.parse().ok()).expect("a score");
    // The best so far is the first candidate of each generation.
    assert!(said.starts_with("best (") && found >= score("candidate0.wat"), "{said}");
}

/// Each policy has its line, the same whoever is beside it, in any file and for any number of jobs.
#[test]
fn every_policy_has_its_line() {
    let f = of_document(&document());
    let evaluated = |args: &[&str]| {
        let said = f.mmsim(&[&["evaluate", "--suite", "suite.toml"], args].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{args:?}");
        said.stdout
    };
    let two = ["--policy", "mglru.toml", "--policy", "recent.wat"];
    let lines = evaluated(&[&two[..], &["--jobs", "1"]].concat());
    assert_eq!(lines.lines().count(), 2);
    assert_eq!(evaluated(&[&two[..], &["--jobs", "3", "--check"]].concat()), lines);
    let alone: String = two.chunks(2).map(evaluated).collect();
    assert_eq!(alone, lines);
    assert_eq!(evaluated(&[&two[..], &["-o", "scores.jsonl"]].concat()), "");
    assert_eq!(f.read("scores.jsonl"), lines);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let e = &line["evaluation"];
        assert!(e["score"].is_f64() && e["held_out"]["score"].is_f64(), "{e}");
        assert_eq!(e["scenarios"][0]["seeds"].as_array().map(Vec::len), Some(2));
    }
}

/// The suite of page caches shows what its first lines say, and the order of four policies that cache_ext's
/// paper has for point reads: S3-FIFO, the LRU, FIFO, MRU.
#[test]
#[ignore = "ten seconds; `tools/deep-check evaluate` runs it"]
fn page_caches_differ_by_their_work() {
    let f = Folder::new();
    let suite = repository("scenarios/suites/page-cache.toml").display().to_string();
    let policies = ["builtin:fifo", "builtin:mru", "builtin:lfu", "builtin:s3-fifo"];
    let mut args = vec!["evaluate", "--suite", &suite];
    policies.iter().for_each(|policy| args.extend(["--policy", policy]));
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let score = |line: &Value, name: &str| {
        let scenarios = line["evaluation"]["scenarios"].as_array().expect("scenarios");
        let found = scenarios.iter().find(|s| s["name"] == name).expect("its scenario");
        found["score"].as_f64().expect("a score")
    };
    let lines: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [fifo, mru, lfu, s3] = &lines[..] else { panic!("{lines:?}") };
    let search = |line| score(line, "search");
    assert!(search(mru) > 0.9 && [fifo, lfu, s3].iter().all(|l| search(l) < search(mru)));
    let database = |line| score(line, "database");
    assert!(database(s3) > 0.0 && database(fifo) < 0.0 && database(mru) < database(fifo));
}

/// The shipped suite takes the policies that are shipped beside it, and `guarded` is what the document
/// says of it: better in the seven workloads that it was found by, worse in the one that is held out.
/// `tools/deep-check evaluate` runs it, with all seeds.
#[test]
#[ignore = "ten seconds; `tools/deep-check evaluate` runs it"]
fn shipped_policies_have_scores() {
    let f = Folder::new();
    let folder = repository("scenarios/suites");
    let suite = folder.join("small.toml").display().to_string();
    let mut args = vec!["evaluate".to_string(), "--suite".to_string(), suite];
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let knobs = text.contains("\n[set]\n") || text.contains("\npolicy = ");
        if path.extension().is_some_and(|e| e == "wat") || knobs {
            names.push(path.file_stem().expect("a name").to_string_lossy().into_owned());
            args.extend(["--policy".to_string(), path.display().to_string()]);
        }
    }
    assert!(names.len() >= 4, "{names:?}");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for (line, name) in said.stdout.lines().zip(&names) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["evaluation"]["policy"], name.as_str());
        assert!(line["evaluation"]["score"].is_f64(), "{line}");
        let scenarios = line["evaluation"]["scenarios"].as_array().expect("scenarios");
        assert_eq!(scenarios.len(), 8);
        if name == "guarded" {
            let score = |of: &Value| of["score"].as_f64();
            let better = |of: &Value| score(of).is_some_and(|s| s > 0.0);
            assert_eq!(scenarios.iter().filter(|s| better(s)).count(), 7, "{line}");
            let program = scenarios.iter().find(|s| s["name"] == "replay-sort").expect("it");
            assert!(score(&program["held_out"]).is_some_and(|s| s < -0.5), "{program}");
        }
    }
}
