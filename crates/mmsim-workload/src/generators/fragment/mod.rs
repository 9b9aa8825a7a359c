//! A fragmentation machine: takes memory page by page and gives part of it back, so that what
//! stays lies where a law says.
//!
//! Everything goes through the page allocator, so free lists, types of pageblocks and watermarks
//! are what they would be: the machine never writes a state that no kernel could come to. It takes
//! single pages until the allocator has failed a given number of times, waiting in between; keeps a
//! share, chosen by a [`KeepLaw`]; and frees the rest. What it keeps is pinned: no reclaim and no
//! compaction touches it, and it stays when the process ends.
//!
//! Two details make states that are hard to come by otherwise. It can *release* part of what it
//! will free first, a random part, and wait: whoever allocates meanwhile gets frames spread over
//! all of memory, not the neighbours that an allocator would choose. And it can go on for a
//! while, freeing pages at random and taking others (*churn*), which ages free lists as uptime
//! does.
//!
//! With [`KeepLaw::Rotate`] it is the fragmenter of a benchmark of 2015 (`laws`). With a [`Target`]
//! it goes on exchanging pages until a figure of fragmentation has a value, and holds it there
//! while memory ages (`target`).

mod laws;
mod target;
mod task;

pub use target::{Figure, Target};
pub use task::FragmentTask;

use crate::law::{Source, Varying};
use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::{GfpFlags, MAX_PAGE_ORDER};
use mmsim_core::workload::{Aim, BlockHandle, FreeBlocksOfZone, Op, Workload, WorkloadCx};

use std::collections::BTreeMap;

use laws::{geometric, rotate, runs, uniform};
use target::{Course, Exchange};

/// Requests between two looks at what came of them, while much is free.
const BATCH: u64 = 256;
/// Steps of churn in a second.
const CHURN_STEPS: u64 = 100;

/// Which pages stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepLaw {
    /// Any, all equally likely.
    Uniform,
    /// Those that the fragmenter of 2015 leaves: nearly the same.
    Rotate,
    /// Runs of this number of frames in address order; the gaps between them are drawn.
    Fixed(u32),
    /// Runs of this number of frames on average, runs and gaps drawn by geometric laws.
    Geometric(u32),
}

/// A fragmentation machine.
#[derive(Clone, PartialEq, Debug)]
pub struct FragmentConfig {
    /// Its memory was given to it before the run; it takes and frees nothing at first.
    pub loaded: bool,
    /// Pages to take; `None`: all there are.
    pub take: Option<u64>,
    /// Share of pages, of 1000 taken, that are movable and that are reclaimable; the rest is
    /// unmovable.
    pub movable_permille: u32,
    /// See [`FragmentConfig::movable_permille`].
    pub reclaimable_permille: u32,
    /// Pages of one kind that are taken one after the other.
    pub cluster: u32,
    /// The same of reclaimable pages.
    pub reclaimable_cluster: u32,
    /// Permissions of the allocator.
    pub flags: GfpFlags,
    /// Failures after which no more is taken.
    pub failures: u32,
    /// Sleep after a failure, in nanoseconds.
    pub pause: Varying,
    /// Number of pages, of 1000 taken, that stay.
    pub keep_permille: u32,
    /// Which.
    pub law: KeepLaw,
    /// A figure of fragmentation that is brought about afterwards.
    pub target: Option<Target>,
    /// Pages freed first.
    pub release: u64,
    /// Sleep between these and the rest, in nanoseconds.
    pub settle: Varying,
    /// Pages freed and taken again in a second.
    pub churn: u64,
    /// For how long.
    pub age: SimDuration,
}

