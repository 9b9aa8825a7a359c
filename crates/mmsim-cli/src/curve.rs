//! `mmsim curve`: figures of a trace or a scenario over the size of memory.

use std::path::Path;

use mmsim::bench::{BenchSettings, Frames, Trace};
use mmsim::curve::{self, Curve, POINTS, Sizes};
use mmsim::miniature::{SAMPLES, Share};
use mmsim::report::derived::Figure;
use mmsim::report::numbers::grouped;
use mmsim::{Error, Plan, Runner, Scenario, traces};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;
use mmsim_view::chart;
use mmsim_view::page::{self, Source};

use crate::args::{CurveArgs, Format};
use crate::input::Seekable;
use crate::runner::{Heard, options, registry, store};
use crate::table;

/// Policies of a trace where none is named.
const POLICIES: [&str; 2] = ["classic-v6.12", "mglru-v6.12"];

/// Makes the runs of a curve and draws it.
pub(crate) fn curve(args: &CurveArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.of])?;
    let files = [("--svg", args.svg.as_deref()), ("--html", args.html.as_deref())];
    output::distinct(&[&args.of], &files)?;
    files.into_iter().try_for_each(|(_, file)| output::check(file))?;
    if args.points.is_some() && matches!(args.memory, Sizes::Given(_)) {
        let title = "--points: the sizes are given one by one, and none is placed";
        let help = "leave it out, or write a range, as in --memory 10%..150%";
        return Err(Failure::Input(Error::of_option(title).help(help)));
    }
    if let (Some(_), Some(_)) = (args.miniature, &args.html) {
        let title = "--html with --miniature: a page has all figures, and samples estimate few";
        let help = "leave one of them out; --svg draws the figure of --by";
        return Err(Failure::Input(Error::of_option(title).help(help)));
    }
    let figure = args.by.unwrap_or(Figure::MissRatio);
    if figure == Figure::Optimum && !with_optimum(args) {
        let without = if args.no_optimum { "--no-optimum" } else { "--miniature" };
        let title = format!("--by optimum with {without}: there would be no optimum");
        return Err(Failure::Input(Error::of_option(title).help("leave one of them out")));
    }
    // Files that are no trace yet lie in a temporary file until the end.
    let mut imported = None;
    let mut remarks = Vec::new();
    let curve = match is_scenario(&args.of) {
        true => of_scenario(args, figure)?,
        false => of_trace(args, figure, &mut imported, &mut remarks)?,
    };
    if let Some(share) = args.miniature {
        return sampled(args, curve, share, figure, &remarks);
    }
    let report = made(args, curve.runs()?, "curve", curve)?;
    args.output.emit(|| table::curve(&report, figure), || report.to_json(), || report.to_csv())?;
    if let Some(path) = &args.svg {
        output::deliver(chart::svg(&report, figure).as_bytes(), Some(path))?;
    }
    if let Some(path) = &args.html {
        let source = Source { name: "", report: &report, observed: &[] };
        output::deliver(page::html(&[source], Some(figure)).as_bytes(), Some(path))?;
    }
    remarks.extend(report.notes.iter().cloned());
    if args.output.form() == Format::Table {
        remarks.extend(report.remarks());
    }
    remarks.iter().for_each(|remark| exit::remark(remark));
    Ok(match report.runs.iter().any(|run| run.outcome.is_whole()) {
        true => Ending::Done,
        false => Ending::EndedEarly,
    })
}

/// Makes the runs of a plan.
fn made<P: Plan>(args: &CurveArgs, runs: usize, verb: &str, plan: P) -> Result<P::Found, Failure> {
    let heard = Heard::of("runs", runs);
    let runner = Runner::watched(&options(args.jobs, false), &heard);
    let name = args.of.display().to_string();
    let runner = runner.with_store(store(verb, &name, args.store.as_deref())?);
    Ok(runner.run(plan)?)
}

/// The curve from samples of the pages.
fn sampled(
    args: &CurveArgs,
    curve: Curve,
    share: Share,
    figure: Figure,
    remarks: &[String],
) -> Result<Ending, Failure> {
    let curve = curve.sampled(share, args.samples.unwrap_or(SAMPLES))?;
    let found = made(args, curve.runs()?, "curve miniature", curve)?;
    let (drawn, report) = (&found.drawn, &found.report);
    args.output.emit(
        || table::estimates(drawn, figure),
        || report.to_json(),
        || report.cells().to_csv(),
    )?;
    if let Some(path) = &args.svg {
        output::deliver(chart::svg(drawn, figure).as_bytes(), Some(path))?;
    }
    remarks.iter().chain(&drawn.notes).for_each(|remark| exit::remark(remark));
    Ok(match drawn.runs.iter().all(|run| run.outcome.is_whole()) {
        true => Ending::Done,
        false => Ending::EndedEarly,
    })
}

