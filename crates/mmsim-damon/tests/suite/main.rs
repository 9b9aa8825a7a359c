//! DAMON, against a plain model, vectors of the kernel's tests, worked examples and witnesses.

mod context;
mod harness;
mod invariants;
mod kernel_vectors;
mod later;
mod model;
mod text;
mod twin;
mod witness;
mod worked_examples;
