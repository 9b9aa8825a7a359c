//! Is a run repeatable, and is it the same whoever watches it and however it is cut?

use crate::cells;
use mmsim::machines::Machine;
use mmsim_compaction::TwoScanners;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Preset, Settings};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{self as core, Watch};
use mmsim_core::memory::Memory;
use mmsim_core::memory::trace::{Observer, TraceEvent, TraceKind, TraceKinds};
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::workload::{
    Advice, CopyRun, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx,
};
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig, Random};
use mmsim_workload::generators::{Populate, ZipfConfig};
use std::sync::{Arc, Mutex};

const PAGES: u32 = 1 << 14;
const ACCESSES: u64 = 60_000;

fn config() -> MachineConfig {
    cells::machine_of(PAGES / 2, 4 * PAGES, Kernel::V6_12)
}

fn machine(config: &MachineConfig, threads: u32) -> Machine {
    let work = cells::zipf(PAGES, ACCESSES, threads).workloads();
    Machine::new(config, cells::task(work), 1, cells::classic)
}

fn run(config: &MachineConfig, threads: u32) -> RunResult {
    machine(config, threads).run(Watch::default())
}

/// Observers of a run, as `set` sets them.
fn watch_with(set: impl FnOnce(&mut Watch)) -> Watch {
    let mut watch = Watch::default();
    set(&mut watch);
    watch
}

struct Nothing;
impl Observer for Nothing {
    fn event(&mut self, _now: SimTime, _event: &TraceEvent) {}
}

type Events = Arc<Mutex<Vec<(SimTime, TraceEvent)>>>;

/// Keeps all events of some kinds.
struct Log(Events, TraceKinds);
impl Observer for Log {
    fn kinds(&self) -> TraceKinds {
        self.1
    }
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        self.0.lock().unwrap().push((now, event.clone()));
    }
}

/// Runs a machine by its fast paths and by the slow one, unobserved, and observed, recorded and
/// audited besides: the same result each time, and the same events and accesses twice. An observer
/// of some kinds sees the events of those.
pub(crate) fn fast_is_slow(what: &str, machine: impl Fn() -> core::Machine) -> RunResult {
    fast_is_slow_recorded(what, machine).0
}

/// Result of a run without the memory of the host: the largest number of chunks of lists follows
/// from the order in which folios move within a batch.
fn result(m: &mut core::Machine, watch: Watch) -> RunResult {
    let mut result = m.run(watch);
    result.host_bytes = 0;
    result
}

/// The same, with the recorded accesses.
fn fast_is_slow_recorded(what: &str, machine: impl Fn() -> core::Machine) -> (RunResult, Vec<u32>) {
    let of = |slow| result(&mut machine(), Watch::default().with_slow_paths(slow));
    let fast = of(false);
    assert_eq!(fast, of(true), "{what}");
    let watched = |slow| {
        let events = Events::default();
        let watch = Watch::default()
            .with_slow_paths(slow)
            .with_record_accesses(true)
            .with_observer(Box::new(Log(Arc::clone(&events), TraceKinds::ALL)));
        let watch = if slow { watch } else { watch.with_check_every(1009) };
        let mut m = machine();
        assert_eq!(result(&mut m, watch), fast, "{what}, watched, slow: {slow}");
        (m.recorded_accesses().to_vec(), std::mem::take(&mut *events.lock().unwrap()))
    };
    let (accesses, events) = watched(false);
    let (slow_accesses, slow_events) = watched(true);
    let (kinds, seen) = (some_kinds(what), Events::default());
    let observer = Box::new(Log(Arc::clone(&seen), kinds));
    let some = result(&mut machine(), Watch::default().with_observer(observer));
    assert_eq!(some, fast, "{what}");
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let all = slow_events.iter().filter(|(_, e)| kinds.has(e.kind()));
    assert!(seen.iter().eq(all), "{what}: not the events of {kinds:?}");
    assert_eq!(accesses.len() as u64, fast.accesses, "{what}");
    let differ = accesses.iter().zip(&slow_accesses).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{what}: accesses differ");
    let differ = events.iter().zip(&slow_events).position(|(a, b)| a != b);
    if let Some(i) = differ {
        let around = i.saturating_sub(3)..(i + 4).min(events.len()).min(slow_events.len());
        let (fast, slow) = (&events[around.clone()], &slow_events[around]);
        panic!("{what}: events from {i} on\nfast {fast:#?}\nslow {slow:#?}");
    }
    assert_eq!(events.len(), slow_events.len(), "{what}");
    (fast, accesses)
}

