//! The worked examples of the anonymous workingset, step by step, on paper.
//!
//! Whoever wants to see what one knob does reads a table here and follows it with a finger. `h`
//! pages are hot and start on the active list, `u` and `v` pages are used once, `w` pages are
//! accessed in every round.

use mmsim_lru::config::{AnonRefRule, ClassicConfig};
use mmsim_lru::paper::{Counts, Model, Rebalance, Shadow};

/// Linux 5.5 as the examples take it.
const BASE: ClassicConfig = ClassicConfig { swapin_sets_workingset: false, ..ClassicConfig::V5_5 };
/// Protection as first posted: new pages start inactive, two touches, demotion leaves young bits
/// alone.
const PROTECTION: ClassicConfig =
    ClassicConfig { swapin_sets_workingset: false, ..ClassicConfig::SEED_2 };
/// Protection and detection as first posted, with the repaired threshold.
const DETECTION: ClassicConfig = ClassicConfig {
    ws_v1_index_bug: false,
    swapin_sets_workingset: false,
    ..ClassicConfig::SEED_7
};
/// As merged in 5.9.
const MERGED: ClassicConfig =
    ClassicConfig { swapin_sets_workingset: false, ..ClassicConfig::V5_9 };

/// `prefix` with the numbers of the range, in its order.
fn names(prefix: &str, range: impl IntoIterator<Item = usize>) -> Vec<String> {
    range.into_iter().map(|i| format!("{prefix}{i}")).collect()
}

mod six_frames {
    use super::*;

    /// Runs u1 u2 u3 h1 u4 u5 u1 u6 over h3 h2 h1 and compares the dumps after u3 h1, u4, u5, u1
    /// and u6.
    fn run(config: ClassicConfig, dumps: [&str; 5]) -> Model {
        let mut m = Model::new(config, 6, &names("h", (1..=3).rev()));
        assert_eq!(m.dump(), "h3 h2 h1 | - | -");
        let steps: [&[&str]; 5] = [&["u1", "u2", "u3", "h1"], &["u4"], &["u5"], &["u1"], &["u6"]];
        for (pages, expected) in steps.into_iter().zip(dumps) {
            m.access_all(pages);
            assert_eq!(m.dump(), expected, "after {pages:?}");
        }
        m
    }

    #[test]
    fn v5_5_pushes_the_hot_pages_out() {
        let mut m = run(
            BASE,
            [
                "u3* u2* u1* h3 h2 h1* | - | -",
                // h1 is demoted first, and demotion clears its young bit.
                "u4* u3* u2* u1* | h3 h2 | h1",
                "u5* u4* u3* u2* | u1 h3 | h1 h2",
                "u5* u4* u3* u2* | u1* h3 | h1 h2",
                "u6* u5* u4* u3* | u2 u1* | h1 h2 h3",
            ],
        );
        let expected = Counts { pgscan: 3, pgrefill: 5, pswpout: 3, ..Counts::default() };
        assert_eq!(m.take_counts(), expected);
        assert_eq!(m.age, 0);
    }

    #[test]
    fn protection_keeps_them() {
        let mut m = run(
            PROTECTION,
            [
                "h3 h2 h1* | u3* u2* u1* | -",
                "h3 h2 h1* | u4* u3r u2r | u1",
                "h3 h2 h1* | u5* u4* u3r | u1 u2",
                "h3 h2 h1* | u1* u5* u4* | u2 u3",
                "h3 h2 h1* | u6* u1r u5r | u2 u3 u4",
            ],
        );
        let expected = Counts { pgscan: 10, keep: 6, pswpout: 4, pswpin: 1, ..Counts::default() };
        assert_eq!(m.take_counts(), expected);
        assert_eq!(m.age, 0);
    }

