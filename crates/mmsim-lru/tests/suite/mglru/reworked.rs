//! Witnesses of the knobs that came with 6.18, 7.2 and 7.3, on top of the rework of 6.14.

use super::witness::{KSWAPD, V, both, count, steps, with};
use crate::harness::mglru::Real;
use crate::model::mglru::{Page, Reclaim};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MemcgConfig};
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::{Access, ReclaimPolicy as _, ReclaimRequest};
use mmsim_core::workload::VmaFlags;
use mmsim_lru::MglruConfig;
use mmsim_lru::index::Gen;
use mmsim_lru::settings::Settings as _;

const REWORKED: &str = "mglru-v6.18";

/// A batch of neighbours, all marked by a walk and accessed since. If looking around the first
/// clears the bits of those that are isolated with it, they are evicted; else each is activated.
#[test]
fn walks_unlisted() {
    let [clears, leaves] = both(REWORKED, &[], "walks-unlisted", ["yes", "no"], |mut r| {
        (0..64).for_each(|i| r.touch('A', i, true));
        (0..2).for_each(|_| assert!(r.age(true)));
        (0..64).for_each(|i| r.touch('A', i, true));
        steps(&mut r, 1);
        (count(&r, VmEvent::PgStealAnon), count(&r, VmEvent::PgActivate))
    });
    assert!(clears.0 > 32, "{clears:?}");
    assert_eq!(leaves, (0, 64));
}

/// All files of the oldest generation are gone, anonymous pages are left in it, and the generation
/// in between is empty. Files go ahead as far as there are generations, or wait at the third.
#[test]
fn min_seq_clamp() {
    let [far, near] = both(REWORKED, &[], "min-seq-clamp", ["no", "yes"], |mut r| {
        (0..8).for_each(|i| r.touch('m', i, false));
        (0..200).for_each(|i| r.touch('A', i, true));
        (0..2).for_each(|_| assert!(r.age(true)));
        steps(&mut r, 1);
        let [anon, file, _] = r.lru.seqs(NodeId(0), MemcgId(0));
        file - anon
    });
    assert_eq!((far, near), (2, 1));
}

/// A pass over clean pages and dirty ones behind them, and a pass over dirty ones alone. The flusher
/// is not woken, is woken if the pass met nothing else, or for the batch that held nothing else.
/// Dirty pages that are moved on count as those that are taken.
#[test]
fn flusher_rule() {
    let woken = |rule, writeback_rule| {
        [128, 0].map(|clean| {
            let knobs = [("flusher-rule", rule), ("writeback-rule", writeback_rule)];
            let mut r = with(V, &knobs);
            (0..clean).for_each(|i| r.read(Page('U', i)));
            (clean..clean + 192).for_each(|i| r.write(Page('U', i)));
            steps(&mut r, 1);
            // For an order above 0 kswapd does not stop at zones that are safe.
            let req = ReclaimRequest { order: 1, ..Real::request(KSWAPD, 0) };
            r.lru.reclaim(&mut r.mem, &req).wakes_flusher
        })
    };
    assert_eq!(woken("never", "activate"), [false, false]);
    assert_eq!(woken("pass-6.13", "activate"), [false, true]);
    assert_eq!(woken("pass-6.13", "bounce"), [false, true]);
    assert_eq!(woken("batch-7.2", "activate"), [true, true]);
}

/// All of 200 pages were promoted and are on their old list. A step sorts them all, or looks at 64,
/// or at any other number.
#[test]
fn step_size() {
    let looked = |values| {
        both(REWORKED, &[], "step-size", values, |mut r| {
            // Empty generations go first, so that none is given up below.
            steps(&mut r, 1);
            for _ in 0..2 {
                (0..200).for_each(|i| r.touch('A', i, true));
                r.age(true);
            }
            steps(&mut r, 1);
            count(&r, VmEvent::PgRefill)
        })
    };
    assert_eq!(looked(["4096", "64"]), [200, 64]);
    assert_eq!(looked(["10", "150"]), [10, 150]);
}

/// A quarter of 600 pages may be looked at. The budget that is reckoned anew is compared with all
/// steps so far, and the third of 64 goes beyond it. The one that was reckoned once is used up.
#[test]
fn budget_rule() {
    let more = [("step-size", "budget"), ("abort-rule", "simple-6.7")];
    let [anew, once] = both(V, &more, "budget-rule", ["each-step", "once"], |mut r| {
        (0..600).for_each(|i| r.read(Page('U', i)));
        steps(&mut r, 1);
        let [before, evicted] = [VmEvent::PgScanFile, VmEvent::PgStealFile].map(|e| count(&r, e));
        r.shrink(KSWAPD, 2);
        (600 - evicted, count(&r, VmEvent::PgScanFile) - before)
    });
    assert_eq!(anew.0, once.0);
    assert_eq!((anew.1, once.1), (192, once.0 / 4));
}

