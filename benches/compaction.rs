//! Cost of compacting all of a zone.
//!
//! - `scan`: 70 % of the frames are pinned, the others free, none can be moved: the scanner for
//!   sources looks at the whole zone in vain. Frames of the zone per second.
//! - `scan-by-bytes`: the same zone as a byte for each frame, looked at one by one, which is what
//!   `tests/machine/scan_oracle.rs` holds the scanner against. It counts the same frames.
//! - `moves`: 10 % are pinned, 30 % free, 60 % pages of a process, at random: about a fifth of the
//!   frames moves, with everything that is true of a page (list, page table, reverse map).
//!
//! A run of 4.1 on request (`compact_memory`), which ignores what it knew, for zones of 16 and
//! 64 GiB. The zone is set up anew for each measured `moves`, which takes most of the time.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;
#[path = "../tests/machine/scan_zone.rs"]
mod zone;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::vmstat::VmEvent;
use zone::{Zone, bytes, scan_by_bytes};

#[allow(clippy::disallowed_methods)] // A bench measures time.
fn timed(zone: &mut Zone) -> Duration {
    let begin = Instant::now();
    zone.compact();
    begin.elapsed()
}

fn sweeps(c: &mut Criterion) {
    let mut group = c.benchmark_group("compaction");
    group.sample_size(10);
    let cases = [("2^22", 1u32 << 22), ("2^24", 1 << 24)];
    for (name, frames) in cases.into_iter().take(if cells::tried() { 1 } else { 2 }) {
        group.throughput(Throughput::Elements(frames.into()));
        let mut zone = Zone::new(frames, 0, 30, 1);
        group.bench_function(format!("scan/{name}"), |b| b.iter(|| timed(&mut zone)));
        assert_eq!(zone.mem.stats.vmstat[VmEvent::PgMigrateSuccess], 0);
        let before = zone.mem.stats.vmstat[VmEvent::CompactMigrateScanned];
        zone.compact();
        let scanned = zone.mem.stats.vmstat[VmEvent::CompactMigrateScanned] - before;
        let by_bytes = bytes(&zone.mem);
        drop(zone);
        assert_eq!(scan_by_bytes(&by_bytes), (scanned, 0));
        group.bench_function(format!("scan-by-bytes/{name}"), |b| {
            b.iter(|| scan_by_bytes(black_box(&by_bytes)));
        });
        group.bench_function(format!("moves/{name}"), |b| {
            b.iter_custom(|n| {
                let one = || {
                    let mut zone = Zone::new(frames, 60, 30, 1);
                    let time = timed(&mut zone);
                    let moved = zone.mem.stats.vmstat[VmEvent::PgMigrateSuccess];
                    assert!((15..25).contains(&(moved * 100 / u64::from(frames))), "{moved}");
                    time
                };
                (0..n).map(|_| one()).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sweeps);
criterion_main!(benches);
