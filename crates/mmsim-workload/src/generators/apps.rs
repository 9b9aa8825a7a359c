//! Apps that are started one after the other, as on a phone: more of them than memory holds.
//!
//! A launch brings one app to the front. A *cold* one starts: it touches its mapped files (code and
//! resources), reads other files through descriptors, some of their pages again and again, and
//! dirties a heap; while it does, its runtime collects garbage, which gives runs of the heap back
//! with `MADV_FREE` and dirties some of them again soon after. A *warm* one, still alive from a
//! launch before, touches a part of its heap and of its mapped files. Then the next app is launched;
//! the one before goes on for a while in the background with a little of everything, is trimmed
//! (more of its heap is given back), and lies idle until it is launched again or killed. Killing
//! frees the heap and unmaps the files; the pages of the files stay.
//!
//! So memory holds, at the same time: heaps that will be needed when their app comes back, heaps
//! that were given back and are only not yet dropped, files that are mapped, files that
//! are read and never mapped, and what nobody will ask for again. Which of these to
//! take is what policies disagree about. One launch is one record, from its beginning until its
//! work is done.
//!
//! Apps differ in size: their sizes are in geometric progression around the one that is given, from
//! `1/spread` to `spread` times as much, and scattered over the apps. It is the same progression in
//! every run, for files have to exist before anything is drawn.
//!
//! The user waits: steps of a start come every tenth of a second of sleep, and what takes
//! longer delays all that follows.
//!
//! Deviations. There is no operation that forks, so all apps are mappings of one process and one
//! thread does what they do: nothing happens at the same time, and page tables of idle apps
//! are walked as those of busy ones. Apps are killed by number (`cached`, as Android limits cached
//! processes) and by chance (`cold`), not by a daemon that watches memory pressure, which a workload
//! cannot see. Apps share no files and no memory (no zygote).

use super::pace::{self, Body, End};
use crate::sampler::{PageSampler, RankMap, Scatter};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{
    Advice, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload,
};
use std::sync::Arc;

/// Time from one step to the next, and steps of a second.
const STEP: SimDuration = SimDuration::from_millis(100);
const STEPS_PER_S: u64 = 10;

/// In which order apps are launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchOrder {
    /// Every round over the apps in an order of its own.
    Random,
    /// By number.
    Fixed,
}

/// Which of the runs that a collection freed are dirtied again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReuseOrder {
    /// Any.
    Random,
    /// Those freed last, latest first.
    Lifo,
    /// Those freed first.
    Fifo,
}

/// Apps. Sizes are in pages, shares in thousandths.
#[derive(Clone, PartialEq, Debug)]
pub struct AppsConfig {
    /// Prefix of the names of all files.
    pub name: String,
    /// How many.
    pub apps: u32,
    /// Mapped files of an app of middle size.
    pub mapped: u32,
    /// Its files that are read through descriptors.
    pub read: u32,
    /// Its heap.
    pub heap: u32,
    /// The largest app is so many times as large, the smallest so many times smaller.
    pub spread: f64,
    /// In which order they are launched.
    pub order: LaunchOrder,
    /// From one launch to the next, if nothing is slow.
    pub interval: SimDuration,
    /// What a launch does is spread over this time; at most `interval`.
    pub start: SimDuration,
    /// Launches of a living app that kill it first.
    pub cold: u32,
    /// Apps alive at a time; with more the one launched longest ago is killed. At least 1.
    pub cached: u32,
    /// Touches of mapped files at a start that go in order; the others draw.
    pub sequential: u32,
    /// Exponent of the law by which pages of files are drawn.
    pub theta: f64,
    /// Pages that are read again at a start, always the same ones.
    pub reread: u32,
    /// How often again, at least and at most.
    pub rereads: (u32, u32),
    /// Collections during a start, each in the middle of an equal part of it.
    pub collections: u32,
    /// Part of the heap dirtied so far that a collection frees.
    pub free: u32,
    /// Pages that are freed together.
    pub run: u32,
    /// Part of the freed runs that is dirtied again.
    pub reuse: u32,
    /// Which of them.
    pub reuse_order: ReuseOrder,
    /// Within which time.
    pub reuse_within: SimDuration,
    /// Part of heap and mapped files that a warm launch touches.
    pub resume: u32,
    /// How long an app goes on in the background.
    pub background: SimDuration,
    /// Part of heap and files that it then touches in a second.
    pub background_touch: u32,
    /// When, from its going there, it is trimmed.
    pub trim_after: SimDuration,
    /// Part of its heap that trimming frees; 0: none.
    pub trim: u32,
    /// Measured windows.
    pub windows: u32,
    /// Records (launches), or a time.
    pub end: End,
}

