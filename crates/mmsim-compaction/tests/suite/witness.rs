//! One witness for each knob: a zone in which only that knob is another, and what must come of it.
//! Each says first what is expected, and why.

use crate::harness::{Bench, Rig, Z};
use mmsim_compaction::CompactionConfig;
use mmsim_compaction::config::Settings as _;
use mmsim_compaction::defer::Failures;
use mmsim_compaction::deplete::Depletion;
use mmsim_core::base::compact_result::{CompactResult, NoBlock};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::kernel::Kernel;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::policy::compaction::MigrateMode::{Async, Sync, SyncLight};
use mmsim_core::policy::compaction::{CompactRequest, Compaction as _};

/// The same zone with both values of a knob; batches of four pages.
fn both<T>(
    preset: &str,
    more: &[(&str, &str)],
    knob: &str,
    values: [&str; 2],
    zone: (&str, &str),
    history: impl Fn(Rig) -> T,
) -> [T; 2] {
    both_on(Bench::V4_1, preset, more, knob, values, zone, history)
}

/// The same on another machine.
fn both_on<T>(
    bench: Bench,
    preset: &str,
    more: &[(&str, &str)],
    knob: &str,
    values: [&str; 2],
    zone: (&str, &str),
    history: impl Fn(Rig) -> T,
) -> [T; 2] {
    values.map(|value| {
        let mut c = CompactionConfig::preset(preset).unwrap().config;
        c.cluster_max = 4;
        for (knob, value) in more.iter().chain([&(knob, value)]) {
            c.set(knob, value).unwrap();
        }
        c.validate().unwrap();
        history(Rig::on(bench, c, zone.0, zone.1))
    })
}

const OLD: &str = "compaction-v4.1";
const V1: &str = "compaction-2015v1-redesign";
const V2: &str = "compaction-2015v2-redesign";
const NEW: &str = "compaction-v6.1";
/// A pageblock with four single free frames.
const SINGLES: &str = "P.P.P.P.";

/// A zone of these pageblocks and then `n` of single free frames, all movable.
fn before_singles(first: &str, n: usize) -> (String, String) {
    let map = first.to_string() + &SINGLES.repeat(n);
    let blocks = map.chars().filter(|c| !c.is_whitespace()).count() / 8;
    ("M".repeat(blocks), map)
}

fn run(r: &mut Rig, order: u8) -> CompactResult {
    r.run(&Rig::run_request(Some(order), Sync))
}

/// The second call begins in the middle of the first pageblock and finds nothing. That is enough
/// for a skip bit, unless the whole pageblock must have been looked at.
#[test]
fn skip_needs_full_block() {
    let (t, m) = before_singles("mmmmPPPP", 5);
    let [no, yes] = both(OLD, &[], "skip-needs-full-block", ["no", "yes"], (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 3), CompactResult::Complete);
        r.compaction.zone(Z).skip[0]
    });
    assert_eq!((no, yes), (true, false));
}

/// The first pageblock is of no use. The next run begins there again, or behind it.
#[test]
fn cached_pfn() {
    let (t, m) = before_singles("PPPPPPPP m...m...", 4);
    let values = ["first-scanned", "past-block"];
    let [first, past] = both(OLD, &[], "cached-pfn", values, (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 2), CompactResult::Success);
        r.cached()[1]
    });
    assert_eq!((first, past), (0, 8));
}

/// The first pageblock gave a page, the second a block. The next run begins behind the first one
/// only if ends are remembered whatever was taken.
#[test]
fn cached_always() {
    let (t, m) = before_singles("mPPPPPPP m...mPPP", 5);
    let [never, always] =
        both(OLD, &[], "cached-always", ["never", "always"], (&t, &m), |mut r| {
            assert_eq!(run(&mut r, 2), CompactResult::Success);
            r.cached()[1]
        });
    assert_eq!((never, always), (0, 16));
}

