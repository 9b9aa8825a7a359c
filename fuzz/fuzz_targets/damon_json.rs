//! damo's records, plain or compressed. What is accepted is the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::record::{damo, read};

fuzz_target!(|data: &[u8]| {
    match read(data, "x") {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(records) => {
            assert_eq!(damo::read(&damo::write(&records), "x"), Ok(records));
        }
    }
});
