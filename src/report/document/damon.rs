//! What monitors of accesses saw and did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a monitor of accesses saw and did.
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
    /// What DAMON_STAT tells, if it is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<DamonStatReport>,
    /// When its record had no room for more; it has nothing from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_full_ns: Option<u64>,
    /// How far it is from the truth, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthReport>,
}

/// What DAMON_STAT tells: the files of `/sys/module/damon_stat/parameters`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DamonStatReport {
    /// Bytes a second that are accessed.
    pub estimated_memory_bandwidth: u64,
    /// Of each percentile of memory, from 0 to 100, the milliseconds since its last access; below 0, for
    /// how long it has been accessed.
    pub memory_idle_ms_percentiles: Vec<i64>,
    /// The aggregation interval, in microseconds.
    pub aggr_interval_us: u64,
}

/// How far a monitor is from the truth: means over its snapshots.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TruthReport {
    /// Snapshots that were compared.
    pub snapshots: u64,
    /// Bytes times time whose accesses were misjudged, as a share of all that was watched: 0.1 is a
    /// tenth of memory taken for always accessed that never was, or all of it by a tenth of the samples.
    pub misjudged: f64,
    /// The part of that which was said to be accessed more often than it was.
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

/// What became of a scheme: the kernel's statistics.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SchemeReport {
    /// What it does.
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
