//! ebizzy 0.3, the web-server-like benchmark of the anonymous workingset patches.
//!
//! The main thread allocates chunks and writes every word of them in ascending order.
//! Then each thread repeats: choose a chunk, allocate a buffer of its size, copy the
//! chunk into it, search a key in the copy by bisection, free the buffer; that is one
//! record. A copy reads page i of the chunk and then writes page i of the buffer, so
//! that the two alternate in the order of recency.
//!
//! How chunks are chosen decides everything. The stock program uses a linear
//! congruential generator that starts at 0 in every thread; a widely distributed copy
//! has a slip (`*state *= multiplier + increment`) with which it returns 0 for ever, so
//! that only chunk 0 is used. The published tables used "a modified random function",
//! zipf over chunks; which chunk has which rank is not said.
//!
//! Deviations. Chunks are one region: allocated one after the other they would be
//! neighbours and merge, apart from allocator headers. Thread 0 allocates and then works
//! like the others (the original's main thread only waits). What `malloc` does with the
//! buffers is a setting, because it depends on the C library's mmap threshold.

use super::memory::{Memory, MemoryKind, Populate, SetUp};
use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf, shown};
use crate::sampler::Zipf;
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Form, Formed, MANY, Row, Settings as _, Value, Word, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{CopyRun, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload};
use mmsim_core::{settings, words};
use std::sync::Arc;

/// Words of 8 bytes per page.
const PAGE_WORDS: u32 = 512;
const CHUNKS: RegionId = RegionId(0);

/// Choice of a chunk by a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ChunkChoice {
    /// Zipf over chunks; the key of the search is uniform.
    Zipf {
        /// Exponent; 0 is uniform.
        theta: f64,
    },
    /// The stock generator for chunk and key: state * 1103515245 + 12345 modulo 2^32, its
    /// high half modulo n. It starts at 0, so all threads make the same choices.
    Stock,
    /// The copy with the slip: chunk 0 and key 0 always.
    AlwaysZero,
}

impl Formed for ChunkChoice {
    const FORM: Form = {
        const WORDS: &[Word] = &[
            Word { name: "lcg", doc: "the program's own generator", since: "" },
            Word { name: "lcg-broken", doc: "the copy with the slip: chunk 0 only", since: "" },
        ];
        Form::Word(WORDS, &["lcg", "lcg-broken"])
    };
}
impl Value for ChunkChoice {
    fn number(&self, row: &Row) -> Option<u64> {
        match (*self, row.form) {
            (ChunkChoice::Zipf { theta }, Form::Real) => Some(theta.to_bits()),
            (ChunkChoice::Stock, Form::Word(..)) => Some(0),
            (ChunkChoice::AlwaysZero, Form::Word(..)) => Some(1),
            _ => None,
        }
    }
    fn set_number(&mut self, row: &Row, n: u64) {
        *self = match (row.form, n) {
            (Form::Real, bits) => ChunkChoice::Zipf { theta: f64::from_bits(bits) },
            (_, 1) => ChunkChoice::AlwaysZero,
            _ => ChunkChoice::Stock,
        };
    }
}

words! {
    /// Which chunk has which rank.
    ChunkOrder {
        Shuffled = "shuffled", "Shuffled by the seed, the same for all threads.";
        Identity = "identity", "Chunk = rank: hot chunks are neighbours and the oldest.";
    }
    /// Fate of the buffer between records.
    CopyBuffer {
        Remap = "remap",
            "Mapped and unmapped for every record (`ebizzy -m`): all zero-fill faults.";
        Reuse = "reuse", "Mapped once per thread and kept (an arena of the C library).";
        None = "none", "No copy: the chunk is read, and the key is searched in it.";
    }
}