impl AppsConfig {
    /// One workload. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        assert!((1..32_768).contains(&self.apps), "apps: must be from 1 to 32767");
        assert!(
            self.mapped > 0 && self.read > 0 && self.heap > 0,
            "mapped, read, heap: must be at least 1"
        );
        assert!((1.0..=1000.0).contains(&self.spread), "spread: must be from 1 to 1000");
        let shares = [
            self.cold,
            self.sequential,
            self.reread,
            self.free,
            self.reuse,
            self.resume,
            self.background_touch,
            self.trim,
        ];
        assert!(shares.iter().all(|s| *s <= 1000), "shares: must be at most 1000");
        assert!(self.cached > 0, "cached: must be at least 1");
        assert!(self.run > 0, "run: must be at least 1");
        assert!(self.rereads.0 <= self.rereads.1, "rereads: bounds must be in order");
        assert!(self.start <= self.interval, "start: must be at most interval");
        assert!(self.interval >= STEP, "interval: must be at least 100 ms");
        pace::threads((1, self.windows, self.end, None), |_| Phone {
            config: self.clone(),
            apps: (0..self.apps).map(|i| App::new(self, i)).collect(),
            round: Vec::new(),
            launches: 0,
            step: 0,
            reuses: Vec::new(),
        })
    }

    /// How many times as large as the middle app `i` is.
    fn factor(&self, i: u32) -> f64 {
        let place = Scatter::new(self.apps.into()).map(i);
        let of_way = (f64::from(place) + 0.5) / f64::from(self.apps);
        self.spread.powf(2.0 * of_way - 1.0)
    }
}

fn steps(time: SimDuration) -> u64 {
    time.as_nanos() / STEP.as_nanos()
}

/// A part in thousandths.
fn part(of: u64, permille: u32) -> u64 {
    of * u64::from(permille) / 1000
}

/// How much of `total` falls on step `i` of `n`.
fn on_step(total: u64, i: u64, n: u64) -> std::ops::Range<u32> {
    let to = |i: u64| (u128::from(total) * u128::from(i) / u128::from(n)) as u32;
    to(i)..to(i + 1)
}

/// What a run of the heap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HeapRun {
    Untouched,
    Dirty,
    Freed,
}

struct App {
    number: u16,
    mapped: u32,
    read: u32,
    heap: u32,
    /// The law over its mapped files and the one over the others.
    laws: (Arc<PageSampler>, Arc<PageSampler>),
    alive: bool,
    runs: Vec<HeapRun>,
    /// Number of its last launch.
    launched: u64,
    /// Steps since it went to the background; none in front, or before the first launch.
    since: Option<u64>,
}

impl App {
    fn new(c: &AppsConfig, i: u32) -> App {
        let factor = c.factor(i);
        let size = |pages: u32| ((f64::from(pages) * factor).round() as u32).max(1);
        let (mapped, read, heap) = (size(c.mapped), size(c.read), size(c.heap));
        let law = |pages| Arc::new(PageSampler::new(pages, c.theta, RankMap::Scatter));
        App {
            number: i as u16,
            mapped,
            read,
            heap,
            laws: (law(mapped), law(read)),
            alive: false,
            runs: vec![HeapRun::Untouched; heap.div_ceil(c.run) as usize],
            launched: 0,
            since: None,
        }
    }
    fn heap_region(&self) -> RegionId {
        RegionId(2 * self.number)
    }
    fn mapped_region(&self) -> RegionId {
        RegionId(2 * self.number + 1)
    }
    fn mapped_file(&self) -> FileSlot {
        FileSlot(2 * self.number)
    }
    fn read_file(&self) -> FileSlot {
        FileSlot(2 * self.number + 1)
    }

