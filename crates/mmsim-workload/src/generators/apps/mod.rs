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
//! by daemons, such as lmkd. For daemons each living app is a process, with the `oom_score_adj` that
//! Android gives it by its place: the one in front 0, the one before it 700, and those launched
//! before that from 900 on, the more the longer ago. A victim gives its memory back before its next
//! step, at most a tenth of a second later if the phone is not busy.
//!
//! The user waits: steps of a start come every tenth of a second of sleep, and what takes
//! longer delays all that follows.
//!
//! Deviations. There is no operation that forks, so all apps are mappings of one process and one
//! thread does what they do: nothing happens at the same time, and page tables of idle apps
//! are walked as those of busy ones. Apps share no files and no memory (no zygote).

mod app;
mod launch;

use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf, in_order};
use crate::sampler::Scatter;
use crate::since::check_advice;
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{FileSpec, Op, Played, Workload};
use mmsim_core::{settings, words};

use app::{App, HeapRun};
use launch::Plan;

/// Time from one step to the next, and steps of a second.
const STEP: SimDuration = SimDuration::from_millis(100);
const STEPS_PER_S: u64 = 10;

/// `oom_score_adj` of the app in front, of the one before it, and of cached ones: the least, what each
/// has more than the one launched after it, and the most.
///
/// Source: Android 13, ProcessList.java (`FOREGROUND_APP_ADJ`, `PREVIOUS_APP_ADJ`,
/// `CACHED_APP_MIN_ADJ`, `CACHED_APP_IMPORTANCE_LEVELS`, `CACHED_APP_MAX_ADJ`). There cached apps share
/// ten steps; here each has its own, up to the twenty-first.
const FOREGROUND: i16 = 0;
const PREVIOUS: i16 = 700;
const CACHED: usize = 900;
const CACHED_STEP: usize = 5;
const CACHED_MOST: usize = 999;

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
            doomed: Vec::new(),
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
    /// Apps that daemons killed, and whose memory is still there.
    doomed: Vec<u16>,
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
        let alive = self.apps[front].alive;
        if i < n && alive {
            l.plan.step(&mut self.apps[front], &self.config, i, rng, ops);
        }
        if l.cold && i < n && alive && l.plan.collects(&self.config, i) {
            self.collect(front, rng, ops);
        }
        if i + 1 == n && alive {
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
        if alive {
            self.apps[front].since = Some(0);
        }
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

    /// `oom_score_adj` of an app that was launched as the `ago`-th before the one in front.
    fn oom_score_adj(ago: usize) -> i16 {
        match ago {
            0 => FOREGROUND,
            1 => PREVIOUS,
            _ => (CACHED + CACHED_STEP * (ago - 2)).min(CACHED_MOST) as i16,
        }
    }

    /// Unmaps what daemons killed. If that is the app in front, nothing is left to do until the next
    /// launch.
    fn bury(&mut self, ops: &mut Vec<Op>) {
        for number in std::mem::take(&mut self.doomed) {
            let app = &mut self.apps[usize::from(number)];
            if app.alive {
                app.kill(ops);
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
        let file = |a: &App, kind: &str, pages| {
            FileSpec::new(format!("{}/{kind}{}", self.config.name, a.number), pages)
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
            self.bury(ops);
            self.launch = Some(self.begin(rng, ops));
        }
    }
    /// Steps come one by one, since daemons may kill an app between two of them.
    fn go_on(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        if let Some(l) = self.launch.take() {
            self.bury(ops);
            self.launch = self.step(l, rng, ops);
        }
    }
    fn played(&self) -> Vec<Played> {
        let mut living: Vec<&App> = self.apps.iter().filter(|a| a.alive).collect();
        living.sort_by_key(|a| a.launched);
        let front = living.len().saturating_sub(1);
        let of = |(i, a): (usize, &App)| Played {
            number: a.number,
            name: format!("{}/{}", self.config.name, a.number),
            regions: vec![a.heap_region(), a.mapped_region()],
            oom_score_adj: Self::oom_score_adj(front - i),
        };
        let doomed = |a: &(usize, &App)| !self.doomed.contains(&a.1.number);
        living.into_iter().enumerate().filter(doomed).map(of).collect()
    }
    fn kill(&mut self, number: u16) {
        self.doomed.push(number);
    }
    fn batch(&self) -> (u64, u64) {
        // A launch is some hundreds to thousands of operations.
        (1, 1)
    }
}

#[cfg(test)]
mod tests;
