//! A folio enters, leaves and changes its generation.
//!
//! ```text
//!               min_seq[type]                                max_seq
//!  generation        4             5             6             7
//!                  oldest                        `-- active ---'
//!                    |             |             |             |
//!  new list heads    v             v             v             v
//!                  +---+         +---+         +---+         +---+  <- head: `put`
//!                  |   |  ---->  |   |         |   |         |   |
//!                  |   | inc_gen |   |         |   |         |   |
//!                  +---+         +---+         +---+         +---+  <- tail
//!                    |
//!                    `--> `scan_folios` takes folios off this tail
//! ```
//!
//! A folio carries the number of its generation. `update_gen` changes the number and leaves the
//! folio on its list. The scan of the oldest generation moves it to the list of its number later.
//!
//! Source: Linux 6.12 include/linux/mm_inline.h (`lru_gen_add_folio`, `lru_gen_del_folio`),
//! mm/vmscan.c (`folio_update_gen`, `folio_inc_gen`).

use super::Mglru;
use super::config::{AccessMarks, FaultArrival, SecondTouch};
use super::lruvec::{GEN_MASK, GenList, NAMES, gen_bits, gen_of, name_of, type_of};
use super::place::{self, Placing};
use crate::index::{ANON, FILE, Gen, LruType, LruvecId, MAX_NR_GENS};
use mmsim_core::base::id::Idx as _;
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag, pages_of};
use mmsim_core::policy::Arrival;

impl Mglru {
    /// A folio with these flags changes the generation that it names, or leaves or joins them all.
    #[inline]
    pub(super) fn resize(
        &mut self,
        (lv, zone): (LruvecId, ZoneKind),
        bits: u32,
        from: Option<Gen>,
        to: Option<Gen>,
    ) {
        let (t, pages) = (type_of(bits), pages_of(bits));
        if let Some(generation) = from {
            self.shrink_gen(lv, generation, t, zone, pages);
        }
        if let Some(generation) = to {
            self.grow_gen(lv, generation, t, zone, pages);
        }
    }

    /// Pages of a zone are the more that name a generation.
    #[inline]
    pub(super) fn grow_gen(
        &mut self,
        lv: LruvecId,
        generation: Gen,
        t: LruType,
        zone: ZoneKind,
        pages: u64,
    ) {
        let v = &mut self.lruvecs[lv];
        v.nr_pages[generation][t][zone] += pages;
        self.halves[v.node][t][usize::from(v.is_active(generation))] += pages;
    }

    /// Pages of a zone are the fewer that name a generation.
    #[inline]
    pub(super) fn shrink_gen(
        &mut self,
        lv: LruvecId,
        generation: Gen,
        t: LruType,
        zone: ZoneKind,
        pages: u64,
    ) {
        let v = &mut self.lruvecs[lv];
        v.nr_pages[generation][t][zone] -= pages;
        self.halves[v.node][t][usize::from(v.is_active(generation))] -= pages;
    }

    #[inline]
    pub(super) fn zone_of(mem: &Memory, folio: FolioId) -> ZoneKind {
        mem.zones[mem.zones.of(folio)].kind
    }

    /// Which list of its generation and zone a folio is kept on.
    #[inline]
    pub(super) fn list_kind(&self, mem: &Memory, folio: FolioId, t: LruType) -> GenList {
        let lazy =
            t == FILE && self.config.lazyfree_list() && mem.frames.kind(folio) == FrameKind::Anon;
        if lazy { GenList::Lazyfree } else { t.into() }
    }

    /// Puts a folio that names no generation into one (`lru_gen_add_folio`): at the head, or at
    /// the tail if it shall go first.
    pub(super) fn add(&mut self, mem: &mut Memory, folio: FolioId, first_to_go: bool) {
        let bits = mem.frames.bits(folio);
        let lv = self.lruvec_of(mem, folio);
        if bits & (flag::MLOCKED | flag::UNEVICTABLE) != 0 {
            mem.cull(folio);
            return mem.lru_add_head(self.lruvecs[lv].unevictable, folio);
        }
        let t = type_of(bits);
        let v = &self.lruvecs[lv];
        let seq = place::seq_of(
            self.config.placement,
            Placing { bits, min_seq: v.min_seq[t], max_seq: v.max_seq, first_to_go },
        );
        self.put(mem, lv, folio, seq, first_to_go);
    }

