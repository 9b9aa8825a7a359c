//! A database that only reads, through descriptors, with as many clients as it serves at a time.
//!
//! A transaction reads one item (all that belongs to one warehouse, say) block by block; on the way
//! it looks pages of an index up. The blocks of an item lie scattered over the data file: block `b`
//! of all items comes before block `b + 1` of any. Items whose size follows a law have the drawn
//! number of blocks, and the data file has room for the largest in the place of each. A client
//! begins the next transaction when one is done, so that the disk never has more than `clients`
//! blocks to read at a time. The number of transactions that the clients complete shows their
//! achievement: fewer misses, more transactions. How many misses there were in all says nothing
//! then, for whoever is faster has more of them in the same time.
//!
//! Every access is a `read(2)`; nothing is mapped. So reclaim learns of an access only from what
//! the read marks, and a page that is read once is not told from one that will be.
//!
//! Set-up makes the memory old before the work begins: it writes anonymous memory that is not used
//! again, and reads a file that is not the data (whatever was loaded, restored or logged before),
//! some chunks of it twice, some more often; that file is never read again either.
//!
//! Items are drawn independently, by a zipf law or uniformly, or taken in turn: `clients` clients
//! then go round together, and the data between two reads of a block is all of the data.
//!
//! Deviations. There is no cache in the database itself (it is anonymous memory; a zipf workload
//! beside this one can stand for it). All index pages are alike.

use super::memory::RUN_PAGES;
use super::pace::{self, Body, End};
use crate::law::{Source, Varying};
use crate::named::{Given, Misfit, Named, TaskOf, in_order, shown};
use crate::sampler::{PageSampler, RankMap};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{MANY, Settings as _, show_pages};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_core::workload::{FileSlot, FileSpec, MapKind, Op, RegionId, Run, VmaFlags, Workload};
use mmsim_core::{settings, words};
use std::sync::Arc;

/// Pages of the old file that are read the same number of times.
const CHUNK: u32 = 64;
/// Times that a transaction reads some pages again.
const REREAD_TIMES: u32 = 3;
/// Operations in one batch of the set-up.
const SET_UP_BATCH: usize = 1024;
const DATA: FileSlot = FileSlot(0);
const INDEX: FileSlot = FileSlot(1);
const STALE: FileSlot = FileSlot(2);
const IDLE: RegionId = RegionId(0);

words! {
    /// Choice of an item by a transaction.
    ItemChoice {
        Zipf = "zipf", "By a zipf law.";
        Cyclic = "cyclic", "One after the other, all clients together.";
    }
}

settings! {
    /// A reading database. Sizes are in pages, times in nanoseconds.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ReaderConfig {
        /// transactions of all clients together
        end as "records": End = End::Work(0),
            .range(1, MANY).required().or("duration").auto("`duration` decides");
        /// equal parts that are reported as phases of their own
        windows: u32 = 1, .range(1, 10_000);
        /// items
        items: u32 = 0, .range(1, u32::MAX as u64).required();
        /// size of an item; a multiple of `block`. A law is of sizes of items, each in the nearest
        /// number of blocks; it needs `max`, for which the data is laid out
        item: Varying = Varying::Always(0), .pages(1).required();
        /// what is read at a time; the blocks of an item lie scattered over the data
        block: u32 = 8, .pages(1);
        /// items by a zipf law, or in turn
        choice: ItemChoice = ItemChoice::Zipf;
        /// exponent of the law: 0 is uniform; an error with `cyclic`
        theta: f64 = 0.0, .reals(0.0, 10.0);
        /// the index
        index: u32 = 0, .pages(0);
        /// pages of it that a transaction reads, drawn uniformly
        index_reads as "index-reads": Varying = Varying::Always(0), .count(0, u32::MAX as u64);
        /// time from one arrival to the next at each thread: work begins when it arrives and the
        /// work before is done, and its latency counts from its arrival
        arrival: Option<Varying> = None, .auto("the one before is done");
        /// pages of an item that its transaction reads again when it has read the whole item, in whole
        /// blocks that lie evenly in the item
        reread as "reread-permille": Option<u32> = None, .range(0, 1000).auto("none");
        /// how often it reads them again
        reread_times as "reread-times": Option<u32> = None,
            .range(1, 1000).auto("3, with `reread-permille`");
        /// a file that is read before the work begins and never again
        stale: u32 = 0, .pages(0);
        /// how often: the least-read parts of it
        stale_min as "stale-min": u32 = 2, .range(1, 1000);
        /// and the most-read ones
        stale_max as "stale-max": u32 = 6, .range(1, 1000);
        /// anonymous memory that is written before the work begins and never used again
        idle: u32 = 0, .pages(0);
    }
    more {
        /// instead of `records`: how long
        end as "duration": SimDuration, after "records", .lasting().auto("`records` decides");
    }
    with {
        /// Prefix of the names of all files.
        name: String = String::new();
        /// Clients: transactions at a time.
        clients: u32 = 1;
    }
}

