//! Place that the name of an output stands for.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Place that a name stands for, links followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// An open descriptor of this process: `-`, `/dev/stdout`, `/dev/fd/N`.
    Descriptor(u32),
    /// A file that is there or will be.
    File(PathBuf),
    /// A pipe that has a name.
    Fifo(PathBuf),
    /// Another thing that is written and cannot be replaced, as `/dev/null`.
    Device(PathBuf),
}

/// Links that are followed before they are taken for a circle, as in Linux.
const MOST_LINKS: u32 = 40;

/// The folder of a file; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The number of a descriptor of this process by its name in the file system, where the
/// folder's own links are followed already.
fn descriptor(folder: &Path, name: &str) -> Option<u32> {
    let pid = std::process::id();
    let of_this_process = folder == Path::new("/dev/fd")
        || folder == Path::new(&format!("/proc/{pid}/fd"))
        || folder.starts_with(format!("/proc/{pid}/task")) && folder.ends_with("fd");
    if folder == Path::new("/dev") {
        let streams = ["stdin", "stdout", "stderr"];
        return (0..).zip(streams).find(|s| s.1 == name).map(|s| s.0);
    }
    name.parse().ok().filter(|_| of_this_process)
}

impl Place {
    /// Place that `path` stands for. A link is followed also if nothing is where it points to.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, it is a folder itself, or links lead in a circle.
    pub(crate) fn of(path: &Path) -> io::Result<Place> {
        if path == Path::new("-") {
            return Ok(Place::Descriptor(1));
        }
        let mut path = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            let folder = folder_of(&path);
            let Some(name) = path.file_name().filter(|_| !ends_with_separator(&path)) else {
                return Err(ErrorKind::IsADirectory.into());
            };
            let folder = fs::canonicalize(folder).map_err(|e| match e.kind() {
                ErrorKind::NotFound => {
                    io::Error::other(format!("there is no folder {}", folder.display()))
                }
                _ => e,
            })?;
            if let Some(number) = name.to_str().and_then(|name| descriptor(&folder, name)) {
                return Ok(Place::Descriptor(number));
            }
            path = folder.join(name);
            match fs::symlink_metadata(&path) {
                Ok(there) if there.is_symlink() => path = folder.join(fs::read_link(&path)?),
                Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
                Ok(there) if !there.is_file() => {
                    return Ok(if is_fifo(&there) {
                        Place::Fifo(path)
                    } else {
                        Place::Device(path)
                    });
                }
                Ok(_) => return Ok(Place::File(path)),
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Place::File(path)),
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::other("its links lead in a circle"))
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(std::path::MAIN_SEPARATOR_STR.as_bytes())
}

fn is_fifo(there: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        there.file_type().is_fifo()
    }
    #[cfg(not(unix))]
    {
        let _ = there;
        false
    }
}

/// True if output there goes to stdout.
pub fn is_stdout(path: &Path) -> bool {
    matches!(Place::of(path), Ok(Place::Descriptor(1)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_to_their_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let real = fs::canonicalize(dir.path()).unwrap();
        symlink("b", at("a")).unwrap();
        symlink("sub/c", at("b")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        // Nothing is there yet.
        assert_eq!(Place::of(&at("a")).unwrap(), Place::File(real.join("sub/c")));
        symlink("/dev/stdout", at("out")).unwrap();
        assert_eq!(Place::of(&at("out")).unwrap(), Place::Descriptor(1));
        symlink("round", at("round")).unwrap();
        assert!(Place::of(&at("round")).unwrap_err().to_string().contains("circle"));
    }

    #[test]
    fn descriptors_have_several_names() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            if name == "-" || Path::new(name).exists() {
                assert_eq!(Place::of(Path::new(name)).unwrap(), Place::Descriptor(1), "{name}");
            }
        }
        assert_eq!(Place::of(Path::new("/dev/null")).unwrap(), Place::Device("/dev/null".into()));
    }
}
