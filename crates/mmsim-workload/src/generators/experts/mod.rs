//! A language model with experts, whose weights lie in a file that may be larger than memory.
//!
//! The file has, layer by layer, a dense part, and for each projection the slices of all experts side
//! by side; at the end the head. So an expert is as many runs of pages as there are projections. A
//! token passes the layers in order. In each it touches the dense part, is routed to some experts, and
//! touches their slices, projection by projection. The threads have equal parts of every run and meet
//! after each layer and projection. A token is a record.
//!
//! In prefill a record is a batch of tokens, which touches each expert of any of them once. With
//! `prefetch`, further threads read meanwhile what comes next: the routed slices of the next
//! projection; in prefill, whose tokens use most experts, all of the next layer.
//!
//! Left out: the rows of the embedding.

mod routing;

pub use routing::Routing;

use self::routing::Router;
use super::memory::file_io;
use super::pace::{self, Body, End};
use crate::named::{Given, Misfit, Named, TaskOf, shown};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{
    Advice, FileSlot, FileSpec, MapKind, Op, RegionId, Run, Uncached, VmaFlags, Workload,
};
use mmsim_core::{settings, words};
use std::collections::VecDeque;
use std::ops::Range;

const FILE: FileSlot = FileSlot(0);
/// The mapped file.
const WEIGHTS: RegionId = RegionId(0);
/// Memory of the program's own.
const BUFFER: RegionId = RegionId(1);
/// Pages that are read or advised at a time: 1 MiB.
const PIECE: u32 = 256;

words! {
    /// Use that the program makes of memory.
    Strategy {
        Plain = "plain", "It touches the mapping.";
        Populate = "populate", "It has the whole file read at the start, by `MADV_POPULATE_READ`.";
        Random = "random", "It maps with `MADV_RANDOM`, so nothing is read around a fault.";
        WillNeed = "willneed", "It advises `MADV_WILLNEED` on the slices of each token's experts, 1 MiB a call.";
        Cold = "cold", "It advises `MADV_COLD` on slices once they were used.";
        Pin = "pin", "It locks the dense parts, and the experts that it has used most.";
        Prefetch = "prefetch", "Further threads read the slices that come next by `pread`, and it advises `MADV_COLD` on them once they were used.";
        Direct = "direct", "It reads experts with `O_DIRECT` into memory of its own, and keeps those of each layer that were used last.";
        Anonymous = "anonymous", "It reads the whole file into memory of its own at the start.";
    }
}

settings! {
    /// A model with experts. Sizes are in pages, times in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ExpertsConfig {
        /// tokens
        end as "records": u64 = 0, .range(1, MANY).required();
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// layers
        layers: u32 = 0, .range(1, 10_000).required();
        /// experts of a layer
        experts: u32 = 0, .range(2, 65_535).required();
        /// experts that a token is routed to in each layer
        top_k as "top-k": u32 = 2, .range(1, 1000);
        /// size of an expert's slice, of which it has one for each projection
        slice: u32 = 0, .pages(1).required();
        /// projections of an expert
        projections: u32 = 3, .range(1, 16);
        /// what each token touches in each layer: attention, norms, shared experts
        dense: u32 = 0, .pages(0);
        /// what each token touches at the end
        head: u32 = 0, .pages(0);
        /// which experts a token is routed to
        routing: Routing = Routing::Stack;
        /// exponent of the law `zipf`
        theta: f64 = 1.0, .reals(0.0, 10.0);
        /// what the program does about memory
        strategy: Strategy = Strategy::Plain;
        /// with `pin`: experts of all layers together that are locked; with `direct`: experts of each
        /// layer that are kept
        kept: u32 = 0, .range(0, 65_535);
        /// with `pin`: tokens from one choice of what is locked to the next
        repin: u32 = 64, .range(1, 1_000_000);
        /// tokens of a batch that passes the layers together (prefill); such a batch is a record
        prefill: u32 = 1, .range(1, 65_535);
        /// with `prefetch`: threads that read
        readers: u32 = 4, .range(1, 1024);
        /// computing for each MiB that a thread touches
        compute: SimDuration = SimDuration::from_micros(25);
    }
    with {
        /// Name of the file.
        name: String = String::new();
        /// Threads.
        threads: u32 = 1;
    }
}

