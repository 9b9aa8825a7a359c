//! Shadows and refaults.
//!
//! An evicted page takes along which generation was the oldest of its type, and how often it had
//! been accessed. If it comes back while that generation still is the oldest, the refault is
//! recent: it counts against its tier, and a page that was in use gets its marks back.
//!
//! With refault distances the shadow holds a count of evictions instead, and the distance
//! between then and now is compared with sizes of lists.
//!
//! Source: Linux 6.12 mm/workingset.c (`lru_gen_eviction`, `lru_gen_test_recent`,
//! `lru_gen_refault`); "Refault distance update with MGLRU support" (linux-mm, 2023).

use super::config::{AccessMarks, RecentRule, RefaultCount, RefaultDistance, RestoreRule};
use super::lruvec::GEN_MASK;
use super::rates::tier_of;
use super::{Mglru, place};
use crate::classic::config::WsThreshold;
use crate::classic::formulas::{ThresholdInput, cost612, ws_threshold};
use crate::index::{ANON, FILE, LruType, LruvecId, MAX_NR_GENS, PerType, Tier};
use mmsim_core::backing::Shadow;
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{TraceEvent, TraceKind};
use mmsim_core::memory::{Memory, SettledFaults};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::Arrival;

/// Value of the bits of the generation for a folio on its way to the second oldest one.
pub(super) const SECOND_OLDEST: u32 = GEN_MASK;

/// Bits of a shadow for accesses and for the workingset flag.
const REFS_BITS: u32 = 3;

/// Layout of shadows on a machine: 3 bits of history, and with several nodes or memcgs 16 bits of
/// group and 8 of node; the rest is the sequence number or the count, exact while it advances by
/// less than 2^29 (2^37 then).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packing {
    shift: u32,
    mask: u64,
}

/// Contents of a shadow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unpacked {
    pub(super) memcg: MemcgId,
    pub(super) node: NodeId,
    /// It was in use: accessed more than once through descriptors (from 6.14 on: marked as
    /// workingset).
    pub(super) workingset: bool,
    /// Further accesses, up to 3.
    pub(super) counted: u32,
    /// Sequence number of the oldest generation, or evictions so far.
    pub(super) token: u64,
}

impl Unpacked {
    /// Accesses through descriptors beyond the first, before 6.14.
    fn refs(self) -> u32 {
        self.counted + u32::from(self.workingset)
    }
}

impl Packing {
    pub(super) fn of(mem: &Memory) -> Self {
        let bits = mem.shadow_bits();
        let shift = if bits > 32 { REFS_BITS + 24 } else { REFS_BITS };
        Packing { shift, mask: (1 << (bits - shift)) - 1 }
    }
    /// True if shadows name neither group nor node.
    pub(super) fn is_narrow(self) -> bool {
        self.shift == REFS_BITS
    }
    pub(super) fn pack(self, u: Unpacked) -> Shadow {
        let whose = if self.shift > REFS_BITS {
            u64::from(u.memcg.0) << REFS_BITS | u64::from(u.node.0) << (REFS_BITS + 16)
        } else {
            0
        };
        let refs = u64::from(u.workingset) | u64::from(u.counted) << 1;
        Shadow(refs | whose | (u.token & self.mask) << self.shift)
    }
    /// Difference of a sequence number to that in a shadow.
    #[inline(always)]
    fn since(self, s: Shadow, seq: u64) -> u64 {
        seq.wrapping_sub(s.0 >> self.shift) & self.mask
    }
    /// True if a shadow says that the page was in use.
    #[inline(always)]
    fn was_workingset(self, s: Shadow) -> bool {
        s.0 & 1 != 0
    }
    pub(super) fn unpack(self, s: Shadow) -> Unpacked {
        let wide = self.shift > REFS_BITS;
        Unpacked {
            memcg: MemcgId(if wide { (s.0 >> REFS_BITS) as u16 } else { 0 }),
            node: NodeId(if wide { (s.0 >> (REFS_BITS + 16)) as u8 } else { 0 }),
            workingset: s.0 & 1 != 0,
            counted: (s.0 >> 1 & 3) as u32,
            token: s.0 >> self.shift,
        }
    }
}

