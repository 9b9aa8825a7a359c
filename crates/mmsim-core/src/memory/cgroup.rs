//! Memory cgroups: who is charged for what, limits, counters of their own.
//!
//! Pages are charged in batches, of which each CPU keeps the rest in stock. `memory.high` counts
//! what is in stock, page tables and what else the kernel holds for the group's processes.
//! `memory.max` and protections count pages of processes and files alone, and exactly: a stock is
//! given back before a limit stops anybody, and groups of a few hundred pages stay possible.
//!
//! Source: Linux 6.12 mm/memcontrol.c (`try_charge_memcg`, `consume_stock`, `refill_stock`). One
//! level of groups below the root.

use crate::base::id::{CpuId, IndexVec, MemcgId};
use crate::base::vmstat::{VmEvent, VmStat};
use crate::config::{MachineConfig, MemcgConfig};

/// One group.
#[derive(Clone, Debug)]
pub struct Memcg {
    /// Its configuration; the root has no limits.
    pub config: MemcgConfig,
    /// Pages charged (`memory.current`).
    pub usage: u64,
    /// Pages charged ahead, in stock on CPUs.
    stock: u64,
    /// Pages that the kernel holds for its processes: page tables, stacks, slabs.
    kernel: u64,
    /// Pages swapped out (`memory.swap.current`).
    pub swap: u64,
    /// `memory.min` and `memory.low` as the last pass over all groups found them (`emin`, `elow`).
    noted: [u64; 2],
    /// Counters of the group; of the root: what groups count and the machine does not
    /// (reclaim for a limit).
    pub vmstat: VmStat,
}

impl Memcg {
    /// The protection, `memory.min` and `memory.low`, that the last pass over all groups noted.
    #[inline]
    pub(super) fn noted(&self) -> [u64; 2] {
        self.noted
    }
}

/// All groups; 0 is the root.
#[derive(Clone, Debug)]
pub struct Memcgs {
    groups: IndexVec<MemcgId, Memcg>,
    /// Pages of a charge (`MEMCG_CHARGE_BATCH`).
    batch: u64,
    /// Kernel memory of a process, in pages.
    process: u64,
    /// Stock of each CPU, and its group.
    stocks: IndexVec<CpuId, (MemcgId, u64)>,
}

