//! README.md and docs/observing.md show what the commands print. A block after `<!-- checked -->` begins with a
//! command line; the rest is its standard output, word by word.
//!
//! `MMSIM_BLESS=1 cargo test -p mmsim-cli --test readme` rewrites the blocks.

use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "<!-- checked -->\n```console\n$ ";
const END: &str = "```\n";
/// How a command may begin: from the tree, or installed.
const PROGRAMS: [&str; 2] = ["cargo run --release -- ", "mmsim "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Standard output of a command line.
fn output_of(command: &str) -> String {
    let arguments = PROGRAMS.iter().find_map(|p| command.strip_prefix(p));
    let arguments = arguments.unwrap_or_else(|| panic!("not a command of mmsim: {command}"));
    let run = Command::new(env!("CARGO_BIN_EXE_mmsim"))
        .args(arguments.split_whitespace())
        .current_dir(root())
        .output()
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{command}: {}\n{errors}", run.status);
    String::from_utf8(run.stdout).unwrap_or_else(|e| panic!("{command}: {e}"))
}

#[test]
fn blocks_are_what_the_commands_print() {
    check("README.md", 2);
    check("docs/observing.md", 1);
}

fn check(file: &str, at_least: usize) {
    let path = root().join(file);
    let readme = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut pieces = readme.split(BEGIN);
    let mut new = pieces.next().expect("a split has a first piece").to_string();
    let mut checked = 0;
    for piece in pieces {
        let (command, rest) = piece.split_once('\n').expect("a command line");
        let (old, after) = rest.split_once(END).expect("the end of the block");
        let printed = output_of(command);
        if std::env::var_os("MMSIM_BLESS").is_none() {
            assert_eq!(
                old, printed,
                "$ {command}\nrun with MMSIM_BLESS=1 and look at the difference"
            );
        }
        new += &format!("{BEGIN}{command}\n{printed}{END}{after}");
        checked += 1;
    }
    assert!(checked >= at_least, "{file}: only {checked} checked blocks");
    if new != readme {
        std::fs::write(&path, new).expect("rewriting it");
    }
}
