//! Inputs: reports, and files that are read several times or from several places at once, as traces
//! of this program and of cache simulators are. Of these, stdin and pipes are copied to a temporary
//! file first.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use mmsim::report::Report;
use mmsim::{Error, files, sweep};
use mmsim_terminal::exit::Failure;

/// Reads a report, with its name in messages.
pub(crate) fn report(path: &Path) -> Result<(String, Report), Error> {
    sweep::refuse_store(path, "a report")?;
    let (name, text) = (path.display().to_string(), files::read_text(path, "a report")?);
    let report = Report::read(&text, &name)?;
    Ok((name, report))
}

/// A file that can be opened anew, and that has a beginning.
pub(crate) struct Seekable {
    given: PathBuf,
    /// A file without a name, and the name by which this process can open it.
    copy: Option<(File, PathBuf)>,
}

impl Seekable {
    /// `-` is stdin. What is a file already is taken as it is.
    pub(crate) fn open(path: &Path) -> Result<Seekable, Failure> {
        let given = path.to_path_buf();
        let is_file = || std::fs::metadata(path).map_or(true, |m| m.is_file() || m.is_dir());
        if path != Path::new("-") && is_file() {
            return Ok(Seekable { given, copy: None });
        }
        let name = if path == Path::new("-") { Path::new("stdin") } else { path };
        let copied = copy(path).map_err(|e| Failure::file("read", name, &e))?;
        Ok(Seekable { given, copy: Some(copied) })
    }

    /// File to open.
    pub(crate) fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&self.given, |copy| &copy.1)
    }

    /// An error that speaks of the file that the user named.
    pub(crate) fn named(&self, error: Error) -> Error {
        let Some((_, path)) = &self.copy else { return error };
        let (from, to) = (path.display().to_string(), self.given.display().to_string());
        error.renamed(&from, &to)
    }
}

/// Bytes that are copied of what is no file: 16 GiB, so that an input without end ends.
const MOST_COPIED: u64 = 16 << 30;

#[cfg(unix)]
fn copy(path: &Path) -> io::Result<(File, PathBuf)> {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd;
    let temporary = |e| {
        let folder = std::env::temp_dir();
        io::Error::other(format!("its copy in {}: {e}", folder.display()))
    };
    let mut file = tempfile::tempfile().map_err(temporary)?;
    let from: Box<dyn io::Read> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path)?),
    };
    let (mut from, mut block, mut copied) = (from.take(MOST_COPIED + 1), vec![0; 1 << 16], 0);
    loop {
        let n = match from.read(&mut block) {
            Ok(0) => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        copied += n as u64;
        if copied > MOST_COPIED {
            return Err(io::Error::other("it is more than 16 GiB, write it to a file first"));
        }
        file.write_all(&block[..n]).map_err(temporary)?;
    }
    let path = format!("/dev/fd/{}", file.as_raw_fd()).into();
    Ok((file, path))
}

#[cfg(not(unix))]
fn copy(_: &Path) -> io::Result<(File, PathBuf)> {
    Err(io::Error::other("this system cannot reopen a pipe: write it to a file first"))
}
