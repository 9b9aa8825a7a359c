//! Arguments of `mmsim evaluate`.

use std::path::PathBuf;

use clap::Args;

use super::values::at_least_one;

/// Score policies that people or programs write: 0 is the baseline, 1 the optimum
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim evaluate --suite scenarios/suites/small.toml --policy scenarios/suites/mglru.toml
  mmsim evaluate --suite scenarios/suites/small.toml --policy scenarios/suites/lru.wat
  mmsim evaluate --suite scenarios/suites/small.toml --policy a.toml --policy b.wasm -o scores.jsonl
  mmsim evaluate --suite scenarios/suites/page-cache.toml --policy builtin:mru --policy mru.wasm

Each policy gets a line, a JSON object, in the order of the options.")]
pub(crate) struct EvaluateArgs {
    /// The suite: scenarios with their baselines
    #[arg(long, value_name = "SUITE")]
    pub suite: PathBuf,
    /// A policy: values of knobs (.toml), a score function (.wasm, .wat), or a policy of cache_ext for the
    /// groups with a limit, or for GROUP: [GROUP=]FILE.wasm, [GROUP=]builtin:NAME; can be given several times
    #[arg(long = "policy", value_name = "POLICY", required = true)]
    pub policies: Vec<String>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Audit the invariants of the machine as it runs
    #[arg(long)]
    pub check: bool,
    /// Write the lines to FILE, whole or not at all, instead of to stdout; `.gz` and `.zst` pack it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
