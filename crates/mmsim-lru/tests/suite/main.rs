//! The policies, against models that know nothing of them, worked examples and witnesses.

mod chooser;
mod classic;
mod contract;
mod harness;
mod large;
mod mglru;
mod model;
mod page_tables;
mod policies_doc;
mod shadow_nodes;
mod thp;
mod zones;