    /// Puts a folio into the generation with a sequence number.
    pub(super) fn put(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        folio: FolioId,
        seq: u64,
        tail: bool,
    ) {
        let generation = Gen::from_seq(seq);
        let bits = mem.frames.change(folio, GEN_MASK, gen_bits(generation));
        let clear = if bits & flag::ACTIVE != 0 && self.config.add_clears_refs {
            if bits & flag::WORKINGSET != 0 {
                self.counts.set(folio, 0);
            }
            flag::ACTIVE | flag::REFERENCED
        } else {
            flag::ACTIVE
        };
        mem.frames.clear(folio, clear);
        let (t, zone) = (type_of(bits), Self::zone_of(mem, folio));
        self.resize((lv, zone), bits, None, Some(generation));
        let list = self.lruvecs[lv].lists[generation][self.list_kind(mem, folio, t)][zone];
        if tail {
            mem.lru_add_tail(list, folio);
        } else {
            mem.lru_add_head(list, folio);
        }
    }

    /// Takes a listed folio out of its generation (`lru_gen_del_folio`). What was in a young one
    /// stays `ACTIVE`, so that it comes back as young.
    pub(super) fn del(&mut self, mem: &mut Memory, folio: FolioId) {
        self.leave_gen(mem, folio);
        mem.lru_del(folio);
    }

    pub(super) fn leave_gen(&mut self, mem: &mut Memory, folio: FolioId) {
        let bits = mem.frames.bits(folio);
        let Some(generation) = gen_of(bits) else { return };
        let lv = self.lruvec_of(mem, folio);
        self.resize((lv, Self::zone_of(mem, folio)), bits, Some(generation), None);
        let active = if self.lruvecs[lv].is_active(generation) { flag::ACTIVE } else { 0 };
        mem.frames.change(folio, GEN_MASK, active);
    }

    /// Folios were found used: they move to the generation in `generation`, or are marked if they are
    /// isolated (`folio_update_gen`). `exec`: by executable mappings. Sizes of generations change once
    /// for all of them.
    pub(super) fn update_gens(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        folios: &[FolioId],
        generation: Gen,
        exec: bool,
    ) {
        let Some(zone) = mem.zones.of_all(folios.iter().copied()) else {
            // Those of several zones one by one.
            return folios.chunks(1).for_each(|f| self.update_gens(mem, lv, f, generation, exec));
        };
        // Pages of a type by what they named.
        let mut left = [[0; NAMES]; 2];
        let mut types = [false; 2];
        let mut leaves = |bits: u32| {
            let t = type_of(bits).index();
            types[t] = true;
            left[t][name_of(bits)] += pages_of(bits);
        };
        if self.config.access_marks == AccessMarks::Counted614 {
            let mut promoted = 0;
            for &folio in folios {
                let bits = mem.frames.bits(folio);
                if self.found_used_again(mem, folio, bits, gen_bits(generation), exec) {
                    leaves(bits);
                    promoted += 1;
                }
            }
            mem.charge(mem.given.cost.t_promote * promoted);
        } else {
            let keep = !(GEN_MASK | flag::REFERENCED | flag::WORKINGSET);
            let set = gen_bits(generation);
            let (flags, _) = mem.frames.flags_and_rmap();
            for &folio in folios {
                let bits = &mut flags[folio.0 as usize];
                let was = *bits;
                leaves(was);
                *bits = if was & GEN_MASK == 0 { was | flag::REFERENCED } else { was & keep | set };
            }
        }
        let zone = mem.zones[zone].kind;
        for (t, left) in LruType::ALL.into_iter().zip(left) {
            if types[t.index()] {
                self.gather(lv, (t, zone), left, generation);
            }
        }
    }

    /// Pages of a type and zone that named generations name another one now. Those that named none are
    /// of no account.
    fn gather(
        &mut self,
        lv: LruvecId,
        (t, zone): (LruType, ZoneKind),
        left: [u64; NAMES],
        generation: Gen,
    ) {
        let mut came = 0;
        for g in 0..MAX_NR_GENS as u8 {
            let (old, pages) = (Gen(g), left[usize::from(g) + 1]);
            if pages > 0 && old != generation {
                self.shrink_gen(lv, old, t, zone, pages);
                came += pages;
            }
        }
        if came > 0 {
            self.grow_gen(lv, generation, t, zone, came);
        }
    }

