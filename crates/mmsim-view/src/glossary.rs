//! Entries of docs/glossary.md, which say what a figure counts, for the terminal and the page.
//!
//! An entry begins with `### LABEL`. Its paragraphs follow; those that begin with `Also:` and `Name:`
//! hold other labels and the word that options take.

use mmsim::base::vmstat::VmEvent;
use mmsim::memory::SizeEvent;
use mmsim::nearest::nearest;

/// The document, through a link within this crate, so that its package holds it too.
const DOCUMENT: &str = include_str!("glossary.txt");

/// Words of a label that stand for any word: `launch latency p50, us` is a `record latency p50, us`.
const ANY: [&str; 4] = ["record", "TASK,", "N", "N,"];

/// An entry.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The label in tables.
    pub label: &'static str,
    /// Paragraphs in plain text; names in the kernel and in files stand between backticks.
    pub text: Vec<String>,
    /// Other labels.
    pub also: Vec<&'static str>,
    /// The word that `--by`, plans and `[[expect]]` take.
    pub name: Option<&'static str>,
}

/// Parts between backticks.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// Markdown without links and emphasis, on one line. A link to a document that stands between
/// brackets is the name of its file.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let link = rest[at..].find("](").map(|n| at + n);
        let link = link.and_then(|mid| Some((mid, mid + rest[mid..].find(')')?)));
        let (name, behind) = match link {
            Some((mid, end)) if !rest[at + 1..mid].contains('[') => (at + 1..mid, end + 1),
            _ => (at..at + 1, at + 1),
        };
        out += &rest[..at];
        let target = rest[..behind].split("](").nth(1).unwrap_or_default();
        match target.split_once(".md") {
            Some((file, _)) if out.ends_with('(') && rest[behind..].starts_with(')') => {
                out += &format!("docs/{file}.md");
            }
            _ => out += &rest[name],
        }
        rest = &rest[behind..];
    }
    out += rest;
    // A star within a name between backticks is a part of it.
    let parts = out.split('`').enumerate();
    let parts = parts.map(|(i, part)| match i % 2 {
        0 => part.replace('*', ""),
        _ => format!("`{part}`"),
    });
    parts.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn entry(text: &'static str) -> Entry {
    let text = text.split("\n## ").next().unwrap_or_default();
    let (label, body) = text.split_once('\n').unwrap_or((text, ""));
    let mut entry = Entry { label: label.trim(), text: Vec::new(), also: Vec::new(), name: None };
    for paragraph in body.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        if let Some(also) = paragraph.strip_prefix("Also:") {
            entry.also = quoted(also).collect();
        } else if let Some(name) = paragraph.strip_prefix("Name:") {
            entry.name = quoted(name).next();
        } else if paragraph.starts_with("- ") {
            entry.text.extend(paragraph.split("\n- ").map(plain));
        } else {
            entry.text.push(plain(paragraph));
        }
    }
    entry
}

/// All entries, in the order of the document.
pub fn entries() -> Vec<Entry> {
    DOCUMENT.split("\n### ").skip(1).map(entry).collect()
}

/// A label without its unit.
fn unitless(label: &str) -> &str {
    label.rsplit_once(", ").map_or(label, |(name, _)| name)
}

impl Entry {
    /// True if `word` is its label, with or without its unit, its name, or another label of it.
    fn is(&self, word: &str) -> bool {
        let own = [self.label, unitless(self.label)].into_iter();
        own.chain(self.also.iter().copied()).chain(self.name).any(|l| l.eq_ignore_ascii_case(word))
    }

    /// True if its label stands for `label` with names in it.
    fn stands_for(&self, label: &str) -> bool {
        let (own, other) = (self.label.split(' '), label.split(' '));
        own.clone().count() == other.clone().count()
            && own.clone().any(|word| ANY.contains(&word))
            && own.zip(other).all(|(a, b)| a == b || ANY.contains(&a))
    }

    /// True if it names `word` between backticks.
    fn names(&self, word: &str) -> bool {
        let quoted = format!("`{word}`");
        self.text.iter().any(|paragraph| paragraph.contains(&quoted))
    }
}

