//! Arguments of the verbs about evidence: `validate`, `reproduce`, `accuracy`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::values::{at_least_one, power_of_two};

/// Replay recorded kernel experiments and print recorded beside simulated counters
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim validate evidence/reference --quick --brief
  mmsim validate evidence/reference --gate --format json -o validation.json
  mmsim validate evidence/reference --experiment zipf-anon --format csv
  mmsim validate evidence/reference --quick --html validation.html")]
pub(crate) struct ValidateArgs {
    /// The folder with the recorded experiments
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Only this point; can be given several times
    #[arg(long = "point", value_name = "ID")]
    pub points: Vec<String>,
    /// Only this experiment
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only the point in the middle of each file, for each kernel and LRU in it
    #[arg(long, conflicts_with = "points")]
    pub quick: bool,
    /// Replays at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
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

/// Rerun published experiments and print published beside simulated figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim reproduce anon-workingset --quick
  mmsim reproduce --all --format json -o reproduction.json
  mmsim reproduce anon-workingset --table detection-swap-traffic --sensitivity

Misses are shown as plainly as hits. docs/published.md says where the figures come from.")]
pub(crate) struct ReproduceArgs {
    /// The experiments: anon-workingset, mglru-lazyfree, mglru-file-protection, mglru-refault-distance,
    /// mglru-fio-zipf, mglru-6.14-rework, compaction-redesign, damon-monitoring, damon-reclaim,
    /// pagecache-chain, inactive-ratio, dama
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// All experiments
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// A few figures on small machines, in seconds
    #[arg(long)]
    pub quick: bool,
    /// Only this table; can be given several times
    #[arg(long = "table", value_name = "ID")]
    pub tables: Vec<String>,
    /// Make machines smaller by this than those of the source: 1, 2, 4, 8, 16 or 32 [default: the
    /// experiment's choice]
    #[arg(long, value_name = "N", value_parser = power_of_two, allow_negative_numbers = true)]
    pub scale: Option<u64>,
    /// Move every constant by a quarter, alone, and list the verdicts that flip
    #[arg(long)]
    pub sensitivity: bool,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
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
  mmsim accuracy
  mmsim accuracy --quick --check
  mmsim accuracy my-kernels -o my-accuracy.md

It is made from `mmsim validate DIR`, from gaps.toml and calibration.toml. Recordings of patched
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
}
