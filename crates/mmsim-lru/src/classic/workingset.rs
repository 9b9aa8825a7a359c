//! Ages, shadows and refaults.
//!
//! Each lruvec has an age: the number of pages that left its inactive list, by eviction
//! or by promotion. An evicted page takes the age along in its shadow. When it refaults,
//! the advance since then is the refault distance: the number of pages by which the
//! inactive list was too short to keep it. If that many pages can be found elsewhere, the
//! page is promoted at once, to compete with those.
//!
//! Source: Linux 6.12 mm/workingset.c; older rules: docs/policies.md.

use super::config::{AgeModel, BalanceModel, EvictWithoutMemcg, InactiveRatioScope};
use super::formulas::{self, ThresholdInput};
use super::{Classic, LruScope};
use crate::index::{ANON, FILE, LruType, LruvecId, PerType};
use mmsim_core::backing::Shadow;
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::time::SimDuration;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{TraceEvent, TraceKind};
use mmsim_core::memory::{Memory, NodeStatItem, PendingFault};
use mmsim_core::phys::frames::{FolioId, FrameKind, flag};
use mmsim_core::policy::Reclaimer;

/// The counters of activated refaults, anonymous and file.
const ACTIVATIONS: PerType<NodeStatItem> =
    PerType::new([NodeStatItem::WorkingsetActivateAnon, NodeStatItem::WorkingsetActivateFile]);

/// Contents of a shadow. On a machine with one scope and one group: 1 bit of history and 31 of age,
/// exact while fewer than 2^31 evictions lie between; else 1 bit of history, 16 of group, 8 of
/// scope and 39 of age.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unpacked {
    workingset: bool,
    memcg: MemcgId,
    scope: LruScope,
    age: u64,
}

/// Layout of shadows on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packing {
    age_shift: u32,
    age_mask: u64,
}

impl Packing {
    pub(super) fn of(mem: &Memory) -> Self {
        let age_shift = if mem.shadow_bits() > 32 { 25 } else { 1 };
        Packing { age_shift, age_mask: (1 << (mem.shadow_bits() - age_shift)) - 1 }
    }
    fn pack(self, u: Unpacked) -> Shadow {
        let whose = u64::from(u.memcg.0) << 1 | u64::from(u.scope.0) << 17;
        debug_assert!(self.age_shift == 25 || whose == 0);
        self.stamp(Shadow(whose), u.workingset, u.age)
    }
    /// Puts history and age on a shadow that says whose it is.
    #[inline]
    fn stamp(self, whose: Shadow, workingset: bool, age: u64) -> Shadow {
        Shadow(whose.0 | u64::from(workingset) | (age & self.age_mask) << self.age_shift)
    }
    #[inline(always)]
    fn unpack(self, s: Shadow) -> Unpacked {
        let wide = self.age_shift == 25;
        Unpacked {
            workingset: s.0 & 1 != 0,
            memcg: MemcgId(if wide { (s.0 >> 1) as u16 } else { 0 }),
            scope: LruScope(if wide { (s.0 >> 17) as u8 } else { 0 }),
            age: self.age(s),
        }
    }
    #[inline(always)]
    fn age(self, s: Shadow) -> u64 {
        s.0 >> self.age_shift
    }
    /// The test for shadows that are within a distance at an age.
    #[inline]
    fn near(self, age: u64, threshold: u64) -> Near {
        Near {
            now: age << self.age_shift | ((1 << self.age_shift) - 1),
            mask: self.age_mask << self.age_shift,
            most: threshold.min(self.age_mask) << self.age_shift,
        }
    }
}

/// [`formulas::refault_distance`] against a threshold, on shadows as they are: everything is shifted
/// to where their ages are, and what is below them never borrows from the age.
#[derive(Clone, Copy)]
struct Near {
    now: u64,
    mask: u64,
    most: u64,
}

impl Near {
    #[inline(always)]
    fn is(self, s: Shadow) -> bool {
        self.now.wrapping_sub(s.0) & self.mask <= self.most
    }
}

/// Departure of the folios of a type from an lruvec: the age that they move, and the shadow that
/// they leave behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    lv: LruvecId,
    /// Whose age of the lruvec.
    age: LruType,
    whose: Shadow,
    /// 1 if the age that is left behind includes the folio itself.
    own: u64,
    leaves: bool,
    /// Flags of folios that leave nothing and move nothing.
    skips: u32,
}

/// Shadows of folios that leave one after the other, for whom the age was moved beforehand.
pub(super) struct Stamps {
    packing: Packing,
    whose: Shadow,
    age: u64,
}