/// The entry of a row or figure: by its label, its name for options, or a counter that it is made of.
pub fn of<'e>(entries: &'e [Entry], word: &str) -> Option<&'e Entry> {
    let word = word.trim();
    let behind = word.split_once(' ').map(|(_, rest)| rest);
    let find = |of: &dyn Fn(&Entry) -> bool| entries.iter().find(|e| of(e));
    find(&|e| e.label == word)
        .or_else(|| find(&|e| e.is(word)))
        .or_else(|| find(&|e| e.stands_for(word)))
        .or_else(|| find(&|e| e.names(word)))
        // `pageout tried, MiB`: the row of a scheme begins with its action.
        .or_else(|| find(&|e| behind == Some(e.label)))
}

/// Gauges that are in no row of a table.
const GAUGES: [(&str, &str); 11] = [
    (
        "nr_anon_transparent_hugepages",
        "Pages of anonymous memory in huge pages that are mapped whole.",
    ),
    ("nr_mapped", "File pages that are mapped."),
    ("nr_shmem", "Pages of tmpfs and shared anonymous memory that are in memory."),
    ("nr_dirty", "File pages that are dirty."),
    ("zswap_pool_pages", "Frames of zswap's pool (`pool_total_size`)."),
    ("zswap_stored_pages", "Pages that zswap holds (`stored_pages`)."),
    (
        "zswap_stored_incompressible_pages",
        "Pages that zswap holds as they are (`stored_incompressible_pages`).",
    ),
    ("nr_writeback", "File pages that are being written."),
    ("nr_swapcached", "Pages in memory that have a copy in swap."),
    ("nr_swap_used", "Swap slots in use. Linux shows them in /proc/swaps."),
    ("workingset_nodes", "Nodes of page caches and of swap that hold shadows alone."),
];

/// Figures of a group that no other table has.
const OF_GROUPS: [(&str, &str); 15] = [
    ("memory.current", "Bytes that are charged to the group."),
    ("memory.swap.current", "Bytes of swap that are charged to the group."),
    (
        "memory.pressure.some.total",
        "Microseconds in which a thread of the group waited for memory.",
    ),
    (
        "memory.pressure.full.total",
        "Microseconds in which threads of the group waited for memory and none of them ran.",
    ),
    ("memory.events.low", "Groups that a pass reclaimed from within their `memory.low`."),
    ("memory.events.high", "Reclaims by threads because the group was above `memory.high`."),
    ("memory.events.max", "Attempts to reclaim because a charge would pass `memory.max`."),
    ("memory.events.oom", "Times when reclaim for `memory.max` failed."),
    ("memory.events.oom_kill", "Processes of the group that the OOM killer ended."),
    ("memory.events.oom_group_kill", "Times when the OOM killer ended the whole group."),
    ("memory.swap.events.high", "Times when a thread was slowed down above `memory.swap.high`."),
    ("memory.swap.events.max", "Pages that were not swapped out because of `memory.swap.max`."),
    (
        "memory.swap.events.fail",
        "Pages that were not swapped out because of `memory.swap.max` or a full swap device.",
    ),
    ("sim_removed_ns", "Nanoseconds after which the group was removed; 0: it was not."),
    ("sim_left_bytes", "Bytes that were charged to the group when it was removed."),
];

/// The sentences about a figure of a group, such as `memory.events.local.max`: what it counts, and of
/// which groups.
pub fn of_group(name: &str) -> Option<[&'static str; 2]> {
    let (of, whose) = match name.strip_prefix("memory.events.local.") {
        Some(event) => (format!("memory.events.{event}"), "It counts the group alone."),
        None => (name.to_string(), "It includes all groups below."),
    };
    OF_GROUPS.iter().find(|row| row.0 == of).map(|row| [row.1, whose])
}

/// The sentence about a counter or a gauge.
pub fn counter(name: &str) -> Option<&'static str> {
    let counted = VmEvent::ALL.iter().find(|e| e.name() == name).map(|e| e.row().doc.trim());
    let of_size = || SizeEvent::named(name).map(SizeEvent::doc);
    let gauge = || GAUGES.iter().find(|gauge| gauge.0 == name).map(|gauge| gauge.1);
    counted.or_else(of_size).or_else(gauge)
}

