//! A script as a source of operations.
//!
//! Scans become runs of up to 4096 pages, draws single touches in batches of about a thousand. `grow`
//! looks at free memory before every step, so each step is a batch of its own.
//!
//! Filling a page writes all its 4096 bytes, touching one writes a single byte; both are
//! one write here, because the machine counts pages. [`Pace`] has the difference in time. A page
//! with contents is drawn and written in full by each write.

mod chunks;
mod contents;

use super::{Command, Pace, PageRange, RegionKind, Script, TableRef, UNCACHED_PAGES, Via};
use crate::sampler::CumZipf;
use mmsim_core::base::id::KdamondId;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::{Rng, SplitMix64};
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::{GFP_KERNEL, GFP_USER, GfpFlags};
use mmsim_core::workload::{
    Advice, BlockHandle, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx,
};

/// Operations per batch, about.
const BATCH: usize = 1024;
/// Pages per run at most.
const RUN_PAGES: u32 = 4096;

/// The program that carries out a script. One thread.
#[derive(Debug)]
pub struct ScriptWorkload {
    commands: Vec<Command>,
    files: Vec<FileSpec>,
    phases: Vec<String>,
    /// True if the script has groups.
    in_groups: bool,
    tables: Vec<CumZipf>,
    random: SplitMix64,
    /// The next command, and how much of it is done (accesses or pages).
    next: usize,
    done: u64,
    /// Position of the cyclic pass of `mixscan`, relative to its start.
    passed: u32,
    /// Blocks asked for on behalf of the kernel: the number of the next.
    blocks: u32,
    pace: Pace,
    /// Regions with contents: drawn bytes of their pages, in turn.
    contents: Vec<(RegionId, Vec<u16>)>,
    /// State of `pring`: blocks and pages of the socket that is being set up, and the number of
    /// these that are whole blocks.
    socket: (Vec<BlockHandle>, u32),
    /// True if `vmalloc` tries large blocks first.
    large_vmalloc: bool,
    /// The `vmalloc` that waits for such a block.
    vmalloc: Option<Vmalloc>,
}

/// Rest of a `vmalloc`, and the order of its blocks (Linux 7.3 mm/vmalloc.c,
/// `vm_area_alloc_pages`): large ones without reclaim as long as there are any, then single pages.
#[derive(Clone, Copy, Debug, Default)]
struct Vmalloc {
    pages: u32,
    order: u8,
}

impl Vmalloc {
    fn after(self, failed: bool) -> Vmalloc {
        match failed {
            true => Vmalloc { order: self.order - 1, ..self },
            false => {
                let pages = self.pages - (1 << self.order);
                let most = pages.checked_ilog2().unwrap_or(0) as u8;
                Vmalloc { pages, order: self.order.min(most) }
            }
        }
    }
}

impl ScriptWorkload {
    /// The script must be free of commands that are not modelled.
    pub(super) fn new(script: &Script) -> Self {
        let phases = script.phases.clone();
        let all = ScriptWorkload::of(&script.commands, script);
        ScriptWorkload { phases, ..all.with_contents(script.contents_of(None)) }
    }

    /// These commands of a script; snapshots are taken by its first process alone.
    pub(super) fn of(commands: &[Command], script: &Script) -> Self {
        ScriptWorkload {
            commands: commands.to_vec(),
            files: script.files.clone(),
            phases: Vec::new(),
            in_groups: !script.setup.groups.is_empty(),
            tables: script.tables.iter().map(|t| CumZipf::new(t.ranks, t.theta)).collect(),
            random: SplitMix64::new(0),
            next: 0,
            done: 0,
            passed: 0,
            blocks: 0,
            pace: Pace::default(),
            contents: Vec::new(),
            socket: (Vec::new(), 0),
            large_vmalloc: false,
            vmalloc: None,
        }
    }

    /// The same program, which takes time of its own between accesses.
    #[must_use]
    pub fn paced(self, pace: Pace) -> Self {
        ScriptWorkload { pace, ..self }
    }

    /// The same program on a kernel whose `vmalloc` asks for large blocks first.
    #[must_use]
    pub fn with_large_vmalloc(self, large_vmalloc: bool) -> Self {
        ScriptWorkload { large_vmalloc, ..self }
    }

