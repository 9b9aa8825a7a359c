//! Runs the program itself in a folder of its own. The tests of mmsim-lab include this file too.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[path = "../../../../tests/harness/folder.rs"]
mod folder;

use crate::program;
pub(crate) use folder::Folder;

/// Output of a command.
pub(crate) struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    /// Without what the host took, which differs from run to run.
    pub stderr: String,
}

impl Folder {
    /// The program with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path("")).stdin(Stdio::null());
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

/// Needs a shell, and names of signals.
#[cfg(unix)]
impl Folder {
    /// Runs a line of bash, `$M` being the program, and ends it after two minutes: its code, and
    /// what it wrote.
    pub(crate) fn bash(&self, line: &str) -> (Option<i32>, String, String) {
        let out = Command::new("timeout")
            .args(["120", "bash", "-c", line])
            .env("M", program())
            .current_dir(self.path(""))
            .stdin(Stdio::null())
            .output()
            .expect("starting bash");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (out.status.code(), text(out.stdout), text(out.stderr))
    }

    /// Starts the program and waits until it writes two files or more.
    pub(crate) fn begun(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("starting mmsim");
        let temporaries = || self.names().iter().filter(|n| n.starts_with(".mmsim-")).count();
        let mut left = 6000;
        while left > 0 && temporaries() < 2 {
            std::thread::sleep(Duration::from_millis(10));
            left -= 1;
        }
        assert!(left > 0, "it has not begun: {:?}", self.names());
        child
    }
}

/// Sends a signal by its name, and gives the code with which the program ends.
#[cfg(unix)]
pub(crate) fn ended_by(signal: &str, mut child: Child) -> Option<i32> {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().expect("kill").success());
    child.wait().expect("the end of mmsim").code()
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
