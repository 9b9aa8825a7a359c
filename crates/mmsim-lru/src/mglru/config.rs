//! Configuration of MGLRU: one knob per decision that a kernel release or a patch changed.
//!
//! Between Linux 6.1 and 6.14 the multi-generational LRU kept its shape. What moved is where a
//! folio read through a file descriptor starts, what protects it, which refaults count and for
//! what, who ages and when reclaim stops; and two patch sets that were not merged argued about
//! lazily freed memory and about refault distances. Each of these is a field of [`MglruConfig`].
//!
//! Not here, because they belong to the machine: `swappiness` (a sysctl), the size of the LRU
//! batches, whether pages mapped around a fault start young, and synchronous swap devices.

mod presets;

pub use presets::PRESETS;

use mmsim_core::base::settings::OrNumber;
use mmsim_core::phys::frames::flag;
use mmsim_core::{settings, words};

words! {
    /// Where a folio goes that was not faulted in.
    Placement {
        PreFix = "pre-fix",
            "Read through a descriptor: oldest generation. Anonymous, or dirty and waiting for its \
             write: the second oldest.";
        PostFix = "post-fix",
            "Read through a descriptor: the second oldest of four generations, the oldest of fewer. \
             Anonymous, or dirty and waiting for its write: the second youngest.";
        Distance614 = "distance-6.14",
            "Counted from the youngest generation. Active workingset starts in the first; what else \
             is active, anonymous or waits, in the second. Refaulted workingset starts in the third, \
             what was read in the fourth, or in the oldest if there are fewer.";
        Distance72 = "distance-7.2",
            "As distance-6.14, and what was read and is marked as accessed goes where refaulted \
             workingset goes.";
    }
    /// Condition under which a recent refault counts as restored, and its reward.
    RestoreRule {
        Refs4Ws = "refs4-ws", "Five accesses through descriptors before: it gets the workingset flag.";
        Refs3All = "refs3-all",
            "Four such accesses before: it gets the workingset flag and all access counts, so that \
             the next scan protects it.";
        Ws614 = "ws-6.14",
            "The workingset flag before: it gets it again; else its access counts.";
        Ws72 = "ws-7.2", "As ws-6.14, and only such a refault counts as activated.";
    }
    /// Which refaults are counted as refaults.
    RefaultCount {
        RecentOnly = "recent-only", "Recent ones; with a refault distance near ones as well.";
        All = "all", "All whose shadow was found.";
    }
    /// Which refaults are recent.
    RecentRule {
        SameMinSeq = "same-min-seq", "The oldest generation is still the one evicted from.";
        Within4OfMax = "within-4-of-max", "The youngest generation is less than four ahead of it.";
    }
    /// Choice of the type to evict.
    TypeRule {
        FirstTier = "first-tier", "By the refault rates of the first tiers of both types.";
        AllTiers = "all-tiers", "By the refault rates of all tiers of both types.";
        Cost612 = "cost-6.12",
            "By what reclaim has cost, as classic LRU of 6.12 reckons it: the type of which that would \
             scan more.";
    }
    /// Factor by which a tier has to be worse than the first before it is protected.
    TierGain {
        OneToTwo = "1:2", "Twice as many refaults.";
        TwoToThree = "2:3", "One and a half times as many.";
    }
    /// When a new generation is wanted.
    AgingRule {
        Distribution = "distribution",
            "With two generations left, or three of which the youngest holds more than half of all \
             pages or the oldest less than a quarter.";
        GensOnly = "gens-only", "With three generations left, whatever they hold.";
        Ratio = "ratio",
            "With three generations left, if an older page faces more pages of the two youngest than \
             classic LRU lets an inactive page face.";
    }
    /// Action of a scan on folios that wait for their write.
    WritebackRule {
        Bounce = "bounce",
            "Moves them to the next generation, marked for reclaim at the end of the write.";
        Activate = "activate",
            "Isolates them as any other; shrinking activates them.";
        Shrink72 = "shrink-7.2",
            "As activate, in reclaim without input and output too, and marks for reclaim stay.";
    }
    /// When reclaim wakes the flusher.
    FlusherRule {
        Never = "never", "Never.";
        Pass613 = "pass-6.13",
            "After a memory cgroup, if all file folios that the pass took or moved on so far were dirty \
             and not queued for writing.";
        Batch72 = "batch-7.2",
            "After a batch, if all that it took was so. What writeback-rule `bounce` moves on is not taken.";
    }
    /// Action of a scan on a lazily freed folio that is dirty.
    DirtyLazyfreeRule {
        ToAnon = "to-anon", "Makes it anonymous memory again.";
        None = "none", "Nothing.";
    }
    /// Who creates generations in global reclaim.
    AgingSite {
        Kswapd = "kswapd", "kswapd, before it evicts.";
        Evictor = "evictor", "Whoever evicts, below the first priority; then nothing is evicted.";
        Loop = "loop",
            "Whoever evicts, before each step: at any priority if too few generations are left. One \
             step of global reclaim evicts all the same.";
    }
    /// When a pass over a node stops early.
    AbortRule {
        V6_1 = "v6.1",
            "From the third priority on, once the target is met or generations were created, and \
             all zones are safe.";
        Simple67 = "simple-6.7", "Once the target is met.";
        Wmark612 = "wmark-6.12",
            "Once the target is met, or for kswapd when all zones are 64 pages above the high mark; \
             reclaim from a group goes on.";
        Wmark72 = "wmark-7.2", "As wmark-6.12, and reclaim from a group stops at its target too.";
    }
    /// Largest number of pages that one step of eviction looks at.
    StepSize {
        Whole = "4096", "4096.";
        Budget = "budget", "4096, and no more than the budget of the pass.";
        Batch = "64", "64, and no more than what is left of the budget.";
    }
    /// End of a pass over a group.
    BudgetRule {
        EachStep = "each-step",
            "Before each step the budget is reckoned anew; the pass ends when the steps together \
             looked at as many.";
        Once = "once", "The budget is reckoned once, and what a step looked at is taken off.";
    }
    /// Next step after a type of which a step could isolate nothing.
    TypeFallback {
        NoneIsolated = "none-isolated", "Tries the other type.";
        NoneScanned = "none-scanned",
            "Tries the other type if there was nothing to look at, else the same one again.";
    }
    /// Place of a page that arrives in a fault.
    FaultArrival {
        Active = "active", "It starts as an active one does.";
        Marked = "marked", "It is marked as accessed; only refaulted workingset starts as active.";
        Mapped = "mapped",
            "Anonymous memory starts as an active one does. A page of a file starts as one that was \
             read. It becomes active once a fault maps it, be it on the way to another.";
        Touched = "touched",
            "As mapped, and pages that a fault maps on its way to another are left where they are.";
    }
    /// Reward of a page that reclaim finds accessed for the second time.
    SecondTouch {
        Workingset = "workingset", "The workingset flag.";
        Mark = "mark",
            "One more mark, the workingset flag only behind two; it is activated all the same.";
    }
    /// Protection of a group by `memory.low` and `memory.min`.
    Protection {
        Whole = "whole", "A group below is spared, one above is scanned by its size.";
        Share = "share", "The same, and of one above the protected share is not scanned.";
    }
    /// When global reclaim learns how much protection a group has.
    ProtectionAge {
        Kswapd = "kswapd",
            "When kswapd looks at a node, before each of its passes; others go by what it found.";
        Visit = "visit", "kswapd likewise; others when they visit the group.";
    }
    /// The order in which global reclaim visits groups.
    GroupOrder {
        Tree = "tree", "That of the tree, all of them in each pass.";
        Lru = "lru", "That of an LRU of groups: those of its old generation.";
    }
    /// When kswapd asks whether anything is older than `min-ttl-ms`.
    TtlRule {
        Aging61 = "aging-6.1",
            "While it ages, at order 0. Below the first priority a group has to be large enough \
             for a scan; what is too young is not aged.";
        Pressed67 = "pressed-6.7",
            "Below the first priority, at order 0; a group has to be large enough for a scan.";
        Fitted612 = "fitted-6.12",
            "Before every pass, at the first priority that follows from what can be reclaimed. A \
             memory cgroup has to be large enough for a scan at that.";
    }
    /// Where lazily freed memory is kept.
    Lazyfree {
        Base = "base", "Among file pages, as one that was read: dead pages outlive older cache.";
        Tail = "tail", "At the tail of the oldest file generation: freed first, the last one first.";
        ListV2 = "list-v2", "On a list of its own in each generation, as posted.";
        ListFixed = "list-fixed",
            "On a list of its own in each generation, which keeps what was refused and holds its \
             generation back.";
        ListOldest = "list-oldest", "As list-fixed, always in the oldest generation.";
        Off = "off", "MADV_FREE does nothing: the pages stay anonymous memory.";
    }
    /// Use of the distance between an eviction and its refault.
    RefaultDistance {
        Off = "off", "Nothing: a refault is recent if the generation is still the oldest.";
        V3 = "v3", "A page that would have fitted into memory starts in the youngest generation.";
        SecondOldest = "second-oldest",
            "A page that would have fitted into memory starts in the second oldest generation.";
        Tiered = "tiered", "The nearer, the more accesses it is given credit for.";
        V5_9 = "v5.9",
            "As v3, with the threshold of classic LRU since 5.9: all older and younger halves but the \
             older one of the page's own type.";
    }
    /// Marks of accesses through descriptors and of accessed bits on a folio.
    AccessMarks {
        WorkingsetSecond = "workingset-second",
            "The second access sets the workingset flag, further ones are counted; an accessed bit \
             promotes at once.";
        Counted614 = "counted-6.14",
            "Accesses are counted, the fifth sets the workingset flag; an accessed bit promotes when \
             it is found for the second time.";
    }
    /// Sizes of the history of refaults.
    HistGens {
        One = "1", "The current period of each type.";
        Four = "4", "One for each generation (CONFIG_LRU_GEN_STATS).";
    }
}

