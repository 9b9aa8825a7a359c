//! `mmsim validate`.

use mmsim::report::derived::{grouped, per_cent};
use mmsim::report::validation::{PointRow, Validation};

use crate::args::{Format, ValidateArgs};
use crate::backend::{self, ValidateRequest};
use crate::exit::{Ending, Failure};
use crate::progress::Progress;
use crate::{output, table};

/// Replays and prints. How far off the model is, is a result and no failure.
pub(crate) fn validate(args: &ValidateArgs) -> Result<Ending, Failure> {
    let request = ValidateRequest {
        dir: &args.dir,
        points: &args.points,
        experiment: args.experiment.as_deref(),
        jobs: args.jobs,
    };
    output::check(args.output.output.as_deref())?;
    let progress = Progress::new("replays", 0);
    let validation = backend::validate(&request, &|done, total| progress.show(done, total, ""))?;
    drop(progress);
    let text = match args.output.format {
        Format::Table => text(&validation),
        Format::Json => validation.to_json(),
        Format::Csv => validation.to_csv(),
    };
    output::deliver(text.as_bytes(), args.output.output.as_deref())?;
    Ok(Ending::Done)
}

/// Every point with its counters, then the summary, then what is not modelled.
fn text(v: &Validation) -> String {
    let mut out = String::new();
    let same_point = |a: &PointRow, b: &PointRow| {
        (&a.experiment, &a.point, &a.kernel, &a.policy)
            == (&b.experiment, &b.point, &b.kernel, &b.policy)
    };
    for rows in v.points.chunk_by(same_point) {
        let p = &rows[0];
        out += &format!("{} {} ({}, {})\n", p.experiment, p.point, p.kernel, p.policy);
        let header = ["phase", "counter", "recorded", "min", "max", "simulated", "error"];
        let row = |r: &PointRow| {
            let error = r.rel_error.map_or("-".to_string(), |e| per_cent(e * 100.0));
            let number = |n: f64| grouped(n);
            let numbers = [r.recorded, r.min, r.max, r.simulated].map(number);
            [r.phase.clone(), r.counter.clone()].into_iter().chain(numbers).chain([error]).collect()
        };
        out += &table::grid(Some(&header), rows.iter().map(row), 2);
        out.push('\n');
    }
    if !v.summary.is_empty() {
        out += "Summary: absolute relative errors of counters that kernels counted\n";
        let header =
            ["experiment", "LRU", "values", "in spread", "with error", "median", "90 %", "worst"];
        let share = |e: Option<f64>| e.map_or("-".to_string(), |e| format!("{:.1} %", e * 100.0));
        let rows = v.summary.iter().map(|s| {
            vec![
                s.experiment.clone(),
                s.policy.clone(),
                grouped(s.rows as f64),
                grouped(s.within_spread as f64),
                grouped(s.with_error as f64),
                share(s.median_error),
                share(s.p90_error),
                share(s.max_error),
            ]
        });
        out += &table::grid(Some(&header), rows, 2);
    }
    if !v.not_modelled.is_empty() {
        out += "\nNot modelled\n";
        let row = |n: &mmsim::report::validation::NotModelled| {
            vec![n.experiment.clone(), n.point.clone(), n.why.clone()]
        };
        out += &table::left_aligned(v.not_modelled.iter().map(row));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::report::validation::NotModelled;

    #[test]
    fn points_summary_and_what_is_missing() {
        let row = |counter: &str, recorded: f64, simulated: f64| PointRow {
            experiment: "zipf-anon".into(),
            point: "ws1.25-t0.7".into(),
            kernel: "6.12".into(),
            policy: "mglru".into(),
            phase: "access1".into(),
            counter: counter.into(),
            recorded,
            min: recorded * 0.99,
            max: recorded * 1.01,
            simulated,
            rel_error: None,
        };
        let v = Validation::new(
            vec![row("pswpin", 100_000.0, 103_456.0), row("pgdeactivate", 0.0, 12.0)],
            vec![NotModelled {
                experiment: "damon".into(),
                point: "d1".into(),
                why: "no DAMON yet".into(),
            }],
        );
        assert_eq!(
            text(&v),
            "\
zipf-anon ws1.25-t0.7 (6.12, mglru)
phase    counter       recorded     min      max  simulated   error
access1  pswpin         100,000  99,000  101,000    103,456  +3.5 %
access1  pgdeactivate         0       0        0         12       -

Summary: absolute relative errors of counters that kernels counted
experiment  LRU    values  in spread  with error  median   90 %  worst
zipf-anon   mglru       2          0           1   3.5 %  3.5 %  3.5 %

Not modelled
damon  d1  no DAMON yet
"
        );
    }
}