impl Stamps {
    /// The shadow of the next folio, which has these flags.
    #[inline(always)]
    pub(super) fn next(&mut self, bits: u32) -> Shadow {
        let shadow = self.packing.stamp(self.whose, bits & flag::WORKINGSET != 0, self.age);
        self.age += 1;
        shadow
    }
}

impl Classic {
    /// Moves the age for `n` folios that leave, as [`Classic::leave`] does for each, and returns
    /// their shadows. `None`, and the age stays: some of them would leave none.
    #[inline]
    pub(super) fn stamps(&mut self, l: &Leaving, n: u64) -> Option<Stamps> {
        if l.skips != 0 || !l.leaves {
            return None;
        }
        let age = self.lruvecs[l.lv].age[l.age] + l.own;
        self.advance_age(l.lv, l.age, n);
        Some(Stamps { packing: self.packing, whose: l.whose, age })
    }

    /// Contents of a shadow: the age at the eviction, and true if the page had been active.
    pub fn shadow_says(mem: &Memory, shadow: Shadow) -> (u64, bool) {
        let packing = Packing::of(mem);
        let s = packing.unpack(shadow);
        (s.age, s.workingset)
    }

    /// The age counter that a type moves, if the model has one for it.
    #[inline(always)]
    fn age_of(&self, file: bool) -> Option<LruType> {
        match self.config.age_model {
            AgeModel::Unified => Some(ANON),
            AgeModel::PerType => Some(LruType::of(file)),
            AgeModel::FileOnly => file.then_some(FILE),
        }
    }

    /// Advances an age of an lruvec and of its ancestors.
    pub(super) fn advance_age(&mut self, lv: LruvecId, age: LruType, n: u64) {
        self.lruvecs[lv].age[age] += n;
        if !self.ids.only_root() {
            self.advance_above(lv, age, n);
        }
    }

    #[inline(never)]
    fn advance_above(&mut self, lv: LruvecId, age: LruType, n: u64) {
        let mut level = lv;
        while let Some(above) = self.above(level) {
            self.lruvecs[above].age[age] += n;
            level = above;
        }
    }

    /// Pages that a scan puts back on an active list, or promotes.
    pub(super) fn age_by_scan(&mut self, lv: LruvecId, n: u64) {
        if n > 0 && self.config.age_model == AgeModel::Unified {
            self.advance_age(lv, ANON, n);
        }
    }

    /// An activation by two accesses through system calls. Only file pages count, except
    /// in the unified model.
    pub(super) fn age_by_access(&mut self, mem: &Memory, folio: FolioId) {
        let file = mem.frames.is_file_lru(folio);
        if file || self.config.age_model == AgeModel::Unified {
            let lv = self.lruvec_of(mem, folio);
            if let Some(age) = self.age_of(file) {
                self.advance_age(lv, age, 1);
            }
        }
    }

    /// Departure of folios of a type from an lruvec. `None`: without a trace.
    pub(super) fn leaving(
        &self,
        file: bool,
        scope: LruScope,
        memcg: MemcgId,
        by: Reclaimer,
    ) -> Option<Leaving> {
        let c = &self.config;
        let moves = file || c.anon_workingset || c.age_model == AgeModel::Unified;
        if !moves {
            return None;
        }
        let memcg = match by {
            Reclaimer::Limit(m) | Reclaimer::Proactive(m) => m,
            _ if c.age_model == AgeModel::Unified => MemcgId(0),
            _ => memcg,
        };
        let whose = self.packing.pack(Unpacked { workingset: false, memcg, scope, age: 0 });
        Some(Leaving {
            lv: self.lruvec_at(scope, memcg),
            age: self.age_of(file)?,
            whose,
            own: c.shadow_e_includes_self.into(),
            leaves: file || c.anon_workingset && c.swapcache_shadows,
            // Every page belongs to some group here: the root is one. The kernel's pages
            // without a group were read ahead speculatively.
            skips: if c.evict_without_memcg == EvictWithoutMemcg::Skip && !file {
                flag::READAHEAD
            } else {
                0
            },
        })
    }

    /// A folio with these flags leaves: moves the age and makes the shadow.
    #[inline]
    pub(super) fn leave(&mut self, l: &Leaving, bits: u32) -> Option<Shadow> {
        if bits & l.skips != 0 {
            return None;
        }
        let age = &mut self.lruvecs[l.lv].age[l.age];
        let before = *age;
        *age += 1;
        if !self.ids.only_root() {
            self.advance_above(l.lv, l.age, 1);
        }
        let stamp = || self.packing.stamp(l.whose, bits & flag::WORKINGSET != 0, before + l.own);
        l.leaves.then(stamp)
    }

