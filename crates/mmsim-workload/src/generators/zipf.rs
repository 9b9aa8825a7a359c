//! Independent draws of pages from a zipf law (uniform with theta 0).
//!
//! The independent reference model: every access is a fresh draw, so recency says
//! something about popularity and nothing else. All threads draw from one law over one
//! region, each with its own random numbers.

use super::memory::{self, Memory, MemoryKind, Populate, SetUp, Syncs};
use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf};
use crate::sampler::{KeptPages, PageSampler, RankMap};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{FileSpec, Op, RegionId, Touch, VmaFlags, Workload};
use mmsim_core::{settings, words};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

words! {
    /// Files of the processes of a task.
    FilesOf {
        Shared = "shared", "One file, which all processes share.";
        Own = "own", "One file each, see [`ZipfConfig::of_process`].";
    }
}

settings! {
    /// A zipf workload. Times are in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ZipfConfig {
        /// exponent: 0 is uniform
        theta: f64 = 0.99, .reals(0.0, 10.0);
        /// size of the region
        pages as "memory": u32 = 0, .pages(1).required();
        /// page accesses of all threads of a process together
        end as "accesses": End = End::Work(0),
            .range(1, MANY).required().or("duration").auto("`duration` decides");
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// writes per 1000 accesses
        write_permille as "write-permille": u32 = 0, .range(0, 1000);
        /// pages that each thread writes to its file from one fsync() to the next; 0: it calls none
        fsync: u32 = 0, .range(0, u32::MAX as u64);
        /// whether popular pages lie scattered or in order of popularity
        map: RankMap = RankMap::Scatter;
        /// what is accessed: anonymous memory, a mapped file, or a file through read()
        kind as "region": MemoryKind = MemoryKind::Anon;
        /// whether the processes of the task have one file together, or one each
        files: FilesOf = FilesOf::Shared;
        /// computing between two accesses
        think: Varying = Varying::Always(0);
        /// time from one arrival to the next at each thread: work begins when it arrives and the
        /// work before is done, and its latency counts from its arrival
        arrival: Option<Varying> = None, .auto("the one before is done");
    }
    more {
        /// instead of `accesses`: how long
        end as "duration": SimDuration, after "accesses", .lasting().auto("`accesses` decides");
    }
    with {
        /// Flags of the mapping.
        flags: VmaFlags = VmaFlags::NONE;
        /// First visit of every page, before the accesses. Usually [`Populate::Write`] for
        /// anonymous memory and [`Populate::Read`] for files.
        populate: Populate = Populate::Write;
        /// Threads.
        threads: u32 = 1;
    }
}

/// `zipf`.
pub const ZIPF: Named<ZipfConfig> = Named {
    about: "single pages by a zipf law: anonymous memory, mapped files or read(2)",
    doc: "Pages of one region by a zipf law, after a first pass that populates it. Give \
          `accesses` or `duration`.",
    rows: ZipfConfig::ROWS,
    start: || ZipfConfig::of(Kernel::LAST),
    finish: ZipfConfig::finish,
};

/// `uniform`: without the exponent.
pub const UNIFORM: Named<ZipfConfig> = Named {
    about: "single pages, all equally likely",
    doc: "All pages of one region with equal chance, after a first pass that populates it. Give \
          `accesses` or `duration`.",
    rows: ZipfConfig::ROWS.split_at(1).1,
    start: || ZipfConfig { theta: 0.0, ..ZipfConfig::of(Kernel::LAST) },
    finish: ZipfConfig::finish,
};

/// Uniform draws over `pages` pages of written anonymous memory: one thread, one window,
/// reads only. Further fields can be changed afterwards.
pub fn uniform(pages: u32, accesses: u64) -> ZipfConfig {
    let (map, end) = (RankMap::Identity, End::Work(accesses));
    ZipfConfig { pages, theta: 0.0, map, end, ..ZipfConfig::of(Kernel::LAST) }
}

impl ZipfConfig {
    fn finish(&mut self, task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        self.kind.name_file(task.name);
        self.threads = task.threads;
        let fills = matches!(self.kind, MemoryKind::Anon | MemoryKind::Shmem(..));
        self.populate = if fills { Populate::Write } else { Populate::Read };
        self.kind.check_fsync(self.fsync, self.write_permille > 0)
    }
}

impl ZipfConfig {
    /// Configuration of process `index`: with [`FilesOf::Own`], on a file `name/index`.
    pub fn of_process(&self, index: usize) -> ZipfConfig {
        let mut config = self.clone();
        match &mut config.kind {
            MemoryKind::FileShared(name)
            | MemoryKind::FilePrivate(name)
            | MemoryKind::FileRead(name)
            | MemoryKind::Shmem(name, _)
                if self.files == FilesOf::Own =>
            {
                *name = format!("{name}/{index}");
            }
            _ => {}
        }
        config
    }

