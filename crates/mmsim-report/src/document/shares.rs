//! Counts by name: the parts of a class.

use std::collections::BTreeMap;

use mmsim_core::machine::result::RunResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a class: of its refaults, or of what else it counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShareReport {
    /// Name of the share.
    pub name: String,
    /// Count of the share.
    pub count: u64,
}

impl ShareReport {
    /// A share of this name.
    pub fn new(name: impl Into<String>, count: u64) -> Self {
        ShareReport { name: name.into(), count }
    }
}

/// Counts by a name, in the order of names.
pub(super) fn shares(of: impl IntoIterator<Item = (String, u64)>) -> Vec<ShareReport> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in of {
        *all.entry(name).or_default() += count;
    }
    all.into_iter().map(|(name, count)| ShareReport { name, count }).collect()
}

/// Counts by a name, in the order in which names come.
pub(super) fn told_apart(of: impl IntoIterator<Item = (String, u64)>) -> Vec<ShareReport> {
    let mut all: Vec<ShareReport> = Vec::new();
    for (name, count) in of {
        match all.iter_mut().find(|s| s.name == name) {
            Some(s) => s.count += count,
            None => all.push(ShareReport { name, count }),
        }
    }
    all
}

/// The name of a phase by its number.
pub(super) fn phase_name(result: &RunResult, phase: u32) -> String {
    result.phases.get(phase as usize).map_or_else(|| "end".to_string(), |p| p.name.clone())
}

/// The name of a group, in a report.
pub(super) fn group_name(name: &str) -> String {
    if name.is_empty() { "(root)".to_string() } else { name.to_string() }
}
