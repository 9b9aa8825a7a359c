//! Memory cgroups: who is charged for what, limits, counters of their own.
//!
//! Groups form a [tree](Tree). What a group is charged, all groups above it are charged too; the
//! root is left out, and counts its own pages alone. A charge that would exceed the `memory.max` of
//! a level fails there, at the lowest such level, and that level pays.
//!
//! Pages are charged in batches, of which each CPU keeps the rest in stock. `memory.high` counts
//! what is in stock, page tables and what else the kernel holds for the group's processes.
//! `memory.max` and protections count pages of processes and files alone, and exactly, so that groups
//! of a few hundred pages stay possible; or they count the same as `memory.high` (`memcg-charges`).
//!
//! Source: Linux 6.12 mm/memcontrol.c (`try_charge_memcg`), mm/page_counter.c
//! (`page_counter_try_charge`).

pub(super) mod events;
pub(super) mod life;
mod populated;
mod stock;
#[cfg(test)]
pub(super) mod tests;
pub mod tree;
pub(super) mod walk;
pub(super) mod zswap;

use crate::base::id::{CpuId, Idx as _, IndexVec, MemcgId, SwapSlot};
use crate::base::rules::MemcgCharges;
use crate::base::vmstat::{VmEvent, VmStat};
use crate::config::{MachineConfig, MemcgConfig, PAGE_COUNTER_MAX};
use crate::memory::journal::Journals;
use crate::policy::daemon::Control;
use events::{MemcgEvent, MemcgEvents};
use life::Life;
use populated::Populated;
use std::collections::BTreeMap;
use stock::Stock;
use tree::{ROOT, Tree};
use walk::Cursor;
use zswap::ZswapUse;

/// One group. Pages are those of the group and of all groups below it.
#[derive(Clone, Debug)]
pub struct Memcg {
    /// Its configuration; the root has no limits.
    pub config: MemcgConfig,
    /// The group above. The root is its own.
    parent: MemcgId,
    /// The part of its life that it is in.
    pub life: Life,
    /// Pages charged (`memory.current`); with stock and kernel memory if these are used memory. Of
    /// the root: its own.
    pub usage: u64,
    /// Pages charged ahead, in stock on CPUs.
    stock: u64,
    /// Pages that the kernel holds for its processes: page tables, stacks, slabs.
    kernel: u64,
    /// Slots of swap (`memory.swap.current`), those of pages with a copy in memory too.
    pub swap: u64,
    /// Its entries in zswap.
    pub zswap: ZswapUse,
    /// Effective `memory.min` and `memory.low` as the last pass that met it found them (`emin`,
    /// `elow`).
    pub(super) noted: [u64; 2],
    /// Sums over its children of the part of their usage that `memory.min` and `memory.low` of
    /// each protect (`children_min_usage`, `children_low_usage`).
    pub(super) protected_below: [u64; 2],
    /// Events.
    pub events: MemcgEvents,
}

impl Memcg {
    /// The part of a usage that the group's own `memory.min` and `memory.low` protect.
    fn protected(&self, usage: u64) -> [u64; 2] {
        [self.config.min.min(usage), self.config.low.min(usage)]
    }

    fn is_protected(&self) -> bool {
        self.config.min | self.config.low != 0
    }
}

/// All groups; 0 is the root.
#[derive(Clone, Debug)]
pub struct Memcgs {
    groups: IndexVec<MemcgId, Memcg>,
    /// Who stands below whom.
    pub tree: Tree,
    /// Counters of each group alone; of the root: what groups count and the machine does not
    /// (reclaim for a limit).
    vmstat: IndexVec<MemcgId, VmStat>,
    /// Positions of the groups that were charged something, and of the root.
    populated: Populated,
    /// Groups that are there before each position of the walk; none: there is one at each.
    existing: Vec<u32>,
    /// Positions of shared walks, by the group whose subtree is walked, and node.
    cursors: BTreeMap<(MemcgId, u8), Cursor>,
    /// Group that is charged for each slot of swap (`swap_cgroup`).
    slots: IndexVec<SwapSlot, MemcgId>,
    /// Pages of a charge (`MEMCG_CHARGE_BATCH`).
    batch: u64,
    /// Kernel memory of a process, in pages.
    process: u64,
    /// `memory_recursiveprot`: what a group leaves of its protection is shared by those below.
    pub(super) recursive_protection: bool,
    /// Stock of each CPU.
    stocks: IndexVec<CpuId, Stock>,
    /// Groups of which a CPU has stock.
    stock_entries: usize,
    /// Stock and kernel memory are part of the usage.
    stock_is_used: bool,
    /// Events of file folios of groups with choosers.
    pub journals: Journals,
    /// The charge under way had to reclaim, and takes no batch.
    had_to_reclaim: bool,
}