/// `reader`.
pub const READER: Named<ReaderConfig> = Named {
    about: "a database that only reads through descriptors, with a number of clients at a time",
    doc: "A database that only reads, through descriptors. Each of `threads` clients reads one \
          item after the other, block by block, with pages of an index on the way. An item is a \
          transaction, which is a record. Before, memory is filled with what is never used \
          again. Give `records` or `duration`.",
    rows: ReaderConfig::ROWS,
    start: || ReaderConfig::of(Kernel::LAST),
    finish: ReaderConfig::finish,
};

impl ReaderConfig {
    fn finish(&mut self, task: &TaskOf<'_>, given: &dyn Given) -> Result<(), Misfit> {
        (self.name, self.clients) = (task.name.to_string(), task.threads);
        let block = u64::from(self.block);
        if let Varying::Always(pages) = self.item
            && !pages.is_multiple_of(block)
        {
            let (all, each) = (show_pages(pages), shown(self.block));
            let found = format!("{all} is not a whole number of blocks of {each}");
            let up = pages.next_multiple_of(block);
            return Err(Misfit::new("item", found, format!("\"{}\"", show_pages(up))));
        }
        if self.choice == ItemChoice::Cyclic && !given.is_default("theta") {
            let found = "items that are taken in turn follow no law";
            return Err(Misfit::new("theta", found, "choice = \"zipf\", or leave `theta` out"));
        }
        if self.reread.is_none() && self.reread_times.is_some() {
            let found = "nothing is read again";
            return Err(Misfit::new(
                "reread-times",
                found,
                "`reread-permille` too, or leave it out",
            ));
        }
        let stale = (("stale-min", self.stale_min), ("stale-max", self.stale_max));
        in_order(given, stale.0, stale.1, |count| count)?;
        self.check_data()
    }

    fn check_data(&self) -> Result<(), Misfit> {
        let each = u64::from(self.most_blocks()) * u64::from(self.block);
        let data = u64::from(self.items).saturating_mul(each);
        if data > u32::MAX.into() {
            let (all, items) = (show_pages(data), self.items);
            if let Varying::Drawn { .. } = self.item {
                let found = format!("room for {items} of the largest items is {all}, too much");
                return Err(Misfit::new(
                    "item",
                    found,
                    "a smaller `max` of the law, or fewer items",
                ));
            }
            let found = format!("{items} items are {all}, too many");
            return Err(Misfit::new("items", found, "fewer items, or smaller ones"));
        }
        if self.index == 0 && !self.index_reads.is_zero() {
            let found = match self.index_reads {
                Varying::Always(n) => format!("{n} reads of an index that is empty"),
                Varying::Drawn { .. } => "reads of an index that is empty".to_string(),
            };
            return Err(Misfit::new("index-reads", found, "0, or give `index` a size"));
        }
        Ok(())
    }

