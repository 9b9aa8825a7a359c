//! The program as its users have it: commands, outputs, messages and exit codes.

mod accuracy;
mod bench;
mod cli;
mod drawings;
#[path = "../../../../tests/machine/drawn.rs"]
mod drawn;
mod emit;
mod errors;
mod evaluations;
mod events;
mod harness;
mod limits;
mod observers;
mod outputs;
mod perfetto;
mod pictures;
mod readme;
mod shells;
mod sweeps;
mod system;
mod tunes;
mod watched;
mod widths;
