//! The first height of embedding: a scenario in, a report out.
//!
//! How many swap-ins does each page of memory save? A scenario is built as text, with the size
//! of the machine on an axis, and the report is read as data.

use mmsim::{RunOptions, Scenario};

const SCENARIO: &str = r#"
schema = 1
name = "miss-curve"
seed = 1

[machine]
memory = "32MiB"
cpus = 1
swap = { size = "128MiB", device = "ramdisk" }

[[task]]
workload = "zipf"
memory = "64MiB"
theta = 0.9
accesses = 200000

[[variant]]
name = "classic"
reclaim = { preset = "classic-v6.12" }

[[variant]]
name = "random"
reclaim = { preset = "random" }

[axes]
"machine.memory" = ["24MiB", "32MiB", "48MiB"]
"#;

pub(crate) fn table() -> Result<String, Box<dyn std::error::Error>> {
    let scenario = Scenario::from_str(SCENARIO, "miss-curve")?;
    let report = mmsim::run(&scenario, &RunOptions::default())?;
    let mut text = String::from("memory  policy   swap-ins per 1000 accesses\n");
    for run in &report.runs {
        let memory = run.axes.get("machine.memory").ok_or("every run stands on the axis")?;
        let phase = run.phases.iter().find(|p| p.name == "access").ok_or("zipf has this phase")?;
        let swap_ins = *phase.vmstat.get("pswpin").ok_or("a counter")?;
        let per_mille = 1000.0 * swap_ins as f64 / phase.accesses as f64;
        text += &format!("{memory:6}  {:7}  {per_mille:.1}\n", run.variant);
    }
    Ok(text)
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    table().map(|text| print!("{text}"))
}
