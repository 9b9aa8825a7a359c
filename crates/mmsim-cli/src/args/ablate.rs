//! Arguments of `mmsim ablate`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use mmsim::config::Kernel;
use mmsim::report::derived::Figure;

use super::OutputArgs;
use super::values::{at_least_one, even, figure, kernel, key_value, whole, within};

/// Measure the effect of each difference between two presets or kernels: alone, in pairs, together
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("what").args(["to", "stage", "switches", "to_kernel"]).required(true),
    after_help = "\
Examples:
  mmsim ablate scenarios/phased-50-pages.toml --variant v5.8 --to classic-v5.9
  mmsim ablate scenarios/suites/mapped.toml --from-kernel 6.18 --to-kernel 7.3 --figure throughput
  mmsim ablate scenarios/zipf-anon.toml --variant v6.12 --switch machine.vm.swappiness=10
  mmsim ablate scenarios/mglru-stages.toml --from mglru-v6.12 --stage mglru-v6.14
  mmsim ablate scenarios/lazily-activate.toml --variant base --at task[0].apps=24 \\
      --at machine.memory=80MiB --at machine.swap.size=96MiB --at task[0].mapped=3456KiB \\
      --switch bloom=no --switch walk-mmu=no,nonleaf-young=no"
)]
pub(crate) struct AblateArgs {
    /// A scenario file: its machine and work
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// The preset with all switches off [default: the policy of the scenario]
    #[arg(long, value_name = "PRESET")]
    pub from: Option<String>,
    /// The preset with all switches on: each knob that differs is a switch
    #[arg(long, value_name = "PRESET")]
    pub to: Option<String>,
    /// The kernel with all switches off [default: that of the scenario]
    #[arg(long, value_name = "KERNEL", value_parser = kernel, conflicts_with = "from",
          requires = "to_kernel")]
    pub from_kernel: Option<Kernel>,
    /// The kernel with all switches on: each rule, sysctl and knob that differs is a switch
    #[arg(long, value_name = "KERNEL", value_parser = kernel, conflicts_with = "from")]
    pub to_kernel: Option<Kernel>,
    /// The knobs that this preset changed when it was built on the one before it
    #[arg(long, value_name = "PRESET")]
    pub stage: Option<String>,
    /// A switch: a knob of the LRU or any key of the scenario, as in `machine.vm.swappiness=10`; with
    /// commas between those that change together; can be given several times
    #[arg(long = "switch", value_name = "KNOB=VALUE")]
    pub switches: Vec<String>,
    /// Figure to take apart [default: swap-ins]
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    pub figure: Option<Figure>,
    /// Require runs of all sets of switches, possible with at most six
    #[arg(long)]
    pub all_sets: bool,
    /// Above six switches: orders of each seed by which shares are estimated, an even number
    /// [default: 8]
    #[arg(long, value_name = "N", value_parser = even, conflicts_with = "all_sets",
          allow_negative_numbers = true)]
    pub orders: Option<usize>,
    /// Take the difference apart even if it is within the noise of the seeds
    #[arg(long)]
    pub anyway: bool,
    /// The variant whose machine and work it is [default: the first, if they differ in policy only]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// The seed, or the first of them
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Number of seeds: the first and those that follow it
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 10_000),
          allow_negative_numbers = true)]
    pub seeds: Option<u32>,
    /// Only the settings where this axis has this value; can be given for several axes
    #[arg(long, value_name = "AXIS=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Override a key of the scenario, as in `machine.memory=2GiB`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
