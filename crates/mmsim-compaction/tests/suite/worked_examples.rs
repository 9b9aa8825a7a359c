//! Runs worked by hand, drawn as maps.

use crate::harness::{self, Bench, Rig, Z};
use mmsim_compaction::CompactionConfig;
use mmsim_compaction::defer::Failures;
use mmsim_compaction::deplete::Depletion;
use mmsim_core::base::compact_result::CompactResult::{
    Complete, Contended, Deferred, PartialSkipped, Skipped, Success,
};
use mmsim_core::base::compact_result::NoBlock;
use mmsim_core::base::id::{CpuId, NodeId, Pfn};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use mmsim_core::phys::gfp::AllocRequest;
use mmsim_core::phys::watermarks::Mark;
use mmsim_core::policy::compaction::CompactRequest;
use mmsim_core::policy::compaction::MigrateMode::{Async, Sync};
use std::sync::{Arc, Mutex};

const TYPES: &str = "MMUMUMMU";
const MAP: &str = "mPm.Pm.m mP.mm.Pm P.mm.P.P mm.mPmm. P..P.Pm. Pm.mmmmm m.Pm.mP. .P..P..m";

fn rig(rules: CompactionConfig) -> Rig {
    Rig::new(rules, TYPES, MAP)
}

/// The map as the rig draws it, from one line per two pageblocks.
fn drawn(lines: [&str; 4]) -> String {
    lines.join(" | ")
}

/// One synchronous request for an unmovable block of four pages.
fn once(rules: CompactionConfig) -> (Rig, Option<Pfn>, Vec<(u32, u32)>) {
    let mut r = rig(rules);
    assert_eq!(r.mem.zones[Z].free, 22);
    assert_eq!(r.mem.zones[Z].fragmentation_index(2), 691);
    let before = r.whereabouts();
    let (got, _) = r.request(2, &[Sync]);
    let mut moves = r.moves_since(&before);
    moves.sort_unstable();
    (r, got, moves)
}

/// 4.1: the scanners meet in the middle; unmovable pageblocks are no targets.
#[test]
fn a_run_of_4_1() {
    let (r, got, moves) = once(CompactionConfig::V4_1);
    assert_eq!(got, None);
    assert_eq!(moves, [(0, 49), (2, 52), (5, 55), (7, 42), (12, 26), (15, 31)]);
    assert_eq!(r.counts(), [16, 24, 14, 6]);
    assert_eq!(r.cached(), [0, 0, 64]);
    let want = drawn([
        "M .P..P... | M mP.m..P.",
        "U P.mm.P.P | M mmmmPmmm",
        "U P..P.Pm. | Ms Pmmmmmmm",
        "M mmPmmmPm | U .P..P..m",
    ]);
    assert_eq!(r.map(), want);
    assert_eq!((r.n(VmEvent::CompactStall), r.n(VmEvent::CompactFail)), (1, 1));
    let z = r.compaction.zone(Z);
    assert!(z.blockskip_flush);
    assert_eq!(z.failures.shift, 1);
}

/// The first series up to patch 5: targets in pageblocks of any type.
#[test]
fn a_run_with_targets_of_any_type() {
    let (r, got, moves) = once(CompactionConfig::V1_NONMOVABLE);
    assert_eq!(got, None);
    let want = [
        (0, 56),
        (2, 58),
        (5, 59),
        (7, 61),
        (8, 62),
        (11, 49),
        (12, 52),
        (15, 55),
        (18, 42),
        (19, 33),
    ];
    assert_eq!(moves, want);
    assert_eq!(r.counts(), [24, 25, 20, 10]);
    let want = drawn([
        "M .P..P... | M .P....P.",
        "U P....P.P | M mm.mPmm.",
        "U Pm.P.Pm. | M Pmmmmmmm",
        "M mmPmmmPm | U mPmmPmmm",
    ]);
    assert_eq!(r.map(), want);
    assert_eq!((r.n(VmEvent::CompactStall), r.n(VmEvent::CompactFail)), (1, 1));
}

