//! `mmsim run`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mmsim::attend::ProgressFn;
use mmsim::base::time::SimDuration;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::result::RunResult;
use mmsim::machines::{Machine, overlooked};
use mmsim::report::numbers::grouped;
use mmsim::report::{Report, RunReport};
use mmsim::scenario::RunSpec;
use mmsim::{Runner, Watcher};
use mmsim_view::keep::Kept;
use mmsim_view::page::{self, Observed, Source};
use mmsim_view::{chart, figure, folded, time_line};

use crate::args::{Format, RunArgs};
use crate::miniature;
use crate::observe::{Observing, Results};
use crate::outcome::{self, assemble};
use crate::plan::{self, Overrides, Plan};
use crate::runner::{Heard, options, store};
use crate::table;
use crate::timing::Stopwatch;
use crate::why;
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;
use mmsim_terminal::progress::span;

/// Runs the scenarios and prints one document about all of them.
pub(crate) fn run(args: &RunArgs) -> Result<Ending, Failure> {
    dependent(args)?;
    let scenarios: Vec<&Path> = args.scenarios.iter().map(PathBuf::as_path).collect();
    output::distinct(
        &scenarios,
        &[
            stdout_or_file(args),
            ("--events", args.events.as_deref()),
            ("--series", args.series.as_deref()),
            ("--html", args.html.as_deref()),
            ("--svg", args.svg.as_deref()),
            ("--folded", args.folded.as_deref()),
            ("--perfetto", args.perfetto.as_deref()),
            ("--emit-dir", args.emit_dir.as_deref()),
            ("--damon-record", args.damon_record.as_deref()),
            ("--timing", args.timing.as_deref()),
        ],
    )?;
    if args.dry_run && scenarios.len() > 1 {
        let why = "--dry-run: what it prints is one scenario file, write one SCENARIO";
        return Err(Failure::said(why));
    }
    let overrides = Overrides {
        sets: &args.sets,
        seed: args.seed,
        seeds: args.seeds,
        variants: &args.variants,
        at: &args.at,
        policies: &args.policies,
    };
    // All files are read before the first run: a mistake in the last one costs no time.
    let mut plans: Vec<Plan> = args
        .scenarios
        .iter()
        .map(|path| Plan::read(path, &overrides))
        .collect::<Result<_, mmsim::Error>>()?;
    plans.iter_mut().flat_map(|plan| &mut plan.specs).for_each(|spec| spec.why = args.why);
    differently_named(&scenarios, &plans)?;
    if let Some(share) = args.miniature {
        return miniature::run(args, share, &plans);
    }
    let variants = plans.iter().flat_map(|p| &p.specs).map(|s| s.variant.as_str());
    args.table.check(args.output.form(), variants)?;
    plan::fit(&plans, args.jobs)?;
    if args.dry_run {
        exit::remark(&estimate(&plans, args.jobs));
        let resolved: String = plans.iter().map(|plan| plan.scenario.resolved()).collect();
        output::deliver(resolved.as_bytes(), args.output.output.as_deref())?;
        return Ok(Ending::Done);
    }

    if let Some(filter) = &args.events_filter {
        for name in &filter.tasks {
            if !plans.iter().flat_map(|p| &p.specs).any(|s| may_have(s, name)) {
                return Err(unknown_task(name, &plans));
            }
        }
    }
    output::check(args.output.output.as_deref())?;
    for file in [&args.timing, &args.html, &args.svg, &args.folded, &args.perfetto] {
        output::check(file.as_deref())?;
    }
    let stopwatch = Stopwatch::start();
    let (results, kept, made) = match &args.store {
        Some(folder) => (Vec::new(), Kept::default(), stored(args, &plans, folder)?),
        None => {
            let (results, kept) = execute(args, &plans)?;
            let made = outcome::reports(&results);
            (results, kept, made)
        }
    };
    let mut observed = kept.observed;
    if args.why && args.html.is_some() {
        lives(args, &plans, &results, &mut observed)?;
    }
    let (report, ending) = assemble(&plans, made);
    let shown = args.table.on(table::Shown { by: args.by, ..table::Shown::default() });
    let for_people = || {
        let text = table::of_report(&report, &shown);
        let sparks = args.on_terminal() && args.store.is_none();
        let sparks = sparks.then(|| table::sparks(&report, &observed));
        text + &sparks.unwrap_or_default() + &reasons(args, &report)
    };
    args.output.emit(for_people, || report.to_json(), || report.to_csv())?;
    if let Some(path) = &args.html {
        let source = Source { name: "", report: &report, observed: &observed };
        output::deliver(page::html(&[source], args.by).as_bytes(), Some(path))?;
    }
    if let Some(path) = &args.perfetto {
        output::deliver(&kept.trace, Some(path))?;
    }
    if let Some(path) = &args.folded {
        output::show(&stacks(&plans, &results), Some(path))?;
    }
    if let Some(path) = &args.svg {
        output::deliver(picture(args, &report, &observed).as_bytes(), Some(path))?;
    }

    let frames = results.iter().flatten().filter_map(|(_, result)| bytes_per_frame(result));
    let cost = stopwatch.cost(
        report.runs.len(),
        report.runs.iter().map(|run| run.accesses).sum(),
        frames.max_by(f64::total_cmp),
    );
    if args.verbose {
        // The cost on the host is a remark, which may have no reader.
        let _ = writeln!(io::stderr(), "mmsim: {}", cost.line());
    }
    let lines = outcome::remarks(&plans, &report);
    // Programs read documents; the rest is for who reads the table.
    let mut for_people = Vec::new();
    if args.output.form() == Format::Table {
        for_people = report.remarks();
        for_people.extend(protected_in_vain(&plans, &report));
        for_people.dedup();
    }
    for line in lines.chain(report.notes.iter().cloned()).chain(for_people) {
        exit::remark(&line);
    }
    if let Some(path) = &args.timing {
        output::deliver(cost.json().as_bytes(), Some(path))?;
    }
    Ok(ending)
}

