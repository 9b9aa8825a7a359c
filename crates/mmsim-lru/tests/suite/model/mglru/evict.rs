//! Eviction: scanning the oldest generation, and what becomes of what it isolates.

use super::age::worth;
use super::{ANON, Distance, FILE, Folio, LAZY, Naive, Out, Page, Pte, Rule, slot};

/// Who reclaims, and what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reclaim {
    pub(crate) kswapd: bool,
    pub(crate) may_swap: bool,
    pub(crate) io: bool,
    /// Promotes neighbours as a walk does; else activates them.
    pub(crate) walks: bool,
}

impl Reclaim {
    pub(crate) const KSWAPD: Reclaim =
        Reclaim { kswapd: true, may_swap: true, io: true, walks: true };
}

enum Fate {
    Freed,
    Kept,
}

impl Naive {
    /// The swappiness that a reclaimer goes by.
    pub(crate) fn swappiness(&self, r: &Reclaim) -> u64 {
        if r.may_swap && self.free_slots >= 64 { self.config.swappiness } else { 0 }
    }

    /// One step. Returns what it scanned; 0 ends the caller's loop.
    pub(crate) fn evict(&mut self, r: &Reclaim) -> u64 {
        let swappiness = self.swappiness(r);
        let can_swap = swappiness > 0;
        let (kind, mut scanned, isolated) = self.isolate(r, swappiness);
        scanned += u64::from(self.advance(can_swap));
        let lead = match (can_swap, self.config.coupled) {
            (true, true) => self.min_seq[ANON],
            (true, false) => self.min_seq[ANON].min(self.min_seq[FILE]),
            (false, _) => self.min_seq[FILE],
        };
        if lead + 1 == self.max_seq {
            scanned = 0;
        }
        self.process(isolated, kind, r, false);
        scanned
    }

    fn isolate(&mut self, r: &Reclaim, swappiness: u64) -> (usize, u64, Vec<Page>) {
        let (mut kind, mut limit) = match swappiness {
            0 => (FILE, None),
            _ if !self.config.rework && self.min_seq[ANON] < self.min_seq[FILE] => (ANON, None),
            1 => (FILE, None),
            200 => (ANON, None),
            _ if !r.io => (FILE, None),
            s => self.type_to_scan(s),
        };
        let scan = |naive: &mut Naive, kind, limit: Option<usize>| {
            let limit = limit.unwrap_or_else(|| naive.limit_within(kind));
            naive.scan(kind, limit, r)
        };
        let (mut scanned, mut isolated) = scan(self, kind, limit);
        if scanned == 0 && swappiness > 0 {
            (kind, limit) = (1 - kind, None);
            (scanned, isolated) = scan(self, kind, limit);
        }
        (kind, scanned, isolated)
    }

    fn scan(&mut self, kind: usize, limit: usize, r: &Reclaim) -> (u64, Vec<Page>) {
        if self.gens(kind) == 2 {
            return (0, Vec::new());
        }
        let oldest = slot(self.min_seq[kind]);
        let fixed = self.config.lazyfree.repaired();
        let lists: &[usize] = if kind == FILE { &[LAZY, FILE] } else { &[ANON] };
        let (mut isolated, mut scanned, mut sorted, mut refused) = (Vec::new(), 0, 0, 0);
        let (mut aside, mut last) = (Vec::new(), lists[0]);
        for &list in lists {
            last = list;
            while let Some(&page) = self.lists[oldest][list].last() {
                scanned += 1;
                if self.sort(page, limit) {
                    sorted += 1;
                } else if self.refuses(page, r) {
                    self.lists[oldest][list].pop();
                    aside.insert(0, page);
                    self.mark(Rule::Refused);
                    refused += 1;
                    self.count("pgskip", 1);
                } else {
                    self.take(page);
                    isolated.push(page);
                }
                if scanned == 4096 || isolated.len() == 64 || refused == 64 {
                    break;
                }
            }
            if fixed {
                self.lists[oldest][list].splice(0..0, aside.drain(..));
            }
            if scanned == 4096 || isolated.len() == 64 || refused == 64 {
                break;
            }
        }
        if refused == 64 {
            self.mark(Rule::RefusedAll);
        }
        if isolated.len() == 64 && !self.lists[oldest][last].is_empty() {
            self.mark(Rule::FullBatch);
        }
        if last == FILE && aside.iter().any(|p| self.list_of(&self.folios[p]) == LAZY) {
            self.mark(Rule::Astray);
        }
        self.lists[oldest][last].splice(0..0, aside);
        let n = isolated.len() as u64;
        self.count(if r.kswapd { "pgscan_kswapd" } else { "pgscan_direct" }, n);
        self.count(["pgscan_anon", "pgscan_file"][kind], n);
        self.count("pgrefill", sorted);
        (if n > 0 || scanned == 4096 { scanned } else { 0 }, isolated)
    }

