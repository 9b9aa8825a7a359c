//! A counter is named in its row. Other code names the row, so that a counter is added by the row and
//! the call that counts it.

use std::path::Path;

use mmsim_core::base::vmstat::{Counter, VmEvent};

use super::layers::{code, modules};
use super::manifests::root;

/// Files that spell names of counters, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("mmsim-lab", "recordings and published tables name what they hold"),
    ("mmsim-core/base/vmstat", "the rows"),
];

#[test]
fn a_counter_is_spelled_in_its_row() {
    let mut spelled = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates") {
        let name = entry.expect("a crate").file_name().to_string_lossy().to_string();
        for (module, path) in modules(&Path::new(root()).join("crates").join(&name).join("src")) {
            let file = format!("{name}/{}", module.join("/"));
            let code = code(&path);
            let of_tests = module.iter().any(|m| m.as_str() == "tests");
            if of_tests || OTHERWISE.iter().any(|(known, _)| file.starts_with(known)) {
                continue;
            }
            let named = VmEvent::ALL.iter().filter(|e| code.contains(&format!("\"{}\"", e.name())));
            spelled.extend(named.map(|e| format!("{file} spells {}", e.name())));
        }
    }
    assert!(spelled.is_empty(), "write `VmEvent::..` there: {spelled:#?}");
}

/// A counter that bounds others is not bounded by them.
#[test]
fn bounds_of_counters_end() {
    for &e in VmEvent::ALL {
        let whole = std::iter::successors(Some(e), |e| e.row().within.map(|(whole, _)| whole));
        assert!(whole.take(9).count() < 9, "{} is within itself", e.name());
    }
}

/// A table has one counter at a place.
#[test]
fn places_in_tables_are_different() {
    let places: [fn(&Counter) -> u8; 2] = [|row| row.bench, |row| row.notable];
    for place in places {
        let places: Vec<u8> = VmEvent::shown(place).map(|e| place(e.row())).collect();
        assert!(places.iter().copied().eq(1..=places.len() as u8), "{places:?}");
    }
}
