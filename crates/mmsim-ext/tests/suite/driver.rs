//! A page cache that is nothing but folios: it tells a module what happens, asks it for folios, and
//! compares each answer with that of a twin.

use std::collections::VecDeque;
use std::path::PathBuf;

use mmsim::base::id::{FileId, MemcgId, NodeId, PageIdx, Pfn, ThreadId};
use mmsim::base::rng::Rng;
use mmsim::base::time::SimTime;
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::chooser::{
    AdmitAsk, ChooserMap, ChooserOptions, ChooserValue, EvictAsk, FileFolioEvent, FileFolioRecord,
};
use mmsim_ext::{FileFacts, Module, Policy, World};

/// Pages of each file.
pub(crate) const FILE_PAGES: u32 = 1 << 20;

/// A module beside the sources of this crate.
pub(crate) fn module(path: &str) -> Module {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    Module::from_path(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// Folios and their flags. Page `n` belongs to file `n / FILE_PAGES`.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) flags: Vec<u32>,
    /// By folio.
    pub(crate) pages: Vec<u32>,
}

impl Cache {
    /// Folios of pages of their numbers, without flags.
    pub(crate) fn of(folios: u32) -> Cache {
        Cache { flags: vec![0; folios as usize], pages: (0..folios).collect() }
    }
}

/// A record of a folio that holds the page of its number.
fn record(folio: u32, what: FileFolioEvent) -> FileFolioRecord {
    let (at, folio, page) = (SimTime(0), Pfn(folio), PageIdx(folio));
    FileFolioRecord { at, folio, page, flags: 0, thread: None, what }
}

pub(crate) fn added(folio: u32) -> FileFolioRecord {
    record(folio, FileFolioEvent::Added)
}

pub(crate) fn evicted(folio: u32) -> FileFolioRecord {
    record(folio, FileFolioEvent::Evicted)
}

impl World for Cache {
    fn flags(&self, folio: FolioId) -> u32 {
        self.flags[folio.0 as usize]
    }

    fn file(&self, page: PageIdx) -> FileFacts<'_> {
        let (file, index) = (page.0 / FILE_PAGES, page.0 % FILE_PAGES);
        let name = ["tree", "log", "other"][file as usize];
        FileFacts { file: FileId(file), index, name, pages: FILE_PAGES }
    }

    fn page(&self, file: FileId, index: u32) -> PageIdx {
        PageIdx(file.0 * FILE_PAGES + index)
    }
}

/// Facts of a page at the moment of a request.
pub(crate) struct Facts {
    pub(crate) dirty: bool,
    /// Read, and on an LRU list.
    pub(crate) ready: bool,
}

/// A policy that shares nothing with the module but its description.
pub(crate) trait Twin {
    /// The thread that acts from now on scans, or does not.
    fn acts(&mut self, _scans: bool) {}
    /// True if a page that is not cached may be.
    fn admits(&mut self, _page: u32) -> bool {
        true
    }
    fn added(&mut self, page: u32);
    fn accessed(&mut self, page: u32);
    fn evicted(&mut self, page: u32);
    fn evict(&mut self, wanted: usize, facts: &dyn Fn(u32) -> Facts) -> Vec<u32>;
}

/// Accesses, and their circumstances.
pub(crate) struct Work {
    /// Pages accessed, in order, and true for writes.
    pub(crate) accesses: Vec<(u32, bool)>,
    /// Folios that are under read at a time.
    pub(crate) in_flight: usize,
    /// Every second access is one of the thread that scans.
    pub(crate) scans: bool,
}

