//! Attempts at blocks of several pages: the share of possible blocks that attempts get.
//!
//! The question of every study of compaction. Before its attempts the workload has physical memory
//! surveyed, which counts the *candidates*: groups of the block's size without a page that cannot
//! be moved. Then it makes a number of attempts, at its pace, and keeps what it gets until the end
//! of the round. `sim_highalloc` and the counters after it say what came of the attempts and where
//! blocks came from; each block is a record.
//!
//! With several rounds all blocks are given back before the next one begins: what success is
//! left then is what earlier rounds have not spoiled.

use super::request::{self, Gfp, Retry};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf};
use crate::work::{OF_BLOCKS, Pages, Threads, Work, WorkError};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;
use mmsim_core::settings;
use mmsim_core::workload::{BlockHandle, Op, Workload, WorkloadCx};

/// Attempts between two looks at what came of them.
const BATCH: u64 = 64;

settings! {
    /// Attempts at blocks of one order. Times are in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct HighAllocConfig {
        /// log2 of the pages of a block
        order: u8 = 1, .range(1, 10).required();
        /// which free lists it is taken from first
        migratetype: Migratetype = Migratetype::Unmovable;
        /// what a request may do: `GFP_` in lower case
        gfp: Gfp = Gfp::User;
        /// how hard it tries: `__GFP_` in lower case
        retry: Retry = Retry::Noretry;
        /// attempts of a round
        attempts: u64 = 0, .range(1, u32::MAX as u64).required();
        /// sleep between two attempts
        interval: Varying = Varying::Always(0);
        /// rounds; blocks are given back before the next one begins
        rounds: u32 = 1, .range(1, 1000);
        /// sleep between two rounds
        rest: Varying = Varying::Always(0);
        /// how long the blocks of the last round are kept after its attempts
        hold: Varying = Varying::Always(0);
        /// drop clean page cache before each survey
        drop_caches as "drop-caches": bool = false, .toml();
    }
}

/// `highalloc`.
pub const HIGHALLOC: Named<HighAllocConfig> = Named {
    about: "blocks of several pages on what is fragmented: how many of those possible",
    doc: "Attempts at blocks of several pages, kept until the end of the round; memory is \
          surveyed before and after. Counters begin with `sim_highalloc` and `sim_candidates`; \
          each block is a record.",
    rows: HighAllocConfig::ROWS,
    start: || HighAllocConfig::of(Kernel::LAST),
    finish: HighAllocConfig::finish,
};

impl HighAllocConfig {
    fn finish(&mut self, _task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        request::check(self.gfp, self.retry)
    }
}

impl HighAllocConfig {
    /// The workload of its one thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        assert!((1..=MAX_PAGE_ORDER).contains(&self.order), "order: 1 to {MAX_PAGE_ORDER}");
        assert!(self.migratetype.mergeable(), "migratetype: one that requests have");
        assert!(self.attempts > 0, "attempts: at least one");
        assert!(self.rounds > 0, "rounds: at least one");
        vec![Box::new(Thread {
            config: self.clone(),
            interval: self.interval.source("interval"),
            rest: self.rest.source("rest"),
            hold: self.hold.source("hold"),
            round: 0,
            left: 0,
            next: 0,
            held: Vec::new(),
            stage: Stage::Survey,
        })]
    }
}

impl Work for HighAllocConfig {
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
        1
    }
    fn unfit_for_samples(&self) -> Option<&'static str> {
        Some(OF_BLOCKS)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Survey,
    Asking,
    Over,
}

struct Thread {
    config: HighAllocConfig,
    interval: Source,
    rest: Source,
    hold: Source,
    round: u32,
    /// Attempts still to make in this round.
    left: u64,
    /// The next block's number.
    next: u32,
    held: Vec<BlockHandle>,
    stage: Stage,
}

impl Thread {
    /// Ends the phase before, and looks at memory: the look has a phase of its own.
    fn survey(&self, phase: u16, ops: &mut Vec<Op>) {
        if self.config.drop_caches {
            ops.push(Op::DropCaches);
        }
        ops.push(Op::Survey { order: self.config.order });
        ops.push(Op::PhaseEnd(phase));
    }
}

