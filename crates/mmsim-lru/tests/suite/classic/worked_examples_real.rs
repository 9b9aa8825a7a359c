//! The worked examples of the anonymous workingset on the real policy.
//!
//! `worked_examples` follows them on a model with frames, two lists and nothing else, which makes
//! room by three rules: demote while the inactive list is low, judge the inactive tail, start over.
//! Here the real policy is led through the same steps: LRU batches of one page, scans of one page
//! (a cluster of 32 >> 5), and direct calls. `age_node` demotes one page if the inactive list is
//! low; a pass whose share of the inactive list is one page judges one page.
//!
//! One thing differs, and is meant to: after each pass the kernel demotes once more if the
//! inactive list is low *then*, without asking for permission. The rules of the examples look
//! before the next page is judged. So the real policy demotes up to one page earlier, and where
//! the examples end in an exact balance of 50 to 50, one hot page goes inactive first. The model has this order too, as `BeforeAndAfterEviction`; with it model and
//! policy agree in every step, which the last tests check over all examples and at random. The
//! notation of the dumps is that of `worked_examples`.

use crate::harness::memory::Bench;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::Reclaimer;
use mmsim_lru::Classic;
use mmsim_lru::config::{ClassicConfig, PRESETS};
use mmsim_lru::paper::{Model, Rebalance};
use proptest::prelude::*;

const BASE: ClassicConfig = ClassicConfig { swapin_sets_workingset: false, ..ClassicConfig::V5_5 };
/// Protection as first posted.
const PROTECTION: ClassicConfig =
    ClassicConfig { swapin_sets_workingset: false, ..ClassicConfig::SEED_2 };
/// Protection and detection as first posted, with the repaired threshold.
const DETECTION: ClassicConfig = ClassicConfig {
    ws_v1_index_bug: false,
    swapin_sets_workingset: false,
    ..ClassicConfig::SEED_7
};
/// As merged in 5.9.
const MERGED: ClassicConfig = ClassicConfig::V5_9;

/// `prefix` with the numbers of the range, in its order.
fn names(prefix: &str, range: impl IntoIterator<Item = usize>) -> Vec<String> {
    range.into_iter().map(|i| format!("{prefix}{i}")).collect()
}

/// The real policy behind the interface of the model.
struct Real {
    b: Bench,
    frames: usize,
    /// Names of pages, by number.
    names: Vec<String>,
    /// Numbers of the pages that are out, in order of eviction.
    out: Vec<u32>,
}

impl Real {
    /// A memory of `frames` frames whose active list holds `hot`, head first, with clear young
    /// bits. A page gets to the active list as on the kernel that has it there: from 5.9 on by two
    /// references, before by its birth.
    fn new(config: ClassicConfig, frames: usize, hot: &[String]) -> Real {
        let mut r = Real { b: Bench::new(config, 2000, 5), frames, names: vec![], out: vec![] };
        for page in hot.iter().rev() {
            r.access(page);
            let id = r.id(page);
            let folio = r.b.folio(id, false).expect("just touched");
            r.b.mem.lru_activate(&mut r.b.lru, folio);
            r.b.forget_access(id);
        }
        r.b.mem.stats.vmstat = Default::default();
        r
    }

    fn id(&mut self, page: &str) -> u32 {
        let at = self.names.iter().position(|p| p == page).unwrap_or_else(|| {
            self.names.push(page.to_owned());
            self.names.len() - 1
        });
        at as u32
    }

    fn access_all<S: AsRef<str>>(&mut self, pages: impl IntoIterator<Item = S>) {
        for p in pages {
            self.access(p.as_ref());
        }
    }

    fn access(&mut self, page: &str) {
        let id = self.id(page);
        if self.b.folio(id, false).is_some() {
            return self.b.touch(id, false);
        }
        if self.lengths().0 + self.lengths().1 == self.frames {
            self.reclaim_one();
        }
        match self.out.iter().position(|&o| o == id) {
            None => self.b.new_anon(id),
            Some(at) => {
                self.out.remove(at);
                self.b.swap_in(id);
            }
        }
    }

    /// Rules (i) and (ii) until one page left.
    fn reclaim_one(&mut self) {
        let was: Vec<u32> = self.resident_ids();
        loop {
            while self.lengths().1 < self.lengths().0 {
                self.b.age_node();
            }
            // The examples know no permission by activations: every pass is a run of its own.
            self.b.finish_run();
            // No file pages and no free ones: anonymous pages alone are scanned, one of the
            // inactive list (and, as its deactivation is not permitted, none of the active).
            self.b.set_high_watermark(u64::MAX / 2);
            let priority = self.lengths().1.ilog2() as u8;
            let out = self.b.reclaim(&Bench::request(Reclaimer::Kswapd, priority, 1));
            assert_eq!(out.scanned, 1);
            if out.reclaimed == 1 {
                break;
            }
        }
        let is = self.resident_ids();
        self.out.extend(was.into_iter().filter(|id| !is.contains(id)));
    }

