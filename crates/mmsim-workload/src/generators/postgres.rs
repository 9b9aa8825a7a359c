//! A database with buffers of its own in shared memory, beside the page cache: PostgreSQL.
//!
//! Backends serve one transaction after the other. A transaction visits blocks of 8 KiB of the table
//! by a zipf law, and changes some of them. A block is looked for in the shared buffers. If it is not
//! there, a buffer is freed by clock sweep: each buffer has a usage count of at most five, which a visit
//! raises and the passing hand lowers; the first at zero goes, and is written to its file before if it
//! was changed. Then the block is read with `read(2)`, through the page cache, and copied to the buffer.
//! A transaction that changed something appends to the log and waits for `fsync(2)`.
//!
//! One thread more makes checkpoints: from time to time it writes all changed buffers, in order of
//! blocks and spread over a part of the interval, and has the table's file written.
//!
//! So a block may be in memory twice, and who sets `shared-buffers` decides how often it is.
//!
//! Source: PostgreSQL 17 src/backend/storage/buffer/{freelist,bufmgr}.c, postmaster/checkpointer.c.
//! Deviations: backends are threads of one process, which share page tables; a commit writes the log
//! alone; there is no background writer, no ring of buffers for large scans, and no dirty page of the
//! log outside commits.

use super::memory::RUN_PAGES;
use super::pace::{self, Body, End};
use crate::law::Varying;
use crate::named::{Given, Misfit, Named, TaskOf};
use crate::sampler::{PageSampler, RankMap};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::settings;
use mmsim_core::workload::{
    FileSlot, FileSpec, MapKind, Op, RegionId, Run, ShmemSpec, VmaFlags, Workload,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Pages of a block.
const BLOCK: u32 = 2;
/// The highest usage count of a buffer (`BM_MAX_USAGE_COUNT`).
const MOST_USED: u8 = 5;
/// Pages of a segment of the log, which is used again from its beginning.
const LOG_PAGES: u32 = 4096;
const TABLE: FileSlot = FileSlot(0);
const LOG: FileSlot = FileSlot(1);
const SHARED: FileSlot = FileSlot(2);
const BUFFERS: RegionId = RegionId(0);
const NONE: u32 = u32::MAX;

settings! {
    /// A database with shared buffers. Sizes are in pages, times in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct PostgresConfig {
        /// how long it works
        duration: SimDuration = SimDuration(0), .lasting().required();
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// `shared_buffers`
        shared_buffers as "shared-buffers": u32 = 0, .pages(BLOCK as u64).required();
        /// the table, with its indexes
        data: u32 = 0, .pages(BLOCK as u64).required();
        /// exponent of the law by which blocks are visited: 0 is uniform
        theta: f64 = 0.8, .reals(0.0, 10.0);
        /// blocks that a transaction visits
        blocks: u32 = 10, .range(1, 1_000_000);
        /// visited blocks that are changed
        changed_permille as "changed-permille": u32 = 0, .range(0, 1000);
        /// pages of the log that a transaction appends which changed something
        log: u32 = 1, .pages(0);
        /// memory of its own that each backend has, touched in turn, a page a transaction
        private: u32 = 256, .pages(0);
        /// what a visit of a block computes
        visit: SimDuration = SimDuration::from_micros(2);
        /// from the beginning of a checkpoint to the next (`checkpoint_timeout`)
        checkpoint: SimDuration = SimDuration::from_secs(300), .lasting();
        /// the part of that time over which its writes are spread (`checkpoint_completion_target`)
        completion_permille as "completion-permille": u32 = 900, .range(1, 1000);
    }
    with {
        /// Prefix of the names of all files.
        name: String = String::new();
        /// Backends.
        backends: u32 = 1;
    }
}

