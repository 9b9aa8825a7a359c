//! The scenario with every default written out, as TOML that gives the same runs.

use std::fmt::Write;

use super::inline::{inline, key};
use super::keys::{Kind, TableSpec};
use super::raw::{Node, Path, Sources, Step, Table, Value};
use super::read::{fill, spec_of_entry};
use super::tables::{ROOT, fill_of_kernel};
use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::config::Kernel;
use mmsim_core::config::cost::CostModel;

/// Writes the document; `overrides` are the paths that axes and variants set.
pub(super) fn resolved(sources: &Sources, doc: &Table, name: &str) -> String {
    let mut doc = doc.clone();
    let kept = unfillable(sources, &doc);
    fill(&mut doc, &ROOT);
    if let Some(Value::List(tasks)) = doc.get_mut("task").map(|n| &mut n.value) {
        for (i, old) in kept {
            if let Some(t) = tasks.get_mut(i) {
                *t = old;
            }
        }
    }
    if doc.get("name").is_none() {
        doc.push("name", super::raw::At::DEFAULT, Node::text(name, super::raw::At::DEFAULT));
    }
    if let Some(Value::Table(m)) = doc.get_mut("machine").map(|n| &mut n.value)
        && let Some(Value::Table(costs)) = m.get_mut("cost").map(|n| &mut n.value)
    {
        for (name, value) in CostModel::measured().fields() {
            if costs.get(name).is_none() {
                let at = super::raw::At::DEFAULT;
                costs.push(name, at, Node::text(&value.to_string(), at));
            }
        }
    }
    let kernel = only_kernel(&doc);
    if let Some(kernel) = kernel {
        fill_of_kernel(&mut doc, kernel);
    }
    let mut writer = Writer { out: String::new(), kernel };
    writer.section("", &doc, Some(&ROOT));
    writer.out
}

/// Tasks whose workload an axis or variant changes: defaults of the one would be unknown
/// keys of the other, so these tasks stay as written.
fn unfillable(sources: &Sources, doc: &Table) -> Vec<(usize, Node)> {
    let axes = doc.get("axes").and_then(Node::table);
    let variants = doc.get("variant").and_then(Node::list).unwrap_or(&[]);
    let sets = variants.iter().filter_map(|v| v.table()?.get("set")?.table());
    let paths = axes.into_iter().chain(sets).flat_map(|t| &t.entries);
    let tasks = doc.get("task").and_then(Node::list).unwrap_or(&[]);
    let mut kept = Vec::new();
    for e in paths {
        let Ok(Path { steps, .. }) = sources.path(&e.key, e.key_at) else { continue };
        let [Step::Key(task), entry, rest @ ..] = steps.as_slice() else { continue };
        // Also where steps or regions change, whose defaults hang on other keys too.
        let changes = |s: &Step| match s {
            Step::Key(k) => ["workload", "steps", "regions"].contains(&k.as_str()),
            Step::Index(_) | Step::Name(_) => false,
        };
        if task != "task" || !(rest.is_empty() || rest.iter().any(changes)) {
            continue;
        }
        if let Some(inner) = entry.entry(tasks) {
            kept.push((inner, tasks[inner].clone()));
        }
    }
    kept
}

/// The kernel, if all runs have the same.
fn only_kernel(doc: &Table) -> Option<Kernel> {
    let is_kernel = |t: &Table| t.entries.iter().any(|e| e.key == "machine.kernel");
    let axes = doc.get("axes").and_then(Node::table);
    let variants = doc.get("variant").and_then(Node::list).unwrap_or(&[]);
    let own = |v: &Table| v.get("set").and_then(Node::table).is_some_and(is_kernel);
    let several = axes.is_some_and(is_kernel)
        || variants.iter().filter_map(Node::table).any(|v| v.get("kernel").is_some() || own(v));
    let machine = doc.get("machine").and_then(Node::table)?;
    let name = machine.get("kernel").and_then(Node::as_text)?;
    Kernel::from_name(name).filter(|_| !several)
}

struct Writer {
    out: String,
    /// The kernel whose rules hold where none is given.
    kernel: Option<Kernel>,
}

impl Writer {
    /// One table with its header, then the tables within.
    fn section(&mut self, path: &str, table: &Table, spec: Option<&'static TableSpec>) {
        let mut later = Vec::new();
        let place =
            |k: &str| spec.and_then(|s| s.keys().position(|x| x.name == k)).unwrap_or(usize::MAX);
        let mut entries: Vec<_> = table.entries.iter().collect();
        entries.sort_by_key(|e| place(&e.key));
        for e in entries {
            let kind = spec.and_then(|s| s.key(&e.key)).map(|k| k.kind);
            let full =
                if path.is_empty() { key(&e.key) } else { format!("{path}.{}", key(&e.key)) };
            match (&e.node.value, kind) {
                (Value::Table(t), Some(k @ (Kind::Table(_) | Kind::Rows(_) | Kind::Axes)))
                    if matches!(path, "" | "machine") =>
                {
                    later.push((full, vec![t], k))
                }
                (
                    Value::List(l),
                    Some(k @ (Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_))),
                ) if !l.is_empty() => {
                    later.push((full, l.iter().filter_map(Node::table).collect(), k));
                }
                (v, _) => {
                    let _ = writeln!(self.out, "{} = {}", key(&e.key), inline_value(v, kind));
                }
            }
        }
        // What is not written because nothing says it: a note for people.
        if !path.starts_with("variant") {
            for k in spec.iter().flat_map(|s| s.keys()) {
                if let (Some(words), None) = (k.fallback.words(), table.get(k.name)) {
                    let _ = writeln!(self.out, "# {}: {words}", k.name);
                }
            }
        }
        if let ("machine.rules", Some(kernel)) = (path, self.kernel) {
            let rules = KernelRules::of(kernel);
            for k in KernelRules::ROWS.iter().filter(|k| table.get(k.name).is_none()) {
                let value = rules.get(k.name).unwrap_or_default();
                let _ = writeln!(self.out, "# {}: {value}", k.name);
            }
        }
        for (full, tables, kind) in later {
            for t in tables {
                let list = matches!(kind, Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_));
                let header = if list { format!("[[{full}]]") } else { format!("[{full}]") };
                let _ = write!(self.out, "\n{header}\n");
                let spec = match kind {
                    Kind::Table(s) => Some(s),
                    k => spec_of_entry(t, k),
                };
                self.section(&full, t, spec);
            }
        }
    }
}

/// A value after `key =`; steps one on a line.
fn inline_value(value: &Value, kind: Option<Kind>) -> String {
    match (value, kind) {
        (Value::List(l), Some(Kind::Steps(_))) if !l.is_empty() => {
            let lines: Vec<String> =
                l.iter().map(|n| format!("    {},\n", inline(&n.value))).collect();
            format!("[\n{}]", lines.concat())
        }
        _ => inline(value),
    }
}