    /// Blocks of an item of `pages` pages.
    fn blocks(&self, pages: u64) -> u32 {
        let block = u64::from(self.block);
        u32::try_from(((pages + block / 2) / block).max(1)).unwrap_or(u32::MAX)
    }

    /// Blocks of the largest item.
    pub fn most_blocks(&self) -> u32 {
        self.blocks(self.item.most())
    }

    /// Pages of its data, its index and the old file.
    pub fn file_pages(&self) -> [u64; 3] {
        let data = u64::from(self.items).saturating_mul(self.most_blocks().into());
        [data.saturating_mul(self.block.into()), self.index.into(), self.stale.into()]
    }

    /// One workload per client; `seed` draws the sizes of items that follow a law. Panics on a
    /// value that its field does not allow.
    pub fn workloads(&self, seed: u64) -> Vec<Box<dyn Workload>> {
        assert!(self.items > 0 && self.block > 0, "items, block: must be at least 1");
        assert!(self.item.least() > 0, "item: must be at least 1");
        if let Varying::Always(pages) = self.item {
            assert!(pages.is_multiple_of(self.block.into()), "item: must be whole blocks");
        }
        let most_blocks = self.most_blocks();
        let data = u128::from(self.items) * u128::from(most_blocks) * u128::from(self.block);
        assert!(data < 1 << 32, "items, item: must be below 2^32 pages together");
        let sizes = Rng::for_purpose(seed, &format!("reader/{}/item", self.name)).next_u64();
        assert!(self.index > 0 || self.index_reads.is_zero(), "index_reads: there is no index");
        let (least, most) = (self.stale_min, self.stale_max);
        assert!(0 < least && least <= most, "stale_reads: bounds must be at least 1 and in order");
        let law = |n, theta| PageSampler::shared(n, theta, RankMap::Scatter);
        let items = match self.choice {
            ItemChoice::Zipf => Some(law(self.items, self.theta)),
            ItemChoice::Cyclic => None,
        };
        let index = law(self.index.max(1), 0.0);
        let course = (self.clients, self.windows, self.end, self.arrival);
        pace::threads(course, |t| Client {
            config: self.clone(),
            most_blocks,
            sizes,
            number: t,
            items: items.clone(),
            index: Arc::clone(&index),
            reads: self.index_reads.source("index-reads"),
            due: 0,
            set_up: SetUp::Idle,
            transactions: 0,
            at: None,
        })
    }
}

impl Work for ReaderConfig {
    fn threads(&self, seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(self.workloads(seed))
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        self.file_pages().into_iter().for_each(|of_file| pages.files(1, of_file));
        pages.map(self.idle.into(), 1);
    }
    fn has_anon(&self) -> bool {
        self.idle > 0
    }
}

/// Next step of set-up.
#[derive(Clone, Copy, Debug)]
enum SetUp {
    Idle,
    /// From this page of the old file on.
    Stale(u32),
}

struct Client {
    config: ReaderConfig,
    /// Blocks of the largest item.
    most_blocks: u32,
    /// Seed of the generators of sizes of items.
    sizes: u64,
    number: u32,
    /// The law over items, unless they are taken in turn.
    items: Option<Arc<PageSampler>>,
    index: Arc<PageSampler>,
    /// Pages of the index for a transaction; those of the one under way.
    reads: Source,
    due: u64,
    set_up: SetUp,
    /// Transactions that have begun.
    transactions: u64,
    /// Item of the one under way, its next block, and how many it has.
    at: Option<(u32, u32, u32)>,
}

impl Client {
    fn item(&mut self, rng: &mut Rng) -> u32 {
        let turn = self.transactions;
        self.transactions += 1;
        match &self.items {
            Some(law) => law.sample(rng),
            None => {
                let before = u128::from(turn) * u128::from(self.config.clients);
                let turn = before + u128::from(self.number);
                (turn % u128::from(self.config.items)) as u32
            }
        }
    }

