//! Samplers: random numbers of the laws that workloads are made of.
//!
//! A zipf law gives page number k in order of popularity (its *rank*, from 0) a
//! probability proportional to (k + 1)^-theta; theta 0 is uniform, and measured
//! workloads lie around 0.6 to 1.1. Where the popular pages lie in memory is a second
//! choice, made by a map from rank to page.
//!
//! There are two samplers, for two purposes. [`Zipf`] is exact, needs tables of a few
//! hundred entries for any number of pages, and is the fastest we know. [`CumZipf`]
//! reproduces, bit by bit, the table look-up with which the reference kernels were
//! driven; use it to replay their runs.

mod alias;
mod bucketed;
mod cum;
mod kept;
mod pages;
mod scatter;
mod zipf;

pub use cum::{CumZipf, LinearMap};
pub use kept::KeptPages;
pub use pages::{PageSampler, RankMap};
pub use scatter::Scatter;
pub use zipf::Zipf;

#[cfg(test)]
mod chi;
