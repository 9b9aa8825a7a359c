//! Replacement policies: the classic active/inactive LRU with its history, and random eviction.

pub mod config;
pub mod formulas;