    fn resident_ids(&self) -> Vec<u32> {
        [0, 1].iter().flat_map(|&l| self.b.list(l)).map(|f| self.b.page_of(f).0).collect()
    }

    /// Lengths of the active and the inactive list.
    fn lengths(&self) -> (usize, usize) {
        (self.b.list(1).len(), self.b.list(0).len())
    }

    /// Number of resident pages whose name starts with `prefix`.
    fn resident(&self, prefix: &str) -> usize {
        let ids = self.resident_ids();
        ids.iter().filter(|&&id| self.names[id as usize].starts_with(prefix)).count()
    }

    /// `active | inactive | out`.
    fn dump(&self) -> String {
        let part = |names: Vec<String>| match names.len() {
            0 => "-".to_owned(),
            _ => names.join(" "),
        };
        let list = |l| {
            let marked = |f| {
                let id = self.b.page_of(f).0;
                let young = self.b.mapping_bits(id, false).expect("a mapping").0;
                let referenced = self.b.mem.frames.has(f, flag::REFERENCED);
                let name = &self.names[id as usize];
                let mark = |set, mark| if set { mark } else { "" };
                format!("{name}{}{}", mark(young, "*"), mark(referenced, "r"))
            };
            part(self.b.list(l).into_iter().rev().map(marked).collect())
        };
        let out = self.out.iter().map(|&id| self.names[id as usize].clone()).collect();
        format!("{} | {} | {}", list(1), list(0), part(out))
    }

    /// pgscan, kept, pgrefill, pswpin, pswpout, refaults, of these activated.
    fn take_counts(&mut self) -> [u64; 7] {
        use VmEvent::*;
        let n = |e| self.b.count(e);
        let counts = [
            n(PgScanKswapd),
            n(SimScanKeep),
            n(PgRefill),
            n(PswpIn),
            n(PswpOut),
            n(WorkingsetRefaultAnon),
            n(WorkingsetActivateAnon),
        ];
        self.b.mem.stats.vmstat = Default::default();
        counts
    }

    fn shadow(&mut self, page: &str) -> Option<(u64, bool)> {
        let id = self.id(page);
        self.b.shadow(id, false).map(|s| Classic::shadow_says(&self.b.mem, s))
    }
}

mod six_frames {
    use super::*;

    /// Runs u1 u2 u3 h1 u4 u5 u1 u6 over h3 h2 h1 and compares the dumps after u3 h1, u4, u5, u1
    /// and u6.
    fn run(config: ClassicConfig, dumps: [&str; 5]) -> Real {
        let mut r = Real::new(config, 6, &names("h", (1..=3).rev()));
        assert_eq!(r.dump(), "h3 h2 h1 | - | -");
        let steps: [&[&str]; 5] = [&["u1", "u2", "u3", "h1"], &["u4"], &["u5"], &["u1"], &["u6"]];
        for (pages, expected) in steps.into_iter().zip(dumps) {
            r.access_all(pages);
            assert_eq!(r.dump(), expected, "after {pages:?}");
        }
        r
    }

    /// The example, each time one demotion ahead: where it has `u4 u3 u2 u1 | h3 h2`, u1 is
    /// inactive already. The same pages leave in the same order, by as many scans.
    #[test]
    fn v5_5_pushes_the_hot_pages_out() {
        let mut r = run(
            BASE,
            [
                "u3* u2* u1* h3 h2 h1* | - | -",
                "u4* u3* u2* | u1 h3 h2 | h1",
                "u5* u4* u3* | u2 u1 h3 | h1 h2",
                "u5* u4* u3* | u2 u1* h3 | h1 h2",
                "u6* u5* u4* | u3 u2 u1* | h1 h2 h3",
            ],
        );
        // pgrefill 6, not 5: the demotion that the example would do next is done.
        assert_eq!(r.take_counts(), [3, 0, 6, 0, 3, 0, 0]);
    }

    /// The example's balance of 3 to 3 falls at the first eviction: h1 goes inactive, with its
    /// young bit (the first posting leaves it), is kept once for it, and leaves at the end.
    #[test]
    fn protection_keeps_all_but_one() {
        let mut r = run(
            PROTECTION,
            [
                "h3 h2 h1* | u3* u2* u1* | -",
                // u1, u2, u3 kept, u1 evicted: as in the example. Then 2 are fewer than 3.
                "h3 h2 | u4* h1* u3r u2r | u1",
                "h3 h2 | u5* u4* h1* u3r | u1 u2",
                "h3 h2 | u1* u5* u4* h1* | u2 u3",
                // h1, u4, u5, u1 kept, h1 evicted: it was touched once only.
                "h3 h2 | u6* u1r u5r u4r | u2 u3 h1",
            ],
        );
        assert_eq!(r.take_counts(), [11, 7, 1, 1, 4, 0, 0]);
    }

