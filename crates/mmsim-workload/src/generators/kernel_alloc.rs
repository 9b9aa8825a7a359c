//! Allocations on behalf of the kernel: blocks of one order and migratetype, one after the other,
//! of which a given number is held.
//!
//! It is the question of every study of fragmentation: how many blocks of an order can be
//! allocated? And it is the tool to make fragmentation: single unmovable pages, freed at random,
//! keep larger blocks from ever becoming whole. Each success is a record.

use super::request::{self, Gfp, Retry};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf};
use crate::work::{OF_BLOCKS, Pages, Threads, Work, WorkError};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimTime;
use mmsim_core::config::Kernel;
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;
use mmsim_core::settings;
use mmsim_core::workload::{BlockHandle, Op, Workload, WorkloadCx};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Attempts between two looks at what came of them.
const BATCH: u64 = 64;

settings! {
    /// A workload of kernel allocations. Times are in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct KernelAllocConfig {
        /// log2 of the pages of a block
        order: u8 = 0, .range(0, 10).required();
        /// which free lists it is taken from first
        migratetype: Migratetype = Migratetype::Unmovable;
        /// what the request may do: `GFP_` in lower case
        gfp: Gfp = Gfp::Kernel;
        /// how hard it tries: `__GFP_` in lower case
        retry: Retry = Retry::Normal;
        /// attempts of all threads together
        attempts: u64 = 0, .range(1, u32::MAX as u64).required();
        /// blocks that a thread holds at most; with more, one of them is freed first
        hold: Option<u64> = None, .range(1, u32::MAX as u64).auto("all");
        /// blocks, of 1000 held at the end, that are freed, chosen at random
        free_permille as "free-permille": u32 = 1000, .range(0, 1000);
        /// sleep between two attempts
        interval: Varying = Varying::Always(0);
        /// how long a block lives: it is freed before the first attempt after that
        lifetime: Option<Varying> = None, .auto("no end");
    }
    with {
        /// Threads.
        threads: u32 = 1;
    }
}

/// `kernel-alloc`.
pub const KERNEL_ALLOC: Named<KernelAllocConfig> = Named {
    about: "blocks of one order for the kernel: how many attempts succeed, how many blocks are \
            held",
    doc: "Blocks of one order on behalf of the kernel, one after the other; each successful \
          allocation is a record. They are in no address space and are not reclaimed, and blocks \
          that are not freed outlive the process.",
    rows: KernelAllocConfig::ROWS,
    start: || KernelAllocConfig::of(Kernel::LAST),
    finish: KernelAllocConfig::finish,
};

impl KernelAllocConfig {
    fn finish(&mut self, task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        self.threads = task.threads;
        request::check(self.gfp, self.retry)
    }
}

impl KernelAllocConfig {
    /// One workload per thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        assert!(self.order <= MAX_PAGE_ORDER, "order: at most {MAX_PAGE_ORDER}");
        assert!(self.migratetype.mergeable(), "migratetype: one that requests have");
        assert!(self.threads > 0, "threads: at least one");
        assert!(self.attempts >= u64::from(self.threads), "attempts: at least one per thread");
        assert!(self.hold != Some(0), "hold: at least one");
        assert!(self.free_permille <= 1000, "free_permille: at most 1000");
        let n = u64::from(self.threads);
        let part = |t: u64| self.attempts / n + u64::from(t < self.attempts % n);
        (0..n)
            .map(|t| {
                Box::new(Thread {
                    config: self.clone(),
                    interval: self.interval.source("interval"),
                    lifetime: self.lifetime.map(|l| l.source("lifetime")),
                    ends: BinaryHeap::new(),
                    asked: SimTime::ZERO,
                    left: part(t),
                    next: 0,
                    held: Vec::new(),
                    last: Last::Allocating,
                    leader: t == 0,
                }) as Box<dyn Workload>
            })
            .collect()
    }
}

impl Work for KernelAllocConfig {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads())
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        pages.take_all();
    }
    fn has_anon(&self) -> bool {
        false
    }
    fn most_threads(&self) -> u32 {
        u32::try_from(self.attempts).unwrap_or(u32::MAX)
    }
    fn unfit_for_samples(&self) -> Option<&'static str> {
        Some(OF_BLOCKS)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Allocating,
    Freeing,
    Over,
}