/// Accesses of a kind: passes over pages, draws that prefer low numbers, and both in turn.
pub(crate) fn accesses(
    kind: &str,
    pages: u32,
    n: usize,
    write_permille: u64,
    seed: u64,
) -> Vec<(u32, bool)> {
    let mut rng = Rng::for_purpose(seed, kind);
    let drawn = move |i: usize| {
        let skewed = |rng: &mut Rng| {
            let a = 1 + rng.below(pages.into());
            let b = 1 + rng.below(a);
            rng.below(b) as u32
        };
        let page = match kind {
            "scan" => i as u32 % pages,
            "zipf" => skewed(&mut rng),
            _ if i.is_multiple_of(2) => i as u32 / 2 % pages,
            _ => skewed(&mut rng),
        };
        (page, rng.below(1000) < write_permille)
    };
    (0..n).map(drawn).collect()
}

/// Counted by a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Driven {
    pub(crate) events: u64,
    pub(crate) hits: u64,
    pub(crate) asks: u64,
    pub(crate) offered: u64,
    pub(crate) fallback: u64,
    pub(crate) past: u64,
}

pub(crate) struct Driver {
    pub(crate) cache: Cache,
    pub(crate) policy: Policy,
    now: u64,
    thread: Option<ThreadId>,
    free: Vec<u32>,
    folio_of: Vec<u32>,
    arrived: VecDeque<u32>,
    reading: VecDeque<u32>,
    pub(crate) driven: Driven,
}

/// Options with numbers for globals, and sizes of maps.
pub(crate) fn options(set: &[(&str, i64)], maps: &[(&str, u64)]) -> ChooserOptions {
    let map = |n: u64| ChooserMap { entries: Some(n), threads: Vec::new() };
    ChooserOptions {
        set: set.iter().map(|(n, v)| (n.to_string(), ChooserValue::Number(*v))).collect(),
        maps: maps.iter().map(|(n, v)| (n.to_string(), map(*v))).collect(),
        group: "search".to_string(),
        seed: 1,
        ..ChooserOptions::default()
    }
}

const NO_FOLIO: u32 = u32::MAX;

impl Driver {
    pub(crate) fn new(module: &Module, options: &ChooserOptions, capacity: u32) -> Driver {
        let mut policy = Policy::new(module, options).unwrap_or_else(|e| panic!("{e}"));
        let n = capacity as usize;
        let cache = Cache { flags: vec![0; n], pages: vec![0; n] };
        policy.begin(&cache, MemcgId(1)).unwrap_or_else(|e| panic!("{e:?}"));
        Driver {
            cache,
            policy,
            now: 0,
            thread: None,
            free: (0..capacity).rev().collect(),
            folio_of: vec![NO_FOLIO; 2 * FILE_PAGES as usize],
            arrived: VecDeque::new(),
            reading: VecDeque::new(),
            driven: Driven::default(),
        }
    }

    fn tell(&mut self, what: FileFolioEvent, folio: u32) {
        let record = FileFolioRecord {
            at: SimTime(self.now),
            folio: Pfn(folio),
            page: PageIdx(self.cache.pages[folio as usize]),
            flags: self.cache.flags[folio as usize],
            thread: self.thread,
            what,
        };
        self.driven.events += 1;
        self.policy.hear(&self.cache, &record).unwrap_or_else(|e| panic!("{e:?}"));
    }

    /// Asks the module for 32 folios, as pages.
    pub(crate) fn ask(&mut self) -> Vec<u32> {
        let ask = EvictAsk {
            memcg: MemcgId(1),
            node: NodeId(0),
            wanted: 32,
            now: SimTime(self.now),
            thread: None,
        };
        let mut offered = Vec::new();
        self.policy.offer(&self.cache, &ask, &mut offered).unwrap_or_else(|e| panic!("{e:?}"));
        self.driven.asks += 1;
        offered.iter().map(|folio| self.cache.pages[folio.0 as usize]).collect()
    }

