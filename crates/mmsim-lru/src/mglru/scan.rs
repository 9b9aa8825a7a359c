//! Looking through the oldest generation of a type: what is sorted, what is isolated.
//!
//! Folios are taken from the tail. What turns out to be promoted goes to its generation's list,
//! what is protected to the next generation, and so does what cannot be evicted now; the rest is
//! isolated, 64 pages at most, in at most 4096 looked at.
//!
//! Source: Linux 6.12 mm/vmscan.c (`scan_folios`, `sort_folio`, `isolate_folio`).

use super::Mglru;
use super::config::{
    AccessMarks, DirtyLazyfreeRule, Lazyfree, RefaultCount, StepSize, TypeFallback, WritebackRule,
};
use super::lruvec::{GEN_MASK, GenList, NAMES, gen_bits, gen_of};
use crate::index::{ANON, FILE, Gen, LruType, LruvecId, MIN_NR_GENS, PerType, Tier};
use mmsim_core::base::id::Idx as _;
use mmsim_core::base::settings::OrNumber::{Number, Word};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::{Memory, Run, Scan, ScanFor, Scanned, Sorting};
use mmsim_core::phys::frames::{FolioId, FrameKind, ORDER_MASK, flag, pages_of};
use mmsim_core::policy::ReclaimRequest;

/// Names of the types in events.
const TYPE_NAMES: PerType<&str> = PerType::new(["lru_gen_anon", "lru_gen_file"]);

/// Fate of a folio at the tail.
enum Sorted {
    /// It went to another list.
    Moved,
    /// It is evicted.
    Isolate,
    /// It cannot be, and waits aside.
    Refused,
}

/// Parameters of the scan of a type.
struct Scanning<'a> {
    lv: LruvecId,
    t: LruType,
    /// The last tier that may be evicted.
    limit: Tier,
    /// Number of pages that may be looked at.
    most: u64,
    req: &'a ReclaimRequest,
}

/// Folios that a scan met, and those that it refused.
struct Met<'a> {
    tally: Scanned,
    run: &'a mut Run,
    refused: Vec<FolioId>,
}

impl Mglru {
    /// Scans a type, with `left` of the budget; what it isolates is appended to the run. Returns the
    /// folios looked at, or before 7.2 0 if that brought nothing.
    pub(super) fn scan_folios(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        (t, limit): (LruType, Tier),
        left: u64,
        req: &ReclaimRequest,
        run: &mut Run,
    ) -> u64 {
        if self.lruvecs[lv].nr_gens(t) == MIN_NR_GENS {
            return 0;
        }
        let most = match self.config.step_size {
            Word(StepSize::Whole) => self.max_batch,
            Word(StepSize::Budget) => self.max_batch.min(left),
            Word(StepSize::Batch) => self.min_batch.min(left),
            Number(pages) => (u64::from(pages) >> mem.given.batch_shift).max(1).min(left),
        };
        let scan = Scanning { lv, t, limit, most, req };
        let generation = self.lruvecs[lv].oldest(t);
        let mut met = Met { tally: Scanned::default(), run, refused: Vec::new() };
        // The zones asked for from the highest down, then those above from the highest down.
        let (asked, above) = ZoneKind::ALL.split_at(req.highest as usize + 1);
        for &zone in asked.iter().rev().chain(above.iter().rev()) {
            self.scan_zone(mem, &scan, generation, zone, &mut met);
            if met.tally.looked >= most || met.tally.taken >= self.min_batch {
                break;
            }
        }
        let tally = met.tally;
        self.taken += tally.taken;
        let memcg = self.node_and_memcg(lv).1;
        let (file, to, lru) = (t == FILE, ScanFor::Eviction, TYPE_NAMES[t]);
        mem.end_scan(&Scan { req, memcg, file, to, lru }, most, tally);
        let all = self.config.type_fallback == TypeFallback::NoneScanned;
        if all || tally.taken > 0 || tally.looked >= most { tally.looked } else { 0 }
    }

