//! Memory cgroups of a machine: what the files of a tree say, and the files that a tree of the
//! simulated machine shows.
//!
//! A copy has limits and protection, which become `[[machine.memcg]]`, and what a group held and went
//! through, which become comments: groups of a run begin empty. Files of cgroup v2 alone are read.
//! The order in which Linux walks groups is that of their creation. It is that of the numbers of the
//! folders, which are those of the groups (Linux 6.12 fs/kernfs/dir.c, `__kernfs_new_node`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mmsim_base::error::Error;
use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::config::{MemcgConfig, MemcgMount};
use mmsim_core::memory::memcg_tree::parent_path;
use mmsim_language::scenario::show_pages;

use super::copies::{Copies, GROUPS, ORDER, Text};
use super::note::{Note, Weight};

/// A value of a file of a group.
enum Value {
    /// Pages.
    Size(u64),
    /// Pages, or no limit.
    Limit(Option<u64>),
    Flag(bool),
}

/// A file that is a setting: its name, its key in `[[machine.memcg]]`, its value.
type Setting = (&'static str, &'static str, fn(&MemcgConfig) -> Value);

/// The files that are settings.
const SETTINGS: [Setting; 9] = [
    ("memory.min", "min", |g| Value::Size(g.min)),
    ("memory.low", "low", |g| Value::Size(g.low)),
    ("memory.high", "high", |g| Value::Limit(g.high)),
    ("memory.max", "max", |g| Value::Limit(g.max)),
    ("memory.swap.high", "swap-high", |g| Value::Limit(g.swap_high)),
    ("memory.swap.max", "swap-max", |g| Value::Limit(g.swap_max)),
    ("memory.zswap.max", "zswap-max", |g| Value::Limit(g.zswap_max)),
    ("memory.zswap.writeback", "zswap-writeback", |g| Value::Flag(g.zswap_writeback)),
    ("memory.oom.group", "oom-group", |g| Value::Flag(g.oom_group)),
];

/// Groups of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// `[[machine.memcg]]` of each group, in their order, with comments.
    pub entries: String,
    /// `memcg-mount` of the machine, if the mount has an option of those.
    pub mount: String,
    /// Paths of the groups.
    pub paths: BTreeSet<String>,
}

impl Groups {
    /// Reads the tree of a copy; `total`: pages of the machine; `zswap`: the scenario has it.
    ///
    /// # Errors
    /// A file has a value that no kernel prints.
    pub(super) fn of(
        copies: &Copies,
        (total, zswap): (u64, bool),
        notes: &mut Vec<Note>,
    ) -> Result<Groups, Error> {
        let mut files: BTreeMap<&str, BTreeMap<&str, &Text>> = BTreeMap::new();
        for (name, text) in copies.under(GROUPS) {
            if let Some((path, file)) = name.rsplit_once('/').filter(|(_, f)| *f != ORDER) {
                files.entry(path).or_default().insert(file, text);
            }
        }
        // A group whose parent does not control memory has its pressure alone.
        let controlled = |file: &&str| {
            *file == "memory.current" || SETTINGS.iter().any(|setting| setting.0 == *file)
        };
        files.retain(|_, files| files.keys().any(controlled));
        let mount = mount(copies, notes);
        if files.is_empty() {
            return Ok(Groups { mount, ..Groups::default() });
        }
        for path in files.keys().copied().collect::<Vec<_>>() {
            let mut below = path;
            while let Some(above) = parent_path(below) {
                if !files.contains_key(above) {
                    files.insert(above, BTreeMap::new());
                    let why = "no file of it was copied, and groups below it were: no limits";
                    notes.push(Note::new(GROUPS, above, why).weighing(Weight::Machine));
                }
                below = above;
            }
        }
        let mut groups = Groups { mount, ..Groups::default() };
        for path in order(copies, files.keys().copied().collect(), notes)? {
            groups.entries += &entry(path, &files[path], (total, zswap), notes)?;
            groups.paths.insert(path.to_string());
        }
        let why = "groups of a run begin empty, with counters at 0: comments say what they had";
        notes.push(Note::new(GROUPS, "memory.current", why));
        Ok(groups)
    }
}