/// Free frames are in unmovable pageblocks only.
#[test]
fn target_types() {
    let m = before_singles("m...mPPP", 4).1;
    let [movable, any] =
        both(OLD, &[], "target-types", ["movable", "any"], ("MUUUU", &m), |mut r| {
            let result = run(&mut r, 2);
            (result, r.n(VmEvent::PgMigrateSuccess))
        });
    assert_eq!(movable, (CompactResult::Complete, 0));
    assert_eq!(any, (CompactResult::Success, 2));
}

/// A cycle without a success ends.
#[test]
fn depletion() {
    let (t, m) = before_singles("mPPPPPPP", 4);
    let [off, v1] = both(OLD, &[], "depletion", ["off", "v1"], (&t, &m), |mut r| {
        let _ = r.run(&Rig::run_request(None, Sync));
        r.compaction.zone(Z).depletion.depleted
    });
    assert_eq!((off, v1), (false, true));
}

fn depleted(r: &mut Rig, depth: u32, success: u32) {
    let failures = Failures { considered: 0, shift: 0, order_failed: 4, failed: 0 };
    let depletion = Depletion { success, depleted: depth > 0, depth, scan_all_free: false };
    r.compaction.set_history(Z, failures, depletion);
}

/// In a depleted zone of depth one four frames may be looked at, so one pageblock is.
#[test]
fn scan_limit() {
    let (t, m) = before_singles("mPPPPPPP mPPPPPPP", 5);
    let rules = [("depletion", "v1")];
    let [off, v1] = both(OLD, &rules, "scan-limit", ["off", "v1"], (&t, &m), |mut r| {
        depleted(&mut r, 1, 0);
        let out = r.run_to_its_end(&Rig::run_request(Some(3), Sync));
        (out.result, out.why, r.counts()[0])
    });
    assert_eq!(v1, (CompactResult::Contended, NoBlock::GaveUp, 8));
    assert!(off.0 == CompactResult::Complete && off.1 == NoBlock::NotMovable, "{off:?}");
    assert!(off.2 > 8, "{off:?}");
}

/// After a failure the next request is refused, or not.
#[test]
fn deferral() {
    let (t, m) = before_singles("", 2);
    let [defer, count] =
        both(OLD, &[], "deferral", ["defer", "count-failures"], (&t, &m), |mut r| {
            r.compaction.note_failure(Z, 3);
            r.compaction.deferred(Z, 3)
        });
    assert_eq!((defer, count), (true, false));
}

/// Pages fill the low end, if targets are looked for there.
#[test]
fn whole_zone_sweep() {
    let zone = ("MMMMMMM", "P.P.P.P. P.P.P.P. mPmPmPmm P.P.P.P. mmPmmmmm P.P.P.P. PPPPPPPP");
    let [meet, sweep] = both(
        "compaction-2015v1-nonmovable",
        &[],
        "whole-zone-sweep",
        ["no", "yes"],
        zone,
        |mut r| {
            let before = r.whereabouts();
            let _ = run(&mut r, 2);
            r.moves_since(&before).iter().any(|(from, to)| to < from)
        },
    );
    assert_eq!((meet, sweep), (false, true));
}

/// A cycle with two successes is enough for a small zone by one threshold, not by the other, be they
/// words or numbers.
#[test]
fn deplete_threshold() {
    let (t, m) = before_singles("mPPPPPPP", 4);
    for values in [["one", "by-size"], ["2", "3"]] {
        let zone = (&*t, &*m);
        let few_are_enough = both(V1, &[], "deplete-threshold", values, zone, |mut r| {
            depleted(&mut r, 0, 2);
            let _ = r.run(&Rig::run_request(None, Sync));
            r.compaction.zone(Z).depletion.depleted
        });
        assert_eq!(few_are_enough, [false, true], "{values:?}");
    }
}

