//! `mmsim contents`: what the pages of a file hold, as far as compressors see it.
//!
//! No other verb reads bytes of memory: `trace` reads accesses to pages, `damon` reads how often they
//! were used, and `import-system` reads what a kernel says of itself.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use mmsim::contents::{Compressor, Measured};
use mmsim::{Error, files};

use crate::args::{ContentsArgs, Format};
use crate::table;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Runs the command.
pub(crate) fn contents(args: &ContentsArgs) -> Result<Ending, Failure> {
    let compressor = Compressor::named(&args.compressor)?;
    let output = args.output.as_deref();
    output::distinct(&[&args.file], &[("--output", output)])?;
    output::check(output)?;
    let measured = Measured::read(open(&args.file)?, compressor)
        .map_err(|e| files::unreadable(&args.file, &e))?;
    if measured.pages == 0 {
        let title = format!("{}: the file is empty", args.file.display());
        return Err(Error::plain(title).help("a file of one page at least").into());
    }
    let summary = table::pairs(&measured.summary(), Format::Table);
    let head = format!("# {} pages by {}\n", measured.pages, args.compressor);
    let law = head + &measured.contents();
    if output.is_some() {
        output::deliver(law.as_bytes(), output)?;
        output::show(&summary, None)?;
    } else {
        output::show(&format!("{summary}\n{law}"), None)?;
    }
    Ok(Ending::Done)
}

/// Opens an input; `-` is stdin.
fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|e| files::unreadable(path, &e))?;
    #[cfg(unix)]
    if file.metadata().is_ok_and(|m| {
        use std::os::unix::fs::FileTypeExt as _;
        m.file_type().is_char_device()
    }) {
        let title = format!("{}: a device like this has no end", path.display());
        return Err(Error::plain(title).help("a file, or `-` for a pipe").into());
    }
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}
