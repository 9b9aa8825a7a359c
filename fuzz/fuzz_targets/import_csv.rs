//! Comma-separated values. The first line is `--columns` where it begins with `@`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mmsim_workload::trace::{ImportFormat, ImportOptions, Like};

fuzz_target!(|data: &[u8]| {
    let mut options = ImportOptions { level: 0, ..ImportOptions::default() };
    let mut input = data;
    if let Some(rest) = data.strip_prefix(b"@") {
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let Ok(columns) = std::str::from_utf8(&rest[..end]) else { return };
        options.columns = Some(columns.to_string());
        input = &rest[(end + 1).min(rest.len())..];
    }
    mmsim_fuzz::imports(ImportFormat::Csv, input, &options);
    let options = ImportOptions { dense: true, page_size: 1, time_unit_ns: Some(1000), ..options };
    mmsim_fuzz::imports(ImportFormat::Csv, input, &options);
    let sorted = ImportOptions { sort: true, fill: true, ..options };
    mmsim_fuzz::imports(ImportFormat::Csv, input, &sorted);
    for like in Like::ALL {
        let options = ImportOptions { like: Like::named(like.name), ..ImportOptions::default() };
        mmsim_fuzz::imports(ImportFormat::Csv, data, &options);
    }
});
