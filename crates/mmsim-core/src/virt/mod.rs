//! Virtual memory: the global page index with its PTEs, address spaces, the reverse map.

pub mod pages;
pub mod rmap;
pub mod space;
