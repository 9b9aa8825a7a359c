//! Settings of a run, key by key: its machine, tasks, monitors and groups as the scenario has them,
//! defaults filled in. Reports carry it, so that their settings can be compared; so values stand in
//! one form whatever form the file has, and keys in the order of their tables.
//!
//! The walk is guided by the tables of keys, so a key that is added is in reports as well.

use std::path::{Path, PathBuf};

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::config::MachineConfig;
use mmsim_lru::chooser::BUILTIN;

use super::keys::{Kind, RowTable, RowsOf, TableSpec};

use super::inline::{inline, key};
use super::raw::{Node, Sources, Table, Value};
use super::read::spec_of_entry;
use super::tables::{ROOT, device_settings, own_device};
use super::units;

/// Keys that reports have elsewhere: of the file and of its runs, and two that reports have a place
/// of their own for. Policies are listed knob by knob, by the names of their own tables.
pub(super) const ELSEWHERE: &[&str] = &[
    "schema",
    "name",
    "about",
    "seed",
    "seeds",
    "expect-oom",
    "bounds",
    "variant",
    "axes",
    "expect",
    "machine.kernel",
    "machine.cpus",
];

/// Settings that a document gives a run.
#[derive(Default)]
pub(super) struct Given {
    /// Paths, as `--set` takes them, with their values.
    pub(super) settings: Vec<(String, String)>,
    /// Paths of keys that name files, and the files.
    pub(super) files: Vec<(String, PathBuf)>,
}

/// Walks a document with its defaults, which `machine` was read from. `dir`: where its files are.
pub(super) fn given(sources: &Sources, doc: &Table, machine: &MachineConfig, dir: &Path) -> Given {
    let mut walk = Walk { given: Given::default(), sources, machine, dir };
    walk.table("", doc, &ROOT);
    walk.given
}

struct Walk<'a> {
    given: Given,
    sources: &'a Sources,
    machine: &'a MachineConfig,
    dir: &'a Path,
}

impl Walk<'_> {
    fn table(&mut self, path: &str, t: &Table, spec: &'static TableSpec) {
        for k in spec.keys() {
            let Some(node) = t.get(k.name) else { continue };
            let full = if path.is_empty() { key(k.name) } else { below(path, &key(k.name)) };
            if !ELSEWHERE.contains(&full.as_str()) {
                self.value(&full, node, k.kind);
            }
        }
    }

    fn value(&mut self, path: &str, node: &Node, kind: Kind) {
        match (&node.value, kind) {
            // Listed by what they resolve to.
            (_, Kind::Rows(RowTable { rows: RowsOf::Preset(_), .. })) => {}
            (_, Kind::Rows(RowTable { rows: RowsOf::Machine(_, values), .. })) => {
                for (name, value) in values(self.machine) {
                    self.set(below(path, name), value);
                }
            }
            // A preset by what is in it: its name says nothing of that.
            (value, Kind::Device(_)) => {
                let cpus = self.machine.cpus;
                let device = match value {
                    Value::Text(preset) => DeviceConfig::preset(preset, cpus),
                    _ => own_device(self.sources, node, path, cpus).ok(),
                };
                for (name, value) in device.iter().flat_map(device_settings) {
                    if let Some(value) = value {
                        self.set(below(path, name), value);
                    }
                }
            }
            (Value::Table(t), kind) if kind.table().is_some() => {
                kind.table().into_iter().for_each(|spec| self.table(path, t, spec));
            }
            (Value::Table(t), Kind::Regions(spec)) => {
                for e in &t.entries {
                    if let Value::Table(t) = &e.node.value {
                        self.table(&below(path, &key(&e.key)), t, spec);
                    }
                }
            }
            (
                Value::List(l),
                Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_) | Kind::Steps(_),
            ) => {
                for (i, n) in l.iter().enumerate() {
                    if let Some(t) = n.table()
                        && let Some(spec) = spec_of_entry(t, kind)
                    {
                        self.table(&format!("{path}[{i}]"), t, spec);
                    }
                }
            }
            (v, kind) => {
                if let (Value::Text(file), Kind::File) = (v, kind)
                    && !file.starts_with(BUILTIN)
                {
                    self.given.files.push((path.to_string(), self.dir.join(file)));
                }
                self.set(path.to_string(), text(v, kind));
            }
        }
    }

    fn set(&mut self, path: String, value: String) {
        self.given.settings.push((path, value));
    }
}

/// The path of a key in the table at a path.
fn below(path: &str, key: &str) -> String {
    let mut full = String::with_capacity(path.len() + 1 + key.len());
    full.push_str(path);
    full.push('.');
    full.push_str(key);
    full
}

/// A value in the one form of its kind; what is none is as it was written, and refused later.
pub(super) fn text(value: &Value, kind: Kind) -> String {
    let quantity = match (value, kind) {
        (Value::Text(s), Kind::Size(_) | Kind::Sizes(..) | Kind::Limit) => {
            units::pages(s).ok().map(units::show_pages)
        }
        (Value::Text(s), Kind::Time | Kind::Times(_)) => {
            units::duration(s).ok().map(|d| d.to_string())
        }
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
