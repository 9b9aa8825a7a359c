//! Reclaim: how much of which list is scanned, what becomes of each page.

use super::{ANON, FILE, KernelModel, Kind, Outcome, PageId, Pass};
use mmsim_lru::config::{AgeModel, AnonRefRule, BalanceModel, InactiveRatioScope, ScanRounding};

/// Decision of the inactive scan on one page by its references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Activate,
    Keep,
    Reclaim,
    /// Gone, and it will not come back.
    Drop,
}

/// The most pages that are taken off a list at once, and that the unconditional demotion scans.
pub(super) const BATCH: u64 = 32;

impl KernelModel {
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
        let may_deactivate = [ANON, FILE].map(|t| self.may_deactivate(pass, t));
        let [inactive_anon, _, inactive_file, active_file] = self.sizes();
        let wanted = if self.config.trim_ignores_refaults {
            self.inactive_is_low(FILE)
        } else {
            may_deactivate[FILE]
        };
        let cache_trim_mode =
            (inactive_file >> pass.priority) > 0 && !wanted && !pass.no_cache_trim;
        let file_is_tiny = inactive_file + active_file + pass.free <= pass.high_watermarks
            && !may_deactivate[ANON]
            && (inactive_anon >> pass.priority) > 0;

        let mut outcome = Outcome { cache_trim_mode, ..Outcome::default() };
        let targets = self.scan_count(pass, cache_trim_mode, file_is_tiny);
        self.shrink_lruvec(pass, targets, may_deactivate, &mut outcome);
        outcome
    }

    /// True if the active list of a type may be scanned.
    fn may_deactivate(&self, pass: Pass, page_type: usize) -> bool {
        let fresh = [ANON, FILE].map(|t| self.counters.activate[t] != self.snapshot[t]);
        // One counter for all refaults is that of file pages.
        let opened = if self.config.ws_split { fresh } else { [false, fresh[ANON] || fresh[FILE]] };
        pass.force_deactivate || self.inactive_is_low(page_type) || opened[page_type]
    }

    /// Numbers of pages of each list to scan.
    pub(super) fn scan_count(
        &mut self,
        pass: Pass,
        cache_trim_mode: bool,
        file_is_tiny: bool,
    ) -> [u64; 4] {
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
    pub(super) fn shrink_lruvec(
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
                // Before 5.5 it is computed anew each time, and an answer of no is not reported.
                let each_time = self.config.inactive_ratio_scope == InactiveRatioScope::Lruvec;
                if n == 0 {
                    continue;
                } else if !active {
                    self.shrink_inactive(page_type, n, pass.kind, outcome);
                } else if each_time {
                    if self.may_deactivate(pass, page_type) {
                        self.shrink_active(page_type, n);
                    }
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

    pub(super) fn shrink_active(&mut self, page_type: usize, n: u64) {
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

    pub(super) fn shrink_inactive(
        &mut self,
        page_type: usize,
        n: u64,
        kind: Kind,
        outcome: &mut Outcome,
    ) {
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

    /// Fate of one isolated page, and true if reclaim wrote it.
    pub(super) fn shrink_page(&mut self, id: PageId) -> (Verdict, bool) {
        let verdict = self.check_references(id);
        self.reclaim_judged(id, verdict)
    }

    pub(super) fn reclaim_judged(&mut self, id: PageId, verdict: Verdict) -> (Verdict, bool) {
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
    pub(super) fn check_references(&mut self, id: PageId) -> Verdict {
        let rule = self.config.anon_ref_rule;
        let page = self.pages.get_mut(&id).unwrap();
        let refs = u32::from(std::mem::take(&mut page.young));
        let before = std::mem::take(&mut page.referenced);
        if refs == 0 {
            return Verdict::Reclaim;
        }
        if rule == AnonRefRule::OneTouchBoth {
            return Verdict::Activate;
        }
        if page.page_type() == ANON {
            match rule {
                AnonRefRule::OneTouch | AnonRefRule::OneTouchBoth => return Verdict::Activate,
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
}