    /// The eviction of a folio.
    pub(super) fn evicted(
        &mut self,
        mem: &Memory,
        folio: FolioId,
        by: Reclaimer,
    ) -> Option<Shadow> {
        // Shared memory that was never written goes without a trace.
        let file = match mem.frames.kind(folio) {
            FrameKind::Shmem => return None,
            kind => kind == FrameKind::File,
        };
        let l = self.leaving(file, self.scope_of(mem, folio), mem.frames.memcg(folio), by)?;
        self.leave(&l, mem.frames.bits(folio))
    }

    /// The largest distance that activates a page which was evicted for the limit of a group.
    #[inline(always)]
    fn threshold(&self, mem: &Memory, is_file: bool, scope: LruScope, memcg: MemcgId) -> u64 {
        formulas::ws_threshold(
            self.config.ws_threshold,
            self.config.ws_v1_index_bug,
            ThresholdInput {
                is_file,
                lists: self.seen_sizes(mem, scope, memcg),
                swap_left: mem.can_swap(memcg),
                slab_reclaimable: mem.kernel.slab_frames.len() as u64,
            },
        )
    }

    /// A page comes back whose shadow was found.
    #[inline(always)] // For `faults_settled`.
    pub(super) fn refault(&mut self, mem: &mut Memory, folio: FolioId, shadow: Shadow) {
        self.flush_stats(mem);
        let file = mem.frames.is_file_lru(folio);
        let memcg = mem.frames.memcg(folio);
        mem.count_refault(folio, memcg, file);
        let packing = self.packing;
        let s = packing.unpack(shadow);
        let Some(age) = self.age_of(file) else { return };
        // Nothing is known of a group that was removed.
        if s.memcg != MemcgId(0) && !mem.memcgs.is_online(s.memcg) {
            return;
        }
        let now = self.lruvecs[self.lruvec_at(s.scope, s.memcg)].age[age];
        let distance = formulas::refault_distance(now, s.age, packing.age_mask);
        let threshold = self.threshold(mem, file, s.scope, s.memcg);
        let activated = distance <= threshold;
        if mem.telling.tracer.wants(TraceKind::SimRefault) {
            tell_of_refault(mem, file, distance, threshold, activated);
        }
        if activated {
            self.refault_active(mem, folio, age, s.workingset);
        }
    }

    /// Does for all pages of a ledger what [`Classic::refault`] does for one, on a machine of one
    /// group and one scope, without an observer of each. None is on a list yet, so the threshold,
    /// which depends on the sizes of lists, is the same for all.
    pub(super) fn refaults_together(
        &mut self,
        mem: &mut Memory,
        pending: &[PendingFault],
        folios: &[FolioId],
        entry: SimDuration,
    ) {
        let Some(age) = self.age_of(false) else {
            let n = pending.iter().map(|f| u64::from(f.had_shadow)).sum();
            mem.count(VmEvent::WorkingsetRefaultAnon, n);
            return mem.tell_of_refaults(pending.iter().filter(|f| f.had_shadow), entry);
        };
        let packing = self.packing;
        let threshold = self.threshold(mem, false, LruScope(0), MemcgId(0));
        let lv = self.lruvec_at(LruScope(0), MemcgId(0));
        // Which of them are near, a bit each, and how many left a shadow: as good as random, so
        // without a branch.
        let near = |pending: &[PendingFault], now: u64| {
            let near = packing.near(now, threshold);
            pending.iter().rev().fold((0_u64, 0), |(bits, n), f| {
                let bit = u64::from(f.had_shadow & near.is(f.left));
                (bits << 1 | bit, n + u64::from(f.had_shadow))
            })
        };
        let mut judged = 0;
        let (mut active, n) = near(pending, self.lruvecs[lv].age[age]);
        while active != 0 {
            judged += active.trailing_zeros() as usize + 1;
            let (f, folio) = (&pending[judged - 1], folios[judged - 1]);
            mem.go_to_fault(f, entry);
            self.refault_active(mem, folio, age, packing.unpack(f.left).workingset);
            // That may have moved the age.
            active = near(&pending[judged..], self.lruvecs[lv].age[age]).0;
        }
        mem.count(VmEvent::WorkingsetRefaultAnon, n);
        mem.tell_of_refaults(pending.iter().filter(|f| f.had_shadow), entry);
    }

