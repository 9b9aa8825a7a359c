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
//! that were given back and are only not yet dropped, files that are mapped, files that are read
//! and never mapped, and pages that will never be used again. Which of these to take is what
//! policies disagree about. One launch is one record, from its beginning until its work is done.
//!
//! Apps differ in size: their sizes are in geometric progression around the one that is given, from
//! `1/spread` to `spread` times as much, and scattered over the apps. It is the same progression in
//! every run. A size that follows a law is drawn once for each app, from the seed, before the run.
//!
//! Apps are killed by number (`cached`, as Android limits cached processes), by chance (`cold`), and
//! by a killer that reads memory pressure (`killer`), which looks before each step. The killer's
//! victim is the app launched longest ago, never the one in front.
//!
//! The user waits: steps of a start come every tenth of a second of sleep, and what takes
//! longer delays all that follows.
//!
//! Deviations. There is no operation that forks, so all apps are mappings of one process and one
//! thread does what they do: nothing happens at the same time, and page tables of idle apps
//! are walked as those of busy ones. Apps share no files and no memory (no zygote).

mod app;
mod killer;
mod launch;

use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::sampler::Scatter;
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{FileSpec, Op, Workload, WorkloadCx};

use app::{App, HeapRun};
use killer::Killer;
use launch::Plan;

pub use killer::WINDOW as PRESSURE_WINDOW;

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

/// Apps. Sizes are in pages, shares in thousandths, times that vary in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct AppsConfig {
    /// Prefix of the names of all files.
    pub name: String,
    /// Number of apps.
    pub apps: u32,
    /// Mapped files of an app of middle size; a law draws once for each app.
    pub mapped: Varying,
    /// Its files that are read through descriptors.
    pub read: Varying,
    /// Its heap.
    pub heap: Varying,
    /// The largest app is this many times as large, the smallest as many times smaller. It says
    /// nothing of sizes that follow a law.
    pub spread: f64,
    /// In which order they are launched.
    pub order: LaunchOrder,
    /// From one launch to the next, if nothing is slow.
    pub interval: Varying,
    /// Time over which the work of a launch is spread; never more than `interval`.
    pub start: SimDuration,
    /// Launches of a living app that kill it first.
    pub cold: u32,
    /// Apps alive at a time; with more the one launched longest ago is killed. At least 1.
    pub cached: u32,
    /// Time in which some thread is stalled on memory, within [`PRESSURE_WINDOW`], that kills an app
    /// in the background; at most the window, 0: none does.
    pub partial_stall: SimDuration,
    /// The same of time in which all threads are.
    pub complete_stall: SimDuration,
    /// Touches of mapped files at a start that go in order; the others draw.
    pub sequential: u32,
    /// Exponent of the law by which pages of files are drawn.
    pub theta: f64,
    /// Pages that are read again at a start, always the same ones.
    pub reread: u32,
    /// Number of further reads, at least and at most.
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
    /// Within which time; a law draws for each collection.
    pub reuse_within: Varying,
    /// Part of heap and mapped files that a warm launch touches.
    pub resume: u32,
    /// Time that an app goes on in the background; a law draws each time that it goes there.
    pub background: Varying,
    /// Part of heap and files that it then touches in a second.
    pub background_touch: u32,
    /// When, from its going there, it is trimmed; the same.
    pub trim_after: Varying,
    /// Part of its heap that trimming frees; 0: none.
    pub trim: u32,
    /// Measured windows.
    pub windows: u32,
    /// Records (launches), or a time.
    pub end: End,
}

