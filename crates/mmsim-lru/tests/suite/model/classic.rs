//! The twin of the whole policy: four lists, batches of 32, priorities, scan balance, refaults.
//!
//! One zone, one memory cgroup, LRU batches of one page (so a page is on its list as soon as it is
//! added), swap on a synchronous device, every page mapped at most once. The caller owns the
//! frames: it decides when to shrink and passes the free pages of the moment. Every step is written
//! as the rule says it; nothing is shared with the policy, not even formulas.
//!
//! Left out: locked pages, pages under writeback, pins and shmem, huge pages, limits of groups,
//! reclaim that may not unmap or write. A dirty file page is marked and activated by the
//! inactive scan (the node never counts as full of dirty pages); [`KernelModel::clean`] ends its
//! write without moving it.
//!
//! Compare [`KernelModel::state`] with the policy after every call.

mod lists;
mod op;
mod reclaim;
mod refault;

pub(crate) use op::Op;

use mmsim_lru::config::{
    AgeModel, AnonStart, BalanceModel, ClassicConfig, LazyfreePlace, NewAnonRotated, Settings as _,
};
use reclaim::{BATCH, Verdict};
use std::collections::BTreeMap;

/// A page: an anonymous page of some process, or a page of some file, resident or not.
pub(crate) type PageId = u32;

pub(crate) const ANON: usize = 0;
pub(crate) const FILE: usize = 1;

/// Flags and bits of a resident page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Page {
    pub(crate) file: bool,
    pub(crate) active: bool,
    pub(crate) referenced: bool,
    pub(crate) workingset: bool,
    pub(crate) mapped: bool,
    /// The accessed bit of the one mapping.
    pub(crate) young: bool,
    /// The mapping is executable.
    pub(crate) exec: bool,
    /// File pages only: anonymous pages are always written.
    pub(crate) dirty: bool,
    /// An anonymous page that its owner freed lazily; it counts as a file's.
    pub(crate) lazy: bool,
    /// Such a page was written since.
    pub(crate) rewritten: bool,
}

impl Page {
    fn page_type(&self) -> usize {
        usize::from(self.file || self.lazy)
    }
    /// Inactive and active anonymous, inactive and active file.
    fn list(&self) -> usize {
        2 * self.page_type() + usize::from(self.active)
    }
}

/// Record that an eviction leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shadow {
    pub(crate) age: u64,
    pub(crate) workingset: bool,
}

/// Who reclaims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Kswapd,
    Direct,
}

/// One pass over the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pass {
    /// 12 down to 0.
    pub(crate) priority: u32,
    /// Number of reclaimed pages at which the pass stops, in proportion.
    pub(crate) target: u64,
    pub(crate) kind: Kind,
    pub(crate) may_swap: bool,
    pub(crate) force_deactivate: bool,
    /// The second run of kswapd in 6.12.
    pub(crate) no_cache_trim: bool,
    /// Free pages before the pass.
    pub(crate) free: u64,
    /// Sum of the high watermarks.
    pub(crate) high_watermarks: u64,
}

impl Pass {
    pub(crate) fn new(priority: u32, target: u64, kind: Kind) -> Pass {
        Pass {
            priority,
            target,
            kind,
            may_swap: true,
            force_deactivate: false,
            no_cache_trim: false,
            free: 0,
            high_watermarks: 0,
        }
    }
}

/// Outcome of a pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// Inactive pages that were judged.
    pub(crate) scanned: u64,
    pub(crate) reclaimed: u64,
    /// In the order in which their frames become free; without those freed lazily.
    pub(crate) evicted: Vec<PageId>,
    /// An active list had work and was not permitted.
    pub(crate) skipped_deactivate: bool,
    /// Anonymous pages were left alone because of inactive file pages.
    pub(crate) cache_trim_mode: bool,
}

/// Counters; those that exist per type in some release are kept per type always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) pgscan_kswapd: u64,
    pub(crate) pgscan_direct: u64,
    pub(crate) pgsteal_kswapd: u64,
    pub(crate) pgsteal_direct: u64,
    pub(crate) pgscan: [u64; 2],
    pub(crate) pgsteal: [u64; 2],
    pub(crate) pgactivate: u64,
    pub(crate) pgdeactivate: u64,
    pub(crate) pgrefill: u64,
    pub(crate) pswpin: u64,
    pub(crate) pswpout: u64,
    pub(crate) refault: [u64; 2],
    pub(crate) activate: [u64; 2],
    pub(crate) restore: [u64; 2],
    /// Pages that the inactive scan kept, for whatever reason.
    pub(crate) kept: u64,
    /// Pages that the inactive scan activated, for whatever reason.
    pub(crate) scan_activated: u64,
    /// Dirty file pages marked for immediate reclaim.
    pub(crate) vmscan_immediate: u64,
    pub(crate) pglazyfree: u64,
    pub(crate) pglazyfreed: u64,
}