    /// Activated refaults of a group, as far as reclaim can see them. Groups count theirs
    /// themselves, and reclaim brings them up to date before it looks (`mem_cgroup_flush_stats`);
    /// without groups the counters are the node's, to which CPUs add with delay.
    pub(super) fn activations(
        &self,
        mem: &Memory,
        scope: LruScope,
        memcg: MemcgId,
    ) -> PerType<u64> {
        let of = |t| self.activations_of(mem, scope, memcg, t);
        PerType::new([of(ANON), of(FILE)])
    }

    /// The same of one type.
    pub(super) fn activations_of(
        &self,
        mem: &Memory,
        scope: LruScope,
        memcg: MemcgId,
        t: LruType,
    ) -> u64 {
        if self.of_nodes() {
            return mem.node_page_state(self.node_of(mem, scope), ACTIVATIONS[t]);
        }
        self.seen_activations(self.lruvec_at(scope, memcg))[t]
    }

    /// A refault of an lruvec was activated. Groups above count it too, but where reclaim looks at
    /// single lruvecs.
    fn note_activation(&mut self, lv: LruvecId, t: LruType) {
        let own = self.config.inactive_ratio_scope == InactiveRatioScope::Lruvec;
        let mut level = Some(lv);
        while let Some(at) = level {
            self.lruvecs[at].activations[t] += 1;
            level = self.above(at).filter(|_| !own);
        }
    }

    /// There is one lruvec for each node.
    fn of_nodes(&self) -> bool {
        self.ids.only_root() && !self.by_zone
    }

    /// A little more memory would have kept the page: it competes with the active ones.
    #[inline(never)] // Few refaults are recent.
    fn refault_active(&mut self, mem: &mut Memory, folio: FolioId, age: LruType, workingset: bool) {
        use VmEvent::{
            WorkingsetActivateAnon, WorkingsetActivateFile, WorkingsetRestoreAnon,
            WorkingsetRestoreFile,
        };
        let bits = if workingset { flag::ACTIVE | flag::WORKINGSET } else { flag::ACTIVE };
        mem.frames.set(folio, bits);
        let file = mem.frames.is_file_lru(folio);
        let memcg = mem.frames.memcg(folio);
        let lv = self.lruvec_of(mem, folio);
        self.advance_age(lv, age, 1);
        mem.count_in(memcg, if file { WorkingsetActivateFile } else { WorkingsetActivateAnon }, 1);
        // One counter for both types is that of file pages.
        let counter = LruType::of(file || !self.config.anon_activations_open_deactivation());
        if self.of_nodes() {
            let node = self.node_of(mem, self.scope_of_lruvec(lv));
            mem.inc_node_state(node, ACTIVATIONS[counter]);
        } else {
            self.note_activation(lv, counter);
        }
        if workingset {
            mem.count_in(
                memcg,
                if file { WorkingsetRestoreFile } else { WorkingsetRestoreAnon },
                1,
            );
            let counts = match self.config.balance_model {
                BalanceModel::Rotate => false,
                BalanceModel::Cost58 => file,
                BalanceModel::Cost59 | BalanceModel::Cost612 | BalanceModel::Cost73 => true,
            };
            if counts {
                self.note_cost(mem, lv, file, 1, 0);
            }
        }
    }
}

/// Lets an observer see a refault.
#[cold]
#[inline(never)]
fn tell_of_refault(mem: &mut Memory, file: bool, distance: u64, threshold: u64, activated: bool) {
    let page = mem.telling.refaulting.take();
    let eviction = page.and_then(|p| mem.eviction_of(p));
    mem.emit(|| TraceEvent::SimRefault {
        page: page.unwrap_or_default(),
        file,
        eviction,
        distance,
        workingset_size: threshold,
        activated,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_keeps_what_it_was_given() {
        let wide = Packing { age_shift: 25, age_mask: (1 << 39) - 1 };
        for age in [0, 1, 12_345, wide.age_mask] {
            let u = Unpacked { workingset: true, memcg: MemcgId(65_535), scope: LruScope(3), age };
            assert_eq!(wide.unpack(wide.pack(u)), u);
        }
        let narrow = Packing { age_shift: 1, age_mask: (1 << 31) - 1 };
        let u = |age| Unpacked { workingset: false, memcg: MemcgId(0), scope: LruScope(0), age };
        for age in [0, 1, 12_345, narrow.age_mask] {
            assert_eq!(narrow.unpack(narrow.pack(u(age))), u(age));
            assert!(narrow.pack(u(age)).0 >> 32 == 0);
        }
        // Past the end the age wraps, and the distance does not notice.
        assert_eq!(narrow.unpack(narrow.pack(u(narrow.age_mask + 5))).age, 4);
        assert_eq!(formulas::refault_distance(narrow.age_mask + 10, 4, narrow.age_mask), 5);
    }
}
