//! DAMON_LRU_SORT: telling the LRU lists what is hot and what is cold, so that reclaim takes the
//! right pages.
//!
//! Two schemes: pages of regions that are used in at least half of the samples move up, pages of
//! regions that were not used for two minutes move down. Each has half of the time quota. Both rank
//! regions by their accesses only, so all cold regions are equal; in 7.3 the colder ones come first.
//!
//! Linux 6.12 `mm/damon/lru_sort.c`; also in 6.1.

use super::{Module, ages, regions, target};
use crate::attrs::{IntervalsGoal, MonitoringAttrs};
use crate::config::DamonConfig;
use crate::context::{Context, Parameters};
use crate::damos::quota::Quota;
use crate::damos::scheme::{AccessPattern, Action, Scheme, Stat};
use crate::damos::watermark::{Watermarks, WmarkMetric};
use crate::error::DamonError;
use mmsim_core::config::Kernel;
use mmsim_core::settings;
use std::ops::Range;

settings! {
    /// The parameters of DAMON_LRU_SORT.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct LruSort {
        /// Samples with an access from which a region is hot.
        hot_thres_access_freq: u64 = 500,
            .unit("1/1000").range(0, 1000);
        /// Time without use after which a region is cold.
        cold_min_age: u64 = 120_000_000,
            .unit("us").range(0, u64::MAX);
        /// Time that both schemes together may take per quota_reset_interval_ms; 0: any.
        quota_ms: u64 = 10,
            .unit("ms").range(0, u64::MAX);
        /// Length of a charge window.
        quota_reset_interval_ms: u64 = 1000,
            .unit("ms").range(0, u64::MAX);
        /// Time between two looks at the watermarks while they keep it off.
        wmarks_interval: u64 = 5_000_000,
            .unit("us").range(0, u64::MAX);
        /// With more free memory it is off.
        wmarks_high: u64 = 200,
            .unit("1/1000").range(0, 1000);
        /// With less free memory it comes back.
        wmarks_mid: u64 = 150,
            .unit("1/1000").range(0, 1000);
        /// With less free memory it is off.
        wmarks_low: u64 = 50,
            .unit("1/1000").range(0, 1000);
        /// Time between two samples.
        sample_interval: u64 = 5_000,
            .unit("us").range(1, u64::MAX);
        /// Time of an aggregation.
        aggr_interval: u64 = 100_000,
            .unit("us").range(1, u64::MAX);
        /// Regions there should at least be.
        min_nr_regions: u64 = 10,
            .unit("regions").range(3, 0xffff_ffff);
        /// Regions there may be at most.
        max_nr_regions: u64 = 1000,
            .unit("regions").range(3, 0xffff_ffff);
        /// Where the watched memory begins; 0 to 0: the largest range of memory.
        monitor_region_start: u64 = 0,
            .unit("bytes").range(0, u64::MAX);
        /// Where it ends.
        monitor_region_end: u64 = 0,
            .unit("bytes").range(0, u64::MAX);
        /// 1 tunes intervals, from 5 ms and 100 ms on, to see 4 in 1000 of all visible accesses.
        autotune_monitoring_intervals: bool = false,
            .flag("N", "Y").since("7.2");
    }
}

impl LruSort {
    /// As the kernel sets them.
    pub const DEFAULT: LruSort = LruSort::of(Kernel::LAST);

    fn attrs(&self) -> MonitoringAttrs {
        let d = MonitoringAttrs::DEFAULT;
        let tuned = self.autotune_monitoring_intervals;
        MonitoringAttrs {
            sample_us: if tuned { d.sample_us } else { self.sample_interval },
            aggr_us: if tuned { d.aggr_us } else { self.aggr_interval },
            tuning: tuned.then_some(IntervalsGoal::of_modules(40)),
            ops_update_us: 0,
            min_nr_regions: regions(self.min_nr_regions),
            max_nr_regions: regions(self.max_nr_regions),
            ..d
        }
    }

    fn schemes(&self, attrs: &MonitoringAttrs, config: &DamonConfig) -> Vec<Scheme> {
        let any = AccessPattern { sz_region: attrs.min_region..=u64::MAX, ..AccessPattern::ANY };
        let hot = u64::from(attrs.window()) * self.hot_thres_access_freq / 1000;
        let hot = hot.min(u64::from(u32::MAX)) as u32;
        let cold = ages(self.cold_min_age, attrs.aggr_us);
        let hot = AccessPattern { nr_accesses: hot..=u32::MAX, ..any.clone() };
        let cold = AccessPattern { nr_accesses: 0..=0, age_region: cold..=u32::MAX, ..any };
        let quota = Quota {
            ms: self.quota_ms / 2,
            reset_interval_ms: self.quota_reset_interval_ms,
            weight_nr_accesses: 1,
            weight_age: u32::from(config.lru_sort_by_age),
            ..Quota::default()
        };
        let wmarks = Watermarks {
            metric: WmarkMetric::FreeMemRate,
            interval_us: self.wmarks_interval,
            high: self.wmarks_high,
            mid: self.wmarks_mid,
            low: self.wmarks_low,
        };
        [(hot, Action::LruPrio), (cold, Action::LruDeprio)]
            .map(|(pattern, action)| Scheme {
                quota: quota.clone(),
                wmarks,
                ..Scheme::new(pattern, action)
            })
            .into()
    }
}

impl Module for LruSort {
    fn parameters(
        &self,
        config: &DamonConfig,
        ram: Option<Range<u64>>,
    ) -> Result<Parameters, DamonError> {
        if self.sample_interval == 0 {
            return Err(DamonError::InvalidModule("sample_interval must not be 0"));
        }
        if self.aggr_interval == 0 {
            return Err(DamonError::InvalidModule("aggr_interval must not be 0"));
        }
        let attrs = self.attrs();
        attrs.validate(config)?;
        let target = target(self.monitor_region_start, self.monitor_region_end, ram, &attrs)?;
        Ok(Parameters { attrs, targets: vec![target], schemes: self.schemes(&attrs, config) })
    }

    fn outputs(&self, context: &Context) -> Vec<(&'static str, u64)> {
        let of = |action| {
            let scheme = context.schemes().iter().find(|s| s.action == action);
            scheme.map_or(Stat::default(), |s| *s.stat())
        };
        let (hot, cold) = (of(Action::LruPrio), of(Action::LruDeprio));
        vec![
            ("nr_lru_sort_tried_hot_regions", hot.nr_tried),
            ("bytes_lru_sort_tried_hot_regions", hot.sz_tried),
            ("nr_lru_sorted_hot_regions", hot.nr_applied),
            ("bytes_lru_sorted_hot_regions", hot.sz_applied),
            ("nr_hot_quota_exceeds", hot.qt_exceeds),
            ("nr_lru_sort_tried_cold_regions", cold.nr_tried),
            ("bytes_lru_sort_tried_cold_regions", cold.sz_tried),
            ("nr_lru_sorted_cold_regions", cold.nr_applied),
            ("bytes_lru_sorted_cold_regions", cold.sz_applied),
            ("nr_cold_quota_exceeds", cold.qt_exceeds),
        ]
    }
}
