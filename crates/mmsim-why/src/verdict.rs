//! What a run tells: counts by class, phase, task, group and region, and examples.
//!
//! Refaults of the last classes wait for the end of the run. Two curves over the ticks settle
//! them: the frames that held pages in vain, which nobody used again, and the pages that were
//! missing, out of memory until such a refault. Where the first is at least as high as the second,
//! the eviction should have met one of those pages.

use std::collections::BTreeMap;

use mmsim_core::base::id::{AsId, Idx, MemcgId, PageIdx, ThreadId};
use mmsim_core::memory::Memory;
use mmsim_core::memory::follow::PageOf;

use crate::class::Class;
use crate::names::{Names, group};
use crate::trouble::{TroubleCell, Troubles};

/// What refaults are counted by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub phase: u32,
    pub task: Option<AsId>,
    pub memcg: MemcgId,
    pub region: PageOf,
    pub file: bool,
    pub written: bool,
    pub class: Class,
}

/// One refault, to be shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub page: PageIdx,
    pub of: PageOf,
    pub offset: u32,
    pub evicted: u32,
    pub tick: u32,
    pub now: u64,
}

/// A refault with its access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The thread.
    pub thread: ThreadId,
    /// How many accesses it had done before.
    pub access: u64,
    /// The page.
    pub page: PageIdx,
    /// Its name.
    pub of: PageOf,
    /// It is of a file.
    pub file: bool,
    /// Why it had to come back.
    pub class: Class,
    pub(crate) evicted: u32,
    /// When it came back, in nanoseconds.
    pub now: u64,
}

/// Ticks in which a frame held a page that nobody used again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub since: u32,
    pub until: u32,
    /// Nobody had used it at all.
    pub ahead: bool,
}

/// Numbers over ticks, as their changes.
#[derive(Clone, Debug, Default)]
struct Curve(Vec<i64>);

impl Curve {
    fn change(&mut self, tick: u32, by: i64) {
        let tick = tick as usize;
        if tick >= self.0.len() {
            self.0.resize(tick + 1, 0);
        }
        self.0[tick] += by;
    }
    fn heights(self) -> Vec<i64> {
        let sums = self.0.into_iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        });
        sums.collect()
    }
}

/// Counts as the run goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    keys: BTreeMap<Key, u32>,
    counts: Vec<u64>,
    /// Refaults that wait for the end: the tick of their eviction and their key, and how many.
    open: Vec<(u64, u64)>,
    /// How many of these are in order.
    sorted: usize,
    in_vain: [Curve; 2],
    missing: Curve,
    examples: BTreeMap<Class, Vec<Example>>,
    /// Refaults so far, by class.
    seen: [u64; Class::ALL.len()],
    pub log: Vec<Logged>,
    pub troubles: Troubles,
    pub credit: u64,
    pub written: u64,
}

/// Examples of a class are refaults number 1, 2, 4, 8, and so on.
const MOST_EXAMPLES: usize = 24;

/// Open refaults are put together when there are so many new ones.
const OPEN: usize = 1 << 16;

impl Tables {
    /// The number of a key.
    pub(crate) fn key(&mut self, key: Key) -> u32 {
        let next = self.counts.len() as u32;
        let nth = *self.keys.entry(key).or_insert(next);
        if nth == next {
            self.counts.push(0);
        }
        nth
    }

    /// Counts a refault.
    pub(crate) fn count(&mut self, key: u32, class: Class, example: &Example) {
        if class.waits_for_the_end() {
            self.open.push((u64::from(example.evicted) << 32 | u64::from(key), 1));
            self.missing.change(example.evicted, 1);
            self.missing.change(example.tick, -1);
            if self.open.len() >= self.sorted + OPEN {
                self.put_together();
            }
        } else {
            self.counts[key as usize] += 1;
        }
        let seen = &mut self.seen[class as usize];
        *seen += 1;
        if seen.is_power_of_two() {
            let examples = self.examples.entry(class).or_default();
            if examples.len() < MOST_EXAMPLES {
                examples.push(*example);
            }
        }
    }

    fn put_together(&mut self) {
        self.open.sort_unstable();
        let mut all: Vec<(u64, u64)> = Vec::new();
        for &(at, n) in &self.open {
            match all.last_mut() {
                Some(last) if last.0 == at => last.1 += n,
                _ => all.push((at, n)),
            }
        }
        self.sorted = all.len();
        self.open = all;
    }

    /// A frame held a page in vain.
    pub(crate) fn kept_in_vain(&mut self, s: &Span) {
        let curve = &mut self.in_vain[usize::from(s.ahead)];
        curve.change(s.since + 1, 1);
        curve.change(s.until.max(s.since) + 1, -1);
    }
}