/// The second pageblock has no free frame. When the sweep comes around it looks there again, unless
/// that is remembered by a skip bit of its own. (The last pageblocks are unmovable: no targets.)
#[test]
fn two_skip_bits() {
    let m = "mmmmmmmm PPPPPPPP P.P.P.PP mmmmmmmm P.P.PPPP mmmmPPPP".to_string();
    let zone = ("MMMMMMUUUUU", &*(m + &SINGLES.repeat(5)));
    let [one, two] = both(V2, &[], "two-skip-bits", ["no", "yes"], zone, |mut r| {
        assert_eq!(run(&mut r, 3), CompactResult::Complete);
        (r.counts()[1], r.compaction.zone(Z).skip_free.iter().any(|&s| s))
    });
    assert!(two.0 < one.0, "{two:?} < {one:?}");
    assert!(two.1 && !one.1);
}

/// A block of the wanted size is there, but the watermark keeps it from being used. As a target it
/// is taken apart, or spared.
#[test]
fn spare_free() {
    let (t, m) = before_singles("mmmmPPPP ....PPPP", 7);
    let values = ["pageblock", "requested"];
    let [taken, spared] = both(V2, &[], "spare-free", values, (&t, &m), |mut r| {
        r.mem.zones[Z].watermark = [20; 3];
        let _ = run(&mut r, 2);
        r.frames_of('m')
    });
    assert_eq!(taken, [8, 9, 10, 11]);
    assert_eq!(spared, [17, 19, 21, 23]);
}

/// No pageblock may be filled: a failure, or nothing to remember.
#[test]
fn no_target_completes() {
    let m = before_singles("mmmmmPPP", 4).1;
    let [no, yes] =
        both(V2, &[], "no-target-completes", ["no", "yes"], ("MUUUU", &m), |mut r| run(&mut r, 2));
    assert_eq!((no, yes), (CompactResult::Contended, CompactResult::Complete));
}

/// Half of the first pageblock is enough for the request. Later kernels clear all of it first.
#[test]
fn scanners() {
    let (t, m) = before_singles("mmmmPm.m", 5);
    let [old, new] = both(OLD, &[], "scanners", ["v4.1", "v6"], (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 2), CompactResult::Success);
        r.n(VmEvent::PgMigrateSuccess)
    });
    assert_eq!((old, new), (4, 6));
}

/// Most pageblocks of the upper half have no free frame. The free list tells which one has.
#[test]
fn fast_search() {
    let map = "mmmmmmmm".to_string() + &SINGLES.repeat(5) + &"PPPPPPPP".repeat(3) + SINGLES;
    let map = map + &"PPPPPPPP".repeat(2);
    let t = "M".repeat(12);
    let more = [("free-stride", "no")];
    let [no, yes] = both(NEW, &more, "fast-search", ["no", "yes"], (&t, &map), |mut r| {
        let _ = run(&mut r, 2);
        assert!(r.n(VmEvent::PgMigrateSuccess) > 0);
        r.counts()[1]
    });
    assert!(yes < no, "{yes} < {no}");
}

/// The second pageblock has the largest free block, so its pages are to be moved next. Marked as
/// found it is passed over instead. (Pageblocks of 16 frames: looks are for orders above 3. The first of
/// memory is taken without a look.)
#[test]
fn found_is_skipped() {
    let map = "mPPPPPPPPPPPPPPP ........mPPPPPPP mmmmmmmmPPPPPPPP".to_string();
    let (map, types) = (map + &SINGLES.repeat(36), "M".repeat(21));
    let alloc = KernelRules { pageblock_order: 4, max_order: 4, ..KernelRules::of(Kernel::V4_1) };
    let [no, yes] = ["no", "yes"].map(|value| {
        let mut c = CompactionConfig::preset(NEW).unwrap().config;
        c.set("found-is-skipped", value).unwrap();
        let mut r = Rig::on(Bench { alloc, ..Bench::V4_1 }, c, &types, &map);
        let movable = Migratetype::Movable;
        let req = CompactRequest { migratetype: movable, ..Rig::run_request(Some(4), Sync) };
        let _ = r.run(&req);
        (r.compaction.zone(Z).skip[1], r.frames_of('m').contains(&24))
    });
    // Its only page has moved, or is where it was.
    assert_eq!(no, (true, false));
    assert_eq!(yes, (true, true));
}

