//! Behaviour of apps: their steps, and that times and sizes follow their laws.

use super::super::harness::{self, Ticking};
use super::*;
use crate::law::Law;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Advice, FileSlot, RegionId, Run};
use std::collections::{BTreeMap, BTreeSet};

const fn always(seconds: u64) -> Varying {
    Varying::Always(SimDuration::from_secs(seconds).as_nanos())
}

fn config() -> AppsConfig {
    AppsConfig {
        name: "p".into(),
        apps: 3,
        mapped: Varying::Always(100),
        read: Varying::Always(50),
        heap: Varying::Always(640),
        spread: 1.0,
        order: LaunchOrder::Fixed,
        interval: always(10),
        start: SimDuration::from_secs(6),
        cold: 0,
        cached: 3,
        sequential: 700,
        theta: 0.8,
        reread: 200,
        reread_min: 3,
        reread_max: 3,
        collections: 0,
        free: 500,
        run: 64,
        reuse: 400,
        reuse_order: ReuseOrder::Random,
        reuse_within: always(1),
        resume: 400,
        background: Varying::default(),
        background_touch: 10,
        trim_after: always(10),
        trim: 0,
        windows: 1,
        end: End::Work(1),
    }
}

fn ops(c: &AppsConfig) -> Vec<Op> {
    harness::all(c.workloads(1)[0].as_mut(), Ticking(0))
}
fn slept(ops: &[Op]) -> u64 {
    ops.iter().map(|o| if let Op::Sleep(t) = o { t.as_nanos() } else { 0 }).sum()
}
fn freed(ops: &[Op]) -> Vec<u32> {
    let first = |o: &Op| match o {
        Op::Madvise { first, count: 64, advice: Advice::Free, .. } => Some(*first),
        _ => None,
    };
    ops.iter().filter_map(first).collect()
}

/// All of the heap once, files once and a fifth of the read ones three times more.
#[test]
fn a_cold_start() {
    let all = ops(&config());
    let touches = harness::touches(&all);
    let heap: Vec<u32> = touches.iter().filter(|t| t.0 == 0).map(|t| t.1).collect();
    assert_eq!(heap, (0..640).collect::<Vec<_>>());
    let mapped: Vec<u32> = touches.iter().filter(|t| t.0 == 1).map(|t| t.1).collect();
    assert_eq!((&mapped[..70], mapped.len()), (&(0..70).collect::<Vec<_>>()[..], 100));
    let mut reads = [0; 50];
    for o in &all {
        if let Op::Read { file: FileSlot(1), first, count } = o {
            (*first..first + count).for_each(|p| reads[p as usize] += 1);
        }
    }
    let of = |n: u32| reads.iter().filter(|r| **r == n).count();
    assert_eq!((of(1), of(4)), (40, 10));
    assert_eq!((slept(&all), all.last()), (10_000_000_000, Some(&Op::PhaseEnd(1))));
}

/// Halfway through the start half of what is dirty is freed, and two of five runs are dirtied
/// again within a second.
#[test]
fn a_collection_frees_and_reuses() {
    let c = AppsConfig { collections: 1, heap: Varying::Always(1280), ..config() };
    for order in [ReuseOrder::Random, ReuseOrder::Lifo, ReuseOrder::Fifo] {
        let all = ops(&AppsConfig { reuse_order: order, ..c.clone() });
        let at = all.iter().position(|o| matches!(o, Op::Madvise { .. })).expect("a collection");
        assert_eq!(slept(&all[..at]), 3_000_000_000);
        let freed = freed(&all);
        let distinct: BTreeSet<u32> = freed.iter().copied().collect();
        assert_eq!((freed.len(), distinct.len()), (5, 5));
        assert!(freed.iter().all(|f| *f < 640));
        let again = |o: &Op| match o {
            Op::Access(Run { region: RegionId(0), first, count: 64, .. }) => Some(*first),
            _ => None,
        };
        let again: Vec<u32> = all[at..].iter().filter_map(again).collect();
        match order {
            ReuseOrder::Fifo => assert_eq!(again, freed[..2]),
            ReuseOrder::Lifo => assert_eq!(again, [freed[4], freed[3]]),
            ReuseOrder::Random => {
                assert!(again.len() == 2 && again.iter().all(|a| distinct.contains(a)));
            }
        }
    }
}

