//! The twin for worked examples: N frames, anonymous pages only, one page reclaimed per fault.
//!
//! A fault that finds no free frame reclaims exactly one page: (i) while the inactive list is low,
//! the tail of the active list is demoted; (ii) the tail of the inactive list is judged. Kept pages
//! go to its head, activated ones to the active head, and it starts over at (i); a reclaimed one is
//! swapped out at once. Then the faulting page is added, young. There are no batches and no
//! watermarks.
//!
//! Dumps are written `active | inactive | out`, head first, `-` for none, `*` for young, `r` for
//! referenced; pages that are out stand in order of eviction.

use mmsim_lru::config::{AgeModel, AnonRatio, AnonRefRule, AnonStart, ClassicConfig, WsThreshold};
use std::collections::BTreeMap;

/// When the lists are brought back into proportion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rebalance {
    /// Before each inactive page is judged: the rule.
    Before,
    /// After an eviction, as the unconditional demotion of the kernel does.
    AfterEviction,
    /// Before each inactive page is judged, and by one page after an eviction: what the kernel's
    /// loops come to if a step is one page.
    BeforeAndAfterEviction,
    /// Not at all.
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Page {
    young: bool,
    referenced: bool,
    workingset: bool,
}

/// What an eviction leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shadow {
    pub(crate) age: u64,
    pub(crate) workingset: bool,
}

/// Events since the last time anybody asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) pgscan: u64,
    pub(crate) keep: u64,
    pub(crate) pgrefill: u64,
    pub(crate) pswpin: u64,
    pub(crate) pswpout: u64,
    pub(crate) scan_activate: u64,
    pub(crate) refault: u64,
    pub(crate) activate: u64,
    pub(crate) restore: u64,
}

pub(crate) struct UnitModel {
    config: ClassicConfig,
    frames: usize,
    pub(crate) rebalance: Rebalance,
    active: Vec<String>,
    inactive: Vec<String>,
    resident: BTreeMap<String, Page>,
    /// In order of eviction.
    out: Vec<(String, Option<Shadow>)>,
    pub(crate) age: u64,
    pub(crate) counts: Counts,
    /// Refault distances, in order.
    pub(crate) distances: Vec<u64>,
}

impl UnitModel {
    /// A memory whose active list holds `hot`, head first, with clear young bits.
    pub(crate) fn new(config: ClassicConfig, frames: usize, hot: &[String]) -> UnitModel {
        config.validate().unwrap();
        assert!(hot.len() <= frames);
        UnitModel {
            config,
            frames,
            rebalance: Rebalance::Before,
            active: hot.to_vec(),
            inactive: Vec::new(),
            resident: hot.iter().map(|p| (p.clone(), Page::default())).collect(),
            out: Vec::new(),
            age: 0,
            counts: Counts::default(),
            distances: Vec::new(),
        }
    }

    /// Accesses pages in order.
    pub(crate) fn access_all<S: AsRef<str>>(&mut self, pages: impl IntoIterator<Item = S>) {
        for p in pages {
            self.access(p.as_ref());
        }
    }

    pub(crate) fn access(&mut self, page: &str) {
        if let Some(p) = self.resident.get_mut(page) {
            p.young = true;
            return;
        }
        if self.resident.len() == self.frames {
            self.reclaim_one();
        }
        let mut flags = Page { young: true, ..Page::default() };
        let active = match self.out.iter().position(|(p, _)| p == page) {
            None => self.config.anon_start == AnonStart::Active,
            Some(i) => {
                let (_, shadow) = self.out.remove(i);
                self.counts.pswpin += 1;
                flags.workingset = self.config.swapin_sets_workingset;
                let refaulted = shadow.is_some_and(|s| self.refault(s, &mut flags));
                refaulted || self.config.swapin_activate
            }
        };
        self.resident.insert(page.to_owned(), flags);
        let list = if active { &mut self.active } else { &mut self.inactive };
        list.insert(0, page.to_owned());
    }