    /// u1 comes back after 2 evictions. Only h3 and h2 are active then: 2 ≤ 2 is still in time.
    #[test]
    fn detection_promotes_the_page_that_came_back() {
        let mut r = run(
            DETECTION,
            [
                "h3 h2 h1* | u3* u2* u1* | -",
                "h3 h2 | u4* h1* u3r u2r | u1",
                "h3 h2 | u5* u4* h1* u3r | u1 u2",
                "u1* h3 h2 | u5* u4* h1* | u2 u3",
                // h1, u4, u5 kept, h1 evicted; then 2 are fewer than 3, and h2 goes inactive.
                "u1* h3 | u6* h2 u5r u4r | u2 u3 h1",
            ],
        );
        // 4 evictions and an activation: the last shadow holds age 5, and that h1 was active.
        assert_eq!(r.shadow("h1"), Some((5, true)));
        assert_eq!(r.shadow("u3"), Some((3, false)));
        assert_eq!(r.take_counts(), [10, 6, 2, 1, 4, 1, 1]);
    }

    /// As merged, demotion clears the young bit: h1 is not kept for it, and leaves third.
    #[test]
    fn merged_rules_let_a_stale_hot_page_go() {
        let mut r = run(
            MERGED,
            [
                "h3 h2 h1* | u3* u2* u1* | -",
                "h3 h2 | u4* h1 u3r u2r | u1",
                "h3 h2 | u5* u4* h1 u3r | u1 u2",
                "u1* h3 h2 | u5* u4* h1 | u2 u3",
                "u1* h3 | u6* h2 u5* u4* | u2 u3 h1",
            ],
        );
        assert_eq!(r.shadow("h1"), Some((5, true)));
        assert_eq!(r.take_counts(), [7, 3, 2, 1, 4, 1, 1]);
    }
}

mod fifty_hot_pages {
    use super::*;

    fn start(config: ClassicConfig) -> Real {
        let mut r = Real::new(config, 100, &names("h", (1..=50).rev()));
        r.access_all(names("u", 1..=50));
        r
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

    /// 50 demotions, then with each new page one scan, one eviction and one demotion: all hot
    /// pages leave. The example has 99 demotions; the hundredth is the one that it leaves for the
    /// next fault.
    #[test]
    fn v5_5_exchanges_hot_for_used_once() {
        let mut r = start(BASE);
        assert_eq!(r.lengths(), (100, 0));
        r.access_all(names("v", 1..=50));
        assert_eq!(
            r.dump(),
            dump_of(
                &[young(names("v", (1..=50).rev()))],
                &[names("u", (1..=50).rev())],
                &[names("h", 1..=50)],
            )
        );
        assert_eq!(r.take_counts(), [50, 0, 100, 0, 50, 0, 0]);
        r.access_all(names("h", 1..=50));
        let counts = r.take_counts();
        assert_eq!((counts[3], counts[4]), (50, 50));
    }

    /// "If the ratio check is done after an eviction, protection ends at 49 h | v50..v1 h1: one
    /// demotion, nothing else".
    #[test]
    fn protection_gives_up_one_hot_page() {
        for config in [PROTECTION, DETECTION, MERGED, ClassicConfig::V6_1, ClassicConfig::V6_12] {
            let mut r = start(config);
            assert_eq!(r.lengths(), (50, 50));
            r.access_all(names("v", 1..=50));
            assert_eq!(
                r.dump(),
                dump_of(
                    &[names("h", (2..=50).rev())],
                    &[young(names("v", (1..=50).rev())), names("h", [1])],
                    &[names("u", 1..=50)],
                )
            );
            assert_eq!(r.take_counts(), [100, 50, 1, 0, 50, 0, 0]);
            r.access_all(names("h", 1..=50));
            assert_eq!(r.take_counts(), [0; 7]);
        }
    }
}

mod detection {
    use super::*;

    /// 50 h active, 50 w pushed out by 50 u.
    fn start(config: ClassicConfig) -> Real {
        let mut r = Real::new(config, 100, &names("h", (1..=50).rev()));
        r.access_all(names("w", 1..=50));
        r.access_all(names("u0.", 1..=50));
        r.take_counts();
        r
    }

    /// The w pages, then fifty new pages. Counts of both together.
    fn round(r: &mut Real, k: usize) -> [u64; 7] {
        r.take_counts();
        r.access_all(names("w", 1..=50));
        r.access_all(names(&format!("u{k}."), 1..=50));
        r.take_counts()
    }

