//! The document of a validation: what kernels counted beside what the model counts.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::validate::COUNTERS;
use crate::validate::rows::PointRow;
use crate::validate::rules::{self, Verdict};
use mmsim::cells::{Cell, Cells};
use mmsim::error::{Error, ErrorKind};
use mmsim::files::bad_json;
use mmsim::report::SCHEMA;
use mmsim::report::numbers::grouped;
use mmsim::report::statistics::quantile;

/// All points of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Validation {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form.
    pub schema: u32,
    /// One entry per point, phase and counter.
    pub points: Vec<PointRow>,
    /// Per experiment and LRU: an entry of all counters, then one for each counter that
    /// the kernel or the model counted.
    pub summary: Vec<SummaryRow>,
    /// Verdicts on the accuracy of the model.
    pub rules: Vec<Verdict>,
    /// Points that the model cannot replay.
    pub not_modelled: Vec<NotModelled>,
    /// Counters that a kernel counted and the model does not have.
    pub unmodelled_counters: Vec<UnmodelledCounter>,
    /// Points whose repetitions went apart, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<OutcomeRow>,
}

/// A point with more than one outcome, replayed with its free memory moved a little.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutcomeRow {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// Name of the counter.
    pub counter: String,
    /// The recorded outcomes, ascending.
    pub outcomes: Vec<Near>,
    /// The share of replays between the smallest and the largest outcome and within 15 % of none.
    pub between: f64,
    /// Every outcome came, and few replays lie between.
    pub met: bool,
    /// Result of each replay, from the lowest offset on.
    pub simulated: Vec<f64>,
}

/// One outcome, and how often it came.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Near {
    /// The smallest recorded value that counts as it.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// Its share of the recorded repetitions.
    pub recorded: f64,
    /// The share of replays within 15 % of it.
    pub simulated: f64,
}

impl Near {
    /// The recorded values that count as it, for people.
    pub fn range(&self) -> String {
        match self.from == self.to {
            true => grouped(self.from),
            false => format!("{} to {}", grouped(self.from), grouped(self.to)),
        }
    }
}

/// Accuracy of the model in one experiment under one LRU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SummaryRow {
    /// The experiment.
    pub experiment: String,
    /// The LRU.
    pub policy: String,
    /// The counter; none: all of them.
    pub counter: Option<String>,
    /// Entries in it.
    pub rows: u64,
    /// Entries whose simulated value lies between the smallest and largest recorded one.
    pub within_spread: u64,
    /// Entries of which the kernel counted at least [`rules::MANY`] events: the relative
    /// errors of these are summed up, for those of a handful of events say little.
    pub many: u64,
    /// Median of the absolute relative errors.
    pub median_error: Option<f64>,
    /// 90th percentile of them.
    pub p90_error: Option<f64>,
    /// Largest of them.
    pub max_error: Option<f64>,
    /// Entries with fewer events whose simulated value lies outside the recorded range
    /// widened by [`rules::ROOM`] events.
    pub few_outside: u64,
}

/// A point that the model cannot replay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotModelled {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// Why not.
    pub why: String,
}

/// A counter that a kernel counted in replayed points and the model does not have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnmodelledCounter {
    /// The experiment.
    pub experiment: String,
    /// The counter.
    pub counter: String,
    /// Phases in which it was counted.
    pub phases: u64,
    /// The largest mean of a phase.
    pub largest: f64,
}

