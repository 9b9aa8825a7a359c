//! The program as its users have it: commands, outputs, messages and exit codes.

mod bench;
mod cli;
mod curves;
mod daemons;
mod documents;
mod drawings;
#[path = "../../../../tests/machine/drawn.rs"]
mod drawn;
mod emit;
mod errors;
mod evaluations;
mod events;
mod golden;
mod harness;
mod limits;
mod modules_everywhere;
mod observers;
mod outputs;
mod perfetto;
mod pictures;
mod policy_crate;
mod policy_modules;
mod readme;
mod resumed;
mod shells;
mod sweeps;
mod system;
mod tunes;
mod watched;
mod widths;

// The template of `mmsim policy new` names its own crate.
extern crate self as own_policy;
use policy_crate::library::run;

/// Beginnings of a command of this program in documents: from the tree, or installed.
const COMMANDS: [&str; 2] = ["cargo run --release -- ", "mmsim "];

/// The program that is tested: `MMSIM_PROGRAM`, or what `cargo test` has built.
fn program() -> std::path::PathBuf {
    std::env::var_os("MMSIM_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_mmsim").into(), Into::into)
}
