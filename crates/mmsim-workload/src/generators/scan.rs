//! Passes over a region in ascending order, again and again.
//!
//! One pass is the sequential workload. More passes than memory can hold are the worst
//! case of every recency order: each page is evicted just before its turn comes, so a
//! cyclic pass over N + 1 pages in N frames misses always. With several threads, each
//! passes over its own equal part of the region.

use super::memory::{FILE, Memory, MemoryKind, Populate, RUN_PAGES, SetUp, Syncs, file_io};
use super::pace::{self, Body, End};
use crate::named::{Given, Misfit, Named, TaskOf};
use crate::since::check_dontcache;
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Form, Formed, Row, Settings as _, Value, placed};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{FileAdvice, FileSpec, Op, Uncached, VmaFlags, Workload};
use mmsim_core::{settings, words};

/// When the passes end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanEnd {
    /// After this many passes: 1 is a sequential workload, more are a cyclic one.
    Passes(u32),
    /// After this time, counted from the end of the populate phase.
    After(SimDuration),
}

impl Formed for ScanEnd {
    const FORM: Form = Form::Whole;
}
impl Value for ScanEnd {
    fn number(&self, _: &Row) -> Option<u64> {
        if let ScanEnd::Passes(n) = *self { Some(n.into()) } else { None }
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = ScanEnd::Passes(u32::try_from(n).unwrap_or(u32::MAX));
    }
}

words! {
    /// Advice and flags by which a program uses the page cache.
    Caching {
        Normal = "normal", "As any program does.";
        Sequential = "sequential", "After `POSIX_FADV_SEQUENTIAL`.";
        NoReuse = "noreuse", "After `POSIX_FADV_NOREUSE`.";
        DontNeed = "dontneed", "With `POSIX_FADV_DONTNEED` behind each 1 MiB.";
        DontCache = "dontcache", "With `RWF_DONTCACHE`, 1 MiB at a time; from kernel 6.18 on (Linux 6.14).";
        Direct = "direct", "With `O_DIRECT`, 1 MiB at a time.";
    }
}

/// Pages that a program accesses at a time that looks after the page cache: 1 MiB.
const CHUNK: u32 = 256;

settings! {
    /// A sequential or cyclic workload.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct ScanConfig {
        /// size of the region
        pages as "memory": u32 = 0, .pages(1).required();
        /// write instead of read
        write: bool = false, .toml();
        /// pages that each thread writes to its file from one fsync() to the next; 0: it calls none
        fsync: u32 = 0, .range(0, u32::MAX as u64);
        /// what is accessed: anonymous memory, a mapped file, or a file through read()
        kind as "region": MemoryKind = MemoryKind::Anon;
        /// how a file is used through read() and write()
        cache: Caching = Caching::Normal;
        /// how often
        end as "passes": ScanEnd = ScanEnd::Passes(1), .range(1, u32::MAX as u64);
    }
    with {
        /// Flags of the mapping.
        flags: VmaFlags = VmaFlags::NONE;
        /// A visit of every page before the measured passes.
        populate: Populate = Populate::None;
        /// Threads, each with a part of the region.
        threads: u32 = 1;
        /// Measured windows.
        windows: u32 = 1;
    }
}

/// `sequential`.
pub const SEQUENTIAL: Named<ScanConfig> = Named {
    about: "passes over memory or a file from start to end",
    doc: "A region from the first page to the last, once unless told otherwise.",
    rows: ScanConfig::ROWS,
    start: || ScanConfig::of(Kernel::LAST),
    finish: ScanConfig::finish,
};

/// `cyclic`: the number of passes is required.
pub const CYCLIC: Named<ScanConfig> = Named {
    about: "the same, over and over",
    doc: "A region from the first page to the last, again and again.",
    rows: {
        const ROWS: [Row; ScanConfig::ROWS.len()] = {
            let mut rows = placed::<{ ScanConfig::ROWS.len() }>(ScanConfig::ROWS, &[]);
            let last = rows.len() - 1;
            rows[last] = rows[last].required();
            rows
        };
        &ROWS
    },
    ..SEQUENTIAL
};

