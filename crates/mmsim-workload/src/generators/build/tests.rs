//! Behaviour of builds: their steps, and that amounts follow their laws.

use super::super::harness::{self, Ticking};
use super::*;
use crate::law::Law;
use std::collections::BTreeSet;

/// Files: text 0, headers 1 to 3, sources 4 and 5, objects 6 and 7, archives from 8 on.
fn config() -> BuildConfig {
    BuildConfig {
        name: "b".into(),
        threads: 1,
        text: 5,
        headers: 3,
        header_pages: 2,
        header_reads: 0,
        header_theta: 1.0,
        sources: 2,
        source_pages: 4,
        anon_min: 10,
        anon_max: 10,
        bursts: 2,
        passes: 1,
        compute_min: SimDuration(103),
        compute_max: SimDuration(103),
        object_min: 7,
        object_max: 7,
        link_every: 0,
        unmovable: 0,
        reclaimable: 0,
        end: End::Work(1),
        ..BuildConfig::of(Kernel::LAST)
    }
}

fn of(c: &BuildConfig) -> Vec<Vec<Op>> {
    let all = |w: &mut Box<dyn Workload>| harness::all(w.as_mut(), Ticking(0));
    c.workloads().iter_mut().map(all).collect()
}

/// The operations of the measured part of one worker.
fn measured(c: &BuildConfig) -> Vec<Op> {
    let ops = of(c).swap_remove(0);
    let begin = ops.iter().position(|o| *o == Op::PhaseEnd(0)).unwrap() + 1;
    assert_eq!(ops.last(), Some(&Op::PhaseEnd(1)));
    ops[begin..ops.len() - 1].to_vec()
}

fn reads(ops: &[Op]) -> Vec<(u16, u32)> {
    let of = |o: &Op| match *o {
        Op::Read { file, first: 0, count } => Some((file.0, count)),
        _ => None,
    };
    ops.iter().filter_map(of).collect()
}

fn writes(ops: &[Op]) -> Vec<(u16, u32)> {
    let of = |o: &Op| match *o {
        Op::Write { file, first: 0, count } => Some((file.0, count)),
        _ => None,
    };
    ops.iter().filter_map(of).collect()
}

#[test]
fn a_compilation_step_by_step() {
    let (text, heap) = (RegionId(0), RegionId(1));
    let file = MapKind::File { file: TEXT, offset: 0, shared: false };
    let exec = VmaFlags { exec: true, ..VmaFlags::default() };
    let none = VmaFlags::default();
    let compute = |ns| Op::Compute(SimDuration(ns));
    let expected = [
        Op::Mmap { region: text, pages: 5, kind: file, flags: exec, at: None },
        touch(text, false, 0, 5),
        read(FileSlot(4), 4),
        Op::Mmap { region: heap, pages: 10, kind: MapKind::Anon, flags: none, at: None },
        // Half of the memory, computing, and once more over it; 103 ns in four parts.
        touch(heap, true, 0, 5),
        compute(25),
        touch(text, false, 0, 5),
        touch(heap, false, 0, 5),
        compute(26),
        touch(heap, true, 5, 5),
        compute(26),
        touch(text, false, 0, 5),
        touch(heap, false, 0, 10),
        compute(26),
        Op::Write { file: FileSlot(6), first: 0, count: 7 },
        Op::Munmap { region: heap },
        Op::Munmap { region: text },
        Op::Records(1),
    ];
    assert_eq!(measured(&config()), expected);
}

#[test]
fn without_text_passes_and_computing() {
    let nothing = SimDuration::ZERO;
    let c = BuildConfig {
        text: 0,
        passes: 0,
        compute_min: nothing,
        compute_max: nothing,
        bursts: 3,
        ..config()
    };
    let none = VmaFlags::default();
    let heap = RegionId(1);
    let expected = [
        read(FileSlot(4), 4),
        Op::Mmap { region: heap, pages: 10, kind: MapKind::Anon, flags: none, at: None },
        touch(heap, true, 0, 3),
        touch(heap, true, 3, 3),
        touch(heap, true, 6, 4),
        Op::Write { file: FileSlot(6), first: 0, count: 7 },
        Op::Munmap { region: heap },
        Op::Records(1),
    ];
    assert_eq!(measured(&c), expected);
    // More bursts than pages: no page goes untouched.
    let c = BuildConfig { bursts: 25, ..c };
    assert_eq!(harness::touches(&measured(&c)).len(), 10);
}

