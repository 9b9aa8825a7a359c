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

use mmsim_lru::config::{
    AgeModel, AnonRatio, AnonRefRule, AnonStart, BalanceModel, ClassicConfig, Knobs as _,
    LazyfreePlace, NewAnonRotated, ScanRounding, WsThreshold,
};
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

/// What an eviction leaves behind.
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
    /// Stop, in proportion, once so many pages were reclaimed.
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

/// What a pass did.
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

/// What the inactive scan decides about one page by its references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Activate,
    Keep,
    Reclaim,
    /// Gone, and it will not come back.
    Drop,
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

/// The most pages that are taken off a list at once, and that the unconditional demotion scans.
const BATCH: u64 = 32;

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

    // ---- What the rest of the kernel reports
    // -------------------------------------------------------

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

    /// What kswapd does before each pass.
    pub(crate) fn age_node(&mut self) {
        if self.swap_slots > 0 && self.inactive_is_low(ANON) {
            self.shrink_active(ANON, BATCH);
        }
    }

    /// The end of a direct reclaim or of a kswapd run.
    pub(crate) fn finish_run(&mut self) {
        self.snapshot = self.counters.activate;
    }

    // ---- Reclaim
    // -----------------------------------------------------------------------------------

    /// One pass over the node, which has one lruvec.
    pub(crate) fn shrink_node(&mut self, pass: Pass) -> Outcome {
        if self.config.balance_model == BalanceModel::Cost73 {
            for t in [ANON, FILE] {
                self.cost[t] += std::mem::take(&mut self.pending[t]);
            }
            let quarter = self.sizes().iter().sum::<u64>() / 4;
            while self.cost[ANON] + self.cost[FILE] > quarter {
                self.cost = self.cost.map(|c| c / 2);
            }
        }
        // Whether the active lists may be scanned.
        let fresh = [ANON, FILE].map(|t| self.counters.activate[t] != self.snapshot[t]);
        // One counter for all refaults is that of file pages.
        let opened = if self.config.ws_split { fresh } else { [false, fresh[ANON] || fresh[FILE]] };
        let may_deactivate =
            [ANON, FILE].map(|t| pass.force_deactivate || self.inactive_is_low(t) || opened[t]);
        let [inactive_anon, _, inactive_file, active_file] = self.sizes();
        let cache_trim_mode =
            (inactive_file >> pass.priority) > 0 && !may_deactivate[FILE] && !pass.no_cache_trim;
        let file_is_tiny = inactive_file + active_file + pass.free <= pass.high_watermarks
            && !may_deactivate[ANON]
            && (inactive_anon >> pass.priority) > 0;

        let mut outcome = Outcome { cache_trim_mode, ..Outcome::default() };
        let targets = self.scan_count(pass, cache_trim_mode, file_is_tiny);
        self.shrink_lruvec(pass, targets, may_deactivate, &mut outcome);
        outcome
    }

    /// How many pages of each list to scan.
    fn scan_count(&mut self, pass: Pass, cache_trim_mode: bool, file_is_tiny: bool) -> [u64; 4] {
        let base = self.sizes().map(|s| s >> pass.priority);
        let only = |t: usize| {
            let mut nr = [0; 4];
            nr[2 * t] = base[2 * t];
            nr[2 * t + 1] = base[2 * t + 1];
            nr
        };
        if !pass.may_swap || self.swap_used == self.swap_slots {
            return only(FILE);
        }
        if pass.priority == 0 && self.swappiness > 0 {
            return base;
        }
        if file_is_tiny {
            return only(ANON);
        }
        if cache_trim_mode {
            return only(FILE);
        }
        let s = self.swappiness;
        let (ap, fp, denominator);
        if self.config.balance_model == BalanceModel::Rotate {
            let [ia, aa, inf, af] = self.sizes();
            for (t, pages) in [(ANON, ia + aa), (FILE, inf + af)] {
                if self.scanned[t] > pages / 4 {
                    self.scanned[t] /= 2;
                    self.rotated[t] /= 2;
                }
            }
            ap = s * (self.scanned[ANON] + 1) / (self.rotated[ANON] + 1);
            fp = (200 - s) * (self.scanned[FILE] + 1) / (self.rotated[FILE] + 1);
            denominator = ap + fp + 1;
        } else {
            let t = self.cost[ANON] + self.cost[FILE];
            let a = t + self.cost[ANON];
            let f = t + self.cost[FILE];
            ap = s * (a + f + 1) / (a + 1);
            fp = (200 - s) * (a + f + 1) / (f + 1);
            denominator = ap + fp;
        }
        let share = |list: usize| {
            let n = base[list] * if list < 2 { ap } else { fp };
            match self.config.scan_rounding {
                ScanRounding::Down => n / denominator,
                ScanRounding::Up => n / denominator + u64::from(!n.is_multiple_of(denominator)),
            }
        };
        [share(0), share(1), share(2), share(3)]
    }

    /// The scan loop.
    fn shrink_lruvec(
        &mut self,
        pass: Pass,
        targets: [u64; 4],
        may_deactivate: [bool; 2],
        outcome: &mut Outcome,
    ) {
        let mut nr = targets;
        let proportional = pass.kind == Kind::Direct && pass.priority == 12;
        let mut adjusted = false;
        // The active anonymous list alone does not keep the loop alive.
        while nr[0] > 0 || nr[2] > 0 || nr[3] > 0 {
            for (list, left) in nr.iter_mut().enumerate() {
                let n = (*left).min(BATCH);
                *left -= n;
                let (page_type, active) = (list / 2, list % 2 == 1);
                if n == 0 {
                    continue;
                } else if !active {
                    self.shrink_inactive(page_type, n, pass.kind, outcome);
                } else if may_deactivate[page_type] {
                    self.shrink_active(page_type, n);
                } else {
                    outcome.skipped_deactivate = true;
                }
            }
            if outcome.reclaimed < pass.target || proportional || adjusted {
                continue;
            }
            let anon = nr[0] + nr[1];
            let file = nr[2] + nr[3];
            if anon == 0 || file == 0 {
                break;
            }
            let (small, small_left) = if anon < file { (ANON, anon) } else { (FILE, file) };
            let large = 1 - small;
            let percent = 100 * small_left / (targets[2 * small] + targets[2 * small + 1] + 1);
            for list in [2 * small, 2 * small + 1] {
                nr[list] = 0;
            }
            for list in [2 * large, 2 * large + 1] {
                let scanned = targets[list] - nr[list];
                let wanted = targets[list] * (100 - percent) / 100;
                nr[list] = wanted.saturating_sub(scanned);
            }
            adjusted = !self.config.stop_after_adjust;
        }
        // Needs no permission.
        if self.swap_slots > 0 && self.inactive_is_low(ANON) {
            self.shrink_active(ANON, BATCH);
        }
    }

    fn shrink_active(&mut self, page_type: usize, n: u64) {
        let taken = self.isolate(2 * page_type + 1, n);
        self.counters.pgrefill += taken.len() as u64;
        self.count_rotate(page_type, taken.len() as u64, 0);
        let rotate_model = self.config.balance_model == BalanceModel::Rotate;
        let (mut kept, mut rotated) = (0, 0);
        for id in taken {
            let page = self.pages.get_mut(&id).unwrap();
            if page_type == ANON && !self.config.anon_demote_clears_young {
                page.referenced = false;
            } else if std::mem::take(&mut page.young) {
                let stays = page.exec && page.file;
                rotated += u64::from(stays || rotate_model);
                if stays {
                    kept += 1;
                    let page = *page;
                    self.put_on(id, page);
                    continue;
                }
            }
            page.active = false;
            page.workingset = true;
            let page = *page;
            self.put_on(id, page);
            self.counters.pgdeactivate += 1;
        }
        self.count_rotate(page_type, 0, rotated);
        if self.config.age_model == AgeModel::Unified {
            self.advance_age(page_type, kept);
        }
        match self.config.balance_model {
            BalanceModel::Cost612 if rotated > 0 => self.note_cost(page_type, rotated),
            BalanceModel::Cost73 => self.pending[page_type] += rotated,
            _ => {}
        }
    }

    fn shrink_inactive(&mut self, page_type: usize, n: u64, kind: Kind, outcome: &mut Outcome) {
        let taken = self.isolate(2 * page_type, n);
        let nr_taken = taken.len() as u64;
        self.counters.pgscan[page_type] += nr_taken;
        match kind {
            Kind::Kswapd => self.counters.pgscan_kswapd += nr_taken,
            Kind::Direct => self.counters.pgscan_direct += nr_taken,
        }
        if nr_taken == 0 {
            return;
        }
        self.count_rotate(page_type, nr_taken, 0);

        let mut put_back = Vec::new();
        let (mut reclaimed, mut activated, mut pageout) = (0, [0; 2], 0);
        for id in taken {
            outcome.scanned += 1;
            let (verdict, wrote) = self.shrink_page(id);
            pageout += u64::from(wrote);
            match verdict {
                Verdict::Reclaim => {
                    reclaimed += 1;
                    outcome.evicted.push(id);
                    continue;
                }
                Verdict::Drop => {
                    reclaimed += 1;
                    continue;
                }
                Verdict::Keep => self.counters.kept += 1,
                Verdict::Activate => {
                    let page = self.pages.get_mut(&id).unwrap();
                    page.active = true;
                    // A page that turned out to be written is of the other type by now.
                    let its_type = page.page_type();
                    activated[its_type] += 1;
                    self.counters.pgactivate += 1;
                    self.counters.scan_activated += 1;
                    if self.config.age_on_scan_activation {
                        self.advance_age(its_type, 1);
                    }
                }
            }
            put_back.push(id);
        }
        for id in put_back {
            let page = self.pages[&id];
            self.put_on(id, page);
        }
        if self.config.age_model == AgeModel::Unified {
            self.advance_age(page_type, activated.iter().sum());
        }
        for t in [ANON, FILE] {
            self.count_rotate(t, 0, activated[t]);
        }
        outcome.reclaimed += reclaimed;
        self.counters.pgsteal[page_type] += reclaimed;
        match kind {
            Kind::Kswapd => self.counters.pgsteal_kswapd += reclaimed,
            Kind::Direct => self.counters.pgsteal_direct += reclaimed,
        }
        // Reported even if it is 0: the costs are compared with the lists each time.
        match self.config.balance_model {
            BalanceModel::Rotate => {}
            BalanceModel::Cost58 | BalanceModel::Cost59 => self.note_cost(page_type, pageout),
            BalanceModel::Cost612 => {
                self.note_cost(page_type, 32 * pageout + (nr_taken - reclaimed));
            }
            BalanceModel::Cost73 => {
                self.pending[page_type] += 32 * pageout + (nr_taken - reclaimed);
            }
        }
    }

    /// What becomes of one isolated page, and whether reclaim wrote it.
    fn shrink_page(&mut self, id: PageId) -> (Verdict, bool) {
        let verdict = self.check_references(id);
        self.reclaim_judged(id, verdict)
    }

    fn reclaim_judged(&mut self, id: PageId, verdict: Verdict) -> (Verdict, bool) {
        if verdict != Verdict::Reclaim {
            return (verdict, false);
        }
        let page = self.pages.get_mut(&id).unwrap();
        if page.rewritten {
            page.lazy = false;
            page.rewritten = false;
            self.converted += 1;
            return (Verdict::Activate, false);
        }
        if page.lazy {
            self.pages.remove(&id);
            self.counters.pglazyfreed += 1;
            return (Verdict::Drop, false);
        }
        if !page.file && self.swap_used == self.swap_slots {
            return (Verdict::Activate, false);
        }
        page.mapped = false;
        page.young = false;
        page.exec = false;
        if page.file && page.dirty {
            self.counters.vmscan_immediate += 1;
            return (Verdict::Activate, false);
        }
        let page = self.pages.remove(&id).unwrap();
        if !page.file {
            self.swap_used += 1;
            self.counters.pswpout += 1;
        }
        self.leave_shadow(id, page);
        (Verdict::Reclaim, !page.file)
    }

    /// Asks for references, which clears them.
    fn check_references(&mut self, id: PageId) -> Verdict {
        let rule = self.config.anon_ref_rule;
        let page = self.pages.get_mut(&id).unwrap();
        let refs = u32::from(std::mem::take(&mut page.young));
        let before = std::mem::take(&mut page.referenced);
        if refs == 0 {
            return Verdict::Reclaim;
        }
        if page.page_type() == ANON {
            match rule {
                AnonRefRule::OneTouch => return Verdict::Activate,
                AnonRefRule::TwoTouchV1 if before => return Verdict::Activate,
                AnonRefRule::TwoTouchV1 => {
                    page.referenced = true;
                    return Verdict::Keep;
                }
                AnonRefRule::MappedFileRule | AnonRefRule::V6_1 | AnonRefRule::V6_12 => {}
            }
        }
        page.referenced = true;
        if before || refs > 1 || (page.file && page.exec) {
            Verdict::Activate
        } else {
            Verdict::Keep
        }
    }

    // ---- Ages, shadows, refaults
    // -------------------------------------------------------------------

    fn leave_shadow(&mut self, id: PageId, page: Page) {
        self.out.insert(id, page.file);
        let moves_age =
            page.file || self.config.age_model == AgeModel::Unified || self.config.anon_workingset;
        let before = self.age(page.page_type());
        self.advance_age(page.page_type(), u64::from(moves_age));
        if page.file || self.config.anon_workingset {
            let after = self.age(page.page_type());
            let age = if self.config.shadow_e_includes_self { after } else { before };
            self.shadows.insert(id, Shadow { age, workingset: page.workingset });
        }
    }

    fn judge_refault(&mut self, page: &mut Page, shadow: Shadow) {
        let t = page.page_type();
        self.counters.refault[t] += 1;
        let distance = self.age(t) - shadow.age;
        if distance > self.threshold(t) {
            return;
        }
        page.active = true;
        self.advance_age(t, 1);
        self.counters.activate[t] += 1;
        if shadow.workingset {
            page.workingset = true;
            self.counters.restore[t] += 1;
            match self.config.balance_model {
                BalanceModel::Rotate => {}
                // For file pages: an anonymous page has paid when it was read.
                BalanceModel::Cost58 if t == ANON => {}
                BalanceModel::Cost58 | BalanceModel::Cost59 => self.note_cost(t, 1),
                BalanceModel::Cost612 => self.note_cost(t, 32),
                BalanceModel::Cost73 => self.pending[t] += 32,
            }
        }
    }

    fn threshold(&self, t: usize) -> u64 {
        let [inactive_anon, active_anon, inactive_file, active_file] = self.sizes();
        let swap_left = self.swap_used < self.swap_slots;
        match self.config.ws_threshold {
            WsThreshold::ActiveFile => active_file,
            WsThreshold::ActiveOwnType if self.config.ws_v1_index_bug => {
                if t == ANON {
                    active_file
                } else {
                    self.slab_reclaimable
                }
            }
            WsThreshold::ActiveOwnType => {
                if t == ANON {
                    active_anon
                } else {
                    active_file
                }
            }
            WsThreshold::V5_8 => {
                active_file + if swap_left { active_anon + inactive_anon } else { 0 }
            }
            WsThreshold::V5_9 => {
                let mut w = active_file;
                if t == ANON {
                    w += inactive_file;
                }
                if swap_left {
                    w += active_anon;
                }
                if swap_left && t == FILE {
                    w += inactive_anon;
                }
                w
            }
        }
    }

    fn age_slot(&self, page_type: usize) -> usize {
        if self.config.age_model == AgeModel::PerType { page_type } else { FILE }
    }

    fn age(&self, page_type: usize) -> u64 {
        self.ages[self.age_slot(page_type)]
    }

    fn advance_age(&mut self, page_type: usize, n: u64) {
        self.ages[self.age_slot(page_type)] += n;
    }

    // ---- Balance
    // -----------------------------------------------------------------------------------

    fn count_rotate(&mut self, page_type: usize, scanned: u64, rotated: u64) {
        if self.config.balance_model == BalanceModel::Rotate {
            self.scanned[page_type] += scanned;
            self.rotated[page_type] += rotated;
        }
    }

    fn note_cost(&mut self, page_type: usize, n: u64) {
        self.cost[page_type] += n;
        let pages: u64 = self.sizes().iter().sum();
        if self.cost[ANON] + self.cost[FILE] > pages / 4 {
            self.cost = self.cost.map(|c| c / 2);
        }
    }

    // ---- Lists
    // -------------------------------------------------------------------------------------

    /// Sizes of the four lists.
    pub(crate) fn sizes(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|l| self.lists[l].len() as u64)
    }

    fn inactive_is_low(&self, page_type: usize) -> bool {
        let sizes = self.sizes();
        let (inactive, active) = (sizes[2 * page_type], sizes[2 * page_type + 1]);
        let gib = (inactive + active) / (1 << 18);
        let mut ratio = 1;
        if gib > 0 && !(page_type == ANON && self.config.anon_ratio == AnonRatio::One) {
            while (ratio + 1) * (ratio + 1) <= 10 * gib {
                ratio += 1;
            }
        }
        inactive * ratio < active
    }

    /// A page leaves its batch of one. `rotated`: it counts as rotated even if it is inactive.
    fn add(&mut self, id: PageId, page: Page, rotated: bool) {
        let clash = self.pages.insert(id, page).is_some() || self.out.contains_key(&id);
        assert!(!clash, "page {id} exists");
        self.lists[page.list()].insert(0, id);
        self.count_rotate(page.page_type(), 1, u64::from(page.active || rotated));
    }

    /// `activate` of a page on a list.
    fn activate(&mut self, id: PageId) {
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
    fn isolate(&mut self, list: usize, n: u64) -> Vec<PageId> {
        let mut taken = Vec::new();
        while (taken.len() as u64) < n {
            match self.lists[list].pop() {
                Some(id) => taken.push(id),
                None => break,
            }
        }
        taken
    }

    fn take_off(&mut self, id: PageId) {
        let list = &mut self.lists[self.pages[&id].list()];
        let i = list.iter().position(|p| *p == id).expect("on its list");
        list.remove(i);
    }

    /// At the head of the list that the flags name.
    fn put_on(&mut self, id: PageId, page: Page) {
        self.pages.insert(id, page);
        self.lists[page.list()].insert(0, id);
    }

    fn page(&mut self, id: PageId) -> &mut Page {
        self.pages.get_mut(&id).unwrap_or_else(|| panic!("page {id} is not resident"))
    }

    // ---- Looking
    // -----------------------------------------------------------------------------------

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

/// One call, with pages named by their place among those that qualify, so that any number means
/// something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    NewAnon,
    NewFile,
    Refault(usize),
    Touch(usize),
    Map { nth: usize, exec: bool },
    Unmap(usize),
    MarkAccessed(usize),
    Dirty(usize),
    Clean(usize),
    Deactivate(usize),
    Write(usize),
    FreeLazily(usize),
    PageOut { nth: usize, ignore_references: bool },
    Free(usize),
    AgeNode,
    FinishRun,
    Shrink(Pass),
}

