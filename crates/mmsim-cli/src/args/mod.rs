//! Arguments. Each verb has an example in its help.

mod ablate;
mod curve;
mod evaluate;
mod explain;
mod list;
mod policy;
mod sweep;
mod system;
mod traces;
mod tune;
mod values;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mmsim::base::time::SimDuration;
use mmsim::miniature::Share;
use mmsim::report::derived::Figure;
use mmsim::report::events::EventFilter;
use mmsim::report::proc::Kind;
use mmsim::scenario::GroupPolicy;

pub(crate) use ablate::AblateArgs;
pub(crate) use curve::CurveArgs;
pub(crate) use evaluate::EvaluateArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use mmsim_terminal::args::{Format, OutputArgs};
use mmsim_terminal::man::{CompletionsArgs, ManArgs};

pub(crate) use list::{ListArgs, ListFormat, Listed, MachineArgs};
pub(crate) use policy::{
    PolicyArgs, PolicyBuildArgs, PolicyCheckArgs, PolicyHeadersArgs, PolicyNewArgs, PolicyVerb,
};
pub(crate) use sweep::{
    MergeFormat, ShowArgs, ShownArgs, SweepArgs, SweepMergeArgs, SweepPlace, SweepPlanArgs,
    SweepRunArgs, SweepStatusArgs, SweepVerb,
};
pub(crate) use system::{ImportSystemArgs, ProgramsArg, SizesArg};
pub(crate) use traces::{
    BenchTraceArgs, ContentsArgs, DamonArgs, DamonHeatmapArgs, DamonImportArgs, DamonReportArgs,
    DamonVerb, EventsArgs, TraceArgs, TraceHeadArgs, TraceImportArgs, TraceInfoArgs, TraceVerb,
};

pub(crate) use tune::TuneArgs;
pub(crate) use why::WhyArgs;

pub(crate) use values::group_policy;
use values::{
    at_least_a_line, at_least_one, duration, figure, key_value, kind, per_cent, share, whole,
    within,
};

/// A discrete-event simulator of Linux memory management.
#[derive(Parser, Debug)]
#[command(
    name = "mmsim",
    version,
    max_term_width = 100,
    help_template = concat!("\
{about}

{usage-heading} {usage}
", include_str!("verbs.txt"), "
Options:
{options}{after-help}"),
    after_help = "\
Example:
  mmsim run scenarios/ebizzy-anon.toml --seeds 5

A file `-` is stdin or stdout. A closed stdout (`>&-`) is taken for /dev/null: use -o FILE.

Exit codes: 0 done; 1 a check did not hold, or a run panicked; 2 bad usage or bad input;
3 the simulated system ended early; 128 and its number after a signal."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// Verbs by subject, as the help lists them.
#[cfg(test)]
const SUBJECTS: [(&str, &[&str]); 6] = [
    ("Run", &["run", "curve", "sweep", "tune", "evaluate", "policy"]),
    ("Compare and explain", &["show", "compare", "view", "why", "ablate"]),
    ("Look up", &["explain", "list", "schema"]),
    ("Traces and monitors", &["trace", "bench-trace", "events", "damon", "contents"]),
    ("Machines", &["import-system"]),
    ("Shell", &["completions", "man", "help"]),
];

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Run(Box<RunArgs>),
    Curve(Box<CurveArgs>),
    Sweep(Box<SweepArgs>),
    Tune(TuneArgs),
    Evaluate(EvaluateArgs),
    Policy(PolicyArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    List(ListArgs),
    Trace(TraceArgs),
    Events(EventsArgs),
    Damon(DamonArgs),
    Contents(ContentsArgs),
    ImportSystem(ImportSystemArgs),
    BenchTrace(BenchTraceArgs),
    Compare(CompareArgs),
    View(ViewArgs),
    Why(WhyArgs),
    Ablate(AblateArgs),
    Schema(SchemaArgs),
    #[command(
        about = "Print a script that completes mmsim's arguments in a shell",
        after_help = "\
Example:
  mmsim completions bash > ~/.local/share/bash-completion/completions/mmsim"
    )]
    Completions(CompletionsArgs),
    #[command(
        about = "Print the manual page of mmsim or of one verb",
        after_help = "\
Examples:
  mmsim man run | man -l -
  mmsim man trace import | man -l -
  mmsim man --dir ~/.local/share/man/man1"
    )]
    Man(ManArgs),
}

