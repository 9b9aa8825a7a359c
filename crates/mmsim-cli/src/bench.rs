//! `mmsim bench-trace`: one trace against a number of frames and a policy, or against several of
//! both, with its speed.
//!
//! The only command whose results hold a time of the host, because that is what it is for.
//! In JSON it stands apart under `timing`; everything else is a function of the arguments.

use mmsim::Runner;
use mmsim::base::vmstat::VmEvent;
use mmsim::bench::{BenchSettings, BenchTrace, Frames};
use mmsim::cells::{Cells, Column, Form};
use mmsim::machines::policy;
use mmsim::report::numbers::grouped;
use mmsim::report::{Report, RunReport};
use mmsim::scenario::RunSpec;
use serde::Serialize;

use crate::args::{BenchTraceArgs, Format};
use crate::input::Seekable;
use crate::runner::{Heard, options, store};
use crate::table;
use crate::timing::cpu_seconds;
use mmsim_terminal::exit::{Ending, Failure, remark};

/// The version of the document's form.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    trace: TraceReport<'a>,
    frames: u32,
    /// Requests to pages that were not in memory; none of a run that did not do all of them.
    misses: Option<u64>,
    miss_ratio: Option<f64>,
    run: &'a RunReport,
    timing: Timing,
}

#[derive(Serialize)]
struct TraceReport<'a> {
    file: String,
    format: &'a str,
    requests: u64,
    distinct_pages: u64,
    assumptions: &'a [String],
}

impl TraceReport<'_> {
    fn of(trace: &BenchTrace) -> TraceReport<'_> {
        TraceReport {
            file: trace.file.display().to_string(),
            format: &trace.format,
            requests: trace.requests,
            distinct_pages: trace.distinct_pages,
            assumptions: &trace.assumptions,
        }
    }
}

/// Processor time of the whole process, all threads, from its start.
#[derive(Clone, Copy, Serialize)]
struct Timing {
    /// Until the trace was read and checked.
    load_cpu_s: f64,
    /// Of the run.
    run_cpu_s: f64,
    /// Both.
    cpu_s: f64,
    /// Requests per second of both.
    requests_per_cpu_s: f64,
}

/// Runs a trace and prints what came out.
pub(crate) fn bench_trace(args: &BenchTraceArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.file])?;
    let &[frames] = args.frames.as_slice() else { return Err(several(args)) };
    let file = Seekable::open(&args.file)?;
    let cells: Vec<(Frames, &str)> =
        args.reclaim.iter().map(|policy| (frames, policy.as_str())).collect();
    let mut settings = BenchSettings::new(file.path(), cells[0].0);
    settings.from = args.from.as_deref();
    settings.dense = args.dense;
    settings.reclaim = cells[0].1;
    settings.swap = &args.swap;
    settings.write_permille = args.write;
    settings.seed = args.seed;
    settings.sets = &args.sets;
    let planned = mmsim::bench::plans(&settings, &cells).map_err(|e| file.named(e));
    let (specs, mut trace) = planned?;
    trace.file.clone_from(&args.file);
    let loaded = cpu_seconds().unwrap_or(0.0);
    let heard = Heard::of("runs", specs.len());
    let runner = Runner::watched(&options(args.jobs, false), &heard);
    let name = args.file.display().to_string();
    let runner = runner.with_store(store("bench-trace", &name, args.store.as_deref())?);
    let runs = mmsim::bench::run(&settings, &specs, &runner)?;
    drop(runner);
    drop(heard);
    let cpu_s = cpu_seconds().unwrap_or(0.0);
    let requests = trace.requests as f64 * runs.len() as f64;
    let timing = Timing {
        load_cpu_s: loaded,
        run_cpu_s: cpu_s - loaded,
        cpu_s,
        requests_per_cpu_s: if cpu_s > 0.0 { requests / cpu_s } else { 0.0 },
    };
    let frames = |spec: &RunSpec| {
        spec.machine.nodes.iter().flat_map(|n| &n.zones).map(|z| z.managed).sum::<u32>()
    };
    let text = match runs.as_slice() {
        [run] => document(args.output.form(), frames(&specs[0]), &trace, run, timing),
        runs => {
            let frames: Vec<u32> = specs.iter().map(frames).collect();
            sizes(args.output.form(), &frames, &trace, runs, timing)
        }
    };
    args.output.show(&text)?;
    let report = Report::new(name, "", runs);
    if args.output.form() == Format::Table {
        report.too_small().iter().for_each(|note| remark(note));
    }
    let runs = report.runs;
    Ok(match runs.iter().all(|run| run.outcome.is_whole()) {
        true => Ending::Done,
        false => Ending::EndedEarly,
    })
}

/// The error about several sizes, with the command that draws them.
fn several(args: &BenchTraceArgs) -> Failure {
    let sizes: Vec<String> = args.frames.iter().map(ToString::to_string).collect();
    let title = format!("--frames: found {} sizes, and bench-trace replays one", sizes.len());
    let from = args.from.as_ref().map_or(String::new(), |from| format!(" --from {from}"));
    let (file, sizes) = (args.file.display(), sizes.join(","));
    let help = format!("several are a curve: `mmsim curve {file}{from} --memory {sizes}`");
    Failure::Input(mmsim::Error::of_option(title).help(help))
}

