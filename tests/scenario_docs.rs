//! docs/scenarios.md says what the key tables say. `MMSIM_BLESS=1` rewrites its tables.

use std::path::Path;

use mmsim::scenario::keys;
use mmsim_core::backing::device::DEVICE_PRESETS;

const BEGIN: &str = "<!-- begin: generated from the key tables -->\n";
const END: &str = "<!-- end: generated from the key tables -->";

#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenarios.md");
    let text = std::fs::read_to_string(&path).expect("docs/scenarios.md");
    let (before, rest) = text.split_once(BEGIN).expect("the marker where the tables begin");
    let (old, after) = rest.split_once(END).expect("the marker where the tables end");
    let new = format!("{}\n", keys::reference());
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{new}{END}{after}")).expect("rewriting it");
    } else {
        assert_eq!(old, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn every_device_preset_is_named() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenarios.md");
    let text = std::fs::read_to_string(path).expect("docs/scenarios.md");
    for d in DEVICE_PRESETS {
        assert!(text.contains(&format!("`{}`", d.0)), "{} is missing", d.0);
    }
}