    /// Whether a page that left this shadow is activated.
    fn refault(&mut self, shadow: Shadow, flags: &mut Page) -> bool {
        self.counts.refault += 1;
        let distance = self.age - shadow.age;
        self.distances.push(distance);
        // There are no file pages, so all other lists are empty.
        let threshold = match self.config.ws_threshold {
            WsThreshold::ActiveFile => 0,
            WsThreshold::ActiveOwnType if self.config.ws_v1_index_bug => 0,
            WsThreshold::ActiveOwnType | WsThreshold::V5_9 => self.active.len() as u64,
            WsThreshold::V5_8 => unreachable!("for file pages only"),
        };
        if distance > threshold {
            return false;
        }
        self.age += 1;
        self.counts.activate += 1;
        if shadow.workingset {
            flags.workingset = true;
            self.counts.restore += 1;
        }
        true
    }

    /// Below 1 GiB, which no example exceeds, both ratios are 1.
    fn inactive_is_low(&self) -> bool {
        assert!(self.frames < 1 << 18 || self.config.anon_ratio == AnonRatio::One);
        self.inactive.len() < self.active.len()
    }

    fn demote_while_low(&mut self) {
        while self.inactive_is_low() {
            self.demote_one();
        }
    }

    fn demote_one(&mut self) {
        let page = self.active.pop().unwrap();
        let p = self.resident.get_mut(&page).unwrap();
        if self.config.anon_demote_clears_young {
            p.young = false;
        } else {
            p.referenced = false;
        }
        p.workingset = true;
        self.counts.pgrefill += 1;
        self.inactive.insert(0, page);
    }

    fn reclaim_one(&mut self) {
        loop {
            if matches!(self.rebalance, Rebalance::Before | Rebalance::BeforeAndAfterEviction) {
                self.demote_while_low();
            }
            let page = self.inactive.pop().expect("an inactive page");
            self.counts.pgscan += 1;
            let p = self.resident.get_mut(&page).unwrap();
            let young = std::mem::take(&mut p.young);
            let twice = std::mem::take(&mut p.referenced);
            if !young {
                let workingset = p.workingset;
                self.resident.remove(&page);
                self.swap_out(page, workingset);
                break;
            }
            let activate = match self.config.anon_ref_rule {
                AnonRefRule::OneTouch => true,
                AnonRefRule::TwoTouchV1 => {
                    p.referenced = !twice;
                    twice
                }
                AnonRefRule::MappedFileRule | AnonRefRule::V6_1 | AnonRefRule::V6_12 => {
                    p.referenced = true;
                    twice
                }
            };
            if activate {
                self.counts.scan_activate += 1;
                let counted = self.config.age_model == AgeModel::Unified;
                self.age += u64::from(counted || self.config.age_on_scan_activation);
                self.active.insert(0, page);
            } else {
                self.counts.keep += 1;
                self.inactive.insert(0, page);
            }
        }
        match self.rebalance {
            Rebalance::AfterEviction => self.demote_while_low(),
            Rebalance::BeforeAndAfterEviction if self.inactive_is_low() => self.demote_one(),
            _ => {}
        }
    }

    fn swap_out(&mut self, page: String, workingset: bool) {
        self.counts.pswpout += 1;
        let before = self.age;
        if self.config.anon_workingset || self.config.age_model == AgeModel::Unified {
            self.age += 1;
        }
        let age = if self.config.shadow_e_includes_self { self.age } else { before };
        let shadow = self.config.anon_workingset.then_some(Shadow { age, workingset });
        self.out.push((page, shadow));
    }

    /// Lengths of the active and the inactive list.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        (self.active.len(), self.inactive.len())
    }

    /// The shadow of a page that is out.
    pub(crate) fn shadow(&self, page: &str) -> Option<Shadow> {
        self.out.iter().find(|(p, _)| p == page).and_then(|(_, s)| *s)
    }

    /// How many resident pages have a name that starts so.
    pub(crate) fn resident(&self, prefix: &str) -> usize {
        self.resident.keys().filter(|p| p.starts_with(prefix)).count()
    }

    /// Takes the counts since the last call.
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// `active | inactive | out`.
    pub(crate) fn dump(&self) -> String {
        let marked = |page: &String| {
            let p = self.resident[page];
            let mark = |set, mark| if set { mark } else { "" };
            format!("{page}{}{}", mark(p.young, "*"), mark(p.referenced, "r"))
        };
        let part = |names: Vec<String>| match names.len() {
            0 => "-".to_owned(),
            _ => names.join(" "),
        };
        format!(
            "{} | {} | {}",
            part(self.active.iter().map(marked).collect()),
            part(self.inactive.iter().map(marked).collect()),
            part(self.out.iter().map(|(p, _)| p.clone()).collect()),
        )
    }
}
