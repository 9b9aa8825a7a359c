//! Endings of files' names: the form that they stand for, and the check that the file will have it.

use std::io::IsTerminal as _;
use std::path::Path;

use mmsim_terminal::args::{picture, safe_csv};
use mmsim_terminal::exit::Failure;
use mmsim_terminal::output::form::{self, Content};

use crate::args::{
    DamonArgs, DamonVerb, Format, ListArgs, ListFormat, MergeFormat, RunArgs, SweepMergeArgs,
    SweepVerb, TraceArgs, TraceVerb, Verb,
};

impl Verb {
    /// Refuses names of files that promise something else than what will be in them.
    pub(crate) fn endings_agree(&self) -> Result<(), Failure> {
        match self {
            Verb::Run(args) => args.endings_agree(),
            Verb::Trace(TraceArgs { what: TraceVerb::Import(args) }) => {
                form::unpacked("--output", &args.output)
            }
            Verb::Trace(TraceArgs { what: TraceVerb::Info(args) }) => args.output.agrees(),
            Verb::Events(args) => lines("-o", args.output.as_deref()),
            Verb::Damon(DamonArgs { what: DamonVerb::Report(args) }) => args.output.agrees(),
            Verb::Damon(DamonArgs { what: DamonVerb::Heatmap(args) }) => {
                picture("--png", args.png.as_deref(), Content::Png)?;
                picture("--svg", args.svg.as_deref(), Content::Svg)?;
                args.output.agrees()
            }
            Verb::BenchTrace(args) => args.output.agrees(),
            Verb::Curve(args) => {
                picture("--svg", args.svg.as_deref(), Content::Svg)?;
                picture("--html", args.html.as_deref(), Content::Html)?;
                args.output.agrees()
            }
            Verb::Compare(args) => args.output.agrees(),
            Verb::Show(args) => args.output.agrees(),
            Verb::View(args) => form::agree("-o", args.output.as_deref(), Content::Html, &[]),
            Verb::Sweep(args) => match &args.what {
                Some(SweepVerb::Merge(args)) => args.endings_agree(),
                _ => Ok(()),
            },
            Verb::Why(args) => args.output.agrees(),
            Verb::Ablate(args) => args.output.agrees(),
            Verb::Tune(args) => args.output.agrees(),
            Verb::Evaluate(args) => lines("--output", args.output.as_deref()),
            Verb::List(args) => args.agrees(),
            _ => Ok(()),
        }
    }
}

/// Refuses a name that promises something else than JSON lines.
fn lines(option: &str, path: Option<&Path>) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| form::packable(option, path))?;
    form::agree(option, path, Content::JsonLines, &[Content::Json])
}

impl RunArgs {
    /// True if the report is a table on a terminal.
    pub(crate) fn on_terminal(&self) -> bool {
        let table = self.output.form() == Format::Table && !self.output.plain();
        let shown = self.output.output.is_none() && table;
        shown && std::io::stdout().is_terminal()
    }

    fn endings_agree(&self) -> Result<(), Failure> {
        let files = [
            ("--events", &self.events, Content::JsonLines, &[Content::Json, Content::Events][..]),
            ("--series", &self.series, Content::Csv, &[]),
            ("--html", &self.html, Content::Html, &[]),
            ("--svg", &self.svg, Content::Svg, &[]),
            ("--timing", &self.timing, Content::Json, &[]),
        ];
        for (option, path, writes, also) in files {
            let Some(path) = path.as_deref() else { continue };
            form::packable(option, path)?;
            form::agree(option, Some(path), writes, also)?;
        }
        match self.dry_run {
            true if self.output.csv_safe => safe_csv(true, false),
            true => form::agree("--output", self.output.output.as_deref(), Content::Toml, &[]),
            false => self.output.agrees(),
        }
    }
}

impl SweepMergeArgs {
    fn endings_agree(&self) -> Result<(), Failure> {
        if let Some(path) = self.html.as_deref() {
            form::packable("--html", path)?;
            form::agree("--html", Some(path), Content::Html, &[])?;
        }
        picture("--svg", self.svg.as_deref(), Content::Svg)?;
        if self.csv_safe && !matches!(self.form(), MergeFormat::Tidy | MergeFormat::Wide) {
            let title = "--csv-safe: nothing is written as CSV";
            let help = "write --format wide or tidy too, or leave it out";
            return Err(Failure::Input(mmsim::Error::of_option(title).help(help)));
        }
        let Some(path) = &self.output else { return Ok(()) };
        mmsim_terminal::colours::leave_out();
        form::packable("--output", path)?;
        let form = match self.form() {
            MergeFormat::Table | MergeFormat::Parquet => Content::Table,
            MergeFormat::Json => Content::Json,
            MergeFormat::Tidy | MergeFormat::Wide => Content::Csv,
        };
        form::agree("--output", Some(path), form, &[])
    }
}

impl ListArgs {
    /// The form of the option, or of the ending of the file's name.
    pub(crate) fn form(&self) -> ListFormat {
        let by_name = || match form::content(self.output.as_deref()?)? {
            Content::Json => Some(ListFormat::Json),
            Content::Csv => Some(ListFormat::Csv),
            _ => None,
        };
        self.format.or_else(by_name).unwrap_or(ListFormat::Table)
    }

    fn agrees(&self) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        form::packable("--output", path)?;
        let form = match self.form() {
            ListFormat::Json => Content::Json,
            ListFormat::Csv => Content::Csv,
            ListFormat::Table | ListFormat::Text => Content::Table,
        };
        form::agree("--output", Some(path), form, &[])
    }
}