/// Remarks on groups of runs that reclaimed from the whole machine, and not for limits alone.
fn protected_in_vain(plans: &[Plan], report: &Report) -> impl Iterator<Item = String> {
    let global = |run: &RunReport| {
        run.vmstat.any(&[VmEvent::PageOutRun]) || run.vmstat.any(VmEvent::ALLOC_STALLS)
    };
    let specs = plans.iter().flat_map(|plan| &plan.specs).zip(&report.runs);
    specs.filter(move |(_, run)| global(run)).filter_map(|(s, _)| overlooked(&s.machine.memcgs))
}

/// Accesses per second of CPU: of work that always waits for a device, and of work that hits.
const SPEEDS: [f64; 2] = [2e6, 1e8];

/// The time that this number of accesses takes, in words.
pub(crate) fn time_of(accesses: Option<u64>) -> String {
    match accesses {
        Some(n) => {
            let [most, least] = SPEEDS.map(|speed| span(n as f64 / speed));
            format!("{} accesses, {least} to {most} of one CPU", grouped(n as f64))
        }
        None => "time not known before, their work ends by the clock or by a file".to_string(),
    }
}

/// Estimate of the needs of runs, in one line. Nothing was run, so time is a wide span.
fn estimate(plans: &[Plan], jobs: Option<usize>) -> String {
    let specs: Vec<RunSpec> = plans.iter().flat_map(|plan| plan.specs.clone()).collect();
    let e = mmsim::host::estimate(&specs, jobs);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64);
    let time = time_of(e.accesses);
    let runs = if specs.len() == 1 { "1 run" } else { &format!("{} runs", specs.len()) };
    format!("{runs}: {time}; {} of memory; a report of {}", mib(e.memory), mib(e.report))
}

/// The picture of a report: for a single run its course, unless the options name a figure.
fn picture(args: &RunArgs, report: &Report, observed: &[Observed]) -> String {
    if let ([run], [Observed { series: Some(series), .. }], None) =
        (report.runs.as_slice(), observed, args.by)
    {
        return time_line::svg(&report.scenario, run, series);
    }
    chart::svg(report, args.by.unwrap_or_else(|| figure::main_of(report)))
}