/// Options of a mount that scenarios have.
const OPTIONS: [&str; 2] = ["memory_recursiveprot", "memory_localevents"];

/// Options of the mount of cgroup v2.
fn mount(copies: &Copies, notes: &mut Vec<Note>) -> String {
    let file = "proc/mounts";
    let Some(text) = copies.get(file) else { return String::new() };
    let mut options: Vec<&str> = Vec::new();
    for line in text.text().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, at, kind, given, ..] = words[..] else { continue };
        let has = |option: &str| given.split(',').any(|o| o == option);
        if kind == "cgroup" && has("memory") {
            let why =
                "memory is controlled by cgroup v1 there, whose files are not read: no groups";
            notes.push(Note::new(file, at, why).weighing(Weight::Machine));
        }
        if kind == "cgroup2" {
            options = OPTIONS.into_iter().filter(|o| has(o)).collect();
        }
    }
    if options.is_empty() { String::new() } else { format!("memcg-mount = {options:?}\n") }
}

/// Paths in the order of their creation, parents before children.
fn order<'a>(
    copies: &Copies,
    paths: Vec<&'a str>,
    notes: &mut Vec<Note>,
) -> Result<Vec<&'a str>, Error> {
    let file = format!("{GROUPS}/{ORDER}");
    let mut numbers: BTreeMap<&str, u64> = BTreeMap::new();
    if let Some(text) = copies.get(&file) {
        for (nth, line) in text.text().lines().enumerate() {
            let number = line.trim().split_once(' ').and_then(|(n, path)| {
                let path = path.trim_start_matches('/').strip_prefix(GROUPS)?;
                Some((path.trim_start_matches('/'), n.parse().ok()?))
            });
            let Some((path, number)) = number else {
                let write = "a number and a folder, as `ls -di` prints them";
                return Err(text.bad(nth + 1, "no number of a group", write));
            };
            numbers.insert(path, number);
        }
    }
    if paths.iter().any(|path| !numbers.contains_key(path)) {
        let why = "the order in which groups were created is not known: by their paths; reclaim and \
                   the OOM killer walk them in that order";
        notes.push(Note::new(&file, "missing", why));
    }
    // Who was made later has the larger number; a child is made after its parent.
    let place = |path: &'a str| {
        let levels = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path]);
        levels
            .map(|level| (numbers.get(level).copied().unwrap_or(u64::MAX), level))
            .collect::<Vec<_>>()
    };
    let mut sorted = paths;
    sorted.sort_by_cached_key(|path| place(path));
    Ok(sorted)
}

/// A group as a table of the scenario.
fn entry(
    path: &str,
    files: &BTreeMap<&str, &Text>,
    (total, zswap): (u64, bool),
    notes: &mut Vec<Note>,
) -> Result<String, Error> {
    let mut t = String::from("\n[[machine.memcg]]\n");
    for line in told(files) {
        let _ = writeln!(t, "# {line}");
    }
    // Writing into a string cannot fail.
    let _ = writeln!(t, "name = {}", toml::Value::from(path));
    let file = |name: &str| format!("{GROUPS}/{path}/{name}");
    let none = MemcgConfig::new(path);
    for (name, key, of) in SETTINGS {
        let Some(text) = files.get(name) else { continue };
        let given = match (text.word(), of(&none)) {
            ("0", Value::Size(_) | Value::Flag(false))
            | ("1", Value::Flag(true))
            | ("max", Value::Limit(_)) => continue,
            (word @ ("0" | "1"), Value::Flag(_)) => (word == "1").to_string(),
            ("max", Value::Size(_)) => {
                let why = format!("all that there is: {}", show_pages(total));
                notes.push(Note::new(&file(name), "max", why));
                format!("\"{}\"", show_pages(total))
            }
            (_, Value::Flag(_)) => return Err(text.bad(1, "no flag of a group", "0 or 1")),
            (word, _) => match word.parse::<u64>() {
                Ok(bytes) => format!("\"{}\"", show_pages(bytes / PAGE_SIZE)),
                Err(_) => return Err(text.bad(1, "no size of a group", "bytes, or max")),
            },
        };
        if key.starts_with("zswap-") && !zswap {
            let why = "there is no zswap in the scenario: left out";
            notes.push(Note::new(&file(name), text.word(), why).weighing(Weight::Machine));
            continue;
        }
        let _ = writeln!(t, "{key} = {given}");
    }
    Ok(t)
}