/// `experts`.
pub const EXPERTS: Named<ExpertsConfig> = Named {
    about: "a language model with experts in a file that may be larger than memory",
    doc: "A language model of which each token uses a few experts of each layer. Its weights lie in a \
          mapped file. `threads` threads have equal parts of each run of pages and meet after each \
          layer and projection. A token is a record.",
    rows: ExpertsConfig::ROWS,
    start: || ExpertsConfig::of(Kernel::LAST),
    finish: ExpertsConfig::finish,
};

impl ExpertsConfig {
    fn finish(&mut self, task: &TaskOf<'_>, given: &dyn Given) -> Result<(), Misfit> {
        (self.name, self.threads) = (task.name.to_string(), task.threads);
        if self.top_k > self.experts {
            let found = format!("{} of {} experts", self.top_k, self.experts);
            return Err(Misfit::new("top-k", found, format!("{} or less", self.experts)));
        }
        if self.routing != Routing::Zipf && !given.is_default("theta") {
            let found = "only routing = \"zipf\" has an exponent";
            return Err(Misfit::new("theta", found, "routing = \"zipf\", or leave `theta` out"));
        }
        let pages = self.pages();
        if pages > u64::from(u32::MAX) / 2 {
            let found = format!("a file of {} is too large", show_pages(pages));
            let most = shown(u32::MAX / 2);
            return Err(Misfit::new("slice", found, format!("sizes whose sum is {most} at most")));
        }
        let all = u64::from(self.layers) * u64::from(self.experts);
        let (keeps, of, what) = match self.strategy {
            Strategy::Pin => (true, all, "experts"),
            Strategy::Direct => (true, self.experts.into(), "experts of a layer"),
            _ => (false, 0, ""),
        };
        if keeps && (self.kept == 0 || u64::from(self.kept) > of) {
            let found = format!("{} of {of} {what}", self.kept);
            return Err(Misfit::new("kept", found, format!("1 to {of}")));
        }
        if self.strategy == Strategy::Direct && self.kept < self.top_k {
            let found = format!("{} kept experts hold no token's {}", self.kept, self.top_k);
            return Err(Misfit::new("kept", found, format!("{} or more", self.top_k)));
        }
        if self.strategy != Strategy::Prefetch && !given.is_default("readers") {
            let found = "no thread reads ahead";
            let write = "strategy = \"prefetch\", or leave it out";
            return Err(Misfit::new("readers", found, write));
        }
        if self.strategy != Strategy::Pin && !given.is_default("repin") {
            let found = "nothing is locked";
            return Err(Misfit::new("repin", found, "strategy = \"pin\", or leave it out"));
        }
        if !keeps && !given.is_default("kept") {
            let found = format!("nothing is kept with strategy = \"{}\"", word(self.strategy));
            return Err(Misfit::new("kept", found, "strategy = \"pin\" or \"direct\""));
        }
        Ok(())
    }

    /// Pages of one expert.
    fn of_expert(&self) -> u32 {
        self.slice * self.projections
    }

    /// Pages of one layer.
    fn of_layer(&self) -> u64 {
        u64::from(self.dense)
            + u64::from(self.experts) * u64::from(self.slice) * u64::from(self.projections)
    }

    /// Pages of the file.
    pub fn pages(&self) -> u64 {
        u64::from(self.layers) * self.of_layer() + u64::from(self.head)
    }

    /// Pages of the program's own memory.
    fn buffer(&self) -> u64 {
        match self.strategy {
            Strategy::Anonymous => self.pages(),
            Strategy::Direct => {
                u64::from(self.layers) * u64::from(self.kept) * u64::from(self.of_expert())
            }
            _ => 0,
        }
    }

    /// The dense part of a layer.
    fn dense_of(&self, layer: u32) -> Range<u32> {
        let first = (u64::from(layer) * self.of_layer()) as u32;
        first..first + self.dense
    }

    /// The slice of an expert for a projection.
    fn slice_of(&self, layer: u32, projection: u32, expert: u32) -> Range<u32> {
        let of_projection = self.experts * self.slice;
        let first = self.dense_of(layer).end + projection * of_projection + expert * self.slice;
        first..first + self.slice
    }

