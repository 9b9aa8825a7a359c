//! The generated part of docs/scenarios.md.

use std::fmt::Write;

use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_core::config::cost::CostModel;

use super::keys::{KeySpec, TableSpec};
use super::tables::{TASK_COMMON, all_tables, evaluate_tables, sweep_tables, tune_tables};
use mmsim_base::prose::wrapped;

/// Every table with every key.
pub fn reference() -> String {
    let mut out = String::new();
    all_tables().into_iter().for_each(|t| table(&mut out, t));
    out.push_str("\n### [machine.cost]\n\n");
    out.push_str("Durations of at most `1s`, in simulated CPU time.\n\n");
    out.push_str("| key | default | meaning |\n|---|---|---|\n");
    for row in CostModel::ROWS {
        let value = CostModel::measured().get(row.name).unwrap_or_default();
        let meaning = row.doc.trim_end_matches('.');
        let _ = writeln!(out, "| `{}` | `\"{value}\"` | {meaning} |", row.name);
    }
    out.push_str("\n### [machine.rules]\n\n");
    out.push_str(
        "Differences between kernels, one rule each. The default is that of the kernel.\n\n",
    );
    out.push_str("| key | value | default | meaning | Linux |\n|---|---|---|---|---|\n");
    for k in KernelRules::ROWS {
        let takes = k.takes().replace(" | ", ", ");
        let default = default_of_rule(k.name);
        let _ = writeln!(out, "| `{}` | {takes} | {default} | {} | {} |", k.name, k.doc, k.source);
    }
    out
}

/// The value of a rule in the oldest kernel, and in each that changed it.
fn default_of_rule(name: &str) -> String {
    let mut words = String::new();
    let mut before = None;
    for kernel in Kernel::ALL {
        let value = KernelRules::of(kernel).get(name);
        let Some(now) = value.as_ref().filter(|_| value != before) else { continue };
        match before {
            None => words.push_str(&format!("`{now}`")),
            Some(_) => words.push_str(&format!(", from {} on `{now}`", kernel.name())),
        }
        before = value;
    }
    words
}

/// The keys of plans of sweeps, likewise.
pub fn sweep_reference() -> String {
    let mut out = String::new();
    sweep_tables().into_iter().for_each(|t| table(&mut out, t));
    out
}

/// The keys of plans of tunings, likewise.
pub fn tune_reference() -> String {
    let mut out = String::new();
    tune_tables().into_iter().for_each(|t| table(&mut out, t));
    out
}

/// The keys of suites and knob files, likewise.
pub fn evaluate_reference() -> String {
    let mut out = String::new();
    evaluate_tables().into_iter().for_each(|t| table(&mut out, t));
    out
}

fn table(out: &mut String, t: &'static TableSpec) {
    let _ = write!(out, "\n### {}\n\n{}\n\n", t.title, wrapped(t.doc, ""));
    // Keys that all tasks or all steps share are listed once.
    let shared = |k: &KeySpec| {
        k.name == "do"
            || (t.title.starts_with("workload") && TASK_COMMON.keys().any(|c| c.name == k.name))
    };
    if t.keys().all(shared) {
        let _ = writeln!(out, "No further keys.");
        return;
    }
    let _ = writeln!(out, "| key | value | default | meaning |\n|---|---|---|---|");
    for k in t.keys().filter(|k| !shared(k)) {
        let default = match (k.fallback.value(), k.fallback.words()) {
            (Some(value), _) => format!("`{value}`"),
            (None, Some(words)) => words.to_string(),
            (None, None) => "required".to_string(),
        };
        let _ = writeln!(out, "| `{}` | {} | {default} | {} |", k.name, k.kind.describe(), k.doc);
    }
}
