//! Backing of memory: block devices, swap space, the page cache.

pub mod cache;
pub mod contents;
pub mod device;
mod shadow_queue;
mod shares;
pub mod swap;
mod throttle;
pub mod zsmalloc;
pub mod zswap;

/// Word that an evicted page leaves behind: opaque to core, written on eviction, read at most once
/// at the refault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow(pub u64);
