//! `--set`: each line of the input is `key=value`, put onto a small scenario one after the
//! other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::Scenario;

const BASE: &str = include_str!("../seeds/scenario/small.toml");

fuzz_target!(|text: &str| {
    let set = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.to_string(), value.to_string()))
    };
    let sets: Vec<(String, String)> = text.lines().filter_map(set).collect();
    let base = Scenario::from_str(BASE, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    match base.with_sets(&sets) {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(s) => mmsim_fuzz::resolves(&s),
    }
});
