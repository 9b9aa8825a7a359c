//! Temporary files that a killed process left.
//!
//! A process that is killed removes nothing (SIGKILL, a power cut). So each temporary file is locked
//! as long as its process lives, and the next process that writes into the folder removes those
//! that are no longer held. The lock is the kernel's: it ends with the process, whatever ended it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

/// Beginning and ending of the names of temporary files.
pub(super) const NAME: [&str; 2] = [".mmsim-", ".tmp"];

/// Folders that were looked through: once for each is enough.
static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the temporary files of a folder whose processes are gone.
pub(super) fn remove(folder: &Path) {
    if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf()) {
        return;
    }
    // What cannot be looked at is no reason to write nothing.
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|n| n.starts_with(NAME[0]) && n.ends_with(NAME[1]));
        if ours && entry.file_type().is_ok_and(|t| t.is_file()) {
            let path = entry.path();
            let free = File::options().write(true).open(&path).is_ok_and(|file| locked(&file));
            if free {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Makes a temporary file and locks it. Between the two another process may have taken it for one
/// that was left; then it is made again.
pub(super) fn held(
    mut make: impl FnMut() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    loop {
        let file = make()?;
        // On a file system without locks no process holds it, and it is not removed.
        if !locked(file.as_file()) || file.path().exists() {
            return Ok(file);
        }
    }
}

/// Locks a file for this process; false if it is held or cannot be locked.
fn locked(file: &File) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FlockOperation, flock};
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in [".mmsim-left.tmp", ".mmsim-held.tmp", ".mmsim-note", "x.tmp"] {
            fs::write(at(name), "half").unwrap();
        }
        let held = File::open(at(".mmsim-held.tmp")).unwrap();
        assert!(locked(&held));
        fs::create_dir(at(".mmsim-folder.tmp")).unwrap();
        super::super::deliver(b"whole", Some(&at("r.json"))).unwrap();
        let mut names: Vec<_> =
            dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            names,
            [".mmsim-folder.tmp", ".mmsim-held.tmp", ".mmsim-note", "r.json", "x.tmp"]
        );
    }

    /// The lock is taken on the file that has the name, or on a new one.
    #[test]
    fn one_that_was_taken_away_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut made = 0;
        let file = held(|| {
            made += 1;
            let file = NamedTempFile::new_in(dir.path())?;
            if made == 1 {
                fs::remove_file(file.path())?;
            }
            Ok(file)
        });
        assert!(file.unwrap().path().exists());
        assert_eq!(made, 2);
    }
}
