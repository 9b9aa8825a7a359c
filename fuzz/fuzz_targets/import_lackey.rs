//! The memory trace of valgrind's lackey.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{ImportFormat, ImportOptions};

fuzz_target!(|data: &[u8]| {
    let options = ImportOptions { level: 0, tick: 1, ..ImportOptions::default() };
    mmsim_fuzz::imports(ImportFormat::Lackey, data, &options);
    let options = ImportOptions { level: 0, window: 0, fetches: false, ..options };
    mmsim_fuzz::imports(ImportFormat::Lackey, data, &options);
});
