//! Keeps `docs/policies.md` in step with the knobs: what the table of knobs knows is written by
//! this test between markers, what a reader should expect is written by hand after them.
//!
//! `MMSIM_BLESS=1` rewrites the marked blocks instead of comparing them.

use mmsim_lru::config::{ClassicConfig, KnobInfo, PRESETS};
use std::fmt::Write as _;
use std::path::Path;

/// Presets in columns, knobs in rows; a value is bold where it differs from the preset to the left.
fn table() -> String {
    let mut t = String::from("| knob |");
    for (name, ..) in PRESETS {
        let _ = write!(t, " {} |", name.trim_start_matches("classic-"));
    }
    t.push_str("\n|---|");
    t.push_str(&"---|".repeat(PRESETS.len()));
    for knob in ClassicConfig::knobs() {
        let _ = write!(t, "\n| `{}` |", knob.name);
        let mut left = None;
        for (_, config, _) in PRESETS {
            let value = config.get(knob.name).unwrap();
            let changed = left.as_ref().is_some_and(|l| *l != value);
            let _ = if changed { write!(t, " **{value}** |") } else { write!(t, " {value} |") };
            left = Some(value);
        }
    }
    t
}

fn describe(knob: &KnobInfo) -> String {
    let mut t = format!("{}\n\nFrom: {}.\n", knob.doc, knob.source.trim_end_matches('.'));
    let plain = knob.values.iter().all(|v| v.doc == v.name);
    if plain {
        let names: Vec<String> = knob.allowed().map(|v| format!("`{v}`")).collect();
        let _ = write!(t, "\nValues: {}.", names.join(", "));
    } else {
        for v in knob.values {
            let _ = write!(t, "\n- `{}`: {}", v.name, v.doc);
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
    let mut expected = replaced(&text, "table", &table());
    for knob in ClassicConfig::knobs() {
        assert!(text.contains(&format!("### `{}`\n", knob.name)), "no section {}", knob.name);
        expected = replaced(&expected, &format!("knob {}", knob.name), &describe(&knob));
    }
    for (name, ..) in PRESETS {
        assert!(text.contains(&format!("### `{name}`\n")), "no section {name}");
    }
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(text == expected, "docs/policies.md is out of date: run with MMSIM_BLESS=1");
    }
}
