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
    assert_eq!(d.summary.len(), 5, "two kernels, two LRUs, and all");
    for s in &d.summary {
        assert!(s.decided > 5000 && s.alike * 100 >= s.decided * 99, "{s:?}");
    }
    for r in &d.recordings {
        assert!(r.alike * 100 >= r.decided * 99, "{r:?}");
    }
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
