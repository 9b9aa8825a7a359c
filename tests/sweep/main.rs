//! Sweeps: plans, names of units, stores that outlive anything, merges.

mod asked;
mod cost;
mod evaluations;
#[path = "../harness/mod.rs"]
#[allow(dead_code, reason = "all test programs here share it")]
mod harness;
mod mangled;
mod names;
mod plans;
mod resumed;
mod stores;
mod support;
mod tuning;
