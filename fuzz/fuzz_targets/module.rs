//! Policies of the page cache in WebAssembly: read, checked, and set up. Debug information, names, imports
//! and exports can be anything; what is refused has a message, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::policy::chooser::ChooserOptions;
use mmsim_ext::{Module, chooser, contents};

fuzz_target!(|data: &[u8]| {
    match Module::from_bytes(data, "m.wasm") {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(module) => {
            let _ = contents(&module);
            if let Err(e) = chooser(&module, &ChooserOptions::default()) {
                mmsim_fuzz::rendered(&e);
            }
        }
    }
});