/// The sweep, with either threshold: a block is made, and taken from a pageblock that becomes
/// unmovable.
#[test]
fn a_run_of_the_sweep() {
    for rules in [CompactionConfig::V1_REDESIGN, CompactionConfig::V1_THRESHOLD] {
        let mut r = rig(rules);
        let before = r.whereabouts();
        assert_eq!(r.run(&Rig::run_request(Some(2), Sync)), Success);
        let want = [
            (0, 3),
            (2, 6),
            (5, 17),
            (7, 20),
            (8, 26),
            (11, 31),
            (12, 33),
            (15, 34),
            (41, 36),
            (43, 39),
            (44, 49),
            (45, 52),
            (46, 58),
            (47, 59),
        ];
        assert_eq!(r.moves_since(&before), want);
        assert_eq!(r.counts(), [24, 37, 29, 14]);
        assert_eq!(r.cached()[1..], [48, 40]);
        let want = drawn([
            "Ms .P.mP.m. | M .P....P.",
            "Us PmmmmP.P | Ms mmmmPmmm",
            "Us PmmPmPmm | M P.......",
            "Ms mmPmmmP. | Us .PmmP..m",
        ]);
        assert_eq!(r.map(), want);
        assert_eq!(r.compaction.zone(Z).depletion.success, 1);

        let (r, got, _) = once(rules);
        assert_eq!(got, Some(Pfn(44)));
        assert!(r.map().contains("U P...PPPP"), "{}", r.map());
        assert_eq!(r.n(VmEvent::SimExtfragSevere), 1);
        assert_eq!(r.n(VmEvent::SimExtfragOwnership), 1);
        assert_eq!([VmEvent::SimExtfragUM, VmEvent::SimClaimUM].map(|e| r.n(e)), [1, 1]);
        assert_eq!((r.n(VmEvent::CompactStall), r.n(VmEvent::CompactSuccess)), (1, 1));
        assert_eq!(r.compaction.zone(Z).failures.order_failed, 3);
    }
}

/// Requests after the first one: in 4.1 they have no effect, but for runs ever farther apart.
#[test]
fn later_requests_of_4_1_are_put_off() {
    let mut r = rig(CompactionConfig::V4_1);
    let mut ran = Vec::new();
    for request in 1..=320 {
        let before = r.counts();
        let (got, ended) = r.request(2, &[Sync]);
        assert_eq!(got, None);
        if ended != [Deferred] {
            assert_eq!(ended, [Complete], "request {request}");
            let now = r.counts();
            ran.push((request, [0, 1, 2, 3].map(|i| now[i] - before[i])));
        }
    }
    assert_eq!(ran[0], (1, [16, 24, 14, 6]));
    assert_eq!(ran[1], (3, [13, 16, 2, 0]));
    assert_eq!((ran[2].0, ran[2].1[0], ran[2].1[3]), (7, 7, 0));
    let at: Vec<u32> = ran.iter().map(|r| r.0).collect();
    assert_eq!(at, [1, 3, 7, 15, 31, 63, 127, 191, 255, 319]);
    assert_eq!(mmsim_core::policy::compaction::Compaction::stats(&r.compaction).resets, 4);
}

#[test]
fn later_requests_with_targets_of_any_type() {
    let mut r = rig(CompactionConfig::V1_NONMOVABLE);
    assert_eq!(r.request(2, &[Sync]).1, [Complete]);
    assert_eq!(r.request(2, &[Sync]).1, [Deferred]);
    let before = r.counts();
    assert_eq!(r.request(2, &[Sync]).1, [Complete]);
    let now = r.counts();
    assert_eq!([0, 1, 2, 3].map(|i| now[i] - before[i]), [25, 32, 7, 3]);
    for _ in 0..200 {
        assert_eq!(r.request(2, &[Sync]).0, None);
    }
}

