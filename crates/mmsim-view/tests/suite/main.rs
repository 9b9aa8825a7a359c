//! Pictures hold the numbers of their reports.

mod page;
mod recorded;
mod sweep;
mod unpack;
