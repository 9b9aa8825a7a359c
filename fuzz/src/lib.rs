//! What several targets share.

use mmsim::base::rng::Rng;
use mmsim::base::time::SimTime;
use mmsim::workload::{Op, Workload, WorkloadCx};
use mmsim::{Error, Scenario};
use mmsim_workload::trace::{ImportFormat, ImportOptions, TraceInfo, import};

/// An error that a user would see: it must render, and it must say something.
pub fn rendered(e: &Error) {
    assert!(!e.to_string().is_empty());
    assert!(!e.title().is_empty());
    assert_eq!(e.kind().exit_code(), 2);
    if let Some((_, line, column)) = e.position() {
        assert!(line > 0 && column > 0);
    }
}

/// What is accepted gives the same runs when it is written out with all defaults. Long
/// lists of runs are not compared.
pub fn resolves(scenario: &Scenario) {
    match scenario.expand(&mmsim::build::Catalogue) {
        Err(e) => rendered(&e),
        Ok(runs) if runs.len() > 50 => {}
        Ok(runs) => {
            let text = scenario.resolved();
            let again = match Scenario::from_str(&text, "x.toml") {
                Ok(again) => again,
                Err(e) => panic!("{e}\nin what was written out:\n{text}"),
            };
            let same = again.expand(&mmsim::build::Catalogue);
            assert!(same.as_ref() == Ok(&runs), "other runs from:\n{text}");
        }
    }
}

/// An import is refused, or its trace is whole and holds what the summary says.
pub fn imports(format: ImportFormat, input: &[u8], options: &ImportOptions) {
    let mut out = Vec::new();
    match import(format, input, &mut out, options) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(summary) => {
            let info = match TraceInfo::read(&out[..], out.len() as u64) {
                Ok(info) => info,
                Err(e) => panic!("the trace that was written: {e}"),
            };
            let records: u64 = info.processes.iter().map(|p| p.records).sum();
            let accesses: u64 = info.processes.iter().map(|p| p.accesses).sum();
            assert_eq!((records, accesses), (summary.records, summary.accesses_kept));
            assert_eq!(info.distinct_pages, summary.distinct_pages);
            assert!(!summary.to_string().is_empty());
        }
    }
}

/// The first `batches` batches of a workload, on a clock that advances with accesses.
/// Accesses must fall within mapped regions.
pub fn begins(workload: &mut dyn Workload, batches: usize) {
    let mut rng = Rng::for_purpose(1, "fuzz");
    let mut now = 0_u64;
    let mut mapped = std::collections::BTreeMap::new();
    let phases = workload.phases().len();
    for _ in 0..batches {
        let mut ops = Vec::new();
        let cx = WorkloadCx { now: SimTime(now), free_pages: 1000 };
        workload.fill(&cx, &mut rng, &mut ops);
        if ops.is_empty() {
            return;
        }
        for op in ops {
            match op {
                Op::Mmap { region, pages, .. } => {
                    assert!(pages > 0);
                    assert!(mapped.insert(region, pages).is_none(), "{region:?} twice");
                }
                Op::Munmap { region } => assert!(mapped.remove(&region).is_some(), "{region:?}"),
                Op::Access(r) => {
                    let pages = *mapped.get(&r.region).expect("a mapped region");
                    assert!(r.count > 0 && r.first < pages && r.count <= pages - r.first);
                    now += 100 * u64::from(r.count);
                }
                Op::Compute(t) | Op::Sleep(t) => now = now.saturating_add(t.as_nanos()),
                Op::PhaseEnd(i) => assert!(usize::from(i) < phases),
                _ => {}
            }
        }
    }
}

/// An uncompressed trace whose checks are made right: the prelude's, and the length and
/// digest of each block. Without this a changed byte would never come to be read.
pub fn sealed(data: &[u8]) -> Vec<u8> {
    const PRELUDE: usize = 16;
    const HEAD: usize = 13;
    let mut out = b"MMT\r\n\x1a\n\0\x01\0\0\0".to_vec();
    let check = digest(&[&out]) as u32;
    out.extend(check.to_le_bytes());
    let mut rest = data.get(PRELUDE..).unwrap_or(&[]);
    while rest.len() > HEAD {
        let (head, after) = rest.split_at(HEAD);
        let stated = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let (payload, next) = after.split_at(stated.min(after.len()));
        let mut start = vec![head[0]];
        start.extend((payload.len() as u32).to_le_bytes());
        let digest = digest(&[&start, payload]);
        out.extend(start);
        out.extend(digest.to_le_bytes());
        out.extend(payload);
        rest = next;
    }
    out
}

/// The digest of `docs/traces.md`.
fn digest(parts: &[&[u8]]) -> u64 {
    let mut h = 0x6d6d_745f_626c_6f63_u64;
    for part in parts {
        let words = part.chunks(8).map(|c| {
            let mut word = [0; 8];
            word[..c.len()].copy_from_slice(c);
            u64::from_le_bytes(word)
        });
        for w in words.chain([part.len() as u64]) {
            h = (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
    h ^ (h >> 31)
}
