//! MGLRU.

mod borrowed;
mod reworked;
mod twin;
mod witness;
mod worked_examples;
mod worked_examples_real;