/// An asynchronous search for targets looks at every fourth frame (the size of a batch).
#[test]
fn free_stride() {
    let (t, m) = before_singles("mmmmmmmm", 3);
    let m = m + &"PPPPPPPP".repeat(3);
    let t = t + "MMM";
    let slow = [("fast-search", "no")];
    let [no, yes] = both(NEW, &slow, "free-stride", ["no", "yes"], (&t, &m), |mut r| {
        let req = CompactRequest {
            migratetype: Migratetype::Movable,
            ..Rig::run_request(Some(2), Async)
        };
        let _ = r.run(&req);
        r.counts()[1]
    });
    assert!(yes < no, "{yes} < {no}");
}

/// A pinned frame keeps the first four from becoming a block: their pages are left alone.
#[test]
fn abandon_groups() {
    let (t, m) = before_singles("mmPmPPPP mPPmPPPP", 5);
    let more = [("free-stride", "no")];
    let [no, yes] = both(NEW, &more, "abandon-groups", ["no", "yes"], (&t, &m), |mut r| {
        let req = CompactRequest {
            migratetype: Migratetype::Movable,
            ..Rig::run_request(Some(2), Async)
        };
        let _ = r.run(&req);
        r.n(VmEvent::PgMigrateSuccess)
    });
    assert!(no > 0 && yes == 0, "{no}, {yes}");
}

/// An unmovable request for a whole pageblock, asynchronous. All pageblocks are movable, so it finds no
/// source, unless it may take from them as of 7.2. A smaller one leaves them alone all the same.
#[test]
fn async_sources() {
    let (t, m) = before_singles("mm.mm.mm", 8);
    let more = [("free-stride", "no"), ("abandon-groups", "yes")];
    let values = ["own-type", "large-from-movable"];
    for (order, moved) in [(3, [false, true]), (2, [false, false])] {
        let got = both(NEW, &more, "async-sources", values, (&t, &m), |mut r| {
            let req = CompactRequest {
                migratetype: Migratetype::Unmovable,
                ..Rig::run_request(Some(order), Async)
            };
            let _ = r.run(&req);
            r.n(VmEvent::CompactIsolated) > 0
        });
        assert_eq!(got, moved, "order {order}");
    }
}

/// The second batch comes from the same pageblock, which is finished then: later runs begin
/// behind it.
#[test]
fn finish_pageblock() {
    let (t, m) = before_singles("mmmmmmmm", 6);
    let values = ["never", "revisited"];
    let more = [("capture", "no"), ("fast-search", "no")];
    let [never, revisited] = both(NEW, &more, "finish-pageblock", values, (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 3), CompactResult::Success);
        r.cached()[1]
    });
    assert!(never == 0 && revisited >= 8, "{never}, {revisited}");
}

/// The block that forms is the request's at once.
#[test]
fn capture() {
    let (t, m) = before_singles("mmmmPPPP", 5);
    let [no, yes] = both(NEW, &[], "capture", ["no", "yes"], (&t, &m), |mut r| {
        let movable = Migratetype::Movable;
        let req = CompactRequest { migratetype: movable, ..Rig::run_request(Some(2), Sync) };
        let out = r.compaction.compact_zone(&mut r.mem, &mut r.lru, &req);
        r.mem.check();
        (out.result, out.captured)
    });
    assert_eq!(no, (CompactResult::Success, None));
    assert_eq!(yes, (CompactResult::Success, Some(Pfn(0))));
}

