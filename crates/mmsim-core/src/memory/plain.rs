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
//! do so because nobody looks between the folios of a batch. With an observer of evictions a batch
//! is one folio, so that each event has its own time ([`Memory::evict_batch`]). An asynchronous device,
//! whose queue starts at the time of the write, gets its folios by the slow path. Before a folio
//! takes the slow path, [`Memory::settle_fast`] accounts for those of the fast path.

use super::Memory;
use crate::backing::Shadow;
use crate::backing::device::Io;
use crate::backing::swap::Swap;
use crate::base::host;
use crate::base::id::{AsId, GROUP_PAGES, ListId, MemcgId, PageIdx, Pfn, SwapSlot, ZoneId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::trace::{TraceEvent, TraceKind, TraceKinds};
use crate::phys::frames::{FolioId, ORDER_MASK, flag, is_plain, pages_of};
use crate::phys::lists::MOST_IN_RUN;
use crate::policy::request::Reclaimer;
use crate::virt::pages::{Group, Owner, pte};
use crate::virt::space::Spaces;

/// Events of single folios of a batch that is evicted.
const OF_EVICTION: TraceKinds = TraceKinds::of(&[
    TraceKind::SimScanFolio,
    TraceKind::MmLruActivate,
    TraceKind::MmVmscanWriteFolio,
    TraceKind::SimEvict,
    TraceKind::MmPageFree,
]);

/// A folio that a scan took off its list.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The folio.
    pub folio: FolioId,
    /// Its flags; of a plain one those that its verdict gave it.
    pub bits: u32,
    /// Its page if it is plain, else 0, which is no page.
    page: u32,
}

impl Look {
    /// Whether the fast path is open for it.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.page != 0
    }
    /// The same with other flags.
    #[inline(always)]
    #[must_use]
    pub fn with_bits(self, bits: u32) -> Look {
        Look { bits, ..self }
    }
    /// The page that a plain one is mapped at.
    #[inline(always)]
    pub fn page(&self) -> PageIdx {
        debug_assert!(self.is_plain(), "{} is not plain", self.folio);
        PageIdx(self.page)
    }
}

/// What becomes of the flags of plain folios that are isolated and asked for their accessed
/// bit.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts {
    /// Flags that each loses.
    pub clear: u32,
    /// Flags that it gets: neither accessed nor `REFERENCED`, `REFERENCED`, accessed, both.
    pub set: [u32; 4],
}

/// Flags that some folios of a batch have, and those that all of them have.
#[derive(Clone, Copy)]
struct Seen {
    any: u32,
    all: u32,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { any: 0, all: u32::MAX }
    }
}

impl Seen {
    #[inline(always)]
    fn add(&mut self, bits: u32) {
        self.any |= bits;
        self.all &= bits;
    }
}

/// Places for the folios of a run of a list.
const UNSEEN: [Look; MOST_IN_RUN] = [Look { folio: Pfn(0), bits: 0, page: 0 }; MOST_IN_RUN];

/// The columns that isolating folios touches.
struct Isolating<'a> {
    flags: &'a mut [u32],
    rmap: &'a [u32],
    hot: &'a mut [[u8; GROUP_PAGES as usize]],
    groups: &'a [Group],
    verdicts: Option<&'a Verdicts>,
    /// All groups with mappings are plain, so no folio's own needs to be looked up.
    all_plain: bool,
    seen: Seen,
}

