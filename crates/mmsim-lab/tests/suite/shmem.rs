//! Shared memory beside recorded kernels (`evidence/shmem`). The rules of evidence/rules.toml are about
//! all points; here are those that take little time.

use crate::root;
use mmsim_lab::accuracy::remains::Remains;
use mmsim_lab::validate::document::Validation;
use mmsim_lab::validate::{Selection, validate};

fn replayed(experiment: &str) -> Validation {
    let dir = root().join("evidence/shmem");
    let mut only = Selection::default();
    only.experiment = Some(experiment.into());
    let all = validate(&dir, &only, &|_, _| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.not_modelled.is_empty(), "{:?}", all.not_modelled);
    all
}

/// Faults, swap-ins and what is held are as recorded, whoever pays. What goes out is within 4 %: kswapd
/// may end its run in the phase behind, the last of which has little besides.
#[test]
fn shared_memory_is_where_it_was_recorded() {
    let mut compared = 0;
    for experiment in ["shmem-advice", "shmem-group"] {
        for r in replayed(experiment).points.iter().filter(|r| r.phase != "unmapped") {
            let room = match r.counter.as_str() {
                "nr_shmem" | "pswpin" | "pgmajfault" | "workingset_refault_anon" => 0.01,
                "pgfault" => 0.01,
                "pswpout" | "pgsteal_anon" => 0.04,
                _ => continue,
            };
            let near = (r.recorded * room).max(16.0);
            let fine = (r.min - near..=r.max + near).contains(&r.simulated);
            assert!(
                fine,
                "{} {} {}: {} of {}",
                r.point, r.phase, r.counter, r.simulated, r.recorded
            );
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} values");
}

/// Gaps are explained in the form of evidence/gaps.toml.
#[test]
fn gaps_of_shared_memory_can_be_read() {
    let path = root().join("evidence/shmem/gaps.toml");
    let text = std::fs::read_to_string(path).expect("it is there");
    Remains::read(&text, "gaps.toml").unwrap_or_else(|e| panic!("{e}"));
}
