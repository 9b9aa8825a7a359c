//! A build, as memory sees it: many short processes that share a compiler and its headers.
//!
//! A worker (`make -j` sets their number) runs one compilation after the other. A compilation maps
//! the compiler's text and touches it, reads a source file that no other compilation reads and
//! headers that all read, fills anonymous memory in bursts, goes over it between the bursts, writes
//! an object file, and exits: its memory is freed, its text unmapped. That is one record. So the
//! machine has at the same time hot mapped text, hot and lukewarm page cache that is read by system
//! calls, page cache that is used once, dirty page cache, and anonymous memory that lives a second
//! and is never idle while it lives. Policies disagree about which of these to take.
//!
//! One draw decides how large a translation unit is: memory, time and object all stand at that
//! place between their bounds, because large sources take more of all three. One that has a law of
//! its own is drawn by that law instead, whatever the others are. Headers are drawn by a zipf law
//! over the pool; one that was drawn before in the same compilation is not read again (include
//! guards). After a number of objects a worker links: it reads back the objects that it wrote since
//! the last time and writes an archive of the same size. That is no record.
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
use crate::named::{Given, Misfit, Named, TaskOf, in_order, shown};
use crate::sampler::Zipf;
use crate::work::{Pages, Threads, Work, WorkError, tables};
use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::phys::gfp::GFP_KERNEL;
use mmsim_core::settings;
use mmsim_core::workload::{
    BlockHandle, FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload,
};
use std::sync::Arc;

/// Pages that a machine can number.
const U32: u64 = u32::MAX as u64;
/// Headers read in one batch of the set-up.
const SET_UP_BATCH: u32 = 1024;
/// The compiler comes first, then headers, sources, objects, archives.
const TEXT: FileSlot = FileSlot(0);

/// Amount that a compilation takes: pages, or nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Amount {
    /// The smallest compilation takes the first, the largest the second one.
    Between(u64, u64),
    /// Each has a draw of its own for it, however large it is.
    Own(Varying),
}

impl Amount {
    fn of(least: u64, most: u64, own: Option<Varying>) -> Amount {
        own.map_or(Amount::Between(least, most), Amount::Own)
    }

    /// No compilation takes less, none more.
    fn bounds(&self) -> (u64, u64) {
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

    /// Amount that a compilation takes whose size is `place` of 2^32 of the way to the largest one.
    fn take(&self, place: u32, own: &mut Source, thread: &Rng) -> u64 {
        match *self {
            Amount::Between(low, high) => between(low, high, place),
            Amount::Own(_) => own.draw(thread),
        }
    }
}

settings! {
    /// A build. Sizes are in pages, times in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct BuildConfig {
        /// compilations of all workers together
        end as "records": End = End::Work(0),
            .range(1, MANY).required().or("duration").auto("`duration` decides");
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// the part of the compiler's text that a compilation uses, mapped executable; `0 pages`:
        /// none
        text: u32 = 20 << 8, .pages(0);
        /// header files that all share
        headers: u32 = 4000, .range(1, 16_000);
        /// size of each
        header_pages as "header": u32 = 2, .pages(1);
        /// headers that a compilation draws; what it drew before it does not read again
        header_reads as "header-reads": u32 = 500, .range(0, 100_000);
        /// exponent of the law by which they are drawn: 0 is uniform
        header_theta as "header-zipf": f64 = 1.0, .reals(0.0, 10.0);
        /// source files, each with an object; after the last one the first is compiled again
        sources: u32 = 3000, .range(1, 16_000);
        /// size of each
        source_pages as "source": u32 = 5, .pages(1);
        /// anonymous memory of the smallest compilation
        anon_min as "anon-min": u32 = 20 << 8, .pages(1);
        /// anonymous memory of the largest one
        anon_max as "anon-max": u32 = 60 << 8, .pages(1);
        /// instead of these: anonymous memory of each compilation
        anon: Option<Varying> = None, .pages(1).auto("`anon-min` to `anon-max`");
        /// parts in which it is allocated
        bursts: u32 = 8, .range(1, 1000);
        /// after each part, the number of times that all of it so far is read, and the text touched
        passes: u32 = 1, .range(0, 1000);
        /// computing of the smallest compilation, spread over parts and passes
        compute_min as "compute-min": SimDuration = SimDuration::from_millis(300);
        /// computing of the largest one
        compute_max as "compute-max": SimDuration = SimDuration::from_millis(1300);
        /// instead of these: computing of each compilation
        compute: Option<Varying> = None, .auto("`compute-min` to `compute-max`");
        /// object file of the smallest compilation
        object_min as "object-min": u32 = 5, .pages(1);
        /// object file of the largest one
        object_max as "object-max": u32 = 35, .pages(1);
        /// instead of these: object file of each compilation; a law needs `max`, for which files
        /// are laid out
        object: Option<Varying> = None, .pages(1).auto("`object-min` to `object-max`");
        /// number of objects after which a worker reads them back and writes an archive of the
        /// same size; 0 is never
        link_every as "link-every": u32 = 12, .range(0, 1000);
        /// single unmovable frames of the kernel that a compilation holds
        unmovable: u32 = 200, .range(0, 1_000_000);
        /// reclaimable ones
        reclaimable: u32 = 200, .range(0, 1_000_000);
    }
    more {
        /// instead of `records`: how long
        end as "duration": SimDuration, after "records", .lasting().auto("`records` decides");
    }
    with {
        /// Prefix of the names of all files.
        name: String = String::new();
        /// Workers: compilations at a time.
        threads: u32 = 1;
    }
}

