//! A run: the folios that a scan took off a list, at most 64, each of them one bit of masks.
//!
//! ```text
//!   list --isolate--> Run { folio, page, bits } --judge--> Fates { evict, keep, activate, .. }
//!                      |   masks: plain, young, ..           |  masks of the same bits
//!                      |                                     |
//!                      +-- put_back_run(list, stay) <--------+--> victims: slots, shadows,
//!                          in their order, not copied             unmapped, freed together
//! ```
//!
//! A question of all folios is one operation on a mask, and a folio that stays is not copied: it goes
//! back to a list from its place in the run.
//!
//! The flags of a plain folio (`memory/plain`) are not written when it is taken. The run holds those
//! that it shall have; they are stored when it goes back to a list, or before it takes the slow path
//! ([`Memory::leave_fast_path`]). No code reads flags of plain folios of a run
//! meanwhile.

use super::Memory;
use crate::base::host;
use crate::base::id::{GROUP_PAGES, ListId, PageIdx, Pfn};
use crate::phys::frames::{FolioId, flag, is_plain};
use crate::phys::lists::MOST_IN_RUN;
use crate::virt::pages::{Group, pte};

/// Folios of a run at most: as many as a word has bits.
pub(super) const RUN: usize = 64;
const _: () = assert!(MOST_IN_RUN == RUN);

/// Folios that a scan took off a list, oldest first.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) folio: [u32; RUN],
    /// The page that a plain one is mapped at.
    pub(super) page: [u32; RUN],
    /// Flags. Those of a plain one are stored when it goes back.
    pub(super) bits: [u32; RUN],
    pub(super) nr: usize,
    /// Folios that the fast path is open for.
    pub plain: u64,
    /// Plain ones that were checked and found accessed.
    pub young: u64,
    /// Plain ones that were checked and had the flag `REFERENCED`.
    pub marked: u64,
}

impl Default for Run {
    fn default() -> Self {
        let none = [0; RUN];
        Run { folio: none, page: none, bits: none, nr: 0, plain: 0, young: 0, marked: 0 }
    }
}

impl Run {
    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        (self.nr, self.plain, self.young, self.marked) = (0, 0, 0, 0);
    }
    /// Folios.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.nr
    }
    /// True if the run has no folio.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.nr == 0
    }
    /// All of its folios.
    #[inline(always)]
    pub fn all(&self) -> u64 {
        first(self.nr)
    }
    /// A folio.
    #[inline(always)]
    pub fn folio(&self, i: usize) -> FolioId {
        Pfn(self.folio[i % RUN])
    }
    /// Its flags.
    #[inline(always)]
    pub fn bits(&self, i: usize) -> u32 {
        self.bits[i % RUN]
    }
    /// The page that a plain one is mapped at.
    #[inline(always)]
    pub fn page(&self, i: usize) -> PageIdx {
        debug_assert!(self.plain >> i & 1 != 0, "{} is not plain", self.folio(i));
        PageIdx(self.page[i % RUN])
    }
    /// Some of the folios, oldest first.
    #[inline(always)]
    pub fn folios(&self, some: u64) -> impl Iterator<Item = FolioId> + Clone + '_ {
        each(some).map(|i| self.folio(i))
    }
    /// The pages of some plain folios.
    #[inline(always)]
    pub fn pages(&self, some: u64) -> impl Iterator<Item = PageIdx> + Clone + '_ {
        each(some).map(|i| self.page(i))
    }
    /// Those of which all of the flags `mask` are `bits`.
    #[inline]
    pub fn with(&self, mask: u32, bits: u32) -> u64 {
        let some = self.bits[..self.nr].iter().enumerate();
        some.fold(0, |all, (i, b)| all | u64::from(b & mask == bits) << i)
    }
    /// Sets flags of some folios and clears others, as their going back will store them.
    #[inline]
    pub fn change(&mut self, some: u64, clear: u32, set: u32) {
        for i in each(some) {
            self.bits[i] = self.bits[i] & !clear | set;
        }
    }
    /// Moves a folio to an earlier place, where it has these flags.
    pub fn place(&mut self, to: usize, from: usize, bits: u32) {
        (self.folio[to], self.page[to], self.bits[to]) = (self.folio[from], self.page[from], bits);
        self.plain = self.plain & !(1 << to) | (self.plain >> from & 1) << to;
    }
    /// Keeps the first `n`.
    pub fn truncate(&mut self, n: usize) {
        self.nr = n;
        self.plain &= first(n);
    }
    /// Drops the folios of which `keep` is false, in their order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(FolioId, u32) -> bool) {
        debug_assert_eq!(self.plain, 0, "places of plain folios do not move");
        let mut kept = 0;
        for i in 0..self.nr {
            if keep(self.folio(i), self.bits[i]) {
                (self.folio[kept], self.bits[kept]) = (self.folio[i], self.bits[i]);
                kept += 1;
            }
        }
        self.nr = kept;
    }
}

