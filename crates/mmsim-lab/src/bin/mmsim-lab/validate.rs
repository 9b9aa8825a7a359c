//! `mmsim-lab validate`.

use std::path::Path;

use mmsim::report::numbers::{grouped, per_cent};
use mmsim_lab::validate::decisions::{DecisionRow, DecisionSummary, Decisions, ROOM};
use mmsim_lab::validate::document::{
    NotModelled, OutcomeRow, SummaryRow, UnmodelledCounter, Validation,
};
use mmsim_lab::validate::rows::PointRow;
use mmsim_lab::validate::rules::Verdict;
use mmsim_lab::validate::{BETWEEN, TELLING};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;
use mmsim_terminal::progress::Progress;
use mmsim_view::validation::Sheet;

use crate::args::ValidateArgs;
use crate::{page, table};

/// Misses of a verdict that the table shows; JSON has all.
const MISSES_SHOWN: usize = 5;

/// Replays and prints. How far off the model is, is a result and no failure unless
/// `--gate` makes it one.
pub(crate) fn validate(args: &ValidateArgs) -> Result<Ending, Failure> {
    output::distinct(
        &[],
        &[("--output", args.output.output.as_deref()), ("--html", args.html.as_deref())],
    )?;
    output::check(args.output.output.as_deref())?;
    output::check(args.html.as_deref())?;
    if let Some(folder) = &args.decisions {
        return decisions(args, folder);
    }
    let progress = Progress::new("replays", 0);
    let told = |done, total| progress.show(done, total, "");
    let validation = mmsim_lab::validate::validate(&args.dir, &args.what, &told)?;
    drop(progress);
    let for_people = || if args.brief { brief(&validation) } else { text(&validation) };
    args.output.emit(for_people, || validation.to_json(), || validation.to_csv())?;
    if let Some(path) = &args.html {
        output::deliver(html(&validation).as_bytes(), Some(path))?;
    }
    let why = missed(&validation);
    match args.gate && !why.is_empty() {
        true => Err(Failure::Check(why.join(", and "))),
        false => Ok(Ending::Done),
    }
}

fn decisions(args: &ValidateArgs, folder: &Path) -> Result<Ending, Failure> {
    let decisions = mmsim_lab::validate::decisions::decisions(&args.dir, folder, args.what.jobs)?;
    args.output.emit(
        || decisions_table(&decisions),
        || decisions.to_json(),
        || decisions.to_csv(),
    )?;
    Ok(Ending::Done)
}

/// The recordings, their first differences, and the sums by kernel and LRU.
fn decisions_table(d: &Decisions) -> String {
    let share = |part: u64, all: u64| format!("{:.1} %", part as f64 / all.max(1) as f64 * 100.0);
    let header =
        ["experiment", "point", "decided", "alike", "calls", "here", "paired", "near", "equal"];
    let row = |r: &DecisionRow| {
        let numbers = [r.decided, r.alike, r.calls, r.simulated_calls, r.paired, r.near, r.equal];
        let names = [r.experiment.clone(), r.point.clone()];
        names.into_iter().chain(numbers.map(|n| grouped(n as f64))).collect::<Vec<_>>()
    };
    let mut out = table::grid(Some(&header), d.recordings.iter().map(row), 2);
    let first = |what: &str, of: fn(&DecisionRow) -> Option<&String>| {
        let line = |r: &DecisionRow| Some(format!("  {}: {}\n", r.point, of(r)?));
        let lines: String = d.recordings.iter().filter_map(line).collect();
        if lines.is_empty() { lines } else { format!("\n{what}\n{lines}") }
    };
    out += &first("The first decision that the model takes otherwise:", |r| r.first_other.as_ref());
    out += &first("The first call that parts:", |r| r.first_parting.as_ref());
    let header = ["kernel", "LRU", "decided", "alike", "calls", "paired", "near", "equal"];
    let row = |s: &DecisionSummary| {
        let [decided, calls] = [s.decided, s.calls].map(|n| grouped(n as f64));
        let names = [s.kernel.clone(), s.lru.clone()];
        names
            .into_iter()
            .chain([
                decided,
                share(s.alike, s.decided),
                calls,
                share(s.paired, s.calls),
                share(s.near, s.calls),
                share(s.equal, s.calls),
            ])
            .collect::<Vec<_>>()
    };
    out + "\n"
        + &table::grid(Some(&header), d.summary.iter().map(row), 2)
        + &kernel_beside_itself(d)
        + &format!(
            "\nAlike: from what the kernel was given, the model sets out to scan exactly as much, or ages \
         as well.\nNear: what the call scans and evicts is within 10 % or {ROOM} pages of the model's next call of that\n\
         phase, reclaimer and priority.\n"
        )
}