    /// One workload per thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        assert!(self.pages > 0, "pages: must be at least 1");
        assert!(self.write_permille <= 1000, "write_permille: must be at most 1000");
        let sampler = PageSampler::shared(self.pages, self.theta, self.map);
        let memory = Memory { kind: self.kind.clone(), pages: self.pages, flags: self.flags };
        let course = (self.threads, self.windows, self.end, self.arrival);
        pace::threads(course, |_| Draws {
            sampler: Arc::clone(&sampler),
            memory: memory.clone(),
            set_up: SetUp::new(self.populate),
            writes: Writes::new(self.write_permille),
            syncs: Syncs::new(self.fsync),
            think: self.think.source("think"),
        })
    }
}

impl Work for ZipfConfig {
    fn threads(&self, _seed: u64, index: usize) -> Result<Threads, WorkError> {
        Ok(self.of_process(index).workloads())
    }
    fn add_pages(&self, _seed: u64, processes: u32, pages: &mut Pages) {
        if self.files == FilesOf::Shared {
            return self.kind.add_pages(self.pages, pages);
        }
        if self.kind != MemoryKind::Anon {
            pages.files(processes, self.pages.into());
        }
        if !matches!(self.kind, MemoryKind::FileRead(_)) {
            pages.map(self.pages.into(), 1);
        }
    }
    fn accesses(&self) -> u64 {
        if let End::Work(n) = self.end { n } else { 0 }
    }
    fn lasts(&self) -> Option<SimDuration> {
        self.end.after()
    }
    fn is_one_mapping(&self) -> bool {
        true
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(self.kind.maps_file())
    }
    fn has_anon(&self) -> bool {
        self.kind.is_anon(self.write_permille > 0)
    }
    fn is_of_one_size(&self) -> bool {
        self.fsync > 0
    }
}

/// Settings of a workload of which only some pages matter.
#[derive(Clone, Debug)]
pub struct Thin<'a> {
    /// Time of a touch that hits, and of a cached read, in nanoseconds: accesses to other
    /// pages take as long.
    pub hits: [u64; 2],
    /// Where accesses to other pages are counted.
    pub others: &'a Arc<AtomicU64>,
}

impl ZipfConfig {
    /// One workload per thread whose accesses to pages that are not in `kept` are left out, and
    /// their time is computed. `None`: what it does cannot be drawn so.
    pub fn thinned(
        &self,
        kept: impl Iterator<Item = u32>,
        thin: &Thin<'_>,
    ) -> Option<Vec<Box<dyn Workload>>> {
        let think = match self.think {
            Varying::Always(t) => t,
            Varying::Drawn { .. } => return None,
        };
        if self.arrival.is_some() || self.fsync > 0 {
            return None;
        }
        let kept = Arc::new(KeptPages::new(self.pages, self.theta, self.map, kept)?);
        let memory = Memory { kind: self.kind.clone(), pages: self.pages, flags: self.flags };
        let hit = thin.hits[usize::from(!memory.is_mapped())];
        Some(pace::threads((self.threads, self.windows, self.end, None), |_| ThinDraws {
            kept: Arc::clone(&kept),
            memory: memory.clone(),
            set_up: SetUp::new(self.populate),
            writes: Writes::new(self.write_permille),
            think,
            other: hit + think,
            before: None,
            others: Arc::clone(thin.others),
        }))
    }
}

/// Draws of the pages that matter.
struct ThinDraws {
    kept: Arc<KeptPages>,
    memory: Memory,
    set_up: SetUp,
    writes: Writes,
    think: u64,
    /// Time of an access to another page.
    other: u64,
    /// Accesses to other pages before the next one.
    before: Option<u64>,
    others: Arc<AtomicU64>,
}

impl Body for ThinDraws {
    fn files(&self) -> Vec<FileSpec> {
        self.memory.files()
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        self.set_up.step(&self.memory, ops);
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        let compute = |ns: u64| Op::Compute(SimDuration::from_nanos(ns));
        let (mut left, mut others) = (units, 0);
        while left > 0 {
            let before = self.before.take().unwrap_or_else(|| self.kept.others(rng));
            let now = before.min(left);
            others += now;
            left -= now;
            if now > 0 {
                ops.push(compute(now * self.other));
            }
            if left == 0 {
                self.before = Some(before - now);
                break;
            }
            left -= 1;
            let page = self.kept.page(rng);
            ops.push(self.memory.access(page, 1, self.writes.draw(rng)));
            if self.think > 0 {
                ops.push(compute(self.think));
            }
        }
        self.others.fetch_add(others, Ordering::Relaxed);
    }
    fn batch(&self) -> (u64, u64) {
        (65_536, 64)
    }
}

