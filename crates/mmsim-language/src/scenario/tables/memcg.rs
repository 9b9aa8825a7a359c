//! `[[machine.memcg]]`: groups by their paths, one entry for several.
//!
//! A path says where a group stands: `pod/a` is below `pod`, which stands before it in the list. An
//! entry with a `count` makes numbered groups, `pod-0` and so on, and an entry below `pod` makes one
//! group below each of them.

use std::collections::BTreeSet;

use mmsim_core::config::{Kernel, MemcgConfig, MemcgMount};
use mmsim_core::memory::memcg_tree::parent_path;
use mmsim_workload::since::{Since, since};

use super::cache_ext::CACHE_EXT_KEY;
use super::key;
use crate::scenario::groups::instances;
use crate::scenario::keys::{Fallback, Kind, TableSpec};
use crate::scenario::machine::kernel_of;
use crate::scenario::read::Reader;
use crate::scenario::rows::rows;
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Count, Flag, Limit, Text, Time};

rows! {
    /// `[[machine.memcg]]`.
    MEMCG,
    "[[machine.memcg]]",
    "A group, with the files of cgroup v2. Groups stand in the order of their creation.";
    fn memcg(r, _cx: ()) -> MemcgConfig {
        name: {r.name("name")?.to_string();
            ("name", Text, Required,
            "path below the root, as in `pod/a`, for `task.memcg` and reports; the group `pod` stands before it"),
            ("count", Count(1, MOST_EMPTY), Is("1"),
            "groups of this name, with `-0`, `-1` and so on behind it; an entry below them makes a group in each")};
        entry: {0; ..CACHE_EXT_KEY};
        min: {r.protection("min")?; ("min", Limit, Is("\"0 pages\""),
            "never reclaimed below this, from kernel 5.5 on (Linux 4.18)")};
        low: {r.protection("low")?; ("low", Limit, Is("\"0 pages\""),
            "reclaimed below this only if nothing else is left")};
        high: ("high", Limit, Is("\"max\""), "throttled and reclaimed above this");
        max: ("max", Limit, Is("\"max\""), "hard limit");
        swap_high: ("swap-high", Limit, Is("\"max\""),
            "throttled above this in swap, from kernel 5.8 on");
        swap_max: ("swap-max", Limit, Is("\"max\""),
            "limit of swapped memory, from kernel 5.5 on (Linux 4.5)");
        zswap_max: ("zswap-max", Limit, Is("\"max\""),
            "limit of its pages in zswap, from kernel 6.1 on (Linux 5.19); 0: none goes there");
        zswap_writeback: ("zswap-writeback", Flag, Is("true"),
            "zswap may write its pages to swap devices, from kernel 6.12 on (Linux 6.8)");
        oom_group: ("oom-group", Flag, Is("false"),
            "the OOM killer ends all processes of the group or none, from kernel 5.5 on (Linux 4.19)");
        lazyfreeness: ("lazyfreeness", Count(0, 100), Auto("that of the group above it"),
            "its own `vm.lazyfreeness`, as posted in 2015 and never merged");
        from: ("from", Time, Is("\"0ns\""), "when it is created");
        until: ("until", Time, Auto("never"),
            "when it is removed, or later: as soon as no process and no group is in it");
        empty: {None; ("empty", Flag, Is("false"),
            "no process and no group is ever in it; all `count` of them have one row in reports")};
    }
}

/// Files of groups that came while the modelled kernels did. `memory.low`, `memory.high` and
/// `memory.max` are of 4.0.
const SINCE: &[(&str, &str, Since)] = &[
    ("min", "memory.min", since(Kernel::V5_5, "4.18")),
    ("swap-high", "memory.swap.high", since(Kernel::V5_8, "5.8")),
    ("swap-max", "memory.swap.max", since(Kernel::V5_5, "4.5")),
    ("zswap-max", "memory.zswap.max", since(Kernel::V6_1, "5.19")),
    ("zswap-writeback", "memory.zswap.writeback", since(Kernel::V6_12, "6.8")),
    ("oom-group", "memory.oom.group", since(Kernel::V5_5, "4.19")),
];

/// Keys that say something of a machine with zswap alone.
const ZSWAP_KEYS: [&str; 2] = ["zswap-max", "zswap-writeback"];

/// Groups besides the root (`MEM_CGROUP_ID_MAX`), those that stay empty left out.
pub(in crate::scenario) const MOST_GROUPS: u64 = 65_535;
/// Groups of an entry that stay empty.
const MOST_EMPTY: u64 = 10_000_000;

/// Options of the mount, with the first kernel that has them.
const MOUNT: [(&str, Since); 2] = [
    ("memory_recursiveprot", since(Kernel::V5_8, "5.7")),
    ("memory_localevents", since(Kernel::V5_5, "5.2")),
];

/// Reads `machine.memcg-mount`.
pub(super) fn mount(r: &Reader<'_>) -> Result<MemcgMount, Error> {
    let key = "memcg-mount";
    let mut has = [false; MOUNT.len()];
    for node in r.list(key)? {
        let text = node.as_text().unwrap_or_default();
        let Some(i) = MOUNT.iter().position(|(word, _)| *word == text) else {
            let words = MOUNT.map(|(word, _)| word);
            return Err(r.unknown_word(key, "mount option", text, &words));
        };
        r.dated(key, MOUNT[i].1.check(kernel_of(r)?, MOUNT[i].0, "leave it out"))?;
        has[i] = true;
    }
    Ok(MemcgMount { recursive_protection: has[0], local_events: has[1] })
}

