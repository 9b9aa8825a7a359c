//! The strategy against a naive compactor, step by step, on random zones; and what holds of every
//! run under every preset.

use crate::harness::{Bench, Rig, Z, small};
use crate::model::{Ask, Cell, End, Naive, flags};
use mmsim_compaction::config::{Scanners, UndoPrevention, preset};
use mmsim_compaction::{CompactionConfig, PRESETS};
use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::compaction::{CompactRequest, Compaction as _, Compactor, MigrateMode};
use mmsim_core::virt::pages::pte;
use proptest::prelude::*;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Run {
        order: Option<u8>,
        mode: MigrateMode,
        movable: bool,
        kswapd: bool,
    },
    Failed(u8),
    Succeeded(u8, bool),
    KswapdSleeps,
    /// The page that was in this frame at the start goes.
    Unmap(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let mode = prop_oneof![
        Just(MigrateMode::Async),
        Just(MigrateMode::SyncLight),
        Just(MigrateMode::Sync)
    ];
    let order = prop_oneof![9 => (1u8..=3).prop_map(Some), 1 => Just(None)];
    let run = (order, mode, any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(order, mode, movable, kswapd)| Step::Run { order, mode, movable, kswapd });
    let step = prop_oneof![
        8 => run,
        4 => (1u8..=3).prop_map(Step::Failed),
        1 => (1u8..=3, any::<bool>()).prop_map(|(o, got)| Step::Succeeded(o, got)),
        1 => Just(Step::KswapdSleeps),
        2 => (0u32..128).prop_map(Step::Unmap),
    ];
    prop::collection::vec(step, 1..40)
}

/// Types and frames of a zone of 4 to 16 pageblocks.
fn zones() -> impl Strategy<Value = (String, String)> {
    (4usize..=16).prop_flat_map(|blocks| {
        let types =
            prop::collection::vec(prop::sample::select(vec!['M', 'M', 'M', 'U', 'R']), blocks);
        let weights = (1u32..8, 1u32..4, 1u32..5);
        let frames = weights.prop_flat_map(move |(m, p, f)| {
            let cell = prop_oneof![m => Just('m'), p => Just('P'), f => Just('.')];
            prop::collection::vec(cell, blocks * 8)
        });
        (types, frames).prop_map(|(t, f)| (t.into_iter().collect(), f.into_iter().collect()))
    })
}

fn request(order: Option<u8>, mode: MigrateMode, movable: bool, kswapd: bool) -> CompactRequest {
    let migratetype = if movable { Migratetype::Movable } else { Migratetype::Unmovable };
    let by = match order {
        None => Compactor::Request,
        Some(_) if kswapd => Compactor::Kswapd,
        Some(_) => Compactor::Direct,
    };
    CompactRequest { migratetype, by, ..Rig::run_request(order, mode) }
}

/// The map of the naive zone as the rig draws its own.
fn drawn(n: &Naive) -> String {
    let blocks = n.cells.chunks(8).zip(&n.types).zip(&n.skip);
    let drawn = blocks.map(|((cells, mt), skip)| {
        let chars = cells.iter().map(|c| match c {
            Cell::Page(_) => 'm',
            Cell::Pinned => 'P',
            Cell::Free => '.',
            Cell::Target | Cell::Source(_) => panic!("{c:?} after a run"),
        });
        let s = if *skip { "s" } else { "" };
        format!("{mt}{s} {}", chars.collect::<String>())
    });
    drawn.collect::<Vec<_>>().join(" | ")
}

/// Everything that both know.
fn compare(r: &Rig, n: &Naive) {
    assert_eq!(r.map(), drawn(n));
    let mut pages: Vec<(u32, u32)> = (0..)
        .zip(&n.cells)
        .filter_map(|(p, c)| match c {
            Cell::Page(id) => Some((*id, p)),
            _ => None,
        })
        .collect();
    pages.sort_unstable();
    assert_eq!(r.whereabouts(), pages, "which page is where");
    assert_eq!(r.counts(), n.counts, "scanned for sources, for targets, isolated, moved");
    let z = r.compaction.zone(Z);
    assert_eq!(z.cached_migrate.map(|p| p as usize), n.cached_migrate);
    assert_eq!(z.cached_free as usize, n.cached_free);
    assert_eq!(z.blockskip_flush, n.flush);
    if !z.skip_free.is_empty() {
        assert_eq!(z.skip_free, n.skip_free);
    }
    let (f, d) = (z.failures, z.depletion);
    assert_eq!((f.considered, f.shift), (n.considered, n.shift));
    assert_eq!((u32::from(f.order_failed), f.failed), (n.order_failed, n.failed));
    assert_eq!((d.success, d.depleted), (n.success, n.depleted));
    assert_eq!((d.depth, d.scan_all_free), (n.depth, n.scan_all_free));
}

