//! Faults that tests plant in a run, to see whether the checks name them.
//!
//! Each is read where the thing is decided that it makes wrong. No scenario can plant one.

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// Runs of compaction end after their first batch.
    CompactionGivesUp,
    /// After one run that failed, compaction is put off for good.
    DeferralNeverReset,
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
    /// Each step of kswapd takes 5 ms more.
    KswapdSlow,
    /// kswapd goes on until a quarter of memory is free.
    NoEnd,
    /// A pass goes on when it has freed enough, and begins with half of each list.
    Overshoot,
    /// The first group is passed over.
    GroupSpared,
    /// Lists of one type are scanned as far as those of the other should be.
    TypesSwapped,
    /// MGLRU takes the other type than its controller says.
    OtherType,
    /// Pages leave the active list for the tail of the inactive one.
    DemotedToTail,
    /// New pages begin active.
    NewActive,
    /// The window of swap readahead stays at its most.
    WindowNeverShrinks,
    /// A page that comes back is not activated, however soon.
    RefaultsForgotten,
    /// Accessed bits of inactive pages count for nothing.
    LostReference,
    /// New pages stand at the tail.
    InvertedList,
    /// Groups are held to half of `memory.max`.
    LimitHalved,
}
