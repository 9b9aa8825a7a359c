//! Sequences of pages of cache simulators. The first byte says which format, and whether
//! numbers are names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{RequestFormat, RequestWorkload, Requests, TraceInfo, import_requests};

fuzz_target!(|data: &[u8]| {
    let Some((&how, bytes)) = data.split_first() else { return };
    let format = RequestFormat::ALL[usize::from(how >> 1) % 3];
    let dense = how & 1 == 1;
    let path = std::env::temp_dir().join(format!("mmsim-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("writing a file");
    let mut out = Vec::new();
    let imported = import_requests(&path, format, dense, "p", 0, &mut out);
    match Requests::open(&path, format, dense) {
        Err(e) => assert!(!e.to_string().is_empty() && imported.is_err()),
        Ok(requests) => {
            let summary = imported.expect("importing what could be opened");
            let info = TraceInfo::read(&out[..], out.len() as u64).expect("reading the trace");
            assert_eq!((info.records, info.accesses), (summary.records, summary.accesses_kept));
            assert_eq!(info.distinct_pages, requests.distinct_pages());
            let mut w = RequestWorkload::new(requests, 100).expect("replaying what was opened");
            mmsim_fuzz::begins(&mut w, 10);
        }
    }
});
