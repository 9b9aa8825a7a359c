//! Configuration of compaction: one knob per decision that a kernel release or a patch changed.
//!
//! The kernel's compaction of 4.1 is one point of this space, [`CompactionConfig::V4_1`]. In 2015
//! two series on linux-mm proposed to redesign it ("\[RFC PATCH 00/10\] redesign compaction
//! algorithm", June, and "\[PATCH v2 0/9\]", August) and a third kept a part of that ("\[PATCH v3
//! 0/7\] mm/compaction: redesign compaction: part1", December). Their columns are the
//! [presets](PRESETS) between, so that each idea can be switched alone.
//!
//! What kernels did since is further knobs, up to [`CompactionConfig::V6_12`]. Sysctls
//! (`vm.extfrag_threshold`, `vm.compact_unevictable_allowed`, `vm.compaction_proactiveness`) belong
//! to the machine.
//!
//! There is no `Default`: the caller says which kernel it means.

mod presets;

pub use mmsim_core::base::settings::{KnobError, Row, Settings};
pub use presets::{PRESETS, Preset, preset, preset_for_kernel};

use mmsim_core::base::settings::OrNumber;
use mmsim_core::{settings, words};

words! {
    /// Which frame a scanner remembers of a pageblock where it took nothing.
    CachedPfn {
        FirstScanned = "first-scanned", "The first frame that it looked at.";
        PastBlock = "past-block",
            "The frame after it in the scanner's own direction: for sources the end of the \
             pageblock, for targets its start.";
        BlockEnd = "block-end",
            "The end of the pageblock for both scanners, which for a scanner that goes down is \
             the wrong way.";
    }
    /// When a scanner also remembers that it reached the end of a pageblock.
    CachedAlways {
        Never = "never", "Only if it took nothing there.";
        Always = "always",
            "Whenever it did. For targets it moves up, whatever the direction of the scanner.";
        Limited = "when-limited", "While runs are limited.";
    }
    /// Pageblocks that pages may move to.
    TargetTypes {
        Movable = "movable", "Movable ones, and those of contiguous memory areas.";
        Any = "any", "All.";
        AnyWhenDepleted = "any-when-depleted",
            "Movable ones; all of them for a synchronous run while the last cycle had no success.";
    }
    /// Count that tells a zone where compaction is in vain.
    Depletion {
        Off = "off", "Nothing.";
        V1 = "v1",
            "A zone is depleted when a cycle, the time between two resets, had too few successes; \
             each further such cycle makes it deeper.";
        V2Literal = "v2-literal",
            "As v2 was posted: without braces, so that a zone becomes depleted only after a cycle \
             with some successes, and its depth never lasts.";
        V2Intended = "v2-intended", "As v2 was meant, with braces.";
    }
    /// Number of frames that a run may look at in a depleted zone.
    ScanLimit {
        Off = "off", "All.";
        V1 = "v1",
            "A 32nd of the zone, halved with each depth; asynchronous runs do not start at all.";
        V2 = "v2", "A 256th of the zone, halved with each depth, for all runs.";
        V3 = "v3",
            "A 256th of the zone, halved with each failure in a row, at least a pageblock; \
             asynchronous runs do not start at all.";
    }
    /// Treatment of requests after failed runs.
    Deferral {
        Defer = "defer", "More and more of them are refused, up to 63 of 64.";
        CountFailures = "count-failures",
            "None is refused; after some failures in a row what was learned is forgotten.";
        Limit = "limit", "None is refused; the failures in a row limit the runs.";
    }
    /// Number of successes in a cycle that a zone needs that is not depleted.
    DepleteThreshold {
        One = "one", "One.";
        BySize = "by-size",
            "A 512th of the blocks of the smallest order that failed, at least four.";
    }
    /// Which large free blocks are spared by the search for targets.
    SpareFree {
        Pageblock = "pageblock", "Pageblocks that begin with a free block of their size.";
        Requested = "requested",
            "Also every free block that is as large as the one that is wanted.";
        RequestedFirst = "requested-first",
            "Pageblocks that begin with a free block as large as the one that is wanted.";
    }
    /// Way of the scanners through a pageblock, and the end of a run.
    Scanners {
        V4_1 = "v4.1",
            "As in 4.1: skip bits come with a pageblock where nothing was found, a run is over \
             when the zone's watermark is met and there is a block, which is checked after each \
             batch.";
        V6 = "v6",
            "As in 6.x: skip bits come with the first page that is taken; a run is over when there \
             is a block, which is checked at ends of pageblocks; forgetting looks for pageblocks \
             that may be of use.";
    }
    /// When all of a pageblock is taken at once.
    FinishPageblock {
        Never = "never", "Never: at most a batch.";
        Revisited = "revisited", "When the batch before came from the same pageblock.";
        Failed = "failed", "Then, and when a page of it could not be moved.";
    }
    /// In which mode compaction runs for a request that waits for it.
    RequestModes {
        AsyncFirst = "async-first",
            "As the allocator asks: asynchronously until it has reclaimed, then so that it may wait.";
        Sync = "sync", "So that it may wait, from the first run on.";
    }
    /// Time for which the sweep leaves alone the blocks that it filled.
    UndoPrevention {
        Cycle = "cycle", "Until what was learned is forgotten: as posted.";
        NextCycle = "next-cycle",
            "For the cycle after that as well, so that pages which were put somewhere are not the \
             first ones to be moved away.";
    }
    /// Which page that is taken marks its pageblock as visited.
    SkipMark {
        FirstFrame = "first-frame",
            "The pageblock's first frame only: a pageblock in which another page is taken first is \
             never marked, not even when all of it was looked at.";
        FirstPage = "first-page", "The first one, wherever it lies.";
    }
    /// When a run sees that the block which it is for was captured.
    CaptureSeen {
        BehindDrain = "behind-drain",
            "When what the batch freed has left the per-CPU list, where the block may form.";
        BeforeDrain = "before-drain",
            "Before that: one that forms in the drain is seen behind the next batch.";
    }
    /// Where later searches for targets begin, behind a pageblock that was looked through.
    TargetHint {
        Scanned = "scanned",
            "With that pageblock. One around a page that the free lists named is marked as soon as \
             it brought too few pages.";
        Below = "below",
            "With the one below. One around a page that the free lists named is marked when all of \
             it was looked at.";
    }
    /// Which pageblocks an asynchronous run on behalf of an unmovable or reclaimable request takes from.
    AsyncSources {
        OwnType = "own-type", "Those of the request's type.";
        LargeFromMovable = "large-from-movable",
            "Movable ones for a block of a pageblock or more, which the allocator claims as a whole; \
             else those of the request's type.";
    }
    /// Which target is used next.
    TargetOrder {
        LastFirst = "last-first", "The page that was taken last.";
        ByOrder = "by-order", "The first page of the smallest block, in the order of taking.";
    }
}

