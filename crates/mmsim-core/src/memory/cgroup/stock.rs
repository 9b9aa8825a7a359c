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
            return if self.consume(cpu, m, n) { 0 } else { self.charge_batch_of(cpu, m, n) };
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

    /// Charges a batch where stock is used memory; single pages, if a level has no room for it.
    fn charge_batch_of(&mut self, cpu: CpuId, m: MemcgId, n: u64) -> u64 {
        let whole = self.batch.max(n);
        let charged = if m == ROOT || self.failing_level(m, whole).is_some() { n } else { whole };
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

    /// Pages that the kernel takes for processes of a group, limits or not.
    pub(super) fn charge_kernel(&mut self, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.kernel += n);
        if self.stock_is_used && m != ROOT {
            self.charge(m, n);
        }
    }

    /// It gives them back.
    pub(super) fn uncharge_kernel(&mut self, m: MemcgId, n: u64) {
        self.each_level(m, |g| g.kernel -= n);
        if self.stock_is_used && m != ROOT && n > 0 {
            self.uncharge(m, n);
        }
    }
}