impl KernelModel {
    /// The page that an operation means, if any qualifies. `next` is the id of a new page.
    pub(crate) fn subject(&self, op: Op, next: PageId) -> Option<PageId> {
        let pick = |nth: usize, ids: Vec<PageId>| (!ids.is_empty()).then(|| ids[nth % ids.len()]);
        let resident = |nth, accept: fn(&Page) -> bool| {
            let ids = self.pages.iter().filter(|(_, p)| accept(p)).map(|(id, _)| *id);
            pick(nth, ids.collect())
        };
        match op {
            Op::NewAnon | Op::NewFile => Some(next),
            Op::Refault(nth) => pick(nth, self.evicted()),
            Op::Touch(nth) => resident(nth, |p| p.mapped),
            Op::Map { nth, .. } => resident(nth, |p| p.file && !p.mapped),
            Op::Unmap(nth) => resident(nth, |p| p.file && p.mapped),
            Op::Dirty(nth) => resident(nth, |p| p.file),
            Op::Clean(nth) => resident(nth, |p| p.file && p.dirty),
            Op::MarkAccessed(nth) | Op::Deactivate(nth) => resident(nth, |_| true),
            Op::Write(nth) => resident(nth, |p| !p.file && p.mapped),
            Op::FreeLazily(nth) => {
                let resident = self.pages.iter().filter(|(_, p)| !p.file).map(|(id, _)| *id);
                let out = self.out.iter().filter(|(_, file)| !**file).map(|(id, _)| *id);
                pick(nth, resident.chain(out).collect())
            }
            Op::PageOut { nth, .. } => resident(nth, |_| true),
            Op::Free(nth) => pick(nth, [self.resident(), self.evicted()].concat()),
            Op::AgeNode | Op::FinishRun | Op::Shrink(_) => None,
        }
    }

