//! Memory cgroups as their files tell of them.

use std::collections::BTreeMap;

use crate::vmstat::Vmstat;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Sizes in `memory.stat` that are recorded, besides its counters.
const SIZES: [&str; 12] = [
    "anon",
    "file",
    "shmem",
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
    "unevictable",
    "pagetables",
    "kernel",
    "zswapped",
    "zswap_incomp",
];

/// Beginnings of the names of its counters that are recorded.
const COUNTED: [&str; 5] = ["pg", "workingset_", "pswp", "zswp", "swp"];

/// A group at some moment: sizes in pages (`zswap_bytes` in bytes), and counters from its beginning on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// `memory.current`, `memory.swap.current` and sizes of `memory.stat`, in pages.
    pub gauges: Vmstat,
    /// Counters of `memory.stat` and events by their file, pressure in microseconds.
    pub counters: Vmstat,
}

/// The files that a group is read from.
pub const FILES: [&str; 7] = [
    "memory.current",
    "memory.swap.current",
    "memory.stat",
    "memory.events",
    "memory.events.local",
    "memory.swap.events",
    "memory.pressure",
];

impl Group {
    /// Adds what stands in one of [`FILES`].
    pub fn add(&mut self, file: &str, text: &str) {
        let pairs = text.lines().filter_map(|l| {
            let (name, value) = l.split_once(' ')?;
            Some((name, value.trim().parse::<u64>().ok()?))
        });
        match file {
            "memory.current" | "memory.swap.current" => {
                let bytes: u64 = text.trim().parse().unwrap_or(0);
                self.gauges.insert(file.into(), bytes / PAGE);
            }
            "memory.stat" => {
                for (name, n) in pairs {
                    if SIZES.contains(&name) {
                        self.gauges.insert(name.into(), n / PAGE);
                    } else if name == "zswap" {
                        self.gauges.insert("zswap_bytes".into(), n);
                    } else if COUNTED.iter().any(|begin| name.starts_with(begin)) {
                        self.counters.insert(name.into(), n);
                    }
                }
            }
            "memory.pressure" => {
                for line in text.lines() {
                    let kind = line.split(' ').next().unwrap_or_default();
                    let total = line.split_once("total=").and_then(|(_, n)| n.trim().parse().ok());
                    self.counters.insert(format!("{file}.{kind}.total"), total.unwrap_or(0));
                }
            }
            _ => self.counters.extend(pairs.map(|(name, n)| (format!("{file}.{name}"), n))),
        }
    }

    /// The group with counters since an earlier moment. What is 0 is left out.
    #[must_use]
    pub fn since(&self, before: &Group) -> Group {
        let rose = |(k, n): (&String, &u64)| {
            let by = n.saturating_sub(before.counters.get(k).copied().unwrap_or(0));
            (by > 0).then(|| (k.clone(), by))
        };
        let some = |(k, n): (&String, &u64)| (*n > 0).then(|| (k.clone(), *n));
        Group {
            gauges: self.gauges.iter().filter_map(some).collect(),
            counters: self.counters.iter().filter_map(rose).collect(),
        }
    }

    /// Its line, behind the names of phase and group: gauges, `|`, counters.
    pub fn words(&self) -> String {
        let words = |all: &Vmstat| all.iter().map(|(k, n)| format!(" {k}={n}")).collect::<String>();
        format!("{} |{}", words(&self.gauges), words(&self.counters))
    }

    /// Reads such a line.
    pub fn read(words: &str) -> Option<Group> {
        let (gauges, counters) = words.split_once('|')?;
        let all = |text: &str| -> Option<Vmstat> {
            let pair =
                |w: &str| w.split_once('=').and_then(|(k, n)| Some((k.into(), n.parse().ok()?)));
            text.split_whitespace().map(pair).collect()
        };
        Some(Group { gauges: all(gauges)?, counters: all(counters)? })
    }
}

/// Groups by path.
pub type Groups = BTreeMap<String, Group>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_what_its_files_say() {
        let (mut before, mut after) = (Group::default(), Group::default());
        before.add("memory.stat", "anon 4096\npgscan 7\nslab 5\n");
        after.add("memory.stat", "anon 8192\npgscan 9\nslab 9\n");
        after.add("memory.current", "12288\n");
        after.add("memory.events", "low 0\nmax 3\n");
        after.add("memory.pressure", "some avg10=0.00 total=12\nfull avg10=0.00 total=0\n");
        let since = after.since(&before);
        let line =
            " anon=2 memory.current=3 | memory.events.max=3 memory.pressure.some.total=12 pgscan=2";
        assert_eq!(since.words(), line);
        assert_eq!(Group::read(line), Some(since));
    }
}
