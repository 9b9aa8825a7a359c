//! Pages that CPUs hold in stock of groups, so that most charges touch no counter of a group.
//!
//! A charge takes from the stock that its CPU has of the group. If there is not enough, the group and
//! all above it are charged a batch, and the rest of that goes into stock. A CPU has an entry for one
//! group, since 6.16 for seven.
//!
//! The model counts this in two ways (`memcg-charges`). As the *kernel* does, stock is used memory: a
//! limit meets it, and it protects. *Exact*, only `memory.high` meets it, and it is given back before
//! it would stop anybody.
//!
//! Source: Linux 6.12 and 6.18 mm/memcontrol.c (`consume_stock`, `refill_stock`,
//! `drain_all_stock`). Deviation: 6.18 gives up an entry at random, and here it is the one whose turn
//! it is, as in 7.2.

use super::Memcgs;
use super::tree::ROOT;
use crate::base::id::{CpuId, MemcgId};

/// Pages that the kernel charges to the group above for a group: its own record, counters and
/// files. Recorded 1.9 on 6.12.117, 2.0 on 6.18.15, 2.6 on 7.3.4 (evidence/trees).
const GROUP_PAGES: u64 = 2;

/// The stock of a CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Stock {
    entries: Vec<(MemcgId, u64)>,
    /// The entry to give up next.
    next: usize,
}

impl Stock {
    fn of(&mut self, m: MemcgId) -> Option<&mut u64> {
        self.entries.iter_mut().find(|e| e.0 == m).map(|e| &mut e.1)
    }

    /// Adds pages of a group. Returns the entry that had to go for them.
    fn put(&mut self, m: MemcgId, n: u64, most: usize) -> Option<(MemcgId, u64)> {
        if let Some(left) = self.of(m) {
            *left += n;
            return None;
        }
        if self.entries.len() < most {
            self.entries.push((m, n));
            return None;
        }
        let place = match self.entries.iter().position(|e| e.1 == 0) {
            Some(empty) => empty,
            None => {
                self.next = (self.next + 1) % most;
                self.next
            }
        };
        Some(std::mem::replace(&mut self.entries[place], (m, n)))
    }
}

impl Memcgs {
    /// Charges pages that fit, out of the CPU's stock or with a batch that fills it. Returns by how
    /// much the counter of the group, and of those above it, rose: 0 if there was enough in stock.
    #[inline]
    pub(crate) fn charge_in_batch(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> u64 {
        if self.stock_is_used {
            let whole = !std::mem::take(&mut self.had_to_reclaim);
            return match self.consume(cpu, m, n) {
                true => 0,
                false => self.charge_batch_of(cpu, m, n, whole),
            };
        }
        self.charge(m, n);
        if m == ROOT || self.consume(cpu, m, n) {
            return 0;
        }
        self.refill(cpu, m, n)
    }

    /// Takes pages of a group from a CPU's stock. False: it has not enough.
    #[inline]
    fn consume(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> bool {
        match self.stocks[cpu].of(m) {
            Some(left) if *left >= n => *left -= n,
            _ => return false,
        }
        self.each_level(m, |g| g.stock -= n);
        true
    }

    /// True if a charge needs no counter of a group.
    #[inline]
    pub(crate) fn in_stock(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> bool {
        self.stock_is_used && self.stocks[cpu].of(m).is_some_and(|left| *left >= n)
    }

    /// The charge that follows had to reclaim first: a batch did not fit, so it takes its own pages
    /// alone, whatever room there is now.
    pub(crate) fn reclaimed_for_charge(&mut self) {
        self.had_to_reclaim = self.stock_is_used;
    }

    /// Charges a `whole` batch where stock is used memory; single pages, if a level has no room for
    /// it.
    fn charge_batch_of(&mut self, cpu: CpuId, m: MemcgId, n: u64, whole: bool) -> u64 {
        let batch = self.batch.max(n);
        let single = !whole || m == ROOT || self.failing_level(m, batch).is_some();
        let charged = if single { n } else { batch };
        self.charge(m, charged);
        if charged > n {
            self.put(cpu, m, charged - n);
        }
        charged
    }

    fn refill(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> u64 {
        let full = |memcgs: &Self, more: u64, in_stock: u64| {
            memcgs.tree.levels(m).find(|&l| {
                let g = &memcgs.groups[l];
                let over = g.config.max.is_some_and(|x| g.usage + g.stock + more > x);
                g.stock >= in_stock && over
            })
        };
        while let Some(level) = full(self, 0, 1) {
            self.drain_stocks(level);
        }
        let more = self.batch.saturating_sub(n);
        if more == 0 || full(self, more, 0).is_some() {
            return n;
        }
        self.put(cpu, m, more);
        n + more
    }

    fn put(&mut self, cpu: CpuId, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.stock += n);
        if let Some((other, left)) = self.stocks[cpu].put(m, n, self.stock_entries) {
            self.give_back(other, left);
        }
    }

    /// Pages leave the stock of a CPU unused.
    fn give_back(&mut self, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.stock -= n);
        if self.stock_is_used && n > 0 {
            self.uncharge(m, n);
        }
    }

    /// Gives back what CPUs have in stock of a group and of those below it (`drain_all_stock`).
    pub(crate) fn drain_stocks(&mut self, level: MemcgId) {
        for cpu in self.stocks.ids() {
            for i in 0..self.stocks[cpu].entries.len() {
                let (m, left) = self.stocks[cpu].entries[i];
                if left > 0 && self.tree.holds(level, m) {
                    self.stocks[cpu].entries[i].1 = 0;
                    self.give_back(m, left);
                }
            }
        }
    }

    /// The kernel charges the records of a group to the group above.
    pub(super) fn charge_for_groups(&mut self, cpu: CpuId) {
        for m in self.ids().skip(1).filter(|_| self.stock_is_used).collect::<Vec<_>>() {
            self.charge_kernel(cpu, self.groups[m].parent, GROUP_PAGES);
        }
    }

    /// Pages that the kernel takes for processes of a group, limits or not, out of the CPU's stock
    /// if that is used memory (`obj_cgroup_charge_pages`).
    pub(super) fn charge_kernel(&mut self, cpu: CpuId, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.kernel += n);
        let whole = !std::mem::take(&mut self.had_to_reclaim);
        if self.stock_is_used && m != ROOT && n > 0 && !self.consume(cpu, m, n) {
            self.charge_batch_of(cpu, m, n, whole);
        }
    }

    /// It gives them back. They go into the CPU's stock, unlike pages of processes; what exceeds a
    /// batch does not stay there (`obj_cgroup_uncharge_pages`, `refill_stock`).
    pub(super) fn uncharge_kernel(&mut self, cpu: CpuId, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.kernel -= n);
        if !self.stock_is_used || m == ROOT || n == 0 {
            return;
        }
        self.put(cpu, m, n);
        let left = self.stocks[cpu].of(m).map_or(0, |left| *left);
        if left > self.batch {
            let goes = if self.stock_entries == 1 { left } else { n };
            if let Some(entry) = self.stocks[cpu].of(m) {
                *entry -= goes;
            }
            self.give_back(m, goes);
        }
    }
}