/// Refaults of one kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    /// How many phases had ended.
    pub phase: u32,
    /// Whose step it was; nobody's: of advice, or of the kernel.
    pub task: Option<String>,
    /// The group that counts it; empty for the root.
    pub group: String,
    /// `TASK:REGION` or `file NAME`.
    pub region: String,
    /// Of a file.
    pub file: bool,
    /// The page had been written to swap for it.
    pub written: bool,
    /// Why.
    pub class: Class,
    /// How many.
    pub count: u64,
}

/// A refault as an example of its class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Its class.
    pub class: Class,
    /// The page, as `--page` takes it.
    pub page: String,
    /// Its number in this run.
    pub index: PageIdx,
    /// When it came back, in nanoseconds.
    pub now: u64,
}

/// What a run tells.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdicts {
    /// All refaults.
    pub cells: Vec<Cell>,
    /// Examples, by class.
    pub examples: Vec<Shown>,
    /// Uses that hit in memory and that the optimum would have missed.
    pub credit: u64,
    /// Pages written to swap.
    pub written: u64,
    /// Blocks that could not be had, and stalls.
    pub troubles: Vec<TroubleCell>,
    /// Each refault, if that was asked for, as they were settled.
    pub log: Vec<Logged>,
    /// Names of processes and files, for the log.
    pub names: Names,
}

impl Verdicts {
    /// How many refaults there are of a kind.
    pub fn count(&self, of: impl Fn(&Cell) -> bool) -> u64 {
        self.cells.iter().filter(|c| of(c)).map(|c| c.count).sum()
    }

    /// How many allocations met something of a kind.
    pub fn troubled(&self, of: impl Fn(&TroubleCell) -> bool) -> u64 {
        self.troubles.iter().filter(|c| of(c)).map(|c| c.count).sum()
    }
}

/// Settles what was open, and gives all things their names.
pub(crate) fn settle(mut tables: Tables, mem: &Memory) -> Verdicts {
    let names = Names::of(mem);
    tables.put_together();
    let [used, ahead] = std::mem::take(&mut tables.in_vain).map(Curve::heights);
    let missing = std::mem::take(&mut tables.missing).heights();
    let at = |curve: &[i64], tick: u32| curve.get(tick as usize).copied().unwrap_or_default();
    let settled = |class: Class, evicted: u32| {
        let ahead = at(&ahead, evicted);
        let in_vain = at(&used, evicted) + ahead;
        match () {
            () if !class.waits_for_the_end() => class,
            () if in_vain <= 0 || in_vain < at(&missing, evicted) => class,
            () if 2 * ahead > in_vain => Class::ReadAheadKept,
            () => Class::OneTime,
        }
    };
    let keys: BTreeMap<u32, Key> = tables.keys.iter().map(|(&key, &nth)| (nth, key)).collect();
    let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
    for (nth, key) in &keys {
        let n = tables.counts[*nth as usize];
        if n > 0 {
            *counts.entry(*key).or_default() += n;
        }
    }
    for &(at, n) in &tables.open {
        let mut key = keys[&(at as u32)];
        key.class = settled(key.class, (at >> 32) as u32);
        *counts.entry(key).or_default() += n;
    }
    let cell = |(key, &count): (&Key, &u64)| Cell {
        phase: key.phase,
        task: key.task.map(|a| names.processes()[a.index()].clone()),
        group: group(mem, key.memcg),
        region: names.page(key.region, true),
        file: key.file,
        written: key.written,
        class: key.class,
        count,
    };
    let cells = counts.iter().map(cell).collect();
    let mut examples: Vec<Shown> = Vec::new();
    let mut all: Vec<(Class, &Example)> = Vec::new();
    for (&class, of) in &tables.examples {
        all.extend(of.iter().map(|e| (settled(class, e.evicted), e)));
    }
    all.sort_by_key(|&(class, e)| (class, e.now));
    for (class, e) in all {
        let of = match e.of {
            PageOf::Process(a, region, _) => PageOf::Process(a, region, e.offset),
            PageOf::File(f, _) => PageOf::File(f, e.offset),
            PageOf::Nobody => continue,
        };
        let page = names.page(of, false);
        let mine = examples.iter().filter(|s| s.class == class);
        if mine.clone().count() < 2 && !mine.clone().any(|s| s.page == page) {
            examples.push(Shown { class, page, index: e.page, now: e.now });
        }
    }
    for l in &mut tables.log {
        l.class = settled(l.class, l.evicted);
    }
    let Tables { credit, written, log, troubles, .. } = tables;
    let troubles = troubles.settle(mem, &names);
    Verdicts { cells, examples, credit, written, troubles, log, names }
}
