//! The parts of the document that come from recorded kernels.

use super::{BY_KERNEL, QuickValue, Sources};
use crate::validate::document::{Near, NotModelled, SummaryRow, Validation};
use crate::validate::point::{Experiment, Point};
use crate::validate::rows::PointRow;
use crate::validate::rules::{self, Verdict};
use crate::validate::{BETWEEN, COUNTERS, TELLING, quick_points};
use mmsim::report::numbers::{grouped, per_cent};
use mmsim::report::statistics::quantile;

/// Counters whose sensitivity to the set-up is shown.
const SENSITIVE: [&str; 3] = ["pswpin", "pgscan", "workingset_activate_anon"];
/// Number of the farthest cells that are shown.
const FARTHEST: usize = 5;

/// A table in Markdown.
pub(super) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(header.iter().map(|h| h.to_string()).collect());
    out += &line(header.iter().map(|_| "---".to_string()).collect());
    out + &rows.into_iter().map(line).collect::<String>()
}

fn share(e: Option<f64>) -> String {
    e.map_or(String::new(), |e| format!("{:.1} %", e * 100.0))
}

pub(super) fn change(of: f64, from: f64) -> String {
    match from > 0.0 {
        true => per_cent((of / from - 1.0) * 100.0),
        false => String::new(),
    }
}

pub(super) fn verdict(met: bool) -> String {
    if met { "met" } else { "**missed**" }.to_string()
}

/// The mean of a counter of a point over its compared phases.
fn recorded_sum(p: &Point, parts: &[&str]) -> f64 {
    let phases = p.phases.iter().skip(p.first_compared()).filter(|x| x.phase != "populate");
    phases
        .flat_map(|x| parts.iter().filter_map(|c| x.counters.get(*c)))
        .map(|c| c.spread()[0])
        .sum()
}

/// The point that a sensitivity is a variant of: its name without the variant, and perhaps
/// with the kernel.
fn base_of<'a>(e: &'a Experiment, p: &Point) -> Option<&'a Point> {
    let stem = |q: &'a Point| Point::stem(&q.id, &q.kernel_series());
    let of = Point::stem(&p.id, &p.kernel_series());
    e.points
        .iter()
        .filter(|q| !Point::is_sensitivity(&q.id) && q.lru == p.lru)
        .filter(|q| q.kernel_series() == p.kernel_series() && of.ends_with(stem(q)))
        .max_by_key(|q| stem(q).len())
}