/// One to three kinds of events, drawn.
fn some_kinds(seed: &str) -> TraceKinds {
    let rng = &mut Rng::for_purpose(1, seed);
    let nr = 1 + rng.below(3);
    let all = TraceKind::ALL.len() as u64;
    let drawn: Vec<_> = (0..nr).map(|_| TraceKind::ALL[rng.below(all) as usize]).collect();
    TraceKinds::of(&drawn)
}

/// Computation of a microsecond or of a tenth of a second.
fn compute(rng: &mut Rng) -> Op {
    let most = 1 << (10 + rng.below(18));
    Op::Compute(SimDuration(rng.below(most)))
}

/// Every way to watch, alone and all together: the same result, the digest included.
#[test]
fn watching_changes_nothing() {
    let sample = || -> Option<(SimDuration, mmsim_core::machine::SampleFn)> {
        Some((SimDuration::from_millis(1), Box::new(|_, _, _| {})))
    };
    let snapshot = || -> Option<mmsim_core::machine::SnapshotFn> { Some(Box::new(|_, _| {})) };
    for threads in [1, 3] {
        let plain = run(&config(), threads);
        assert!(plain.vmstat[VmEvent::WorkingsetRefaultAnon] > 1000, "{plain:?}");
        for (what, watch) in [
            ("nothing", Watch::default()),
            ("observer", Watch::default().with_observer(Box::new(Nothing))),
            ("sampling", watch_with(|w| w.sample = sample())),
            ("snapshots", watch_with(|w| w.snapshot = snapshot())),
            ("checks", Watch::default().with_check_every(2000)),
            ("progress", Watch::default().with_progress(Box::new(|_| {}))),
            ("recording", Watch::default().with_record_accesses(true)),
            (
                "all",
                watch_with(|w| {
                    w.observer = Some(Box::new(Nothing));
                    w.sample = sample();
                    w.snapshot = snapshot();
                    w.check_every = 3000;
                    w.progress = Some(Box::new(|_| {}));
                    w.record_accesses = true;
                }),
            ),
        ] {
            let mut m = machine(&config(), threads);
            let watched = m.run(watch);
            assert_eq!(watched, plain, "{what}, {threads} threads");
            assert_eq!(m.digest(), plain.digest, "{what}, {threads} threads");
            let recorded = m.recorded_accesses().len() as u64;
            let all = if matches!(what, "recording" | "all") { plain.accesses } else { 0 };
            assert_eq!(recorded, all, "{what}, {threads} threads");
        }
    }
}

/// Hands over all accesses as operations.
struct SpeltOut(Box<dyn Workload>);

impl Workload for SpeltOut {
    fn phases(&self) -> Vec<String> {
        self.0.phases()
    }
    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        self.0.fill(cx, rng, ops);
    }
}

/// Touches in short form are those accesses: the same result by each path, whoever watches, also
/// where pages are drawn that nothing has touched before.
#[test]
fn touches_in_short_form_are_those_accesses() {
    type Policy = fn(&mut Memory) -> Box<dyn ReclaimPolicy>;
    let mglru: Policy = |mem| Box::new(Mglru::new(MglruConfig::V6_12, mem, 1));
    // Reads of pages that nothing has touched find the zero page, which takes no memory.
    for (what, policy, threads, populate, write_permille) in [
        ("classic", cells::classic as Policy, 1, Populate::Write, 300),
        ("unpopulated", cells::classic, 1, Populate::None, 1000),
        ("three threads", cells::classic, 3, Populate::Write, 300),
        ("mglru", mglru, 1, Populate::Write, 300),
    ] {
        let machine = |spelt_out: bool| {
            let zipf = cells::zipf(PAGES, ACCESSES, threads);
            let config = ZipfConfig { populate, write_permille, ..zipf };
            let mut work = config.workloads();
            if spelt_out {
                work = work.into_iter().map(|w| Box::new(SpeltOut(w)) as _).collect();
            }
            core::Machine::new(&self::config(), cells::task(work), 1, policy)
        };
        let (short, accesses) = fast_is_slow_recorded(what, || machine(false));
        let (long, same) = fast_is_slow_recorded(what, || machine(true));
        assert_eq!(short, long, "{what}");
        assert!(accesses == same, "{what}: accesses differ");
        assert!(short.vmstat[VmEvent::PswpIn] > 1000, "{what}: {short:?}");
    }
}

