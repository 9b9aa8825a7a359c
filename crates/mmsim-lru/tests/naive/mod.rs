//! The naive twin of the classic LRU: slow, plain, written from the rules and from nothing else.
//!
//! [`kernel::KernelModel`] has four lists, batches of 32, priorities and scan balance: what the real
//! policy must do on one zone with a synchronous swap device and LRU batches of one page. Lists are
//! vectors whose index 0 is the head. It takes the knobs of [`mmsim_lru::config::ClassicConfig`] and
//! does not use the policy's formulas, or it could not catch a slip in them. The smaller model, of
//! the worked examples, is [`mmsim_lru::paper`], and keeps to the same.

// Every test binary uses its part of the twin only.
#![allow(dead_code)]

pub(crate) mod kernel;
