//! The phone of two of the experiments: a machine and apps, everything a share of its memory.

use super::super::lab::Sets;
use super::open::Values;

/// Frames of the machine.
const FRAMES: f64 = 65_536.0;

/// Pages for a share of memory.
fn pages(share: f64) -> String {
    format!("{} pages", (FRAMES * share / 10_000.0).round())
}

/// Part of an experiment that is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) apps: u32,
    /// Rounds over all apps, the first of which is not counted.
    pub(super) rounds: u32,
    pub(super) seeds: u32,
}

/// Settings of the scenario from values and size. The services go on as long as the launches do.
pub(super) fn sets(values: &Values, size: Size) -> Sets {
    let set = |path: &str, value: String| (path.to_string(), value);
    let records = size.apps * size.rounds;
    let mut sets = vec![
        set("seeds", size.seeds.to_string()),
        set("task[0].apps", size.apps.to_string()),
        set("task[0].records", records.to_string()),
        set("task[0].windows", size.rounds.to_string()),
        set("task[1].duration", format!("{}s", 10 * records)),
        set("task[2].duration", format!("{}s", 10 * records)),
    ];
    for (name, value) in values {
        let (path, value) = match *name {
            "heap" | "mapped" | "read" => (format!("task[0].{name}"), pages(*value)),
            "swap" => ("machine.swap.size".into(), pages(*value)),
            permille_or_count => (format!("task[0].{permille_or_count}"), value.to_string()),
        };
        sets.push((path, value));
    }
    sets
}
