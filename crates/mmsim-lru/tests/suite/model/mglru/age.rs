//! Aging: harvesting accessed bits, and a new generation. How much a round scans, and when
//! aging is wanted.

use super::{ANON, FILE, Folio, LAZY, Naive, Page, Reclaim, Rule, slot};
use std::collections::BTreeSet;

/// True if a page table with `young` accessed PTEs of `slots` is worth the next walk: one in each
/// line of eight.
pub(super) fn worth(young: usize, slots: usize) -> bool {
    young * 8 >= slots
}

/// With what priority a round begins that wants so much of so much.
pub(crate) fn initial_priority(reclaimable: u64, wanted: u64) -> u32 {
    if wanted < 64 {
        return 12;
    }
    let fls = |n: u64| (u64::BITS - n.leading_zeros()) as i32;
    (fls(reclaimable) - 1 - fls(wanted - 1)).clamp(6, 12) as u32
}

impl Naive {
    /// A folio was found accessed.
    pub(crate) fn promote(&mut self, page: Page) {
        let (rework, slot) = (self.config.rework, slot(self.max_seq));
        let f = self.folios.get_mut(&page).unwrap();
        if rework && !f.referenced && !f.workingset {
            (f.referenced, f.refs_bits) = (true, 0);
            return;
        }
        if f.gener.is_some() {
            f.clear_refs();
            f.workingset = rework;
            f.gener = Some(slot);
        } else if !rework {
            f.referenced = true;
            self.mark(Rule::PromotedIsolated);
        }
    }

    /// Clears the accessed bit of a mapping; dirt goes to the folio. True if it was set.
    pub(crate) fn test_clear_young(&mut self, page: Page, at: Page) -> bool {
        let f = self.folios.get_mut(&page).unwrap();
        let pte = f.maps.get_mut(at).unwrap();
        if !std::mem::take(&mut pte.young) {
            return false;
        }
        let plain = f.anon && f.swapbacked && !f.swapcache;
        let moves = pte.dirty && !plain && !f.dirty;
        f.dirty |= moves;
        if moves {
            self.mark(Rule::DirtMoved);
        }
        true
    }

    /// The virtual pages of a page table, in order: the region, the page it maps, and where.
    pub(super) fn in_table(&self, process: usize, table: u32) -> Vec<(char, Page, Page)> {
        let mut all = Vec::new();
        for va in table * 512..(table + 1) * 512 {
            let here = |r: &&char| {
                let r = &self.regions[r];
                r.process == process && (r.va..r.va + r.pages).contains(&va)
            };
            if let Some(&letter) = self.regions.keys().find(here) {
                let r = &self.regions[&letter];
                let page = Page(r.file.unwrap_or(letter), va - r.va);
                all.push((letter, page, Page(letter, va - r.va)));
            }
        }
        all
    }

    fn walk(&mut self, process: usize, force: bool, can_swap: bool) {
        let seq = self.max_seq;
        let tables: Vec<_> = self.tables.keys().copied().filter(|t| t.0 == process).collect();
        for t in tables {
            let all: Vec<_> = self
                .in_table(process, t.1)
                .into_iter()
                .filter(|(r, ..)| {
                    let r = &self.regions[r];
                    r.recency && (can_swap || r.file.is_some())
                })
                .collect();
            if all.is_empty() {
                continue;
            }
            if self.config.nonleaf_young && !force {
                let accessed = self.tables.get_mut(&t).unwrap();
                if !std::mem::take(accessed) {
                    self.mark(Rule::SkippedTable);
                    continue;
                }
            }
            let listed = self.filters[(seq % 2) as usize].as_ref();
            if self.config.bloom && !force && listed.is_some_and(|f| !f.contains(&t)) {
                self.mark(Rule::SkippedByFilter);
                continue;
            }
            let mut young = 0;
            for &(_, page, at) in &all {
                let Some(f) = self.folios.get(&page) else { continue };
                if !f.maps.contains(at) || !can_swap && f.swapbacked {
                    continue;
                }
                if self.test_clear_young(page, at) {
                    young += 1;
                    self.promote(page);
                }
            }
            if worth(young, all.len()) {
                self.filter_next(seq + 1, t);
            }
        }
    }

    /// Notes a page table for the walk that starts with `seq`, if that has a filter.
    pub(super) fn filter_next(&mut self, seq: u64, table: (usize, u32)) {
        if let Some(f) = &mut self.filters[(seq % 2) as usize] {
            f.insert(table);
        }
    }