impl FragmentConfig {
    /// The workload of its one thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        let kinds = self.movable_permille + self.reclaimable_permille;
        assert!(kinds <= 1000, "movable_permille, reclaimable_permille: at most 1000 together");
        assert!(self.take != Some(0), "take: at least one page");
        assert!(self.cluster > 0, "cluster: at least one page");
        assert!(self.reclaimable_cluster > 0, "reclaimable_cluster: at least one page");
        assert!(self.failures > 0, "failures: at least one");
        assert!(self.keep_permille <= 1000, "keep_permille: at most 1000");
        let run = !matches!(self.law, KeepLaw::Fixed(0) | KeepLaw::Geometric(0));
        assert!(run, "law: runs of at least one frame");
        if let Some(t) = &self.target {
            assert!((1..=MAX_PAGE_ORDER).contains(&t.order), "order: 1 to {MAX_PAGE_ORDER}");
            assert!(t.permille <= 1000, "permille: at most 1000");
        }
        vec![Box::new(Machine {
            config: self.clone(),
            pause: self.pause.source("pause"),
            settle: self.settle.source("settle"),
            stage: if self.loaded { self.after_free() } else { Stage::Take },
            next: 0,
            kind: Migratetype::Unmovable,
            of_kind: 0,
            failures: 0,
            held: Vec::new(),
            to_free: Vec::new(),
            steps: 0,
            large: BTreeMap::new(),
            course: self.target.map(Course::new),
            closest: Vec::new(),
            back: false,
            asked: false,
        })]
    }

    /// A kind, and how many pages of it come in a row. Shares are of pages, so kinds that come in
    /// longer rows are drawn less often.
    fn draw_kind(&self, rng: &mut Rng) -> (Migratetype, u32) {
        let (row, reclaimable_row) = (self.cluster, self.reclaimable_cluster);
        let common = gcd(row.into(), reclaimable_row.into());
        let (movable, reclaimable) =
            (u64::from(self.movable_permille), u64::from(self.reclaimable_permille));
        let weigh = |permille: u64, other: u32| permille * u64::from(other) / common;
        let movable_weight = weigh(movable, reclaimable_row);
        let below_reclaimable = movable_weight + weigh(reclaimable, row);
        let all = below_reclaimable + weigh(1000 - movable - reclaimable, reclaimable_row);
        match rng.below(all) {
            d if d < movable_weight => (Migratetype::Movable, row),
            d if d < below_reclaimable => (Migratetype::Reclaimable, reclaimable_row),
            _ => (Migratetype::Unmovable, row),
        }
    }

    fn after_free(&self) -> Stage {
        if self.target.is_some() { Stage::Steer } else { Stage::Age }
    }

    fn steps(&self) -> u64 {
        self.age.as_nanos() * CHURN_STEPS / 1_000_000_000
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A page that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    handle: BlockHandle,
    pfn: Pfn,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Take,
    Free,
    Age,
    Steer,
    Over,
}

struct Machine {
    config: FragmentConfig,
    pause: Source,
    settle: Source,
    stage: Stage,
    /// The next page's number.
    next: u32,
    /// Migratetype of the requests now, and the number of requests left.
    kind: Migratetype,
    of_kind: u32,
    failures: u32,
    held: Vec<Held>,
    /// Pages to be freed, the next last.
    to_free: Vec<Held>,
    /// Steps of churn that are done.
    steps: u64,
    /// Orders of the larger blocks of the last requests; their pages are held one by one.
    large: BTreeMap<BlockHandle, u8>,
    /// On the way to a target.
    course: Option<Course>,
    /// Frames held at the look that was closest to it, ascending.
    closest: Vec<Pfn>,
    /// It has gone back there.
    back: bool,
    /// It has asked for a look at free memory.
    asked: bool,
}

impl Machine {
    fn take(&mut self, n: u64, order: u8, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..n {
            if self.of_kind == 0 {
                (self.kind, self.of_kind) = self.config.draw_kind(rng);
            }
            self.of_kind -= 1;
            let handle = BlockHandle(self.next);
            self.next += 1 << order;
            let (migratetype, flags) = (self.kind, self.config.flags);
            ops.push(Op::KernelAlloc { order, migratetype, flags, handle });
            if order > 0 {
                self.large.insert(handle, order);
                ops.push(Op::KernelSplit { handle });
            }
        }
    }

    /// True if enough was taken, or cannot be.
    fn all_taken(&self) -> bool {
        let enough = self.config.take.is_some_and(|n| self.held.len() as u64 >= n);
        enough || self.failures >= self.config.failures
    }

    /// Divides what is held into what stays and what is freed.
    fn choose(&mut self, rng: &mut Rng) {
        let held = std::mem::take(&mut self.held);
        let keep = held.len() as u64 * u64::from(self.config.keep_permille) / 1000;
        let free = held.len() - keep as usize;
        (self.held, self.to_free) = match self.config.law {
            KeepLaw::Uniform => uniform(held, free, rng),
            KeepLaw::Rotate => rotate(held, free, rng),
            KeepLaw::Fixed(run) => {
                runs(held, self.config.keep_permille, rng, |_| u64::from(run), run)
            }
            KeepLaw::Geometric(run) => {
                let mean = f64::from(run);
                runs(held, self.config.keep_permille, rng, |rng| geometric(mean, rng), run)
            }
        };
    }

