//! A phase language: named regions and a list of steps, as data.
//!
//! Worked examples and many experiments are written as steps ("allocate cold, touch hot twice, then
//! fifteen times: the next 128 MiB of cold, all of hot-2"). A [`PhasedConfig`] says exactly that.
//! It is checked as a whole before the run (names, ranges, whether a region is mapped where it is
//! touched), flattened into a list of instructions with jumps for the repetitions, and carried out
//! by one thread.
//!
//! A *window* is the only step with a memory: each time it is carried out it touches the
//! next `count` pages of its region and moves on by `advance`, wrapping at the end. The
//! place belongs to the region, so that windows before and within a loop go on from one
//! another; allocating the region starts it at page 0.

mod compile;

use super::memory::{self, MemoryKind, RUN_PAGES};
use crate::law::Varying;
use crate::sampler::RankMap;
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::workload::{
    Advice, FileAdvice, FileSlot, FileSpec, Op, RegionId, Uncached, VmaFlags, Workload, WorkloadCx,
};

use compile::{Compiler, Instr};

/// Operations per batch, about.
const BATCH: usize = 1024;
/// Loops within loops at most.
const MAX_DEPTH: usize = 16;
/// Pages that are read before their buffer is written: 128 KiB.
const READ_PIECE: u32 = 32;

/// A region by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhasedRegion {
    /// The name that steps use.
    pub name: String,
    /// Pages.
    pub pages: u32,
    /// Kind of memory that it maps. Memory of kind [`MemoryKind::FileRead`] needs no allocation.
    pub kind: MemoryKind,
    /// Flags of the mapping.
    pub flags: VmaFlags,
}

/// One step. Regions go by name.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Map a region.
    Allocate {
        /// Region.
        region: String,
        /// Write every page once, in ascending order; else they are untouched.
        populate: bool,
    },
    /// Unmap a region.
    Free(String),
    /// Touch pages in ascending order.
    Touch {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// Write, else read.
        write: bool,
        /// Number of repetitions.
        repeat: u32,
    },
    /// Touch the next `count` pages of a region, wrapping at its end.
    Window {
        /// Region.
        region: String,
        /// Pages per turn, at most those of the region.
        count: u32,
        /// Distance that it moves per turn, in pages.
        advance: u32,
        /// Write, else read.
        write: bool,
    },
    /// Draw pages of a region from a zipf law.
    Zipf {
        /// Region.
        region: String,
        /// Exponent; 0 is uniform.
        theta: f64,
        /// Where the popular pages lie.
        map: RankMap,
        /// Accesses.
        accesses: u64,
        /// Writes per thousand.
        write_permille: u32,
    },
    /// `read(2)` of pages of a region's file, whether it is mapped or not.
    Read {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// The mapped region that receives them, each at its place in the file. `None`: a buffer that
        /// is not looked at.
        into: Option<String>,
        /// A way around the page cache.
        uncached: Option<Uncached>,
    },
    /// `write(2)` to pages of a region's file, whether it is mapped or not.
    Write {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// A way around the page cache.
        uncached: Option<Uncached>,
    },
    /// `posix_fadvise(2)` on pages of a region's file, whether it is mapped or not.
    Fadvise {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// The advice.
        advice: FileAdvice,
    },
    /// `fsync(2)` of a region's file, whether it is mapped or not.
    Fsync(String),
    /// Writes to files of /proc and /sys, each an operation of its own.
    Writes(Vec<Op>),
    /// `madvise(2)` on pages of a region.
    Madvise {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// The advice.
        advice: Advice,
    },
    /// `mlock2(2)` on pages of a region.
    Mlock {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
        /// `MLOCK_ONFAULT`.
        onfault: bool,
    },
    /// `SHM_LOCK` or `SHM_UNLOCK` on the object of a region of shared memory.
    ShmLock {
        /// Region.
        region: String,
        /// Lock, or unlock.
        lock: bool,
    },
    /// `munlock(2)` on pages of a region.
    Munlock {
        /// Region.
        region: String,
        /// First page.
        from: u32,
        /// Pages.
        count: u32,
    },
    /// `mlockall(2)`.
    MlockAll {
        /// `MCL_CURRENT`: what is mapped now.
        current: bool,
        /// `MCL_FUTURE`: what is mapped later; false takes that back.
        future: bool,
        /// `MCL_ONFAULT`.
        onfault: bool,
    },
    /// `munlockall(2)`.
    MunlockAll,
    /// Sleep, in nanoseconds.
    Sleep(Varying),
    /// Use the CPU without touching memory, in nanoseconds.
    Compute(Varying),
    /// This number of records is done.
    Records(u32),
    /// Write 1 to `drop_caches`.
    DropCaches,
    /// Write a number of pages to the own group's `memory.reclaim`.
    MemcgReclaim {
        /// Pages.
        pages: u32,
        /// `swappiness=`, 0..=200; `None`: `vm.swappiness`.
        swappiness: Option<u8>,
    },
    /// The steps, `times` times over.
    Repeat {
        /// Number of repetitions.
        times: u32,
        /// Repeated steps.
        steps: Vec<Step>,
    },
    /// A phase of this name ends here; it began where the phase before it ended. In a repetition every turn ends its own phase of
    /// the same number, so that the report adds them up.
    Phase(String),
}

