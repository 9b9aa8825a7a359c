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
use crate::named::{Given, Misfit, Named, TaskOf, in_order};
use crate::sampler::Scatter;
use crate::since::{check_advice, since};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{FileSpec, Op, Workload, WorkloadCx};
use mmsim_core::{settings, words};

use app::{App, HeapRun};
use killer::Killer;
use launch::Plan;

pub use killer::WINDOW as PRESSURE_WINDOW;

/// Time from one step to the next, and steps of a second.
const STEP: SimDuration = SimDuration::from_millis(100);
const STEPS_PER_S: u64 = 10;

words! {
    /// In which order apps are launched.
    LaunchOrder {
        Random = "random", "Every round over the apps in an order of its own.";
        Fixed = "fixed", "By number.";
    }
    /// Which of the runs that a collection freed are dirtied again.
    ReuseOrder {
        Random = "random", "Any.";
        Lifo = "lifo", "Those freed last, latest first.";
        Fifo = "fifo", "Those freed first.";
    }
}

settings! {
    /// Apps. Sizes are in pages, shares in thousandths, times that vary in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AppsConfig {
        /// launches
        end as "records": End = End::Work(0),
            .range(1, MANY).required().or("duration").auto("`duration` decides");
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// how many apps there are
        apps: u32 = 0, .range(1, 32_767).required();
        /// mapped files of an app; a law is of sizes of apps, each drawn once
        mapped: Varying = Varying::Always(0), .pages(1).required();
        /// files that it reads through descriptors; the same
        read: Varying = Varying::Always(0), .pages(1).required();
        /// its heap; the same
        heap: Varying = Varying::Always(0), .pages(1).required();
        /// the largest app is this many times as large as the middle one, the smallest as many
        /// times smaller; sizes with a law have no part in it
        spread: f64 = 2.0, .reals(1.0, 1000.0);
        /// order of the launches: every round over the apps anew, or by number
        order: LaunchOrder = LaunchOrder::Random;
        /// from one launch to the next; at least 100ms, and at least `launch`: what a law has below
        /// becomes that
        interval: Varying = Varying::Always(10_000_000_000);
        /// a launch does its work over this time
        start as "launch": SimDuration = SimDuration::from_secs(6);
        /// launches of a living app, of 1000, that kill it first
        cold as "cold-permille": u32 = 500, .range(0, 1000);
        /// apps alive at a time; beyond it the one launched longest ago is killed
        cached: u32 = u32::MAX, .range(1, 32_767).auto("all apps");
        /// time within a second in which some thread is stalled on memory, that kills the app in
        /// the background launched longest ago; from 1us to 1s. Android's
        /// `ro.lmk.psi_partial_stall_ms`: 70ms, with little memory 200ms
        partial_stall as "psi-partial-stall": SimDuration = SimDuration::ZERO, .auto("no killer");
        /// the same, in which all threads are. Android's `ro.lmk.psi_complete_stall_ms`: 700ms
        complete_stall as "psi-complete-stall": SimDuration = SimDuration::ZERO, .auto("no killer");
        /// touches of mapped files at a start that go in order; the others draw
        sequential as "sequential-permille": u32 = 700, .range(0, 1000);
        /// exponent of the law by which pages of files are drawn
        theta as "zipf": f64 = 0.8, .reals(0.0, 10.0);
        /// pages of the files it reads that a start reads again, always the same ones
        reread as "reread-permille": u32 = 200, .range(0, 1000);
        /// how often again, at least
        reread_min as "reread-min": u32 = 1, .range(0, 1000);
        /// and at most
        reread_max as "reread-max": u32 = 4, .range(0, 1000);
        /// garbage collections during a start
        collections: u32 = 2, .range(0, 100);
        /// part of the heap dirtied so far that each gives back with `MADV_FREE` (from kernel 5.5
        /// on)
        free as "free-permille": u32 = 350, .range(0, 1000);
        /// pages that are given back together
        run as "free-run": u32 = 64, .pages(1);
        /// part of what was given back that is dirtied again
        reuse as "reuse-permille": u32 = 250, .range(0, 1000);
        /// which of it: any, what was given back last, or first
        reuse_order as "reuse-order": ReuseOrder = ReuseOrder::Random;
        /// how soon; a law is drawn for each collection
        reuse_within as "reuse-within": Varying = Varying::Always(1_000_000_000);
        /// part of heap and mapped files that the launch of a living app touches
        resume as "resume-permille": u32 = 400, .range(0, 1000);
        /// how long an app goes on behind the next ones; a law is drawn each time that it goes
        /// there
        background: Varying = Varying::Always(30_000_000_000);
        /// part of heap and files that it then touches in a second
        background_touch as "background-permille": u32 = 5, .range(0, 1000);
        /// when, after going there, it is trimmed; the same
        trim_after as "trim-after": Varying = Varying::Always(10_000_000_000);
        /// part of its heap that trimming gives back; 0 is never
        trim as "trim-permille": u32 = 200, .range(0, 1000);
    }
    more {
        /// instead of `records`: how long
        end as "duration": SimDuration, after "records", .lasting().auto("`records` decides");
    }
    with {
        /// Prefix of the names of all files.
        name: String = String::new();
    }
}