impl Placement {
    /// True if generations are counted from the youngest.
    #[inline]
    pub const fn is_by_distance(self) -> bool {
        matches!(self, Placement::Distance614 | Placement::Distance72)
    }
}

impl HistGens {
    /// The number of histories.
    pub const fn get(self) -> usize {
        match self {
            HistGens::One => 1,
            HistGens::Four => 4,
        }
    }
}

settings! {
    /// The knobs of MGLRU. Every field has one name in scenario files: the same with dashes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MglruConfig {
        /// Milliseconds for which the working set shall stay: if every generation is younger,
        /// kswapd calls the OOM killer. 0: off.
        min_ttl_ms as "min-ttl-ms": u32 = 0,
            .range(0, 3_600_000)
            .kernel("lru_gen_min_ttl")
            .source("/sys/kernel/mm/lru_gen/min_ttl_ms (Linux 6.1)");
        /// When min-ttl-ms is looked at. Without effect if that is 0.
        ttl_rule as "ttl-rule": TtlRule =
            TtlRule::Aging61, "6.6" => TtlRule::Pressed67, "6.12" => TtlRule::Fitted612,
            .kernel("lru_gen_age_node")
            .source(
                "mm: multi-gen LRU: thrashing prevention (Linux 6.1); per-node lru_gen_folio lists \
                 (Linux 6.3); mm/mglru: fix ineffective protection calculation (Linux 6.11)",
            );
        /// Lets aging walk page tables for accessed bits; else they are met by eviction only.
        walk_mmu as "walk-mmu": bool = true,
            .kernel("LRU_GEN_MM_WALK")
            .source("/sys/kernel/mm/lru_gen/enabled, bit 0x2 (Linux 6.1)");
        /// Lets walks skip page tables whose own entry was not accessed, and clear its bit.
        nonleaf_young as "nonleaf-young": bool = true,
            .kernel("LRU_GEN_NONLEAF_YOUNG")
            .source("/sys/kernel/mm/lru_gen/enabled, bit 0x4 (Linux 6.1)");
        /// Lets walks, and looks at neighbours, clear the accessed bits of folios that are on no
        /// list: isolated, or in a batch. Else these keep them.
        walks_unlisted as "walks-unlisted": bool = true, "6.18" => false,
            .source("mm/mglru: rework workingset protection (Linux 6.14: no)");
        /// Lets walks skip page tables in which few accessed bits were found before.
        bloom: bool = true,
            .kernel("BLOOM_FILTER_SHIFT, test_bloom_filter")
            .source("mm: multi-gen LRU: support page table walks (Linux 6.1)");
        /// The generation in which a folio starts that was not faulted in.
        placement: Placement =
            Placement::PostFix, "6.18" => Placement::Distance614, "7.3" => Placement::Distance72,
            .kernel("lru_gen_add_folio, lru_gen_folio_seq")
            .source("mm/mglru: fix underprotected page cache (Linux 6.8)");
        /// Protects a folio with all access counts set whatever the refault rates say.
        overflow_protect as "overflow-protect": bool = true,
            .source("mm/mglru: fix underprotected page cache (Linux 6.8)");
        /// Which recent refaults through descriptors count as restored, and what they get.
        restore_rule as "restore-rule": RestoreRule =
            RestoreRule::Refs3All, "6.18" => RestoreRule::Ws614, "7.3" => RestoreRule::Ws72,
            .kernel("lru_gen_refault")
            .source("mm/mglru: fix underprotected page cache (Linux 6.8)");
        /// Which refaults are counted as refaults.
        refault_count as "refault-count": RefaultCount =
            RefaultCount::RecentOnly, "6.6" => RefaultCount::All,
            .kernel("lru_gen_refault")
            .source("Multi-gen LRU: Fix workingset accounting");
        /// Which refaults are recent.
        recent_rule as "recent-rule": RecentRule =
            RecentRule::SameMinSeq, "6.18" => RecentRule::Within4OfMax,
            .kernel("lru_gen_test_recent")
            .source("mm/mglru: rework refault detection (Linux 6.14)");
        /// Choice of the type to evict.
        type_rule as "type-rule": TypeRule = TypeRule::FirstTier, "6.18" => TypeRule::AllTiers,
            .kernel("get_type_to_scan")
            .source("mm/mglru: rework type selection (Linux 6.14)");
        /// Factor by which a tier has to be worse than the first before it is protected. A number
        /// is in per cent: 200 is `1:2`.
        tier_gain as "tier-gain": OrNumber<TierGain> =
            OrNumber::Word(TierGain::OneToTwo), "6.18" => OrNumber::Word(TierGain::TwoToThree),
            .numbers(100, 10_000)
            .kernel("get_tier_idx")
            .source("mm/mglru: rework type selection (Linux 6.14)");
        /// Number of tiers in use; 4 in every kernel, 1 protects nothing by access counts.
        nr_tiers as "nr-tiers": u32 = 4,
            .range(1, 4)
            .kernel("MAX_NR_TIERS")
            .source("MAX_NR_TIERS (Linux 6.1)");
        /// Bits of a folio that count its accesses through descriptors: 2, or 1 where other flags
        /// leave no room. With 1 a third access is as many as it can note, with 2 a fifth.
        refs_width as "refs-width": u32 = 2,
            .range(1, 2)
            .kernel("LRU_REFS_WIDTH")
            .source("LRU_REFS_WIDTH (Linux 6.1)");
        /// For how many generations refaults are kept apart.
        hist_gens as "hist-gens": HistGens = HistGens::One,
            .kernel("NR_HIST_GENS, CONFIG_LRU_GEN_STATS")
            .source("CONFIG_LRU_GEN_STATS (Linux 6.1)");
        /// Advances the oldest generations of both types together.
        min_seq_coupling as "min-seq-coupling": bool = true, "6.18" => false,
            .kernel("try_to_inc_min_seq")
            .source("mm/mglru: rework aging feedback (Linux 6.14: no)");
        /// Lets a type whose oldest generation is empty wait at the third youngest while the other
        /// type has older ones.
        min_seq_clamp as "min-seq-clamp": bool = false, "6.18" => true,
            .kernel("try_to_inc_min_seq")
            .source("mm/mglru: rework aging feedback, as merged (Linux 6.18, try_to_inc_min_seq)");
        /// When a new generation is wanted.
        aging_rule as "aging-rule": AgingRule =
            AgingRule::Distribution, "6.18" => AgingRule::GensOnly,
            .kernel("should_run_aging")
            .source("mm/mglru: rework aging feedback (Linux 6.14)");
        /// Action of a scan on folios that are dirty or under write.
        writeback_rule as "writeback-rule": WritebackRule =
            WritebackRule::Bounce, "6.12" => WritebackRule::Activate,
            "6.18" => WritebackRule::Bounce, "7.3" => WritebackRule::Shrink72,
            .kernel("sort_folio")
            .source(
                "mm: multi-gen LRU: minimal implementation (Linux 6.1); activate: Linux 6.12 \
                 stable; shrink-7.2: Linux 7.2, sort_folio and isolate_folio",
            );
        /// When reclaim wakes the flusher.
        flusher_rule as "flusher-rule": FlusherRule =
            FlusherRule::Never, "6.12" => FlusherRule::Pass613, "7.3" => FlusherRule::Batch72,
            .kernel("wakeup_flusher_threads")
            .source(
                "mm/vmscan: wake up flushers conditionally to avoid cgroup OOM (Linux 6.13, and \
                 6.12 stable)",
            );
        /// Action of a scan on a lazily freed folio that is dirty.
        dirty_lazyfree_rule as "dirty-lazyfree-rule": DirtyLazyfreeRule =
            DirtyLazyfreeRule::ToAnon, "6.12" => DirtyLazyfreeRule::None,
            .source("mm: multi-gen LRU: minimal implementation (Linux 6.1)");
        /// Takes the access counts from a folio that enters as active.
        add_clears_refs as "add-clears-refs": bool = false, "6.12" => true, "6.18" => false,
            .source("Linux 6.12 stable");
        /// Who creates generations in global reclaim.
        aging_site as "aging-site": AgingSite =
            AgingSite::Kswapd, "6.6" => AgingSite::Evictor, "7.3" => AgingSite::Loop,
            .kernel("try_to_inc_max_seq")
            .source("mm: multi-gen LRU: per-node lru_gen_folio lists (Linux 6.3)");
        /// Largest number of pages that one step of eviction looks at. A number other than 4096 is
        /// also limited by what is left of the budget of the pass.
        step_size as "step-size": OrNumber<StepSize> =
            OrNumber::Word(StepSize::Whole), "6.18" => OrNumber::Word(StepSize::Budget),
            "7.3" => OrNumber::Word(StepSize::Batch),
            .numbers(1, 1 << 20)
            .kernel("MIN_LRU_BATCH, MAX_LRU_BATCH")
            .source("budget: Linux 6.18, isolate_folios; 64: Linux 7.2, try_to_shrink_lruvec");
        /// End of a pass over a group.
        budget_rule as "budget-rule": BudgetRule = BudgetRule::EachStep, "7.3" => BudgetRule::Once,
            .kernel("get_nr_to_scan")
            .source("once: Linux 7.2, try_to_shrink_lruvec");
        /// Next step after a type of which a step could isolate nothing.
        type_fallback as "type-fallback": TypeFallback =
            TypeFallback::NoneIsolated, "7.3" => TypeFallback::NoneScanned,
            .kernel("isolate_folios")
            .source("none-scanned: Linux 7.2, isolate_folios");
        /// Protection of a group by memory.low and memory.min.
        protection: Protection = Protection::Whole, "6.18" => Protection::Share,
            .kernel("apply_proportional_protection")
            .source("share: by Linux 6.17, apply_proportional_protection");
        /// When global reclaim learns how much protection a group has.
        protection_age as "protection-age": ProtectionAge =
            ProtectionAge::Kswapd, "7.3" => ProtectionAge::Visit,
            .kernel("lru_gen_age_node, shrink_one")
            .source("absent in 7.2, present in 7.3, mm/vmscan.c, shrink_one");
        /// The order in which global reclaim visits groups.
        group_order as "group-order": GroupOrder = GroupOrder::Tree, "6.3" => GroupOrder::Lru,
            .kernel("shrink_many")
            .source("6.3 \"mm: multi-gen LRU: per-node lru_gen_folio lists\"");
        /// When a pass over a node stops early.
        abort_rule as "abort-rule": AbortRule =
            AbortRule::V6_1, "6.6" => AbortRule::Simple67, "6.12" => AbortRule::Wmark612,
            "7.3" => AbortRule::Wmark72,
            .kernel("should_abort_scan")
            .source("mm/mglru: try to stop at high watermarks (Linux 6.8)");
        /// Derives the first priority of kswapd from the number of reclaimable pages.
        initial_priority as "initial-priority": bool = false, "6.12" => true,
            .kernel("set_initial_priority")
            .source(
                "mm/mglru: try to stop at high watermarks; mm: multi-gen LRU: adjust scan priority",
            );
        /// Where lazily freed memory is kept.
        lazyfree: Lazyfree = Lazyfree::Base,
            .kernel("lru_lazyfree")
            .source(
                "mm: add lazyfree folio to lru tail (2024); mm: mglru: provide a separate list for \
                 lazyfree anon folios (2024)",
            );
        /// Lets a page keep the marks of its accesses when it becomes lazily freed memory.
        lazyfree_keeps_marks as "lazyfree-keeps-marks": bool = false, "6.18" => true,
            .kernel("lru_gen_clear_refs")
            .source(
                "mm/mglru: optimize deactivation (Linux 6.14: yes, lru_gen_clear_refs finds no \
                 generation)",
            );
        /// Use of the distance between an eviction and its refault.
        refault_distance as "refault-distance": RefaultDistance = RefaultDistance::Off,
            .source("Refault distance update with MGLRU support (2023)");
        /// Uses refault distances for anonymous pages too.
        anon_reactivate as "anon-reactivate": bool = true,
            .source("Refault distance update with MGLRU support (2023), third posting: yes");
        /// Marks of accesses on a folio.
        access_marks as "access-marks": AccessMarks =
            AccessMarks::WorkingsetSecond, "6.18" => AccessMarks::Counted614,
            .kernel("folio_inc_refs")
            .source("mm/mglru: rework workingset protection (Linux 6.14)");
        /// Place of a page that arrives in a fault.
        fault_arrival as "fault-arrival": FaultArrival =
            FaultArrival::Active, "7.3" => FaultArrival::Marked,
            .kernel("folio_add_lru")
            .source(
                "marked: Linux 7.2, folio_add_lru; mapped: mm/mglru: lazily activate folios while \
                 folios are really mapped (February 2026, not merged)",
            );
        /// Promotes an executable page of a file when a page table shows it accessed for the first
        /// time. Without effect while access-marks is workingset-second.
        exec_promotes as "exec-promotes": bool = false, "7.3" => true,
            .kernel("is_exec_file_folio")
            .source(
                "Linux 7.3 mm/vmscan.c (is_exec_file_folio in folio_update_gen and \
                 lru_gen_set_refs)",
            );
        /// Reward of a page that reclaim finds accessed for the second time. Without effect while
        /// access-marks is workingset-second.
        second_touch as "second-touch": SecondTouch =
            SecondTouch::Workingset, "7.3" => SecondTouch::Mark,
            .kernel("lru_gen_set_refs")
            .source("mark: Linux 7.2, lru_gen_set_refs");
    }
    since "6.1";
    presets PRESETS;
    check MglruConfig::contradiction;
}

