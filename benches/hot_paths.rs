//! Speed of a hit, a run of hits, and a fault with its share of reclaim.
//!
//! - `hit_path`: zipf 0.9 over 2^20 pages where nearly all, half and a tenth of them fit.
//!   A run begins by populating, and the first million accesses meet what that left behind; a
//!   run of six million is timed beside one of a million: the difference is what five take.
//! - `runs`: touches of 128 neighbouring pages that are all present.
//! - `fault_reclaim`: every access a fault, and for each a page evicted, per policy.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use cells::{FRAMES_10, FRAMES_50, FRAMES_98, PAGES};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim::machines::Machine;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::Kernel;
use mmsim_core::machine::Watch;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::workload::{MapKind, Op, RegionId, Run, VmaFlags};
use mmsim_lru::config::{PRESETS, Settings};
use mmsim_lru::{Classic, Mglru, MglruConfig, Random};
use std::time::Duration;

const MILLION: u64 = 1_000_000;

fn hit_path(c: &mut Criterion) {
    let mut g = c.benchmark_group("hit_path");
    g.sample_size(10).measurement_time(Duration::from_secs(5));
    for (name, frames, misses) in [
        ("98_percent", FRAMES_98, 1_000..40_000),
        ("50_percent", FRAMES_50, 100_000..200_000),
        ("10_percent", FRAMES_10, 350_000..450_000),
    ] {
        let parts = [("1M", MILLION), ("6M", 6 * MILLION)];
        for (part, accesses) in parts.into_iter().take(if cells::tried() { 1 } else { 2 }) {
            let result = cells::zipf_cell(frames, accesses).run(Watch::default());
            assert_eq!(result.accesses, u64::from(PAGES) + accesses);
            if accesses == MILLION {
                let major = result.vmstat[VmEvent::PgMajFault];
                assert!(misses.contains(&major), "{name}: {major} misses");
            }
            g.throughput(Throughput::Elements(result.accesses));
            g.bench_function(format!("{name}/{part}"), |b| {
                b.iter_batched(
                    || cells::zipf_cell(frames, accesses),
                    |mut m| assert_eq!(m.run(Watch::default()).digest, result.digest),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    g.finish();
}

/// A region of 2^14 pages that all fit, touched `rounds` times in runs of 128.
fn runs_of_128(rounds: u32) -> Machine {
    const REGION: RegionId = RegionId(0);
    let pages = 1 << 14;
    let mut ops = vec![Op::Mmap {
        region: REGION,
        pages,
        kind: MapKind::Anon,
        flags: VmaFlags::default(),
        at: None,
    }];
    for _ in 0..=rounds {
        ops.extend(
            (0..pages)
                .step_by(128)
                .map(|first| Op::Access(Run { region: REGION, write: true, first, count: 128 })),
        );
    }
    let config = cells::machine_of(1 << 16, 1 << 16, Kernel::V6_12);
    Machine::new(&config, cells::task(vec![Box::new(cells::Script(ops))]), 1, cells::classic)
}

fn runs(c: &mut Criterion) {
    let mut g = c.benchmark_group("runs");
    let rounds = 256;
    let result = runs_of_128(rounds).run(Watch::default());
    assert_eq!(result.vmstat[VmEvent::PgFault], 1 << 14);
    g.throughput(Throughput::Elements(result.accesses)).sample_size(20);
    g.bench_function("128_pages", |b| {
        b.iter_batched(
            || runs_of_128(rounds),
            |mut m| assert_eq!(m.run(Watch::default()).digest, result.digest),
            BatchSize::PerIteration,
        );
    });
    g.finish();
}

/// Uniform draws over four times the memory: three accesses in four fault and evict.
fn thrash(kernel: Kernel, policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>) -> Machine {
    let mut w = cells::zipf(1 << 16, 100_000, 1);
    w.theta = 0.0;
    let config = cells::machine_of(1 << 14, 1 << 17, kernel);
    Machine::new(&config, cells::task(w.workloads()), 1, policy)
}

fn fault_reclaim(c: &mut Criterion) {
    let mut g = c.benchmark_group("fault_reclaim");
    g.sample_size(10);
    let mut case = |name: &str, make: &dyn Fn() -> Machine| {
        let result = make().run(Watch::default());
        let evicted = result.vmstat[VmEvent::PgStealAnon];
        assert!((100_000..200_000).contains(&evicted), "{name}: {evicted} evicted");
        g.throughput(Throughput::Elements(result.vmstat[VmEvent::PgFault]));
        g.bench_function(name, |b| {
            b.iter_batched(
                make,
                |mut m| assert_eq!(m.run(Watch::default()).digest, result.digest),
                BatchSize::PerIteration,
            );
        });
    };
    // The stages of the series between two releases cost what these cost.
    for p in PRESETS.iter().filter(|p| p.subject.is_none()) {
        case(p.name, &|| thrash(p.kernel, |mem| Box::new(Classic::new(p.config, mem))));
    }
    for p in MglruConfig::presets() {
        case(p.name, &|| thrash(p.kernel, |mem| Box::new(Mglru::new(p.config, mem, 1))));
    }
    case("random", &|| thrash(Kernel::V6_12, |mem| Box::new(Random::new(mem, 1))));
    g.finish();
}

criterion_group!(benches, hit_path, runs, fault_reclaim);
criterion_main!(benches);
