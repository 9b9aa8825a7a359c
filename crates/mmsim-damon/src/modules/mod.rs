//! Modules: contexts over physical memory with fixed schemes, of which a user only sets a few
//! numbers.
//!
//! A module turns its parameters into those of a context. It runs while it is enabled, and reads
//! its parameters again on command; if they make no sense then, it switches itself off.
//!
//! Linux 6.12 `mm/damon/reclaim.c`, `lru_sort.c`, `modules-common.h`; Linux 7.3 `mm/damon/stat.c`.

pub mod lru_sort;
pub mod reclaim;
pub mod stat;

pub use lru_sort::LruSort;
pub use reclaim::Reclaim;
pub use stat::DamonStat;

use crate::attrs::MonitoringAttrs;
use crate::config::DamonConfig;
use crate::context::{Context, Parameters};
use crate::error::DamonError;
use crate::ranges::set_regions;
use crate::region::Target;
use mmsim_core::base::rng::Rng;
use std::ops::Range;

/// Interface of the modules.
pub trait Module {
    /// The parameters of its context. `ram` is the largest range of memory, which is watched unless
    /// the user named another.
    ///
    /// # Errors
    /// What the user set makes no sense, or there is no memory.
    fn parameters(
        &self,
        config: &DamonConfig,
        ram: Option<Range<u64>>,
    ) -> Result<Parameters, DamonError>;

    /// Values that the user can read: names and values, as of now. The kernel copies them after
    /// each aggregation ([`Hook::AfterAggregation`](crate::Hook::AfterAggregation)).
    fn outputs(&self, context: &Context) -> Vec<(&'static str, u64)>;

    /// Its context, ready to start.
    ///
    /// # Errors
    /// As [`Module::parameters`].
    fn context(
        &self,
        config: DamonConfig,
        ram: Option<Range<u64>>,
        rng: Rng,
    ) -> Result<Context, DamonError> {
        let mut context = Context::new(config, rng);
        context.commit(self.parameters(&config, ram)?)?;
        Ok(context)
    }

    /// Reads the parameters again into its running context (`commit_inputs`). If they make no sense
    /// the module goes off.
    ///
    /// # Errors
    /// As [`Module::parameters`].
    fn commit_inputs(
        &self,
        context: &mut Context,
        ram: Option<Range<u64>>,
    ) -> Result<(), DamonError> {
        let read = self.parameters(context.config(), ram);
        let taken = read.and_then(|p| context.commit(p));
        if taken.is_err() && context.is_running() {
            context.stop()?;
        }
        taken
    }
}

/// The one target of a module: what the user named, or the largest range of memory.
fn target(
    start: u64,
    end: u64,
    ram: Option<Range<u64>>,
    attrs: &MonitoringAttrs,
) -> Result<Target, DamonError> {
    if start > end {
        return Err(DamonError::InvalidModule("monitor_region_start exceeds monitor_region_end"));
    }
    let range = if (start, end) == (0, 0) { ram } else { Some(start..end) };
    let range = range.ok_or(DamonError::InvalidModule("there is no memory to watch"))?;
    let mut target = Target::new(None);
    set_regions(&mut target, &[range], attrs.min_region)?;
    Ok(target)
}

/// A number of regions as contexts take it.
fn regions(n: u64) -> u32 {
    n.min(u64::from(u32::MAX)) as u32
}

/// A number of aggregations as schemes take it.
fn ages(us: u64, aggr_us: u64) -> u32 {
    (us / aggr_us).min(u64::from(u32::MAX)) as u32
}
