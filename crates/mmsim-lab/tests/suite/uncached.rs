//! Advice on files, I/O around the page cache and locked memory beside recorded kernels
//! (`evidence/uncached`).

use crate::root;
use mmsim_lab::validate::{Selection, validate};

/// The lists are as long as recorded, but for what waits in batches and what reclaim has taken ahead of
/// its need; `nr_unevictable` is exact, since nothing else is locked or unlocked.
#[test]
fn lists_are_as_long_as_recorded() {
    let dir = root().join("evidence/uncached");
    let all = validate(&dir, &Selection::default(), &|_, _| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.not_modelled.is_empty(), "{:?}", all.not_modelled);
    let mut compared = 0;
    for r in &all.points {
        let room = match r.counter.as_str() {
            "nr_unevictable" => 0.0,
            "nr_inactive_file" | "nr_active_file" => (r.recorded * 0.02).max(32.0),
            "workingset_refault_file" => r.recorded * 0.01,
            _ => continue,
        };
        let fine = (r.min - room..=r.max + room).contains(&r.simulated);
        assert!(fine, "{} {} {}: {} of {}", r.point, r.phase, r.counter, r.simulated, r.recorded);
        compared += 1;
    }
    assert!(compared > 100, "{compared} values");
}