/// Sizes of lists, inactive and active of each type, that a distance is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// Inactive and active anonymous pages, none without swap.
    pub anon: [u64; 2],
    /// Inactive and active file pages.
    pub file: [u64; 2],
}

impl Sizes {
    /// The smallest distance of a refault that would not have fitted into memory (`v3`): it
    /// competes with the smaller half, active or inactive.
    pub(super) fn threshold(self, is_file: bool) -> u64 {
        let active = self.anon[1] + self.file[1];
        let inactive = self.anon[0] + self.file[0];
        if active >= inactive {
            inactive
        } else {
            active + if is_file { self.anon[0] } else { self.file[0] }
        }
    }

    /// Nearness of a refault, relative to all memory: within a quarter, a half, the whole.
    pub(super) fn nearness(self, distance: u64) -> Nearness {
        let total: u64 = self.anon.iter().chain(&self.file).sum();
        match distance {
            d if d <= total / 4 => Nearness::Short,
            d if d <= total / 2 => Nearness::Mid,
            d if d <= total => Nearness::Long,
            _ => Nearness::None,
        }
    }
}

/// Nearness of a refault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nearness {
    /// Within a quarter of memory.
    Short,
    /// Within half of it.
    Mid,
    /// Within all of it.
    Long,
    /// Farther.
    None,
}

/// The counters of refaults of a type: refault, activate, restore.
const COUNTERS: PerType<[VmEvent; 3]> = PerType::new([
    [
        VmEvent::WorkingsetRefaultAnon,
        VmEvent::WorkingsetActivateAnon,
        VmEvent::WorkingsetRestoreAnon,
    ],
    [
        VmEvent::WorkingsetRefaultFile,
        VmEvent::WorkingsetActivateFile,
        VmEvent::WorkingsetRestoreFile,
    ],
]);

impl Mglru {
    /// A folio of a type leaves for good (`lru_gen_eviction`): counts it, and says what it leaves
    /// behind.
    pub(super) fn evicted(
        &mut self,
        folio: FolioId,
        bits: u32,
        lv: LruvecId,
        t: LruType,
    ) -> Shadow {
        let (refs, tier) = (self.refs(folio, bits), self.tier(folio, bits));
        let workingset = match self.config.access_marks {
            AccessMarks::WorkingsetSecond => refs > 0,
            AccessMarks::Counted614 => bits & flag::WORKINGSET != 0,
        };
        let hist = self.config.hist_gens.get();
        let v = &mut self.lruvecs[lv];
        v.rates[t].period_mut(v.min_seq[t], hist).evicted[tier] += 1;
        self.shadow(lv, t, workingset, refs.saturating_sub(1))
    }

    /// Which counter of evictions distances of a type are measured with: `tiered` has one for
    /// each, everybody else one for both.
    #[inline]
    fn clock(&self, t: LruType) -> LruType {
        if self.config.refault_distance == RefaultDistance::Tiered { t } else { ANON }
    }

    /// Shadow that a folio leaves behind; counts the eviction.
    #[inline]
    pub(super) fn shadow(
        &mut self,
        lv: LruvecId,
        t: LruType,
        workingset: bool,
        counted: u32,
    ) -> Shadow {
        let shadow = self.left_behind(lv, t, workingset, counted);
        self.count_evictions(lv, t, 1);
        shadow
    }

    /// The same, without counting.
    #[inline]
    pub(super) fn left_behind(
        &self,
        lv: LruvecId,
        t: LruType,
        workingset: bool,
        counted: u32,
    ) -> Shadow {
        let (node, memcg) = self.node_and_memcg(lv);
        let v = &self.lruvecs[lv];
        let token = match self.config.refault_distance {
            RefaultDistance::Off => v.min_seq[t],
            _ => v.evictions[self.clock(t)],
        };
        self.packing.pack(Unpacked { memcg, node, workingset, counted, token })
    }

    /// Counts evictions, which distances are measured with.
    #[inline]
    pub(super) fn count_evictions(&mut self, lv: LruvecId, t: LruType, n: u64) {
        let clock = self.clock(t);
        self.lruvecs[lv].evictions[clock] += n;
    }