/// Shared files are read before the measured part: every header once, and the compiler.
#[test]
fn set_up_reads_headers_and_compiler() {
    let c = BuildConfig { headers: 2500, ..config() };
    let mut w = c.workloads();
    assert_eq!(w[0].phases(), ["populate", "access"]);
    let batches = harness::batches(w[0].as_mut(), Ticking(0));
    assert_eq!(batches[..5].iter().map(Vec::len).collect::<Vec<_>>(), [1024, 1024, 452, 1, 1]);
    let expected: Vec<(u16, u32)> = (1..=2500).map(|f| (f, 2)).chain([(0, 5)]).collect();
    assert_eq!(reads(&batches[..4].concat()), expected);
    assert_eq!(batches[4], [Op::PhaseEnd(0)]);
    let c = BuildConfig { text: 0, ..config() };
    let ops = of(&c).swap_remove(0);
    assert_eq!(reads(&ops[..4]), [(1, 2), (2, 2), (3, 2)]);
    assert_eq!(ops[3], Op::PhaseEnd(0));
}

#[test]
fn files_in_the_order_of_their_numbers() {
    let c = BuildConfig { sources: 3, link_every: 2, object_min: 1, ..config() };
    let files = c.workloads()[0].files();
    let names: Vec<(&str, u32)> = files.iter().map(|f| (f.name.as_str(), f.pages)).collect();
    let expected = [
        ("b/text", 5),
        ("b/header0", 2),
        ("b/header1", 2),
        ("b/header2", 2),
        ("b/source0", 4),
        ("b/source1", 4),
        ("b/source2", 4),
        ("b/object0", 7),
        ("b/object1", 7),
        ("b/object2", 7),
        ("b/archive0", 14),
        ("b/archive1", 14),
    ];
    assert_eq!(names, expected);
}

/// Two links of a worker, each of what it wrote since the last one; the rest is not linked.
#[test]
fn a_link_reads_back_what_was_written() {
    let c = BuildConfig { link_every: 2, sources: 4, end: End::Work(5), ..config() };
    let ops = measured(&c);
    // Sources 4 to 7, objects 8 to 11, archives 12 and 13.
    let own = [(4, 4), (5, 4), (8, 7), (9, 7), (6, 4), (7, 4), (10, 7), (11, 7), (4, 4)];
    assert_eq!(reads(&ops), own);
    let expected = [(8, 7), (9, 7), (12, 14), (10, 7), (11, 7), (13, 14), (8, 7)];
    assert_eq!(writes(&ops), expected);
    assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 5);
}

/// Every source is compiled by one worker, in turns, into its own object.
#[test]
fn workers_take_sources_in_turns() {
    let c = BuildConfig { threads: 3, sources: 7, end: End::Work(7), ..config() };
    let all = of(&c);
    let sources = |ops: &[Op]| -> Vec<u16> {
        let first = |(f, _): (u16, u32)| (4..11).contains(&f).then(|| f - 4);
        reads(ops).into_iter().filter_map(first).collect()
    };
    assert_eq!(sources(&all[0]), [0, 3, 6]);
    assert_eq!(sources(&all[1]), [1, 4]);
    assert_eq!(sources(&all[2]), [2, 5]);
    let objects: Vec<u16> = writes(&all[2]).iter().map(|w| w.0).collect();
    assert_eq!(objects, [11 + 2, 11 + 5]);
    // Regions of their own.
    let maps = |ops: &[Op]| -> BTreeSet<u16> {
        let of = |o: &Op| if let Op::Mmap { region, .. } = o { Some(region.0) } else { None };
        ops.iter().filter_map(of).collect()
    };
    assert_eq!(maps(&all[2]), BTreeSet::from([4, 5]));
}

/// Memory, time and object stand at the same place between their bounds, and both bounds
/// are reached.
#[test]
fn large_sources_take_more_of_everything() {
    let c = BuildConfig {
        anon_min: 100,
        anon_max: 199,
        object_min: 10,
        object_max: 19,
        compute_min: SimDuration(1_000),
        compute_max: SimDuration(1_999),
        text: 0,
        end: End::Work(4_000),
        ..config()
    };
    let ops = measured(&c);
    let mut seen = [BTreeSet::new(), BTreeSet::new()];
    for one in ops.split(|o| *o == Op::Records(1)).filter(|one| !one.is_empty()) {
        let of = |o: &Op| if let Op::Mmap { pages, .. } = o { Some(*pages) } else { None };
        let anon = one.iter().find_map(of).unwrap();
        let time: u64 = one.iter().map(|o| if let Op::Compute(t) = o { t.0 } else { 0 }).sum();
        let object = writes(one)[0].1;
        assert_eq!((anon - 100) / 10, object - 10);
        assert_eq!(u64::from(anon - 100), (time - 1_000) / 10);
        seen[0].insert(anon);
        seen[1].insert(object);
    }
    assert_eq!(seen[0], (100..200).collect());
    assert_eq!(seen[1], (10..20).collect());
}

