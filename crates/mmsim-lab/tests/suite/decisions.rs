//! Single decisions of recorded kernels.

use std::path::Path;

use crate::root;
use mmsim_lab::validate::decisions::{Decisions, decisions};

fn replay(folder: &Path) -> Result<Decisions, String> {
    decisions(&root().join("evidence/reference"), folder, Some(1)).map_err(|e| e.to_string())
}

/// The formulas are those of the kernel: given the same, nearly all decisions are the same. The
/// rest comes from counters that change between the probe and the call, so the test demands 99 of
/// 100.
#[test]
fn decisions_are_those_of_the_kernel() {
    let d = replay(&root().join("evidence/decisions")).expect("good");
    assert_eq!(d.summary.len(), 7, "three kernels, two LRUs, and all");
    for s in &d.summary {
        assert!(s.decided > 2500 && s.alike * 100 >= s.decided * 99, "{s:?}");
    }
    for r in &d.recordings {
        assert!(r.alike * 100 >= r.decided * 99, "{r:?}");
    }
}

/// 6.18 recorded anew with the tick at another time is as far from itself as the model is from it, or
/// farther: no more of its calls have a partner that is near.
#[test]
fn the_model_is_as_near_as_the_kernel_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["r1.50-t0.9-mglru-6.18", "sens-tick0-r1.50-t0.9-mglru-6.18"] {
        let file = format!("zipf-anon-{name}.json");
        let from = root().join("evidence/decisions").join(&file);
        std::fs::copy(from, folder.path().join(file)).expect("a copy");
    }
    let d = replay(folder.path()).expect("good");
    let [own] = d.own.as_slice() else { panic!("{:?}", d.own) };
    let [kernel, model] = own.pairs;
    assert!(kernel.near * 10 > own.calls * 8 && kernel.near < own.calls, "{own:?}");
    assert!(model.near + own.calls * 3 / 100 >= kernel.near, "{own:?}");
}

#[test]
fn files_that_are_no_decisions_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.json");
    let said = |text: &str| {
        std::fs::write(&path, text).expect("written");
        replay(folder.path()).expect_err(text)
    };
    assert!(said("{\n \"kernel\": 7\n}").contains("a.json:2:"), "line and column");
    let of = |kernel: &str, point: &str| {
        format!(
            "{{\"kernel\":\"{kernel}\",\"lru\":\"classic\",\"experiment\":\"zipf-anon\",\
             \"point\":\"{point}\",\"repetition\":0,\"swappiness\":60,\"phases\":[],\
             \"columns\":[],\"calls\":[[]]}}"
        )
    };
    assert!(said(&of("6.12.117", "p")).contains("`columns` has no \"phase\""));
}