/// Adds the lives of pages to what was kept of the first seed of each point.
fn lives(
    args: &RunArgs,
    plans: &[Plan],
    results: &[Results],
    observed: &mut [Observed],
) -> Result<(), Failure> {
    let mut before = 0;
    for (plan, results) in plans.iter().zip(results) {
        let mut seen = Vec::new();
        let all = results.iter().enumerate().map(|(i, (meta, _))| (i, meta));
        let first = all.filter(|(_, m)| is_new(&mut seen, (m.variant.as_str(), &m.axes)));
        let first: Vec<_> = first.filter(|(_, m)| m.verdicts.is_some()).collect();
        for (i, lives) in why::lives(plan, &first, args.jobs)? {
            observed[before + i].lives = lives;
        }
        before += results.len();
    }
    Ok(())
}

/// Why pages came back as folded stacks: below each run's scenario, if there are several, its variant,
/// its place on the axes, and its seed.
fn stacks(plans: &[Plan], results: &[Results]) -> String {
    let all = plans.iter().zip(results).flat_map(|(plan, results)| {
        results.iter().map(move |(meta, _)| (plan.name.as_str(), meta))
    });
    folded::folded(all.filter_map(|(name, meta)| {
        let scenario = (plans.len() > 1).then(|| name.to_string());
        let axes = meta.axes.iter().map(|(key, value)| format!("{key} = {value}"));
        let seed = format!("seed {}", meta.seed);
        let below = scenario.into_iter().chain([meta.variant.clone()]).chain(axes).chain([seed]);
        Some((below.collect(), meta.verdicts.as_ref()?))
    }))
}

/// Adds an item, and returns true if it is new.
fn is_new<T: PartialEq>(seen: &mut Vec<T>, one: T) -> bool {
    let new = !seen.contains(&one);
    if new {
        seen.push(one);
    }
    new
}

/// Why pages came back, in the first seed of each point.
fn reasons(args: &RunArgs, report: &Report) -> String {
    let mut seen = Vec::new();
    let runs = report.runs.iter().filter(|_| args.why);
    let first = runs.filter(|run| is_new(&mut seen, (run.variant.as_str(), &run.axes)));
    let table = |run: &RunReport| {
        let same = |r: &&RunReport| (&r.variant, &r.axes) == (&run.variant, &run.axes);
        format!("\n{}", crate::why::of_first(run, report.runs.iter().filter(same).count()))
    };
    first.map(table).collect()
}

/// Options that say something of another one are not given alone.
fn dependent(args: &RunArgs) -> Result<(), Failure> {
    let (events, html) = (args.events.is_some(), args.html.is_some());
    let sampled = args.series.is_some() || html || args.perfetto.is_some() || args.svg.is_some();
    let (kinds, dir) = (!args.emit.is_empty(), args.emit_dir.is_some());
    for (option, given, of, there) in [
        ("--events-filter", args.events_filter.is_some(), "--events FILE", events),
        ("--events-limit", args.events_limit.is_some(), "--events FILE", events),
        ("--every", args.every.is_some(), "--series FILE", sampled),
        ("--html-pages", args.html_pages, "--html FILE", html),
        ("--html-blocks", args.html_blocks, "--html FILE", html),
        ("--folded", args.folded.is_some(), "--why", args.why),
        ("--samples", args.samples.is_some(), "--miniature SHARE", args.miniature.is_some()),
        ("--emit", kinds, "--emit-dir DIR", dir),
        ("--emit-dir", dir, "--emit KIND", kinds),
    ] {
        if given && !there {
            let title =
                format!("{option}: found without {of}, write {of} too, or leave {option} out");
            return Err(Failure::Input(mmsim::Error::of_option(title)));
        }
    }
    Ok(())
}

/// Where the report goes, as an option and its file.
fn stdout_or_file(args: &RunArgs) -> (&'static str, Option<&Path>) {
    match &args.output.output {
        Some(path) => ("--output", Some(path)),
        None => (output::REPORT, Some(Path::new("-"))),
    }
}

/// Hears of the runs of one of several plans.
struct Attended<'a> {
    heard: &'a Heard,
    files: &'a Observing,
    /// The place of the plan's first run among all.
    first: usize,
}

impl Watcher for Attended<'_> {
    fn progress(&self, nth: usize, spec: &RunSpec) -> Option<ProgressFn> {
        self.heard.progress(self.first + nth, spec)
    }

    fn finished(&self, nth: usize, label: &str) {
        self.files.finished(self.first + nth).unwrap_or_else(|failure| exit::now(failure));
        self.heard.finished(self.first + nth, label);
    }
}