    /// A folio was found used, as 6.14 counts that. True: it names the generation `named` from now on.
    fn found_used_again(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        bits: u32,
        named: u32,
        exec: bool,
    ) -> bool {
        if self.config.only_notes(bits, exec) {
            // The bit is clear, and the folio stays in its generation.
            self.set_refs(mem, folio, exec);
        } else if bits & GEN_MASK != 0 {
            mem.frames.change(folio, GEN_MASK | flag::REFERENCED, flag::WORKINGSET | named);
            return true;
        }
        mem.overlooked_folio(folio);
        false
    }

    /// Splits a huge folio that is on no list; its pages were accessed as often as it was.
    pub(super) fn split(&mut self, mem: &mut Memory, folio: FolioId) -> Vec<FolioId> {
        let count = self.counts.get(folio);
        let pages = mem.split_frames(folio);
        pages.iter().for_each(|&page| self.counts.set(page, count));
        pages
    }

    /// A folio was found used, as 6.14 notes that: once is no proof of a working set. True: it
    /// was not the first time (`lru_gen_set_refs`).
    pub(super) fn set_refs(&mut self, mem: &mut Memory, folio: FolioId, exec: bool) -> bool {
        let bits = mem.frames.bits(folio);
        if !self.config.only_notes(bits, exec) {
            let used = bits & (flag::REFERENCED | flag::WORKINGSET) != 0;
            if used && self.config.second_touch == SecondTouch::Mark && self.refs(folio, bits) <= 1
            {
                self.mark(mem, folio);
            } else {
                mem.frames.change(folio, flag::REFERENCED, flag::WORKINGSET);
            }
            return true;
        }
        self.counts.set(folio, 0);
        mem.frames.set(folio, flag::REFERENCED);
        false
    }

    /// One more access of a folio, as 6.14 counts them (`lru_gen_inc_refs`).
    pub(super) fn mark(&mut self, mem: &mut Memory, folio: FolioId) {
        if !mem.frames.has(folio, flag::REFERENCED) {
            mem.frames.set(folio, flag::REFERENCED);
            self.counts.set(folio, 0);
        } else if self.counts.get(folio) == self.most_counted() {
            mem.frames.set(folio, flag::WORKINGSET);
        } else {
            self.counts.add(folio, self.most_counted(), mem.frames.len());
        }
    }

    /// A folio of the oldest generation moves on to the next (`folio_inc_gen`), unless it was
    /// promoted meanwhile. Returns the generation that it names then.
    pub(super) fn inc_gen(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        folio: FolioId,
        set: u32,
    ) -> Gen {
        let bits = mem.frames.bits(folio);
        let t = type_of(bits);
        let old = self.lruvecs[lv].oldest(t);
        let named = gen_of(bits).expect("a listed folio names a generation");
        if named != old {
            return named;
        }
        let new = old.next();
        let mut clear = GEN_MASK | flag::REFERENCED | flag::WORKINGSET;
        if self.config.access_marks == AccessMarks::Counted614 {
            clear &= !flag::WORKINGSET;
        }
        mem.frames.change(folio, clear, gen_bits(new) | set);
        self.resize((lv, Self::zone_of(mem, folio)), bits, Some(old), Some(new));
        new
    }

    /// Puts a batch of new or swapped-in anonymous folios into their generation at once, which is
    /// the youngest, but for 6.14. False, and nothing done: a check is needed for each.
    pub(super) fn young_anon_arrived(
        &mut self,
        mem: &mut Memory,
        batch: &[(FolioId, Arrival)],
    ) -> bool {
        if !self.single || mem.given.slow_paths {
            return false;
        }
        let mut folios = std::mem::take(&mut self.folios);
        folios.clear();
        folios.extend(batch.iter().map(|&(folio, _)| folio));
        // A folio that was not added in a fault has to be active already.
        let faults = batch.iter().fold(true, |all, (_, how)| all & (how.in_fault == Some(true)));
        let done = self.young_anon(mem, &folios, faults);
        if done {
            mem.tell_of_insertions(batch, "anon");
        }
        self.folios = folios;
        done
    }

