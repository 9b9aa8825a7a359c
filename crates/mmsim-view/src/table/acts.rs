//! Who acted first in runs with daemons: a line each, the OOM killer's beside those of daemons.

use mmsim::report::numbers::grouped;
use mmsim::report::{Report, RunReport};

use super::{Width, grid};

/// Runs whose acts are shown.
const MOST: usize = 40;

/// The first act of each variant at each setting, in its first seed, with refaults until then; empty
/// without daemons.
pub(super) fn first(report: &Report, width: Width) -> String {
    if report.runs.iter().all(|run| run.daemons.is_empty()) {
        return String::new();
    }
    let axes: Vec<&str> = report.runs[0].axes.iter().map(|a| a.0).collect();
    let groups = report.groups();
    let runs = groups.iter().flat_map(|g| g.variants.iter().filter_map(|v| v.runs.first()));
    let mut rows: Vec<Vec<String>> = runs.map(|run| row(run)).collect();
    let names = axes.iter().map(|axis| crate::figure::short(axis, &axes));
    let head: Vec<&str> =
        names.chain(["variant", "first to act", "", "on"]).chain(FIGURES).collect();
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let rest = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("\nfirst acts\n{}{rest}", grid(Some(&head), rows, axes.len() + 4, width))
}

const FIGURES: [&str; 4] = ["at, s", "refaults", "MiB lost", "accesses lost"];

fn row(run: &RunReport) -> Vec<String> {
    let number = |n: u64| grouped(n as f64);
    let at = |ns: u64| format!("{:.2}", ns as f64 / 1e9);
    let daemon = run.daemons.iter().find(|d| d.first == 1).and_then(|d| Some((d, d.acts.first()?)));
    let (who, act, on, figures) = match (daemon, &run.oom) {
        (Some((d, act)), _) => {
            let mib = (act.resident_bytes + act.swapped_bytes) >> 20;
            let on = if act.target.is_empty() { "the machine" } else { &act.target };
            let figures =
                [at(act.at_ns), number(act.refaults), number(mib), number(act.lost_accesses)];
            (d.name.clone(), act.what.clone(), on.to_string(), figures)
        }
        (None, Some(oom)) => {
            let none = || "-".to_string();
            let figures = [at(oom.at_ns), none(), none(), none()];
            ("OOM killer".to_string(), String::new(), oom.victim.clone(), figures)
        }
        (None, None) => {
            let none = [(); 4].map(|()| "-".to_string());
            ("nobody".to_string(), String::new(), String::new(), none)
        }
    };
    let axes = run.axes.iter().map(|(_, value)| value.to_string());
    axes.chain([run.variant.clone(), who, act, on]).chain(figures).collect()
}
