//! The memory map of a traced process.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{ImportFormat, ImportOptions};

const TRACE: &[u8] = include_bytes!("../seeds/import_lackey/small");

fuzz_target!(|text: &str| {
    let options =
        ImportOptions { level: 0, maps: Some(text.to_string()), ..ImportOptions::default() };
    mmsim_fuzz::imports(ImportFormat::Lackey, TRACE, &options);
});
