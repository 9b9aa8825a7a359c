//! Scenario files: what is read, what is refused and how, and what the shipped ones show.

mod compare;
mod docs;
mod errors;
mod expand;
mod expect;
mod fuzz;
#[path = "../harness/mod.rs"]
#[allow(dead_code, reason = "all test programs here share it")]
mod harness;
mod laws;
mod miniature;
mod ranges;
mod schema;
mod shipped;
mod validator;
