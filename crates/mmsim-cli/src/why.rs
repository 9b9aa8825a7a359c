//! `mmsim why`.

use std::path::Path;

use mmsim::base::id::PageIdx;
use mmsim::nearest::listed;
use mmsim::report::numbers::grouped;
use mmsim::report::{
    ClassReport, Report, Rows, RunMeta, RunReport, ShareReport, TroubleClass, TroubleReport,
    WhyReport,
};
use mmsim::scenario::RunSpec;
use mmsim::selection::variants_of;
use mmsim::why::difference::{self, Difference, Side};
use mmsim::why::life::{self, Life, Moment};
use mmsim::why::{Class, Counted};
use mmsim::{Error, RunError, Runner};

use crate::args::{Format, WhyArgs};
use crate::document::document;
use crate::outcome::early_ends;
use crate::plan::{self, Overrides, Plan};
use crate::runner::options;
use crate::table;
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;

/// Prints why pages came back.
pub(crate) fn why(args: &WhyArgs) -> Result<Ending, Failure> {
    let mut inputs = vec![args.scenario.as_path()];
    inputs.extend(args.other.as_deref());
    args.output.ready(&inputs)?;
    if args.output.form() == Format::Csv
        && (args.page.is_some() || args.other.is_some() || two(args))
    {
        let title = "--format: `csv` has classes of runs only, write `json` or `table`";
        return Err(Failure::Input(Error::of_option(title)));
    }
    if two(args) && args.variants.len() != 2 {
        let title = format!(
            "--variants: found {} variants, write two, as in `--variants v5.8,v5.9`",
            args.variants.len()
        );
        return Err(Failure::Input(Error::of_option(title)));
    }
    if let Some(other) = &args.other {
        if [&args.scenario, other].iter().all(|path| path.as_os_str() == "-") {
            let title = "stdin is read once, and both scenarios are `-`";
            let help = "write a file for one of them";
            return Err(Failure::Input(Error::plain(title).help(help)));
        }
        let [a, b] = [0, 1].map(|nth| match args.variants.get(nth) {
            Some(name) => std::slice::from_ref(name),
            None => args.variant.as_slice(),
        });
        let (a, b) = (plan(args, &args.scenario, a)?, plan(args, other, b)?);
        output::show(&differences(args, &a.specs, &b.specs)?, args.output.output.as_deref())?;
        return Ok(Ending::Done);
    }
    let variants: Vec<String> = args.variant.iter().chain(&args.variants).cloned().collect();
    let plan = plan(args, &args.scenario, &variants)?;
    let text = match &args.page {
        _ if two(args) => {
            let of = |name: &String| -> Vec<RunSpec> {
                plan.specs.iter().filter(|s| s.variant == *name).cloned().collect()
            };
            differences(args, &of(&args.variants[0]), &of(&args.variants[1]))?
        }
        Some(page) => {
            let [spec] = plan.specs.as_slice() else {
                return Err(several(&args.scenario, &plan.specs, "--page is of one run"));
            };
            life(args, spec, page)?
        }
        None => return classes(args, plan),
    };
    args.output.show(&text)?;
    Ok(Ending::Done)
}

fn two(args: &WhyArgs) -> bool {
    !args.variants.is_empty()
}

/// The runs of a scenario under one seed.
fn plan(args: &WhyArgs, path: &Path, variants: &[String]) -> Result<Plan, Failure> {
    let (sets, seed, at) = (&args.sets[..], args.seed, &args.at[..]);
    let overrides = Overrides { sets, seed, seeds: Some(1), variants, at, policies: &[] };
    let plan = Plan::read(path, &overrides).map_err(|e| match two(args) {
        true => e.renamed("--variant:", "--variants:"),
        false => e,
    })?;
    plan::fit(std::slice::from_ref(&plan), None)?;
    Ok(plan)
}

/// More runs than are wanted.
fn several(path: &Path, specs: &[RunSpec], why: &str) -> Failure {
    let names = variants_of(specs);
    let runs = specs.len();
    let title = format!("{}: it has {runs} runs, and {why}", path.display());
    let help = match names.len() {
        1 => {
            let axes: Vec<String> =
                specs[0].axes.iter().map(|(k, v)| format!("--at '{k}={v}'")).collect();
            format!("choose a setting, as in {}", axes.join(" "))
        }
        _ => format!("write --variant NAME: {}", listed(&names)),
    };
    Failure::Input(Error::plain(title).help(help))
}