    /// Moves a page that is not to be evicted now to where it belongs; false if it may be.
    fn sort(&mut self, page: Page, limit: usize) -> bool {
        let f = self.folios[&page].clone();
        let kind = f.kind();
        let (rework, tier) = (self.config.rework, self.tier_of(&f));
        if self.config.dirty_lazyfree_to_anon && kind == FILE && f.anon && f.dirty {
            self.mark(Rule::DirtyLazyfree);
            self.remove(page, true);
            self.folios.get_mut(&page).unwrap().swapbacked = true;
            self.add(page, true);
            return true;
        }
        if f.gener != Some(slot(self.min_seq[kind])) {
            self.mark(Rule::Promoted);
            self.sorted_to(page, true);
            return true;
        }
        let overflow = self.overflows(&f);
        if tier > limit || self.config.overflow_protect && overflow {
            self.mark(if tier > limit { Rule::Protected } else { Rule::Overflow });
            self.inc_gen(page);
            self.sorted_to(page, rework);
            if !(rework && overflow) {
                self.protected[kind][tier] += 1;
            }
            if !self.config.counts_all_refaults {
                self.count_kind(["workingset_activate_anon", "workingset_activate_file"], kind);
            }
            return true;
        }
        if self.config.bounces && (f.locked && !rework || f.writeback || kind == FILE && f.dirty) {
            self.mark(Rule::Bounced);
            self.inc_gen(page);
            self.folios.get_mut(&page).unwrap().reclaim = true;
            self.sorted_to(page, true);
            return true;
        }
        false
    }

    /// True if a folio remembers as many accesses as it can.
    pub(super) fn overflows(&self, f: &Folio) -> bool {
        match self.config.rework {
            true => self.refs(f) == 4 && f.workingset,
            false => self.refs(f) == 4,
        }
    }

    fn refuses(&self, page: Page, r: &Reclaim) -> bool {
        let f = &self.folios[&page];
        let dirty = f.dirty && (self.config.bounces || f.kind() == ANON);
        !r.io && (dirty || f.anon && !f.swapcache)
    }

    fn take(&mut self, page: Page) {
        let Self { config, .. } = *self;
        let f = self.folios.get_mut(&page).unwrap();
        if !f.referenced {
            f.refs_bits = 0;
            f.workingset &= config.rework;
        }
        f.referenced &= config.rework;
        f.reclaim &= !config.bounces;
        self.remove(page, true);
    }

    fn process(&mut self, pages: Vec<Page>, kind: usize, r: &Reclaim, again: bool) {
        let (mut kept, mut freed, mut retried) = (Vec::new(), 0, Vec::new());
        for page in pages {
            match self.fate(page, r) {
                Fate::Freed => freed += 1,
                Fate::Kept => kept.push(page),
            }
        }
        for page in kept {
            let oldest = self.min_seq[self.folios[&page].kind()];
            let rework = self.config.rework;
            let goes_to = self.seq_if_added(page);
            let f = self.folios.get_mut(&page).unwrap();
            let busy = f.active || f.maps.nr() > 0 || f.dirty || f.writeback;
            if rework {
                if again || busy {
                    if goes_to == oldest {
                        (f.refs_bits, f.referenced, f.active) = (0, false, true);
                    }
                } else {
                    retried.push(page);
                    continue;
                }
            } else if f.reclaim && (f.dirty || f.writeback) {
                f.referenced |= f.workingset;
            } else if again || busy || f.referenced || f.locked {
                f.clear_refs();
                f.active = true;
            } else {
                retried.push(page);
                continue;
            }
            self.add(page, false);
        }
        self.count(if r.kswapd { "pgsteal_kswapd" } else { "pgsteal_direct" }, freed);
        self.count(["pgsteal_anon", "pgsteal_file"][kind], freed);
        if !retried.is_empty() {
            self.process(retried, kind, r, true);
        }
    }

    /// The generation that a page would be added to, as its flags are.
    fn seq_if_added(&self, page: Page) -> u64 {
        let mut copy = self.clone();
        copy.add(page, false);
        let g = copy.folios[&page].gener.unwrap();
        let min = self.min_seq[self.folios[&page].kind()];
        (min..min + 4).find(|&s| slot(s) == g).unwrap()
    }

    fn activated(&mut self, page: Page) -> Fate {
        self.folios.get_mut(&page).unwrap().active = true;
        self.count("pgactivate", 1);
        Fate::Kept
    }

