//! Arguments. Each verb has an example in its help.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mmsim::base::time::SimDuration;
use mmsim::bench::Frames;
use mmsim::machine::config::ZoneKind;
use mmsim::report::events::EventFilter;
use mmsim::report::proc::Kind;
use mmsim::scenario;

/// A discrete-event simulator of Linux memory management.
#[derive(Parser, Debug)]
#[command(
    name = "mmsim",
    version,
    max_term_width = 100,
    after_help = "\
Example:
  mmsim run scenarios/ebizzy-anon.toml --seeds 5

A file `-` is stdin or stdout.

Exit codes: 0 done; 1 a check did not hold, or a run panicked; 2 bad usage or bad input;
3 the simulated system ended early; 128 and its number after a signal."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Run(RunArgs),
    List(ListArgs),
    Trace(TraceArgs),
    Damon(DamonArgs),
    BenchTrace(BenchTraceArgs),
    Validate(ValidateArgs),
    Reproduce(ReproduceArgs),
    Accuracy(AccuracyArgs),
    Compare(CompareArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// A document that has a JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Document {
    /// Scenario files.
    Scenario,
    /// Reports.
    Report,
}

/// The form of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One document with everything.
    Json,
    /// The same in rows.
    Csv,
}

/// Where results go, and in what form.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Form of the results [default: what the ending of FILE says, else table]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<Format>,
    /// Write the results to FILE, whole or not at all, instead of to stdout; `.gz` and `.zst` pack it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Run every variant and seed of a scenario and report what happened
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim run scenarios/ebizzy-anon.toml
  mmsim run scenarios/ebizzy-anon.toml --set machine.memory=2GiB --seeds 5 --format json -o r.json
  mmsim run scenarios/ebizzy-anon.toml --variant v5.5 --events e.jsonl \\
      --events-filter kind=sim_refault,pages=0-511
  mmsim run scenarios/ebizzy-anon.toml --seeds 1 --emit vmstat,zoneinfo --emit-dir files")]
pub(crate) struct RunArgs {
    /// Scenario files
    #[arg(required = true, value_name = "SCENARIO")]
    pub scenarios: Vec<PathBuf>,
    /// Override a key of the scenario, as in `machine.memory=2GiB`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
    /// The seed, or the first of them
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How many seeds: the first and those that follow it
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 10_000),
          allow_negative_numbers = true)]
    pub seeds: Option<u32>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Only this variant; can be given several times
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Audit the invariants of the machine as it runs
    #[arg(long)]
    pub check: bool,
    /// Write trace events as JSON lines
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Only these events: `kind=NAME`, `task=NAME`, `pages=A-B`, with commas between them
    #[arg(long, value_name = "FILTER", value_parser = EventFilter::parse)]
    pub events_filter: Option<EventFilter>,
    /// End the events at SIZE, as in `1GiB`: each run has an equal part, and its last line says so
    #[arg(long, value_name = "SIZE", value_parser = at_least_a_line)]
    pub events_limit: Option<u64>,
    /// Write every counter and list size over simulated time as CSV
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// Simulated time between two rows of the series [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub every: Option<SimDuration>,
    /// Write files as the kernel prints them, at the end of every phase and of the run
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind())]
    pub emit: Vec<Kind>,
    /// The folder for them: DIR/RUN/PHASE is laid out as /proc is
    #[arg(long, value_name = "DIR")]
    pub emit_dir: Option<PathBuf>,
    /// Write what monitors with `record = true` saw into DIR/RUN: NAME.data for damo, and
    /// NAME.perf.txt as `perf script` prints it
    #[arg(long, value_name = "DIR")]
    pub damon_record: Option<PathBuf>,
    /// Print the scenario with every default resolved, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write the host's times as JSON (results never hold them)
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Listed {
    /// Policies and kernels under their names.
    Presets,
    /// Generators of accesses.
    Workloads,
    /// Event counters.
    Counters,
    /// Swap and file devices.
    Devices,
    /// Every mechanism that can be switched.
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

/// List what there is, one line each
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  mmsim list presets
  mmsim list knobs --preset classic-v5.9
  mmsim list knobs --preset classic-seed-2   # what one patch of a series changed
  mmsim list zoneinfo --memory 16GiB --cpus 8 --thp
  mmsim list zoneinfo --zones DMA=3840,DMA32=772915,Normal=3506176 --cpus 2 --format text"
)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum, value_name = "WHAT")]
    pub what: Listed,
    /// With `knobs`: their values in this preset, and what it changed
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<String>,
    /// Form of the list [default: what the ending of FILE says, else table]
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
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub vm: Vec<(String, String)>,
    /// Transparent huge pages are on, which raises min_free_kbytes
    #[arg(long)]
    pub thp: bool,
}

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
    /// Say what a trace holds
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
    /// lirs or ucsd; other options come before what it says
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
    /// csv: what the columns are, as in `page=lbn,op=rw`; roles are page, address, offset, sector,
    /// key, volume, op, size, sectors, count, repeats, pid and time; `#3` is the third column
    /// [default: columns named so]
    #[arg(long, value_name = "ROLE=NAME,..")]
    pub columns: Option<String>,
    /// csv: what is between fields: comma, tab, semicolon or blank [default: what the first line
    /// has]
    #[arg(long, value_name = "WORD")]
    pub delimiter: Option<String>,
    /// csv, vscsi: what operations do, as in `get=r,set=w,ping=skip`; words that nobody knows are
    /// left out and counted
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
    /// csv, vscsi: unit of the times: ns, us, ms, s, so many of them as in 100ns (Windows), or none
    /// to leave them out
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// csv, vscsi: what the pages are: anon, or file (mapped shared) [default: anon]
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
    /// How many records
    #[arg(short = 'n', value_name = "N", default_value_t = 10, value_parser = whole,
          allow_negative_numbers = true)]
    pub count: u64,
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
    /// Show the regions of a snapshot, the working set over all of them, and whether they are valid
    #[command(after_help = "\