    /// As in the example: 50 swap-ins a round, for ever. One hot page was lost at the start; its
    /// frame holds the last w page at the end of a round, which leaves before it is wanted again.
    #[test]
    fn protection_alone_never_learns() {
        let bug = ClassicConfig { ws_v1_index_bug: true, ..DETECTION };
        for config in [PROTECTION, bug, ClassicConfig::V5_8_PROT] {
            let mut r = start(config);
            assert_eq!((r.resident("h"), r.resident("w")), (50, 0));
            for k in 1..=6 {
                let [_, _, _, swapins, swapouts, _, activated] = round(&mut r, k);
                assert_eq!((swapins, activated), (50, 0));
                assert_eq!(swapouts, 100);
                assert_eq!((r.resident("h"), r.resident("w")), (49, 1));
            }
        }
    }

    /// The example stands on the border: a distance of 50 against 50 active pages. The page that
    /// is demoted early takes one page from the active list, so that 50 ≤ 49 fails: the real
    /// policy, run page by page, does not learn here, and is worse by exactly that one page.
    #[test]
    fn on_the_border_one_early_demotion_decides() {
        for config in [DETECTION, MERGED] {
            let mut r = start(config);
            // The age has counted 50 evictions; each w carries its own.
            for i in 1..=50 {
                assert_eq!(r.shadow(&format!("w{i}")), Some((i as u64, false)));
            }
            r.access("w1");
            assert_eq!(r.take_counts()[5..], [1, 0]);
        }
    }

    /// One page of distance less, and it learns: with 49 pages in each step the distances are 49.
    /// Every round some w stay, none of those ever leaves again, and in the end all stay.
    #[test]
    fn inside_the_border_detection_keeps_the_working_set() {
        for config in [DETECTION, MERGED] {
            let mut r = Real::new(config, 100, &names("h", (1..=50).rev()));
            r.access_all(names("w", 1..=49));
            r.access_all(names("u0.", 1..=49));
            let mut before = 49;
            let mut rounds = 0;
            while before > 0 {
                r.take_counts();
                r.access_all(names("w", 1..=49));
                r.access_all(names(&format!("u{rounds}'"), 1..=49));
                let swapins = r.take_counts()[3];
                assert!(swapins < before || rounds == 0, "{swapins} after {before}");
                before = swapins;
                rounds += 1;
                assert!(rounds < 12);
            }
            assert_eq!(r.resident("w"), 49);
        }
    }
}

mod against_the_model {
    use super::*;

    fn both(config: ClassicConfig, frames: usize, hot: usize, pages: &[String]) {
        let hot = names("h", (1..=hot).rev());
        let mut model = Model::new(config, frames, &hot);
        model.rebalance = Rebalance::BeforeAndAfterEviction;
        let mut real = Real::new(config, frames, &hot);
        for (i, page) in pages.iter().enumerate() {
            model.access(page);
            real.access(page);
            assert_eq!(real.dump(), model.dump(), "policy, model: after {page}, access {i}");
        }
        real.b.check();
        let m = model.take_counts();
        assert_eq!(
            real.take_counts(),
            [m.pgscan, m.keep, m.pgrefill, m.pswpin, m.pswpout, m.refault, m.activate]
        );
    }

    /// The synchronous device goes past the swap cache, so that nothing is marked at swap-in.
    fn unmarked(config: ClassicConfig) -> ClassicConfig {
        ClassicConfig { swapin_sets_workingset: false, ..config }
    }

    #[test]
    fn every_example_in_every_step() {
        let kernels = PRESETS.iter().map(|p| p.config);
        let configs = kernels.chain([BASE, PROTECTION, DETECTION]).map(unmarked);
        for config in configs {
            let six = ["u1", "u2", "u3", "h1", "u4", "u5", "u1", "u6"].map(String::from);
            both(config, 6, 3, &six);
            let mut pages = [names("w", 1..=50), names("u0.", 1..=50)].concat();
            for k in 1..=4 {
                pages.extend(names("w", 1..=50));
                pages.extend(names(&format!("u{k}."), 1..=50));
            }
            both(config, 100, 50, &pages);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(60)
        })]

        #[test]
        fn any_accesses(
            which in 0..PRESETS.len() + 3,
            frames in 2..20usize,
            hot in 0..10usize,
            accesses in prop::collection::vec(1..30usize, 0..150),
        ) {
            let series = [BASE, PROTECTION, DETECTION];
            let config = PRESETS.get(which).map_or_else(|| series[which - PRESETS.len()], |p| p.config);
            let pages: Vec<String> = accesses.iter().map(|i| format!("h{i}")).collect();
            both(unmarked(config), frames, hot.min(frames), &pages);
        }
    }
}