/// Amounts with laws of their own; headers are drawn as without.
#[test]
fn amounts_follow_their_laws() {
    let law = |median| Law::Lognormal { median, sigma: 0.5 };
    let own = |law, max| Some(Varying::Drawn { law, min: 1, max });
    let plain =
        BuildConfig { text: 0, headers: 50, header_reads: 5, end: End::Work(800), ..config() };
    let c = BuildConfig {
        anon: own(law(300.0), 10_000),
        object: own(law(200.0), 9_000),
        compute: own(law(5e6), u64::MAX),
        link_every: 3,
        ..plain.clone()
    };
    let ops = measured(&c);
    let headers = |ops: &[Op]| -> Vec<u16> {
        reads(ops).into_iter().map(|r| r.0).filter(|f| (1..=50).contains(f)).collect()
    };
    assert_eq!(headers(&ops), headers(&measured(&plain)));
    let (mut anon, mut object, mut compute) = (Vec::new(), Vec::new(), Vec::new());
    for one in ops.split(|o| *o == Op::Records(1)) {
        let of = |o: &Op| if let Op::Mmap { pages, .. } = o { Some(*pages) } else { None };
        let Some(pages) = one.iter().find_map(of) else { continue };
        anon.push(f64::from(pages));
        // Where it links, the archive comes before.
        object.push(f64::from(writes(one).last().expect("an object").1));
        let time = one.iter().map(|o| if let Op::Compute(t) = o { t.0 } else { 0 });
        compute.push(time.sum::<u64>() as f64);
    }
    harness::follow(&anon, law(300.0));
    harness::follow(&object, law(200.0));
    harness::follow(&compute, law(5e6));
    let files = c.workloads()[0].files();
    let of = |name: &str| files.iter().find(|f| f.name == name).unwrap().pages;
    assert_eq!((of("b/object0"), of("b/archive0")), (9_000, 27_000));
}

/// A header is read at most once in a compilation, however often it is drawn, and the
/// popular ones by nearly all of them.
#[test]
fn headers_by_the_law_and_guarded() {
    let c = BuildConfig { headers: 50, header_reads: 20, end: End::Work(500), ..config() };
    let ops = measured(&c);
    let mut by_rank = [0_u32; 50];
    for one in ops.split(|o| *o == Op::Records(1)) {
        let headers: Vec<u16> =
            reads(one).iter().map(|r| r.0).filter(|f| (1..=50).contains(f)).collect();
        let distinct: BTreeSet<u16> = headers.iter().copied().collect();
        assert_eq!(distinct.len(), headers.len());
        headers.iter().for_each(|h| by_rank[usize::from(*h) - 1] += 1);
    }
    // A header of probability p is in 1 - (1 - p)^20 of the compilations.
    let sum: f64 = (1..=50).map(|k| 1.0 / f64::from(k)).sum();
    for rank in [0, 1, 9, 49] {
        let p = 1.0 / (rank as f64 + 1.0) / sum;
        let expected = 500.0 * (1.0 - (1.0 - p).powi(20));
        let distance = (f64::from(by_rank[rank]) - expected).abs();
        assert!(distance < 4.0 * expected.sqrt(), "{rank}: {} of {expected}", by_rank[rank]);
    }
}

/// Frames of the kernel come with the bursts and go when the compilation exits; their
/// numbers are free again for the next.
#[test]
fn frames_of_the_kernel_live_as_long_as_the_compilation() {
    let c = BuildConfig { unmovable: 3, reclaimable: 2, end: End::Work(3), ..config() };
    let mut held = BTreeSet::new();
    let (mut most, mut since_touch) = (0, Vec::new());
    for op in measured(&c) {
        match op {
            Op::KernelAlloc { order, migratetype, flags, handle } => {
                let unmovable = handle.0 < 3;
                assert_eq!((order, flags), (0, GFP_KERNEL));
                assert_eq!(unmovable, migratetype == Migratetype::Unmovable);
                assert_eq!(!unmovable, migratetype == Migratetype::Reclaimable);
                assert!(held.insert(handle));
                most = most.max(held.len());
            }
            Op::KernelFree { handle } => assert!(held.remove(&handle)),
            Op::Access(r) if r.write => since_touch.push(held.len()),
            Op::Records(_) => assert!(held.is_empty()),
            _ => {}
        }
    }
    assert_eq!((most, since_touch), (5, [2, 5].repeat(3)));
}

/// By time, a worker looks at its clock after each compilation.
#[test]
fn by_time() {
    let end = End::After(SimDuration::from_millis(5));
    let mut w = BuildConfig { end, ..config() }.workloads();
    let ops = harness::all(w[0].as_mut(), Ticking(1_000_000));
    assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 5);
}

#[test]
#[should_panic(expected = "headers, sources: must make at most 65536 files together")]
fn more_files_than_numbers() {
    BuildConfig { headers: 3_000, sources: 32_000, ..config() }.workloads();
}
