//! A build, as memory sees it: many short processes that share a compiler and its headers.
//!
//! A worker (`make -j` has so many) runs one compilation after the other. A compilation maps
//! the compiler's text and touches it, reads a source file that nobody else reads and headers
//! that everybody reads, fills anonymous memory in bursts, goes over it between the bursts,
//! writes an object file, and exits: its memory is freed, its text unmapped. That is one record.
//! So the machine has at the same time hot mapped text, hot and lukewarm page cache that is read
//! by system calls, page cache that is used once, dirty page cache, and anonymous memory that
//! lives a second and is never idle while it lives. Policies disagree about which of these to
//! take.
//!
//! One draw decides how large a translation unit is: memory, time and object all stand at that
//! place between their bounds, because large sources take more of all three. One that has a law of
//! its own is drawn by that law instead, whatever the others are. Headers are drawn
//! by a zipf law over the pool; one that was drawn before in the same compilation is not read
//! again (include guards). Every so many objects a worker links: it reads back the objects that
//! it wrote since the last time and writes an archive of the same size. That is no record.
//!
//! A compilation also takes single frames on behalf of the kernel, some with each burst, and
//! frees them when it exits: stacks, descriptors and the like (unmovable), and objects of slab
//! caches that could be shrunk (reclaimable). They are what fragments memory under a build.
//!
//! Set-up reads what all share once, the headers and the compiler, as if something had been
//! built before.
//!
//! Deviations. There is no operation that forks, so a compilation is a pair of mappings that its
//! worker makes and removes, and all workers are threads of one process: unmapping flushes the
//! TLB of one address space, and out of memory ends the whole build. The passes over anonymous
//! memory read; only the first touch of a page writes. Sources are divided among workers in
//! advance, where `make` gives the next one to whoever is free. An object that is built again is
//! written over in place instead of being truncated first.

use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::sampler::Zipf;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::GFP_KERNEL;
use mmsim_core::workload::{
    BlockHandle, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload,
};
use std::sync::Arc;

/// Headers read in one batch of the set-up.
const SET_UP_BATCH: u32 = 1024;
/// The compiler comes first, then headers, sources, objects, archives.
const TEXT: FileSlot = FileSlot(0);

/// What compilations take of something: pages, or nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// The smallest compilation takes the first, the largest the second one.
    Between(u64, u64),
    /// Each has a draw of its own for it, however large it is.
    Own(Varying),
}

impl From<(u32, u32)> for Amount {
    fn from((low, high): (u32, u32)) -> Self {
        Amount::Between(low.into(), high.into())
    }
}

impl From<(SimDuration, SimDuration)> for Amount {
    fn from((low, high): (SimDuration, SimDuration)) -> Self {
        Amount::Between(low.as_nanos(), high.as_nanos())
    }
}

impl Amount {
    /// No compilation takes less, none more.
    pub fn bounds(&self) -> (u64, u64) {
        match self {
            Amount::Between(low, high) => (*low, *high),
            Amount::Own(own) => (own.least(), own.most()),
        }
    }

    fn source(&self, purpose: &'static str) -> Source {
        match self {
            Amount::Between(..) => Varying::default().source(purpose),
            Amount::Own(own) => own.source(purpose),
        }
    }

    /// What a compilation takes whose size is `place` of 2^32 of the way to the largest one.
    fn take(&self, place: u32, own: &mut Source, thread: &Rng) -> u64 {
        match *self {
            Amount::Between(low, high) => between(low, high, place),
            Amount::Own(_) => own.draw(thread),
        }
    }
}

