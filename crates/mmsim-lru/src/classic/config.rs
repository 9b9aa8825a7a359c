//! Configuration of the classic LRU: one knob per decision that a kernel release or a patch
//! changed.
//!
//! Between Linux 5.5 and 6.12 the two-list LRU kept its shape and changed its details: where a new
//! anonymous page starts, how often it must be referenced, what a refault is compared with, how
//! scanning is split between anonymous and file pages. Each of these details is a field of
//! [`ClassicConfig`], so that any release is a point in this space and so is every step between two
//! releases. The [presets](PRESETS) are such points.
//!
//! The same table that makes the struct makes the knobs that scenario files write (`anon-start =
//! "inactive"`): name, allowed values, where it comes from, reading and writing as text. There is
//! no `Default`: the caller says which kernel it means.
//!
//! Not here, because they belong to the machine: `swappiness` (a sysctl), the size of the LRU
//! batches, the reclaim cluster of 32 pages and the first priority of 12.

mod presets;

pub use crate::settings::{KnobError, Row, Settings};
pub use presets::{PRESETS, Preset, preset, preset_for_kernel};

use mmsim_core::base::settings::OrNumber;
use mmsim_core::{settings, words};

words! {
    /// Number of active anonymous pages that one inactive page may face.
    AnonRatio {
        Sqrt = "sqrt", "floor(sqrt(10·GiB)) of the type's size, 1 below 1 GiB, as for file pages.";
        One = "one", "Always 1: both lists are kept at equal length.";
    }
    /// Where a new anonymous page starts.
    AnonStart {
        Active = "active", "On the active list: a page used once pushes older pages out of it.";
        Inactive = "inactive",
            "On the inactive list: it must prove itself, the active list is protected.";
    }
    /// Meaning of a reference to a page met on the inactive list.
    AnonRefRule {
        OneTouch = "one-touch", "An anonymous page that was referenced at all is activated.";
        OneTouchBoth = "one-touch-both",
            "A page of either type that was referenced at all is activated, as MGLRU up to 6.12 \
             promotes it.";
        TwoTouchV1 = "two-touch-v1",
            "An anonymous page is activated when two successive inactive scans find it \
             referenced, however many mappings refer to it. The mark does not outlive the \
             activation.";
        MappedFileRule = "mapped-file-rule",
            "Anonymous pages follow the rule of mapped file pages: two scans or two mappings; \
             the mark stays set.";
        V6_1 = "v6.1",
            "As mapped-file-rule; a page in a locked VMA is activated instead of reclaimed, \
             contention on the reverse map keeps it.";
        V6_12 = "v6.12",
            "As v6.1. Linux 6.12 also keeps pages that only an exiting process maps, which is \
             not modelled.";
    }
    /// Size that the refault distance is compared with.
    WsThreshold {
        ActiveFile = "active-file", "The active file list.";
        ActiveOwnType = "active-own-type", "The active list of the page's own type.";
        V5_8 = "v5.8",
            "Active file pages and, while there is swap, all anonymous pages. File refaults only.";
        V5_9 = "v5.9",
            "All lists but the inactive one of the page's own type; the anonymous lists only \
             while there is swap.";
        OwnInactive = "own-inactive",
            "The inactive list of the page's own type: what was evicted since would fit onto it. The \
             rule of MGLRU with that list as the oldest generation, which still is the one evicted \
             from.";
    }
    /// Whose lists decide whether active ones are scanned.
    InactiveRatioScope {
        Target = "target",
            "Those of all groups below the one that reclaim is about, as in global reclaim of the \
             root: asked once a pass.";
        Lruvec = "lruvec", "Those of each group separately, before each scan.";
    }
    /// Limit on the number of shadow entries.
    ShadowLimitScope {
        Memcg = "memcg", "The pages of the memory cgroup: of the root group only its own.";
        Node = "node", "For the root group all pages that can be reclaimed.";
    }
    /// Eviction of a page that belongs to no memory cgroup.
    EvictWithoutMemcg {
        Count = "count", "It counts for the root group like any other page.";
        Skip = "skip", "It leaves no shadow and moves no age.";
    }
    /// Which anonymous arrivals count as rotated in the rotate model.
    NewAnonRotated {
        ByActive = "by-active", "Pages that are put on the active list.";
        Forced = "forced", "Also every new anonymous page, active or not.";
        ForcedLeaky = "forced-leaky",
            "As forced, and after one such page all later pages of the same batch count as well.";
        AllAnon = "all-anon", "Every anonymous page that is put on a list, new or put back.";
    }
    /// Which events move which age counter.
    AgeModel {
        FileOnly = "file-only", "One counter; only file pages move it.";
        PerType = "per-type", "A counter per type; each type moves its own.";
        Unified = "unified",
            "One counter that both types move; pages put back active, by either scan, move it as \
             well.";
    }
    /// Division of scanning between anonymous and file pages.
    BalanceModel {
        Rotate = "rotate",
            "By the share of scanned pages that were kept: what rotates is left alone.";
        Cost58 = "cost-5.8",
            "By I/O cost: pages read from swap, refaults of workingset file pages, pages written \
             by reclaim.";
        Cost59 = "cost-5.9",
            "By I/O cost: refaults of workingset pages of either type, pages written by reclaim.";
        Cost612 = "cost-6.12",
            "As cost-5.9, each I/O weighing 32, plus one for every page scanned in vain.";
        Cost73 = "cost-7.3",
            "The costs of cost-6.12, which count from the next pass on, advice included, and halve \
             until they are a quarter of the lists.";
    }
    /// Where lazily freed memory goes.
    LazyfreePlace {
        Classic = "classic",
            "To the head of the inactive file list: it goes behind the file pages that are there.";
        Tail = "tail",
            "To the tail of the inactive file list: freed first, the last one first.";
        OwnList2015a = "own-list-2015a",
            "To the head of a list of its own, without swap too. `vm.lazyfreeness` (40) divides \
             scanning between three kinds of lists; from 80 on only this one is scanned while it has \
             pages. As posted: it gets the share of anonymous memory by mistake.";
        OwnList2015aFixed = "own-list-2015a-fixed", "As own-list-2015a, with the share that was meant.";
        OwnList2015b = "own-list-2015b",
            "To the head of a list of its own, without swap too. A pass scans some of it besides the \
             other lists: the pages wanted times the steps below priority 12 times \
             `vm.lazyfreeness` (20) / 50.";
    }
    /// Where accessed bits are looked for, besides at the tail of a list.
    BitsFound {
        Tail = "tail", "Nowhere else.";
        Around = "around",
            "Beside a page that an inactive scan found accessed too, up to 64 entries of its page \
             table.";
        Walk = "walk",
            "In the page tables of all processes too, before the first pass of a run of kswapd.";
    }
    /// Rounding of a list's share of the scan work.
    ScanRounding {
        Up = "up", "Up: a list with any share is scanned.";
        Down = "down", "Down: small shares of small lists vanish until the priority drops.";
    }
}

