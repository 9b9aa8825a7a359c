//! Pictures hold the numbers of their reports.

mod page;
mod sweep;
mod unpack;
