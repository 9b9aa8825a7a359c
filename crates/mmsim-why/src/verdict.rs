//! Verdicts of a run: counts by class, phase, task, group and region, and examples.
//!
//! Refaults of the last classes wait for the end of the run. Two curves over the ticks settle them:
//! the frames that held pages in vain, which were not used again, and the pages that were missing,
//! out of memory until such a refault. Where the first is at least as high as the second, the
//! eviction should have met one of those pages.

use std::collections::BTreeMap;

use mmsim_core::base::id::{AsId, Idx, MemcgId, PageIdx, ThreadId};
use mmsim_core::memory::Memory;
use mmsim_core::memory::follow::{PageOf, Refaulted};

use crate::class::Class;
use crate::names::{Names, group};
use crate::trouble::{TroubleCell, Troubles};

/// Key by which refaults are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub phase: u32,
    pub task: Option<AsId>,
    pub memcg: MemcgId,
    pub region: PageOf,
    pub file: bool,
    pub without_device: bool,
    pub written: bool,
    pub class: Class,
}

/// Where refaults happen that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Site {
    /// By its number.
    pub region: u32,
    pub memcg: MemcgId,
    pub file: bool,
    /// No device was read.
    pub without_device: bool,
}

impl Site {
    /// Where a page came back.
    #[inline(always)]
    pub(crate) fn of(r: &Refaulted) -> Site {
        let (file, without_device) = (r.at.file, r.without_device);
        Site { region: r.region, memcg: r.memcg, file, without_device }
    }

    /// All of it in one number, which is never 0.
    #[inline(always)]
    fn key(self) -> u64 {
        1 << 63
            | u64::from(self.without_device) << 49
            | u64::from(self.file) << 48
            | u64::from(self.memcg.0) << 32
            | u64::from(self.region)
    }
}

/// A refault whose class is not settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fresh {
    pub page: PageIdx,
    /// The ticks of its eviction and of the refault.
    pub evicted: u32,
    pub tick: u32,
    /// When it came back, in nanoseconds.
    pub now: u64,
    /// Where, as a number.
    pub site: u32,
    pub phase: u32,
    /// If the eviction was a decision.
    pub class: Class,
    pub balanced: bool,
    pub written: bool,
    pub verdict: Option<Class>,
}

/// A refault with its access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// The thread.
    pub thread: ThreadId,
    /// Number of its accesses before.
    pub access: u64,
    /// The page.
    pub page: PageIdx,
    /// Its name.
    pub of: PageOf,
    /// It is of a file.
    pub file: bool,
    /// No device was read for it.
    pub without_device: bool,
    /// Why it had to come back.
    pub class: Class,
    pub(crate) site: u32,
    pub(crate) evicted: u32,
    /// When it came back, in nanoseconds.
    pub now: u64,
}

/// Ticks in which a frame held a page that was not used again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub since: u32,
    pub until: u32,
    /// It had not been used at all.
    pub ahead: bool,
}

/// Numbers over ticks, as their changes.
#[derive(Clone, Debug, Default)]
struct Curve(Vec<i64>);

impl Curve {
    #[inline]
    fn change(&mut self, tick: u32, by: i64) {
        let tick = tick as usize;
        if tick >= self.0.len() {
            self.grow(tick);
        }
        self.0[tick] += by;
    }
    #[cold]
    fn grow(&mut self, tick: usize) {
        self.0.resize(tick + 1, 0);
    }
    fn heights(self) -> Vec<i64> {
        let sums = self.0.into_iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        });
        sums.collect()
    }
}

/// Columns of a row of counts: a class, of pages written to swap for it and of others.
const COLUMNS: u32 = 2 * Class::ALL.len() as u32;

