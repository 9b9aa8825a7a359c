//! Where results go: stdout, or a file that appears whole or not at all.
//!
//! A file is written under a temporary name in the same directory and renamed at the end,
//! so that an error, a full disk or Ctrl-C leaves what was there before. The temporary
//! files of this process are known here, and an interrupt removes them.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::exit::Failure;

static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes Ctrl-C remove temporary files before the process ends, with the code that shells
/// give to an interrupted command.
pub(crate) fn remove_temporaries_on_interrupt() {
    // Without a handler an interrupt may leave a temporary file behind: no reason to stop.
    let _ = ctrlc::set_handler(|| {
        // The lock is kept: no new temporary file can appear before the process is gone.
        for path in temporaries().iter() {
            let _ = fs::remove_file(path);
        }
        std::process::exit(130);
    });
}

/// Where bytes go before they are committed.
enum Sink {
    /// To be renamed.
    Temporary(NamedTempFile),
    /// A device or a pipe, which cannot be replaced by renaming.
    Direct(File),
}

/// A file that appears at its place when it is committed, and not before.
pub(crate) struct AtomicFile {
    out: BufWriter<Sink>,
    target: PathBuf,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Temporary(file) => file.write(bytes),
            Sink::Direct(file) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Temporary(file) => file.flush(),
            Sink::Direct(file) => file.flush(),
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Sink::Temporary(file) = self {
            let path = file.path();
            temporaries().retain(|p| p != path);
        }
    }
}

/// The directory of a file; `.` for a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mmsim-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: the umask takes away what the user does not want to give.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // Registered under the lock, so that an interrupt cannot come in between.
    let mut known = temporaries();
    let file = builder.tempfile_in(directory_of(target))?;
    known.push(file.path().to_path_buf());
    Ok(file)
}

impl AtomicFile {
    /// Begins a file that will be at `target`.
    pub(crate) fn create(target: &Path) -> Result<AtomicFile, Failure> {
        let failed = |error: io::Error| Failure::file("write", target, &error);
        // Through a link, what it points to is replaced, not the link.
        let place = match fs::metadata(target) {
            Ok(_) => fs::canonicalize(target).map_err(failed)?,
            Err(_) => target.to_path_buf(),
        };
        let sink = match fs::metadata(&place) {
            Ok(there) if there.is_dir() => {
                return Err(failed(io::Error::from(ErrorKind::IsADirectory)));
            }
            Ok(there) if !there.is_file() => {
                Sink::Direct(File::options().write(true).open(&place).map_err(failed)?)
            }
            _ => {
                // Asked here, since what tempfile says names the temporary file.
                let folder = directory_of(&place);
                fs::metadata(folder).map_err(|e| match e.kind() {
                    ErrorKind::NotFound => {
                        failed(io::Error::other(format!("there is no folder {}", folder.display())))
                    }
                    _ => failed(e),
                })?;
                Sink::Temporary(temporary_beside(&place).map_err(failed)?)
            }
        };
        Ok(AtomicFile { out: BufWriter::with_capacity(1 << 16, sink), target: place })
    }

    /// Puts the file in its place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let AtomicFile { out, target } = self;
        let failed = |error: &io::Error| Failure::file("write", &target, error);
        let mut sink = out.into_inner().map_err(|e| failed(e.error()))?;
        sink.flush().map_err(|e| failed(&e))?;
        if let Sink::Temporary(file) = &sink {
            // A rename after which the file's own deletion on drop finds nothing to delete.
            fs::rename(file.path(), &target).map_err(|e| failed(&e))?;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes results to stdout, or to a file, whole or not at all. A reader of stdout that
/// has gone away is no error: it has seen enough.
pub(crate) fn deliver(bytes: &[u8], file: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = file else {
        let mut stdout = io::stdout().lock();
        return match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(Failure::Input(format!("cannot write to stdout: {e}"))),
            Ok(()) => Ok(()),
        };
    };
    let mut out = AtomicFile::create(path)?;
    out.write_all(bytes).map_err(|e| Failure::file("write", path, &e))?;
    out.commit()
}

/// Refuses to write a file that is read, or the same file twice. `outputs` are the options
/// with their files, as far as they were given.
pub(crate) fn distinct(inputs: &[&Path], outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    // A device or a pipe can be written by anyone at any time.
    let place = |path: &Path| -> Option<PathBuf> {
        match fs::canonicalize(path) {
            Ok(real) => real.is_file().then_some(real),
            Err(_) => Some(fs::canonicalize(directory_of(path)).ok()?.join(path.file_name()?)),
        }
    };
    let mut taken: Vec<(&str, PathBuf)> =
        inputs.iter().filter_map(|path| Some(("", place(path)?))).collect();
    for &(option, path) in outputs {
        let Some((path, here)) = path.and_then(|p| Some((p, place(p)?))) else { continue };
        let what = match taken.iter().find(|(_, other)| *other == here) {
            Some(("", _)) => "is the input itself",
            Some((other, _)) => &format!("is the file of {other} too"),
            None => {
                taken.push((option, here));
                continue;
            }
        };
        return Err(Failure::Input(format!(
            "{option} {}: that {what}, name another file",
            path.display()
        )));
    }
    Ok(())
}

/// Whether a file can be written, asked before the work that it would be lost with.
pub(crate) fn check(file: Option<&Path>) -> Result<(), Failure> {
    file.map_or(Ok(()), |path| AtomicFile::create(path).map(drop))
}

/// One file that several runs write at the same time. A single run writes it directly;
/// otherwise each run has a file of its own, without a name, so that an interrupt leaves
/// nothing, and they are put together in the order of the runs.
pub(crate) struct Parts {
    target: PathBuf,
    parts: Vec<Mutex<Option<Part>>>,
}

/// What one run writes.
pub(crate) enum Part {
    /// All of the file.
    Whole(AtomicFile),
    /// A piece of it.
    Piece(BufWriter<File>),
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Part::Whole(file) => file.write(bytes),
            Part::Piece(file) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Part::Whole(file) => file.flush(),
            Part::Piece(file) => file.flush(),
        }
    }
}

