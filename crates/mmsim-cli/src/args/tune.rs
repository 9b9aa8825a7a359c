//! Arguments of `mmsim tune`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::values::{at_least_one, within};

/// Search for settings that are best in several objectives, and print the writes for a machine
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mmsim tune scenarios/tuning/swappiness.toml
  mmsim tune scenarios/tuning/swappiness.toml --format json -o front.json
  mmsim tune scenarios/tuning/swappiness.toml --ask-tell

With --ask-tell your program searches: settings come in on stdin and figures go out on stdout, a
JSON object on a line each.")]
pub(crate) struct TuneArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Runs of the search, instead of the plan's number
    #[arg(long, value_name = "N", value_parser = within::<u64>(1, 100_000_000),
          allow_negative_numbers = true)]
    pub budget: Option<u64>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Audit the invariants of the machine as it runs
    #[arg(long)]
    pub check: bool,
    /// Answer settings from stdin on stdout, a JSON object on a line each
    #[arg(long, conflicts_with_all = ["format", "output", "budget"])]
    pub ask_tell: bool,
    /// Print the statistics of the search too: hypervolume, shares of knobs
    #[arg(short, long, conflicts_with = "ask_tell")]
    pub verbose: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