/// `postgres`.
pub const POSTGRES: Named<PostgresConfig> = Named {
    about: "a database with shared buffers beside the page cache, backends and checkpoints",
    doc: "A database that keeps blocks of 8 KiB in shared memory and reads them through the page \
          cache. Each of `threads` backends serves one transaction after the other, which is a \
          record; one thread more makes checkpoints.",
    rows: PostgresConfig::ROWS,
    start: || PostgresConfig::of(Kernel::LAST),
    finish: PostgresConfig::finish,
};

impl PostgresConfig {
    fn finish(&mut self, task: &TaskOf<'_>, _given: &dyn Given) -> Result<(), Misfit> {
        (self.name, self.backends) = (task.name.to_string(), task.threads);
        for (key, pages) in [("shared-buffers", self.shared_buffers), ("data", self.data)] {
            if !pages.is_multiple_of(BLOCK) {
                let found = format!("{} is not a whole number of blocks", show_pages(pages.into()));
                let up = show_pages(u64::from(pages) + 1);
                return Err(Misfit::new(key, found, format!("\"{up}\"")));
            }
        }
        Ok(())
    }

    /// One workload per backend, and one that makes checkpoints.
    fn workloads(&self) -> Vec<Box<dyn Workload>> {
        let pool = Arc::new(Mutex::new(Pool::new(self.shared_buffers / BLOCK, self.data / BLOCK)));
        let law = PageSampler::shared(self.data / BLOCK, self.theta, RankMap::Scatter);
        let course = (self.backends + 1, self.windows, End::After(self.duration), None::<Varying>);
        pace::threads(course, |number| Member {
            config: self.clone(),
            pool: Arc::clone(&pool),
            law: Arc::clone(&law),
            number,
            mapped: false,
            next_private: 0,
            log: 0,
            due: Vec::new(),
            apart: SimDuration::ZERO,
        })
    }
}

impl Work for PostgresConfig {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads())
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        pages.map(self.shared_buffers.into(), 1);
        pages.map(self.private.into(), self.backends.into());
        for of_file in [self.shared_buffers, self.data, LOG_PAGES] {
            pages.files(1, of_file.into());
        }
    }
    fn lasts(&self) -> Option<SimDuration> {
        Some(self.duration)
    }
    fn has_anon(&self) -> bool {
        true
    }
}

/// A buffer: the block in it, how often it was used lately, and whether it was changed.
#[derive(Clone, Copy)]
struct Buffer {
    block: u32,
    used: u8,
    changed: bool,
}

/// The shared buffers, as all backends see them.
struct Pool {
    buffers: Vec<Buffer>,
    /// The buffer of each block, or [`NONE`].
    of_block: Vec<u32>,
    /// Buffers that hold a block.
    filled: u32,
    hand: u32,
}

impl Pool {
    fn new(buffers: u32, blocks: u32) -> Self {
        let empty = Buffer { block: NONE, used: 0, changed: false };
        Pool {
            buffers: vec![empty; buffers as usize],
            of_block: vec![NONE; blocks as usize],
            filled: 0,
            hand: 0,
        }
    }

    /// The buffer of a block that is there, which is used once more.
    fn find(&mut self, block: u32) -> Option<u32> {
        let at = self.of_block[block as usize];
        let buffer = self.buffers.get_mut(at as usize)?;
        buffer.used = (buffer.used + 1).min(MOST_USED);
        Some(at)
    }

    /// A buffer for a block that is not there, and the changed block that has to be written first.
    fn replace(&mut self, block: u32) -> (u32, Option<u32>) {
        let at = self.victim();
        let old = self.buffers[at as usize];
        if old.block != NONE {
            self.of_block[old.block as usize] = NONE;
        }
        self.buffers[at as usize] = Buffer { block, used: 1, changed: false };
        self.of_block[block as usize] = at;
        (at, (old.changed).then_some(old.block))
    }

    /// A buffer that was never used, or the first without uses under the hand.
    fn victim(&mut self) -> u32 {
        if (self.filled as usize) < self.buffers.len() {
            self.filled += 1;
            return self.filled - 1;
        }
        loop {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.buffers.len() as u32;
            let buffer = &mut self.buffers[at as usize];
            if buffer.used == 0 {
                return at;
            }
            buffer.used -= 1;
        }
    }