/// Movement of the kernels' own counts with the set-up.
pub(super) fn sensitivities(s: &Sources<'_>) -> String {
    let mut rows = Vec::new();
    for e in s.experiments {
        for p in e.points.iter().filter(|p| Point::is_sensitivity(&p.id)) {
            let Some(base) = base_of(e, p) else { continue };
            let mut row = vec![p.id.clone(), base.id.clone()];
            for (_, parts) in TELLING.iter().filter(|(c, _)| SENSITIVE.contains(c)) {
                row.push(change(recorded_sum(p, parts), recorded_sum(base, parts)));
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = [&["point", "beside"], &SENSITIVE[..]].concat();
    format!(
        "Changes of the *kernel's own* counts with the set-up, populating left out. A point \
         recorded once stands beside the\nmean of several seeds, which alone moves swap-ins by up \
         to half a per cent.\n\n{}",
        table(&header, rows)
    )
}

/// Demands, and whether they are met: for each rule and experiment the largest figures of any of
/// its counters.
pub(super) fn headline(s: &Sources<'_>) -> String {
    let v = s.validation;
    let predicted = |r: &&Verdict| !s.calibrated.has(&r.experiment, &r.counter);
    let judged: Vec<&Verdict> = v.rules.iter().filter(predicted).collect();
    let met = judged.iter().filter(|r| r.met).count();
    let (cells, missed) =
        judged.iter().fold((0, 0), |(c, m), r| (c + r.cells + r.few, m + r.missed));
    let mut out = format!(
        "## Predicted\n\nOf {} counters judged, each in one experiment and kernel, **{met} are as close as they should \
         be**. Of their {} cells {} are too\nfar off. ",
        judged.len(),
        grouped(cells as f64),
        grouped(missed as f64)
    );
    out += &match v.rules.len() - judged.len() {
        0 => {
            "All are predictions: none of these figures was looked at when a constant was chosen\n\
              ([calibration.toml](../evidence/calibration.toml)).\n\n"
                .to_string()
        }
        n => format!(
            "{n} more were looked at when a constant was chosen\n([calibration.toml](../evidence/calibration.toml)) and are not \
             counted here.\n\n"
        ),
    };
    let mut rows = Vec::new();
    let same = |a: &&Verdict, b: &&Verdict| {
        (&a.rule, &a.experiment, &a.kernel, &a.policy)
            == (&b.rule, &b.experiment, &b.kernel, &b.policy)
    };
    for group in judged.chunk_by(same) {
        let r = group[0];
        let largest = |of: fn(&Verdict) -> Option<f64>| {
            group.iter().filter_map(|r| of(r)).max_by(f64::total_cmp)
        };
        let met = group.iter().filter(|r| r.met).count();
        rows.push(vec![
            r.rule.clone(),
            r.experiment.clone(),
            r.kernel.clone(),
            r.policy.clone(),
            grouped(group.iter().map(|r| r.cells + r.few).sum::<u64>() as f64),
            share(largest(|r| r.median)),
            format!("{:.0} %", r.median_limit * 100.0),
            share(largest(|r| r.worst)),
            r.worst_limit(),
            grouped(group.iter().map(|r| r.missed).sum::<u64>() as f64),
            format!("{met} of {}", group.len()),
        ]);
    }
    let header = [
        "rule",
        "experiment",
        "kernel",
        "LRU",
        "cells",
        "largest median",
        "limit",
        "largest error",
        "limit",
        "cells missed",
        "counters met",
    ];
    out + &table(&header, rows)
}

/// Accuracy for each kernel by rule and LRU, over all experiments.
pub(super) fn by_kernel(v: &Validation) -> String {
    let mut kernels: Vec<&str> = v.rules.iter().map(|r| r.kernel.as_str()).collect();
    kernels.sort_by_key(|k| (rules::version(k), *k));
    kernels.dedup();
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for r in &v.rules {
        let key = (r.policy.as_str(), r.rule.as_str());
        if !groups.contains(&key) {
            groups.push(key);
        }
    }
    groups.sort_by_key(|g| g.0);
    let rows = groups.iter().map(|&(policy, rule)| {
        let mut row = vec![policy.to_string(), rule.to_string()];
        for kernel in &kernels {
            let of: Vec<&Verdict> = (v.rules.iter())
                .filter(|r| (r.policy.as_str(), r.rule.as_str()) == (policy, rule))
                .filter(|r| r.kernel == *kernel)
                .collect();
            let mut medians: Vec<f64> = of.iter().filter_map(|r| r.median).collect();
            medians.sort_by(f64::total_cmp);
            let met = of.iter().filter(|r| r.met).count();
            row.push(match of.len() {
                0 => String::new(),
                n => format!("{}, {met} of {n}", share(quantile(&medians, 0.5))),
            });
        }
        row
    });
    let header = [vec!["LRU", "rule"], kernels.clone()].concat();
    format!(
        "{BY_KERNEL}\nOf the counters of each rule, each in one experiment: the middle one of their median errors, and \
         how many are as close\nas they should be.\n\n{}",
        table(&header, rows)
    )
}

/// Every counter of every experiment, and the cells that are farthest off.
pub(super) fn by_experiment(s: &Sources<'_>) -> String {
    let v = s.validation;
    let mut out = "## By experiment\n\nErrors are those of cells with 500 events or more; *few* are the others. Counters \
                   without a verdict are not judged.\n"
        .to_string();
    for total in v.summary_of_experiments() {
        let (experiment, policy) = (&total.experiment, &total.policy);
        let points =
            v.points.chunk_by(|a, b| (&a.experiment, &a.point) == (&b.experiment, &b.point));
        let replayed =
            points.filter(|p| p[0].experiment == *experiment && p[0].policy == *policy).count();
        out += &format!("\n### {experiment}, {policy}\n\n{replayed} points replayed.\n\n");
        let judged: Vec<&Verdict> =
            v.rules.iter().filter(|r| r.experiment == *experiment && r.policy == *policy).collect();
        let rows = judged.iter().map(|r| {
            vec![
                format!("`{}`", r.counter),
                r.kernel.clone(),
                s.calibrated.basis(experiment, &r.counter).to_string(),
                grouped(r.cells as f64),
                share(r.median),
                share(r.p90),
                share(r.worst),
                grouped(r.few as f64),
                grouped(r.missed as f64),
                verdict(r.met),
            ]
        });
        let is_judged =
            |s: &SummaryRow| judged.iter().any(|r| Some(&r.counter) == s.counter.as_ref());
        let others = v.summary.iter().filter(|s| {
            s.experiment == *experiment
                && s.policy == *policy
                && s.counter.is_some()
                && !is_judged(s)
        });
        let others = others.map(|s| {
            vec![
                format!("`{}`", s.counter.as_deref().unwrap_or("")),
                "all".into(),
                String::new(),
                grouped(s.many as f64),
                share(s.median_error),
                share(s.p90_error),
                share(s.max_error),
                grouped((s.rows - s.many) as f64),
                grouped(s.few_outside as f64),
                String::new(),
            ]
        });
        let header = [
            "counter", "kernel", "basis", "cells", "median", "90 %", "worst", "few", "too far", "",
        ];
        out += &table(&header, rows.chain(others));
        out += &farthest(v, total, &judged);
    }
    out
}

fn farthest(v: &Validation, of: &SummaryRow, judged: &[&Verdict]) -> String {
    let counters: Vec<&str> = match judged.is_empty() {
        true => COUNTERS.to_vec(),
        false => judged.iter().map(|r| r.counter.as_str()).collect(),
    };
    let far = rules::farthest(&v.points, &of.experiment, &of.policy, &counters, FARTHEST);
    if far.is_empty() {
        return String::new();
    }
    let rows = far.iter().map(|f| {
        vec![
            f.point.clone(),
            f.phase.clone(),
            format!("`{}`", f.counter),
            grouped(f.recorded.round()),
            grouped(f.simulated.round()),
            change(f.simulated, f.recorded),
        ]
    });
    let what = if judged.is_empty() { "all" } else { "judged" };
    let header = ["point", "phase", "counter", "recorded", "simulated", "error"];
    format!("\nThe {} farthest off, of {what} counters:\n\n{}", far.len(), table(&header, rows))
}

/// Points whose repetitions went apart, and what the model gives with free memory moved a little.
pub(super) fn outcomes(v: &Validation) -> String {
    let mut out = "## Points with several outcomes\n\n".to_string();
    if v.outcomes.is_empty() {
        return out + "The repetitions of no replayed point went apart.\n";
    }
    let met = v.outcomes.iter().filter(|o| o.met).count();
    out += &format!(
        "A page more or less decides what comes of these: which of four or eight neighbouring frames a region begins \
         with. Each is\nreplayed with its floor of free memory at 41 offsets from -120 to 120 pages, and the program \
         of one repetition after the other;\nnear an outcome is within 15 % of it. Every recorded outcome \
         has to occur, and at most {:.0} % of the replays may lie\nbetween them and near none. **{met} of {} points are so.** \
         How the model fares where the memory at the beginning is known\nframe by frame, \
         [recording.md](recording.md#where-memory-is-free) shows.\n\n",
        100.0 * BETWEEN,
        v.outcomes.len()
    );
    let percent = |s: f64| format!("{:.1} %", s * 100.0);
    let rows = v.outcomes.iter().map(|o| {
        let of = |shown: &dyn Fn(&Near) -> String| {
            o.outcomes.iter().map(shown).collect::<Vec<_>>().join(" / ")
        };
        vec![
            o.point.clone(),
            format!("`{}`", o.counter),
            of(&Near::range),
            of(&|n| percent(n.recorded)),
            of(&|n| percent(n.simulated)),
            percent(o.between),
            verdict(o.met),
        ]
    });
    let header = ["point", "counter", "outcomes", "recorded", "simulated", "between", ""];
    out + &table(&header, rows)
}

/// The gaps with their explanations.
pub(super) fn what_remains(s: &Sources<'_>, of_patches: &[Verdict]) -> String {
    let mut out = "## What remains\n\nFor each rule that is missed the best explanation found.\n\n"
        .to_string();
    let missed = s.validation.rules.iter().chain(of_patches).filter(|r| !r.met);
    let mut said: Vec<(&str, Vec<&Verdict>)> = Vec::new();
    for r in missed {
        let why = s.remains.why(r).unwrap_or("No explanation has been found yet.");
        let same = |of: &Verdict| {
            (&of.experiment, &of.policy, &of.kernel) == (&r.experiment, &r.policy, &r.kernel)
        };
        match said.iter_mut().find(|(w, of)| *w == why && same(of[0])) {
            Some((_, of)) => of.push(r),
            None => said.push((why, vec![r])),
        }
    }
    for (why, of) in &said {
        let counters: Vec<String> = of.iter().map(|r| format!("`{}`", r.counter)).collect();
        out += &format!(
            "- **{}**, {}, Linux {}: {}. {}\n",
            of[0].experiment,
            of[0].policy,
            of[0].kernel,
            counters.join(", "),
            why.replace('\n', "\n  ")
        );
    }
    if said.is_empty() {
        out += "Nothing: every rule is met.\n";
    }
    out
}

/// Points and counters that cannot be compared.
pub(super) fn not_modelled(v: &Validation) -> String {
    let mut out = "## What is not modelled\n".to_string();
    let mut groups: Vec<((&str, String), Vec<&NotModelled>)> = Vec::new();
    for n in &v.not_modelled {
        // The number of a line differs from point to point.
        let why = match n.why.strip_prefix("script line ").and_then(|w| w.split_once(": ")) {
            Some((_, why)) => why.to_string(),
            None => n.why.clone(),
        };
        let key = (n.experiment.as_str(), why);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, of)) => of.push(n),
            None => groups.push((key, vec![n])),
        }
    }
    let rows = groups.iter().map(|((experiment, why), of)| {
        let names: Vec<&str> = of.iter().map(|n| n.point.as_str()).collect();
        vec![experiment.to_string(), of.len().to_string(), why.clone(), names.join(", ")]
    });
    out += &match groups.is_empty() {
        true => "\nEvery point was replayed.\n".to_string(),
        false => format!("\n{}", table(&["experiment", "points", "why not", "which"], rows)),
    };
    if !v.unmodelled_counters.is_empty() {
        let rows = v.unmodelled_counters.iter().map(|u| {
            vec![
                u.experiment.clone(),
                format!("`{}`", u.counter),
                u.phases.to_string(),
                grouped(u.largest),
            ]
        });
        let header = ["experiment", "counter", "phases in which a kernel counted", "largest"];
        out += &format!(
            "\nCounters of replayed points that the model does not have:\n\n{}",
            table(&header, rows)
        );
    }
    out
}

