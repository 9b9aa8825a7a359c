//! The mmsim command line: arguments, files, progress, tables, exit codes. Everything that
//! is simulated or computed happens in the library `mmsim`.

mod ablate;
mod args;
mod bench;
mod compare;
mod completions;
mod contents;
mod curve;
mod damon;
mod document;
mod emit;
mod endings;
mod evaluate;
mod events;
mod explain;
mod import_system;
mod input;
mod list;
mod miniature;
mod observe;
mod outcome;
mod plan;
mod policy;
mod policy_module;
mod record;
mod run;
mod runner;
#[cfg(test)]
mod samples;
mod schema;
mod show;
mod sweep;
mod table;
mod timing;
mod trace;
mod tune;
mod view;
mod why;
mod zoneinfo;

use std::process::ExitCode;

use args::{Cli, Verb};
use clap::CommandFactory as _;
use mmsim_terminal::moved::Moved;
use mmsim_terminal::{exit, man, output, usage};

/// Verbs that this program had.
const MOVED: Moved = Moved { verbs: &["validate", "reproduce", "accuracy"], program: "mmsim-lab" };

fn main() -> ExitCode {
    let cli = match usage::arguments::<Cli>(MOVED) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    output::signal::remove_temporaries_on_signals();
    if let Err(failure) = cli.verb.endings_agree() {
        return exit::code(Err(failure));
    }
    exit::code(match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Curve(args) => curve::curve(&args),
        Verb::Sweep(args) => sweep::sweep(&args),
        Verb::Tune(args) => tune::tune(&args),
        Verb::Evaluate(args) => evaluate::evaluate(&args),
        Verb::Policy(args) => policy::policy(&args),
        Verb::Show(args) => show::show(&args),
        Verb::Explain(args) => explain::explain(&args),
        Verb::List(args) => list::list(&args),
        Verb::Trace(args) => trace::trace(&args),
        Verb::Events(args) => events::events(&args),
        Verb::Damon(args) => damon::damon(&args),
        Verb::Contents(args) => contents::contents(&args),
        Verb::ImportSystem(args) => import_system::import_system(&args),
        Verb::BenchTrace(args) => bench::bench_trace(&args),
        Verb::Compare(args) => compare::compare(&args),
        Verb::View(args) => view::view(&args),
        Verb::Why(args) => why::why(&args),
        Verb::Ablate(args) => ablate::ablate(&args),
        Verb::Schema(args) => schema::schema(&args),
        Verb::Completions(args) => completions::completions(&args, Cli::command()),
        Verb::Man(args) => man::man(&args, Cli::command(), MOVED),
    })
}