/// Where swap is nearly full: the last slots are in other CPUs' stocks, and pages that
/// were chosen for them stay, in their order.
#[test]
fn the_fast_paths_are_the_slow_one_where_swap_is_full() {
    for p in MglruConfig::presets() {
        let frames = PAGES / 2;
        // Pages that reclaim unmapped and could not free have a slot and a frame.
        let both = if p.kernel == Kernel::V7_3 { 1_000 } else { 600 };
        let c = cells::machine_of(frames, PAGES - frames + both, p.kernel);
        let c = MachineConfig { cpus: 4, ..c };
        let plain = fast_is_slow(p.name, || {
            let work = cells::zipf(PAGES, ACCESSES, 4).workloads();
            let policy =
                |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Mglru::new(p.config, mem, 1)) };
            core::Machine::new(&c, cells::task(work), 1, policy)
        });
        assert_eq!(plain.outcome, Outcome::Completed, "{}", p.name);
        assert!(plain.vmstat[VmEvent::PswpOut] > 15_000, "{}", p.name);
    }
}

/// Where compaction takes folios off the lists, many at once or one by one: what was young
/// comes back as young.
#[test]
fn the_fast_paths_are_the_slow_one_beside_compaction() {
    const PART: u32 = 24;
    const PARTS: u16 = 300;
    let mut rng = Rng::for_purpose(1, "parts");
    let (kind, flags) = (MapKind::Anon, VmaFlags::default());
    let map = |region, pages| Op::Mmap { region, pages, kind, flags, at: None };
    let touch = |region, count| Op::Access(Run { region, write: true, first: 0, count });
    let mut ops = Vec::new();
    for part in (0..PARTS).map(RegionId) {
        ops.extend([map(part, PART), touch(part, PART)]);
    }
    ops.extend(
        (0..PARTS).filter(|p| p.is_multiple_of(3)).map(|p| Op::Munmap { region: RegionId(p) }),
    );
    // More than there is memory for, in steps, with compaction and some parts used in between.
    let more = RegionId(PARTS);
    ops.push(map(more, 8 * 1024));
    for step in 0..8 {
        for _ in 0..100 {
            let part = rng.below(PARTS.into()) as u16;
            if !part.is_multiple_of(3) {
                ops.push(touch(RegionId(part), PART));
            }
        }
        ops.push(Op::CompactMemory);
        let (first, count) = (step * 1024, 1024);
        ops.push(Op::Access(Run { region: more, write: true, first, count }));
    }
    // Compaction of 4.1 isolates by other rules than that of the preset's own kernel.
    let kernels = |p: &'static Preset<MglruConfig>| [Kernel::V4_1, p.kernel].map(|k| (p, k));
    for (p, kernel) in MglruConfig::presets().iter().flat_map(kernels) {
        let plain = fast_is_slow(p.name, || {
            let c = cells::machine_of(9 * 1024, 8 * 1024, kernel);
            let work: Vec<Box<dyn Workload>> = vec![Box::new(cells::Script(ops.clone()))];
            let policy =
                |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Mglru::new(p.config, mem, 1)) };
            let mut m = core::Machine::new(&c, cells::task(work), 1, policy);
            let rules = mmsim_compaction::preset_for_kernel(kernel);
            m.set_compaction(Box::new(TwoScanners::new(rules, &m.mem)));
            m
        });
        assert!(plain.vmstat[VmEvent::PgMigrateSuccess] > 1000, "{}", p.name);
        assert!(plain.vmstat[VmEvent::PswpOut] > 1000, "{}", p.name);
    }
}

