//! The run whose instructions `.ci/callgrind` counts: `instructions [FRAMES [ACCESSES]]`
//! runs zipf 0.9 over 2^20 pages and prints the digest of the result, nothing else.
//! Without accesses it only populates, which is what has to be subtracted.

#![allow(clippy::print_stdout)]

#[path = "../tests/cells/mod.rs"]
mod cells;

use mmsim_core::machine::Watch;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u32>().expect("a number"));
    let frames = args.next().unwrap_or(cells::FRAMES_10);
    let accesses = args.next().unwrap_or(1_000_000);
    let result = cells::zipf_cell(frames, accesses.into()).run(Watch::default());
    println!("{:016x}", result.digest);
}
