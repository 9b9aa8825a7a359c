//! A buddy allocator in the plainest way: a deque per list, head first.

pub(crate) mod step;

use mmsim_core::base::id::Pfn;
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::{End, Fallback, KernelRules};
use mmsim_core::phys::buddy::Extfrag;
use std::collections::{BTreeMap, VecDeque};

/// Free memory of a zone that begins at frame 0.
#[derive(Clone)]
pub(crate) struct Naive {
    rules: KernelRules,
    nr: u32,
    lists: BTreeMap<(u8, Migratetype), VecDeque<u32>>,
    /// Types of pageblocks.
    pub(crate) types: Vec<Migratetype>,
    /// Frames in use that are on an LRU list.
    pub(crate) movable: Vec<bool>,
    pub(crate) events: Vec<Extfrag>,
    pub(crate) boosts: u32,
    reserved: u64,
    /// Frames that were ever free.
    pub(crate) frames: u64,
}

impl Naive {
    pub(crate) fn new(nr: u32, from: u32, rules: KernelRules) -> Naive {
        let mut n = Naive {
            rules,
            nr,
            lists: BTreeMap::new(),
            types: vec![Migratetype::Movable; nr.div_ceil(1 << rules.pageblock_order) as usize],
            movable: vec![false; nr as usize],
            events: Vec::new(),
            boosts: 0,
            reserved: 0,
            frames: (nr - from).into(),
        };
        let mut p = from;
        while p < nr {
            let mut order = 0;
            while order < rules.max_order && p.is_multiple_of(2 << order) && p + (2 << order) <= nr
            {
                order += 1;
            }
            n.insert(p, order, Migratetype::Movable, rules.free_init);
            p += 1 << order;
        }
        n
    }

    /// Blocks on a list, head first.
    pub(crate) fn on_list(&self, order: u8, mt: Migratetype) -> Vec<u32> {
        self.lists.get(&(order, mt)).into_iter().flatten().copied().collect()
    }

