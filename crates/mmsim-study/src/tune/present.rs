//! The values that knobs have in the scenario itself, where they are known.
//!
//! A search compares with the present setting, and a reader wants its numbers. They are those of a
//! report: what the scenario writes, what its tables have as defaults, what presets resolve to, and
//! what the kernel computes. A default that is a rule of another kind has no number here.

use crate::run::meta;
use mmsim_core::base::settings::Settings as _;
use mmsim_damon::modules::{LruSort, Reclaim};
use mmsim_formats::system;
use mmsim_language::scenario::tune::Knob;
use mmsim_language::scenario::{DamonContext, RunSpec, by_numbers};
use mmsim_report::KnobValue;

use super::writes::entry;

/// The value of each knob in the scenario's own run, as reports print it; `None`: not known.
pub(super) fn values(knobs: &[Knob], own: &RunSpec) -> Vec<Option<String>> {
    knobs.iter().map(|knob| value(&by_numbers(own, knob.path()), own)).collect()
}

fn value(path: &str, own: &RunSpec) -> Option<String> {
    let meta = meta(own);
    let knob = |name: &str| {
        let found = meta.knobs.iter().find(|(n, _)| n == name);
        found.map(|(_, value): &(String, KnobValue)| value.to_string())
    };
    if let Some(name) = path.strip_prefix("machine.vm.") {
        return knob(&format!("vm.{name}")).or_else(|| system::sysctl_of(&own.machine, name));
    }
    if let Some((i, key)) = entry(path, "damon")
        && let Some(name) = key.strip_prefix("parameters.")
    {
        let value = match &own.damon.get(i)?.what {
            DamonContext::Reclaim(module) => Reclaim::row(name).and_then(|r| module.number(r)),
            DamonContext::LruSort(module) => LruSort::row(name).and_then(|r| module.number(r)),
            DamonContext::Stat | DamonContext::Own { .. } => None,
        };
        return value.map(|n| n.to_string());
    }
    match path {
        "reclaim.preset" => Some(meta.policy.clone()),
        "machine.kernel" => Some(meta.kernel.clone()),
        "machine.cpus" => Some(meta.cpus.to_string()),
        _ => {
            let given = meta.setup.iter().find(|(name, _)| name == path);
            given.map(|(_, value)| value.clone()).or_else(|| knob(path))
        }
    }
}
