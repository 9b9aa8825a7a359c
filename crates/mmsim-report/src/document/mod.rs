//! The document: one per command, with every run of a scenario.
//!
//! Keys are stable and come in a fixed order; counters that stayed zero are there too. A
//! reader must check `schema`, which grows when a key changes its meaning; a key that is
//! new does not make it grow. Times are whole nanoseconds of simulated time.

mod cache_ext;
mod daemon;
mod damon;
mod ending;
mod expected;
mod figures;
mod run;
mod shares;
mod tasks;
mod troubles;
mod why;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cache_ext::CacheExtReport;
pub use daemon::{AbsentReport, ActReport, BelowUseReport, DaemonReport};
pub use damon::{DamonReport, DamonStatReport, SchemeReport, TruthReport};
pub use ending::{Ending, OomProcess, OomReport, StuckReport, StuckThread};
pub use expected::ExpectReport;
pub use figures::{
    Bounds, LatencyReport, PressureReport, QuantilesReport, ReadingReport, Throughput,
};
pub use run::{
    DiskReport, KnobValue, Monitored, RunMeta, RunReport, SwapDeviceReport, SwapReport, ZoneReport,
};
pub use shares::ShareReport;
pub use tasks::{AimReport, GenerationReport, PhaseReport, RecordReport, TaskReport, ThreadReport};
pub use troubles::{TroubleClass, TroubleReport};
pub use why::{ClassReport, SwapOutReport, WhyExample, WhyReport};

/// The version of the document's form.
pub const SCHEMA: u32 = 1;

/// The JSON Schema of [`Report`], with a sentence for every field. Keys that are new do not make
/// [`SCHEMA`] grow, so a reader has to allow others.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

/// All runs of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of this form: [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario; of several, with `, ` between them.
    pub scenario: String,
    /// Description of the scenario, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Runs in the order of the scenario: axes, then variants, then seeds.
    pub runs: Vec<RunReport>,
    /// Expectations of scenarios, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectReport>,
    /// Facts that a reader of the figures should know first: work that never took memory, runs
    /// without reclaim, variants that are the same run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why a document could not be read as a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// It is not JSON, or not of this form.
    #[error("not a report of mmsim: {0}")]
    Form(#[from] serde_json::Error),
    /// It was written in a form that this version does not know.
    #[error("the report has schema {0}, this version of mmsim reads schema {SCHEMA}")]
    Schema(u64),
}

impl Report {
    /// A report of these runs, written by this version of mmsim.
    pub fn new(
        scenario: impl Into<String>,
        about: impl Into<String>,
        runs: Vec<RunReport>,
    ) -> Self {
        Report {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            scenario: scenario.into(),
            about: about.into(),
            runs,
            expect: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The document as indented JSON that ends with a newline. Equal reports give equal
    /// bytes.
    pub fn to_json(&self) -> String {
        // Every value is a number, a string, or a list or map of them under string keys.
        let mut json = serde_json::to_string_pretty(self).expect("a report is plain data");
        json.push('\n');
        json
    }

    /// Reads a document back.
    pub fn from_json(json: &str) -> Result<Report, ReportError> {
        // The schema first: a document of a later form should say so, and not complain
        // about a key.
        #[derive(Deserialize)]
        struct Version {
            schema: u64,
        }
        let Version { schema } = serde_json::from_str(json)?;
        if schema != u64::from(SCHEMA) {
            return Err(ReportError::Schema(schema));
        }
        Ok(serde_json::from_str(json)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::Pairs;
    use crate::samples;
    use mmsim_core::base::time::SimDuration;
    use mmsim_core::machine::result::{OomProcess, OomSummary, Outcome};

    #[test]
    fn a_report_reads_back_as_it_was_written() {
        let report = samples::two_variants(&[1, 2]);
        let json = report.to_json();
        let back = Report::from_json(&json).unwrap();
        assert_eq!(back, report);
        assert_eq!(back.to_json(), json);
    }

    #[test]
    fn keys_come_in_the_order_of_the_contract() {
        let report = samples::two_variants(&[1]);
        let json = report.to_json();
        let mut from = 0;
        for key in [
            "mmsim",
            "schema",
            "scenario",
            "about",
            "runs",
            "variant",
            "axes",
            "seed",
            "kernel",
            "knobs",
            "sim_time_ns",
            "accesses",
            "records",
            "vmstat",
            "pgfault",
            "pswpin",
            "sim_accesses",
            "gauges",
            "phases",
            "pressure",
            "latency",
            "memory_stat",
            "threads",
            "zones",
            "outcome",
            "digest",
        ] {
            let at = json[from..].find(&format!("\"{key}\":"));
            from += at.unwrap_or_else(|| panic!("`{key}` is missing or out of order"));
        }
        assert!(json.contains(r#""workingset_nodereclaim": 0"#), "zeros are printed");
        assert!(json.contains(r#""outcome": "completed""#));
        assert!(json.contains(r#""digest": "00000000deadbeef""#));
        assert!(!json.contains("\"oom\"") && !json.contains("\"bounds\""));
    }

    #[test]
    fn shares_and_rates() {
        let run = &samples::two_variants(&[1]).runs[0];
        assert_eq!(run.sim_time_ns, 10_000_000_000);
        assert_eq!(run.throughput.records_per_s, 5_000.0);
        assert_eq!(run.pressure.some_us, 500_000);
        assert_eq!(run.pressure.some_share, 0.05);
        let phase = &run.phases[1];
        assert_eq!((phase.begin_ns, phase.sim_time_ns), (2_000_000_000, 8_000_000_000));
        assert_eq!(phase.throughput.records_per_s, 6_250.0);
    }

    #[test]
    fn no_time_is_no_throughput() {
        let t = Throughput::new(5, 5, SimDuration::ZERO);
        assert_eq!((t.records_per_s, t.accesses_per_s), (0.0, 0.0));
    }

    #[test]
    fn out_of_memory_says_who_held_it() {
        let mut result = samples::result(100, 0);
        let mut oom = OomSummary::default();
        let mut process = OomProcess::default();
        (process.name, process.rss, process.swapped) = ("ebizzy".into(), [900, 0, 0], 100);
        oom.processes = vec![process];
        oom.free = 7;
        result.outcome = Outcome::OutOfMemory(oom);
        let run = RunReport::from_result(RunMeta::default(), &result);
        let json = Report::new("x", "", vec![run]).to_json();
        assert!(json.contains(r#""outcome": "out of memory""#));
        assert!(json.contains(r#""name": "ebizzy""#));
        let back = Report::from_json(&json).unwrap();
        assert_eq!(back.runs[0].oom.as_ref().unwrap().processes[0].swapped, 100);
    }

    #[test]
    fn another_schema_is_refused_by_number() {
        let error = Report::from_json(r#"{"schema": 2, "news": []}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the report has schema 2, this version of mmsim reads schema 1"
        );
        assert!(Report::from_json("{}").unwrap_err().to_string().contains("schema"));
    }

    #[test]
    fn knobs_keep_their_type() {
        let knobs: Pairs<KnobValue> = [
            ("swappiness", KnobValue::from(60_i64)),
            ("lazyfree", KnobValue::from(true)),
            ("zipf", KnobValue::from(0.7)),
            ("anon-start", KnobValue::from("inactive")),
        ]
        .into_iter()
        .collect();
        let json = serde_json::to_string(&knobs).unwrap();
        assert_eq!(json, r#"{"swappiness":60,"lazyfree":true,"zipf":0.7,"anon-start":"inactive"}"#);
        assert_eq!(serde_json::from_str::<Pairs<KnobValue>>(&json).unwrap(), knobs);
    }
}
