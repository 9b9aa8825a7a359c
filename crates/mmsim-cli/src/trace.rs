//! `mmsim trace import`, `trace info`, `trace head`.

use std::io::Write;
use std::path::Path;

use mmsim::{Error, traces};

use crate::args::{Format, TraceArgs, TraceHeadArgs, TraceImportArgs, TraceInfoArgs, TraceVerb};
use crate::input::Seekable;
use crate::table;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output::{self, AtomicFile};

/// Runs the subcommand.
pub(crate) fn trace(args: &TraceArgs) -> Result<Ending, Failure> {
    match &args.what {
        TraceVerb::Import(args) => import(args),
        TraceVerb::Info(args) => info(args),
        TraceVerb::Head(args) => head(args),
    }?;
    Ok(Ending::Done)
}

fn import(args: &TraceImportArgs) -> Result<(), Failure> {
    let inputs = [Some(args.input.as_path()), args.maps.as_deref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().collect();
    output::distinct(&inputs, &[("--output", Some(&args.output))])?;
    let mut out = AtomicFile::create(&args.output)?;
    let info = if args.from.as_deref().is_some_and(traces::reads_again) {
        let input = Seekable::open(&args.input)?;
        convert(args, input.path(), &mut out).map_err(|e| input.named(e))?
    } else {
        convert(args, &args.input, &mut out)?
    };
    out.flush().map_err(|e| Failure::file("write", &args.output, &e))?;
    out.commit()?;
    let said = table::pairs(&info, Format::Table);
    if output::is_stdout(&args.output) {
        // Stdout has the trace. If stderr is gone, the message has no reader.
        let _ = std::io::stderr().write_all(mmsim::error::escaped(&said).as_bytes());
        return Ok(());
    }
    output::show(&said, None)
}

/// Converts a trace. Writes nothing to `out` that is not part of the result, and says what
/// it read in pairs of name and value.
fn convert(
    args: &TraceImportArgs,
    input: &Path,
    out: &mut dyn Write,
) -> Result<Vec<(String, String)>, Error> {
    let stem = match args.input == Path::new("-") {
        true => Some("stdin".into()),
        false => args.input.file_stem().map(|stem| stem.to_string_lossy()),
    };
    let mut settings = traces::ImportSettings::default();
    // As the user named the file, which may be a copy.
    settings.name = args.name.as_deref().or(stem.as_deref());
    settings.maps = args.maps.as_deref();
    settings.window = args.window;
    settings.refresh = args.refresh;
    settings.fetches = args.no_fetches.then_some(false);
    settings.dense = args.dense;
    settings.columns = args.columns.as_deref();
    settings.page_size = args.page_size;
    settings.time_unit = args.time_unit.as_deref();
    settings.kind = args.pages_are.as_deref();
    settings.like = args.like.as_deref();
    settings.delimiter = args.delimiter.as_deref();
    settings.ops = args.ops.as_deref();
    settings.sort = args.sort;
    settings.fill = args.fill;
    settings.touched_only = args.touched_only;
    settings.level = args.level;
    // A shape is one of values in columns.
    let from = args.from.as_deref().unwrap_or("csv");
    traces::import(from, input, &settings, out)
}

fn info(args: &TraceInfoArgs) -> Result<(), Failure> {
    output::distinct(&[&args.file], &[("--output", args.output.output.as_deref())])?;
    let file = Seekable::open(&args.file)?;
    let (table, rows) = traces::info(file.path()).map_err(|e| file.named(e))?;
    let text = match args.output.form() {
        Format::Table => table,
        format => table::pairs(&rows, format),
    };
    args.output.show(&text)
}

fn head(args: &TraceHeadArgs) -> Result<(), Failure> {
    let mut text = String::new();
    let file = Seekable::open(&args.file)?;
    for line in traces::head(file.path(), args.count).map_err(|e| file.named(e))? {
        text += &line;
        text.push('\n');
    }
    output::show(&text, None)
}