/// A phased workload: one process of one thread.
#[derive(Clone, PartialEq, Debug)]
pub struct PhasedConfig {
    /// Regions.
    pub regions: Vec<PhasedRegion>,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

/// Error in a phased workload.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{at}: {what}")]
pub struct PhasedError {
    /// Where: `steps[3].steps[0]` or `regions[1]`.
    pub at: String,
    /// The error, and the text to write instead.
    pub what: String,
}

impl PhasedConfig {
    /// Checks the steps; the workload is the only thread's.
    pub fn workloads(&self) -> Result<Vec<Box<dyn Workload>>, PhasedError> {
        let mut c = Compiler::new(self)?;
        c.steps(&self.steps, "steps", 0)?;
        Ok(vec![Box::new(Phased {
            regions: self.regions.clone(),
            slots: c.slots,
            files: c.files,
            phases: c.phases,
            code: c.code,
            places: vec![0; self.regions.len()],
            next: 0,
            done: 0,
            turns: Vec::new(),
        })])
    }
}

impl Work for PhasedConfig {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        self.workloads().map_err(|e| WorkError::new(e.to_string()).about(e.at))
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        self.regions.iter().for_each(|r| r.kind.add_pages(r.pages, pages));
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(self.regions.iter().any(|r| r.kind.maps_file()))
    }
    fn has_anon(&self) -> bool {
        self.regions.iter().any(|r| r.kind.is_anon(true))
    }
    fn is_of_one_size(&self) -> bool {
        any(&self.steps, &|s| matches!(s, Step::Writes(_) | Step::Fsync(_)))
    }
    fn makes(&self, such: fn(&Op) -> bool) -> bool {
        any(&self.steps, &|s| matches!(s, Step::Writes(ops) if ops.iter().any(such)))
    }
    fn has_to_be_made(&self) -> bool {
        true
    }
    fn key(&self) -> &'static str {
        "steps"
    }
    fn regions(&self) -> Vec<&str> {
        self.regions.iter().map(|r| r.name.as_str()).collect()
    }
}

/// True if any step is such, those of repetitions included.
fn any(steps: &[Step], such: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|s| match s {
        Step::Repeat { steps, .. } => any(steps, such),
        step => such(step),
    })
}

/// The running program.
struct Phased {
    regions: Vec<PhasedRegion>,
    slots: Vec<FileSlot>,
    files: Vec<FileSpec>,
    phases: Vec<String>,
    code: Vec<Instr>,
    /// Where the next window of each region begins.
    places: Vec<u32>,
    /// Next instruction, and how much of it is done (pages or accesses).
    next: usize,
    done: u64,
    /// Turns left of the repetitions that the next instruction is in, innermost last.
    turns: Vec<u32>,
}

impl Phased {
    fn access(&self, region: usize, first: u32, count: u32, write: bool) -> Op {
        let kind = &self.regions[region].kind;
        memory::access(RegionId(region as u16), self.slots[region], kind, first, count, write)
    }

    /// Goes on with pages `done..` of `repeat` passes over a range; true at the end.
    fn touch(
        &mut self,
        region: usize,
        (from, count): (u32, u32),
        write: bool,
        repeat: u32,
        ops: &mut Vec<Op>,
    ) -> bool {
        let total = u64::from(count) * u64::from(repeat);
        while self.done < total && ops.len() < BATCH {
            let offset = (self.done % u64::from(count)) as u32;
            let n = (count - offset).min(RUN_PAGES);
            ops.push(self.access(region, from + offset, n, write));
            self.done += u64::from(n);
        }
        self.done == total
    }

