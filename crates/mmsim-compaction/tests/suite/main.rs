//! Compaction, against a model of cells, worked examples and witnesses.

mod harness;
mod model;
mod twin;
mod witness;
mod worked_examples;
