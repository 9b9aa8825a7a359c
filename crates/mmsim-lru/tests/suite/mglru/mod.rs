//! MGLRU.

mod borrowed;
mod reworked;
mod throttled;
mod twin;
mod witness;
mod worked_examples;
mod worked_examples_real;