struct Thread {
    config: KernelAllocConfig,
    interval: Source,
    lifetime: Option<Source>,
    /// When blocks end that are held, the earliest first.
    ends: BinaryHeap<Reverse<(SimTime, BlockHandle)>>,
    /// When the last attempt was made.
    asked: SimTime,
    /// Attempts still to make.
    left: u64,
    /// The next block's number.
    next: u32,
    held: Vec<BlockHandle>,
    last: Last,
    /// Ends the phases.
    leader: bool,
}

impl Thread {
    fn free_one(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let i = rng.below(self.held.len() as u64) as usize;
        ops.push(Op::KernelFree { handle: self.held.swap_remove(i) });
    }

    /// Frees what has lived long enough.
    fn free_old(&mut self, now: SimTime, ops: &mut Vec<Op>) {
        while let Some(&Reverse((end, handle))) = self.ends.peek()
            && end <= now
        {
            self.ends.pop();
            // It may have been freed to make room.
            if let Some(i) = self.held.iter().position(|h| *h == handle) {
                self.held.swap_remove(i);
                ops.push(Op::KernelFree { handle });
            }
        }
    }

    fn end_phase(&self, phase: u16, ops: &mut Vec<Op>) {
        ops.push(Op::Barrier);
        if self.leader {
            ops.push(Op::PhaseEnd(phase));
        }
    }
}

