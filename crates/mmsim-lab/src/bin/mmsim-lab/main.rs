//! The lab: recorded kernels and published figures beside what mmsim simulates.

mod accuracy;
mod args;
mod page;
mod reproduce;
mod table;
mod validate;
mod view;

use std::process::ExitCode;

use args::{Cli, Verb};
use mmsim_terminal::{exit, output, usage};

fn main() -> ExitCode {
    let cli = match usage::arguments::<Cli>(&|_, _| None) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    output::signal::remove_temporaries_on_signals();
    if let Err(failure) = cli.verb.endings_agree() {
        return exit::code(Err(failure));
    }
    exit::code(match cli.verb {
        Verb::Validate(args) => validate::validate(&args),
        Verb::Reproduce(args) => reproduce::reproduce(&args),
        Verb::Accuracy(args) => accuracy::accuracy(&args),
        Verb::View(args) => view::view(&args),
    })
}
