//! The traces that come with mmsim: whole, as their README says, and replayable.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;
use mmsim_core::workload::{Op, Pressure, Workload, WorkloadCx};
use mmsim_workload::trace::{ReplayOptions, Trace, TraceWorkload, info};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

/// The rows of the table of `traces/README.md`: name to bytes, records, accesses, reads,
/// writes, distinct pages, mapped pages, microseconds.
fn stated() -> BTreeMap<String, Vec<u64>> {
    let text = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with("| `") && l.contains(".mmt`")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let number = |cell: &&str| cell.replace(' ', "").parse().unwrap();
        let name = cells[0].trim_matches('`').to_string();
        rows.insert(name, cells[1..].iter().map(number).collect());
    }
    rows
}

#[test]
fn every_trace_is_as_the_readme_says() {
    let rows = stated();
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".mmt"))
        .collect();
    files.sort();
    assert_eq!(files, rows.keys().cloned().collect::<Vec<_>>());
    for (name, row) in rows {
        let i = info(folder().join(&name)).unwrap();
        let found = [
            i.bytes,
            i.records,
            i.accesses,
            i.reads,
            i.writes,
            i.distinct_pages,
            i.footprint_pages,
            i.duration_ns / 1000,
        ];
        assert_eq!(row, found, "{name}: bytes, records, accesses, reads, writes, pages, ..");
        assert!(i.bytes <= 3 << 20, "{name} is too large to come along");
    }
}

#[test]
fn every_trace_replays_all_its_accesses() {
    for name in stated().keys() {
        let trace = Trace::open(folder().join(name)).unwrap();
        let mut workload = TraceWorkload::new(trace.clone(), 0, ReplayOptions::default()).unwrap();
        let mut rng = Rng::for_purpose(1, "trace");
        let cx = WorkloadCx {
            now: SimTime::ZERO,
            free_pages: 0,
            kernel_allocs: &[],
            free_blocks: None,
            pressure: &Pressure::NONE,
        };
        let (mut accesses, mut records, mut ns, mut mapped, mut phases) = (0, 0, 0, 0, 0);
        let mut ops = Vec::new();
        loop {
            ops.clear();
            workload.fill(&cx, &mut rng, &mut ops);
            if ops.is_empty() {
                break;
            }
            for op in &ops {
                match op {
                    Op::Access(run) => accesses += u64::from(run.count),
                    Op::Compute(span) => ns += span.as_nanos(),
                    Op::Mmap { pages, .. } => mapped += u64::from(*pages),
                    Op::Records(n) => records += u64::from(*n),
                    Op::PhaseEnd(_) => phases += 1,
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
        let info = trace.info();
        assert_eq!((accesses, records), (info.accesses, info.accesses), "{name}");
        assert_eq!(ns, info.duration_ns, "{name}");
        assert_eq!(mapped, info.footprint_pages, "{name}");
        assert_eq!(phases, 4, "{name}");
    }
}

/// A trace that was opened lately is shared as long as its bytes are the same; a file that has
/// others is another trace.
#[test]
fn opened_traces_are_shared_by_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.mmt");
    std::fs::copy(folder().join("sort.mmt"), &path).unwrap();
    let one = Trace::open(&path).unwrap();
    assert!(std::sync::Arc::ptr_eq(&one, &Trace::open(&path).unwrap()));
    std::fs::copy(folder().join("cc1.mmt"), &path).unwrap();
    let other = Trace::open(&path).unwrap();
    assert_ne!(other.info().accesses, one.info().accesses);
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(Trace::open(&path).is_err(), "a damaged file is none, whatever was opened before");
}