impl Memcgs {
    /// The root and the groups of a machine.
    pub fn new(config: &MachineConfig) -> Self {
        let root = MemcgConfig::new("");
        let all = std::iter::once(root).chain(config.memcgs.iter().cloned());
        let new = |config| Memcg {
            config,
            usage: 0,
            stock: 0,
            kernel: 0,
            swap: 0,
            noted: [0; 2],
            vmstat: VmStat::default(),
        };
        let rules = config.kernel_rules();
        Memcgs {
            groups: all.map(new).collect::<Vec<_>>().into(),
            batch: (u64::from(rules.memcg_charge_batch) >> config.cpu_batch_shift()).max(1),
            process: u64::from(rules.process_kernel_pages) >> config.cpu_batch_shift(),
            stocks: IndexVec::filled(config.cpus as usize, (MemcgId(0), 0)),
        }
    }
    /// Number of groups, the root included.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
    /// Never: the root exists.
    pub fn is_empty(&self) -> bool {
        false
    }
    /// All groups.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = MemcgId> + use<> {
        self.groups.ids()
    }
    pub(super) fn count(&mut self, m: MemcgId, e: VmEvent, n: u64) {
        self.groups[m].vmstat.add(e, n);
    }
    /// Charges pages, limits or not.
    #[inline]
    pub fn charge(&mut self, m: MemcgId, n: u64) {
        self.groups[m].usage += n;
    }
    /// Charges pages that fit, out of the CPU's stock or with a batch that fills it. Returns by how
    /// much the group's counter rose: 0 if there was enough in stock.
    #[inline]
    pub(crate) fn charge_in_batch(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> u64 {
        if m.0 == 0 {
            self.charge(m, n);
            return 0;
        }
        let stock = &mut self.stocks[cpu];
        if stock.0 == m && stock.1 >= n {
            stock.1 -= n;
            let g = &mut self.groups[m];
            (g.stock, g.usage) = (g.stock - n, g.usage + n);
            return 0;
        }
        self.refill(cpu, m, n)
    }

    fn refill(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> u64 {
        let g = &mut self.groups[m];
        g.usage += n;
        let full =
            |g: &Memcg, more: u64| g.config.max.is_some_and(|x| g.usage + g.stock + more > x);
        if full(g, 0) {
            self.drain_stocks(m);
        }
        let more = self.batch.saturating_sub(n);
        if more == 0 || full(&self.groups[m], more) {
            return n;
        }
        let (other, left) = self.stocks[cpu];
        self.groups[m].stock += more;
        if other == m {
            self.stocks[cpu].1 += more;
        } else {
            self.groups[other].stock -= left;
            self.stocks[cpu] = (m, more);
        }
        n + more
    }

    /// Gives back what CPUs have in stock of a group (`drain_all_stock`).
    fn drain_stocks(&mut self, m: MemcgId) {
        for (_, left) in self.stocks.iter_mut().filter(|s| s.0 == m) {
            self.groups[m].stock -= std::mem::take(left);
        }
    }

    /// A page table was made for a process of the group.
    pub(super) fn charge_table(&mut self, m: MemcgId) {
        self.groups[m].kernel += 1;
    }

    /// It was freed.
    pub(super) fn uncharge_table(&mut self, m: MemcgId) {
        self.groups[m].kernel -= 1;
    }

    /// A process of the group begins.
    pub(crate) fn process_begins(&mut self, m: MemcgId) {
        self.groups[m].kernel += self.process;
    }

    /// It ends.
    pub(crate) fn process_ends(&mut self, m: MemcgId) {
        self.groups[m].kernel -= self.process;
    }

    /// Pages of a charge (`MEMCG_CHARGE_BATCH`).
    pub(crate) fn charge_batch(&self) -> u64 {
        self.batch
    }

    /// Gives a charge back.
    #[inline]
    pub(crate) fn uncharge(&mut self, m: MemcgId, n: u64) {
        self.groups[m].usage -= n;
    }
    pub(super) fn charge_swap(&mut self, m: MemcgId, n: u64) {
        self.groups[m].swap += n;
    }
    /// Gives a charge for swap back.
    #[inline]
    pub fn uncharge_swap(&mut self, m: MemcgId, n: u64) {
        self.groups[m].swap -= n;
    }
    /// True if `n` more pages fit under `memory.max`.
    #[inline]
    pub fn fits(&self, m: MemcgId, n: u64) -> bool {
        m.0 == 0 || self.groups[m].config.max.is_none_or(|max| self.groups[m].usage + n <= max)
    }
    /// Notes the protection of a group when a pass over all groups reaches it. The protection of an
    /// empty one is not reckoned.
    #[inline]
    pub(super) fn note_protection(&mut self, m: MemcgId) {
        let g = &mut self.groups[m];
        if g.usage > 0 {
            g.noted = [g.config.min, g.config.low];
        }
    }
    /// Pages that a group may have more, up to `memory.high` and `memory.max`.
    pub(crate) fn headroom(&self, m: MemcgId) -> u64 {
        let c = &self.groups[m].config;
        let ceiling = c.max.unwrap_or(u64::MAX).min(c.high.unwrap_or(u64::MAX));
        ceiling.saturating_sub(self.groups[m].usage)
    }
    /// Pages above `memory.high`, with what is in stock and what the kernel holds.
    pub(crate) fn over_high(&self, m: MemcgId) -> u64 {
        let g = &self.groups[m];
        g.config.high.map_or(0, |high| (g.usage + g.stock + g.kernel).saturating_sub(high))
    }
    /// True if one more page may be swapped.
    #[inline]
    pub fn swap_room(&self, m: MemcgId) -> bool {
        self.groups[m].config.swap_max.is_none_or(|max| self.groups[m].swap < max)
    }
}

impl std::ops::Index<MemcgId> for Memcgs {
    type Output = Memcg;
    fn index(&self, m: MemcgId) -> &Memcg {
        &self.groups[m]
    }
}
