//! Where results of a sweep are kept: a folder with two files for each shard.
//!
//! `shard-I-of-N.jsonl.zst` holds finished units, a line of JSON each, in zstd frames that are
//! appended. Its first line says of which sweep and shard it is. `shard-I-of-N.tail` holds the
//! last few seconds as plain lines, each with its checksum. A unit that ends is in the tail at
//! once, so a process that is killed loses only the units it is at. Every few seconds the frames
//! are made durable, and then the tail begins anew.
//!
//! The tail's first line says how long the other file was when the tail began. Frames behind that
//! are in the tail as well, as lines. A power cut may lose any end of either: whole frames count,
//! and so do whole lines of the tail; what follows them is cut off. So a unit counts as done if
//! and only if it is kept, and nothing is written twice but the tail.

mod id;
mod read;
mod shard;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files::unreadable;

pub(crate) use id::id_of;
pub use id::{Numbered, UnitId};
pub use read::Stored;
pub(crate) use read::{Lines, checksum, no_line};
pub use shard::{MOST_SHARDS, Shard};
pub use write::Writer;

/// The version of the form of stores.
const FORM: u32 = 2;

/// The first line of a shard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    mmsim_sweep: u32,
    mmsim: String,
    sweep: String,
    shard: u32,
    shards: u32,
}

impl Header {
    fn of(sweep: &str, shard: Shard) -> Header {
        Header {
            mmsim_sweep: FORM,
            mmsim: env!("CARGO_PKG_VERSION").to_string(),
            sweep: sweep.to_string(),
            shard: shard.index,
            shards: shard.of,
        }
    }

    /// Refuses a shard of another sweep, version or place. `sweep`: which it should be of, if that
    /// is known.
    fn check(&self, file: &Path, shard: Shard, sweep: Option<&str>) -> Result<(), Error> {
        let file = file.display();
        let version = env!("CARGO_PKG_VERSION");
        let refuse = |title: String, help: &str| {
            Err(Error::new(ErrorKind::File, title).help(help.to_string()))
        };
        if self.mmsim_sweep != FORM {
            let form = self.mmsim_sweep;
            let title = format!("`{file}` has form {form}, this version of mmsim reads {FORM}");
            return refuse(title, "name another store, or use that version");
        }
        if self.mmsim != version {
            let title = format!(
                "`{file}` was written by mmsim {}, and this is {version}: results are not \
                 comparable",
                self.mmsim
            );
            return refuse(title, "name another store, or use that version");
        }
        if let Some(sweep) = sweep.filter(|s| *s != self.sweep) {
            let title = format!("`{file}` is of the sweep `{}`, not of `{sweep}`", self.sweep);
            return refuse(title, "name another store with --store DIR");
        }
        if (self.shard, self.shards) != (shard.index, shard.of) {
            let title = format!(
                "`{file}` holds shard {} of {}, and its name says another",
                self.shard, self.shards
            );
            return refuse(title, "give it its name back");
        }
        Ok(())
    }
}

/// The two files of a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    pub(crate) shard: Shard,
    pub(super) frames: PathBuf,
    pub(super) tail: PathBuf,
}

impl Files {
    fn of(folder: &Path, shard: Shard) -> Files {
        let stem = format!("shard-{:05}-of-{:05}", shard.index, shard.of);
        Files {
            shard,
            frames: folder.join(format!("{stem}.jsonl.zst")),
            tail: folder.join(format!("{stem}.tail")),
        }
    }

    /// All of a store, by number of shards and then by shard.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn all(folder: &Path) -> Result<Vec<Files>, Error> {
        let entries = folder.read_dir().map_err(|e| unreadable(folder, &e))?;
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let shard = |name: String| {
            let stem = name.strip_suffix(".jsonl.zst")?.strip_prefix("shard-")?;
            let (index, of) = stem.split_once("-of-")?;
            Shard::new(index.parse().ok()?, of.parse().ok()?).ok()
        };
        let mut shards: Vec<Shard> = names.filter_map(shard).collect();
        shards.sort_by_key(|s| (s.of, s.index));
        Ok(shards.into_iter().map(|s| Files::of(folder, s)).collect())
    }
}

/// The results that a plan has kept, and keeps.
pub struct Store {
    folder: PathBuf,
    writer: Writer,
    done: BTreeSet<UnitId>,
    /// Contents when it was opened, read with the first result that is taken from them.
    lines: Option<Lines<Arc<Stored>>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.folder.display())
    }
}

impl Store {
    /// Opens the store of a plan to go on, or begins it. `plan` is its name in the store; another
    /// plan's store is refused.
    ///
    /// # Errors
    ///
    /// As for [`Writer::open`].
    pub fn open(folder: &Path, plan: &str, shard: Shard) -> Result<Store, Error> {
        let (writer, mut done) = Writer::open(folder, plan, shard)?;
        // What shards of another number of shards hold is done too.
        if Files::all(folder)?.iter().any(|files| files.shard.of != shard.of) {
            let stored = Stored::open(folder, Some(plan))?;
            done.extend(stored.by_number().into_iter().map(|unit| unit.id));
        }
        Ok(Store { folder: folder.to_path_buf(), writer, done, lines: None })
    }

