//! The anonymous workingset series (J. Kim, linux-mm, 2020), as far as its experiments are
//! programs: two worked examples on paper, and throughput, whose computing time runs give.
//!
//! docs/dev/anon-workingset.md tells the story with the figures that come out here.

mod examples;
mod throughput;

pub(super) use examples::figures as examples;
pub(super) use throughput::figures as throughput;