/// Prints the classes of all runs of a scenario.
fn classes(args: &WhyArgs, mut plan: Plan) -> Result<Ending, Failure> {
    plan.specs.iter_mut().for_each(|spec| spec.why = true);
    let runs = Runner::default().run(plan.specs.clone())?;
    let report = Report::new(plan.name.clone(), plan.about.clone(), runs);
    args.output.emit(
        || report.runs.iter().map(of_run).collect::<Vec<_>>().join("\n"),
        || report.to_json(),
        || rows(&report),
    )?;
    let early = early_ends(std::slice::from_ref(&plan), &report);
    early.iter().for_each(|line| exit::remark(line));
    Ok(match early.is_empty() {
        true => Ending::Done,
        false if report.runs.iter().any(|run| run.panic.is_some()) => Ending::Panicked,
        false => Ending::EndedEarly,
    })
}

/// A class of a report by its name in words.
fn words(key: &str) -> &str {
    Class::ALL.iter().find(|c| c.key() == key).map_or(key, |c| c.words())
}

fn share(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 / all.max(1) as f64 * 100.0)
}

/// Whose the most are, in a few words.
fn most(shares: &[ShareReport], nr: usize) -> String {
    let mut shares: Vec<&ShareReport> = shares.iter().collect();
    shares.sort_by_key(|s| std::cmp::Reverse(s.count));
    let all: u64 = shares.iter().map(|s| s.count).sum();
    let word = |s: &&ShareReport| match s.count == all {
        true => s.name.clone(),
        false => format!("{} {:.0} %", s.name, s.count as f64 / all as f64 * 100.0),
    };
    shares.iter().take(nr).map(word).collect::<Vec<_>>().join(", ")
}

/// The classes of one run as a table.
pub(crate) fn of_run(run: &RunReport) -> String {
    of_first(run, 1)
}

/// The same of the run of the first of some seeds.
pub(crate) fn of_first(run: &RunReport, seeds: usize) -> String {
    let axes: String = run.axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
    let of = if seeds > 1 { format!(", the first of {seeds}") } else { String::new() };
    let mut out = format!("{}{axes}, seed {}{of}\n", run.variant, run.seed);
    if let Some(oom) = &run.oom {
        out += &table::wrap(&format!("It ran {}.", oom.who_held_it()), 0);
    }
    match &run.why {
        Some(why) => out += &of_why(why),
        None => out += "nothing is known: the run failed\n",
    }
    out
}

