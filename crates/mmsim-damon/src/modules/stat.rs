//! DAMON_STAT: how much memory is used, and how long memory lies idle, for whoever asks.
//!
//! A monitor of physical memory that tunes its intervals and does nothing else. What it tells is
//! brought up to date after a sample, at most every five seconds. So counts of accesses are those of
//! an aggregation under way. It is the only monitor of its machine: others get `EBUSY`.
//!
//! Linux 7.3 `mm/damon/stat.c`; since 6.17.

use super::{Module, target};
use crate::attrs::{IntervalsGoal, MonitoringAttrs};
use crate::config::DamonConfig;
use crate::context::{Context, Parameters};
use crate::error::DamonError;
use crate::region::Region;
use mmsim_core::base::time::{SimDuration, SimTime};
use std::ops::Range;

/// DAMON_STAT, which has nothing to set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamonStat;

/// Output of DAMON_STAT (files of `/sys/module/damon_stat/parameters`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Bytes a second that are accessed, by `estimated_memory_bandwidth`.
    pub bandwidth: u64,
    /// `memory_idle_ms_percentiles`: of each percentile of memory, from 0 to 100, the ms since its last
    /// access; below 0, for how long it has been accessed.
    pub idle_ms: [i64; 101],
    /// The aggregation interval, in µs (`aggr_interval_us`).
    pub aggr_us: u64,
}

/// Time between two looks.
const REFRESH: SimDuration = SimDuration::from_millis(5000);

/// Last output, and its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Teller {
    /// On the coarse clock; none before it began.
    last: Option<SimTime>,
    pub(crate) told: Told,
}

impl Default for Teller {
    fn default() -> Teller {
        Teller { last: None, told: Told { bandwidth: 0, idle_ms: [0; 101], aggr_us: 0 } }
    }
}

impl Teller {
    /// Brings it up to date, if that is due.
    pub(crate) fn look(&mut self, context: &Context, now: SimTime) {
        let now = context.config().coarse(now);
        let last = *self.last.get_or_insert(now);
        if now > last + REFRESH {
            self.last = Some(now);
            self.told = told(context);
        }
    }
}

/// Output of DAMON_STAT for the regions as they are.
pub fn told(context: &Context) -> Told {
    let attrs = context.attrs();
    let mut regions: Vec<Region> =
        context.targets().iter().flat_map(|t| t.regions()).copied().collect();
    let accessed = |r: &Region| u128::from(r.size()) * u128::from(r.nr_accesses);
    let accessed: u128 = regions.iter().map(accessed).sum();
    let bandwidth = accessed * 1_000_000 / u128::from(attrs.aggr_us.max(1));
    let idle = |r: &Region| {
        let aggregations = i64::from(r.age) + 1;
        if r.nr_accesses > 0 { -aggregations } else { aggregations }
    };
    regions.sort_by_key(idle);
    let all: u128 = regions.iter().map(|r| u128::from(r.size())).sum();
    let (mut idle_ms, mut next, mut seen) = ([0; 101], 0, 0);
    for r in &regions {
        seen += u128::from(r.size());
        while next as u128 <= seen * 100 / all {
            idle_ms[next] = idle(r).saturating_mul(attrs.aggr_us as i64) / 1000;
            next += 1;
        }
    }
    let bandwidth = bandwidth.min(u128::from(u64::MAX)) as u64;
    Told { bandwidth, idle_ms, aggr_us: attrs.aggr_us }
}

impl Module for DamonStat {
    fn parameters(
        &self,
        config: &DamonConfig,
        ram: Option<Range<u64>>,
    ) -> Result<Parameters, DamonError> {
        let tuning = Some(IntervalsGoal::of_modules(400));
        let attrs = MonitoringAttrs { tuning, ..MonitoringAttrs::DEFAULT };
        attrs.validate(config)?;
        let target = target(0, 0, ram, &attrs)?;
        Ok(Parameters { attrs, targets: vec![target], schemes: Vec::new() })
    }

    fn outputs(&self, context: &Context) -> Vec<(&'static str, u64)> {
        let told = told(context);
        vec![("estimated_memory_bandwidth", told.bandwidth), ("aggr_interval_us", told.aggr_us)]
    }
}
