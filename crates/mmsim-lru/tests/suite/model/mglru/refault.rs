//! Shadows, refaults, and refault distances.

use super::{ANON, Distance, FILE, Naive, Page, Restore, Rule};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shadow {
    /// The oldest generation at the eviction.
    pub(crate) seq: u64,
    /// References less one, at least 0.
    pub(crate) low: u32,
    pub(crate) workingset: bool,
    /// Evictions before this one.
    pub(crate) evictions: u64,
}

/// Active and inactive pages by type, as far as they can be evicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) active: [u64; 2],
    pub(crate) inactive: [u64; 2],
    pub(crate) can_swap: bool,
}

/// True if a page of a type that comes back at a distance would have stayed with more room: the
/// active pages, or all that are not, whichever are fewer, might have been given up for it.
pub(crate) fn eligible(s: &Sizes, kind: usize, distance: u64) -> bool {
    let swap = u64::from(s.can_swap);
    let active = s.active[FILE] + swap * s.active[ANON];
    let inactive = [swap * s.inactive[ANON], s.inactive[FILE]];
    if active >= inactive[ANON] + inactive[FILE] {
        distance < inactive[ANON] + inactive[FILE]
    } else {
        distance < active + inactive[1 - kind]
    }
}

/// Quarter, half, whole of memory, more: 0 to 3.
pub(crate) fn tier_of_distance(total: u64, distance: u64) -> usize {
    [total / 4, total / 2, total].iter().position(|&most| distance <= most).unwrap_or(3)
}

impl Naive {
    /// Evicts a page as far as counters are concerned.
    pub(super) fn shadow_of(&mut self, page: Page) -> Shadow {
        let f = &self.folios[&page];
        let (kind, refs, tier) = (f.kind(), self.refs(f), self.tier_of(f));
        let workingset = if self.config.rework { f.workingset } else { refs > 0 };
        let clock = self.clock(kind);
        let shadow = Shadow {
            seq: self.min_seq[kind],
            low: refs.saturating_sub(1),
            workingset,
            evictions: self.evictions[clock],
        };
        self.evictions[clock] += 1;
        self.evicted[kind][tier] += 1;
        shadow
    }

    /// A page that has a shadow comes back, and is not added yet.
    pub(super) fn refault(&mut self, page: Page, shadow: Shadow, in_fault: bool) {
        let kind = self.folios[&page].kind();
        match self.config.distance {
            Distance::V3 | Distance::SecondOldest => {
                return self.refault_v3(page, kind, shadow, in_fault);
            }
            Distance::Tiered => return self.refault_tiered(page, kind, shadow, in_fault),
            Distance::Off => {}
        }
        let recent = if self.config.recent_within_4 {
            self.max_seq - shadow.seq < 4
        } else {
            shadow.seq == self.min_seq[kind]
        };
        if recent || self.config.counts_all_refaults {
            self.count_kind(["workingset_refault_anon", "workingset_refault_file"], kind);
        }
        self.mark(if recent { Rule::RecentRefault } else { Rule::OldRefault });
        if !recent {
            return;
        }
        let rework = self.config.rework;
        let refs = shadow.low + u32::from(rework || shadow.workingset);
        let tier = self.tier(refs, shadow.workingset);
        self.refaulted[kind][tier] += 1;
        if self.config.counts_all_refaults && (!rework || in_fault) {
            self.count_kind(["workingset_activate_anon", "workingset_activate_file"], kind);
        }
        let f = self.folios.get_mut(&page).unwrap();
        let restored = match self.config.restore {
            Restore::Refs4 => in_fault || refs == 4,
            Restore::Refs3 => in_fault || refs >= 3,
            Restore::Workingset => shadow.workingset,
        };
        match self.config.restore {
            Restore::Workingset if !restored => f.refs_bits = refs - 1,
            Restore::Refs3 if restored => (f.workingset, f.refs_bits) = (true, 3),
            _ => f.workingset |= restored,
        }
        if restored {
            self.mark(if in_fault { Rule::RestoredByFault } else { Rule::RestoredByRefs });
            self.count_kind(["workingset_restore_anon", "workingset_restore_file"], kind);
        }
    }

    fn both_sizes(&self) -> Sizes {
        let [a, f] = [self.sizes(ANON), self.sizes(FILE)];
        let can_swap = self.free_slots >= 64;
        Sizes { active: [a[0], f[0]], inactive: [a[1], f[1]], can_swap }
    }

    fn refault_v3(&mut self, page: Page, kind: usize, shadow: Shadow, in_fault: bool) {
        let sp = self.evictions[ANON] - shadow.evictions;
        let recent = sp <= self.evicted[kind].iter().sum();
        let eligible = eligible(&self.both_sizes(), kind, sp);
        self.mark(if eligible { Rule::DistanceNear } else { Rule::DistanceFar });
        if recent || eligible || self.config.counts_all_refaults {
            self.count_kind(["workingset_refault_anon", "workingset_refault_file"], kind);
        }
        if !recent && !eligible {
            return;
        }
        let refs = shadow.low + u32::from(shadow.workingset);
        let tier = self.tier(refs, shadow.workingset);
        if recent {
            self.refaulted[kind][tier] += 1;
        } else {
            self.avg_refaulted[kind][tier] += 1;
            self.avg_total[kind][tier] += 1;
        }
        let f = self.folios.get_mut(&page).unwrap();
        match self.config.distance {
            Distance::SecondOldest => f.second_oldest = eligible,
            _ => f.active |= eligible,
        }
        let restored = in_fault || refs == 4;
        f.workingset |= restored;
        if eligible {
            self.count_kind(["workingset_activate_anon", "workingset_activate_file"], kind);
        }
        if restored {
            self.count_kind(["workingset_restore_anon", "workingset_restore_file"], kind);
        }
    }

    fn refault_tiered(&mut self, page: Page, kind: usize, shadow: Shadow, in_fault: bool) {
        let sp = self.evictions[self.clock(kind)] - shadow.evictions;
        let s = self.both_sizes();
        let swap = u64::from(s.can_swap);
        let total = s.active[FILE] + s.inactive[FILE] + swap * (s.active[ANON] + s.inactive[ANON]);
        let distance = tier_of_distance(total, sp);
        let recent = sp <= self.evicted[kind].iter().sum();
        if recent || distance < 3 || self.config.counts_all_refaults {
            self.count_kind(["workingset_refault_anon", "workingset_refault_file"], kind);
        }
        if !recent && distance == 3 {
            return;
        }
        let refs = shadow.low + u32::from(shadow.workingset);
        let tier = self.tier(refs, shadow.workingset);
        let mut booked = tier;
        let f = self.folios.get_mut(&page).unwrap();
        if in_fault || refs >= 3 {
            if distance == 0 {
                f.workingset = true;
                f.active |= !in_fault;
                f.refs_bits = if in_fault { refs.min(3) } else { f.refs_bits };
            } else if recent || distance == 1 {
                (f.workingset, f.refs_bits) = (true, shadow.low.min(3));
            } else {
                // One reference to its credit.
                (f.workingset, f.refs_bits) = (true, 0);
            }
            self.count_kind(["workingset_restore_anon", "workingset_restore_file"], kind);
        }
        if distance == 0 && tier == 0 {
            self.folios.get_mut(&page).unwrap().workingset = true;
            self.count_kind(["workingset_activate_anon", "workingset_activate_file"], kind);
            booked = 1;
        }
        if recent && booked == tier {
            self.refaulted[kind][booked] += 1;
        } else {
            self.avg_refaulted[kind][booked] += 1;
            self.avg_total[kind][booked] += 1;
        }
    }
}
