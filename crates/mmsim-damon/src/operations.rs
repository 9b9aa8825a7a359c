//! Interface between a context and an address space, and between a context and the machine under it
//! (`struct damon_operations` of Linux 6.12 `include/linux/damon.h`).
//!
//! The context knows regions, counts and schemes, never pages; behind this trait is a machine, or a
//! test's idea of one. Times are the operations' own: whoever does work moves [`Operations::now`].

use crate::attrs::MonitoringAttrs;
use crate::context::Context;
use crate::damos::goal::Metric;
use crate::damos::scheme::{Action, Scheme};
use crate::region::{Region, Target};
use mmsim_core::base::time::SimTime;
use std::ops::ControlFlow;

pub use crate::damos::score::ScoreKind;

/// Where a context tells what it does (`struct damon_callback`, and the two tracepoints). The
/// numbers are indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// Sampling addresses are drawn and their pages marked old.
    AfterSampling,
    /// The watermarks kept the context asleep for one interval.
    AfterWmarksCheck,
    /// Regions are merged; nothing is applied, reported or reset.
    AfterAggregation,
    /// A sample was looked at, and regions are merged if that is due; nothing is applied yet
    /// (`kdamond_call`, from 6.17 on).
    Calls,
    /// The regions of a target are reported, with the counts that are reset next
    /// (`damon_aggregated`).
    Aggregated {
        /// Which one.
        target: usize,
    },
    /// A scheme is about to be applied (`damos_before_apply`). A break leaves the action out; it
    /// is charged and counted as tried all the same.
    BeforeApply {
        /// Which scheme.
        scheme: usize,
        /// In which target.
        target: usize,
        /// To which of its regions.
        region: usize,
    },
    /// The context ends; its regions are gone.
    BeforeTerminate,
}

/// An operations set on a machine.
pub trait Operations {
    /// The time of this context's thread, with all the work that it did so far in this step.
    fn now(&self) -> SimTime;

    /// Charges the time that merging, reporting and cutting `regions` regions takes, once per
    /// aggregation.
    fn charge_regions(&mut self, regions: u64);

    /// Draws a sampling address for every region in order
    /// ([`draw_sampling_addr`](crate::region::draw_sampling_addr)) and marks its page old.
    fn prepare_access_checks(&mut self, targets: &mut [Target]);

    /// Checks if the page of every sampling address was used since it was marked old: one answer
    /// per region, in order of targets and addresses, into `out`, which is empty. The context
    /// accounts them.
    fn check_accesses(&mut self, targets: &[Target], out: &mut Vec<bool>);

    /// First regions of the targets that have none; they stay without if none can be found.
    fn init(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs);

    /// Fits the regions to what is mapped now. Nothing where ranges are fixed.
    fn update(&mut self, targets: &mut [Target], attrs: &MonitoringAttrs);

    /// True if a target can still be watched; none if this set has no such test, so that a context
    /// does not end unless it is stopped.
    fn target_valid(&self, target: &Target) -> Option<bool>;

    /// By which score regions are ranked for an action.
    fn score_kind(&self, action: Action) -> ScoreKind;

    /// Applies a scheme to a region, which takes time. Returns the bytes for which it worked.
    fn apply(&mut self, target: &Target, region: Region, scheme: &Scheme) -> u64;

    /// Free pages per thousand.
    fn free_mem_rate(&self) -> u64;

    /// Memory stall time ("some" of PSI) since boot, in µs.
    fn some_mem_psi_us(&self) -> u64;

    /// Value of a metric of a goal now: the stall time since boot, other metrics as they are. By
    /// default nothing but stall time is known.
    fn measure(&self, metric: Metric) -> u64 {
        if metric == Metric::SomeMemPsiUs { self.some_mem_psi_us() } else { 0 }
    }

    /// Share of a node in the pages on LRU lists in these regions, in 1/10000; takes the time that
    /// looking at them takes. 0 if the regions are not of physical memory, if there is no such
    /// node, or no page. By default nothing is known of nodes.
    fn eligible_mem_bp(&mut self, regions: &[Region], node: u16) -> u64 {
        let _ = (regions, node);
        0
    }

    /// Receives events of the context. A break ends it, where not stated otherwise. The default
    /// ignores them.
    fn hook(&mut self, hook: Hook, context: &Context) -> ControlFlow<()> {
        let _ = (hook, context);
        ControlFlow::Continue(())
    }
}