/// The files of the oldest generation were all promoted: there was something to look at, and
/// nothing to isolate. Anonymous pages are taken instead, or files are tried again.
#[test]
fn type_fallback() {
    let values = ["none-isolated", "none-scanned"];
    let [other, same] = both(REWORKED, &[], "type-fallback", values, |mut r| {
        steps(&mut r, 1);
        (0..100).for_each(|i| r.touch('A', i, true));
        (0..100).for_each(|i| r.touch('m', i, false));
        r.age(true);
        (0..100).for_each(|i| r.touch('m', i, false));
        r.age(true);
        steps(&mut r, 1);
        count(&r, VmEvent::PgScanAnon)
    });
    assert_eq!((other, same), (64, 0));
}

/// A group is protected up to 1000 pages and has more. Others' reclaim looks at all its pages, or at
/// the share that is not protected: fewer are evicted.
#[test]
fn protection() {
    use crate::harness::{self, Policy, Steps, memory::small_machine};
    let mut machine = small_machine(4000, 40_000, 0);
    machine.kernel = Kernel::V6_12;
    let kept = MemcgConfig { low: 1000, ..MemcgConfig::new("kept") };
    machine.memcgs = vec![kept, MemcgConfig::new("other")];
    // It stays until the other has ended.
    let kept =
        Steps::new().in_group(0).map(0, 1500).write(0, 0..1500).sleep(SimDuration::from_secs(60));
    let other = Steps::new().in_group(1).map(0, 6000).write(0, 0..6000);
    let [whole, share] = ["whole", "share"].map(|value| {
        let mut c = MglruConfig::preset(REWORKED).unwrap().config;
        c.set("protection", value).unwrap();
        let r = harness::run(&machine, Policy::Mglru(c), &[kept.clone(), other.clone()]);
        r.machine.mem.memcgs.vmstat(MemcgId(1))[VmEvent::PgStealAnon]
    });
    assert!(share < whole, "{share} {whole}");
}

/// 200 pages in a group that may have 1000 and keep them.
fn with_protected_group(knob: &str, value: &str) -> Real {
    let mut c = MglruConfig::preset(REWORKED).unwrap().config;
    c.set(knob, value).unwrap();
    let group = MemcgConfig { min: 1000, ..MemcgConfig::new("kept") };
    let mut r = Real::in_group(c, 60, Kernel::V6_12, Some(group));
    r.map('A', None, 0, 1200);
    (0..200).for_each(|i| r.touch('A', i, true));
    r
}

/// In order of the tree each pass comes by all groups, which counts as a walk. The LRU of groups is
/// no walk of the tree.
#[test]
fn group_order() {
    let walked = ["tree", "lru"].map(|value| {
        let mut r = with_protected_group("group-order", value);
        r.lru.reclaim(&mut r.mem, &Real::request(KSWAPD, 0));
        count(&r, VmEvent::SimMemcgWalkGroups)
    });
    assert_eq!(walked, [2, 0]);
}

/// A group is created protected, and only kswapd has reckoned that at its last look. Until it looks,
/// direct reclaim takes from the group, unless it reckons itself.
#[test]
fn protection_age() {
    let taken = ["kswapd", "visit"].map(|value| {
        let mut r = with_protected_group("protection-age", value);
        let direct = Reclaim { kswapd: false, ..Reclaim::KSWAPD };
        (0..24).for_each(|_| {
            r.lru.reclaim(&mut r.mem, &Real::request(&direct, 0));
        });
        r.mem.memcgs.vmstat(MemcgId(1))[VmEvent::PgScanAnon]
    });
    assert!(taken[0] > 0 && taken[1] == 0, "{taken:?}");
}

/// A page that a walk marked becomes lazily freed memory, and keeps the mark or loses it.
#[test]
fn lazyfree_keeps_marks() {
    let values = ["no", "yes"];
    let [loses, keeps] = both(REWORKED, &[], "lazyfree-keeps-marks", values, |mut r| {
        r.touch('A', 1, true);
        r.age(true);
        r.madvise_free('A', 1);
        let folio = r.folio(Page('A', 1)).unwrap();
        r.mem.frames.has(folio, flag::REFERENCED)
    });
    assert_eq!((loses, keeps), (false, true));
}

/// A file page that a fault brought starts in the second youngest generation, or marked in the
/// third. Anonymous memory starts in the second in any case, and is promoted by the first walk
/// if it was marked.
#[test]
fn fault_arrival() {
    let placement = [("placement", "distance-7.2")];
    let values = ["active", "marked"];
    let [active, marked] = both(REWORKED, &placement, "fault-arrival", values, |mut r| {
        r.touch('m', 0, false);
        r.touch('A', 0, true);
        let pages = [Page('M', 0), Page('A', 0)];
        let mut of = || {
            pages.map(|p| {
                let folio = r.folio(p).unwrap();
                r.lru.generation_of(&r.mem, folio).unwrap()
            })
        };
        let start = of();
        r.age(true);
        let mut walked = || {
            let folio = r.folio(pages[1]).unwrap();
            r.lru.generation_of(&r.mem, folio).unwrap()
        };
        (start, walked())
    });
    assert_eq!(active, ([Gen(2), Gen(2)], Gen(2)));
    assert_eq!(marked, ([Gen(1), Gen(2)], Gen(3)));
}

