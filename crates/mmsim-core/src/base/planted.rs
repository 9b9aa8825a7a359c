//! Faults that tests plant in a run, to see whether the checks name them.
//!
//! Each is read where the thing is decided that it makes wrong. No scenario can plant one. Here are
//! those alone that a policy or a strategy around the real one cannot make.

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// Runs of compaction end after their first batch.
    CompactionGivesUp,
    /// Compaction finds no free page to move to.
    NoTargets,
    /// Compaction takes no page.
    NothingMoves,
    /// kswapd ignores all requests for half a second after it was woken.
    KswapdSleeps,
    /// The first step of kswapd comes 50 ms late.
    KswapdStartsLate,
    /// kswapd gives up after one run.
    KswapdGivesUp,
    /// kswapd goes on until a quarter of memory is free.
    NoEnd,
    /// The window of swap readahead stays at its most.
    WindowNeverShrinks,
}