impl Parts {
    /// Begins a file of `nr` parts. What cannot be written is known before the runs.
    pub(crate) fn create(target: &Path, nr: usize) -> Result<Parts, Failure> {
        let piece = || -> Result<Part, Failure> {
            // In the directory of the file, where its room is needed anyway; elsewhere if
            // that takes no files, as for a device.
            let file = tempfile::tempfile_in(directory_of(target))
                .or_else(|_| tempfile::tempfile())
                .map_err(|e| Failure::file("write", target, &e))?;
            Ok(Part::Piece(BufWriter::with_capacity(1 << 16, file)))
        };
        let parts: Result<Vec<Part>, Failure> = match nr {
            1 => Ok(vec![Part::Whole(AtomicFile::create(target)?)]),
            _ => (0..nr).map(|_| piece()).collect(),
        };
        let parts = parts?.into_iter().map(|part| Mutex::new(Some(part))).collect();
        Ok(Parts { target: target.to_path_buf(), parts })
    }

    fn slot(&self, index: usize) -> MutexGuard<'_, Option<Part>> {
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part to write to.
    pub(crate) fn take(&self, index: usize) -> Part {
        self.slot(index).take().expect("each run takes its part once")
    }

    /// Hands a finished part in.
    pub(crate) fn put(&self, index: usize, part: Part) {
        *self.slot(index) = Some(part);
    }

    /// Puts the parts together. `header_lines` at the start of every part but the first
    /// are left out.
    pub(crate) fn commit(self, header_lines: usize) -> Result<(), Failure> {
        let failed = |e: &io::Error| Failure::file("write", &self.target, e);
        let mut joined: Option<AtomicFile> = None;
        for part in self.parts {
            match part.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(Part::Whole(file)) => return file.commit(),
                Some(Part::Piece(piece)) => {
                    let skip = if joined.is_none() { 0 } else { header_lines };
                    let out = match &mut joined {
                        Some(out) => out,
                        None => joined.insert(AtomicFile::create(&self.target)?),
                    };
                    let file = piece.into_inner().map_err(|e| failed(e.error()))?;
                    append(file, skip, out).map_err(|e| failed(&e))?;
                }
                None => {}
            }
        }
        joined.map_or(Ok(()), AtomicFile::commit)
    }
}

fn append(mut file: File, skip_lines: usize, out: &mut AtomicFile) -> io::Result<()> {
    use std::io::{BufRead, BufReader, Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    for _ in 0..skip_lines {
        reader.skip_until(b'\n')?;
    }
    io::copy(&mut reader, out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        fs::write(&path, "before").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"after").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(names(dir.path()), ["r.json"]);
    }

    #[test]
    fn or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }

    #[test]
    fn a_place_that_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let error = deliver(b"x", Some(&dir.path().join("no/such/r.json"))).unwrap_err();
        assert!(matches!(error, Failure::Input(m) if m.starts_with("cannot write ")));
        assert!(deliver(b"x", Some(dir.path())).is_err());
    }

    /// A reader knows the name that was asked for, not that of the temporary file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_that_takes_no_files() {
        let Failure::Input(message) = deliver(b"x", Some(Path::new("/proc/r"))).unwrap_err() else {
            panic!("it is the input that is wrong")
        };
        assert_eq!(message, "cannot write /proc/r: No such file or directory (os error 2)");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_stay_what_they_are() {
        deliver(b"gone", Some(Path::new("/dev/null"))).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());

        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "before").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        deliver(b"after", Some(&link)).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn parts_come_in_order_and_with_one_header() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.csv");
        let parts = Parts::create(&path, 2).unwrap();
        for index in [1, 0] {
            let mut part = parts.take(index);
            write!(part, "header\nrow {index}\n").unwrap();
            parts.put(index, part);
        }
        assert_eq!(names(dir.path()), Vec::<String>::new());
        parts.commit(1).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "header\nrow 0\nrow 1\n");
        assert_eq!(names(dir.path()), ["s.csv"]);
    }
}
