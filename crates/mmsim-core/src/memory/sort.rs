//! Folios at the tail of a list that holds more than its own (MGLRU's `scan_folios`).
//!
//! A folio names its generation by the bits of the policy, and may lie on the list of an older one.
//! So a scan meets folios that it takes, and strays, which go to the list that they name. Nearly all
//! are of these two sorts and need no question, so one loop over a run of the list separates them:
//! the flags of one folio do not wait for those of another. From the first folio of another
//! sort on the policy decides, one by one, for the order of lists depends on each.
//!
//! A stray keeps its flags: it leaves one list and enters another at once.

use super::Memory;
use super::run::{RUN, Run, Seen, each, first};
use crate::base::host;
use crate::base::id::{GROUP_PAGES, ListId, Pfn};
use crate::phys::frames::{FrameKind, KIND_MASK, ORDER_MASK, flag, is_plain};
use crate::virt::pages::{Group, pte};

const YOUNG_SHIFT: u32 = pte::YOUNG.trailing_zeros();

/// The two sorts of folios that need no question.
#[derive(Clone, Copy, Debug)]
pub struct Sorting {
    /// Folios with these flags among those of `mask` are isolated, and lose their name.
    pub bits: u32,
    /// See `bits`.
    pub mask: u32,
    /// Names of other generations, a bit each, and the lists where folios that have them go.
    pub names: u8,
    /// See `names`.
    pub lists: [ListId; flag::POLICY_VALUES],
    /// The lists hold file memory.
    pub file: bool,
}

/// Result of sorting the folios at the tail of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sorted {
    /// Pages that were looked at.
    pub looked: u64,
    /// Of these, gone to their own lists.
    pub strays: u64,
    /// Place in the run from which on the policy has to sort.
    pub unsorted: usize,
}

/// The columns that sorting touches.
struct Columns<'a> {
    flags: &'a mut [u32],
    rmap: &'a [u32],
    hot: &'a [u8],
    entry: &'a [u32],
    groups: &'a [Group],
    /// All groups with mappings are plain, so no folio's own needs to be looked up.
    all_plain: bool,
    any_plain: bool,
}

impl Columns<'_> {
    /// The page of a folio that takes the fast path, else 0.
    #[inline(always)]
    fn page(&self, folio: u32, bits: u32) -> u32 {
        let page = if is_plain(bits) && self.any_plain { self.rmap[folio as usize] } else { 0 };
        let plain = self.all_plain || self.groups[(page / GROUP_PAGES) as usize].plain;
        if plain { page } else { 0 }
    }

    /// Which of some folios are isolated, and which are strays: a bit for each, the first one lowest.
    #[inline(never)] // Nearly all time goes into the loop, which has all registers here.
    fn sorts(&self, folios: &[u32], s: &Sorting) -> (u64, u64) {
        let kind = if s.file { FrameKind::File } else { FrameKind::Anon } as u32;
        const ODD: u32 = KIND_MASK | ORDER_MASK | flag::MLOCKED | flag::UNEVICTABLE;
        let (mask, bits, names) = (s.mask, s.bits, u32::from(s.names));
        let (mut own, mut strays) = (0, 0);
        for &folio in folios.iter().rev() {
            host::prefetch(self.rmap, folio as usize);
            let was = self.flags[folio as usize];
            let named = names >> (was >> flag::POLICY_SHIFT) & u32::from(was & ODD == kind);
            own = own << 1 | u64::from(was & mask == bits);
            strays = strays << 1 | u64::from(named & 1);
        }
        (own, strays & !own)
    }

    /// Isolates some folios, which lose the flags `clear`.
    #[inline(never)] // As above.
    fn isolate(&mut self, folios: &[u32; RUN], these: u64, clear: u32, run: &mut Run) -> Seen {
        let (mut seen, mut rest) = (Seen::default(), these);
        let (mut at, mut plain) = (run.nr, 0);
        while rest != 0 {
            let folio = folios[rest.trailing_zeros() as usize % RUN];
            rest &= rest - 1;
            let was = self.flags[folio as usize];
            seen.add(was);
            let bits = was & !(flag::LRU | clear) | flag::ISOLATED;
            self.flags[folio as usize] = bits;
            let page = self.page(folio, was);
            // Judging reads its accessed bit, and eviction its PTE.
            host::prefetch(self.hot, page as usize);
            host::prefetch(self.entry, page as usize);
            (run.folio[at % RUN], run.page[at % RUN]) = (folio, page);
            run.bits[at % RUN] = bits;
            plain |= u64::from(page != 0) << at;
            at += 1;
        }
        run.plain |= plain;
        run.nr = at;
        seen
    }
}