    /// A request for unmovable memory.
    fn ask(&mut self, order: u8, flags: GfpFlags) -> Op {
        let handle = BlockHandle(self.blocks);
        self.blocks += 1;
        Op::KernelAlloc { order, migratetype: Migratetype::Unmovable, flags, handle }
    }

    /// The next pages of `pipes`; false at its end.
    fn pipes(&mut self, max: u64, floor: u64, free: u64, ops: &mut Vec<Op>) -> bool {
        let step = (max - self.done).min(64);
        if step == 0 || self.done > 0 && free <= floor {
            return false;
        }
        ops.extend((0..step).map(|_| self.ask(0, GFP_USER)));
        self.done += step;
        true
    }

    /// The next block of `pring`, or what follows from the last one; false at its end. `failed`:
    /// the last allocation failed.
    fn pring(
        &mut self,
        (blocks, order): (u32, u8),
        (per, hold): (u32, bool),
        failed: Option<bool>,
        ops: &mut Vec<Op>,
    ) -> bool {
        let lacking = match (failed, self.vmalloc.take()) {
            (Some(failed), Some(v)) => v.after(failed),
            // The kernel makes up for it with `vmalloc`.
            (Some(true), None) => {
                Vmalloc { pages: 1 << order, order: if self.large_vmalloc { order } else { 0 } }
            }
            (Some(false), None) => {
                self.socket.1 += 1;
                Vmalloc::default()
            }
            (None, _) => Vmalloc::default(),
        };
        if lacking.pages > 0 {
            self.vmalloc_some(lacking, ops);
            return true;
        }
        let last = self.done == u64::from(blocks);
        if self.done > 0 && (last || self.done.is_multiple_of(per.into())) {
            let (held, whole) = std::mem::take(&mut self.socket);
            if !hold || whole == 0 {
                ops.extend(held.into_iter().map(|handle| Op::KernelFree { handle }));
            }
        }
        if last {
            return !ops.is_empty();
        }
        let block = self.ask(order, GFP_KERNEL.with(GfpFlags::NORETRY));
        ops.push(block);
        self.socket.0.push(BlockHandle(self.blocks - 1));
        self.done += 1;
        true
    }

    /// The next large block of a `vmalloc`, without reclaim, or all the pages that it lacks.
    fn vmalloc_some(&mut self, v: Vmalloc, ops: &mut Vec<Op>) {
        let (flags, n) = match v.order {
            0 => (GFP_KERNEL.with(GfpFlags::BULK), v.pages),
            _ => (GFP_KERNEL.without(GfpFlags::DIRECT_RECLAIM), 1),
        };
        for _ in 0..n {
            let page = self.ask(v.order, flags);
            ops.push(page);
            self.socket.0.push(BlockHandle(self.blocks - 1));
        }
        self.vmalloc = (v.order > 0).then_some(v);
    }

    /// Part of a command that makes `total` accesses which goes into this batch, which has room for
    /// `room`; counted as done.
    fn take(&mut self, total: u64, room: u64) -> u64 {
        let part = (total - self.done).min(room);
        self.done += part;
        part
    }

    /// The pages `done..` of a pass over `range`, in runs.
    fn scan(&mut self, range: PageRange, write: bool, times: u32, ops: &mut Vec<Op>) -> bool {
        let total = u64::from(range.count) * u64::from(times);
        let alone = write && self.drawing(range.region, range.first).is_some();
        while self.done < total && ops.len() < BATCH {
            let offset = (self.done % u64::from(range.count)) as u32;
            let first = range.first + offset;
            if alone {
                self.touch(range.region, write, first, ops);
                self.done += 1;
                continue;
            }
            let count = (range.count - offset).min(RUN_PAGES);
            ops.push(Op::Access(Run { region: range.region, write, first, count }));
            self.done += u64::from(count);
        }
        self.done == total
    }

    /// A page of a law; drawing it takes time.
    fn page(&mut self, draw: TableRef, ops: &mut Vec<Op>) -> u32 {
        compute(self.pace.draw, ops);
        draw.map.page(self.tables[draw.table as usize].sample(&mut self.random))
    }

    /// True in `permille` of a thousand; takes a random number.
    fn chance(&mut self, permille: u32) -> bool {
        self.random.next_u64() % 1000 < u64::from(permille)
    }

    /// The write test of the reference: without writes it takes no random number.
    fn writes(&mut self, permille: u32) -> bool {
        permille > 0 && self.chance(permille)
    }