/// Contents and history of a group in words: sizes, events that happened, pressure.
fn told(files: &BTreeMap<&str, &Text>) -> Vec<String> {
    let number = |text: &Text, name: &str| -> Option<u64> {
        let value = text.text().lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse().ok()
    };
    let size = |bytes: u64| show_pages(bytes / PAGE_SIZE);
    let whole = |name: &str| files.get(name).and_then(|t| t.word().parse::<u64>().ok());
    let mut held = Vec::new();
    held.extend(whole("memory.current").map(|n| format!("memory.current {}", size(n))));
    if let Some(stat) = files.get("memory.stat") {
        held.extend(
            ["anon", "file"]
                .iter()
                .filter_map(|&n| Some(format!("{n} {}", size(number(stat, n)?)))),
        );
    }
    held.extend(
        whole("memory.swap.current").filter(|n| *n > 0).map(|n| format!("swap {}", size(n))),
    );
    let mut events = Vec::new();
    if let Some(text) = files.get("memory.events") {
        let some = |l: &&str| !l.ends_with(" 0") && !l.trim().is_empty();
        events.extend(text.text().lines().filter(some).map(str::to_string));
    }
    if let Some(text) = files.get("memory.pressure") {
        let total = |l: &str| {
            let us: u64 = l.rsplit_once("total=")?.1.trim().parse().ok()?;
            let stall = l.split(' ').next()?;
            (us > 0).then(|| format!("{stall} pressure {:.3} s", us as f64 / 1e6))
        };
        events.extend(text.text().lines().filter_map(total));
    }
    let plain = |words: Vec<String>| {
        let line = words.join(", ");
        line.chars().filter(|c| !c.is_control()).take(160).collect::<String>()
    };
    [held, events].into_iter().filter(|words| !words.is_empty()).map(plain).collect()
}

/// The files of groups as a machine shows them at its start.
pub(super) fn texts(groups: &[MemcgConfig], mount: MemcgMount) -> Vec<(String, String)> {
    let limit = |pages: Option<u64>| {
        pages.map_or("max".to_string(), |n| n.saturating_mul(PAGE_SIZE).to_string())
    };
    let mut all = Vec::new();
    for group in groups {
        for (file, _, of) in SETTINGS {
            let text = match of(group) {
                Value::Size(pages) => limit(Some(pages)),
                Value::Limit(pages) => limit(pages),
                Value::Flag(on) => u8::from(on).to_string(),
            };
            all.push((format!("{GROUPS}/{}/{file}", group.name), text + "\n"));
        }
    }
    if !groups.is_empty() {
        let on = [mount.recursive_protection, mount.local_events];
        let given = OPTIONS.iter().zip(on).filter(|o| o.1).map(|o| format!(",{}", o.0));
        let given: String = given.collect();
        let line = format!("cgroup2 /{GROUPS} cgroup2 rw{given} 0 0\n");
        all.push(("proc/mounts".into(), line));
    }
    all
}

/// Words of the mount that both a copy and a machine have.
pub(super) fn options(mounts: &str) -> String {
    let line = mounts.lines().find(|l| l.split(' ').nth(2) == Some("cgroup2")).unwrap_or_default();
    let given = line.split(' ').nth(3).unwrap_or_default();
    given.split(',').filter(|o| o.starts_with("memory_")).collect::<Vec<_>>().join(",")
}
