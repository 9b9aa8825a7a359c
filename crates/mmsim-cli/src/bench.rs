//! `mmsim bench-trace`: one trace against a number of frames, with its speed.
//!
//! The only command whose results hold a time of the host, because that is what it is for.
//! In JSON it stands apart under `timing`; everything else is a function of the arguments.

use mmsim::bench::{BenchSettings, BenchTrace};
use mmsim::report::derived::grouped;
use mmsim::report::{Ending as RunEnding, RunReport};
use serde::Serialize;

use crate::args::{BenchTraceArgs, Format};
use crate::exit::{Ending, Failure};
use crate::timing::cpu_seconds;
use crate::{backend, output, table};

/// The version of the document's form.
const SCHEMA: u32 = 1;

/// Counters that people are shown; the other forms have all.
const COUNTERS: [&str; 12] = [
    "pgfault",
    "pgmajfault",
    "pswpin",
    "pswpout",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgactivate",
    "pgdeactivate",
    "workingset_refault_anon",
    "workingset_activate_anon",
];

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    trace: TraceReport<'a>,
    frames: u32,
    /// First accesses and major faults; only where all pages are anonymous.
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
    output::check(args.output.output.as_deref())?;
    let settings = BenchSettings {
        file: &args.file,
        from: args.from.as_deref(),
        dense: args.dense,
        frames: args.frames,
        reclaim: &args.reclaim,
        swap: &args.swap,
        write_permille: args.write,
        seed: args.seed,
        sets: &args.sets,
    };
    let (spec, trace) = backend::bench_plan(&settings)?;
    let loaded = cpu_seconds().unwrap_or(0.0);
    let run = backend::bench_run(spec)?;
    let cpu_s = cpu_seconds().unwrap_or(0.0);
    let timing = Timing {
        load_cpu_s: loaded,
        run_cpu_s: cpu_s - loaded,
        cpu_s,
        requests_per_cpu_s: if cpu_s > 0.0 { trace.requests as f64 / cpu_s } else { 0.0 },
    };
    let text = document(args.output.format, args.frames, &trace, &run, timing);
    output::deliver(text.as_bytes(), args.output.output.as_deref())?;
    Ok(match run.outcome {
        RunEnding::Completed => Ending::Done,
        RunEnding::OutOfMemory => Ending::EndedEarly,
    })
}

fn document(
    format: Format,
    frames: u32,
    trace: &BenchTrace,
    run: &RunReport,
    timing: Timing,
) -> String {
    let counter = |name: &str| run.vmstat.get(name).copied().unwrap_or(0);
    let misses = trace.anonymous.then(|| trace.distinct_pages + counter("pgmajfault"));
    let miss_ratio = misses.map(|m| m as f64 / trace.requests.max(1) as f64);
    if format == Format::Json {
        let document = Document {
            schema: SCHEMA,
            trace: TraceReport {
                file: trace.file.display().to_string(),
                format: &trace.format,
                requests: trace.requests,
                distinct_pages: trace.distinct_pages,
                assumptions: &trace.assumptions,
            },
            frames,
            misses,
            miss_ratio,
            run,
            timing,
        };
        let json = serde_json::to_string_pretty(&document).expect("numbers and texts");
        return format!("{json}\n");
    }
    let n = |n: u64| match format {
        Format::Csv => n.to_string(),
        _ => grouped(n as f64),
    };
    let mut rows = vec![
        ("requests".to_string(), n(trace.requests)),
        ("distinct pages".into(), n(trace.distinct_pages)),
        ("frames".into(), n(frames.into())),
        ("peak resident pages".into(), n(run.peak_resident)),
        ("policy".into(), run.policy.clone()),
    ];
    if let (Some(misses), Some(ratio)) = (misses, miss_ratio) {
        rows.push(("misses".into(), n(misses)));
        rows.push(("miss ratio".into(), format!("{ratio:.6}")));
    }
    rows.extend(COUNTERS.iter().map(|&c| (c.to_string(), n(counter(c)))));
    rows.extend([
        ("seconds, reading".to_string(), format!("{:.3}", timing.load_cpu_s)),
        ("seconds, running".into(), format!("{:.3}", timing.run_cpu_s)),
        ("requests per CPU second".into(), n(timing.requests_per_cpu_s.round() as u64)),
    ]);
    rows.extend(trace.assumptions.iter().map(|a| ("assumed".to_string(), a.clone())));
    table::pairs(&rows, format)
}
