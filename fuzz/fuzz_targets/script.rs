//! Command lists of recorded experiments, a command a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::script::Script;

fuzz_target!(|text: &str| {
    let lines: Vec<&str> = text.lines().collect();
    match Script::parse(&lines) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(script) => {
            if let Ok(mut w) = script.workload() {
                mmsim_fuzz::begins(&mut w, 20);
            }
        }
    }
});