Examples:
  mmsim damon report damon.data
  mmsim damon report perf.txt --snapshot 100 --format csv")]
    Report(DamonReportArgs),
    /// Draw how often what was accessed when
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
    /// Its format: raw-u32, raw-u64, oracle-general or mmt [default: what its name tells]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Frames of the machine, page tables and free reserves among them: pages (1000), a size
    /// (64MiB) or a share of the trace's distinct pages (10%); several with commas between them
    /// are runs of their own
    #[arg(long, value_name = "N,..", required = true, value_delimiter = ',')]
    pub frames: Vec<Frames>,
    /// Runs at the same time, of several sizes or policies [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Preset of the reclaim policy; several, with commas between them or given again, are runs of
    /// their own at each size
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

/// Replay recorded kernel experiments and print recorded beside simulated counters
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim validate evidence/reference --quick --brief
  mmsim validate evidence/reference --gate --format json -o validation.json
  mmsim validate evidence/reference --experiment zipf-anon --format csv")]
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
    /// In the table: only the counters that tell policies apart, summed over all phases
    #[arg(long)]
    pub brief: bool,
    /// Exit with 1 if a rule on how close the model should be is missed
    #[arg(long)]
    pub gate: bool,
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
    /// pagecache-chain
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
    /// Exit with 1 if a figure is not as close as is asked
    #[arg(long)]
    pub gate: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Write docs/accuracy.md: how close the model comes to recorded kernels, and what remains
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim accuracy
  mmsim accuracy --quick --check
  mmsim accuracy my-kernels -o my-accuracy.md

It is made from `mmsim validate DIR`, from gaps.toml and calibration.toml.")]
pub(crate) struct AccuracyArgs {
    /// The folder with the recorded experiments
    #[arg(value_name = "DIR", default_value = "evidence/reference")]
    pub dir: PathBuf,
    /// The folder with gaps.toml and calibration.toml
    #[arg(long, value_name = "DIR", default_value = "evidence")]
    pub evidence: PathBuf,
    /// Write nothing; exit with 1 if the file is not what would be written
    #[arg(long)]
    pub check: bool,
    /// Replay only the quick subset of points, and renew or check its part of the file
    #[arg(long)]
    pub quick: bool,
    /// Replays at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// The file that is written
    #[arg(short, long, value_name = "FILE", default_value = "docs/accuracy.md")]
    pub output: PathBuf,
}

/// Hold two reports of runs against each other: what moved, and what was set otherwise
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim compare before.json after.json
  mmsim compare before.json after.json --phase access --format csv -o moved.csv
  mmsim compare before.json after.json --fail-above 5")]
