//! Scenarios as commands run them: read, changed by options, expanded to single runs.

use std::path::Path;

use crate::runner::registry;
use mmsim::nearest::listed;
use mmsim::report::expect::Expectation;
use mmsim::scenario::GroupPolicy;
use mmsim::selection::Selection;
use mmsim::{Error, RunSpec, Scenario};
use mmsim_terminal::exit::remark;

/// Changes of a scenario by the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides<'a> {
    /// `key=value` of each `--set`, in order.
    pub sets: &'a [(String, String)],
    /// The first seed instead of the scenario's.
    pub seed: Option<u64>,
    /// Number of seeds; they follow one another.
    pub seeds: Option<u32>,
    /// Only these variants; empty: all. A name that there is not is an error.
    pub variants: &'a [String],
    /// Only the settings where these axes have these values.
    pub at: &'a [(String, String)],
    /// Policies of cache_ext that are variants more.
    pub policies: &'a [GroupPolicy],
}

/// One run that will be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlannedRun {
    /// For progress: variant, axes and seed in a few words.
    pub label: String,
    /// True if the scenario expects this run to end out of memory.
    pub expect_oom: bool,
}

/// A scenario that was read, overridden and expanded.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// Description of the scenario.
    pub about: String,
    /// The scenario; [`Scenario::resolved`] is what `--dry-run` prints.
    pub scenario: Scenario,
    /// Expectations of its runs.
    pub expect: Vec<Expectation>,
    /// True if `--set` made it another scenario than the file's, whose expectations need not hold.
    pub changed: bool,
    /// Its runs: axes, then variants, then seeds.
    pub runs: Vec<PlannedRun>,
    /// The same runs, resolved.
    pub specs: Vec<RunSpec>,
}

impl Plan {
    /// Reads a scenario file. A message about its contents names file, line and column.
    pub(crate) fn read(path: &Path, overrides: &Overrides<'_>) -> Result<Plan, Error> {
        let mut sets = overrides.sets.to_vec();
        sets.extend(overrides.seed.map(|s| ("seed".to_string(), s.to_string())));
        sets.extend(overrides.seeds.map(|s| ("seeds".to_string(), s.to_string())));
        let scenario = Scenario::load(path, &sets)?;
        let mut variants = overrides.variants.to_vec();
        if !variants.is_empty() {
            variants.extend(scenario.names_of_policies(overrides.policies));
        }
        let scenario = scenario.with_policies(overrides.policies)?;
        for (key, variants) in scenario.overruled() {
            let names: Vec<&str> = variants.iter().map(String::as_str).collect();
            remark(&format!(
                "--set {key} does not reach variants with a value of their own: {}",
                listed(&names)
            ));
        }
        let mut specs = mmsim::machines::specs_of(&scenario, &registry())?;
        let selection = Selection::new(&variants, overrides.at);
        specs = selection.of(specs, &path.display().to_string())?;
        Ok(Plan {
            name: scenario.name().to_string(),
            about: scenario.about().to_string(),
            expect: scenario.expect().to_vec(),
            changed: !overrides.sets.is_empty(),
            runs: specs
                .iter()
                .map(|s| PlannedRun { label: s.label(), expect_oom: s.expect_oom })
                .collect(),
            specs,
            scenario,
        })
    }
}

/// Refuses runs that the host cannot hold.
pub(crate) fn fit(plans: &[Plan], jobs: Option<usize>) -> Result<(), Error> {
    // One scenario after the other.
    plans.iter().try_for_each(|plan| mmsim::host::check(&plan.specs, jobs))
}
