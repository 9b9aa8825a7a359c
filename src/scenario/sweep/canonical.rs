//! What decides the result of a run, in one form whatever form the file has: the name of a unit
//! of a sweep is a hash of it.
//!
//! It is walked by the tables of keys with all defaults filled in. So a key that is written with
//! its default, or a size in another unit, makes no other unit, and neither does another axis.
//! Files count by what is in them and not by their names.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mmsim_workload::trace;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::super::given::{ELSEWHERE, text};
use super::super::keys::{Kind, TableSpec};
use super::super::raw::{Table, Value, inline};
use super::super::read::spec_of_entry;
use super::super::tables::ROOT;

/// The one key told elsewhere in reports that decides what is in the report of a run.
const DECIDES: &str = "bounds";

/// Bytes and digest of each file that was asked for, so that each is read once.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<BTreeMap<PathBuf, Option<(u64, u64)>>>);

impl Contents {
    fn of(&self, path: &Path) -> Option<(u64, u64)> {
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

/// A hash of all that a unit is but for its seed.
#[derive(Clone)]
pub(super) struct Canonical<'a> {
    hasher: SipHasher13,
    contents: &'a Contents,
    dir: &'a Path,
}

impl<'a> Canonical<'a> {
    /// Of a document with its defaults, in a variant. `dir`: where its files are; `resident`:
    /// whether resident memory is measured.
    pub(super) fn of(
        doc: &Table,
        variant: &str,
        resident: bool,
        dir: &'a Path,
        contents: &'a Contents,
    ) -> Canonical<'a> {
        let mut all = Canonical { hasher: SipHasher13::new(), contents, dir };
        all.word(env!("CARGO_PKG_VERSION"));
        all.word(variant);
        all.hasher.write_u8(resident.into());
        let decides = |name: &str| name == DECIDES || !ELSEWHERE.contains(&name);
        for k in ROOT.keys().filter(|k| decides(k.name)) {
            if let Some(node) = doc.get(k.name) {
                all.word(k.name);
                all.value(&node.value, k.kind);
            }
        }
        all
    }

    /// The name of the unit with this seed.
    pub(super) fn seeded(&self, seed: u64) -> u128 {
        let mut hasher = self.hasher;
        hasher.write_u64(seed);
        hasher.finish128().into()
    }

    /// Texts with their lengths, so that no two lists of texts are alike.
    fn word(&mut self, text: &str) {
        self.hasher.write_u64(text.len() as u64);
        self.hasher.write(text.as_bytes());
    }

    fn table(&mut self, t: &Table, spec: &'static TableSpec) {
        self.hasher.write_u8(b'{');
        for k in spec.keys() {
            if let Some(node) = t.get(k.name) {
                self.word(k.name);
                self.value(&node.value, k.kind);
            }
        }
        self.hasher.write_u8(b'}');
    }

    fn value(&mut self, value: &Value, kind: Kind) {
        match (value, kind) {
            (Value::Table(t), Kind::Table(spec) | Kind::Device(spec)) => self.table(t, spec),
            // Their order says nothing, but for regions, which lie one behind the other.
            (Value::Table(t), Kind::Regions(spec)) => {
                for e in &t.entries {
                    self.word(&e.key);
                    self.value(&e.node.value, Kind::Table(spec));
                }
            }
            (Value::Table(t), _) => {
                let mut entries: Vec<_> = t.entries.iter().collect();
                entries.sort_by(|a, b| a.key.cmp(&b.key));
                for e in entries {
                    self.word(&e.key);
                    self.word(&inline(&e.node.value));
                }
            }
            (Value::List(l), Kind::Tables(_) | Kind::Tasks(_) | Kind::Steps(_)) => {
                self.hasher.write_u64(l.len() as u64);
                for n in l {
                    match n.table().and_then(|t| Some((t, spec_of_entry(t, kind)?))) {
                        Some((t, spec)) => self.table(t, spec),
                        None => self.word(&inline(&n.value)),
                    }
                }
            }
            (Value::Text(name), Kind::File) => match self.contents.of(&self.dir.join(name)) {
                Some((bytes, digest)) => {
                    self.hasher.write_u64(bytes);
                    self.hasher.write_u64(digest);
                }
                None => self.word("unreadable"),
            },
            (v, kind) => self.word(&text(v, kind)),
        }
    }
}
