//! Compaction, against a model of cells, worked examples and witnesses.

mod harness;
#[path = "../../../mmsim-core/tests/suite/harness.rs"]
mod lists;
mod model;
mod twin;
mod witness;
mod worked_examples;
