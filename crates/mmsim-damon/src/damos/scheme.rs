//! A scheme: regions like these, do this with them.
//!
//! Linux 6.12 `include/linux/damon.h` (`struct damos`).

use super::filter::Filter;
use super::quota::{Charge, Quota};
use super::watermark::Watermarks;
use crate::attrs::MonitoringAttrs;
use crate::config::{DamonConfig, WmarkWait};
use crate::error::DamonError;
use std::ops::RangeInclusive;

/// Action of a scheme on a region (`enum damos_action`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Read what is not in memory (`madvise()`).
    Willneed,
    /// Reclaim it early (`madvise()`).
    Cold,
    /// Reclaim it now.
    Pageout,
    /// Advise huge pages.
    Hugepage,
    /// Advise against huge pages.
    Nohugepage,
    /// Move it up on the LRU lists.
    LruPrio,
    /// Move it down on the LRU lists.
    LruDeprio,
    /// Move it to another node because it is used much.
    MigrateHot,
    /// Move it to another node because it is used little.
    MigrateCold,
    /// Only count it.
    Stat,
}

impl Action {
    /// All actions, in the order of the kernel.
    pub const ALL: [Action; 10] = [
        Action::Willneed,
        Action::Cold,
        Action::Pageout,
        Action::Hugepage,
        Action::Nohugepage,
        Action::LruPrio,
        Action::LruDeprio,
        Action::MigrateHot,
        Action::MigrateCold,
        Action::Stat,
    ];

    /// As the kernel's files write it.
    pub fn name(self) -> &'static str {
        match self {
            Action::Willneed => "willneed",
            Action::Cold => "cold",
            Action::Pageout => "pageout",
            Action::Hugepage => "hugepage",
            Action::Nohugepage => "nohugepage",
            Action::LruPrio => "lru_prio",
            Action::LruDeprio => "lru_deprio",
            Action::MigrateHot => "migrate_hot",
            Action::MigrateCold => "migrate_cold",
            Action::Stat => "stat",
        }
    }
}

/// Regions that a scheme is for; all bounds included (`struct damos_access_pattern`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessPattern {
    /// Size, in bytes.
    pub sz_region: RangeInclusive<u64>,
    /// Samples with an access.
    pub nr_accesses: RangeInclusive<u32>,
    /// Age, in aggregations.
    pub age_region: RangeInclusive<u32>,
}

impl AccessPattern {
    /// Every region.
    pub const ANY: AccessPattern = AccessPattern {
        sz_region: 0..=u64::MAX,
        nr_accesses: 0..=u32::MAX,
        age_region: 0..=u32::MAX,
    };

    /// True if the pattern includes a region of this size, count and age.
    pub fn matches(&self, size: u64, nr_accesses: u32, age: u32) -> bool {
        self.sz_region.contains(&size)
            && self.nr_accesses.contains(&nr_accesses)
            && self.age_region.contains(&age)
    }
}

/// Statistics of a scheme (`struct damos_stat`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Regions it was tried on.
    pub nr_tried: u64,
    /// Their bytes.
    pub sz_tried: u64,
    /// Regions where it worked, at least in part.
    pub nr_applied: u64,
    /// Bytes for which it worked.
    pub sz_applied: u64,
    /// Charge windows whose quota was used up.
    pub qt_exceeds: u64,
    /// Number of times that the scheme came to the last region of a target: snapshots that it went
    /// through.
    pub nr_snapshots: u64,
}

impl Stat {
    /// Counts an attempt.
    pub(crate) fn update(&mut self, sz_tried: u64, sz_applied: u64) {
        self.nr_tried += 1;
        self.sz_tried += sz_tried;
        self.nr_applied += u64::from(sz_applied > 0);
        self.sz_applied += sz_applied;
    }
}

/// State of a scheme while its context works: its statistics, the charges of its quota, the state
/// of its watermarks, and the time when it is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemeState {
    pub(crate) stat: Stat,
    pub(crate) charge: Charge,
    pub(crate) activated: bool,
    /// The sample, counted from the start, from which it is due.
    pub(crate) next_apply_sis: u64,
    /// True if a filter of addresses or targets allowed the region that is worked on.
    pub(crate) core_allowed: bool,
}

