//! The only door to the facade. Everything else in this crate deals with arguments, files
//! and tables and can be tested without a machine.

use std::io::Write;
use std::path::Path;

use mmsim::ablate::{Ablation, Depth, Trial, Wanted};
use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmStat;
use mmsim::bench::{BenchSettings, BenchTrace, Frames};
use mmsim::machine::result::RunResult;
use mmsim::machine::{LookFn, SampleFn, SnapshotFn, Watch};
use mmsim::machines::{Catalogue, Machine};
use mmsim::memory::trace::Observer;
use mmsim::miniature::{Estimated, Miniature, Share};
use mmsim::record::heatmap::{Frame, Heatmap};
use mmsim::record::summary::Summary;
use mmsim::record::{self, Record};
use mmsim::report::compare::{self, Comparison, Side};
use mmsim::report::derived::Figure;
use mmsim::report::expect::Expectation;
use mmsim::report::{Report, RunMeta, RunReport};
use mmsim::run::CHECK_EVERY;
use mmsim::selection::Selection;
pub(crate) use mmsim::selection::variants_of;
use mmsim::sweep::Merged;
use mmsim::{Error, RunOptions, RunSpec, Scenario};
use mmsim_view::series::Series;

use crate::args::TraceImportArgs;
use mmsim_terminal::exit::Failure;

mod lists;
mod system;
mod why;

#[cfg(test)]
pub(crate) use lists::Before;
pub(crate) use lists::{
    Entry, costs, counters, devices, events, formats, kernels, keys, knobs, presets, steps,
    workloads, zoneinfo,
};
pub(crate) use system::import_system;
pub(crate) use why::{why, why_difference, why_life, why_lives};

/// Changes of a scenario by the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides<'a> {
    /// `key=value` of each `--set`, in order.
    pub sets: &'a [(String, String)],
    /// The first seed instead of the scenario's.
    pub seed: Option<u64>,
    /// Number of seeds; they follow one another.
    pub seeds: Option<u32>,
    /// Only these variants; empty: all. A name that there is not is an error.
    pub variants: &'a [String],
    /// Only the settings where these axes have these values.
    pub at: &'a [(String, String)],
}

/// One run that will be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlannedRun {
    /// For progress: variant, axes and seed in a few words.
    pub label: String,
    /// True if the scenario expects this run to end out of memory.
    pub expect_oom: bool,
}

/// A scenario that was read, overridden and expanded.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// Description of the scenario.
    pub about: String,
    /// The scenario; [`Scenario::resolved`] is what `--dry-run` prints.
    pub scenario: Scenario,
    /// Expectations of its runs.
    pub expect: Vec<Expectation>,
    /// True if `--set` made it another scenario than the file's, whose expectations need not hold.
    pub changed: bool,
    /// Its runs: axes, then variants, then seeds.
    pub runs: Vec<PlannedRun>,
    /// The same runs, resolved.
    pub specs: Vec<RunSpec>,
}

/// Reads a scenario file. A message about its contents names file, line and column.
pub(crate) fn plan(path: &Path, overrides: &Overrides<'_>) -> Result<Plan, Failure> {
    let mut sets = overrides.sets.to_vec();
    sets.extend(overrides.seed.map(|s| ("seed".to_string(), s.to_string())));
    sets.extend(overrides.seeds.map(|s| ("seeds".to_string(), s.to_string())));
    let scenario = Scenario::load(path, &sets).map_err(input)?;
    let mut specs = mmsim::machines::specs(&scenario).map_err(input)?;
    let selection = Selection::new(overrides.variants, overrides.at);
    specs = selection.of(specs, &path.display().to_string()).map_err(input)?;
    Ok(Plan {
        name: scenario.name().to_string(),
        about: scenario.about().to_string(),
        expect: scenario.expect().to_vec(),
        changed: !overrides.sets.is_empty(),
        runs: specs
            .iter()
            .map(|s| PlannedRun { label: s.label(), expect_oom: s.expect_oom })
            .collect(),
        specs,
        scenario,
    })
}

pub(crate) fn input(e: Error) -> Failure {
    Failure::Input(e)
}

/// Refuses runs that the host cannot hold.
pub(crate) fn fit(plans: &[Plan], jobs: Option<usize>) -> Result<(), Failure> {
    // One scenario after the other.
    plans.iter().try_for_each(|plan| mmsim::host::check(&plan.specs, jobs)).map_err(input)
}