/// All that can be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct State {
    /// Inactive and active anonymous, inactive and active file; **tail to head**.
    pub(crate) lists: [Vec<PageId>; 4],
    pub(crate) pages: BTreeMap<PageId, Page>,
    pub(crate) shadows: BTreeMap<PageId, Shadow>,
    /// As a page of either type sees it: the same number twice if there is one age for both.
    pub(crate) age: [u64; 2],
    pub(crate) cost: [u64; 2],
    pub(crate) scanned: [u64; 2],
    pub(crate) rotated: [u64; 2],
    pub(crate) swap_used: u64,
    pub(crate) counters: Counters,
}

#[derive(Clone, Debug)]
pub(crate) struct KernelModel {
    config: ClassicConfig,
    swappiness: u64,
    swap_slots: u64,
    /// Index 0 is the head.
    lists: [Vec<PageId>; 4],
    pages: BTreeMap<PageId, Page>,
    /// Pages that were evicted and can come back; whether they are file pages.
    out: BTreeMap<PageId, bool>,
    shadows: BTreeMap<PageId, Shadow>,
    /// Per type under `per-type`, else only the second is used.
    ages: [u64; 2],
    cost: [u64; 2],
    /// Costs that count from the next pass on, in the model of 7.3.
    pending: [u64; 2],
    scanned: [u64; 2],
    rotated: [u64; 2],
    /// Activated refaults at the end of the last run.
    snapshot: [u64; 2],
    swap_used: u64,
    /// Reclaimable slab, for the index slip of the first posting.
    pub(crate) slab_reclaimable: u64,
    pub(crate) counters: Counters,
    /// Lazily freed pages that scans found written, and so of the other type.
    converted: u64,
}

impl KernelModel {
    pub(crate) fn new(config: ClassicConfig, swappiness: u64, swap_slots: u64) -> KernelModel {
        config.validate().unwrap();
        KernelModel {
            config,
            swappiness,
            swap_slots,
            lists: Default::default(),
            pages: BTreeMap::new(),
            out: BTreeMap::new(),
            shadows: BTreeMap::new(),
            ages: [0; 2],
            cost: [0; 2],
            pending: [0; 2],
            scanned: [0; 2],
            rotated: [0; 2],
            snapshot: [0; 2],
            swap_used: 0,
            slab_reclaimable: 0,
            counters: Counters::default(),
            converted: 0,
        }
    }

    /// A zero-fill fault: mapped, young.
    pub(crate) fn add_new_anon(&mut self, id: PageId) {
        let active = self.config.anon_start == AnonStart::Active;
        let page = Page { active, mapped: true, young: true, ..Page::default() };
        let forced = self.config.new_anon_rotated != NewAnonRotated::ByActive;
        self.add(id, page, forced);
    }

    /// A page that was read for the first time: unmapped, clean.
    pub(crate) fn add_new_file(&mut self, id: PageId) {
        self.add(id, Page { file: true, ..Page::default() }, false);
    }

    /// A page that was evicted is read again: from its slot (then mapped, young) or from its file.
    pub(crate) fn refault(&mut self, id: PageId) {
        let file = self.out.remove(&id).expect("an evicted page");
        let mut page = Page { file, mapped: !file, young: !file, ..Page::default() };
        // The slot still counts as used while the shadow is judged.
        if let Some(shadow) = self.shadows.remove(&id) {
            self.judge_refault(&mut page, shadow);
        }
        if !file {
            self.counters.pswpin += 1;
            self.swap_used -= 1;
            if self.config.balance_model == BalanceModel::Cost58 {
                self.note_cost(ANON, 1);
            }
        }
        let all_anon = !file && self.config.new_anon_rotated == NewAnonRotated::AllAnon;
        self.add(id, page, all_anon);
        if !file && self.config.swapin_activate {
            self.activate(id);
        }
    }

    /// A mapped access: the hardware sets the accessed bit.
    pub(crate) fn touch(&mut self, id: PageId) {
        let page = self.page(id);
        assert!(page.mapped);
        page.young = true;
    }

    /// A mapped access that writes an anonymous page.
    pub(crate) fn write(&mut self, id: PageId) {
        let page = self.page(id);
        assert!(page.mapped && !page.file);
        page.young = true;
        page.rewritten = page.lazy;
    }

