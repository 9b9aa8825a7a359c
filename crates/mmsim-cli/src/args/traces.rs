//! Arguments of the verbs that read traces and records, `trace`, `events`, `damon`, `bench-trace`, and
//! of `contents`, which reads bytes of memory.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mmsim::bench::Frames;
use mmsim::report::events::EventFilter;

use super::OutputArgs;
use super::values::{addresses, at_least_one, key_value, whole, within};

/// Convert and look at traces of accesses
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim trace import --from lackey run.log -o run.mmt")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub what: TraceVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum TraceVerb {
    /// Convert a trace of another format to the project's own
    #[command(after_help = "\
Examples:
  mmsim trace import --from lackey run.log --maps run.maps -o run.mmt
  mmsim trace import --from csv io.csv --columns time=ts,offset=off,size=len,op=rw \\
      --time-unit us -o io.mmt
  mmsim trace import --like msr web_0.csv.gz --sort -o web_0.mmt
  mmsim trace import --from oracle-general w01.oracleGeneral.bin -o w01.mmt
  mmsim trace import --from damon damon.data -o damon.mmt")]
    Import(Box<TraceImportArgs>),
    /// Print a summary of a trace
    #[command(after_help = "\
Example:
  mmsim trace info run.mmt")]
    Info(TraceInfoArgs),
    /// Print the start of a trace
    #[command(after_help = "\
Example:
  mmsim trace head run.mmt -n 20")]
    Head(TraceHeadArgs),
}

#[derive(Args, Debug)]
pub(crate) struct TraceImportArgs {
    /// The format of the input: lackey, pages, csv, vscsi, raw-u32, raw-u64, oracle-general or
    /// damon
    #[arg(long, value_name = "FORMAT", required_unless_present = "like")]
    pub from: Option<String>,
    /// csv in the layout of public traces: msr, spc, alibaba, tencent, systor, twitter, cachelib,
    /// lirs or ucsd; other options override it
    #[arg(long, value_name = "SHAPE")]
    pub like: Option<String>,
    /// The trace to convert
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Where the converted trace goes
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// The memory map of the traced process (`/proc/PID/maps`), which names its areas
    #[arg(long, value_name = "FILE")]
    pub maps: Option<PathBuf>,
    /// Name of the program; else that of the file
    #[arg(long)]
    pub name: Option<String>,
    /// lackey: kept accesses within which another one to the same page is dropped
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub window: Option<u64>,
    /// lackey: instructions after which an access to the same page is kept all the same
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub refresh: Option<u64>,
    /// lackey: leave out the fetching of instructions
    #[arg(long)]
    pub no_fetches: bool,
    /// csv, raw-u32, raw-u64: page numbers, in csv texts too, are only names; neighbours need not
    /// lie together
    #[arg(long)]
    pub dense: bool,
    /// csv: roles of the columns, as in `page=lbn,op=rw`; roles are page, address, offset, sector,
    /// key, volume, op, size, sectors, count, repeats, pid and time; `#3` is the third column
    /// [default: columns named so]
    #[arg(long, value_name = "ROLE=NAME,..")]
    pub columns: Option<String>,
    /// csv: delimiter of fields: comma, tab, semicolon or blank [default: that of the first line]
    #[arg(long, value_name = "WORD")]
    pub delimiter: Option<String>,
    /// csv, vscsi: meaning of operations, as in `get=r,set=w,ping=skip`; unknown words are left out
    /// and counted
    #[arg(long, value_name = "WORD=r|w|skip,..")]
    pub ops: Option<String>,
    /// csv, vscsi: put the records in the order of their times first
    #[arg(long)]
    pub sort: bool,
    /// csv, vscsi: the first access to a page writes it, even if it reads
    #[arg(long)]
    pub fill: bool,
    /// damon: leave out memory that showed no access; else all regions are there from the start
    #[arg(long)]
    pub touched_only: bool,
    /// csv, vscsi: bytes of a page, for addresses, offsets and sizes [default: 4096]
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u64>,
    /// csv, vscsi: unit of the times: ns, us, ms, s, a multiple as in 100ns (Windows), or none to
    /// leave them out
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// csv, vscsi: kind of the pages: anon, or file (mapped shared) [default: anon]
    #[arg(long, value_name = "KIND")]
    pub pages_are: Option<String>,
    /// Level of compression, 1 to 19; 0 stores [default: 9]
    #[arg(long, value_name = "N", value_parser = within::<i32>(0, 19))]
    pub level: Option<i32>,
}

#[derive(Args, Debug)]
pub(crate) struct TraceInfoArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TraceHeadArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Number of records
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = whole,
          allow_negative_numbers = true)]
    pub count: u64,
}

/// Print the events that `mmsim run --events FILE.mmev` wrote, as JSON lines
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim events e.mmev --events-filter kind=sim_refault,pages=0-511
  mmsim events e.mmev -o e.jsonl.zst
  mmsim run scenarios/ebizzy-anon.toml --events e.mmev")]
