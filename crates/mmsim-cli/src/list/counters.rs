//! `mmsim list counters`: the rows of the counters, with unit and meaning.

use mmsim::base::rules::KernelRules;
use mmsim::base::vmstat::{Counter, KernelFile, VmEvent};
use mmsim::config::Kernel;
use mmsim::config::thp::SIZES;
use mmsim::memory::SizeEvent;
use mmsim::report::Rows;
use serde::Serialize;
use std::borrow::Cow;

use super::{no_text, nothing_of};
use crate::args::ListFormat;
use crate::table;
use mmsim_terminal::exit::Failure;

/// Directories of all sizes: `N` is the size in KiB.
const ANY_SIZE: &str = "hugepages-NkB";

/// A counter.
#[derive(Serialize)]
struct Entry {
    name: Cow<'static, str>,
    unit: &'static str,
    /// The file of the kernel that has it; empty: mmsim alone counts it.
    file: &'static str,
    /// The first modelled kernel that counts it; empty: all do.
    since: &'static str,
    about: &'static str,
}

impl Entry {
    fn of(row: &'static Counter) -> Entry {
        let first = Kernel::ALL.into_iter().find(|k| row.is_of(&KernelRules::of(*k)));
        let since = first.filter(|k| *k != Kernel::ALL[0]).map_or("", Kernel::name);
        let file = if row.is_in(KernelFile::Vmstat) { "/proc/vmstat" } else { "" };
        Entry { name: row.name.into(), unit: row.unit.name(), file, since, about: row.doc }
    }

    /// The counter of each size of folios, `N` of them KiB.
    fn of_size(event: SizeEvent) -> Entry {
        Entry {
            name: format!("{ANY_SIZE}.{}", event.name()).into(),
            unit: "folios",
            file: "/sys/kernel/mm/transparent_hugepage",
            since: Kernel::V6_12.name(),
            about: event.doc(),
        }
    }

    /// Its meaning, and the kernel from which on there is something to count.
    fn sentence(&self) -> String {
        match self.since {
            "" => self.about.to_string(),
            since => format!("{} From kernel {since} on.", self.about),
        }
    }
}

/// The counters that a word names, or else mentions.
pub(super) fn list(word: Option<&str>, format: ListFormat) -> Result<String, Failure> {
    let of_sizes = SizeEvent::ALL.iter().map(|&e| Entry::of_size(e));
    let all: Vec<Entry> = VmEvent::ALL.iter().map(|e| Entry::of(e.row())).chain(of_sizes).collect();
    let entries: Vec<&Entry> = match word {
        None => all.iter().collect(),
        Some(word) => {
            let lower = word.to_lowercase();
            // A counter of one size is that of any.
            let any = SIZES.iter().fold(word.to_string(), |w, size| w.replace(size, ANY_SIZE));
            let named =
                |e: &&Entry| e.name.contains(&lower.replace('-', "_")) || e.name.contains(&any);
            let mentions = |e: &&Entry| e.about.to_lowercase().contains(&lower);
            let mut found: Vec<&Entry> = all.iter().filter(named).collect();
            if found.is_empty() {
                found = all.iter().filter(mentions).collect();
            }
            if found.is_empty() {
                let names: Vec<&str> = all.iter().map(|e| &*e.name).collect();
                return Err(nothing_of("counters", word, &names));
            }
            found
        }
    };
    Ok(match format {
        ListFormat::Table => {
            let paragraph = |e: &&Entry| {
                format!("{}, {}\n", e.name, e.unit) + &table::indented("    ", &e.sentence())
            };
            entries.iter().map(paragraph).collect()
        }
        ListFormat::Json => super::document("counters", &entries),
        ListFormat::Csv => {
            let mut csv = Rows::to(Vec::new());
            csv.texts(["name", "unit", "file", "since", "about"]);
            for e in entries {
                csv.texts([&*e.name, e.unit, e.file, e.since, e.about]);
            }
            csv.into_text()
        }
        ListFormat::Text => return Err(no_text()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each counter of the rows is there with its own unit and sentence.
    #[test]
    fn each_row_is_printed() {
        let json = list(None, ListFormat::Json).expect("a list");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let all = json["counters"].as_array().expect("a list");
        assert_eq!(all.len(), VmEvent::ALL.len() + SizeEvent::ALL.len());
        for (entry, event) in all.iter().zip(VmEvent::ALL) {
            assert_eq!(entry["name"], event.name());
            assert_eq!(entry["unit"], event.row().unit.name());
            assert_eq!(entry["about"], event.row().doc);
        }
    }

    #[test]
    fn a_word_finds_names_and_else_sentences() {
        let csv = |word| list(Some(word), ListFormat::Csv).ok();
        let named = csv("PGSCAN-anon").expect("a counter");
        assert_eq!(named.lines().count(), 2, "{named}");
        assert!(named.contains("pgscan_anon,pages,/proc/vmstat,,"), "{named}");
        assert!(csv("nrswpin").expect("a counter").contains(",/proc/vmstat,7.3,"));
        assert!(csv("fsync(2)").expect("counters").contains("\nsim_fsync_ns,ns,,,"));
        let of_size = csv("hugepages-64kB.split_deferred").expect("a counter");
        assert!(of_size.contains("\nhugepages-NkB.split_deferred,folios,/sys/"), "{of_size}");
        assert!(csv("no such thing").is_none());
    }

    /// Lines fit a terminal of 80 columns.
    #[test]
    fn the_table_is_narrow() {
        let table = list(None, ListFormat::Table).expect("a list");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}