impl MglruConfig {
    /// A combination that no kernel could mean: the knob, what to write instead, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let counted = self.access_marks == AccessMarks::Counted614;
        let by_ws = matches!(self.restore_rule, RestoreRule::Ws614 | RestoreRule::Ws72);
        let distance = self.refault_distance != RefaultDistance::Off;
        let rules: [(bool, &'static str, &'static str, &'static str); 6] = [
            (
                counted != by_ws,
                "access-marks",
                "access-marks = \"counted-6.14\" together with restore-rule = \"ws-6.14\" or \
                 \"ws-7.2\", or neither",
                "a refault gets back what the marks are",
            ),
            (
                distance && self.recent_rule == RecentRule::Within4OfMax,
                "refault-distance",
                "recent-rule = \"same-min-seq\"",
                "the shadow holds a count of evictions and no generation",
            ),
            (
                self.refault_distance == RefaultDistance::SecondOldest
                    && self.placement.is_by_distance(),
                "refault-distance",
                "placement = \"pre-fix\" or \"post-fix\"",
                "the placement of 6.14 knows no second oldest generation",
            ),
            (
                self.min_seq_clamp && self.min_seq_coupling,
                "min-seq-clamp",
                "min-seq-clamp = \"no\"",
                "oldest generations that advance together do not part",
            ),
            (
                self.fault_arrival == FaultArrival::Marked && !counted,
                "fault-arrival",
                "access-marks = \"counted-6.14\"",
                "without counted accesses a mark would be lost before anybody looks",
            ),
            (
                self.nonleaf_young && !self.walk_mmu,
                "nonleaf-young",
                "nonleaf-young = \"no\"",
                "without walks the entries of page tables are not read",
            ),
        ];
        let found = rules.into_iter().find(|r| r.0);
        found.map(|(_, knob, instead, because)| (knob, instead, because))
    }