settings! {
    /// An ebizzy run. Times are in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct EbizzyConfig {
        /// all chunks together
        pages as "memory": u32 = 0, .pages(1).required();
        /// size of a chunk; `memory` is a multiple of it
        chunk_pages as "chunk": u32 = 128, .pages(1);
        /// records of all threads of a process together
        end as "records": End = End::Work(0),
            .range(1, MANY).required().or("duration").auto("`duration` decides");
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// choose chunks by a zipf law with this exponent
        choice as "zipf": ChunkChoice = ChunkChoice::Stock,
            .reals(0.0, 10.0).or("generator").auto("`generator` decides");
        /// fresh pages for every copy, the same pages, or no copy
        copy_buffer as "copy-buffer": CopyBuffer = CopyBuffer::Remap;
        /// where popular chunks lie
        order as "permutation": ChunkOrder = ChunkOrder::Shuffled;
        /// computing for each record, besides its accesses
        compute: Varying = Varying::Always(0);
        /// time from one arrival to the next at each thread: work begins when it arrives and the
        /// work before is done, and its latency counts from its arrival
        arrival: Option<Varying> = None, .auto("the one before is done");
    }
    more {
        /// instead of `records`: how long
        end as "duration": SimDuration, after "records", .lasting().auto("`records` decides");
        /// the program's own generator; the broken one chooses chunk 0 only
        choice as "generator": ChunkChoice, after "zipf", .auto("`lcg`, unless `zipf` is given");
    }
    with {
        /// Threads (`-t`).
        threads: u32 = 1;
    }
}

/// `ebizzy`.
pub const EBIZZY: Named<EbizzyConfig> = Named {
    about: "copies random chunks of memory and searches them, as the ebizzy benchmark does",
    doc: "Copies a chunk, chosen at random, into a fresh buffer and searches it; one such copy \
          is a record. Give `records` or `duration`.",
    rows: EbizzyConfig::ROWS,
    start: || EbizzyConfig::of(Kernel::LAST),
    finish: EbizzyConfig::finish,
};

impl EbizzyConfig {
    fn finish(&mut self, task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        self.threads = task.threads;
        let (pages, chunk) = (self.pages, self.chunk_pages);
        if !pages.is_multiple_of(chunk) {
            let (all, each) = (shown(pages), shown(chunk));
            let found = format!("{all} is not a whole number of chunks of {each}");
            let up = u64::from(pages).next_multiple_of(u64::from(chunk));
            return Err(Misfit::new("memory", found, format!("\"{}\"", show_pages(up))));
        }
        if chunk > 1 << 22 {
            let found = format!("{} is too large", shown(chunk));
            return Err(Misfit::new("chunk", found, "at most \"16GiB\""));
        }
        Ok(())
    }

    /// Chunks (`-n`).
    pub fn chunks(&self) -> u32 {
        self.pages / self.chunk_pages.max(1)
    }
}

impl EbizzyConfig {
    /// One workload per thread; `seed` chooses the permutation of [`ChunkOrder::Shuffled`]. Panics
    /// on a value that its field does not allow.
    pub fn workloads(&self, seed: u64) -> Vec<Box<dyn Workload>> {
        assert!((1..=1 << 22).contains(&self.chunk_pages), "chunk_pages: must be 1 to 2^22");
        let whole = self.pages > 0 && self.pages.is_multiple_of(self.chunk_pages);
        assert!(whole, "pages: must be whole chunks, at least one");
        let pages = self.pages;
        // Region 0 is the chunks, region 1 + t the buffer of thread t.
        assert!(self.threads < 65_535, "threads: must be below 65535");
        let memory = Memory { kind: MemoryKind::Anon, pages, flags: VmaFlags::default() };
        let mut order: Vec<u32> = (0..self.chunks()).collect();
        if self.order == ChunkOrder::Shuffled {
            Rng::for_purpose(seed, "ebizzy/chunks").shuffle(&mut order);
        }
        let order: Arc<[u32]> = order.into();
        let theta = if let ChunkChoice::Zipf { theta } = self.choice { theta } else { 0.0 };
        let zipf = Arc::new(Zipf::new(u64::from(self.chunks()), theta));
        let course = (self.threads, self.windows, self.end, self.arrival);
        pace::threads(course, |t| Ebizzy {
            config: self.clone(),
            compute: self.compute.source("compute"),
            memory: memory.clone(),
            set_up: SetUp::new(Populate::Write),
            buffers_mapped: self.copy_buffer != CopyBuffer::Reuse,
            buffer: RegionId(1 + t as u16),
            order: Arc::clone(&order),
            zipf: Arc::clone(&zipf),
            state: 0,
        })
    }
}

impl Work for EbizzyConfig {
    fn threads(&self, seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads(seed))
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        pages.map(self.pages.into(), 1);
        let none = self.copy_buffer == CopyBuffer::None;
        pages.map(self.chunk_pages.into(), if none { 0 } else { self.threads.into() });
    }
}