/// The first page that is taken is the second of its pageblock: that marks it, or nothing does. In the
/// next pageblock it is the first one, which marks it either way.
#[test]
fn skip_mark() {
    let (t, m) = before_singles("PmmmPPPP mPPPPPPP", 5);
    let values = ["first-frame", "first-page"];
    let [frame, page] = both(NEW, &[], "skip-mark", values, (&t, &m), |mut r| {
        assert_ne!(run(&mut r, 3), CompactResult::Success);
        let skip = r.compaction.zone(Z).skip;
        (skip[0], skip[1])
    });
    assert_eq!((frame, page), ((false, true), (true, true)));
}

/// The four pages of the first block are freed to the CPU's list, so their block forms when that is drained,
/// behind the batch that emptied the rest of the pageblock. The run sees it at once, or moves the page
/// of the next pageblock first.
#[test]
fn capture_seen() {
    let (t, m) = before_singles("mmmmPPPP mPPPPPPP", 5);
    let bench = Bench { pcp: (64, 1), ..Bench::V4_1 };
    let values = ["behind-drain", "before-drain"];
    let zone = (t.as_str(), m.as_str());
    let [behind, before] = both_on(bench, NEW, &[], "capture-seen", values, zone, |mut r| {
        let movable = Migratetype::Movable;
        let req = CompactRequest { migratetype: movable, ..Rig::run_request(Some(2), Sync) };
        let out = r.compaction.compact_zone(&mut r.mem, &mut r.lru, &req);
        r.mem.check();
        (out.captured, r.n(VmEvent::PgMigrateSuccess))
    });
    assert_eq!(behind, (Some(Pfn(0)), 4));
    assert_eq!(before, (Some(Pfn(0)), 5));
}

/// The four free frames of the last pageblock are taken. Later searches begin with it, or with the one
/// below.
#[test]
fn target_hint() {
    let (t, m) = before_singles("mmmmPPPP", 5);
    let more = [("fast-search", "no"), ("capture", "no")];
    let [scanned, below] =
        both(NEW, &more, "target-hint", ["scanned", "below"], (&t, &m), |mut r| {
            assert_eq!(run(&mut r, 2), CompactResult::Success);
            r.compaction.zone(Z).cached_free
        });
    assert_eq!((scanned, below), (40, 32));
}

/// The second frame of a free block of two is counted, or not.
#[test]
fn count_tails() {
    let (t, m) = before_singles("..PPPPPP mmmmPPPP", 5);
    let [no, yes] = both(NEW, &[], "count-tails", ["no", "yes"], (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 2), CompactResult::Success);
        r.counts()[0]
    });
    assert_eq!(yes, no + 1);
}

/// For two pages a single free frame and a block of two are taken. The last frames are used, or
/// the single one and the first of the block.
#[test]
fn target_order() {
    let (t, m) = before_singles("mPPPmPPP", 5);
    let (t, m) = (t + "M", m + ".P..PPPP");
    let more = [("fast-search", "no")];
    let values = ["last-first", "by-order"];
    let [last, order] = both(NEW, &more, "target-order", values, (&t, &m), |mut r| {
        let _ = run(&mut r, 3);
        r.frames_of('m')
    });
    assert_eq!(last, [50, 51]);
    assert_eq!(order, [48, 50]);
}

/// The pages are in an unmovable pageblock, which asynchronous runs do not enter. A request that
/// begins asynchronously gets nothing from its first run; one that never does gets its block.
#[test]
fn request_modes() {
    let m = before_singles("mmmmPPPP", 5).1;
    let values = ["async-first", "sync"];
    let [first, sync] = both(OLD, &[], "request-modes", values, ("UMMMMM", &m), |mut r| {
        let mode = r.compaction.mode_of(Async);
        (r.run(&Rig::run_request(Some(2), mode)), r.n(VmEvent::PgMigrateSuccess))
    });
    assert_eq!(first, (CompactResult::Complete, 0));
    assert_eq!(sync, (CompactResult::Success, 4));
}

