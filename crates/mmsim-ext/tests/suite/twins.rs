//! Policies in C decide as twins that have neither lists nor modules: sorted by time, or queues of
//! page numbers. Each request has the same offers in the same order.

use std::collections::{BTreeMap, VecDeque};

use mmsim::base::id::ThreadId;
use mmsim::base::rng::Rng;
use mmsim::base::time::SimTime;
use mmsim::policy::chooser::{ChooserMap, ChooserOptions};
use mmsim::workload::{Op, Pressure, Workload as _, WorkloadCx};
use mmsim_workload::trace::{ReplayOptions, Trace, TraceWorkload};

use crate::driver::{Driven, Driver, Facts, Twin, Work, accesses, module, options};

/// FIFO and MRU: pages sorted by a time.
#[derive(Default)]
struct ByTime {
    times: BTreeMap<u32, u64>,
    clock: u64,
    recent: bool,
}

impl Twin for ByTime {
    fn added(&mut self, page: u32) {
        self.clock += 1;
        self.times.insert(page, self.clock);
    }

    fn accessed(&mut self, page: u32) {
        self.clock += 1;
        if self.recent {
            self.times.insert(page, self.clock);
        }
    }

    fn evicted(&mut self, page: u32) {
        self.times.remove(&page);
    }

    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        let mut all: Vec<(u64, u32)> = self.times.iter().map(|(page, at)| (*at, *page)).collect();
        all.sort_unstable();
        if self.recent {
            all.reverse();
        }
        let pages = all.iter().take(4097).map(|a| a.1);
        // MRU writes nothing either, but offers dirty pages.
        let fits = |page: &u32| facts(*page).ready && (self.recent || !facts(*page).dirty);
        pages.filter(fits).take(wanted).collect()
    }
}

/// A twin that takes, of each 16 pages at the front, the one with the fewest uses, the first of equals.
/// All 16 go to the back.
#[derive(Default)]
struct Sampled {
    line: VecDeque<u32>,
    uses: BTreeMap<u32, u64>,
}

impl Twin for Sampled {
    fn added(&mut self, page: u32) {
        self.line.push_back(page);
        self.uses.insert(page, 0);
    }

    fn accessed(&mut self, page: u32) {
        *self.uses.get_mut(&page).expect("it was added") += 1;
    }

    fn evicted(&mut self, page: u32) {
        self.line.retain(|p| *p != page);
        self.uses.remove(&page);
    }

    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        self.sampled(wanted, 16, |page| facts(page).ready && !facts(page).dirty)
    }
}

impl Sampled {
    fn sampled(&mut self, wanted: usize, size: usize, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        let worth = |page: u32| if goes(page) { self.uses[&page] as i64 } else { i64::MAX };
        sampled(&mut self.line, wanted, size, worth)
    }
}

/// Offers the page of the lowest worth of each `size` pages at the front, the first among equals. The
/// pages that it looked at go to the back. A line that is too short offers none.
fn sampled(
    line: &mut VecDeque<u32>,
    wanted: usize,
    size: usize,
    worth: impl Fn(u32) -> i64,
) -> Vec<u32> {
    let n = line.len().min(size * wanted);
    line.rotate_left(n);
    if n < size * wanted {
        return Vec::new();
    }
    let front: Vec<u32> = line.iter().skip(line.len() - n).copied().collect();
    let least = |some: &[u32]| *some.iter().min_by_key(|page| worth(**page)).expect("pages");
    front.chunks(size).map(least).collect()
}

/// Least hit density by its definition: of all folios of a class that lived to an age, the share of those
/// that were used again, over the mean time that they still took.
#[derive(Default)]
struct Dense {
    capacity: u64,
    clock: u64,
    made_at: u64,
    line: VecDeque<u32>,
    /// By page: the time of the last use, the class, and true before the first.
    known: BTreeMap<u32, (u64, u32, bool)>,
    /// By class and age: weights of those used again, and of those gone.
    ends: BTreeMap<(u32, u64), [u64; 2]>,
    table: BTreeMap<(u32, u64), i64>,
}

impl Dense {
    fn new(capacity: u32) -> Dense {
        Dense { capacity: capacity.into(), ..Dense::default() }
    }

    fn age(&self, used_at: u64) -> u64 {
        ((self.clock - used_at) / (self.capacity / 16 + 1)).min(63)
    }

    fn ended(&mut self, class: u32, age: u64, gone: usize) {
        self.ends.entry((class, age)).or_default()[gone] += 1024;
    }

