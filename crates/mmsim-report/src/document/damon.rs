//! Results of monitors of accesses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a monitor of accesses.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DamonReport {
    /// Its name.
    pub name: String,
    /// Its operations: `vaddr`, `fvaddr` or `paddr`.
    pub ops: String,
    /// CPU time that it used.
    pub cpu_ns: u64,
    /// Samples that it took.
    pub samples: u64,
    /// Regions at the end; none once it has ended.
    pub nr_regions: u64,
    /// Its schemes, in order.
    pub schemes: Vec<SchemeReport>,
    /// Output of DAMON_STAT, if it is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<DamonStatReport>,
    /// When its record had no room for more; it has nothing from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_full_ns: Option<u64>,
    /// Accuracy, where the scenario wants it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthReport>,
}

/// Output of DAMON_STAT: the files of `/sys/module/damon_stat/parameters`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DamonStatReport {
    /// Bytes a second that are accessed.
    pub estimated_memory_bandwidth: u64,
    /// For each percentile of memory, from 0 to 100, the milliseconds since its last access; below
    /// 0, for how long it has been accessed.
    pub memory_idle_ms_percentiles: Vec<i64>,
    /// The aggregation interval, in microseconds.
    pub aggr_interval_us: u64,
}

/// Accuracy of a monitor: means over its snapshots.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TruthReport {
    /// Snapshots that were compared.
    pub snapshots: u64,
    /// Bytes times time whose accesses were misjudged, as a share of all that was watched: 0.1 is a
    /// tenth of memory taken for always accessed that never was, or all of it by a tenth of the samples.
    pub misjudged: f64,
    /// The part of that which the record rates higher than it was.
    pub overrated: f64,
    /// Bytes with an access in an aggregation.
    pub working_set: f64,
    /// Bytes of regions said to have one.
    pub working_set_said: f64,
    /// Bytes wrongly in that or missing from it.
    pub working_set_wrong: f64,
    /// Bytes of the smallest region that was rightly said to be accessed in four of five samples; 0:
    /// none was.
    pub smallest_hot: u64,
}

/// Statistics of a scheme, as the kernel keeps them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SchemeReport {
    /// Its action.
    pub action: String,
    /// Regions it was tried on.
    pub nr_tried: u64,
    /// Their bytes.
    pub sz_tried: u64,
    /// Regions where it worked.
    pub nr_applied: u64,
    /// Bytes for which it worked.
    pub sz_applied: u64,
    /// Charge windows whose quota was used up.
    pub qt_exceeds: u64,
    /// Snapshots that it went through to the end, where this DAMON counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_snapshots: Option<u64>,
}
