//! Shared code of several targets.

use mmsim::base::rng::Rng;
use mmsim::base::time::SimTime;
use mmsim::workload::{Op, Pressure, Workload, WorkloadCx};
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

/// An accepted scenario gives the same runs when it is written out with all defaults. Long lists of
/// runs are not compared.
pub fn resolves(scenario: &Scenario) {
    match scenario.expand(&mmsim::machines::Catalogue) {
        Err(e) => rendered(&e),
        Ok(runs) if runs.len() > 50 => {}
        Ok(runs) => {
            let text = scenario.resolved();
            let again = match Scenario::from_str(&text, "x.toml") {
                Ok(again) => again,
                Err(e) => panic!("{e}\nin what was written out:\n{text}"),
            };
            let same = again.expand(&mmsim::machines::Catalogue);
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
        let cx = WorkloadCx {
            now: SimTime(now),
            free_pages: 1000,
            kernel_allocs: &[],
            free_blocks: None,
            pressure: &Pressure::NONE,
        };
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
                Op::Copy(c) => {
                    for side in [c.side(0), c.side(1)] {
                        let pages = *mapped.get(&side.region).expect("a mapped region");
                        assert!(
                            side.count > 0
                                && side.first < pages
                                && side.count <= pages - side.first
                        );
                    }
                    now += 100 * u64::from(c.touches());
                }
                Op::Compute(t) | Op::Sleep(t) => now = now.saturating_add(t.as_nanos()),
                Op::PhaseEnd(i) => assert!(usize::from(i) < phases),
                _ => {}
            }
        }
    }
}

/// A trace whose checks are made right: the prelude's, and the lengths and the digest of
/// each block. Without this a changed byte would never come to be read.
pub fn sealed(data: &[u8], start: &[u8; 12]) -> Vec<u8> {
    const PRELUDE: usize = 16;
    const HEAD: usize = 18;
    let mut out = start.to_vec();
    let check = digest(&[&out]) as u32;
    out.extend(check.to_le_bytes());
    let mut rest = data.get(PRELUDE..).unwrap_or(&[]);
    while rest.len() > HEAD {
        let (head, after) = rest.split_at(HEAD);
        let stated = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let (payload, next) = after.split_at(stated.min(after.len()));
        let length = (payload.len() as u32).to_le_bytes();
        let mut start = vec![head[0], head[1]];
        start.extend(length);
        // What is stored as it is has the same length when it is decoded.
        start.extend(if head[1] == 0 { &length } else { &head[6..10] });
        let digest = digest(&[&start, payload]);
        out.extend(start);
        out.extend(digest.to_le_bytes());
        out.extend(payload);
        rest = next;
    }
    out
}

/// The digest of `docs/dev/trace-format.md`.
fn digest(parts: &[&[u8]]) -> u64 {
    const START: u64 = 0x6d6d_745f_626c_6f63;
    let step = |h: u64, w: u64| (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut lanes = [0, 1, 2, 3].map(|l| START ^ l);
    for part in parts {
        for (i, chunk) in part.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            lanes[i % 4] = step(lanes[i % 4], u64::from_le_bytes(word));
        }
        lanes[0] = step(lanes[0], part.len() as u64);
    }
    let h = lanes.into_iter().fold(START, step);
    h ^ (h >> 31)
}

#[cfg(test)]
mod tests {
    /// The values of `docs/dev/trace-format.md`.
    #[test]
    fn digests() {
        assert_eq!(super::digest(&[b"page trace"]), 0x6d0a_58ba_b954_a66e);
        let bytes: Vec<u8> = (0..64).collect();
        assert_eq!(super::digest(&[&bytes, b"xyz"]), 0x9980_c6cb_a9c8_cab5);
    }
}