    fn learn(&mut self) {
        for class in 0..8 {
            for age in 0..64 {
                let later = self.ends.range((class, age)..(class, 64));
                let (mut hits, mut time) = (0, 0);
                for (&(_, at), &[again, gone]) in later {
                    hits += again;
                    time += (at - age + 1) * (again + gone);
                }
                let density = (hits << 16).checked_div(time).unwrap_or(0);
                self.table.insert((class, age), density as i64);
            }
        }
        self.ends.values_mut().flatten().for_each(|weight| *weight = *weight * 7 / 8);
    }
}

impl Twin for Dense {
    fn added(&mut self, page: u32) {
        self.line.push_back(page);
        self.known.insert(page, (self.clock, 0, true));
    }

    fn accessed(&mut self, page: u32) {
        let (used_at, mut class, fresh) = self.known[&page];
        if !fresh {
            let age = self.age(used_at);
            self.ended(class, age, 0);
            class = age.checked_ilog2().map_or(1, |log| 2 + log).min(7);
        }
        self.clock += 1;
        self.known.insert(page, (self.clock, class, false));
        if self.clock >= self.made_at + self.capacity {
            self.made_at = self.clock;
            self.learn();
        }
    }

    fn evicted(&mut self, page: u32) {
        self.line.retain(|p| *p != page);
        let (used_at, class, _) = self.known.remove(&page).expect("it was added");
        let age = self.age(used_at);
        self.ended(class, age, 1);
    }

    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        let mut line = std::mem::take(&mut self.line);
        let worth = |page: u32| {
            let (used_at, class, _) = self.known[&page];
            match facts(page).ready && !facts(page).dirty {
                true => self.table.get(&(class, self.age(used_at))).copied().unwrap_or(0),
                false => i64::MAX,
            }
        };
        let offered = sampled(&mut line, wanted, 16, worth);
        self.line = line;
        offered
    }
}

/// S3-FIFO: a small queue, a main queue, and ghosts.
struct S3Fifo {
    capacity: usize,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghosts: VecDeque<u32>,
    uses: BTreeMap<u32, u8>,
}

impl S3Fifo {
    /// Moves pages from the front of one queue until enough are offered. An offered page stays.
    fn pass(&mut self, from_main: bool, wanted: usize, offered: &mut Vec<u32>) {
        let mut at = 0;
        for _ in 0..4097 {
            let queue = if from_main { &mut self.main } else { &mut self.small };
            if at >= queue.len() || offered.len() >= wanted {
                return;
            }
            let page = queue[at];
            let uses = self.uses.get_mut(&page).expect("a page of a queue");
            let stays = if from_main { *uses == 0 } else { *uses <= 1 };
            if stays {
                offered.push(page);
                at += 1;
                continue;
            }
            *uses = if from_main { *uses - 1 } else { 0 };
            queue.remove(at);
            self.main.push_back(page);
        }
    }
}

impl Twin for S3Fifo {
    fn added(&mut self, page: u32) {
        self.uses.insert(page, 0);
        match self.ghosts.iter().position(|ghost| *ghost == page) {
            Some(i) => {
                self.ghosts.remove(i);
                self.main.push_back(page);
            }
            None => self.small.push_back(page),
        }
    }

    fn accessed(&mut self, page: u32) {
        let uses = self.uses.get_mut(&page).expect("it was added");
        *uses = (*uses + 1).min(3);
    }

    fn evicted(&mut self, page: u32) {
        self.uses.remove(&page);
        self.main.retain(|p| *p != page);
        let before = self.small.len();
        self.small.retain(|p| *p != page);
        if self.small.len() < before {
            self.ghosts.push_back(page);
            if self.ghosts.len() > self.capacity {
                self.ghosts.pop_front();
            }
        }
    }

    fn evict(&mut self, wanted: usize, _facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        let mut offered = Vec::new();
        if self.small.len() * 10 >= self.capacity {
            self.pass(false, wanted, &mut offered);
        }
        if offered.len() < wanted {
            self.pass(true, wanted, &mut offered);
        }
        if offered.len() < wanted {
            self.pass(false, wanted, &mut offered);
        }
        offered
    }
}

/// SIEVE: pages from the oldest to the newest, a mark on each that was used, and a hand.
#[derive(Default)]
struct Sieve {
    line: Vec<(u32, bool)>,
    hand: usize,
}

impl Twin for Sieve {
    fn added(&mut self, page: u32) {
        self.line.push((page, false));
    }

    fn accessed(&mut self, page: u32) {
        self.line.iter_mut().find(|p| p.0 == page).expect("it was added").1 = true;
    }