impl Memcgs {
    /// The root and the groups of a machine.
    ///
    /// # Panics
    ///
    /// The parent of a group does not stand before it.
    pub fn new(config: &MachineConfig) -> Self {
        let tree = Tree::of(config);
        let root = MemcgConfig::new("");
        let all = std::iter::once(root).chain(config.memcgs.iter().cloned());
        let new = |(i, config): (usize, MemcgConfig)| Memcg {
            parent: tree.parent(MemcgId::from_index(i)).unwrap_or(ROOT),
            life: if config.from.0 > 0 { Life::Awaited } else { Life::Online },
            config,
            usage: 0,
            stock: 0,
            kernel: 0,
            swap: 0,
            zswap: ZswapUse::default(),
            noted: [0; 2],
            protected_below: [0; 2],
            events: MemcgEvents::default(),
        };
        let groups: IndexVec<MemcgId, Memcg> = all.enumerate().map(new).collect::<Vec<_>>().into();
        let mut populated = Populated::new(groups.len());
        populated.insert(0);
        let rules = config.kernel_rules();
        let mut memcgs = Memcgs {
            existing: Vec::new(),
            vmstat: IndexVec::filled(groups.len(), VmStat::default()),
            groups,
            tree,
            populated,
            cursors: BTreeMap::new(),
            slots: IndexVec::new(),
            batch: (u64::from(rules.memcg_charge_batch) >> config.cpu_batch_shift()).max(1),
            process: u64::from(rules.process_kernel_pages) >> config.cpu_batch_shift(),
            recursive_protection: config.memcg_mount.recursive_protection,
            stocks: IndexVec::filled(config.cpus as usize, Stock::default()),
            stock_entries: rules.memcg_stock_groups as usize,
            stock_is_used: rules.memcg_charges == MemcgCharges::Kernel,
            journals: Journals::new(),
            had_to_reclaim: false,
        };
        memcgs.charge_for_groups(CpuId(0));
        memcgs.recount();
        memcgs
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
        self.vmstat[m].add(e, n);
    }
    /// Counters of a group alone; of the root: what groups count and the machine does not.
    pub fn vmstat(&self, m: MemcgId) -> &VmStat {
        &self.vmstat[m]
    }
    /// Counters of all groups, each with those of the groups below it. The root's are those of
    /// [`Memcgs::vmstat`].
    pub fn vmstat_with_descendants(&self) -> IndexVec<MemcgId, VmStat> {
        let mut all = self.vmstat.clone();
        // Those below have higher numbers.
        for m in self.ids().rev().filter(|&m| self.groups[m].parent != ROOT) {
            let own = all[m].clone();
            all[self.groups[m].parent].add_all(&own);
        }
        all
    }
    /// Counts an event in a group and in those above it.
    pub fn event(&mut self, m: MemcgId, e: MemcgEvent, n: u64) {
        self.groups[m].events.local[e as usize] += n;
        self.each_level(m, |g| g.events.all[e as usize] += n);
    }
    /// Changes a group and those above it below the root; the root, if that is the group.
    #[inline]
    fn each_level(&mut self, m: MemcgId, mut change: impl FnMut(&mut Memcg)) {
        let mut at = m;
        loop {
            let g = &mut self.groups[at];
            change(g);
            at = g.parent;
            if at == ROOT {
                return;
            }
        }
    }
    /// Writes a limit or a protection, in pages; `None`: max.
    pub(crate) fn write(&mut self, m: MemcgId, file: Control, pages: Option<u64>) {
        let before = self.groups[m].protected(self.groups[m].usage);
        let c = &mut self.groups[m].config;
        match file {
            Control::Min => c.min = pages.unwrap_or(PAGE_COUNTER_MAX),
            Control::Low => c.low = pages.unwrap_or(PAGE_COUNTER_MAX),
            Control::High => c.high = pages,
            Control::Max => c.max = pages,
            Control::SwapMax => c.swap_max = pages,
        }
        self.protection_moves(m, before);
    }
    /// Charges pages, limits or not.
    #[inline]
    pub fn charge(&mut self, m: MemcgId, n: u64) {
        // The root has no level above it, and always counts as populated.
        if m == ROOT {
            self.groups[ROOT].usage += n;
            return;
        }
        self.change_levels(m, |usage| usage + n);
    }
    /// Gives a charge back.
    #[inline]
    pub(crate) fn uncharge(&mut self, m: MemcgId, n: u64) {
        if m == ROOT {
            self.groups[ROOT].usage -= n;
            return;
        }
        self.change_levels(m, |usage| usage - n);
    }

