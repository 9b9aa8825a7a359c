//! Compaction by name: presets, knobs, and the strategy that they make.

use mmsim_core::machine::config::Kernel;
use mmsim_core::policy::compaction::Compaction;

use crate::report::KnobValue;
use crate::scenario::RunSpec;
use crate::scenario::policy::{KnobError, KnobInfo, NO_COMPACTION, PolicySpec};

/// Names of all presets.
pub(super) fn presets() -> Vec<String> {
    vec![NO_COMPACTION.to_string()]
}

/// The preset of a kernel, if its compaction is modelled.
pub(super) fn default_of(kernel: Kernel) -> String {
    let own = format!("compaction-v{}", kernel.name());
    if presets().contains(&own) { own } else { NO_COMPACTION.to_string() }
}

/// What a preset is, in one line; `None`: it is no preset of compaction.
pub(super) fn about(preset: &str) -> Option<&'static str> {
    (preset == NO_COMPACTION)
        .then_some("free memory stays as it is, as in a kernel without compaction")
}

/// The knobs of a preset; `None`: it is no preset of compaction.
pub(super) fn knobs(preset: &str) -> Option<Vec<KnobInfo>> {
    (preset == NO_COMPACTION).then(Vec::new)
}

/// Whether knobs fit a preset; `None`: it is no preset of compaction.
pub(super) fn check(spec: &PolicySpec) -> Option<Result<(), KnobError>> {
    (spec.preset == NO_COMPACTION).then_some(Ok(()))
}

/// The strategy that a run asks for.
pub(super) fn strategy(run: &RunSpec) -> Result<Option<Box<dyn Compaction>>, KnobError> {
    let _ = run;
    Ok(None)
}

/// What a report says about the compaction of a run: nothing without one.
pub fn compaction_knobs(run: &RunSpec) -> Vec<(String, KnobValue)> {
    if run.compaction.preset == NO_COMPACTION {
        return Vec::new();
    }
    vec![("compaction".to_string(), KnobValue::from(run.compaction.preset.as_str()))]
}