/// `build`.
pub const BUILD: Named<BuildConfig> = Named {
    about: "short compilations that share a compiler and headers, as in a build by make",
    doc: "Compilations, one after the other in each of `threads` workers (`make -j`). Each \
          touches the compiler's text, reads a source and headers, and allocates anonymous \
          memory in bursts and goes over it. It writes an object and exits, which is a record. \
          One draw places a compilation between the bounds of memory, time and object; what has \
          a law of its own is drawn by that. Give `records` or `duration`.",
    rows: BuildConfig::ROWS,
    start: || BuildConfig::of(Kernel::LAST),
    finish: BuildConfig::finish,
};

impl BuildConfig {
    fn finish(&mut self, task: &TaskOf<'_>, given: &dyn Given) -> Result<(), Misfit> {
        (self.name, self.threads) = (task.name.to_string(), task.threads);
        let keys = [
            (self.anon, "anon", ["anon-min", "anon-max"]),
            (self.compute, "compute", ["compute-min", "compute-max"]),
            (self.object, "object", ["object-min", "object-max"]),
        ];
        for (own, key, bounds) in keys {
            let bound = bounds.into_iter().find(|bound| !given.is_default(bound));
            if let Some(bound) = bound.filter(|_| own.is_some()) {
                return Err(Misfit::Both(key, bound));
            }
        }
        if self.anon.is_none() {
            let bounds = (("anon-min", self.anon_min), ("anon-max", self.anon_max));
            in_order(given, bounds.0, bounds.1, shown)?;
        }
        if self.compute.is_none() {
            let bounds = (("compute-min", self.compute_min), ("compute-max", self.compute_max));
            in_order(given, bounds.0, bounds.1, |time| time)?;
        }
        if self.object.is_none() {
            let bounds = (("object-min", self.object_min), ("object-max", self.object_max));
            in_order(given, bounds.0, bounds.1, shown)?;
        }
        self.check_files()
    }

    /// All files have to find room among the pages that a machine can number. The key that asks for
    /// most of them is the mistake.
    fn check_files(&self) -> Result<(), Misfit> {
        let archived = match self.link_every {
            0 => 0,
            n => u64::from(self.archives()) * u64::from(n),
        };
        let object = if self.object.is_some() { "object" } else { "object-max" };
        let objects = u64::from(self.sources) + archived;
        let parts = [
            // The file, and at least one worker's mapping of it.
            ("text", 2 * u64::from(self.text)),
            ("header", u64::from(self.headers) * u64::from(self.header_pages)),
            ("source", u64::from(self.sources) * u64::from(self.source_pages)),
            (object, objects.saturating_mul(self.object_pages().bounds().1)),
        ];
        let all: u64 = parts.iter().map(|p| p.1).sum();
        let Some((key, _)) = parts.into_iter().max_by_key(|p| p.1).filter(|_| all > U32) else {
            return Ok(());
        };
        let found = format!("all files of the build are {}, too many", show_pages(all));
        let write = match self.object {
            Some(Varying::Drawn { .. }) if key == "object" => "a smaller `max` of the law",
            _ => "a smaller size",
        };
        Err(Misfit::new(key, found, format!("{write}, or fewer files")))
    }

