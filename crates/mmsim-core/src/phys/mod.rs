//! Physical memory: frames and their columns, folio lists, zones with their allocator
//! and watermarks.

pub mod frames;
pub mod lists;
pub mod zones;