settings! {
    /// The knobs of the classic LRU. Every field has one name in scenario files: the same with
    /// dashes.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ClassicConfig {
        /// Number of active anonymous pages that one inactive anonymous page may face before the
        /// active list is scanned.
        anon_ratio as "anon-ratio": OrNumber<AnonRatio> = OrNumber::Word(AnonRatio::Sqrt),
            .numbers(1, 1_000_000)
            .kernel("inactive_is_low")
            .source("mm/vmscan: make active/inactive ratio as 1:1 for anon lru (2020, not merged)");
        /// The list on which a new anonymous page starts.
        anon_start as "anon-start": AnonStart = AnonStart::Active, "5.9" => AnonStart::Inactive,
            .kernel("lru_cache_add_inactive_or_unevictable")
            .source("mm/vmscan: protect the workingset on anonymous LRU (Linux 5.9)");
        /// Activates a page read from swap once it is mapped. Without effect on a page that is
        /// still in a batch.
        swapin_activate as "swapin-activate": bool = true, "5.9" => false,
            .source("mm/vmscan: protect the workingset on anonymous LRU (Linux 5.9)");
        /// Judgement of an inactive page that was referenced.
        anon_ref_rule as "anon-ref-rule": AnonRefRule =
            AnonRefRule::OneTouch, "5.9" => AnonRefRule::MappedFileRule,
            "6.1" => AnonRefRule::V6_1, "6.12" => AnonRefRule::V6_12,
            .kernel("folio_check_references")
            .source(
                "mm/vmscan: protect the workingset on anonymous LRU (first and later revisions), \
                 Linux 6.1",
            );
        /// Lets demotion of an anonymous page test and clear the young bits; else they are left for
        /// the inactive scan.
        anon_demote_clears_young as "anon-demote-clears-young": bool = true,
            .source("mm/vmscan: protect the workingset on anonymous LRU (no: revisions 1 and 2)");
        /// Keeps refault and activation counters and their snapshots per type, so that an activated
        /// anonymous refault opens the active anonymous list. Otherwise all share one and open the
        /// active file list.
        ws_split as "ws-split": bool = false, "5.9" => true,
            .source("mm/workingset: extend the workingset detection for anon LRU (Linux 5.9)");
        /// The number of pages within whose distance a refault is activated.
        ws_threshold as "ws-threshold": WsThreshold =
            WsThreshold::ActiveFile, "5.8" => WsThreshold::V5_8, "5.9" => WsThreshold::V5_9,
            .kernel("workingset_refault")
            .source(
                "mm/workingset: extend the workingset detection for anon LRU; mm: workingset: let \
                 cache workingset challenge anon (Linux 5.8)",
            );
        /// Reads the threshold from the wrong statistic, so that anonymous refaults are compared
        /// with the active file list.
        ws_v1_index_bug as "ws-v1-index-bug": bool = false,
            .source("mm/workingset: extend the workingset detection for anon LRU (as first posted)");
        /// Lets a swap slot hold a shadow entry.
        swapcache_shadows as "swapcache-shadows": bool = false, "5.9" => true,
            .kernel("get_shadow_from_swap_cache")
            .source(
                "mm/swapcache: support to handle the exceptional entries in swapcache (Linux 5.9)",
            );
        /// Whose pages limit the number of tree nodes that hold only shadows. Without groups it is
        /// all memory.
        shadow_limit_scope as "shadow-limit-scope": ShadowLimitScope = ShadowLimitScope::Memcg,
            .kernel("count_shadow_nodes")
            .source(
                "mm/workingset: use the node counter if memcg is the root memcg (2020, not merged)",
            );
        /// Fate of the shadow of a page without memory cgroup.
        evict_without_memcg as "evict-without-memcg": EvictWithoutMemcg = EvictWithoutMemcg::Count,
            .source("mm/workingset: handle the page without memcg (2020)");
        /// Lets evicted anonymous pages leave shadows, and activates their refaults.
        anon_workingset as "anon-workingset": bool = false, "5.9" => true,
            .source("mm/swap: implement workingset detection for anonymous LRU (Linux 5.9)");
        /// Lists whose sizes are compared to open the active ones: those of all groups, or those of
        /// each group.
        inactive_ratio_scope as "inactive-ratio-scope": InactiveRatioScope =
            InactiveRatioScope::Target,
            .kernel("may_deactivate")
            .source("mm: vmscan: enforce inactive:active ratio at the reclaim root (Linux 5.5)");
        /// Leaves anonymous pages alone where inactive file pages are many, although activated
        /// refaults say that the active ones are not needed either.
        trim_ignores_refaults as "trim-ignores-refaults": bool = false,
            .source("mm: vmscan: enforce inactive:active ratio at the reclaim root (before: yes)");
        /// Lets an activation by the inactive scan move the age of the page's type. Part of the
        /// unified age model.
        age_on_scan_activation as "age-on-scan-activation": bool = false,
            .source("mm/swap: implement workingset detection for anonymous LRU (first posting)");
        /// Which pages count as rotated when they are put on an anonymous list. Without effect in
        /// the cost models.
        new_anon_rotated as "new-anon-rotated": NewAnonRotated = NewAnonRotated::ByActive,
            .kernel("update_page_reclaim_stat")
            .source(
                "mm/swap: count a new anonymous page as a reclaim_state's rotate (2020, not merged)",
            );
        /// Gives a page read through the swap cache the workingset flag, so that its next refault
        /// counts as restored.
        swapin_sets_workingset as "swapin-sets-workingset": bool = true, "6.1" => false,
            .source("Linux up to 5.9; gone in 6.1");
        /// Which events move the age counter that refault distances are measured with.
        age_model as "age-model": AgeModel = AgeModel::FileOnly, "5.8" => AgeModel::Unified,
            .kernel("workingset_age_nonresident")
            .source(
                "mm/workingset: extend the workingset detection for anon LRU; mm: workingset: age \
                 nonresident information alongside anonymous pages (Linux 5.8)",
            );
        /// Division of scanning between anonymous and file pages.
        balance_model as "balance-model": BalanceModel =
            BalanceModel::Rotate, "5.8" => BalanceModel::Cost58, "5.9" => BalanceModel::Cost59,
            "6.6" => BalanceModel::Cost612, "7.3" => BalanceModel::Cost73,
            .kernel("get_scan_count, lru_note_cost")
            .source(
                "mm: balance LRU lists based on relative thrashing (Linux 5.8); cost-7.3: Linux \
                 7.3, prepare_scan_control",
            );
        /// Lets kswapd write a dirty file page that it meets again, while many are dirty.
        file_writeout as "file-writeout": bool = true, "6.18" => false,
            .kernel("pageout")
            .source("mm: vmscan: remove writeback of file pages from reclaim (by Linux 6.17: no)");
        /// Rounding of a list's share of the scan work when the work is split by fractions.
        scan_rounding as "scan-rounding": ScanRounding =
            ScanRounding::Up, "5.8" => ScanRounding::Down,
            .kernel("DIV64_U64_ROUND_UP")
            .source("mm/vmscan.c: don't round up scan size for online memory cgroup (Linux 5.6)");
        /// Advances the age before it is stored in the shadow, which makes refault distances
        /// smaller by one.
        shadow_e_includes_self as "shadow-e-includes-self": bool = true, "6.1" => false,
            .source("Linux up to 5.9; the other order in 6.1");
        /// Place of a page after MADV_FREE.
        lazyfree: LazyfreePlace = LazyfreePlace::Classic,
            .kernel("lru_lazyfree")
            .source(
                "mm: add lazyfree folio to lru tail (2024, not merged); mm: add knob to tune \
                 lazyfreeing (2015, two versions, not merged)",
            );
        /// Where accessed bits are looked for, besides at the tail of a list. A page found accessed
        /// there is treated as if the scan had met it.
        bits_found as "bits-found": BitsFound = BitsFound::Tail,
            .kernel("lru_gen_look_around")
            .source(
                "MGLRU on two lists, not posted: mm: multi-gen LRU: exploit locality in rmap, \
                 support page table walks (Linux 6.1)",
            );
        /// Ends a scan that met its target and gave up the smaller type after the next round.
        /// Otherwise it finishes the reduced work of the larger type.
        stop_after_adjust as "stop-after-adjust": bool = false, "6.1" => true,
            .kernel("shrink_lruvec")
            .source("mm: vmscan: fix extreme overreclaim and swap floods (Linux 6.1)");
        /// Lets kswapd start over without cache trim mode when a whole run reclaimed nothing and
        /// had used it.
        kswapd_retry_without_cache_trim as "kswapd-retry-without-cache-trim": bool =
            false, "6.12" => true,
            .kernel("cache_trim_mode_failed")
            .source(
                "mm, vmscan: retry kswapd's priority loop with cache_trim_mode off on failure (in \
                 Linux 6.12)",
            );
    }
    presets PRESETS;
    check ClassicConfig::contradiction;
}