    fn free(&mut self, n: usize, ops: &mut Vec<Op>) {
        let from = self.to_free.len() - n.min(self.to_free.len());
        let freed = self.to_free.drain(from..).rev();
        ops.extend(freed.map(|h| Op::KernelFree { handle: h.handle }));
    }

    /// Frees pages at random and takes as many: one step.
    fn churn(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        // As many in each step as make the sum right.
        let due = |steps: u64| self.config.churn * steps / CHURN_STEPS;
        let n = (due(self.steps + 1) - due(self.steps)).min(self.held.len() as u64);
        for _ in 0..n {
            let i = rng.below(self.held.len() as u64) as usize;
            ops.push(Op::KernelFree { handle: self.held.swap_remove(i).handle });
        }
        self.take(n, 0, rng, ops);
        self.steps += 1;
        ops.push(Op::Sleep(SimDuration::from_nanos(1_000_000_000 / CHURN_STEPS)));
    }
}

impl Machine {
    /// Exchanges pages as far as the figure is not what it should be. Whether there was any to
    /// exchange.
    fn exchange(&mut self, free: &FreeBlocksOfZone, rng: &mut Rng, ops: &mut Vec<Op>) -> bool {
        let Some(course) = &self.course else { return false };
        let exchange = course.exchange(free, &self.held, rng);
        let any = exchange != Exchange::default();
        let Exchange { free, blocks, pages } = exchange;
        for i in free {
            let h = self.held.swap_remove(i);
            ops.push(Op::KernelFree { handle: h.handle });
        }
        // What was freed last would be taken first.
        ops.push(Op::DrainPcp);
        self.take(blocks.0, blocks.1, rng, ops);
        self.take(pages, 0, rng, ops);
        any
    }

    /// One look on the way to the target. Whether there is one more: then operations were added.
    fn steer(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) -> bool {
        let Some(course) = &mut self.course else { return false };
        let back = std::mem::take(&mut self.back);
        let asked = std::mem::replace(&mut self.asked, true);
        if asked && cx.free_blocks.is_none() {
            // There is no zone that it could look at.
            if course.sees_nothing() {
                return false;
            }
        } else if let Some(free) = cx.free_blocks {
            if course.look(&free) || back {
                return false;
            }
            if course.is_closest() {
                self.closest = self.held.iter().map(|h| h.pfn).collect();
                self.closest.sort_unstable();
            }
            let (stop, was_closer) = (course.gives_up(), course.was_closer());
            if stop || !self.exchange(&free, rng, ops) {
                if !was_closer {
                    return false;
                }
                self.go_back(ops);
            }
        } else {
            course.restart();
        }
        ops.extend([Op::DrainPcp, Op::FreeBlocks]);
        true
    }

    /// Holds again the pages of the closest look, as far as they are still free.
    fn go_back(&mut self, ops: &mut Vec<Op>) {
        let then = std::mem::take(&mut self.closest);
        let is_of_then = |h: &Held| then.binary_search(&h.pfn).is_ok();
        let (stay, go): (Vec<Held>, Vec<Held>) = self.held.iter().copied().partition(is_of_then);
        ops.extend(go.iter().map(|h| Op::KernelFree { handle: h.handle }));
        ops.push(Op::DrainPcp);
        let mut now: Vec<Pfn> = stay.iter().map(|h| h.pfn).collect();
        now.sort_unstable();
        for pfn in then.into_iter().filter(|p| now.binary_search(p).is_err()) {
            ops.push(Op::KernelTake { pfn, handle: BlockHandle(self.next) });
            self.next += 1;
        }
        self.held = stay;
        self.back = true;
    }

    /// One step of ageing, in which what the last one did to the target is made good.
    fn age(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        self.asked = false;
        if let (Some(course), Some(free)) = (&mut self.course, cx.free_blocks) {
            let close = course.look(&free);
            course.restart();
            if !close {
                self.exchange(&free, rng, ops);
            }
        }
        self.churn(rng, ops);
        if self.course.is_some() {
            ops.extend([Op::DrainPcp, Op::FreeBlocks]);
        }
    }

