//! Different settings of two runs, which can explain a difference.
//!
//! Reports hold every key of the scenario, every resolved knob and what is in the files that tasks
//! read. Two runs that differ in counters and not here were made by different versions of mmsim.

use serde::Serialize;

use crate::document::{RunReport, SwapReport, ZoneReport};
use crate::numbers::grouped;

/// Something with another value in each report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Setting {
    /// Its name: that of the kernel for knobs.
    pub name: String,
    /// In the first report; `-` where it has no such thing.
    pub a: String,
    /// In the second.
    pub b: String,
}

const NONE: &str = "-";

fn swap(s: &SwapReport) -> String {
    format!("{} pages on {}", grouped((s.bytes / 4096) as f64), s.device)
}

/// Sizes of a zone, in pages.
fn zone(z: &ZoneReport) -> [(&'static str, String); 3] {
    let pages = |n: u64| grouped(n as f64);
    [
        ("managed", pages(z.managed)),
        ("watermarks", [z.min, z.low, z.high].map(pages).join(" ")),
        ("free at start", pages(z.free_at_start)),
    ]
}

/// Everything about a run that its report holds and that is no result, by name. `by_key`: settings
/// are listed key by key, swap among them.
fn of(run: &RunReport, by_key: bool) -> Vec<(String, String)> {
    let mut all = vec![
        ("kernel".to_string(), run.kernel.clone()),
        ("policy".to_string(), run.policy.clone()),
        ("cpus".to_string(), run.cpus.to_string()),
    ];
    if !by_key {
        all.push(("swap".to_string(), run.swap.as_ref().map_or("none".to_string(), swap)));
    }
    for (i, z) in run.zones.iter().enumerate() {
        // Nodes may have zones of the same name: later ones go by their number.
        let before = run.zones[..i].iter().filter(|other| other.name == z.name).count();
        let number = if before > 0 { format!(" #{}", before + 1) } else { String::new() };
        let property = |(what, value)| (format!("zone {}{number}, {what}", z.name), value);
        all.extend(zone(z).map(property));
    }
    all.extend(run.knobs.iter().map(|(n, v)| (n.to_string(), v.to_string())));
    all.extend(run.setup.iter().map(|(n, v)| (n.to_string(), v.clone())));
    all
}

/// Different settings of two runs, in the order of the report.
pub(crate) fn that_differ(a: &RunReport, b: &RunReport) -> Vec<Setting> {
    let by_key = [a, b].iter().all(|r| r.setup.get("machine.file-device.name").is_some());
    let (mut of_a, mut of_b) = (of(a, by_key), of(b, by_key));
    // A report of before these were written down says nothing about them.
    if a.setup.is_empty() || b.setup.is_empty() {
        of_a.retain(|(name, _)| a.setup.get(name).is_none());
        of_b.retain(|(name, _)| b.setup.get(name).is_none());
    }
    let mut settings = Vec::new();
    let mut push = |name: String, a: String, b: String| {
        if a != b {
            settings.push(Setting { name, a, b });
        }
    };
    for (name, in_a) in of_a {
        let at = of_b.iter().position(|(n, _)| *n == name);
        let in_b = at.map_or(NONE.to_string(), |i| of_b.remove(i).1);
        push(name, in_a, in_b);
    }
    for (name, in_b) in of_b {
        push(name, NONE.to_string(), in_b);
    }
    settings
}

/// Assumptions of one run that the other does not make. Mostly that means another trace, and then
/// the runs differ in what they replayed.
pub(super) fn assumed_only_in(run: &RunReport, other: &RunReport) -> Vec<String> {
    run.assumed.iter().filter(|s| !other.assumed.contains(s)).cloned().collect()
}