impl ScanConfig {
    fn finish(&mut self, task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        self.kind.name_file(task.name);
        self.threads = task.threads;
        if self.cache != Caching::Normal && !matches!(self.kind, MemoryKind::FileRead(_)) {
            let found = "what is accessed is no file through read()";
            return Err(Misfit::new("cache", found, "\"normal\", or region = \"read\""));
        }
        if self.cache == Caching::DontCache
            && let Err((found, write)) = check_dontcache(task.kernel, "\"normal\" or \"direct\"")
        {
            return Err(Misfit::new("cache", found, write));
        }
        self.kind.check_fsync(self.fsync, self.write)
    }
}

impl ScanConfig {
    /// One workload per thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        assert!(self.pages >= self.threads, "pages: must be at least one per thread");
        let memory = Memory { kind: self.kind.clone(), pages: self.pages, flags: self.flags };
        let end = match self.end {
            ScanEnd::Passes(n) => End::Work(u64::from(n) * u64::from(self.pages)),
            ScanEnd::After(t) => End::After(t),
        };
        // The first `more` threads have one page more.
        let (each, more) = (self.pages / self.threads.max(1), self.pages % self.threads.max(1));
        let bound = |t: u32| t * each + t.min(more);
        let passes = match self.end {
            ScanEnd::Passes(n) => Some(n),
            ScanEnd::After(_) => None,
        };
        pace::threads((self.threads, self.windows, end, None), |t| Pass {
            memory: memory.clone(),
            set_up: SetUp::new(self.populate),
            write: self.write,
            syncs: Syncs::new(self.fsync),
            cache: self.cache,
            advised: false,
            first: bound(t),
            pages: bound(t + 1) - bound(t),
            next: 0,
            passes,
        })
    }
}

impl Work for ScanConfig {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads())
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        self.kind.add_pages(self.pages, pages);
    }
    // Each thread has a part of the region.
    fn most_threads(&self) -> u32 {
        self.pages
    }
    fn accesses(&self) -> u64 {
        if let ScanEnd::Passes(n) = self.end { u64::from(self.pages) * u64::from(n) } else { 0 }
    }
    fn lasts(&self) -> Option<SimDuration> {
        if let ScanEnd::After(time) = self.end { Some(time) } else { None }
    }
    fn is_one_mapping(&self) -> bool {
        true
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(self.kind.maps_file())
    }
    fn has_anon(&self) -> bool {
        self.kind.is_anon(self.write)
    }
    fn is_of_one_size(&self) -> bool {
        self.fsync > 0
    }
}

struct Pass {
    memory: Memory,
    set_up: SetUp,
    write: bool,
    syncs: Syncs,
    cache: Caching,
    /// True once the advice on the file was given.
    advised: bool,
    /// The thread's part of the region.
    first: u32,
    pages: u32,
    /// Next page within the part.
    next: u32,
    passes: Option<u32>,
}

