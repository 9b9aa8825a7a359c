//! Both schedulers choose, preempt and place as the kernel does.

use super::*;
use crate::base::id::{NodeId, ThreadId};

const A: Entity = Entity::Thread(ThreadId(0));
const B: Entity = Entity::Kswapd(NodeId(0));
const US: u64 = 1_000;

/// A CPU on which `A` has run alone from time 0 to `us`, in steps of 100 us.
fn alone(scheduler: Scheduler, us: u64) -> Cpu {
    alone_with(Tunables::of(scheduler, 1, SimDuration::from_millis(4)), us)
}

/// The same with lazy preemption, and with or without a timer for slices.
fn alone_lazy(us: u64, hrtick: bool) -> Cpu {
    let tunables = Tunables::of(Scheduler::Eevdf, 1, SimDuration::from_millis(4));
    alone_with(tunables.preempting(true, hrtick), us)
}

fn alone_with(tunables: Tunables, us: u64) -> Cpu {
    let mut c = Cpu::new(tunables);
    c.enqueue(A, Virtual::default(), SimTime::ZERO);
    assert_eq!(c.take_next().0, Some(A));
    while c.clock.0 < us * US {
        step(&mut c);
    }
    c
}

fn step(c: &mut Cpu) {
    c.clock.0 += 100 * US;
    c.yield_if_due();
    if c.current().is_none() {
        assert!(c.take_next().0.is_some(), "an entity wants the CPU");
    }
}

fn wake_b(c: &mut Cpu) {
    c.enqueue(B, Virtual::default(), c.clock);
}

/// When `B` gets the CPU, and until when it keeps it, in us.
fn turn_of_b(c: &mut Cpu) -> (u64, u64) {
    c.yield_if_due();
    if c.current().is_none() {
        c.take_next();
    }
    let mut at = |e| {
        while c.current() != Some(e) {
            step(c);
        }
        c.clock.0 / US
    };
    (at(B), at(A))
}

/// Up to 6.5, worked by hand. `B` wakes with 3 ms credit: 7 ms of runtime against 10. That is more
/// than 1 ms behind, so it preempts. Its slice is half of 6 ms: the tick at 12 finds it at 2 ms,
/// the tick at 16 at 6 ms. A step of 100 us in which another entity comes after 30 us: 70 us have
/// not passed, for either.
#[test]
fn a_step_is_cut_short_where_somebody_comes() {
    let mut c = alone(Scheduler::Eevdf, 1000);
    let before = c.current.expect("it runs").1.runtime;
    c.clock.0 += 100 * US;
    c.yield_if_due();
    let back = c.cut_short(SimTime(1030 * US));
    assert_eq!((back.0, c.clock.0), (70 * US, 1030 * US));
    assert_eq!(c.current.expect("it runs on").1.runtime - before, 30 * US as i64);
    // Who comes later than the step cuts nothing off.
    assert_eq!(c.cut_short(SimTime(2000 * US)).0, 0);
    assert_eq!(c.clock.0, 1030 * US);
}

#[test]
fn cfs_sleepers_preempt_by_their_credit() {
    let mut c = alone(Scheduler::Cfs, 10_000);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c), (10_000, 16_000));
}

/// The runtime of a sleeper is never moved back before its own: `A` is 0.5 ms ahead only. It
/// runs on to the tick at 4 ms, with 4 ms of a slice of 3 ms.
#[test]
fn cfs_does_not_preempt_within_the_wakeup_granularity() {
    let mut c = alone(Scheduler::Cfs, 500);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c).0, 4_000);
}

/// From 6.6 on, worked by hand. At 10 ms the deadline that `A` got at the tick of 8 ms, 8.7, is
/// over: it begins a new slice, to 10.7. `B` is placed at the average, `A`'s 10, and has
/// the same deadline: the one that wakes wins. At 12 ms `B` stands at 12 behind its deadline
/// of 10.7, and `A` at 10 is next.
#[test]
fn eevdf_prefers_the_waking_one_at_equal_deadlines() {
    let mut c = alone(Scheduler::Eevdf, 10_000);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c), (10_000, 12_000));
}