#[test]
fn a_living_app_is_resumed_unless_it_is_killed() {
    let two = AppsConfig { apps: 1, end: End::Work(2), ..config() };
    let all = ops(&two);
    let maps = |all: &[Op]| all.iter().filter(|o| matches!(o, Op::Mmap { .. })).count();
    let unmaps = |all: &[Op]| all.iter().filter(|o| matches!(o, Op::Munmap { .. })).count();
    assert_eq!((maps(&all), unmaps(&all)), (2, 0));
    // Four runs of ten, and 40 touches of 100 mapped pages.
    assert_eq!(harness::touches(&all).len(), 740 + 4 * 64 + 40);
    let all = ops(&AppsConfig { cold: 1000, ..two });
    assert_eq!((maps(&all), unmaps(&all)), (4, 2));
    assert_eq!(harness::touches(&all).len(), 2 * 740);
}

#[test]
fn no_more_apps_live_than_are_cached() {
    let all = ops(&AppsConfig { cached: 2, end: End::Work(6), ..config() });
    let mut alive = BTreeSet::new();
    let mut order = Vec::new();
    for o in &all {
        match o {
            Op::Mmap { region, .. } if region.0 % 2 == 0 => {
                alive.insert(region.0 / 2);
                order.push(region.0 / 2);
            }
            Op::Munmap { region } if region.0 % 2 == 0 => {
                assert!(alive.remove(&(region.0 / 2)))
            }
            Op::Sleep(_) => assert!(alive.len() <= 2),
            _ => {}
        }
    }
    // The one launched longest ago is always the next, so every launch is cold.
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}

/// In the background for three seconds: a hundredth each second, then trimmed, then nothing.
#[test]
fn the_background() {
    let c = AppsConfig {
        end: End::Work(2),
        background: always(3),
        trim_after: always(2),
        trim: 200,
        ..config()
    };
    let all = ops(&c);
    let second = all.iter().rposition(|o| *o == Op::RecordBegins).expect("a launch");
    let touches = harness::touches(&all[second..]);
    let of = |region: u16| touches.iter().filter(|t| t.0 == region).count();
    assert_eq!((of(0), of(1)), (19, 3));
    assert_eq!(freed(&all).len(), 2);
    let last = all.iter().rposition(|o| matches!(o, Op::Madvise { .. })).expect("trimmed");
    assert_eq!(slept(&all[second..last]), 2_000_000_000);
}

#[test]
fn sizes_spread_around_the_middle() {
    let c = AppsConfig { apps: 5, spread: 2.0, ..config() };
    let files = c.workloads(1)[0].files();
    let mut mapped: Vec<u32> = files.iter().step_by(2).map(|f| f.pages).collect();
    mapped.sort_unstable();
    assert_eq!(mapped, [57, 76, 100, 132, 174]);
    assert_eq!((files.len(), files[1].name.as_str()), (10, "p/read0"));
}