    /// A turn of a window, as one batch: up to the end of the region, then from its start.
    fn window(
        &mut self,
        region: usize,
        (count, advance): (u32, u32),
        write: bool,
        ops: &mut Vec<Op>,
    ) {
        let (pages, from) = (self.regions[region].pages, self.places[region]);
        let moved = (u64::from(from) + u64::from(advance)) % u64::from(pages);
        self.places[region] = moved as u32;
        let (mut left, mut first) = (count, from);
        while left > 0 {
            let n = left.min(pages - first).min(RUN_PAGES);
            ops.push(self.access(region, first, n, write));
            left -= n;
            first = (first + n) % pages;
        }
    }

    /// Carries out the next instruction, or a part of it; true when it is finished.
    fn step(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) -> bool {
        match &mut self.code[self.next] {
            Instr::Op(op) => ops.push(*op),
            Instr::Timed(op, time) => ops.push(op(time.time(rng))),
            Instr::Map(i) => {
                let (i, r) = (*i, &self.regions[*i]);
                self.places[i] = 0;
                let id = RegionId(i as u16);
                ops.extend(memory::mmap(id, r.pages, &r.kind, self.slots[i], r.flags));
            }
            &mut Instr::Touch { region, from, count, write, repeat } => {
                return self.touch(region, (from, count), write, repeat, ops);
            }
            &mut Instr::ReadInto { file, from, count, into } => {
                while self.done < u64::from(count) && ops.len() < BATCH {
                    let first = from + self.done as u32;
                    let n = (from + count - first).min(READ_PIECE);
                    ops.extend([
                        Op::Read { file, first, count: n },
                        self.access(into, first, n, true),
                    ]);
                    self.done += u64::from(n);
                }
                return self.done == u64::from(count);
            }
            &mut Instr::Window { region, count, advance, write } => {
                self.window(region, (count, advance), write, ops);
            }
            Instr::Zipf { region, sampler, accesses, write_permille } => {
                let (id, permille) = (*region, *write_permille);
                let (kind, slot) = (&self.regions[id].kind, self.slots[id]);
                let n = (*accesses - self.done).min((BATCH - ops.len()) as u64);
                ops.extend((0..n).map(|_| {
                    let page = sampler.sample(rng);
                    let write = permille > 0 && (permille == 1000 || rng.below(1000) < permille);
                    memory::access(RegionId(id as u16), slot, kind, page, 1, write)
                }));
                self.done += n;
                return self.done == *accesses;
            }
            // The jumps put `next` where it belongs and leave the step to the caller.
            &mut Instr::Loop { times, end } => {
                if times == 0 {
                    self.next = end - 1;
                } else {
                    self.turns.push(times);
                }
            }
            &mut Instr::End { begin } => {
                let left = self.turns.last_mut().expect("an end follows its begin");
                *left -= 1;
                if *left == 0 {
                    self.turns.pop();
                } else {
                    self.next = begin;
                }
            }
        }
        true
    }
}