    /// Blocks of an item. It has a generator of its own, so that nothing is kept of items that are
    /// never read.
    fn blocks(&self, item: u32) -> u32 {
        match self.config.item {
            Varying::Always(_) => self.most_blocks,
            size @ Varying::Drawn { .. } => {
                let seed = self.sizes.wrapping_add(item.into());
                self.config.blocks(size.draw(&mut Rng::for_purpose(seed, "item")))
            }
        }
    }

    /// True if a unit of work is a transaction: where its number of blocks is not known before.
    /// Work that ends by time goes block by block all the same.
    fn by_transactions(&self) -> bool {
        let c = &self.config;
        matches!((c.item, c.end), (Varying::Drawn { .. }, End::Work(_)))
    }

    /// Some blocks of the item are read again, in order, as often as is wanted.
    fn reread(&self, item: u32, blocks: u32, ops: &mut Vec<Op>) {
        let c = &self.config;
        let Some(permille) = c.reread else { return };
        let upto = |b: u32| u64::from(b) * u64::from(permille) / 1000;
        for _ in 0..c.reread_times.unwrap_or(REREAD_TIMES) {
            for block in (0..blocks).filter(|&b| upto(b + 1) > upto(b)) {
                let first = (block * c.items + item) * c.block;
                ops.push(Op::Read { file: DATA, first, count: c.block });
            }
        }
    }

    /// The next block of the transaction, with its share of the index.
    fn block(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        let (item, block, blocks) = match self.at {
            Some(at) => at,
            None => {
                self.due = self.reads.draw(rng);
                let item = self.item(rng);
                (item, 0, self.blocks(item))
            }
        };
        let c = &self.config;
        let upto = |b: u32| self.due * u64::from(b) / u64::from(blocks);
        for _ in upto(block)..upto(block + 1) {
            ops.push(Op::Read { file: INDEX, first: self.index.sample(rng), count: 1 });
        }
        let first = (block * c.items + item) * c.block;
        ops.push(Op::Read { file: DATA, first, count: c.block });
        self.at = Some((item, block + 1, blocks));
        if block + 1 == blocks {
            self.reread(item, blocks, ops);
            ops.push(Op::Records(1));
            self.at = None;
        }
    }
}