pub(crate) struct CompareArgs {
    /// A report, as `mmsim run --format json -o A` writes it
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The report that is compared with it
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Only this phase
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Counts for each 1,000 records, for runs that did different work
    #[arg(long)]
    pub per_work: bool,
    /// In the table: only so many of the values that moved most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub top: usize,
    /// In the table: all values, also those that did not move
    #[arg(long, conflicts_with = "top")]
    pub all: bool,
    /// Exit with 1 if a value moved by more than PCT per cent, counted with a hundred added to
    /// both sides
    #[arg(long, value_name = "PCT", value_parser = per_cent, allow_negative_numbers = true)]
    pub fail_above: Option<f64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Print a JSON Schema of scenario files, for editors
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim schema -o scenario.schema.json
  mmsim schema report -o report.schema.json")]
pub(crate) struct SchemaArgs {
    /// Which documents: scenario files, or the JSON report of `mmsim run`
    #[arg(value_enum, default_value_t = Document::Scenario)]
    pub of: Document,
    /// Write the schema to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Print the manual page of mmsim or of one verb
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim man run | man -l -
  mmsim man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The verb, as in `run` or `trace import`; without it the page of mmsim
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// Write the pages of all verbs to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub dir: Option<PathBuf>,
}

/// Print a script that completes mmsim's arguments in a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  mmsim completions bash > ~/.local/share/bash-completion/completions/mmsim")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// A file of the kernel by its name.
fn kind() -> impl TypedValueParser<Value = Kind> {
    let named = |name: String| {
        Kind::ALL.into_iter().find(|k| k.name() == name).expect("one of the possible values")
    };
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).map(named)
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("write KEY=VALUE, as in machine.memory=2GiB".to_string()),
    }
}

/// A zone and the pages that it manages.
fn zone(text: &str) -> Result<(ZoneKind, u32), String> {
    let (name, pages) = text.split_once('=').unwrap_or((text, ""));
    let kind = ZoneKind::ALL.into_iter().find(|k| k.name() == name);
    match (kind, pages.parse()) {
        (Some(kind), Ok(pages)) if pages > 0 => Ok((kind, pages)),
        _ => Err("write ZONE=PAGES, ZONE one of DMA, DMA32, Normal, Movable".to_string()),
    }
}

/// A whole number within a range.
fn within<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| (least..=most).contains(n));
        let number = number.and_then(|n: u64| T::try_from(n).ok());
        number.ok_or_else(|| match most {
            0x20_0000_0000_0000 => format!("write a whole number from {least} to 2^53"),
            _ => format!("write a whole number from {least} to {most}"),
        })
    }
}

fn whole(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match text.parse() {
        Ok(n) if n <= 1 << 53 => Ok(n),
        _ => Err("write a whole number from 0 to 2^53".to_string()),
    }
}

/// A size in bytes that holds a line at least.
fn at_least_a_line(text: &str) -> Result<u64, String> {
    let nothing = text.trim().trim_start_matches('0').is_empty();
    let bytes = if nothing { Ok(0) } else { scenario::bytes(text) };
    match bytes.map_err(|e| e.to_string())? {
        bytes if bytes < 4096 => Err("write a size of at least 4KiB, as in 1GiB".to_string()),
        bytes => Ok(bytes),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("write a whole number of at least 1".to_string()),
    }
}

fn power_of_two(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n) if [1, 2, 4, 8, 16, 32].contains(&n) => Ok(n),
        _ => Err("write 1, 2, 4, 8, 16 or 32".to_string()),
    }
}

fn per_cent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim_end().parse() {
        Ok(n) if (0.0..f64::INFINITY).contains(&n) => Ok(n),
        _ => Err("write a number of per cent, as in 5 or 0.5".to_string()),
    }
}

/// A span of simulated time with its unit.
fn duration(text: &str) -> Result<SimDuration, String> {
    let wrong = || "write a time with its unit (ns, us, ms, s), as in 100ms".to_string();
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit.trim_start() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(scale) {
        Some(0) => Err("write a time above nothing: such an interval would never end".to_string()),
        Some(nanos) => Ok(SimDuration::from_nanos(nanos)),
        None => Err("write at most 584 years: more time cannot be simulated".to_string()),
    }
}

/// `FROM-TO`, decimal or hexadecimal bytes.
fn addresses(text: &str) -> Result<(u64, u64), String> {
    let number = |s: &str| match s.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => s.parse().ok(),
    };
    let pair = text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    let pair = pair.filter(|(from, to)| from < to);
    pair.ok_or_else(|| "write first byte and end, as in 4096-8192 or 0x1000-0x2000".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("100ms"), Ok(SimDuration::from_millis(100)));
        assert_eq!(duration("2 s"), Ok(SimDuration::from_secs(2)));
        for wrong in ["100", "ms", "1.5s", "0ms", "5min", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn per_cents_are_no_less_than_nothing() {
        assert_eq!(per_cent("5"), Ok(5.0));
        assert_eq!(per_cent("0.5 %"), Ok(0.5));
        for wrong in ["-1", "NaN", "inf", "", "five"] {
            assert!(per_cent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn overrides_have_a_key_and_a_value() {
        assert_eq!(
            key_value("vm.swappiness = 10"),
            Ok(("vm.swappiness".to_string(), "10".to_string()))
        );
        assert_eq!(key_value("a=b=c"), Ok(("a".to_string(), "b=c".to_string())));
        assert!(key_value("swappiness").is_err());
        assert!(key_value("=3").is_err());
    }
}
