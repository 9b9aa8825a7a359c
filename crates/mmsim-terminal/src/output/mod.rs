//! Where results go: stdout, a pipe, or a file that appears whole or not at all.
//!
//! A file is written under a temporary name in the same directory, synced, and renamed at the
//! end, so that an error, a full disk or Ctrl-C leaves what was there before. The temporary
//! files of this process are known ([`signal`]), and a signal removes them; what a killed process
//! left, the next one that writes there removes (`left`). What cannot be
//! replaced (pipes, devices, open descriptors) is written directly, and opened once.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use tempfile::NamedTempFile;
use zstd::stream::write::Encoder as ZstdEncoder;

use mmsim::error::escaped;
use mmsim::marks;

use crate::colours;
use crate::exit::{self, Failure};

pub mod form;
mod left;
mod parts;
mod place;
pub mod signal;

use form::Packing;
pub use parts::{Part, Parts};
use place::Place;
pub use place::is_stdout;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;

/// Where bytes go before they are committed.
enum Sink {
    /// To be renamed to this place.
    Temporary(NamedTempFile, PathBuf),
    /// A device or a pipe, which cannot be replaced by renaming.
    Direct(File),
    /// A pipe with a name. It is opened when the first byte is there, since that waits for a
    /// reader, and a reader takes its closing for the end.
    Fifo(PathBuf, Option<File>),
    /// The bytes have no reader: the reader of a pipe has seen enough, or the file is given up.
    Nobody,
}

impl Sink {
    /// The file behind it.
    fn file(&mut self) -> io::Result<Option<&mut File>> {
        Ok(match self {
            Sink::Temporary(file, _) => Some(file.as_file_mut()),
            Sink::Direct(file) => Some(file),
            Sink::Fifo(path, file) => Some(match file {
                Some(file) => file,
                None => file.insert(File::options().write(true).open(path)?),
            }),
            Sink::Nobody => None,
        })
    }

    fn commit(mut self) -> io::Result<()> {
        // A pipe is opened also if there is nothing to write: its reader waits.
        self.file()?;
        let Sink::Temporary(file, place) = &self else { return Ok(()) };
        match file.as_file().sync_all() {
            // Not every file system can.
            Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
                return Err(e);
            }
            _ => {}
        }
        // A rename after which the file's own deletion on drop finds nothing to delete.
        fs::rename(file.path(), place)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.file()? {
            Some(file) => file.write(bytes),
            None => return Ok(bytes.len()),
        };
        match written {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                exit::reader_gone();
                *self = Sink::Nobody;
                Ok(bytes.len())
            }
            written => written,
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Sink::Temporary(file, _) = self {
            signal::forget(file.path());
        }
    }
}

fn temporary_beside(place: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let [prefix, suffix] = left::NAME;
    builder.prefix(prefix).suffix(suffix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file: the umask takes away what the user does not want to give.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let folder = place::folder_of(place);
    left::remove(folder);
    let file = signal::begin(|| {
        let file = left::held(|| builder.tempfile_in(folder))?;
        let path = file.path().to_path_buf();
        Ok((file, path))
    })?;
    match like_before(&file, place) {
        Ok(()) => Ok(file),
        Err(e) => {
            signal::forget(file.path());
            Err(e)
        }
    }
}

/// Gives a file the owner, as far as that is allowed, and the mode of what it replaces.
fn like_before(file: &NamedTempFile, place: &Path) -> io::Result<()> {
    let Ok(before) = fs::metadata(place) else { return Ok(()) };
    // Whoever may not write to a file may not replace it.
    File::options().write(true).open(place)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let now = file.as_file().metadata()?;
        if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
            let _ = fchown(file.as_file(), Some(before.uid()), Some(before.gid()));
        }
    }
    file.as_file().set_permissions(before.permissions())
}