/// A document that has a JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Document {
    /// Scenario files.
    Scenario,
    /// Reports.
    Report,
    /// Results of `mmsim tune`.
    Tuning,
}

/// Run every variant and seed of a scenario and report the results
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim run scenarios/ebizzy-anon.toml
  mmsim run scenarios/ebizzy-anon.toml --set machine.memory=2GiB --seeds 5 --format json -o r.json
  mmsim run scenarios/ebizzy-anon.toml --variant v5.5 --events e.jsonl \\
      --events-filter kind=sim_refault,pages=0-511
  mmsim run scenarios/ebizzy-anon.toml --seeds 1 --emit vmstat,zoneinfo --emit-dir files
  mmsim run scenarios/miniatures/zipf.toml --miniature auto")]
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
    /// Number of seeds: the first and those that follow it
    #[arg(long, value_name = "N", value_parser = within::<u32>(1, 10_000),
          allow_negative_numbers = true)]
    pub seeds: Option<u32>,
    /// Runs at the same time [default: one per CPU]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Folder that keeps each result as its run ends: the same command goes on from there
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "html", "svg", "folded", "perfetto", "events", "series", "timing", "emit_dir", "damon_record",
        "dry_run",
    ])]
    pub store: Option<PathBuf>,
    /// Add a variant with a policy for cache_ext: a module that `mmsim policy build` made, or
    /// `builtin:mru`; can be given several times. Without GROUP it is for the only group with a limit,
    /// else for the machine
    #[arg(long = "policy", value_name = "[GROUP=]MODULE", value_parser = group_policy)]
    pub policies: Vec<GroupPolicy>,
    /// Only this variant; can be given several times
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Only the settings where this axis has this value; can be given for several axes
    #[arg(long, value_name = "AXIS=VALUE", value_parser = key_value)]
    pub at: Vec<(String, String)>,
    /// Audit the invariants of the machine as it runs
    #[arg(long)]
    pub check: bool,
    /// Write trace events as JSON lines; a FILE that ends with .mmev has them as bytes, which take a
    /// fortieth of the room and which `mmsim events` prints
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
    /// Write the results as one HTML file with charts, which any browser opens
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// In the file of --html: evictions and refaults of pages over time, which takes longer to run
    #[arg(long)]
    pub html_pages: bool,
    /// In the file of --html: pageblocks over time and compaction's scanners, for which every frame of
    /// memory is looked at now and then
    #[arg(long)]
    pub html_blocks: bool,
    /// Write the main figure of all variants as an SVG picture; of a single run its course over time
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the classes of --why as folded stacks, which tools for flame graphs read
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
    /// Write CPUs, threads, kswapd and evictions over time as a trace that ui.perfetto.dev opens
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// The figure that pictures show, as in `swap-ins`, and by which variants, or settings of axes, are
    /// sorted in the table, the best first [default: the first that any run has, unsorted]
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    pub by: Option<Figure>,
    #[command(flatten)]
    pub table: TableArgs,
    /// Simulated time between two rows of the series [default: 100ms; without --series 10ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub every: Option<SimDuration>,
    /// Write files as the kernel prints them, at the end of every phase and of the run
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind())]
    pub emit: Vec<Kind>,
    /// The folder for them: DIR/RUN/PHASE is laid out as /proc is
    #[arg(long, value_name = "DIR")]
    pub emit_dir: Option<PathBuf>,
    /// Write the records of monitors with `record = true` into DIR/RUN: NAME.data for damo, and
    /// NAME.perf.txt as `perf script` prints it
    #[arg(long, value_name = "DIR")]
    pub damon_record: Option<PathBuf>,
    /// Explain why pages came back: the refaults of each run by class
    #[arg(long)]
    pub why: bool,
    /// Run each setting as small machines with a sample of the pages, and print estimates with
    /// intervals: `1/64` keeps one page of 64, `auto` as few as estimates allow
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub miniature: Option<Share>,
    /// With --miniature: samples of each run, of which no two share a page [default: 4]
    #[arg(long, value_name = "N", value_parser = within::<u32>(4, 1024),
          allow_negative_numbers = true)]
    pub samples: Option<u32>,
    /// Print the scenario with every default resolved, and run nothing
    #[arg(long, conflicts_with_all = [
        "html", "svg", "folded", "perfetto", "events", "series", "timing", "emit_dir", "damon_record",
    ])]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print the host's times on standard error
    #[arg(short, long)]
    pub verbose: bool,
    /// Write the host's times as JSON (results never hold them)
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
}

/// Rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Rows {
    /// A line for each variant with the figures that differ; with axes a line for each setting.
    Short,
    /// All figures of the machine, its tasks and phases, in a block for each setting.
    Full,
}

/// Rows and base of a table.
#[derive(Args, Debug)]
pub(crate) struct TableArgs {
    /// Rows of the table [default: short]
    #[arg(long = "table", value_name = "ROWS", value_enum)]
    pub rows: Option<Rows>,
    /// In the table: the variant that the others are compared with [default: the first]
    #[arg(long, value_name = "VARIANT")]
    pub base: Option<String>,
}

/// Compare two saved reports in numbers: changed figures and changed settings
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
    /// In the table: the number of values to show, those that moved most first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub top: usize,
    /// In the table: all values, even those that did not move
    #[arg(long, conflicts_with = "top")]
    pub all: bool,
    /// Exit with 1 if a value moved by more than PCT per cent, counted with a hundred added to
    /// both sides
    #[arg(long, value_name = "PCT", value_parser = per_cent, allow_negative_numbers = true)]
    pub fail_above: Option<f64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Draw saved reports as one HTML page, several of one scenario beside each other
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim view report.json -o report.html
  mmsim view report.json --series series.csv -o report.html
  mmsim view 32MiB.json 64MiB.json -o both.html")]
pub(crate) struct ViewArgs {
    /// Reports, as `mmsim run --format json -o REPORT` writes them
    #[arg(required = true, value_name = "REPORT")]
    pub reports: Vec<PathBuf>,
    /// File that `mmsim run --series FILE` wrote beside the report; for several reports one each
    #[arg(long, value_name = "FILE")]
    pub series: Vec<PathBuf>,
    /// The figure that the page begins with, as in `swap-ins` [default: the first that any run has]
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    pub by: Option<Figure>,
    /// Write the page to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Print a JSON Schema of scenario files, for editors
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim schema -o scenario.schema.json
  mmsim schema report -o report.schema.json")]
pub(crate) struct SchemaArgs {
    /// The document: scenario files, the JSON report of `mmsim run`, or the JSON of `mmsim tune`
    #[arg(value_enum, default_value_t = Document::Scenario)]
    pub of: Document,
    /// Write the schema to FILE, whole or not at all, instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Each verb has its line in verbs.txt, under its subject and with its own words.
    #[test]
    fn the_help_lists_all_verbs_by_subject() {
        let mut command = Cli::command();
        command.build();
        let about = |name: &str| {
            let verb = command.find_subcommand(name).unwrap_or_else(|| panic!("no verb {name}"));
            verb.get_about().map(ToString::to_string).unwrap_or_default()
        };
        let mut text = String::new();
        for (subject, verbs) in SUBJECTS {
            text += &format!("\n{subject}:\n");
            for verb in verbs {
                let folded = crate::table::folded(&about(verb), 78);
                let mut lines = folded.iter();
                text += &format!("  {verb:<14} {}\n", lines.next().map_or("", String::as_str));
                text.extend(lines.map(|line| format!("{:17}{line}\n", "")));
            }
        }
        let listed: usize = SUBJECTS.iter().map(|s| s.1.len()).sum();
        assert_eq!(listed, command.get_subcommands().count(), "a verb has no subject");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/args/verbs.txt");
        if std::env::var_os("MMSIM_BLESS").is_some() {
            std::fs::write(path, &text).expect("the list of verbs is written");
        }
        assert_eq!(std::fs::read_to_string(path).expect("verbs.txt"), text);
    }
}
