//! Eviction on a machine whose files hold what the test says.

use super::*;
use crate::testing::FakeBox;
use mmsim_core::policy::daemon::Meminfo;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn pod(nth: u16, request: u64, priority: i64) -> Active {
    let grace = SimDuration::from_secs(30);
    Active { memcg: MemcgId(nth + 1), request, priority, critical: false, grace }
}

/// A kubelet of pods from group 2 on; group 1 has all of them.
fn kubelet(pods: Vec<Active>, thresholds: Vec<Threshold>) -> Running {
    Running::new(Kubelet {
        kubepods: (MemcgId(1), 1 << 50),
        thresholds,
        by_free: false,
        minimum_reclaim: 0,
        max_pod_grace: SimDuration::ZERO,
        pods,
    })
}

fn hard(below: u64) -> Threshold {
    Threshold { of: Available::Node, below, grace: None }
}

/// A machine of 8 GiB with `used` bytes of anonymous memory in pods of these sizes.
fn node(sizes: &[u64]) -> FakeBox {
    let mut machine = FakeBox {
        info: Meminfo { mem_total: 8 * GIB / PAGE_SIZE, ..Meminfo::default() },
        ..FakeBox::default()
    };
    let all: u64 = sizes.iter().sum();
    for (i, size) in [all].iter().chain(sizes).enumerate() {
        let current = size / PAGE_SIZE;
        let files = GroupFiles { current, anon: current, processes: 1, ..GroupFiles::default() };
        machine.groups.push((format!("g{i}"), files));
    }
    machine.root = machine.groups[0].1;
    machine
}

/// Worked by hand: A, B and D use more than they request; of those A and B have the lower priority,
/// and A exceeds its request more; C does not exceed it.
#[test]
fn usage_above_request_then_priority_then_excess() {
    let pods = [pod(1, GIB, 0), pod(2, 0, 0), pod(3, 2 * GIB, -10), pod(4, GIB, 100)];
    let usage = [15, 3, 19, 30].map(|tenths| tenths * GIB / 10);
    let mut order: Vec<usize> = (0..4).collect();
    order.sort_by_key(|&i| rank(&pods[i], usage[i]));
    assert_eq!(order, [0, 1, 3, 2]);

    let mut machine = node(&usage);
    let mut daemon = kubelet(pods.to_vec(), vec![hard(2 * GIB)]);
    daemon.look(&mut machine, &[]);
    assert_eq!(machine.acts, [(SimTime(0), Action::SignalGroup(MemcgId(2), Signal::Term))]);
    // One that is critical is passed over.
    let mut critical = pods.to_vec();
    critical[0].critical = true;
    let mut machine = node(&usage);
    kubelet(critical, vec![hard(2 * GIB)]).look(&mut machine, &[]);
    assert_eq!(machine.acts[0].1, Action::SignalGroup(MemcgId(3), Signal::Term));
}

/// Seconds at which a pod that grows from 6 GB by `mb_s` MB/s is sent signals, and at which all of
/// 8 GB would be used.
fn growing(mb_s: u64) -> (Vec<(u64, Signal)>, f64) {
    let mut machine = node(&[0]);
    machine.info.mem_total = 8_000_000_000 / PAGE_SIZE;
    let mut daemon = kubelet(vec![pod(1, 0, 0)], vec![hard(100 * MIB)]);
    machine.run(&mut daemon, SimTime(40_000_000_000), &mut |m| {
        let grown = m.now.0 / 1000 * mb_s;
        let used = (6_000_000_000 + grown).min(8_000_000_000) / PAGE_SIZE;
        (m.root.anon, m.groups[0].1.current, m.groups[1].1.current) = (used, used, used);
    });
    let signals = machine.acts.iter().filter_map(|(at, a)| match a {
        Action::SignalGroup(_, signal) => Some((at.0 / 1_000_000_000, *signal)),
        _ => None,
    });
    (signals.collect(), 2000.0 / mb_s as f64)
}

/// Worked by hand, from 2.0 GB on with a threshold of 100 MiB: at 500 MB/s it is crossed at 3.8 s and
/// memory ends at 4.0 s, but the kubelet looks at 10 s; at 100 MB/s it is crossed at 19 s, seen at
/// 20 s, and SIGKILL comes at 21 s, when memory has ended at 20 s. The kernel decides both.
#[test]
fn ten_seconds_are_long() {
    let signals = |at: u64| vec![(at, Signal::Term), (at + 1, Signal::Kill)];
    assert_eq!(growing(500), (signals(10), 4.0));
    assert_eq!(growing(100), (signals(20), 20.0));
}

/// A soft threshold waits for its grace, and is met until `minimum_reclaim` more is free.
#[test]
fn soft_thresholds_have_a_grace() {
    let soft =
        Threshold { of: Available::Node, below: 3 * GIB, grace: Some(SimDuration::from_secs(15)) };
    let looks = |free: [u64; 4], minimum_reclaim| {
        let mut daemon = kubelet(vec![pod(1, 0, 0)], vec![soft]);
        daemon.options.minimum_reclaim = minimum_reclaim;
        let mut machine = node(&[0]);
        for (i, free) in free.into_iter().enumerate() {
            machine.now = SimTime(i as u64 * PERIOD.0);
            machine.root.anon = (8 * GIB - free) / PAGE_SIZE;
            daemon.look(&mut machine, &[]);
            if !machine.acts.is_empty() {
                return Some(i);
            }
        }
        None
    };
    assert_eq!(looks([2 * GIB; 4], 0), Some(2));
    let between = [2 * GIB, 2 * GIB + GIB, 2 * GIB, 2 * GIB];
    assert_eq!(looks(between, 0), None);
    assert_eq!(looks(between, GIB), Some(2));
}

/// Active file pages count as used and inactive ones do not; 2 GiB of slab count in older releases.
#[test]
fn active_cache_counts_as_used() {
    let mut machine = node(&[GIB]);
    let page = |bytes: u64| bytes / PAGE_SIZE;
    machine.root.file = page(3 * GIB);
    machine.root.lists = [0, page(GIB), page(2 * GIB), page(GIB)];
    machine.groups[0].1.current = page(2 * GIB);
    machine.groups[0].1.lists = [0, 0, page(GIB), 0];
    let mut daemon = kubelet(Vec::new(), Vec::new());
    daemon.options.kubepods.1 = 4 * GIB;
    assert_eq!(daemon.available(&mut machine), [6 * GIB, 3 * GIB]);
    daemon.options.by_free = true;
    machine.root.current = page(6 * GIB);
    assert_eq!(daemon.available(&mut machine), [4 * GIB, 3 * GIB]);
}