/// A build. Sizes are in pages.
#[derive(Clone, PartialEq, Debug)]
pub struct BuildConfig {
    /// Prefix of the names of all files.
    pub name: String,
    /// Workers: compilations at a time.
    pub threads: u32,
    /// The part of the compiler's text that a compilation uses; 0: none.
    pub text: u32,
    /// Header files in the pool.
    pub headers: u32,
    /// Pages of a header.
    pub header_pages: u32,
    /// Headers that a compilation draws.
    pub header_reads: u32,
    /// Exponent of the zipf law over headers; 0 is uniform.
    pub header_theta: f64,
    /// Source files; after the last one the first is compiled again.
    pub sources: u32,
    /// Pages of a source.
    pub source_pages: u32,
    /// Anonymous memory of a compilation.
    pub anon: Amount,
    /// Parts in which it is allocated.
    pub bursts: u32,
    /// Passes over all of it after each part.
    pub passes: u32,
    /// Computing of a compilation, in nanoseconds.
    pub compute: Amount,
    /// Pages of its object file. Files are laid out for the largest.
    pub object: Amount,
    /// Objects of a worker after which it links; 0: never.
    pub link_every: u32,
    /// Frames of the kernel that a compilation holds, unmovable.
    pub unmovable: u32,
    /// Frames of the kernel that a compilation holds, reclaimable.
    pub reclaimable: u32,
    /// Measured windows.
    pub windows: u32,
    /// Records (compilations) over all workers, or a time.
    pub end: End,
}

impl BuildConfig {
    /// Archives: as many as links go into one round over the sources, rounded up.
    fn archives(&self) -> u32 {
        if self.link_every == 0 { 0 } else { self.sources.div_ceil(self.link_every) }
    }

    /// One workload per worker. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        // Worker t maps regions 2t and 2t + 1.
        assert!(self.threads < 32_768, "threads: must be below 32768");
        assert!(self.headers > 0, "headers: must be at least 1");
        assert!(self.sources > 0, "sources: must be at least 1");
        let files =
            1 + u64::from(self.headers) + 2 * u64::from(self.sources) + u64::from(self.archives());
        assert!(files <= 1 << 16, "headers, sources: must make at most 65536 files together");
        assert!(self.header_pages > 0, "header_pages: must be at least 1");
        assert!(self.source_pages > 0, "source_pages: must be at least 1");
        assert!(self.bursts > 0, "bursts: must be at least 1");
        let turns = u64::from(self.bursts) * (u64::from(self.passes) + 1);
        assert!(turns < 1 << 32, "bursts, passes: must be below 2^32 turns together");
        for (key, amount, least) in
            [("anon", self.anon, 1), ("object", self.object, 1), ("compute", self.compute, 0)]
        {
            let (low, high) = amount.bounds();
            assert!(least <= low && low <= high, "{key}: bounds from {least} up and in order");
            assert!(key == "compute" || high < 1 << 32, "{key}: must be below 2^32 pages");
        }
        assert!(
            self.object.bounds().1 * u64::from(self.link_every.max(1)) < 1 << 32,
            "object, link_every: an archive must be below 2^32 pages"
        );
        assert!(
            u64::from(self.unmovable) + u64::from(self.reclaimable) < 1 << 32,
            "unmovable, reclaimable: must be below 2^32 together"
        );
        let zipf = Arc::new(Zipf::new(u64::from(self.headers), self.header_theta));
        pace::threads((self.threads, self.windows, self.end, None), |t| Worker {
            config: self.clone(),
            anon: self.anon.source("anon"),
            compute: self.compute.source("compute"),
            object: self.object.source("object"),
            number: t,
            zipf: Arc::clone(&zipf),
            set_up: 0,
            compiled: 0,
            links: 0,
            read_in: vec![0; self.headers as usize],
            unlinked: Vec::new(),
        })
    }
}

struct Worker {
    config: BuildConfig,
    /// Draws of amounts that have some of their own.
    anon: Source,
    compute: Source,
    object: Source,
    number: u32,
    zipf: Arc<Zipf>,
    /// Headers that set-up has read, on worker 0; one more when the compiler is read too.
    set_up: u32,
    /// Compilations that have begun.
    compiled: u64,
    links: u64,
    /// By header: the number of the last compilation that read it.
    read_in: Vec<u64>,
    /// Objects since the last link, with their pages.
    unlinked: Vec<(FileSlot, u32)>,
}

/// `place` of 2^32 of the way between two bounds, the upper one included.
fn between(low: u64, high: u64, place: u32) -> u64 {
    low + ((u128::from(high - low + 1) * u128::from(place)) >> 32) as u64
}

/// How much of `total` is done after `i` of `n` equal steps.
fn after(total: u64, i: u32, n: u32) -> u64 {
    (u128::from(total) * u128::from(i) / u128::from(n)) as u64
}