/// The sweep gets two blocks; then too little memory is free for another run.
#[test]
fn later_requests_of_the_sweep() {
    for rules in [CompactionConfig::V1_REDESIGN, CompactionConfig::V1_THRESHOLD] {
        let by_size = rules == CompactionConfig::V1_THRESHOLD;
        let mut r = rig(rules);
        let mut step = || {
            let (before, moved) = (r.counts(), r.n(VmEvent::SimMigrateAgain));
            let (got, ended) = r.request(2, &[Sync]);
            let now = r.counts();
            let z = r.compaction.zone(Z);
            let again = r.n(VmEvent::SimMigrateAgain) - moved;
            let counts = [0, 1, 2, 3].map(|i| now[i] - before[i]);
            (got.map(|p| p.0), ended, counts, again, z.failures, z.depletion)
        };
        let (got, ended, ..) = step();
        assert_eq!((got, ended), (Some(44), vec![Success]));
        let (got, ended, counts, _, f, _) = step();
        assert_eq!((got, ended, counts), (None, vec![Complete], [0; 4]));
        assert_eq!((f.order_failed, f.failed), (2, 0));
        let (_, ended, counts, _, f, _) = step();
        assert_eq!((ended, counts[0], f.failed), (vec![Complete], 13, 1));
        for failed in 2..=4 {
            let (_, ended, counts, _, f, _) = step();
            assert_eq!((ended, counts, f.failed), (vec![Complete], [0; 4], failed));
        }
        let (got, ended, counts, again, _, d) = step();
        assert_eq!((got, ended), (Some(24), vec![Success]));
        assert_eq!((counts, again), ([26, 11, 21, 10], 5));
        assert_eq!((d.depleted, d.depth), (by_size, 0));
        let (got, ended, counts, again, f, _) = step();
        assert_eq!((got, ended), (None, vec![Complete]));
        assert_eq!((counts, again, f.order_failed), ([39, 31, 32, 16], 9, 2));
        for _ in 0..20 {
            let (got, ended, ..) = step();
            assert_eq!((got, ended), (None, vec![Skipped]));
        }
        assert_eq!(r.mem.zones[Z].free, 14);
        assert_eq!(r.mem.zones[Z].fragmentation_index(2), 500);
    }
}