/// The first `n` of 64.
#[inline(always)]
pub const fn first(n: usize) -> u64 {
    if n >= RUN { u64::MAX } else { (1 << n) - 1 }
}

/// The numbers of the bits of a mask, lowest first.
#[inline(always)]
pub fn each(mut mask: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let i = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(i)
    })
}

/// The lowest `n` bits of a mask.
#[inline(always)]
pub(super) fn lowest(mask: u64, n: usize) -> u64 {
    let mut rest = mask;
    if n >= mask.count_ones() as usize {
        return mask;
    }
    for _ in 0..n {
        rest &= rest - 1;
    }
    mask & !rest
}

/// New flags of plain folios whose accessed bit is tested when they are isolated.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts {
    /// Flags that each loses.
    pub clear: u32,
    /// Flags that it gets: neither accessed nor `REFERENCED`, `REFERENCED`, accessed, both.
    pub set: [u32; 4],
}

/// Some of the four kinds of plain folios that [`Verdicts`] tell apart.
#[derive(Clone, Copy, Debug)]
pub struct Kinds(u8);

impl Kinds {
    /// Those for which `of` is true.
    pub const fn new([neither, marked, young, both]: [bool; 4]) -> Self {
        Kinds(neither as u8 | (marked as u8) << 1 | (young as u8) << 2 | (both as u8) << 3)
    }
    /// The folios of a run that are of these kinds, among plain ones.
    #[inline(always)]
    pub fn of(self, run: &Run) -> u64 {
        let (young, marked) = (run.young, run.marked);
        let all_if = |kind: u8| u64::from(self.0 >> kind & 1).wrapping_neg();
        let old = !marked & all_if(0) | marked & all_if(1);
        let new = !marked & all_if(2) | marked & all_if(3);
        run.plain & (!young & old | young & new)
    }
}

/// Flags that some folios of a batch have, and those that all of them have.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) any: u32,
    pub(super) all: u32,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { any: 0, all: u32::MAX }
    }
}

impl Seen {
    #[inline(always)]
    pub(super) fn add(&mut self, bits: u32) {
        self.any |= bits;
        self.all &= bits;
    }
}

/// The columns that isolating folios touches.
pub(super) struct Isolating<'a> {
    pub(super) flags: &'a mut [u32],
    pub(super) rmap: &'a [u32],
    pub(super) hot: &'a mut [[u8; GROUP_PAGES as usize]],
    pub(super) groups: &'a [Group],
    pub(super) verdicts: Option<&'a Verdicts>,
    /// All groups with mappings are plain, so no folio's own needs to be looked up.
    pub(super) all_plain: bool,
    pub(super) seen: Seen,
}