    #[test]
    fn detection_promotes_the_page_that_came_back() {
        let mut m = run(
            DETECTION,
            [
                "h3 h2 h1* | u3* u2* u1* | -",
                "h3 h2 h1* | u4* u3r u2r | u1",
                "h3 h2 h1* | u5* u4* u3r | u1 u2",
                "u1* h3 h2 h1* | u5* u4* | u2 u3",
                // h1 was demoted with its young bit, so the scan keeps it.
                "u1* h3 h2 | u6* h1r u5r | u2 u3 u4",
            ],
        );
        assert_eq!(m.distances, [2]);
        assert_eq!(m.age, 5);
        assert_eq!(m.shadow("u4"), Some(Shadow { age: 5, workingset: false }));
        let expected = Counts {
            pgscan: 10,
            keep: 6,
            pgrefill: 1,
            pswpin: 1,
            pswpout: 4,
            refault: 1,
            activate: 1,
            ..Counts::default()
        };
        assert_eq!(m.take_counts(), expected);
    }

    #[test]
    fn merged_rules_let_a_stale_hot_page_go() {
        for config in [
            MERGED,
            ClassicConfig {
                anon_ref_rule: AnonRefRule::MappedFileRule,
                anon_demote_clears_young: true,
                ..DETECTION
            },
        ] {
            let mut m = run(
                config,
                [
                    "h3 h2 h1* | u3* u2* u1* | -",
                    "h3 h2 h1* | u4* u3r u2r | u1",
                    "h3 h2 h1* | u5* u4* u3r | u1 u2",
                    "u1* h3 h2 h1* | u5* u4* | u2 u3",
                    // Demotion cleared the young bit of h1.
                    "u1* h3 h2 | u6* u5r u4r | u2 u3 h1",
                ],
            );
            assert_eq!(m.take_counts().pgscan, 9);
            assert_eq!(m.shadow("h1"), Some(Shadow { age: 5, workingset: true }));
        }
    }
}

mod fifty_hot_pages {
    use super::*;

    fn start(config: ClassicConfig) -> Model {
        let mut m = Model::new(config, 100, &names("h", (1..=50).rev()));
        m.access_all(names("u", 1..=50));
        m
    }

    fn dump_of(active: &[Vec<String>], inactive: &[Vec<String>], out: &[Vec<String>]) -> String {
        let part = |p: &[Vec<String>]| match p.concat().len() {
            0 => "-".to_owned(),
            _ => p.concat().join(" "),
        };
        format!("{} | {} | {}", part(active), part(inactive), part(out))
    }

    fn young(pages: Vec<String>) -> Vec<String> {
        pages.into_iter().map(|p| p + "*").collect()
    }

    fn referenced(pages: Vec<String>) -> Vec<String> {
        pages.into_iter().map(|p| p + "r").collect()
    }

    #[test]
    fn v5_5_exchanges_hot_for_used_once() {
        let mut m = start(BASE);
        assert_eq!(m.lengths(), (100, 0));
        assert_eq!(m.take_counts(), Counts::default());

        m.access("v1");
        // The rebalancing gave 50 | 50, then h1 left and v1 came.
        assert_eq!(
            m.dump(),
            dump_of(
                &[young(names("v", [1])), young(names("u", (1..=50).rev()))],
                &[names("h", (2..=50).rev())],
                &[names("h", [1])],
            )
        );
        assert_eq!(
            m.take_counts(),
            Counts { pgscan: 1, pgrefill: 50, pswpout: 1, ..Counts::default() }
        );

        for k in 2..=50 {
            m.access(&format!("v{k}"));
            let one = Counts { pgscan: 1, pgrefill: 1, pswpout: 1, ..Counts::default() };
            assert_eq!(m.take_counts(), one);
            assert_eq!(m.lengths(), (51, 49));
            assert!(m.dump().ends_with(&format!(" h{k}")));
        }
        assert_eq!(
            m.dump(),
            dump_of(
                &[young(names("v", (1..=50).rev())), young(names("u", [50]))],
                &[names("u", (1..=49).rev())],
                &[names("h", 1..=50)],
            )
        );
        // Hot pages touched again.
        m.access_all(names("h", 1..=50));
        let counts = m.take_counts();
        assert_eq!((counts.pswpin, counts.pswpout), (50, 50));
    }