    fn fate(&mut self, page: Page, r: &Reclaim) -> Fate {
        let rework = self.config.rework;
        let f = self.folios[&page].clone();
        if f.locked || !rework && f.referenced && f.maps.nr() > 0 {
            self.mark(Rule::KeptMarked);
            return Fate::Kept;
        }
        if f.writeback {
            self.folios.get_mut(&page).unwrap().reclaim = true;
            return self.activated(page);
        }
        if let Some(activate) = self.referenced(page, r) {
            self.mark(if activate { Rule::ActivatedYoung } else { Rule::KeptYoung });
            return if activate { self.activated(page) } else { Fate::Kept };
        }
        let kind = f.kind();
        if kind == ANON {
            if !r.io {
                return Fate::Kept;
            }
            if self.free_slots == 0 {
                return self.activated(page);
            }
        }
        let written = f.maps.any(|p| p.dirty);
        if f.anon && kind == FILE {
            if f.dirty || written {
                let f = self.folios.get_mut(&page).unwrap();
                (f.dirty, f.swapbacked) = (true, true);
                self.mark(Rule::Converted);
                return self.activated(page);
            }
            self.folios.remove(&page);
            self.count("pglazyfreed", 1);
            self.mark(Rule::Dropped);
            return Fate::Freed;
        }
        let f = self.folios.get_mut(&page).unwrap();
        f.maps.clear();
        if kind == FILE && (f.dirty || written) {
            (f.dirty, f.reclaim) = (true, true);
            self.count("nr_vmscan_immediate_reclaim", 1);
            self.mark(Rule::LeftToFlusher);
            return self.activated(page);
        }
        if kind == ANON {
            self.free_slots -= 1;
            self.count("pswpout", 1);
        }
        let shadow = self.shadow_of(page);
        self.folios.remove(&page);
        self.out.insert(page, Out { shadow, swapped: kind == ANON });
        Fate::Freed
    }

    /// Asks all mappings for accesses: none, one that keeps it, or enough to activate it.
    fn referenced(&mut self, page: Page, r: &Reclaim) -> Option<bool> {
        let maps: Vec<Page> = self.folios[&page].maps.iter().map(|m| m.0).collect();
        let (mut n, mut exec) = (0, false);
        for at in maps {
            let region = &self.regions[&at.0];
            if !region.recency {
                continue;
            }
            exec |= region.exec;
            let pte: &mut Pte = self.folios.get_mut(&page).unwrap().maps.get_mut(at).unwrap();
            if std::mem::take(&mut pte.young) {
                n += 1;
                self.look_around(page, at, r);
            }
        }
        if n == 0 {
            return None;
        }
        let rework = self.config.rework;
        let f = self.folios.get_mut(&page).unwrap();
        if rework {
            let again = f.referenced || f.workingset;
            (f.refs_bits, f.referenced) = (0, !again);
            f.workingset |= again;
            return Some(again);
        }
        let was = std::mem::replace(&mut f.referenced, true);
        Some(was || n > 1 || exec && f.kind() == FILE)
    }

    fn look_around(&mut self, page: Page, at: Page, r: &Reclaim) {
        let process = self.regions[&at.0].process;
        let va = self.regions[&at.0].va + at.1;
        let mut all = self.in_table(process, va / 512);
        all.retain(|(letter, ..)| *letter == at.0);
        let i = all.iter().position(|a| a.2 == at).unwrap();
        if all.len() == 1 {
            return;
        }
        let begin = i.saturating_sub(32).min(all.len().saturating_sub(64));
        let window = &all[begin..(begin + 64).min(all.len())];
        let file = self.folios[&page].kind() == FILE;
        let mut young = 1;
        for &(_, near, at) in window {
            let Some(f) = self.folios.get(&near) else { continue };
            // 6.14 looks at anonymous neighbours of a file page too.
            if !f.maps.contains(at) || file && !self.config.rework && f.kind() == ANON {
                continue;
            }
            if !self.test_clear_young(near, at) {
                continue;
            }
            young += 1;
            self.found_young(near, r);
        }
        if worth(young, window.len()) {
            self.mark(Rule::FilteredNear);
            self.filter_next(self.max_seq, (process, va / 512));
        }
    }

    /// A neighbour was found accessed.
    fn found_young(&mut self, page: Page, r: &Reclaim) {
        let (rework, youngest) = (self.config.rework, slot(self.max_seq));
        let f = self.folios.get_mut(&page).unwrap();
        let once = rework && !f.referenced && !f.workingset;
        let elsewhere = f.gener.is_some_and(|g| g != youngest);
        if r.walks || once || !rework && f.gener.is_none() {
            self.promote(page);
            return;
        }
        if rework || elsewhere {
            f.clear_refs();
            f.workingset = rework;
        }
        if elsewhere {
            self.mark(Rule::ActivatedNear);
            self.remove(page, true);
            self.folios.get_mut(&page).unwrap().active = true;
            self.add(page, false);
            self.count("pgactivate", 1);
        }
    }

    /// Evicts until the budget of this priority is used up; true: aging took its place.
    pub(crate) fn shrink(&mut self, r: &Reclaim, priority: u32, target: u64) -> bool {
        let mut scanned = 0;
        let freed = |n: &Naive| n.counter("pgsteal_kswapd") + n.counter("pgsteal_direct");
        let before = freed(self);
        loop {
            let budget = self.budget(r, priority);
            if budget <= 0 {
                return budget < 0;
            }
            let n = self.evict(r);
            scanned += n;
            if n == 0 || scanned >= budget as u64 || freed(self) - before >= target {
                return false;
            }
        }
    }

    /// Clock of a type: one for both if evictions are numbered together.
    pub(super) fn clock(&self, kind: usize) -> usize {
        if self.config.distance == Distance::Tiered { kind } else { ANON }
    }
}
