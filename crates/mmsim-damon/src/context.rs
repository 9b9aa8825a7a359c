//! A context: what is watched and how, the schemes, and where its thread is.
//!
//! Everything that a listener, an operations set or a user may ask of it is here. What its thread
//! does with it is in [`turn`](crate::turn), a pass of the schemes in `damos/apply.rs`, and changes
//! while it runs in [`commit`](crate::commit).
//!
//! Linux 6.12 `include/linux/damon.h` (`struct damon_ctx`).

use crate::aggregate::Cuts;
use crate::attrs::{MonitoringAttrs, update_result};
use crate::config::{DamonConfig, IntervalClock, PatternCounter};
use crate::damos::scheme::Scheme;
use crate::error::DamonError;
use crate::region::{Region, Target};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimTime;

/// Where the thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KdamondState {
    /// There is none.
    Stopped,
    /// At the top of its loop.
    Top,
    /// Asleep, because watermarks keep all schemes from working.
    Waiting,
    /// Asleep between marking and looking.
    Sampling,
    /// Asleep between two looks at whether it is still paused, with a sample that was looked at.
    Paused,
    /// In a pass of the schemes.
    Applying(Cursor),
}

/// Where a pass is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) target: usize,
    pub(crate) region: usize,
    /// The scheme that the region is offered to next.
    pub(crate) scheme: usize,
    /// Regions of the target behind this one when the walk came to it; none if it did not yet.
    pub(crate) behind: Option<usize>,
}

/// State that the thread read at the top of its loop, or found out since. Changes made in between
/// count from the next turn on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Iteration {
    pub(crate) next_aggregation: u64,
    pub(crate) next_ops_update: u64,
    pub(crate) sample_us: u64,
    pub(crate) aggregating: bool,
}

/// All that a user decides about a context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Intervals and numbers of regions.
    pub attrs: MonitoringAttrs,
    /// Targets that it watches. A target without regions keeps those that it has.
    pub targets: Vec<Target>,
    /// Its schemes.
    pub schemes: Vec<Scheme>,
}

/// Targets, how they are watched, and schemes (`struct damon_ctx`).
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) config: DamonConfig,
    pub(crate) attrs: MonitoringAttrs,
    pub(crate) targets: Vec<Target>,
    pub(crate) schemes: Vec<Scheme>,
    pub(crate) rng: Rng,
    /// Samples taken since the start.
    pub(crate) passed_samples: u64,
    /// The samples from which an aggregation is over, and ranges are found anew.
    pub(crate) next_aggregation: u64,
    pub(crate) next_ops_update: u64,
    /// When that was last, for contexts that go by the clock.
    pub(crate) last_aggregation: SimTime,
    pub(crate) last_ops_update: SimTime,
    pub(crate) cuts: Cuts,
    /// Samples of an aggregation, as the user set them, and the sample from which intervals are
    /// tuned.
    pub(crate) aggr_samples: u64,
    pub(crate) next_tuning: u64,
    /// Bytes above which no region grows by merging.
    pub(crate) sz_limit: u64,
    /// The same within the running pass of the schemes.
    pub(crate) slice_limit: u64,
    pub(crate) state: KdamondState,
    pub(crate) iteration: Iteration,
    pub(crate) should_stop: bool,
    pub(crate) paused: bool,
    /// Change that takes effect at the next hook where it can.
    pub(crate) pending: Option<Parameters>,
    /// Room that is kept from step to step.
    pub(crate) accessed: Vec<bool>,
    pub(crate) scratch: Vec<Region>,
}