    /// Makes a new generation. False: another thread does.
    pub(crate) fn age(&mut self, can_swap: bool) -> bool {
        if self.mm_seq >= self.max_seq {
            return false;
        }
        if self.config.walk_mmu {
            let mut first = true;
            for p in 0..self.processes.len() {
                let (used, known) = std::mem::replace(&mut self.processes[p], (false, true));
                if !used && known {
                    self.mark(Rule::SkippedProcess);
                    continue;
                }
                if std::mem::take(&mut first) {
                    self.filters[((self.max_seq + 1) % 2) as usize] = Some(BTreeSet::new());
                }
                self.walk(p, !known, can_swap);
            }
        }
        self.mm_seq += 1;
        for kind in [FILE, ANON] {
            if self.gens(kind) == 4 {
                self.force_advance(kind, can_swap);
            }
        }
        self.max_seq += 1;
        true
    }

    /// The oldest generation goes into the next, in the order in which it would be evicted,
    /// which turns it round. Anonymous folios without swap stay where they are, and become
    /// the youngest.
    fn force_advance(&mut self, kind: usize, can_swap: bool) {
        let oldest = slot(self.min_seq[kind]);
        let lists: &[usize] = if kind == FILE { &[LAZY, FILE] } else { &[ANON] };
        if kind == FILE || can_swap {
            for &list in lists {
                while let Some(&page) = self.lists[oldest][list].last() {
                    self.mark(Rule::Poured);
                    let f = &self.folios[&page];
                    let (full, tier) = (self.overflows(f), self.tier_of(f));
                    if self.config.rework && !full {
                        self.protected[kind][tier] += 1;
                    }
                    self.inc_gen(page);
                    self.moved_to(page, list, false);
                }
            }
        }
        if !self.lists[oldest][kind].is_empty() {
            self.mark(Rule::TurnedYoung);
        }
        self.carry_over(kind);
        self.min_seq[kind] += 1;
    }

    /// One generation younger, unless it was promoted.
    pub(super) fn inc_gen(&mut self, page: Page) {
        let rework = self.config.rework;
        let min = self.min_seq[self.folios[&page].kind()];
        let f = self.folios.get_mut(&page).unwrap();
        if f.gener == Some(slot(min)) {
            f.gener = Some(slot(min + 1));
            let workingset = f.workingset;
            f.clear_refs();
            f.workingset = rework && workingset;
        }
    }

    /// Folios that the sum over generations counts, from the oldest of their type on. A lazyfree
    /// folio that its type's oldest generation left behind is in none of those.
    fn evictable(&self, can_swap: bool, is: impl Fn(&Folio) -> bool) -> u64 {
        let current = |f: &Folio| {
            (self.min_seq[f.kind()]..=self.max_seq).any(|seq| f.gener == Some(slot(seq)))
        };
        let counts = |f: &&Folio| current(f) && (can_swap || f.kind() == FILE) && is(f);
        self.folios.values().filter(counts).count() as u64
    }

    /// Need for aging, and the number of pages that could be evicted.
    pub(crate) fn wants_aging(&self, can_swap: bool) -> (bool, u64) {
        let lead = self.min_seq[if can_swap { ANON } else { FILE }];
        let lead =
            if can_swap && !self.config.coupled { lead.min(self.min_seq[FILE]) } else { lead };
        let of = |seq: u64| self.evictable(can_swap, |f| f.gener == Some(slot(seq)));
        let total = self.evictable(can_swap, |_| true);
        wants_aging(
            self.config.ages_by_gens,
            [lead, self.max_seq],
            [total, of(self.max_seq), of(self.max_seq - 2)],
        )
    }

    /// Number of pages to scan at a priority; −1: aging took its place, 0: there is nothing to do.
    pub(crate) fn budget(&mut self, r: &Reclaim, priority: u32) -> i64 {
        let can_swap = self.swappiness(r) > 0;
        let (wants, total) = self.wants_aging(can_swap);
        if !wants || priority == 12 {
            return (total >> priority) as i64;
        }
        self.mark(Rule::AgedInPass);
        if self.age(can_swap) { -1 } else { 0 }
    }
}

/// Aging is wanted with two generations left, never with four, and with three if the
/// youngest has over half of all pages or the oldest less than a quarter.
pub(crate) fn wants_aging(
    by_gens: bool,
    [lead, max]: [u64; 2],
    [total, young, old]: [u64; 3],
) -> (bool, u64) {
    match lead + 2 {
        n if n > max => (true, 0),
        n if n < max => (false, total),
        _ => (by_gens || 2 * young > total || 4 * old < total, total),
    }
}
