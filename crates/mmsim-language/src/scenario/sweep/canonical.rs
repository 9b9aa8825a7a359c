//! Settings that decide the result of a run, in one form whatever form the file has: the name of a
//! unit of a sweep is a hash of it.
//!
//! It is walked by the tables of keys with all defaults filled in. So a key that is written with
//! its default, or a size in another unit, makes no other unit, and neither does another axis.
//! Files count by what is in them and not by their names.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Mutex, PoisonError};

use mmsim_lru::chooser::BUILTIN;
use mmsim_workload::trace;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::super::given::{ELSEWHERE, text};
use super::super::inline::inline;
use super::super::keys::{Kind, TableSpec};
use super::super::raw::{Node, Path, Step, Table, Value};
use super::super::read::spec_of_entry;
use super::super::tables::ROOT;

/// The one key told elsewhere in reports that decides what is in the report of a run.
const DECIDES: &str = "bounds";

/// Bytes and digest of each file that was read, so that each is read once.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<BTreeMap<PathBuf, Option<(u64, u64)>>>);

impl Contents {
    fn of(&self, path: &FilePath) -> Option<(u64, u64)> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(path) {
            return *found;
        }
        // What cannot be read is an error of its own when the run is made.
        let found = File::open(path).and_then(trace::contents).ok();
        known.insert(path.to_path_buf(), found);
        found
    }
}

/// A unit but for its seed, as the sum of the hashes of its values: each with the path of its key.
/// So one value is exchanged for another without a look at the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Canonical {
    values: u128,
    /// Its variant, and whether resident memory is measured.
    rest: u128,
}

/// A key within a document: its path as a hash that was begun, and what its values are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    path: SipHasher13,
    kind: Kind,
}

impl Slot {
    /// The key at a path, if a value of it decides nothing but itself.
    pub(super) fn of(doc: &Table, path: &Path) -> Option<Slot> {
        let [Step::Key(root), rest @ ..] = path.steps.as_slice() else { return None };
        if !["machine", "task"].contains(&root.as_str()) {
            return None;
        }
        let k = ROOT.key(root)?;
        let mut here = (below(SipHasher13::new(), k.name), k.kind, doc.get(root)?);
        // The key by which a table has others.
        let mut by = "";
        for step in rest {
            let (at, kind, node) = here;
            here = match (step, &node.value, kind) {
                (Step::Key(key), Value::Table(t), kind) => {
                    let k = kind.table()?.key(key).filter(|k| k.name != by)?;
                    by = "";
                    (below(at, k.name), k.kind, t.get(key)?)
                }
                (step, Value::List(l), Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_)) => {
                    let i = step.entry(l)?;
                    let node = &l[i];
                    let spec = spec_of_entry(node.table()?, kind)?;
                    if let Kind::Tasks(tables) = kind {
                        by = tables.by;
                    }
                    (nth(at, i), Kind::Table(spec), node)
                }
                _ => return None,
            };
        }
        let (path, kind, node) = here;
        is_single(&node.value).then_some(Slot { path, kind })
    }

    /// The value at a path of a document.
    pub(super) fn node<'a>(doc: &'a Table, path: &Path) -> Option<&'a Node> {
        let [Step::Key(root), rest @ ..] = path.steps.as_slice() else { return None };
        rest.iter().try_fold(doc.get(root)?, |node, step| match step {
            Step::Key(key) => node.table()?.get(key),
            step => {
                let list = node.list()?;
                list.get(step.entry(list)?)
            }
        })
    }

    /// The part of a value; `None`: it is more than one.
    pub(super) fn part(&self, value: &Value, files: Files<'_>) -> Option<u128> {
        is_single(value).then(|| files.part(self.path, value, self.kind))
    }
}

fn is_single(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Flag(_))
}

/// Contents of files, and their places.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) dir: &'a FilePath,
    pub(super) contents: &'a Contents,
}

impl Files<'_> {
    /// A hash of a value with its path.
    fn part(self, mut path: SipHasher13, value: &Value, kind: Kind) -> u128 {
        match (value, kind) {
            (Value::Text(name), Kind::File) if !name.starts_with(BUILTIN) => {
                match self.contents.of(&self.dir.join(name)) {
                    Some((bytes, digest)) => {
                        path.write_u64(bytes);
                        path.write_u64(digest);
                    }
                    None => word(&mut path, "unreadable"),
                }
            }
            (v, kind) => word(&mut path, &text(v, kind)),
        }
        path.finish128().into()
    }
}