fn read(file: FileSlot, count: u32) -> Op {
    Op::Read { file, first: 0, count }
}

fn touch(region: RegionId, write: bool, first: u32, count: u32) -> Op {
    Op::Access(Run { region, write, first, count })
}

impl Worker {
    fn header(&self, i: u32) -> FileSlot {
        FileSlot((1 + i) as u16)
    }
    fn source(&self, i: u32) -> FileSlot {
        FileSlot((1 + self.config.headers + i) as u16)
    }
    fn object(&self, i: u32) -> FileSlot {
        FileSlot((1 + self.config.headers + self.config.sources + i) as u16)
    }
    fn archive(&self, i: u32) -> FileSlot {
        FileSlot((1 + self.config.headers + 2 * self.config.sources + i) as u16)
    }
    /// Of `all` things that the workers take in turns, the one for this worker's turn `turn`.
    fn mine(&self, turn: u64, all: u32) -> u32 {
        let before = u128::from(turn) * u128::from(self.config.threads);
        ((before + u128::from(self.number)) % u128::from(all)) as u32
    }

    fn read_headers(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..self.config.header_reads {
            let h = self.zipf.sample(rng);
            let last = &mut self.read_in[h as usize];
            if *last != self.compiled {
                *last = self.compiled;
                ops.push(read(self.header(h), self.config.header_pages));
            }
        }
    }

    /// Frames of the kernel from number `from` to `to`, the unmovable ones first.
    fn kernel(&self, from: u64, to: u64, ops: &mut Vec<Op>) {
        ops.extend((from..to).map(|i| Op::KernelAlloc {
            order: 0,
            migratetype: match i < u64::from(self.config.unmovable) {
                true => Migratetype::Unmovable,
                false => Migratetype::Reclaimable,
            },
            flags: GFP_KERNEL,
            handle: BlockHandle(i as u32),
        }));
    }

    /// One compilation.
    fn compile(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let source = self.mine(self.compiled, self.config.sources);
        self.compiled += 1;
        let place = (rng.next_u64() >> 32) as u32;
        let c = &self.config;
        let anon = c.anon.take(place, &mut self.anon, rng);
        let object = c.object.take(place, &mut self.object, rng) as u32;
        let compute = c.compute.take(place, &mut self.compute, rng);
        let (text_region, heap) =
            (RegionId(2 * self.number as u16), RegionId(2 * self.number as u16 + 1));
        let (text, bursts, passes) = (c.text, c.bursts, c.passes);
        let held = u64::from(c.unmovable) + u64::from(c.reclaimable);
        if text > 0 {
            let kind = MapKind::File { file: TEXT, offset: 0, shared: false };
            let flags = VmaFlags { exec: true, ..VmaFlags::default() };
            ops.push(Op::Mmap { region: text_region, pages: text, kind, flags, at: None });
            ops.push(touch(text_region, false, 0, text));
        }
        ops.push(read(self.source(source), c.source_pages));
        self.read_headers(rng, ops);
        let (kind, flags) = (MapKind::Anon, VmaFlags::default());
        ops.push(Op::Mmap { region: heap, pages: anon as u32, kind, flags, at: None });
        let turns = bursts * (passes + 1);
        let mut turn = 0;
        for burst in 0..bursts {
            let (from, to) = (after(anon, burst, bursts), after(anon, burst + 1, bursts));
            self.kernel(after(held, burst, bursts), after(held, burst + 1, bursts), ops);
            if to > from {
                ops.push(touch(heap, true, from as u32, (to - from) as u32));
            }
            for pass in 0..=passes {
                if pass > 0 && text > 0 {
                    ops.push(touch(text_region, false, 0, text));
                }
                if pass > 0 && to > 0 {
                    ops.push(touch(heap, false, 0, to as u32));
                }
                let share = after(compute, turn + 1, turns) - after(compute, turn, turns);
                if share > 0 {
                    ops.push(Op::Compute(SimDuration(share)));
                }
                turn += 1;
            }
        }
        let file = self.object(source);
        ops.push(Op::Write { file, first: 0, count: object });
        ops.push(Op::Munmap { region: heap });
        if text > 0 {
            ops.push(Op::Munmap { region: text_region });
        }
        ops.extend((0..held).map(|i| Op::KernelFree { handle: BlockHandle(i as u32) }));
        ops.push(Op::Records(1));
        if self.config.link_every > 0 {
            self.unlinked.push((file, object));
            if self.unlinked.len() as u64 == u64::from(self.config.link_every) {
                self.link(ops);
            }
        }
    }

