//! Cost of simulating a kernel beside simulating a cache.
//!
//! The same million accesses, once through a whole machine (page tables, watermarks, kswapd,
//! two lists, swap), once through `schnellru`, the fastest plain LRU among published crates: a
//! hash table and a list, no time, no dirty pages, no counters. Populating the machine is timed
//! alone beside it; the difference of the two is what the accesses take.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use cells::{FRAMES_10, FRAMES_50, PAGES};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::Watch;
use schnellru::{ByLength, LruMap};

const ACCESSES: u64 = 1_000_000;

/// A cache that holds the last `size` of the pages that the populating thread touched.
fn warm(size: u32) -> LruMap<u32, u32> {
    let mut cache = LruMap::new(ByLength::new(size));
    for page in 0..PAGES {
        cache.insert(page, page);
    }
    cache
}

/// Looks every page up and inserts it where it misses. Returns the misses.
fn replay(cache: &mut LruMap<u32, u32>, pages: &[u32]) -> u64 {
    let mut misses = 0;
    for &page in pages {
        if cache.get(&page).is_none() {
            cache.insert(page, page);
            misses += 1;
        }
    }
    misses
}

fn caches(c: &mut Criterion) {
    let mut g = c.benchmark_group("caches");
    g.sample_size(10);
    let cases = [("10_percent", FRAMES_10), ("50_percent", FRAMES_50)];
    for (name, frames) in cases.into_iter().take(if cells::tried() { 1 } else { 2 }) {
        let mut machine = cells::zipf_cell(frames, ACCESSES);
        let result = machine.run(Watch::default().with_record_accesses(true));
        // The first accesses populate. Pages are numbered from the region's start.
        let all = machine.recorded_accesses();
        let first = all[0];
        let pages: Vec<u32> = all[PAGES as usize..].iter().map(|&p| p - first).collect();
        let misses = replay(&mut warm(frames), &pages);
        // An LRU cache misses about as often as two lists do.
        let simulated = result.vmstat[VmEvent::PgMajFault];
        assert!(misses.abs_diff(simulated) * 10 < simulated, "{name}: {misses}, {simulated}");
        g.throughput(Throughput::Elements(ACCESSES));
        g.bench_function(format!("{name}/schnellru"), |b| {
            b.iter_batched(
                || warm(frames),
                |mut cache| assert_eq!(replay(&mut cache, &pages), misses),
                BatchSize::PerIteration,
            );
        });
        for (part, accesses) in [("populate", 0), ("populate_and_1M", ACCESSES)] {
            let digest = cells::zipf_cell(frames, accesses).run(Watch::default()).digest;
            g.bench_function(format!("{name}/mmsim/{part}"), |b| {
                b.iter_batched(
                    || cells::zipf_cell(frames, accesses),
                    |mut m| assert_eq!(m.run(Watch::default()).digest, digest),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    g.finish();
}

criterion_group!(benches, caches);
criterion_main!(benches);