/// Texts with their lengths, so that no two lists of texts are alike.
fn word(hasher: &mut SipHasher13, text: &str) {
    hasher.write_u64(text.len() as u64);
    hasher.write(text.as_bytes());
}

fn below(mut path: SipHasher13, key: &str) -> SipHasher13 {
    word(&mut path, key);
    path
}

fn nth(mut path: SipHasher13, i: usize) -> SipHasher13 {
    path.write_u64(i as u64);
    path
}

impl Canonical {
    /// The canonical form of a document with its defaults, in a variant. `resident`: whether
    /// resident memory is measured.
    pub(super) fn of(doc: &Table, variant: &str, resident: bool, files: Files<'_>) -> Canonical {
        let mut rest = SipHasher13::new();
        word(&mut rest, env!("CARGO_PKG_VERSION"));
        word(&mut rest, variant);
        rest.write_u8(resident.into());
        let mut sum = Sum { total: 0, files };
        let decides = |name: &str| name == DECIDES || !ELSEWHERE.contains(&name);
        for k in ROOT.keys().filter(|k| decides(k.name)) {
            if let Some(node) = doc.get(k.name) {
                sum.value(below(SipHasher13::new(), k.name), &node.value, k.kind);
            }
        }
        Canonical { values: sum.total, rest: rest.finish128().into() }
    }

    /// The same with a part in the place of another.
    pub(super) fn with(mut self, old: u128, new: u128) -> Canonical {
        self.values = self.values.wrapping_sub(old).wrapping_add(new);
        self
    }

    /// The name of the unit with this seed.
    pub(super) fn seeded(&self, seed: u64) -> u128 {
        let mut hasher = SipHasher13::new();
        hasher.write(&self.rest.to_le_bytes());
        hasher.write(&self.values.to_le_bytes());
        hasher.write_u64(seed);
        hasher.finish128().into()
    }
}

/// The parts of a document.
struct Sum<'a> {
    total: u128,
    files: Files<'a>,
}

impl Sum<'_> {
    fn add(&mut self, part: u128) {
        self.total = self.total.wrapping_add(part);
    }

    /// Hashes the number of entries.
    fn length(&mut self, mut path: SipHasher13, n: usize) {
        path.write_u8(b'#');
        path.write_u64(n as u64);
        self.add(path.finish128().into());
    }

    fn table(&mut self, path: SipHasher13, t: &Table, spec: &'static TableSpec) {
        for k in spec.keys() {
            if let Some(node) = t.get(k.name) {
                self.value(below(path, k.name), &node.value, k.kind);
            }
        }
    }

    fn value(&mut self, path: SipHasher13, value: &Value, kind: Kind) {
        match (value, kind) {
            (Value::Table(t), kind) if kind.table().is_some() => {
                kind.table().into_iter().for_each(|spec| self.table(path, t, spec));
            }
            // Their order says nothing, but for regions, which lie one behind the other.
            (Value::Table(t), Kind::Regions(spec)) => {
                self.length(path, t.entries.len());
                for (i, e) in t.entries.iter().enumerate() {
                    let path = below(nth(path, i), &e.key);
                    self.value(path, &e.node.value, Kind::Table(spec));
                }
            }
            (Value::Table(t), _) => {
                self.length(path, t.entries.len());
                for e in &t.entries {
                    let mut path = below(path, &e.key);
                    word(&mut path, &inline(&e.node.value));
                    self.add(path.finish128().into());
                }
            }
            (
                Value::List(l),
                Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_) | Kind::Steps(_),
            ) => {
                self.length(path, l.len());
                for (i, n) in l.iter().enumerate() {
                    let mut path = nth(path, i);
                    match n.table().and_then(|t| Some((t, spec_of_entry(t, kind)?))) {
                        Some((t, spec)) => self.table(path, t, spec),
                        None => {
                            word(&mut path, &inline(&n.value));
                            self.add(path.finish128().into());
                        }
                    }
                }
            }
            (v, kind) => self.add(self.files.part(path, v, kind)),
        }
    }
}
