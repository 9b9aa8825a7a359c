//! docs/observing.md lists the events, gauges and items of the kernel's files that there
//! are, and shows such files as they are written. `MMSIM_BLESS=1` rewrites these.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::harness;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::Watch;
use mmsim::machines::Catalogue;
use mmsim::report::events::EVENTS;
use mmsim::report::proc::{self, Kind};

const BEGIN: &str = "<!-- events -->\n";
const END: &str = "<!-- end of events -->";

fn path() -> PathBuf {
    harness::repository("docs/observing.md")
}

/// The text between two markers has to be `new`, or is made so. The file changes under one
/// test at a time.
fn is_current(begin: &str, end: &str, new: impl FnOnce(&str) -> String) {
    static FILE: Mutex<()> = Mutex::new(());
    let _guard = FILE.lock();
    let text = std::fs::read_to_string(path()).expect("docs/observing.md");
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (old, after) = rest.split_once(end).unwrap_or_else(|| panic!("no {end}"));
    let new = new(old);
    if std::env::var_os("MMSIM_BLESS").is_some() {
        let text = format!("{before}{begin}{new}{end}{after}");
        std::fs::write(path(), text).expect("rewriting it");
    } else {
        assert_eq!(old, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn the_table_of_events_is_current() {
    let mut new =
        String::from("| event | tracepoint of Linux | fields | when |\n|---|---|---|---|\n");
    for e in EVENTS {
        let tracepoint = e.tracepoint.map_or("none".to_string(), |t| format!("`{t}`"));
        let fields: Vec<String> = e.fields.iter().map(|f| format!("`{f}`")).collect();
        let fields = fields.join(", ");
        writeln!(new, "| `{}` | {tracepoint} | {fields} | {} |", e.name, e.about)
            .expect("writing to a string");
    }
    is_current(BEGIN, END, |_| new);
}

#[test]
fn the_items_with_values_are_current() {
    let items: Vec<String> = proc::modelled().iter().map(|name| format!("`{name}`")).collect();
    let mut lines = vec![String::new()];
    for item in items {
        let line = lines.last_mut().expect("there is one");
        if line.len() + item.len() > 98 {
            lines.push(format!("{item},"));
        } else {
            write!(line, "{}{item},", if line.is_empty() { "" } else { " " })
                .expect("writing to a string");
        }
    }
    let text = lines.join("\n");
    let text = text.strip_suffix(',').expect("a list");
    is_current("<!-- items -->\n", "<!-- end of items -->", |_| format!("{text}.\n"));
}

/// The beginnings of the files that the example writes, as many lines as are shown.
#[test]
fn the_files_shown_are_written() {
    let scenario = harness::shipped("ebizzy-anon.toml", &[]);
    let mut runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    runs.retain(|r| r.variant == "v6.12");
    runs.truncate(1);
    runs[0].bounds = false;
    let files: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    harness::runner(1)
        .sound_results(&runs, |_, _| {
            let files = Arc::clone(&files);
            Watch::default().with_snapshot(Box::new(move |phase, snapshot| {
                let mut files = files.lock().expect("one run");
                for (path, text) in Kind::ALL.iter().flat_map(|k| k.files(snapshot)) {
                    files.insert(format!("{}/{path}", phase.unwrap_or("end")), text);
                }
            }))
        })
        .unwrap_or_else(|e| panic!("{e}"));
    for (file, text) in files.lock().expect("one run").iter() {
        let begin = format!("\n`{file}`:\n\n```text\n");
        if !file.starts_with("access/") {
            continue;
        }
        is_current(&begin, "```\n", |old| {
            let shown: Vec<&str> = old.lines().filter(|l| *l != "...").collect();
            let whole = text.lines().count() == shown.len();
            let new: String =
                text.lines().take(shown.len()).map(|line| format!("{line}\n")).collect();
            if whole { new } else { new + "...\n" }
        });
    }
}

#[test]
fn every_gauge_is_explained() {
    let text = std::fs::read_to_string(path()).expect("docs/observing.md");
    let text_of_scenario = "name = \"x\"\nseed = 1\n[machine]\nmemory = \"16MiB\"\ncpus = 1\n\
                            [[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
    let machine = harness::machine(&harness::specs(text_of_scenario)[0]);
    for (name, _) in machine.gauges() {
        assert!(text.contains(&format!("`{name}`")), "{name} is missing");
    }
}

/// A counter that is printed is counted: some line of the machine or of a policy names it for
/// more than to read it.
#[test]
fn every_counter_is_counted() {
    let root = harness::repository("crates");
    let mut folders: Vec<PathBuf> =
        ["core", "lru", "compaction"].map(|c| root.join(format!("mmsim-{c}/src"))).to_vec();
    let mut code = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("base/vmstat.rs") && !path.ends_with("machine/watch/laws.rs")
            {
                let text = std::fs::read_to_string(&path).expect("a source");
                code += text.split("#[cfg(test)]").next().expect("a first part");
            }
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for e in VmEvent::ALL {
        let name = format!("{e:?}");
        let counted = code.match_indices(&name).any(|(at, _)| {
            let before = code[..at].trim_end_matches("VmEvent::");
            let read = before.strip_suffix('[').is_some_and(|b| b.ends_with(is_word));
            let (first, next) =
                (before.chars().next_back(), code[at + name.len()..].chars().next());
            !read && !first.is_some_and(is_word) && !next.is_some_and(is_word)
        });
        assert!(counted, "{} is printed and nothing counts it", e.name());
    }
}
