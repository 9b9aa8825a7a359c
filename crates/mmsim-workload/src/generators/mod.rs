//! Generators of accesses, one file each.
