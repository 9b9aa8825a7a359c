//! Refault rates, and what is compared by them.
//!
//! For each type and tier: how many pages of the oldest generation were evicted, how many were
//! protected, how many came back while it still was the oldest, and moving averages of older
//! periods. Two positions are compared like set point and process value of a controller that
//! knows a proportional and an integral term: what refaults less, weighted by gains, may be
//! evicted.
//!
//! Source: Linux 6.12 mm/vmscan.c (`read_ctrl_pos`, `positive_ctrl_err`, `reset_ctrl_pos`,
//! `get_tier_idx`, `get_type_to_scan`).

use super::config::{MglruConfig, TierGain, TypeRule};
use crate::classic::formulas::CostState;
use crate::index::{ANON, FILE, LruType, MAX_NR_TIERS, PerTier, PerType, Tier};
use mmsim_core::base::settings::OrNumber::{Number, Word};

/// Refaults below which a position may be evicted without a comparison, and the amount that
/// makes a set point hard to beat while little is known of it (`MIN_LRU_BATCH`).
pub const MIN_LRU_BATCH: u64 = 64;
/// The largest swappiness.
pub const MAX_SWAPPINESS: u64 = 200;

/// The tier of a folio with `refs` counted accesses through descriptors (`lru_tier_from_refs`).
#[inline]
pub const fn tier_of(refs: u32) -> Tier {
    // The binary logarithm of refs + 1, rounded up.
    Tier((32 - refs.leading_zeros()) as u8)
}

/// One side of a comparison (`struct ctrl_pos`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// Pages that came back.
    pub refaulted: u64,
    /// Pages that could have.
    pub total: u64,
    /// Weight.
    pub gain: u64,
}

/// True if `pv` refaults so little, compared with `sp`, that it may be evicted.
#[inline]
pub fn may_evict(sp: Position, pv: Position) -> bool {
    // Numbers are of pages since the last few generations: their products fit into 128 bits.
    let left = u128::from(pv.refaulted) * u128::from(sp.total + MIN_LRU_BATCH);
    let right = u128::from(sp.refaulted + 1) * u128::from(pv.total);
    pv.refaulted < MIN_LRU_BATCH || left * u128::from(sp.gain) <= right * u128::from(pv.gain)
}

/// Counters of one period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Period {
    /// Evicted pages, by tier.
    pub evicted: PerTier<u64>,
    /// Pages that came back, by tier.
    pub refaulted: PerTier<u64>,
    /// Pages protected for their tier; none of tier 0 before 6.14.
    pub protected: PerTier<u64>,
}

/// Refault rates of one type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// The periods that are kept, the current one at the place of the oldest generation.
    periods: [Period; 4],
    /// Moving averages.
    pub avg_refaulted: PerTier<u64>,
    /// See `avg_refaulted`.
    pub avg_total: PerTier<u64>,
}

impl Rates {
    /// The counters of a period, by sequence number and how many are kept.
    #[inline]
    pub fn period(&self, seq: u64, hist_gens: usize) -> &Period {
        &self.periods[seq as usize % hist_gens]
    }
    /// The same, to count.
    #[inline]
    pub fn period_mut(&mut self, seq: u64, hist_gens: usize) -> &mut Period {
        &mut self.periods[seq as usize % hist_gens]
    }
    /// Position of one tier.
    pub fn position(&self, min_seq: u64, hist_gens: usize, tier: Tier, gain: u64) -> Position {
        let p = self.period(min_seq, hist_gens);
        Position {
            refaulted: self.avg_refaulted[tier] + p.refaulted[tier],
            total: self.avg_total[tier] + p.evicted[tier] + p.protected[tier],
            gain,
        }
    }
    /// Position of all tiers together.
    pub fn sum(&self, min_seq: u64, hist_gens: usize, gain: u64) -> Position {
        let tiers = Tier::all().map(|t| self.position(min_seq, hist_gens, t, gain));
        tiers.fold(Position { gain, ..Position::default() }, |a, p| Position {
            refaulted: a.refaulted + p.refaulted,
            total: a.total + p.total,
            gain,
        })
    }
    /// The oldest generation moves on from `min_seq`: its period goes into the averages.
    pub fn carry_over(&mut self, min_seq: u64, hist_gens: usize) {
        let p = *self.period(min_seq, hist_gens);
        for t in Tier::all() {
            self.avg_refaulted[t] = (self.avg_refaulted[t] + p.refaulted[t]) / 2;
            self.avg_total[t] = (self.avg_total[t] + p.evicted[t] + p.protected[t]) / 2;
        }
        if hist_gens == 1 {
            self.forget(min_seq, hist_gens);
        }
    }
    /// A period begins anew.
    pub fn forget(&mut self, seq: u64, hist_gens: usize) {
        *self.period_mut(seq, hist_gens) = Period::default();
    }
}

/// The type of which classic LRU would scan more pages, by what reclaim has cost.
pub fn by_cost(cost: &CostState, pages: PerType<u64>, swappiness: u64) -> LruType {
    let f = cost.fractions(swappiness).fraction;
    if f[ANON] * pages[ANON] > f[FILE] * pages[FILE] { ANON } else { FILE }
}

/// The refault rates of both types with what reading them takes.
#[derive(Clone, Copy, Debug)]
pub struct Control<'a> {
    /// Rates of anonymous and of file pages.
    pub rates: PerType<&'a Rates>,
    /// Oldest generations.
    pub min_seq: PerType<u64>,
    /// Knobs.
    pub config: &'a MglruConfig,
    /// log2 of the pages that a page stands for: batches are those of the larger machine.
    pub scale_shift: u32,
}