/// `apps`.
pub const APPS: Named<AppsConfig> = Named {
    about: "apps launched one after the other, as on a phone: heaps, files, MADV_FREE",
    doc: "Apps that are launched one after the other, as on a phone. A launch starts an app or \
          brings a living one back to the front, and is a record. An app that starts touches \
          mapped files, reads others, and fills a heap. Collections give parts of the heap back \
          with `MADV_FREE`. Sizes are those of the middle app. Give `records` or `duration`.",
    rows: AppsConfig::ROWS,
    start: || AppsConfig::of(Kernel::LAST),
    finish: AppsConfig::finish,
};

impl AppsConfig {
    fn finish(&mut self, task: &TaskOf<'_>, given: &dyn Given) -> Result<(), Misfit> {
        self.name = task.name.to_string();
        let apps = self.apps;
        for (key, size) in
            [("mapped", &mut self.mapped), ("read", &mut self.read), ("heap", &mut self.heap)]
        {
            *size = size_of_app(key, *size, apps, self.spread)?;
        }
        self.interval = interval(given, self.interval, self.start)?;
        for (key, stall) in
            [("psi-partial-stall", self.partial_stall), ("psi-complete-stall", self.complete_stall)]
        {
            if given.has(key) {
                check_stall(key, stall, task.kernel)?;
            }
        }
        let rereads = (("reread-min", self.reread_min), ("reread-max", self.reread_max));
        in_order(given, rereads.0, rereads.1, |count| count)?;
        for (key, part) in [("free-permille", self.free), ("trim-permille", self.trim)] {
            // A default has no place of its own.
            let key = if given.is_default(key) { "workload" } else { key };
            let none = "free-permille = 0 and trim-permille = 0";
            if part > 0 {
                check_advice("free", task.kernel, none)
                    .map_err(|(found, write)| Misfit::new(key, found, write))?;
            }
        }
        for key in ["psi-partial-stall", "psi-complete-stall"] {
            if given.has(key) && self.cached.min(apps) == 1 {
                let by = if apps == 1 { "apps" } else { "cached" };
                let found = format!("with `{by} = 1` no app is in the background to be killed");
                let write = format!("a larger `{by}`, or leave `{key}` out");
                return Err(Misfit::new(key, found, write));
            }
        }
        if [self.mapped, self.read, self.heap].iter().all(is_drawn) && !given.is_default("spread") {
            let found = "laws say how sizes differ";
            return Err(Misfit::new("spread", found, "no `spread`, or a size without a law"));
        }
        Ok(())
    }
}

/// From one launch to the next: never less than a launch takes.
fn interval(given: &dyn Given, interval: Varying, start: SimDuration) -> Result<Varying, Misfit> {
    match interval {
        Varying::Always(time) => {
            let time = SimDuration::from_nanos(time);
            in_order(given, ("launch", start), ("interval", time), |time| time)?;
            if time < STEP {
                let found = format!("{time} is too short");
                return Err(Misfit::new("interval", found, "at least \"100ms\""));
            }
            Ok(interval)
        }
        Varying::Drawn { law, min, max } => {
            let least = start.max(STEP);
            if max < least.as_nanos() {
                let max = SimDuration::from_nanos(max);
                let found =
                    format!("no value of the law is more than {max}, and a launch takes {least}");
                return Err(Misfit::new("interval", found, "a larger `max`, or change `launch`"));
            }
            Ok(Varying::Drawn { law, min: min.max(least.as_nanos()), max })
        }
    }
}

/// A size of apps: none may be so large that all of them have no numbers together.
fn size_of_app(
    key: &'static str,
    size: Varying,
    apps: u32,
    spread: f64,
) -> Result<Varying, Misfit> {
    match size {
        Varying::Always(pages) => {
            // No size of an app is more than `spread` times this.
            if pages as f64 * spread * f64::from(apps) > f64::from(u32::MAX) {
                let found = format!("{} for each of {apps} apps is too much", show_pages(pages));
                return Err(Misfit::new(key, found, "a smaller size, or fewer apps"));
            }
            Ok(size)
        }
        Varying::Drawn { law, min, max } => {
            let most = u64::from(u32::MAX / apps.max(1));
            if min > most {
                let least = show_pages(min);
                let found = format!("at least {least} for each of {apps} apps is too much");
                return Err(Misfit::new(key, found, "a smaller `min`, or fewer apps"));
            }
            Ok(Varying::Drawn { law, min, max: max.min(most) })
        }
    }
}

/// A threshold of the killer, which listens to pressure.
fn check_stall(key: &'static str, stall: SimDuration, kernel: Kernel) -> Result<(), Misfit> {
    let pressure = since(Kernel::V5_5, "4.20");
    pressure
        .check(kernel, "pressure to listen to", "leave it out")
        .map_err(|(found, write)| Misfit::new(key, found, write))?;
    if stall < SimDuration::from_micros(1) || stall > PRESSURE_WINDOW {
        let found = format!("{stall} within {PRESSURE_WINDOW} are no threshold");
        let write = "a duration from \"1us\" to \"1s\", or leave it out";
        return Err(Misfit::new(key, found, write));
    }
    Ok(())
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
        assert!(self.reread_min <= self.reread_max, "reread: bounds must be in order");
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

    /// Pages of its mapped files, of those that are read, and of its heap, for each app; `seed`
    /// draws the sizes that follow a law.
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
