//! Arguments. Each verb has an example in its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mmsim_lab::reproduce::Request;
use mmsim_lab::validate::Selection;
use mmsim_terminal::args::{OutputArgs, at_least_one, key_value, picture};
use mmsim_terminal::exit::Failure;
use mmsim_terminal::man::{CompletionsArgs, ManArgs};
use mmsim_terminal::output::form::{self, Content};

/// mmsim compared with recorded kernels and published figures
#[derive(Parser, Debug)]
#[command(
    name = "mmsim-lab",
    version,
    max_term_width = 100,
    after_help = "\
Example:
  mmsim-lab reproduce anon-workingset --quick

A file `-` is stdin or stdout. Recordings are in `evidence/` of the repository.

Exit codes: 0 done; 1 a check did not hold, or a run panicked; 2 bad usage or bad input;
3 the simulated system ended early; 128 and its number after a signal."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Validate(ValidateArgs),
    Record(RecordArgs),
    Reproduce(ReproduceArgs),
    Accuracy(AccuracyArgs),
    View(ViewArgs),
    #[command(
        about = "Print a script that completes mmsim-lab's arguments in a shell",
        after_help = "\
Example:
  mmsim-lab completions bash > ~/.local/share/bash-completion/completions/mmsim-lab"
    )]
    Completions(CompletionsArgs),
    #[command(
        about = "Print the manual page of mmsim-lab or of one verb",
        after_help = "\
Examples:
  mmsim-lab man validate | man -l -
  mmsim-lab man --dir ~/.local/share/man/man1"
    )]
    Man(ManArgs),
}

impl Verb {
    /// Refuses names of files that promise something else than what will be in them.
    pub(crate) fn endings_agree(&self) -> Result<(), Failure> {
        match self {
            Verb::Validate(args) => {
                picture("--html", args.html.as_deref(), Content::Html)?;
                args.output.agrees()
            }
            Verb::Record(args) => args.output.agrees(),
            Verb::Reproduce(args) => args.output.agrees(),
            Verb::View(args) => form::agree("-o", args.output.as_deref(), Content::Html, &[]),
            Verb::Accuracy(_) | Verb::Completions(_) | Verb::Man(_) => Ok(()),
        }
    }
}

/// Replay recorded kernel experiments and print recorded beside simulated counters
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim-lab validate evidence/reference --quick --brief
  mmsim-lab validate evidence/reference --gate --format json -o validation.json
  mmsim-lab validate evidence/reference --experiment zipf-anon --format csv
  mmsim-lab validate evidence/reference --quick --html validation.html")]
pub(crate) struct ValidateArgs {
    /// The folder with the recorded experiments
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    #[command(flatten)]
    pub what: Selection,
    /// In the table: only the counters that distinguish policies, summed over all phases
    #[arg(long)]
    pub brief: bool,
    /// Write recorded beside simulated as one HTML file, which any browser opens
    #[arg(long, value_name = "FILE", conflicts_with = "decisions")]
    pub html: Option<PathBuf>,
    /// Exit with 1 if a rule on the accuracy of the model is missed
    #[arg(long)]
    pub gate: bool,
    /// Replay single decisions that were recorded for points of DIR, instead of whole phases
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["points", "experiment", "quick", "brief", "gate"])]
    pub decisions: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Run a scenario on a real kernel in an emulator and print recorded beside simulated counters
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim-lab record scenarios/zipf-anon.toml --kernel 6.12 --dry-run
  mmsim-lab record scenarios/zipf-anon.toml --kernel k612 --variant v6.12 --at 'task[0].theta=0.9'
  mmsim-lab record my.toml --kernel k612 --set machine.cpus=1 --brief --decisions

Run it in the repository: it uses tools/recorder. docs/recording.md says how to get a kernel, and
what can be carried over.")]
pub(crate) struct RecordArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// The folder of an unpacked kernel package; or a version such as 6.12, of which a recording is
    /// kept
    #[arg(long, value_name = "DIR|VERSION")]
    pub kernel: String,
    /// The folder that keeps recordings; what is there is not recorded again
    #[arg(long, value_name = "DIR", default_value = "recordings")]
    pub keep: PathBuf,
    /// Recordings of each run, with other seeds and a little more or less free memory
    #[arg(long, value_name = "N", default_value = "3", value_parser = at_least_one, allow_negative_numbers = true)]
    pub repetitions: usize,
    /// Only this variant; can be given several times
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Only the settings where this axis has this value; can be given for several axes
    #[arg(long, value_name = "AXIS=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Change one key of the scenario; can be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    /// Print the scripts and how long they take, and record nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Record single decisions of reclaim too, up to the end of PHASE, and print the first that
    /// differs [default: the second phase]
    #[arg(long, value_name = "PHASE", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["dry_run", "format"])]
    pub decisions: Option<String>,
    /// In the table: only the counters that distinguish policies
    #[arg(long)]
    pub brief: bool,
    /// Replays at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Rerun published experiments and print published beside simulated figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim-lab reproduce anon-workingset --quick
  mmsim-lab reproduce --all --format json -o reproduction.json
  mmsim-lab reproduce anon-workingset --table detection-swap-traffic --sensitivity

Misses are shown as plainly as hits. docs/published.md says where the figures come from.")]
pub(crate) struct ReproduceArgs {
    #[command(flatten)]
    pub wanted: Request,
    /// In the table: only the summary, the misses and the findings
    #[arg(long)]
    pub brief: bool,
    /// Exit with 1 if a figure misses its demand
    #[arg(long)]
    pub gate: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Write docs/accuracy.md: the accuracy of the model against recorded kernels, and its known gaps
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim-lab accuracy
  mmsim-lab accuracy --quick --check
  mmsim-lab accuracy my-kernels -o my-accuracy.md

It is made from `mmsim-lab validate DIR`, from gaps.toml and calibration.toml. Recordings of patched
kernels in DIR/patched, if there are any, are a section of their own.")]
pub(crate) struct AccuracyArgs {
    /// The folder with the recorded experiments
    #[arg(value_name = "DIR", default_value = "evidence/reference")]
    pub dir: PathBuf,
    /// The folder with gaps.toml and calibration.toml
    #[arg(long, value_name = "DIR", default_value = "evidence")]
    pub evidence: PathBuf,
    /// Write nothing; exit with 1 if the file is out of date
    #[arg(long)]
    pub check: bool,
    /// Replay only the quick subset of points, and renew or check its part of the file
    #[arg(long)]
    pub quick: bool,
    /// Replays at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// The file that is written, with a picture beside it, whose name ends with `.svg`
    #[arg(short, long, value_name = "FILE", default_value = "docs/accuracy.md")]
    pub output: PathBuf,
    /// The file with the table by kernel, as `mmsim run` and `mmsim tune` read it [default: that of
    /// the repository with docs/accuracy.md, else none]
    #[arg(long, value_name = "FILE")]
    pub nearness: Option<PathBuf>,
}

/// Make one HTML file of a validation
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim-lab view validation.json -o validation.html")]
pub(crate) struct ViewArgs {
    /// A validation, as `mmsim-lab validate --format json -o VALIDATION` writes it
    #[arg(value_name = "VALIDATION")]
    pub validation: PathBuf,
    /// Write the page to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