impl Body for Pass {
    fn files(&self) -> Vec<FileSpec> {
        self.memory.files()
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        self.set_up.step(&self.memory, ops);
    }
    fn work(&mut self, mut units: u64, _rng: &mut Rng, ops: &mut Vec<Op>) {
        if !std::mem::replace(&mut self.advised, true) {
            let advice = match self.cache {
                Caching::Sequential => Some(FileAdvice::Sequential),
                Caching::NoReuse => Some(FileAdvice::NoReuse),
                _ => None,
            };
            let (first, count) = (self.first, self.pages);
            ops.extend(advice.map(|advice| Op::Fadvise { file: FILE, first, count, advice }));
        }
        let (most, uncached) = match self.cache {
            Caching::Normal | Caching::Sequential | Caching::NoReuse => (RUN_PAGES, None),
            Caching::DontNeed => (CHUNK, None),
            Caching::DontCache => (CHUNK, Some(Uncached::DontCache)),
            Caching::Direct => (CHUNK, Some(Uncached::Direct)),
        };
        while units > 0 {
            let most = most.min(self.syncs.room());
            let count = (self.pages - self.next).min(most).min(units as u32);
            let first = self.first + self.next;
            let op = match uncached {
                None => self.memory.access(first, count, self.write),
                how => file_io(FILE, (first, count), self.write, how),
            };
            self.syncs.push(op, ops);
            if self.cache == Caching::DontNeed {
                let advice = FileAdvice::DontNeed;
                ops.push(Op::Fadvise { file: FILE, first, count, advice });
            }
            self.next = (self.next + count) % self.pages;
            units -= u64::from(count);
        }
    }
    fn batch(&self) -> (u64, u64) {
        (u64::from(16 * RUN_PAGES), 256)
    }
    fn amount(&self) -> Option<u64> {
        self.passes.map(|n| u64::from(n) * u64::from(self.pages))
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;

    fn config() -> ScanConfig {
        ScanConfig {
            pages: 10,
            write: false,
            fsync: 0,
            kind: MemoryKind::Anon,
            cache: Caching::Normal,
            flags: VmaFlags::default(),
            populate: Populate::None,
            threads: 1,
            windows: 1,
            end: ScanEnd::Passes(3),
        }
    }

    #[test]
    fn passes_in_order() {
        let mut c = config();
        c.windows = 2;
        let mut w = c.workloads();
        let ops = harness::all(w[0].as_mut(), Ticking(0));
        let pages: Vec<u32> = harness::touches(&ops).iter().map(|t| t.1).collect();
        assert_eq!(pages, (0..30).map(|i| i % 10).collect::<Vec<u32>>());
        // The first window ends in the middle of the second pass.
        let at = ops.iter().position(|o| *o == Op::PhaseEnd(1)).unwrap();
        assert_eq!(harness::touches(&ops[..at]).len(), 15);
    }

    /// By hand: ten pages and a call after every four that are written; a thread that reads calls
    /// none.
    #[test]
    fn every_few_pages_the_file_is_synced() {
        let mut c = config();
        (c.fsync, c.kind, c.end) = (4, MemoryKind::FileRead("f".into()), ScanEnd::Passes(1));
        let counts = |c: &ScanConfig| -> Vec<u32> {
            let ops = harness::all(c.workloads()[0].as_mut(), Ticking(0));
            let of = |op: &Op| match *op {
                Op::Write { count, .. } | Op::Read { count, .. } => Some(count),
                Op::Fsync { .. } => Some(0),
                _ => None,
            };
            ops.iter().filter_map(of).collect()
        };
        assert!(!counts(&c).contains(&0));
        c.write = true;
        assert_eq!(counts(&c), [4, 0, 4, 0, 2]);
    }

    /// Every thread makes all passes over its own part, whatever the remainder.
    #[test]
    fn threads_have_parts() {
        let mut c = config();
        c.threads = 4;
        let mut seen = [0; 10];
        for w in &mut c.workloads() {
            for (_, page, _) in harness::touches(&harness::all(w.as_mut(), Ticking(0))) {
                seen[page as usize] += 1;
            }
        }
        assert_eq!(seen, [3; 10]);
    }

    #[test]
    fn long_regions_in_long_runs() {
        let mut c = config();
        (c.pages, c.write, c.end) = (10_000, true, ScanEnd::Passes(1));
        let ops = harness::all(c.workloads()[0].as_mut(), Ticking(0));
        let runs: Vec<u32> = ops
            .iter()
            .filter_map(|o| if let Op::Access(r) = o { Some(r.count) } else { None })
            .collect();
        assert_eq!(runs, [4096, 4096, 1808]);
    }
}
