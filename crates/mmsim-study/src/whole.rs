//! All runs of a scenario as one report.

use mmsim_core::machine::Watch;
use mmsim_core::machine::result::RunResult;

use crate::attend::RunOptions;
use crate::run::{OwnPolicy, RunError};
use crate::runner::Runner;
use mmsim_base::error::Error;
use mmsim_language::host;
use mmsim_language::machines;
use mmsim_language::scenario::policy::PolicySpec;
use mmsim_language::scenario::{RunSpec, Scenario};
use mmsim_report::{Report, RunMeta, RunReport, expect};

/// Runs every variant, axis value and seed of a scenario. A run that panics is one of the
/// report, with that outcome.
///
/// # Errors
///
/// The scenario is wrong, or needs more memory than the host has.
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Report, RunError> {
    run_with(scenario, options, &[])
}

/// The same with policies of the caller's own. Each is a variant more, behind those of the scenario:
/// the first variant with that policy in the place of its own, for every axis value and seed. So it
/// stands in tables, notes, JSON and CSV as the others do, under its name.
///
/// # Errors
///
/// As for [`run`]; or a name is that of a variant or of a policy that there is.
pub fn run_with(
    scenario: &Scenario,
    options: &RunOptions,
    own: &[OwnPolicy<'_>],
) -> Result<Report, RunError> {
    let specs = with_own(machines::specs_of(scenario, &options.registry)?, own)?;
    host::check(&specs, options.jobs)?;
    let results = Runner::new(options).results(&specs, own, |_, _| Watch::default())?;
    Ok(assembled(scenario, &results))
}

/// Runs of a scenario, and those of policies of the caller's own behind them: the first variant's
/// with that policy in the place of its own.
///
/// # Errors
///
/// A name is that of a variant, of a policy that there is, or of two policies.
pub fn with_own(mut specs: Vec<RunSpec>, own: &[OwnPolicy<'_>]) -> Result<Vec<RunSpec>, Error> {
    specs.extend(variants_of(own, &specs)?);
    Ok(specs)
}

/// The report of runs of a scenario: with its expectations, and with notes.
pub fn assembled(scenario: &Scenario, results: &[(RunMeta, RunResult)]) -> Report {
    let runs = results.iter().map(|(m, r)| RunReport::from_result(m.clone(), r)).collect();
    let mut report = Report::new(scenario.name(), scenario.about(), runs);
    report.expect = expect::check(&report, None, scenario.expect());
    report.note();
    report
}

/// The runs of policies of the caller's own: those of the first variant with another policy.
fn variants_of(own: &[OwnPolicy<'_>], specs: &[RunSpec]) -> Result<Vec<RunSpec>, Error> {
    let first = specs.first().map_or("", |spec| spec.variant.as_str());
    let presets = specs.first().map_or_else(Vec::new, |spec| spec.registry.presets());
    let mut all = Vec::new();
    for (nth, OwnPolicy { name, .. }) in own.iter().enumerate() {
        let what = match name {
            _ if specs.iter().any(|spec| spec.variant == *name) => "a variant of the scenario",
            _ if presets.contains(name) => "a policy that there is",
            _ if own[..nth].iter().any(|p| p.name == *name) => "that of two policies",
            _ => "",
        };
        if !what.is_empty() {
            let title = format!("the name `{name}` of a policy of one's own is {what}");
            return Err(Error::plain(title).help("write another name"));
        }
        all.extend(specs.iter().filter(|spec| spec.variant == first).map(|spec| {
            let mut spec = spec.clone();
            spec.variant = name.clone();
            spec.policy = PolicySpec { preset: name.clone(), knobs: Vec::new() };
            spec
        }));
    }
    Ok(all)
}
