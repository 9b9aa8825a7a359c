//! The thread that runs a context (kdamond).
//!
//! One turn of the thread is one sampling interval: marking the page of every region old, sleeping,
//! looking which were used. When an aggregation is over, regions are merged, schemes applied,
//! counts reported and reset, regions cut. From time to time the monitored ranges are found anew.
//!
//! The thread is a machine with a few states, since the simulation goes on while it sleeps and
//! while its schemes work. [`Context::step`] does what lies between two sleeps, from waking to
//! the next sleep; but each application of a scheme to a region is a step of its own, after which
//! the step asks to go on at once.
//!
//! Linux 6.12 `mm/damon/core.c` (`kdamond_fn()`), and that of 5.16 to 7.3 where knobs say so. What
//! differs: what is remembered of the last cuts is kept per context, where the kernel has it once
//! for all; and a sample interval of 0 sleeps 1 µs.

use crate::aggregate::{
    self, apply_min_nr_regions, merge_regions, nr_regions, region_sz_limit, reset_aggregated,
};
use crate::config::{IntervalClock, MinRegions};
use crate::context::{Context, Cursor, Iteration, KdamondState};
use crate::damos::scheme;
use crate::error::DamonError;
use crate::operations::{Hook, Operations};
use crate::region::Target;
use crate::tuning;
use mmsim_core::base::time::{SimDuration, SimTime};

/// Request of a context after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepOutcome {
    /// To go on at once.
    Again,
    /// To go on after so much sleep.
    Sleep(SimDuration),
    /// Nothing more: it has ended.
    Exit,
}

impl Context {
    /// Starts it. The first [`Context::step`] is due at once.
    ///
    /// # Errors
    /// [`DamonError::Busy`] if it runs, [`DamonError::NoTargets`] if there is nothing to watch.
    pub fn start(&mut self, ops: &mut dyn Operations) -> Result<(), DamonError> {
        self.stopped()?;
        if self.targets.is_empty() {
            return Err(DamonError::NoTargets);
        }
        self.passed_samples = 0;
        self.next_aggregation = self.attrs.samples_in(self.attrs.aggr_us);
        self.next_ops_update = self.attrs.samples_in(self.attrs.ops_update_us);
        let aggrs = self.attrs.tuning.map_or(0, |goal| goal.aggrs);
        self.next_tuning = self.next_aggregation.saturating_mul(aggrs);
        self.last_aggregation = self.config.coarse(ops.now());
        self.last_ops_update = self.last_aggregation;
        self.schedule_schemes();
        ops.init(&mut self.targets, &self.attrs);
        self.limit_sizes();
        self.should_stop = false;
        self.state = KdamondState::Top;
        Ok(())
    }

    /// Finds out how large regions may be, and cuts those that are larger where a kernel does.
    fn limit_sizes(&mut self) {
        let (targets, attrs) = (&mut self.targets, &self.attrs);
        self.sz_limit = match self.config.min_regions {
            MinRegions::MergeLimit => region_sz_limit(targets, attrs),
            MinRegions::Enforced => {
                let copies = self.config.split_copies_counts;
                apply_min_nr_regions(targets, attrs, copies, &mut self.scratch)
            }
        };
    }

    /// Runs the thread from waking up to its next sleep, or to the next application of a scheme.
    pub fn step(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        match self.state {
            KdamondState::Stopped => StepOutcome::Exit,
            KdamondState::Top => self.top(ops),
            KdamondState::Waiting => {
                if ops.hook(Hook::AfterWmarksCheck, self).is_break() {
                    return self.exit(ops);
                }
                self.commit_pending();
                self.wait_activation(ops)
            }
            KdamondState::Sampling => self.woken(ops),
            KdamondState::Paused => {
                if ops.hook(Hook::Calls, self).is_break() || self.need_stop(ops) {
                    return self.exit(ops);
                }
                self.commit_pending();
                self.unless_paused(ops)
            }
            KdamondState::Applying(cursor) => self.pass(ops, cursor),
        }
    }

    /// The top of the loop.
    fn top(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        self.iteration = Iteration {
            next_aggregation: self.next_aggregation,
            next_ops_update: self.next_ops_update,
            sample_us: self.attrs.sample_us,
            aggregating: false,
        };
        self.wait_activation(ops)
    }

    /// Up to the sleep between marking and looking, if watermarks allow it.
    fn wait_activation(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        if self.need_stop(ops) {
            return self.exit(ops);
        }
        let wait = scheme::wait_us(&mut self.schemes, &self.config, ops.free_mem_rate());
        if wait > 0 {
            self.state = KdamondState::Waiting;
            return StepOutcome::Sleep(self.config.sleep(wait));
        }
        ops.prepare_access_checks(&mut self.targets);
        if ops.hook(Hook::AfterSampling, self).is_break() {
            return self.exit(ops);
        }
        self.state = KdamondState::Sampling;
        StepOutcome::Sleep(self.config.sleep(self.iteration.sample_us))
    }

    /// True if it is to end: it was stopped, or nothing is left that could be watched. An
    /// operations set without a test of targets ends only when it is stopped.
    fn need_stop(&self, ops: &dyn Operations) -> bool {
        if self.should_stop {
            return true;
        }
        if self.targets.is_empty() {
            return ops.target_valid(&Target::default()).is_some();
        }
        self.targets.iter().all(|t| ops.target_valid(t) == Some(false))
    }