/// A fault brings a page of a file. It starts in the second youngest generation, or in the oldest
/// until it is mapped: by a fault about another page, or by one about itself. Anonymous memory
/// starts in the second youngest in any case.
#[test]
fn fault_arrival_of_files_that_are_mapped_later() {
    let of = |value| {
        let mut r = with(REWORKED, &[("fault-arrival", value)]);
        r.touch('A', 0, true);
        r.touch('m', 0, false);
        let folio = r.folio(Page('M', 0)).unwrap();
        let anon = r.folio(Page('A', 0)).unwrap();
        assert_eq!(r.lru.generation_of(&r.mem, anon), Some(Gen(2)));
        let start = r.lru.generation_of(&r.mem, folio).unwrap();
        let mut mapped = |how| {
            r.lru.folio_accessed(&mut r.mem, folio, how);
            r.lru.generation_of(&r.mem, folio).unwrap()
        };
        [start, mapped(Access::MappedAround), mapped(Access::FileMapped)]
    };
    assert_eq!(of("active"), [Gen(2), Gen(2), Gen(2)]);
    assert_eq!(of("mapped"), [Gen(0), Gen(2), Gen(2)]);
    assert_eq!(of("touched"), [Gen(0), Gen(0), Gen(2)]);
}

/// Eviction finds a page accessed that a walk had marked. It gets the workingset flag or another
/// mark, and is activated in either case.
#[test]
fn second_touch() {
    let values = ["workingset", "mark"];
    let [flagged, marked] = both(REWORKED, &[], "second-touch", values, |mut r| {
        r.touch('A', 0, true);
        assert!(r.age(true));
        // Another page holds the next generation, or the first would start in the oldest.
        r.touch('A', 1, true);
        assert!(r.age(true));
        r.touch('A', 0, true);
        steps(&mut r, 1);
        let folio = r.folio(Page('A', 0)).unwrap();
        let workingset = r.mem.frames.has(folio, flag::WORKINGSET);
        (workingset, r.lru.refs_of(&r.mem, folio), count(&r, VmEvent::PgActivate))
    });
    assert_eq!(flagged, (true, 0, 1));
    assert_eq!(marked, (false, 2, 1));
}

/// A walk finds two pages accessed for the first time. Only the executable one is promoted, and
/// belongs to the working set at once. So does eviction, which asks the reverse map.
#[test]
fn exec_promotes() {
    let of = |walks: bool| {
        both(REWORKED, &[], "exec-promotes", ["no", "yes"], |mut r| {
            let flags = VmaFlags { exec: true, ..VmaFlags::default() };
            r.map_as('x', Some('X'), 4096, 64, flags);
            r.touch('x', 0, false);
            r.touch('m', 0, false);
            if walks {
                assert!(r.age(true));
            } else {
                let young = |r: &mut Real, is| ['x', 'm'].map(|at| r.set_pte(at, 0, is, false));
                young(&mut r, false);
                (0..2).for_each(|_| assert!(r.age(true)));
                young(&mut r, true);
                steps(&mut r, 4);
            }
            [Page('X', 0), Page('M', 0)].map(|page| {
                let folio = r.folio(page).expect("a page in use stays");
                r.mem.frames.has(folio, flag::WORKINGSET)
            })
        })
    };
    assert_eq!(of(true), [[false, false], [true, false]]);
    assert_eq!(of(false), [[false, false], [true, false]]);
}

/// With just enough generations both rules create one below the first priority. The loop of 7.2
/// evicts one batch all the same; before, nothing was evicted.
#[test]
fn the_loop_ages_and_evicts() {
    let both_sites = |history: &dyn Fn(Real) -> (u64, u64)| {
        let more = [("step-size", "64"), ("budget-rule", "once"), ("abort-rule", "simple-6.7")];
        ["evictor", "loop"].map(|site| {
            let mut knobs = more.to_vec();
            knobs.push(("aging-site", site));
            history(with(REWORKED, &knobs))
        })
    };
    let did = |r: &mut Real, priority| {
        let before = (r.lru.seqs(NodeId(0), MemcgId(0))[2], count(r, VmEvent::PgScanFile));
        r.shrink(KSWAPD, priority);
        let after = (r.lru.seqs(NodeId(0), MemcgId(0))[2], count(r, VmEvent::PgScanFile));
        (after.0 - before.0, after.1 - before.1)
    };
    // Three generations, and 2048 pages in the oldest; the budget is 2048 >> 5, which is 64.
    let enough = both_sites(&|mut r| {
        steps(&mut r, 1);
        r.age(true);
        for file in ['U', 'V'] {
            (0..1024).for_each(|i| r.read(Page(file, i)));
        }
        did(&mut r, 5)
    });
    let [evictor, looped] = enough;
    assert_eq!(evictor.0, 1);
    assert_eq!(evictor.1, 0, "aged, and nothing evicted");
    assert_eq!(looped.0, 1);
    assert_eq!(looped.1, 64, "aged, and one batch");
}
