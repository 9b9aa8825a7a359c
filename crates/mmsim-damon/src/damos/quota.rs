//! Quotas: how much a scheme may do in a charge window.
//!
//! A quota is given in bytes, in milliseconds of work, or by [goals](super::goal); the least of
//! them, in bytes, is the *effective size* `esz` (0: no limit). Time is turned into bytes by the
//! throughput of the scheme over its whole life, measured with a clock that only moves with the
//! tick. What is charged are the bytes that were tried, whatever became of them, unless failures are
//! charged [less](Quota::fail_charge). When a window's
//! quota is used up, the next window goes on where it ended, so that the low addresses do not get
//! everything.
//!
//! A quota from time is rarely a multiple of the page, and what is applied is. Then a few bytes
//! remain for ever, the window is never quite used up, and every further region is tried with
//! nothing; `aligned-esz` shows what comes of it otherwise.
//!
//! Linux 6.12 `mm/damon/core.c` (`damos_adjust_quota()`, `damos_set_effective_quota()`).

use super::goal::{self, Goal, Metric, Tuner};
use crate::attrs::MonitoringAttrs;
use crate::config::{DamonConfig, EszFloor, FirstPsi, FirstWindow, QuotaSet};
use mmsim_core::base::time::{SimDuration, SimTime};

/// Limits of a scheme (`struct damos_quota`, the part that users give). All 0 and no goal: all it
/// wants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quota {
    /// Length of a charge window, in ms. 0: every pass has its own.
    pub reset_interval_ms: u64,
    /// Time it may take in a window, in ms; 0: any.
    pub ms: u64,
    /// Bytes it may try in a window; 0: any.
    pub sz: u64,
    /// Weight of the size in a region's score, which nothing uses.
    pub weight_sz: u32,
    /// Weight of the accesses in a region's score.
    pub weight_nr_accesses: u32,
    /// Weight of the age in a region's score.
    pub weight_age: u32,
    /// Goals of the quota.
    pub goals: Vec<Goal>,
    /// Rule by which it follows them.
    pub tuner: Tuner,
    /// Charge for bytes for which the action did not work: numerator and denominator of a share,
    /// the latter not 0; none: all of them.
    pub fail_charge: Option<(u32, u32)>,
}

impl Quota {
    /// Bytes that an attempt is charged with (`damos_charge_quota()`).
    pub fn charge_for(&self, tried: u64, applied: u64) -> u64 {
        match self.fail_charge {
            Some((num, denom)) if applied <= tried => {
                let (failed, num, denom) =
                    (u128::from(tried - applied), u128::from(num), u128::from(denom.max(1)));
                applied.saturating_add((failed * num / denom).min(u128::from(u64::MAX)) as u64)
            }
            _ => tried,
        }
    }
}

/// Charges of a quota (`struct damos_quota`, the part that the kernel keeps).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Charge {
    /// Bytes that may be tried in this window; 0: any number, or none ([`Charge::limits`]).
    pub esz: u64,
    /// Bytes tried in closed windows.
    pub total_charged_sz: u64,
    /// Time that all attempts took, in ns of the coarse clock.
    pub total_charged_ns: u64,
    /// Bytes tried in this window.
    pub charged_sz: u64,
    /// When this window began, on the coarse clock.
    pub charged_from: Option<SimTime>,
    /// Where the next pass goes on: index of a target, and an address.
    pub resume: Option<(usize, u64)>,
    /// The least score that is served.
    pub min_score: u32,
    /// The quota that the goals ask for, in 1/10000 byte.
    pub esz_bp: u64,
}

/// Bytes per ms that are expected before anything was measured (`PAGE_SIZE * 1024`).
pub const FIRST_THROUGHPUT: u64 = 4096 * 1024;

impl Charge {
    /// True if there is a quota at all.
    pub fn active(&self, quota: &Quota) -> bool {
        self.esz != 0 || quota.ms != 0 || quota.sz != 0 || !quota.goals.is_empty()
    }

