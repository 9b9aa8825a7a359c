//! Arguments of `list`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mmsim::config::ZoneKind;

use super::values::{sysctl, within, zone};

/// Lists that can be printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Listed {
    /// Policies and kernels under their names.
    Presets,
    /// Generators of accesses.
    Workloads,
    /// Event counters, with units.
    Counters,
    /// Swap and file devices.
    Devices,
    /// All that can be set of machine, policies and monitors: values, defaults by kernel, names in
    /// the kernel.
    Knobs,
    /// Kernels whose machines are modelled.
    Kernels,
    /// Formats of traces.
    Formats,
    /// Trace events of `run --events`, with their fields.
    Events,
    /// Costs of the machine, with their defaults.
    Costs,
    /// Steps of phased workloads.
    Steps,
    /// Keys of scenario files, with their forms.
    Keys,
    /// Zones, watermarks and per-CPU lists that Linux sets up on a machine.
    Zoneinfo,
}

/// The form of lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people.
    Table,
    /// One document.
    Json,
    /// Rows.
    Csv,
    /// With `zoneinfo`: as the kernel prints it.
    Text,
}

/// List presets, knobs, counters, devices and more, one a line
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim list presets
  mmsim list knobs step-size            # by its name, or by a part of it
  mmsim list knobs MIN_LRU_BATCH        # by the kernel's name
  mmsim list counters refault
  mmsim list knobs --preset classic-v5.9
  mmsim list knobs --preset classic-seed-2   # what one patch of a series changed
  mmsim list zoneinfo --memory 16GiB --cpus 8 --thp
  mmsim list zoneinfo --zones DMA=3840,DMA32=772915,Normal=3506176 --cpus 2 --format text")]
pub(crate) struct ListArgs {
    /// The list to print
    #[arg(value_enum, value_name = "WHAT")]
    pub what: Listed,
    /// With `knobs` and `counters`: only those that this names, by a part of the name here or in the
    /// kernel
    #[arg(value_name = "WORD")]
    pub word: Option<String>,
    /// With `knobs`: their values in this preset, and what it changed
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<String>,
    /// Form of the list [default: by the ending of FILE, else table]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<ListFormat>,
    /// Write the list to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// The machine whose zones are listed.
#[derive(Args, Debug, PartialEq, Eq, Default)]
#[command(next_help_heading = "With `zoneinfo`")]
pub(crate) struct MachineArgs {
    /// Memory of the machine, divided as on a PC
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Instead: pages that each zone manages
    #[arg(long, value_name = "ZONE=PAGES", value_delimiter = ',', value_parser = zone,
          conflicts_with_all = ["memory", "nodes"])]
    pub zones: Vec<(ZoneKind, u32)>,
    /// The kernel [default: 6.12]
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<String>,
    /// CPUs [default: 1]
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,
    /// Nodes that the memory is divided among evenly [default: 1]
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 64))]
    pub nodes: Option<u32>,
    /// A sysctl, as in `watermark_scale_factor=100`; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = sysctl)]
    pub vm: Vec<(String, String)>,
    /// Short for `--vm transparent_hugepage=madvise`, which raises min_free_kbytes
    #[arg(long)]
    pub thp: bool,
}
