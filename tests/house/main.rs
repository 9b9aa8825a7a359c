//! The repository itself: edges between crates, layers, keys, licences.

mod counters;
mod keys;
mod layers;
mod manifests;
mod parts;
mod prose;
mod third_parties;
mod words;
