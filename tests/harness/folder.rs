//! A folder for the files of a test. Tests of mmsim-cli, mmsim-lab and mmsim-score include this file
//! too.

use std::path::PathBuf;

use tempfile::TempDir;

/// A folder with the files of one test, which is removed in the end.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// One that has a file already.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, content);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("writing a test's file");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("reading a result")
    }

    pub(crate) fn read_bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("reading a result")
    }

    /// The names in it, sorted; those of temporary files too.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |e: std::io::Result<std::fs::DirEntry>| {
            e.expect("an entry").file_name().into_string().expect("a plain name")
        };
        let mut names: Vec<String> =
            std::fs::read_dir(self.0.path()).expect("the folder").map(name).collect();
        names.sort();
        names
    }
}