/// A few counters of the points of the quick subset, summed over their phases.
pub(super) fn quick_values(experiments: &[Experiment], v: &Validation) -> Vec<QuickValue> {
    let chosen = quick_points(experiments);
    let mut values = Vec::new();
    for point in v.points.chunk_by(|a, b| (&a.experiment, &a.point) == (&b.experiment, &b.point)) {
        let p = &point[0];
        if !chosen.contains(&(p.experiment.clone(), p.point.clone())) {
            continue;
        }
        for (counter, parts) in TELLING {
            let of = |value: fn(&PointRow) -> f64| -> f64 {
                point.iter().filter(|r| parts.contains(&r.counter.as_str())).map(value).sum()
            };
            let (recorded, simulated) = (of(|r| r.recorded), of(|r| r.simulated));
            if recorded > 0.0 || simulated > 0.0 {
                values.push(QuickValue {
                    experiment: p.experiment.clone(),
                    point: p.point.clone(),
                    policy: p.policy.clone(),
                    counter,
                    recorded,
                    simulated,
                });
            }
        }
    }
    values
}

/// The same as a section, below a picture of them.
pub(super) fn quick(values: &[QuickValue], picture: &str) -> String {
    let row = |v: &QuickValue| {
        vec![
            v.experiment.clone(),
            v.point.clone(),
            format!("`{}`", v.counter),
            grouped(v.recorded.round()),
            grouped(v.simulated.round()),
            change(v.simulated, v.recorded),
        ]
    };
    let header = ["experiment", "point", "counter", "recorded", "simulated", "error"];
    format!(
        "## The quick subset\n\nOf each file, for each kernel and LRU in it, the point in the middle (`mmsim-lab accuracy \
         --quick`), over all its phases.\n\n![Simulated over recorded counters]({picture})\n\n{}",
        table(&header, values.iter().map(row))
    )
}
