//! Runs a scenario for callgrind: `instructions_of [SCENARIO [KEY=VALUE]...]` prints the digest
//! of each run's result and nothing else. `mmsim run` reads the processor's clock, which
//! valgrind does not let it; the difference of two numbers of records is what those between
//! cost.

#![allow(clippy::print_stdout)]

use mmsim::build::{Catalogue, machine};
use mmsim::machine::Watch;

fn main() -> Result<(), mmsim::Error> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "scenarios/phased-50-pages.toml".to_string());
    let sets: Vec<(String, String)> = args
        .map(|a| a.split_once('=').map(|(k, v)| (k.into(), v.into())).expect("KEY=VALUE"))
        .collect();
    for run in mmsim::Scenario::load(&file, &sets)?.expand(&Catalogue)? {
        println!("{:016x}", machine(&run)?.run(Watch::default()).digest);
    }
    Ok(())
}