    #[test]
    fn protection_exchanges_used_once_for_used_once() {
        let mut m = start(PROTECTION);
        assert_eq!(m.lengths(), (50, 50));
        let hot = || names("h", (1..=50).rev());

        m.access("v1");
        let expected = Counts { pgscan: 51, keep: 50, pswpout: 1, ..Counts::default() };
        assert_eq!(m.counts, expected);
        assert_eq!(
            m.dump(),
            dump_of(
                &[hot()],
                &[young(names("v", [1])), referenced(names("u", (2..=50).rev()))],
                &[names("u", [1])],
            )
        );
        for k in 2..=50 {
            m.access(&format!("v{k}"));
            assert_eq!(m.counts.pgscan, 50 + k);
        }
        assert_eq!(
            m.dump(),
            dump_of(&[hot()], &[young(names("v", (1..=50).rev()))], &[names("u", 1..=50)])
        );
        let expected = Counts { pgscan: 100, keep: 50, pswpout: 50, ..Counts::default() };
        assert_eq!(m.take_counts(), expected);
        m.access_all(names("h", 1..=50));
        assert_eq!(m.take_counts(), Counts::default());
    }

    #[test]
    fn rebalancing_after_an_eviction_demotes_one_hot_page() {
        let mut m = start(PROTECTION);
        m.rebalance = Rebalance::AfterEviction;
        m.access_all(names("v", 1..=50));
        assert_eq!(
            m.dump(),
            dump_of(
                &[names("h", (2..=50).rev())],
                &[young(names("v", (1..=50).rev())), names("h", [1])],
                &[names("u", 1..=50)],
            )
        );
        assert_eq!(m.take_counts().pgrefill, 1);
    }

    #[test]
    fn hot_pages_touched_while_inactive_survive_even_v5_5() {
        let mut m = start(BASE);
        m.access("v1");
        m.access_all(names("h", 2..=50));
        m.take_counts();
        m.access("v2");
        // All 49 are promoted at first sight; what they demote is evicted instead.
        assert_eq!(m.resident("h"), 49);
        m.access_all(names("v", 3..=50));
        assert_eq!(m.resident("h"), 49);
    }
}

mod detection {
    use super::*;

    struct Round {
        swapins: u64,
        swapouts: [u64; 2],
        scans: [u64; 2],
        activated: u64,
        demoted: [u64; 2],
        restored: u64,
        w_resident: usize,
        age: u64,
    }

    /// 50 h active, 50 w pushed out by 50 u; E(w_i) = i where there are shadows.
    fn start(config: ClassicConfig) -> Model {
        let mut m = Model::new(config, 100, &names("h", (1..=50).rev()));
        m.access_all(names("w", 1..=50));
        m.access_all(names("u0.", 1..=50));
        m.take_counts();
        m
    }

    /// Step 4, the w pages, then step 5, fifty new pages.
    fn round(m: &mut Model, k: usize) -> Round {
        m.take_counts();
        m.access_all(names("w", 1..=50));
        let four = m.take_counts();
        m.access_all(names(&format!("u{k}."), 1..=50));
        let five = m.take_counts();
        Round {
            swapins: four.pswpin + five.pswpin,
            swapouts: [four.pswpout, five.pswpout],
            scans: [four.pgscan, five.pgscan],
            activated: four.activate + five.activate,
            demoted: [four.pgrefill, five.pgrefill],
            restored: four.restore + five.restore,
            w_resident: m.resident("w"),
            age: m.age,
        }
    }

    #[test]
    fn protection_alone_never_learns() {
        let bug = ClassicConfig { ws_v1_index_bug: true, ..DETECTION };
        for config in [PROTECTION, bug] {
            let mut m = start(config);
            assert_eq!((m.lengths(), m.resident("w")), ((50, 50), 0));
            for k in 1..=10 {
                let r = round(&mut m, k);
                assert_eq!((r.swapins, r.swapouts, r.scans), (50, [50, 50], [100, 100]));
                assert_eq!((r.activated, r.demoted, r.w_resident), (0, [0, 0], 0));
                assert_eq!(m.resident("h"), 50);
            }
        }
    }