/// Counts as the run goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    sites: Vec<Site>,
    numbers: BTreeMap<Site, u32>,
    /// The site of the last query.
    site: u32,
    /// Counts by site, phase and task, a row each.
    rows: BTreeMap<Row, u32>,
    /// The row of the last query.
    row: Option<(Row, u32)>,
    counts: Vec<u64>,
    open: Open,
    in_vain: [Curve; 2],
    /// Pages that came back, as those that are not missing any more.
    back: Curve,
    examples: BTreeMap<Class, Vec<Fresh>>,
    /// Refaults so far, by class.
    seen: [u64; SEEN],
    now: Now,
    pub log: Vec<Logged>,
    pub troubles: Troubles,
    pub credit: u64,
    pub written: u64,
}

type Row = (u32, u32, Option<AsId>);

/// Places for the classes.
const SEEN: usize = Class::ALL.len().next_power_of_two();

/// From this number on classes wait for the end.
const FIRST_OPEN: u32 = Class::ReferenceLost as u32;

/// Common facts of refaults that are counted as they come.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// Their phase and task.
    of: Option<(u32, AsId)>,
    /// The key of the site of the last one; 0: none.
    site: u64,
    /// The first count of its row.
    first: u32,
}

/// Examples of a class are refaults number 1, 2, 4, 8, and so on.
const MOST_EXAMPLES: usize = 24;

/// Refaults that wait for the end, counted by the tick of their eviction and the number of their
/// count. Few of these pairs are counted at a time, so most refaults find theirs in a table. From
/// there it goes to the others when another takes its place.
#[derive(Clone, Debug, Default)]
struct Open {
    table: Vec<(u64, u32)>,
    all: Vec<(u64, u64)>,
}

/// Places of the table.
const OPEN: usize = 1 << 12;

impl Open {
    #[inline]
    fn count(&mut self, evicted: u32, nth: u32) {
        if self.table.is_empty() {
            self.table.resize(OPEN, (0, 0));
        }
        let of = u64::from(evicted) << 32 | u64::from(nth);
        let at = (evicted.wrapping_mul(COLUMNS) ^ nth) as usize % OPEN;
        let (was, n) = self.table[at];
        if was == of || n == 0 {
            self.table[at] = (of, n + 1);
        } else {
            self.all.push((was, u64::from(n)));
            self.table[at] = (of, 1);
        }
    }

    /// All pairs of a tick and a number, each with how many there are.
    fn counts(self) -> BTreeMap<(u32, u32), u64> {
        let mut counts = BTreeMap::new();
        let left = self.table.into_iter().map(|(of, n)| (of, u64::from(n)));
        for (of, n) in self.all.into_iter().chain(left).filter(|&(_, n)| n > 0) {
            *counts.entry(((of >> 32) as u32, of as u32)).or_default() += n;
        }
        counts
    }
}

impl Tables {
    /// The number of a site.
    #[inline]
    pub(crate) fn site(&mut self, site: Site) -> u32 {
        if self.sites.get(self.site as usize) != Some(&site) {
            self.another_site(site);
        }
        self.site
    }

    #[inline(never)]
    fn another_site(&mut self, site: Site) {
        let next = self.sites.len() as u32;
        self.site = *self.numbers.entry(site).or_insert(next);
        if self.site == next {
            self.sites.push(site);
        }
    }

    /// The name of a page at a site, or of its region; and whether it is of a file.
    fn name(&self, mem: &Memory, site: u32, page: Option<PageIdx>) -> (PageOf, bool) {
        let Site { region, file, .. } = self.sites[site as usize];
        let (of, first) = mem.region_of_number(region);
        let offset = page.map_or(0, |page| page.0 - first.0);
        let of = match of {
            PageOf::Process(a, region, _) => PageOf::Process(a, region, offset),
            PageOf::File(file, _) => PageOf::File(file, offset),
            PageOf::Nobody => PageOf::Nobody,
        };
        (of, file)
    }

    /// The first count of a row.
    #[inline]
    fn row(&mut self, row: Row) -> u32 {
        match self.row {
            Some((known, first)) if known == row => first,
            _ => self.another_row(row),
        }
    }

