//! Three series on the multi-generational LRU: a list of its own for lazily freed folios (2024),
//! protection of file folios that are read but not mapped (Linux 6.8), and refault distance (2023);
//! beside them the rework of workingset protection in Linux 6.14.

/// The text of their figures.
pub const PUBLISHED: &str = include_str!("../../../published/mglru.toml");
