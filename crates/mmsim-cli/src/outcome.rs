//! Outcomes of runs: their report, the exit code, and the lines about them on standard error.

use mmsim::machine::result::RunResult;
use mmsim::report::expect;
use mmsim::report::{self, AimReport, ExpectReport, Report, RunMeta, RunReport};

use crate::observe::Results;
use crate::plan::{Plan, PlannedRun};
use mmsim_terminal::exit::Ending;

/// The reports of the runs of each plan.
pub(crate) fn reports(results: &[Results]) -> Vec<Vec<RunReport>> {
    let of = |(meta, result): &(RunMeta, RunResult)| RunReport::from_result(meta.clone(), result);
    results.iter().map(|results| results.iter().map(of).collect()).collect()
}

/// One report of all scenarios, and whether a run ended where it should not have. `made` are the
/// reports of each plan.
pub(crate) fn assemble(plans: &[Plan], made: Vec<Vec<RunReport>>) -> (Report, Ending) {
    let several = plans.len() > 1;
    let mut ending = Ending::Done;
    let mut runs = Vec::new();
    for (plan, made) in plans.iter().zip(made) {
        for (planned, mut run) in plan.runs.iter().zip(made) {
            run.scenario = several.then(|| plan.name.clone());
            ending = ending.max(match run.outcome {
                report::Ending::Panicked => Ending::Panicked,
                report::Ending::Stuck => Ending::EndedEarly,
                report::Ending::OutOfMemory if !planned.expect_oom => Ending::EndedEarly,
                _ if run.aims.iter().any(|a| !a.met) => Ending::Missed,
                _ => Ending::Done,
            });
            runs.push(run);
        }
    }
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let about = if several { "" } else { plans.first().map_or("", |plan| &plan.about) };
    let mut report = Report::new(names.join(", "), about, runs);
    for plan in plans {
        let checked = expect::check(&report, several.then_some(&plan.name), &plan.expect);
        if ending == Ending::Done && !plan.changed && checked.iter().any(|e| !e.holds) {
            ending = Ending::Missed;
        }
        report.expect.extend(checked);
    }
    report.note();
    (report, ending)
}

/// Remarks that the reader of a report needs: early ends, missed targets, late replays and
/// expectations that do not hold, one line each.
pub(crate) fn remarks(plans: &[Plan], report: &Report) -> impl Iterator<Item = String> {
    let lines = early_ends(plans, report).into_iter().chain(misses(plans, report));
    lines.chain(late_replays(plans, report)).chain(unexpected(plans, report))
}

/// One line for each way in which runs of a variant ended early: who held the memory that ran out,
/// who waited for what, or what the panic said. Runs that ended alike share the line of the first.
pub(crate) fn early_ends(plans: &[Plan], report: &Report) -> Vec<String> {
    let planned = plans.iter().flat_map(|plan| &plan.runs);
    let mut ends: Vec<EarlyEnd<'_>> = Vec::new();
    for (planned, run) in planned.zip(&report.runs) {
        let Some((cause, text)) = early_end(planned, run) else { continue };
        match ends.iter_mut().find(|e| (e.variant, &e.cause) == (run.variant.as_str(), &cause)) {
            Some(alike) => alike.more += 1,
            None => {
                let (variant, first) = (run.variant.as_str(), planned.label.as_str());
                ends.push(EarlyEnd { variant, cause, first, text, more: 0 });
            }
        }
    }
    let line = |e: EarlyEnd<'_>| match e.more {
        0 => format!("{}: {}", e.first, e.text),
        1 => format!("{} and 1 more run of it: {}", e.first, e.text),
        n => format!("{} and {n} more runs of it: {}", e.first, e.text),
    };
    ends.into_iter().map(line).collect()
}

/// Runs of a variant that ended early for one cause.
struct EarlyEnd<'a> {
    variant: &'a str,
    cause: String,
    /// Label of the first run, and the words about its end.
    first: &'a str,
    text: String,
    more: usize,
}

/// The cause of an early end without times and sizes, and the words about it.
fn early_end(planned: &PlannedRun, run: &RunReport) -> Option<(String, String)> {
    if let Some(message) = &run.panic {
        return Some((message.clone(), format!("panicked: {message}")));
    }
    if let Some(stuck) = &run.stuck {
        return Some((stuck.why.clone(), stuck.who_waits()));
    }
    let oom = run.oom.as_ref().filter(|_| !planned.expect_oom)?;
    let zram = run.swap.as_ref().is_some_and(|s| s.device.contains("zram"));
    let store = if zram && oom.swap_free < oom.swap_total {
        "; the kernel's pages include those of zram's store"
    } else {
        ""
    };
    Some((format!("{} {}", oom.victim, oom.shortage), oom.who_held_it() + store))
}

/// One line for each target that was not reached.
fn misses(plans: &[Plan], report: &Report) -> Vec<String> {
    let labels = plans.iter().flat_map(|plan| &plan.runs).map(|planned| &planned.label);
    let of_run = |(label, run): (&String, &RunReport)| {
        let line = |a: &AimReport| {
            let AimReport { task, what, target, tolerance, reached, closest, .. } = a;
            let closest = match closest {
                Some(c) if c != reached => format!("; {c} was the closest that it came"),
                Some(_) => ": nothing came closer".to_string(),
                None => String::new(),
            };
            format!(
                "{label}: {task}: {what} is {reached}, not {target} ± {tolerance}, which is out of reach{closest}"
            )
        };
        run.aims.iter().filter(|a| !a.met).map(line).collect::<Vec<_>>()
    };
    labels.zip(&report.runs).flat_map(of_run).collect()
}

