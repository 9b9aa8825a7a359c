//! DAMON_RECLAIM: paging out what was not used for long, a little at a time and before memory gets
//! tight.
//!
//! One scheme pages out regions without accesses from a minimal age on, the oldest first, within a
//! quota of time and bytes, while neither much nor hardly any memory is free.
//!
//! Linux 6.12 `mm/damon/reclaim.c`; skipping anonymous pages and the goals are not in 5.16 and 6.1.
//! The 6.12.117 of the recordings writes attributes and scheme into the context and then commits an
//! empty one over it, so that the scheme and the attributes are gone
//! ([`module_commit_drops_scheme`](crate::DamonConfig::module_commit_drops_scheme)).

use super::{Module, ages, regions, target};
use crate::attrs::{IntervalsGoal, MonitoringAttrs};
use crate::config::DamonConfig;
use crate::context::{Context, Parameters};
use crate::damos::filter::{Filter, FilterType};
use crate::damos::goal::{Goal, Metric};
use crate::damos::quota::Quota;
use crate::damos::scheme::{AccessPattern, Action, Scheme, Stat};
use crate::damos::watermark::{Watermarks, WmarkMetric};
use crate::error::DamonError;
use mmsim_core::config::Kernel;
use mmsim_core::settings;
use std::ops::Range;

settings! {
    /// The parameters of DAMON_RECLAIM.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Reclaim {
        /// Time without use after which a region is paged out.
        min_age: u64 = 120_000_000,
            .unit("us").range(0, u64::MAX);
        /// Time that paging out may take per quota_reset_interval_ms; 0: any.
        quota_ms: u64 = 10,
            .unit("ms").range(0, u64::MAX);
        /// Bytes that may be tried per quota_reset_interval_ms; 0: any.
        quota_sz: u64 = 128 << 20,
            .unit("bytes").range(0, u64::MAX);
        /// Length of a charge window.
        quota_reset_interval_ms: u64 = 1000,
            .unit("ms").range(0, u64::MAX);
        /// Memory stall time per charge window that the quota is tuned for; 0: it is not.
        quota_mem_pressure_us: u64 = 0,
            .unit("us").range(0, u64::MAX).since("6.9");
        /// The user's feedback that the quota is tuned by, 10000 is good; 0: it is not.
        quota_autotune_feedback: u64 = 0,
            .range(0, u64::MAX).since("6.9");
        /// Time between two looks at the watermarks while they keep it off.
        wmarks_interval: u64 = 5_000_000,
            .unit("us").range(0, u64::MAX);
        /// With more free memory it is off.
        wmarks_high: u64 = 500,
            .unit("1/1000").range(0, 1000);
        /// With less free memory it comes back.
        wmarks_mid: u64 = 400,
            .unit("1/1000").range(0, 1000);
        /// With less free memory it is off.
        wmarks_low: u64 = 200,
            .unit("1/1000").range(0, 1000);
        /// Time between two samples.
        sample_interval: u64 = 5_000,
            .unit("us").range(0, u64::MAX);
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
        /// 1 leaves anonymous pages alone.
        skip_anon: bool = false,
            .flag("N", "Y").since("6.3");
        /// 1 tunes intervals, from 5 ms and 100 ms on, to see 4 in 1000 of all visible accesses.
        autotune_monitoring_intervals: bool = false,
            .flag("N", "Y").since("7.2");
    }
}

impl Reclaim {
    /// As the kernel sets them.
    pub const DEFAULT: Reclaim = Reclaim::of(Kernel::LAST);

    /// As first proposed for 5.14 ("\[RFC v3 00/15\] Introduce DAMON-based Proactive Reclamation",
    /// July 2021).
    pub const RFC_V3: Reclaim =
        Reclaim { min_age: 5_000_000, quota_ms: 100, quota_sz: 1 << 30, ..Reclaim::DEFAULT };

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

    fn scheme(&self, attrs: &MonitoringAttrs) -> Scheme {
        let pattern = AccessPattern {
            sz_region: attrs.min_region..=u64::MAX,
            nr_accesses: 0..=0,
            age_region: ages(self.min_age, attrs.aggr_us)..=u32::MAX,
        };
        let pressure = (self.quota_mem_pressure_us > 0)
            .then(|| Goal::new(Metric::SomeMemPsiUs, self.quota_mem_pressure_us));
        let feedback = (self.quota_autotune_feedback > 0)
            .then(|| Goal::user_input(10_000, self.quota_autotune_feedback));
        let quota = Quota {
            ms: self.quota_ms,
            sz: self.quota_sz,
            reset_interval_ms: self.quota_reset_interval_ms,
            weight_age: 1,
            goals: pressure.into_iter().chain(feedback).collect(),
            ..Quota::default()
        };
        let wmarks = Watermarks {
            metric: WmarkMetric::FreeMemRate,
            interval_us: self.wmarks_interval,
            high: self.wmarks_high,
            mid: self.wmarks_mid,
            low: self.wmarks_low,
        };
        let filters = (self.skip_anon).then(|| Filter::new(FilterType::Anon, true));
        let filters = filters.into_iter().collect();
        Scheme { quota, wmarks, filters, ..Scheme::new(pattern, Action::Pageout) }
    }
}

impl Module for Reclaim {
    fn parameters(
        &self,
        config: &DamonConfig,
        ram: Option<Range<u64>>,
    ) -> Result<Parameters, DamonError> {
        if self.aggr_interval == 0 {
            return Err(DamonError::InvalidModule("aggr_interval must not be 0"));
        }
        let attrs = self.attrs();
        attrs.validate(config)?;
        let target = target(self.monitor_region_start, self.monitor_region_end, ram, &attrs)?;
        let targets = vec![target];
        if config.module_commit_drops_scheme {
            return Ok(Parameters {
                attrs: MonitoringAttrs::DEFAULT,
                targets,
                schemes: Vec::new(),
            });
        }
        let schemes = vec![self.scheme(&attrs)];
        Ok(Parameters { attrs, targets, schemes })
    }

    fn outputs(&self, context: &Context) -> Vec<(&'static str, u64)> {
        let stat = context.schemes().last().map_or(Stat::default(), |s| *s.stat());
        vec![
            ("nr_reclaim_tried_regions", stat.nr_tried),
            ("bytes_reclaim_tried_regions", stat.sz_tried),
            ("nr_reclaimed_regions", stat.nr_applied),
            ("bytes_reclaimed_regions", stat.sz_applied),
            ("nr_quota_exceeds", stat.qt_exceeds),
        ]
    }
}