    fn link(&mut self, ops: &mut Vec<Op>) {
        let file = self.archive(self.mine(self.links, self.config.archives()));
        self.links += 1;
        let count = self.unlinked.iter().map(|o| o.1).sum();
        ops.extend(self.unlinked.drain(..).map(|(object, pages)| read(object, pages)));
        ops.push(Op::Write { file, first: 0, count });
    }
}

impl Body for Worker {
    fn files(&self) -> Vec<FileSpec> {
        let c = &self.config;
        let file =
            |kind: &str, i: u32, pages| FileSpec { name: format!("{}/{kind}{i}", c.name), pages };
        let text = FileSpec { name: format!("{}/text", c.name), pages: c.text.max(1) };
        // Both are below 2^32.
        let object = c.object.bounds().1 as u32;
        let archive = object.saturating_mul(c.link_every);
        std::iter::once(text)
            .chain((0..c.headers).map(|i| file("header", i, c.header_pages)))
            .chain((0..c.sources).map(|i| file("source", i, c.source_pages)))
            .chain((0..c.sources).map(|i| file("object", i, object)))
            .chain((0..c.archives()).map(|i| file("archive", i, archive)))
            .collect()
    }
    fn record(&self) -> Option<&'static str> {
        Some("compilation")
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        let c = &self.config;
        let to = c.headers.min(self.set_up.saturating_add(SET_UP_BATCH));
        ops.extend((self.set_up..to).map(|i| read(self.header(i), c.header_pages)));
        if ops.is_empty() && self.set_up == c.headers {
            if c.text > 0 {
                ops.push(read(TEXT, c.text));
            }
            self.set_up += 1;
            return;
        }
        self.set_up = self.set_up.max(to);
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..units {
            self.compile(rng, ops);
        }
    }
    fn batch(&self) -> (u64, u64) {
        // A compilation is some hundreds to thousands of operations.
        (1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use crate::law::Law;
    use std::collections::BTreeSet;

    /// Files: text 0, headers 1 to 3, sources 4 and 5, objects 6 and 7, archives from 8 on.
    fn config() -> BuildConfig {
        BuildConfig {
            name: "b".into(),
            threads: 1,
            text: 5,
            headers: 3,
            header_pages: 2,
            header_reads: 0,
            header_theta: 1.0,
            sources: 2,
            source_pages: 4,
            anon: (10, 10).into(),
            bursts: 2,
            passes: 1,
            compute: (SimDuration(103), SimDuration(103)).into(),
            object: (7, 7).into(),
            link_every: 0,
            unmovable: 0,
            reclaimable: 0,
            windows: 1,
            end: End::Work(1),
        }
    }

    fn of(c: &BuildConfig) -> Vec<Vec<Op>> {
        let all = |w: &mut Box<dyn Workload>| harness::all(w.as_mut(), Ticking(0));
        c.workloads().iter_mut().map(all).collect()
    }

    /// The operations of the measured part of one worker.
    fn measured(c: &BuildConfig) -> Vec<Op> {
        let ops = of(c).swap_remove(0);
        let begin = ops.iter().position(|o| *o == Op::PhaseEnd(0)).unwrap() + 1;
        assert_eq!(ops.last(), Some(&Op::PhaseEnd(1)));
        ops[begin..ops.len() - 1].to_vec()
    }

    fn reads(ops: &[Op]) -> Vec<(u16, u32)> {
        let of = |o: &Op| match *o {
            Op::Read { file, first: 0, count } => Some((file.0, count)),
            _ => None,
        };
        ops.iter().filter_map(of).collect()
    }

    fn writes(ops: &[Op]) -> Vec<(u16, u32)> {
        let of = |o: &Op| match *o {
            Op::Write { file, first: 0, count } => Some((file.0, count)),
            _ => None,
        };
        ops.iter().filter_map(of).collect()
    }

    #[test]
    fn a_compilation_step_by_step() {
        let (text, heap) = (RegionId(0), RegionId(1));
        let file = MapKind::File { file: TEXT, offset: 0, shared: false };
        let exec = VmaFlags { exec: true, ..VmaFlags::default() };
        let none = VmaFlags::default();
        let compute = |ns| Op::Compute(SimDuration(ns));
        let expected = [
            Op::Mmap { region: text, pages: 5, kind: file, flags: exec, at: None },
            touch(text, false, 0, 5),
            read(FileSlot(4), 4),
            Op::Mmap { region: heap, pages: 10, kind: MapKind::Anon, flags: none, at: None },
            // Half of the memory, computing, and once more over it; 103 ns in four parts.
            touch(heap, true, 0, 5),
            compute(25),
            touch(text, false, 0, 5),
            touch(heap, false, 0, 5),
            compute(26),
            touch(heap, true, 5, 5),
            compute(26),
            touch(text, false, 0, 5),
            touch(heap, false, 0, 10),
            compute(26),
            Op::Write { file: FileSlot(6), first: 0, count: 7 },
            Op::Munmap { region: heap },
            Op::Munmap { region: text },
            Op::Records(1),
        ];
        assert_eq!(measured(&config()), expected);
    }

    #[test]
    fn without_text_passes_and_computing() {
        let nothing = (SimDuration::ZERO, SimDuration::ZERO).into();
        let c = BuildConfig { text: 0, passes: 0, compute: nothing, bursts: 3, ..config() };
        let none = VmaFlags::default();
        let heap = RegionId(1);
        let expected = [
            read(FileSlot(4), 4),
            Op::Mmap { region: heap, pages: 10, kind: MapKind::Anon, flags: none, at: None },
            touch(heap, true, 0, 3),
            touch(heap, true, 3, 3),
            touch(heap, true, 6, 4),
            Op::Write { file: FileSlot(6), first: 0, count: 7 },
            Op::Munmap { region: heap },
            Op::Records(1),
        ];
        assert_eq!(measured(&c), expected);
        // More bursts than pages: nobody touches no page.
        let c = BuildConfig { bursts: 25, ..c };
        assert_eq!(harness::touches(&measured(&c)).len(), 10);
    }

    /// What all share is read before the measured part: every header once, and the compiler.
    #[test]
    fn set_up_reads_headers_and_compiler() {
        let c = BuildConfig { headers: 2500, ..config() };
        let mut w = c.workloads();
        assert_eq!(w[0].phases(), ["populate", "access"]);
        let batches = harness::batches(w[0].as_mut(), Ticking(0));
        assert_eq!(batches[..5].iter().map(Vec::len).collect::<Vec<_>>(), [1024, 1024, 452, 1, 1]);
        let expected: Vec<(u16, u32)> = (1..=2500).map(|f| (f, 2)).chain([(0, 5)]).collect();
        assert_eq!(reads(&batches[..4].concat()), expected);
        assert_eq!(batches[4], [Op::PhaseEnd(0)]);
        let c = BuildConfig { text: 0, ..config() };
        let ops = of(&c).swap_remove(0);
        assert_eq!(reads(&ops[..4]), [(1, 2), (2, 2), (3, 2)]);
        assert_eq!(ops[3], Op::PhaseEnd(0));
    }

    #[test]
    fn files_in_the_order_of_their_numbers() {
        let c = BuildConfig { sources: 3, link_every: 2, object: (1, 7).into(), ..config() };
        let files = c.workloads()[0].files();
        let names: Vec<(&str, u32)> = files.iter().map(|f| (f.name.as_str(), f.pages)).collect();
        let expected = [
            ("b/text", 5),
            ("b/header0", 2),
            ("b/header1", 2),
            ("b/header2", 2),
            ("b/source0", 4),
            ("b/source1", 4),
            ("b/source2", 4),
            ("b/object0", 7),
            ("b/object1", 7),
            ("b/object2", 7),
            ("b/archive0", 14),
            ("b/archive1", 14),
        ];
        assert_eq!(names, expected);
    }

    /// Two links of a worker, each of what it wrote since the last one; the rest is not linked.
    #[test]
    fn a_link_reads_back_what_was_written() {
        let c = BuildConfig { link_every: 2, sources: 4, end: End::Work(5), ..config() };
        let ops = measured(&c);
        // Sources 4 to 7, objects 8 to 11, archives 12 and 13.
        let own = [(4, 4), (5, 4), (8, 7), (9, 7), (6, 4), (7, 4), (10, 7), (11, 7), (4, 4)];
        assert_eq!(reads(&ops), own);
        let expected = [(8, 7), (9, 7), (12, 14), (10, 7), (11, 7), (13, 14), (8, 7)];
        assert_eq!(writes(&ops), expected);
        assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 5);
    }

    /// Every source is compiled by one worker, in turns, into its own object.
    #[test]
    fn workers_take_sources_in_turns() {
        let c = BuildConfig { threads: 3, sources: 7, end: End::Work(7), ..config() };
        let all = of(&c);
        let sources = |ops: &[Op]| -> Vec<u16> {
            let first = |(f, _): (u16, u32)| (4..11).contains(&f).then(|| f - 4);
            reads(ops).into_iter().filter_map(first).collect()
        };
        assert_eq!(sources(&all[0]), [0, 3, 6]);
        assert_eq!(sources(&all[1]), [1, 4]);
        assert_eq!(sources(&all[2]), [2, 5]);
        let objects: Vec<u16> = writes(&all[2]).iter().map(|w| w.0).collect();
        assert_eq!(objects, [11 + 2, 11 + 5]);
        // Regions of their own.
        let maps = |ops: &[Op]| -> BTreeSet<u16> {
            let of = |o: &Op| if let Op::Mmap { region, .. } = o { Some(region.0) } else { None };
            ops.iter().filter_map(of).collect()
        };
        assert_eq!(maps(&all[2]), BTreeSet::from([4, 5]));
    }

    /// Memory, time and object stand at the same place between their bounds, and both bounds
    /// are reached.
    #[test]
    fn large_sources_take_more_of_everything() {
        let c = BuildConfig {
            anon: (100, 199).into(),
            object: (10, 19).into(),
            compute: (SimDuration(1_000), SimDuration(1_999)).into(),
            text: 0,
            end: End::Work(4_000),
            ..config()
        };
        let ops = measured(&c);
        let mut seen = [BTreeSet::new(), BTreeSet::new()];
        for one in ops.split(|o| *o == Op::Records(1)).filter(|one| !one.is_empty()) {
            let of = |o: &Op| if let Op::Mmap { pages, .. } = o { Some(*pages) } else { None };
            let anon = one.iter().find_map(of).unwrap();
            let time: u64 = one.iter().map(|o| if let Op::Compute(t) = o { t.0 } else { 0 }).sum();
            let object = writes(one)[0].1;
            assert_eq!((anon - 100) / 10, object - 10);
            assert_eq!(u64::from(anon - 100), (time - 1_000) / 10);
            seen[0].insert(anon);
            seen[1].insert(object);
        }
        assert_eq!(seen[0], (100..200).collect());
        assert_eq!(seen[1], (10..20).collect());
    }

    /// Amounts with laws of their own; headers are drawn as without.
    #[test]
    fn amounts_follow_their_laws() {
        let law = |median| Law::Lognormal { median, sigma: 0.5 };
        let own = |law, max| Amount::Own(Varying::Drawn { law, min: 1, max });
        let plain =
            BuildConfig { text: 0, headers: 50, header_reads: 5, end: End::Work(800), ..config() };
        let c = BuildConfig {
            anon: own(law(300.0), 10_000),
            object: own(law(200.0), 9_000),
            compute: own(law(5e6), u64::MAX),
            link_every: 3,
            ..plain.clone()
        };
        let ops = measured(&c);
        let headers = |ops: &[Op]| -> Vec<u16> {
            reads(ops).into_iter().map(|r| r.0).filter(|f| (1..=50).contains(f)).collect()
        };
        assert_eq!(headers(&ops), headers(&measured(&plain)));
        let (mut anon, mut object, mut compute) = (Vec::new(), Vec::new(), Vec::new());
        for one in ops.split(|o| *o == Op::Records(1)) {
            let of = |o: &Op| if let Op::Mmap { pages, .. } = o { Some(*pages) } else { None };
            let Some(pages) = one.iter().find_map(of) else { continue };
            anon.push(f64::from(pages));
            // Where it links, the archive comes before.
            object.push(f64::from(writes(one).last().expect("an object").1));
            let time = one.iter().map(|o| if let Op::Compute(t) = o { t.0 } else { 0 });
            compute.push(time.sum::<u64>() as f64);
        }
        harness::follow(&anon, law(300.0));
        harness::follow(&object, law(200.0));
        harness::follow(&compute, law(5e6));
        let files = c.workloads()[0].files();
        let of = |name: &str| files.iter().find(|f| f.name == name).unwrap().pages;
        assert_eq!((of("b/object0"), of("b/archive0")), (9_000, 27_000));
    }

    /// A header is read at most once in a compilation, however often it is drawn, and the
    /// popular ones by nearly all of them.
    #[test]
    fn headers_by_the_law_and_guarded() {
        let c = BuildConfig { headers: 50, header_reads: 20, end: End::Work(500), ..config() };
        let ops = measured(&c);
        let mut by_rank = [0_u32; 50];
        for one in ops.split(|o| *o == Op::Records(1)) {
            let headers: Vec<u16> =
                reads(one).iter().map(|r| r.0).filter(|f| (1..=50).contains(f)).collect();
            let distinct: BTreeSet<u16> = headers.iter().copied().collect();
            assert_eq!(distinct.len(), headers.len());
            headers.iter().for_each(|h| by_rank[usize::from(*h) - 1] += 1);
        }
        // A header of probability p is in 1 - (1 - p)^20 of the compilations.
        let sum: f64 = (1..=50).map(|k| 1.0 / f64::from(k)).sum();
        for rank in [0, 1, 9, 49] {
            let p = 1.0 / (rank as f64 + 1.0) / sum;
            let expected = 500.0 * (1.0 - (1.0 - p).powi(20));
            let distance = (f64::from(by_rank[rank]) - expected).abs();
            assert!(distance < 4.0 * expected.sqrt(), "{rank}: {} of {expected}", by_rank[rank]);
        }
    }

    /// Frames of the kernel come with the bursts and go when the compilation exits; their
    /// numbers are free again for the next.
    #[test]
    fn frames_of_the_kernel_live_as_long_as_the_compilation() {
        let c = BuildConfig { unmovable: 3, reclaimable: 2, end: End::Work(3), ..config() };
        let mut held = BTreeSet::new();
        let (mut most, mut since_touch) = (0, Vec::new());
        for op in measured(&c) {
            match op {
                Op::KernelAlloc { order, migratetype, flags, handle } => {
                    let unmovable = handle.0 < 3;
                    assert_eq!((order, flags), (0, GFP_KERNEL));
                    assert_eq!(unmovable, migratetype == Migratetype::Unmovable);
                    assert_eq!(!unmovable, migratetype == Migratetype::Reclaimable);
                    assert!(held.insert(handle));
                    most = most.max(held.len());
                }
                Op::KernelFree { handle } => assert!(held.remove(&handle)),
                Op::Access(r) if r.write => since_touch.push(held.len()),
                Op::Records(_) => assert!(held.is_empty()),
                _ => {}
            }
        }
        assert_eq!((most, since_touch), (5, [2, 5].repeat(3)));
    }

    /// By time, a worker looks at its clock after each compilation.
    #[test]
    fn by_time() {
        let end = End::After(SimDuration::from_millis(5));
        let mut w = BuildConfig { end, ..config() }.workloads();
        let ops = harness::all(w[0].as_mut(), Ticking(1_000_000));
        assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 5);
    }

    #[test]
    #[should_panic(expected = "headers, sources: must make at most 65536 files together")]
    fn more_files_than_numbers() {
        BuildConfig { headers: 3_000, sources: 32_000, ..config() }.workloads();
    }
}