/// True if the optimum is drawn: it needs every access, so samples have none.
fn with_optimum(args: &CurveArgs) -> bool {
    !args.no_optimum && args.miniature.is_none()
}

/// Sizes that a range gets.
fn points(args: &CurveArgs) -> usize {
    args.points.unwrap_or(POINTS).into()
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "toml")
}

/// The curve of a scenario: its variants, or one for each policy that is named.
fn of_scenario(args: &CurveArgs, figure: Figure) -> Result<Curve, Failure> {
    let given = [
        ("--from", args.from.is_some()),
        ("--columns", args.columns.is_some()),
        ("--like", args.like.is_some()),
        ("--dense", args.dense),
        ("--write", args.write.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let title = format!("{option}: it is about a trace, and this is a scenario by its name");
        return Err(Failure::Input(Error::of_option(title).help("leave it out")));
    }
    let sets = curve::sets(&args.sets, &args.reclaim, args.seeds, with_optimum(args));
    let scenario = Scenario::load(&args.of, &sets)?;
    let axis = args.axis.as_deref();
    Ok(Curve::of_scenario(scenario, axis, &args.memory, points(args), figure, &registry())?)
}

/// The curve of a trace, which is imported if it is of another format.
fn of_trace(
    args: &CurveArgs,
    figure: Figure,
    imported: &mut Option<tempfile::NamedTempFile>,
    remarks: &mut Vec<String>,
) -> Result<Curve, Failure> {
    for (option, given) in [("--axis", args.axis.is_some()), ("--seeds", args.seeds.is_some())] {
        if given {
            let title = format!("{option}: it is about a scenario, and this is a trace");
            let help = "leave it out; a replay draws nothing at random";
            return Err(Failure::Input(Error::of_option(title).help(help)));
        }
    }
    let file = Seekable::open(&args.of)?;
    let of_import = mmsim::bench::imported(&args.of, args.from.as_deref());
    let path = match of_import {
        None => file.path().to_path_buf(),
        Some(format) => {
            let temporary = import(args, &file, format)?;
            let path = temporary.path().to_path_buf();
            *imported = Some(temporary);
            path
        }
    };
    let mut settings = BenchSettings::new(&path, Frames::PerCent(100.0));
    settings.from = if of_import.is_some() { Some("mmt") } else { args.from.as_deref() };
    settings.swap = &args.swap;
    settings.dense = args.dense && of_import.is_none();
    settings.write_permille = args.write.unwrap_or(0);
    let sets = curve::sets(&args.sets, &[], None, with_optimum(args));
    settings.sets = &sets;
    let trace = Trace::open(&settings).map_err(|e| file.named(e))?;
    let facts = trace.facts();
    let first = facts.anonymous_pages as f64 * 100.0 / facts.requests.max(1) as f64;
    remarks.push(format!(
        "the first request to each of {} pages of anonymous memory fetches nothing; cache simulators \
         count it as a miss, which adds {first:.2} % to the miss ratio",
        grouped(facts.anonymous_pages as f64)
    ));
    for assumed in &facts.assumptions {
        remarks.push(format!("assumed: {assumed}"));
    }
    let policies: Vec<String> = match args.reclaim.is_empty() {
        true => POLICIES.map(str::to_string).to_vec(),
        false => args.reclaim.clone(),
    };
    let name = args.of.display().to_string();
    Ok(Curve::of_trace(trace, &name, &policies, &args.memory, points(args), figure)?)
}

/// Imports a file as a trace into a temporary file. Objects that are read before they were written are
/// filled, so that they take memory.
fn import(
    args: &CurveArgs,
    file: &Seekable,
    format: &str,
) -> Result<tempfile::NamedTempFile, Failure> {
    let wrong = |e: std::io::Error| Failure::file("write", Path::new("a temporary trace"), &e);
    let mut temporary = tempfile::Builder::new().suffix(".mmt").tempfile().map_err(wrong)?;
    let stem = args.of.file_stem().map(|stem| stem.to_string_lossy());
    let mut settings = traces::ImportSettings::default();
    settings.name = stem.as_deref();
    settings.columns = args.columns.as_deref();
    settings.like = args.like.as_deref();
    settings.dense = args.dense;
    settings.fill = ["csv", "vscsi"].contains(&format);
    // A curve has no use for times, so `--columns` may name them without a unit; layouts know theirs.
    settings.time_unit = (format == "csv" && args.like.is_none()).then_some("none");
    let said = traces::import(format, file.path(), &settings, temporary.as_file_mut());
    // The trace that it makes carries the assumptions.
    said.map_err(|e| file.named(e))?;
    Ok(temporary)
}
