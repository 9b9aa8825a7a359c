//! The repository itself: edges between crates, licences.

mod layers;
mod manifests;
mod prose;
mod third_parties;