/// A counter of a run that did all its work; none if the policy does not keep it.
fn counter(run: &RunReport, event: VmEvent) -> Option<u64> {
    run.outcome.is_whole().then(|| run.vmstat.count(event)).flatten()
}

/// One of several sizes and policies.
#[derive(Serialize)]
struct Size<'a> {
    frames: u32,
    misses: Option<u64>,
    miss_ratio: Option<f64>,
    run: &'a RunReport,
}

#[derive(Serialize)]
struct SizesDocument<'a> {
    schema: u32,
    trace: TraceReport<'a>,
    /// Sizes in the order of the command line.
    sizes: Vec<Size<'a>>,
    timing: Timing,
}

/// Several sizes or policies: a line of a table for each, and the time of all together.
fn sizes(
    format: Format,
    frames: &[u32],
    trace: &BenchTrace,
    runs: &[RunReport],
    timing: Timing,
) -> String {
    let size = |(frames, run): (&u32, _)| {
        let (misses, miss_ratio) = (trace.misses(run), trace.miss_ratio(run));
        Size { frames: *frames, misses, miss_ratio, run }
    };
    let sizes: Vec<Size<'_>> = frames.iter().zip(runs).map(size).collect();
    if format == Format::Json {
        let trace = TraceReport::of(trace);
        let document = SizesDocument { schema: SCHEMA, trace, sizes, timing };
        let json = serde_json::to_string_pretty(&document).expect("numbers and texts");
        return format!("{json}\n");
    }
    let column = |(name, form): (&str, Form)| Column::new(name, form);
    let columns = [
        ("frames", Form::Whole),
        ("policy", Form::Text),
        ("outcome", Form::Text),
        ("peak resident pages", Form::Whole),
        ("misses", Form::Whole),
        ("miss ratio", Form::Text),
        (VmEvent::PswpIn.name(), Form::Whole),
        (VmEvent::PswpOut.name(), Form::Whole),
    ];
    let mut cells = Cells::below(columns.map(column));
    for s in &sizes {
        cells.rows.push(vec![
            u64::from(s.frames).into(),
            policy(s.run).into(),
            s.run.outcome.name().into(),
            s.run.peak_resident.into(),
            s.misses.into(),
            s.miss_ratio.map(|r| format!("{r:.6}")).into(),
            counter(s.run, VmEvent::PswpIn).into(),
            counter(s.run, VmEvent::PswpOut).into(),
        ]);
    }
    if format == Format::Csv {
        return cells.to_csv();
    }
    let mut rows = vec![("requests, each run".to_string(), number(format, trace.requests))];
    rows.extend(times(format, timing));
    format!("{}\n{}", table::of_cells(&cells, 3), table::pairs(&rows, format))
}

/// A value, or what stands for none.
fn or_absent<T>(format: Format, value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or(if format == Format::Csv { "" } else { "-" }.to_string(), text)
}

fn number(format: Format, n: u64) -> String {
    match format {
        Format::Csv => n.to_string(),
        _ => grouped(n as f64),
    }
}

fn times(format: Format, timing: Timing) -> [(String, String); 3] {
    [
        ("seconds, reading".to_string(), format!("{:.3}", timing.load_cpu_s)),
        ("seconds, running".into(), format!("{:.3}", timing.run_cpu_s)),
        (
            "requests per CPU second".into(),
            number(format, timing.requests_per_cpu_s.round() as u64),
        ),
    ]
}

fn document(
    format: Format,
    frames: u32,
    trace: &BenchTrace,
    run: &RunReport,
    timing: Timing,
) -> String {
    let (misses, miss_ratio) = (trace.misses(run), trace.miss_ratio(run));
    if format == Format::Json {
        let document = Document {
            schema: SCHEMA,
            trace: TraceReport::of(trace),
            frames,
            misses,
            miss_ratio,
            run,
            timing,
        };
        let json = serde_json::to_string_pretty(&document).expect("numbers and texts");
        return format!("{json}\n");
    }
    let n = |n: u64| number(format, n);
    let mut rows = vec![
        ("requests".to_string(), n(trace.requests)),
        ("distinct pages".into(), n(trace.distinct_pages)),
        ("frames".into(), n(frames.into())),
        ("peak resident pages".into(), n(run.peak_resident)),
        ("policy".into(), policy(run)),
        ("outcome".into(), run.outcome.name().into()),
        ("misses".into(), or_absent(format, misses, n)),
        ("miss ratio".into(), or_absent(format, miss_ratio, |r| format!("{r:.6}"))),
    ];
    // Those that people look for; the other forms have all.
    let shown = VmEvent::shown(|row| row.bench);
    rows.extend(shown.map(|e| (e.name().to_string(), or_absent(format, counter(run, e), n))));
    rows.extend(times(format, timing));
    rows.extend(trace.assumptions.iter().map(|a| ("assumed".to_string(), a.clone())));
    table::pairs(&rows, format)
}