    /// One workload per thread; `seed` draws the routing.
    pub fn workloads(&self, seed: u64) -> Vec<Box<dyn Workload>> {
        assert!(self.layers > 0 && self.experts > 0, "layers, experts: must be at least 1");
        assert!(self.top_k <= self.experts, "top_k: must be at most the number of experts");
        let size = (self.layers, self.experts, self.top_k);
        let rng = || Rng::for_purpose(seed, &format!("experts/{}/routing", self.name));
        let readers = if self.strategy == Strategy::Prefetch { self.readers } else { 0 };
        let course = (self.threads + readers, self.windows, End::Work(self.end), None);
        pace::threads(course, |thread| Layers {
            config: self.clone(),
            thread,
            router: Router::new(self.routing, self.theta, size, rng()),
            set_up: 0,
            tokens: 0,
            uses: match self.strategy {
                Strategy::Pin => vec![0; (self.layers * self.experts) as usize],
                _ => Vec::new(),
            },
            pinned: Vec::new(),
            kept: vec![VecDeque::new(); self.layers as usize],
            routed: Vec::new(),
        })
    }
}

/// Name of a strategy in scenario files.
fn word(strategy: Strategy) -> &'static str {
    use mmsim_core::base::settings::{Form, Formed as _};
    match Strategy::FORM {
        Form::Word(_, names) => names[strategy as usize],
        _ => unreachable!("strategies are words"),
    }
}

impl Work for ExpertsConfig {
    fn threads(&self, seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads(seed))
    }
    fn add_pages(&self, _seed: u64, processes: u32, pages: &mut Pages) {
        pages.file(&self.name, self.pages());
        pages.map(self.pages() + self.buffer(), u64::from(processes.min(1)));
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        Ok(true)
    }
    fn is_of_one_size(&self) -> bool {
        true
    }
}

struct Layers {
    config: ExpertsConfig,
    thread: u32,
    router: Router,
    /// Steps of the set-up that are done.
    set_up: u32,
    tokens: u64,
    /// With `pin`: tokens that were routed to each expert, layer by layer.
    uses: Vec<u32>,
    /// With `pin`: what is locked, sorted.
    pinned: Vec<u32>,
    /// With `direct`: the experts that each layer keeps, by place in the buffer, the one used last at
    /// the back.
    kept: Vec<VecDeque<(u32, u32)>>,
    routed: Vec<u32>,
}

impl Layers {
    /// The part of a run of pages that is this thread's.
    fn own(&self, run: Range<u32>) -> Range<u32> {
        if self.reader().is_some() {
            return run.start..run.start;
        }
        let pages = u64::from(run.end - run.start);
        let at =
            |t: u32| run.start + (pages * u64::from(t) / u64::from(self.config.threads)) as u32;
        at(self.thread)..at(self.thread + 1)
    }

    /// Touches the thread's part of a run of a region, and computes.
    fn touches(&self, region: RegionId, run: Range<u32>, ops: &mut Vec<Op>) {
        let own = self.own(run);
        let count = own.end - own.start;
        if count > 0 {
            ops.push(Op::Access(Run { region, write: false, first: own.start, count }));
            let time = self.config.compute.as_nanos() * u64::from(count) / 256;
            if time > 0 {
                ops.push(Op::Compute(SimDuration::from_nanos(time)));
            }
        }
    }

    /// The number of a thread that reads ahead, among those.
    fn reader(&self) -> Option<u32> {
        self.thread.checked_sub(self.config.threads)
    }

    fn meet(&self, ops: &mut Vec<Op>) {
        if self.config.threads > 1 || self.config.strategy == Strategy::Prefetch {
            ops.push(Op::Barrier);
        }
    }

    /// The region in which weights are touched that are not of an expert of `direct`.
    fn weights(&self) -> RegionId {
        match self.config.strategy {
            Strategy::Anonymous => BUFFER,
            _ => WEIGHTS,
        }
    }

