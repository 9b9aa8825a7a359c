//! Formats that are read and written beside scenarios: traces, records of DAMON, events, reports.

mod bench_trace;
mod contents;
mod damon_args;
mod damon_records;
mod groups;
#[path = "../harness/mod.rs"]
#[allow(dead_code, reason = "all test programs here share it")]
mod harness;
mod observing_docs;
mod report_schema;
mod system;