    /// Scans the lists of one zone: lazily freed folios first, where they have their own.
    fn scan_zone(
        &mut self,
        mem: &mut Memory,
        scan: &Scanning<'_>,
        generation: Gen,
        zone: ZoneKind,
        met: &mut Met<'_>,
    ) {
        let lists = self.lruvecs[scan.lv].lists[generation];
        let own_list = scan.t == FILE && self.config.lazyfree_list();
        let kinds: &[GenList] = match scan.t {
            FILE if own_list => &[GenList::Lazyfree, GenList::File],
            FILE => &[GenList::File],
            ANON => &[GenList::Anon],
        };
        let mut skipped = 0;
        for (i, &kind) in kinds.iter().enumerate() {
            let list = lists[kind][zone];
            while mem.lru.lists.len(list) > 0
                && met.tally.looked < scan.most
                && met.tally.taken.max(skipped) < self.min_batch
            {
                skipped += self.scan_some(mem, scan, (kind, zone), skipped, met);
            }
            // As posted, the list of lazily freed folios gives what it refused to the list that
            // is scanned last.
            let full =
                met.tally.looked >= scan.most || met.tally.taken.max(skipped) >= self.min_batch;
            let last = i + 1 == kinds.len() || full;
            if self.config.lazyfree != Lazyfree::ListV2 || last {
                mem.lru_add_heads(list, &met.refused);
                met.refused.clear();
            }
            if full {
                break;
            }
        }
        if skipped > 0 {
            mem.count_skipped(zone, skipped);
        }
    }

    /// Takes as many folios as may be isolated off the tail of a list. Returns how many were
    /// refused.
    fn scan_some(
        &mut self,
        mem: &mut Memory,
        scan: &Scanning<'_>,
        (kind, zone): (GenList, ZoneKind),
        skipped: u64,
        Met { tally, run, refused }: &mut Met<'_>,
    ) -> u64 {
        let generation = self.lruvecs[scan.lv].oldest(scan.t);
        let list = self.lruvecs[scan.lv].lists[generation][kind][zone];
        let room = self.min_batch - tally.taken.max(skipped);
        let n = room.min(scan.most - tally.looked);
        let sorting = self.sorting(scan, zone, generation);
        let from = run.len();
        let met = mem.lru_sort_tail(list, n, &sorting, run);
        tally.looked += met.looked;
        tally.refilled += met.strays;
        let mut kept = met.unsorted;
        let (mut nr_refused, mut extra) = (0, 0);
        for i in met.unsorted..run.len() {
            let (folio, bits) = (run.folio(i), run.bits(i));
            match self.sort(mem, scan, zone, (folio, bits)) {
                Sorted::Moved => tally.refilled += pages_of(bits),
                Sorted::Isolate => {
                    extra += pages_of(bits) - 1;
                    run.place(kept, i, self.isolated(mem, folio, bits));
                    kept += 1;
                }
                Sorted::Refused => {
                    refused.push(folio);
                    nr_refused += pages_of(bits);
                }
            }
        }
        run.truncate(kept);
        let isolated = (kept - from) as u64 + extra;
        tally.taken += isolated;
        self.shrink_gen(scan.lv, generation, scan.t, zone, isolated);
        nr_refused
    }

    /// Which folios need no question: those that name a younger generation, and the usual one, which
    /// is isolated: it names the oldest generation, was never accessed through a descriptor, and
    /// nothing is going on with it.
    fn sorting(&self, scan: &Scanning<'_>, zone: ZoneKind, generation: Gen) -> Sorting {
        let odd = flag::MLOCKED | flag::UNEVICTABLE | flag::WRITEBACK | flag::WORKINGSET;
        // Anonymous memory is written anyway.
        let (dirty, of_type) = match scan.t {
            FILE => (flag::DIRTY, 0),
            ANON => (0, flag::SWAPBACKED),
        };
        let more = flag::LOCKED | flag::RECLAIM | flag::REFERENCED;
        let mask = GEN_MASK | ORDER_MASK | flag::SWAPBACKED | odd | dirty | more;
        let none = zone > scan.req.highest || !scan.req.may_io;
        let v = &self.lruvecs[scan.lv];
        let mut lists = [v.unevictable; NAMES];
        for (g, of_gen) in v.lists.pairs() {
            lists[g.index() + 1] = of_gen[scan.t.into()][zone];
        }
        Sorting {
            file: scan.t == FILE,
            mask: if none { 0 } else { mask },
            // No folio has any of no flags.
            bits: if none { 1 } else { of_type | gen_bits(generation) },
            // Generation g has the name g + 1.
            names: 0b1_1110 & !(2 << generation.0),
            lists,
        }
    }

