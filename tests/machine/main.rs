//! The machine, one mechanism at a time: small scripts with exact counters.

mod faults;
mod groups;
mod support;
mod swap;
mod time;
