//! Dirty pages of files: who pauses, and who writes them.

pub(in crate::machine) mod dirty;
pub(in crate::machine) mod flusher;
pub(in crate::machine) mod fsync;
pub(in crate::machine) mod ratelimit;