struct Ebizzy {
    config: EbizzyConfig,
    compute: Source,
    memory: Memory,
    set_up: SetUp,
    /// True if set-up has no buffers (left) to map.
    buffers_mapped: bool,
    buffer: RegionId,
    order: Arc<[u32]>,
    zipf: Arc<Zipf>,
    /// State of the stock generator.
    state: u32,
}

fn map_buffer(region: RegionId, pages: u32) -> Op {
    Op::Mmap { region, pages, kind: MapKind::Anon, flags: VmaFlags::default(), at: None }
}

fn touch(region: RegionId, write: bool, first: u32) -> Op {
    Op::Access(Run { region, write, first, count: 1 })
}

impl Ebizzy {
    /// The stock `rand_num`.
    fn stock(&mut self, n: u32) -> u32 {
        self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (self.state >> 16) % n
    }

    /// A chunk and a key.
    fn choose(&mut self, rng: &mut Rng) -> (u32, u32) {
        let words = self.config.chunk_pages * PAGE_WORDS;
        match self.config.choice {
            ChunkChoice::Zipf { .. } => {
                let rank = self.zipf.sample(rng);
                (self.order[rank as usize], rng.below(u64::from(words)) as u32)
            }
            ChunkChoice::Stock => {
                let rank = self.stock(self.config.chunks());
                (self.order[rank as usize], self.stock(words))
            }
            ChunkChoice::AlwaysZero => (self.order[0], 0),
        }
    }

    fn record(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let (chunk, key) = self.choose(rng);
        let pages = self.config.chunk_pages;
        let from = chunk * pages;
        let buffer = self.buffer;
        if self.config.copy_buffer == CopyBuffer::None {
            ops.push(Op::Access(Run { region: CHUNKS, write: false, first: from, count: pages }));
            search(pages, key, |page| ops.push(touch(CHUNKS, false, from + page)));
        } else {
            let remap = self.config.copy_buffer == CopyBuffer::Remap;
            if remap {
                ops.push(map_buffer(buffer, pages));
            }
            let (first, into) = (from, 0);
            ops.push(Op::Copy(CopyRun { from: CHUNKS, first, to: buffer, into, count: pages }));
            search(pages, key, |page| ops.push(touch(buffer, false, page)));
            if remap {
                ops.push(Op::Munmap { region: buffer });
            }
        }
        if !self.config.compute.is_zero() {
            ops.push(Op::Compute(self.compute.time(rng)));
        }
        ops.push(Op::Records(1));
    }
}

/// The pages that bisection for word `key` looks at: one word per halving, 16 for 65536.
fn search(pages: u32, key: u32, mut look: impl FnMut(u32)) {
    let (mut base, mut len) = (0, pages * PAGE_WORDS);
    while len > 1 {
        let half = len / 2;
        look((base + half) / PAGE_WORDS);
        if key >= base + half {
            base += half;
        }
        len -= half;
    }
}