    /// The next step of `grow`; false at its end.
    fn grow(&mut self, range: PageRange, floor: u64, free: u64, ops: &mut Vec<Op>) -> bool {
        let above = free.saturating_sub(floor);
        let step = if above <= 64 { 8 } else { above / 2 };
        let step = step.min(u64::from(range.count) - self.done);
        if above == 0 || step == 0 {
            return false;
        }
        let (first, count) = (self.done as u32, step as u32);
        self.fill_pages(PageRange { first, count, ..range }, ops);
        self.done += step;
        true
    }

    /// Goes on with `command`; true if it is finished.
    fn step(&mut self, command: Command, ops: &mut Vec<Op>) -> bool {
        let room = (BATCH - ops.len()) as u64;
        match command {
            Command::Map { region, pages, kind } => ops.push(map(region, pages, kind)),
            Command::Unmap { region } => ops.push(Op::Munmap { region }),
            Command::Seed(seed) => self.random = SplitMix64::new(seed),
            Command::Sleep(t) => ops.push(Op::Sleep(t)),
            Command::Spawn | Command::Meet => ops.push(Op::Barrier),
            Command::Reclaim { memcg, pages } => {
                ops.push(Op::MemcgReclaim { memcg: Some(memcg), pages, swappiness: None });
            }
            Command::KdamondOn => ops.push(Op::KdamondOn(KdamondId(0))),
            Command::KdamondNote(what) => ops.push(Op::KdamondNote(KdamondId(0), what)),
            Command::Snap(i) => {
                ops.push(Op::PhaseEnd(i));
                // A snapshot reads the files of all groups.
                if self.in_groups {
                    ops.push(Op::MemoryStat);
                }
            }
            Command::Madvise(PageRange { region, first, count }, advice) => {
                ops.push(Op::Madvise { region, first, count, advice });
            }
            Command::Fill(range) => {
                let first = range.first + self.done as u32;
                let most = if self.pace.fill == SimDuration::ZERO { u64::MAX } else { room };
                let count = self.take(range.count.into(), most) as u32;
                self.fill_pages(PageRange { first, count, ..range }, ops);
                return self.done == u64::from(range.count);
            }
            Command::Scan { range, write, times } => return self.scan(range, write, times, ops),
            Command::Zipf { region, draw, accesses, write_permille } => {
                for _ in 0..self.take(accesses, room) {
                    let first = self.page(draw, ops);
                    let write = self.writes(write_permille);
                    self.touch(region, write, first, ops);
                }
                return self.done == accesses;
            }
            Command::MixScan { region, draw, accesses, scan, scan_permille, via } => {
                return self.mixscan((region, draw), accesses, (scan, scan_permille), via, ops);
            }
            Command::Mix2 {
                first,
                first_draw,
                second,
                second_draw,
                accesses,
                second_permille,
                write_permille,
            } => {
                for _ in 0..self.take(accesses, room) {
                    if self.chance(second_permille) {
                        let page = self.page(second_draw, ops);
                        ops.push(touch(second, false, page));
                    } else {
                        let page = self.page(first_draw, ops);
                        let write = self.writes(write_permille);
                        self.touch(first, write, page, ops);
                    }
                }
                return self.done == accesses;
            }
            Command::PreadScan { file, first, count } => {
                // One system call a page, as measured: readahead sees single pages.
                let from = first + self.done as u32;
                let n = self.take(u64::from(count), room) as u32;
                ops.extend((from..from + n).map(|first| Op::Read { file, first, count: 1 }));
                return self.done == u64::from(count);
            }
            Command::ReadUncached { file, first, count, how } => {
                let pieces = (first..first + count).step_by(UNCACHED_PAGES as usize);
                ops.extend(pieces.map(|from| {
                    let count = UNCACHED_PAGES.min(first + count - from);
                    Op::Uncached { file, first: from, count, write: false, how }
                }));
            }
            Command::Fadvise { file, first, count, advice } => {
                ops.push(Op::Fadvise { file, first, count, advice });
            }
            Command::Mlock(PageRange { region, first, count }) => {
                ops.push(Op::Mlock { region, first, count, onfault: false });
            }
            Command::Munlock(PageRange { region, first, count }) => {
                ops.push(Op::Munlock { region, first, count });
            }
            Command::Lazy(lazy) => return self.lazy(&lazy, ops),
            Command::Ebizzy(ebizzy) => return self.ebizzy(&ebizzy, ops),
            Command::Punch { region, pages, period, keep } => {
                return self.punch((region, pages), period, keep, ops);
            }
            Command::Thp { region, pieces } => {
                if self.done == 0 {
                    let pages = pieces << 9;
                    ops.push(map(region, pages, RegionKind::Anon));
                    let (first, count, advice) = (0, pages, Advice::HugePage);
                    ops.push(Op::Madvise { region, first, count, advice });
                }
                let from = self.done as u32;
                let n = self.take(pieces.into(), room.max(1)) as u32;
                ops.extend((from..from + n).map(|i| touch(region, true, i << 9)));
                return self.done == u64::from(pieces);
            }
            Command::HugePool(pages) => ops.push(Op::HugePool { pages }),
            Command::CompactMemory => ops.push(Op::CompactMemory),
            Command::Grow { .. } | Command::Pipes { .. } | Command::Pring { .. } => {
                unreachable!("batches of their own")
            }
        }
        true
    }