/// One line for each replay that could not keep up with its record.
fn late_replays(plans: &[Plan], report: &Report) -> Vec<String> {
    let labels = plans.iter().flat_map(|plan| &plan.runs).map(|planned| &planned.label);
    let of_run = |(label, run): (&String, &RunReport)| {
        let notes = run.replayed.iter().filter_map(|r| r.note());
        notes.map(|note| format!("{label}: {note}")).collect::<Vec<_>>()
    };
    labels.zip(&report.runs).flat_map(of_run).collect()
}

/// One line for each expectation that does not hold.
fn unexpected(plans: &[Plan], report: &Report) -> Vec<String> {
    let changed = if plans.iter().any(|p| p.changed) { " (with --set)" } else { "" };
    report.expect.iter().filter(|e| !e.holds).map(|e| missed(e, changed)).collect()
}

/// An expectation that does not hold.
pub(crate) fn missed(e: &ExpectReport, changed: &str) -> String {
    let scenario = e.scenario.as_ref().map_or(String::new(), |s| format!("{s}: "));
    format!("{scenario}expected{changed}: {}; found: {}", e.expected, e.found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use mmsim::base::time::SimTime;
    use mmsim::machine::result::{OomProcess, OomSummary, Outcome};

    fn plan(name: &str, labels: &[&str], expect_oom: bool) -> Plan {
        let text = "schema = 1\nname = \"plan\"\n\n[machine]\nmemory = \"1GiB\"\n\n[[task]]\n\
                    workload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 1\n";
        let planned = |label: &&str| PlannedRun { label: label.to_string(), expect_oom };
        Plan {
            name: name.into(),
            about: "about".into(),
            scenario: mmsim::Scenario::from_str(text, "plan.toml").expect("a good scenario"),
            expect: Vec::new(),
            changed: false,
            runs: labels.iter().map(planned).collect(),
            specs: Vec::new(),
        }
    }

    #[test]
    fn one_document_for_several_scenarios() {
        let plans = [plan("a", &["v"], false), plan("b", &["v"], false)];
        let results = [
            vec![(samples::meta("v", 1), samples::result(0, 1))],
            vec![(samples::meta("v", 1), samples::result(1, 1))],
        ];
        let (report, ending) = assemble(&plans, reports(&results));
        assert_eq!((report.scenario.as_str(), ending), ("a, b", Ending::Done));
        assert_eq!(report.runs[1].scenario.as_deref(), Some("b"));
        assert_eq!(report.groups().len(), 2);
        let (report, _) = assemble(&plans[..1], reports(&results[..1]));
        assert_eq!((report.about.as_str(), report.runs[0].scenario.as_deref()), ("about", None));
    }

    #[test]
    fn out_of_memory_where_it_is_not_expected() {
        let mut result = samples::result(0, 1);
        let mut oom = OomSummary::default();
        oom.at = SimTime(1_500_000_000);
        let mut process = OomProcess::default();
        (process.name, process.rss, process.swapped) = ("ebizzy".into(), [900, 0, 0], 100);
        oom.processes = vec![process];
        (oom.free, oom.cache, oom.kernel, oom.swap_total) = (7, 3, 90, 100);
        result.outcome = Outcome::OutOfMemory(oom);
        let results = [vec![(samples::meta("v", 1), result)]];
        let unexpected = [plan("a", &["v, seed 1"], false)];
        let (report, ending) = assemble(&unexpected, reports(&results));
        assert_eq!(ending, Ending::EndedEarly);
        assert_eq!(
            early_ends(&unexpected, &report),
            [
                "v, seed 1: out of memory after 1.500 s; pages: ebizzy 900 resident and 100 swapped, \
              page cache 3, kernel 90, free 7; swap slots: 0 of 100 free; the kernel's pages \
              include those of zram's store"
            ]
        );
        let expected = [plan("a", &["v, seed 1"], true)];
        assert_eq!(assemble(&expected, reports(&results)).1, Ending::Done);
        assert!(early_ends(&expected, &report).is_empty());
    }

    #[test]
    fn a_panic_is_graver_than_an_early_end() {
        let out_of_memory = Outcome::OutOfMemory(OomSummary::default());
        let panicked = Outcome::Panicked("zone7 has no frame".into());
        for outcomes in [[&out_of_memory, &panicked], [&panicked, &out_of_memory]] {
            let of = |outcome: &Outcome| {
                let outcome = outcome.clone();
                let mut result = samples::result(0, 1);
                result.outcome = outcome;
                (samples::meta("v", 1), result)
            };
            let results = [outcomes.map(of).to_vec()];
            let plans = [plan("a", &["v, seed 1", "v, seed 2"], false)];
            let (report, ending) = assemble(&plans, reports(&results));
            assert_eq!(ending, Ending::Panicked);
            let said = early_ends(&plans, &report);
            assert_eq!(said.len(), 2);
            assert!(said.iter().any(|s| s.ends_with("panicked: zone7 has no frame")), "{said:?}");
        }
    }
}