fn sink(place: Place) -> io::Result<Sink> {
    Ok(match place {
        Place::File(path) => {
            let file = temporary_beside(&path)?;
            Sink::Temporary(file, path)
        }
        Place::Fifo(path) => Sink::Fifo(path, None),
        Place::Device(path) => Sink::Direct(File::options().write(true).open(path)?),
        Place::Descriptor(number) => Sink::Direct(open_descriptor(number)?),
    })
}

/// A descriptor of this process, to write to. A file behind it is written where it stands.
fn open_descriptor(number: u32) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        match number {
            1 => return Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
            2 => return Ok(io::stderr().as_fd().try_clone_to_owned()?.into()),
            _ => {}
        }
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        match number {
            1 => return Ok(io::stdout().as_handle().try_clone_to_owned()?.into()),
            2 => return Ok(io::stderr().as_handle().try_clone_to_owned()?.into()),
            _ => {}
        }
    }
    File::options().append(true).open(format!("/dev/fd/{number}"))
}

/// Compressor of the bytes on their way.
enum Packer {
    Plain(BufWriter<Sink>),
    Gzip(GzEncoder<BufWriter<Sink>>),
    Zstd(ZstdEncoder<'static, BufWriter<Sink>>),
}

impl Packer {
    fn new(sink: Sink, packing: Option<Packing>) -> io::Result<Packer> {
        let out = BufWriter::with_capacity(BUFFER, sink);
        Ok(match packing {
            None => Packer::Plain(out),
            Some(Packing::Gzip) => {
                Packer::Gzip(GzEncoder::new(out, flate2::Compression::default()))
            }
            Some(Packing::Zstd) => {
                Packer::Zstd(ZstdEncoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Packer::Plain(out) => out,
            Packer::Gzip(out) => out,
            Packer::Zstd(out) => out,
        }
    }

    fn give_up(&mut self) {
        let out = match self {
            Packer::Plain(out) => out,
            Packer::Gzip(out) => out.get_mut(),
            Packer::Zstd(out) => out.get_mut(),
        };
        *out.get_mut() = Sink::Nobody;
    }

    fn finish(self) -> io::Result<Sink> {
        let out = match self {
            Packer::Plain(out) => out,
            Packer::Gzip(out) => out.finish()?,
            Packer::Zstd(out) => out.finish()?,
        };
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// A file that appears at its place when it is committed, and not before; or a pipe or a
/// device, which takes every byte as it comes. The ending of its name decides about packing.
pub struct AtomicFile {
    /// `None` once it is committed.
    out: Option<Packer>,
    target: PathBuf,
}

impl AtomicFile {
    /// Begins a file that will be at `target`.
    pub fn create(target: &Path) -> Result<AtomicFile, Failure> {
        let failed = |error: io::Error| Failure::file("write", target, &error);
        let place = Place::of(target).map_err(failed)?;
        let packing = match place {
            Place::Descriptor(_) => None,
            _ => form::packing(target),
        };
        let out = sink(place).and_then(|sink| Packer::new(sink, packing)).map_err(failed)?;
        Ok(AtomicFile { out: Some(out), target: target.to_path_buf() })
    }

    /// Puts the file in its place.
    pub fn commit(mut self) -> Result<(), Failure> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let done = out.finish().and_then(Sink::commit);
        done.map_err(|e| Failure::file("write", &self.target, &e))
    }

    /// Appends a part of a file. The kernel copies it where nothing packs it.
    fn append(&mut self, mut from: io::Take<&File>) -> io::Result<()> {
        if let Some(Packer::Plain(out)) = &mut self.out {
            out.flush()?;
            if let Sink::Temporary(file, _) = out.get_mut() {
                io::copy(&mut from, file.as_file_mut())?;
                return Ok(());
            }
        }
        io::copy(&mut BufReader::with_capacity(BUFFER, from), self)?;
        Ok(())
    }

    fn writer(&mut self) -> &mut dyn Write {
        self.out.as_mut().expect("only commit takes it").writer()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // What is still buffered is not written, least of all to a pipe that waits for a reader.
        if let Some(out) = &mut self.out {
            out.give_up();
        }
    }
}

/// Writes results to stdout, or to a file, whole or not at all. When the reader of a pipe has gone
/// away, other results are written nevertheless, and the exit code says it in the end.
pub fn deliver(bytes: &[u8], file: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else {
        let mut stdout = io::stdout().lock();
        return written_to_stdout(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    };
    let mut out = AtomicFile::create(path)?;
    out.write_all(bytes).map_err(|e| Failure::file("write", path, &e))?;
    out.commit()
}

/// Judges what came of writing to stdout. Whoever reads a pipe may close it before its end.
pub(crate) fn written_to_stdout(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            exit::reader_gone();
            Ok(())
        }
        Err(e) => Err(Failure::said(format!("cannot write to stdout: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// The same of a text that people may read: names in it come from input, and their control
/// characters are shown and not done. To JSON an escaped character is the same character. On a
/// terminal with colours its marks become sequences.
pub fn show(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    let text = escaped(text);
    match file.is_none() && colours::of_results() {
        true => deliver(marks::painted(&text).as_bytes(), file),
        false => deliver(text.as_bytes(), file),
    }
}

/// Refuses to write a file that is read, or one place twice. `outputs` are the options with
/// their files, as far as they were given; a device can be written by anyone at any time.
pub fn distinct(inputs: &[&Path], outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    // A place that cannot be resolved now is refused when it is opened.
    let place = |path: &Path| match Place::of(path).ok()? {
        Place::Device(_) => None,
        place => Some(place),
    };
    let inputs = inputs.iter().filter(|path| **path != Path::new("-"));
    let mut taken: Vec<(&str, &Path, Place)> =
        inputs.filter_map(|p| Some(("", *p, place(p)?))).collect();
    // The report comes last: a file for it leaves what the options share as it is.
    let (report, options): (Vec<_>, Vec<_>) = outputs.iter().partition(|o| o.0 == REPORT);
    for (option, path) in options.into_iter().chain(report) {
        let Some((path, here)) = path.and_then(|p| Some((p, place(p)?))) else { continue };
        let Some(&(other, of_other, _)) = taken.iter().find(|(.., there)| *there == here) else {
            taken.push((option, path, here));
            continue;
        };
        let stdout = here == Place::Descriptor(1);
        let said = match other {
            "" => {
                format!("{option} {}: that is the input itself, name another file", path.display())
            }
            _ if option == REPORT => format!(
                "{other} {}: that is stdout, where the report goes; write the report to a file \
                 with -o, or name another file here",
                of_other.display()
            ),
            _ if stdout => format!(
                "{option} {}: that is stdout, and so is the file of {other}; name another file \
                 for one of them",
                path.display()
            ),
            _ => format!(
                "{option} {}: that is the file of {other} too, name another file",
                path.display()
            ),
        };
        return Err(Failure::said(said));
    }
    Ok(())
}

/// The option of a report that goes to stdout since none was given.
pub const REPORT: &str = "the report";

/// Checks that a file can be written, before the work that would be lost with it. A pipe is not
/// opened: that would wait for its reader, and closing it would be the end to him.
pub fn check(file: Option<&Path>) -> Result<(), Failure> {
    file.map_or(Ok(()), |path| AtomicFile::create(path).map(drop))
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
        assert!(matches!(error, Failure::Input(m) if m.title().starts_with("cannot write ")));
        assert!(deliver(b"x", Some(dir.path())).is_err());
    }

    /// A reader knows the name on the command line, not that of the temporary file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_that_takes_no_files() {
        let Failure::Input(message) = deliver(b"x", Some(Path::new("/proc/r"))).unwrap_err() else {
            panic!("it is the input that is wrong")
        };
        assert_eq!(message.title(), "cannot write /proc/r: No such file or directory (os error 2)");
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
}