    /// A page comes back whose shadow was found (`lru_gen_refault`).
    #[inline]
    pub(super) fn refault(
        &mut self,
        mem: &mut Memory,
        folio: FolioId,
        shadow: Shadow,
        how: Arrival,
    ) {
        let u = self.packing.unpack(shadow);
        let lv = self.lruvec_of(mem, folio);
        // Of a page that was charged to another group nothing is known here.
        if self.lruvec_at(u.node, u.memcg) != lv {
            return;
        }
        let t = LruType::of(mem.frames.is_file_lru(folio));
        if u.workingset {
            self.note_cost(lv, t, cost612(1, 0));
        }
        let v = &self.lruvecs[lv];
        let min_seq = v.min_seq[t];
        let distance = v.evictions[self.clock(t)].wrapping_sub(u.token) & self.packing.mask;
        let by_distance = self.config.refault_distance != RefaultDistance::Off;
        let recent = if by_distance {
            let p = v.rates[t].period(min_seq, self.config.hist_gens.get());
            distance <= p.evicted.iter().sum()
        } else {
            let (first, span) = self.recent(lv, t);
            self.packing.since(shadow, first) < span
        };
        // Whether a refault of this type does anything.
        let reacts = !by_distance || t == FILE || self.config.anon_reactivate;
        let near = if reacts { self.near(mem, lv, t, distance) } else { Nearness::None };
        if recent || near != Nearness::None || self.config.refault_count == RefaultCount::All {
            mem.count_refault(folio, u.memcg, t == FILE);
        }
        if mem.telling.tracer.wants(TraceKind::SimRefault) {
            let page = mem.telling.refaulting.take();
            let eviction = page.and_then(|p| mem.eviction_of(p));
            // Without distances: how many oldest generations have gone since, and how many may.
            let (distance, workingset_size) = match self.config.refault_distance {
                RefaultDistance::Off => (min_seq.saturating_sub(u.token), 0),
                _ => (distance, self.threshold(mem, lv, t)),
            };
            mem.emit(|| TraceEvent::SimRefault {
                page: page.unwrap_or_default(),
                file: t == FILE,
                eviction,
                distance,
                workingset_size,
                activated: recent,
            });
        }
        if !reacts || (!recent && near == Nearness::None) {
            return;
        }
        let in_fault = how.in_fault == Some(true);
        match self.config.refault_distance {
            RefaultDistance::Off => self.refaulted_recently(mem, lv, t, folio, u, in_fault),
            RefaultDistance::V3 | RefaultDistance::SecondOldest | RefaultDistance::V5_9 => {
                self.refaulted_at(mem, lv, t, folio, (u, near, recent), in_fault);
            }
            RefaultDistance::Tiered => {
                self.refaulted_near(mem, lv, t, folio, (u, near, recent), in_fault);
            }
        }
    }

    /// A refault is recent if its generation is the first, or one of a few before it: it is still
    /// the oldest one, or (6.14) of the youngest four.
    #[inline(always)]
    fn recent(&self, lv: LruvecId, t: LruType) -> (u64, u64) {
        let v = &self.lruvecs[lv];
        match self.config.recent_rule {
            RecentRule::SameMinSeq => (v.min_seq[t], 1),
            RecentRule::Within4OfMax => (v.max_seq, MAX_NR_GENS as u64),
        }
    }

    /// Does what [`Mglru::refault`] does for all pages of a ledger, where shadows hold generations
    /// and no groups, and no observer sees each refault. No generation begins or ends meanwhile.
    pub(super) fn refaults_together(&mut self, mem: &mut Memory, settled: &SettledFaults<'_>) {
        let Some((pending, folios)) = settled.unseen(mem) else { return };
        let (lv, in_fault) = (LruvecId(0), settled.how().in_fault == Some(true));
        let (first, span) = self.recent(lv, ANON);
        let packing = self.packing;
        let (mut all, mut nr_recent) = (0, 0);
        for (f, &folio) in pending.iter().zip(folios) {
            let Some(shadow) = f.shadow() else { continue };
            all += 1;
            let recent = packing.since(shadow, first) < span;
            if recent || packing.was_workingset(shadow) {
                let u = packing.unpack(shadow);
                if u.workingset {
                    self.note_cost(lv, ANON, cost612(1, 0));
                }
                if recent {
                    nr_recent += 1;
                    self.refaulted_recently(mem, lv, ANON, folio, u, in_fault);
                }
            }
        }
        let counts_all = self.config.refault_count == RefaultCount::All;
        mem.count(VmEvent::WorkingsetRefaultAnon, if counts_all { all } else { nr_recent });
        let counts = |s| counts_all || packing.since(s, first) < span;
        let counted = pending.iter().filter(|f| f.shadow().is_some_and(counts));
        mem.tell_of_refaults(counted, settled.entry());
    }