impl Workload for Phased {
    fn files(&self) -> Vec<FileSpec> {
        self.files.clone()
    }
    fn phases(&self) -> Vec<String> {
        self.phases.clone()
    }
    /// One record is the work between two steps `records`.
    fn record(&self) -> Option<&'static str> {
        let one = |i: &Instr| matches!(i, Instr::Op(Op::Records(1)));
        self.code.iter().any(one).then_some("record")
    }
    fn fill(&mut self, _cx: &WorkloadCx, rng: &mut Rng, ops: &mut Vec<Op>) {
        while self.next < self.code.len() && ops.len() < BATCH {
            if self.step(rng, ops) {
                self.next += 1;
                self.done = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use crate::law::Law;

    fn region(name: &str, pages: u32) -> PhasedRegion {
        let flags = VmaFlags::default();
        PhasedRegion { name: name.into(), pages, kind: MemoryKind::Anon, flags }
    }
    fn touch(region: &str, count: u32, write: bool) -> Step {
        Step::Touch { region: region.into(), from: 0, count, write, repeat: 1 }
    }
    fn allocate(names: &[&str]) -> Vec<Step> {
        let populate = false;
        names.iter().map(|n| Step::Allocate { region: (*n).into(), populate }).collect()
    }
    fn run(regions: Vec<PhasedRegion>, steps: Vec<Step>) -> Vec<Op> {
        let mut w = PhasedConfig { regions, steps }.workloads().unwrap();
        assert_eq!(w.len(), 1);
        harness::all(w[0].as_mut(), Ticking(0))
    }
    /// Pages `0..n` of a region.
    fn pages(region: u16, n: u32, write: bool) -> impl Iterator<Item = (u16, u32, bool)> {
        (0..n).map(move |p| (region, p, write))
    }

    /// Each of two sleeps and a computing step has draws of its own.
    #[test]
    fn times_of_steps_follow_their_laws() {
        let law = Law::Gamma { shape: 2.0, scale: 4e6 };
        let drawn = Varying::Drawn { law, min: 0, max: u64::MAX };
        let steps = vec![Step::Sleep(drawn), Step::Compute(drawn), Step::Sleep(drawn)];
        let ops = run(vec![region("a", 1)], vec![Step::Repeat { times: 1000, steps }]);
        let of = |nth: usize| -> Vec<f64> {
            let time = |o: &Op| match (o, nth) {
                (Op::Sleep(t), 0 | 2) | (Op::Compute(t), 1) => t.as_nanos() as f64,
                _ => panic!("{o:?} in place {nth}"),
            };
            ops.iter().skip(nth).step_by(3).map(time).collect()
        };
        let all = [0, 1, 2].map(of);
        all.iter().for_each(|times| harness::follow(times, law));
        // Of independent pairs the correlation has a standard error of 1/sqrt(n).
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let pairs = all[a].iter().zip(&all[b]);
            let product = pairs.map(|(x, y)| (x - law.mean()) * (y - law.mean())).sum::<f64>();
            let correlation = product / 1000.0 / law.variance();
            assert!(correlation.abs() < 5.0 / 1000.0_f64.sqrt(), "{a}, {b}: {correlation}");
        }
    }

    /// Fifty hot pages, then two times fifty that are used once, then hot again.
    #[test]
    fn fifty_hot_pages() {
        let regions = vec![region("h", 50), region("u", 50), region("v", 50)];
        let mut steps = allocate(&["h", "u", "v"]);
        steps.extend([touch("h", 50, true), Step::Phase("start".into())]);
        steps.extend([touch("u", 50, true), touch("v", 50, true)]);
        steps.extend([Step::Phase("pressure".into()), touch("h", 50, false)]);
        steps.push(Step::Phase("again".into()));
        let ops = run(regions, steps);
        let once = pages(1, 50, true).chain(pages(2, 50, true));
        let expected: Vec<_> = pages(0, 50, true).chain(once).chain(pages(0, 50, false)).collect();
        assert_eq!(harness::touches(&ops), expected);
        // Three mappings, four runs, three phase ends.
        assert_eq!(ops.len(), 10);
    }

    /// Rounds of the detection example: each touches the working set of fifty pages and
    /// then fifty pages that were never used before.
    #[test]
    fn detection_rounds() {
        let regions = vec![region("h", 50), region("w", 50), region("once", 1000)];
        let mut steps = allocate(&["h", "w", "once"]);
        let once = Step::Window { region: "once".into(), count: 50, advance: 50, write: true };
        steps.extend([touch("h", 50, true), touch("w", 50, true), once.clone()]);
        let round = vec![touch("w", 50, false), once];
        steps.push(Step::Repeat { times: 7, steps: round });
        let t = harness::touches(&run(regions, steps));
        let mut expected: Vec<_> = pages(0, 50, true).chain(pages(1, 50, true)).collect();
        expected.extend(pages(2, 50, true));
        for k in 0..7 {
            expected.extend(pages(1, 50, false));
            expected.extend((0..50).map(|p| (2, 50 * (k + 1) + p, true)));
        }
        assert_eq!(t, expected);
    }

    /// The detection experiment: 512 MiB cold, two hot sets of 96 MiB, fifteen times 128
    /// MiB of cold, moving, and all of the second hot set.
    #[test]
    fn detection_experiment() {
        let (cold, hot, window) = (131_072, 24_576, 32_768);
        let regions = vec![region("cold", cold), region("hot1", hot), region("hot2", hot)];
        let mut steps = allocate(&["cold", "hot1", "hot2"]);
        steps.extend([touch("cold", cold, true), touch("hot1", hot, true)]);
        let advice = Advice::PopulateRead;
        let activate = Step::Madvise { region: "hot1".into(), from: 0, count: hot, advice };
        steps.push(Step::Repeat { times: 3, steps: vec![activate] });
        steps.push(touch("hot2", hot, true));
        let moving =
            Step::Window { region: "cold".into(), count: window, advance: window, write: false };
        let turn = vec![moving, touch("hot2", hot, false), Step::Phase("loop".into())];
        steps.push(Step::Repeat { times: 15, steps: turn });
        let ops = run(regions, steps);
        let mut expected: Vec<_> = pages(0, cold, true).chain(pages(1, hot, true)).collect();
        expected.extend(pages(2, hot, true));
        for k in 0..15 {
            expected.extend((0..window).map(|p| (0, (k * window + p) % cold, false)));
            expected.extend(pages(2, hot, false));
        }
        assert!(harness::touches(&ops) == expected);
        assert_eq!(ops.iter().filter(|o| matches!(o, Op::Madvise { .. })).count(), 3);
        assert_eq!(ops.iter().filter(|o| **o == Op::PhaseEnd(0)).count(), 15);
        // 57344 pages a turn, as published.
        assert_eq!(window + hot, 57_344);
    }

    #[test]
    fn records_that_end_one_at_a_time_have_a_latency() {
        let of = |records: &[u32]| {
            let mut steps = allocate(&["a"]);
            steps.extend(records.iter().map(|&n| Step::Records(n)));
            let config = PhasedConfig { regions: vec![region("a", 6)], steps };
            config.workloads().unwrap()[0].record()
        };
        assert_eq!([of(&[1]), of(&[5, 1])], [Some("record"); 2]);
        assert_eq!([of(&[]), of(&[5])], [None; 2]);
    }

    #[test]
    fn windows_wrap_and_draws_repeat() {
        let turn = vec![
            Step::Window { region: "a".into(), count: 4, advance: 3, write: false },
            Step::Repeat { times: 0, steps: vec![touch("a", 1, true)] },
            Step::Repeat { times: 2, steps: vec![Step::Records(1)] },
        ];
        let mut steps = allocate(&["a"]);
        steps.push(Step::Repeat { times: 3, steps: turn });
        let (theta, map) = (0.9, RankMap::Scatter);
        steps.push(Step::Zipf {
            region: "a".into(),
            theta,
            map,
            accesses: 3000,
            write_permille: 1000,
        });
        let ops = run(vec![region("a", 6)], steps);
        let t = harness::touches(&ops);
        let moved: Vec<u32> = t[..12].iter().map(|t| t.1).collect();
        assert_eq!(moved, [0, 1, 2, 3, 3, 4, 5, 0, 0, 1, 2, 3]);
        assert_eq!(t.len(), 3012);
        assert!(t[12..].iter().all(|t| t.2));
        assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 6);
    }

    #[test]
    fn contradictions_are_found_before_the_run() {
        let message = |steps: Vec<Step>| {
            let regions = vec![region("a", 10), region("b", 10)];
            PhasedConfig { regions, steps }.workloads().err().unwrap().to_string()
        };
        assert_eq!(
            message(vec![touch("a", 1, true)]),
            "steps[0]: region `a` is not mapped here; allocate it before"
        );
        assert_eq!(message(allocate(&["c"])), "steps[0]: no region `c`; write one of a, b");
        let mut steps = allocate(&["a"]);
        steps.push(Step::Repeat { times: 2, steps: vec![touch("a", 11, true)] });
        assert_eq!(
            message(steps),
            "steps[1].steps[0]: 11 pages from page 0 of region `a`, which has 10; write at \
             least one and end within it"
        );
        let inside = Step::Repeat { times: 2, steps: allocate(&["b"]) };
        assert!(message(vec![inside]).contains("both inside or both outside"));
        let read = |region: &str, into: Option<&str>| Step::Read {
            region: region.into(),
            from: 0,
            count: 1,
            into: into.map(Into::into),
            uncached: None,
        };
        assert!(message(vec![read("a", None)]).contains("is no file"));
        let regions = vec![
            PhasedRegion { kind: MemoryKind::FileRead("f".into()), ..region("f", 1) },
            region("a", 10),
        ];
        let steps = vec![read("f", Some("a"))];
        let e = PhasedConfig { regions, steps }.workloads().err().expect("it is not mapped");
        assert_eq!(e.to_string(), "steps[0]: region `a` is not mapped here; allocate it before");
    }

    /// By hand: 70 pages from page 5 on are pieces of 32, 32 and 6, and each is written to the
    /// buffer before the next is read.
    #[test]
    fn a_read_fills_its_buffer_piece_by_piece() {
        let file = PhasedRegion { kind: MemoryKind::FileRead("f".into()), ..region("f", 100) };
        let mut steps = allocate(&["a"]);
        let (region_, into) = ("f".to_string(), Some("a".to_string()));
        steps.push(Step::Read { region: region_, from: 5, count: 70, into, uncached: None });
        let ops = run(vec![file, region("a", 100)], steps);
        let read = |first, count| Op::Read { file: FileSlot(0), first, count };
        assert_eq!([ops[1], ops[3], ops[5]], [read(5, 32), read(37, 32), read(69, 6)]);
        assert_eq!(ops.len(), 7);
        let written: Vec<_> = (5..75).map(|p| (1, p, true)).collect();
        assert_eq!(harness::touches(&ops), written);
    }
}