    fn young_anon(&mut self, mem: &mut Memory, folios: &[FolioId], faults: bool) -> bool {
        let (every, any) = flags_of(mem, folios);
        let odd = flag::MLOCKED | flag::UNEVICTABLE | ORDER_MASK;
        let active = faults || every & flag::ACTIVE != 0;
        if !active || every & flag::SWAPBACKED == 0 || any & odd != 0 {
            return false;
        }
        // From 6.14 on it matters which of them are workingset.
        let alike = (every ^ any) & flag::WORKINGSET == 0;
        if !alike && self.config.placement.is_by_distance() {
            return false;
        }
        // From 7.2 on which are marked, or in the swap cache still.
        let marks = self.config.fault_arrival == FaultArrival::Marked;
        if marks && any & (flag::REFERENCED | flag::SWAPCACHE | flag::ACTIVE) != 0 {
            return false;
        }
        let marks = marks && every & flag::WORKINGSET == 0;
        let set = if marks { flag::REFERENCED } else { flag::ACTIVE };
        let done = self.add_young_anon(mem, folios, every, flag::IN_BATCH, set);
        if done && (marks || self.config.add_clears_refs && any & flag::WORKINGSET != 0) {
            self.counts.clear_all(folios);
        }
        done
    }

    /// Activates a batch of listed anonymous folios at once, as [`Mglru::activated`] does with each.
    /// False, and nothing done: a check is needed for each.
    pub(super) fn anon_activated(&mut self, mem: &mut Memory, folios: &[FolioId]) -> bool {
        if !self.single || mem.given.slow_paths {
            return false;
        }
        let (every, any) = flags_of(mem, folios);
        let odd = flag::MLOCKED | flag::UNEVICTABLE | ORDER_MASK;
        let alike = (every ^ any) & flag::WORKINGSET == 0;
        let asks = !alike && self.config.placement.is_by_distance();
        let zone = mem.zones.of_all(folios.iter().copied());
        let Some(zone) = zone.filter(|_| !asks && every & flag::SWAPBACKED != 0 && any & odd == 0)
        else {
            return false;
        };
        let mut left = [0; NAMES];
        for &folio in folios {
            left[name_of(mem.frames.bits(folio))] += 1;
        }
        let zone = mem.zones[zone].kind;
        for (old, &pages) in (0..).map(Gen).zip(&left[1..=MAX_NR_GENS]) {
            self.shrink_gen(LruvecId(0), old, ANON, zone, pages);
        }
        mem.lru_del_pages(folios);
        mem.activate_used_pages(folios);
        let done = self.add_young_anon(mem, folios, every, 0, flag::ACTIVE);
        debug_assert!(done, "folios of one zone");
        if self.config.add_clears_refs && any & flag::WORKINGSET != 0 {
            self.counts.clear_all(folios);
        }
        true
    }

    /// Puts single anonymous folios that are alike into the generation where such with the flags
    /// `set` start, at the head, and clears the flags `clear` of them besides. False, and nothing
    /// done: they are of several zones.
    pub(super) fn add_young_anon(
        &mut self,
        mem: &mut Memory,
        folios: &[FolioId],
        bits: u32,
        clear: u32,
        set: u32,
    ) -> bool {
        let Some(zone) = mem.zones.of_all(folios.iter().copied()) else { return false };
        let refs = if self.config.add_clears_refs { flag::REFERENCED } else { 0 };
        let zone = mem.zones[zone].kind;
        let lv = LruvecId(0);
        let v = &self.lruvecs[lv];
        let (min_seq, max_seq) = (v.min_seq[ANON], v.max_seq);
        let placing = Placing { bits: bits | set, min_seq, max_seq, first_to_go: false };
        let generation = Gen::from_seq(place::seq_of(self.config.placement, placing));
        let list = v.lists[generation][GenList::Anon][zone];
        self.grow_gen(lv, generation, ANON, zone, folios.len() as u64);
        let clear = clear | refs | flag::ACTIVE | GEN_MASK;
        mem.lru_add_heads_as(list, folios, clear, gen_bits(generation) | set & !flag::ACTIVE);
        true
    }
}

/// Flags that all of some folios have, and that any has.
pub(super) fn flags_of(mem: &Memory, folios: &[FolioId]) -> (u32, u32) {
    folios.iter().fold((u32::MAX, 0), |(every, any), &folio| {
        let bits = mem.frames.bits(folio);
        (every & bits, any | bits)
    })
}
