//! Ages, shadows and refaults, and what tells whether anonymous or file memory is cheaper.

use super::{ANON, FILE, KernelModel, Page, PageId, Shadow};
use mmsim_lru::config::{AgeModel, BalanceModel, WsThreshold};

impl KernelModel {
    pub(super) fn leave_shadow(&mut self, id: PageId, page: Page) {
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

    pub(super) fn judge_refault(&mut self, page: &mut Page, shadow: Shadow) {
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

    pub(super) fn threshold(&self, t: usize) -> u64 {
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
            WsThreshold::OwnInactive => self.sizes()[2 * t],
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

    pub(super) fn age_slot(&self, page_type: usize) -> usize {
        if self.config.age_model == AgeModel::PerType { page_type } else { FILE }
    }

    pub(super) fn age(&self, page_type: usize) -> u64 {
        self.ages[self.age_slot(page_type)]
    }

    pub(super) fn advance_age(&mut self, page_type: usize, n: u64) {
        self.ages[self.age_slot(page_type)] += n;
    }

    pub(super) fn count_rotate(&mut self, page_type: usize, scanned: u64, rotated: u64) {
        if self.config.balance_model == BalanceModel::Rotate {
            self.scanned[page_type] += scanned;
            self.rotated[page_type] += rotated;
        }
    }

    pub(super) fn note_cost(&mut self, page_type: usize, n: u64) {
        self.cost[page_type] += n;
        let pages: u64 = self.sizes().iter().sum();
        if self.cost[ANON] + self.cost[FILE] > pages / 4 {
            self.cost = self.cost.map(|c| c / 2);
        }
    }
}
