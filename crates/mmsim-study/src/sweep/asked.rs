//! Expectations of the scenarios of a sweep.

use super::SweepPlan;
use super::work::scenario_of;
use mmsim_report::expect::Asking;
use mmsim_report::{ExpectReport, RunReport};

/// Places that one answer names, of which a sweep may have a million.
const PLACES: usize = 5;

/// The expectations of all scenarios of a plan, asked of runs that come one by one.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    of: Vec<(Option<&'a str>, Asking<'a>)>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(plan: Option<&'a SweepPlan>) -> Asked<'a> {
        let scenarios = plan.map_or(0, |p| p.scenarios().len());
        let of = plan.into_iter().flat_map(|plan| {
            (0..scenarios).map(move |i| {
                let name = scenario_of(plan, i);
                (name, Asking::new(name, plan.expectations(i).0))
            })
        });
        Asked { of: of.filter(|(_, asking)| !asking.is_empty()).collect() }
    }

    /// True if there are no expectations.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Asks one more run.
    pub fn add(&mut self, run: &RunReport) {
        let here = |(name, _): &&mut (Option<&str>, Asking<'_>)| *name == run.scenario.as_deref();
        if let Some((_, asking)) = self.of.iter_mut().find(here) {
            asking.add(run);
        }
    }

    /// Results of the runs that were checked.
    pub fn finish(&mut self) -> Vec<ExpectReport> {
        self.of.iter_mut().flat_map(|(_, asking)| asking.finish(PLACES)).collect()
    }

    /// True if all expectations at the setting and of the variant of a run hold; `None`: there are
    /// none. Known at the end.
    pub(super) fn holds(&self, run: &RunReport) -> Option<bool> {
        self.of.iter().find(|(name, _)| *name == run.scenario.as_deref())?.1.holds(run)
    }
}