    /// True if an access that a page table shows is only noted, as 6.14 does with a folio's first;
    /// `exec`: in an executable mapping.
    #[inline]
    pub(super) fn only_notes(&self, bits: u32, exec: bool) -> bool {
        let promoted = exec && self.exec_promotes && bits & flag::SWAPBACKED == 0;
        bits & (flag::REFERENCED | flag::WORKINGSET) == 0 && !promoted
    }

    /// True if lazily freed memory has a list of its own.
    #[inline]
    pub const fn lazyfree_list(&self) -> bool {
        matches!(self.lazyfree, Lazyfree::ListV2 | Lazyfree::ListFixed | Lazyfree::ListOldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings as _;

    #[test]
    fn every_knob_takes_every_value_it_names_and_says_it_back() {
        for knob in MglruConfig::ROWS {
            let numbers = knob.bounds().map(|(low, high)| [low.to_string(), high.to_string()]);
            let values = knob.allowed().map(str::to_owned).chain(numbers.into_iter().flatten());
            for value in values {
                let mut c = MglruConfig::V6_12;
                c.set(knob.name, &value).unwrap();
                assert_eq!(c.get(knob.name), Some(value), "{}", knob.name);
            }
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        let mut c = MglruConfig::V6_12;
        let said = |e: Result<(), crate::settings::KnobError>| e.unwrap_err().to_string();
        assert_eq!(
            said(c.set("min-ttl-ms", "-5")),
            "min-ttl-ms: found -5, write a whole number from 0 to 3600000"
        );
        assert_eq!(
            said(c.set("nr-tiers", "5")),
            "nr-tiers: found 5, write a whole number from 1 to 4"
        );
        assert_eq!(
            said(c.set("hist-gens", "5")),
            "hist-gens: unknown value \"5\", write one of \"1\", \"4\""
        );
        assert_eq!(
            said(c.set("step-size", "0")),
            "step-size: unknown value \"0\", write one of \"4096\", \"budget\", \"64\", or a whole \
             number from 1 to 1048576"
        );
        c.set("step-size", "65").unwrap();
        assert_eq!(c.get("step-size").as_deref(), Some("65"));
        c.set("step-size", "4096").unwrap();
        assert_eq!(
            said(c.set("refault_distanc", "v3")),
            "unknown knob \"refault_distanc\", did you mean \"refault-distance\"?"
        );
        assert_eq!(c, MglruConfig::V6_12);
        c.walk_mmu = false;
        assert_eq!(
            said(c.validate()),
            "nonleaf-young = \"yes\" makes no sense here: without walks the entries of page tables \
             are not read; write nonleaf-young = \"no\""
        );
    }
}
