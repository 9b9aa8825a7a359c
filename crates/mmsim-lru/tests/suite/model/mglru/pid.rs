//! The controller that compares refault rates, and the carrying over of its counters.

use super::{ANON, FILE, LAZY, Naive, Rule, slot};

/// Refaults, total, gain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) refaulted: u64,
    pub(crate) total: u64,
    pub(crate) gain: u64,
}

/// True if the process value refaults so little, against the set point, that it may be evicted.
pub(crate) fn positive(sp: Position, pv: Position) -> bool {
    pv.refaulted < 64
        || pv.refaulted * (sp.total + 64) * sp.gain <= (sp.refaulted + 1) * pv.total * pv.gain
}

impl Naive {
    fn position(&self, kind: usize, tiers: std::ops::Range<usize>, gain: u64) -> Position {
        let mut p = Position { refaulted: 0, total: 0, gain };
        for t in tiers {
            p.refaulted += self.avg_refaulted[kind][t] + self.refaulted[kind][t];
            p.total += self.avg_total[kind][t] + self.evicted[kind][t] + self.protected[kind][t];
        }
        p
    }

    /// The last tier of a type before the first that is not positive.
    fn limit(&self, kind: usize, sp: Position, gain: u64) -> usize {
        let stops = |&t: &usize| !positive(sp, self.position(kind, t..t + 1, gain));
        (1..4).find(stops).unwrap_or(4) - 1
    }

    /// The limit by the type's own first tier.
    pub(crate) fn limit_within(&self, kind: usize) -> usize {
        let [sp, pv] = self.config.tier_gain;
        self.limit(kind, self.position(kind, 0..1, sp), pv)
    }

    /// The type to scan, and, unless it is chosen within the type, the limit.
    pub(crate) fn type_to_scan(&mut self, swappiness: u64) -> (usize, Option<usize>) {
        let gain = [swappiness, 200 - swappiness];
        let tiers = if self.config.type_by_all_tiers { 0..4 } else { 0..1 };
        let sp = self.position(ANON, tiers.clone(), gain[ANON]);
        let pv = self.position(FILE, tiers, gain[FILE]);
        let kind = if positive(sp, pv) { FILE } else { ANON };
        if kind == ANON {
            self.mark(Rule::AnonByRates);
        }
        if self.config.type_by_all_tiers {
            return (kind, None);
        }
        let other = self.position(1 - kind, 0..1, gain[1 - kind]);
        let limit = self.limit(kind, other, gain[kind]);
        if limit < 3 {
            self.mark(Rule::TierByRates);
        }
        (kind, Some(limit))
    }

    /// A period of a type is over: half of its counters, with half of those before, go on.
    pub(crate) fn carry_over(&mut self, kind: usize) {
        for t in 0..4 {
            let p = self.position(kind, t..t + 1, 0);
            self.avg_refaulted[kind][t] = p.refaulted / 2;
            self.avg_total[kind][t] = p.total / 2;
        }
        self.refaulted[kind] = [0; 4];
        self.evicted[kind] = [0; 4];
        self.protected[kind] = [0; 4];
    }

    /// The oldest generations advance past those whose lists are empty; true if one did.
    pub(crate) fn advance(&mut self, can_swap: bool) -> bool {
        let mut next = self.min_seq;
        let kinds = if can_swap { ANON..FILE + 1 } else { FILE..FILE + 1 };
        for kind in kinds.clone() {
            while next[kind] + 2 <= self.max_seq && self.is_empty(next[kind], kind) {
                if kind == FILE && !self.lists[slot(next[kind])][LAZY].is_empty() {
                    self.mark(Rule::Stranded);
                }
                next[kind] += 1;
            }
        }
        if can_swap && self.config.coupled {
            next[ANON] = next[ANON].min(next[FILE]);
            next[FILE] = next[ANON].max(self.min_seq[FILE]);
        }
        let mut advanced = false;
        for kind in kinds {
            if next[kind] != self.min_seq[kind] {
                self.carry_over(kind);
                self.min_seq[kind] = next[kind];
                advanced = true;
            }
        }
        advanced
    }

    fn is_empty(&self, seq: u64, kind: usize) -> bool {
        let lists = &self.lists[slot(seq)];
        let lazy_too = kind == FILE && self.config.lazyfree.repaired();
        lists[kind].is_empty() && (!lazy_too || lists[LAZY].is_empty())
    }
}
