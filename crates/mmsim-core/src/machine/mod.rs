//! The machine: CPUs, threads, kswapd and the event queue around one `Memory`.

pub mod config;
pub mod cost;
pub mod result;