fn of_why(why: &WhyReport) -> String {
    let unread = why.classes.iter().any(|c| c.without_device > 0);
    let header: Vec<&str> = ["why pages came back", "refaults", "share", "anon", "file"]
        .into_iter()
        .chain(unread.then_some("no device"))
        .chain(["device, s"])
        .collect();
    let n = |n: u64| grouped(n as f64);
    let line = |name: &str, c: &ClassReport| {
        let time = format!("{:.3}", c.device_ns as f64 / 1e9);
        let share = share(c.count(), why.refaults);
        let mut row = vec![name.to_string(), n(c.count()), share, n(c.anon), n(c.file)];
        row.extend(unread.then(|| n(c.without_device)));
        row.push(time);
        row
    };
    let some = || why.classes.iter().filter(|c| c.count() > 0);
    let mut all = ClassReport::default();
    for c in some() {
        all.anon += c.anon;
        all.file += c.file;
        all.without_device += c.without_device;
        all.device_ns += c.device_ns;
    }
    let lines = some().map(|c| line(words(&c.class), c));
    let mut out = match why.refaults {
        0 => "No page came back.\n".to_string(),
        _ => table::grid(Some(&header), lines.chain([line("all", &all)]), 1),
    };
    let counters: Vec<&str> = [Some(why.anon_counter.as_str()), why.file_counter.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    if why.refaults > 0 {
        out += &table::wrap(&format!("The classes sum to {}.", counters.join(" and ")), 0);
    }
    let swap = &why.swap_outs;
    let written = swap.not_wanted + swap.needed + swap.needless + swap.forced;
    if written > 0 {
        let forced = match swap.forced {
            0 => String::new(),
            some => format!(" {} were taken by limits or requests and came back,", n(some)),
        };
        let text = format!(
            "Of {} pages written to swap {} were needless,{forced} {} came back for want of \
             memory, and {} were not wanted again.",
            n(written),
            n(swap.needless),
            n(swap.needed),
            n(swap.not_wanted)
        );
        out += &table::wrap(&text, 0);
    }
    if why.credit > 0 {
        let text = format!("{} uses hit that the optimum would have missed.", n(why.credit));
        out += &table::wrap(&text, 0);
    }
    if some().next().is_some() {
        out.push('\n');
        let header = ["class", "regions", "phases", "pages"];
        let line = |c: &ClassReport| {
            let pages: Vec<&str> = c.examples.iter().map(|e| e.page.as_str()).collect();
            let (regions, phases) = (most(&c.regions, 2), most(&c.phases, 2));
            vec![words(&c.class).to_string(), regions, phases, pages.join(", ")]
        };
        out += &table::uncut(&header, some().map(line), 4);
    }
    let [failed, compacted, stalled] = kinds(why);
    out += &of_trouble("why blocks were not allocated", "requests", Counted::Allocations, failed);
    out += &of_trouble("why compaction failed", "attempts", Counted::Compactions, compacted);
    out += &of_trouble("direct reclaim", "stalls", Counted::Stalls, stalled);
    out
}

/// Troubles of allocations, by kind.
fn kinds(why: &WhyReport) -> [&TroubleReport; 3] {
    [&why.failed_allocations, &why.failed_compactions, &why.direct_stalls]
}

/// Troubles of allocations of one kind, as a table; empty without any.
fn of_trouble(title: &str, what: &str, kind: Counted, t: &TroubleReport) -> String {
    if t.count == 0 {
        return String::new();
    }
    let stalls = kind == Counted::Stalls;
    let words = |key: &str| {
        let named = kind.classes().into_iter().find(|c| c.0 == key);
        named.map_or(key, |c| c.1).to_string()
    };
    let held = ["late, ms", "held by"];
    let header: Vec<&str> = [title, what, "share"]
        .into_iter()
        .chain(held.into_iter().filter(|_| stalls))
        .chain(["tasks", "phases"])
        .collect();
    let line = |c: &TroubleClass| {
        let mut row = vec![words(&c.class), grouped(c.count as f64), share(c.count, t.count)];
        if stalls {
            // What a stall met, on average.
            row.push(format!("{:.3}", c.late_ns as f64 / c.count as f64 / 1e6));
            row.push(most(&c.holders, 2));
        }
        row.extend([most(&c.tasks, 2), most(&c.phases, 2)]);
        row
    };
    let lines = t.classes.iter().filter(|c| c.count > 0).map(line);
    let sum = format!("The classes sum to {}.", t.counters.join(", "));
    format!("\n{}{}", table::uncut(&header, lines, 1), table::wrap(&sum, 0))
}

/// All parts of all classes as rows.
fn rows(report: &Report) -> String {
    let mut out = Rows::below("variant,seed,of,class,part,name,count");
    for (run, why) in report.runs.iter().filter_map(|run| Some((run, run.why.as_ref()?))) {
        let mut row = |of: &str, class: &str, part: &str, name: &str, count: u64| {
            out.row(&[&run.variant, &run.seed, &of, &class, &part, &name, &count]);
        };
        for c in &why.classes {
            let parts = [
                ("phase", &c.phases),
                ("task", &c.tasks),
                ("group", &c.groups),
                ("region", &c.regions),
            ];
            row("refaults", &c.class, "type", "anon", c.anon);
            row("refaults", &c.class, "type", "file", c.file);
            if c.without_device > 0 {
                row("refaults", &c.class, "read", "no device", c.without_device);
            }
            for (part, s) in parts.iter().flat_map(|(p, all)| all.iter().map(move |s| (p, s))) {
                row("refaults", &c.class, part, &s.name, s.count);
            }
        }
        let names = ["failed_allocations", "failed_compactions", "direct_stalls"];
        for (of, kind) in names.into_iter().zip(kinds(why)) {
            for c in kind.classes.iter().filter(|c| c.count > 0) {
                let parts = [
                    ("phase", &c.phases),
                    ("task", &c.tasks),
                    ("group", &c.groups),
                    ("holder", &c.holders),
                ];
                for (part, s) in parts.iter().flat_map(|(p, all)| all.iter().map(move |s| (p, s))) {
                    row(of, &c.class, part, &s.name, s.count);
                }
            }
        }
    }
    out.into_text()
}

/// Differences of runs, pair by pair.
fn differences(args: &WhyArgs, a: &[RunSpec], b: &[RunSpec]) -> Result<String, Failure> {
    let pairs = paired(args, a, b)?;
    let all = pairs
        .into_iter()
        .map(|(a, b)| difference::of(named(args, false, a, b), named(args, true, b, a)))
        .collect::<Result<Vec<Difference>, RunError>>()?;
    Ok(match args.output.form() {
        Format::Json => format!("{:#}\n", document("differences", &all)),
        _ => all.iter().map(of_difference).collect::<Vec<_>>().join("\n"),
    })
}

/// A run with its name: its file before it, where the label does not tell it from the other.
fn named<'a>(
    args: &WhyArgs,
    second: bool,
    run: &'a RunSpec,
    other: &RunSpec,
) -> (String, &'a RunSpec) {
    let file = if second { args.other.as_deref() } else { None };
    let file = file.unwrap_or(&args.scenario);
    match run.label() == other.label() {
        true => (format!("{}, {}", file.display(), run.label()), run),
        false => (run.label(), run),
    }
}