    /// Changes the usage of a group below the root and of those above it.
    fn change_levels(&mut self, m: MemcgId, change: impl Fn(u64) -> u64) {
        let mut at = m;
        while at != ROOT {
            let g = &mut self.groups[at];
            let (before, protected) = (g.usage, g.protected(g.usage));
            g.usage = change(before);
            match (before, g.usage) {
                (0, 1..) => self.populated.insert(self.tree.place(at)),
                (1.., 0) => self.emptied(at),
                _ => {}
            }
            if self.groups[at].is_protected() {
                self.protection_moves(at, protected);
            }
            at = self.groups[at].parent;
        }
    }
    /// The last page of a group is gone; if it was removed, so is the group.
    fn emptied(&mut self, m: MemcgId) {
        self.populated.remove(self.tree.place(m));
        if !self.is_online(m) {
            self.recount();
        }
    }
    /// The protected part of a group's usage changed: so does the sum of the group above, below the
    /// root (`propagate_protected_usage`).
    fn protection_moves(&mut self, m: MemcgId, before: [u64; 2]) {
        let g = &self.groups[m];
        let (now, parent) = (g.protected(g.usage), g.parent);
        if parent != ROOT {
            for (sum, i) in self.groups[parent].protected_below.iter_mut().zip(0..) {
                *sum = *sum + now[i] - before[i];
            }
        }
    }
    /// A page table was made on a CPU for a process of the group.
    pub(super) fn charge_table(&mut self, cpu: CpuId, m: MemcgId) {
        self.charge_kernel(cpu, m, 1);
    }

    /// It was freed.
    pub(super) fn uncharge_table(&mut self, cpu: CpuId, m: MemcgId) {
        self.uncharge_kernel(cpu, m, 1);
    }

    /// A process of the group begins.
    pub(crate) fn process_begins(&mut self, cpu: CpuId, m: MemcgId) {
        self.charge_kernel(cpu, m, self.process);
    }

    /// It ends.
    pub(crate) fn process_ends(&mut self, cpu: CpuId, m: MemcgId) {
        self.uncharge_kernel(cpu, m, self.process);
    }

    /// Pages of a charge (`MEMCG_CHARGE_BATCH`).
    pub(crate) fn charge_batch(&self) -> u64 {
        self.batch
    }