/// The zone of the worked examples. The first run of the sweep fills pageblocks 0, 2, 3, 4, 6 and
/// 7 and empties 1 and 5. Five failures later what was learned is forgotten, and the next run moves
/// 10 pages, 5 of them again. If what was filled is left alone for a cycle more, there is no page
/// that it may take; the cycle after that filled nothing, so all of it may be taken from then.
#[test]
fn undo_prevention() {
    let map = "mPm.Pm.m mP.mm.Pm P.mm.P.P mm.mPmm. P..P.Pm. Pm.mmmmm m.Pm.mP. .P..P..m";
    let values = ["cycle", "next-cycle"];
    let zone = ("MMUMUMMU", map);
    let [posted, kept] = both(V1, &[], "undo-prevention", values, zone, |mut r| {
        let mut step = |n: usize| {
            let before = [VmEvent::PgMigrateSuccess, VmEvent::SimMigrateAgain].map(|e| r.n(e));
            (0..n).for_each(|_| drop(r.request(2, &[Sync])));
            let after = [VmEvent::PgMigrateSuccess, VmEvent::SimMigrateAgain].map(|e| r.n(e));
            [after[0] - before[0], after[1] - before[1]]
        };
        [step(1), step(5), step(1), step(5)]
    });
    assert_eq!(posted[..3], [[14, 0], [0, 0], [10, 5]]);
    assert_eq!(kept[..3], [[14, 0], [0, 0], [0, 0]]);
    assert!(kept[3][0] > 0, "{kept:?}");
}

/// A run ends between batches: larger ones do more than is needed.
#[test]
fn cluster_max() {
    let (t, m) = before_singles("mmmmmmmm", 5);
    let [four, eight] = both(OLD, &[], "cluster-max", ["4", "8"], (&t, &m), |mut r| {
        assert_eq!(run(&mut r, 2), CompactResult::Success);
        r.n(VmEvent::PgMigrateSuccess)
    });
    assert_eq!((four, eight), (4, 8));
}

/// After five failures 31 requests are refused, or 3.
#[test]
fn max_defer_shift() {
    let (t, m) = before_singles("", 2);
    let [six, two] = both(OLD, &[], "max-defer-shift", ["6", "2"], (&t, &m), |mut r| {
        (0..5).for_each(|_| r.compaction.note_failure(Z, 3));
        (0..100).position(|_| !r.compaction.deferred(Z, 3))
    });
    assert_eq!((six, two), (Some(31), Some(3)));
}

/// The second failure of an order in a row makes the next run start anew, or not yet.
#[test]
fn max_failed() {
    let (t, m) = before_singles("mPPPPPPP", 5);
    let [four, one] = both(V1, &[], "max-failed", ["4", "1"], (&t, &m), |mut r| {
        r.compaction.note_success(Z, 3, true);
        (0..2).for_each(|_| r.compaction.note_failure(Z, 3));
        let _ = run(&mut r, 3);
        r.compaction.stats().resets
    });
    assert_eq!((four, one), (0, 1));
}

/// Each knob has one, named as it is.
#[test]
fn every_knob_has_a_witness() {
    let here = include_str!("witness.rs");
    for knob in CompactionConfig::ROWS {
        let name = format!("#[test]\nfn {}() {{", knob.name.replace('-', "_"));
        assert!(here.contains(&name), "no witness for {}", knob.name);
    }
}

/// Two pages of a file on ramfs lie around two movable ones. A synchronous run takes all four and fails
/// at two. A light one does not take those two.
#[test]
fn only_a_synchronous_run_takes_pages_of_ramfs() {
    let rules = CompactionConfig::preset("compaction-v6.12").unwrap().config;
    for (mode, failed) in [(SyncLight, 0), (Sync, 2)] {
        let map = "rmmrPPPP".to_string() + &SINGLES.repeat(4);
        let mut r = Rig::on(Bench::V6_12, rules, "MMMMM", &map);
        r.run(&Rig::run_request(None, mode));
        assert_eq!(r.n(VmEvent::PgMigrateFail), failed, "{mode:?}");
        assert!([0, 3].iter().all(|p| r.frames_of('m').contains(p)), "{mode:?}: {}", r.map());
    }
}