/// Share of accesses that write, in a thousand: a draw from 0 to 999 is below the number if 64
/// random bits are at most this. Where the answer is certain it takes no draw.
#[derive(Clone, Copy, Debug)]
enum Writes {
    Always,
    Never,
    UpTo(u64),
}

impl Writes {
    fn new(permille: u32) -> Self {
        match permille {
            0 => Writes::Never,
            1000.. => Writes::Always,
            n => Writes::UpTo((((u128::from(n) << 64) - 1) / 1000) as u64),
        }
    }
    #[inline(always)]
    fn draw(self, rng: &mut Rng) -> bool {
        match self {
            Writes::UpTo(limit) => rng.next_u64() <= limit,
            certain => matches!(certain, Writes::Always),
        }
    }
}

struct Draws {
    sampler: Arc<PageSampler>,
    memory: Memory,
    set_up: SetUp,
    writes: Writes,
    syncs: Syncs,
    think: Source,
}

impl Draws {
    /// True if nothing comes between two draws.
    fn only_draws(&self) -> bool {
        self.think.of().is_zero() && !self.syncs.on()
    }
}

impl Body for Draws {
    fn files(&self) -> Vec<FileSpec> {
        self.memory.files()
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        self.set_up.step(&self.memory, ops);
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        let (writes, mapped) = (self.writes, self.memory.is_mapped());
        let memory = &self.memory;
        let make = move |page, write| match mapped {
            true => Memory::touch(page, write),
            false => memory.access(page, 1, write),
        };
        if self.only_draws() {
            self.sampler.sample_all(rng, units as usize, ops, |r| writes.draw(r), make);
            return;
        }
        for _ in 0..units {
            let page = self.sampler.sample(rng);
            self.syncs.push(make(page, writes.draw(rng)), ops);
            if !self.think.of().is_zero() {
                ops.push(Op::Compute(self.think.time(rng)));
            }
        }
    }
    fn touch(&mut self, units: u64, rng: &mut Rng, touches: &mut Vec<Touch>) -> Option<RegionId> {
        let (writes, memory) = (self.writes, &self.memory);
        let short = memory.is_mapped() && memory.pages <= Touch::MOST_PAGES;
        if !short || !self.only_draws() {
            return None;
        }
        self.sampler.sample_all(rng, units as usize, touches, |r| writes.draw(r), Touch::new);
        Some(memory::REGION)
    }
    fn batch(&self) -> (u64, u64) {
        (1024, 64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use crate::law::Law;
    use mmsim_core::base::time::SimDuration;
    use mmsim_core::workload::{FileSlot, MapKind, RegionId};

    /// Thinking draws from numbers of its own. The pages are those of a thread that thinks equally
    /// long each time; times have the mean of their law.
    #[test]
    fn thinking_moves_no_access() {
        let mut c = uniform(100, 20_000);
        (c.write_permille, c.think) = (300, Varying::Always(1000));
        let plain = harness::all(c.workloads()[0].as_mut(), Ticking(0));
        let law = Law::Gamma { shape: 2.0, scale: 500.0 };
        c.think = Varying::Drawn { law, min: 0, max: u64::MAX };
        let thinking = harness::all(c.workloads()[0].as_mut(), Ticking(0));
        assert_eq!(harness::touches(&thinking), harness::touches(&plain));
        let times: Vec<u64> = thinking
            .iter()
            .filter_map(|o| if let Op::Compute(d) = o { Some(d.as_nanos()) } else { None })
            .collect();
        assert_eq!(times.len(), 20_000);
        // One standard error is 707 / sqrt(20,000) = 5.
        let mean = times.iter().sum::<u64>() as f64 / 20_000.0;
        assert!((mean - 1000.0).abs() < 25.0, "{mean}");
    }

    /// An open loop asks at instants that do not depend on the thread: the clock may tick as it
    /// likes.
    #[test]
    fn arrivals_do_not_wait_for_the_thread() {
        let mut c = uniform(100, 300);
        let law = Law::Exponential { mean: 1e6 };
        c.arrival = Some(Varying::Drawn { law, min: 0, max: u64::MAX });
        let arrivals = |tick| -> Vec<u64> {
            let ops = harness::all(c.workloads()[0].as_mut(), Ticking(tick));
            let at = |o: &Op| if let Op::Arrived(at) = o { Some(at.0) } else { None };
            let all: Vec<u64> = ops.iter().filter_map(at).collect();
            let waits = ops.iter().filter(|o| matches!(o, Op::SleepUntil(_))).count();
            assert_eq!((all.len(), waits), (300, 300));
            all.iter().map(|at| at - all[0]).collect()
        };
        assert_eq!(arrivals(0), arrivals(5_000_000));
        assert!(arrivals(0).windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn populates_in_order_and_then_draws_the_law() {
        let mut c = uniform(10_000, 200_000);
        (c.theta, c.write_permille, c.windows) = (0.9, 300, 2);
        let mut w = c.workloads();
        let batches = harness::batches(w[0].as_mut(), Ticking(0));
        assert!(batches.iter().all(|b| b.len() <= 1025));
        let ops = batches.concat();
        assert!(matches!(ops[0], Op::Mmap { pages: 10_000, kind: MapKind::Anon, .. }));
        let t = harness::touches(&ops);
        assert_eq!(t.len(), 210_000);
        assert!(t[..10_000].iter().enumerate().all(|(i, t)| *t == (0, i as u32, true)));
        let drawn = &t[10_000..];
        let writes = drawn.iter().filter(|t| t.2).count();
        assert!((58_500..61_500).contains(&writes), "{writes}");
        let sum: f64 = (1..=10_000).map(|k| f64::from(k).powf(-0.9)).sum();
        let hottest = drawn.iter().filter(|t| t.1 == 0).count() as f64;
        assert!((hottest * sum / 200_000.0 - 1.0).abs() < 0.05, "{hottest}");
        assert_eq!(ops.last(), Some(&Op::PhaseEnd(2)));
    }

    #[test]
    fn writes_are_draws_below_their_number() {
        for permille in [0, 1, 300, 999, 1000] {
            let w = Writes::new(permille);
            let (mut a, mut b) = (Rng::for_purpose(1, "w"), Rng::for_purpose(1, "w"));
            for _ in 0..10_000 {
                let certain = permille == 0 || permille == 1000;
                let below = if certain { 0 } else { b.below(1000) };
                assert_eq!(w.draw(&mut a), permille > 0 && below < u64::from(permille));
            }
        }
        // At the edge: the draw is 300 from 300 * 2^64 / 1000 on.
        let Writes::UpTo(limit) = Writes::new(300) else { panic!("not certain") };
        let draw = |x: u64| (u128::from(x) * 1000) >> 64;
        assert_eq!((draw(limit), draw(limit + 1)), (299, 300));
    }

    #[test]
    fn a_file_can_be_read_without_a_mapping() {
        let mut c = uniform(50, 30);
        c.kind = MemoryKind::FileRead("data".into());
        c.populate = Populate::None;
        let mut w = c.workloads();
        assert_eq!(w[0].files(), [FileSpec::new("data", 50)]);
        let ops = harness::all(w[0].as_mut(), Ticking(0));
        assert_eq!(ops.len(), 32);
        assert!(ops[1..31].iter().all(|o| matches!(o, Op::Read { count: 1, .. })));
        c.kind = MemoryKind::FilePrivate("data".into());
        let ops = harness::all(c.workloads()[0].as_mut(), Ticking(0));
        let kind = MapKind::File { file: FileSlot(0), offset: 0, shared: false };
        let flags = VmaFlags::default();
        assert_eq!(ops[0], Op::Mmap { region: RegionId(0), pages: 50, kind, flags, at: None });
    }

    #[test]
    fn thinks_after_each_access() {
        let mut c = uniform(50, 30);
        (c.populate, c.think) = (Populate::None, Varying::Always(7));
        let ops = harness::all(c.workloads()[0].as_mut(), Ticking(0));
        // The mapping, the end of its phase, pairs, the end of theirs.
        assert_eq!(ops.len(), 2 + 60 + 1);
        for pair in ops[2..62].chunks(2) {
            assert!(matches!(pair[0], Op::Access(_)));
            assert_eq!(pair[1], Op::Compute(SimDuration(7)));
        }
    }

    /// By time, batches are small and only the first thread maps.
    #[test]
    fn threads_by_time() {
        let mut c = uniform(50, 0);
        (c.threads, c.end) = (2, End::After(SimDuration::from_millis(3)));
        let mut w = c.workloads();
        let first = harness::batches(w[0].as_mut(), Ticking(1_000_000));
        assert_eq!(first[2].len(), 64);
        let second = harness::all(w[1].as_mut(), Ticking(1_000_000));
        assert_eq!(second[..2], [Op::Barrier, Op::Barrier]);
        assert_eq!(second.len(), 2 + 3 * 64 + 2);
    }
}
