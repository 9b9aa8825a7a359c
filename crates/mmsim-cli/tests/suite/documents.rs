//! Blocks of documents beside what the program prints. The tests of mmsim-lab include this file too.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{COMMANDS, program};

const BEGIN: &str = "<!-- checked -->\n```console\n$ ";
pub(crate) const END: &str = "```\n";
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Standard output of a command line, whole, or with `| head -N` or `| grep` behind it. Scenarios are
/// those of the repository, wherever the command runs.
pub(crate) fn output_of(command: &str, folder: &Path) -> String {
    if let Some((command, lines)) = command.split_once(" | head -") {
        let lines: usize = lines.parse().unwrap_or_else(|e| panic!("{command}: head: {e}"));
        let output = output_of(command, folder);
        return output.lines().take(lines).map(|line| format!("{line}\n")).collect();
    }
    let (command, patterns) = match command.split_once(" | grep ") {
        Some((command, grep)) => {
            let quoted: Vec<&str> = grep.split('\'').skip(1).step_by(2).collect();
            assert!(!quoted.is_empty(), "{grep}: patterns stand in single quotes");
            (command, quoted)
        }
        None => (command, Vec::new()),
    };
    let arguments = COMMANDS.iter().find_map(|p| command.strip_prefix(p));
    let arguments = arguments.unwrap_or_else(|| panic!("not a command of this program: {command}"));
    let scenarios = root().join("scenarios").display().to_string();
    let argument = |a: &str| match a.strip_prefix("scenarios/") {
        Some(name) => format!("{scenarios}/{name}"),
        None => a.to_string(),
    };
    let run = Command::new(program())
        .args(arguments.split_whitespace().map(argument))
        .current_dir(folder)
        .output()
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{command}: {}\n{errors}", run.status);
    let output = String::from_utf8(run.stdout).unwrap_or_else(|e| panic!("{command}: {e}"));
    if patterns.is_empty() {
        return output;
    }
    // Text without a meaning of its own in a regular expression, anywhere or at the beginning.
    let text = |p: &str| p.strip_prefix('^').unwrap_or(p).to_string();
    assert!(patterns.iter().all(|p| !text(p).contains(['.', '*', '[', '\\', '^', '$'])));
    let matches = |line: &str, p: &str| match p.strip_prefix('^') {
        Some(beginning) => line.starts_with(beginning),
        None => line.contains(p),
    };
    let left = |line: &&str| patterns.iter().any(|p| matches(line, p));
    output.lines().filter(left).map(|line| format!("{line}\n")).collect()
}

/// Holds the blocks of a file of the repository against what commands print in `folder`: those of
/// this program, whose number it gives.
pub(crate) fn blocks(file: &str, folder: &Path) -> usize {
    let path = root().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut pieces = text.split(BEGIN);
    let mut new = pieces.next().expect("a split has a first piece").to_string();
    let mut checked = 0;
    for piece in pieces {
        let (command, rest) = piece.split_once('\n').expect("a command line");
        let (old, after) = rest.split_once(END).expect("the end of the block");
        if !COMMANDS.iter().any(|c| command.starts_with(c)) {
            new += &format!("{BEGIN}{piece}");
            continue;
        }
        let printed = output_of(command, folder);
        if std::env::var_os("MMSIM_BLESS").is_none() {
            assert_eq!(
                old, printed,
                "$ {command}\nrun with MMSIM_BLESS=1 and look at the difference"
            );
        }
        new += &format!("{BEGIN}{command}\n{printed}{END}{after}");
        checked += 1;
    }
    if new != text {
        std::fs::write(&path, new).expect("rewriting the file");
    }
    checked
}

pub(crate) fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}
