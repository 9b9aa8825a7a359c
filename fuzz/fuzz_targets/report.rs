//! Reports, read for `mmsim compare`: what is read is written as the same, and compares with
//! itself without a difference. After a line of `----` a second report may follow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim::report::Report;
use mmsim::report::compare::{Options, Side, compare};

fuzz_target!(|text: &str| {
    let (a, b) = text.split_once("\n----\n").unwrap_or((text, text));
    let read = |text: &str, name: &str| match Report::read(text, name) {
        Ok(report) => Some(report),
        Err(e) => {
            mmsim_fuzz::rendered(&e);
            None
        }
    };
    let (Some(a), Some(b)) = (read(a, "a.json"), read(b, "b.json")) else { return };
    assert!(Report::read(&a.to_json(), "again.json").as_ref() == Ok(&a));
    for per_work in [false, true] {
        let mut options = Options::default();
        options.per_work = per_work;
        match compare(Side::new("a", &a), Side::new("b", &b), options) {
            Err(e) => mmsim_fuzz::rendered(&e),
            Ok(c) => {
                assert!(!c.to_json().is_empty());
                assert!(!c.to_csv().is_empty());
            }
        }
    }
});
