//! Memory cgroups: who is charged for what, limits, counters of their own.
//!
//! Charges are exact: Linux takes them 64 pages at a time per CPU, which only blurs the
//! moment at which a limit is met by at most 63 pages a CPU.
//!
//! Source: Linux 6.12 mm/memcontrol.c. One level of groups below the root.

use crate::base::id::{IndexVec, MemcgId};
use crate::base::vmstat::{VmEvent, VmStat};
use crate::machine::config::MemcgConfig;

/// One group.
#[derive(Clone, Debug)]
pub struct Memcg {
    /// Its configuration; the root has no limits.
    pub config: MemcgConfig,
    /// Pages charged (`memory.current`).
    pub usage: u64,
    /// Pages swapped out (`memory.swap.current`).
    pub swap: u64,
    /// Counters of the group; of the root: what groups count and the machine does not
    /// (reclaim for a limit).
    pub vmstat: VmStat,
}

/// All groups; 0 is the root.
#[derive(Clone, Debug)]
pub struct Memcgs(IndexVec<MemcgId, Memcg>);

impl Memcgs {
    /// The root and the groups of a machine.
    pub fn new(groups: &[MemcgConfig]) -> Self {
        let root = MemcgConfig {
            name: String::new(),
            min: 0,
            low: 0,
            high: None,
            max: None,
            swap_max: None,
        };
        let all = std::iter::once(root).chain(groups.iter().cloned());
        let new = |config| Memcg { config, usage: 0, swap: 0, vmstat: VmStat::default() };
        Memcgs(all.map(new).collect::<Vec<_>>().into())
    }
    /// Number of groups, the root included.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Never: the root exists.
    pub fn is_empty(&self) -> bool {
        false
    }
    /// All groups.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = MemcgId> + use<> {
        self.0.ids()
    }
    pub(super) fn count(&mut self, m: MemcgId, e: VmEvent, n: u64) {
        self.0[m].vmstat.add(e, n);
    }
    /// Charges pages, limits or not.
    #[inline]
    pub fn charge(&mut self, m: MemcgId, n: u64) {
        self.0[m].usage += n;
    }
    /// Gives a charge back.
    #[inline]
    pub fn uncharge(&mut self, m: MemcgId, n: u64) {
        self.0[m].usage -= n;
    }
    pub(super) fn charge_swap(&mut self, m: MemcgId, n: u64) {
        self.0[m].swap += n;
    }
    /// Gives a charge for swap back.
    #[inline]
    pub fn uncharge_swap(&mut self, m: MemcgId, n: u64) {
        self.0[m].swap -= n;
    }
    /// Whether one more page fits under `memory.max`.
    #[inline]
    pub fn fits(&self, m: MemcgId) -> bool {
        m.0 == 0 || self.0[m].config.max.is_none_or(|max| self.0[m].usage < max)
    }
    /// Whether so many more pages fit under `memory.max`.
    pub fn fits_all(&self, m: MemcgId, n: u64) -> bool {
        m.0 == 0 || self.0[m].config.max.is_none_or(|max| self.0[m].usage + n <= max)
    }
    /// Pages that a group may have more, up to `memory.high` and `memory.max`.
    pub fn headroom(&self, m: MemcgId) -> u64 {
        let c = &self.0[m].config;
        let ceiling = c.max.unwrap_or(u64::MAX).min(c.high.unwrap_or(u64::MAX));
        ceiling.saturating_sub(self.0[m].usage)
    }
    /// Pages above `memory.high`.
    pub fn over_high(&self, m: MemcgId) -> u64 {
        self.0[m].config.high.map_or(0, |h| self.0[m].usage.saturating_sub(h))
    }
    /// Whether one more page may be swapped.
    pub fn swap_room(&self, m: MemcgId) -> bool {
        self.0[m].config.swap_max.is_none_or(|max| self.0[m].swap < max)
    }
}

impl std::ops::Index<MemcgId> for Memcgs {
    type Output = Memcg;
    fn index(&self, m: MemcgId) -> &Memcg {
        &self.0[m]
    }
}