settings! {
    /// The knobs of compaction. Every field has one name in scenario files: the same with dashes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct CompactionConfig {
        /// Skips a pageblock only if one call looked at all of it and took nothing; else the rest
        /// of it is enough.
        skip_needs_full_block as "skip-needs-full-block": bool = false,
            .kernel("set_pageblock_skip")
            .source(
                "mm/compaction: update skip-bit if whole pageblock is really scanned (2015, not \
                 merged)",
            );
        /// Which frame is remembered of a pageblock where a scanner took nothing.
        cached_pfn as "cached-pfn": CachedPfn = CachedPfn::FirstScanned,
            .kernel("compact_cached_migrate_pfn")
            .source(
                "mm/compaction: skip useless pfn for scanner's cached pfn (2015; Linux 4.6 in part)",
            );
        /// When the end of a pageblock is remembered even if something was taken there.
        cached_always as "cached-always": CachedAlways = CachedAlways::Never,
            .source("mm/compaction: always update cached pfn (2015, not merged)");
        /// Types of pageblocks that pages may move to.
        target_types as "target-types": TargetTypes = TargetTypes::Movable,
            .kernel("suitable_migration_target")
            .source(
                "mm/compaction: make freepage scanner scans non-movable pageblock (2015, not \
                 merged)",
            );
        /// Test for a depleted zone.
        depletion: Depletion = Depletion::Off,
            .source("mm/compaction: introduce compaction depleted state on zone (2015, not merged)");
        /// Extent of a run in a depleted zone.
        scan_limit as "scan-limit": ScanLimit = ScanLimit::Off,
            .source(
                "mm/compaction: limit compaction activity in compaction depleted state (2015, not \
                 merged)",
            );
        /// Treatment of requests after failed runs.
        deferral: Deferral = Deferral::Defer,
            .kernel("defer_compaction, compaction_deferred")
            .source("mm/compaction: remove compaction deferring (2015, not merged)");
        /// Lets both scanners go upwards over the whole zone, past each other, and leave alone the
        /// blocks that the other one filled.
        whole_zone_sweep as "whole-zone-sweep": bool = false,
            .source("mm/compaction: redesign compaction (2015, not merged)");
        /// Number of successes in a cycle that keep a zone from being depleted.
        deplete_threshold as "deplete-threshold": OrNumber<DepleteThreshold> =
            OrNumber::Word(DepleteThreshold::One),
            .numbers(1, 1_000_000)
            .source("mm/compaction: new threshold for compaction depleted zone (2015, not merged)");
        /// Lets each scanner skip a pageblock for reasons of its own.
        two_skip_bits as "two-skip-bits": bool = false,
            .source("mm/compaction: redesign compaction (second revision, 2015, not merged)");
        /// Which large free blocks are no targets.
        spare_free as "spare-free": SpareFree =
            SpareFree::Pageblock, "6.12" => SpareFree::RequestedFirst,
            .source(
                "mm/compaction: don't use higher order freepage than compaction aims at (2015, not \
                 merged)",
            );
        /// Counts a sweep that finds no target as a failure.
        no_target_completes as "no-target-completes": bool = false,
            .source("mm/compaction: redesign compaction (second revision, 2015, not merged)");
        /// Way of the scanners through a pageblock, and the end of a run.
        scanners: Scanners = Scanners::V4_1, "5.1" => Scanners::V6,
            .kernel("isolate_migratepages_block")
            .source("the compaction series of Linux 5.1, and what followed to 6.12");
        /// Finds pageblocks by a look at the free lists before frames are scanned.
        fast_search as "fast-search": bool = false, "5.1" => true,
            .kernel("fast_find_migrateblock, fast_isolate_freepages")
            .source(
                "mm, compaction: use free lists to quickly locate a migration source; ... target \
                 (Linux 5.1)",
            );
        /// Gives a source that the free lists named its skip bit at once, which makes the scanner
        /// pass over it: the look is of no use, and the pageblock is lost until the next reset.
        found_is_skipped as "found-is-skipped": bool = false, "5.1" => true, "6.12" => false,
            .source(
                "mm, compaction: keep migration source private to a single compaction instance \
                 (Linux 5.1, undone in 6.3)",
            );
        /// Lets the search for targets look at every 32nd frame only, the more so the longer it
        /// finds none.
        free_stride as "free-stride": bool = false, "5.1" => true,
            .kernel("isolate_freepages_block")
            .source(
                "mm, compaction: round-robin the order while searching the free lists for a target; \
                 ... sample pageblocks for free pages (Linux 5.1)",
            );
        /// Lets an asynchronous run on behalf of a request take pages only where a whole block of
        /// the wanted order can be taken, and from pageblocks of the request's type.
        abandon_groups as "abandon-groups": bool = false, "5.1" => true,
            .kernel("next_skip_pfn")
            .source(
                "mm, compaction: abort free scanner if split fails; ... skip blocks where isolation \
                 fails in async direct compaction (Linux 4.7, 4.13)",
            );
        /// Which pageblocks an asynchronous run on behalf of an unmovable or reclaimable request
        /// takes from. The look at the free lists is for the same requests.
        async_sources as "async-sources": AsyncSources =
            AsyncSources::OwnType, "7.3" => AsyncSources::LargeFromMovable,
            .kernel("suitable_migration_source")
            .source(
                "mm/compaction.c of Linux 7.2 (suitable_migration_source, fast_find_migrateblock)",
            );
        /// When all of a pageblock is taken at once.
        finish_pageblock as "finish-pageblock": FinishPageblock =
            FinishPageblock::Never, "5.1" => FinishPageblock::Revisited,
            "6.12" => FinishPageblock::Failed,
            .kernel("finish_pageblock")
            .source(
                "mm, compaction: avoid rescanning the same pageblock multiple times (Linux 5.1); \
                 ... finish pageblocks on complete migration failure (Linux 6.3)",
            );
        /// Lets a request take its block the moment it forms.
        capture: bool = false, "5.1" => true,
            .kernel("capture_control")
            .source("mm, compaction: capture a page under direct compaction (Linux 5.1)");
        /// Which page that is taken marks its pageblock as visited.
        skip_mark as "skip-mark": SkipMark = SkipMark::FirstFrame, "6.12" => SkipMark::FirstPage,
            .kernel("test_and_set_skip")
            .source("mm/compaction.c of Linux 6.1 and 6.12 (test_and_set_skip)");
        /// When a run sees that its block was captured.
        capture_seen as "capture-seen": CaptureSeen =
            CaptureSeen::BehindDrain, "6.12" => CaptureSeen::BeforeDrain,
            .source(
                "mm, compaction: check if a page has been captured before draining PCP pages (Linux \
                 6.3)",
            );
        /// Where later searches for targets begin.
        target_hint as "target-hint": TargetHint = TargetHint::Scanned, "6.12" => TargetHint::Below,
            .kernel("fast_isolate_around")
            .source(
                "mm/compaction: set compact_cached_free_pfn correctly in update_pageblock_skip \
                 (Linux 6.6); mm/compaction.c of 6.1 and 6.12 (fast_isolate_around)",
            );
        /// Counts frames behind the first of a free block as scanned for sources.
        count_tails as "count-tails": bool = false, "6.12" => true,
            .source("mm/compaction: correctly return failure with bogus compound_order (Linux 6.6)");
        /// Which target is used next.
        target_order as "target-order": TargetOrder =
            TargetOrder::LastFirst, "6.12" => TargetOrder::ByOrder,
            .source("mm/compaction: add support for >0 order folio memory compaction (Linux 6.9)");
        /// In which mode compaction runs for requests.
        request_modes as "request-modes": RequestModes = RequestModes::AsyncFirst,
            .source("what reviewers of the series asked to see (2015)");
        /// Time for which a pageblock that the sweep filled is no source.
        undo_prevention as "undo-prevention": UndoPrevention = UndoPrevention::Cycle,
            .source(
                "mm/compaction: redesign compaction (2015, not merged); what its author kept back \
                 is not posted, this is a reading of it",
            );
        /// Pages that are moved together (COMPACT_CLUSTER_MAX).
        cluster_max as "cluster-max": u32 = 32,
            .range(1, 512)
            .kernel("COMPACT_CLUSTER_MAX, SWAP_CLUSTER_MAX")
            .source("Linux 3.5");
        /// At most one request in this power of two is refused or limited after failures
        /// (COMPACT_MAX_DEFER_SHIFT).
        max_defer_shift as "max-defer-shift": u32 = 6,
            .range(0, 31)
            .kernel("COMPACT_MAX_DEFER_SHIFT")
            .source("Linux 2.6.35");
        /// Failures in a row after which what was learned is forgotten (COMPACT_MAX_FAILED).
        max_failed as "max-failed": u32 = 4,
            .range(1, 1000)
            .kernel("COMPACT_MAX_FAILED")
            .source("mm/compaction: remove compaction deferring (2015, not merged)");
    }
    presets PRESETS;
    check CompactionConfig::contradiction;
}

