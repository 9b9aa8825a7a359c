//! What memory is backed by: block devices, swap space, the page cache.

pub mod device;