    fn anon_pages(&self) -> Amount {
        Amount::of(self.anon_min.into(), self.anon_max.into(), self.anon)
    }

    fn object_pages(&self) -> Amount {
        Amount::of(self.object_min.into(), self.object_max.into(), self.object)
    }

    fn computing(&self) -> Amount {
        Amount::of(self.compute_min.as_nanos(), self.compute_max.as_nanos(), self.compute)
    }

    /// Archives: as many as links go into one round over the sources, rounded up.
    fn archives(&self) -> u32 {
        if self.link_every == 0 { 0 } else { self.sources.div_ceil(self.link_every) }
    }

    /// Its files, as numbers of files and of pages of each: the compiler, headers, sources,
    /// objects, archives.
    pub fn file_pages(&self) -> [(u32, u64); 5] {
        let object = self.object_pages().bounds().1;
        [
            (1, self.text.into()),
            (self.headers, self.header_pages.into()),
            (self.sources, self.source_pages.into()),
            (self.sources, object),
            (self.archives(), object.saturating_mul(self.link_every.into())),
        ]
    }

    /// Pages for the heaps of compilations. A place that one of another size left fits none: there
    /// are as many as the workers for each size, or one for each compilation.
    fn heap_pages(&self) -> u64 {
        let group = u64::from(GROUP_PAGES);
        let (least, most) = self.anon_pages().bounds();
        let (least, most) = (tables(least) / group, tables(most) / group);
        let at_once = most.saturating_mul(self.threads.into());
        let End::Work(compilations) = self.end else { return at_once.saturating_mul(group) };
        let sizes = (least + most).saturating_mul(most - least + 1) / 2;
        let left = sizes.saturating_mul(self.threads.into()).min(most.saturating_mul(compilations));
        left.max(at_once).saturating_mul(group)
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
        for (key, amount, least) in [
            ("anon", self.anon_pages(), 1),
            ("object", self.object_pages(), 1),
            ("compute", self.computing(), 0),
        ] {
            let (low, high) = amount.bounds();
            assert!(least <= low && low <= high, "{key}: bounds from {least} up and in order");
            assert!(key == "compute" || high < 1 << 32, "{key}: must be below 2^32 pages");
        }
        assert!(
            self.object_pages().bounds().1 * u64::from(self.link_every.max(1)) < 1 << 32,
            "object, link_every: an archive must be below 2^32 pages"
        );
        assert!(
            u64::from(self.unmovable) + u64::from(self.reclaimable) < 1 << 32,
            "unmovable, reclaimable: must be below 2^32 together"
        );
        let zipf = Arc::new(Zipf::new(u64::from(self.headers), self.header_theta));
        pace::threads((self.threads, self.windows, self.end, None), |t| Worker {
            config: self.clone(),
            anon: self.anon_pages().source("anon"),
            compute: self.computing().source("compute"),
            object: self.object_pages().source("object"),
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

impl Work for BuildConfig {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads())
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        self.file_pages().into_iter().for_each(|(n, of_file)| pages.files(n, of_file));
        pages.map(self.text.into(), self.threads.into());
        pages.map(self.heap_pages(), 1);
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(true)
    }
    fn unfit_for_samples(&self) -> Option<&'static str> {
        let frames = self.unmovable + self.reclaimable > 0;
        frames.then_some("it takes frames of the kernel, which have no pages to sample")
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

/// Part of `total` that is done after `i` of `n` equal steps.
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
    /// The number, of `all` that the workers take in turns, for this worker's turn `turn`.
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
        let anon = c.anon_pages().take(place, &mut self.anon, rng);
        let object = c.object_pages().take(place, &mut self.object, rng) as u32;
        let compute = c.computing().take(place, &mut self.compute, rng);
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
            |kind: &str, i: u32, pages| FileSpec::new(format!("{}/{kind}{i}", c.name), pages);
        let text = FileSpec::new(format!("{}/text", c.name), c.text.max(1));
        // Both are below 2^32.
        let object = c.object_pages().bounds().1 as u32;
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
mod tests;