/// Words near to one that no entry has: the one that is probably meant, then those that contain it.
pub fn near(entries: &[Entry], word: &str) -> Vec<&'static str> {
    let mut known: Vec<&'static str> = Vec::new();
    for e in entries {
        known.extend([e.label, unitless(e.label)].into_iter().chain(e.name));
        known.extend(&e.also);
    }
    known.extend(VmEvent::ALL.iter().map(|e| e.name()));
    known.extend(GAUGES.iter().chain(&OF_GROUPS).map(|row| row.0));
    known.extend(SizeEvent::names().iter().map(String::as_str));
    let lowered = word.to_lowercase();
    let holds = |k: &&str| lowered.len() > 2 && k.to_lowercase().contains(&lowered);
    let holding = known.iter().copied().filter(holds);
    // `presure` for every label with the word `pressure`.
    let words = |k: &&str| {
        let words: Vec<&str> = k.split([' ', '_', ',', '-']).filter(|w| w.len() > 3).collect();
        nearest(word, &words).is_some()
    };
    let spelled = known.iter().copied().filter(words);
    let whole = nearest(word, &known);
    let mut found: Vec<&'static str> = whole.into_iter().chain(holding).chain(spelled).collect();
    let all = found.clone();
    let mut nth = 0..;
    found.retain(|word| nth.next().is_some_and(|n: usize| !all[..n].contains(word)));
    found.truncate(5);
    found
}

#[cfg(test)]
mod tests {
    use mmsim::report::derived::Figure;

    use super::*;

    #[test]
    fn markdown_is_told_in_plain_text() {
        let text = "**Less** of `a_*` is\n*better* ([docs](x.md#y)); see [it](#z-), x[0] (no).";
        assert_eq!(plain(text), "Less of `a_*` is better (docs/x.md); see it, x[0] (no).");
    }

    /// By label, by name, by a counter, and by labels with names of tasks and schemes in them.
    #[test]
    fn a_figure_has_one_entry_under_all_its_words() {
        let entries = entries();
        for figure in Figure::ALL {
            let by_label = of(&entries, figure.label());
            assert!(by_label.is_some(), "{}", figure.label());
            assert_eq!(of(&entries, figure.name()), by_label, "{}", figure.name());
        }
        let label = |word: &str| of(&entries, word).map(|e| e.label);
        for (word, entry) in [
            ("memory pressure", "memory pressure, %"),
            ("Memory Pressure, %", "memory pressure, %"),
            ("pswpin", "swap-ins"),
            ("pgscan_anon", "scanned per reclaimed"),
            ("launch latency p50, us", "record latency p50, us"),
            ("hogs, target 500", "TASK, target N"),
            ("pageout tried, MiB", "tried, MiB"),
            ("after reclaim", "successes"),
            ("swap-outs", "swap-outs"),
            ("free", "nr_free_pages"),
        ] {
            assert_eq!(label(word), Some(entry), "{word}");
        }
        assert_eq!(label("task heap"), None);
    }

    /// Paragraphs end where the next entry or section begins.
    #[test]
    fn an_entry_is_whole() {
        let entries = entries();
        let pressure = of(&entries, "memory-pressure").expect("an entry");
        assert_eq!((pressure.text.len(), pressure.name), (3, Some("memory-pressure")));
        assert_eq!(pressure.also, ["pressure, %", "some", "pressure some, %"]);
        let last = of(&entries, "oom_kill").expect("the last of its section");
        assert_eq!(last.text.len(), 1);
        assert!(entries.iter().all(|e| !e.text.is_empty() && !e.label.is_empty()));
    }

    #[test]
    fn a_wrong_word_has_near_ones() {
        let entries = entries();
        assert_eq!(near(&entries, "refalts").first(), Some(&"refaults"));
        assert!(near(&entries, "stalls").contains(&"direct reclaim stalls"));
        let pressure = near(&entries, "presure");
        assert!(pressure.iter().all(|k| k.contains("pressure")), "{pressure:?}");
        assert!(!pressure.is_empty());
        assert!(near(&entries, "xyzzyplugh").is_empty());
    }
}