    /// The end of a phase that it has.
    fn end_of(&self, phase: &str) -> Op {
        let place = self.phases().iter().position(|p| p == phase);
        Op::PhaseEnd(place.expect("it is one of them") as u16)
    }

    /// Takes pages until there are enough, or none. Whether that is so.
    fn take_all(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) -> bool {
        if cx.kernel_allocs.iter().any(|a| a.pfn.is_none()) {
            self.failures += 1;
            if !self.all_taken() && !self.config.pause.is_zero() {
                ops.push(Op::Sleep(self.pause.time(rng)));
            }
        }
        if self.all_taken() {
            return true;
        }
        // Few close to the end and one at a time after it, so that few ask in vain.
        let left = self.config.take.map_or(BATCH, |n| n - self.held.len() as u64);
        let most = if self.failures > 0 { 1 } else { cx.free_pages / 64 };
        self.take(most.clamp(1, BATCH).min(left), 0, rng, ops);
        false
    }
}

impl Workload for Machine {
    fn phases(&self) -> Vec<String> {
        let c = &self.config;
        let some = [!c.loaded, !c.loaded, c.target.is_some(), c.steps() > 0];
        let all = ["take", "free", "target", "age"].into_iter().zip(some);
        all.filter(|p| p.1).map(|p| p.0.to_string()).collect()
    }

    /// The pages that it has to keep must fit.
    fn minimum_pages(&self) -> u64 {
        let c = &self.config;
        c.take.map_or(1, |n| (n * u64::from(c.keep_permille) / 1000).max(1))
    }

