//! `mmsim completions`.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Ending, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mmsim", &mut script);
    output::deliver(&script, None)?;
    Ok(Ending::Done)
}
