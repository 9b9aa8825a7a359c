//! Scenario files: whatever the text, an error with its place, or runs that the resolved
//! form gives again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::Scenario;

fuzz_target!(|text: &str| {
    match Scenario::from_str(text, "x.toml") {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(s) => mmsim_fuzz::resolves(&s),
    }
});
