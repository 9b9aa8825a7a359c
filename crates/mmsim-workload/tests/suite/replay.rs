//! Replay: operations come out in the order of the trace, with the time it recorded.

use std::sync::Arc;

use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::workload::{
    FileSlot, MapKind, Op, Pressure, RegionId, Replayed, Run, VmaFlags, Workload, WorkloadCx,
};
use mmsim_workload::trace::{
    Action, Backing, Process, Record, Region, ReplayMode, ReplayOptions, Think, Timing, Trace,
    TraceTable, TraceWorkload, TraceWriter,
};

fn access(region: u16, write: bool, first: u32, count: u32, ticks: u64) -> Record {
    let action = Action::Access { region, write, first, count };
    Record { process: 0, ticks, action }
}

/// Anonymous memory, shared file, a later region at the address of the first, a
/// descriptor; a second process with one page.
fn trace(timing: Timing) -> Arc<Trace> {
    let mut table = TraceTable::empty("test");
    table.timing = timing;
    table.tick_ns = 10;
    table.files = vec!["data".into(), "tool".into()];
    for name in ["a", "b"] {
        table.processes.push(Process { pid: 0, name: name.into() });
    }
    let mut region = |process, start, pages, backing, at_start| {
        table.regions.push(Region { process, start, pages, backing, at_start });
    };
    region(0, 0x1000, 8, Backing::Unknown, true);
    region(1, 0x1000, 1, Backing::Anon, true);
    region(0, 0x2000, 4, Backing::File { file: 0, offset: 2, shared: true }, true);
    region(0, 0x1000, 2, Backing::Text { file: 1, offset: 0 }, false);
    region(0, 0, 9, Backing::Descriptor { file: 0, offset: 1 }, true);
    let mut writer = TraceWriter::new(Vec::new(), table, 3).unwrap();
    let other = Action::Access { region: 1, write: true, first: 0, count: 1 };
    for record in [
        access(0, true, 0, 8, 0),
        access(2, false, 1, 2, 5),
        Record { process: 1, ticks: 77, action: other },
        Record { process: 0, ticks: 3, action: Action::Unmap { region: 0 } },
        Record { process: 0, ticks: 0, action: Action::Map { region: 3 } },
        access(3, false, 0, 1, 0),
        access(4, true, 2, 3, 1),
        access(4, false, 0, 1, 0),
    ] {
        writer.record(&record).unwrap();
    }
    Trace::from_bytes(writer.finish().unwrap()).unwrap()
}

/// All operations, the clock standing at 500 ns.
fn drain(trace: &Arc<Trace>, process: usize, options: ReplayOptions) -> Vec<Op> {
    let mut workload = TraceWorkload::new(trace.clone(), process, options).unwrap();
    let mut rng = Rng::for_purpose(1, "trace");
    let cx = WorkloadCx {
        now: SimTime(500),
        free_pages: 0,
        kernel_allocs: &[],
        free_blocks: None,
        pressure: &Pressure::NONE,
    };
    let (mut all, mut ops) = (Vec::new(), Vec::new());
    loop {
        ops.clear();
        workload.fill(&cx, &mut rng, &mut ops);
        if ops.is_empty() {
            return all;
        }
        all.append(&mut ops);
    }
}

fn mmap(region: u16, pages: u32, kind: MapKind, exec: bool, at: u64) -> Op {
    let flags = VmaFlags { exec, ..VmaFlags::default() };
    Op::Mmap { region: RegionId(region), pages, kind, flags, at: Some(at) }
}

fn touch(region: u16, write: bool, first: u32, count: u32) -> Op {
    Op::Access(Run { region: RegionId(region), write, first, count })
}

fn compute(ns: u64) -> Op {
    Op::Compute(SimDuration::from_nanos(ns))
}

const DATA: FileSlot = FileSlot(0);

#[test]
fn one_process_comes_out_in_order() {
    let file = MapKind::File { file: DATA, offset: 2, shared: true };
    let text = MapKind::File { file: FileSlot(1), offset: 0, shared: false };
    let expected = [
        mmap(0, 8, MapKind::Anon, false, 0x1000),
        mmap(1, 4, file, false, 0x2000),
        touch(0, true, 0, 8),
        Op::PhaseEnd(0),
        Op::PhaseEnd(1),
        compute(50),
        touch(1, false, 1, 2),
        compute(30),
        Op::Munmap { region: RegionId(0) },
        mmap(2, 2, text, true, 0x1000),
        touch(2, false, 0, 1),
        compute(10),
        Op::Write { file: DATA, first: 3, count: 3 },
        Op::PhaseEnd(2),
        Op::Read { file: DATA, first: 1, count: 1 },
        Op::Records(15),
        Op::PhaseEnd(3),
    ];
    let trace = trace(Timing::ThinkTime);
    assert_eq!(drain(&trace, 0, ReplayOptions::default()), expected);
    let workload = TraceWorkload::new(trace.clone(), 0, ReplayOptions::default()).unwrap();
    let files: Vec<_> = workload.files().into_iter().map(|f| (f.name, f.pages)).collect();
    assert_eq!(files, [("data".to_string(), 10), ("tool".to_string(), 2)]);
    assert_eq!(workload.phases(), ["replay1", "replay2", "replay3", "replay4"]);

    let other = drain(&trace, 1, ReplayOptions::default());
    assert_eq!(other[1..3], [compute(770), touch(0, true, 0, 1)]);
}