    /// The changed blocks, the last one first.
    fn changed(&self) -> Vec<u32> {
        let changed = self.buffers.iter().filter(|b| b.changed).map(|b| b.block);
        let mut blocks: Vec<u32> = changed.collect();
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        blocks
    }
}

/// A backend, or (the last one) the thread that makes checkpoints.
struct Member {
    config: PostgresConfig,
    pool: Arc<Mutex<Pool>>,
    law: Arc<PageSampler>,
    number: u32,
    /// Memory of its own is mapped.
    mapped: bool,
    next_private: u32,
    /// The next page of the log.
    log: u32,
    /// Changed blocks of the checkpoint under way that are still to be written.
    due: Vec<u32>,
    /// Time from one of its writes to the next.
    apart: SimDuration,
}

fn touch(region: RegionId, write: bool, first: u32, count: u32) -> Op {
    Op::Access(Run { region, write, first, count })
}

/// A block is copied from its buffer to the page cache.
fn write_out(buffer: u32, block: u32, ops: &mut Vec<Op>) {
    ops.push(touch(BUFFERS, false, buffer * BLOCK, BLOCK));
    ops.push(Op::Write { file: TABLE, first: block * BLOCK, count: BLOCK });
}

impl Member {
    /// Region of the memory that is its own.
    fn own(&self) -> RegionId {
        RegionId(1 + self.number as u16)
    }

    fn transaction(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let pool = Arc::clone(&self.pool);
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        let c = &self.config;
        let mut changes = false;
        for _ in 0..c.blocks {
            let block = self.law.sample(rng);
            let writes = rng.below(1000) < u64::from(c.changed_permille);
            let at = match pool.find(block) {
                Some(at) => at,
                None => {
                    let (at, old) = pool.replace(block);
                    if let Some(old) = old {
                        write_out(at, old, ops);
                    }
                    ops.push(Op::Read { file: TABLE, first: block * BLOCK, count: BLOCK });
                    ops.push(touch(BUFFERS, true, at * BLOCK, BLOCK));
                    at
                }
            };
            ops.push(touch(BUFFERS, writes, at * BLOCK, BLOCK));
            pool.buffers[at as usize].changed |= writes;
            changes |= writes;
            if c.visit > SimDuration::ZERO {
                ops.push(Op::Compute(c.visit));
            }
        }
        if c.private > 0 {
            ops.push(touch(self.own(), true, self.next_private, 1));
            self.next_private = (self.next_private + 1) % c.private;
        }
        if changes && c.log > 0 {
            let count = c.log.min(LOG_PAGES);
            let first = if self.log + count > LOG_PAGES { 0 } else { self.log };
            self.log = first + count;
            ops.extend([Op::Write { file: LOG, first, count }, Op::Fsync { file: LOG }]);
        }
        ops.push(Op::Records(1));
    }

    /// The next write of a checkpoint, or the wait for the next one.
    fn checkpoint(&mut self, ops: &mut Vec<Op>) {
        let pool = Arc::clone(&self.pool);
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        let c = &self.config;
        if let Some(block) = self.due.pop() {
            // It may have been written since, for its buffer.
            let at = pool.of_block[block as usize];
            if let Some(buffer) = pool.buffers.get_mut(at as usize)
                && std::mem::take(&mut buffer.changed)
            {
                write_out(at, block, ops);
            }
            ops.push(Op::Sleep(self.apart));
            if self.due.is_empty() {
                ops.push(Op::Fsync { file: TABLE });
            }
            return;
        }
        self.due = pool.changed();
        let spread = c.checkpoint.0 / 1000 * u64::from(c.completion_permille);
        self.apart = SimDuration(spread / (self.due.len() as u64).max(1));
        let rest = if self.due.is_empty() { c.checkpoint.0 } else { c.checkpoint.0 - spread };
        ops.push(Op::Sleep(SimDuration(rest)));
    }
}