    /// `MADV_FREE` of an anonymous page, resident or not.
    pub(crate) fn free_lazily(&mut self, id: PageId) {
        let Some(&page) = self.pages.get(&id) else { return self.free(id) };
        assert!(!page.file);
        if page.lazy {
            *self.page(id) = Page { young: false, rewritten: false, ..page };
            return;
        }
        self.take_off(id);
        let bits = Page { active: false, referenced: false, young: false, ..page };
        self.put_on(id, Page { lazy: true, ..bits });
        if self.config.lazyfree == LazyfreePlace::Tail {
            // The head is the front.
            self.lists[2 * FILE].rotate_left(1);
        }
        self.counters.pglazyfree += 1;
        self.count_rotate(FILE, 1, 0);
    }

    /// The policy's part of `MADV_PAGEOUT`: a page that was taken off its list is reclaimed or
    /// put back, by way of the batch.
    pub(crate) fn page_out(&mut self, id: PageId, ignore_references: bool) -> Option<PageId> {
        self.take_off(id);
        self.page(id).active = false;
        let verdict = match ignore_references {
            true => Verdict::Reclaim,
            false => self.check_references(id),
        };
        let (verdict, wrote) = self.reclaim_judged(id, verdict);
        if wrote && self.config.balance_model == BalanceModel::Cost73 {
            self.pending[ANON] += 32;
        }
        match verdict {
            Verdict::Drop => return None,
            Verdict::Reclaim => return Some(id),
            Verdict::Keep => {}
            Verdict::Activate => {
                self.page(id).active = true;
                self.counters.pgactivate += 1;
                if self.config.age_on_scan_activation {
                    self.advance_age(self.pages[&id].page_type(), 1);
                }
            }
        }
        let page = self.pages.remove(&id).unwrap();
        let all_anon = self.config.new_anon_rotated == NewAnonRotated::AllAnon;
        self.add(id, page, all_anon && page.page_type() == ANON);
        None
    }

    /// A fault maps a file page.
    pub(crate) fn map(&mut self, id: PageId, exec: bool) {
        let page = self.page(id);
        assert!(page.file && !page.mapped);
        *page = Page { mapped: true, young: true, exec, ..*page };
    }

    /// A process unmaps a file page; a young mapping counts as an access.
    pub(crate) fn unmap(&mut self, id: PageId) {
        let page = self.page(id);
        assert!(page.file && page.mapped);
        let young = page.young;
        *page = Page { mapped: false, young: false, exec: false, ..*page };
        if young {
            self.mark_accessed(id);
        }
    }

    /// An access by system call.
    pub(crate) fn mark_accessed(&mut self, id: PageId) {
        let page = self.page(id);
        if !page.referenced {
            page.referenced = true;
        } else if !page.active {
            let page_type = page.page_type();
            self.activate(id);
            self.page(id).referenced = false;
            if page_type == FILE || self.config.age_model == AgeModel::Unified {
                self.advance_age(page_type, 1);
            }
        }
    }

    /// A file page is written to.
    pub(crate) fn dirty(&mut self, id: PageId) {
        let page = self.page(id);
        assert!(page.file);
        page.dirty = true;
    }

    /// The write of a file page has ended.
    pub(crate) fn clean(&mut self, id: PageId) {
        self.page(id).dirty = false;
    }

    /// The policy's part of `MADV_COLD`: only active pages move.
    pub(crate) fn deactivate(&mut self, id: PageId) {
        let page = *self.page(id);
        if !page.active {
            return;
        }
        self.take_off(id);
        self.put_on(id, Page { active: false, referenced: false, ..page });
        self.counters.pgdeactivate += 1;
        self.count_rotate(page.page_type(), 1, 0);
    }

    /// The page, or its slot, is given up by its owner.
    pub(crate) fn free(&mut self, id: PageId) {
        if self.pages.contains_key(&id) {
            self.take_off(id);
            self.pages.remove(&id);
        } else {
            let file = self.out.remove(&id).expect("a page");
            self.shadows.remove(&id);
            self.swap_used -= u64::from(!file);
        }
    }

    /// Aging by kswapd before each pass.
    pub(crate) fn age_node(&mut self) {
        if self.swap_slots > 0 && self.inactive_is_low(ANON) {
            self.shrink_active(ANON, BATCH);
        }
    }

    /// The end of a direct reclaim or of a kswapd run.
    pub(crate) fn finish_run(&mut self) {
        self.snapshot = self.counters.activate;
    }
}
