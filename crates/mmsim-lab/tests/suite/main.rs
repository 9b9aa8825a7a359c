//! The model against what is known otherwise: closed formulas, published figures, recorded kernels.

mod anchors;
mod async_reclaim;
mod booted;
mod calibration;
mod decisions;
mod ebizzy;
mod facts;
mod fuzz_seeds;
mod why;

/// The folder of the repository.
fn root() -> &'static std::path::Path {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