/// Gets counters and gauges in equal intervals of simulated time, the start and the end
/// included.
pub(crate) trait Sampler: Send {
    /// One sample.
    fn sample(&mut self, now: SimTime, vmstat: &VmStat, gauges: &[(&'static str, u64)]);
}

/// Makes the observer of the run with this place in the plan, on this machine.
pub(crate) type MakeObserver<'a> = &'a (dyn Fn(usize, &Machine) -> Box<dyn Observer> + Sync);
/// Makes the sampler of the run with this place in the plan, on this machine.
pub(crate) type MakeSampler<'a> = &'a (dyn Fn(usize, &Machine) -> Box<dyn Sampler> + Sync);
/// Makes what looks at memory with each sample of the run with this place in the plan.
pub(crate) type MakeLook<'a> = &'a (dyn Fn(usize) -> Option<LookFn> + Sync);
/// Makes what the run with this place in the plan shows its files to.
pub(crate) type MakeSnapshot<'a> = &'a (dyn Fn(usize) -> SnapshotFn + Sync);

/// Makes the function that counts the accesses of run `i` of the plan.
pub(crate) type MakeProgress<'a> = &'a (dyn Fn(usize) -> Option<Box<dyn FnMut(u64) + Send>> + Sync);

/// Options of runs.
#[derive(Clone, Copy)]
pub(crate) struct Execution<'a> {
    /// Runs at the same time; `None`: one per CPU.
    pub jobs: Option<usize>,
    /// Audit invariants. One that does not hold is a panic of its run.
    pub check: bool,
    /// Who watches.
    pub observer: Option<MakeObserver<'a>>,
    /// Who samples, and how often.
    pub sampler: Option<(SimDuration, MakeSampler<'a>)>,
    /// Who looks at memory with each sample.
    pub look: Option<MakeLook<'a>>,
    /// Who sees the kernel's files.
    pub snapshot: Option<MakeSnapshot<'a>>,
    /// Told how many accesses the run with this place in the plan has done, if anybody asks.
    pub progress: Option<MakeProgress<'a>>,
    /// Called from any thread when the run with this place in the plan has ended.
    pub finished: &'a (dyn Fn(usize) + Sync),
}

/// Makes all runs of a plan and returns them in the order of the plan.
pub(crate) fn execute(
    plan: &Plan,
    how: &Execution<'_>,
) -> Result<Vec<(RunMeta, RunResult)>, Failure> {
    let watch = |i: usize, machine: &Machine| {
        let mut watch = Watch::default();
        watch.check_every = if how.check { CHECK_EVERY } else { 0 };
        watch.observer = how.observer.map(|make| make(i, machine));
        watch.sample = how.sampler.map(|(every, make)| {
            let mut sampler = make(i, machine);
            let sample: SampleFn = Box::new(move |now, vmstat, gauges| {
                sampler.sample(now, vmstat, gauges);
            });
            (every, sample)
        });
        watch.look = how.look.and_then(|make| make(i));
        watch.snapshot = how.snapshot.map(|make| make(i));
        watch.progress = how.progress.and_then(|make| make(i));
        watch
    };
    mmsim::run::run_each(&plan.specs, how.jobs, watch, how.finished).map_err(Failure::from)
}

/// The samples that stand for the runs of plans, in their order.
pub(crate) fn miniatures(
    plans: &[Plan],
    share: Share,
    samples: u32,
) -> Result<Vec<Miniature>, Failure> {
    let specs = plans.iter().flat_map(|plan| &plan.specs);
    specs.map(|spec| Miniature::new(spec, share, samples)).collect::<Result<_, _>>().map_err(input)
}

/// Makes samples; `finished` is called from any thread when one has ended.
pub(crate) fn estimate(
    miniatures: Vec<Miniature>,
    options: &RunOptions,
    finished: &(dyn Fn() + Sync),
) -> Result<Vec<Estimated>, Failure> {
    mmsim::miniature::run(miniatures, options, finished).map_err(Failure::from)
}

/// A document of this version of mmsim, with these under a name.
pub(crate) fn document(name: &str, all: &impl serde::Serialize) -> serde_json::Value {
    let (mmsim, schema) = (env!("CARGO_PKG_VERSION"), mmsim::report::SCHEMA);
    serde_json::json!({ "mmsim": mmsim, "schema": schema, name: all })
}

/// Switches to try on the runs of one setting.
pub(crate) fn trial(
    seeds: Vec<RunSpec>,
    from: Option<&str>,
    wanted: Wanted<'_>,
    depth: Depth,
) -> Result<Trial, Failure> {
    Trial::new(seeds, from, wanted, depth).map_err(input)
}

/// Makes the runs of a trial and takes them apart.
pub(crate) fn ablation(
    trial: &Trial,
    figure: Figure,
    jobs: Option<usize>,
    finished: &(dyn Fn(usize) + Sync),
) -> Result<Ablation, Failure> {
    mmsim::host::check(&trial.runs(), jobs).map_err(input)?;
    trial.run(figure, jobs, finished).map_err(Failure::from)
}

/// Reads a trace for a benchmark and resolves its runs.
pub(crate) fn bench_plans(
    settings: &BenchSettings<'_>,
    cells: &[(Frames, &str)],
) -> Result<(Vec<RunSpec>, BenchTrace), Failure> {
    mmsim::bench::plans(settings, cells).map_err(input)
}

/// Makes the runs of a benchmark.
pub(crate) fn bench_runs(
    specs: &[RunSpec],
    jobs: Option<usize>,
) -> Result<Vec<RunReport>, Failure> {
    mmsim::host::check(specs, jobs).map_err(input)?;
    let results = mmsim::run::run_all(specs, jobs, |_, _| Watch::default());
    let results = results.map_err(Failure::from)?;
    Ok(results.iter().map(|(meta, result)| RunReport::from_result(meta.clone(), result)).collect())
}

/// The JSON Schema of scenario files.
pub(crate) fn report_schema() -> String {
    format!("{:#}\n", mmsim::report::json_schema())
}

pub(crate) fn tuning_schema() -> String {
    format!("{:#}\n", mmsim::tune::json_schema())
}

pub(crate) fn schema() -> String {
    format!("{:#}\n", mmsim::scenario::json_schema(&Catalogue))
}

/// Reads a record of DAMON.
pub(crate) fn records(path: &Path) -> Result<Vec<Record>, Failure> {
    record::load(path).map_err(input)
}

/// Arguments of damo as tables of a scenario.
pub(crate) fn damon_args(path: &Path, tasks: &[String]) -> Result<String, Failure> {
    record::arguments(path, tasks).map_err(input)
}

/// Sums a record up, with the snapshot of a number.
pub(crate) fn record_summary(record: &Record, number: Option<usize>) -> Result<Summary, Failure> {
    record::summary::summary(record, number).map_err(input)
}

/// Draws a record.
pub(crate) fn record_heatmap(record: &Record, frame: &Frame) -> Result<Heatmap, Failure> {
    record::heatmap::draw(record, frame).map_err(input)
}

/// The text of a file that should be a report.
fn report_text(path: &Path) -> Result<String, Failure> {
    mmsim::sweep::refuse_store(path, "a report").map_err(input)?;
    mmsim::files::read_text(path, "a report").map_err(input)
}

/// Reads a report, with its name in messages.
pub(crate) fn read_report(path: &Path) -> Result<(String, Report), Failure> {
    let name = path.display().to_string();
    let text = report_text(path)?;
    let report = Report::read(&text, &name).map_err(input)?;
    Ok((name, report))
}

/// Opens the store of a sweep without its plan.
pub(crate) fn saved(path: &Path) -> Result<Merged<'static>, Failure> {
    mmsim::sweep::saved(path).map_err(input)
}

/// Reads the series of a report with `nr_runs` runs.
pub(crate) fn read_series(path: &Path, nr_runs: usize) -> Result<Vec<Series>, Failure> {
    let text = mmsim::files::read_text(path, "a series").map_err(input)?;
    mmsim_view::series::read(&text, &path.display().to_string(), nr_runs).map_err(input)
}

/// Compares two reports.
pub(crate) fn compare(
    a: &Path,
    b: &Path,
    phase: Option<&str>,
    per_work: bool,
) -> Result<Comparison, Failure> {
    let ((name_a, a), (name_b, b)) = (read_report(a)?, read_report(b)?);
    let mut options = compare::Options::default();
    (options.phase, options.per_work) = (phase, per_work);
    compare::compare(Side::new(&name_a, &a), Side::new(&name_b, &b), options).map_err(input)
}

/// Converts a trace. Writes nothing to `out` that is not part of the result, and says what
/// it read in pairs of name and value.
pub(crate) fn trace_import(
    args: &TraceImportArgs,
    input_file: &Path,
    out: &mut dyn Write,
) -> Result<Vec<(String, String)>, Failure> {
    let stem = match args.input == Path::new("-") {
        true => Some("stdin".into()),
        false => args.input.file_stem().map(|stem| stem.to_string_lossy()),
    };
    let mut settings = mmsim::traces::ImportSettings::default();
    // As the user named the file, which may be a copy.
    settings.name = args.name.as_deref().or(stem.as_deref());
    settings.maps = args.maps.as_deref();
    settings.window = args.window;
    settings.refresh = args.refresh;
    settings.fetches = args.no_fetches.then_some(false);
    settings.dense = args.dense;
    settings.columns = args.columns.as_deref();
    settings.page_size = args.page_size;
    settings.time_unit = args.time_unit.as_deref();
    settings.kind = args.pages_are.as_deref();
    settings.like = args.like.as_deref();
    settings.delimiter = args.delimiter.as_deref();
    settings.ops = args.ops.as_deref();
    settings.sort = args.sort;
    settings.fill = args.fill;
    settings.touched_only = args.touched_only;
    settings.level = args.level;
    // A shape is one of values in columns.
    let from = args.from.as_deref().unwrap_or("csv");
    mmsim::traces::import(from, input_file, &settings, out).map_err(input)
}

/// Contents of a trace: a text for people, and pairs of name and value.
pub(crate) fn trace_info(file: &Path) -> Result<(String, Vec<(String, String)>), Failure> {
    mmsim::traces::info(file).map_err(input)
}

/// The first records of a trace, one line each.
pub(crate) fn trace_head(file: &Path, count: u64) -> Result<Vec<String>, Failure> {
    mmsim::traces::head(file, count).map_err(input)
}
