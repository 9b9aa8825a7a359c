//! Allocations on behalf of the kernel: blocks of one order and migratetype, one after the
//! other, of which so many are held.
//!
//! It is the question of every study of fragmentation: how many blocks of an order can be
//! had? And it is the tool to make fragmentation: single unmovable pages, freed at random,
//! keep larger blocks from ever becoming whole. Each success is a record.

use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::{GfpFlags, MAX_PAGE_ORDER};
use mmsim_core::workload::{BlockHandle, Op, Workload, WorkloadCx};

/// Attempts between two looks at what came of them.
const BATCH: u64 = 64;

/// A workload of kernel allocations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelAllocConfig {
    /// log2 of the pages of a block, up to 10.
    pub order: u8,
    /// Unmovable, movable or reclaimable.
    pub migratetype: Migratetype,
    /// How far the allocator may go.
    pub flags: GfpFlags,
    /// Attempts of all threads together; at least one per thread.
    pub attempts: u64,
    /// Blocks that a thread holds at most; with more, one held at random is freed first.
    /// `None`: all.
    pub hold: Option<u64>,
    /// Of the blocks held at the end, so many of 1000 are freed, chosen at random.
    pub free_permille: u32,
    /// Sleep between two attempts.
    pub interval: SimDuration,
    /// Threads.
    pub threads: u32,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Allocating,
    Freeing,
    Over,
}

struct Thread {
    config: KernelAllocConfig,
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
        self.held.extend(got.map(|a| a.handle));
        let got = (self.held.len() - before) as u32;
        if got > 0 {
            ops.push(Op::Records(got));
        }
        match self.last {
            Last::Allocating if self.left > 0 => {
                let c = &self.config;
                let n = self.left.min(BATCH).min(c.hold.unwrap_or(BATCH));
                let (order, migratetype, flags) = (c.order, c.migratetype, c.flags);
                let (hold, interval) = (c.hold.unwrap_or(u64::MAX), c.interval);
                self.left -= n;
                for _ in 0..n {
                    // With those of this batch that may succeed.
                    if self.held.len() as u64 + n > hold && !self.held.is_empty() {
                        self.free_one(rng, ops);
                    }
                    let handle = BlockHandle(self.next);
                    self.next += 1;
                    ops.push(Op::KernelAlloc { order, migratetype, flags, handle });
                    if interval.0 > 0 {
                        ops.push(Op::Sleep(interval));
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
    use mmsim_core::base::id::Pfn;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::phys::gfp::GFP_KERNEL;
    use mmsim_core::workload::KernelAllocResult;
    use std::collections::BTreeSet;

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
            flags: GFP_KERNEL,
            attempts: 1000,
            hold: None,
            free_permille: 1000,
            interval: SimDuration::ZERO,
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