impl Memory {
    /// Takes folios off the tail of a list, of `n` pages or one folio more, for which the run has
    /// room, oldest first: strays go to the heads of their lists, the others are isolated and
    /// appended to the run. Their flags are stored, and the accessed bits of plain ones are still
    /// there, for [`Memory::test_clear_young_at`].
    pub fn lru_sort_tail(
        &mut self,
        list: ListId,
        n: u64,
        sorting: &Sorting,
        run: &mut Run,
    ) -> Sorted {
        let (before, extra) = (run.len(), self.lru.lists.extra(list));
        assert!(before as u64 + n <= RUN as u64, "a run has {RUN} folios at most");
        let n = self.lru.lists.folios_for(list, n, |f| self.frames.pages(f));
        let (mut folios, mut nr) = ([0; RUN], 0);
        self.lru.lists.pop_tail_batch(list, n, |entries| {
            for (to, &folio) in folios[nr..].iter_mut().zip(entries.iter().rev()) {
                *to = folio;
            }
            nr += entries.len();
        });
        let all_plain = self.virt.pages.nr_unplain() == 0;
        let (flags, rmap) = self.frames.flags_and_rmap();
        let (hot, entry, groups) = self.virt.pages.columns();
        let (groups, any_plain) = (groups.raw(), !self.given.slow_paths);
        let mut columns = Columns { flags, rmap, hot, entry, groups, all_plain, any_plain };
        let (own, strays) = columns.sorts(&folios[..nr], sorting);
        // From the first of another sort on the policy decides, for the order depends on it.
        let sorted = first((own | strays).trailing_ones() as usize);
        columns.isolate(&folios, own & sorted, flag::POLICY_MASK, run);
        let unsorted = run.len();
        let others = first(nr) & !sorted;
        let seen = columns.isolate(&folios, others, 0, run);
        // Neighbours on a list lie anywhere in the tables: those that come next are fetched now, the
        // rest of `n` or those of the next scan.
        let ahead = self.lru.lists.ahead(list);
        let next = if run.len() < RUN { RUN - run.len() } else { RUN };
        for &folio in &ahead[ahead.len().saturating_sub(next)..] {
            host::prefetch(columns.flags, folio as usize);
            host::prefetch(columns.rmap, folio as usize);
            self.lru.lists.fetch(Pfn(folio));
        }
        self.count_sorted(list, sorting, run, first(unsorted) & !first(before));
        if others != 0 {
            let odd = run.folios(run.all() & !first(unsorted));
            self.count_listed(list, odd, others.count_ones(), seen, false);
        }
        let strays = self.lead_strays(list, sorting, &folios, strays & sorted);
        let looked = (run.len() - before) as u64 + strays + extra - self.lru.lists.extra(list);
        Sorted { looked, strays, unsorted }
    }

    /// Accounts for sorted folios of a run, which are of one page each.
    fn count_sorted(&mut self, list: ListId, sorting: &Sorting, run: &Run, these: u64) {
        let of_type = |n: u64| if sorting.file { [0, n] } else { [n, 0] };
        match self.zones.of_all(run.folios(these)) {
            Some(zone) => {
                let n = of_type(these.count_ones().into());
                self.count_of_zone(list, zone, n, 0, false);
            }
            None => run.folios(these).for_each(|folio| {
                let zone = self.zones.of(folio);
                self.count_of_zone(list, zone, of_type(1), 0, false);
            }),
        }
    }

    /// Puts strays onto their lists, with the flags that they have. Returns how many there are.
    fn lead_strays(
        &mut self,
        list: ListId,
        sorting: &Sorting,
        folios: &[u32; RUN],
        strays: u64,
    ) -> u64 {
        let mut named = [0; flag::POLICY_VALUES];
        for i in each(strays) {
            named[(self.frames.bits(Pfn(folios[i])) >> flag::POLICY_SHIFT) as usize] |= 1 << i;
        }
        for (these, to) in named.into_iter().zip(sorting.lists) {
            if these == 0 {
                continue;
            }
            self.lru.lists.push_head_masked(to, folios, these);
            let all = each(these).map(|i| Pfn(folios[i]));
            match self.zones.of_all(all.clone()) {
                Some(zone) => {
                    let n = these.count_ones().into();
                    self.lru.lists.count_zone(list, zone, 0, n);
                    self.lru.lists.count_zone(to, zone, n, 0);
                }
                None => all.for_each(|folio| {
                    let zone = self.zones.of(folio);
                    self.lru.lists.count_zone(list, zone, 0, 1);
                    self.lru.lists.count_zone(to, zone, 1, 0);
                }),
            }
        }
        strays.count_ones().into()
    }

    /// Which of some plain folios of a run, neighbours, were accessed or have one of the flags
    /// `marks`. Of the accessed ones memory fetches the neighbours.
    pub fn used_of(&self, run: &Run, some: u64, marks: u32) -> u64 {
        let (hot, flags) = (&self.virt.pages.hot[..], self.frames.all_bits());
        let at = some.trailing_zeros() as usize;
        let (mut used, mut marked, mut i) = (0, 0, RUN - some.leading_zeros() as usize);
        while i > at {
            i -= 1;
            used = used << 1 | u64::from(hot[run.page[i % RUN] as usize] >> YOUNG_SHIFT & 1);
            marked |= flags[run.folio[i % RUN] as usize] & marks;
        }
        used <<= some.trailing_zeros();
        if marked != 0 {
            let is_marked = |i: &usize| flags[run.folio(*i).0 as usize] & marks != 0;
            used |= each(some).filter(is_marked).fold(0, |all, i| all | 1 << i);
        }
        each(used).for_each(|i| self.virt.pages.fetch_around(run.page(i)));
        used
    }
}
