//! Arguments of `mmsim why`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::values::{key_value, one_seed, whole};

/// Explain why pages came back: refaults by class, or the differences of two runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim why scenarios/detection.toml --variant v5.9
  mmsim why scenarios/detection.toml --variants v5.8,v5.9
  mmsim why before.toml after.toml
  mmsim why scenarios/phased-50-pages.toml --variant v5.9 --page phased:0:0")]
pub(crate) struct WhyArgs {
    /// A scenario file
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// A second one with the same accesses: its differences, refault by refault
    #[arg(value_name = "OTHER")]
    pub other: Option<PathBuf>,
    /// Only this variant
    #[arg(long, value_name = "NAME", conflicts_with = "variants")]
    pub variant: Option<String>,
    /// Two variants to compare, refault by refault; of two scenarios, one of each
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub variants: Vec<String>,
    /// The seed [default: the scenario's first]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Refused: runs are compared one by one
    #[arg(long, value_name = "N", value_parser = one_seed, hide = true)]
    pub seeds: Option<u64>,
    /// Only the settings where this axis has this value; can be given for several axes
    #[arg(long, value_name = "AXIS=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Override a key of the scenarios, as in `machine.memory=2GiB`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    /// Print the life of one page that came back: TASK:REGION:OFFSET, file:NAME:OFFSET, or the number
    /// that events have; a region by its number, or by its name where its workload has names
    #[arg(long, value_name = "PAGE", conflicts_with_all = ["variants", "other"])]
    pub page: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}