impl Workload for Thread {
    fn phases(&self) -> Vec<String> {
        vec!["allocate".into(), "free".into()]
    }

    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        let got = cx.kernel_allocs.iter().filter(|a| a.pfn.is_some());
        let before = self.held.len();
        for handle in got.map(|a| a.handle) {
            self.held.push(handle);
            if let Some(lifetime) = &mut self.lifetime {
                self.ends.push(Reverse((self.asked + lifetime.time(rng), handle)));
            }
        }
        let got = (self.held.len() - before) as u32;
        if got > 0 {
            ops.push(Op::Records(got));
        }
        match self.last {
            Last::Allocating if self.left > 0 => {
                self.free_old(cx.now, ops);
                self.asked = cx.now;
                let c = &self.config;
                // The clock ends lives, and is looked at before each attempt.
                let batch = if c.lifetime.is_some() { 1 } else { BATCH };
                let n = self.left.min(batch).min(c.hold.unwrap_or(batch));
                let (order, migratetype) = (c.order, c.migratetype);
                let flags = request::flags(c.gfp, c.retry);
                let hold = c.hold.unwrap_or(u64::MAX);
                let sleeps = !c.interval.is_zero();
                self.left -= n;
                for _ in 0..n {
                    // With those of this batch that may succeed.
                    if self.held.len() as u64 + n > hold && !self.held.is_empty() {
                        self.free_one(rng, ops);
                    }
                    let handle = BlockHandle(self.next);
                    self.next += 1;
                    ops.push(Op::KernelAlloc { order, migratetype, flags, handle });
                    if sleeps {
                        ops.push(Op::Sleep(self.interval.time(rng)));
                    }
                }
            }
            Last::Allocating => {
                self.end_phase(0, ops);
                let n = self.held.len() as u64 * u64::from(self.config.free_permille) / 1000;
                for _ in 0..n {
                    self.free_one(rng, ops);
                }
                self.last = Last::Freeing;
            }
            Last::Freeing => {
                self.end_phase(1, ops);
                self.last = Last::Over;
            }
            Last::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use mmsim_core::base::id::Pfn;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::workload::{KernelAllocResult, Pressure};
    use std::collections::BTreeSet;

    /// Little's law: what is held is the rate of arrivals times the mean of a life, whatever the
    /// law of lives. A thousand blocks a second that live 50 ms are 50 on average.
    #[test]
    fn lives_times_rate_are_what_is_held() {
        let ms = 1e6;
        for life in [
            Law::Exponential { mean: 50.0 * ms },
            Law::Gamma { shape: 4.0, scale: 12.5 * ms },
            Law::Pareto { scale: 30.0 * ms, shape: 2.5 },
        ] {
            assert!((life.mean() - 50.0 * ms).abs() < 1.0);
            let drawn = |law| Varying::Drawn { law, min: 0, max: u64::MAX };
            let mut c = KernelAllocConfig { attempts: 200_000, ..config() };
            c.interval = drawn(Law::Exponential { mean: ms });
            c.lifetime = Some(drawn(life));
            let mut w = c.workloads().remove(0);
            let mut rng = Rng::for_purpose(1, "workload/test");
            let (mut now, mut held, mut area) = (SimTime::ZERO, 0_u64, 0_u128);
            let mut results = Vec::new();
            loop {
                let mut ops = Vec::new();
                let cx = WorkloadCx {
                    now,
                    free_pages: 0,
                    kernel_allocs: &results,
                    free_blocks: None,
                    pressure: &Pressure::NONE,
                };
                w.fill(&cx, &mut rng, &mut ops);
                results = Vec::new();
                if ops.contains(&Op::Barrier) {
                    break;
                }
                for op in ops {
                    match op {
                        Op::KernelAlloc { handle, .. } => {
                            held += 1;
                            results.push(KernelAllocResult { handle, pfn: Some(Pfn(7)) });
                        }
                        Op::KernelFree { .. } => held -= 1,
                        Op::Sleep(d) => {
                            area += u128::from(held) * u128::from(d.as_nanos());
                            now += d;
                        }
                        _ => {}
                    }
                }
            }
            let mean = area as f64 / now.0 as f64;
            // A block is freed before the attempt behind its end, on average one interval late.
            assert!((50.0..53.0).contains(&mean), "{life:?}: {mean}");
        }
    }

    /// Plays a thread against an allocator that has `room` blocks. Returns blocks had, most
    /// held at a time, and held at the end.
    fn play(config: &KernelAllocConfig, room: usize) -> (u32, usize, usize) {
        let mut w = config.workloads().remove(0);
        let mut rng = Rng::for_purpose(1, "workload/test");
        let mut held: BTreeSet<BlockHandle> = BTreeSet::new();
        let (mut results, mut records, mut most) = (Vec::new(), 0, 0);
        loop {
            let mut ops = Vec::new();
            let cx = WorkloadCx {
                now: SimTime::ZERO,
                free_pages: 0,
                kernel_allocs: &results,
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            w.fill(&cx, &mut rng, &mut ops);
            results = Vec::new();
            if ops.is_empty() {
                return (records, most, held.len());
            }
            for op in ops {
                match op {
                    Op::KernelAlloc { handle, .. } => {
                        let pfn = (held.len() < room).then_some(Pfn(7));
                        if pfn.is_some() {
                            assert!(held.insert(handle), "{handle:?} is held already");
                        }
                        most = most.max(held.len());
                        results.push(KernelAllocResult { handle, pfn });
                    }
                    Op::KernelFree { handle } => assert!(held.remove(&handle), "{handle:?}"),
                    Op::Records(n) => records += n,
                    _ => {}
                }
            }
        }
    }

    fn config() -> KernelAllocConfig {
        KernelAllocConfig {
            order: 3,
            migratetype: Migratetype::Unmovable,
            gfp: Gfp::Kernel,
            retry: Retry::Normal,
            attempts: 1000,
            hold: None,
            free_permille: 1000,
            interval: Varying::default(),
            lifetime: None,
            threads: 1,
        }
    }

    #[test]
    fn all_that_can_be_had_is_held_and_given_back() {
        assert_eq!(play(&config(), usize::MAX), (1000, 1000, 0));
        assert_eq!(play(&config(), 300), (300, 300, 0));
        let keeps = KernelAllocConfig { free_permille: 750, ..config() };
        assert_eq!(play(&keeps, 300), (300, 300, 75));
    }

    /// Once as many as allowed are held, each success costs one.
    #[test]
    fn no_more_is_held_than_allowed() {
        for hold in [1, 10, 100] {
            let c = KernelAllocConfig { hold: Some(hold), free_permille: 0, ..config() };
            assert_eq!(play(&c, usize::MAX), (1000, hold as usize, hold as usize));
        }
    }

    #[test]
    fn threads_share_the_attempts() {
        let c = KernelAllocConfig { threads: 3, ..config() };
        let of = |w: &mut Box<dyn Workload>| {
            let mut rng = Rng::for_purpose(1, "workload/test");
            let cx = WorkloadCx {
                now: SimTime::ZERO,
                free_pages: 0,
                kernel_allocs: &[],
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            let mut n = 0;
            loop {
                let mut ops = Vec::new();
                w.fill(&cx, &mut rng, &mut ops);
                if ops.is_empty() {
                    return n;
                }
                n += ops.iter().filter(|o| matches!(o, Op::KernelAlloc { .. })).count();
            }
        };
        assert_eq!(c.workloads().iter_mut().map(of).collect::<Vec<_>>(), [334, 333, 333]);
    }
}
