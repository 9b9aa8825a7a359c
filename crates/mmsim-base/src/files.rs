//! Reading files that users name, with a message for each way in which one can be another
//! than what was hoped for.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use mmsim_workload::trace::{decompressed, refused};
use serde_json::error::Category;

use crate::error::{Error, ErrorKind};
use crate::nearest::nearest;

/// Reads the file at `path`, which may be compressed by gzip or zstd. `what` is what the caller
/// wants, as in "a scenario file".
///
/// # Errors
///
/// There is no such file, it is a directory, it may not be read, it cannot be unpacked, or it is
/// not UTF-8: then the message names line and column of the first byte that is not.
pub fn read_text(path: &Path, what: &str) -> Result<String, Error> {
    let name = path.display().to_string();
    text_of(unpacked(read_bytes(path, what)?, &name)?, &name)
}

/// Bytes that came from `name`, unpacked if they are compressed by gzip or zstd.
///
/// # Errors
///
/// They are cut off or damaged, they hold more than 1 GiB, or they are compressed in a way that is
/// not read.
pub fn unpacked(bytes: Vec<u8>, name: &str) -> Result<Vec<u8>, Error> {
    let error = |why: &str, help: String| {
        Error::new(ErrorKind::File, format!("`{name}` cannot be unpacked: {why}")).help(help)
    };
    if let Some((how, unpack)) = refused(&bytes) {
        let why = format!("it is compressed with {how}");
        return Err(error(
            &why,
            format!("unpack it with `{unpack}`, or compress it with gzip or zstd"),
        ));
    }
    if !matches!(bytes[..], [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..]) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    let read = decompressed(&bytes[..]).map_err(|e| e.to_string()).and_then(|unpack| {
        unpack.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|e| e.to_string())
    });
    read.map_err(|e| error(&e, "it may be cut off, copy it anew".to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(error("it holds more than 1 GiB", "use a part of it".to_string()));
    }
    Ok(text)
}

/// Bytes of a file that is read whole, and of what a compressed one unpacks to: 1 GiB. More is no
/// input of people, and would take the memory of the host.
pub const MOST_BYTES: u64 = 1 << 30;

/// Reads the file at `path`, which need not be text.
///
/// # Errors
///
/// There is no such file, it is a directory, it may not be read, or it is more than 1 GiB.
pub fn read_bytes(path: &Path, what: &str) -> Result<Vec<u8>, Error> {
    match read_at_most(path, what, MOST_BYTES)? {
        Some(bytes) => Ok(bytes),
        None => Err(cannot_read(path, "it is more than 1 GiB", &format!("name {what}, or a part"))),
    }
}

/// Reads the file at `path` unless it has more than `most` bytes. No more than one byte beyond them is
/// taken from it, be it a file, a pipe or a device that never ends.
///
/// # Errors
///
/// There is no such file, it is a directory, or it may not be read.
pub fn read_at_most(path: &Path, what: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let input = open(path, what)?.take(most + 1);
    { input }.read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Bytes that came from `name` as text.
///
/// # Errors
///
/// They are not UTF-8.
pub fn text_of(bytes: Vec<u8>, name: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|e| not_text(&e, name))
}

/// Opens the file at `path`; `-` is stdin, which can be read once. `what` is what the caller wants,
/// as in "a trace".
///
/// # Errors
///
/// There is no such file, it is a directory, or it may not be read.
pub fn open(path: &Path, what: &str) -> Result<File, Error> {
    if path == Path::new("-") {
        return stdin().map_err(|e| unreadable(path, &e));
    }
    if path.is_dir() {
        return Err(directory(path, what));
    }
    File::open(path).map_err(|e| unreadable(path, &e))
}

fn stdin() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        io::stdin().as_handle().try_clone_to_owned().map(File::from)
    }
}

fn cannot_read(path: &Path, why: &str, help: &str) -> Error {
    let title = format!("cannot read `{}`: {why}", path.display());
    Error::new(ErrorKind::File, title).help(help)
}

fn directory(path: &Path, what: &str) -> Error {
    cannot_read(path, "it is a directory", &format!("name {what} within it"))
}