impl Body for Ebizzy {
    fn files(&self) -> Vec<FileSpec> {
        Vec::new()
    }
    fn record(&self) -> Option<&'static str> {
        Some("record")
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        self.set_up.step(&self.memory, ops);
        if ops.is_empty() && !self.buffers_mapped {
            self.buffers_mapped = true;
            let (threads, pages) = (self.config.threads as u16, self.config.chunk_pages);
            ops.extend((1..=threads).map(|t| map_buffer(RegionId(t), pages)));
        }
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..units {
            self.record(rng, ops);
        }
    }
    fn batch(&self) -> (u64, u64) {
        // Some thousand operations; the original too looks at its clock between records.
        (u64::from(1024 / self.config.chunk_pages).max(1), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;

    fn config() -> EbizzyConfig {
        EbizzyConfig {
            pages: 10 * 128,
            chunk_pages: 128,
            threads: 1,
            choice: ChunkChoice::Stock,
            order: ChunkOrder::Identity,
            copy_buffer: CopyBuffer::Remap,
            compute: Varying::default(),
            arrival: None,
            windows: 1,
            end: End::Work(3),
        }
    }

    fn records(ops: &[Op]) -> Vec<Vec<Op>> {
        let begin = ops.iter().position(|o| *o == Op::PhaseEnd(0)).unwrap() + 1;
        let mut parts: Vec<Vec<Op>> =
            ops[begin..].split(|o| *o == Op::Records(1)).map(<[Op]>::to_vec).collect();
        assert_eq!(parts.pop().unwrap(), [Op::PhaseEnd(1)]);
        parts
    }

    #[test]
    fn a_record_step_by_step() {
        let ops = harness::all(config().workloads(4)[0].as_mut(), Ticking(0));
        let populated = harness::touches(&ops[..2]);
        assert_eq!(populated, (0..1280).map(|p| (0, p, true)).collect::<Vec<_>>());
        let records = records(&ops);
        assert_eq!(records.len(), 3);
        // First draws of the stock generator: 12345 >> 16 = 0, then 3554416254 >> 16 = 54236.
        let r = &records[0];
        assert_eq!(r[0], map_buffer(RegionId(1), 128));
        assert_eq!(*r.last().unwrap(), Op::Munmap { region: RegionId(1) });
        let t = harness::touches(r);
        assert_eq!(t.len(), 2 * 128 + 16);
        for i in 0..128 {
            assert_eq!(t[2 * i], (0, i as u32, false));
            assert_eq!(t[2 * i + 1], (1, i as u32, true));
        }
        // Word 54236 lies on page 105; bisection starts in the middle and closes in.
        let looked: Vec<u32> = t[256..].iter().map(|t| t.1).collect();
        assert_eq!(looked[..7], [64, 96, 112, 104, 108, 106, 105]);
        assert!(looked[7..].iter().all(|p| [105, 106].contains(p)));
    }

    #[test]
    fn the_slip_uses_one_chunk() {
        let mut c = config();
        c.choice = ChunkChoice::AlwaysZero;
        let ops = harness::all(c.workloads(4)[0].as_mut(), Ticking(0));
        for r in records(&ops) {
            assert!(harness::touches(&r).iter().all(|t| t.0 == 1 || t.1 < 128));
        }
    }

    #[test]
    fn buffers_reused_or_left_out() {
        let mut c = config();
        (c.threads, c.copy_buffer) = (3, CopyBuffer::Reuse);
        let mut w = c.workloads(4);
        let ops = harness::all(w[0].as_mut(), Ticking(0));
        let maps: Vec<&Op> = ops.iter().filter(|o| matches!(o, Op::Mmap { .. })).collect();
        assert_eq!(maps.len(), 4);
        let other = harness::all(w[2].as_mut(), Ticking(0));
        assert!(other.iter().all(|o| !matches!(o, Op::Mmap { .. } | Op::Munmap { .. })));
        assert_eq!(harness::touches(&other)[1], (3, 0, true));
        c = config();
        c.copy_buffer = CopyBuffer::None;
        let ops = harness::all(c.workloads(4)[0].as_mut(), Ticking(0));
        for r in records(&ops) {
            assert_eq!(harness::touches(&r).len(), 128 + 16);
        }
    }

    #[test]
    fn computes_once_a_record() {
        let mut c = config();
        c.compute = Varying::Always(900);
        let ops = harness::all(c.workloads(4)[0].as_mut(), Ticking(0));
        for r in records(&ops) {
            let computes = r.iter().filter(|o| **o == Op::Compute(SimDuration(900))).count();
            assert_eq!((computes, *r.last().unwrap()), (1, Op::Compute(SimDuration(900))));
        }
    }

    /// The hottest chunk is the one that the shuffle put at rank 0, in every thread.
    #[test]
    fn zipf_over_shuffled_chunks() {
        let mut c = config();
        (c.pages, c.chunk_pages) = (10, 1);
        c.choice = ChunkChoice::Zipf { theta: 1.3 };
        c.order = ChunkOrder::Shuffled;
        (c.threads, c.end) = (2, End::Work(4000));
        let mut order: Vec<u32> = (0..10).collect();
        Rng::for_purpose(4, "ebizzy/chunks").shuffle(&mut order);
        for w in &mut c.workloads(4) {
            let mut seen = [0; 10];
            for (region, page, write) in harness::touches(&harness::all(w.as_mut(), Ticking(0))) {
                if region == 0 && !write {
                    seen[page as usize] += 1;
                }
            }
            assert_eq!(seen.iter().sum::<i32>(), 2000);
            let hottest = (0..10).max_by_key(|&i| seen[i as usize]).unwrap();
            assert_eq!(hottest, order[0]);
        }
    }
}