impl Isolating<'_> {
    /// Isolates a run of folios of a list, the last first. Those of the run that are plain up to the
    /// first that is not take a loop without a look at their groups.
    #[inline(never)] // Nearly all time goes into the loop, which has all registers here.
    fn isolate(&mut self, run: &[u32], looks: &mut Vec<Look>) {
        let Some(v) = self.verdicts.filter(|_| self.all_plain) else {
            return self.isolate_any(run, looks);
        };
        let at = looks.len();
        let keep = !(flag::LRU | v.clear);
        looks.extend_from_slice(&UNSEEN[..run.len()]);
        let hot = self.hot.as_flattened_mut();
        let flags = &mut *self.flags;
        // Lengths that are known to be equal are checked once.
        let rmap = &self.rmap[..flags.len()];
        let mut done = 0;
        // Neighbours on a list lie anywhere in the tables.
        for &folio in run {
            host::prefetch(flags, folio as usize);
            host::prefetch(rmap, folio as usize);
        }
        for &folio in run {
            host::prefetch(hot, rmap.get(folio as usize).copied().unwrap_or(0) as usize);
        }
        for (look, &folio) in looks[at..].iter_mut().zip(run.iter().rev()) {
            let i = folio as usize;
            let was = flags[i];
            if !is_plain(was) {
                break;
            }
            let page = rmap[i];
            let h = &mut hot[page as usize];
            let young = *h & pte::YOUNG != 0;
            *h &= pte::after_query(young);
            let before = was & flag::REFERENCED != 0;
            let set = v.set[2 * usize::from(young) + usize::from(before)];
            let bits = was & keep | flag::ISOLATED | set;
            flags[i] = bits;
            *look = Look { folio: Pfn(folio), bits, page };
            done += 1;
        }
        if done > 0 {
            // What all plain folios have, and others of the run need not.
            self.seen.any |= flag::SWAPBACKED;
        }
        if done < run.len() {
            looks.truncate(at + done);
            self.isolate_any(&run[..run.len() - done], looks);
        }
    }

    /// The same, of folios that need not be plain.
    #[inline(never)]
    fn isolate_any(&mut self, run: &[u32], looks: &mut Vec<Look>) {
        let (flags, hot) = (&mut *self.flags, &mut *self.hot);
        // Lengths that are known to be equal are checked once.
        let (rmap, groups) = (&self.rmap[..flags.len()], &self.groups[..hot.len()]);
        let any_plain = self.verdicts.is_some();
        let v = *self.verdicts.unwrap_or(&Verdicts { clear: 0, set: [0; 4] });
        let mut seen = Seen::default();
        let at = looks.len();
        // At most a chunk of a list: copied in one go, where `resize` would go over each.
        looks.extend_from_slice(&UNSEEN[..run.len()]);
        for (look, &folio) in looks[at..].iter_mut().zip(run.iter().rev()) {
            let i = folio as usize;
            let was = flags[i];
            seen.add(was);
            let page = if any_plain && is_plain(was) { rmap[i] } else { 0 };
            let g = (page / GROUP_PAGES) as usize;
            // Page 0 lies in a group of nobody, which is not plain.
            if !groups[g].plain {
                let bits = was & !flag::LRU | flag::ISOLATED;
                flags[i] = bits;
                *look = Look { folio: Pfn(folio), bits, page: 0 };
                continue;
            }
            let h = &mut hot[g][(page % GROUP_PAGES) as usize];
            let young = *h & pte::YOUNG != 0;
            *h &= pte::after_query(young);
            let before = was & flag::REFERENCED != 0;
            let set = v.set[2 * usize::from(young) + usize::from(before)];
            let bits = was & !(flag::LRU | v.clear) | flag::ISOLATED | set;
            flags[i] = bits;
            *look = Look { folio: Pfn(folio), bits, page };
        }
        self.seen.any |= seen.any;
        self.seen.all &= seen.all;
    }

    /// Isolates a run of folios of a list, the last first, and asks none.
    #[inline(never)]
    fn isolate_unasked(&mut self, run: &[u32], any_plain: bool, looks: &mut Vec<Look>) {
        let mut seen = Seen::default();
        for &folio in run.iter().rev() {
            let i = folio as usize;
            let was = self.flags[i];
            seen.add(was);
            let page = if any_plain && is_plain(was) { self.rmap[i] } else { 0 };
            let page = if self.groups[(page / GROUP_PAGES) as usize].plain { page } else { 0 };
            let bits = was & !flag::LRU | flag::ISOLATED;
            self.flags[i] = bits;
            looks.push(Look { folio: Pfn(folio), bits, page });
        }
        self.seen.any |= seen.any;
        self.seen.all &= seen.all;
    }
}

/// An eviction to carry out: the folio has a slot.
#[derive(Clone, Copy, Debug)]
struct Victim {
    folio: FolioId,
    page: PageIdx,
    slot: SwapSlot,
    shadow: Option<Shadow>,
}

/// What took the fast path and is not accounted for yet.
#[derive(Clone, Debug, Default)]
pub struct FastPath {
    asked: u64,
    activated: u64,
    victims: Vec<Victim>,
}

impl FastPath {
    /// Makes room for `n` evictions.
    #[inline]
    pub fn expect(&mut self, n: usize) {
        self.victims.reserve(n);
    }
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
}

impl Memory {
    /// Isolates folios at the tail of a list, up to `n` pages or one folio more, and appends
    /// them to `looks`, oldest first. Returns their pages. With `verdicts`, the accessed bits of
    /// plain ones are tested and cleared, and their flags changed; that takes time, which
    /// [`FastPath::asked`] notes. Without, none is taken for plain.
    pub(super) fn lru_isolate_asked(
        &mut self,
        list: ListId,
        n: u64,
        verdicts: Option<&Verdicts>,
        looks: &mut Vec<Look>,
    ) -> u64 {
        let verdicts = verdicts.filter(|_| !self.slow_paths);
        self.lru_isolate(list, n, verdicts, looks, |i, run, looks| i.isolate(run, looks))
    }

