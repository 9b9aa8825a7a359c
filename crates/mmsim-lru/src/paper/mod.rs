//! The examples of the anonymous workingset series on paper: its rules without a machine.
//!
//! The mails that proposed the series (linux-mm, "workingset protection/detection on the anonymous
//! LRU list", 2020) argue with lists of page names: a number of frames, an active and an inactive
//! list, pages that are hot, used once, or would become hot. [`Model`] is that notation made to
//! run. It has anonymous pages only, and one page is reclaimed per fault:
//!
//! 1. While the inactive list is low, the tail of the active list is demoted to the inactive head.
//! 2. The tail of the inactive list is judged. A page that is kept goes to the inactive head, an
//!    activated one to the active head, and it starts over at 1; otherwise it is swapped out at
//!    once and its frame is the faulting page's.
//! 3. The faulting page is added at a head, young. Which list, and whether its refault is seen, is
//!    what the knobs of [`ClassicConfig`] decide.
//!
//! So every step can be followed by hand, and [`fifty_hot_pages`] and [`will_be_hot`] give the
//! mails' tables. Nothing here is used by the simulated policy, nor the reverse: that the two agree
//! step by step is a test.
//!
//! Left out is all that a machine adds, and with it most of what is measured: batches of pages on
//! their way to a list and clusters of 32 under reclaim (in 100 frames the kernel demotes 32 pages
//! where this demotes one), watermarks, kswapd, readahead, file pages, time. One order differs as
//! well: the kernel looks at the proportion of the lists once more *after* a pass, here it is
//! looked at before the next one; [`Rebalance`] has the other orders.
//!
//! ```
//! use mmsim_lru::config::ClassicConfig;
//! use mmsim_lru::paper::Model;
//!
//! // Four frames, two hot pages on the active list, and Linux 5.5.
//! let hot = ["h2", "h1"].map(String::from);
//! let mut m = Model::new(ClassicConfig::V5_5, 4, &hot);
//! m.access_all(["u1", "u2"]);
//! assert_eq!(m.dump(), "u2* u1* h2 h1 | - | -");
//! // No frame is free: h1 and h2 are demoted, and h1 is swapped out for a page used once.
//! m.access("u3");
//! assert_eq!(m.dump(), "u3* u2* u1* | h2 | h1");
//! ```

mod examples;

pub use examples::{fifty_hot_pages, will_be_hot};

use crate::classic::config::{
    AgeModel, AnonRatio, AnonRefRule, AnonStart, ClassicConfig, Settings as _, WsThreshold,
};
use mmsim_core::base::settings::OrNumber;
use std::collections::BTreeMap;

/// When the lists are brought back into proportion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rebalance {
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

/// Record that an eviction leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow {
    /// The age at the eviction, with or without the eviction itself
    /// ([`ClassicConfig::shadow_e_includes_self`]).
    pub age: u64,
    /// True if the page carried the workingset flag.
    pub workingset: bool,
}

/// Events since the last time anybody asked, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Inactive pages judged.
    pub pgscan: u64,
    /// Of these, put back inactive.
    pub keep: u64,
    /// Active pages demoted.
    pub pgrefill: u64,
    /// Pages swapped in.
    pub pswpin: u64,
    /// Pages swapped out.
    pub pswpout: u64,
    /// Inactive pages activated because they were found referenced.
    pub scan_activate: u64,
    /// Swapped-in pages that had left a shadow.
    pub refault: u64,
    /// Of these, activated, since their distance was within the threshold.
    pub activate: u64,
    /// Of these, pages whose shadow carried the workingset flag.
    pub restore: u64,
}

/// Where the pages with a common prefix of their names are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// On the active list.
    pub active: u64,
    /// On the inactive list.
    pub inactive: u64,
    /// Swapped out.
    pub out: u64,
}