    fn map(&mut self, ops: &mut Vec<Op>) {
        let flags = VmaFlags::default();
        let kind = MapKind::File { file: self.mapped_file(), offset: 0, shared: false };
        let heap = (self.heap_region(), self.heap, MapKind::Anon);
        for (region, pages, kind) in [heap, (self.mapped_region(), self.mapped, kind)] {
            ops.push(Op::Mmap { region, pages, kind, flags, at: None });
        }
        self.alive = true;
    }
    fn kill(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::Munmap { region: self.heap_region() });
        ops.push(Op::Munmap { region: self.mapped_region() });
        self.runs.fill(HeapRun::Untouched);
        (self.alive, self.since) = (false, None);
    }
    /// Pages of run `run`: its first, and how many.
    fn pages_of(&self, run: usize, size: u32) -> (u32, u32) {
        let first = run as u32 * size;
        (first, size.min(self.heap - first))
    }
    fn heap_op(&self, first: u32, count: u32, write: bool) -> Op {
        Op::Access(Run { region: self.heap_region(), write, first, count })
    }
    fn touch_mapped(&self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let first = self.laws.0.sample(rng);
        ops.push(Op::Access(Run { region: self.mapped_region(), write: false, first, count: 1 }));
    }
    /// `permille` of the dirty runs, in the order in which they are drawn.
    fn draw_runs(&self, permille: u32, rng: &mut Rng) -> Vec<usize> {
        let is_dirty = |i: &usize| self.runs[*i] == HeapRun::Dirty;
        let mut dirty: Vec<usize> = (0..self.runs.len()).filter(is_dirty).collect();
        rng.shuffle(&mut dirty);
        dirty.truncate(part(dirty.len() as u64, permille) as usize);
        dirty
    }
    /// Gives runs back.
    fn free(&mut self, which: &[usize], size: u32, ops: &mut Vec<Op>) {
        for &i in which {
            self.runs[i] = HeapRun::Freed;
            let (first, count) = self.pages_of(i, size);
            let (region, advice) = (self.heap_region(), Advice::Free);
            ops.push(Op::Madvise { region, first, count, advice });
        }
    }
}

/// A freed run that is to be dirtied again.
struct Reuse {
    at: u64,
    app: usize,
    /// The launch that it belongs to: a later one has another heap.
    launch: u64,
    run: usize,
}

struct Phone {
    config: AppsConfig,
    apps: Vec<App>,
    /// Apps that are still to be launched in this round, the next one last.
    round: Vec<usize>,
    launches: u64,
    /// Steps since the beginning.
    step: u64,
    reuses: Vec<Reuse>,
}

impl Phone {
    fn next_app(&mut self, rng: &mut Rng) -> usize {
        if self.round.is_empty() {
            self.round = (0..self.apps.len()).rev().collect();
            if self.config.order == LaunchOrder::Random {
                rng.shuffle(&mut self.round);
            }
        }
        self.round.pop().expect("at least one app")
    }

    fn launch(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let front = self.next_app(rng);
        self.launches += 1;
        ops.push(Op::RecordBegins);
        let cold = rng.below(1000) < u64::from(self.config.cold) || !self.apps[front].alive;
        if cold && self.apps[front].alive {
            self.apps[front].kill(ops);
        }
        (self.apps[front].launched, self.apps[front].since) = (self.launches, None);
        if cold {
            self.apps[front].map(ops);
            self.limit(ops);
        }
        let n = steps(self.config.start).max(1);
        let plan = Plan::new(&self.config, &self.apps[front], cold, n, rng);
        for i in 0..steps(self.config.interval) {
            if i < n {
                plan.step(&mut self.apps[front], &self.config, i, rng, ops);
            }
            if cold && i < n && plan.collects(&self.config, i) {
                self.collect(front, rng, ops);
            }
            if i + 1 == n {
                ops.push(Op::Records(1));
            }
            self.reuse(ops);
            if i.is_multiple_of(STEPS_PER_S) {
                self.background(rng, ops);
            }
            ops.push(Op::Sleep(STEP));
            self.step += 1;
        }
        self.apps[front].since = Some(0);
    }

