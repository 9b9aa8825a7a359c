//! Arguments of `import-system`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Treatment of the memory that programs had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ProgramsArg {
    /// It is free: tasks bring memory of their own
    Ended,
    /// It stays in use, and is never reclaimed
    Held,
}

/// Where watermarks and per-CPU lists of zones come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SizesArg {
    /// The copies: as they stood, whatever sysctls say
    Copied,
    /// The kernel's formulas: sysctls move them
    Formula,
}

/// Make the machine of a scenario from copies of a real machine's /proc and /sys
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim import-system --script | ssh root@box sh > box.txt
  mmsim import-system box.txt -o box.toml
  mmsim import-system box.txt -o box.toml --programs held --emit again
  mmsim import-system --script --workload --seconds 60 | ssh root@box sh > box.txt
  mmsim import-system box.txt --workload -o box.toml")]
pub(crate) struct ImportSystemArgs {
    /// A folder that mirrors `/` (proc/zoneinfo, sys/..), or the output of `--script` on the
    /// machine
    #[arg(value_name = "DIR|FILE", required_unless_present = "script")]
    pub copies: Option<PathBuf>,
    /// Write the scenario to FILE, and where memory is free beside it with the ending `.layout`; else
    /// the scenario goes to stdout, and free memory is known by zone alone
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the files that the simulated machine shows at its start into DIR, and list the items
    /// that differ from the copies
    #[arg(long, value_name = "DIR")]
    pub emit: Option<PathBuf>,
    /// The kernel, instead of that of /proc/version
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<String>,
    /// Treatment of page cache and programs that were in memory [default: ended]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub programs: Option<ProgramsArg>,
    /// Watermarks and per-CPU lists of zones [default: copied]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub sizes: Option<SizesArg>,
    /// Write a first guess of the work as tasks too, run it, and print its rates beside the recorded
    /// ones; with `--script`: copy what that takes, two samples of the machine at work
    #[arg(long)]
    pub workload: bool,
    /// With `--script --workload`: seconds from the first sample to the second [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86400), requires_all = ["script", "workload"])]
    pub seconds: Option<u32>,
    /// With `--script --workload`: the work is that of a memory cgroup, by its path below
    /// /sys/fs/cgroup
    #[arg(long, value_name = "PATH", requires_all = ["script", "workload"])]
    pub group: Option<String>,
    /// Print all remarks, not only the three that matter most for results
    #[arg(short, long)]
    pub verbose: bool,
    /// Print the commands that copy the files, for a shell on the machine
    #[arg(long, conflicts_with_all = ["copies", "output", "emit", "kernel", "programs", "sizes", "verbose"])]
    pub script: bool,
}