impl CompactionConfig {
    /// True if a knob of the series of 2015 is set.
    fn has_series_of_2015(&self) -> bool {
        self.skip_needs_full_block
            || self.cached_pfn != CachedPfn::FirstScanned
            || self.cached_always != CachedAlways::Never
            || self.target_types != TargetTypes::Movable
            || self.depletion != Depletion::Off
            || self.deferral != Deferral::Defer
            || self.whole_zone_sweep
    }

    /// True if a knob of the scanners of 5.1 and later is set.
    fn has_knobs_of_v6(&self) -> bool {
        self.fast_search
            || self.found_is_skipped
            || self.free_stride
            || self.abandon_groups
            || self.async_sources != AsyncSources::OwnType
            || self.finish_pageblock != FinishPageblock::Never
            || self.capture
            || self.skip_mark != SkipMark::FirstFrame
            || self.capture_seen != CaptureSeen::BehindDrain
            || self.target_hint != TargetHint::Scanned
            || self.count_tails
            || self.target_order != TargetOrder::LastFirst
    }

    /// A combination that no kernel could mean: the knob, what to write instead, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let by_depth = matches!(self.scan_limit, ScanLimit::V1 | ScanLimit::V2);
        let v6 = self.scanners == Scanners::V6;
        let rules: [(bool, &'static str, &'static str, &'static str); 8] = [
            (
                v6 && self.has_series_of_2015(),
                "scanners",
                "scanners = \"v4.1\", or the knobs of the series of 2015 as in compaction-v4.1",
                "the series of 2015 was made for the scanners of 4.1",
            ),
            (
                !v6 && self.has_knobs_of_v6(),
                "scanners",
                "scanners = \"v6\"",
                "what 5.1 and later kernels added needs their scanners",
            ),
            (
                by_depth && self.depletion == Depletion::Off,
                "scan-limit",
                "depletion = \"v1\"",
                "without depletion no zone has a depth that could limit a run",
            ),
            (
                (self.scan_limit == ScanLimit::V3) != (self.deferral == Deferral::Limit),
                "scan-limit",
                "both scan-limit = \"v3\" and deferral = \"limit\", or neither",
                "the limit of v3 is what becomes of its failures",
            ),
            (
                self.target_types == TargetTypes::AnyWhenDepleted
                    && self.depletion == Depletion::Off,
                "target-types",
                "target-types = \"movable\"",
                "without depletion there is no rule for when other types are allowed",
            ),
            (
                self.two_skip_bits && !self.whole_zone_sweep,
                "two-skip-bits",
                "whole-zone-sweep = \"yes\"",
                "scanners that never pass each other have no pageblock in common",
            ),
            (
                self.undo_prevention != UndoPrevention::Cycle && !self.whole_zone_sweep,
                "undo-prevention",
                "whole-zone-sweep = \"yes\"",
                "scanners that never pass each other take nothing from what they filled",
            ),
            (
                self.no_target_completes && !self.whole_zone_sweep,
                "no-target-completes",
                "whole-zone-sweep = \"yes\"",
                "other runs end when the scanners meet",
            ),
        ];
        let found = rules.into_iter().find(|r| r.0);
        found.map(|(_, knob, instead, because)| (knob, instead, because))
    }
}