    /// Applies an operation to its [`Self::subject`]; an operation that has none does nothing.
    pub(crate) fn apply(&mut self, op: Op, subject: Option<PageId>) -> Outcome {
        match (op, subject) {
            (Op::AgeNode, _) => self.age_node(),
            (Op::FinishRun, _) => self.finish_run(),
            (Op::Shrink(pass), _) => return self.shrink_node(pass),
            (_, None) => {}
            (Op::NewAnon, Some(id)) => self.add_new_anon(id),
            (Op::NewFile, Some(id)) => self.add_new_file(id),
            (Op::Refault(_), Some(id)) => self.refault(id),
            (Op::Touch(_), Some(id)) => self.touch(id),
            (Op::Map { exec, .. }, Some(id)) => self.map(id, exec),
            (Op::Unmap(_), Some(id)) => self.unmap(id),
            (Op::MarkAccessed(_), Some(id)) => self.mark_accessed(id),
            (Op::Dirty(_), Some(id)) => self.dirty(id),
            (Op::Clean(_), Some(id)) => self.clean(id),
            (Op::Deactivate(_), Some(id)) => self.deactivate(id),
            (Op::Write(_), Some(id)) => self.write(id),
            (Op::FreeLazily(_), Some(id)) => self.free_lazily(id),
            (Op::PageOut { ignore_references, .. }, Some(id)) => {
                let evicted = self.page_out(id, ignore_references).into_iter().collect();
                return Outcome { evicted, ..Outcome::default() };
            }
            (Op::Free(_), Some(id)) => self.free(id),
        }
        Outcome::default()
    }
}
