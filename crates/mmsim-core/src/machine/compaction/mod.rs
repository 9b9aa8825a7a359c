//! Compaction: direct, and by kcompactd.

pub(in crate::machine) mod direct;
pub(in crate::machine) mod kcompactd;