    /// Round, swap-ins, swap-outs and scans in steps 4 and 5, activated, demoted in steps 4 and 5,
    /// w pages resident, age afterwards.
    #[allow(clippy::type_complexity)]
    const TABLE: [(usize, u64, [u64; 2], [u64; 2], u64, [u64; 2], usize, u64); 8] = [
        (1, 50, [50, 50], [100, 100], 1, [1, 0], 1, 151),
        (2, 49, [49, 50], [98, 100], 2, [2, 0], 3, 252),
        (3, 47, [47, 50], [94, 100], 4, [4, 0], 7, 353),
        (4, 43, [43, 50], [86, 100], 8, [8, 0], 15, 454),
        (5, 35, [35, 50], [70, 100], 16, [16, 0], 31, 555),
        (6, 19, [19, 50], [19, 81], 19, [18, 1], 50, 643),
        (7, 0, [0, 50], [0, 100], 0, [0, 0], 50, 693),
        (8, 0, [0, 50], [0, 100], 0, [0, 0], 50, 743),
    ];

    #[test]
    fn detection_doubles_what_it_keeps_each_round() {
        let posted_twice = ClassicConfig {
            anon_ref_rule: AnonRefRule::MappedFileRule,
            anon_demote_clears_young: true,
            ..DETECTION
        };
        for config in [DETECTION, posted_twice, MERGED] {
            let mut m = start(config);
            assert_eq!(m.age, 50);
            for i in 1..=50 {
                assert_eq!(m.shadow(&format!("w{i}")).unwrap().age, i as u64);
            }
            for (k, swapins, swapouts, scans, activated, demoted, w, age) in TABLE {
                let r = round(&mut m, k);
                assert_eq!((r.swapins, r.swapouts, r.scans), (swapins, swapouts, scans), "{k}");
                assert_eq!((r.activated, r.demoted), (activated, demoted), "round {k}");
                assert_eq!((r.w_resident, r.age), (w, age), "round {k}");
            }
        }
    }

    #[test]
    fn distances_of_the_first_rounds() {
        let mut m = start(DETECTION);
        m.access("w1");
        assert_eq!((m.counts.pgscan, m.counts.keep, m.age), (51, 50, 52));
        m.access("w2");
        assert_eq!((m.lengths(), m.age), ((50, 50), 53));
        m.access_all(names("w", 3..=50));
        assert_eq!(m.age, 101);
        let mut expected = vec![51; 50];
        expected[0] = 50;
        assert_eq!(m.distances, expected);
        m.access_all(names("u1.", 1..=50));
        for (w, age) in [("w2", 103), ("w3", 104), ("w4", 105)] {
            assert_eq!(m.shadow(w).unwrap().age, age);
        }
        m.distances.clear();
        m.access_all(names("w", 1..=4));
        assert_eq!(m.distances, [49, 50, 51]);
        assert_eq!((m.age, m.resident("w")), (156, 4));
    }

    #[test]
    fn rebalancing_later_promotes_all_at_once() {
        let mut m = start(DETECTION);
        m.rebalance = Rebalance::Never;
        m.access_all(names("w", 1..=50));
        assert_eq!(m.counts.activate, 50);
        assert_eq!(m.distances, (50..=99).collect::<Vec<u64>>());
        assert_eq!(m.lengths(), (100, 0));
        m.rebalance = Rebalance::Before;
        m.access_all(names("u1.", 1..=50));
        for k in 2..=5 {
            assert_eq!(round(&mut m, k).swapins, 0);
        }
    }

    #[test]
    fn flag_at_swapin_makes_every_later_refault_a_restored_one() {
        let mut m = start(ClassicConfig { swapin_sets_workingset: true, ..DETECTION });
        for (k, restored) in [(1, 0), (2, 2), (3, 4), (4, 8), (5, 16), (6, 19)] {
            let r = round(&mut m, k);
            assert_eq!(r.restored, restored, "round {k}");
            assert_eq!(r.activated, restored.max(1));
        }
    }

    #[test]
    fn v5_5_does_better_than_protection_alone() {
        let mut m = Model::new(BASE, 100, &names("h", (1..=50).rev()));
        m.access_all(names("w", 1..=50));
        m.access_all(names("u0.", 1..=50));
        for k in 1..=7 {
            assert_eq!(round(&mut m, k).swapins, u64::from(k > 1), "round {k}");
        }
    }
}