#[test]
fn every_round_launches_every_app() {
    let c = AppsConfig { order: LaunchOrder::Random, end: End::Work(30), ..config() };
    let all = ops(&AppsConfig { apps: 10, cold: 1000, cached: 10, ..c });
    let mapped = |o: &Op| match o {
        Op::Mmap { region, .. } if region.0 % 2 == 0 => Some(region.0 / 2),
        _ => None,
    };
    let order: Vec<u16> = all.iter().filter_map(mapped).collect();
    let rounds: Vec<&[u16]> = order.chunks(10).collect();
    for r in &rounds {
        assert_eq!(r.iter().collect::<BTreeSet<_>>().len(), 10);
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
}

fn drawn(law: Law) -> Varying {
    Varying::Drawn { law, min: 1, max: u64::from(u32::MAX) }
}
/// A law of seconds, as one of nanoseconds.
fn gamma(scale_s: f64) -> (Varying, Law) {
    let law = |scale| Law::Gamma { shape: 4.0, scale };
    (Varying::Drawn { law: law(scale_s * 1e9), min: 1, max: u64::MAX / 2 }, law(scale_s))
}
fn second(of: u64) -> f64 {
    of as f64 / 1e9
}

/// Sizes are those of the law, whatever the spread is, and of the seed.
#[test]
fn sizes_follow_a_law() {
    let [mapped, read, heap] = [300.0, 400.0, 500.0].map(|median| {
        let law = Law::Lognormal { median, sigma: 0.5 };
        (law, drawn(law))
    });
    let c = AppsConfig {
        apps: 600,
        cached: 600,
        mapped: mapped.1,
        read: read.1,
        heap: heap.1,
        interval: Varying::Always(STEP.as_nanos()),
        start: STEP,
        end: End::Work(600),
        ..config()
    };
    let pages = |kind: usize| -> Vec<f64> {
        let files = c.workloads(1)[0].files();
        files.iter().skip(kind).step_by(2).map(|f| f.pages.into()).collect()
    };
    harness::follow(&pages(0), mapped.0);
    harness::follow(&pages(1), read.0);
    let heaps = ops(&c).into_iter().filter_map(|o| match o {
        Op::Mmap { region, pages, .. } if region.0 % 2 == 0 => Some(f64::from(pages)),
        _ => None,
    });
    harness::follow(&heaps.collect::<Vec<_>>(), heap.0);
    assert_ne!(c.workloads(1)[0].files(), c.workloads(2)[0].files());
    // One more app changes no other.
    let more = AppsConfig { apps: 601, ..c.clone() }.workloads(1)[0].files();
    assert_eq!(more[..1200], c.workloads(1)[0].files());
}

/// Two apps that take turns, each of a page of everything; from launch to launch the
/// operations.
fn turns(c: AppsConfig) -> Vec<Vec<Op>> {
    let [mapped, read, heap] = [1, 1, 20].map(Varying::Always);
    let c = AppsConfig { mapped, read, heap, apps: 2, cached: 2, run: 1, cold: 1000, ..c };
    let all = ops(&AppsConfig { end: End::Work(500), interval: always(100), ..c });
    let parts = all.split(|o| *o == Op::RecordBegins).skip(1);
    parts.map(<[Op]>::to_vec).collect()
}

#[test]
fn launches_are_as_far_apart_as_their_law_says() {
    let (interval, law) = gamma(5.0);
    let start = SimDuration::from_secs(1);
    let Varying::Drawn { law: of, max, .. } = interval else { panic!("a law") };
    let interval = Varying::Drawn { law: of, min: start.as_nanos(), max };
    let heap = Varying::Always(1);
    let all = ops(&AppsConfig { interval, start, heap, end: End::Work(2000), ..config() });
    let parts: Vec<f64> =
        all.split(|o| *o == Op::RecordBegins).skip(1).map(|p| second(slept(p))).collect();
    assert!(parts.iter().all(|t| *t >= 1.0));
    harness::follow(&parts, law);
}

#[test]
fn the_background_lasts_as_long_as_its_law_says() {
    let (background, law) = gamma(5.0);
    let launches = turns(AppsConfig { background, background_touch: 1000, ..config() });
    // The app that is not in front reads its page once a second.
    let seconds = launches.iter().enumerate().skip(1).map(|(i, ops)| {
        let other = FileSlot(2 * (1 - i as u16 % 2) + 1);
        let read = |o: &&Op| matches!(o, Op::Read { file, .. } if *file == other);
        ops.iter().filter(read).count() as f64
    });
    harness::follow(&seconds.collect::<Vec<_>>(), law);
}

#[test]
fn apps_are_trimmed_when_their_law_says() {
    let (trim_after, law) = gamma(5.0);
    let c = AppsConfig { background: always(100), trim_after, trim: 1000, ..config() };
    let launches = turns(c);
    let seconds = launches.iter().skip(1).map(|ops| {
        let at = ops.iter().position(|o| matches!(o, Op::Madvise { .. })).expect("trimmed");
        second(slept(&ops[..at]))
    });
    harness::follow(&seconds.collect::<Vec<_>>(), law);
}

#[test]
fn memory_is_dirtied_again_as_soon_as_its_law_says() {
    let (reuse_within, law) = gamma(5.0);
    let c = AppsConfig { collections: 1, free: 1000, reuse: 1000, reuse_within, ..config() };
    // Half of the heap is freed. The last of ten runs comes after nine tenths of the time, from
    // the step after the collection on.
    let within = turns(c).into_iter().map(|ops| {
        let mut freed = BTreeMap::new();
        let (mut now, mut last) = (0, 0);
        for o in &ops {
            match o {
                Op::Sleep(t) => now += t.as_nanos(),
                Op::Madvise { region, first, .. } => {
                    freed.insert((*region, *first), now);
                }
                Op::Access(Run { region, first, write: true, .. }) => {
                    if let Some(then) = freed.get(&(*region, *first)) {
                        last = now - then;
                    }
                }
                _ => {}
            }
        }
        assert_eq!(freed.len(), 10);
        second(last - STEP.as_nanos()) * 10.0 / 9.0
    });
    harness::follow(&within.collect::<Vec<_>>(), law);
}

/// Operations on a machine where nothing but sleep takes time, with the millisecond of each. `kills`
/// come before the first operations at or after their milliseconds.
fn under(c: &AppsConfig, kills: &[(u64, u16)]) -> Vec<(u64, Op)> {
    let (mut workload, mut rng) = (c.workloads(1).remove(0), Rng::for_purpose(1, "test"));
    let (mut now, mut all, mut kills) = (SimTime(0), Vec::new(), kills.iter().peekable());
    loop {
        while let Some((_, number)) = kills.next_if(|(at, _)| *at <= now.0 / 1_000_000) {
            workload.kill(*number);
        }
        let mut ops = Vec::new();
        workload.fill(&harness::context(now), &mut rng, &mut ops);
        if ops.is_empty() {
            return all;
        }
        all.extend(ops.iter().map(|o| (now.0 / 1_000_000, *o)));
        now = SimTime(now.0 + slept(&ops));
    }
}

/// Whose heap was unmapped, and when.
fn killed(all: &[(u64, Op)]) -> Vec<(u64, u16)> {
    let of = |(at, op): &(u64, Op)| match op {
        Op::Munmap { region } if region.0 % 2 == 0 => Some((*at, region.0 / 2)),
        _ => None,
    };
    all.iter().filter_map(of).collect()
}

/// App 0 is launched at 0 and 30 s, 1 at 10, 2 at 20 s; nothing else kills them.
fn four_launches() -> AppsConfig {
    AppsConfig { end: End::Work(4), ..config() }
}

/// Expected: who was killed gives its memory back with the next step, once, and starts anew at its
/// turn. The rest does the same as without.
#[test]
fn killed_apps_give_their_memory_back_and_start_anew() {
    let all = under(&four_launches(), &[(25_950, 0), (25_950, 0), (27_000, 1)]);
    assert_eq!(killed(&all), [(26_000, 0), (27_000, 1)]);
    let heaps = all.iter().filter(|(_, o)| matches!(o, Op::Mmap { region: RegionId(0), .. }));
    assert_eq!(heaps.map(|(at, _)| *at).collect::<Vec<_>>(), [0, 30_000]);
    let of_front = |all: &[(u64, Op)]| -> Vec<(u64, Op)> {
        let of = |o: &Op| matches!(o, Op::Access(run) if run.region.0 / 2 == 2);
        all.iter().filter(|(at, o)| *at < 30_000 && of(o)).copied().collect()
    };
    assert_eq!(of_front(&all), of_front(&under(&four_launches(), &[])));
}

/// Expected: the app in front that is killed amid its launch ends no record and touches nothing more;
/// the next launch comes at its time.
#[test]
fn the_app_in_front_may_die() {
    let all = under(&four_launches(), &[(12_000, 1)]);
    let records = all.iter().filter(|(_, o)| matches!(o, Op::Records(_))).count();
    assert_eq!((killed(&all), records), (vec![(12_000, 1)], 3));
    let later =
        |(at, o): &&(u64, Op)| *at >= 12_000 && matches!(o, Op::Access(r) if r.region.0 / 2 == 1);
    assert_eq!(all.iter().filter(later).count(), 0);
    assert!(all.iter().any(|(at, o)| *at == 20_000 && matches!(o, Op::Mmap { .. })));
}

/// Android's values: 0 in front, 700 before it, 900 and 5 more for each that was launched earlier. The
/// oldest comes first; who is killed is not there.
#[test]
fn daemons_see_apps_by_their_age() {
    let c = AppsConfig { apps: 4, cached: 4, end: End::Work(4), ..config() };
    let (mut workload, mut rng) = (c.workloads(1).remove(0), Rng::for_purpose(1, "test"));
    let mut now = SimTime(0);
    while now < SimTime(35_000_000_000) {
        let mut ops = Vec::new();
        workload.fill(&harness::context(now), &mut rng, &mut ops);
        now = SimTime(now.0 + slept(&ops));
    }
    let of = |w: &dyn Workload| -> Vec<(u16, i16)> {
        w.played().iter().map(|p| (p.number, p.oom_score_adj)).collect()
    };
    assert_eq!(of(&*workload), [(0, 905), (1, 900), (2, 700), (3, 0)]);
    workload.kill(1);
    assert_eq!(of(&*workload), [(0, 905), (2, 700), (3, 0)]);
}
