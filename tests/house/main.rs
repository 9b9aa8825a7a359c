//! The repository itself: edges between crates, layers, keys, recipes, licences, documents.

mod counters;
mod keys;
mod layers;
mod links;
mod manifests;
mod parts;
mod prose;
mod recipes;
mod third_parties;
mod words;
