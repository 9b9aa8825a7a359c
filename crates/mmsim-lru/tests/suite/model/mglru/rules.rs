//! Rules that a run may meet or miss: what random steps never do they do not test.

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) enum Rule { $($(#[$doc])* $rule,)* }

        impl Rule {
            pub(crate) const ALL: &[Rule] = &[$(Rule::$rule,)*];
        }
    };
}

rules! {
    /// Rates chose anonymous memory.
    AnonByRates,
    /// Rates protect some tier of the chosen type.
    TierByRates,
    /// An oldest generation that held folios was poured into the next.
    Poured,
    /// Without swap it was not, and became the youngest.
    TurnedYoung,
    DirtyLazyfree,
    Promoted,
    Protected,
    Overflow,
    Bounced,
    Refused,
    /// The scan ended because it refused too many.
    RefusedAll,
    /// 64 were isolated and more are left.
    FullBatch,
    /// A folio was found accessed after it was isolated.
    PromotedIsolated,
    /// A neighbour was activated for want of a walk.
    ActivatedNear,
    /// Looking around found a page table worth a walk.
    FilteredNear,
    KeptMarked,
    KeptYoung,
    ActivatedYoung,
    Converted,
    Dropped,
    LeftToFlusher,
    SkippedProcess,
    SkippedTable,
    SkippedByFilter,
    /// Dirt went from a PTE to its folio.
    DirtMoved,
    RecentRefault,
    OldRefault,
    RestoredByRefs,
    RestoredByFault,
    DistanceNear,
    DistanceFar,
    /// A generation was passed with lazily freed folios in it.
    Stranded,
    Astray,
    AgedInPass,
}
