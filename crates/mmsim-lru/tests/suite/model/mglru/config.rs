//! Differences between kernels and patches.

/// Where a folio goes that is added and not active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Before 6.8: `min_seq`, or one above for what cannot be evicted at once.
    PreFix,
    /// 6.8: what cannot be evicted at once is second youngest; of four generations others go
    /// to the second oldest.
    PostFix,
    /// 6.14: at a distance from the youngest generation.
    Distance,
}

/// Which refaults restore the working set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Restore {
    /// Four references: workingset only.
    Refs4,
    /// Three: workingset and all bits, so that the next visit protects.
    Refs3,
    /// 6.14: the shadow's workingset bit.
    Workingset,
}

/// Effect of `MADV_FREE` on a folio's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lazyfree {
    /// Nothing at all: it stays anonymous.
    Off,
    Base,
    Tail,
    /// A list of its own in each generation, as posted.
    ListV2,
    /// The same without the unwanted effects.
    ListFixed,
    /// That in the oldest generation always.
    ListOldest,
}

/// Refault distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distance {
    Off,
    V3,
    SecondOldest,
    Tiered,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Config {
    pub(crate) swappiness: u64,
    pub(crate) walk_mmu: bool,
    pub(crate) nonleaf_young: bool,
    pub(crate) bloom: bool,
    pub(crate) placement: Placement,
    /// Four references protect whatever the controller says.
    pub(crate) overflow_protect: bool,
    pub(crate) restore: Restore,
    /// Refaults count even if they are not recent.
    pub(crate) counts_all_refaults: bool,
    /// A refault is recent within four generations of the youngest, not only if its oldest
    /// generation is still the oldest.
    pub(crate) recent_within_4: bool,
    /// The type is chosen by all tiers, not by the first.
    pub(crate) type_by_all_tiers: bool,
    /// Gains of the comparison within a type: set point, process value.
    pub(crate) tier_gain: [u64; 2],
    /// The types' oldest generations advance together.
    pub(crate) coupled: bool,
    /// Aging is wanted by the number of generations alone.
    pub(crate) ages_by_gens: bool,
    /// Folios that wait for writeback are moved on while scanning, not when they are processed.
    pub(crate) bounces: bool,
    /// Scanning makes dirty lazyfree folios anonymous.
    pub(crate) dirty_lazyfree_to_anon: bool,
    /// Adding an active folio clears its references.
    pub(crate) add_clears_refs: bool,
    pub(crate) lazyfree: Lazyfree,
    pub(crate) distance: Distance,
    /// 6.14's meaning of references.
    pub(crate) rework: bool,
}

impl Lazyfree {
    /// True if lazily freed folios have lists of their own.
    pub(crate) fn listed(self) -> bool {
        matches!(self, Lazyfree::ListV2) || self.repaired()
    }
    /// True if these lists work as one would like them to.
    pub(crate) fn repaired(self) -> bool {
        matches!(self, Lazyfree::ListFixed | Lazyfree::ListOldest)
    }
}

impl Config {
    pub(crate) const V6_7_PRE: Config = Config {
        swappiness: 60,
        walk_mmu: true,
        nonleaf_young: true,
        bloom: true,
        placement: Placement::PreFix,
        overflow_protect: false,
        restore: Restore::Refs4,
        counts_all_refaults: true,
        recent_within_4: false,
        type_by_all_tiers: false,
        tier_gain: [1, 2],
        coupled: true,
        ages_by_gens: false,
        bounces: true,
        dirty_lazyfree_to_anon: true,
        add_clears_refs: false,
        lazyfree: Lazyfree::Base,
        distance: Distance::Off,
        rework: false,
    };
    pub(crate) const V6_8_POST: Config = Config {
        placement: Placement::PostFix,
        overflow_protect: true,
        restore: Restore::Refs3,
        ..Self::V6_7_PRE
    };
    pub(crate) const V6_1S: Config = Config { counts_all_refaults: false, ..Self::V6_8_POST };
    pub(crate) const V6_12RC: Config = Config { dirty_lazyfree_to_anon: false, ..Self::V6_8_POST };
    pub(crate) const V6_12S: Config =
        Config { bounces: false, add_clears_refs: true, ..Self::V6_12RC };
    pub(crate) const V6_14: Config = Config {
        placement: Placement::Distance,
        restore: Restore::Workingset,
        recent_within_4: true,
        type_by_all_tiers: true,
        tier_gain: [2, 3],
        coupled: false,
        ages_by_gens: true,
        rework: true,
        ..Self::V6_12RC
    };
}