    /// The first frames of all free blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.values().flatten().copied()
    }

    fn list(&mut self, order: u8, mt: Migratetype) -> &mut VecDeque<u32> {
        self.lists.entry((order, mt)).or_default()
    }

    fn insert(&mut self, p: u32, order: u8, mt: Migratetype, end: End) {
        match end {
            End::Head => self.list(order, mt).push_front(p),
            End::Tail => self.list(order, mt).push_back(p),
        }
    }

    /// The list that the block `p` of this order is on.
    fn find(&self, p: u32, order: u8) -> Option<Migratetype> {
        let on = |&&(k, mt): &&(u8, Migratetype)| k == order && self.lists[&(k, mt)].contains(&p);
        self.lists.keys().find(on).map(|&(_, mt)| mt)
    }

    fn take(&mut self, p: u32, order: u8, mt: Migratetype) {
        self.list(order, mt).retain(|&x| x != p);
    }

    fn block(&self, p: u32) -> usize {
        (p >> self.rules.pageblock_order) as usize
    }

    pub(crate) fn set_type(&mut self, p: u32, mt: Migratetype) {
        let i = self.block(p);
        self.types[i] = mt;
    }

    fn set_types(&mut self, p: u32, order: u8, mt: Migratetype) {
        let step = 1 << self.rules.pageblock_order;
        for f in (p..p + (1 << order)).step_by(step) {
            self.set_type(f, mt);
        }
    }

    fn split(&mut self, p: u32, mut from: u8, order: u8, mt: Migratetype) -> u32 {
        while from > order {
            from -= 1;
            self.insert(p + (1 << from), from, mt, End::Head);
        }
        p
    }

    fn smallest(&mut self, order: u8, mt: Migratetype) -> Option<u32> {
        for k in order..=self.rules.max_order {
            if let Some(p) = self.list(k, mt).pop_front() {
                return Some(self.split(p, k, order, mt));
            }
        }
        None
    }

    pub(crate) fn alloc(&mut self, order: u8, mt: Migratetype, whole: bool) -> Option<u32> {
        let mut only_steal = false;
        self.alloc_in(order, mt, whole, &mut only_steal)
    }

    pub(crate) fn alloc_pages(&mut self, n: u32, mt: Migratetype, whole: bool) -> Vec<u32> {
        let mut only_steal = false;
        (0..n).map_while(|_| self.alloc_in(0, mt, whole, &mut only_steal)).collect()
    }

    fn alloc_in(
        &mut self,
        order: u8,
        mt: Migratetype,
        whole: bool,
        only_steal: &mut bool,
    ) -> Option<u32> {
        if !*only_steal {
            if let Some(p) = self.smallest(order, mt) {
                return Some(p);
            }
            if mt == Migratetype::Movable
                && let Some(p) = self.smallest(order, Migratetype::Cma)
            {
                return Some(p);
            }
        }
        let least = if whole { order.max(self.rules.pageblock_order) } else { order };
        match self.rules.fallback {
            Fallback::V4_1 => self.largest(order, mt),
            Fallback::V4_12 => self.steal_and_split(order, least, mt),
            Fallback::ClaimSteal => {
                if !*only_steal && let Some(p) = self.claim(order, least, mt) {
                    return Some(p);
                }
                if whole {
                    return None;
                }
                let p = self.steal(order, mt)?;
                *only_steal = true;
                Some(p)
            }
        }
    }

    /// The list head of just this order that the table of fallbacks names first.
    fn candidate(&mut self, order: u8, mt: Migratetype) -> Option<(u32, Migratetype)> {
        use Migratetype::{Movable, Reclaimable, Unmovable};
        let table = match mt {
            Unmovable => [Reclaimable, Movable],
            Movable => [Reclaimable, Unmovable],
            Reclaimable => [Unmovable, Movable],
            other => panic!("{other:?} is no type of a request"),
        };
        table.into_iter().find_map(|f| self.list(order, f).front().map(|&p| (p, f)))
    }

    fn may_steal(&self, order: u8, mt: Migratetype) -> bool {
        mt != Migratetype::Movable || order >= self.rules.pageblock_order / 2
    }

    fn event(&mut self, p: u32, order: u8, mt: Migratetype, found: (u8, Migratetype)) {
        let change_ownership = self.types[self.block(p)] == mt;
        self.events.push(Extfrag {
            pfn: Pfn(p),
            alloc_order: order,
            fallback_order: found.0,
            alloc_migratetype: mt,
            fallback_migratetype: found.1,
            change_ownership,
            fragmenting: found.0 < self.rules.pageblock_order,
        });
    }

    /// The free blocks of a pageblock by address.
    fn blocks_within(&self, p: u32) -> Vec<(u32, u8, Migratetype)> {
        let size = 1 << self.rules.pageblock_order;
        let start = p / size * size;
        (start..(start + size).min(self.nr))
            .filter_map(|f| {
                (0..=self.rules.pageblock_order).find_map(|k| Some((f, k, self.find(f, k)?)))
            })
            .collect()
    }

    fn move_all(&mut self, p: u32, to: Migratetype) -> u32 {
        let mut moved = 0;
        for (f, k, from) in self.blocks_within(p) {
            self.take(f, k, from);
            self.insert(f, k, to, self.rules.free_init);
            moved += 1 << k;
        }
        moved
    }

    fn largest(&mut self, order: u8, mt: Migratetype) -> Option<u32> {
        for k in (order..=self.rules.max_order).rev() {
            let Some((p, from)) = self.candidate(k, mt) else { continue };
            let mut on = from;
            if k >= self.rules.pageblock_order {
                self.set_types(p, k, mt);
            } else if self.may_steal(k, mt) {
                if self.move_all(p, mt) * 2 >= 1 << self.rules.pageblock_order {
                    self.set_type(p, mt);
                }
                on = mt;
            }
            self.take(p, k, on);
            self.split(p, k, order, mt);
            self.event(p, order, mt, (k, from));
            return Some(p);
        }
        None
    }

    /// True if free pages and pages of the same kind are half of the pageblock.
    fn claimable(&self, p: u32, mt: Migratetype) -> bool {
        let size = 1u32 << self.rules.pageblock_order;
        let free: u32 = self.blocks_within(p).iter().map(|b| 1 << b.1).sum();
        let start = p / size * size;
        let end = (start + size).min(self.nr);
        let movable = (start..end).filter(|&f| self.movable[f as usize]).count() as u32;
        let alike = if mt == Migratetype::Movable {
            movable
        } else if self.types[self.block(p)] == Migratetype::Movable {
            size - free - movable
        } else {
            0
        };
        (free + alike) * 2 >= size
    }

    fn steal_and_split(&mut self, order: u8, least: u8, mt: Migratetype) -> Option<u32> {
        let max = self.rules.max_order;
        let mut k = (least..=max).rev().find(|&k| self.candidate(k, mt).is_some())?;
        if !self.may_steal(k, mt) && k > order {
            k = (order..=max).find(|&k| self.candidate(k, mt).is_some())?;
        }
        let (p, from) = self.candidate(k, mt)?;
        let mut alone = true;
        if self.types[self.block(p)] == Migratetype::HighAtomic {
        } else if k >= self.rules.pageblock_order {
            self.set_types(p, k, mt);
        } else {
            self.boosts += 1;
            if self.may_steal(k, mt) {
                let claim = self.claimable(p, mt);
                self.move_all(p, mt);
                if claim {
                    self.set_type(p, mt);
                }
                alone = false;
            }
        }
        if alone {
            self.take(p, k, from);
            self.insert(p, k, mt, self.rules.free_init);
        }
        self.event(p, order, mt, (k, from));
        self.smallest(order, mt)
    }

    fn claim(&mut self, order: u8, least: u8, mt: Migratetype) -> Option<u32> {
        for k in (least..=self.rules.max_order).rev() {
            let Some((p, from)) = self.candidate(k, mt) else { continue };
            if !self.may_steal(k, mt) {
                return None;
            }
            if self.types[self.block(p)] == Migratetype::HighAtomic {
                continue;
            }
            if k >= self.rules.pageblock_order {
                self.take(p, k, from);
                self.set_types(p, k, mt);
                self.split(p, k, order, mt);
                self.event(p, order, mt, (k, from));
                return Some(p);
            }
            self.boosts += 1;
            if self.claimable(p, mt) {
                self.move_all(p, mt);
                self.set_type(p, mt);
                let got = self.smallest(order, mt).expect("the claimed block");
                self.event(got, order, mt, (k, from));
                return Some(got);
            }
        }
        None
    }

    fn steal(&mut self, order: u8, mt: Migratetype) -> Option<u32> {
        for k in order..=self.rules.max_order {
            if let Some((p, from)) = self.candidate(k, mt) {
                self.take(p, k, from);
                self.split(p, k, order, from);
                self.event(p, order, mt, (k, from));
                return Some(p);
            }
        }
        None
    }

    pub(crate) fn free(&mut self, p: u32, order: u8) {
        let block = self.rules.pageblock_order;
        if self.rules.merge_retypes && order > block {
            let pieces = 1 << (order - block);
            (0..pieces).for_each(|i| self.free_piece(p + (i << block), block));
        } else {
            self.free_piece(p, order);
        }
    }

    fn free_piece(&mut self, p: u32, order: u8) {
        let plain = |mt: Migratetype| Migratetype::REQUESTS.contains(&mt);
        let mt = self.types[self.block(p)];
        let (mut p, mut k) = (p, order);
        while k < self.rules.max_order {
            let buddy = p ^ (1 << k);
            let Some(on) = self.find(buddy, k) else { break };
            if k >= self.rules.pageblock_order {
                let other = self.types[self.block(buddy)];
                if other != mt && !(plain(other) && plain(mt)) {
                    break;
                }
                if self.rules.merge_retypes {
                    self.set_types(buddy, k, mt);
                }
            }
            self.take(buddy, k, on);
            p = p.min(buddy);
            k += 1;
        }
        // The block one order up that this one is half of has a buddy: if that is free, the
        // pair will be whole soon.
        let pair = p / (2 << k) * (2 << k);
        let soon = k + 1 < self.rules.max_order && self.find(pair ^ (2 << k), k + 1).is_some();
        self.insert(p, k, mt, if soon { End::Tail } else { End::Head });
    }

    pub(crate) fn isolate(&mut self, p: u32) -> u8 {
        let (order, mt) = (0..=self.rules.max_order)
            .find_map(|k| Some((k, self.find(p, k)?)))
            .expect("a free block");
        self.take(p, order, mt);
        if order + 1 >= self.rules.pageblock_order {
            let step = 1usize << self.rules.pageblock_order;
            for f in (p..p + (1 << order)).step_by(step) {
                if Migratetype::REQUESTS.contains(&self.types[self.block(f)]) {
                    self.move_all(f, Migratetype::Movable);
                    self.set_type(f, Migratetype::Movable);
                }
            }
        }
        order
    }

    pub(crate) fn reserve_highatomic(&mut self, p: u32, order: u8, managed: u64) {
        let size = 1u64 << self.rules.pageblock_order;
        let most = (managed / 100).div_ceil(size) * size;
        let plain = Migratetype::REQUESTS.contains(&self.types[self.block(p)]);
        if managed / 100 < size || self.reserved >= most || !plain {
            return;
        }
        if order < self.rules.pageblock_order {
            self.move_all(p, Migratetype::HighAtomic);
            self.set_type(p, Migratetype::HighAtomic);
            self.reserved += size;
        } else {
            self.set_types(p, order, Migratetype::HighAtomic);
            self.reserved += 1 << order;
        }
    }

    pub(crate) fn unreserve_highatomic(&mut self, to: Migratetype, force: bool) -> bool {
        let size = 1u64 << self.rules.pageblock_order;
        if self.reserved == 0 || !force && self.reserved <= size {
            return false;
        }
        for k in 0..=self.rules.max_order {
            let Some(&p) = self.list(k, Migratetype::HighAtomic).front() else { continue };
            if self.types[self.block(p)] == Migratetype::HighAtomic {
                self.reserved -= self.reserved.min(size.max(1 << k));
            }
            if k < self.rules.pageblock_order {
                self.move_all(p, to);
                self.set_type(p, to);
            } else {
                self.take(p, k, Migratetype::HighAtomic);
                self.insert(p, k, to, self.rules.free_init);
                self.set_types(p, k, to);
            }
            return true;
        }
        false
    }
}
