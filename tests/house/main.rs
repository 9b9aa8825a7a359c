//! The repository itself: edges between crates, licences.

mod manifests;
mod third_parties;
