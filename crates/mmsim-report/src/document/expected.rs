//! Expectations of a scenario in a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An expectation and what came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ExpectReport {
    /// Name of its scenario, where the report has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The expectation, in words.
    pub expected: String,
    /// Result: the runs that differ, or all.
    pub found: String,
    /// True if it holds.
    pub holds: bool,
}