    #[inline(never)]
    fn another_row(&mut self, row: Row) -> u32 {
        let next = self.counts.len() as u32;
        let first = *self.rows.entry(row).or_insert(next);
        if first == next {
            self.counts.resize((next + COLUMNS) as usize, 0);
        }
        self.row = Some((row, first));
        first
    }

    /// Counts a refault of a task.
    #[inline]
    pub(crate) fn count(&mut self, f: &Fresh, task: Option<AsId>, class: Class) {
        let first = self.row((f.site, f.phase, task));
        let nth = first + 2 * class as u32 + u32::from(f.written);
        if class.waits_for_the_end() {
            self.open.count(f.evicted, nth);
            self.back.change(f.tick, -1);
        } else {
            self.counts[nth as usize] += 1;
        }
        let seen = &mut self.seen[class as usize];
        *seen += 1;
        if seen.is_power_of_two() {
            self.show(*f, class);
        }
    }

    /// Sets the phase and the task of refaults that are [counted now](Tables::count_now).
    #[inline]
    pub(crate) fn turn_to(&mut self, phase: u32, task: AsId) {
        if self.now.of != Some((phase, task)) {
            self.now = Now { of: Some((phase, task)), ..Now::default() };
        }
    }

    /// The same of a refault that has just come, with the ticks of its eviction and of now, and the
    /// number of its class.
    #[inline(always)] // There is one caller.
    pub(crate) fn count_now(&mut self, r: &Refaulted, at: (u32, u32), class: u32, written: bool) {
        let site = Site::of(r);
        if self.now.site != site.key() {
            self.another_now(site);
        }
        let nth = self.now.first + 2 * class + u32::from(written);
        if class >= FIRST_OPEN {
            self.open.count(at.0, nth);
            self.back.change(at.1, -1);
        } else {
            self.counts[nth as usize] += 1;
        }
        let seen = &mut self.seen[class as usize % SEEN];
        *seen += 1;
        if seen.is_power_of_two() {
            self.show_now(r, site, at, class);
        }
    }

    #[inline(never)]
    fn another_now(&mut self, site: Site) {
        let (phase, task) = self.now.of.expect("it was turned to a task");
        let row = (self.site(site), phase, Some(task));
        (self.now.site, self.now.first) = (site.key(), self.row(row));
    }

    #[inline(never)]
    fn show_now(&mut self, r: &Refaulted, site: Site, (evicted, tick): (u32, u32), class: u32) {
        let Some((phase, _)) = self.now.of else { return };
        let (site, class) = (self.site(site), Class::nth(class));
        let (page, now, verdict) = (r.page, r.now.0, Some(class));
        let (balanced, written) = (false, false);
        let f = Fresh { page, evicted, tick, now, site, phase, class, balanced, written, verdict };
        self.show(f, class);
    }

    #[inline(never)]
    fn show(&mut self, f: Fresh, class: Class) {
        let examples = self.examples.entry(class).or_default();
        if examples.len() < MOST_EXAMPLES {
            examples.push(f);
        }
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
    /// Number of phases that had ended.
    pub phase: u32,
    /// Task whose step it was; `None` for advice, or for the kernel.
    pub task: Option<String>,
    /// The group that counts it; empty for the root.
    pub group: String,
    /// `TASK:REGION` or `file NAME`.
    pub region: String,
    /// The page is of a file.
    pub file: bool,
    /// No device was read for it: zswap had it, or it holds zeros.
    pub without_device: bool,
    /// The page had been written to swap for it.
    pub written: bool,
    /// Why.
    pub class: Class,
    /// Number of refaults.
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

/// Verdicts of a run.
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
    /// Blocks that could not be allocated, and stalls.
    pub troubles: Vec<TroubleCell>,
    /// Each refault, if the settings want a log, as they were settled.
    pub log: Vec<Logged>,
    /// Names of processes and files, for the log.
    pub names: Names,
}

impl Verdicts {
    /// Number of refaults of a kind.
    pub fn count(&self, of: impl Fn(&Cell) -> bool) -> u64 {
        self.cells.iter().filter(|c| of(c)).map(|c| c.count).sum()
    }

