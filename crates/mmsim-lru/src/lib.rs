//! Replacement policies: the classic active/inactive LRU with its history, and random
//! eviction.

pub mod classic;
pub mod config;
pub mod formulas;
pub mod index;
pub mod mglru;
pub mod paper;
pub mod random;
pub mod shrink;

pub use classic::Classic;
pub use config::ClassicConfig;
pub use mglru::{Mglru, MglruConfig};
pub use mmsim_core::base::knobs;
pub use random::Random;