impl Body for Client {
    fn files(&self) -> Vec<FileSpec> {
        let c = &self.config;
        let file =
            |kind: &str, pages: u32| FileSpec::new(format!("{}/{kind}", c.name), pages.max(1));
        vec![
            file("data", c.items * self.most_blocks * c.block),
            file("index", c.index),
            file("stale", c.stale),
        ]
    }
    fn record(&self) -> Option<&'static str> {
        Some("transaction")
    }
    fn set_up(&mut self, ops: &mut Vec<Op>) {
        let c = &self.config;
        if let SetUp::Idle = self.set_up {
            self.set_up = SetUp::Stale(0);
            if c.idle > 0 {
                let (kind, flags) = (MapKind::Anon, VmaFlags::default());
                ops.push(Op::Mmap { region: IDLE, pages: c.idle, kind, flags, at: None });
                for first in (0..c.idle).step_by(RUN_PAGES as usize) {
                    let count = RUN_PAGES.min(c.idle - first);
                    ops.push(Op::Access(Run { region: IDLE, write: true, first, count }));
                }
                return;
            }
        }
        let SetUp::Stale(mut first) = self.set_up else { return };
        let (least, most) = (c.stale_min, c.stale_max);
        while first < c.stale && ops.len() < SET_UP_BATCH {
            let count = CHUNK.min(c.stale - first);
            let times = least + (first / CHUNK) % (most - least + 1);
            ops.extend((0..times).map(|_| Op::Read { file: STALE, first, count }));
            first += count;
        }
        self.set_up = SetUp::Stale(first);
    }
    fn work(&mut self, units: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        let whole = self.by_transactions();
        for _ in 0..units {
            self.block(rng, ops);
            while whole && self.at.is_some() {
                self.block(rng, ops);
            }
        }
    }
    fn batch(&self) -> (u64, u64) {
        // Blocks: a transaction may take seconds, and the clock is looked at in between.
        if self.by_transactions() { (1, 1) } else { (64, 4) }
    }
    fn arrives(&self) -> bool {
        self.at.is_none()
    }
    fn amount(&self) -> Option<u64> {
        let c = &self.config;
        match c.end {
            End::Work(n) if !self.by_transactions() => {
                Some(pace::share(n, c.clients, self.number) * u64::from(self.most_blocks))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{self, Ticking};
    use super::*;
    use crate::law::Law;
    use mmsim_core::base::time::SimDuration;

    /// Three items of four blocks of two pages.
    fn config() -> ReaderConfig {
        ReaderConfig {
            name: "db".into(),
            clients: 1,
            items: 3,
            item: Varying::Always(8),
            block: 2,
            choice: ItemChoice::Cyclic,
            theta: 0.0,
            index: 0,
            index_reads: Varying::default(),
            reread: None,
            reread_times: None,
            stale: 0,
            stale_min: 2,
            stale_max: 4,
            idle: 0,
            arrival: None,
            windows: 1,
            end: End::Work(4),
        }
    }

    fn of(c: &ReaderConfig) -> Vec<Vec<Op>> {
        let all = |w: &mut Box<dyn Workload>| harness::all(w.as_mut(), Ticking(1_000_000));
        c.workloads(1).iter_mut().map(all).collect()
    }
    fn reads(ops: &[Op], of: FileSlot) -> Vec<(u32, u32)> {
        let read = |o: &Op| match *o {
            Op::Read { file, first, count } if file == of => Some((first, count)),
            _ => None,
        };
        ops.iter().filter_map(read).collect()
    }

    /// The blocks of an item are as far from each other as there are items.
    #[test]
    fn blocks_of_an_item_are_scattered() {
        let ops = &of(&config())[0];
        let first: Vec<u32> = reads(ops, DATA).iter().map(|r| r.0).collect();
        assert_eq!(first, [0, 6, 12, 18, 2, 8, 14, 20, 4, 10, 16, 22, 0, 6, 12, 18]);
        assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 4);
        let files = config().workloads(1)[0].files();
        assert_eq!((files[0].name.as_str(), files[0].pages), ("db/data", 24));
    }

    /// Half of four blocks are the second and the fourth. They are read again when all are read, and
    /// the transaction ends after that. A share of less than a block is none.
    #[test]
    fn some_blocks_are_read_again_in_the_same_transaction() {
        let c = ReaderConfig { reread: Some(500), reread_times: Some(2), ..config() };
        let ops = &of(&c)[0];
        let end = ops.iter().position(|o| *o == Op::Records(1)).expect("a transaction");
        let first: Vec<u32> = reads(&ops[..end], DATA).iter().map(|r| r.0).collect();
        assert_eq!(first, [0, 6, 12, 18, 6, 18, 6, 18]);
        let times = |reread, reread_times| {
            let c = ReaderConfig { reread: Some(reread), reread_times, ..config() };
            reads(&of(&c)[0], DATA).len()
        };
        assert_eq!((times(500, None), times(200, None), times(1000, Some(1))), (40, 16, 32));
    }

    #[test]
    fn clients_go_round_together() {
        let c = ReaderConfig { clients: 2, end: End::Work(5), ..config() };
        let items = |ops: &[Op]| -> Vec<u32> {
            reads(ops, DATA).iter().step_by(4).map(|r| r.0 / 2).collect()
        };
        let all = of(&c);
        assert_eq!((items(&all[0]), items(&all[1])), (vec![0, 2, 1], vec![1, 0]));
    }

    #[test]
    fn the_index_is_looked_up_on_the_way() {
        let c = ReaderConfig {
            index: 10,
            index_reads: Varying::Always(6),
            end: End::Work(500),
            ..config()
        };
        let ops = &of(&c)[0];
        let files: Vec<u16> = ops
            .iter()
            .filter_map(|o| if let Op::Read { file, .. } = o { Some(file.0) } else { None })
            .take(10)
            .collect();
        assert_eq!(files, [1, 0, 1, 1, 0, 1, 0, 1, 1, 0]);
        let mut by_page = [0; 10];
        reads(ops, INDEX).iter().for_each(|r| by_page[r.0 as usize] += 1);
        // 3000 draws: 300 each, 16 are one standard deviation.
        assert!(by_page.iter().all(|n| (230..370).contains(n)), "{by_page:?}");
    }

    #[test]
    fn set_up_leaves_old_memory() {
        let c = ReaderConfig { idle: 5000, stale: 200, ..config() };
        let ops = &of(&c)[0];
        let chunks = [(0, 64), (0, 64), (64, 64), (64, 64), (64, 64)];
        let stale = reads(ops, STALE);
        assert_eq!(stale[..5], chunks);
        assert_eq!((stale.len(), stale[9..].to_vec()), (2 + 3 + 4 + 2, vec![(192, 8); 2]));
        let touched = harness::touches(ops);
        assert_eq!(touched.len(), 5000);
        assert!(touched.iter().all(|t| t.2));
        assert!(matches!(ops[0], Op::Mmap { region: IDLE, pages: 5000, .. }));
    }

    /// Work that is not done when time is up is no transaction.
    #[test]
    fn a_transaction_that_is_cut_off_does_not_count() {
        let end = End::After(SimDuration::from_millis(3));
        let ops = &of(&ReaderConfig { item: Varying::Always(10), end, ..config() })[0];
        assert_eq!(reads(ops, DATA).len(), 3 * 4);
        assert_eq!(ops.iter().filter(|o| **o == Op::Records(1)).count(), 2);
    }

    /// Each item has a size of its own, the same each time that it is read. Each transaction reads
    /// all of its item, which begins where it would if all were as large.
    #[test]
    fn sizes_of_items_follow_a_law() {
        let law = Law::Lognormal { median: 60.0, sigma: 0.5 };
        let item = Varying::Drawn { law, min: 1, max: 1000 };
        let c = ReaderConfig { items: 500, block: 1, item, end: End::Work(1000), ..config() };
        let ops = &of(&c)[0];
        let parts: Vec<Vec<(u32, u32)>> =
            ops.split(|o| *o == Op::Records(1)).map(|part| reads(part, DATA)).collect();
        assert_eq!((parts.len(), parts[1000].len()), (1001, 0));
        for (i, part) in parts[..1000].iter().enumerate() {
            let begins = |b: usize| ((b * 500 + i % 500) as u32, 1);
            assert!(part.iter().enumerate().all(|(b, read)| *read == begins(b)));
            assert_eq!(part.len(), parts[i % 500].len());
        }
        let sizes: Vec<f64> = parts[..500].iter().map(|part| part.len() as f64).collect();
        harness::follow(&sizes, law);
        assert_eq!(c.workloads(1)[0].files()[0].pages, 500 * 1000);
        // The nearest whole number of blocks: on average as many pages.
        let c = ReaderConfig { block: 4, ..c };
        let read: usize = of(&c).iter().map(|ops| reads(ops, DATA).len()).sum();
        let pages = parts[..1000].iter().map(Vec::len).sum::<usize>();
        assert!((read as f64 * 4.0 / pages as f64 - 1.0).abs() < 0.02, "{read} {pages}");
    }

    /// By time it goes block by block.
    #[test]
    fn drawn_items_end_by_time() {
        let law = Law::Exponential { mean: 40.0 };
        let item = Varying::Drawn { law, min: 1, max: 1000 };
        let end = End::After(SimDuration::from_millis(50));
        let ops = &of(&ReaderConfig { item, items: 1000, end, ..config() })[0];
        assert_eq!(reads(ops, DATA).len(), 50 * 4);
    }
}