/// A zone that is depleted at depth 1: four frames to look at. Asynchronous runs do not start.
#[test]
fn limited_runs() {
    let mut r = rig(CompactionConfig::V1_THRESHOLD);
    let failures = Failures { considered: 0, shift: 0, order_failed: 2, failed: 0 };
    let depletion = Depletion { success: 0, depleted: true, depth: 1, scan_all_free: false };
    r.compaction.set_history(Z, failures, depletion);
    type Step = (u64, &'static [(u32, u32)], [u32; 2], Option<Pfn>);
    let steps: [Step; 5] = [
        (8, &[(0, 3), (2, 6), (5, 17), (7, 20)], [8, 8], None),
        (8, &[(8, 10), (11, 13), (12, 26), (15, 31)], [16, 32], None),
        (8, &[(38, 33)], [40, 32], None),
        (6, &[(41, 34), (43, 36), (44, 38), (45, 39)], [40, 40], None),
        (6, &[(46, 42), (47, 43)], [48, 40], Some(Pfn(44))),
    ];
    for (i, (scanned, moves, cached, page)) in steps.into_iter().enumerate() {
        let (counts, before) = (r.counts(), r.whereabouts());
        let (got, ended) = r.request(2, &[Async, Sync]);
        assert_eq!(ended, [Skipped, Contended], "request {}", i + 1);
        assert_eq!(r.counts()[0] - counts[0], scanned, "request {}", i + 1);
        let mut moved = r.moves_since(&before);
        moved.sort_unstable();
        assert_eq!(moved, moves, "request {}", i + 1);
        assert_eq!(r.cached()[1..], cached, "request {}", i + 1);
        assert_eq!(got, page, "request {}", i + 1);
    }
    assert_eq!(r.n(VmEvent::CompactStall), 5);
    // A block was made, but no run ended for that reason.
    let d = r.compaction.zone(Z).depletion;
    assert_eq!((d.success, d.depleted), (0, true));
}

/// An asynchronous and a synchronous attempt for each request, both counted: request 1 runs both,
/// requests 2, 4, 8, 16, 32, 64 the second, then every 32nd.
#[test]
fn two_attempts_a_request() {
    let mut r = rig(CompactionConfig::V4_1);
    let mut ran = Vec::new();
    for request in 1..=160 {
        let stalls = r.n(VmEvent::CompactStall);
        let (got, ended) = r.request(2, &[Async, Sync]);
        assert_eq!(got, None);
        let n = r.n(VmEvent::CompactStall) - stalls;
        if n > 0 {
            ran.push((request, n));
            assert!(request == 1 || ended[0] == Deferred);
        }
    }
    let later = [2, 4, 8, 16, 32, 64, 96, 128, 160].map(|r| (r, 1));
    assert_eq!(ran[0], (1, 2));
    assert_eq!(ran[1..], later);
    let [stall, fail] = [VmEvent::CompactStall, VmEvent::CompactFail].map(|e| r.n(e));
    assert_eq!(stall, fail);
}

/// Pages that move again, and back into the pageblock that they left, counted by looking where
/// every page is before and after each request.
#[test]
fn pages_that_move_to_and_fro_are_counted() {
    let mut r = rig(CompactionConfig::V1_REDESIGN);
    let mut came_from = std::collections::BTreeMap::new();
    let (mut again, mut back, mut moves) = (0, 0, 0);
    for _ in 0..8 {
        let before = r.whereabouts();
        let _ = r.request(2, &[Sync]);
        for (&(page, from), &(_, to)) in before.iter().zip(&r.whereabouts()) {
            if from != to {
                let left: Option<u32> = came_from.insert(page, from / harness::BLOCK);
                again += u64::from(left.is_some());
                back += u64::from(left == Some(to / harness::BLOCK));
                moves += 1;
            }
        }
    }
    assert_eq!(moves, r.counts()[3], "no page moved twice for one request");
    let counted = [VmEvent::SimMigrateAgain, VmEvent::SimMigrateBack].map(|e| r.n(e));
    assert_eq!(counted, [again, back]);
    assert_eq!(again, 14, "5 for request 7 and 9 for request 8");
    assert!(back > 0 && r.n(VmEvent::SimEmptiedTargets) > 0);
    assert_eq!(mmsim_core::policy::compaction::Compaction::stats(&r.compaction).resets, 1);
}

/// Worked by hand. Of the first request of the sweep: pages leave pageblocks 0, 1 and 5, two of
/// pageblock 0 for free frames of its own, so that it is filled again; targets 2, 3, 4, 6, 7 stay
/// filled. Of a zone of two pageblocks, each with one page and one free frame, compacted as a
/// whole: the first run takes either page into the free frame beside it, so it refills both
/// pageblocks. The second empties both, which were filled in the cycle before; the first page goes back
/// to where it was, the other one to the frame that the first has just left.
#[test]
fn pageblocks_that_are_emptied_and_filled_again() {
    let counts = |r: &Rig| {
        [VmEvent::SimEmptiedTargets, VmEvent::SimRefilledSources, VmEvent::SimMigrateBack]
            .map(|e| r.n(e))
    };
    let mut r = rig(CompactionConfig::V1_REDESIGN);
    let _ = r.request(2, &[Sync]);
    assert_eq!(counts(&r), [0, 1, 0]);
    let mut r = Rig::new(CompactionConfig::V1_REDESIGN, "MM", "m.PPPPPP m.PPPPPP");
    for (moved, want) in [([1, 9], [0, 2, 0]), ([0, 1], [2, 3, 1])] {
        let _ = r.run(&Rig::run_request(None, Sync));
        assert_eq!((r.frames_of('m'), counts(&r)), (moved.to_vec(), want));
    }
}

/// A request of each type, for a page that only another type has: of a whole free pageblock, which
/// becomes the request's, and of a single free frame, which is too little to claim its pageblock.
/// One counter tells both types; its twin tells the claim.
#[test]
fn fallbacks_are_counted_by_requester_and_owner() {
    let types = [("M", Migratetype::Movable), ("U", Migratetype::Unmovable)];
    let types = types.into_iter().chain([("R", Migratetype::Reclaimable)]);
    let matrix = |r: &Rig, stem: &str| -> Vec<(&str, u64)> {
        let of = |(name, n): (&'static str, u64)| Some((name.strip_prefix(stem)?, n));
        let counted = r.mem.stats.vmstat.iter().filter_map(of);
        counted.filter(|c| c.1 > 0 && c.0.contains('_')).collect()
    };
    for (owner, owns) in types.clone() {
        for (_, asks) in types.clone().filter(|t| t.1 != owns) {
            for (map, claimed) in [("........", true), ("PPP.PPPP", false)] {
                let mut r = Rig::new(CompactionConfig::V4_1, owner, map);
                let req = AllocRequest { migratetype: asks, ..AllocRequest::USER };
                assert!(r.mem.try_alloc(NodeId(0), &req, Some(Mark::Min)).is_some());
                let pair = format!("{}_{}", asks.name(), owns.name()).to_lowercase();
                assert_eq!(matrix(&r, "sim_extfrag_"), [(&*pair, 1)], "{map}");
                let claims: &[(&str, u64)] = if claimed { &[(&pair, 1)] } else { &[] };
                assert_eq!(matrix(&r, "sim_claim_"), claims, "{map}");
            }
        }
    }
}

/// The first run ends within the first pageblock, where the second one begins. That is a pageblock
/// chosen twice if another CPU runs it, and not if the same one does; nor after a reset, since what
/// was learned of it is gone anyway.
#[test]
fn pageblocks_that_two_requesters_choose() {
    let chosen = |second: u16, anew: bool| {
        let map = "mmmmPmmm".to_string() + &"P.P.P.P.".repeat(6);
        let mut r = Rig::new(CompactionConfig::V4_1, "MMMMMMM", &map);
        assert_eq!(r.run(&Rig::run_request(Some(2), Sync)), Success);
        r.mem.acting.cpu = CpuId(second);
        let order = if anew { None } else { Some(3) };
        let _ = r.run(&Rig::run_request(order, Sync));
        r.n(VmEvent::SimChosenTwice)
    };
    assert_eq!((chosen(0, false), chosen(1, false), chosen(1, true)), (0, 1, 0));
}

/// The first request of the sweep, as an observer sees it: it begins at the first frame, moves four
/// batches of four, four, four and two pages, and ends behind pageblock 5 with a block. What moved
/// from where to where is what whereabouts say.
#[test]
fn an_observer_sees_the_moves() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut r = rig(CompactionConfig::V1_REDESIGN);
    r.mem.telling.tracer.set_observer(Some(Box::new(Seen(seen.clone()))));
    let before = r.whereabouts();
    assert_eq!(r.run(&Rig::run_request(Some(2), Sync)), Success);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let (zone, sync) = (Z, true);
    let begin = TraceEvent::MmCompactionBegin { zone, migrate_pfn: Pfn(0), free_pfn: Pfn(0), sync };
    assert_eq!(seen.first(), Some(&begin));
    let (migrate_pfn, free_pfn, status) = (Pfn(48), Pfn(60), Success);
    let end = TraceEvent::MmCompactionEnd { zone, migrate_pfn, free_pfn, sync, status };
    assert_eq!(seen.last(), Some(&end));
    let batches = seen.iter().filter_map(|e| match *e {
        TraceEvent::MmCompactionMigratepages { nr_migrated, nr_failed } => {
            Some((nr_migrated, nr_failed))
        }
        _ => None,
    });
    assert_eq!(batches.collect::<Vec<_>>(), [(4, 0), (4, 0), (4, 0), (2, 0)]);
    let mut moves: Vec<(u32, u32)> = seen
        .iter()
        .filter_map(|e| match e {
            TraceEvent::SimMigrate { pfn, target, page } => {
                assert!(page.is_some());
                Some((pfn.0, target.0))
            }
            _ => None,
        })
        .collect();
    moves.sort_unstable();
    assert_eq!(moves, r.moves_since(&before));
}

/// Later kernels clear a pageblock in one batch if they come to it a second time, and their mark for the last
/// one that pages were moved from is frame 0 at first (`last_migrated_pfn`). So in the first pageblock of memory
/// all eight pages are taken at once, and in the second if the first is passed over; else four and four.
#[test]
fn the_first_pageblock_of_memory_is_taken_at_once() {
    let taken = |first: &str, map: &str, rules: CompactionConfig| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let rules = CompactionConfig { cluster_max: 4, fast_search: false, ..rules };
        let map = map.to_string() + &"P.P.P.P.".repeat(8);
        let types = first.to_string() + &"M".repeat(map.len() / 8 - 1);
        let mut r = Rig::new(rules, &types, &map);
        r.mem.telling.tracer.set_observer(Some(Box::new(Seen(seen.clone()))));
        let movable = Migratetype::Movable;
        let request = Rig::run_request(Some(3), Async);
        r.run(&CompactRequest { migratetype: movable, ..request });
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let moved = seen.iter().filter_map(|e| match *e {
            TraceEvent::MmCompactionMigratepages { nr_migrated, .. } => Some(nr_migrated),
            _ => None,
        });
        moved.collect::<Vec<_>>()
    };
    for rules in [CompactionConfig::V6_1, CompactionConfig::V6_12] {
        let rules = CompactionConfig { free_stride: false, ..rules };
        assert_eq!(taken("M", "mmmmmmmm", rules)[0], 8);
        assert_eq!(taken("U", "PPPPPPPPmmmmmmmm", rules)[0], 8);
        assert_eq!(taken("M", "PPPPPPPPmmmmmmmm", rules)[..2], [4, 4]);
    }
    assert_eq!(taken("M", "mmmmmmmm", CompactionConfig::V4_1)[..2], [4, 4]);
}