    /// The same without asking anybody: the accessed bits of plain ones are still there, for
    /// [`Memory::test_clear_young_of`].
    pub fn lru_isolate_unasked(&mut self, list: ListId, n: u64, looks: &mut Vec<Look>) -> u64 {
        let plain = !self.slow_paths;
        self.lru_isolate(list, n, None, looks, |i, run, looks| i.isolate_unasked(run, plain, looks))
    }

    #[inline]
    fn lru_isolate(
        &mut self,
        list: ListId,
        n: u64,
        verdicts: Option<&Verdicts>,
        looks: &mut Vec<Look>,
        isolate: impl Fn(&mut Isolating<'_>, &[u32], &mut Vec<Look>),
    ) -> u64 {
        let before = (looks.len(), self.lists.extra(list));
        let n = self.lists.folios_for(list, n, |f| self.frames.pages(f));
        let (flags, rmap) = self.frames.flags_and_rmap();
        let all_plain = self.pages.nr_unplain() == 0;
        let (hot, groups) = self.pages.hot_and_groups();
        let mut isolating = Isolating {
            all_plain,
            flags,
            rmap,
            hot: hot.as_chunks_mut().0,
            groups: groups.raw(),
            verdicts,
            seen: Seen::default(),
        };
        self.lists.pop_tail_batch(list, n, |run| isolate(&mut isolating, run, looks));
        let seen = isolating.seen;
        self.count_listed(list, looks[before.0..].iter().map(|l| l.folio), seen, false);
        (looks.len() - before.0) as u64 + before.1 - self.lists.extra(list)
    }

    /// Tests and clears the accessed bit of a plain folio. That takes time, which is settled by
    /// [`FastPath::asked`].
    #[inline(always)]
    pub fn test_clear_young_of(&mut self, look: &Look) -> bool {
        self.pages.test_clear_young(look.page())
    }

    /// Puts isolated folios at the head of a list, one after the other.
    pub fn lru_add_heads(&mut self, list: ListId, folios: &[FolioId]) {
        // One that waits to be moved between lists goes on waiting.
        self.add_heads(list, folios, flag::ISOLATED, 0);
    }

    /// The same for folios that waited in a batch for their list.
    pub fn lru_arrive_heads(&mut self, list: ListId, folios: &[FolioId]) {
        self.add_heads(list, folios, flag::IN_BATCH, 0);
    }

    /// The same, and changes flags of all of them: `clear` names `IN_BATCH` or `ISOLATED` too.
    pub fn lru_add_heads_as(&mut self, list: ListId, folios: &[FolioId], clear: u32, set: u32) {
        self.add_heads(list, folios, clear, set);
    }

    fn add_heads(&mut self, list: ListId, folios: &[FolioId], clear: u32, set: u32) {
        if folios.is_empty() {
            return;
        }
        let (flags, _) = self.frames.flags_and_rmap();
        let mut seen = Seen::default();
        let (keep, set) = (!clear, set | flag::LRU);
        for &folio in folios {
            let bits = &mut flags[folio.0 as usize];
            seen.add(*bits);
            *bits = *bits & keep | set;
        }
        self.lists.push_head_batch(list, folios, |&folio| folio);
        self.count_listed(list, folios.iter().copied(), seen, true);
    }

    /// Accounts for the zones and types of folios that came to a list or left it.
    fn count_listed(
        &mut self,
        list: ListId,
        folios: impl ExactSizeIterator<Item = FolioId> + Clone,
        seen: Seen,
        came: bool,
    ) {
        let n = folios.len() as u64;
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
            self.lists.count_extra(list, more, less);
        }
    }

    #[inline]
    fn count_of_zone(
        &mut self,
        list: ListId,
        zone: ZoneId,
        [anon, file]: [u64; 2],
        unevictable: u64,
        came: bool,
    ) {
        let all = anon + file + unevictable;
        let [a, f] = &mut self.lru_pages[zone];
        if came {
            (*a, *f) = (*a + anon, *f + file);
            self.lru_total += anon + file;
            self.lists.count_zone(list, zone, all, 0);
        } else {
            (*a, *f) = (*a - anon, *f - file);
            self.lru_total -= anon + file;
            self.lists.count_zone(list, zone, 0, all);
        }
    }

    /// Whether plain folios may be evicted by the fast path.
    pub fn evicts_short(&self) -> bool {
        !self.slow_paths && self.swap.as_ref().is_some_and(Swap::is_one_synchronous)
    }