impl Default for SchemeState {
    fn default() -> Self {
        let (stat, charge) = Default::default();
        SchemeState { stat, charge, activated: true, next_apply_sis: 0, core_allowed: false }
    }
}

/// A scheme (`struct damos`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheme {
    /// Regions it is for.
    pub pattern: AccessPattern,
    /// Its action on them.
    pub action: Action,
    /// Time between two passes, in µs; 0: an aggregation. Only where samples are counted.
    pub apply_interval_us: u64,
    /// Its limits.
    pub quota: Quota,
    /// When it works at all.
    pub wmarks: Watermarks,
    /// Filters of its memory.
    pub filters: Vec<Filter>,
    /// The node that pages move to, for the migrations.
    pub target_nid: Option<u32>,
    /// Snapshots after which it stops; 0: never. Only where snapshots are counted.
    pub max_nr_snapshots: u64,
    /// Its state in a context.
    pub state: SchemeState,
}

impl Scheme {
    /// A scheme without quota, watermarks and filters, due with every aggregation.
    pub fn new(pattern: AccessPattern, action: Action) -> Scheme {
        Scheme {
            pattern,
            action,
            apply_interval_us: 0,
            quota: Quota::default(),
            wmarks: Watermarks::NONE,
            filters: Vec::new(),
            target_nid: None,
            max_nr_snapshots: 0,
            state: SchemeState::default(),
        }
    }

    /// Its statistics.
    pub fn stat(&self) -> &Stat {
        &self.state.stat
    }

    /// Charges of its quota.
    pub fn charge(&self) -> &Charge {
        &self.state.charge
    }

    /// True if its watermarks let it work, as of the last look.
    pub fn activated(&self) -> bool {
        self.state.activated
    }

    /// The sample from which it is due after `now`.
    pub(crate) fn next_apply(&self, now: u64, attrs: &MonitoringAttrs) -> u64 {
        let own = self.apply_interval_us;
        now + attrs.samples_in(if own == 0 { attrs.aggr_us } else { own })
    }

    /// True if it went through as many snapshots as it may.
    pub(crate) fn is_done(&self) -> bool {
        self.max_nr_snapshots != 0 && self.max_nr_snapshots <= self.state.stat.nr_snapshots
    }

    /// Checks that a context of these knobs can work with it.
    ///
    /// # Errors
    /// As [`Scheme::validate`]; an end after a number of snapshots where they are not counted.
    pub fn validate_for(&self, config: &DamonConfig) -> Result<(), DamonError> {
        if self.max_nr_snapshots != 0 && !config.count_snapshots {
            return Err(DamonError::InvalidScheme("this kernel does not count snapshots"));
        }
        self.validate()
    }

    /// Checks that it makes sense.
    ///
    /// # Errors
    /// A bound below its other bound, a filter whose range ends before it begins, a goal of 0.
    pub fn validate(&self) -> Result<(), DamonError> {
        let p = &self.pattern;
        if p.sz_region.is_empty() || p.nr_accesses.is_empty() || p.age_region.is_empty() {
            return Err(DamonError::InvalidScheme("a range of the pattern ends before it begins"));
        }
        self.filters.iter().try_for_each(Filter::validate)?;
        self.quota.goals.iter().try_for_each(|g| g.validate())
    }
}

/// Switches the schemes of a context. Returns how long it is to sleep, in µs; 0: it goes on.
pub fn wait_us(schemes: &mut [Scheme], config: &DamonConfig, free_mem_rate: u64) -> u64 {
    if !config.watermarks {
        return 0;
    }
    let waits = schemes.iter_mut().map(|s| s.wmarks.wait_us(&mut s.state.activated, free_mem_rate));
    match config.wmark_wait {
        WmarkWait::Min => waits.min().unwrap_or(0),
        // 0 is taken for "none seen yet".
        WmarkWait::OrderBug => {
            waits.fold(0, |least, wait| if least == 0 || wait < least { wait } else { least })
        }
    }
}
