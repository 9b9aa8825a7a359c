//! Arguments of damo. What is accepted is tables of TOML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::record::kdamonds::import;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(e) = import(text, "x", &["work".to_string()]) {
        mmsim_fuzz::rendered(&e);
    }
});