/// Keeps what it sees.
struct Seen(Arc<Mutex<Vec<TraceEvent>>>);

impl Observer for Seen {
    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        let of_compaction = matches!(
            event,
            TraceEvent::MmCompactionBegin { .. }
                | TraceEvent::MmCompactionMigratepages { .. }
                | TraceEvent::MmCompactionEnd { .. }
                | TraceEvent::SimMigrate { .. }
        );
        if of_compaction {
            self.0.lock().unwrap().push(event.clone());
        }
    }
}

/// Why a run made no block, by the rule of 4.1 and of 6.12. Order 3 is a pageblock.
#[test]
fn a_run_says_why_it_made_no_block() {
    let old = (Bench::V4_1, CompactionConfig::V4_1);
    let new = (Bench::V6_12, CompactionConfig::V6_12);
    let singles = "m.P.P.P. ".repeat(6);
    let singles = singles.as_str();
    for ((bench, rules), types, map, result, why) in [
        // Each pageblock keeps pages that stay where they are.
        (old, "MMMMMM", singles, Complete, NoBlock::NotMovable),
        (new, "MMMMMM", singles, PartialSkipped, NoBlock::NotMovable),
        // All free frames are in unmovable pageblocks, where 4.1 takes no targets.
        (old, "MUUU", "mmmm.mmP P....... P......P P......P", Complete, NoBlock::NoSpace),
        // Nothing is free, and the run does not begin.
        (old, "MM", "mmmmmmmm mmmmmmmm", Skipped, NoBlock::NoSpace),
        (new, "MM", "mmmmmmmm mmmmmmmm", Skipped, NoBlock::NoSpace),
        // There is a block. Who asks behind that comes too late if it is gone.
        (old, "MM", "mmmmmmmm ........", Success, NoBlock::Raced),
        (new, "MM", "mmmmmmmm ........", Success, NoBlock::Raced),
    ] {
        let mut r = Rig::on(bench, harness::small(rules), types, map);
        let out = r.run_to_its_end(&Rig::run_request(Some(3), Sync));
        assert_eq!((out.result, out.why), (result, why), "{map}");
    }
}