/// Recorded are 90 ns, and the machine asks for more later than that.
#[test]
fn it_says_how_far_behind_it_was() {
    let ns = SimDuration::from_nanos;
    let replayed = |timing, options, clocks: &[u64]| {
        let mut workload = TraceWorkload::new(trace(timing), 0, options).unwrap();
        assert_eq!(workload.replayed(), None);
        let (mut rng, mut ops) = (Rng::for_purpose(1, "trace"), Vec::new());
        for &clock in clocks {
            ops.clear();
            let now = SimTime(clock);
            let cx = WorkloadCx {
                now,
                free_pages: 0,
                kernel_allocs: &[],
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            workload.fill(&cx, &mut rng, &mut ops);
        }
        assert!(ops.is_empty(), "it is over");
        workload.replayed()
    };
    let (options, clocks) = (ReplayOptions::default(), [500, 800, 850]);
    let late = replayed(Timing::Arrivals, options, &clocks);
    assert_eq!(late, Some(Replayed { recorded: ns(90), took: ns(350), behind: ns(260) }));
    let in_time = replayed(Timing::Arrivals, options, &[500, 590, 590]);
    assert_eq!(in_time, Some(Replayed { recorded: ns(90), took: ns(90), behind: ns(0) }));
    let slower = ReplayOptions { think: Think::Scaled { per_mille: 4000 }, ..options };
    let slower = replayed(Timing::Arrivals, slower, &clocks);
    assert_eq!(slower, Some(Replayed { recorded: ns(360), took: ns(350), behind: ns(0) }));
    // Think time has no instants to be late for.
    assert_eq!(replayed(Timing::ThinkTime, options, &clocks), None);
}

#[test]
fn think_time_is_scaled_without_losing_any() {
    let total = |think| {
        let options = ReplayOptions { think, ..ReplayOptions::default() };
        let ops = drain(&trace(Timing::ThinkTime), 0, options);
        ops.iter().map(|op| if let Op::Compute(d) = op { d.as_nanos() } else { 0 }).sum::<u64>()
    };
    assert_eq!(total(Think::Recorded), 90);
    assert_eq!(total(Think::None), 0);
    assert_eq!(total(Think::Scaled { per_mille: 2500 }), 225);
    assert_eq!(total(Think::Scaled { per_mille: 11 }), 0);
    assert_eq!(total(Think::Scaled { per_mille: 12 }), 1);
}

#[test]
fn arrivals_wait_for_their_instants() {
    let instants = |timing, mode| {
        let options = ReplayOptions { mode, ..ReplayOptions::default() };
        let ops = drain(&trace(timing), 0, options);
        let wait = |op: &Op| if let Op::SleepUntil(t) = op { Some(t.0) } else { None };
        ops.iter().filter_map(wait).collect::<Vec<_>>()
    };
    assert_eq!(instants(Timing::Arrivals, ReplayMode::Recorded), [550, 580, 590]);
    assert_eq!(instants(Timing::ThinkTime, ReplayMode::Arrivals), [550, 580, 590]);
    assert!(instants(Timing::Arrivals, ReplayMode::Closed).is_empty());
}

#[test]
fn a_repeat_begins_with_the_mappings_of_the_start() {
    let options = ReplayOptions { repeat: 2, ..ReplayOptions::default() };
    let ops = drain(&trace(Timing::ThinkTime), 0, options);
    let second = ops.iter().position(|op| matches!(op, Op::Records(_))).unwrap() + 1;
    assert_eq!(
        ops[second..second + 3],
        [
            Op::Munmap { region: RegionId(2) },
            mmap(0, 8, MapKind::Anon, false, 0x1000),
            touch(0, true, 0, 8),
        ]
    );
    let records: u32 = ops.iter().map(|op| if let Op::Records(n) = op { *n } else { 0 }).sum();
    assert_eq!(records, 30);
    let ends = ops.iter().filter(|op| matches!(op, Op::PhaseEnd(_))).count();
    assert_eq!(ends, 4);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let trace = trace(Timing::ThinkTime);
    let refuses = |process, options| {
        TraceWorkload::new(trace.clone(), process, options).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refuses(2, ReplayOptions::default()),
        "the replay: found process 2, expected a process below 2"
    );
    let never = ReplayOptions { repeat: 0, ..ReplayOptions::default() };
    assert_eq!(refuses(0, never), "the replay: found repeat 0, expected at least 1");
    assert!(Trace::from_bytes(b"not a trace".to_vec()).is_err());
}