    /// Nearness of a refault by its distance; kernels that know one bound only call it short.
    fn near(&self, mem: &Memory, lv: LruvecId, t: LruType, distance: u64) -> Nearness {
        match self.config.refault_distance {
            RefaultDistance::Off => Nearness::None,
            RefaultDistance::Tiered => self.sizes(mem, lv).nearness(distance),
            _ if distance < self.threshold(mem, lv, t) => Nearness::Short,
            _ => Nearness::None,
        }
    }

    /// The tier of a page with such a history.
    fn tier_then(&self, u: Unpacked) -> Tier {
        let tier = match self.config.access_marks {
            AccessMarks::WorkingsetSecond => tier_of(u.refs()),
            AccessMarks::Counted614 if u.workingset => Tier(3),
            AccessMarks::Counted614 => tier_of(u.counted),
        };
        tier.min(self.last_tier())
    }

    fn note_refaulted(&mut self, lv: LruvecId, t: LruType, tier: Tier) {
        let hist = self.config.hist_gens.get();
        let v = &mut self.lruvecs[lv];
        v.rates[t].period_mut(v.min_seq[t], hist).refaulted[tier] += 1;
    }

    /// A refault that only the averages note.
    fn note_old(&mut self, lv: LruvecId, t: LruType, tier: Tier) {
        let r = &mut self.lruvecs[lv].rates[t];
        r.avg_refaulted[tier] += 1;
        r.avg_total[tier] += 1;
    }

    fn refaulted_recently(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        t: LruType,
        folio: FolioId,
        u: Unpacked,
        in_fault: bool,
    ) {
        let refs = u.refs();
        let memcg = self.node_and_memcg(lv).1;
        let [_, activated, restored] = COUNTERS[t];
        self.note_refaulted(lv, t, self.tier_then(u));
        // 6.1 counts here nothing but refaults; what it protects it counts as activated.
        let counts = self.config.refault_count == RefaultCount::All;
        let activates = match self.config.restore_rule {
            RestoreRule::Refs4Ws | RestoreRule::Refs3All => true,
            RestoreRule::Ws614 => in_fault,
            RestoreRule::Ws72 => in_fault && u.workingset,
        };
        if counts && activates {
            mem.count_in(memcg, activated, 1);
        }
        let (most, nr_frames) = (self.most_counted(), mem.frames.len());
        match self.config.restore_rule {
            RestoreRule::Refs4Ws if in_fault || refs > most => {
                mem.frames.set(folio, flag::WORKINGSET);
                self.counts.set(folio, 0);
            }
            RestoreRule::Refs3All if in_fault || refs >= most => {
                mem.frames.set(folio, flag::WORKINGSET);
                self.counts.raise(folio, most, nr_frames);
            }
            RestoreRule::Ws614 | RestoreRule::Ws72 if u.workingset => {
                mem.frames.set(folio, flag::WORKINGSET)
            }
            // 6.14 gives the count back as well; the first access that follows clears it.
            _ => return,
        }
        mem.count_in(memcg, restored, 1);
    }

    /// Sizes that a distance is compared with.
    fn sizes(&self, mem: &Memory, lv: LruvecId) -> Sizes {
        let v = &self.lruvecs[lv];
        let swap = mem.can_swap(self.node_and_memcg(lv).1);
        Sizes { anon: if swap { v.halves(ANON) } else { [0; 2] }, file: v.halves(FILE) }
    }