fn execute(args: &RunArgs, plans: &[Plan]) -> Result<(Vec<Results>, Kept), Failure> {
    let nr_runs = plans.iter().map(|plan| plan.runs.len()).sum();
    let heard = Heard::later("runs");
    let files = Observing::create(args, plans, nr_runs, heard.begin(nr_runs))?;
    // A series is read by programs, and has no end; what a page keeps is thinned.
    let usual = if args.series.is_some() { 100 } else { 10 };
    let every = args.every.unwrap_or(SimDuration::from_millis(usual));
    let mut results = Vec::new();
    let mut first = 0;
    for plan in plans {
        let attended = Attended { heard: &heard, files: &files, first };
        let watch =
            |nth: usize, machine: &Machine| files.watch(first + nth, (plan, nth), machine, every);
        let runner = Runner::watched(&options(args.jobs, args.check), &attended);
        results.push(runner.results(&plan.specs, &[], watch)?);
        first += plan.runs.len();
    }
    drop(heard);
    if let Some(name) = files.unmatched() {
        return Err(unknown_task(&name, plans));
    }
    let kept = files.commit(plans, &results)?;
    Ok((results, kept))
}

/// Reports of all runs, which a folder keeps as they come; those that it has are not made again.
fn stored(args: &RunArgs, plans: &[Plan], folder: &Path) -> Result<Vec<Vec<RunReport>>, Failure> {
    let heard = Heard::of("runs", plans.iter().map(|plan| plan.runs.len()).sum());
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let runner = Runner::watched(&options(args.jobs, args.check), &heard);
    let runner = runner.with_store(store("run", &names.join(", "), Some(folder))?);
    plans.iter().map(|plan| Ok(runner.run(plan.specs.clone())?)).collect()
}

/// True if a run has a task of this name, or may have: processes are `task-0` and so on, threads of
/// one `task/0`. How many there are a trace says, which is not open yet.
fn may_have(run: &RunSpec, name: &str) -> bool {
    let numbered = |rest: &str| {
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        match (rest.strip_prefix('-'), rest.strip_prefix('/')) {
            (Some(rest), _) => match rest.split_once('/') {
                Some((process, thread)) => digits(process) && digits(thread),
                None => digits(rest),
            },
            (_, Some(thread)) => digits(thread),
            _ => rest.is_empty(),
        }
    };
    run.tasks.iter().any(|t| name.strip_prefix(t.name.as_str()).is_some_and(numbered))
}

/// A filter names a task that there is not.
fn unknown_task(name: &str, plans: &[Plan]) -> Failure {
    let tasks = plans.iter().flat_map(|p| &p.specs).flat_map(|s| &s.tasks);
    let tasks: BTreeSet<&str> = tasks.map(|t| t.name.as_str()).collect();
    let tasks: Vec<&str> = tasks.into_iter().collect();
    Failure::said(format!(
        "--events-filter: no run has a task or thread `{name}`; the tasks are {} (one process \
         of several is TASK-0, one thread TASK/0)",
        tasks.join(", ")
    ))
}

/// Scenarios of one name would be one scenario in the report, and their runs means over seeds.
fn differently_named(files: &[&Path], plans: &[Plan]) -> Result<(), Failure> {
    for (i, plan) in plans.iter().enumerate() {
        let Some(first) = plans[..i].iter().position(|p| p.name == plan.name) else { continue };
        return Err(Failure::said(format!(
            "{} and {} are both called `{}`, and a report could not tell their runs apart: write \
             another `name` in one of them",
            files[first].display(),
            files[i].display(),
            plan.name
        )));
    }
    Ok(())
}

fn bytes_per_frame(result: &RunResult) -> Option<f64> {
    let frames: u64 = result.zones.iter().map(|(_, [managed, ..])| managed).sum();
    (frames > 0 && result.host_bytes > 0).then(|| result.host_bytes as f64 / frames as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn frames_cost_bytes() {
        assert_eq!(bytes_per_frame(&samples::result(0, 1)), Some(24.0));
    }
}