    /// Number of allocations with trouble of a kind.
    pub fn troubled(&self, of: impl Fn(&TroubleCell) -> bool) -> u64 {
        self.troubles.iter().filter(|c| of(c)).map(|c| c.count).sum()
    }
}

impl Tables {
    /// Examples of each class, two at most and of different pages; `settled` gives their class.
    fn shown(
        &self,
        mem: &Memory,
        names: &Names,
        settled: impl Fn(Class, u32) -> Class,
    ) -> Vec<Shown> {
        let mut all: Vec<(Class, &Fresh)> = Vec::new();
        for (&class, of) in &self.examples {
            all.extend(of.iter().map(|e| (settled(class, e.evicted), e)));
        }
        all.sort_by_key(|&(class, e)| (class, e.now));
        let mut examples: Vec<Shown> = Vec::new();
        for (class, e) in all {
            let (of, _) = self.name(mem, e.site, Some(e.page));
            if of == PageOf::Nobody {
                continue;
            }
            let page = names.page(of, false);
            let mine = examples.iter().filter(|s| s.class == class);
            if mine.clone().count() < 2 && !mine.clone().any(|s| s.page == page) {
                examples.push(Shown { class, page, index: e.page, now: e.now });
            }
        }
        examples
    }
}

/// Settles what was open, and gives all things their names.
pub(crate) fn settle(mut tables: Tables, mem: &Memory) -> Verdicts {
    let names = Names::of(mem);
    let open = std::mem::take(&mut tables.open).counts();
    let mut missing = std::mem::take(&mut tables.back);
    for (&(evicted, _), &n) in &open {
        missing.change(evicted, n as i64);
    }
    let [used, ahead] = std::mem::take(&mut tables.in_vain).map(Curve::heights);
    let missing = missing.heights();
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
    let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
    let keys: BTreeMap<u32, Row> = tables.rows.iter().map(|(&row, &nth)| (nth, row)).collect();
    let key = |nth: u32| {
        let (site, phase, task) = keys[&(nth / COLUMNS * COLUMNS)];
        let (region, file) = tables.name(mem, site, None);
        let Site { memcg, without_device, .. } = tables.sites[site as usize];
        let (class, written) = (Class::nth(nth % COLUMNS / 2), !nth.is_multiple_of(2));
        Key { phase, task, memcg, region, file, without_device, written, class }
    };
    for (nth, &n) in tables.counts.iter().enumerate().filter(|&(_, &n)| n > 0) {
        *counts.entry(key(nth as u32)).or_default() += n;
    }
    for ((evicted, nth), n) in open {
        let key = key(nth);
        let class = settled(key.class, evicted);
        *counts.entry(Key { class, ..key }).or_default() += n;
    }
    let cell = |(key, &count): (&Key, &u64)| Cell {
        phase: key.phase,
        task: key.task.map(|a| names.processes()[a.index()].clone()),
        group: group(mem, key.memcg),
        region: names.page(key.region, true),
        file: key.file,
        without_device: key.without_device,
        written: key.written,
        class: key.class,
        count,
    };
    let cells = counts.iter().map(cell).collect();
    let examples = tables.shown(mem, &names, settled);
    let mut log = std::mem::take(&mut tables.log);
    for l in &mut log {
        l.class = settled(l.class, l.evicted);
        (l.of, l.file) = tables.name(mem, l.site, Some(l.page));
        l.without_device = tables.sites[l.site as usize].without_device;
    }
    let Tables { credit, written, troubles, .. } = tables;
    let troubles = troubles.settle(mem, &names);
    Verdicts { cells, examples, credit, written, troubles, log, names }
}
