//! The classic LRU.

mod drawn;
mod lazyfree;
mod model;
mod pool;
mod twin;
mod witness;
mod worked_examples;
mod worked_examples_real;