    /// Fate of a folio at the tail (`sort_folio`, `isolate_folio`).
    fn sort(
        &mut self,
        mem: &mut Memory,
        scan: &Scanning<'_>,
        zone: ZoneKind,
        (folio, bits): (FolioId, u32),
    ) -> Sorted {
        let (lv, t) = (scan.lv, scan.t);
        let c = self.config;
        let lazy = t == FILE && mem.frames.kind(folio) == FrameKind::Anon;
        // What went astray goes back to a list of its kind.
        let kind = self.list_kind(mem, folio, t);
        let at = |mglru: &Self, generation: Gen| mglru.lruvecs[lv].lists[generation][kind][zone];
        let oldest = self.lruvecs[lv].oldest(t);
        let named = gen_of(bits).expect("a listed folio names a generation");
        if bits & flag::MLOCKED != 0 {
            // Shrinking will find that out; sizes are kept as if it named the oldest.
            self.resize((lv, zone), bits, Some(named), Some(oldest));
            return Sorted::Isolate;
        }
        if lazy && c.dirty_lazyfree_rule == DirtyLazyfreeRule::ToAnon && bits & flag::DIRTY != 0 {
            self.resize((lv, zone), bits, gen_of(bits), None);
            mem.frames.change(folio, GEN_MASK, flag::SWAPBACKED);
            self.add(mem, folio, true);
            return Sorted::Moved;
        }
        if named != oldest {
            mem.lru_add_head(at(self, named), folio);
            return Sorted::Moved;
        }
        let (refs, tier) = (self.refs(folio, bits), self.tier(folio, bits));
        let reworked = c.access_marks == AccessMarks::Counted614;
        let full = self.overflows(bits, refs);
        if tier > scan.limit || c.overflow_protect && full {
            let counts = !(reworked && full);
            let generation = self.protect(mem, scan, (folio, bits), tier, counts);
            if reworked {
                mem.lru_add_head(at(self, generation), folio);
            } else {
                mem.lru_add_tail(at(self, generation), folio);
            }
            return Sorted::Moved;
        }
        if zone > scan.req.highest {
            let generation = self.inc_gen(mem, lv, folio, 0);
            mem.lru_add_tail(at(self, generation), folio);
            return Sorted::Moved;
        }
        if c.writeback_rule == WritebackRule::Bounce {
            let dirty_file = t == FILE && bits & flag::DIRTY != 0;
            let writing = bits & flag::WRITEBACK != 0;
            if dirty_file {
                self.bounced.file_taken += pages_of(bits);
                self.bounced.unqueued_dirty += if writing { 0 } else { pages_of(bits) };
            }
            if writing || dirty_file || bits & flag::LOCKED != 0 && !reworked {
                let generation = self.inc_gen(mem, lv, folio, flag::RECLAIM);
                mem.lru_add_head(at(self, generation), folio);
                return Sorted::Moved;
            }
        }
        let uncached = mem.frames.kind(folio) == FrameKind::Anon && bits & flag::SWAPCACHE == 0;
        let dirty =
            bits & flag::DIRTY != 0 && (c.writeback_rule == WritebackRule::Bounce || t == ANON);
        let refuses = c.writeback_rule != WritebackRule::Shrink72 && !scan.req.may_io;
        if refuses && (dirty || uncached) {
            return Sorted::Refused;
        }
        Sorted::Isolate
    }

    /// Moves a folio to the next generation since its tier is protected, or it is full. Returns the
    /// generation. `counts`: the tier's rate takes note of it.
    fn protect(
        &mut self,
        mem: &mut Memory,
        scan: &Scanning<'_>,
        (folio, bits): (FolioId, u32),
        tier: Tier,
        counts: bool,
    ) -> Gen {
        let (lv, t) = (scan.lv, scan.t);
        let generation = self.inc_gen(mem, lv, folio, 0);
        let hist = self.config.hist_gens.get();
        let v = &mut self.lruvecs[lv];
        if counts {
            v.rates[t].period_mut(v.min_seq[t], hist).protected[tier] += pages_of(bits);
        }
        if self.config.refault_count == RefaultCount::RecentOnly {
            let activated = match t == FILE {
                true => VmEvent::WorkingsetActivateFile,
                false => VmEvent::WorkingsetActivateAnon,
            };
            mem.count_in(self.node_and_memcg(lv).1, activated, 1);
        }
        generation
    }

    /// True if a folio remembers as many accesses as it can.
    pub(super) fn overflows(&self, bits: u32, refs: u32) -> bool {
        let reworked = self.config.access_marks == AccessMarks::Counted614;
        refs == self.most_counted() + 1 && (!reworked || bits & flag::WORKINGSET != 0)
    }

    /// Marks of a folio that is isolated: what was not accessed lately loses its credit. Returns
    /// its flags.
    fn isolated(&mut self, mem: &mut Memory, folio: FolioId, bits: u32) -> u32 {
        let mut clear = GEN_MASK;
        let reworked = self.config.access_marks == AccessMarks::Counted614;
        if reworked {
            if self.config.writeback_rule != WritebackRule::Shrink72 {
                clear |= flag::RECLAIM;
            }
        } else {
            clear |= flag::REFERENCED;
            if bits & flag::REFERENCED == 0 {
                clear |= flag::WORKINGSET;
            }
            if self.config.writeback_rule == WritebackRule::Bounce {
                clear |= flag::RECLAIM;
            }
        }
        mem.frames.change(folio, clear, 0)
    }
}