    /// A reader reads its part of what comes after a projection of a layer.
    fn read_ahead(&self, layer: u32, projection: u32, ops: &mut Vec<Op>) {
        let (Some(reader), c) = (self.reader(), &self.config) else { return };
        let next: Vec<Range<u32>> = match c.prefill {
            1 if projection + 1 < c.projections => {
                let slice = |&e: &u32| c.slice_of(layer, projection + 1, e);
                self.routed.iter().map(slice).collect()
            }
            1 => return,
            _ if layer + 1 == c.layers => return,
            _ => {
                let dense = (projection == 0).then(|| c.dense_of(layer + 1));
                let slices = (0..c.experts).map(|e| c.slice_of(layer + 1, projection, e));
                dense.into_iter().chain(slices).collect()
            }
        };
        let own = |(n, _): &(usize, Range<u32>)| *n as u32 % c.readers == reader;
        for (_, run) in next.into_iter().enumerate().filter(own) {
            ops.extend(
                pieces(run).map(|piece| {
                    file_io(FILE, (piece.start, piece.end - piece.start), false, None)
                }),
            );
        }
    }

    /// True if the `n`-th slice of a token is this thread's to read or advise.
    fn cares_for(&self, n: usize) -> bool {
        n as u32 % self.config.threads == self.thread
    }

    /// Advises on the slices of the routed experts that are the thread's, piece by piece.
    fn advise(&self, layer: u32, advice: Advice, ops: &mut Vec<Op>) {
        let c = &self.config;
        let slices = self.routed.iter().flat_map(|&e| (0..c.projections).map(move |p| (p, e)));
        for (_, (p, e)) in slices.enumerate().filter(|(n, _)| self.cares_for(*n)) {
            for piece in pieces(c.slice_of(layer, p, e)) {
                let (first, count) = (piece.start, piece.end - piece.start);
                ops.push(Op::Madvise { region: WEIGHTS, first, count, advice });
            }
        }
    }

    /// With `pin`: locks the dense parts at the first time, and the experts that were used most.
    fn pin(&mut self, ops: &mut Vec<Op>) {
        let c = self.config.clone();
        let mut lock = |range: Range<u32>, locked: bool| {
            let (region, first, count) = (WEIGHTS, range.start, range.end - range.start);
            if count > 0 {
                ops.push(match locked {
                    true => Op::Mlock { region, first, count, onfault: false },
                    false => Op::Munlock { region, first, count },
                });
            }
        };
        if self.tokens == 0 {
            (0..c.layers).for_each(|l| lock(c.dense_of(l), true));
            return;
        }
        let mut most: Vec<u32> = (0..self.uses.len() as u32).collect();
        most.sort_by_key(|&e| std::cmp::Reverse(self.uses[e as usize]));
        most.truncate(c.kept as usize);
        most.retain(|&e| self.uses[e as usize] > 0);
        most.sort_unstable();
        let slices = |e: u32| {
            let (layer, expert) = (e / c.experts, e % c.experts);
            (0..c.projections).map(move |p| (layer, p, expert))
        };
        let gone = self.pinned.iter().filter(|e| most.binary_search(e).is_err());
        for (l, p, e) in gone.flat_map(|&e| slices(e)) {
            lock(c.slice_of(l, p, e), false);
        }
        let new = most.iter().filter(|e| self.pinned.binary_search(e).is_err());
        for (l, p, e) in new.flat_map(|&e| slices(e)) {
            lock(c.slice_of(l, p, e), true);
        }
        self.pinned = most;
    }

    /// With `direct`: the places of the routed experts in the buffer. Those that are not there are read
    /// into the places of the ones that were used longest ago.
    fn fetch(&mut self, layer: u32, ops: &mut Vec<Op>) -> Vec<u32> {
        let of_expert = self.config.of_expert();
        let base = layer * self.config.kept * of_expert;
        let mut read = 0;
        let mut places = Vec::new();
        for i in 0..self.routed.len() {
            let expert = self.routed[i];
            let kept = &mut self.kept[layer as usize];
            let found = kept.iter().position(|k| k.0 == expert);
            let place = match found {
                Some(at) => kept.remove(at).expect("it is there").1,
                None if kept.len() < self.config.kept as usize => {
                    base + kept.len() as u32 * of_expert
                }
                None => kept.pop_front().expect("some are kept").1,
            };
            self.kept[layer as usize].push_back((expert, place));
            places.push(place);
            if found.is_some() {
                continue;
            }
            for p in 0..self.config.projections {
                read += 1;
                if self.cares_for(read) {
                    let from = self.config.slice_of(layer, p, expert);
                    self.read(from, place + p * self.config.slice, Some(Uncached::Direct), ops);
                }
            }
        }
        places
    }

