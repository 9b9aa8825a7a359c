//! Keeps `docs/policies.md` in step with the knobs: what the table of knobs knows is written by
//! this test between markers, what a reader should expect is written by hand after them.
//!
//! `MMSIM_BLESS=1` rewrites the marked blocks instead of comparing them.

use mmsim_lru::config::{ClassicConfig, PRESETS, Preset, Row, Settings};
use mmsim_lru::settings::Form;
use mmsim_lru::{MglruConfig, settings};
use std::fmt::Write as _;
use std::path::Path;

/// True if it is a stage of the series, which have a table of their own.
fn is_stage(preset: &&Preset) -> bool {
    preset.name.starts_with("classic-seed-")
}

/// True if it stands in the table of kernels. The section of 5.1 has what differs from 5.5.
fn is_of_kernels(preset: &&Preset) -> bool {
    !is_stage(preset) && preset.name != "classic-v5.1"
}

/// Presets in columns, knobs in rows; a value is bold where it differs from the preset before,
/// which is the one to the left.
fn table<C: Settings>(presets: &[&settings::Preset<C>]) -> String {
    assert!(presets.windows(2).all(|w| w[1].before == Some(w[0].name)));
    let mut t = String::from("| knob |");
    for p in presets {
        let short = p.name.trim_start_matches("classic-").trim_start_matches("mglru-");
        let _ = write!(t, " {short} |");
    }
    t.push_str("\n|---|");
    t.push_str(&"---|".repeat(presets.len()));
    for knob in C::ROWS {
        let _ = write!(t, "\n| `{}` |", knob.name);
        for p in presets {
            let value = p.config.get(knob.name).unwrap();
            let changed = p.changes().iter().any(|c| c.0 == knob.name);
            let _ = if changed { write!(t, " **{value}** |") } else { write!(t, " {value} |") };
        }
    }
    t
}

/// A line for each stage: its patch, and what it switches against the stage before.
fn stages() -> String {
    let mut t = String::from("| preset | patch | switches |\n|---|---|---|");
    for p in PRESETS.iter().filter(is_stage) {
        let switches: Vec<String> = p
            .changes()
            .into_iter()
            .map(|(knob, there, here)| format!("`{knob}`: {there} → **{here}**"))
            .collect();
        let what = p.subject.unwrap_or(p.about);
        let _ = write!(t, "\n| `{}` | {what} | {} |", p.name, switches.join("<br>"));
    }
    t
}

/// Breaks a text into lines that end before column 100; later lines begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() < 100 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.join("\n")
}

fn describe(knob: &Row) -> String {
    let from = format!("From: {}.", knob.source.trim_end_matches('.'));
    let mut t = format!("{}\n\n{}\n", wrapped(knob.doc, ""), wrapped(&from, ""));
    if knob.form == Form::Whole {
        let _ = write!(t, "\nValues: {}.", knob.takes());
    } else if knob.words().iter().all(|v| v.doc == v.name) {
        let names: Vec<String> = knob.allowed().map(|v| format!("`{v}`")).collect();
        let _ = write!(t, "\n{}", wrapped(&format!("Values: {}.", names.join(", ")), ""));
    } else {
        for v in knob.words() {
            let _ = write!(t, "\n{}", wrapped(&format!("- `{}`: {}", v.name, v.doc), "  "));
        }
    }
    t
}

/// The text with the inside of a marked block replaced.
fn replaced(text: &str, block: &str, inside: &str) -> String {
    let [open, close] = [format!("<!-- {block} -->"), format!("<!-- end of {block} -->")];
    let from = text.find(&open).unwrap_or_else(|| panic!("no marker {open}")) + open.len();
    let to = text.find(&close).unwrap_or_else(|| panic!("no marker {close}"));
    format!("{}\n{inside}\n{}", &text[..from], &text[to..])
}

#[test]
fn the_document_says_what_the_knobs_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let kernels: Vec<&Preset> = PRESETS.iter().filter(is_of_kernels).collect();
    let mut expected = replaced(&text, "table", &table(&kernels));
    expected = replaced(&expected, "stages", &stages());
    for knob in ClassicConfig::ROWS {
        assert!(text.contains(&format!("### `{}`\n", knob.name)), "no section {}", knob.name);
        expected = replaced(&expected, &format!("knob {}", knob.name), &describe(knob));
    }
    for Preset { name, .. } in PRESETS.iter().filter(|p| !is_stage(p)) {
        assert!(text.contains(&format!("### `{name}`\n")), "no section {name}");
    }
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(text == expected, "docs/policies.md is out of date: run with MMSIM_BLESS=1");
    }
}

#[test]
fn the_document_of_mglru_says_what_its_knobs_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mglru.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let presets: Vec<_> = MglruConfig::presets().iter().collect();
    let mut expected = replaced(&text, "table", &table(&presets));
    let sections = MglruConfig::ROWS.iter().map(|k| {
        let described = describe(k);
        format!("### `{}`\n\n{described}", k.name)
    });
    expected = replaced(&expected, "knobs", &sections.collect::<Vec<_>>().join("\n\n"));
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(text == expected, "docs/mglru.md is out of date: run with MMSIM_BLESS=1");
    }
}
