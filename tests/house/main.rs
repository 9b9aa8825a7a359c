//! The repository itself: edges between crates, licences.

mod layers;
mod manifests;
mod third_parties;
