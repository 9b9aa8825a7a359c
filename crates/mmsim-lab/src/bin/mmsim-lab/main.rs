//! The lab: recorded kernels and published figures beside what mmsim simulates.

mod accuracy;
mod args;
mod emulator;
mod page;
mod record;
mod reproduce;
mod table;
mod validate;
mod view;

use std::process::ExitCode;

use args::{Cli, Verb};
use clap::CommandFactory as _;
use mmsim_terminal::moved::Moved;
use mmsim_terminal::{exit, man, output, usage};

fn main() -> ExitCode {
    let cli = match usage::arguments::<Cli>(Moved::NONE) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    output::signal::remove_temporaries_on_signals();
    if let Err(failure) = cli.verb.endings_agree() {
        return exit::code(Err(failure));
    }
    exit::code(match cli.verb {
        Verb::Validate(args) => validate::validate(&args),
        Verb::Record(args) => record::record(&args),
        Verb::Reproduce(args) => reproduce::reproduce(&args),
        Verb::Accuracy(args) => accuracy::accuracy(&args),
        Verb::View(args) => view::view(&args),
        Verb::Completions(args) => man::completions(&args, Cli::command(), ""),
        Verb::Man(args) => man::man(&args, Cli::command(), Moved::NONE),
    })
}