    /// Names of the results that it holds.
    pub(crate) fn done(&self) -> &BTreeSet<UnitId> {
        &self.done
    }

    /// A result that it held when it was opened.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, id: UnitId) -> Result<Option<T>, Error> {
        if !self.done.contains(&id) {
            return Ok(None);
        }
        let lines = match &mut self.lines {
            Some(lines) => lines,
            none => none.insert(Lines::new(Arc::new(Stored::open(&self.folder, None)?))),
        };
        let Some(position) = lines.stored().position(id) else { return Ok(None) };
        let line = lines.line(position)?;
        let made = parts_of(&line).and_then(|(.., made)| serde_json::from_slice(made).ok());
        made.map(Some).ok_or_else(|| no_line(&self.folder))
    }

    /// Keeps a result. It outlives this process when this returns.
    pub(crate) fn keep(&mut self, unit: Numbered, made: &impl Serialize) -> Result<(), Error> {
        let json = serde_json::to_vec(made).expect("results are plain data");
        self.writer.keep(unit.id, unit.n, &json)
    }

    /// Packs what was kept, and makes it durable.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush()
    }
}

/// Refuses a store of a sweep where `what` is wanted: [`A_PLAN`], or a report.
///
/// # Errors
///
/// `path` is a store; the message says what to name instead.
pub fn refuse_store(path: &Path, what: &str) -> Result<(), Error> {
    if !path.is_dir() || Files::all(path)?.is_empty() {
        return Ok(());
    }
    let store = path.display();
    let help = match (what, plan_beside(path)) {
        (A_PLAN, Some(plan)) => format!("name its plan, `{plan}`"),
        (A_PLAN, None) => format!("name the plan, and write `--store {store}`"),
        _ => format!("make one of it with `{} -o REPORT.json`, and name that", merge_command(path)),
    };
    let title = format!("`{store}` is the store of a sweep, not {what}");
    Err(Error::new(ErrorKind::File, title).help(help))
}

/// The plan beside a store that has its usual name.
fn plan_beside(store: &Path) -> Option<String> {
    let plan = store.with_extension("toml");
    let is = store.extension().is_some_and(|e| e == "sweep") && plan.is_file();
    is.then(|| plan.display().to_string())
}

/// The command that merges a store by its plan.
pub(crate) fn merge_command(store: &Path) -> String {
    match plan_beside(store) {
        Some(plan) => format!("mmsim sweep merge {plan}"),
        None => format!("mmsim sweep merge PLAN --store {}", store.display()),
    }
}

/// Argument of [`refuse_store`] where a plan is wanted.
pub const A_PLAN: &str = "a plan";

/// The line of a unit.
pub(crate) fn line_of(id: UnitId, n: u64, run: &[u8]) -> Vec<u8> {
    let mut line = format!("{{\"unit\":\"{id}\",\"n\":{n},\"run\":").into_bytes();
    line.extend_from_slice(run);
    line.push(b'}');
    line
}

/// A line taken apart again: the unit, its number when it ran, and its report as JSON.
pub(crate) fn parts_of(line: &[u8]) -> Option<(UnitId, u64, &[u8])> {
    let rest = line.strip_prefix(b"{\"unit\":\"")?;
    let id = UnitId::parse(std::str::from_utf8(rest.get(..32)?).ok()?)?;
    let rest = rest[32..].strip_prefix(b"\",\"n\":")?;
    let digits = rest.iter().position(|b| !b.is_ascii_digit())?;
    let n = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let run = rest[digits..].strip_prefix(b",\"run\":")?.strip_suffix(b"}")?;
    Some((id, n, run))
}

/// Bytes of lines that one frame holds, about.
const FRAME: usize = 256 << 10;
/// Bytes of the tail that make the frames durable before their time.
const LONGEST_TAIL: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_again() {
        let id = UnitId(0xfeed << 64 | 7);
        let line = line_of(id, 12, b"{\"seed\":1}");
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        assert_eq!(parts_of(&line), Some((id, 12, &b"{\"seed\":1}"[..])));
        for cut in 0..line.len() - 12 {
            assert_eq!(parts_of(&line[..cut]), None);
        }
    }

    #[test]
    fn names_are_found_and_others_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["shard-00002-of-00007.jsonl.zst", "shard-00000-of-00001.jsonl.zst", "x.zst"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = Files::all(dir.path()).unwrap();
        let shards: Vec<(u32, u32)> = found.iter().map(|f| (f.shard.index, f.shard.of)).collect();
        assert_eq!(shards, [(0, 1), (2, 7)]);
    }
}