pub(crate) struct EventsArgs {
    /// The events, plain or packed by gzip or zstd; `-` is stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only these events: `kind=NAME`, `task=NAME`, `pages=A-B`, with commas between them
    #[arg(long, value_name = "FILTER", value_parser = EventFilter::parse)]
    pub events_filter: Option<EventFilter>,
    /// Write the lines to FILE, whole or not at all, instead of to stdout; `.gz` and `.zst` pack it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Look at records of DAMON, simulated or real
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim damon report records/v6.12-seed1/kdamond.0.data")]
pub(crate) struct DamonArgs {
    #[command(subcommand)]
    pub what: DamonVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DamonVerb {
    /// Show the regions of a snapshot, the working set over all of them, and the check of their
    /// validity
    #[command(after_help = "\
Examples:
  mmsim damon report damon.data
  mmsim damon report perf.txt --snapshot 100 --format csv")]
    Report(DamonReportArgs),
    /// Draw accesses over time and addresses
    #[command(after_help = "\
Examples:
  mmsim damon heatmap damon.data
  mmsim damon heatmap damon.data --address 0x7f0000000000-0x7f0010000000 --rows 20")]
    Heatmap(DamonHeatmapArgs),
    /// Print arguments of damo as `[[damon]]` of a scenario
    #[command(after_help = "\
Examples:
  damo args damon --ops paddr --damos_action pageout --format json > args.json
  mmsim damon import args.json >> scenario.toml
  mmsim damon import vaddr.json --task work")]
    Import(DamonImportArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DamonImportArgs {
    /// JSON of `damo args damon`, or a list of schemes of damo 1.x
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The task that stands for a process; several for several, in their order
    #[arg(long, value_name = "NAME")]
    pub task: Vec<String>,
    /// Write the tables to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct DamonReportArgs {
    /// The record: damo's JSON, plain or compressed, or text of `perf script`
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Only this target
    #[arg(long, value_name = "ID")]
    pub target: Option<u64>,
    /// The snapshot whose regions are shown, from 1 [default: the last]
    #[arg(long, value_name = "N", value_parser = within::<u64>(1, 1 << 53))]
    pub snapshot: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DamonHeatmapArgs {
    /// The record: damo's JSON, plain or compressed, or text of `perf script`
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Only this target
    #[arg(long, value_name = "ID")]
    pub target: Option<u64>,
    /// Only these bytes
    #[arg(long = "address", value_name = "FROM-TO", value_parser = addresses)]
    pub addresses: Option<(u64, u64)>,
    /// Pieces of time, at most
    #[arg(long, value_name = "N", default_value_t = 40,
          value_parser = within::<u16>(1, 10_000))]
    pub rows: u16,
    /// Pieces of memory, at most
    #[arg(long, value_name = "N", default_value_t = 80,
          value_parser = within::<u16>(1, 10_000))]
    pub columns: u16,
    /// Write the picture of one target as a PNG image: time across, addresses up
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// The same as SVG, with axes and a scale
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Replay a trace against a number of frames and print misses, counters and speed
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim bench-trace zipf0.9.u32 --frames 100000
  mmsim bench-trace w01.oracleGeneral.bin --frames 500000 --reclaim random --format json")]
pub(crate) struct BenchTraceArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its format: raw-u32, raw-u64, oracle-general or mmt [default: by its name]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Frames of the machine, page tables and free reserves among them: pages (1000), a size
    /// (64MiB) or a share of the trace's distinct pages (10%); `mmsim curve` takes several
    #[arg(long, value_name = "N", required = true, value_delimiter = ',')]
    pub frames: Vec<Frames>,
    /// Runs at the same time, of several policies [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Preset of the reclaim policy; several, with commas between them or given again, are runs of
    /// their own
    #[arg(long, value_name = "PRESET,..", default_value = "classic-v6.12", value_delimiter = ',')]
    pub reclaim: Vec<String>,
    /// Preset of the swap device; the default one works on the caller's CPU
    #[arg(long, value_name = "DEVICE", default_value = "ramdisk")]
    pub swap: String,
    /// Writes per 1000 accesses besides the first one to each page, which always writes
    #[arg(long, value_name = "PERMILLE", default_value_t = 0,
          value_parser = within::<u32>(0, 1000))]
    pub write: u32,
    /// raw-u32, raw-u64: page numbers are only names; neighbours need not lie together
    #[arg(long)]
    pub dense: bool,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Override a key of the scenario behind it, as in `machine.vm.swappiness=100`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Measure to how many bytes the pages of a file compress, for zram and zswap
///
/// The file is cut into pages of 4,096 bytes, and each page is compressed alone. The summary says
/// how many frames zram and zswap take for all of them; `contents` is the law of a task whose pages
/// are like these.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim contents core.1234
  mmsim contents heap.bin --compressor zstd -o contents.toml
  zcat core.gz | mmsim contents -")]
pub(crate) struct ContentsArgs {
    /// The file, such as a core dump
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The compressor by the kernel's name: lz4 or zstd
    #[arg(long, value_name = "NAME", default_value = "lz4")]
    pub compressor: String,
    /// Write `contents` to FILE; else it follows the summary
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