/// Runs of the same point: of the same variant, unless each side has one alone.
fn paired<'a>(
    args: &WhyArgs,
    a: &'a [RunSpec],
    b: &'a [RunSpec],
) -> Result<Vec<(&'a RunSpec, &'a RunSpec)>, Failure> {
    let one = |specs: &[RunSpec]| specs.iter().all(|s| s.variant == specs[0].variant);
    let any_name = one(a) && one(b);
    let pairs: Vec<_> = a
        .iter()
        .filter_map(|x| {
            let same = |y: &&RunSpec| y.axes == x.axes && (any_name || y.variant == x.variant);
            Some((x, b.iter().find(same)?))
        })
        .collect();
    if pairs.is_empty() {
        let other = args.other.as_deref().unwrap_or(&args.scenario);
        let title = format!(
            "{} and {}: no run of one has variant and axes of a run of the other",
            args.scenario.display(),
            other.display()
        );
        let names = |specs| variants_of(specs).join(", ");
        let help = match any_name {
            true => "choose settings of equal axes, with --at or --set".to_string(),
            false => format!("write --variants A,B: A is one of {}; B of {}", names(a), names(b)),
        };
        return Err(Failure::Input(Error::plain(title).help(help)));
    }
    Ok(pairs)
}

fn of_difference(d: &Difference) -> String {
    let n = |n: u64| grouped(n as f64);
    let mut out = format!("A  {}\nB  {}\n\n", d.a.run, d.b.run);
    let rows = [
        ["refaults".to_string(), n(d.a.refaults), n(d.b.refaults)],
        ["in both".to_string(), n(d.both), n(d.both)],
        ["in one only".to_string(), n(d.a.only), n(d.b.only)],
    ];
    out += &table::grid(Some(&["", "A", "B"]), rows.map(Vec::from), 1);
    let sign = if d.change < 0 { "-" } else { "+" };
    let change = format!("{sign}{}", n(d.change.unsigned_abs()));
    out += &format!("B has {change}: {} only in B less {} only in A.\n", n(d.b.only), n(d.a.only));
    for (letter, side) in [("A", &d.a), ("B", &d.b)] {
        if side.only > 0 {
            out.push('\n');
            out += &of_side(letter, side);
        }
    }
    out
}

fn of_side(letter: &str, side: &Side) -> String {
    let title = format!("only in {letter}");
    let unread = side.classes.iter().any(|c| c.without_device > 0);
    let header: Vec<&str> = [title.as_str(), "regions", "page", "refaults", "share"]
        .into_iter()
        .chain(unread.then_some("no device"))
        .collect();
    let line = |c: &mmsim::why::difference::OnlyClass| {
        let (share, count) = (share(c.count, side.only), grouped(c.count as f64));
        let name = words(&c.class).to_string();
        let mut row = vec![name, most(&c.regions, 2), c.example.clone(), count, share];
        row.extend(unread.then(|| grouped(c.without_device as f64)));
        row
    };
    table::uncut(&header, side.classes.iter().map(line), 3)
}

/// The life of a page.
fn life(args: &WhyArgs, spec: &RunSpec, page: &str) -> Result<String, Failure> {
    let moments = life::life(spec, page)?;
    if args.output.form() == Format::Json {
        let mut document = document("life", &moments);
        document["run"] = spec.label().into();
        document["page"] = page.into();
        return Ok(format!("{document:#}\n"));
    }
    let header = ["t, us", "event", "decided by", "facts"];
    let line = |m: &Moment| {
        let class = m.class.map_or(String::new(), |c| format!(": {c}"));
        let time = format!("{:.1}", m.t_ns as f64 / 1e3);
        vec![time, format!("{}{class}", m.event), m.function.to_string(), m.fields.clone()]
    };
    let title = format!("{page} in {}\n", spec.label());
    Ok(title + &table::uncut(&header, moments.iter().map(line), 4))
}

/// Moments of a page that a picture has room for.
const MOST_MOMENTS: usize = 200;

/// The lives of the pages that are examples of classes, of these runs of a plan: each is made once
/// more.
pub(crate) fn lives(
    plan: &Plan,
    runs: &[(usize, &RunMeta)],
    jobs: Option<usize>,
) -> Result<Vec<(usize, Vec<Life>)>, RunError> {
    let lives = |&(i, meta): &(usize, &RunMeta)| {
        let examples = meta.verdicts.iter().flat_map(|v| &v.examples);
        let pages: Vec<PageIdx> = examples.map(|e| e.index).collect();
        let lives = life::lives(&plan.specs[i], &pages, MOST_MOMENTS);
        Ok((i, lives?))
    };
    Runner::new(&options(jobs, false)).each(runs, |_, run| lives(run))
}