impl Body for Member {
    fn files(&self) -> Vec<FileSpec> {
        let c = &self.config;
        let file = |kind: &str, pages| FileSpec::new(format!("{}/{kind}", c.name), pages);
        let shared = file("shared_buffers", c.shared_buffers);
        let shmem = Some(ShmemSpec::default());
        vec![file("table", c.data), file("log", LOG_PAGES), FileSpec { shmem, ..shared }]
    }
    fn record(&self) -> Option<&'static str> {
        Some("transaction")
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        if std::mem::replace(&mut self.mapped, true) {
            return;
        }
        let (pages, flags) = (self.config.shared_buffers, VmaFlags::default());
        let kind = MapKind::Shmem { file: SHARED, offset: 0 };
        ops.push(Op::Mmap { region: BUFFERS, pages, kind, flags, at: None });
        for number in 0..self.config.backends {
            let (pages, region) = (self.config.private, RegionId(1 + number as u16));
            if pages > 0 {
                ops.push(Op::Mmap { region, pages, kind: MapKind::Anon, flags, at: None });
                let runs = (0..pages).step_by(RUN_PAGES as usize);
                ops.extend(runs.map(|at| touch(region, true, at, RUN_PAGES.min(pages - at))));
            }
        }
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..units {
            match self.number == self.config.backends {
                true => self.checkpoint(ops),
                false => self.transaction(rng, ops),
            }
        }
    }
    fn batch(&self) -> (u64, u64) {
        (1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three buffers, blocks 0 to 4. The first three fill them. Block 0 is visited again, so it has two
    /// uses and the others one. Block 3 comes: the hand lowers all once (1, 0, 0), passes the first
    /// again (0) and takes the second, where block 1 was. Block 4 comes: the third is at zero.
    #[test]
    fn the_clock_takes_the_first_without_uses() {
        let mut pool = Pool::new(3, 5);
        let placed: Vec<u32> = (0..3).map(|block| pool.replace(block).0).collect();
        assert_eq!(placed, [0, 1, 2]);
        assert_eq!(pool.find(0), Some(0));
        pool.buffers[1].changed = true;
        assert_eq!(pool.replace(3), (1, Some(1)), "block 1 is written first");
        assert_eq!(pool.find(1), None);
        assert_eq!(pool.replace(4), (2, None));
        assert_eq!([0, 3, 4].map(|block| pool.find(block)), [Some(0), Some(1), Some(2)]);
    }

    /// A checkpoint writes changed buffers in order of blocks, each once.
    #[test]
    fn checkpoints_write_what_was_changed() {
        let config = PostgresConfig {
            duration: SimDuration::from_secs(1),
            shared_buffers: 8,
            data: 16,
            ..PostgresConfig::of(Kernel::LAST)
        };
        let pool = Arc::new(Mutex::new(Pool::new(4, 8)));
        let mut all = pool.lock().expect("not poisoned");
        for block in [7, 2, 5] {
            let at = all.replace(block).0;
            all.buffers[at as usize].changed = block != 5;
        }
        drop(all);
        let mut member = Member {
            config,
            pool,
            law: PageSampler::shared(8, 0.0, RankMap::Scatter),
            number: 1,
            mapped: true,
            next_private: 0,
            log: 0,
            due: Vec::new(),
            apart: SimDuration::ZERO,
        };
        let mut ops = Vec::new();
        (0..3).for_each(|_| member.checkpoint(&mut ops));
        let written: Vec<u32> = ops
            .iter()
            .filter_map(|op| match op {
                Op::Write { first, .. } => Some(first / BLOCK),
                _ => None,
            })
            .collect();
        assert_eq!(written, [2, 7]);
        assert_eq!(ops.last(), Some(&Op::Fsync { file: TABLE }));
    }
}
