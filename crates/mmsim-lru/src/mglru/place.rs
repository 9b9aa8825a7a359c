//! The generation in which a folio starts.
//!
//! Source: Linux 6.7, 6.8, 6.14 and 7.2 include/linux/mm_inline.h (`lru_gen_add_folio`,
//! `lru_gen_folio_seq`).

use super::config::Placement;
use crate::index::{MAX_NR_GENS, MIN_NR_GENS};
use mmsim_core::phys::frames::flag;

/// Inputs of the decision.
#[derive(Clone, Copy, Debug)]
pub struct Placing {
    /// Flags of the folio.
    pub bits: u32,
    /// Oldest generation of its type.
    pub min_seq: u64,
    /// Youngest generation.
    pub max_seq: u64,
    /// It is to be evicted before all others (`reclaiming`).
    pub first_to_go: bool,
}

/// The sequence number of the generation that a folio is added to.
#[inline]
pub fn seq_of(rule: Placement, p: Placing) -> u64 {
    let has = |bits: u32| p.bits & bits != 0;
    let anon = has(flag::SWAPBACKED) && !has(flag::SWAPCACHE);
    let waits = has(flag::RECLAIM) && has(flag::DIRTY | flag::WRITEBACK);
    match rule {
        Placement::PreFix | Placement::PostFix if has(flag::ACTIVE) => p.max_seq,
        Placement::PreFix if anon || waits => p.min_seq + 1,
        Placement::PreFix => p.min_seq,
        Placement::PostFix if anon || waits => p.max_seq - 1,
        Placement::PostFix if p.first_to_go || p.min_seq + MIN_NR_GENS >= p.max_seq => p.min_seq,
        Placement::PostFix => p.min_seq + 1,
        Placement::Distance614 | Placement::Distance72 => {
            let workingset = u64::from(has(flag::WORKINGSET));
            let marked = rule == Placement::Distance72 && has(flag::REFERENCED);
            // Counted from the youngest, which is 1, as far as there are generations.
            let nth = if has(flag::ACTIVE) {
                MIN_NR_GENS - workingset
            } else if p.first_to_go {
                MAX_NR_GENS as u64
            } else if anon || waits {
                MIN_NR_GENS
            } else {
                MAX_NR_GENS as u64 - workingset.max(u64::from(marked))
            };
            (p.max_seq + 1 - nth).max(p.min_seq)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANON: u32 = flag::SWAPBACKED;
    const CACHED: u32 = flag::SWAPBACKED | flag::SWAPCACHE;
    const WAITS: u32 = flag::RECLAIM | flag::DIRTY;

    /// Generations that folios with some flags start in, for four generations (4 to 7) and for
    /// three (5 to 7).
    #[test]
    fn where_folios_start() {
        let at = |rule, bits, first_to_go| {
            [4, 5].map(|min_seq| seq_of(rule, Placing { bits, min_seq, max_seq: 7, first_to_go }))
        };
        use Placement::{Distance72, Distance614, PostFix, PreFix};
        for (bits, pre, post, distance) in [
            (flag::ACTIVE, [7, 7], [7, 7], [6, 6]),
            (flag::ACTIVE | flag::WORKINGSET, [7, 7], [7, 7], [7, 7]),
            (ANON, [5, 6], [6, 6], [6, 6]),
            (CACHED, [4, 5], [5, 5], [4, 5]),
            (WAITS, [5, 6], [6, 6], [6, 6]),
            (flag::RECLAIM, [4, 5], [5, 5], [4, 5]),
            (flag::WORKINGSET, [4, 5], [5, 5], [5, 5]),
            (0, [4, 5], [5, 5], [4, 5]),
        ] {
            assert_eq!(at(PreFix, bits, false), pre, "{bits:#x}");
            assert_eq!(at(PostFix, bits, false), post, "{bits:#x}");
            assert_eq!(at(Distance614, bits, false), distance, "{bits:#x}");
            assert_eq!(at(Distance72, bits, false), distance, "{bits:#x}");
        }
        for rule in [PreFix, PostFix, Distance614, Distance72] {
            assert_eq!(at(rule, 0, true), [4, 5]);
        }
    }

    /// Places of the same page in 6.18 and 7.2, with generations 4 to 7 and with 6 and 7.
    #[test]
    fn pages_of_faults_and_reads_in_6_18_and_7_2() {
        use Placement::{Distance72, Distance614};
        let (active, marked) = (flag::ACTIVE, flag::REFERENCED);
        for (what, v6_18, v7_2, of_four, of_two) in [
            ("new anonymous", ANON | active, ANON | marked, [6, 6], [6, 6]),
            ("mapped file, in a fault", active, marked, [6, 5], [6, 6]),
            ("read", 0, 0, [4, 4], [6, 6]),
            (
                "refaulted workingset, in a fault",
                active | flag::WORKINGSET,
                active | flag::WORKINGSET,
                [7, 7],
                [7, 7],
            ),
            ("refaulted workingset, read", flag::WORKINGSET, flag::WORKINGSET, [5, 5], [6, 6]),
            ("read, and marked in the batch", marked, marked, [4, 5], [6, 6]),
        ] {
            let at = |min_seq| {
                [(Distance614, v6_18), (Distance72, v7_2)].map(|(rule, bits)| {
                    seq_of(rule, Placing { bits, min_seq, max_seq: 7, first_to_go: false })
                })
            };
            assert_eq!((at(4), at(6)), (of_four, of_two), "{what}");
        }
    }
}