/// Faults on pages in swap: the same on every kernel, device and number of CPUs, with hits, runs of
/// pages and computation in between.
#[test]
fn the_fast_path_of_faults_is_the_slow_one() {
    let pages = 3000;
    let ops = |thread: u64| {
        let mut rng = Rng::for_purpose(thread, "ops");
        let region = RegionId(0);
        let kind = MapKind::Anon;
        let flags = VmaFlags::default();
        let mut ops = vec![Op::Mmap { region, pages, kind, flags, at: None }];
        ops.push(Op::Access(Run { region, write: true, first: 0, count: pages }));
        for i in 0..20_000u32 {
            if i % 2000 == 1999 {
                ops.push(Op::PhaseEnd((i / 2000) as u16));
            }
            let count = if rng.below(20) == 0 { 1 + rng.below(70) as u32 } else { 1 };
            let first = rng.below(u64::from(pages - count)).min(rng.below(4000)) as u32;
            ops.push(Op::Access(Run { region, write: rng.below(3) == 0, first, count }));
            match rng.below(40) {
                // Counters of nodes, which policies read, are updated every second.
                0 => ops.push(compute(&mut rng)),
                1 => ops.push(Op::Records(1)),
                _ => {}
            }
        }
        Box::new(cells::Script(ops)) as Box<dyn Workload>
    };
    let presets = [
        (Kernel::V5_5, ClassicConfig::V5_5),
        (Kernel::V5_9, ClassicConfig::V5_9),
        (Kernel::V6_12, ClassicConfig::V6_12),
    ];
    let devices = [("zram", 1, 0), ("zram", 3, 3), ("ramdisk", 1, 3), ("ramdisk", 3, 0)];
    for (i, (kernel, preset)) in presets.into_iter().enumerate() {
        for (j, (device, cpus, ahead)) in devices.into_iter().enumerate() {
            let threads = [1, 3][(i + j) % 2];
            let mut c = cells::machine_of(2000 * threads, 20_000, kernel);
            c.cpus = cpus;
            c.run_ahead = SimDuration::from_micros(ahead);
            let swap = c.swap.first_mut().expect("there is swap");
            swap.device = DeviceConfig::preset(device, cpus).expect("a preset");
            let what = format!("{kernel:?}, {device}, {cpus} CPUs, {threads} threads");
            let short = fast_is_slow(&what, || {
                let tasks = (0..threads)
                    .map(|i| core::TaskConfig::new(format!("t{i}"), vec![ops(i.into())]));
                let policy =
                    |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Classic::new(preset, mem)) };
                core::Machine::new(&c, tasks.collect(), 1, policy)
            });
            assert!(short.vmstat[VmEvent::PswpIn] > 1000, "{short:?}");
        }
    }
}

/// A machine of one kernel, with its preset.
struct Cell {
    what: String,
    config: MachineConfig,
    preset: ClassicConfig,
    threads: u16,
    /// Memory is too small for the threads.
    tight: bool,
}

/// Each number of threads and CPUs on each device, and each kernel with all of both.
fn cells_of(shapes: &[(u16, u32)]) -> Vec<Cell> {
    let presets = [(Kernel::V5_5, ClassicConfig::V5_5), (Kernel::V6_12, ClassicConfig::V6_12)];
    let devices = [("ramdisk", 8000), ("zram", 1300), ("ssd", 1200)];
    let cell = |i: usize, j: usize| {
        let ((threads, cpus), (device, frames)) = (shapes[i], devices[j]);
        let (kernel, preset) = presets[(i + j) % 2];
        let mut config = cells::machine_of(frames, 20_000, kernel);
        config.cpus = cpus;
        let swap = config.swap.first_mut().expect("there is swap");
        swap.device = DeviceConfig::preset(device, cpus).expect("a preset");
        let what = format!("{kernel:?}, {device}, {threads} threads on {cpus} CPUs");
        Cell { what, config, preset, threads, tight: frames < 2000 }
    };
    (0..shapes.len())
        .flat_map(|i| (0..devices.len()).map(move |j| (i, j)))
        .map(|(i, j)| cell(i, j))
        .collect()
}