impl AppsConfig {
    /// One workload; `seed` draws the sizes that follow a law. Panics on a value that its field
    /// does not allow.
    pub fn workloads(&self, seed: u64) -> Vec<Box<dyn Workload>> {
        assert!((1..32_768).contains(&self.apps), "apps: must be from 1 to 32767");
        for size in [self.mapped, self.read, self.heap] {
            assert!(size.least() > 0, "mapped, read, heap: must be at least 1");
            assert!(size.most() < 1 << 32, "mapped, read, heap: must be below 2^32");
        }
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
        let longest = self.partial_stall.max(self.complete_stall);
        assert!(longest <= PRESSURE_WINDOW, "partial_stall, complete_stall: must be at most 1 s");
        assert!(self.run > 0, "run: must be at least 1");
        assert!(self.rereads.0 <= self.rereads.1, "rereads: bounds must be in order");
        let least = SimDuration::from_nanos(self.interval.least());
        assert!(self.start <= least, "start: must be at most interval");
        assert!(least >= STEP, "interval: must be at least 100 ms");
        let pages = self.pages(seed);
        pace::threads((1, self.windows, self.end, None), |_| Phone {
            config: self.clone(),
            apps: (0..self.apps).map(|i| App::new(self, i, pages[i as usize])).collect(),
            interval: self.interval.source("interval"),
            reuse_within: self.reuse_within.source("reuse-within"),
            background: self.background.source("background"),
            trim_after: self.trim_after.source("trim-after"),
            round: Vec::new(),
            launches: 0,
            step: 0,
            reuses: Vec::new(),
            launch: None,
            killer: Killer::new(self.partial_stall, self.complete_stall),
        })
    }

    /// Pages of its mapped files, of those that are read, and of its heap, for each app; `seed` draws the
    /// sizes that follow a law.
    pub fn pages(&self, seed: u64) -> Vec<[u32; 3]> {
        let [mapped, read, heap] =
            [("mapped", self.mapped), ("read", self.read), ("heap", self.heap)]
                .map(|(key, size)| self.sizes(key, size, seed));
        (0..mapped.len()).map(|i| [mapped[i], read[i], heap[i]]).collect()
    }

    /// One size of each app: by its place in the progression, or drawn.
    fn sizes(&self, key: &str, size: Varying, seed: u64) -> Vec<u32> {
        let mut rng = Rng::for_purpose(seed, &format!("apps/{}/{key}", self.name));
        let of = |i| match size {
            Varying::Always(pages) => ((pages as f64 * self.factor(i)).round() as u32).max(1),
            Varying::Drawn { .. } => size.draw(&mut rng) as u32,
        };
        (0..self.apps).map(of).collect()
    }

    /// Size of app `i` relative to the middle one.
    fn factor(&self, i: u32) -> f64 {
        let place = Scatter::new(self.apps.into()).map(i);
        let of_way = (f64::from(place) + 0.5) / f64::from(self.apps);
        self.spread.powf(2.0 * of_way - 1.0)
    }
}

impl Work for AppsConfig {
    fn threads(&self, seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads(seed))
    }
    fn add_pages(&self, seed: u64, _processes: u32, pages: &mut Pages) {
        for [mapped, read, heap] in self.pages(seed) {
            [mapped, read].into_iter().for_each(|of_file| pages.files(1, of_file.into()));
            [mapped, heap].into_iter().for_each(|of_map| pages.map(of_map.into(), 1));
        }
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(true)
    }
}

fn steps(time: SimDuration) -> u64 {
    time.as_nanos() / STEP.as_nanos()
}

/// The next time, in units of `of_steps` steps: of one that is drawn the nearest number, so that
/// its mean is that of its law, else the whole ones.
fn units(time: &mut Source, of_steps: u64, thread: &Rng) -> u64 {
    let unit = STEP.as_nanos() * of_steps;
    let more = if is_drawn(time.of()) { unit / 2 } else { 0 };
    (time.draw(thread) + more) / unit
}

fn is_drawn(time: &Varying) -> bool {
    matches!(time, Varying::Drawn { .. })
}

/// A part in thousandths.
fn part(of: u64, permille: u32) -> u64 {
    of * u64::from(permille) / 1000
}

