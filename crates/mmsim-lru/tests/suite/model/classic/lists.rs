//! The four lists, and what can be seen of a state.

use super::{ANON, FILE, KernelModel, Page, PageId, State};
use mmsim_core::base::settings::OrNumber;
use mmsim_lru::config::AnonRatio;

impl KernelModel {
    /// Sizes of the four lists.
    pub(crate) fn sizes(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|l| self.lists[l].len() as u64)
    }

    pub(super) fn inactive_is_low(&self, page_type: usize) -> bool {
        let sizes = self.sizes();
        let (inactive, active) = (sizes[2 * page_type], sizes[2 * page_type + 1]);
        let gib = (inactive + active) / (1 << 18);
        let mut ratio = 1;
        if gib > 0
            && !(page_type == ANON && self.config.anon_ratio == OrNumber::Word(AnonRatio::One))
        {
            while (ratio + 1) * (ratio + 1) <= 10 * gib {
                ratio += 1;
            }
        }
        inactive * ratio < active
    }

    /// A page leaves its batch of one. `rotated`: it counts as rotated even if it is inactive.
    pub(super) fn add(&mut self, id: PageId, page: Page, rotated: bool) {
        let clash = self.pages.insert(id, page).is_some() || self.out.contains_key(&id);
        assert!(!clash, "page {id} exists");
        self.lists[page.list()].insert(0, id);
        self.count_rotate(page.page_type(), 1, u64::from(page.active || rotated));
    }

    /// `activate` of a page on a list.
    pub(super) fn activate(&mut self, id: PageId) {
        let page = *self.page(id);
        if page.active {
            return;
        }
        self.take_off(id);
        self.put_on(id, Page { active: true, ..page });
        self.counters.pgactivate += 1;
        self.count_rotate(page.page_type(), 1, 1);
    }

    /// Up to `n` pages from the tail, oldest first.
    pub(super) fn isolate(&mut self, list: usize, n: u64) -> Vec<PageId> {
        let mut taken = Vec::new();
        while (taken.len() as u64) < n {
            match self.lists[list].pop() {
                Some(id) => taken.push(id),
                None => break,
            }
        }
        taken
    }

    pub(super) fn take_off(&mut self, id: PageId) {
        let list = &mut self.lists[self.pages[&id].list()];
        let i = list.iter().position(|p| *p == id).expect("on its list");
        list.remove(i);
    }

    /// At the head of the list that the flags name.
    pub(super) fn put_on(&mut self, id: PageId, page: Page) {
        self.pages.insert(id, page);
        self.lists[page.list()].insert(0, id);
    }

    pub(super) fn page(&mut self, id: PageId) -> &mut Page {
        self.pages.get_mut(&id).unwrap_or_else(|| panic!("page {id} is not resident"))
    }

    /// Resident pages, in order of id.
    pub(crate) fn resident(&self) -> Vec<PageId> {
        self.pages.keys().copied().collect()
    }

    /// Pages that can come back, in order of id.
    pub(crate) fn evicted(&self) -> Vec<PageId> {
        self.out.keys().copied().collect()
    }

    pub(crate) fn flags(&self, id: PageId) -> Page {
        self.pages[&id]
    }

    pub(crate) fn state(&self) -> State {
        State {
            lists: self.lists.clone().map(|l| l.into_iter().rev().collect()),
            pages: self.pages.clone(),
            shadows: self.shadows.clone(),
            age: [self.age(ANON), self.age(FILE)],
            cost: self.cost,
            scanned: self.scanned,
            rotated: self.rotated,
            swap_used: self.swap_used,
            counters: self.counters,
        }
    }

    /// Panics unless the model is sound; `before` is an earlier state of it.
    pub(crate) fn check(&self, before: &State) {
        let now = self.state();
        let mut listed = 0;
        for (list, ids) in self.lists.iter().enumerate() {
            listed += ids.len();
            for id in ids {
                assert_eq!(self.pages[id].list(), list, "page {id}");
            }
        }
        assert_eq!(listed, self.pages.len(), "each page is on one list");
        let c = &self.counters;
        let scanned = c.pgscan_kswapd + c.pgscan_direct;
        let stolen = c.pgsteal_kswapd + c.pgsteal_direct;
        assert_eq!(stolen + c.kept + c.scan_activated, scanned);
        assert_eq!(
            (c.pgscan.iter().sum::<u64>(), c.pgsteal.iter().sum::<u64>()),
            (scanned, stolen)
        );
        assert!(self.swap_used <= self.swap_slots);
        assert_eq!(self.swap_used, self.out.values().filter(|file| !**file).count() as u64);
        for t in [ANON, FILE] {
            assert!(now.age[t] >= before.age[t], "ages never decrease");
            // What was scanned as the one type may be activated as the other.
            assert!(self.rotated[t] <= self.scanned[t] + self.converted);
            assert!(c.restore[t] <= c.activate[t] && c.activate[t] <= c.refault[t]);
        }
        for (id, shadow) in &self.shadows {
            assert!(shadow.age <= self.age(usize::from(self.out[id])));
        }
    }
}