/// As above with lazy preemption. `A` is a thread and leaves the kernel at the end of its step, so
/// `B` runs at 10 ms. `B` is a kernel thread: the tick of 12 ms asks for the CPU, that of 16 takes
/// it.
#[test]
fn a_kernel_thread_keeps_the_cpu_for_one_tick_more_under_lazy_preemption() {
    let mut c = alone_lazy(10_000, false);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c), (10_000, 16_000));
}

/// A thread amid a step is in the kernel too: asked at 10 ms, it gives way at the tick of 12 ms.
#[test]
fn a_thread_amid_a_step_gives_way_one_tick_later_under_lazy_preemption() {
    let mut c = alone_lazy(10_000, false);
    wake_b(&mut c);
    assert!(!c.gives_way(|_| true));
    c.clock = SimTime(11_900 * US);
    assert!(!c.gives_way(|_| true));
    c.clock = SimTime(12_000 * US);
    assert!(c.gives_way(|_| true));
}

/// With a timer for slices `B` has 0.7 ms from 10 ms on, and `A` as much. The run of `A` alone
/// was none of the timer's business: it starts when a second entity comes.
#[test]
fn a_timer_ends_slices_when_they_are_used_up() {
    let mut c = alone_lazy(10_000, true);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c), (10_000, 10_700));
    assert_eq!(c.slice_end(), SimTime(11_400 * US));
}

/// At 8.3 ms the slice of `A` is still running, and protected until a tick looks at it.
#[test]
fn eevdf_protects_a_slice_up_to_the_tick() {
    let mut c = alone(Scheduler::Eevdf, 8_300);
    wake_b(&mut c);
    assert_eq!(turn_of_b(&mut c).0, 12_000);
}

/// Who sleeps while ahead of the average stays in line, and leaves when it would be its turn:
/// then with no lag to be paid later. An idle CPU forgets it at once.
#[test]
fn eevdf_dequeues_late_who_is_ahead() {
    let mut c = alone(Scheduler::Eevdf, 10_000);
    wake_b(&mut c);
    c.yield_if_due();
    assert_eq!(c.take_next().0, Some(B));
    // B runs 1 ms, to 11; the average of the two is 10.5.
    c.clock.0 += 1000 * US;
    assert!(c.dequeue().is_empty(), "it is 0.5 ms ahead");
    assert!(c.contended() && !c.idle());
    assert_eq!(c.take_next().0, Some(A));
    assert!(c.dequeue().iter().any(|(e, v)| *e == B && v.lag == 0));
    assert!(c.idle() && !c.contended());
}

/// A slice that began anew is not protected. `B` wakes at 11.5 ms with a debt of 0.2 ms: `A`'s
/// next slice ends at 12.2, and `B` stands at 11.9 behind the average of 11.7. At the tick of
/// 12 ms `A` is ahead of the average, 11.95, and gives way though its slice goes on.
#[test]
fn eevdf_takes_the_cpu_at_a_tick_from_who_is_ahead_and_not_protected() {
    let mut c = alone(Scheduler::Eevdf, 11_500);
    c.enqueue(B, Virtual { lag: -200_000, ..Virtual::default() }, c.clock);
    assert_eq!(turn_of_b(&mut c).0, 12_000);
}

/// Ticks of 1 ms find a slice of 1.4 ms used up at every other one, worked by hand: at 2, 4, .., 10
/// ms. The last ends at 11.4, however many checks came in between.
#[test]
fn slices_longer_than_a_tick_do_not_depend_on_who_looks() {
    let us = |t: u64| SimTime(t * US);
    for looks in [vec![10_900], vec![2_100, 3_000, 10_900], (1..=109).map(|i| i * 100).collect()] {
        let mut c = Cpu::new(Tunables::of(Scheduler::Eevdf, 2, SimDuration::from_millis(1)));
        c.enqueue(A, Virtual::default(), SimTime::ZERO);
        c.take_next();
        for at in looks {
            c.clock = us(at);
            c.yield_if_due();
        }
        assert_eq!(c.current.expect("it runs").1.deadline, 11_400 * US as i64);
    }
}