    fn evicted(&mut self, page: u32) {
        let at = self.line.iter().position(|p| p.0 == page).expect("it was added");
        self.line.remove(at);
        self.hand -= usize::from(at < self.hand);
    }

    fn evict(&mut self, _wanted: usize, _facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        let mut offered = Vec::new();
        for _ in 0..2 {
            // Offered pages stay before the hand, used ones go behind it.
            while offered.len() < 32 && self.hand + offered.len() < self.line.len() {
                let at = self.hand + offered.len();
                match self.line[at] {
                    (page, true) => {
                        self.line.remove(at);
                        self.line.insert(self.hand, (page, false));
                        self.hand += 1;
                    }
                    (page, false) => offered.push(page),
                }
            }
            if !offered.is_empty() {
                break;
            }
            self.hand = 0;
        }
        offered
    }
}

/// Scanned pages in their order, then hot ones by samples of 8.
#[derive(Default)]
struct GetScan {
    scanned: Vec<u32>,
    hot: Sampled,
    scans: bool,
}

impl Twin for GetScan {
    fn acts(&mut self, scans: bool) {
        self.scans = scans;
    }

    fn added(&mut self, page: u32) {
        match self.scans {
            true => self.scanned.push(page),
            false => self.hot.added(page),
        }
    }

    fn accessed(&mut self, page: u32) {
        if self.scans {
            return;
        }
        self.scanned.retain(|p| *p != page);
        // The first use puts it at the end, where a new one is already.
        if self.hot.uses.get(&page).copied().unwrap_or(0) == 0 {
            self.hot.line.retain(|p| *p != page);
            self.hot.added(page);
        }
        self.hot.accessed(page);
    }

    fn evicted(&mut self, page: u32) {
        self.scanned.retain(|p| *p != page);
        self.hot.evicted(page);
    }

    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        let ready = self.scanned.iter().take(4097).filter(|page| facts(**page).ready);
        let offered: Vec<u32> = ready.take(32).copied().collect();
        if offered.is_empty() { self.hot.sampled(wanted, 8, |p| facts(p).ready) } else { offered }
    }
}

/// FIFO of the pages whose read came twice while a list of that many pages remembered the first.
struct Doorkeeper {
    inside: ByTime,
    turned_away: VecDeque<u32>,
    most: usize,
}

impl Twin for Doorkeeper {
    fn admits(&mut self, page: u32) -> bool {
        if let Some(place) = self.turned_away.iter().position(|p| *p == page) {
            self.turned_away.remove(place);
            return true;
        }
        self.turned_away.push_back(page);
        if self.turned_away.len() > self.most {
            self.turned_away.pop_front();
        }
        false
    }

    fn added(&mut self, page: u32) {
        self.inside.added(page);
    }

    fn accessed(&mut self, _page: u32) {}

    fn evicted(&mut self, page: u32) {
        self.inside.evicted(page);
    }

    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32> {
        self.inside.evict(wanted, facts)
    }
}

/// Options of a policy, as a loader has them.
fn given(name: &str, capacity: u32) -> ChooserOptions {
    let mut given = match name {
        "s3fifo" => options(&[("cache_size", capacity.into())], &[("ghosts", capacity.into())]),
        "lhd" => options(&[("cache_size", capacity.into())], &[]),
        "doorkeeper" => options(&[], &[("seen", u64::from(capacity) * 3 / 4)]),
        _ => options(&[], &[]),
    };
    if name == "get_scan" {
        let scans = ChooserMap { entries: None, threads: vec![ThreadId(1)] };
        given.maps.push(("scan_pids".to_string(), scans));
    }
    given
}

/// A policy by the name of its file, beside its twin.
fn compared(name: &str, capacity: u32, accesses: Vec<(u32, bool)>, in_flight: usize) -> Driven {
    let mut twin: Box<dyn Twin> = match name {
        "fifo" => Box::new(ByTime::default()),
        "mru" => Box::new(ByTime { recent: true, ..ByTime::default() }),
        "lfu" => Box::new(Sampled::default()),
        "sieve" => Box::new(Sieve::default()),
        "get_scan" => Box::new(GetScan::default()),
        "lhd" => Box::new(Dense::new(capacity)),
        "doorkeeper" => Box::new(Doorkeeper {
            inside: ByTime::default(),
            turned_away: VecDeque::new(),
            most: capacity as usize * 3 / 4,
        }),
        _ => Box::new(S3Fifo {
            capacity: capacity as usize,
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: VecDeque::new(),
            uses: BTreeMap::new(),
        }),
    };
    let given = given(name, capacity);
    let mut driver = Driver::new(&module(&format!("policies/{name}.wasm")), &given, capacity);
    let work = Work { accesses, in_flight, scans: name == "get_scan" };
    driver.drive(&work, Some(&mut *twin));
    assert_eq!(driver.policy.why_stopped(), None);
    driver.driven
}