    /// Reads pages of the file into the buffer, piece by piece.
    fn read(&self, from: Range<u32>, to: u32, how: Option<Uncached>, ops: &mut Vec<Op>) {
        let start = from.start;
        for piece in pieces(from) {
            let count = piece.end - piece.start;
            ops.push(file_io(FILE, (piece.start, count), false, how));
            let first = to + (piece.start - start);
            ops.push(Op::Access(Run { region: BUFFER, write: true, first, count }));
        }
    }

    fn layer(&mut self, layer: u32, ops: &mut Vec<Op>) {
        let c = self.config.clone();
        self.touches(self.weights(), c.dense_of(layer), ops);
        self.meet(ops);
        self.routed.clear();
        let mut routed = std::mem::take(&mut self.routed);
        for _ in 0..c.prefill {
            self.router.route(layer as usize, &mut routed);
        }
        if c.prefill > 1 {
            routed.sort_unstable();
            routed.dedup();
        }
        self.routed = routed;
        let mut places = Vec::new();
        match c.strategy {
            Strategy::WillNeed => self.advise(layer, Advice::WillNeed, ops),
            Strategy::Direct => {
                places = self.fetch(layer, ops);
                self.meet(ops);
            }
            Strategy::Pin => {
                for &e in &self.routed {
                    self.uses[(layer * c.experts + e) as usize] += 1;
                }
            }
            _ => {}
        }
        for p in 0..c.projections {
            for (i, &e) in self.routed.iter().enumerate() {
                let (region, run) = match places.get(i) {
                    Some(&place) => {
                        let first = place + p * c.slice;
                        (BUFFER, first..first + c.slice)
                    }
                    None => (self.weights(), c.slice_of(layer, p, e)),
                };
                self.touches(region, run, ops);
            }
            self.read_ahead(layer, p, ops);
            self.meet(ops);
        }
        let cold = matches!(c.strategy, Strategy::Cold | Strategy::Prefetch);
        if cold && self.reader().is_none() {
            self.advise(layer, Advice::Cold, ops);
        }
    }
}

/// Runs of at most [`PIECE`] pages.
fn pieces(run: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let end = run.end;
    run.step_by(PIECE as usize).map(move |first| first..end.min(first + PIECE))
}

impl Body for Layers {
    fn files(&self) -> Vec<FileSpec> {
        vec![FileSpec::new(self.config.name.clone(), self.config.pages() as u32)]
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        let c = &self.config;
        let pages = c.pages() as u32;
        let (flags, at) = (VmaFlags::NONE, None);
        let advise = |advice| Op::Madvise { region: WEIGHTS, first: 0, count: pages, advice };
        match self.set_up {
            0 => {
                let kind = MapKind::File { file: FILE, offset: 0, shared: true };
                ops.push(Op::Mmap { region: WEIGHTS, pages, kind, flags, at });
                let buffer = c.buffer() as u32;
                if buffer > 0 {
                    let kind = MapKind::Anon;
                    ops.push(Op::Mmap { region: BUFFER, pages: buffer, kind, flags, at });
                }
            }
            1 => match c.strategy {
                Strategy::Populate => ops.push(advise(Advice::PopulateRead)),
                Strategy::Random => ops.push(advise(Advice::Random)),
                Strategy::Anonymous => self.read(0..pages, 0, None, ops),
                _ => {}
            },
            _ => {}
        }
        self.set_up += 1;
    }
    fn work(&mut self, units: u64, _rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..units {
            if self.config.strategy == Strategy::Pin
                && self.tokens.is_multiple_of(self.config.repin.into())
            {
                let from = ops.len();
                self.pin(ops);
                if self.thread > 0 {
                    ops.truncate(from);
                }
                self.meet(ops);
            }
            (0..self.config.layers).for_each(|layer| self.layer(layer, ops));
            let end = self.config.pages() as u32;
            self.touches(self.weights(), end - self.config.head..end, ops);
            self.meet(ops);
            self.tokens += 1;
            if self.thread == 0 {
                ops.push(Op::Records(1));
            }
        }
    }
    fn record(&self) -> Option<&'static str> {
        Some("token")
    }
    fn batch(&self) -> (u64, u64) {
        (1, 1)
    }
    fn amount(&self) -> Option<u64> {
        Some(self.config.end)
    }
}

#[cfg(test)]
mod tests;
