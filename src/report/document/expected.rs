//! What a scenario expects of its runs, in a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An expectation and what came out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ExpectReport {
    /// Name of its scenario, where the report has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What is expected, in words.
    pub expected: String,
    /// What came out: the runs that are otherwise, or all.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}
