//! Naive twins of the classic LRU: slow, plain, written from the rules and from nothing else.
//!
//! [`unit::UnitModel`] has frames, two lists and one page reclaimed at a time: small enough that
//! the worked examples can be followed by hand. [`kernel::KernelModel`] has four lists, batches of
//! 32, priorities and scan balance: what the real policy must do on one zone with a synchronous
//! swap device and LRU batches of one page. Lists are vectors whose index 0 is the head. Both take
//! the knobs of [`mmsim_lru::config::ClassicConfig`]; neither uses the policy's formulas, or they
//! could not catch a slip in them.

// Every test binary uses its part of the twins only.
#![allow(dead_code)]

pub(crate) mod kernel;
pub(crate) mod unit;
