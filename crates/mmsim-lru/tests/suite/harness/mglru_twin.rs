//! The policy and its naive twin together: each operation is done to both, and all that can be
//! seen compared after it.

use crate::model::mglru::{Config, Naive, Page, Pte, Reclaim};

use crate::harness::mglru::Real;

pub(crate) struct Both {
    pub(crate) naive: Naive,
    /// None: the twin runs alone.
    real: Option<Real>,
}

/// Reads are the same of both.
impl std::ops::Deref for Both {
    type Target = Naive;
    fn deref(&self) -> &Naive {
        &self.naive
    }
}

impl Both {
    /// With some regions: letter, file, first virtual page, pages.
    pub(crate) fn new(config: Config, regions: &[(char, Option<char>, u32, u32)]) -> Both {
        let mut both = Both { naive: Real::naive(config), real: Some(Real::new(&config)) };
        for &(letter, file, va, pages) in regions {
            both.naive.map(letter, file, va, pages);
            both.with_real(|r| r.map(letter, file, va, pages));
        }
        both
    }

    /// The twin alone, to see what steps do.
    pub(crate) fn alone(naive: Naive) -> Both {
        Both { naive, real: None }
    }

    fn with_real(&mut self, act: impl FnOnce(&mut Real)) {
        if let Some(real) = &mut self.real {
            act(real);
        }
    }

    /// Compares everything.
    pub(crate) fn compare(&mut self) {
        self.naive.check();
        if let Some(real) = &mut self.real {
            real.compare(&self.naive);
        }
    }

    /// The audits of the machine and the policy, which take their time.
    pub(crate) fn check(&self) {
        self.real.iter().for_each(Real::check);
    }

    pub(crate) fn touch(&mut self, region: char, number: u32, write: bool) {
        self.naive.touch(region, number, write);
        self.with_real(|r| r.touch(region, number, write));
    }
    pub(crate) fn read(&mut self, page: Page) {
        self.naive.read(page);
        self.with_real(|r| r.read(page));
    }
    pub(crate) fn write(&mut self, page: Page) {
        self.naive.write(page);
        self.with_real(|r| r.write(page));
    }
    pub(crate) fn madvise_free(&mut self, region: char, number: u32) {
        self.naive.madvise_free(region, number);
        self.with_real(|r| r.madvise_free(region, number));
    }
    pub(crate) fn drop_page(&mut self, region: char, number: u32) {
        self.naive.drop_page(region, number);
        self.with_real(|r| r.drop_page(region, number));
    }

    /// Sets the accessed and the dirty bit of a page of anonymous memory.
    pub(crate) fn set_pte(&mut self, region: char, number: u32, young: bool, dirty: bool) {
        let page = Page(region, number);
        *self.naive.folios.get_mut(&page).unwrap().maps.at(page) = Pte { young, dirty };
        self.with_real(|r| r.set_pte(region, number, young, dirty));
    }

    /// Folios that are there, are mapped at most once, and to be called cold.
    pub(crate) fn deactivate(&mut self, page: Page) {
        if self.naive.folios.get(&page).is_some_and(|f| f.maps.nr() == 1) {
            self.naive.deactivate(page);
            self.with_real(|r| r.deactivate(page));
        }
    }
    /// Pages of a file, if they are dirty.
    pub(crate) fn flush(&mut self, page: Page) {
        if self.naive.folios.get(&page).is_some_and(|f| f.dirty) {
            self.naive.flush(page);
            self.with_real(|r| r.flush(page));
        }
    }
    /// Takes a clean page of a file without mappings out of the cache.
    pub(crate) fn forget(&mut self, page: Page) {
        if self.naive.folios.get(&page).is_some_and(|f| !f.dirty && f.maps.nr() == 0) {
            self.naive.forget(page);
            self.with_real(|r| r.forget(page));
        }
    }

    pub(crate) fn age(&mut self) -> bool {
        let can_swap = self.naive.swappiness(&Reclaim::KSWAPD) > 0;
        let aged = self.naive.age(can_swap);
        self.with_real(|r| assert_eq!(r.age(can_swap), aged));
        self.compare();
        aged
    }
    pub(crate) fn evict(&mut self, by: &Reclaim) -> u64 {
        let scanned = self.naive.evict(by);
        self.with_real(|r| assert_eq!(r.evict(by), scanned, "what counts as scanned"));
        self.compare();
        scanned
    }
    /// A pass at a priority.
    pub(crate) fn shrink(&mut self, by: &Reclaim, priority: u8) {
        self.naive.shrink(by, priority.into(), u64::MAX);
        self.with_real(|r| r.shrink(by, priority));
        self.compare();
    }
}