impl LazyfreePlace {
    /// True if lazily freed memory has a list of its own.
    pub const fn is_own_list(self) -> bool {
        !matches!(self, LazyfreePlace::Classic | LazyfreePlace::Tail)
    }

    /// True if scanning is divided between three kinds of lists.
    const fn shares_by_rotation(self) -> bool {
        matches!(self, LazyfreePlace::OwnList2015a | LazyfreePlace::OwnList2015aFixed)
    }

    /// `vm.lazyfreeness` in force, 0..=100: as it was written, or the default of the version.
    pub(super) fn lazyfreeness(self, written: Option<u32>) -> u64 {
        let default = if self.shares_by_rotation() { 40 } else { 20 };
        written.unwrap_or(default).into()
    }
}

impl ClassicConfig {
    /// A combination that no kernel could mean: the knob, what to write instead, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let unified = self.age_model == AgeModel::Unified;
        let rotate = self.balance_model == BalanceModel::Rotate;
        let rules: [(bool, &'static str, &'static str, &'static str); 7] = [
            (
                self.anon_workingset && !self.swapcache_shadows,
                "anon-workingset",
                "swapcache-shadows = \"yes\"",
                "an evicted anonymous page would have no place for its shadow",
            ),
            (
                self.anon_workingset && self.age_model == AgeModel::FileOnly,
                "anon-workingset",
                "age-model = \"per-type\" or \"unified\"",
                "no age would advance with anonymous evictions",
            ),
            (
                self.anon_workingset && self.ws_threshold == WsThreshold::V5_8,
                "ws-threshold",
                "ws-threshold = \"v5.9\"",
                "the threshold of 5.8 is defined for file refaults only",
            ),
            (
                self.age_on_scan_activation && self.age_model != AgeModel::PerType,
                "age-on-scan-activation",
                "age-on-scan-activation = \"no\"",
                if unified {
                    "the unified age counts these activations already"
                } else {
                    "without an age per type there is none that an anonymous activation could move"
                },
            ),
            (
                self.ws_v1_index_bug && self.ws_threshold != WsThreshold::ActiveOwnType,
                "ws-v1-index-bug",
                "ws-threshold = \"active-own-type\"",
                "only the threshold of the page's own type was ever read with a wrong index",
            ),
            (
                self.new_anon_rotated != NewAnonRotated::ByActive && !rotate,
                "new-anon-rotated",
                "new-anon-rotated = \"by-active\" or balance-model = \"rotate\"",
                "the cost models do not look at rotated arrivals",
            ),
            (
                self.lazyfree.shares_by_rotation() && !rotate,
                "lazyfree",
                "lazyfree = \"own-list-2015b\" or balance-model = \"rotate\"",
                "the shares of three kinds of lists go by what rotates",
            ),
        ];
        let found = rules.into_iter().find(|r| r.0);
        found.map(|(_, knob, instead, because)| (knob, instead, because))
    }

