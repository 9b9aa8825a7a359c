//! The multi-generational LRU in the plainest way: one zone, one lruvec, one folio a page,
//! batches of one, synchronous swap. Written from the kernel's behaviour (Linux 6.12
//! mm/vmscan.c, include/linux/mm_inline.h, mm/workingset.c, and the patches that
//! `config.rs` names) without a look at the policy of this crate, to be compared with it.
//!
//! A generation's list is a vector, head first. Nothing is kept that can be counted: sizes
//! are found by going over all folios. A page is a letter and a number; the letter is the
//! region or the file that it is of.

mod age;
mod config;
mod evict;
mod maps;
mod pid;
mod refault;
mod rules;

pub(crate) use age::{initial_priority, wants_aging};
pub(crate) use config::{Config, Distance, Lazyfree, Placement, Restore};
pub(crate) use evict::Reclaim;
pub(crate) use maps::Maps;
pub(crate) use pid::{Position, positive};
pub(crate) use refault::{Shadow, Sizes, eligible, tier_of_distance};
pub(crate) use rules::Rule;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

pub(crate) const ANON: usize = 0;
pub(crate) const FILE: usize = 1;
/// The third list of a generation.
pub(crate) const LAZY: usize = 2;

/// A page: of a region of anonymous memory, or of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Page(pub(crate) char, pub(crate) u32);

/// A mapping of a file or of anonymous memory. Page 0 of it is at virtual page `va`.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) va: u32,
    pub(crate) pages: u32,
    /// None: anonymous memory of the region's own letter.
    pub(crate) file: Option<char>,
    pub(crate) recency: bool,
    pub(crate) exec: bool,
    pub(crate) process: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pte {
    pub(crate) young: bool,
    pub(crate) dirty: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Folio {
    /// Slot of its generation, while on a list.
    pub(crate) gener: Option<usize>,
    pub(crate) referenced: bool,
    pub(crate) workingset: bool,
    pub(crate) refs_bits: u32,
    pub(crate) active: bool,
    pub(crate) reclaim: bool,
    pub(crate) dirty: bool,
    pub(crate) writeback: bool,
    pub(crate) locked: bool,
    pub(crate) swapbacked: bool,
    pub(crate) anon: bool,
    pub(crate) swapcache: bool,
    /// To be added one generation above the oldest (distance `SecondOldest`).
    pub(crate) second_oldest: bool,
    /// Virtual pages that map it, with the letters of their regions.
    pub(crate) maps: Maps,
}

impl Folio {
    pub(crate) fn kind(&self) -> usize {
        if self.swapbacked { ANON } else { FILE }
    }
    fn clear_refs(&mut self) {
        (self.refs_bits, self.referenced, self.workingset) = (0, false, false);
    }
}

/// Record of a page that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Out {
    pub(crate) shadow: Shadow,
    pub(crate) swapped: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) config: Config,
    pub(crate) max_seq: u64,
    pub(crate) min_seq: [u64; 2],
    /// By slot and kind, head first.
    pub(crate) lists: [[Vec<Page>; 3]; 4],
    /// By type and tier.
    pub(crate) evicted: [[u64; 4]; 2],
    pub(crate) refaulted: [[u64; 4]; 2],
    pub(crate) protected: [[u64; 4]; 2],
    pub(crate) avg_refaulted: [[u64; 4]; 2],
    pub(crate) avg_total: [[u64; 4]; 2],
    pub(crate) mm_seq: u64,
    /// Tables worth walking by parity of the sequence number; none yet: all.
    pub(crate) filters: [Option<BTreeSet<(usize, u32)>>; 2],
    /// Evictions with a shadow, by type.
    pub(crate) evictions: [u64; 2],
    pub(crate) folios: BTreeMap<Page, Folio>,
    pub(crate) out: BTreeMap<Page, Out>,
    pub(crate) regions: BTreeMap<char, Region>,
    /// Page tables that exist, and whether the entry above is accessed.
    pub(crate) tables: BTreeMap<(usize, u32), bool>,
    /// Per process: used since the last walk; met by a walk before.
    pub(crate) processes: Vec<(bool, bool)>,
    pub(crate) free_slots: u64,
    pub(crate) counters: BTreeMap<&'static str, u64>,
    pub(crate) met: BTreeSet<Rule>,
}

pub(crate) fn slot(seq: u64) -> usize {
    (seq % 4) as usize
}