/// A memory of some frames under the rules of the [module](self).
#[derive(Clone, Debug)]
pub struct Model {
    config: ClassicConfig,
    frames: usize,
    /// When the lists are brought back into proportion; [`Rebalance::Before`] unless changed.
    pub rebalance: Rebalance,
    active: Vec<String>,
    inactive: Vec<String>,
    resident: BTreeMap<String, Page>,
    /// In order of eviction.
    out: Vec<(String, Option<Shadow>)>,
    /// The age that refault distances are measured with.
    pub age: u64,
    /// Counts since [`Self::take_counts`].
    pub counts: Counts,
    /// Refault distances, in order.
    pub distances: Vec<u64>,
}

impl Model {
    /// A memory whose active list holds `hot`, head first, with clear young bits.
    ///
    /// # Panics
    ///
    /// If the knobs contradict each other ([`crate::settings::Settings::validate`]) or there are more hot pages
    /// than frames.
    pub fn new(config: ClassicConfig, frames: usize, hot: &[String]) -> Model {
        config.validate().unwrap_or_else(|e| panic!("{e}"));
        assert!(hot.len() <= frames, "{} hot pages in {frames} frames", hot.len());
        Model {
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
    pub fn access_all<S: AsRef<str>>(&mut self, pages: impl IntoIterator<Item = S>) {
        for p in pages {
            self.access(p.as_ref());
        }
    }

    /// Accesses one page: a hit sets its young bit, a miss brings it in, from swap if it is there.
    ///
    /// # Panics
    ///
    /// If a page must be reclaimed and the inactive list is empty, which [`Rebalance::Never`] and
    /// a memory of no frames allow.
    pub fn access(&mut self, page: &str) {
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

    /// True if a page that left this shadow is activated.
    fn refault(&mut self, shadow: Shadow, flags: &mut Page) -> bool {
        self.counts.refault += 1;
        let distance = self.age - shadow.age;
        self.distances.push(distance);
        // There are no file pages, so all other lists are empty.
        let threshold = match self.config.ws_threshold {
            WsThreshold::ActiveFile => 0,
            WsThreshold::ActiveOwnType if self.config.ws_v1_index_bug => 0,
            WsThreshold::ActiveOwnType | WsThreshold::V5_9 => self.active.len() as u64,
            WsThreshold::OwnInactive => self.inactive.len() as u64,
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
        assert!(self.frames < 1 << 18 || self.config.anon_ratio == OrNumber::Word(AnonRatio::One));
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
                AnonRefRule::OneTouch | AnonRefRule::OneTouchBoth => true,
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
    pub fn lengths(&self) -> (usize, usize) {
        (self.active.len(), self.inactive.len())
    }

    /// The shadow of a page that is out.
    pub fn shadow(&self, page: &str) -> Option<Shadow> {
        self.out.iter().find(|(p, _)| p == page).and_then(|(_, s)| *s)
    }

    /// This memory as the next fault on a new page would find it: if no frame is free and the rule is
    /// to rebalance first, with its lists in proportion. The mails count their pages at this point.
    pub fn settled(&self) -> Model {
        let mut m = self.clone();
        if m.resident.len() == m.frames
            && matches!(m.rebalance, Rebalance::Before | Rebalance::BeforeAndAfterEviction)
        {
            m.demote_while_low();
        }
        m
    }

    /// Where the pages are whose names start with `prefix`.
    pub fn census(&self, prefix: &str) -> Census {
        let count =
            |names: &[String]| names.iter().filter(|p| p.starts_with(prefix)).count() as u64;
        Census {
            active: count(&self.active),
            inactive: count(&self.inactive),
            out: self.out.iter().filter(|(p, _)| p.starts_with(prefix)).count() as u64,
        }
    }

    /// Number of resident pages whose name starts with `prefix`.
    pub fn resident(&self, prefix: &str) -> usize {
        self.resident.keys().filter(|p| p.starts_with(prefix)).count()
    }

    /// Takes the counts since the last call, and starts them anew.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// `active | inactive | out`: heads first, `-` for none, `*` for young, `r` for referenced; pages
    /// that are out in order of eviction.
    pub fn dump(&self) -> String {
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
