//! `cache-ext`: the choosers of groups, as the scenario asks for them.

use mmsim_core::base::id::{Idx as _, MemcgId, ThreadId};
use mmsim_core::config::MachineConfig;
use mmsim_core::policy::chooser::{ChooserMap, ChooserOptions, ChooserThread, ChooserValue};

use super::inline::inline;
use super::keys::{Kind, MANY};
use super::raw::{Node, Sources, Value};
use super::read::{Reader, describe};
use super::tables::{CACHE_EXT, CACHE_EXT_MAP, MACHINE, MEMCG, PAGES_OF_MAX};
use mmsim_base::error::Error;

/// The key of a group and of the machine.
pub(super) const KEY: &str = "cache-ext";

/// The chooser of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChooserSpec {
    /// The group.
    pub memcg: MemcgId,
    /// The path of its key.
    pub path: String,
    /// The file, or the name of a chooser in Rust.
    pub module: String,
    /// Its settings; threads and the seed are of a run.
    pub options: ChooserOptions,
    /// Maps with names of tasks and threads that are their keys.
    pub threads: Vec<(String, Vec<String>)>,
}

impl ChooserSpec {
    /// The options on a machine whose threads have these names and tasks.
    ///
    /// # Errors
    /// A name is neither of a task nor of a thread: the key and the name.
    pub(crate) fn options(
        &self,
        seed: u64,
        threads: Vec<ChooserThread>,
    ) -> Result<ChooserOptions, (String, String)> {
        let mut options = ChooserOptions { seed, ..self.options.clone() };
        for (map, names) in &self.threads {
            let keys = options.maps.iter_mut().find(|m| m.0 == *map).expect("it is read with it");
            for name in names {
                let is = |t: &ChooserThread| t.task == *name || t.name == *name;
                let all: Vec<ThreadId> = (0..threads.len())
                    .filter(|&i| is(&threads[i]))
                    .map(ThreadId::from_index)
                    .collect();
                if all.is_empty() {
                    return Err((format!("{}.maps.{map}.threads", self.path), name.clone()));
                }
                keys.1.threads.extend(all);
            }
        }
        options.threads = threads;
        Ok(options)
    }
}

/// Reads the choosers of a machine.
pub(super) fn choosers(
    sources: &Sources,
    node: &Node,
    machine: &MachineConfig,
) -> Result<Vec<ChooserSpec>, Error> {
    let r = Reader::open(sources, node, &MACHINE, "machine")?;
    let mut all = Vec::new();
    if let Some(node) = r.find(KEY) {
        all.push(chooser(sources, node, "machine.cache-ext", MemcgId(0), ("", None))?);
    }
    for (i, node) in r.list("memcg")?.iter().enumerate() {
        let path = format!("machine.memcg[{i}]");
        let g = Reader::open(sources, node, &MEMCG, &path)?;
        let Some(node) = g.find(KEY) else { continue };
        let path = g.name_of(KEY);
        let of_entry = machine.memcgs.iter().enumerate().filter(|(_, g)| g.entry == i);
        for (nth, group) in of_entry {
            let memcg = MemcgId::from_index(nth + 1);
            all.push(chooser(sources, node, &path, memcg, (&group.name, group.max))?);
        }
    }
    Ok(all)
}

fn chooser(
    sources: &Sources,
    node: &Node,
    path: &str,
    memcg: MemcgId,
    (group, max_pages): (&str, Option<u64>),
) -> Result<ChooserSpec, Error> {
    let r = Reader::open(sources, node, &CACHE_EXT, path)?;
    let watch = r.texts("watch", "name of a file")?.unwrap_or_default();
    let mut options = ChooserOptions {
        watch: watch.into_iter().map(|(name, _)| name.to_string()).collect(),
        max_pages,
        group: group.to_string(),
        ..ChooserOptions::default()
    };
    for e in r.table("set")?.map_or(&[][..], |t| &t.entries) {
        let at = format!("{}.{}", r.name_of("set"), e.key);
        let value = value(sources, &e.node, &at, max_pages)?;
        options.set.push((e.key.clone(), value));
    }
    for e in r.table("on-event")?.map_or(&[][..], |t| &t.entries) {
        let Some(program) = e.node.as_text() else {
            let at = format!("{}.{}", r.name_of("on-event"), e.key);
            return Err(found(sources, &e.node, &at, "the name of a program of the module"));
        };
        options.on_event.push((e.key.clone(), program.to_string()));
    }
    let mut threads = Vec::new();
    for e in r.table("maps")?.map_or(&[][..], |t| &t.entries) {
        let at = format!("{}.{}", r.name_of("maps"), e.key);
        let m = Reader::open(sources, &e.node, &CACHE_EXT_MAP, &at)?;
        let entries = m.find("entries").map(|node| {
            let at = m.name_of("entries");
            entries(sources, node, &at, max_pages)
        });
        let names = m.texts("threads", "task")?.unwrap_or_default();
        if !names.is_empty() {
            let names = names.into_iter().map(|(name, _)| name.to_string()).collect();
            threads.push((e.key.clone(), names));
        }
        let map = ChooserMap { entries: entries.transpose()?, threads: Vec::new() };
        options.maps.push((e.key.clone(), map));
    }
    let module = r.name("module")?.to_string();
    Ok(ChooserSpec { memcg, path: path.to_string(), module, options, threads })
}

/// A number, a truth value, or text.
fn value(
    sources: &Sources,
    node: &Node,
    at: &str,
    max_pages: Option<u64>,
) -> Result<ChooserValue, Error> {
    let number = match &node.value {
        Value::Integer(n) => i64::try_from(*n).ok(),
        Value::Flag(b) => Some(i64::from(*b)),
        Value::Text(s) if s == PAGES_OF_MAX => {
            let pages = of_max(sources, node, at, max_pages)?;
            i64::try_from(pages).ok()
        }
        Value::Text(s) => return Ok(ChooserValue::Text(s.clone())),
        _ => None,
    };
    let write = "a whole number below 2^63, true, false, or a text";
    number.map(ChooserValue::Number).ok_or_else(|| found(sources, node, at, write))
}

fn entries(sources: &Sources, node: &Node, at: &str, max_pages: Option<u64>) -> Result<u64, Error> {
    let number = match &node.value {
        Value::Text(s) if s == PAGES_OF_MAX => return of_max(sources, node, at, max_pages),
        Value::Integer(n) => u64::try_from(*n).ok(),
        _ => None,
    };
    let write = Kind::CountOr(PAGES_OF_MAX).expected();
    number.filter(|n| (1..=MANY).contains(n)).ok_or_else(|| found(sources, node, at, &write))
}

fn of_max(sources: &Sources, node: &Node, at: &str, max: Option<u64>) -> Result<u64, Error> {
    max.ok_or_else(|| {
        let write = "a number, or `max` of the group too";
        let title = format!("{at}: the group has no `max`, write {write}");
        sources.error(node.at, title, format!("write {write}"))
    })
}

fn found(sources: &Sources, node: &Node, at: &str, write: &str) -> Error {
    let what = match &node.value {
        Value::Integer(_) | Value::Text(_) => inline(&node.value),
        other => describe(other),
    };
    sources.error(node.at, format!("{at}: found {what}, write {write}"), format!("write {write}"))
}