    /// Runs the work beside a twin. Each request gets the same pages in the same order from both.
    pub(crate) fn drive(&mut self, work: &Work, twin: Option<&mut dyn Twin>) {
        let mut twin = twin;
        for (i, &(page, write)) in work.accesses.iter().enumerate() {
            self.now += 1000;
            let scans = work.scans && i.is_multiple_of(2);
            self.thread = Some(ThreadId(scans.into()));
            if let Some(twin) = &mut twin {
                twin.acts(scans);
            }
            if self.folio_of[page as usize] == NO_FOLIO {
                if !self.admits(page, &mut twin) {
                    self.driven.past += 1;
                    continue;
                }
                if self.free.is_empty() {
                    self.reclaim(&mut twin);
                }
                self.add(page, work.in_flight);
                if let Some(twin) = &mut twin {
                    twin.added(page);
                }
            } else {
                self.driven.hits += 1;
            }
            let folio = self.folio_of[page as usize];
            if write {
                self.cache.flags[folio as usize] |= flag::DIRTY;
            }
            self.tell(FileFolioEvent::Accessed, folio);
            if let Some(twin) = &mut twin {
                twin.accessed(page);
            }
            // Now and then all is written.
            if self.now.is_multiple_of(7_919_000) {
                self.cache.flags.iter_mut().for_each(|flags| *flags &= !flag::DIRTY);
            }
        }
    }

    /// Asks module and twin whether a page may be cached: a read of one page or of some more.
    fn admits(&mut self, page: u32, twin: &mut Option<&mut dyn Twin>) -> bool {
        if !self.policy.has_admission() {
            return true;
        }
        let (file, first, count) = (FileId(page / FILE_PAGES), page % FILE_PAGES, 1 + page % 5);
        let (now, thread) = (SimTime(self.now), self.thread.expect("a thread reads"));
        let ask = AdmitAsk { memcg: MemcgId(1), file, first, count, now, thread };
        let admits = self.policy.admits(&self.cache, &ask).unwrap_or_else(|e| panic!("{e:?}"));
        if let Some(twin) = twin {
            assert_eq!(admits, twin.admits(page), "read of page {page} at {}", self.now);
        }
        admits
    }

    fn add(&mut self, page: u32, in_flight: usize) {
        let folio = self.free.pop().expect("reclaim makes room");
        self.folio_of[page as usize] = folio;
        self.cache.pages[folio as usize] = page;
        self.cache.flags[folio as usize] = flag::LOCKED;
        self.arrived.push_back(page);
        self.tell(FileFolioEvent::Added, folio);
        self.reading.push_back(folio);
        while self.reading.len() > in_flight {
            let read = self.reading.pop_front().expect("it is not empty") as usize;
            self.cache.flags[read] = self.cache.flags[read] & !flag::LOCKED | flag::LRU;
        }
    }

    fn reclaim(&mut self, twin: &mut Option<&mut dyn Twin>) {
        let offered = self.ask();
        let facts = |page: u32| {
            let flags = self.cache.flags[self.folio_of[page as usize] as usize];
            Facts { dirty: flags & flag::DIRTY != 0, ready: flags & flag::LRU != 0 }
        };
        if let Some(twin) = twin {
            let expected = twin.evict(32, &facts);
            assert_eq!(offered, expected, "request {}", self.driven.asks);
        }
        self.driven.offered += offered.len() as u64;
        let mut gone: Vec<u32> = Vec::new();
        for page in offered {
            if facts(page).ready && !facts(page).dirty && !gone.contains(&page) {
                gone.push(page);
            }
        }
        // The LRU of the group, which does the rest.
        for _ in 0..self.arrived.len() {
            if gone.len() >= 26 {
                break;
            }
            let page = self.arrived.pop_front().expect("it is not empty");
            if self.folio_of[page as usize] == NO_FOLIO {
                continue;
            }
            if facts(page).ready && !gone.contains(&page) {
                gone.push(page);
                self.driven.fallback += 1;
            } else {
                self.arrived.push_back(page);
            }
        }
        for page in gone {
            let folio = self.folio_of[page as usize];
            self.tell(FileFolioEvent::Evicted, folio);
            if let Some(twin) = twin {
                twin.evicted(page);
            }
            self.folio_of[page as usize] = NO_FOLIO;
            self.free.push(folio);
        }
    }
}