    /// Gives back the end of each period.
    fn punch(
        &mut self,
        (region, pages): (RegionId, u32),
        period: u32,
        keep: u32,
        ops: &mut Vec<Op>,
    ) -> bool {
        let total = u64::from(pages);
        while self.done < total && ops.len() < BATCH {
            let first = self.done + u64::from(keep);
            self.done += u64::from(period);
            let count = self.done.min(total).saturating_sub(first);
            if count > 0 {
                let (first, count, advice) = (first as u32, count as u32, Advice::DontNeed);
                ops.push(Op::Madvise { region, first, count, advice });
            }
        }
        self.done >= total
    }

    fn mixscan(
        &mut self,
        (region, draw): (RegionId, TableRef),
        accesses: u64,
        (scan, permille): (PageRange, u32),
        via: Via,
        ops: &mut Vec<Op>,
    ) -> bool {
        for _ in 0..self.take(accesses, (BATCH - ops.len()) as u64) {
            let on = self.chance(permille);
            let page = if on {
                let at = u64::from(scan.first) + u64::from(self.passed);
                self.passed = (self.passed + 1) % scan.count;
                (at % u64::from(scan.count)) as u32
            } else {
                self.page(draw, ops)
            };
            ops.push(match via {
                Via::Mapping => touch(if on { scan.region } else { region }, false, page),
                Via::Pread(drawn, scanned) => {
                    Op::Read { file: if on { scanned } else { drawn }, first: page, count: 1 }
                }
            });
        }
        self.done == accesses
    }
}

impl Workload for ScriptWorkload {
    fn files(&self) -> Vec<FileSpec> {
        self.files.clone()
    }
    fn phases(&self) -> Vec<String> {
        self.phases.clone()
    }
    fn fill(&mut self, cx: &WorkloadCx, _rng: &mut Rng, ops: &mut Vec<Op>) {
        while let Some(&command) = self.commands.get(self.next)
            && ops.len() < BATCH
        {
            // What looks at free memory, or at what it got, waits until all before is done.
            let alone = matches!(
                command,
                Command::Grow { .. } | Command::Pipes { .. } | Command::Pring { .. }
            );
            if alone && !ops.is_empty() {
                return;
            }
            let goes_on = match command {
                Command::Grow { region, max, floor } => {
                    let range = PageRange { region, first: 0, count: max };
                    self.grow(range, floor, cx.free_pages, ops)
                }
                Command::Pipes { max, floor } => self.pipes(max, floor, cx.free_pages, ops),
                Command::Pring { blocks, order, per, hold } => {
                    // One result: of the block; more are those of single pages.
                    let failed = match cx.kernel_allocs {
                        [one] if self.done > 0 => Some(one.pfn.is_none()),
                        _ => None,
                    };
                    self.pring((blocks, order), (per, hold), failed, ops)
                }
                _ => false,
            };
            if goes_on {
                return;
            }
            let finished = alone || self.step(command, ops);
            if finished {
                self.next += 1;
                self.done = 0;
                self.passed = 0;
            }
        }
    }
}

fn compute(time: SimDuration, ops: &mut Vec<Op>) {
    if time > SimDuration::ZERO {
        ops.push(Op::Compute(time));
    }
}