    fn aim(&self) -> Option<Aim> {
        self.course.as_ref().map(Course::aim)
    }

    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        let large = std::mem::take(&mut self.large);
        for a in cx.kernel_allocs {
            let Some(pfn) = a.pfn else { continue };
            self.next = self.next.max(a.handle.0 + 1);
            let pages = 1 << large.get(&a.handle).copied().unwrap_or(0);
            let page = |i| Held { handle: BlockHandle(a.handle.0 + i), pfn: Pfn(pfn.0 + i) };
            self.held.extend((0..pages).map(page));
        }
        if self.stage == Stage::Take && self.take_all(cx, rng, ops) {
            ops.push(self.end_of("take"));
            self.choose(rng);
            if self.config.release > 0 {
                let n = usize::try_from(self.config.release).unwrap_or(usize::MAX);
                self.free(n, ops);
                ops.push(Op::Sleep(self.settle.time(rng)));
            }
            self.stage = Stage::Free;
            return;
        }
        match self.stage {
            Stage::Take | Stage::Over => {}
            Stage::Free => {
                self.free(usize::MAX, ops);
                ops.push(self.end_of("free"));
                self.stage = self.config.after_free();
            }
            Stage::Steer => {
                if !self.steer(cx, rng, ops) {
                    ops.push(self.end_of("target"));
                    self.stage = Stage::Age;
                }
            }
            Stage::Age if self.steps < self.config.steps() => self.age(cx, rng, ops),
            Stage::Age => {
                // What the last step did is made good before it is over.
                if self.steps > 0 && !self.steer(cx, rng, ops) {
                    ops.push(self.end_of("age"));
                    self.stage = Stage::Over;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness;
    use super::*;
    use crate::law::Law;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::phys::gfp::GFP_KERNEL;
    use mmsim_core::workload::{KernelAllocResult, Pressure};
    use std::collections::BTreeMap;

    fn config(law: KeepLaw) -> FragmentConfig {
        FragmentConfig {
            loaded: false,
            take: None,
            movable_permille: 0,
            reclaimable_permille: 0,
            cluster: 1,
            reclaimable_cluster: 1,
            flags: GFP_KERNEL,
            failures: 3,
            pause: SimDuration::from_secs(5).into(),
            keep_permille: 250,
            law,
            target: None,
            release: 0,
            settle: Varying::default(),
            churn: 0,
            age: SimDuration::ZERO,
        }
    }

    /// Result of playing a machine against a memory that hands out frames in ascending order.
    #[derive(Default)]
    struct Played {
        held: BTreeMap<BlockHandle, (Pfn, Migratetype)>,
        most: usize,
        failures: u64,
        /// Pages held when a sleep began.
        at_sleep: Vec<usize>,
        /// Duration of each, in seconds.
        slept: Vec<f64>,
        /// Kinds in the order of requests.
        kinds: Vec<Migratetype>,
    }

    impl Played {
        fn map(&self, frames: u32) -> Vec<bool> {
            let mut map = vec![false; frames as usize];
            self.held.values().for_each(|(p, _)| map[p.0 as usize] = true);
            map
        }
    }

    fn play(config: &FragmentConfig, frames: u32) -> Played {
        played(config, frames, 1)
    }

    fn played(config: &FragmentConfig, frames: u32, seed: u64) -> Played {
        let mut w = config.workloads().remove(0);
        let mut rng = Rng::for_purpose(seed, "workload/test");
        let mut free: std::collections::BTreeSet<u32> = (0..frames).collect();
        let (mut all, mut results) = (Played::default(), Vec::new());
        loop {
            let mut ops = Vec::new();
            let free_pages = free.len() as u64;
            let cx = WorkloadCx {
                now: SimTime::ZERO,
                free_pages,
                kernel_allocs: &results,
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            w.fill(&cx, &mut rng, &mut ops);
            results = Vec::new();
            if ops.is_empty() {
                return all;
            }
            for op in ops {
                match op {
                    Op::KernelAlloc { handle, migratetype, order, .. } => {
                        assert_eq!(order, 0);
                        let pfn = free.pop_first().map(Pfn);
                        all.kinds.push(migratetype);
                        match pfn {
                            Some(p) => {
                                let old = all.held.insert(handle, (p, migratetype));
                                assert_eq!(old, None, "{handle:?} is held already");
                            }
                            None => all.failures += 1,
                        }
                        all.most = all.most.max(all.held.len());
                        results.push(KernelAllocResult { handle, pfn });
                    }
                    Op::KernelFree { handle } => {
                        let (pfn, _) = all.held.remove(&handle).expect("it is held");
                        free.insert(pfn.0);
                    }
                    Op::Sleep(t) => {
                        all.at_sleep.push(all.held.len());
                        all.slept.push(t.as_nanos() as f64 / 1e9);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Takes all there is, asks three times in vain with sleeps between, keeps its share.
    #[test]
    fn it_takes_what_there_is_and_keeps_its_share() {
        for law in [KeepLaw::Uniform, KeepLaw::Rotate] {
            let p = play(&config(law), 4000);
            assert_eq!((p.most, p.failures, p.held.len()), (4000, 3, 1000), "{law:?}");
            assert_eq!(p.at_sleep, [4000, 4000]);
        }
        let p = play(&FragmentConfig { take: Some(300), ..config(KeepLaw::Uniform) }, 4000);
        assert_eq!((p.most, p.failures, p.held.len()), (300, 0, 75));
    }

    /// With a quarter of all frames kept, drawn one by one, a group of eight has none of them
    /// with probability 0.75^8 = 0.100: of 15,500 groups 1,552, give or take 37.
    #[test]
    fn groups_without_a_kept_frame_are_as_many_as_chance_says() {
        let frames = 15_500 * 8;
        let sigma = (15_500.0 * 0.1 * 0.9_f64).sqrt();
        for law in [KeepLaw::Uniform, KeepLaw::Rotate, KeepLaw::Geometric(1), KeepLaw::Fixed(1)] {
            let map = play(&config(law), frames).map(frames);
            let whole = map.chunks(8).filter(|g| !g.contains(&true)).count() as f64;
            let want = 15_500.0 * 0.75_f64.powi(8);
            // Runs of one frame whose gaps are geometric from 0 on are the same law.
            let limit = if matches!(law, KeepLaw::Geometric(_)) { 5.0 } else { 4.0 };
            assert!((whole - want).abs() < limit * sigma, "{law:?}: {whole} against {want}");
        }
    }

    /// Longer runs leave more groups whole; the share that stays is the same.
    #[test]
    fn runs_have_their_lengths() {
        let frames = 80_000;
        for (law, mean) in [(KeepLaw::Fixed(16), 16.0), (KeepLaw::Geometric(16), 16.0)] {
            let map = play(&config(law), frames).map(frames);
            let kept = map.iter().filter(|&&k| k).count() as f64;
            assert!((kept / f64::from(frames) - 0.25).abs() < 0.02, "{law:?}: {kept}");
            let mut runs = Vec::new();
            let mut at = 0;
            for group in map.chunk_by(|a, b| a == b) {
                let inside = at > 0 && at + group.len() < map.len();
                if group[0] && inside {
                    runs.push(group.len() as f64);
                }
                at += group.len();
            }
            // Runs that follow one another at once are one: a gap is empty once in 49 times.
            let average = runs.iter().sum::<f64>() / runs.len() as f64;
            assert!((average - mean * 49.0 / 48.0).abs() < 1.0, "{law:?}: {average}");
            if let KeepLaw::Fixed(n) = law {
                assert!(runs.iter().all(|r| r % f64::from(n) == 0.0));
            }
        }
    }

    #[test]
    fn part_is_released_first() {
        let c = FragmentConfig {
            release: 500,
            settle: SimDuration::from_secs(1).into(),
            pause: Varying::default(),
            ..config(KeepLaw::Uniform)
        };
        let p = play(&c, 4000);
        assert_eq!((p.at_sleep, p.held.len()), (vec![3500], 1000));
        // More than is freed at all.
        let p = play(&FragmentConfig { release: 1 << 40, ..c }, 4000);
        assert_eq!((p.at_sleep, p.held.len()), (vec![1000], 1000));
    }

    /// Pauses of one run, and one settling of many. What is kept stays the same.
    #[test]
    fn sleeps_follow_their_laws() {
        let law = |scale| Law::Gamma { shape: 2.0, scale };
        let drawn = Varying::Drawn { law: law(2.5e9), min: 0, max: u64::MAX };
        let plain = FragmentConfig { failures: 1000, ..config(KeepLaw::Uniform) };
        let (paused, same) = (FragmentConfig { pause: drawn, ..plain.clone() }, play(&plain, 400));
        let paused = play(&paused, 400);
        assert_eq!((paused.slept.len(), paused.held), (999, same.held));
        harness::follow(&paused.slept, law(2.5));
        let none = Varying::default();
        let c = FragmentConfig { pause: none, settle: drawn, release: 5, ..config(plain.law) };
        let settled = (0..800).flat_map(|seed| played(&c, 40, seed).slept);
        harness::follow(&settled.collect::<Vec<_>>(), law(2.5));
    }

    /// 30 pages a second for two seconds, in steps of 10 ms.
    #[test]
    fn churn_changes_which_pages_are_held_and_not_how_many() {
        let c = FragmentConfig { pause: Varying::default(), ..config(KeepLaw::Uniform) };
        let churned = FragmentConfig { churn: 30, age: SimDuration::from_secs(2), ..c.clone() };
        let (before, after) = (play(&c, 4000), play(&churned, 4000));
        assert_eq!(after.at_sleep.len(), 200);
        assert_eq!((before.held.len(), after.held.len()), (1000, 1000));
        assert_eq!(after.kinds.len() - before.kinds.len(), 60);
        let stayed = before.held.keys().filter(|h| after.held.contains_key(h)).count();
        assert!((940..1000).contains(&stayed), "{stayed}");
    }

    /// Each kind comes in rows of its own length, and has its share of pages whatever that is.
    #[test]
    fn kinds_come_in_clusters_and_shares() {
        for reclaimable_cluster in [50, 10, 120] {
            let c = FragmentConfig {
                movable_permille: 500,
                reclaimable_permille: 200,
                cluster: 50,
                reclaimable_cluster,
                take: Some(100_000),
                ..config(KeepLaw::Uniform)
            };
            let kinds = play(&c, 100_000).kinds;
            let mut at = 0;
            for row in kinds.chunk_by(|a, b| a == b) {
                let of = if row[0] == Migratetype::Reclaimable { reclaimable_cluster } else { 50 };
                at += row.len();
                assert!(row.len().is_multiple_of(of as usize) || at == kinds.len());
            }
            for (kind, share) in [(Migratetype::Movable, 0.5), (Migratetype::Reclaimable, 0.2)] {
                let n = kinds.iter().filter(|&&k| k == kind).count() as f64 / 100_000.0;
                assert!((n - share).abs() < 0.04, "{kind:?}: {n}");
            }
        }
    }
}