fn summarise(
    experiment: &str,
    policy: &str,
    counter: Option<&str>,
    rows: &[&PointRow],
) -> SummaryRow {
    let many = |r: &&&PointRow| r.recorded >= rules::MANY;
    let mut errors: Vec<f64> =
        rows.iter().filter(many).filter_map(|r| r.rel_error.map(f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    let near = |r: &PointRow| (r.min - rules::ROOM..=r.max + rules::ROOM).contains(&r.simulated);
    let count = |is: &dyn Fn(&PointRow) -> bool| rows.iter().filter(|r| is(r)).count() as u64;
    SummaryRow {
        experiment: experiment.to_string(),
        policy: policy.to_string(),
        counter: counter.map(str::to_string),
        rows: rows.len() as u64,
        within_spread: count(&|r| r.inside),
        many: errors.len() as u64,
        median_error: quantile(&errors, 0.5),
        p90_error: quantile(&errors, 0.9),
        max_error: errors.last().copied(),
        few_outside: count(&|r| r.recorded < rules::MANY && !near(r)),
    }
}

impl Validation {
    /// The document of these points, with its summary and its verdicts.
    pub fn new(
        points: Vec<PointRow>,
        not_modelled: Vec<NotModelled>,
        unmodelled_counters: Vec<UnmodelledCounter>,
    ) -> Self {
        let points: Vec<PointRow> = points.into_iter().map(PointRow::compared).collect();
        let mut keys: Vec<(&str, &str)> = Vec::new();
        for row in &points {
            let key = (row.experiment.as_str(), row.policy.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut summary = Vec::new();
        for &(experiment, policy) in &keys {
            let rows: Vec<&PointRow> = points
                .iter()
                .filter(|r| r.experiment == experiment && r.policy == policy)
                .collect();
            summary.push(summarise(experiment, policy, None, &rows));
            for counter in COUNTERS {
                let of: Vec<&PointRow> =
                    rows.iter().copied().filter(|r| r.counter == *counter).collect();
                if of.iter().any(|r| !r.is_nothing()) {
                    summary.push(summarise(experiment, policy, Some(counter), &of));
                }
            }
        }
        let rules = rules::judge(&points);
        Validation {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            points,
            summary,
            rules,
            not_modelled,
            unmodelled_counters,
            outcomes: Vec::new(),
        }
    }

    /// The rows of the summary that are of all counters.
    pub fn summary_of_experiments(&self) -> impl Iterator<Item = &SummaryRow> {
        self.summary.iter().filter(|s| s.counter.is_none())
    }

    /// Reads the text of a document; none if it is of another kind. `name` stands for the file in
    /// messages, which say line and column.
    ///
    /// # Errors
    ///
    /// It is of another version, or damaged.
    pub fn read(text: &str, name: &str) -> Result<Option<Validation>, Error> {
        #[derive(Deserialize)]
        #[allow(dead_code)] // What tells it apart from other documents.
        struct Head {
            schema: u64,
            points: IgnoredAny,
            summary: IgnoredAny,
            rules: IgnoredAny,
        }
        let Ok(head) = serde_json::from_str::<Head>(text) else { return Ok(None) };
        let help = "write one with `mmsim-lab validate DIR --format json -o FILE`";
        if head.schema != u64::from(SCHEMA) {
            let title = format!(
                "`{name}` has schema {}, this version of mmsim reads schema {SCHEMA}: it was \
                 written by another version",
                head.schema
            );
            return Err(Error::new(ErrorKind::File, title).help(help));
        }
        let bad = |e| bad_json(&e, text, name, "validation of mmsim").help(help);
        serde_json::from_str(text).map(Some).map_err(bad)
    }

    /// The document as indented JSON that ends with a newline.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a validation is plain data");
        json.push('\n');
        json
    }

    /// The points as a table, one row per entry; a missing error is an empty cell.
    pub fn cells(&self) -> Cells {
        let mut cells = Cells::headed(
            "experiment,point,kernel,policy,phase,counter,recorded,min,max,simulated,rel_error,\
             inside",
            &["recorded", "min", "max", "simulated", "rel_error"],
        );
        for r in &self.points {
            cells.row([
                Cell::from(&r.experiment),
                Cell::from(&r.point),
                Cell::from(&r.kernel),
                Cell::from(&r.policy),
                Cell::from(&r.phase),
                Cell::from(&r.counter),
                r.recorded.into(),
                r.min.into(),
                r.max.into(),
                r.simulated.into(),
                r.rel_error.into(),
                r.inside.into(),
            ]);
        }
        cells
    }

    /// The same as CSV.
    pub fn to_csv(&self) -> String {
        self.cells().to_csv()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(policy: &str, recorded: f64, simulated: f64) -> PointRow {
        PointRow {
            experiment: "zipf-anon".into(),
            point: "p1".into(),
            kernel: "6.12".into(),
            policy: policy.into(),
            phase: "access1".into(),
            counter: "pswpin".into(),
            recorded,
            min: recorded - 1.0,
            max: recorded + 1.0,
            simulated,
            replays: [simulated; 2],
            rel_error: None,
            inside: false,
            repetitions: 1,
        }
    }

    #[test]
    fn errors_and_their_summary() {
        let v = Validation::new(
            vec![
                row("classic", 1000.0, 1100.0),
                row("classic", 1000.0, 1000.5),
                row("classic", 0.0, 5.0),
                row("classic", 100.0, 352.0),
                row("mglru", 10.0, 5.0),
            ],
            vec![],
            vec![],
        );
        assert_eq!(v.points[2].rel_error, None);
        assert_eq!(v.points[4].rel_error, Some(-0.5));
        // All counters, and the one that there is, of two LRUs.
        assert_eq!(v.summary.len(), 4);
        assert_eq!(v.summary_of_experiments().count(), 2);
        let s = &v.summary[0];
        assert_eq!((s.rows, s.many, s.within_spread, s.few_outside), (4, 2, 1, 1));
        assert!((s.median_error.unwrap() - 0.0005).abs() < 1e-12);
        assert!((s.p90_error.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(s.p90_error, s.max_error);
        assert!(v.to_json().contains("\"rel_error\": null"));
        assert!(v.to_csv().contains("zipf-anon,p1,6.12,classic,access1,pswpin,0,-1,1,5,,false\n"));
    }

    #[test]
    fn no_points() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(Validation::new(vec![], vec![], vec![]).summary, vec![]);
    }
}
