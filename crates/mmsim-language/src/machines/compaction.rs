//! Compaction by name: presets, knobs, and the strategy that they make.

use mmsim_compaction::{CompactionConfig, TwoScanners};
use mmsim_core::config::Kernel;
use mmsim_core::memory::Memory;
use mmsim_core::policy::compaction::Compaction;
use mmsim_lru::config::Settings;

use super::set;
use crate::scenario::RunSpec;
use crate::scenario::policy::{KnobError, NO_COMPACTION, PolicySpec};
use mmsim_report::KnobValue;

/// Names of all presets.
pub(super) fn presets() -> Vec<String> {
    let names = CompactionConfig::presets().iter().map(|p| p.name);
    names.chain([NO_COMPACTION]).map(String::from).collect()
}

/// The preset where a scenario names none: that of 4.1, which is modelled for the sake of its
/// compaction, on 4.1. Later kernels compact if the scenario says so: in the background they
/// would move pages of workloads that never ask for a large block, and with them every figure
/// that was recorded or calibrated with compaction switched off.
pub(super) fn default_of(kernel: Kernel) -> String {
    match kernel {
        Kernel::V4_1 => "compaction-v4.1".to_string(),
        _ => NO_COMPACTION.to_string(),
    }
}

/// Description of a preset in one line; `None`: it is no preset of compaction.
pub(super) fn about(preset: &str) -> Option<&'static str> {
    let none = "no compaction: free memory stays as scattered as it is";
    let about = CompactionConfig::preset(preset).map(|p| p.about);
    about.or((preset == NO_COMPACTION).then_some(none))
}

/// Checks that knobs fit a preset; `None`: it is no preset of compaction.
pub(super) fn check(spec: &PolicySpec) -> Option<Result<(), KnobError>> {
    about(&spec.preset)?;
    Some(resolve(spec).map(|_| ()))
}

/// The knobs of a preset with those of the scenario on top of it.
fn resolve(spec: &PolicySpec) -> Result<Option<CompactionConfig>, KnobError> {
    let Some(preset) = CompactionConfig::preset(&spec.preset) else { return Ok(None) };
    set(preset.config, spec).map(Some)
}

/// The strategy that a run asks for.
pub(super) fn strategy(
    run: &RunSpec,
    mem: &Memory,
) -> Result<Option<Box<dyn Compaction>>, KnobError> {
    let config = resolve(&run.compaction)?;
    Ok(config.map(|c| Box::new(TwoScanners::new(c, mem)) as Box<dyn Compaction>))
}

/// Statements of a report about the compaction of a run: empty without one.
pub fn compaction_knobs(run: &RunSpec) -> Vec<(String, KnobValue)> {
    let Ok(Some(config)) = resolve(&run.compaction) else { return Vec::new() };
    let preset = ("compaction".to_string(), run.compaction.preset.clone());
    let knobs = CompactionConfig::ROWS
        .iter()
        .map(|k| (format!("compaction.{}", k.name), config.get(k.name).unwrap_or_default()));
    [preset].into_iter().chain(knobs).map(|(k, v)| (k, KnobValue::from(v.as_str()))).collect()
}
