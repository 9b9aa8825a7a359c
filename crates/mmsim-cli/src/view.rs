//! `mmsim view`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mmsim::report::{Report, RunReport};
use mmsim_view::page::{self, Observed, Source};
use mmsim_view::series::{self, Series};

use crate::args::ViewArgs;
use crate::input;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Makes a page of reports. All of them are read before anything is written.
pub(crate) fn view(args: &ViewArgs) -> Result<Ending, Failure> {
    let inputs: Vec<&Path> =
        args.reports.iter().chain(&args.series).map(PathBuf::as_path).collect();
    output::distinct(&inputs, &[("--output", args.output.as_deref())])?;
    output::check(args.output.as_deref())?;
    if !args.series.is_empty() && args.series.len() != args.reports.len() {
        return Err(Failure::said(format!(
            "--series: {} for {}, write one for each report in their order",
            count(args.series.len(), "series", "series"),
            count(args.reports.len(), "report", "reports"),
        )));
    }
    let reports: Vec<_> =
        args.reports.iter().map(|path| input::report(path)).collect::<Result<_, _>>()?;
    if let Some((name, _)) = reports.iter().find(|(_, report)| report.runs.is_empty()) {
        return Err(Failure::said(format!("`{name}` has no run, and there is nothing to show")));
    }
    let mut observed = vec![Vec::new(); reports.len()];
    for ((path, (_, report)), observed) in args.series.iter().zip(&reports).zip(&mut observed) {
        let one = |series| {
            let mut of_run = Observed::default();
            of_run.series = Some(series);
            of_run
        };
        let all = read_series(path, report.runs.len())?;
        for (i, (series, run)) in all.iter().zip(&report.runs).enumerate() {
            of_run(path, i, series, run)?;
        }
        *observed = all.into_iter().map(one).collect();
    }
    if let Some(report) = beside(&args.reports, &reports) {
        let observed: Vec<Observed> = observed.into_iter().flatten().collect();
        let source = Source { name: "", report: &report, observed: &observed };
        output::deliver(page::html(&[source], args.by).as_bytes(), args.output.as_deref())?;
        return Ok(Ending::Done);
    }
    let several = reports.len() > 1;
    let source = |((name, report), observed)| Source {
        name: if several { name } else { "" },
        report,
        observed,
    };
    let sources: Vec<Source<'_>> =
        reports.iter().zip(&observed).map(|((n, r), o)| source(((n.as_str(), r), o))).collect();
    output::deliver(page::html(&sources, args.by).as_bytes(), args.output.as_deref())?;
    Ok(Ending::Done)
}

/// Several reports of one scenario as one, with an axis that names the report: the page draws them
/// beside each other. `None` for reports of several scenarios.
fn beside(paths: &[PathBuf], reports: &[(String, Report)]) -> Option<Report> {
    let (first, others) = reports.split_first()?;
    if others.is_empty() || others.iter().any(|(_, r)| r.scenario != first.1.scenario) {
        return None;
    }
    // `64MiB.json.zst` is `64MiB`, which has its place on a scale.
    let stem = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        Some(name.split(".json").next().unwrap_or(name).to_string())
    };
    let stems: Vec<String> = paths.iter().filter_map(stem).collect();
    let distinct = stems.iter().collect::<BTreeSet<_>>().len() == reports.len();
    let names = if distinct { stems } else { reports.iter().map(|r| r.0.clone()).collect() };
    let mut whole = first.1.clone();
    whole.runs.clear();
    whole.notes.clear();
    for (name, (_, report)) in names.iter().zip(reports) {
        for run in &report.runs {
            let axis = std::iter::once(("report".to_string(), name.clone()));
            let own = run.axes.iter().map(|(axis, value)| (axis.to_string(), value.clone()));
            let mut placed = run.clone();
            placed.axes = axis.chain(own).collect();
            whole.runs.push(placed);
        }
        whole.notes.extend(report.notes.iter().map(|note| format!("{name}: {note}")));
    }
    Some(whole)
}

/// Reads the series of a report with `nr_runs` runs.
fn read_series(path: &Path, nr_runs: usize) -> Result<Vec<Series>, mmsim::Error> {
    let text = mmsim::files::read_text(path, "a series")?;
    series::read(&text, &path.display().to_string(), nr_runs)
}

/// A series ends when its run does.
fn of_run(path: &Path, i: usize, series: &Series, run: &RunReport) -> Result<(), Failure> {
    match series.time_ns.last() {
        Some(&last) if last != run.sim_time_ns => {
            let title = format!(
                "{}: run {i} ends at {last} ns, and the report's at {} ns: it is of another report",
                path.display(),
                run.sim_time_ns
            );
            let help =
                "write both by one command: `mmsim run .. --format json -o FILE --series FILE`";
            Err(Failure::Input(mmsim::Error::plain(title).help(help)))
        }
        _ => Ok(()),
    }
}

fn count(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}
