//! Lists of pages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{ImportFormat, ImportOptions};

fuzz_target!(|data: &[u8]| {
    let options = ImportOptions { level: 0, ..ImportOptions::default() };
    mmsim_fuzz::imports(ImportFormat::Pages, data, &options);
});
