//! The document of a validation: what kernels counted beside what the model counts.

use serde::{Deserialize, Serialize};

use super::document::SCHEMA;

/// All points of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Validation {
    /// The version of mmsim that wrote it.
    pub mmsim: String,
    /// The version of the form.
    pub schema: u32,
    /// One entry per point, phase and counter.
    pub points: Vec<PointRow>,
    /// One entry per experiment and policy.
    pub summary: Vec<SummaryRow>,
    /// Points that the model cannot replay.
    pub not_modelled: Vec<NotModelled>,
}

/// One counter of one phase of one point: means over the repetitions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PointRow {
    /// The experiment.
    pub experiment: String,
    /// The point of the experiment.
    pub point: String,
    /// The kernel as major.minor.
    pub kernel: String,
    /// The LRU of the point.
    pub policy: String,
    /// The phase.
    pub phase: String,
    /// The counter.
    pub counter: String,
    /// What kernels counted, on average.
    pub recorded: f64,
    /// The smallest that a kernel counted.
    pub min: f64,
    /// The largest that a kernel counted.
    pub max: f64,
    /// What the model counts, on average.
    pub simulated: f64,
    /// `simulated / recorded - 1`; none where `recorded` is 0.
    pub rel_error: Option<f64>,
}

impl PointRow {
    /// Fills in [`PointRow::rel_error`].
    pub fn with_error(mut self) -> Self {
        self.rel_error = (self.recorded != 0.0).then(|| self.simulated / self.recorded - 1.0);
        self
    }
}

/// How close the model is in one experiment under one policy.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SummaryRow {
    /// The experiment.
    pub experiment: String,
    /// The LRU.
    pub policy: String,
    /// Entries in it.
    pub rows: u64,
    /// Entries whose simulated value lies between the smallest and largest recorded one.
    pub within_spread: u64,
    /// Entries that have a relative error (the kernel counted something).
    pub with_error: u64,
    /// Median of the absolute relative errors.
    pub median_error: Option<f64>,
    /// 90th percentile of them.
    pub p90_error: Option<f64>,
    /// Largest of them.
    pub max_error: Option<f64>,
}

/// A point that the model cannot replay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotModelled {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// Why not.
    pub why: String,
}

/// The `q` quantile of ascending values: the smallest that at least that share of them does
/// not exceed.
fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let rank = (q * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied()
}

impl Validation {
    /// The document of these points, with its summary.
    pub fn new(points: Vec<PointRow>, not_modelled: Vec<NotModelled>) -> Self {
        let points: Vec<PointRow> = points.into_iter().map(PointRow::with_error).collect();
        let mut keys: Vec<(&str, &str)> = Vec::new();
        for row in &points {
            let key = (row.experiment.as_str(), row.policy.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let summarise = |&(experiment, policy): &(&str, &str)| {
            let rows: Vec<&PointRow> = points
                .iter()
                .filter(|r| r.experiment == experiment && r.policy == policy)
                .collect();
            let mut errors: Vec<f64> =
                rows.iter().filter_map(|r| r.rel_error.map(f64::abs)).collect();
            errors.sort_by(f64::total_cmp);
            SummaryRow {
                experiment: experiment.to_string(),
                policy: policy.to_string(),
                rows: rows.len() as u64,
                within_spread: rows
                    .iter()
                    .filter(|r| (r.min..=r.max).contains(&r.simulated))
                    .count() as u64,
                with_error: errors.len() as u64,
                median_error: quantile(&errors, 0.5),
                p90_error: quantile(&errors, 0.9),
                max_error: errors.last().copied(),
            }
        };
        let summary = keys.iter().map(summarise).collect();
        Validation {
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            schema: SCHEMA,
            points,
            summary,
            not_modelled,
        }
    }

    /// The document as indented JSON that ends with a newline.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a validation is plain data");
        json.push('\n');
        json
    }

    /// The points as CSV, one row per entry; a missing error is an empty field.
    pub fn to_csv(&self) -> String {
        let mut csv = "experiment,point,kernel,policy,phase,counter,recorded,min,max,simulated,\
                       rel_error\n"
            .to_string();
        for r in &self.points {
            let error = r.rel_error.map_or(String::new(), |e| e.to_string());
            let names = [&r.experiment, &r.point, &r.kernel, &r.policy, &r.phase, &r.counter]
                .map(|name| super::csv::csv_field(name));
            csv += &format!(
                "{},{},{},{},{},{error}\n",
                names.join(","),
                r.recorded,
                r.min,
                r.max,
                r.simulated
            );
        }
        csv
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
            rel_error: None,
        }
    }

    #[test]
    fn errors_and_their_summary() {
        let v = Validation::new(
            vec![
                row("classic", 100.0, 110.0),
                row("classic", 100.0, 100.5),
                row("classic", 0.0, 5.0),
                row("mglru", 10.0, 5.0),
            ],
            vec![],
        );
        assert_eq!(v.points[2].rel_error, None);
        assert_eq!(v.points[3].rel_error, Some(-0.5));
        assert_eq!(v.summary.len(), 2);
        let s = &v.summary[0];
        assert_eq!((s.rows, s.with_error, s.within_spread), (3, 2, 1));
        assert!((s.median_error.unwrap() - 0.005).abs() < 1e-12);
        assert!((s.p90_error.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(s.p90_error, s.max_error);
        assert!(v.to_json().contains("\"rel_error\": null"));
        assert!(v.to_csv().contains("zipf-anon,p1,6.12,classic,access1,pswpin,0,-1,1,5,\n"));
    }

    #[test]
    fn no_points() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(Validation::new(vec![], vec![]).summary, vec![]);
    }
}