    /// After the sleep between marking and looking.
    fn woken(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        self.passed_samples += 1;
        let most = self.check_accesses(ops);
        self.iteration.aggregating = self.aggregation_due(ops.now());
        if self.iteration.aggregating {
            ops.charge_regions(nr_regions(&self.targets));
            let (cap, zero_rule) = (self.config.merge_cap, self.config.age_zero_rule);
            let limit = self.sz_limit;
            merge_regions(&mut self.targets, most / 10, limit, &self.attrs, cap, zero_rule);
            if self.config.min_regions == MinRegions::Enforced {
                self.limit_sizes();
            }
            if ops.hook(Hook::AfterAggregation, self).is_break() {
                return self.exit(ops);
            }
            self.commit_pending();
        }
        if ops.hook(Hook::Calls, self).is_break() {
            return self.exit(ops);
        }
        self.unless_paused(ops)
    }

    /// From a sample that was looked at to the schemes, or to sleep.
    fn unless_paused(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        if self.paused {
            self.state = KdamondState::Paused;
            return StepOutcome::Sleep(self.config.sleep(self.attrs.sample_us));
        }
        let by_samples = self.config.interval_clock == IntervalClock::SampleCount;
        let first =
            if by_samples || self.iteration.aggregating { self.begin_pass(ops) } else { None };
        match first {
            Some(cursor) => self.pass(ops, cursor),
            None => self.end_of_iteration(ops),
        }
    }

    /// Goes on with a pass of the schemes.
    fn pass(&mut self, ops: &mut dyn Operations, mut cursor: Cursor) -> StepOutcome {
        if self.advance_pass(ops, &mut cursor) {
            self.state = KdamondState::Applying(cursor);
            return StepOutcome::Again;
        }
        self.end_pass();
        self.end_of_iteration(ops)
    }

    /// Makes the intervals longer or shorter, if that is due.
    fn tune_intervals(&mut self) {
        let goal = self.attrs.tuning.filter(|goal| goal.aggrs > 0);
        let Some(goal) = goal.filter(|_| self.passed_samples >= self.next_tuning) else { return };
        self.next_tuning += self.aggr_samples * goal.aggrs;
        let score = tuning::score(&self.targets, self.aggr_samples, goal.access_bp);
        if let Some(attrs) = tuning::tuned(&self.attrs, &goal, self.aggr_samples, score) {
            self.adopt(attrs, false);
        }
    }

    /// Accounts the samples. Returns the largest count.
    fn check_accesses(&mut self, ops: &mut dyn Operations) -> u32 {
        self.accessed.clear();
        ops.check_accesses(&self.targets, &mut self.accessed);
        let regions = self.targets.iter_mut().flat_map(|t| &mut t.regions);
        let window = self.attrs.window();
        let mut most = 0;
        for (r, accessed) in regions.zip(&self.accessed) {
            r.account(*accessed, window);
            most = most.max(r.nr_accesses);
        }
        most
    }

    fn aggregation_due(&mut self, now: SimTime) -> bool {
        match self.config.interval_clock {
            IntervalClock::SampleCount => self.passed_samples >= self.iteration.next_aggregation,
            IntervalClock::Wall => {
                let now = self.config.coarse(now);
                passed(&mut self.last_aggregation, now, self.attrs.aggr_us)
            }
        }
    }

    fn ops_update_due(&mut self, now: SimTime) -> bool {
        match self.config.interval_clock {
            IntervalClock::SampleCount => self.passed_samples >= self.iteration.next_ops_update,
            IntervalClock::Wall => {
                let now = self.config.coarse(now);
                passed(&mut self.last_ops_update, now, self.attrs.ops_update_us)
            }
        }
    }

    /// Reports, resets and cuts; finds ranges anew; and begins the next turn.
    fn end_of_iteration(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        if self.iteration.aggregating {
            self.tune_intervals();
        }
        let attrs = self.attrs;
        if self.iteration.aggregating {
            self.next_aggregation =
                self.iteration.next_aggregation + attrs.samples_in(attrs.aggr_us);
            for target in 0..self.targets.len() {
                // Nothing that a listener says to a report ends a context.
                let _ = ops.hook(Hook::Aggregated { target }, self);
                reset_aggregated(&mut self.targets[target]);
            }
            let rng = &mut self.rng;
            aggregate::split_regions(
                &mut self.targets,
                &mut self.cuts,
                self.config.split_rule,
                &attrs,
                self.config.split_copies_counts,
                &mut || 1 + rng.below(9),
                &mut self.scratch,
            );
        }
        if self.ops_update_due(ops.now()) {
            let samples = attrs.samples_in(attrs.ops_update_us);
            self.next_ops_update = self.iteration.next_ops_update + samples;
            ops.update(&mut self.targets, &attrs);
            if self.config.min_regions == MinRegions::MergeLimit {
                self.limit_sizes();
            }
        }
        self.top(ops)
    }

    fn exit(&mut self, ops: &mut dyn Operations) -> StepOutcome {
        self.targets.iter_mut().for_each(|t| t.regions.clear());
        self.state = KdamondState::Stopped;
        self.pending = None;
        let _ = ops.hook(Hook::BeforeTerminate, self);
        StepOutcome::Exit
    }
}

/// True if an interval of `us` has passed since `last`, which then becomes `now`.
fn passed(last: &mut SimTime, now: SimTime, us: u64) -> bool {
    let due = now.since(*last).as_nanos() >= us.saturating_mul(1000);
    if due {
        *last = now;
    }
    due
}