/// Shares of pairs of a kernel with itself at another tick, and with the model.
fn kernel_beside_itself(d: &Decisions) -> String {
    if d.own.is_empty() {
        return String::new();
    }
    let header = ["recorded at two ticks", "pairs with", "calls", "paired", "near", "equal"];
    let rows = d.own.iter().flat_map(|own| {
        ["the kernel", "the model"].into_iter().zip(own.pairs).map(|(with, pairs)| {
            let share = |n: u64| format!("{:.1} %", n as f64 / own.calls.max(1) as f64 * 100.0);
            let shares = [pairs.paired, pairs.near, pairs.equal].map(share);
            let names = [own.point.clone(), with.to_string(), grouped(own.calls as f64)];
            names.into_iter().chain(shares).collect::<Vec<_>>()
        })
    });
    format!("\n{}", table::grid(Some(&header), rows, 2))
}

/// Missed demands, in a few words each.
fn missed(v: &Validation) -> Vec<String> {
    let rules = v.rules.iter().filter(|r| !r.met).count();
    let outcomes = v.outcomes.iter().filter(|o| !o.met).count();
    let mut why = Vec::new();
    if rules > 0 {
        why.push(format!("{rules} of {} rules are missed", v.rules.len()));
    }
    if outcomes > 0 {
        let all = v.outcomes.len();
        why.push(format!("{outcomes} of {all} points with several outcomes do not have them"));
    }
    why
}

fn same_point(a: &PointRow, b: &PointRow) -> bool {
    (&a.experiment, &a.point, &a.kernel, &a.policy)
        == (&b.experiment, &b.point, &b.kernel, &b.policy)
}

/// Number of counters in the brief table.
const BRIEF: usize = 5;