    /// The smallest distance of a refault that would not have fitted into memory.
    fn threshold(&self, mem: &Memory, lv: LruvecId, t: LruType) -> u64 {
        let (sizes, is_file) = (self.sizes(mem, lv), t == FILE);
        if self.config.refault_distance != RefaultDistance::V5_9 {
            return sizes.threshold(is_file);
        }
        let [[inactive_anon, active_anon], [inactive_file, active_file]] = [sizes.anon, sizes.file];
        let lists = [inactive_anon, active_anon, inactive_file, active_file];
        let input = ThresholdInput { is_file, lists, swap_left: true, slab_reclaimable: 0 };
        // Classic LRU activates at the threshold itself, too.
        ws_threshold(WsThreshold::V5_9, false, input) + 1
    }

    /// `v3`, `second_oldest` and `v5.9`.
    fn refaulted_at(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        t: LruType,
        folio: FolioId,
        (u, near, recent): (Unpacked, Nearness, bool),
        in_fault: bool,
    ) {
        let memcg = self.node_and_memcg(lv).1;
        let [_, activated, restored] = COUNTERS[t];
        let tier = self.tier_then(u);
        if recent {
            self.note_refaulted(lv, t, tier);
        } else {
            self.note_old(lv, t, tier);
        }
        if near == Nearness::Short {
            mem.count_in(memcg, activated, 1);
            match self.config.refault_distance {
                RefaultDistance::SecondOldest => mem.frames.set(folio, SECOND_OLDEST),
                _ => mem.frames.set(folio, flag::ACTIVE),
            }
        }
        if in_fault || u.refs() > self.most_counted() {
            mem.frames.set(folio, flag::WORKINGSET);
            self.counts.set(folio, 0);
            mem.count_in(memcg, restored, 1);
        }
    }

    /// `tiered`.
    fn refaulted_near(
        &mut self,
        mem: &mut Memory,
        lv: LruvecId,
        t: LruType,
        folio: FolioId,
        (u, near, recent): (Unpacked, Nearness, bool),
        in_fault: bool,
    ) {
        let memcg = self.node_and_memcg(lv).1;
        let [_, activated, restored] = COUNTERS[t];
        let (most, nr_frames, refs) = (self.most_counted(), mem.frames.len(), u.refs());
        let before = self.tier_then(u);
        let mut tier = before;
        if in_fault || refs >= most {
            mem.frames.set(folio, flag::WORKINGSET);
            let counted = match near {
                Nearness::Short if in_fault => refs.min(most),
                Nearness::Short => {
                    mem.frames.set(folio, flag::ACTIVE);
                    0
                }
                _ if recent || near == Nearness::Mid => refs.saturating_sub(1).min(most),
                // One access to its credit, which the workingset flag stands for.
                _ => 0,
            };
            self.counts.raise(folio, counted, nr_frames);
            mem.count_in(memcg, restored, 1);
        }
        if near == Nearness::Short && before == Tier::FIRST {
            mem.frames.set(folio, flag::WORKINGSET);
            self.counts.set(folio, 0);
            mem.count_in(memcg, activated, 1);
            tier = Tier(1);
        }
        if recent && tier == before {
            self.note_refaulted(lv, t, tier);
        } else {
            self.note_old(lv, t, tier);
        }
    }

