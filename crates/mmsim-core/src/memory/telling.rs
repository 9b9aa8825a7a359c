//! Observers of a run. They decide nothing: a run has the same digest with and without them.

use super::follow::{Follower, Uses};
use super::names::EvictionNames;
use crate::base::id::PageIdx;
use crate::memory::trace::Tracer;

/// Observers of a run, and what they need to know.
#[derive(Default)]
pub struct Telling {
    /// Where events go.
    pub tracer: Tracer,
    /// Follower of pages; none in most runs.
    pub(super) follower: Option<Box<dyn Follower>>,
    /// When pages were used last, for the follower.
    pub(crate) uses: Uses,
    /// Names of evicted pages, for events.
    pub(super) names: EvictionNames,
    /// The page whose refault the policy gets now, for its event.
    pub refaulting: Option<PageIdx>,
    /// Evictions so far; each that an observer sees has this number.
    pub evictions: u64,
}