/// Threads of one process that share a region and map, touch and unmap buffers of their own
/// take first touches as a team and give pages back together: the same with more threads than
/// CPUs and fewer, while there is memory and when there is none left, with time passing at the
/// same pace for all.
#[test]
fn teams_are_the_slow_path() {
    const SHARED: RegionId = RegionId(0);
    let pages = 1500;
    let ops = |thread: u16| {
        let mut rng = Rng::for_purpose(thread.into(), "ops");
        let map = |region, pages| {
            let (kind, flags) = (MapKind::Anon, VmaFlags::default());
            Op::Mmap { region, pages, kind, flags, at: None }
        };
        let touch = |region, write, first, count| Op::Access(Run { region, write, first, count });
        let mut ops = Vec::new();
        if thread == 0 {
            ops.push(map(SHARED, pages));
        }
        ops.push(Op::Barrier);
        let own = RegionId(1 + thread);
        for _ in 0..60 {
            let n = 1 + rng.below(200) as u32;
            let from = rng.below(u64::from(pages - n)) as u32;
            ops.push(map(own, n));
            match rng.below(4) {
                0 => ops.push(touch(own, true, 0, n)),
                1 => ops.push(touch(SHARED, true, from, n)),
                _ => ops.extend((0..n).flat_map(|i| {
                    let write = rng.below(3) == 0;
                    [touch(SHARED, write, from + i, 1), touch(own, i % 9 > 0, i, 1)]
                })),
            }
            match rng.below(3) {
                0 => ops.push(Op::Compute(SimDuration(rng.below(3000)))),
                1 => ops.push(Op::Records(1)),
                _ => {}
            }
            ops.push(Op::Munmap { region: own });
        }
        Box::new(cells::Script(ops)) as Box<dyn Workload>
    };
    for Cell { what, config: c, preset, threads, tight } in
        cells_of(&[(1, 1), (3, 4), (5, 2), (8, 8), (16, 16), (17, 17)])
    {
        let team = fast_is_slow(&what, || {
            let tasks = cells::task((0..threads).map(ops).collect());
            let policy =
                |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Classic::new(preset, mem)) };
            core::Machine::new(&c, tasks, 1, policy)
        });
        assert_eq!(tight, team.vmstat[VmEvent::PswpOut] > 0, "{what}");
    }
}

/// Threads fill memory while kswapd waits for their CPU: their teams end where their slices do.
#[test]
fn teams_end_with_slices() {
    for (kernel, preset) in
        [(Kernel::V5_5, ClassicConfig::V5_5), (Kernel::V6_12, ClassicConfig::V6_12)]
    {
        for cpus in 1..=2u16 {
            let pages = 60_000 / u32::from(cpus);
            let fill = |thread: u16| {
                let region = RegionId(thread);
                let (kind, flags) = (MapKind::Anon, VmaFlags::default());
                let map = Op::Mmap { region, pages, kind, flags, at: None };
                let write = Op::Access(Run { region, write: true, first: 0, count: pages });
                Box::new(cells::Script(vec![map, write])) as Box<dyn Workload>
            };
            let mut config = cells::machine_of(20_000, 70_000, kernel);
            config.cpus = cpus.into();
            let filled = fast_is_slow(&format!("{kernel:?}, {cpus} CPUs"), || {
                let policy =
                    |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Classic::new(preset, mem)) };
                core::Machine::new(&config, cells::task((0..cpus).map(fill).collect()), 1, policy)
            });
            assert!(filled.vmstat[VmEvent::PgStealKswapd] > 10_000, "kswapd has work");
            assert!(filled.sim_time.0 > 5 * config.tick.0, "for some slices");
        }
    }
}