fn touch(region: RegionId, write: bool, first: u32) -> Op {
    Op::Access(Run { region, write, first, count: 1 })
}

fn map(region: RegionId, pages: u32, kind: RegionKind) -> Op {
    let (kind, random) = match kind {
        RegionKind::Anon => (MapKind::Anon, false),
        RegionKind::Shmem(file) => (MapKind::Shmem { file, offset: 0 }, false),
        RegionKind::File { file, random } => {
            (MapKind::File { file, offset: 0, shared: true }, random)
        }
    };
    let flags = VmaFlags { rand_read: random, ..VmaFlags::default() };
    Op::Mmap { region, pages, kind, flags, at: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::workload::{FileSlot, Pressure};

    /// All batches of a script, free memory given by a function of the operations so far.
    fn batches(lines: &[&str], free: impl Fn(&[Vec<Op>]) -> u64) -> Vec<Vec<Op>> {
        let mut w = Script::parse(lines).unwrap().workload().unwrap();
        let mut rng = Rng::for_purpose(1, "unused");
        let mut all = Vec::new();
        loop {
            let cx = WorkloadCx {
                now: SimTime::ZERO,
                free_pages: free(&all),
                kernel_allocs: &[],
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            let mut ops = Vec::new();
            w.fill(&cx, &mut rng, &mut ops);
            if ops.is_empty() {
                return all;
            }
            all.push(ops);
        }
    }

    pub(super) fn run(lines: &[&str]) -> Vec<Op> {
        batches(lines, |_| 0).concat()
    }

    /// Single page touches as (region, page, write), the rest left out.
    pub(super) fn touches(ops: &[Op]) -> Vec<(u16, u32, bool)> {
        ops.iter()
            .filter_map(|op| match *op {
                Op::Access(r) => Some((r.first..r.first + r.count).map(move |p| (r, p))),
                _ => None,
            })
            .flatten()
            .map(|(r, p)| (r.region.0, p, r.write))
            .collect()
    }

    /// The published generator, written down again without tables for the search.
    pub(super) struct Naive {
        random: SplitMix64,
        sums: Vec<f64>,
    }

    impl Naive {
        pub(super) fn new(seed: u64, n: u32, theta: f64) -> Self {
            let mut sums = Vec::new();
            let mut sum = 0.0;
            for i in 1..=n {
                sum += f64::from(i).powf(-theta);
                sums.push(sum);
            }
            Naive { random: SplitMix64::new(seed), sums }
        }
        pub(super) fn page(&mut self, mul: u64, add: u64) -> u32 {
            let n = self.sums.len();
            let u = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let t = u * self.sums[n - 1];
            let rank = self.sums.iter().position(|&s| s > t).unwrap_or(n - 1);
            ((rank as u64 * mul + add) % n as u64) as u32
        }
        fn below(&mut self, permille: u64) -> bool {
            self.random.next_u64() % 1000 < permille
        }
    }

    #[test]
    fn zipf_with_writes_and_the_state_running_on() {
        let ops = run(&[
            "anon 0 500",
            "table 0 400 0.9",
            "seed 7",
            "zipf 0 0 1500 300 247 3",
            "snap a",
            "zipf 0 0 100 0 1 0",
        ]);
        let mut g = Naive::new(7, 400, 0.9);
        let mut expected: Vec<(u16, u32, bool)> = (0..1500)
            .map(|_| {
                let page = g.page(247, 3);
                (0, page, g.below(300))
            })
            .collect();
        expected.extend((0..100).map(|_| (0, g.page(1, 0), false)));
        assert_eq!(touches(&ops), expected);
        assert_eq!(ops.iter().position(|o| *o == Op::PhaseEnd(0)), Some(1501));
    }

    #[test]
    fn mixscan_wraps_and_preads() {
        let lines = |mode| {
            let last = format!("mixscan 2 0 3000 30 0 1 6 8 400 {mode}");
            vec![
                "file 2 /mnt/z 100 normal".to_string(),
                "file 1 /mnt/s 8 random".into(),
                "table 0 49 0.5".into(),
                "seed 3".into(),
                last,
            ]
        };
        let mut g = Naive::new(3, 49, 0.5);
        let mut at = 6;
        let expected: Vec<(u16, u32)> = (0..3000)
            .map(|_| {
                if g.below(400) {
                    let page = at;
                    at = (at + 1) % 8;
                    (1, page)
                } else {
                    (2, g.page(30, 0))
                }
            })
            .collect();
        let text = lines("mmap");
        let mapped = run(&text.iter().map(String::as_str).collect::<Vec<_>>());
        let got: Vec<(u16, u32)> = touches(&mapped).iter().map(|t| (t.0, t.1)).collect();
        assert_eq!(got, expected);
        let text = lines("pread");
        let read = run(&text.iter().map(String::as_str).collect::<Vec<_>>());
        let got: Vec<(u16, u32)> = read
            .iter()
            .filter_map(|op| match *op {
                Op::Read { file, first, count: 1 } => Some((2 - file.0, first)),
                _ => None,
            })
            .collect();
        assert_eq!(got, expected);
        let kind = MapKind::File { file: FileSlot(1), offset: 0, shared: true };
        let flags = VmaFlags { rand_read: true, ..VmaFlags::default() };
        assert_eq!(mapped[1], Op::Mmap { region: RegionId(1), pages: 8, kind, flags, at: None });
    }

    #[test]
    fn mix2_takes_its_numbers_in_order() {
        let ops = run(&[
            "anon 0 64",
            "file 1 /mnt/z 64 normal",
            "table 0 64 0.9",
            "seed 1",
            "mix2 0 0 41 0 1 0 41 5 2000 500 300",
        ]);
        let mut g = Naive::new(1, 64, 0.9);
        let expected: Vec<(u16, u32, bool)> = (0..2000)
            .map(|_| {
                if g.below(500) {
                    (1, g.page(41, 5), false)
                } else {
                    let page = g.page(41, 0);
                    (0, page, g.below(300))
                }
            })
            .collect();
        assert_eq!(touches(&ops), expected);
    }

    /// The detection scenario in small: long passes in long runs, hints, snapshots.
    #[test]
    fn passes_and_hints() {
        let ops = run(&[
            "anon 0 9000",
            "fill 0 0 9000",
            "madvise 0 10 20 populate_read",
            "scan 0 100 3 r 2",
            "sleepms 5",
            "unmap 0",
            "snapx end",
        ]);
        let region = RegionId(0);
        let access = |first, count, write| Op::Access(Run { region, write, first, count });
        let advice = Advice::PopulateRead;
        assert_eq!(
            ops[1..],
            [
                access(0, 4096, true),
                access(4096, 4096, true),
                access(8192, 808, true),
                Op::Madvise { region, first: 10, count: 20, advice },
                access(100, 3, false),
                access(100, 3, false),
                Op::Sleep(mmsim_core::base::time::SimDuration::from_millis(5)),
                Op::Munmap { region },
                Op::PhaseEnd(0),
            ]
        );
    }

    /// Each step sees the free pages that the one before left: half of what is above the
    /// floor, eight at a time when little is left, and never below it by more than seven.
    #[test]
    fn grow_halves_its_way_down_to_the_floor() {
        let start = 1000;
        let written = |done: &[Vec<Op>]| touches(&done.concat()).len() as u64;
        let all = batches(&["anon 0 5000", "grow 0 5000 100"], |done| start - written(done));
        assert_eq!(all[0].len(), 1, "the mapping comes first, alone");
        let steps: Vec<u64> = all[1..].iter().map(|b| written(std::slice::from_ref(b))).collect();
        assert_eq!(steps, [450, 225, 112, 56, 8, 8, 8, 8, 8, 8, 8, 8]);
        let pages: Vec<u32> = touches(&all.concat()).iter().map(|t| t.1).collect();
        assert_eq!(pages, (0..907).collect::<Vec<u32>>());
        // The region's limit ends it too.
        let all =
            batches(&["anon 0 300", "grow 0 300 100", "snap x"], |done| start - written(done));
        assert_eq!(written(&all), 300);
        assert_eq!(all.last().unwrap(), &[Op::PhaseEnd(0)]);
    }

    #[test]
    fn batches_are_neither_tiny_nor_huge() {
        let lines = ["anon 0 100", "table 0 100 0.5", "zipf 0 0 5000 100 1 0", "snap a"];
        let sizes: Vec<usize> = batches(&lines, |_| 0).iter().map(Vec::len).collect();
        assert_eq!(sizes, [1024, 1024, 1024, 1024, 906]);
    }
}
