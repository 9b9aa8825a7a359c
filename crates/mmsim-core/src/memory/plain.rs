//! The fast path of the common folio: one anonymous page, mapped once and plainly by a
//! process of the root group, with nothing going on (`phys::frames::is_plain`).
//!
//! Nearly all folios that a scan of anonymous memory meets are like that, and for them most
//! questions of the slow path (`young`, `evict`) have known answers. So a scan asks all
//! folios of its batch while it takes them off their list, in one loop without decisions:
//! loads for one folio do not wait for those of another, and the answer becomes flags by a
//! table of four verdicts. What is evicted is collected and carried out at the end of the
//! batch, and what is counted once for each is counted once for all.
//!
//! The fast path gives the state, the counters, the events and the times of the slow path. It may
//! do so because there is no observer between the folios of a batch. With an observer of evictions
//! a batch is one folio, so that each event has its own time ([`Memory::evict_batch`]). An
//! asynchronous device, whose queue starts at the time of the write, gets its folios by the slow
//! path. Before a folio takes the slow path, [`Memory::settle_fast`] accounts for those of the fast
//! path.

use super::Memory;
use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::base::id::{AsId, ListId, MemcgId, PageIdx, Pfn, SwapSlot, ZoneId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::run::{Isolating, RUN, Run, Seen, Verdicts, each, first, lowest};
use crate::memory::trace::{TraceEvent, TraceKind, TraceKinds};
use crate::phys::frames::{FolioId, ORDER_MASK, flag, pages_of};
use crate::policy::Arrival;
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Owner, pte};
use crate::virt::space::Spaces;
use std::ops::Range;

/// Events of single folios of a batch that is evicted.
const OF_EVICTION: TraceKinds = TraceKinds::of(&[
    TraceKind::SimScanFolio,
    TraceKind::MmLruActivate,
    TraceKind::MmVmscanWriteFolio,
    TraceKind::SimEvict,
    TraceKind::MmPageFree,
]);

/// Work of the fast path that is not accounted for yet. Folios to evict are columns, since each of
/// the loops that evict them reads other columns.
#[derive(Clone, Debug)]
pub struct FastPath {
    asked: u64,
    activated: u64,
    /// Folios to evict.
    nr: usize,
    folio: [u32; RUN],
    page: [u32; RUN],
    slot: [u32; RUN],
    shadow: [Shadow; RUN],
    /// Those that leave a shadow.
    leaves: u64,
}

impl Default for FastPath {
    fn default() -> Self {
        FastPath {
            asked: 0,
            activated: 0,
            nr: 0,
            folio: [0; RUN],
            page: [0; RUN],
            slot: [0; RUN],
            shadow: [Shadow(0); RUN],
            leaves: 0,
        }
    }
}

impl FastPath {
    /// The answers of `n` plain folios were used: asking them took time.
    #[inline(always)]
    pub fn asked(&mut self, n: u64) {
        self.asked += n;
    }
    /// `n` plain folios were activated by their verdicts.
    #[inline(always)]
    pub fn activated(&mut self, n: u64) {
        self.activated += n;
    }
    /// Number of folios to evict.
    pub(super) fn len(&self) -> usize {
        self.nr
    }
    /// Their slots.
    pub(super) fn slots(&self) -> impl ExactSizeIterator<Item = SwapSlot> + Clone + '_ {
        self.slot[..self.nr].iter().map(|&s| SwapSlot(s))
    }
    /// Some of the folios to evict.
    pub(super) fn folios(&self, these: Range<usize>) -> &[u32] {
        &self.folio[these]
    }
    /// The folios to evict, each with its page.
    pub(super) fn victims(&self) -> impl ExactSizeIterator<Item = (FolioId, PageIdx)> + Clone + '_ {
        let folios = self.folio[..self.nr].iter();
        folios.zip(&self.page[..self.nr]).map(|(&f, &p)| (Pfn(f), PageIdx(p)))
    }
}

