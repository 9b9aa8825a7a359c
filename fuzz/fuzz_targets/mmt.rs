//! Traces: the bytes as they are, and with all digests made right. Reading, the summary, the
//! first records as text and the replay agree on whether a trace is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{
    Head, ReplayMode, ReplayOptions, Think, Trace, TraceInfo, TraceReader, TraceWorkload,
};

fuzz_target!(|data: &[u8]| {
    read(data);
    read(&mmsim_fuzz::sealed(data, b"MMT\r\n\x1a\n\0\x02\0\0\0"));
});

fn read(data: &[u8]) {
    let whole = (|| {
        let mut reader = TraceReader::new(data)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {}
        Ok::<_, mmsim_workload::trace::TraceError>(())
    })();
    let info = TraceInfo::read(data, data.len() as u64);
    assert_eq!(whole.is_ok(), info.is_ok());
    if let Ok(head) = Head::new(data, 100) {
        head.for_each(|line| assert!(line.map_or(true, |l| !l.is_empty())));
    }
    let Ok(trace) = Trace::from_bytes(data) else {
        assert!(info.is_err());
        return;
    };
    for mode in [ReplayMode::Recorded, ReplayMode::Closed, ReplayMode::Arrivals] {
        let options = ReplayOptions { repeat: 2, think: Think::Scaled { per_mille: 1500 }, mode };
        if let Ok(mut w) = TraceWorkload::new(trace.clone(), 0, options) {
            mmsim_fuzz::begins(&mut w, 10);
        }
    }
}