impl Workload for Thread {
    fn phases(&self) -> Vec<String> {
        let rounds = self.config.rounds;
        let name = |stem: &str, r: u32| match rounds {
            1 => stem.to_string(),
            _ => format!("{stem}{r}"),
        };
        let of = |r| [name("survey", r), name("attempts", r)];
        (1..=rounds).flat_map(of).chain(["after".to_string()]).collect()
    }

    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        let got = cx.kernel_allocs.iter().filter(|a| a.pfn.is_some()).map(|a| a.handle);
        let before = self.held.len();
        self.held.extend(got);
        if self.held.len() > before {
            ops.push(Op::Records((self.held.len() - before) as u32));
        }
        let c = &self.config;
        let phase = 2 * self.round as u16;
        match self.stage {
            Stage::Survey => {
                ops.extend(self.held.drain(..).map(|handle| Op::KernelFree { handle }));
                if self.round > 0 && !c.rest.is_zero() {
                    ops.push(Op::Sleep(self.rest.time(rng)));
                }
                self.left = c.attempts;
                self.stage = Stage::Asking;
                self.survey(phase, ops);
            }
            Stage::Asking if self.left > 0 => {
                let n = self.left.min(BATCH);
                self.left -= n;
                for _ in 0..n {
                    let handle = BlockHandle(self.next);
                    self.next += 1;
                    let (order, migratetype) = (c.order, c.migratetype);
                    let flags = request::flags(c.gfp, c.retry);
                    ops.push(Op::KernelAlloc { order, migratetype, flags, handle });
                    if !c.interval.is_zero() {
                        ops.push(Op::Sleep(self.interval.time(rng)));
                    }
                }
            }
            Stage::Asking => {
                ops.push(Op::PhaseEnd(phase + 1));
                self.round += 1;
                if self.round < c.rounds {
                    self.stage = Stage::Survey;
                } else {
                    self.survey(phase + 2, ops);
                    if !self.config.hold.is_zero() {
                        ops.push(Op::Sleep(self.hold.time(rng)));
                    }
                    ops.extend(self.held.drain(..).map(|handle| Op::KernelFree { handle }));
                    self.stage = Stage::Over;
                }
            }
            Stage::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use crate::law::Law;
    use mmsim_core::base::id::Pfn;
    use mmsim_core::base::time::{SimDuration, SimTime};
    use mmsim_core::workload::{KernelAllocResult, Pressure};

    /// Plays against an allocator with `room` blocks; writes down what happens in order, equal
    /// things once with their number.
    fn play(c: &HighAllocConfig, room: usize) -> Vec<(String, u32)> {
        let mut w = c.workloads().remove(0);
        let names = w.phases();
        let mut rng = Rng::for_purpose(1, "workload/test");
        let (mut held, mut results) = (0, Vec::new());
        let mut course: Vec<(String, u32)> = Vec::new();
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
                return course;
            }
            for op in ops {
                let (what, n) = match op {
                    Op::KernelAlloc { handle, .. } => {
                        let pfn = (held < room).then_some(Pfn(8));
                        held += usize::from(pfn.is_some());
                        results.push(KernelAllocResult { handle, pfn });
                        continue;
                    }
                    Op::KernelFree { .. } => {
                        held -= 1;
                        ("free".to_string(), 1)
                    }
                    Op::Records(n) => ("had".to_string(), n),
                    Op::PhaseEnd(i) => (names[usize::from(i)].clone(), 1),
                    other => (format!("{other:?}"), 1),
                };
                match course.last_mut() {
                    Some(last) if last.0 == what => last.1 += n,
                    _ => course.push((what, n)),
                }
            }
        }
    }

    fn config() -> HighAllocConfig {
        HighAllocConfig {
            order: 3,
            migratetype: Migratetype::Unmovable,
            gfp: Gfp::User,
            retry: Retry::Normal,
            attempts: 500,
            interval: Varying::default(),
            rounds: 1,
            rest: Varying::default(),
            drop_caches: false,
            hold: Varying::default(),
        }
    }

    fn course(c: &HighAllocConfig) -> Vec<(String, u32)> {
        play(c, 300)
    }

    fn said(list: &[(&str, u32)]) -> Vec<(String, u32)> {
        list.iter().map(|(s, n)| (s.to_string(), *n)).collect()
    }

    #[test]
    fn blocks_are_kept_until_the_last_look() {
        let look = "Survey { order: 3 }";
        let want =
            [(look, 1), ("survey", 1), ("had", 300), ("attempts", 1), (look, 1), ("after", 1)];
        let then = |more: &[(&str, u32)]| [said(&want), said(more)].concat();
        assert_eq!(course(&config()), then(&[("free", 300)]));
        let hold = SimDuration::from_secs(7);
        let held = HighAllocConfig { hold: hold.into(), ..config() };
        let sleep = format!("{:?}", Op::Sleep(hold));
        assert_eq!(course(&held), then(&[(&sleep, 1), ("free", 300)]));
    }

    #[test]
    fn rounds_begin_with_nothing_held() {
        let c = HighAllocConfig { rounds: 2, drop_caches: true, ..config() };
        let (look, drop) = ("Survey { order: 3 }", "DropCaches");
        let want = said(&[
            (drop, 1),
            (look, 1),
            ("survey1", 1),
            ("had", 300),
            ("attempts1", 1),
            ("free", 300),
            (drop, 1),
            (look, 1),
            ("survey2", 1),
            ("had", 300),
            ("attempts2", 1),
            (drop, 1),
            (look, 1),
            ("after", 1),
            ("free", 300),
        ]);
        assert_eq!(course(&c), want);
    }

    /// Rests of one run, and the last sleep of many.
    #[test]
    fn rests_and_the_last_sleep_follow_their_laws() {
        let law = |scale| Law::Gamma { shape: 2.0, scale };
        let drawn = Varying::Drawn { law: law(2.5e9), min: 0, max: u64::MAX };
        let sleeps = |c: &HighAllocConfig, seed| {
            let mut w = c.workloads().remove(0);
            let ops = harness::seeded(w.as_mut(), Ticking(0), seed).concat();
            let of = |o| if let Op::Sleep(t) = o { Some(t.as_nanos() as f64 / 1e9) } else { None };
            ops.into_iter().filter_map(of).collect::<Vec<f64>>()
        };
        let c = HighAllocConfig { attempts: 1, rest: drawn, rounds: 1000, ..config() };
        let rests = sleeps(&c, 1);
        assert_eq!(rests.len(), 999);
        harness::follow(&rests, law(2.5));
        let c = HighAllocConfig { attempts: 1, hold: drawn, ..config() };
        let held = (0..800).flat_map(|seed| sleeps(&c, seed));
        harness::follow(&held.collect::<Vec<_>>(), law(2.5));
    }
}
