//! Files of recorded experiments, and the machines of their points where these are small.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_lab::validate::machine;
use mmsim_lab::validate::point::Experiment;

fuzz_target!(|text: &str| {
    let Ok(e) = Experiment::from_json(text) else { return };
    for p in &e.points {
        let pages: u64 = p.zones_at_start.values().map(|z| u64::from(z.managed)).sum();
        let cpus = p.vm.get("cpus").and_then(|c| c.as_u64()).unwrap_or(1);
        for repetition in 0..p.repetitions.min(2) {
            p.script_of(repetition);
            if pages < 1 << 16 && cpus <= 64 {
                let _ = machine(p, repetition);
            }
        }
    }
});
