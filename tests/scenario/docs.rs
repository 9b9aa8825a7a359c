//! docs/scenarios.md says what the key tables say. `MMSIM_BLESS=1` rewrites its tables.

use crate::harness::{repository, specs};
use mmsim::scenario::{evaluate_reference, reference, sweep_reference, tune_reference};
use mmsim_core::backing::device::DEVICE_PRESETS;

const BEGIN: &str = "<!-- begin: generated from the key tables -->\n";
const END: &str = "<!-- end: generated from the key tables -->";

#[test]
fn the_reference_is_current() {
    for (file, reference) in [
        ("scenarios", reference()),
        ("sweeps", sweep_reference()),
        ("tuning", tune_reference()),
        ("evaluate", evaluate_reference()),
    ] {
        is_current(&format!("docs/{file}.md"), &reference);
    }
}

fn is_current(file: &str, reference: &str) {
    let path = repository(file);
    let text = std::fs::read_to_string(&path).expect(file);
    let (before, rest) = text.split_once(BEGIN).expect("the marker where the tables begin");
    let (old, after) = rest.split_once(END).expect("the marker where the tables end");
    let new = format!("{reference}\n");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{new}{END}{after}")).expect("rewriting it");
    } else {
        assert_eq!(old, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn every_device_preset_is_named() {
    let text = std::fs::read_to_string(repository("docs/scenarios.md")).expect("the document");
    for d in DEVICE_PRESETS {
        assert!(text.contains(&format!("`{}`", d.0)), "{} is missing", d.0);
    }
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|b| b.split("\n```").next().unwrap_or("").to_string()).collect()
}

#[test]
fn the_example_makes_as_many_runs_as_it_says() {
    let text = std::fs::read_to_string(repository("docs/scenarios.md")).expect("the document");
    let examples = blocks(&text, "toml");
    assert_eq!(examples.len(), 1);
    assert_eq!(specs(&examples[0]).len(), 18);
}

#[test]
fn quoted_errors_are_those_of_the_tests() {
    let text = std::fs::read_to_string(repository("docs/scenarios.md")).expect("the document");
    let quoted = blocks(&text, "text");
    assert_eq!(quoted.len(), 4);
    let files =
        std::fs::read_dir(repository("tests/scenario/errors")).expect("the tests of messages");
    let cases: Vec<String> = files
        .map(|f| std::fs::read_to_string(f.expect("an entry").path()).expect("one of them"))
        .collect();
    for q in quoted {
        assert!(cases.iter().any(|c| c.contains(&q)), "no test has\n{q}");
    }
}