impl Isolating<'_> {
    /// Has memory fetch what the next scan of a list for `n` folios looks at. Neighbours on a list lie
    /// anywhere in the tables.
    pub(super) fn fetch(&self, ahead: &[u32], n: u64) {
        let some = ahead.len().min(n as usize);
        for &folio in &ahead[ahead.len() - some..] {
            host::prefetch(self.flags, folio as usize);
            host::prefetch(self.rmap, folio as usize);
        }
    }

    /// Isolates folios of a list, of which the last comes first in the run. Those that are plain, up
    /// to one that is not, take a loop without a look at their groups.
    #[inline(never)] // Nearly all time goes into the loop, which has all registers here.
    pub(super) fn isolate(&mut self, entries: &[u32], run: &mut Run) {
        let (at, end) = (run.nr, run.nr + entries.len());
        assert!(end <= RUN, "a run has {RUN} folios at most");
        run.nr = end;
        let Some(v) = self.verdicts.filter(|_| self.all_plain) else {
            return self.isolate_any(entries, run, at);
        };
        let keep = !v.clear;
        let hot = self.hot.as_flattened_mut();
        let flags = &*self.flags;
        // Lengths that are known to be equal are checked once.
        let rmap = &self.rmap[..flags.len()];
        for &folio in entries {
            host::prefetch(hot, rmap.get(folio as usize).copied().unwrap_or(0) as usize);
        }
        // The order is of no account, and backwards a mask grows by one bit at its low end.
        let (mut young, mut marked, mut place) = (0, 0, end);
        for &folio in entries {
            let i = folio as usize;
            let was = flags[i];
            if !is_plain(was) {
                break;
            }
            let page = rmap[i];
            let h = &mut hot[page as usize];
            let accessed = *h & pte::YOUNG != 0;
            *h &= pte::after_query(accessed);
            let before = was & flag::REFERENCED != 0;
            young = young << 1 | u64::from(accessed);
            marked = marked << 1 | u64::from(before);
            place -= 1;
            run.folio[place % RUN] = folio;
            run.page[place % RUN] = page;
            run.bits[place % RUN] =
                was & keep | v.set[2 * usize::from(accessed) + usize::from(before)];
        }
        if place < end {
            run.plain |= first(end) & !first(place);
            run.young |= young << place;
            run.marked |= marked << place;
            // A flag that all plain folios have, and others of the run need not have.
            self.seen.any |= flag::SWAPBACKED;
        }
        if place > at {
            self.isolate_any(&entries[end - place..], run, at);
        }
    }

    /// The same, of folios that need not be plain, to the places from `at` on.
    #[inline(never)]
    fn isolate_any(&mut self, entries: &[u32], run: &mut Run, at: usize) {
        let (flags, hot) = (&mut *self.flags, &mut *self.hot);
        // Lengths that are known to be equal are checked once.
        let (rmap, groups) = (&self.rmap[..flags.len()], &self.groups[..hot.len()]);
        let any_plain = self.verdicts.is_some();
        let v = *self.verdicts.unwrap_or(&Verdicts { clear: 0, set: [0; 4] });
        for (at, &folio) in (at..).zip(entries.iter().rev()) {
            let i = folio as usize;
            let was = flags[i];
            self.seen.add(was);
            run.folio[at] = folio;
            let page = if any_plain && is_plain(was) { rmap[i] } else { 0 };
            let g = (page / GROUP_PAGES) as usize;
            // Page 0 lies in a group without an owner, which is not plain.
            if !groups[g].plain {
                flags[i] = was & !flag::LRU | flag::ISOLATED;
                run.bits[at] = flags[i];
                continue;
            }
            let h = &mut hot[g][(page % GROUP_PAGES) as usize];
            let accessed = *h & pte::YOUNG != 0;
            *h &= pte::after_query(accessed);
            let before = was & flag::REFERENCED != 0;
            run.page[at] = page;
            run.bits[at] = was & !v.clear | v.set[2 * usize::from(accessed) + usize::from(before)];
            run.plain |= 1 << at;
            run.young |= u64::from(accessed) << at;
            run.marked |= u64::from(before) << at;
        }
    }
}

impl Memory {
    /// Stores the flags of a plain folio of a run, which takes the slow path now as one that is
    /// isolated.
    #[inline]
    pub fn leave_fast_path(&mut self, run: &mut Run, i: usize) {
        if run.plain >> i & 1 != 0 {
            run.plain &= !(1 << i);
            self.frames.store(run.folio(i), run.bits[i] & !flag::LRU | flag::ISOLATED);
        }
    }

    /// Puts some folios of a run at the head of a list, one after the other, oldest first.
    pub fn put_back_run(&mut self, list: ListId, run: &Run, some: u64) {
        if some == 0 {
            return;
        }
        let (flags, _) = self.frames.flags_and_rmap();
        let mut seen = Seen::default();
        for i in each(some & !run.plain) {
            // One that waits to be moved between lists goes on waiting.
            let bits = &mut flags[run.folio[i] as usize];
            seen.add(*bits);
            *bits = *bits & !flag::ISOLATED | flag::LRU;
        }
        for i in each(some & run.plain) {
            flags[run.folio[i] as usize] = run.bits[i] | flag::LRU;
            seen.any |= flag::SWAPBACKED;
        }
        self.lru.lists.push_head_masked(list, &run.folio, some);
        self.count_listed(list, run.folios(some), some.count_ones(), seen, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against lists of the numbers of bits.
        #[test]
        fn masks_are_sets_of_places(mask: u64, n in 0usize..70) {
            let places: Vec<usize> = (0..64).filter(|&i| mask >> i & 1 != 0).collect();
            prop_assert_eq!(each(mask).collect::<Vec<_>>(), &places[..]);
            prop_assert_eq!(each(lowest(mask, n)).collect::<Vec<_>>(), &places[..n.min(places.len())]);
            prop_assert_eq!(each(first(n)).collect::<Vec<_>>(), (0..n.min(64)).collect::<Vec<_>>());
        }

        /// Each folio is of one of four kinds.
        #[test]
        fn kinds_of_a_run(plain: u64, young: u64, marked: u64, of: [bool; 4]) {
            let run = Run { plain, young: young & plain, marked: marked & plain, ..Run::default() };
            let got = Kinds::new(of).of(&run);
            for i in 0..64 {
                let has = |mask: u64| mask >> i & 1 != 0;
                let kind = 2 * usize::from(has(young)) + usize::from(has(marked));
                prop_assert_eq!(has(got), has(plain) && of[kind]);
            }
        }
    }
}
