//! `mmsim trace import`, `trace info`, `trace head`.

use std::io::Write;
use std::path::Path;

use crate::args::{Format, TraceArgs, TraceHeadArgs, TraceImportArgs, TraceInfoArgs, TraceVerb};
use crate::input::Seekable;
use crate::{backend, table};
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
    let info = if args.from.as_deref().is_some_and(mmsim::traces::reads_again) {
        let input = Seekable::open(&args.input)?;
        backend::trace_import(args, input.path(), &mut out).map_err(|e| input.named(e))?
    } else {
        backend::trace_import(args, &args.input, &mut out)?
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

fn info(args: &TraceInfoArgs) -> Result<(), Failure> {
    output::distinct(&[&args.file], &[("--output", args.output.output.as_deref())])?;
    let file = Seekable::open(&args.file)?;
    let (table, rows) = backend::trace_info(file.path()).map_err(|e| file.named(e))?;
    let text = match args.output.form() {
        Format::Table => table,
        format => table::pairs(&rows, format),
    };
    args.output.show(&text)
}

fn head(args: &TraceHeadArgs) -> Result<(), Failure> {
    let mut text = String::new();
    let file = Seekable::open(&args.file)?;
    for line in backend::trace_head(file.path(), args.count).map_err(|e| file.named(e))? {
        text += &line;
        text.push('\n');
    }
    output::show(&text, None)
}
