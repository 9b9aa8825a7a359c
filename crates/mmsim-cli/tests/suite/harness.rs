//! Runs the program itself in a folder of its own. The tests of mmsim-lab include this file too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::program;

/// Output of a command.
pub(crate) struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    /// Without what the host took, which differs from run to run.
    pub stderr: String,
}

/// A folder with the files of one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("writing a test's file");
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

    /// The program with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command.env_remove("COLUMNS");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn mmsim(&self, args: &[&str]) -> Said {
        let out = self.command(args).output().expect("starting mmsim");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("messages are UTF-8");
        Said { code: out.status.code(), stdout: text(out.stdout), stderr: text(out.stderr) }
    }
}

/// A machine of `memory` MiB with two processors, swap of 64 MiB on a device that works in its own
/// time, and two tasks: `heap`, drawn pages of `heap` MiB of its own, and `file`, three passes over
/// a mapped file of `file` MiB.
pub(crate) fn heap_and_file(memory: u32, heap: u32, file: u32) -> String {
    format!(
        r#"name = "x"
seed = 1

[machine]
memory = "{memory}MiB"
cpus = 2
swap = {{ size = "64MiB", device = "nvme" }}

[[task]]
name = "heap"
workload = "zipf"
memory = "{heap}MiB"
theta = 0.8
accesses = 30000
write-permille = 300

[[task]]
name = "file"
workload = "cyclic"
memory = "{file}MiB"
region = "file-shared"
passes = 3

[[variant]]
name = "v5.9"
kernel = "5.9"

[[variant]]
name = "v6.12"
kernel = "6.12"
"#
    )
}

/// A folder of the repository.
pub(crate) fn repository(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)
}
