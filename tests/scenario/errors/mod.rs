//! Every mistake in a scenario file has its message, with the place and what to write
//! instead. The messages are compared as a whole.
//!
//! The cases are in files by the part of the scenario that the mistake is in.

// The file, and any value in it.
mod files;
mod values;
// Its parts.
mod machine;
mod policy;
mod tasks;
// Tasks with many keys of their own.
mod apps;
mod kernel_build;
mod phased;
mod reader;
// What changes a scenario or makes several runs of it.
mod runs;
// The same cases before a JSON Schema.
mod schema;

use crate::harness::Names;
use mmsim::{Error, Scenario};

/// A file, perhaps options, and the message.
struct Case {
    name: &'static str,
    text: &'static str,
    sets: &'static [(&'static str, &'static str)],
    message: &'static str,
}

/// The cases of all files.
fn cases() -> impl Iterator<Item = &'static Case> {
    let all = [
        files::CASES,
        values::CASES,
        machine::CASES,
        policy::CASES,
        tasks::CASES,
        apps::CASES,
        kernel_build::CASES,
        phased::CASES,
        reader::CASES,
        runs::CASES,
    ];
    all.into_iter().flatten()
}

fn error_of(text: &str, sets: &[(&str, &str)]) -> Error {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    match Scenario::from_str(text, "x.toml").and_then(|s| s.with_sets(&sets)?.expand(&Names)) {
        Ok(runs) => panic!("accepted as {} runs:\n{text}", runs.len()),
        Err(e) => e,
    }
}

#[test]
fn messages_are_exact() {
    for c in cases() {
        let e = error_of(c.text, c.sets);
        assert_eq!(e.to_string(), c.message, "in case {}", c.name);
        assert_eq!(e.kind().exit_code(), 2);
    }
}

#[test]
fn every_message_has_a_place_or_says_what_is_missing() {
    for c in cases() {
        let e = error_of(c.text, c.sets);
        assert!(e.position().is_some(), "{} has no place", c.name);
    }
}
