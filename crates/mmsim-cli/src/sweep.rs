//! `mmsim sweep`: thin over the facade's module of that name.

mod jobs;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use mmsim::attend::{Ahead, ProgressFn};
use mmsim::report::numbers::grouped;
use mmsim::report::{ExpectReport, Report, Spreadsheet, Swept};
use mmsim::sweep::{self, Distinct, Merged, Shard, SweepPlan, WriteError};
use mmsim::{RunSpec, Watcher};
use mmsim_view::chart;
use mmsim_view::page::{self, Source};
use mmsim_view::settings::{self, Gatherer, Setting};

use crate::args::{
    MergeFormat, ShownArgs, SweepArgs, SweepMergeArgs, SweepPlace, SweepPlanArgs, SweepRunArgs,
    SweepStatusArgs, SweepVerb,
};
use crate::outcome;
use crate::runner::{Heard, options};
use crate::table::{self, Shown};
use crate::timing::{Peak, cpu_seconds};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output::{self, AtomicFile};
use mmsim_terminal::progress::Progress;

/// Runs a plan, or says something of one.
pub(crate) fn sweep(args: &SweepArgs) -> Result<Ending, Failure> {
    match &args.what {
        None => run(&args.run),
        Some(SweepVerb::Plan(args)) => plan(args),
        Some(SweepVerb::Status(args)) => status(args),
        Some(SweepVerb::Merge(args)) => merge(args),
    }
}

/// Part of a sweep that is shown.
pub(crate) fn shown(args: &ShownArgs) -> Shown {
    Shown { by: args.by, pivot: args.pivot.clone(), top: args.top, ..Shown::default() }
}

fn read(place: &SweepPlace) -> Result<SweepPlan, Failure> {
    sweep::refuse_store(place.plan(), sweep::A_PLAN)?;
    Ok(SweepPlan::from_path(place.plan())?)
}

/// Axes of `--pivot` are there.
pub(crate) fn known_axes(shown: &Shown, axes: &[&str], of: &str) -> Result<(), Failure> {
    let asked = shown.pivot.iter().flat_map(|(a, b)| [a, b]);
    for axis in asked {
        if axes.is_empty() {
            let title = format!("--pivot: {of} has no axes");
            return Err(Failure::Input(mmsim::Error::of_option(title).help("leave it out")));
        }
        if !axes.contains(&axis.as_str()) {
            let what = format!("--pivot: {of} has no axis");
            return Err(Failure::Input(mmsim::Error::unknown_word(&what, axis, axes)));
        }
    }
    Ok(())
}

/// Says what is ahead, and shows progress.
struct Told(Heard);

impl Watcher for Told {
    fn begins(&self, ahead: &Ahead) {
        let count = |n: u64| grouped(n as f64);
        let (to_do, all) = (ahead.to_do, ahead.all);
        if to_do < all {
            exit::remark(&format!("{} of {} units are there", count(all - to_do), count(all)));
        }
        if to_do > 0 {
            let most = if ahead.exact { "" } else { "at most " };
            exit::remark(&format!(
                "{most}{} units to make, {} at a time: {}; about {} of memory; the store grows by \
                 about {}",
                count(to_do),
                ahead.jobs,
                crate::run::time_of(ahead.accesses),
                jobs::bytes(ahead.memory),
                jobs::bytes(ahead.disk)
            ));
        }
        self.0.begins(ahead);
    }

    fn progress(&self, nth: usize, spec: &RunSpec) -> Option<ProgressFn> {
        self.0.progress(nth, spec)
    }

    fn finished(&self, nth: usize, label: &str) {
        self.0.finished(nth, label);
    }
}