impl Memory {
    /// Isolates folios at the tail of a list, up to `n` pages or one folio more, and appends
    /// them to a run, oldest first. Returns their pages. With `verdicts`, the accessed bits of
    /// plain ones are tested and cleared, and their flags changed; that takes time, which
    /// [`FastPath::asked`] notes. Without, none is taken for plain.
    pub(super) fn lru_isolate_asked(
        &mut self,
        list: ListId,
        n: u64,
        verdicts: Option<&Verdicts>,
        run: &mut Run,
    ) -> u64 {
        let verdicts = verdicts.filter(|_| !self.given.slow_paths);
        let before = run.len();
        let isolate = |i: &mut Isolating<'_>, entries: &[u32]| i.isolate(entries, run);
        let (seen, extra) = self.lru_isolate(list, n, verdicts, isolate);
        let taken = run.all() & !first(before);
        let nr = run.len() - before;
        self.count_listed(list, run.folios(taken), nr as u32, seen, false);
        nr as u64 + extra - self.lru.lists.extra(list)
    }

    /// Takes folios off the tail of a list. Returns the flags seen, and the pages of the list beyond
    /// one each as they were before.
    #[inline]
    fn lru_isolate(
        &mut self,
        list: ListId,
        n: u64,
        verdicts: Option<&Verdicts>,
        mut isolate: impl FnMut(&mut Isolating<'_>, &[u32]),
    ) -> (Seen, u64) {
        let extra = self.lru.lists.extra(list);
        let n = self.lru.lists.folios_for(list, n, |f| self.frames.pages(f));
        let (flags, rmap) = self.frames.flags_and_rmap();
        let all_plain = self.virt.pages.nr_unplain() == 0;
        let (hot, groups) = self.virt.pages.hot_and_groups();
        let mut isolating = Isolating {
            all_plain,
            flags,
            rmap,
            hot: hot.as_chunks_mut().0,
            groups: groups.raw(),
            verdicts,
            seen: Seen::default(),
        };
        self.lru.lists.pop_tail_batch(list, n, |entries| isolate(&mut isolating, entries));
        isolating.fetch(self.lru.lists.ahead(list), n);
        (isolating.seen, extra)
    }

    /// Tests and clears the accessed bit of the page that maps a plain folio. That takes time, which
    /// is settled by [`FastPath::asked`].
    #[inline(always)]
    pub fn test_clear_young_at(&mut self, page: PageIdx) -> bool {
        self.virt.pages.test_clear_young(page)
    }

    /// Puts isolated folios at the head of a list, one after the other.
    pub fn lru_add_heads(&mut self, list: ListId, folios: &[FolioId]) {
        // One that waits to be moved between lists goes on waiting.
        self.add_heads(list, folios, |&folio| folio, flag::ISOLATED, 0);
    }

    /// The same for folios that waited in a batch for their list.
    pub fn lru_arrive_heads(&mut self, list: ListId, folios: &[FolioId]) {
        self.add_heads(list, folios, |&folio| folio, flag::IN_BATCH, 0);
    }

    /// The same for all folios of such a batch.
    pub fn lru_arrive_together(&mut self, list: ListId, batch: &[(FolioId, Arrival)]) {
        self.add_heads(list, batch, |arrived| arrived.0, flag::IN_BATCH, 0);
    }

    /// The same, and changes flags of all of them: `clear` names `IN_BATCH` or `ISOLATED` too.
    pub fn lru_add_heads_as(&mut self, list: ListId, folios: &[FolioId], clear: u32, set: u32) {
        self.add_heads(list, folios, |&folio| folio, clear, set);
    }

    fn add_heads<T>(
        &mut self,
        list: ListId,
        these: &[T],
        folio: impl Fn(&T) -> FolioId + Copy,
        clear: u32,
        set: u32,
    ) {
        if these.is_empty() {
            return;
        }
        let (flags, _) = self.frames.flags_and_rmap();
        let mut seen = Seen::default();
        let (keep, set) = (!clear, set | flag::LRU);
        for this in these {
            let bits = &mut flags[folio(this).0 as usize];
            seen.add(*bits);
            *bits = *bits & keep | set;
        }
        self.lru.lists.push_head_batch(list, these, folio);
        self.count_listed(list, these.iter().map(folio), these.len() as u32, seen, true);
    }

    /// Accounts for the zones and types of folios that came to a list or left it.
    pub(super) fn count_listed(
        &mut self,
        list: ListId,
        folios: impl Iterator<Item = FolioId> + Clone,
        nr: u32,
        seen: Seen,
        came: bool,
    ) {
        let n = u64::from(nr);
        if seen.any & (flag::UNEVICTABLE | ORDER_MASK) == 0
            && let Some(zone) = self.zones.of_all(folios.clone())
        {
            if seen.all & flag::SWAPBACKED != 0 {
                return self.count_of_zone(list, zone, [n, 0], 0, came);
            }
            if seen.any & flag::SWAPBACKED == 0 {
                return self.count_of_zone(list, zone, [0, n], 0, came);
            }
        }
        for folio in folios {
            let bits = self.frames.bits(folio);
            let unevictable = u64::from(bits & flag::UNEVICTABLE != 0);
            let anon = u64::from(bits & flag::SWAPBACKED != 0);
            let pages = pages_of(bits);
            let of_type = [anon, 1 - anon].map(|n| n * (1 - unevictable) * pages);
            self.count_of_zone(list, self.zones.of(folio), of_type, unevictable * pages, came);
            let (more, less) = if came { (pages - 1, 0) } else { (0, pages - 1) };
            self.lru.lists.count_extra(list, more, less);
        }
    }

    #[inline]
    pub(super) fn count_of_zone(
        &mut self,
        list: ListId,
        zone: ZoneId,
        [anon, file]: [u64; 2],
        unevictable: u64,
        came: bool,
    ) {
        let all = anon + file + unevictable;
        let [a, f] = &mut self.lru.pages[zone];
        if came {
            (*a, *f) = (*a + anon, *f + file);
            self.lru.total += anon + file;
            self.lru.lists.count_zone(list, zone, all, 0);
        } else {
            (*a, *f) = (*a - anon, *f - file);
            self.lru.total -= anon + file;
            self.lru.lists.count_zone(list, zone, 0, all);
        }
    }

    /// True if plain folios may be evicted by the fast path.
    pub fn evicts_short(&self) -> bool {
        let Some(swap) = self.swap.as_ref().filter(|_| !self.given.slow_paths) else {
            return false;
        };
        match &swap.pools {
            None => swap.is_one_synchronous(),
            Some(pools) => self.stores_short(swap, pools),
        }
    }

    /// True if an observer sees the fate of each folio that is evicted.
    #[inline]
    pub fn evicts_singly(&self) -> bool {
        self.telling.tracer.wants_any(OF_EVICTION)
    }

    /// Takes slots for plain folios of a run that shall be evicted by [`Memory::evict_run`]. Returns
    /// those that got one: the oldest, if there are not enough.
    pub fn slots_for_run(&mut self, short: &mut FastPath, these: u64) -> u64 {
        let want = these.count_ones() as usize;
        let slots = &mut short.slot[short.nr..short.nr + want];
        let nr = self.swap.as_mut().map_or(0, |swap| swap.pick_many(self.acting.cpu, slots));
        lowest(these, nr)
    }

    /// Evicts plain folios of a run to the slots that were taken for them, by
    /// [`Memory::settle_fast`]. `shadow` says what a folio, with these flags, leaves behind, one after
    /// the other.
    #[inline(always)]
    pub fn evict_run(
        &mut self,
        short: &mut FastPath,
        run: &Run,
        these: u64,
        mut shadow: impl FnMut(FolioId, u32) -> Option<Shadow>,
    ) {
        let mut at = short.nr;
        let mut leaves = 0;
        for i in each(these) {
            short.folio[at % RUN] = run.folio(i).0;
            short.page[at % RUN] = run.page(i).0;
            let shadow = shadow(run.folio(i), run.bits(i));
            short.shadow[at % RUN] = shadow.unwrap_or(Shadow(0));
            leaves |= u64::from(shadow.is_some()) << at;
            at += 1;
        }
        short.leaves |= leaves;
        short.nr = at;
    }

    /// Carries out and accounts for what took the fast path since the last time.
    pub fn settle_fast(&mut self, short: &mut FastPath, by: Reclaimer) {
        self.acting.now += SimDuration(self.given.cost.t_scan_mapping.0 * short.asked);
        self.count(VmEvent::PgActivate, short.activated);
        (short.asked, short.activated) = (0, 0);
        if short.nr > 0 {
            self.carry_out(short, by);
            (short.nr, short.leaves) = (0, 0);
        }
    }

    fn carry_out(&mut self, short: &FastPath, by: Reclaimer) {
        let n = short.nr as u64;
        let swap = self.swap.as_mut().expect("the folios have slots");
        swap.store(&short.slot[..short.nr], &short.shadow, short.leaves);
        if self.knows_contents() {
            self.store_victims(short);
        } else {
            self.write_victims(short, by);
        }
        self.count_steal(by, MemcgId(0), false, n);
        self.memcgs.uncharge(MemcgId(0), n);
        self.count(VmEvent::NrVmscanWrite, n);
    }

    /// Writes the victims to a synchronous device, and frees their frames.
    fn write_victims(&mut self, short: &FastPath, by: Reclaimer) {
        let (slots, n) = (short.slots(), short.nr as u64);
        let swap = self.swap.as_ref().expect("the folios have slots");
        let device = swap.only_device().expect("the fast path is for one device");
        let write = device.sync_cost(Io::Write, 1);
        self.kernel.zram_stored += n * u64::from(device.config().stored_bytes_per_page);
        if self.evicts_singly() {
            short.victims().zip(slots).for_each(|(v, s)| self.tell_of_eviction(v, s, write));
        } else {
            let each = self.given.cost.t_unmap
                + self.given.cost.t_swap_submit
                + write
                + self.given.cost.t_evict;
            self.acting.now += SimDuration(each.0 * n);
            self.name_evictions(slots.zip(short.victims().map(|v| v.1)));
        }
        if self.followed() {
            self.tell_of_evictions(short.victims(), by, false, true);
        }
        self.unmap_victims(short);
        self.free_victims(short.folios(0..short.nr));
        self.count(VmEvent::PswpOut, n);
        self.count_swap_requests(Io::Write, n);
    }

    /// Lets the time of an eviction pass, with its events, which an observer sees.
    #[cold]
    #[inline(never)]
    fn tell_of_eviction(
        &mut self,
        (pfn, page): (FolioId, PageIdx),
        slot: SwapSlot,
        write: SimDuration,
    ) {
        self.note_page_of_slot(slot, page);
        let (page, slot) = (Some(page), Some(slot));
        self.acting.now += self.given.cost.t_unmap;
        self.emit(|| TraceEvent::MmVmscanWriteFolio { pfn, file: false });
        self.acting.now += self.given.cost.t_swap_submit + write;
        let eviction = self.name_eviction(page);
        let written = true;
        self.emit(|| TraceEvent::SimEvict { eviction, pfn, page, file: false, slot, written });
        self.acting.now += self.given.cost.t_evict;
    }

    /// Makes swap entries of the PTEs that map the victims.
    pub(super) fn unmap_victims(&mut self, short: &FastPath) {
        let slots = short.slots();
        let pages = short.page[..short.nr].iter().map(|&p| PageIdx(p));
        if let Some(space) = self.virt.spaces.only_one() {
            self.virt.pages.swap_out_all(pages.zip(slots), pte::EXCLUSIVE);
            return swapped_out(&mut self.virt.spaces, (space, short.nr as u64));
        }
        let mut of = (AsId(0), 0);
        for (page, slot) in pages.zip(slots) {
            let Owner::Process(space) = self.virt.pages.group(page.group()).owner else {
                unreachable!("{page} is of no process")
            };
            if space != of.0 {
                swapped_out(&mut self.virt.spaces, of);
                of = (space, 0);
            }
            of.1 += 1;
            self.virt.pages.swap_out(page, slot, pte::EXCLUSIVE);
        }
        swapped_out(&mut self.virt.spaces, of);
    }

    /// Frees the frames of some victims, whose flags still say that they are on a list.
    pub(super) fn free_victims(&mut self, folios: &[u32]) {
        let folios = folios.iter().map(|&f| Pfn(f));
        if self.zones.of_all(folios.clone()).is_none() {
            folios.clone().for_each(|f| self.frames.clear(f, flag::LRU));
        }
        self.free_frames(folios);
    }
}

/// Pages of a process are in swap space now.
fn swapped_out(spaces: &mut Spaces, (space, n): (AsId, u64)) {
    spaces.anon_mapped -= n;
    let s = &mut spaces[space];
    s.rss_anon -= n;
    s.swapents += n;
    s.counted.evicted_anon += n;
}
