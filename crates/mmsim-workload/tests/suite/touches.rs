//! Accesses in short form are those that the same workload hands over as operations.

use std::sync::Arc;

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Op, Pressure, Touch, Workload, WorkloadCx};
use mmsim_workload::generators::{Populate, ZipfConfig, uniform};
use mmsim_workload::trace::{
    Action, Backing, Process, Record, Region, ReplayOptions, RequestFormat, RequestWorkload,
    Requests, Trace, TraceTable, TraceWorkload, TraceWriter,
};

/// All operations, and how many of them came in short form.
fn all(mut workload: Box<dyn Workload>, short: bool) -> (Vec<Op>, usize) {
    let mut rng = Rng::for_purpose(1, "touches");
    let (mut all, mut nr_short) = (Vec::new(), 0);
    let cx = WorkloadCx {
        now: SimTime(500),
        free_pages: 0,
        kernel_allocs: &[],
        free_blocks: None,
        pressure: &Pressure::NONE,
    };
    loop {
        let (mut ops, mut touches) = (Vec::new(), Vec::<Touch>::new());
        if short && let Some(region) = workload.fill_touches(&cx, &mut rng, &mut touches) {
            assert!(!touches.is_empty(), "a region, and no touch of it");
            nr_short += touches.len();
            all.extend(touches.iter().map(|t| Op::Access(t.of(region))));
            continue;
        }
        assert!(touches.is_empty(), "touches, and no region");
        workload.fill(&cx, &mut rng, &mut ops);
        if ops.is_empty() {
            return (all, nr_short);
        }
        all.append(&mut ops);
    }
}

/// Operations of a workload, of which this many come in short form.
fn same(what: &str, nr_short: usize, make: impl Fn() -> Box<dyn Workload>) {
    let (long, none) = all(make(), false);
    let (short, nr) = all(make(), true);
    // Records follow in an operation of their own: theirs are added up.
    assert!(long == short, "{what}: {} and {} operations differ", long.len(), short.len());
    assert_eq!((none, nr), (0, nr_short), "{what}");
}

#[test]
fn draws_of_a_generator() {
    let zipf = |c: ZipfConfig| move || c.workloads().remove(0);
    let plain = ZipfConfig { theta: 0.9, write_permille: 300, ..uniform(500, 20_000) };
    same("populated", 20_000, zipf(plain.clone()));
    same("windows", 20_000, zipf(ZipfConfig { windows: 7, ..plain.clone() }));
    same("not populated", 20_000, zipf(ZipfConfig { populate: Populate::None, ..plain.clone() }));
    let think = mmsim_workload::law::Varying::Always(100);
    same("thinking", 0, zipf(ZipfConfig { think, ..plain }));
}

#[test]
fn requests_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("requests.u32");
    let mut rng = Rng::for_purpose(1, "requests");
    let bytes: Vec<u8> = (0..10_001).flat_map(|_| (rng.below(700) as u32).to_le_bytes()).collect();
    std::fs::write(&path, bytes).expect("a file");
    for (dense, write_permille) in [(false, 0), (false, 300), (true, 300)] {
        let requests = Requests::open(&path, RequestFormat::RawU32, dense).expect("requests");
        // The first batch comes with the mapping.
        same("requests", 10_001 - 1024, || {
            let requests = Arc::clone(&requests);
            Box::new(RequestWorkload::new(requests, write_permille).expect("a replay"))
        });
    }
}

/// Batches of single pages of one region come in short form; not the first, which has the mappings,
/// nor those in which a quarter ends.
#[test]
fn records_of_a_trace() {
    let mut table = TraceTable::empty("test");
    table.processes = vec![Process { pid: 0, name: "a".into() }];
    for start in [0x1000, 0x9000] {
        let (pages, backing) = (300, Backing::Anon);
        table.regions.push(Region { process: 0, start, pages, backing, at_start: true });
    }
    let mut writer = TraceWriter::new(Vec::new(), table, 3).expect("a trace");
    let mut rng = Rng::for_purpose(1, "records");
    let nr = 100_000;
    for i in 0..nr {
        // Another region, several pages, time: none of them has a short form.
        let region = u16::from(i == 20_000);
        let count = if i == 30_000 { 2 } else { 1 };
        let ticks = u64::from(i == 40_000);
        let (write, first) = (rng.below(2) == 0, rng.below(200) as u32);
        let action = Action::Access { region, write, first, count };
        writer.record(&Record { process: 0, ticks, action }).expect("a record");
    }
    let trace = Trace::from_bytes(writer.finish().expect("a trace")).expect("a trace");
    let make = || -> Box<dyn Workload> {
        let options = ReplayOptions { repeat: 2, ..ReplayOptions::default() };
        Box::new(TraceWorkload::new(trace.clone(), 0, options).expect("a replay"))
    };
    let (long, _) = all(make(), false);
    let (short, nr_short) = all(make(), true);
    assert!(long == short, "{} and {} operations differ", long.len(), short.len());
    assert!(nr_short > nr && nr_short < 2 * nr, "{nr_short} in short form");
}