/// Evictions, refaults and advice of every preset, on a device that works at once and on one that
/// takes its time.
#[test]
fn policies_do_the_same_by_the_fast_paths() {
    let pages = 2000;
    let ops = |thread: u64| {
        let mut rng = Rng::for_purpose(thread, "advice");
        let region = RegionId(0);
        let (kind, flags) = (MapKind::Anon, VmaFlags::default());
        let mut ops = vec![Op::Mmap { region, pages, kind, flags, at: None }];
        ops.push(Op::Access(Run { region, write: true, first: 0, count: pages }));
        for _ in 0..6000 {
            let first = rng.below(u64::from(pages)).min(rng.below(4000)) as u32;
            let count = 1 + rng.below(u64::from(pages - first).min(40)) as u32;
            ops.push(Op::Access(Run { region, write: rng.below(3) == 0, first, count: 1 }));
            let advice = match rng.below(150) {
                0 => Advice::Free,
                1 => Advice::Cold,
                2 => Advice::PageOut,
                3 => Advice::DontNeed,
                _ => continue,
            };
            ops.push(Op::Madvise { region, first, count, advice });
            ops.push(compute(&mut rng));
        }
        Box::new(cells::Script(ops)) as Box<dyn Workload>
    };
    type Make = Box<dyn Fn(&mut Memory) -> Box<dyn ReclaimPolicy>>;
    let classic = ClassicConfig::presets().iter().map(|p| {
        let make: Make = Box::new(|mem| Box::new(Classic::new(p.config, mem)));
        (p.name, p.kernel, make)
    });
    let mglru = MglruConfig::presets().iter().map(|p| {
        let make: Make = Box::new(|mem| Box::new(Mglru::new(p.config, mem, 1)));
        (p.name, p.kernel, make)
    });
    for (name, kernel, make) in classic.chain(mglru) {
        for device in ["zram", "ssd"] {
            let mut c = cells::machine_of(3000, 20_000, kernel);
            c.cpus = 2;
            let swap = c.swap.first_mut().expect("there is swap");
            swap.device = DeviceConfig::preset(device, 2).expect("a preset");
            let result = fast_is_slow(&format!("{name}, {device}"), || {
                let tasks =
                    (0..2).map(|i| core::TaskConfig::new(format!("t{i}"), vec![ops(i)])).collect();
                core::Machine::new(&c, tasks, 1, |mem| make(mem))
            });
            assert!(result.vmstat[VmEvent::PswpOut] > 1000, "{name}, {device}: {result:?}");
        }
    }
}

/// A copy is its touches one by one, to the nanosecond: into pages that are there, that come back
/// from swap and that were never touched, within a region too, by threads alone and in a team.
#[test]
fn a_copy_is_its_touches() {
    const SHARED: RegionId = RegionId(0);
    let pages = 1500;
    let ops = |thread: u16, whole: bool| {
        let mut rng = Rng::for_purpose(thread.into(), "copies");
        let map = |region, pages, locked| {
            let (kind, flags) = (MapKind::Anon, VmaFlags { locked, ..VmaFlags::default() });
            Op::Mmap { region, pages, kind, flags, at: None }
        };
        let mut ops = Vec::new();
        if thread == 0 {
            ops.push(map(SHARED, pages, false));
        }
        ops.push(Op::Barrier);
        let own = RegionId(1 + thread);
        for _ in 0..60 {
            let n = 1 + rng.below(200) as u32;
            ops.push(map(own, n, rng.below(8) == 0));
            for _ in 0..1 + rng.below(3) {
                let count = 1 + rng.below(n.into()) as u32;
                let mut part = || rng.below(u64::from(pages - count)) as u32;
                let shared = (SHARED, part());
                let ((from, first), (to, into)) = match part() % 4 {
                    0 => ((own, 0), shared),
                    1 => (shared, (SHARED, part())),
                    _ => (shared, (own, n - count)),
                };
                let copy = CopyRun { from, first, to, into, count };
                if whole {
                    ops.push(Op::Copy(copy));
                } else {
                    ops.extend((0..count).flat_map(|i| {
                        let run = |region, write, first| Run { region, write, first, count: 1 };
                        [run(from, false, first + i), run(to, true, into + i)].map(Op::Access)
                    }));
                }
                match rng.below(4) {
                    0 => ops.push(Op::Compute(SimDuration(rng.below(3000)))),
                    1 => ops.push(Op::Records(1)),
                    _ => {}
                }
            }
            ops.push(Op::Munmap { region: own });
        }
        Box::new(cells::Script(ops)) as Box<dyn Workload>
    };
    for Cell { what, config: c, preset, threads, tight } in
        cells_of(&[(1, 1), (3, 4), (5, 2), (8, 8)])
    {
        let machine = |whole| {
            let tasks = cells::task((0..threads).map(|t| ops(t, whole)).collect());
            let policy =
                |mem: &mut _| -> Box<dyn ReclaimPolicy> { Box::new(Classic::new(preset, mem)) };
            core::Machine::new(&c, tasks, 1, policy)
        };
        let copies = fast_is_slow_recorded(&what, || machine(true));
        let touches = fast_is_slow_recorded(&what, || machine(false));
        assert_eq!(copies.0, touches.0, "{what}");
        assert!(copies.1 == touches.1, "{what}: accesses differ");
        assert_eq!(tight, copies.0.vmstat[VmEvent::PswpIn] > 0, "{what}");
    }
}

