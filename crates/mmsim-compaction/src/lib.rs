//! Compaction: how a zone is searched for pages to move, and for places to move them to.
//!
//! Two scanners go over a zone. The one for sources takes pages that can be moved off their
//! lists, from the low end upwards; the one for targets takes free pages out of the allocator,
//! in the kernel from the high end downwards, until both meet. What was free here and there at
//! the low end becomes whole blocks. Which pageblocks a scanner may enter, what it remembers of
//! them, when a run is tried, when it gives up: these are the questions that kernels and patches
//! answered differently, and each is a knob of [`CompactionConfig`].
//!
//! [`TwoScanners`] is the strategy; core asks for runs and moves the pages
//! ([`mmsim_core::memory::Memory::migrate`]).

pub mod config;
pub mod defer;
pub mod deplete;
mod observe;
mod since_5_1;
mod strategy;
pub mod suitable;
mod v4_1;
mod zone;

pub use config::{CompactionConfig, PRESETS, Preset, preset, preset_for_kernel};
pub use strategy::TwoScanners;
pub use zone::ZoneView;
