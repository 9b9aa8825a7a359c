//! Arguments of `mmsim sweep` and `mmsim show`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use mmsim::report::derived::Figure;

use super::values::{at_least_one, axes_pair, figure, within};
use super::{OutputArgs, TableArgs};

/// Run a plan of any number of runs, which resumes after a kill and spreads over machines
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  mmsim sweep plan swappiness.toml
  mmsim sweep swappiness.toml
  mmsim sweep swappiness.toml --shard 3/64
  mmsim sweep merge swappiness.toml --format wide -o swappiness.csv

A unit that ends is kept at once. The same command makes what is left. Shards are counted from 0; a
task of an array of Slurm, HyperQueue or Kubernetes knows its own."
)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub what: Option<SweepVerb>,
    #[command(flatten)]
    pub run: SweepRunArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SweepVerb {
    Plan(SweepPlanArgs),
    Status(SweepStatusArgs),
    Merge(SweepMergeArgs),
}

/// A plan and where its results are.
#[derive(Args, Debug)]
pub(crate) struct SweepPlace {
    /// The plan
    #[arg(required = true, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// The folder of the results [default: the plan's name with `.sweep`]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl SweepPlace {
    /// The plan's file.
    pub(crate) fn plan(&self) -> &std::path::Path {
        self.plan.as_deref().expect("it is required")
    }

    /// The folder of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.store.clone().unwrap_or_else(|| self.plan().with_extension("sweep"))
    }
}

/// Run what is left of a sweep, or of a shard of it.
#[derive(Args, Debug)]
pub(crate) struct SweepRunArgs {
    #[command(flatten)]
    pub place: SweepPlace,
    /// Only shard I of N, counted from 0 [default: the one that the environment names, else all]
    #[arg(long, value_name = "I/N", conflicts_with = "shards")]
    pub shard: Option<String>,
    /// The number of shards; the environment names this one
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 99_999),
          allow_negative_numbers = true)]
    pub shards: Option<u32>,
    /// Units at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Audit the invariants of the machine as it runs
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Part of the table of a sweep that is shown.
#[derive(Args, Debug)]
pub(crate) struct ShownArgs {
    /// In the table: the best by this figure first, as in `swap-ins` [default: the first that any
    /// run has]
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    pub by: Option<Figure>,
    /// Below the table: the figure with axis A down and axis B across
    #[arg(long, value_name = "A,B", value_parser = axes_pair)]
    pub pivot: Option<(String, String)>,
    /// In table and page: number of settings [default: 40 in a table, 400 in a page]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub top: Option<usize>,
}

/// Estimate a sweep from three of its units, and print jobs for Slurm, HyperQueue and Kubernetes
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim sweep plan swappiness.toml --cpus 8")]
pub(crate) struct SweepPlanArgs {
    #[command(flatten)]
    pub place: SweepPlace,
    /// CPUs of each task [default: those of this host]
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 4096),
          allow_negative_numbers = true)]
    pub cpus: Option<u32>,
    /// Number of shards [default: half an hour each]
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 99_999),
          allow_negative_numbers = true)]
    pub shards: Option<u32>,
}

/// Show the progress of a sweep
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim sweep status swappiness.toml")]
pub(crate) struct SweepStatusArgs {
    #[command(flatten)]
    pub place: SweepPlace,
}

/// Merge the shards of a sweep: the same bytes for any number of shards
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim sweep merge swappiness.toml --by throughput
  mmsim sweep merge swappiness.toml --format wide -o swappiness.csv
  mmsim sweep merge swappiness.toml --by swap-ins --svg swappiness.svg
  mmsim sweep merge swappiness.toml -o swappiness.json.zst --html swappiness.html")]
pub(crate) struct SweepMergeArgs {
    #[command(flatten)]
    pub place: SweepPlace,
    /// Form of the results [default: by the ending of FILE, else table]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<MergeFormat>,
    /// Write the results to FILE, whole or not at all, instead of to stdout; `.gz` and `.zst`
    /// pack it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Put an apostrophe before cells of CSV that a spreadsheet would compute: those that begin with
    /// =, +, -, @, a tab or a line end, and are no numbers
    #[arg(long)]
    pub csv_safe: bool,
    /// Write the best settings as one HTML file with charts, which any browser opens
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw the figure of --by over the axis as an SVG picture, or the best settings in rows
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Merge the finished units, even if some are missing
    #[arg(long)]
    pub partial: bool,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// The form of merged results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MergeFormat {
    /// A line for each setting, for people.
    Table,
    /// One report, as `mmsim run` writes it.
    Json,
    /// CSV with a line for each unit, phase and value, as `mmsim run` writes it.
    Tidy,
    /// CSV with a line for each unit, and a column for each axis, knob and number.
    Wide,
    /// The same as Parquet (with the feature `parquet` only).
    Parquet,
}

/// Print one saved report, or the store of a sweep, as the table that its command printed
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim show report.json
  mmsim show report.json --table full --base mglru
  mmsim show report.json --format plain72
  mmsim show swappiness.sweep --by throughput --top 10")]
pub(crate) struct ShowArgs {
    /// A report, as `mmsim run --format json -o REPORT` writes it, or the store of a sweep
    #[arg(value_name = "STORE|REPORT")]
    pub of: PathBuf,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
