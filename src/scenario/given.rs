//! What a run is given besides its machine and its policies, key by key: tasks, monitors and
//! groups as the scenario has them, defaults filled in. Reports carry it, so that two of them can
//! be told apart by it; so values stand in one form whatever form the file has, and keys in the
//! order of their tables.

use super::keys::{DEVICE, Kind, MEMCG, REGION, ROOT, TableSpec};
use super::raw::{Node, Table, Value, inline, key};
use super::read::spec_of_entry;
use super::units;

/// The paths of a document, as `--set` takes them, with their values.
pub(super) fn given(doc: &Table) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for name in ["task", "damon"] {
        if let (Some(node), Some(spec)) = (doc.get(name), ROOT.key(name)) {
            walk(&mut all, name, &node.value, spec.kind);
        }
    }
    let machine = doc.get("machine").and_then(Node::table);
    if let Some(groups) = machine.and_then(|m| m.get("memcg")) {
        walk(&mut all, "machine.memcg", &groups.value, Kind::Tables(&MEMCG));
    }
    all
}

fn walk(all: &mut Vec<(String, String)>, path: &str, value: &Value, kind: Kind) {
    match (value, kind) {
        // Knobs are listed by the name of the kernel.
        (_, Kind::Damon) => {}
        (Value::Table(t), Kind::Table(spec)) => table(all, path, t, spec),
        (Value::Table(t), Kind::Device) => table(all, path, t, &DEVICE),
        (Value::Table(t), Kind::Regions) => {
            for e in &t.entries {
                walk(all, &format!("{path}.{}", key(&e.key)), &e.node.value, Kind::Table(&REGION));
            }
        }
        (Value::List(l), Kind::Tables(_) | Kind::Tasks | Kind::Steps) => {
            for (i, n) in l.iter().enumerate() {
                if let Some(t) = n.table()
                    && let Some(spec) = spec_of_entry(t, kind)
                {
                    table(all, &format!("{path}[{i}]"), t, spec);
                }
            }
        }
        (v, kind) => all.push((path.to_string(), text(v, kind))),
    }
}

fn table(all: &mut Vec<(String, String)>, path: &str, t: &Table, spec: &'static TableSpec) {
    for k in spec.keys() {
        if let Some(node) = t.get(k.name) {
            walk(all, &format!("{path}.{}", key(k.name)), &node.value, k.kind);
        }
    }
}

/// A value in the one form of its kind; what is none is as it was written, and refused later.
fn text(value: &Value, kind: Kind) -> String {
    let quantity = match (value, kind) {
        (Value::Text(s), Kind::Size(_) | Kind::Limit) => {
            units::pages(s).ok().map(units::show_pages)
        }
        (Value::Text(s), Kind::Time) => units::duration(s).ok().map(|d| d.to_string()),
        (Value::Text(s), Kind::Rate) => units::rate(s).ok().map(|r| format!("{r} B/s")),
        (Value::Integer(i), Kind::Number(..)) => Some(format!("{:?}", *i as f64)),
        _ => None,
    };
    match (quantity, value) {
        (Some(text), _) => text,
        // Names read better without quotes.
        (None, Value::Text(s)) => s.clone(),
        (None, v) => inline(v),
    }
}