/// Part of `total` that falls on step `i` of `n`.
fn on_step(total: u64, i: u64, n: u64) -> std::ops::Range<u32> {
    let to = |i: u64| (u128::from(total) * u128::from(i) / u128::from(n)) as u32;
    to(i)..to(i + 1)
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
    interval: Source,
    reuse_within: Source,
    background: Source,
    trim_after: Source,
    /// Apps that are still to be launched in this round, the next one last.
    round: Vec<usize>,
    launches: u64,
    /// Steps since the beginning.
    step: u64,
    reuses: Vec<Reuse>,
    /// The one that goes on.
    launch: Option<Launch>,
    killer: Option<Killer>,
}

/// A launch, from its beginning to that of the next.
struct Launch {
    front: usize,
    cold: bool,
    plan: Plan,
    /// Steps of its work, steps to the next launch, and those that are done.
    n: u64,
    until: u64,
    done: u64,
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

    fn begin(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) -> Launch {
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
        Launch { front, cold, plan, n, until: units(&mut self.interval, 1, rng), done: 0 }
    }

    /// The next step of a launch; afterwards the launch, unless that was its last one.
    fn step(&mut self, mut l: Launch, rng: &mut Rng, ops: &mut Vec<Op>) -> Option<Launch> {
        let (front, i, n) = (l.front, l.done, l.n);
        if i < n {
            l.plan.step(&mut self.apps[front], &self.config, i, rng, ops);
        }
        if l.cold && i < n && l.plan.collects(&self.config, i) {
            self.collect(front, rng, ops);
        }
        if i + 1 == n {
            ops.push(Op::Records(1));
        }
        self.reuse(ops);
        // Where launches are drawn times apart, seconds are those since the beginning.
        let second = if is_drawn(self.interval.of()) { self.step } else { i };
        if second.is_multiple_of(STEPS_PER_S) {
            self.background(rng, ops);
        }
        ops.push(Op::Sleep(STEP));
        self.step += 1;
        l.done += 1;
        if l.done < l.until {
            return Some(l);
        }
        self.apps[front].since = Some(0);
        self.apps[front].background = self.times(rng);
        None
    }

    /// Number of steps that an app goes on in the background, and the second in which it is
    /// trimmed.
    fn times(&mut self, thread: &Rng) -> (u64, u64) {
        let until = match is_drawn(self.background.of()) {
            true => units(&mut self.background, STEPS_PER_S, thread) * STEPS_PER_S,
            false => units(&mut self.background, 1, thread),
        };
        (until, units(&mut self.trim_after, STEPS_PER_S, thread))
    }

    /// Kills apps while too many are alive. The one in front was launched last.
    fn limit(&mut self, ops: &mut Vec<Op>) {
        while self.apps.iter().filter(|a| a.alive).count() > self.config.cached as usize {
            let oldest = self.apps.iter_mut().filter(|a| a.alive).min_by_key(|a| a.launched);
            oldest.expect("one is alive").kill(ops);
        }
    }

    /// Kills an app in the background, if there is one and the pressure asks for it.
    fn relieve(&mut self, cx: &WorkloadCx<'_>, ops: &mut Vec<Op>) {
        if self.killer.as_mut().is_some_and(|k| k.looks(cx)) {
            let behind = self.apps.iter_mut().filter(|a| a.alive && a.since.is_some());
            if let Some(oldest) = behind.min_by_key(|a| a.launched) {
                oldest.kill(ops);
            }
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
        let within = units(&mut self.reuse_within, 1, rng).max(1);
        let n = freed.len() as u64;
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
        for a in self.apps.iter_mut().filter(|a| a.alive) {
            let (until, trim_at) = a.background;
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
        for _ in 0..units {
            let mut launch = Some(self.begin(rng, ops));
            while self.killer.is_none()
                && let Some(l) = launch
            {
                launch = self.step(l, rng, ops);
            }
            self.launch = launch;
        }
    }
    /// With a killer, steps come one by one.
    fn go_on(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        if let Some(l) = self.launch.take() {
            self.relieve(cx, ops);
            self.launch = self.step(l, rng, ops);
        }
    }
    fn batch(&self) -> (u64, u64) {
        // A launch is some hundreds to thousands of operations.
        (1, 1)
    }
}

#[cfg(test)]
mod tests;
