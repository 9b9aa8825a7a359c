//! The repository itself: edges between crates, licences, seeds of fuzzing.

mod fuzz_seeds;
mod manifests;
mod third_parties;