    /// True if an activated anonymous refault since the last snapshot opens the active anonymous
    /// list. If not, it counts in the one counter that there is, which opens the active file list.
    pub const fn anon_activations_open_deactivation(&self) -> bool {
        self.ws_split
    }

    /// True if the active scan counts a young page as rotated even if it demotes it. The rotate
    /// model does; the cost models count only pages that stay.
    pub const fn demoted_young_counts_as_rotated(&self) -> bool {
        matches!(self.balance_model, BalanceModel::Rotate)
    }

    /// True if a page in a locked VMA is activated by the inactive scan instead of being unmapped.
    pub const fn locked_is_activated(&self) -> bool {
        matches!(self.anon_ref_rule, AnonRefRule::V6_1 | AnonRefRule::V6_12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_takes_every_value_it_names_and_says_it_back() {
        for knob in ClassicConfig::ROWS {
            for value in knob.allowed() {
                let mut c = ClassicConfig::V6_12;
                c.set(knob.name, value).unwrap();
                assert_eq!(c.get(knob.name).as_deref(), Some(value), "{}", knob.name);
            }
            assert!(!knob.doc.is_empty() && !knob.source.is_empty());
        }
        assert_eq!(ClassicConfig::V5_5.get("no-such-knob"), None);
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        let mut c = ClassicConfig::V5_5;
        let said = |e: Result<(), KnobError>| e.unwrap_err().to_string();
        assert_eq!(
            said(c.set("anon_strat", "active")),
            "unknown knob \"anon_strat\", did you mean \"anon-start\"?"
        );
        assert_eq!(said(c.set("swappiness", "60")), "unknown knob \"swappiness\"");
        assert_eq!(
            said(c.set("anon-start", "middle")),
            "anon-start: unknown value \"middle\", write one of \"active\", \"inactive\""
        );
        assert_eq!(c, ClassicConfig::V5_5);
        c.anon_workingset = true;
        assert_eq!(
            said(c.validate()),
            "anon-workingset = \"yes\" makes no sense here: an evicted anonymous page would have no \
             place for its shadow; write swapcache-shadows = \"yes\""
        );
    }

    #[test]
    fn contradictions_are_rejected() {
        let rejected = |base: ClassicConfig, settings: &[(&str, &str)]| {
            let mut c = base;
            for (knob, value) in settings {
                c.set(knob, value).unwrap();
            }
            c.validate().is_err()
        };
        assert!(!rejected(ClassicConfig::V5_9, &[("ws-split", "no")]));
        assert!(rejected(ClassicConfig::V5_9, &[("age-model", "file-only")]));
        assert!(rejected(ClassicConfig::V5_9, &[("ws-threshold", "v5.8")]));
        assert!(rejected(ClassicConfig::V5_9, &[("age-on-scan-activation", "yes")]));
        assert!(rejected(ClassicConfig::V5_5, &[("age-on-scan-activation", "yes")]));
        assert!(rejected(ClassicConfig::V5_9, &[("new-anon-rotated", "forced")]));
        assert!(rejected(ClassicConfig::V5_9, &[("ws-v1-index-bug", "yes")]));
        assert!(!rejected(ClassicConfig::V5_5, &[("new-anon-rotated", "forced-leaky")]));
    }
}
