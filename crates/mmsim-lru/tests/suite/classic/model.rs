//! The naive twin of the whole policy is itself put to the test: small cases followed by hand, and
//! the invariants of the lists under random operations.

use super::drawn::{START, near_a_preset, op};
use crate::model::classic::{ANON, FILE, KernelModel, Kind, Op, Pass, State};
use mmsim_core::base::settings::OrNumber;
use mmsim_lru::config::{
    AnonRatio, BalanceModel, ClassicConfig, InactiveRatioScope, NewAnonRotated, PRESETS, Row,
    Settings as _,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn model(config: ClassicConfig) -> KernelModel {
    KernelModel::new(config, 60, 1000)
}

/// Anonymous pages 0.. as their first access left them.
fn with_anon(config: ClassicConfig, pages: u32) -> KernelModel {
    let mut m = model(config);
    for id in 0..pages {
        m.add_new_anon(id);
    }
    m
}

#[test]
fn new_pages_of_v5_5_collapse_the_active_list_in_steps_of_32() {
    let mut m = with_anon(ClassicConfig::V5_5, 100);
    assert_eq!(m.sizes(), [0, 100, 0, 0]);
    m.age_node();
    assert_eq!(m.sizes(), [32, 68, 0, 0]);
    let s = m.state();
    assert_eq!(s.lists[0], (0..32).collect::<Vec<_>>());
    assert!((0..32).all(|id| s.pages[&id].workingset && !s.pages[&id].young));
    // Demoted young pages count as rotated in the rotate model.
    assert_eq!((s.scanned, s.rotated), ([132, 0], [132, 0]));
    m.age_node();
    m.age_node();
    assert_eq!(m.sizes(), [64, 36, 0, 0]);
    assert_eq!((m.counters.pgrefill, m.counters.pgdeactivate), (64, 64));
}

#[test]
fn a_page_used_once_is_evicted_by_its_second_inactive_scan() {
    let mut m = with_anon(ClassicConfig::V5_9, 32);
    let pass = Pass::new(0, 1, Kind::Kswapd);
    let first = m.shrink_node(pass);
    assert_eq!((first.scanned, first.reclaimed), (32, 0));
    assert!(m.state().pages.values().all(|p| p.referenced && !p.young && !p.active));
    let second = m.shrink_node(pass);
    assert_eq!(second.evicted, (0..32).collect::<Vec<_>>());
    assert_eq!((m.counters.pgscan_kswapd, m.counters.pgsteal_kswapd), (64, 32));
    assert_eq!(m.counters.pswpout, 32);
    // Every eviction moves the age and is in its own shadow.
    assert_eq!(m.state().age, [32, 32]);
    assert_eq!(m.state().shadows[&31].age, 32);
}

#[test]
fn refault_within_the_threshold_is_activated_and_opens_the_active_list() {
    let mut m = with_anon(ClassicConfig::V6_12, 64);
    for id in 0..32 {
        m.touch(id);
    }
    m.shrink_node(Pass::new(0, 1, Kind::Direct));
    for id in 0..32 {
        m.touch(id);
    }
    for id in 64..96 {
        m.add_new_anon(id);
    }
    // The first 32 were seen young twice, the next not again, the last once.
    let out = m.shrink_node(Pass::new(0, 64, Kind::Direct));
    assert_eq!(out.evicted, (32..64).collect::<Vec<_>>());
    assert_eq!(m.sizes(), [32, 32, 0, 0]);
    // 32 put back active and 32 evicted; E is read before the increment.
    let s = m.state();
    assert_eq!((s.age, s.shadows[&32].age, s.shadows[&63].age), ([64, 64], 32, 63));
    m.refault(63);
    assert_eq!((m.counters.refault[ANON], m.counters.activate[ANON]), (1, 1));
    // 65 − 32 = 33 pages ago, 33 active.
    m.refault(32);
    assert_eq!(m.counters.activate[ANON], 2);
    // 66 − 33 = 33, 34 active; then 67 − 34 = 33.
    m.refault(33);
    assert_eq!(m.counters.activate[ANON], 3);
    assert_eq!(m.counters.restore[ANON], 0);
}

#[test]
fn file_pages_need_two_calls_and_executable_ones_stay_active() {
    for preset in PRESETS {
        let mut m = model(preset.config);
        for id in 0..4 {
            m.add_new_file(id);
        }
        m.mark_accessed(1);
        m.mark_accessed(2);
        m.mark_accessed(2);
        assert_eq!(m.state().lists[2], [0, 1, 3]);
        assert_eq!(m.state().lists[3], [2]);
        assert_eq!(m.state().age[FILE], 1);
        m.map(3, true);
        // Page 0 goes; 1 was referenced by a call only, which does not save a clean page; 3 is
        // executed.
        let out = m.shrink_node(Pass { may_swap: false, ..Pass::new(0, 32, Kind::Direct) });
        assert_eq!(out.evicted, [0, 1]);
        // 5.1 asks for the ratio again when the inactive list was scanned, and 2 goes there.
        let asks_again = preset.config.inactive_ratio_scope == InactiveRatioScope::Lruvec;
        assert_eq!(m.state().lists[3], if asks_again { vec![3] } else { vec![2, 3] });
        m.touch(3);
        m.shrink_node(Pass { force_deactivate: true, ..Pass::new(0, 32, Kind::Direct) });
        assert!(m.flags(3).active && !m.flags(3).young);
    }
}

#[test]
fn a_lazily_freed_page_goes_unless_it_was_written() {
    for preset in PRESETS {
        let mut m = with_anon(preset.config, 4);
        (0..4).for_each(|id| m.free_lazily(id));
        m.write(1);
        m.touch(2);
        assert_eq!(m.state().lists, [vec![], vec![], vec![0, 1, 2, 3], vec![]]);
        // Clean and unused pages go without a trace, accessed ones like a file's go round again.
        let pass = Pass { may_swap: false, ..Pass::new(0, 32, Kind::Direct) };
        let out = m.shrink_node(pass);
        assert_eq!((out.reclaimed, out.evicted.len(), m.evicted().len()), (2, 0, 0));
        assert_eq!(m.state().lists, [vec![], vec![], vec![1, 2], vec![]]);
        // What was written turns into active anonymous memory, of which there is too much then.
        m.shrink_node(pass);
        assert_eq!(m.state().lists, [vec![1], vec![], vec![], vec![]]);
        let c = m.counters;
        assert_eq!((c.pglazyfree, c.pglazyfreed, c.pgsteal), (4, 3, [0, 3]));
        assert_eq!((c.pgactivate, c.pgdeactivate, c.pswpout), (1, 1, 0));
        assert_eq!(m.state().shadows.len(), 0);
    }
}

#[test]
fn no_slot_means_activation() {
    let mut m = KernelModel::new(ClassicConfig::V6_12, 60, 2);
    for id in 0..4 {
        m.add_new_anon(id);
    }
    let pass = Pass::new(0, 4, Kind::Kswapd);
    m.shrink_node(pass);
    let out = m.shrink_node(pass);
    assert_eq!((out.scanned, out.evicted), (4, vec![0, 1]));
    // Then the demotion that needs no permission brings them back.
    assert_eq!((m.counters.scan_activated, m.sizes()), (2, [2, 0, 0, 0]));
    // Full: only file lists are scanned.
    assert_eq!(m.shrink_node(pass).scanned, 0);
}

#[test]
fn costs_follow_io_and_in_6_12_vain_scans() {
    let run = |config| {
        let mut m = with_anon(config, 1000);
        m.shrink_node(Pass { free: 1, ..Pass::new(4, 64, Kind::Kswapd) });
        m.state().cost
    };
    // 18 pages, 60/200 of one in 16, were looked at and kept.
    assert_eq!(run(ClassicConfig::V5_9), [0, 0]);
    assert_eq!(run(ClassicConfig::V6_12), [18, 0]);
}

/// Runs from 150 anonymous and 80 file pages; `apply` does each operation, given the id of a new
/// page.
fn run(
    config: ClassicConfig,
    ops: &[Op],
    mut apply: impl FnMut(&mut KernelModel, Op, u32),
) -> State {
    let mut m = KernelModel::new(config, 60, 120);
    for (next, op) in START.iter().chain(ops).enumerate() {
        apply(&mut m, *op, next as u32);
    }
    m.state()
}

fn apply(m: &mut KernelModel, op: Op, next: u32) -> Vec<u32> {
    let subject = m.subject(op, next);
    m.apply(op, subject).evicted
}

fn checked_run(config: ClassicConfig, ops: &[Op]) -> State {
    run(config, ops, |m, op, next| {
        let before = m.state();
        let evicted = apply(m, op, next);
        m.check(&before);
        for id in evicted {
            // An active page loses the bit when it is demoted, and may go in the same pass.
            let was = before.pages[&id];
            let asked = !matches!(op, Op::PageOut { ignore_references: true, .. });
            assert!(!asked || !was.young || was.active, "page {id} was in use");
        }
        if matches!(op, Op::Touch(_) | Op::Write(_)) {
            assert_eq!(m.state().lists, before.lists, "an access moves nothing");
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn invariants_hold_at_every_step(c in near_a_preset(), ops in prop::collection::vec(op(), 0..300)) {
        checked_run(c, &ops);
    }

    /// Below 1 GiB of a type the ratio is 1 by either rule.
    #[test]
    fn ratio_rule_changes_nothing_in_little_memory(ops in prop::collection::vec(op(), 0..300)) {
        let one = ClassicConfig { anon_ratio: OrNumber::Word(AnonRatio::One), ..ClassicConfig::V5_5 };
        prop_assert_eq!(checked_run(ClassicConfig::V5_5, &ops), checked_run(one, &ops));
    }
}

#[test]
fn forced_rotation_counts_what_starts_inactive() {
    let rotated = |new_anon_rotated| {
        let config = ClassicConfig {
            new_anon_rotated,
            balance_model: BalanceModel::Rotate,
            ..ClassicConfig::V5_9
        };
        let mut m = with_anon(config, 8);
        m.shrink_node(Pass::new(0, 8, Kind::Direct));
        m.shrink_node(Pass::new(0, 8, Kind::Direct));
        let before = m.state().rotated[ANON];
        m.refault(0);
        [before, m.state().rotated[ANON] - before]
    };
    // The refault itself is activated only if something is active, which nothing is.
    assert_eq!(rotated(NewAnonRotated::ByActive), [0, 0]);
    assert_eq!(rotated(NewAnonRotated::Forced), [8, 0]);
    assert_eq!(rotated(NewAnonRotated::ForcedLeaky), [8, 0]);
    assert_eq!(rotated(NewAnonRotated::AllAnon), [8, 1]);
}

/// Each knob moves something in the twin, in some short run; those that cannot are named with the
/// reason.
#[test]
fn every_knob_has_a_witness() {
    const SILENT: &[(&str, &str)] = &[
        ("anon-ratio", "runs are far below 1 GiB"),
        ("bits-found", "the twin knows scans of lists only"),
        ("file-writeout", "nobody finds that many pages are dirty"),
        ("swapcache-shadows", "permits anon-workingset, does nothing itself"),
        ("shadow-limit-scope", "shadows are not limited here"),
        ("evict-without-memcg", "every page has a group"),
        ("swapin-sets-workingset", "swap is synchronous, the swap cache is bypassed"),
        ("kswapd-retry-without-cache-trim", "what kswapd does between passes is the caller's"),
    ];
    let mut runner = TestRunner::deterministic();
    let sequences: Vec<Vec<Op>> = (0..8)
        .map(|_| prop::collection::vec(op(), 300).new_tree(&mut runner).unwrap().current())
        .collect();
    let end = |config, ops: &[Op]| {
        run(config, ops, |m, op, next| {
            apply(m, op, next);
        })
    };
    let bases = PRESETS.iter().map(|p| p.config);
    let bases: Vec<(ClassicConfig, Vec<State>)> =
        bases.map(|c| (c, sequences.iter().map(|ops| end(c, ops)).collect())).collect();
    let moves = |knob: &Row| {
        bases.iter().any(|(base, states)| {
            knob.allowed().filter(|value| !value.starts_with("own-list")).any(|value| {
                let mut flipped = *base;
                flipped.set(knob.name, value).unwrap();
                flipped != *base
                    && flipped.validate().is_ok()
                    && sequences.iter().zip(states).any(|(ops, state)| end(flipped, ops) != *state)
            })
        })
    };
    for knob in ClassicConfig::ROWS {
        let reason = SILENT.iter().find(|s| s.0 == knob.name);
        assert_eq!(moves(knob), reason.is_none(), "{}: {reason:?}", knob.name);
    }
}