    /// True if this window is limited.
    pub fn limits(&self, quota: &Quota, config: &DamonConfig) -> bool {
        match config.quota_set {
            QuotaSet::Esz => self.esz != 0,
            QuotaSet::Configured => self.active(quota),
        }
    }

    /// True if the quota of this window is used up.
    pub fn full(&self, quota: &Quota, config: &DamonConfig, attrs: &MonitoringAttrs) -> bool {
        let least = match config.quota_set {
            QuotaSet::Esz => 1,
            QuotaSet::Configured => attrs.min_region,
        };
        self.limits(quota, config) && self.esz.saturating_sub(self.charged_sz) < least
    }

    /// Opens a new window if one is due. Returns whether the one before was used up.
    ///
    /// `now` is the time of the coarse clock, `measure` has the metrics of goals.
    pub fn adjust(
        &mut self,
        quota: &mut Quota,
        config: &DamonConfig,
        attrs: &MonitoringAttrs,
        now: SimTime,
        measure: &mut dyn FnMut(Metric) -> u64,
    ) -> bool {
        let first = self.charged_from.is_none();
        if first && config.first_window == FirstWindow::Unlimited {
            self.charged_from = Some(now);
        }
        let window = SimDuration(quota.reset_interval_ms.saturating_mul(1_000_000));
        let window = config.round_up(window);
        if self.charged_from.is_some_and(|from| now < from + window) {
            return false;
        }
        let exceeded = !first && self.full(quota, config, attrs);
        self.total_charged_sz += self.charged_sz;
        self.charged_from = Some(now);
        self.charged_sz = 0;
        self.set_effective(quota, config, attrs, measure);
        exceeded
    }

    /// Sets the limit of this window, in bytes.
    pub fn set_effective(
        &mut self,
        quota: &mut Quota,
        config: &DamonConfig,
        attrs: &MonitoringAttrs,
        measure: &mut dyn FnMut(Metric) -> u64,
    ) {
        let mut esz = u64::MAX;
        if !quota.goals.is_empty() {
            let tuner = quota.tuner;
            // Without effect: the goal is met for the one, as it was before for the other.
            let neutral = |goal: &Goal| {
                let achieved = tuner == Tuner::Consist || self.esz == 0;
                let value = if achieved { goal.target_value } else { 0 };
                (config.first_psi == FirstPsi::Neutral).then_some(value)
            };
            let score = goal::score(&mut quota.goals, measure, neutral);
            self.esz_bp = match tuner {
                Tuner::Consist => goal::feed(self.esz_bp.max(10_000), score),
                Tuner::Temporal if score >= 10_000 => 0,
                Tuner::Temporal if quota.sz != 0 => quota.sz.saturating_mul(10_000),
                Tuner::Temporal => u64::MAX,
            };
            esz = self.esz_bp / 10_000;
        }
        if quota.ms != 0 {
            let by_time = u128::from(self.throughput()) * u128::from(quota.ms);
            let by_time = by_time.min(u128::from(u64::MAX)) as u64;
            esz = match config.esz_floor {
                EszFloor::None => esz.min(by_time),
                EszFloor::MinRegion => esz.min(by_time).max(attrs.min_region),
                EszFloor::TimePart => esz.min(by_time.max(attrs.min_region)),
            };
        }
        if quota.sz != 0 || (quota.ms == 0 && quota.goals.is_empty()) {
            esz = esz.min(quota.sz);
        }
        self.esz = if config.aligned_esz { attrs.align_down(esz) } else { esz };
    }

    /// Bytes per ms over the whole life of the scheme. The kernel's product wraps after some 18 TB.
    pub fn throughput(&self) -> u64 {
        let bytes = u128::from(self.total_charged_sz) * 1_000_000;
        let per_ms = bytes.checked_div(u128::from(self.total_charged_ns));
        per_ms.map_or(FIRST_THROUGHPUT, |n| n.min(u128::from(u64::MAX)) as u64)
    }
}
