//! The remark on kernel builds, which was patch 9's reason.

use super::super::Figures;
use super::super::lab::{Lab, ScenarioFile};
use super::super::published::Published;
use crate::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "experiments/anon-workingset/detection.toml",
    text: include_str!("../../../experiments/anon-workingset/detection.toml"),
};

pub(super) fn figures(_: &Lab<'_>, _: &Published) -> Result<Figures, RunError> {
    Ok(Figures::default())
}