fn run(args: &SweepRunArgs) -> Result<Ending, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let shard = match &args.shard {
        Some(text) => Shard::parse(text),
        None => Shard::of_environment(args.shards, variable),
    };
    let shard = shard?;
    let plan = read(&args.place)?;
    let shown = self::shown(&args.shown);
    known_axes(&shown, &plan.axes(), plan.name())?;
    let store = args.place.store();
    let told_of = Told(Heard::later("units"));
    let done = sweep::run(&plan, &store, shard, &options(args.jobs, args.check), &told_of);
    drop(told_of);
    let done = done?;
    let of = match shard.of() {
        1 => String::new(),
        n => format!(" of shard {} of {n}", shard.index()),
    };
    let count = |n: u64| grouped(n as f64);
    exit::remark(&format!(
        "{} units{of} are done, {} of them now",
        count(done.all),
        count(done.made)
    ));
    if done.early > 0 {
        exit::remark(&format!("{} of them did not complete", count(done.early)));
    }
    // That a setting runs out of memory is what a sweep finds out.
    let ending = if done.panicked > 0 { Ending::Panicked } else { Ending::Done };
    if shard.of() > 1 {
        return Ok(ending);
    }
    let merged = Merged::open(&plan, &store)?;
    // Another process may have taken a shard away meanwhile.
    if let Some(lacking) = lacking(&merged) {
        let help = "give the same command again";
        return Err(Failure::Check(mmsim::Error::plain(lacking).help(help).to_string()));
    }
    let (table, answers) = table_of(&merged, &shown)?;
    output::show(&table, None)?;
    Ok(ending.max(told(&plan, &answers)))
}

/// That units of the plan are missing, if any are.
fn lacking(merged: &Merged<'_>) -> Option<String> {
    let (missing, count) = (merged.missing(), |n: u64| grouped(n as f64));
    let (n, id) = missing.first.as_ref()?;
    let (units, all) = (count(missing.units), count(missing.units + merged.len()));
    Some(format!("{units} of {all} units are missing; the first is unit {n} ({id})"))
}

/// The settings of a sweep, what came of expectations, and what its runs give to remark. Reports are
/// in memory a few at a time.
fn settings_of(merged: &Merged<'_>) -> Result<(Vec<Setting>, Vec<ExpectReport>, Swept), Failure> {
    let (mut gatherer, mut asked) = (Gatherer::default(), merged.asked());
    let mut swept = Swept::default();
    for row in merged.rows() {
        let run = row?.run;
        asked.add(&run);
        swept.add(&run);
        gatherer.add(run);
    }
    Ok((gatherer.finish(), asked.finish(), swept))
}

fn table_of(merged: &Merged<'_>, shown: &Shown) -> Result<(String, Vec<ExpectReport>), Failure> {
    let (settings, answers, swept) = settings_of(merged)?;
    swept.remarks().iter().for_each(|remark| exit::remark(remark));
    Ok((table::of_store(merged.name(), merged.about(), &settings, shown), answers))
}

/// Tells what does not hold that scenarios expect, and what of it a plan cannot ask.
fn told(plan: &SweepPlan, answers: &[ExpectReport]) -> Ending {
    for (i, name) in plan.scenarios().iter().enumerate() {
        let (asked, left_out) = plan.expectations(i);
        if left_out > 0 {
            exit::remark(&format!(
                "{name}: {left_out} of {} expectations are of variants or values that the plan does \
                 not have, and not asked",
                asked.len() + left_out
            ));
        }
    }
    let missed = answers.iter().filter(|e| !e.holds);
    missed.map(|e| exit::remark(&outcome::missed(e, ""))).fold(Ending::Done, |_, ()| Ending::Missed)
}

