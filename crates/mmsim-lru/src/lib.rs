//! Replacement policies: the classic active/inactive LRU with its history, the multi-generational
//! LRU, and random eviction.

pub mod chooser;
pub mod classic;
pub mod index;
pub mod mglru;
pub mod paper;
pub mod random;
pub mod shrink;

pub use classic::config::ClassicConfig;
pub use classic::{Classic, config, formulas};
pub use mglru::{Mglru, MglruConfig};
pub use mmsim_core::base::settings;
pub use random::Random;
