//! Formats that are read and written beside scenarios: traces, records of DAMON, events, reports.

mod bench_trace;
mod damon_args;
mod damon_records;
mod observing_docs;
mod report_schema;
mod system;