    /// Kills apps while too many are alive.
    fn limit(&mut self, ops: &mut Vec<Op>) {
        while self.apps.iter().filter(|a| a.alive).count() > self.config.cached as usize {
            let oldest = self.apps.iter_mut().filter(|a| a.alive).min_by_key(|a| a.launched);
            oldest.expect("one is alive").kill(ops);
        }
    }

    fn collect(&mut self, app: usize, rng: &mut Rng, ops: &mut Vec<Op>) {
        let c = &self.config;
        let a = &mut self.apps[app];
        let mut freed = a.draw_runs(c.free, rng);
        a.free(&freed, c.run, ops);
        match c.reuse_order {
            ReuseOrder::Random => rng.shuffle(&mut freed),
            ReuseOrder::Lifo => freed.reverse(),
            ReuseOrder::Fifo => {}
        }
        freed.truncate(part(freed.len() as u64, c.reuse) as usize);
        let (n, within) = (freed.len() as u64, steps(c.reuse_within).max(1));
        self.reuses.extend(freed.into_iter().zip(0..).map(|(run, k)| Reuse {
            at: self.step + 1 + within * k / n,
            app,
            launch: a.launched,
            run,
        }));
    }

    /// Dirties what is due.
    fn reuse(&mut self, ops: &mut Vec<Op>) {
        let (apps, now, size) = (&mut self.apps, self.step, self.config.run);
        self.reuses.retain(|r| {
            let app = &mut apps[r.app];
            let same = app.alive && app.launched == r.launch;
            if same && r.at <= now && app.runs[r.run] == HeapRun::Freed {
                app.runs[r.run] = HeapRun::Dirty;
                let (first, count) = app.pages_of(r.run, size);
                ops.push(app.heap_op(first, count, true));
            }
            same && r.at > now
        });
    }

    /// A second of the apps in the background.
    fn background(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let c = &self.config;
        let (until, trim_at) = (steps(c.background), steps(c.trim_after) / STEPS_PER_S);
        for a in self.apps.iter_mut().filter(|a| a.alive) {
            let Some(since) = a.since.filter(|s| *s < until) else { continue };
            a.since = Some(since + STEPS_PER_S);
            let second = since / STEPS_PER_S;
            let touches = |pages: u32| {
                let upto = |s: u64| part(u64::from(pages) * s, c.background_touch);
                upto(second + 1) - upto(second)
            };
            for _ in 0..touches(a.heap) {
                let page = rng.below(a.heap.into()) as u32;
                if a.runs[(page / c.run) as usize] == HeapRun::Dirty {
                    ops.push(a.heap_op(page, 1, false));
                }
            }
            (0..touches(a.mapped)).for_each(|_| a.touch_mapped(rng, ops));
            for _ in 0..touches(a.read) {
                let first = a.laws.1.sample(rng);
                ops.push(Op::Read { file: a.read_file(), first, count: 1 });
            }
            if second == trim_at && c.trim > 0 {
                let runs = a.draw_runs(c.trim, rng);
                a.free(&runs, c.run, ops);
            }
        }
    }
}

/// What the steps of one launch do.
struct Plan {
    steps: u64,
    cold: bool,
    /// By step: pages that are read again.
    rereads: Vec<Vec<u32>>,
    /// Runs of the heap that a warm launch touches.
    runs: Vec<usize>,
}

impl Plan {
    fn new(c: &AppsConfig, app: &App, cold: bool, steps: u64, rng: &mut Rng) -> Plan {
        let mut rereads = vec![Vec::new(); steps as usize];
        let often = part(app.read.into(), c.reread) as u32;
        let place = Scatter::keyed(app.read.into(), app.number.into());
        for page in (0..app.read).filter(|p| cold && place.map(*p) < often) {
            let times = c.rereads.0 + rng.below(u64::from(c.rereads.1 - c.rereads.0) + 1) as u32;
            let first = u64::from(page) * steps / u64::from(app.read);
            for _ in 0..times {
                rereads[(first + rng.below(steps - first)) as usize].push(page);
            }
        }
        let runs = if cold { Vec::new() } else { app.draw_runs(c.resume, rng) };
        Plan { steps, cold, rereads, runs }
    }

    /// Whether garbage is collected after step `i`: at the middles of equal parts.
    fn collects(&self, c: &AppsConfig, i: u64) -> bool {
        let n = u64::from(c.collections);
        (0..n).any(|k| (2 * k + 1) * self.steps / (2 * n) == i)
    }