    /// Charges a slot of swap to a group and to those above it, until the slot is freed.
    #[inline]
    pub(super) fn charge_slot(&mut self, slot: SwapSlot, m: MemcgId) {
        if m == ROOT {
            return;
        }
        if slot.index() >= self.slots.len() {
            self.slots.resize((slot.index() + 1).next_power_of_two(), ROOT);
        }
        self.slots[slot] = m;
        self.each_level(m, |g| g.swap += 1);
    }
    /// The group that a slot is charged to.
    #[inline]
    pub(crate) fn group_of_slot(&self, slot: SwapSlot) -> MemcgId {
        self.slots.get(slot).copied().unwrap_or(ROOT)
    }
    /// A slot is free.
    #[inline]
    pub(super) fn uncharge_slot(&mut self, slot: SwapSlot) {
        let of = self.slots.get_mut(slot).map(std::mem::take);
        if let Some(m) = of.filter(|&m| m != ROOT) {
            self.each_level(m, |g| g.swap -= 1);
        }
    }
    /// The lowest level, of a group and those above it, whose `memory.max` `n` more pages exceed.
    /// `None`: they fit.
    #[inline]
    pub fn failing_level(&self, m: MemcgId, n: u64) -> Option<MemcgId> {
        let exceeds = |g: &Memcg| g.config.max.is_some_and(|max| g.usage + n > max);
        self.tree.levels(m).find(|&l| exceeds(&self.groups[l]))
    }
    /// Pages that a group may have more, up to `memory.high` and `memory.max` of its levels.
    pub(crate) fn headroom(&self, m: MemcgId) -> u64 {
        let of = |l: MemcgId| {
            let (g, c) = (&self.groups[l], &self.groups[l].config);
            let ceiling = c.max.unwrap_or(u64::MAX).min(c.high.unwrap_or(u64::MAX));
            ceiling.saturating_sub(g.usage)
        };
        self.tree.levels(m).map(of).min().unwrap_or(u64::MAX)
    }
    /// Pages of a level above its `memory.high`, with what is in stock and what the kernel holds.
    pub(crate) fn over_high(&self, m: MemcgId) -> u64 {
        let g = &self.groups[m];
        let held = if self.stock_is_used { g.usage } else { g.usage + g.stock + g.kernel };
        g.config.high.map_or(0, |high| held.saturating_sub(high))
    }
    /// Pages of a level in swap above its `memory.swap.high`.
    pub(crate) fn over_swap_high(&self, m: MemcgId) -> u64 {
        let g = &self.groups[m];
        g.config.swap_high.map_or(0, |high| g.swap.saturating_sub(high))
    }
    /// True if a group or one above it is above its `memory.high` or `memory.swap.high`.
    #[inline]
    pub(crate) fn exceeds_high(&self, m: MemcgId) -> bool {
        self.tree.levels(m).any(|l| self.over_high(l) > 0 || self.over_swap_high(l) > 0)
    }
    /// The lowest level whose `memory.swap.max` one more page in swap would exceed.
    #[inline]
    pub(crate) fn swap_full(&self, m: MemcgId) -> Option<MemcgId> {
        let full = |g: &Memcg| g.config.swap_max.is_some_and(|max| g.swap >= max);
        self.tree.levels(m).find(|&l| full(&self.groups[l]))
    }
    /// True if a level has used half of its `memory.swap.high` or `memory.swap.max`, so that copies
    /// in swap of pages in memory are freed (`mem_cgroup_swap_full`).
    #[inline]
    pub(crate) fn swap_half_full(&self, m: MemcgId) -> bool {
        let half = |g: &Memcg| {
            let limits = [g.config.swap_high, g.config.swap_max];
            limits.into_iter().flatten().any(|limit| g.swap * 2 >= limit)
        };
        self.tree.levels(m).any(|l| half(&self.groups[l]))
    }
    /// Pages that a group may have more in swap (`mem_cgroup_get_nr_swap_pages`, without the slots
    /// of the machine).
    #[inline]
    pub fn swap_left(&self, m: MemcgId) -> u64 {
        let left =
            |l| self.groups[l].config.swap_max.map(|max| max.saturating_sub(self.groups[l].swap));
        self.tree.levels(m).filter_map(left).min().unwrap_or(u64::MAX)
    }
    /// True if one more page may be swapped.
    #[inline]
    pub fn swap_room(&self, m: MemcgId) -> bool {
        self.swap_full(m).is_none()
    }

    /// Compares the slots in use of each group with the counters of its levels.
    ///
    /// # Panics
    /// They differ, or a free slot is charged.
    pub(super) fn check_slots(&self, in_use: impl Fn(SwapSlot) -> bool) {
        let mut swap = IndexVec::filled(self.len(), 0);
        for (slot, &m) in self.slots.pairs().filter(|(_, m)| **m != ROOT) {
            assert!(in_use(slot), "{slot} is free, and {m} is charged for it");
            self.tree.levels(m).for_each(|l| swap[l] += 1);
        }
        for m in self.ids().skip(1) {
            assert_eq!(swap[m], self.groups[m].swap, "{m}: slots of swap");
        }
    }

    /// Compares the counters of all levels with the pages of each group alone.
    ///
    /// # Panics
    ///
    /// They differ.
    pub(super) fn check(&self, charged: &[u64]) {
        let sum = |m| self.tree.walk(m).map(|m| charged[m.index()]).sum::<u64>();
        for m in self.ids() {
            let g = &self.groups[m];
            let extra = if self.stock_is_used { g.stock + g.kernel } else { 0 };
            let expected = if m == ROOT { charged[0] } else { sum(m) + extra };
            assert_eq!(expected, g.usage, "{m}: charge");
            let is_set = self.populated.next(self.tree.place(m)) == Some(self.tree.place(m));
            assert_eq!(is_set, m == ROOT || g.usage > 0, "{m}: populated");
            let children = self.tree.walk(m).filter(|&c| m != ROOT && self.groups[c].parent == m);
            let below = children.fold([0; 2], |[min, low], c| {
                let [a, b] = self.groups[c].protected(self.groups[c].usage);
                [min + a, low + b]
            });
            assert_eq!(below, g.protected_below, "{m}: protected below");
        }
    }
}

impl std::ops::Index<MemcgId> for Memcgs {
    type Output = Memcg;
    fn index(&self, m: MemcgId) -> &Memcg {
        &self.groups[m]
    }
}

impl std::ops::IndexMut<MemcgId> for Memcgs {
    fn index_mut(&mut self, m: MemcgId) -> &mut Memcg {
        &mut self.groups[m]
    }
}
