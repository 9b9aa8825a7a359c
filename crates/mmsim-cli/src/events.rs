//! `mmsim events`: the lines of a file of events.

use std::io::Write as _;
use std::path::Path;

use mmsim::error::ErrorKind;
use mmsim::report::events::EventFile;

use crate::args::EventsArgs;
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output::{self, AtomicFile};

/// Bytes of lines that are written at a time.
const CHUNK: usize = 1 << 16;

/// Prints the lines. Of a file that is cut off, those of its whole blocks are written before the
/// message.
pub(crate) fn events(args: &EventsArgs) -> Result<Ending, Failure> {
    output::distinct(&[&args.file], &[("--output", args.output.as_deref())])?;
    let mut file = EventFile::open(&args.file)?;
    if let Some(filter) = &args.events_filter {
        file.filter(filter);
    }
    let to = args.output.as_deref().unwrap_or(Path::new("-"));
    let mut out = AtomicFile::create(to)?;
    let mut lines = Vec::with_capacity(2 * CHUNK);
    let end = loop {
        let more = file.advance();
        if let Ok(true) = more {
            file.event().write_line(&mut lines);
        }
        if lines.len() >= CHUNK || !matches!(more, Ok(true)) {
            out.write_all(&lines).map_err(|e| Failure::file("write", to, &e))?;
            lines.clear();
        }
        match more {
            // The reader of the pipe closed it.
            Ok(true) if exit::has_reader_gone() => break Ok(false),
            Ok(true) => {}
            end => break end,
        }
    };
    match end {
        Err(e) if e.kind() == ErrorKind::Option => return Err(e.into()),
        end => out.commit().and_then(|()| Ok(end?))?,
    };
    Ok(Ending::Done)
}
