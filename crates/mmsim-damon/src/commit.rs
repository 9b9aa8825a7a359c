//! Changes to a context that runs.
//!
//! New parameters are matched to the old ones by position: what both have is updated in place, so
//! that a scheme keeps its statistics and what its quota was charged with, and a target keeps what
//! is known of its regions; the rest is dropped or added. A running context takes them where
//! nothing is under way: after merging, or after a look at the watermarks.
//!
//! Linux 6.12 `mm/damon/core.c` (`damon_commit_ctx()`). There an error in the middle leaves the
//! first half changed; here everything is checked first. A resume point in a target that goes is
//! forgotten here; there it stays as a stale pointer, and the scheme skips all regions ever after.
//! Kernels before 6.11 put new schemes in the place of the old ones, and so begin their statistics
//! anew.

use crate::config::FirstPsi;
use crate::context::{Context, Parameters};
use crate::damos::goal::{Goal, Metric};
use crate::damos::quota::Quota;
use crate::damos::scheme::Scheme;
use crate::error::DamonError;
use crate::ranges::set_regions;
use crate::region::{Region, Target};
use std::ops::Range;

impl Context {
    /// Takes new parameters: at once if it does not run, else after the next merge or look at the
    /// watermarks. A second call before that replaces the first.
    ///
    /// # Errors
    /// Attributes, ranges or schemes that make no sense; then nothing is taken.
    pub fn commit(&mut self, parameters: Parameters) -> Result<(), DamonError> {
        parameters.attrs.validate(self.config())?;
        parameters.schemes.iter().try_for_each(|s| s.validate_for(self.config()))?;
        for t in &parameters.targets {
            let unit = parameters.attrs.min_region;
            set_regions(&mut Target::default(), &ranges(t), unit)?;
        }
        self.pending = Some(parameters);
        if !self.is_running() {
            self.commit_pending();
        }
        Ok(())
    }

    /// Pauses it, or lets it go on, with parameters that are else as they were. A running context
    /// pauses when it has looked at its next sample (Linux 7.3 `kdamond_fn()`, since 7.2). Paused it
    /// neither samples nor applies schemes, and goes on with what it had seen.
    pub fn set_paused(&mut self, paused: bool) {
        if self.paused == paused {
            return;
        }
        self.paused = paused;
        for s in &mut self.schemes {
            s.state.activated = true;
            if self.config.first_psi == FirstPsi::Neutral {
                s.quota.goals.iter_mut().for_each(|g| g.last_psi_total = None);
            }
        }
    }

    /// Takes what [`Context::commit`] left.
    pub(crate) fn commit_pending(&mut self) {
        let Some(new) = self.pending.take() else { return };
        self.schemes.truncate(new.schemes.len());
        for (i, scheme) in new.schemes.into_iter().enumerate() {
            match self.schemes.get_mut(i) {
                Some(old) => update_scheme(old, scheme, self.config.first_psi),
                None => self.schemes.push(scheme),
            }
        }
        let nr_targets = new.targets.len();
        self.targets.resize_with(nr_targets, Target::default);
        for (old, target) in self.targets.iter_mut().zip(new.targets) {
            if !target.regions.is_empty() {
                set_regions(old, &ranges(&target), new.attrs.min_region)
                    .expect("ranges were checked when they came");
            }
            old.space = target.space;
        }
        for s in &mut self.schemes {
            s.state.charge.resume = s.state.charge.resume.filter(|at| at.0 < nr_targets);
        }
        self.change_attrs(new.attrs).expect("attributes were checked when they came");
    }
}

fn ranges(target: &Target) -> Vec<Range<u64>> {
    target.regions.iter().map(|r: &Region| r.start..r.end).collect()
}

/// All that the user decides comes from `new`; the scheme is active again.
fn update_scheme(old: &mut Scheme, new: Scheme, first_psi: FirstPsi) {
    let goals = new.quota.goals.into_iter().enumerate();
    let update = |(i, goal)| update_goal(old.quota.goals.get(i), goal, first_psi);
    let goals = goals.map(update).collect();
    let quota = Quota { goals, ..new.quota };
    old.state.activated = true;
    let state = std::mem::take(&mut old.state);
    *old = Scheme { quota, state, ..new };
}

/// The stall time that was seen last is kept, as the user does not know it. Where the first look at
/// it says nothing it is forgotten, so that the next look is a first one
/// (Linux 7.3 `damos_commit_quota_goal_union()`).
fn update_goal(old: Option<&Goal>, new: Goal, first_psi: FirstPsi) -> Goal {
    let Some(old) = old else { return new };
    let current_value = match new.metric {
        Metric::UserInput => new.current_value,
        _ => old.current_value,
    };
    let last_psi_total = match first_psi {
        FirstPsi::Total => old.last_psi_total,
        FirstPsi::Neutral => None,
    };
    Goal { current_value, last_psi_total, ..new }
}
