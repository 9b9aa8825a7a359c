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
        Format::Table if args.brief => brief(&validation),
        Format::Table => text(&validation),
        Format::Json => validation.to_json(),
        Format::Csv => validation.to_csv(),
    };
    output::deliver(text.as_bytes(), args.output.output.as_deref())?;
    Ok(Ending::Done)
}

/// Counters that tell policies apart, and what they are the sum of.
const BRIEF: [(&str, &[&str]); 5] = [
    ("pswpin", &["pswpin"]),
    ("workingset_refault_file", &["workingset_refault_file"]),
    ("pgscan", &["pgscan_anon", "pgscan_file"]),
    ("pgactivate", &["pgactivate"]),
    ("pgdeactivate", &["pgdeactivate"]),
];

fn same_point(a: &PointRow, b: &PointRow) -> bool {
    (&a.experiment, &a.point, &a.kernel, &a.policy)
        == (&b.experiment, &b.point, &b.kernel, &b.policy)
}

/// A few counters of every point, summed over its phases, then the summary of all counters
/// and phases. Only what neither kernel nor model counted is left out.
fn brief(v: &Validation) -> String {
    let mut rows = Vec::new();
    for point in v.points.chunk_by(same_point) {
        let p = &point[0];
        let mut names = [p.experiment.clone(), p.point.clone(), p.kernel.clone()];
        for (counter, parts) in BRIEF {
            let of = |value: fn(&PointRow) -> f64| -> f64 {
                point.iter().filter(|r| parts.contains(&r.counter.as_str())).map(value).sum()
            };
            let (recorded, simulated) = (of(|r| r.recorded), of(|r| r.simulated));
            if recorded == 0.0 && simulated == 0.0 {
                continue;
            }
            let error = match recorded > 0.0 {
                true => per_cent((simulated / recorded - 1.0) * 100.0),
                false => "-".to_string(),
            };
            let mut row = std::mem::take(&mut names).to_vec();
            row.extend([counter.to_string(), grouped(recorded), grouped(simulated), error]);
            rows.push(row);
        }
    }
    let header = ["experiment", "point", "kernel", "counter", "recorded", "simulated", "error"];
    table::grid(Some(&header), rows, 4) + "\n" + &summary(v) + &not_modelled(v)
}

/// Every point with its counters, then the summary, then what is not modelled.
fn text(v: &Validation) -> String {
    let mut out = String::new();
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
    out + &summary(v) + &not_modelled(v)
}

fn summary(v: &Validation) -> String {
    let mut out = String::new();
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
    out
}

fn not_modelled(v: &Validation) -> String {
    let mut out = String::new();
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

    #[test]
    fn brief_adds_up_the_phases_of_a_few_counters() {
        let row = |phase: &str, counter: &str, recorded: f64, simulated: f64| PointRow {
            experiment: "zipf-anon".into(),
            point: "ws1.25-t0.7".into(),
            kernel: "6.12".into(),
            policy: "classic".into(),
            phase: phase.into(),
            counter: counter.into(),
            recorded,
            min: recorded,
            max: recorded,
            simulated,
            rel_error: None,
        };
        let v = Validation::new(
            vec![
                row("access1", "pswpin", 1_000.0, 900.0),
                row("access1", "pgscan_anon", 0.0, 7.0),
                row("access1", "pgactivate", 0.0, 0.0),
                row("access2", "pswpin", 1_000.0, 1_050.0),
                row("access2", "pgfault", 1_000.0, 1_050.0),
            ],
            vec![],
        );
        assert_eq!(
            brief(&v),
            "\
experiment  point        kernel  counter  recorded  simulated   error
zipf-anon   ws1.25-t0.7  6.12    pswpin      2,000      1,950  -2.5 %
                                 pgscan          0          7       -

Summary: absolute relative errors of counters that kernels counted
experiment  LRU      values  in spread  with error  median    90 %   worst
zipf-anon   classic       5          1           3   5.0 %  10.0 %  10.0 %
"
        );
    }
}