    /// Whether somebody sees what becomes of each folio that is evicted.
    #[inline]
    pub fn evicts_singly(&self) -> bool {
        self.tracer.wants_any(OF_EVICTION)
    }

    /// How many of `n` plain folios are judged and evicted at once: with an observer of evictions
    /// one, which [`Memory::settle_fast`] follows.
    #[inline]
    pub fn evict_batch(&self, n: usize) -> usize {
        if self.evicts_singly() { n.min(1) } else { n }
    }

    /// Takes swap slots for so many plain folios that shall be evicted, fewer if there are
    /// not so many: the first is the last of `slots`.
    pub fn slots_for_short(&mut self, n: usize, slots: &mut Vec<SwapSlot>) {
        slots.clear();
        if let Some(swap) = &mut self.swap {
            swap.pick_many(self.cpu, n, slots);
            slots.reverse();
        }
    }

    /// Evicts a plain folio to the slot that was taken for it, by [`Memory::settle_fast`].
    #[inline(always)]
    pub fn evict_fast(
        &mut self,
        short: &mut FastPath,
        look: &Look,
        slot: SwapSlot,
        shadow: Option<Shadow>,
    ) {
        debug_assert!(look.is_plain());
        let page = PageIdx(look.page);
        short.victims.push(Victim { folio: look.folio, page, slot, shadow });
    }

    /// Carries out and accounts for what took the fast path since the last time.
    pub fn settle_fast(&mut self, short: &mut FastPath, by: Reclaimer) {
        self.now += SimDuration(self.cost.t_scan_mapping.0 * short.asked);
        self.count(VmEvent::PgActivate, short.activated);
        (short.asked, short.activated) = (0, 0);
        if short.victims.is_empty() {
            return;
        }
        let swap = self.swap.as_mut().expect("the folios have slots");
        swap.store(short.victims.iter().map(|v| (v.slot, v.shadow)));
        let n = short.victims.len() as u64;
        let device = swap.only_device().expect("the fast path is for one device");
        let write = device.sync_cost(Io::Write, 1);
        self.zram_stored += n * u64::from(device.config().stored_bytes_per_page);
        if self.evicts_singly() {
            short.victims.iter().for_each(|v| self.tell_of_eviction(v, write));
        } else {
            let each = self.cost.t_unmap + self.cost.t_swap_submit + write + self.cost.t_evict;
            self.now += SimDuration(each.0 * n);
            self.name_evictions(short.victims.iter().map(|v| (v.slot, v.page)));
        }
        if self.followed() {
            let of = short.victims.iter().map(|v| (v.folio, v.page));
            self.tell_of_evictions(of, by, false, true);
        }
        self.unmap_short(&short.victims);
        self.free_frames(short.victims.iter().map(|v| v.folio));
        self.count_steal(by, MemcgId(0), false, n);
        self.memcgs.charge_swap(MemcgId(0), n);
        self.memcgs.uncharge(MemcgId(0), n);
        self.count(VmEvent::NrVmscanWrite, n);
        self.count(VmEvent::PswpOut, n);
        self.count_swap_requests(Io::Write, n);
        short.victims.clear();
    }

    /// Lets the time of an eviction pass, with its events, which an observer sees.
    #[cold]
    #[inline(never)]
    fn tell_of_eviction(&mut self, v: &Victim, write: SimDuration) {
        let (pfn, page, slot) = (v.folio, Some(v.page), Some(v.slot));
        self.note_page_of_slot(v.slot, v.page);
        self.now += self.cost.t_unmap;
        self.emit(|| TraceEvent::MmVmscanWriteFolio { pfn, file: false });
        self.now += self.cost.t_swap_submit + write;
        let eviction = self.name_eviction(page);
        let written = true;
        self.emit(|| TraceEvent::SimEvict { eviction, pfn, page, file: false, slot, written });
        self.now += self.cost.t_evict;
    }

    /// Makes swap entries of the PTEs that map the victims.
    fn unmap_short(&mut self, victims: &[Victim]) {
        let mut of = (AsId(0), 0);
        let pages = &mut self.pages;
        if let Some(space) = self.spaces.only_one() {
            victims.iter().for_each(|v| pages.swap_out(v.page, v.slot, pte::EXCLUSIVE));
            return swapped_out(&mut self.spaces, (space, victims.len() as u64));
        }
        for v in victims {
            let Owner::Process(space) = pages.group(v.page.group()).owner else {
                unreachable!("{} is of no process", v.page)
            };
            if space != of.0 {
                swapped_out(&mut self.spaces, of);
                of = (space, 0);
            }
            of.1 += 1;
            pages.swap_out(v.page, v.slot, pte::EXCLUSIVE);
        }
        swapped_out(&mut self.spaces, of);
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