fn status(args: &SweepStatusArgs) -> Result<Ending, Failure> {
    let plan = read(&args.place)?;
    let store = args.place.store();
    let stored = sweep::Stored::open(&store, Some(plan.name()))?;
    let of = stored.shards().iter().map(|s| s.1).max().unwrap_or(1);
    let mut shards = vec![[0_u64; 3]; of as usize];
    let (mut seen, mut lacking) = (BTreeSet::new(), Distinct::default());
    let each = sweep::for_each_unit(&plan, |unit| {
        let counts = &mut shards[unit.id.shard(of) as usize];
        match stored.completed(unit.id) {
            Some(completed) if seen.insert(unit.id) => {
                counts[0] += 1;
                counts[1] += 1;
                counts[2] += u64::from(!completed);
            }
            None if lacking.is_new(unit.id) => counts[0] += 1,
            _ => {}
        }
    });
    each?;
    let held = seen.len() as u64;
    let count = |n: u64| grouped(n as f64);
    let row = |name: String, [all, done, early]: [u64; 3]| {
        let share = if all == 0 { 100.0 } else { done as f64 * 100.0 / all as f64 };
        vec![
            name,
            count(all),
            count(done),
            format!("{share:.1} %"),
            count(all - done),
            count(early),
        ]
    };
    let total = shards.iter().fold([0; 3], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    let mut rows = Vec::new();
    if of > 1 {
        rows.extend((0..of).zip(&shards).map(|(i, s)| row(format!("{i} of {of}"), *s)));
    }
    rows.push(row("all".to_string(), total));
    let head = ["shard", "units", "done", "", "left", "not completed"];
    let mut text = format!("{}\n", table::grid(Some(&head), rows, 1).trim_end());
    if stored.len() > held {
        let more = count(stored.len() - held);
        text += &format!("\n{more} units of the store are not in the plan.\n");
    }
    output::show(&text, None)?;
    Ok(Ending::Done)
}

impl SweepMergeArgs {
    /// The form of the option, or of the ending of the file's name.
    pub(crate) fn form(&self) -> MergeFormat {
        use mmsim_terminal::output::form::{Content, content};
        let by_name = || {
            let path = self.output.as_deref()?;
            match content(path) {
                Some(Content::Json) => Some(MergeFormat::Json),
                Some(Content::Csv) => Some(MergeFormat::Wide),
                _ if path.extension().is_some_and(|e| e == "parquet") => Some(MergeFormat::Parquet),
                _ => None,
            }
        };
        self.format.or_else(by_name).unwrap_or(MergeFormat::Table)
    }
}

fn merge(args: &SweepMergeArgs) -> Result<Ending, Failure> {
    let form = args.form();
    if form == MergeFormat::Parquet {
        parquet_is_there(args.output.as_deref())?;
    }
    let plan = read(&args.place)?;
    let shown = self::shown(&args.shown);
    known_axes(&shown, &plan.axes(), plan.name())?;
    let inputs = [args.place.plan()];
    let outputs = [
        ("--output", args.output.as_deref()),
        ("--html", args.html.as_deref()),
        ("--svg", args.svg.as_deref()),
    ];
    output::distinct(&inputs, &outputs)?;
    outputs.iter().try_for_each(|(_, file)| output::check(*file))?;
    let merged = Merged::open(&plan, &args.place.store())?;
    if let Some(title) = lacking(&merged) {
        if !args.partial {
            let help = "give `mmsim sweep` again, or write --partial to take what there is";
            return Err(Failure::Check(mmsim::Error::plain(title).help(help).to_string()));
        }
        exit::remark(&title);
    }
    if merged.strange() > 0 {
        let n = grouped(merged.strange() as f64);
        exit::remark(&format!("{n} units of the store are not in the plan, and left out"));
    }
    let answers = match form {
        MergeFormat::Table => {
            let (table, answers) = table_of(&merged, &shown)?;
            output::show(&table, args.output.as_deref())?;
            answers
        }
        MergeFormat::Json => write(args.output.as_deref(), |o| sweep::write_json(&merged, o))?,
        MergeFormat::Tidy => csv(args, |o| sweep::write_tidy(&merged, o))?,
        MergeFormat::Wide => csv(args, |o| sweep::write_wide(&merged, o))?,
        MergeFormat::Parquet => parquet(args.output.as_deref(), &merged)?,
    };
    if args.html.is_some() || args.svg.is_some() {
        pictures(args, &merged, &shown)?;
    }
    Ok(told(&plan, &answers))
}

/// Writes CSV, safe for spreadsheets if the options say so.
fn csv(
    args: &SweepMergeArgs,
    document: impl FnOnce(&mut dyn Write) -> Result<Vec<ExpectReport>, WriteError>,
) -> Result<Vec<ExpectReport>, Failure> {
    write(args.output.as_deref(), |out| {
        if !args.csv_safe {
            return document(out);
        }
        let mut out = Spreadsheet::new(out);
        let answers = document(&mut out)?;
        out.flush()?;
        Ok(answers)
    })
}

/// Writes a document that is made while it is written.
fn write(
    path: Option<&Path>,
    document: impl FnOnce(&mut (dyn Write + Send)) -> Result<Vec<ExpectReport>, WriteError>,
) -> Result<Vec<ExpectReport>, Failure> {
    let path = path.unwrap_or(Path::new("-"));
    let mut out = AtomicFile::create(path)?;
    let answers = document(&mut out).map_err(|e| match e {
        WriteError::Store(e) => e.into(),
        WriteError::Output(e) => Failure::file("write", path, &e),
    })?;
    out.commit()?;
    Ok(answers)
}

#[cfg(feature = "parquet")]
fn parquet_is_there(path: Option<&Path>) -> Result<(), Failure> {
    match path {
        Some(_) => Ok(()),
        None => Err(Failure::said("--format parquet: write it to a file, with -o FILE")),
    }
}

#[cfg(not(feature = "parquet"))]
fn parquet_is_there(_: Option<&Path>) -> Result<(), Failure> {
    let title = "--format parquet: this mmsim was built without it";
    let help = "build it with `--features parquet`, or write --format wide";
    Err(Failure::Input(mmsim::Error::of_option(title).help(help)))
}

#[cfg(feature = "parquet")]
fn parquet(path: Option<&Path>, merged: &Merged<'_>) -> Result<Vec<ExpectReport>, Failure> {
    write(path, |out| sweep::write_parquet(merged, out))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: Option<&Path>, _: &Merged<'_>) -> Result<Vec<ExpectReport>, Failure> {
    parquet_is_there(None).map(|()| Vec::new())
}

/// Settings of a page: a browser holds that many with ease.
const TOP_OF_PAGE: usize = 400;

/// A page and a drawing of the best settings.
fn pictures(args: &SweepMergeArgs, merged: &Merged<'_>, shown: &Shown) -> Result<(), Failure> {
    let (all, ..) = settings_of(merged)?;
    let by = shown.by.unwrap_or_else(|| settings::main_of(&all));
    let top = shown.top.unwrap_or(TOP_OF_PAGE);
    // Settings that are shown, whole: in the order of the plan, all variants of each.
    let point = |s: &Setting| format!("{:?}{:?}", s.scenario, s.axes);
    let mut best = BTreeSet::new();
    for &i in &settings::best_first(&all, by) {
        if best.len() < top {
            best.insert(point(&all[i]));
        }
    }
    let points: BTreeSet<String> = all.iter().map(point).collect();
    let mut runs = Vec::new();
    for row in merged.rows() {
        let run = row?.run;
        if best.contains(&format!("{:?}{:?}", run.scenario, run.axes)) {
            runs.push(run);
        }
    }
    let report = Report::new(merged.name(), merged.about(), runs);
    if let Some(path) = &args.html {
        let source = Source { name: "", report: &report, observed: &[] };
        output::deliver(page::html(&[source], shown.by).as_bytes(), Some(path))?;
    }
    if let Some(path) = &args.svg {
        output::deliver(chart::svg(&report, by).as_bytes(), Some(path))?;
    }
    if points.len() > best.len() {
        let what = if args.html.is_some() { "page" } else { "picture" };
        let (all, best) = (points.len(), best.len());
        exit::remark(&format!(
            "the {what} has the best {best} of {all} settings; --top N takes more"
        ));
    }
    Ok(())
}

fn plan(args: &SweepPlanArgs) -> Result<Ending, Failure> {
    let plan = read(&args.place)?;
    let numbers = sweep::tried(&plan);
    let progress = Progress::new("units", numbers.len());
    let mut trials = Vec::new();
    for n in numbers {
        let (before, peak) = (cpu_seconds().unwrap_or(0.0), Peak::begin());
        let mut trial = sweep::trial(&plan, n, &options(Some(1), false))?;
        // A scenario does not tell all of it: not what a trace touches, nor what the program needs.
        trial.memory = trial.memory.max(peak.and_then(|p| p.grown()).unwrap_or(0));
        let took = cpu_seconds().unwrap_or(0.0) - before;
        progress.finished(&trial.label);
        trials.push((trial, took));
    }
    drop(progress);
    let here = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let mut estimate = sweep::estimate(&plan, &trials, args.cpus.unwrap_or_else(here));
    if let Some(shards) = args.shards {
        estimate.shards = shards;
    }
    output::show(&jobs::text(&plan, &args.place, &trials, &estimate), None)?;
    Ok(Ending::Done)
}
