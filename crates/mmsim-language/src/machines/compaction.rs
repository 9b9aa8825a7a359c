//! Compaction by name: the strategy that a preset and knobs make.

use mmsim_compaction::{CompactionConfig, TwoScanners};
use mmsim_core::base::settings::Settings as _;
use mmsim_core::memory::Memory;
use mmsim_core::policy::compaction::Compaction;

use crate::registry::{KnobError, PolicySpec, resolve, values};
use crate::scenario::RunSpec;
use mmsim_report::KnobValue;

/// The knobs of a preset with those of the scenario on top of it; `None`: no compaction.
fn config(spec: &PolicySpec) -> Result<Option<CompactionConfig>, KnobError> {
    match CompactionConfig::preset(&spec.preset) {
        Some(_) => resolve(spec).map(Some),
        None => Ok(None),
    }
}

/// The strategy that a run asks for.
pub(super) fn strategy(
    run: &RunSpec,
    mem: &Memory,
) -> Result<Option<Box<dyn Compaction>>, KnobError> {
    let config = config(&run.compaction)?;
    Ok(config.map(|c| Box::new(TwoScanners::new(c, mem)) as Box<dyn Compaction>))
}

/// Statements of a report about the compaction of a run: empty without one.
pub fn compaction_knobs(run: &RunSpec) -> Vec<(String, KnobValue)> {
    let Ok(Some(config)) = config(&run.compaction) else { return Vec::new() };
    let preset = ("compaction".to_string(), run.compaction.preset.clone());
    let knobs = values(&config).into_iter().map(|(k, v)| (format!("compaction.{k}"), v));
    [preset].into_iter().chain(knobs).map(|(k, v)| (k, KnobValue::from(v.as_str()))).collect()
}
