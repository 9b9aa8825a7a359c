//! DAMON's tracepoints as `perf script` prints them. What is accepted is the same when it is written
//! in both forms and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::record::{damo, perf};

fuzz_target!(|text: &str| {
    match perf::read(text, "x") {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(records) => {
            assert_eq!(damo::read(&damo::write(&records), "x").as_ref(), Ok(&records));
            let _ = perf::read(&perf::write(&records), "x");
        }
    }
});