fn same_history(name: &str, keeps: bool, types: &str, map: &str, low: u32, steps: &[Step]) {
    let mut rules = small(preset(name).expect("a preset"));
    let keeps = keeps && rules.whole_zone_sweep;
    if keeps {
        rules.undo_prevention = UndoPrevention::NextCycle;
    }
    let bench = Bench { marks: [0, low, low], ..Bench::V4_1 };
    let mut r = Rig::on(bench, rules, types, map);
    let cells = (0..).zip(map.chars()).map(|(i, c)| match c {
        'm' => Cell::Page(i),
        'P' => Cell::Pinned,
        _ => Cell::Free,
    });
    let mut flags = flags(name);
    flags.keeps = keeps;
    let mut n = Naive::new(flags, low as usize, types, cells.collect());
    compare(&r, &n);
    for step in steps {
        match *step {
            Step::Run { order, mode, movable, kswapd } => {
                let refused = order.is_some_and(|k| {
                    let refused = r.compaction.deferred(Z, k);
                    assert_eq!(refused, n.deferred(k.into()), "{name}");
                    refused
                });
                if refused {
                    continue;
                }
                let asynchronous = mode == MigrateMode::Async;
                let result = r.run(&request(order, mode, movable, kswapd));
                let kswapd = kswapd && order.is_some();
                let end = n.run(Ask { order: order.map(u32::from), asynchronous, movable, kswapd });
                let same = match end {
                    End::Skipped => CompactResult::Skipped,
                    End::Complete => CompactResult::Complete,
                    End::GaveUp => CompactResult::Contended,
                    End::Success => CompactResult::Success,
                };
                assert_eq!(result, same, "{name}");
            }
            Step::Failed(order) => {
                r.compaction.note_failure(Z, order);
                n.note_failure(order.into());
            }
            Step::Succeeded(order, got) => {
                r.compaction.note_success(Z, order, got);
                n.note_success(order.into(), got);
            }
            Step::KswapdSleeps => {
                r.compaction.kswapd_sleeps(&r.mem, Z);
                n.kswapd_sleeps();
            }
            Step::Unmap(id) => {
                let at = n.cells.iter().position(|&c| c == Cell::Page(id));
                if let Some(p) = at {
                    r.unmap(id);
                    n.cells[p] = Cell::Free;
                }
            }
        }
        compare(&r, &n);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    /// The same map, the same pages in the same frames, the same counters, positions, skip bits,
    /// failures and depletion after each step, for a preset of 4.1 or the series, whether or not a sweep
    /// leaves alone what it filled for a cycle more.
    #[test]
    fn the_naive_compactor_agrees(
        which in 0usize..100,
        keeps in any::<bool>(),
        (types, map) in zones(),
        low in prop_oneof![3 => Just(0u32), 1 => 1u32..12],
        steps in steps(),
    ) {
        let old: Vec<_> =
            PRESETS.iter().filter(|p| p.config.scanners == Scanners::V4_1).collect();
        same_history(old[which % old.len()].name, keeps, &types, &map, low, &steps);
    }
}

/// The rules of the page allocator that belong to a preset.
fn bench_of(rules: &CompactionConfig) -> Bench {
    if rules.scanners == Scanners::V6 { Bench::V6_12 } else { Bench::V4_1 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Runs move pages about and lose none: as many free frames and pages as before, pinned frames
    /// where they were. What is isolated is a page or a free frame; all that moved was isolated.
    /// A captured block is the only difference.
    #[test]
    fn frames_and_pages_are_conserved(
        (types, map) in zones(),
        runs in prop::collection::vec((steps(), any::<bool>()), 1..3),
    ) {
        for p in PRESETS {
            let mut r = Rig::on(bench_of(&p.config), small(p.config), &types, &map);
            let pages: Vec<u32> = r.whereabouts().iter().map(|w| w.0).collect();
            let mut free = r.mem.zones[Z].free;
            for (steps, full) in &runs {
                for step in steps {
                    let Step::Run { order, mode, movable, kswapd } = *step else { continue };
                    let pinned = r.frames_of('P');
                    let full = *full && p.config.scanners == Scanners::V6;
                    let req = CompactRequest { full, ..request(order, mode, movable, kswapd) };
                    let out = r.compaction.compact_zone(&mut r.mem, &mut r.lru, &req);
                    r.mem.check();
                    r.compaction.check(&r.mem);
                    let mut now = r.frames_of('P');
                    if let Some(block) = out.captured {
                        prop_assert_eq!(out.result, CompactResult::Success);
                        let size = 1 << order.expect("a block is of some order");
                        now.retain(|f| !(block.0..block.0 + size).contains(f));
                        free -= u64::from(size);
                        r.mem.free_block(block, order.unwrap());
                        free += u64::from(size);
                    }
                    prop_assert_eq!(&now, &pinned, "{}", p.name);
                    prop_assert_eq!(r.mem.zones[Z].free, free, "{}", p.name);
                    let now: Vec<u32> = r.whereabouts().iter().map(|w| w.0).collect();
                    prop_assert_eq!(&now, &pages);
                    let [_, _, isolated, moved] = r.counts();
                    prop_assert!(2 * moved <= isolated, "{}", p.name);
                }
            }
            let [stall, done] = [VmEvent::CompactStall, VmEvent::CompactSuccess].map(|e| r.n(e));
            prop_assert_eq!((stall, done), (0, 0), "counted by who asks");
        }
    }

    /// Two scanners that meet move pages up only. (From 5.1 on a look at the free lists may find
    /// a target in the pageblock of the source, when the scanners are that near.)
    #[test]
    fn pages_move_up_before_the_scanners_meet((types, map) in zones()) {
        let old = |c: &CompactionConfig| c.scanners == Scanners::V4_1 && !c.whole_zone_sweep;
        for p in PRESETS.iter().filter(|p| old(&p.config)) {
            let mut r = Rig::on(bench_of(&p.config), small(p.config), &types, &map);
            let before = r.whereabouts();
            let _ = r.run(&request(Some(2), MigrateMode::Sync, false, false));
            let moves = r.moves_since(&before);
            prop_assert!(moves.iter().all(|(from, to)| from < to), "{}: {moves:?}", p.name);
            let mut to: Vec<u32> = r.whereabouts().iter().map(|w| w.1).collect();
            to.sort_unstable();
            to.dedup();
            prop_assert_eq!(to.len(), before.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    /// Where nothing can be moved, the scanner for sources looks at all pageblocks but the last
    /// one, where the scanners meet: at every frame of them in 6.12, only at the first of a free
    /// block in 6.1.
    #[test]
    fn later_kernels_look_at_every_frame(cells in prop::collection::vec(any::<bool>(), 32..=512)) {
        let n = cells.len() / 8 * 8;
        let map: String = cells[..n].iter().map(|&free| if free { '.' } else { 'P' }).collect();
        let types = "M".repeat(n / 8);
        for (name, tails) in [("compaction-v6.1", false), ("compaction-v6.12", true)] {
            let rules = small(preset(name).expect("a preset"));
            let mut r = Rig::on(Bench::V4_1, rules, &types, &map);
            let _ = r.run(&Rig::run_request(None, MigrateMode::Sync));
            let blocks = r.mem.zones[Z].buddy().blocks(&r.mem.frames);
            let end = n as u32 - 8;
            let below: u32 = blocks.filter(|b| b.pfn.0 < end).map(|b| (1 << b.order) - 1).sum();
            let want = if tails { end } else { end - below };
            prop_assert_eq!(r.counts()[0], u64::from(want), "{}", name);
        }
    }
}

/// An observer, who sees each move separately: with one nothing is done in batches.
struct Anybody;

impl Observer for Anybody {
    fn event(&mut self, _: SimTime, _: &TraceEvent) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Pages that are moved together end up as those that are moved one by one: the whole memory, its
    /// counters and its time, with entries that are young or dirty, and pages among them that are not
    /// moved together.
    #[test]
    fn batches_do_what_single_moves_do(
        (types, map) in zones(),
        batch in 1u32..8,
        steps in steps(),
        marks in prop::collection::vec(0u8..16, 128),
    ) {
        for p in PRESETS {
            let rig = |watched: bool| {
                let bench = Bench { batch, ..bench_of(&p.config) };
                let mut r = Rig::on(bench, small(p.config), &types, &map);
                for (id, frame) in r.whereabouts() {
                    let mark = marks[id as usize];
                    let bits = [0, pte::YOUNG, pte::DIRTY, pte::YOUNG | pte::DIRTY];
                    r.mark(id, bits[usize::from(mark & 3)]);
                    if mark > 11 {
                        r.mem.frames.set(Pfn(frame), flag::IDLE);
                    }
                }
                r.mem.telling.tracer.set_observer(watched.then(|| Box::new(Anybody) as Box<dyn Observer>));
                for step in &steps {
                    let Step::Run { order, mode, movable, kswapd } = *step else { continue };
                    let req = request(order, mode, movable, kswapd);
                    let out = r.compaction.compact_zone(&mut r.mem, &mut r.lru, &req);
                    if let Some(block) = out.captured {
                        r.mem.free_block(block, order.expect("a block is of some order"));
                    }
                }
                r.mem.check();
                let mut digest = Digest::new();
                r.mem.digest(&mut digest);
                r.compaction.digest(&mut digest);
                let counters: Vec<u64> = VmEvent::ALL.iter().map(|&e| r.n(e)).collect();
                (digest.finish(), r.mem.acting.now, r.whereabouts(), counters)
            };
            prop_assert_eq!(rig(false), rig(true), "{}", p.name);
        }
    }
}

/// All of a zone, without watermarks and with every frame movable or free: pages end up together.
#[test]
fn a_zone_without_pinned_frames_becomes_whole() {
    let map = "m.".repeat(32);
    for name in ["compaction-v4.1", "compaction-v6.1", "compaction-v6.12"] {
        let rules = preset(name).expect("a preset");
        let mut r = Rig::on(bench_of(&rules), small(rules), "MMMMMMMM", &map);
        let result = r.run(&Rig::run_request(None, MigrateMode::Sync));
        assert_eq!(result, CompactResult::Complete, "{name}");
        let pages: Vec<u32> = r.frames_of('m');
        assert_eq!(pages, (32..64).collect::<Vec<_>>(), "{name}");
        assert_eq!(r.n(VmEvent::PgMigrateSuccess), 16, "{name}: every second page of half of it");
    }
}
