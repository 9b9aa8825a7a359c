//! The model against what is known otherwise: closed formulas, published figures, recorded kernels.

mod accuracy;
mod anchors;
mod async_reclaim;
mod booted;
mod calibration;
mod cli;
mod decisions;
#[path = "../../../mmsim-cli/tests/suite/documents.rs"]
#[allow(dead_code, reason = "the tests of mmsim use all of it")]
mod documents;
mod ebizzy;
mod errors;
mod facts;
mod fuzz_seeds;
#[path = "../../../mmsim-cli/tests/suite/golden.rs"]
mod golden;
mod guests;
#[path = "../../../mmsim-cli/tests/suite/harness.rs"]
#[allow(dead_code, reason = "the tests of mmsim use all of it")]
mod harness;
mod killers;
mod readme;
mod record;
mod shmem;
mod trees;
mod uncached;
mod why;
mod zswap;

/// The folder of the repository.
fn root() -> &'static std::path::Path {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Beginnings of a command of this program in documents: from the tree, or installed.
const COMMANDS: [&str; 2] = ["cargo run --release -p mmsim-lab -- ", "mmsim-lab "];

/// The program that is tested: `MMSIM_LAB`, or what `cargo test` has built.
fn program() -> std::path::PathBuf {
    std::env::var_os("MMSIM_LAB").map_or_else(|| env!("CARGO_BIN_EXE_mmsim-lab").into(), Into::into)
}