/// The sum of what waits is kept, not counted.
#[test]
fn the_sum_is_that_of_the_queue() {
    let mut rng = crate::base::rng::Rng::for_purpose(1, "sums");
    for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
        let mut c = Cpu::new(Tunables::of(scheduler, 4, SimDuration::from_millis(4)));
        let mut asleep: Vec<_> = (0..20).map(|i| Entity::Thread(ThreadId(i))).collect();
        let mut virtuals = std::collections::BTreeMap::new();
        for _ in 0..20_000 {
            c.clock.0 += rng.below(2_000) * US;
            if c.current().is_some() {
                c.yield_if_due();
            }
            if c.current().is_none() {
                let (_, left) = c.take_next();
                virtuals.extend(left);
            }
            if rng.below(2) == 0 && !asleep.is_empty() {
                let e = asleep.swap_remove(rng.below(asleep.len() as u64) as usize);
                let now = SimTime(c.clock.0 + rng.below(3) * 500 * US);
                c.enqueue(e, virtuals.get(&e).copied().unwrap_or_default(), now);
            } else if let Some(e) = c.current() {
                virtuals.extend(c.dequeue());
                asleep.push(e);
            }
            let runtimes: Vec<i64> = c.queue.iter().map(|q| q.v.runtime).collect();
            assert_eq!(c.queue.sum(), runtimes.iter().map(|&r| i128::from(r)).sum());
            let all = runtimes.iter().copied().chain(c.current.map(|c| c.1.runtime));
            let n = all.clone().count() as i64;
            if n > 0 {
                assert_eq!(c.average(), all.sum::<i64>().div_euclid(n));
            }
        }
    }
}

/// Cost of a choice: nodes of the line that are read while `threads` threads run and sleep in turn,
/// for each choice.
fn looks_per_choice(scheduler: Scheduler, threads: u32) -> u64 {
    let mut rng = crate::base::rng::Rng::for_purpose(1, "looks");
    let mut c = Cpu::new(Tunables::of(scheduler, 1, SimDuration::from_millis(4)));
    let mut virtuals = std::collections::BTreeMap::new();
    for i in 0..threads {
        c.enqueue(Entity::Thread(ThreadId(i)), Virtual::default(), SimTime::ZERO);
    }
    for _ in 0..threads {
        if c.current().is_none() {
            virtuals.extend(c.take_next().1);
        }
        c.clock.0 += rng.below(8_000) * US;
        let Some(e) = c.current() else { continue };
        if rng.below(2) == 0 {
            c.yield_if_due();
        } else {
            virtuals.extend(c.dequeue());
            let v = virtuals.get(&e).copied().unwrap_or_default();
            c.enqueue(e, v, c.clock);
        }
    }
    c.queue.looks() / u64::from(threads)
}

/// Among sixteen times as many a choice costs four levels of the tree more, not sixteen times as
/// much: thousands that run are no more work than their number.
#[test]
fn choosing_among_many_costs_little_more_than_among_few() {
    for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
        let [few, many] = [500, 8_000].map(|n| looks_per_choice(scheduler, n));
        assert!(many < 2 * few, "{scheduler:?}: {few} nodes for each of 500, {many} of 8,000");
    }
}

/// A late sleeper that wakes is judged by the runtimes of the last tick or switch. `B` ran 2.5 ms,
/// to 12.5; at 15.5 ms `A` stands at 13, but by its 10 of before `B` is still ahead of the
/// average. So `B` keeps its runtime, and is not moved on to the average.
#[test]
fn eevdf_judges_a_late_sleeper_by_the_last_update() {
    let mut c = alone(Scheduler::Eevdf, 10_000);
    wake_b(&mut c);
    c.yield_if_due();
    assert_eq!(c.take_next().0, Some(B));
    c.clock.0 += 2_500 * US;
    assert!(c.dequeue().is_empty(), "it is ahead");
    assert_eq!(c.take_next().0, Some(A));
    while c.clock.0 < 15_500 * US {
        step(&mut c);
    }
    wake_b(&mut c);
    assert_eq!(c.average(), (13_000_000 + 12_500_000) / 2);
    assert_eq!(turn_of_b(&mut c).0, 15_500, "it is behind by now");
}

