//! Scenario files: what is read, what is refused and how, and what the shipped ones show.

mod compare;
mod docs;
mod errors;
mod expand;
mod expect;
mod fuzz;
mod harness;
mod laws;
mod miniature;
mod ranges;
mod schema;
mod shipped;