impl Naive {
    pub(crate) fn new(config: Config, free_slots: u64) -> Naive {
        Naive {
            config,
            max_seq: 3,
            min_seq: [0, 0],
            lists: Default::default(),
            evicted: Default::default(),
            refaulted: Default::default(),
            protected: Default::default(),
            avg_refaulted: Default::default(),
            avg_total: Default::default(),
            mm_seq: 2,
            filters: [None, None],
            evictions: [0, 0],
            folios: BTreeMap::new(),
            out: BTreeMap::new(),
            regions: BTreeMap::new(),
            tables: BTreeMap::new(),
            processes: vec![(true, false)],
            free_slots,
            counters: BTreeMap::new(),
            met: BTreeSet::new(),
        }
    }

    /// Maps a region of `pages` pages at a virtual page.
    pub(crate) fn map(&mut self, letter: char, file: Option<char>, va: u32, pages: u32) {
        let region = Region { va, pages, file, recency: true, exec: false, process: 0 };
        self.regions.insert(letter, region);
    }

    pub(crate) fn count(&mut self, what: &'static str, n: u64) {
        *self.counters.entry(what).or_default() += n;
    }
    /// A rule was met that tests want to have met.
    pub(crate) fn mark(&mut self, rule: Rule) {
        self.met.insert(rule);
    }
    pub(crate) fn counter(&self, what: &str) -> u64 {
        self.counters.get(what).copied().unwrap_or_default()
    }
    /// A counter of a type.
    pub(crate) fn count_kind(&mut self, of: [&'static str; 2], kind: usize) {
        self.count(of[kind], 1);
    }

    pub(crate) fn gens(&self, kind: usize) -> u64 {
        self.max_seq - self.min_seq[kind] + 1
    }
    /// Pages of a generation, by the number in the folio and not by its list.
    pub(crate) fn nr_pages(&self, seq: u64, kind: usize) -> u64 {
        let is = |f: &&Folio| f.gener == Some(slot(seq)) && f.kind() == kind;
        self.folios.values().filter(is).count() as u64
    }
    /// Active and inactive pages of a type.
    pub(crate) fn sizes(&self, kind: usize) -> [u64; 2] {
        let of = |seqs: [u64; 2]| seqs.iter().map(|&s| self.nr_pages(s, kind)).sum();
        [of([self.max_seq, self.max_seq - 1]), of([self.max_seq + 1, self.max_seq + 2])]
    }

    /// References through file descriptors, which set the tier.
    pub(crate) fn refs(&self, f: &Folio) -> u32 {
        if self.config.rework {
            return if f.referenced { f.refs_bits + 1 } else { 0 };
        }
        f.refs_bits + u32::from(f.workingset)
    }
    pub(crate) fn tier(&self, refs: u32, workingset: bool) -> usize {
        if self.config.rework {
            return if workingset { 3 } else { log2_up(refs) };
        }
        log2_up(refs + 1)
    }
    pub(crate) fn tier_of(&self, f: &Folio) -> usize {
        self.tier(self.refs(f), f.workingset)
    }

    // ---- lists ----

    /// The list of a generation that a folio belongs on.
    pub(crate) fn list_of(&self, f: &Folio) -> usize {
        let separate = self.config.lazyfree.listed();
        if separate && f.anon && !f.swapbacked { LAZY } else { f.kind() }
    }

    /// Takes a page off whatever list it is on.
    pub(crate) fn unlist(&mut self, page: Page) {
        let lists = self.lists.iter_mut().flatten();
        let found: usize = lists
            .map(|l| {
                let before = l.len();
                l.retain(|&p| p != page);
                before - l.len()
            })
            .sum();
        assert_eq!(found, 1, "{page:?} was on {found} lists");
    }

    /// Moves a page to the head or tail of its list of the generation that it is of.
    pub(crate) fn sorted_to(&mut self, page: Page, head: bool) {
        let list = self.list_of(&self.folios[&page]);
        self.moved_to(page, list, head);
    }

    /// The same for a list of a kind.
    pub(crate) fn moved_to(&mut self, page: Page, list: usize, head: bool) {
        self.unlist(page);
        let list = &mut self.lists[self.folios[&page].gener.unwrap()][list];
        if head { list.insert(0, page) } else { list.push(page) }
    }

    fn seq_for(&self, f: &Folio, reclaiming: bool) -> u64 {
        let (max, min) = (self.max_seq, self.min_seq[f.kind()]);
        let not_at_once = f.kind() == ANON && !f.swapcache || f.reclaim && (f.dirty || f.writeback);
        if self.config.placement == Placement::Distance {
            let younger = match () {
                () if f.active => 1 - u64::from(f.workingset),
                () if reclaiming => 3,
                () if not_at_once => 1,
                () => 3 - u64::from(f.workingset),
            };
            return min.max(max - younger);
        }
        let fixed = self.config.placement == Placement::PostFix;
        let seq = match () {
            () if f.active => max,
            () if not_at_once => {
                if fixed {
                    max - 1
                } else {
                    min + 1
                }
            }
            () if reclaiming || min + 2 >= max || !fixed => min,
            () => min + 1,
        };
        if f.second_oldest { seq.max(min + 1) } else { seq }
    }

    /// Adds a folio that is on no list.
    pub(crate) fn add(&mut self, page: Page, reclaiming: bool) {
        let seq = self.seq_for(&self.folios[&page], reclaiming);
        let clears = self.config.add_clears_refs;
        let f = self.folios.get_mut(&page).unwrap();
        assert_eq!(f.gener, None, "{page:?} is on a list");
        if f.active && clears {
            (f.refs_bits, f.referenced) = (0, false);
        }
        (f.active, f.second_oldest) = (false, false);
        f.gener = Some(slot(seq));
        let list = self.list_of(&self.folios[&page]);
        let list = &mut self.lists[slot(seq)][list];
        if reclaiming { list.push(page) } else { list.insert(0, page) }
    }

    pub(crate) fn remove(&mut self, page: Page, reclaiming: bool) {
        self.unlist(page);
        let active = [slot(self.max_seq), slot(self.max_seq - 1)];
        let f = self.folios.get_mut(&page).unwrap();
        let g = f.gener.take().unwrap();
        f.active = !reclaiming && active.contains(&g);
    }

    // ---- accesses ----

    /// An access to a page of a region, by a fault if it is not mapped.
    pub(crate) fn touch(&mut self, region: char, number: u32, write: bool) {
        let r = self.regions[&region].clone();
        assert!(number < r.pages);
        let at = Page(region, number);
        let page = Page(r.file.unwrap_or(region), number);
        self.processes[r.process].0 = true;
        self.tables.insert((r.process, (r.va + number) / 512), true);
        if !self.folios.contains_key(&page) {
            let anon = r.file.is_none();
            let mut f = Folio { swapbacked: anon, anon, ..Folio::default() };
            f.active = r.recency;
            if let Some(out) = self.out.remove(&page) {
                f.dirty = out.swapped;
                self.free_slots += u64::from(out.swapped);
                self.folios.insert(page, f);
                self.refault(page, out.shadow, r.recency);
            } else {
                self.folios.insert(page, f);
            }
            self.add(page, false);
        }
        let pte = self.folios.get_mut(&page).unwrap().maps.at(at);
        pte.young = true;
        pte.dirty |= write;
    }

    /// A call of `read(2)` for one page of a file.
    pub(crate) fn read(&mut self, page: Page) {
        self.cache(page, true);
        self.mark_accessed(page);
    }

    /// A call of `write(2)` for one page of a file: it is not marked, and its shadow ignored.
    pub(crate) fn write(&mut self, page: Page) {
        self.cache(page, false);
        self.folios.get_mut(&page).unwrap().dirty = true;
    }

    fn cache(&mut self, page: Page, refaults: bool) {
        if self.folios.contains_key(&page) {
            return;
        }
        self.folios.insert(page, Folio::default());
        let out = self.out.remove(&page);
        if let Some(out) = out.filter(|_| refaults) {
            self.refault(page, out.shadow, false);
        }
        self.add(page, false);
    }

    pub(crate) fn mark_accessed(&mut self, page: Page) {
        let rework = self.config.rework;
        let f = self.folios.get_mut(&page).unwrap();
        match () {
            () if !f.referenced => {
                f.referenced = true;
                f.refs_bits = if rework { 0 } else { f.refs_bits };
            }
            () if rework && f.refs_bits < 3 => f.refs_bits += 1,
            () if !f.workingset => f.workingset = true,
            () => f.refs_bits = (f.refs_bits + 1).min(3),
        }
    }

    /// `MADV_FREE` on a page of a region.
    pub(crate) fn madvise_free(&mut self, region: char, number: u32) {
        let page = Page(region, number);
        if self.out.get(&page).is_some_and(|o| o.swapped) {
            self.out.remove(&page);
            self.free_slots += 1;
        }
        let Some(f) = self.folios.get_mut(&page) else { return };
        f.dirty = false;
        f.maps.ptes_mut().for_each(|p| *p = Pte::default());
        if !f.swapbacked || f.gener.is_none() || self.config.lazyfree == Lazyfree::Off {
            return;
        }
        self.remove(page, false);
        let f = self.folios.get_mut(&page).unwrap();
        (f.active, f.referenced, f.swapbacked) = (false, false, false);
        self.count("pglazyfree", 1);
        self.add(page, self.config.lazyfree == Lazyfree::Tail);
        if self.config.lazyfree == Lazyfree::ListOldest {
            let oldest = slot(self.min_seq[FILE]);
            self.folios.get_mut(&page).unwrap().gener = Some(oldest);
            self.sorted_to(page, true);
        }
    }

    /// `MADV_COLD`, as far as lists are concerned.
    pub(crate) fn deactivate(&mut self, page: Page) {
        let f = self.folios.get_mut(&page).unwrap();
        f.maps.ptes_mut().for_each(|p| p.young = false);
        self.remove(page, false);
        let f = self.folios.get_mut(&page).unwrap();
        (f.active, f.referenced) = (false, false);
        self.add(page, false);
        self.count("pgdeactivate", 1);
    }

    /// The flusher writes a page of a file, on a device that takes no time.
    pub(crate) fn flush(&mut self, page: Page) {
        let f = self.folios.get_mut(&page).unwrap();
        f.maps.ptes_mut().for_each(|p| p.dirty = false);
        f.dirty = false;
    }

    /// Takes a page of a file out of the cache.
    pub(crate) fn forget(&mut self, page: Page) {
        self.unlist(page);
        self.folios.remove(&page);
    }

    /// Drops a page of a process for good: `munmap`, `MADV_DONTNEED`.
    pub(crate) fn drop_page(&mut self, region: char, number: u32) {
        let at = Page(region, number);
        let r = self.regions[&region].clone();
        let page = Page(r.file.unwrap_or(region), number);
        if r.file.is_none() {
            if self.folios.contains_key(&page) {
                self.unlist(page);
                self.folios.remove(&page);
            }
            if self.out.remove(&page).is_some() {
                self.free_slots += 1;
            }
        } else if let Some(f) = self.folios.get_mut(&page)
            && let Some(pte) = f.maps.remove(at)
        {
            f.dirty |= pte.dirty;
            if pte.young && r.recency {
                self.mark_accessed(page);
            }
        }
    }

    // ---- to be compared ----

    /// Generations from the oldest on: `G3 anon A2 A1 | file M1 | lazy L1`, empty lists left
    /// out, head first, with the generation of whoever is of another one.
    pub(crate) fn dump(&self) -> String {
        let mut text = String::new();
        let oldest = self.min_seq[ANON].min(self.min_seq[FILE]);
        for seq in oldest..=self.max_seq.max(oldest + 3) {
            let lists = ["anon", "file", "lazy"].iter().zip(&self.lists[slot(seq)]);
            let lists: Vec<String> = lists
                .filter(|(_, l)| !l.is_empty())
                .map(|(name, list)| {
                    list.iter().fold((*name).to_string(), |mut s, p| {
                        write!(s, " {}{}", p.0, p.1).unwrap();
                        if let Some(g) = self.folios[p].gener.filter(|&g| g != slot(seq)) {
                            let of = (oldest..=oldest + 3).find(|&s| slot(s) == g).unwrap();
                            write!(s, ">{of}").unwrap();
                        }
                        s
                    })
                })
                .collect();
            if !lists.is_empty() {
                writeln!(text, "G{seq} {}", lists.join(" | ")).unwrap();
            }
        }
        text
    }

    /// Invariants at any time.
    pub(crate) fn check(&self) {
        let [a, f] = self.min_seq;
        for kind in [ANON, FILE] {
            assert!((2..=4).contains(&self.gens(kind)), "{} generations", self.gens(kind));
        }
        assert!(!self.config.coupled || a <= f, "FILE has more generations than ANON: {a}, {f}");
        let listed: Vec<(usize, usize, Page)> = (0..4)
            .flat_map(|g| (0..3).map(move |l| (g, l)))
            .flat_map(|(g, l)| self.lists[g][l].iter().map(move |&p| (g, l, p)))
            .collect();
        for &(_, list, page) in &listed {
            let f = &self.folios[&page];
            // As posted, refused folios may land on the list of files.
            let astray = self.config.lazyfree == Lazyfree::ListV2 && list == FILE;
            let own = self.list_of(f);
            assert!(own == list || astray && own == LAZY, "{page:?} is on list {list}");
            assert!(!f.active && f.gener.is_some(), "{page:?}: {f:?}");
            assert!(self.refs(f) <= 4 && self.tier_of(f) <= 3);
        }
        assert_eq!(listed.len(), self.folios.len(), "everything is on one list");
    }
}

fn log2_up(n: u32) -> usize {
    (0..).find(|&i| 1 << i >= n).unwrap()
}
