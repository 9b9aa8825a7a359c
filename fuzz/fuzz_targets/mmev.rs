//! Files of events: the bytes as they are, and with all digests made right. Whatever is read becomes
//! lines of JSON, each of one event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::events::{EventReader, Step};

fuzz_target!(|data: &[u8]| {
    read(data);
    read(&mmsim_fuzz::sealed(data, b"MMEV\r\n\x1a\n\x01\0\0\0"));
});

fn read(data: &[u8]) {
    let Ok(mut reader) = EventReader::new(data) else { return };
    let mut line = Vec::new();
    loop {
        match reader.advance() {
            Err(e) => return assert!(!e.to_string().is_empty()),
            Ok(Step::End) => return,
            Ok(Step::Run) => assert!(reader.run().threads.len() <= data.len()),
            Ok(Step::Event) => {
                line.clear();
                reader.event().write_line(&mut line);
                let ends = line.starts_with(b"{\"t_ns\":") && line.ends_with(b"}\n");
                assert!(ends && line.iter().filter(|&&b| b == b'\n').count() == 1);
            }
        }
    }
}