/// Who is owed 4 ms stands 8 ms behind the one that runs, so that it is 4 ms behind the average. It is
/// ahead of that at the first tick after 18 ms: at 20 ms, or at 19 if the ticks come 1 ms earlier.
#[test]
fn eevdf_gives_back_what_it_owes() {
    for (since_tick, until) in [(0, 20_000), (1_000, 19_000)] {
        let mut c = alone(Scheduler::Eevdf, 9_000);
        c.set_since_tick(SimDuration(since_tick * US));
        while c.clock.0 < 10_000 * US {
            step(&mut c);
        }
        c.enqueue(B, Virtual { lag: 4_000_000, ..Virtual::default() }, c.clock);
        assert_eq!(turn_of_b(&mut c), (10_000, until));
    }
}

/// A newcomer without lag is placed at the average, and does not move it.
#[test]
fn eevdf_places_newcomers_at_the_average() {
    let mut c = alone(Scheduler::Eevdf, 10_000);
    wake_b(&mut c);
    c.yield_if_due();
    assert_eq!(c.take_next().0, Some(B));
    c.clock.0 += 100 * US;
    c.enqueue(Entity::Thread(ThreadId(7)), Virtual::default(), c.clock);
    assert_eq!(c.average(), (10_000_000 + 10_100_000) / 2);
    // B runs 1 ms more; the newcomer stands at 10.05.
    c.clock.0 += 1000 * US;
    c.yield_if_due();
    assert_eq!(c.average(), (10_000_000 + 11_100_000 + 10_050_000) / 3);
}

/// Two that never sleep share a CPU evenly, to within two ticks, and no time is lost.
#[test]
fn busy_entities_share_evenly() {
    for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
        let mut c = alone(scheduler, 1_000);
        wake_b(&mut c);
        let mut of_b = 0;
        for _ in 0..10_000 {
            of_b += u64::from(c.current() == Some(B)) * 100;
            step(&mut c);
        }
        assert_eq!(c.clock.0, 1_001_000 * US);
        assert!(of_b.abs_diff(500_000) <= 8_000, "{scheduler:?}: {of_b} us of a second");
    }
}

/// A wake-up may come from a CPU whose clock is ahead: no entity runs before it was woken.
#[test]
fn nobody_runs_before_it_is_woken() {
    for scheduler in [Scheduler::Cfs, Scheduler::Eevdf] {
        let mut c = Cpu::new(Tunables::of(scheduler, 1, SimDuration::from_millis(4)));
        c.enqueue(A, Virtual::default(), SimTime(5_000));
        assert_eq!(c.clock, SimTime(5_000));
        assert_eq!(c.take_next().0, Some(A));
        c.enqueue(B, Virtual::default(), SimTime(9_000));
        c.clock = SimTime(6_000);
        c.dequeue();
        assert_eq!(c.take_next().0, None);
        assert_eq!(c.clock, SimTime(9_000));
        assert_eq!(c.take_next().0, Some(B));
    }
}

/// By hand: `A` acts for 300 us, of which 200 are zswap's worker's, so 100 are its own. It is at the
/// average before, and as far ahead of it as its share of the time: half of 100 us.
#[test]
fn what_ran_amid_a_step_is_not_the_current_entitys_time() {
    let mut c = alone(Scheduler::Eevdf, 100);
    wake_b(&mut c);
    let before = c.current.expect("A runs").1.runtime;
    let at = SimTime(c.clock.0 + 100 * US);
    let place = c.place_of(7, at).expect("A runs");
    let average = c.average() + 50 * US as i64;
    assert_eq!((place.lag, place.others), (7, 2));
    assert_eq!(place.ahead, before + 100 * US as i64 - average);
    c.clock.0 += 300 * US;
    c.was_preempted(SimDuration::from_micros(200));
    c.account(c.clock);
    assert_eq!(c.current.expect("A runs").1.runtime, before + 100 * US as i64);
    assert!(alone(Scheduler::Cfs, 100).place_of(7, at).is_none());
}
