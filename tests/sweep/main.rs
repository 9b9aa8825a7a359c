//! Sweeps: plans, names of units, stores that outlive anything, merges.

mod asked;
mod cost;
mod evaluations;
mod mangled;
mod names;
mod plans;
mod resumed;
mod stores;
mod support;
mod tuning;
