//! What memory is backed by: block devices, swap space, the page cache.

pub mod cache;
pub mod device;
mod shadow_queue;
pub mod swap;
mod throttle;
