//! MGLRU.

mod twin;
mod witness;
mod worked_examples;
