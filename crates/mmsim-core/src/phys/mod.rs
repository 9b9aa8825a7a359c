//! Physical memory: frames and their columns, folio lists, the allocator (blocks, fallback
//! between types, per-CPU lists) and the zones that it serves.

// What is true of a frame, and the lists of folios.
pub mod frames;
pub mod lists;

// Requests, and the orders in which they are served.
pub mod gfp;
pub mod orders;

// Free blocks, and the stock of each CPU.
pub mod buddy;
mod fallback;
pub mod fragmentation;
mod free_lists;
pub mod pcp;

// A zone.
pub mod zone;

// How much of it stays free, and against whom.
pub mod watermarks;

// How its pages are handed out and come back.
mod front;
pub mod targets;

// The zones of the machine.
pub mod zones;

// Zones of old kernels, which take turns.
mod shares;

// Memory of a guest that its host gives and takes.
pub(crate) mod backing;
pub(crate) mod reporting;

pub use fallback::Mode;