/// Name to write in place of a file that is not there: one of its folder with nearly its name.
fn instead(path: &Path) -> String {
    let folder = match path.parent() {
        Some(p) if p.as_os_str().is_empty() => Path::new("."),
        Some(p) => p,
        None => return "check the path".to_string(),
    };
    let Ok(entries) = folder.read_dir() else {
        return format!("`{}` is no folder that can be read", folder.display());
    };
    let mut names: Vec<String> =
        entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wanted = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    match nearest(wanted, &names) {
        Some(near) => format!("did you mean `{}`?", path.with_file_name(near).display()),
        None => format!("`{}` has no such name, check the path", folder.display()),
    }
}

/// Error of the system about a file or a folder.
pub fn unreadable(path: &Path, e: &io::Error) -> Error {
    match e.kind() {
        io::ErrorKind::NotFound => cannot_read(path, "there is no such file", &instead(path)),
        io::ErrorKind::PermissionDenied => {
            cannot_read(path, "permission denied", "check its permissions")
        }
        _ => cannot_read(path, &e.to_string(), "check the path"),
    }
}

/// An error of the JSON in `text`, which came from `name`, at its line and column. `form`
/// is what it is no example of, as in "report of mmsim", where it is JSON but of another
/// form.
pub fn bad_json(e: &serde_json::Error, text: &str, name: &str, form: &str) -> Error {
    // The place is shown, so the words need not say it too.
    let words = e.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(w, _)| w);
    let (title, label) = match e.classify() {
        _ if too_deep(e) => (
            format!("`{name}` is nested more than {DEEPEST_JSON} levels deep"),
            format!("write at most {DEEPEST_JSON} levels of [ and {{"),
        ),
        Category::Eof if text.trim().is_empty() => {
            (format!("`{name}` is empty"), format!("no {form} is here"))
        }
        Category::Eof => (format!("`{name}` is cut off: {words}"), "it ends here".to_string()),
        Category::Syntax => (format!("`{name}` is not JSON: {words}"), "here".to_string()),
        Category::Data | Category::Io => {
            (format!("`{name}` is no {form}: {words}"), "here".to_string())
        }
    };
    let shared: Arc<str> = text.into();
    let at = offset(text, e.line(), e.column());
    Error::new(ErrorKind::File, title).at(name, &shared, at..at, label)
}

/// Levels of lists and objects that are read, one within the other.
pub const DEEPEST_JSON: usize = 127;

/// True if JSON has more levels than are read.
pub fn too_deep(e: &serde_json::Error) -> bool {
    e.classify() == Category::Syntax && e.to_string().starts_with("recursion limit exceeded")
}

/// Bytes before a line and column, both from 1 and the column in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// Something that is not UTF-8. A file that begins with zeros or the marks of compressed files and
/// traces is no text in another encoding, so the message must not suggest to save it again.
fn not_text(e: &std::string::FromUtf8Error, shown: &str) -> Error {
    let at = e.utf8_error().valid_up_to();
    let (bytes, bad) = (e.as_bytes(), e.as_bytes().get(at).copied().unwrap_or(0));
    let kind = match bytes {
        [b'M', b'M', b'T', ..] => Some((
            "it is a trace",
            "`mmsim trace info` describes it, a task with `workload = \"replay\"` replays it",
        )),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x1f, 0x8b, ..] => {
            Some(("it is compressed twice", "unpack it once"))
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(("it is UTF-16", "save the file as UTF-8")),
        _ if bytes.contains(&0) => Some(("it is no text", "check the path")),
        _ => None,
    };
    if let Some((kind, help)) = kind {
        let title = format!("cannot read `{shown}` as text: {kind}");
        return Error::new(ErrorKind::File, title).help(help);
    }
    let text: Arc<str> = String::from_utf8_lossy(bytes).as_ref().into();
    Error::new(ErrorKind::File, format!("`{shown}` is not UTF-8 text: byte 0x{bad:02x}")).at(
        shown,
        &text,
        at..at + char::REPLACEMENT_CHARACTER.len_utf8(),
        "save the file as UTF-8",
    )
}