    fn step(&self, a: &mut App, c: &AppsConfig, i: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        if !self.cold {
            for k in on_step(self.runs.len() as u64, i, self.steps) {
                let (first, count) = a.pages_of(self.runs[k as usize], c.run);
                ops.push(a.heap_op(first, count, false));
            }
            let touches = part(a.mapped.into(), c.resume);
            on_step(touches, i, self.steps).for_each(|_| a.touch_mapped(rng, ops));
            return;
        }
        let in_order = part(a.mapped.into(), c.sequential) as u32;
        let pages = on_step(a.mapped.into(), i, self.steps);
        let run = pages.start..pages.end.min(in_order);
        if !run.is_empty() {
            let (region, first) = (a.mapped_region(), run.start);
            ops.push(Op::Access(Run { region, write: false, first, count: run.len() as u32 }));
        }
        (pages.start.max(in_order)..pages.end).for_each(|_| a.touch_mapped(rng, ops));
        let pages = on_step(a.read.into(), i, self.steps);
        if !pages.is_empty() {
            let (file, first) = (a.read_file(), pages.start);
            ops.push(Op::Read { file, first, count: pages.len() as u32 });
        }
        let again = |&first: &u32| Op::Read { file: a.read_file(), first, count: 1 };
        ops.extend(self.rereads[i as usize].iter().map(again));
        let pages = on_step(a.heap.into(), i, self.steps);
        if !pages.is_empty() {
            ops.push(a.heap_op(pages.start, pages.len() as u32, true));
            // A run counts as dirty when its last page is.
            let last = |run: usize| (run as u32 + 1) * c.run;
            for run in (pages.start / c.run) as usize..a.runs.len() {
                if last(run).min(a.heap) <= pages.end && a.runs[run] == HeapRun::Untouched {
                    a.runs[run] = HeapRun::Dirty;
                }
            }
        }
    }
}

impl Body for Phone {
    fn files(&self) -> Vec<FileSpec> {
        let file = |a: &App, kind: &str, pages| FileSpec {
            name: format!("{}/{kind}{}", self.config.name, a.number),
            pages,
        };
        let of = |a: &App| [file(a, "mapped", a.mapped), file(a, "read", a.read)];
        self.apps.iter().flat_map(of).collect()
    }
    fn record(&self) -> Option<&'static str> {
        Some("launch")
    }
    fn set_up(&mut self, _ops: &mut Vec<Op>) {}
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        (0..units).for_each(|_| self.launch(rng, ops));
    }
    fn batch(&self) -> (u64, u64) {
        // A launch is some hundreds to thousands of operations.
        (1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use std::collections::BTreeSet;

    fn config() -> AppsConfig {
        AppsConfig {
            name: "p".into(),
            apps: 3,
            mapped: 100,
            read: 50,
            heap: 640,
            spread: 1.0,
            order: LaunchOrder::Fixed,
            interval: SimDuration::from_secs(10),
            start: SimDuration::from_secs(6),
            cold: 0,
            cached: 3,
            sequential: 700,
            theta: 0.8,
            reread: 200,
            rereads: (3, 3),
            collections: 0,
            free: 500,
            run: 64,
            reuse: 400,
            reuse_order: ReuseOrder::Random,
            reuse_within: SimDuration::from_secs(1),
            resume: 400,
            background: SimDuration::ZERO,
            background_touch: 10,
            trim_after: SimDuration::from_secs(10),
            trim: 0,
            windows: 1,
            end: End::Work(1),
        }
    }

    fn ops(c: &AppsConfig) -> Vec<Op> {
        harness::all(c.workloads()[0].as_mut(), Ticking(0))
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
        let c = AppsConfig { collections: 1, heap: 1280, ..config() };
        for order in [ReuseOrder::Random, ReuseOrder::Lifo, ReuseOrder::Fifo] {
            let all = ops(&AppsConfig { reuse_order: order, ..c.clone() });
            let at =
                all.iter().position(|o| matches!(o, Op::Madvise { .. })).expect("a collection");
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
            background: SimDuration::from_secs(3),
            trim_after: SimDuration::from_secs(2),
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
        let files = c.workloads()[0].files();
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
}