impl Position {
    /// Counts of `1 << shift` times as many pages.
    fn scaled(self, shift: u32) -> Position {
        let Position { refaulted, total, gain } = self;
        Position { refaulted: refaulted << shift, total: total << shift, gain }
    }
}

impl Control<'_> {
    fn position(&self, t: LruType, tier: Tier, gain: u64) -> Position {
        let hist = self.config.hist_gens.get();
        self.rates[t].position(self.min_seq[t], hist, tier, gain).scaled(self.scale_shift)
    }

    /// The last tier that may be evicted, compared with a set point.
    fn limit(&self, t: LruType, sp: Position, gain: u64) -> Tier {
        let worse = |&k: &u8| !may_evict(sp, self.position(t, Tier(k), gain));
        Tier((1..MAX_NR_TIERS as u8).find(worse).unwrap_or(MAX_NR_TIERS as u8) - 1)
    }

    /// The last tier of a type that may be evicted, compared with its first (`get_tier_idx`).
    pub fn own_limit(&self, t: LruType) -> Tier {
        let (sp, pv) = match self.config.tier_gain {
            Word(TierGain::OneToTwo) => (1, 2),
            Word(TierGain::TwoToThree) => (2, 3),
            Number(per_cent) => (100, per_cent.into()),
        };
        self.limit(t, self.position(t, Tier::FIRST, sp), pv)
    }

    /// The type to evict, and the last of its tiers that may be (`get_type_to_scan`). `None`
    /// for the limit: [`Control::own_limit`] says it.
    pub fn choose(&self, swappiness: u64) -> (LruType, Option<Tier>) {
        let gain = PerType::new([swappiness, MAX_SWAPPINESS - swappiness]);
        match self.config.type_rule {
            TypeRule::FirstTier => {
                let at = |t: LruType| self.position(t, Tier::FIRST, gain[t]);
                let t = if may_evict(at(ANON), at(FILE)) { FILE } else { ANON };
                (t, Some(self.limit(t, at(t.other()), gain[t])))
            }
            TypeRule::AllTiers | TypeRule::Cost612 => {
                let hist = self.config.hist_gens.get();
                let at = |t: LruType| {
                    self.rates[t].sum(self.min_seq[t], hist, gain[t]).scaled(self.scale_shift)
                };
                (if may_evict(at(ANON), at(FILE)) { FILE } else { ANON }, None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(tiers: &[(u64, u64)]) -> Rates {
        let mut r = Rates::default();
        for (t, &(refaulted, total)) in Tier::all().zip(tiers) {
            r.period_mut(0, 1).refaulted[t] = refaulted;
            r.period_mut(0, 1).evicted[t] = total;
        }
        r
    }

    fn control<'a>(anon: &'a Rates, file: &'a Rates, config: &'a MglruConfig) -> Control<'a> {
        Control {
            rates: PerType::new([anon, file]),
            min_seq: PerType::default(),
            config,
            scale_shift: 0,
        }
    }

    /// Averages and the current period count alike.
    #[test]
    fn the_type_with_the_lower_weighted_refault_rate_is_evicted() {
        let mut anon = rates(&[(20, 200)]);
        (anon.avg_refaulted[Tier::FIRST], anon.avg_total[Tier::FIRST]) = (100, 800);
        let c = &MglruConfig::V6_12;
        for (refaulted, swappiness, file) in
            [(100, 60, true), (230, 60, true), (231, 60, false), (100, 100, false)]
        {
            let mut f = rates(&[(refaulted, 500)]);
            (f.avg_refaulted[Tier::FIRST], f.avg_total[Tier::FIRST]) = (300, 1500);
            let (t, _) = control(&anon, &f, c).choose(swappiness);
            assert_eq!(t == FILE, file, "{refaulted} refaults, swappiness {swappiness}");
        }
    }

    #[test]
    fn tiers_that_refault_more_are_protected() {
        let anon = rates(&[(120, 1000)]);
        let c = &MglruConfig::V6_12;
        let limit = |total| {
            let f = rates(&[(400, 2000), (90, total), (63, 1)]);
            control(&anon, &f, c).choose(60)
        };
        assert_eq!(limit(300), (FILE, Some(Tier(0))));
        assert_eq!(limit(400), (FILE, Some(Tier(3))));
        let f = rates(&[(400, 2000), (90, 300), (120, 200)]);
        assert_eq!(control(&anon, &f, c).own_limit(FILE), Tier(1));
        assert_eq!(control(&anon, &f, &MglruConfig::V6_14).own_limit(FILE), Tier(0));
    }

    #[test]
    fn averages_halve() {
        let mut r = rates(&[(0, 0)]);
        (r.avg_refaulted[Tier::FIRST], r.avg_total[Tier::FIRST]) = (400, 2000);
        r.carry_over(0, 1);
        assert_eq!((r.avg_refaulted[Tier::FIRST], r.avg_total[Tier::FIRST]), (200, 1000));
        r.carry_over(1, 1);
        assert_eq!((r.avg_refaulted[Tier::FIRST], r.avg_total[Tier::FIRST]), (100, 500));
    }

    #[test]
    fn accesses_make_tiers() {
        assert_eq!([0, 1, 2, 3, 4].map(tier_of), [0, 1, 2, 2, 3].map(Tier));
    }
}