/// All of them.
const POLICIES: [&str; 8] =
    ["fifo", "mru", "lfu", "s3fifo", "sieve", "get_scan", "doorkeeper", "lhd"];

#[test]
fn policies_in_c_decide_as_their_twins() {
    for name in POLICIES {
        for (kind, writes, in_flight) in
            [("scan", 0, 0), ("zipf", 0, 4), ("zipf", 30, 0), ("mixed", 10, 8)]
        {
            let trace = accesses(kind, 2000, 8000, writes, 1);
            let driven = compared(name, 600, trace, in_flight);
            if name == "doorkeeper" {
                // A page of the scan comes again after 1999 others, and 450 are remembered: never inside.
                assert_eq!(driven.past == 8000, kind == "scan", "{kind}: {driven:?}");
                continue;
            }
            assert!(driven.asks > 20, "{name}, {kind}: {driven:?}");
            assert!(driven.offered > 10 * driven.asks, "{name}, {kind}: {driven:?}");
        }
    }
}

/// The first accesses of `sort`, a program that was recorded, as reads and writes of pages of a file:
/// pages are numbered as they are touched first.
fn recorded(n: usize) -> Vec<(u32, bool)> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/sort.mmt");
    let trace = Trace::open(file).expect("a trace");
    let mut replay = TraceWorkload::new(trace, 0, ReplayOptions::default()).expect("a replay");
    let cx = WorkloadCx {
        now: SimTime::ZERO,
        free_pages: 0,
        kernel_allocs: &[],
        free_blocks: None,
        pressure: &Pressure::NONE,
    };
    let (mut numbers, mut found, mut ops) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut rng = Rng::for_purpose(1, "trace");
    while found.len() < n {
        ops.clear();
        replay.fill(&cx, &mut rng, &mut ops);
        let runs = ops.iter().filter_map(|op| match op {
            Op::Access(run) => Some(run),
            _ => None,
        });
        for run in runs {
            for page in run.first..run.first + run.count {
                let next = numbers.len() as u32;
                let number = *numbers.entry((run.region, page)).or_insert(next);
                found.push((number, run.write));
            }
        }
    }
    found.truncate(n);
    found
}

#[test]
fn policies_in_c_decide_as_their_twins_on_a_recorded_trace() {
    let trace = recorded(20_000);
    let pages = trace.iter().map(|access| access.0).max().expect("accesses") + 1;
    for name in POLICIES {
        let driven = compared(name, pages * 2 / 5, trace.clone(), 4);
        let enough = if name == "doorkeeper" { driven.past } else { driven.offered };
        assert!(enough > 200, "{name}, {pages} pages: {driven:?}");
    }
}

/// A scan that is longer than the cache: FIFO always misses. Of 5 passes over 1300 pages in 1000,
/// 4 can hit 1000 pages each; MRU comes near, since it gives up the newest pages, a batch at a time.
#[test]
fn a_cyclic_scan_has_the_hits_that_theory_gives() {
    let scan = || accesses("scan", 1300, 6_500, 0, 1);
    assert_eq!(compared("fifo", 1000, scan(), 0).hits, 0);
    let hits = compared("mru", 1000, scan(), 0).hits;
    let most = 4 * 1000;
    assert!(hits <= most && hits > most * 95 / 100, "{hits} of {most}");
}

/// Speed of this driver with modules alone, without twins:
/// `cargo test --release -p mmsim-ext --test suite speed -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn speed() {
    for name in ["fifo", "mru", "lfu", "s3fifo"] {
        let given = given(name, 20_000);
        let mut driver = Driver::new(&module(&format!("policies/{name}.wasm")), &given, 20_000);
        let accesses = accesses("mixed", 60_000, 1_000_000, 0, 1);
        let began = cpu();
        driver.drive(&Work { accesses, in_flight: 0, scans: false }, None);
        let took = cpu() - began;
        let events = driver.driven.events as f64;
        let fuel: u64 = driver.policy.calls().iter().map(|c| c.fuel).sum();
        let calls: u64 = driver.policy.calls().iter().map(|c| c.calls).sum();
        println!(
            "{name}: {:.2} M events/s, {:.0} fuel a call, {:?}",
            events / took / 1e6,
            fuel as f64 / calls as f64,
            driver.driven
        );
    }
}

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