/// A few counters of every point, summed over its phases, then the summary of all counters
/// and phases. Only what neither kernel nor model counted is left out.
fn brief(v: &Validation) -> String {
    let mut rows = Vec::new();
    for point in v.points.chunk_by(same_point) {
        let p = &point[0];
        let mut names = [p.experiment.clone(), p.point.clone(), p.kernel.clone()];
        for &(counter, parts) in &TELLING[..BRIEF] {
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
    let all = [summary(v), rules_in_brief(v), outcomes(v), not_modelled(v), unmodelled(v)];
    table::grid(Some(&header), rows, 4) + &all.map(printed).concat()
}

/// Every point with its counters, then the summary, the rules and their misses, and what is
/// not modelled. What neither kernel nor model counted is left out.
fn text(v: &Validation) -> String {
    let mut out = String::new();
    for rows in v.points.chunk_by(same_point) {
        let p = &rows[0];
        out += &format!("{} {} ({}, {})\n", p.experiment, p.point, p.kernel, p.policy);
        let header = ["phase", "counter", "recorded", "min", "max", "simulated", "error", "inside"];
        let row = |r: &PointRow| {
            let error = r.rel_error.map_or("-".to_string(), |e| per_cent(e * 100.0));
            let numbers = [r.recorded, r.min, r.max, r.simulated].map(grouped);
            let inside = if r.inside { "yes" } else { "no" };
            let names = [r.phase.clone(), r.counter.clone()];
            names.into_iter().chain(numbers).chain([error, inside.into()]).collect()
        };
        out += &table::grid(Some(&header), rows.iter().filter(|r| !r.is_nothing()).map(row), 2);
        out.push('\n');
    }
    let all = [
        summary(v),
        by_counter(v),
        rules(v),
        misses(v),
        outcomes(v),
        not_modelled(v),
        unmodelled(v),
    ];
    out.pop();
    out + &all.map(printed).concat()
}

fn share(e: Option<f64>) -> String {
    e.map_or("-".to_string(), |e| format!("{:.1} %", e * 100.0))
}

/// The figures of a row of the summary.
fn figures(s: &SummaryRow) -> [String; 7] {
    [
        grouped(s.rows as f64),
        grouped(s.within_spread as f64),
        grouped(s.many as f64),
        share(s.median_error),
        share(s.p90_error),
        share(s.max_error),
        grouped(s.few_outside as f64),
    ]
}

const FIGURES: [&str; 7] = ["values", "in spread", "many", "median", "90 %", "worst", "few, far"];

fn summary(v: &Validation) -> Option<Sheet> {
    let header = [&["experiment", "LRU"], &FIGURES[..]].concat();
    let rows = v
        .summary_of_experiments()
        .map(|s| [s.experiment.clone(), s.policy.clone()].into_iter().chain(figures(s)).collect());
    let title = "Summary: absolute relative errors where kernels counted 500 events or more; how \
                 many of the others lie\nmore than 250 events outside the recorded range";
    sheet(title, &header, rows, 2)
}

/// The summary of each counter.
fn by_counter(v: &Validation) -> Option<Sheet> {
    let header = [&["experiment", "LRU", "counter"], &FIGURES[..]].concat();
    let rows = v.summary.iter().filter_map(|s| {
        let names = [s.experiment.clone(), s.policy.clone(), s.counter.clone()?];
        Some(names.into_iter().chain(figures(s)).collect())
    });
    sheet("By counter", &header, rows, 3)
}

/// The rules, and how far each counter of each experiment is from them.
fn rules(v: &Validation) -> Option<Sheet> {
    let header = [
        "rule",
        "experiment",
        "kernel",
        "LRU",
        "counter",
        "many",
        "median",
        "limit",
        "worst",
        "limit",
        "few",
        "missed",
        "",
    ];
    let row = |r: &Verdict| {
        vec![
            r.rule.clone(),
            r.experiment.clone(),
            r.kernel.clone(),
            r.policy.clone(),
            r.counter.clone(),
            grouped(r.cells as f64),
            share(r.median),
            format!("{:.0} %", r.median_limit * 100.0),
            share(r.worst),
            r.worst_limit(),
            grouped(r.few as f64),
            grouped(r.missed as f64),
            match (r.met, r.met_by_range()) {
                (true, true) => "met by range",
                (true, false) => "met",
                (false, _) => "missed",
            }
            .to_string(),
        ]
    };
    sheet(&met(v), &header, v.rules.iter().map(row), 5)
}

/// Number of rules that are met, and of those among them that only the kernel's own range lets be.
fn met(v: &Validation) -> String {
    let count = |of: fn(&Verdict) -> bool| v.rules.iter().filter(|r| of(r)).count();
    let title = format!("Rules: {} of {} met", count(|r| r.met), v.rules.len());
    match count(Verdict::met_by_range) {
        0 => title,
        n => format!("{title}, {n} by the kernel's own range"),
    }
}

/// The largest figures of any counter for each rule and experiment.
fn rules_in_brief(v: &Validation) -> Option<Sheet> {
    let header = [
        "rule",
        "experiment",
        "kernel",
        "LRU",
        "median",
        "limit",
        "worst",
        "limit",
        "values",
        "missed",
        "counters met",
    ];
    let same = |a: &Verdict, b: &Verdict| {
        (&a.rule, &a.experiment, &a.kernel, &a.policy)
            == (&b.rule, &b.experiment, &b.kernel, &b.policy)
    };
    let rows = v.rules.chunk_by(same).map(|group| {
        let r = &group[0];
        let largest =
            |of: fn(&Verdict) -> Option<f64>| group.iter().filter_map(of).max_by(f64::total_cmp);
        let sum = |of: fn(&Verdict) -> u64| group.iter().map(of).sum::<u64>() as f64;
        vec![
            r.rule.clone(),
            r.experiment.clone(),
            r.kernel.clone(),
            r.policy.clone(),
            share(largest(|r| r.median)),
            format!("{:.0} %", r.median_limit * 100.0),
            share(largest(|r| r.worst)),
            r.worst_limit(),
            grouped(sum(|r| r.cells + r.few)),
            grouped(sum(|r| r.missed)),
            format!("{} of {}", group.iter().filter(|r| r.met).count(), group.len()),
        ]
    });
    let title = format!("{}; the largest median and error of any counter", met(v));
    sheet(&title, &header, rows, 4)
}

/// The values that are too far off, the farthest first.
fn misses(v: &Validation) -> Option<Sheet> {
    let mut rows = Vec::new();
    for r in v.rules.iter().filter(|r| !r.misses.is_empty()) {
        let mut names = [r.experiment.clone(), r.counter.clone()];
        for m in r.misses.iter().take(MISSES_SHOWN) {
            let mut row = std::mem::take(&mut names).to_vec();
            row.extend([m.point.clone(), m.phase.clone()]);
            row.extend([m.recorded, m.simulated, m.least, m.most].map(|n| grouped(n.round())));
            rows.push(row);
        }
        if let Some(more) = r.misses.len().checked_sub(MISSES_SHOWN).filter(|&n| n > 0) {
            rows.push(vec![String::new(), String::new(), format!("and {more} more")]);
        }
    }
    let header =
        ["experiment", "counter", "point", "phase", "recorded", "simulated", "least", "most"];
    sheet("Missed, and what would do", &header, rows, 4)
}

/// Points whose repetitions went apart: how often each outcome came, and what lies between.
fn outcomes(v: &Validation) -> Option<Sheet> {
    let of_point = |o: &OutcomeRow| {
        let mut names = [o.experiment.clone(), o.counter.clone(), o.point.clone()];
        let mut row = |outcome: String, recorded: f64, simulated: f64, verdict: &str| {
            let names = std::mem::take(&mut names);
            let shares = [recorded, simulated].map(|s| share(Some(s)));
            let words = [outcome].into_iter().chain(shares).chain([verdict.to_string()]);
            names.into_iter().chain(words).collect::<Vec<String>>()
        };
        let mut rows: Vec<Vec<String>> =
            o.outcomes.iter().map(|n| row(n.range(), n.recorded, n.simulated, "")).collect();
        let verdict = if o.met { "met" } else { "missed" };
        rows.push(row("between".into(), 0.0, o.between, verdict));
        rows
    };
    let header = ["experiment", "counter", "point", "outcome", "recorded", "simulated", ""];
    let met = v.outcomes.iter().filter(|o| o.met).count();
    let title = format!(
        "Points with several outcomes: {met} of {} have each of them, and at most {:.0} % of the \
         replays between",
        v.outcomes.len(),
        BETWEEN * 100.0,
    );
    sheet(&title, &header, v.outcomes.iter().flat_map(of_point), 4)
}

/// Points that the model cannot replay.
fn not_modelled(v: &Validation) -> Option<Sheet> {
    let row = |n: &NotModelled| vec![n.experiment.clone(), n.point.clone(), n.why.clone()];
    sheet("Not modelled", &[], v.not_modelled.iter().map(row), 3)
}

/// Counters that kernels have and the model does not.
fn unmodelled(v: &Validation) -> Option<Sheet> {
    let row = |u: &UnmodelledCounter| {
        let counted = [u.phases as f64, u.largest].map(grouped);
        [u.experiment.clone(), u.counter.clone()].into_iter().chain(counted).collect()
    };
    let header = ["experiment", "counter", "phases", "largest"];
    let title = "Counters that the model does not have";
    sheet(title, &header, v.unmodelled_counters.iter().map(row), 2)
}

/// The page of a validation.
pub(crate) fn html(v: &Validation) -> String {
    let sheets = [summary(v), rules(v), misses(v), outcomes(v), not_modelled(v), unmodelled(v)];
    let sheets: Vec<Sheet> = sheets.into_iter().flatten().collect();
    page::page(v, &sheets)
}

/// A table with its title; none without rows.
fn sheet(
    title: &str,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    words: usize,
) -> Option<Sheet> {
    let (title, rows) = (title.to_string(), rows.into_iter().collect::<Vec<_>>());
    let head = head.iter().map(ToString::to_string).collect();
    (!rows.is_empty()).then_some(Sheet { title, head, rows, words })
}

/// The same on the terminal.
fn printed(sheet: Option<Sheet>) -> String {
    let Some(Sheet { title, head, rows, words }) = sheet else { return String::new() };
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let table = match head.is_empty() {
        true => table::left_aligned(rows),
        false => table::grid(Some(&head), rows, words),
    };
    format!("\n{title}\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_summary_and_what_is_missing() {
        let row = |counter: &str, recorded: f64, simulated: f64| -> PointRow {
            let row = json!({
                "experiment": "zipf-anon", "point": "ws1.25-t0.7", "kernel": "6.12", "policy": "mglru",
                "phase": "access1", "counter": counter, "recorded": recorded,
                "min": recorded * 0.99, "max": recorded * 1.01, "simulated": simulated,
                "rel_error": null, "inside": false, "repetitions": 3
            });
            serde_json::from_value(row).unwrap()
        };
        let v = Validation::new(
            vec![row("pswpin", 100_000.0, 103_456.0), row("pgdeactivate", 0.0, 12.0)],
            serde_json::from_value(json!([
                { "experiment": "damon", "point": "d1", "why": "no DAMON yet" }
            ]))
            .unwrap(),
            serde_json::from_value(json!([{
                "experiment": "zipf-anon", "counter": "slabs_walked", "phases": 2, "largest": 1234.0
            }]))
            .unwrap(),
        );
        assert_eq!(
            text(&v),
            "\
zipf-anon ws1.25-t0.7 (6.12, mglru)
phase    counter       recorded     min      max  simulated   error  inside
access1  pswpin         100,000  99,000  101,000    103,456  +3.5 %      no
access1  pgdeactivate         0       0        0         12       -      no

Summary: absolute relative errors where kernels counted 500 events or more; how many of the others lie
more than 250 events outside the recorded range
experiment  LRU    values  in spread  many  median   90 %  worst  few, far
zipf-anon   mglru       2          0     1   3.5 %  3.5 %  3.5 %         0

By counter
experiment  LRU    counter       values  in spread  many  median   90 %  worst  few, far
zipf-anon   mglru  pswpin             1          0     1   3.5 %  3.5 %  3.5 %         0
zipf-anon   mglru  pgdeactivate       1          0     0       -      -      -         0

Rules: 0 of 1 met
rule          experiment  kernel  LRU    counter  many  median  limit  worst  limit  few  missed
swap traffic  zipf-anon   6.12    mglru  pswpin      1   3.5 %    2 %  3.5 %    5 %    0       0  missed

Not modelled
damon  d1  no DAMON yet

Counters that the model does not have
experiment  counter       phases  largest
zipf-anon   slabs_walked       2    1,234
"
        );
    }

    #[test]
    fn brief_adds_up_the_phases_of_a_few_counters() {
        let row = |phase: &str, counter: &str, recorded: f64, simulated: f64| -> PointRow {
            let row = json!({
                "experiment": "zipf-anon", "point": "ws1.25-t0.7", "kernel": "6.12",
                "policy": "classic", "phase": phase, "counter": counter, "recorded": recorded,
                "min": recorded, "max": recorded, "simulated": simulated,
                "rel_error": null, "inside": false, "repetitions": 3
            });
            serde_json::from_value(row).unwrap()
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
            vec![],
        );
        assert_eq!(
            brief(&v),
            "\
experiment  point        kernel  counter  recorded  simulated   error
zipf-anon   ws1.25-t0.7  6.12    pswpin      2,000      1,950  -2.5 %
                                 pgscan          0          7       -

Summary: absolute relative errors where kernels counted 500 events or more; how many of the others lie
more than 250 events outside the recorded range
experiment  LRU      values  in spread  many  median    90 %   worst  few, far
zipf-anon   classic       5          1     3   5.0 %  10.0 %  10.0 %         0

Rules: 2 of 3 met; the largest median and error of any counter
rule          experiment  kernel  LRU      median  limit   worst  limit  values  missed  counters met
swap traffic  zipf-anon   6.12    classic   5.0 %    2 %  10.0 %    5 %       2       1        0 of 1
scans         zipf-anon   6.12    classic       -    5 %       -   10 %       1       0        1 of 1
activation    zipf-anon   6.12    classic       -   10 %       -   20 %       1       0        1 of 1
"
        );
        assert_eq!(
            printed(rules(&v)),
            "
Rules: 2 of 3 met
rule          experiment  kernel  LRU      counter      many  median  limit   worst  limit  few  missed
swap traffic  zipf-anon   6.12    classic  pswpin          2   5.0 %    2 %  10.0 %    5 %    0       1  missed
scans         zipf-anon   6.12    classic  pgscan_anon     0       -    5 %       -   10 %    1       0     met
activation    zipf-anon   6.12    classic  pgactivate      0       -   10 %       -   20 %    1       0     met
"
        );
        assert_eq!(
            printed(misses(&v)),
            "
Missed, and what would do
experiment  counter  point        phase    recorded  simulated  least   most
zipf-anon   pswpin   ws1.25-t0.7  access1     1,000        900    950  1,050
"
        );
    }

    #[test]
    fn outcomes_are_judged_together_with_what_lies_between() {
        let near = |at: f64, recorded: f64, simulated: f64| json!({ "from": at, "to": at, "recorded": recorded, "simulated": simulated });
        let point = |name: &str, met: bool| -> OutcomeRow {
            let row = json!({
                "experiment": "compaction", "point": name, "counter": "result.thp.got",
                "outcomes": [near(6.0, 1.0 / 3.0, 0.25), near(51.0, 2.0 / 3.0, 0.5)],
                "between": 0.25, "met": met, "simulated": [6.0, 20.0, 51.0, 51.0]
            });
            serde_json::from_value(row).unwrap()
        };
        let mut v = Validation::new(vec![], vec![], vec![]);
        assert_eq!((outcomes(&v), missed(&v)), (None, Vec::new()));
        v.outcomes = vec![point("thp-x", false), point("thp-y", true)];
        assert_eq!(
            printed(outcomes(&v)),
            "
Points with several outcomes: 1 of 2 have each of them, and at most 10 % of the replays between
experiment  counter         point  outcome  recorded  simulated
compaction  result.thp.got  thp-x  6          33.3 %     25.0 %
                                   51         66.7 %     50.0 %
                                   between     0.0 %     25.0 %  missed
compaction  result.thp.got  thp-y  6          33.3 %     25.0 %
                                   51         66.7 %     50.0 %
                                   between     0.0 %     25.0 %     met
"
        );
        assert_eq!(missed(&v), ["1 of 2 points with several outcomes do not have them"]);
    }
}
