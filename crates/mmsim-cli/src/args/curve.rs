//! Arguments of `mmsim curve`.

use std::path::PathBuf;

use clap::Args;
use mmsim::curve::Sizes;
use mmsim::miniature::Share;
use mmsim::report::derived::Figure;

use super::OutputArgs;
use super::values::{at_least_one, figure, key_value, share, within};

/// Draw figures of a trace or a scenario over the size of memory: a miss-ratio curve
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim curve traces/sort.mmt
  mmsim curve requests.csv --reclaim classic-v6.12,mglru-v6.12 --svg curve.svg
  mmsim curve w01.oracleGeneral.bin --memory 1%..100% --points 20 --format csv -o curve.csv
  mmsim curve scenarios/zipf-anon.toml --memory 50%..150% --by swap-ins --html curve.html
  mmsim curve large.mmt --miniature auto --svg curve.svg
  mmsim curve pod.toml --axis machine.memcg[0].max --store pod.curve")]
pub(crate) struct CurveArgs {
    /// A trace, a file that is imported as one, or a scenario (`.toml`)
    #[arg(value_name = "TRACE|SCENARIO")]
    pub of: PathBuf,
    /// Sizes of memory: a range in which sizes are placed where the curve bends, or sizes with commas
    /// between them; each is a size (64MiB), pages (1000), or a share (10%) of the trace's distinct
    /// pages, or of the memory that the scenario has
    #[arg(long, visible_alias = "frames", value_name = "SIZES", default_value = "10%..150%")]
    pub memory: Sizes,
    /// Number of sizes in a range [default: 12]
    #[arg(long, value_name = "N", value_parser = within::<u16>(2, 1000),
          allow_negative_numbers = true)]
    pub points: Option<u16>,
    /// Key of the scenario that is the memory, as in `machine.memcg[0].max` [default: that of the
    /// machine]
    #[arg(long, value_name = "KEY")]
    pub axis: Option<String>,
    /// Preset of the reclaim policy; several, with commas between them or given again, are a line
    /// each [default: classic-v6.12,mglru-v6.12 for a trace, the variants of a scenario]
    #[arg(long, value_name = "PRESET,..", value_delimiter = ',')]
    pub reclaim: Vec<String>,
    /// The figure of table and picture, by which sizes are placed too [default: miss-ratio]
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    pub by: Option<Figure>,
    /// Leave out the optimum: the fetches that no policy can avoid
    #[arg(long)]
    pub no_optimum: bool,
    /// Number of seeds of a scenario
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 10_000),
          allow_negative_numbers = true)]
    pub seeds: Option<u32>,
    /// Override a key of the scenario, or of the one behind a trace, as in `machine.vm.swappiness=100`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    /// Format of a trace, as `mmsim trace import` takes it [default: by its name]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Columns of a trace in lines, as `mmsim trace import` takes them
    #[arg(long, value_name = "LIST")]
    pub columns: Option<String>,
    /// Layout of a public trace in lines, as `mmsim trace import` takes it
    #[arg(long, value_name = "SHAPE")]
    pub like: Option<String>,
    /// Numbers of pages, in csv texts too, are only names; neighbours need not lie together
    #[arg(long)]
    pub dense: bool,
    /// In a raw trace: writes per 1000 accesses besides the first one to each page [default: 0]
    #[arg(long, value_name = "PERMILLE", value_parser = within::<u32>(0, 1000))]
    pub write: Option<u32>,
    /// Preset of the swap device of a trace's machine; the default one works on the caller's CPU
    #[arg(long, value_name = "DEVICE", default_value = "ramdisk")]
    pub swap: String,
    /// Draw the curve from samples of the pages: `1/64` keeps one page of 64, `auto` as few as
    /// estimates allow at each size
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub miniature: Option<Share>,
    /// With --miniature: samples of each run, of which no two share a page [default: 4]
    #[arg(long, value_name = "N", requires = "miniature", value_parser = within::<u32>(4, 1024),
          allow_negative_numbers = true)]
    pub samples: Option<u32>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Draw the curve as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the curve as one HTML file, which any browser opens
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
