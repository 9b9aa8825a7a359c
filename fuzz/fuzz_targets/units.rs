//! Sizes, durations and rates: the input as the value of a key of each kind. What is
//! accepted is written out and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::Scenario;

const BASE: &str = include_str!("../seeds/scenario/one.toml");

fuzz_target!(|text: &str| {
    let base = Scenario::from_str(BASE, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let keys = [
        "machine.memory",
        "machine.tick",
        "machine.swap.size",
        "machine.cost.t_hit",
        "machine.memcg[0].high",
        "machine.file-device.bandwidth",
        "task[0].accesses",
        "task[0].theta",
    ];
    for key in keys {
        match base.clone().with_sets(&[(key.to_string(), text.to_string())]) {
            Err(e) => mmsim_fuzz::rendered(&e),
            Ok(s) => mmsim_fuzz::resolves(&s),
        }
    }
});
