//! Configuration files of masim, and the beginning of what they do.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::masim::{MasimConfig, MasimOptions, Mode};

fuzz_target!(|text: &str| {
    match MasimConfig::parse(text) {
        Err(e) => {
            assert!(!e.what.is_empty() && !e.instead.is_empty());
            assert!(text.get(e.span.clone()).is_some(), "{:?}", e.span);
            assert!(e.line > 0 && e.column > 0);
        }
        Ok(config) => {
            let options = MasimOptions {
                repeat: 2,
                mode: Mode::ReadWrite,
                batch: 100,
                hugetlb: false,
                number_bytes: 4,
            };
            mmsim_fuzz::begins(&mut config.workload(options), 20);
        }
    }
});
