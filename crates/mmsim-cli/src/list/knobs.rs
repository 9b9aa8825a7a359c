//! `mmsim list knobs`: all that can be set, with values, defaults and the kernel's names.

use std::fmt::Write as _;

use mmsim::knobs::{self, Knob, Since};
use mmsim::machines::Catalogue;
use mmsim::report::Rows;
use serde_json::{Value, json};

use super::{no_text, nothing_of};
use crate::args::ListFormat;
use crate::table;
use mmsim_terminal::exit::Failure;

/// The knobs that a word names, or else mentions.
pub(super) fn list(word: Option<&str>, format: ListFormat) -> Result<String, Failure> {
    let all = knobs::knobs(&Catalogue);
    let (shown, others) = match word {
        None => (all.iter().collect(), Vec::new()),
        Some(word) => match knobs::found(&all, word) {
            (named, mentions) if named.is_empty() => (mentions, Vec::new()),
            found => found,
        },
    };
    if let (true, Some(word)) = (shown.is_empty(), word) {
        let names: Vec<&str> = all.iter().map(name_of).collect();
        return Err(nothing_of("knobs", word, &names));
    }
    Ok(match format {
        ListFormat::Table => lines(&shown, &others, word.is_some()),
        ListFormat::Json => {
            super::document("knobs", &shown.iter().map(|k| to_json(k)).collect::<Vec<_>>())
        }
        ListFormat::Csv => csv(&shown),
        ListFormat::Text => return Err(no_text()),
    })
}

/// The last part of the path.
fn name_of(knob: &Knob) -> &str {
    knob.path.rsplit_once('.').map_or(&*knob.path, |(_, name)| name)
}

/// Allowed values with their unit.
fn values_of(knob: &Knob) -> String {
    format!("{} {}", knob.takes, knob.unit).trim_end().to_string()
}

/// `4096, from 6.18 on budget, from 7.3 on 64`.
fn default_of(knob: &Knob) -> String {
    let text = |d: &Since| match d.kernel {
        "" => d.value.clone(),
        kernel => format!("from {kernel} on {}", d.value),
    };
    knob.defaults.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A paragraph for each; `whole` with the meanings of words and the source.
fn lines(shown: &[&Knob], others: &[&Knob], whole: bool) -> String {
    let (mut out, mut family) = (String::new(), "");
    for knob in shown {
        if knob.family != family {
            let blank = if family.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{blank}# {}", knob.family);
            family = knob.family;
        }
        let _ = writeln!(out, "{}", knob.path);
        let life = match knob.life.as_str() {
            "" => String::new(),
            life => format!(" Kernels {life}."),
        };
        out += &table::indented("    ", &format!("{}{life}", knob.doc));
        out += &table::indented("    values   ", &values_of(knob));
        let told = knob.words.iter().filter(|w| whole && w.doc.trim_end_matches('.') != w.name);
        for word in told {
            out += &table::indented("             ", &format!("{}: {}", word.name, word.doc));
        }
        out += &table::indented("    default  ", &default_of(knob));
        if !knob.kernel.is_empty() {
            out += &table::indented("    kernel   ", &knob.kernel.join(", "));
        }
        if whole && !knob.source.is_empty() {
            out += &table::indented("    source   ", knob.source);
        }
    }
    if !others.is_empty() {
        let paths: Vec<&str> = others.iter().map(|k| &*k.path).collect();
        out += "\nmentioned by\n";
        out += &table::indented("    ", &paths.join(", "));
    }
    out
}

fn to_json(knob: &Knob) -> Value {
    let words =
        knob.words.iter().map(|w| json!({ "name": w.name, "since": w.since, "about": w.doc }));
    let since = |d: &Since| json!({ "since": d.kernel, "value": d.value });
    json!({
        "name": name_of(knob),
        "family": knob.family,
        "set": knob.path,
        "value": values_of(knob),
        "words": words.collect::<Vec<_>>(),
        "defaults": knob.defaults.iter().map(since).collect::<Vec<_>>(),
        "kernels": knob.life,
        "kernel": knob.kernel,
        "source": knob.source,
        "about": knob.doc,
    })
}

fn csv(shown: &[&Knob]) -> String {
    let mut csv = Rows::to(Vec::new());
    csv.texts(["name", "family", "set", "value", "default", "kernel", "source", "about"]);
    for knob in shown {
        let (values, default) = (values_of(knob), default_of(knob));
        let (name, kernel) = (name_of(knob), knob.kernel.join(" "));
        let head = [name, knob.family, &knob.path, &values];
        csv.texts(head.into_iter().chain([&*default, &kernel, knob.source, knob.doc]));
    }
    csv.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(word: Option<&str>) -> String {
        list(word, ListFormat::Table).expect("a list")
    }

    /// Lines fit a terminal of 80 columns, and each family has its heading once.
    #[test]
    fn the_table_is_narrow() {
        for text in [table(None), table(Some("reclaim."))] {
            let wide = text.lines().filter(|line| line.chars().count() > 80);
            assert_eq!(wide.collect::<Vec<_>>(), [""; 0]);
        }
        let all = table(None);
        for family in ["the classic LRU", "MGLRU", "compaction", "DAMON", "DAMOS", "sysctls"] {
            assert!(all.contains(&format!("# {family}\n")), "{family}");
        }
    }

    #[test]
    fn a_knob_is_found_with_all_that_is_known() {
        let found = table(Some("MIN_LRU_BATCH"));
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines[..2], ["# MGLRU", "reclaim.step-size"], "{found}");
        assert!(found.contains("default  from 6.1 on 4096, from 6.18 on budget"), "{found}");
        assert!(found.contains("kernel   MIN_LRU_BATCH, MAX_LRU_BATCH"), "{found}");
        assert!(
            found.contains("budget: 4096, and no more than the budget of the pass."),
            "{found}"
        );
        assert!(table(Some("swappiness")).contains("mentioned by\n    "));
        assert!(list(Some("no such thing"), ListFormat::Table).is_err());
    }

    #[test]
    fn programs_read_it_too() {
        let json = list(Some("step-size"), ListFormat::Json).expect("a list");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let knob = &json["knobs"][0];
        assert_eq!(knob["set"], "reclaim.step-size");
        assert_eq!(knob["defaults"][1], json!({ "since": "6.18", "value": "budget" }));
        let csv = list(Some("vm_swappiness"), ListFormat::Csv).expect("a list");
        let row = csv.lines().nth(1).expect("a row");
        let kernel = "60,vm_swappiness /proc/sys/vm/swappiness";
        assert!(
            row.starts_with(&format!("swappiness,sysctls,machine.vm.swappiness,0 to 200,{kernel}"))
        );
    }
}
