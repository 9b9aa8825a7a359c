//! `mmsim run --miniature`: estimates in place of runs.

use mmsim::Runner;
use mmsim::miniature::{Miniature, MiniatureReport, SAMPLES, Share};
use mmsim::report;

use crate::args::RunArgs;
use crate::plan::Plan;
use crate::runner::{Heard, options, store};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;

/// Makes the samples of all runs and prints one document about them.
pub(crate) fn run(args: &RunArgs, share: Share, plans: &[Plan]) -> Result<Ending, Failure> {
    refuse(args)?;
    let samples = args.samples.unwrap_or(SAMPLES);
    let specs = plans.iter().flat_map(|plan| &plan.specs);
    let miniatures = specs
        .map(|spec| Miniature::new(spec, share, samples))
        .collect::<Result<Vec<Miniature>, mmsim::Error>>()?;
    output::check(args.output.output.as_deref())?;
    let heard = Heard::of("samples", miniatures.iter().map(|m| m.samples.len()).sum());
    let runner = Runner::watched(&options(args.jobs, args.check), &heard);
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let names = names.join(", ");
    let runner = runner.with_store(store("miniature", &names, args.store.as_deref())?);
    let estimated = mmsim::miniature::run(miniatures, &runner)?;
    drop(runner);
    drop(heard);
    let several = plans.len() > 1;
    let owners = plans.iter().flat_map(|plan| plan.specs.iter().map(|_| plan.name.as_str()));
    let mut ending = Ending::Done;
    let mut runs = Vec::new();
    for (name, one) in owners.zip(&estimated) {
        let run = one.report(several.then(|| name.to_string()));
        for (seed, outcome) in run.hash_seeds.iter().zip(&run.outcomes) {
            let (words, worse) = match outcome {
                report::Ending::Panicked => ("panicked", Ending::Panicked),
                report::Ending::Stuck => ("could not go on", Ending::EndedEarly),
                report::Ending::OutOfMemory => ("ran out of memory", Ending::EndedEarly),
                _ => continue,
            };
            let label = one.how.run.label();
            exit::remark(&format!("{label}: sample {seed} {words}, so nothing is estimated"));
            ending = ending.max(worse);
        }
        runs.push(run);
    }
    let report = MiniatureReport::new(names, runs);
    args.output.emit(|| report.to_table(), || report.to_json(), || report.cells().to_csv())?;
    Ok(ending)
}

/// Options that are about single pages, moments or frames, of which a sample has few.
fn refuse(args: &RunArgs) -> Result<(), Failure> {
    let pages = "it follows single pages, and most are not in a sample";
    let moments = "it shows one machine over time, and there are several";
    let counts = "it is drawn from counts of runs, and there are estimates";
    for (option, given, why) in [
        ("--why", args.why, pages),
        ("--events", args.events.is_some(), pages),
        ("--series", args.series.is_some(), moments),
        ("--perfetto", args.perfetto.is_some(), moments),
        ("--emit", !args.emit.is_empty(), moments),
        ("--damon-record", args.damon_record.is_some(), pages),
        ("--html", args.html.is_some(), counts),
        ("--svg", args.svg.is_some(), counts),
        ("--by", args.by.is_some(), counts),
        ("--table", args.table.rows.is_some(), counts),
        ("--base", args.table.base.is_some(), counts),
        ("--timing", args.timing.is_some(), counts),
        ("--dry-run", args.dry_run, "nothing would be run"),
    ] {
        if given {
            let title = format!("{option} with --miniature: {why}; leave one of them out");
            return Err(Failure::Input(mmsim::Error::of_option(title)));
        }
    }
    Ok(())
}