/// A thread alone has no other to run ahead of.
#[test]
fn run_ahead_of_nobody_is_exact() {
    let ahead = run(&config(), 1);
    let strict = run(&MachineConfig { run_ahead: SimDuration::ZERO, ..config() }, 1);
    assert_eq!(ahead, strict);
}

/// Four threads on four CPUs: hits may overtake the other threads by 100 us, and refaults
/// stay within 1 % of strict order.
#[test]
fn run_ahead_moves_refaults_by_less_than_one_percent() {
    let of = |run_ahead| {
        let c = MachineConfig { cpus: 4, run_ahead, ..config() };
        let work = cells::zipf(PAGES, 4 * ACCESSES, 4).workloads();
        let r = Machine::new(&c, cells::task(work), 1, cells::classic).run(Watch::default());
        r.vmstat[VmEvent::WorkingsetRefaultAnon] as f64
    };
    let (ahead, strict) = (of(SimDuration::from_micros(100)), of(SimDuration::ZERO));
    assert!(strict > 10_000.0, "{strict} refaults say little");
    assert!((ahead / strict - 1.0).abs() <= 0.01, "{ahead} refaults against {strict}");
}

/// A slice ends only when another entity wants the CPU. kswapd has a CPU of its own here: on one
/// CPU it takes turns with the thread, and the slice is then part of the machine.
#[test]
fn half_the_slice_is_the_same_run() {
    let whole = MachineConfig { cpus: 2, ..config() };
    let half = MachineConfig { tick: SimDuration(whole.tick.0 / 2), ..whole.clone() };
    assert_eq!(run(&whole, 1), run(&half, 1));
}

/// Three digests, written down. The test runs in debug and in release builds, and on
/// whatever machine builds it: equal to the same literals they are equal to each other.
/// A change that moves results on purpose changes them here and says so.
#[test]
fn golden_digests() {
    let classic = |kernel, preset| {
        let c = cells::machine_of(PAGES / 2, 4 * PAGES, kernel);
        let work = cells::zipf(PAGES, ACCESSES, 2).workloads();
        let policy = |mem: &mut _| Box::new(Classic::new(preset, mem)) as Box<dyn ReclaimPolicy>;
        core::Machine::new(&c, cells::task(work), 1, policy).run(Watch::default()).digest
    };
    let random = {
        let work = cells::zipf(PAGES, ACCESSES, 1).workloads();
        let policy = |mem: &mut _| Box::new(Random::new(mem, 1)) as Box<dyn ReclaimPolicy>;
        core::Machine::new(&config(), cells::task(work), 1, policy).run(Watch::default()).digest
    };
    let got = [
        classic(Kernel::V5_5, ClassicConfig::V5_5),
        classic(Kernel::V6_12, ClassicConfig::V6_12),
        random,
    ];
    assert_eq!(
        got.map(|d| format!("{d:016x}")),
        ["7267a2acfcaedb14", "540233914fc1b0d6", "92bc11907bce5375"]
    );
}