    /// Puts a folio whose refault was near into the second oldest generation, if it would
    /// start in the oldest.
    pub(super) fn add_second_oldest(&mut self, mem: &mut Memory, folio: FolioId) {
        mem.frames.clear(folio, GEN_MASK);
        let bits = mem.frames.bits(folio);
        if bits & (flag::MLOCKED | flag::UNEVICTABLE) != 0 {
            return self.add(mem, folio, false);
        }
        let lv = self.lruvec_of(mem, folio);
        let v = &self.lruvecs[lv];
        let (min_seq, max_seq) = (v.min_seq[super::lruvec::type_of(bits)], v.max_seq);
        let placing = place::Placing { bits, min_seq, max_seq, first_to_go: false };
        let seq = place::seq_of(self.config.placement, placing).max(min_seq + 1);
        self.put(mem, lv, folio, seq, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_keeps_what_it_was_given() {
        let narrow = Packing { shift: 3, mask: (1 << 29) - 1 };
        let wide = Packing { shift: 27, mask: (1 << 37) - 1 };
        for (workingset, counted) in [(false, 0), (true, 0), (true, 3), (false, 2)] {
            for token in [0, 1, 12_345, narrow.mask] {
                let (memcg, node) = (MemcgId(0), NodeId(0));
                let u = Unpacked { memcg, node, workingset, counted, token };
                assert_eq!(narrow.unpack(narrow.pack(u)), u);
                assert!(narrow.pack(u).0 >> 32 == 0);
                let u = Unpacked { memcg: MemcgId(65_535), node: NodeId(3), ..u };
                assert_eq!(wide.unpack(wide.pack(u)), u);
            }
        }
    }

    /// Pages that a loop over `d` pages holds in the end, of `f` pages of memory for files: it begins with
    /// `h` of them active, beside `stale` active pages that are never used. A page that is missed
    /// is admitted if its distance is below the threshold, else it enters the inactive list. The
    /// frame is taken before the shadow is judged, and an eviction counts itself.
    fn held(d: u64, f: u64, h: u64, stale: u64) -> u64 {
        use std::collections::{BTreeMap, VecDeque};
        let (mut held, mut shadows) = (h, BTreeMap::new());
        let mut active: Vec<bool> = (0..d).map(|page| page < h).collect();
        let mut inactive = VecDeque::new();
        let mut evictions = 0;
        for page in (0..d).cycle().take(60 * d as usize) {
            if active[page as usize] || inactive.contains(&page) {
                continue;
            }
            if held + stale + inactive.len() as u64 == f
                && let Some(victim) = inactive.pop_back()
            {
                shadows.insert(victim, evictions);
                evictions += 1;
            }
            let sizes = Sizes { anon: [0; 2], file: [inactive.len() as u64, held + stale] };
            let distance = shadows.remove(&page).map(|left| evictions - left);
            if distance.is_some_and(|distance| distance < sizes.threshold(true)) {
                active[page as usize] = true;
                held += 1;
            } else {
                inactive.push_front(page);
            }
        }
        held
    }

    /// A loop that does not fit holds 2F - D - 2S - 2 pages, once D - F + 2 of them are held, and
    /// only if D is below 1.5 F - 2: with fewer, nothing ever starts. Without stale pages the
    /// bounds are closed formulas of the throttle; the sizes were worked out beside the posting.
    #[test]
    fn a_throttled_refault_distance_holds_part_of_a_loop() {
        let formula = |d: u64, f: u64, s: u64| 2 * f - d - 2 * s - 2;
        for (d, starts) in [(125, 27), (110, 12), (140, 42)] {
            assert_eq!(starts, d - 100 + 2);
            assert_eq!(held(d, 100, starts - 1, 0), starts - 1, "{d}: one page too few");
        }
        for (d, start, end) in [(125, 27, 73), (110, 12, 88), (140, 45, 58)] {
            assert_eq!((held(d, 100, start, 0), formula(d, 100, 0)), (end, end), "{d}");
        }
        for start in [0, 51, 60] {
            assert_eq!(held(150, 100, start, 0), start, "a loop of 1.5 F never grows");
        }
        assert_eq!((held(110, 100, 15, 10), formula(110, 100, 10)), (68, 68));
        assert_eq!((held(110, 100, 12, 20), formula(110, 100, 20)), (48, 48));
    }

    /// The smaller half decides, active or inactive.
    #[test]
    fn a_refault_competes_with_the_smaller_half() {
        let file = |inactive, active| Sizes { anon: [0; 2], file: [inactive, active] };
        assert_eq!(file(700, 300).threshold(true), 300);
        assert_eq!(file(200, 800).threshold(true), 200);
        let both = Sizes { anon: [100, 400], file: [700, 300] };
        assert_eq!([both.threshold(true), both.threshold(false)], [800, 1400]);
    }

    #[test]
    fn nearness_is_in_quarters_of_memory() {
        let s = Sizes { anon: [0; 2], file: [600, 400] };
        use Nearness::{Long, Mid, None, Short};
        let near = [250, 251, 500, 501, 1000, 1001].map(|d| s.nearness(d));
        assert_eq!(near, [Short, Mid, Mid, Long, Long, None]);
    }
}