impl Context {
    /// A context without targets and schemes, with the attributes that kernels give it.
    /// The random numbers decide where regions are cut.
    pub fn new(config: DamonConfig, rng: Rng) -> Context {
        Context {
            config,
            attrs: MonitoringAttrs::DEFAULT,
            targets: Vec::new(),
            schemes: Vec::new(),
            rng,
            passed_samples: 0,
            next_aggregation: 0,
            next_ops_update: 0,
            last_aggregation: SimTime::ZERO,
            last_ops_update: SimTime::ZERO,
            cuts: Cuts::default(),
            aggr_samples: MonitoringAttrs::DEFAULT.samples_in(MonitoringAttrs::DEFAULT.aggr_us),
            next_tuning: 0,
            sz_limit: 0,
            slice_limit: 0,
            state: KdamondState::Stopped,
            iteration: Iteration::default(),
            should_stop: false,
            paused: false,
            pending: None,
            accessed: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Its knobs.
    pub fn config(&self) -> &DamonConfig {
        &self.config
    }

    /// Its attributes.
    pub fn attrs(&self) -> &MonitoringAttrs {
        &self.attrs
    }

    /// Its targets. Everywhere else they are known by their index here.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Its schemes, in the order in which they are offered regions.
    pub fn schemes(&self) -> &[Scheme] {
        &self.schemes
    }

    /// Samples taken since the start.
    pub fn passed_samples(&self) -> u64 {
        self.passed_samples
    }

    /// Bytes above which no region grows by merging, as of the last look at the ranges or, where
    /// large regions are cut, at the end of the last aggregation.
    pub fn sz_limit(&self) -> u64 {
        self.sz_limit
    }

    /// The count that patterns are about, as a user sees it.
    pub(crate) fn counter(&self, region: &Region) -> u32 {
        match self.config.pattern_counter {
            PatternCounter::NrAccesses => region.nr_accesses,
            PatternCounter::Moving => region.nr_accesses_bp / 10_000,
            PatternCounter::WindowSum => self.window_sum(region),
        }
    }

    /// The running count, and of the last one the share of the samples that are still to come
    /// (`damon_nr_accesses_mvsum()`). By the clock a pass comes at the end only.
    fn window_sum(&self, region: &Region) -> u32 {
        let left = match self.config.interval_clock {
            IntervalClock::Wall => 0,
            IntervalClock::SampleCount => self.next_aggregation.saturating_sub(self.passed_samples),
        };
        let (last, window) = (region.last_nr_accesses, u64::from(self.attrs.window()));
        let left_bp = left.saturating_mul(10_000) / window;
        if left_bp == 10_000 {
            return last;
        }
        let share = u128::from(last) * u128::from(left_bp) / 10_000;
        region.nr_accesses.saturating_add(share.min(u128::from(u32::MAX)) as u32)
    }

    /// True if it was started and has not ended.
    pub fn is_running(&self) -> bool {
        self.state != KdamondState::Stopped
    }

    /// Replaces the targets, and lets go of the old ones.
    ///
    /// # Errors
    /// [`DamonError::Busy`] while it runs.
    pub fn set_targets(&mut self, targets: Vec<Target>) -> Result<(), DamonError> {
        self.stopped()?;
        self.targets = targets;
        Ok(())
    }

    /// Replaces the schemes.
    ///
    /// # Errors
    /// [`DamonError::Busy`] while it runs; a scheme that makes no sense, and then none is taken.
    pub fn set_schemes(&mut self, schemes: Vec<Scheme>) -> Result<(), DamonError> {
        self.stopped()?;
        schemes.iter().try_for_each(|s| s.validate_for(&self.config))?;
        self.schemes = schemes;
        self.schedule_schemes();
        Ok(())
    }

    /// Replaces the attributes.
    ///
    /// # Errors
    /// [`DamonError::Busy`] while it runs; attributes that make no sense.
    pub fn set_attrs(&mut self, attrs: MonitoringAttrs) -> Result<(), DamonError> {
        self.stopped()?;
        self.change_attrs(attrs)
    }

    pub(crate) fn stopped(&self) -> Result<(), DamonError> {
        if self.is_running() { Err(DamonError::Busy) } else { Ok(()) }
    }

    /// Replaces the attributes, also while it runs: counts and ages are converted, and intervals
    /// begin anew.
    pub(crate) fn change_attrs(&mut self, attrs: MonitoringAttrs) -> Result<(), DamonError> {
        attrs.validate(&self.config)?;
        self.aggr_samples = attrs.samples_in(attrs.aggr_us);
        self.adopt(attrs, self.passed_samples < self.next_aggregation);
        Ok(())
    }

    pub(crate) fn adopt(&mut self, attrs: MonitoringAttrs, aggregating: bool) {
        let now = self.passed_samples;
        for r in self.targets.iter_mut().flat_map(|t| &mut t.regions) {
            update_result(r, &self.attrs, &attrs, aggregating);
        }
        self.attrs = attrs;
        self.next_aggregation = now + attrs.samples_in(attrs.aggr_us);
        self.next_ops_update = now + attrs.samples_in(attrs.ops_update_us);
        self.schedule_schemes();
    }

    pub(crate) fn schedule_schemes(&mut self) {
        for s in &mut self.schemes {
            s.state.next_apply_sis = s.next_apply(self.passed_samples, &self.attrs);
        }
    }

    /// Asks it to end, which it does in its next step that tests for it.
    ///
    /// # Errors
    /// [`DamonError::NotRunning`].
    pub fn stop(&mut self) -> Result<(), DamonError> {
        if !self.is_running() {
            return Err(DamonError::NotRunning);
        }
        self.should_stop = true;
        Ok(())
    }
}