/// Reads `[[machine.memcg]]`.
pub(super) fn memcgs(r: &Reader<'_>) -> Result<Vec<MemcgConfig>, Error> {
    let (mut groups, mut names) = (Vec::<MemcgConfig>::new(), BTreeSet::new());
    for (i, n) in r.list("memcg")?.iter().enumerate() {
        let path = format!("machine.memcg[{i}]");
        let g = Reader::open(r.sources, n, &MEMCG, &path)?;
        let entry = memcg(&g, ())?;
        for &(key, file, since) in SINCE.iter().filter(|f| !g.is_default(f.0)) {
            g.dated(key, since.check(kernel_of(r)?, file, "leave it out"))?;
        }
        if !r.has("zswap")
            && let Some(key) = ZSWAP_KEYS.iter().find(|key| !g.is_default(key))
        {
            let write = "`machine.zswap = {}` too, or leave it out";
            return Err(g.error(key, "this machine has no zswap", write));
        }
        check_path(&g, &entry.name)?;
        check_times(&g, &entry, &groups)?;
        let count: u64 = g.get("count")?;
        let empty: bool = g.get("empty")?;
        let (count, empty) = if empty { (1, Some(count as u32)) } else { (count, None) };
        for (above, inherited) in parents(&g, &groups, &entry.name)? {
            let lazyfreeness = entry.lazyfreeness.or(inherited);
            if groups.len() as u64 + count > MOST_GROUPS {
                let key = if g.is_default("count") { "name" } else { "count" };
                let found = format!("more than {MOST_GROUPS} groups");
                let write = "fewer of them, or `empty = true` if no process is ever in them";
                return Err(g.error(key, found, write));
            }
            let own = entry.name.rsplit('/').next().unwrap_or_default();
            for nth in 0..count {
                let number = if count > 1 { format!("-{nth}") } else { String::new() };
                let name = format!("{above}{own}{number}");
                if !names.insert(name.clone()) {
                    let found = format!("\"{name}\" names two groups");
                    return Err(g.error("name", found, "another name"));
                }
                let own = MemcgConfig { name, entry: i, empty, lazyfreeness, ..entry.clone() };
                groups.push(own);
            }
        }
    }
    Ok(groups)
}

/// The longest name of a directory (`NAME_MAX`).
const NAME_MAX: usize = 255;

/// A path has no empty or too long part and does not lead upwards.
fn check_path(g: &Reader<'_>, path: &str) -> Result<(), Error> {
    let found = match path {
        _ if path.starts_with('/') => format!("\"{path}\" begins with a slash"),
        _ if path.split('/').any(str::is_empty) => format!("\"{path}\" has an empty part"),
        _ if path.split('/').any(|part| part == ".." || part == ".") => {
            format!("\"{path}\" leads to another group")
        }
        _ if path.split('/').any(|part| part.len() > NAME_MAX) => {
            format!("a part of more than {NAME_MAX} bytes")
        }
        _ => return Ok(()),
    };
    Err(g.error("name", found, "a path below the root, as in \"pod/a\""))
}

/// A group is created no earlier than the one above it, and removed after that.
fn check_times(g: &Reader<'_>, entry: &MemcgConfig, groups: &[MemcgConfig]) -> Result<(), Error> {
    let above = parent_path(&entry.name).map_or_else(Vec::new, |path| instances(groups, path));
    if let Some(late) = above.into_iter().map(|i| &groups[i]).find(|a| a.from > entry.from) {
        let key = if g.is_default("from") { "name" } else { "from" };
        let found = format!("\"{}\" is created before \"{}\" above it", entry.name, late.name);
        return Err(g.error(key, found, format!("from = \"{}\" or later", late.from)));
    }
    match entry.until {
        Some(until) if until < entry.from => {
            let found = format!("\"{}\" is removed before it is created", entry.name);
            Err(g.error("until", found, format!("\"{}\" or later", entry.from)))
        }
        _ => Ok(()),
    }
}

/// Beginnings of the paths of the groups that an entry makes: the path of each parent with a slash, or
/// nothing below the root. With each the value that a group inherits.
fn parents(
    g: &Reader<'_>,
    groups: &[MemcgConfig],
    path: &str,
) -> Result<Vec<(String, Option<u32>)>, Error> {
    let Some(above) = parent_path(path) else { return Ok(vec![(String::new(), None)]) };
    let parents = instances(groups, above);
    if parents.is_empty() {
        let found = format!("\"{path}\" stands below \"{above}\", and no group before it is that");
        return Err(g.error("name", found, format!("{{ name = \"{above}\" }} before it")));
    }
    if parents.iter().any(|&i| groups[i].empty.is_some()) {
        let found = format!("\"{path}\" stands below \"{above}\", which is to stay empty");
        return Err(g.error("name", found, "it elsewhere, or no `empty = true` above"));
    }
    let parents = parents.into_iter().map(|i| &groups[i]);
    Ok(parents.map(|above| (format!("{}/", above.name), above.lazyfreeness)).collect())
}
